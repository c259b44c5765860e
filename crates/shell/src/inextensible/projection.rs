//! Fast projection: after a step, threads are put back to their lengths by the shortest way, found in a few linear solves.
//!
//! With x₀ the end of the unconstrained step, repeat until no thread is further from its length than permitted:
//!
//! ```text
//! (∇C M⁻¹ ∇Cᵀ) μ = C(xⱼ),   xⱼ₊₁ = xⱼ − M⁻¹ ∇Cᵀ μ,   ∇C at xⱼ
//! ```
//!
//! Every iteration is one of Newton's for C = 0, each step as short as possible in the norm of mass, so the strain falls
//! quadratically: a hundred times less of it costs one iteration more. Pulls run along threads in equal and opposite
//! pairs, so no momentum is made. inextensible §4.3, eq. 5 to 7.
//!
//! Differs: with [`Impulse::FirstOrder`], at least one iteration is made however small the strain, so that threads do not sag
//! within the tolerance and jerk at its end. [`Impulse::SecondOrder`] goes beyond the paper's first-order velocities, and brings
//! threads not to their lengths but to half the tolerance: a row that is taut between two held points can reach its
//! length only by being straight, where no finite pull could hold it.

use dynamics::{Body, Filter, GuideSample, State};
use geometry::Vec3;

use super::system::ThreadSystem;
use super::{ThreadStrain, Threads};

/// Iterations before a step is given up as too long. From any state that a step can sensibly reach, five are many.
const MOST_ITERATIONS: usize = 25;

/// How far, relative to their size, pulls along the old threads may differ from those along the new ones in the second-order
/// rule. A taut thread carries tension without bound, which a slight turn would make a blow.
const MOST_TURN: f64 = 0.5;

/// What the correction of positions, δx, does to velocities over a step of h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Impulse {
    /// v += δx/h, inextensible's rule: for first-order integrators, whose steps move points by h times the new
    /// velocity. Swinging threads lose energy with every step, the more the longer it is.
    FirstOrder,
    /// As RATTLE does: half of the pulls act along the threads as they were, half along the threads as they are, and the
    /// part of v that would still stretch threads is taken away. For second-order integrators, whose steps move points by h
    /// times the mean of both velocities. One more solve, and swings keep their energy to second order.
    #[default]
    SecondOrder,
}

/// What a projection did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProjectionReport {
    /// Steps projected.
    pub steps: usize,
    /// Steps refused because the iteration did not converge.
    pub refused: usize,
    /// Linear systems solved.
    pub solves: usize,
    /// Largest strain that was left, stretch or compression.
    pub strain: f64,
    /// Largest strain before.
    pub strain_before: f64,
}

/// Fast projection as a filter.
///
/// ```
/// use dynamics::{Body, Settings, State, Stepper, StaticGuide};
/// use geometry::Vec3;
/// use shell::{FastProjection, Impulse, Threads};
///
/// // a metre of thread in ten pieces, held at one end, let go from the horizontal
/// let rest: Vec<Vec3> = (0..=10).map(|i| 0.1 * f64::from(i) * Vec3::X).collect();
/// let threads = Threads::new(&rest, (0..10).map(|i| [i, i + 1]).collect())?;
/// let known: Vec<bool> = (0..=10).map(|i| i == 0).collect();
/// let body = Body::builder(vec![0.01; 11]).known(known).gravity(-9.81 * Vec3::Y).build()?;
/// let mut projection = FastProjection::new(&body, &threads, 1e-4, Impulse::SecondOrder)?;
/// let mut state = State::at_rest(rest.clone());
/// let mut stepper = Stepper::new(&body, &rest, Settings::default())?;
/// for _ in 0..12 {
///     stepper.advance(&body, &mut state, &StaticGuide::new(rest.clone()), 1.0 / 24.0, &mut [&mut projection])?;
///     assert!(threads.strain(&state.positions).largest() < 1e-4);
/// }
/// assert!(state.positions[10].y < -0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FastProjection {
    threads: Threads,
    tolerance: f64,
    impulse: Impulse,
    system: ThreadSystem,
    report: ProjectionReport,
    c: Vec<f64>,
    mu: Vec<f64>,
    /// Σ μ over the iterations of a projection.
    total: Vec<f64>,
}

