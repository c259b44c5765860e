//! A Markov chain by the steps of Crank and Nicolson (pCN; Cotter, Roberts, Stuart and White 2013).
//!
//! A density π ∝ exp(−E) is near to a Gaussian N(0, C), so that w = exp(½ zᵀC⁻¹z − E(z)) changes little. From z the chain looks at
//!
//! ```text
//! z' = √(1 − β²) z + β ζ,  ζ ~ N(0, C)
//! ```
//!
//! and goes there with probability min(1, w(z')/w(z)). The step alone leaves the Gaussian as it is, whatever β; the choice makes π of it. Where π is that Gaussian
//! nothing is refused, in any number of dimensions.

use geometry::Random;

/// Proposals after which the stride is looked at, while it still changes.
const LOOK: usize = 8;

/// A density to draw from.
pub(crate) trait Posterior {
    /// What stands at a place.
    type State;

    /// A draw from the Gaussian that it is near to.
    fn draw(&self, random: &mut Random) -> Vec<f64>;

    /// ½ zᵀC⁻¹z.
    fn reference(&self, place: &[f64]) -> f64;

    /// What stands at a place, found from what stands near, and its energy E; none where nothing can stand.
    fn at(&mut self, place: &[f64], near: &Self::State) -> Option<(Self::State, f64)>;
}

/// How a chain went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chain {
    /// Places that it looked at, once its stride was settled.
    pub steps: usize,
    /// Those that it went to.
    pub accepted: usize,
    /// β.
    pub stride: f64,
    /// Energy where it began, E.
    pub start: f64,
    /// The least that it found.
    pub least: f64,
    /// That of the draw.
    pub drawn: f64,
    /// By which share of what it minimises a solve that begins at the draw ends below the one that the chain began with: much above 0 where that was
    /// a local minimum.
    pub lower: f64,
}

impl Chain {
    /// This one's and another's, of another part of a motion.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            accepted: self.accepted + other.accepted,
            stride: self.stride.min(other.stride),
            start: self.start + other.start,
            least: self.least + other.least,
            drawn: self.drawn + other.drawn,
            lower: self.lower.max(other.lower),
        }
    }
}

/// How long it goes on: steps that settle the stride, and steps after them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) settling: usize,
    pub(crate) steps: usize,
}

