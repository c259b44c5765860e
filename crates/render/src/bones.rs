//! A skeleton as something to look at: an octahedron for each bone, a ball for each joint.

use clip::{Skeleton, Transform};
use glam::Vec3;

/// A triangle of a bone or a ball.
pub(crate) struct BoneTriangle {
    pub(crate) corners: [Vec3; 3],
    /// Unit normals at the corners: flat on bones, round on balls.
    pub(crate) normals: [Vec3; 3],
    /// Whether it belongs to a joint's ball.
    pub(crate) ball: bool,
}

/// All bones and balls of a pose. Joints that are not finite are left out.
pub(crate) fn bone_triangles(skeleton: &Skeleton, pose: &[Transform]) -> Vec<BoneTriangle> {
    let places: Vec<Vec3> = skeleton.world_from_joints(pose).iter().map(|m| m.w_axis.truncate()).collect();
    let finite = || places.iter().copied().filter(|p| p.is_finite());
    let low = finite().fold(Vec3::INFINITY, Vec3::min);
    let high = finite().fold(Vec3::NEG_INFINITY, Vec3::max);
    let size = if low.x <= high.x { (high - low).length() } else { return Vec::new() };
    let ball_radius = 0.009 * size.max(1e-6);

    let mut triangles = Vec::new();
    for (joint, &place) in skeleton.joints.iter().zip(&places) {
        if !place.is_finite() {
            continue;
        }
        push_ball(&mut triangles, place, ball_radius);
        if let Some(&start) = joint.parent.and_then(|parent| places.get(parent)) {
            let length = start.distance(place);
            // a root that was animated far from the origin is not a bone; nor is a bone shorter than its own balls
            if start.is_finite() && length > 1.5 * ball_radius {
                let width = (0.11 * length).clamp(0.8 * ball_radius, 2.4 * ball_radius);
                push_bone(&mut triangles, start, place, width);
            }
        }
    }
    triangles
}

/// A long octahedron, thickest near its start.
fn push_bone(triangles: &mut Vec<BoneTriangle>, start: Vec3, end: Vec3, width: f32) {
    let axis = (end - start).normalize();
    let (side, front) = axis.any_orthonormal_pair();
    let middle = start + (end - start) * 0.16;
    let ring = [middle + width * side, middle + width * front, middle - width * side, middle - width * front];
    for i in 0..4 {
        let (a, b) = (ring[i], ring[(i + 1) % 4]);
        for corners in [[start, b, a], [end, a, b]] {
            let [p, q, r] = corners;
            let normal = (q - p).cross(r - p).normalize_or_zero();
            triangles.push(BoneTriangle { corners, normals: [normal; 3], ball: false });
        }
    }
}

/// A ball of rings and sectors.
fn push_ball(triangles: &mut Vec<BoneTriangle>, centre: Vec3, radius: f32) {
    const RINGS: usize = 6;
    const SECTORS: usize = 10;
    let normal = |ring: usize, sector: usize| {
        let (from_top, around) = (
            std::f32::consts::PI * ring as f32 / RINGS as f32,
            std::f32::consts::TAU * sector as f32 / SECTORS as f32,
        );
        Vec3::new(from_top.sin() * around.cos(), from_top.cos(), -from_top.sin() * around.sin())
    };
    let mut push = |normals: [Vec3; 3]| {
        let corners = normals.map(|n| centre + radius * n);
        triangles.push(BoneTriangle { corners, normals, ball: true });
    };
    for ring in 0..RINGS {
        for sector in 0..SECTORS {
            let [a, b] = [normal(ring, sector), normal(ring, sector + 1)];
            let [c, d] = [normal(ring + 1, sector), normal(ring + 1, sector + 1)];
            if ring > 0 {
                push([a, d, b]);
            }
            if ring + 1 < RINGS {
                push([a, c, d]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clip::Joint;

    fn arm() -> Skeleton {
        let joint = |parent, y| Joint {
            name: String::new(),
            parent,
            rest: Transform { translation: Vec3::new(0.0, y, 0.0), ..Transform::IDENTITY },
        };
        Skeleton { joints: vec![joint(None, 0.0), joint(Some(0), 1.0), joint(Some(1), 0.5)] }
    }

    #[test]
    fn bones_and_balls_face_outwards() {
        let skeleton = arm();
        let triangles = bone_triangles(&skeleton, &skeleton.rest_pose());
        assert_eq!(triangles.iter().filter(|t| !t.ball).count(), 2 * 8);
        for triangle in &triangles {
            let [a, b, c] = triangle.corners;
            let geometric = (b - a).cross(c - a).normalize_or_zero();
            assert!(geometric.dot(triangle.normals[0]) > 0.5, "wound as its normals say");
            if !triangle.ball {
                let from_axis = Vec3::new(a.x + b.x + c.x, 0.0, a.z + b.z + c.z);
                assert!(geometric.dot(from_axis) > 0.0, "outwards");
            }
        }
    }

    #[test]
    fn broken_poses_draw_what_is_left() {
        let skeleton = arm();
        let mut pose = skeleton.rest_pose();
        pose[2].translation.x = f32::NAN;
        assert_eq!(bone_triangles(&skeleton, &pose).iter().filter(|t| !t.ball).count(), 8);
        assert!(bone_triangles(&skeleton, &[]).is_empty());
    }
}
