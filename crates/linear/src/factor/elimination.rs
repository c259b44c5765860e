//! Which column of a sparse factor needs which: elimination tree, counts, and supernodes with relaxation.
//!
//! A supernode is a run of columns with (nearly) the same rows below: it is factorised as one dense panel. Merging a
//! supernode into its parent stores some zeros and saves indirection; small ones merge freely, large ones only when
//! hardly any zeros come of it.

use crate::ordering::Graph;

/// No parent: a root.
const NONE: u32 = u32::MAX;

/// Columns gathered into supernodes, in an order of elimination.
pub(crate) struct Supernodes {
    /// Node eliminated at each position.
    pub(crate) order: Vec<u32>,
    /// First position of each supernode, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// Parent of each supernode, later in the order; `u32::MAX` for roots.
    pub(crate) parents: Vec<u32>,
}

impl Supernodes {
    /// Finds supernodes of `graph` eliminated in about the `order` given. Nodes from `point_count` on are constraint rows: in
    /// a supernode they come behind the points, where their pivots are negative whatever the points' matrix.
    pub(crate) fn new(graph: &Graph, point_count: usize, order: &[u32]) -> Self {
        let (order, parents) = postordered(graph, order);
        let counts = column_counts(graph, &order, &parents);

        // maximal supernodes: each column's rows are the next column and its rows
        let mut starts: Vec<u32> = Vec::new();
        let mut of_column = vec![0u32; order.len()];
        for j in 0..order.len() {
            let joins = j > 0 && parents[j - 1] == j as u32 && counts[j - 1] == counts[j] + 1;
            if !joins {
                starts.push(j as u32);
            }
            of_column[j] = starts.len() as u32 - 1;
        }
        starts.push(order.len() as u32);
        let mut tree: Vec<Merging> = Vec::with_capacity(starts.len());
        for range in starts.windows(2) {
            let last = range[1] as usize - 1;
            tree.push(Merging {
                parent: if parents[last] == NONE { NONE } else { of_column[parents[last] as usize] },
                children: Vec::new(),
                columns: u64::from(range[1] - range[0]),
                rows: u64::from(counts[last]) - 1,
                zeros: 0,
                merged: false,
                pieces: Vec::new(),
            });
        }
        relax(&mut tree);
        let mut nodes = Self::in_postorder(&tree, &starts, &order);
        for range in nodes.starts.windows(2) {
            nodes.order[range[0] as usize..range[1] as usize]
                .sort_by_key(|&node| node as usize >= point_count);
        }
        nodes
    }

    /// Renumbers the merged tree so that children come before parents and each subtree is contiguous. Of siblings, the
    /// one that needs much space while it is worked on and leaves little behind comes first.
    fn in_postorder(tree: &[Merging], starts: &[u32], order: &[u32]) -> Self {
        let mut peak = vec![0u64; tree.len()];
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); tree.len()];
        let mut roots = Vec::new();
        for s in 0..tree.len() {
            if tree[s].merged {
                continue;
            }
            children[s].sort_by_key(|&c| {
                let left = tree[c as usize].rows.pow(2);
                (std::cmp::Reverse(peak[c as usize] - left.min(peak[c as usize])), c)
            });
            let mut stacked = 0;
            let mut most = 0;
            for &c in &children[s] {
                most = most.max(stacked + peak[c as usize]);
                stacked += tree[c as usize].rows.pow(2);
            }
            peak[s] = most.max(stacked + tree[s].rows.pow(2));
            match tree[s].parent {
                NONE => roots.push(s as u32),
                parent => children[parent as usize].push(s as u32),
            }
        }
        let mut result =
            Self { order: Vec::with_capacity(order.len()), starts: vec![0], parents: Vec::new() };
        let mut new_index = vec![NONE; tree.len()];
        let mut stack: Vec<(u32, usize)> = Vec::new();
        let mut sequence = Vec::new();
        for root in roots {
            stack.push((root, 0));
            while let Some((s, next)) = stack.pop() {
                if let Some(&child) = children[s as usize].get(next) {
                    stack.push((s, next + 1));
                    stack.push((child, 0));
                    continue;
                }
                new_index[s as usize] = sequence.len() as u32;
                sequence.push(s);
                let merging = &tree[s as usize];
                for piece in merging.pieces.iter().copied().chain([s]) {
                    let range = starts[piece as usize] as usize..starts[piece as usize + 1] as usize;
                    result.order.extend_from_slice(&order[range]);
                }
                result.starts.push(result.order.len() as u32);
            }
        }
        for s in sequence {
            let parent = tree[s as usize].parent;
            result.parents.push(if parent == NONE { NONE } else { new_index[parent as usize] });
        }
        result
    }
}

