//! How far a fabric may stretch and shear at all, held inside the step.
//!
//! Woven cloth is soft while its threads straighten and stiff as the fibres themselves beyond: cotton hangs at less than a
//! percent and tears before twenty. No modulus that is right for the first is right for the second, and a solver that stops a little
//! early shows it as rubber. So warp, weft and shear have limits that a step ends within, whatever it takes.
//!
//! Each is one-sided and is felt only over the last tenth of the way to it: with Green strain g of a channel, its threshold e₀ and its
//! limit e₁ > e₀,
//!
//! ```text
//! ψ = ½ k max(0, g − e₀ + λ/k)²     per rest area.
//! ```
//!
//! It starts with λ = 0 and a stiffness k some tens of times the fabric's. Where Newton's method has converged and some triangle is beyond e₁,
//! the tension found becomes the multiplier, λ ← k max(0, g − e₀ + λ/k), and iterations go on: the augmented Lagrangian of
//! Hestenes and Powell. So stretch comes to e₀ under any load while k, and with it the condition of the matrix, stays.
//! Piecewise quadratic, it is solved by Newton's method as an active set is, in two or three iterations; a barrier that grows without bound would take
//! an iteration for every doubling of its distance.
//!
//! Differs: C-IPC 2021 §4 keeps every *iterate* within the limit by a barrier and a filter on the line search. A thread that turns by θ in a straight
//! step gets longer by θ²/2, so that such a filter lets stiff cloth only creep. Here the limit binds steps that are kept.

use dynamics::{Block, Element, Error, Limit, StageConstraint, StageStart};
use geometry::Vec3;
use linear::Matrix;

use crate::membrane::{Stress, green, predicted};
use crate::{Membrane, MembraneStiffness};

/// The share of a limit from which it is felt.
const FELT_FROM: f64 = 0.9;
/// k over the fabric's own stiffness, and over the inertia of the triangle's points in the step.
const STIFFER: f64 = 50.0;
const HEAVIER: f64 = 10.0;
/// Multipliers are renewed this often in a stage at most.
const MAX_ROUNDS: usize = 8;
/// While the worst strain shrinks to this share from one iteration to the next, that is Newton's doing, and multipliers wait.
const SHRINKS: f64 = 0.5;
/// What was beyond its limit before the step is led back with this time constant, in seconds.
const LEAD_BACK: f64 = 0.1;
/// Strain by which a limit may be missed: rounding.
const ROUNDING: f64 = 1e-9;

/// No limit is tighter, however it is painted.
const LEAST: f64 = 1e-4;

/// How far a fabric stretches and shears at most. `None`: as far as it is pulled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StrainLimits {
    /// Stretch along the warp: 0.03 is three percent.
    pub warp: Option<f64>,
    /// Stretch along the weft.
    pub weft: Option<f64>,
    /// Shear: how far the angle between warp and weft is from a right one at most, as its cosine (in radians while it is small).
    pub shear: Option<f64>,
}

impl StrainLimits {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// All three multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |limit: Option<f64>| limit.map(|limit| (factor * limit).max(LEAST));
        Self { warp: scale(self.warp), weft: scale(self.weft), shear: scale(self.shear) }
    }

    /// The Green strains of `share` of the limits: those of E_uu, E_vv and |2E_uv|.
    fn green(&self, share: f64) -> [f64; 3] {
        let stretch =
            |limit: Option<f64>| limit.map_or(f64::INFINITY, |l| share * l * (1.0 + 0.5 * share * l));
        [stretch(self.warp), stretch(self.weft), self.shear.map_or(f64::INFINITY, |limit| share * limit)]
    }
}

/// One triangle at its limits: ψ of this file's head, times rest area, for warp, weft and shear.
#[derive(Clone, Copy, Debug)]
pub struct LimitedTriangle {
    membrane: Membrane,
    /// e₀ of the three channels.
    threshold: [f64; 3],
    /// k times rest area, in J; 0 where there is no limit.
    stiffness: [f64; 3],
    /// λ/k.
    shift: [f64; 3],
}

impl LimitedTriangle {
    /// g − e₀ + λ/k where it is positive, else 0; shear with its sign.
    fn beyond(&self, strain: Vec3) -> [f64; 3] {
        let g = [strain.x, strain.y, strain.z.abs()];
        let mut beyond = [0.0; 3];
        for c in (0..3).filter(|&c| self.stiffness[c] > 0.0) {
            beyond[c] = (g[c] - self.threshold[c] + self.shift[c]).max(0.0);
        }
        beyond[2] = beyond[2].copysign(strain.z);
        beyond
    }

