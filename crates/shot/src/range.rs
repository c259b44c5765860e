//! A run of frames as people write it: first and last.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Frames from the first to the last, both counted from 0 and both included: `10-20`; a single number is one frame.
///
/// ```
/// let range: shot::FrameRange = "10-20".parse()?;
/// assert_eq!(range.to_range(), 10..21);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FrameRange {
    /// The first frame.
    pub first: usize,
    /// The last frame; not before the first.
    pub last: usize,
}

impl FrameRange {
    /// As Rust writes it.
    pub fn to_range(self) -> Range<usize> {
        self.first..self.last + 1
    }
}

impl FromStr for FrameRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |part: &str| part.trim().parse::<usize>().ok().filter(|&frame| frame < u32::MAX as usize);
        let (first, last) = match text.split_once("..=").or(text.split_once('-')) {
            Some((first, last)) => (number(first), number(last)),
            None => (number(text), number(text)),
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            (Some(first), Some(last)) => Err(format!("frames {first}-{last} end before they begin")),
            _ => Err(format!("`{text}` is not a range of frames; write first-last, as in 0-100")),
        }
    }
}

impl TryFrom<String> for FrameRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<FrameRange> for String {
    fn from(range: FrameRange) -> Self {
        range.to_string()
    }
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_bad_ones_refused() {
        assert_eq!("7".parse(), Ok(FrameRange { first: 7, last: 7 }));
        assert_eq!(" 3 - 9 ".parse(), Ok(FrameRange { first: 3, last: 9 }));
        for bad in ["", "-", "9-3", "a-b", "-5", "1-", "99999999999999999999", "1-18446744073709551615"] {
            assert!(bad.parse::<FrameRange>().is_err(), "{bad}");
        }
    }
}
