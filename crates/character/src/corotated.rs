//! Corotated flesh with a constant matrix: every tet measures strain in a frame of its own, and the matrix that steps are solved with
//! never changes.
//!
//! A step of backward Euler over h makes this stationary over coefficients c, points x = B c:
//!
//! ```text
//! 1/(2h²) ‖c − c₀ − h v‖²_M + Σₑ wₑ μ ( ‖F − R‖² + (β/h) ‖S − S₀‖² ) + ½ Σᵥ λ wᵥ (J̄ᵥ − 1)² + springs − forces,
//! ```
//!
//! w volumes inside of the skin, F the deformation gradient, R its rotation, S the symmetric part of R₀ᵀF, zeros where the step begins. *Volume is
//! averaged*: J̄ᵥ is the mean of det F over the tets around a point (Bonet 1998), so that flesh which hardly gives way still bends; a
//! tenth is left to each tet by itself, against patterns that the mean does not see. Springs keep flesh from turning about bones, as
//! the row sums of (26).
//!
//! Descent is by conjugate gradients, preconditioned by D A⁻¹ Dᵀ: A the matrix of linear strain, factorised once, and D the rotation
//! around each point where the step begins. Iterations are bounded. Beyond the paper, which knows rotations of whole regions only.
//!
//! It moves all flesh, or the joints alone, where regions meet: then what is around them is where their blend has it, and held.

use geometry::{Mat3, Prolongation, Vec3, nearest_rotation, tet_volume};
use linear::{ConstraintRows, Solver};

use crate::Error;
use crate::flesh::{Flesh, Piece, region_joints};
use crate::frames::Frame;
use crate::kit::{Kit, Reader, Writer, read_region, write_region};
use crate::nonlinear::{spring_joints, twist_springs};
use crate::region::{Region, Start};

/// Iterations of a step at most, and the residual, relative to the first, at which fewer are enough.
const ITERATIONS: usize = 6;
const ENOUGH: f64 = 1e-3;
/// A step length so near to 1 is taken as 1: its gradient is known already.
const UNIT_LENGTH: f64 = 0.25;
/// The part of the resistance to change of volume that every tet has by itself.
const OWN_VOLUME: f64 = 0.1;

/// Poisson's ratio of flesh at joints, at least.
const JOINT_POISSON: f64 = 0.48;
/// Rings of cells around blended functions that belong to a joint.
const JOINT_RINGS: usize = 1;
/// Materials with a Poisson's ratio from here on are flesh.
const FLESH: f64 = 0.4;

