//! Physics under the rig: what moved as shape keys *before* skinning, so that the rig still plays and the physics is one more track on it.
//!
//! A point at rest x, its own shape keys blended in, is shown at L(t) x, where L = Σⱼ wⱼ Wⱼ Bⱼ blends the matrices of its joints (of its
//! node, where it has no skin). A point that was moved to p gets the correction d = L⁻¹ (p − L x), which the rig brings to p. Where
//! joints that turn against each other blend into a matrix that is nearly flat, as in a candy wrapper, no d does: there it is the d of
//! least (‖L d − r‖² + λ‖d‖²), λ = (10⁻³ σ)², σ² = ‖L‖²/3, and how far that misses is said.
//!
//! Normals and tangents turn with the surface: by the rotation that brings the normal of the rig's own shape to that of the moved one, taken
//! back through L⁻¹ as viewers apply L to them.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::{DMat3, DMat4, DQuat, DVec3, Vec3};
use serde_json::{Value, json};

use super::accessor::Accessor;
use super::bake::{Columns, Normals};
use super::frames::Instance;
use super::patch::{Patch, is_surface};
use super::patch_carry::{items, number};
use super::patch_plan::SAME_SKIN;
use super::scene::FRAMES_FROM;
use super::sink::Sink;
use super::write::{Document, Times};
use super::write_columns::run_of;
use crate::{Mesh, Result};

/// Below this, det L of σ³, a blended matrix counts as flat.
const FLAT: f64 = 1e-3;

/// The corrections of one mesh, frame by frame.
struct Corrections<'a> {
    number: usize,
    instance: &'a Instance,
    mesh: &'a Mesh,
    normals: Option<Normals>,
    runs: Vec<RunOfVertices>,
    /// For each target, for each run.
    targets: Vec<Vec<Columns>>,
    frames: Vec<Option<usize>>,
    /// The weights of its own shape keys in each frame.
    own_weights: Vec<Vec<f32>>,
    flat: Flat,
}

/// Vertices that share their accessors, and what they are at rest.
struct RunOfVertices {
    vertices: Range<usize>,
    normals: Option<Vec<Vec3>>,
    tangents: Option<Vec<Vec3>>,
    /// Accessors by which its own shape keys move normals and tangents.
    targets: Vec<[Option<usize>; 2]>,
}

/// Where matrices were flat.
#[derive(Default)]
struct Flat {
    points: usize,
    frames: usize,
    /// How far from where it should be a point came to lie, in metres.
    worst: f64,
}

/// What the rig does with a point in a frame.
struct Rigged {
    linear: Vec<DMat3>,
    inverse: Vec<DMat3>,
}

impl<'a> Patch<'a> {
    /// Whether a mesh of the clip is delivered as corrections.
    pub(super) fn is_corrected(&self, mesh: usize) -> bool {
        let of = self.plan.fates[mesh].moved();
        self.options.skin == crate::SkinDelivery::Corrective
            && of.is_some_and(|instance| self.opened.frames.instances[instance].pieces.len() == 1)
    }

    /// Adds the corrections of all meshes that get some.
    pub(super) fn add_corrections(
        &mut self,
        raw: &mut Value,
        document: &mut Document,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let meshes: Vec<usize> =
            (0..self.clip.meshes.len()).filter(|&mesh| self.is_corrected(mesh)).collect();
        let mut all = meshes.iter().map(|&mesh| self.corrections(mesh)).collect::<Result<Vec<_>>>()?;
        for index in 0..self.clip.frame_count() {
            let frame = self.clip.checked_frame(index)?;
            for corrections in &mut all {
                self.correct(corrections, index, &frame.points[corrections.number], sink)?;
            }
        }
        for corrections in all {
            self.say(&corrections);
            self.hang_corrections(&corrections, raw, document, times, sink)?;
        }
        Ok(())
    }

