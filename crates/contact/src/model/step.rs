//! The contact model that the engine calls.

use std::ops::Range;

use dynamics::{ContactModel, StageConstraint, StageStart, StepBound, middle};
use geometry::{Bounds, Vec3};
use linear::Matrix;

use super::candidates::Shortened;
use super::{BarrierContact, StageCache};
use crate::barrier::active_contacts;
use crate::broad_phase::StepScale;
use crate::{Error, Pair, closest, collision_free_fraction};

/// Gaps below this share of the largest coordinate can be lost when frames are stored in single precision.
const ROUNDING: f64 = 4e-7;

impl ContactModel for BarrierContact {
    fn is_step_collision_free(
        &mut self,
        start: &[Vec3],
        end: &[Vec3],
        time: f64,
    ) -> Result<bool, dynamics::Error> {
        self.check_body(start).map_err(boxed)?;
        self.sample_targets(time);
        let here = self.contact_points(start, &self.state.obstacle_positions);
        self.find_intersections(&here).map_err(boxed)?;
        if self.state.may_intersect {
            return Ok(false);
        }
        let there = self.contact_points(end, &self.targets);
        if !self.has_candidates(&here, &there) {
            // where the way is clear, no other is asked for that begins here
            let slack = 0.5 * self.dhat;
            self.rebuild_candidates(&here, &there, StepScale::Uniform, slack, usize::MAX).map_err(boxed)?;
        }
        let pairs: Vec<Pair> = self.candidates.list.iter().map(|candidate| candidate.pair).collect();
        if !active_contacts(&self.mesh, &self.candidates.list, &here).is_empty() {
            return Ok(false);
        }
        // beyond thickness and d̂ all the way
        Ok(collision_free_fraction(&self.mesh, &pairs, &here, &there, self.dhat, |_| false).time >= 1.0)
    }

    /// Where the list of the last step is right at the start, what is active there decides: to make a list for a guess, and another
    /// for where the step then goes, is most of the price of a step in the air.
    fn is_likely_collision_free(
        &mut self,
        start: &[Vec3],
        guess: &[Vec3],
        time: f64,
    ) -> Result<bool, dynamics::Error> {
        self.check_body(start).map_err(boxed)?;
        self.sample_targets(time);
        let here = self.contact_points(start, &self.state.obstacle_positions);
        if self.state.may_intersect || !self.candidates.is_valid_at(&here) {
            return self.is_step_collision_free(start, guess, time);
        }
        Ok(active_contacts(&self.mesh, &self.candidates.list, &here).is_empty())
    }

    fn required_substeps(&self, seconds: f64) -> f64 {
        let Some(span) = &self.span else { return 0.0 };
        let carried = self.attachment.len();
        let speed =
            |p: usize| ((span.positions[1][p] - span.positions[0][p]) / span.duration - self.drift).length();
        let mut fastest = vec![0.0_f64; self.mesh.surfaces().len()];
        for p in self.candidates.list.iter().flat_map(|candidate| candidate.pair.points) {
            if let Some(obstacle) = (p as usize).checked_sub(carried) {
                let number = self.mesh.surface_of(p);
                fastest[number] = fastest[number].max(speed(obstacle));
            }
        }
        let needed = |(number, range): (usize, Range<usize>)| {
            // one that is held back does not get further by shorter steps
            let size = Bounds::of(span.positions[0][range.clone()].iter().copied()).diagonal();
            let targets = &self.targets[range.clone()];
            let way = seconds * fastest[number];
            let is_held = |(target, place): (&Vec3, &Vec3)| target.distance(*place) > way + 0.5 * size;
            let held = targets.iter().zip(&self.state.obstacle_positions[range.clone()]).any(is_held);
            if held { 0.0 } else { way / self.max_obstacle_step(span, range) }
        };
        self.obstacle_ranges().into_iter().map(needed).fold(0.0, f64::max)
    }

