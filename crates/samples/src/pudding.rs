//! A pudding and a cherry, each a clip of its own that stands still: two soft bodies for one scene.

use clip::Clip;
use geometry::Vec3;

use crate::{paint, shapes};

/// Metres.
const HEIGHT: f64 = 0.16;
const RADIUS: f64 = 0.13;
const CHERRY: f64 = 0.05;
/// How square the pudding's side is: 2 would be a sphere.
const POWER: f64 = 5.0;
const FLUTES: f64 = 9.0;

/// A pudding out of a fluted mould, standing on the ground: mesh `pudding`, held by the group `foot`.
pub fn pudding() -> Clip {
    let place = |p: Vec3| {
        let direction = p.normalize();
        let across = direction.with_y(0.0).length();
        // a sphere blown up towards a cylinder, narrower above, with flutes that fade out at both ends
        let reach = (direction.y.abs().powf(POWER) + across.powf(POWER)).powf(-1.0 / POWER);
        let round = reach * direction;
        let taper = 1.0 - 0.14 * (round.y + 1.0);
        let flutes = 1.0 + 0.05 * (FLUTES * direction.z.atan2(direction.x)).cos() * across.powi(3);
        let wide = RADIUS * taper * flutes;
        Vec3::new(wide * round.x, 0.5 * HEIGHT * (round.y + 1.0), wide * round.z)
    };
    let mut mesh = shapes::icosphere(1.0, 4).map(place).mesh("pudding", Some(0));
    let foot = mesh.rest_points.iter().map(|p| if p[1] < 0.02 * HEIGHT as f32 { 1.0 } else { 0.0 });
    mesh.set_group("foot", foot.collect());
    still(mesh, paint::plain("caramel", 0xe0a040))
}

/// A ball about the origin: mesh `cherry`.
pub fn cherry() -> Clip {
    still(shapes::icosphere(CHERRY, 3).mesh("cherry", Some(0)), paint::plain("cherry", 0xb01530))
}

fn still(mesh: clip::Mesh, material: clip::Material) -> Clip {
    let mut clip = Clip::still(mesh, 24.0, 1);
    clip.materials = vec![material];
    clip
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_no_degenerate_triangles, assert_sound, points_of, volume};

    #[test]
    fn both_are_sound_closed_and_stand_where_they_should() {
        for clip in [pudding(), cherry()] {
            assert_sound(&clip);
            let mesh = &clip.meshes[0];
            let (points, triangles) = (points_of(&mesh.rest_points), mesh.point_triangles());
            assert_closed(points.len(), &triangles);
            assert_no_degenerate_triangles(&points, &triangles);
            assert!(volume(&points, &triangles) > 0.0, "faces outwards");
        }
        let pudding = pudding();
        let mesh = &pudding.meshes[0];
        let heights = mesh.rest_points.iter().map(|p| p[1]);
        assert!(heights.clone().fold(f32::MAX, f32::min) >= 0.0);
        assert!((heights.fold(0.0, f32::max) - HEIGHT as f32).abs() < 1e-3);
        let foot = mesh.group("foot").unwrap().weights.iter().filter(|weight| **weight == 1.0).count();
        assert!(foot > 40 && foot < mesh.point_count() / 2, "{foot} points");
    }
}
