//! Contact of a body with itself and with moving obstacles, inside the implicit step.
//!
//! [`Collision`] is the whole of contact for a layer: made once from the simulated surfaces and the obstacles, told each frame
//! where the obstacles go ([`Collision::follow`]), and handed to [`dynamics::Stepper::advance_against`].
//!
//! Obstacles are *proxies* that chase the animation. Where cloth has no room left (an arm pressed into a torso), the
//! obstacle's points wait, each by itself, and catch up when the gap opens: the simulated surface is never crossed, and
//! [`Strife`] says by how much the animation could not be met, and where.

use std::ops::Range;

use dynamics::{Approach, ForceElement, Guide, Obstruction, Restraint, Span};
use geometry::{Bounds, Mat3, Vec3};
use linear::Matrix;
use rayon::prelude::*;

use crate::broad::Pace;
use crate::memory::Memory;
use crate::response::{Felt, Response, Rubbing, STICK, felt};
use crate::restrain::Step;
use crate::watch::Watch;
use crate::{Attachment, Contact, Error, Friction, Pair, Surface, Surfaces, Tangle, closest, safe_fraction};

/// How closely a pair may be watched for: ĝ as a share of the middle edge length, and its bounds in metres.
const REACH: f64 = 0.2;
const REACH_BOUNDS: [f64; 2] = [0.5e-3, 3e-3];
/// Room around watched pairs, as a share of the middle edge length: more makes lists longer, less makes them short-lived.
const SLACK: f64 = 0.15;
/// Gaps below this share of the largest coordinate can be lost when frames are stored in single precision.
const ROUNDING: f64 = 4e-7;
/// An obstacle that goes further than this many times its own size within a frame, and faster than this many m/s, was cut to
/// another place, not moved.
const TELEPORT: (f64, f64) = (4.0, 150.0);
/// What obstacles may go in a step, as a share of their size, or in edges of the simulated surface where that is more: further,
/// and cloth cannot be seen to flee.
const STRIDE: (f64, f64) = (0.25, 1.0);
/// How fast crossed surfaces are drawn apart, in m/s.
const UNTANGLING: f64 = 0.5;

/// Surfaces of a body among obstacles.
pub struct Collision {
    surfaces: Surfaces,
    attachment: Attachment,
    reach: f64,
    slack: f64,
    watch: Watch,
    span: Option<Span>,
    /// What a checkpoint keeps, as it is now and as it was at the last commit.
    now: Memory,
    kept: Memory,
    /// Where obstacles should be at the end of the stage.
    targets: Vec<Vec3>,
    /// Where they would be if nothing had ever held them back.
    aims: Vec<Vec3>,
    stage: Option<Scene>,
    /// What is felt in this iteration.
    fresh: Vec<Contact>,
    rubbing: Vec<Rubbing>,
    tangle: Tangle,
    strife: Strife,
}

/// What a stage is about.
struct Scene {
    start: Vec<Vec3>,
    /// From there to the guess.
    motion: Vec<Vec3>,
    masses: Vec<f64>,
    known: Vec<bool>,
    seconds: f64,
    /// κ of pairs met in this stage, ascending: frozen, so that Newton's method solves one problem.
    stiffness: Vec<(Pair, f64)>,
    /// Diagonal blocks of the system without contact, in the first iteration.
    diagonal: Vec<Mat3>,
}

/// What went on since [`Collision::follow`]: for the report of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strife {
    /// Pairs felt at the end, at most.
    pub contacts: usize,
    /// How far an obstacle's point is behind its animation, in metres, and which: the number of the obstacle and of its point.
    pub lag: f64,
    /// See `lag`.
    pub lagging: Option<(usize, usize)>,
    /// Where that point is held.
    pub place: Vec3,
    /// Pairs of triangles that cross and are being drawn apart.
    pub crossings: usize,
    /// Points inside a one-sided obstacle, being led out.
    pub inside: usize,
    /// An obstacle jumped and was taken to its new place at once.
    pub teleported: bool,
}

