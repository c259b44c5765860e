//! The paper's grids: steps per second, against what the memory allows; and the measured orders of accuracy.
//!
//! The memory bound of a step is the bytes it must move (13 states of the grid: four Runge–Kutta sweeps that read 1 + 2 + 2 + 4 states
//! and write one each) over the bandwidth of `y ← y + a x` on arrays larger than the caches, measured in the same run
//! on the same threads. That loop writes only lines it has read, so its figure is the memory's true one.

use fluid::{
    Domain, Drive, Field, Fluid, Initial, InitialPressure, Settings, Side, SoundSpeed, State, Stepper,
};
use rayon::prelude::*;
use std::process::ExitCode;
use std::time::Instant;

/// Runs the benchmark and prints its table and its JSON line.
pub(crate) fn run(_options: &[String]) -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("smoke: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), fluid::Error> {
    println!("smoke: compressible flow with texture coordinates, {} threads", rayon::current_num_threads());
    println!(
        "{:>12} {:>10} {:>9} {:>9} {:>8} {:>12}",
        "grid", "ms/step", "steps/s", "ns/point", "GB/s", "× the bound"
    );
    let grids: [[usize; 2]; 7] =
        [[100, 100], [150, 151], [400, 300], [960, 321], [1000, 1000], [2048, 2048], [3200, 3125]];
    let mut memory = Memory::new();
    let mut rates = Vec::new();
    let (mut ratio, mut bytes) = (0.0, 0);
    for points in grids {
        let (fluid, mut state) = convection(points)?;
        let duel = duel(&fluid, &mut state, &mut memory)?;
        bytes = fluid.bytes_per_point();
        let count = (points[0] * points[1]) as f64;
        let bound = count * bytes as f64 / duel.bandwidth;
        let times = duel.step / bound;
        // the largest grid that fits a small machine lies in memory, not in caches
        if points == [2048, 2048] {
            ratio = times;
        }
        rates.push((points, 1.0 / duel.best_step));
        println!(
            "{:>12} {:>10.3} {:>9.1} {:>9.2} {:>8.1} {times:>12.2}",
            format!("{}x{}", points[0], points[1]),
            1e3 * duel.best_step,
            1.0 / duel.best_step,
            1e9 * duel.best_step / count,
            duel.bandwidth / 1e9,
        );
    }
    println!(
        "best times; the bound is {bytes} bytes a point; both it and the ratio from medians of passes that alternate"
    );
    let film = film_element()?;
    println!("film element, 960x321, 200 frames of 1/24 s: {film:.1} s");
    let (space, time) = orders()?;
    println!("order of accuracy of an acoustic pulse: {space:.2} in space, {time:.2} in time");
    let per_second = |wanted: [usize; 2]| rates.iter().find(|r| r.0 == wanted).map_or(0.0, |r| r.1);
    println!(
        "{{\"bench\":\"smoke\",\"steps_per_second\":{{\"100x100\":{:.1},\"400x300\":{:.1},\"960x321\":{:.1}}},\"bytes_per_cell\":{bytes},\
         \"bandwidth_ratio\":{ratio:.3},\"order_space\":{space:.3},\"order_time\":{time:.3}}}",
        per_second([100, 100]),
        per_second([400, 300]),
        per_second([960, 321])
    );
    Ok(())
}

/// Two arrays larger than any cache.
struct Memory {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Memory {
    fn new() -> Self {
        Self { x: vec![1.0; 32 << 20], y: vec![0.0; 32 << 20] }
    }

    /// Bytes per second of `y ← y + a x`.
    fn pass(&mut self) -> f64 {
        let start = Instant::now();
        self.y.par_chunks_mut(1 << 16).zip(self.x.par_chunks(1 << 16)).for_each(|(y, x)| {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += 0.5 * x);
        });
        std::hint::black_box(&self.y);
        12.0 * self.x.len() as f64 / start.elapsed().as_secs_f64()
    }
}

/// Steps and memory passes by turns, so that whatever else the machine does slows both.
struct Duel {
    /// Seconds per step, the best and the median.
    best_step: f64,
    step: f64,
    /// Bytes per second, the median.
    bandwidth: f64,
}

