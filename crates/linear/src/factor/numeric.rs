//! Multifrontal factorisation K = L J Lᵀ, J = ±1 on the diagonal.
//!
//! K is the matrix of the unknown points with the constraint rows beside it, [A Cᵀ; C −E]. With each row eliminated
//! after a good part of its support, a point's pivot is positive and a row's is negative, so the signs J are known
//! beforehand and no pivot is ever looked for. A front's points come first, its rows behind them.
//!
//! Each front gathers its blocks of K and its children's updates, eliminates its columns and leaves the update
//! F₂₂ − L₂₁ J L₂₁ᵀ to its parent. Subtrees are independent and run side by side. Updates live on two stacks: a
//! front's on one, its children's on the other, so that none is ever moved or allocated.

use faer::{MatMut, MatRef};
use geometry::{Mat3, Vec3};

use super::dense;
use super::scalar::Scalar;
use super::symbolic::{Front, Symbolic};
use super::triangular::TriangularSolve;

/// Numeric storage for one plan.
pub(crate) struct Factor<T> {
    values: Vec<T>,
    stacks: [Vec<T>; 2],
    /// Permuted vector and the vectors that fronts exchange during a triangular solve.
    vector: Vec<T>,
    exchanged: Vec<T>,
}

impl<T: Scalar> Factor<T> {
    /// Storage for the plan; the stacks come with the first factorisation. None if the memory cannot be had.
    pub(crate) fn new(plan: &Symbolic) -> Option<Self> {
        Some(Self {
            values: zeros(plan.values)?,
            stacks: [zeros(plan.stacks[0])?, zeros(plan.stacks[1])?],
            vector: zeros(3 * plan.order.len())?,
            exchanged: zeros(plan.exchanged)?,
        })
    }

    /// Bytes that [`Factor::new`] asks for.
    pub(crate) fn bytes(plan: &Symbolic) -> usize {
        size_of::<T>()
            * (plan.values + plan.stacks[0] + plan.stacks[1] + 3 * plan.order.len() + plan.exchanged)
    }

    /// Factorises the matrix whose blocks `block` gives by source. On failure gives the node whose pivot has the
    /// wrong sign.
    pub(crate) fn factorize(
        &mut self,
        plan: &Symbolic,
        block: impl Fn(u32) -> Mat3 + Sync,
    ) -> Result<(), u32> {
        let task = Task { plan, block: &block };
        let [own, other] = &mut self.stacks;
        let root = plan.fronts.len() - 1;
        let values = &mut self.values[..];
        // entering the pool once makes every join below cheap
        let result = if plan.fronts[root].subtree_flops > 1e6 {
            rayon::scope(|_| task.factorize(root, values, own, other))
        } else {
            task.factorize(root, values, own, other)
        };
        result.map_err(|position| plan.order[position])
    }

    /// Diagonal of L as (node, smallest of its three pivots).
    pub(crate) fn pivots<'a>(&'a self, plan: &'a Symbolic) -> impl Iterator<Item = (u32, f64)> + 'a {
        plan.fronts.iter().flat_map(move |front| {
            let stride = 3 * (front.columns + front.rows);
            (0..front.columns).map(move |column| {
                let pivot =
                    |k: usize| self.values[front.values + (3 * column + k) * (stride + 1)].to_double();
                (plan.order[front.first + column], pivot(0).min(pivot(1)).min(pivot(2)))
            })
        })
    }

    /// Replaces the right-hand side, one entry per node, by the solution.
    pub(crate) fn solve(&mut self, plan: &Symbolic, x: &mut [Vec3]) {
        // to a size that any precision can hold
        let size = x.iter().map(|v| v.abs().max_element()).fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            return;
        }
        for (&node, v) in plan.order.iter().zip(self.vector.chunks_exact_mut(3)) {
            v.copy_from_slice(&(x[node as usize] / size).to_array().map(T::of));
        }
        let triangle = TriangularSolve { plan, values: &self.values };
        let (vector, exchanged) = (&mut self.vector[..], &mut self.exchanged[..]);
        if plan.fronts.last().is_some_and(|root| root.parallel) {
            rayon::scope(|_| triangle.solve(vector, exchanged));
        } else {
            triangle.solve(vector, exchanged);
        }
        for (&node, v) in plan.order.iter().zip(self.vector.chunks_exact(3)) {
            x[node as usize] = size * Vec3::new(v[0].to_double(), v[1].to_double(), v[2].to_double());
        }
    }
}

