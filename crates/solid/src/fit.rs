//! Fitting: from an animation of a surface to an animation of the tets around it.

mod energy;
mod rigid;

use dynamics::{Body, Elements, State, StaticGuide, Stepper};
use geometry::{Bounds, Embedding, TetMesh, Vec3};

use crate::{Error, Law, Material, Solid};
use energy::{FitEnergy, FitTarget};

pub(crate) use rigid::{Pieces, relative_rotation};

/// Finds tets that follow a surface: ū = argmin ½‖C u − q̄‖²_Λ + γ Φ(u), Φ the energy of StVK with [`Fit::YOUNG`].
///
/// enrich eq. 1 – 3. Newton's method starts from the fit of the frame before. Differs: γ need not be searched by hand. It
/// is lowered tenfold whenever a frame misses the tolerance, until the tets' resolution allows no more.
pub struct Fit {
    body: Body,
    stepper: Stepper,
    areas: Vec<f64>,
    /// Metres.
    tolerance: f64,
    /// Metres: the size of the rest shape.
    size: f64,
    automatic: bool,
}

/// γ, which is lowered where a frame asks for it, and what is known of lowering it further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamma {
    /// γ itself.
    pub value: f64,
    /// The error, in metres, at which a smaller γ was last tried in vain; 0 before.
    pub in_vain: f64,
}

impl Gamma {
    /// One of which nothing is known.
    pub fn new(value: f64) -> Self {
        Self { value, in_vain: 0.0 }
    }
}

/// How much worse than where it was in vain a fit must be for a smaller γ to be tried again: a try costs as much as the fit.
const WORSE: f64 = 1.2;

/// How well a frame was fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fitted {
    /// Root mean square distance of the surface from the animation, by area, in metres.
    pub error: f64,
    /// γ that was used.
    pub gamma: f64,
    /// Newton iterations.
    pub iterations: usize,
    /// Whether Newton's method came to rest.
    pub converged: bool,
}

impl Fit {
    /// Young's modulus of the fit, in Pa, for which γ has the meaning of the paper's table 1.
    pub const YOUNG: f64 = 1e7;

    /// Prepares for a surface embedded in tets. `areas` weighs each vertex, zero where there is no animation; `tolerance` is the
    /// error to reach, in metres. `gamma` is chosen automatically when `None`.
    pub fn new(
        mesh: &TetMesh,
        embedding: &Embedding,
        areas: &[f64],
        tolerance: f64,
        gamma: Option<f64>,
    ) -> Result<(Self, Gamma), Error> {
        let known = vec![false; mesh.points().len()];
        Self::with_known(mesh, embedding, areas, known, tolerance, gamma)
    }

    /// The same with points of the tets that stay where they are put.
    pub fn with_known(
        mesh: &TetMesh,
        embedding: &Embedding,
        areas: &[f64],
        known: Vec<bool>,
        tolerance: f64,
        gamma: Option<f64>,
    ) -> Result<(Self, Gamma), Error> {
        if areas.len() != embedding.len() {
            return Err(Error::Sizes { what: "vertex areas", expected: embedding.len(), got: areas.len() });
        }
        if !areas.iter().any(|&area| area > 0.0) {
            return Err(Error::NothingAnimated);
        }
        let material = Material { young: Self::YOUNG, poisson: 0.45, density: 1000.0, damping: 0.0 };
        let solid = Solid::new(mesh, Law::Stvk, &material)?;
        let body = Body::builder(solid.masses)
            .energy(Elements::new(solid.tets))
            .energy(FitEnergy::new(embedding, areas))
            .known(known)
            .build()?;
        let settings = dynamics::Settings { newton_iterations: 40, ..dynamics::Settings::default() };
        let stepper = Stepper::new(&body, mesh.points(), settings)?;
        let edges = mesh.edges();
        let length = |[a, b]: &[u32; 2]| mesh.points()[*a as usize].distance(mesh.points()[*b as usize]);
        let edge = edges.iter().map(length).sum::<f64>() / edges.len().max(1) as f64;
        let size = Bounds::of(mesh.points().iter().copied()).diagonal();
        let fit = Self { body, stepper, areas: areas.to_vec(), tolerance, size, automatic: gamma.is_none() };
        // tets and springs equally stiff at the scale of a tet; soft enough for every animation to begin with
        Ok((fit, Gamma::new(gamma.unwrap_or(edge / Self::YOUNG))))
    }

