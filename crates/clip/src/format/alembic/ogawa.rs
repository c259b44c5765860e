//! The Ogawa container: data blocks, and groups that list where their children are.
//!
//! A child is a place in the file; its highest bit tells data from groups. A block begins with its length, a group with
//! the number of its children. Place 0 stands for what is empty.

use crate::format::atomic::AtomicFile;
use crate::format::{Source, malformed};
use crate::{Error, Result};

pub(super) const MAGIC: &[u8; 5] = b"Ogawa";
const DATA: u64 = 1 << 63;
/// Magic, the byte that says that the file is complete, version 1, the root's place.
const HEADER_LENGTH: u64 = 16;

/// A container on its way out.
pub(super) struct OgawaWriter {
    file: AtomicFile,
}

impl OgawaWriter {
    pub(super) fn new(mut file: AtomicFile) -> Result<Self> {
        file.leave(HEADER_LENGTH)?;
        Ok(Self { file })
    }

    /// Appends a block made of pieces; returns its place as a child.
    pub(super) fn data(&mut self, pieces: &[&[u8]]) -> Result<u64> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length == 0 {
            return Ok(DATA);
        }
        let place = self.file.length();
        self.file.append(&(length as u64).to_le_bytes())?;
        pieces.iter().try_for_each(|piece| self.file.append(piece))?;
        Ok(place | DATA)
    }

    /// Appends a group; returns its place as a child.
    pub(super) fn group(&mut self, children: &[u64]) -> Result<u64> {
        if children.is_empty() {
            return Ok(0);
        }
        let place = self.file.length();
        self.file.append(&(children.len() as u64).to_le_bytes())?;
        self.file.append(bytemuck::cast_slice(children))?;
        Ok(place)
    }

    /// Names the root and gives the file its name; returns its size.
    pub(super) fn finish(mut self, root: u64) -> Result<u64> {
        let header = [&MAGIC[..], &[0xff, 0, 1], &root.to_le_bytes()].concat();
        self.file.fill(0, &header)?;
        self.file.finish()
    }
}

/// A child of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Group(u64),
    /// Where its bytes begin, and how many there are.
    Data(u64, u64),
}

/// A container that is read.
#[derive(Clone)]
pub(super) struct Ogawa {
    pub(super) source: Source,
}

impl Ogawa {
    /// Opens a container; returns the children of its root.
    pub(super) fn open(source: Source) -> Result<(Self, Vec<Child>)> {
        let start = source.bytes(0, source.length().min(8))?;
        if start.starts_with(b"\x89HDF") {
            let problem =
                "an Alembic file of the older kind, HDF5; convert it with `abcconvert -toOgawa IN OUT`"
                    .into();
            return Err(Error::Unsupported { path: source.path().into(), problem });
        }
        let header = source.bytes(0, HEADER_LENGTH)?;
        if !header.starts_with(MAGIC) {
            return Err(malformed(source.path(), "header", "does not begin with Ogawa"));
        }
        if header[5] != 0xff {
            let problem =
                "the file was never finished: the program that wrote it was stopped; write it again";
            return Err(malformed(source.path(), "header", problem));
        }
        if header[6..8] != [0, 1] {
            let problem = format!("version {}.{} is not known; 0.1 is", header[6], header[7]);
            return Err(malformed(source.path(), "header", problem));
        }
        let root = header[8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let ogawa = Self { source };
        let children = ogawa.children(root)?;
        Ok((ogawa, children))
    }

    pub(super) fn malformed(&self, place: impl Into<String>, problem: impl Into<String>) -> Error {
        malformed(self.source.path(), place, problem)
    }

    fn word(&self, at: u64) -> Result<u64> {
        let bytes = self.source.bytes(at, 8)?;
        Ok(bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// The children of a group.
    pub(super) fn children(&self, group: u64) -> Result<Vec<Child>> {
        if group == 0 {
            return Ok(Vec::new());
        }
        let count = self.word(group)?;
        let bytes = self.source.bytes(group.saturating_add(8), count.saturating_mul(8))?;
        bytes.as_chunks::<8>().0.iter().map(|bytes| self.child(u64::from_le_bytes(*bytes))).collect()
    }

    fn child(&self, place: u64) -> Result<Child> {
        if place & DATA == 0 {
            return Ok(Child::Group(place));
        }
        match place & !DATA {
            0 => Ok(Child::Data(0, 0)),
            at => Ok(Child::Data(at.saturating_add(8), self.word(at)?)),
        }
    }

    /// The bytes of a child; none when it is a group.
    pub(super) fn bytes(&self, child: Option<&Child>) -> Result<Vec<u8>> {
        match child {
            Some(&Child::Data(start, length)) => self.source.bytes(start, length),
            _ => Ok(Vec::new()),
        }
    }
}
