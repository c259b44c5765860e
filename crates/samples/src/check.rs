//! What must be true of every sample; shared by the tests of all of them.

use clip::{Clip, Mesh};
use geometry::{Topology, Vec3, triangle_area};

/// Every edge has two triangles, and they run along it in opposite directions.
pub(crate) fn assert_closed(point_count: usize, triangles: &[[u32; 3]]) {
    let topology = Topology::new(point_count, triangles);
    assert_eq!(topology.boundary_edges().count(), 0, "open edges");
    assert_eq!(topology.non_manifold_edges().count(), 0, "edges with three triangles or more");
    let mut directed: Vec<(u32, u32)> =
        triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
    directed.sort_unstable();
    assert!(directed.windows(2).all(|pair| pair[0] != pair[1]), "neighbours that face opposite ways");
}

pub(crate) fn assert_no_degenerate_triangles(points: &[Vec3], triangles: &[[u32; 3]]) {
    for t in triangles {
        let [a, b, c] = t.map(|v| points[v as usize]);
        let longest = (a - b).length().max((b - c).length()).max((c - a).length());
        // twice the area over the longest edge is the smallest height
        let height = 2.0 * triangle_area(a, b, c) / longest;
        assert!(height > 0.02 * longest, "triangle {t:?} at {a} is a sliver");
    }
}

/// Volume inside a closed surface, positive when it faces outwards.
pub(crate) fn volume(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            a.dot(b.cross(c)) / 6.0
        })
        .sum()
}

