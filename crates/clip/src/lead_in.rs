//! Frames before the first one: from a pose that a garment was drawn on into the animation.
//!
//! Joints are blended where a mesh hangs on them, so that an arm swings down instead of shrinking through the body; what hangs on none is
//! turned and moved as a whole, and what then is left of the difference is blended point by point. Where the lead-in ends, the animation
//! begins, to the bit.

use std::sync::{Arc, OnceLock};

use geometry::{Bounds, Vec3, rigid_motion};
use glam::{DQuat, Mat4};

use crate::{Clip, Frame, Frames, Grid, Mesh, Result, Skeleton, Skin, Transform};

/// A step of the animation that is longer than this many times the size of what moves is a cut, and no velocity to begin with.
const CUT_SIZES: f64 = 2.0;
/// What keeps its place on a joint to this share of its size hangs on it.
const HANGS: f64 = 1e-4;

/// How many frames come before the first one, and how fast everything is carried along in them.
#[derive(Clone)]
pub struct LeadIn {
    /// Frames in which everything stands in the pose that it starts in.
    pub waiting: usize,
    /// Frames on the way from the pose to the first frame.
    pub frames: usize,
    /// Frames after them in which the pose of the first frame is held.
    pub held: usize,
    carrier: Arc<Carrier>,
}

/// Meshes whose velocity in their first frame carries everything along.
struct Carrier {
    clip: Clip,
    meshes: Vec<usize>,
    velocity: OnceLock<Vec3>,
}

impl LeadIn {
    /// Everything moves along as fast as these meshes of a clip do in their first frame, so that nothing gets a kick when it comes.
    pub fn new(frames: usize, held: usize, clip: &Clip, meshes: Vec<usize>) -> Self {
        let carrier = Carrier { clip: clip.clone(), meshes, velocity: OnceLock::new() };
        Self { waiting: 0, frames, held, carrier: Arc::new(carrier) }
    }

    /// The same, with so many frames more in which everything stands in the pose that it starts in.
    #[must_use]
    pub fn after(self, waiting: usize) -> Self {
        Self { waiting, ..self }
    }

    /// How many frames come before the first one.
    pub fn count(&self) -> usize {
        self.waiting + self.frames + self.held
    }

    /// How far everything is from its place `index` frames after the lead-in began, in metres.
    pub fn offset(&self, index: usize) -> Result<Vec3> {
        let ahead = self.count().saturating_sub(index) as f64 / self.carrier.clip.frame_rate_hz;
        Ok(-ahead * self.velocity()?)
    }

    /// How fast everything moves along, in m/s.
    pub fn velocity(&self) -> Result<Vec3> {
        if let Some(velocity) = self.carrier.velocity.get() {
            return Ok(*velocity);
        }
        let Carrier { clip, meshes, velocity } = &*self.carrier;
        let mut way = Vec3::ZERO;
        if clip.has_frame(1) && !clip.cuts.contains(&1) {
            let (here, next) = (clip.frame(0)?, clip.frame(1)?);
            let of = |frame: &Frame| -> Vec<Vec3> {
                meshes.iter().filter_map(|mesh| frame.points.get(*mesh)).flatten().map(vector).collect()
            };
            let (here, next) = (of(&here), of(&next));
            let sum: Vec3 = here.iter().zip(&next).map(|(a, b)| *b - *a).sum();
            way = sum / here.len().max(1) as f64;
            if way.length() > CUT_SIZES * Bounds::of(here.iter().copied()).diagonal() {
                way = Vec3::ZERO;
            }
        }
        Ok(*velocity.get_or_init(|| clip.frame_rate_hz * way))
    }
}

impl Clip {
    /// Every mesh in its rest shape, and every joint at rest.
    pub fn rest_frame(&self) -> Frame {
        Frame {
            points: self.meshes.iter().map(|mesh| mesh.rest_points.clone()).collect(),
            pose: self.skeleton.as_ref().map_or_else(Vec::new, Skeleton::rest_pose),
        }
    }

