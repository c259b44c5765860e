//! A factorisation of the whole saddle-point matrix, made ready for one pattern and refilled as matrices come.

use geometry::{Mat3, Vec3};

use crate::factor::Factor;
use crate::graph::Graph;
use crate::ordering;
use crate::symbolic::Symbolic;
use crate::{Error, Matrix, Pattern, Rows};

/// A point's pivot below this share of its diagonal is zero up to round-off.
const SMALLEST_PIVOT: f64 = 1e-14;
/// The same for a row's, against a lower bound of what it would be alone.
const SMALLEST_ROW_PIVOT: f64 = 1e-12;

/// An order whose factorisation takes this many times the usual operations is no longer a good one.
const WORN_ORDER: f64 = 1.5;

/// Plan and storage of a factorisation.
pub(crate) struct Direct {
    plan: Symbolic,
    factor: Option<Factor>,
    /// Point of each unknown node.
    unknown: Vec<u32>,
    /// Right-hand side and solution by nodes.
    nodes: Vec<Vec3>,
}

impl Direct {
    /// Plans for the whole matrix, or, if not `whole`, for its diagonal blocks with the rows.
    pub(crate) fn new(pattern: &Pattern, known: &[bool], rows: &Rows, whole: bool) -> Self {
        Self::with_order(pattern, known, rows, whole, None)
    }

    /// Plans for a pattern with more blocks than this one's, over the same points, known values and rows.
    ///
    /// The order of elimination stays: finding one is most of the work, and a few couplings more do not make it a bad one.
    /// Where they do (layers that only contact holds together), a new order is looked for and the better one taken.
    pub(crate) fn extended(&self, pattern: &Pattern, known: &[bool], rows: &Rows, usual_flops: f64) -> Self {
        let kept = Self::with_order(pattern, known, rows, true, Some(&self.plan.order));
        if kept.plan.flops <= WORN_ORDER * usual_flops {
            return kept;
        }
        let fresh = Self::new(pattern, known, rows, true);
        if fresh.plan.flops < kept.plan.flops { fresh } else { kept }
    }

    fn with_order(
        pattern: &Pattern,
        known: &[bool],
        rows: &Rows,
        whole: bool,
        order: Option<&[u32]>,
    ) -> Self {
        let count = pattern.count();
        let unknown: Vec<u32> = (0..count as u32).filter(|&i| !known[i as usize]).collect();
        let mut place = vec![u32::MAX; count];
        for (k, &i) in unknown.iter().enumerate() {
            place[i as usize] = k as u32;
        }
        let points = if whole {
            Graph::of_points(pattern, &unknown, &place)
        } else {
            Graph::without_edges(unknown.len())
        };
        let supports: Vec<Vec<u32>> = (0..rows.len())
            .map(|r| rows.row(r).map(|(i, _)| place[i as usize]).filter(|&k| k != u32::MAX).collect())
            .collect();

        // sources: first the matrix's slots, then the rows' weights, then their compliances
        let mut blocks = Vec::new();
        for (k, &i) in unknown.iter().enumerate() {
            for (slot, row) in pattern.column(i as usize) {
                let row = place[row as usize];
                if row != u32::MAX && (whole || row == k as u32) {
                    blocks.push((row, k as u32, slot as u32));
                }
            }
        }
        let mut source = pattern.block_count() as u32;
        for r in 0..rows.len() {
            let node = (unknown.len() + r) as u32;
            for (i, _) in rows.row(r) {
                if place[i as usize] != u32::MAX {
                    blocks.push((node, place[i as usize], source));
                }
                source += 1;
            }
        }
        for r in 0..rows.len() {
            let node = (unknown.len() + r) as u32;
            blocks.push((node, node, source + r as u32));
        }
        let graph = points.with_rows(&supports);
        let plan_for = |order: &[u32]| Symbolic::new(&graph, unknown.len(), order, &blocks);
        let plan = match order {
            Some(order) => plan_for(order),
            None if whole => {
                let squares: Vec<Vec<(u32, f64)>> = (0..rows.len())
                    .map(|r| rows.row(r).map(|(i, w)| (place[i as usize], w * w)))
                    .map(|row| row.filter(|&(k, _)| k != u32::MAX).collect())
                    .collect();
                let plan = plan_for(&ordering::order(&points, &squares, ordering::Rows::Aside));
                if rows.is_empty() {
                    plan
                } else {
                    let other = plan_for(&ordering::order(&points, &squares, ordering::Rows::Among));
                    if other.flops < plan.flops { other } else { plan }
                }
            }
            None => plan_for(&(0..(unknown.len() + rows.len()) as u32).collect::<Vec<_>>()),
        };
        let nodes = vec![Vec3::ZERO; unknown.len() + rows.len()];
        Self { plan, factor: None, unknown, nodes }
    }

