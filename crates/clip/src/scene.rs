//! Several clips in one scene, each placed, turned, scaled, and hung on a joint of what is there already.

use std::sync::Arc;

use geometry::Vec3;
use glam::{DMat4, DQuat, Mat4};

use crate::{Clip, Frame, Frames, Grid, Joint, Material, Mesh, Result, Skeleton, Skin, Transform};

/// Where a clip stands in a scene, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// What its only mesh is called; of several, and of joints, the first part of their names: `ball/skin`. Default: as in the file.
    pub name: Option<String>,
    /// Where its origin comes to lie, in metres.
    pub offset: Vec3,
    /// How it is turned about its origin.
    pub rotation: DQuat,
    /// How many times as large it becomes; above 0.
    pub scale: f64,
    /// The joint of the scene that carries it from the rest pose on.
    pub parent: Option<usize>,
    /// Further joints that carry what has no skin and no joints of its own: each point by all of them, most by the nearest, as if it were skinned to
    /// them. Nothing without `parent`.
    pub more_parents: Vec<usize>,
    /// The scene as it is while it is placed. Default: at rest.
    pub pose: Option<Frame>,
    /// The frame of the scene at which it begins; until then it stands in its first frame.
    pub start: usize,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            name: None,
            offset: Vec3::ZERO,
            rotation: DQuat::IDENTITY,
            scale: 1.0,
            parent: None,
            more_parents: Vec::new(),
            pose: None,
            start: 0,
        }
    }
}

impl Placement {
    /// `world_from_clip` while the parent is at rest.
    fn world_from_clip(&self) -> DMat4 {
        DMat4::from_scale_rotation_translation(Vec3::splat(self.scale), self.rotation, self.offset)
    }

    /// The scene's joints while it is placed, where they are not at rest.
    fn posed(&self) -> Option<&[Transform]> {
        self.pose.as_ref().map(|frame| frame.pose.as_slice())
    }
}

impl Clip {
    /// The scene with another clip in it. It lasts until both have ended; what ends first stays in its last frame.
    ///
    /// Points, rest shape, skin and joints of the other are placed together, so that its skin still moves its points:
    /// with P = `world_from_clip`, W the parent's `world_from_joint` and W̄ the same at rest, points become W W̄⁻¹ P x, root joints hang on the
    /// parent by W̄⁻¹ P, and binds are taken from the rest shape P x.
    #[must_use]
    pub fn with_added(&self, other: &Clip, placement: &Placement) -> Clip {
        let world_from_clip = placement.world_from_clip();
        let joints = self.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len());
        let parent = placement.parent.filter(|parent| *parent < joints).map(|joint| Parent {
            joint,
            rest_from_world: rest_of(self, joint, placement.posed()).inverse(),
            skeleton: self.skeleton.clone().unwrap_or_default(),
        });
        // what moves by itself is carried by one joint; several carry what would stand still
        let several: Vec<usize> = match other.skeleton {
            Some(_) => Vec::new(),
            None => placement
                .parent
                .iter()
                .chain(&placement.more_parents)
                .copied()
                .filter(|j| *j < joints)
                .collect(),
        };
        let parent_from_clip =
            parent.as_ref().map_or(world_from_clip, |parent| parent.rest_from_world * world_from_clip);

