//! Wavefront OBJ, read.
//!
//! Quads and larger polygons stay what they are. Points are the file's `v` lines in their order, used or not, so that
//! a point cache made over the file fits. Vertices are the distinct (position, texture coordinate) pairs of the faces,
//! in the order of their `vt` lines. `usemtl` runs become parts, `g` names become groups with weight one on the points
//! of their faces, and colours behind a position become the groups `color.r`, `color.g`, `color.b`.
//!
//! An `o` line starts another mesh when every face stays within its own object's positions; in files where objects
//! share positions everything is one mesh and `o` names are groups like `g`. Normals are not read: they would be wrong
//! after the first deformed frame. Lines, points, curves and smoothing groups are passed over. Corners that name a
//! texture coordinate the file does not have are read without one, with a warning.
//!
//! `tobj` is not used: it loses the order of positions, unused positions, groups and vertex colours of polygons.

use std::collections::HashMap;
use std::path::Path;

use super::{UniqueNames, malformed, mtl, name_of};
use crate::{Faces, Files, Image, Material, Mesh, Part, Result};

/// An OBJ's lines as numbers; faces still over the whole file's positions.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) points: Vec<[f32; 3]>,
    colors: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    /// Position indices.
    pub(super) faces: Faces,
    /// The texture coordinate of each corner of `faces`, or [`NO_UV`].
    corner_uvs: Vec<u32>,
    /// What holds from a face on.
    states: Vec<State>,
    objects: Vec<Object>,
    libraries: Vec<String>,
    /// Corners whose texture coordinate is not there, and what is to be said of the first.
    missing_uvs: usize,
    first_missing_uv: Option<String>,
}

const NO_UV: u32 = u32::MAX;

/// The names in force from face `first_face` on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    first_face: usize,
    material: Option<String>,
    groups: Vec<String>,
}

/// An `o` line, or the file's beginning.
#[derive(Clone, Debug)]
struct Object {
    name: Option<String>,
    first_point: usize,
    first_face: usize,
}

/// The static part of a clip in an OBJ.
pub(super) struct ObjScene {
    pub(super) meshes: Vec<Mesh>,
    pub(super) materials: Vec<Material>,
    pub(super) images: Vec<Image>,
    pub(super) warnings: Vec<String>,
}

/// Reads the lines of an OBJ. `scale` brings its unit to metres.
pub(super) fn parse(path: &Path, bytes: &[u8], scale: f64) -> Result<Parsed> {
    let mut parsed =
        Parsed { objects: vec![Object { name: None, first_point: 0, first_face: 0 }], ..Parsed::default() };
    let mut state = State::default();
    let mut joined = Vec::new();
    let mut lines = bytes.split(|&b| b == b'\n').enumerate();
    while let Some((number, line)) = lines.next() {
        let line = join_continued(line.trim_ascii(), &mut lines, &mut joined);
        let at = || format!("line {}", number + 1);
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        match words.next().unwrap_or_default() {
            b"v" => parsed.read_point(path, &at, words, scale)?,
            b"vt" => parsed.read_uv(path, &at, words)?,
            b"f" => parsed.read_face(path, &at, words, &state)?,
            b"usemtl" => state.material = Some(rest_of(line)).filter(|name| !name.is_empty()),
            b"g" => state.groups = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
            b"o" => parsed.objects.push(Object {
                name: Some(rest_of(line)).filter(|name| !name.is_empty()),
                first_point: parsed.points.len(),
                first_face: parsed.faces.len(),
            }),
            b"mtllib" => parsed.libraries.push(rest_of(line)),
            _ => {}
        }
    }
    if parsed.points.is_empty() {
        let problem = "there is no `v` line: not an OBJ file, or an empty one";
        return Err(malformed(path, "the whole file", problem));
    }
    if !parsed.colors.is_empty() {
        parsed.colors.resize(parsed.points.len(), [0.0; 3]);
    }
    Ok(parsed)
}

/// The line with those that it goes on in: each ends in a backslash but the last.
fn join_continued<'j, 'a: 'j>(
    mut line: &'a [u8],
    lines: &mut impl Iterator<Item = (usize, &'a [u8])>,
    joined: &'j mut Vec<u8>,
) -> &'j [u8] {
    if !line.ends_with(b"\\") {
        return line;
    }
    joined.clear();
    loop {
        joined.extend_from_slice(line.strip_suffix(b"\\").unwrap_or(line));
        joined.push(b' ');
        if !line.ends_with(b"\\") {
            return joined;
        }
        line = lines.next().map_or(&[][..], |(_, next)| next.trim_ascii());
    }
}

