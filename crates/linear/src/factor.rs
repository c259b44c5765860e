//! A factorisation of the whole saddle-point matrix, made ready for one pattern and refilled as matrices come.

pub(crate) mod dense;
mod elimination;
mod numeric;
mod scalar;
pub(crate) mod symbolic;
mod triangular;

use geometry::{Mat3, Vec3};

use crate::ordering;
use crate::ordering::Graph;
use numeric::Factor;
use scalar::Scalar;

use crate::{ConstraintRows, Error, Matrix, Pattern};

pub(crate) use symbolic::Symbolic;

/// An order whose factorisation takes this many times the usual operations is no longer a good one.
const WORN_ORDER: f64 = 1.5;

/// Plan and storage of a factorisation.
pub(crate) struct Direct {
    plan: Symbolic,
    /// How rows took part in finding the order of elimination.
    rows: ordering::RowOrdering,
    stored: Option<Stored>,
    /// Point of each unknown node.
    unknown: Vec<u32>,
    /// Right-hand side and solution by nodes.
    nodes: Vec<Vec3>,
}

/// Where an order of elimination comes from.
enum Order<'a> {
    /// Points as they are numbered, alone (no block couples them), then rows.
    Natural,
    /// The best that can be found.
    Thorough,
    /// One that is found quickly.
    Quick(ordering::RowOrdering),
    /// One from before.
    Kept(&'a [u32], ordering::RowOrdering),
}

/// A factor in one precision or the other.
enum Stored {
    Single(Factor<f32>),
    Double(Factor<f64>),
}

/// Precision of a factor. Solutions have that of what they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

impl Direct {
    /// Plans for the whole matrix, or, if not `whole`, for its diagonal blocks with the rows.
    pub(crate) fn new(pattern: &Pattern, known: &[bool], rows: &ConstraintRows, whole: bool) -> Self {
        let from = if whole { Order::Thorough } else { Order::Natural };
        Self::with_order(pattern, known, rows, from)
    }

    /// Plans for a pattern with more blocks than this one's, over the same points, known values and rows.
    ///
    /// The order of elimination stays: finding one is most of the work, and a few couplings more do not make it a bad one.
    /// Where they do (layers that only contact holds together), a new order is looked for, quickly, as it will not serve
    /// for long, and the better one taken.
    pub(crate) fn extended(
        &self,
        pattern: &Pattern,
        known: &[bool],
        rows: &ConstraintRows,
        usual_flops: f64,
    ) -> Self {
        let kept = Self::with_order(pattern, known, rows, Order::Kept(&self.plan.order, self.rows));
        if kept.plan.flops <= WORN_ORDER * usual_flops {
            return kept;
        }
        let fresh = Self::with_order(pattern, known, rows, Order::Quick(self.rows));
        if fresh.plan.flops < kept.plan.flops { fresh } else { kept }
    }

    fn with_order(pattern: &Pattern, known: &[bool], rows: &ConstraintRows, order: Order<'_>) -> Self {
        let whole = !matches!(order, Order::Natural);
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
        let found = |way: ordering::RowOrdering, tries: u32| {
            let squares: Vec<Vec<(u32, f64)>> = (0..rows.len())
                .map(|r| rows.row(r).map(|(i, w)| (place[i as usize], w * w)))
                .map(|row| row.filter(|&(k, _)| k != u32::MAX).collect())
                .collect();
            (plan_for(&ordering::order(&points, &squares, way, tries)), way)
        };
        let (plan, rows) = match order {
            Order::Natural => {
                (plan_for(&(0..graph.count() as u32).collect::<Vec<_>>()), ordering::RowOrdering::Excluded)
            }
            Order::Kept(order, way) => (plan_for(order), way),
            Order::Quick(way) => found(way, ordering::QUICK_TRIES),
            Order::Thorough => {
                let aside = found(ordering::RowOrdering::Excluded, ordering::THOROUGH_TRIES);
                let among = (!rows.is_empty())
                    .then(|| found(ordering::RowOrdering::Included, ordering::THOROUGH_TRIES));
                among.filter(|among| among.0.flops < aside.0.flops).unwrap_or(aside)
            }
        };
        let nodes = vec![Vec3::ZERO; graph.count()];
        Self { plan, rows, stored: None, unknown, nodes }
    }

