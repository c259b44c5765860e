//! A region: the flesh around one bone, its masses and its linear stiffness in the bone's frame.
//!
//! Displacement is measured from where the bone's rigid motion T, with rotation R, would take the flesh (skeleton §4.5),
//!
//! ```text
//! d = Rᵀ (q + r − T r),
//! ```
//!
//! T and R at the step's *end*, so that strain may be taken as linear and matrices are constant. A step of backward Euler over h,
//! with Rayleigh damping α M + β K relative to the bone, finds the displacement d′ at its end from where inertia would take it
//! ([`Rides`](crate::ride::Rides)):
//!
//! ```text
//! M (d′ − p)/h² + αM (d′ − d)/h + K d′ + βK (d′ − d)/h = Rᵀf,     p = Rᵀ(X + h Ẋ + Q′(e + h ė) − T r).
//! ```
//!
//! With γ = β/(h + β) and u = d′ − γ d the right-hand side needs M alone:
//!
//! ```text
//! A u = M [ p/h² + (α/h) d − γ(1/h² + α/h) d ] + Rᵀf,     A = (1/h² + α/h) M + (1 + β/h) K.
//! ```
//!
//! Differs: the paper leaves d in world axes, takes T where the step begins, damps against the world, and has no inertia
//! in turning axes.

mod packed;

use std::sync::Arc;

use dynamics::{Basis, Elements, Energy, GuideSample, Mass, Reduced};
use geometry::{Mat3, Vec3, tet_volume};
use linear::{ConstraintRows, Matrix, Pattern, Solver};
use solid::{Law, Material, Tet};

use crate::Error;
use crate::active::ActiveSolver;
use crate::flesh::{Flesh, Piece};
use crate::frames::Frame;

/// Masses and stiffness of the flesh around one bone.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The joint whose frame it is measured in.
    pub(crate) joint: u32,
    /// Coefficients that take part.
    pub(crate) functions: Vec<u32>,
    /// How much of each comes from here.
    pub(crate) shares: Vec<f64>,
    pub(crate) mass: Mass,
    /// K, with what holds flesh against turning about the bone.
    pub(crate) stiffness: Matrix,
}

/// Bones that are no edges are held by their surroundings this many times as firmly as twist needs.
const SOFT_BONE: f64 = 30.0;
/// Samples of a tet: it is halved along its edges so many times.
const SAMPLE_DEPTH: u32 = 2;

impl Region {
    /// The flesh of these pieces, measured in the frame of `joint`; `share` says how much of a function comes from here.
    pub(crate) fn new(
        flesh: &Flesh,
        joint: u32,
        pieces: &[&Piece],
        share: impl Fn(usize) -> f64,
    ) -> Result<Self, Error> {
        let mesh = flesh.hierarchy.mesh();
        let values = flesh.hierarchy.values();
        let corners = |piece: &Piece| mesh.tets()[piece.tet as usize];
        let points = pieces.iter().flat_map(|piece| corners(piece));
        let mut functions: Vec<u32> =
            points.flat_map(|point| values.row(point as usize)).map(|(function, _)| function).collect();
        functions.sort_unstable();
        functions.dedup();
        let local = |function: u32| functions.binary_search(&function).unwrap_or(usize::MAX) as u32;

        // rows of B for the points of these pieces only
        let mut used: Vec<u32> = pieces.iter().flat_map(|piece| corners(piece)).collect();
        used.sort_unstable();
        used.dedup();
        let place = |point: u32| used.binary_search(&point).unwrap_or(usize::MAX) as u32;
        let row = |&point: &u32| {
            let row = values.row(point as usize).map(|(function, value)| (local(function), value)).collect();
            (Vec3::ZERO, row)
        };
        let basis = Basis::new(functions.len(), used.iter().map(row));

        // in the order that elements keep
        let mut sorted: Vec<&Piece> = pieces.to_vec();
        sorted.sort_by_key(|piece| corners(piece).iter().copied().min());
        let mut elements = Vec::with_capacity(sorted.len());
        let mut parts = Vec::with_capacity(sorted.len());
        for piece in &sorted {
            let rest = mesh.corners(piece.tet as usize);
            let Material { young, poisson, .. } = piece.material;
            // slivers that a bone has left behind resist nothing
            if let Some(tet) = Tet::from_young_poisson(&rest, Law::Stvk, young, poisson) {
                parts.push((elements.len(), piece.part));
                elements.push((corners(piece).map(place), tet));
            }
        }
        let mut energy = Reduced::with_cubature(&basis, Elements::new(elements), parts);
        let mass = mass(&basis, mesh, &sorted, place);
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        energy.stencils(&mut |stencil| stencils.push(stencil.to_vec()));
        mass.stencils(&mut |stencil| stencils.push(stencil.to_vec()));
        let pattern = Arc::new(Pattern::from_stencils(functions.len(), stencils.iter().map(Vec::as_slice)));
        energy.bind(&pattern);
        let mut stiffness = Matrix::new(pattern);
        let rest: Vec<Vec3> = functions.iter().map(|&f| flesh.hierarchy.rest()[f as usize]).collect();
        let still = GuideSample { time: 0.0, guide_positions: &[], guide_velocities: &[] };
        energy.add_hessian(&still, &rest, &rest, &mut stiffness);
        hold(flesh, joint, &sorted, &basis, place, &mut stiffness);
        let shares = functions.iter().map(|&function| share(function as usize)).collect();
        Ok(Self { joint, functions, shares, mass, stiffness })
    }
}

