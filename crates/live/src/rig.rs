//! Points that hang on joints: linear blend skinning, three rows of four numbers for each joint.

use crate::Point;
use crate::vector::sub;

/// `world_from_rest` of a joint: three rows of four numbers. It takes a point of the meshes' rest shape to where the joint
/// has it now; what game engines hand to the skinning shader.
pub type Transform = [[f32; 4]; 3];

/// Leaves everything where it is.
pub const IDENTITY: Transform = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// Which joints a point hangs on, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skin {
    /// Indices of joints.
    pub joints: [u16; 4],
    /// Their weights; they sum to one.
    pub weights: [f32; 4],
    /// 0 is cloth, 1 stays where skinning has it; between them a blend.
    pub attachment: f32,
}

impl Skin {
    /// A point that hangs on one joint.
    pub fn rigid(joint: u16, attachment: f32) -> Self {
        Self { joints: [joint, 0, 0, 0], weights: [1.0, 0.0, 0.0, 0.0], attachment }
    }

    /// Where skinning has a point of the rest shape.
    #[inline]
    pub fn place(&self, rest: Point, joints: &[Transform]) -> Point {
        let mut place = [0.0; 3];
        for (joint, weight) in self.joints.iter().zip(self.weights) {
            if weight != 0.0 {
                let moved = apply(&joints[usize::from(*joint)], rest);
                (0..3).for_each(|axis| place[axis] += weight * moved[axis]);
            }
        }
        place
    }
}

/// A point, moved.
#[inline]
pub(crate) fn apply(transform: &Transform, p: Point) -> Point {
    transform.map(|[a, b, c, d]| a * p[0] + b * p[1] + c * p[2] + d)
}

/// A direction, turned.
#[inline]
pub(crate) fn turn(transform: &Transform, p: Point) -> Point {
    transform.map(|[a, b, c, _]| a * p[0] + b * p[1] + c * p[2])
}

/// One motion after another: `second · first`.
pub(crate) fn then(first: &Transform, second: &Transform) -> Transform {
    second.map(|[a, b, c, d]| {
        let column = |j: usize| a * first[0][j] + b * first[1][j] + c * first[2][j];
        [column(0), column(1), column(2), column(3) + d]
    })
}

/// The motion from where a joint was to where it is: `now · before⁻¹`. `None` where it was flat.
pub(crate) fn motion(before: &Transform, now: &Transform) -> Option<Transform> {
    let [a, b, c] = before.map(|row| [row[0], row[1], row[2]]);
    let (bc, ca, ab) = (crate::vector::cross(b, c), crate::vector::cross(c, a), crate::vector::cross(a, b));
    let determinant = crate::vector::dot(a, bc);
    if determinant.abs() < 1e-12 {
        return None;
    }
    // columns of the inverse are the cross products of rows
    let inverse = [0, 1, 2].map(|i| [bc[i] / determinant, ca[i] / determinant, ab[i] / determinant]);
    let linear = now.map(|row| {
        [0, 1, 2].map(|j| row[0] * inverse[0][j] + row[1] * inverse[1][j] + row[2] * inverse[2][j])
    });
    let old = [before[0][3], before[1][3], before[2][3]];
    let carried = linear.map(|row| crate::vector::dot(row, old));
    let shift = sub([now[0][3], now[1][3], now[2][3]], carried);
    Some([0, 1, 2].map(|i| [linear[i][0], linear[i][1], linear[i][2], shift[i]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motions_lead_from_then_to_now() {
        let before = [[0.0, -1.0, 0.0, 3.0], [1.0, 0.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.5]];
        let now = [[1.0, 0.0, 0.0, 100.0], [0.0, 0.0, -1.0, 2.0], [0.0, 1.0, 0.0, -7.0]];
        let step = motion(&before, &now).unwrap();
        let p = [0.3, -0.7, 1.9];
        let (direct, carried) = (apply(&now, p), apply(&step, apply(&before, p)));
        assert!((0..3).all(|i| (direct[i] - carried[i]).abs() < 1e-4), "{direct:?} {carried:?}");
        assert_eq!(motion(&[[0.0; 4]; 3], &now), None);
        let composed = apply(&then(&before, &step), p);
        assert!((0..3).all(|i| (direct[i] - composed[i]).abs() < 1e-4));
    }
}
