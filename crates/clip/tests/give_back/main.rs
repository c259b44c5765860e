//! What came in as glTF goes out as the same document: everything that nobody changed compares equal, with accessors read to their values.

mod changes;
#[path = "../common/mod.rs"]
mod common;
mod corrective;
mod document;
mod everything;
mod joints;
mod several;
mod unchanged;

use std::path::PathBuf;
use std::sync::Arc;

use clip::{Clip, Frame, Frames, ReadOptions, WriteOptions, Written, read, write};

/// Frames that are what others are, with something done to each.
struct Changed<F> {
    frames: Arc<dyn Frames>,
    change: F,
}

impl<F: Fn(usize, &mut Frame) + Send + Sync> Frames for Changed<F> {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.frames.read(index)?;
        (self.change)(index, &mut frame);
        Ok(frame)
    }

    fn below(&self) -> Option<Arc<dyn Frames>> {
        Some(self.frames.clone())
    }
}

/// The clip with something done to each of its frames.
fn each_frame(clip: &Clip, change: impl Fn(usize, &mut Frame) + Send + Sync + 'static) -> Clip {
    clip.with_frames(Arc::new(Changed { frames: clip.frames().clone(), change }))
}

/// The clip with some meshes bent away from where they were.
fn bent(clip: &Clip, meshes: &[usize]) -> Clip {
    let (by, meshes) = (0.05 * size(clip), meshes.to_vec());
    each_frame(clip, move |index, frame| {
        for &mesh in &meshes {
            for (i, point) in frame.points[mesh].iter_mut().enumerate() {
                let phase = 0.7 * index as f32 + 0.1 * i as f32;
                *point = [point[0] + by * phase.sin(), point[1] + by * phase.cos(), point[2]];
            }
        }
    })
}

fn size(clip: &Clip) -> f32 {
    clip.frame(0).unwrap().points.concat().as_flattened().iter().fold(1e-3, |size: f32, x| size.max(x.abs()))
}

/// Writes a clip; gives back the file, which lasts as long as the folder.
fn written(clip: &Clip, options: &WriteOptions) -> (tempfile::TempDir, PathBuf, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    let written = write(&path, clip, options).unwrap();
    assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    (folder, path, written)
}

/// The document with everything, on disk and read; it lasts as long as the folder.
fn opened() -> (tempfile::TempDir, PathBuf, Clip) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything::everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    (folder, path, clip)
}
