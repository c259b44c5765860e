//! Flesh in motion, frame by frame.

use character::{Kit, Method, Nonlinear, Player};
use dynamics::{CUT_SIZES, Steps, middle};
use geometry::{Bounds, Vec3};
use glam::Mat4;
use solid::Law;

use shot::{FrameResult, LayerError, Simulation, Target};

use super::anatomy::volume;
use super::swing::Swing;
use super::{Anatomy, Skeleton, Solution};
use crate::shared::middles::Middles;

/// Differences between a frame and its own skin below this part of the size are round-off; above, they are morphs or another layer's
/// work, and are kept.
const ROUND_OFF: f64 = 1e-5;

pub(super) struct Living {
    input: Target,
    anatomy: Anatomy,
    swing: Swing,
    mover: Mover,
    follow: Option<Vec<f32>>,
    pre_roll: f64,
    size: f64,
    rest_volume: f64,
    middles: Middles,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

enum Mover {
    Player(Box<Player>),
    Engine(Box<Nonlinear>),
}

impl Living {
    pub(super) fn new(settings: &Skeleton, input: &Target) -> Result<Self, LayerError> {
        let anatomy = Anatomy::new(settings, input)?;
        let (flesh, names) = (&anatomy.flesh, &anatomy.names);
        let frame = 1.0 / input.clip.frame_rate_hz;
        let steps = (settings.steps_per_second * frame - 1e-6).ceil().max(1.0);
        let player = |method: Method| -> Result<Mover, character::Error> {
            Ok(Mover::Player(Box::new(Player::new(Kit::new(flesh, method, frame / steps)?)?)))
        };
        let mover = match settings.method {
            Solution::Blended => player(Method::BlendedLinear),
            Solution::Linear => player(Method::GlobalLinear),
            Solution::Nonlinear => {
                Nonlinear::new(flesh, Law::NeoHookean, None).map(|engine| Mover::Engine(Box::new(engine)))
            }
        };
        let mover = mover.map_err(LayerError::new)?;
        let follow =
            settings.follow.as_ref().map(|follow| follow.weights(&input.clip, input.mesh, &input.files));
        let report = flesh.report();
        let mut warnings = Vec::new();
        for &bone in &report.soft_bones {
            let joint = flesh.bones().0[bone].joint;
            warnings.push(format!(
                "the bone of joint `{}` could not be made an edge of the lattice and is held softly; raise `cells`",
                names[joint]
            ));
        }
        let notes = vec![
            ("lattice".into(), format!("{} cells, {} points", report.cells, report.points)),
            ("functions".into(), format!("{}, of which bones hold {}", report.functions, report.known)),
            ("bones".into(), format!("{}, regions {}", report.bones, report.regions)),
            ("mass".into(), format!("{:.2} kg in {:.4} m³", report.mass, report.volume)),
            ("meshes".into(), anatomy.meshes.len().to_string()),
            (
                "steps a frame".into(),
                if settings.method == Solution::Nonlinear { "by accuracy".into() } else { steps.to_string() },
            ),
        ];
        let size = Bounds::of(anatomy.skin.points.iter().copied()).diagonal();
        let rest_volume = volume(|v| anatomy.skin.points[v as usize], &anatomy.skin.triangles);
        Ok(Self {
            input: input.clone(),
            mover,
            follow: follow.transpose()?,
            pre_roll: settings.pre_roll,
            size,
            rest_volume,
            middles: Middles::default(),
            notes,
            warnings,
            swing: Swing::new(&anatomy, input, &settings.free),
            anatomy,
        })
    }

    fn advance(&mut self, pose: &[Mat4], seconds: f64) -> Result<(), LayerError> {
        match &mut self.mover {
            Mover::Player(player) => player.step(pose, seconds),
            Mover::Engine(engine) => engine.step(pose, seconds).map(|_| ()),
        }
        .map_err(LayerError::new)
    }

    /// Steps so far in which flesh was held back.
    fn held_back(&self) -> u64 {
        match &self.mover {
            Mover::Player(player) => player.held_back(),
            Mover::Engine(_) => 0,
        }
    }

    /// How far the joints go from frame to frame.
    fn steps(&mut self, index: usize) -> Result<Steps, LayerError> {
        let clip = self.input.clip.clone();
        self.middles.steps(index, &clip, |frame| {
            let Some(skeleton) = &clip.skeleton else { return Ok(Vec3::ZERO) };
            let joints = skeleton.world_from_joints(&clip.frame(frame)?.pose);
            let places: Vec<Vec3> = joints.iter().map(|joint| joint.w_axis.truncate().as_dvec3()).collect();
            Ok(middle(&places))
        })
    }