impl Collision {
    /// Contact of `simulated` surfaces, whose points (all of them, in order) hang on the body as the attachment says, with each
    /// other, themselves and `obstacles`. Obstacles start at their rest positions.
    pub fn new(
        simulated: Vec<Surface>,
        attachment: Attachment,
        obstacles: Vec<Surface>,
    ) -> Result<Self, Error> {
        let carried = simulated.iter().map(|surface| surface.rest_positions.len()).sum();
        if attachment.len() != carried {
            return Err(Error::Sizes { what: "attached points", expected: carried, got: attachment.len() });
        }
        let places: Vec<Vec3> = obstacles.iter().flat_map(|o| o.rest_positions.clone()).collect();
        let obstacles = obstacles.into_iter().map(|o| Surface { is_obstacle: true, ..o });
        let surfaces = Surfaces::new(simulated.into_iter().chain(obstacles).collect())?;
        let edge = surfaces.median_edge();
        let now = Memory { places: places.clone(), rubbing: Vec::new(), is_tangled: true };
        Ok(Self {
            reach: (REACH * edge).clamp(REACH_BOUNDS[0], REACH_BOUNDS[1]),
            slack: SLACK * edge,
            surfaces,
            attachment,
            watch: Watch::default(),
            span: None,
            kept: now.clone(),
            now,
            aims: places.clone(),
            targets: places,
            stage: None,
            fresh: Vec::new(),
            rubbing: Vec::new(),
            tangle: Tangle::default(),
            strife: Strife::default(),
        })
    }

    /// The surfaces, simulated ones first.
    pub fn surfaces(&self) -> &Surfaces {
        &self.surfaces
    }

    /// The gap at which things begin to feel each other, beyond their thickness, in metres.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Where the obstacles go next: a span over all their points, in order. Call it at the start of every frame.
    pub fn follow(&mut self, span: Span) -> Result<(), Error> {
        for (what, points) in
            [("obstacle points", &span.positions[0]), ("obstacle points", &span.positions[1])]
        {
            if points.len() != self.now.places.len() {
                return Err(Error::Sizes { what, expected: self.now.places.len(), got: points.len() });
            }
        }
        self.strife = Strife::default();
        // nothing that an earlier frame left may change this one, but for what a checkpoint keeps
        self.watch = Watch::default();
        for (number, range) in self.obstacle_ranges() {
            let [from, to] = [0, 1].map(|end: usize| &span.positions[end][range.clone()]);
            if let Some(point) = to.iter().position(|p| !p.is_finite()) {
                return Err(Error::NotFinite {
                    surface: self.surfaces.surfaces()[number].name.clone(),
                    point,
                });
            }
            let size = Bounds::of(from.iter().copied()).diagonal().max(self.surfaces.median_edge());
            let shift = from.iter().zip(to).map(|(a, b)| a.distance(*b)).fold(f64::INFINITY, f64::min);
            let is_cut = shift > TELEPORT.0 * size && shift > TELEPORT.1 * span.duration && shift.is_finite();
            // held so far behind that its proxy is no picture of it any more
            let behind = from.iter().zip(&self.now.places[range.clone()]).map(|(a, b)| a.distance(*b));
            let is_lost = behind.fold(0.0, f64::max) > TELEPORT.0 * size;
            if is_cut || is_lost {
                self.now.places[range].copy_from_slice(to);
                self.now.is_tangled = true;
                self.strife.teleported = true;
            }
        }
        self.kept = self.now.clone();
        self.span = Some(span);
        Ok(())
    }

    /// Puts the obstacles somewhere, at once: before the first step. What crosses then is drawn apart.
    pub fn place(&mut self, places: &[Vec3]) -> Result<(), Error> {
        if places.len() != self.now.places.len() {
            let (expected, got) = (self.now.places.len(), places.len());
            return Err(Error::Sizes { what: "obstacle points", expected, got });
        }
        self.now.places.copy_from_slice(places);
        self.now.is_tangled = true;
        self.kept = self.now.clone();
        Ok(())
    }

    /// What went on since the last [`Collision::follow`].
    pub fn strife(&self) -> &Strife {
        &self.strife
    }

    /// Where the obstacles' proxies are, one after the other.
    pub fn obstacle_places(&self) -> &[Vec3] {
        &self.now.places
    }

