//! Certificates against exact arithmetic: paths are taken as the rational numbers that their coordinates are, and distances on
//! them are computed without rounding, by another way than the one judged.

use geometry::Vec3;
use num_rational::BigRational;

use super::{Impact, MIN_DISTANCE_RATIO, NEAR, time_of_impact};
use crate::PairKind::{self, EdgeEdge, VertexTriangle};
use crate::testing::{Exact, dot, exact, rational, sub};
use geometry::Random;

/// What each adversarial pair is kept apart by, in its own unit of length.
const MARGIN: f64 = 0.01;

/// p + t·u.
fn along(p: &Exact, t: &BigRational, u: &Exact) -> Exact {
    std::array::from_fn(|i| &p[i] + t * &u[i])
}

/// D² of a point and a segment.
fn to_segment(p: &Exact, a: &Exact, b: &Exact) -> BigRational {
    let (u, r) = (sub(b, a), sub(p, a));
    let (uu, ur) = (dot(&u, &u), dot(&u, &r));
    let (zero, one) = (rational(0.0), rational(1.0));
    let t = if uu > zero { (ur / uu).max(zero).min(one) } else { zero };
    let d = sub(p, &along(a, &t, &u));
    dot(&d, &d)
}

/// D² of a pair: the smallest over its sides, and over its inside where the nearest points of the lines or the plane lie within.
fn distance_squared(kind: PairKind, x: &[Exact; 4]) -> BigRational {
    let [a, b, c, d] = x;
    let zero = rational(0.0);
    // d(s, t) = r − s·u − t·v
    let (u, v, r, rims) = match kind {
        VertexTriangle => {
            let rims = [to_segment(a, b, c), to_segment(a, c, d), to_segment(a, d, b)].to_vec();
            (sub(c, b), sub(d, b), sub(a, b), rims)
        }
        EdgeEdge => {
            let ends = [to_segment(a, c, d), to_segment(b, c, d), to_segment(c, a, b), to_segment(d, a, b)];
            (sub(a, b), sub(d, c), sub(a, c), ends.to_vec())
        }
    };
    let (uu, uv, vv, ur, vr) = (dot(&u, &u), dot(&u, &v), dot(&v, &v), dot(&u, &r), dot(&v, &r));
    let determinant = &uu * &vv - &uv * &uv;
    let mut inside = None;
    if determinant > zero {
        let s = (&vv * &ur - &uv * &vr) / &determinant;
        let t = (&uu * &vr - &uv * &ur) / &determinant;
        let one = rational(1.0);
        let is_inside = match kind {
            VertexTriangle => s >= zero && t >= zero && &s + &t <= one,
            EdgeEdge => s >= zero && t >= zero && s <= one && t <= one,
        };
        let d = along(&along(&r, &-s, &u), &-t, &v);
        inside = is_inside.then(|| dot(&d, &d));
    }
    rims.into_iter().chain(inside).min().expect("sides")
}

/// D² on the exact path at an exact time.
fn distance_squared_at(kind: PairKind, start: &[Vec3; 4], end: &[Vec3; 4], t: &BigRational) -> BigRational {
    let x = std::array::from_fn(|i| {
        let (s, e) = (exact(start[i].to_array()), exact(end[i].to_array()));
        along(&s, t, &sub(&e, &s))
    });
    distance_squared(kind, &x)
}

fn squared(x: f64) -> BigRational {
    rational(x) * rational(x)
}

/// Holds one path to what is promised, without a tolerance where it begins beyond the margin.
fn check(name: &str, kind: PairKind, start: &[Vec3; 4], end: &[Vec3; 4], margin: f64) -> Impact {
    let impact = time_of_impact(kind, start, end, margin);
    let place = format!("{name}, {kind:?}: {start:?} {end:?} {impact:?}");
    let distance_squared = |t: &BigRational| distance_squared_at(kind, start, end, t);
    let initial = distance_squared(&rational(0.0));
    let is_beyond = squared(margin) < &initial * &squared(0.85);
    let required = if is_beyond { squared(margin) } else { squared(0.85) * &initial };
    let reached = rational(impact.time);
    for share in [0.75, 1.0] {
        assert!(distance_squared(&(&reached * rational(share))) >= required, "late: {place}");
    }
    if impact.time < 1.0 {
        let magnitude = start.iter().chain(end).fold(0.0, |most, p| p.abs().max_element().max(most));
        // for the few ulps with which a certificate is padded, twice
        let rounding = 256.0 * f64::EPSILON * magnitude;
        // rounded upwards: a certificate is of the corners, which may be a little nearer along n than the things are
        let room = if is_beyond { squared(margin * (1.0 + 2.0 * NEAR) + rounding) } else { initial.clone() };
        assert!(distance_squared(&reached) <= room, "early: {place}");
    }
    impact
}

