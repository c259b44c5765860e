//! Which motion to add: half of each test motion's stretches are learnt, too, and its other half and the other test motions are judged.

use geometry::Prolongation;
use serde::Serialize;
use upsample::{Base, Harmonics, Learning, Learnt, Moments, Pairs};

use crate::Error;

/// A motion that is worth learning from, and what it would give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// What it is called.
    pub motion: String,
    /// RMS distance on half of its stretches as it is, mm.
    pub now_mm: f64,
    /// The same with the other half learnt, too, mm.
    pub then_mm: f64,
    /// RMS distance on the other test motions as it is, mm; 0 where there are none.
    pub others_now_mm: f64,
    /// The same with half of this motion learnt, too, mm.
    pub others_then_mm: f64,
}

/// What takes less than this part off the errors is not worth the simulation.
const WORTH: f64 = 0.03;

/// Stretches that a test motion is cut into; they are learnt from and judged by turns.
const STRETCHES: usize = 12;

/// The sums over both halves of a test motion.
pub(crate) struct Halves {
    pub(crate) title: String,
    halves: [Moments; 2],
    /// All of it.
    pub(crate) whole: Moments,
}

impl Halves {
    pub(crate) fn gather(title: String, pairs: &Pairs, base: &Prolongation, harmonics: &Harmonics) -> Self {
        let (count, base) = (pairs.len(), Base::Subdivision(base));
        let stretch = |k: usize| {
            Moments::gather(pairs, base, harmonics, k * count / STRETCHES..(k + 1) * count / STRETCHES)
        };
        let halves = [0, 1].map(|first| {
            let mut half = stretch(first);
            (first + 2..STRETCHES).step_by(2).for_each(|k| half.add(&stretch(k), 1.0));
            half
        });
        let mut whole = halves[0].clone();
        whole.add(&halves[1], 1.0);
        Self { title, halves, whole }
    }
}

/// The test motion half of which teaches most about what it was not learnt from.
pub(crate) fn propose(
    tests: &[Halves],
    learnt: &Learnt,
    harmonics: &Harmonics,
    learning: &Learning,
) -> Result<Option<Proposal>, Error> {
    let area = harmonics.weights.iter().sum::<f64>();
    let mut best: Option<(f64, Proposal)> = None;
    for (k, test) in tests.iter().enumerate().filter(|(_, test)| test.halves[0].frames > 0) {
        let more = learnt.with_more(&test.halves[0], harmonics, learning)?;
        let rms = |over: &[&Moments], detail| {
            let frames: usize = over.iter().map(|moments| moments.frames).sum();
            let squared: f64 = over.iter().map(|moments| moments.squared_error(detail)).sum();
            1e3 * (squared / (area * frames.max(1) as f64)).sqrt()
        };
        let own = [&test.halves[1]];
        let others: Vec<&Moments> =
            tests.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, test)| &test.whole).collect();
        let everything = [&own[..], &others].concat();
        let gain = 1.0 - rms(&everything, &more) / rms(&everything, &learnt.detail);
        if gain >= WORTH && best.as_ref().is_none_or(|(most, _)| gain > *most) {
            let proposal = Proposal {
                motion: test.title.clone(),
                now_mm: rms(&own, &learnt.detail),
                then_mm: rms(&own, &more),
                others_now_mm: rms(&others, &learnt.detail),
                others_then_mm: rms(&others, &more),
            };
            best = Some((gain, proposal));
        }
    }
    Ok(best.map(|(_, proposal)| proposal))
}

impl Proposal {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { motion, now_mm, then_mm, others_now_mm, others_then_mm } = self;
        let others = match *others_now_mm > 0.0 {
            true => {
                format!("; the other test motions would go from {others_now_mm:.2} to {others_then_mm:.2} mm")
            }
            false => String::new(),
        };
        format!(
            "learning from `{motion}`, too, would help the most: from {now_mm:.2} to {then_mm:.2} mm on what of it would not be learnt{others}"
        )
    }
}
