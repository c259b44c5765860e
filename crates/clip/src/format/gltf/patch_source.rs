//! The document that a clip came from, remembered: its JSON and its buffers, where they lie.

use std::path::Path;
use std::sync::Arc;

use super::container::Container;
use super::scene::{self, Opened};
use crate::Result;
use crate::format::ReadOptions;

/// The glTF document that a clip was read from, and which of it the clip is. What is written as GLB goes back into it.
///
/// It holds no frames and, where the buffers are files, none of their bytes: they are read again when they are copied, and must then be what
/// they were if there is a [manifest](crate::Files::with_manifest).
#[derive(Clone)]
pub struct GltfSource {
    container: Arc<Container>,
    /// Clip, frame rate and unit, as they were asked for.
    options: ReadOptions,
    first_frame: usize,
}

impl GltfSource {
    pub(super) fn new(container: Arc<Container>, options: &ReadOptions) -> Self {
        let options = ReadOptions {
            clip: options.clip.clone(),
            frame_rate_hz: options.frame_rate_hz,
            unit_in_metres: options.unit_in_metres,
            ..ReadOptions::default()
        };
        Self { container, options, first_frame: 0 }
    }

    /// The same document for a clip that begins so many frames later.
    #[must_use]
    pub fn skipping(mut self, frames: usize) -> Self {
        self.first_frame += frames;
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.container.path
    }

    /// The same clip in a later state of the document.
    pub(super) fn within(&self, container: Container) -> Self {
        Self { container: Arc::new(container), ..self.clone() }
    }

    /// The frame of the document at which the clip begins.
    pub(super) fn first_frame(&self) -> usize {
        self.first_frame
    }

    pub(super) fn container(&self) -> &Container {
        &self.container
    }

    /// Reads it once more, as it was.
    pub(super) fn open(&self) -> Result<Opened> {
        scene::open(&self.container, &self.options)
    }
}

impl std::fmt::Debug for GltfSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GltfSource").field("path", &self.path()).finish_non_exhaustive()
    }
}
