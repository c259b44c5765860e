//! Points of a surface as weighted sums of a body's points: themselves, or embedded in something coarser.

use geometry::Vec3;

/// Each contact point is Σ w·x over a few points of the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attachment {
    starts: Vec<usize>,
    parts: Vec<(u32, f64)>,
}

impl Attachment {
    /// The first `count` points of the body, each itself.
    pub fn identity(count: usize) -> Self {
        Self { starts: (0..=count).collect(), parts: (0..count as u32).map(|p| (p, 1.0)).collect() }
    }

    /// Given by the parts of each point; weights should add up to one.
    pub fn embedded<P>(points: impl IntoIterator<Item = P>) -> Self
    where
        P: IntoIterator<Item = (u32, f64)>,
    {
        let mut attachment = Self { starts: vec![0], parts: Vec::new() };
        for point in points {
            attachment.parts.extend(point);
            attachment.starts.push(attachment.parts.len());
        }
        attachment
    }

    /// How many contact points.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True without contact points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The body's points of a contact point, with their weights.
    pub fn parts(&self, point: usize) -> &[(u32, f64)] {
        &self.parts[self.starts[point]..self.starts[point + 1]]
    }

    /// One more than the largest point of the body that is used.
    pub(crate) fn body_points(&self) -> usize {
        self.parts.iter().map(|part| part.0 as usize + 1).max().unwrap_or(0)
    }

    /// Σ w·x for one point.
    pub fn place(&self, point: usize, x: &[Vec3]) -> Vec3 {
        match self.parts(point) {
            // the very bits where a point is itself
            [(p, weight)] if *weight == 1.0 => x[*p as usize],
            parts => parts.iter().map(|&(p, weight)| weight * x[p as usize]).sum(),
        }
    }

    /// The mass that a point shows when pushed: 1/Σ w²/m. Infinite where none of its points is free.
    pub(crate) fn mass(&self, point: usize, masses: &[f64], known: &[bool]) -> f64 {
        let mobility = |&(p, w): &(u32, f64)| {
            if known[p as usize] { 0.0 } else { w * w / masses[p as usize] }
        };
        self.parts(point).iter().map(mobility).sum::<f64>().recip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_points_move_with_what_carries_them() {
        let x = [Vec3::ZERO, 2.0 * Vec3::X, Vec3::Y];
        let middle = Attachment::embedded([vec![(0, 0.5), (1, 0.5)], vec![(2, 1.0)]]);
        assert_eq!((middle.len(), middle.body_points()), (2, 3));
        assert_eq!(middle.place(0, &x), Vec3::X);
        assert_eq!(middle.place(1, &x), Vec3::Y);
        // pushed at the middle, two masses of 1 kg in a row give way like 2 kg; with one of them held, like 4 kg
        assert_eq!(middle.mass(0, &[1.0; 3], &[false; 3]), 2.0);
        assert_eq!(middle.mass(0, &[1.0; 3], &[true, false, false]), 4.0);
        assert_eq!(middle.mass(1, &[1.0; 3], &[true; 3]), f64::INFINITY);
        assert_eq!(Attachment::identity(3).place(1, &x), x[1]);
    }
}
