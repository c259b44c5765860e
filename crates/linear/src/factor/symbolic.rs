//! The plan of a factorisation: fronts, where each child adds into its parent, what storage each needs.
//!
//! Everything that depends on the sparsity alone is done here, once. Indices count *nodes*: a node is a point or a
//! constraint row, and stands for three scalars.

use std::ops::Range;

use super::elimination::Supernodes;
use crate::ordering::Graph;

/// A subtree is a task of its own from this many operations on, and from this share of the whole: siblings at work
/// side by side each need space for their updates, so the tree is divided no further than keeps some dozen threads busy.
const TASK_FLOPS: f64 = 1e6;
const TASK_SHARE: f64 = 1.0 / 24.0;

/// Scalars, and so columns, of a node.
pub(crate) const NODE: usize = 3;

/// The plan of a multifrontal factorisation.
pub(crate) struct Symbolic {
    /// Position of each node in the order of elimination.
    pub(crate) position: Vec<u32>,
    /// Node at each position.
    pub(crate) order: Vec<u32>,
    /// Nodes below this are points, the others are constraint rows.
    pub(crate) point_count: usize,
    /// Children before parents, subtrees contiguous. The last one is empty and the parent of every root.
    pub(crate) fronts: Vec<Front>,
    pub(crate) children: Vec<u32>,
    pub(crate) runs: Vec<Run>,
    pub(crate) entries: Vec<Entry>,
    /// Length of the factor's storage, and of the two update stacks.
    pub(crate) values: usize,
    pub(crate) stacks: [usize; 2],
    /// Length of the vectors that fronts exchange in a triangular solve.
    pub(crate) exchanged: usize,
    /// Floating-point operations of a factorisation.
    pub(crate) flops: f64,
    /// Scalars in the factor's lower triangle.
    pub(crate) nonzeros: usize,
}

/// A supernode's dense matrix: its own columns (a panel of the factor) and the update it leaves to its parent.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    /// First of its columns, as a position; how many columns; how many rows below them.
    pub(crate) first: usize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// How many of its columns, the last ones, are constraint rows: their pivots are negative.
    pub(crate) negative: usize,
    /// Where its panel begins, and where the panels of its subtree begin.
    pub(crate) values: usize,
    pub(crate) subtree_values: usize,
    /// Where its exchanged vector begins, and where those of its subtree begin.
    pub(crate) exchanged: usize,
    pub(crate) subtree_exchanged: usize,
    /// First column of its subtree.
    pub(crate) subtree_first: usize,
    pub(crate) children: Range<usize>,
    /// Where its rows stand in its parent.
    pub(crate) runs: Range<usize>,
    /// Matrix blocks that land in its panel.
    pub(crate) entries: Range<usize>,
    /// Space on the stack that receives its update, and on the other one.
    pub(crate) own: usize,
    pub(crate) other: usize,
    /// Where its space begins within its parent's: the parent's other stack, the parent's own stack.
    pub(crate) offset_own: usize,
    pub(crate) offset_other: usize,
    /// Whether its children are worked on side by side.
    pub(crate) parallel: bool,
    pub(crate) subtree_flops: f64,
}

impl Front {
    /// Scalars of the update matrix.
    pub(crate) fn update(&self) -> usize {
        9 * self.rows * self.rows
    }

    /// Scalars of the panel.
    pub(crate) fn panel(&self) -> usize {
        9 * self.columns * (self.columns + self.rows)
    }
}

/// Consecutive rows of a child that are consecutive in its parent's front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) child: u32,
    pub(crate) parent: u32,
    pub(crate) length: u32,
}

/// A block of the matrix and its place in a front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Index into whatever the caller assembles from.
    pub(crate) source: u32,
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) transposed: bool,
}

impl Symbolic {
    /// Plans the factorisation of a matrix with the sparsity of `graph`, eliminated in about the `order` given.
    ///
    /// `blocks` lists the matrix's blocks as (row node, column node, source), one triangle of it.
    pub(crate) fn new(graph: &Graph, point_count: usize, order: &[u32], blocks: &[(u32, u32, u32)]) -> Self {
        let Supernodes { order, starts, parents } = Supernodes::new(graph, point_count, order);
        let mut position = vec![0u32; order.len()];
        for (i, &node) in order.iter().enumerate() {
            position[node as usize] = i as u32;
        }
        let count = parents.len();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count + 1];
        for (s, &parent) in parents.iter().enumerate() {
            children[(parent as usize).min(count)].push(s as u32);
        }
        let rows = front_rows(graph, &order, &position, &starts, &children);

