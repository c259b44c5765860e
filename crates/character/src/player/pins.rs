//! Pins: points of the skin that are held in a place or dragged to one.

use geometry::Vec3;

use super::Player;
use crate::Error;

/// Points pinned at most.
pub(super) const MOST_PINS: usize = 8;
/// How much a pin yields, as a part of what the flesh under it gives way within a step: enough to let pins that contradict each other
/// find a mean. Eight to opposite sides within a cell once threw flesh twice its length away at 1e-9; a pin alone is met to 1e-4 m.
const PIN_COMPLIANCE: f64 = 5e-3;

/// A point of the skin that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub(super) point: u32,
    /// Where it is held when a frame begins, and when it ends.
    pub(super) places: [Vec3; 2],
}

impl Player {
    /// Pins a point of the skin to a place from the next step on, drags it from its last place to another, or lets it go. Pins that
    /// contradict each other, or a bone, are met as well as can be.
    pub fn pin(&mut self, point: usize, place: Option<Vec3>) -> Result<(), Error> {
        self.check_point(point)?;
        let Some(place) = place else {
            self.pins.retain(|pin| pin.point as usize != point);
            return Ok(());
        };
        if !place.is_finite() {
            return Err(Error::NotFinite { what: "the place of pin", index: point });
        }
        if let Some(pin) = self.pins.iter_mut().find(|pin| pin.point as usize == point) {
            pin.places[1] = place;
            return Ok(());
        }
        if self.pins.len() == MOST_PINS {
            let value = (MOST_PINS + 1) as f64;
            return Err(Error::Range { what: "the number of pins", value, range: "at most 8" });
        }
        self.pins.push(Pin { point: point as u32, places: [place; 2] });
        Ok(())
    }

    /// Lets go of all points that are pinned.
    pub fn unpin(&mut self) {
        self.pins.clear();
    }

    /// Moves what a step has found so that pinned points are in their places: by the forces that do it, λ = (C A⁻¹ Cᵀ + ε)⁻¹ (goal − C x)
    /// (19 – 21).
    pub(super) fn meet_pins(&mut self, s: f64) -> Result<(), Error> {
        let count = 3 * self.pins.len();
        let mut matrix = [[0.0; 3 * MOST_PINS]; 3 * MOST_PINS];
        let mut right = [0.0; 3 * MOST_PINS];
        for k in 0..self.pins.len() {
            let Pin { point, places } = self.pins[k];
            let goal = places[0].lerp(places[1], s);
            let at: Vec3 = self.kit.surface.row(point as usize).map(|(f, v)| v * self.next[f as usize]).sum();
            for axis in 0..3 {
                right[3 * k + axis] = goal[axis] - at[axis];
                // `shown` is free until the step's end
                self.shown.fill(Vec3::ZERO);
                for (f, value) in self.kit.surface.row(point as usize) {
                    self.shown[f as usize][axis] = value;
                }
                self.respond(3 * k + axis)?;
            }
        }
        for (row, &Pin { point, .. }) in self.pins.iter().enumerate() {
            for column in 0..count {
                let response = &self.responses[column];
                let at: Vec3 =
                    self.kit.surface.row(point as usize).map(|(f, v)| v * response[f as usize]).sum();
                (0..3).for_each(|axis| matrix[3 * row + axis][column] = at[axis]);
            }
        }
        let largest = (0..count).map(|k| matrix[k][k]).fold(0.0, f64::max);
        (0..count).for_each(|k| matrix[k][k] += PIN_COMPLIANCE * largest + f64::MIN_POSITIVE);
        solve(&mut matrix, &mut right, count);
        for column in 0..count {
            for (x, r) in self.next.iter_mut().zip(&self.responses[column]) {
                *x += right[column] * *r;
            }
        }
        Ok(())
    }

    /// `responses[index]` ← how far coefficients are moved within a step by the forces in `shown`; what bones hold takes none.
    pub(super) fn respond(&mut self, index: usize) -> Result<(), Error> {
        let response = &mut self.responses[index];
        response.fill(Vec3::ZERO);
        for system in &mut self.systems {
            system.respond(&self.frames[1][system.joint()], &self.shown, response)?;
        }
        if let Some((system, flesh)) = self.corotated.as_mut().zip(self.kit.corotated.as_ref()) {
            system.respond(flesh, &self.shown, response)?;
        }
        Ok(())
    }
}

/// Gaussian elimination with pivots, in place, for a handful of unknowns.
fn solve<const N: usize>(a: &mut [[f64; N]; N], b: &mut [f64; N], count: usize) {
    for k in 0..count {
        let pivot = (k..count).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == 0.0 {
            b[k] = 0.0;
            continue;
        }
        for i in k + 1..count {
            let factor = a[i][k] / a[k][k];
            for j in k..count {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..count).rev() {
        if a[k][k] != 0.0 {
            let known: f64 = (k + 1..count).map(|j| a[k][j] * b[j]).sum();
            b[k] = (b[k] - known) / a[k][k];
        }
    }
}
