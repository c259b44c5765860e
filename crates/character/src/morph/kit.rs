//! A kit: a morph reduced to a few coordinates, as a player needs it.

use faer::Mat;
use geometry::Vec3;
use glam::DAffine3;
use linear::symmetric_eigen;

use crate::Error;

use super::basis::{basis, largest_ratio, principal, weighted};
use super::inertia::ReducedMass;
use super::interpolation::Interpolation;
use super::locality::{Locality, Shares, mean_shares, share_of};
use super::polynomial::{Degrees, dots};
use super::surface::Surface;
use super::target::Plasticity;
use super::{Elastic, FullMorph, Limit, Morph, MorphLaw, PoseSpace};

/// A morph as a player needs it.
#[derive(Clone, Debug)]
pub struct MorphKit {
    pub(crate) joint_from_rest: Vec<DAffine3>,
    pub(crate) space: PoseSpace,
    pub(crate) interpolation: Interpolation,
    pub(crate) degrees: Degrees,
    /// For every part, which is a region of a target, the coefficients of its energy, then UᵀDU.
    pub(crate) coefficients: Vec<Vec<f64>>,
    /// For every part UᵀKU at its rest: what steps fall back on.
    pub(crate) stiffness: Vec<Vec<f64>>,
    /// Distinct masses, and the parts whose weights they have.
    pub(crate) masses: Vec<(ReducedMass, Vec<usize>)>,
    /// Coordinates of every part's rest shape.
    pub(crate) rests: Vec<Vec<f64>>,
    /// How much of the flesh is of each region.
    pub(crate) fractions: Vec<f64>,
    pub(crate) plasticity: Vec<(Plasticity, f64)>,
    pub(crate) surface: Surface,
    /// The parts whose detail the surface's last columns are.
    pub(crate) detailed: Vec<usize>,
    pub(crate) step: f64,
    pub(crate) gravity: Vec3,
    pub(super) report: MorphReport,
    pub(super) names: MorphNames,
}

/// What a game calls the numbers of a pose and of a skin; empty where nobody said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphNames {
    /// The mesh that is the skin.
    pub mesh: String,
    /// The joints, in the order of a pose.
    pub joints: Vec<String>,
    /// The further numbers of a pose.
    pub channels: Vec<String>,
}

/// What a reduced model turned out to be, for reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphReport {
    /// Tets.
    pub tets: usize,
    /// Numbers that move in the full model.
    pub unknowns: usize,
    /// Numbers that move in this one.
    pub modes: usize,
    /// Components of pose space.
    pub pose_components: usize,
    /// Regions whose flesh heeds joints of its own.
    pub regions: usize,
    /// For every target, how far the basis alone is from its sculpt: RMS distance over RMS displacement; 0 where it is the rest shape.
    pub sculpt_errors: Vec<(String, f64)>,
    /// The first frequency of every target, in Hz, as the reduced model has it.
    pub frequencies: Vec<f64>,
    /// Mass in kilograms, of the first target.
    pub mass: f64,
}

/// Detail smaller than this part of the size is round-off.
const DETAIL: f64 = 1e-8;

impl Morph {
    /// Reduces to at most `modes` coordinates, for steps of `step` seconds.
    pub fn kit(&mut self, modes: usize, step: f64) -> Result<MorphKit, Error> {
        if !(step > 0.0 && step <= 1.0) {
            let range = "above 0, and at most 1";
            return Err(Error::Range { what: "the step in seconds", value: step, range });
        }
        if modes == 0 {
            return Err(Error::Range { what: "the number of modes", value: 0.0, range: "1 at least" });
        }
        if self.settings.law == MorphLaw::Warped {
            let problem =
                "warped forces are no polynomials and cannot be reduced; take them in full, or linear ones";
            return Err(Error::Target {
                name: self.targets.first().map(|t| t.name.clone()).unwrap_or_default(),
                problem: problem.into(),
            });
        }
        if self.settings.law == MorphLaw::Stvk && modes > MorphKit::MOST_STVK_MODES {
            let range = "1 to 80 with StVK forces, whose terms grow as its fourth power";
            return Err(Error::Range { what: "the number of modes", value: modes as f64, range });
        }
        let modes = modes.min(MorphKit::MOST_MODES);
        let (locality, interpolation) = self.interpolation()?;
        self.prepare_modes(modes)?;
        let basis = self.basis(modes)?;
        self.kit_of(interpolation, &locality, &basis, step)
    }

