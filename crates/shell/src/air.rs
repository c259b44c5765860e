//! What air does to a triangle of cloth: pressure on its face, lift, friction along it.

use std::sync::Arc;

use dynamics::{Block, ForceElement};
use geometry::{Mat3, Vec3};

use crate::WindField;

/// Density of air at 20 °C and sea level, in kg/m³.
pub const AIR_DENSITY: f64 = 1.204;

/// The force of moving air on a triangle.
///
/// With w = wind − velocity of the triangle, split into w_n along the unit normal n and w_t in the plane, and area A:
///
/// f = ½ρA [ (C_n |w_n| + C_l ‖w_t‖) w_n n + C_t ‖w_t‖ w_t ]
///
/// the pressure of a plate held across the flow, the lift of one held at a small angle to it, and skin friction. Lift is
/// what makes a flag flutter in a steady wind: without it the pressure on a slightly tilted cloth goes with the square of
/// the angle and a flat flag stays flat. One third acts on each point. A sheet that falls flat reaches the speed
/// √(2σg/(ρ C_n)) for σ kilograms per area.
#[derive(Clone, Debug)]
pub struct Air {
    /// ½ρ times the artist's factor, in kg/m³.
    half_density: f64,
    pressure: f64,
    lift: f64,
    friction: f64,
    wind: Arc<WindField>,
}

/// Coefficients of [`Air`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirCoefficients {
    /// C_n, pressure across the flow. A square plate has 1.17 (Hoerner, *Fluid-Dynamic Drag*, ch. 3).
    pub pressure: f64,
    /// C_l, slope of the normal force at small angles, per radian. Short plates have 1.5 to 2.5, stalling near 1.1 at 45°;
    /// 1 keeps the sum of both right there.
    pub lift: f64,
    /// C_t, skin friction of both sides together: 0.01 for a smooth plate at cloth's Reynolds numbers, more for fabric.
    pub friction: f64,
}

impl Default for AirCoefficients {
    fn default() -> Self {
        Self { pressure: 1.17, lift: 1.0, friction: 0.02 }
    }
}

/// Wind relative to a triangle.
struct Flow {
    /// ½ρA, in kg/m.
    scale: f64,
    normal: Vec3,
    across: f64,
    along: Vec3,
}

impl Air {
    /// Air that pushes `drag` times as hard as real air does; 1 is physical.
    pub fn new(drag: f64, coefficients: AirCoefficients, wind: Arc<WindField>) -> Self {
        let AirCoefficients { pressure, lift, friction } = coefficients;
        Self { half_density: 0.5 * AIR_DENSITY * drag, pressure, lift, friction, wind }
    }

    fn flow(&self, time: f64, x: &[Vec3; 3], v: &[Vec3; 3]) -> Flow {
        let doubled_area_normal = (x[1] - x[0]).cross(x[2] - x[0]);
        let doubled_area = doubled_area_normal.length();
        let normal = doubled_area_normal.normalize_or_zero();
        let centre = (x[0] + x[1] + x[2]) / 3.0;
        let relative = self.wind.velocity(time, centre) - (v[0] + v[1] + v[2]) / 3.0;
        let across = relative.dot(normal);
        Flow {
            scale: 0.5 * doubled_area * self.half_density,
            normal,
            across,
            along: relative - across * normal,
        }
    }
}

impl ForceElement<3> for Air {
    fn force(&self, time: f64, x: &[Vec3; 3], v: &[Vec3; 3]) -> [Vec3; 3] {
        let Flow { scale, normal, across, along } = self.flow(time, x, v);
        let slip = along.length();
        let push = (self.pressure * across.abs() + self.lift * slip) * across;
        [scale / 3.0 * (push * normal + self.friction * slip * along); 3]
    }

    /// −df/dv without the coupling of lift to the speed along the cloth, which is not symmetric: exact where the
    /// coefficient of lift is zero, or the air moves along the cloth.
    fn damping(&self, time: f64, x: &[Vec3; 3], v: &[Vec3; 3]) -> Block<3> {
        let Flow { scale, normal, across, along } = self.flow(time, x, v);
        let slip = along.length();
        let tangent = along.normalize_or_zero();
        let push = 2.0 * self.pressure * across.abs() + self.lift * slip;
        let drag = self.friction * slip;
        // on n nᵀ; on the plane I − n nᵀ; once more on the direction of slip
        let matrix =
            outer(normal, push - drag) + Mat3::from_diagonal(Vec3::splat(drag)) + outer(tangent, drag);
        // a third of the force on each point, a third of each point's velocity in the mean
        Block([[matrix * (scale / 9.0); 3]; 3])
    }
}

