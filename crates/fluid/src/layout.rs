//! How a state lies in memory, and what stands beyond its sides.
//!
//! All variables of one grid row lie together, row after row, so that a row is one contiguous piece that one thread writes, and a
//! sweep over rows reads memory in order. Around the grid lie three ghost points on every side. They carry the boundary: copies
//! from the other end of a periodic axis; at a wall the continuation of the polynomial through the last points. A
//! centred difference that reads such ghosts *is* the one-sided difference of the same polynomial, so that one kernel
//! serves every point.
//!
//! Which polynomial depends on the part a variable plays, and keeps the whole at fourth order:
//!
//! - The velocity into the wall is continued by a quartic, the pressure by a cubic. Quartics for both let sound grow at the wall at
//!   0.05 c/h (the eigenvalues of the one-dimensional wave operator say so); with the cubic none grows.
//! - What is merely carried is continued so that its slope next to the wall is the central (f₂ − f₀)/2h. A one-sided slope there looks
//!   downstream where the flow leaves the wall, and blew temperatures up to 450 K over a heated floor. The central one costs no order:
//!   the velocity that multiplies it is itself of order h.

use crate::Side;
use crate::base::{CARRIED, CUBIC, GHOSTS, QUARTIC};
use crate::domain::Domain;
use rayon::prelude::*;

/// Where each number of a state lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) points: [usize; 3],
    pub(crate) sides: [Side; 3],
    /// Variables per point.
    pub(crate) variables: usize,
    /// Which of them is the pressure.
    pub(crate) pressure: usize,
    /// Numbers from one variable's row to the next.
    pub(crate) width: usize,
    /// Rows in a plane, ghosts included.
    pub(crate) rows: usize,
    /// Planes, ghosts included.
    pub(crate) planes: usize,
}

impl Layout {
    pub(crate) fn new(domain: &Domain, variables: usize, pressure: usize) -> Self {
        let points = domain.points();
        let planes = if domain.dimensions() == 3 { points[2] + 2 * GHOSTS } else { 1 };
        Self {
            points,
            sides: domain.axes.map(|a| a.side),
            variables,
            pressure,
            // whole cache lines of sixteen numbers
            width: (points[0] + 2 * GHOSTS).next_multiple_of(16),
            rows: points[1] + 2 * GHOSTS,
            planes,
        }
    }

    /// Numbers of one grid row, all variables.
    pub(crate) fn row_length(&self) -> usize {
        self.variables * self.width
    }

    pub(crate) fn len(&self) -> usize {
        self.planes * self.rows * self.row_length()
    }

    /// Index of the grid row (y, z) among all rows.
    pub(crate) fn row(&self, y: usize, z: usize) -> usize {
        let below = if self.planes == 1 { 0 } else { GHOSTS };
        (z + below) * self.rows + y + GHOSTS
    }

    /// The grid row (y, z) that row `index` is; none for ghosts.
    pub(crate) fn place(&self, index: usize) -> Option<(usize, usize)> {
        let below = if self.planes == 1 { 0 } else { GHOSTS };
        let y = (index % self.rows).checked_sub(GHOSTS)?;
        let z = (index / self.rows).checked_sub(below)?;
        (y < self.points[1] && z < self.points[2]).then_some((y, z))
    }