/// A supernode while it is being merged with its children.
struct Merging {
    parent: u32,
    children: Vec<u32>,
    columns: u64,
    rows: u64,
    zeros: u64,
    merged: bool,
    /// Original supernodes merged into this one, in order of elimination, itself (the last) left out.
    pieces: Vec<u32>,
}

/// Share of stored zeros that merging may reach, by columns (of 3 scalars) of the merged supernode.
fn allowed_zeros(columns: u64) -> f64 {
    match columns {
        0..=4 => 0.6,
        5..=10 => 0.35,
        11..=20 => 0.15,
        _ => 0.06,
    }
}

/// Merges children into parents while the zeros stored stay within [`allowed_zeros`].
fn relax(tree: &mut [Merging]) {
    for p in 0..tree.len() {
        let mut children = std::mem::take(&mut tree[p].children);
        // the child with the most rows fits best
        children.sort_by_key(|&c| (std::cmp::Reverse(tree[c as usize].rows), c));
        let mut kept = Vec::new();
        for c in children {
            let (child, parent) = (&tree[c as usize], &tree[p]);
            let columns = child.columns + parent.columns;
            let new_zeros = child.columns * (parent.columns + parent.rows - child.rows);
            let zeros = child.zeros + parent.zeros + new_zeros;
            let entries = columns * (columns + 1) / 2 + columns * parent.rows;
            if zeros as f64 > allowed_zeros(columns) * entries as f64 {
                kept.push(c);
                continue;
            }
            let mut pieces = std::mem::take(&mut tree[c as usize].pieces);
            pieces.push(c);
            let grandchildren = std::mem::take(&mut tree[c as usize].children);
            for &g in &grandchildren {
                tree[g as usize].parent = p as u32;
            }
            kept.extend(grandchildren);
            tree[c as usize].merged = true;
            let parent = &mut tree[p];
            pieces.append(&mut parent.pieces);
            parent.pieces = pieces;
            parent.columns = columns;
            parent.zeros = zeros;
        }
        tree[p].children = kept;
        if tree[p].parent != NONE {
            let parent = tree[p].parent as usize;
            tree[parent].children.push(p as u32);
        }
    }
}

/// An equivalent order in which every subtree of the elimination tree is contiguous, and each position's parent.
fn postordered(graph: &Graph, order: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let n = order.len();
    let mut position = vec![0u32; n];
    for (i, &node) in order.iter().enumerate() {
        position[node as usize] = i as u32;
    }
    // Liu's algorithm, with path compression in `ancestor`
    let mut parent = vec![NONE; n];
    let mut ancestor = vec![NONE; n];
    for i in 0..n as u32 {
        for &node in graph.neighbours(order[i as usize] as usize) {
            let mut k = position[node as usize];
            while k < i && ancestor[k as usize] != i {
                let next = std::mem::replace(&mut ancestor[k as usize], i);
                if next == NONE {
                    parent[k as usize] = i;
                    break;
                }
                k = next;
            }
        }
    }
    let mut first_child = vec![NONE; n];
    let mut next_sibling = vec![NONE; n];
    for i in (0..n).rev() {
        if parent[i] != NONE {
            next_sibling[i] = std::mem::replace(&mut first_child[parent[i] as usize], i as u32);
        }
    }
    let mut sequence = Vec::with_capacity(n);
    let mut new_index = vec![0u32; n];
    let mut stack = Vec::new();
    for root in (0..n).filter(|&i| parent[i] == NONE) {
        stack.push(root as u32);
        while let Some(&i) = stack.last() {
            let child = first_child[i as usize];
            if child == NONE {
                stack.pop();
                new_index[i as usize] = sequence.len() as u32;
                sequence.push(i);
            } else {
                // the child is taken off the list, so that it is entered once
                first_child[i as usize] = next_sibling[child as usize];
                stack.push(child);
            }
        }
    }
    let parents = sequence
        .iter()
        .map(|&i| if parent[i as usize] == NONE { NONE } else { new_index[parent[i as usize] as usize] });
    (sequence.iter().map(|&i| order[i as usize]).collect(), parents.collect())
}

/// Entries of each column of the factor, its diagonal included: every row walks up the tree from its neighbours.
fn column_counts(graph: &Graph, order: &[u32], parents: &[u32]) -> Vec<u32> {
    let n = order.len();
    let mut position = vec![0u32; n];
    for (i, &node) in order.iter().enumerate() {
        position[node as usize] = i as u32;
    }
    let mut counts = vec![1u32; n];
    let mut seen = vec![NONE; n];
    for i in 0..n as u32 {
        seen[i as usize] = i;
        for &node in graph.neighbours(order[i as usize] as usize) {
            let mut k = position[node as usize];
            while k < i && seen[k as usize] != i {
                seen[k as usize] = i;
                counts[k as usize] += 1;
                k = parents[k as usize];
            }
        }
    }
    counts
}
