//! Folds that grow with the bend of a square, learnt from forty pairs of frames.
#![allow(clippy::print_stdout)]

use geometry::{Scheme, Vec3, subdivide_times};
use upsample::{Harmonics, Learning, Pairs, learn, smooth_subdivision};

fn main() -> Result<(), upsample::Error> {
    // a square of four triangles, cut finer; folds that grow with the bend of the coarse square
    let coarse =
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]].map(|[x, y]| Vec3::new(x, y, 0.0));
    let triangles = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
    let cut = subdivide_times(5, &triangles, Scheme::Linear, 3);
    let fine = cut.prolongation.vectors(&coarse);
    let subdivision = smooth_subdivision(&coarse, &triangles, &fine)?;
    let mut pairs = Pairs::default();
    for frame in 0..40 {
        let lift = (0.4 * f64::from(frame)).sin();
        let mut bent = coarse;
        bent[4].z = 0.2 * lift;
        bent[0].z = 0.1 * (0.9 * f64::from(frame)).cos();
        let folds = |p: &Vec3| 0.05 * lift * (9.0 * p.x).sin();
        let smooth = subdivision.vectors(&bent);
        let wrinkled = smooth.iter().zip(&fine).map(|(s, p)| *s + folds(p) * Vec3::Z).collect();
        pairs.push(&bent, wrinkled);
    }
    let harmonics = Harmonics::new(&fine, &cut.triangles, 60)?;
    let learnt = learn(&pairs, &subdivision, &harmonics, None, &Learning::default())?;
    assert!(learnt.report.training_rms < 0.2 * learnt.report.smooth_rms);
    println!(
        "{:.4} of the smooth surface's error is left",
        learnt.report.training_rms / learnt.report.smooth_rms
    );
    Ok(())
}
