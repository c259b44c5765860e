//! The simple box of the tracking experiments: eight points that come to life.

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;
use glam::DQuat;
use std::sync::Arc;

use crate::motion::{self, Key, Track};
use crate::paint;
use crate::shapes::{self, Shape};

/// A box that stands on the ground while its top face moves rigidly: it looks around, twists about its long axis,
/// springs back, sways, and stops dead in the middle of a move, so that whatever was added can be seen to go on.
///
/// Groups `bottom`, which never moves, and `top`. tracks §5.2: the fine box is the coarse one cut linearly four times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwistingBox {
    /// How often every triangle is cut in four: 0 gives 8 points, 4 gives 1,538.
    pub levels: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for TwistingBox {
    fn default() -> Self {
        Self { levels: 0, frame_rate_hz: 24.0 }
    }
}

/// The guide: 8 points, 12 triangles.
pub fn box_guide() -> Clip {
    TwistingBox::default().clip()
}

/// The box to be simulated: 1,538 points, in the same motion.
pub fn box_fine() -> Clip {
    TwistingBox { levels: 4, ..TwistingBox::default() }.clip()
}

const SIZE: Vec3 = Vec3::new(0.5, 1.0, 0.5);
const SECONDS: f64 = 6.0;

/// Beyond this a box has millions of points.
const MOST_LEVELS: usize = 8;

impl TwistingBox {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let mut shape = guide();
        for _ in 0..self.levels.min(MOST_LEVELS) {
            shape = shapes::subdivide(&shape);
        }
        shape.uvs = shape.points.iter().map(|p| uv(*p)).collect();
        let name = if self.levels == 0 { "box_guide" } else { "box_fine" };
        let mut mesh = shape.mesh("box", Some(0));
        let at_height = |y: f64| shape.points.iter().map(|p| if p.y == y { 1.0 } else { 0.0 }).collect();
        mesh.set_group("bottom", at_height(0.0));
        mesh.set_group("top", at_height(SIZE.y));
        let top = Top::new();
        let frames = motion::times(SECONDS, self.frame_rate_hz).map(|time| {
            let (place, turn) = top.at(time);
            // sides are straight lines between the two faces: what linear subdivision of the guide gives
            let bend = |p: &Vec3| {
                let up = p.y / SIZE.y;
                let on_top = place + turn * p.with_y(0.0);
                (p.with_y(0.0) * (1.0 - up) + on_top * up).as_vec3().to_array()
            };
            Frame { points: vec![shape.points.iter().map(bend).collect()], pose: Vec::new() }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        let mut clip = Clip::new(name, self.frame_rate_hz, vec![mesh], None, frames);
        clip.images = vec![paint::picture("ribbon", 256, 256, |u, v| {
            let line = |x: f64| (x - 0.5).abs() < 0.055;
            if line(u) || (v - 0.42).abs() < 0.035 {
                0xf7e3b0
            } else if (u * 14.0).fract() < 0.5 {
                0x7a4fa3
            } else {
                0x8259ab
            }
        })];
        clip.materials = vec![paint::textured("wrapping", 0)];
        clip
    }
}

/// Twelve triangles, the long faces cut along the diagonal that winds with the twist.
fn guide() -> Shape {
    let mut shape = shapes::box_shell(SIZE, [1; 3]).moved(Vec3::Y * 0.5 * SIZE.y);
    let triangles: Vec<[u32; 3]> = shape
        .faces
        .iter()
        .flat_map(|face| {
            // quads come with their corners in the order of the axes; start each at its lowest left corner seen from outside
            let key = |i: usize| {
                let (p, next) = (shape.points[face[i] as usize], shape.points[face[(i + 1) % 4] as usize]);
                (p.y + next.y, i)
            };
            let first = (0..4).min_by(|&a, &b| key(a).0.total_cmp(&key(b).0).then(a.cmp(&b))).unwrap_or(0);
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| face[(first + i) % 4]);
            [[a, b, d], [b, c, d]]
        })
        .collect();
    shape.faces = clip::Faces::from_triangles(&triangles);
    shape
}

fn uv(p: Vec3) -> [f32; 2] {
    let u = 0.5 + 0.5 * (p.x + p.z) / (SIZE.x + SIZE.z) * 2.0;
    [u.clamp(0.0, 1.0) as f32, (1.0 - p.y / SIZE.y).clamp(0.0, 1.0) as f32]
}

/// The motion of the top face.
struct Top {
    twist: Track,
    nod: Track,
    tilt: Track,
    side: Track,
    ahead: Track,
    height: Track,
}

