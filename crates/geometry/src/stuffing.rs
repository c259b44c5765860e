//! Isosurface stuffing: the background's tets cut off where a field changes its sign.
//!
//! Labelle & Shewchuk 2007. A lattice point is in (field below zero) or out; an edge between the two is cut where the field
//! is zero, by linear interpolation. A point with a cut too close to it is moved onto that cut, which removes the
//! slivers before they arise; what is left of each tet is one of a few shapes. With the thresholds below their
//! computer-assisted proof gives dihedral angles between 10.7° and 164.8° for every field whatever.
//!
//! Differs: the field need not be smooth, nor the surface be resolved; neighbours of moved points must be lattice tets, which
//! the caller arranges (the proof for graded meshes with moved points is weaker).

use std::collections::HashMap;

use crate::{Vec3, tet_volume};

/// A cut nearer to the end of an edge than this part of its length moves the end: for the lattice's long and short edges.
const NEAR_LONG: f64 = 0.24999;
const NEAR_SHORT: f64 = 0.41189;

/// The lattice that is cut.
pub(crate) struct Background<'a> {
    /// Where the lattice points are, in halves of a cell's side.
    pub(crate) places: &'a [[i32; 3]],
    /// Where they are, in metres.
    pub(crate) positions: &'a [Vec3],
    /// The field there: below zero inside.
    pub(crate) values: &'a [f64],
    /// Tets, oriented.
    pub(crate) tets: &'a [[u32; 4]],
}

/// Whether the lattice point, an end of an edge, is of the cubes' corners: ends of equal kind make a long edge.
fn is_long(a: [i32; 3], b: [i32; 3]) -> bool {
    (a[0] ^ b[0]) & 1 == 0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    In,
    On,
    Out,
}

