//! From pairs to an operator: strength and rank chosen by leaving out stretches of the motion.

use faer::Mat;
use geometry::Prolongation;
use live::Format;

use crate::compress::{LowRank, compress};
use crate::moments::point;
use crate::split::Split;
use crate::{Base, Error, Harmonics, Moments, Pairs, Penalty, Regression};

/// Dials of learning.
#[derive(Clone, Debug, PartialEq)]
pub struct Learning {
    /// The finest fold that is learnt, from crest to crest, in m; `None` tries some.
    pub detail: Option<f64>,
    /// How steeply finer folds are held back: the paper's c.
    pub exponent: f64,
    /// γ₁, over the mean size of the motion; `None` chooses.
    pub strength: Option<f64>,
    /// Columns of A; `None` chooses.
    pub rank: Option<usize>,
    /// Stretches that the motion is cut into; each is left out once.
    pub folds: usize,
    /// How A is stored.
    pub format: Format,
}

impl Default for Learning {
    fn default() -> Self {
        Self { detail: None, exponent: 4.0, strength: None, rank: None, folds: 5, format: Format::Eight }
    }
}

/// What a choice gave on stretches that were left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// Finest fold, m.
    pub detail: f64,
    /// γ₁ over the mean size of the motion.
    pub strength: f64,
    /// Columns of A; 0 is all of D.
    pub rank: usize,
    /// RMS distance, m.
    pub rms: f64,
}

/// What was chosen and what it is worth.
#[derive(Clone, Debug)]
pub struct Report {
    /// Frames that were learnt from.
    pub frames: usize,
    /// Directions in which the motion moves the coarse cloth, of one less than its points.
    pub directions: usize,
    /// The choice.
    pub chosen: HeldOut,
    /// All that were tried.
    pub tried: Vec<HeldOut>,
    /// RMS distance of the subdivision alone over all frames, m.
    pub smooth_rms: f64,
    /// RMS distance of the operator on what it learnt from, m.
    pub training_rms: f64,
}

/// An operator.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// D̂, functions × coarse points, before it was compressed.
    pub detail: Mat<f64>,
    /// D ≈ A B.
    pub low_rank: LowRank,
    /// The same for the run time.
    pub factor: live::Factor,
    /// The largest ‖B p‖ among the frames.
    pub known: f64,
    /// The sums over all frames that it was learnt from.
    pub moments: Moments,
    /// What was chosen.
    pub report: Report,
    /// The first rows of D̂ that were known beforehand.
    pub aligned: usize,
}

impl Learnt {
    /// D̂, had there been more to learn from: with the same choices, what is known beforehand as it was.
    pub fn with_more(
        &self,
        more: &Moments,
        harmonics: &Harmonics,
        learning: &Learning,
    ) -> Result<Mat<f64>, Error> {
        let mut all = self.moments.clone();
        all.add(more, 1.0);
        let regression = Regression::new(&all)?;
        let HeldOut { detail, strength, .. } = self.report.chosen;
        let fixed = self.detail.as_ref().subrows(0, self.aligned).to_owned();
        let gammas = gammas(learning, harmonics, &regression, detail, strength);
        Ok(solve(&regression, &all, &gammas, Some(&fixed)))
    }
}

/// γ₁ over the mean size of the motion: a third of a decade each.
const STRENGTHS: [f64; 10] = [0.003, 0.007, 0.015, 0.03, 0.07, 0.15, 0.3, 0.7, 1.5, 3.0];
/// Finest folds, over the finest that the coarse mesh has room for.
const DETAILS: [f64; 3] = [0.35, 0.7, 1.4];
/// Columns of A.
const RANKS: [usize; 9] = [4, 8, 12, 16, 24, 32, 48, 64, 96];
/// A stronger penalty is taken if it costs less than this part of the error: other motions differ more from the one that is learnt from
/// than its own stretches do.
const STRENGTH_SLACK: f64 = 1.03;
/// A smaller rank is taken if it costs less than this part of the error.
const RANK_SLACK: f64 = 1.005;

/// What is known of the pairs beforehand: the fine half's lowest harmonics are those of the coarse half seen on it (*upsample* eq. 6).
#[derive(Clone, Copy, Debug)]
pub struct Aligned<'a> {
    /// B: how the coarse half was seen on the fine one.
    pub correspondence: &'a Prolongation,
    /// T: how many harmonics were held.
    pub tests: usize,
}

