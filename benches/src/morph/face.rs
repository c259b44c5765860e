//! A face of 6,000 points in 60 coordinates that speaks while a ball is pressed into its cheek: up to 200 contacts a step.

use std::f64::consts::TAU;
use std::time::Instant;

use character::{
    Joint, Morph, MorphKit, MorphLaw, MorphPlayer, MorphSettings, Plasticity, Press, Skin, Target,
};
use geometry::Vec3;
use glam::{DAffine3, DMat3, DVec3, Mat4};
use solid::Material;

use super::{H, median};

const MODES: usize = 60;
const CONTACTS: usize = 200;
const FRAMES: usize = 400;
const AROUND: usize = 100;
const RINGS: usize = 60;
/// Where the jaw turns.
const HINGE: DVec3 = DVec3::new(0.0, -0.01, 0.01);
const BALL: f64 = 0.06;

/// What a frame takes.
pub(super) struct Times {
    pub(super) points: usize,
    pub(super) modes: usize,
    /// A step, the search for what is in the ball, the step again with it, and the skin twice: milliseconds.
    pub(super) contact_ms: f64,
    /// The same without the ball.
    pub(super) free_ms: f64,
    /// Contacts a frame, and how deep the deepest point is in the ball without contact and with, in metres.
    pub(super) contacts: usize,
    pub(super) deepest: [f64; 2],
}

pub(super) fn times() -> Result<Times, character::Error> {
    let kit = kit()?;
    let (free_ms, _, without) = played(&kit, false)?;
    let (contact_ms, contacts, with) = played(&kit, true)?;
    let (points, modes) = (kit.point_count(), kit.mode_count());
    Ok(Times { points, modes, contact_ms, free_ms, contacts, deepest: [without, with] })
}

