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
//!
//! `limit/constraint.rs` has what is the same for every element; here are triangles, in `limit/thread.rs` pieces of thread.

mod constraint;
mod thread;

use dynamics::{Block, Element, Limit, StageConstraint, StageStart};
use geometry::Vec3;

use crate::membrane::{Stress, green, predicted};
use crate::resizing::Lengths;
use crate::{Membrane, MembraneStiffness, Resizing};
use constraint::{Channels, LimitConstraint, LimitedElement, StageLimits};

pub use thread::{LimitedThread, ThreadLimits};

/// The share of a limit from which it is felt.
const FELT_FROM: f64 = 0.9;
/// k over the fabric's own stiffness, and over the inertia of the element's points in the step.
const STIFFER: f64 = 50.0;
const HEAVIER: f64 = 10.0;

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
    limits: StrainLimits,
    /// How it gets the size that its membrane has; none where it has it from the beginning.
    lengths: Option<Lengths>,
    channels: Channels,
}

impl LimitedTriangle {
    fn new(membrane: Membrane, limits: StrainLimits) -> Self {
        let channels = Channels { threshold: limits.green(FELT_FROM), stiffness: [0.0; 3], shift: [0.0; 3] };
        Self { membrane, limits, lengths: None, channels }
    }

    /// Green strains of `share` of the limits, of a triangle whose lengths at rest are `ratio` times as long as its membrane has them:
    /// F is that of the membrane over the ratio.
    fn green(&self, share: f64, ratio: f64) -> [f64; 3] {
        let [uu, vv, uv] = self.limits.green(share);
        if ratio == 1.0 {
            return [uu, vv, uv];
        }
        let area = ratio * ratio;
        [0.5 * (area * (1.0 + 2.0 * uu) - 1.0), 0.5 * (area * (1.0 + 2.0 * vv) - 1.0), area * uv]
    }

    /// g − e₀ + λ/k where it is positive, else 0; shear with its sign.
    fn beyond(&self, strain: Vec3) -> [f64; 3] {
        let [uu, vv, uv] = self.channels.beyond([strain.x, strain.y, strain.z.abs()]);
        [uu, vv, uv.copysign(strain.z)]
    }

    fn stress(&self, strain: Vec3) -> Stress {
        let [uu, vv, uv] = self.beyond(strain);
        let [a, b, c] = self.channels.stiffness;
        Stress { uu: a * uu, vv: b * vv, uv: c * uv }
    }

    /// The stiffness of what is felt at this strain.
    fn active(&self, strain: Vec3) -> MembraneStiffness {
        let beyond = self.beyond(strain);
        let of = |c: usize| if beyond[c] == 0.0 { 0.0 } else { self.channels.stiffness[c] };
        MembraneStiffness { warp: of(0), weft: of(1), cross: 0.0, shear: of(2), compression: 1.0 }
    }

    /// Whether its strain is given by points that follow exactly, because all three do or because two do that are too far apart.
    fn is_given(&self, corners: &[u32; 3], stage: &StageStart, ratio: f64) -> bool {
        let known = corners.map(|point| stage.known[point as usize]);
        let [a, b] = self.membrane.rest_sides();
        let least = [self.limits.warp, self.limits.weft].into_iter().flatten().fold(f64::INFINITY, f64::min);
        let sides = [(0, 1, a), (0, 2, b), (1, 2, b - a)];
        let too_long = |&(i, j, rest): &(usize, usize, geometry::Vec2)| {
            let length = stage.guess[corners[i] as usize].distance(stage.guess[corners[j] as usize]);
            known[i] && known[j] && length > (1.0 + 0.5 * least) * ratio * rest.length()
        };
        known == [true; 3] || sides.iter().any(too_long)
    }
}

impl Element<3> for LimitedTriangle {
    fn value(&self, x: &[Vec3; 3]) -> f64 {
        self.channels.value(self.strains(x))
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

impl LimitedElement<3> for LimitedTriangle {
    const ACTS_AT_ONCE: bool = false;
    const IS_KEPT_BEYOND: bool = false;

    fn channels(&self) -> &Channels {
        &self.channels
    }

    fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    fn strains(&self, x: &[Vec3; 3]) -> [f64; 3] {
        let strain = green(self.membrane.threads(x));
        [strain.x, strain.y, strain.z.abs()]
    }

    fn stage_limits(&self, corners: &[u32; 3], stage: &StageStart) -> StageLimits {
        let mass = corners.iter().map(|&point| stage.masses[point as usize]).sum::<f64>() / 3.0;
        let inertia = HEAVIER * mass / (stage.seconds * stage.seconds) * self.membrane.rest_area();
        let ratio = self.lengths.map_or(1.0, |lengths| lengths.ratio(stage.time));
        let (own, limit) = (self.membrane.stiffness_times_area(), self.green(1.0, ratio));
        let stiffness =
            [0, 1, 2].map(|c| if limit[c].is_finite() { STIFFER * own[c] + inertia } else { 0.0 });
        let (threshold, is_given) = (self.green(FELT_FROM, ratio), self.is_given(corners, stage, ratio));
        StageLimits { threshold, limit, stiffness, is_given }
    }
}

/// The triangles of a cloth with their limits, for [`BodyBuilder::limit`](dynamics::BodyBuilder::limit).
#[derive(Clone, Debug, Default)]
pub struct ClothLimits {
    triangles: Vec<([u32; 3], LimitedTriangle)>,
}

impl ClothLimits {
    /// One entry for every triangle; those without limits are left out.
    pub fn new(triangles: impl IntoIterator<Item = ([u32; 3], Membrane, StrainLimits)>) -> Self {
        let limited = triangles.into_iter().filter(|(_, _, limits)| !limits.is_none());
        let made = |(corners, membrane, limits)| (corners, LimitedTriangle::new(membrane, limits));
        Self { triangles: limited.map(made).collect() }
    }

    /// Limits of cloth that gets its size over a while.
    #[must_use]
    pub(crate) fn resizing(mut self, resizing: &Resizing) -> Self {
        for (corners, triangle) in &mut self.triangles {
            triangle.lengths = Some(resizing.of(corners));
        }
        self
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
        self.triangles.iter_mut().flat_map(|(corners, _)| corners).for_each(|point| *point += first);
    }

    fn constraint(&self) -> Box<dyn StageConstraint> {
        Box::new(LimitConstraint::new(self.triangles.clone()))
    }
}

#[cfg(test)]
mod tests;
