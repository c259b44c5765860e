//! Measured orders of accuracy: a smooth acoustic pulse and a carried vortex, in space and in time.

use fluid::{
    Domain, Drive, Field, Fluid, Initial, InitialPressure, Settings, Side, SoundSpeed, State, Stepper,
};
use std::f64::consts::PI;

/// Exner pressure is u²/(c_p θ): its scale at one metre per second and 300 K.
const EXNER: f64 = 1.0 / (1004.0 * 300.0);

fn settings(sound_speed: f64) -> Settings {
    Settings { gravity: 0.0, sound_speed: SoundSpeed::Fixed(sound_speed), ..Settings::default() }
}

fn run(fluid: &Fluid, state: &mut State, seconds: f64, steps: usize) {
    let mut stepper = Stepper::new(fluid);
    let dt = seconds / steps as f64;
    for _ in 0..steps {
        stepper.step(fluid, state, &Drive::default(), dt).unwrap();
    }
}

/// Root mean square of the difference.
fn distance(a: &Field, b: &Field) -> f64 {
    let square: f64 = a.values.iter().zip(&b.values).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (square / a.values.len() as f64).sqrt()
}

fn order(errors: &[f64]) -> Vec<f64> {
    errors.windows(2).map(|e| (e[0] / e[1]).log2()).collect()
}

/// A smooth pulse that travels with the sound along the diagonal of a periodic square: u = ε c f n, π = ε c² f /(c_p θ) with
/// f = exp(cos φ), φ = 2π(x + y) − ωt, is exact up to ε². After one period it is back.
fn pulse(n: usize, steps: usize) -> (Fluid, State, State) {
    let domain = Domain::plane([n, n], [1.0, 1.0], [Side::Periodic; 2]).unwrap();
    let f = |p: [f64; 3]| 1e-5 * (2.0 * PI * (p[0] + p[1])).cos().exp();
    let along = 0.5_f64.sqrt();
    let velocity = domain.field(|p| f(p) * along);
    let velocity = [Some(velocity.clone()), Some(velocity), None];
    let pressure = InitialPressure::Exner(domain.field(|p| f(p) * EXNER));
    let initial = Initial { velocity, pressure, ..Initial::default() };
    let (fluid, mut state) = Fluid::new(domain, settings(1.0), &initial).unwrap();
    let first = state.clone();
    run(&fluid, &mut state, along, steps);
    (fluid, first, state)
}

#[test]
fn an_acoustic_pulse_converges_at_fourth_order_in_space() {
    let errors = [16, 32, 64].map(|n| {
        let (fluid, first, last) = pulse(n, 2 * n);
        distance(&first.pressure(&fluid), &last.pressure(&fluid)) / f64::from(first.pressure(&fluid).peak())
    });
    assert!(order(&errors)[1] >= 3.8, "{errors:?}");
    assert!(errors[2] < 1e-3);
}

#[test]
fn an_acoustic_pulse_converges_at_fourth_order_in_time() {
    // the same grid, ever smaller steps; the truth is the smallest
    let (fluid, _, truth) = pulse(24, 320);
    let truth = truth.pressure(&fluid);
    let errors = [20, 40, 80]
        .map(|steps| distance(&pulse(24, steps).2.pressure(&fluid), &truth) / f64::from(truth.peak()));
    assert!(order(&errors)[1] >= 3.8, "{errors:?}");
}

/// A vortex in balance, carried by the wind once around a periodic square: u_φ = V s e^{(1 − s²)/2}, s = r/R,
/// c_p θ π = −½V² e^{1 − s²} solves the equations exactly, since the flow is free of divergence and runs along the isobars.
fn vortex(n: usize, sound: f64, steps: usize) -> (Fluid, State, State) {
    let domain = Domain::plane([n, n], [1.0, 1.0], [Side::Periodic; 2]).unwrap();
    let (wind, swirl, radius) = (1.0, 0.5, 0.085);
    let s = |p: [f64; 3]| [(p[0] - 0.5) / radius, (p[1] - 0.5) / radius];
    let bell = |s: [f64; 2]| (0.5 * (1.0 - s[0] * s[0] - s[1] * s[1])).exp();
    let u = domain.field(|p| wind - swirl * s(p)[1] * bell(s(p)));
    let v = domain.field(|p| swirl * s(p)[0] * bell(s(p)));
    let pressure = InitialPressure::Exner(domain.field(|p| -0.5 * (swirl * bell(s(p))).powi(2) * EXNER));
    let initial = Initial { velocity: [Some(u), Some(v), None], pressure, ..Initial::default() };
    let (fluid, mut state) = Fluid::new(domain, settings(sound), &initial).unwrap();
    let first = state.clone();
    run(&fluid, &mut state, 1.0, steps);
    (fluid, first, state)
}

#[test]
fn a_carried_vortex_converges_at_fourth_order_in_space_and_time() {
    let errors = [36, 72, 144].map(|n| {
        let (fluid, first, last) = vortex(n, 4.0, 6 * n);
        distance(&first.velocity(&fluid, 1), &last.velocity(&fluid, 1)) / 0.5
    });
    assert!(order(&errors)[1] >= 3.8, "{errors:?}");
    // slow sound lets steps be long enough for their error to be seen
    let (fluid, _, truth) = vortex(32, 2.0, 768);
    let truth = truth.velocity(&fluid, 1);
    let errors = [96, 192].map(|steps| distance(&vortex(32, 2.0, steps).2.velocity(&fluid, 1), &truth));
    assert!(order(&errors)[0] >= 3.8, "{errors:?}");
}

#[test]
fn sound_between_walls_converges_at_fourth_order() {
    // a standing wave along the diagonal of a box: π = cos 3πx cos 3πy cos ωt, back after three periods, √2/c
    let errors = [25, 49, 97].map(|n| {
        let domain = Domain::plane([n, n], [1.0, 1.0], [Side::Wall; 2]).unwrap();
        let wave = |p: [f64; 3]| 1e-5 * EXNER * (3.0 * PI * p[0]).cos() * (3.0 * PI * p[1]).cos();
        let initial = Initial { pressure: InitialPressure::Exner(domain.field(wave)), ..Initial::default() };
        let (fluid, mut state) = Fluid::new(domain, settings(1.0), &initial).unwrap();
        let first = state.pressure(&fluid);
        run(&fluid, &mut state, 2.0_f64.sqrt(), 3 * n);
        distance(&first, &state.pressure(&fluid)) / f64::from(first.peak())
    });
    assert!(order(&errors)[1] >= 3.8, "{errors:?}");
}

#[test]
fn three_dimensions_agree_with_two() {
    // a pulse along x only, the same in a plane and in a box
    let f = |p: [f64; 3]| 1e-3 * (2.0 * PI * p[0]).cos().exp();
    let plane = Domain::plane([32, 8], [1.0, 1.0], [Side::Periodic; 2]).unwrap();
    let volume = Domain::volume([32, 8, 8], [1.0; 3], [Side::Periodic; 3]).unwrap();
    let run_in = |domain: Domain| {
        let initial = Initial { velocity: [Some(domain.field(f)), None, None], ..Initial::default() };
        let (fluid, mut state) = Fluid::new(domain, settings(1.0), &initial).unwrap();
        run(&fluid, &mut state, 0.3, 40);
        state.velocity(&fluid, 0)
    };
    let (flat, deep) = (run_in(plane), run_in(volume));
    for z in 0..8 {
        for x in 0..32 {
            assert!((flat.at(x, 3, 0) - deep.at(x, 5, z)).abs() < 1e-9);
        }
    }
}
