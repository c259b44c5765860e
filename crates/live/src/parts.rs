//! What an operator file is made of, and how it is written. [`crate::Operator`] reads it where it lies.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::file::{HEADER_BYTES, MAGIC, VERSION, checksum, mesh_hash};
use crate::panels::encode;
use crate::rig::apply;
use crate::waves::amplitude_scale;
use crate::{Capsule, Error, Format, LANES, Operator, Point, Settings, Skin, Transform, half_from_single};

/// Weights of the subdivision are counted in 2⁻¹⁴: a row's sum is then exactly one.
pub(crate) const WEIGHT_ONE: i32 = 1 << 14;

/// A triangle mesh at rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Points, in m.
    pub rest: Vec<Point>,
    /// Corners, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A matrix over the coarse points: A B, or A alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Columns of A.
    pub rank: usize,
    /// A, fine points × rank, row after row.
    pub rows: Vec<f32>,
    /// B, rank × coarse points, row after row; `None` is the identity, and the rank the number of coarse points.
    pub columns: Option<Vec<f32>>,
    /// How A is stored.
    pub format: Format,
}

/// A pair of oscillatory modes: fine points move along their normals by e₁ sin φ + e₂ cos φ. *upsample* eq. 7.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Oscillations per second in the wind that was learnt.
    pub frequency_hz: f32,
    /// That wind, m/s.
    pub wind_speed: f32,
    /// (e₁, e₂) of each fine point, in m.
    pub amplitudes: Vec<[f32; 2]>,
}

/// A capsule on bones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigCapsule {
    /// The joint of each end.
    pub joints: [u16; 2],
    /// Where it is at rest.
    pub capsule: Capsule,
}

impl RigCapsule {
    /// Where its joints have it.
    pub fn placed(&self, skin: &[Transform]) -> Capsule {
        let end = |i: usize| apply(&skin[usize::from(self.joints[i])], self.capsule.ends[i]);
        Capsule { ends: [end(0), end(1)], radii: self.capsule.radii }
    }
}

/// Everything in an operator file.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The simulated mesh.
    pub coarse: Mesh,
    /// The mesh that is shown.
    pub fine: Mesh,
    /// S: (coarse point, weight) of each fine point, each list summing to one; or all lists empty.
    pub subdivision: Vec<Vec<(u32, f32)>>,
    /// D, if there is any; the whole of U where S is empty.
    pub detail: Option<Factor>,
    /// The largest ‖B p_c‖ that was learnt from; 0 never fades.
    pub known: f32,
    /// Travelling waves.
    pub modes: Vec<Mode>,
    /// What each coarse point hangs on.
    pub coarse_skin: Vec<Skin>,
    /// What some fine points hang on: (point, skin).
    pub fine_skin: Vec<(u32, Skin)>,
    /// Names of the joints.
    pub joints: Vec<String>,
    /// What the cloth must not enter.
    pub capsules: Vec<RigCapsule>,
    /// Dials of the coarse simulation.
    pub settings: Settings,
}

impl Parts {
    /// Two meshes without anything between them.
    pub fn new(coarse: Mesh, fine: Mesh) -> Self {
        Self {
            subdivision: vec![Vec::new(); fine.rest.len()],
            coarse_skin: vec![Skin::rigid(0, 0.0); coarse.rest.len()],
            coarse,
            fine,
            detail: None,
            known: 0.0,
            modes: Vec::new(),
            fine_skin: Vec::new(),
            joints: vec![String::from("root")],
            capsules: Vec::new(),
            settings: Settings::default(),
        }
    }

    /// Meshes, rig and dials of a file, and nothing that was learnt.
    pub fn bare<B: AsRef<[u8]>>(operator: &Operator<B>) -> Self {
        let coarse =
            Mesh { rest: operator.coarse_rest().collect(), triangles: operator.coarse_triangles().collect() };
        let fine =
            Mesh { rest: operator.fine_rest().collect(), triangles: operator.fine_triangles().collect() };
        Self {
            coarse_skin: operator.coarse_skin().collect(),
            fine_skin: operator.fine_skin().collect(),
            joints: operator.joints().map(String::from).collect(),
            capsules: operator.capsules().collect(),
            settings: operator.settings(),
            ..Self::new(coarse, fine)
        }
    }

