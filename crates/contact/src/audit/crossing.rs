//! Do two triangles cross? Exactly, whatever their shape: no tolerance, no rounding.
//!
//! Everything is decided by signs of determinants, which the `robust` predicates give exactly. A triangle is the closed
//! convex hull of its corners, so a collapsed one is a segment or a point and is tested as such. Two facts carry the
//! code: two triangles meet exactly if an edge of one meets the other; and two coplanar sets meet exactly if their
//! images do under a projection that does not flatten their plane.
//!
//! Triangles that share a corner always touch there. They cross if they have more in common than what they share:
//! since the common part is convex, it then reaches an edge opposite the shared corner.

use robust::{Coord, Coord3D};

/// A corner: exact coordinates.
pub(crate) type Point = [f64; 3];

/// A triangle, and whether its corners lie on one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub(crate) corners: [Point; 3],
    is_collapsed: bool,
}

impl Triangle {
    pub(crate) fn new(corners: [Point; 3]) -> Self {
        Self { corners, is_collapsed: is_collapsed(&corners) }
    }
}

/// Whether two triangles meet beyond the corners they share. `same(i, j)` tells whether corner i of the first *is*
/// corner j of the second.
pub(crate) fn cross(first: &Triangle, second: &Triangle, same: impl Fn(usize, usize) -> bool) -> bool {
    let (a, b) = (&first.corners, &second.corners);
    let mut shared = [(0, 0); 3];
    let mut count = 0;
    for i in 0..3 {
        if let Some(j) = (0..3).find(|&j| same(i, j)) {
            shared[count] = (i, j);
            count += 1;
        }
    }
    match count {
        0 => meet(first, second),
        // A collapsed triangle has nothing but its edges, and those belong to its neighbours as well.
        _ if first.is_collapsed || second.is_collapsed => false,
        1 => {
            let (i, j) = shared[0];
            let opposite_a = [a[(i + 1) % 3], a[(i + 2) % 3]];
            let opposite_b = [b[(j + 1) % 3], b[(j + 2) % 3]];
            segment_meets(&opposite_a, b) || segment_meets(&opposite_b, a)
        }
        2 => {
            // Beyond a common edge they meet only when one is folded flat onto the other.
            let apex_a = a[3 - shared[0].0 - shared[1].0];
            let apex_b = b[3 - shared[0].1 - shared[1].1];
            let (e0, e1) = (a[shared[0].0], a[shared[1].0]);
            side(e0, e1, apex_a, apex_b) == 0 && folded_flat(e0, e1, apex_a, apex_b)
        }
        _ => false, // the same triangle twice
    }
}

/// Whether two closed triangles have a point in common.
fn meet(first: &Triangle, second: &Triangle) -> bool {
    let (a, b) = (&first.corners, &second.corners);
    match (first.is_collapsed, second.is_collapsed) {
        (true, true) => segments_meet(&hull(a), &hull(b)),
        (true, false) => segment_meets(&hull(a), b),
        (false, true) => segment_meets(&hull(b), a),
        (false, false) => {
            // Most pairs that reach this point are told apart by one plane.
            let sides = |of: &[Point; 3], by: &[Point; 3]| of.map(|p| side(by[0], by[1], by[2], p));
            let one_sided = |s: [i8; 3]| s == [1; 3] || s == [-1; 3];
            let of_b = sides(b, a);
            if one_sided(of_b) {
                return false;
            }
            let of_a = sides(a, b);
            if one_sided(of_a) {
                return false;
            }
            let edges = [(0, 1), (1, 2), (2, 0)];
            edges.iter().any(|&(i, j)| segment_meets_with(&[a[i], a[j]], [of_a[i], of_a[j]], b))
                || edges.iter().any(|&(i, j)| segment_meets_with(&[b[i], b[j]], [of_b[i], of_b[j]], a))
        }
    }
}

/// Whether a segment meets a triangle that has an area.
fn segment_meets(s: &[Point; 2], t: &[Point; 3]) -> bool {
    segment_meets_with(s, s.map(|p| side(t[0], t[1], t[2], p)), t)
}

