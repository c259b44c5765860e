//! Coefficients in the place of points: derivatives, and motion that agrees with that of the points themselves.

use std::sync::Arc;

use dynamics::{
    Basis, Body, Elements, Energy, GuideSample, Integrator, Mass, Reduced, Settings, Spring, State,
    StaticGuide, Stepper, Substeps, random_rotation,
};
use geometry::{Mat3, Prolongation, Vec3};
use linear::{Matrix, Pattern};

const STILL: GuideSample<'static> = GuideSample { time: 0.0, guide_positions: &[], guide_velocities: &[] };

/// Springs between six points that hang on three coefficients by matrices.
fn springs() -> (Basis<Mat3>, Vec<([u32; 2], Spring)>) {
    let at = |p: u32| Vec3::new(f64::from(p), f64::from(p * p % 5), f64::from(p * 3 % 4));
    let row = |p: u32| {
        let turn = |s: u32| random_rotation(u64::from(7 * p + s)) * 0.6;
        (at(p), vec![(p % 3, turn(0)), ((p + 1) % 3, turn(1))])
    };
    let pairs = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [0, 3]];
    let spring =
        |[i, j]: [u32; 2]| ([i, j], Spring { stiffness: 3.0, rest_length: 0.3 * at(i).distance(at(j)) });
    (Basis::new(3, (0..6).map(row)), pairs.map(spring).to_vec())
}

#[test]
fn derivatives_through_matrices_are_those_of_the_weighted_sum() {
    let (basis, pairs) = springs();
    let chosen = vec![(0, 2.0), (3, 1.0), (5, 0.5), (6, 1.5)];
    let mut energy = Reduced::with_cubature(&basis, Elements::new(pairs), chosen);
    let pattern = Arc::new(Pattern::from_stencils(3, [[0_u32, 1, 2].as_slice()]));
    energy.bind(&pattern);
    let c = [Vec3::new(0.1, 0.2, -0.3), Vec3::new(-0.2, 0.1, 0.1), Vec3::new(0.05, -0.1, 0.2)];
    let mut gradient = [Vec3::ZERO; 3];
    energy.add_gradient(&STILL, &c, &mut gradient);
    let mut matrix = Matrix::new(pattern);
    energy.add_hessian(&STILL, &c, &c, &mut matrix);
    let h = 1e-5;
    for k in 0..9 {
        let moved = |sign: f64| {
            let mut c = c;
            c[k / 3][k % 3] += sign * h;
            c
        };
        let (up, down) = (moved(1.0), moved(-1.0));
        let slope = (energy.value(&STILL, &up) - energy.value(&STILL, &down)) / (2.0 * h);
        assert!((slope - gradient[k / 3][k % 3]).abs() < 1e-7, "{slope} {gradient:?}");
        let mut direction = [Vec3::ZERO; 3];
        direction[k / 3][k % 3] = 1.0;
        let mut product = [Vec3::ZERO; 3];
        matrix.multiply(&direction, &mut product);
        let (mut above, mut below) = ([Vec3::ZERO; 3], [Vec3::ZERO; 3]);
        energy.add_gradient(&STILL, &up, &mut above);
        energy.add_gradient(&STILL, &down, &mut below);
        // springs under tension: nothing was projected away
        for i in 0..3 {
            let curvature = (above[i] - below[i]) / (2.0 * h);
            assert!(curvature.distance(product[i]) < 1e-6, "{curvature} {}", product[i]);
        }
    }
}

/// A chain of five masses whose inner points are means of the ends of their neighbours: seen through the identity in other
/// coefficients (ends, and offsets from the middle) it moves as it does by itself.
#[test]
fn a_body_in_other_coefficients_moves_alike() {
    let rest: Vec<Vec3> = (0..5).map(|k| Vec3::new(f64::from(k), 0.0, 0.0)).collect();
    let pairs: Vec<([u32; 2], Spring)> =
        (0..4).map(|k| ([k, k + 1], Spring { stiffness: 40.0, rest_length: 0.8 })).collect();
    let masses = vec![0.5, 1.0, 2.0, 1.0, 0.5];
    // hierarchical: point 2 = mean of 0 and 4 plus its own, point 1 = mean of 0 and 2 plus its own, …
    let rows = [
        vec![(0, 1.0)],
        vec![(0, 0.75), (4, 0.25), (2, 0.5), (1, 1.0)],
        vec![(0, 0.5), (4, 0.5), (2, 1.0)],
        vec![(0, 0.25), (4, 0.75), (2, 0.5), (3, 1.0)],
        vec![(4, 1.0)],
    ];
    let basis: Basis = (&Prolongation::new(5, rows.clone())).into();
    let entries = rows.iter().zip(&masses).flat_map(|(row, &m)| {
        let pair = move |&(a, va): &(u32, f64)| {
            row.iter().filter(move |(b, _)| *b <= a).map(move |&(b, vb)| (a, b, m * va * vb))
        };
        row.iter().flat_map(pair)
    });
    let mut weights = vec![0.0; 5];
    for (row, m) in rows.iter().zip(&masses) {
        row.iter().for_each(|&(k, value)| weights[k as usize] += m * value);
    }
    let mass = Mass::full(weights, entries.collect::<Vec<_>>());
    let known = vec![true, false, false, false, false];
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let plain = Body::builder(masses)
        .energy(Elements::new(pairs.clone()).damped(0.01))
        .known(known.clone())
        .gravity(gravity)
        .mass_damping(0.3)
        .build()
        .unwrap();
    let reduced = Body::builder(mass)
        .energy(Reduced::new(&basis, Elements::new(pairs).damped(0.01)))
        .known(known)
        .gravity(gravity)
        .mass_damping(0.3)
        .build()
        .unwrap();
    let coefficients = vec![rest[0], Vec3::ZERO, Vec3::ZERO, Vec3::ZERO, rest[4]];
    for integrator in [Integrator::BackwardEuler, Integrator::TrBdf2] {
        let settings =
            Settings { integrator, substeps: Substeps::Fixed(20), tolerance: 1e-9, ..Settings::default() };
        let mut by_points = State::at_rest(rest.clone());
        let mut by_coefficients = State::at_rest(coefficients.clone());
        let mut stepper = Stepper::new(&plain, &rest, settings.clone()).unwrap();
        let mut other = Stepper::new(&reduced, &rest, settings).unwrap();
        for _ in 0..5 {
            stepper.advance(&plain, &mut by_points, &StaticGuide::new(rest.clone()), 0.1, &mut []).unwrap();
            other
                .advance(
                    &reduced,
                    &mut by_coefficients,
                    &StaticGuide::new(coefficients.clone()),
                    0.1,
                    &mut [],
                )
                .unwrap();
        }
        let mut points = vec![Vec3::ZERO; 5];
        basis.positions(&by_coefficients.positions, &mut points);
        let far = points.iter().zip(&by_points.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(far < 1e-6, "{integrator:?}: {far}");
        assert!(by_points.positions[4].y < -0.5);
        let kinetic = [
            plain.kinetic_energy(&by_points.velocities),
            reduced.kinetic_energy(&by_coefficients.velocities),
        ];
        assert!((kinetic[0] / kinetic[1] - 1.0).abs() < 1e-5, "{kinetic:?}");
    }
}
