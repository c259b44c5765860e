//! What tailors put between pieces of cloth: seams, elastic bands, buttons. Springs that only pull.

use std::sync::Arc;

use dynamics::{Energy, GuideSample};
use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern};

/// A seam holds as hard as the cloth beside it; it pulls no harder than what stretches that cloth by this share.
pub const SEAM_STRAIN: f64 = 0.05;

/// How a tie pulls its two ends together.
///
/// E(g) = φ(max(0, ‖g‖ − L)),  φ(s) = ½ k s² up to s = δ, and k δ (s − δ/2) beyond: slack when shorter than L, a spring of
/// stiffness k, in N/m, and from δ on a steady pull of k δ newtons; g = Σ wᵢ xᵢ with Σ wᵢ = 0 is what is between the ends.
/// Convex for every L ≥ 0, so its Hessian needs no projection.
///
/// φ is Huber's function (Huber 1964). Differs: one-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// L, in metres.
    pub length: f64,
    /// k, in N/m.
    pub stiffness: f64,
    /// δ, in metres; infinite for a spring all the way.
    pub reach: f64,
}

impl Pull {
    /// E, in joules.
    pub fn value(&self, gap: Vec3) -> f64 {
        let stretch = (gap.length() - self.length).max(0.0);
        match stretch <= self.reach {
            true => 0.5 * self.stiffness * stretch * stretch,
            false => self.stiffness * self.reach * (stretch - 0.5 * self.reach),
        }
    }

    /// dE/dg, in newtons.
    pub fn gradient(&self, gap: Vec3) -> Vec3 {
        let stretch = (gap.length() - self.length).max(0.0);
        self.stiffness * stretch.min(self.reach) * gap.normalize_or_zero()
    }

    /// d²E/dg²: φ″ along the gap, φ′/‖g‖ across it.
    pub fn hessian(&self, gap: Vec3) -> Mat3 {
        let distance = gap.length();
        let stretch = distance - self.length;
        if stretch < 0.0 || (stretch == 0.0 && self.length > 0.0) {
            return Mat3::ZERO;
        }
        if self.length == 0.0 && stretch <= self.reach {
            return Mat3::from_diagonal(Vec3::splat(self.stiffness));
        }
        let n = gap.normalize_or_zero();
        let along = Mat3::from_cols(n * n.x, n * n.y, n * n.z);
        let curvature = if stretch <= self.reach { self.stiffness } else { 0.0 };
        let across = self.stiffness * stretch.min(self.reach) / distance;
        along * curvature + (Mat3::IDENTITY - along) * across
    }
}

/// When ties are drawn from their first lengths to their last ones: slowly at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Seconds; the first frame is at 0.
    pub start: f64,
    /// Seconds.
    pub end: f64,
}

impl Ramp {
    /// How much of the way is done, from 0 to 1: 3t² − 2t³.
    pub fn share(&self, time: f64) -> f64 {
        if time >= self.end {
            return 1.0;
        }
        let t = ((time - self.start) / (self.end - self.start)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    }
}

/// Two places of a body that are drawn together: points, or sums of a few.
#[derive(Clone, Debug, PartialEq)]
pub struct Tie {
    /// Each point once with its weight w; weights add up to zero.
    pub parts: Vec<(u32, f64)>,
    /// How far apart the ends may be before the ramp begins, and when it has ended, in metres.
    pub lengths: [f64; 2],
    /// k, in N/m.
    pub stiffness: f64,
    /// δ, in metres.
    pub reach: f64,
}

impl Tie {
    /// g: from one end to the other.
    pub fn gap(&self, x: &[Vec3]) -> Vec3 {
        self.parts.iter().map(|&(p, w)| w * x[p as usize]).sum()
    }

    fn pull(&self, share: f64) -> Pull {
        let [from, to] = self.lengths;
        Pull { length: from + share * (to - from), stiffness: self.stiffness, reach: self.reach }
    }
}

/// Ties of a body, all drawn in by the same ramp.
#[derive(Clone, Debug)]
pub struct Ties {
    ties: Arc<[Tie]>,
    ramp: Ramp,
    /// For each tie its blocks, row by row below the diagonal and on it.
    slots: Vec<usize>,
}

impl Ties {
    /// Ties over the points of a body.
    pub fn new(ties: Arc<[Tie]>, ramp: Ramp) -> Self {
        Self { ties, ramp, slots: Vec::new() }
    }
}

impl Energy for Ties {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        for tie in self.ties.iter() {
            visit(&tie.parts.iter().map(|part| part.0).collect::<Vec<u32>>());
        }
    }

    fn shift(&mut self, first: u32) {
        let moved = |tie: &Tie| Tie {
            parts: tie.parts.iter().map(|&(p, w)| (p + first, w)).collect(),
            ..tie.clone()
        };
        self.ties = self.ties.iter().map(moved).collect();
    }

