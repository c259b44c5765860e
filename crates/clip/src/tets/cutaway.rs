//! A look inside: tets with everything before a plane taken away.

use geometry::{TET_FACES, TetMesh, Vec3};

use crate::{Clip, Faces, Material, Mesh};

/// A still clip of the tets whose centres are not before the plane through `point` with this normal: the outer skin in one colour,
/// faces that the cut laid bare in another. A cut that would take everything takes nothing.
pub fn cut_away(mesh: &TetMesh, point: Vec3, normal: Vec3) -> Clip {
    let centre = |t: usize| mesh.corners(t).iter().sum::<Vec3>() / 4.0;
    let mut stays: Vec<bool> =
        (0..mesh.tets().len()).map(|t| (centre(t) - point).dot(normal) <= 0.0).collect();
    if !stays.contains(&true) {
        stays.fill(true);
    }
    let [mut skin, mut inside] = [Faces::default(), Faces::default()];
    for (t, around) in mesh.neighbours().iter().enumerate().filter(|(t, _)| stays[*t]) {
        for (face, other) in TET_FACES.iter().zip(around) {
            let corners = face.map(|corner| mesh.tets()[t][corner]);
            match other {
                None => skin.push(&corners),
                Some(other) if !stays[*other as usize] => inside.push(&corners),
                Some(_) => {}
            }
        }
    }
    let points: Vec<[f32; 3]> = mesh.points().iter().map(|p| p.to_array().map(|x| x as f32)).collect();
    let part = |name: &str, faces: Faces, material: usize| {
        let mut part = Mesh::from_faces(name, points.clone(), faces);
        part.parts.iter_mut().for_each(|part| part.material = Some(material));
        part
    };
    let meshes = vec![part("skin", skin, 0), part("inside", inside, 1)];
    let points = vec![points.clone(), points.clone()];
    let frames = crate::MemoryFrames::new(vec![crate::Frame { points, pose: Vec::new() }]);
    let mut clip = Clip::new("tets", 24.0, meshes, None, std::sync::Arc::new(frames));
    clip.materials = vec![
        Material::plain("skin", [0.30, 0.42, 0.55, 1.0]),
        Material::plain("inside", [0.85, 0.55, 0.25, 1.0]),
    ];
    clip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_box_shows_its_inside() {
        let mesh = TetMesh::box_grid([4, 4, 4], Vec3::ONE).unwrap();
        let count = |x: f64| -> [usize; 2] {
            let clip = cut_away(&mesh, x * Vec3::X, Vec3::X);
            [0, 1].map(|mesh| clip.meshes[mesh].faces.len())
        };
        // two triangles to a square: five sides of half the box, and the cut
        assert_eq!(count(0.5), [2 * (16 + 4 * 8), 2 * 16]);
        assert_eq!(count(2.0), [2 * 6 * 16, 0]);
        assert_eq!(count(-1.0), [2 * 6 * 16, 0]);
    }
}