        let mut scene = self.clone();
        for mesh in &other.meshes {
            let name = name_of(mesh, other.meshes.len(), placement);
            let name = unique(name, |name| scene.mesh_index(name).is_some());
            let mut placed = placed_mesh(mesh, name, world_from_clip, joints, self.materials.len());
            match several.len() {
                0 | 1 if placed.skin.is_none() => {
                    placed.parent = placed.parent.or(parent.as_ref().map(|parent| parent.joint));
                }
                0 | 1 => {}
                _ => placed.skin = Some(carried_by(self, &several, placement.posed(), &placed.rest_points)),
            }
            scene.meshes.push(placed);
        }
        let carried: Vec<Option<Skin>> = match several.len() {
            0 | 1 => vec![None; other.meshes.len()],
            _ => scene.meshes[self.meshes.len()..].iter().map(|mesh| mesh.skin.clone()).collect(),
        };
        scene.materials.extend(other.materials.iter().map(|material| moved(material, self.images.len())));
        scene.images.extend(other.images.iter().cloned());
        if let Some(skeleton) = &other.skeleton {
            let all = scene.skeleton.get_or_insert_default();
            for joint in &skeleton.joints {
                let name = match &placement.name {
                    Some(name) => format!("{name}/{}", joint.name),
                    None => joint.name.clone(),
                };
                let name = unique(name, |name| all.joint_index(name).is_some());
                let rest = match joint.parent {
                    None => placed_root(joint.rest, parent_from_clip),
                    Some(_) => joint.rest,
                };
                let above = joint.parent.map(|p| p + joints).or(parent.as_ref().map(|parent| parent.joint));
                all.joints.push(Joint { name, parent: above, rest });
            }
            // the file of the first skeleton does not know of the second
            scene.bvh = None;
        }
        scene.usd = None;
        scene.dressed = self.dressed_with(&scene, placement);
        scene.warnings.extend(other.warnings.iter().cloned());
        let roots = other.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        scene.with_frames(Arc::new(AddedFrames {
            scene: self.frames().clone(),
            other: other.frames().clone(),
            own_meshes: self.meshes.len(),
            start: placement.start,
            world_from_clip,
            parent_from_clip,
            parent,
            carried,
            roots: roots.map(|joint| joint.parent.is_none()).collect(),
        }))
    }

    /// The pose in which garments were put on: the one in which this was placed, or the one before, with what is new in `scene`.
    fn dressed_with(&self, scene: &Clip, placement: &Placement) -> Option<Arc<Frame>> {
        let before = placement.pose.as_ref().or(self.dressed.as_deref())?;
        let Frame { mut points, mut pose } = before.clone();
        points.extend(scene.meshes[self.meshes.len()..].iter().map(|mesh| mesh.rest_points.clone()));
        let joints = scene.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        pose.extend(joints.skip(pose.len()).map(|joint| joint.rest));
        Some(Arc::new(Frame { points, pose }))
    }

    /// The clip cut or drawn out to so many frames: after its end it stays in its last one.
    #[must_use]
    pub fn lasting(&self, count: usize) -> Clip {
        self.with_frames(Arc::new(HeldFrames { frames: self.frames().clone(), count }))
    }
}

/// `world_from_joint` in a pose, or in the rest pose.
fn rest_of(clip: &Clip, joint: usize, pose: Option<&[Transform]>) -> DMat4 {
    let Some(skeleton) = &clip.skeleton else { return DMat4::IDENTITY };
    let world = match pose {
        Some(pose) => skeleton.world_from_joints(pose),
        None => skeleton.world_from_joints(&skeleton.rest_pose()),
    };
    world.get(joint).map_or(DMat4::IDENTITY, Mat4::as_dmat4)
}

fn name_of(mesh: &Mesh, meshes: usize, placement: &Placement) -> String {
    match &placement.name {
        Some(name) if meshes == 1 => name.clone(),
        Some(name) => format!("{name}/{}", mesh.name),
        None => mesh.name.clone(),
    }
}

/// The name, with the lowest number behind it that is free where it is taken.
fn unique(name: String, taken: impl Fn(&str) -> bool) -> String {
    if !taken(&name) {
        return name;
    }
    (2..).map(|n| format!("{name}-{n}")).find(|name| !taken(name)).unwrap_or_default()
}

fn placed_mesh(mesh: &Mesh, name: String, world_from_clip: DMat4, joints: usize, materials: usize) -> Mesh {
    let mut mesh = Mesh { name, ..mesh.clone() };
    place(&mut mesh.rest_points, world_from_clip);
    mesh.parent = mesh.parent.map(|joint| joint + joints);
    for part in &mut mesh.parts {
        part.material = part.material.map(|material| material + materials);
    }
    if let Some(skin) = &mut mesh.skin {
        let clip_from_world: Mat4 = world_from_clip.inverse().as_mat4();
        for (joint, joint_from_rest) in &mut skin.binds {
            *joint += joints;
            if world_from_clip != DMat4::IDENTITY {
                *joint_from_rest *= clip_from_world;
            }
        }
    }
    mesh
}