    /// The exact state, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.kept.to_bytes()
    }

    /// Takes up what [`Collision::to_bytes`] gave; false, and nothing is changed, if the bytes are not those of this scene.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some(memory) = Memory::from_bytes(bytes, self.now.places.len(), self.surfaces.point_count())
        else {
            return false;
        };
        self.now = memory;
        self.kept = self.now.clone();
        self.watch = Watch::default();
        true
    }

    /// Numbers of the obstacles among the surfaces, and their points among those of all obstacles.
    fn obstacle_ranges(&self) -> Vec<(usize, Range<usize>)> {
        let carried = self.attachment.len();
        let obstacles = self.surfaces.surfaces().iter().enumerate().filter(|(_, s)| s.is_obstacle);
        obstacles
            .map(|(number, _)| {
                let range = self.surfaces.points_of(number);
                (number, range.start - carried..range.end - carried)
            })
            .collect()
    }

    fn aim(&mut self, time: f64) {
        let mut velocities = vec![Vec3::ZERO; self.targets.len()];
        match &self.span {
            Some(span) => span.sample(time, &mut self.targets, &mut velocities),
            None => self.targets.copy_from_slice(&self.now.places),
        }
    }

    /// All contact points, for a place of the body and of the obstacles.
    fn all(&self, x: &[Vec3], obstacles: &[Vec3]) -> Vec<Vec3> {
        let carried = (0..self.attachment.len()).map(|i| self.attachment.place(i, x));
        carried.chain(obstacles.iter().copied()).collect()
    }

    /// All contact points after a step of the body and of the obstacles.
    fn after(&self, here: &[Vec3], delta: &[Vec3], way: &[Vec3]) -> Vec<Vec3> {
        let (carried, obstacles) = here.split_at(self.attachment.len());
        let carried = carried.iter().enumerate().map(|(i, x)| *x + self.attachment.place(i, delta));
        carried.chain(obstacles.iter().zip(way).map(|(x, way)| *x + *way)).collect()
    }

    fn floor(x: &[Vec3]) -> f64 {
        ROUNDING * x.iter().fold(0.0, |most, p| p.abs().max_element().max(most))
    }

    fn cover(&mut self, start: &[Vec3], end: &[Vec3]) -> Result<(), Error> {
        if self.covers(start, end) {
            return Ok(());
        }
        self.renew(start, end, Pace::Common, self.room_for_more(start, end))
    }

    /// Whether the list is right for this way.
    fn covers(&self, start: &[Vec3], end: &[Vec3]) -> bool {
        self.watch.holds(start) && self.watch.holds(end)
    }

    /// The slack of a list that may serve for the steps after this one as well.
    fn room_for_more(&self, start: &[Vec3], end: &[Vec3]) -> f64 {
        // what rests needs no room
        let furthest = start.iter().zip(end).map(|(s, e)| s.distance_squared(*e)).fold(0.0, f64::max).sqrt();
        (0.5 * furthest).clamp(0.5 * self.reach, self.slack.max(0.5 * self.reach))
    }

    fn renew(&mut self, start: &[Vec3], end: &[Vec3], pace: Pace, slack: f64) -> Result<(), Error> {
        let (tangle, surfaces) = (&self.tangle, &self.surfaces);
        let is_left_out = |pair: &Pair| tangle.is_exempt(surfaces, pair);
        self.watch.renew(surfaces, start, end, self.reach, slack, pace, is_left_out)
    }

    /// How far an obstacle, given by its points, may go in a step, in metres.
    fn stride(&self, span: &Span, range: Range<usize>) -> f64 {
        let size = Bounds::of(span.positions[0][range].iter().copied()).diagonal();
        (STRIDE.0 * size).max(STRIDE.1 * self.surfaces.median_edge()).max(f64::MIN_POSITIVE)
    }

    /// What was held back does not catch up in one leap.
    fn shorten_way(&mut self) {
        let Some(span) = &self.span else { return };
        for (_, range) in self.obstacle_ranges() {
            let stride = self.stride(span, range.clone());
            for (target, place) in self.targets[range.clone()].iter_mut().zip(&self.now.places[range]) {
                let way = *target - *place;
                if way.length_squared() > stride * stride {
                    *target = *place + way.clamp_length_max(stride);
                }
            }
        }
    }

    fn way(&self) -> Vec<Vec3> {
        self.targets.iter().zip(&self.now.places).map(|(target, place)| *target - *place).collect()
    }

    fn check(&self, x: &[Vec3]) -> Result<(), Error> {
        if x.len() < self.attachment.body_points() {
            return Err(Error::Sizes {
                what: "points of the body",
                expected: self.attachment.body_points(),
                got: x.len(),
            });
        }
        Ok(())
    }

    /// Finds crossings while there are, or may be, any.
    fn find_tangle(&mut self, x: &[Vec3]) -> Result<(), Error> {
        if self.now.is_tangled {
            self.tangle = Tangle::find(&self.surfaces, x)?;
            self.now.is_tangled = !self.tangle.is_empty();
            self.watch.clear();
            self.strife.crossings = self.strife.crossings.max(self.tangle.crossings.len());
            self.strife.inside = self.strife.inside.max(self.tangle.inside.len());
        }
        Ok(())
    }

    /// Pairs that are pressed together at the end of a stage rub in the next one, with the force they are pressed by now. One
    /// that stuck keeps its anchor; one that slid drags it along, seen from where the two are nearest now.
    fn rub(&self, scene: &Scene, x: &[Vec3]) -> Vec<Rubbing> {
        let contacts = felt(&self.surfaces, &self.watch.list, x);
        let response = self.response(x, &[], &scene.known);
        let felt = self.stiffened(scene, &contacts, &response);
        let forces = response.normal_forces(&felt);
        let rub = |felt: &Felt, force: f64| {
            let Contact { pair, nearest, .. } = felt.contact;
            let limit = self.surfaces.friction(&pair) * force;
            let normal = nearest.normal().filter(|_| limit > 0.0)?;
            let place = pair.gather(x);
            let stiffness = STICK * felt.stiffness;
            let fresh = |slip: Vec3| Friction {
                weights: nearest.weights,
                normal,
                anchor: nearest.difference - slip,
                limit,
                stiffness,
            };
            let before = self.rubbing.binary_search_by_key(&pair, |rubbing| rubbing.pair);
            let friction = match before.map(|k| self.rubbing[k].friction) {
                Ok(old) if !old.is_sliding(&place) => Friction { normal, limit, stiffness, ..old },
                Ok(old) => fresh(Friction { anchor: old.anchor_after(&place), ..old }.slip(&place)),
                Err(_) => fresh(Vec3::ZERO),
            };
            Some(Rubbing { pair, friction })
        };
        felt.iter().zip(forces).filter_map(|(felt, force)| rub(felt, force)).collect()
    }

    /// κ: what the two resist by themselves, and more where they come faster than the gap is wide.
    fn stiffness(&self, scene: &Scene, contact: &Contact, response: &Response) -> f64 {
        let Contact { pair, nearest, reach, .. } = contact;
        if let Ok(k) = scene.stiffness.binary_search_by_key(pair, |known| known.0) {
            return scene.stiffness[k].1;
        }
        let way = pair.gather(&scene.motion);
        let normal = nearest.normal().unwrap_or(Vec3::ZERO);
        let closing = -(0..4).map(|i| nearest.weights[i] * normal.dot(way[i])).sum::<f64>();
        let local = response.local_stiffness(nearest, pair, &scene.diagonal);
        local * (closing / (4.0 * reach)).clamp(1.0, 1e4)
    }

    fn stiffened(&self, scene: &Scene, contacts: &[Contact], response: &Response) -> Vec<Felt> {
        let felt = |contact: &Contact| Felt {
            contact: *contact,
            stiffness: self.stiffness(scene, contact, response),
        };
        contacts.par_iter().map(felt).collect()
    }

    /// Draws crossed surfaces apart.
    fn add_untangling(&self, scene: &Scene, x: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        if self.tangle.is_empty() {
            return;
        }
        let way = self.way();
        let response = self.response(x, &way, &scene.known);
        let velocity = |p: u32| (x[p as usize] - scene.start[p as usize]) / scene.seconds;
        for (points, mut knot) in self.tangle.knots(&self.surfaces, x, 1.0, UNTANGLING) {
            let mass = |p: u32| self.contact_mass(p as usize, scene);
            let mobility: f64 = points.iter().zip(knot.weights).map(|(&p, w)| w * w / mass(p)).sum();
            knot.strength = if mobility > 0.0 { 20.0 * UNTANGLING / (mobility * scene.seconds) } else { 0.0 };
            let v = points.map(velocity);
            let pull = knot.force(0.0, &x.first_chunk().copied().unwrap_or([Vec3::ZERO; 5]), &v);
            let drag = knot.damping(0.0, &[Vec3::ZERO; 5], &v) * scene.seconds.recip();
            response.scatter(&points, &pull.map(|f| -f), &drag, force, matrix);
        }
        for (point, exit) in self.tangle.exits(&self.surfaces, x) {
            // critically fast: half of the way out in a stage
            let stiffness = self.contact_mass(point as usize, scene) / scene.seconds.powi(2);
            if !stiffness.is_finite() {
                continue;
            }
            let pull = stiffness * (x[point as usize] - exit);
            let block = dynamics::Block([[Mat3::IDENTITY * stiffness]]);
            response.scatter(&[point], &[pull], &block, force, matrix);
        }
    }

    fn contact_mass(&self, point: usize, scene: &Scene) -> f64 {
        if point < self.attachment.len() {
            self.attachment.mass(point, &scene.masses, &scene.known)
        } else {
            f64::INFINITY
        }
    }

    fn response<'a>(&'a self, x: &'a [Vec3], way: &'a [Vec3], known: &'a [bool]) -> Response<'a> {
        Response { surfaces: &self.surfaces, attachment: &self.attachment, x, way, known }
    }

    fn visit_pairs<'a>(&self, pairs: impl Iterator<Item = &'a Pair>, visit: &mut dyn FnMut(&[u32])) {
        let mut stencil: Vec<u32> = Vec::new();
        for pair in pairs {
            stencil.clear();
            for &p in pair.points.iter().filter(|&&p| (p as usize) < self.attachment.len()) {
                stencil.extend(self.attachment.parts(p as usize).iter().map(|part| part.0));
            }
            visit(&stencil);
        }
    }
}

