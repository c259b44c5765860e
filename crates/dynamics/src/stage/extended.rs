//! The linear system of a stage with constraints: the body's own pattern, or a wider one where they couple more points.

use std::sync::Arc;

use linear::{Matrix, Pattern, Solver};

use crate::{Body, Error, StageConstraint};

/// The blocks that active constraints need beside the body's own. Empty while those are enough.
#[derive(Default)]
pub(crate) struct ExtendedSystem {
    /// Whether candidates have been asked for.
    is_ready: bool,
    wider: Option<Wider>,
}

struct Wider {
    matrix: Matrix,
    solver: Solver,
    /// Where the body's blocks stand in the matrix.
    slots: Vec<u32>,
}

impl ExtendedSystem {
    /// Makes sure that the pattern has the stencils of all that is active. It is made with the candidates' as well, so that it lasts.
    fn ensure_pattern(
        &mut self,
        body: &Body,
        solver: &Solver,
        constraints: &[&mut dyn StageConstraint],
    ) -> Result<(), Error> {
        let pattern: &Pattern = self.wider.as_ref().map_or(body.pattern(), |wider| wider.matrix.pattern());
        let mut missing = !self.is_ready;
        for constraint in constraints {
            constraint.stencils(&mut |stencil| {
                let lacks = |i: u32, j: u32| pattern.slot(i, j).is_none();
                missing |= stencil.iter().any(|&i| stencil.iter().any(|&j| lacks(i, j)));
            });
        }
        if !missing {
            return Ok(());
        }
        self.is_ready = true;
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        for constraint in constraints {
            constraint.candidate_stencils(&mut |stencil| stencils.push(stencil.to_vec()));
        }
        let pattern = body.pattern().with_stencils(stencils.iter().map(Vec::as_slice));
        if pattern.block_count() == body.pattern().block_count() {
            self.wider = None;
            return Ok(());
        }
        let pattern = Arc::new(pattern);
        let slots = body.pattern().slots_in(&pattern).unwrap_or_default();
        // the order of elimination found for the stencils of a moment ago is a good one
        let solver = self.wider.as_ref().map_or(solver, |wider| &wider.solver).extended(&pattern)?;
        self.wider = Some(Wider { matrix: Matrix::new(pattern), solver, slots });
        Ok(())
    }

    /// Where constraints assemble and what solves: the body's own system, or a wider one with the body's blocks in it.
    pub(super) fn select<'a>(
        &'a mut self,
        body: &Body,
        constraints: &[&mut dyn StageConstraint],
        own: &'a mut Matrix,
        solver: &'a mut Solver,
    ) -> Result<(&'a mut Matrix, &'a mut Solver), Error> {
        if constraints.iter().all(|constraint| constraint.keeps_pattern()) {
            return Ok((own, solver));
        }
        self.ensure_pattern(body, solver, constraints)?;
        let Some(Wider { matrix, solver, slots }) = &mut self.wider else { return Ok((own, solver)) };
        matrix.set_zero();
        for (&slot, value) in slots.iter().zip(own.values()) {
            matrix.values_mut()[slot as usize] = *value;
        }
        Ok((matrix, solver))
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}
