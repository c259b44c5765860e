//! How Newton's method goes about a stage, as data: where it begins, how far it trusts its steps, and when it stops.

/// Dials of one solve. Two sets of them are in use: [`NewtonSettings::smooth`] and, with constraints, [`NewtonSettings::constrained`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonSettings {
    /// Iterations at most.
    pub(crate) iterations: usize,
    /// More of them while a limit is exceeded.
    pub(crate) extra_iterations: usize,
    /// Stop when points are within this of the answer, in metres.
    pub(crate) tolerance: f64,
    /// Where it begins.
    pub(crate) guess: Guess,
    /// What makes it safe.
    pub(crate) globalization: Globalization,
    /// What a step says about how much is missing.
    pub(crate) convergence: Convergence,
    /// Corrections with the factor of a Newton step before the next one, at most.
    pub(crate) corrections: usize,
    /// Relative tolerance of linear solves.
    pub(crate) linear_tolerance: f64,
}

/// Where Newton's method begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// Where the integrator predicts the end to be; of two predictions, and the start where averages hold the
    /// body, the one with the lowest Φ.
    Prediction,
    /// Where the stage starts, with known points as far along as they may go: the start is admissible, a prediction need not be.
    Start,
}

/// Full steps first: on stiff bodies that turn, a line search would creep along the curved path in tiny steps. Only
/// when steps do not contract is there one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Globalization {
    /// A step that is this many times longer than the one before is not followed by another full one.
    pub(crate) max_growth: f64,
    /// Nor one that is not shorter than this share of the one before the last, from the fourth on: crumpled cloth converges by fits
    /// and starts, so that what counts is the way over two steps.
    pub(crate) contraction: f64,
    /// Where the line search begins.
    pub(crate) search_from: SearchFrom,
    /// A step is halved this often at most. 2⁻¹² of a Newton step is no progress: the caller then shortens the time step instead.
    pub(crate) halvings: usize,
}

/// Where iterations with line search begin, when full steps were no good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchFrom {
    /// The guess, with all iterations to come: full steps may have led anywhere.
    Guess,
    /// The last iterate, which is admissible.
    Here,
}

/// Steps shrink by about the same factor ρ each time, so that what is missing after one of size r is the rest of a geometric
/// series, r ρ/(1 − ρ).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convergence {
    /// ρ while nothing is known of it.
    pub(crate) assumed_ratio: f64,
    /// Iterations after which it is measured,
    pub(crate) measured_after: usize,
    /// and the least and the most that is believed.
    pub(crate) ratio_range: (f64, f64),
    /// Iterations after which a few points that are held back need no further one, where there are no averages: those hold only
    /// after a whole step.
    pub(crate) shortened_after: usize,
    /// Iterations after which obstacles that are still behind are given up for this stage.
    pub(crate) lag_after: usize,
}

impl NewtonSettings {
    /// For stages without constraints.
    pub(crate) fn smooth(iterations: usize, tolerance: f64) -> Self {
        Self {
            iterations,
            extra_iterations: 10,
            tolerance,
            guess: Guess::Prediction,
            globalization: Globalization {
                max_growth: f64::INFINITY,
                contraction: 0.8,
                search_from: SearchFrom::Guess,
                halvings: 12,
            },
            convergence: Convergence {
                assumed_ratio: 0.3,
                measured_after: 1,
                ratio_range: (0.1, 0.9),
                shortened_after: usize::MAX,
                lag_after: usize::MAX,
            },
            corrections: 4,
            // Far from the answer the direction matters more than its digits.
            linear_tolerance: 5e-4,
        }
    }

    /// One full step is all that is wanted: linearly implicit methods.
    pub(crate) fn single_step(self) -> Self {
        // the answer of a linear problem: nothing is missing after it
        let convergence = Convergence { assumed_ratio: 0.0, ..self.convergence };
        Self { iterations: 1, convergence, linear_tolerance: 5e-8, ..self }
    }

    /// The same for a stage with constraints that limit steps.
    ///
    /// Every iterate is admissible: it is reached from the one before on a straight way that has been certified. So stopping
    /// early costs accuracy, not safety, and steps of first order do not deserve the tolerance of smooth motion.
    ///
    /// Newton starts from the start, where the body is in equilibrium, and not from the guess: cut short where it meets something,
    /// that is torn, and what is stiff takes many iterations to forget it (on a draped sheet 9.3 a frame instead of 6.0). Cloth
    /// that is pinched can be thrown far by a step that follows its linear model: no step that grows is followed by another
    /// without a line search. Contact comes and goes: nothing is known of how steps shrink before the third.
    pub(crate) fn constrained(self) -> Self {
        Self {
            iterations: self.iterations.min(8),
            extra_iterations: 16,
            tolerance: 4.0 * self.tolerance,
            guess: Guess::Start,
            globalization: Globalization {
                max_growth: 1.0,
                search_from: SearchFrom::Here,
                halvings: 6,
                ..self.globalization
            },
            convergence: Convergence {
                assumed_ratio: 0.5,
                measured_after: 2,
                ratio_range: (0.3, 0.9),
                shortened_after: 2,
                lag_after: 4,
            },
            // a factor knows nothing of contacts that come
            corrections: 0,
            linear_tolerance: 1e-4,
        }
    }
}
