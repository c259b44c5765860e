//! From an Alembic archive to a clip: which objects are meshes, where they stand, when the samples are.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::frames::{AlembicFrames, Body};
use super::header::{Header, Holds, unpack_objects, unpack_shared};
use super::ogawa::{Child, Ogawa};
use super::pod;
use crate::format::corners::split;
use crate::format::{DEFAULT_FRAME_RATE_HZ, ReadOptions, Source, UniqueNames, name_of};
use crate::{Clip, Faces, Mesh, Result, first_not_finite};

/// Objects deeper than this are nobody's intention.
const DEEPEST: usize = 256;
/// More frames than anyone means: eleven hours at 24 per second.
const MOST_FRAMES: f64 = 1e6;

/// Reads a clip.
pub(in crate::format) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let archive = Archive::open(Source::open(path, &options.files)?)?;
    let mut objects = Vec::new();
    archive.walk(&mut objects)?;
    let unit = options.unit_in_metres.unwrap_or(1.0);
    let timing = Timing::new(&archive, &objects, options)?;
    let (mut meshes, mut bodies, mut names) = (Vec::new(), Vec::new(), UniqueNames::default());
    for (index, object) in objects.iter().enumerate().filter(|(_, object)| object.is_mesh()) {
        let Some(points) = object.properties.get("P") else { continue };
        let rest = archive.rest(object, points)?;
        let mut mesh = read_mesh(&archive, object, rest)?;
        mesh.name = names.take(&title(&objects, index));
        let transforms = transforms(&archive, &objects, index)?;
        let body = Body {
            name: mesh.name.clone(),
            points: points.clone(),
            point_count: mesh.point_count(),
            transforms,
        };
        body.place(&archive, timing.time(0), unit, &mut mesh.rest_points)?;
        bodies.push(body);
        meshes.push(mesh);
    }
    let rate = timing.frame_rate_hz;
    let Timing { first, count, .. } = timing;
    let frames = AlembicFrames { archive, bodies, unit, first, count, frame_rate_hz: rate };
    Ok(Clip::new(name_of(path), rate, meshes, None, Arc::new(frames)))
}

/// An open archive.
pub(super) struct Archive {
    pub(super) ogawa: Ogawa,
    shared: Vec<String>,
    samplings: Vec<Sampling>,
    top: u64,
}

/// How time goes for a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampling {
    /// Seconds from cycle to cycle; `None` when every sample has its own time.
    cycle: Option<f64>,
    times: Vec<f64>,
}

impl Sampling {
    pub(super) fn time(&self, sample: usize) -> f64 {
        let count = self.times.len().max(1);
        match self.cycle {
            Some(cycle) => {
                self.times.get(sample % count).copied().unwrap_or(0.0) + (sample / count) as f64 * cycle
            }
            None => self.times.get(sample).or(self.times.last()).copied().unwrap_or(0.0),
        }
    }
}

/// A property with the children that hold its samples.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) header: Header,
    pub(super) children: Vec<Child>,
    pub(super) path: String,
}

/// An object of the archive.
pub(super) struct Object {
    parent: Option<usize>,
    name: String,
    schema: String,
    pub(super) path: String,
    /// Those of its schema; of compounds within it, by `compound/name`.
    pub(super) properties: BTreeMap<String, Property>,
}

impl Object {
    fn is_mesh(&self) -> bool {
        self.schema.starts_with("AbcGeom_PolyMesh") || self.schema.starts_with("AbcGeom_SubD")
    }

    fn is_transform(&self) -> bool {
        self.schema.starts_with("AbcGeom_Xform")
    }
}

impl Archive {
    fn open(source: Source) -> Result<Self> {
        let (ogawa, root) = Ogawa::open(source)?;
        let (Some(&Child::Group(top)), true) = (root.get(2), root.len() >= 6) else {
            return Err(ogawa.malformed("archive", "the root has not the parts that every archive has"));
        };
        let version = ogawa.bytes(root.first())?;
        if version != [0; 4] {
            return Err(ogawa.malformed("archive", "this version of Alembic's layout is not known; 0 is"));
        }
        let shared = unpack_shared(&ogawa, &ogawa.bytes(root.get(5))?)?;
        let samplings = read_samplings(&ogawa, &ogawa.bytes(root.get(4))?)?;
        Ok(Self { ogawa, shared, samplings, top })
    }

