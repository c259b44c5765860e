//! Bending about the edges of the cloth: discrete shells.

use std::f64::consts::TAU;

use dynamics::{Block, Element, InternalVariables, Viscous};
use geometry::{Vec3, triangle_area};

use crate::fold::{self, Folded, Least};

/// Bending of two triangles about their shared edge.
///
/// E(θ) = k (θ − θ̄)² · 3‖ē‖²/Ā,  θ the signed angle between normals, bars at rest, Ā both triangles; k in J.
///
/// Points are `[e0, e1, a, b]` with triangles (e0, e1, a) and (e1, e0, b), as in [`geometry::Hinge`]. θ > 0 where a and b
/// rise towards the side the normals point to. θ jumps by 2π where the wings pass through each other, and only there.
///
/// k = D/6 with D the plate's bending stiffness in N·m (Et³/(12(1−ν²)) for a solid sheet): on equilateral triangles a
/// cylinder of radius R then has the plate's energy ½D/R² per area in every direction. A sum over single hinges cannot
/// do so on every mesh: with vertices moved by a tenth of a side the energy is right within 5 %, by a quarter within 20 %; on
/// squares cut along one diagonal it is ½D/R² (1 + s + s²), s = sin 2φ with φ between curvature and legs: right when rolled
/// along the legs, three times too stiff along the diagonal. [`Plate`](crate::Plate) is right on those too.
///
/// *tracks* §4.4; Grinspun et al. 2003 eq. 2. Differs: k is given by D. The Hessian is derived below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// θ̄, the angle without stress, in radians.
    pub rest_angle: f64,
    /// k · 3‖ē‖²/Ā, in J.
    stiffness: f64,
    least: Least,
}

impl Hinge {
    /// A hinge at rest in `points` that bends as a plate of stiffness `bending` (D, in N·m) does. `None` where the edge
    /// or a triangle is so thin that its angle means nothing: height below 1e-6 of its longest side.
    pub fn new(points: &[Vec3; 4], bending: f64) -> Option<Self> {
        let least = Least::new(points)?;
        let [e0, e1, a, b] = *points;
        let area = triangle_area(e0, e1, a) + triangle_area(e0, e1, b);
        let stiffness = bending / 6.0 * 3.0 * e0.distance_squared(e1) / area;
        Some(Self { rest_angle: fold::angle(points), stiffness, least })
    }

    /// The same hinge with another rest angle, `factor` times as stiff: what creases and changing rest shapes make of it.
    pub(crate) fn reset(&self, rest_angle: f64, factor: f64) -> Self {
        Self { rest_angle, stiffness: factor * self.stiffness, least: self.least }
    }

    /// θ − θ̄, of two angles a turn apart the nearer one: a creased fold may come to rest beyond half a turn, where θ begins anew.
    pub(crate) fn away(&self, angle: f64) -> f64 {
        let away = angle - self.rest_angle;
        away - TAU * (away / TAU).round()
    }

    /// The signed angle θ between the two normals, in (−π, π].
    pub fn angle(&self, x: &[Vec3; 4]) -> f64 {
        fold::angle(x)
    }
}

impl Element<4> for Hinge {
    fn value(&self, x: &[Vec3; 4]) -> f64 {
        self.stiffness * self.away(self.angle(x)).powi(2)
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let folded = Folded::new(x, &self.least);
        let moment = 2.0 * self.stiffness * self.away(folded.angle());
        folded.angle_gradient().map(|g| moment * g)
    }

    fn hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let folded = Folded::new(x, &self.least);
        let mut block = Block::ZERO;
        block.add_outer(&folded.angle_gradient(), 2.0 * self.stiffness);
        let moment = 2.0 * self.stiffness * self.away(folded.angle());
        folded.add_angle_hessian(&mut block, [0, 1, 2, 3], moment);
        block
    }

    /// The Gauss–Newton part 2k·3‖ē‖²/Ā ∇θ∇θᵀ: what is left out has eigenvalues of both signs that vanish at rest.
    fn projected_hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let mut block = Block::ZERO;
        block.add_outer(&Folded::new(x, &self.least).angle_gradient(), 2.0 * self.stiffness);
        block
    }
}

impl Viscous<4> for Hinge {
    fn with_viscosity(&self, eta: f64, past: &[(f64, [Vec3; 4])]) -> Self {
        // weights add up to one
        let away: f64 = past.iter().map(|(weight, x)| weight * self.away(self.angle(x))).sum();
        let past_angle = self.rest_angle + away;
        Self {
            rest_angle: (self.rest_angle + eta * past_angle) / (1.0 + eta),
            stiffness: (1.0 + eta) * self.stiffness,
            least: self.least,
        }
    }
}

