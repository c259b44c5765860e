//! A 2×2 m sheet, two corners pinned, falls from the horizontal and swings for 2 s: speed, stretch, and whether the motion
//! depends on resolution, frame rate or substeps, which it must not.
//!
//! No contact, no air: what is seen is the integrator and the elements alone.

mod rivals;
mod sheet;
mod stopwatch;

use std::process::ExitCode;
use std::time::Instant;

use geometry::Vec3;
use serde_json::{Map, Value, json};

use sheet::Sheet;

/// Cells per side.
const RESOLUTIONS: [usize; 4] = [25, 50, 100, 200];
/// Seconds.
const DURATION: f64 = 2.0;
/// Instants at which runs are compared; every frame rate hits them.
const SAMPLES: usize = 4;

/// One run.
struct Run {
    name: String,
    cells: usize,
    ms_per_frame: f64,
    /// Largest stretch of a warp or weft edge over all frames.
    max_stretch: f64,
    steps: f64,
    iterations: f64,
    factorizations: f64,
    /// Share of the time that went into energies, forces and matrices.
    assembly: f64,
    /// Centre of mass and the two free corners at each sampled instant.
    track: Vec<[Vec3; 3]>,
}

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let mut resolutions = RESOLUTIONS.to_vec();
    let mut with_peers = false;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match (option.as_str(), options.as_slice().first().and_then(|n| n.parse().ok())) {
            ("--peers", _) => with_peers = true,
            ("--upto", Some(most)) => {
                options.next();
                resolutions.retain(|&n| n <= most);
            }
            _ => {
                eprintln!("unknown option {option}; known are --peers and --upto N");
                return ExitCode::from(2);
            }
        }
    }

    println!(
        "{:<24} {:>9} {:>9} {:>6} {:>7} {:>7} {:>9}",
        "run", "ms/frame", "stretch", "steps", "Newton", "factor", "assembly"
    );
    let mut runs = Vec::new();
    for &cells in &resolutions {
        runs.push(simulate(format!("N = {cells}, 24 fps"), cells, 24.0, None));
    }
    let reference = resolutions.get(1).copied().unwrap_or(resolutions[0]);
    for frame_rate in [30.0, 60.0] {
        runs.push(simulate(format!("N = {reference}, {frame_rate} fps"), reference, frame_rate, None));
    }
    for substeps in [2, 4, 8] {
        let name = format!("N = {reference}, {substeps} substeps");
        runs.push(simulate(name, reference, 24.0, Some(substeps)));
    }

    let size = sheet::SIZE;
    println!("\n{:<24} {:>40} {:>32}", "", "centre of mass at 0.5, 1, 1.5, 2 s (y, z)", "free corner at 2 s");
    for run in &runs {
        let centres: Vec<String> =
            run.track.iter().map(|[c, ..]| format!("{:+.3} {:+.3}", c.y, c.z)).collect();
        let corner = run.track[SAMPLES - 1][1];
        println!(
            "{:<24} {}   {:+.3} {:+.3} {:+.3}",
            run.name,
            centres.join("  "),
            corner.x,
            corner.y,
            corner.z
        );
    }
    let centre_spread = spread(&runs, 0..1) / size;
    let corner_spread = spread(&runs, 1..3) / size;
    println!("\nlargest difference between any two runs, of the sheet's size:");
    println!(
        "centre of mass {:.2} % (at most 2 %), free corners {:.2} % (at most 5 %)",
        100.0 * centre_spread,
        100.0 * corner_spread
    );

    let by_resolution = |value: &dyn Fn(&Run) -> f64| -> Value {
        let at_24 = runs.iter().take(resolutions.len());
        at_24.map(|run| (run.cells.to_string(), json!(value(run)))).collect::<Map<_, _>>().into()
    };
    let mut result = json!({
        "bench": "s1-cloth",
        "ms_per_frame": by_resolution(&|run| run.ms_per_frame),
        "max_stretch": by_resolution(&|run| run.max_stretch),
        "assembly_share": by_resolution(&|run| run.assembly),
        "centre_spread": centre_spread,
        "corner_spread": corner_spread,
        "threads": rayon::current_num_threads(),
    });
    if with_peers {
        result["peers"] = rivals::run(&resolutions);
    }
    println!("{result}");
    ExitCode::SUCCESS
}

/// Milliseconds a frame of the sheet, with the limits of cotton or without.
pub(crate) fn timed_sheet(cells: usize, frames: usize, limits: bool) -> f64 {
    let mut sheet = Sheet::with_limits(cells, None, limits);
    let start = Instant::now();
    for _ in 0..frames {
        sheet.advance(1.0 / 24.0);
    }
    1e3 * start.elapsed().as_secs_f64() / frames.max(1) as f64
}

fn simulate(name: String, cells: usize, frame_rate: f64, substeps: Option<usize>) -> Run {
    let mut sheet = Sheet::new(cells, substeps);
    let frames = (DURATION * frame_rate).round() as usize;
    let mut run = Run {
        name,
        cells,
        ms_per_frame: 0.0,
        max_stretch: 0.0,
        steps: 0.0,
        iterations: 0.0,
        factorizations: 0.0,
        assembly: 0.0,
        track: Vec::new(),
    };
    let mut seconds = 0.0;
    for frame in 1..=frames {
        let start = Instant::now();
        let effort = sheet.advance(1.0 / frame_rate);
        seconds += start.elapsed().as_secs_f64();
        run.steps += effort.steps as f64 / frames as f64;
        run.iterations += effort.iterations as f64 / frames as f64;
        run.factorizations += effort.factorizations as f64 / frames as f64;
        run.max_stretch = run.max_stretch.max(sheet.max_stretch());
        if (frame * SAMPLES).is_multiple_of(frames) {
            run.track.push(sheet.landmarks());
        }
    }
    run.assembly = sheet.assembly() / seconds;
    run.ms_per_frame = 1e3 * seconds / frames as f64;
    println!(
        "{:<24} {:>9.1} {:>8.2}% {:>6.1} {:>7.1} {:>7.1} {:>8.0}%",
        run.name,
        run.ms_per_frame,
        100.0 * run.max_stretch,
        run.steps,
        run.iterations,
        run.factorizations,
        100.0 * run.assembly
    );
    run
}

/// The largest distance between the same landmark of any two runs at the same instant.
fn spread(runs: &[Run], landmarks: std::ops::Range<usize>) -> f64 {
    let mut worst = 0.0_f64;
    for sample in 0..SAMPLES {
        for landmark in landmarks.clone() {
            for (i, a) in runs.iter().enumerate() {
                for b in &runs[..i] {
                    worst = worst.max(a.track[sample][landmark].distance(b.track[sample][landmark]));
                }
            }
        }
    }
    worst
}
