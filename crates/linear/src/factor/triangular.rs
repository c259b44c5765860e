//! Triangular solves with a finished factor.
//!
//! One right-hand side is a matter of memory: every number of the factor is read once forward and once backward. The
//! three columns of a node are read side by side, so that the vector they act on is not read and written for each.

use pulp::{Arch, Simd, WithSimd};

use super::numeric::split_children;
use super::scalar::Scalar;
use super::symbolic::{Front, NODE, Symbolic};

/// A finished factor.
pub(crate) struct TriangularSolve<'a, T> {
    pub(crate) plan: &'a Symbolic,
    pub(crate) values: &'a [T],
}

impl<T: Scalar> TriangularSolve<'_, T> {
    /// Forward, signs, backward. `exchanged` holds the vectors that fronts leave each other.
    pub(crate) fn solve(&self, x: &mut [T], exchanged: &mut [T]) {
        let root = self.plan.fronts.len() - 1;
        self.forward(root, x, exchanged);
        for front in self.plan.fronts.iter() {
            let end = front.first + front.columns;
            x[3 * (end - front.negative)..3 * end].iter_mut().for_each(|v| *v = -*v);
        }
        self.backward(root, x, exchanged);
    }

    /// x ← L⁻¹ x over a subtree; what its rows below lose is left in its exchanged vector.
    fn forward(&self, s: usize, x: &mut [T], exchanged: &mut [T]) {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (x_below, x) = x.split_at_mut(3 * (front.first - front.subtree_first));
        let (exchanged_below, w) = exchanged.split_at_mut(front.exchanged - front.subtree_exchanged);
        self.each_child(children, front.parallel, x_below, exchanged_below, &|c, x, w| self.forward(c, x, w));
        w.fill(T::ZERO);
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            let lost = &exchanged_below[child.exchanged - front.subtree_exchanged..][..3 * child.rows];
            self.each_run(child, front, |in_x, start, k, length| {
                let sums = if in_x { &mut x[start..] } else { &mut w[start..] };
                sums.iter_mut().zip(&lost[k..k + length]).for_each(|(sum, &v)| *sum += v);
            });
        }
        let panel = self.panel(front);
        Arch::new().dispatch(Forward { panel, x, w });
    }

    /// x ← L⁻ᵀ x over a subtree; its exchanged vector holds the solution at its rows below.
    fn backward(&self, s: usize, x: &mut [T], exchanged: &mut [T]) {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (x_below, x) = x.split_at_mut(3 * (front.first - front.subtree_first));
        let (exchanged_below, w) = exchanged.split_at_mut(front.exchanged - front.subtree_exchanged);
        let panel = self.panel(front);
        Arch::new().dispatch(Backward { panel, x, w });
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            let needed = &mut exchanged_below[child.exchanged - front.subtree_exchanged..][..3 * child.rows];
            self.each_run(child, front, |in_x, start, k, length| {
                let known = if in_x { &x[start..] } else { &w[start..] };
                needed[k..k + length].copy_from_slice(&known[..length]);
            });
        }
        self.each_child(children, front.parallel, x_below, exchanged_below, &|c, x, w| {
            self.backward(c, x, w)
        });
    }

    /// Calls `act` with every run of the child's rows that the parent has together: whether in its columns, from where
    /// there (or in its rows), from where in the child, how many scalars.
    fn each_run(&self, child: &Front, parent: &Front, mut act: impl FnMut(bool, usize, usize, usize)) {
        for run in &self.plan.runs[child.runs.clone()] {
            let (start, length) = (run.parent as usize, run.length as usize);
            let child = 3 * run.child as usize;
            let in_columns = parent.columns.saturating_sub(start).min(length);
            if in_columns > 0 {
                act(true, 3 * start, child, 3 * in_columns);
            }
            if in_columns < length {
                let start = start + in_columns - parent.columns;
                act(false, 3 * start, child + 3 * in_columns, 3 * (length - in_columns));
            }
        }
    }

    fn panel(&self, front: &Front) -> Panel<'_, T> {
        let height = 3 * (front.columns + front.rows);
        Panel { height, width: 3 * front.columns, values: &self.values[front.values..][..front.panel()] }
    }

    /// Calls `act` for every sibling with its subtree's parts of both vectors, side by side if `parallel`.
    fn each_child(
        &self,
        children: &[u32],
        parallel: bool,
        x: &mut [T],
        exchanged: &mut [T],
        act: &(impl Fn(usize, &mut [T], &mut [T]) + Sync),
    ) {
        let fronts = &self.plan.fronts;
        let (mut children, mut x, mut exchanged) = (children, x, exchanged);
        while let Some((&head, tail)) = children.split_first() {
            if tail.is_empty() {
                return act(head as usize, x, exchanged);
            }
            let (left, right) =
                children.split_at(if parallel { split_children(children, fronts) } else { 1 });
            let (first, middle) = (&fronts[head as usize], &fronts[right[0] as usize]);
            let (x_left, x_right) = x.split_at_mut(3 * (middle.subtree_first - first.subtree_first));
            let (w_left, w_right) =
                exchanged.split_at_mut(middle.subtree_exchanged - first.subtree_exchanged);
            if parallel {
                rayon::join(
                    || self.each_child(left, true, x_left, w_left, act),
                    || self.each_child(right, true, x_right, w_right, act),
                );
                return;
            }
            act(head as usize, x_left, w_left);
            (children, x, exchanged) = (right, x_right, w_right);
        }
    }
}

