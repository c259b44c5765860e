//! Stepping a body in time: integrators, substeps by error estimate, filters, and the static solve.

use geometry::{Bounds, Vec3};
use linear::Rows;

use crate::body::StagedBody;
use crate::stage::{Newton, Solved, Stage, Workspace};
use crate::{Body, Error, Guide, Moment, Obstruction, Past, State};

/// How a step is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// TR-BDF2: second order, strongly stable. A trapezoidal stage over γh, then BDF2 over the whole step, with γ = 2 − √2 so
    /// that both have the same implicit time. Vibrations that the step resolves keep their energy; those it does not are
    /// damped. Bank et al. 1985; Hosea & Shampine 1996.
    ///
    /// The acceleration that the trapezoidal rule needs at the start is the one the step before ended with, not a force
    /// evaluated anew: in a stiff membrane the latter would turn the micrometres that Newton's tolerance leaves into
    /// thousands of g, and cloth would gain energy.
    TrBdf2,
    /// First order, strongly damped: what most tools use. Solved to convergence.
    BackwardEuler,
    /// One Newton step of backward Euler, linearised at x + δhv: what the papers use. δ = 0 is the most stable, 1 the least
    /// damped. enrich §5. Differs: the stiffness term left over is (1−δ)h²K v, so that the linearisation is consistent for
    /// every δ.
    LinearlyImplicit {
        /// δ in [0, 1].
        delta: f64,
    },
}

/// How many steps a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substeps {
    /// As many as the error estimate asks for. Methods without an estimate take one, and more where Newton fails.
    Automatic,
    /// So many.
    Fixed(usize),
}

/// Dials of the stepper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How a step is taken.
    pub integrator: Integrator,
    /// How many steps a frame takes.
    pub substeps: Substeps,
    /// Permitted error of a step, as a fraction of the body's size.
    pub tolerance: f64,
    /// Newton iterations at most per stage.
    pub newton_iterations: usize,
    /// Choice of linear solver.
    pub solver: linear::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            integrator: Integrator::TrBdf2,
            substeps: Substeps::Automatic,
            tolerance: 3e-4,
            newton_iterations: 25,
            solver: linear::Settings::default(),
        }
    }
}

/// A pass over positions and velocities after a step: limits, inextensibility, contact.
pub trait Filter {
    /// Corrects `after`, a step of `seconds` from `before`. Known points must stay. False when it cannot: the step is then
    /// thrown away and taken again in shorter ones.
    fn apply(
        &mut self,
        body: &Body,
        moment: &Moment,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool;
}

/// What an advance took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Steps taken.
    pub steps: usize,
    /// Steps tried and thrown away.
    pub rejected: usize,
    /// Newton iterations.
    pub iterations: usize,
    /// Matrices factorised.
    pub factorizations: usize,
    /// Iterations of conjugate gradients.
    pub linear_iterations: usize,
}

/// How [`Stepper::relax`] ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxed {
    /// What it took.
    pub effort: Effort,
    /// Whether points came to rest. Otherwise they are lower than before, but iterations ran out.
    pub converged: bool,
}

/// Moves a body. Owns nothing but scratch: dropping it and making a new one changes no result.
pub struct Stepper {
    settings: Settings,
    work: Workspace,
    size: f64,
    effort: Effort,
    guide_positions: Vec<Vec3>,
    guide_velocities: Vec<Vec3>,
    rows: Rows,
    averages: Vec<Vec3>,
}

/// TR-BDF2's γ.
const GAMMA: f64 = 2.0 - std::f64::consts::SQRT_2;

/// No step is made shorter than this share of a frame for the sake of what is in the way.
const SHORTEST_FOR_OTHERS: f64 = 1.0 / 64.0;

/// A frame cut in more pieces than this is lost.
const SMALLEST_FRACTION: f64 = 1.0 / 4096.0;

impl Stepper {
    /// Symbolic work for a body. `positions` give its size, which tolerances refer to.
    pub fn new(body: &Body, positions: &[Vec3], settings: Settings) -> Result<Self, Error> {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        Ok(Self {
            work: Workspace::new(body, settings.solver.clone())?,
            settings,
            size: Bounds::of(positions.iter().copied()).diagonal().max(f64::MIN_POSITIVE),
            effort: Effort::default(),
            guide_positions: zeros.clone(),
            guide_velocities: zeros,
            rows: body.averages().clone(),
            averages: vec![Vec3::ZERO; body.averages().len()],
        })
    }