    /// The scene as garments were put on: at rest, but for what was placed in a frame of the animation.
    pub fn dressed_frame(&self) -> Frame {
        let fits = |frame: &Frame| {
            let joints = self.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len());
            let points = frame.points.iter().map(Vec::len);
            frame.pose.len() == joints && points.eq(self.meshes.iter().map(Mesh::point_count))
        };
        // a layer below may have made other meshes of it
        match self.dressed.as_deref().filter(|frame| fits(frame)) {
            Some(frame) => frame.clone(),
            None => self.rest_frame(),
        }
    }

    /// The clip with frames before its first: from `start`, which has its meshes and joints, into it.
    #[must_use]
    pub fn led_in(&self, start: Frame, lead_in: &LeadIn) -> Clip {
        let mut clip = self.with_frames(Arc::new(LedFrames {
            frames: self.frames().clone(),
            skeleton: self.skeleton.clone().unwrap_or_default(),
            skins: self.meshes.iter().map(|mesh| mesh.skin.clone()).collect(),
            rest: self.meshes.iter().map(|mesh: &Mesh| mesh.rest_points.clone()).collect(),
            lead_in: lead_in.clone(),
            start,
            ways: OnceLock::new(),
        }));
        clip.cuts.iter_mut().for_each(|cut| *cut += lead_in.count());
        clip
    }
}

struct LedFrames {
    frames: Arc<dyn Frames>,
    skeleton: Skeleton,
    /// Of every mesh.
    skins: Vec<Option<Skin>>,
    rest: Vec<Vec<[f32; 3]>>,
    lead_in: LeadIn,
    start: Frame,
    /// The first frame, and how every mesh gets there.
    ways: OnceLock<(Frame, Vec<Way>)>,
}

/// How a mesh gets from one pose to another.
enum Way {
    /// Nowhere.
    Still,
    /// With its joints. What they do not explain, at the start and in the end, is added point by point.
    Joints { skin: Skin, rest: Vec<[f32; 3]>, residuals: [Vec<Vec3>; 2] },
    /// As a whole: its middle goes straight, it turns about it, and what is left is blended.
    Whole { turn: DQuat, middles: [Vec3; 2], from: Vec<Vec3>, to: Vec<Vec3> },
}

impl LedFrames {
    fn ways(&self) -> Result<&(Frame, Vec<Way>)> {
        if let Some(ways) = self.ways.get() {
            return Ok(ways);
        }
        let first = self.frames.read(0)?;
        let next = if self.frames.has(1) { self.frames.read(1)? } else { first.clone() };
        let worlds = [&self.start.pose, &first.pose].map(|pose| self.skeleton.world_from_joints(pose));
        let ways = (0..self.start.points.len()).map(|mesh| {
            match self.start.points[mesh] == first.points[mesh] && first.points[mesh] == next.points[mesh] {
                true => Way::Still,
                false => self.way(mesh, &first, &worlds),
            }
        });
        let ways = ways.collect();
        Ok(self.ways.get_or_init(|| (first, ways)))
    }

    fn way(&self, mesh: usize, first: &Frame, worlds: &[Vec<Mat4>; 2]) -> Way {
        let (from, to) = (&self.start.points[mesh], &first.points[mesh]);
        let hung = self.skins[mesh].clone().map(|skin| (skin, self.rest[mesh].clone()));
        let hung = hung.or_else(|| hanging(from, to, worlds).map(|skin| (skin, from.clone())));
        let [from, to] = [from, to].map(|points| points.iter().map(vector).collect::<Vec<Vec3>>());
        if let Some((skin, rest)) = hung {
            let residual = |points: &[Vec3], world: &[Mat4]| -> Vec<Vec3> {
                let skinned = skin.deform(&rest, world);
                points.iter().zip(&skinned).map(|(p, q)| *p - vector(q)).collect()
            };
            let residuals = [residual(&from, &worlds[0]), residual(&to, &worlds[1])];
            return Way::Joints { skin, rest, residuals };
        }
        let (rotation, _) = rigid_motion(&from, &to);
        let middle = |points: &[Vec3]| points.iter().sum::<Vec3>() / points.len().max(1) as f64;
        let turn = DQuat::from_mat3(&rotation).normalize();
        Way::Whole { turn, middles: [middle(&from), middle(&to)], from, to }
    }