    /// All objects, parents before children.
    fn walk(&self, objects: &mut Vec<Object>) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut stack = vec![(self.top, None, String::new(), String::new(), 0)];
        while let Some((group, parent, name, schema, depth)) = stack.pop() {
            let above: &str = parent.map_or("", |parent: usize| objects[parent].path.as_str());
            let path = if name.is_empty() { String::new() } else { format!("{above}/{name}") };
            // what is shared by two parents, or its own ancestor, is damage: instances are named as such
            if depth > DEEPEST || !seen.insert(group) {
                return Err(self.ogawa.malformed(path, "objects hang together in a circle or nest too deep"));
            }
            let children = self.ogawa.children(group)?;
            let Some((headers, rest)) = children.split_last() else { continue };
            let mut object = Object { parent, name, schema, path, properties: BTreeMap::new() };
            if let Some(&Child::Group(properties)) = rest.first() {
                self.read_properties(&mut object, properties)?;
            }
            let listed =
                unpack_objects(&self.ogawa, &self.ogawa.bytes(Some(headers))?, &self.shared, &object.path)?;
            let index = objects.len();
            let mut names = HashSet::new();
            let mut below = Vec::new();
            for ((name, metadata), child) in listed.into_iter().zip(rest.iter().skip(1)) {
                if !names.insert(name.clone()) {
                    return Err(self
                        .ogawa
                        .malformed(&object.path, format!("there are two objects `{name}`")));
                }
                let schema = super::header::tag(&metadata, "schema").unwrap_or_default().to_string();
                if let &Child::Group(group) = child
                    && group != 0
                {
                    below.push((group, Some(index), name, schema, depth + 1));
                }
            }
            objects.push(object);
            stack.extend(below.into_iter().rev());
        }
        Ok(())
    }

    /// The properties of an object that a clip can use, two levels below its schema's compound.
    fn read_properties(&self, object: &mut Object, group: u64) -> Result<()> {
        for property in self.properties(group, &object.path)? {
            if property.header.name == ".instanceSource" {
                let problem =
                    "it is an instance, which is not read; write the archive again without instances";
                return Err(self.ogawa.malformed(&object.path, problem));
            }
            if !matches!(property.header.name.as_str(), ".geom" | ".xform") {
                continue;
            }
            for property in self.compound(&property)? {
                if property.header.holds != Holds::Compound {
                    object.properties.insert(property.header.name.clone(), property);
                    continue;
                }
                let of = property.header.name.clone();
                for inner in self.compound(&property)? {
                    if inner.header.holds == Holds::Compound {
                        for leaf in self.compound(&inner)? {
                            let key = format!("{of}/{}/{}", inner.header.name, leaf.header.name);
                            object.properties.insert(key, leaf);
                        }
                    } else {
                        object.properties.insert(format!("{of}/{}", inner.header.name), inner);
                    }
                }
            }
        }
        Ok(())
    }

    fn compound(&self, property: &Property) -> Result<Vec<Property>> {
        match property.children.first() {
            Some(&Child::Group(group)) => self.properties(group, &property.path),
            _ => Ok(Vec::new()),
        }
    }

    /// The properties of a compound. A compound among them keeps its own place as its only child.
    fn properties(&self, group: u64, path: &str) -> Result<Vec<Property>> {
        let children = self.ogawa.children(group)?;
        let Some((headers, places)) = children.split_last() else { return Ok(Vec::new()) };
        let headers = Header::unpack_all(&self.ogawa, &self.ogawa.bytes(Some(headers))?, &self.shared, path)?;
        let mut properties = Vec::new();
        for (header, place) in headers.into_iter().zip(places) {
            let children = match (header.holds, place) {
                (Holds::Compound, place) => vec![*place],
                (_, &Child::Group(group)) => self.ogawa.children(group)?,
                _ => Vec::new(),
            };
            properties.push(Property { path: format!("{path}/{}", header.name), header, children });
        }
        Ok(properties)
    }

    pub(super) fn sampling(&self, property: &Property) -> Result<&Sampling> {
        let sampling = self.samplings.get(property.header.sampling as usize);
        let sampling =
            sampling.ok_or_else(|| self.ogawa.malformed(&property.path, "it has no time sampling"))?;
        let count = property.header.count as usize;
        if sampling.cycle.is_none() && sampling.times.len() < count && property.header.last_changed > 0 {
            let problem = format!("{count} samples, but {} times: some are missing", sampling.times.len());
            return Err(self.ogawa.malformed(&property.path, problem));
        }
        Ok(sampling)
    }

    /// Where a sample's bytes lie, behind the digest.
    pub(super) fn place(&self, property: &Property, sample: usize) -> Result<(u64, u64)> {
        let stored = property.header.stored(u32::try_from(sample).unwrap_or(u32::MAX));
        let stride = if property.header.holds == Holds::Array { 2 } else { 1 };
        match property.children.get(stored * stride) {
            Some(&Child::Data(_, 0)) => Ok((0, 0)),
            Some(&Child::Data(start, length)) if length >= 16 => Ok((start + 16, length - 16)),
            _ => Err(self
                .ogawa
                .malformed(&property.path, format!("sample {sample} is missing: the file is damaged"))),
        }
    }

    fn bytes(&self, property: &Property, sample: usize) -> Result<Vec<u8>> {
        let (start, length) = self.place(property, sample)?;
        self.ogawa.source.bytes(start, length)
    }

    /// A sample as numbers, whatever their type.
    pub(super) fn numbers(&self, property: &Property, sample: usize) -> Result<Vec<f64>> {
        let bytes = self.bytes(property, sample)?;
        let four = || bytes.as_chunks::<4>().0.iter();
        match property.header.pod {
            pod::BOOL | pod::UINT8 => Ok(bytes.iter().map(|&x| f64::from(x)).collect()),
            pod::UINT32 => Ok(four().map(|x| f64::from(u32::from_le_bytes(*x))).collect()),
            pod::INT32 => Ok(four().map(|x| f64::from(i32::from_le_bytes(*x))).collect()),
            pod::FLOAT32 => Ok(four().map(|x| f64::from(f32::from_le_bytes(*x))).collect()),
            pod::FLOAT64 => Ok(bytes.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect()),
            other => Err(self
                .ogawa
                .malformed(&property.path, format!("numbers of type {other} were not expected"))),
        }
    }

    /// A sample as points.
    pub(super) fn points(&self, property: &Property, sample: usize) -> Result<Vec<[f32; 3]>> {
        if property.header.extent != 3 {
            return Err(self.ogawa.malformed(&property.path, "points of three numbers each were expected"));
        }
        if property.header.pod == pod::FLOAT32 {
            let (start, length) = self.place(property, sample)?;
            return self.ogawa.source.points(start, length / 12);
        }
        let numbers = self.numbers(property, sample)?;
        Ok(numbers.as_chunks::<3>().0.iter().map(|point| point.map(|c| c as f32)).collect())
    }

    /// The shape outside time: `Pref` where it fits, otherwise the first sample.
    fn rest(&self, object: &Object, points: &Property) -> Result<Vec<[f32; 3]>> {
        let first = self.points(points, 0)?;
        if first.is_empty() {
            return Err(self
                .ogawa
                .malformed(&object.path, "the mesh is empty; remove it, or give it points"));
        }
        if let Some(point) = first_not_finite(&first) {
            return Err(self.ogawa.malformed(&points.path, format!("point {point} is not finite")));
        }
        if let Some(rest) =
            object.properties.get(".arbGeomParams/Pref").filter(|rest| rest.header.extent == 3)
        {
            let rest = self.points(rest, 0)?;
            if rest.len() == first.len() && first_not_finite(&rest).is_none() {
                return Ok(rest);
            }
        }
        Ok(first)
    }
}

