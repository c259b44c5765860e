//! A morph in motion, frame by frame.
//!
//! It has its own loop and not the driver's: an actor sees points of the animation, and what is followed here are joints.

use character::{FullMorph, Morph, MorphPlayer, MorphSettings, Plasticity};
use clip::Transform;
use geometry::{Bounds, Vec3};
use glam::Mat4;

use shot::{FrameResult, LayerError, Simulation, Target};

use super::poses::{between, pose, sculpt};
use super::{Morph as Settings, MorphTarget};
use crate::skeleton::anatomy::Rig;

/// Differences between a frame and its own skin below this part of the size are round-off; above, they are other morphs or another
/// layer's work, and are kept.
const ROUND_OFF: f64 = 1e-5;

pub(super) struct Alive {
    input: Target,
    mover: Mover,
    /// Names of the targets, and what each moves the points by.
    targets: Vec<(String, Vec<Vec3>)>,
    /// Morph targets of the mesh that this layer shows itself.
    own_shapes: Vec<usize>,
    /// Morph targets of the mesh that are numbers of the pose.
    channels: Vec<usize>,
    follow: Option<Vec<f32>>,
    steps: usize,
    size: f64,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

enum Mover {
    Player(Box<MorphPlayer>),
    Full(Box<FullMorph>),
}

impl Mover {
    fn step(&mut self, pose: &[Mat4], channels: &[f64], seconds: f64) -> Result<(), character::Error> {
        match self {
            Self::Player(player) => player.step(pose, channels, seconds),
            Self::Full(full) => full.step(pose, channels, seconds),
        }
    }

    fn weights(&self) -> &[f64] {
        match self {
            Self::Player(player) => player.weights(),
            Self::Full(full) => full.weights(),
        }
    }

    fn surface(&self, count: usize) -> Vec<Vec3> {
        match self {
            Self::Full(full) => full.surface(),
            Self::Player(player) => {
                let mut points = vec![[0.0; 3]; count];
                player.surface(&mut points);
                points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
            }
        }
    }

    /// Kept part of negative weights, elastic and kinetic energy.
    fn figures(&self) -> [f64; 3] {
        match self {
            Self::Player(p) => [p.limited(), p.elastic_energy(), p.kinetic_energy()],
            Self::Full(f) => [f.limited(), f.elastic_energy(), f.kinetic_energy()],
        }
    }
}

impl Alive {
    pub(super) fn new(settings: &Settings, input: &Target) -> Result<Self, LayerError> {
        let rig = Rig::of_target(input)?;
        let size = Bounds::of(rig.skin.points.iter().copied()).diagonal();
        let mesh = input.mesh();
        let dials = MorphSettings {
            tets: settings.tets,
            law: settings.forces.into(),
            kernel: settings.interpolation.into(),
            smoothing: settings.smoothing,
            channels: settings.channels.len(),
            pose_reach: None,
            gravity: Vec3::from(settings.gravity),
        };
        let mut morph = Morph::new(&rig.joints, rig.skin.clone(), dials).map_err(LayerError::new)?;
        let mut targets = Vec::new();
        for target in &settings.targets {
            let made = made(target, settings, input)?;
            let moved = made.sculpt.iter().zip(&rig.skin.points).map(|(a, b)| *a - *b).collect();
            morph.add(&made).map_err(LayerError::new)?;
            targets.push((target.name.clone(), moved));
        }
        let frame = 1.0 / input.clip.frame_rate_hz;
        let steps = (settings.steps_per_second * frame - 1e-6).ceil().max(1.0) as usize;
        let step = frame / steps as f64;
        let known = morph.known().iter().filter(|known| **known).count();
        let mut notes = vec![
            (
                "tets".into(),
                format!(
                    "{}, bones hold {known} of {} points",
                    morph.tets().tets().len(),
                    morph.tets().points().len()
                ),
            ),
            ("steps a frame".into(), steps.to_string()),
        ];
        let mut warnings = Vec::new();
        let mover = if settings.modes == 0 {
            Mover::Full(Box::new(FullMorph::new(&morph, step).map_err(LayerError::new)?))
        } else {
            let kit = morph.kit(settings.modes, step).map_err(LayerError::new)?;
            let report = kit.report();
            notes.push(("modes".into(), format!("{} of {} unknowns", report.modes, report.unknowns)));
            notes.push(("pose space".into(), format!("{} components", report.pose_components)));
            notes.push(("mass".into(), format!("{:.2} kg", report.mass)));
            for ((name, error), frequency) in report.sculpt_errors.iter().zip(&report.frequencies) {
                let of = format!("{frequency:.2} Hz; modes alone are {:.2} % from its sculpt", 100.0 * error);
                notes.push((format!("target {name}"), of));
                if *error > 0.3 {
                    warnings.push(format!(
                        "target `{name}`: tets and modes reach only {:.0} % of its sculpt, the rest does not jiggle; raise `tets` or `modes`",
                        100.0 * (1.0 - error)
                    ));
                }
            }
            let mut player = MorphPlayer::new(kit);
            player.set_iterations(if settings.forces == super::MorphForces::Linear { 1 } else { 3 });
            Mover::Player(Box::new(player))
        };
        let follow =
            settings.follow.as_ref().map(|follow| follow.weights(&input.clip, input.mesh, &input.files));
        let named = |name: &String| mesh.morph_targets.iter().position(|target| &target.name == name);
        Ok(Self {
            input: input.clone(),
            mover,
            targets,
            own_shapes: settings.targets.iter().filter_map(|target| named(target.shape.as_ref()?)).collect(),
            channels: settings.channels.iter().filter_map(named).collect(),
            follow: follow.transpose()?,
            steps,
            size,
            notes,
            warnings,
        })
    }