    fn blended(&self, index: usize) -> Result<Frame> {
        let (first, ways) = self.ways()?;
        let LeadIn { waiting, frames, .. } = self.lead_in;
        let s = smooth(index.saturating_sub(waiting) as f64 / frames.max(1) as f64);
        let offset = self.lead_in.offset(index)?;
        let pose: Vec<Transform> =
            self.start.pose.iter().zip(&first.pose).map(|(a, b)| blend(a, b, s as f32)).collect();
        let world = self.skeleton.world_from_joints(&pose);
        let points = ways.iter().enumerate().map(|(mesh, way)| {
            // what stands still is no part of what moves along
            let (places, offset): (Vec<Vec3>, Vec3) = match way {
                Way::Still => return first.points[mesh].clone(),
                Way::Joints { skin, rest, residuals: [before, after] } => {
                    let skinned = skin.deform(rest, &world);
                    let place = |(p, (a, b)): (&[f32; 3], (&Vec3, &Vec3))| vector(p) + a.lerp(*b, s);
                    (skinned.iter().zip(before.iter().zip(after)).map(place).collect(), offset)
                }
                Way::Whole { turn, middles: [a, b], from, to } => {
                    let [part, whole] = [DQuat::IDENTITY.slerp(*turn, s), turn.inverse()];
                    let place =
                        |(p, q): (&Vec3, &Vec3)| a.lerp(*b, s) + part * (*p - *a).lerp(whole * (*q - *b), s);
                    (from.iter().zip(to).map(place).collect(), offset)
                }
            };
            places.iter().map(|p| (*p + offset).as_vec3().to_array()).collect()
        });
        Ok(Frame { points: points.collect(), pose })
    }
}

impl Frames for LedFrames {
    fn count(&self) -> usize {
        self.lead_in.count() + self.frames.count()
    }

    fn has(&self, index: usize) -> bool {
        index.checked_sub(self.lead_in.count()).is_none_or(|index| self.frames.has(index))
    }

    fn read(&self, index: usize) -> Result<Frame> {
        match index.checked_sub(self.lead_in.count()) {
            Some(own) => self.frames.read(own),
            None => self.blended(index),
        }
    }

    fn grids(&self, index: usize) -> Result<Vec<Grid>> {
        self.frames.grids(index.saturating_sub(self.lead_in.count()))
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(index.saturating_sub(self.lead_in.count()))
    }
}

/// The joint that a mesh without a skin hangs on, if its points keep their places on one.
fn hanging(from: &[[f32; 3]], to: &[[f32; 3]], worlds: &[Vec<Mat4>; 2]) -> Option<Skin> {
    let size = Bounds::of(from.iter().map(vector)).diagonal();
    let hangs_on = |joint: &usize| {
        let locals = [0, 1].map(|k: usize| worlds[k][*joint].as_dmat4().inverse());
        from.iter().zip(to).all(|(p, q)| {
            let [p, q] = [locals[0].transform_point3(vector(p)), locals[1].transform_point3(vector(q))];
            p.distance(q) <= HANGS * size
        })
    };
    let joint = (0..worlds[0].len().min(worlds[1].len())).find(hangs_on)?;
    Some(Skin {
        binds: vec![(joint, worlds[0][joint].inverse())],
        influences: vec![vec![(0, 1.0)]; from.len()],
    })
}

fn vector(point: &[f32; 3]) -> Vec3 {
    Vec3::from(point.map(f64::from))
}

/// From 0 to 1, with no velocity and no acceleration at either end.
fn smooth(s: f64) -> f64 {
    let s = s.clamp(0.0, 1.0);
    s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
}

