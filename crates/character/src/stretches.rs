//! What joints keep of their volume: the stretches of flesh where regions meet, and what plain skinning would make of them.

use geometry::Vec3;
use glam::{DAffine3, DQuat, Mat4};

use crate::flesh::{Flesh, Piece};
use crate::unfold::SHOWN_PART;

/// The flesh around a joint: tets of the finest level whose cell belongs to several joints, of which it is the last.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The joint.
    pub joint: usize,
    /// Its volume at rest, in m³, of what is inside of the skin.
    pub rest: f64,
    /// Tets, each with the part of it that is inside.
    tets: Vec<([u32; 4], f64)>,
}

impl Stretch {
    /// Its volume with the points of the finest level at these places, in m³; negative where more is turned inside out than is not.
    pub fn volume(&self, points: &[Vec3]) -> f64 {
        let of = |(corners, part): &([u32; 4], f64)| {
            let [a, b, c, d] = corners.map(|p| points[p as usize]);
            part * (b - a).dot((c - a).cross(d - a)) / 6.0
        };
        self.tets.iter().map(of).sum()
    }
}

impl Flesh {
    /// The stretches of flesh around joints, the largest first.
    pub fn stretches(&self) -> Vec<Stretch> {
        let cells = self.lattice.cells();
        let owner: Vec<Option<u32>> = cells
            .iter()
            .map(|cell| {
                let joints =
                    || cell.corners().iter().flat_map(|&v| &self.shares[v as usize]).map(|share| share.0);
                let (first, last) = (joints().min()?, joints().max()?);
                (first != last).then_some(last)
            })
            .collect();
        let rest = self.points(self.hierarchy.rest());
        let mut stretches: Vec<Stretch> = Vec::new();
        for piece in &self.pieces {
            let Some(joint) = owner[piece.cell as usize] else { continue };
            let tet = (self.hierarchy.mesh().tets()[piece.tet as usize], piece.part);
            match stretches.iter_mut().find(|stretch| stretch.joint == joint as usize) {
                Some(stretch) => stretch.tets.push(tet),
                None => stretches.push(Stretch { joint: joint as usize, rest: 0.0, tets: vec![tet] }),
            }
        }
        stretches.iter_mut().for_each(|stretch| stretch.rest = stretch.volume(&rest));
        stretches.retain(|stretch| stretch.rest > 0.0);
        stretches.sort_by(|a, b| b.rest.total_cmp(&a.rest).then(a.joint.cmp(&b.joint)));
        stretches
    }

    /// How many tets with at least a tenth of themselves inside of the skin are turned inside out.
    pub fn inverted(&self, coefficients: &[Vec3]) -> usize {
        let points = self.points(coefficients);
        let tets = self.hierarchy.mesh().tets();
        let is_inverted = |piece: &&Piece| {
            let [a, b, c, d] = tets[piece.tet as usize].map(|p| points[p as usize]);
            piece.part >= SHOWN_PART && (b - a).dot((c - a).cross(d - a)) <= 0.0
        };
        self.pieces.iter().filter(is_inverted).count()
    }

    /// Where the points of the finest level are, with coefficients as these.
    pub fn points(&self, coefficients: &[Vec3]) -> Vec<Vec3> {
        self.hierarchy.values().vectors(coefficients)
    }

    /// Coefficients of flesh without any life of its own, moved by the weights of its regions: linear skinning, and by dual quaternions.
    pub fn skinned(&self, world_from_joints: &[Mat4]) -> [Vec<Vec3>; 2] {
        let moves: Vec<DAffine3> = world_from_joints
            .iter()
            .zip(&self.joint_from_rest)
            .map(|(world, from_rest)| DAffine3::from_mat4(world.as_dmat4()) * *from_rest)
            .collect();
        let linear = |p: Vec3, row: &[(u32, f64)]| -> Vec3 {
            row.iter().map(|&(joint, w)| w * moves[joint as usize].transform_point3(p)).sum()
        };
        let dual = |p: Vec3, row: &[(u32, f64)]| dual_quaternions(p, row, &moves);
        [self.placed(linear), self.placed(dual)]
    }

    /// Coefficients of level 0 where a skinning puts them; the others zero.
    fn placed(&self, skinning: impl Fn(Vec3, &[(u32, f64)]) -> Vec3) -> Vec<Vec3> {
        let count = self.lattice.points().len();
        let of = |(f, rest): (usize, &Vec3)| match f < count {
            true => skinning(*rest, &self.shares[f]),
            false => Vec3::ZERO,
        };
        self.hierarchy.rest().iter().enumerate().map(of).collect()
    }
}

/// Where dual-quaternion skinning takes a point: rotations and translations mixed as unit dual quaternions (Kavan 2007). Scales in
/// `moves` are left out.
pub fn dual_quaternions(p: Vec3, row: &[(u32, f64)], moves: &[DAffine3]) -> Vec3 {
    let zero = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let (mut real, mut dual) = (zero, zero);
    for &(joint, weight) in row {
        let place = moves[joint as usize];
        let mut turn = DQuat::from_mat3(&geometry::nearest_rotation(&place.matrix3));
        if turn.dot(real) < 0.0 {
            turn = -turn;
        }
        let t = place.translation;
        real += turn * weight;
        dual += (DQuat::from_xyzw(t.x, t.y, t.z, 0.0) * turn) * (0.5 * weight);
    }
    let length = real.length();
    if length < 1e-9 {
        return p;
    }
    let (real, dual) = (real * length.recip(), dual * length.recip());
    let shift = (dual * real.conjugate()) * 2.0;
    real * p + Vec3::new(shift.x, shift.y, shift.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dual_quaternions_of_one_joint_are_its_motion_and_between_two_keep_the_distance_from_the_axis() {
        let turn =
            |angle: f64| DAffine3::from_rotation_translation(DQuat::from_rotation_x(angle), Vec3::ZERO);
        let p = Vec3::new(0.3, 0.2, -0.1);
        let moved =
            DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.7), Vec3::new(1.0, -2.0, 0.5));
        let one = dual_quaternions(p, &[(0, 1.0)], &[moved]);
        assert!(one.distance(moved.transform_point3(p)) < 1e-12);
        let two = dual_quaternions(p, &[(0, 0.5), (1, 0.5)], &[turn(0.0), turn(2.0)]);
        assert!(two.distance(turn(1.0).transform_point3(p)) < 1e-12);
    }
}