    /// The same with plain modes of the first target, sculpts unknown to them: what the basis is compared with.
    pub fn plain_kit(&mut self, modes: usize, step: f64) -> Result<MorphKit, Error> {
        let (locality, interpolation) = self.interpolation()?;
        self.prepare_modes(modes)?;
        let first = self.modes.iter().take(1).flatten();
        let modes: Vec<_> = first.flat_map(|first| first.vectors.iter().take(modes).cloned()).collect();
        let basis = principal(&self.mean_masses(), &modes, modes.len(), 0.0)?;
        self.kit_of(interpolation, &locality, &basis, step)
    }

    fn basis(&self, count: usize) -> Result<Vec<Vec<Vec3>>, Error> {
        let sculpts: Vec<Vec<Vec3>> =
            self.targets.iter().map(|target| target.displacement(&self.volume)).collect();
        let modes: Vec<_> = self.modes.iter().flatten().collect();
        let mut full = FullMorph::new(self, 1.0)?;
        let mut between = Vec::new();
        for i in 0..self.targets.len() {
            for j in (0..self.targets.len()).filter(|&j| j != i) {
                between.push(full.rest_between([i, j], [0.75, 0.25])?);
            }
        }
        basis(&self.mean_masses(), &sculpts, between, &modes, count)
    }

    fn mean_masses(&self) -> Vec<f64> {
        let share = 1.0 / self.targets.len() as f64;
        let of = |v: usize| share * self.targets.iter().map(|target| target.masses[v]).sum::<f64>();
        (0..self.volume.known.len()).map(of).collect()
    }

    fn kit_of(
        &self,
        interpolation: Interpolation,
        locality: &Locality,
        basis: &[Vec<Vec3>],
        step: f64,
    ) -> Result<MorphKit, Error> {
        let r = basis.len();
        let degrees = Degrees::new(r, self.settings.law == MorphLaw::Stvk);
        let places = Places::new(self, locality);
        let stiffness: Vec<Vec<f64>> =
            self.targets.iter().map(|target| projected(&target.stiffness, basis)).collect();
        let mut parts = Parts::default();
        for region in 0..locality.len() {
            for target in &self.targets {
                parts.add(self, &places, (region, target), &degrees, basis);
            }
        }
        let masses = self.reduced_masses(&places, locality.len(), basis);
        let shown = self.shown(&places, locality.len(), basis, &parts.rests);
        let frequency = |(target, own): (&Elastic, &Vec<f64>)| {
            let mass = ReducedMass::new(&target.masses, &[], &[], basis);
            first_frequency(own, &mass.matrix, r)
        };
        let frequencies = self.targets.iter().zip(&stiffness).map(frequency).collect::<Result<_, Error>>()?;
        let report = MorphReport {
            tets: self.volume.mesh.tets().len(),
            unknowns: 3 * self.volume.known.iter().filter(|known| !**known).count(),
            modes: r,
            pose_components: interpolation.components(),
            regions: locality.len(),
            sculpt_errors: shown.errors,
            frequencies,
            mass: self.targets[0].masses.iter().sum(),
        };
        Ok(MorphKit {
            joint_from_rest: self.joint_from_rest.clone(),
            interpolation: interpolation.with_limit(limit(&self.targets, &stiffness, r)?),
            space: self.space.clone(),
            degrees,
            coefficients: parts.coefficients,
            stiffness: parts.stiffness,
            masses,
            rests: parts.rests,
            fractions: places.fractions(self, locality.len()),
            plasticity: self.targets.iter().map(|t| (t.plasticity, t.measure)).collect(),
            surface: shown.surface,
            detailed: shown.detailed,
            step,
            gravity: self.settings.gravity,
            report,
            names: MorphNames::default(),
        })
    }

    /// Masses and which parts' weights they have. Where all targets weigh the same, flesh is heavy whatever the pose.
    fn reduced_masses(
        &self,
        places: &Places,
        regions: usize,
        basis: &[Vec<Vec3>],
    ) -> Vec<(ReducedMass, Vec<usize>)> {
        let volume = &self.volume;
        let mut seen: Vec<(&Elastic, Vec<usize>)> = Vec::new();
        for (k, target) in self.targets.iter().enumerate() {
            match seen.iter_mut().find(|(other, _)| other.masses == target.masses) {
                Some((_, who)) => who.push(k),
                None => seen.push((target, vec![k])),
            }
        }
        // weights of one region sum to one
        let regions = if seen.len() == 1 { 1 } else { regions };
        let mut all = Vec::new();
        for region in 0..regions {
            for (target, who) in &seen {
                let share = |v: usize| if regions == 1 { 1.0 } else { share_of(&places.points[v], region) };
                let masses: Vec<f64> = target.masses.iter().enumerate().map(|(v, m)| m * share(v)).collect();
                let mass = ReducedMass::new(&masses, &volume.joints, volume.mesh.points(), basis);
                all.push((mass, who.iter().map(|k| region * self.targets.len() + k).collect()));
            }
        }
        all
    }

