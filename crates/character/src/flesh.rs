//! Flesh: a character's lattice, functions, bones, regions and materials, ready for any way of moving it.

use geometry::{
    Bounds, Hierarchy, Lattice, LatticeMaking, Prolongation, SurfaceQuery, Vec3, fractions_inside,
    oriented_triangles,
};
use glam::DAffine3;
use solid::Material;

use crate::Error;
use crate::adaptation::Adaptation;
use crate::bones::{Bone, End, Joint, Skin, carriers};
use crate::frames::Frame;
use crate::regions::{Shares, regions};

/// Dials of flesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// About so many cells in the lattice.
    pub cells: usize,
    /// Levels of finer functions on top of the lattice's own.
    pub levels: u32,
    /// When those come and go; none: they are always there.
    pub adaptation: Option<Adaptation>,
    /// Whether joints, where regions meet, are solved with frames of every cell's own on top of blended regions, which keeps their
    /// volume; without finer levels only.
    pub joints: bool,
    /// What it is made of.
    pub material: Material,
    /// What parts are made of instead: joints and their materials.
    pub materials: Vec<(usize, Material)>,
    /// Joints that swing with the flesh instead of moving it: they have no bones, and what is animated of them is left out.
    pub free: Vec<usize>,
    /// How firmly flesh is kept from turning about its bones; 0 lets it turn freely.
    pub twist: f64,
    /// How far around a bone that acts, as a part of the way from the bone to the skin.
    pub twist_radius: f64,
    /// In m/s².
    pub gravity: Vec3,
}

impl Default for Settings {
    fn default() -> Self {
        let material = Material { young: 2e4, poisson: 0.4, density: 1000.0, damping: 0.12 };
        Self {
            cells: 600,
            levels: 0,
            adaptation: None,
            joints: false,
            material,
            materials: Vec::new(),
            free: Vec::new(),
            twist: 1.0,
            twist_radius: 0.5,
            gravity: Vec3::ZERO,
        }
    }
}

/// A coefficient that a bone holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Driver {
    pub(crate) coefficient: u32,
    pub(crate) ends: [End; 2],
    /// From 0 at the first end to 1 at the second.
    pub(crate) along: f64,
}

impl Driver {
    /// Where the bone has it while joints are in `frames`.
    pub(crate) fn place(&self, frames: &[Frame]) -> Vec3 {
        let [a, b] = self.ends.map(|end| frames[end.joint].world_from_rest.transform_point3(end.rest));
        a.lerp(b, self.along)
    }
}

/// A piece of flesh: a tet of the finest level, with what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) tet: u32,
    pub(crate) cell: u32,
    /// The part of it that is inside of the skin; never quite zero, so that every point weighs something.
    pub(crate) part: f64,
    pub(crate) material: Material,
}

/// What a lattice turned out to be, for reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Lattice points.
    pub points: usize,
    /// Lattice cells.
    pub cells: usize,
    /// Functions of all levels.
    pub functions: usize,
    /// Coefficients that bones hold.
    pub known: usize,
    /// Regions, one for each joint that moves points.
    pub regions: usize,
    /// Bones.
    pub bones: usize,
    /// Bones that are no edges of the lattice and are held softly, by their joints.
    pub soft_bones: Vec<usize>,
    /// Mass in kilograms.
    pub mass: f64,
    /// Volume inside of the skin, in m³.
    pub volume: f64,
}

/// A character prepared: everything that does not move.
#[derive(Clone, Debug)]
pub struct Flesh {
    pub(crate) lattice: Lattice,
    pub(crate) hierarchy: Hierarchy,
    pub(crate) joint_from_rest: Vec<DAffine3>,
    pub(crate) bones: Vec<Bone>,
    pub(crate) chains: Vec<Vec<u32>>,
    pub(crate) drivers: Vec<Driver>,
    pub(crate) known: Vec<bool>,
    /// Regions of every function, level 0 first.
    pub(crate) shares: Vec<Shares>,
    pub(crate) pieces: Vec<Piece>,
    /// Values of the functions at the points of the skin.
    pub(crate) surface: Prolongation,
    /// How far the skin is from each bone.
    pub(crate) thickness: Vec<f64>,
    pub(crate) settings: Settings,
    report: Report,
}

/// Pieces with less of the flesh in them count as if they had this part: no point may be without stiffness.
const LEAST_PART: f64 = 1e-3;

