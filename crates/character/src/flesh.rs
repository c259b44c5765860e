//! Flesh: a character's lattice, functions, bones, regions and materials, ready for any way of moving it.

use geometry::{
    Bounds, Cell, Embedding, Hierarchy, Lattice, LatticeMaking, Prolongation, SurfaceQuery, Vec3,
    fractions_inside, oriented_triangles, with_segments,
};
use glam::DAffine3;
use solid::{Material, from_surface};

use crate::Error;
use crate::adaptation::Adaptation;
use crate::bones::{Bone, End, Joint, Skin, carriers};
use crate::frames::Frame;
use crate::limits::Limit;
use crate::regions::{Shares, regions, shares_at};
use crate::webs::{Kinship, Unwebbed, without_webs};

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
    /// Flesh that is thicker than this, in metres from the bone to the skin, is firmer by the square of that, so that it swings as often;
    /// where `materials` or paint says what it is made of, that counts. None: as soft as its material, however thick.
    pub firm_beyond: Option<f64>,
    /// Parts that are made of something else by how much of every point of the skin they are, over what joints say; later ones over earlier.
    pub painted_materials: Vec<(Vec<f64>, Material)>,
    /// Joints whose regions are painted, and how much of every point of the skin is theirs: over the skin's own weights.
    pub painted_regions: Vec<(usize, Vec<f64>)>,
    /// Joints whose bones begin elsewhere than where the joint is at rest.
    pub places: Vec<(usize, Vec3)>,
    /// Joints that swing with the flesh instead of moving it: they have no bones, and what is animated of them is left out.
    pub free: Vec<usize>,
    /// How far free joints may turn from how they hang at rest on the joint that carries them: joints and radians, a right angle at most.
    pub limits: Vec<(usize, f64)>,
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
            firm_beyond: None,
            painted_materials: Vec::new(),
            painted_regions: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            limits: Vec::new(),
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
    /// Points of the skin that a lattice which somebody made leaves outside.
    pub outside: usize,
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
    /// Which tets of the finest level carry the points of the skin, and the values of the functions there.
    pub(crate) embedding: Embedding,
    pub(crate) surface: Prolongation,
    /// How far the skin is from each bone.
    pub(crate) thickness: Vec<f64>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) settings: Settings,
    report: Report,
}

/// A right angle, with room for degrees that were turned into radians.
const RIGHT_ANGLE: f64 = std::f64::consts::FRAC_PI_2 + 1e-9;
/// A point of the skin is outside of a lattice from this barycentric weight below zero on.
const OUTSIDE: f64 = 0.05;
/// Pieces with less of the flesh in them count as if they had this part: no point may be without stiffness.
const LEAST_PART: f64 = 1e-3;

impl Flesh {
    /// Makes lattice, bones, functions and regions for a skin and its joints.
    pub fn new(joints: &[Joint], skin: Skin, settings: Settings) -> Result<Self, Error> {
        let skin = skin.checked(joints)?;
        let (bones, segments) = placed_bones(joints, &skin, &settings);
        let made =
            LatticeMaking { cells: settings.cells }.around(&skin.points, &skin.triangles, &segments)?;
        let Unwebbed { lattice, chains, kinship } =
            without_webs(joints, &skin, &bones, made.lattice, made.chains)?;
        Self::of_kinship(joints, skin, lattice, Some(&kinship), bones, chains, settings)
    }

    /// The same in a lattice that somebody made. Bones that are no edges of it are made such where all cells are tets, and held softly
    /// where they are not, or where bones leave it.
    pub fn within(joints: &[Joint], skin: Skin, lattice: Lattice, settings: Settings) -> Result<Self, Error> {
        let skin = skin.checked(joints)?;
        let (mesh, _) = lattice.tets()?;
        let outside = Embedding::new(&mesh, &skin.points)?.outside(OUTSIDE).count();
        if 2 * outside > skin.points.len() {
            return Err(Error::Outside { outside, count: skin.points.len() });
        }
        let (bones, segments) = placed_bones(joints, &skin, &settings);
        let chains = lattice.chains_along(&segments);
        let all_tets = lattice.cells().iter().all(|cell| matches!(cell, Cell::Tet(_)));
        let mut flesh = if all_tets && chains.iter().any(Vec::is_empty) {
            let threaded = with_segments(&mesh, &segments)?;
            let lattice = Lattice::from_tets(&threaded.mesh);
            Self::in_lattice(joints, skin, lattice, bones, threaded.chains, settings)?
        } else {
            Self::in_lattice(joints, skin, lattice, bones, chains, settings)?
        };
        flesh.report.outside = outside;
        Ok(flesh)
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
        Self::of_kinship(joints, skin, lattice, None, bones, chains, settings)
    }