    /// The skin over coordinates, and over what they lack of each part's sculpt.
    fn shown(&self, places: &Places, regions: usize, basis: &[Vec<Vec3>], rests: &[Vec<f64>]) -> Shown {
        let volume = &self.volume;
        let on_skin: Vec<Vec<Vec3>> = basis.iter().map(|mode| volume.embedding.apply(mode)).collect();
        let count = self.targets.len();
        let (mut lacking, mut errors) = (vec![Vec::new(); regions * count], Vec::new());
        for (k, target) in self.targets.iter().enumerate() {
            let rest = volume.embedding.apply(&target.displacement(volume));
            let (mut lacks, mut whole) = (0.0, 0.0);
            for p in 0..rest.len() {
                let sculpt = rest[p] + target.detail[p];
                let mut missing = Vec3::ZERO;
                for region in 0..regions {
                    let part = region * count + k;
                    let by_basis: Vec3 = on_skin.iter().zip(&rests[part]).map(|(mode, q)| *q * mode[p]).sum();
                    let own = share_of(&places.skin[p], region) * sculpt - by_basis;
                    lacking[part].push(own);
                    missing += own;
                }
                lacks += volume.areas[p] * missing.length_squared();
                whole += volume.areas[p] * sculpt.length_squared();
            }
            errors.push((target.name.clone(), if whole > 0.0 { (lacks / whole).sqrt() } else { 0.0 }));
        }
        let visible = |d: &[Vec3]| d.iter().any(|d| d.length() > DETAIL * self.size);
        let detailed: Vec<usize> = (0..lacking.len()).filter(|&k| visible(&lacking[k])).collect();
        let detail = detailed.iter().map(|&k| lacking[k].as_slice());
        let columns: Vec<&[Vec3]> = on_skin.iter().map(Vec::as_slice).chain(detail).collect();
        let surface = Surface::new(&self.skin.points, &self.skin.influences, &columns);
        Shown { surface, detailed, errors }
    }

    /// Interpolation for the full model, and where its regions are.
    pub(super) fn full_interpolation(&self) -> Result<(Interpolation, Places), Error> {
        let (locality, interpolation) = self.interpolation()?;
        let limit = limit(&self.targets, &vec![Vec::new(); self.targets.len()], 0)?;
        Ok((interpolation.with_limit(limit), Places::new(self, &locality)))
    }
}

/// Where regions are: their shares at points of the tets, in tets, and at points of the skin.
pub(super) struct Places {
    pub(super) points: Vec<Shares>,
    pub(super) tets: Vec<Shares>,
    pub(super) skin: Vec<Shares>,
}

impl Places {
    fn new(morph: &Morph, locality: &Locality) -> Self {
        let points: Vec<Shares> = morph.volume.joints.iter().map(|row| locality.shares(row)).collect();
        let tet = |corners: &[u32; 4]| mean_shares(corners.map(|v| &points[v as usize]));
        let tets = morph.volume.mesh.tets().iter().map(tet).collect();
        let skin = morph.skin.influences.iter().map(|row| locality.shares(row)).collect();
        Self { points, tets, skin }
    }

    /// How much of the flesh, by its mass, is of each region.
    pub(super) fn fractions(&self, morph: &Morph, regions: usize) -> Vec<f64> {
        let masses = morph.mean_masses();
        let of = |region| masses.iter().zip(&self.points).map(|(m, s)| m * share_of(s, region)).sum::<f64>();
        let all: Vec<f64> = (0..regions).map(of).collect();
        let sum: f64 = all.iter().sum();
        all.iter().map(|part| part / sum).collect()
    }
}

/// What every region of every target contributes.
#[derive(Default)]
struct Parts {
    coefficients: Vec<Vec<f64>>,
    stiffness: Vec<Vec<f64>>,
    rests: Vec<Vec<f64>>,
}