/// Makes meshes of the lines, and reads the materials that they name.
pub(super) fn assemble(path: &Path, parsed: &Parsed, files: &Files) -> Result<ObjScene> {
    let library = mtl::read(path, &parsed.libraries, files)?;
    let mut materials = library.materials;
    let mut material_index: HashMap<String, usize> =
        materials.iter().enumerate().map(|(index, material)| (material.name.clone(), index)).collect();
    for name in parsed.states.iter().filter_map(|state| state.material.as_ref()) {
        // materials that no library defines keep their name
        material_index.entry(name.clone()).or_insert_with(|| {
            materials.push(Material::plain(name.clone(), [0.8, 0.8, 0.8, 1.0]));
            materials.len() - 1
        });
    }
    let mut names = UniqueNames::default();
    let meshes = parsed
        .meshes()
        .iter()
        .map(|object| {
            let name = names.take(&object.name.clone().unwrap_or_else(|| name_of(path)));
            parsed.mesh(name, object, &material_index)
        })
        .collect();
    let mut warnings = library.warnings;
    warnings.extend(parsed.missing_uv_warning());
    Ok(ObjScene { meshes, materials, images: library.images, warnings })
}

/// One mesh to be: what it is called, its runs of points and faces, and the objects that are only groups in it.
struct MeshRun {
    name: Option<String>,
    points: std::ops::Range<usize>,
    faces: std::ops::Range<usize>,
    object_groups: Vec<(String, std::ops::Range<usize>)>,
}