/// A vector of zeros, or none if the memory cannot be had.
fn zeros<T: Scalar>(length: usize) -> Option<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).ok()?;
    vector.resize(length, T::ZERO);
    Some(vector)
}

/// One factorisation under way.
struct Task<'a, F> {
    plan: &'a Symbolic,
    block: &'a F,
}

impl<F: Fn(u32) -> Mat3 + Sync> Task<'_, F> {
    /// Factorises the subtree of front `s`. `values` are the subtree's panels. The update is left at the beginning of
    /// `own`; children leave theirs on `other`. On failure gives the position of the column.
    fn factorize<T: Scalar>(
        &self,
        s: usize,
        values: &mut [T],
        own: &mut [T],
        other: &mut [T],
    ) -> Result<(), usize> {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (below, panel) = values.split_at_mut(front.values - front.subtree_values);
        self.factorize_children(children, front.parallel, below, other, own)?;
        if front.columns == 0 {
            return Ok(());
        }

        panel.fill(T::ZERO);
        self.gather(front, panel);
        let updates = |child: &Front| child.offset_own..child.offset_own + child.update();
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            self.add_update::<T, true>(child, &other[updates(child)], front, panel);
        }
        let (height, width) = (3 * (front.columns + front.rows), 3 * front.columns);
        let positive = 3 * (front.columns - front.negative);
        dense::eliminate(panel, height, positive).map_err(|column| front.first + column / 3)?;
        if front.rows > 0 {
            let update = &mut own[..front.update()];
            let below = height - width;
            dense::update(
                MatMut::from_column_major_slice_mut(&mut *update, below, below),
                MatRef::from_column_major_slice(panel, height, width).subrows(width, below),
                positive,
            );
            for &c in children {
                let child = &self.plan.fronts[c as usize];
                self.add_update::<T, false>(child, &other[updates(child)], front, update);
            }
        }
        Ok(())
    }

    /// Factorises some siblings. Their updates go to `own`, which is their parent's other stack.
    fn factorize_children<T: Scalar>(
        &self,
        children: &[u32],
        parallel: bool,
        values: &mut [T],
        own: &mut [T],
        other: &mut [T],
    ) -> Result<(), usize> {
        let fronts = &self.plan.fronts;
        let Some((&head, tail)) = children.split_first() else { return Ok(()) };
        let first = &fronts[head as usize];
        if !parallel {
            for &c in children {
                let child = &fronts[c as usize];
                let start = child.subtree_values - first.subtree_values;
                let end = child.values + child.panel() - first.subtree_values;
                self.factorize(c as usize, &mut values[start..end], &mut own[child.offset_own..], other)?;
            }
            return Ok(());
        }
        // side by side every child has its own part of both stacks
        if tail.is_empty() {
            return self.factorize(head as usize, values, own, other);
        }
        let (left, right) = children.split_at(split_children(children, fronts));
        let middle = &fronts[right[0] as usize];
        let (values_left, values_right) = values.split_at_mut(middle.subtree_values - first.subtree_values);
        let (own_left, own_right) = own.split_at_mut(middle.offset_own - first.offset_own);
        let (other_left, other_right) = other.split_at_mut(middle.offset_other - first.offset_other);
        let (left, right) = rayon::join(
            || self.factorize_children(left, true, values_left, own_left, other_left),
            || self.factorize_children(right, true, values_right, own_right, other_right),
        );
        left.and(right)
    }

    /// Adds the matrix's blocks into the panel.
    fn gather<T: Scalar>(&self, front: &Front, panel: &mut [T]) {
        let stride = 3 * (front.columns + front.rows);
        for entry in &self.plan.entries[front.entries.clone()] {
            let mut block = (self.block)(entry.source);
            if entry.transposed {
                block = block.transpose();
            }
            for (k, column) in block.to_cols_array_2d().iter().enumerate() {
                let start = (3 * entry.column as usize + k) * stride + 3 * entry.row as usize;
                for (sum, &v) in panel[start..start + 3].iter_mut().zip(column) {
                    *sum += T::of(v);
                }
            }
        }
    }

    /// Adds those columns of a child's update that fall into the parent's panel, or into the parent's update.
    fn add_update<T: Scalar, const PANEL: bool>(
        &self,
        child: &Front,
        update: &[T],
        parent: &Front,
        target: &mut [T],
    ) {
        let runs = &self.plan.runs[child.runs.clone()];
        let child_stride = 3 * child.rows;
        let (stride, shift) =
            if PANEL { (3 * (parent.columns + parent.rows), 0) } else { (3 * parent.rows, parent.columns) };
        for (r, run) in runs.iter().enumerate() {
            let (start, end) = (run.parent as usize, (run.parent + run.length) as usize);
            let places = if PANEL { start..end.min(parent.columns) } else { start.max(parent.columns)..end };
            for place in places {
                let node = run.child as usize + place - start;
                for k in 0..3 {
                    let source = &update[(3 * node + k) * child_stride..][..child_stride];
                    let target = &mut target[(3 * (place - shift) + k) * stride..][..stride];
                    // from the diagonal down: first the rest of this run, then the runs below
                    let rest = 3 * (end - place) - k;
                    let (i, j) = (3 * (place - shift) + k, 3 * node + k);
                    add(&mut target[i..i + rest], &source[j..j + rest]);
                    for run in &runs[r + 1..] {
                        let length = 3 * run.length as usize;
                        let (i, j) = (3 * (run.parent as usize - shift), 3 * run.child as usize);
                        add(&mut target[i..i + length], &source[j..j + length]);
                    }
                }
            }
        }
    }
}

