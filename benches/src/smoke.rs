//! The paper's grids: steps per second, against what the memory allows; and the measured orders of accuracy.
//!
//! The memory bound of a step is the bytes it must move (13 states of the grid: four Runge–Kutta sweeps that read 1 + 2 + 2 + 4 states
//! and write one each) over the bandwidth of `y ← y + a x` on arrays larger than the caches, measured in the same run
//! on the same threads. That loop writes only lines it has read, so its figure is the memory's true one.

use fluid::{Domain, Drive, Field, Fluid, Initial, InitialPressure, Settings, Side, SoundSpeed, State, Stepper};
use rayon::prelude::*;
use std::io::Write;
use std::time::Instant;

/// Runs the benchmark and writes its table and its JSON line.
pub fn run(out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let threads = rayon::current_num_threads();
    let bandwidth = bandwidth();
    writeln!(out, "smoke: compressible flow with texture coordinates, {threads} threads")?;
    writeln!(out, "memory bandwidth (y += a x, 256 MiB): {:.1} GB/s", bandwidth / 1e9)?;
    writeln!(out, "{:>12} {:>11} {:>9} {:>9} {:>12}", "grid", "ms/step", "steps/s", "ns/point", "× the bound")?;
    let grids: [[usize; 2]; 7] =
        [[100, 100], [400, 300], [960, 321], [1000, 1000], [2048, 2048], [3200, 3125], [150, 151]];
    let mut rates = Vec::new();
    let mut ratio = 0.0;
    let mut bytes = 0;
    for points in grids {
        let (fluid, mut state) = convection(points)?;
        let seconds = seconds_per_step(&fluid, &mut state)?;
        bytes = fluid.bytes_per_point();
        let count = (points[0] * points[1]) as f64;
        let bound = count * bytes as f64 / bandwidth;
        if points == [2048, 2048] {
            ratio = seconds / bound;
        }
        rates.push(1.0 / seconds);
        writeln!(
            out,
            "{:>12} {:>11.3} {:>9.1} {:>9.2} {:>12.2}",
            format!("{}x{}", points[0], points[1]),
            1e3 * seconds,
            1.0 / seconds,
            1e9 * seconds / count,
            seconds / bound
        )?;
    }
    let film = film_element()?;
    writeln!(out, "film element, 960x321, 200 frames of 1/24 s: {film:.1} s")?;
    let (space, time) = orders()?;
    writeln!(out, "order of accuracy of an acoustic pulse: {space:.2} in space, {time:.2} in time")?;
    writeln!(
        out,
        "{{\"bench\":\"smoke\",\"steps_per_second\":{{\"100x100\":{:.1},\"400x300\":{:.1},\"960x321\":{:.1}}},\"bytes_per_cell\":{bytes},\
         \"bandwidth_ratio\":{ratio:.3},\"order_space\":{space:.3},\"order_time\":{time:.3}}}",
        rates[0], rates[1], rates[2]
    )?;
    Ok(())
}

/// Bytes per second of `y ← y + a x`, the best of several passes.
fn bandwidth() -> f64 {
    let n = 32 << 20;
    let x = vec![1.0_f32; n];
    let mut y = vec![0.0_f32; n];
    let best = (0..8)
        .map(|pass| {
            let start = Instant::now();
            y.par_chunks_mut(1 << 16).zip(x.par_chunks(1 << 16)).for_each(|(y, x)| {
                y.iter_mut().zip(x).for_each(|(y, x)| *y += pass as f32 * x);
            });
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    std::hint::black_box(&y);
    12.0 * n as f64 / best
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

/// Seconds per step, the median of timed batches after a warm-up.
fn seconds_per_step(fluid: &Fluid, state: &mut State) -> Result<f64, fluid::Error> {
    let drive = Drive::default();
    let mut stepper = Stepper::new(fluid);
    let points: usize = fluid.domain().points().iter().product();
    let batch = (2_000_000 / points).max(1);
    let mut times = Vec::new();
    for round in 0..9 {
        let start = Instant::now();
        for _ in 0..batch {
            let dt = Stepper::stable_step(fluid, state, &drive);
            stepper.step(fluid, state, &drive, dt)?;
        }
        if round > 0 {
            times.push(start.elapsed().as_secs_f64() / batch as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
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
        let initial = Initial { velocity: [Some(velocity.clone()), Some(velocity), None], pressure, ..Initial::default() };
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