impl Parsed {
    /// A position, and a colour behind it.
    fn read_point<'a>(
        &mut self,
        path: &Path,
        at: &dyn Fn() -> String,
        words: impl Iterator<Item = &'a [u8]>,
        scale: f64,
    ) -> Result<()> {
        let mut numbers = [0.0_f64; 7];
        let count = read_numbers(path, at, words, &mut numbers)?;
        if count < 3 {
            return Err(malformed(path, at(), "a position needs three coordinates"));
        }
        let point = [0, 1, 2].map(|i| (numbers[i] * scale) as f32);
        if !point.iter().all(|c| c.is_finite()) {
            let problem = "a coordinate is not a finite number; repair it in the program that wrote the file";
            return Err(malformed(path, at(), problem));
        }
        if count >= 6 {
            self.colors.resize(self.points.len(), [0.0; 3]);
            self.colors.push([3, 4, 5].map(|i| numbers[i] as f32));
        }
        self.points.push(point);
        Ok(())
    }

    fn read_uv<'a>(
        &mut self,
        path: &Path,
        at: &dyn Fn() -> String,
        words: impl Iterator<Item = &'a [u8]>,
    ) -> Result<()> {
        let mut numbers = [0.0_f64; 3];
        if read_numbers(path, at, words, &mut numbers)? == 0 {
            return Err(malformed(path, at(), "a texture coordinate needs at least one number"));
        }
        // OBJ counts v upwards, glTF and we downwards
        self.uvs.push([numbers[0] as f32, (1.0 - numbers[1]) as f32]);
        Ok(())
    }

    /// A face with the names that hold for it.
    fn read_face<'a>(
        &mut self,
        path: &Path,
        at: &dyn Fn() -> String,
        words: impl Iterator<Item = &'a [u8]>,
        state: &State,
    ) -> Result<()> {
        let mut corners = Vec::new();
        for word in words {
            let (point, uv) = read_corner(path, at, word, self.points.len(), self.uvs.len())?;
            if let Uv::Missing(number) = uv {
                self.miss_uv(at, number);
            }
            corners.push((point, uv.index()));
        }
        if corners.len() < 3 {
            let problem = format!("a face needs at least three corners, this one has {}", corners.len());
            return Err(malformed(path, at(), problem));
        }
        if self.states.last().is_none_or(|last| !last.same_names(state)) {
            self.states.push(State { first_face: self.faces.len(), ..state.clone() });
        }
        let points: Vec<u32> = corners.iter().map(|corner| corner.0).collect();
        self.faces.push(&points);
        self.corner_uvs.extend(corners.iter().map(|corner| corner.1));
        Ok(())
    }

    fn miss_uv(&mut self, at: &dyn Fn() -> String, number: i64) {
        self.missing_uvs += 1;
        let count = self.uvs.len();
        self.first_missing_uv.get_or_insert_with(|| {
            format!("{}: texture coordinate {number} was asked for, but {count} came before this line", at())
        });
    }

    fn missing_uv_warning(&self) -> Option<String> {
        let corners = if self.missing_uvs == 1 { "corner was" } else { "corners were" };
        let first = self.first_missing_uv.as_ref()?;
        Some(format!("{first}; {} {corners} read without one", self.missing_uvs))
    }

    /// The objects as meshes, or everything as one mesh when objects share positions.
    fn meshes(&self) -> Vec<MeshRun> {
        let ends = self.objects.iter().skip(1).map(|next| (next.first_point, next.first_face));
        let ends = ends.chain([(self.points.len(), self.faces.len())]);
        let runs: Vec<MeshRun> = self
            .objects
            .iter()
            .zip(ends)
            .map(|(object, (point_end, face_end))| MeshRun {
                name: object.name.clone(),
                points: object.first_point..point_end,
                faces: object.first_face..face_end,
                object_groups: Vec::new(),
            })
            .filter(|run| !run.points.is_empty() || !run.faces.is_empty())
            .collect();
        let apart = runs.iter().all(|run| {
            !run.points.is_empty()
                && run
                    .faces
                    .clone()
                    .all(|face| self.faces.get(face).iter().all(|&p| run.points.contains(&(p as usize))))
        });
        if apart {
            return runs;
        }
        let object_groups =
            runs.iter().filter_map(|run| run.name.clone().map(|name| (name, run.faces.clone()))).collect();
        vec![MeshRun { name: None, points: 0..self.points.len(), faces: 0..self.faces.len(), object_groups }]
    }

    fn mesh(&self, name: String, run: &MeshRun, material_index: &HashMap<String, usize>) -> Mesh {
        let first_point = run.points.start as u32;
        let corner_start = self.corner_start(run.faces.start);
        let corner_end = self.corner_start(run.faces.end);
        let points = &self.faces.corners()[corner_start..corner_end];
        let uvs = &self.corner_uvs[corner_start..corner_end];
        let rest_points = self.points[run.points.clone()].to_vec();
        let mut mesh = Mesh::from_faces(name, rest_points, Faces::default());

        let with_uvs = uvs.iter().any(|&uv| uv != NO_UV);
        let vertex_of: HashMap<(u32, u32), u32> = if with_uvs {
            let mut pairs: Vec<(u32, u32)> =
                uvs.iter().copied().zip(points.iter().map(|&p| p - first_point)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            // points that no face uses keep a vertex, behind the others
            let mut used = vec![false; mesh.rest_points.len()];
            pairs.iter().for_each(|&(_, point)| used[point as usize] = true);
            pairs.extend(
                (0..used.len() as u32).filter(|&point| !used[point as usize]).map(|point| (NO_UV, point)),
            );
            mesh.vertex_points = pairs.iter().map(|&(_, point)| point).collect();
            mesh.uvs =
                pairs.iter().map(|&(uv, _)| self.uvs.get(uv as usize).copied().unwrap_or_default()).collect();
            pairs.into_iter().enumerate().map(|(vertex, pair)| (pair, vertex as u32)).collect()
        } else {
            HashMap::new()
        };
        let vertex = |uv: u32, point: u32| if with_uvs { vertex_of[&(uv, point)] } else { point };

        let mut corner = 0;
        let mut polygon = Vec::new();
        for face in run.faces.clone() {
            polygon.clear();
            for &point in self.faces.get(face) {
                polygon.push(vertex(uvs[corner], point - first_point));
                corner += 1;
            }
            mesh.faces.push(&polygon);
        }
        mesh.parts = self.parts(run, mesh.vertex_count(), material_index);
        self.add_groups(&mut mesh, run);
        mesh
    }

    /// Runs of one material.
    fn parts(
        &self,
        run: &MeshRun,
        vertex_count: usize,
        material_index: &HashMap<String, usize>,
    ) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (faces, state) in self.states_in(&run.faces) {
            let material = state.material.as_ref().map(|name| material_index[name]);
            let faces = faces.start - run.faces.start..faces.end - run.faces.start;
            match parts.last_mut() {
                Some(last) if last.material == material => last.faces.end = faces.end,
                _ => parts.push(Part { faces, vertices: 0..vertex_count, material }),
            }
        }
        if parts.is_empty() {
            parts.push(Part { faces: 0..0, vertices: 0..vertex_count, material: None });
        }
        parts
    }

    fn add_groups(&self, mesh: &mut Mesh, run: &MeshRun) {
        let mut add = |name: &str, faces: std::ops::Range<usize>| {
            let count = mesh.rest_points.len();
            if mesh.group(name).is_none() {
                mesh.set_group(name, vec![0.0; count]);
            }
            let Some(group) = mesh.groups.iter_mut().find(|group| group.name == name) else { return };
            for &point in faces.flat_map(|face| self.faces.get(face)) {
                group.weights[point as usize - run.points.start] = 1.0;
            }
        };
        for (name, faces) in &run.object_groups {
            add(name, faces.clone());
        }
        for (faces, state) in self.states_in(&run.faces) {
            for name in &state.groups {
                add(name, faces.clone());
            }
        }
        if !self.colors.is_empty() {
            for (channel, name) in ["color.r", "color.g", "color.b"].into_iter().enumerate() {
                mesh.set_group(
                    name,
                    self.colors[run.points.clone()].iter().map(|color| color[channel]).collect(),
                );
            }
        }
    }

    /// The runs of equal names within a run of faces.
    fn states_in(&self, faces: &std::ops::Range<usize>) -> Vec<(std::ops::Range<usize>, &State)> {
        let ends = self.states.iter().skip(1).map(|next| next.first_face).chain([self.faces.len()]);
        let runs = self
            .states
            .iter()
            .zip(ends)
            .map(|(state, end)| (state.first_face.max(faces.start)..end.min(faces.end), state));
        runs.filter(|(run, _)| run.start < run.end).collect()
    }

    fn corner_start(&self, face: usize) -> usize {
        if face == 0 { 0 } else { self.faces.corner_range(face - 1).end }
    }
}