fn add<T: Scalar>(target: &mut [T], source: &[T]) {
    for (sum, &v) in target.iter_mut().zip(source) {
        *sum += v;
    }
}

/// Where to divide siblings into two groups of about equal work.
pub(crate) fn split_children(children: &[u32], fronts: &[Front]) -> usize {
    let total: f64 = children.iter().map(|&c| fronts[c as usize].subtree_flops).sum();
    let mut sum = 0.0;
    for (k, &c) in children.iter().enumerate() {
        let flops = fronts[c as usize].subtree_flops;
        if sum + flops / 2.0 > total / 2.0 {
            return k.clamp(1, children.len() - 1);
        }
        sum += flops;
    }
    children.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Direct;
    use crate::{ConstraintRows, Pattern};

    /// A chain of points with a row over some of them.
    fn chain(count: usize) -> Direct {
        let pairs: Vec<[u32; 2]> = (1..count as u32).map(|i| [i - 1, i]).collect();
        let pattern = Pattern::from_stencils(count, pairs.iter().map(|pair| &pair[..]));
        let rows = ConstraintRows::new(count, [vec![(0, 0.5), (count as u32 / 2, 0.5)]]);
        Direct::new(&pattern, &vec![false; count], &rows, true)
    }

    #[test]
    fn a_factor_takes_the_memory_that_it_says() {
        let direct = chain(300);
        let plan = direct.symbolic();
        let factor = Factor::<f64>::new(plan).expect("memory");
        let Factor { values, stacks: [own, other], vector, exchanged } = &factor;
        let numbers = values.len() + own.len() + other.len() + vector.len() + exchanged.len();
        assert!(!own.is_empty() && !exchanged.is_empty());
        assert_eq!(Factor::<f64>::bytes(plan), 8 * numbers);
        assert_eq!(Factor::<f32>::bytes(plan), 4 * numbers);
    }

    #[test]
    fn siblings_are_divided_where_half_of_the_work_is() {
        let direct = chain(300);
        let front = &direct.symbolic().fronts[0];
        for (work, expected) in [
            (&[1.0, 1.0, 1.0, 1.0], 2),
            (&[5.0, 1.0, 1.0, 1.0], 1),
            (&[1.0, 1.0, 1.0, 9.0], 3),
            (&[1.0, 5.0, 1.0, 1.0], 2),
        ] {
            let fronts: Vec<Front> =
                work.iter().map(|&subtree_flops| Front { subtree_flops, ..front.clone() }).collect();
            assert_eq!(split_children(&[0, 1, 2, 3], &fronts), expected, "{work:?}");
        }
    }
}
