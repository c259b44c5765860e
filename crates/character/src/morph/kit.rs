//! A kit: a morph reduced to a few coordinates, as a player needs it.

use faer::Mat;
use geometry::Vec3;
use glam::DAffine3;
use linear::symmetric_eigen;

use crate::Error;

use super::basis::{basis, largest_ratio, principal, weighted};
use super::inertia::ReducedMass;
use super::polynomial::{Degrees, dots};
use super::surface::Surface;
use super::target::Plasticity;
use super::{Elastic, FullMorph, Limit, Morph, MorphLaw, PoseSpace, PoseWeights};

/// A morph as a player needs it.
#[derive(Clone, Debug)]
pub struct MorphKit {
    pub(crate) joint_from_rest: Vec<DAffine3>,
    pub(crate) space: PoseSpace,
    pub(crate) weights: PoseWeights,
    pub(crate) limit: Limit,
    pub(crate) degrees: Degrees,
    /// For every target the coefficients of its energy, then UᵀDU.
    pub(crate) coefficients: Vec<Vec<f64>>,
    /// For every target UᵀKU at its rest: what steps fall back on.
    pub(crate) stiffness: Vec<Vec<f64>>,
    /// Distinct masses, and which of them each target has.
    pub(crate) masses: Vec<ReducedMass>,
    pub(crate) mass_of: Vec<usize>,
    /// Coordinates of every target's rest shape.
    pub(crate) rests: Vec<Vec<f64>>,
    pub(crate) plasticity: Vec<(Plasticity, f64)>,
    pub(crate) surface: Surface,
    /// The targets whose detail the surface's last columns are.
    pub(crate) detailed: Vec<usize>,
    pub(crate) step: f64,
    pub(crate) gravity: Vec3,
    report: MorphReport,
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
        let (space, weights) = self.interpolation()?;
        self.prepare_modes(modes)?;
        let basis = self.basis(modes)?;
        self.kit_of(space, weights, basis, step)
    }

    /// The same with plain modes of the first target, sculpts unknown to them: what the basis is compared with.
    pub fn plain_kit(&mut self, modes: usize, step: f64) -> Result<MorphKit, Error> {
        let (space, weights) = self.interpolation()?;
        self.prepare_modes(modes)?;
        let first = self.modes.iter().take(1).flatten();
        let modes: Vec<_> = first.flat_map(|first| first.vectors.iter().take(modes).cloned()).collect();
        let basis = principal(&self.mean_masses(), &modes, modes.len(), 0.0)?;
        self.kit_of(space, weights, basis, step)
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
        space: PoseSpace,
        weights: PoseWeights,
        basis: Vec<Vec<Vec3>>,
        step: f64,
    ) -> Result<MorphKit, Error> {
        let volume = &self.volume;
        let points = volume.mesh.points();
        let r = basis.len();
        let nonlinear = self.settings.law == MorphLaw::Stvk;
        let degrees = Degrees::new(r, nonlinear);
        let mean = self.mean_masses();
        let (mut coefficients, mut stiffness, mut rests) = (Vec::new(), Vec::new(), Vec::new());
        for target in &self.targets {
            let rest = target.displacement(volume);
            let mut all = match nonlinear {
                true => degrees.stvk(points, volume.mesh.tets(), &target.tets, &target.materials, &basis),
                false => degrees.linear(&target.stiffness, &basis, &rest),
            };
            all.extend(projected(&target.damping, &basis));
            coefficients.push(all);
            stiffness.push(projected(&target.stiffness, &basis));
            rests.push(basis.iter().map(|mode| weighted(&mean, mode, &rest)).collect::<Vec<f64>>());
        }
        let (mut masses, mut mass_of, mut seen) = (Vec::new(), Vec::new(), Vec::<&Elastic>::new());
        for target in &self.targets {
            let known = seen.iter().position(|other| other.masses == target.masses);
            mass_of.push(known.unwrap_or(seen.len()));
            if known.is_none() {
                seen.push(target);
                masses.push(ReducedMass::new(&target.masses, &volume.joints, points, &basis));
            }
        }
        let on_skin: Vec<Vec<Vec3>> = basis.iter().map(|mode| volume.embedding.apply(mode)).collect();
        let mut detail = Vec::new();
        let mut sculpt_errors = Vec::new();
        for (target, q) in self.targets.iter().zip(&rests) {
            let rest = volume.embedding.apply(&target.displacement(volume));
            let mut missing = target.detail.clone();
            let (mut lacks, mut whole) = (0.0, 0.0);
            for (p, missing) in missing.iter_mut().enumerate() {
                let by_basis: Vec3 = on_skin.iter().zip(q).map(|(mode, q)| *q * mode[p]).sum();
                let sculpt = rest[p] + *missing;
                *missing = sculpt - by_basis;
                lacks += volume.areas[p] * missing.length_squared();
                whole += volume.areas[p] * sculpt.length_squared();
            }
            sculpt_errors.push((target.name.clone(), if whole > 0.0 { (lacks / whole).sqrt() } else { 0.0 }));
            detail.push(missing);
        }
        let visible = |d: &[Vec3]| d.iter().any(|d| d.length() > DETAIL * self.size);
        let detailed: Vec<usize> = (0..detail.len()).filter(|&k| visible(&detail[k])).collect();
        let columns: Vec<&[Vec3]> =
            on_skin.iter().map(Vec::as_slice).chain(detailed.iter().map(|&k| detail[k].as_slice())).collect();
        let surface = Surface::new(&self.skin.points, &self.skin.influences, &columns);
        let frequencies = (0..self.targets.len())
            .map(|k| first_frequency(&stiffness[k], &masses[mass_of[k]].matrix, r))
            .collect::<Result<Vec<f64>, Error>>()?;
        let report = MorphReport {
            tets: volume.mesh.tets().len(),
            unknowns: 3 * volume.known.iter().filter(|known| !**known).count(),
            modes: r,
            pose_components: space.len(),
            sculpt_errors,
            frequencies,
            mass: self.targets[0].masses.iter().sum(),
        };
        Ok(MorphKit {
            joint_from_rest: self.joint_from_rest.clone(),
            limit: limit(&self.targets, &stiffness, r)?,
            space,
            weights,
            degrees,
            coefficients,
            stiffness,
            masses,
            mass_of,
            rests,
            plasticity: self.targets.iter().map(|t| (t.plasticity, t.measure)).collect(),
            surface,
            detailed,
            step,
            gravity: self.settings.gravity,
            report,
        })
    }

    /// Interpolation and its limit for the full model.
    pub(super) fn full_interpolation(&self) -> Result<(PoseSpace, PoseWeights, Limit), Error> {
        let (space, weights) = self.interpolation()?;
        Ok((space, weights, limit(&self.targets, &vec![Vec::new(); self.targets.len()], 0)?))
    }
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
        self.coefficients.len()
    }

    /// The length of a step, in seconds.
    pub fn step(&self) -> f64 {
        self.step
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
