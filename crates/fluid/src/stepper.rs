//! Steps a state in time: classical fourth-order Runge–Kutta, four sweeps over the grid.
//!
//! With y₂ = u + ½Δt k₁, y₃ = u + ½Δt k₂, y₄ = u + Δt k₃ the new state is (−u + y₂ + 2y₃ + y₄)/3 + ⅙Δt k₄, so that no stage
//! has to carry a running sum: the four sweeps read 1 + 2 + 2 + 4 states and write one each. The last is written over y₂, and u is kept
//! until the step has proved sound.

use crate::base::GHOSTS;
use crate::drive::Drive;
use crate::fluid::Fluid;
use crate::kernel::{RowConstants, rates};
use crate::{Error, Settings, SoundSpeed, State};
use rayon::prelude::*;
use std::any::TypeId;

/// What a call of [`Stepper::advance`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Steps taken.
    pub steps: usize,
    /// The shortest of them, s.
    pub shortest_step: f64,
    /// The fastest flow at the end, m/s.
    pub peak_speed: f64,
    /// Texture sets restarted because they were stretched.
    pub texture_restarts: usize,
}

/// A flow that gets so many times as fast in one call as what it had, and what drives it, can make it has come apart.
const RUNAWAY: f64 = 3.0;

/// Scratch for stepping states of one fluid; may be dropped at any moment.
#[derive(Debug)]
pub struct Stepper {
    second: Vec<f32>,
    third: Vec<f32>,
    fourth: Vec<f32>,
    constants: Vec<RowConstants>,
    /// The sound speed that the constants are for.
    sound_speed: f64,
}