fn blend(a: &Transform, b: &Transform, s: f32) -> Transform {
    Transform {
        translation: a.translation.lerp(b.translation, s),
        rotation: a.rotation.slerp(b.rotation, s),
        scale: a.scale.lerp(b.scale, s),
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::FRAC_PI_2;

    use glam::{Quat, Vec3 as Vec3f};

    use super::*;
    use crate::{Joint, MemoryFrames, Placement};

    /// A bar along x that hangs on a joint at the origin, turned up in the first frame, and then carried along z.
    fn bar() -> Clip {
        let skeleton =
            Skeleton { joints: vec![Joint { name: "root".into(), parent: None, rest: Transform::IDENTITY }] };
        let rest = vec![[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.1, 0.0]];
        let skin = Skin { binds: vec![(0, Mat4::IDENTITY)], influences: vec![vec![(0, 1.0)]; 3] };
        let mut mesh = Mesh::new("bar", rest.clone(), &[[0, 1, 2]]);
        mesh.skin = Some(skin.clone());
        let frame = |z: f32| {
            let rotation = Quat::from_rotation_z(FRAC_PI_2);
            let pose = vec![Transform { translation: Vec3f::new(0.0, 0.0, z), rotation, scale: Vec3f::ONE }];
            Frame { points: vec![skin.deform(&rest, &skeleton.world_from_joints(&pose))], pose }
        };
        let frames = MemoryFrames::new((0..4).map(|k| frame(0.1 * k as f32)).collect());
        Clip::new("bar", 10.0, vec![mesh], Some(skeleton.clone()), Arc::new(frames))
    }

    #[test]
    fn joints_swing_into_the_first_frame_and_the_animation_follows_to_the_bit() {
        let bar = bar();
        let lead_in = LeadIn::new(8, 4, &bar, vec![0]);
        let led = bar.led_in(bar.rest_frame(), &lead_in);
        assert_eq!((led.frame_count(), lead_in.count()), (16, 12));
        for index in 0..4 {
            assert_eq!(led.frame(12 + index).unwrap(), bar.frame(index).unwrap());
        }
        // carried along at a metre per second all the while
        assert!(lead_in.velocity().unwrap().distance(Vec3::Z) < 1e-6);
        let tip = |index: usize| vector(&led.frame(index).unwrap().points[0][1]);
        assert!(tip(0).distance(Vec3::new(2.0, 0.0, -1.2)) < 1e-5);
        // halfway it points between the two, as long as ever
        let half = 2.0_f64 / 2.0_f64.sqrt();
        assert!(tip(4).distance(Vec3::new(half, half, -0.8)) < 1e-5, "{}", tip(4));
        assert!(tip(9).distance(Vec3::new(0.0, 2.0, -0.3)) < 1e-5, "held");
        assert!(led.has_frame(15) && !led.has_frame(16));

        // three frames more, in which it stands as it started; the rest is the same
        let lead_in = lead_in.after(3);
        let waits = bar.led_in(bar.rest_frame(), &lead_in);
        assert_eq!((waits.frame_count(), lead_in.count()), (19, 15));
        for index in 0..=3 {
            let at = vector(&waits.frame(index).unwrap().points[0][1]);
            assert!(at.distance(Vec3::new(2.0, 0.0, 0.1 * index as f64 - 1.5)) < 1e-5, "{at}");
        }
        for index in 0..16 {
            assert_eq!(waits.frame(3 + index).unwrap(), led.frame(index).unwrap());
        }
    }

    #[test]
    fn what_hangs_on_a_joint_swings_with_it_and_what_stands_still_stays() {
        let still = |name: &str| {
            let points = vec![[3.0, 0.0, 0.0], [3.0, 1.0, 0.0], [3.0, 0.0, 1.0]];
            Clip::still(Mesh::new(name, points, &[[0, 1, 2]]), 10.0, 1)
        };
        let hung = Placement { parent: Some(0), ..Placement::default() };
        let scene = bar().with_added(&still("flag"), &hung).with_added(&still("post"), &Placement::default());
        let led = scene.led_in(scene.rest_frame(), &LeadIn::new(8, 0, &scene, vec![0, 1]));
        let at = |index: usize, mesh: usize| vector(&led.frame(index).unwrap().points[mesh][0]);
        let offset = Vec3::new(0.0, 0.0, -0.4);
        let half = 3.0 / 2.0_f64.sqrt();
        assert!(at(4, 1).distance(Vec3::new(half, half, 0.0) + offset) < 1e-4, "{}", at(4, 1));
        for index in 0..9 {
            assert_eq!(at(index, 2), Vec3::new(3.0, 0.0, 0.0));
        }
    }

    #[test]
    fn without_joints_a_mesh_turns_as_a_whole() {
        let points = vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];
        let mesh = Mesh::new("disc", points.clone(), &[[0, 2, 1], [0, 1, 3]]);
        let turned = points.iter().map(|p: &[f32; 3]| [p[2], 1.0, -p[0]]).collect();
        let frames = MemoryFrames::new(vec![Frame { points: vec![turned], pose: Vec::new() }]);
        let clip = Clip::new("disc", 24.0, vec![mesh], None, Arc::new(frames));
        let led = clip.led_in(clip.rest_frame(), &LeadIn::new(6, 0, &clip, vec![0]));
        for index in 0..7 {
            let frame = led.frame(index).unwrap();
            let [a, b] = [0, 1].map(|p: usize| vector(&frame.points[0][p]));
            assert!((a.distance(b) - 2.0).abs() < 1e-6, "frame {index}: it shrinks to {}", a.distance(b));
        }
    }
}