impl Flesh {
    /// Makes lattice, bones, functions and regions for a skin and its joints.
    pub fn new(joints: &[Joint], skin: Skin, settings: Settings) -> Result<Self, Error> {
        let skin = skin.checked(joints)?;
        let bones = skin.bones(joints, &settings.free);
        let segments: Vec<[Vec3; 2]> = bones.iter().map(|bone| bone.ends.map(|end| end.rest)).collect();
        let made =
            LatticeMaking { cells: settings.cells }.around(&skin.points, &skin.triangles, &segments)?;
        Self::in_lattice(joints, skin, made.lattice, bones, made.chains, settings)
    }

    /// The same in a lattice that is there, with `chains` of lattice points along the bones, empty where there are none.
    pub fn in_lattice(
        joints: &[Joint],
        skin: Skin,
        lattice: Lattice,
        bones: Vec<Bone>,
        chains: Vec<Vec<u32>>,
        settings: Settings,
    ) -> Result<Self, Error> {
        check(&settings)?;
        let skin = skin.checked(joints)?;
        let edges: Vec<[u32; 2]> =
            chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| [pair[0], pair[1]]).collect();
        let hierarchy = Hierarchy::new(&lattice, settings.levels, &edges)?;
        let surface = hierarchy.at(&skin.points)?;
        let carriers = carriers(joints, &settings.free);
        let shares_of = |skin: &Skin| regions(&lattice, &surface, skin, &bones, &chains, joints.len());
        let lattice_shares = shares_of(&skin.carried(&carriers));
        // what a part is made of goes by its own joint, free or not
        let own_shares = if settings.free.is_empty() { None } else { Some(shares_of(&skin)) };
        let material_shares = own_shares.as_ref().unwrap_or(&lattice_shares);
        let shares = function_shares(&hierarchy, &lattice_shares);

        let skin_surface = SurfaceQuery::new(skin.points.clone(), oriented(&skin))?;
        let fractions = fractions_inside(hierarchy.mesh(), &skin_surface);
        let material =
            |cell: u32| cell_material(&settings, lattice.cells()[cell as usize].corners(), material_shares);
        let pieces: Vec<Piece> = (0..fractions.len())
            .map(|tet| {
                let cell = hierarchy.cells()[tet];
                Piece {
                    tet: tet as u32,
                    cell,
                    part: fractions[tet].max(LEAST_PART),
                    material: material(cell),
                }
            })
            .collect();
        let (drivers, known) = drivers(&bones, &chains, &lattice, hierarchy.functions().len());
        let thickness = bones.iter().map(|bone| thickness(bone, &skin_surface)).collect();
        let volumes = hierarchy.mesh().volumes();
        let held = volumes.iter().zip(&fractions).map(|(volume, part)| volume * part);
        let report = Report {
            points: lattice.points().len(),
            cells: lattice.cells().len(),
            functions: hierarchy.functions().len(),
            known: drivers.len(),
            regions: region_joints(&shares).len(),
            bones: bones.len(),
            soft_bones: (0..bones.len()).filter(|&b| chains[b].len() < 2).collect(),
            mass: held.clone().zip(&pieces).map(|(volume, piece)| volume * piece.material.density).sum(),
            volume: held.sum(),
        };
        let joint_from_rest = joints.iter().map(|joint| joint.rest_from_joint.inverse()).collect();
        Ok(Self {
            lattice,
            hierarchy,
            joint_from_rest,
            bones,
            chains,
            drivers,
            known,
            shares,
            pieces,
            surface,
            thickness,
            settings,
            report,
        })
    }

    /// The same flesh with joints solved for by themselves, or not.
    #[must_use]
    pub fn with_joints(mut self, joints: bool) -> Self {
        self.settings.joints = joints;
        self
    }

    /// What it turned out to be.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The functions on it.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The bones, and for each its chain of lattice points.
    pub fn bones(&self) -> (&[Bone], &[Vec<u32>]) {
        (&self.bones, &self.chains)
    }

    /// Which coefficients bones hold.
    pub fn known(&self) -> &[bool] {
        &self.known
    }

    /// For every lattice point the joints it belongs to, and how much.
    pub fn region_weights(&self) -> &[Vec<(u32, f64)>] {
        &self.shares[..self.lattice.points().len()]
    }

    /// The functions at a point of the skin, with their values.
    pub fn surface_row(&self, point: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.surface.row(point)
    }

    /// Where the points of the skin are, with coefficients as these.
    pub fn surface(&self, coefficients: &[Vec3]) -> Vec<Vec3> {
        self.surface.vectors(coefficients)
    }
}

