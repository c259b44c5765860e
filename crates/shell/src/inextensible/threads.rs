//! Threads as constraints: every piece between two crossings keeps its length.
//!
//! cᵢ(x) = (‖d‖² − l²)/(2l), d = x_b − x_a, l the rest length, in metres: how much too long a piece is, to first order. Its
//! gradient is −d/l at a and +d/l at b. This is half of inextensible's eq. 1, with the same zeros and the same projection.

use geometry::Vec3;

use crate::Error;

/// Pieces of thread and their lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Threads {
    edges: Vec<[u32; 2]>,
    lengths: Vec<f64>,
    point_count: usize,
}

/// How far threads are from their lengths. Strains are relative: 0.01 is one percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadStrain {
    /// Largest stretch.
    pub stretch: f64,
    /// Largest compression, as a positive number.
    pub compression: f64,
    /// The piece (its place in the list) that is furthest from its length.
    pub worst: Option<usize>,
}

impl ThreadStrain {
    /// The larger of both.
    pub fn largest(&self) -> f64 {
        self.stretch.max(self.compression)
    }
}

impl Threads {
    /// Pieces between the points of a rest shape. Pieces without length are left out: they can keep none.
    pub fn new(rest: &[Vec3], edges: Vec<[u32; 2]>) -> Result<Self, Error> {
        let point_count = rest.len();
        for (piece, ends) in edges.iter().enumerate() {
            if let Some(&index) = ends.iter().find(|&&p| p as usize >= point_count) {
                return Err(Error::IndexOutOfRange { triangle: piece, index, count: point_count });
            }
        }
        if let Some(point) = rest.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let length = |[a, b]: &[u32; 2]| rest[*a as usize].distance(rest[*b as usize]);
        let edges: Vec<[u32; 2]> = edges.into_iter().filter(|edge| length(edge) > 0.0).collect();
        let lengths = edges.iter().map(length).collect();
        Ok(Self { edges, lengths, point_count })
    }

    /// The same pieces as long as a factor on the lengths at rest makes them, given at every point: each takes the mean of its ends.
    #[must_use]
    pub fn shrunk(mut self, factor: &[f64]) -> Self {
        for (length, [a, b]) in self.lengths.iter_mut().zip(&self.edges) {
            *length *= 0.5 * (factor[*a as usize] + factor[*b as usize]);
        }
        self
    }

