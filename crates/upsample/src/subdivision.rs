//! S: the smooth surface that folds are added to.

use geometry::{Prolongation, Scheme, Topology, Vec3, subdivide_times};

use crate::Error;

/// Loop subdivisions before fine points are placed between those of the refined mesh.
const LEVELS: usize = 2;
/// Weights below this are left out.
const SMALLEST: f64 = 1.0 / 512.0;
/// Fine points may be this part of a coarse edge away from the coarse surface.
const AWAY: f64 = 0.5;

/// Each fine point on the nearest coarse triangle: the paper's B.
pub fn barycentric(coarse: &[Vec3], triangles: &[[u32; 3]], fine: &[Vec3]) -> Result<Prolongation, Error> {
    place(coarse, coarse, triangles, fine)
}

/// Loop's subdivision for any fine mesh: a point that lies in a triangle of the coarse mesh, cut finer, goes where Loop's
/// rules take that triangle.
pub fn smooth_subdivision(
    coarse: &[Vec3],
    triangles: &[[u32; 3]],
    fine: &[Vec3],
) -> Result<Prolongation, Error> {
    let flat = subdivide_times(coarse.len(), triangles, Scheme::Linear, LEVELS);
    let smooth = subdivide_times(coarse.len(), triangles, Scheme::Loop, LEVELS);
    let within = place(coarse, &flat.prolongation.vectors(coarse), &flat.triangles, fine)?;
    let all = smooth.prolongation.then(&within);
    let rows = (0..all.fine_count()).map(|i| {
        let kept: Vec<(u32, f64)> = all.row(i).filter(|(_, w)| w.abs() >= SMALLEST).collect();
        let sum: f64 = kept.iter().map(|(_, w)| w).sum();
        kept.into_iter().map(|(j, w)| (j, w / sum)).collect()
    });
    Ok(Prolongation::new(coarse.len(), rows))
}

/// Its rows as the run time takes them.
pub fn weights(subdivision: &Prolongation) -> Vec<Vec<(u32, f32)>> {
    let row = |i| subdivision.row(i).map(|(j, w)| (j, w as f32)).collect();
    (0..subdivision.fine_count()).map(row).collect()
}

fn place(
    coarse: &[Vec3],
    cut: &[Vec3],
    triangles: &[[u32; 3]],
    fine: &[Vec3],
) -> Result<Prolongation, Error> {
    let (map, distances) = Prolongation::by_closest_point(cut, triangles, fine)
        .ok_or(Error::LoosePoint { which: "coarse", point: 0 })?;
    let edge = mean_edge(cut, triangles) * (coarse.len() as f64 / cut.len() as f64).sqrt().recip();
    let farthest = (0..fine.len()).max_by(|&i, &j| distances[i].total_cmp(&distances[j]));
    match farthest.filter(|&i| distances[i].is_nan() || distances[i] > AWAY * edge) {
        Some(point) => Err(Error::Apart { point, distance: distances[point], edge }),
        None => Ok(map),
    }
}

/// Mean length of the edges of a mesh, m.
pub(crate) fn mean_edge(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let topology = Topology::new(points.len(), triangles);
    let lengths = topology.edges().iter().map(|edge| {
        let [a, b] = edge.vertices.map(|v| points[v as usize]);
        a.distance(b)
    });
    lengths.sum::<f64>() / topology.edges().len().max(1) as f64
}