fn check(settings: &Settings) -> Result<(), Error> {
    let wrong = |what, value, range| Err(Error::Range { what, value, range });
    let Settings { levels, twist, twist_radius, material, .. } = settings;
    if *levels > 4 {
        return wrong("levels", f64::from(*levels), "from 0 to 4");
    }
    if settings.adaptation.as_ref().is_some_and(|adaptation| !adaptation.is_sound()) {
        return wrong("a threshold of adaptation", f64::NAN, "a finite number, 0 or above");
    }
    if !(*twist >= 0.0 && twist.is_finite()) {
        return wrong("twist", *twist, "a finite number, 0 or above");
    }
    if !(*twist_radius >= 0.0 && twist_radius.is_finite()) {
        return wrong("twist_radius", *twist_radius, "a finite number, 0 or above");
    }
    for material in settings.materials.iter().map(|(_, material)| material).chain([material]) {
        if !(material.young > 0.0 && material.young.is_finite()) {
            return wrong("young", material.young, "a finite number above 0");
        }
        if !(material.poisson > -1.0 && material.poisson < 0.5) {
            return wrong("poisson", material.poisson, "above -1 and below 0.5");
        }
        if !(material.density > 0.0 && material.density.is_finite()) {
            return wrong("density", material.density, "a finite number above 0");
        }
        if !(material.damping >= 0.0 && material.damping.is_finite()) {
            return wrong("damping", material.damping, "a finite number, 0 or above");
        }
    }
    Ok(())
}

/// Triangles that agree on which side is out; all of them where that leaves none.
fn oriented(skin: &Skin) -> Vec<[u32; 3]> {
    let oriented = oriented_triangles(&skin.points, &skin.triangles);
    if oriented.is_empty() { skin.triangles.clone() } else { oriented }
}

/// Regions of finer functions: those of the place where they are 1.
fn function_shares(hierarchy: &Hierarchy, lattice_shares: &[Shares]) -> Vec<Shares> {
    let count = lattice_shares.len();
    let of = |point: u32| {
        let mut shares: Shares = Vec::new();
        for (v, value) in hierarchy.values().row(point as usize).filter(|(v, _)| (*v as usize) < count) {
            for &(joint, weight) in &lattice_shares[v as usize] {
                match shares.iter_mut().find(|share| share.0 == joint) {
                    Some(share) => share.1 += value * weight,
                    None => shares.push((joint, value * weight)),
                }
            }
        }
        shares.sort_by_key(|share| share.0);
        shares
    };
    hierarchy.functions().iter().map(|function| of(function.point)).collect()
}

/// Joints that have a region, ascending.
pub(crate) fn region_joints(shares: &[Shares]) -> Vec<u32> {
    let mut joints: Vec<u32> = shares.iter().flatten().map(|share| share.0).collect();
    joints.sort_unstable();
    joints.dedup();
    joints
}

/// The material of a cell: moduli and density are means over the regions of its points, stiffness in powers of ten.
fn cell_material(settings: &Settings, corners: &[u32], shares: &[Shares]) -> Material {
    let of = |joint: u32| {
        let own = settings.materials.iter().rev().find(|(j, _)| *j == joint as usize);
        own.map_or(settings.material, |(_, material)| *material)
    };
    let (mut log_young, mut poisson, mut density, mut damping, mut total) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(joint, weight) in corners.iter().flat_map(|&v| &shares[v as usize]) {
        let material = of(joint);
        log_young += weight * material.young.ln();
        poisson += weight * material.poisson;
        density += weight * material.density;
        damping += weight * material.damping;
        total += weight;
    }
    if total <= 0.0 {
        return settings.material;
    }
    Material {
        young: (log_young / total).exp(),
        poisson: poisson / total,
        density: density / total,
        damping: damping / total,
    }
}

fn drivers(
    bones: &[Bone],
    chains: &[Vec<u32>],
    lattice: &Lattice,
    function_count: usize,
) -> (Vec<Driver>, Vec<bool>) {
    let mut known = vec![false; function_count];
    let mut drivers = Vec::new();
    for (bone, chain) in bones.iter().zip(chains) {
        let [a, b] = bone.ends.map(|end| end.rest);
        for &v in chain {
            if std::mem::replace(&mut known[v as usize], true) {
                continue;
            }
            let along = (lattice.points()[v as usize] - a).dot(b - a) / (b - a).length_squared();
            drivers.push(Driver { coefficient: v, ends: bone.ends, along: along.clamp(0.0, 1.0) });
        }
    }
    (drivers, known)
}

/// The mean distance from a bone to the skin.
fn thickness(bone: &Bone, surface: &SurfaceQuery) -> f64 {
    const SAMPLES: u32 = 8;
    let [a, b] = bone.ends.map(|end| end.rest);
    let at = |k: u32| surface.closest(a.lerp(b, (f64::from(k) + 0.5) / f64::from(SAMPLES))).distance;
    let mean = (0..SAMPLES).map(at).sum::<f64>() / f64::from(SAMPLES);
    mean.max(1e-4 * Bounds::of(surface.points().iter().copied()).diagonal())
}
