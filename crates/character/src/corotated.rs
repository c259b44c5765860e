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

mod packed;
mod rotation;
mod system;

use geometry::{Mat3, Prolongation, Vec3, tet_volume};

use crate::Error;
use crate::flesh::{Flesh, Piece, region_joints};
use crate::nonlinear::{spring_joints, twist_springs};
use crate::region::Region;

use rotation::{rotation, symmetric};
pub(crate) use system::CorotatedSystem;

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
