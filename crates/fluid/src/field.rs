//! A scalar at every point of a grid, or of an image: the only currency between artist, solver and renderer.

use crate::Error;

/// Numbers on a grid: x runs fastest, then y upwards, then z.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Points along x, y, z; an image has one along z.
    pub points: [usize; 3],
    /// One number per point.
    pub values: Vec<f32>,
}

impl Field {
    /// The same number everywhere.
    pub fn constant(points: [usize; 3], value: f32) -> Self {
        Self { points, values: vec![value; points.iter().product()] }
    }

    /// A number for each point index.
    pub fn from_fn(points: [usize; 3], mut value: impl FnMut([usize; 3]) -> f32) -> Self {
        let mut values = Vec::with_capacity(points.iter().product());
        for z in 0..points[2] {
            for y in 0..points[1] {
                for x in 0..points[0] {
                    values.push(value([x, y, z]));
                }
            }
        }
        Self { points, values }
    }

    /// An image, whose first row is the top one.
    pub fn from_image(width: usize, height: usize, pixels: &[f32]) -> Result<Self, Error> {
        if pixels.len() != width * height || pixels.is_empty() {
            return Err(Error::Length {
                what: "image",
                found: pixels.len(),
                expected: (width * height).max(1),
            });
        }
        let values = pixels.chunks_exact(width).rev().flatten().copied().collect();
        Ok(Self { points: [width, height, 1], values })
    }

    /// The pixels of the front slice, top row first.
    pub fn to_image(&self) -> Vec<f32> {
        let [width, height, _] = self.points;
        self.values[..width * height].chunks_exact(width.max(1)).rev().flatten().copied().collect()
    }

    /// The number at a point.
    pub fn at(&self, x: usize, y: usize, z: usize) -> f32 {
        self.values[x + self.points[0] * (y + self.points[1] * z)]
    }

    /// Grey levels to quantities: 0 becomes `black`, 1 becomes `white`; either may be the larger.
    pub fn levels(mut self, black: f32, white: f32) -> Self {
        self.values.iter_mut().for_each(|v| *v = black + (white - black) * *v);
        self
    }

    /// Least and greatest number; (0, 0) of nothing.
    pub fn range(&self) -> (f32, f32) {
        let all = self.values.iter();
        let (low, high) = all.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        if low <= high { (low, high) } else { (0.0, 0.0) }
    }

    /// The greatest magnitude.
    pub fn peak(&self) -> f32 {
        self.values.iter().fold(0.0, |p, v| p.max(v.abs()))
    }

    /// Errs unless this has the given size and holds only finite numbers.
    pub(crate) fn check(&self, what: &'static str, points: [usize; 3]) -> Result<(), Error> {
        if self.points != points || self.values.len() != points.iter().product::<usize>() {
            return Err(Error::Size { what, found: self.points, expected: points });
        }
        match self.values.iter().position(|v| !v.is_finite()) {
            Some(at) => {
                let [nx, ny, _] = points;
                Err(Error::NotFinite { what, place: [at % nx, at / nx % ny, at / (nx * ny)] })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_stands_on_its_feet() {
        let pixels = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let field = Field::from_image(2, 3, &pixels).unwrap();
        assert_eq!(field.at(0, 0, 0), 5.0, "the last row of the image is the lowest of the field");
        assert_eq!(field.to_image(), pixels);
        assert!(Field::from_image(2, 2, &pixels).is_err());
    }

    #[test]
    fn levels_may_be_reversed() {
        let field = Field::constant([1, 1, 1], 0.25).levels(8.0, 4.0);
        assert_eq!(field.values, [7.0]);
    }

    #[test]
    fn a_nan_is_named_by_its_place() {
        let mut field = Field::constant([4, 3, 1], 0.0);
        field.values[6] = f32::NAN;
        assert_eq!(field.check("heat", [4, 3, 1]), Err(Error::NotFinite { what: "heat", place: [2, 1, 0] }));
        assert!(matches!(field.check("heat", [3, 4, 1]), Err(Error::Size { .. })));
    }
}
