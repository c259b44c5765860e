//! What contact does to Newton's system: barriers with their stiffness, lagged friction, and forces that untangle.

use dynamics::ForceElement;
use geometry::{Mat3, Vec3};
use linear::Matrix;
use rayon::prelude::*;

use super::{BarrierContact, StageCache};
use crate::barrier::{ActiveContact, ContactAssembly, active_contacts};
use crate::friction::{FrictionContact, STICK_STIFFNESS_RATIO};
use crate::{Contact, Friction, Pair};

/// How fast crossed surfaces are drawn apart, in m/s.
const UNTANGLING_SPEED: f64 = 0.5;
/// Weights of a distance on the body's points that are below this are differences of rounded numbers: what one tet carries as a whole
/// cannot be parted by it, and a force made large enough to try would leave a matrix of noise.
const LEAST_LEVER: f64 = 1e-6;

/// How a pair follows the body's points.
struct Lever {
    /// Velocity against each other for an impulse, in 1/kg.
    mobility: f64,
    /// That velocity over twice the fastest of the body's points, at most 1.
    reach: f64,
}

impl BarrierContact {
    /// Lagged friction: pairs that are pressed together at the end of a stage have friction in the next one, with the normal force of
    /// now. One
    /// that stuck keeps its anchor; one that slid drags it along, seen from where the two are nearest now.
    pub(super) fn next_friction_contacts(&self, stage: &StageCache, x: &[Vec3]) -> Vec<FrictionContact> {
        let contacts = active_contacts(&self.mesh, &self.candidates.list, x);
        let assembly = self.assembly(x, &[], &stage.known);
        let active = self.with_stiffness(stage, &contacts, &assembly);
        let forces = assembly.normal_forces(&active);
        let lag = |active: &ActiveContact, force: f64| {
            let Contact { pair, nearest, .. } = active.contact;
            let limit = self.mesh.friction(&pair) * force;
            let normal = nearest.normal().filter(|_| limit > 0.0)?;
            let place = pair.gather(x);
            let stiffness = STICK_STIFFNESS_RATIO * active.stiffness;
            let anchored = |slip: Vec3| Friction {
                weights: nearest.weights,
                normal,
                anchor: nearest.difference - slip,
                limit,
                stiffness,
            };
            let before = self.friction_contacts.binary_search_by_key(&pair, |contact| contact.pair);
            let friction = match before.map(|k| self.friction_contacts[k].friction) {
                Ok(old) if !old.is_sliding(&place) => Friction { normal, limit, stiffness, ..old },
                Ok(old) => anchored(Friction { anchor: old.anchor_after(&place), ..old }.slip(&place)),
                Err(_) => anchored(Vec3::ZERO),
            };
            Some(FrictionContact { pair, friction })
        };
        active.iter().zip(forces).filter_map(|(active, force)| lag(active, force)).collect()
    }

    /// κ: what the two resist by themselves, and more where they come faster than the gap is wide.
    fn stiffness(&self, stage: &StageCache, contact: &Contact, assembly: &ContactAssembly) -> f64 {
        let Contact { pair, nearest, dhat, .. } = contact;
        if let Ok(k) = stage.stiffness.binary_search_by_key(pair, |known| known.0) {
            return stage.stiffness[k].1;
        }
        let motion = pair.gather(&stage.motion);
        let normal = nearest.normal().unwrap_or(Vec3::ZERO);
        let closing = -(0..4).map(|i| nearest.weights[i] * normal.dot(motion[i])).sum::<f64>();
        let local = assembly.local_stiffness(nearest, pair, &stage.diagonal);
        local * (closing / (4.0 * dhat)).clamp(1.0, 1e4)
    }

    /// Contacts with their κ.
    pub(super) fn with_stiffness(
        &self,
        stage: &StageCache,
        contacts: &[Contact],
        assembly: &ContactAssembly,
    ) -> Vec<ActiveContact> {
        let active = |contact: &Contact| ActiveContact {
            contact: *contact,
            stiffness: self.stiffness(stage, contact, assembly),
        };
        contacts.par_iter().map(active).collect()
    }