impl Region {
    /// Row sums of what keeps flesh from turning about the bones of a joint: pairs of a function and a stiffness in N/m.
    pub(crate) fn holding(flesh: &Flesh, joint: u32, pieces: &[&Piece]) -> Result<Vec<(u32, f64)>, Error> {
        let mut sums = vec![0.0; flesh.hierarchy.functions().len()];
        let values = flesh.hierarchy.values();
        twist(flesh, joint, pieces, &mut |piece, weights| {
            let tet = flesh.hierarchy.mesh().tets()[piece.tet as usize];
            for (row, point) in weights.iter().zip(tet) {
                let sum: f64 = row.iter().sum();
                values.row(point as usize).for_each(|(f, value)| sums[f as usize] += sum * value);
            }
        });
        Ok(sums.into_iter().enumerate().filter(|(_, k)| *k > 0.0).map(|(f, k)| (f as u32, k)).collect())
    }
}

/// BᵀMB with the consistent mass of every piece, ρV(1 + δᵢⱼ)/20.
fn mass(basis: &Basis, mesh: &geometry::TetMesh, pieces: &[&Piece], place: impl Fn(u32) -> u32) -> Mass {
    let count = basis.coefficient_count();
    let mut weights = vec![0.0; count];
    let mut entries = Vec::new();
    for piece in pieces {
        let tet = mesh.tets()[piece.tet as usize].map(|point| place(point) as usize);
        let held = tet_volume(mesh.corners(piece.tet as usize)) * piece.part * piece.material.density;
        for (i, &p) in tet.iter().enumerate() {
            for (function, value) in basis.row(p) {
                weights[function as usize] += 0.25 * held * value;
            }
            for (j, &q) in tet.iter().enumerate() {
                let share = held * if i == j { 0.1 } else { 0.05 };
                for (a, va) in basis.row(p) {
                    let lower = basis.row(q).filter(|(b, _)| *b <= a);
                    entries.extend(lower.map(|(b, vb)| (a, b, share * va * vb)));
                }
            }
        }
    }
    Mass::full(weights, entries)
}

/// Adds what keeps flesh near the bone from turning about it.
fn hold(
    flesh: &Flesh,
    joint: u32,
    pieces: &[&Piece],
    basis: &Basis,
    place: impl Fn(u32) -> u32,
    stiffness: &mut Matrix,
) {
    twist(flesh, joint, pieces, &mut |piece, sums| {
        let tet = flesh.hierarchy.mesh().tets()[piece.tet as usize].map(|point| place(point) as usize);
        for (i, &p) in tet.iter().enumerate() {
            for (j, &q) in tet.iter().enumerate() {
                for (f, vf) in basis.row(p) {
                    for (g, vg) in basis.row(q).filter(|(g, _)| *g <= f) {
                        stiffness.add(f, g, Mat3::from_diagonal(Vec3::splat(sums[i][j] * vf * vg)));
                    }
                }
            }
        }
    });
}