/// A skin by which several joints carry points, each most by the joint that is nearest at rest.
///
/// w_j ∝ d_j⁻⁴, d_j the distance of the point from joint j: 1 at a joint, ½ in the middle between two, smooth everywhere else. Shepard 1968 with the
/// power that keeps its influence near.
fn carried_by(clip: &Clip, joints: &[usize], pose: Option<&[Transform]>, rest_points: &[[f32; 3]]) -> Skin {
    let rests: Vec<DMat4> = joints.iter().map(|&joint| rest_of(clip, joint, pose)).collect();
    let influences = |point: &[f32; 3]| {
        let point = Vec3::from(point.map(f64::from));
        let near =
            rests.iter().map(|rest| rest.w_axis.truncate().distance_squared(point).max(1e-12).powi(-2));
        let near: Vec<f64> = near.collect();
        let sum: f64 = near.iter().sum();
        near.iter().enumerate().map(|(bind, near)| (bind as u32, (near / sum) as f32)).collect()
    };
    Skin {
        binds: joints.iter().zip(&rests).map(|(&joint, rest)| (joint, rest.inverse().as_mat4())).collect(),
        influences: rest_points.iter().map(influences).collect(),
    }
}

/// Points in the world moved by a skin: Σ w_j W_j W̄_j⁻¹ p.
fn carry(points: &mut [[f32; 3]], skin: &Skin, world: &[Mat4]) {
    let moved: Vec<DMat4> = skin
        .binds
        .iter()
        .map(|(joint, joint_from_rest)| {
            world.get(*joint).map_or(DMat4::IDENTITY, |world| world.as_dmat4() * joint_from_rest.as_dmat4())
        })
        .collect();
    for (point, influences) in points.iter_mut().zip(&skin.influences) {
        let own = Vec3::from(point.map(f64::from));
        let parts = influences
            .iter()
            .map(|&(bind, weight)| f64::from(weight) * moved[bind as usize].transform_point3(own));
        *point = parts.sum::<Vec3>().as_vec3().to_array();
    }
}

/// A material whose pictures stand so much further down the list.
fn moved(material: &Material, images: usize) -> Material {
    let mut material = material.clone();
    material.base_color_image = material.base_color_image.map(|image| image + images);
    if let Some(gltf) = &mut material.gltf {
        crate::format::move_images(gltf, images);
    }
    material
}

/// Points moved by a transform; one that changes nothing leaves every bit.
fn place(points: &mut [[f32; 3]], transform: DMat4) {
    if transform == DMat4::IDENTITY {
        return;
    }
    for point in points {
        let placed = transform.transform_point3(Vec3::from(point.map(f64::from)));
        *point = placed.as_vec3().to_array();
    }
}

fn placed_root(root: Transform, parent_from_clip: DMat4) -> Transform {
    if parent_from_clip == DMat4::IDENTITY {
        return root;
    }
    let placed = parent_from_clip * root.matrix().as_dmat4();
    let (scale, rotation, translation) = placed.to_scale_rotation_translation();
    Transform { translation: translation.as_vec3(), rotation: rotation.as_quat(), scale: scale.as_vec3() }
}

/// A joint that carries something.
struct Parent {
    joint: usize,
    /// The inverse of its place at rest.
    rest_from_world: DMat4,
    /// The scene's.
    skeleton: Skeleton,
}

struct AddedFrames {
    scene: Arc<dyn Frames>,
    other: Arc<dyn Frames>,
    /// How many meshes the scene has.
    own_meshes: usize,
    start: usize,
    world_from_clip: DMat4,
    parent_from_clip: DMat4,
    parent: Option<Parent>,
    /// For each mesh of the other, how several joints carry it, where they do.
    carried: Vec<Option<Skin>>,
    /// Which joints of the other have no parent of their own.
    roots: Vec<bool>,
}