    fn bind(&mut self, pattern: &Pattern) {
        let pairs = self.ties.iter().flat_map(|tie| lower(&tie.parts));
        let slot = |(a, b): (Part, Part)| pattern.slot(a.0, b.0).expect("made from these stencils");
        self.slots = pairs.map(slot).collect();
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let share = self.ramp.share(sample.time);
        self.ties.iter().map(|tie| tie.pull(share).value(tie.gap(x))).sum()
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        let share = self.ramp.share(sample.time);
        for tie in self.ties.iter() {
            let pull = tie.pull(share).gradient(tie.gap(x));
            tie.parts.iter().for_each(|&(p, w)| gradient[p as usize] += w * pull);
        }
    }

    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        let share = self.ramp.share(sample.time);
        let mut slots = self.slots.iter();
        for tie in self.ties.iter() {
            let block = tie.pull(share).hessian(tie.gap(x));
            // the block is symmetric: it is the same on either side of the diagonal
            for ((a, b), &slot) in lower(&tie.parts).zip(&mut slots) {
                matrix.values_mut()[slot] += block * (a.1 * b.1);
            }
        }
    }
}

/// What is sewn is weightless until it hangs together, as a cutter pins panels up before they are joined.
///
/// E = (1 − s(t)) Σ wᵢ·xᵢ, w the weight of a point in newtons, which gravity's −Σ wᵢ·xᵢ then outweighs as s goes from 0 to 1.
#[derive(Clone, Debug)]
pub struct HeldUp {
    weights: Arc<[(u32, Vec3)]>,
    ramp: Ramp,
}

impl HeldUp {
    /// Points with their weights; the ramp gives them back.
    pub fn new(weights: Arc<[(u32, Vec3)]>, ramp: Ramp) -> Self {
        Self { weights, ramp }
    }
}

impl Energy for HeldUp {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.weights.iter().for_each(|&(p, _)| visit(&[p]));
    }

    fn shift(&mut self, first: u32) {
        self.weights = self.weights.iter().map(|&(p, w)| (p + first, w)).collect();
    }

    fn bind(&mut self, _: &Pattern) {}

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let share = 1.0 - self.ramp.share(sample.time);
        share * self.weights.iter().map(|&(p, w)| w.dot(x[p as usize])).sum::<f64>()
    }

    fn add_gradient(&self, sample: &GuideSample, _: &[Vec3], gradient: &mut [Vec3]) {
        let share = 1.0 - self.ramp.share(sample.time);
        if share > 0.0 {
            self.weights.iter().for_each(|&(p, w)| gradient[p as usize] += share * w);
        }
    }

    fn add_hessian(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], _: &mut Matrix) {}
}

type Part = (u32, f64);

/// Every two parts once, each with itself too.
fn lower(parts: &[Part]) -> impl Iterator<Item = (Part, Part)> + '_ {
    (0..parts.len()).flat_map(move |i| (0..=i).map(move |j| (parts[i], parts[j])))
}

#[cfg(test)]
mod tests {
    use dynamics::{Block, Body, Element, check_derivatives, check_element};

    use super::*;

    /// A tie as an element of the engine.
    struct Fixed<const N: usize>([f64; N], Pull);

    impl<const N: usize> Fixed<N> {
        fn gap(&self, x: &[Vec3; N]) -> Vec3 {
            (0..N).map(|i| self.0[i] * x[i]).sum()
        }
    }

    impl<const N: usize> Element<N> for Fixed<N> {
        fn value(&self, x: &[Vec3; N]) -> f64 {
            self.1.value(self.gap(x))
        }

        fn gradient(&self, x: &[Vec3; N]) -> [Vec3; N] {
            self.0.map(|w| w * self.1.gradient(self.gap(x)))
        }

        fn hessian(&self, x: &[Vec3; N]) -> Block<N> {
            let block = self.1.hessian(self.gap(x));
            Block(std::array::from_fn(|i| std::array::from_fn(|j| block * (self.0[i] * self.0[j]))))
        }

        fn projected_hessian(&self, x: &[Vec3; N]) -> Block<N> {
            self.hessian(x)
        }
    }

    #[test]
    fn a_seam_is_an_element() {
        let pull = Pull { length: 0.0, stiffness: 40.0, reach: f64::INFINITY };
        // a point on an edge, and one on a triangle
        check_element(
            &Fixed([1.0, -0.25, -0.75], pull),
            &[Vec3::new(0.0, 1.0, 1.5), Vec3::ZERO, Vec3::new(0.0, 4.0 / 3.0, 2.0)],
        );
        let corners = [Vec3::X, Vec3::Y, Vec3::Z];
        let inside = 0.5 * corners[0] + 0.3 * corners[1] + 0.2 * corners[2];
        check_element(&Fixed([1.0, -0.5, -0.3, -0.2], pull), &[inside, corners[0], corners[1], corners[2]]);
    }

