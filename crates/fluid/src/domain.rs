//! Where the fluid is: a regular grid of points over a box, with a kind of side along each axis.

use crate::{Error, Field};

/// More are refused: with all that is kept of them, some 120 bytes each, they would take more than 2 GB.
const MOST_POINTS: usize = 1 << 24;

/// What happens at the two ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What leaves at one end enters at the other.
    Periodic,
    /// A solid, smooth wall: nothing passes, the fluid slips along it.
    Wall,
}

/// One axis of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Number of grid points.
    pub points: usize,
    /// Length in metres.
    pub length: f64,
    /// What happens at both ends.
    pub side: Side,
}

impl Axis {
    /// Distance of neighbouring points in metres. Walls have points on them, so n points span n − 1 gaps; a period has n.
    pub fn spacing(&self) -> f64 {
        match self.side {
            Side::Periodic => self.length / self.points as f64,
            Side::Wall => self.length / (self.points.max(2) - 1) as f64,
        }
    }

    /// Where along the axis point `i` lies, 0 at one end and 1 at the other. Periodic points are centred in their cells
    /// as pixels are, so that an image of the grid's size maps pixel to point.
    pub fn place(&self, i: f64) -> f64 {
        match self.side {
            Side::Periodic => (i + 0.5) / self.points as f64,
            Side::Wall => i / (self.points.max(2) - 1) as f64,
        }
    }

    /// The inverse of [`Axis::place`]: the fractional point index at a place.
    pub fn index(&self, place: f64) -> f64 {
        match self.side {
            Side::Periodic => place * self.points as f64 - 0.5,
            Side::Wall => place * (self.points.max(2) - 1) as f64,
        }
    }
}

/// The grid: x to the right, y up, z towards the viewer; a plane has one point along z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// The axes x, y, z.
    pub axes: [Axis; 3],
}

/// Fewest points along an axis: a one-sided difference at either wall must not reach the other.
pub(crate) const FEWEST_POINTS: usize = 8;

impl Domain {
    /// A plane of `points` over `size` metres.
    pub fn plane(points: [usize; 2], size: [f64; 2], sides: [Side; 2]) -> Result<Self, Error> {
        let axis = |d: usize| Axis { points: points[d], length: size[d], side: sides[d] };
        let depth = Axis { points: 1, length: 1.0, side: Side::Periodic };
        Self { axes: [axis(0), axis(1), depth] }.checked()
    }

    /// A box of `points` over `size` metres.
    pub fn volume(points: [usize; 3], size: [f64; 3], sides: [Side; 3]) -> Result<Self, Error> {
        Self { axes: [0, 1, 2].map(|d| Axis { points: points[d], length: size[d], side: sides[d] }) }
            .checked()
    }

    fn checked(self) -> Result<Self, Error> {
        for (d, axis) in self.axes.iter().enumerate() {
            let flat = d == 2 && axis.points == 1;
            if axis.points < FEWEST_POINTS && !flat {
                let value = axis.points as f64;
                return Err(Error::Dial { dial: "points", value, allowed: "at least 8 along each axis" });
            }
            if !(axis.length > 0.0 && axis.length.is_finite()) {
                return Err(Error::Dial { dial: "size", value: axis.length, allowed: "more than 0 m" });
            }
        }
        let count = self.axes.iter().map(|axis| axis.points).fold(1_usize, usize::saturating_mul);
        if count > MOST_POINTS {
            let allowed = "at most 16,777,216 in all: more would not fit into 2 GB";
            return Err(Error::Dial { dial: "points", value: count as f64, allowed });
        }
        Ok(self)
    }

    /// 2 for a plane, 3 for a box.
    pub fn dimensions(&self) -> usize {
        if self.axes[2].points == 1 { 2 } else { 3 }
    }

    /// Grid points along x, y, z.
    pub fn points(&self) -> [usize; 3] {
        self.axes.map(|a| a.points)
    }

    /// Distances of neighbouring points in metres.
    pub fn spacings(&self) -> [f64; 3] {
        self.axes.map(|a| a.spacing())
    }

    /// A field of this grid from a function of the place, each coordinate in metres from the lower corner.
    pub fn field(&self, value: impl Fn([f64; 3]) -> f64) -> Field {
        let mut place = [0.0; 3];
        Field::from_fn(self.points(), |index| {
            for d in 0..self.dimensions() {
                place[d] = self.axes[d].place(index[d] as f64) * self.axes[d].length;
            }
            value(place) as f32
        })
    }
}
