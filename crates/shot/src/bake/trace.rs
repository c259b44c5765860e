//! What each frame was made from: how far into the input was read for it, and a hash of all that lies there.
//!
//! An input that is exported again with another ending is another file, so it has another key, and so has every layer on it. But a frame for which
//! nothing of the new ending was read is the same to the bit. So a bake watches what layers really read, preparing included
//! ([`Reads`](super::reads::Reads)), and keeps a line for each frame beside it, in `made-from.txt`:
//!
//! ```text
//! 42 44 0123456789abcdef…        frame 42 was made from the first 44 frames of the input, and this is the hash of
//!                                them, of everything in the input that does not move, and of the layers with their settings
//! ```
//!
//! A bake under another key takes over every frame whose line would read the same for its own input. Nothing is trusted but the hash, and a frame
//! without a line is made again. Whether the input ends there is read too: the link after the last frame says so.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clip::Clip;

use crate::input::{frame_key, still_key};
use crate::{BakeKey, Error};

/// A chain of hashes over the frames of an input, made as far as it is asked for.
pub(super) struct InputChain {
    clip: Clip,
    links: Mutex<Vec<BakeKey>>,
}

impl InputChain {
    pub(super) fn new(clip: &Clip) -> Self {
        Self { clip: clip.clone(), links: Mutex::default() }
    }

    /// What does not move and the first so many frames; one more than there are: that nothing comes after them.
    pub(super) fn link(&self, frames: usize) -> Result<BakeKey, Error> {
        let count = self.clip.frame_count();
        let frames = frames.min(count + 1);
        let mut links = lock(&self.links);
        while links.len() <= frames {
            let next = match (links.last(), links.len()) {
                (None, _) => still_key(&self.clip),
                (Some(before), index) if index <= count => {
                    let frame = frame_key(&self.clip, index - 1)?;
                    BakeKey::of(&[b"frame", before.bytes(), frame.bytes()])
                }
                (Some(before), _) => BakeKey::of(&[b"end", before.bytes()]),
            };
            links.push(next);
        }
        Ok(links[frames])
    }

    pub(super) fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }
}

/// What the frames of one layer were made from.
pub(super) struct Trace {
    path: PathBuf,
    /// The layer, its settings and all layers below, but nothing of the input.
    recipe: BakeKey,
    lines: Mutex<BTreeMap<usize, Line>>,
}

/// Of one frame: how many frames of the input, and the hash in hexadecimal digits.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    reach: usize,
    hash: String,
}

impl Trace {
    /// The lines in a layer's folders; new ones are written into the first.
    pub(super) fn open<'a>(folders: impl Iterator<Item = &'a Path>, recipe: BakeKey) -> Self {
        let paths: Vec<PathBuf> = folders.map(|folder| folder.join("made-from.txt")).collect();
        let text: String =
            paths.iter().rev().map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
        let path = paths.into_iter().next().unwrap_or_default();
        // a line without its end was cut off
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        Self { path, recipe, lines: Mutex::new(whole.filter_map(parse).collect()) }
    }

    /// How far into the input was read for a frame, where that is known.
    pub(super) fn reach(&self, index: usize) -> Option<usize> {
        lock(&self.lines).get(&index).map(|line| line.reach)
    }

    /// Whether this frame, of whichever bake, would be the same made from this input by this layer.
    pub(super) fn is_of(&self, index: usize, recipe: BakeKey, input: &InputChain) -> Result<bool, Error> {
        let Some(line) = lock(&self.lines).get(&index).cloned() else { return Ok(false) };
        // nothing was made from more than a whole input and its end
        let hash = hash(recipe, input.link(line.reach)?);
        Ok(line.hash == hash && line.reach <= input.frame_count() + 1)
    }

    /// Notes that a frame was made from the first `reach` frames of the input. A line that cannot be written costs time some day, not
    /// correctness.
    pub(super) fn note(&self, index: usize, reach: usize, input: &InputChain) -> Result<(), Error> {
        let line = Line { reach, hash: hash(self.recipe, input.link(reach)?) };
        let mut lines = lock(&self.lines);
        if lines.get(&index) != Some(&line) {
            let file = fs::OpenOptions::new().create(true).append(true).open(&self.path);
            let _ = file.and_then(|mut file| writeln!(file, "{index} {reach} {}", line.hash));
            lines.insert(index, line);
        }
        Ok(())
    }
}

fn hash(recipe: BakeKey, link: BakeKey) -> String {
    BakeKey::of(&[b"followthrough made from", recipe.bytes(), link.bytes()]).to_string()
}

fn parse(line: &str) -> Option<(usize, Line)> {
    let mut words = line.split(' ');
    let (index, reach) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((index, Line { reach, hash: words.next()?.to_owned() }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