    fn stress(&self, strain: Vec3) -> Stress {
        let [uu, vv, uv] = self.beyond(strain);
        let [a, b, c] = self.stiffness;
        Stress { uu: a * uu, vv: b * vv, uv: c * uv }
    }

    /// The stiffness of what is felt at this strain.
    fn active(&self, strain: Vec3) -> MembraneStiffness {
        let beyond = self.beyond(strain);
        let of = |c: usize| if beyond[c] == 0.0 { 0.0 } else { self.stiffness[c] };
        MembraneStiffness { warp: of(0), weft: of(1), cross: 0.0, shear: of(2), compression: 1.0 }
    }

    fn is_felt(&self, x: &[Vec3; 3]) -> bool {
        self.beyond(green(self.membrane.threads(x))) != [0.0; 3]
    }
}

impl Element<3> for LimitedTriangle {
    fn value(&self, x: &[Vec3; 3]) -> f64 {
        let beyond = self.beyond(green(self.membrane.threads(x)));
        0.5 * (0..3).map(|c| self.stiffness[c] * beyond[c] * beyond[c]).sum::<f64>()
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let threads = self.membrane.threads(x);
        self.membrane.forces(threads, self.stress(green(threads)))
    }

    fn hessian(&self, x: &[Vec3; 3]) -> Block<3> {
        let threads = self.membrane.threads(x);
        let strain = green(threads);
        self.membrane.assemble_with(self.active(strain), threads, self.stress(strain))
    }

    fn projected_hessian(&self, x: &[Vec3; 3]) -> Block<3> {
        self.newton_hessian(x, x)
    }

    /// With the stress that the step from `previous` predicted, as [`Membrane`] has it.
    fn newton_hessian(&self, x: &[Vec3; 3], previous: &[Vec3; 3]) -> Block<3> {
        let threads = self.membrane.threads(x);
        let stress = self.stress(predicted(threads, self.membrane.threads(previous))).positive_part();
        self.membrane.assemble_with(self.active(green(threads)), threads, stress)
    }
}

/// The triangles of a cloth with their limits, for [`BodyBuilder::limit`](dynamics::BodyBuilder::limit).
#[derive(Clone, Debug, Default)]
pub struct ClothLimits {
    triangles: Vec<([u32; 3], Membrane, StrainLimits)>,
}

impl ClothLimits {
    /// One entry for every triangle; those without limits are left out.
    pub fn new(triangles: impl IntoIterator<Item = ([u32; 3], Membrane, StrainLimits)>) -> Self {
        Self { triangles: triangles.into_iter().filter(|(_, _, limits)| !limits.is_none()).collect() }
    }

    /// How many triangles are limited.
    pub fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }
}

impl Limit for ClothLimits {
    fn shift(&mut self, first: u32) {
        self.triangles.iter_mut().flat_map(|(corners, _, _)| corners).for_each(|point| *point += first);
    }

    fn constraint(&self) -> Box<dyn StageConstraint> {
        let elements = self.triangles.iter().map(|(corners, membrane, limits)| {
            let element = LimitedTriangle {
                membrane: *membrane,
                threshold: limits.green(FELT_FROM),
                stiffness: [0.0; 3],
                shift: [0.0; 3],
            };
            (*corners, element)
        });
        Box::new(StrainConstraint {
            limits: self.triangles.iter().map(|(_, _, limits)| *limits).collect(),
            allowed: vec![[f64::INFINITY; 3]; self.triangles.len()],
            elements: elements.collect(),
            is_armed: vec![false; self.triangles.len()],
            felt: Vec::new(),
            rounds: 0,
            last_worst: f64::INFINITY,
        })
    }
}

/// The limits of a cloth over a stage.
struct StrainConstraint {
    elements: Vec<([u32; 3], LimitedTriangle)>,
    limits: Vec<StrainLimits>,
    /// e₁ that the stage must end within; infinite where it cannot be asked.
    allowed: Vec<[f64; 3]>,
    /// Elements that act at all: nothing does before Newton's method has found that it must.
    is_armed: Vec<bool>,
    /// Those of them that are felt at the iterate.
    felt: Vec<u32>,
    /// How often multipliers were renewed.
    rounds: usize,
    /// What was exceeded when it was last asked.
    last_worst: f64,
}

impl StrainConstraint {
    fn corners(corners: &[u32; 3], x: &[Vec3]) -> [Vec3; 3] {
        corners.map(|point| x[point as usize])
    }

