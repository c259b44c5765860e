//! Walks in eleven styles: what a prior of walking learns from.

use clip::{Clip, Mesh};
use geometry::Vec3;
use std::f64::consts::TAU;

use crate::motion;
use crate::paint;
use crate::person::{ARMS_CLEAR, Gait, Person};
use crate::rig::Pose;
use crate::shapes;

/// How a person walks, along +z; one mesh, `body`, skinned. Angles in rad, lengths in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Seconds of a stride of two steps.
    pub stride: f64,
    /// Metres of a stride.
    pub length: f64,
    /// Share of a stride for which a foot stands.
    pub stance: f64,
    /// How high feet are carried.
    pub lift: f64,
    /// How far the hips are below a straight leg.
    pub crouch: f64,
    /// How much they go up and down, and to the sides.
    pub bob: [f64; 2],
    /// How far trunk and head are bent ahead.
    pub bend: [f64; 2],
    /// How far shoulders turn against hips.
    pub twist: f64,
    /// How far arms swing, are held out, and are bent.
    pub arms: [f64; 3],
}

impl Style {
    /// Every day's.
    pub const NORMAL: Self = Self {
        stride: 1.1,
        length: 0.9,
        stance: 0.62,
        lift: 0.07,
        crouch: 0.045,
        bob: [0.012, 0.022],
        bend: [0.05, -0.04],
        twist: 0.08,
        arms: [0.35, 0.06, 0.3],
    };

    /// Slow, low, feet high, elbows bent.
    pub const SNEAKY: Self = Self {
        stride: 1.7,
        length: 0.72,
        lift: 0.15,
        crouch: 0.15,
        bend: [0.42, -0.3],
        twist: 0.12,
        arms: [0.25, 0.12, 1.2],
        ..Self::NORMAL
    };

    /// Upright, wide arms, long steps.
    pub const PROUD: Self = Self {
        stride: 1.15,
        length: 1.0,
        crouch: 0.06,
        bob: [0.016, 0.03],
        bend: [-0.1, -0.12],
        twist: 0.12,
        arms: [0.5, 0.2, 0.25],
        ..Self::NORMAL
    };