    fn hold_back_obstacles(&mut self, share: f64) -> bool {
        self.obstacle_share = share;
        self.animated_positions.iter().zip(&self.state.obstacle_positions).any(|(a, p)| a != p)
    }

    fn advance_obstacles(&mut self, time: f64) {
        self.sample_targets(time);
        self.state.obstacle_positions.copy_from_slice(&self.targets);
        self.state.friction_contacts.clear();
    }
}

impl StageConstraint for BarrierContact {
    fn begin_stage(&mut self, stage_start: &StageStart) -> Result<(), dynamics::Error> {
        self.check_body(stage_start.start).map_err(boxed)?;
        self.sample_targets(stage_start.time);
        self.animated_positions.copy_from_slice(&self.targets);
        self.state.obstacle_positions.iter_mut().for_each(|place| *place += stage_start.carried);
        self.limit_obstacle_steps(middle(stage_start.guess) - middle(stage_start.start));
        let start = self.contact_points(stage_start.start, &self.state.obstacle_positions);
        self.find_intersections(&start).map_err(boxed)?;
        let guess = self.contact_points(stage_start.guess, &self.targets);
        // no list for the way to the guess: the first Newton step may go elsewhere
        self.ensure_candidates(&start, &start).map_err(boxed)?;
        self.friction_contacts = self.state.friction_contacts.clone();
        self.stage = Some(StageCache {
            motion: guess.iter().zip(&start).map(|(g, s)| *g - *s).collect(),
            start,
            masses: stage_start.masses.to_vec(),
            known: stage_start.known.to_vec(),
            seconds: stage_start.seconds,
            stiffness: Vec::new(),
            diagonal: Vec::new(),
        });
        Ok(())
    }

