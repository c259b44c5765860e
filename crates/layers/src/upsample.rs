//! `upsample`: fine cloth over coarse, as a game shows it. All of it is done by the crate `live`: what is baked is what is shown
//! live, to the bit. *upsample* 2011.

mod rig;

use clip::{FilePath, Mesh};
use geometry::Prolongation;
use live::{Capsule, Detail, Frame, LiveCloth, Operator, Plane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, FrameResult, Layer, LayerError, Reshape, Settings, Simulation, Target};

use crate::shared::idle::Idle;

pub use rig::{Joints, LiveWind, RiggedCapsule, place_capsules};

/// Shows fine cloth over a coarse one by an operator that was learnt with `followthrough train`. The mesh is the one that is shown, or the
/// one that is simulated: then the fine one takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upsample {
    /// The operator file, as `followthrough train` writes it.
    pub operator: FilePath,
    /// Where the coarse cloth comes from.
    #[serde(default)]
    pub coarse: CoarseSource,
    /// How much of the learnt folds is shown: 0 is smooth, 1 as learnt, more exaggerates.
    #[serde(default = "one")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 4.0))]
    pub detail: f64,
    /// Whether folds fade where a shape is far from all that were learnt.
    #[serde(default = "yes")]
    pub fades: bool,
    /// Air that moves. Default: still.
    #[serde(default)]
    pub wind: LiveWind,
    /// Bodies besides those of the operator that the cloth must not enter; at most 32.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub obstacles: Vec<RiggedCapsule>,
    /// Height of a floor that the cloth lies on, in m. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub floor: Option<f64>,
    /// Seconds of simulation before the first frame, with the animation held at it.
    #[serde(default = "half")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 60.0))]
    pub pre_roll: f64,
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn half() -> f64 {
    0.5
}

/// Where a coarse cloth comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoarseSource {
    /// It is simulated here, as the game would.
    #[default]
    Simulated,
    /// The animation has it, of whatever origin: the layer's mesh is the coarse one.
    Animated,
}

impl Settings for Upsample {
    const KIND: &'static str = "upsample";
    const SUMMARY: &'static str = "fine cloth over a coarse one, as a game shows it";
    const VERSION: u32 = 5;
}

/// Which of an operator's meshes one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorMesh {
    /// The one that is shown.
    Fine,
    /// The one that is simulated.
    Coarse,
}

impl OperatorMesh {
    /// Finds out by points and triangles; otherwise the sentence with both counts.
    pub fn of<B: AsRef<[u8]>>(operator: &Operator<B>, mesh: &Mesh) -> Result<Self, live::Error> {
        let triangles = mesh.point_triangles();
        match operator.check_mesh(true, &mesh.rest_points, &triangles) {
            Ok(()) => Ok(Self::Fine),
            Err(other) => match operator.check_mesh(false, &mesh.rest_points, &triangles) {
                Ok(()) => Ok(Self::Coarse),
                Err(_) => Err(other),
            },
        }
    }
}

/// The operator's fine mesh in the place of its coarse one.
pub fn fine_in_place_of<B: AsRef<[u8]>>(
    operator: &Operator<B>,
    coarse: &Mesh,
) -> Result<Reshape, LayerError> {
    let rest: Vec<[f32; 3]> = operator.fine_rest().collect();
    let triangles: Vec<[u32; 3]> = operator.fine_triangles().collect();
    let mut mesh = Mesh::new(coarse.name.clone(), rest, &triangles);
    let material = coarse.parts.first().and_then(|part| part.material);
    mesh.parts.iter_mut().for_each(|part| part.material = material);
    let (prolongation, _) =
        Prolongation::by_closest_point(&coarse.rest(), &coarse.point_triangles(), &mesh.rest())
            .ok_or_else(|| LayerError::new("the coarse mesh has no triangles"))?;
    Ok(Reshape { mesh, prolongation })
}

impl Upsample {
    fn open(&self, input: &Target) -> Result<Operator<Vec<u8>>, Diagnostic> {
        let say = |sentence: String| Diagnostic::new("operator", sentence);
        let help = "`followthrough train` writes operators";
        let bytes = input.files.read(input.files.path(&self.operator));
        let bytes = bytes.map_err(|error| say(error.to_string()).with_help(help))?;
        let name = self.operator.display();
        let operator =
            Operator::read(bytes).map_err(|error| say(format!("{name}: {error}")).with_help(help))?;
        let which = OperatorMesh::of(&operator, input.mesh()).map_err(|error| {
            let mesh = &input.mesh().name;
            say(format!("mesh `{mesh}`: {error}"))
                .with_help("name the mesh that it was trained for, or train again")
        })?;
        if self.coarse == CoarseSource::Animated && which == OperatorMesh::Fine {
            let message =
                format!("mesh `{}` is the one that is shown: it has no coarse points", input.mesh().name);
            return Err(Diagnostic::new("coarse", message)
                .with_help("name the mesh that the operator simulates, or leave out `coarse`"));
        }
        Ok(operator)
    }

    fn joints(&self, input: &Target, operator: &Operator<Vec<u8>>) -> Result<Joints, Diagnostic> {
        Joints::of(&input.clip, input.mesh, operator.joints(), "operator")
    }

    fn obstacle_joints(&self, input: &Target) -> Result<Joints, Diagnostic> {
        let names = self.obstacles.iter().flat_map(RiggedCapsule::joint_names);
        Joints::of(&input.clip, input.mesh, names, "obstacles")
    }
}