    /// The largest of (g − e₁)/e₁, 0 within.
    fn worst(&self, x: &[Vec3]) -> f64 {
        let mut worst = 0.0_f64;
        for ((corners, element), allowed) in self.elements.iter().zip(&self.allowed) {
            let strain = green(element.membrane.threads(&Self::corners(corners, x)));
            for (g, allowed) in [strain.x, strain.y, strain.z.abs()].into_iter().zip(allowed) {
                if g > allowed + ROUNDING {
                    worst = worst.max((g - allowed) / allowed);
                }
            }
        }
        worst
    }
}

/// Whether a triangle's strain is given by points that follow exactly, because all three do or because two do that are too far apart.
fn is_given(membrane: &Membrane, limits: &StrainLimits, corners: &[u32; 3], stage: &StageStart) -> bool {
    let known = corners.map(|point| stage.known[point as usize]);
    let [a, b] = membrane.rest_sides();
    let least = [limits.warp, limits.weft].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let sides = [(0, 1, a), (0, 2, b), (1, 2, b - a)];
    let too_long = |&(i, j, rest): &(usize, usize, geometry::Vec2)| {
        let length = stage.guess[corners[i] as usize].distance(stage.guess[corners[j] as usize]);
        known[i] && known[j] && length > (1.0 + 0.5 * least) * rest.length()
    };
    known == [true; 3] || sides.iter().any(too_long)
}

impl StageConstraint for StrainConstraint {
    /// Fixes k, and what is allowed: the limit, or where the stage starts beyond it, what leads back to it.
    fn begin_stage(&mut self, stage: &StageStart) -> Result<(), Error> {
        (self.rounds, self.last_worst) = (0, f64::INFINITY);
        let kept = (-stage.seconds / LEAD_BACK).exp();
        for (((corners, element), limits), allowed) in
            self.elements.iter_mut().zip(&self.limits).zip(&mut self.allowed)
        {
            element.shift = [0.0; 3];
            let strain = green(element.membrane.threads(&Self::corners(corners, stage.start)));
            let (threshold, limit) = (limits.green(FELT_FROM), limits.green(1.0));
            let mass = corners.iter().map(|&point| stage.masses[point as usize]).sum::<f64>() / 3.0;
            let own = element.membrane.stiffness_times_area();
            let inertia = HEAVIER * mass / (stage.seconds * stage.seconds) * element.membrane.rest_area();
            let is_given = is_given(&element.membrane, limits, corners, stage);
            for (c, g) in [strain.x, strain.y, strain.z.abs()].into_iter().enumerate() {
                let lead = kept * (g - limit[c]).max(0.0);
                element.threshold[c] = threshold[c] + lead;
                element.stiffness[c] = if limit[c].is_finite() { STIFFER * own[c] + inertia } else { 0.0 };
                allowed[c] = if lead > 0.0 || is_given { f64::INFINITY } else { limit[c] };
            }
        }
        Ok(())
    }

    fn update(&mut self, x: &[Vec3]) -> Result<(), Error> {
        let felt =
            |(corners, element): &([u32; 3], LimitedTriangle)| element.is_felt(&Self::corners(corners, x));
        let count = self.elements.len();
        let acts = |i: &usize| self.is_armed[*i] && felt(&self.elements[*i]);
        self.felt = (0..count).filter(acts).map(|i| i as u32).collect();
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
        armed.map(|((corners, element), _)| element.value(&Self::corners(corners, x))).sum()
    }

    fn assemble(&mut self, x: &[Vec3], previous: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        for &index in &self.felt {
            let (corners, element) = &self.elements[index as usize];
            let (here, before) = (Self::corners(corners, x), Self::corners(corners, previous));
            let (gradient, block) = (element.gradient(&here), element.newton_hessian(&here, &before));
            for i in 0..3 {
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
            if !*is_armed && element.is_felt(&Self::corners(corners, x)) {
                (*is_armed, has_armed) = (true, true);
            }
        }
        if has_armed || worst < SHRINKS * last_worst {
            return Ok(false);
        }
        (self.rounds, self.last_worst) = (self.rounds + 1, f64::INFINITY);
        for ((corners, element), _) in
            self.elements.iter_mut().zip(&self.is_armed).filter(|(_, armed)| **armed)
        {
            let strain = green(element.membrane.threads(&Self::corners(corners, x)));
            element.shift = element.beyond(strain).map(f64::abs);
        }
        Ok(false)
    }

    fn excess(&self, x: &[Vec3]) -> f64 {
        self.worst(x)
    }

    /// What was felt will be so in the next stage.
    fn end_stage(&mut self, x: &[Vec3]) {
        for ((corners, element), is_armed) in self.elements.iter().zip(&mut self.is_armed) {
            *is_armed &= element.is_felt(&Self::corners(corners, x));
        }
    }
}

#[cfg(test)]
mod tests;
