//! A clip into an Alembic archive: samples as frames come, then the properties and objects that list them.

use std::path::Path;

use super::digest::digest;
use super::header::{Header, Holds, pack_object};
use super::ogawa::OgawaWriter;
use super::pod;
use crate::format::atomic::AtomicFile;
use crate::format::moments::{Moment, Moments, bounds};
use crate::format::{UniqueNames, WriteOptions, Written};
use crate::{Clip, Error, Mesh, Result};

const XFORM: &str = "schema=AbcGeom_Xform_v3";
const XFORM_OBJECT: &str = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
const POLY_MESH: &str = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1";
const POLY_MESH_OBJECT: &str =
    "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom";
const UV: &str =
    "arrayExtent=1;geoScope=fvr;interpretation=vector;isGeomParam=true;podExtent=2;podName=float32_t";
const WEIGHTS: &str = "arrayExtent=1;geoScope=vtx;isGeomParam=true;podExtent=1;podName=float32_t";
const REST: &str =
    "arrayExtent=1;geoScope=vtx;interpretation=point;isGeomParam=true;podExtent=3;podName=float32_t";
/// The version of Alembic whose files these are like: 1.8.
const LIBRARY_VERSION: i32 = 10800;

/// Writes the whole clip.
pub(in crate::format) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let unsupported =
        |problem: &str| Error::Unsupported { path: path.to_path_buf(), problem: problem.into() };
    if clip.frame_count() == 0 {
        return Err(unsupported("the clip has no frames"));
    }
    if clip.meshes.is_empty() {
        return Err(unsupported(
            "Alembic holds meshes, and the clip has none; for a skeleton name it .usdc, .glb or .bvh",
        ));
    }
    let mut archive = OgawaWriter::new(AtomicFile::create(path)?)?;
    let mut bakes: Vec<Bake> = clip.meshes.iter().map(|_| Bake::new()).collect();
    let mut moments = Moments::new(clip, options);
    while let Some(moment) = moments.next()? {
        for (mesh, bake) in bakes.iter_mut().enumerate() {
            bake.push(mesh, &moment, &mut archive)?;
        }
    }
    let mut names = UniqueNames::default();
    let mut children = Vec::new();
    let mut headers = Vec::new();
    for (mesh, bake) in clip.meshes.iter().zip(bakes) {
        // a slash would part a path
        let wanted = if mesh.name.is_empty() { "mesh".into() } else { mesh.name.replace(['/', '\0'], "_") };
        let name = names.take(&wanted);
        let shape = mesh_properties(mesh, bake, clip.frame_count(), options, &mut archive)?;
        let shape =
            Object { properties: shape, children: Vec::new(), headers: Vec::new() }.write(&mut archive)?;
        let inherits = still(".inherits", "", pod::BOOL, 1, &[1], Holds::Scalar, &mut archive)?;
        let xform = Property::compound(".xform", XFORM, vec![inherits], &mut archive)?;
        let mut shape_header = Vec::new();
        pack_object(&format!("{name}Shape"), POLY_MESH_OBJECT, &mut shape_header);
        let object = Object { properties: vec![xform], children: vec![shape], headers: shape_header };
        children.push(object.write(&mut archive)?);
        pack_object(&name, XFORM_OBJECT, &mut headers);
    }
    let top = Object { properties: Vec::new(), children, headers }.write(&mut archive)?;
    let root = [
        archive.data(&[&0_i32.to_le_bytes()])?,
        archive.data(&[&LIBRARY_VERSION.to_le_bytes()])?,
        top,
        archive.data(&[concat!("_ai_Application=followthrough ", env!("CARGO_PKG_VERSION")).as_bytes()])?,
        archive.data(&[&samplings(clip, options)])?,
        archive.data(&[])?,
    ];
    let root = archive.group(&root)?;
    let bytes = archive.finish(root)?;
    Ok(Written { files: vec![path.to_path_buf()], frames: clip.frame_count(), bytes, ..Written::default() })
}

/// Two ways in which time goes: the one that every archive has for what does not move, and ours, a sample every frame.
fn samplings(clip: &Clip, options: &WriteOptions) -> Vec<u8> {
    let per_frame = 1.0 / clip.frame_rate_hz;
    let start = f64::from(options.start_frame.unwrap_or(0)) / clip.frame_rate_hz;
    let mut bytes = Vec::new();
    for (samples, seconds, first) in [(1, 1.0, 0.0), (clip.frame_count() as u32, per_frame, start)] {
        bytes.extend(u32::to_le_bytes(samples));
        bytes.extend(f64::to_le_bytes(seconds));
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(f64::to_le_bytes(first));
    }
    bytes
}