impl Obstruction for Collision {
    fn is_clear(&mut self, start: &[Vec3], end: &[Vec3], time: f64) -> Result<bool, dynamics::Error> {
        self.check(start).map_err(boxed)?;
        self.aim(time);
        let here = self.all(start, &self.now.places);
        self.find_tangle(&here).map_err(boxed)?;
        if self.now.is_tangled {
            return Ok(false);
        }
        let there = self.all(end, &self.targets);
        if !self.covers(&here, &there) {
            // where the way is clear, no other is asked for that begins here
            self.renew(&here, &there, Pace::Common, 0.5 * self.reach).map_err(boxed)?;
        }
        let pairs: Vec<Pair> = self.watch.list.iter().map(|watched| watched.pair).collect();
        if !felt(&self.surfaces, &self.watch.list, &here).is_empty() {
            return Ok(false);
        }
        // beyond thickness and reach all the way
        Ok(safe_fraction(&self.surfaces, &pairs, &here, &there, self.reach, |_| false).time >= 1.0)
    }

    /// Where the list of the last step is right at the start, what is felt there decides: to make a list for a guess, and another
    /// for where the step then goes, is most of the price of a step in the air.
    fn seems_clear(&mut self, start: &[Vec3], guess: &[Vec3], time: f64) -> Result<bool, dynamics::Error> {
        self.check(start).map_err(boxed)?;
        self.aim(time);
        let here = self.all(start, &self.now.places);
        if self.now.is_tangled || !self.watch.holds(&here) {
            return self.is_clear(start, guess, time);
        }
        Ok(felt(&self.surfaces, &self.watch.list, &here).is_empty())
    }

