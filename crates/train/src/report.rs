//! How a training of cloth went, for people and for programs.

use serde::Serialize;

use crate::judge::Judged;
use crate::propose::Proposal;

/// How a training went and what it is worth.
#[derive(Clone, Debug, Serialize)]
pub struct UpsampleReport {
    /// Points that are simulated.
    pub coarse_points: usize,
    /// Points that are shown.
    pub fine_points: usize,
    /// Pairs that were learnt from.
    pub frames: usize,
    /// The finest fold, in m.
    pub detail_m: f64,
    /// How strongly folds are held back.
    pub strength: f64,
    /// The smooth surface that folds are added to.
    pub surface: &'static str,
    /// Columns of the operator's left factor.
    pub rank: usize,
    /// RMS distance on stretches that were left out, mm.
    pub held_out_mm: f64,
    /// Waves per second of what the wind does.
    pub waves_hz: Vec<f64>,
    /// Bytes of the operator file.
    pub bytes: usize,
    /// To show a frame, median, µs: on this machine, warm.
    pub microseconds: f64,
    /// Harmonics, s; next to nothing when they were kept.
    pub harmonics_seconds: f64,
    /// Learning, s.
    pub learn_seconds: f64,
    /// Judging, s.
    pub judge_seconds: f64,
    /// Everything, s: simulating or reading pairs, harmonics, learning and judging.
    pub seconds: f64,
    /// Every motion.
    pub motions: Vec<Judged>,
    /// The test motion that is most worth learning from.
    pub proposal: Option<Proposal>,
    /// What to know and what to do about it.
    pub remarks: Vec<String>,
}

impl UpsampleReport {
    /// What is proposed is said, too.
    pub(crate) fn propose(&mut self, proposal: Option<Proposal>) {
        self.remarks.extend(proposal.as_ref().map(Proposal::text));
        self.proposal = proposal;
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} → {} points, learnt from {} frames: {} folds down to {:.0} mm, {:.2} MB, {:.0} µs a frame",
            self.coarse_points,
            self.fine_points,
            self.frames,
            self.rank,
            1e3 * self.detail_m,
            self.bytes as f64 / 1e6,
            self.microseconds
        )];
        let width = self.motions.iter().map(|judged| judged.motion.chars().count()).max().unwrap_or(0).max(6);
        lines.push(format!(
            "{:width$}          frames  RMS mm: ours  Loop  flat  bicubic  no penalty   of best  normals °: ours  Loop  flat  bicubic  folds' energy",
            "motion"
        ));
        for m in &self.motions {
            lines.push(format!(
                "{:width$}  {}  {:6}  {:12.2}  {:4.1}  {:4.1}  {:7.1}  {:10.2}   {:7.2}  {:15.1}  {:4.1}  {:4.1}  {:7.1}  {:13.2}",
                m.motion,
                if m.learnt { "learnt" } else { "unseen" },
                m.frames,
                m.ours.rms_mm,
                m.subdivision.rms_mm,
                m.barycentric.rms_mm,
                m.bicubic.rms_mm,
                m.least_squares_mm,
                m.ratio,
                m.ours.normal_deg,
                m.subdivision.normal_deg,
                m.barycentric.normal_deg,
                m.bicubic.normal_deg,
                m.ours.band_energy
            ));
        }
        lines.push(format!(
            "folds over the {} surface; {:.1} s, of which {:.1} harmonics, {:.1} learning, {:.1} judging",
            self.surface, self.seconds, self.harmonics_seconds, self.learn_seconds, self.judge_seconds
        ));
        lines.extend(self.waves_hz.iter().map(|hz| format!("a wave of {hz:.2} Hz")));
        lines.extend(self.remarks.iter().cloned());
        lines.join("\n")
    }
}