impl Layer for Upsample {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let operator = match self.open(input) {
            Ok(operator) => operator,
            Err(diagnostic) => return vec![diagnostic],
        };
        let found = [
            self.joints(input, &operator).err(),
            self.obstacle_joints(input).err(),
            self.wind.velocity().err().map(|sentence| Diagnostic::new("wind.direction", sentence)),
        ];
        found.into_iter().flatten().collect()
    }

    fn idle(&self, _: &Target) -> Vec<Diagnostic> {
        let (calm, mut idle) = (LiveWind::default(), Idle::default());
        if self.wind.speed == 0.0 {
            let turned =
                [("direction", self.wind.direction != calm.direction), ("gust", self.wind.gust != calm.gust)];
            idle.say("wind.", &turned, "`wind.speed` is 0");
        }
        if self.detail == 0.0 {
            idle.say("", &[("fades", !self.fades)], "`detail` is 0: there are no folds");
        }
        for (k, obstacle) in self.obstacles.iter().enumerate() {
            let is_ball = obstacle.to.is_none() && obstacle.to_joint.is_none();
            let turned = [("to_radius", is_ball && obstacle.to_radius.is_some())];
            idle.say(&format!("obstacles[{k}]."), &turned, "without `to` or `to_joint` it is a ball");
        }
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        !mesh.faces.is_empty()
    }

    fn reshape(&self, input: &Target) -> Result<Option<Reshape>, LayerError> {
        let operator = self.open(input).map_err(LayerError::new)?;
        match OperatorMesh::of(&operator, input.mesh()) {
            Ok(OperatorMesh::Coarse) => fine_in_place_of(&operator, input.mesh()).map(Some),
            _ => Ok(None),
        }
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let operator = self.open(input).map_err(LayerError::new)?;
        let joints = self.joints(input, &operator).map_err(LayerError::new)?;
        let obstacle_joints = self.obstacle_joints(input).map_err(LayerError::new)?;
        let mut cloth = LiveCloth::new(operator).map_err(failed)?;
        cloth.detail = Detail { strength: self.detail as f32, fades: self.fades };
        let wind = self.wind.velocity().map_err(LayerError::new)?;
        let planes: Vec<Plane> =
            self.floor.iter().map(|y| Plane { normal: [0.0, 1.0, 0.0], offset: *y as f32 }).collect();
        Ok(Box::new(UpsampleSimulation {
            settings: self.clone(),
            input: input.clone(),
            cloth,
            joints,
            obstacle_joints,
            wind,
            planes,
            done: 0,
        }))
    }
}

fn failed(error: live::Error) -> LayerError {
    LayerError::new(error.to_string())
}

/// The cloth as the game has it, frame by frame.
struct UpsampleSimulation {
    settings: Upsample,
    input: Target,
    cloth: LiveCloth<Vec<u8>>,
    joints: Joints,
    obstacle_joints: Joints,
    wind: live::Wind,
    planes: Vec<Plane>,
    /// Frames that were shown.
    done: usize,
}

impl UpsampleSimulation {
    fn advance(&mut self, index: usize) -> Result<(), LayerError> {
        let clip = &self.input.clip;
        let seconds = (1.0 / clip.frame_rate_hz) as f32;
        let input = clip.frame(index)?;
        let skin = self.joints.transforms(clip, &input);
        let obstacles =
            place_capsules(&self.settings.obstacles, &self.obstacle_joints.transforms(clip, &input));
        let frame = Frame {
            skin: &skin,
            wind: self.wind,
            obstacles: &obstacles,
            planes: &self.planes,
            ..Frame::new(seconds)
        };
        match self.settings.coarse {
            CoarseSource::Animated => {
                let rig = self.cloth.operator().capsules().map(|rigged| rigged.placed(&skin));
                let bodies: Vec<Capsule> = rig.chain(obstacles.iter().copied()).collect();
                self.cloth.show(&input.points[self.input.mesh], &frame, &bodies).map_err(failed)?;
            }
            CoarseSource::Simulated => {
                let rate = clip.frame_rate_hz;
                let held = if index == 0 { (self.settings.pre_roll * rate).ceil() as usize } else { 0 };
                for _ in 0..=held {
                    self.cloth.advance(&frame).map_err(failed)?;
                }
            }
        }
        self.done = index + 1;
        Ok(())
    }
}

impl Simulation for UpsampleSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        if index == 0 {
            self.cloth.reset();
        }
        self.advance(index)?;
        let mut frame = self.input.clip.frame(index)?;
        frame.points[self.input.mesh] = self.cloth.points().to_vec();
        let mut result = FrameResult::from(frame);
        let applied = self.cloth.applied();
        result.figures.add("known ground/distance over the farthest learnt", "", f64::from(applied.distance));
        result.figures.add("folds/shown", "%", 100.0 * f64::from(applied.shown));
        if self.settings.coarse == CoarseSource::Simulated {
            let stretch = f64::from(self.cloth.simulator().stretch());
            result.figures.add("coarse stretch/max", "%", 100.0 * stretch);
        }
        Ok(result)
    }

    /// How many frames were shown: a frame takes less time than a file, so they are shown again.
    fn checkpoint(&self) -> Vec<u8> {
        (self.done as u64).to_le_bytes().to_vec()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let Ok(done) = checkpoint.try_into().map(u64::from_le_bytes) else {
            return Err(LayerError::new("the checkpoint is not one of this layer"));
        };
        if done as usize > self.input.clip.frame_count() {
            return Err(LayerError::new("the checkpoint is not one of this layer"));
        }
        self.cloth.reset();
        (0..done as usize).try_for_each(|index| self.advance(index))
    }

    fn notes(&self) -> Vec<(String, String)> {
        let counts = self.cloth.operator().counts();
        vec![
            ("points".into(), format!("{} simulated, {} shown", counts.coarse, counts.fine)),
            ("rank of the folds".into(), counts.rank.to_string()),
            ("vector kernel".into(), live::Kernel::detect().name().into()),
        ]
    }
}
