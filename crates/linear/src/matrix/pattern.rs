//! Which pairs of points act on each other: the sparsity shared by every matrix of a body.

use rayon::prelude::*;

/// Symmetric sparsity of `count` × `count` blocks of 3×3: the graph of points that share a stencil.
///
/// Stored is the lower triangle with its diagonal, by columns, rows ascending. A block's place in that order is its
/// *slot*. A pattern is made once per body and shared by its matrices and its solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Where each column begins in `rows`; `count + 1` entries. The first slot of a column is its diagonal.
    starts: Vec<usize>,
    /// Row of each slot.
    rows: Vec<u32>,
    /// The whole of each block row, both triangles, columns ascending: what a product by gathering needs.
    full_starts: Vec<usize>,
    full: Vec<Neighbour>,
    /// The first point that a stencil named beyond `count`, if any: [`crate::Solver::new`] refuses such a pattern.
    first_out_of_range: Option<u32>,
}

/// One entry of a block row: the other point, and where its block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub(crate) point: u32,
    /// Slot of block (max, min). The block is read transposed where `point` is the larger index.
    pub(crate) slot: u32,
}

impl Pattern {
    /// Every stencil couples all its points; every diagonal is present.
    ///
    /// A stencil's point beyond `count` is left out here, and reported by [`crate::Solver::new`].
    pub fn from_stencils<'a>(count: usize, stencils: impl IntoIterator<Item = &'a [u32]>) -> Self {
        // (column, row) in one key: sorting keys is sorting slots
        Self::from_keys(count, (0..count as u64).map(|i| i << 32 | i).collect(), stencils)
    }

    /// The same pattern with more stencils: for couplings that come and go, such as contact.
    #[must_use]
    pub fn with_stencils<'a>(&self, stencils: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let column = |j: usize| self.column(j).map(move |(_, row)| (j as u64) << 32 | u64::from(row));
        let mut all = Self::from_keys(self.count(), (0..self.count()).flat_map(column).collect(), stencils);
        all.first_out_of_range = self.first_out_of_range.or(all.first_out_of_range);
        all
    }

    /// Where each of this pattern's slots stands in a pattern that has all its blocks; none if one is missing.
    pub fn slots_in(&self, wider: &Self) -> Option<Vec<u32>> {
        let columns = 0..self.count();
        let slot = |j: usize, row: u32| wider.slot(row, j as u32).map(|slot| slot as u32);
        columns.flat_map(|j| self.column(j).map(move |(_, row)| slot(j, row))).collect()
    }

    fn from_keys<'a>(
        count: usize,
        mut keys: Vec<u64>,
        stencils: impl IntoIterator<Item = &'a [u32]>,
    ) -> Self {
        let mut first_out_of_range = None;
        for stencil in stencils {
            for (k, &i) in stencil.iter().enumerate() {
                if i as usize >= count {
                    first_out_of_range = first_out_of_range.or(Some(i));
                    continue;
                }
                for &j in &stencil[..k] {
                    if j as usize >= count || i == j {
                        continue;
                    }
                    keys.push(u64::from(i.min(j)) << 32 | u64::from(i.max(j)));
                }
            }
        }
        keys.par_sort_unstable();
        keys.dedup();

        let mut starts = vec![0; count + 1];
        let mut full_starts = vec![0; count + 1];
        for &key in &keys {
            let (column, row) = ((key >> 32) as usize, key as u32 as usize);
            starts[column + 1] += 1;
            full_starts[column + 1] += 1;
            if row != column {
                full_starts[row + 1] += 1;
            }
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
            full_starts[i + 1] += full_starts[i];
        }
        // Slots come column by column, so each row meets its columns in ascending order; the row's own column, which
        // holds the entries above, is filled last because it comes after all smaller columns.
        let mut next = full_starts.clone();
        let mut full = vec![Neighbour { point: 0, slot: 0 }; full_starts[count]];
        for (slot, &key) in keys.iter().enumerate() {
            let (column, row) = ((key >> 32) as usize, key as u32 as usize);
            full[next[column]] = Neighbour { point: row as u32, slot: slot as u32 };
            next[column] += 1;
            if row != column {
                full[next[row]] = Neighbour { point: column as u32, slot: slot as u32 };
                next[row] += 1;
            }
        }
        let rows = keys.iter().map(|&key| key as u32).collect();
        Self { starts, rows, full_starts, full, first_out_of_range }
    }

    /// How many points, which is how many block rows.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many blocks are stored: the lower triangle with its diagonal.
    pub fn block_count(&self) -> usize {
        self.rows.len()
    }

    /// Where block (max(i, j), min(i, j)) stands in [`crate::Matrix::values`]; none if the points share no stencil.
    pub fn slot(&self, i: u32, j: u32) -> Option<usize> {
        let (row, column) = (i.max(j), i.min(j) as usize);
        if row as usize >= self.count() {
            return None;
        }
        let range = self.starts[column]..self.starts[column + 1];
        self.rows[range.clone()].binary_search(&row).ok().map(|k| range.start + k)
    }

    /// Slot of block (i, i).
    pub(crate) fn diagonal_slot(&self, i: usize) -> usize {
        self.starts[i]
    }

    /// Slots of column `j` with their rows.
    pub(crate) fn column(&self, j: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        (self.starts[j]..self.starts[j + 1]).map(|slot| (slot, self.rows[slot]))
    }

    /// Block row `i` of the whole matrix, columns ascending.
    pub(crate) fn row(&self, i: usize) -> &[Neighbour] {
        &self.full[self.full_starts[i]..self.full_starts[i + 1]]
    }

    pub(crate) fn first_out_of_range(&self) -> Option<u32> {
        self.first_out_of_range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stencils_couple_all_their_points() {
        let stencils = [[0u32, 1, 2], [3, 2, 1]];
        let pattern = Pattern::from_stencils(5, stencils.iter().map(|s| s.as_slice()));
        assert_eq!(pattern.count(), 5);
        assert_eq!(pattern.block_count(), 5 + 5);
        assert_eq!(pattern.slot(2, 1), pattern.slot(1, 2));
        assert!(pattern.slot(0, 3).is_none());
        assert!(pattern.slot(4, 4).is_some());
        assert!(pattern.slot(5, 0).is_none());
        let row: Vec<u32> = pattern.row(2).iter().map(|n| n.point).collect();
        assert_eq!(row, [0, 1, 2, 3]);
    }

    #[test]
    fn more_stencils_make_the_pattern_of_all_together() {
        let stencils = [[0u32, 1, 2], [3, 2, 1]];
        let few = Pattern::from_stencils(6, stencils[..1].iter().map(|s| s.as_slice()));
        let more = few.with_stencils([stencils[1].as_slice(), &[5, 0]]);
        let all: Vec<&[u32]> = vec![&stencils[0], &stencils[1], &[0, 5]];
        assert_eq!(more, Pattern::from_stencils(6, all));
        let slots = few.slots_in(&more).unwrap();
        assert_eq!(slots.len(), few.block_count());
        assert_eq!(Some(slots[few.slot(2, 1).unwrap()] as usize), more.slot(2, 1));
        assert!(more.slots_in(&few).is_none());
    }

    #[test]
    fn a_point_beyond_the_count_is_remembered() {
        let pattern = Pattern::from_stencils(2, [[0u32, 7, 1].as_slice()]);
        assert_eq!(pattern.first_out_of_range(), Some(7));
        assert!(pattern.slot(0, 1).is_some());
    }
}
