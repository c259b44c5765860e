//! An X-shaped puppet of thin stuff that walks, struggles with a headwind, steps on a live wire and shakes it off.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};
use std::sync::Arc;

use clip::{Clip, Faces, Frame, MemoryFrames};
use geometry::{Mat3, Vec3};

use crate::motion::{self, Key, Track};
use crate::paint::{self, step};
use crate::shapes::Shape;

/// A puppet like a letter X: two corners to stand on, two to gesture with; 3,038 points.
///
/// tracks §5.4: guide and tracked mesh are the same. Groups `feet`, `hands`, `middle`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Puppet {
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Puppet {
    fn default() -> Self {
        Self { frame_rate_hz: 24.0 }
    }
}

/// The puppet as it comes.
pub fn puppet() -> Clip {
    Puppet::default().clip()
}

const SECONDS: f64 = 6.0;
/// Cells: half of the middle along both diagonals, thickness, and the lengths of the limbs along them. With these there are
/// 3,036 quads.
const MIDDLE: [i32; 2] = [5, 4];
const THICK: i32 = 5;
const LIMBS: [i32; 2] = [23, 25];
/// Half the width of a limb where it begins, in metres.
const WIDTH: f64 = 0.115;
const HEIGHT: f64 = 0.56;
const STANCE: f64 = 0.30;

impl Puppet {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let (lattice, faces) = lattice();
        let places: Vec<Place> = lattice.iter().map(|p| Place::of(*p)).collect();
        let performance = Performance::new();
        let rest = Stance::standing();
        let at = |stance: &Stance| -> Vec<Vec3> { places.iter().map(|place| stance.point(place)).collect() };
        let points = at(&rest);
        let uv = |p: &Vec3| [(0.5 + 0.7 * p.x) as f32, (1.0 - 0.9 * p.y) as f32];
        let uvs = points.iter().map(uv).collect();
        let mut mesh = Shape::new(points, faces, uvs).mesh("puppet", Some(0));
        let group = |weight: &dyn Fn(&Place) -> f64| places.iter().map(|p| weight(p) as f32).collect();
        let outer = |place: &Place, limbs: [usize; 2]| match place.limb {
            Some((limb, along)) if limbs.contains(&limb) => step(0.6, 0.9, along),
            _ => 0.0,
        };
        mesh.set_group("feet", group(&|place| outer(place, [2, 3])));
        mesh.set_group("hands", group(&|place| outer(place, [0, 1])));
        mesh.set_group("middle", group(&|place| f64::from(u8::from(place.limb.is_none()))));
        let frames = motion::times(SECONDS, self.frame_rate_hz).map(|time| {
            let points = at(&performance.stance(time)).iter().map(|p| p.as_vec3().to_array()).collect();
            Frame { points: vec![points], pose: Vec::new() }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        let mut clip = Clip::new("puppet", self.frame_rate_hz, vec![mesh], None, frames);
        clip.images = vec![paint::picture("stripes", 256, 256, |u, v| {
            let eye = |x: f64| (u - x).hypot(0.8 * (v - 0.46)) < 0.022;
            if eye(0.455) || eye(0.545) {
                0x22262e
            } else if (v * 16.0).fract() < 0.5 {
                0x3d7ea6
            } else {
                0x4a8db5
            }
        })];
        clip.materials = vec![paint::textured("stripes", 0)];
        clip
    }
}

/// Points of a plus sign of cells, and its outer quads.
fn lattice() -> (Vec<[i32; 3]>, Faces) {
    let [a, b] = MIDDLE;
    let [la, lb] = LIMBS;
    let inside = |[u, v, t]: [i32; 3]| {
        let thick = (0..THICK).contains(&t);
        let across = (-b..b).contains(&v) && (-a - la..a + la).contains(&u);
        let along = (-a..a).contains(&u) && (-b - lb..b + lb).contains(&v);
        thick && (across || along)
    };
    let mut index = BTreeMap::new();
    let mut points = Vec::new();
    let mut faces = Faces::default();
    let (most_u, most_v) = (a + la, b + lb);
    let cells = (-most_u..most_u)
        .flat_map(|u| (-most_v..most_v).flat_map(move |v| (0..THICK).map(move |t| [u, v, t])));
    for cell in cells.filter(|cell| inside(*cell)) {
        for axis in 0..3 {
            for side in [0, 1] {
                let mut beyond = cell;
                beyond[axis] += 2 * side - 1;
                if inside(beyond) {
                    continue;
                }
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let ring = if side == 1 {
                    [(0, 0), (1, 0), (1, 1), (0, 1)]
                } else {
                    [(0, 0), (0, 1), (1, 1), (1, 0)]
                };
                let quad = ring.map(|(du, dv)| {
                    let mut corner = cell;
                    corner[axis] += side;
                    corner[u] += du;
                    corner[v] += dv;
                    *index.entry(corner).or_insert_with(|| {
                        points.push(corner);
                        points.len() as u32 - 1
                    })
                });
                faces.push(&quad);
            }
        }
    }
    (points, faces)
}

/// Where a point is on the puppet, whatever its pose.
struct Place {
    /// Limb (right hand, left hand, left foot, right foot) and how far along it; none in the middle.
    limb: Option<(usize, f64)>,
    /// Across the limb, or along both diagonals of the middle, in [−1, 1].
    across: [f64; 2],
    /// From back to front, in [−1, 1].
    depth: f64,
}

impl Place {
    fn of([u, v, t]: [i32; 3]) -> Self {
        let [a, b] = MIDDLE;
        let across = [f64::from(u) / f64::from(a), f64::from(v) / f64::from(b)];
        let depth = 2.0 * f64::from(t) / f64::from(THICK) - 1.0;
        let along = |x: i32, from: i32, length: i32| f64::from(x.abs() - from) / f64::from(length);
        let limb = if u.abs() > a {
            Some((if u > 0 { 0 } else { 2 }, along(u, a, LIMBS[0])))
        } else if v.abs() > b {
            Some((if v > 0 { 1 } else { 3 }, along(v, b, LIMBS[1])))
        } else {
            None
        };
        Self { limb, across, depth }
    }
}

/// A pose: where the middle is, how it is turned, and where hands and feet are.
struct Stance {
    centre: Vec3,
    turn: Mat3,
    ends: [Vec3; 4],
}

impl Stance {
    fn standing() -> Self {
        let centre = HEIGHT * Vec3::Y;
        let hand = |side: f64| centre + Vec3::new(side * 0.42, 0.42, 0.0);
        let foot = |side: f64| Vec3::new(side * STANCE, 0.0, 0.0);
        Self { centre, turn: Mat3::IDENTITY, ends: [hand(1.0), hand(-1.0), foot(-1.0), foot(1.0)] }
    }

