//! The headers of objects and properties: packed bits, names and metadata, in both directions.

use super::ogawa::Ogawa;
use crate::Result;

/// What a property holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Compound,
    /// One value of `extent` numbers at each time.
    Scalar,
    /// Any number of values of `extent` numbers each.
    Array,
}

/// A property without its samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) holds: Holds,
    /// `key=value;key=value`
    pub(super) metadata: String,
    pub(super) pod: u8,
    pub(super) extent: u8,
    pub(super) count: u32,
    /// The first sample that differs from the one before it, and the last; zeros when none does.
    pub(super) first_changed: u32,
    pub(super) last_changed: u32,
    pub(super) sampling: u32,
    /// Whether all samples are equally long.
    pub(super) homogenous: bool,
    /// Whether an array always has one value.
    pub(super) scalar_like: bool,
}

impl Header {
    pub(super) fn compound(name: &str, metadata: &str) -> Self {
        Self {
            name: name.into(),
            holds: Holds::Compound,
            metadata: metadata.into(),
            pod: 0,
            extent: 0,
            count: 0,
            first_changed: 0,
            last_changed: 0,
            sampling: 0,
            homogenous: true,
            scalar_like: false,
        }
    }

    /// The stored sample under a sample's number: those before the first change and behind the last are stored once.
    pub(super) fn stored(&self, sample: u32) -> usize {
        if self.last_changed == 0 || sample < self.first_changed {
            return 0;
        }
        (sample.min(self.last_changed) - self.first_changed + 1) as usize
    }

    /// A value of the metadata.
    pub(super) fn tag(&self, key: &str) -> Option<&str> {
        tag(&self.metadata, key)
    }

    /// Appends the packed header.
    pub(super) fn pack(&self, out: &mut Vec<u8>) {
        let longest =
            (self.name.len() as u32).max(self.metadata.len() as u32).max(self.count).max(self.sampling);
        let hint = match longest {
            0..256 => 0_u32,
            256..65536 => 1,
            _ => 2,
        };
        // metadata stands beside the name (0xff), not in the archive's list
        let index: u32 = if self.metadata.is_empty() { 0 } else { 0xff };
        let mut info = (hint << 2) | (index << 20);
        let sized = |number: u32, out: &mut Vec<u8>| out.extend(&number.to_le_bytes()[..1 << hint]);
        if self.holds == Holds::Compound {
            out.extend(info.to_le_bytes());
        } else {
            info |= if self.holds == Holds::Scalar { 1 } else { 2 | u32::from(self.scalar_like) };
            info |= (u32::from(self.pod) << 4) | (u32::from(self.extent) << 12);
            info |= u32::from(self.sampling != 0) << 8 | u32::from(self.homogenous) << 10;
            let constant = self.last_changed == 0;
            let named = !constant && (self.first_changed != 1 || self.last_changed + 1 != self.count);
            info |= u32::from(named) << 9 | u32::from(constant) << 11;
            out.extend(info.to_le_bytes());
            sized(self.count, out);
            if named {
                sized(self.first_changed, out);
                sized(self.last_changed, out);
            }
            if self.sampling != 0 {
                sized(self.sampling, out);
            }
        }
        sized(self.name.len() as u32, out);
        out.extend(self.name.bytes());
        if index == 0xff {
            sized(self.metadata.len() as u32, out);
            out.extend(self.metadata.bytes());
        }
    }

    /// Reads all headers of a compound.
    pub(super) fn unpack_all(
        ogawa: &Ogawa,
        bytes: &[u8],
        shared: &[String],
        place: &str,
    ) -> Result<Vec<Self>> {
        let mut reader = Packed { ogawa, bytes, place };
        let mut headers = Vec::new();
        while !reader.bytes.is_empty() {
            headers.push(Self::unpack(&mut reader, shared)?);
        }
        Ok(headers)
    }