/// Visits the pieces near the bones of a joint with k ∫ λᵢλⱼ over their part within a radius, λ the linear functions of their corners:
/// the Hessian of ½ k ∫ ‖d‖² (25 – 26), k = twist · G / radius².
fn twist(flesh: &Flesh, joint: u32, pieces: &[&Piece], visit: &mut dyn FnMut(&Piece, &[[f64; 4]; 4])) {
    let mesh = flesh.hierarchy.mesh();
    let mut samples = Vec::new();
    let corners: [[f64; 4]; 4] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    sample(SAMPLE_DEPTH, corners, &mut samples);
    for (index, bone) in flesh.bones.iter().enumerate().filter(|(_, bone)| bone.joint == joint as usize) {
        let soft = flesh.chains[index].len() < 2;
        let firmness = if soft { SOFT_BONE * flesh.settings.twist.max(1.0) } else { flesh.settings.twist };
        let radius = flesh.settings.twist_radius * flesh.thickness[index];
        if firmness <= 0.0 || radius <= 0.0 {
            continue;
        }
        let near = |p: Vec3| bone.distance_squared(p) < radius * radius;
        for piece in pieces {
            let corners = mesh.corners(piece.tet as usize);
            let shear = piece.material.young / (2.0 * (1.0 + piece.material.poisson));
            let each = firmness * shear / (radius * radius) * tet_volume(corners) / samples.len() as f64;
            let mut sums = [[0.0; 4]; 4];
            let mut any = false;
            for w in &samples {
                let at: Vec3 = corners.iter().zip(w).map(|(&p, &w)| w * p).sum();
                if near(at) {
                    any = true;
                    for i in 0..4 {
                        (0..4).for_each(|j| sums[i][j] += each * w[i] * w[j]);
                    }
                }
            }
            if any {
                visit(piece, &sums);
            }
        }
    }
}

/// Centres of the small tets of a tet, as weights of its corners.
fn sample(depth: u32, corners: [[f64; 4]; 4], into: &mut Vec<[f64; 4]>) {
    let mean = |list: &[usize]| -> [f64; 4] {
        std::array::from_fn(|k| list.iter().map(|&c| corners[c][k]).sum::<f64>() / list.len() as f64)
    };
    if depth == 0 {
        return into.push(mean(&[0, 1, 2, 3]));
    }
    let middle = |i: usize, j: usize| mean(&[i, j]);
    let (ab, ac, ad) = (middle(0, 1), middle(0, 2), middle(0, 3));
    let (bc, bd, cd) = (middle(1, 2), middle(1, 3), middle(2, 3));
    let [a, b, c, d] = corners;
    for small in [
        [a, ab, ac, ad],
        [ab, b, bc, bd],
        [ac, bc, c, cd],
        [ad, bd, cd, d],
        [ab, cd, ac, ad],
        [ab, cd, ad, bd],
        [ab, cd, bd, bc],
        [ab, cd, bc, ac],
    ] {
        sample(depth - 1, small, into);
    }
}

/// A region made ready for steps of one length.
pub(crate) struct System {
    region: Region,
    /// Which of the region's coefficients bones hold.
    known: Vec<bool>,
    /// Those that are solved for in this step.
    free: Vec<bool>,
    /// Which of them are of level 0: those have a place at rest.
    rest: Vec<Option<Vec3>>,
    solve: Solve,
    /// h, in seconds; α, in 1/s; γ.
    step: f64,
    alpha: f64,
    gamma: f64,
    scratch: Vec<Vec3>,
    right: Vec<Vec3>,
    /// T r at the step's end.
    places: Vec<Vec3>,
    displacement: Vec<Vec3>,
    solution: Vec<Vec3>,
}

