//! What an elbow keeps of its volume: a round bar, bent and twisted, by skinning and by flesh.

use clip::Clip;
use followthrough::character::{Error, Flesh, Kit, Method, Nonlinear, Player, dual_quaternions};
use followthrough::layers::{Anatomy, Skeleton, Solution};
use geometry::Vec3;
use glam::{DAffine3, Mat4};
use serde_json::{Value, json};
use shot::Target;
use solid::Law;

use super::RATE;

/// Radius of the sample's bar, the height of its axis, and half of the stretch that its skin blends over, in metres.
const RADIUS: f64 = 0.2;
const AXIS: f64 = 0.3;
const BLEND: f64 = 0.3;
/// The frame in which it is bent, or twisted, as far as it goes, after a rest.
const FARTHEST: usize = 39;

/// A bar and how it is measured.
struct Bar {
    clip: Clip,
    triangles: Vec<[u32; 3]>,
    rest: Vec<Vec3>,
    /// Poses of all frames up to the farthest.
    poses: Vec<Vec<Mat4>>,
}

impl Bar {
    fn new(bend: f64, twist: f64) -> Option<Self> {
        let elbow = samples::Elbow::default();
        let clip = samples::Elbow { bend: bend.to_radians(), twist: twist.to_radians(), ..elbow }.clip();
        let skeleton = clip.skeleton.as_ref()?;
        let pose = |k: usize| clip.frame(k).ok().map(|frame| skeleton.world_from_joints(&frame.pose));
        let poses = (0..=FARTHEST).map(pose).collect::<Option<Vec<_>>>()?;
        let mesh = &clip.meshes[0];
        Some(Self { triangles: mesh.point_triangles(), rest: mesh.rest(), poses, clip })
    }

    fn volume(&self, points: &[Vec3]) -> f64 {
        let of = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        self.triangles.iter().map(of).sum()
    }

    /// What the blended stretch gains or loses, in parts of it; the largest distance of the outer side from the bones, over the radius.
    fn measure(&self, points: &[Vec3]) -> [f64; 2] {
        let stretch = std::f64::consts::PI * RADIUS * RADIUS * 2.0 * BLEND;
        let change = (self.volume(points) - self.volume(&self.rest)) / stretch;
        let world = &self.poses[FARTHEST];
        let joint = |k: usize| world[k].w_axis.truncate().as_dvec3();
        let tip = joint(1) + world[1].x_axis.truncate().as_dvec3();
        let far = |p: &Vec3| {
            let from = |[a, b]: [Vec3; 2]| {
                let along = ((*p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
                p.distance(a.lerp(b, along))
            };
            from([joint(0), joint(1)]).min(from([joint(1), tip])) / RADIUS
        };
        // the caps at both ends are no part of it, and what bends inwards is another side
        let outer = self
            .rest
            .iter()
            .zip(points)
            .filter(|(rest, _)| rest.x.abs() < 0.6 && rest.y < AXIS - 0.5 * RADIUS);
        [change, outer.map(|(_, p)| far(p)).fold(0.0, f64::max)]
    }

    /// By linear skinning and by dual quaternions.
    fn skinned(&self) -> Option<[Vec<Vec3>; 2]> {
        let skin = self.clip.meshes[0].skin.as_ref()?;
        let world = &self.poses[FARTHEST];
        let place = |(joint, bind): &(usize, Mat4)| DAffine3::from_mat4((world[*joint] * *bind).as_dmat4());
        let moves: Vec<DAffine3> = skin.binds.iter().map(place).collect();
        let rows: Vec<Vec<(u32, f64)>> = skin
            .influences
            .iter()
            .map(|row| row.iter().map(|&(joint, w)| (joint, f64::from(w))).collect())
            .collect();
        let linear = |(p, row): (&Vec3, &Vec<(u32, f64)>)| -> Vec3 {
            row.iter().map(|&(joint, w)| w * moves[joint as usize].transform_point3(*p)).sum()
        };
        let dual = |(p, row): (&Vec3, &Vec<(u32, f64)>)| dual_quaternions(*p, row, &moves);
        let pairs = || self.rest.iter().zip(&rows);
        Some([pairs().map(linear).collect(), pairs().map(dual).collect()])
    }

    fn flesh(&self, method: Solution) -> Option<Flesh> {
        let target = Target { clip: self.clip.clone(), mesh: 0, files: clip::Files::default() };
        let settings =
            Skeleton { material: "muscle".into(), damping: Some(0.5), method, ..Skeleton::default() };
        Anatomy::new(&settings, &target).ok().map(|anatomy| anatomy.flesh)
    }

    fn played(&self, flesh: &Flesh, method: Method) -> Result<Vec<Vec3>, Error> {
        let mut player = Player::new(Kit::new(flesh, method, 1.0 / RATE)?)?;
        self.poses.iter().try_for_each(|pose| player.step(pose, 1.0 / self.clip.frame_rate_hz))?;
        Ok(flesh.surface(player.shown()))
    }

    fn engine(&self, flesh: &Flesh) -> Result<Vec<Vec3>, Error> {
        let mut engine = Nonlinear::new(flesh, Law::NeoHookean, Some(1))?;
        let seconds = 1.0 / self.clip.frame_rate_hz;
        self.poses.iter().try_for_each(|pose| engine.step(pose, seconds).map(drop))?;
        Ok(flesh.surface(engine.coefficients()))
    }
}

/// The table of the default lattice; in the answer what is bent by 120°.
pub(super) fn table() -> Result<Value, Error> {
    let mut answer = Value::Null;
    for (bend, twist) in [(90.0, 0.0), (0.0, 180.0), (120.0, 0.0)] {
        let Some(bar) = Bar::new(bend, twist) else { return Ok(Value::Null) };
        let (Some([lbs, dqs]), Some(linear), Some(corotated), Some(nonlinear)) = (
            bar.skinned(),
            bar.flesh(Solution::Blended),
            bar.flesh(Solution::Corotated),
            bar.flesh(Solution::Nonlinear),
        ) else {
            return Ok(Value::Null);
        };
        let rows = [
            ("lbs", lbs),
            ("dqs", dqs),
            ("blended", bar.played(&linear.clone().with_joints(false), Method::BlendedLinear)?),
            ("ours", bar.played(&linear.with_joints(true), Method::BlendedLinear)?),
            ("corotated", bar.played(&corotated, Method::Corotated)?),
            ("nonlinear", bar.engine(&nonlinear)?),
        ];
        let mut found = serde_json::Map::new();
        for (name, points) in rows {
            let [change, outer] = bar.measure(&points);
            println!(
                "elbow bent {bend:4.0}°, twisted {twist:4.0}°: {name:10} volume {:+6.1} %, outer side {outer:.3}",
                100.0 * change
            );
            found.insert(name.into(), json!(change));
        }
        answer = Value::Object(found);
    }
    Ok(answer)
}