/// A pair, and whether it comes nearer than the margin.
type Case = (&'static str, PairKind, [Vec3; 4], [Vec3; 4], bool);

fn moved(x: [Vec3; 4], by: [Vec3; 4]) -> [Vec3; 4] {
    std::array::from_fn(|i| x[i] + by[i])
}

/// A vertex and a triangle in all the ways that are hard.
fn vertex_cases() -> Vec<Case> {
    let [a, b, c] = [Vec3::new(-0.3, 0.0, -0.4), Vec3::new(0.9, 0.0, -0.2), Vec3::new(0.1, 0.0, 0.8)];
    let inside = Vec3::new(0.2, 0.0, 0.1);
    let only = |step: Vec3| [step, Vec3::ZERO, Vec3::ZERO, Vec3::ZERO];
    let mut cases = Vec::new();
    let mut add = |name, p: Vec3, triangle: [Vec3; 3], by: [Vec3; 4], meets| {
        let start = [p, triangle[0], triangle[1], triangle[2]];
        cases.push((name, VertexTriangle, start, moved(start, by), meets));
        // the same, its triangle turned over
        let (flipped, by) = ([p, triangle[0], triangle[2], triangle[1]], [by[0], by[1], by[3], by[2]]);
        cases.push((name, VertexTriangle, flipped, moved(flipped, by), meets));
    };
    let (above, whole) = (inside + 0.5 * Vec3::Y, [a, b, c]);
    add("head on", above, whole, only(-Vec3::Y), true);
    add("away", above, whole, only(Vec3::Y), false);
    add("fast", above, whole, only(-5e3 * Vec3::Y), true);
    add("the triangle comes", above, whole, [Vec3::ZERO, Vec3::Y, Vec3::Y, Vec3::Y], true);
    add("together", inside + 2.0 * MARGIN * Vec3::Y, whole, [7.0 * Vec3::ONE; 4], false);
    for (name, height, meets) in [("grazing above", 1.001, false), ("grazing below", 0.999, true)] {
        let beside = Vec3::new(-2.0, height * MARGIN, 0.1);
        add(name, beside, whole, only(4.0 * Vec3::X), meets);
    }
    add("coplanar", Vec3::new(0.3, 0.0, -2.0), whole, only(4.0 * Vec3::Z), true);
    add("coplanar, past a corner", Vec3::new(2.0, 0.0, -2.0), whole, only(4.0 * Vec3::Z), false);
    add("nearly touching", inside + 0.001 * MARGIN * Vec3::Y, whole, only(-Vec3::Y), true);
    add("nearly touching, sliding", inside + 0.5 * MARGIN * Vec3::Y, whole, only(0.1 * Vec3::X), false);
    add(
        "a triangle without area",
        0.5 * Vec3::Y,
        [a, b, 0.5 * (a + b)],
        only(-Vec3::Y - 0.7 * Vec3::Z),
        true,
    );
    add("a triangle that is a point", a + Vec3::Y, [a; 3], only(-2.0 * Vec3::Y), true);
    let tip = [-0.6 * Vec3::Y, Vec3::ZERO, Vec3::ZERO, 1.2 * Vec3::Y];
    add("the triangle turns", above, whole, tip, true);
    cases
}

/// Two edges likewise.
fn edge_cases() -> Vec<Case> {
    let [a, b] = [Vec3::new(-1.0, 0.0, 0.1), Vec3::new(0.8, 0.0, -0.2)];
    let [c, d] = [Vec3::new(-0.2, 0.0, -0.7), Vec3::new(0.1, 0.0, 0.9)];
    let second = |step: Vec3| [Vec3::ZERO, Vec3::ZERO, step, step];
    let mut cases = Vec::new();
    let mut add = |name, first: [Vec3; 2], other: [Vec3; 2], by: [Vec3; 4], meets| {
        let start = [first[0], first[1], other[0], other[1]];
        cases.push((name, EdgeEdge, start, moved(start, by), meets));
        // the same, one edge the other way round
        let (turned, by) = ([first[0], first[1], other[1], other[0]], [by[0], by[1], by[3], by[2]]);
        cases.push((name, EdgeEdge, turned, moved(turned, by), meets));
    };
    let raised = |by: Vec3| [c + by, d + by];
    add("head on", [a, b], raised(0.5 * Vec3::Y), second(-Vec3::Y), true);
    add("away", [a, b], raised(0.5 * Vec3::Y), second(Vec3::Y), false);
    add("fast", [a, b], raised(0.5 * Vec3::Y), second(-5e3 * Vec3::Y), true);
    add("together", [a, b], raised(2.0 * MARGIN * Vec3::Y), [7.0 * Vec3::ONE; 4], false);
    for (name, height, meets) in [("grazing above", 1.001, false), ("grazing below", 0.999, true)] {
        add(name, [a, b], raised(height * MARGIN * Vec3::Y + 3.0 * Vec3::X), second(-6.0 * Vec3::X), meets);
    }
    add("coplanar", [a, b], raised(2.0 * Vec3::Z), second(-4.0 * Vec3::Z), true);
    add(
        "coplanar, past an end",
        [a, b],
        raised(3.0 * Vec3::X + 3.0 * Vec3::Z),
        second(-6.0 * Vec3::Z),
        false,
    );
    let beside = |by: Vec3| [a + by, b + by];
    add("parallel, head on", [a, b], beside(0.5 * Vec3::Y), second(-Vec3::Y), true);
    add("parallel, gliding", [a, b], beside(1.5 * MARGIN * Vec3::Y), second(b - a), false);
    add("on one line", [a, b], beside(1.5 * (b - a)), second(-(b - a)), true);
    add("nearly touching", [a, b], raised(0.001 * MARGIN * Vec3::Y), second(-Vec3::Y), true);
    add("one without length", [a, b], [0.5 * (a + b) + Vec3::Y; 2], second(-2.0 * Vec3::Y), true);
    add("both without length", [a; 2], [a + Vec3::Y; 2], second(-2.0 * Vec3::Y), true);
    add(
        "both without length, passing",
        [a; 2],
        [a + Vec3::Y - 0.1 * Vec3::X; 2],
        second(-2.0 * Vec3::Y),
        false,
    );
    let spin = [Vec3::ZERO, Vec3::ZERO, -0.8 * Vec3::Y, -0.1 * Vec3::Y];
    add("one turns", [a, b], raised(0.3 * Vec3::Y), spin, true);
    cases
}

/// Grazing, parallel, coplanar, collapsed, nearly touching and fast pairs, large and small, near the origin and far from it, in any
/// position: never late, hardly early, and stopped only if they meet.
#[test]
fn certificates_hold_exactly_on_adversarial_pairs() {
    let mut random = Random::new(15);
    for (size, far) in [(1.0, 0.0), (1e-3, 0.0), (1.0, 1e4), (1e-2, 1e3)] {
        let (turn, origin) = (size * random.rotation(), far * random.vec3());
        for (name, kind, start, end, meets) in vertex_cases().into_iter().chain(edge_cases()) {
            let [start, end] = [start, end].map(|x| x.map(|p| origin + turn * p));
            let impact = check(name, kind, &start, &end, size * MARGIN);
            assert_eq!(impact.time < 1.0, meets, "{name}, {kind:?}: {impact:?}");
            if !meets {
                let n = impact.normal;
                assert!((n.length() - 1.0).abs() < 1e-12, "{name}: a direction shows it: {n}");
            }
        }
    }
}

/// Where the direction between the closest points fails, the normal of the face or of both edges shows the whole step at once.
#[test]
fn a_face_or_two_edges_are_passed_in_one_probe() {
    let mut random = Random::new(16);
    for _ in 0..20 {
        let (turn, origin) = (random.rotation(), 3.0 * random.vec3());
        for (name, kind, start, end, _) in vertex_cases().into_iter().chain(edge_cases()) {
            if name != "grazing above" {
                continue;
            }
            // from above and from below
            for mirror in [Vec3::ONE, Vec3::new(1.0, -1.0, 1.0)] {
                let [start, end] = [start, end].map(|x| x.map(|p| origin + turn * (mirror * p)));
                let impact = time_of_impact(kind, &start, &end, MARGIN);
                assert_eq!((impact.time, impact.probes), (1.0, 1), "{kind:?} {start:?} {end:?}");
                let across = turn * (if kind == VertexTriangle { Vec3::Y } else { -Vec3::Y } * mirror);
                assert!(impact.normal.distance(across) < 1e-9, "{} is not {across}", impact.normal);
            }
        }
    }
}

/// Below the margin from the start: nine tenths of the distance are kept, no more and no less.
#[test]
fn a_pair_within_its_margin_keeps_its_share() {
    for (height, fall) in [(0.5 * MARGIN, 1.0), (0.99 * MARGIN, 3.0), (1e-3 * MARGIN, 1e-2)] {
        let x = |y: f64| [Vec3::new(0.2, y, 0.2), Vec3::ZERO, Vec3::Z, Vec3::X];
        let impact = time_of_impact(VertexTriangle, &x(height), &x(height - fall), MARGIN);
        let left = (height - fall * impact.time) / height;
        assert!((left - MIN_DISTANCE_RATIO).abs() < 3e-3, "{height}: {left}");
        assert!(left >= MIN_DISTANCE_RATIO, "{height}: {left}");
    }
    // a negative margin is none
    let x = |y: f64| [Vec3::new(0.2, y, 0.2), Vec3::ZERO, Vec3::Z, Vec3::X];
    let [none, negative] =
        [0.0, -1.0].map(|margin| time_of_impact(VertexTriangle, &x(1.0), &x(-1.0), margin));
    assert_eq!(none, negative);
    assert!(none.time < 0.5 && none.time > 0.499_999, "{none:?}");
}