    /// Moves `x` to the fit of `surface`, from where it is. γ is lowered where it must be, and stays so for the frames to come.
    pub fn solve(
        &mut self,
        surface: &[Vec3],
        gamma: &mut Gamma,
        x: &mut Vec<Vec3>,
        embedding: &Embedding,
    ) -> Result<Fitted, Error> {
        if surface.len() != self.areas.len() {
            return Err(Error::Sizes {
                what: "surface vertices",
                expected: self.areas.len(),
                got: surface.len(),
            });
        }
        if let Some(vertex) = (0..surface.len()).find(|&v| self.areas[v] > 0.0 && !surface[v].is_finite()) {
            return Err(Error::NotFinite { vertex });
        }
        let mut fitted = self.solve_at(surface, gamma.value, x, embedding)?;
        // a millionth of where γ begins: beyond, tets follow every vertex and their shape falls to pieces
        let mut left = 6;
        while self.automatic && fitted.error > self.tolerance.max(WORSE * gamma.in_vain) && left > 0 {
            let mut closer = x.clone();
            let next = self.solve_at(surface, 0.1 * gamma.value, &mut closer, embedding)?;
            // While the tets' stiffness is what keeps them away, a tenth of it brings them closer by much. What they cannot
            // represent stays whatever γ is, and detail preservation carries it over; less γ would only tear them.
            if next.error > 0.7 * fitted.error {
                gamma.in_vain = fitted.error;
                break;
            }
            (gamma.value, *x) = (0.1 * gamma.value, closer);
            let iterations = fitted.iterations + next.iterations;
            fitted = Fitted { iterations, ..next };
            left -= 1;
        }
        Ok(fitted)
    }

    fn solve_at(
        &mut self,
        surface: &[Vec3],
        gamma: f64,
        x: &mut Vec<Vec3>,
        embedding: &Embedding,
    ) -> Result<Fitted, Error> {
        // a vertex without animation may be anywhere, NaN included; nothing reads it
        let internal = FitTarget::internal(surface, 1.0 / gamma);
        let mut state = State { internal, ..State::at_rest(std::mem::take(x)) };
        let guide = StaticGuide::new(state.positions.clone());
        // one percent, as in the paper, of what is asked of the fit
        let tolerance = (0.05 * self.tolerance).max(1e-9 * self.size);
        let relaxed = self.stepper.relax(&self.body, &mut state, &guide, tolerance);
        *x = state.positions;
        let relaxed = relaxed?;
        let error = self.error(surface, x, embedding);
        Ok(Fitted { error, gamma, iterations: relaxed.effort.iterations, converged: relaxed.converged })
    }

    /// Root mean square distance of the embedded surface from `surface`, by area.
    fn error(&self, surface: &[Vec3], x: &[Vec3], embedding: &Embedding) -> f64 {
        let placed = embedding.apply(x);
        let (mut sum, mut area) = (0.0, 0.0);
        for v in (0..surface.len()).filter(|&v| self.areas[v] > 0.0) {
            sum += self.areas[v] * placed[v].distance_squared(surface[v]);
            area += self.areas[v];
        }
        (sum / area).sqrt()
    }

    /// Solver and memory, for reports.
    pub fn solver_info(&self) -> linear::Info {
        self.stepper.solver_info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ripples that the tets cannot represent: the error is what is left of them, in the mean by area.
    #[test]
    fn the_error_is_the_mean_distance_by_area() {
        let mesh = TetMesh::box_grid([2, 2, 2], Vec3::ONE).unwrap();
        let fine = TetMesh::box_grid([5, 5, 5], Vec3::ONE).unwrap();
        let areas = geometry::vertex_areas(fine.points(), &fine.boundary_faces());
        let embedding = Embedding::new(&mesh, fine.points()).unwrap();
        let surface: Vec<Vec3> =
            fine.points().iter().map(|p| *p + 0.05 * (40.0 * p.x + 30.0 * p.y).sin() * Vec3::Z).collect();
        let (mut fit, mut gamma) = Fit::new(&mesh, &embedding, &areas, 1e-3, None).unwrap();
        let mut x = mesh.points().to_vec();
        let fitted = fit.solve(&surface, &mut gamma, &mut x, &embedding).unwrap();
        let placed = embedding.apply(&x);
        let squares: f64 =
            (0..surface.len()).map(|v| areas[v] * placed[v].distance_squared(surface[v])).sum();
        let expected = (squares / areas.iter().sum::<f64>()).sqrt();
        assert!((fitted.error - expected).abs() < 1e-12 && expected > 0.01, "{} {expected}", fitted.error);
    }
}
