//! Dynamic morph targets: at this pose the shape is that, and so hard, heavy and damped (morph §3.1).
//!
//! A sculpt becomes a rest shape of the tets: skin where the sculptor put it, bones where they are, all else relaxed (§5). What the
//! tets are too coarse for is detail.

use dynamics::Element;
use geometry::Vec3;
use glam::Mat4;
use linear::Matrix;
use solid::{Fit, Law, Material, Tet};

use crate::Error;

use super::volume::Volume;

/// A target as an artist gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What it is called.
    pub name: String,
    /// Where the points of the skin are, in the bind pose, in metres.
    pub sculpt: Vec<Vec3>,
    /// The pose it belongs to: where joints are then.
    pub world_from_joints: Vec<Mat4>,
    /// Further numbers of that pose.
    pub channels: Vec<f64>,
    /// What it is made of.
    pub material: Material,
    /// What parts are made of instead: a weight for each point of the skin, and a material.
    pub regions: Vec<(Vec<f64>, Material)>,
    /// How it yields.
    pub plasticity: Plasticity,
}

/// How a target gives way for good: beyond a strain, its rest shape creeps after the deformed one.
///
/// ṗ = c (1 − ε_y/ε)₊ e, e the displacement from the rest shape, p what of it stays, ε = √(2E/Σ V Y) the strain that stores the same
/// energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plasticity {
    /// ε_y: strains below it leave no trace.
    pub yield_strain: f64,
    /// c, in 1/s; 0 is elastic.
    pub creep: f64,
}

impl Default for Plasticity {
    fn default() -> Self {
        Self { yield_strain: 0.1, creep: 0.0 }
    }
}

impl Target {
    /// Whether it fits a skin of so many points.
    fn check(&self, points: usize) -> Result<(), Error> {
        let Target { name, sculpt, material, regions, plasticity, .. } = self;
        let wrong = |problem: String| Error::Target { name: name.clone(), problem };
        if sculpt.len() != points {
            return Err(wrong(format!("it has {} points, but the skin has {}", sculpt.len(), points)));
        }
        if let Some(point) = sculpt.iter().position(|p| !p.is_finite()) {
            return Err(wrong(format!("point {point} is not at a finite place")));
        }
        let sound = |x: f64| x >= 0.0 && x.is_finite();
        if !sound(plasticity.creep) || !sound(plasticity.yield_strain) {
            return Err(wrong("yield and creep must be finite numbers, 0 or above".into()));
        }
        for material in regions.iter().map(|region| &region.1).chain([material]) {
            material.validate().map_err(|error| wrong(error.to_string()))?;
        }
        if let Some((weights, _)) = regions.iter().find(|(weights, _)| weights.len() != points) {
            return Err(wrong(format!(
                "a region has {} weights, but the skin has {} points",
                weights.len(),
                points
            )));
        }
        Ok(())
    }
}

/// A target as the engine needs it.
pub(crate) struct Elastic {
    pub(crate) name: String,
    /// All numbers of its pose.
    pub(crate) raw: Vec<f64>,
    /// The points of the tets at rest.
    pub(crate) rest: Vec<Vec3>,
    pub(crate) tets: Vec<Tet>,
    pub(crate) materials: Vec<Material>,
    pub(crate) masses: Vec<f64>,
    /// K at rest, and D = Σ βK of every tet.
    pub(crate) stiffness: Matrix,
    pub(crate) damping: Matrix,
    /// Where the sculpt is, seen from the embedded rest shape.
    pub(crate) detail: Vec<Vec3>,
    pub(crate) plasticity: Plasticity,
    /// Σ V Y, in joules: what makes a strain of an energy.
    pub(crate) measure: f64,
}

