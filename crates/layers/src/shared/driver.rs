//! The one driver: makes a [`Simulation`] of one actor, or of several that are simulated together.
//!
//! Physics is the actors' (`shell`, `solid`), time and Newton's method the engine's. Here frames of the input become windows,
//! obstacles go along, and states become frames, figures and checkpoints: once, for every layer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clip::{Frame, LeadIn};
use dynamics::{
    Actor, ActorReport, Advanced, Body, BodyBuilder, CUT_SIZES, ContactModel, DeliveredSurface, Scene,
    Settings, Steps, Substeps, Window, middle,
};
use geometry::{Bounds, Vec3};
use shot::{FrameResult, LayerError, Reshape, Simulation, Target};

use super::contact::{Collider, Skin};
use super::middles::Middles;
use super::points::to_vectors;
use super::sewing::{Anchor, Sewing, Sewn};
use super::start::{Disentangled, Start, begins_crossed};
use super::stepping::explain;
use super::watch::Watch;

/// How many frames after the one at hand are read: the next for velocities, those after it to tell a cut from a motion.
pub(crate) const LOOK_AHEAD: usize = 3;

/// What a layer brings to a simulation: an actor with its body, and what surrounds them.
pub(crate) struct Member {
    pub(crate) actor: Box<dyn Actor>,
    pub(crate) body: BodyBuilder,
    /// The body's points at rest.
    pub(crate) rest: Vec<Vec3>,
    /// The animation, and which of its meshes.
    pub(crate) input: Target,
    /// Which of the layers that are simulated together it is of.
    pub(crate) layer: usize,
    pub(crate) stepping: Settings,
    /// Whether it has no integrator and no tolerance of its own to insist on.
    pub(crate) adapts: bool,
    /// Seconds.
    pub(crate) pre_roll: f64,
    /// From where it comes into the first frame.
    pub(crate) start: Option<Start>,
    /// The fastest wind that it meets, in m/s.
    pub(crate) wind: f64,
    /// The surface that others meet.
    pub(crate) skin: Skin,
    /// Whether `contact` was asked for. Members of a group meet each other in any case.
    pub(crate) touches: bool,
    /// Whether what it gives back has the points of its input, so that what follows exactly is the input's own numbers.
    pub(crate) is_same_mesh: bool,
    /// What is sewn to it.
    pub(crate) sewn: Sewn,
    /// A finer mesh that is simulated in place of its input's, which carries it along.
    pub(crate) finer: Option<Reshape>,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
}

/// Members in motion.
pub(crate) struct Driver {
    scene: Scene,
    collider: Option<Collider>,
    members: Vec<Driven>,
    sewing: Sewing,
    input: Input,
    pre_roll: f64,
    /// Frames of the input that come before the first one.
    lead_in: usize,
    watch: Watch,
}

