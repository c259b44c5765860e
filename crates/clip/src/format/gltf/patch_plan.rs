//! What of a clip is still what its document plays, and what has to be written anew.
//!
//! Points are compared with what the document gives in the same frame, to the bit: a layer that leaves a mesh alone leaves every bit of
//! it. Where a layer moved joints, meshes are compared with what the document gives in the new pose, and there rounding is allowed for.

use glam::DMat4;

use super::frames::GltfFrames;
use super::scene::Opened;
use crate::{Clip, Mesh, Result, Transform};

/// How far a mesh may be from where its own skin puts it in a pose that was changed, of the mesh's size.
pub(super) const SAME_SKIN: f32 = 1e-5;

/// What becomes of a mesh of the clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// This mesh of the document, as it stands.
    Kept(usize),
    /// The same with other points.
    Moved(usize),
    /// The same with other points on other vertices or faces.
    Remade(usize),
    /// The document does not have it.
    Added,
}

impl Fate {
    /// Which mesh of the document it was, where only its points are others.
    pub(super) fn moved(self) -> Option<usize> {
        match self {
            Self::Moved(instance) => Some(instance),
            _ => None,
        }
    }

    /// Which mesh of the document it was, where that is not kept.
    pub(super) fn baked(self) -> Option<usize> {
        match self {
            Self::Moved(instance) | Self::Remade(instance) => Some(instance),
            Self::Kept(_) | Self::Added => None,
        }
    }
}

/// What differs between a clip and the document that it came from.
pub(super) struct Plan {
    /// What becomes of each mesh of the clip.
    pub(super) fates: Vec<Fate>,
    /// Meshes of the document that the clip has no more.
    pub(super) removed: Vec<usize>,
    /// Whether the animation's times are no more the document's.
    pub(super) is_retimed: bool,
    /// Which joints of the document are elsewhere.
    pub(super) moved_joints: Vec<bool>,
    /// The joints of every frame, those that the document does not have included.
    pub(super) poses: Vec<Vec<Transform>>,
    /// For each mesh of the document, whether its node can be undone in every frame.
    pub(super) is_regular: Vec<bool>,
    /// Whether the document was made of the clip itself: its joints are the clip's, and its skins give the same points but for rounding.
    pub(super) is_made: bool,
}

impl Plan {
    /// Compares; in words why there is nothing to compare, when the clip has little to do with the document any more.
    pub(super) fn new(
        clip: &Clip,
        opened: &Opened,
        first_frame: usize,
        start_frame: Option<u32>,
        is_made: bool,
    ) -> Result<std::result::Result<Self, String>> {
        if let Err(words) = fits(clip, opened) {
            return Ok(Err(words));
        }
        let (source, frames) = (&opened.clip, &opened.frames);
        let fate = |mesh: &Mesh| match source.mesh_index(&mesh.name) {
            None => Fate::Added,
            Some(instance) if same_topology(mesh, &source.meshes[instance]) => Fate::Kept(instance),
            Some(instance) => Fate::Remade(instance),
        };
        let fates: Vec<Fate> = clip.meshes.iter().map(fate).collect();
        let removed = (0..source.meshes.len())
            .filter(|&instance| clip.mesh_index(&source.meshes[instance].name).is_none())
            .collect();
        let mut plan = Self {
            fates,
            removed,
            is_retimed: first_frame > 0
                || first_frame + clip.frame_count() < frames.count
                || clip.frame_rate_hz != source.frame_rate_hz
                || start_frame.is_some_and(|start| f64::from(start) != frames.first_frame),
            moved_joints: vec![false; frames.joint_nodes.len()],
            poses: Vec::with_capacity(clip.frame_count()),
            is_regular: vec![true; source.meshes.len()],
            is_made,
        };
        for index in 0..clip.frame_count() {
            plan.compare(clip, frames, index, (first_frame + index).min(frames.count.saturating_sub(1)))?;
        }
        Ok(Ok(plan))
    }