    /// The same where it is known whose skin each cell carries.
    fn of_kinship(
        joints: &[Joint],
        skin: Skin,
        lattice: Lattice,
        kinship: Option<&Kinship>,
        bones: Vec<Bone>,
        chains: Vec<Vec<u32>>,
        settings: Settings,
    ) -> Result<Self, Error> {
        check(&settings)?;
        let skin = skin.checked(joints)?;
        check_paints(&settings, skin.points.len())?;
        let edges: Vec<[u32; 2]> =
            chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| [pair[0], pair[1]]).collect();
        let hierarchy = Hierarchy::new(&lattice, settings.levels, &edges)?;
        let embedding = match kinship {
            Some(kinship) => kinship.embedding(hierarchy.mesh(), hierarchy.cells(), &skin)?,
            None => Embedding::new(hierarchy.mesh(), &skin.points)?,
        };
        let carried = embedding.corners().iter().zip(embedding.weights());
        let carried =
            carried.map(|(&corners, &weights)| corners.into_iter().zip(weights).collect::<Vec<_>>());
        let points = hierarchy.mesh().points().len();
        let surface = hierarchy.values().then(&Prolongation::new(points, carried));
        let carriers = carriers(joints, &settings.free);
        let shares_of = |skin: &Skin| regions(&lattice, &surface, skin, &bones, &chains, joints.len());
        let painted = skin.painted(&settings.painted_regions);
        let lattice_shares = shares_of(&painted.carried(&carriers));
        // what a part is made of goes by its own joint, free or not
        let own_shares = if settings.free.is_empty() { None } else { Some(shares_of(&painted)) };
        let material_shares = own_shares.as_ref().unwrap_or(&lattice_shares);
        let shares = function_shares(&hierarchy, &lattice_shares);

