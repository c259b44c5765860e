//! The test that every element passes: one line per material buys derivatives, symmetry, invariance, definiteness.
//!
//! Public, so that materials written elsewhere are held to the same standard. Failures panic, as tests do.

use geometry::{Mat3, Random, Vec3};

use crate::{Element, Viscous};

/// Holds an element that is at rest in `rest` to all that an elastic energy promises: gradient and Hessian agree with
/// central differences at random deformed states, energy and gradient vanish at rest, rigid motion changes nothing,
/// and the Hessian is symmetric, and not negative once projected.
pub fn check_element<const N: usize>(element: &impl Element<N>, rest: &[Vec3; N]) {
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    let size = rest.iter().map(|p| p.distance(rest[0])).fold(0.0, f64::max);
    let deformed = |random: &mut Random, amount: f64| rest.map(|p| p + amount * size * random.vec3());
    let reference = deformed(&mut random, 0.3);
    let energy_scale = element.value(&reference).abs().max(f64::MIN_POSITIVE);

    let at_rest = element.value(rest);
    assert!(at_rest.abs() <= 1e-12 * energy_scale, "energy at rest is {at_rest:e}, not 0");
    let slope = norm(&element.gradient(rest));
    let slope_scale = norm(&element.gradient(&reference));
    assert!(slope_scale > 0.0, "the gradient vanishes at a deformed state");
    assert!(slope <= 1e-10 * slope_scale, "gradient at rest is {slope:e}, not 0");

    for amount in [0.02, 0.1, 0.3] {
        for _ in 0..4 {
            let x = deformed(&mut random, amount);
            check_derivatives(element, &x);
            check_rigid_motion(element, &x, &mut random);
        }
    }
}

/// Gradient and Hessian against central differences at `x`, symmetry, and definiteness after projection: what holds for
/// any energy, invariant or not.
pub fn check_derivatives<const N: usize>(element: &impl Element<N>, x: &[Vec3; N]) {
    let size = x.iter().map(|p| p.distance(x[0])).fold(0.0, f64::max).max(1.0e-3);
    let gradient = element.gradient(x);
    let hessian = element.hessian(x);

    for (row, column) in (0..3 * N).flat_map(|row| (0..row).map(move |column| (row, column))) {
        let (above, below) = (hessian.entry(column, row), hessian.entry(row, column));
        assert!(
            (above - below).abs() <= 1e-9 * hessian.max_abs(),
            "Hessian not symmetric at ({row}, {column})"
        );
    }

    // Central differences err by O(h²) + O(ε/h): with h = 1e-4 and 5e-5 of the size the first part dominates in a wrong
    // derivative, and halving h divides the error of a right one by about four until round-off.
    let gradient_scale = norm(&gradient) + hessian.max_abs() * size * 1e-3;
    let hessian_scale = hessian.max_abs();
    let [coarse, fine] = [1e-4, 5e-5].map(|h| {
        let h = h * size;
        let (mut gradient_error, mut hessian_error) = (0.0_f64, 0.0_f64);
        for k in 0..3 * N {
            let moved = |sign: f64| {
                let mut y = *x;
                y[k / 3][k % 3] += sign * h;
                y
            };
            let (plus, minus) = (moved(1.0), moved(-1.0));
            let slope = (element.value(&plus) - element.value(&minus)) / (2.0 * h);
            gradient_error = gradient_error.max((slope - gradient[k / 3][k % 3]).abs());
            let (up, down) = (element.gradient(&plus), element.gradient(&minus));
            for i in 0..3 * N {
                let curvature = (up[i / 3][i % 3] - down[i / 3][i % 3]) / (2.0 * h);
                hessian_error = hessian_error.max((curvature - hessian.entry(i, k)).abs());
            }
        }
        (
            gradient_error / gradient_scale.max(f64::MIN_POSITIVE),
            hessian_error / hessian_scale.max(f64::MIN_POSITIVE),
        )
    });
    let shrinks = |coarse: f64, fine: f64| fine < 1e-7 || (fine < 1e-3 && fine < 0.35 * coarse);
    assert!(
        shrinks(coarse.0, fine.0),
        "gradient differs from central differences: {:e}, {:e}",
        coarse.0,
        fine.0
    );
    assert!(
        shrinks(coarse.1, fine.1),
        "Hessian differs from central differences: {:e}, {:e}",
        coarse.1,
        fine.1
    );

    for (name, block) in
        [("projected", element.projected_hessian(x)), ("Newton", element.newton_hessian(x, x))]
    {
        let least = block.min_eigenvalue();
        assert!(least >= -1e-9 * block.max_abs(), "{name} Hessian has eigenvalue {least:e}");
    }
}

