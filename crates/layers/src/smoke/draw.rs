//! Things that are drawn here, so that a shot needs no files: letters, discs, bars, strokes, clouds.
//!
//! Shapes are signed distances in metres, so they have smooth edges one grid point wide on any grid, and move by moving the place that is
//! asked for.

use fluid::{Domain, Field, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::explain;
use shot::LayerError;

/// A line of letters, drawn with a round pen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// What is written.
    pub words: String,
    /// The middle of the line, in metres from the lower left corner.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub centre: [f64; 2],
    /// Height of capitals in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub height: f64,
    /// Width of the pen in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub pen: f64,
}

/// A disc, or a ball in a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Its middle, in metres from the lower left corner: two numbers, in a volume three.
    #[schemars(length(min = 2, max = 3), extend("minimum" = -1e6, "maximum" = 1e6))]
    pub centre: Vec<f64>,
    /// Its radius in metres.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub radius: f64,
}

/// A rectangle, or a box in a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// One corner, in metres from the lower left corner: two numbers, in a volume three.
    #[schemars(length(min = 2, max = 3), extend("minimum" = -1e6, "maximum" = 1e6))]
    pub from: Vec<f64>,
    /// The opposite corner.
    #[schemars(length(min = 2, max = 3), extend("minimum" = -1e6, "maximum" = 1e6))]
    pub to: Vec<f64>,
}

/// A line drawn by hand through points, its corners rounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stroke {
    /// The points, in metres.
    #[schemars(length(min = 2), extend("minimum" = -1e6, "maximum" = 1e6))]
    pub points: Vec<[f64; 2]>,
    /// Width of the pen in metres.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub pen: f64,
    /// Whether the line closes and what lies inside is painted too.
    #[serde(default)]
    pub filled: bool,
}

/// A cloudy pattern between 0 and 1 that fits periodic sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// How large the clouds are, in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub size: f64,
    /// Another seed, other clouds.
    #[serde(default = "default_seed")]
    #[schemars(extend("minimum" = 0, "maximum" = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// How many times finer clouds are added, each half the size.
    #[serde(default = "default_octaves")]
    #[schemars(range(min = 1, max = 8))]
    pub octaves: u32,
}

fn default_seed() -> u64 {
    1
}

fn default_octaves() -> u32 {
    3
}

/// Where a shape is at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathKey {
    /// Seconds from the first frame.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub time: f64,
    /// Where the shape's zero lies, in metres from the lower left corner.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub at: [f64; 2],
    /// Degrees by which it is turned, anticlockwise.
    #[serde(default)]
    #[schemars(extend("minimum" = -1e7, "maximum" = 1e7))]
    pub turn: f64,
}

/// A rigid motion at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Motion {
    at: [f64; 2],
    angle: f64,
    velocity: [f64; 2],
    spin: f64,
}

impl Motion {
    /// From the box to the shape's own place.
    fn back(&self, p: [f64; 2]) -> [f64; 2] {
        let (s, c) = self.angle.sin_cos();
        let [x, y] = [p[0] - self.at[0], p[1] - self.at[1]];
        [c * x + s * y, c * y - s * x]
    }

    /// Velocity at a place of the box.
    pub(super) fn velocity(&self, p: [f64; 2]) -> [f64; 2] {
        let [x, y] = [p[0] - self.at[0], p[1] - self.at[1]];
        [self.velocity[0] - self.spin * y, self.velocity[1] + self.spin * x]
    }
}