        let skin_surface = SurfaceQuery::new(skin.points.clone(), oriented(&skin))?;
        let fractions = fractions_inside(hierarchy.mesh(), &skin_surface);
        let firmness = firmness(&settings, &skin, &bones, joints.len());
        let paints = lattice_paints(&lattice, &skin, &settings)?;
        let material = |cell: u32| {
            let corners = lattice.cells()[cell as usize].corners();
            let own = cell_material(&settings, &firmness, corners, material_shares);
            painted_material(&settings, own, &paints, corners)
        };
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
            outside: 0,
        };
        let row = |point: usize| surface.row(point).collect();
        let at = |place: Vec3| Ok::<_, Error>(hierarchy.at(&[place])?.row(0).collect());
        let limits = Limit::all(&settings.limits, joints, &skin, &settings.free, row, at)?;
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
            embedding,
            surface,
            thickness,
            limits,
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
    if let Some(&(_, angle)) =
        settings.limits.iter().find(|(_, angle)| !(*angle >= 0.0 && *angle <= RIGHT_ANGLE))
    {
        return wrong("the limit of a free joint, in radians,", angle, "from 0 to a right angle");
    }
    let painted = settings.painted_materials.iter().map(|(_, material)| material);
    for material in settings.materials.iter().map(|(_, material)| material).chain(painted).chain([material]) {
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

/// Paint is for every point of the skin.
fn check_paints(settings: &Settings, points: usize) -> Result<(), Error> {
    let of_regions = settings.painted_regions.iter().map(|(_, paint)| paint);
    for paint in settings.painted_materials.iter().map(|(paint, _)| paint).chain(of_regions) {
        if paint.len() != points {
            let what = "points of the skin that are painted";
            return Err(Error::CountMismatch { what, found: paint.len(), expected: points });
        }
        if let Some(index) = paint.iter().position(|amount| !amount.is_finite()) {
            return Err(Error::NotFinite { what: "the paint of point", index });
        }
    }
    Ok(())
}

/// The bones of a skin, and the segments that they are, with joints where the settings put them.
fn placed_bones(joints: &[Joint], skin: &Skin, settings: &Settings) -> (Vec<Bone>, Vec<[Vec3; 2]>) {
    let mut placed = joints.to_vec();
    for &(joint, place) in &settings.places {
        placed[joint].rest_from_joint.translation = place;
    }
    let bones = skin.bones(&placed, &settings.free);
    let segments = bones.iter().map(|bone| bone.ends.map(|end| end.rest)).collect();
    (bones, segments)
}

/// How much of every lattice point is painted with each of the materials.
fn lattice_paints(lattice: &Lattice, skin: &Skin, settings: &Settings) -> Result<Vec<Vec<f64>>, Error> {
    if settings.painted_materials.is_empty() {
        return Ok(Vec::new());
    }
    let (mesh, _) = lattice.tets()?;
    let embedding = Embedding::new(&mesh, &skin.points)?;
    let of = |(paint, _): &(Vec<f64>, Material)| Ok(from_surface(&mesh, &embedding, paint)?);
    settings.painted_materials.iter().map(of).collect()
}

/// The material of a cell with what is painted over it.
fn painted_material(settings: &Settings, base: Material, paints: &[Vec<f64>], corners: &[u32]) -> Material {
    settings.painted_materials.iter().zip(paints).fold(base, |material, ((_, other), paint)| {
        let amount = corners.iter().map(|&v| paint[v as usize]).sum::<f64>() / corners.len() as f64;
        material.mixed(other, amount.clamp(0.0, 1.0))
    })
}

/// Triangles that agree on which side is out; all of them where that leaves none.
fn oriented(skin: &Skin) -> Vec<[u32; 3]> {
    let oriented = oriented_triangles(&skin.points, &skin.triangles);
    if oriented.is_empty() { skin.triangles.clone() } else { oriented }
}

/// Regions of finer functions: those of the place where they are 1.
fn function_shares(hierarchy: &Hierarchy, lattice_shares: &[Shares]) -> Vec<Shares> {
    let of = |function: &geometry::Function| shares_at(hierarchy, lattice_shares, function.point);
    hierarchy.functions().iter().map(of).collect()
}

/// Joints that have a region, ascending.
pub(crate) fn region_joints(shares: &[Shares]) -> Vec<u32> {
    let mut joints: Vec<u32> = shares.iter().flatten().map(|share| share.0).collect();
    joints.sort_unstable();
    joints.dedup();
    joints
}

/// How many times as firm as its material the flesh of each joint is. Flesh around a bone swings at about √(E/ρ)/r, r its thickness.
fn firmness(settings: &Settings, skin: &Skin, bones: &[Bone], joints: usize) -> Vec<f64> {
    let Some(thin) = settings.firm_beyond else { return vec![1.0; joints] };
    let [mut squares, mut weights] = [vec![0.0; joints], vec![0.0; joints]];
    for (point, row) in skin.points.iter().zip(&skin.influences) {
        for &(joint, weight) in row {
            let own = bones.iter().filter(|bone| bone.joint == joint as usize);
            let nearest = own.map(|bone| bone.distance_squared(*point)).fold(f64::INFINITY, f64::min);
            if nearest.is_finite() {
                squares[joint as usize] += weight * nearest;
                weights[joint as usize] += weight;
            }
        }
    }
    let of = |(square, weight): (f64, f64)| if weight > 0.0 { square / weight / (thin * thin) } else { 1.0 };
    squares.into_iter().zip(weights).map(|pair| of(pair).max(1.0)).collect()
}

/// The material of a cell: moduli and density are means over the regions of its points, stiffness in powers of ten.
fn cell_material(settings: &Settings, firmness: &[f64], corners: &[u32], shares: &[Shares]) -> Material {
    let of = |joint: u32| {
        let own = settings.materials.iter().rev().find(|(j, _)| *j == joint as usize);
        let firm =
            || Material { young: settings.material.young * firmness[joint as usize], ..settings.material };
        own.map_or_else(firm, |(_, material)| *material)
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
