//! Flesh in motion, frame by frame.

use character::{SmoothSkin, Stretch};
use dynamics::{CUT_SIZES, Effort, Steps};
use geometry::{Bounds, Vec3};
use glam::Mat4;

use shot::{FrameResult, LayerError, Simulation, Target};

use super::anatomy::{start_of, volume};
use super::mover::Mover;
use super::pins::Pins;
use super::swing::Swing;
use super::touch::Touch;
use super::{Anatomy, Skeleton, Solution};
use crate::shared::middles::Middles;

/// Differences between a frame and its own skin below this part of the size are round-off; above, they are morphs or another layer's
/// work, and are kept.
const ROUND_OFF: f64 = 1e-5;
/// The report has the volumes of so many joints, those with the most flesh.
const MOST_STRETCHES: usize = 6;

pub(super) struct SkeletonSimulation {
    input: Target,
    anatomy: Anatomy,
    swing: Swing,
    mover: Mover,
    touch: Option<Touch>,
    /// Where a bake alone shows flesh; a game has it carried by its cells.
    smooth: Option<SmoothSkin>,
    pins: Pins,
    follow: Option<Vec<f32>>,
    pre_roll: f64,
    size: f64,
    rest_volume: f64,
    middles: Middles,
    stretches: Vec<Stretch>,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

/// How a frame went.
#[derive(Default)]
struct Outcome {
    /// The animation cuts here, and flesh was carried along.
    was_cut: bool,
    /// No step could follow, and why.
    reset: Option<String>,
    effort: Option<Effort>,
}

impl SkeletonSimulation {
    pub(super) fn new(settings: &Skeleton, input: &Target) -> Result<Self, LayerError> {
        let anatomy = Anatomy::new(settings, input)?;
        let (flesh, names) = (&anatomy.flesh, &anatomy.names);
        let frame = 1.0 / input.clip.frame_rate_hz;
        let steps = (settings.steps_per_second * frame - 1e-6).ceil().max(1.0);
        let mover = Mover::new(flesh, settings.method, frame / steps).map_err(LayerError::new)?;
        let touch = settings.contact.as_ref().filter(|_| settings.method == Solution::Nonlinear);
        let touch = touch.map(|contact| Touch::new(contact, input, &anatomy, mover.known())).transpose()?;
        let smooth =
            (settings.method == Solution::Nonlinear).then(|| SmoothSkin::new(flesh, &anatomy.skin.points));
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
        if report.outside > 0 {
            warnings.push(format!(
                "the lattice leaves {} points of the skin outside; they go along with the nearest cell",
                report.outside
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
            touch,
            smooth,
            pins: Pins::new(&settings.pins, input, start_of(&anatomy.meshes, input.mesh)),
            follow: follow.transpose()?,
            pre_roll: settings.pre_roll,
            size,
            rest_volume,
            middles: Middles::default(),
            stretches: anatomy.flesh.stretches().into_iter().take(MOST_STRETCHES).collect(),
            notes,
            warnings,
            swing: Swing::new(&anatomy, input, &settings.free),
            anatomy,
        })
    }

    /// To the pose of the frame that ends `1/rate` after `time`; why that could not be done, where it could not.
    fn advance(&mut self, pose: &[Mat4], time: f64) -> Result<Outcome, LayerError> {
        let seconds = 1.0 / self.input.clip.frame_rate_hz;
        let error = match self.mover.step(pose, time, seconds, self.touch.as_mut()) {
            Ok(effort) => return Ok(Outcome { effort, ..Outcome::default() }),
            Err(error) => error,
        };
        // an animation that no step can follow: the engine begins again from where it is
        if !matches!(&error, character::Error::Dynamics(reason) if !matches!(reason, dynamics::Error::Cancelled))
        {
            return Err(LayerError::new(error));
        }
        self.mover.cut_to(pose, Vec3::ZERO).map_err(LayerError::new)?;
        self.touch.iter_mut().for_each(|touch| touch.catch_up(time + seconds));
        Ok(Outcome { reset: Some(error.to_string()), ..Outcome::default() })
    }

    /// At the first frame, after a pre-roll in which the character comes along in its first pose.
    fn begin(&mut self, pose: &[Mat4], steps: &Steps) -> Result<Outcome, LayerError> {
        let rate = self.input.clip.frame_rate_hz;
        let motions = [1, 2].map(|offset| steps.motion(offset, CUT_SIZES * self.size));
        let drift = rate * motions.into_iter().flatten().next().unwrap_or_default();
        let frames = (self.pre_roll * rate).round() as i32;
        let time = |frame: i32| f64::from(frame) / rate;
        let at = |frame: i32| -> Vec<Mat4> {
            let shift = Mat4::from_translation((time(frame) * drift).as_vec3());
            pose.iter().map(|joint| if frame == 0 { *joint } else { shift * *joint }).collect()
        };
        self.mover.cut_to(&at(-frames), drift).map_err(LayerError::new)?;
        if let Some(touch) = &mut self.touch {
            touch.collider.place(time(-frames), drift)?;
        }
        let mut all = Outcome::default();
        for frame in 1 - frames..=0 {
            if let Some(touch) = &mut self.touch {
                touch.collider.hold(time(frame - 1), 1.0 / rate, drift)?;
            }
            all.reset = self.advance(&at(frame), time(frame - 1))?.reset.or(all.reset);
        }
        Ok(all)
    }

    /// From the frame before to this one; across a cut flesh is carried along.
    fn go_on(&mut self, index: usize, pose: &[Mat4], steps: &Steps) -> Result<Outcome, LayerError> {
        let (rate, limit) = (self.input.clip.frame_rate_hz, CUT_SIZES * self.size);
        let velocity = |offsets: &[isize]| {
            rate * offsets.iter().find_map(|offset| steps.motion(*offset, limit)).unwrap_or_default()
        };
        if let Some(touch) = &mut self.touch {
            touch.collider.go_to(index, velocity(&[0, 1, -1]))?;
        }
        if let Mover::Player(player) = &mut self.mover {
            self.pins.hold(player, &self.input, index)?;
        }
        if !steps.is_cut(0, limit) {
            return self.advance(pose, (index as f64 - 1.0) / rate);
        }
        self.mover.cut_to(pose, velocity(&[1, -1])).map_err(LayerError::new)?;
        self.touch.iter_mut().for_each(|touch| touch.catch_up(index as f64 / rate));
        Ok(Outcome { was_cut: true, ..Outcome::default() })
    }

    /// Puts flesh, whose points are at `points`, into a frame: with what is not of the skin's doing (morphs, other layers), and with
    /// what follows. Returns where the skins have them.
    fn deliver(
        &mut self,
        index: usize,
        pose: &[Mat4],
        points: &[Vec3],
        result: &mut FrameResult,
    ) -> Result<Vec<Vec3>, LayerError> {
        let mut skinned_points = Vec::with_capacity(points.len());
        for &(mesh, start) in &self.anatomy.meshes {
            let Some(skin) = &self.input.clip.meshes[mesh].skin else { continue };
            let skinned = skin.deform(&self.input.clip.meshes[mesh].rest_points, pose);
            let own = &mut result.frame.points[mesh];
            let (mut wanted, mut exact) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()));
            for (k, (place, by_skin)) in own.iter().zip(&skinned).enumerate() {
                let given = Vec3::from(place.map(f64::from));
                let by_skin = Vec3::from(by_skin.map(f64::from));
                let extra = given - by_skin;
                let extra = if extra.length() > ROUND_OFF * self.size { extra } else { Vec3::ZERO };
                let moved = points[start + k] + extra;
                let keep = match &self.follow {
                    Some(follow) if mesh == self.input.mesh => f64::from(follow[k]),
                    _ => 0.0,
                };
                wanted.push(moved + keep * (given - moved));
                exact.push(keep >= 1.0);
                skinned_points.push(by_skin);
            }
            let touch = self.touch.as_mut().filter(|_| mesh == self.input.mesh);
            let placed = match touch {
                Some(touch) => touch.limit(self.mover.coefficients(), wanted, &exact)?,
                None => wanted,
            };
            // weight 1: the input itself, to the bit
            let moving = own.iter_mut().zip(placed).zip(&exact).filter(|(_, exact)| !**exact);
            moving.for_each(|((place, to), _)| *place = to.as_vec3().to_array());
            if let Some(touch) = self.touch.as_ref().filter(|_| mesh == self.input.mesh) {
                let stored = result.frame.points[mesh].clone();
                touch.report(index, &stored, &exact, result)?;
            }
        }
        Ok(skinned_points)
    }

