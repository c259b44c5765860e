//! A glTF mesh as points and vertices: primitives laid end to end, vertices that always move together welded.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::accessor::Accessor;
use super::container::Container;
use super::document::Primitive;
use crate::{Faces, Group, Mesh, Part, Result, first_not_finite};

/// A mesh in its own space, with what moves it.
pub(super) struct Shape {
    /// The static part; rest points are in the mesh's own space.
    pub(super) mesh: Mesh,
    /// Joint numbers of the skin and weights, for each point; empty without a skin.
    pub(super) influences: Vec<Vec<(u32, f32)>>,
    blocks: Vec<Block>,
    pub(super) target_count: usize,
}

/// Vertices that share their accessors: those of one primitive, or of several that use the same ones.
struct Block {
    vertices: Range<usize>,
    /// The points that first occur in this block.
    points: Range<usize>,
    /// The first vertex of each of those points, counted within the block; they rise.
    representatives: Vec<u32>,
    targets: Vec<Option<Accessor<3>>>,
}

impl Shape {
    /// A mesh without morph targets, and what it hangs on.
    pub(super) fn at_rest(mesh: Mesh, influences: Vec<Vec<(u32, f32)>>) -> Self {
        Self { mesh, influences, blocks: Vec::new(), target_count: 0 }
    }

    /// The rest points moved by morph targets. Only those with a weight are read.
    pub(super) fn morphed(&self, weights: &[f32]) -> Result<Vec<[f32; 3]>> {
        let mut points = self.mesh.rest_points.clone();
        for (target, &weight) in weights.iter().enumerate().take(self.target_count) {
            if weight == 0.0 {
                continue;
            }
            for block in &self.blocks {
                let Some(Some(deltas)) = block.targets.get(target) else { continue };
                let points = &mut points[block.points.clone()];
                deltas.load()?.for_each_scaled(&block.representatives, weight, |point, [x, y, z]| {
                    let to = &mut points[point];
                    *to = [to[0] + x, to[1] + y, to[2] + z];
                });
            }
        }
        Ok(points)
    }

    /// How far a morph target moves each point, in the mesh's own space.
    pub(super) fn offsets(&self, target: usize) -> Result<Vec<[f32; 3]>> {
        let mut offsets = vec![[0.0; 3]; self.mesh.point_count()];
        for block in &self.blocks {
            let Some(Some(deltas)) = block.targets.get(target) else { continue };
            let offsets = &mut offsets[block.points.clone()];
            deltas
                .load()?
                .for_each_scaled(&block.representatives, 1.0, |point, offset| offsets[point] = offset);
        }
        Ok(offsets)
    }