    /// A sneaky walk that is none of the eleven: quicker, with longer steps.
    pub const SNEAK: Self = Self { stride: 1.5, length: 0.8, ..Self::SNEAKY };

    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 11] = [
        ("normal", Self::NORMAL),
        ("sneaky", Self::SNEAKY),
        ("proud", Self::PROUD),
        (
            "tired",
            Self {
                stride: 1.4,
                length: 0.7,
                crouch: 0.07,
                bend: [0.3, 0.3],
                arms: [0.15, 0.04, 0.2],
                ..Self::NORMAL
            },
        ),
        (
            "brisk",
            Self {
                stride: 0.95,
                length: 1.05,
                crouch: 0.07,
                arms: [0.5, 0.06, 0.7],
                twist: 0.12,
                ..Self::NORMAL
            },
        ),
        (
            "marching",
            Self { stride: 1.0, lift: 0.16, bend: [-0.03, -0.02], arms: [0.6, 0.05, 0.1], ..Self::NORMAL },
        ),
        (
            "cautious",
            Self {
                stride: 1.5,
                length: 0.55,
                stance: 0.68,
                crouch: 0.08,
                arms: [0.06, 0.35, 0.9],
                ..Self::NORMAL
            },
        ),
        (
            "swaggering",
            Self { stride: 1.2, bob: [0.014, 0.045], twist: 0.18, arms: [0.35, 0.28, 0.4], ..Self::NORMAL },
        ),
        (
            "stooping",
            Self {
                stride: 1.3,
                length: 0.75,
                crouch: 0.11,
                bend: [0.6, -0.4],
                arms: [0.25, 0.05, 0.5],
                ..Self::NORMAL
            },
        ),
        (
            "stiff",
            Self { length: 0.8, bob: [0.012, 0.01], twist: 0.01, arms: [0.02, 0.04, 0.08], ..Self::NORMAL },
        ),
        ("small", Self { stride: 0.8, length: 0.5, crouch: 0.03, arms: [0.2, 0.06, 0.4], ..Self::NORMAL }),
    ];

    /// The pose at a time in seconds.
    fn pose(&self, person: &Person, time: f64) -> Pose {
        let mut pose = Pose::new(&person.rig);
        let phase = time / self.stride;
        let (swing, side) = ((TAU * phase).cos(), (TAU * phase).sin());
        let bob = (2.0 * TAU * (phase - 0.06)).cos();
        let sway = self.bob[1] * (TAU * (phase - 0.06)).sin();
        pose.shift(person.hips, Vec3::new(sway, -self.crouch - self.bob[0] * bob, self.length * phase));
        pose.turn(person.hips, 0.3 * self.bend[0], -self.twist * swing, 0.03 * side);
        pose.turn(person.spine[0], 0.35 * self.bend[0], 0.75 * self.twist * swing, -0.02 * side);
        pose.turn(person.spine[1], 0.35 * self.bend[0], 1.25 * self.twist * swing, -0.01 * side);
        pose.turn(person.head, self.bend[1], -0.75 * self.twist * swing, 0.0);
        let [reach, out, bent] = self.arms;
        for (arm, side) in [1.0, -1.0].into_iter().enumerate() {
            let forward = -side * swing;
            // arms hang down whatever the trunk does
            let upper = [-reach * forward + 0.05 - 0.6 * self.bend[0], 0.0, out * side];
            let lower = [-bent - 0.4 * reach * forward, 0.0, 0.0];
            person.turn_arm(&mut pose, arm, [upper, lower, [-0.1, 0.0, 0.0]]);
        }
        let gait = Gait {
            length: self.length,
            stance: self.stance,
            flat: 0.68 * self.stance,
            push_off: 0.6,
            lift: self.lift,
            slide: 0.0,
        };
        person.stride(&gait, &mut pose, phase);
        pose
    }

    /// So many strides, from a phase on.
    pub fn clip(&self, strides: f64, from: f64, frame_rate_hz: f64) -> Clip {
        self.with(strides, from, frame_rate_hz, Vec::new())
    }

    /// The same, with meshes that stand around.
    fn with(&self, strides: f64, from: f64, frame_rate_hz: f64, scenery: Vec<Mesh>) -> Clip {
        let person = Person::with_arms_out(ARMS_CLEAR);
        let times = motion::times(strides * self.stride, frame_rate_hz);
        let poses: Vec<Pose> = times.map(|time| self.pose(&person, time + from * self.stride)).collect();
        let meshes = std::iter::once(person.mesh(0.04)).chain(scenery).collect();
        let mut clip = person.rig.clip("walk", frame_rate_hz, meshes, &poses);
        clip.materials = vec![paint::plain("suit", 0x6f8fb0), paint::plain("ground", 0xc9bfae)];
        clip.materials.truncate(clip.meshes.len());
        clip
    }
}

/// Where the hurdle stands, its height, and how thick it is on top and at the ground, in m.
const HURDLE: [f64; 4] = [1.35, 0.24, 0.06, 0.16];

/// A walk with long steps that knows of nothing in its way, and ground with a hurdle across it: a mesh `ground`, 24 cm high between the fourth
/// footstep and the fifth.
pub fn hurdle() -> Clip {
    let style = Style { stride: 1.6, length: 1.2, crouch: 0.105, lift: 0.09, ..Style::NORMAL };
    let [middle, height, top, foot] = HURDLE;
    let profile = [
        (-0.5, 0.0),
        (middle - 0.5 * foot, 0.0),
        (middle - 0.5 * top, height),
        (middle + 0.5 * top, height),
        (middle + 0.5 * foot, 0.0),
        (3.1, 0.0),
    ];
    let last = profile.len() - 1;
    let flat = shapes::grid(last, 2, Vec3::X * -0.7, Vec3::Z * last as f64, Vec3::X * 1.4);
    let ground = flat.map(|p| {
        let (z, y) = profile[(p.z.round() as usize).min(last)];
        Vec3::new(p.x, y, z)
    });
    style.with(2.0, 0.0, 30.0, vec![ground.mesh("ground", Some(1))])
}
