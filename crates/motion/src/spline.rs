//! Uniform cubic B-splines over a body's coordinates: places and hinges as vectors, balls on the rotation group.
//!
//! q(t) = Σ b_k(u) c_k for vectors. For rotations the same curve in its cumulative form,
//! R(t) = R₀ exp(λ₁ d₁) exp(λ₂ d₂) exp(λ₃ d₃), d_k = log(R_{k−1}ᵀ R_k), λ_k = Σ_{l ≥ k} b_l: no angles, no gimbal,
//! any number of turns. Kim, Kim and Shin 1995; derivatives by control points: Sommer, Usenko, Schubert, Demmel, Cremers
//! 2020. Differs: perturbations on the right, as [`Body::integrate`] has them.
//!
//! Knots stand at the frames: frame i lies where control points i, i+1, i+2 meet (u = 0), and there
//! q = (c₀ + 4c₁ + c₂)/6, q̇ = (c₂ − c₀)/2h, q̈ = (c₂ − 2c₁ + c₀)/h².

use geometry::{Mat3, Quat, Vec3};

use crate::body::{Body, LinkKind};
use crate::error::Error;
use crate::rotation::{log, right_jacobian, right_jacobian_inverse};
use crate::spatial::skew;

/// A motion: control points, each a full set of coordinates, and the time between knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    /// One more before the first frame and one after the last.
    pub controls: Vec<Vec<f64>>,
    /// Seconds from knot to knot.
    pub step: f64,
}

/// A motion at one time: coordinates, velocities, accelerations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// Coordinates.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Accelerations.
    pub a: Vec<f64>,
}

impl Moment {
    /// Zeros for a body.
    pub fn new(body: &Body) -> Self {
        let n = body.dof_count();
        Self { q: body.neutral(), v: vec![0.0; n], a: vec![0.0; n] }
    }
}

/// How a moment at a frame depends on its three control points: for every link, three 3×3 matrices each for position, velocity and
/// acceleration. A hinge uses the first entry of its matrices.
#[derive(Clone, Debug, Default)]
pub struct Slope {
    /// `[link][what][control]`, what being 0 for position, 1 for velocity, 2 for acceleration.
    pub(crate) blocks: Vec<[[Mat3; 3]; 3]>,
}

/// λ, λ̇, λ̈ of the second and third control point's differences where u = 0, for h = 1.
const FRAME: [[f64; 2]; 3] = [[5.0 / 6.0, 1.0 / 6.0], [0.5, 0.5], [-1.0, 1.0]];

impl Spline {
    /// The curve through given frames, with no acceleration at its ends.
    pub fn through(body: &Body, frames: &[Vec<f64>], step: f64) -> Result<Self, Error> {
        if frames.len() < 3 {
            return Err(Error::TooShort { frames: frames.len(), needed: 3 });
        }
        if let Some(frame) = frames.iter().position(|q| q.iter().any(|x| !x.is_finite())) {
            return Err(Error::NotFinite { what: "coordinates", frame });
        }
        let mut controls = Vec::with_capacity(frames.len() + 2);
        controls.push(frames[0].clone());
        controls.extend_from_slice(frames);
        controls.push(frames[frames.len() - 1].clone());
        let mut spline = Self { controls, step };
        // Newton: what a frame lacks goes to its control point through the inverse of (1 4 1)/6; exact at once for vectors, and
        // quadratic for rotations
        let (mut moment, mut lacking) = (Moment::new(body), vec![vec![0.0; body.dof_count()]; frames.len()]);
        for _ in 0..8 {
            spline.extend(body);
            let mut most: f64 = 0.0;
            for (i, frame) in frames.iter().enumerate() {
                spline.frame(body, i, &mut moment);
                body.difference(&moment.q, frame, &mut lacking[i]);
                most = lacking[i].iter().fold(most, |most, x| most.max(x.abs()));
            }
            if most < 1e-13 {
                break;
            }
            interpolate(&mut lacking);
            for (control, step) in spline.controls[1..].iter_mut().zip(&lacking) {
                let from = control.clone();
                body.integrate(&from, step, control);
            }
        }
        spline.extend(body);
        Ok(spline)
    }