    /// Reads a mesh. A clip that we split over several meshes is given as all of them: one topology, the morph
    /// targets one after another. `joint_count` is zero without a skin. `None` when nothing in it is a surface.
    pub(super) fn read(container: &Container, meshes: &[usize], joint_count: usize) -> Result<Option<Self>> {
        let document = &container.document;
        let mut columns = Columns::default();
        let mut faces = Faces::default();
        let mut parts = Vec::new();
        let mut blocks: Vec<(&Primitive, Block)> = Vec::new();
        let first = container.item(&document.meshes, meshes[0], "meshes")?;
        for (number, primitive) in first.primitives.iter().enumerate() {
            let place = format!("meshes[{}].primitives[{number}]", meshes[0]);
            let mode = primitive.mode.unwrap_or(4);
            if !(4..=6).contains(&mode) {
                continue;
            }
            let known = blocks.iter().find(|(other, _)| {
                other.attributes == primitive.attributes && other.targets == primitive.targets
            });
            let vertices = match known {
                Some((_, block)) => block.vertices.clone(),
                None => {
                    let vertices = columns.append(container, primitive, joint_count, &place)?;
                    let mut targets = Vec::new();
                    for &mesh in meshes {
                        let mesh = container.item(&document.meshes, mesh, "meshes")?;
                        let piece = container.item(&mesh.primitives, number, "primitives")?;
                        targets.extend(read_targets(container, piece, vertices.len(), &place)?);
                    }
                    let block = Block {
                        vertices: vertices.clone(),
                        points: 0..0,
                        representatives: Vec::new(),
                        targets,
                    };
                    blocks.push((primitive, block));
                    vertices
                }
            };
            let first_face = faces.len();
            push_triangles(container, primitive, mode, &vertices, &mut faces, &place)?;
            if let Some(material) = primitive.material {
                container.item(&document.materials, material, "materials")?;
            }
            parts.push(Part { faces: first_face..faces.len(), vertices, material: primitive.material });
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let mut blocks: Vec<Block> = blocks.into_iter().map(|(_, block)| block).collect();
        let target_count = blocks.iter().map(|block| block.targets.len()).max().unwrap_or(0);
        let (vertex_points, representatives) = weld(&columns, &blocks)?;
        for block in &mut blocks {
            let start = representatives.partition_point(|&vertex| (vertex as usize) < block.vertices.start);
            let end = representatives.partition_point(|&vertex| (vertex as usize) < block.vertices.end);
            block.points = start..end;
            block.representatives = representatives[start..end]
                .iter()
                .map(|&vertex| vertex - block.vertices.start as u32)
                .collect();
        }
        let rest_points: Vec<[f32; 3]> =
            representatives.iter().map(|&v| columns.positions[v as usize]).collect();
        let mut influences = Vec::new();
        if !columns.influences.is_empty() {
            influences = representatives
                .iter()
                .map(|&v| std::mem::take(&mut columns.influences[v as usize]))
                .collect();
        }
        let mut mesh = Mesh::from_faces("", rest_points, faces);
        mesh.smoothing = smoothing(&columns.normals, &vertex_points);
        mesh.groups = columns.groups(&vertex_points, mesh.point_count());
        let mut uv_sets = columns.uvs.into_iter();
        mesh.uvs = uv_sets.next().unwrap_or_default();
        mesh.more_uvs = uv_sets.collect();
        mesh.vertex_points = vertex_points;
        mesh.parts = parts;
        Ok(Some(Self { mesh, influences, blocks, target_count }))
    }
}

/// What the vertices carry, primitive after primitive.
#[derive(Default)]
struct Columns {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<Vec<[f32; 2]>>,
    colors: Vec<[f32; 4]>,
    color_width: usize,
    /// Attributes of our own kind, `_NAME`, by name.
    extra: BTreeMap<String, Vec<f32>>,
    influences: Vec<Vec<(u32, f32)>>,
}

/// The vertices of one primitive, and where they go.
struct VertexBlock<'a> {
    container: &'a Container,
    primitive: &'a Primitive,
    start: usize,
    count: usize,
    place: &'a str,
}

impl VertexBlock<'_> {
    /// Refuses an attribute that does not have one element for each vertex.
    fn check(&self, name: &str, found: usize) -> Result<()> {
        if found == self.count {
            return Ok(());
        }
        let problem = format!("{name} has {found} elements, POSITION has {}", self.count);
        Err(self.container.malformed(self.place, problem))
    }
}

impl Columns {
    /// Takes in the vertices of a primitive; returns where they lie.
    fn append(
        &mut self,
        container: &Container,
        primitive: &Primitive,
        joint_count: usize,
        place: &str,
    ) -> Result<Range<usize>> {
        let Some(&position) = primitive.attributes.get("POSITION") else {
            return Err(container.malformed(place, "it has no POSITION"));
        };
        let positions = Accessor::<3>::read(container, position)?;
        if let Some(bad) = first_not_finite(&positions) {
            let problem = format!(
                "POSITION {bad} is not a finite number; repair it in the program that wrote the file"
            );
            return Err(container.malformed(place, problem));
        }
        let start = self.positions.len();
        let end = start + positions.len();
        if u32::try_from(end).is_err() {
            return Err(container.malformed(place, "a mesh of more than 4 billion vertices"));
        }
        let count = positions.len();
        self.positions.extend(positions);
        let block = VertexBlock { container, primitive, start, count, place };
        self.append_normals_and_uvs(&block)?;
        self.append_colors(&block)?;
        self.append_extra(&block)?;
        if joint_count > 0 && primitive.attributes.contains_key("JOINTS_0") {
            self.influences.resize(start, Vec::new());
            self.influences.extend(read_influences(container, primitive, count, joint_count, place)?);
        }

        // primitives without an attribute that others have get its default
        self.uvs.iter_mut().for_each(|uvs| uvs.resize(end, [0.0; 2]));
        self.extra.values_mut().for_each(|column| column.resize(end, 0.0));
        for (column, default) in [(&mut self.normals, [0.0; 3])] {
            if !column.is_empty() {
                column.resize(end, default);
            }
        }
        if !self.colors.is_empty() {
            self.colors.resize(end, [1.0; 4]);
        }
        if !self.influences.is_empty() {
            self.influences.resize(end, Vec::new());
        }
        Ok(start..end)
    }