/// A tet of a target has at least this part of its volume at rest.
const LEAST_VOLUME: f64 = 0.05;
/// How much of a sculpt tets must be able to follow; the rest is detail.
const LEAST_FOLLOWED: f64 = 0.65;
/// How near tets come to a sculpt, as a part of how far it goes, RMS: one that moves a small part of the skin is met as well as another.
/// Later ones are for tets that nearer fits turn inside out.
const FIT_TOLERANCES: [f64; 3] = [3e-3, 3e-2, 0.3];
/// What points of a squeezed tet give up of their way at a time; those beside them give up half of it.
const EASED: f64 = 0.02;

impl Elastic {
    pub(crate) fn new(
        volume: &Volume,
        skin: &[Vec3],
        size: f64,
        target: &Target,
        raw: Vec<f64>,
    ) -> Result<Self, Error> {
        target.check(skin.len())?;
        let Target { name, sculpt, plasticity, .. } = target;
        let rest = rest_shape(volume, skin, size, target)?;
        let materials = materials(volume, target)?;
        let mut masses = vec![0.0; rest.len()];
        let (mut tets, mut measure) = (Vec::with_capacity(materials.len()), 0.0);
        for (corners, material) in volume.mesh.tets().iter().zip(&materials) {
            let x = corners.map(|v| rest[v as usize]);
            let tet = Tet::from_young_poisson(&x, Law::Stvk, material.young, material.poisson)
                .ok_or_else(|| Error::InsideOut { name: name.clone(), tets: 1 })?;
            measure += tet.volume() * material.young;
            tets.push(tet);
        }
        // density is of the tets as they were filled: a sculpt moves flesh, it makes none
        for (tet, (corners, material)) in volume.mesh.tets().iter().zip(&materials).enumerate() {
            let quarter = 0.25 * material.density * geometry::tet_volume(volume.mesh.corners(tet));
            corners.iter().for_each(|&v| masses[v as usize] += quarter);
        }
        let placed = volume.embedding.apply(&rest);
        // skin that its own tets do not contain to the bit is where it is
        let base = volume.embedding.apply(volume.mesh.points());
        let detail = (0..skin.len()).map(|p| (sculpt[p] - skin[p]) - (placed[p] - base[p])).collect();
        let name = name.clone();
        let plasticity = *plasticity;
        let [stiffness, damping] = [(); 2].map(|()| Matrix::new(volume.pattern.clone()));
        let mut this = Self {
            name,
            raw,
            rest,
            tets,
            materials,
            masses,
            stiffness,
            damping,
            detail,
            plasticity,
            measure,
        };
        [this.stiffness, this.damping] = this.matrices(volume, |_| 1.0);
        Ok(this)
    }

    /// K at rest and D, of every tet the part that `share` says.
    pub(crate) fn matrices(&self, volume: &Volume, share: impl Fn(usize) -> f64) -> [Matrix; 2] {
        let mut stiffness = Matrix::new(volume.pattern.clone());
        let mut damping = Matrix::new(volume.pattern.clone());
        for (e, (corners, tet)) in volume.mesh.tets().iter().zip(&self.tets).enumerate() {
            let part = share(e);
            if part == 0.0 {
                continue;
            }
            let block = tet.hessian(&corners.map(|v| self.rest[v as usize]));
            let beta = part * self.materials[e].friction();
            for i in 0..4 {
                for j in 0..=i {
                    stiffness.add(corners[i], corners[j], block.0[i][j] * part);
                    damping.add(corners[i], corners[j], block.0[i][j] * beta);
                }
            }
        }
        [stiffness, damping]
    }

    /// u of the rest shape.
    pub(crate) fn displacement(&self, volume: &Volume) -> Vec<Vec3> {
        self.rest.iter().zip(volume.mesh.points()).map(|(y, x)| *y - *x).collect()
    }
}

