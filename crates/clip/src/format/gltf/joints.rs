//! Physics as joints: what moved, decomposed into a few more joints of the rig and weights, at most four a vertex.
//!
//! Every point was shown at Σⱼ wⱼ Wⱼ Bⱼ x by the joints that its skin has. [`crate::skinning`] finds weights on those and on new, rigid
//! joints G(t), which bring S x, the mesh at rest in the world, to where it was baked. A new joint stands in the middle c of what hangs on it, on that joint of the
//! rig which moved those points most: other animations take it along, and what is left for its own tracks is the swing of the flesh,
//! of which only those keys are written that the bound needs. Weights are convex, so what keys add to the error is at most what they add to one joint.

use glam::{DAffine3, DMat4, DVec3};
use serde_json::{Value, json};

use super::frames::Instance;
use super::patch::{Patch, is_surface};
use super::patch_carry::{items, number};
use super::patch_tracks::in_unit;
use super::sink::Sink;
use super::write::{Document, Times};
use super::write_columns::run_of;
use super::write_skin::{hang, hangs, normalized, skin_json};
use crate::format::{JointsDelivery, SkinDelivery};
use crate::skinning::{Bound, Decomposition, Motion, Rigid, between, reduced};
use crate::{Result, Transform};

/// How far the axes of a joint may be from equally long and square for others to stand on it, of their length.
const SIMILAR: f64 = 1e-4;

/// A mesh on its way: its motion, and where the joints of its rig are.
struct Hanging<'a> {
    number: usize,
    instance: &'a Instance,
    motion: Motion,
    /// `world_from_joint` of every joint of the skin, in each frame and at rest.
    worlds: Vec<Vec<DMat4>>,
    at_rest: Vec<DMat4>,
    /// S: what brings the mesh at rest from its own space into the world.
    world_from_rest: DMat4,
}

/// A new joint.
struct Bone {
    /// Which joint of the skin it stands on.
    parent: Option<usize>,
    /// Where it stands at rest, in the world.
    middle: DVec3,
    /// The scale that undoes its parent's.
    scale: f64,
    track: Vec<Rigid>,
    rest: Rigid,
    keys: Vec<usize>,
}

impl<'a> Patch<'a> {
    /// Whether a mesh of the clip is delivered as joints.
    pub(super) fn is_jointed(&self, mesh: usize) -> bool {
        let Some(instance) = self.plan.fates[mesh].moved() else { return false };
        let instance = &self.opened.frames.instances[instance];
        let shown = self.container.document.nodes[instance.pieces[0].node].mesh.unwrap_or(0);
        let mut primitives = self.container.document.meshes[shown].primitives.iter();
        // lines and points beside a surface hang on nothing, and in a skin everything must
        let all_surfaces = primitives.all(|primitive| (4..=6).contains(&primitive.mode.unwrap_or(4)));
        matches!(self.options.skin, SkinDelivery::Joints(_))
            && instance.pieces.len() == 1
            && (instance.skin.is_some() || all_surfaces)
    }

    /// Takes out of the document what meshes that get joints hang on, where nothing else does.
    pub(super) fn unhang(&self, raw: &mut Value) {
        for mesh in (0..self.plan.fates.len()).filter(|&mesh| self.is_jointed(mesh)) {
            let instance = self.plan.fates[mesh].moved().unwrap_or(0);
            let node = self.opened.frames.instances[instance].pieces[0].node;
            let alone = |raw: &Value, key: &str| {
                let place = number(&raw["nodes"][node], key)?;
                let sharing = items(raw, "nodes").iter().filter(|other| number(other, key) == Some(place));
                (sharing.count() == 1).then_some(place)
            };
            if let Some(skin) = alone(raw, "skin") {
                raw["skins"][skin].as_object_mut().map(|skin| skin.remove("inverseBindMatrices"));
            }
            let Some(mesh) = alone(raw, "mesh") else { continue };
            for primitive in raw["meshes"][mesh]["primitives"].as_array_mut().into_iter().flatten() {
                if is_surface(primitive)
                    && let Some(attributes) = primitive["attributes"].as_object_mut()
                {
                    attributes.retain(|name, _| !hangs(name));
                }
            }
        }
    }