    /// One variable along one row, ghosts included: `points[0] + 6` numbers.
    #[inline(always)]
    pub(crate) fn line<'a>(&self, values: &'a [f32], row: usize, variable: usize) -> &'a [f32] {
        let start = (row * self.variables + variable) * self.width;
        &values[start..start + self.points[0] + 2 * GHOSTS]
    }

    /// One variable along one row, without ghosts.
    #[inline(always)]
    pub(crate) fn inner<'a>(&self, values: &'a [f32], row: usize, variable: usize) -> &'a [f32] {
        &self.line(values, row, variable)[GHOSTS..GHOSTS + self.points[0]]
    }

    /// The same, to be written.
    pub(crate) fn inner_mut<'a>(&self, values: &'a mut [f32], row: usize, variable: usize) -> &'a mut [f32] {
        let start = (row * self.variables + variable) * self.width + GHOSTS;
        &mut values[start..start + self.points[0]]
    }

    /// Fills the ghost points at both ends of each line of a row.
    #[inline(always)]
    pub(crate) fn fill_line_ends(&self, row: &mut [f32]) {
        let n = self.points[0];
        for variable in 0..self.variables {
            let line = &mut row[variable * self.width..][..n + 2 * GHOSTS];
            match self.sides[0] {
                Side::Periodic => {
                    for k in 0..GHOSTS {
                        line[k] = line[n + k];
                        line[GHOSTS + n + k] = line[GHOSTS + k];
                    }
                }
                Side::Wall => {
                    let weights = self.weights(variable, 0);
                    for m in 0..GHOSTS {
                        let (mut low, mut high) = (0.0, 0.0);
                        for k in 0..5 {
                            low += weights[m][k] as f32 * line[GHOSTS + k];
                            high += weights[m][k] as f32 * line[GHOSTS + n - 1 - k];
                        }
                        line[GHOSTS - 1 - m] = low;
                        line[GHOSTS + n + m] = high;
                    }
                }
            }
        }
    }

    /// Fills ghost rows, then ghost planes. The ends of lines must be filled.
    pub(crate) fn fill_ghosts(&self, values: &mut [f32]) {
        let row = self.row_length();
        let plane = self.rows * row;
        values.par_chunks_mut(plane).for_each(|values| self.fill_ends(values, row, 1));
        if self.planes > 1 {
            self.fill_ends(values, plane, 2);
        }
    }

    /// Fills every ghost of a state.
    pub(crate) fn fill_all(&self, values: &mut [f32]) {
        values.par_chunks_mut(self.row_length()).for_each(|row| self.fill_line_ends(row));
        self.fill_ghosts(values);
    }

    /// Fills the ghost slabs at both ends of `values`, a stack of slabs of `slab` numbers along `axis`.
    fn fill_ends(&self, values: &mut [f32], slab: usize, axis: usize) {
        let n = self.points[axis];
        let (low, rest) = values.split_at_mut(GHOSTS * slab);
        let (inner, high) = rest.split_at_mut(n * slab);
        let inner = &*inner;
        for m in 0..GHOSTS {
            // the m-th ghost on either side: `low` counts downwards from the grid, `high` upwards
            let ghosts = [&mut low[(GHOSTS - 1 - m) * slab..][..slab], &mut high[m * slab..][..slab]];
            for (end, ghost) in ghosts.into_iter().enumerate() {
                match self.sides[axis] {
                    Side::Periodic => {
                        let from = if end == 0 { n - 1 - m } else { m };
                        ghost.copy_from_slice(&inner[from * slab..][..slab]);
                    }
                    Side::Wall => {
                        let at = |k: usize| if end == 0 { k } else { n - 1 - k } * slab;
                        let continue_line = |(line, ghost): (usize, &mut [f32])| {
                            let weights = self.weights(line % self.variables, axis)[m].map(|w| w as f32);
                            let f: [&[f32]; 5] =
                                [0, 1, 2, 3, 4].map(|k| &inner[at(k) + line * self.width..][..self.width]);
                            for i in 0..ghost.len() {
                                ghost[i] = weights[0] * f[0][i]
                                    + weights[1] * f[1][i]
                                    + weights[2] * f[2][i]
                                    + weights[3] * f[3][i]
                                    + weights[4] * f[4][i];
                            }
                        };
                        // a single row is not worth a thread
                        if axis == 1 {
                            ghost.chunks_mut(self.width).enumerate().for_each(continue_line);
                        } else {
                            ghost
                                .par_chunks_mut(self.width)
                                .with_min_len(64)
                                .enumerate()
                                .for_each(continue_line);
                        }
                    }
                }
            }
        }
    }

    /// How a variable is continued through walls across an axis. Velocities come first, one per axis.
    fn weights(&self, variable: usize, axis: usize) -> &'static [[f64; 5]; 3] {
        if variable == self.pressure {
            &CUBIC
        } else if variable == axis {
            &QUARTIC
        } else {
            &CARRIED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghosts_wrap_around_and_continue_straight_lines() {
        let sides = [Side::Periodic, Side::Wall, Side::Wall];
        let domain = Domain::volume([9, 10, 11], [1.0; 3], sides).unwrap();
        let layout = Layout::new(&domain, 2, 1);
        let mut values = vec![0.0; layout.len()];
        let truth = |x: isize, y: isize, z: isize| x.rem_euclid(9) as f32 + 16.0 * y as f32 - 64.0 * z as f32;
        for z in 0..11 {
            for y in 0..10 {
                let row = layout.row(y, z);
                assert_eq!(layout.place(row), Some((y, z)));
                for v in 0..2 {
                    let line = layout.inner_mut(&mut values, row, v);
                    (0..9).for_each(|x| line[x] = truth(x as isize, y as isize, z as isize));
                }
            }
        }
        layout.fill_all(&mut values);
        for z in -3..14 {
            for y in -3..13 {
                let row = (z + 3) as usize * layout.rows + (y + 3) as usize;
                for v in 0..2 {
                    for (i, &value) in layout.line(&values, row, v).iter().enumerate() {
                        let expected = truth(i as isize - 3, y, z);
                        assert!((value - expected).abs() < 0.01, "{value} {expected} at {i} {y} {z}");
                    }
                }
            }
        }
    }
}
