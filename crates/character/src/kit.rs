//! A kit: what a player needs of a character.

mod packed;

use dynamics::stiffness_damping;
use geometry::{Prolongation, Vec3};
use glam::DAffine3;
use solid::Material;

use crate::Error;
use crate::adaptation::{Adaptation, Sensor, sensors};
use crate::corotated::Corotated;
use crate::flesh::{Driver, Flesh, Piece, region_joints};
use crate::frames::Frame;
use crate::limits::Limit;
use crate::region::Region;
use crate::regions::{Shares, cell_regions};
use crate::swing::reach;
use crate::unfold::{Guarded, guarded};

/// How flesh is solved for, with matrices that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Every bone's surroundings in its own frame, then blended (skeleton §4.5).
    #[default]
    BlendedLinear,
    /// All at once in the frame of the first joint: right for small turns only.
    GlobalLinear,
    /// Every cell in a frame of its own, with volumes averaged over neighbours; the matrix stays the same.
    Corotated,
}

/// A character as a player needs it.
#[derive(Clone, Debug)]
pub struct Kit {
    pub(crate) joint_from_rest: Vec<DAffine3>,
    /// Coefficients at rest; those of level 0 come first.
    pub(crate) rest: Vec<Vec3>,
    pub(crate) level_zero: usize,
    pub(crate) drivers: Vec<Driver>,
    pub(crate) shares: Vec<Shares>,
    pub(crate) regions: Vec<Region>,
    pub(crate) surface: Prolongation,
    /// When finer functions come and go, and what judges it.
    pub(crate) adaptation: Option<Adaptation>,
    pub(crate) sensors: Vec<Sensor>,
    /// All flesh in frames of every cell's own, instead of regions.
    pub(crate) corotated: Option<Corotated>,
    /// The joints alone, on top of regions.
    pub(crate) joints: Option<Corotated>,
    /// Cones that free joints stay in.
    pub(crate) limits: Vec<Limit>,
    /// How far coefficients of level 0 may swing from where their bones would take them, in metres; empty: as far as they do.
    pub(crate) reach: Vec<f64>,
    /// Cells that are kept from turning inside out.
    pub(crate) guarded: Vec<Guarded>,
    pub(crate) step: f64,
    pub(crate) beta: f64,
    pub(crate) gravity: Vec3,
    joint_names: Vec<String>,
    meshes: Vec<(String, usize)>,
}

/// Steps shorter than this, in seconds, would keep a player busy for ever.
const LEAST_STEP: f64 = 1e-5;

impl Kit {
    /// What a player needs to move this flesh in steps of `step` seconds.
    pub fn new(flesh: &Flesh, method: Method, step: f64) -> Result<Self, Error> {
        if !(LEAST_STEP..=1.0).contains(&step) {
            return Err(Error::Range {
                what: "the step in seconds",
                value: step,
                range: "from a hundred-thousandth to 1",
            });
        }
        let levels = f64::from(flesh.settings.levels);
        if method == Method::Corotated && levels > 0.0 {
            // its matrix is turned function by function, and a coarse one stands for cells that are turned differently
            return Err(Error::Range {
                what: "the number of finer levels, in frames of every cell's own,",
                value: levels,
                range: "0",
            });
        }
        let regions = match method {
            Method::BlendedLinear => blended(flesh)?,
            Method::Corotated => Vec::new(),
            Method::GlobalLinear => {
                let all: Vec<&Piece> = flesh.pieces.iter().collect();
                let first = region_joints(&flesh.shares).first().copied().unwrap_or(0);
                vec![Region::new(flesh, first, &all, |_| 1.0)?]
            }
        };
        // a coarse function of several levels stands for cells that are turned differently
        let has_joints =
            method == Method::BlendedLinear && flesh.settings.joints && flesh.settings.levels == 0;
        let damping = flesh.settings.material.damping;
        // without finer functions there is nothing to switch
        let adaptation = flesh.settings.adaptation.clone().filter(|_| flesh.settings.levels > 0);
        Ok(Self {
            sensors: adaptation.as_ref().map_or_else(Vec::new, |adaptation| sensors(flesh, adaptation)),
            adaptation,
            corotated: (method == Method::Corotated).then(|| Corotated::new(flesh)).transpose()?,
            joints: if has_joints { Corotated::at_joints(flesh)? } else { None },
            joint_from_rest: flesh.joint_from_rest.clone(),
            rest: flesh.hierarchy.rest().to_vec(),
            level_zero: flesh.lattice.points().len(),
            drivers: flesh.drivers.clone(),
            shares: flesh.shares.clone(),
            regions,
            surface: flesh.surface.clone(),
            limits: flesh.limits.clone(),
            reach: if method == Method::BlendedLinear { reach(flesh) } else { Vec::new() },
            guarded: guarded(flesh),
            step,
            beta: stiffness_damping(damping, Material::DAMPING_REFERENCE_HZ),
            gravity: flesh.settings.gravity,
            joint_names: Vec::new(),
            meshes: Vec::new(),
        })
    }