    fn corrections(&self, number: usize) -> Result<Corrections<'a>> {
        let (clip, opened) = (self.clip, self.opened);
        let mesh = &clip.meshes[number];
        let instance = &opened.frames.instances[self.plan.fates[number].moved().unwrap_or(0)];
        let shown = self.container.document.nodes[instance.pieces[0].node].mesh.unwrap_or(0);
        let surfaces = self.container.document.meshes[shown].primitives.iter();
        let surfaces = surfaces.filter(|primitive| (4..=6).contains(&primitive.mode.unwrap_or(4)));
        let mut runs: Vec<RunOfVertices> = Vec::new();
        for (primitive, part) in surfaces.zip(&mesh.parts) {
            let vertices = run_of(mesh, part);
            if runs.iter().any(|run| run.vertices == vertices) {
                continue;
            }
            let column = |name: &str| primitive.attributes.get(name).copied();
            let mut run = RunOfVertices { vertices, normals: None, tangents: None, targets: Vec::new() };
            if self.options.normals
                && let Some(normals) = column("NORMAL")
            {
                let vector = |[x, y, z]: [f32; 3]| Vec3::new(x, y, z);
                run.normals =
                    Some(Accessor::<3>::read(self.container, normals)?.into_iter().map(vector).collect());
                if let Some(tangents) = column("TANGENT") {
                    let values = Accessor::<4>::read(self.container, tangents)?;
                    run.tangents = Some(values.into_iter().map(|[x, y, z, _]| Vec3::new(x, y, z)).collect());
                }
                let of = |target: &BTreeMap<String, usize>| {
                    ["NORMAL", "TANGENT"].map(|name| target.get(name).copied())
                };
                run.targets = primitive.targets.iter().map(of).collect();
            }
            runs.push(run);
        }
        Ok(Corrections {
            number,
            instance,
            mesh,
            normals: self.options.normals.then(|| Normals::new(mesh)),
            runs,
            targets: Vec::new(),
            frames: Vec::new(),
            own_weights: Vec::new(),
            flat: Flat::default(),
        })
    }

    /// Writes the corrections of a frame, unless there is nothing to correct.
    fn correct(
        &self,
        corrections: &mut Corrections<'_>,
        index: usize,
        points: &[[f32; 3]],
        sink: &mut Sink,
    ) -> Result<()> {
        let frames = &self.opened.frames;
        let at = (self.first_frame + index).min(frames.count.saturating_sub(1));
        let pose = frames.graph.moved(frames.pose(at), &frames.joint_nodes, &self.plan.poses[index]);
        let worlds = frames.graph.worlds(&pose);
        let instance = self.plan.fates[corrections.number].moved().unwrap_or(0);
        let shown = frames.points(instance, at, &pose, &worlds)?;
        let weights = frames.all_weights(corrections.instance, at, &pose);
        let allowed = self.rounding(&shown);
        let is_same = |(from, to): (&[f32; 3], &[f32; 3])| is_near(*from, *to, allowed);
        if shown.iter().zip(points).all(is_same) {
            corrections.frames.push(None);
            corrections.own_weights.push(weights);
            return Ok(());
        }
        let rigged = self.rigged(corrections, &worlds);
        let deltas = corrections.displacements(&rigged, &shown, points, allowed);
        let turns = corrections.normals.as_ref().map(|normals| turns(normals, &shown, points));
        let mut target = Vec::with_capacity(corrections.runs.len());
        for run in &corrections.runs {
            let of = &corrections.mesh.vertex_points[run.vertices.clone()];
            let of_run: Vec<[f32; 3]> = of.iter().map(|&point| deltas[point as usize]).collect();
            let mut columns =
                Columns { positions: sink.sparse_column(&of_run, true)?, normals: None, tangents: None };
            if let (Some(normals), Some(turns)) = (&corrections.normals, &turns) {
                let turns = normals.per_vertex(turns, run.vertices.clone());
                for (number, base) in [&run.normals, &run.tangents].into_iter().enumerate() {
                    let Some(base) = base else { continue };
                    let blended = self.blended(base, run, number, &weights)?;
                    let moved = turned(&blended, &turns, of, &rigged);
                    let accessor = Some(sink.sparse_column(&moved, false)?);
                    *(if number == 0 { &mut columns.normals } else { &mut columns.tangents }) = accessor;
                }
            }
            target.push(columns);
        }
        corrections.frames.push(Some(corrections.targets.len()));
        corrections.targets.push(target);
        corrections.own_weights.push(weights);
        Ok(())
    }

    /// How far apart points count as the same: not at all where the document was read, and by a little where it was made of the clip, whose own
    /// program bent its skin in its own order of sums.
    fn rounding(&self, shown: &[[f32; 3]]) -> f32 {
        match self.plan.is_made {
            false => 0.0,
            true => 0.2 * SAME_SKIN * shown.iter().flatten().fold(0.0_f32, |size, c| size.max(c.abs())),
        }
    }

    /// What the rig does with each point.
    fn rigged(&self, corrections: &Corrections<'_>, worlds: &[DMat4]) -> Rigged {
        let frames = &self.opened.frames;
        let count = corrections.mesh.point_count();
        let linear: Vec<DMat3> = match corrections.instance.skin.map(|skin| &frames.skins[skin]) {
            None => vec![DMat3::from_mat4(worlds[corrections.instance.pieces[0].node]); count],
            Some(skin) => {
                let joints: Vec<DMat3> = (skin.joints.iter().zip(&skin.joint_from_bind))
                    .map(|(&node, joint_from_bind)| DMat3::from_mat4(worlds[node] * *joint_from_bind))
                    .collect();
                let blend = |influences: &Vec<(u32, f32)>| {
                    let add =
                        |sum, &(joint, weight): &(u32, f32)| sum + joints[joint as usize] * f64::from(weight);
                    influences.iter().fold(DMat3::ZERO, add)
                };
                corrections.instance.shape.influences.iter().map(blend).collect()
            }
        };
        let inverse = linear.iter().map(damped_inverse).collect();
        Rigged { linear, inverse }
    }

    /// Normals or tangents of a run with its own shape keys blended in.
    fn blended(
        &self,
        base: &[Vec3],
        run: &RunOfVertices,
        which: usize,
        weights: &[f32],
    ) -> Result<Vec<Vec3>> {
        let mut blended = base.to_vec();
        for (target, &weight) in run.targets.iter().zip(weights).filter(|&(_, &weight)| weight != 0.0) {
            let Some(accessor) = target[which] else { continue };
            for (sum, delta) in blended.iter_mut().zip(Accessor::<3>::read(self.container, accessor)?) {
                *sum += weight * Vec3::from(delta);
            }
        }
        Ok(blended)
    }

    /// Says what could not be had.
    fn say(&mut self, corrections: &Corrections<'_>) {
        let (name, flat) = (&corrections.mesh.name, &corrections.flat);
        if flat.points > 0 {
            self.warnings.push(format!(
                "mesh `{name}`: joints that turn against each other flatten up to {} of its points in {} frames; corrections are damped there \
                 and miss by up to {:.3} mm",
                flat.points,
                flat.frames,
                1e3 * flat.worst
            ));
        }
        if corrections.targets.len() > super::write::MOST_TARGETS {
            self.warnings.push(format!(
                "mesh `{name}` got {} shape keys, and some devices hold no more than {}; bake fewer frames or deliver `points`",
                corrections.targets.len(),
                super::write::MOST_TARGETS
            ));
        }
    }

    /// Puts the targets behind those that the mesh has, and moves their weights.
    fn hang_corrections(
        &self,
        corrections: &Corrections<'_>,
        raw: &mut Value,
        document: &mut Document,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let count = corrections.targets.len();
        if count == 0 {
            return Ok(());
        }
        let piece = &corrections.instance.pieces[0];
        let own = piece.weights.len();
        let place = number(&document.nodes[piece.node], "mesh").unwrap_or(0);
        let mut mesh = document.meshes[place].clone();
        self.add_targets(&mut mesh, corrections, sink);
        // at rest the rig looks as it did; a still is what was made of it
        let is_still = self.clip.frame_count() == 1;
        let mut weights = if is_still { corrections.own_weights[0].clone() } else { piece.weights.clone() };
        weights.extend((0..count).map(|_| if is_still { 1.0 } else { 0.0 }));
        mesh["weights"] = json!(weights);
        name_targets(&mut mesh, corrections, own, &self.clip.name);
        let sharing = document.nodes.iter().filter(|node| number(node, "mesh") == Some(place)).count();
        match sharing > 1 {
            true => document.nodes[piece.node]["mesh"] = json!(document.place_mesh(mesh)),
            false => document.meshes[place] = mesh,
        }
        document.nodes[piece.node].as_object_mut().map(|node| node.remove("weights"));
        document.drop_channels(&|node, path| node == piece.node && path == "weights");
        self.widen_other_tracks(raw, piece.node, own, count, sink)?;
        if is_still {
            return Ok(());
        }
        let input: Vec<[f32; 1]> = (0..corrections.frames.len()).map(|frame| times.of(frame)).collect();
        let mut values = Vec::with_capacity(input.len() * (own + count));
        for (shown, own) in corrections.frames.iter().zip(&corrections.own_weights) {
            values.extend(own.iter().map(|&weight| [weight]));
            values.extend((0..count).map(|target| [if *shown == Some(target) { 1.0 } else { 0.0 }]));
        }
        let input = sink.keys(&input)?;
        let output = if own == 0 { sink.switches(&values)? } else { sink.values(&values)? };
        document.push_channel(piece.node, "weights", input, output, "LINEAR");
        Ok(())
    }

    fn add_targets(&self, mesh: &mut Value, corrections: &Corrections<'_>, sink: &mut Sink) {
        let mut parts = corrections.mesh.parts.iter();
        for primitive in mesh["primitives"].as_array_mut().into_iter().flatten() {
            let part = if is_surface(primitive) { parts.next() } else { None };
            let run = part.map(|part| run_of(corrections.mesh, part));
            let run = corrections.runs.iter().position(|known| Some(&known.vertices) == run.as_ref());
            let added: Vec<Value> = match run {
                Some(run) => corrections.targets.iter().map(|target| target[run].json()).collect(),
                None => {
                    let position = number(&primitive["attributes"], "POSITION").unwrap_or(0);
                    let count = self.container.document.accessors.get(position).map_or(1, |a| a.count);
                    vec![json!({ "POSITION": sink.zeros(count) }); corrections.targets.len()]
                }
            };
            match primitive.get_mut("targets").and_then(Value::as_array_mut) {
                Some(targets) => targets.extend(added),
                None => primitive["targets"] = Value::Array(added),
            }
        }
    }

    /// Other animations move the mesh's own shape keys and leave the corrections alone.
    fn widen_other_tracks(
        &self,
        raw: &mut Value,
        node: usize,
        own: usize,
        count: usize,
        sink: &mut Sink,
    ) -> Result<()> {
        for animation in raw["animations"].as_array_mut().into_iter().flatten() {
            for channel in 0..items(animation, "channels").len() {
                let target = &animation["channels"][channel]["target"];
                if number(target, "node") != Some(node) || target["path"] != "weights" || own == 0 {
                    continue;
                }
                let sampler = number(&animation["channels"][channel], "sampler").unwrap_or(0);
                let mut sampler = animation["samplers"][sampler].clone();
                let values = Accessor::<1>::read(self.container, number(&sampler, "output").unwrap_or(0))?;
                let zeros = std::iter::repeat_n([0.0], count);
                let widened: Vec<[f32; 1]> =
                    values.chunks(own).flat_map(|key| key.iter().copied().chain(zeros.clone())).collect();
                sampler["output"] = json!(sink.values(&widened)?);
                animation["channels"][channel]["sampler"] = json!(items(animation, "samplers").len());
                animation["samplers"].as_array_mut().into_iter().for_each(|list| list.push(sampler.clone()));
            }
            super::patch_tracks::keep_used_samplers(animation);
        }
        Ok(())
    }
}