    /// Draws crossed surfaces apart.
    pub(super) fn add_untangling(
        &self,
        stage: &StageCache,
        x: &[Vec3],
        force: &mut [Vec3],
        matrix: &mut Matrix,
    ) {
        if self.intersections.is_empty() {
            return;
        }
        let displacements = self.obstacle_displacements();
        let assembly = self.assembly(x, &displacements, &stage.known);
        let velocity = |p: u32| (x[p as usize] - stage.start[p as usize]) / stage.seconds;
        for (points, mut contour_force) in
            self.intersections.contour_forces(&self.mesh, x, 1.0, UNTANGLING_SPEED)
        {
            let mass = |p: u32| self.contact_mass(p as usize, stage);
            let mobility: f64 = points.iter().zip(contour_force.weights).map(|(&p, w)| w * w / mass(p)).sum();
            contour_force.strength =
                if mobility > 0.0 { 20.0 * UNTANGLING_SPEED / (mobility * stage.seconds) } else { 0.0 };
            if let Some(Lever { mobility, reach }) = self.lever(&points, &contour_force.weights, stage) {
                contour_force.speed = reach * UNTANGLING_SPEED;
                contour_force.strength = 20.0 * contour_force.speed / (mobility * stage.seconds);
            }
            let v = points.map(velocity);
            let pull = contour_force.force(0.0, &x.first_chunk().copied().unwrap_or([Vec3::ZERO; 5]), &v);
            let drag = contour_force.damping(0.0, &[Vec3::ZERO; 5], &v) * stage.seconds.recip();
            assembly.scatter(&points, &pull.map(|f| -f), &drag, force, matrix);
        }
        for (point, exit) in self.intersections.exits(&self.mesh, x, self.dhat) {
            // critically fast: half of the way out in a stage
            let stiffness = self.contact_mass(point as usize, stage) / stage.seconds.powi(2);
            if !stiffness.is_finite() {
                continue;
            }
            let pull = stiffness * (x[point as usize] - exit);
            let block = dynamics::Block([[Mat3::IDENTITY * stiffness]]);
            assembly.scatter(&[point], &[pull], &block, force, matrix);
        }
    }

    /// How two crossing things that hang on the same points of the body move against each other; none where they hang on different ones.
    ///
    /// With J the weights by which their distance follows the body's points: an impulse p on the pair gives them the velocities J p/m, and the
    /// pair Σ J²/m p. Where a coarse tet carries both, J nearly vanishes, and to part them at some speed its points would have to be
    /// thrown about many times as fast. So they are parted no faster than their points may move.
    fn lever(&self, points: &[u32; 5], weights: &[f64; 5], stage: &StageCache) -> Option<Lever> {
        let carried = points.iter().zip(weights).filter(|(p, _)| (**p as usize) < self.attachment.len());
        let mut parts: Vec<(u32, f64)> = carried
            .flat_map(|(&p, w)| {
                self.attachment.parts(p as usize).iter().map(move |&(dof, part)| (dof, w * part))
            })
            .collect();
        parts.sort_by_key(|part| part.0);
        let count = parts.len();
        parts.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        if parts.len() == count {
            return None;
        }
        let moves = |&&(dof, j): &&(u32, f64)| j.abs() > LEAST_LEVER && !stage.known[dof as usize];
        let free = parts.iter().filter(moves);
        let (mobility, fastest) = free.fold((0.0, 0.0_f64), |(mobility, fastest), &(dof, j)| {
            let m = stage.masses[dof as usize];
            (mobility + j * j / m, fastest.max(j.abs() / m))
        });
        let is_movable = mobility > 0.0 && fastest > 0.0;
        is_movable.then(|| Lever { mobility, reach: (2.0 * mobility / fastest).min(1.0) })
    }

    fn contact_mass(&self, point: usize, stage: &StageCache) -> f64 {
        if point < self.attachment.len() {
            self.attachment.mass(point, &stage.masses, &stage.known)
        } else {
            f64::INFINITY
        }
    }

    pub(super) fn assembly<'a>(
        &'a self,
        x: &'a [Vec3],
        displacements: &'a [Vec3],
        known: &'a [bool],
    ) -> ContactAssembly<'a> {
        ContactAssembly { mesh: &self.mesh, attachment: &self.attachment, x, displacements, known }
    }

    /// Visits the body's points that each of the pairs couples.
    pub(super) fn visit_pairs<'a>(
        &self,
        pairs: impl Iterator<Item = &'a Pair>,
        visit: &mut dyn FnMut(&[u32]),
    ) {
        let mut stencil: Vec<u32> = Vec::new();
        for pair in pairs {
            stencil.clear();
            for &p in pair.points.iter().filter(|&&p| (p as usize) < self.attachment.len()) {
                stencil.extend(self.attachment.parts(p as usize).iter().map(|part| part.0));
            }
            visit(&stencil);
        }
    }
}