    fn haste(&self, seconds: f64) -> f64 {
        let Some(span) = &self.span else { return 0.0 };
        let carried = self.attachment.len();
        let speed = |p: usize| span.positions[0][p].distance(span.positions[1][p]) / span.duration;
        let mut fastest = vec![0.0_f64; self.surfaces.surfaces().len()];
        for p in self.watch.list.iter().flat_map(|watched| watched.pair.points) {
            if let Some(obstacle) = (p as usize).checked_sub(carried) {
                let number = self.surfaces.surface_of(p);
                fastest[number] = fastest[number].max(speed(obstacle));
            }
        }
        let haste = |(number, range): (usize, Range<usize>)| {
            // one that is held back does not get further by shorter steps
            let size = Bounds::of(span.positions[0][range.clone()].iter().copied()).diagonal();
            let aims = &self.targets[range.clone()];
            let way = seconds * fastest[number];
            let is_held = |(aim, place): (&Vec3, &Vec3)| aim.distance(*place) > way + 0.5 * size;
            let held = aims.iter().zip(&self.now.places[range.clone()]).any(is_held);
            if held { 0.0 } else { way / self.stride(span, range) }
        };
        self.obstacle_ranges().into_iter().map(haste).fold(0.0, f64::max)
    }

    fn arrive(&mut self, time: f64) {
        self.aim(time);
        self.now.places.copy_from_slice(&self.targets);
        self.now.rubbing.clear();
    }