impl Corrections<'_> {
    /// How far before skinning each point has to move so that the rig brings it from where it is shown to where it should be.
    fn displacements(
        &mut self,
        rigged: &Rigged,
        shown: &[[f32; 3]],
        points: &[[f32; 3]],
        allowed: f32,
    ) -> Vec<[f32; 3]> {
        let mut flat = 0;
        let mut deltas = Vec::with_capacity(points.len());
        for (point, (from, to)) in shown.iter().zip(points).enumerate() {
            if is_near(*from, *to, allowed) {
                deltas.push([0.0; 3]);
                continue;
            }
            let missing = Vec3::from(*to).as_dvec3() - Vec3::from(*from).as_dvec3();
            let delta = (rigged.inverse[point] * missing).as_vec3();
            if is_flat(&rigged.linear[point]) {
                flat += 1;
                let reached = rigged.linear[point] * delta.as_dvec3();
                self.flat.worst = self.flat.worst.max((missing - reached).length());
            }
            deltas.push(if delta.is_finite() { delta.to_array() } else { [0.0; 3] });
        }
        self.flat.frames += usize::from(flat > 0);
        self.flat.points = self.flat.points.max(flat);
        deltas
    }
}

/// Whether two points are the same but for rounding.
fn is_near(a: [f32; 3], b: [f32; 3], allowed: f32) -> bool {
    a == b || (0..3).all(|axis| (a[axis] - b[axis]).abs() <= allowed)
}