    fn point(&self, place: &Place) -> Vec3 {
        // the diagonals of the X, and which way `across` counts
        let e = FRAC_1_SQRT_2 * Vec3::new(1.0, 1.0, 0.0);
        let f = FRAC_1_SQRT_2 * Vec3::new(-1.0, 1.0, 0.0);
        let [a, b] = place.across;
        let thick =
            |across: f64, along: f64| 0.052 * (1.0 - 0.2 * along) * (1.0 - 0.55 * across * across).sqrt();
        let Some((limb, s)) = place.limb else {
            let middle = WIDTH * (a * e + b * f);
            let depth = thick(a.abs().max(b.abs()), 0.0) * place.depth;
            return self.centre + self.turn * (middle + depth * Vec3::Z);
        };
        let (direction, sign, across) = [(e, 1.0, b), (f, -1.0, a), (-e, -1.0, b), (-f, 1.0, a)][limb];
        let direction = self.turn * direction;
        let from = self.centre + WIDTH * direction;
        let to = self.ends[limb];
        let reach = 0.36 * from.distance(to);
        // feet come down upright, hands keep their direction
        let arrive = if limb < 2 { -direction } else { Vec3::Y };
        let curve = [from, from + reach * direction, to + reach * arrive, to];
        let q = 1.0 - s;
        let weights = [q * q * q, 3.0 * q * q * s, 3.0 * q * s * s, s * s * s];
        let slopes = [-3.0 * q * q, 3.0 * q * q - 6.0 * q * s, 6.0 * q * s - 3.0 * s * s, 3.0 * s * s];
        let sum = |weights: [f64; 4]| -> Vec3 { curve.iter().zip(weights).map(|(c, w)| w * *c).sum() };
        let tangent = sum(slopes).normalize_or(direction);
        let front = self.turn * Vec3::Z;
        let front = (front - tangent * front.dot(tangent)).normalize_or(Vec3::Z);
        let side = sign * front.cross(tangent);
        let width = WIDTH * (1.0 - 0.30 * step(0.0, 0.7, s) + 0.10 * step(0.75, 1.0, s));
        // ends are rounded off
        let round = 1.0 - 0.12 * across * across * step(0.85, 1.0, s);
        sum(weights) + width * round * across * side + thick(across, s) * place.depth * front
    }
}

/// Everything that moves, as curves over seconds.
struct Performance {
    feet: [Track; 2],
    lean: Track,
    sway: Track,
    sink: Track,
    arms: Track,
    forward: Track,
    shock: Track,
    shake: Track,
}

const STRIDE: f64 = 0.30;
/// When each foot takes its steps: left, right.
const STEPS: [[f64; 3]; 2] = [[0.15, 0.95, 1.75], [0.55, 1.35, 2.05]];
const STEP: f64 = 0.38;

impl Performance {
    fn new() -> Self {
        let ease = Key::ease;
        let walk = |steps: [f64; 3], strides: [f64; 3]| {
            let mut keys = vec![ease(0.0, 0.0)];
            let mut at = 0.0;
            for (begin, stride) in steps.into_iter().zip(strides) {
                keys.push(ease(begin, at));
                at += stride * STRIDE;
                keys.push(ease(begin + STEP, at));
            }
            Track::new(&keys)
        };
        Self {
            feet: [walk(STEPS[0], [1.0, 2.0, 1.0]), walk(STEPS[1], [2.0, 2.0, 0.0])],
            lean: Track::new(&[
                ease(0.0, 0.0),
                ease(0.4, 0.06),
                ease(2.2, 0.04),
                ease(2.55, 0.42),
                ease(2.9, 0.34),
                ease(3.25, 0.46),
                ease(3.6, 0.36),
                ease(3.8, 0.0),
                ease(4.9, -0.04),
                ease(5.3, 0.0),
            ]),
            sway: Track::new(&[
                ease(0.0, 0.0),
                ease(0.35, 0.05),
                ease(0.75, -0.05),
                ease(1.15, 0.05),
                ease(1.55, -0.05),
                ease(1.95, 0.04),
                ease(2.4, 0.0),
                ease(2.9, 0.03),
                ease(3.3, -0.03),
                ease(3.7, 0.0),
            ]),
            sink: Self::sink(),
            arms: Track::new(&[
                ease(0.0, 0.0),
                ease(0.4, -0.10),
                ease(0.8, 0.05),
                ease(1.2, -0.10),
                ease(1.6, 0.05),
                ease(2.2, -0.05),
                ease(2.6, -0.16),
                ease(3.6, -0.12),
                ease(3.8, 0.10),
                ease(4.7, 0.10),
                ease(5.0, -0.20),
                ease(5.5, 0.0),
            ]),
            forward: Track::new(&[
                ease(0.0, 0.0),
                ease(0.35, 0.10),
                ease(0.75, -0.10),
                ease(1.15, 0.10),
                ease(1.55, -0.10),
                ease(2.1, 0.0),
                ease(2.5, 0.16),
                ease(2.9, 0.08),
                ease(3.3, 0.18),
                ease(3.7, 0.0),
            ]),
            shock: Track::new(&[ease(3.78, 0.0), ease(3.84, 1.0), ease(4.6, 1.0), ease(4.75, 0.0)]),
            shake: Track::new(&[ease(4.8, 0.0), ease(4.9, 1.0), ease(5.2, 0.7), ease(5.6, 0.0)]),
        }
    }