    fn update(&mut self, x: &[Vec3]) -> Result<(), dynamics::Error> {
        let here = self.contact_points(x, &self.state.obstacle_positions);
        self.ensure_candidates(&here, &here).map_err(boxed)?;
        self.active = active_contacts(&self.mesh, &self.candidates.list, &here);
        self.report.contacts = self.active.len();
        Ok(())
    }

    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        let friction_contacts = self.friction_contacts.iter().map(|contact| &contact.pair);
        self.visit_pairs(self.active.iter().map(|contact| &contact.pair).chain(friction_contacts), visit);
        if !self.intersections.is_empty() {
            // what is crossed changes from iteration to iteration; any two of the triangles may meet
            for &[a, b] in &self.intersections.crossings {
                let [a, b] = [a, b].map(|t| self.mesh.triangles()[t as usize]);
                let points: Vec<u32> = a.into_iter().chain(b).collect();
                let carried = points.iter().filter(|&&p| (p as usize) < self.attachment.len());
                let stencil: Vec<u32> = carried
                    .flat_map(|&p| self.attachment.parts(p as usize).iter().map(|part| part.0))
                    .collect();
                visit(&stencil);
            }
        }
    }

    fn candidate_stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.stencils(visit);
        let here = self.stage.as_ref().map_or(&[][..], |stage| &stage.start);
        let soon = self.candidates.list.iter().filter(|candidate| {
            let pair = &candidate.pair;
            let shift = pair.gather(here);
            closest(pair.kind, &shift).distance < candidate.min_distance + 2.0 * candidate.dhat
        });
        if !here.is_empty() {
            self.visit_pairs(soon.map(|candidate| &candidate.pair), visit);
        }
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        let Some(stage) = &self.stage else { return 0.0 };
        let here = self.contact_points(x, &self.state.obstacle_positions);
        let contacts = active_contacts(&self.mesh, &self.candidates.list, &here);
        let assembly = self.assembly(&here, &[], &stage.known);
        assembly.value(&self.with_stiffness(stage, &contacts, &assembly), &self.friction_contacts)
    }

    fn assemble(&mut self, x: &[Vec3], _: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        let Some(mut stage) = self.stage.take() else { return };
        let here = self.contact_points(x, &self.state.obstacle_positions);
        let displacements = self.obstacle_displacements();
        if stage.diagonal.is_empty() {
            stage.diagonal = (0..stage.masses.len()).map(|i| matrix.diagonal(i)).collect();
        }
        let assembly = self.assembly(&here, &displacements, &stage.known);
        let found = self.with_stiffness(&stage, &self.active, &assembly);
        assembly.add(&found, &self.friction_contacts, force, matrix);
        let mut known = std::mem::take(&mut stage.stiffness);
        known.extend(found.iter().map(|active| (active.contact.pair, active.stiffness)));
        known.sort_by_key(|known| known.0);
        known.dedup_by_key(|known| known.0);
        stage.stiffness = known;
        self.add_untangling(&stage, &here, force, matrix);
        self.stage = Some(stage);
    }

    fn freeze(&mut self) {
        self.targets.copy_from_slice(&self.state.obstacle_positions);
    }

    fn limit_step(&mut self, x: &[Vec3], delta: &mut [Vec3]) -> Result<StepBound, dynamics::Error> {
        let here = self.contact_points(x, &self.state.obstacle_positions);
        let wanted: Vec<Vec3> = delta.iter().copied().chain(self.obstacle_displacements()).collect();
        let attachment = std::mem::take(&mut self.attachment);
        let stage = self.stage.take();
        let known = stage.as_ref().map_or(&[][..], |stage| &stage.known);
        let displacements = self.shortened(&here, wanted.clone(), &attachment, known, delta.len());
        (self.attachment, self.stage) = (attachment, stage);
        let Shortened { displacements, is_thrown } = displacements.map_err(boxed)?;
        let is_changed = |(i, d): &(usize, &Vec3)| displacements[*i] != **d;
        let shortened = delta.iter().enumerate().filter(is_changed).count();
        let mut bound = StepBound { shortened, is_thrown, ..StepBound::default() };
        let of_obstacles = delta.len()..;
        for (i, (taken, wanted)) in
            displacements[of_obstacles.clone()].iter().zip(&wanted[of_obstacles]).enumerate()
        {
            if taken == wanted {
                self.state.obstacle_positions[i] = self.targets[i];
            } else {
                self.state.obstacle_positions[i] += *taken;
                bound.lag = bound.lag.max(self.state.obstacle_positions[i].distance(self.targets[i]));
            }
        }
        delta.copy_from_slice(&displacements[..delta.len()]);
        Ok(bound)
    }

    fn end_stage(&mut self, x: &[Vec3]) {
        if let Some(stage) = self.stage.take().filter(|stage| !stage.diagonal.is_empty()) {
            let here = self.contact_points(x, &self.state.obstacle_positions);
            self.state.friction_contacts = self.next_friction_contacts(&stage, &here);
        }
        let lags =
            self.animated_positions.iter().zip(&self.state.obstacle_positions).map(|(t, p)| t.distance(*p));
        let worst = lags.enumerate().fold((0, 0.0), |worst, lag| if lag.1 > worst.1 { lag } else { worst });
        if worst.1 > self.report.lag.max(self.dhat) {
            let point = self.attachment.len() + worst.0;
            let number = self.mesh.surface_of(point as u32);
            let first = self.mesh.points_of(number).start;
            self.report.lag = worst.1;
            self.report.lagging = Some((number, point - first));
            self.report.place = self.state.obstacle_positions[worst.0];
        }
    }

    fn commit(&mut self) {
        self.committed = self.state.clone();
    }

    fn rewind(&mut self) {
        self.state = self.committed.clone();
    }
}

fn boxed(error: Error) -> dynamics::Error {
    dynamics::Error::Contact(Box::new(error))
}

pub(super) fn rounding_floor(x: &[Vec3]) -> f64 {
    ROUNDING * x.iter().fold(0.0, |most, p| p.abs().max_element().max(most))
}
