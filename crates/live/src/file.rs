//! The operator file, `.ftop`, read where it lies: little-endian, no copy, nothing trusted.
//!
//! ```text
//! 0   "FTOP", version                        u32 each
//! 8   checksum of all bytes from 16 on       u64, FNV-1a
//! 16  length, counts, known distance, unit   u32 or f32, see `Counts`
//! 80  hashes of the coarse and the fine mesh u64 each
//! 96  sections, each at a multiple of 16, their lengths known from the counts:
//!     coarse points, triangles; fine points, triangles; S; D; waves; skins; joints; capsules; settings
//! ```

use alloc::vec::Vec;
use core::ops::Range;

use crate::panels::LANES;
use crate::parts::RigCapsule;
use crate::{Capsule, Error, Format, Kernel, Point, Settings, Skin};

pub(crate) const MAGIC: [u8; 4] = *b"FTOP";
/// The version of the format that this library reads and writes.
pub const VERSION: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 96;
const SKIN_BYTES: usize = 28;

/// How many of everything an operator has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Simulated points.
    pub coarse: usize,
    /// Points that are shown.
    pub fine: usize,
    /// Triangles of the simulated mesh.
    pub coarse_triangles: usize,
    /// Triangles of the mesh that is shown.
    pub fine_triangles: usize,
    /// Stored weights of S.
    pub entries: usize,
    /// How D's rows are stored; `None` without D.
    pub format: Option<Format>,
    /// Columns of D's left factor.
    pub rank: usize,
    /// Whether D has a right factor.
    pub has_columns: bool,
    /// Pairs of oscillatory modes.
    pub modes: usize,
    /// Fine points that hang on joints.
    pub attached: usize,
    /// Joints.
    pub joints: usize,
    /// Bytes of the joints' names.
    pub names: usize,
    /// Capsules on bones.
    pub capsules: usize,
}

/// Where each section lies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) coarse: Range<usize>,
    pub(crate) coarse_triangles: Range<usize>,
    pub(crate) fine: Range<usize>,
    pub(crate) fine_triangles: Range<usize>,
    pub(crate) widths: Range<usize>,
    pub(crate) indices: Range<usize>,
    pub(crate) weights: Range<usize>,
    pub(crate) scales: Range<usize>,
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
    pub(crate) modes: Vec<[Range<usize>; 2]>,
    pub(crate) coarse_skin: Range<usize>,
    pub(crate) attached: Range<usize>,
    pub(crate) fine_skin: Range<usize>,
    pub(crate) names: Range<usize>,
    pub(crate) capsules: Vec<[Range<usize>; 2]>,
    pub(crate) settings: Range<usize>,
}

/// A learnt operator over the bytes of its file, wherever they are kept: a slice, a vector, a mapped file.
#[derive(Clone, Debug)]
pub struct Operator<B> {
    pub(crate) bytes: B,
    pub(crate) counts: Counts,
    pub(crate) places: Places,
    pub(crate) kernel: Kernel,
    pub(crate) known: f32,
    hashes: [u64; 2],
}

impl<B: AsRef<[u8]>> Operator<B> {
    /// Reads a file's bytes. Everything in it is checked, once.
    pub fn read(bytes: B) -> Result<Self, Error> {
        let all = bytes.as_ref();
        let word = |at: usize| u32::from_le_bytes([all[at], all[at + 1], all[at + 2], all[at + 3]]);
        if all.get(..4) != Some(&MAGIC[..]) {
            return Err(Error::NotAnOperator);
        }
        if all.len() < HEADER_BYTES {
            return Err(Error::Length { found: all.len(), expected: HEADER_BYTES });
        }
        if word(4) != VERSION {
            return Err(Error::Version { found: word(4), expected: VERSION });
        }
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if all.len() != word(16) as usize {
            return Err(Error::Length { found: all.len(), expected: word(16) as usize });
        }
        if checksum(&all[16..]) != long(8) {
            return Err(Error::Checksum);
        }
        let malformed = |section| Err(Error::Malformed { section, index: 0 });
        let format = match word(40) {
            u32::MAX => None,
            code => match Format::from_code(code) {
                Some(format) => Some(format),
                None => return malformed("the header"),
            },
        };
        let count = |i: usize| word(16 + 4 * i) as usize;
        let counts = Counts {
            coarse: count(1),
            fine: count(2),
            coarse_triangles: count(3),
            fine_triangles: count(4),
            entries: count(5),
            format,
            rank: count(7),
            has_columns: word(48) != 0,
            modes: count(9),
            attached: count(10),
            joints: count(11),
            names: count(12),
            capsules: count(13),
        };
        let (known, unit) = (f32::from_bits(word(72)), f32::from_bits(word(76)));
        if !(known.is_finite() && known >= 0.0) || unit != 1.0 {
            return malformed("the header");
        }
        let places = places(&counts, all.len())?;
        let hashes = [long(80), long(88)];
        let operator = Self { bytes, counts, places, kernel: Kernel::detect(), known, hashes };
        operator.check()?;
        Ok(operator)
    }

