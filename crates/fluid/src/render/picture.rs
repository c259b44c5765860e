//! A picture: what comes out in the end.

use crate::Error;

/// Red, green, blue and alpha in linear light, colours multiplied by alpha, the top row first.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// The pixels.
    pub pixels: Vec<[f32; 4]>,
}

impl Picture {
    /// A picture of these pixels.
    pub fn new(width: usize, height: usize, pixels: Vec<[f32; 4]>) -> Result<Self, Error> {
        if pixels.len() != width * height || pixels.is_empty() {
            return Err(Error::Length {
                what: "picture",
                found: pixels.len(),
                expected: (width * height).max(1),
            });
        }
        Ok(Self { width, height, pixels })
    }

    /// A picture from a function of the place, 0 to 1 from left to right and from the bottom up; rows are made in parallel.
    pub(crate) fn paint(width: usize, height: usize, pixel: impl Fn(f64, f64) -> [f32; 4] + Sync) -> Self {
        use rayon::prelude::*;
        let mut pixels = vec![[0.0; 4]; width * height];
        pixels.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, line)| {
            let y = 1.0 - (row as f64 + 0.5) / height as f64;
            line.iter_mut().enumerate().for_each(|(x, p)| *p = pixel((x as f64 + 0.5) / width as f64, y));
        });
        Self { width, height, pixels }
    }

    /// The colour at a place, 0 to 1 from left to right and from the bottom up: bilinear; wrapped around or cut off at the sides.
    pub(crate) fn sample(&self, x: f64, y: f64, wraps: [bool; 2]) -> [f32; 4] {
        let (x, y) = (x * self.width as f64 - 0.5, (1.0 - y) * self.height as f64 - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (s, t) = ((x - x0) as f32, (y - y0) as f32);
        let at = |dx: isize, dy: isize| {
            let column = crate::prepare::neighbour(x0 as isize + dx, self.width, wraps[0]);
            let row = crate::prepare::neighbour(y0 as isize + dy, self.height, wraps[1]);
            self.pixels[row * self.width + column]
        };
        let (a, b, c, d) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
        [0, 1, 2, 3].map(|k| (1.0 - t) * ((1.0 - s) * a[k] + s * b[k]) + t * ((1.0 - s) * c[k] + s * d[k]))
    }

    /// The picture at another size: each pixel the mean of what it covers.
    pub fn resized(&self, width: usize, height: usize) -> Self {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let [across, down] =
            [(self.width, width), (self.height, height)].map(|(from, to)| from.div_ceil(to.max(1)).max(1));
        let share = 1.0 / (across * down) as f32;
        Self::paint(width, height, |x, y| {
            let mut sum = [0.0_f32; 4];
            for i in 0..across * down {
                let inside = |at: usize, of: usize| (at as f64 + 0.5) / of as f64 - 0.5;
                let dx = inside(i % across, across) / width as f64;
                let dy = inside(i / across, down) / height as f64;
                let color = self.sample(x + dx, y + dy, [false; 2]);
                (0..4).for_each(|k| sum[k] += share * color[k]);
            }
            sum
        })
    }

    /// This picture over another of the same size; the size of this one counts where they differ.
    pub fn over(&self, below: &Self) -> Self {
        let paint = |x: f64, y: f64| {
            let (a, b) = (self.sample(x, y, [false; 2]), below.sample(x, y, [false; 2]));
            [0, 1, 2, 3].map(|k| a[k] + (1.0 - a[3]) * b[k])
        };
        Self::paint(self.width, self.height, paint)
    }

    /// Bytes of red, green, blue and alpha as image files have them: sRGB, colours not multiplied by alpha.
    pub fn to_srgb(&self) -> Vec<u8> {
        let encode = |v: f32| {
            let v = v.clamp(0.0, 1.0);
            let s = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
            (s * 255.0 + 0.5) as u8
        };
        let byte = |p: &[f32; 4]| {
            let alpha = p[3].clamp(0.0, 1.0);
            let scale = if alpha > 0.0 { 1.0 / alpha } else { 0.0 };
            [encode(p[0] * scale), encode(p[1] * scale), encode(p[2] * scale), (alpha * 255.0 + 0.5) as u8]
        };
        self.pixels.iter().flat_map(byte).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_picture_keeps_the_mean_and_a_larger_one_the_place() {
        let checks = Picture::paint(40, 20, |x, y| {
            [if ((x * 40.0) as usize + (y * 20.0) as usize).is_multiple_of(2) { 1.0 } else { 0.0 }; 4]
        });
        assert!(checks.resized(20, 10).pixels.iter().all(|p| (p[0] - 0.5).abs() < 1e-6), "no moiré");
        let half = Picture::paint(4, 4, |x, _| [if x < 0.5 { 1.0 } else { 0.0 }; 4]);
        let larger = half.resized(16, 16);
        assert_eq!((larger.pixels[2][0], larger.pixels[13][0]), (1.0, 0.0));
    }

    #[test]
    fn opaque_hides_and_clear_shows() {
        let red = Picture::new(2, 1, vec![[1.0, 0.0, 0.0, 1.0], [0.0; 4]]).unwrap();
        let blue = Picture::new(2, 1, vec![[0.0, 0.0, 1.0, 1.0]; 2]).unwrap();
        let both = red.over(&blue);
        assert_eq!(both.pixels, [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]);
        assert_eq!(&both.to_srgb()[..4], &[255, 0, 0, 255]);
        assert!(Picture::new(2, 2, vec![[0.0; 4]; 3]).is_err());
        assert!(Picture::new(3, 2, vec![[0.0; 4]; 6]).is_ok() && Picture::new(0, 2, Vec::new()).is_err());
    }
}