/// Holds the friction of an element that is at rest in `rest` to what [`Viscous`] promises: it vanishes where the strain is
/// the past one, also after a rigid motion; it pulls back otherwise; and it adds up as the formula says.
pub fn check_viscosity<const N: usize>(element: &impl Viscous<N>, rest: &[Vec3; N]) {
    let mut random = Random::new(0xD1B5_4A32_D192_ED03);
    let size = rest.iter().map(|p| p.distance(rest[0])).fold(0.0, f64::max);
    for _ in 0..8 {
        let [then, x] = [0.1, 0.1].map(|amount| rest.map(|p| p + amount * size * random.vec3()));
        let eta = 3.0;
        let damped = element.with_viscosity(eta, &[(1.0, then), (0.0, x)]);
        check_derivatives(&damped, &x);

        let (rotation, shift) = (random.rotation(), random.vec3());
        let moved = then.map(|p| rotation * p + shift);
        let (plain, braked) = (element.gradient(&moved), damped.gradient(&moved));
        let difference: [Vec3; N] = std::array::from_fn(|i| plain[i] - braked[i]);
        assert!(
            norm(&difference) <= 1e-7 * norm(&plain),
            "friction brakes rigid motion by {:e}",
            norm(&difference)
        );

        // E_damped(x) − E(x) is η/2‖ε(x) − ε(then)‖² up to a constant, which its value at `then` gives
        let dissipated = |damped: &dyn Element<N>| {
            let friction = |x: &[Vec3; N]| damped.value(x) - element.value(x);
            friction(&x) - friction(&then)
        };
        let once = dissipated(&damped);
        assert!(once > 0.0, "friction gains energy: {once}");
        let twice = dissipated(&element.with_viscosity(2.0 * eta, &[(0.5, then), (0.5, then)]));
        assert!(
            (twice / once - 2.0).abs() < 1e-6,
            "twice the viscosity, {} times the friction",
            twice / once
        );
    }
}

fn check_rigid_motion<const N: usize>(element: &impl Element<N>, x: &[Vec3; N], random: &mut Random) {
    let (rotation, shift) = (random.rotation(), random.vec3());
    let moved = x.map(|p| rotation * p + shift);
    let (value, moved_value) = (element.value(x), element.value(&moved));
    assert!(
        (value - moved_value).abs() <= 1e-8 * value.abs(),
        "rigid motion changes the energy: {value} {moved_value}"
    );

    let gradient = element.gradient(x);
    let turned = element.gradient(&moved);
    let difference: [Vec3; N] = std::array::from_fn(|i| rotation * gradient[i] - turned[i]);
    assert!(norm(&difference) <= 1e-7 * norm(&gradient), "the gradient does not turn with the body");
}

fn norm<const N: usize>(v: &[Vec3; N]) -> f64 {
    v.iter().map(|p| p.length_squared()).sum::<f64>().sqrt()
}