impl AddedFrames {
    /// The frames of both that are shown at `index`.
    fn at(&self, index: usize) -> Result<[usize; 2]> {
        if index >= self.count() {
            return Err(crate::Error::NoSuchFrame { index, count: self.count() });
        }
        let held = |frames: &Arc<dyn Frames>, index: usize| index.min(frames.count().saturating_sub(1));
        Ok([held(&self.scene, index), held(&self.other, index.saturating_sub(self.start))])
    }
}

impl Frames for AddedFrames {
    fn count(&self) -> usize {
        self.scene.count().max(self.start + self.other.count())
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let [own, others] = self.at(index)?;
        let (mut frame, other) = (self.scene.read(own)?, self.other.read(others)?);
        let world = self
            .parent
            .as_ref()
            .map(|parent| parent.skeleton.world_from_joints(&frame.pose))
            .unwrap_or_default();
        let placed = match &self.parent {
            Some(parent) => {
                let world = world.get(parent.joint).map_or(DMat4::IDENTITY, Mat4::as_dmat4);
                world * self.parent_from_clip
            }
            None => self.world_from_clip,
        };
        for (mesh, mut points) in other.points.into_iter().enumerate() {
            match self.carried.get(mesh).and_then(Option::as_ref) {
                Some(skin) => {
                    place(&mut points, self.world_from_clip);
                    carry(&mut points, skin, &world);
                }
                None => place(&mut points, placed),
            }
            frame.points.push(points);
        }
        for (joint, transform) in other.pose.into_iter().enumerate() {
            let is_root = self.roots.get(joint).copied().unwrap_or(false);
            frame.pose.push(if is_root { placed_root(transform, self.parent_from_clip) } else { transform });
        }
        Ok(frame)
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        let [own, others] = self.at(index)?;
        // where the scene does not know its weights, those of the other still stand behind its meshes
        let mut weights = self.scene.morph_weights(own)?;
        weights.resize(self.own_meshes, Vec::new());
        weights.extend(self.other.morph_weights(others)?);
        Ok(weights)
    }

    fn grids(&self, index: usize) -> Result<Vec<Grid>> {
        let [own, others] = self.at(index)?;
        Ok([self.scene.grids(own)?, self.other.grids(others)?].concat())
    }
}

struct HeldFrames {
    frames: Arc<dyn Frames>,
    count: usize,
}

impl HeldFrames {
    fn at(&self, index: usize) -> Result<usize> {
        match index < self.count {
            true => Ok(index.min(self.frames.count().saturating_sub(1))),
            false => Err(crate::Error::NoSuchFrame { index, count: self.count }),
        }
    }
}

