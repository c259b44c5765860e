//! Pairs to learn from: the coarse cloth as the game will simulate it, and a fine one that tracks it.
//!
//! The coarse half is [`live::Simulator`] itself, so that what is learnt from is what will be given. The fine half is a shell whose
//! lowest T harmonics are those of the coarse cloth seen on it, T p_f = T B p_c (*upsample* eq. 6); all that is finer is left
//! to physics. It does not give way to being pushed together, as the coarse one does: it folds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dynamics::{
    Actor, ActorReport, Body, DeliveredSurface, Error as DynamicsError, Guide, GuideSample, Integrator,
    Motion as FrameMotion, Part, Scene, Settings, State, Substeps, Window,
};
use geometry::{Prolongation, Vec3};
use live::{Capsule, Frame, Operator, Parts, Plane, Simulator, Transform};
use shell::tracks::{Averages, ConstraintStrength, RestSurface, TrackedSetup, TrackedShell};
use shell::{ClothBuilder, Material, Wind};

use crate::moments::point;
use crate::{Error, Harmonics, Pairs, barycentric};

/// What happens to a cloth: its joints, air and bodies at any time.
pub struct Motion<'a> {
    /// Frames per second of the pairs.
    pub frame_rate_hz: f64,
    /// How many pairs.
    pub frames: usize,
    /// Seconds that the first pose is held before the first pair, so that the cloth hangs.
    pub settle: f64,
    /// `world_from_rest` of each joint at a time, in s.
    pub skin: &'a (dyn Fn(f64) -> Vec<Transform> + Sync),
    /// Air.
    pub wind: live::Wind,
    /// Bodies besides those on bones.
    pub obstacles: &'a (dyn Fn(f64) -> Vec<Capsule> + Sync),
    /// Floors and walls.
    pub planes: &'a [Plane],
}

/// How the fine half is simulated.
#[derive(Clone, Debug)]
pub struct Tracking {
    /// T: harmonics that it has in common with the coarse half. None at all leaves it to what both hang on and must not enter: it drifts away.
    pub tests: usize,
    /// What it is made of.
    pub material: Material,
    /// Steps of a frame.
    pub substeps: usize,
}

impl Default for Tracking {
    /// Cotton, 50 harmonics, four steps of a frame.
    fn default() -> Self {
        Self { tests: 50, material: Material { compression: 1.0, ..Material::default() }, substeps: 4 }
    }
}

/// Simulates both halves of a motion. Of `parts` the meshes, skins, capsules and settings count; `harmonics` are those of the
/// fine mesh, T of them or more.
pub fn track(
    parts: &Parts,
    harmonics: &Harmonics,
    motion: &Motion<'_>,
    tracking: &Tracking,
) -> Result<Pairs, Error> {
    let mut tracker = Tracker::new(parts, harmonics, motion, tracking)?;
    let mut pairs = Pairs::default();
    for index in 0..tracker.coarse().len() {
        let fine = tracker.frame(index)?.to_vec();
        pairs.push(&tracker.coarse()[index], fine);
    }
    Ok(pairs)
}

/// The coarse half of a motion: its points in every frame.
pub fn simulate_coarse(parts: &Parts, motion: &Motion<'_>) -> Result<Vec<Vec<Vec3>>, Error> {
    Ok(simulate(parts, motion)?.points)
}

/// Both halves of a motion, the fine one frame by frame: a state that can be kept and taken up again.
pub struct Tracker {
    scene: Scene<FineCloth>,
    coarse: Coarse,
    frames: Vec<Arc<[Vec3]>>,
    frame_rate_hz: f64,
    /// Seconds.
    settle: f64,
}

impl Tracker {
    /// Simulates the coarse half and puts the fine one at rest.
    pub fn new(
        parts: &Parts,
        harmonics: &Harmonics,
        motion: &Motion<'_>,
        tracking: &Tracking,
    ) -> Result<Self, Error> {
        if tracking.tests > harmonics.count() {
            let points = harmonics.count();
            return Err(Error::TooManyHarmonics { count: tracking.tests, points });
        }
        let coarse = simulate(parts, motion)?;
        if coarse.points.is_empty() {
            return Err(Error::NoFrames);
        }
        let rest: Vec<Vec3> = parts.fine.rest.iter().map(|p| point(*p)).collect();
        let coarse_rest: Vec<Vec3> = parts.coarse.rest.iter().map(|p| point(*p)).collect();
        let correspondence = barycentric(&coarse_rest, &parts.coarse.triangles, &rest)?;
        let mut known = vec![false; rest.len()];
        let held = parts.fine_skin.iter().filter(|(_, skin)| skin.attachment >= 1.0);
        held.for_each(|(p, _)| known[*p as usize] = true);
        let scene = scene(parts, harmonics, motion, tracking, &rest, correspondence, &known)?;
        let frames = coarse.points.iter().map(|points| points.as_slice().into()).collect();
        Ok(Self { scene, coarse, frames, frame_rate_hz: motion.frame_rate_hz, settle: motion.settle })
    }

