//! Limits over a stage of a time step: elements that are felt only near their limits, with multipliers that bring them within.
//!
//! What is limited is any [`LimitedElement`]: it has up to three strains, each of which grows towards a limit of its own. What is felt of it, how hard,
//! and when a multiplier is renewed is the same for a triangle and for a piece of thread, and stands here.

use dynamics::{Element, Error, StageConstraint, StageStart};
use geometry::Vec3;
use linear::Matrix;

/// Multipliers are renewed this often in a stage at most.
const MAX_ROUNDS: usize = 8;
/// While the worst strain shrinks to this share from one iteration to the next, that is Newton's doing, and multipliers wait.
const SHRINKS: f64 = 0.5;
/// What was beyond its limit before the step is led back with this time constant, in seconds.
const LEAD_BACK: f64 = 0.1;
/// Strain by which a limit may be missed: rounding.
const ROUNDING: f64 = 1e-9;

/// e₀, k and λ/k of up to three strains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// e₀: from where on it is felt.
    pub(super) threshold: [f64; 3],
    /// k, times what the energy is per, in J; 0 where there is no limit.
    pub(super) stiffness: [f64; 3],
    /// λ/k.
    pub(super) shift: [f64; 3],
}

impl Channels {
    /// g − e₀ + λ/k where it is positive, else 0.
    pub(super) fn beyond(&self, strains: [f64; 3]) -> [f64; 3] {
        let mut beyond = [0.0; 3];
        for c in (0..3).filter(|&c| self.stiffness[c] > 0.0) {
            beyond[c] = (strains[c] - self.threshold[c] + self.shift[c]).max(0.0);
        }
        beyond
    }

    /// ½ k (g − e₀ + λ/k)², summed.
    pub(super) fn value(&self, strains: [f64; 3]) -> f64 {
        let beyond = self.beyond(strains);
        0.5 * (0..3).map(|c| self.stiffness[c] * beyond[c] * beyond[c]).sum::<f64>()
    }
}

/// What a stage asks of an element.
pub(super) struct StageLimits {
    /// e₀ and e₁ of its strains.
    pub(super) threshold: [f64; 3],
    pub(super) limit: [f64; 3],
    /// k, as in [`Channels`].
    pub(super) stiffness: [f64; 3],
    /// Points that follow exactly give its strain: nothing can be asked.
    pub(super) is_given: bool,
}

/// An element that is felt near its limits.
pub(super) trait LimitedElement<const N: usize>: Element<N> + Send {
    /// Whether it acts before Newton's method has found that it must. Where nearly all are at their limits all the time, to find out anew
    /// costs iterations.
    const ACTS_AT_ONCE: bool;
    /// Whether one that starts beyond its limit may not end further beyond. Otherwise it is only led back.
    const IS_KEPT_BEYOND: bool;

    fn channels(&self) -> &Channels;
    fn channels_mut(&mut self) -> &mut Channels;
    /// g of each.
    fn strains(&self, x: &[Vec3; N]) -> [f64; 3];
    fn stage_limits(&self, corners: &[u32; N], stage: &StageStart) -> StageLimits;

    fn is_felt(&self, x: &[Vec3; N]) -> bool {
        self.channels().beyond(self.strains(x)) != [0.0; 3]
    }
}

/// Limited elements over a stage.
pub(super) struct LimitConstraint<E, const N: usize> {
    elements: Vec<([u32; N], E)>,
    /// e₁ that the stage must end within; infinite where it cannot be asked.
    allowed: Vec<[f64; 3]>,
    /// Elements that act at all.
    is_armed: Vec<bool>,
    /// Those of them that are felt at the iterate.
    felt: Vec<u32>,
    /// How often multipliers were renewed.
    rounds: usize,
    /// What was exceeded when it was last asked.
    last_worst: f64,
}

fn at<const N: usize>(corners: &[u32; N], x: &[Vec3]) -> [Vec3; N] {
    corners.map(|point| x[point as usize])
}

impl<E: LimitedElement<N>, const N: usize> LimitConstraint<E, N> {
    pub(super) fn new(elements: Vec<([u32; N], E)>) -> Self {
        let count = elements.len();
        Self {
            elements,
            allowed: vec![[f64::INFINITY; 3]; count],
            is_armed: vec![E::ACTS_AT_ONCE; count],
            felt: Vec::new(),
            rounds: 0,
            last_worst: f64::INFINITY,
        }
    }