/// An egg with a nose and a chin.
fn skin() -> Skin {
    let place = |around: usize, ring: usize| {
        let (a, b) =
            (TAU * around as f64 / AROUND as f64, 0.5 * TAU * (ring + 1) as f64 / (RINGS + 1) as f64);
        let p = Vec3::new(b.sin() * a.sin(), b.cos(), b.sin() * a.cos());
        let nose = 0.02 * (1.0 - (p.x.powi(2) + (p.y + 0.1).powi(2)) / 0.04).max(0.0) * p.z.max(0.0);
        let chin = 0.015 * (-p.y).max(0.0) * p.z.max(0.0);
        Vec3::new(0.085 * p.x, 0.12 * p.y, 0.1 * p.z + nose + chin)
    };
    let mut points: Vec<Vec3> =
        (0..RINGS).flat_map(|ring| (0..AROUND).map(move |around| place(around, ring))).collect();
    let (top, bottom) = (points.len() as u32, points.len() as u32 + 1);
    points.extend([Vec3::new(0.0, 0.12, 0.0), Vec3::new(0.0, -0.12, 0.0)]);
    let at = |ring: usize, around: usize| (ring * AROUND + around % AROUND) as u32;
    let mut triangles = Vec::new();
    for around in 0..AROUND {
        triangles.push([top, at(0, around), at(0, around + 1)]);
        triangles.push([bottom, at(RINGS - 1, around + 1), at(RINGS - 1, around)]);
        for ring in 0..RINGS - 1 {
            let [a, b] = [at(ring, around), at(ring, around + 1)];
            let [c, d] = [at(ring + 1, around), at(ring + 1, around + 1)];
            triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    let jaw = |p: &Vec3| {
        let below = ((-0.02 - p.y) / 0.03).clamp(0.0, 1.0);
        below * ((p.z + 0.01) / 0.05).clamp(0.0, 1.0)
    };
    let influences = points.iter().map(|p| vec![(0, 1.0 - jaw(p)), (1, jaw(p))]).collect();
    Skin { points, triangles, influences }
}

fn pose(open: f64) -> [Mat4; 2] {
    let jaw = DAffine3::from_translation(HINGE) * DAffine3::from_mat3(DMat3::from_rotation_x(open));
    [Mat4::from_translation(glam::Vec3::new(0.0, 0.0, -0.03)), Mat4::from(jaw.as_affine3())]
}

/// How far a sculpt moves a point.
type Sculpt<'a> = &'a dyn Fn(Vec3) -> Vec3;

/// As it is, smiling, puckered, and with the mouth open.
fn kit() -> Result<MorphKit, character::Error> {
    let joint = |parent, place| Joint { parent, rest_from_joint: DAffine3::from_translation(place) };
    let joints = [joint(None, DVec3::new(0.0, 0.0, -0.03)), joint(Some(0), HINGE)];
    let skin = skin();
    let points = skin.points.clone();
    let hill = |p: Vec3, c: Vec3, r: f64| (1.0 - (p.distance(c) / r).min(1.0).powi(2)).powi(2);
    let cheeks = |p: Vec3| {
        let c = Vec3::new(0.045 * p.x.signum(), -0.03, 0.085);
        hill(p, c, 0.05) * Vec3::new(0.006 * p.x.signum(), 0.01, 0.004)
    };
    let lips =
        |p: Vec3| hill(p, Vec3::new(0.0, -0.055, 0.095), 0.045) * Vec3::new(-8.0 * p.x * 0.03, 0.0, 0.012);
    let chin = |p: Vec3| hill(p, Vec3::new(0.0, -0.09, 0.06), 0.06) * Vec3::new(0.0, -0.004, -0.003);
    let settings =
        MorphSettings { tets: 6000, law: MorphLaw::Linear, channels: 2, ..MorphSettings::default() };
    let mut morph = Morph::new(&joints, skin, settings)?;
    let all: [(&str, Sculpt<'_>, f64, [f64; 2], f64); 4] = [
        ("plain", &|_| Vec3::ZERO, 0.0, [0.0, 0.0], 6e3),
        ("smile", &cheeks, 0.0, [1.0, 0.0], 2e4),
        ("pucker", &lips, 0.0, [0.0, 1.0], 3e4),
        ("open", &chin, 0.35, [0.0, 0.0], 1e4),
    ];
    for (name, sculpt, open, channels, young) in all {
        morph.add(&Target {
            name: name.into(),
            sculpt: points.iter().map(|p| *p + sculpt(*p)).collect(),
            world_from_joints: pose(open).to_vec(),
            channels: channels.to_vec(),
            material: Material { young, poisson: 0.45, density: 1000.0, damping: 0.3 },
            regions: Vec::new(),
            plasticity: Plasticity::default(),
        })?;
    }
    morph.kit(MODES, H)
}

/// Milliseconds a frame, contacts, and how deep the skin is in the ball.
fn played(kit: &MorphKit, with_contact: bool) -> Result<(f64, usize, f64), character::Error> {
    let mut player = MorphPlayer::new(kit.clone());
    let mut shown = vec![[0.0; 3]; kit.point_count()];
    let mut presses = Vec::with_capacity(CONTACTS);
    let (mut times, mut contacts, mut deepest) = (Vec::new(), Vec::new(), 0.0_f64);
    for frame in 0..FRAMES {
        let t = frame as f64 * H;
        let pose = pose(0.12 - 0.12 * (9.0 * t).cos());
        let channels = [0.5 - 0.5 * (5.0 * t).cos(), 0.4 - 0.4 * (7.0 * t).cos()];
        // into the cheek by 2 cm within half a second
        let sunk = 0.02 * (t / 0.5).min(1.0);
        let out = Vec3::new(0.75, -0.2, 0.63).normalize();
        let centre = Vec3::new(0.062, -0.025, 0.057) + (BALL + 0.002 - sunk) * out;
        let start = Instant::now();
        player.step(&pose, &channels, H)?;
        player.surface(&mut shown);
        if with_contact {
            presses.clear();
            let reach = BALL + 0.002;
            for (point, place) in shown.iter().enumerate() {
                let way = Vec3::from(place.map(f64::from)) - centre;
                let square = way.length_squared();
                if square < reach * reach && presses.len() < CONTACTS {
                    let distance = square.sqrt();
                    let depth = (BALL - distance).max(0.0);
                    presses.push(Press { point, direction: way / distance, depth, stiffness: 2e3 });
                }
            }
            player.press(&presses)?;
            player.surface(&mut shown);
        }
        times.push(1e3 * start.elapsed().as_secs_f64());
        contacts.push(presses.len() as f64);
        let depth = |p: &[f32; 3]| BALL - Vec3::from(p.map(f64::from)).distance(centre);
        deepest = shown.iter().map(depth).fold(deepest, f64::max);
    }
    // where the ball has gone in
    let late = FRAMES / 2;
    Ok((median(times.split_off(late)), median(contacts.split_off(late)) as usize, deepest))
}