    /// Puts the outermost control points where the ends have no acceleration.
    fn extend(&mut self, body: &Body) {
        let last = self.controls.len() - 1;
        for (end, near, far) in [(0, 1, 2), (last, last - 1, last - 2)] {
            let mut step = vec![0.0; body.dof_count()];
            body.difference(&self.controls[far], &self.controls[near], &mut step);
            let from = self.controls[near].clone();
            body.integrate(&from, &step, &mut self.controls[end]);
        }
    }

    /// Averages control points with their neighbours, (1 2 1)/4, so many times; the ends stay. The window's deviation is √(passes/2)
    /// knots.
    pub fn smooth(&mut self, body: &Body, passes: usize) {
        let n = body.dof_count();
        let [mut before, mut after] = [vec![0.0; n], vec![0.0; n]];
        for _ in 0..passes {
            let old = self.controls.clone();
            for i in 1..old.len() - 1 {
                body.difference(&old[i], &old[i - 1], &mut before);
                body.difference(&old[i], &old[i + 1], &mut after);
                let step: Vec<f64> = before.iter().zip(&after).map(|(a, b)| 0.25 * (a + b)).collect();
                body.integrate(&old[i], &step, &mut self.controls[i]);
            }
        }
    }

    /// Frames that it passes through.
    pub fn frame_count(&self) -> usize {
        self.controls.len() - 2
    }

    /// The motion at a frame.
    pub fn frame(&self, body: &Body, index: usize, moment: &mut Moment) {
        let controls = [0, 1, 2].map(|k| self.controls[index + k].as_slice());
        at_frame(body, controls, self.step, moment);
    }

    /// The motion at a frame, and how it depends on the control points of that frame.
    pub fn frame_slope(&self, body: &Body, index: usize, moment: &mut Moment, slope: &mut Slope) {
        let controls = [0, 1, 2].map(|k| self.controls[index + k].as_slice());
        at_frame(body, controls, self.step, moment);
        slope_at_frame(body, controls, self.step, slope);
    }

    /// The motion at any time between the first frame and the last, in seconds from the first.
    pub fn at(&self, body: &Body, time: f64, moment: &mut Moment) {
        let t = (time / self.step).clamp(0.0, (self.frame_count() - 1) as f64);
        let index = (t.floor() as usize).min(self.frame_count() - 2);
        let (u, h) = (t - index as f64, self.step);
        let c = [0, 1, 2, 3].map(|k| self.controls[index + k].as_slice());
        let (u2, u3) = (u * u, u * u * u);
        let lambda = [
            [(5.0 + 3.0 * u - 3.0 * u2 + u3) / 6.0, (1.0 + 3.0 * u + 3.0 * u2 - 2.0 * u3) / 6.0, u3 / 6.0],
            [(0.5 - u + 0.5 * u2) / h, (0.5 + u - u2) / h, 0.5 * u2 / h],
            [(u - 1.0) / (h * h), (1.0 - 2.0 * u) / (h * h), u / (h * h)],
        ];
        for link in &body.links {
            let (k, d) = (link.first_coordinate, link.first_dof);
            if link.kind == LinkKind::Ball {
                let rotations = c.map(|c| Quat::from_slice(&c[k..]));
                turn(&rotations, &lambda, &mut moment.q[k..], &mut moment.v[d..], &mut moment.a[d..]);
                continue;
            }
            for i in 0..link.kind.dofs() {
                let along = |lambda: &[f64; 3]| -> f64 {
                    (0..3).map(|l| lambda[l] * (c[l + 1][k + i] - c[l][k + i])).sum()
                };
                moment.q[k + i] = c[0][k + i] + along(&lambda[0]);
                moment.v[d + i] = along(&lambda[1]);
                moment.a[d + i] = along(&lambda[2]);
            }
        }
    }
}