    /// Compares frame `index` of the clip with frame `at` of the document.
    fn compare(&mut self, clip: &Clip, frames: &GltfFrames, index: usize, at: usize) -> Result<()> {
        let ours = clip.checked_frame(index)?;
        let theirs = frames.pose(at);
        let joints = frames.of_joints(&theirs);
        let mut is_posed = self.is_made;
        let is_made = self.is_made;
        for ((moved, ours), theirs) in self.moved_joints.iter_mut().zip(&ours.pose).zip(&joints) {
            *moved |= ours != theirs && !is_made;
            is_posed |= ours != theirs;
        }
        let pose = frames.graph.moved(theirs, &frames.joint_nodes, &ours.pose);
        let worlds = frames.graph.worlds(&pose);
        for (instance, is_regular) in self.is_regular.iter_mut().enumerate() {
            *is_regular &= can_be_undone(&worlds[host(frames, instance)]);
        }
        for (fate, points) in self.fates.iter_mut().zip(&ours.points) {
            let Fate::Kept(instance) = *fate else { continue };
            let expected = frames.points(instance, at, &pose, &worlds)?;
            let same = match is_posed {
                false => bytemuck::cast_slice::<_, u32>(points) == bytemuck::cast_slice::<_, u32>(&expected),
                true => are_near(points, &expected),
            };
            if !same {
                *fate = Fate::Moved(instance);
            }
        }
        self.poses.push(ours.pose);
        Ok(())
    }

    /// Whether the document can stay as it is.
    pub(super) fn is_copy(&self) -> bool {
        self.removed.is_empty()
            && !self.is_retimed
            && self.fates.iter().all(|fate| matches!(fate, Fate::Kept(_)))
            && !self.moved_joints.contains(&true)
            && self.poses.first().is_none_or(|pose| pose.len() == self.moved_joints.len())
    }
}

/// The node that a mesh hangs on: its own, or the one above the pieces of a long clip.
pub(super) fn host(frames: &GltfFrames, instance: usize) -> usize {
    let pieces = &frames.instances[instance].pieces;
    match pieces.len() {
        1 => pieces[0].node,
        _ => frames.graph.parent(pieces[0].node).unwrap_or(pieces[0].node),
    }
}

/// Whether joints, materials and pictures of the clip begin with the document's.
fn fits(clip: &Clip, opened: &Opened) -> std::result::Result<(), String> {
    let source = &opened.clip;
    let joints = |clip: &Clip| clip.skeleton.as_ref().map_or(&[][..], |skeleton| &skeleton.joints).to_vec();
    let begins = joints(clip).starts_with(&joints(source));
    let what = match (begins, clip.materials.starts_with(&source.materials)) {
        (false, _) => "joints",
        (true, false) => "materials",
        (true, true) if !clip.images.starts_with(&source.images) => "pictures",
        _ => return Ok(()),
    };
    Err(format!(
        "the {what} are no more those of the glTF file that it came from, so that nothing else of that file was kept"
    ))
}

fn same_topology(a: &Mesh, b: &Mesh) -> bool {
    a.point_count() == b.point_count()
        && a.vertex_points == b.vertex_points
        && a.faces == b.faces
        && a.uvs == b.uvs
        && a.more_uvs == b.more_uvs
        && a.parts == b.parts
}

fn can_be_undone(matrix: &DMat4) -> bool {
    let longest = matrix.x_axis.length().max(matrix.y_axis.length()).max(matrix.z_axis.length());
    matrix.is_finite() && matrix.determinant().abs() > 1e-9 * longest.powi(3)
}

fn are_near(points: &[[f32; 3]], expected: &[[f32; 3]]) -> bool {
    let size = expected.iter().flatten().fold(0.0_f32, |size, c| size.max(c.abs()));
    let pairs = points.as_flattened().iter().zip(expected.as_flattened());
    pairs.into_iter().all(|(a, b)| (a - b).abs() <= SAME_SKIN * size)
}
