//! S: the smooth surface that folds are added to.

use geometry::{
    Mat3, Prolongation, Scheme, Topology, Vec3, quads_of_triangles, subdivide_polygons, subdivide_times,
    symmetric_eigen3,
};

use crate::Error;

/// Loop subdivisions before fine points are placed between those of the refined mesh.
const LEVELS: usize = 2;
/// Weights below this are left out.
const SMALLEST: f64 = 1.0 / 512.0;
/// Points that differ by less than this part of a coarse edge in a direction say nothing about it.
const GIVE: f64 = 0.2;
/// Fine points may be this part of a coarse edge away from the coarse surface.
const AWAY: f64 = 0.5;

/// Each fine point on the nearest coarse triangle: the paper's B.
pub fn barycentric(coarse: &[Vec3], triangles: &[[u32; 3]], fine: &[Vec3]) -> Result<Prolongation, Error> {
    place(coarse, coarse, triangles, fine)
}

/// Loop's subdivision for any fine mesh: a point that lies in a triangle of the coarse mesh, cut finer, goes where Loop's
/// rules take that triangle. At rest it is where it is.
///
/// Differs: Loop's own rules move hems and corners inwards.
pub fn smooth_subdivision(
    coarse: &[Vec3],
    triangles: &[[u32; 3]],
    fine: &[Vec3],
) -> Result<Prolongation, Error> {
    let flat = subdivide_times(coarse.len(), triangles, Scheme::Linear, LEVELS);
    let smooth = subdivide_times(coarse.len(), triangles, Scheme::Loop, LEVELS);
    let within = place(coarse, &flat.prolongation.vectors(coarse), &flat.triangles, fine)?;
    Ok(at_rest(&smooth.prolongation.then(&within), coarse, triangles, fine))
}

/// The bicubic B-spline for any coarse mesh: Catmull and Clark's subdivision of its quadrangles, which on a grid has that spline as its limit.
/// Triangles that make up quadrangles are put together first. At rest a point is where it is.
///
/// *upsample* compares itself with it in Figure 11. Differs: hems and corners keep their rest shape, as in [`smooth_subdivision`].
pub fn bicubic_subdivision(
    coarse: &[Vec3],
    triangles: &[[u32; 3]],
    fine: &[Vec3],
) -> Result<Prolongation, Error> {
    let faces = quads_of_triangles(coarse, triangles);
    let flat = subdivide_polygons(coarse.len(), &faces, Scheme::Linear, LEVELS);
    let smooth = subdivide_polygons(coarse.len(), &faces, Scheme::Loop, LEVELS);
    let within = place(coarse, &flat.prolongation.vectors(coarse), &flat.triangles(), fine)?;
    Ok(at_rest(&smooth.prolongation.then(&within), coarse, triangles, fine))
}

/// Without weights that say nothing, and so that points at rest are where they are.
fn at_rest(all: &Prolongation, coarse: &[Vec3], triangles: &[[u32; 3]], fine: &[Vec3]) -> Prolongation {
    let give = (GIVE * mean_edge(coarse, triangles)).powi(2);
    let rows = (0..all.fine_count()).map(|i| {
        let kept: Vec<(u32, f64)> = all.row(i).filter(|(_, w)| w.abs() >= SMALLEST).collect();
        let sum: f64 = kept.iter().map(|(_, w)| w).sum();
        let mut row: Vec<(u32, f64)> = kept.into_iter().map(|(j, w)| (j, w / sum)).collect();
        keep_rest(&mut row, coarse, fine[i], give);
        row
    });
    Prolongation::new(coarse.len(), rows)
}

/// Changes the weights of a row as little as takes the coarse points at rest to the fine one: Loop's rules draw in hems and round off
/// corners, and a cloth that hangs flat would be smaller than it is.
///
/// With A the coarse points of the row about their middle and δ what is missing, w += Aᵀ(AAᵀ)⁺δ is the smallest change; it sums to
/// zero. Directions are left alone in which the points hardly differ: across a flat piece of cloth.
fn keep_rest(row: &mut [(u32, f64)], coarse: &[Vec3], fine: Vec3, give: f64) {
    let at = |j: u32| coarse[j as usize];
    let middle = row.iter().map(|(j, _)| at(*j)).sum::<Vec3>() / row.len().max(1) as f64;
    let missing = fine - row.iter().map(|(j, w)| *w * at(*j)).sum::<Vec3>();
    let mut gram = Mat3::ZERO;
    for (j, _) in row.iter() {
        let a = at(*j) - middle;
        gram += Mat3::from_cols(a * a.x, a * a.y, a * a.z);
    }
    let (values, axes) = symmetric_eigen3(&gram);
    let part = |k: usize| axes.col(k) * (axes.col(k).dot(missing) / values[k]);
    let u: Vec3 = (0..3).filter(|&k| values[k] > give).map(part).sum();
    row.iter_mut().for_each(|(j, w)| *w += (at(*j) - middle).dot(u));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of side 1 with n × n cells.
    fn square(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let place = |i: u32, j: u32| Vec3::new(f64::from(i), f64::from(j), 0.0) / f64::from(n);
        let points = (0..=n).flat_map(|j| (0..=n).map(move |i| place(i, j))).collect();
        let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
        let cut =
            |(i, j)| [[at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]];
        (points, cells.flat_map(cut).collect())
    }

    #[test]
    fn cloth_at_rest_is_where_it_is_hem_and_corners_included() {
        let ((coarse, triangles), (fine, _)) = (square(6), square(24));
        for make in [smooth_subdivision, bicubic_subdivision] {
            let smooth = make(&coarse, &triangles, &fine).unwrap();
            let shown = smooth.vectors(&coarse);
            let farthest = shown.iter().zip(&fine).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            // Loop's own rules round off corners by a twelfth of an edge and more: 15 mm here
            assert!(farthest < 1e-3, "{farthest} m");
            for i in 0..smooth.fine_count() {
                let sum: f64 = smooth.row(i).map(|(_, w)| w).sum();
                assert!((sum - 1.0).abs() < 1e-12 && smooth.row(i).all(|(_, w)| w.abs() < 1.5), "row {i}");
            }
        }
    }
}
