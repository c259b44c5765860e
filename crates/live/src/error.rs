//! What can be wrong with a file or a frame.

use core::fmt;

/// What is wrong, with the facts.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The bytes are not an operator file, or one of another version.
    NotAnOperator,
    /// Written by another version of the format.
    Version {
        /// In the file.
        found: u32,
        /// That this library reads.
        expected: u32,
    },
    /// The file ends too early or goes on too long.
    Length {
        /// Bytes that there are.
        found: usize,
        /// Bytes that its header asks for.
        expected: usize,
    },
    /// The bytes are not those that were written.
    Checksum,
    /// A value in the file that cannot be.
    Malformed {
        /// Which table.
        section: &'static str,
        /// Its first bad entry.
        index: usize,
    },
    /// A list of the wrong length.
    Count {
        /// Which list.
        what: &'static str,
        /// Its entries.
        found: usize,
        /// The entries that are needed.
        expected: usize,
    },
    /// An operator for another mesh.
    OtherMesh {
        /// Points of the mesh at hand.
        found: usize,
        /// Points of the mesh that was learnt.
        expected: usize,
    },
    /// Not a finite number.
    NotFinite {
        /// Which list.
        what: &'static str,
        /// The first bad entry.
        index: usize,
    },
    /// A number that makes no sense.
    OutOfRange {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: f32,
    },
    /// More than there is room for.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// The most there may be.
        most: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnOperator => write!(f, "not an operator file: it does not begin with FTOP"),
            Self::Version { found, expected } => write!(
                f,
                "the file has version {found} of the format, this library reads version {expected}; train it again"
            ),
            Self::Length { found, expected } => {
                write!(
                    f,
                    "the file has {found} bytes where its header asks for {expected}: it was cut or joined"
                )
            }
            Self::Checksum => {
                write!(f, "the file was altered after it was written: its checksum does not hold")
            }
            Self::Malformed { section, index } => {
                write!(f, "the file's table of {section} is wrong at entry {index}")
            }
            Self::Count { what, found, expected } => {
                write!(f, "{expected} {what} are needed, {found} were given")
            }
            Self::OtherMesh { found, expected } if found == expected => write!(
                f,
                "the operator was learnt for another mesh: both have {found} points, but triangles or rest shape differ"
            ),
            Self::OtherMesh { found, expected } => write!(
                f,
                "the operator was learnt for another mesh: it has {expected} points, this one has {found}"
            ),
            Self::NotFinite { what, index } => write!(f, "{what} {index} is not a finite number"),
            Self::OutOfRange { what, value } => write!(f, "{what} cannot be {value}"),
            Self::TooMany { what, found, most } => write!(f, "{found} {what} are too many: at most {most}"),
        }
    }
}

impl core::error::Error for Error {}