    fn sink() -> Track {
        let ease = Key::ease;
        Track::new(&[
            ease(0.0, 0.0),
            ease(0.15, -0.03),
            ease(0.35, 0.01),
            ease(0.55, -0.03),
            ease(0.75, 0.01),
            ease(0.95, -0.03),
            ease(1.15, 0.01),
            ease(1.35, -0.03),
            ease(1.55, 0.01),
            ease(1.75, -0.03),
            ease(1.95, 0.01),
            ease(2.2, 0.0),
            ease(2.6, -0.08),
            ease(3.6, -0.07),
            ease(3.78, 0.05),
            ease(4.7, 0.04),
            ease(4.95, -0.05),
            ease(5.4, 0.0),
        ])
    }

    fn stance(&self, time: f64) -> Stance {
        let mut stance = Stance::standing();
        let lift = |steps: [f64; 3]| {
            let phase = |begin: f64| ((time - begin) / STEP).clamp(0.0, 1.0);
            steps.iter().map(|begin| 0.075 * (PI * phase(*begin)).sin()).sum::<f64>()
        };
        let shock = self.shock.at(time);
        let tremble = |k: f64| shock * (TAU * 9.7 * time + 2.4 * k).sin() * (TAU * 3.1 * time + k).cos();
        for (side, foot) in [(0, 2), (1, 3)] {
            stance.ends[foot].z = self.feet[side].at(time);
            stance.ends[foot].y = lift(STEPS[side]) + 0.012 * tremble(side as f64).abs();
        }
        let z = 0.5 * (self.feet[0].at(time) + self.feet[1].at(time));
        let shake = 0.40 * self.shake.at(time) * (TAU * 3.2 * time).sin();
        let lean = self.lean.at(time);
        stance.turn = Mat3::from_rotation_y(shake + 0.10 * tremble(0.3))
            * Mat3::from_rotation_x(lean)
            * Mat3::from_rotation_z(-0.8 * self.sway.at(time) + 0.12 * tremble(1.9));
        let jerk = 0.02 * Vec3::new(tremble(4.0), tremble(5.0), tremble(6.0));
        stance.centre += Vec3::new(self.sway.at(time), self.sink.at(time), z + 0.25 * lean) + jerk;
        for (hand, side) in [(0, 1.0), (1, -1.0)] {
            let spread = 0.42 + 0.06 * shock;
            let swing = Vec3::new(side * spread, 0.40 + self.arms.at(time), side * self.forward.at(time));
            let jerk = 0.05 * Vec3::new(tremble(side + 7.0), tremble(side + 8.5), tremble(side + 11.0));
            stance.ends[hand] = stance.centre + stance.turn * (swing + jerk);
        }
        stance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_no_degenerate_triangles, assert_sound, points_of, volume};

