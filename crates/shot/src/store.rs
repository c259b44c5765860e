//! Baked frames on disk: one small file per frame, whole or not there.
//!
//! A layer's store is a folder named after the layer and its key:
//!
//! ```text
//! .bake/flag-0123456789abcdef/
//!     frame-00042.bin        points, pose, grids and figures of a frame, with a checksum
//!     checkpoint-00042.bin   the simulation's state after frame 42, with a checksum
//!     timings.txt            frame and seconds, one line each; for the report only
//!     notes.json             what the simulation said about itself
//!     made-from.txt          how much of the input each frame was made from
//! ```
//!
//! Files are written under another name and renamed, so a killed process leaves no half frame under a frame's name;
//! what a crashing machine may leave (files without their content) fails its checksum and is baked again. Meshes that
//! a layer passes through untouched are not stored again: they are read from the layer below.

mod codec;
pub(crate) mod grids;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Frame, Frames, Grid, Transform};

use crate::layer::Figures;
use crate::{BakeKey, Error};

pub(crate) use codec::StoredFrame;

/// Every so many frames a checkpoint is kept for good, so that a frame that got lost later does not mean starting anew.
const KEPT_CHECKPOINTS: usize = 24;

/// The folder of one layer's bake.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// The same layer's folder in another bake: what is not in ours is read from there. Nothing is ever written to it.
    shared: Option<PathBuf>,
    key: BakeKey,
}