    /// Adds joints to the meshes that get some.
    pub(super) fn add_bones(
        &mut self,
        raw: &Value,
        document: &mut Document,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let SkinDelivery::Joints(bound) = self.options.skin else { return Ok(()) };
        let mut added = 0;
        let meshes: Vec<usize> = (0..self.clip.meshes.len()).filter(|&mesh| self.is_jointed(mesh)).collect();
        for mesh in meshes {
            let hanging = self.hanging(mesh)?;
            let found =
                hanging.motion.decompose(Bound { at_most: bound.at_most, error: 1e-3 * bound.error_mm });
            let (bones, influences) = hanging.bones(&found, 1e-3 * bound.error_mm);
            added += bones.len();
            self.say_error(&hanging, &bones, &influences, bound);
            self.hang_on(&hanging, &bones, &influences, document, times, sink)?;
        }
        if added > 0 && items(raw, "animations").len() > 1 {
            let words = format!(
                "other animations of the file show the mesh with its new weights and the {added} new joints at rest on the rig"
            );
            self.warnings.push(words);
        }
        Ok(())
    }

    /// Gathers what a mesh does.
    fn hanging(&self, number: usize) -> Result<Hanging<'a>> {
        let frames = &self.opened.frames;
        let index = self.plan.fates[number].moved().unwrap_or(0);
        let instance = &frames.instances[index];
        let world_from_rest = frames.world_from_rest(index);
        let rest_from_world = world_from_rest.inverse();
        let skin = instance.skin.map(|skin| &frames.skins[skin]);
        let count = skin.map_or(0, |skin| skin.joints.len());
        let mut motion = Motion {
            before: Vec::new(),
            shown: Vec::new(),
            given: vec![Vec::new(); count],
            influences: Vec::new(),
        };
        if skin.is_some() {
            let double = |of: &Vec<(u32, f32)>| of.iter().map(|&(joint, w)| (joint, f64::from(w))).collect();
            motion.influences = normalized(&instance.shape.influences).iter().map(double).collect();
        }
        let mut worlds = vec![Vec::new(); count];
        for index in 0..self.clip.frame_count() {
            let at = (self.first_frame + index).min(frames.count.saturating_sub(1));
            let pose = frames.graph.moved(frames.pose(at), &frames.joint_nodes, &self.plan.poses[index]);
            let of_nodes = frames.graph.worlds(&pose);
            for (joint, (node, bind)) in
                skin.into_iter().flat_map(|skin| skin.joints.iter().zip(&skin.joint_from_bind)).enumerate()
            {
                worlds[joint].push(of_nodes[*node]);
                let moved = of_nodes[*node] * *bind * rest_from_world;
                motion.given[joint].push(DAffine3::from_mat4(moved));
            }
            if index == 0 || instance.shape.target_count > 0 {
                let points = instance.shape.morphed(&frames.all_weights(instance, at, &pose))?;
                let place =
                    |point: [f32; 3]| world_from_rest.transform_point3(DVec3::from(point.map(f64::from)));
                motion.before.push(points.into_iter().map(place).collect());
            }
            motion.shown.push(self.clip.checked_frame(index)?.points.swap_remove(number));
        }
        let at_rest = frames.graph.worlds(&frames.graph.rest_pose());
        let at_rest =
            skin.map_or_else(Vec::new, |skin| skin.joints.iter().map(|&node| at_rest[node]).collect());
        Ok(Hanging { number, instance, motion, worlds, at_rest, world_from_rest })
    }

    /// Says how far off it is where that is more than was asked for: of what a player shows, keys and weights rounded as they are written.
    fn say_error(
        &mut self,
        hanging: &Hanging<'_>,
        bones: &[Bone],
        influences: &[Vec<(u32, f32)>],
        bound: JointsDelivery,
    ) {
        let (worst, point, frame) = hanging.worst(bones, influences);
        if 1e3 * worst > bound.error_mm {
            let remedy = match bones.len() < bound.at_most {
                true => "more of them do not help: raise `error_mm`, or take `corrective`",
                false => "raise `at_most` or `error_mm`",
            };
            self.warnings.push(format!(
                "mesh `{}`: {} joints come within {:.2} mm, and {} mm were asked for (point {point}, frame {frame}); {remedy}",
                self.clip.meshes[hanging.number].name,
                bones.len(),
                1e3 * worst,
                bound.error_mm
            ));
        }
    }

    /// Writes the joints, their tracks, the skin and the weights.
    fn hang_on(
        &self,
        hanging: &Hanging<'_>,
        bones: &[Bone],
        influences: &[Vec<(u32, f32)>],
        document: &mut Document,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let (instance, clip_mesh) = (hanging.instance, &self.clip.meshes[hanging.number]);
        let node = instance.pieces[0].node;
        let old = instance.skin.map(|skin| &self.opened.frames.skins[skin]);
        let mut binds: Vec<(usize, glam::Mat4)> = old.map_or_else(Vec::new, |skin| {
            skin.joints.iter().copied().zip(skin.joint_from_bind.iter().map(DMat4::as_mat4)).collect()
        });
        for (index, bone) in bones.iter().enumerate() {
            let name = format!("{} physics {}", clip_mesh.name, index + 1);
            let joint = self.add_bone(bone, name, old.map(|skin| &skin.joints[..]), document, times, sink)?;
            let bind = DMat4::from_translation(-bone.middle) * hanging.world_from_rest;
            binds.push((joint, bind.as_mat4()));
        }
        let skin = skin_json(&binds, sink)?;
        let place = number(&document.nodes[node], "skin");
        let shared = |place: &usize| {
            document.nodes.iter().filter(|other| number(other, "skin") == Some(*place)).count() > 1
        };
        match place.filter(|place| !shared(place)) {
            Some(place) => {
                document.skins[place]["joints"] = skin["joints"].clone();
                document.skins[place]["inverseBindMatrices"] = skin["inverseBindMatrices"].clone();
            }
            None => {
                document.skins.push(skin);
                document.nodes[node]["skin"] = json!(document.skins.len() - 1);
            }
        }
        let place = number(&document.nodes[node], "mesh").unwrap_or(0);
        let mut mesh = document.meshes[place].clone();
        let surfaces = mesh["primitives"].as_array_mut().into_iter().flatten();
        let surfaces = surfaces.filter(|primitive| is_surface(primitive));
        let runs = clip_mesh.parts.iter().map(|part| run_of(clip_mesh, part));
        hang(surfaces, runs, &clip_mesh.vertex_points, influences, sink)?;
        let sharing = document.nodes.iter().filter(|other| number(other, "mesh") == Some(place)).count();
        match sharing > 1 {
            true => document.nodes[node]["mesh"] = json!(document.place_mesh(mesh)),
            false => document.meshes[place] = mesh,
        }
        Ok(())
    }

    /// A new joint and its tracks; returns its node.
    fn add_bone(
        &self,
        bone: &Bone,
        name: String,
        joints: Option<&[usize]>,
        document: &mut Document,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<usize> {
        let parent = bone.parent.and_then(|parent| joints?.get(parent).copied());
        let unit = if parent.is_none() { self.opened.frames.scale as f32 } else { 1.0 };
        let placed = |at: &Rigid| {
            let scale = glam::Vec3::splat(bone.scale as f32);
            in_unit(Transform { translation: at.translation, rotation: at.rotation, scale }, unit)
        };
        // without keys it stays where it is in the one frame that there is to show
        let rest = placed(if self.clip.frame_count() == 1 { &bone.track[0] } else { &bone.rest });
        let node = json!({
            "name": name,
            "translation": rest.translation.to_array(), "rotation": rest.rotation.to_array(), "scale": rest.scale.to_array(),
        });
        let node = match parent {
            Some(parent) => {
                let node = document.push_node(node);
                document.add_child(parent, node);
                node
            }
            None => document.push_root(node),
        };
        if self.clip.frame_count() > 1 {
            let input = sink.keys(&bone.keys.iter().map(|&frame| times.of(frame)).collect::<Vec<_>>())?;
            let at = |&frame: &usize| placed(&bone.track[frame]);
            let values: Vec<[f32; 3]> = bone.keys.iter().map(|key| at(key).translation.to_array()).collect();
            let output = sink.keys(&values)?;
            document.push_channel(node, "translation", input, output, "LINEAR");
            let values: Vec<[f32; 4]> = bone.keys.iter().map(|key| at(key).rotation.to_array()).collect();
            let output = sink.keys(&values)?;
            document.push_channel(node, "rotation", input, output, "LINEAR");
        }
        Ok(node)
    }
}