impl FastProjection {
    /// Symbolic work for the threads of a body. `tolerance` is the permitted strain.
    pub fn new(
        body: &Body,
        threads: &Threads,
        tolerance: f64,
        impulse: Impulse,
    ) -> Result<Self, dynamics::Error> {
        Self::with_system(body, threads, tolerance, impulse, ThreadSystem::new)
    }

    /// The same on the sparse solver, also where the system is a narrow band: to be measured beside what has no other.
    pub fn sparse(
        body: &Body,
        threads: &Threads,
        tolerance: f64,
        impulse: Impulse,
    ) -> Result<Self, dynamics::Error> {
        Self::with_system(body, threads, tolerance, impulse, ThreadSystem::sparse)
    }

    fn with_system(
        body: &Body,
        threads: &Threads,
        tolerance: f64,
        impulse: Impulse,
        system: impl FnOnce(&Threads, &[f64], &[bool]) -> Result<ThreadSystem, linear::Error>,
    ) -> Result<Self, dynamics::Error> {
        let count = threads.point_count();
        if body.point_count() != count {
            let (expected, got) = (body.point_count(), count);
            return Err(dynamics::Error::Sizes { what: "points of the threads", expected, got });
        }
        let threads = threads.free(body.known());
        let system = system(&threads, body.masses(), body.known())?;
        let report = ProjectionReport::default();
        let total = vec![0.0; threads.len()];
        Ok(Self { threads, tolerance, impulse, system, report, c: Vec::new(), mu: Vec::new(), total })
    }

    /// What was done since the last call.
    pub fn take_report(&mut self) -> ProjectionReport {
        std::mem::take(&mut self.report)
    }

    /// The linear solver's choice and size.
    pub fn solver_info(&self) -> linear::Info {
        self.system.info()
    }

    /// Projects positions; what remains of the strain, or `None` when the iteration does not converge.
    pub fn project(&mut self, x: &mut [Vec3]) -> Option<ThreadStrain> {
        self.system.reset();
        self.total.fill(0.0);
        let (band, least) = match self.impulse {
            Impulse::FirstOrder => (0.0, 1),
            Impulse::SecondOrder => (0.5 * self.tolerance, 0),
        };
        let mut strain = self.threads.strain(x);
        self.report.strain_before = self.report.strain_before.max(strain.largest());
        for iteration in 0..MOST_ITERATIONS {
            if !strain.largest().is_finite() {
                return None;
            }
            if iteration >= least && strain.largest() <= self.tolerance {
                return Some(strain);
            }
            self.violations(x, band);
            if iteration == 0 {
                if !self.system.factorize(&self.threads, x) {
                    return None;
                }
            } else {
                self.system.assemble(&self.threads, x);
            }
            if !self.system.solve(&self.c, &mut self.mu) {
                return None;
            }
            self.report.solves += 1;
            self.advance(x);
            strain = self.threads.strain(x);
        }
        None
    }

    /// c of every piece; none for what is within the band, which keeps the length it has.
    fn violations(&mut self, x: &[Vec3], band: f64) {
        self.threads.violations(x, &mut self.c);
        for (c, length) in self.c.iter_mut().zip(self.threads.lengths()) {
            *c -= c.clamp(-band * length, band * length);
        }
    }

    /// Takes the step that μ says.
    fn advance(&mut self, x: &mut [Vec3]) {
        let directions = x.to_vec();
        self.system.add_correction(&self.threads, &directions, &self.mu, -1.0, x);
        self.total.iter_mut().zip(&self.mu).for_each(|(total, mu)| *total += mu);
    }

