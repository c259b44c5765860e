//! Opening a shot's input, and the key of what was opened.

use std::sync::Arc;

use clip::{Clip, Files, Frame, Frames, Mesh, ReadOptions};

use crate::key::{BakeKey, canonical};
use crate::manifest::Manifest;
use crate::shot::Shot;
use crate::{Error, FrameRange};

impl Shot {
    /// Opens the input: the file or the sample, with the frames that the shot uses.
    pub fn open_input(&self) -> Result<Clip, Error> {
        self.open_input_among(&self.files)
    }

    /// The same, read through these files.
    pub(crate) fn open_input_among(&self, files: &Files) -> Result<Clip, Error> {
        let clip = match (&self.input.file, &self.input.sample) {
            (Some(file), _) => clip::read(files.path(file), &self.read_options(files))?,
            (None, Some(name)) => match self.registry.sample(name) {
                Some(clip) => clip,
                None => return Err(crate::diagnostic::Diagnostics(vec![self.unknown_sample(name)]).into()),
            },
            (None, None) if self.input.duration.is_some() => {
                let rate = self.input.frame_rate.unwrap_or(clip::DEFAULT_FRAME_RATE_HZ);
                let seconds = self.input.duration.unwrap_or_default();
                Clip::empty(&self.name, rate, (seconds * rate).round().max(1.0) as usize)
            }
            (None, None) => {
                let words = "the input needs a `file`, a `sample` or a `duration`";
                let diagnostic = self.diagnostic("input", words);
                return Err(crate::diagnostic::Diagnostics(vec![diagnostic]).into());
            }
        };
        match self.input.frames {
            Some(range) => cropped(&clip, range),
            None => Ok(clip),
        }
    }

    pub(crate) fn unknown_sample(&self, name: &str) -> crate::Diagnostic {
        self.diagnostic("input.sample", format!("there is no sample `{name}`"))
            .with_help(crate::suggest(name, self.registry.sample_names()))
    }

    pub(crate) fn read_options(&self, files: &Files) -> ReadOptions {
        ReadOptions {
            clip: self.input.clip.clone(),
            frame_rate_hz: self.input.frame_rate,
            unit_in_metres: self.input.unit,
            mesh: self.input.mesh.as_ref().map(|mesh| files.path(mesh)),
            cache: self.input.cache.as_ref().map(|cache| files.path(cache)),
            files: files.clone(),
            ..ReadOptions::default()
        }
    }

    /// Equal keys promise equal input frames: what the shot says about the input, and what is in every file it is read from. The
    /// version of this program is in it too, because readers get better.
    pub(crate) fn input_key(&self, clip: &Clip, manifest: &Manifest) -> Result<BakeKey, Error> {
        let settings = canonical(&serde_json::to_value(&self.input).unwrap_or_default());
        let rate = clip.frame_rate_hz.to_le_bytes();
        let mut parts: Vec<&[u8]> =
            vec![b"followthrough input", env!("CARGO_PKG_VERSION").as_bytes(), settings.as_bytes(), &rate];
        let made;
        if self.input.file.is_some() {
            parts.extend(manifest.hashes(&manifest.input));
        } else {
            // a sample is code: what it makes is the only thing that tells whether it changed
            made = content_key(clip)?;
            parts.push(made.bytes());
        }
        Ok(BakeKey::of(&parts))
    }
}

/// The hash of everything that a layer can see of a clip and that does not move.
pub(crate) fn still_key(clip: &Clip) -> BakeKey {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&clip.frame_rate_hz.to_le_bytes());
    for mesh in &clip.meshes {
        // field by field: one that is added later must be thought of here
        let Mesh { name, rest_points, vertex_points, faces, uvs, more_uvs, smoothing, parts, groups, skin } =
            mesh;
        add(name.as_bytes());
        add(bytemuck::cast_slice(rest_points));
        add(bytemuck::cast_slice(vertex_points));
        add(bytemuck::cast_slice(faces.corners()));
        add(bytemuck::cast_slice(&faces.iter().map(|face| face.len() as u32).collect::<Vec<_>>()));
        add(bytemuck::cast_slice(uvs));
        more_uvs.iter().for_each(|uvs| add(bytemuck::cast_slice(uvs)));
        add(bytemuck::cast_slice(smoothing));
        add(format!("{parts:?}").as_bytes());
        for group in groups {
            add(group.name.as_bytes());
            add(bytemuck::cast_slice(&group.weights));
        }
        add(format!("{skin:?}").as_bytes());
    }
    add(format!("{:?}", clip.skeleton).as_bytes());
    add(format!("{:?}", clip.materials).as_bytes());
    clip.images.iter().for_each(|image| add(&image.bytes));
    BakeKey::of(&[hasher.finalize().as_bytes()])
}