impl State {
    fn same_names(&self, other: &Self) -> bool {
        self.material == other.material && self.groups == other.groups
    }
}

/// Fills `numbers` with as many as the line has; returns how many.
fn read_numbers<'a>(
    path: &Path,
    at: &dyn Fn() -> String,
    words: impl Iterator<Item = &'a [u8]>,
    numbers: &mut [f64],
) -> Result<usize> {
    let mut count = 0;
    for (number, word) in numbers.iter_mut().zip(words) {
        let parsed = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
        *number = parsed.ok_or_else(|| {
            malformed(path, at(), format!("`{}` is not a number", String::from_utf8_lossy(word)))
        })?;
        count += 1;
    }
    Ok(count)
}

/// The texture coordinate of a corner.
enum Uv {
    None,
    Index(u32),
    /// The file names one that it does not have.
    Missing(i64),
}

impl Uv {
    fn index(&self) -> u32 {
        match self {
            Self::Index(index) => *index,
            Self::None | Self::Missing(_) => NO_UV,
        }
    }
}

/// A corner `v`, `v/vt`, `v//vn` or `v/vt/vn`; counted from one, or from the end when negative.
fn read_corner(
    path: &Path,
    at: &dyn Fn() -> String,
    word: &[u8],
    point_count: usize,
    uv_count: usize,
) -> Result<(u32, Uv)> {
    let bad = |problem: String| malformed(path, at(), problem);
    let parse = |word: &[u8], what: &str| {
        let text = std::str::from_utf8(word).unwrap_or("?");
        text.parse::<i64>().map_err(|_| bad(format!("`{text}` is not a {what} number")))
    };
    let resolve = |number: i64, count: usize| {
        let index = if number < 0 { count as i64 + number } else { number - 1 };
        // counts of lines that fitted into memory fit into 32 bits long before
        (0..count as i64).contains(&index).then_some(index as u32)
    };
    let mut fields = word.split(|&b| b == b'/');
    let number = parse(fields.next().unwrap_or_default(), "position")?;
    let Some(point) = resolve(number, point_count) else {
        let problem =
            format!("position {number} was asked for, but only {point_count} came before this line");
        return Err(bad(problem));
    };
    let uv = match fields.next() {
        None | Some(b"") => Uv::None,
        Some(field) => {
            let number = parse(field, "texture coordinate")?;
            resolve(number, uv_count).map_or(Uv::Missing(number), Uv::Index)
        }
    };
    Ok((point, uv))
}

