//! Contact of a body with itself and with moving obstacles, inside the implicit step.
//!
//! [`BarrierContact`] is the whole of contact for a layer: made once from the simulated surfaces and the obstacles, told each frame
//! where the obstacles go ([`BarrierContact::follow`]), and handed to [`dynamics::Stepper::advance_with_contact`].
//!
//! Obstacles are *proxies* that chase the animation. Where cloth has no room left (an arm pressed into a torso), the
//! obstacle's points wait, each by itself, and catch up when the gap opens: the simulated surface is never crossed, and
//! [`ContactReport`] says by how much the animation could not be met, and where.
//!
//! In the order of a step: `obstacles` (where they go), `candidates` (pairs that may come near), `forces` (barrier, friction and
//! untangling in Newton's system), `step` (the interface that the engine calls); `state` is what a checkpoint keeps.

mod candidates;
mod delivery;
mod forces;
mod obstacles;
mod state;
mod step;
#[cfg(test)]
mod tests;

use dynamics::Span;
use geometry::{Mat3, Vec3};

use crate::broad_phase::CandidateCache;
use crate::friction::FrictionContact;
use crate::{Attachment, CollisionMesh, CollisionSurface, Contact, Error, Exemptions, Intersections, Pair};
use state::ContactState;

/// d̂ as a share of the middle edge length, and its bounds in metres.
const DHAT: f64 = 0.2;
const DHAT_BOUNDS: [f64; 2] = [0.5e-3, 3e-3];
/// Slack of candidates, as a share of the middle edge length: more makes lists longer, less makes them short-lived.
const SLACK: f64 = 0.15;

/// Contact of the surfaces of a body with themselves and with obstacles: barriers, friction, continuous detection.
pub struct BarrierContact {
    mesh: CollisionMesh,
    attachment: Attachment,
    dhat: f64,
    slack: f64,
    candidates: CandidateCache,
    span: Option<Span>,
    /// What a checkpoint keeps, as it is now and as it was at the last commit.
    state: ContactState,
    committed: ContactState,
    /// How fast everything moves along in this frame, in m/s.
    drift: Vec3,
    /// Where obstacles should be at the end of the stage.
    targets: Vec<Vec3>,
    /// How much of what they have to go obstacles go in a step.
    obstacle_share: f64,
    /// Where the animation has them then.
    animated_positions: Vec<Vec3>,
    stage: Option<StageCache>,
    /// Active contacts of this iteration.
    active: Vec<Contact>,
    friction_contacts: Vec<FrictionContact>,
    intersections: Intersections,
    exemptions: Exemptions,
    report: ContactReport,
}

/// What stays the same during a stage.
struct StageCache {
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

/// What happened since [`BarrierContact::follow`]: for the report of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactReport {
    /// Active contacts at the end, at most.
    pub contacts: usize,
    /// How far an obstacle's point is behind its animation, in metres, and which: the number of the obstacle and of its point.
    pub lag: f64,
    /// See `lag`.
    pub lagging: Option<(usize, usize)>,
    /// Where that point is held.
    pub place: Vec3,
    /// Pairs of triangles that cross and are being drawn apart.
    pub crossings: usize,
    /// Points inside an obstacle, being led out.
    pub inside: usize,
    /// Whether anything crossed, or was inside, when the last step began.
    pub is_tangled: bool,
    /// An obstacle jumped and was taken to its new place at once.
    pub teleported: bool,
}

impl BarrierContact {
    /// Contact of `simulated` surfaces, whose points (all of them, in order) follow the body as the attachment says, with each
    /// other, themselves and `obstacles`. Obstacles start at their rest positions.
    pub fn new(
        simulated: Vec<CollisionSurface>,
        attachment: Attachment,
        obstacles: Vec<CollisionSurface>,
    ) -> Result<Self, Error> {
        let carried = simulated.iter().map(|surface| surface.rest_positions.len()).sum();
        if attachment.len() != carried {
            return Err(Error::Sizes { what: "attached points", expected: carried, got: attachment.len() });
        }
        let positions: Vec<Vec3> = obstacles.iter().flat_map(|o| o.rest_positions.clone()).collect();
        let obstacles = obstacles.into_iter().map(|o| CollisionSurface { is_obstacle: true, ..o });
        let mesh = CollisionMesh::new(simulated.into_iter().chain(obstacles).collect())?;
        let edge = mesh.median_edge();
        let state = ContactState {
            obstacle_positions: positions.clone(),
            friction_contacts: Vec::new(),
            may_intersect: true,
        };
        Ok(Self {
            dhat: (DHAT * edge).clamp(DHAT_BOUNDS[0], DHAT_BOUNDS[1]),
            slack: SLACK * edge,
            mesh,
            attachment,
            candidates: CandidateCache::default(),
            span: None,
            drift: Vec3::ZERO,
            committed: state.clone(),
            state,
            animated_positions: positions.clone(),
            targets: positions,
            obstacle_share: 1.0,
            stage: None,
            active: Vec::new(),
            friction_contacts: Vec::new(),
            intersections: Intersections::default(),
            exemptions: Exemptions::default(),
            report: ContactReport::default(),
        })
    }

    /// The surfaces, simulated ones first.
    pub fn mesh(&self) -> &CollisionMesh {
        &self.mesh
    }

    /// Lets pinned points that are inside an obstacle, with the body at `x` and the obstacles at `obstacles`, pass through it from now on. To be
    /// called in the same way before the first step and before a checkpoint is taken up: it is no part of one.
    pub fn exempt_pinned(&mut self, x: &[Vec3], obstacles: &[Vec3]) -> Result<(), Error> {
        self.check_body(x)?;
        let places = self.contact_points(x, obstacles);
        self.exemptions.add_pinned(&self.mesh, &places)?;
        self.candidates = CandidateCache::default();
        Ok(())
    }

    /// Leaves what has one of two sewn points, by their numbers among the attached ones, and what has the other alone from now on. No part of a
    /// checkpoint, as [`BarrierContact::exempt_pinned`].
    pub fn exempt_sewn(&mut self, pairs: impl IntoIterator<Item = (u32, u32)>) {
        pairs.into_iter().for_each(|(a, b)| self.exemptions.add_sewn(a, b));
        self.candidates = CandidateCache::default();
    }

    /// What passes through obstacles for good.
    pub fn exemptions(&self) -> &Exemptions {
        &self.exemptions
    }

    /// d̂: the gap beyond their thickness at which the barrier between two surfaces begins, in metres.
    pub fn dhat(&self) -> f64 {
        self.dhat
    }

    /// What happened since the last [`BarrierContact::follow`].
    pub fn report(&self) -> &ContactReport {
        &self.report
    }

    /// The attached points of the contacts that are active, by their numbers; one as often as it is in a contact.
    pub fn touched(&self) -> impl Iterator<Item = u32> + '_ {
        let points = self.active.iter().flat_map(|contact| contact.pair.points);
        points.filter(|&point| (point as usize) < self.attachment.len())
    }

    /// Where the obstacles' proxies are, one after the other.
    pub fn obstacle_positions(&self) -> &[Vec3] {
        &self.state.obstacle_positions
    }

    /// The exact state, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.committed.to_bytes()
    }

    /// Takes up what [`BarrierContact::to_bytes`] gave; false, and nothing is changed, if the bytes are not those of this scene.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some(state) =
            ContactState::from_bytes(bytes, self.state.obstacle_positions.len(), self.mesh.point_count())
        else {
            return false;
        };
        self.state = state;
        self.committed = self.state.clone();
        self.candidates = CandidateCache::default();
        true
    }
}