/// What moves of one mesh.
struct Bake {
    points: Samples,
    bounds: Samples,
    velocities: Samples,
}

impl Bake {
    fn new() -> Self {
        Self { points: Samples::new(true), bounds: Samples::new(false), velocities: Samples::new(true) }
    }

    fn push(&mut self, mesh: usize, moment: &Moment, archive: &mut OgawaWriter) -> Result<()> {
        let points = &moment.frame.points[mesh];
        self.points.push(bytemuck::cast_slice(points), archive)?;
        let bounds = bounds(points).map(|corner| corner.map(f64::from));
        self.bounds.push(bytemuck::cast_slice(&bounds), archive)?;
        match moment.velocities.get(mesh) {
            Some(velocities) => self.velocities.push(bytemuck::cast_slice(velocities), archive),
            None => Ok(()),
        }
    }
}

/// The samples of one property: runs of equal ones before the first change and behind the last are stored once, and any
/// sample equal to the one before it lies in the file once.
struct Samples {
    /// Whether each is followed by its dimensions, which are left empty: they follow from the length.
    array: bool,
    children: Vec<u64>,
    hash: Vec<u8>,
    last: Option<([u8; 16], u64)>,
    count: u32,
    first_changed: u32,
    last_changed: u32,
}

impl Samples {
    fn new(array: bool) -> Self {
        let (children, hash) = (Vec::new(), Vec::new());
        Self { array, children, hash, last: None, count: 0, first_changed: 0, last_changed: 0 }
    }

    fn push(&mut self, bytes: &[u8], archive: &mut OgawaWriter) -> Result<()> {
        let key = digest(bytes);
        if self.last.is_some_and(|(last, _)| last == key) {
            self.count += 1;
            return Ok(());
        }
        if let Some((_, place)) = self.last.filter(|_| self.first_changed != 0) {
            for _ in self.last_changed + 1..self.count {
                self.list(place, archive)?;
            }
        }
        let place = if bytes.is_empty() { archive.data(&[])? } else { archive.data(&[&key, bytes])? };
        self.list(place, archive)?;
        self.hash.extend(key);
        self.last = Some((key, place));
        if self.first_changed == 0 {
            self.first_changed = self.count;
        }
        self.last_changed = self.count;
        self.count += 1;
        Ok(())
    }

    fn list(&mut self, place: u64, archive: &mut OgawaWriter) -> Result<()> {
        self.children.push(place);
        if self.array {
            self.children.push(archive.data(&[])?);
        }
        Ok(())
    }

    /// The property that has these samples.
    fn finish(
        self,
        name: &str,
        metadata: &str,
        pod: u8,
        extent: u8,
        sampling: u32,
        archive: &mut OgawaWriter,
    ) -> Result<Property> {
        let header = Header {
            pod,
            extent,
            holds: if self.array { Holds::Array } else { Holds::Scalar },
            count: self.count,
            first_changed: self.first_changed,
            last_changed: self.last_changed,
            sampling,
            ..Header::compound(name, metadata)
        };
        let place = archive.group(&self.children)?;
        Ok(Property { header, place, hash: digest(&self.hash) })
    }
}

/// A property that lies in the file.
struct Property {
    header: Header,
    place: u64,
    hash: [u8; 16],
}

impl Property {
    fn compound(name: &str, metadata: &str, parts: Vec<Self>, archive: &mut OgawaWriter) -> Result<Self> {
        let (place, hash) = write_properties(&parts, archive)?;
        Ok(Self { header: Header::compound(name, metadata), place, hash })
    }
}

fn write_properties(properties: &[Property], archive: &mut OgawaWriter) -> Result<(u64, [u8; 16])> {
    let mut headers = Vec::new();
    properties.iter().for_each(|property| property.header.pack(&mut headers));
    let mut children: Vec<u64> = properties.iter().map(|property| property.place).collect();
    let hashes: Vec<u8> = properties.iter().flat_map(|property| property.hash).collect();
    let hash = digest(&[&headers[..], &hashes].concat());
    if properties.is_empty() {
        return Ok((0, hash));
    }
    children.push(archive.data(&[&headers])?);
    Ok((archive.group(&children)?, hash))
}