/// What stands behind a line's keyword, spaces inside kept.
fn rest_of(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(text: &str) -> ObjScene {
        let path = Path::new("test.obj");
        assemble(path, &parse(path, text.as_bytes(), 1.0).unwrap(), &Files::default()).unwrap()
    }

    fn meshes(text: &str) -> Vec<Mesh> {
        scene(text).meshes
    }

    fn problem(text: &str) -> String {
        parse(Path::new("test.obj"), text.as_bytes(), 1.0).unwrap_err().to_string()
    }

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

    #[test]
    fn quads_stay_quads_and_negative_indices_count_from_the_end() {
        let mesh = &meshes(&format!("{SQUARE}f -4 -3 -2 -1\n"))[0];
        assert_eq!(mesh.faces.get(0), &[0, 1, 2, 3]);
        assert_eq!(mesh.vertex_points, vec![0, 1, 2, 3]);
    }

    #[test]
    fn a_uv_seam_splits_vertices_but_not_points() {
        let text = format!("{SQUARE}vt 0 0\nvt 1 0\nvt 1 1\nvt 0.5 0.5\nf 1/1 2/2 3/3\nf 1/4 3/3 4/1\n");
        let mesh = &meshes(&text)[0];
        assert_eq!(mesh.point_count(), 4);
        assert_eq!(mesh.vertex_points, vec![0, 3, 1, 2, 0], "in the order of the vt lines");
        assert_eq!(mesh.uvs[4], [0.5, 0.5]);
        assert_eq!(mesh.uvs[0], [0.0, 1.0], "v counts downwards");
        assert_eq!(mesh.point_triangles(), vec![[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn objects_with_their_own_positions_are_meshes() {
        let text = "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\no b\nv 0 0 1\nv 1 0 1\nv 0 1 1\nf 4 5 6\n";
        let meshes = meshes(text);
        assert_eq!(meshes.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(meshes[1].faces.get(0), &[0, 1, 2]);
    }

    #[test]
    fn objects_that_share_positions_are_groups_of_one_mesh() {
        let meshes = meshes(&format!("{SQUARE}o a\nf 1 2 3\no b\ng fine\nf 1 3 4\n"));
        assert_eq!(meshes.len(), 1);
        assert_eq!(meshes[0].group("a").unwrap().weights, [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(meshes[0].group("b").unwrap().weights, [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(meshes[0].group("fine").unwrap().weights, [1.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn material_runs_are_parts() {
        let text = format!("{SQUARE}f 1 2 3\nusemtl red paint\nf 1 3 4\ng x\nf 1 2 4\n");
        let mesh = &meshes(&text)[0];
        assert_eq!(mesh.parts.len(), 2);
        assert_eq!((mesh.parts[1].faces.clone(), mesh.parts[1].material), (1..3, Some(0)));
    }

    #[test]
    fn mistakes_name_their_line() {
        assert!(problem("v 0 0 0\nv 1 0\n").contains("line 2"));
        assert!(problem("v 0 0 nan\n").contains("not a finite number"));
        assert!(problem(&format!("{SQUARE}f 1 2 9\n")).contains("position 9"));
        assert!(problem(&format!("{SQUARE}f 1 2 0\n")).contains("line 5"));
        assert!(problem(&format!("{SQUARE}f 1// 2//\n")).contains("at least three corners"));
        assert!(problem("# nothing\n").contains("no `v` line"));
    }

    #[test]
    fn texture_coordinates_that_are_not_there_are_left_out() {
        let none = scene(&format!("{SQUARE}f 1/1 2/2 3/3\nf 1/1 3/3 4/4\n"));
        assert!(none.meshes[0].uvs.is_empty());
        assert_eq!(none.meshes[0].faces.len(), 2);
        let words = "line 5: texture coordinate 1 was asked for, but 0 came before this line; 6 corners were read without one";
        assert_eq!(none.warnings, [words]);
        // of some that are missing, the others are kept
        let some = scene(&format!("{SQUARE}vt 0.25 1\nf 1/1 2/-2 3/1\n"));
        assert_eq!(some.meshes[0].uvs[..2], [[0.25, 0.0]; 2]);
        assert_eq!(some.meshes[0].point_triangles(), [[0, 1, 2]]);
        assert!(some.warnings[0].ends_with("1 corner was read without one"), "{:?}", some.warnings);
        assert!(scene(&format!("{SQUARE}vt 0 1\nf 1/1 2/1 3/1\n")).warnings.is_empty());
    }

    #[test]
    fn a_line_may_go_on_in_the_next() {
        let mesh = &meshes(&format!("{SQUARE}f 1 2 \\\n 3 4\n"))[0];
        assert_eq!(mesh.faces.get(0), &[0, 1, 2, 3]);
    }
}
