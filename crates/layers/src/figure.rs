//! A skeleton as a character: a mesh of capsules and round boxes, each part of it rigid on one joint.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Frames, Material, Mesh, Skeleton, Skin};
use geometry::{Quat, Vec3};
use glam::Mat4;
use motion::{Bone, Solid, figure, height};
use shot::LayerError;

/// Edges of a figure's surface where it is flat, as a share of its height.
const CELL: f64 = 0.03;

/// The clip with a mesh `body` for every character of its skeleton; it goes with the joints, and out as a skin.
pub fn with_capsules(clip: &Clip) -> Result<Clip, LayerError> {
    let skeleton = clip.skeleton.as_ref().filter(|skeleton| !skeleton.joints.is_empty());
    let skeleton = skeleton.ok_or_else(|| LayerError::new("the input has no skeleton to give a body to"))?;
    let mut embodied = clip.clone();
    let mut skins = Vec::new();
    let material = clip.materials.len();
    for joints in characters(skeleton) {
        let Some(mut mesh) = mesh(clip, skeleton, &joints) else { continue };
        let taken = |name: &str| embodied.mesh_index(name).is_some();
        mesh.name = (1..)
            .map(|n| if n == 1 { "body".to_owned() } else { format!("body-{n}") })
            .find(|name| !taken(name))
            .unwrap_or_default();
        mesh.parts[0].material = Some(material);
        skins.push((mesh.skin.clone().unwrap_or_default(), mesh.rest_points.clone()));
        embodied.meshes.push(mesh);
    }
    if skins.is_empty() {
        return Err(LayerError::new("no bone of the skeleton has a length"));
    }
    embodied.materials.push(Material::plain("figure", [0.36, 0.42, 0.5, 1.0]));
    let frames = Embodied { frames: clip.frames().clone(), skeleton: skeleton.clone(), skins };
    Ok(embodied.with_frames(Arc::new(frames)))
}

/// The joints of each character: those under one root, without roots that carry nothing.
fn characters(skeleton: &Skeleton) -> Vec<Vec<usize>> {
    let mut root_of: Vec<usize> = Vec::with_capacity(skeleton.joints.len());
    for (index, joint) in skeleton.joints.iter().enumerate() {
        root_of.push(joint.parent.map_or(index, |parent| root_of[parent]));
    }
    let roots = (0..root_of.len()).filter(|&joint| root_of[joint] == joint);
    let under = |root: usize| (0..root_of.len()).filter(|&joint| root_of[joint] == root).collect();
    roots.map(under).filter(|joints: &Vec<usize>| joints.len() > 1).collect()
}

fn mesh(clip: &Clip, skeleton: &Skeleton, joints: &[usize]) -> Option<Mesh> {
    let worlds = skeleton.world_from_joints(&skeleton.rest_pose());
    let tips = clip.bvh.as_ref().map(|layout| layout.end_sites.as_slice()).unwrap_or_default();
    let wide = |v: glam::Vec3| v.as_dvec3();
    // bones in the joints' own frames; where a root is scaled, all of it is
    let bones: Vec<Bone> = joints
        .iter()
        .map(|&joint| Bone {
            name: skeleton.joints[joint].name.clone(),
            parent: skeleton.joints[joint].parent.and_then(|p| joints.iter().position(|&other| other == p)),
            offset: wide(skeleton.joints[joint].rest.translation),
            tip: tips.iter().find(|tip| tip.0 == joint).map(|tip| wide(tip.1)),
        })
        .collect();
    let rest: Vec<Quat> =
        joints.iter().map(|&joint| skeleton.joints[joint].rest.rotation.as_dquat().normalize()).collect();
    let size = height(&bones).unwrap_or_else(|| {
        let places = joints.iter().map(|&joint| wide(worlds[joint].w_axis.truncate()));
        let first = wide(worlds[joints[0]].w_axis.truncate());
        places.map(|place| place.distance(first)).fold(0.0, f64::max)
    });
    let solids = figure(&bones, &rest);
    if solids.is_empty() || !(size > 0.0 && size.is_finite()) {
        return None;
    }
    Some(skinned(skeleton, joints, &worlds, &solids, CELL * size))
}

/// Solids as one mesh in the world at rest, every point on the joint of its solid.
fn skinned(skeleton: &Skeleton, joints: &[usize], worlds: &[Mat4], solids: &[Solid], cell: f64) -> Mesh {
    let (mut points, mut faces, mut influences) = (Vec::new(), Faces::default(), Vec::new());
    for solid in solids {
        let first = points.len() as u32;
        let (local, quads) = solid.surface(cell);
        let world = worlds[joints[solid.joint]];
        points.extend(local.iter().map(|p: &Vec3| world.transform_point3(p.as_vec3()).to_array()));
        quads.iter().for_each(|quad| faces.push(&quad.map(|corner| first + corner)));
        influences.extend(std::iter::repeat_n(vec![(solid.joint as u32, 1.0_f32)], local.len()));
    }
    let skin =
        Skin { binds: joints.iter().map(|&joint| (joint, worlds[joint].inverse())).collect(), influences };
    let mut mesh = Mesh::from_faces("body", points, faces);
    for group in skin.groups(skeleton) {
        mesh.set_group(group.name, group.weights);
    }
    mesh.skin = Some(skin);
    mesh
}

/// Frames with figures in them.
struct Embodied {
    frames: Arc<dyn Frames>,
    skeleton: Skeleton,
    /// With their points at rest.
    skins: Vec<(Skin, Vec<[f32; 3]>)>,
}

impl Frames for Embodied {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.frames.read(index)?;
        let worlds = self.skeleton.world_from_joints(&frame.pose);
        if worlds.len() == self.skeleton.joints.len() {
            frame.points.extend(self.skins.iter().map(|(skin, rest)| skin.deform(rest, &worlds)));
        }
        Ok(frame)
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<clip::Grid>> {
        self.frames.grids(index)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(index)
    }
}
