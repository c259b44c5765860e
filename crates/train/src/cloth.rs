//! An operator that has learnt nothing yet: both meshes, what they hang on, what they must not enter, how the coarse one is simulated.

use std::collections::BTreeMap;

use clip::{Clip, Files, Mesh, Selector};
use geometry::{Mat3, Prolongation};
use live::{Parts, RigCapsule, Skin};
use shot::Diagnostic;
use upsample::{bicubic_subdivision, smooth_subdivision, weights};

use crate::Error;
use crate::file::UpsampleTraining;
use crate::paint::{brushes, conductances};

/// Meshes and rig, before anything is learnt.
pub(crate) struct Cloth {
    /// With S and without D.
    pub(crate) parts: Parts,
    pub(crate) subdivision: Prolongation,
    pub(crate) barycentric: Prolongation,
    pub(crate) bicubic: Prolongation,
    /// How little functions may vary in each triangle of the fine mesh, where that is painted.
    pub(crate) conductances: Option<Vec<Mat3>>,
    /// The mesh that motions must have.
    pub(crate) mesh: String,
}

/// A mesh of an opened clip.
pub(crate) struct Named {
    pub(crate) clip: Clip,
    pub(crate) mesh: usize,
}

impl Named {
    fn mesh(&self) -> &Mesh {
        &self.clip.meshes[self.mesh]
    }
}

/// What can be wrong: a place in the file, or the meshes themselves.
pub(crate) enum ClothError {
    At(Diagnostic),
    Other(Error),
}

impl<E: Into<Error>> From<E> for ClothError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Cloth {
    /// Of the meshes that a training file names.
    pub(crate) fn new(
        training: &UpsampleTraining,
        coarse: &Named,
        fine: Option<&Named>,
        files: &Files,
    ) -> Result<Self, ClothError> {
        let at = |path: &str, message: String| ClothError::At(Diagnostic::new(path, message));
        let chosen = |selector: &Selector, named: &Named, path: &str| -> Result<Vec<f32>, ClothError> {
            selector.weights(&named.clip, named.mesh, files).map_err(|error| at(path, error.to_string()))
        };
        let held = |named: &Named| match &training.follow {
            Some(follow) => chosen(follow, named, "follow"),
            None => Ok(vec![0.0; named.mesh().point_count()]),
        };
        let coarse_held = held(coarse)?;
        let (coarse_rest, coarse_triangles) = (coarse.mesh().rest(), coarse.mesh().point_triangles());
        let mut joints = JointNames::default();
        let mut coarse_influences = joints.influences(coarse, "coarse").map_err(ClothError::At)?;
        let mut brushes = brushes(&training.paint, |at, path| chosen(at, fine.unwrap_or(coarse), path))?;
        let (fine_mesh, fine_held, fine_influences) = match fine {
            Some(fine) => {
                let influences = joints.influences(fine, "fine").map_err(ClothError::At)?;
                (fine.mesh().clone(), held(fine)?, influences)
            }
            None => {
                let (mesh, way) = coarse.mesh().subdivided(training.scheme, training.subdivide);
                let finer = |weights: &[f32]| -> Vec<f32> {
                    let wide: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
                    way.numbers(&wide).iter().map(|w| (*w as f32).clamp(0.0, 1.0)).collect()
                };
                brushes.iter_mut().for_each(|weights| *weights = finer(weights));
                let held = finer(&coarse_held);
                let blended = |i: usize| blend(way.row(i).map(|(j, w)| (&coarse_influences[j as usize], w)));
                let influences = (0..mesh.point_count()).map(blended).collect();
                (mesh, held, influences)
            }
        };
        let mut capsules = Vec::new();
        let known = coarse.clip.skeleton.as_ref();
        for (k, capsule) in training.capsule.iter().enumerate() {
            let mut find = |name: &str| match known.map(|skeleton| skeleton.joint_index(name).is_some()) {
                Some(true) => Ok(joints.index(name)),
                _ => {
                    let names = known.iter().flat_map(|s| s.joints.iter().map(|joint| joint.name.as_str()));
                    let path = format!("capsule[{k}].joint");
                    Err(ClothError::At(Diagnostic::unknown(path, "joint", name, names)))
                }
            };
            let [from, to] = capsule.joint_names();
            capsules.push(RigCapsule { joints: [find(from)?, find(to)?], capsule: capsule.at_rest() });
        }
        let (fine_rest, fine_triangles) = (fine_mesh.rest(), fine_mesh.point_triangles());
        let conductances = conductances(&training.paint, &brushes, &fine_triangles);
        let subdivision = smooth_subdivision(&coarse_rest, &coarse_triangles, &fine_rest)?;
        let barycentric = upsample::barycentric(&coarse_rest, &coarse_triangles, &fine_rest)?;
        let bicubic = bicubic_subdivision(&coarse_rest, &coarse_triangles, &fine_rest)?;
        let coarse_skin = coarse_held.iter().zip(&mut coarse_influences).map(|(w, row)| skin(row, *w));
        let attached = fine_held.iter().zip(&fine_influences).enumerate().filter(|(_, (w, _))| **w > 0.0);
        let fine_skin = attached.map(|(i, (w, row))| (i as u32, skin(row, *w))).collect();
        let parts = Parts {
            subdivision: weights(&subdivision),
            coarse_skin: coarse_skin.collect(),
            fine_skin,
            joints: joints.names,
            capsules,
            settings: training.cloth.settings(),
            ..Parts::new(
                live::Mesh { rest: coarse.mesh().rest_points.clone(), triangles: coarse_triangles },
                live::Mesh { rest: fine_mesh.rest_points.clone(), triangles: fine_triangles },
            )
        };
        parts.settings.check()?;
        let mesh = fine.unwrap_or(coarse).mesh().name.clone();
        Ok(Self { parts, subdivision, barycentric, bicubic, conductances, mesh })
    }
}