    fn append_normals_and_uvs(&mut self, block: &VertexBlock) -> Result<()> {
        let &VertexBlock { container, primitive, start, .. } = block;
        if let Some(&index) = primitive.attributes.get("NORMAL") {
            let normals = Accessor::<3>::read(container, index)?;
            block.check("NORMAL", normals.len())?;
            self.normals.resize(start, [0.0; 3]);
            self.normals.extend(normals);
        }
        for set in 0.. {
            let name = format!("TEXCOORD_{set}");
            let Some(&index) = primitive.attributes.get(&name) else { break };
            let uvs = Accessor::<2>::read(container, index)?;
            block.check(&name, uvs.len())?;
            if self.uvs.len() == set {
                self.uvs.push(Vec::new());
            }
            self.uvs[set].resize(start, [0.0; 2]);
            self.uvs[set].extend(uvs);
        }
        Ok(())
    }

    fn append_colors(&mut self, block: &VertexBlock) -> Result<()> {
        let &VertexBlock { container, primitive, start, .. } = block;
        let Some(&index) = primitive.attributes.get("COLOR_0") else { return Ok(()) };
        let wide = container.item(&container.document.accessors, index, "accessors")?.kind == "VEC4";
        let colors: Vec<[f32; 4]> = match wide {
            true => Accessor::<4>::read(container, index)?,
            false => {
                Accessor::<3>::read(container, index)?.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect()
            }
        };
        block.check("COLOR_0", colors.len())?;
        self.color_width = self.color_width.max(if wide { 4 } else { 3 });
        self.colors.resize(start, [1.0; 4]);
        self.colors.extend(colors);
        Ok(())
    }

    /// Attributes of our own kind: one number for each vertex.
    fn append_extra(&mut self, block: &VertexBlock) -> Result<()> {
        let &VertexBlock { container, primitive, start, .. } = block;
        for (name, &index) in &primitive.attributes {
            let scalar =
                container.document.accessors.get(index).is_some_and(|accessor| accessor.kind == "SCALAR");
            let Some(name) = name.strip_prefix('_').filter(|name| scalar && !name.is_empty()) else {
                continue;
            };
            let values = Accessor::<1>::read(container, index)?;
            block.check(name, values.len())?;
            let column = self.extra.entry(name.to_string()).or_default();
            column.resize(start, 0.0);
            column.extend(values.into_flattened());
        }
        Ok(())
    }

    /// Vertex colours and extra attributes as groups. Where a seam has two values for a point, the larger counts: a
    /// pin painted on one side of a seam holds.
    fn groups(&self, vertex_points: &[u32], point_count: usize) -> Vec<Group> {
        let group = |name: String, value: &dyn Fn(usize) -> f32| {
            let mut weights = vec![f32::NEG_INFINITY; point_count];
            for (vertex, &point) in vertex_points.iter().enumerate() {
                let weight = &mut weights[point as usize];
                let value = value(vertex);
                *weight = weight.max(if value.is_finite() { value } else { 0.0 });
            }
            Group { name, weights }
        };
        let mut groups = Vec::new();
        if !self.colors.is_empty() {
            for (channel, letter) in ["r", "g", "b", "a"].into_iter().enumerate().take(self.color_width) {
                groups.push(group(format!("color.{letter}"), &|vertex| self.colors[vertex][channel]));
            }
        }
        groups.extend(self.extra.iter().map(|(name, values)| group(name.clone(), &|vertex| values[vertex])));
        groups
    }
}

