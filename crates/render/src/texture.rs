//! Base-colour pictures of materials: decoded once, with smaller copies so that far surfaces do not flicker.

use std::io::Cursor;

use glam::{Vec2, Vec3, Vec4};

use crate::color::linear_from_srgb;

/// A few bytes can promise any number of pixels, and each takes 21 bytes here: this many take 1.4 GB.
const MOST_PIXELS: u64 = 8192 * 8192;

/// A decoded picture and its halvings, in linear light with alpha.
pub(crate) struct Texture {
    levels: Vec<Level>,
}

struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Vec4>,
}

impl Texture {
    /// Decodes PNG, JPEG or WebP; `None` when the bytes are none of them, broken, or too many pixels.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let reader = || image::ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok();
        let (width, height) = reader()?.into_dimensions().ok()?;
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return None;
        }
        let picture = reader()?.decode().ok()?.into_rgba8();
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        if width == 0 || height == 0 {
            return None;
        }
        let linear =
            |p: &image::Rgba<u8>| linear_from_srgb([p[0], p[1], p[2]]).extend(f32::from(p[3]) / 255.0);
        let pixels = picture.pixels().map(linear).collect();
        let mut levels = vec![Level { width, height, pixels }];
        while let Some(last) = levels.last()
            && (last.width > 1 || last.height > 1)
        {
            let half = last.half();
            levels.push(half);
        }
        Some(Self { levels })
    }

    /// The colour at `uv` (repeating), averaged over a square `footprint` of texture space wide.
    pub(crate) fn sample(&self, uv: Vec2, footprint: f32) -> (Vec3, f32) {
        let size = self.levels[0].width.max(self.levels[0].height) as f32;
        let level = (footprint * size).max(1.0).log2().clamp(0.0, (self.levels.len() - 1) as f32);
        let lower = level as usize;
        let between = level - lower as f32;
        let mut color = self.levels[lower].bilinear(uv);
        if between > 0.0 {
            let upper = (lower + 1).min(self.levels.len() - 1);
            color = color.lerp(self.levels[upper].bilinear(uv), between);
        }
        (color.truncate(), color.w)
    }
}

impl Level {
    fn half(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mean = |x: usize, y: usize| {
            let (x1, y1) = ((2 * x + 1).min(self.width - 1), (2 * y + 1).min(self.height - 1));
            let (x0, y0) = (2 * x, 2 * y);
            0.25 * (self.at(x0, y0) + self.at(x1, y0) + self.at(x0, y1) + self.at(x1, y1))
        };
        let pixels = (0..width * height).map(|i| mean(i % width, i / width)).collect();
        Self { width, height, pixels }
    }

    fn at(&self, x: usize, y: usize) -> Vec4 {
        self.pixels[y * self.width + x]
    }

    fn bilinear(&self, uv: Vec2) -> Vec4 {
        let place = |coordinate: f32, size: usize| {
            let coordinate = if coordinate.is_finite() { coordinate } else { 0.0 };
            let at = coordinate.rem_euclid(1.0) * size as f32 - 0.5;
            let before = at.floor();
            let first = (before as isize).rem_euclid(size as isize) as usize;
            (first, (first + 1) % size, at - before)
        };
        let (x0, x1, fx) = place(uv.x, self.width);
        let (y0, y1, fy) = place(uv.y, self.height);
        let top = self.at(x0, y0).lerp(self.at(x1, y0), fx);
        let bottom = self.at(x0, y1).lerp(self.at(x1, y1), fx);
        top.lerp(bottom, fy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkers() -> Texture {
        let picture = image::RgbaImage::from_fn(4, 2, |x, y| {
            if (x + y) % 2 == 0 { image::Rgba([255, 255, 255, 255]) } else { image::Rgba([0, 0, 0, 255]) }
        });
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, image::ImageFormat::Png).expect("encodes");
        Texture::decode(bytes.get_ref()).expect("decodes")
    }

    #[test]
    fn near_is_sharp_far_is_the_mean_and_uv_repeats() {
        let texture = checkers();
        let centre = Vec2::new(0.125, 0.25);
        assert!((texture.sample(centre, 0.0).0 - Vec3::ONE).length() < 1e-5);
        assert!((texture.sample(centre + Vec2::new(3.25, -2.0), 0.0).0).length() < 1e-5);
        assert!((texture.sample(centre, 10.0).0 - Vec3::splat(0.5)).length() < 1e-5);
        assert!(texture.sample(Vec2::NAN, f32::NAN).0.is_finite());
    }

    #[test]
    fn broken_bytes_are_no_texture() {
        assert!(Texture::decode(b"not a picture").is_none());
        assert!(Texture::decode(&[]).is_none());
    }

    fn encoded(width: u32, height: u32, format: image::ImageFormat) -> Vec<u8> {
        let picture = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 128]));
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).expect("encodes");
        bytes.into_inner()
    }

    #[test]
    fn damaged_pictures_are_decoded_or_not_but_never_a_panic() {
        use image::ImageFormat::{Jpeg, Png, WebP};
        for format in [Png, Jpeg, WebP] {
            let good = encoded(17, 9, format);
            assert!(Texture::decode(&good).is_some());
            let mut state = 1_u64;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            for _ in 0..300 {
                let mut bytes = good.clone();
                for _ in 0..=random(3) {
                    let at = random(bytes.len());
                    bytes[at] = random(256) as u8;
                }
                if random(4) == 0 {
                    bytes.truncate(random(bytes.len()));
                }
                let _ = Texture::decode(&bytes);
            }
        }
    }

    #[test]
    fn a_few_bytes_that_promise_a_billion_pixels_are_refused() {
        // the width and height of a PNG, and the checksum over them
        let mut bytes = encoded(4, 4, image::ImageFormat::Png);
        for side in [16, 20] {
            bytes[side..side + 4].copy_from_slice(&40_000_u32.to_be_bytes());
        }
        let crc = !bytes[12..29].iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
        });
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        let reader = image::ImageReader::new(Cursor::new(&bytes)).with_guessed_format().expect("reads");
        assert_eq!(reader.into_dimensions().expect("a whole header"), (40_000, 40_000));
        assert!(Texture::decode(&bytes).is_none());
    }
}