impl Aligned<'_> {
    /// The first T rows of D̂, ΦᵀW(B − S): they need not be learnt and hold on every motion.
    fn rows(&self, subdivision: &Prolongation, harmonics: &Harmonics) -> Mat<f64> {
        let (fine, coarse) = (subdivision.fine_count(), subdivision.coarse_count());
        let mut gap = Mat::<f64>::zeros(fine, coarse);
        for i in 0..fine {
            self.correspondence.row(i).for_each(|(j, w)| gap[(i, j as usize)] += w);
            subdivision.row(i).for_each(|(j, w)| gap[(i, j as usize)] -= w);
        }
        let all = harmonics.analyse(&gap);
        all.as_ref().subrows(0, self.tests.min(all.nrows())).to_owned()
    }
}

/// Learns D over a subdivision. Where the pairs come from [`crate::track`], `aligned` says which part of it is known.
pub fn learn(
    pairs: &Pairs,
    subdivision: &Prolongation,
    harmonics: &Harmonics,
    aligned: Option<Aligned<'_>>,
    learning: &Learning,
) -> Result<Learnt, Error> {
    let fixed = aligned.map(|aligned| aligned.rows(subdivision, harmonics));
    let fixed = fixed.as_ref();
    let (coarse, fine) = (subdivision.coarse_count(), subdivision.fine_count());
    pairs.check(coarse, fine)?;
    check(learning, harmonics, fine)?;
    let base = Base::Subdivision(subdivision);
    let count = pairs.len();
    let folds = learning.folds.clamp(1, count);
    let stretches: Vec<Moments> = (0..folds)
        .map(|f| Moments::gather(pairs, base, harmonics, f * count / folds..(f + 1) * count / folds))
        .collect();
    let mut all = Moments::none_like(&stretches[0]);
    stretches.iter().for_each(|stretch| all.add(stretch, 1.0));
    let splits: Vec<Split<'_>> = stretches
        .iter()
        .map(|stretch| Split::new(&all, stretch, folds == 1, fixed))
        .collect::<Result<_, Error>>()?;
    // two points of a coarse edge's length from crest to crest
    let cell = (2.0 * harmonics.area / coarse as f64).sqrt();
    let scale = harmonics.weights.iter().sum::<f64>() * count as f64;
    let rms = |squared: f64| (squared / scale).sqrt();
    let details: Vec<f64> = match learning.detail {
        Some(detail) => vec![detail],
        None => DETAILS.iter().map(|d| d * 2.0 * cell).collect(),
    };
    let strengths = learning.strength.map_or(STRENGTHS.to_vec(), |strength| vec![strength]);
    let mut tried = Vec::new();
    for &detail in &details {
        for &strength in &strengths {
            let squared: f64 = splits
                .iter()
                .map(|split| {
                    split.squared_error(&gammas(learning, harmonics, &split.regression, detail, strength))
                })
                .sum();
            tried.push(HeldOut { detail, strength, rank: 0, rms: rms(squared) });
        }
    }
    let best = tried.iter().map(|t| t.rms).min_by(f64::total_cmp).ok_or(Error::NoFrames)?;
    let good = tried.iter().filter(|t| t.rms <= STRENGTH_SLACK * best);
    let mut chosen = *good.max_by(|a, b| a.strength.total_cmp(&b.strength)).ok_or(Error::NoFrames)?;
    let ranks = try_ranks(learning, harmonics, &splits, fixed, chosen, rms)?;
    tried.extend(&ranks);
    if let Some(rank) = learning.rank {
        chosen.rank = rank;
    } else if let Some(best) = ranks.iter().map(|r| r.rms).min_by(f64::total_cmp) {
        chosen = *ranks.iter().find(|r| r.rms <= RANK_SLACK * best).unwrap_or(&chosen);
    }
    finish(pairs, all, harmonics, learning, fixed, chosen, tried, rms)
}

/// D̂: what is known, and the rest learnt.
fn solve(regression: &Regression, moments: &Moments, gammas: &[f64], fixed: Option<&Mat<f64>>) -> Mat<f64> {
    let mut detail = regression.solve(moments, gammas);
    if let Some(fixed) = fixed {
        detail.as_mut().subrows_mut(0, fixed.nrows()).copy_from(fixed);
    }
    detail
}