/// Orientation, and velocity and acceleration in its own frame, of the curve between some rotations.
fn turn<const N: usize, const M: usize>(
    r: &[Quat; N],
    lambda: &[[f64; M]; 3],
    q: &mut [f64],
    v: &mut [f64],
    a: &mut [f64],
) {
    let (mut rotation, mut omega, mut alpha) = (r[0], Vec3::ZERO, Vec3::ZERO);
    for k in 0..M {
        let d = log(r[k].conjugate() * r[k + 1]);
        let step = Quat::from_scaled_axis(d * lambda[0][k]);
        let back = step.conjugate();
        omega = back * omega + d * lambda[1][k];
        alpha = back * alpha + omega.cross(d) * lambda[1][k] + d * lambda[2][k];
        rotation *= step;
    }
    q[..4].copy_from_slice(&rotation.normalize().to_array());
    omega.write_to_slice(&mut v[..3]);
    alpha.write_to_slice(&mut a[..3]);
}

fn at_frame(body: &Body, c: [&[f64]; 3], h: f64, moment: &mut Moment) {
    let lambda = [FRAME[0], FRAME[1].map(|x| x / h), FRAME[2].map(|x| x / (h * h))];
    for link in &body.links {
        let (k, d) = (link.first_coordinate, link.first_dof);
        if link.kind == LinkKind::Ball {
            let rotations = c.map(|c| Quat::from_slice(&c[k..]));
            turn(&rotations, &lambda, &mut moment.q[k..], &mut moment.v[d..], &mut moment.a[d..]);
            continue;
        }
        for i in 0..link.kind.dofs() {
            let [x, y, z] = c.map(|c| c[k + i]);
            moment.q[k + i] = (x + 4.0 * y + z) / 6.0;
            moment.v[d + i] = (z - x) / (2.0 * h);
            moment.a[d + i] = (x - 2.0 * y + z) / (h * h);
        }
    }
}

fn slope_at_frame(body: &Body, c: [&[f64]; 3], h: f64, slope: &mut Slope) {
    let weights = [
        [1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0],
        [-0.5 / h, 0.0, 0.5 / h],
        [1.0 / (h * h), -2.0 / (h * h), 1.0 / (h * h)],
    ];
    let vector = weights.map(|weights| weights.map(|w| Mat3::from_diagonal(Vec3::splat(w))));
    slope.blocks.resize(body.links.len(), [[Mat3::ZERO; 3]; 3]);
    for (link, blocks) in body.links.iter().zip(&mut slope.blocks) {
        let k = link.first_coordinate;
        *blocks = match link.kind {
            LinkKind::Ball => turn_slope(c.map(|c| Quat::from_slice(&c[k..])), h),
            _ => vector,
        };
    }
}