        let mut plan = Self {
            position,
            order,
            point_count,
            fronts: Vec::with_capacity(count + 1),
            children: Vec::with_capacity(count),
            runs: Vec::new(),
            entries: Vec::with_capacity(blocks.len()),
            values: 0,
            stacks: [0; 2],
            exchanged: 0,
            flops: 0.0,
            nonzeros: 0,
        };
        let whole: f64 =
            (0..count).map(|s| front_flops((starts[s + 1] - starts[s]) as usize, rows[s].len())).sum();
        let task_flops = TASK_FLOPS.max(TASK_SHARE * whole);
        for s in 0..=count {
            let (first, end) =
                if s < count { (starts[s], starts[s + 1]) } else { (starts[count], starts[count]) };
            let parent = parents.get(s).map_or(count, |&p| (p as usize).min(count));
            let run_start = plan.runs.len();
            if parent < count {
                let columns = starts[parent]..starts[parent + 1];
                add_runs(&rows[s], columns, &rows[parent], &mut plan.runs);
            }
            let below = rows.get(s).map_or(0, Vec::len);
            plan.push_front(
                first as usize,
                (end - first) as usize,
                below,
                &children[s],
                run_start,
                task_flops,
            );
        }
        plan.place(blocks, &starts, &rows);
        plan
    }

    /// Appends a front whose children are all there.
    fn push_front(
        &mut self,
        first: usize,
        columns: usize,
        rows: usize,
        children: &[u32],
        run_start: usize,
        task_flops: f64,
    ) {
        let children_start = self.children.len();
        self.children.extend_from_slice(children);
        let mut flops = front_flops(columns, rows);
        self.flops += flops;
        let mut heavy = 0;
        for &c in children {
            let child = &self.fronts[c as usize];
            flops += child.subtree_flops;
            heavy += usize::from(child.subtree_flops > task_flops);
        }
        let parallel = heavy > 1;
        let update = 9 * rows * rows;
        let (mut own, mut other, mut stacked) = (0, 0, 0);
        for &c in children {
            let child = &mut self.fronts[c as usize];
            if parallel {
                (child.offset_own, child.offset_other) = (other, own);
                other += child.own;
                own += child.other;
            } else {
                (child.offset_own, child.offset_other) = (stacked, 0);
                other = other.max(stacked + child.own);
                own = own.max(child.other);
                stacked += child.update();
            }
        }
        let front = Front {
            first,
            columns,
            rows,
            negative: self.order[first..first + columns]
                .iter()
                .filter(|&&node| node as usize >= self.point_count)
                .count(),
            values: self.values,
            subtree_values: children.first().map_or(self.values, |&c| self.fronts[c as usize].subtree_values),
            exchanged: self.exchanged,
            subtree_exchanged: children
                .first()
                .map_or(self.exchanged, |&c| self.fronts[c as usize].subtree_exchanged),
            subtree_first: children.first().map_or(first, |&c| self.fronts[c as usize].subtree_first),
            children: children_start..self.children.len(),
            runs: run_start..self.runs.len(),
            entries: 0..0,
            own: own.max(update),
            other,
            offset_own: 0,
            offset_other: 0,
            parallel,
            subtree_flops: flops,
        };
        self.values += front.panel();
        self.exchanged += 3 * rows;
        self.nonzeros += 3 * columns * (3 * columns + 1) / 2 + 9 * columns * rows;
        self.stacks = [front.own, front.other];
        self.fronts.push(front);
    }

    /// Finds the front and the place in it of every block.
    fn place(&mut self, blocks: &[(u32, u32, u32)], starts: &[u32], rows: &[Vec<u32>]) {
        let mut of_column = vec![0u32; self.order.len()];
        for s in 0..rows.len() {
            of_column[starts[s] as usize..starts[s + 1] as usize].fill(s as u32);
        }
        let mut placed: Vec<(u32, Entry)> = Vec::with_capacity(blocks.len());
        for &(i, j, source) in blocks {
            let (i, j) = (self.position[i as usize], self.position[j as usize]);
            let (row, column) = (i.max(j), i.min(j));
            let s = of_column[column as usize] as usize;
            let (first, end) = (starts[s], starts[s + 1]);
            let row = if row < end {
                row - first
            } else {
                // a block's row is among its front's rows: they were gathered from the same graph
                end - first + rows[s].partition_point(|&r| r < row) as u32
            };
            let entry = Entry { source, row, column: column - first, transposed: i < j };
            placed.push((s as u32, entry));
        }
        placed.sort_by_key(|&(s, entry)| (s, entry.column, entry.row, entry.source));
        let mut next = 0;
        for (s, front) in self.fronts.iter_mut().enumerate() {
            let start = next;
            while next < placed.len() && placed[next].0 as usize == s {
                next += 1;
            }
            front.entries = start..next;
        }
        self.entries = placed.into_iter().map(|(_, entry)| entry).collect();
    }
}

/// Operations of a front with so many columns and rows below.
fn front_flops(columns: usize, rows: usize) -> f64 {
    let (k, r) = (3.0 * columns as f64, 3.0 * rows as f64);
    k * k * k / 3.0 + r * k * k + r * r * k
}

/// Positions of the rows below each supernode's columns, ascending: from the graph and from its children.
fn front_rows(
    graph: &Graph,
    order: &[u32],
    position: &[u32],
    starts: &[u32],
    children: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<u32>> = Vec::with_capacity(starts.len() - 1);
    let mut seen = vec![u32::MAX; order.len()];
    for s in 0..starts.len() - 1 {
        let (first, end) = (starts[s], starts[s + 1]);
        let mut below = Vec::new();
        let mut add = |row: u32| {
            if row >= end && seen[row as usize] != s as u32 {
                seen[row as usize] = s as u32;
                below.push(row);
            }
        };
        for &node in &order[first as usize..end as usize] {
            graph.neighbours(node as usize).iter().for_each(|&n| add(position[n as usize]));
        }
        for &c in &children[s] {
            rows[c as usize].iter().for_each(|&row| add(row));
        }
        below.sort_unstable();
        rows.push(below);
    }
    rows
}

/// Where a child's rows stand in the front made of `columns` and then `rows`.
fn add_runs(child: &[u32], columns: Range<u32>, rows: &[u32], runs: &mut Vec<Run>) {
    let mut next = 0;
    let start = runs.len();
    for (k, &row) in child.iter().enumerate() {
        let place = if row < columns.end {
            row - columns.start
        } else {
            while rows[next] < row {
                next += 1;
            }
            columns.end - columns.start + next as u32
        };
        match runs[start..].last_mut() {
            Some(run) if run.parent + run.length == place => run.length += 1,
            _ => runs.push(Run { child: k as u32, parent: place, length: 1 }),
        }
    }
}
