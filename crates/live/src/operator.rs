//! p_f = S p_c + D p_c: the operator at work.

use alloc::vec;
use alloc::vec::Vec;

use crate::file::Operator;
use crate::kernel::Loop;
use crate::panels::{Decode, Eight, Half, LANES, Lanes, Single, panel_product};
use crate::parts::WEIGHT_ONE;
use crate::vector::{is_finite, sub};
use crate::{Error, Format, Point};

/// How much of what was learnt is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// 0 is the smooth subdivision, 1 as learnt, more exaggerates.
    pub strength: f32,
    /// Whether folds fade where a shape is far from all that were learnt.
    pub fades: bool,
}

impl Default for Detail {
    fn default() -> Self {
        Self { strength: 1.0, fades: true }
    }
}

/// What an application of the operator found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// How far the coarse shape is from rest in the sense of D, over the farthest that was learnt: above 1 is unknown
    /// ground. 0 where nothing was said about that.
    pub distance: f32,
    /// The part of D that was shown.
    pub shown: f32,
}

/// What an application needs besides its input and output; made once.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Coarse points about the first of them; four numbers are one load.
    coarse: Vec<[f32; 4]>,
    /// B p_c.
    latent: Vec<[f32; 4]>,
    /// Weights of one panel of S.
    weights: Vec<f32>,
}

/// This many times the farthest that was learnt beyond it, half of D is shown.
const HALF_FADED: f32 = 2.0;

impl<B: AsRef<[u8]>> Operator<B> {
    /// Room for an application.
    pub fn scratch(&self) -> Scratch {
        let widest = self.section(&self.places.widths).iter().copied().max().unwrap_or(0);
        Scratch {
            coarse: vec![[0.0; 4]; self.counts.coarse],
            latent: vec![[0.0; 4]; self.counts.rank.next_multiple_of(LANES)],
            weights: vec![0.0; usize::from(widest) * LANES],
        }
    }

    /// Fine points from coarse ones. Only the first `fine.len()` are made: where the fine mesh is a subdivided one, these are
    /// the points of a coarser level.
    ///
    /// All sums are about the first coarse point, so that cloth far from the origin keeps its digits.
    pub fn apply(
        &self,
        coarse: &[Point],
        detail: Detail,
        scratch: &mut Scratch,
        fine: &mut [Point],
    ) -> Result<Applied, Error> {
        let counts = &self.counts;
        let count = |what, found: usize, expected: usize| Error::Count { what, found, expected };
        if coarse.len() != counts.coarse {
            return Err(count("coarse points", coarse.len(), counts.coarse));
        }
        if fine.len() > counts.fine {
            return Err(count("fine points", fine.len(), counts.fine));
        }
        if let Some(index) = coarse.iter().position(|p| !is_finite(*p)) {
            return Err(Error::NotFinite { what: "coarse point", index });
        }
        if !detail.strength.is_finite() {
            return Err(Error::OutOfRange { what: "detail", value: detail.strength });
        }
        let Some(&origin) = coarse.first() else { return Ok(Applied { distance: 0.0, shown: 0.0 }) };
        for (to, from) in scratch.coarse.iter_mut().zip(coarse) {
            let [x, y, z] = sub(*from, origin);
            *to = [x, y, z, 0.0];
        }
        let applied = self.latent(detail, scratch);
        let Scratch { coarse, latent, weights } = scratch;
        let work = Apply {
            widths: self.section(&self.places.widths),
            indices: self.section(&self.places.indices).as_chunks::<2>().0,
            counted: self.section(&self.places.weights).as_chunks::<2>().0,
            scales: self.section(&self.places.scales).as_chunks::<4>().0,
            rows: self.section(&self.places.rows),
            rank: counts.rank,
            coarse,
            latent,
            weights,
            origin,
            fine,
        };
        match counts.format.filter(|_| applied.shown != 0.0) {
            None => self.kernel.run(Smooth(work)),
            Some(Format::Eight) => self.kernel.run(Detailed::<1, Eight>(work, Eight)),
            Some(Format::Half) => self.kernel.run(Detailed::<2, Half>(work, Half)),
            Some(Format::Single) => self.kernel.run(Detailed::<4, Single>(work, Single)),
        }
        Ok(applied)
    }

