//! Numbered files: a film as one file per frame.

use std::path::{Path, PathBuf};

use super::malformed;
use crate::{Files, Result};

/// How the files of a sequence are called: a folder, what stands before and behind the number, and its least width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    pub(super) folder: PathBuf,
    pub(super) before: String,
    width: usize,
    pub(super) behind: String,
}

impl Numbered {
    /// From `flag.####.obj` or `flag_%04d.png`; `None` for other names and for files that really are called so.
    pub fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?.to_path_buf();
        let (before, width, behind) = if let Some(start) = name.find('#') {
            let width = name[start..].bytes().take_while(|&b| b == b'#').count();
            (&name[..start], width, &name[start + width..])
        } else {
            let start = name.find('%')?;
            let (digits, behind) = name[start + 1..].split_once('d')?;
            let width = if digits.is_empty() {
                0
            } else {
                digits.strip_prefix('0')?.parse().ok().filter(|&w| w < 20)?
            };
            (&name[..start], width, behind)
        };
        let (before, behind) = (before.into(), behind.into());
        (!path.exists()).then_some(Self { folder, before, width, behind })
    }

    /// The sequence that a clip called `flag.obj` is written as: `flag.####.obj`.
    pub(super) fn beside(path: &Path) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self { folder, before: format!("{name}."), width: 4, behind: ".obj".into() }
    }

    /// The patterns of which this file may be one: padded with zeros to its own width, or not padded.
    pub(super) fn of_file(path: &Path) -> Vec<Self> {
        let (Some(stem), Some(extension)) = (path.file_stem(), path.extension()) else { return Vec::new() };
        let stem = stem.to_string_lossy();
        let digits = stem.bytes().rev().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > 18 {
            return Vec::new();
        }
        let before = stem[..stem.len() - digits].to_string();
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let behind = format!(".{}", extension.to_string_lossy());
        [digits, 0]
            .map(|width| Self {
                folder: folder.clone(),
                before: before.clone(),
                width,
                behind: behind.clone(),
            })
            .to_vec()
    }

    /// The file with this number.
    pub fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}{number:0width$}{}", self.before, self.behind, width = self.width))
    }

    /// The pattern as a path to show.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}{}{}", self.before, "#".repeat(self.width.max(1)), self.behind))
    }

    /// The numbers that there are files for, in order.
    pub fn numbers(&self) -> Result<Vec<u64>> {
        self.numbers_among(&Files::default())
    }

    /// The same under a policy.
    pub fn numbers_among(&self, files: &Files) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for name in files.names_in(&self.folder)? {
            let middle = name.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(&self.behind));
            let Some(number) = middle.and_then(|middle| middle.parse::<u64>().ok()) else { continue };
            if middle == Some(format!("{number:0width$}", width = self.width).as_str()) {
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The numbers that there are files for, from the first to the last without a gap; otherwise the first file that is missing.
    pub fn gapless(&self) -> Result<Vec<u64>> {
        self.gapless_among(&Files::default())
    }

    /// The same under a policy.
    pub fn gapless_among(&self, files: &Files) -> Result<Vec<u64>> {
        let numbers = self.numbers_among(files)?;
        if numbers.is_empty() {
            return Err(malformed(&self.path(), "the folder", "no file of this sequence is there"));
        }
        match numbers.windows(2).find(|pair| pair[1] != pair[0] + 1) {
            None => Ok(numbers),
            Some(gap) => {
                let place = format!("between frames {} and {}", gap[0], gap[1]);
                let missing = self.file(gap[0] + 1);
                let problem =
                    format!("{} is missing; write it again, or read one file alone", missing.display());
                Err(malformed(&self.path(), place, problem))
            }
        }
    }
}