/// Cuts the background; gives points and tets of what is inside, oriented. Points that nothing uses are left out.
pub(crate) fn stuff(background: &Background) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let Background { places, positions, values, tets } = *background;
    let count = places.len();
    let crossing = |i: u32, j: u32| (values[i as usize] < 0.0) != (values[j as usize] < 0.0);
    // every cut edge once, from both ends
    let mut cuts: Vec<(u32, u32)> = Vec::new();
    for tet in tets {
        for [i, j] in crate::TET_EDGES.map(|[i, j]| [tet[i], tet[j]]) {
            if crossing(i, j) {
                cuts.extend([(i, j), (j, i)]);
            }
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    // the cut's place on the edge, as a fraction of its length from `i`
    let fraction = |i: u32, j: u32| {
        let (a, b) = (values[i as usize], values[j as usize]);
        (a / (a - b)).clamp(0.0, 1.0)
    };
    let on_edge = |inner: u32, outer: u32| {
        positions[inner as usize].lerp(positions[outer as usize], fraction(inner, outer))
    };
    let mut sides: Vec<Side> = values.iter().map(|&v| if v < 0.0 { Side::In } else { Side::Out }).collect();
    let mut points = positions.to_vec();
    for run in cuts.chunk_by(|a, b| a.0 == b.0) {
        let i = run[0].0;
        let mut nearest: Option<(f64, u32)> = None;
        for &(_, j) in run {
            if sides[j as usize] == Side::On {
                continue;
            }
            let long = is_long(places[i as usize], places[j as usize]);
            let t = fraction(i, j);
            let length = if long { 2.0 } else { 3.0_f64.sqrt() };
            if t < (if long { NEAR_LONG } else { NEAR_SHORT }) && nearest.is_none_or(|(d, _)| t * length < d)
            {
                nearest = Some((t * length, j));
            }
        }
        if let Some((_, j)) = nearest {
            let (inner, outer) = if values[i as usize] < 0.0 { (i, j) } else { (j, i) };
            points[i as usize] = on_edge(inner, outer);
            sides[i as usize] = Side::On;
        }
    }
    // new points on the cuts that are left; looked up, never iterated over
    let mut on_cut: HashMap<(u32, u32), u32> = HashMap::new();
    let mut cut = |inner: u32, outer: u32| {
        *on_cut.entry((inner, outer)).or_insert_with(|| {
            points.push(on_edge(inner, outer));
            points.len() as u32 - 1
        })
    };
    let mut result = Vec::with_capacity(tets.len());
    for tet in tets {
        cut_tet(tet, places, |v| sides[v as usize], &mut cut, &mut result);
    }
    for tet in &mut result {
        if tet_volume(tet.map(|v| points[v as usize])) < 0.0 {
            tet.swap(2, 3);
        }
    }
    debug_assert!(points.len() >= count);
    (points, result)
}

/// Adds what is left of one tet.
fn cut_tet(
    tet: &[u32; 4],
    places: &[[i32; 3]],
    side: impl Fn(u32) -> Side + Copy,
    cut: &mut impl FnMut(u32, u32) -> u32,
    result: &mut Vec<[u32; 4]>,
) {
    let pick = |wanted: Side| tet.iter().copied().filter(move |&v| side(v) == wanted);
    let (mut inner, mut outer) = ([0; 4], [0; 4]);
    let (mut inner_count, mut outer_count) = (0, 0);
    for v in pick(Side::In) {
        inner[inner_count] = v;
        inner_count += 1;
    }
    for v in pick(Side::Out) {
        outer[outer_count] = v;
        outer_count += 1;
    }
    let long = |a: u32, b: u32| is_long(places[a as usize], places[b as usize]);
    match (inner_count, outer_count) {
        (0, _) => {}
        (_, 0) => result.push(*tet),
        // a corner is left
        (1, _) => result.push(tet.map(|v| if side(v) == Side::Out { cut(inner[0], v) } else { v })),
        (2, 1) => {
            let Some(apex) = pick(Side::On).next() else { return };
            let (from, to) = diagonal(inner[0], inner[1], outer[0], places);
            let (cut_from, cut_to) = (cut(from, outer[0]), cut(to, outer[0]));
            result.extend([[apex, from, to, cut_to], [apex, from, cut_to, cut_from]]);
        }
        (2, _) => {
            // a wedge with the inner edge (p, q) and a quad on each face with it; their diagonals always start at
            // different ends, by `diagonal`'s rule, which makes the third
            let [m, n] = [outer[0], outer[1]];
            let (p, q) = diagonal(inner[0], inner[1], m, places);
            let [pm, pn, qm, qn] = [cut(p, m), cut(p, n), cut(q, m), cut(q, n)];
            result.extend([[p, q, qm, pn], [p, pm, pn, qm], [q, qm, qn, pn]]);
        }
        (_, _) => {
            // the far corner is cut off; p is at the other end of its long edge
            let m = outer[0];
            let first = (0..3).find(|&i| long(inner[i], m)).unwrap_or(0);
            let (p, q, r) = (inner[first], inner[(first + 1) % 3], inner[(first + 2) % 3]);
            let (from, to) = diagonal(q, r, m, places);
            let [cut_p, cut_from, cut_to] = [cut(p, m), cut(from, m), cut(to, m)];
            result.extend([[p, from, to, cut_p], [cut_p, from, to, cut_to], [cut_p, from, cut_to, cut_from]]);
        }
    }
}

/// The face (p, q, m) with m outside leaves the quad (p, q, cut qm, cut pm). Its diagonal runs from the first point given
/// back to the cut on the second's edge, the same whichever tet asks.
///
/// To the cut on the long edge, where there is one. Otherwise (p, q) is long, and m decides by the parity of its cell: points that
/// stand face to face across (p, q) have different parities, so their diagonals start at different ends.
fn diagonal(p: u32, q: u32, m: u32, places: &[[i32; 3]]) -> (u32, u32) {
    let [at_p, at_q, at_m] = [p, q, m].map(|v| places[v as usize]);
    if is_long(at_p, at_m) {
        return (q, p);
    } else if is_long(at_q, at_m) {
        return (p, q);
    }
    let (low, high) = if at_p < at_q { (p, q) } else { (q, p) };
    // corners are even, centres odd: halve either to number the cells
    let parity = at_m.iter().map(|x| x.div_euclid(2)).sum::<i32>() & 1;
    if parity == 0 { (low, high) } else { (high, low) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::octree::{Fate, MOST_CELLS, Octree};
    use crate::{TetMesh, TetQuality};

    /// Stuffs a field over a cube of cells of side 1 about the origin.
    fn stuffed(reach: f64, field: impl Fn(Vec3) -> f64) -> TetMesh {
        let tree = Octree::new(Vec3::ZERO, reach, 1.0, MOST_CELLS, |_, _| Fate::Split).unwrap();
        let tets = tree.tets();
        let mut places: Vec<[i32; 3]> = tets.iter().flat_map(|tet| tet.places).collect();
        places.sort_unstable();
        places.dedup();
        let number = |place: &[i32; 3]| places.binary_search(place).unwrap() as u32;
        let tets: Vec<[u32; 4]> = tets.iter().map(|tet| tet.places.each_ref().map(number)).collect();
        let positions: Vec<Vec3> = places.iter().map(|&place| tree.position(place)).collect();
        let values: Vec<f64> = positions.iter().map(|&p| field(p)).collect();
        let (points, tets) =
            stuff(&Background { places: &places, positions: &positions, values: &values, tets: &tets });
        TetMesh::new(points, tets).unwrap().without_loose_points().0
    }

    /// Volume inside the boundary: the same as the sum over tets only when none overlap.
    fn enclosed(mesh: &TetMesh) -> f64 {
        let corners = |f: [u32; 3]| f.map(|v| mesh.points()[v as usize]);
        mesh.boundary_faces().into_iter().map(corners).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
    }

    #[test]
    fn a_ball_has_the_balls_volume_with_second_order() {
        let error = |radius: f64| {
            let volume = TetQuality::of(&stuffed(16.0, |p| p.length() - radius)).volume;
            let ball = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
            (ball - volume).abs() / ball
        };
        let (coarse, fine) = (error(4.03), error(12.09));
        // a third of the edge relative to the ball: a ninth of the error
        assert!(coarse < 0.05 && fine < coarse / 7.0, "{coarse} {fine}");
    }

    #[test]
    fn dihedral_angles_stay_within_the_proved_bounds_for_smooth_and_wild_fields() {
        let mut random = Random::new(17);
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
        let mut judge = |mesh: &TetMesh| {
            let quality = TetQuality::of(mesh);
            smallest = smallest.min(quality.smallest_dihedral.to_degrees());
            largest = largest.max(quality.largest_dihedral.to_degrees());
            assert_eq!(quality.overfull_faces, 0);
            assert!((enclosed(mesh) - quality.volume).abs() < 1e-9 * quality.volume);
        };
        for _ in 0..6 {
            let (shift, radius) = (random.vec3(), 3.0 + 3.0 * random.unit());
            judge(&stuffed(8.0, |p| (p - shift).length() - radius));
            let normal = random.vec3().normalize();
            judge(&stuffed(8.0, |p| (p.dot(normal)).abs().max(p.length() - 6.5) - 0.7 - random_of(p, 0.0)));
        }
        for seed in 0..4 {
            // noise: every combination of signs and fractions
            judge(&stuffed(8.0, |p| random_of(p, f64::from(seed) + 0.5).max(p.abs().max_element() - 6.5)));
        }
        assert!(smallest > 10.7 && largest < 164.8, "{smallest} {largest}");
    }

    /// A number from −1 to 1 that depends on the place alone.
    fn random_of(p: Vec3, seed: f64) -> f64 {
        if seed == 0.0 {
            return 0.0;
        }
        let bits = (p * 1024.0 + seed).to_array().map(|x| x as i64 as u64);
        2.0 * Random::new(bits[0] ^ bits[1].rotate_left(20) ^ bits[2].rotate_left(40)).unit() - 1.0
    }
}
