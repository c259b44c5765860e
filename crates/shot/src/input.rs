//! Opening a shot's input, and the key of what was opened.

use std::sync::Arc;

use clip::{Clip, Files, Frame, Frames, Mesh, Names, Placement, ReadOptions};
use glam::DQuat;

use crate::diagnostic::Diagnostics;
use crate::key::{BakeKey, canonical};
use crate::layer::LayerError;
use crate::manifest::Manifest;
use crate::registry::Characters;
use crate::repeat::repeated;
use crate::shot::{AddedInput, MotionInput, Shot};
use crate::{Error, FrameRange};

/// How many periods are simulated at most until a loop repeats itself.
const LOOP_PERIODS: usize = 16;

impl Shot {
    /// Opens the input: the file or the sample, with the frames that the shot uses.
    pub fn open_input(&self) -> Result<Clip, Error> {
        self.open_input_among(&self.files)
    }

    /// The same, read through these files.
    pub(crate) fn open_input_among(&self, files: &Files) -> Result<Clip, Error> {
        let once = self.open_period(files)?;
        match self.periods() {
            1 => Ok(once),
            times => repeated(&once, times, self.input.r#loop),
        }
    }

    /// The animation once.
    pub(crate) fn open_period(&self, files: &Files) -> Result<Clip, Error> {
        let mut scene = match (&self.given, &self.input.file, &self.input.sample) {
            (Some(given), ..) => given.clone(),
            (_, Some(file), _) => clip::read(files.path(file), &self.read_options(files))?,
            (_, None, Some(name)) => {
                let sample = self.open_sample("input.sample", name)?;
                self.input.frame_rate.map_or(sample.clone(), |rate| sample.resampled(rate))
            }
            (_, None, None) if self.input.duration.is_some() => {
                let rate = self.input.frame_rate.unwrap_or(clip::DEFAULT_FRAME_RATE_HZ);
                Clip::empty(&self.name, rate, self.frames_of_duration(rate).unwrap_or(1))
            }
            (_, None, None) => {
                let words = "the input needs a `file`, a `sample` or a `duration`";
                return Err(Diagnostics(vec![self.diagnostic("input", words)]).into());
            }
        };
        // who says a unit knows
        if self.input.file.is_some() && self.input.unit.is_none() && self.given.is_none() {
            scene.warnings.extend(scene.unlikely_size());
        }
        if let Some(motion) = &self.input.motion {
            scene = self.retargeted(&scene, motion, files)?;
        }
        if self.input.body.is_some() {
            scene = self.character("input.body", |known| (known.embody)(&scene))?;
        }
        if let Some(speed) = self.input.speed.filter(|_| self.given.is_none()) {
            let has_document = scene.gltf.is_some();
            scene = scene.retimed(speed);
            if has_document && scene.gltf.is_none() {
                let words = "it is played at another speed, so files are written anew instead of into the document that it came from";
                scene.warnings.push(words.into());
            }
        }
        for (index, added) in self.input.add.iter().enumerate() {
            scene = self.with_added(&scene, index, added, files)?;
        }
        if let Some(count) = self.frames_of_duration(scene.frame_rate_hz) {
            scene = scene.lasting(count);
        }
        if let Some(range) = self.input.frames {
            scene = cropped(&scene, range)?;
        }
        if self.given.is_none() || !self.input.cuts.is_empty() {
            scene.cuts.clone_from(&self.input.cuts);
        }
        Ok(scene)
    }

    /// What is made of the scene's skeleton; what is wrong is said at this place of the file.
    fn character(
        &self,
        place: &str,
        make: impl FnOnce(Characters) -> Result<Clip, LayerError>,
    ) -> Result<Clip, Error> {
        let say = |words: String, help: Option<&str>| {
            let diagnostic = self.diagnostic(place, words);
            Diagnostics(vec![match help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }])
        };
        let known = self.registry.characters();
        let known = known.ok_or_else(|| say("skeletons are no characters here".into(), None))?;
        make(known).map_err(|error| say(error.to_string(), error.remedy()).into())
    }

    /// The scene's character in another motion.
    fn retargeted(&self, scene: &Clip, motion: &MotionInput, files: &Files) -> Result<Clip, Error> {
        let other = match (&motion.file, &motion.sample) {
            (Some(file), _) => clip::read(files.path(file), &self.options_of_motion(motion, files))?,
            (None, name) => self.open_sample("input.motion.sample", name.as_deref().unwrap_or_default())?,
        };
        self.character("input.motion", |known| (known.retarget)(scene, &other))
    }