/// What is left of a [`Member`] once its actor is on the scene.
struct Driven {
    mesh: usize,
    /// How its figures are told from those of others; empty when it is alone.
    name: String,
    is_same_mesh: bool,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

/// Frames of the input, each read once.
struct Input {
    target: Target,
    /// How many of them come before the first one.
    lead_in: usize,
    frames: BTreeMap<usize, Arc<Frame>>,
    points: BTreeMap<(usize, usize), Arc<[Vec3]>>,
    middles: BTreeMap<usize, Middles>,
    /// Of a mesh that is simulated: places on others that it is pinned to. They come behind its points.
    anchors: BTreeMap<usize, Vec<Anchor>>,
}

impl Driver {
    /// One simulation of all members.
    pub(crate) fn new(mut members: Vec<Member>) -> Result<Self, LayerError> {
        // while inputs are as the artist has them
        let mut sewing = Sewing::new(&members)?;
        let lead_in = led_in(&mut members, sewing.draws_together())?;
        refine(&mut members);
        let anchors = anchored(&mut members, &sewing)?;
        let Some(first) = members.first() else {
            return Err(LayerError::new("there is nothing to simulate"));
        };
        let target = first.input.clone();
        let has_own_points = |member: &Member| {
            let anchors = anchors.get(&member.input.mesh).map_or(0, Vec::len);
            member.is_same_mesh && member.rest.len() == member.input.mesh().point_count() + anchors
        };
        let has_own_points = members.iter().all(has_own_points);
        let stepping = common_stepping(&members)?;
        let is_alone = members.len() == 1;
        let touches = !is_alone || first.touches;
        let pre_roll = members.iter().map(|member| member.pre_roll).fold(0.0, f64::max);
        let wind = members.iter().map(|member| member.wind).fold(0.0, f64::max);
        let rest: Vec<Vec3> = members.iter().flat_map(|member| member.rest.clone()).collect();
        let (mut cast, mut skins, mut driven) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            let mesh = member.input.mesh;
            let name = if is_alone { String::new() } else { member.input.mesh().name.clone() };
            driven.push(Driven {
                mesh,
                name,
                is_same_mesh: member.is_same_mesh,
                notes: member.notes,
                warnings: member.warnings,
            });
            cast.push((member.actor, member.body));
            skins.push((member.skin, member.input));
        }
        let rate = target.clip.frame_rate_hz;
        match lead_in.as_ref().map_or(0, LeadIn::count) {
            0 => sewing.begin(pre_roll, pre_roll),
            frames => sewing.begin(frames as f64 / rate, frames as f64 / rate - pre_roll),
        }
        let scene = Scene::tied(cast, sewing.energies(), &rest, stepping).map_err(explain)?;
        let first_point = |number: usize| scene.part(number).points.start;
        let mut collider =
            if touches { Some(Collider::new(skins, first_point, lead_in.as_ref())?) } else { None };
        let lead_in = lead_in.map_or(0, |lead_in| lead_in.count());
        let mut input = Input {
            target,
            lead_in,
            frames: BTreeMap::new(),
            points: BTreeMap::new(),
            middles: BTreeMap::new(),
            anchors,
        };
        if let Some(collider) = collider.as_mut() {
            collider.exempt_sewn(sewing.pairs());
        }
        if let Some(collider) = collider.as_mut().filter(|_| has_own_points) {
            let mut frames = Vec::new();
            // a collar may be drawn into the body, or come there by the way into the first frame
            for frame in if lead_in > 0 { vec![0, lead_in] } else { vec![0] } {
                let mut places = Vec::new();
                for member in &driven {
                    places.extend_from_slice(&input.places(frame, member.mesh)?);
                }
                frames.push((frame, places));
            }
            collider.exempt_pinned(&frames)?;
        }
        let size = Bounds::of(rest.iter().copied()).diagonal();
        let watch = Watch::new(scene.body().strongest_gravity(), wind, size, pre_roll);
        Ok(Self { scene, collider, members: driven, sewing, input, pre_roll, lead_in, watch })
    }

    /// Puts everything in the pose that it starts in, and brings it along into the first frame.
    fn lead_in(&mut self, meshes: &[usize]) -> Result<(bool, Disentangled), LayerError> {
        let windows = self.input.windows(0, meshes)?;
        self.scene.begin(&windows, false).map_err(explain)?;
        let (mut reset, mut told) = (false, Disentangled::default());
        for index in 1..=self.lead_in {
            let windows = self.input.windows(index, meshes)?;
            reset |= self.advance(index, &windows)?.reset;
            if let Some(collider) = &self.collider {
                told.note(collider.collision.report());
            }
            self.sewing.note(&self.scene.state.positions);
            self.judge(&windows)?;
        }
        Ok((reset, told))
    }

    /// From the frame before, counted with those before the first one, to this one.
    fn advance(&mut self, index: usize, windows: &[Window]) -> Result<Advanced, LayerError> {
        if let Some(collider) = &mut self.collider {
            collider.go_to(index, drift(windows))?;
        }
        self.scene.frame(windows, against(&mut self.collider)).map_err(explain)
    }

    /// Puts everything on the first frame and lets it settle.
    fn begin(&mut self, windows: &[Window]) -> Result<(bool, Disentangled), LayerError> {
        let rate = self.input.target.clip.frame_rate_hz;
        let mut told = Disentangled::default();
        self.scene.begin(windows, self.pre_roll > 0.0).map_err(explain)?;
        if let Some(collider) = self.collider.as_mut().filter(|_| self.pre_roll > 0.0) {
            collider.place(-(self.pre_roll * rate).ceil() / rate, self.scene.drift())?;
        }
        let (collider, sewing) = (&mut self.collider, &mut self.sewing);
        let mut frame = |scene: &mut Scene, time: f64| -> Result<Advanced, dynamics::Error> {
            if let Some(collider) = collider.as_mut() {
                let held = collider.hold(time, 1.0 / rate, scene.drift());
                held.map_err(|error| dynamics::Error::Actor(error.to_string().into()))?;
            }
            let advanced = scene.stand_still(1.0 / rate, against(collider))?;
            if let Some(collider) = collider {
                told.note(collider.collision.report());
            }
            sewing.note(&scene.state.positions);
            Ok(advanced)
        };
        let reset = self.scene.pre_roll(self.pre_roll, rate, &mut frame).map_err(explain)?;
        Ok((reset, told))
    }

