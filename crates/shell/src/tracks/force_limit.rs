//! How hard constraints may pull: forces with a limit, beyond which the material wins and the guide is not reached.

use linear::ConstraintRows;

/// Gravity on Earth, in m/s²: limits are told in terms of weight.
const EARTH: f64 = 9.81;
/// How far above its limit a force may be, as a share, before a step is taken again.
const EXCEEDED: f64 = 0.05;
/// A constraint that is as near to being hard as this, in terms of that of its own region swinging at 1 kHz, is hard.
const HARD: f64 = 1e-4;

/// A limit on the force of every constraint, and how far each gives way to keep it.
///
/// A constraint of multiplier λ moves its region with the force λ, spread by its weights. |λ| ≤ F turns it into a slipping
/// hold: hard while less than F is needed, and a constant pull of F towards the guide once more would be. It is the
/// Huber potential of the gap, and is solved as such: with the compliance e = ‖gap‖/F the force of a compliant row is F.
/// The compliance of the moment is found by taking a step again until no force exceeds its limit. tracks §6, as wished
/// for there.
#[derive(Clone, Debug)]
pub struct ForceLimit {
    /// F of each row, in newtons.
    limits: Vec<f64>,
    /// The compliance of each row below which it counts as hard, in m/N.
    hard: Vec<f64>,
    /// How much each row gives way now, in m/N: 0 holds.
    slack: Vec<f64>,
    /// What each row pulled with at least slack, when the step was first tried: compliance and force.
    tried: Vec<Option<[f64; 2]>>,
}

impl ForceLimit {
    /// Every region is pulled with at most so many times its own weight. `rows` and the points' `masses` tell what each
    /// row moves.
    pub fn new(weights: f64, rows: &ConstraintRows, masses: &[f64]) -> Self {
        let effective_mass =
            |r: usize| 1.0 / rows.row(r).map(|(p, w)| w * w / masses[p as usize]).sum::<f64>();
        let effective_mass: Vec<f64> = (0..rows.len()).map(effective_mass).collect();
        let stiff = (std::f64::consts::TAU * 1000.0).powi(2);
        Self {
            limits: effective_mass.iter().map(|mass| weights * EARTH * mass).collect(),
            hard: effective_mass.iter().map(|mass| HARD / (mass * stiff)).collect(),
            slack: vec![0.0; effective_mass.len()],
            tried: vec![None; effective_mass.len()],
        }
    }

    /// The greatest force of a row, in newtons.
    pub fn limit(&self, row: usize) -> f64 {
        self.limits[row]
    }

    /// Whether a row slips now.
    pub fn slips(&self, row: usize) -> bool {
        self.slack.get(row).is_some_and(|slack| *slack > 0.0)
    }

    /// How much each row gives way, in m/N: with the state, all that must be kept to go on later.
    pub fn slack(&self) -> &[f64] {
        &self.slack
    }

    /// The reverse of [`ForceLimit::slack`]; false for one of another length.
    pub fn restore(&mut self, slack: &[f64]) -> bool {
        let same = slack.len() == self.slack.len();
        if same {
            self.slack.copy_from_slice(slack);
        }
        same
    }

    /// Adds what rows give way to their compliance.
    pub(super) fn add_slack(&self, compliance: &mut [f64]) {
        compliance.iter_mut().zip(&self.slack).for_each(|(compliance, slack)| *compliance += slack);
    }

    /// A step is about to be tried for the first time.
    pub(super) fn begin(&mut self) {
        self.tried.fill(None);
    }

    /// Looks at the forces that a step took, in newtons; true when it must be taken again with other slacks.
    pub(super) fn is_exceeded(&mut self, forces: &[f64]) -> bool {
        let mut again = false;
        for (r, &force) in forces.iter().enumerate() {
            let (limit, slack) = (self.limits[r], self.slack[r]);
            let over = force > (1.0 + EXCEEDED) * limit;
            let under = slack > 0.0 && force < (1.0 - EXCEEDED) * limit;
            if !over && !under {
                continue;
            }
            again = true;
            self.slack[r] = match self.tried[r] {
                // a linear material pulls with F₀/(1 + k e): two tries tell F₀ and k, and where the limit is met
                Some([e0, f0]) if force > 0.0 && (force - f0) * (slack - e0) < 0.0 => {
                    let (y0, y) = (1.0 / f0, 1.0 / force);
                    let met = slack + (1.0 / limit - y) * (slack - e0) / (y - y0);
                    met.clamp(0.0, 1e3 * slack.max(e0))
                }
                _ if slack == 0.0 => self.hard[r] * (force / limit),
                _ => slack * force / limit,
            };
            if self.slack[r] < self.hard[r] {
                self.slack[r] = 0.0;
                again &= over || slack > self.hard[r];
            }
            self.tried[r] = Some([slack, force.max(f64::MIN_POSITIVE)]);
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spring of stiffness k from a region to its own place, a guide at a distance: λ(e) = k d/(1 + k e).
    #[test]
    fn a_few_tries_find_the_slack_at_which_the_limit_is_met() {
        let rows = ConstraintRows::new(1, [vec![(0, 1.0)]]);
        for (k, d) in [(1e2, 1.0), (1e4, 0.03), (3e6, 2.0)] {
            let mut force_limit = ForceLimit::new(2.0, &rows, &[0.5]);
            assert!((force_limit.limit(0) - 9.81).abs() < 1e-12);
            let force = |force_limit: &ForceLimit| k * d / (1.0 + k * force_limit.slack()[0]);
            force_limit.begin();
            let tries = (0..20).take_while(|_| force_limit.is_exceeded(&[force(&force_limit)])).count();
            assert!(tries < 6, "{tries} tries for {k} N/m");
            assert!((force(&force_limit) / 9.81 - 1.0).abs() < 0.06 && force_limit.slips(0));
            // the guide comes back: it holds again
            force_limit.begin();
            let near = |force_limit: &ForceLimit| 5.0 / (1.0 + k * force_limit.slack()[0]);
            (0..40).take_while(|_| force_limit.is_exceeded(&[near(&force_limit)])).for_each(drop);
            assert!(!force_limit.slips(0), "{:?}", force_limit.slack());
        }
    }
}
