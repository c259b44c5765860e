//! USDZ: a zip archive whose entries are stored as they are, each beginning at a multiple of 64 bytes, the layer first.

use std::path::Path;

use crate::format::atomic::AtomicFile;
use crate::format::{Source, malformed};
use crate::{Error, Result};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_HEADER: u32 = 0x0605_4b50;
const LOCAL_LENGTH: u64 = 30;
/// The first day that zip can name: the same clip gives the same bytes.
const DATE: u16 = 0x21;

/// An archive on its way out.
pub(super) struct Archive {
    file: AtomicFile,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    header: u64,
    start: u64,
    length: u64,
    checksum: u32,
}

impl Archive {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: AtomicFile::create(path)?, entries: Vec::new() })
    }

    /// Adds an entry whose bytes `write` appends to the file that it is given.
    pub(super) fn add(
        mut self,
        name: &str,
        write: impl FnOnce(AtomicFile) -> Result<AtomicFile>,
    ) -> Result<Self> {
        let header = self.file.length();
        let plain = header + LOCAL_LENGTH + name.len() as u64;
        // the gap is an extra field of its own, which needs four bytes for itself
        let start = (plain + 4).next_multiple_of(64);
        self.file.leave(start - header)?;
        let mut file = write(self.file)?;
        let length = file.length() - start;
        let checksum = file.checksum(start)?;
        let entry = Entry { name: name.into(), header, start, length, checksum };
        file.fill(header, &entry.local_header(&self.entries)?)?;
        self.entries.push(entry);
        Ok(Self { file, entries: self.entries })
    }

    /// Writes the directory at the end.
    pub(super) fn finish(self) -> Result<u64> {
        let Self { mut file, entries } = self;
        let directory = file.length();
        for entry in &entries {
            file.append(&entry.central_header())?;
        }
        let length = file.length() - directory;
        if file.length() > u64::from(u32::MAX) {
            return Err(file.unsupported("a usdz cannot exceed 4 GiB; name it .usdc"));
        }
        let mut end = Vec::new();
        end.extend(END_HEADER.to_le_bytes());
        end.extend([0; 4]);
        end.extend([(entries.len() as u16).to_le_bytes(); 2].as_flattened());
        end.extend((length as u32).to_le_bytes());
        end.extend((directory as u32).to_le_bytes());
        end.extend([0; 2]);
        file.append(&end)?;
        file.finish()
    }
}

impl Entry {
    /// What local and central header have in common: from the version on to the length of the name.
    fn common(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(10_u16.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(DATE.to_le_bytes());
        bytes.extend(self.checksum.to_le_bytes());
        bytes.extend([(self.length as u32).to_le_bytes(); 2].as_flattened());
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes
    }

    fn local_header(&self, _before: &[Self]) -> Result<Vec<u8>> {
        let gap = self.start - self.header - LOCAL_LENGTH - self.name.len() as u64;
        let mut bytes = LOCAL_HEADER.to_le_bytes().to_vec();
        bytes.extend(self.common());
        bytes.extend((gap as u16).to_le_bytes());
        bytes.extend(self.name.bytes());
        // an unknown kind of extra field: readers skip it
        bytes.extend(0x1986_u16.to_le_bytes());
        bytes.extend((gap as u16 - 4).to_le_bytes());
        Ok(bytes)
    }

    fn central_header(&self) -> Vec<u8> {
        let mut bytes = CENTRAL_HEADER.to_le_bytes().to_vec();
        bytes.extend(10_u16.to_le_bytes());
        bytes.extend(self.common());
        bytes.extend([0; 12]);
        bytes.extend((self.header as u32).to_le_bytes());
        bytes.extend(self.name.bytes());
        bytes
    }
}

/// Where an entry's bytes lie in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) length: u64,
}

/// The entries of an archive, by its central directory.
pub(super) fn list(source: &Source) -> Result<Vec<Stored>> {
    let path = source.path();
    let wrong = |place: &str, problem: &str| malformed(path, place, problem);
    // the end header is within a comment's length of the end
    let tail_length = source.length().min(22 + 65535);
    let tail_start = source.length() - tail_length;
    let tail = source.bytes(tail_start, tail_length)?;
    let at = tail.windows(4).rposition(|window| window == END_HEADER.to_le_bytes());
    let end = at
        .and_then(|at| tail.get(at..at + 22))
        .ok_or_else(|| wrong("end", "the archive has no directory: it was cut short or is no usdz"))?;
    let count = u16::from_le_bytes([end[10], end[11]]);
    let (size, start) = (word(end, 12), word(end, 16));
    let directory = source.bytes(start.into(), size.into())?;
    let mut rest = directory.as_slice();
    let mut entries = Vec::new();
    for number in 0..count {
        let place = format!("entry {number} of the directory");
        let cut = || wrong(&place, "it was cut short or is damaged");
        let (header, behind) = rest.split_at_checked(46).ok_or_else(cut)?;
        if word(header, 0) != CENTRAL_HEADER {
            return Err(cut());
        }
        let half = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (name, behind) = behind.split_at_checked(half(28)).ok_or_else(cut)?;
        rest = behind.get(half(30) + half(32)..).ok_or_else(cut)?;
        let name = String::from_utf8_lossy(name).into_owned();
        if half(10) != 0 {
            let problem =
                format!("`{name}` is compressed, which a usdz must not be; pack it again with `usdzip`");
            return Err(Error::Malformed { path: path.into(), place, problem });
        }
        let header_at = u64::from(word(header, 42));
        let local = source.bytes(header_at, LOCAL_LENGTH)?;
        let skip = u64::from(u16::from_le_bytes([local[26], local[27]]))
            + u64::from(u16::from_le_bytes([local[28], local[29]]));
        let start = header_at + LOCAL_LENGTH + skip;
        let length = u64::from(word(header, 24));
        if start.checked_add(length).is_none_or(|end| end > source.length()) {
            return Err(wrong(
                &place,
                "its bytes lie beyond the end of the file: it was cut short or is damaged",
            ));
        }
        entries.push(Stored { name, start, length });
    }
    Ok(entries)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
