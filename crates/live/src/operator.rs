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
    /// Coarse points about the first of them, those of all capes at once side by side; four numbers are one load.
    coarse: Vec<[f32; 4]>,
    /// B p_c, likewise.
    latent: Vec<[f32; 4]>,
    /// Weights of one panel of S.
    weights: Vec<f32>,
}

/// Capes of a crowd that are shown at once at most: as many as the widest registers hold the sums of.
const AT_ONCE: usize = 4;

/// This many times the farthest that was learnt beyond it, half of D is shown.
const HALF_FADED: f32 = 2.0;

impl<B: AsRef<[u8]>> Operator<B> {
    /// Room for an application.
    pub fn scratch(&self) -> Scratch {
        let widest = self.section(&self.places.widths).iter().copied().max().unwrap_or(0);
        Scratch {
            coarse: vec![[0.0; 4]; AT_ONCE * self.counts.coarse],
            latent: vec![[0.0; 4]; AT_ONCE * self.counts.rank.next_multiple_of(LANES)],
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
        self.check_shape(coarse, detail, fine.len())?;
        if coarse.is_empty() {
            return Ok(Applied { distance: 0.0, shown: 0.0 });
        }
        let [applied] = self.apply_to([coarse], detail, scratch, [fine]);
        Ok(applied)
    }

    /// Many capes with one operator: coarse points of one after the other, fine points likewise. It is one matrix product, every number of
    /// the operator read and unpacked once for several capes; each is shown to the bit as [`Operator::apply`] shows it.
    pub fn apply_all(
        &self,
        coarse: &[Point],
        detail: Detail,
        scratch: &mut Scratch,
        fine: &mut [Point],
        applied: &mut [Applied],
    ) -> Result<(), Error> {
        let capes = applied.len();
        let count = |what, found: usize, expected: usize| Error::Count { what, found, expected };
        let expected = capes * self.counts.coarse;
        if coarse.len() != expected {
            return Err(count("coarse points of all", coarse.len(), expected));
        }
        let each = fine.len().checked_div(capes).unwrap_or(0);
        if each * capes != fine.len() {
            return Err(count("fine points of all", fine.len(), each * capes));
        }
        if let Some(index) = coarse.iter().position(|p| !is_finite(*p)) {
            return Err(Error::NotFinite { what: "coarse point", index });
        }
        let frames = || coarse.chunks_exact(self.counts.coarse.max(1));
        frames().try_for_each(|coarse| self.check_shape(coarse, detail, each))?;
        if each * self.counts.coarse == 0 {
            return Ok(());
        }
        let mut coarse = frames();
        let mut fine = fine.chunks_exact_mut(each);
        let mut rest = applied;
        let wide = self.kernel.wide();
        loop {
            let together = match rest.len() {
                0 => return Ok(()),
                AT_ONCE.. if wide => self.next::<AT_ONCE>(&mut coarse, detail, scratch, &mut fine, rest),
                2.. => self.next::<2>(&mut coarse, detail, scratch, &mut fine, rest),
                _ => self.next::<1>(&mut coarse, detail, scratch, &mut fine, rest),
            };
            rest = &mut rest[together..];
        }
    }

    /// The next K capes of a crowd.
    fn next<'a, const K: usize>(
        &self,
        coarse: &mut impl Iterator<Item = &'a [Point]>,
        detail: Detail,
        scratch: &mut Scratch,
        fine: &mut impl Iterator<Item = &'a mut [Point]>,
        applied: &mut [Applied],
    ) -> usize {
        let from = core::array::from_fn(|_| coarse.next().unwrap_or_default());
        let to = core::array::from_fn(|_| fine.next().unwrap_or_default());
        let found: [Applied; K] = self.apply_to(from, detail, scratch, to);
        applied.iter_mut().zip(found).for_each(|(to, found)| *to = found);
        K
    }