    #[test]
    fn has_the_size_of_the_paper_and_never_turns_inside_out() {
        let clip = puppet();
        assert_sound(&clip);
        let mesh = &clip.meshes[0];
        assert_eq!((mesh.point_count(), mesh.faces.len()), (3038, 3036));
        let triangles = mesh.point_triangles();
        assert_closed(3038, &triangles);
        let rest = mesh.rest();
        assert_no_degenerate_triangles(&rest, &triangles);
        let whole = volume(&rest, &triangles);
        assert!(whole > 0.0);
        for index in 0..clip.frame_count() {
            let now = volume(&points_of(&clip.frame(index).unwrap().points[0]), &triangles);
            assert!((0.75..1.35).contains(&(now / whole)), "frame {index}: {}", now / whole);
        }
    }

    #[test]
    fn a_planted_foot_stands() {
        let clip = puppet();
        let mesh = &clip.meshes[0];
        // frames 62 and 72: both feet on the ground, in the headwind
        let frames = [62, 72].map(|index| clip.frame(index).unwrap().points.remove(0));
        let soles: Vec<usize> =
            (0..mesh.point_count()).filter(|&p| mesh.rest_points[p][1].abs() < 1e-5).collect();
        assert!(soles.len() > 60);
        for p in soles {
            assert!((frames[0][p][1] - frames[1][p][1]).abs() < 1e-6);
        }
    }
}