impl Top {
    fn new() -> Self {
        let ease = Key::ease;
        Self {
            twist: Track::new(&[
                ease(0.3, 0.0),
                ease(0.8, 0.25),
                ease(1.2, -0.35),
                ease(1.55, -0.35),
                ease(2.5, 1.5),
                ease(3.0, 1.45),
                ease(3.35, -0.45),
                ease(3.65, 0.15),
                ease(3.95, 0.0),
                ease(4.4, 0.1),
                ease(4.9, -0.5),
                Key::slope(5.25, 0.7, 6.0),
            ]),
            nod: Track::new(&[
                ease(0.3, 0.0),
                ease(0.8, 0.16),
                ease(1.3, 0.05),
                ease(1.6, 0.14),
                ease(2.4, -0.06),
                ease(3.4, 0.10),
                ease(4.0, 0.0),
                ease(4.9, 0.12),
                Key::slope(5.25, -0.16, -1.6),
            ]),
            tilt: Track::new(&[
                ease(0.3, 0.0),
                ease(0.8, 0.12),
                ease(1.25, -0.16),
                ease(1.7, 0.0),
                ease(3.9, 0.0),
                ease(4.45, 0.32),
                ease(4.95, -0.30),
                Key::slope(5.25, 0.14, 3.0),
            ]),
            side: Track::new(&[
                ease(0.3, 0.0),
                ease(0.8, -0.07),
                ease(1.25, 0.09),
                ease(1.7, 0.0),
                ease(3.9, 0.0),
                ease(4.45, -0.26),
                ease(4.95, 0.26),
                Key::slope(5.25, -0.16, -2.8),
            ]),
            ahead: Track::new(&[
                ease(0.3, 0.0),
                ease(0.8, 0.08),
                ease(1.3, 0.02),
                ease(1.6, 0.05),
                ease(2.4, 0.0),
                ease(4.0, 0.0),
                ease(4.9, 0.06),
                ease(5.25, -0.08),
            ]),
            height: Track::new(&[
                ease(0.3, 1.0),
                ease(0.8, 0.97),
                ease(1.2, 1.0),
                ease(1.6, 0.88),
                ease(2.5, 0.93),
                ease(3.0, 0.90),
                ease(3.35, 1.14),
                ease(3.65, 0.96),
                ease(3.95, 1.0),
                ease(4.45, 0.95),
                ease(4.7, 1.01),
                ease(4.95, 0.95),
                ease(5.25, 1.04),
            ]),
        }
    }

    /// Place of the top's centre, and its turn.
    fn at(&self, time: f64) -> (Vec3, DQuat) {
        let place = Vec3::new(self.side.at(time), SIZE.y * self.height.at(time), self.ahead.at(time));
        let lean = DQuat::from_rotation_z(self.tilt.at(time)) * DQuat::from_rotation_x(self.nod.at(time));
        (place, lean * DQuat::from_rotation_y(self.twist.at(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_sound, largest_distance, points_of, volume};

    #[test]
    fn has_the_sizes_of_the_paper_and_is_closed() {
        for (clip, points, triangles) in [(box_guide(), 8, 12), (box_fine(), 1538, 3072)] {
            assert_sound(&clip);
            let mesh = &clip.meshes[0];
            assert_eq!((mesh.point_count(), mesh.faces.len()), (points, triangles));
            assert_closed(points, &mesh.point_triangles());
            let all_triangles = mesh.point_triangles();
            for index in 0..clip.frame_count() {
                let now = volume(&points_of(&clip.frame(index).unwrap().points[0]), &all_triangles);
                // a linear blend of faces turned by 85° against each other keeps about half
                assert!(now > 0.4 * 0.25, "frame {index}: {now}");
            }
        }
    }

    #[test]
    fn the_bottom_stands_the_guide_leads_and_the_end_is_sudden() {
        let (guide, fine) = (box_guide(), box_fine());
        for index in 0..guide.frame_count() {
            let (a, b) = (guide.frame(index).unwrap(), fine.frame(index).unwrap());
            assert_eq!(a.points[0][..], b.points[0][..8], "the guide's points come first");
            for (i, p) in a.points[0].iter().enumerate() {
                if guide.meshes[0].rest_points[i][1] == 0.0 {
                    assert_eq!(*p, guide.meshes[0].rest_points[i]);
                }
            }
        }
        let step = |i: usize| {
            largest_distance(&guide.frame(i).unwrap().points[0], &guide.frame(i + 1).unwrap().points[0])
        };
        let stop = (5.25 * 24.0) as usize;
        assert!(step(stop - 2) > 0.05 && step(stop + 1) == 0.0);
    }
}