/// Joints and weights of each vertex, all sets together; weights are brought to sum to one.
fn read_influences(
    container: &Container,
    primitive: &Primitive,
    count: usize,
    joint_count: usize,
    place: &str,
) -> Result<Vec<Vec<(u32, f32)>>> {
    let mut influences: Vec<Vec<(u32, f32)>> = vec![Vec::new(); count];
    for set in 0.. {
        let names = [format!("JOINTS_{set}"), format!("WEIGHTS_{set}")];
        let [Some(&joints), Some(&weights)] = names.each_ref().map(|name| primitive.attributes.get(name))
        else {
            break;
        };
        let joints = Accessor::<4>::indices(container, joints)?;
        let weights = Accessor::<4>::read(container, weights)?;
        if joints.len() != count || weights.len() != count {
            return Err(
                container.malformed(place, format!("{} or {} does not fit POSITION", names[0], names[1]))
            );
        }
        for (vertex, (joints, weights)) in joints.iter().zip(&weights).enumerate() {
            for (&joint, &weight) in joints.iter().zip(weights) {
                if weight == 0.0 {
                    continue;
                }
                if joint as usize >= joint_count || !weight.is_finite() {
                    let problem = format!(
                        "vertex {vertex} hangs on joint {joint} with weight {weight}, but its skin has {joint_count} joints"
                    );
                    return Err(container.malformed(place, problem));
                }
                influences[vertex].push((joint, weight));
            }
        }
    }
    for of_vertex in &mut influences {
        let sum: f32 = of_vertex.iter().map(|&(_, weight)| weight).sum();
        if sum > 0.0 && sum.is_finite() {
            of_vertex.iter_mut().for_each(|(_, weight)| *weight /= sum);
        } else {
            // a vertex that hangs on nothing would fall to the origin; viewers hang it on the first joint
            *of_vertex = vec![(0, 1.0)];
        }
    }
    Ok(influences)
}

/// The position deltas of a primitive's morph targets; `None` for targets that move something else.
fn read_targets(
    container: &Container,
    primitive: &Primitive,
    count: usize,
    place: &str,
) -> Result<Vec<Option<Accessor<3>>>> {
    let read = |target: &BTreeMap<String, usize>| {
        let Some(&index) = target.get("POSITION") else { return Ok(None) };
        let accessor = Accessor::<3>::new(container, index)?;
        if accessor.len() != count {
            let problem = format!("a morph target has {} positions, the mesh has {count}", accessor.len());
            return Err(container.malformed(place, problem));
        }
        Ok(Some(accessor))
    };
    primitive.targets.iter().map(read).collect()
}

/// Appends the triangles of a list, strip or fan.
fn push_triangles(
    container: &Container,
    primitive: &Primitive,
    mode: u32,
    vertices: &Range<usize>,
    faces: &mut Faces,
    place: &str,
) -> Result<()> {
    let indices: Vec<u32> = match primitive.indices {
        Some(index) => Accessor::<1>::indices(container, index)?.into_flattened(),
        None => (0..vertices.len() as u32).collect(),
    };
    if let Some(&index) = indices.iter().find(|&&index| index as usize >= vertices.len()) {
        let problem = format!("vertex {index} is asked for, but there are {}", vertices.len());
        return Err(container.malformed(place, problem));
    }
    let first = vertices.start as u32;
    let mut push = |a: u32, b: u32, c: u32| faces.push(&[a + first, b + first, c + first]);
    match mode {
        4 => indices.chunks_exact(3).for_each(|t| push(t[0], t[1], t[2])),
        // every other triangle of a strip is turned
        5 => indices.windows(3).enumerate().for_each(|(i, t)| match i % 2 {
            0 => push(t[0], t[1], t[2]),
            _ => push(t[0], t[2], t[1]),
        }),
        _ => indices.windows(2).skip(1).for_each(|pair| push(indices[0], pair[0], pair[1])),
    }
    Ok(())
}

/// Finds the vertices that always stand on one point: equal to the bit in rest position, skin and every morph target.
///
/// Returns the point of each vertex, and the first vertex of each point; points are numbered as they first occur. Targets are read one at a
/// time, twice: for fingerprints, and to see whether vertices with equal ones are equal.
fn weld(columns: &Columns, blocks: &[Block]) -> Result<(Vec<u32>, Vec<u32>)> {
    let count = columns.positions.len();
    let fingerprints = fingerprints(columns, blocks)?;
    let skin = |vertex: u32| columns.influences.get(vertex as usize).map_or(&[][..], Vec::as_slice);
    let mut first_of: HashMap<([u32; 3], u64), Vec<u32>> = HashMap::new();
    // the vertex that each seems to be one with: itself, or an earlier one
    let mut twins: Vec<u32> = (0..count as u32).collect();
    for vertex in 0..count as u32 {
        let Some(&print) = fingerprints.get(&vertex) else { continue };
        let print =
            skin(vertex).iter().fold(print, |p, &(joint, weight)| mix(mix(p, joint), weight.to_bits()));
        let candidates = first_of.entry((bits(columns.positions[vertex as usize]), print)).or_default();
        match candidates.iter().find(|&&known| skin(known) == skin(vertex)) {
            Some(&known) => twins[vertex as usize] = known,
            None => candidates.push(vertex),
        }
    }
    separate(&mut twins, blocks)?;
    let mut points: Vec<u32> = Vec::with_capacity(count);
    let mut representatives: Vec<u32> = Vec::new();
    for (vertex, &twin) in twins.iter().enumerate() {
        if twin as usize == vertex {
            points.push(representatives.len() as u32);
            representatives.push(twin);
        } else {
            points.push(points[twin as usize]);
        }
    }
    Ok((points, representatives))
}

