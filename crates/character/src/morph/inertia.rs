//! What moving bones do to displacements that are measured in the bind pose.
//!
//! A point is at x = A(X + u) + b in the world, A and b its joint's. Backward Euler there, M (x₊ − 2x + x₋)/h², seen from where the joint is
//! at the step's end, is
//!
//! ```text
//! M/h² [ u₊ − 2u + u₋  +  (1 − 2G₁ + G₂) X  −  2(G₁ − 1) u  +  (G₂ − 1) u₋  +  c ],   G₁ = R₊ᵀA,  G₂ = R₊ᵀA₋,  c = R₊ᵀ(b₊ − 2b + b₋)
//! ```
//!
//! which has centrifugal, Coriolis and Euler forces in it, and no more is lost than backward Euler itself loses. Where joints share a
//! point, the bracket is blended by its weights. Differs: Galoppo 2007, whom the paper follows, writes the same forces in continuous time.

use geometry::{Mat3, Vec3};
use glam::DAffine3;

use crate::bytes::{Reader, Writer};
use crate::frames::Frame;

use super::basis::weighted;

/// How a joint moves over two steps: what the bracket needs beside X, u and u₋.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swing {
    /// G₁ − 1.
    pub(crate) first: Mat3,
    /// G₂ − 1.
    pub(crate) second: Mat3,
    /// c, in metres.
    pub(crate) shift: Vec3,
    /// R₊ᵀ.
    pub(crate) to_joint: Mat3,
}

impl Swing {
    pub(crate) const STILL: Self =
        Self { first: Mat3::ZERO, second: Mat3::ZERO, shift: Vec3::ZERO, to_joint: Mat3::IDENTITY };

    /// Over the ends of the step before the last, the last one, and this one.
    pub(crate) fn new(before: &Frame, last: &Frame, now: &Frame) -> Self {
        let [a, b, c] = [before, last, now].map(|frame| -> DAffine3 { frame.world_from_rest });
        let to_joint = now.rotation.transpose();
        // a stretched joint is taken as it is now: only turning and moving make forces
        let own = to_joint * c.matrix3;
        Self {
            first: to_joint * b.matrix3 - own,
            second: to_joint * a.matrix3 - own,
            shift: to_joint * (c.translation - 2.0 * b.translation + a.translation),
            to_joint,
        }
    }

    /// The bracket without u₊ − 2u + u₋, for a point at X.
    pub(crate) fn bracket(&self, x: Vec3, u: Vec3, earlier: Vec3) -> Vec3 {
        (self.second - self.first * 2.0) * x - 2.0 * (self.first * u) + self.second * earlier + self.shift
    }

    fn is_turning(&self) -> bool {
        let size = |m: &Mat3| {
            m.x_axis.abs().max_element() + m.y_axis.abs().max_element() + m.z_axis.abs().max_element()
        };
        size(&self.first) + size(&self.second) > 1e-12
    }
}

/// Puts frames where joints were that have come this way since, in metres.
pub(crate) fn precede(frames: &mut [Frame], way: Vec3) {
    frames.iter_mut().for_each(|frame| frame.world_from_rest.translation -= way);
}

/// Masses seen through a basis: UᵀMU, and for every joint the integrals that its motion is multiplied with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReducedMass {
    /// UᵀMU, row after row.
    pub(crate) matrix: Vec<f64>,
    joints: Vec<JointMass>,
}

#[derive(Clone, Debug, PartialEq)]
struct JointMass {
    joint: usize,
    /// Σ m w U, r vectors.
    linear: Vec<Vec3>,
    /// Σ m w U Xᵀ, r matrices.
    place: Vec<Mat3>,
    /// Σ m w Uₓ Uᵧ for the nine pairs (x, y), each r × r.
    turning: Vec<f64>,
}