type Influences = Vec<(u16, f32)>;

/// Joints in the order in which they were met.
#[derive(Default)]
struct JointNames {
    names: Vec<String>,
}

impl JointNames {
    fn index(&mut self, name: &str) -> u16 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u16
    }

    /// Which joints move each point of a mesh; what has no skin hangs on its parent, or on the first joint of its skeleton.
    fn influences(&mut self, named: &Named, path: &str) -> Result<Vec<Influences>, Diagnostic> {
        let mesh = named.mesh();
        let (Some(skeleton), Some(skin)) = (&named.clip.skeleton, &mesh.skin) else {
            let joints = named.clip.skeleton.as_ref().map(|skeleton| &skeleton.joints);
            let first = joints.and_then(|joints| joints.get(mesh.parent.unwrap_or(0)));
            let joint = self.index(first.map_or("root", |joint| &joint.name));
            return Ok(vec![vec![(joint, 1.0)]; mesh.point_count()]);
        };
        if skin.influences.len() != mesh.point_count() {
            let message = format!("the skin of mesh `{}` does not fit its points", mesh.name);
            return Err(Diagnostic::new(path, message));
        }
        let mut row = |row: &Vec<(u32, f32)>| -> Influences {
            let joint = |bind: u32| skin.binds.get(bind as usize).map(|(joint, _)| *joint);
            let kept = row.iter().filter(|(_, w)| *w > 0.0);
            kept.filter_map(|(bind, w)| Some((self.index(&skeleton.joints[joint(*bind)?].name), *w)))
                .collect()
        };
        Ok(skin.influences.iter().map(&mut row).collect())
    }
}

/// Influences of a point between others.
fn blend<'a>(rows: impl Iterator<Item = (&'a Influences, f64)>) -> Influences {
    let mut sums: BTreeMap<u16, f64> = BTreeMap::new();
    for (row, share) in rows {
        row.iter().for_each(|(joint, w)| *sums.entry(*joint).or_default() += share * f64::from(*w));
    }
    sums.into_iter().filter(|(_, w)| *w > 1e-6).map(|(joint, w)| (joint, w as f32)).collect()
}

/// The four strongest, summing to one.
fn skin(influences: &[(u16, f32)], attachment: f32) -> Skin {
    let mut sorted = influences.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sorted.truncate(4);
    let sum: f32 = sorted.iter().map(|(_, w)| w).sum();
    let mut skin = Skin { attachment, ..Skin::rigid(0, attachment) };
    if sum > 0.0 {
        skin.weights = [0.0; 4];
        for (k, (joint, w)) in sorted.into_iter().enumerate() {
            (skin.joints[k], skin.weights[k]) = (joint, w / sum);
        }
    }
    skin
}