    /// The largest of (g − e₁)/e₁, 0 within.
    fn worst(&self, x: &[Vec3]) -> f64 {
        let mut worst = 0.0_f64;
        for ((corners, element), allowed) in self.elements.iter().zip(&self.allowed) {
            for (g, allowed) in element.strains(&at(corners, x)).into_iter().zip(allowed) {
                if g > allowed + ROUNDING {
                    worst = worst.max((g - allowed) / allowed);
                }
            }
        }
        worst
    }
}

impl<E: LimitedElement<N>, const N: usize> StageConstraint for LimitConstraint<E, N> {
    /// Fixes k, and what is allowed: the limit, or where the stage starts beyond it, what leads back to it.
    fn begin_stage(&mut self, stage: &StageStart) -> Result<(), Error> {
        (self.rounds, self.last_worst) = (0, f64::INFINITY);
        let kept = (-stage.seconds / LEAD_BACK).exp();
        for ((corners, element), allowed) in self.elements.iter_mut().zip(&mut self.allowed) {
            let strains = element.strains(&at(corners, stage.start));
            let StageLimits { mut threshold, limit, stiffness, is_given } =
                element.stage_limits(corners, stage);
            for (c, g) in strains.into_iter().enumerate() {
                let lead = kept * (g - limit[c]).max(0.0);
                threshold[c] += lead;
                // triangles share their sides: each asked to be no worse than at its start, one is mended at the cost of the next
                // (a hanging strip had 3.1 % where 3 % was asked)
                let worst = if E::IS_KEPT_BEYOND { limit[c].max(g) } else { f64::INFINITY };
                allowed[c] = match (is_given, lead > 0.0) {
                    (true, _) => f64::INFINITY,
                    (false, true) => worst,
                    (false, false) => limit[c],
                };
            }
            *element.channels_mut() = Channels { threshold, stiffness, shift: [0.0; 3] };
        }
        Ok(())
    }

    fn update(&mut self, x: &[Vec3]) -> Result<(), Error> {
        let count = self.elements.len();
        let felt = |i: &usize| {
            let (corners, element) = &self.elements[*i];
            self.is_armed[*i] && element.is_felt(&at(corners, x))
        };
        self.felt = (0..count).filter(felt).map(|i| i as u32).collect();
        Ok(())
    }

    fn is_active(&self) -> bool {
        !self.felt.is_empty()
    }

    fn keeps_pattern(&self) -> bool {
        true
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        let armed = self.elements.iter().zip(&self.is_armed).filter(|(_, is_armed)| **is_armed);
        armed.map(|((corners, element), _)| element.value(&at(corners, x))).sum()
    }

    fn assemble(&mut self, x: &[Vec3], previous: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        for &index in &self.felt {
            let (corners, element) = &self.elements[index as usize];
            let (here, before) = (at(corners, x), at(corners, previous));
            let (gradient, block) = (element.gradient(&here), element.newton_hessian(&here, &before));
            for i in 0..N {
                force[corners[i] as usize] -= gradient[i];
                for j in 0..=i {
                    matrix.add(corners[i], corners[j], block.0[i][j]);
                }
            }
        }
    }

    fn is_satisfied(&mut self, x: &[Vec3]) -> Result<bool, Error> {
        let worst = self.worst(x);
        if self.rounds >= MAX_ROUNDS || worst == 0.0 {
            return Ok(true);
        }
        let (mut has_armed, last_worst) = (false, std::mem::replace(&mut self.last_worst, worst));
        for ((corners, element), is_armed) in self.elements.iter().zip(&mut self.is_armed) {
            if !*is_armed && element.is_felt(&at(corners, x)) {
                (*is_armed, has_armed) = (true, true);
            }
        }
        if has_armed || worst < SHRINKS * last_worst {
            return Ok(false);
        }
        (self.rounds, self.last_worst) = (self.rounds + 1, f64::INFINITY);
        let armed = self.elements.iter_mut().zip(&self.is_armed).filter(|(_, is_armed)| **is_armed);
        for ((corners, element), _) in armed {
            let strains = element.strains(&at(corners, x));
            let channels = element.channels_mut();
            channels.shift = channels.beyond(strains);
        }
        Ok(false)
    }

    fn excess(&self, x: &[Vec3]) -> f64 {
        self.worst(x)
    }

    /// What was felt will be so in the next stage.
    fn end_stage(&mut self, x: &[Vec3]) {
        if E::ACTS_AT_ONCE {
            return;
        }
        for ((corners, element), is_armed) in self.elements.iter().zip(&mut self.is_armed) {
            *is_armed &= element.is_felt(&at(corners, x));
        }
    }
}