    pub(crate) fn plan(&self) -> &Symbolic {
        &self.plan
    }

    /// Bytes of the factor and its workspace.
    pub(crate) fn bytes(&self) -> usize {
        Factor::bytes(&self.plan)
    }

    /// Factorises. Storage is allocated the first time.
    pub(crate) fn factorize(&mut self, matrix: &Matrix, rows: &Rows) -> Result<(), Error> {
        if self.factor.is_none() {
            self.factor = Factor::new(&self.plan);
        }
        let Some(factor) = &mut self.factor else {
            return Err(Error::OutOfMemory { bytes: Factor::bytes(&self.plan) });
        };
        let (values, weights) = (matrix.values(), rows.weights());
        let block = |source: u32| {
            let source = source as usize;
            if let Some(block) = values.get(source) {
                *block
            } else if let Some(&weight) = weights.get(source - values.len()) {
                Mat3::from_diagonal(Vec3::splat(weight))
            } else {
                let compliance = rows.compliance()[source - values.len() - weights.len()];
                Mat3::from_diagonal(Vec3::splat(-compliance))
            }
        };
        let unknown = &self.unknown;
        let error = |node: u32| match unknown.get(node as usize) {
            Some(&point) => Error::NotPositiveDefinite { point: point as usize },
            None => Error::SingularRow { row: node as usize - unknown.len() },
        };
        factor.factorize(&self.plan, block).map_err(error)?;
        for (node, pivot) in factor.pivots(&self.plan) {
            let smallest = match unknown.get(node as usize) {
                Some(&point) => SMALLEST_PIVOT * largest(matrix.diagonal(point as usize)),
                None => {
                    let row = node as usize - unknown.len();
                    let alone = |(i, w): (u32, f64)| w * w / largest(matrix.diagonal(i as usize));
                    let hard: f64 = rows.row(row).map(alone).filter(|v| v.is_finite()).sum();
                    SMALLEST_ROW_PIVOT * (hard + rows.compliance()[row])
                }
            };
            if pivot * pivot <= smallest || pivot.is_nan() {
                return Err(error(node));
            }
        }
        Ok(())
    }

    /// Replaces a vector (one entry per point, then per row) by the factor's solution, zero at known points.
    pub(crate) fn solve(&mut self, x: &mut [Vec3]) {
        let Some(factor) = &mut self.factor else { return };
        let count = x.len() + self.unknown.len() - self.nodes.len();
        let (points, rows) = self.nodes.split_at_mut(self.unknown.len());
        for (node, &i) in points.iter_mut().zip(&self.unknown) {
            *node = x[i as usize];
        }
        rows.copy_from_slice(&x[count..]);
        factor.solve(&self.plan, &mut self.nodes);
        x[..count].fill(Vec3::ZERO);
        let (points, rows) = self.nodes.split_at(self.unknown.len());
        for (&node, &i) in points.iter().zip(&self.unknown) {
            x[i as usize] = node;
        }
        x[count..].copy_from_slice(rows);
    }
}

/// Largest diagonal entry of a block.
fn largest(block: Mat3) -> f64 {
    block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z)
}