    /// The bytes of the file. Lists that do not belong together are refused; numbers are checked when the file is read.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        self.check_counts()?;
        let rows = self.fine.rest.len();
        let (widths, indices, weights) = pack_subdivision(&self.subdivision)?;
        let mut out = Writer { bytes: vec![0; HEADER_BYTES] };
        out.points(&self.coarse.rest);
        out.triangles(&self.coarse);
        out.points(&self.fine.rest);
        out.triangles(&self.fine);
        out.section(widths.iter().copied());
        out.section(indices.iter().flat_map(|i| i.to_le_bytes()));
        out.section(weights.iter().flat_map(|w| w.to_le_bytes()));
        if let Some(factor) = &self.detail {
            let (panels, scales) = encode(rows, factor.rank, &factor.rows, factor.format);
            out.singles(scales);
            out.section(panels);
            if let Some(columns) = &factor.columns {
                let (panels, _) = encode(factor.rank, self.coarse.rest.len(), columns, Format::Single);
                out.section(panels);
            }
        }
        for mode in &self.modes {
            let scale = amplitude_scale(&mode.amplitudes);
            out.singles([mode.frequency_hz, mode.wind_speed, scale]);
            let halves = mode.amplitudes.as_flattened().iter().map(|e| half_from_single(e / scale));
            out.section(halves.flat_map(u16::to_le_bytes));
        }
        out.skins(self.coarse_skin.iter());
        out.section(self.fine_skin.iter().flat_map(|(point, _)| point.to_le_bytes()));
        out.skins(self.fine_skin.iter().map(|(_, skin)| skin));
        out.section(self.joints.iter().flat_map(|name| name.bytes().chain([0])));
        for RigCapsule { joints, capsule } in &self.capsules {
            out.section(joints.iter().flat_map(|joint| joint.to_le_bytes()));
            out.singles(capsule.ends.as_flattened().iter().copied().chain(capsule.radii));
        }
        out.singles(self.settings.to_array());
        Ok(self.sealed(out.bytes, widths.iter().map(|w| usize::from(*w)).sum::<usize>() * LANES))
    }

    fn check_counts(&self) -> Result<(), Error> {
        let expect = |what, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(Error::Count { what, found, expected }) }
        };
        let (coarse, fine) = (self.coarse.rest.len(), self.fine.rest.len());
        expect("rows of the subdivision", self.subdivision.len(), fine)?;
        expect("coarse skins", self.coarse_skin.len(), coarse)?;
        if let Some(factor) = &self.detail {
            expect("entries of the detail's rows", factor.rows.len(), fine * factor.rank)?;
            match &factor.columns {
                Some(columns) => {
                    expect("entries of the detail's columns", columns.len(), coarse * factor.rank)?
                }
                None => expect("columns of the operator", factor.rank, coarse)?,
            }
        }
        for mode in &self.modes {
            expect("amplitudes of waves", mode.amplitudes.len(), fine)?;
        }
        let most = usize::from(u16::MAX);
        for (what, found) in [("coarse points", coarse), ("joints", self.joints.len())] {
            if found > most {
                return Err(Error::TooMany { what, found, most });
            }
        }
        Ok(())
    }

    /// Writes the header, now that everything else is there.
    fn sealed(&self, mut bytes: Vec<u8>, entries: usize) -> Vec<u8> {
        let factor = self.detail.as_ref();
        let names: usize = self.joints.iter().map(|name| name.len() + 1).sum();
        let words = [
            bytes.len() as u32,
            self.coarse.rest.len() as u32,
            self.fine.rest.len() as u32,
            self.coarse.triangles.len() as u32,
            self.fine.triangles.len() as u32,
            entries as u32,
            factor.map_or(u32::MAX, |factor| factor.format.code()),
            factor.map_or(0, |factor| factor.rank as u32),
            factor.map_or(0, |factor| u32::from(factor.columns.is_some())),
            self.modes.len() as u32,
            self.fine_skin.len() as u32,
            self.joints.len() as u32,
            names as u32,
            self.capsules.len() as u32,
            self.known.to_bits(),
            // metres of a unit of length
            1.0_f32.to_bits(),
        ];
        let mut at = 16;
        for word in words {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            at += 4;
        }
        for mesh in [&self.coarse, &self.fine] {
            let hash = mesh_hash(&mesh.rest, &mesh.triangles);
            bytes[at..at + 8].copy_from_slice(&hash.to_le_bytes());
            at += 8;
        }
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        let sum = checksum(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// Sections, one after the other, each beginning at a multiple of 16.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn section(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
    }

    fn singles(&mut self, values: impl IntoIterator<Item = f32>) {
        self.section(values.into_iter().flat_map(f32::to_le_bytes));
    }

    fn points(&mut self, points: &[Point]) {
        self.singles(points.as_flattened().iter().copied());
    }

    fn triangles(&mut self, mesh: &Mesh) {
        let corners = mesh.triangles.as_flattened().iter();
        if mesh.rest.len() <= 1 << 16 {
            self.section(corners.flat_map(|v| (*v as u16).to_le_bytes()));
        } else {
            self.section(corners.flat_map(|v| v.to_le_bytes()));
        }
    }

    fn skins<'a>(&mut self, skins: impl Iterator<Item = &'a Skin>) {
        let bytes = |skin: &Skin| {
            let joints = skin.joints.map(u16::to_le_bytes);
            let numbers = skin.weights.map(f32::to_le_bytes);
            let mut bytes = Vec::with_capacity(28);
            bytes.extend(joints.as_flattened());
            bytes.extend(numbers.as_flattened());
            bytes.extend(skin.attachment.to_le_bytes());
            bytes
        };
        self.section(skins.flat_map(bytes));
    }
}