/// σ² = ‖L‖²/3.
fn scale_squared(linear: &DMat3) -> f64 {
    (linear.x_axis.length_squared() + linear.y_axis.length_squared() + linear.z_axis.length_squared()) / 3.0
}

fn is_flat(linear: &DMat3) -> bool {
    linear.determinant().abs() <= FLAT * scale_squared(linear).powf(1.5)
}

/// L⁻¹, or (LᵀL + λI)⁻¹ Lᵀ where L is nearly flat.
fn damped_inverse(linear: &DMat3) -> DMat3 {
    if !is_flat(linear) {
        return linear.inverse();
    }
    let transposed = linear.transpose();
    let lambda = 1e-6 * scale_squared(linear);
    let damped = transposed * *linear + DMat3::from_diagonal(DVec3::splat(lambda));
    if lambda > 0.0 { damped.inverse() * transposed } else { DMat3::ZERO }
}

/// For each normal of a mesh, the rotation from one shape to another.
fn turns(normals: &Normals, from: &[[f32; 3]], to: &[[f32; 3]]) -> Vec<DQuat> {
    let vector = |n: &[f32; 3]| Vec3::from(*n).as_dvec3().normalize_or(DVec3::Y);
    let turn = |(a, b): (&[f32; 3], &[f32; 3])| match a == b {
        true => DQuat::IDENTITY,
        false => DQuat::from_rotation_arc(vector(a), vector(b)),
    };
    normals.at(from).iter().zip(&normals.at(to)).map(turn).collect()
}

