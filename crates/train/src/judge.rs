//! How good an operator is on a motion, beside what needs no learning.

use faer::Mat;
use live::{Detail, Operator};
use serde::Serialize;
use upsample::{Base, Comparison, Harmonics, Moments, Pairs, compare};

use crate::Error;
use crate::cloth::Cloth;

/// A fine cloth beside the one that was simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// RMS distance over area and frames, mm.
    pub rms_mm: f64,
    /// RMS angle between normals, degrees.
    pub normal_deg: f64,
    /// Energy of folds of middle size over that of the simulated cloth.
    pub band_energy: f64,
}

impl From<Comparison> for Measured {
    fn from(found: Comparison) -> Self {
        Self { rms_mm: 1e3 * found.rms, normal_deg: found.normal_deg, band_energy: found.band_energy }
    }
}

/// An operator on one motion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// What the motion is called.
    pub motion: String,
    /// Whether it was learnt from.
    pub learnt: bool,
    /// Pairs.
    pub frames: usize,
    /// What the operator shows.
    pub ours: Measured,
    /// Loop's subdivision alone.
    pub subdivision: Measured,
    /// The flat triangles of the coarse mesh.
    pub barycentric: Measured,
    /// RMS distance of plain least squares, without a penalty, mm.
    pub least_squares_mm: f64,
    /// RMS distance of the operator over that of the better of the two that need no learning.
    pub ratio: f64,
    /// How far the farthest shape is from rest, over the farthest that was learnt.
    pub farthest: f64,
    /// The part of its frames that is farther than any that was learnt.
    pub unknown: f64,
}

/// Fine points of every frame, and how far each was from what is known.
type Shown = (Vec<Vec<[f32; 3]>>, Vec<f64>);

/// What motions are judged by.
pub(crate) struct Judge<'a> {
    pub(crate) cloth: &'a Cloth,
    pub(crate) operator: &'a Operator<&'a [u8]>,
    pub(crate) harmonics: &'a Harmonics,
    /// T.
    pub(crate) tests: usize,
    /// D̂ without a penalty.
    pub(crate) least: &'a Mat<f64>,
}

impl Judge<'_> {
    /// Fine points of every frame, and how far each was from what is known.
    pub(crate) fn shown(&self, pairs: &Pairs) -> Result<Shown, Error> {
        let mut scratch = self.operator.scratch();
        let (mut frames, mut distances) = (Vec::new(), Vec::new());
        for coarse in &pairs.coarse {
            let mut fine = vec![[0.0; 3]; self.operator.counts().fine];
            let applied = self.operator.apply(coarse, Detail::default(), &mut scratch, &mut fine)?;
            distances.push(f64::from(applied.distance));
            frames.push(fine);
        }
        Ok((frames, distances))
    }

    pub(crate) fn judge(&self, motion: &str, learnt: bool, pairs: &Pairs) -> Result<Judged, Error> {
        let (shown, distances) = self.shown(pairs)?;
        let Cloth { parts, subdivision, barycentric, .. } = self.cloth;
        // from folds that tracking leaves free to those four times as fine
        let band = (2 * self.tests).min(self.harmonics.count() / 4)..16 * self.tests;
        let measure = |found: Option<&[Vec<[f32; 3]>]>, base| {
            let band = band.clone();
            Measured::from(compare(found, base, pairs, &parts.fine.triangles, self.harmonics, band))
        };
        let base = Base::Subdivision(subdivision);
        let [ours, smooth, flat] =
            [measure(Some(&shown), base), measure(None, base), measure(None, Base::Subdivision(barycentric))];
        let moments = Moments::gather(pairs, base, self.harmonics, 0..pairs.len());
        let scale = self.harmonics.weights.iter().sum::<f64>() * pairs.len().max(1) as f64;
        Ok(Judged {
            motion: motion.to_owned(),
            learnt,
            frames: pairs.len(),
            ours,
            subdivision: smooth,
            barycentric: flat,
            least_squares_mm: 1e3 * (moments.squared_error(self.least) / scale).sqrt(),
            ratio: ours.rms_mm / smooth.rms_mm.min(flat.rms_mm),
            farthest: distances.iter().copied().fold(0.0, f64::max),
            unknown: distances.iter().filter(|d| **d > 1.0).count() as f64 / distances.len().max(1) as f64,
        })
    }
}
