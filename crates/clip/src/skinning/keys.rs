//! Fewer keys: of a rigid motion, the frames between which straight lines and great arcs go near enough.

use geometry::Vec3;
use glam::{Quat, Vec3 as Vec3f};

/// A rigid placement as a file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rigid {
    pub(crate) translation: Vec3f,
    pub(crate) rotation: Quat,
}

impl Rigid {
    /// Where it brings a point.
    pub(crate) fn place(&self, point: Vec3) -> Vec3 {
        self.rotation.as_dquat().normalize() * point + self.translation.as_dvec3()
    }
}

/// What a player shows between two keys: straight, and along the shorter arc.
pub(crate) fn between(a: &Rigid, b: &Rigid, part: f64) -> Rigid {
    if part <= 0.0 || a == b {
        return *a;
    }
    Rigid {
        translation: a.translation.as_dvec3().lerp(b.translation.as_dvec3(), part).as_vec3(),
        rotation: a.rotation.as_dquat().slerp(b.rotation.as_dquat(), part).as_quat().normalize(),
    }
}

/// The frames to keep, first and last among them, so that no corner is ever further than `error` from where the whole track brings it. One frame alone
/// when nothing moves further than that.
///
/// Greedy: each key is as far from the one before as the bound allows. What is off is linear in the point, so that
/// corners of a box speak for all that is inside it.
pub(crate) fn reduced(track: &[Rigid], corners: &[Vec3], error: f64) -> Vec<usize> {
    let near = |a: &Rigid, b: &Rigid| {
        corners.iter().all(|&corner| a.place(corner).distance(b.place(corner)) <= error)
    };
    if track.iter().all(|at| near(at, &track[0])) {
        return vec![0];
    }
    let holds = |from: usize, to: usize| {
        (from + 1..to).all(|frame| {
            let part = (frame - from) as f64 / (to - from) as f64;
            near(&between(&track[from], &track[to], part), &track[frame])
        })
    };
    let mut keys = vec![0];
    let mut at = 0;
    while at + 1 < track.len() {
        let mut to = at + 1;
        while to + 1 < track.len() && holds(at, to + 1) {
            to += 1;
        }
        keys.push(to);
        at = to;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_need_two_keys_and_a_bend_three() {
        let at = |x: f32| Rigid { translation: Vec3f::new(x, 0.0, 0.0), rotation: Quat::IDENTITY };
        let line: Vec<Rigid> = (0..20).map(|frame| at(0.1 * frame as f32)).collect();
        assert_eq!(reduced(&line, &[Vec3::ONE], 1e-5), [0, 19]);
        let bend: Vec<Rigid> = (0..20).map(|frame| at(0.1 * frame.min(12) as f32)).collect();
        assert_eq!(reduced(&bend, &[Vec3::ONE], 1e-5), [0, 12, 19]);
        assert_eq!(reduced(&[at(1.0); 20], &[Vec3::ONE], 1e-5), [0]);
    }

    /// A turn at constant speed is one arc however far it is from the axis; a swing keeps its bound at every corner.
    #[test]
    fn the_bound_holds_at_the_corners() {
        let turn = |angle: f32| Rigid { translation: Vec3f::ZERO, rotation: Quat::from_rotation_y(angle) };
        let steady: Vec<Rigid> = (0..20).map(|frame| turn(0.1 * frame as f32)).collect();
        assert_eq!(reduced(&steady, &[Vec3::new(3.0, 0.0, 0.0)], 1e-4), [0, 19]);
        let swing: Vec<Rigid> = (0..120).map(|frame| turn((0.05 * frame as f32).sin())).collect();
        let (corner, error) = (Vec3::new(2.0, 1.0, 0.0), 2e-2);
        let keys = reduced(&swing, &[corner], error);
        assert!(keys.len() < 60 && keys.len() > 6, "{}", keys.len());
        for pair in keys.windows(2) {
            for frame in pair[0]..pair[1] {
                let part = (frame - pair[0]) as f64 / (pair[1] - pair[0]) as f64;
                let shown = between(&swing[pair[0]], &swing[pair[1]], part).place(corner);
                assert!(shown.distance(swing[frame].place(corner)) <= error);
            }
        }
    }
}
