//! The fits that the next frame of an enriched surface depends on, beside the state: plain data, a checkpoint.

use geometry::Vec3;

use crate::Gamma;

/// The fits of the frames around.
#[derive(Clone, Debug, PartialEq)]
pub struct Pose {
    /// Fitted tets of the frame before, of this frame and of the frame after.
    pub fits: [Vec<Vec3>; 3],
    /// Averages of the same frames, where averages are followed.
    pub averages: [Vec<Vec3>; 3],
    /// γ of the fit.
    pub gamma: Gamma,
}

impl Pose {
    pub(crate) fn new(rest: Vec<Vec3>, gamma: Gamma) -> Self {
        let fits = [rest.clone(), rest.clone(), rest];
        Self { fits, averages: Default::default(), gamma }
    }

    /// The exact bits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let counts = [self.fits[0].len() as f64, self.averages[0].len() as f64];
        let lists = self.fits.iter().chain(&self.averages).flatten();
        let numbers = lists.flat_map(|v| v.to_array());
        let head = [self.gamma.value, self.gamma.in_vain].into_iter().chain(counts);
        head.chain(numbers).flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`Pose::to_bytes`]; `None` when the bytes are not those of a pose.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(32)?;
        let number = |bytes: &[u8]| Some(f64::from_le_bytes(bytes.try_into().ok()?));
        let gamma = Gamma { value: number(&head[..8])?, in_vain: number(&head[8..16])? };
        let [points, rows] = [number(&head[16..24])?, number(&head[24..])?];
        let (points, rows) = (points as usize, rows as usize);
        let length = points.checked_add(rows)?.checked_mul(3 * 24)?;
        if rest.len() != length {
            return None;
        }
        let mut vectors = rest.chunks_exact(24).map(|v| {
            let at = |i: usize| f64::from_le_bytes(std::array::from_fn(|k| v[8 * i + k]));
            Vec3::new(at(0), at(1), at(2))
        });
        let mut take = |count: usize| vectors.by_ref().take(count).collect::<Vec<Vec3>>();
        let fits = [take(points), take(points), take(points)];
        let averages = [take(rows), take(rows), take(rows)];
        Some(Self { fits, averages, gamma })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pose_survives_its_bytes() {
        let mut pose =
            Pose::new(vec![Vec3::ONE, Vec3::new(-0.0, 1e-300, 3.0)], Gamma { value: 1e-9, in_vain: 2e-3 });
        pose.averages = [vec![Vec3::X], vec![Vec3::Y], vec![Vec3::Z]];
        let bytes = pose.to_bytes();
        assert_eq!(Pose::from_bytes(&bytes), Some(pose));
        assert_eq!(Pose::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Pose::from_bytes(&bytes[..30]), None);
        assert_eq!(Pose::from_bytes(&[]), None);
    }
}