/// The hash of one frame.
pub(crate) fn frame_key(clip: &Clip, index: usize) -> Result<BakeKey, Error> {
    let Frame { points, pose } = clip.frame(index)?;
    let (pose, grids) = (format!("{pose:?}"), clip.grids(index)?);
    let head = |grid: &clip::Grid| {
        format!("{:?}", (&grid.name, grid.points, grid.size, grid.wraps, grid.weight, grid.since))
    };
    let names: Vec<String> = grids.iter().map(head).collect();
    let mut parts: Vec<&[u8]> = points.iter().map(|points| bytemuck::cast_slice(points)).collect();
    parts.push(pose.as_bytes());
    parts.extend(names.iter().map(|name| name.as_bytes()));
    parts.extend(grids.iter().map(|grid| bytemuck::cast_slice(&grid.values)));
    Ok(BakeKey::of(&parts))
}

/// The hash of everything that a layer can see of a clip.
fn content_key(clip: &Clip) -> Result<BakeKey, Error> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for mesh in &clip.meshes {
        add(mesh.name.as_bytes());
        add(bytemuck::cast_slice(&mesh.rest_points));
        add(bytemuck::cast_slice(&mesh.vertex_points));
        add(bytemuck::cast_slice(&mesh.uvs));
        add(bytemuck::cast_slice(mesh.faces.corners()));
        let sides: Vec<u32> = mesh.faces.iter().map(|face| face.len() as u32).collect();
        add(bytemuck::cast_slice(&sides));
        for group in &mesh.groups {
            add(group.name.as_bytes());
            add(bytemuck::cast_slice(&group.weights));
        }
        add(format!("{:?}", mesh.skin).as_bytes());
    }
    add(format!("{:?}", clip.skeleton).as_bytes());
    for index in 0..clip.frame_count() {
        let frame = clip.frame(index)?;
        frame.points.iter().for_each(|points| add(bytemuck::cast_slice(points)));
        add(format!("{:?}", frame.pose).as_bytes());
    }
    Ok(BakeKey::of(&[hasher.finalize().as_bytes()]))
}

/// The clip from the first to the last frame of a range.
pub fn cropped(clip: &Clip, range: FrameRange) -> Result<Clip, Error> {
    let count = clip.frame_count();
    if range.last >= count {
        return Err(Error::NoSuchFrames { first: range.first, last: range.last, count });
    }
    Ok(clip.with_frames(Arc::new(Cropped { frames: clip.frames().clone(), range })))
}

struct Cropped {
    frames: Arc<dyn Frames>,
    range: FrameRange,
}

impl Frames for Cropped {
    fn count(&self) -> usize {
        self.range.last + 1 - self.range.first
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if index >= self.count() {
            return Err(clip::Error::NoSuchFrame { index, count: self.count() });
        }
        self.frames.read(self.range.first + index)
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<clip::Grid>> {
        if index >= self.count() {
            return Err(clip::Error::NoSuchFrame { index, count: self.count() });
        }
        self.frames.grids(self.range.first + index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_opens_and_its_key_depends_on_its_frames() {
        let open = |text: &str| {
            let reader = crate::Reader::new(crate::Registry::empty().with_sample("flag", samples::flag));
            let shot = reader.parse("shot", text, "".as_ref()).unwrap();
            let clip = shot.open_input().unwrap();
            (shot.input_key(&clip, &Manifest::of(&shot, &shot.files).unwrap()).unwrap(), clip)
        };
        let (whole_key, whole) = open("[input]\nsample = \"flag\"\n");
        let (part_key, part) = open("[input]\nsample = \"flag\"\nframes = \"2-4\"\n");
        assert_eq!(part.frame_count(), 3);
        assert_eq!(part.frame(0).unwrap(), whole.frame(2).unwrap());
        assert!(part.frame(3).is_err());
        assert_ne!(whole_key, part_key);
        assert_eq!(whole_key, open("[input]\nsample = \"flag\"\n").0);
    }
}