/// Derivatives of [`turn`] at a frame by right perturbations of the three control rotations.
///
/// With A_k = exp(λ_k d_k), a change of d_k turns A_k by λ_k Jr(λ_k d_k) δd_k on its right and adds to ω and ω̇ what the
/// recursion says; all later factors only turn it. δd_k = Jr⁻¹(d_k) ξ_k − Jr⁻¹(−d_k) ξ_{k−1}.
fn turn_slope(r: [Quat; 3], h: f64) -> [[Mat3; 3]; 3] {
    let lambda = [FRAME[0], FRAME[1].map(|x| x / h), FRAME[2].map(|x| x / (h * h))];
    let d = [log(r[0].conjugate() * r[1]), log(r[1].conjugate() * r[2])];
    let a = [0, 1].map(|k| Mat3::from_quat(Quat::from_scaled_axis(d[k] * lambda[0][k])));
    let back = a.map(|a| a.transpose());
    let turned = [0, 1].map(|k| right_jacobian(d[k] * lambda[0][k]) * lambda[0][k]);
    // the recursion's values: ω and ω̇ after the first factor and after both
    let omega1 = d[0] * lambda[1][0];
    let alpha1 = d[0] * lambda[2][0];
    let omega2 = back[1] * omega1 + d[1] * lambda[1][1];
    let one = Mat3::IDENTITY;
    // by d₁
    let omega1_d1 = one * lambda[1][0];
    let alpha1_d1 = one * lambda[2][0];
    let q_d1 = back[1] * turned[0];
    let omega2_d1 = back[1] * omega1_d1;
    let alpha2_d1 = back[1] * alpha1_d1 - skew(d[1]) * omega2_d1 * lambda[1][1];
    // by d₂
    let q_d2 = turned[1];
    let omega2_d2 = skew(back[1] * omega1) * turned[1] + one * lambda[1][1];
    let alpha2_d2 = skew(back[1] * alpha1) * turned[1] - skew(d[1]) * omega2_d2 * lambda[1][1]
        + skew(omega2) * lambda[1][1]
        + one * lambda[2][1];
    let after = [0, 1].map(|k| right_jacobian_inverse(d[k]));
    let before = [0, 1].map(|k| right_jacobian_inverse(-d[k]));
    let by_controls = |d1: Mat3, d2: Mat3| [-(d1 * before[0]), d1 * after[0] - d2 * before[1], d2 * after[1]];
    let mut position = by_controls(q_d1, q_d2);
    position[0] += back[1] * back[0];
    [position, by_controls(omega2_d1, omega2_d2), by_controls(alpha2_d1, alpha2_d2)]
}