type Subdivision = (Vec<u8>, Vec<u16>, Vec<i16>);

/// S in panels: as many entries for each row as the longest of its panel has.
fn pack_subdivision(rows: &[Vec<(u32, f32)>]) -> Result<Subdivision, Error> {
    let (mut widths, mut indices, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for panel in rows.chunks(LANES) {
        let width = panel.iter().map(Vec::len).max().unwrap_or(0);
        if width > usize::from(u8::MAX) {
            return Err(Error::TooMany {
                what: "weights in a row",
                found: width,
                most: usize::from(u8::MAX),
            });
        }
        widths.push(width as u8);
        for lane in 0..LANES {
            let row = panel.get(lane).map_or(&[][..], |row| row);
            let counted = counted_weights(row);
            for k in 0..width {
                indices.push(row.get(k).map_or(0, |(point, _)| *point as u16));
                weights.push(counted.get(k).copied().unwrap_or(0));
            }
        }
    }
    Ok((widths, indices, weights))
}

/// Weights in 2⁻¹⁴, rounded so that their sum is that of the row, rounded: the largest takes what is left.
fn counted_weights(row: &[(u32, f32)]) -> Vec<i16> {
    let one = WEIGHT_ONE as f32;
    let mut counted: Vec<i32> = row.iter().map(|(_, w)| libm::roundf(w * one) as i32).collect();
    let sum: f32 = row.iter().map(|(_, w)| w).sum();
    let excess = counted.iter().sum::<i32>() - libm::roundf(sum * one) as i32;
    let largest = (0..row.len()).max_by(|&i, &j| row[i].1.total_cmp(&row[j].1));
    if let Some(largest) = largest {
        counted[largest] -= excess;
    }
    counted.into_iter().map(|w| w.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16).collect()
}
