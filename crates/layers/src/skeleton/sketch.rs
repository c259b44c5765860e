//! Sketches of flesh: regions on the skin, the lattice cut open, the bones in it.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Material, MemoryFrames, Mesh};
use geometry::{Bounds, Lattice, TET_FACES, Vec3};
use shot::{LayerError, Sketch};

use super::Anatomy;

/// Colour of bones.
const BONE: [f32; 4] = [0.9, 0.87, 0.78, 1.0];
/// A bone's thickest place, from its beginning, as a part of its length.
const SHOULDER: f64 = 0.2;

/// The cells of a lattice behind the middle.
pub fn sketch_of_lattice(lattice: &Lattice) -> Result<Sketch, LayerError> {
    let mut drawing = Drawing::default();
    drawing.cells(lattice, |_| 0)?;
    Ok(Sketch { label: "lattice".into(), clip: drawing.clip(1), edges: true, azimuth: azimuth(lattice) })
}

impl Anatomy {
    /// The regions on the skin; the cells cut open, each in the colour of its region, and the bones.
    pub fn sketches(&self) -> Result<Vec<Sketch>, LayerError> {
        let lattice = self.flesh.lattice();
        let regions = self.flesh.region_weights();
        let count = self.names.len();
        let mut cut = Drawing::default();
        cut.cells(lattice, |corners| {
            strongest(corners.iter().flat_map(|&v| regions[v as usize].iter().copied()))
        })?;
        let thin = 0.008 * Bounds::of(lattice.points().iter().copied()).diagonal();
        for bone in self.flesh.bones().0 {
            cut.bone(bone.ends.map(|end| end.rest), thin, count);
        }
        let mut whole = Drawing::default();
        for t in &self.skin.triangles {
            let row = |&v: &u32| self.skin.influences[v as usize].iter().copied();
            whole.face(strongest(t.iter().flat_map(row)), t.map(|v| self.skin.points[v as usize]));
        }
        let sketch = |label: &str, drawing: &Drawing, edges| Sketch {
            label: label.into(),
            clip: drawing.clip(count),
            edges,
            azimuth: azimuth(lattice),
        };
        Ok(vec![sketch("regions", &whole, false), sketch("lattice and bones", &cut, true)])
    }
}

/// Across the longer of the two horizontal sides one sees the most.
fn azimuth(lattice: &Lattice) -> f64 {
    let size = Bounds::of(lattice.points().iter().copied()).size();
    if size.x >= size.z { 25.0_f64 } else { 65.0 }.to_radians()
}

/// The joint with the most weight; the first of equals.
fn strongest(shares: impl Iterator<Item = (u32, f64)>) -> usize {
    let mut sums: Vec<(u32, f64)> = Vec::new();
    for (joint, weight) in shares {
        match sums.iter_mut().find(|sum| sum.0 == joint) {
            Some(sum) => sum.1 += weight,
            None => sums.push((joint, weight)),
        }
    }
    let best = sums.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    best.map_or(0, |sum| sum.0 as usize)
}

/// Faces, each in the colour of a joint.
#[derive(Default)]
struct Drawing {
    faces: Vec<(usize, [Vec3; 3])>,
}

impl Drawing {
    fn face(&mut self, joint: usize, corners: [Vec3; 3]) {
        self.faces.push((joint, corners));
    }

    /// The outside of the cells whose centres are behind the middle.
    fn cells(&mut self, lattice: &Lattice, joint: impl Fn(&[u32]) -> usize) -> Result<(), LayerError> {
        let (mesh, cell_of_tet) = lattice.tets().map_err(LayerError::new)?;
        let bounds = Bounds::of(mesh.points().iter().copied());
        let normal = if bounds.size().x >= bounds.size().z { Vec3::Z } else { Vec3::X };
        let behind =
            |t: usize| (mesh.corners(t).iter().sum::<Vec3>() / 4.0 - bounds.centre()).dot(normal) <= 0.0;
        let stays: Vec<bool> = (0..mesh.tets().len()).map(behind).collect();
        for (t, around) in mesh.neighbours().iter().enumerate().filter(|(t, _)| stays[*t]) {
            let colour = joint(lattice.cells()[cell_of_tet[t] as usize].corners());
            for (face, other) in TET_FACES.iter().zip(around) {
                if other.is_none_or(|other| !stays[other as usize]) {
                    self.face(colour, face.map(|corner| mesh.points()[mesh.tets()[t][corner] as usize]));
                }
            }
        }
        Ok(())
    }

    /// Two pyramids on one square.
    fn bone(&mut self, [a, b]: [Vec3; 2], radius: f64, colour: usize) {
        let Some(along) = (b - a).try_normalize() else { return };
        let side = along.any_orthonormal_vector();
        let other = along.cross(side);
        let middle = a.lerp(b, SHOULDER);
        let corners = [side, other, -side, -other].map(|to| middle + radius * to);
        for k in 0..4 {
            let (p, q) = (corners[k], corners[(k + 1) % 4]);
            self.face(colour, [a, q, p]);
            self.face(colour, [b, p, q]);
        }
    }

    /// A still clip: a mesh for every colour, joints first, bones last.
    fn clip(&self, joints: usize) -> Clip {
        let mut meshes = Vec::new();
        for colour in 0..=joints {
            let mut faces = Faces::default();
            let mut points: Vec<[f32; 3]> = Vec::new();
            for (_, corners) in self.faces.iter().filter(|(joint, _)| *joint == colour) {
                let first = points.len() as u32;
                points.extend(corners.iter().map(|p| p.as_vec3().to_array()));
                faces.push(&[first, first + 1, first + 2]);
            }
            if points.is_empty() {
                continue;
            }
            let mut mesh = Mesh::from_faces("", points, faces);
            mesh.parts.iter_mut().for_each(|part| part.material = Some(colour));
            meshes.push(mesh);
        }
        let points = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
        let frames = MemoryFrames::new(vec![Frame { points, pose: Vec::new() }]);
        let mut clip = Clip::new("sketch", 24.0, meshes, None, Arc::new(frames));
        clip.materials = (0..joints).map(|joint| Material::plain("", hue(joint))).collect();
        clip.materials.push(Material::plain("bone", BONE));
        clip
    }
}

/// Colours far from each other for numbers that follow each other: hues a golden angle apart, soft.
fn hue(number: usize) -> [f32; 4] {
    let turn = (number as f64 * 0.381_966 + 0.55).fract() * std::f64::consts::TAU;
    let channel = |shift: f64| (0.33 + 0.22 * (turn + shift * std::f64::consts::TAU / 3.0).cos()) as f32;
    [channel(0.0), channel(2.0), channel(1.0), 1.0]
}