fn read_samplings(ogawa: &Ogawa, bytes: &[u8]) -> Result<Vec<Sampling>> {
    let damaged = || ogawa.malformed("time samplings", "they were cut short or are damaged");
    let mut samplings = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (head, behind) = rest.split_at_checked(16).ok_or_else(damaged)?;
        let cycle = head[4..].first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes));
        let count = head[12..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
        let (times, behind) =
            count.checked_mul(8).and_then(|length| behind.split_at_checked(length)).ok_or_else(damaged)?;
        rest = behind;
        let times: Vec<f64> =
            times.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        // "acyclic" is written as the largest number there is
        let cycle = (cycle < f64::MAX / 64.0).then_some(cycle);
        let rises =
            times.windows(2).all(|pair| pair[0] < pair[1]) && times.iter().all(|time| time.is_finite());
        let wraps = cycle.is_none_or(|cycle| {
            cycle > 0.0 && times.last().zip(times.first()).is_none_or(|(last, first)| last - first < cycle)
        });
        if times.is_empty() || !rises || !wraps {
            return Err(ogawa.malformed("time samplings", "samples are out of order or have no times"));
        }
        samplings.push(Sampling { cycle, times });
    }
    Ok(samplings)
}

/// What people call a mesh: its transform, which has the name, or itself when it stands alone.
fn title(objects: &[Object], index: usize) -> String {
    let object = &objects[index];
    let parent = object.parent.map(|parent| &objects[parent]).filter(|parent| parent.is_transform());
    match parent {
        Some(parent) if object.name == format!("{}Shape", parent.name) => parent.name.clone(),
        _ => object.name.clone(),
    }
}