    /// The volume of the flesh around joints, as it is and as skinning would leave it.
    fn tell_joints(&self, pose: &[Mat4], result: &mut FrameResult) {
        if self.stretches.is_empty() {
            return;
        }
        let flesh = &self.anatomy.flesh;
        let [linear, dual] = flesh.skinned(pose);
        let ways = [
            ("flesh", flesh.points(self.mover.coefficients())),
            ("linear skinning", flesh.points(&linear)),
            ("dual quaternions", flesh.points(&dual)),
        ];
        for stretch in &self.stretches {
            let name = &self.anatomy.names[stretch.joint];
            for (way, points) in &ways {
                let share = 100.0 * stretch.volume(points) / stretch.rest;
                result.figures.add(format!("volume at {name}/{way}"), "%", share);
            }
        }
    }

    /// Numbers and sentences of a frame.
    fn tell(
        &self,
        index: usize,
        pose: &[Mat4],
        [points, skinned]: [&[Vec3]; 2],
        gone: Outcome,
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        if self.rest_volume.abs() > 1e-9 * self.size.powi(3) {
            let share = |points: &[Vec3]| {
                100.0 * volume(|v| points[v as usize], &self.anatomy.skin.triangles) / self.rest_volume
            };
            result.figures.add("volume/flesh", "%", share(points));
            result.figures.add("volume/skin", "%", share(skinned));
        }
        self.tell_joints(pose, result);
        let far = points.iter().zip(skinned).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        result.figures.add("from the skin/farthest", "m", far);
        let inverted = self.anatomy.flesh.inverted(self.mover.coefficients());
        result.figures.add("lattice/tets inside out", "", inverted as f64);
        if let Some(active) = self.mover.active_count() {
            result.figures.add("functions/active", "", active as f64);
            result.figures.add("functions/all", "", self.anatomy.flesh.report().functions as f64);
        }
        if let Some(miss) = self.pins.miss(points, &self.input, index)? {
            result.figures.add("pins/farthest from their place", "m", miss);
        }
        if let Some(effort) = gone.effort {
            result.figures.add("effort/substeps", "", effort.steps as f64);
            result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
        }
        if gone.was_cut {
            result.fallbacks.push("the animation cuts here: the flesh was carried along".into());
        }
        if let Some(reason) = gone.reset {
            let sentence = "no step could follow the animation here";
            result.fallbacks.push(format!("{sentence} ({reason}): the flesh was put back on it"));
        }
        Ok(())
    }
}

