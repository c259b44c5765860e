//! Sculpted shapes that are alive: dynamic morph targets (Galoppo 2009).
//!
//! A sculptor has a few targets: in this pose the biceps is thick and hard, in that one slack. [`Morph`] fills the skin with tets once,
//! makes each target a rest shape, stiffness, density and damping of the same tets, and interpolates their *forces* over pose space;
//! displacements live in the bind pose and skinning comes after. [`Morph::kit`] reduces all of it to a few coordinates that a
//! [`MorphPlayer`] steps in real time; [`FullMorph`] steps every point by the engine.
//!
//! A module and not a crate: joints, skins, bones, frames between poses and the ways to be wrong are those of flesh, and private to it.

mod basis;
mod full;
mod inertia;
mod interpolation;
mod kit;
mod locality;
mod packed;
mod player;
mod polynomial;
mod pose_space;
mod press;
mod rbf;
mod surface;
mod target;
mod volume;

use geometry::{Bounds, TetMesh, Vec3};
use glam::DAffine3;

use crate::Error;
use crate::bones::{Joint, Skin};
use crate::frames::{Frame, Pose};

use basis::Modes;
use interpolation::Interpolation;
use locality::Locality;
use target::Elastic;
use volume::Volume;

pub use full::FullMorph;
pub use kit::{MorphKit, MorphNames, MorphReport};
pub use player::MorphPlayer;
pub use pose_space::PoseSpace;
pub use press::Press;
pub use rbf::{Kernel, Limit, PoseWeights};
pub use target::{Plasticity, Target};

/// How stress follows from strain, as far as forces of it can be interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MorphLaw {
    /// Forces linear in displacement. Displacements are seen from the bones, so this is right for all but large ones.
    #[default]
    Linear,
    /// The same, every tet turned with itself (Müller 2004). No polynomial, so [`FullMorph`] alone has it.
    Warped,
    /// Forces cubic in displacement.
    Stvk,
}

/// Dials of a morph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MorphSettings {
    /// About so many tets.
    pub tets: usize,
    /// How stress follows from strain.
    pub law: MorphLaw,
    /// What interpolates over poses.
    pub kernel: Kernel,
    /// How much interpolation is smoothed, in mean distances between targets; 0 meets them.
    pub smoothing: f64,
    /// Numbers of a pose beside its joints.
    pub channels: usize,
    /// Flesh of a joint heeds the pose of joints at most so many links away; without, of all.
    pub pose_reach: Option<usize>,
    /// In m/s².
    pub gravity: Vec3,
}

impl Default for MorphSettings {
    fn default() -> Self {
        Self {
            tets: 4000,
            law: MorphLaw::Linear,
            kernel: Kernel::Biharmonic,
            smoothing: 0.0,
            channels: 0,
            pose_reach: None,
            gravity: Vec3::ZERO,
        }
    }
}

/// A skin with its inside and its targets: everything that does not move.
pub struct Morph {
    skin: Skin,
    joint_from_rest: Vec<DAffine3>,
    parents: Vec<Option<usize>>,
    settings: MorphSettings,
    volume: Volume,
    space: PoseSpace,
    targets: Vec<Elastic>,
    /// Linear modes of every target, as they were last asked for.
    modes: Vec<Option<Modes>>,
    size: f64,
}

impl Morph {
    /// Fills a skin with tets; targets are added afterwards.
    pub fn new(joints: &[Joint], skin: Skin, settings: MorphSettings) -> Result<Self, Error> {
        let skin = checked(joints, skin, &settings)?;
        let volume = Volume::new(&skin, &skin.bones(joints, &[]), settings.tets)?;
        Ok(Self::with_volume(joints, skin, volume, settings))
    }

    /// The same in tets that are there.
    pub fn in_tets(
        joints: &[Joint],
        skin: Skin,
        tets: TetMesh,
        settings: MorphSettings,
    ) -> Result<Self, Error> {
        let skin = checked(joints, skin, &settings)?;
        let embedding = geometry::Embedding::new(&tets, &skin.points)?;
        let edges = tets.edges();
        let length = |[a, b]: &[u32; 2]| tets.points()[*a as usize].distance(tets.points()[*b as usize]);
        let edge = edges.iter().map(length).sum::<f64>() / edges.len().max(1) as f64;
        let volume = Volume::in_tets(&skin, &skin.bones(joints, &[]), tets, embedding, edge)?;
        Ok(Self::with_volume(joints, skin, volume, settings))
    }