/// Solves (x_{i−1} + 4x_i + x_{i+1})/6 = y_i in place for every column, with x at both ends going on straight: the first and last
/// equation are x = y then.
fn interpolate(y: &mut [Vec<f64>]) {
    let n = y.len();
    // elimination of the lower diagonal; the first row is x₀ = y₀
    let mut pivots = vec![1.0; n];
    let mut above = vec![0.0; n];
    for i in 1..n {
        let (lower, diagonal, upper) =
            if i + 1 < n { (1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0) } else { (0.0, 1.0, 0.0) };
        let factor = lower / pivots[i - 1];
        pivots[i] = diagonal - factor * above[i - 1];
        above[i] = upper;
        let (before, here) = y.split_at_mut(i);
        here[0].iter_mut().zip(&before[i - 1]).for_each(|(y, x)| *y -= factor * x);
    }
    for i in (0..n).rev() {
        let (here, after) = y.split_at_mut(i + 1);
        for (k, y) in here[i].iter_mut().enumerate() {
            *y = (*y - after.first().map_or(0.0, |next| above[i] * next[k])) / pivots[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, figure};

    /// A figure that turns about two axes at once, three times around in all.
    fn frames(body: &Body, count: usize, step: f64) -> Vec<Vec<f64>> {
        let direction = Random(23).vector(body.dof_count());
        let frame = |i: usize| {
            let t = i as f64 * step;
            let turns: Vec<f64> =
                direction.iter().map(|x| x * (2.0 * (3.0 * t).sin() + 0.3 * (7.0 * t + x).cos())).collect();
            let mut q = body.neutral();
            body.integrate(&body.neutral(), &turns, &mut q);
            q
        };
        (0..count).map(frame).collect()
    }

    #[test]
    fn it_passes_through_its_frames() {
        let (body, step) = (figure(4), 0.02);
        let frames = frames(&body, 40, step);
        let spline = Spline::through(&body, &frames, step).unwrap();
        let (mut moment, mut other) = (Moment::new(&body), Moment::new(&body));
        let mut difference = vec![0.0; body.dof_count()];
        for (i, frame) in frames.iter().enumerate() {
            spline.frame(&body, i, &mut moment);
            body.difference(&moment.q, frame, &mut difference);
            assert!(difference.iter().all(|x| x.abs() < 1e-11), "frame {i}");
            spline.at(&body, i as f64 * step, &mut other);
            body.difference(&moment.q, &other.q, &mut difference);
            assert!(difference.iter().all(|x| x.abs() < 1e-12));
            assert!(moment.a.iter().zip(&other.a).all(|(a, b)| (a - b).abs() < 1e-6), "frame {i}");
        }
    }

    #[test]
    fn velocities_and_accelerations_are_those_of_the_curve() {
        let (body, step) = (figure(4), 0.02);
        let spline = Spline::through(&body, &frames(&body, 20, step), step).unwrap();
        let mut here = Moment::new(&body);
        let [mut before, mut after] = [Moment::new(&body), Moment::new(&body)];
        let (h, n) = (1e-5, body.dof_count());
        let mut difference = vec![0.0; n];
        for time in [0.05, 0.0812, 0.3] {
            spline.at(&body, time, &mut here);
            spline.at(&body, time - h, &mut before);
            spline.at(&body, time + h, &mut after);
            body.difference(&before.q, &after.q, &mut difference);
            for k in 0..n {
                assert!((difference[k] / (2.0 * h) - here.v[k]).abs() < 1e-6);
                let slope = (after.v[k] - before.v[k]) / (2.0 * h);
                assert!((slope - here.a[k]).abs() < 1e-2, "{slope} {}", here.a[k]);
            }
        }
    }

    #[test]
    fn slopes_agree_with_differences() {
        let (body, step) = (figure(4), 0.02);
        let mut spline = Spline::through(&body, &frames(&body, 8, step), step).unwrap();
        let (mut moment, mut slope) = (Moment::new(&body), Slope::default());
        spline.frame_slope(&body, 3, &mut moment, &mut slope);
        let n = body.dof_count();
        let h = 1e-6;
        for control in 0..3 {
            let base = spline.controls[3 + control].clone();
            for d in 0..n {
                let mut ends = [1.0, -1.0].map(|sign| {
                    let mut step = vec![0.0; n];
                    step[d] = sign * h;
                    body.integrate(&base, &step, &mut spline.controls[3 + control]);
                    let mut moment = Moment::new(&body);
                    spline.frame(&body, 3, &mut moment);
                    moment
                });
                spline.controls[3 + control].clone_from(&base);
                let [plus, minus] = &mut ends;
                let mut dq = vec![0.0; n];
                body.difference(&minus.q, &plus.q, &mut dq);
                let link = body.link_of_dof[d];
                let first = body.links[link].first_dof;
                for k in 0..n {
                    let entry = |what: usize| {
                        if body.link_of_dof[k] == link {
                            slope.blocks[link][what][control].col(d - first)[k - first]
                        } else {
                            0.0
                        }
                    };
                    let close = |found: f64, what: usize, scale: f64| {
                        (found / (2.0 * h) - entry(what)).abs() < 1e-6 * scale
                    };
                    assert!(close(dq[k], 0, 1.0), "position {k} {d}");
                    assert!(close(plus.v[k] - minus.v[k], 1, 1.0 / step), "velocity {k} {d}");
                    assert!(close(plus.a[k] - minus.a[k], 2, 1.0 / (step * step)), "acceleration {k} {d}");
                }
            }
        }
    }

    #[test]
    fn two_whole_turns_are_two_whole_turns() {
        let body = figure(4);
        let frames: Vec<Vec<f64>> = (0..73)
            .map(|i| {
                let mut turn = vec![0.0; body.dof_count()];
                turn[4] = (10.0 * i as f64).to_radians();
                let mut q = body.neutral();
                body.integrate(&body.neutral(), &turn, &mut q);
                q
            })
            .collect();
        let spline = Spline::through(&body, &frames, 0.01).unwrap();
        let mut moment = Moment::new(&body);
        for i in 0..73 {
            spline.frame(&body, i, &mut moment);
            assert!(
                (moment.v[4] - 10f64.to_radians() / 0.01).abs() < 1e-9,
                "frame {i} turns at a constant rate"
            );
        }
    }
}
