//! Barycentric weights and closest points of triangles and tets.

use crate::{TET_FACES, Vec3, tet_volume};

/// The weights of the point of triangle (a, b, c) that is closest to `p`. Triangles without area are segments or points.
///
/// Regions as in Ericson, Real-Time Collision Detection, §5.1.5. Differs: a sliver falls back to its sides.
pub fn closest_on_triangle(p: Vec3, [a, b, c]: [Vec3; 3]) -> [f64; 3] {
    let (u, v, r) = (b - a, c - a, p - a);
    // weights inside a sliver would be round-off; its sides are as close to the same accuracy
    if u.cross(v).length_squared() <= 1e-14 * u.length_squared() * v.length_squared() {
        return closest_side(p, [a, b, c]);
    }
    let (d1, d2) = (u.dot(r), v.dot(r));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let s = p - b;
    let (d3, d4) = (u.dot(s), v.dot(s));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let wc = d1 * d4 - d3 * d2;
    if wc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = d1 / (d1 - d3);
        return [1.0 - t, t, 0.0];
    }
    let q = p - c;
    let (d5, d6) = (u.dot(q), v.dot(q));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let wb = d5 * d2 - d1 * d6;
    if wb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = d2 / (d2 - d6);
        return [1.0 - t, 0.0, t];
    }
    let wa = d3 * d6 - d5 * d4;
    let (along, back) = (d4 - d3, d5 - d6);
    if wa <= 0.0 && along >= 0.0 && back >= 0.0 {
        let t = along / (along + back);
        return [0.0, 1.0 - t, t];
    }
    let sum = wa + wb + wc;
    [wa / sum, wb / sum, wc / sum]
}

fn closest_side(p: Vec3, corners: [Vec3; 3]) -> [f64; 3] {
    let mut best = ([1.0, 0.0, 0.0], f64::INFINITY);
    for i in 0..3 {
        let j = (i + 1) % 3;
        let u = corners[j] - corners[i];
        let t = (u.dot(p - corners[i]) / u.length_squared()).clamp(0.0, 1.0);
        let t = if t.is_nan() { 0.0 } else { t };
        let distance = (corners[i] + t * u).distance_squared(p);
        if distance < best.1 {
            let mut weights = [0.0; 3];
            (weights[i], weights[j]) = (1.0 - t, t);
            best = (weights, distance);
        }
    }
    best.0
}

/// Squared distance of `p` to the triangle.
pub fn triangle_distance_squared(p: Vec3, corners: [Vec3; 3]) -> f64 {
    let w = closest_on_triangle(p, corners);
    // differences first: far from the origin, weights times positions would lose what small distances are made of
    (w[0] * (corners[0] - p) + w[1] * (corners[1] - p) + w[2] * (corners[2] - p)).length_squared()
}

/// Weights that sum to one and give `p` as a weighted mean of the corners; all within [0, 1] inside. `None` for a tet
/// without volume.
pub fn tet_weights(p: Vec3, corners: [Vec3; 4]) -> Option<[f64; 4]> {
    let whole = tet_volume(corners);
    let parts = TET_FACES.map(|[i, j, k]| {
        let [a, b, c] = [corners[i], corners[j], corners[k]];
        // the face is counter-clockwise from outside: from a point inside the triple product is positive
        (a - p).dot((b - p).cross(c - p)) / 6.0
    });
    // normalised by their own sum, so that they sum to one to the last digits
    let sum: f64 = parts.iter().sum();
    let scale = 1.0 / if sum != 0.0 { sum } else { whole };
    let weights = parts.map(|part| part * scale);
    weights.iter().all(|w| w.is_finite()).then_some(weights)
}

/// Squared distance of `p` to the tet; zero inside, whichever way round it is listed.
pub fn tet_distance_squared(p: Vec3, corners: [Vec3; 4]) -> f64 {
    if tet_weights(p, corners).is_some_and(|weights| weights.iter().all(|&w| w >= 0.0)) {
        return 0.0;
    }
    let faces = TET_FACES.map(|face| triangle_distance_squared(p, face.map(|corner| corners[corner])));
    faces.into_iter().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn at(weights: [f64; 3], corners: [Vec3; 3]) -> Vec3 {
        weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2]
    }

    #[test]
    fn no_point_of_the_triangle_is_closer() {
        let mut random = Random::new(1);
        for round in 0..300 {
            let mut corners = [random.vec3(), random.vec3(), random.vec3()];
            match round % 6 {
                1 => corners[1] = corners[0],
                2 => corners[2] = corners[0].lerp(corners[1], 0.3),
                3 => corners = [corners[0]; 3],
                4 => corners[2] = corners[0].lerp(corners[1], 0.3) + 1e-9 * random.vec3(),
                _ => {}
            }
            let p = 2.0 * random.vec3();
            let found = closest_on_triangle(p, corners);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.iter().all(|&w| w >= 0.0));
            let distance = at(found, corners).distance(p);
            assert!((triangle_distance_squared(p, corners).sqrt() - distance).abs() < 1e-12);
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (s, t) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                    let other = at([1.0 - s - t, s, t], corners).distance(p);
                    assert!(distance <= other + 1e-8, "round {round}: {distance} {other}");
                }
            }
        }
    }

    #[test]
    fn tet_weights_give_the_point_back_and_tell_inside() {
        let mut random = Random::new(2);
        for _ in 0..200 {
            let corners = [random.vec3(), random.vec3(), random.vec3(), random.vec3()];
            let p = random.vec3();
            let w = tet_weights(p, corners).unwrap();
            let back: Vec3 = w.iter().zip(corners).map(|(&w, c)| w * c).sum();
            // the error grows with the size of the weights: flat tets
            let size = w.iter().fold(1.0, |m: f64, w| m.max(w.abs()));
            assert!(back.distance(p) < 1e-12 * size, "{} {size}", back.distance(p));
            let inside = corners.iter().sum::<Vec3>() / 4.0;
            assert!(tet_weights(inside, corners).unwrap().iter().all(|w| (w - 0.25).abs() < 1e-10));
            assert_eq!(tet_distance_squared(inside, corners), 0.0);
            let [a, b, c, d] = corners;
            assert_eq!(tet_distance_squared(inside, [a, b, d, c]), 0.0);
            let outside = a + 2.0 * (a - inside);
            assert!(tet_distance_squared(outside, corners) > 0.0);
        }
        assert_eq!(tet_weights(Vec3::X, [Vec3::ZERO; 4]), None);
    }
}
