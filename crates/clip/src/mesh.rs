//! The static part of a mesh: topology, rest shape, uv, groups, skin.
//!
//! Files split a vertex where uv or normals have a seam; physics must not tear there. So a mesh has *points* (what
//! moves) and *vertices* (what the file lists); `vertex_points` says which point each vertex stands on. Simulations,
//! groups and frames are per point; uv and faces are per vertex, and come out of a bake exactly as they went in.

use geometry::Vec3;

use crate::{Faces, Skin};

/// A mesh's static part.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Its name; unique in a clip.
    pub name: String,
    /// Undeformed positions of the points, in metres.
    pub rest_points: Vec<[f32; 3]>,
    /// The point under each vertex.
    pub vertex_points: Vec<u32>,
    /// Polygons over vertices.
    pub faces: Faces,
    /// Texture coordinates per vertex, glTF's convention (v down); empty when the file has none.
    pub uvs: Vec<[f32; 2]>,
    /// Further sets of texture coordinates (glTF's `TEXCOORD_1` and up), each per vertex; carried along untouched.
    pub more_uvs: Vec<Vec<[f32; 2]>>,
    /// Which vertices of a point share a normal: vertices with equal numbers do. This is how a hard edge survives a
    /// bake. Empty when the whole surface is smooth.
    pub smoothing: Vec<u32>,
    /// Runs of faces and vertices with one material each, in order; together they cover the mesh.
    pub parts: Vec<Part>,
    /// Named weights per point.
    pub groups: Vec<Group>,
    /// How the skeleton moves the points, when it does.
    pub skin: Option<Skin>,
    /// The joint that it hangs on as a whole, where no skin moves it: a hat on a head.
    pub parent: Option<usize>,
    /// Sculpted shapes that the file names; frames have them blended in already.
    pub morph_targets: Vec<MorphTarget>,
}

/// A sculpted shape: how far each point is from the rest shape, before any skin.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphTarget {
    /// What the artist calls it; unique in a mesh.
    pub name: String,
    /// One offset per point, in metres, in the space of the rest points.
    pub offsets: Vec<[f32; 3]>,
    /// How much of it there is where nothing animates it.
    pub weight: f32,
}

/// A run of faces and vertices with one material: a glTF primitive, an OBJ `usemtl` run. Runs of faces never overlap;
/// runs of vertices do when the file shares its vertices between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Faces of the part.
    pub faces: std::ops::Range<usize>,
    /// Vertices that its faces use.
    pub vertices: std::ops::Range<usize>,
    /// Index into the clip's materials.
    pub material: Option<usize>,
}

/// A named weight for every point of a mesh: a painted map, a pin group, a bone's influence.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What the artist calls it.
    pub name: String,
    /// One weight per point, normally in [0, 1].
    pub weights: Vec<f32>,
}

impl Mesh {
    /// A mesh whose vertices are its points.
    pub fn new(name: impl Into<String>, rest_points: Vec<[f32; 3]>, triangles: &[[u32; 3]]) -> Self {
        Self::from_faces(name, rest_points, Faces::from_triangles(triangles))
    }

    /// The same with polygons.
    pub fn from_faces(name: impl Into<String>, rest_points: Vec<[f32; 3]>, faces: Faces) -> Self {
        let count = rest_points.len();
        Self {
            name: name.into(),
            vertex_points: (0..count as u32).collect(),
            parts: vec![Part { faces: 0..faces.len(), vertices: 0..count, material: None }],
            rest_points,
            faces,
            uvs: Vec::new(),
            more_uvs: Vec::new(),
            smoothing: Vec::new(),
            groups: Vec::new(),
            skin: None,
            parent: None,
            morph_targets: Vec::new(),
        }
    }

    /// How many points move.
    pub fn point_count(&self) -> usize {
        self.rest_points.len()
    }

    /// How many vertices the file lists.
    pub fn vertex_count(&self) -> usize {
        self.vertex_points.len()
    }

    /// Triangles over points: what a simulation sees. Polygons are fanned; triangles that welding collapsed are left out.
    pub fn point_triangles(&self) -> Vec<[u32; 3]> {
        let on_points = |t: [u32; 3]| t.map(|vertex| self.vertex_points[vertex as usize]);
        self.faces.triangles().map(on_points).filter(|[a, b, c]| a != b && b != c && c != a).collect()
    }

    /// Rest positions in double precision.
    pub fn rest(&self) -> Vec<Vec3> {
        self.rest_points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
    }

    /// The group with this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The morph target with this name.
    pub fn morph_target(&self, name: &str) -> Option<&MorphTarget> {
        self.morph_targets.iter().find(|target| target.name == name)
    }

    /// Adds a group or replaces the one of that name.
    pub fn set_group(&mut self, name: impl Into<String>, weights: Vec<f32>) {
        let name = name.into();
        match self.groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.weights = weights,
            None => self.groups.push(Group { name, weights }),
        }
    }

    /// Values per point laid out per vertex, as files want them.
    pub fn per_vertex<T: Copy>(&self, per_point: &[T]) -> Vec<T> {
        self.vertex_points.iter().map(|&point| per_point[point as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seams_are_welded_for_physics_and_split_for_files() {
        // two triangles of a quad; the file split the diagonal's vertices
        let mut mesh = Mesh::new("quad", vec![[0.0; 3]; 4], &[[0, 1, 2], [3, 4, 5]]);
        mesh.vertex_points = vec![0, 1, 2, 2, 1, 3];
        assert_eq!(mesh.point_triangles(), vec![[0, 1, 2], [2, 1, 3]]);
        assert_eq!(mesh.per_vertex(&[10, 11, 12, 13]), vec![10, 11, 12, 12, 11, 13]);
    }
}
