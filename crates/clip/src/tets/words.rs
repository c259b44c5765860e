//! Lines of words with their numbers: what all text formats of tets are made of.

use std::path::Path;

use super::malformed;
use crate::{Error, Result};

/// The lines of a text that say something, split at white space and commas.
pub(super) struct Lines<'a> {
    path: &'a Path,
    rest: &'a [u8],
    number: usize,
    comment: Option<u8>,
    bytes: usize,
}

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    path: &'a Path,
    pub(super) number: usize,
    pub(super) words: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    /// Lines of `bytes`; from the `comment` sign to the line's end nothing counts.
    pub(super) fn new(path: &'a Path, bytes: &'a [u8], comment: Option<u8>) -> Self {
        Self { path, rest: bytes, number: 0, comment, bytes: bytes.len() }
    }

    /// The next line with a word in it. Bytes that are not text make an unreadable word, which is no number.
    pub(super) fn next(&mut self) -> Option<Line<'a>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
            let mut bytes = &self.rest[..end];
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            self.number += 1;
            if let Some(end) = self.comment.and_then(|sign| bytes.iter().position(|&byte| byte == sign)) {
                bytes = &bytes[..end];
            }
            let words: Vec<&str> = bytes
                .split(|byte| byte.is_ascii_whitespace() || *byte == b',')
                .filter(|word| !word.is_empty())
                .map(|word| std::str::from_utf8(word).unwrap_or("\u{fffd}"))
                .collect();
            if !words.is_empty() {
                return Some(Line { path: self.path, number: self.number, words });
            }
        }
        None
    }

    /// The next line, which must be there.
    pub(super) fn need(&mut self, what: &str) -> Result<Line<'a>> {
        self.next().ok_or_else(|| {
            malformed(self.path, "end of file", format!("{what} was expected; the file is cut short"))
        })
    }

    /// Room for so many things, each of which takes at least four bytes of the file.
    pub(super) fn room<T>(&self, count: usize) -> Vec<T> {
        Vec::with_capacity(count.min(self.bytes / 4))
    }
}

impl Line<'_> {
    /// An error at this line.
    pub(super) fn error(&self, problem: impl Into<String>) -> Error {
        malformed(self.path, format!("line {}", self.number), problem)
    }

    /// The word at `index` as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, index: usize, what: &str) -> Result<T> {
        let word = self.words.get(index).ok_or_else(|| self.error(format!("{what} is missing")))?;
        word.parse().map_err(|_| self.error(format!("`{word}` is not {what}")))
    }

    /// Three coordinates from the word at `index` on.
    pub(super) fn point(&self, index: usize) -> Result<[f64; 3]> {
        let mut point = [0.0_f64; 3];
        for (axis, coordinate) in point.iter_mut().enumerate() {
            *coordinate = self.number::<f64>(index + axis, "a coordinate")?;
            if !coordinate.is_finite() {
                return Err(self.error("a coordinate is not a finite number"));
            }
        }
        Ok(point)
    }
}