/// The transforms above an object, from the outside; those above one that does not inherit are left out.
fn transforms(
    archive: &Archive,
    objects: &[Object],
    index: usize,
) -> Result<Vec<BTreeMap<String, Property>>> {
    let mut chain = Vec::new();
    let mut above = objects[index].parent;
    while let Some(parent) = above {
        let object = &objects[parent];
        if object.is_transform() {
            chain.push(object.properties.clone());
            if let Some(inherits) = object.properties.get(".inherits")
                && archive.numbers(inherits, 0)?.first() == Some(&0.0)
            {
                break;
            }
        }
        above = object.parent;
    }
    chain.reverse();
    Ok(chain)
}

fn read_mesh(archive: &Archive, object: &Object, points: Vec<[f32; 3]>) -> Result<Mesh> {
    let wrong = |problem: String| archive.ogawa.malformed(&object.path, problem);
    let fixed = |name: &str| {
        let property = object.properties.get(name).ok_or_else(|| wrong(format!("it has no {name}")))?;
        let first = archive.numbers(property, 0)?;
        for sample in property.header.first_changed..=property.header.last_changed {
            if sample > 0 && archive.numbers(property, sample as usize)? != first {
                return Err(wrong(format!(
                    "topology changes at sample {sample}: every frame must have the same"
                )));
            }
        }
        Ok(first)
    };
    let (indices, counts) = (fixed(".faceIndices")?, fixed(".faceCounts")?);
    let mut faces = Faces::default();
    let mut at = 0;
    let mut order = Vec::with_capacity(indices.len());
    for (face, &count) in counts.iter().enumerate() {
        let end = if count >= 0.0 { at + count as usize } else { usize::MAX };
        let run = indices
            .get(at..end)
            .ok_or_else(|| wrong(format!("face {face} has {count} corners, which are not there")))?;
        if let Some(point) = run.iter().find(|point| !(0.0..points.len() as f64).contains(*point)) {
            return Err(wrong(format!(
                "face {face} refers to point {point}, but there are {}",
                points.len()
            )));
        }
        // Alembic goes round its faces the other way
        faces.push(&run.iter().rev().map(|&point| point as u32).collect::<Vec<_>>());
        order.extend((at..end).rev());
        at = end;
    }
    if at != indices.len() {
        return Err(wrong(format!("its faces have {at} corners, but {} indices are there", indices.len())));
    }
    let mut mesh = Mesh::from_faces("", points, faces);
    read_uvs(archive, object, &order, &mut mesh)?;
    read_groups(archive, object, &mut mesh)?;
    Ok(mesh)
}

/// Texture coordinates, with or without numbers; corners that share point and number share a vertex.
fn read_uvs(archive: &Archive, object: &Object, order: &[usize], mesh: &mut Mesh) -> Result<()> {
    let (values, numbers) = match (object.properties.get("uv"), object.properties.get("uv/.vals")) {
        (Some(plain), _) => (plain, None),
        (None, Some(values)) => (values, object.properties.get("uv/.indices")),
        (None, None) => return Ok(()),
    };
    let uvs = archive.numbers(values, 0)?;
    let numbers = numbers.map(|numbers| archive.numbers(numbers, 0)).transpose()?;
    let count = numbers.as_ref().map_or(uvs.len() / 2, Vec::len);
    let scope = values.header.tag("geoScope");
    let scope = scope.or_else(|| (count == order.len()).then_some("fvr"));
    let corners = mesh.faces.corners().to_vec();
    let elements: Vec<usize> = match scope {
        Some("fvr") if count == order.len() => order.to_vec(),
        Some("vtx" | "var") if count == mesh.point_count() => {
            corners.iter().map(|&point| point as usize).collect()
        }
        _ => {
            return Err(archive
                .ogawa
                .malformed(&values.path, format!("{count} texture coordinates do not fit the mesh")));
        }
    };
    let number = |element: usize| numbers.as_ref().map_or(element, |numbers| numbers[element] as usize);
    let keys: Vec<(usize, u32)> =
        elements.iter().zip(&corners).map(|(&element, &point)| (number(element), point)).collect();
    if keys.iter().any(|&(number, _)| 2 * number + 1 >= uvs.len()) {
        return Err(archive
            .ogawa
            .malformed(&values.path, "a corner names a texture coordinate that is not there"));
    }
    let (vertex_points, corner_vertices) = split(&keys, mesh.point_count());
    mesh.uvs = vec![[0.0; 2]; vertex_points.len()];
    mesh.vertex_points = vertex_points;
    for (&vertex, &(number, _)) in corner_vertices.iter().zip(&keys) {
        mesh.uvs[vertex as usize] = [uvs[2 * number] as f32, 1.0 - uvs[2 * number + 1] as f32];
    }
    let mut faces = Faces::default();
    (0..mesh.faces.len()).for_each(|face| faces.push(&corner_vertices[mesh.faces.corner_range(face)]));
    mesh.faces = faces;
    mesh.parts[0].vertices = 0..mesh.vertex_points.len();
    Ok(())
}