/// The same, knowing on which sides of the triangle's plane the ends lie.
fn segment_meets_with(s: &[Point; 2], ends: [i8; 2], t: &[Point; 3]) -> bool {
    match ends {
        [0, 0] => coplanar_meet(s, t),
        [e0, e1] if e0 == e1 => false,
        _ => {
            // The line passes through the plane at one point, which is inside if it passes all edges on the same side.
            let turns = [(0, 1), (1, 2), (2, 0)].map(|(i, j)| side(s[0], s[1], t[i], t[j]));
            turns.iter().all(|&turn| turn >= 0) || turns.iter().all(|&turn| turn <= 0)
        }
    }
}

/// Whether two segments meet, in space.
fn segments_meet(s: &[Point; 2], t: &[Point; 2]) -> bool {
    side(s[0], s[1], t[0], t[1]) == 0 && coplanar_meet(s, t)
}

/// Whether two coplanar convex sets (points, segments, triangles, given by their corners) meet.
fn coplanar_meet(a: &[Point], b: &[Point]) -> bool {
    let Some(axis) = faithful_axis(a, b) else {
        // All on one line: lexicographic order runs along it.
        let order = |x: &&Point, y: &&Point| x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal);
        let range = |set: &[Point]| set.iter().min_by(order).copied().zip(set.iter().max_by(order).copied());
        return match (range(a), range(b)) {
            (Some((min_a, max_a)), Some((min_b, max_b))) => min_a <= max_b && min_b <= max_a,
            _ => false,
        };
    };
    let flatten = |p: &Point| Coord { x: p[(axis + 1) % 3], y: p[(axis + 2) % 3] };
    let a: Vec<Coord<f64>> = a.iter().map(flatten).collect();
    let b: Vec<Coord<f64>> = b.iter().map(flatten).collect();
    let sides = |set: &[Coord<f64>]| -> Vec<[Coord<f64>; 2]> {
        (0..set.len()).map(|i| [set[i], set[(i + 1) % set.len()]]).collect()
    };
    sides(&a).iter().any(|s| sides(&b).iter().any(|t| segments_meet_in_plane(s, t)))
        || is_inside(a[0], &b)
        || is_inside(b[0], &a)
}

/// The coordinate to drop so that the plane of all these points keeps its area; none if they are on one line.
fn faithful_axis(a: &[Point], b: &[Point]) -> Option<usize> {
    let all: Vec<Point> = a.iter().chain(b).copied().collect();
    (0..3).find(|&axis| {
        let flat = |p: &Point| Coord { x: p[(axis + 1) % 3], y: p[(axis + 2) % 3] };
        (0..all.len())
            .any(|i| (0..i).any(|j| (0..j).any(|k| turn(flat(&all[i]), flat(&all[j]), flat(&all[k])) != 0)))
    })
}

fn segments_meet_in_plane(s: &[Coord<f64>; 2], t: &[Coord<f64>; 2]) -> bool {
    let [a, b] = [turn(s[0], s[1], t[0]), turn(s[0], s[1], t[1])];
    let [c, d] = [turn(t[0], t[1], s[0]), turn(t[0], t[1], s[1])];
    if a != b && c != d && a * b <= 0 && c * d <= 0 {
        return true;
    }
    let within = |p: Coord<f64>, s: &[Coord<f64>; 2]| {
        p.x >= s[0].x.min(s[1].x)
            && p.x <= s[0].x.max(s[1].x)
            && p.y >= s[0].y.min(s[1].y)
            && p.y <= s[0].y.max(s[1].y)
    };
    (a == 0 && within(t[0], s))
        || (b == 0 && within(t[1], s))
        || (c == 0 && within(s[0], t))
        || (d == 0 && within(s[1], t))
}

/// Whether a point is strictly inside a triangle of the plane; false for segments, whose sides tell all.
fn is_inside(p: Coord<f64>, set: &[Coord<f64>]) -> bool {
    let turns = |k: i8| (0..3).all(|i| turn(set[i], set[(i + 1) % 3], p) == k);
    set.len() == 3 && (turns(1) || turns(-1))
}

/// Whether two coplanar triangles about the edge e0 e1 lie on the same side of it.
fn folded_flat(e0: Point, e1: Point, apex_a: Point, apex_b: Point) -> bool {
    let agrees = |axis: usize| {
        let flat = |p: Point| Coord { x: p[(axis + 1) % 3], y: p[(axis + 2) % 3] };
        let [a, b] = [apex_a, apex_b].map(|apex| turn(flat(e0), flat(e1), flat(apex)));
        (a != 0).then_some(a == b)
    };
    (0..3).find_map(agrees).unwrap_or(false)
}