/// How a stage's rates become its result.
#[derive(Clone, Copy)]
enum Combine<'a> {
    /// u + a k.
    Stage { start: &'a [f32], a: f32 },
    /// (−u + y₂ + 2y₃ + y₄)/3 + a k, where y₂ stands in the output.
    Last { start: &'a [f32], third: &'a [f32], fourth: &'a [f32], a: f32 },
}

/// What the last stage finds out about the new state.
#[derive(Clone, Copy, Default)]
struct Findings {
    peaks: [f32; 3],
    broken: bool,
}

impl Findings {
    fn join(self, other: Self) -> Self {
        let peaks = [0, 1, 2].map(|d| self.peaks[d].max(other.peaks[d]));
        Self { peaks, broken: self.broken || other.broken }
    }
}

impl Stepper {
    /// Scratch for one fluid.
    pub fn new(fluid: &Fluid) -> Self {
        let empty = || vec![0.0; fluid.layout.len()];
        Self {
            second: empty(),
            third: empty(),
            fourth: empty(),
            constants: Vec::new(),
            sound_speed: f64::NAN,
        }
    }

    /// The largest time step that is stable now, s, less the settings' margin.
    ///
    /// Fourth-order differences see at most 1.372/h, RK4 holds up to 2.82: Δt (Σ|u_d|/h_d + c √Σ1/h_d²) ≤ 2.82/1.372; and the filter and
    /// the diffusion, whose numbers are real, must stay within 2.78.
    pub fn stable_step(fluid: &Fluid, state: &State, drive: &Drive) -> f64 {
        let Settings { upwind, sound_filter, courant, .. } = fluid.settings;
        let n = fluid.variables.dimensions;
        let h = &fluid.domain.spacings()[..n];
        let c = state.sound_speed;
        let advection: f64 = h.iter().zip(state.peaks).map(|(h, u)| f64::from(u) / h).sum();
        let sound = c * h.iter().map(|h| 1.0 / (h * h)).sum::<f64>().sqrt();
        let filter: f64 = h.iter().zip(state.peaks).map(|(h, u)| (f64::from(u) + sound_filter * c) / h).sum();
        let wave = 2.82 / 1.372 / (advection + sound);
        let filter = 2.5 / (64.0 / 60.0 * upwind * filter);
        let drawn = 2.5 / drive.stiffness();
        courant * wave.min(filter).min(fluid.diffusion_limit()).min(drawn)
    }

    /// Steps until `seconds` have passed, in equal stable steps that adapt to the flow.
    pub fn advance(
        &mut self,
        fluid: &Fluid,
        state: &mut State,
        drive: &Drive,
        seconds: f64,
    ) -> Result<Report, Error> {
        if !(seconds >= 0.0 && seconds.is_finite()) {
            return Err(Error::Dial { dial: "seconds", value: seconds, allowed: "0 or more" });
        }
        drive.check(fluid)?;
        let end = state.time + seconds;
        let driven = fluid.expected_speed(state).max(drive.speed_within(fluid, seconds));
        let speed = fluid.sound_speed_for(drive.speed(fluid));
        raise_sound_speed(fluid, state, speed);
        let mut report = Report { shortest_step: f64::INFINITY, ..Report::default() };
        let mut left = seconds;
        while left > 0.0 {
            let needed = (left / Self::stable_step(fluid, state, drive)).ceil().max(1.0);
            let max_steps = fluid.settings.max_steps;
            if !(needed + report.steps as f64 <= max_steps as f64) {
                let (time, speed) = (state.time, state.peak_speed());
                return Err(Error::TooManySteps { time, seconds: left, needed, max_steps, speed });
            }
            let dt = left / needed;
            self.step_checked(fluid, state, drive, dt)?;
            report.texture_restarts += usize::from(state.refresh_textures(fluid));
            report.shortest_step = report.shortest_step.min(dt);
            report.steps += 1;
            // the last step lands on the end exactly, whatever the sums rounded to
            left = if needed == 1.0 { 0.0 } else { end - state.time };
        }
        state.time = end;
        report.peak_speed = state.peak_speed();
        if report.peak_speed > RUNAWAY * driven {
            let (speed, place) = fastest(fluid, &state.values);
            return Err(Error::Runaway { time: state.time, place, speed, driven });
        }
        Ok(report)
    }

    /// One step of `dt` seconds. On an error the state is what it was.
    pub fn step(&mut self, fluid: &Fluid, state: &mut State, drive: &Drive, dt: f64) -> Result<(), Error> {
        drive.check(fluid)?;
        self.step_checked(fluid, state, drive, dt)
    }

    fn step_checked(
        &mut self,
        fluid: &Fluid,
        state: &mut State,
        drive: &Drive,
        dt: f64,
    ) -> Result<(), Error> {
        if self.second.len() != fluid.layout.len() {
            *self = Self::new(fluid);
        }
        if self.constants.len() != fluid.layout.points[1] || self.sound_speed != state.sound_speed {
            let sound_speed = fluid.sound_speed_of(state);
            let rows = 0..fluid.layout.points[1];
            self.constants = rows.map(|y| RowConstants::new(fluid, y, sound_speed)).collect();
            self.sound_speed = state.sound_speed;
        }
        let h = dt as f32;
        let constants = &self.constants;
        let start = &state.values;
        let half = Combine::Stage { start, a: 0.5 * h };
        let sweep = Sweep { fluid, drive, constants, dt, limit: state.sound_speed as f32 };
        sweep.run(start, &mut self.second, half);
        sweep.run(&self.second, &mut self.third, half);
        sweep.run(&self.third, &mut self.fourth, Combine::Stage { start, a: h });
        let last = Combine::Last { start, third: &self.third, fourth: &self.fourth, a: h / 6.0 };
        let findings = sweep.run(&self.fourth, &mut self.second, last);
        if findings.broken {
            return Err(diagnose(fluid, &self.second, state, dt));
        }
        std::mem::swap(&mut state.values, &mut self.second);
        state.peaks = findings.peaks;
        state.time += dt;
        state.steps += 1;
        raise_sound_speed(fluid, state, 2.5 * state.peak_speed());
        Ok(())
    }
}

/// An automatic sound speed stays ahead of the flow, in bounds of a quarter, so that constants need not be made anew at every step.
fn raise_sound_speed(fluid: &Fluid, state: &mut State, least: f64) {
    if fluid.settings.sound_speed == SoundSpeed::Automatic && least > state.sound_speed {
        state.sound_speed = least.max(1.25 * state.sound_speed);
    }
}

/// One pass over the grid.
struct Sweep<'a> {
    fluid: &'a Fluid,
    drive: &'a Drive,
    constants: &'a [RowConstants],
    dt: f64,
    limit: f32,
}

