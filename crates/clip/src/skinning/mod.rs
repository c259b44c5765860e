//! Smooth skinning decomposition: motion of points in, a few rigid bones and weights out.
//!
//! Le and Deng 2012, *Smooth skinning decomposition with rigid bones*: find bones B_j(t) = (R_j, T_j) and weights w with
//!
//! min Σ_t Σ_i ‖Σ_j w_ij B_j(t) x_i − p_i(t)‖²,  w ≥ 0, Σ_j w_ij = 1, at most four w_ij of a point above zero,
//!
//! by turns: weights by a small quadratic programme for each point ([`weights`]), bones by the closed form of weighted Procrustes
//! ([`bones`]).
//!
//! Differs: bones that a rig already has may take part; they stay as they are, so that points which the rig alone explains keep what they hang on,
//! and new bones go where it does not. They are not clustered beforehand but added one by one, each around the point that is furthest from where it
//! should be, until a bound holds for the furthest point of all, not for the mean. Points may move before the bones do (shape keys).

mod binding;
mod bones;
mod keys;
mod weights;

use geometry::Vec3;
use glam::DAffine3;

pub(crate) use keys::{Rigid, between, reduced};

/// Joints that a point hangs on, and how much.
pub(crate) type Influences = Vec<(u32, f64)>;

/// Turns of weights and bones at most, after the last bone was added.
const TURNS: usize = 24;

/// Points among those that are furthest off around which a new bone is tried.
const TRIED: usize = 12;

/// What is to be decomposed.
pub(crate) struct Motion {
    /// Points before the bones move them, in each frame; one row when they are the same in all.
    pub(crate) before: Vec<Vec<Vec3>>,
    /// Where they should be, in each frame.
    pub(crate) shown: Vec<Vec<[f32; 3]>>,
    /// Bones that are there already: for each, its motion in each frame.
    pub(crate) given: Vec<Vec<DAffine3>>,
    /// What each point hangs on of those; empty when there are none.
    pub(crate) influences: Vec<Influences>,
}

/// How far to go.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    /// New bones at most.
    pub(crate) at_most: usize,
    /// How far a point may be from where it should be, in metres.
    pub(crate) error: f64,
}

/// Bones and weights that give a motion.
pub(crate) struct Decomposition {
    /// All bones, those that were given first.
    pub(crate) bones: Vec<Vec<DAffine3>>,
    /// For each point at most four bones, with weights above zero that sum to one.
    pub(crate) influences: Vec<Influences>,
}

impl Motion {
    pub(crate) fn frame_count(&self) -> usize {
        self.shown.len()
    }

    pub(crate) fn point_count(&self) -> usize {
        self.before[0].len()
    }

    /// A point before the bones move it.
    pub(crate) fn before(&self, frame: usize, point: usize) -> Vec3 {
        self.before[frame.min(self.before.len() - 1)][point]
    }

    /// Where a point should be.
    pub(crate) fn shown(&self, frame: usize, point: usize) -> Vec3 {
        Vec3::from(self.shown[frame][point].map(f64::from))
    }

    /// Finds bones and weights within a bound, or as near to it as it gets.
    pub(crate) fn decompose(&self, bound: Bound) -> Decomposition {
        let mut found =
            Decomposition { bones: self.given.clone(), influences: vec![Vec::new(); self.point_count()] };
        if self.given.is_empty() {
            found.bones.push(self.seeded(self.furthest_from_the_middle(), bound.at_most).1);
            found.influences = vec![vec![(0, 1.0)]; self.point_count()];
        } else {
            found.influences.clone_from(&self.influences);
            self.fit_weights(&mut found, |_, _, own| own.to_vec());
        }
        let most = self.given.len() + bound.at_most;
        // what is left of the bound is for keys
        let goal = 0.5 * bound.error;
        let mut errors = self.errors(&found);
        while found.bones.len() < most && largest(&errors).1 > goal {
            let bone = found.bones.len() as u32;
            found.bones.push(self.most_rigid(&errors, bound.at_most));
            // bones wait: what is not explained yet would draw those away that go with their points already
            self.fit_weights(&mut found, |_, point, own| match errors[point] > 0.1 * goal {
                true => with(own, [bone]),
                false => own.to_vec(),
            });
            errors = self.errors(&found);
        }
        self.polish(found, goal)
    }

    /// Turns of weights and bones until the furthest point comes no nearer.
    fn polish(&self, mut found: Decomposition, goal: f64) -> Decomposition {
        let mut errors = self.errors(&found);
        let mut best = (largest(&errors).1, found.clone());
        let mut idle = 0;
        for _ in 0..TURNS {
            if best.0 <= goal || idle == 6 {
                break;
            }
            self.fit_weights(&mut found, |bones, point, own| match errors[point] > 0.1 * goal {
                true => with(own, self.nearest_bones(bones, point)),
                false => own.to_vec(),
            });
            self.fit_bones(&mut found, &emphasis(&errors));
            errors = self.errors(&found);
            let now = largest(&errors).1;
            idle = if now < 0.99 * best.0 { 0 } else { idle + 1 };
            if now < best.0 {
                best = (now, found.clone());
            }
        }
        best.1
    }

    /// How far each point is from where it should be, at most over all frames.
    pub(crate) fn errors(&self, found: &Decomposition) -> Vec<f64> {
        let mut errors = vec![0.0_f64; self.point_count()];
        for frame in 0..self.frame_count() {
            for (point, error) in errors.iter_mut().enumerate() {
                *error = error.max(self.residual(found, frame, point).length());
            }
        }
        errors
    }