    /// The linear solver's choice and size.
    pub fn solver_info(&self) -> linear::Info {
        self.work.solver.info()
    }

    /// Advances the state by `seconds`: one frame.
    pub fn advance(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        seconds: f64,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        self.advance_against(body, state, guide, None, seconds, filters)
    }

    /// [`Stepper::advance`] where there is something that the body may not pass through. A state that crosses nothing leads to
    /// states that cross nothing.
    pub fn advance_against(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        mut obstruction: Option<&mut dyn Obstruction>,
        seconds: f64,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        // Nothing kept from an earlier frame may change this one: a resumed bake gives the same bits.
        self.work.solver.forget();
        self.work.extension.forget();
        self.effort = Effort::default();
        let start = state.time;
        let mut done = 0.0; // fraction of the frame
        let mut fraction = match self.settings.substeps {
            Substeps::Fixed(count) => 1.0 / count.max(1) as f64,
            Substeps::Automatic if state.step > 0.0 => (state.step / seconds).min(1.0),
            Substeps::Automatic => 1.0,
        };
        let mut hurried = false;
        while done < 1.0 {
            // equal pieces of what is left, so that no sliver remains at the end
            let pieces = ((1.0 - done) / fraction - 1e-6).ceil().max(1.0);
            let piece = (1.0 - done) / pieces;
            let end = if pieces > 1.0 { done + piece } else { 1.0 };
            let before = state.clone();
            let attempt = match &mut obstruction {
                Some(obstruction) => {
                    let parts = match self.settings.substeps {
                        Substeps::Automatic => piece / SHORTEST_FOR_OTHERS,
                        Substeps::Fixed(_) => 1.0,
                    };
                    self.step_against(body, state, guide, &mut **obstruction, piece * seconds, parts)?
                }
                None => self.step(body, state, guide, piece * seconds)?,
            };
            let worst = attempt.error / (self.settings.tolerance * self.size);
            let too_inexact = self.settings.substeps == Substeps::Automatic && worst > 1.0;
            let impatient = attempt.shorter < 1.0;
            hurried |= impatient;
            if !attempt.solved.converged || impatient || (too_inexact && piece > SMALLEST_FRACTION) {
                if piece < SMALLEST_FRACTION {
                    let Solved { iterations, residual, .. } = attempt.solved;
                    return Err(Error::Diverged {
                        time: before.time,
                        step: piece * seconds,
                        iterations,
                        residual,
                    });
                }
                *state = before;
                obstruction.iter_mut().for_each(|obstruction| obstruction.rewind());
                self.effort.rejected += 1;
                // Newton's failure says nothing about how much shorter; the error estimate (third order) does.
                let shrink = if impatient {
                    attempt.shorter
                } else if attempt.solved.converged {
                    (0.9 * worst.cbrt().recip()).clamp(0.2, 0.7)
                } else {
                    0.35
                };
                fraction = piece * shrink;
                continue;
            }
            state.time = start + end * seconds;
            let moment =
                Self::moment(&mut self.guide_positions, &mut self.guide_velocities, guide, state.time);
            let found = obstruction.is_some().then(|| state.positions.clone());
            let apply =
                |filter: &mut &mut dyn Filter| filter.apply(body, &moment, &before, state, piece * seconds);
            if !filters.iter_mut().all(apply) {
                if piece < SMALLEST_FRACTION {
                    return Err(Error::Refused { time: before.time, step: piece * seconds });
                }
                *state = before;
                obstruction.iter_mut().for_each(|obstruction| obstruction.rewind());
                self.effort.rejected += 1;
                fraction = piece * 0.35;
                continue;
            }
            if let Some((obstruction, found)) = obstruction.as_mut().zip(found) {
                restrain_filters(&mut **obstruction, &found, state)?;
                obstruction.commit();
            }
            if let Some(point) = state.positions.iter().position(|x| !x.is_finite()) {
                return Err(Error::NotFinite { time: state.time, point });
            }
            self.effort.steps += 1;
            done = end;
            if self.settings.substeps == Substeps::Automatic {
                // what was too fast a moment ago still is
                let most = if hurried { 1.0 } else { 2.0 };
                let grow = (0.9 * worst.max(1e-9).cbrt().recip()).clamp(0.3, most);
                fraction = (piece * grow).min(1.0);
                state.step = fraction * seconds;
            }
        }
        Ok(self.effort)
    }