/// Place and velocity on a path: a cubic through the keys (Catmull and Rom), at rest before the first and after the last.
pub(super) fn motion(path: &[PathKey], seconds: f64) -> Motion {
    let place = |key: &PathKey| [key.at[0], key.at[1], key.turn.to_radians()];
    let (Some(first), Some(last)) = (path.first(), path.last()) else { return Motion::default() };
    let still = |key: &PathKey| Motion { at: key.at, angle: key.turn.to_radians(), ..Motion::default() };
    if seconds <= first.time {
        return still(first);
    }
    if seconds >= last.time {
        return still(last);
    }
    let i = path.partition_point(|key| key.time <= seconds).clamp(1, path.len() - 1) - 1;
    let slope = |j: usize| {
        if j == 0 || j + 1 == path.len() {
            return [0.0; 3];
        }
        let (a, b) = (&path[j - 1], &path[j + 1]);
        [0, 1, 2].map(|k| (place(b)[k] - place(a)[k]) / (b.time - a.time))
    };
    let (a, b) = (&path[i], &path[i + 1]);
    let span = b.time - a.time;
    let t = (seconds - a.time) / span;
    let (from, to, out, into) = (place(a), place(b), slope(i), slope(i + 1));
    let x = [0, 1, 2].map(|k| {
        let (m0, m1) = (span * out[k], span * into[k]);
        let rise = to[k] - from[k];
        from[k] + t * (m0 + t * ((3.0 * rise - 2.0 * m0 - m1) + t * (m0 + m1 - 2.0 * rise)))
    });
    let v = [0, 1, 2].map(|k| {
        let (m0, m1) = (span * out[k], span * into[k]);
        let rise = to[k] - from[k];
        (m0 + t * (2.0 * (3.0 * rise - 2.0 * m0 - m1) + 3.0 * t * (m0 + m1 - 2.0 * rise))) / span
    });
    Motion { at: [x[0], x[1]], angle: x[2], velocity: [v[0], v[1]], spin: v[2] }
}

/// A moved shape as grey levels: 1 inside, 0 outside, a soft edge as wide as a grid point. Across periodic sides it comes in again.
pub(super) fn shape(domain: &Domain, motion: &Motion, distance: impl Fn([f64; 3]) -> f64) -> Field {
    let edge = domain.axes[0].spacing();
    let copies = [0, 1].map(|d| {
        let length = domain.axes[d].length;
        if domain.axes[d].side == Side::Periodic { vec![-length, 0.0, length] } else { vec![0.0] }
    });
    domain.field(|p| {
        let mut nearest = f64::INFINITY;
        for dx in &copies[0] {
            for dy in &copies[1] {
                let [x, y] = motion.back([p[0] + dx, p[1] + dy]);
                nearest = nearest.min(distance([x, y, p[2]]));
            }
        }
        (0.5 - nearest / edge).clamp(0.0, 1.0)
    })
}

impl Text {
    /// The letters as a picture, finer than the grid.
    pub(super) fn draw(&self, domain: &Domain) -> Result<Field, LayerError> {
        let lengths = [domain.axes[0].length, domain.axes[1].length];
        let per_metre = 2.0 * domain.axes[1].points as f64 / lengths[1];
        let size = lengths.map(|length| (length * per_metre).round().clamp(16.0, 8192.0) as u32);
        let scale = [0, 1].map(|d| f64::from(size[d]) / lengths[d]);
        let centre = [self.centre[0] * scale[0], (lengths[1] - self.centre[1]) * scale[1]];
        let (height, pen) = (self.height * scale[1], self.pen * scale[1]);
        let centre = centre.map(|x| x as f32);
        let pixels = render::letters(&self.words, size, centre, height as f32, pen as f32);
        Field::from_image(size[0] as usize, size[1] as usize, &pixels).map_err(explain)
    }
}

impl Disc {
    pub(super) fn distance(&self, p: [f64; 3]) -> f64 {
        let square: f64 = self.centre.iter().zip(p).map(|(c, p)| (p - c).powi(2)).sum();
        square.sqrt() - self.radius
    }
}

impl Bar {
    pub(super) fn distance(&self, p: [f64; 3]) -> f64 {
        let axes = self.from.iter().zip(&self.to).zip(p);
        let outside: Vec<f64> =
            axes.map(|((a, b), p)| (p - 0.5 * (a + b)).abs() - 0.5 * (b - a).abs()).collect();
        let far: f64 = outside.iter().map(|d| d.max(0.0).powi(2)).sum();
        far.sqrt() + outside.iter().fold(f64::NEG_INFINITY, |m, d| m.max(*d)).min(0.0)
    }
}

/// A rounded line and the box around it.
pub(super) struct Line {
    points: Vec<[f64; 2]>,
    low: [f64; 2],
    high: [f64; 2],
}