/// How A u = b is solved.
enum Solve {
    /// All functions, always, by a factor that never changes.
    Factor {
        solver: Solver,
        /// Blocks of A that couple an unknown coefficient with a known one.
        coupling: Vec<(u32, u32, Mat3)>,
        rows: ConstraintRows,
    },
    /// Those that are active.
    Active(ActiveSolver),
}

impl Solve {
    fn factor(matrix: &Matrix, known: &[bool]) -> Result<Self, Error> {
        let count = known.len();
        let pattern = matrix.pattern();
        let mut coupling = Vec::new();
        for i in (0..count as u32).filter(|&i| !known[i as usize]) {
            for j in (0..count as u32).filter(|&j| known[j as usize]) {
                if let Some(slot) = pattern.slot(i, j) {
                    let block = matrix.values()[slot];
                    coupling.push((i, j, if i < j { block.transpose() } else { block }));
                }
            }
        }
        let rows = ConstraintRows::none(count);
        let mut solver = Solver::new(pattern, known, &rows, linear::Settings::default())?;
        if known.contains(&false) {
            solver.factorize(matrix, &rows)?;
        }
        Ok(Self::Factor { solver, coupling, rows })
    }

    /// Solves A u = `right`, which is lost, for the free ones of `u`; the others are given.
    fn solve(&mut self, right: &mut [Vec3], free: &[bool], u: &mut [Vec3]) -> Result<(), Error> {
        match self {
            Self::Active(solver) => solver.solve(right, free, u),
            Self::Factor { solver, coupling, rows } => {
                for &(i, j, block) in coupling.iter() {
                    right[i as usize] -= block * u[j as usize];
                }
                solver.correct(rows, right, &mut [])?;
                let found = u.iter_mut().zip(right.iter()).zip(free).filter(|(_, free)| **free);
                found.for_each(|((u, found), _)| *u = *found);
                Ok(())
            }
        }
    }
}

/// What a step starts from and is driven by.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    /// Where coefficients are, and where they would be at the step's end if nothing pulled.
    pub(crate) coefficients: &'a [Vec3],
    pub(crate) predicted: &'a [Vec3],
    /// Where bones hold coefficients at the step's end, and where those that are switched off are.
    pub(crate) held: &'a [Vec3],
    /// On coefficients, in newtons.
    pub(crate) force: &'a [Vec3],
    /// In m/s².
    pub(crate) gravity: Vec3,
    /// Which functions are switched on; none: all.
    pub(crate) active: Option<&'a [bool]>,
}

impl System {
    /// Makes A ready for steps of `step` seconds, with damping α (1/s) and β (s); `adapts` where functions come and go.
    pub(crate) fn new(
        region: Region,
        known: &[bool],
        rest: &[Vec3],
        level_zero: usize,
        step: f64,
        [alpha, beta]: [f64; 2],
        adapts: bool,
    ) -> Result<Self, Error> {
        let count = region.functions.len();
        let known: Vec<bool> = region.functions.iter().map(|&f| known[f as usize]).collect();
        let place = |&f: &u32| ((f as usize) < level_zero).then(|| rest[f as usize]);
        let rest: Vec<Option<Vec3>> = region.functions.iter().map(place).collect();
        let mut matrix = region.stiffness.clone();
        matrix.values_mut().iter_mut().for_each(|block| *block *= 1.0 + beta / step);
        region.mass.add_to(1.0 / (step * step) + alpha / step, &mut matrix);
        let solve = if adapts {
            // functions ascend, and those of level 0 come first
            let coarse = rest.iter().filter(|place| place.is_some()).count();
            Solve::Active(ActiveSolver::new(matrix, &known, coarse)?)
        } else {
            Solve::factor(&matrix, &known)?
        };
        let zeros = vec![Vec3::ZERO; count];
        Ok(Self {
            free: known.iter().map(|known| !known).collect(),
            region,
            known,
            rest,
            solve,
            step,
            alpha,
            gamma: beta / (step + beta),
            scratch: zeros.clone(),
            right: zeros.clone(),
            places: zeros.clone(),
            displacement: zeros.clone(),
            solution: zeros,
        })
    }