/// Tets with the sculpt held, bones held, all else relaxed, and no tet turned inside out.
fn rest_shape(volume: &Volume, skin: &[Vec3], size: f64, target: &Target) -> Result<Vec<Vec3>, Error> {
    let base = volume.mesh.points();
    let farthest = target.sculpt.iter().zip(skin).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    if farthest <= 1e-9 * size {
        return Ok(base.to_vec());
    }
    let (areas, embedding) = (&volume.areas, &volume.embedding);
    let embedded = embedding.apply(base);
    let goal: Vec<Vec3> = (0..skin.len()).map(|p| embedded[p] + target.sculpt[p] - skin[p]).collect();
    let squares: f64 = (0..skin.len()).map(|p| areas[p] * embedded[p].distance_squared(goal[p])).sum();
    let moved = (squares / areas.iter().sum::<f64>()).sqrt();
    let mut found = Ok(base.to_vec());
    for tolerance in FIT_TOLERANCES {
        // a sculpt of points that weigh nothing is none to the fit
        let tolerance = (tolerance * moved).max(1e-9 * size);
        let known = volume.known.clone();
        let (mut fit, mut gamma) = Fit::with_known(&volume.mesh, embedding, areas, known, tolerance, None)?;
        let mut fitted = base.to_vec();
        fit.solve(&goal, &mut gamma, &mut fitted, embedding)?;
        found = eased(volume, &fitted, &target.name);
        if found.is_ok() {
            break;
        }
    }
    found
}

/// Where tets are squeezed, their points go less far, until none is: the sculpt is lost there to detail, and nowhere else.
fn eased(volume: &Volume, fitted: &[Vec3], name: &str) -> Result<Vec<Vec3>, Error> {
    let (mesh, base) = (&volume.mesh, volume.mesh.points());
    let volumes = mesh.volumes();
    let whole: f64 = base.iter().zip(fitted).map(|(x, y)| x.distance_squared(*y)).sum();
    let mut parts = vec![1.0; base.len()];
    loop {
        let shape: Vec<Vec3> =
            base.iter().zip(fitted).zip(&parts).map(|((x, y), part)| x.lerp(*y, *part)).collect();
        let is_squeezed = |tet: &usize| {
            let corners = mesh.tets()[*tet].map(|v| shape[v as usize]);
            geometry::tet_volume(corners) < LEAST_VOLUME * volumes[*tet]
        };
        let squeezed: Vec<usize> = (0..volumes.len()).filter(is_squeezed).collect();
        let followed: f64 = base.iter().zip(&shape).map(|(x, y)| x.distance_squared(*y)).sum();
        if followed < LEAST_FOLLOWED * LEAST_FOLLOWED * whole {
            return Err(Error::InsideOut { name: name.into(), tets: squeezed.len() });
        }
        if squeezed.is_empty() {
            return Ok(shape);
        }
        let mut own = vec![false; base.len()];
        squeezed.iter().flat_map(|&tet| mesh.tets()[tet]).for_each(|v| own[v as usize] = true);
        let mut beside = vec![false; base.len()];
        let touching = mesh.tets().iter().filter(|corners| corners.iter().any(|&v| own[v as usize]));
        touching.flatten().for_each(|&v| beside[v as usize] = true);
        for (v, part) in parts.iter_mut().enumerate().filter(|(v, _)| beside[*v]) {
            *part = f64::max(*part - if own[v] { EASED } else { 0.5 * EASED }, 0.0);
        }
    }
}

/// What every tet is made of: regions carried inside, later ones over earlier ones.
fn materials(volume: &Volume, target: &Target) -> Result<Vec<Material>, Error> {
    let mut materials = vec![target.material; volume.mesh.tets().len()];
    let columns: Vec<Vec<f64>> = target.regions.iter().map(|region| region.0.clone()).collect();
    let inside = volume.carried_inside(&columns)?;
    for (weights, (_, own)) in inside.iter().zip(&target.regions) {
        for (corners, material) in volume.mesh.tets().iter().zip(&mut materials) {
            let mean = corners.iter().map(|&v| weights[v as usize]).sum::<f64>() / 4.0;
            *material = material.mixed(own, mean.clamp(0.0, 1.0));
        }
    }
    Ok(materials)
}
