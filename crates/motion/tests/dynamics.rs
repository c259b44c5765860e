//! Motions whose laws are known in closed form.

use std::f64::consts::PI;

use geometry::{Mat3, Quat, Vec3};
use motion::{Body, Data, Inertia, Joint, JointKind};

const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

fn joint(name: &str, parent: Option<usize>, kind: JointKind, offset: Vec3, inertia: Inertia) -> Joint {
    Joint { name: name.into(), parent, kind, offset, rest: Quat::IDENTITY, inertia }
}

/// A rod of 1.3 kg that hangs 0.8 m down.
fn rod() -> Inertia {
    let about = 1.3 * 0.8 * 0.8 / 12.0;
    Inertia::new(1.3, Vec3::new(0.0, -0.4, 0.0), Mat3::from_diagonal(Vec3::new(about, 0.01, about)))
}

/// The first degrees of freedom of balls.
fn balls(body: &Body) -> Vec<usize> {
    let (mut first, mut balls) = (0, Vec::new());
    for joint in body.joints() {
        let (skip, count) = match joint.kind {
            JointKind::Welded => (0, 0),
            JointKind::Hinge(_) => (0, 1),
            JointKind::Ball => (0, 3),
            JointKind::Free => (3, 6),
        };
        if count >= 3 {
            balls.push(first + skip);
        }
        first += count;
    }
    balls
}

/// Rates of coordinates and velocities.
type Slope = (Vec<f64>, Vec<f64>);

/// One step of the classical method of fourth order, in the rotation vectors φ that lead away from where the step begins
/// (Munthe-Kaas 1998): φ̇ = ω + ½ φ × ω + ¹⁄₁₂ φ × (φ × ω), to the order needed.
fn step(body: &Body, data: &mut Data, q: &mut [f64], v: &mut [f64], u: &[f64], gravity: Vec3, h: f64) {
    let n = body.dof_count();
    let mut slopes: Vec<Slope> = Vec::new();
    for share in [0.0, 0.5, 0.5, 1.0] {
        let (dq, dv) = slopes.last().cloned().unwrap_or((vec![0.0; n], vec![0.0; n]));
        let mut here = q.to_vec();
        body.integrate(q, &dq.iter().map(|x| h * share * x).collect::<Vec<_>>(), &mut here);
        let speed: Vec<f64> = v.iter().zip(&dv).map(|(v, a)| v + h * share * a).collect();
        let mut a = vec![0.0; n];
        data.forward_dynamics(body, &here, &speed, u, gravity, &mut a);
        let mut rate = speed;
        for first in balls(body) {
            let phi = Vec3::from_slice(&dq[first..]) * (h * share);
            let omega = Vec3::from_slice(&rate[first..]);
            let turned = omega + phi.cross(omega) * 0.5 + phi.cross(phi.cross(omega)) / 12.0;
            turned.write_to_slice(&mut rate[first..first + 3]);
        }
        slopes.push((rate, a));
    }
    let mean = |pick: &dyn Fn(&Slope) -> f64| {
        (pick(&slopes[0]) + 2.0 * pick(&slopes[1]) + 2.0 * pick(&slopes[2]) + pick(&slopes[3])) / 6.0
    };
    let dq: Vec<f64> = (0..n).map(|k| h * mean(&|slope| slope.0[k])).collect();
    let dv: Vec<f64> = (0..n).map(|k| h * mean(&|slope| slope.1[k])).collect();
    let from = q.to_vec();
    body.integrate(&from, &dq, q);
    v.iter_mut().zip(&dv).for_each(|(v, d)| *v += d);
}

/// T = 4 √(I/mgl) K(sin θ₀/2), and K by the arithmetic-geometric mean: K = π / 2 agm(1, cos θ₀/2).
#[test]
fn a_pendulum_swings_with_the_period_of_its_amplitude() {
    let body = Body::new(vec![joint("rod", None, JointKind::Hinge(Vec3::Z), Vec3::ZERO, rod())]).unwrap();
    let mut data = Data::new(&body);
    for amplitude in [0.05, 1.0, 2.8_f64] {
        let (mut a, mut b) = (1.0, (0.5 * amplitude).cos());
        for _ in 0..10 {
            (a, b) = (0.5 * (a + b), f64::sqrt(a * b));
        }
        let natural = (1.3_f64 * 0.8 * 0.8 / 3.0 / (1.3 * 9.81 * 0.4)).sqrt();
        let quarter = natural * PI / (2.0 * a);
        let (mut q, mut v) = (vec![amplitude], vec![0.0]);
        let h = quarter / 2000.0;
        for _ in 0..2000 {
            step(&body, &mut data, &mut q, &mut v, &[0.0], GRAVITY, h);
        }
        // at the bottom after a quarter; the speed there by energy
        assert!(q[0].abs() < 1e-8, "{amplitude}: {}", q[0]);
        let speed = (2.0 * (1.0 - amplitude.cos())).sqrt() / natural;
        assert!((v[0].abs() - speed).abs() < 1e-8);
    }
}

