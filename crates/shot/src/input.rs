//! Opening a shot's input, and the key of what was opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, Frames, ReadOptions};

use crate::key::{BakeKey, canonical};
use crate::shot::{Input, Shot};
use crate::{Error, FrameRange};

impl Shot {
    /// Opens the input: the file or the sample, with the frames that the shot uses.
    pub fn open_input(&self) -> Result<Clip, Error> {
        let clip = match (&self.input.file, &self.input.sample) {
            (Some(file), _) => clip::read(self.folder.join(file), &self.read_options())?,
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

    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            clip: self.input.clip.clone(),
            frame_rate_hz: self.input.frame_rate,
            unit_in_metres: self.input.unit,
            mesh: self.input.mesh.as_ref().map(|mesh| self.folder.join(mesh)),
            cache: self.input.cache.as_ref().map(|cache| self.folder.join(cache)),
            ..ReadOptions::default()
        }
    }

    /// Equal keys promise equal input frames: what the shot says about the input, and every byte it is read from. The
    /// version of this program is in it too, because readers get better.
    pub(crate) fn input_key(&self, clip: &Clip) -> Result<BakeKey, Error> {
        input_key(&self.input, &self.folder, clip)
    }
}

fn input_key(input: &Input, folder: &Path, clip: &Clip) -> Result<BakeKey, Error> {
    let settings = canonical(&serde_json::to_value(input).unwrap_or_default());
    let mut parts: Vec<Vec<u8>> = vec![
        b"followthrough input".to_vec(),
        env!("CARGO_PKG_VERSION").into(),
        settings.into(),
        clip.frame_rate_hz.to_le_bytes().to_vec(),
    ];
    match &input.file {
        Some(file) => {
            let mut files = files_of(&folder.join(file));
            files.extend(input.mesh.iter().chain(&input.cache).map(|path| folder.join(path)));
            for path in files {
                parts.push(BakeKey::of_file(&path)?.bytes().to_vec());
            }
        }
        // a sample is code: what it makes is the only thing that tells whether it changed
        None => parts.push(content_key(clip)?.bytes().to_vec()),
    }
    Ok(BakeKey::of(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>()))
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

/// The files that a path stands for: itself, the buffers beside a .gltf, the members of a numbered sequence, the
/// .obj under a point cache.
fn files_of(path: &Path) -> Vec<PathBuf> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut files = Vec::new();
    if path.is_file() {
        files.push(path.to_owned());
    }
    match extension.as_str() {
        "gltf" => {
            let json: serde_json::Value = std::fs::read(path)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .unwrap_or_default();
            let uris =
                json["buffers"].as_array().into_iter().flatten().filter_map(|buffer| buffer["uri"].as_str());
            let beside = |uri: &str| path.with_file_name(uri.replace("%20", " "));
            files.extend(
                uris.filter(|uri| !uri.starts_with("data:")).map(beside).filter(|path| path.is_file()),
            );
        }
        "pc2" | "mdd" => files.extend(Some(path.with_extension("obj")).filter(|path| path.is_file())),
        "obj" => files.extend(sequence_of(path)),
        _ => {}
    }
    files
}

/// Files in the same folder whose names differ from this one only in their digits (or in what a pattern leaves open).
fn sequence_of(path: &Path) -> Vec<PathBuf> {
    let shape = |name: &str| -> String {
        let name = name.replace("%d", "#");
        let mut shape = String::new();
        for c in name.chars().filter(|c| *c != '%') {
            let c = if c.is_ascii_digit() { '#' } else { c };
            if c != '#' || !shape.ends_with('#') {
                shape.push(c);
            }
        }
        shape.replace("#d", "#")
    };
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Vec::new();
    };
    let wanted = shape(&name);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| {
            let other = entry.file_name().to_string_lossy().into_owned();
            other != name && shape(&other) == wanted
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
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
    fn members_of_a_sequence_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["flag.0001.obj", "flag.0002.obj", "flag.0010.obj", "other.0001.obj", "flag.obj"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        for asked in ["flag.0001.obj", "flag.####.obj", "flag.%04d.obj"] {
            let files = files_of(&folder.path().join(asked));
            assert_eq!(files.len(), 3, "{asked}: {files:?}");
        }
        assert_eq!(files_of(&folder.path().join("flag.obj")).len(), 1);
    }

    #[test]
    fn a_sample_opens_and_its_key_depends_on_its_frames() {
        let open = |text: &str| {
            let reader = crate::Reader::new(crate::Registry::empty().with_sample("flag", samples::flag));
            let shot = reader.parse("shot", text, "".as_ref()).unwrap();
            let clip = shot.open_input().unwrap();
            (shot.input_key(&clip).unwrap(), clip)
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