/// What a kit knows about flesh in frames of its own. Functions and points are numbered among those that take part.
#[derive(Clone, Debug)]
pub(crate) struct Corotated {
    /// The functions that take part, their masses and linear stiffness.
    pub(crate) region: Region,
    /// Those that are solved for, where bones do not hold them.
    free: Vec<bool>,
    /// Points of the finest level by coefficients.
    points: Prolongation,
    /// The point at which each function is 1.
    places: Vec<u32>,
    tets: Vec<CorotatedTet>,
    /// What keeps flesh from turning about bones: coefficients, N/m, and the joints they turn with.
    springs: Vec<(u32, f64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct CorotatedTet {
    corners: [u32; 4],
    /// F = [x₁−x₀ x₂−x₀ x₃−x₀] · this.
    inverse: Mat3,
    /// In m³, of which this much is inside of the skin.
    volume: f64,
    /// Lamé's constants, in Pa.
    mu: f64,
    lambda: f64,
}

impl Corotated {
    /// All flesh.
    pub(crate) fn new(flesh: &Flesh) -> Result<Self, Error> {
        let pieces: Vec<&Piece> = flesh.pieces.iter().collect();
        Self::of(flesh, &pieces, |_| true)
    }

    /// The joints of flesh whose regions are blended: functions that belong to several, those next to them, and the cells that these reach
    /// into. None where there is no such function. Linear strain around the joint takes what is turned in it for shrunk, and would swell:
    /// next to them little is turned against the region.
    pub(crate) fn at_joints(flesh: &Flesh) -> Result<Option<Self>, Error> {
        let mut grown: Vec<bool> = flesh.shares.iter().map(|shares| shares.len() > 1).collect();
        for _ in 0..JOINT_RINGS {
            let inner = grown.clone();
            for cell in flesh.lattice.cells() {
                let corners = cell.corners();
                if corners.iter().any(|&v| inner[v as usize]) {
                    corners.iter().for_each(|&v| grown[v as usize] = true);
                }
            }
        }
        let is_free = |f: u32| !flesh.known[f as usize] && grown[f as usize];
        let (mesh, values) = (flesh.hierarchy.mesh(), flesh.hierarchy.values());
        let reaches = |piece: &&Piece| {
            let corners = mesh.tets()[piece.tet as usize];
            corners.into_iter().any(|p| values.row(p as usize).any(|(f, _)| is_free(f)))
        };
        let firm = |piece: &Piece| {
            let mut piece = *piece;
            if piece.material.poisson >= FLESH {
                piece.material.poisson = piece.material.poisson.max(JOINT_POISSON);
            }
            piece
        };
        let pieces: Vec<Piece> = flesh.pieces.iter().filter(reaches).map(firm).collect();
        if pieces.is_empty() {
            return Ok(None);
        }
        Self::of(flesh, &pieces.iter().collect::<Vec<_>>(), is_free).map(Some)
    }

    fn of(flesh: &Flesh, pieces: &[&Piece], is_free: impl Fn(u32) -> bool) -> Result<Self, Error> {
        let mesh = flesh.hierarchy.mesh();
        let first = region_joints(&flesh.shares).first().copied().unwrap_or(0);
        let region = Region::new(flesh, first, pieces, |_| 1.0)?;
        let place_of = |f: &u32| flesh.hierarchy.functions()[*f as usize].point;
        let corners = pieces.iter().flat_map(|piece| mesh.tets()[piece.tet as usize]);
        let mut used: Vec<u32> = corners.chain(region.functions.iter().map(place_of)).collect();
        used.sort_unstable();
        used.dedup();
        // all of them are there
        let point = |p: u32| used.binary_search(&p).unwrap_or(0) as u32;
        let function = |f: u32| region.functions.binary_search(&f).ok().map(|k| k as u32);
        let row = |&p: &u32| {
            let row = flesh.hierarchy.values().row(p as usize);
            row.filter_map(|(f, value)| Some((function(f)?, value))).collect()
        };
        let tet = |piece: &&Piece| {
            let corners = mesh.corners(piece.tet as usize);
            let [a, b, c, d] = corners;
            let shape = Mat3::from_cols(b - a, c - a, d - a);
            let volume = tet_volume(corners);
            // slivers that a bone has left behind resist nothing
            let size = (b - a).length().max((c - a).length()).max((d - a).length());
            let (young, poisson) = (piece.material.young, piece.material.poisson);
            (volume > 1e-9 * size.powi(3)).then(|| CorotatedTet {
                corners: mesh.tets()[piece.tet as usize].map(point),
                inverse: shape.inverse(),
                volume: volume * piece.part,
                mu: young / (2.0 * (1.0 + poisson)),
                lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            })
        };
        let joints = spring_joints(flesh);
        let springs = twist_springs(flesh)?.into_iter();
        let springs = springs.filter_map(|(f, k)| Some((function(f)?, k, joints[f as usize] as u32)));
        Ok(Self {
            free: region.functions.iter().map(|&f| is_free(f)).collect(),
            points: Prolongation::new(region.functions.len(), used.iter().map(row)),
            places: region.functions.iter().map(|f| point(place_of(f))).collect(),
            tets: pieces.iter().filter_map(tet).collect(),
            springs: springs.collect(),
            region,
        })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        write_region(out, &self.region);
        out.list(&self.free, |out, &free| out.count(usize::from(free)));
        let rows: Vec<Vec<(u32, f64)>> =
            (0..self.points.fine_count()).map(|p| self.points.row(p).collect()).collect();
        out.list(&rows, |out, row| {
            out.list(row, |out, &(f, value)| {
                out.count(f as usize);
                out.numbers([value]);
            });
        });
        out.list(&self.places, |out, &p| out.count(p as usize));
        out.list(&self.tets, |out, tet| {
            tet.corners.iter().for_each(|&p| out.count(p as usize));
            out.numbers(tet.inverse.to_cols_array().into_iter().chain([tet.volume, tet.mu, tet.lambda]));
        });
        out.list(&self.springs, |out, &(f, k, joint)| {
            out.count(f as usize);
            out.numbers([k]);
            out.count(joint as usize);
        });
    }

    pub(crate) fn read(input: &mut Reader, joints: usize, functions: usize) -> Option<Self> {
        let region = read_region(input, joints, functions)?;
        let free = input.list(|input| input.below(2).map(|free| free == 1))?;
        let functions = region.functions.len();
        let rows = input.list(|input| input.pairs(functions))?;
        let count = rows.len();
        let places = input.list(|input| Some(input.below(count)? as u32))?;
        let tets = input.list(|input| {
            let mut corners = [0; 4];
            for corner in &mut corners {
                *corner = input.below(count)? as u32;
            }
            let inverse = Mat3::from_cols_array(&input.numbers()?);
            let [volume, mu, lambda] = input.numbers()?;
            Some(CorotatedTet { corners, inverse, volume, mu, lambda })
        })?;
        let springs = input.list(|input| {
            let f = input.below(functions)? as u32;
            let [k] = input.numbers()?;
            Some((f, k, input.below(joints)? as u32))
        })?;
        (places.len() == functions && free.len() == functions).then(|| Self {
            region,
            free,
            points: Prolongation::new(functions, rows),
            places,
            tets,
            springs,
        })
    }
}

/// Corotated flesh made ready for steps of one length: a factor, and scratch.
pub(crate) struct CorotatedSystem {
    known: Vec<bool>,
    /// h and β, in seconds.
    step: f64,
    beta: f64,
    solver: Solver,
    rows: ConstraintRows,
    /// Around every point: the volume of its part, and the mean of λ.
    shares: Vec<(f64, f64)>,
    /// D.
    turns: Vec<Mat3>,
    /// Of every tet: F now; R₀ and S₀.
    deformations: Vec<Mat3>,
    strains: Vec<(Mat3, Mat3)>,
    /// Of every point: where it is, dE/dx, the volume or pressure there, rotations summed.
    points: Vec<Vec3>,
    point_gradient: Vec<Vec3>,
    pressures: Vec<f64>,
    point_turns: Vec<Mat3>,
    /// Of every coefficient that takes part: where inertia leads, where the step begins, the force on it, where it is.
    inertial: Vec<Vec3>,
    before: Vec<Vec3>,
    force: Vec<Vec3>,
    x: Vec<Vec3>,
    goals: Vec<Vec3>,
    gradient: Vec<Vec3>,
    trial: Vec<Vec3>,
    trial_gradient: Vec<Vec3>,
    descent: Vec<Vec3>,
    direction: Vec<Vec3>,
}

impl CorotatedSystem {
    /// `held` coefficients of the kit are held by bones.
    pub(crate) fn new(kit: &Kit, flesh: &Corotated, held: &[bool]) -> Result<Self, Error> {
        let region = &flesh.region;
        let own = region.functions.iter().zip(&flesh.free);
        let known: Vec<bool> = own.map(|(&f, free)| held[f as usize] || !free).collect();
        let (h, beta) = (kit.step, kit.beta);
        let mut matrix = region.stiffness.clone();
        matrix.values_mut().iter_mut().for_each(|block| *block *= 1.0 + beta / h);
        region.mass.add_to(1.0 / (h * h), &mut matrix);
        for &(f, k, _) in &flesh.springs {
            matrix.add(f, f, Mat3::from_diagonal(Vec3::splat(k)));
        }
        let rows = ConstraintRows::none(known.len());
        let mut solver = Solver::new(matrix.pattern(), &known, &rows, linear::Settings::default())?;
        if known.contains(&false) {
            solver.factorize(&matrix, &rows)?;
        }
        let mut shares = vec![(0.0, 0.0); flesh.points.fine_count()];
        for tet in &flesh.tets {
            for &p in &tet.corners {
                let share = &mut shares[p as usize];
                *share = (share.0 + 0.25 * tet.volume, share.1 + 0.25 * tet.volume * tet.lambda);
            }
        }
        shares.iter_mut().filter(|share| share.0 > 0.0).for_each(|share| share.1 /= share.0);
        let (count, points, tets) = (known.len(), flesh.points.fine_count(), flesh.tets.len());
        let zeros = vec![Vec3::ZERO; count];
        Ok(Self {
            known,
            step: h,
            beta,
            solver,
            rows,
            shares,
            turns: vec![Mat3::IDENTITY; count],
            deformations: vec![Mat3::IDENTITY; tets],
            strains: vec![(Mat3::IDENTITY, Mat3::ZERO); tets],
            points: vec![Vec3::ZERO; points],
            point_gradient: vec![Vec3::ZERO; points],
            pressures: vec![0.0; points],
            point_turns: vec![Mat3::ZERO; points],
            inertial: zeros.clone(),
            before: zeros.clone(),
            force: zeros.clone(),
            x: zeros.clone(),
            goals: zeros.clone(),
            gradient: zeros.clone(),
            trial: zeros.clone(),
            trial_gradient: zeros.clone(),
            descent: zeros.clone(),
            direction: zeros,
        })
    }

    /// One step, at the end of which joints are at `frames`: where coefficients are then, into `after`, which has a guess, and where those
    /// are that are held.
    pub(crate) fn step(
        &mut self,
        kit: &Kit,
        flesh: &Corotated,
        frames: &[Frame],
        from: &Start,
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        let mut x = std::mem::take(&mut self.x);
        x.iter_mut().zip(&flesh.region.functions).for_each(|(x, &f)| *x = after[f as usize]);
        let descended = self.descend(kit, flesh, frames, from, &mut x);
        let found = x.iter().zip(&flesh.region.functions).zip(&self.known).filter(|(_, known)| !**known);
        found.for_each(|((x, &f), _)| after[f as usize] = *x);
        self.x = x;
        descended
    }

    fn descend(
        &mut self,
        kit: &Kit,
        flesh: &Corotated,
        frames: &[Frame],
        from: &Start,
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        self.begin(kit, flesh, frames, from);
        self.begin_nearer(flesh, from, after)?;
        self.direction.fill(Vec3::ZERO);
        let (mut first, mut size) = (0.0, 0.0);
        for iteration in 0..ITERATIONS {
            self.descent.copy_from_slice(&self.gradient);
            precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
            let now = dot(&self.gradient, &self.descent);
            if iteration == 0 {
                first = now;
            } else if now <= ENOUGH * ENOUGH * first {
                break;
            }
            // Polak and Ribière, with the gradient before in `trial_gradient`; never against the descent
            let changed = now - dot(&self.trial_gradient, &self.descent);
            let turn = if iteration > 0 { (changed / size).max(0.0) } else { 0.0 };
            for (d, z) in self.direction.iter_mut().zip(&self.descent) {
                *d = turn * *d - *z;
            }
            let mut slope = dot(&self.gradient, &self.direction);
            if slope >= 0.0 {
                self.direction.iter_mut().zip(&self.descent).for_each(|(d, z)| *d = -*z);
                slope = -now;
            }
            size = now;
            if slope >= 0.0 || !slope.is_finite() {
                break;
            }
            // a secant finds how far: the gradient is nearly linear on the way
            for (t, (x, d)) in self.trial.iter_mut().zip(after.iter().zip(&self.direction)) {
                *t = *x + *d;
            }
            let trial = std::mem::take(&mut self.trial);
            self.differentiate(flesh, from.gravity, &trial);
            self.trial = trial;
            let curvature = dot(&self.trial_gradient, &self.direction) - slope;
            let length = if curvature > 0.0 { (-slope / curvature).min(2.0) } else { 1.0 };
            if (length - 1.0).abs() < UNIT_LENGTH {
                after.copy_from_slice(&self.trial);
            } else {
                after.iter_mut().zip(&self.direction).for_each(|(x, d)| *x += length * *d);
                self.differentiate(flesh, from.gravity, after);
            }
            std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        }
        Ok(())
    }

    /// Adds to `after` how far coefficients are moved within a step by forces on them.
    pub(crate) fn respond(
        &mut self,
        flesh: &Corotated,
        force: &[Vec3],
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        let functions = &flesh.region.functions;
        self.descent.iter_mut().zip(functions).for_each(|(own, &f)| *own = force[f as usize]);
        precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
        self.descent.iter().zip(functions).for_each(|(z, &f)| after[f as usize] += *z);
        Ok(())
    }

    /// Begins where inertia leads or where bones take flesh as it is, which is given in `after`: wherever there is less to be done. In quick
    /// turns inertia leads to strains from which a few iterations do not come back. The gradient there, into `gradient`.
    fn begin_nearer(&mut self, flesh: &Corotated, from: &Start, after: &mut [Vec3]) -> Result<(), Error> {
        let mut taken = std::mem::take(&mut self.trial);
        taken.copy_from_slice(after);
        let mut least = f64::INFINITY;
        for by_inertia in [true, false] {
            for (f, x) in taken.iter_mut().enumerate().filter(|(f, _)| !self.known[*f]) {
                *x = if by_inertia { self.inertial[f] } else { after[f] };
            }
            self.differentiate(flesh, from.gravity, &taken);
            self.descent.copy_from_slice(&self.trial_gradient);
            precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
            let work = dot(&self.trial_gradient, &self.descent);
            if work < least {
                least = work;
                std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
                self.direction.copy_from_slice(&taken);
            }
        }
        after.copy_from_slice(&self.direction);
        self.trial = taken;
        Ok(())
    }

    /// What a step is measured against; rotations and strains where it begins.
    fn begin(&mut self, kit: &Kit, flesh: &Corotated, frames: &[Frame], from: &Start) {
        for (k, &f) in flesh.region.functions.iter().enumerate() {
            let f = f as usize;
            self.inertial[k] = from.predicted[f];
            self.before[k] = from.coefficients[f];
            self.force[k] = from.force[f];
        }
        for &(f, _, joint) in &flesh.springs {
            let place = frames[joint as usize].world_from_rest;
            let rest = kit.rest[flesh.region.functions[f as usize] as usize];
            self.goals[f as usize] = place.transform_point3(rest);
        }
        let before = std::mem::take(&mut self.before);
        self.place(flesh, &before);
        self.before = before;
        self.point_turns.fill(Mat3::ZERO);
        for (tet, strain) in flesh.tets.iter().zip(&mut self.strains) {
            let f = tet.deformation(&self.points);
            let turn = rotation(&f);
            *strain = (turn, symmetric(turn.transpose() * f));
            let turn = turn * tet.volume;
            tet.corners.iter().for_each(|&p| self.point_turns[p as usize] += turn);
        }
        for (turn, &place) in self.turns.iter_mut().zip(&flesh.places) {
            *turn = rotation(&self.point_turns[place as usize]);
        }
    }

    /// x = B c.
    fn place(&mut self, flesh: &Corotated, coefficients: &[Vec3]) {
        for (p, x) in self.points.iter_mut().enumerate() {
            *x = flesh.points.row(p).map(|(f, value)| value * coefficients[f as usize]).sum();
        }
    }

    /// The gradient at `x`, into `trial_gradient`; zero where bones hold.
    fn differentiate(&mut self, flesh: &Corotated, gravity: Vec3, x: &[Vec3]) {
        self.place(flesh, x);
        self.pressures.fill(0.0);
        for (tet, deformation) in flesh.tets.iter().zip(&mut self.deformations) {
            *deformation = tet.deformation(&self.points);
            let volume = 0.25 * tet.volume * deformation.determinant();
            tet.corners.iter().for_each(|&p| self.pressures[p as usize] += volume);
        }
        for (pressure, &(volume, lambda)) in self.pressures.iter_mut().zip(&self.shares) {
            *pressure = if volume > 0.0 { lambda * (*pressure / volume - 1.0) } else { 0.0 };
        }
        self.point_gradient.fill(Vec3::ZERO);
        let viscosity = self.beta / self.step;
        for ((tet, f), before) in flesh.tets.iter().zip(&self.deformations).zip(&self.strains) {
            let mean = 0.25 * tet.corners.iter().map(|&p| self.pressures[p as usize]).sum::<f64>();
            let stress = tet.stress(f, before, mean, viscosity) * tet.inverse.transpose();
            let [a, b, c, d] = tet.corners.map(|p| p as usize);
            self.point_gradient[b] += stress.x_axis;
            self.point_gradient[c] += stress.y_axis;
            self.point_gradient[d] += stress.z_axis;
            self.point_gradient[a] -= stress.x_axis + stress.y_axis + stress.z_axis;
        }
        let mass = &flesh.region.mass;
        let inertia = 1.0 / (self.step * self.step);
        for (f, gradient) in self.trial_gradient.iter_mut().enumerate() {
            if self.known[f] {
                *gradient = Vec3::ZERO;
                continue;
            }
            let inertial = inertia * mass.row_times(f, |j| x[j] - self.inertial[j]);
            *gradient = inertial - mass.weights()[f] * gravity - self.force[f];
        }
        for (p, &gradient) in self.point_gradient.iter().enumerate() {
            flesh.points.row(p).for_each(|(f, value)| self.trial_gradient[f as usize] += value * gradient);
        }
        for &(f, k, _) in &flesh.springs {
            self.trial_gradient[f as usize] += k * (x[f as usize] - self.goals[f as usize]);
        }
        for (gradient, known) in self.trial_gradient.iter_mut().zip(&self.known) {
            if *known {
                *gradient = Vec3::ZERO;
            }
        }
    }
}

impl CorotatedTet {
    fn deformation(&self, points: &[Vec3]) -> Mat3 {
        let [a, b, c, d] = self.corners.map(|p| points[p as usize]);
        Mat3::from_cols(b - a, c - a, d - a) * self.inverse
    }

    /// w dE/dF, with the mean pressure of its corners.
    fn stress(&self, f: &Mat3, (turn, before): &(Mat3, Mat3), mean: f64, viscosity: f64) -> Mat3 {
        let (a, b, c) = (f.x_axis, f.y_axis, f.z_axis);
        let cofactor = Mat3::from_cols(b.cross(c), c.cross(a), a.cross(b));
        let own = self.lambda * (f.determinant() - 1.0);
        let pressure = (1.0 - OWN_VOLUME) * mean + OWN_VOLUME * own;
        // linear in F: with Green's strain it would outgrow the constant matrix in quick motion, and a few iterations would not do
        let rate = *turn * (symmetric(turn.transpose() * *f) - *before);
        let shear = (*f - rotation(f) + rate * viscosity) * (2.0 * self.mu);
        (shear + cofactor * pressure) * self.volume
    }
}

/// z ← D A⁻¹ Dᵀ z, zero where bones hold.
fn precondition(
    solver: &mut Solver,
    rows: &ConstraintRows,
    known: &[bool],
    turns: &[Mat3],
    z: &mut [Vec3],
) -> Result<(), Error> {
    for ((z, turn), known) in z.iter_mut().zip(turns).zip(known) {
        *z = if *known { Vec3::ZERO } else { turn.transpose() * *z };
    }
    solver.correct(rows, z, &mut [])?;
    for ((z, turn), known) in z.iter_mut().zip(turns).zip(known) {
        *z = if *known { Vec3::ZERO } else { *turn * *z };
    }
    Ok(())
}

fn symmetric(matrix: Mat3) -> Mat3 {
    (matrix + matrix.transpose()) * 0.5
}

/// The rotation nearest to a matrix: Newton's iteration for the polar factor, where there is one.
fn rotation(f: &Mat3) -> Mat3 {
    let determinant = f.determinant();
    let scale = f.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    if determinant.is_nan() || determinant <= 1e-3 * scale.powi(3) {
        let nearest = nearest_rotation(f);
        return if nearest.is_finite() { nearest } else { Mat3::IDENTITY };
    }
    // of size one, so that few iterations are enough
    let mut q = *f * determinant.cbrt().recip();
    for _ in 0..12 {
        let next = (q + q.inverse().transpose()) * 0.5;
        let change = (next - q).to_cols_array().iter().map(|x| x * x).sum::<f64>();
        q = next;
        if change < 1e-12 {
            break;
        }
    }
    q
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Joint, Method, Settings, Skin};
    use geometry::{Random, TetMesh};
    use glam::DAffine3;

    fn kit() -> Kit {
        let bar = TetMesh::box_grid([4, 2, 2], Vec3::new(0.4, 0.15, 0.15)).unwrap();
        let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
        let influences = vec![vec![(0, 1.0)]; points.len()];
        let place = DAffine3::from_translation(Vec3::new(0.05, 0.07, 0.07));
        let joints = [Joint { parent: None, rest_from_joint: place }];
        let settings = Settings { cells: 60, gravity: Vec3::new(0.3, -9.0, 1.0), ..Settings::default() };
        let flesh = Flesh::new(&joints, Skin { points, triangles, influences }, settings).unwrap();
        Kit::new(&flesh, Method::Corotated, 1.0 / 120.0).unwrap()
    }

    /// What a step minimises, apart from R's dependence on F, which adds nothing to the gradient.
    fn energy(system: &mut CorotatedSystem, kit: &Kit, from: &Start, x: &[Vec3]) -> f64 {
        let flesh = kit.corotated.as_ref().unwrap();
        system.place(flesh, x);
        let mass = &flesh.region.mass;
        let apart = |f: usize| x[f] - system.inertial[f];
        let mut sum = mass.energy(apart) / (system.step * system.step);
        for f in 0..x.len() {
            sum -= (mass.weights()[f] * from.gravity + from.force[f]).dot(x[f]);
        }
        for &(f, k, _) in &flesh.springs {
            sum += 0.5 * k * x[f as usize].distance_squared(system.goals[f as usize]);
        }
        let square = |m: Mat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>();
        let mut volumes = vec![0.0; system.points.len()];
        for (tet, before) in flesh.tets.iter().zip(&system.strains) {
            let f = tet.deformation(&system.points);
            let viscous = system.beta / system.step * square(symmetric(before.0.transpose() * f) - before.1);
            sum += tet.volume * tet.mu * (square(f - nearest_rotation(&f)) + viscous);
            let own = f.determinant() - 1.0;
            sum += 0.5 * OWN_VOLUME * tet.volume * tet.lambda * own * own;
            tet.corners.iter().for_each(|&p| volumes[p as usize] += 0.25 * tet.volume * f.determinant());
        }
        for (volume, &(share, lambda)) in
            volumes.iter().zip(&system.shares).filter(|(_, share)| share.0 > 0.0)
        {
            sum += 0.5 * (1.0 - OWN_VOLUME) * lambda * share * (volume / share - 1.0).powi(2);
        }
        sum
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let kit = kit();
        let flesh = kit.corotated.clone().unwrap();
        let known = vec![false; kit.rest.len()];
        let mut system = CorotatedSystem::new(&kit, &flesh, &known).unwrap();
        let mut random = Random::new(5);
        let mut shaken =
            |by: f64| -> Vec<Vec3> { kit.rest.iter().map(|p| *p + by * random.vec3()).collect() };
        let (coefficients, x, predicted) = (shaken(0.01), shaken(0.02), shaken(0.03));
        let force = shaken(1.0);
        let held = kit.rest.clone();
        let (gravity, active) = (kit.gravity, None);
        let from = Start {
            coefficients: &coefficients,
            predicted: &predicted,
            held: &held,
            force: &force,
            gravity,
            active,
        };
        system.begin(&kit, &flesh, &[Frame::REST], &from);
        system.differentiate(&flesh, from.gravity, &x);
        let gradient = system.trial_gradient.clone();
        let size = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
        let step = 1e-6;
        for f in (0..x.len()).step_by(7) {
            for axis in 0..3 {
                let mut at = |by: f64| {
                    let mut x = x.clone();
                    x[f][axis] += by;
                    energy(&mut system, &kit, &from, &x)
                };
                let difference = (at(step) - at(-step)) / (2.0 * step);
                let error = (difference - gradient[f][axis]).abs();
                assert!(error < 1e-5 * size, "{f} {axis}: {difference} {}", gradient[f][axis]);
            }
        }
    }

    #[test]
    fn rotations_are_the_nearest_ones() {
        let mut random = Random::new(8);
        for _ in 0..200 {
            let f = Mat3::from_cols(random.vec3(), random.vec3(), random.vec3());
            let (a, b) = (rotation(&f), nearest_rotation(&f));
            assert!((a.determinant() - 1.0).abs() < 1e-6);
            // how near they are is the same, also where two are as near
            let overlap = |r: &Mat3| {
                (r.transpose() * f).x_axis.x + (r.transpose() * f).y_axis.y + (r.transpose() * f).z_axis.z
            };
            assert!((overlap(&a) - overlap(&b)).abs() < 1e-6);
        }
        assert!(rotation(&Mat3::ZERO).is_finite());
    }
}