#[test]
fn a_chain_of_balls_and_hinges_keeps_its_energy() {
    let offset = Vec3::new(0.0, -0.8, 0.0);
    let body = Body::new(vec![
        joint("upper", None, JointKind::Ball, Vec3::ZERO, rod()),
        joint("middle", Some(0), JointKind::Hinge(Vec3::new(1.0, 0.3, 0.0)), offset, rod()),
        joint("lower", Some(1), JointKind::Ball, offset, rod()),
    ])
    .unwrap();
    let mut data = Data::new(&body);
    let n = body.dof_count();
    let mut q = body.neutral();
    body.integrate(&body.neutral(), &[0.9, 0.2, 0.4, -0.5, 0.3, 0.0, 0.7], &mut q);
    let v = vec![1.0, -0.5, 0.2, 2.0, 0.3, -1.0, 0.4];
    let energy = |data: &mut Data, q: &[f64], v: &[f64]| {
        data.inverse_dynamics(&body, q, v, &vec![0.0; n], GRAVITY, &mut vec![0.0; n]);
        let (center, _) = data.momentum();
        data.kinetic_energy() - body.mass() * GRAVITY.dot(center)
    };
    let before = energy(&mut data, &q, &v);
    let drift = |h: f64, steps: usize, data: &mut Data| {
        let (mut q, mut v) = (q.clone(), v.clone());
        for _ in 0..steps {
            step(&body, data, &mut q, &mut v, &vec![0.0; n], GRAVITY, h);
        }
        (energy(data, &q, &v) - before).abs() / before.abs()
    };
    let (coarse, fine) = (drift(2e-3, 500, &mut data), drift(1e-3, 1000, &mut data));
    assert!(fine < 1e-7 && fine < 0.1 * coarse, "{coarse:e} {fine:e}");
}

/// A symmetric top without torque: ω turns about its axis, in its own frame, at (I₁ − I₃)/I₁ ω₃; the momentum stays in space.
#[test]
fn a_free_top_precesses() {
    let (i1, i3) = (0.3, 0.5);
    let inertia = Inertia::new(2.0, Vec3::ZERO, Mat3::from_diagonal(Vec3::new(i1, i1, i3)));
    let body = Body::new(vec![joint("top", None, JointKind::Free, Vec3::ZERO, inertia)]).unwrap();
    let mut data = Data::new(&body);
    let mut q = body.neutral();
    let (mut v, h) = (vec![0.4, 0.0, -0.2, 1.5, 0.0, 4.0], 1e-3);
    let mut momentum = Vec::new();
    for _ in 0..1000 {
        data.inverse_dynamics(&body, &q, &v, &[0.0; 6], Vec3::ZERO, &mut [0.0; 6]);
        momentum.push(data.momentum().1.angular);
        step(&body, &mut data, &mut q, &mut v, &[0.0; 6], Vec3::ZERO, h);
    }
    let angle = (i3 - i1) / i1 * 4.0 * 1.0_f64;
    let expected = Vec3::new(1.5 * angle.cos(), 1.5 * angle.sin(), 4.0);
    assert!((Vec3::from_slice(&v[3..]) - expected).length() < 1e-9, "{:?} {expected:?}", &v[3..]);
    assert!((q[0] - 0.4).abs() < 1e-12 && (q[2] + 0.2).abs() < 1e-12, "it flies straight on");
    let drift = momentum.iter().map(|l| (*l - momentum[0]).length()).fold(0.0, f64::max);
    assert!(drift < 1e-5 * momentum[0].length(), "{drift:e}");
}

/// In flight, whatever torques act inside: the centre of mass falls as a stone does, the angular momentum stays.
#[test]
fn a_figure_in_flight_falls_as_a_stone_and_keeps_its_momentum() {
    let part = |m: f64| {
        Inertia::new(m, Vec3::new(0.02, -0.1, 0.01), Mat3::from_diagonal(Vec3::new(0.03, 0.02, 0.04)))
    };
    let body = Body::new(vec![
        joint("hips", None, JointKind::Free, Vec3::ZERO, part(12.0)),
        joint("chest", Some(0), JointKind::Ball, Vec3::new(0.0, 0.3, 0.0), part(20.0)),
        joint("arm", Some(1), JointKind::Ball, Vec3::new(0.2, 0.2, 0.0), part(4.0)),
        joint("elbow", Some(2), JointKind::Hinge(Vec3::X), Vec3::new(0.0, -0.3, 0.0), part(2.0)),
        joint("leg", Some(0), JointKind::Ball, Vec3::new(-0.1, 0.0, 0.0), part(9.0)),
        joint("knee", Some(4), JointKind::Hinge(Vec3::X), Vec3::new(0.0, -0.4, 0.0), part(4.0)),
    ])
    .unwrap();
    let (n, mut data) = (body.dof_count(), Data::new(&body));
    let q = body.neutral();
    let v: Vec<f64> = (0..n).map(|k| (1.3 * k as f64).sin()).collect();
    let mut u: Vec<f64> = (0..n).map(|k| 3.0 * (2.1 * k as f64).cos()).collect();
    u[..6].fill(0.0);
    let state = |data: &mut Data, q: &[f64], v: &[f64]| {
        data.inverse_dynamics(&body, q, v, &vec![0.0; n], GRAVITY, &mut vec![0.0; n]);
        data.momentum()
    };
    let (center, momentum) = state(&mut data, &q, &v);
    let error = |h: f64, steps: usize, data: &mut Data| {
        let (mut q, mut v) = (q.clone(), v.clone());
        for _ in 0..steps {
            step(&body, data, &mut q, &mut v, &u, GRAVITY, h);
        }
        let (t, (after, momentum_after)) = (h * steps as f64, state(data, &q, &v));
        let parabola = center + momentum.linear * (t / body.mass()) + GRAVITY * (0.5 * t * t);
        let turned = (momentum_after.angular - momentum.angular).length() / momentum.angular.length();
        ((after - parabola).length(), turned)
    };
    let (coarse, fine) = (error(4e-3, 100, &mut data), error(2e-3, 200, &mut data));
    assert!(fine.0 < 1e-6 && fine.1 < 1e-5, "{fine:?}");
    assert!(fine.0 < 0.1 * coarse.0 && fine.1 < 0.1 * coarse.1, "{coarse:?} {fine:?}");
}