/// Whether the corners lie on one line.
fn is_collapsed(t: &[Point; 3]) -> bool {
    (0..3).all(|axis| {
        let [a, b, c] = t.map(|p| Coord { x: p[(axis + 1) % 3], y: p[(axis + 2) % 3] });
        turn(a, b, c) == 0
    })
}

/// The ends of a collapsed triangle: its corners are on one line, along which lexicographic order runs.
fn hull(t: &[Point; 3]) -> [Point; 2] {
    let less = |a: Point, b: Point| if b < a { b } else { a };
    let more = |a: Point, b: Point| if b > a { b } else { a };
    [less(less(t[0], t[1]), t[2]), more(more(t[0], t[1]), t[2])]
}

/// On which side of the plane (a, b, c) the point lies: 1, 0 or −1.
fn side(a: Point, b: Point, c: Point, p: Point) -> i8 {
    let [a, b, c, p] = [a, b, c, p].map(|p| Coord3D { x: p[0], y: p[1], z: p[2] });
    sign(robust::orient3d(a, b, c, p))
}

/// 1 if a, b, c turn left, −1 if right, 0 on one line.
fn turn(a: Coord<f64>, b: Coord<f64>, c: Coord<f64>) -> i8 {
    sign(robust::orient2d(a, b, c))
}

fn sign(x: f64) -> i8 {
    i8::from(x > 0.0) - i8::from(x < 0.0)
}

#[cfg(test)]
mod tests {
    use num_rational::BigRational;
    use num_rational::Ratio;

    use super::*;
    use crate::testing::{Exact, dot, exact, sub};
    use geometry::Random;

    fn crossed(a: &[Point; 3], b: &[Point; 3], same: impl Fn(usize, usize) -> bool) -> bool {
        cross(&Triangle::new(*a), &Triangle::new(*b), same)
    }

