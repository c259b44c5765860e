//! Anatomy: the skinned meshes of a clip as one skin in one space at rest, and the flesh inside of it.

use clip::{Clip, FilePath, Mesh, ReadOptions};
use glam::{DAffine3, DMat4, Mat4};

use character::{Flesh, Joint, Skin};
use geometry::{Lattice, Vec3};
use shot::{LayerError, Target};

use super::Skeleton;
use super::dials::Dials;

/// What a skinned character is made of, as the layer sees it: lattice, bones, regions.
#[derive(Clone, Debug)]
pub struct Anatomy {
    /// Names of the joints.
    pub names: Vec<String>,
    /// The joints, in the space of the skin at rest.
    pub joints: Vec<Joint>,
    /// One skin of all meshes that the same joints move.
    pub skin: Skin,
    /// Which meshes are in it, in order, with the number of their first point.
    pub meshes: Vec<(usize, usize)>,
    /// The flesh inside.
    pub flesh: Flesh,
}

impl Anatomy {
    /// The flesh of a clip's skinned mesh and of all others on its skeleton.
    pub fn new(settings: &Skeleton, input: &Target) -> Result<Self, LayerError> {
        let Rig { joints, skin, meshes } = Rig::new(input)?;
        let skeleton = input.clip.skeleton.iter();
        let names: Vec<String> =
            skeleton.flat_map(|skeleton| &skeleton.joints).map(|joint| joint.name.clone()).collect();
        let described = Dials { settings, input, names: &names, skin: &skin, meshes: &meshes }.flesh()?;
        let flesh = match &settings.lattice {
            Some(file) => {
                let lattice = open_lattice(file, input).map_err(LayerError::new)?;
                Flesh::within(&joints, skin.clone(), lattice, described)
            }
            None => Flesh::new(&joints, skin.clone(), described),
        };
        let flesh = flesh.map_err(|error| {
            let said = LayerError::new(error);
            if skin.triangles.is_empty() { said.with_help("flesh needs a surface around it") } else { said }
        })?;
        Ok(Self { names, joints, skin, meshes, flesh })
    }
}

/// A lattice that a setting names.
pub(super) fn open_lattice(file: &FilePath, input: &Target) -> Result<Lattice, clip::Error> {
    let options = ReadOptions { files: input.files.clone(), ..ReadOptions::default() };
    clip::read_lattice(input.files.path(file), &options)
}

/// The first point of the target's mesh in the skin of all meshes.
pub(super) fn start_of(meshes: &[(usize, usize)], mesh: usize) -> usize {
    meshes.iter().find(|(index, _)| *index == mesh).map_or(0, |(_, start)| *start)
}

/// One skin of all meshes that the same joints move.
pub(crate) struct Rig {
    pub(crate) joints: Vec<Joint>,
    pub(crate) skin: Skin,
    /// Which meshes are in it, in order, with the number of their first point.
    pub(crate) meshes: Vec<(usize, usize)>,
}

impl Rig {
    pub(crate) fn new(input: &Target) -> Result<Self, LayerError> {
        Self::with_meshes(input, |_| true)
    }

    /// The skin of the target alone.
    pub(crate) fn of_target(input: &Target) -> Result<Self, LayerError> {
        Self::with_meshes(input, |_| false)
    }

    fn with_meshes(input: &Target, takes: impl Fn(usize) -> bool) -> Result<Self, LayerError> {
        let clip = &input.clip;
        let (Some(skeleton), Some(first)) = (&clip.skeleton, &input.mesh().skin) else {
            return Err(LayerError::new(format!(
                "mesh `{}` has no skin: no joint moves it",
                input.mesh().name
            ))
            .with_help("take the layer `enrich`, which needs none"));
        };
        // where joints are in the space of the target's rest shape
        let mut rest_from_joint: Vec<Option<DAffine3>> = vec![None; skeleton.joints.len()];
        for &(joint, bind) in &first.binds {
            rest_from_joint[joint] = Some(affine(bind).inverse());
        }
        let mut meshes = vec![(input.mesh, DAffine3::IDENTITY)];
        for (index, mesh) in
            clip.meshes.iter().enumerate().filter(|(index, _)| *index != input.mesh && takes(*index))
        {
            let Some(skin) = &mesh.skin else { continue };
            // on a joint that both know, the two spaces agree
            let shared =
                skin.binds.iter().find_map(|&(joint, bind)| Some(rest_from_joint[joint]? * affine(bind)));
            let Some(place) = shared.or_else(|| root_shared(clip, input.mesh(), mesh)) else { continue };
            for &(joint, bind) in &skin.binds {
                rest_from_joint[joint].get_or_insert(place * affine(bind).inverse());
            }
            meshes.push((index, place));
        }
        meshes.sort_by_key(|mesh| mesh.0);

        let mut skin = Skin { points: Vec::new(), triangles: Vec::new(), influences: Vec::new() };
        let mut listed = Vec::new();
        for (index, place) in meshes {
            let mesh = &clip.meshes[index];
            let Some(own) = &mesh.skin else { continue };
            let start = skin.points.len();
            skin.points.extend(mesh.rest().into_iter().map(|p| place.transform_point3(p)));
            skin.triangles.extend(mesh.point_triangles().into_iter().map(|t| t.map(|v| v + start as u32)));
            let joint_of = |&(bind, weight): &(u32, f32)| {
                own.binds.get(bind as usize).map(|(joint, _)| (*joint as u32, f64::from(weight)))
            };
            skin.influences
                .extend(own.influences.iter().map(|row| row.iter().filter_map(joint_of).collect::<Vec<_>>()));
            listed.push((index, start));
        }
        let joints = skeleton.joints.iter().zip(&rest_from_joint).map(|(joint, place)| Joint {
            parent: joint.parent,
            rest_from_joint: place.unwrap_or(DAffine3::IDENTITY),
        });
        Ok(Self { joints: joints.collect(), skin, meshes: listed })
    }
}

/// Whether two meshes without a common joint hang on the same root: then their spaces at rest are taken to be one.
fn root_shared(clip: &Clip, a: &Mesh, b: &Mesh) -> Option<DAffine3> {
    let skeleton = clip.skeleton.as_ref()?;
    let root = |mesh: &Mesh| {
        let mut joint = mesh.skin.as_ref()?.binds.first()?.0;
        while let Some(parent) = skeleton.joints[joint].parent {
            joint = parent;
        }
        Some(joint)
    };
    (root(a)? == root(b)?).then_some(DAffine3::IDENTITY)
}

fn affine(matrix: Mat4) -> DAffine3 {
    DAffine3::from_mat4(DMat4::from_cols_array(&matrix.to_cols_array().map(f64::from)))
}

/// The volume that triangles enclose, in m³.
pub(crate) fn volume(points: impl Fn(u32) -> Vec3, triangles: &[[u32; 3]]) -> f64 {
    let of = |t: &[u32; 3]| {
        let [a, b, c] = t.map(&points);
        a.dot(b.cross(c)) / 6.0
    };
    triangles.iter().map(of).sum()
}