/// Floats for each point.
fn read_groups(archive: &Archive, object: &Object, mesh: &mut Mesh) -> Result<()> {
    for (key, property) in &object.properties {
        let Some(name) = key.strip_prefix(".arbGeomParams/") else { continue };
        let (name, values) = match name.split_once('/') {
            None => (name, archive.group_values(property, None)?),
            Some((name, ".vals")) => {
                let indices = object.properties.get(&format!(".arbGeomParams/{name}/.indices"));
                (name, archive.group_values(property, indices)?)
            }
            Some(_) => continue,
        };
        if let Some(values) = values.filter(|values| values.len() == mesh.point_count() && !values.is_empty())
        {
            mesh.set_group(name, values);
        }
    }
    Ok(())
}

impl Archive {
    fn group_values(&self, property: &Property, indices: Option<&Property>) -> Result<Option<Vec<f32>>> {
        let per_point = matches!(property.header.tag("geoScope"), Some("vtx" | "var"));
        if !per_point
            || property.header.extent != 1
            || !matches!(property.header.pod, pod::FLOAT32 | pod::FLOAT64)
        {
            return Ok(None);
        }
        let values = self.numbers(property, 0)?;
        let values: Option<Vec<f64>> = match indices {
            Some(indices) => {
                self.numbers(indices, 0)?.iter().map(|&i| values.get(i as usize).copied()).collect()
            }
            None => Some(values),
        };
        Ok(values.map(|values| values.iter().map(|&x| x as f32).collect()))
    }
}

/// When the frames are: seconds `first`, `first + 1/rate`, …
struct Timing {
    frame_rate_hz: f64,
    first: f64,
    count: usize,
}

impl Timing {
    fn new(archive: &Archive, objects: &[Object], options: &ReadOptions) -> Result<Self> {
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut rate = None;
        // what frames are made of: other properties may be written once a second for what never changes
        let shown = || objects.iter().filter(|object| object.is_mesh() || object.is_transform());
        for property in
            shown().flat_map(|object| ["P", ".vals"].map(|name| object.properties.get(name))).flatten()
        {
            let count = property.header.count as usize;
            if count < 2 {
                continue;
            }
            let sampling = archive.sampling(property)?;
            (first, last) = (first.min(sampling.time(0)), last.max(sampling.time(count - 1)));
            let cycle = sampling.cycle.map(|cycle| cycle / sampling.times.len() as f64);
            rate = rate.or(cycle.map(|cycle| 1.0 / cycle));
        }
        // 1/24 s is no number that comes back exactly
        let whole = |rate: f64| if (rate - rate.round()).abs() < 1e-6 * rate { rate.round() } else { rate };
        let rate = options.frame_rate_hz.or(rate.map(whole)).unwrap_or(DEFAULT_FRAME_RATE_HZ);
        if first > last {
            return Ok(Self { frame_rate_hz: rate, first: 0.0, count: 1 });
        }
        let count = ((last - first) * rate + 1e-3).floor();
        if count >= MOST_FRAMES || count.is_nan() {
            return Err(archive
                .ogawa
                .malformed("archive", format!("{count} frames; ask for a lower frame rate")));
        }
        Ok(Self { frame_rate_hz: rate, first, count: count as usize + 1 })
    }

    fn time(&self, frame: usize) -> f64 {
        self.first + frame as f64 / self.frame_rate_hz
    }
}
