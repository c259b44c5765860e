//! A person who strolls, as a hand draws it in a hurry: feet slide, joints tremble, nobody has asked where the weight is.

use clip::{Clip, Mesh};
use geometry::Vec3;
use std::f64::consts::TAU;

use crate::motion;
use crate::paint;
use crate::person::{Gait, Person, WALK};
use crate::rig::Pose;
use crate::shapes;

/// A stroll ahead, along +z; one mesh, `body`, skinned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walker {
    /// Strides of two steps each.
    pub strides: usize,
    /// Metres that a foot slides ahead while it should stand.
    pub slide: f64,
    /// Radians by which joints tremble.
    pub tremble: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Edge length of the mesh's quads in metres.
    pub cell: f64,
}

impl Default for Walker {
    fn default() -> Self {
        Self { strides: 2, slide: 0.04, tremble: 0.012, frame_rate_hz: 48.0, cell: 0.03 }
    }
}

/// The rough stroll as it comes.
pub fn walker() -> Clip {
    Walker::default().clip()
}

/// The same stroll, still on level ground, and a ramp that it is to go up: a mesh `ramp` that rises by 10° towards +z.
pub fn hill() -> Clip {
    let walker = Walker { tremble: 0.0, slide: 0.0, ..Walker::default() };
    let ahead = Vec3::new(0.0, 10_f64.to_radians().tan(), 1.0);
    let ramp = shapes::grid(12, 4, Vec3::X * -0.8 - ahead * 0.9, ahead * 4.2, Vec3::X * 1.6);
    walker.with(vec![ramp.mesh("ramp", Some(1))])
}

/// Seconds of a stride.
const STRIDE: f64 = 1.1;

impl Person {
    /// The pose at a time in seconds.
    fn walk(&self, settings: &Walker, time: f64) -> Pose {
        let (rig, mut pose) = (&self.rig, Pose::new(&self.rig));
        let phase = time / STRIDE;
        let (swing, bob) = ((TAU * phase).cos(), (2.0 * TAU * (phase - 0.06)).cos());
        let sway = 0.022 * (TAU * (phase - 0.06)).sin();
        pose.shift(self.hips, Vec3::new(sway, -0.045 - 0.012 * bob, WALK.length * phase));
        pose.turn(self.hips, 0.03, -0.08 * swing, 0.03 * (TAU * phase).sin());
        pose.turn(self.spine[0], 0.02, 0.06 * swing, -0.02 * (TAU * phase).sin());
        pose.turn(self.spine[1], 0.0, 0.1 * swing, -0.01 * (TAU * phase).sin());
        pose.turn(self.head, -0.04, -0.06 * swing, 0.0);
        for (arm, side) in self.arms.iter().zip([1.0, -1.0]) {
            let forward = -side * swing;
            pose.turn(arm[0], -0.35 * forward + 0.05, 0.0, 0.06 * side);
            pose.turn(arm[1], -0.3 - 0.15 * forward, 0.0, 0.0);
            pose.turn(arm[2], -0.1, 0.0, 0.0);
        }
        self.stride(&Gait { slide: settings.slide, ..WALK }, &mut pose, phase);
        // trembling: fast, of no two joints alike
        for joint in 1..rig.places.len() {
            let wave = |k: f64| (TAU * (9.0 + k) * time + 1.7 * k * joint as f64).sin();
            let [x, y, z] = [wave(1.3), wave(3.1), wave(4.7)].map(|w| settings.tremble * w);
            pose.turn(joint, x, y, z);
        }
        pose
    }
}

impl Walker {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        self.with(Vec::new())
    }

    /// The same, with meshes that stand around.
    fn with(&self, scenery: Vec<Mesh>) -> Clip {
        let character = Person::new();
        let meshes = std::iter::once(character.mesh(self.cell)).chain(scenery).collect();
        let times = motion::times(self.strides as f64 * STRIDE, self.frame_rate_hz);
        let poses: Vec<Pose> = times.map(|time| character.walk(self, time)).collect();
        let mut clip = character.rig.clip("walker", self.frame_rate_hz, meshes, &poses);
        clip.materials = vec![paint::plain("suit", 0x6f8fb0), paint::plain("ramp", 0xc9bfae)];
        clip.materials.truncate(clip.meshes.len());
        clip
    }
}