    /// How the file of a motion is read.
    pub(crate) fn options_of_motion(&self, motion: &MotionInput, files: &Files) -> ReadOptions {
        ReadOptions {
            clip: motion.clip.clone(),
            frame_rate_hz: self.input.frame_rate,
            unit_in_metres: motion.unit,
            files: files.clone(),
            ..ReadOptions::default()
        }
    }

    /// How many times the animation is played.
    pub(crate) fn periods(&self) -> usize {
        match self.input.r#loop {
            // a loop is the second period at the earliest
            true => self.input.repeat.unwrap_or(LOOP_PERIODS).max(2),
            false => self.input.repeat.unwrap_or(1),
        }
    }

    /// How many frames `duration` makes.
    fn frames_of_duration(&self, rate: f64) -> Option<usize> {
        self.input.duration.map(|seconds| (seconds * rate).round().max(1.0) as usize)
    }

    fn open_sample(&self, place: &str, name: &str) -> Result<Clip, Error> {
        let sample = self.registry.sample(name);
        sample.ok_or_else(|| Diagnostics(vec![self.unknown_sample(place, name)]).into())
    }

    /// The scene with one more file in it.
    fn with_added(
        &self,
        scene: &Clip,
        index: usize,
        added: &AddedInput,
        files: &Files,
    ) -> Result<Clip, Error> {
        let at = |key: &str| format!("input.add[{index}].{key}");
        let other = match (&added.file, &added.sample) {
            (Some(file), _) => {
                let options = self.options_of(added, Some(scene.frame_rate_hz), files);
                clip::read(files.path(file), &options)?
            }
            (None, name) => self.open_sample(&at("sample"), name.as_deref().unwrap_or_default())?,
        };
        if (other.frame_rate_hz - scene.frame_rate_hz).abs() > 1e-6 * scene.frame_rate_hz
            && other.frame_count() > 1
        {
            let [theirs, ours] = [other.frame_rate_hz, scene.frame_rate_hz];
            let key = if added.file.is_some() { "file" } else { "sample" };
            let message = format!("it has {theirs} frames a second, and the scene {ours}");
            let help = "give the scene its frame rate, or export it at the scene's";
            return Err(Diagnostics(vec![self.diagnostic(&at(key), message).with_help(help)]).into());
        }
        let skeleton = scene.skeleton.clone().unwrap_or_default();
        let joints_of = |key: &str, names: &Names| {
            names.joints(&skeleton).map_err(|error| {
                let clip::Error::NoSuchName { name, .. } = &error else { return Error::from(error) };
                let message = format!("there is no joint `{name}` in the scene so far");
                let known = crate::suggest(name, skeleton.joints.iter().map(|joint| joint.name.as_str()));
                Error::from(Diagnostics(vec![self.diagnostic(&at(key), message).with_help(known)]))
            })
        };
        let mut parents = added.parent.iter().map(|names| joints_of("parent", names));
        let parents = parents.next().transpose()?.unwrap_or_default();
        let pose = match added.frame {
            Some(frame) if !scene.has_frame(frame) => {
                let message =
                    format!("there is no frame {frame}: the scene so far has {}", scene.frame_count());
                return Err(Diagnostics(vec![self.diagnostic(&at("frame"), message)]).into());
            }
            Some(frame) => Some(scene.frame(frame)?),
            None => None,
        };
        let mut offset = glam::DVec3::from(added.offset);
        if let Some(name) = &added.at {
            let joint = joints_of("at", &name.as_str().into())?;
            let placed = pose.as_ref().map_or_else(|| skeleton.rest_pose(), |frame| frame.pose.clone());
            let world = skeleton.world_from_joints(&placed);
            offset +=
                joint.first().map_or(glam::DVec3::ZERO, |joint| world[*joint].w_axis.truncate().as_dvec3());
        }
        let [x, y, z] = added.rotation.map(f64::to_radians);
        let turn = DQuat::from_rotation_z(z) * DQuat::from_rotation_y(y) * DQuat::from_rotation_x(x);
        let placement = Placement {
            name: added.name.clone(),
            offset,
            rotation: if added.rotation == [0.0; 3] { DQuat::IDENTITY } else { turn },
            scale: added.scale,
            parent: parents.first().copied(),
            pose,
            more_parents: parents.iter().skip(1).copied().collect(),
            start: added.start,
        };
        let mut joined = scene.with_added(&other, &placement);
        for mesh in scene.meshes.len()..joined.meshes.len() * usize::from(added.bind) {
            let name = joined.meshes[mesh].name.clone();
            joined = joined.with_bound(mesh).ok_or_else(|| {
                let message =
                    format!("`{name}` cannot be bound: the scene has no skeleton, or the mesh no faces");
                Error::from(Diagnostics(vec![self.diagnostic(&at("bind"), message)]))
            })?;
        }
        Ok(joined)
    }

    /// How a file that is added is read.
    pub(crate) fn options_of(&self, added: &AddedInput, rate: Option<f64>, files: &Files) -> ReadOptions {
        ReadOptions {
            clip: added.clip.clone(),
            frame_rate_hz: rate,
            unit_in_metres: added.unit,
            mesh: added.mesh.as_ref().map(|mesh| files.path(mesh)),
            cache: added.cache.as_ref().map(|cache| files.path(cache)),
            files: files.clone(),
            ..ReadOptions::default()
        }
    }

    pub(crate) fn unknown_sample(&self, place: &str, name: &str) -> crate::Diagnostic {
        self.diagnostic(place, format!("there is no sample `{name}`"))
            .with_help(crate::suggest(name, self.registry.sample_names()))
    }

    pub(crate) fn read_options(&self, files: &Files) -> ReadOptions {
        // who looks at a shot of several clips sees the first
        let clip = match &self.input.clips {
            Some(_) => self.clip_names().ok().and_then(|names| names.into_iter().next()),
            None => self.input.clip.clone(),
        };
        ReadOptions {
            clip,
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
        parts.extend(manifest.hashes(&manifest.input));
        if self.input.file.is_none()
            || self.input.add.iter().any(|added| added.file.is_none())
            || self.input.motion.as_ref().is_some_and(|motion| motion.file.is_none())
        {
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
    add(format!("{:?}", clip.cuts).as_bytes());
    for mesh in &clip.meshes {
        // field by field: one that is added later must be thought of here
        let Mesh {
            name,
            rest_points,
            vertex_points,
            faces,
            uvs,
            more_uvs,
            smoothing,
            parts,
            groups,
            skin,
            parent,
            morph_targets,
        } = mesh;
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
        add(format!("{parent:?}").as_bytes());
        for target in morph_targets {
            add(target.name.as_bytes());
            add(bytemuck::cast_slice(&target.offsets));
            add(&target.weight.to_le_bytes());
        }
    }
    add(format!("{:?}", clip.skeleton).as_bytes());
    add(format!("{:?}", clip.materials).as_bytes());
    clip.images.iter().for_each(|image| add(&image.bytes));
    if let Some(frame) = &clip.dressed {
        frame.points.iter().for_each(|points| add(bytemuck::cast_slice(points)));
        add(format!("{:?}", frame.pose).as_bytes());
    }
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
        for target in &mesh.morph_targets {
            add(target.name.as_bytes());
            add(bytemuck::cast_slice(&target.offsets));
            add(&target.weight.to_le_bytes());
        }
    }
    add(format!("{:?}", clip.skeleton).as_bytes());
    for index in 0..clip.frame_count() {
        let frame = clip.frame(index)?;
        frame.points.iter().for_each(|points| add(bytemuck::cast_slice(points)));
        add(format!("{:?}", frame.pose).as_bytes());
        clip.morph_weights(index)?.iter().for_each(|weights| add(bytemuck::cast_slice(weights)));
    }
    Ok(BakeKey::of(&[hasher.finalize().as_bytes()]))
}

/// The clip from the first to the last frame of a range.
pub fn cropped(clip: &Clip, range: FrameRange) -> Result<Clip, Error> {
    let count = clip.frame_count();
    if range.last >= count {
        return Err(Error::NoSuchFrames { first: range.first, last: range.last, count });
    }
    let mut part = clip.with_frames(Arc::new(Cropped { frames: clip.frames().clone(), range }));
    part.gltf = part.gltf.map(|source| source.skipping(range.first));
    part.cuts.retain(|cut| (range.first + 1..=range.last).contains(cut));
    part.cuts.iter_mut().for_each(|cut| *cut -= range.first);
    Ok(part)
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

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        if index >= self.count() {
            return Err(clip::Error::NoSuchFrame { index, count: self.count() });
        }
        self.frames.morph_weights(self.range.first + index)
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
