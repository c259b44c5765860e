//! Multifrontal factorisation K = L J Lᵀ, J = ±1 on the diagonal, and triangular solves with it.
//!
//! K is the matrix of the unknown points with the constraint rows beside it, [A Cᵀ; C −E]. With each row eliminated
//! after every point of its support, a point's pivot is positive and a row's is negative, so the signs J are known
//! beforehand and every front is an ordinary Cholesky factorisation: of F for points, of −F for rows.
//!
//! Each front gathers its blocks of K and its children's updates, eliminates its columns and leaves the update
//! F₂₂ − L₂₁ J L₂₁ᵀ to its parent. Subtrees are independent and run side by side. Updates live on two stacks: a
//! front's on one, its children's on the other, so that none is ever moved or allocated.

use faer::reborrow::*;
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul, linalg::triangular_solve};
use geometry::{Mat3, Vec3};

use crate::dense;
use crate::symbolic::{Front, Symbolic};

/// Numeric storage for one plan.
pub(crate) struct Factor {
    values: Vec<f64>,
    stacks: [Vec<f64>; 2],
    /// Permuted vector and the vectors that fronts exchange during a triangular solve.
    vector: Vec<f64>,
    exchanged: Vec<f64>,
}

impl Factor {
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
        8 * (plan.values + plan.stacks[0] + plan.stacks[1] + 3 * plan.order.len() + plan.exchanged)
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
                let pivot = |k: usize| self.values[front.values + (3 * column + k) * (stride + 1)];
                (plan.order[front.first + column], pivot(0).min(pivot(1)).min(pivot(2)))
            })
        })
    }

    /// Replaces the right-hand side, one entry per node, by the solution.
    pub(crate) fn solve(&mut self, plan: &Symbolic, x: &mut [Vec3]) {
        for (&node, v) in plan.order.iter().zip(self.vector.chunks_exact_mut(3)) {
            v.copy_from_slice(&x[node as usize].to_array());
        }
        let triangle = Triangle { plan, values: &self.values };
        let root = plan.fronts.len() - 1;
        let (vector, exchanged) = (&mut self.vector[..], &mut self.exchanged[..]);
        if plan.fronts[root].parallel {
            rayon::scope(|_| triangle.solve(root, vector, exchanged));
        } else {
            triangle.solve(root, vector, exchanged);
        }
        for (&node, v) in plan.order.iter().zip(self.vector.chunks_exact(3)) {
            x[node as usize] = Vec3::from_slice(v);
        }
    }
}