    /// Moves the state to a resting place under all forces, velocities zero: pseudo-transient continuation, implicit
    /// steps of growing length without memory of velocity.
    pub fn settle(&mut self, body: &Body, state: &mut State, guide: &dyn Guide) -> Result<Effort, Error> {
        self.work.solver.forget();
        self.effort = Effort::default();
        let zeros = vec![Vec3::ZERO; body.point_count()];
        let newton = Newton { iterations: 200, tolerance: 1e-9 * self.size, linear: false };
        // A tenth of a second is a soft start; each round trusts the linearisation ten times more.
        let mut implicit = 0.1;
        for _ in 0..60 {
            let base = state.positions.clone();
            let mut x = base.clone();
            let past = Past { implicit, positions: [(1.0, &base), (0.0, &base)] };
            let solved = self
                .solve(body, guide, state.time, &base, &zeros, implicit, newton, past, &base, None, &mut x)?;
            let moved = root_mean_square(x.iter().zip(&base).map(|(x, b)| *x - *b));
            if !solved.converged && !solved.residual.is_finite() {
                implicit *= 0.1;
                continue;
            }
            state.positions = x;
            if moved < 1e-7 * self.size && implicit > 1e3 {
                state.velocities.fill(Vec3::ZERO);
                state.accelerations.clear();
                return Ok(self.effort);
            }
            implicit = (implicit * 4.0).min(1e5);
        }
        let residual = f64::NAN;
        Err(Error::Diverged {
            time: state.time,
            step: implicit,
            iterations: self.effort.iterations,
            residual,
        })
    }

