//! When a factorisation pays: costs by operation counts, never by clocks, so that every run decides alike.
//!
//! A kept factor is like a machine that wears: its solves take more iterations as the matrix moves away. The cheapest
//! moment to replace it is when the next solve costs more than the average so far, the factorisation included.

use crate::Pattern;
use crate::factor::Symbolic;

/// Dense kernels in single precision do about this many operations in the time of one in a product of doubles that
/// streams from memory.
const DENSE_ADVANTAGE: f64 = 20.0;
/// The same for a triangular solve: half the bytes.
const SINGLE_ADVANTAGE: f64 = 2.0;
/// Share of a factorisation's cost that block-Jacobi iterations may take before a factor is the better choice: a
/// factor serves several solves.
const JACOBI_SHARE: f64 = 0.4;

/// Costs in operations of a streaming product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// One factorisation.
    pub(crate) factorization: f64,
    /// One iteration with the factor: two triangular solves and a product.
    pub(crate) factor_iteration: f64,
    /// One iteration with the diagonal blocks.
    pub(crate) jacobi_iteration: f64,
}

impl Costs {
    pub(crate) fn new(pattern: &Pattern, plan: &Symbolic) -> Self {
        let product = 36.0 * pattern.block_count() as f64 + 60.0 * pattern.count() as f64;
        let triangles = 4.0 * plan.nonzeros as f64 / SINGLE_ADVANTAGE;
        Self {
            factorization: plan.flops / DENSE_ADVANTAGE + triangles,
            factor_iteration: triangles + product,
            jacobi_iteration: product + 30.0 * pattern.count() as f64,
        }
    }

    /// Iterations with a kept factor after which a new one is cheaper.
    pub(crate) fn factor_budget(&self) -> usize {
        ((self.factorization / self.factor_iteration) as usize).max(3)
    }

    /// Block-Jacobi iterations after which a factor is the better choice.
    pub(crate) fn jacobi_budget(&self) -> usize {
        ((JACOBI_SHARE * self.factorization / self.jacobi_iteration) as usize).max(4)
    }
}

/// Share of a factorisation that factorising the diagonal blocks with the rows may take: it is done again for every matrix
/// that is solved by them, and mostly in vain.
const ROWS_SHARE: f64 = 0.005;

/// Whether the diagonal blocks with the rows are much cheaper to factorise than the whole.
pub(crate) fn rows_are_cheap(beside: &Symbolic, whole: &Symbolic) -> bool {
    beside.flops < ROWS_SHARE * whole.flops
}

/// What a kept factor has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FactorCost {
    solves: usize,
    spent: f64,
    last: f64,
}

impl FactorCost {
    /// Counts a solve of so many iterations.
    pub(crate) fn add(&mut self, iterations: usize, costs: &Costs) {
        self.last = iterations as f64 * costs.factor_iteration;
        self.spent += self.last;
        self.solves += 1;
    }

    /// Whether another solve like the last would cost more than the average so far.
    pub(crate) fn is_worth_replacing(&self, costs: &Costs) -> bool {
        self.solves > 0 && self.last > (costs.factorization + self.spent) / self.solves as f64
    }
}

/// Whether a kept factor is worth a try: matrices that change too much for it once will do so again.
///
/// Each failure doubles how many solves factorise at once before the next try; a success forgets them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReuseBackoff {
    failures: u32,
    waiting: u32,
}

impl ReuseBackoff {
    /// The longest wait is 2 to this power: a try now and then costs little.
    const MOST_FAILURES: u32 = 5;

    /// Asks before a solve.
    pub(crate) fn allows(&mut self) -> bool {
        let allowed = self.waiting == 0;
        self.waiting = self.waiting.saturating_sub(1);
        allowed
    }

    /// How the try that was allowed ended.
    pub(crate) fn record(&mut self, worked: bool) {
        self.failures = if worked { 0 } else { (self.failures + 1).min(Self::MOST_FAILURES) };
        self.waiting = if worked { 0 } else { 1 << self.failures };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_replaced_when_the_next_solve_costs_more_than_the_average() {
        let costs = Costs { factorization: 100.0, factor_iteration: 10.0, jacobi_iteration: 1.0 };
        assert_eq!(costs.factor_budget(), 10);
        assert_eq!(costs.jacobi_budget(), 40);
        let mut cost = FactorCost::default();
        assert!(!cost.is_worth_replacing(&costs));
        for iterations in [1, 2, 3, 4] {
            cost.add(iterations, &costs);
            assert!(!cost.is_worth_replacing(&costs), "{cost:?}");
        }
        // average (100 + 100 + 60) / 5 = 52 < 60
        cost.add(6, &costs);
        assert!(cost.is_worth_replacing(&costs));
    }

    #[test]
    fn tries_that_fail_become_rare() {
        let mut backoff = ReuseBackoff::default();
        let tries = (0..20).filter(|_| backoff.allows().then(|| backoff.record(false)).is_some());
        assert_eq!(tries.collect::<Vec<_>>(), vec![0, 3, 8, 17]);
        backoff.record(true);
        assert!(backoff.allows() && backoff.allows());
    }

    #[test]
    fn rows_beside_the_diagonal_are_cheap_if_they_take_far_less_than_the_whole() {
        let plan = |count: usize| {
            let whole: Vec<u32> = (0..count as u32).collect();
            let pattern = Pattern::from_stencils(count, [&whole[..]]);
            crate::factor::Direct::new(
                &pattern,
                &vec![false; count],
                &crate::ConstraintRows::new(count, [vec![(0, 1.0)]]),
                true,
            )
        };
        let (small, large) = (plan(4), plan(60));
        assert!(rows_are_cheap(small.symbolic(), large.symbolic()));
        assert!(!rows_are_cheap(large.symbolic(), small.symbolic()));
        assert!(!rows_are_cheap(large.symbolic(), large.symbolic()));
    }
}