    /// Everything before the first frame, with what there is to tell of it.
    fn start(&mut self, meshes: &[usize], warnings: &mut Vec<String>) -> Result<bool, LayerError> {
        warnings.extend(self.members.iter().flat_map(|member| member.warnings.clone()));
        warnings.extend(self.collider.iter().flat_map(Collider::exempted));
        let (reset, told) = match self.lead_in {
            0 => {
                let windows = self.input.windows(0, meshes)?;
                self.begin(&windows)?
            }
            _ => self.lead_in(meshes)?,
        };
        let rate = self.input.target.clip.frame_rate_hz;
        warnings.extend(told.sentence(rate));
        warnings.extend(self.sewing.sentence(&self.scene.state.positions, rate));
        Ok(reset)
    }

    /// Refuses a state that has come apart.
    fn judge(&mut self, windows: &[Window]) -> Result<(), LayerError> {
        let obstacles = self.collider.as_ref().map_or(0.0, Collider::fastest_obstacle);
        self.watch.follow(windows, obstacles);
        let Some(window) = windows.first() else { return Ok(()) };
        let owner = |point: usize| {
            let number = (0..self.members.len()).find(|&m| self.scene.part(m).points.contains(&point));
            let mesh = number.map(|number| self.members[number].mesh);
            mesh.and_then(|mesh| self.input.target.clip.meshes.get(mesh))
                .map_or(String::new(), |m| m.name.clone())
        };
        self.watch.judge(window, &self.scene.state, owner)
    }

    /// The frame that the scene has come to, with what there is to tell of it.
    fn deliver(
        &mut self,
        index: usize,
        windows: &[Window],
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        let [kinetic, elastic] = self.scene.energies();
        result.figures.add("energy/kinetic", "J", kinetic);
        result.figures.add("energy/elastic", "J", elastic);
        let mut surfaces = Vec::new();
        for (number, (member, window)) in self.members.iter().zip(windows).enumerate() {
            let (actor, state) = self.scene.actor_and_state(number);
            let ActorReport { figures, warnings, fallbacks } = actor.report(state, window);
            let of = if member.name.is_empty() { String::new() } else { format!(", {}", member.name) };
            figures.into_iter().for_each(|(name, unit, value)| {
                result.figures.add(format!("{name}{of}"), unit, value);
            });
            result.warnings.extend(warnings);
            result.fallbacks.extend(fallbacks);
            surfaces.push(actor.deliver(state, window));
        }
        if let Some(collider) = &mut self.collider {
            collider.limit_delivered(&self.scene.state.positions, &mut surfaces)?;
        }
        let input = self.input.frame(index)?;
        let own =
            |member: usize, p: usize| Vec3::from(input.points[self.members[member].mesh][p].map(f64::from));
        self.sewing.weld(&mut surfaces, &own);
        self.sewing.report(&self.scene.state.positions, result);
        let mut frame = (*input).clone();
        for (member, DeliveredSurface { positions, exact }) in self.members.iter().zip(&surfaces) {
            let own = &input.points[member.mesh];
            // points that follow exactly are the input's own numbers, never a rounded copy
            let place = |p: usize| match exact[p] && member.is_same_mesh {
                true => own[p],
                false => positions[p].as_vec3().to_array(),
            };
            frame.points[member.mesh] = (0..positions.len()).map(place).collect();
        }
        if let Some(collider) = &self.collider {
            let points = self.members.iter().map(|member| frame.points[member.mesh].as_slice());
            let exact = surfaces.iter().map(|surface| surface.exact.as_slice());
            collider.report(index, &points.zip(exact).collect::<Vec<_>>(), result)?;
        }
        if index == 0 && self.pre_roll == 0.0 {
            result.warnings.extend(begins_crossed(&result.figures));
        }
        result.frame = frame;
        Ok(())
    }
}