    /// Uses certain vector instructions.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// How many of everything.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of the file.
    pub fn byte_count(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// The largest ‖B p_c‖ that was learnt from.
    pub fn known(&self) -> f32 {
        self.known
    }

    pub(crate) fn section(&self, place: &Range<usize>) -> &[u8] {
        &self.bytes.as_ref()[place.clone()]
    }

    pub(crate) fn singles(&self, place: &Range<usize>) -> impl ExactSizeIterator<Item = f32> + '_ {
        self.section(place).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }

    fn points(&self, place: &Range<usize>) -> impl Iterator<Item = Point> + '_ {
        let (points, _) = self.section(place).as_chunks::<12>();
        points.iter().map(|bytes| {
            let (numbers, _) = bytes.as_chunks::<4>();
            [0, 1, 2].map(|i| f32::from_le_bytes(numbers[i]))
        })
    }

    /// The simulated points at rest.
    pub fn coarse_rest(&self) -> impl Iterator<Item = Point> + '_ {
        self.points(&self.places.coarse)
    }

    /// The shown points at rest.
    pub fn fine_rest(&self) -> impl Iterator<Item = Point> + '_ {
        self.points(&self.places.fine)
    }

    /// Triangles of the simulated mesh.
    pub fn coarse_triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.triangles(&self.places.coarse_triangles, self.counts.coarse)
    }

    /// Triangles of the mesh that is shown.
    pub fn fine_triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.triangles(&self.places.fine_triangles, self.counts.fine)
    }

    fn triangles(&self, place: &Range<usize>, points: usize) -> impl Iterator<Item = [u32; 3]> + '_ {
        let bytes = self.section(place);
        let (narrow, wide) = if points <= 1 << 16 { (bytes, &bytes[..0]) } else { (&bytes[..0], bytes) };
        let narrow = narrow
            .as_chunks::<6>()
            .0
            .iter()
            .map(|b| [0, 2, 4].map(|i| u32::from(u16::from_le_bytes([b[i], b[i + 1]]))));
        let wide = wide
            .as_chunks::<12>()
            .0
            .iter()
            .map(|b| [0, 4, 8].map(|i| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]])));
        narrow.chain(wide)
    }

    /// What each coarse point hangs on.
    pub fn coarse_skin(&self) -> impl Iterator<Item = Skin> + '_ {
        self.skins(&self.places.coarse_skin)
    }

    /// Fine points that hang on joints, and how.
    pub fn fine_skin(&self) -> impl Iterator<Item = (u32, Skin)> + '_ {
        let (points, _) = self.section(&self.places.attached).as_chunks::<4>();
        points.iter().map(|bytes| u32::from_le_bytes(*bytes)).zip(self.skins(&self.places.fine_skin))
    }

    fn skins(&self, place: &Range<usize>) -> impl Iterator<Item = Skin> + '_ {
        self.section(place).as_chunks::<SKIN_BYTES>().0.iter().map(|bytes| {
            let (joints, numbers) = bytes.split_at(8);
            let (joints, numbers) = (joints.as_chunks::<2>().0, numbers.as_chunks::<4>().0);
            Skin {
                joints: [0, 1, 2, 3].map(|i| u16::from_le_bytes(joints[i])),
                weights: [0, 1, 2, 3].map(|i| f32::from_le_bytes(numbers[i])),
                attachment: f32::from_le_bytes(numbers[4]),
            }
        })
    }

    /// Names of the joints, in order.
    pub fn joints(&self) -> impl Iterator<Item = &str> + '_ {
        let names = self.section(&self.places.names);
        let names = names.strip_suffix(&[0]).unwrap_or(names);
        names.split(|byte| *byte == 0).map(|name| core::str::from_utf8(name).unwrap_or(""))
    }

    /// What the cloth must not enter.
    pub fn capsules(&self) -> impl ExactSizeIterator<Item = RigCapsule> + '_ {
        self.places.capsules.iter().map(|[joints, numbers]| {
            let joints = self.section(joints);
            let mut numbers = self.singles(numbers);
            let mut next = || numbers.next().unwrap_or(0.0);
            let ends = [[next(), next(), next()], [next(), next(), next()]];
            RigCapsule {
                joints: [0, 2].map(|i| u16::from_le_bytes([joints[i], joints[i + 1]])),
                capsule: Capsule { ends, radii: [next(), next()] },
            }
        })
    }

    /// Dials of the coarse simulation.
    pub fn settings(&self) -> Settings {
        let mut array = [0.0; 16];
        array.iter_mut().zip(self.singles(&self.places.settings)).for_each(|(to, from)| *to = from);
        Settings::from_array(array)
    }

    /// Whether a mesh is the one that was learnt for, as the coarse or as the fine one.
    pub fn check_mesh(&self, fine: bool, rest: &[Point], triangles: &[[u32; 3]]) -> Result<(), Error> {
        let expected = if fine { self.counts.fine } else { self.counts.coarse };
        if rest.len() != expected || mesh_hash(rest, triangles) != self.hashes[usize::from(fine)] {
            return Err(Error::OtherMesh { found: rest.len(), expected });
        }
        Ok(())
    }

    /// Every index leads somewhere, every number is one.
    fn check(&self) -> Result<(), Error> {
        let Counts { coarse, fine, joints, .. } = self.counts;
        let ok = |section, bad: Option<usize>| match bad {
            Some(index) => Err(Error::Malformed { section, index }),
            None => Ok(()),
        };
        let not_finite = |place| self.singles(place).position(|x| !x.is_finite());
        ok("coarse points", not_finite(&self.places.coarse))?;
        ok("fine points", not_finite(&self.places.fine))?;
        let stray = |t: [u32; 3], count: usize| t.iter().any(|v| *v as usize >= count);
        ok("coarse triangles", self.coarse_triangles().position(|t| stray(t, coarse)))?;
        ok("fine triangles", self.fine_triangles().position(|t| stray(t, fine)))?;
        let widths: usize = self.section(&self.places.widths).iter().map(|w| usize::from(*w)).sum();
        ok("subdivision", (widths * LANES != self.counts.entries).then_some(0))?;
        let (indices, _) = self.section(&self.places.indices).as_chunks::<2>();
        ok("subdivision", indices.iter().position(|i| usize::from(u16::from_le_bytes(*i)) >= coarse.max(1)))?;
        ok("row scales", not_finite(&self.places.scales))?;
        match self.counts.format {
            Some(Format::Single) => ok("detail", not_finite(&self.places.rows))?,
            Some(Format::Half) => {
                let (halves, _) = self.section(&self.places.rows).as_chunks::<2>();
                ok("detail", halves.iter().position(|h| h[1] & 0x7c == 0x7c))?;
            }
            _ => {}
        }
        ok("detail's columns", not_finite(&self.places.columns))?;
        for (index, [head, values]) in self.places.modes.iter().enumerate() {
            let mut numbers = self.singles(head);
            let good = numbers.all(|x| x.is_finite() && x >= 0.0);
            let (halves, _) = self.section(values).as_chunks::<2>();
            let finite = !halves.iter().any(|h| h[1] & 0x7c == 0x7c);
            ok("waves", (!(good && finite)).then_some(index))?;
        }
        let bad_skin = |skin: Skin| {
            let whole = skin.weights.iter().chain([&skin.attachment]).all(|x| x.is_finite());
            !whole
                || !(0.0..=1.0).contains(&skin.attachment)
                || skin.joints.iter().zip(skin.weights).any(|(j, w)| w != 0.0 && usize::from(*j) >= joints)
        };
        ok("coarse skins", self.coarse_skin().position(bad_skin))?;
        ok("fine skins", self.fine_skin().position(|(p, skin)| p as usize >= fine || bad_skin(skin)))?;
        ok("joints", (joints > 0 && self.joints().count() != joints).then_some(0))?;
        ok("joints", self.section(&self.places.names).utf8_chunks().position(|c| !c.invalid().is_empty()))?;
        let bad_capsule = |c: RigCapsule| {
            !c.capsule.is_finite()
                || c.capsule.radii.iter().any(|r| *r < 0.0)
                || c.joints.iter().any(|j| usize::from(*j) >= joints)
        };
        ok("capsules", self.capsules().position(bad_capsule))?;
        self.settings().check()
    }
}

