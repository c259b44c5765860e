//! A motion as a layer: its frames are the fine half of pairs. So pairs are baked, kept and resumed as everything else is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clip::FilePath;
use layers::{
    Joints, LiveWind, MaterialDials, OperatorMesh, RiggedCapsule, fine_in_place_of, place_capsules,
};
use live::{Capsule, Operator, Parts, Transform};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::Material;
use shot::{FrameResult, Layer, LayerError, Reshape, Settings, Simulation, Target};
use upsample::{Harmonics, Motion, Tracker, Tracking};

/// The fine half of pairs: a shell that tracks the coarse cloth of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pairing {
    /// Both meshes and the rig.
    pub(crate) operator: FilePath,
    pub(crate) material: String,
    #[serde(default)]
    pub(crate) fabric: MaterialDials,
    pub(crate) tests: usize,
    pub(crate) substeps: usize,
    pub(crate) settle: f64,
    #[serde(default)]
    pub(crate) wind: LiveWind,
    #[serde(default)]
    pub(crate) obstacles: Vec<RiggedCapsule>,
}

impl Settings for Pairing {
    const KIND: &'static str = "pairing";
    const SUMMARY: &'static str = "fine cloth that tracks the coarse cloth of a game";
    const VERSION: u32 = 4;
}

/// What a motion hands to the coarse simulation.
pub(crate) struct Handed {
    pub(crate) skin: Vec<Vec<Transform>>,
    pub(crate) obstacles: Vec<Vec<Capsule>>,
    pub(crate) wind: live::Wind,
    pub(crate) frame_rate_hz: f64,
    pub(crate) settle: f64,
}

impl Handed {
    /// Reads joints and obstacles of every frame.
    pub(crate) fn new(pairing: &Pairing, parts: &Parts, input: &Target) -> Result<Self, LayerError> {
        let (clip, mesh) = (&input.clip, input.mesh);
        let names = parts.joints.iter().map(String::as_str);
        let joints = Joints::of(clip, mesh, names, "joints").map_err(LayerError::new)?;
        let names = pairing.obstacles.iter().flat_map(RiggedCapsule::joint_names);
        let carriers = Joints::of(clip, mesh, names, "obstacles").map_err(LayerError::new)?;
        let (mut skin, mut obstacles) = (Vec::new(), Vec::new());
        for index in 0..clip.frame_count() {
            let frame = clip.frame(index)?;
            skin.push(joints.transforms(clip, &frame));
            obstacles.push(place_capsules(&pairing.obstacles, &carriers.transforms(clip, &frame)));
        }
        let wind = pairing.wind.velocity().map_err(LayerError::new)?;
        Ok(Self { skin, obstacles, wind, frame_rate_hz: clip.frame_rate_hz, settle: pairing.settle })
    }

    /// As the simulations take it.
    pub(crate) fn with_motion<T>(&self, work: impl FnOnce(&Motion<'_>) -> T) -> T {
        let last = self.skin.len().saturating_sub(1);
        let index = |time: f64| ((time * self.frame_rate_hz).round().max(0.0) as usize).min(last);
        work(&Motion {
            frame_rate_hz: self.frame_rate_hz,
            frames: self.skin.len(),
            settle: self.settle,
            skin: &|time| self.skin[index(time)].clone(),
            wind: self.wind,
            obstacles: &|time| self.obstacles[index(time)].clone(),
            planes: &[],
        })
    }
}

impl Pairing {
    fn open(&self, input: &Target) -> Result<Operator<Vec<u8>>, LayerError> {
        let bytes = input.files.read(input.files.path(&self.operator))?;
        Operator::read(bytes).map_err(|error| LayerError::new(error.to_string()))
    }

    pub(crate) fn material(&self) -> Result<Material, LayerError> {
        let material = self.fabric.of(&self.material).map_err(LayerError::new)?;
        // it folds where it is pushed together, as the coarse one does not
        Ok(Material { compression: self.fabric.sheet.compression.unwrap_or(1.0), ..material })
    }
}

impl Layer for Pairing {
    fn reshape(&self, input: &Target) -> Result<Option<Reshape>, LayerError> {
        let operator = self.open(input)?;
        match OperatorMesh::of(&operator, input.mesh()) {
            Ok(OperatorMesh::Fine) => Ok(None),
            Ok(OperatorMesh::Coarse) => fine_in_place_of(&operator, input.mesh()).map(Some),
            Err(error) => {
                let sentence = format!("mesh `{}` of this motion: {error}", input.mesh().name);
                Err(LayerError::new(sentence).with_help("motions must move the same meshes as are trained"))
            }
        }
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let parts = Parts::bare(&self.open(input)?);
        let handed = Handed::new(self, &parts, input)?;
        let rest: Vec<geometry::Vec3> =
            parts.fine.rest.iter().map(|p| geometry::Vec3::from(p.map(f64::from))).collect();
        let tests = self.tests.min(rest.len());
        let harmonics = Harmonics::new(&rest, &parts.fine.triangles, tests).map_err(LayerError::new)?;
        let tracking = Tracking { tests, material: self.material()?, substeps: self.substeps };
        let tracker = handed
            .with_motion(|motion| Tracker::new(&parts, &harmonics, motion, &tracking))
            .map_err(LayerError::new)?;
        Ok(Box::new(Baking { input: input.clone(), tracker }))
    }
}

struct Baking {
    input: Target,
    tracker: Tracker,
}

impl Simulation for Baking {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let fine = self.tracker.frame(index).map_err(LayerError::new)?;
        let points = fine.iter().map(|p| p.as_vec3().to_array()).collect();
        let mut frame = self.input.clip.frame(index)?;
        frame.points[self.input.mesh] = points;
        Ok(frame.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.tracker.to_bytes()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        match self.tracker.restore(checkpoint) {
            true => Ok(()),
            false => Err(LayerError::new("the checkpoint is not one of this motion")),
        }
    }

    fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.tracker.cancel_by(flag);
    }
}