    fn with_volume(joints: &[Joint], skin: Skin, volume: Volume, settings: MorphSettings) -> Self {
        let parents: Vec<Option<usize>> = joints.iter().map(|joint| joint.parent).collect();
        let size = Bounds::of(skin.points.iter().copied()).diagonal();
        let joint_from_rest = joints.iter().map(|joint| joint.rest_from_joint.inverse()).collect();
        let space = PoseSpace::new(&parents, settings.channels);
        let (targets, modes) = (Vec::new(), Vec::new());
        Self { skin, joint_from_rest, parents, settings, volume, space, targets, modes, size }
    }

    /// Adds a target. What was made for others stays.
    pub fn add(&mut self, target: &Target) -> Result<(), Error> {
        if self.targets.iter().any(|other| other.name == target.name) {
            return Err(Error::SameName { name: target.name.clone() });
        }
        let mut pose = Pose::rest(&self.joint_from_rest);
        pose.set(&self.joint_from_rest, &target.world_from_joints)?;
        let mut frames = vec![Frame::REST; self.joint_from_rest.len()];
        Pose::between(&pose, &pose, 1.0, &mut frames);
        let mut raw = vec![0.0; self.space.raw_len()];
        self.space.raw(|joint| frames[joint].rotation, &target.channels, &mut raw);
        let elastic = Elastic::new(&self.volume, &self.skin.points, self.size, target, raw)?;
        self.targets.push(elastic);
        self.modes.push(None);
        Ok(())
    }

    /// How many targets.
    pub fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// The tets at rest.
    pub fn tets(&self) -> &TetMesh {
        &self.volume.mesh
    }

    /// The length of a tet's edge, in metres.
    pub fn edge(&self) -> f64 {
        self.volume.edge
    }

    /// Which points of the tets skinning alone moves.
    pub fn known(&self) -> &[bool] {
        &self.volume.known
    }

    /// For every point of the tets its joints, with weights that sum to one.
    pub fn joint_weights(&self) -> &[Vec<(u32, f64)>] {
        &self.volume.joints
    }

    /// Where the points of the tets rest in a target.
    pub fn rest_shape(&self, target: usize) -> &[Vec3] {
        &self.targets[target].rest
    }

    /// λ = ω² of a target's slowest vibrations, in 1/s².
    pub fn eigenvalues(&mut self, target: usize, count: usize) -> Result<Vec<f64>, Error> {
        self.prepare_modes(count)?;
        let modes = self.modes[target].as_ref();
        Ok(modes.map(|modes| modes.values.iter().copied().take(count).collect()).unwrap_or_default())
    }

    /// Makes modes for targets that have fewer.
    fn prepare_modes(&mut self, count: usize) -> Result<(), Error> {
        let unknowns = 3 * self.volume.known.iter().filter(|known| !**known).count();
        let nonlinear = self.settings.law == MorphLaw::Stvk;
        for (target, modes) in self.targets.iter().zip(&mut self.modes) {
            if modes.as_ref().is_none_or(|modes| modes.values.len() < count.min(unknowns)) {
                *modes = Some(Modes::new(&self.volume, target, count, nonlinear)?);
            }
        }
        Ok(())
    }

    /// Regions, and interpolation over the poses of all targets in each of them.
    fn interpolation(&self) -> Result<(Locality, Interpolation), Error> {
        if self.targets.is_empty() {
            return Err(Error::NoTargets);
        }
        let raws: Vec<Vec<f64>> = self.targets.iter().map(|target| target.raw.clone()).collect();
        let locality = match self.settings.pose_reach {
            Some(reach) => {
                Locality::within(reach, &self.parents, &self.space.moved(self.parents.len(), &raws))
            }
            None => Locality::whole(self.parents.len()),
        };
        let name = |target: usize| self.targets[target].name.clone();
        let by = (self.settings.kernel, self.settings.smoothing);
        let interpolation = Interpolation::new(&self.space, &raws, &locality, by)?
            .map_err(|[a, b]| Error::SamePose { names: [name(a), name(b)] })?;
        Ok((locality, interpolation))
    }
}

fn checked(joints: &[Joint], skin: Skin, settings: &MorphSettings) -> Result<Skin, Error> {
    let wrong = |what, value, range| Err(Error::Range { what, value, range });
    if !(settings.smoothing >= 0.0 && settings.smoothing.is_finite()) {
        return wrong("smoothing", settings.smoothing, "a finite number, 0 or above");
    }
    if let Kernel::Gaussian { width } = settings.kernel
        && !(width > 0.0 && width.is_finite())
    {
        return wrong("the width of the kernel", width, "a finite number above 0");
    }
    skin.checked(joints)
}