/// How far before skinning directions have to turn so that the rig shows them turned.
fn turned(base: &[Vec3], turns: &[DQuat], points: &[u32], rigged: &Rigged) -> Vec<[f32; 3]> {
    let of = |vertex: usize| {
        if turns[vertex] == DQuat::IDENTITY {
            return [0.0; 3];
        }
        let (before, point) = (base[vertex].as_dvec3(), points[vertex] as usize);
        let shown = rigged.linear[point] * before;
        let back = (rigged.inverse[point] * (turns[vertex] * shown)).normalize_or(before) * before.length();
        (back - before).as_vec3().to_array()
    };
    (0..base.len()).map(of).collect()
}

/// Says which targets are corrections, and gives them names where the mesh's own have some.
fn name_targets(mesh: &mut Value, corrections: &Corrections<'_>, own: usize, clip: &str) {
    if !mesh["extras"].is_object() {
        mesh["extras"] = json!({});
    }
    let known = items(&mesh["extras"], "targetNames");
    let name =
        |target: usize| known.get(target).cloned().unwrap_or_else(|| json!(format!("target {target}")));
    let mut names: Vec<Value> = (0..own).map(name).collect();
    // frames of another clip of ours are there already
    let before = mesh["extras"][FRAMES_FROM].as_u64();
    let of = before.map_or_else(String::new, |_| format!("{clip} "));
    for (frame, target) in corrections.frames.iter().enumerate().filter_map(|(f, t)| Some((f, (*t)?))) {
        if names.len() == own + target {
            names.push(json!(format!("{of}physics {frame}")));
        }
    }
    mesh["extras"]["targetNames"] = json!(names);
    mesh["extras"][FRAMES_FROM] = json!(before.unwrap_or(own as u64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_matrix_gives_the_nearest_that_it_can() {
        let regular = DMat3::from_rotation_x(0.3) * DMat3::from_diagonal(DVec3::new(0.01, 0.02, 0.01));
        assert!((regular * damped_inverse(&regular)).abs_diff_eq(DMat3::IDENTITY, 1e-12));
        // half of a turn by π about x and half of none: y and z are gone
        let wrapper = DMat3::from_diagonal(DVec3::new(1.0, 0.0, 0.0));
        let found = damped_inverse(&wrapper) * DVec3::new(0.5, 0.5, 0.5);
        assert!((found - DVec3::new(0.5, 0.0, 0.0)).length() < 1e-5, "{found}");
        assert!(damped_inverse(&DMat3::ZERO) == DMat3::ZERO);
    }

    #[test]
    fn scale_is_the_mean_of_the_columns() {
        assert_eq!(scale_squared(&DMat3::from_diagonal(DVec3::new(1.0, 2.0, 4.0))), 7.0);
        assert!(
            !is_flat(&DMat3::IDENTITY)
                && !is_flat(&(DMat3::IDENTITY * 1e-3))
                && !is_flat(&(DMat3::IDENTITY * 1e3))
        );
        assert!(is_flat(&DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0))));
    }
}
