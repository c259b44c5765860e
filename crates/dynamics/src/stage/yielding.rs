//! Averages that give way: none pulls harder than it may.
//!
//! A row of multiplier λ moves its region with the force λ, spread by its weights. |λ| ≤ F makes a slipping hold of it: exact while less
//! than F is needed, a constant pull of F towards its place once more would be. It is the Huber potential of the gap, and is solved as such:
//! with the compliance e = ‖gap‖/F the force of a compliant row is F. When Newton's method has converged, rows that pull too
//! hard get a compliance, those that pull too little lose some, and iterations go on: within the stage, so that it holds in contact as it does
//! without, and in every step.
//!
//! Where contact is in the way, no pull brings a row to its place: a guide that passes through itself asks for what cannot be. Such a row is told by what it
//! lacks: a whole Newton step brings every hard row to its place, so that what is missing is what contact took away, and where that does not shrink from
//! step to step the two contradict each other. These rows, and no others, get a limit of their own for as long as they need it.
//!
//! tracks 2007 §6, as wished for there; contact: §5.3.

use linear::ConstraintRows;

use geometry::Vec3;

use crate::Body;

/// How far from its limit the force of a row that gives way may be, as a share.
const EXCEEDED: f64 = 0.05;
/// Compliances are renewed this often in a stage at most.
const MAX_TRIES: usize = 10;
/// A row is hard when it gives way by less than this share of what its own inertia would in the stage.
const HARD: f64 = 1e-6;

/// A row whose gap does not shrink to this share from one iteration to the next is in conflict with what is in its way.
const CONFLICT_SHRINKS: f64 = 0.5;

/// The averages of a body as they are in a stage, with what they give way by.
#[derive(Clone, Debug)]
pub(crate) struct YieldingRows {
    rows: ConstraintRows,
    /// F of each row, in newtons; empty where none has a limit.
    limits: Vec<f64>,
    /// The same for rows in conflict with contact.
    conflict_limits: Vec<f64>,
    /// Rows that contact kept from their places in this stage.
    is_in_conflict: Vec<bool>,
    /// How far hard rows were from their places after the step before, in metres; empty after a whole one.
    gaps: Vec<f64>,
    /// 1/(wᵀM⁻¹w) of each row: the mass that a force along it meets, in kg.
    masses: Vec<f64>,
    /// The compliance that the guide asks for, and what comes on top, in m/N.
    asked: Vec<f64>,
    slack: Vec<f64>,
    /// Compliance and force of the try before.
    tried: Vec<Option<[f64; 2]>>,
    tries: usize,
    is_exceeded: bool,
}

impl YieldingRows {
    pub(crate) fn new(body: &Body) -> Self {
        let rows = body.averages().clone();
        let (greatest, in_conflict) = (body.greatest_pulls(), body.conflict_pulls());
        let has_limits = !greatest.is_empty() || !in_conflict.is_empty();
        let all = |pulls: &[f64]| match (pulls.is_empty(), has_limits) {
            (false, _) => pulls.to_vec(),
            (true, true) => vec![f64::INFINITY; rows.len()],
            (true, false) => Vec::new(),
        };
        let (limits, conflict_limits) = (all(greatest), all(in_conflict));
        let mass =
            |r: usize| rows.row(r).map(|(p, w)| w * w / body.masses()[p as usize]).sum::<f64>().recip();
        let masses = (0..limits.len()).map(mass).collect();
        let count = limits.len();
        let asked = if count > 0 { rows.compliance().to_vec() } else { Vec::new() };
        Self {
            rows,
            limits,
            conflict_limits,
            is_in_conflict: vec![false; count],
            gaps: Vec::new(),
            masses,
            asked,
            slack: vec![0.0; count],
            tried: vec![None; count],
            tries: 0,
            is_exceeded: false,
        }
    }

    /// Weights, and compliances of the moment.
    pub(crate) fn now(&self) -> &ConstraintRows {
        &self.rows
    }

    /// How much each gives way; empty where none has a limit.
    pub(crate) fn slack(&self) -> Vec<f64> {
        self.slack.clone()
    }

    /// The reverse of [`YieldingRows::slack`]; what is empty gives way nowhere.
    pub(crate) fn set_slack(&mut self, slack: &[f64]) {
        match slack.len() == self.slack.len() {
            true => self.slack.copy_from_slice(slack),
            false => self.slack.fill(0.0),
        }
    }

    /// Sets the compliances that a guide asks for; what they are without asking, they were before.
    pub(crate) fn set_compliance(&mut self, ask: impl FnOnce(&mut [f64])) {
        if self.limits.is_empty() {
            return ask(self.rows.compliance_mut());
        }
        ask(&mut self.asked);
        self.renew();
    }

    fn renew(&mut self) {
        let sums = self.asked.iter().zip(&self.slack).map(|(asked, slack)| asked + slack);
        self.rows.compliance_mut().iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
    }

    /// A stage begins.
    pub(super) fn begin_stage(&mut self) {
        self.tried.fill(None);
        self.is_in_conflict.fill(false);
        self.gaps.clear();
        (self.tries, self.is_exceeded) = (0, false);
    }