impl Parts {
    fn add(
        &mut self,
        morph: &Morph,
        places: &Places,
        (region, target): (usize, &Elastic),
        degrees: &Degrees,
        basis: &[Vec<Vec3>],
    ) {
        let volume = &morph.volume;
        let rest = target.displacement(volume);
        let in_tet = |e: usize| share_of(&places.tets[e], region);
        let [stiffness, damping] = target.matrices(volume, in_tet);
        let mut all = if degrees.is_nonlinear() {
            let made_of = (&target.tets[..], &target.materials[..]);
            degrees.stvk(volume.mesh.points(), volume.mesh.tets(), made_of, basis, in_tet)
        } else {
            degrees.linear(&stiffness, basis, &rest)
        };
        all.extend(projected(&damping, basis));
        self.coefficients.push(all);
        self.stiffness.push(projected(&stiffness, basis));
        let mean = morph.mean_masses();
        let own: Vec<Vec3> =
            rest.iter().zip(&places.points).map(|(u, shares)| share_of(shares, region) * *u).collect();
        self.rests.push(basis.iter().map(|mode| weighted(&mean, mode, &own)).collect());
    }
}

/// A skin over coefficients.
struct Shown {
    surface: Surface,
    /// The parts whose detail the last columns are.
    detailed: Vec<usize>,
    /// Of every target what the basis lacks.
    errors: Vec<(String, f64)>,
}

impl MorphKit {
    /// How many joints a pose has.
    pub fn joint_count(&self) -> usize {
        self.joint_from_rest.len()
    }

    /// How many points the skin has.
    pub fn point_count(&self) -> usize {
        self.surface.len()
    }

    /// How many coordinates move.
    pub fn mode_count(&self) -> usize {
        self.degrees.unknowns
    }

    /// How many targets.
    pub fn target_count(&self) -> usize {
        self.plasticity.len()
    }

    /// The length of a step, in seconds.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The same with names.
    #[must_use]
    pub fn named(self, names: MorphNames) -> Self {
        Self { names, ..self }
    }

    /// Names of the mesh, the joints and the further numbers of a pose.
    pub fn names(&self) -> &MorphNames {
        &self.names
    }

    /// What it turned out to be.
    pub fn report(&self) -> &MorphReport {
        &self.report
    }
}

/// UᵀKU, row after row.
fn projected(matrix: &linear::Matrix, basis: &[Vec<Vec3>]) -> Vec<f64> {
    let r = basis.len();
    let mut all = vec![0.0; r * r];
    for (b, mode) in basis.iter().enumerate() {
        let mut image = vec![Vec3::ZERO; mode.len()];
        matrix.multiply(mode, &mut image);
        for (a, other) in basis.iter().enumerate() {
            all[a * r + b] = dots(other, &image);
        }
    }
    all
}

/// Ratios of stiffness and density over tets, and of stiffness in the reduced space.
fn limit(targets: &[Elastic], stiffness: &[Vec<f64>], r: usize) -> Result<Limit, Error> {
    let count = targets.len();
    let mut ratios = vec![1.0_f64; count * count];
    for i in 0..count {
        let inverse_root = inverse_root(&stiffness[i], r)?;
        for j in (0..count).filter(|&j| j != i) {
            let mut ratio = largest_ratio(&targets[j], &targets[i]);
            if r > 0 {
                let k = Mat::from_fn(r, r, |a, b| 0.5 * (stiffness[j][a * r + b] + stiffness[j][b * r + a]));
                let seen = &inverse_root * &k * &inverse_root;
                ratio = ratio.max(symmetric_eigen(seen.as_ref())?.0.last().copied().unwrap_or(1.0));
            }
            ratios[j * count + i] = ratio;
        }
    }
    Limit::new(count, ratios)
}

/// K^-½ of a symmetric matrix.
fn inverse_root(matrix: &[f64], r: usize) -> Result<Mat<f64>, Error> {
    if r == 0 {
        return Ok(Mat::zeros(0, 0));
    }
    let k = Mat::from_fn(r, r, |a, b| 0.5 * (matrix[a * r + b] + matrix[b * r + a]));
    let (values, vectors) = symmetric_eigen(k.as_ref())?;
    let floor = 1e-12 * values.last().copied().unwrap_or(1.0);
    let scaled = Mat::from_fn(r, r, |a, k| vectors[(a, k)] / values[k].max(floor).sqrt());
    Ok(&scaled * vectors.transpose())
}

/// √λ₁/2π of K φ = λ M φ.
fn first_frequency(stiffness: &[f64], mass: &[f64], r: usize) -> Result<f64, Error> {
    let root = inverse_root(mass, r)?;
    let k = Mat::from_fn(r, r, |a, b| 0.5 * (stiffness[a * r + b] + stiffness[b * r + a]));
    let seen = &root * &k * &root;
    let values = symmetric_eigen(seen.as_ref())?.0;
    Ok(values.first().copied().unwrap_or(0.0).max(0.0).sqrt() / std::f64::consts::TAU)
}