impl Hanging<'_> {
    /// The new joints that anything hangs on, with as few keys as the bound needs, and weights on them as they are written.
    fn bones(&self, found: &Decomposition, error: f64) -> (Vec<Bone>, Vec<Vec<(u32, f32)>>) {
        let given = self.motion.given.len();
        let worst = self.motion.errors(found).into_iter().fold(0.0, f64::max);
        // at a bound that is missed keys add little to what is off
        let left = (0.9 * (error - worst)).max(0.1 * error);
        let mut numbers = vec![None; found.bones.len()];
        (0..given).for_each(|joint| numbers[joint] = Some(joint as u32));
        let mut bones = Vec::new();
        for bone in given..found.bones.len() {
            let hang = |influences: &Vec<(u32, f64)>| {
                influences
                    .iter()
                    .find(|(other, _)| *other as usize == bone)
                    .map_or(0.0, |&(_, weight)| weight)
            };
            let weights: Vec<f64> = found.influences.iter().map(hang).collect();
            if weights.iter().any(|&weight| weight > 0.0) {
                numbers[bone] = Some((given + bones.len()) as u32);
                bones.push(self.bone(&found.bones[bone], &weights, left));
            }
        }
        let written = |influences: &Vec<(u32, f64)>| {
            let of = |&(bone, weight): &(u32, f64)| Some((numbers[bone as usize]?, weight as f32));
            influences.iter().filter_map(of).collect()
        };
        let influences: Vec<Vec<(u32, f32)>> = found.influences.iter().map(written).collect();
        (bones, normalized(&influences))
    }

    fn bone(&self, motion: &[DAffine3], weights: &[f64], left: f64) -> Bone {
        let hanging = || weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let sum: f64 = hanging().map(|(_, weight)| weight).sum();
        let middle =
            hanging().map(|(point, &weight)| weight * self.motion.before(0, point)).sum::<DVec3>() / sum;
        let parent = self.parent(weights);
        let scale = parent.map_or(1.0, |parent| 1.0 / self.at_rest[parent].x_axis.truncate().length());
        let local = |world: DAffine3, parent_at: Option<&DMat4>| {
            let from = parent_at.map_or(DMat4::IDENTITY, DMat4::inverse);
            let (_, rotation, translation) =
                (from * DMat4::from(world) * DMat4::from_translation(middle)).to_scale_rotation_translation();
            Rigid { translation: translation.as_vec3(), rotation: rotation.as_quat().normalize() }
        };
        let mut track: Vec<Rigid> = (motion.iter().enumerate())
            .map(|(frame, world)| local(*world, parent.map(|parent| &self.worlds[parent][frame])))
            .collect();
        for frame in 1..track.len() {
            if track[frame].rotation.dot(track[frame - 1].rotation) < 0.0 {
                track[frame].rotation = -track[frame].rotation;
            }
        }
        // what hangs on it lies in a box about its middle, in the joint's own unit
        let (mut low, mut high) = (DVec3::ZERO, DVec3::ZERO);
        for (point, _) in hanging() {
            for frame in 0..self.motion.before.len() {
                let at = self.motion.before(frame, point) - middle;
                (low, high) = (low.min(at), high.max(at));
            }
        }
        let corner = |i: usize| {
            let of = |axis: usize| if i >> axis & 1 == 0 { low[axis] } else { high[axis] };
            DVec3::new(of(0), of(1), of(2)) * scale
        };
        let corners: Vec<DVec3> = (0..8).map(corner).collect();
        let keys = reduced(&track, &corners, left * scale);
        let rest = local(DAffine3::IDENTITY, parent.map(|parent| &self.at_rest[parent]));
        Bone { parent, middle, scale, track, rest, keys }
    }

    /// The joint of the rig that moves some points most, among those that others can stand on.
    fn parent(&self, weights: &[f64]) -> Option<usize> {
        let mut shares = vec![0.0; self.worlds.len()];
        for (influences, weight) in self.motion.influences.iter().zip(weights) {
            influences.iter().for_each(|&(joint, share)| shares[joint as usize] += share * weight);
        }
        let mut ranked: Vec<usize> = (0..shares.len()).filter(|&joint| shares[joint] > 0.0).collect();
        ranked.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        let size = |world: &DMat4| world.x_axis.truncate().length();
        let stands = |joint: &usize| {
            let rest = size(&self.at_rest[*joint]);
            let same = |world: &DMat4| (size(world) - rest).abs() <= SIMILAR * rest && is_similarity(world);
            is_similarity(&self.at_rest[*joint]) && self.worlds[*joint].iter().all(same)
        };
        ranked.into_iter().find(stands)
    }

    /// How far off the furthest point is, which, and when.
    fn worst(&self, bones: &[Bone], influences: &[Vec<(u32, f32)>]) -> (f64, usize, usize) {
        let given = self.motion.given.len();
        let mut worst = (0.0, 0, 0);
        for frame in 0..self.motion.frame_count() {
            let moved: Vec<DAffine3> = bones.iter().map(|bone| self.shown(bone, frame)).collect();
            for (point, influences) in influences.iter().enumerate() {
                let before = self.motion.before(frame, point);
                let add = |sum: DVec3, &(bone, weight): &(u32, f32)| {
                    let motion = match (bone as usize).checked_sub(given) {
                        Some(new) => &moved[new],
                        None => &self.motion.given[bone as usize][frame],
                    };
                    sum + motion.transform_point3(before) * f64::from(weight)
                };
                let off = influences.iter().fold(DVec3::ZERO, add).distance(self.motion.shown(frame, point));
                if off > worst.0 {
                    worst = (off, point, frame);
                }
            }
        }
        worst
    }

    /// What a player makes of a joint's keys: how it moves the mesh at rest.
    fn shown(&self, bone: &Bone, frame: usize) -> DAffine3 {
        let behind = bone.keys.partition_point(|&key| key <= frame).max(1);
        let from = bone.keys[behind - 1];
        let to = bone.keys.get(behind).copied().unwrap_or(from);
        let part = if to > from { (frame - from) as f64 / (to - from) as f64 } else { 0.0 };
        let at = between(&bone.track[from], &bone.track[to], part);
        let local = DAffine3::from_scale_rotation_translation(
            DVec3::splat(bone.scale),
            at.rotation.as_dquat().normalize(),
            at.translation.as_dvec3(),
        );
        let parent = bone.parent.map_or(DMat4::IDENTITY, |parent| self.worlds[parent][frame]);
        DAffine3::from_mat4(parent * DMat4::from(local)) * DAffine3::from_translation(-bone.middle)
    }
}

/// Whether a matrix turns, moves and scales evenly, and does nothing else.
fn is_similarity(matrix: &DMat4) -> bool {
    let [x, y, z] = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|axis| axis.truncate());
    let size = x.length();
    let even = (y.length() - size).abs().max((z.length() - size).abs()) <= SIMILAR * size;
    let square = x.dot(y).abs().max(y.dot(z).abs()).max(z.dot(x).abs()) <= SIMILAR * size * size;
    size > 0.0 && even && square && matrix.determinant() > 0.0
}