/// [`Panel::forward`], compiled for every kind of processor.
struct Forward<'a, T> {
    panel: Panel<'a, T>,
    x: &'a mut [T],
    w: &'a mut [T],
}

impl<T: Scalar> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.panel.forward(simd, self.x, self.w);
    }
}

/// [`Panel::backward`], compiled for every kind of processor.
struct Backward<'a, T> {
    panel: Panel<'a, T>,
    x: &'a mut [T],
    w: &'a [T],
}

impl<T: Scalar> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.panel.backward(simd, self.x, self.w);
    }
}

/// A front's columns of the factor: a triangle, and a rectangle below it.
struct Panel<'a, T> {
    height: usize,
    width: usize,
    values: &'a [T],
}

impl<T: Scalar> Panel<'_, T> {
    /// x ← L₁₁⁻¹ x, w ← w − L₂₁ x.
    #[inline(always)]
    fn forward<S: Simd>(&self, simd: S, x: &mut [T], w: &mut [T]) {
        for start in (0..self.width).step_by(NODE) {
            let (head, rest) = x[start..].split_at_mut(NODE);
            for c in 0..NODE {
                let column = self.below(start + c, start + c);
                head[c] /= column[0];
                for k in c + 1..NODE {
                    let product = column[k - c] * head[c];
                    head[k] -= product;
                }
            }
            let factors = [head[0], head[1], head[2]];
            let (right, below) = self.rest_of_node(start);
            T::subtract(simd, [rest], right, [factors]);
            T::subtract(simd, [&mut *w], below, [factors]);
        }
    }

    /// x ← L₁₁⁻ᵀ (x − L₂₁ᵀ w).
    #[inline(always)]
    fn backward<S: Simd>(&self, simd: S, x: &mut [T], w: &[T]) {
        for start in (0..self.width).step_by(NODE).rev() {
            let (head, rest) = x[start..].split_at_mut(NODE);
            let (right, below) = self.rest_of_node(start);
            let right = T::products(simd, rest, right);
            let below = T::products(simd, w, below);
            for c in (0..NODE).rev() {
                head[c] -= right[c] + below[c];
                let column = self.below(start + c, start + c);
                for k in c + 1..NODE {
                    let product = column[k - c] * head[k];
                    head[c] -= product;
                }
                head[c] /= column[0];
            }
        }
    }

    /// The columns of the node that starts at a column, below its own triangle: in the panel's triangle, and in its
    /// rectangle.
    #[inline(always)]
    fn rest_of_node(&self, start: usize) -> ([&[T]; NODE], [&[T]; NODE]) {
        let (mut right, mut below) = ([&[][..]; NODE], [&[][..]; NODE]);
        for c in 0..NODE {
            let column = self.below(start + c, start + NODE);
            (right[c], below[c]) = column.split_at(self.width - start - NODE);
        }
        (right, below)
    }

    /// A column from a row on.
    #[inline(always)]
    fn below(&self, column: usize, row: usize) -> &[T] {
        &self.values[column * self.height + row..(column + 1) * self.height]
    }
}