impl Sweep<'_> {
    fn run(&self, values: &[f32], out: &mut [f32], combine: Combine) -> Findings {
        let layout = &self.fluid.layout;
        let simd = pulp::Arch::new();
        let scratch = || vec![0.0_f32; layout.variables * layout.points[0]];
        let findings = out
            .par_chunks_mut(layout.row_length())
            .enumerate()
            .with_min_len(4)
            .map_init(scratch, |k, (index, out)| {
                let Some(place) = layout.place(index) else { return Findings::default() };
                simd.dispatch(Row { sweep: self, values, index, place, k, out, combine })
            })
            .reduce(Findings::default, Findings::join);
        layout.fill_ghosts(out);
        findings
    }

    /// The greatest velocities, and whether anything is faster than sound, colder than nothing, or no number.
    #[inline(always)]
    fn inspect(&self, y: usize, row: &[f32]) -> Findings {
        let layout = &self.fluid.layout;
        let names = &self.fluid.variables;
        let line = |variable: usize| &row[variable * layout.width + GHOSTS..][..layout.points[0]];
        let mut findings = Findings::default();
        for d in 0..names.dimensions {
            let peak = greatest(line(d));
            findings.peaks[d] = peak;
            // a NaN that the maximum has passed over shows in the sum
            findings.broken |= !(peak <= self.limit) || !total(line(d)).is_finite();
        }
        let temperature = line(names.temperature);
        let coldest = -self.fluid.base.theta[y] as f32;
        let cold = temperature.iter().fold(false, |cold, &t| cold | (t <= coldest));
        findings.broken |= cold || !total(temperature).is_finite();
        findings
    }
}

/// Nothing instead of next to nothing. Smooth fields fade to ever smaller numbers away from the action, and processors are ten times slower
/// where numbers, or products of two of them, are too small to be normal.
#[inline(always)]
fn flushed(value: f32) -> f32 {
    if value.abs() < 1e-19 { 0.0 } else { value }
}

/// The greatest magnitude; lane by lane, so that it takes a vector at a time.
#[inline(always)]
fn greatest(line: &[f32]) -> f32 {
    let (chunks, rest) = line.as_chunks::<16>();
    let larger = |a: f32, b: f32| if b.abs() > a { b.abs() } else { a };
    let mut lanes = [0.0_f32; 16];
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] = larger(lanes[i], chunk[i]);
        }
    }
    lanes.iter().chain(rest).fold(0.0, |a, &b| larger(a, b))
}

/// The sum, in lanes: not finite if any number is not.
#[inline(always)]
fn total(line: &[f32]) -> f32 {
    let (chunks, rest) = line.as_chunks::<16>();
    let mut lanes = [0.0_f32; 16];
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] += chunk[i];
        }
    }
    lanes.iter().chain(rest).sum()
}

/// The work on one grid row, compiled for every vector unit that there may be.
struct Row<'a> {
    sweep: &'a Sweep<'a>,
    values: &'a [f32],
    index: usize,
    place: (usize, usize),
    k: &'a mut [f32],
    out: &'a mut [f32],
    combine: Combine<'a>,
}