    fn begin(&mut self, approach: &Approach) -> Result<(), dynamics::Error> {
        self.check(approach.start).map_err(boxed)?;
        self.aim(approach.time);
        self.aims.copy_from_slice(&self.targets);
        self.shorten_way();
        let start = self.all(approach.start, &self.now.places);
        self.find_tangle(&start).map_err(boxed)?;
        let guess = self.all(approach.guess, &self.targets);
        // no list for the way to the guess: the first Newton step may go elsewhere
        self.cover(&start, &start).map_err(boxed)?;
        self.rubbing = self.now.rubbing.clone();
        self.stage = Some(Scene {
            motion: guess.iter().zip(&start).map(|(g, s)| *g - *s).collect(),
            start,
            masses: approach.masses.to_vec(),
            known: approach.known.to_vec(),
            seconds: approach.seconds,
            stiffness: Vec::new(),
            diagonal: Vec::new(),
        });
        Ok(())
    }

    fn look(&mut self, x: &[Vec3]) -> Result<(), dynamics::Error> {
        let here = self.all(x, &self.now.places);
        self.cover(&here, &here).map_err(boxed)?;
        self.fresh = felt(&self.surfaces, &self.watch.list, &here);
        self.strife.contacts = self.fresh.len();
        Ok(())
    }

    fn couplings(&self, visit: &mut dyn FnMut(&[u32])) {
        let rubbing = self.rubbing.iter().map(|rubbing| &rubbing.pair);
        self.visit_pairs(self.fresh.iter().map(|contact| &contact.pair).chain(rubbing), visit);
        if !self.tangle.is_empty() {
            // what is crossed changes from iteration to iteration; any two of the triangles may meet
            for &[a, b] in &self.tangle.crossings {
                let [a, b] = [a, b].map(|t| self.surfaces.triangles()[t as usize]);
                let points: Vec<u32> = a.into_iter().chain(b).collect();
                let carried = points.iter().filter(|&&p| (p as usize) < self.attachment.len());
                let stencil: Vec<u32> = carried
                    .flat_map(|&p| self.attachment.parts(p as usize).iter().map(|part| part.0))
                    .collect();
                visit(&stencil);
            }
        }
    }

    fn coming_couplings(&self, visit: &mut dyn FnMut(&[u32])) {
        self.couplings(visit);
        let here = self.stage.as_ref().map_or(&[][..], |scene| &scene.start);
        let soon = self.watch.list.iter().filter(|watched| {
            let pair = &watched.pair;
            let shift = pair.gather(here);
            closest(pair.kind, &shift).distance < watched.offset + 2.0 * watched.reach
        });
        if !here.is_empty() {
            self.visit_pairs(soon.map(|watched| &watched.pair), visit);
        }
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        let Some(scene) = &self.stage else { return 0.0 };
        let here = self.all(x, &self.now.places);
        let contacts = felt(&self.surfaces, &self.watch.list, &here);
        let response = self.response(&here, &[], &scene.known);
        response.value(&self.stiffened(scene, &contacts, &response), &self.rubbing)
    }