/// A number of mean 0 and deviation 1.
pub(crate) fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Goes from what stands at 0; `each` sees where the chain is after every step that counts.
pub(crate) fn walk<P: Posterior>(
    posterior: &mut P,
    (mut state, mut energy): (P::State, f64),
    size: usize,
    seed: u64,
    length: Length,
    mut each: impl FnMut(&[f64], &P::State),
) -> (P::State, Chain) {
    let mut random = Random::new(seed);
    let mut place = vec![0.0; size];
    let mut weight = -energy;
    let mut chain = Chain { stride: 0.5, start: energy, least: energy, ..Chain::default() };
    let mut recent = 0;
    for step in 0..length.settling + length.steps {
        let noise = posterior.draw(&mut random);
        let kept = (1.0 - chain.stride * chain.stride).sqrt();
        let there: Vec<f64> = place.iter().zip(&noise).map(|(z, n)| kept * z + chain.stride * n).collect();
        // drawn in any case, so that what comes after does not hang on whether something stands there
        let chance = (1.0 - random.unit()).ln();
        let found = posterior.at(&there, &state).map(|(state, energy)| {
            let weight = posterior.reference(&there) - energy;
            (state, energy, weight)
        });
        let goes = found.filter(|(_, energy, next)| energy.is_finite() && chance < next - weight);
        let settled = step >= length.settling;
        chain.steps += usize::from(settled);
        if let Some((next, own, next_weight)) = goes {
            (place, state, energy, weight) = (there, next, own, next_weight);
            recent += 1;
            chain.accepted += usize::from(settled);
            chain.least = chain.least.min(energy);
        }
        if settled {
            each(&place, &state);
        } else if (step + 1) % LOOK == 0 {
            // about a third is to be gone to: a longer stride is refused too often, a shorter one leads nowhere
            chain.stride = match recent {
                0 => 0.4 * chain.stride,
                1 => 0.7 * chain.stride,
                2 | 3 => chain.stride,
                4 | 5 => (1.4 * chain.stride).min(1.0),
                _ => (2.0 * chain.stride).min(1.0),
            };
            recent = 0;
        }
    }
    chain.drawn = energy;
    (state, chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Energies of one number, or of points on a plane through space: E = ½ (x − a)ᵀA(x − a) with x = B z, A diagonal. The Gaussian that proposals come
    /// from is another one than the posterior: z of deviation `wide`.
    struct Plane {
        center: [f64; 3],
        precision: [f64; 3],
        /// Two directions that span n·x = 0.
        basis: [[f64; 3]; 2],
        wide: f64,
    }

    impl Plane {
        fn point(&self, z: &[f64]) -> [f64; 3] {
            std::array::from_fn(|k| self.basis[0][k] * z[0] + self.basis[1][k] * z[1])
        }
    }

    impl Posterior for Plane {
        type State = [f64; 3];

        fn draw(&self, random: &mut Random) -> Vec<f64> {
            (0..2).map(|_| self.wide * normal(random)).collect()
        }

        fn reference(&self, place: &[f64]) -> f64 {
            0.5 * place.iter().map(|z| (z / self.wide).powi(2)).sum::<f64>()
        }

        fn at(&mut self, place: &[f64], _: &[f64; 3]) -> Option<([f64; 3], f64)> {
            let x = self.point(place);
            let energy = (0..3).map(|k| 0.5 * self.precision[k] * (x[k] - self.center[k]).powi(2)).sum();
            Some((x, energy))
        }
    }

    #[test]
    fn a_linear_gaussian_posterior_has_the_mean_and_the_variance_of_its_closed_form() {
        let half = 0.5_f64.sqrt();
        // x on the plane x₀ = x₁: z₀ (1, 1, 0)/√2 + z₁ (0, 0, 1)
        let mut plane = Plane {
            center: [0.3, 0.7, -0.4],
            precision: [4.0, 1.0, 9.0],
            basis: [[half, half, 0.0], [0.0, 0.0, 1.0]],
            wide: 0.6,
        };
        // the posterior of z: precision BᵀAB = diag(2.5, 9), mean (BᵀAB)⁻¹BᵀA a
        let mean = [half * (4.0 * 0.3 + 0.7) / 2.5, -0.4];
        let variance: [f64; 2] = [1.0 / 2.5, 1.0 / 9.0];
        let start = plane.at(&[0.0, 0.0], &[0.0; 3]).unwrap();
        let (mut sum, mut square, mut count) = ([0.0; 2], [0.0; 2], 0.0);
        let length = Length { settling: 80, steps: 200_000 };
        let (_, chain) = walk(&mut plane, start, 2, 5, length, |z, x| {
            assert!((x[0] - x[1]).abs() < 1e-12);
            count += 1.0;
            for k in 0..2 {
                sum[k] += z[k];
                square[k] += z[k] * z[k];
            }
        });
        assert!(chain.accepted > chain.steps / 5 && chain.accepted < chain.steps, "{chain:?}");
        for k in 0..2 {
            let found = sum[k] / count;
            let spread = square[k] / count - found * found;
            // some 20,000 draws that know nothing of each other: 1 % of a deviation, three times
            let error = 3.0 * (variance[k] / 20_000.0).sqrt();
            assert!((found - mean[k]).abs() < error, "{k}: {found}, not {}", mean[k]);
            assert!((spread / variance[k] - 1.0).abs() < 0.05, "{k}: {spread}, not {}", variance[k]);
        }
        // nothing is as likely as the mean
        let least: f64 = plane.at(&mean, &[0.0; 3]).unwrap().1;
        assert!(chain.least >= least && chain.least < least + 1e-2 && chain.least <= chain.start);
    }

    /// E = x⁴: no Gaussian, and nothing stands below −½.
    struct Quartic;

    impl Posterior for Quartic {
        type State = f64;

        fn draw(&self, random: &mut Random) -> Vec<f64> {
            vec![normal(random)]
        }

        fn reference(&self, place: &[f64]) -> f64 {
            0.5 * place[0] * place[0]
        }

        fn at(&mut self, place: &[f64], _: &f64) -> Option<(f64, f64)> {
            (place[0] > -0.5).then(|| (place[0], place[0].powi(4)))
        }
    }

    #[test]
    fn any_other_posterior_has_its_own_moments() {
        // by quadrature
        let mut moments = [0.0; 3];
        for k in 0..200_000 {
            let x = -0.5 + 4.0 * (f64::from(k) + 0.5) / 200_000.0;
            let density = (-x.powi(4)).exp();
            (0..3).for_each(|p| moments[p] += density * x.powi(p as i32));
        }
        let mut found = [0.0; 3];
        let length = Length { settling: 80, steps: 200_000 };
        walk(&mut Quartic, (0.0, 0.0), 1, 9, length, |_, &x| {
            (0..3).for_each(|p| found[p] += x.powi(p as i32));
        });
        for p in 1..3 {
            let (ours, exact) = (found[p] / found[0], moments[p] / moments[0]);
            assert!((ours - exact).abs() < 0.012, "{p}: {ours}, not {exact}");
        }
    }
}