impl Simulation for SkeletonSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let frame = self.input.clip.frame(index)?;
        let Some(skeleton) = &self.input.clip.skeleton else { return Ok(frame.into()) };
        let pose = skeleton.world_from_joints(&frame.pose);
        let steps = self.middles.steps_of_joints(index, &self.input.clip)?;
        let (held_back, taken) = (self.mover.held_back(), self.mover.steps());
        let gone = match index {
            0 => self.begin(&pose, &steps),
            _ => self.go_on(index, &pose, &steps),
        }?;
        let (flesh, coefficients) = (&self.anatomy.flesh, self.mover.coefficients());
        let points = match &self.smooth {
            Some(skin) => skin.surface(&flesh.points(coefficients)),
            None => flesh.surface(coefficients),
        };
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(LayerError::new(format!("point {point} left the world"))
                .with_help("raise `damping` or `young`"));
        }
        let mut result = FrameResult::from(frame);
        let skinned = self.deliver(index, &pose, &points, &mut result)?;
        self.swing.turn(&points, &mut result.frame.pose);
        let taken = self.mover.steps() - taken;
        if taken > 0 {
            result.figures.add("effort/substeps", "", taken as f64);
        }
        self.tell(index, &pose, [&points, &skinned], gone, &mut result)?;
        if index == 0 {
            result.warnings.extend(self.warnings.clone());
        }
        let held_back = self.mover.held_back() - held_back;
        if held_back > 0 {
            result.fallbacks.push(format!(
                "bones moved so fast that flesh swung by half of the character's size: it was held back in \
                 {held_back} steps; `method = \"nonlinear\"` needs no such limit"
            ));
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let mover = self.mover.checkpoint();
        let contact = self.touch.as_ref().map(|touch| touch.collider.collision.to_bytes());
        [&(mover.len() as u64).to_le_bytes()[..], &mover, &contact.unwrap_or_default()].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this simulation");
        let (length, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
        let (mover, contact) =
            rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(other)?;
        let restored = match &mut self.touch {
            Some(touch) => touch.collider.collision.restore(contact),
            None => contact.is_empty(),
        };
        if !restored {
            return Err(other());
        }
        self.mover.restore(mover).map_err(LayerError::new)
    }

    fn notes(&self) -> Vec<(String, String)> {
        self.notes.clone()
    }
}