    /// Points of the coarse half, frame by frame.
    pub fn coarse(&self) -> &[Vec<Vec3>] {
        &self.coarse.points
    }

    /// Advances the fine half to a frame and gives its points. Called in order, from 0 or from the frame after a restored state.
    pub fn frame(&mut self, index: usize) -> Result<&[Vec3], Error> {
        let seconds = 1.0 / self.frame_rate_hz;
        if index >= self.frames.len() {
            return Err(Error::NoFrames);
        }
        let window = self.window(index);
        self.scene.actor_mut(0).between(&self.coarse.capsules, index.saturating_sub(1), index, seconds);
        if index == 0 {
            self.scene.begin(&[window], true).map_err(Error::Dynamics)?;
            // folds come while the first pose is held
            self.scene
                .pre_roll(self.settle, self.frame_rate_hz, &mut |scene, _| scene.stand_still(seconds, None))
                .map_err(Error::Dynamics)?;
        } else {
            self.scene.frame(&[window], None).map_err(Error::Dynamics)?;
        }
        Ok(&self.scene.state.positions)
    }

    fn window(&self, index: usize) -> Window {
        let at = |offset: usize| (index + offset).checked_sub(2).and_then(|i| self.frames.get(i).cloned());
        Window::new(index, self.frame_rate_hz, [0, 1, 2, 3].map(at))
    }

    /// The fine half's state after its last frame, exactly.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.scene.to_bytes()
    }

    /// Takes up such a state; false when it is not one of this motion.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        self.scene.restore(bytes)
    }

    /// Once the flag is set, [`Tracker::frame`] ends as soon as it can.
    pub fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.scene.cancel_by(flag);
    }
}

/// The coarse half: points and bodies of each frame.
struct Coarse {
    points: Vec<Vec<Vec3>>,
    capsules: Vec<Vec<Capsule>>,
}

fn simulate(parts: &Parts, motion: &Motion<'_>) -> Result<Coarse, Error> {
    // the operator itself plays no part in the simulation
    let bare = Parts { detail: None, modes: Vec::new(), ..parts.clone() };
    let operator = bare.write().and_then(Operator::read).map_err(Error::Live)?;
    let mut simulator = Simulator::new(&operator).map_err(Error::Live)?;
    let seconds = 1.0 / motion.frame_rate_hz;
    let before = (motion.settle * motion.frame_rate_hz).ceil() as usize;
    let (mut points, mut capsules) = (Vec::new(), Vec::new());
    for index in 0..before + motion.frames {
        let time = index.saturating_sub(before) as f64 * seconds;
        let frame = Frame {
            skin: &(motion.skin)(time),
            wind: motion.wind,
            obstacles: &(motion.obstacles)(time),
            planes: motion.planes,
            ..Frame::new(seconds as f32)
        };
        simulator.advance(&frame).map_err(Error::Live)?;
        if index >= before {
            points.push(simulator.points().iter().map(|p| point(*p)).collect());
            capsules.push(simulator.capsules().to_vec());
        }
    }
    Ok(Coarse { points, capsules })
}

