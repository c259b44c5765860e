//! Where the threads run: warp and weft directions of a triangle.
//!
//! Woven cloth is stiff along its threads and soft across them, so every triangle needs to know two perpendicular
//! directions in its plane. Artists lay out uv along the grain of the fabric; where there is no uv, a direction in space
//! stands in for it. Only the lines matter: reversing a direction changes no energy.

use geometry::{Vec2, Vec3};

/// Perpendicular unit vectors `[warp, weft]` in the plane of a triangle, from its texture coordinates: warp runs with u,
/// weft with v. `None` where the uv or the triangle has no area.
///
/// A layout that shears u against v has no perpendicular answer; the error is then shared equally between the two, so
/// that neither thread is the first among equals.
pub fn axes_from_uv(points: &[Vec3; 3], uvs: &[Vec2; 3]) -> Option<[Vec3; 2]> {
    let (x1, x2) = (points[1] - points[0], points[2] - points[0]);
    let (q1, q2) = (uvs[1] - uvs[0], uvs[2] - uvs[0]);
    let det = q1.perp_dot(q2);
    // A uv triangle a million times longer than it is high says nothing about directions in single precision.
    if det.is_nan() || det.abs() <= 1e-6 * q1.length_squared().max(q2.length_squared()) {
        return None;
    }
    // dx = u̇ ∂x/∂u + v̇ ∂x/∂v along both edges, solved for the two tangents; only their lines matter.
    let u = (x1 * q2.y - x2 * q1.y).try_normalize()?;
    let v = (x2 * q1.x - x1 * q2.x).try_normalize()?;
    // Sum and difference of unit vectors are perpendicular; u and v are the diagonals of a square built on them.
    let sum = (u + v).try_normalize()?;
    let difference = (u - v).try_normalize()?;
    let half = std::f64::consts::FRAC_1_SQRT_2;
    Some([half * (sum + difference), half * (sum - difference)])
}

/// Perpendicular unit vectors `[warp, weft]` in the plane of a triangle, with warp as near to `direction` as the plane
/// allows. Where the triangle faces `direction` squarely, warp is some fixed vector perpendicular to it. `None` where the
/// triangle has no area or the direction no length.
pub fn axes_from_direction(points: &[Vec3; 3], direction: Vec3) -> Option<[Vec3; 2]> {
    let normal = (points[1] - points[0]).cross(points[2] - points[0]).try_normalize()?;
    let direction = direction.try_normalize()?;
    let mut warp = direction.reject_from_normalized(normal);
    if warp.length_squared() < 1e-6 {
        warp = direction.any_orthonormal_vector().reject_from_normalized(normal);
    }
    let warp = warp.try_normalize()?;
    Some([warp, normal.cross(warp)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: [Vec3; 3] =
        [Vec3::new(0.1, 0.0, 0.3), Vec3::new(1.2, 0.1, 0.2), Vec3::new(0.4, 0.9, 0.5)];

    fn assert_axes(axes: [Vec3; 2], points: &[Vec3; 3]) {
        let normal = geometry::triangle_normal(points[0], points[1], points[2]);
        for (name, value, expected) in [
            ("warp length", axes[0].length(), 1.0),
            ("weft length", axes[1].length(), 1.0),
            ("angle", axes[0].dot(axes[1]), 0.0),
            ("warp out of plane", axes[0].dot(normal), 0.0),
            ("weft out of plane", axes[1].dot(normal), 0.0),
        ] {
            assert!((value - expected).abs() < 1e-12, "{name}: {value}");
        }
    }

    #[test]
    fn uv_that_is_a_map_of_the_plane_gives_its_axes() {
        let [warp, weft] = axes_from_direction(&TRIANGLE, Vec3::new(1.0, 2.0, 0.0)).unwrap();
        // uv measured along the axes, scaled differently in u and v, and mirrored: the lines stay the same
        let uvs = TRIANGLE.map(|p| Vec2::new(3.0 * warp.dot(p), -0.2 * weft.dot(p)));
        let axes = axes_from_uv(&TRIANGLE, &uvs).unwrap();
        assert_axes(axes, &TRIANGLE);
        assert!((axes[0].dot(warp).abs() - 1.0).abs() < 1e-12);
        assert!((axes[1].dot(weft).abs() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn sheared_uv_shares_the_error_between_warp_and_weft() {
        let uvs = [Vec2::ZERO, Vec2::new(1.0, 0.1), Vec2::new(0.9, 0.8)];
        let [warp, weft] = axes_from_uv(&TRIANGLE, &uvs).unwrap();
        assert_axes([warp, weft], &TRIANGLE);
        let [swapped_weft, swapped_warp] =
            axes_from_uv(&TRIANGLE, &uvs.map(|q| Vec2::new(q.y, q.x))).unwrap();
        assert!((warp.dot(swapped_warp).abs() - 1.0).abs() < 1e-12);
        assert!((weft.dot(swapped_weft).abs() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn without_area_there_are_no_axes() {
        assert_eq!(axes_from_uv(&TRIANGLE, &[Vec2::ZERO, Vec2::ONE, 2.0 * Vec2::ONE]), None);
        assert_eq!(axes_from_uv(&TRIANGLE, &[Vec2::ZERO, Vec2::NAN, Vec2::X]), None);
        assert_eq!(axes_from_direction(&[Vec3::ZERO, Vec3::X, 2.0 * Vec3::X], Vec3::Y), None);
        assert_eq!(axes_from_direction(&TRIANGLE, Vec3::ZERO), None);
    }

    #[test]
    fn a_triangle_that_faces_the_direction_still_has_axes() {
        let flat = [Vec3::ZERO, Vec3::X, -Vec3::Z];
        assert_axes(axes_from_direction(&flat, Vec3::Y).unwrap(), &flat);
    }
}