    fn check_shape(&self, coarse: &[Point], detail: Detail, fine: usize) -> Result<(), Error> {
        let counts = &self.counts;
        let count = |what, found: usize, expected: usize| Error::Count { what, found, expected };
        if coarse.len() != counts.coarse {
            return Err(count("coarse points", coarse.len(), counts.coarse));
        }
        if fine > counts.fine {
            return Err(count("fine points", fine, counts.fine));
        }
        if let Some(index) = coarse.iter().position(|p| !is_finite(*p)) {
            return Err(Error::NotFinite { what: "coarse point", index });
        }
        if !detail.strength.is_finite() {
            return Err(Error::OutOfRange { what: "detail", value: detail.strength });
        }
        Ok(())
    }

    /// K capes at once; all is checked.
    fn apply_to<const K: usize>(
        &self,
        from: [&[Point]; K],
        detail: Detail,
        scratch: &mut Scratch,
        fine: [&mut [Point]; K],
    ) -> [Applied; K] {
        let counts = &self.counts;
        let origin = from.map(|coarse| coarse.first().copied().unwrap_or_default());
        let Scratch { coarse, latent, weights } = scratch;
        let (coarse, _) = coarse.as_chunks_mut::<K>();
        let (latent, _) = latent.as_chunks_mut::<K>();
        let latent = &mut latent[..counts.rank.next_multiple_of(LANES)];
        let coarse = &mut coarse[..counts.coarse];
        for (cape, points) in from.iter().enumerate() {
            for (to, point) in coarse.iter_mut().zip(*points) {
                let [x, y, z] = sub(*point, origin[cape]);
                to[cape] = [x, y, z, 0.0];
            }
        }
        let applied = self.latent(detail, coarse, latent);
        let work = Apply {
            widths: self.section(&self.places.widths),
            indices: self.section(&self.places.indices).as_chunks::<2>().0,
            counted: self.section(&self.places.weights).as_chunks::<2>().0,
            scales: self.section(&self.places.scales).as_chunks::<4>().0,
            rows: self.section(&self.places.rows),
            coarse,
            latent: &latent[..counts.rank],
            weights,
            origin,
            fine,
        };
        match counts.format.filter(|_| applied.iter().any(|applied| applied.shown != 0.0)) {
            None => self.kernel.run(Smooth(work)),
            Some(Format::Eight) => self.kernel.run(Detailed::<1, Eight, K>(work, Eight)),
            Some(Format::Half) => self.kernel.run(Detailed::<2, Half, K>(work, Half)),
            Some(Format::Single) => self.kernel.run(Detailed::<4, Single, K>(work, Single)),
        }
        applied
    }

    /// q = B p_c, how far from what was learnt it is, and q times what is to be shown.
    fn latent<const K: usize>(
        &self,
        detail: Detail,
        coarse: &[[[f32; 4]; K]],
        latent: &mut [[[f32; 4]; K]],
    ) -> [Applied; K] {
        if self.counts.format.is_none() {
            return [Applied { distance: 0.0, shown: 0.0 }; K];
        }
        let rank = self.counts.rank;
        if self.counts.has_columns {
            let columns = self.section(&self.places.columns);
            self.kernel.run(Project { columns, coarse, latent });
        } else {
            latent[..rank].copy_from_slice(coarse);
        }
        core::array::from_fn(|cape| {
            let squared: f32 = latent[..rank]
                .iter()
                .map(|q| q[cape][0] * q[cape][0] + q[cape][1] * q[cape][1] + q[cape][2] * q[cape][2])
                .sum();
            let distance = if self.known > 0.0 { crate::vector::sqrt(squared) / self.known } else { 0.0 };
            let excess = (distance - 1.0).max(0.0) / HALF_FADED;
            let fade = if detail.fades { 1.0 / (1.0 + excess * excess) } else { 1.0 };
            let shown = detail.strength * fade;
            for q in latent.iter_mut() {
                q[cape] = q[cape].map(|x| shown * x);
            }
            Applied { distance, shown }
        })
    }
}