    /// At the first frame, after a pre-roll in which the character comes along in its first pose.
    fn begin(&mut self, pose: &[Mat4], steps: &Steps) -> Result<(), LayerError> {
        let rate = self.input.clip.frame_rate_hz;
        let motions = [1, 2].map(|offset| steps.motion(offset, CUT_SIZES * self.size));
        let drift = rate * motions.into_iter().flatten().next().unwrap_or_default();
        let frames = (self.pre_roll * rate).round() as i32;
        let at = |frame: i32| -> Vec<Mat4> {
            let shift = Mat4::from_translation((f64::from(frame) / rate * drift).as_vec3());
            pose.iter().map(|joint| if frame == 0 { *joint } else { shift * *joint }).collect()
        };
        self.advance(&at(-frames), 0.0)?;
        match &mut self.mover {
            Mover::Player(player) => player.drift(drift),
            Mover::Engine(engine) => engine.drift(drift),
        }
        (1 - frames..=0).try_for_each(|frame| self.advance(&at(frame), 1.0 / rate))
    }

    /// From the frame before to this one; true across a cut, where flesh is carried along.
    fn go_on(&mut self, pose: &[Mat4], steps: &Steps) -> Result<bool, LayerError> {
        let (rate, limit) = (self.input.clip.frame_rate_hz, CUT_SIZES * self.size);
        if !steps.is_cut(0, limit) {
            return self.advance(pose, 1.0 / rate).map(|()| false);
        }
        let motions = [1, -1].map(|offset| steps.motion(offset, limit));
        let velocity = rate * motions.into_iter().flatten().next().unwrap_or_default();
        match &mut self.mover {
            Mover::Player(player) => player.cut_to(pose, velocity),
            Mover::Engine(engine) => engine.cut_to(pose, velocity),
        }
        .map(|()| true)
        .map_err(LayerError::new)
    }
}

impl Simulation for Living {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut frame = self.input.clip.frame(index)?;
        let Some(skeleton) = &self.input.clip.skeleton else { return Ok(frame.into()) };
        let pose = skeleton.world_from_joints(&frame.pose);
        let steps = self.steps(index)?;
        let held_back = self.held_back();
        let was_cut = match index {
            0 => self.begin(&pose, &steps).map(|()| false),
            _ => self.go_on(&pose, &steps),
        }?;
        let points = match &self.mover {
            Mover::Player(player) => self.anatomy.flesh.surface(player.shown()),
            Mover::Engine(engine) => self.anatomy.flesh.surface(engine.coefficients()),
        };
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(LayerError::new(format!("point {point} left the world"))
                .with_help("raise `damping` or `young`"));
        }
        let mut skinned_points = Vec::with_capacity(points.len());
        for &(mesh, start) in &self.anatomy.meshes {
            let Some(skin) = &self.input.clip.meshes[mesh].skin else { continue };
            let skinned = skin.deform(&self.input.clip.meshes[mesh].rest_points, &pose);
            for (k, (place, by_skin)) in frame.points[mesh].iter_mut().zip(&skinned).enumerate() {
                let given = Vec3::from(place.map(f64::from));
                let by_skin = Vec3::from(by_skin.map(f64::from));
                let extra = given - by_skin;
                let extra = if extra.length() > ROUND_OFF * self.size { extra } else { Vec3::ZERO };
                let moved = points[start + k] + extra;
                let keep = match &self.follow {
                    Some(follow) if mesh == self.input.mesh => f64::from(follow[k]),
                    _ => 0.0,
                };
                // weight 1: the input itself, to the bit
                if keep < 1.0 {
                    *place = (moved + keep * (given - moved)).as_vec3().to_array();
                }
                skinned_points.push(by_skin);
            }
        }
        self.swing.turn(&points, &mut frame.pose);
        let mut result = FrameResult::from(frame);
        if self.rest_volume.abs() > 1e-9 * self.size.powi(3) {
            let share = |points: &[Vec3]| {
                100.0 * volume(|v| points[v as usize], &self.anatomy.skin.triangles) / self.rest_volume
            };
            result.figures.add("volume/flesh", "%", share(&points));
            result.figures.add("volume/skin", "%", share(&skinned_points));
        }
        let far = points.iter().zip(&skinned_points).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        result.figures.add("from the skin/farthest", "m", far);
        if index == 0 {
            result.warnings = self.warnings.clone();
        }
        if was_cut {
            result.fallbacks.push("the animation cuts here: the flesh was carried along".into());
        }
        let held_back = self.held_back() - held_back;
        if held_back > 0 {
            result.fallbacks.push(format!(
                "bones moved so fast that flesh swung by half of the character's size: it was held back in \
                 {held_back} steps; `method = \"nonlinear\"` needs no such limit"
            ));
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        match &self.mover {
            Mover::Player(player) => player.checkpoint(),
            Mover::Engine(engine) => engine.checkpoint(),
        }
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        match &mut self.mover {
            Mover::Player(player) => player.restore(checkpoint),
            Mover::Engine(engine) => engine.restore(checkpoint),
        }
        .map_err(LayerError::new)
    }

    fn notes(&self) -> Vec<(String, String)> {
        self.notes.clone()
    }
}
