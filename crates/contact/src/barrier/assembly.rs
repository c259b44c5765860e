//! Active contacts, and what they do to the Newton system: barriers and friction, through the attachment.

use dynamics::{Block, Element};
use geometry::{Mat3, Vec3};
use linear::Matrix;
use rayon::prelude::*;

use crate::broad_phase::Candidate;
use crate::distance::{Closest, closest};
use crate::friction::FrictionContact;
use crate::{Attachment, Barrier, CollisionMesh, Contact, Pair};

/// A contact with the stiffness of its barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveContact {
    pub(crate) contact: Contact,
    /// κ, in N/m.
    pub(crate) stiffness: f64,
}

/// Everything that the assembly of one Newton iteration needs.
pub(crate) struct ContactAssembly<'a> {
    pub(crate) mesh: &'a CollisionMesh,
    pub(crate) attachment: &'a Attachment,
    /// Contact points.
    pub(crate) x: &'a [Vec3],
    /// What obstacles' points still have to go in this iteration.
    pub(crate) displacements: &'a [Vec3],
    pub(crate) known: &'a [bool],
}

/// Those of the candidates that are within their barrier.
pub(crate) fn active_contacts(mesh: &CollisionMesh, list: &[Candidate], x: &[Vec3]) -> Vec<Contact> {
    let near = |candidate: &Candidate| {
        let Candidate { pair, min_distance, dhat } = *candidate;
        let nearest = closest(pair.kind, &pair.gather(x));
        let is_active = nearest.distance < min_distance + dhat && !mesh.is_behind(&pair, x);
        is_active.then_some(Contact { pair, nearest, min_distance, dhat })
    };
    list.par_iter().filter_map(near).collect()
}

impl ContactAssembly<'_> {
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
    pub(crate) fn value(&self, active: &[ActiveContact], friction_contacts: &[FrictionContact]) -> f64 {
        let push = |active: &ActiveContact| {
            let barrier = self.mesh.barrier(&active.contact, active.stiffness);
            barrier.value(&active.contact.pair.gather(self.x))
        };
        // summed in order, whatever the threads
        let pushes: Vec<f64> = active.par_iter().map(push).collect();
        pushes.iter().sum::<f64>()
            + friction_contacts
                .iter()
                .map(|contact| contact.friction.value(&contact.pair.gather(self.x)))
                .sum::<f64>()
    }

    /// How hard each pair is pressed together, in newtons.
    pub(crate) fn normal_forces(&self, active: &[ActiveContact]) -> Vec<f64> {
        let press = |active: &ActiveContact| {
            let barrier = self.mesh.barrier(&active.contact, active.stiffness);
            barrier.normal_force(&active.contact.pair.gather(self.x))
        };
        active.par_iter().map(press).collect()
    }

    /// Adds barriers and friction.
    pub(crate) fn add(
        &self,
        active: &[ActiveContact],
        friction_contacts: &[FrictionContact],
        force: &mut [Vec3],
        matrix: &mut Matrix,
    ) {
        let push = |active: &ActiveContact| {
            let x = active.contact.pair.gather(self.x);
            let barrier: Barrier = self.mesh.barrier(&active.contact, active.stiffness);
            (barrier.gradient(&x), barrier.projected_hessian(&x))
        };
        let pushes: Vec<([Vec3; 4], Block<4>)> = active.par_iter().map(push).collect();
        for (active, (gradient, block)) in active.iter().zip(&pushes) {
            self.scatter(&active.contact.pair.points, gradient, block, force, matrix);
        }
        for contact in friction_contacts {
            let x = contact.pair.gather(self.x);
            let (gradient, block) = (contact.friction.gradient(&x), contact.friction.projected_hessian(&x));
            self.scatter(&contact.pair.points, &gradient, &block, force, matrix);
        }
    }

    /// force −= g + H·(displacements of the obstacles); matrix += H, through the attachment.
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
                    push += block.0[i][j] * self.displacements[obstacle];
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