    /// Whether a row pulled too hard when it was last asked.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// F of a row as things are.
    fn limit(&self, r: usize) -> f64 {
        // one that gives way without a limit of its own does so for a conflict
        let is_in_conflict = self.is_in_conflict[r] || (self.slack[r] > 0.0 && self.limits[r].is_infinite());
        if is_in_conflict { self.limits[r].min(self.conflict_limits[r]) } else { self.limits[r] }
    }

    /// Looks at how far rows are from their places, after a step that contact shortened: `lacking`, with the multipliers of that step. Hard ones that are
    /// further off than `tolerance`, in metres, and hardly nearer than before are in conflict, and give way from now on. True where there are new ones.
    pub(super) fn find_conflicts(
        &mut self,
        lacking: &[Vec3],
        multipliers: &[Vec3],
        seconds: f64,
        tolerance: f64,
    ) -> bool {
        let gaps: Vec<f64> = lacking.iter().map(|gap| gap.length()).collect();
        let before = std::mem::replace(&mut self.gaps, gaps);
        if self.limits.is_empty() || before.is_empty() {
            return false;
        }
        let mut has_new = false;
        for r in 0..self.limits.len() {
            let is_hard = self.rows.compliance()[r] == 0.0 && !self.is_in_conflict[r];
            let (gap, force) = (self.gaps[r], multipliers[r].length());
            let limit = self.conflict_limits[r];
            if !is_hard || gap <= tolerance || gap < CONFLICT_SHRINKS * before[r] || force <= limit {
                continue;
            }
            self.is_in_conflict[r] = true;
            self.tried[r] = Some([0.0, force]);
            self.slack[r] = seconds * seconds / self.masses[r] * (force / limit - 1.0);
            has_new = true;
        }
        if has_new {
            self.is_exceeded = true;
            self.renew();
        }
        has_new
    }

    /// A step was whole: rows are where they belong.
    pub(super) fn are_met(&mut self) {
        self.gaps.clear();
    }

    /// Looks at the multipliers of a converged stage of `seconds`, in newtons. True where other compliances were set for it.
    pub(super) fn give_way(&mut self, multipliers: &[Vec3], seconds: f64) -> bool {
        self.is_exceeded = false;
        if self.limits.is_empty() || self.tries >= MAX_TRIES {
            return false;
        }
        self.tries += 1;
        for r in 0..self.limits.len() {
            let (limit, slack, force) = (self.limit(r), self.slack[r], multipliers[r].length());
            if limit.is_infinite() {
                continue;
            }
            let is_over = force > (1.0 + EXCEEDED) * limit;
            let is_under = slack > 0.0 && force < (1.0 - EXCEEDED) * limit;
            if !is_over && !is_under {
                continue;
            }
            // what inertia alone would give way by, which is more than the material does
            let most = seconds * seconds / self.masses[r];
            let wanted = match self.tried[r] {
                // a linear material pulls with F₀/(1 + k e): two tries tell F₀ and k, and where the limit is met
                Some([e0, f0]) if force > 0.0 && (force - f0) * (slack - e0) < 0.0 => {
                    let (y0, y) = (1.0 / f0, 1.0 / force);
                    let met = slack + (1.0 / limit - y) * (slack - e0) / (y - y0);
                    met.clamp(0.0, 1e3 * slack.max(e0))
                }
                _ if slack == 0.0 => most * (force / limit - 1.0),
                _ => slack * force / limit,
            };
            self.tried[r] = Some([slack, force.max(f64::MIN_POSITIVE)]);
            self.slack[r] = if wanted < HARD * most { 0.0 } else { wanted };
            self.is_exceeded |= self.slack[r] != slack;
        }
        if self.is_exceeded {
            self.renew();
        }
        self.is_exceeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spring of stiffness k from a region to its own place, a guide at a distance: λ(e) = k d/(1 + k e).
    #[test]
    fn a_few_tries_find_the_slack_at_which_the_limit_is_met() {
        let averages = ConstraintRows::new(1, [vec![(0, 1.0)]]);
        for (k, d) in [(15.0, 1.0), (1e2, 1.0), (1e4, 0.03), (3e6, 2.0)] {
            let body = Body::builder(vec![0.5]).averages(averages.clone()).greatest_pulls(vec![9.81]);
            let mut rows = YieldingRows::new(&body.build().expect("a body"));
            let force = |rows: &YieldingRows, d: f64| k * d / (1.0 + k * rows.now().compliance()[0]);
            let solve = |rows: &mut YieldingRows, d: f64| {
                rows.begin_stage();
                let again = |rows: &mut YieldingRows| rows.give_way(&[force(rows, d) * Vec3::X], 0.02);
                (0..20).take_while(|_| again(rows)).count()
            };
            let tries = solve(&mut rows, d);
            assert!(tries < 6, "{tries} tries for {k} N/m");
            assert!((force(&rows, d) / 9.81 - 1.0).abs() < 0.06 && rows.slack()[0] > 0.0);
            // the guide comes back: it holds again
            (0..4).for_each(|_| _ = solve(&mut rows, 5.0 / k));
            assert_eq!(rows.slack(), [0.0], "{k} N/m");
        }
    }
}