    /// These pieces and others of the same body.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let edges = self.edges.iter().chain(&others.edges).copied().collect();
        let lengths = self.lengths.iter().chain(&others.lengths).copied().collect();
        Self { edges, lengths, point_count: self.point_count.max(others.point_count) }
    }

    /// The same threads over a body of `count` points in which their points begin at `first`.
    #[must_use]
    pub fn within(&self, first: usize, count: usize) -> Self {
        let edges = self.edges.iter().map(|ends| ends.map(|p| p + first as u32)).collect();
        Self { edges, lengths: self.lengths.clone(), point_count: count }
    }

    /// How many pieces.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// True without pieces.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Points of the body that the threads are part of.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// The ends of every piece.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// The length of every piece, in metres.
    pub fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// Only the pieces that can move: those with both ends known stay as the guide has them.
    pub fn free(&self, known: &[bool]) -> Self {
        let is_free = |ends: &[u32; 2]| ends.iter().any(|&p| !known[p as usize]);
        let (edges, lengths) = self
            .edges
            .iter()
            .zip(&self.lengths)
            .filter(|(ends, _)| is_free(ends))
            .map(|(e, l)| (*e, *l))
            .unzip();
        Self { edges, lengths, point_count: self.point_count }
    }

    /// From one end of a piece to the other.
    pub fn line(&self, piece: usize, x: &[Vec3]) -> Vec3 {
        let [a, b] = self.edges[piece];
        x[b as usize] - x[a as usize]
    }

    /// c of every piece, in metres.
    pub fn violations(&self, x: &[Vec3], c: &mut Vec<f64>) {
        c.clear();
        c.extend((0..self.len()).map(|piece| {
            let l = self.lengths[piece];
            (self.line(piece, x).length_squared() - l * l) / (2.0 * l)
        }));
    }

    /// How far the threads are from their lengths.
    pub fn strain(&self, x: &[Vec3]) -> ThreadStrain {
        let mut strain = ThreadStrain::default();
        let mut largest = -1.0;
        for piece in 0..self.len() {
            let change = self.line(piece, x).length() / self.lengths[piece] - 1.0;
            strain.stretch = strain.stretch.max(change);
            strain.compression = strain.compression.max(-change);
            // a strain that is no number is the worst of all
            if change.abs() > largest || change.is_nan() {
                (largest, strain.worst) = (change.abs(), Some(piece));
            }
            if change.is_nan() {
                (strain.stretch, largest) = (f64::INFINITY, f64::INFINITY);
            }
        }
        strain
    }

    /// The threads as springs: `stiffness` is a thread's tension per strain, in newtons, so that a chain of any number of
    /// pieces is the same thread.
    pub fn springs(&self, stiffness: f64) -> Vec<([u32; 2], dynamics::Spring)> {
        let spring = |(ends, length): (&[u32; 2], &f64)| {
            (*ends, dynamics::Spring { stiffness: stiffness / length, rest_length: *length })
        };
        self.edges.iter().zip(&self.lengths).map(spring).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, noise};
    use super::*;

    #[test]
    fn strain_is_measured_per_piece() {
        let (mut x, threads) = chain(4, 2.0);
        assert_eq!(threads.strain(&x).largest(), 0.0);
        x[4].x += 0.05;
        x[0].x += 0.1;
        let strain = threads.strain(&x);
        assert!((strain.stretch - 0.1).abs() < 1e-12 && (strain.compression - 0.2).abs() < 1e-12);
        assert_eq!(strain.worst, Some(0));
        x[2].y = f64::NAN;
        assert!(threads.strain(&x).largest().is_infinite());
    }

    #[test]
    fn shrunk_threads_are_shorter() {
        let (rest, threads) = chain(4, 2.0);
        let small = threads.clone().shrunk(&[0.5, 0.5, 1.0, 1.0, 1.0]);
        let shares: Vec<f64> = small.lengths().iter().zip(threads.lengths()).map(|(a, b)| a / b).collect();
        assert_eq!(shares, [0.5, 0.75, 1.0, 1.0]);
        assert!((small.strain(&rest).stretch - 1.0).abs() < 1e-12);
    }

    #[test]
    fn violations_have_the_gradient_that_projections_use() {
        let (rest, threads) = chain(3, 1.0);
        let x: Vec<Vec3> = rest.iter().enumerate().map(|(i, p)| *p + 0.05 * noise(i)).collect();
        let c = |x: &[Vec3]| {
            let mut c = Vec::new();
            threads.violations(x, &mut c);
            c
        };
        let step = 1e-6;
        for point in 0..4 {
            let moved = |sign: f64| {
                let mut x = x.clone();
                x[point].y += sign * step;
                c(&x)
            };
            let (above, below) = (moved(1.0), moved(-1.0));
            for piece in 0..3 {
                let slope = (above[piece] - below[piece]) / (2.0 * step);
                let along = threads.line(piece, &x).y / threads.lengths()[piece];
                let expected = match threads.edges()[piece].iter().position(|&p| p as usize == point) {
                    Some(0) => -along,
                    Some(_) => along,
                    None => 0.0,
                };
                assert!((slope - expected).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn pieces_that_are_no_pieces_are_left_out_or_refused() {
        let rest = [Vec3::ZERO, Vec3::ZERO, Vec3::X];
        assert_eq!(Threads::new(&rest, vec![[0, 1], [1, 2]]).unwrap().len(), 1);
        assert!(matches!(Threads::new(&rest, vec![[0, 3]]), Err(Error::IndexOutOfRange { index: 3, .. })));
        assert!(matches!(Threads::new(&[Vec3::NAN; 2], vec![[0, 1]]), Err(Error::NotFinite { point: 0 })));
    }
}
