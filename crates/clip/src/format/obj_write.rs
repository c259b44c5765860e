//! Wavefront OBJ, written: the topology that was read, positions with all their digits.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{WriteOptions, Written, atomic, mtl};
use crate::{Clip, Error, Frame, Mesh, Result};

/// Writes the first frame of a clip.
pub(super) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let frame = clip.checked_frame(0)?;
    write_frame(path, clip, &frame, options)
}

/// Writes any shape of a clip's meshes.
pub(super) fn write_frame(
    path: &Path,
    clip: &Clip,
    frame: &Frame,
    options: &WriteOptions,
) -> Result<Written> {
    let scene = ObjText::new(path, clip, options)?;
    let library = scene.write_library()?;
    let mut written = Written { files: vec![path.to_path_buf()], frames: 1, bytes: 0, ..Written::default() };
    written.bytes = atomic::write_whole(path, scene.text(frame).as_bytes())? + library.1;
    written.files.extend(library.0);
    Ok(written)
}

/// What does not change from file to file of a sequence: everything but the positions, as text.
pub(super) struct ObjText<'a> {
    clip: &'a Clip,
    scale: f64,
    library: Option<PathBuf>,
    /// For each mesh, what stands before and behind its positions.
    around: Vec<(String, String)>,
}

impl<'a> ObjText<'a> {
    /// Lays out the text. The material library will be called after `path`.
    pub(super) fn new(path: &Path, clip: &'a Clip, options: &WriteOptions) -> Result<Self> {
        if clip.meshes.is_empty() {
            let problem = "the clip has no mesh, and OBJ holds nothing else; write .bvh or .glb".into();
            return Err(Error::Unsupported { path: path.to_path_buf(), problem });
        }
        mtl::check_materials(path, clip)?;
        let used = clip.meshes.iter().flat_map(|mesh| &mesh.parts).any(|part| part.material.is_some());
        let library = used.then(|| path.with_extension("mtl"));
        let mut around = Vec::with_capacity(clip.meshes.len());
        let (mut first_point, mut first_uv) = (1, 1);
        for mesh in &clip.meshes {
            let name = mesh.name.split_whitespace().collect::<Vec<_>>().join(" ");
            around.push((format!("o {name}\n"), faces_text(clip, mesh, first_point, first_uv)));
            first_point += mesh.point_count();
            first_uv += mesh.uvs.len();
        }
        let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
        Ok(Self { clip, scale, library, around })
    }

    /// The text of one frame, which must fit the meshes.
    pub(super) fn text(&self, frame: &Frame) -> String {
        let points: usize = frame.points.iter().map(Vec::len).sum();
        let faces: usize = self.around.iter().map(|(before, behind)| before.len() + behind.len()).sum();
        let mut text = String::with_capacity(faces + 40 * points + 64);
        if let Some(library) = &self.library {
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            // writing into a string cannot fail, here and below
            let _ = writeln!(text, "mtllib {name}");
        }
        for ((mesh, points), (before, behind)) in self.clip.meshes.iter().zip(&frame.points).zip(&self.around)
        {
            text.push_str(before);
            let colors = ["color.r", "color.g", "color.b"].map(|name| mesh.group(name));
            for (index, point) in points.iter().enumerate() {
                let [x, y, z] = point.map(|c| (f64::from(c) * self.scale) as f32);
                let _ = write!(text, "v {x} {y} {z}");
                if let [Some(r), Some(g), Some(b)] = colors {
                    let _ = write!(text, " {} {} {}", r.weights[index], g.weights[index], b.weights[index]);
                }
                text.push('\n');
            }
            text.push_str(behind);
        }
        text
    }

    /// Writes the material library, if there is one; returns the files and their size.
    pub(super) fn write_library(&self) -> Result<(Vec<PathBuf>, u64)> {
        self.library.as_ref().map_or(Ok((Vec::new(), 0)), |path| mtl::write(path, self.clip))
    }
}

/// Texture coordinates and faces, with their material and group runs.
fn faces_text(clip: &Clip, mesh: &Mesh, first_point: usize, first_uv: usize) -> String {
    let mut text = String::new();
    for [u, v] in &mesh.uvs {
        // through f64, so that 1 - (1 - v) gives v back
        let _ = writeln!(text, "vt {u} {}", 1.0 - f64::from(*v));
    }
    let memberships = Memberships::new(mesh);
    let mut material = None;
    let mut groups = Vec::new();
    for part in &mesh.parts {
        if part.material != material {
            let name = part.material.map_or_else(String::new, |index| mtl::material_name(clip, index));
            let _ = writeln!(text, "usemtl {name}");
            material = part.material;
        }
        for face in part.faces.clone() {
            let corners = mesh.faces.get(face);
            let of_face = memberships.of(mesh, corners);
            if of_face != groups {
                let names: Vec<&str> =
                    of_face.iter().map(|&group| memberships.names[group].as_str()).collect();
                let _ = writeln!(text, "g {}", names.join(" "));
                groups = of_face;
            }
            text.push('f');
            for &vertex in corners {
                let point = mesh.vertex_points[vertex as usize] as usize + first_point;
                let _ = match mesh.uvs.is_empty() {
                    true => write!(text, " {point}"),
                    false => write!(text, " {point}/{}", vertex as usize + first_uv),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// The groups that OBJ can hold: a face belongs to a group when all its points have weight one. Groups with weights
/// between zero and one have no place in the format.
struct Memberships {
    names: Vec<String>,
    inside: Vec<Vec<bool>>,
}

impl Memberships {
    fn new(mesh: &Mesh) -> Self {
        let sharp = mesh.groups.iter().filter(|group| {
            !group.name.starts_with("color.")
                && group.weights.iter().all(|&weight| weight == 0.0 || weight == 1.0)
        });
        let (names, inside) = sharp
            .map(|group| {
                let name = group.name.split_whitespace().collect::<Vec<_>>().join("_");
                (name, group.weights.iter().map(|&weight| weight == 1.0).collect())
            })
            .unzip();
        Self { names, inside }
    }

    fn of(&self, mesh: &Mesh, corners: &[u32]) -> Vec<usize> {
        let holds =
            |inside: &[bool]| corners.iter().all(|&v| inside[mesh.vertex_points[v as usize] as usize]);
        (0..self.names.len()).filter(|&group| holds(&self.inside[group])).collect()
    }
}