/// What so many columns of A give on stretches that were left out.
fn try_ranks(
    learning: &Learning,
    harmonics: &Harmonics,
    splits: &[Split<'_>],
    fixed: Option<&Mat<f64>>,
    chosen: HeldOut,
    rms: impl Fn(f64) -> f64,
) -> Result<Vec<HeldOut>, Error> {
    let most = splits.first().map_or(0, |split| split.rest.pp.nrows()).saturating_sub(1);
    let mut squared = [0.0; RANKS.len()];
    for split in splits {
        let Split { regression, rest, .. } = split;
        let gammas = gammas(learning, harmonics, regression, chosen.detail, chosen.strength);
        let detail = solve(regression, rest, &gammas, fixed);
        let whole = compress(&detail, rest, regression, RANKS[RANKS.len() - 1])?;
        for (sum, error) in squared.iter_mut().zip(split.rank_errors(&whole, &RANKS)) {
            *sum += error;
        }
    }
    let found = RANKS.iter().zip(squared).filter(|(rank, _)| **rank <= most.max(RANKS[0]));
    Ok(found.map(|(&rank, squared)| HeldOut { rank, rms: rms(squared), ..chosen }).collect())
}

fn finish(
    pairs: &Pairs,
    all: Moments,
    harmonics: &Harmonics,
    learning: &Learning,
    fixed: Option<&Mat<f64>>,
    chosen: HeldOut,
    tried: Vec<HeldOut>,
    rms: impl Fn(f64) -> f64,
) -> Result<Learnt, Error> {
    let regression = Regression::new(&all)?;
    let gammas = gammas(learning, harmonics, &regression, chosen.detail, chosen.strength);
    let detail = solve(&regression, &all, &gammas, fixed);
    let rank = if chosen.rank == 0 { RANKS[0] } else { chosen.rank };
    let low_rank = compress(&detail, &all, &regression, rank)?;
    let known = pairs.coarse.iter().map(|frame| latent_size(&low_rank.columns, frame)).fold(0.0, f64::max);
    let report = Report {
        frames: all.frames,
        directions: regression.rank(),
        chosen: HeldOut { rank: low_rank.rank(), ..chosen },
        tried,
        smooth_rms: rms(all.rr),
        training_rms: rms(all.squared_error(&low_rank.product())),
    };
    let factor = low_rank.factor(harmonics, learning.format);
    let aligned = fixed.map_or(0, Mat::nrows);
    Ok(Learnt { detail, low_rank, factor, known, moments: all, report, aligned })
}

/// ‖B p‖ of a frame.
fn latent_size(columns: &Mat<f64>, frame: &[[f32; 3]]) -> f64 {
    let q = |k: usize| {
        let sum: geometry::Vec3 = (0..frame.len()).map(|j| columns[(k, j)] * point(frame[j])).sum();
        sum.length_squared()
    };
    (0..columns.nrows()).map(q).sum::<f64>().sqrt()
}

/// γₙ as they stand in the equation.
fn gammas(
    learning: &Learning,
    harmonics: &Harmonics,
    regression: &Regression,
    detail: f64,
    strength: f64,
) -> Vec<f64> {
    let points = harmonics.functions.nrows();
    let a = strength * regression.mean_value().sqrt();
    Penalty::profile_for_detail(a, detail, learning.exponent, harmonics.room, points).gammas(harmonics)
}

fn check(learning: &Learning, harmonics: &Harmonics, fine: usize) -> Result<(), Error> {
    if harmonics.functions.nrows() != fine {
        return Err(Error::PointCount {
            which: "fine",
            frame: 0,
            found: fine,
            expected: harmonics.functions.nrows(),
        });
    }
    let positive = [
        ("detail", learning.detail.unwrap_or(1.0)),
        ("strength", learning.strength.unwrap_or(1.0)),
        ("rank", learning.rank.unwrap_or(1) as f64),
        ("folds", learning.folds as f64),
    ];
    let bad = positive.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0));
    if let Some((what, value)) = bad {
        return Err(Error::OutOfRange { what, value });
    }
    if !(learning.exponent.is_finite() && learning.exponent >= 0.0) {
        return Err(Error::OutOfRange { what: "exponent", value: learning.exponent });
    }
    // equilateral triangles of this mesh's mean area
    let edge = (2.0 * harmonics.area / fine as f64 / 3.0_f64.sqrt()).sqrt();
    match learning.detail.filter(|detail| *detail < 2.0 * edge) {
        Some(detail) => Err(Error::TooFine { detail, edge }),
        None => Ok(()),
    }
}