/// A reproducible rotation for tests, different for each seed.
pub fn random_rotation(seed: u64) -> Mat3 {
    Random::new(seed).rotation()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;

    /// ½ k (‖x₁−x₀‖² − l²)²: right, unless `fault` scales the gradient.
    struct Spring {
        rest_squared: f64,
        fault: f64,
    }

    impl Element<2> for Spring {
        fn value(&self, x: &[Vec3; 2]) -> f64 {
            0.5 * ((x[1] - x[0]).length_squared() - self.rest_squared).powi(2)
        }
        fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
            let d = x[1] - x[0];
            let g = self.fault * 2.0 * (d.length_squared() - self.rest_squared) * d;
            [-g, g]
        }
        fn hessian(&self, x: &[Vec3; 2]) -> Block<2> {
            let d = x[1] - x[0];
            let mut block = Block::ZERO;
            block.add_outer(&[-d, d], 4.0);
            let isotropic = Mat3::IDENTITY * (2.0 * (d.length_squared() - self.rest_squared));
            for (i, j, sign) in [(0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0)] {
                block.0[i][j] += isotropic * sign;
            }
            block * self.fault
        }
    }

    #[test]
    fn a_right_element_passes() {
        check_element(&Spring { rest_squared: 1.0, fault: 1.0 }, &[Vec3::ZERO, Vec3::X]);
    }

    #[test]
    #[should_panic(expected = "gradient differs")]
    fn a_gradient_off_by_a_thousandth_is_caught() {
        check_element(&Spring { rest_squared: 1.0, fault: 1.001 }, &[Vec3::ZERO, Vec3::X]);
    }

    /// A spring that may only be looked at near its rest shape, with friction or without.
    struct Near {
        spring: crate::Spring,
        rest: [Vec3; 2],
        has_friction: bool,
    }

    impl Near {
        const SIZE: f64 = 0.01;

        fn new(has_friction: bool) -> (Self, [Vec3; 2]) {
            let spring = crate::Spring { stiffness: 50.0, rest_length: Self::SIZE };
            let rest = [Vec3::ONE, Vec3::ONE + Self::SIZE * Vec3::X];
            (Self { spring, rest, has_friction }, rest)
        }
    }

    impl Element<2> for Near {
        fn value(&self, x: &[Vec3; 2]) -> f64 {
            let is_near = |i: usize| x[i].distance(self.rest[i]) < 0.2 * Self::SIZE;
            assert!(is_near(0) && is_near(1), "{x:?} is far from rest");
            self.spring.value(x)
        }
        fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
            self.spring.gradient(x)
        }
        fn hessian(&self, x: &[Vec3; 2]) -> Block<2> {
            self.spring.hessian(x)
        }
    }

    impl Viscous<2> for Near {
        fn with_viscosity(&self, eta: f64, history: &[(f64, [Vec3; 2])]) -> Self {
            let spring =
                if self.has_friction { self.spring.with_viscosity(eta, history) } else { self.spring };
            Self { spring, rest: self.rest, has_friction: self.has_friction }
        }
    }

    #[test]
    fn friction_is_looked_at_near_rest() {
        let (element, rest) = Near::new(true);
        check_viscosity(&element, &rest);
    }

    #[test]
    #[should_panic(expected = "friction gains energy")]
    fn friction_that_does_nothing_is_caught() {
        let (element, rest) = Near::new(false);
        check_viscosity(&element, &rest);
    }

    #[test]
    #[should_panic(expected = "rigid motion changes the energy")]
    fn an_energy_that_depends_a_little_on_direction_is_caught() {
        struct Leaning;
        impl Element<2> for Leaning {
            fn value(&self, x: &[Vec3; 2]) -> f64 {
                let d = x[1] - x[0];
                d.length_squared() * (1.0 + 0.01 * d.x)
            }
            fn gradient(&self, _: &[Vec3; 2]) -> [Vec3; 2] {
                [Vec3::ZERO; 2]
            }
            fn hessian(&self, _: &[Vec3; 2]) -> Block<2> {
                Block::ZERO
            }
        }
        check_rigid_motion(&Leaning, &[Vec3::ZERO, Vec3::X], &mut Random::new(1));
    }
}