    fn vector_product(a: &Exact, b: &Exact) -> Exact {
        std::array::from_fn(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            &a[j] * &b[k] - &a[k] * &b[j]
        })
    }

    fn zero() -> BigRational {
        Ratio::from_integer(0.into())
    }

    /// Cuts a convex polygon down to where n·(x − o) ≥ 0.
    fn clip(polygon: &[Exact], n: &Exact, o: &Exact) -> Vec<Exact> {
        let heights: Vec<BigRational> = polygon.iter().map(|p| dot(n, &sub(p, o))).collect();
        let mut kept = Vec::new();
        for i in 0..polygon.len() {
            let j = (i + 1) % polygon.len();
            if heights[i] >= zero() {
                kept.push(polygon[i].clone());
            }
            if (heights[i] > zero() && heights[j] < zero()) || (heights[i] < zero() && heights[j] > zero()) {
                let t = &heights[i] / (&heights[i] - &heights[j]);
                let step = sub(&polygon[j], &polygon[i]);
                kept.push(std::array::from_fn(|k| &polygon[i][k] + &t * &step[k]));
            }
        }
        kept
    }

    /// Corners of the common part of two triangles, the second not collapsed: the first cut by the second's plane (from
    /// both sides) and by the three planes through its edges. Rational numbers, another way than the one tested.
    fn common(a: &[Point; 3], b: &[Point; 3]) -> Vec<Exact> {
        let b: Vec<Exact> = b.iter().copied().map(exact).collect();
        let n = vector_product(&sub(&b[1], &b[0]), &sub(&b[2], &b[0]));
        let minus: Exact = std::array::from_fn(|i| -&n[i]);
        let mut polygon: Vec<Exact> = a.iter().copied().map(exact).collect();
        polygon = clip(&polygon, &n, &b[0]);
        polygon = clip(&polygon, &minus, &b[0]);
        for i in 0..3 {
            let inward = vector_product(&n, &sub(&b[(i + 1) % 3], &b[i]));
            polygon = clip(&polygon, &inward, &b[i]);
        }
        polygon
    }

    fn truly_cross(a: &[Point; 3], b: &[Point; 3], shared: &[Point]) -> bool {
        let (from, by) = if is_collapsed(b) { (b, a) } else { (a, b) };
        let shared: Vec<Exact> = shared.iter().copied().map(exact).collect();
        let part = common(from, by);
        match shared.len() {
            0 => !part.is_empty(),
            1 => part.iter().any(|p| *p != shared[0]),
            2 => part.iter().any(|p| {
                let line = sub(&shared[1], &shared[0]);
                vector_product(&line, &sub(p, &shared[0])).iter().any(|x| *x != zero())
            }),
            _ => false,
        }
    }

    fn grid_point(random: &mut Random, size: usize, scale: f64) -> Point {
        std::array::from_fn(|_| (random.below(size) as f64 - size as f64 / 2.0) * scale)
    }

    fn triangle(random: &mut Random, size: usize, scale: f64) -> [Point; 3] {
        std::array::from_fn(|_| grid_point(random, size, scale))
    }

    /// Small grids make every degenerate case common: touching corners, edges on edges, coplanar overlaps, collapsed
    /// triangles. `scale` shows that awkward binary fractions change nothing.
    #[test]
    fn agrees_with_rational_arithmetic_on_grids() {
        let mut random = Random::new(1);
        let mut seen = [[0_usize; 2]; 3];
        for (size, scale, rounds) in
            [(3, 1.0, 5000), (4, f64::from(0.1_f32), 5000), (9, 1.0, 4000), (1 << 20, 1e-7, 1500)]
        {
            for round in 0..rounds {
                let a = triangle(&mut random, size, scale);
                let mut b = triangle(&mut random, size, scale);
                if round % 4 == 0 {
                    // one plane for both
                    let height = a[0][2];
                    b.iter_mut().for_each(|p| p[2] = height);
                }
                let flat_a: [Point; 3] = if round % 4 == 0 { a.map(|p| [p[0], p[1], a[0][2]]) } else { a };
                let shared = (round % 3) as usize;
                b[..shared].clone_from_slice(&flat_a[..shared]);
                // corners that coincide by chance would be shared as well
                let same = |i: usize, j: usize| i == j && i < shared;
                let chance = (0..3).any(|i| (0..3).any(|j| !same(i, j) && flat_a[i] == b[j]));
                let collapsed = (is_collapsed(&flat_a), is_collapsed(&b));
                if (shared > 0 && (chance || collapsed.0 || collapsed.1)) || collapsed == (true, true) {
                    continue;
                }
                let expected = truly_cross(&flat_a, &b, &flat_a[..shared]);
                assert_eq!(crossed(&flat_a, &b, same), expected, "{flat_a:?} {b:?} {shared}");
                assert_eq!(crossed(&b, &flat_a, |i, j| same(j, i)), expected, "swapped {flat_a:?} {b:?}");
                seen[shared][usize::from(expected)] += 1;
            }
        }
        assert!(seen.iter().flatten().all(|&n| n > 300), "both answers were met in every case: {seen:?}");
    }

    /// Neighbouring floats around a touch: the answer flips exactly where it should.
    #[test]
    fn a_last_bit_decides() {
        let floor = [[0.1, 0.1, 0.3], [1.1, 0.1, 0.3], [0.1, 1.1, 0.3]];
        let spike = |z: f64| [[0.3, 0.3, z], [0.3, 0.4, 1.0], [0.4, 0.3, 1.0]];
        let apart = |_, _| false;
        assert!(crossed(&floor, &spike(0.3), apart));
        assert!(!crossed(&floor, &spike(0.3_f64.next_up()), apart));
        assert!(crossed(&floor, &spike(0.3_f64.next_down()), apart));
    }

    #[test]
    fn two_collapsed_triangles_are_two_segments() {
        let x = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        let apart = |_, _| false;
        let moved = |p: Point| {
            [[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.5, 0.0]]
                .map(|q: Point| [q[0] + p[0], q[1] + p[1], q[2] + p[2]])
        };
        assert!(crossed(&x, &moved([0.0, 0.0, 0.0]), apart));
        assert!(!crossed(&x, &moved([0.0, 0.0, 1e-300]), apart));
        assert!(!crossed(&x, &moved([1.5, 0.0, 0.0]), apart));
        assert!(crossed(&x, &moved([1.0, 1.0, 0.0]), apart), "end on end");
        let beyond = [[2.5, 0.0, 0.0], [3.0, 0.0, 0.0], [2.75, 0.0, 0.0]];
        assert!(!crossed(&x, &beyond, apart), "on one line, apart");
        assert!(crossed(&x, &[[2.0, 0.0, 0.0]; 3], apart), "a point on an end");
    }
}
