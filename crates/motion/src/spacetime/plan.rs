//! What does not change while a problem is solved: which points rest when, and where.

use geometry::{Mat3, Vec3};

use super::Spacetime;
use crate::body::Body;
use crate::cone::Cone;
use crate::derivatives::Derivatives;
use crate::recursion::Data;
use crate::spline::{Moment, Slope, Spline};
use crate::stand::{CREEP, Stand, stands};
use crate::trajectory::Trajectory;

/// Sole points that rest at a frame: the point, its place, and the contact's index at the frame before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub(crate) sole: usize,
    /// Where it rests, as long as its step is where it was thought to be.
    anchor: Vec3,
    /// The step's index among those that stand, where its place is unknown.
    stand: Option<usize>,
    pub(crate) cone: Cone,
    pub(crate) before: Option<usize>,
    /// Whether the point rests at the next frame too.
    pub(crate) goes_on: bool,
}

/// A motion and the forces that go with it.
#[derive(Clone, Debug)]
pub(crate) struct Iterate {
    pub(crate) spline: Spline,
    /// By frame and active point, in body weights.
    pub(crate) forces: Vec<Vec<Vec3>>,
    /// By frame and step that stands: how far it is from where it was thought to be.
    pub(crate) places: Vec<Vec<Vec3>>,
}

/// What does not change while a problem is solved.
pub(crate) struct Plan<'a> {
    pub(crate) problem: &'a Spacetime<'a>,
    pub(crate) active: Vec<Vec<Active>>,
    /// By frame, steps whose places are unknown.
    pub(crate) stands: Vec<Vec<Stand>>,
    /// Joints that are followed.
    pub(crate) followed: Vec<usize>,
    /// Their places in the take, by frame.
    pub(crate) places: Vec<Vec<Vec3>>,
    /// N.
    pub(crate) body_weight: f64,
    pub(crate) step: f64,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(problem: &'a Spacetime<'a>, step: f64) -> Self {
        let body = problem.body;
        let frames = problem.target.len();
        let stands = match problem.weights.place > 0.0 {
            true => stands(problem.contacts, frames),
            false => vec![Vec::new(); frames],
        };
        let mut active: Vec<Vec<Active>> = Vec::with_capacity(frames);
        for i in 0..frames {
            let here =
                problem.contacts.iter().filter(|contact| contact.frames.contains(&i)).map(|contact| Active {
                    sole: contact.sole,
                    anchor: contact.anchor + problem.terrain.velocity() * (step * i as f64),
                    stand: stands[i].iter().position(|stand| stand.step == contact.step),
                    cone: Cone { normal: contact.normal, friction: problem.friction },
                    before: active
                        .last()
                        .and_then(|last| last.iter().position(|other| other.sole == contact.sole)),
                    goes_on: contact.frames.contains(&(i + 1)) || i + 1 == frames,
                });
            let here = here.collect();
            active.push(here);
        }
        // joints that move by themselves, and of those at one place the first
        let followed: Vec<usize> = (0..body.joints().len())
            .filter(|&j| {
                let joint = &body.joints()[j];
                joint.kind != crate::JointKind::Welded
                    && (joint.parent.is_none() || joint.offset.length() > 1e-3)
            })
            .collect();
        let points: Vec<(usize, Vec3)> = followed.iter().map(|&joint| (joint, Vec3::ZERO)).collect();
        let tracks = crate::contacts::tracks(body, problem.target, &points);
        let places = (0..frames).map(|i| tracks.iter().map(|track| track[i]).collect()).collect();
        let body_weight = body.mass() * problem.gravity.length().max(1.0);
        Self { problem, active, stands, followed, places, body_weight, step }
    }

    pub(crate) fn frames(&self) -> usize {
        self.problem.target.len()
    }

    /// Unknowns of a frame beside its control point: forces, then places of steps.
    pub(crate) fn extra(&self, frame: usize) -> usize {
        3 * (self.active.get(frame).map_or(0, Vec::len) + self.stands.get(frame).map_or(0, Vec::len))
    }

    /// Weights of a step's place: of its change from frame to frame, and of itself.
    pub(crate) fn place_weights(&self) -> [f64; 2] {
        let w = &self.problem.weights;
        [(CREEP * w.anchor).powi(-2), w.place.powi(-2)].map(|weight| weight * self.step)
    }

    /// Where a resting point rests, and how that changes with its step's place.
    pub(crate) fn anchor(
        &self,
        iterate: &Iterate,
        frame: usize,
        active: &Active,
    ) -> (Vec3, Option<(usize, Mat3)>) {
        let Some(index) = active.stand else { return (active.anchor, None) };
        let (stand, place) = (&self.stands[frame][index], iterate.places[frame][index]);
        let slope = stand.slope(active.anchor, place);
        (stand.anchor(active.anchor, place), Some((index, slope)))
    }

    /// Torques weigh less in a heavier body.
    pub(super) fn torque_unit(&self) -> f64 {
        self.problem.weights.torque * self.problem.body.mass() / 70.0
    }

    /// Trajectories that want something at a frame, where their points are, and where they should be.
    pub(crate) fn on_paths<'b>(
        &'b self,
        frame: usize,
        data: &'b Data,
    ) -> impl Iterator<Item = (&'b Trajectory, Vec3, Vec3)> {
        self.problem.trajectories.iter().filter_map(move |path| {
            Some((path, data.point(self.problem.body, path.joint, path.point), path.place(frame)?))
        })
    }

    /// What every sole point does: resting ones are off their place, the others at a height.
    pub(crate) fn points<'b>(
        &'b self,
        iterate: &'b Iterate,
        frame: usize,
        data: &'b Data,
    ) -> impl Iterator<Item = (usize, Place)> + use<'b> {
        let problem = self.problem;
        problem.soles.iter().enumerate().map(move |(index, sole)| {
            let x = data.point(problem.body, sole.joint, sole.point);
            let place = match self.active[frame].iter().find(|active| active.sole == index) {
                Some(active) => {
                    let (anchor, slope) = self.anchor(iterate, frame, active);
                    Place::Anchor(x - anchor, slope)
                }
                None => Place::Height(problem.terrain.height(x)),
            };
            (index, place)
        })
    }
}

/// What a sole point does.
pub(crate) enum Place {
    /// Off its place by this; which step's place that is, and how it changes with it.
    Anchor(Vec3, Option<(usize, Mat3)>),
    /// At this height.
    Height(f64),
}

/// Scratch of one thread.
pub(crate) struct Scratch {
    pub(crate) data: Data,
    pub(crate) derivatives: Derivatives,
    pub(crate) moment: Moment,
    pub(crate) slope: Slope,
    pub(crate) u: Vec<f64>,
    pub(super) difference: Vec<f64>,
    pub(super) parts: [Vec<f64>; 3],
}

impl Scratch {
    pub(crate) fn new(body: &Body) -> Self {
        let zeros = vec![0.0; body.dof_count()];
        Self {
            data: Data::new(body),
            derivatives: Derivatives::new(body),
            moment: Moment::new(body),
            slope: Slope::default(),
            u: zeros.clone(),
            difference: zeros.clone(),
            parts: [zeros.clone(), zeros.clone(), zeros],
        }
    }
}
