//! Figures and numbers for tests.

use geometry::{Mat3, Quat, Vec3};

use crate::{Body, Inertia, Joint, JointKind};

/// xorshift64*.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Between −1 and 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn vec3(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }

    pub(crate) fn vector(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// 48 degrees of freedom, 19 bodies, as a person has: a root, five chains, 12 balls and 6 hinges, some of it welded.
pub(crate) fn figure(seed: u64) -> Body {
    let mut random = Random(seed);
    let (ball, hinge) = (true, false);
    // spine and head, arms, legs
    let chains: [(usize, &[bool]); 5] = [
        (0, &[ball, ball, ball, ball]),
        (2, &[ball, ball, hinge]),
        (2, &[ball, ball, hinge]),
        (0, &[ball, hinge, ball, hinge]),
        (0, &[ball, hinge, ball, hinge]),
    ];
    let mut joints = vec![joint(&mut random, 0, None, JointKind::Free)];
    for (root, kinds) in chains {
        let mut parent = root;
        for &is_ball in kinds {
            let axis = random.vec3().normalize();
            let kind = if is_ball { JointKind::Ball } else { JointKind::Hinge(axis) };
            let index = joints.len();
            joints.push(joint(&mut random, index, Some(parent), kind));
            parent = index;
        }
        let index = joints.len();
        joints.push(joint(&mut random, index, Some(parent), JointKind::Welded));
    }
    // roots are counted in joints of the first chain: 0 is the root, 2 the second ball of the spine
    Body::new(joints).unwrap()
}

fn joint(random: &mut Random, index: usize, parent: Option<usize>, kind: JointKind) -> Joint {
    let spread = Mat3::from_diagonal(Vec3::new(0.02, 0.05, 0.04) + random.vec3() * 0.01);
    Joint {
        name: format!("joint{index}"),
        parent,
        kind,
        offset: random.vec3() * 0.3,
        rest: Quat::from_scaled_axis(random.vec3()),
        inertia: Inertia::new(2.0 + random.next(), random.vec3() * 0.1, spread),
    }
}

/// Coordinates, velocities and accelerations of such a figure.
pub(crate) fn state(body: &Body, random: &mut Random) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let n = body.dof_count();
    let mut q = vec![0.0; body.coordinate_count()];
    body.integrate(&body.neutral(), &random.vector(n), &mut q);
    (
        q,
        random.vector(n).iter().map(|v| 3.0 * v).collect(),
        random.vector(n).iter().map(|a| 20.0 * a).collect(),
    )
}