/// scale · a aᵀ.
fn outer(a: Vec3, scale: f64) -> Mat3 {
    let s = scale * a;
    Mat3::from_cols(s * a.x, s * a.y, s * a.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wind;

    const TRIANGLE: [Vec3; 3] =
        [Vec3::new(0.1, 0.0, 0.3), Vec3::new(1.2, 0.1, 0.2), Vec3::new(0.4, 0.9, 0.5)];
    const VELOCITIES: [Vec3; 3] =
        [Vec3::new(0.5, -1.0, 0.3), Vec3::new(1.0, 2.0, -0.2), Vec3::new(-0.4, 0.1, 1.5)];

    fn gusts() -> Arc<WindField> {
        Arc::new(Wind { speed: 5.0, direction: [1.0, 0.2, 0.4], ..Wind::default() }.field().unwrap())
    }

    /// Largest difference between damping and −df/dv by central differences, relative to the latter.
    fn damping_error(air: &Air, x: &[Vec3; 3], v: &[Vec3; 3]) -> f64 {
        let damping = air.damping(0.7, x, v);
        let h = 1e-5;
        let mut error = 0.0_f64;
        for column in 0..9 {
            let moved = |sign: f64| {
                let mut w = *v;
                w[column / 3][column % 3] += sign * h;
                air.force(0.7, x, &w)
            };
            let (plus, minus) = (moved(1.0), moved(-1.0));
            for row in 0..9 {
                let slope = (plus[row / 3][row % 3] - minus[row / 3][row % 3]) / (2.0 * h);
                error = error.max((damping.entry(row, column) + slope).abs());
            }
        }
        error / damping.max_abs()
    }

    #[test]
    fn damping_is_the_derivative_of_pressure_and_friction() {
        let coefficients = AirCoefficients { lift: 0.0, friction: 0.3, ..Default::default() };
        let air = Air::new(1.0, coefficients, gusts());
        assert!(damping_error(&air, &TRIANGLE, &VELOCITIES) < 1e-7);
        let with_lift = Air::new(1.0, AirCoefficients::default(), gusts());
        assert!(damping_error(&with_lift, &TRIANGLE, &VELOCITIES) > 1e-3, "the test can tell the difference");
    }

    #[test]
    fn damping_is_exact_along_the_cloth_even_with_lift() {
        let air = Air::new(1.0, AirCoefficients::default(), Arc::new(WindField::STILL));
        let along = TRIANGLE[1] - TRIANGLE[0];
        // |w_n| w_n has a curvature jump at w_n = 0: differences err by O(h) there, not O(h²)
        assert!(damping_error(&air, &TRIANGLE, &[along; 3]) < 1e-4);
    }

    #[test]
    fn damping_is_never_negative() {
        for (lift, friction) in [(0.0, 0.0), (1.0, 0.02), (5.0, 3.0)] {
            let air = Air::new(1.0, AirCoefficients { pressure: 1.17, lift, friction }, gusts());
            let block = air.damping(0.3, &TRIANGLE, &VELOCITIES);
            assert!(block.max_abs() > 0.0 && block.min_eigenvalue() > -1e-12 * block.max_abs());
        }
    }

    #[test]
    fn a_flat_sheet_falls_at_its_terminal_velocity() {
        // 3 m ẍ = −mg + force; v(t) = v∞ tanh(gt/v∞) for quadratic drag from rest
        let (density, g) = (0.15, 9.81);
        let air = Air::new(1.0, AirCoefficients::default(), Arc::new(WindField::STILL));
        let x = [Vec3::ZERO, Vec3::new(0.7, 0.0, 0.1), Vec3::new(0.2, 0.0, -0.9)];
        let mass = density * geometry::triangle_area(x[0], x[1], x[2]);
        let terminal = (2.0 * density * g / (AIR_DENSITY * 1.17)).sqrt();
        let (mut v, h) = (0.0, 1e-4);
        let acceleration = |v: f64| air.force(0.0, &x, &[v * Vec3::Y; 3]).iter().sum::<Vec3>().y / mass - g;
        for i in 1..=20_000 {
            let half = v + 0.5 * h * acceleration(v);
            v += h * acceleration(half);
            if i % 1000 == 0 {
                let exact = -terminal * (g * h * f64::from(i) / terminal).tanh();
                assert!((v - exact).abs() < 1e-6 * terminal, "{v} {exact}");
            }
        }
        assert!((v / -terminal - 1.0).abs() < 1e-4, "reached within 2 s");
    }

    #[test]
    fn air_that_moves_with_the_cloth_does_nothing_and_a_crushed_triangle_stays_finite() {
        let steady = Wind { speed: 5.0, gust: 0.0, ..Wind::default() }.field().unwrap();
        let air = Air::new(1.0, AirCoefficients::default(), Arc::new(steady));
        assert_eq!(air.force(0.0, &TRIANGLE, &[5.0 * Vec3::X; 3]), [Vec3::ZERO; 3]);
        assert_eq!(air.damping(0.0, &TRIANGLE, &[5.0 * Vec3::X; 3]), Block::ZERO);
        let crushed = [Vec3::ZERO, Vec3::X, 2.0 * Vec3::X];
        assert_eq!(air.force(0.0, &crushed, &VELOCITIES), [Vec3::ZERO; 3]);
        assert_eq!(air.damping(0.0, &crushed, &VELOCITIES).max_abs(), 0.0);
    }
}