    fn unpack(reader: &mut Packed, shared: &[String]) -> Result<Self> {
        let info = reader.number(4)?;
        let mut header = Self::compound("", "");
        let width = match (info >> 2) & 3 {
            hint @ 0..=2 => 1 << hint,
            _ => return Err(reader.damaged()),
        };
        if info & 3 != 0 {
            header.holds = if info & 3 == 1 { Holds::Scalar } else { Holds::Array };
            header.scalar_like = info & 1 != 0;
            header.homogenous = info & 0x400 != 0;
            header.pod = ((info >> 4) & 15) as u8;
            header.extent = ((info >> 12) & 255) as u8;
            header.count = reader.number(width)?;
            if info & 0x200 != 0 {
                header.first_changed = reader.number(width)?;
                header.last_changed = reader.number(width)?;
            } else if info & 0x800 == 0 {
                (header.first_changed, header.last_changed) = (1, header.count.saturating_sub(1));
            }
            if header.first_changed > header.last_changed && header.last_changed != 0 {
                return Err(reader.damaged());
            }
            if info & 0x100 != 0 {
                header.sampling = reader.number(width)?;
            }
        }
        let length = reader.number(width)?;
        header.name = reader.text(length)?;
        let index = (info >> 20) & 255;
        header.metadata = reader.metadata(index, shared, width)?;
        Ok(header)
    }
}

/// The value of a key in `key=value;key=value`.
pub(super) fn tag<'a>(metadata: &'a str, key: &str) -> Option<&'a str> {
    metadata.split(';').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

/// A child object's name and metadata, as the parent lists them.
pub(super) fn pack_object(name: &str, metadata: &str, out: &mut Vec<u8>) {
    out.extend((name.len() as u32).to_le_bytes());
    out.extend(name.bytes());
    out.push(0xff);
    out.extend((metadata.len() as u32).to_le_bytes());
    out.extend(metadata.bytes());
}

/// The names and metadata of an object's children.
pub(super) fn unpack_objects(
    ogawa: &Ogawa,
    bytes: &[u8],
    shared: &[String],
    place: &str,
) -> Result<Vec<(String, String)>> {
    // the last 32 bytes are hashes
    let length = bytes.len().saturating_sub(32);
    let mut reader = Packed { ogawa, bytes: &bytes[..length], place };
    let mut objects = Vec::new();
    while !reader.bytes.is_empty() {
        let length = reader.number(4)?;
        let name = reader.text(length)?;
        let index = reader.number(1)?;
        objects.push((name, reader.metadata(index, shared, 4)?));
    }
    Ok(objects)
}

/// The metadata that headers refer to by number; number 0 is empty.
pub(super) fn unpack_shared(ogawa: &Ogawa, bytes: &[u8]) -> Result<Vec<String>> {
    let mut reader = Packed { ogawa, bytes, place: "metadata" };
    let mut shared = vec![String::new()];
    while !reader.bytes.is_empty() {
        let length = reader.number(1)?;
        shared.push(reader.text(length)?);
    }
    Ok(shared)
}

/// Packed bytes on their way in.
struct Packed<'a> {
    ogawa: &'a Ogawa,
    bytes: &'a [u8],
    place: &'a str,
}

impl Packed<'_> {
    fn damaged(&self) -> crate::Error {
        self.ogawa.malformed(self.place, "a header was cut short or is damaged")
    }

    fn number(&mut self, width: usize) -> Result<u32> {
        let (head, rest) = self.bytes.split_at_checked(width).ok_or_else(|| self.damaged())?;
        self.bytes = rest;
        Ok(head.iter().rev().fold(0, |number, &byte| (number << 8) | u32::from(byte)))
    }

    fn text(&mut self, length: u32) -> Result<String> {
        let (head, rest) = self.bytes.split_at_checked(length as usize).ok_or_else(|| self.damaged())?;
        self.bytes = rest;
        Ok(String::from_utf8_lossy(head).into_owned())
    }

    fn metadata(&mut self, index: u32, shared: &[String], width: usize) -> Result<String> {
        if index == 0xff {
            let length = self.number(width)?;
            return self.text(length);
        }
        shared.get(index as usize).cloned().ok_or_else(|| self.damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_stored_once_before_the_first_change_and_behind_the_last() {
        let mut header = Header { count: 10, first_changed: 3, last_changed: 5, ..Header::compound("P", "") };
        let stored: Vec<usize> = (0..10).map(|sample| header.stored(sample)).collect();
        assert_eq!(stored, [0, 0, 0, 1, 2, 3, 3, 3, 3, 3]);
        (header.first_changed, header.last_changed) = (0, 0);
        assert_eq!(header.stored(9), 0);
        (header.first_changed, header.last_changed) = (1, 9);
        assert_eq!((header.stored(0), header.stored(9)), (0, 9));
    }
}