    /// q = B p_c, how far from what was learnt it is, and q times what is to be shown.
    fn latent(&self, detail: Detail, scratch: &mut Scratch) -> Applied {
        if self.counts.format.is_none() {
            return Applied { distance: 0.0, shown: 0.0 };
        }
        let rank = self.counts.rank;
        if self.counts.has_columns {
            let columns = self.section(&self.places.columns);
            self.kernel.run(Project { columns, coarse: &scratch.coarse, latent: &mut scratch.latent });
        } else {
            scratch.latent[..rank].copy_from_slice(&scratch.coarse);
        }
        let squared: f32 =
            scratch.latent[..rank].iter().map(|q| q[0] * q[0] + q[1] * q[1] + q[2] * q[2]).sum();
        let distance = if self.known > 0.0 { crate::vector::sqrt(squared) / self.known } else { 0.0 };
        let excess = (distance - 1.0).max(0.0) / HALF_FADED;
        let fade = if detail.fades { 1.0 / (1.0 + excess * excess) } else { 1.0 };
        let shown = detail.strength * fade;
        for q in &mut scratch.latent {
            *q = q.map(|x| shown * x);
        }
        Applied { distance, shown }
    }
}

/// q = B p_c, panel by panel.
struct Project<'a> {
    columns: &'a [u8],
    coarse: &'a [[f32; 4]],
    latent: &'a mut [[f32; 4]],
}

impl Loop for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = self.coarse.len() * LANES * 4;
        for (panel, out) in self.columns.chunks_exact(size.max(1)).zip(self.latent.as_chunks_mut::<LANES>().0)
        {
            let [x, y, z] = panel_product::<4, Single>(panel, self.coarse);
            for lane in 0..LANES {
                out[lane] = [x[lane], y[lane], z[lane], 0.0];
            }
        }
    }
}

/// One pass over the fine points.
struct Apply<'a> {
    widths: &'a [u8],
    indices: &'a [[u8; 2]],
    counted: &'a [[u8; 2]],
    scales: &'a [[u8; 4]],
    rows: &'a [u8],
    rank: usize,
    coarse: &'a [[f32; 4]],
    latent: &'a [[f32; 4]],
    weights: &'a mut [f32],
    origin: Point,
    fine: &'a mut [Point],
}

struct Smooth<'a>(Apply<'a>);
struct Detailed<'a, const BYTES: usize, D: Decode<BYTES>>(Apply<'a>, D);

impl Loop for Smooth<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.run(|_, _, _| [[0.0; LANES]; 3]);
    }
}

impl<const BYTES: usize, D: Decode<BYTES>> Loop for Detailed<'_, BYTES, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = (self.0.rank * LANES * BYTES).max(1);
        self.0.run(
            #[inline(always)]
            |rows, latent, panel| {
                let start = (panel * size).min(rows.len());
                let stop = (start + size).min(rows.len());
                panel_product::<BYTES, D>(&rows[start..stop], latent)
            },
        );
    }
}

impl Apply<'_> {
    #[inline(always)]
    fn run(self, detail: impl Fn(&[u8], &[[f32; 4]], usize) -> Lanes) {
        let mut start = 0;
        for (panel, out) in self.fine.chunks_mut(LANES).enumerate() {
            let width = usize::from(self.widths[panel]);
            let entries = start..start + width * LANES;
            start = entries.end;
            let weights = &mut self.weights[..width * LANES];
            for (weight, counted) in weights.iter_mut().zip(&self.counted[entries.clone()]) {
                *weight = f32::from(i16::from_le_bytes(*counted)) * (1.0 / WEIGHT_ONE as f32);
            }
            let indices = &self.indices[entries];
            let [x, y, z] = detail(self.rows, &self.latent[..self.rank], panel);
            let mut scales = [1.0; LANES];
            if let Some((scale, _)) =
                self.scales.get(panel * LANES..).and_then(|s| s.split_first_chunk::<LANES>())
            {
                scales = scale.map(f32::from_le_bytes);
            }
            for (lane, to) in out.iter_mut().enumerate() {
                let row = lane * width..(lane + 1) * width;
                let mut sum = [0.0_f32; 4];
                for (weight, index) in weights[row.clone()].iter().zip(&indices[row]) {
                    let from = &self.coarse[usize::from(u16::from_le_bytes(*index))];
                    for i in 0..4 {
                        sum[i] += weight * from[i];
                    }
                }
                let folds = [x[lane], y[lane], z[lane]];
                for axis in 0..3 {
                    to[axis] = self.origin[axis] + (sum[axis] + scales[lane] * folds[axis]);
                }
            }
        }
    }
}