impl Store {
    /// Opens or makes the folder, and clears away what an interrupted write left behind.
    pub(crate) fn open(folder: PathBuf, key: BakeKey) -> Result<Self, Error> {
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "tmp") {
                // another bake cannot be writing it: the folder is locked
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Self { folder, shared: None, key })
    }

    /// The same, reading what it lacks from the folder that another bake keeps under the same key.
    #[must_use]
    pub(crate) fn sharing(mut self, folder: Option<PathBuf>) -> Self {
        self.shared = folder.filter(|folder| folder.is_dir() && *folder != self.folder);
        self
    }

    /// The folder as it is: for readers, who neither make nor clear away anything. It may not be there, and another process may be
    /// writing into it.
    pub(crate) fn at(folder: PathBuf, key: BakeKey) -> Self {
        Self { folder, shared: None, key }
    }

    /// Another bake's folder, under the key that its first frame names; `None` where that is not the folder's own.
    pub(crate) fn found(folder: PathBuf) -> Option<Self> {
        let bytes = fs::read(folder.join("frame-00000.bin")).ok()?;
        let key = codec::key_in(&bytes)?;
        let named = folder.file_name()?.to_str()?.ends_with(&key.short());
        named.then_some(Self { folder, shared: None, key })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where things are read from: its own folder first.
    pub(crate) fn folders(&self) -> impl DoubleEndedIterator<Item = &Path> {
        std::iter::once(&*self.folder).chain(self.shared.as_deref())
    }

    fn frame_path(&self, index: usize) -> PathBuf {
        self.folder.join(frame_name(index))
    }

    fn checkpoint_path(&self, index: usize) -> PathBuf {
        self.folder.join(checkpoint_name(index))
    }

    /// Stores a frame.
    pub(crate) fn write_frame(&self, index: usize, frame: &StoredFrame) -> Result<(), Error> {
        write_whole(&self.frame_path(index), &frame.encode(&self.key, index))
    }

    /// A stored frame; `None` when it is not there or not whole.
    pub(crate) fn read_frame(&self, index: usize) -> Option<StoredFrame> {
        self.folders().find_map(|folder| {
            let bytes = fs::read(folder.join(frame_name(index))).ok()?;
            StoredFrame::decode(&bytes, &self.key, index)
        })
    }

    /// Stores the state after frame `index` and drops the one before, unless it is one of those to keep.
    pub(crate) fn write_checkpoint(&self, index: usize, state: &[u8]) -> Result<(), Error> {
        write_whole(&self.checkpoint_path(index), &codec::seal_checkpoint(&self.key, index, state))?;
        if let Some(before) =
            index.checked_sub(1).filter(|before| !(before + 1).is_multiple_of(KEPT_CHECKPOINTS))
        {
            let _ = fs::remove_file(self.checkpoint_path(before));
        }
        Ok(())
    }

    /// Drops checkpoints that bakes left which were killed before they could: all but the latest whole one and those to keep. Only for who
    /// has the folder to himself.
    pub(crate) fn sweep_checkpoints(&self) {
        let latest = self.checkpoint_in(0, usize::MAX).map(|(index, _)| index);
        let is_stray =
            |index: &usize| Some(*index) != latest && !(index + 1).is_multiple_of(KEPT_CHECKPOINTS);
        for index in self.checkpoints().into_iter().filter(is_stray) {
            let _ = fs::remove_file(self.checkpoint_path(index));
        }
    }

    /// The frames after which there are checkpoints, whole or not, ascending.
    fn checkpoints(&self) -> Vec<usize> {
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let number =
            |name: String| name.strip_prefix("checkpoint-")?.strip_suffix(".bin")?.parse::<usize>().ok();
        let entries = self.folders().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let mut indices: Vec<usize> = entries.map(name).filter_map(number).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    /// The whole checkpoint after a frame.
    pub(crate) fn checkpoint(&self, index: usize) -> Option<Vec<u8>> {
        self.folders().find_map(|folder| {
            let bytes = fs::read(folder.join(checkpoint_name(index))).ok()?;
            codec::open_checkpoint(&bytes, &self.key, index)
        })
    }

    /// The latest whole checkpoint after one of the frames `from..to`.
    pub(crate) fn checkpoint_in(&self, from: usize, to: usize) -> Option<(usize, Vec<u8>)> {
        if from >= to {
            return None;
        }
        let indices = self.checkpoints().into_iter().filter(|index| (from..to).contains(index));
        indices.rev().find_map(|index| Some((index, self.checkpoint(index)?)))
    }

    /// Notes how long a frame took. Not worth an error: timings decide nothing.
    pub(crate) fn note_seconds(&self, index: usize, seconds: f64) {
        let file = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("timings.txt"));
        let _ = file.and_then(|mut file| writeln!(file, "{index} {seconds:.6}"));
    }

    /// How long each of `count` frames took, where it is known.
    pub(crate) fn seconds(&self, count: usize) -> Vec<Option<f64>> {
        let mut seconds = vec![None; count];
        let read = |folder: &Path| fs::read_to_string(folder.join("timings.txt")).unwrap_or_default();
        let text: String = self.folders().rev().map(read).collect();
        // a line without its end is still being written
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let mut words = line.split_whitespace();
            let frame = words.next().and_then(|word| word.parse::<usize>().ok());
            let time = words.next().and_then(|word| word.parse::<f64>().ok());
            if let (Some(frame), Some(time)) = (frame, time)
                && let Some(slot) = seconds.get_mut(frame)
            {
                *slot = Some(time);
            }
        }
        seconds
    }

    /// Keeps what the simulation says about itself.
    pub(crate) fn write_notes(&self, notes: &[(String, String)]) -> Result<(), Error> {
        let json = serde_json::to_vec_pretty(notes).unwrap_or_default();
        write_whole(&self.folder.join("notes.json"), &json)
    }

    /// What it said when it was last at work.
    pub(crate) fn notes(&self) -> Vec<(String, String)> {
        let bytes = self.folders().find_map(|folder| fs::read(folder.join("notes.json")).ok());
        serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
    }
}

fn frame_name(index: usize) -> String {
    format!("frame-{index:05}.bin")
}

fn checkpoint_name(index: usize) -> String {
    format!("checkpoint-{index:05}.bin")
}

/// Writes a file so that it appears whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let temporary = path.with_extension("tmp");
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io(path))
}

/// The frames of a baked layer, read one by one.
pub(crate) struct StoredFrames {
    store: Store,
    below: Arc<dyn Frames>,
    strength: f64,
}

impl StoredFrames {
    /// `strength` of the store's frames over the layer below.
    pub(crate) fn new(store: Store, below: Arc<dyn Frames>, strength: f64) -> Self {
        Self { store, below, strength }
    }

