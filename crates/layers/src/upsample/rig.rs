//! From a clip's skeleton to what a game hands over: transforms of joints, capsules on bones, air.

use clip::{Clip, Frame};
use glam::{Mat4, Vec3};
use live::{Capsule, Transform};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::Diagnostic;

/// Joints of a clip by their names, with where each is at rest.
#[derive(Clone, Debug)]
pub struct Joints {
    /// Joint and `joint_from_rest`; `None` stands still.
    joints: Vec<(Option<usize>, Mat4)>,
}

/// The joint of what has no skeleton.
const ROOT: &str = "root";

impl Joints {
    /// Finds them. Rest is that of the mesh's skin, then that of others', then that of the skeleton; where the mesh hangs on a joint as a whole
    /// it is that of the skeleton. `path` is where the names come from.
    pub fn of<'a>(
        clip: &Clip,
        mesh: usize,
        names: impl IntoIterator<Item = &'a str>,
        path: &str,
    ) -> Result<Self, Diagnostic> {
        let hangs = clip.meshes.get(mesh).is_some_and(|mesh| mesh.skin.is_none() && mesh.parent.is_some());
        let find = |name: &str| -> Result<(Option<usize>, Mat4), Diagnostic> {
            let Some(skeleton) = &clip.skeleton else {
                let message =
                    format!("the animation has no skeleton, but the cloth hangs on its joint `{name}`");
                let still = (name == ROOT).then_some((None, Mat4::IDENTITY));
                return still.ok_or_else(|| Diagnostic::new(path, message));
            };
            let Some(joint) = skeleton.joint_index(name) else {
                let known = skeleton.joints.iter().map(|joint| joint.name.as_str());
                return Err(Diagnostic::unknown(path, "joint", name, known));
            };
            let own = clip.meshes.get(mesh).into_iter().chain(&clip.meshes);
            let bind = own
                .filter_map(|mesh| mesh.skin.as_ref().filter(|_| !hangs))
                .find_map(|skin| skin.binds.iter().find(|(index, _)| *index == joint).map(|(_, bind)| *bind));
            let at_rest = || skeleton.world_from_joints(&skeleton.rest_pose())[joint].inverse();
            Ok((Some(joint), bind.unwrap_or_else(at_rest)))
        };
        Ok(Self { joints: names.into_iter().map(find).collect::<Result<_, _>>()? })
    }

    /// `world_from_rest` of each in a frame.
    pub fn transforms(&self, clip: &Clip, frame: &Frame) -> Vec<Transform> {
        let world = clip.skeleton.as_ref().map(|skeleton| skeleton.world_from_joints(&frame.pose));
        let transform = |(joint, bind): &(Option<usize>, Mat4)| {
            let world_from_joint = joint.and_then(|joint| world.as_ref()?.get(joint).copied());
            let m = world_from_joint.map_or(Mat4::IDENTITY, |world_from_joint| world_from_joint * *bind);
            [0, 1, 2].map(|row| m.row(row).to_array())
        };
        self.joints.iter().map(transform).collect()
    }
}

/// A body on bones: a sphere swept along a segment while its radius changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiggedCapsule {
    /// The joint that carries it.
    pub joint: String,
    /// Centre of one end, in m, where the meshes are at rest.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub from: [f64; 3],
    /// Centre of the other end. Default: the same place; it is a ball.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub to: Option<[f64; 3]>,
    /// The joint that carries the other end. Default: the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_joint: Option<String>,
    /// Radius, in m.
    #[schemars(extend("minimum" = 1e-4, "maximum" = 1e3))]
    pub radius: f64,
    /// Radius at the other end. Default: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 1e3))]
    pub to_radius: Option<f64>,
}

impl RiggedCapsule {
    /// Names of the joints of both ends.
    pub fn joint_names(&self) -> [&str; 2] {
        [&self.joint, self.to_joint.as_deref().unwrap_or(&self.joint)]
    }

    /// At rest.
    pub fn at_rest(&self) -> Capsule {
        let single = |p: [f64; 3]| p.map(|x| x as f32);
        Capsule {
            ends: [single(self.from), single(self.to.unwrap_or(self.from))],
            radii: [self.radius as f32, self.to_radius.unwrap_or(self.radius) as f32],
        }
    }
}

/// Capsules in the world; two transforms for each, in the order of [`RiggedCapsule::joint_names`].
pub fn place_capsules(capsules: &[RiggedCapsule], transforms: &[Transform]) -> Vec<Capsule> {
    let place = |(k, capsule): (usize, &RiggedCapsule)| {
        let rigged = live::RigCapsule { joints: [0, 1], capsule: capsule.at_rest() };
        rigged.placed(&transforms[2 * k..2 * k + 2])
    };
    capsules.iter().enumerate().map(place).collect()
}

/// Air that moves, as real-time cloth knows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LiveWind {
    /// Where it blows to; its length does not matter.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub direction: [f64; 3],
    /// Mean speed, in m/s.
    #[schemars(extend("minimum" = 0.0, "maximum" = 200.0))]
    pub speed: f64,
    /// How much the speed comes and goes, as a fraction of it.
    #[schemars(extend("minimum" = 0.0, "maximum" = 2.0))]
    pub gust: f64,
}

impl Default for LiveWind {
    fn default() -> Self {
        Self { direction: [1.0, 0.0, 0.0], speed: 0.0, gust: 0.0 }
    }
}

impl LiveWind {
    /// As the run time takes it.
    pub fn velocity(&self) -> Result<live::Wind, &'static str> {
        let direction = Vec3::from_array(self.direction.map(|x| x as f32));
        let unit = direction.try_normalize().ok_or("a wind needs a direction")?;
        Ok(live::Wind { velocity: (self.speed as f32 * unit).to_array(), gusts: self.gust as f32 })
    }
}