impl pulp::WithSimd for Row<'_> {
    type Output = Findings;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Findings {
        let Self { sweep, values, index, place, k, out, combine } = self;
        let Sweep { fluid, drive, .. } = sweep;
        let layout = &fluid.layout;
        let n = layout.points[0];
        let constants = &sweep.constants[place.0];
        // every vector unit but none at all can multiply and add at once
        let fused = TypeId::of::<S>() != TypeId::of::<pulp::Scalar>();
        match (fluid.variables.dimensions, fused) {
            (2, true) => rates::<2, true>(fluid, constants, values, index, k),
            (2, false) => rates::<2, false>(fluid, constants, values, index, k),
            (_, true) => rates::<3, true>(fluid, constants, values, index, k),
            (_, false) => rates::<3, false>(fluid, constants, values, index, k),
        }
        if fluid.greatest_diffusivity() > 0.0 {
            fluid.add_diffusion(values, place, k);
        }
        if !drive.sources.is_empty() {
            fluid.add_sources(drive, values, place, k);
        }
        fluid.close_walls(place, k, 0, n);

        let mut findings = Findings::default();
        for (variable, k) in k.chunks_exact(n).enumerate() {
            let out = &mut out[variable * layout.width + GHOSTS..][..n];
            match combine {
                Combine::Stage { start, a } => {
                    let start = layout.inner(start, index, variable);
                    for i in 0..n {
                        out[i] = flushed(start[i] + a * k[i]);
                    }
                }
                Combine::Last { start, third, fourth, a } => {
                    let start = layout.inner(start, index, variable);
                    let third = layout.inner(third, index, variable);
                    let fourth = layout.inner(fourth, index, variable);
                    for i in 0..n {
                        // differences first: a third is not a number of the machine, and would scale the state a little
                        // more at every step
                        let u = start[i];
                        let sum = (out[i] - u) + 2.0 * (third[i] - u) + (fourth[i] - u);
                        out[i] = flushed(u + (sum * (1.0 / 3.0) + a * k[i]));
                    }
                }
            }
        }
        if matches!(combine, Combine::Last { .. }) {
            if let Some(obstacle) = &drive.obstacle {
                let eta = 0.5 * fluid.domain.spacings()[0] / f64::from(sweep.limit);
                fluid.hold(obstacle, (sweep.dt / eta) as f32, place, out);
            }
            findings = sweep.inspect(place.0, out);
        }
        layout.fill_line_ends(out);
        findings
    }
}

/// The fastest flow, in m/s, and where; the first that is no number if there is one.
fn fastest(fluid: &Fluid, values: &[f32]) -> (f64, [usize; 3]) {
    let layout = &fluid.layout;
    let [nx, ny, nz] = layout.points;
    let mut fastest = (0.0_f64, [0; 3]);
    for (z, y) in (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y))) {
        let line = |variable: usize| layout.inner(values, layout.row(y, z), variable);
        for x in 0..nx {
            let square: f64 = (0..fluid.variables.dimensions).map(|d| f64::from(line(d)[x]).powi(2)).sum();
            if !(square.sqrt() <= fastest.0) && !fastest.0.is_nan() {
                fastest = (square.sqrt(), [x, y, z]);
            }
        }
    }
    fastest
}