    fn stored(&self, index: usize) -> clip::Result<StoredFrame> {
        self.store.read_frame(index).ok_or_else(|| self.damaged(index))
    }

    fn damaged(&self, index: usize) -> clip::Error {
        clip::Error::Malformed {
            path: self.store.frame_path(index),
            place: format!("frame {index}"),
            problem: String::from(
                "the baked frame is missing or damaged; bake again and only it is made anew",
            ),
        }
    }

    /// What a frame has to tell beside itself.
    pub(crate) fn told(&self, index: usize) -> Told {
        let StoredFrame { figures, warnings, fallbacks, .. } =
            self.store.read_frame(index).unwrap_or_default();
        Told { figures, warnings, fallbacks }
    }
}

/// Figures and sentences of a frame.
pub(crate) struct Told {
    pub(crate) figures: Figures,
    pub(crate) warnings: Vec<String>,
    pub(crate) fallbacks: Vec<String>,
}

impl Frames for StoredFrames {
    fn below(&self) -> Option<Arc<dyn Frames>> {
        Some(self.below.clone())
    }

    fn count(&self) -> usize {
        self.below.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if index >= self.count() {
            return Err(clip::Error::NoSuchFrame { index, count: self.count() });
        }
        let stored = self.stored(index)?;
        let blended = self.strength < 1.0;
        let whole = stored.pose.is_some() && stored.points.iter().all(Option::is_some);
        if whole && !blended {
            let points = stored.points.into_iter().flatten().collect();
            return Ok(Frame { points, pose: stored.pose.unwrap_or_default() });
        }
        let below = self.below.read(index)?;
        let frame = stored.over(below.clone());
        Ok(if blended { blend(&below, &frame, self.strength) } else { frame })
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<Grid>> {
        let mut all = self.below.grids(index)?;
        let s = self.strength as f32;
        for packed in self.stored(index)?.grids {
            let mut grid = grids::unpack(&packed).ok_or_else(|| self.damaged(index))?;
            // there is no such field below: less of it is a thinner one
            if s < 1.0 {
                grid.values.iter_mut().for_each(|value| *value *= s);
            }
            all.push(grid);
        }
        Ok(all)
    }
}

/// `strength` of `b` over `a`: positions in a straight line, rotations along the shorter way.
pub(crate) fn blend(a: &Frame, b: &Frame, strength: f64) -> Frame {
    let s = strength as f32;
    let mix = |a: f32, b: f32| (f64::from(a) + strength * (f64::from(b) - f64::from(a))) as f32;
    let mix_points = |(a, b): (&Vec<[f32; 3]>, &Vec<[f32; 3]>)| {
        a.iter().zip(b).map(|(a, b)| [mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2])]).collect()
    };
    let mix_joints = |(a, b): (&Transform, &Transform)| Transform {
        translation: a.translation.lerp(b.translation, s),
        rotation: if a.rotation == b.rotation { a.rotation } else { a.rotation.slerp(b.rotation, s) },
        scale: a.scale.lerp(b.scale, s),
    };
    Frame {
        points: a.points.iter().zip(&b.points).map(mix_points).collect(),
        pose: a.pose.iter().zip(&b.pose).map(mix_joints).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bake that is killed between writing a checkpoint and dropping the one before leaves both.
    #[test]
    fn stray_checkpoints_are_swept_and_the_latest_whole_one_stays() {
        let folder = std::env::temp_dir().join(format!("followthrough-store-{}", std::process::id()));
        let key = BakeKey::of(&[b"test"]);
        let store = Store::open(folder.clone(), key).unwrap();
        for index in [3, 7, 23, 30, 31] {
            let sealed = codec::seal_checkpoint(&key, index, &[index as u8]);
            fs::write(store.checkpoint_path(index), sealed).unwrap();
        }
        fs::write(store.checkpoint_path(31), b"half").unwrap();
        store.sweep_checkpoints();
        // every 24th is kept; what is not whole is no checkpoint
        assert_eq!(store.checkpoints(), [23, 30]);
        assert_eq!(store.checkpoint_in(0, 99), Some((30, vec![30])));
        fs::remove_dir_all(folder).unwrap();
    }
}
