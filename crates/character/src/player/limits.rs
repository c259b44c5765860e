//! Limits: free joints are turned back into their cones, by the forces that do it within the step.

use geometry::{Mat3, Vec3};

use super::Player;
use crate::Error;

impl Player {
    /// Moves what a step has found so that free joints are within their limits, parents first: u ← u + (U A⁻¹ Uᵀ) λ. What turns on
    /// beyond a limit loses its speed there.
    pub(super) fn keep_limits(&mut self) -> Result<(), Error> {
        for index in 0..self.kit.limits.len() {
            let limit = &self.kit.limits[index];
            let axis = self.frames[1][limit.joint as usize].rotation * limit.axis;
            let arm = limit.arm(&self.next);
            let Some(goal) = limit.turned_back(arm, axis) else { continue };
            let mut answer = [Vec3::ZERO; 3];
            for (k, answer) in answer.iter_mut().enumerate() {
                // `shown` is free until the step's end
                self.shown.fill(Vec3::ZERO);
                for &(f, weight) in &self.kit.limits[index].row {
                    self.shown[f as usize][k] = weight;
                }
                self.respond(k)?;
                *answer = self.kit.limits[index].arm(&self.responses[k]);
            }
            let matrix = Mat3::from_cols(answer[0], answer[1], answer[2]);
            // flesh that is all held by bones does not give way
            if matrix.determinant() > 0.0 {
                let force = matrix.inverse() * (goal - arm);
                for (k, response) in self.responses[..3].iter().enumerate() {
                    self.next.iter_mut().zip(response).for_each(|(x, moved)| *x += force[k] * *moved);
                }
            }
        }
        Ok(())
    }
}