    fn add_to(&mut self, x: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        let Some(mut scene) = self.stage.take() else { return };
        let here = self.all(x, &self.now.places);
        let way = self.way();
        if scene.diagonal.is_empty() {
            scene.diagonal = (0..scene.masses.len()).map(|i| matrix.diagonal(i)).collect();
        }
        let response = self.response(&here, &way, &scene.known);
        let found = self.stiffened(&scene, &self.fresh, &response);
        response.add_to(&found, &self.rubbing, force, matrix);
        let mut known = std::mem::take(&mut scene.stiffness);
        known.extend(found.iter().map(|felt| (felt.contact.pair, felt.stiffness)));
        known.sort_by_key(|known| known.0);
        known.dedup_by_key(|known| known.0);
        scene.stiffness = known;
        self.add_untangling(&scene, &here, force, matrix);
        self.stage = Some(scene);
    }

    fn hold(&mut self) {
        self.targets.copy_from_slice(&self.now.places);
    }

    fn restrain(&mut self, x: &[Vec3], delta: &mut [Vec3]) -> Result<Restraint, dynamics::Error> {
        let here = self.all(x, &self.now.places);
        let wanted: Vec<Vec3> = delta.iter().copied().chain(self.way()).collect();
        let mut ways = wanted.clone();
        // The list is right for points that go the same fraction of their ways, give or take some slack. Where some are held back by
        // more, others may meet them that would have moved along: these are looked for on the ways that are left, each point at its
        // own pace.
        for pace in [Pace::Common, Pace::Own] {
            let there = self.after(&here, &ways[..delta.len()], &ways[delta.len()..]);
            match pace {
                Pace::Common => self.cover(&here, &there),
                Pace::Own if self.watch.holds(&there) => break,
                Pace::Own => self.renew(&here, &there, pace, self.room_for_more(&here, &there)),
            }
            .map_err(boxed)?;
            let step = Step {
                start: &here,
                attachment: &self.attachment,
                ways,
                known: self.stage.as_ref().map_or(&[], |scene| &scene.known),
                body_points: delta.len(),
                floor: Self::floor(&here),
            };
            ways = step.restrained(&self.watch.list, pace == Pace::Own);
        }
        let is_changed = |(i, d): &(usize, &Vec3)| ways[*i] != **d;
        let shortened = delta.iter().enumerate().filter(is_changed).count();
        let mut restraint = Restraint { shortened, ..Restraint::default() };
        let of_obstacles = delta.len()..;
        for (i, (way, wanted)) in ways[of_obstacles.clone()].iter().zip(&wanted[of_obstacles]).enumerate() {
            if way == wanted {
                self.now.places[i] = self.targets[i];
            } else {
                self.now.places[i] += *way;
                restraint.lag = restraint.lag.max(self.now.places[i].distance(self.targets[i]));
            }
        }
        delta.copy_from_slice(&ways[..delta.len()]);
        Ok(restraint)
    }

    fn end(&mut self, x: &[Vec3]) {
        if let Some(scene) = self.stage.take().filter(|scene| !scene.diagonal.is_empty()) {
            let here = self.all(x, &self.now.places);
            self.now.rubbing = self.rub(&scene, &here);
        }
        let lags = self.aims.iter().zip(&self.now.places).map(|(t, p)| t.distance(*p));
        let worst = lags.enumerate().fold((0, 0.0), |worst, lag| if lag.1 > worst.1 { lag } else { worst });
        if worst.1 > self.strife.lag.max(self.reach) {
            let point = self.attachment.len() + worst.0;
            let number = self.surfaces.surface_of(point as u32);
            let first = self.surfaces.points_of(number).start;
            self.strife.lag = worst.1;
            self.strife.lagging = Some((number, point - first));
            self.strife.place = self.now.places[worst.0];
        }
    }

    fn commit(&mut self) {
        self.kept = self.now.clone();
    }

    fn rewind(&mut self) {
        self.now = self.kept.clone();
    }
}

fn boxed(error: Error) -> dynamics::Error {
    dynamics::Error::Obstruction(Box::new(error))
}