impl Stroke {
    /// The line with its corners cut three times, after Chaikin.
    pub(super) fn line(&self) -> Line {
        let mut points = self.points.clone();
        if self.filled {
            points.extend(self.points.first().copied());
        }
        let (first, last) = (points[0], points[points.len() - 1]);
        let mix = |a: [f64; 2], b: [f64; 2], t: f64| [0, 1].map(|k| a[k] + t * (b[k] - a[k]));
        for _ in 0..3 {
            let mut cut: Vec<[f64; 2]> =
                points.windows(2).flat_map(|w| [mix(w[0], w[1], 0.25), mix(w[0], w[1], 0.75)]).collect();
            if self.filled {
                cut.push(cut[0]);
            } else {
                let end = cut.len() - 1;
                (cut[0], cut[end]) = (first, last);
            }
            points = cut;
        }
        let end =
            |pick: fn(f64, f64) -> f64, d: usize| points.iter().map(|p| p[d]).reduce(pick).unwrap_or(0.0);
        let (low, high) = ([0, 1].map(|d| end(f64::min, d)), [0, 1].map(|d| end(f64::max, d)));
        Line { points, low, high }
    }

    /// Distance from the pen's line; of a filled one negative inside.
    pub(super) fn distance(&self, line: &Line, p: [f64; 2]) -> f64 {
        // far away the box around the line is near enough to the truth
        let beyond = [0, 1].map(|d| (line.low[d] - p[d]).max(p[d] - line.high[d]).max(0.0));
        let far = beyond[0].hypot(beyond[1]);
        if far > self.pen + 0.1 * (line.high[0] - line.low[0] + line.high[1] - line.low[1]) {
            return far - 0.5 * self.pen;
        }
        let mut nearest = f64::INFINITY;
        let mut inside = false;
        for pair in line.points.windows(2) {
            let ([ax, ay], [bx, by]) = (pair[0], pair[1]);
            let (dx, dy) = (bx - ax, by - ay);
            let along = ((p[0] - ax) * dx + (p[1] - ay) * dy) / (dx * dx + dy * dy).max(1e-30);
            let t = along.clamp(0.0, 1.0);
            nearest = nearest.min((p[0] - ax - t * dx).hypot(p[1] - ay - t * dy));
            if (ay > p[1]) != (by > p[1]) && p[0] < ax + (p[1] - ay) / (by - ay) * dx {
                inside = !inside;
            }
        }
        let nearest = if self.filled && inside { -nearest } else { nearest };
        nearest - 0.5 * self.pen
    }
}

impl Noise {
    /// The pattern on a grid.
    pub(super) fn field(&self, domain: &Domain) -> Field {
        let mut total = Field::constant(domain.points(), 0.0);
        let mut weight = 0.0;
        for octave in 0..self.octaves {
            let share = 0.5_f64.powi(octave as i32);
            let cells = [0, 1, 2].map(|d| {
                let axis = &domain.axes[d];
                (axis.length / self.size * 2.0_f64.powi(octave as i32)).round().max(1.0)
            });
            let wraps = domain.axes.map(|axis| axis.side == Side::Periodic);
            let layer = domain.field(|p| {
                let place = [0, 1, 2].map(|d| p[d] / domain.axes[d].length * cells[d]);
                lattice(place, cells, wraps, self.seed.wrapping_add(u64::from(octave)))
            });
            total.values.iter_mut().zip(&layer.values).for_each(|(t, v)| *t += share as f32 * v);
            weight += share;
        }
        // sums of many bunch up around a half: spread them out again
        let spread = |v: &mut f32| *v = (0.5 + 1.6 * (*v / weight as f32 - 0.5)).clamp(0.0, 1.0);
        total.values.iter_mut().for_each(spread);
        total
    }
}