    pub(crate) fn symbolic(&self) -> &Symbolic {
        &self.plan
    }

    /// Precision of the last factor; single before there is one.
    pub(crate) fn precision(&self) -> Precision {
        match self.stored {
            Some(Stored::Double(_)) => Precision::Double,
            _ => Precision::Single,
        }
    }

    /// Bytes of the factor and its workspace.
    pub(crate) fn bytes(&self) -> usize {
        match self.precision() {
            Precision::Single => Factor::<f32>::bytes(&self.plan),
            Precision::Double => Factor::<f64>::bytes(&self.plan),
        }
    }

    /// Factorises. Storage is allocated when first needed.
    pub(crate) fn factorize(
        &mut self,
        matrix: &Matrix,
        rows: &ConstraintRows,
        precision: Precision,
    ) -> Result<(), Error> {
        let Self { plan, stored, unknown, .. } = self;
        match (precision, &mut *stored) {
            (Precision::Single, Some(Stored::Single(_))) | (Precision::Double, Some(Stored::Double(_))) => {}
            (Precision::Single, _) => {
                *stored = None;
                *stored = Some(Stored::Single(Factor::new(plan).ok_or_else(|| no_memory::<f32>(plan))?));
            }
            (Precision::Double, _) => {
                *stored = None;
                *stored = Some(Stored::Double(Factor::new(plan).ok_or_else(|| no_memory::<f64>(plan))?));
            }
        }
        match stored {
            Some(Stored::Single(factor)) => factorize(factor, plan, unknown, matrix, rows),
            Some(Stored::Double(factor)) => factorize(factor, plan, unknown, matrix, rows),
            None => Ok(()),
        }
    }

    /// Replaces a vector (one entry per point, then per row) by the factor's solution, zero at known points.
    pub(crate) fn solve(&mut self, x: &mut [Vec3]) {
        let count = x.len() + self.unknown.len() - self.nodes.len();
        let (points, rows) = self.nodes.split_at_mut(self.unknown.len());
        for (node, &i) in points.iter_mut().zip(&self.unknown) {
            *node = x[i as usize];
        }
        rows.copy_from_slice(&x[count..]);
        match &mut self.stored {
            Some(Stored::Single(factor)) => factor.solve(&self.plan, &mut self.nodes),
            Some(Stored::Double(factor)) => factor.solve(&self.plan, &mut self.nodes),
            None => {}
        }
        x[..count].fill(Vec3::ZERO);
        let (points, rows) = self.nodes.split_at(self.unknown.len());
        for (&node, &i) in points.iter().zip(&self.unknown) {
            x[i as usize] = node;
        }
        x[count..].copy_from_slice(rows);
    }
}

/// Fills a factor, and looks at its pivots.
fn factorize<T: Scalar>(
    factor: &mut Factor<T>,
    plan: &Symbolic,
    unknown: &[u32],
    matrix: &Matrix,
    rows: &ConstraintRows,
) -> Result<(), Error> {
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
    let error = |node: u32| match unknown.get(node as usize) {
        Some(&point) => Error::NotPositiveDefinite { point: point as usize },
        None => Error::SingularRow { row: node as usize - unknown.len() },
    };
    factor.factorize(plan, block).map_err(error)?;
    for (node, pivot) in factor.pivots(plan) {
        let smallest = match unknown.get(node as usize) {
            Some(&point) => T::SMALLEST_PIVOT * largest(matrix.diagonal(point as usize)),
            None => {
                let row = node as usize - unknown.len();
                let alone = |(i, w): (u32, f64)| w * w / largest(matrix.diagonal(i as usize));
                let hard: f64 = rows.row(row).map(alone).filter(|v| v.is_finite()).sum();
                T::SMALLEST_ROW_PIVOT * (hard + rows.compliance()[row])
            }
        };
        if pivot * pivot <= smallest || pivot.is_nan() {
            return Err(error(node));
        }
    }
    Ok(())
}

fn no_memory<T: Scalar>(plan: &Symbolic) -> Error {
    Error::OutOfMemory { bytes: Factor::<T>::bytes(plan) }
}

/// Largest diagonal entry of a block.
fn largest(block: Mat3) -> f64 {
    block.x_axis.x.max(block.y_axis.y).max(block.z_axis.z)
}
