//! Contact of a reduced morph: where its skin may not stay, and the step that makes room.
//!
//! A step is taken as if nothing were in the way. Whoever knows what is (a game, or a skin that the engine keeps from crossing anything)
//! says by how much points have to give way, and the step is taken again with a cushion at each of them,
//!
//! ```text
//! E(q) + Σ ½ k (nᵀ J (q − q̂) − d)²,   J = Σ w R U at the point,   q̂ where the step without them ended
//! ```
//!
//! implicitly and in the same coordinates: stable for any k, and flesh that is pushed in here comes out there.

use geometry::Vec3;

use crate::Error;
use crate::frames::Frame;

use super::polynomial::dot;
use super::surface::Surface;

/// A point of the skin that has to go further than the last step took it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Press {
    /// Which.
    pub point: usize,
    /// Which way, of unit length.
    pub direction: Vec3,
    /// How much further, in metres.
    pub depth: f64,
    /// How firm the cushion is, in N/m.
    pub stiffness: f64,
}

impl Press {
    fn check(&self, points: usize) -> Result<(), Error> {
        if self.point >= points {
            let found = self.point + 1;
            return Err(Error::CountMismatch { what: "points of the skin", found, expected: points });
        }
        let sound = self.direction.is_finite() && self.depth.is_finite() && self.stiffness.is_finite();
        if !sound || self.stiffness < 0.0 {
            return Err(Error::NotFinite { what: "the press on point", index: self.point });
        }
        Ok(())
    }
}

/// Cushions as they act on coordinates: Σ k a aᵀ and Σ k (d + aᵀq̂) a, with a = JᵀN.
#[derive(Clone, Debug)]
pub(super) struct Presses {
    pub(super) matrix: Vec<f64>,
    pub(super) pull: Vec<f64>,
    row: Vec<f64>,
}

impl Presses {
    pub(super) fn new(r: usize) -> Self {
        Self { matrix: vec![0.0; r * r], pull: vec![0.0; r], row: vec![0.0; r] }
    }

    /// Those of a skin whose joints are at `frames` and that the coordinates `q` took where it is.
    pub(super) fn set(
        &mut self,
        presses: &[Press],
        surface: &Surface,
        frames: &[Frame],
        q: &[f64],
    ) -> Result<(), Error> {
        presses.iter().try_for_each(|press| press.check(surface.len()))?;
        let r = q.len();
        self.matrix.fill(0.0);
        self.pull.fill(0.0);
        for press in presses {
            let turned = |&(joint, weight): &(u32, f32)| {
                let frame = &frames[joint as usize];
                f64::from(weight) * (frame.world_from_rest.matrix3.transpose() * press.direction)
            };
            let in_bind: Vec3 = surface.influences(press.point).iter().map(turned).sum();
            for (column, entry) in self.row.iter_mut().enumerate() {
                *entry = surface.entry(press.point, column).dot(in_bind);
            }
            let goal = press.stiffness * (press.depth + dot(&self.row, q));
            for a in 0..r {
                let scaled = press.stiffness * self.row[a];
                // the lower half is enough
                let own = &mut self.matrix[a * r..=a * r + a];
                own.iter_mut().zip(&self.row).for_each(|(to, entry)| *to += scaled * entry);
                self.pull[a] += goal * self.row[a];
            }
        }
        for a in 0..r {
            for b in 0..a {
                self.matrix[b * r + a] = self.matrix[a * r + b];
            }
        }
        Ok(())
    }

    /// Adds their force at `q`, seen as a residual, and their stiffness.
    pub(super) fn add(&self, q: &[f64], residual: &mut [f64], matrix: &mut [f64]) {
        for ((to, row), pull) in residual.iter_mut().zip(self.matrix.chunks_exact(q.len())).zip(&self.pull) {
            *to += dot(row, q) - pull;
        }
        matrix.iter_mut().zip(&self.matrix).for_each(|(to, own)| *to += own);
    }
}