fn bits(p: [f32; 3]) -> [u32; 3] {
    p.map(f32::to_bits)
}

/// A number for each vertex that shares its place with another, made from how all targets move it.
fn fingerprints(columns: &Columns, blocks: &[Block]) -> Result<HashMap<u32, u64>> {
    let count = columns.positions.len();
    let mut at_place: HashMap<[u32; 3], u32> = HashMap::with_capacity(count);
    for &position in &columns.positions {
        *at_place.entry(bits(position)).or_default() += 1;
    }
    // only these are worth looking at closely
    let shared: Vec<u32> =
        (0..count as u32).filter(|&v| at_place[&bits(columns.positions[v as usize])] > 1).collect();
    let mut fingerprints: HashMap<u32, u64> = shared.iter().map(|&vertex| (vertex, 0)).collect();
    for block in blocks {
        let start = shared.partition_point(|&v| (v as usize) < block.vertices.start);
        let end = shared.partition_point(|&v| (v as usize) < block.vertices.end);
        let inside = &shared[start..end];
        for deltas in block.targets.iter().flatten().filter(|_| !inside.is_empty()) {
            let deltas = deltas.load()?;
            for &vertex in inside {
                let delta = bits(deltas.get(vertex as usize - block.vertices.start));
                // the keys of the map are these vertices
                fingerprints
                    .entry(vertex)
                    .and_modify(|print| *print = delta.iter().fold(*print, |p, &w| mix(p, w)));
            }
        }
    }
    Ok(fingerprints)
}

/// Takes twins apart that some target moves differently.
fn separate(twins: &mut [u32], blocks: &[Block]) -> Result<()> {
    let pairs: Vec<u32> =
        (0..twins.len() as u32).filter(|&vertex| twins[vertex as usize] != vertex).collect();
    if pairs.is_empty() {
        return Ok(());
    }
    let targets = blocks.iter().map(|block| block.targets.len()).max().unwrap_or(0);
    for target in 0..targets {
        let load = |block: &Block| match block.targets.get(target) {
            Some(Some(deltas)) => deltas.to_vec().map(|deltas| (block.vertices.clone(), deltas)),
            _ => Ok((0..0, Vec::new())),
        };
        let loaded = blocks.iter().map(load).collect::<Result<Vec<_>>>()?;
        let delta = |vertex: u32| {
            let (range, deltas) = loaded.iter().find(|(range, _)| range.contains(&(vertex as usize)))?;
            Some(bits(deltas[vertex as usize - range.start]))
        };
        let zero = Some([0; 3]);
        for &vertex in &pairs {
            let twin = twins[vertex as usize];
            if twin != vertex && delta(vertex).or(zero) != delta(twin).or(zero) {
                twins[vertex as usize] = vertex;
            }
        }
    }
    Ok(())
}

/// Stirs a word into a fingerprint.
fn mix(print: u64, word: u32) -> u64 {
    (print ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Which vertices share a normal: those of one point whose normals are equal to the bit. Empty when all do.
fn smoothing(normals: &[[f32; 3]], vertex_points: &[u32]) -> Vec<u32> {
    if normals.is_empty() {
        return Vec::new();
    }
    let mut numbers: HashMap<(u32, [u32; 3]), u32> = HashMap::with_capacity(normals.len());
    let mut smoothing = Vec::with_capacity(normals.len());
    for (normal, &point) in normals.iter().zip(vertex_points) {
        let next = numbers.len() as u32;
        smoothing.push(*numbers.entry((point, normal.map(f32::to_bits))).or_insert(next));
    }
    let points = vertex_points.iter().max().map_or(0, |&last| last as usize + 1);
    if numbers.len() == points { Vec::new() } else { smoothing }
}
