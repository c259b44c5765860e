//! What is felt at one moment, and what it does to the Newton system: barriers and friction, seen through the attachment.

use dynamics::{Block, Element};
use geometry::{Mat3, Vec3};
use linear::Matrix;
use rayon::prelude::*;

use crate::distance::{Closest, closest};
use crate::watch::Watched;
use crate::{Attachment, Barrier, Contact, Friction, Pair, Surfaces};

/// A pair that feels its barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Felt {
    pub(crate) contact: Contact,
    pub(crate) stiffness: f64,
}

/// A pair that rubs, or may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rubbing {
    pub(crate) pair: Pair,
    pub(crate) friction: Friction,
}

/// How much stiffer than the body's own local stiffness a pair sticks: what a fold gives way before it slips is then a
/// fraction of a millimetre.
pub(crate) const STICK: f64 = 10.0;

/// Everything at one moment that the assembly needs.
pub(crate) struct Response<'a> {
    pub(crate) surfaces: &'a Surfaces,
    pub(crate) attachment: &'a Attachment,
    /// Contact points.
    pub(crate) x: &'a [Vec3],
    /// What obstacles' points still have to go in this iteration.
    pub(crate) way: &'a [Vec3],
    pub(crate) known: &'a [bool],
}

/// Those of the watched pairs that are felt.
pub(crate) fn felt(surfaces: &Surfaces, list: &[Watched], x: &[Vec3]) -> Vec<Contact> {
    let near = |watched: &Watched| {
        let Watched { pair, offset, reach } = *watched;
        let nearest = closest(pair.kind, &pair.gather(x));
        let felt = nearest.distance < offset + reach && !surfaces.is_behind(&pair, x);
        felt.then_some(Contact { pair, nearest, offset, reach })
    };
    list.par_iter().filter_map(near).collect()
}

impl Response<'_> {
    /// nᵀAn at the contact, A the system without contact: how hard the two things resist being pushed apart along n by
    /// themselves. In the plane of cloth that is its tension, across a solid its stiffness, and inertia at least.
    pub(crate) fn local_stiffness(&self, nearest: &Closest, pair: &Pair, diagonal: &[Mat3]) -> f64 {
        let Some(normal) = nearest.normal() else { return 0.0 };
        let mut mobility = 0.0;
        for (&p, w) in pair.points.iter().zip(nearest.weights) {
            if w == 0.0 || p as usize >= self.attachment.len() {
                continue;
            }
            for &(b, part) in self.attachment.parts(p as usize) {
                if !self.known[b as usize] {
                    let resistance = normal.dot(diagonal[b as usize] * normal);
                    mobility += (w * part).powi(2) / resistance;
                }
            }
        }
        if mobility > 0.0 { mobility.recip() } else { 0.0 }
    }

    /// The potential of both.
    pub(crate) fn value(&self, felt: &[Felt], rubbing: &[Rubbing]) -> f64 {
        let push = |felt: &Felt| {
            let barrier = self.surfaces.barrier(&felt.contact, felt.stiffness);
            barrier.value(&felt.contact.pair.gather(self.x))
        };
        // summed in order, whatever the threads
        let pushes: Vec<f64> = felt.par_iter().map(push).collect();
        pushes.iter().sum::<f64>()
            + rubbing.iter().map(|rub| rub.friction.value(&rub.pair.gather(self.x))).sum::<f64>()
    }

    /// How hard each pair is pressed together, in newtons.
    pub(crate) fn normal_forces(&self, felt: &[Felt]) -> Vec<f64> {
        let press = |felt: &Felt| {
            let barrier = self.surfaces.barrier(&felt.contact, felt.stiffness);
            barrier.normal_force(&felt.contact.pair.gather(self.x))
        };
        felt.par_iter().map(press).collect()
    }

    /// Adds barriers and friction.
    pub(crate) fn add_to(&self, felt: &[Felt], rubbing: &[Rubbing], force: &mut [Vec3], matrix: &mut Matrix) {
        let push = |felt: &Felt| {
            let x = felt.contact.pair.gather(self.x);
            let barrier: Barrier = self.surfaces.barrier(&felt.contact, felt.stiffness);
            (barrier.gradient(&x), barrier.projected_hessian(&x))
        };
        let pushes: Vec<([Vec3; 4], Block<4>)> = felt.par_iter().map(push).collect();
        for (felt, (gradient, block)) in felt.iter().zip(&pushes) {
            self.scatter(&felt.contact.pair.points, gradient, block, force, matrix);
        }
        for rub in rubbing {
            let x = rub.pair.gather(self.x);
            let (gradient, block) = (rub.friction.gradient(&x), rub.friction.projected_hessian(&x));
            self.scatter(&rub.pair.points, &gradient, &block, force, matrix);
        }
    }

    /// force −= g + H·(way of the obstacles); matrix += H, through the attachment.
    pub(crate) fn scatter<const N: usize>(
        &self,
        points: &[u32; N],
        gradient: &[Vec3; N],
        block: &Block<N>,
        force: &mut [Vec3],
        matrix: &mut Matrix,
    ) {
        let carried = self.attachment.len();
        for i in 0..N {
            let Some(row) = ((points[i] as usize) < carried).then_some(points[i] as usize) else { continue };
            let mut push = gradient[i];
            for j in 0..N {
                if let Some(obstacle) = (points[j] as usize).checked_sub(carried) {
                    push += block.0[i][j] * self.way[obstacle];
                }
            }
            for &(a, weight) in self.attachment.parts(row) {
                force[a as usize] -= weight * push;
            }
            for j in 0..=i {
                let column = points[j] as usize;
                if column >= carried {
                    continue;
                }
                for &(a, wa) in self.attachment.parts(row) {
                    for &(b, wb) in self.attachment.parts(column) {
                        // Each unordered pair of contact points once; a block of the diagonal meets (a, b) and (b, a), of
                        // which the lower triangle takes one. Two contact points that share a body point need both halves.
                        let part = block.0[i][j] * (wa * wb);
                        if i == j {
                            if a >= b {
                                matrix.add(a, b, part);
                            }
                        } else if a == b {
                            matrix.add(a, b, part + part.transpose());
                        } else {
                            matrix.add(a, b, part);
                        }
                    }
                }
            }
        }
    }
}