    /// The same with names: of the joints in the order of a pose, and of the meshes whose points follow each other in the skin, each with
    /// its number of points.
    #[must_use]
    pub fn named(self, joint_names: Vec<String>, meshes: Vec<(String, usize)>) -> Self {
        Self { joint_names, meshes, ..self }
    }

    /// Names of the joints in the order of a pose; none where nobody gave them.
    pub fn joint_names(&self) -> &[String] {
        &self.joint_names
    }

    /// The meshes whose points follow each other in the skin: their names, and how many points each has.
    pub fn meshes(&self) -> &[(String, usize)] {
        &self.meshes
    }

    /// How many coefficients bones hold.
    pub fn known_count(&self) -> usize {
        self.drivers.len()
    }

    /// How many joints a pose has.
    pub fn joint_count(&self) -> usize {
        self.joint_from_rest.len()
    }

    /// How many points the skin has.
    pub fn point_count(&self) -> usize {
        self.surface.fine_count()
    }

    /// How many coefficients move, those that bones hold included.
    pub fn coefficient_count(&self) -> usize {
        self.rest.len()
    }

    /// How many regions.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The length of a step, in seconds.
    pub fn step(&self) -> f64 {
        self.step
    }
}

/// Coefficients of flesh that has followed its joints without any life of its own.
pub(crate) fn skinned(kit: &Kit, frames: &[Frame], coefficients: &mut [Vec3]) {
    for (f, (place, shares)) in coefficients.iter_mut().zip(&kit.shares).enumerate() {
        let rest = kit.rest[f];
        let moved = |&(joint, weight): &(u32, f64)| {
            weight * frames[joint as usize].world_from_rest.transform_point3(rest)
        };
        *place = if f < kit.level_zero { shares.iter().map(moved).sum() } else { Vec3::ZERO };
    }
    for driver in &kit.drivers {
        coefficients[driver.coefficient as usize] = driver.place(frames);
    }
}

/// A region for every joint that has one, over the cells that lie in it whole.
fn blended(flesh: &Flesh) -> Result<Vec<Region>, Error> {
    let cells: Vec<Vec<u32>> =
        flesh.lattice.cells().iter().map(|cell| cell_regions(cell.corners(), &flesh.shares)).collect();
    let weight = |joint: u32, f: usize| {
        flesh.shares[f].iter().find(|share| share.0 == joint).map_or(0.0, |share| share.1)
    };
    let mut regions = Vec::new();
    for joint in region_joints(&flesh.shares) {
        let own: Vec<&Piece> =
            flesh.pieces.iter().filter(|piece| cells[piece.cell as usize].contains(&joint)).collect();
        if !own.is_empty() {
            regions.push(Region::new(flesh, joint, &own, |f| weight(joint, f))?);
        }
    }
    // finer functions may reach into cells whose region is not theirs: what is there sums to one
    let mut sums = vec![0.0; flesh.shares.len()];
    for region in &regions {
        region.functions.iter().zip(&region.shares).for_each(|(&f, share)| sums[f as usize] += share);
    }
    for region in &mut regions {
        let Region { functions, shares, .. } = region;
        functions
            .iter()
            .zip(shares)
            .for_each(|(&f, share)| *share /= sums[f as usize].max(f64::MIN_POSITIVE));
    }
    Ok(regions)
}