/// The angle of its rest shape, in radians; what creasing has added to it; what creasing has made of the stiffness, a factor.
impl InternalVariables<4> for Hinge {
    const COUNT: usize = 3;

    fn internal(&self, to: &mut [f64]) {
        to.copy_from_slice(&[self.rest_angle, 0.0, 1.0]);
    }

    fn with_internal(&self, internal: &[f64]) -> Self {
        self.reset(internal[0] + internal[1], internal[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rolling::{Mesh, grid, rolled};
    use dynamics::{check_derivatives, check_element};
    use geometry::{Topology, Vec2};
    use std::f64::consts::PI;

    /// Flat, folded up, folded down, thin and slanted, tiny.
    fn shapes() -> [[Vec3; 4]; 5] {
        let flat = [Vec3::ZERO, Vec3::X, Vec3::new(0.4, 0.7, 0.0), Vec3::new(0.6, -0.8, 0.0)];
        [
            flat,
            [flat[0], flat[1], Vec3::new(0.3, 0.4, 0.6), Vec3::new(0.7, -0.5, 0.3)],
            [flat[0], flat[1], Vec3::new(0.3, 0.1, -0.6), Vec3::new(0.7, 0.2, -0.8)],
            [flat[0], flat[1], Vec3::new(1.4, 0.3, 0.1), Vec3::new(-0.5, -0.4, 0.2)],
            flat.map(|p| 1e-3 * p),
        ]
    }

    #[test]
    fn is_an_element() {
        for rest in shapes() {
            check_element(&Hinge::new(&rest, 1e-5).unwrap(), &rest);
        }
    }

    #[test]
    fn angle_is_signed_and_reaches_half_a_turn() {
        let hinge = Hinge::new(&shapes()[0], 1e-5).unwrap();
        for angle in [-3.1, -PI / 2.0, -0.3, 0.0, 0.01, 1.0, 3.0, 3.13] {
            let (s, c) = f64::sin_cos(0.5 * angle);
            // each wing rises by half of the angle towards +z, where the normals of the flat hinge point
            let x =
                [Vec3::ZERO, Vec3::X, Vec3::new(0.4, 0.7 * c, 0.7 * s), Vec3::new(0.6, -0.8 * c, 0.8 * s)];
            assert!((hinge.angle(&x) - angle).abs() < 1e-12, "{angle} {}", hinge.angle(&x));
            check_derivatives(&hinge, &x);
        }
    }

    #[test]
    fn folded_flat_and_crushed_stay_finite() {
        let [e0, e1, a, b] = shapes()[0];
        let hinge = Hinge::new(&[e0, e1, a, b], 1e-5).unwrap();
        for x in [
            [e0, e1, a, a],                           // folded onto itself
            [e0, e1, a, Vec3::new(0.9, 0.3, 0.0)],    // folded, another apex
            [e0, e1, 0.5 * e1, b],                    // an apex on the edge
            [e0, e1, e0, e1],                         // both apexes at the ends
            [e0, e0, a, b],                           // no edge
            [e0; 4],                                  // a point
            [e0, e1, Vec3::new(0.5, 1e-200, 0.0), b], // nearly on the edge
        ] {
            assert!(hinge.value(&x).is_finite());
            assert!(hinge.gradient(&x).iter().all(|g| g.is_finite()));
            assert!(
                hinge.hessian(&x).max_abs().is_finite() && hinge.projected_hessian(&x).max_abs().is_finite()
            );
        }
        assert!((hinge.angle(&[e0, e1, a, a]).abs() - PI).abs() < 1e-12);
    }

    #[test]
    fn energy_does_not_know_the_order_of_the_points() {
        let [rest, _, _, x, _] = shapes();
        let energy = Hinge::new(&rest, 1e-5).unwrap().value(&x);
        // run along the edge the other way; see the cloth from the other side
        for order in [[1, 0, 3, 2], [1, 0, 2, 3], [0, 1, 3, 2]] {
            let permuted = Hinge::new(&order.map(|i| rest[i]), 1e-5).unwrap();
            assert!((permuted.value(&order.map(|i| x[i])) / energy - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_rest_angle_can_be_changed() {
        let [_, _, _, x, _] = shapes();
        let mut hinge = Hinge::new(&shapes()[0], 1e-5).unwrap();
        assert!(hinge.value(&x) > 0.0);
        hinge.rest_angle = hinge.angle(&x);
        assert_eq!(hinge.value(&x), 0.0);
        check_element(&hinge, &x);
    }

    /// Creased to 3 rad and folded on to 3.3, of which 2π − 3.3 with the other sign is seen.
    #[test]
    fn a_fold_that_is_creased_near_half_a_turn_passes_it_without_a_jump() {
        let at = |angle: f64| {
            let (s, c) = f64::sin_cos(0.5 * angle);
            [Vec3::ZERO, Vec3::X, Vec3::new(0.5, c, s), Vec3::new(0.5, -c, s)]
        };
        let mut hinge = Hinge::new(&at(0.0), 1e-5).unwrap();
        hinge.rest_angle = 3.0;
        for angle in [2.7, PI - 1e-3, PI + 1e-3, 3.3] {
            let energy = hinge.stiffness * (angle - 3.0_f64).powi(2);
            assert!((hinge.value(&at(angle)) / energy - 1.0).abs() < 1e-9, "{angle}");
        }
        check_element(&hinge, &at(3.0));
    }

    #[test]
    fn friction_is_a_second_rest_angle() {
        let [rest, a, b, x, _] = shapes();
        let hinge = Hinge::new(&rest, 1e-5).unwrap();
        let viscous = hinge.with_viscosity(0.7, &[(1.5, a), (-0.5, b)]);
        let moved = Hinge { rest_angle: 1.5 * hinge.angle(&a) - 0.5 * hinge.angle(&b), ..hinge };
        // k(θ − θ̄)² + ηk(θ − θ̂)² up to a constant
        let gap = |x: &[Vec3; 4]| hinge.value(x) + 0.7 * moved.value(x) - viscous.value(x);
        assert!((gap(&x) - gap(&a)).abs() < 1e-12 * viscous.value(&b));
        check_derivatives(&viscous, &x);
    }

    #[test]
    fn a_hinge_without_area_is_refused() {
        let [e0, e1, a, b] = shapes()[0];
        for points in [[e0, e0, a, b], [e0, e1, 0.3 * e1, b], [e0, e1, a, e1], [e0, e1, a, Vec3::NAN]] {
            assert_eq!(Hinge::new(&points, 1e-5), None);
        }
    }

    /// Energy of the sheet rolled onto a cylinder of radius R about the direction at `angle`, over the plate's ½ D/R².
    fn energy((points, triangles): &Mesh, radius: f64, angle: f64) -> f64 {
        let roll = rolled(radius, angle);
        let (mut sum, mut area) = (0.0, 0.0);
        for stencil in Topology::new(points.len(), triangles).hinges() {
            let flat = stencil.vertices.map(|v| points[v as usize].extend(0.0));
            sum += Hinge::new(&flat, 1.0).unwrap().value(&stencil.vertices.map(|v| roll(points[v as usize])));
            // each hinge stands for a third of its two triangles: boundary edges have no hinge and no area
            area +=
                (triangle_area(flat[0], flat[1], flat[2]) + triangle_area(flat[0], flat[1], flat[3])) / 3.0;
        }
        sum / (0.5 * area / (radius * radius))
    }

    #[test]
    fn a_cylinder_has_the_energy_of_a_plate_on_well_shaped_meshes() {
        // The plate has ½ D κ² per area in whatever direction it is rolled.
        let sixty = [Vec2::X, Vec2::new(-0.5, 0.75_f64.sqrt())];
        let directions = || (0..12).map(|i| PI * f64::from(i) / 12.0);
        let worst = |mesh: &Mesh| {
            directions().map(|angle| (energy(mesh, 2.0, angle) - 1.0).abs()).fold(0.0, f64::max)
        };
        // Equilateral: exact but for the strip along the boundary, which shrinks with the size of the triangles.
        let errors = [10, 20, 40].map(|n| worst(&grid(n, sixty, 0.0, false)));
        assert!(errors[0] < 0.08 && errors[1] < 0.6 * errors[0] && errors[2] < 0.6 * errors[1], "{errors:?}");
        // Irregular, vertices moved by a tenth of a side: the energy does not converge to the plate's, but is near it.
        assert!(worst(&grid(40, sixty, 0.1, false)) < 0.05);
        // The meaning of k does not depend on scale or curvature either.
        let mesh = grid(40, sixty, 0.1, false);
        assert!((energy(&mesh, 5.0, 0.3) / energy(&mesh, 2.0, 0.3) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn squares_cut_along_one_diagonal_are_three_times_too_stiff_along_it() {
        // The known weakness of hinges, as documented: 1 + s + s² with s = sin 2φ, φ from a leg.
        let mesh = grid(40, [Vec2::X, Vec2::Y], 0.0, false);
        for i in 0..12 {
            let angle = PI * f64::from(i) / 12.0;
            let s = (2.0 * angle).sin();
            assert!((energy(&mesh, 2.0, angle) / (1.0 + s + s * s) - 1.0).abs() < 0.02, "{angle}");
        }
    }
}