fn scene(
    parts: &Parts,
    harmonics: &Harmonics,
    motion: &Motion<'_>,
    tracking: &Tracking,
    rest: &[Vec3],
    correspondence: Prolongation,
    known: &[bool],
) -> Result<Scene<FineCloth>, Error> {
    let functions: Vec<Vec<f64>> =
        (0..tracking.tests).map(|k| (0..rest.len()).map(|i| harmonics.functions[(i, k)]).collect()).collect();
    let names = (0..tracking.tests).map(|k| format!("harmonic {k}")).collect();
    let free: Vec<bool> = known.iter().map(|known| !known).collect();
    let surface = RestSurface { rest, triangles: &parts.fine.triangles };
    let averages = (tracking.tests > 0)
        .then(|| Averages::through(names, &functions, surface, &correspondence, &free))
        .transpose()
        .map_err(Error::Shell)?;
    let velocity = point(motion.wind.velocity);
    let wind = Wind {
        direction: velocity.try_normalize().unwrap_or(Vec3::X).to_array(),
        speed: velocity.length(),
        gust: f64::from(motion.wind.gusts),
        ..Wind::default()
    };
    let field = wind.field().map_err(Error::Shell)?;
    let cloth = ClothBuilder::new(rest, &parts.fine.triangles, &tracking.material)
        .wind(Arc::new(field))
        .build()
        .map_err(Error::Shell)?;
    let (shell, body) = TrackedShell::new(TrackedSetup {
        rest,
        guide_rest: None,
        cloth,
        friction: tracking.material.damping_time(),
        averages,
        strength: ConstraintStrength::hard(),
        greatest_pulls: Vec::new(),
        correspondence,
        known: known.to_vec(),
        gravity: point(parts.settings.gravity),
        plasticity: None,
        reshaping: None,
        jump: f64::INFINITY,
    });
    let stepping = Settings {
        integrator: Integrator::LinearlyImplicit { delta: 0.0 },
        substeps: Substeps::Fixed(tracking.substeps.max(1)),
        ..Settings::default()
    };
    let fine = FineCloth {
        shell,
        capsules: [Vec::new(), Vec::new()],
        span: (0.0, 1.0),
        planes: motion.planes.to_vec(),
        thickness: 0.5 * f64::from(parts.settings.thickness),
    };
    Scene::new(vec![(Box::new(fine), body)], rest, stepping).map_err(Error::Dynamics)
}

/// The shell among bodies that move between two frames: after a step, points inside go to the surface and lose what velocity leads
/// inwards, as the run time does with the points it shows.
struct FineCloth {
    shell: TrackedShell,
    /// At the beginning and at the end of the frame.
    capsules: [Vec<Capsule>; 2],
    /// When the frame begins and how long it takes, in s.
    span: (f64, f64),
    planes: Vec<Plane>,
    /// Half of the cloth's, in m.
    thickness: f64,
}

impl FineCloth {
    /// Bodies go from where they are in one frame to where they are in the other.
    fn between(&mut self, capsules: &[Vec<Capsule>], from: usize, to: usize, seconds: f64) {
        self.capsules = [capsules[from].clone(), capsules[to].clone()];
        self.span = (from as f64 * seconds, seconds);
    }
}

impl Actor for FineCloth {
    fn bind(&mut self, body: &Body, part: &Part) -> Result<(), DynamicsError> {
        self.shell.bind(body, part)
    }

    fn begin(
        &mut self,
        body: &Body,
        window: &Window,
        held: Option<Vec3>,
        state: &mut State,
    ) -> Result<(), DynamicsError> {
        self.shell.begin(body, window, held, state)
    }

    /// Bodies stand still while folds come, and the cloth with them.
    fn first_velocity(&self, _: &Window) -> Vec3 {
        Vec3::ZERO
    }

    fn still_guide(&self) -> Box<dyn Guide> {
        self.shell.still_guide()
    }

    fn begin_frame(
        &mut self,
        body: &Body,
        window: &Window,
        state: &mut State,
    ) -> Result<FrameMotion, DynamicsError> {
        self.shell.begin_frame(body, window, state)
    }

    fn guide(&self) -> Box<dyn Guide> {
        self.shell.guide()
    }

    fn correct(&mut self, body: &Body, _: &GuideSample<'_>, _: &State, after: &mut State, _: f64) -> bool {
        let t = ((after.time - self.span.0) / self.span.1).clamp(0.0, 1.0) as f32;
        let [from, to] = &self.capsules;
        let capsules: Vec<Capsule> = from.iter().zip(to).map(|(a, b)| a.between(b, t)).collect();
        for i in (0..body.known().len()).filter(|&i| !body.known()[i]) {
            let at = after.positions[i].as_vec3().to_array();
            let touched = capsules.iter().find_map(|capsule| capsule.way_out(at, self.thickness as f32));
            if let Some((depth, way)) = touched {
                push_out(after, i, f64::from(depth), point(way));
            }
            for plane in &self.planes {
                let normal = point(plane.normal);
                let below = f64::from(plane.offset) + self.thickness - normal.dot(after.positions[i]);
                if below > 0.0 {
                    push_out(after, i, below, normal);
                }
            }
        }
        true
    }

    fn deliver(&self, state: &State, window: &Window) -> DeliveredSurface {
        self.shell.deliver(state, window)
    }

    fn report(&mut self, state: &State, window: &Window) -> ActorReport {
        self.shell.report(state, window)
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.shell.to_bytes()
    }

    fn restore(&mut self, bytes: &[u8]) -> bool {
        self.shell.restore(bytes)
    }
}

fn push_out(state: &mut State, i: usize, depth: f64, way: Vec3) {
    state.positions[i] += depth * way;
    let inwards = state.velocities[i].dot(way).min(0.0);
    state.velocities[i] -= inwards * way;
}
