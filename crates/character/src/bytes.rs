//! What kits are written with, and read again.
//!
//! Bytes are little-endian: a magic word, a version, lists with their lengths in front, and a checksum of all before it. Nothing in
//! them is trusted: lengths are checked against what is left, indices against what they point into.

use crate::Error;

pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins with a magic word, whose last byte is the version.
    pub(crate) fn new(magic: &[u8; 8]) -> Self {
        Self { bytes: magic.to_vec() }
    }

    /// All bytes, with their checksum.
    pub(crate) fn finished(mut self) -> Vec<u8> {
        let sum = checksum(&self.bytes);
        self.bytes.extend(sum.to_le_bytes());
        self.bytes
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.bytes.extend((count as u32).to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, numbers: impl IntoIterator<Item = f64>) {
        numbers.into_iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    pub(crate) fn singles(&mut self, numbers: &[f32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    pub(crate) fn list<T>(&mut self, list: &[T], write: impl Fn(&mut Self, &T)) {
        self.count(list.len());
        list.iter().for_each(|item| write(self, item));
    }
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// All of what a [`Writer`] with the same magic word has written.
    pub(crate) fn whole<T>(
        bytes: &'a [u8],
        magic: &[u8; 8],
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Result<T, Error> {
        let broken = |problem| Error::Packed { problem };
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
            return Err(broken("there are too few of them"));
        };
        if !body.starts_with(&magic[..5]) {
            return Err(broken("they begin otherwise"));
        }
        if !body.starts_with(magic) {
            return Err(broken("they are of another version"));
        }
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(broken("they were cut short or changed"));
        }
        let mut input = Self { bytes: &body[magic.len()..] };
        let found = read(&mut input).ok_or(broken("a length or an index is wrong"))?;
        if input.bytes.is_empty() { Ok(found) } else { Err(broken("there are too many of them")) }
    }
}

impl Reader<'_> {
    /// So many numbers.
    pub(crate) fn many(&mut self, count: usize) -> Option<Vec<f64>> {
        // so many cannot be there: do not make room for them
        (count <= self.bytes.len() / 8).then_some(())?;
        (0..count).map(|_| self.numbers().map(|[number]| number)).collect()
    }

    /// So many numbers in single precision.
    pub(crate) fn singles(&mut self, count: usize) -> Option<Vec<f32>> {
        let (own, rest) = self.bytes.split_at_checked(count.checked_mul(4)?)?;
        self.bytes = rest;
        let numbers = own.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word));
        numbers.map(|number| number.is_finite().then_some(number)).collect()
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        let (word, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(u32::from_le_bytes(*word) as usize)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let count = self.count()?;
        let (text, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    pub(crate) fn below(&mut self, limit: usize) -> Option<usize> {
        self.count().filter(|&index| index < limit)
    }

    pub(crate) fn numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            let (word, rest) = self.bytes.split_first_chunk::<8>()?;
            self.bytes = rest;
            *number = f64::from_le_bytes(*word);
            if !number.is_finite() {
                return None;
            }
        }
        Some(numbers)
    }

    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        // every item takes four bytes at least
        let mut list = Vec::with_capacity(count.min(self.bytes.len() / 4));
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list)
    }

    pub(crate) fn pairs(&mut self, limit: usize) -> Option<Vec<(u32, f64)>> {
        self.list(|input| {
            let index = input.below(limit)? as u32;
            let [value] = input.numbers()?;
            Some((index, value))
        })
    }
}

/// FNV-1a over eight bytes at a time: tells damage, no more.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
    sum ^ bytes.len() as u64
}

/// Copies of sound bytes that somebody changed on purpose, so that the checksum fits: some bits and bytes anywhere behind the magic word, or
/// the end cut off.
#[cfg(test)]
pub(crate) fn damaged(sound: &[u8], magic: &[u8; 8], count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = geometry::Random::new(17);
    let body = sound.len() - 8;
    let mut damage = move || {
        let mut number = |below: usize| random.below(below);
        let mut changed = sound[..body].to_vec();
        for _ in 0..1 + number(3) {
            let at = magic.len() + number(body - magic.len());
            changed[at] = match number(4) {
                0 => 0,
                1 => 255,
                _ => changed[at] ^ (1 << number(8)),
            };
        }
        if number(8) == 0 {
            changed.truncate(magic.len() + number(body - magic.len()));
        }
        let sum = checksum(&changed);
        changed.extend(sum.to_le_bytes());
        changed
    };
    (0..count).map(move |_| damage())
}
