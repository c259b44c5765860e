//! Weights over the tets' points: from a whole map on the surface, or from a few painted vertices.

use std::collections::BTreeMap;
use std::sync::Arc;

use geometry::{Embedding, Mat3, TetMesh, Vec3};
use linear::{ConstraintRows, Matrix, Method, Pattern, Settings, Solver};

use crate::Error;

/// How weights spread from where they are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// ½ wᵀLw least: each weight the mean of its neighbours. Never leaves the range of what was given.
    Harmonic,
    /// ½‖Lw‖² least: smooth also across painted vertices. enrich eq. 14. Clamped to [0, 1].
    BiLaplace,
}

/// Fills in a weight for every point of the tets, given those of some: (point, weight), L the graph Laplacian.
///
/// Parts of the mesh on which nothing is given get 0.
pub fn spread(mesh: &TetMesh, given: &[(u32, f64)], spread: Spread) -> Result<Vec<f64>, Error> {
    let count = mesh.points().len();
    let mut known = vec![false; count];
    let mut x = vec![Vec3::ZERO; count];
    for &(point, weight) in given {
        known[point as usize] = true;
        x[point as usize] = Vec3::new(weight, 0.0, 0.0);
    }
    if known.iter().all(|known| *known) {
        return Ok(x.iter().map(|w| w.x).collect());
    }
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
    for [a, b] in mesh.edges() {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    // rows of L as (point, weight), its own point first
    let row = |i: usize| -> Vec<(u32, f64)> {
        let own = (i as u32, neighbours[i].len() as f64);
        std::iter::once(own).chain(neighbours[i].iter().map(|&j| (j, -1.0))).collect()
    };
    let mut entries: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for i in 0..count {
        let row = row(i);
        match spread {
            Spread::Harmonic => {
                row.iter()
                    .filter(|(j, _)| *j <= i as u32)
                    .for_each(|&(j, w)| *entries.entry((i as u32, j)).or_default() += w);
            }
            Spread::BiLaplace => {
                for &(a, wa) in &row {
                    for &(b, wb) in row.iter().filter(|(b, _)| *b <= a) {
                        *entries.entry((a, b)).or_default() += wa * wb;
                    }
                }
            }
        }
    }
    let pairs: Vec<[u32; 2]> = entries.keys().map(|&(a, b)| [a, b]).collect();
    let pattern = Arc::new(Pattern::from_stencils(count, pairs.iter().map(|pair| &pair[..])));
    let mut matrix = Matrix::new(pattern.clone());
    for (&(a, b), &value) in &entries {
        // a breath of diagonal: where nothing is given, the answer is 0 instead of undetermined
        let value = if a == b { value * (1.0 + 1e-9) + 1e-12 } else { value };
        matrix.add(a, b, Mat3::IDENTITY * value);
    }
    let settings = Settings { method: Method::Direct };
    let rows = ConstraintRows::none(count);
    let mut solver = Solver::new(&pattern, &known, &rows, settings)?;
    let right = vec![Vec3::ZERO; count];
    solver.solve(&matrix, &right, &rows, &[], &mut x, &mut [], 1e-8)?;
    Ok(x.iter().map(|w| w.x.clamp(0.0, 1.0)).collect())
}

/// Weights of the tets' points from weights of the surface: the mean of the vertices around each point, by their barycentric
/// weights; points inside, away from the surface, by spreading.
pub fn from_surface(mesh: &TetMesh, embedding: &Embedding, weights: &[f64]) -> Result<Vec<f64>, Error> {
    let count = mesh.points().len();
    let (mut sum, mut total) = (vec![0.0; count], vec![0.0; count]);
    for (v, (corners, shares)) in embedding.corners().iter().zip(embedding.weights()).enumerate() {
        for (&p, &share) in corners.iter().zip(shares) {
            let share = share.max(0.0);
            sum[p as usize] += share * weights[v];
            total[p as usize] += share;
        }
    }
    let given: Vec<(u32, f64)> =
        (0..count).filter(|&p| total[p] > 1e-6).map(|p| (p as u32, sum[p] / total[p])).collect();
    spread(mesh, &given, Spread::Harmonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar() -> TetMesh {
        TetMesh::box_grid([12, 2, 2], Vec3::new(1.2, 0.2, 0.2)).unwrap()
    }

    /// Held at 0 and 1 at both ends, harmonic weights rise from end to end.
    #[test]
    fn weights_rise_between_what_is_painted() {
        let mesh = bar();
        let end = |x: f64| (0..mesh.points().len()).filter(move |&p| (bar().points()[p].x - x).abs() < 1e-9);
        let given: Vec<(u32, f64)> =
            end(0.0).map(|p| (p as u32, 0.0)).chain(end(1.2).map(|p| (p as u32, 1.0))).collect();
        for kind in [Spread::Harmonic, Spread::BiLaplace] {
            let weights = spread(&mesh, &given, kind).unwrap();
            let mean = |x: f64| {
                let at: Vec<f64> = end(x).map(|p| weights[p]).collect();
                at.iter().sum::<f64>() / at.len() as f64
            };
            for k in 0..12 {
                let (here, there) = (mean(0.1 * f64::from(k)), mean(0.1 * f64::from(k + 1)));
                assert!(there > here + 0.01, "{kind:?} at {k}: {here} {there}");
            }
            assert!((mean(0.6) - 0.5).abs() < 0.02, "{kind:?}: {}", mean(0.6));
        }
    }

    /// A single stroke gives its weight to all that is connected, none gives 0.
    #[test]
    fn one_stroke_paints_everything_and_none_nothing() {
        let mesh = bar();
        for kind in [Spread::Harmonic, Spread::BiLaplace] {
            assert!(spread(&mesh, &[(5, 0.7)], kind).unwrap().iter().all(|w| (w - 0.7).abs() < 1e-3));
            assert!(spread(&mesh, &[], kind).unwrap().iter().all(|w| *w == 0.0));
        }
    }
}