    /// Takes away the part of the velocities that would change the threads' lengths at `x`.
    fn project_velocities(&mut self, x: &[Vec3], v: &mut [Vec3]) -> bool {
        self.c.clear();
        for piece in 0..self.threads.len() {
            let rate = self.threads.line(piece, v).dot(self.threads.line(piece, x));
            self.c.push(rate / self.threads.lengths()[piece]);
        }
        if self.total.iter().any(|mu| *mu != 0.0) {
            self.system.assemble(&self.threads, x);
        } else if !self.system.factorize(&self.threads, x) {
            return false;
        }
        self.report.solves += 1;
        let solved = self.system.solve(&self.c, &mut self.mu);
        self.system.add_correction(&self.threads, x, &self.mu, -1.0, v);
        solved
    }
}

impl Filter for FastProjection {
    fn apply(
        &mut self,
        body: &Body,
        _: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        if self.threads.is_empty() {
            return true;
        }
        let unconstrained = after.positions.clone();
        let Some(strain) = self.project(&mut after.positions) else {
            self.report.refused += 1;
            return false;
        };
        let State { positions, velocities, .. } = after;
        match self.impulse {
            Impulse::FirstOrder => {
                for ((v, x), x0) in velocities.iter_mut().zip(&*positions).zip(&unconstrained) {
                    *v += (*x - *x0) / seconds;
                }
            }
            Impulse::SecondOrder => {
                // The half along the new directions needs no number: the projection of v removes whatever lies along them.
                let mut pulls = vec![Vec3::ZERO; positions.len()];
                self.system.add_correction(&self.threads, &before.positions, &self.total, -1.0, &mut pulls);
                let square = |d: &dyn Fn(usize) -> Vec3| -> f64 {
                    body.masses().iter().enumerate().map(|(i, m)| m * d(i).length_squared()).sum()
                };
                let moved = |i: usize| positions[i] - unconstrained[i];
                // nothing moved gives no number, and then the share does not matter
                let turned = (square(&|i| pulls[i] - moved(i)) / square(&moved)).sqrt();
                let share = if turned > MOST_TURN { MOST_TURN / turned } else { 1.0 };
                for (i, v) in velocities.iter_mut().enumerate() {
                    *v += (moved(i) + share * (pulls[i] - moved(i))) / seconds;
                }
                if !self.project_velocities(positions, velocities) {
                    self.report.refused += 1;
                    return false;
                }
            }
        }
        self.report.steps += 1;
        self.report.strain = self.report.strain.max(strain.largest());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::overstretched;
    use super::super::testing::{body, chain, grid_threads, noise};
    use super::*;
    use dynamics::{Integrator, Settings, StaticGuide, Stepper, Substeps};

    fn settings(integrator: Integrator, substeps: usize) -> Settings {
        Settings { integrator, substeps: Substeps::Fixed(substeps), ..Settings::default() }
    }

    fn momenta(masses: &[f64], x: &[Vec3], v: &[Vec3]) -> (Vec3, Vec3) {
        let each = || masses.iter().zip(x).zip(v).map(|((m, x), v)| (*m * *v, x.cross(*m * *v)));
        (each().map(|p| p.0).sum(), each().map(|p| p.1).sum())
    }

    #[test]
    fn strain_falls_quadratically() {
        let (rest, threads) = grid_threads(12, 9);
        let body = body(rest.len(), &[40]).build().unwrap();
        let stretched: Vec<Vec3> = rest
            .iter()
            .enumerate()
            .map(|(i, p)| if body.known()[i] { *p } else { *p + 0.01 * noise(i) })
            .collect();
        // strain after one, two, three iterations: tolerances between them stop the iteration there
        let mut strains = Vec::new();
        for tolerance in [0.2, 1e-2, 1e-4, 1e-8] {
            let mut projection =
                FastProjection::new(&body, &threads, tolerance, Impulse::FirstOrder).unwrap();
            let strain = projection.project(&mut stretched.clone()).unwrap().largest();
            assert!(strain <= tolerance);
            strains.push((projection.take_report().solves, strain));
        }
        assert_eq!(strains[0].0, 1);
        assert!(strains[3].0 <= strains[0].0 + 4, "{strains:?}");
        // from 1e-4 to 1e-8 in one step
        assert!(strains[3].0 <= strains[2].0 + 1, "{strains:?}");
    }

    #[test]
    fn a_projection_makes_no_momentum() {
        let (rest, threads) = grid_threads(8, 6);
        let body = body(rest.len(), &[]).build().unwrap();
        let before: Vec<Vec3> = rest.iter().enumerate().map(|(i, p)| *p + 0.004 * noise(i)).collect();
        let mut after = before.clone();
        let mut projection = FastProjection::new(&body, &threads, 0.02, Impulse::FirstOrder).unwrap();
        projection.project(&mut after).unwrap();
        assert_eq!(projection.take_report().solves, 1);
        let moved: Vec<Vec3> = after.iter().zip(&before).map(|(a, b)| *a - *b).collect();
        let (linear, angular) = momenta(body.masses(), &before, &moved);
        let size: f64 = moved.iter().zip(body.masses()).map(|(d, m)| m * d.length()).sum();
        assert!(size > 1e-5 && linear.length() < 1e-12 * size && angular.length() < 1e-12 * size);
    }

    #[test]
    fn a_thrown_net_keeps_its_momentum() {
        // free flight without gravity, spinning: linear momentum to round-off, angular to second order in the step
        let (rest, threads) = grid_threads(6, 6);
        let body = Body::builder(vec![0.002; rest.len()]).build().unwrap();
        let guide = StaticGuide::new(rest.clone());
        let turn = |x: &Vec3| 3.0 * Vec3::Y.cross(*x) + Vec3::new(0.5, 1.0, 0.0);
        let lost = |substeps: usize| {
            let mut state = State::at_rest(rest.clone());
            state.velocities = rest.iter().map(turn).collect();
            let before = momenta(body.masses(), &state.positions, &state.velocities);
            let mut projection = FastProjection::new(&body, &threads, 1e-6, Impulse::SecondOrder).unwrap();
            let mut stepper = Stepper::new(&body, &rest, settings(Integrator::TrBdf2, substeps)).unwrap();
            stepper.advance(&body, &mut state, &guide, 0.25, &mut [&mut projection]).unwrap();
            let after = momenta(body.masses(), &state.positions, &state.velocities);
            assert!((after.0 - before.0).length() < 1e-12 * before.0.length());
            // about the origin; the centre moves along its own momentum, so nothing else changes
            (after.1 - before.1).length() / before.1.length()
        };
        let (coarse, fine) = (lost(8), lost(16));
        assert!(coarse < 0.02, "{coarse}");
        assert!(coarse / fine > 3.0, "{coarse} {fine}");
    }

    /// A pendulum of one metre from 1 rad: its tip after 0.7 s against a fine solution of θ'' = −g sin θ.
    fn pendulum_error(impulse: Impulse, integrator: Integrator, substeps: usize) -> f64 {
        let start = Vec3::new(1.0_f64.sin(), -1.0_f64.cos(), 0.0);
        let rest = vec![Vec3::ZERO, start];
        let threads = Threads::new(&rest, vec![[0, 1]]).unwrap();
        let body = body(2, &[0]).build().unwrap();
        let mut projection = FastProjection::new(&body, &threads, 1e-9, impulse).unwrap();
        let mut stepper = Stepper::new(&body, &rest, settings(integrator, substeps)).unwrap();
        let mut state = State::at_rest(rest.clone());
        stepper.advance(&body, &mut state, &StaticGuide::new(rest), 0.7, &mut [&mut projection]).unwrap();
        let (mut angle, mut rate, h) = (1.0_f64, 0.0, 1e-5);
        for _ in 0..70_000 {
            rate -= 0.5 * h * 9.81 * angle.sin();
            angle += h * rate;
            rate -= 0.5 * h * 9.81 * angle.sin();
        }
        state.positions[1].distance(Vec3::new(angle.sin(), -angle.cos(), 0.0))
    }

    #[test]
    fn swings_converge_at_the_order_they_say() {
        let ratio = |impulse, integrator| {
            pendulum_error(impulse, integrator, 32) / pendulum_error(impulse, integrator, 64)
        };
        let first = ratio(Impulse::FirstOrder, Integrator::BackwardEuler);
        let second = ratio(Impulse::SecondOrder, Integrator::TrBdf2);
        assert!((1.7..2.4).contains(&first), "{first}");
        assert!((3.3..4.8).contains(&second), "{second}");
    }

    #[test]
    fn a_row_too_short_for_its_pins_is_refused_and_named() {
        let (rest, threads) = chain(6, 0.6);
        let body = body(7, &[0, 6]).build().unwrap();
        let mut state = State::at_rest(rest.clone());
        let mut apart = rest.clone();
        apart[6].x = 0.7;
        let mut projection = FastProjection::new(&body, &threads, 1e-2, Impulse::SecondOrder).unwrap();
        let mut stepper = Stepper::new(&body, &rest, Settings::default()).unwrap();
        let refused = stepper.advance(
            &body,
            &mut state,
            &StaticGuide::new(apart.clone()),
            1.0 / 24.0,
            &mut [&mut projection],
        );
        assert!(matches!(refused, Err(dynamics::Error::Refused { .. })));
        assert!(projection.take_report().refused > 0);
        let found = overstretched(&threads, body.known(), &apart).unwrap();
        assert_eq!(found.points, [0, 6]);
        assert!((found.distance - 0.7).abs() < 1e-12 && (found.thread_length - 0.6).abs() < 1e-12);
    }

    #[test]
    fn more_threads_than_freedoms_share_the_load() {
        // the middle of a cross between four held points has four threads and three freedoms
        let rest: Vec<Vec3> = [Vec3::X, -Vec3::X, Vec3::Z, -Vec3::Z, Vec3::ZERO].map(|p| 0.2 * p).to_vec();
        let threads = Threads::new(&rest, (0..4).map(|i| [i, 4]).collect()).unwrap();
        let body = body(5, &[0, 1, 2, 3]).build().unwrap();
        let mut x = rest.clone();
        x[4] += Vec3::new(0.003, 0.004, -0.002);
        let mut projection = FastProjection::new(&body, &threads, 1e-3, Impulse::FirstOrder).unwrap();
        assert!(projection.project(&mut x).is_some());
        assert!(x[4].length() < 0.01);
    }

    #[test]
    fn a_taut_row_between_two_pins_keeps_its_length() {
        // the row between the held corners has not a hair to spare: its constraints depend on each other at rest
        let (rest, threads) = grid_threads(16, 16);
        let springs = dynamics::Elements::new(threads.springs(100.0)).damped(1e-3);
        let body = body(rest.len(), &[0, 16]).energy(springs).build().unwrap();
        for tolerance in [2e-2, 1e-2] {
            let mut projection =
                FastProjection::new(&body, &threads, tolerance, Impulse::SecondOrder).unwrap();
            let mut state = State::at_rest(rest.clone());
            let mut stepper = Stepper::new(&body, &rest, settings(Integrator::TrBdf2, 4)).unwrap();
            let guide = StaticGuide::new(rest.clone());
            for _ in 0..12 {
                stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [&mut projection]).unwrap();
                assert!(threads.strain(&state.positions).largest() <= tolerance);
            }
            let report = projection.take_report();
            assert!(report.solves < 15 * report.steps, "{report:?}");
        }
    }

    #[test]
    fn no_threads_and_no_freedom_change_nothing() {
        let (rest, threads) = chain(3, 0.3);
        let body = body(4, &[0, 1, 2, 3]).build().unwrap();
        let mut projection = FastProjection::new(&body, &threads, 1e-2, Impulse::SecondOrder).unwrap();
        let mut state = State::at_rest(rest.clone());
        let guide = StaticGuide::new(rest.clone());
        let mut stepper = Stepper::new(&body, &rest, Settings::default()).unwrap();
        stepper.advance(&body, &mut state, &guide, 0.1, &mut [&mut projection]).unwrap();
        assert_eq!(state.positions, rest);
        let other = Threads::new(&rest[..2], vec![[0, 1]]).unwrap();
        let refused = FastProjection::new(&body, &other, 1e-2, Impulse::SecondOrder);
        assert!(matches!(refused, Err(dynamics::Error::Sizes { .. })));
    }
}
