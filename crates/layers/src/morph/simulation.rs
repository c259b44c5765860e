//! A morph in motion, frame by frame.
//!
//! It has its own loop and not the driver's: an actor sees points of the animation, and what is followed here are joints.

use character::{FullMorph, Morph, MorphNames, MorphPlayer, MorphSettings, Plasticity, Press};
use clip::{Mesh, Transform};
use dynamics::{CUT_SIZES, Steps};
use geometry::{Bounds, Vec3};
use glam::Mat4;

use shot::{Counterpart, Figures, FrameResult, LayerError, Simulation, Target};

use super::channels::Channels;
use super::poses::{between, pose, sculpt};
use super::touch::{Cushion, Touch};
use super::{Morph as Settings, MorphTarget};
use crate::shared::middles::Middles;
use crate::skeleton::anatomy::Rig;

/// Differences between a frame and its own skin below this part of the size are round-off; above, they are other morphs or another
/// layer's work, and are kept.
const ROUND_OFF: f64 = 1e-5;

pub(super) struct MorphSimulation {
    input: Target,
    mover: Mover,
    /// Names of the targets, and what each moves the points by.
    targets: Vec<(String, Vec<Vec3>)>,
    /// Morph targets of the mesh that this layer shows itself.
    own_shapes: Vec<usize>,
    channels: Channels,
    follow: Option<Vec<f32>>,
    touch: Option<Touch>,
    middles: Middles,
    was_cut: bool,
    /// Why the skin could not be kept apart in this frame, where it could not.
    loose: Option<String>,
    /// How many points of the skin were pressed in its last step.
    pressed: usize,
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
    /// With few coordinates or all of them; notes and warnings tell what the few can do.
    fn new(
        settings: &Settings,
        input: &Target,
        morph: &mut Morph,
        step: f64,
        notes: &mut Vec<(String, String)>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, LayerError> {
        if settings.modes == 0 {
            return Ok(Self::Full(Box::new(FullMorph::new(morph, step).map_err(LayerError::new)?)));
        }
        let joints = input.clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        let names = MorphNames {
            mesh: input.mesh().name.clone(),
            joints: joints.map(|joint| joint.name.clone()).collect(),
            channels: settings.channels.clone(),
        };
        let kit = morph.kit(settings.modes, step).map_err(LayerError::new)?.named(names);
        let report = kit.report();
        notes.push(("modes".into(), format!("{} of {} unknowns", report.modes, report.unknowns)));
        notes.push(("pose space".into(), format!("{} components", report.pose_components)));
        if settings.pose_reach.is_some() {
            notes.push(("pose regions".into(), report.regions.to_string()));
        }
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
        Ok(Self::Player(Box::new(player)))
    }

    fn step(&mut self, pose: &[Mat4], channels: &[f64], seconds: f64) -> Result<(), character::Error> {
        match self {
            Self::Player(player) => player.step(pose, channels, seconds),
            Self::Full(full) => full.step(pose, channels, seconds),
        }
    }

    fn cut_to(&mut self, pose: &[Mat4], channels: &[f64], velocity: Vec3) -> Result<(), character::Error> {
        match self {
            Self::Player(player) => player.cut_to(pose, channels, velocity),
            Self::Full(full) => full.cut_to(pose, channels, velocity),
        }
    }

    /// Takes the last step again with the skin pressed.
    fn press(&mut self, presses: &[Press]) -> Result<(), character::Error> {
        match self {
            Self::Player(player) => player.press(presses),
            // has no contact
            Self::Full(_) => Ok(()),
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

impl MorphSimulation {
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
            pose_reach: settings.pose_reach,
            gravity: Vec3::from(settings.gravity),
        };
        let mut morph = Morph::new(&rig.joints, rig.skin.clone(), dials).map_err(LayerError::new)?;
        let mut targets = Vec::new();
        let mut cushion = Cushion { young: 0.0, density: 0.0, depth: morph.edge() };
        for target in &settings.targets {
            let made = made(target, settings, input)?;
            let share = 1.0 / settings.targets.len() as f64;
            cushion.young += share * made.material.young;
            cushion.density += share * made.material.density;
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
        let mover = Mover::new(settings, input, &mut morph, step, &mut notes, &mut warnings)?;
        let follow =
            settings.follow.as_ref().map(|follow| follow.weights(&input.clip, input.mesh, &input.files));
        let follow = follow.transpose()?;
        let exact = |k: usize| follow.as_ref().is_some_and(|follow: &Vec<f32>| follow[k] >= 1.0);
        let known: Vec<bool> = (0..mesh.point_count()).map(exact).collect();
        let touch = settings.contact.as_ref().filter(|_| settings.modes > 0);
        let touch = touch.map(|contact| Touch::new(contact, input, known, cushion)).transpose()?;
        Ok(Self {
            input: input.clone(),
            mover,
            targets,
            own_shapes: own_shapes(settings, mesh),
            channels: Channels::new(&settings.channels, input, step)?,
            follow,
            touch,
            middles: Middles::default(),
            was_cut: false,
            loose: None,
            pressed: 0,
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
    fn advance(&mut self, index: usize, drawn: &Drawn) -> Result<(), LayerError> {
        let clip = self.input.clip.clone();
        let Some(skeleton) = &clip.skeleton else { return Ok(()) };
        let (rate, limit) = (clip.frame_rate_hz, CUT_SIZES * self.size);
        let ways = self.middles.steps_of_joints(index, &clip)?;
        let velocity = |offsets: &[isize]| {
            rate * offsets.iter().find_map(|offset| ways.motion(*offset, limit)).unwrap_or_default()
        };
        (self.loose, self.pressed) = (None, 0);
        self.was_cut = index > 0 && ways.is_cut(0, limit);
        if index == 0 || self.was_cut {
            let pose = skeleton.world_from_joints(&clip.frame(index)?.pose);
            let channels = self.channels.begin(index, &self.input)?;
            // it comes along as it goes on
            let velocity = velocity(&[1, -1]);
            self.mover.cut_to(&pose, &channels, velocity).map_err(LayerError::new)?;
            let places = self.placed([drawn, drawn], 1.0);
            let Some(touch) = &mut self.touch else { return Ok(()) };
            return match index {
                0 => touch.begin(&places, 1.0 / (rate * self.steps as f64)),
                _ => touch.cut_to(index, rate, &places),
            };
        }
        let before = self.drawn(index - 1)?;
        let drift = velocity(&[0, 1, -1]);
        if let Some(touch) = &mut self.touch {
            touch.go_to(index, rate, drift)?;
        }
        let frames = self.frames_around(index, &ways)?;
        self.channels.go_to(index, &self.input)?;
        for k in 1..=self.steps {
            let s = k as f64 / self.steps as f64;
            let pose = between([&frames[0], &frames[1], &frames[2], &frames[3]], s as f32);
            let channels = self.channels.at(s);
            let pose = skeleton.world_from_joints(&pose);
            let step = 1.0 / (rate * self.steps as f64);
            self.mover.step(&pose, &channels, step).map_err(LayerError::new)?;
            self.make_room([&before, drawn], s, step)?;
        }
        Ok(())
    }

    /// The poses from two frames before a frame to one after. Where there is none, or a cut is between, joints go on as they do.
    fn frames_around(&self, index: usize, ways: &Steps) -> Result<[Vec<Transform>; 4], LayerError> {
        let clip = &self.input.clip;
        let pose_of = |index: usize| Ok::<Vec<Transform>, LayerError>(clip.frame(index)?.pose);
        let limit = CUT_SIZES * self.size;
        let (from, to) = (pose_of(index - 1)?, pose_of(index)?);
        // joints that travel go on, be they roots or hips under one; turns stay as they are
        let onwards = |pose: &[Transform], sign: f32| -> Vec<Transform> {
            let mut pose = pose.to_vec();
            for (joint, (from, to)) in pose.iter_mut().zip(from.iter().zip(&to)) {
                joint.translation += sign * (to.translation - from.translation);
            }
            pose
        };
        let earlier = index.checked_sub(2).filter(|_| !ways.is_cut(-1, limit));
        let later = Some(index + 1).filter(|later| clip.has_frame(*later) && !ways.is_cut(1, limit));
        let first = earlier.map_or_else(|| Ok(onwards(&from, -1.0)), pose_of)?;
        let last = later.map_or_else(|| Ok(onwards(&to, 1.0)), pose_of)?;
        Ok([first, from, to, last])
    }

    /// Keeps the skin out of what is in the way, and flesh out of the skin, at the instant `s` between two frames.
    fn make_room(&mut self, drawn: [&Drawn; 2], s: f64, seconds: f64) -> Result<(), LayerError> {
        if self.touch.is_none() {
            return Ok(());
        }
        let free = self.placed(drawn, s);
        let Some(touch) = &mut self.touch else { return Ok(()) };
        self.loose = touch.step(&free, seconds)?.or(self.loose.take());
        let presses = touch.presses(&free);
        self.pressed = presses.len();
        self.channels.touched(presses.iter().map(|press| press.point));
        if presses.is_empty() {
            return Ok(());
        }
        self.mover.press(&presses).map_err(LayerError::new)?;
        let pressed = self.placed(drawn, s);
        self.touch.iter_mut().for_each(|touch| touch.lies_on(&pressed));
        Ok(())
    }

    /// Where the skin would be at the instant `s` between two frames if nothing were in the way: with what is not of the skin's doing
    /// (other morphs, other layers), and with what follows.
    fn placed(&self, [from, to]: [&Drawn; 2], s: f64) -> Vec<Vec3> {
        let points = self.mover.surface(to.given.len());
        let place = |(k, point): (usize, Vec3)| {
            let moved = point + from.extra[k].lerp(to.extra[k], s);
            let keep = self.follow.as_ref().map_or(0.0, |follow| f64::from(follow[k]));
            if keep > 0.0 { moved + keep * (from.given[k].lerp(to.given[k], s) - moved) } else { moved }
        };
        points.into_iter().enumerate().map(place).collect()
    }

    /// A frame as the animation has it.
    fn drawn(&self, index: usize) -> Result<Drawn, LayerError> {
        Drawn::new(&self.input, &self.own_shapes, self.size, index)
    }

    /// RMS distance of the flesh's skin from the sculpts, as they are weighted.
    fn distance_from_sculpts(&self, points: &[Vec3], pose: &[Mat4]) -> f64 {
        let moved = self.targets.iter().map(|(_, moved)| moved.as_slice());
        let sculpted = sculpted(self.input.mesh(), self.mover.weights().iter().copied().zip(moved), pose);
        let apart =
            points.iter().zip(&sculpted).map(|(a, b)| a.distance_squared(Vec3::from(b.map(f64::from))));
        (apart.sum::<f64>() / points.len().max(1) as f64).sqrt()
    }
}

/// The sculpts, as they are weighted, under the skin at a pose: shapes blended, and nothing of their own.
fn sculpted<'a>(
    mesh: &Mesh,
    weighted: impl Iterator<Item = (f64, &'a [Vec3])>,
    pose: &[Mat4],
) -> Vec<[f32; 3]> {
    let mut points = mesh.rest();
    for (weight, moved) in weighted {
        points.iter_mut().zip(moved).for_each(|(p, moved)| *p += weight * *moved);
    }
    let points: Vec<[f32; 3]> = points.iter().map(|p| p.as_vec3().to_array()).collect();
    mesh.skin.as_ref().map_or_else(|| points.clone(), |skin| skin.deform(&points, pose))
}

/// The sculpts as a stored frame's weights have them: what a report shows the flesh beside.
pub(super) fn counterpart(
    settings: &Settings,
    input: &Target,
    index: usize,
    figures: &Figures,
) -> Result<Option<Counterpart>, LayerError> {
    let (mesh, Some(skeleton)) = (input.mesh(), &input.clip.skeleton) else { return Ok(None) };
    let rest = mesh.rest();
    let mut moved = Vec::new();
    for target in &settings.targets {
        let Some(weight) = figures.get(&format!("targets/{}", target.name)) else { return Ok(None) };
        let own: Vec<Vec3> = sculpt(target, input)?.iter().zip(&rest).map(|(a, b)| *a - *b).collect();
        moved.push((weight, own));
    }
    let pose = skeleton.world_from_joints(&input.clip.frame(index)?.pose);
    let points = sculpted(mesh, moved.iter().map(|(weight, own)| (*weight, own.as_slice())), &pose);
    let size = Bounds::of(rest.iter().copied()).diagonal();
    let drawn = Drawn::new(input, &own_shapes(settings, mesh), size, index)?;
    let beside = |(p, extra): (&[f32; 3], &Vec3)| {
        std::array::from_fn(|axis| (f64::from(p[axis]) + extra[axis]) as f32)
    };
    Ok(Some(Counterpart { name: "sculpt", points: points.iter().zip(&drawn.extra).map(beside).collect() }))
}

/// Morph targets of the mesh that the layer shows itself.
fn own_shapes(settings: &Settings, mesh: &Mesh) -> Vec<usize> {
    let named = |name: &String| mesh.morph_targets.iter().position(|target| &target.name == name);
    settings.targets.iter().filter_map(|target| named(target.shape.as_ref()?)).collect()
}

/// A frame as the animation has it.
struct Drawn {
    given: Vec<Vec3>,
    /// What of it neither the skin nor the shapes that this layer shows account for.
    extra: Vec<Vec3>,
}

impl Drawn {
    fn new(input: &Target, own_shapes: &[usize], size: f64, index: usize) -> Result<Self, LayerError> {
        let frame = input.clip.frame(index)?;
        let mesh = input.mesh();
        let given: Vec<Vec3> =
            frame.points[input.mesh].iter().map(|p| Vec3::from(p.map(f64::from))).collect();
        let (Some(skeleton), Some(skin)) = (&input.clip.skeleton, &mesh.skin) else {
            return Ok(Self { extra: vec![Vec3::ZERO; given.len()], given });
        };
        // what the animation has beside its skin and the shapes that are shown here
        let shown = input.clip.morph_weights(index)?;
        let mut rest = mesh.rest_points.clone();
        for &k in own_shapes {
            let weight = shown[input.mesh][k];
            for (p, offset) in rest.iter_mut().zip(&mesh.morph_targets[k].offsets) {
                (0..3).for_each(|axis| p[axis] += weight * offset[axis]);
            }
        }
        let skinned = skin.deform(&rest, &skeleton.world_from_joints(&frame.pose));
        let extra = |(given, skinned): (&Vec3, &[f32; 3])| {
            let extra = *given - Vec3::from(skinned.map(f64::from));
            if extra.length() > ROUND_OFF * size { extra } else { Vec3::ZERO }
        };
        let extra = given.iter().zip(&skinned).map(extra).collect();
        Ok(Self { given, extra })
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

impl Simulation for MorphSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let drawn = self.drawn(index)?;
        self.advance(index, &drawn)?;
        let mut frame = self.input.clip.frame(index)?;
        let mesh = self.input.mesh();
        let (Some(skeleton), Some(_)) = (&self.input.clip.skeleton, &mesh.skin) else {
            return Ok(frame.into());
        };
        let pose = skeleton.world_from_joints(&frame.pose);
        let points = self.mover.surface(mesh.point_count());
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(LayerError::new(format!("point {point} left the world"))
                .with_help("raise `damping` or `young` of the targets"));
        }
        let keep = |k: usize| self.follow.as_ref().map_or(0.0, |follow| f64::from(follow[k]));
        let exact: Vec<bool> = (0..points.len()).map(|k| keep(k) >= 1.0).collect();
        let wanted = self.placed([&drawn, &drawn], 1.0);
        let placed = match &mut self.touch {
            Some(touch) => touch.shown(wanted, &exact)?,
            None => wanted,
        };
        let far = placed.iter().zip(&drawn.given).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        // weight 1: the input itself, to the bit
        let moving = frame.points[self.input.mesh].iter_mut().zip(placed).zip(&exact);
        moving.filter(|(_, exact)| !**exact).for_each(|((p, to), _)| *p = to.as_vec3().to_array());
        let apart = self.distance_from_sculpts(&points, &pose);
        let mut result = FrameResult::from(frame);
        let weights = self.mover.weights();
        for (weight, (name, _)) in weights.iter().zip(&self.targets) {
            result.figures.add(format!("targets/{name}"), "", *weight);
        }
        let [kept, elastic, kinetic] = self.mover.figures();
        result.figures.add("energy/elastic", "J", elastic);
        result.figures.add("energy/kinetic", "J", kinetic);
        result.figures.add("from the animation/farthest", "m", far);
        result.figures.add("from the sculpts/rms", "m", apart);
        result.figures.add("negative weights/kept", "%", 100.0 * kept);
        if index == 0 {
            result.warnings = self.warnings.clone();
        }
        if let Some(touch) = &self.touch {
            result.figures.add("contact/pressed points", "", self.pressed as f64);
            let stored = result.frame.points[self.input.mesh].clone();
            touch.report(index, &stored, &exact, &mut result)?;
        }
        if self.was_cut {
            result.fallbacks.push("the animation cuts here: the flesh was carried along".into());
        }
        if let Some(reason) = &self.loose {
            let sentence = "no step could keep the skin apart here";
            result.fallbacks.push(format!("{sentence} ({reason}): it was put back on the flesh"));
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let mover = match &self.mover {
            Mover::Player(player) => player.checkpoint(),
            Mover::Full(full) => full.checkpoint(),
        };
        let touch = self.touch.as_ref().map(Touch::checkpoint).unwrap_or_default();
        let lengths = [&mover, &touch].map(|part| (part.len() as u64).to_le_bytes());
        [lengths.as_flattened(), &mover, &touch, &self.channels.checkpoint()].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this simulation");
        let (lengths, rest) = checkpoint.split_at_checked(16).ok_or_else(other)?;
        let length = |k: usize| {
            let word = lengths[8 * k..].first_chunk::<8>().copied().unwrap_or_default();
            u64::from_le_bytes(word) as usize
        };
        let (mover, rest) = rest.split_at_checked(length(0)).ok_or_else(other)?;
        let (touch, channels) = rest.split_at_checked(length(1)).ok_or_else(other)?;
        match &mut self.mover {
            Mover::Player(player) => player.restore(mover),
            Mover::Full(full) => full.restore(mover),
        }
        .map_err(LayerError::new)?;
        let restored = self.touch.as_mut().map_or(touch.is_empty(), |own| own.restore(touch));
        if restored && self.channels.restore(channels) { Ok(()) } else { Err(other()) }
    }

    fn notes(&self) -> Vec<(String, String)> {
        self.notes.clone()
    }
}