/// Random numbers at whole places, smooth between them.
fn lattice(place: [f64; 3], cells: [f64; 3], wraps: [bool; 3], seed: u64) -> f64 {
    let base = place.map(f64::floor);
    let t = [0, 1, 2].map(|d| {
        let t = place[d] - base[d];
        t * t * t * (t * (6.0 * t - 15.0) + 10.0)
    });
    let mut sum = 0.0;
    for corner in 0..8_usize {
        let mut weight = 1.0;
        let mut hash = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for d in 0..3 {
            let up = (corner >> d & 1) as f64;
            weight *= if up == 1.0 { t[d] } else { 1.0 - t[d] };
            let at = base[d] + up;
            let at = if wraps[d] { at.rem_euclid(cells[d]) } else { at };
            hash = mix(hash ^ (at as i64).cast_unsigned());
        }
        if weight > 0.0 {
            sum += weight * (hash >> 11) as f64 / (1_u64 << 53) as f64;
        }
    }
    sum
}

/// A good scramble of 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain::plane([100, 51], [2.0, 1.0], [Side::Periodic, Side::Wall]).unwrap()
    }

    /// Share of the box that is covered.
    fn share(field: &Field) -> f64 {
        f64::from(field.values.iter().sum::<f32>()) / field.values.len() as f64
    }

    #[test]
    fn shapes_cover_their_area_and_come_in_again_across_a_periodic_side() {
        let disc = Disc { centre: vec![0.1, 0.5], radius: 0.3 };
        let field = shape(&domain(), &Motion::default(), |p| disc.distance(p));
        assert!((share(&field) - 0.09 * std::f64::consts::PI / 2.0).abs() < 0.01, "{}", share(&field));
        assert!(field.at(97, 25, 0) > 0.9, "the part beyond the left side is at the right");
        let bar = Bar { from: vec![0.5, 0.2], to: vec![1.5, 0.6] };
        let field = shape(&domain(), &Motion::default(), |p| bar.distance(p));
        assert!((share(&field) - 0.2).abs() < 0.01, "{}", share(&field));
        let points = vec![[0.5, 0.2], [1.5, 0.2], [1.5, 0.6], [0.5, 0.6]];
        let stroke = Stroke { points, pen: 0.0, filled: true };
        let line = stroke.line();
        let field = shape(&domain(), &Motion::default(), |p| stroke.distance(&line, [p[0], p[1]]));
        assert!(share(&field) > 0.15 && share(&field) < 0.2, "rounded corners: {}", share(&field));
    }

    #[test]
    fn a_path_goes_through_its_keys_and_its_velocity_is_its_slope() {
        let key = |time: f64, x: f64, turn: f64| PathKey { time, at: [x, 0.5], turn };
        let path = [key(0.0, 0.2, 0.0), key(1.0, 0.6, 90.0), key(2.5, 1.4, 45.0)];
        assert_eq!(motion(&path, 1.0).at[0], 0.6);
        assert_eq!(motion(&path, -1.0).velocity, [0.0; 2]);
        for time in [0.3, 0.9, 1.6, 2.2] {
            let (a, b, here) = (motion(&path, time - 1e-5), motion(&path, time + 1e-5), motion(&path, time));
            assert!((here.velocity[0] - (b.at[0] - a.at[0]) / 2e-5).abs() < 1e-5, "at {time}");
            assert!((here.spin - (b.angle - a.angle) / 2e-5).abs() < 1e-5, "at {time}");
        }
    }

    #[test]
    fn clouds_have_no_seam_fill_their_range_and_depend_on_their_seed() {
        let noise = Noise { size: 0.3, seed: 4, octaves: 2 };
        let field = noise.field(&domain());
        let (low, high) = field.range();
        assert!(
            low < 0.2 && high > 0.8 && (share(&field) - 0.5).abs() < 0.1,
            "{low} {high} {}",
            share(&field)
        );
        for y in 0..51 {
            let across = (field.at(99, y, 0) - field.at(0, y, 0)).abs();
            assert!(across < 0.15, "a jump of {across} in row {y}");
        }
        assert_ne!(Noise { seed: 5, ..noise }.field(&domain()), field);
    }

    #[test]
    fn letters_stand_where_they_are_put() {
        let text = Text { words: "I".into(), centre: [1.5, 0.5], height: 0.4, pen: 0.08 };
        let field = fluid::resample(&text.draw(&domain()).unwrap(), &domain()).unwrap();
        assert!(field.at(74, 25, 0) > 0.9 && field.at(74, 40, 0) < 0.1 && field.at(20, 25, 0) < 0.1);
    }
}