impl Frames for HeldFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(self.at(index)?)
    }

    fn read(&self, index: usize) -> Result<Frame> {
        self.frames.read(self.at(index)?)
    }

    fn grids(&self, index: usize) -> Result<Vec<Grid>> {
        self.frames.grids(self.at(index)?)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use glam::{Quat, Vec3 as Vec3f};

    use super::*;
    use crate::MemoryFrames;

    /// A triangle that rides on the second of two joints, which turns by a quarter from the first frame to the second.
    fn arm() -> Clip {
        let joint = |name: &str, parent, x| Joint {
            name: name.into(),
            parent,
            rest: Transform { translation: Vec3f::new(x, 0.0, 0.0), ..Transform::IDENTITY },
        };
        let skeleton = Skeleton { joints: vec![joint("shoulder", None, 1.0), joint("elbow", Some(0), 1.0)] };
        let rest = vec![[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [2.0, 1.0, 0.0]];
        let mut mesh = Mesh::new("arm", rest.clone(), &[[0, 1, 2]]);
        let bind = Mat4::from_translation(Vec3f::new(-2.0, 0.0, 0.0));
        let skin = Skin { binds: vec![(1, bind)], influences: vec![vec![(0, 1.0)]; 3] };
        let mut bent = skeleton.rest_pose();
        bent[1].rotation = Quat::from_rotation_z(FRAC_PI_2 as f32);
        let frame = |pose: Vec<Transform>| Frame {
            points: vec![skin.deform(&rest, &skeleton.world_from_joints(&pose))],
            pose,
        };
        let frames = vec![frame(skeleton.rest_pose()), frame(bent)];
        mesh.skin = Some(skin);
        Clip::new("arm", 24.0, vec![mesh], Some(skeleton), Arc::new(MemoryFrames::new(frames)))
    }

    fn ball() -> Clip {
        Clip::still(
            Mesh::new("ball", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]),
            24.0,
            1,
        )
    }

    /// Every skin must still move its points to where the frames have them.
    fn assert_skins_agree(clip: &Clip) {
        let skeleton = clip.skeleton.as_ref().unwrap();
        for index in 0..clip.frame_count() {
            let frame = clip.checked_frame(index).unwrap();
            let world = skeleton.world_from_joints(&frame.pose);
            for (mesh, points) in clip.meshes.iter().zip(&frame.points) {
                let Some(skin) = &mesh.skin else { continue };
                for (a, b) in skin.deform(&mesh.rest_points, &world).iter().zip(points) {
                    let distance = Vec3f::from(*a).distance(Vec3f::from(*b));
                    assert!(distance < 1e-5, "{}: frame {index}: {distance}", mesh.name);
                }
            }
        }
    }

    #[test]
    fn what_is_added_is_placed_with_its_joints_and_stays_when_it_has_ended() {
        let placement = Placement {
            offset: Vec3::new(0.0, 5.0, 1.0),
            rotation: DQuat::from_rotation_y(FRAC_PI_2),
            scale: 2.0,
            start: 3,
            ..Placement::default()
        };
        let scene = ball().with_added(&arm(), &placement);
        assert_eq!(scene.frame_count(), 5);
        assert_skins_agree(&scene);
        // (3, 0, 0) is doubled, turned onto −z and put down
        let at = |index: usize| Vec3f::from(scene.frame(index).unwrap().points[1][1]);
        assert!(at(3).distance(Vec3f::new(0.0, 5.0, -5.0)) < 1e-5);
        assert_eq!(at(0), at(3), "until it begins it stands still");
        assert!(at(4).distance(Vec3f::new(0.0, 7.0, -3.0)) < 1e-5);
        assert_eq!(scene.frame(4).unwrap().points[0], ball().meshes[0].rest_points);
        assert!(scene.frame(5).is_err());
    }

    #[test]
    fn what_hangs_on_a_joint_goes_with_it() {
        let placement = Placement {
            name: Some("watch".into()),
            offset: Vec3::new(2.5, 0.0, 0.0),
            parent: Some(1),
            ..Placement::default()
        };
        let scene = arm().with_added(&ball(), &placement).with_added(&arm(), &placement);
        let names: Vec<&str> = scene.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
        assert_eq!(names, ["arm", "watch", "watch-2"]);
        let joints = &scene.skeleton.as_ref().unwrap().joints;
        assert_eq!((joints[2].name.as_str(), joints[2].parent), ("watch/shoulder", Some(1)));
        assert_skins_agree(&scene);
        // the elbow at (2, 0, 0) turns the watch from half a metre in front of it to half a metre above
        let watch = |index: usize| Vec3f::from(scene.frame(index).unwrap().points[1][0]);
        assert!(watch(0).distance(Vec3f::new(2.5, 0.0, 0.0)) < 1e-6);
        assert!(watch(1).distance(Vec3f::new(2.0, 0.5, 0.0)) < 1e-6);
    }

    /// What is placed in a frame of the animation is as it was drawn in that frame, and at rest it is beside what it hangs on: so a lead-in begins there.
    #[test]
    fn garments_are_put_on_in_the_frame_in_which_they_are_placed() {
        assert_eq!(arm().dressed_frame(), arm().rest_frame());
        let posed = arm().frame(1).unwrap();
        let placement = Placement {
            offset: Vec3::new(0.0, 1.0, 0.0),
            parent: Some(0),
            more_parents: vec![1],
            pose: Some(posed.clone()),
            ..Placement::default()
        };
        let points = vec![[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.5, 0.0, 1.0]];
        let cape = Clip::still(Mesh::new("cape", points, &[[0, 1, 2]]), 24.0, 1);
        // what comes later, at rest, is there too
        let scene = arm().with_added(&cape, &placement).with_added(&ball(), &Placement::default());
        let dressed = scene.dressed_frame();
        assert_eq!((&dressed.points[0], &dressed.pose), (&posed.points[0], &posed.pose));
        assert_eq!(dressed.points[1..], scene.rest_frame().points[1..]);
        let placed = &scene.frame(1).unwrap().points[1];
        for (a, b) in placed.iter().zip(&dressed.points[1]) {
            assert!(Vec3f::from(*a).distance(Vec3f::from(*b)) < 1e-5);
        }
        // a layer may have made other meshes of it
        let mut other = scene.clone();
        other.meshes[1] = Mesh::new("cape", vec![[0.0; 3]], &[]);
        assert_eq!(other.dressed_frame(), other.rest_frame());
    }

    #[test]
    fn nothing_is_touched_that_need_not_be() {
        let scene = arm().with_added(&arm(), &Placement::default());
        for index in 0..2 {
            let (frame, alone) = (scene.frame(index).unwrap(), arm().frame(index).unwrap());
            assert_eq!(frame.points[0], alone.points[0]);
            assert_eq!(frame.points[1], alone.points[0]);
            assert_eq!(frame.pose[2..], alone.pose[..]);
        }
        assert_skins_agree(&scene);
        let long = ball().lasting(48);
        assert_eq!((long.frame_count(), long.frame(47).unwrap()), (48, ball().frame(0).unwrap()));
        assert!(long.frame(48).is_err() && arm().lasting(1).frame(1).is_err());
    }

    #[test]
    fn materials_keep_their_pictures() {
        let pictured = || {
            let mut clip = ball();
            let image = crate::Image { name: "p".into(), mime_type: "image/png".into(), bytes: vec![1] };
            clip.images = vec![image];
            let gltf = serde_json::json!({ "normalTexture": { "index": 0 } });
            let mut material = Material::plain("m", [1.0; 4]);
            (material.base_color_image, material.gltf) = (Some(0), Some(gltf));
            clip.materials = vec![material];
            clip.meshes[0].parts[0].material = Some(0);
            clip
        };
        let scene = pictured().with_added(&pictured(), &Placement::default());
        assert_eq!(scene.meshes[1].parts[0].material, Some(1));
        assert_eq!(scene.materials[1].base_color_image, Some(1));
        assert_eq!(scene.materials[1].gltf.as_ref().unwrap()["normalTexture"]["index"], 1);
        assert_eq!(scene.materials[0].gltf.as_ref().unwrap()["normalTexture"]["index"], 0);
    }

    /// Between two joints a still sheet is carried by both: at each of them as by it alone, and skinned to them so that others know.
    #[test]
    fn several_joints_carry_what_stands_still() {
        let points = vec![[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.5, 0.0, 1.0]];
        let sheet = Clip::still(Mesh::new("cape", points, &[[0, 1, 2]]), 24.0, 1);
        let placement = Placement { parent: Some(0), more_parents: vec![1], ..Placement::default() };
        let scene = arm().with_added(&sheet, &placement);
        let cape = &scene.meshes[1];
        let skin = cape.skin.as_ref().unwrap();
        assert_eq!(skin.binds.iter().map(|bind| bind.0).collect::<Vec<_>>(), [0, 1]);
        assert!((skin.influences[2][0].1 - 0.5).abs() < 1e-6, "half way between the two");
        for index in 0..scene.frame_count() {
            let frame = scene.frame(index).unwrap();
            let world = scene.skeleton.as_ref().unwrap().world_from_joints(&frame.pose);
            for (deformed, point) in skin.deform(&cape.rest_points, &world).iter().zip(&frame.points[1]) {
                assert!((Vec3f::from(*deformed) - Vec3f::from(*point)).length() < 1e-5, "frame {index}");
            }
            // it begins at the shoulder, which only turns on the spot
            assert!((Vec3f::from(frame.points[1][0]) - Vec3f::X).length() < 1e-5, "frame {index}");
        }
        // one joint carries it as a whole
        let alone = arm().with_added(&sheet, &Placement { parent: Some(1), ..Placement::default() });
        assert_eq!((alone.meshes[1].parent, alone.meshes[1].skin.is_none()), (Some(1), true));
    }
}
