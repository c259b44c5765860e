//! How good an operator is on a motion, beside what needs no learning.

use faer::Mat;
use geometry::Prolongation;
use live::{Detail, Operator};
use serde::Serialize;
use upsample::{Base, Comparison, Harmonics, Moments, Pairs, Shown, compare_all};

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
    /// The bicubic B-spline of the coarse mesh, or Catmull and Clark's surface where it is no grid.
    pub bicubic: Measured,
    /// RMS distance of plain least squares, without a penalty, mm.
    pub least_squares_mm: f64,
    /// RMS distance of the operator over that of the best of the three that need no learning.
    pub ratio: f64,
    /// How far the farthest shape is from rest, over the farthest that was learnt.
    pub farthest: f64,
    /// The part of its frames that is farther than any that was learnt.
    pub unknown: f64,
    /// Which these are: first and last of each stretch.
    pub unknown_frames: Vec<[usize; 2]>,
}

/// Shapes up to this are known: the farthest that was learnt is at 1, to what single precision makes of it.
const KNOWN: f64 = 1.0 + 1e-4;

/// Fine points of every frame, and how far each was from what is known.
type Frames = (Vec<Vec<[f32; 3]>>, Vec<f64>);

/// What motions are judged by.
pub(crate) struct Judge<'a> {
    pub(crate) cloth: &'a Cloth,
    pub(crate) operator: &'a Operator<&'a [u8]>,
    /// What D is added to.
    pub(crate) base: &'a Prolongation,
    /// What D was learnt in.
    pub(crate) harmonics: &'a Harmonics,
    /// Those of the mesh, by which folds are measured however detail was painted.
    pub(crate) plain: &'a Harmonics,
    /// T.
    pub(crate) tests: usize,
    /// D̂ without a penalty.
    pub(crate) least: &'a Mat<f64>,
}

impl Judge<'_> {
    /// Fine points of every frame, and how far each was from what is known.
    pub(crate) fn shown(&self, pairs: &Pairs) -> Result<Frames, Error> {
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

    /// `moments` are those of this motion over that base, where they are known already.
    pub(crate) fn judge(
        &self,
        motion: &str,
        learnt: bool,
        pairs: &Pairs,
        moments: Option<&Moments>,
    ) -> Result<Judged, Error> {
        let (shown, distances) = self.shown(pairs)?;
        let Cloth { parts, subdivision, barycentric, bicubic, .. } = self.cloth;
        // from folds that tracking leaves free to those four times as fine
        let band = (2 * self.tests).min(self.plain.count() / 4)..16 * self.tests;
        let bases = [subdivision, barycentric, bicubic].map(|rows| Shown::Base(Base::Subdivision(rows)));
        let all = [&[Shown::Frames(&shown)], &bases[..]].concat();
        let found = compare_all(&all, pairs, &parts.fine.triangles, self.plain, band);
        let found: Vec<Measured> = found.into_iter().map(Measured::from).collect();
        let best = found[1..].iter().map(|measured| measured.rms_mm).fold(f64::INFINITY, f64::min);
        let gathered;
        let moments = match moments {
            Some(moments) => moments,
            None => {
                let base = Base::Subdivision(self.base);
                gathered = Moments::gather(pairs, base, self.harmonics, 0..pairs.len());
                &gathered
            }
        };
        let scale = self.harmonics.weights.iter().sum::<f64>() * pairs.len().max(1) as f64;
        Ok(Judged {
            motion: motion.to_owned(),
            learnt,
            frames: pairs.len(),
            ours: found[0],
            subdivision: found[1],
            barycentric: found[2],
            bicubic: found[3],
            least_squares_mm: 1e3 * (moments.squared_error(self.least) / scale).sqrt(),
            ratio: found[0].rms_mm / best,
            farthest: distances.iter().copied().fold(0.0, f64::max),
            unknown: distances.iter().filter(|d| **d > KNOWN).count() as f64 / distances.len().max(1) as f64,
            unknown_frames: stretches(&distances),
        })
    }
}

/// First and last frame of each stretch that is farther than anything that was learnt.
fn stretches(distances: &[f64]) -> Vec<[usize; 2]> {
    let far = |index: usize| distances.get(index).is_some_and(|d| *d > KNOWN);
    let first = |index: &usize| far(*index) && (*index == 0 || !far(index - 1));
    let last = |first: usize| (first..).take_while(|index| far(*index)).last().unwrap_or(first);
    (0..distances.len()).filter(first).map(|first| [first, last(first)]).collect()
}

impl Judged {
    /// Where it leaves known ground, for people: frames 3, 10 – 14 and 20 – 31.
    pub(crate) fn where_unknown(&self) -> String {
        let name = |[first, last]: &[usize; 2]| match first == last {
            true => first.to_string(),
            false => format!("{first} – {last}"),
        };
        let names: Vec<String> = self.unknown_frames.iter().map(name).collect();
        match names.split_last() {
            Some((last, [])) => format!("frames {last}"),
            Some((last, others)) => format!("frames {} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}
