//! What an implicit stage must respect beside its energies: the interface that contact has, and any other limit may have.
//!
//! A body's energies are fixed when it is built. A constraint is what is not: its potential couples other points from one Newton
//! iteration to the next, it may shorten a step before it is taken, and when Newton's method has converged it may change itself and ask for
//! more. `stage/newton.rs` calls it; a stage without constraints is the same loop with an empty list.

use geometry::Vec3;
use linear::Matrix;

use crate::Error;

/// A limit that belongs to a body, such as how far its cloth may stretch. The body is fixed and may be stepped by several; each
/// stepper makes a constraint of its own from it.
pub trait Limit: Send + Sync + 'static {
    /// Its points are `first` further on: it becomes part of a body of several.
    fn shift(&mut self, first: u32);
    /// What the stages of one stepper respect.
    fn constraint(&self) -> Box<dyn StageConstraint>;
}

/// A limit that every iterate of a stage keeps, or that the stage ends within.
///
/// Asked in this order: [`begin_stage`](Self::begin_stage); then in each Newton iteration [`update`](Self::update),
/// [`stencils`](Self::stencils), [`assemble`](Self::assemble), [`limit_step`](Self::limit_step), and [`value`](Self::value) where there is
/// a line search; at the end [`is_satisfied`](Self::is_satisfied) and [`end_stage`](Self::end_stage).
///
/// Whatever is asked of it between [`commit`](Self::commit) and the next [`rewind`](Self::rewind) is a trial: a step that is rejected
/// leaves nothing behind.
pub trait StageConstraint: Send {
    /// Begins an implicit stage.
    fn begin_stage(&mut self, _stage: &StageStart) -> Result<(), Error> {
        Ok(())
    }

    /// Finds what is active at `x`, before anything else is asked in this iteration.
    fn update(&mut self, _x: &[Vec3]) -> Result<(), Error> {
        Ok(())
    }

    /// Whether anything is active at the `x` of the last [`update`](Self::update).
    fn is_active(&self) -> bool {
        true
    }

    /// True where it couples only points that the body's own energies couple: the body's matrix will do.
    fn keeps_pattern(&self) -> bool {
        false
    }

    /// Visits the points that each second derivative of what is active couples.
    fn stencils(&self, _visit: &mut dyn FnMut(&[u32])) {}

    /// Visits stencils that may become active soon, those of [`StageConstraint::stencils`] included: asked when the sparsity has
    /// to change anyway.
    fn candidate_stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.stencils(visit);
    }

    /// The potential at `x`, in joules: what [`StageConstraint::assemble`] adds is its negative gradient, as long as that is
    /// not asked again.
    fn value(&self, _x: &[Vec3]) -> f64 {
        0.0
    }

    /// Adds forces at `x` to `force` and their positive semidefinite stiffness, for a Newton step that came from `previous`, to
    /// `matrix`, which has the blocks of all [`StageConstraint::stencils`]. What moves during this iteration pushes already where
    /// it will be.
    fn assemble(&mut self, _x: &[Vec3], _previous: &[Vec3], _force: &mut [Vec3], _matrix: &mut Matrix) {}

    /// Shortens the step `delta` from `x` so that the straight way is admissible, and moves what it knows the motion of along.
    fn limit_step(&mut self, _x: &[Vec3], _delta: &mut [Vec3]) -> Result<StepBound, Error> {
        Ok(StepBound::default())
    }

    /// From now on steps may be taken in part, so what moves by itself stays where it is for the rest of the stage.
    fn freeze(&mut self) {}

    /// Newton's method has converged at `x`. False where that is not good enough: the constraint has changed itself (a multiplier, a
    /// stiffness), and iterations go on while there are any left.
    fn is_satisfied(&mut self, _x: &[Vec3]) -> Result<bool, Error> {
        Ok(true)
    }

    /// How far `x` is beyond what a stage may end with, as a share of the limit; 0 within. A step that ends beyond is tried again,
    /// shorter, while it is not very short.
    fn excess(&self, _x: &[Vec3]) -> f64 {
        0.0
    }

    /// The stage ended at `x`.
    fn end_stage(&mut self, _x: &[Vec3]) {}

    /// All since the last call is final.
    fn commit(&mut self) {}

    /// Nothing since the last commit has happened.
    fn rewind(&mut self) {}
}

/// Contact between the surfaces of a body, and with obstacles whose motion is given: the constraint that also has a say in how long
/// a step may be.
pub trait ContactModel: StageConstraint {
    /// Whether nothing comes within activation distance on the straight way from `start` to `end`, while obstacles move to where
    /// they are at `time`. Such a step needs no contact solve.
    fn is_step_collision_free(&mut self, start: &[Vec3], end: &[Vec3], time: f64) -> Result<bool, Error>;

    /// A cheap estimate of whether a step from `start`, perhaps to `guess`, is worth trying without contact. To be wrong costs
    /// time, no more: the step is checked by [`ContactModel::is_step_collision_free`] afterwards.
    fn is_likely_collision_free(&mut self, start: &[Vec3], guess: &[Vec3], time: f64) -> Result<bool, Error> {
        self.is_step_collision_free(start, guess, time)
    }

    /// Into how many substeps `seconds` should be cut, because of how far obstacles near the body move in that time. At most 1: none
    /// are needed.
    fn required_substeps(&self, seconds: f64) -> f64;

    /// From now on obstacles go only this share of what they have to go in a step: what they push is at its limits. False where none
    /// has anything to go.
    fn hold_back_obstacles(&mut self, _share: f64) -> bool {
        false
    }

    /// Moves obstacles to where they are at `time`; only after [`ContactModel::is_step_collision_free`] said so.
    fn advance_obstacles(&mut self, time: f64);
}

/// An implicit stage as a constraint sees it.
#[derive(Clone, Copy, Debug)]
pub struct StageStart<'a> {
    /// Where points are once they were carried along: admissible, for contact free of intersections.
    pub start: &'a [Vec3],
    /// How far everything was carried along with the animation as a whole, in metres; obstacles are yet to be.
    pub carried: Vec3,
    /// Where points would go if nothing but inertia acted, known ones where they must.
    pub guess: &'a [Vec3],
    /// In kilograms.
    pub masses: &'a [f64],
    /// Points whose motion is given.
    pub known: &'a [bool],
    /// From start to end, in seconds.
    pub seconds: f64,
    /// When it ends.
    pub time: f64,
}

/// How a step was shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepBound {
    /// Points that may not go the whole way.
    pub shortened: usize,
    /// It led through so much of the scene that all of it was shortened: the linear model it came from is worth nothing here.
    pub is_thrown: bool,
    /// How far obstacles and known points are behind their animation, in metres.
    pub lag: f64,
}

impl StepBound {
    /// After another constraint has shortened the same step.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            shortened: self.shortened.max(other.shortened),
            is_thrown: self.is_thrown || other.is_thrown,
            lag: self.lag.max(other.lag),
        }
    }
}