impl Simulation for Driver {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut result = FrameResult::default();
        let meshes: Vec<usize> = self.members.iter().map(|member| member.mesh).collect();
        let is_first = index == 0;
        // counted with those that come before the first one
        let index = self.lead_in + index;
        let reset = if is_first { self.start(&meshes, &mut result.warnings)? } else { false };
        let windows = self.input.windows(index, &meshes)?;
        let reset = if is_first {
            reset
        } else {
            let Advanced { effort, reset } = self.advance(index, &windows)?;
            result.figures.add("effort/substeps", "", effort.steps as f64);
            result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
            result.figures.add("effort/factorisations", "", effort.factorizations as f64);
            result.figures.add("effort/unconverged stages", "", effort.unconverged as f64);
            reset
        };
        if reset {
            let reason =
                self.scene.take_reset_reason().map_or_else(String::new, |reason| format!(" ({reason})"));
            result.fallbacks.push(format!(
                "no step could follow the animation here{reason}: the flesh was put back on it"
            ));
        }
        self.judge(&windows)?;
        self.deliver(index, &windows, &mut result)?;
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let scene = self.scene.to_bytes();
        let contact = self.collider.as_ref().map(|collider| collider.collision.to_bytes());
        let watch = self.watch.to_bytes();
        [&watch[..], &(scene.len() as u64).to_le_bytes(), &scene, &contact.unwrap_or_default()].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this simulation");
        let (watch, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(other)?;
        let length = u64::from_le_bytes(*length) as usize;
        let (scene, contact) = rest.split_at_checked(length).ok_or_else(other)?;
        let restored = match &mut self.collider {
            Some(collider) => collider.collision.restore(contact),
            None => contact.is_empty(),
        };
        if !restored || !self.scene.restore(scene) {
            return Err(other());
        }
        self.watch.restore(*watch);
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let solver = self.scene.solver_info();
        let mut notes = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            let of = if member.name.is_empty() { String::new() } else { format!("{}: ", member.name) };
            let own = member.notes.iter().cloned().chain(self.scene.actor(number).notes());
            notes.extend(own.map(|(name, text)| (format!("{of}{name}"), text)));
        }
        notes.push(("linear solver".into(), solver.method));
        notes.push(("unknowns".into(), solver.unknowns.to_string()));
        notes.push(("factor".into(), format!("{:.1} MB", solver.factor_bytes as f64 / 1e6)));
        notes
    }

    fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.scene.cancel_by(flag);
    }
}

/// Puts the frames before the first one that members ask for in front of their inputs: the longest start, and then the longest
/// pre-roll.
fn led_in(members: &mut [Member], sewn: bool) -> Result<Option<LeadIn>, LayerError> {
    let starts = members.iter().filter_map(|member| member.start.as_ref().map(|start| (start, member)));
    let longest = starts.reduce(|a, b| if b.0.seconds > a.0.seconds { b } else { a });
    let Some((start, member)) = longest else { return Ok(None) };
    let pre_roll = members.iter().map(|member| member.pre_roll).fold(0.0, f64::max);
    let meshes = members.iter().map(|member| member.input.mesh).collect();
    let lead_in = start.lead_in(sewn, pre_roll, &member.input.clip, meshes);
    let clip = member.input.clip.led_in(start.frame(&member.input)?, &lead_in);
    members.iter_mut().for_each(|member| member.input.clip = clip.clone());
    Ok(Some(lead_in))
}

/// Gives members points behind their own where they are pinned to other meshes: known ones, without mass.
fn anchored(members: &mut [Member], sewing: &Sewing) -> Result<BTreeMap<usize, Vec<Anchor>>, LayerError> {
    let mut anchored = BTreeMap::new();
    for (member, anchors) in members.iter_mut().zip(&sewing.anchors) {
        if anchors.is_empty() {
            continue;
        }
        let body = std::mem::replace(&mut member.body, Body::builder(Vec::new()));
        let more = Body::builder(vec![0.0; anchors.len()]).known(vec![true; anchors.len()]);
        member.body = body.append(more).map_err(explain)?.0;
        let clip = &member.input.clip;
        member.rest.extend(anchors.iter().map(|anchor| anchor.place(&clip.meshes[anchor.mesh].rest())));
        anchored.insert(member.input.mesh, anchors.clone());
    }
    Ok(anchored)
}

/// Cuts the meshes of members finer that ask for it, in everybody's input. After the lead-in, in which it is the coarse ones that hang on joints.
fn refine(members: &mut [Member]) {
    let Some(mut clip) = members.first().map(|member| member.input.clip.clone()) else { return };
    let mut is_finer = false;
    for member in members.iter_mut() {
        if let Some(reshape) = member.finer.take() {
            clip = reshape.carried(&clip, member.input.mesh);
            is_finer = true;
        }
    }
    if is_finer {
        members.iter_mut().for_each(|member| member.input.clip = clip.clone());
    }
}

/// How fast the animation moves along as a whole on its way to the windows' frame, in m/s.
fn drift(windows: &[Window]) -> Vec3 {
    let points: usize = windows.iter().map(|window| window.here().len()).sum();
    let way = |window: &Window| {
        let limit = CUT_SIZES * Bounds::of(window.here().iter().copied()).diagonal();
        let motions = [0, 1, -1].map(|offset| window.steps.motion(offset, limit));
        window.here().len() as f64
            * window.frame_rate_hz
            * motions.into_iter().flatten().next().unwrap_or_default()
    };
    windows.iter().map(way).sum::<Vec3>() / points.max(1) as f64
}