    /// Σ_j w_ij B_j x_i − p_i.
    fn residual(&self, found: &Decomposition, frame: usize, point: usize) -> Vec3 {
        let before = self.before(frame, point);
        let add = |sum: Vec3, &(bone, weight): &(u32, f64)| {
            sum + found.bones[bone as usize][frame].transform_point3(before) * weight
        };
        found.influences[point].iter().fold(-self.shown(frame, point), add)
    }

    fn furthest_from_the_middle(&self) -> usize {
        let points = &self.before[0];
        let middle = points.iter().sum::<Vec3>() / points.len().max(1) as f64;
        largest(&points.iter().map(|point| point.distance(middle)).collect::<Vec<_>>()).0
    }
}

impl Clone for Decomposition {
    fn clone(&self) -> Self {
        Self { bones: self.bones.clone(), influences: self.influences.clone() }
    }
}

/// How much each point counts in the next turn: those that are further off than most count more, since the bound is on the furthest.
fn emphasis(errors: &[f64]) -> Vec<f64> {
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    errors.iter().map(|error| (error / mean.max(1e-300)).clamp(0.1, 10.0)).collect()
}

/// The bones that a point hangs on, and some more.
fn with(own: &[u32], more: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut all = own.to_vec();
    for bone in more {
        if !all.contains(&bone) {
            all.push(bone);
        }
    }
    all
}

/// The largest value, and the first place where it is.
fn largest(values: &[f64]) -> (usize, f64) {
    let larger =
        |best: (usize, f64), (at, &value): (usize, &f64)| if value > best.1 { (at, value) } else { best };
    values.iter().enumerate().fold((0, 0.0), larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DQuat, DVec3};

    /// A tube along x with a bone every 0.2 m, blended over 0.08 m, that bends and twists.
    fn tube(bones: usize, frames: usize) -> (Motion, Vec<Influences>) {
        let (rings, sides) = (12 * bones, 12);
        let mut before = Vec::new();
        let mut influences = Vec::new();
        for ring in 0..rings {
            let x = 0.2 * bones as f64 * (ring as f64 + 0.5) / rings as f64;
            let (bone, within) = ((x / 0.2) as usize, (x / 0.2).fract() * 0.2);
            let next = ((within - 0.12) / 0.08).clamp(0.0, 1.0);
            for side in 0..sides {
                let turn = std::f64::consts::TAU * side as f64 / sides as f64;
                before.push(DVec3::new(x, 0.05 * turn.cos(), 0.05 * turn.sin()));
                let mut of: Influences = vec![(bone as u32, 1.0 - next)];
                if next > 0.0 && bone + 1 < bones {
                    of.push((bone as u32 + 1, next));
                } else {
                    of[0].1 = 1.0;
                }
                influences.push(of);
            }
        }
        let motion = |bone: usize, frame: usize| {
            let phase = 0.35 * frame as f64 + 1.3 * bone as f64;
            let turn =
                DQuat::from_rotation_z(0.5 * phase.sin()) * DQuat::from_rotation_x(0.4 * (1.7 * phase).cos());
            let place = DVec3::new(0.2 * bone as f64, 0.0, 0.0);
            let shift = 0.1 * DVec3::new((0.9 * phase).cos(), phase.sin(), (1.1 * phase).sin());
            DAffine3::from_rotation_translation(turn, place + shift - turn * place)
        };
        let of_bone = |bone| (0..frames).map(|frame| motion(bone, frame)).collect();
        let given: Vec<Vec<DAffine3>> = (0..bones).map(of_bone).collect();
        let at = |frame: usize, point: usize| {
            let add = |sum: DVec3, &(bone, weight): &(u32, f64)| {
                sum + given[bone as usize][frame].transform_point3(before[point]) * weight
            };
            influences[point].iter().fold(DVec3::ZERO, add).as_vec3().to_array()
        };
        let shown =
            (0..frames).map(|frame| (0..before.len()).map(|point| at(frame, point)).collect()).collect();
        (Motion { before: vec![before], shown, given: Vec::new(), influences: Vec::new() }, influences)
    }

    /// What *is* a skin of six rigid bones is found again to 0.01 mm, with six bones.
    #[test]
    fn a_skin_of_rigid_bones_is_found_again() {
        let (motion, _) = tube(6, 16);
        let found = motion.decompose(Bound { at_most: 6, error: 1e-6 });
        let worst = largest(&motion.errors(&found)).1;
        assert_eq!(found.bones.len(), 6);
        assert!(worst < 1e-5, "{worst}");
        for influences in &found.influences {
            let sum: f64 = influences.iter().map(|(_, weight)| weight).sum();
            assert!(influences.len() <= 4 && influences.iter().all(|(_, weight)| *weight > 0.0));
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }

    /// Points that the given bones explain keep what they hang on, and with one bone of six missing one is added.
    #[test]
    fn bones_that_are_there_take_part_and_stay() {
        let (mut motion, influences) = tube(6, 16);
        let all = motion.decompose(Bound { at_most: 6, error: 1e-6 });
        motion.given = all.bones[..5].to_vec();
        let without = |of: &Influences| {
            let kept: Influences = of.iter().copied().filter(|(bone, _)| *bone < 5).collect();
            if kept.is_empty() { vec![(0, 1.0)] } else { kept }
        };
        motion.influences = all.influences.iter().map(without).collect();
        let found = motion.decompose(Bound { at_most: 1, error: 1e-4 });
        assert_eq!(found.bones.len(), 6);
        assert_eq!(found.bones[..5], motion.given[..], "what is given is not moved");
        let worst = largest(&motion.errors(&found)).1;
        assert!(worst < 1e-4, "{worst}");
        assert_eq!(influences.len(), found.influences.len());
    }
}