    /// What moves, where it has modes.
    pub(super) fn into_player(self) -> Option<MorphPlayer> {
        match self.mover {
            Mover::Player(player) => Some(*player),
            Mover::Full(_) => None,
        }
    }

    /// The way to a frame: the pose at the end of every step, and the channels there.
    fn advance(&mut self, index: usize) -> Result<(), LayerError> {
        let clip = &self.input.clip;
        let Some(skeleton) = &clip.skeleton else { return Ok(()) };
        let last = clip.frame_count() - 1;
        let pose_of = |index: usize| Ok::<Vec<Transform>, LayerError>(clip.frame(index.min(last))?.pose);
        let channels_of = |index: usize| -> Result<Vec<f64>, LayerError> {
            let weights = clip.morph_weights(index)?;
            Ok(self.channels.iter().map(|&k| f64::from(weights[self.input.mesh][k])).collect())
        };
        let seconds = 1.0 / clip.frame_rate_hz;
        if index == 0 {
            let pose = skeleton.world_from_joints(&pose_of(0)?);
            let channels = channels_of(0)?;
            return self.mover.step(&pose, &channels, 0.0).map_err(LayerError::new);
        }
        let four = [index.saturating_sub(2), index - 1, index, index + 1];
        let frames = [pose_of(four[0])?, pose_of(four[1])?, pose_of(four[2])?, pose_of(four[3])?];
        let (from, to) = (channels_of(index - 1)?, channels_of(index)?);
        for k in 1..=self.steps {
            let s = k as f64 / self.steps as f64;
            let pose = between([&frames[0], &frames[1], &frames[2], &frames[3]], s as f32);
            let channels: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a + s * (b - a)).collect();
            let pose = skeleton.world_from_joints(&pose);
            self.mover.step(&pose, &channels, seconds / self.steps as f64).map_err(LayerError::new)?;
        }
        Ok(())
    }
}

