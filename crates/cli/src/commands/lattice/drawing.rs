//! Pictures of a lattice: regions on the skin, cells cut open, bones.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Material, MemoryFrames, Mesh};
use geometry::{Bounds, Lattice, TET_FACES, Vec3};
use layers::Anatomy;
use render::{Look, Picture, Shading, Stage, View};
use samples::shapes::tube;

use crate::error::CliError;

const SIZE: [u32; 2] = [640, 520];
/// Colour of bones.
const BONE: [f32; 4] = [0.9, 0.87, 0.78, 1.0];

/// The cells behind the middle.
pub(super) fn cells(lattice: &Lattice) -> Result<Picture, CliError> {
    let mut sketch = Sketch::default();
    sketch.cells(lattice, |_| 0)?;
    let clip = sketch.clip(1);
    let stage = Stage::new(&[("", &clip)], view(lattice), edges(), SIZE)?;
    Ok(stage.picture(0)?)
}

/// The regions on the skin; beside them the cells cut open, each in the colour of its region, and the bones.
pub(super) fn flesh(anatomy: &Anatomy) -> Result<Picture, CliError> {
    let flesh = &anatomy.flesh;
    let lattice = flesh.lattice();
    let (bones, _) = flesh.bones();
    let regions = flesh.region_weights();
    let count = anatomy.names.len();
    let mut cut = Sketch::default();
    cut.cells(lattice, |corners| {
        strongest(corners.iter().flat_map(|&v| regions[v as usize].iter().copied()))
    })?;
    let thin = 0.008 * Bounds::of(lattice.points().iter().copied()).diagonal();
    for bone in bones {
        cut.bone(bone.ends.map(|end| end.rest), thin, count);
    }
    let mut whole = Sketch::default();
    for t in &anatomy.skin.triangles {
        let row = |&v: &u32| anatomy.skin.influences[v as usize].iter().copied();
        whole.face(strongest(t.iter().flat_map(row)), t.map(|v| anatomy.skin.points[v as usize]));
    }
    let (cut, whole) = (cut.clip(count), whole.clip(count));
    let stage = Stage::new(&[("lattice and bones", &cut)], view(lattice), edges(), SIZE)?;
    let camera = *stage.camera();
    let look = Look { shading: Shading::Flat, ..Look::default() };
    let skin = Stage::new(&[("regions", &whole)], view(lattice), look, SIZE)?.with_camera(camera);
    Ok(skin.picture(0)?.beside(&stage.picture(0)?))
}

fn edges() -> Look {
    Look { wireframe: true, shading: Shading::Flat, ..Look::default() }
}

/// Across the longer of the two horizontal sides one sees the most.
fn view(lattice: &Lattice) -> View {
    let size = Bounds::of(lattice.points().iter().copied()).size();
    let azimuth = if size.x >= size.z { 25.0_f64 } else { 65.0 };
    View::Orbit { azimuth: azimuth.to_radians(), elevation: 15.0_f64.to_radians() }
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
struct Sketch {
    faces: Vec<(usize, [Vec3; 3])>,
}

impl Sketch {
    fn face(&mut self, joint: usize, corners: [Vec3; 3]) {
        self.faces.push((joint, corners));
    }

    /// The outside of the cells whose centres are behind the middle.
    fn cells(&mut self, lattice: &Lattice, joint: impl Fn(&[u32]) -> usize) -> Result<(), CliError> {
        let (mesh, cell_of_tet) = lattice.tets().map_err(|error| CliError::input(error.to_string()))?;
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

    fn bone(&mut self, [a, b]: [Vec3; 2], radius: f64, colour: usize) {
        let shape = tube(&[a, a.lerp(b, 0.2), b], &[0.6 * radius, radius, 0.5 * radius], 8);
        for t in shape.triangles() {
            self.face(colour, t.map(|v| shape.points[v as usize]));
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
        let mut clip = Clip::new("lattice", 24.0, meshes, None, Arc::new(frames));
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