/// q = B p_c, panel by panel.
struct Project<'a, const K: usize> {
    columns: &'a [u8],
    coarse: &'a [[[f32; 4]; K]],
    latent: &'a mut [[[f32; 4]; K]],
}

impl<const K: usize> Loop for Project<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = self.coarse.len() * LANES * 4;
        for (panel, out) in self.columns.chunks_exact(size.max(1)).zip(self.latent.as_chunks_mut::<LANES>().0)
        {
            let sums = panel_product::<4, Single, K>(panel, self.coarse);
            for (cape, [x, y, z]) in sums.iter().enumerate() {
                for lane in 0..LANES {
                    out[lane][cape] = [x[lane], y[lane], z[lane], 0.0];
                }
            }
        }
    }
}

/// One pass over the fine points of K capes.
struct Apply<'a, const K: usize> {
    widths: &'a [u8],
    indices: &'a [[u8; 2]],
    counted: &'a [[u8; 2]],
    scales: &'a [[u8; 4]],
    rows: &'a [u8],
    coarse: &'a [[[f32; 4]; K]],
    latent: &'a [[[f32; 4]; K]],
    weights: &'a mut [f32],
    origin: [Point; K],
    fine: [&'a mut [Point]; K],
}

struct Smooth<'a, const K: usize>(Apply<'a, K>);
struct Detailed<'a, const BYTES: usize, D: Decode<BYTES>, const K: usize>(Apply<'a, K>, D);

impl<const K: usize> Loop for Smooth<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.run(|_, _, _| [[[0.0; LANES]; 3]; K]);
    }
}

impl<const BYTES: usize, D: Decode<BYTES>, const K: usize> Loop for Detailed<'_, BYTES, D, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = (self.0.latent.len() * LANES * BYTES).max(1);
        self.0.run(
            #[inline(always)]
            |rows, latent, panel| {
                let start = (panel * size).min(rows.len());
                let stop = (start + size).min(rows.len());
                panel_product::<BYTES, D, K>(&rows[start..stop], latent)
            },
        );
    }
}

impl<const K: usize> Apply<'_, K> {
    #[inline(always)]
    fn run(mut self, detail: impl Fn(&[u8], &[[[f32; 4]; K]], usize) -> [Lanes; K]) {
        let mut start = 0;
        let points = self.fine.first().map_or(0, |fine| fine.len());
        for panel in 0..points.div_ceil(LANES) {
            let width = usize::from(self.widths[panel]);
            let entries = start..start + width * LANES;
            start = entries.end;
            let weights = &mut self.weights[..width * LANES];
            for (weight, counted) in weights.iter_mut().zip(&self.counted[entries.clone()]) {
                *weight = f32::from(i16::from_le_bytes(*counted)) * (1.0 / WEIGHT_ONE as f32);
            }
            let indices = &self.indices[entries];
            let folds = detail(self.rows, self.latent, panel);
            let mut scales = [1.0; LANES];
            if let Some((scale, _)) =
                self.scales.get(panel * LANES..).and_then(|s| s.split_first_chunk::<LANES>())
            {
                scales = scale.map(f32::from_le_bytes);
            }
            let first = panel * LANES;
            for lane in 0..LANES.min(points - first) {
                let row = lane * width..(lane + 1) * width;
                let mut sums = [[0.0_f32; 4]; K];
                for (weight, index) in weights[row.clone()].iter().zip(&indices[row]) {
                    let from = &self.coarse[usize::from(u16::from_le_bytes(*index))];
                    for (sum, from) in sums.iter_mut().zip(from) {
                        for i in 0..4 {
                            sum[i] += weight * from[i];
                        }
                    }
                }
                for (cape, fine) in self.fine.iter_mut().enumerate() {
                    let Some(to) = fine.get_mut(first + lane) else { continue };
                    for axis in 0..3 {
                        let fold = scales[lane] * folds[cape][axis][lane];
                        to[axis] = self.origin[cape][axis] + (sums[cape][axis] + fold);
                    }
                }
            }
        }
    }
}