/// A property that never changes.
fn still(
    name: &str,
    metadata: &str,
    pod: u8,
    extent: u8,
    bytes: &[u8],
    holds: Holds,
    archive: &mut OgawaWriter,
) -> Result<Property> {
    let mut samples = Samples::new(holds == Holds::Array);
    samples.push(bytes, archive)?;
    samples.finish(name, metadata, pod, extent, 0, archive)
}

fn array(
    name: &str,
    metadata: &str,
    pod: u8,
    extent: u8,
    bytes: &[u8],
    archive: &mut OgawaWriter,
) -> Result<Property> {
    still(name, metadata, pod, extent, bytes, Holds::Array, archive)
}

/// Everything under `.geom`.
fn mesh_properties(
    mesh: &Mesh,
    bake: Bake,
    frame_count: usize,
    options: &WriteOptions,
    archive: &mut OgawaWriter,
) -> Result<Vec<Property>> {
    // Alembic goes round its faces the other way
    let corners: Vec<u32> = mesh.faces.iter().flat_map(|face| face.iter().rev().copied()).collect();
    let points: Vec<i32> = corners.iter().map(|&vertex| mesh.vertex_points[vertex as usize] as i32).collect();
    let counts: Vec<i32> = mesh.faces.iter().map(|face| face.len() as i32).collect();
    let mut geom = vec![
        bake.bounds.finish(".selfBnds", "interpretation=box", pod::FLOAT64, 6, 1, archive)?,
        bake.points.finish("P", "geoScope=vtx;interpretation=point", pod::FLOAT32, 3, 1, archive)?,
        array(".faceIndices", "", pod::INT32, 1, bytemuck::cast_slice(&points), archive)?,
        array(".faceCounts", "", pod::INT32, 1, bytemuck::cast_slice(&counts), archive)?,
    ];
    if options.velocities {
        geom.push(bake.velocities.finish(
            ".velocities",
            "interpretation=vector",
            pod::FLOAT32,
            3,
            1,
            archive,
        )?);
    }
    if mesh.uvs.len() == mesh.vertex_count() && !mesh.uvs.is_empty() {
        let flipped: Vec<[f32; 2]> = mesh.uvs.iter().map(|&[u, v]| [u, 1.0 - v]).collect();
        let values = array(".vals", UV, pod::FLOAT32, 2, bytemuck::cast_slice(&flipped), archive)?;
        let indices = array(".indices", "", pod::UINT32, 1, bytemuck::cast_slice(&corners), archive)?;
        geom.push(Property::compound("uv", UV, vec![values, indices], archive)?);
    }
    let mut extra = Vec::new();
    let mut names = UniqueNames::default();
    names.take("Pref");
    let finite = mesh.rest_points.iter().flatten().all(|c| c.is_finite());
    if frame_count > 1 && finite {
        let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
        let scaled = |c: f32| if scale == 1.0 { c } else { (f64::from(c) * scale) as f32 };
        let rest: Vec<[f32; 3]> = mesh.rest_points.iter().map(|p| p.map(scaled)).collect();
        extra.push(array("Pref", REST, pod::FLOAT32, 3, bytemuck::cast_slice(&rest), archive)?);
    }
    for group in mesh.groups.iter().filter(|group| group.weights.len() == mesh.point_count()) {
        let name = names.take(&group.name.replace(['/', '\0'], "_"));
        extra.push(array(&name, WEIGHTS, pod::FLOAT32, 1, bytemuck::cast_slice(&group.weights), archive)?);
    }
    if !extra.is_empty() {
        geom.push(Property::compound(".arbGeomParams", "", extra, archive)?);
    }
    Ok(vec![Property::compound(".geom", POLY_MESH, geom, archive)?])
}

/// An object about to be written.
struct Object {
    properties: Vec<Property>,
    children: Vec<u64>,
    headers: Vec<u8>,
}

impl Object {
    fn write(self, archive: &mut OgawaWriter) -> Result<u64> {
        let (properties, hash) = write_properties(&self.properties, archive)?;
        let below = digest(&[&self.headers[..], bytemuck::cast_slice(&self.children)].concat());
        let headers = archive.data(&[&self.headers, &hash, &below])?;
        let children: Vec<u64> = [properties].into_iter().chain(self.children).chain([headers]).collect();
        archive.group(&children)
    }
}