/// A target of the shot file as the engine takes it.
fn made(target: &MorphTarget, settings: &Settings, input: &Target) -> Result<character::Target, LayerError> {
    let material = target.made_of(settings).map_err(LayerError::new)?;
    let mut regions = Vec::new();
    for region in &target.regions {
        let weights = region.at.weights(&input.clip, input.mesh, &input.files)?;
        let own = region.made_of(material).map_err(LayerError::new)?;
        regions.push((weights.iter().map(|w| f64::from(*w)).collect(), own));
    }
    let elastic = Plasticity::default();
    Ok(character::Target {
        name: target.name.clone(),
        sculpt: sculpt(target, input)?,
        world_from_joints: pose(target, input)?,
        channels: target.channels.clone(),
        material,
        regions,
        plasticity: Plasticity {
            yield_strain: target.yield_strain.unwrap_or(elastic.yield_strain),
            creep: target.creep,
        },
    })
}

impl Simulation for Alive {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        self.advance(index)?;
        let mut frame = self.input.clip.frame(index)?;
        let mesh = self.input.mesh();
        let (Some(skeleton), Some(skin)) = (&self.input.clip.skeleton, &mesh.skin) else {
            return Ok(frame.into());
        };
        let pose = skeleton.world_from_joints(&frame.pose);
        let points = self.mover.surface(mesh.point_count());
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(LayerError::new(format!("point {point} left the world"))
                .with_help("raise `damping` or `young` of the targets"));
        }
        // what the animation has beside its skin and the shapes that are shown here
        let shown = self.input.clip.morph_weights(index)?;
        let mut rest = mesh.rest_points.clone();
        for &k in &self.own_shapes {
            let weight = shown[self.input.mesh][k];
            for (p, offset) in rest.iter_mut().zip(&mesh.morph_targets[k].offsets) {
                (0..3).for_each(|axis| p[axis] += weight * offset[axis]);
            }
        }
        let skinned = skin.deform(&rest, &pose);
        let weights = self.mover.weights();
        let mut sculpted = mesh.rest();
        for (weight, (_, moved)) in weights.iter().zip(&self.targets) {
            sculpted.iter_mut().zip(moved).for_each(|(p, moved)| *p += *weight * *moved);
        }
        let sculpted: Vec<[f32; 3]> = sculpted.iter().map(|p| p.as_vec3().to_array()).collect();
        let sculpted = skin.deform(&sculpted, &pose);
        let (mut far, mut apart) = (0.0_f64, 0.0);
        for (k, place) in frame.points[self.input.mesh].iter_mut().enumerate() {
            let given = Vec3::from(place.map(f64::from));
            let extra = given - Vec3::from(skinned[k].map(f64::from));
            let extra = if extra.length() > ROUND_OFF * self.size { extra } else { Vec3::ZERO };
            let moved = points[k] + extra;
            far = far.max(moved.distance(given));
            apart += points[k].distance_squared(Vec3::from(sculpted[k].map(f64::from)));
            let keep = self.follow.as_ref().map_or(0.0, |follow| f64::from(follow[k]));
            // weight 1: the input itself, to the bit
            if keep < 1.0 {
                *place = (moved + keep * (given - moved)).as_vec3().to_array();
            }
        }
        let mut result = FrameResult::from(frame);
        for (weight, (name, _)) in weights.iter().zip(&self.targets) {
            result.figures.add(format!("targets/{name}"), "", *weight);
        }
        let [kept, elastic, kinetic] = self.mover.figures();
        result.figures.add("energy/elastic", "J", elastic);
        result.figures.add("energy/kinetic", "J", kinetic);
        result.figures.add("from the animation/farthest", "m", far);
        result.figures.add("from the sculpts/rms", "m", (apart / points.len().max(1) as f64).sqrt());
        result.figures.add("negative weights/kept", "%", 100.0 * kept);
        if index == 0 {
            result.warnings = self.warnings.clone();
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        match &self.mover {
            Mover::Player(player) => player.checkpoint(),
            Mover::Full(full) => full.checkpoint(),
        }
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        match &mut self.mover {
            Mover::Player(player) => player.restore(checkpoint),
            Mover::Full(full) => full.restore(checkpoint),
        }
        .map_err(LayerError::new)
    }

    fn notes(&self) -> Vec<(String, String)> {
        self.notes.clone()
    }
}