/// What members may not pass through.
fn against(collider: &mut Option<Collider>) -> Option<&mut dyn ContactModel> {
    collider.as_mut().map(|collider| &mut collider.collision as &mut dyn ContactModel)
}

/// A group takes its steps together: the settings that all of its members agree in. Who leaves the number of steps to the engine takes
/// that of the others.
fn common_stepping(members: &[Member]) -> Result<Settings, LayerError> {
    let leading = members.iter().find(|member| !member.adapts).or(members.first());
    let Some(leading) = leading else { return Ok(Settings::default()) };
    let is_fixed = |member: &&Member| matches!(member.stepping.substeps, Substeps::Fixed(_));
    let counting = members.iter().find(is_fixed).unwrap_or(leading);
    for other in members {
        let (a, b) = (&leading.stepping, &other.stepping);
        let kind = |settings: &Settings| std::mem::discriminant(&settings.integrator);
        let differs = [
            (counting, "substeps", is_fixed(&other) && counting.stepping.substeps != b.substeps),
            (leading, "integrator", !other.adapts && kind(a) != kind(b)),
            (leading, "tolerance", !other.adapts && a.tolerance.to_bits() != b.tolerance.to_bits()),
        ];
        if let Some((first, what, _)) = differs.iter().find(|(.., differs)| *differs) {
            let [a, b] = [first, other].map(|member| member.input.mesh().name.as_str());
            let sentence = format!("`{a}` and `{b}` are simulated together, but differ in `{what}`");
            return Err(LayerError::new(sentence).with_help(format!("give both layers the same `{what}`")));
        }
    }
    Ok(Settings { substeps: counting.stepping.substeps, ..leading.stepping.clone() })
}

impl Input {
    /// A frame; those long past are forgotten.
    fn frame(&mut self, index: usize) -> Result<Arc<Frame>, LayerError> {
        if let Some(frame) = self.frames.get(&index) {
            return Ok(frame.clone());
        }
        let frame = Arc::new(self.target.clip.frame(index)?);
        self.frames.insert(index, frame.clone());
        Ok(frame)
    }

    fn points(&mut self, index: usize, mesh: usize) -> Result<Arc<[Vec3]>, LayerError> {
        if let Some(points) = self.points.get(&(index, mesh)) {
            return Ok(points.clone());
        }
        let points: Arc<[Vec3]> = to_vectors(&self.frame(index)?.points[mesh]).into();
        self.points.insert((index, mesh), points.clone());
        Ok(points)
    }

    /// The points of a mesh, and behind them the places that it is pinned to.
    fn places(&mut self, index: usize, mesh: usize) -> Result<Arc<[Vec3]>, LayerError> {
        let points = self.points(index, mesh)?;
        let Some(anchors) = self.anchors.get(&mesh).cloned().filter(|anchors| !anchors.is_empty()) else {
            return Ok(points);
        };
        let mut places = points.to_vec();
        for anchor in anchors {
            places.push(anchor.place(&self.points(index, anchor.mesh)?));
        }
        Ok(places.into())
    }

    /// How far a mesh goes from frame to frame around `index`.
    fn steps(&mut self, index: usize, mesh: usize) -> Result<Steps, LayerError> {
        let mut middles = self.middles.remove(&mesh).unwrap_or_default();
        let clip = self.target.clip.clone();
        let steps = middles.steps(index, &clip, |frame| Ok(middle(&self.points(frame, mesh)?)));
        self.middles.insert(mesh, middles);
        steps
    }

    /// The frames around `index`, for each mesh.
    fn windows(&mut self, index: usize, meshes: &[usize]) -> Result<Vec<Window>, LayerError> {
        let oldest = index.saturating_sub(2);
        self.frames.retain(|frame, _| *frame >= oldest);
        self.points.retain(|(frame, _), _| *frame >= oldest);
        let frame_rate_hz = self.target.clip.frame_rate_hz;
        let mut windows = Vec::new();
        for &mesh in meshes {
            let mut frames = [None, None, None, None];
            for (offset, frame) in frames.iter_mut().enumerate() {
                let at = (index + offset).checked_sub(2).filter(|at| self.target.clip.has_frame(*at));
                *frame = at.map(|at| self.places(at, mesh)).transpose()?;
            }
            let steps = self.steps(index, mesh)?;
            windows.push(Window { index, lead_in: self.lead_in, frame_rate_hz, frames, steps });
        }
        Ok(windows)
    }
}