fn duel(fluid: &Fluid, state: &mut State, memory: &mut Memory) -> Result<Duel, fluid::Error> {
    let drive = Drive::default();
    let mut stepper = Stepper::new(fluid);
    let points: usize = fluid.domain().points().iter().product();
    let batch = (500_000 / points).max(1);
    let (mut steps, mut passes) = (Vec::new(), Vec::new());
    for round in 0..16 {
        let start = Instant::now();
        for _ in 0..batch {
            let dt = Stepper::stable_step(fluid, state, &drive);
            stepper.step(fluid, state, &drive, dt)?;
        }
        let seconds = start.elapsed().as_secs_f64() / batch as f64;
        let bandwidth = memory.pass();
        // the first round warms up
        if round > 0 {
            steps.push(seconds);
            passes.push(bandwidth);
        }
    }
    steps.sort_by(f64::total_cmp);
    passes.sort_by(f64::total_cmp);
    Ok(Duel { best_step: steps[0], step: steps[steps.len() / 2], bandwidth: passes[passes.len() / 2] })
}

/// A heated floor under still air, periodic sides, texture coordinates.
fn convection(points: [usize; 2]) -> Result<(Fluid, State), fluid::Error> {
    let width = points[0] as f64 / points[1] as f64;
    let domain = Domain::plane(points, [width, 1.0], [Side::Periodic, Side::Wall])?;
    let bumps = |x: f64| (20.0 * x / width).sin() + (31.0 * x / width + 1.0).sin();
    let warm = domain.field(|p| 20.0 * (-(p[1] / (0.1 + 0.02 * bumps(p[0]))).powi(2)).exp());
    let settings = Settings { texture_sets: 1, ..Settings::default() };
    Fluid::new(domain, settings, &Initial { temperature: Some(warm), ..Initial::default() })
}

/// Seconds to simulate 200 frames at film resolution.
fn film_element() -> Result<f64, fluid::Error> {
    let (fluid, mut state) = convection([960, 321])?;
    let mut stepper = Stepper::new(&fluid);
    let start = Instant::now();
    for _ in 0..200 {
        stepper.advance(&fluid, &mut state, &Drive::default(), 1.0 / 24.0)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Measured orders in space and time of a pulse f = exp(cos 2π(x + y − √2ct)) that crosses a periodic square once.
fn orders() -> Result<(f64, f64), fluid::Error> {
    let pulse = |n: usize, steps: usize| -> Result<(Field, Field), fluid::Error> {
        let domain = Domain::plane([n, n], [1.0, 1.0], [Side::Periodic; 2])?;
        let f = |p: [f64; 3]| 1e-5 * (std::f64::consts::TAU * (p[0] + p[1])).cos().exp();
        let along = 0.5_f64.sqrt();
        let velocity = domain.field(|p| f(p) * along);
        let pressure = InitialPressure::Exner(domain.field(|p| f(p) / (1004.0 * 300.0)));
        let initial = Initial {
            velocity: [Some(velocity.clone()), Some(velocity), None],
            pressure,
            ..Initial::default()
        };
        let settings = Settings { gravity: 0.0, sound_speed: SoundSpeed::Fixed(1.0), ..Settings::default() };
        let (fluid, mut state) = Fluid::new(domain, settings, &initial)?;
        let first = state.pressure(&fluid);
        let mut stepper = Stepper::new(&fluid);
        for _ in 0..steps {
            stepper.step(&fluid, &mut state, &Drive::default(), along / steps as f64)?;
        }
        Ok((first, state.pressure(&fluid)))
    };
    let distance = |a: &Field, b: &Field| {
        let square: f64 = a.values.iter().zip(&b.values).map(|(a, b)| f64::from(a - b).powi(2)).sum();
        (square / a.values.len() as f64).sqrt()
    };
    let space = |n: usize| pulse(n, 2 * n).map(|(first, last)| distance(&first, &last));
    let truth = pulse(24, 320)?.1;
    let time = |steps: usize| pulse(24, steps).map(|(_, last)| distance(&truth, &last));
    Ok(((space(32)? / space(64)?).log2(), (time(40)? / time(80)?).log2()))
}