pub(crate) fn points_of(points: &[[f32; 3]]) -> Vec<Vec3> {
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

/// Holds for any clip of this crate: sizes agree, indices are in range, everything is finite, no slivers, groups
/// are non-empty and within [0, 1], skins are normalised and reproduce the rest shape, images decode.
pub(crate) fn assert_sound(clip: &Clip) {
    assert!(clip.frame_count() > 0 && clip.frame_rate_hz > 0.0);
    for mesh in &clip.meshes {
        let context = format!("{}/{}", clip.name, mesh.name);
        assert!(mesh.uvs.is_empty() || mesh.uvs.len() == mesh.vertex_count(), "{context}: uvs");
        assert!(
            mesh.uvs.iter().flatten().all(|x| (0.0..=1.0).contains(x)),
            "{context}: uvs in the unit square"
        );
        assert!(
            mesh.faces.corners().iter().all(|&v| (v as usize) < mesh.vertex_count()),
            "{context}: corners"
        );
        assert!(mesh.vertex_points.iter().all(|&p| (p as usize) < mesh.point_count()), "{context}: points");
        let mut touched = vec![false; mesh.point_count()];
        let triangles = mesh.point_triangles();
        triangles.iter().flatten().for_each(|&p| touched[p as usize] = true);
        assert!(touched.iter().all(|&t| t), "{context}: a point that no face uses");
        assert_no_degenerate_triangles(&mesh.rest(), &triangles);
        for group in &mesh.groups {
            assert_eq!(group.weights.len(), mesh.point_count(), "{context}: {}", group.name);
            assert!(group.weights.iter().all(|w| (0.0..=1.0).contains(w)), "{context}: {}", group.name);
            assert!(group.weights.iter().any(|&w| w > 0.5), "{context}: group {} is empty", group.name);
        }
        for part in &mesh.parts {
            assert!(part.material.is_none_or(|m| m < clip.materials.len()), "{context}: material");
        }
        assert_skin(clip, mesh);
    }
    for material in &clip.materials {
        assert!(material.base_color_image.is_none_or(|i| i < clip.images.len()), "{}", material.name);
    }
    for image in &clip.images {
        assert!(image::load_from_memory(&image.bytes).is_ok(), "image {} does not decode", image.name);
    }
    let joints = clip.skeleton.as_ref().map_or(0, |s| s.joints.len());
    for index in 0..clip.frame_count() {
        let frame = clip.frame(index).unwrap();
        assert_eq!(frame.pose.len(), joints);
        assert_eq!(frame.points.len(), clip.meshes.len());
        for (points, mesh) in frame.points.iter().zip(&clip.meshes) {
            assert_eq!(points.len(), mesh.point_count());
            assert!(points.iter().flatten().all(|x| x.is_finite()), "{}: frame {index}", clip.name);
        }
    }
    assert!(clip.frame(clip.frame_count()).is_err());
}

fn assert_skin(clip: &Clip, mesh: &Mesh) {
    let (Some(skin), Some(skeleton)) = (&mesh.skin, &clip.skeleton) else { return };
    assert_eq!(skin.influences.len(), mesh.point_count());
    for influences in &skin.influences {
        let sum: f32 = influences.iter().map(|i| i.1).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{}: weights sum to {sum}", mesh.name);
        assert!(influences.iter().all(|&(bind, w)| (bind as usize) < skin.binds.len() && w > 0.0));
    }
    let rest = skin.deform(&mesh.rest_points, &skeleton.world_from_joints(&skeleton.rest_pose()));
    let distance = largest_distance(&rest, &mesh.rest_points);
    assert!(distance < 1e-5, "{}: the rest pose moves the rest shape by {distance} m", mesh.name);
}

pub(crate) fn largest_distance(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    points_of(a).iter().zip(points_of(b)).map(|(p, q)| p.distance(q)).fold(0.0, f64::max)
}

/// The last frame is the first one again.
pub(crate) fn assert_loops(clip: &Clip) {
    let (first, last) = (clip.frame(0).unwrap(), clip.frame(clip.frame_count() - 1).unwrap());
    for (mesh, (a, b)) in clip.meshes.iter().zip(first.points.iter().zip(&last.points)) {
        let distance = largest_distance(a, b);
        assert!(distance < 1e-4, "{}/{}: the loop is open by {distance} m", clip.name, mesh.name);
    }
}

/// No edge of the frame is longer or shorter than at rest by more than this fraction.
pub(crate) fn assert_strain_below(mesh: &Mesh, points: &[[f32; 3]], limit: f64) {
    let (rest, now) = (mesh.rest(), points_of(points));
    for face in mesh.faces.iter() {
        for i in 0..face.len() {
            let [a, b] =
                [face[i], face[(i + 1) % face.len()]].map(|v| mesh.vertex_points[v as usize] as usize);
            let strain = now[a].distance(now[b]) / rest[a].distance(rest[b]) - 1.0;
            assert!(strain.abs() < limit, "{}: edge {a}-{b} strains by {strain}", mesh.name);
        }
    }
}

/// Sound, every mesh closed, the body so many surfaces without handles that never lose more than the rest of `fraction` of their
/// volume.
pub(crate) fn assert_character(clip: &Clip, pieces: i64, fraction: f64) {
    assert_sound(clip);
    for mesh in &clip.meshes {
        assert_closed(mesh.point_count(), &mesh.point_triangles());
    }
    assert_eq!(euler_characteristic(&clip.meshes[0]), 2 * pieces, "no handles, no loose parts");
    assert_volume_kept(clip, "body", fraction);
}

/// In every frame the mesh keeps at least this fraction of its rest volume.
fn assert_volume_kept(clip: &Clip, mesh_name: &str, fraction: f64) {
    let index = clip.mesh_index(mesh_name).unwrap();
    let triangles = clip.meshes[index].point_triangles();
    let rest = volume(&clip.meshes[index].rest(), &triangles);
    assert!(rest > 0.0);
    for frame in 0..clip.frame_count() {
        let now = volume(&points_of(&clip.frame(frame).unwrap().points[index]), &triangles);
        assert!(now > fraction * rest, "{}: frame {frame} keeps {} of its volume", clip.name, now / rest);
        assert!(now < (2.0 - fraction) * rest, "{}: frame {frame} swells to {}", clip.name, now / rest);
    }
}

/// Points − edges + triangles: 2 for every closed part without handles.
pub(crate) fn euler_characteristic(mesh: &Mesh) -> i64 {
    let triangles = mesh.point_triangles();
    let edges = Topology::new(mesh.point_count(), &triangles).edges().len();
    mesh.point_count() as i64 - edges as i64 + triangles.len() as i64
}