    /// In each of its three parts: slack, a spring, a steady pull.
    #[test]
    fn what_it_pulls_is_the_slope_of_its_energy() {
        let at = |distance: f64| [Vec3::ZERO, distance * Vec3::new(2.0, -1.0, 2.0) / 3.0];
        for (length, reach) in [(0.5, 0.2), (0.0, 0.2), (0.5, f64::INFINITY)] {
            let tie = Fixed([1.0, -1.0], Pull { length, stiffness: 30.0, reach });
            for distance in [0.1_f64, 0.6, 0.9] {
                let stretch = (distance - length).max(0.0);
                let pull = tie.gradient(&at(distance))[1].length();
                assert!((pull - 30.0 * stretch.min(reach)).abs() < 1e-12, "{pull} at {distance}");
                if stretch > 0.0 {
                    check_derivatives(&tie, &at(distance));
                } else {
                    assert_eq!(tie.hessian(&at(distance)).max_abs(), 0.0);
                }
            }
        }
        // nothing that is no number where the ends meet
        let closed = Pull { length: 0.0, stiffness: 30.0, reach: 0.1 };
        assert_eq!((closed.gradient(Vec3::ZERO), closed.hessian(Vec3::ZERO).x_axis.x), (Vec3::ZERO, 30.0));
        assert_eq!(Pull { length: 0.1, ..closed }.hessian(Vec3::ZERO), Mat3::ZERO);
    }

    /// Weightless before the ramp, as heavy as it is after it.
    #[test]
    fn what_is_held_up_gets_its_weight_back() {
        let weight = Vec3::new(0.0, -9.81, 0.0);
        let held = HeldUp::new([(1, weight)].into(), Ramp { start: -1.0, end: 0.0 });
        let x = [Vec3::ZERO, Vec3::new(3.0, 2.0, 1.0)];
        let pull = |time: f64| {
            let sample = GuideSample { time, guide_positions: &x, guide_velocities: &x };
            let mut gradient = [Vec3::ZERO; 2];
            held.add_gradient(&sample, &x, &mut gradient);
            assert!((held.value(&sample, &x) - gradient[1].dot(x[1])).abs() < 1e-12);
            assert_eq!(gradient[0], Vec3::ZERO);
            -gradient[1]
        };
        // the force is what gravity's takes away
        assert_eq!([pull(-1.0) + weight, pull(-0.5) + weight], [Vec3::ZERO, 0.5 * weight]);
        assert_eq!(pull(0.0), -Vec3::ZERO);
    }

    /// Its matrix is the difference of its gradients, over the points of a body, at the time of the ramp.
    #[test]
    fn the_energy_of_a_body_has_the_derivatives_of_its_ties() {
        let ties: Arc<[Tie]> = [
            Tie {
                parts: vec![(3, 1.0), (1, -0.4), (0, -0.6)],
                lengths: [1.0, 0.2],
                stiffness: 50.0,
                reach: 0.3,
            },
            Tie { parts: vec![(2, 1.0), (4, -1.0)], lengths: [0.5, 0.0], stiffness: 7.0, reach: 9.0 },
        ]
        .into();
        let ramp = Ramp { start: -1.0, end: 0.0 };
        let mut energy = Ties::new(ties, ramp);
        let body = Body::builder(vec![1.0; 5]).energy(energy.clone()).build().unwrap();
        energy.bind(body.pattern());
        let mut random = geometry::Random::new(7);
        let x: Vec<Vec3> = (0..5).map(|_| 2.0 * random.vec3()).collect();
        let sample = |time: f64| GuideSample { time, guide_positions: &x, guide_velocities: &x };
        for time in [-1.5, -0.4, 0.0, 2.0] {
            let mut matrix = Matrix::new(body.pattern().clone());
            energy.add_hessian(&sample(time), &x, &x, &mut matrix);
            let gradient = |x: &[Vec3]| {
                let mut gradient = vec![Vec3::ZERO; 5];
                energy.add_gradient(&sample(time), x, &mut gradient);
                gradient
            };
            for (point, axis) in (0..5).flat_map(|p| (0..3).map(move |axis| (p, axis))) {
                let moved = |step: f64| {
                    let mut x = x.clone();
                    x[point][axis] += step;
                    x
                };
                let (up, down) = (moved(1e-6), moved(-1e-6));
                let slope = (energy.value(&sample(time), &up) - energy.value(&sample(time), &down)) / 2e-6;
                assert!((slope - gradient(&x)[point][axis]).abs() < 1e-6);
                let (up, down) = (gradient(&up), gradient(&down));
                for other in 0..5 {
                    let difference = (up[other] - down[other]) / 2e-6;
                    let found = matrix_column(&matrix, body.pattern(), other, point, axis);
                    assert!(difference.distance(found) < 1e-5, "{time}: {difference} {found}");
                }
            }
        }
        let share = |time: f64| ramp.share(time);
        assert_eq!([share(-2.0), share(-0.5), share(0.0), share(1.0)], [0.0, 0.5, 1.0, 1.0]);
        assert_eq!(Ramp { start: 0.0, end: 0.0 }.share(0.0), 1.0);
    }

    fn matrix_column(matrix: &Matrix, pattern: &Pattern, row: usize, point: usize, axis: usize) -> Vec3 {
        match pattern.slot(row as u32, point as u32) {
            Some(slot) => matrix.values()[slot].col(axis),
            None => Vec3::ZERO,
        }
    }
}