/// Lays out the sections; every length is checked against what there is.
fn places(counts: &Counts, length: usize) -> Result<Places, Error> {
    let mut end = HEADER_BYTES;
    let mut fits = true;
    let mut take = |count: usize, bytes: usize| {
        let stop = count.checked_mul(bytes).and_then(|size| end.checked_add(size)).unwrap_or(usize::MAX);
        fits &= stop <= length;
        let stop = stop.min(length);
        let place = end..stop;
        end = stop.next_multiple_of(16).min(length.max(stop));
        place
    };
    let index = |points: usize| if points <= 1 << 16 { 2 } else { 4 };
    let panels = counts.fine.div_ceil(LANES);
    let detail = counts.format.map_or(0, |_| 1);
    let row_bytes = counts.format.map_or(0, Format::bytes);
    let columns = usize::from(counts.has_columns && counts.format.is_some());
    // one mode or capsule takes more than 16 bytes: no more of them than that are ever asked for
    let (modes, capsules) = (counts.modes.min(length / 16), counts.capsules.min(length / 16));
    let places = Places {
        coarse: take(counts.coarse, 12),
        coarse_triangles: take(counts.coarse_triangles, 3 * index(counts.coarse)),
        fine: take(counts.fine, 12),
        fine_triangles: take(counts.fine_triangles, 3 * index(counts.fine)),
        widths: take(panels, 1),
        indices: take(counts.entries, 2),
        weights: take(counts.entries, 2),
        scales: take(panels * LANES, 4 * detail),
        rows: take((panels * LANES).saturating_mul(counts.rank), row_bytes),
        columns: take(
            counts.rank.div_ceil(LANES).saturating_mul(LANES).saturating_mul(counts.coarse),
            4 * columns,
        ),
        modes: (0..modes).map(|_| [take(3, 4), take(counts.fine, 4)]).collect(),
        coarse_skin: take(counts.coarse, SKIN_BYTES),
        attached: take(counts.attached, 4),
        fine_skin: take(counts.attached, SKIN_BYTES),
        names: take(counts.names, 1),
        capsules: (0..capsules).map(|_| [take(2, 2), take(8, 4)]).collect(),
        settings: take(16, 4),
    };
    let dense = counts.format.is_some() && !counts.has_columns && counts.rank != counts.coarse;
    if !fits || end != length || modes != counts.modes || capsules != counts.capsules || dense {
        return Err(Error::Malformed { section: "the header", index: 0 });
    }
    if counts.coarse > usize::from(u16::MAX) || (counts.coarse == 0 && counts.fine > 0) {
        return Err(Error::Malformed { section: "the header", index: 1 });
    }
    Ok(places)
}

/// FNV-1a over 64 bits: no single altered byte goes unnoticed.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What tells one mesh from another: counts, triangles, rest shape to the bit.
pub fn mesh_hash(rest: &[Point], triangles: &[[u32; 3]]) -> u64 {
    let counts = [rest.len() as u32, triangles.len() as u32];
    let words = counts.iter().chain(triangles.as_flattened()).copied();
    let bits = rest.as_flattened().iter().map(|x| x.to_bits());
    let bytes: Vec<u8> = words.chain(bits).flat_map(u32::to_le_bytes).collect();
    checksum(&bytes)
}
