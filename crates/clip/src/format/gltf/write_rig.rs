//! A rig for a clip that did not come from glTF: a document of its meshes at rest under their skins, with the motion of its joints.
//!
//! Whoever asks for corrections or joints wants the rig back, whatever format it came in. So a clip of another format, or of none, first
//! becomes a document as an exporter would write it, in memory, and what the physics moved is then patched into that like into any other. The reader's
//! view of that document is replaced by the clip itself, so that points, polygons and joints keep their numbers.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::bake::MeshBake;
use super::container::Container;
use super::look_write::Looks;
use super::scene::{self, Opened};
use super::shape::Shape;
use super::sink::Sink;
use super::write::{Document, Times, finite, json_bound};
use super::write_columns::{primitives, run_of, vertex_runs};
use super::write_skin::{Influences, heaviest};
use crate::format::{ReadOptions, WriteOptions};
use crate::{Clip, Mesh, Result};

/// Whether a mesh hangs on joints that the clip has.
fn is_skinned(mesh: &Mesh, joints: usize) -> bool {
    mesh.skin.as_ref().is_some_and(|skin| {
        let finite = |bind: &glam::Mat4| bind.is_finite();
        skin.influences.len() == mesh.point_count()
            && !skin.binds.is_empty()
            && skin.binds.iter().all(|(joint, bind)| *joint < joints && finite(bind))
            && skin.influences.iter().flatten().all(|&(bind, _)| (bind as usize) < skin.binds.len())
    })
}

/// The clip with nothing in it that a rig cannot hold; `None` when there is no rig to make of it.
fn riggable(clip: &Clip) -> Option<Clip> {
    let holds = |mesh: &Mesh| finite(&mesh.rest_points) && mesh.faces.triangles().next().is_some();
    if clip.meshes.is_empty() || !clip.meshes.iter().all(holds) {
        return None;
    }
    let mut clip = clip.clone();
    let mut names = std::collections::BTreeSet::new();
    for mesh in &mut clip.meshes {
        // a primitive of no triangles is not written, and parts and primitives go in step
        let parts = std::mem::take(&mut mesh.parts);
        let has_faces = |part: &crate::Part| part.faces.clone().any(|face| mesh.faces.get(face).len() >= 3);
        mesh.parts = parts.into_iter().filter(has_faces).collect();
        if !names.insert(mesh.name.clone()) {
            return None;
        }
    }
    Some(clip)
}

/// Makes the document of a clip's rig, in memory, and opens it; `None` when there is no rig to make. The clip that comes with it is the one to
/// patch in.
pub(super) fn rig_of(
    path: &Path,
    clip: &Clip,
    options: &WriteOptions,
) -> Result<Option<(Clip, Container, Opened)>> {
    let Some(clip) = riggable(clip) else { return Ok(None) };
    let mut sink = Sink::in_memory(path, json_bound(&clip));
    let mut document = Document::default();
    let looks = Looks::write(&clip, &mut sink)?;
    let joints = clip.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len());
    let first_joint = clip.meshes.len();
    let mut influences = Vec::with_capacity(clip.meshes.len());
    for mesh in &clip.meshes {
        let of_mesh = match &mesh.skin {
            Some(skin) if is_skinned(mesh, joints) => heaviest(&skin.influences),
            _ => Vec::new(),
        };
        add_mesh(mesh, &of_mesh, first_joint, options, &looks, &mut document, &mut sink)?;
        influences.push(of_mesh);
    }
    let times = Times { first: options.start_frame.unwrap_or(0), frame_rate_hz: clip.frame_rate_hz };
    let mut poses = Vec::with_capacity(clip.frame_count());
    if clip.skeleton.is_some() {
        for index in 0..clip.frame_count() {
            poses.push(clip.checked_frame(index)?.pose);
        }
    }
    document.add_joints(&clip, &poses, &times, false, &mut sink)?;
    let bytes = sink.finish_in_memory(document.finish(&clip, looks, &times))?;
    let container = Container::from_bytes(path, bytes)?;
    let opened = opened_as(&clip, influences, first_joint, &container)?;
    Ok(Some((clip, container, opened)))
}

/// A mesh at rest on a node of its own, hung on its joints.
fn add_mesh(
    mesh: &Mesh,
    influences: &Influences,
    first_joint: usize,
    options: &WriteOptions,
    looks: &Looks,
    document: &mut Document,
    sink: &mut Sink,
) -> Result<()> {
    let runs = vertex_runs(mesh);
    let bake = MeshBake::new(mesh, &mesh.rest_points, runs, options.normals, Vec::new(), sink)?;
    let mut written = primitives(mesh, &bake, looks, sink)?;
    let mut node = json!({ "name": mesh.name });
    if let (Some(skin), false) = (&mesh.skin, influences.is_empty()) {
        let parts = mesh.parts.iter().map(|part| run_of(mesh, part));
        let surfaces = written.iter_mut().map(|(_, primitive)| primitive);
        super::write_skin::hang(surfaces, parts, &mesh.vertex_points, influences, sink)?;
        let binds: Vec<(usize, glam::Mat4)> =
            skin.binds.iter().map(|&(joint, bind)| (first_joint + joint, bind)).collect();
        node["skin"] = json!(document.push_skin(&binds, sink)?);
    }
    let primitives: Vec<_> = written.into_iter().map(|(_, primitive)| primitive).collect();
    node["mesh"] = json!(document.place_mesh(json!({ "name": mesh.name, "primitives": primitives })));
    document.push_root(node);
    Ok(())
}

/// The document as the reader opens it, with the clip's own points, polygons and joints instead of what the reader made of them.
fn opened_as(
    clip: &Clip,
    influences: Vec<Vec<Vec<(u32, f32)>>>,
    first_joint: usize,
    container: &Container,
) -> Result<Opened> {
    let options = ReadOptions { frame_rate_hz: Some(clip.frame_rate_hz), ..ReadOptions::default() };
    let mut opened = scene::open(container, &options)?;
    // the reader's clip holds the same frames
    opened.clip = clip.clone();
    if let Some(frames) = Arc::get_mut(&mut opened.frames) {
        for ((instance, mesh), influences) in frames.instances.iter_mut().zip(&clip.meshes).zip(influences) {
            instance.shape = Arc::new(Shape::at_rest(mesh.clone(), influences));
        }
        let joints = clip.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len());
        frames.joint_nodes = (first_joint..first_joint + joints).collect();
    }
    Ok(opened)
}