    /// Goes downhill from where the state is to where all forces balance: Newton's method with line search, no inertia.
    ///
    /// For bodies that something holds and that are nearly there, such as a fit that starts from the frame before; it costs
    /// a few linear solves where [`Stepper::settle`], which starts from anywhere, takes dozens. Points within `tolerance`,
    /// in metres, of the answer are good enough. Velocities become zero.
    pub fn relax(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        tolerance: f64,
    ) -> Result<Relaxed, Error> {
        self.work.solver.forget();
        self.effort = Effort::default();
        let newton = Newton { iterations: self.settings.newton_iterations, tolerance, linear: false };
        let base = state.positions.clone();
        let zeros = vec![Vec3::ZERO; base.len()];
        // so long that inertia only holds what nothing else does
        let implicit = 1e4;
        let mut x = base.clone();
        let past = Past { implicit, positions: [(1.0, &base), (0.0, &base)] };
        let solved =
            self.solve(body, guide, state.time, &base, &zeros, implicit, newton, past, &base, None, &mut x)?;
        if let Some(point) = x.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { time: state.time, point });
        }
        state.positions = x;
        state.velocities.fill(Vec3::ZERO);
        state.accelerations.clear();
        Ok(Relaxed { effort: self.effort, converged: solved.converged })
    }

    fn step(&mut self, body: &Body, state: &mut State, guide: &dyn Guide, h: f64) -> Result<Attempt, Error> {
        match self.settings.integrator {
            Integrator::TrBdf2 => self.step_tr_bdf2(body, state, guide, h),
            Integrator::BackwardEuler => self.step_euler(body, state, guide, h, 1.0, false),
            Integrator::LinearlyImplicit { delta } => self.step_euler(body, state, guide, h, delta, true),
        }
    }

    /// A step beside something that may not be crossed.
    ///
    /// Where nothing is near, the usual one. Otherwise backward Euler, twice over half the step where the usual method has two
    /// stages: the push of contact is an impulse, and a method that takes the force at one end of a stage for the force
    /// throughout makes cloth bounce with more than it came with. Backward Euler stops it dead, as cloth does.
    ///
    /// `parts`: into how many the step may be divided where what is in the way is too fast for it.
    fn step_against(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        obstruction: &mut dyn Obstruction,
        h: f64,
        parts: f64,
    ) -> Result<Attempt, Error> {
        let before = state.clone();
        let end = state.time + h;
        guide.sample(end, &mut self.guide_positions, &mut self.guide_velocities);
        let free = |i: usize| {
            // two halves with the acceleration of the last step go 3/4 h² a
            let a = before.accelerations.get(i).copied().unwrap_or(Vec3::ZERO);
            before.positions[i] + h * (before.velocities[i] + 0.75 * h * a)
        };
        let place = |i: usize| if body.known()[i] { self.guide_positions[i] } else { free(i) };
        let guess: Vec<Vec3> = (0..before.positions.len()).map(place).collect();
        if obstruction.is_clear(&before.positions, &guess, end)? {
            let attempt = self.step(body, state, guide, h)?;
            let there = attempt.solved.converged;
            if !there || obstruction.is_clear(&before.positions, &state.positions, end)? {
                obstruction.arrive(end);
                return Ok(attempt);
            }
            *state = before;
        }
        let haste = obstruction.haste(h).min(parts);
        if haste > 1.2 {
            let solved = Solved { converged: true, ..Solved::default() };
            return Ok(Attempt { solved, error: 0.0, shorter: haste.recip() });
        }
        let stages = if self.settings.integrator == Integrator::TrBdf2 { 2 } else { 1 };
        let implicit = h / f64::from(stages);
        let mut total = Solved { converged: true, ..Solved::default() };
        let mut lag: f64 = 0.0;
        for k in 1..=stages {
            let time = end - f64::from(stages - k) * implicit;
            let (base, drift) = (state.positions.clone(), state.velocities.clone());
            let mut x: Vec<Vec3> = base.iter().zip(&drift).map(|(x, v)| *x + implicit * *v).collect();
            let newton = self.newton();
            let past = Past { implicit, positions: [(1.0, &base), (0.0, &base)] };
            let moment = Self::moment(&mut self.guide_positions, &mut self.guide_velocities, guide, time);
            guide.rows(time, &mut self.rows);
            guide.averages(time, &mut self.averages);
            let (rows, averages) = (&self.rows, &self.averages);
            let stage = Stage {
                base: &base,
                drift: &drift,
                implicit,
                other_guess: None,
                past,
                moment,
                rows,
                averages,
            };
            let work = &mut self.work;
            // entered once: from outside the pool, each loop of a stage would wake and wait for a thread
            let (solved, behind) =
                rayon::scope(|_| work.solve_against(body, &stage, newton, obstruction, &mut x))?;
            self.effort.iterations += solved.iterations;
            self.effort.factorizations += solved.factorizations;
            self.effort.linear_iterations += solved.linear_iterations;
            total.iterations += solved.iterations;
            total.residual = solved.residual;
            total.converged &= solved.residual.is_finite();
            lag = lag.max(behind);
            for i in 0..x.len() {
                let on_guide = body.known()[i] && x[i] == self.guide_positions[i];
                state.velocities[i] =
                    if on_guide { self.guide_velocities[i] } else { (x[i] - base[i]) / implicit };
            }
            state.accelerations =
                state.velocities.iter().zip(&drift).map(|(v, w)| (*v - *w) / implicit).collect();
            state.positions = x;
        }
        // once is worth trying
        let is_long = parts > 0.4 / SHORTEST_FOR_OTHERS;
        let shorter = if is_long && lag > self.newton().tolerance { 0.5 } else { 1.0 };
        Ok(Attempt { solved: total, error: 0.0, shorter })
    }

    fn step_euler(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        h: f64,
        delta: f64,
        linear: bool,
    ) -> Result<Attempt, Error> {
        let base = state.positions.clone();
        let drift = state.velocities.clone();
        let mut x: Vec<Vec3> = base.iter().zip(&drift).map(|(x, v)| *x + delta * h * *v).collect();
        let newton = Newton { linear, ..self.newton() };
        let past = Past { implicit: h, positions: [(1.0, &base), (0.0, &base)] };
        let solved =
            self.solve(body, guide, state.time + h, &base, &drift, h, newton, past, &base, None, &mut x)?;
        self.finish(body, state, &base, h, x);
        state.accelerations.clear();
        Ok(Attempt { solved, error: 0.0, shorter: 1.0 })
    }

    /// The trapezoidal rule over γh, then BDF2 over the whole step, with the same implicit time s = γh/2:
    ///
    /// ```text
    /// x₁ = x + s(v + v₁)         v₁ = v + s(a + f₁/M)        at t + γh
    /// x₂ = αx₁ − βx + s v₂       v₂ = αv₁ − βv + s f₂/M      at t + h,   α = 1/(γ(2−γ)),  β = α(1−γ)²
    /// ```
    fn step_tr_bdf2(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        h: f64,
    ) -> Result<Attempt, Error> {
        let s = 0.5 * GAMMA * h;
        if state.accelerations.is_empty() {
            state.accelerations = self.acceleration(body, state, guide);
        }
        let State { positions: x0, velocities: v0, accelerations: a0, .. } = state.clone();
        let newton = self.newton();

        let base: Vec<Vec3> = x0.iter().zip(&v0).map(|(x, v)| *x + s * *v).collect();
        let drift: Vec<Vec3> = v0.iter().zip(&a0).map(|(v, a)| *v + s * *a).collect();
        // Newton starts where constant acceleration leads: as near as the step's own accuracy, so that it ends early. In
        // crumpling cloth, acceleration is noise, and constant velocity is the better guess.
        let ahead = |x: &[Vec3], v: &[Vec3], a: &dyn Fn(usize) -> Vec3, t: f64| -> Vec<Vec3> {
            (0..x.len()).map(|i| x[i] + t * (v[i] + 0.5 * t * a(i))).collect()
        };
        let plain = ahead(&x0, &v0, &|_| Vec3::ZERO, GAMMA * h);
        let mut x1 = ahead(&x0, &v0, &|i| a0[i], GAMMA * h);
        // Friction of the mean strain rate over the stage: a trapezoidal rate would swing about it where friction is stiff.
        let past = Past { implicit: GAMMA * h, positions: [(1.0, &x0), (0.0, &x0)] };
        let first = self.solve(
            body,
            guide,
            state.time + GAMMA * h,
            &base,
            &drift,
            s,
            newton,
            past,
            &x0,
            Some(&plain),
            &mut x1,
        )?;
        if !first.converged {
            return Ok(Attempt { solved: first, error: f64::INFINITY, shorter: 1.0 });
        }
        let mut v1: Vec<Vec3> = x1.iter().zip(&base).map(|(x, p)| (*x - *p) / s).collect();
        self.impose_velocities(body, &mut v1);

        let alpha = 1.0 / (GAMMA * (2.0 - GAMMA));
        let beta = alpha * (1.0 - GAMMA) * (1.0 - GAMMA);
        let base: Vec<Vec3> = x1.iter().zip(&x0).map(|(x1, x0)| alpha * *x1 - beta * *x0).collect();
        let drift: Vec<Vec3> = v1.iter().zip(&v0).map(|(v1, v0)| alpha * *v1 - beta * *v0).collect();
        // The mean over the first stage: what the trapezoidal rule has at its end swings where the body is stiff.
        let plain = ahead(&x1, &v1, &|_| Vec3::ZERO, (1.0 - GAMMA) * h);
        let mut x2 = ahead(&x1, &v1, &|i| (v1[i] - v0[i]) / (GAMMA * h), (1.0 - GAMMA) * h);
        let past = Past { implicit: s, positions: [(-beta, &x0), (alpha, &x1)] };
        let mut solved = self.solve(
            body,
            guide,
            state.time + h,
            &base,
            &drift,
            s,
            newton,
            past,
            &x1,
            Some(&plain),
            &mut x2,
        )?;
        solved.iterations += first.iterations;
        self.finish(body, state, &base, s, x2);
        if !solved.converged {
            return Ok(Attempt { solved, error: f64::INFINITY, shorter: 1.0 });
        }
        state.accelerations = state.velocities.iter().zip(&drift).map(|(v, w)| (*v - *w) / s).collect();

        // Hosea & Shampine's estimate of the local error in x, its stiff part smoothed by the system's own matrix.
        let mut error = 0.0;
        if self.settings.substeps == Substeps::Automatic {
            let k = (-3.0 * GAMMA * GAMMA + 4.0 * GAMMA - 2.0) / (12.0 * (2.0 - GAMMA));
            let weights = [1.0 / GAMMA, -1.0 / (GAMMA * (1.0 - GAMMA)), 1.0 / (1.0 - GAMMA)];
            let mut estimate: Vec<Vec3> = (0..x0.len())
                .map(|i| {
                    2.0 * k * h * (weights[0] * v0[i] + weights[1] * v1[i] + weights[2] * state.velocities[i])
                })
                .collect();
            self.work.smooth(body, &self.rows, s, &mut estimate)?;
            error = root_mean_square(estimate.into_iter());
        }
        Ok(Attempt { solved, error, shorter: 1.0 })
    }

    fn newton(&self) -> Newton {
        // A tenth of the permitted error: Newton's own error must not disturb the estimate.
        let tolerance = 0.1 * self.settings.tolerance * self.size;
        Newton { iterations: self.settings.newton_iterations, tolerance, linear: false }
    }

    #[allow(clippy::too_many_arguments)]
    fn solve(
        &mut self,
        body: &Body,
        guide: &dyn Guide,
        time: f64,
        base: &[Vec3],
        drift: &[Vec3],
        implicit: f64,
        newton: Newton,
        past: Past,
        start: &[Vec3],
        other_guess: Option<&[Vec3]>,
        x: &mut [Vec3],
    ) -> Result<Solved, Error> {
        let moment = Self::moment(&mut self.guide_positions, &mut self.guide_velocities, guide, time);
        guide.rows(time, &mut self.rows);
        guide.averages(time, &mut self.averages);
        let stage = Stage {
            base,
            drift,
            implicit,
            other_guess,
            past,
            moment,
            rows: &self.rows,
            averages: &self.averages,
        };
        let solved = self.work.solve(body, &stage, newton, start, x)?;
        self.effort.iterations += solved.iterations;
        self.effort.factorizations += solved.factorizations;
        self.effort.linear_iterations += solved.linear_iterations;
        Ok(solved)
    }

    fn moment<'a>(
        positions: &'a mut [Vec3],
        velocities: &'a mut [Vec3],
        guide: &dyn Guide,
        time: f64,
    ) -> Moment<'a> {
        guide.sample(time, positions, velocities);
        Moment { time, guide_positions: positions, guide_velocities: velocities }
    }

    /// f/M at the state; zero at known points.
    fn acceleration(&mut self, body: &Body, state: &State, guide: &dyn Guide) -> Vec<Vec3> {
        let moment = Self::moment(&mut self.guide_positions, &mut self.guide_velocities, guide, state.time);
        let (x, v) = (&state.positions, &state.velocities);
        // no stage, no strain rate: friction starts with the first step
        let staged =
            StagedBody::new(body, &Past { implicit: f64::INFINITY, positions: [(1.0, x), (0.0, x)] });
        let mut force = vec![Vec3::ZERO; body.point_count()];
        staged.force(&moment, x, v, &mut force);
        body.add_outer_force(&moment, x, v, &mut force);
        let per_mass = |i: usize| if body.known()[i] { Vec3::ZERO } else { force[i] / body.masses()[i] };
        (0..force.len()).map(per_mass).collect()
    }

    fn impose_velocities(&self, body: &Body, v: &mut [Vec3]) {
        for (i, v) in v.iter_mut().enumerate() {
            if body.known()[i] {
                *v = self.guide_velocities[i];
            }
        }
    }

    fn finish(&mut self, body: &Body, state: &mut State, base: &[Vec3], implicit: f64, x: Vec<Vec3>) {
        for (v, (x, p)) in state.velocities.iter_mut().zip(x.iter().zip(base)) {
            *v = (*x - *p) / implicit;
        }
        self.impose_velocities(body, &mut state.velocities);
        state.positions = x;
    }
}

/// A step tried.
struct Attempt {
    solved: Solved,
    /// Estimated error in metres, root mean square.
    error: f64,
    /// How much shorter a step may do better, because of something that moves by itself and is in the way.
    shorter: f64,
}

/// Filters move points without looking: they get as far as is free, with the velocity that the filter wanted.
fn restrain_filters(
    obstruction: &mut dyn Obstruction,
    found: &[Vec3],
    state: &mut State,
) -> Result<(), Error> {
    let mut delta: Vec<Vec3> = state.positions.iter().zip(found).map(|(x, found)| *x - *found).collect();
    if delta.iter().all(|d| *d == Vec3::ZERO) {
        return Ok(());
    }
    let wanted = delta.clone();
    obstruction.restrain(found, &mut delta)?;
    for (i, x) in state.positions.iter_mut().enumerate() {
        if delta[i] != wanted[i] {
            *x = found[i] + delta[i];
        }
    }
    Ok(())
}

fn root_mean_square(vectors: impl ExactSizeIterator<Item = Vec3>) -> f64 {
    let count = vectors.len().max(1) as f64;
    (vectors.map(|v| v.length_squared()).sum::<f64>() / count).sqrt()
}