/// A vector of zeros, or none if the memory cannot be had.
fn zeros(length: usize) -> Option<Vec<f64>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).ok()?;
    vector.resize(length, 0.0);
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
    fn factorize(
        &self,
        s: usize,
        values: &mut [f64],
        own: &mut [f64],
        other: &mut [f64],
    ) -> Result<(), usize> {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (below, panel) = values.split_at_mut(front.values - front.subtree_values);
        self.factorize_children(children, front.parallel, below, other, own)?;
        if front.columns == 0 {
            return Ok(());
        }

        panel.fill(0.0);
        self.gather(front, panel);
        let updates = |child: &Front| child.offset_own..child.offset_own + child.update();
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            self.add_update::<true>(child, &other[updates(child)], front, panel);
        }
        if front.negative {
            panel.iter_mut().for_each(|v| *v = -*v);
        }
        let (m, n) = (3 * (front.columns + front.rows), 3 * front.columns);
        let (mut f11, mut f21) = MatMut::from_column_major_slice_mut(panel, m, n).split_at_row_mut(n);
        dense::cholesky(f11.rb_mut()).map_err(|column| front.first + column / 3)?;
        if front.rows > 0 {
            dense::solve_right(f11.rb(), f21.rb_mut());
            let update = &mut own[..front.update()];
            let f22 = MatMut::from_column_major_slice_mut(&mut *update, m - n, m - n);
            dense::add_square(f22, f21.rb(), Accum::Replace, if front.negative { 1.0 } else { -1.0 });
            for &c in children {
                let child = &self.plan.fronts[c as usize];
                self.add_update::<false>(child, &other[updates(child)], front, update);
            }
        }
        Ok(())
    }

    /// Factorises some siblings. Their updates go to `own`, which is their parent's other stack.
    fn factorize_children(
        &self,
        children: &[u32],
        parallel: bool,
        values: &mut [f64],
        own: &mut [f64],
        other: &mut [f64],
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
        let (left, right) = children.split_at(halve(children, fronts));
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
    fn gather(&self, front: &Front, panel: &mut [f64]) {
        let stride = 3 * (front.columns + front.rows);
        for entry in &self.plan.entries[front.entries.clone()] {
            let mut block = (self.block)(entry.source);
            if entry.transposed {
                block = block.transpose();
            }
            for (k, column) in block.to_cols_array_2d().iter().enumerate() {
                let start = (3 * entry.column as usize + k) * stride + 3 * entry.row as usize;
                for (sum, v) in panel[start..start + 3].iter_mut().zip(column) {
                    *sum += v;
                }
            }
        }
    }

    /// Adds those columns of a child's update that fall into the parent's panel, or into the parent's update.
    fn add_update<const PANEL: bool>(
        &self,
        child: &Front,
        update: &[f64],
        parent: &Front,
        target: &mut [f64],
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

fn add(target: &mut [f64], source: &[f64]) {
    for (sum, v) in target.iter_mut().zip(source) {
        *sum += v;
    }
}

/// Where to divide siblings into two groups of about equal work.
fn halve(children: &[u32], fronts: &[Front]) -> usize {
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

/// Triangular solves with a finished factor.
struct Triangle<'a> {
    plan: &'a Symbolic,
    values: &'a [f64],
}

impl Triangle<'_> {
    /// Forward, signs, backward.
    fn solve(&self, root: usize, x: &mut [f64], exchanged: &mut [f64]) {
        self.forward(root, x, exchanged);
        for front in self.plan.fronts.iter().filter(|front| front.negative) {
            x[3 * front.first..3 * (front.first + front.columns)].iter_mut().for_each(|v| *v = -*v);
        }
        self.backward(root, x, exchanged);
    }

    /// x ← L⁻¹ x over a subtree; what its rows below lose is left in its exchanged vector.
    fn forward(&self, s: usize, x: &mut [f64], exchanged: &mut [f64]) {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (x_below, x) = x.split_at_mut(3 * (front.first - front.subtree_first));
        let (exchanged_below, w) = exchanged.split_at_mut(front.exchanged - front.subtree_exchanged);
        self.each_child(children, front.parallel, x_below, exchanged_below, &|c, x, w| self.forward(c, x, w));
        w.fill(0.0);
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            let lost = &exchanged_below[child.exchanged - front.subtree_exchanged..][..3 * child.rows];
            self.each_row(child, front, |place, k| {
                let sum = if place < x.len() { &mut x[place] } else { &mut w[place - x.len()] };
                *sum += lost[k];
            });
        }
        if front.columns == 0 {
            return;
        }
        let (l11, l21) = self.panel(front);
        let mut x = MatMut::from_column_major_slice_mut(x, 3 * front.columns, 1);
        triangular_solve::solve_lower_triangular_in_place(l11, x.rb_mut(), Par::Seq);
        if front.rows > 0 {
            let w = MatMut::from_column_major_slice_mut(w, 3 * front.rows, 1);
            matmul(w, Accum::Add, l21, x.rb(), -1.0, Par::Seq);
        }
    }

    /// x ← L⁻ᵀ x over a subtree; its exchanged vector holds the solution at its rows below.
    fn backward(&self, s: usize, x: &mut [f64], exchanged: &mut [f64]) {
        let front = &self.plan.fronts[s];
        let children = &self.plan.children[front.children.clone()];
        let (x_below, x) = x.split_at_mut(3 * (front.first - front.subtree_first));
        let (exchanged_below, w) = exchanged.split_at_mut(front.exchanged - front.subtree_exchanged);
        if front.columns > 0 {
            let (l11, l21) = self.panel(front);
            let mut x = MatMut::from_column_major_slice_mut(x, 3 * front.columns, 1);
            if front.rows > 0 {
                let w = MatRef::from_column_major_slice(w, 3 * front.rows, 1);
                matmul(x.rb_mut(), Accum::Add, l21.transpose(), w, -1.0, Par::Seq);
            }
            triangular_solve::solve_upper_triangular_in_place(l11.transpose(), x.rb_mut(), Par::Seq);
        }
        for &c in children {
            let child = &self.plan.fronts[c as usize];
            let needed = &mut exchanged_below[child.exchanged - front.subtree_exchanged..][..3 * child.rows];
            self.each_row(child, front, |place, k| {
                needed[k] = if place < x.len() { x[place] } else { w[place - x.len()] };
            });
        }
        self.each_child(children, front.parallel, x_below, exchanged_below, &|c, x, w| {
            self.backward(c, x, w)
        });
    }

    /// Calls `act` with every scalar row of the child: its place in the parent's front, and in the child.
    fn each_row(&self, child: &Front, parent: &Front, mut act: impl FnMut(usize, usize)) {
        debug_assert!(parent.columns > 0 || child.rows == 0);
        for run in &self.plan.runs[child.runs.clone()] {
            for k in 0..3 * run.length as usize {
                act(3 * run.parent as usize + k, 3 * run.child as usize + k);
            }
        }
    }

    /// The triangle and the rectangle of a front's panel.
    fn panel(&self, front: &Front) -> (MatRef<'_, f64>, MatRef<'_, f64>) {
        let (m, n) = (3 * (front.columns + front.rows), 3 * front.columns);
        let panel = &self.values[front.values..front.values + front.panel()];
        MatRef::from_column_major_slice(panel, m, n).split_at_row(n)
    }

    /// Calls `act` for every sibling with its subtree's parts of both vectors, side by side if `parallel`.
    fn each_child(
        &self,
        children: &[u32],
        parallel: bool,
        x: &mut [f64],
        exchanged: &mut [f64],
        act: &(impl Fn(usize, &mut [f64], &mut [f64]) + Sync),
    ) {
        let fronts = &self.plan.fronts;
        let (mut children, mut x, mut exchanged) = (children, x, exchanged);
        while let Some((&head, tail)) = children.split_first() {
            if tail.is_empty() {
                return act(head as usize, x, exchanged);
            }
            let (left, right) = children.split_at(if parallel { halve(children, fronts) } else { 1 });
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
