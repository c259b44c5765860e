//! How long detection takes: a sheet folded into eight layers, 2 mm apart, at 10,000 and 40,000 vertices; times in
//! milliseconds, the median of several passes.
//!
//!     RAYON_NUM_THREADS=1 cargo run --release -p contact --example measure
#![allow(clippy::print_stdout)]

use std::time::Instant;

use contact::{
    Audited, BroadPhase, Kind, Surface, Surfaces, audit, closest, contacts, safe_fraction, travel,
};
use dynamics::Element;
use geometry::Vec3;

fn folded_sheet(n: u32, layers: u32, gap: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let width = 1.0 / f64::from(layers);
    let points = (0..=n)
        .flat_map(|j| (0..=n).map(move |i| (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n))))
        .map(|(s, z)| {
            let layer = (s / width).floor().min(f64::from(layers - 1));
            let along = s - layer * width;
            let x = if layer % 2.0 == 0.0 { along } else { width - along };
            Vec3::new(x, gap * s / width + 0.2 * gap * (40.0 * z).sin(), z)
        })
        .collect();
    let triangles = (0..n)
        .flat_map(|j| (0..n).map(move |i| j * (n + 1) + i))
        .flat_map(|a| [[a, a + 1, a + n + 1], [a + 1, a + n + 2, a + n + 1]])
        .collect();
    (points, triangles)
}

/// Milliseconds that all threads have spent computing, which a busy machine does not stretch; where the system does not
/// tell, milliseconds by the clock.
fn milliseconds(clock: Instant) -> f64 {
    let spent = |task: std::io::Result<std::fs::DirEntry>| -> Option<f64> {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    let tasks = std::fs::read_dir("/proc/self/task").ok();
    let total: Option<f64> = tasks.and_then(|tasks| tasks.map(spent).sum());
    total.map_or(1e3 * clock.elapsed().as_secs_f64(), |nanoseconds| 1e-6 * nanoseconds)
}

/// The median time of some passes, in milliseconds, and the last result.
fn median<T>(mut pass: impl FnMut() -> T) -> (f64, T) {
    let mut last = pass();
    let clock = Instant::now();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let before = milliseconds(clock);
            last = pass();
            milliseconds(clock) - before
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[4], last)
}

fn main() -> Result<(), contact::Error> {
    for n in [100, 200] {
        let (start, triangles) = folded_sheet(n, 8, 2e-3);
        let flat = (0..start.len() as u32)
            .map(|i| Vec3::new(f64::from(i % (n + 1)), 0.0, f64::from(i / (n + 1))) / f64::from(n))
            .collect();
        let surfaces = Surfaces::new(vec![Surface::free("sheet", flat, triangles.clone())])?;
        let end: Vec<Vec3> =
            start.iter().map(|p| *p + 1e-3 * Vec3::new((60.0 * p.z).sin(), -0.3, 0.2)).collect();
        let (reach, margin) = (1e-3, 1e-5);
        println!("{} vertices, {} triangles", start.len(), triangles.len());

        let (build, _) = median(|| BroadPhase::new().candidates(&surfaces, &start, &end, reach));
        let mut broad = BroadPhase::new();
        let (refit, pairs) = median(|| broad.candidates(&surfaces, &start, &end, reach));
        let pairs = pairs?;
        let edges = pairs.iter().filter(|p| p.kind == Kind::EdgeEdge).count();
        println!("  broad phase: {build:.2} ms with building, {refit:.2} ms refitted");
        println!("  candidates: {} vertex-triangle, {edges} edge-edge", pairs.len() - edges);

        let (time, felt) = median(|| contacts(&surfaces, &pairs, &end, reach));
        println!("  contacts: {} felt, {time:.2} ms", felt.len());
        let (time, safe) = median(|| safe_fraction(&surfaces, &pairs, &start, &end, margin, |_| false));
        println!(
            "  safe fraction {:.4}: {time:.2} ms, {:.0} ns a pair",
            safe.time,
            1e6 * time / pairs.len() as f64
        );
        let (time, probes) = median(|| {
            pairs
                .iter()
                .map(|p| travel(p.kind, &p.gather(&start), &p.gather(&end), margin).probes)
                .sum::<u32>()
        });
        println!("  each to its end: {:.0} ns a pair, {probes} directions", 1e6 * time / pairs.len() as f64);
        let (time, _) =
            median(|| pairs.iter().map(|p| closest(p.kind, &p.gather(&end)).distance).sum::<f64>());
        println!("  closest points: {:.0} ns a pair", 1e6 * time / pairs.len() as f64);
        if !felt.is_empty() {
            let barriers: Vec<_> =
                felt.iter().map(|c| (c.pair.gather(&end), surfaces.barrier(c, 1.0))).collect();
            let (time, _) = median(|| barriers.iter().map(|(x, b)| b.gradient(x)[0].x).sum::<f64>());
            let (hessian, _) =
                median(|| barriers.iter().map(|(x, b)| b.projected_hessian(x).0[0][0].x_axis.x).sum::<f64>());
            let per = 1e6 / barriers.len() as f64;
            println!("  barrier: gradient {:.0} ns, projected Hessian {:.0} ns", per * time, per * hessian);
        }
        let written: Vec<[f32; 3]> = start.iter().map(|p| p.as_vec3().to_array()).collect();
        let sheet = Audited { name: "sheet", points: &written, triangles: &triangles, is_obstacle: false };
        let (time, crossings) = median(|| audit(&[sheet]).map(|found| found.len()));
        println!("  audit: {} crossings, {time:.2} ms", crossings?);
    }
    Ok(())
}