/// The error that a broken state stands for: where and what.
fn diagnose(fluid: &Fluid, values: &[f32], state: &State, dt: f64) -> Error {
    let layout = &fluid.layout;
    let [nx, ny, nz] = layout.points;
    let time = state.time + dt;
    let fastest = fastest(fluid, values);
    let mut coldest = (f64::INFINITY, [0; 3]);
    for z in 0..nz {
        for y in 0..ny {
            let line = |variable: usize| layout.inner(values, layout.row(y, z), variable);
            for x in 0..nx {
                let place = [x, y, z];
                let kelvin = fluid.base.theta[y] + f64::from(line(fluid.variables.temperature)[x]);
                if kelvin < coldest.0 {
                    coldest = (kelvin, place);
                }
            }
        }
    }
    if fastest.0 <= state.sound_speed && coldest.0 <= 0.0 {
        let remedy = "lower the cooling, or move the black and white levels of the temperature";
        return Error::BelowZero { time, place: coldest.1, kelvin: coldest.0, remedy };
    }
    let (speed, place) = fastest;
    Error::Supersonic { time, place, speed, sound_speed: state.sound_speed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Field, Initial, Quantity, Side, Source};

    fn still(settings: Settings) -> (Fluid, State) {
        let domain = Domain::plane([16, 8], [1.6, 0.4], [Side::Periodic; 2]).unwrap();
        let settings = Settings { gravity: 0.0, sound_speed: SoundSpeed::Fixed(20.0), ..settings };
        Fluid::new(domain, settings, &Initial::default()).unwrap()
    }

    /// Waves, and the filter that goes with them, in closed form: spacings of 0.1 and 0.05 m, sound at 20 m/s.
    #[test]
    fn the_stable_step_is_that_of_waves_or_of_the_filter() {
        for (upwind, sound_filter) in [(1.0, 0.05), (4.0, 1.0), (0.5, 1.0)] {
            let (fluid, mut state) = still(Settings { upwind, sound_filter, ..Settings::default() });
            state.peaks = [3.0, 1.0, 0.0];
            let wave = 2.82 / 1.372 / (3.0 / 0.1 + 1.0 / 0.05 + 20.0 * 500.0_f64.sqrt());
            let filtered = (3.0 + 20.0 * sound_filter) / 0.1 + (1.0 + 20.0 * sound_filter) / 0.05;
            let filter = 2.5 / (64.0 / 60.0 * upwind * filtered);
            let expected = fluid.settings.courant * wave.min(filter);
            let found = Stepper::stable_step(&fluid, &state, &Drive::default());
            assert!((found / expected - 1.0).abs() < 1e-6, "{upwind} {sound_filter}: {found} {expected}");
        }
    }

    /// Pushed everywhere alike, all of it gets faster by so much a second.
    #[test]
    fn a_push_adds_up_over_time() {
        let (fluid, mut state) = still(Settings::default());
        let rate = Field::constant(fluid.layout.points, 2.0);
        let push = Source { quantity: Quantity::Velocity(0), rate, toward: None };
        let drive = Drive { sources: vec![push], obstacle: None };
        assert!((drive.speed_within(&fluid, 10.0) - 20.0).abs() < 1e-6);
        Stepper::new(&fluid).advance(&fluid, &mut state, &drive, 0.25).unwrap();
        assert!(state.extract(&fluid, 0).values.iter().all(|u| (u - 0.5).abs() < 1e-4));
        assert_eq!(fluid.bytes_per_point(), 52 * fluid.variables.count());
    }

    /// Drawn to a temperature, what is missing dies off with the rate; heat without an end makes as much speed as it makes heat.
    #[test]
    fn heat_is_drawn_to_where_it_should_be() {
        let (fluid, mut state) = still(Settings::default());
        let of = |value: f32| Field::constant(fluid.layout.points, value);
        let source =
            |toward: Option<Field>| Source { quantity: Quantity::Temperature, rate: of(2.0), toward };
        let drive = Drive { sources: vec![source(Some(of(3.0)))], obstacle: None };
        Stepper::new(&fluid).advance(&fluid, &mut state, &drive, 0.5).unwrap();
        let expected = 3.0 * (1.0 - (-1.0_f64).exp()) as f32;
        let heat = state.extract(&fluid, fluid.variables.temperature);
        assert!(heat.values.iter().all(|t| (t - expected).abs() < 1e-2), "{} {expected}", heat.values[0]);
        let domain = Domain::plane([16, 8], [1.6, 0.4], [Side::Periodic, Side::Wall]).unwrap();
        let (heavy, _) = Fluid::new(domain, Settings::default(), &Initial::default()).unwrap();
        let heating = Drive { sources: vec![source(None)], obstacle: None };
        let expected = heavy.free_fall(40.0).max(heating.speed(&heavy));
        assert!(
            (heating.speed_within(&heavy, 20.0) / expected - 1.0).abs() < 1e-6
                && heavy.free_fall(40.0) > heavy.free_fall(22.0)
        );
    }
}
