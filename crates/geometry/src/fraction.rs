//! How much of a tet lies inside of a surface: integrals over an object take cut cells by this part.

use rayon::prelude::*;

use crate::{SurfaceQuery, TET_EDGES, TetMesh, Vec3};

/// Cut tets are halved along all edges at most so many times before the surface is taken as flat in them: in small meshes, and in large
/// ones, whose tets are small themselves.
const DEEPEST: [u32; 2] = [3, 2];
/// What a large mesh is, in tets.
const LARGE: usize = 2000;

/// The part of every tet that lies inside of the surface, from 0 to 1.
///
/// A tet that the surface may cut is split into eight, and again; in the smallest ones distance is taken as linear. The error of that
/// is of second order in their size, so that the last two sizes together tell what is missing (Richardson). skeleton §3.3. Differs:
/// the paper keeps cut tets whole.
pub fn fractions_inside(mesh: &TetMesh, surface: &SurfaceQuery) -> Vec<f64> {
    let at_points: Vec<f64> = mesh.points().par_iter().map(|&p| surface.signed_distance(p)).collect();
    let depth = DEEPEST[usize::from(mesh.tets().len() > LARGE)];
    let of = |tet: usize| {
        let values = mesh.tets()[tet].map(|v| at_points[v as usize]);
        let [fine, coarse] = part(&|p| surface.signed_distance(p), mesh.corners(tet), values, depth);
        (fine + (fine - coarse) / 3.0).clamp(0.0, 1.0)
    };
    (0..mesh.tets().len()).into_par_iter().map(of).collect()
}

/// The part of a tet in which a distance field is below zero: by the smallest tets, and by those twice as large.
fn part(field: &impl Fn(Vec3) -> f64, corners: [Vec3; 4], values: [f64; 4], depth: u32) -> [f64; 2] {
    let longest = TET_EDGES.iter().map(|&[i, j]| corners[i].distance(corners[j])).fold(0.0, f64::max);
    // no point of a tet is farther than its longest edge from any corner
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(l, m), &v| (l.min(v), m.max(v)));
    if most > longest {
        return [0.0; 2];
    }
    if least < -longest {
        return [1.0; 2];
    }
    if depth == 0 {
        return [linear_part(values); 2];
    }
    let middles = TET_EDGES.map(|[i, j]| corners[i].midpoint(corners[j]));
    let at_middles = middles.map(field);
    let pick = |k: usize| if k < 4 { (corners[k], values[k]) } else { (middles[k - 4], at_middles[k - 4]) };
    // four at the corners, four around the diagonal from the middle of edge 01 to that of 23
    const EIGHT: [[usize; 4]; 8] = [
        [0, 4, 5, 6],
        [4, 1, 7, 8],
        [5, 7, 2, 9],
        [6, 8, 9, 3],
        [4, 9, 5, 6],
        [4, 9, 6, 8],
        [4, 9, 8, 7],
        [4, 9, 7, 5],
    ];
    let of = |tet: &[usize; 4]| {
        let picked = tet.map(pick);
        part(field, picked.map(|(p, _)| p), picked.map(|(_, v)| v), depth - 1)
    };
    let mut sum = [0.0; 2];
    for [fine, coarse] in EIGHT.iter().map(of) {
        sum = [sum[0] + fine / 8.0, sum[1] + coarse / 8.0];
    }
    if depth == 1 { [sum[0], linear_part(values)] } else { sum }
}

/// The part of a tet in which a linear function with these values at the corners is below zero.
fn linear_part(mut values: [f64; 4]) -> f64 {
    values.sort_by(f64::total_cmp);
    let [a, b, c, d] = values;
    // where the edge from a negative to a positive end is cut, from the negative one
    let cut = |low: f64, high: f64| low / (low - high);
    match values.iter().filter(|&&v| v < 0.0).count() {
        0 => 0.0,
        1 => cut(a, b) * cut(a, c) * cut(a, d),
        2 => {
            let [ac, ad, bc, bd] = [cut(a, c), cut(a, d), cut(b, c), cut(b, d)];
            bc * bd + ac * ad * (1.0 - bd) + ac * (1.0 - bc) * bd
        }
        3 => 1.0 - cut(d, a) * cut(d, b) * cut(d, c),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::testing::sphere;

    #[test]
    fn the_linear_part_agrees_with_counting() {
        let mut random = Random::new(4);
        for _ in 0..12 {
            let values: [f64; 4] = std::array::from_fn(|_| 2.0 * random.unit() - 1.0);
            let total = 40_000;
            let mut inside = 0;
            for _ in 0..total {
                let mut w: [f64; 4] = std::array::from_fn(|_| -random.unit().max(1e-300).ln());
                let sum: f64 = w.iter().sum();
                w.iter_mut().for_each(|w| *w /= sum);
                inside += usize::from(values.iter().zip(w).map(|(v, w)| v * w).sum::<f64>() < 0.0);
            }
            let counted = inside as f64 / f64::from(total);
            // four standard deviations of the count
            assert!((linear_part(values) - counted).abs() < 0.01, "{values:?} {counted}");
        }
    }

    #[test]
    fn a_ball_in_coarse_cells_keeps_its_volume_within_a_percent() {
        let (points, triangles) = sphere(32);
        let exact: f64 = triangles
            .iter()
            .map(|t| t.map(|v| points[v as usize]))
            .map(|[a, b, c]| a.dot(b.cross(c)) / 6.0)
            .sum();
        let surface = SurfaceQuery::new(points, triangles).unwrap();
        let mut mesh = TetMesh::box_grid([4, 4, 4], Vec3::splat(2.6)).unwrap();
        let moved = mesh.points().iter().map(|&p| p - Vec3::splat(1.3)).collect();
        mesh = mesh.with_points(moved).unwrap();
        let fractions = fractions_inside(&mesh, &surface);
        let volume: f64 = mesh.volumes().iter().zip(&fractions).map(|(v, f)| v * f).sum();
        assert!((volume / exact - 1.0).abs() < 0.005, "{volume} {exact}");
    }
}