    pub(crate) fn joint(&self) -> usize {
        self.region.joint as usize
    }

    /// How far coefficients are from `places`, RMS by their masses, in metres.
    pub(crate) fn swing(&self, coefficients: &[Vec3], places: &[Vec3]) -> f64 {
        let masses = self.region.functions.iter().zip(self.region.mass.weights()).zip(&self.region.shares);
        let [mut sum, mut mass] = [0.0, f64::MIN_POSITIVE];
        for ((&f, &weight), &share) in masses {
            sum += share * weight * coefficients[f as usize].distance_squared(places[f as usize]);
            mass += share * weight;
        }
        (sum / mass).sqrt()
    }

    /// Adds this region's part of what is `kept` of the way from `places`.
    pub(crate) fn share(&self, keep: f64, coefficients: &[Vec3], places: &[Vec3], kept: &mut [Vec3]) {
        for (&f, &share) in self.region.functions.iter().zip(&self.region.shares) {
            let f = f as usize;
            kept[f] += share * keep * (coefficients[f] - places[f]);
        }
    }

    /// Adds to `after` how far coefficients are moved within a step by forces on them; after a [`System::step`], of whose functions
    /// the same are free.
    pub(crate) fn respond(&mut self, end: &Frame, force: &[Vec3], after: &mut [Vec3]) -> Result<(), Error> {
        let to_end = end.rotation.transpose();
        for (k, &f) in self.region.functions.iter().enumerate() {
            self.right[k] = if self.free[k] { to_end * force[f as usize] } else { Vec3::ZERO };
            self.solution[k] = Vec3::ZERO;
        }
        self.solve.solve(&mut self.right, &self.free, &mut self.solution)?;
        for (k, &f) in self.region.functions.iter().enumerate().filter(|(k, _)| self.free[*k]) {
            after[f as usize] += self.region.shares[k] * (end.rotation * self.solution[k]);
        }
        Ok(())
    }

    /// One step between the region's frames: adds this region's part of where coefficients are at its end to `after`.
    pub(crate) fn step(
        &mut self,
        frames: [&Frame; 2],
        from: &Start,
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        let [start, end] = frames;
        let (h, alpha, gamma) = (self.step, self.alpha, self.gamma);
        let inertia = 1.0 / (h * h);
        let drag = alpha / h - gamma * (inertia + alpha / h);
        let (to_start, to_end) = (start.rotation.transpose(), end.rotation.transpose());
        for (k, &f) in self.region.functions.iter().enumerate() {
            let f = f as usize;
            self.free[k] = !self.known[k] && from.active.is_none_or(|active| active[f]);
            let (was, is) = match self.rest[k] {
                Some(r) => {
                    (start.world_from_rest.transform_point3(r), end.world_from_rest.transform_point3(r))
                }
                None => (Vec3::ZERO, Vec3::ZERO),
            };
            self.places[k] = is;
            let before = from.coefficients[f];
            let d = to_start * (before - was);
            let p = to_end * (from.predicted[f] - is);
            self.displacement[k] = gamma * d;
            self.scratch[k] = inertia * p + drag * d;
            // what is given, measured as u; of what is not, a guess
            let goal = if self.free[k] { p } else { to_end * (from.held[f] - is) };
            self.solution[k] = goal - gamma * d;
        }
        let local_gravity = to_end * from.gravity;
        let mass = &self.region.mass;
        for (k, &f) in self.region.functions.iter().enumerate().filter(|(k, _)| self.free[*k]) {
            self.right[k] = mass.row_times(k, |j| self.scratch[j])
                + mass.weights()[k] * local_gravity
                + to_end * from.force[f as usize];
        }
        self.solve.solve(&mut self.right, &self.free, &mut self.solution)?;
        for (k, &f) in self.region.functions.iter().enumerate() {
            let d = self.solution[k] + self.displacement[k];
            after[f as usize] += self.region.shares[k] * (self.places[k] + end.rotation * d);
        }
        Ok(())
    }
}
