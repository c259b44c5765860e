//! One inner step of the coarse cloth.

use crate::Point;
use crate::constraints::{Edge, Hinge, Tether};
use crate::simulator::{Frame, Simulator, Wind};
use crate::vector::{add, along, cross, dot, length, lerp, scale, sqrt, sub};

/// kg/m³
const AIR_DENSITY: f32 = 1.2;
/// Air is asked once in so many steps, and pushes for all of them.
const AIR_EVERY: u64 = 4;

impl Simulator {
    /// One step of `h` seconds, from the part `from` to the part `to` of the frame.
    pub(crate) fn step(&mut self, h: f32, from: f32, to: f32, frame: &Frame<'_>) {
        if self.steps.is_multiple_of(AIR_EVERY) {
            self.blow(AIR_EVERY as f32 * h, &frame.wind);
        }
        self.steps += 1;
        let keep = (1.0 - self.settings.damping * h).max(0.0);
        for i in 0..self.positions.len() {
            self.before[i] = self.positions[i];
            if self.inverse_masses[i] > 0.0 {
                let v = along(scale(keep, self.velocities[i]), h, self.settings.gravity);
                self.positions[i] = along(self.positions[i], h, v);
            } else {
                self.positions[i] = lerp(self.targets[0][i], self.targets[1][i], to);
            }
        }
        let (x, w) = (&mut self.positions[..], &self.inverse_masses[..]);
        let per_step = 1.0 / (h * h);
        self.constraints.edges.iter().for_each(|edge| solve_edge(edge, per_step, x, w));
        self.constraints.hinges.iter().for_each(|hinge| solve_hinge(hinge, per_step, x, w));
        self.constraints.tethers.iter().for_each(|tether| solve_tether(tether, x, w));
        for i in 0..x.len() {
            if self.pulls[i] > 0.0 && w[i] > 0.0 {
                let target = lerp(self.targets[0][i], self.targets[1][i], to);
                x[i] = lerp(x[i], target, self.pulls[i]);
            }
        }
        self.collide(from, to, frame);
        for i in 0..self.positions.len() {
            self.velocities[i] = scale(1.0 / h, sub(self.positions[i], self.before[i]));
        }
    }

    /// Air: f = ½ ρ c A ‖u‖ u across and along each triangle, u the air's velocity as the cloth feels it. Never more in a step than
    /// brings the cloth to the air's speed.
    fn blow(&mut self, h: f32, wind: &Wind) {
        let settings = &self.settings;
        if settings.drag == 0.0 && settings.skin_drag == 0.0 {
            return;
        }
        let time = self.steps as f32 / settings.rate_hz;
        let speed = length(wind.velocity);
        let per_mass = 0.5 * AIR_DENSITY * h / settings.density;
        for t in &self.triangles {
            let [a, b, c] = t.map(|v| v as usize);
            let (p, q, r) = (self.positions[a], self.positions[b], self.positions[c]);
            let across = cross(sub(q, p), sub(r, p));
            let doubled = length(across);
            if doubled <= 0.0 {
                continue;
            }
            let n = scale(1.0 / doubled, across);
            let middle = scale(1.0 / 3.0, add(add(p, q), r));
            let mean = add(add(self.velocities[a], self.velocities[b]), self.velocities[c]);
            let air = scale(1.0 + gust(wind, speed, add(middle, self.origin), time), wind.velocity);
            let felt = sub(air, scale(1.0 / 3.0, mean));
            let normal = dot(felt, n);
            let along_cloth = along(felt, -normal, n);
            let push = (per_mass * settings.drag * normal.abs()).min(1.0) * normal;
            let drag = (per_mass * settings.skin_drag * length(along_cloth)).min(1.0);
            let change = along(scale(push, n), drag, along_cloth);
            let third = settings.density * 0.5 * doubled / 3.0;
            for i in [a, b, c] {
                self.velocities[i] = along(self.velocities[i], third * self.inverse_masses[i], change);
            }
        }
    }
}

/// Gusts travel with the wind: three waves of pressure, 0.7 to 2.9 m long, whose lengths have no common measure.
fn gust(wind: &Wind, speed: f32, p: Point, time: f32) -> f32 {
    if wind.gusts == 0.0 || speed <= 0.0 {
        return 0.0;
    }
    let direction = scale(1.0 / speed, wind.velocity);
    let travelled = dot(direction, p) - speed * time;
    // some variation across, too
    let aside = 1.7 * p[1] + 1.1 * (p[0] + p[2]);
    let waves = [(2.17, 0.3, 0.5), (4.73, -0.7, 0.3), (8.91, 1.1, 0.2)];
    wind.gusts * waves.iter().map(|(k, a, w)| w * libm::sinf(k * travelled + a * aside)).sum::<f32>()
}

/// Δλ = −C/(w₀ + w₁ + α/h²), x ∓= w Δλ ∇C.
#[inline(always)]
fn solve_edge(edge: &Edge, per_step: f32, x: &mut [Point], w: &[f32]) {
    let [a, b] = edge.points.map(|v| v as usize);
    let d = sub(x[b], x[a]);
    let size = length(d);
    let stretch = size - edge.length;
    let compliance = if stretch < 0.0 { edge.slack_compliance } else { edge.compliance };
    let denominator = size * (w[a] + w[b] + compliance * per_step);
    // free where the compliance is infinite; points on each other have no direction
    let part = if denominator > 0.0 { stretch / denominator } else { 0.0 };
    x[a] = along(x[a], w[a] * part, d);
    x[b] = along(x[b], -w[b] * part, d);
}

#[inline(always)]
fn solve_hinge(hinge: &Hinge, per_step: f32, x: &mut [Point], w: &[f32]) {
    let i = hinge.points.map(|v| v as usize);
    let k = hinge.weights;
    let mut fold = scale(k[0], x[i[0]]);
    (1..4).for_each(|j| fold = along(fold, k[j], x[i[j]]));
    let size = length(fold);
    let mut denominator = hinge.compliance * per_step;
    (0..4).for_each(|j| denominator += k[j] * k[j] * w[i[j]]);
    let denominator = size * denominator;
    let part = if denominator > 0.0 { (size - hinge.rest) / denominator } else { 0.0 };
    (0..4).for_each(|j| x[i[j]] = along(x[i[j]], -w[i[j]] * k[j] * part, fold));
}

#[inline(always)]
fn solve_tether(tether: &Tether, x: &mut [Point], w: &[f32]) {
    let [a, b] = tether.points.map(|v| v as usize);
    let d = sub(x[b], x[a]);
    let squared = dot(d, d);
    if squared > tether.length * tether.length && w[b] > 0.0 {
        x[b] = along(x[a], tether.length / sqrt(squared), d);
    }
}