impl ReducedMass {
    pub(crate) fn new(
        masses: &[f64],
        joints: &[Vec<(u32, f64)>],
        points: &[Vec3],
        basis: &[Vec<Vec3>],
    ) -> Self {
        let r = basis.len();
        let mut matrix = vec![0.0; r * r];
        for a in 0..r {
            for b in 0..r {
                matrix[a * r + b] = weighted(masses, &basis[a], &basis[b]);
            }
        }
        let last = joints.iter().flatten().map(|share| share.0 as usize + 1).max().unwrap_or(0);
        let mut all = Vec::new();
        for joint in 0..last {
            let own: Vec<(usize, f64)> = joints
                .iter()
                .enumerate()
                .flat_map(|(v, row)| {
                    row.iter().filter(|share| share.0 as usize == joint).map(move |s| (v, s.1))
                })
                .filter(|(v, _)| basis.iter().any(|mode| mode[*v] != Vec3::ZERO))
                .collect();
            if own.is_empty() {
                continue;
            }
            let mut part = JointMass {
                joint,
                linear: vec![Vec3::ZERO; r],
                place: vec![Mat3::ZERO; r],
                turning: vec![0.0; 9 * r * r],
            };
            for (v, share) in own {
                let mass = masses[v] * share;
                for a in 0..r {
                    let u = mass * basis[a][v];
                    part.linear[a] += u;
                    let x = points[v];
                    part.place[a] += Mat3::from_cols(u * x.x, u * x.y, u * x.z);
                    for b in 0..r {
                        let other = basis[b][v];
                        for row in 0..3 {
                            for column in 0..3 {
                                part.turning[((3 * row + column) * r + a) * r + b] += u[row] * other[column];
                            }
                        }
                    }
                }
            }
            all.push(part);
        }
        Self { matrix, joints: all }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.numbers(self.matrix.iter().copied());
        out.list(&self.joints, |out, part| {
            out.count(part.joint);
            out.numbers(part.linear.iter().flat_map(|v| v.to_array()));
            out.numbers(part.place.iter().flat_map(|m| m.to_cols_array()));
            out.numbers(part.turning.iter().copied());
        });
    }

    /// The reverse, of `r` coordinates and so many joints.
    pub(crate) fn read(input: &mut Reader, r: usize, joints: usize) -> Option<Self> {
        let matrix = input.many(r * r)?;
        let joints = input.list(|input| {
            Some(JointMass {
                joint: input.below(joints)?,
                linear: (0..r).map(|_| input.numbers().map(Vec3::from_array)).collect::<Option<_>>()?,
                place: (0..r)
                    .map(|_| Some(Mat3::from_cols_array(&input.numbers()?)))
                    .collect::<Option<_>>()?,
                turning: input.many(9 * r * r)?,
            })
        })?;
        Some(Self { matrix, joints })
    }

    /// Adds `scale` times Uᵀ M [bracket] of all joints, and takes away `scale` h² of gravity's pull: `gravity` is h²g in the world.
    ///
    /// `scratch` has room for 9 r numbers.
    pub(crate) fn add_inertia(
        &self,
        scale: f64,
        swings: &[Swing],
        [q, earlier]: [&[f64]; 2],
        gravity: Vec3,
        scratch: &mut [f64],
        force: &mut [f64],
    ) {
        let r = q.len();
        for part in &self.joints {
            let swing = &swings[part.joint];
            let shift = swing.shift - swing.to_joint * gravity;
            for (force, linear) in force.iter_mut().zip(&part.linear) {
                *force += scale * linear.dot(shift);
            }
            if !swing.is_turning() {
                continue;
            }
            let g = swing.second - swing.first * 2.0;
            for (force, place) in force.iter_mut().zip(&part.place) {
                let product =
                    g.x_axis.dot(place.x_axis) + g.y_axis.dot(place.y_axis) + g.z_axis.dot(place.z_axis);
                *force += scale * product;
            }
            for row in 0..3 {
                for column in 0..3 {
                    let (first, second) =
                        (-2.0 * swing.first.col(column)[row], swing.second.col(column)[row]);
                    let slot = &mut scratch[(3 * row + column) * r..][..r];
                    for ((slot, q), earlier) in slot.iter_mut().zip(q).zip(earlier) {
                        *slot = scale * (first * q + second * earlier);
                    }
                }
            }
            for (moved, matrix) in scratch[..9 * r].chunks_exact(r).zip(part.turning.chunks_exact(r * r)) {
                for (force, row) in force.iter_mut().zip(matrix.chunks_exact(r)) {
                    *force += super::polynomial::dot(row, moved);
                }
            }
        }
    }
}
