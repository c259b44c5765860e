//! Colours and small pictures painted in code, encoded as PNG for materials.

use clip::{Image, Material};
use std::io::Cursor;

/// An sRGB colour, 0xRRGGBB as designers write it.
pub(crate) type Rgb = u32;

/// Linear red, green, blue, alpha, as materials hold it.
pub(crate) fn linear(colour: Rgb) -> [f32; 4] {
    let channel = |shift: u32| {
        let s = ((colour >> shift) & 0xff) as f32 / 255.0;
        if s <= 0.04045 { s / 12.92 } else { ((s + 0.055) / 1.055).powf(2.4) }
    };
    [channel(16), channel(8), channel(0), 1.0]
}

/// A material of one colour.
pub(crate) fn plain(name: &str, colour: Rgb) -> Material {
    Material::plain(name, linear(colour))
}

/// A material that shows the picture with this index.
pub(crate) fn textured(name: &str, image: usize) -> Material {
    Material { base_color_image: Some(image), ..Material::plain(name, [1.0; 4]) }
}

/// The colour a part of the way from `a` to `b`, mixed in sRGB.
pub(crate) fn mix(a: Rgb, b: Rgb, t: f64) -> Rgb {
    let t = t.clamp(0.0, 1.0);
    let channel = |shift: u32| {
        let [a, b] = [a, b].map(|c| f64::from((c >> shift) & 0xff));
        ((a + t * (b - a)).round() as u32) << shift
    };
    channel(16) | channel(8) | channel(0)
}

/// A smooth step from 0 at `low` to 1 at `high`.
pub(crate) fn step(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A picture whose colour at (u, v), both in [0, 1] and v down, is what `colour` says; every pixel is the mean of
/// 3×3 samples, so that edges are soft.
pub(crate) fn picture(name: &str, width: u32, height: u32, colour: impl Fn(f64, f64) -> Rgb) -> Image {
    const SAMPLES: u32 = 3;
    let pixels = image::RgbImage::from_fn(width, height, |x, y| {
        let mut sum = [0; 3];
        for k in 0..SAMPLES * SAMPLES {
            let at = |pixel: u32, part: u32| f64::from(pixel) + (f64::from(part) + 0.5) / f64::from(SAMPLES);
            let c = colour(at(x, k % SAMPLES) / f64::from(width), at(y, k / SAMPLES) / f64::from(height));
            for (channel, shift) in [16, 8, 0].into_iter().enumerate() {
                sum[channel] += (c >> shift) & 0xff;
            }
        }
        image::Rgb(sum.map(|s| ((s + SAMPLES * SAMPLES / 2) / (SAMPLES * SAMPLES)) as u8))
    });
    let mut bytes = Cursor::new(Vec::new());
    // writing to memory fails only when memory is exhausted or the picture is empty; an empty one stays empty
    let written = pixels.write_to(&mut bytes, image::ImageFormat::Png);
    let bytes = if written.is_ok() { bytes.into_inner() } else { Vec::new() };
    Image { name: name.into(), mime_type: "image/png".into(), bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_mix_and_become_linear() {
        assert_eq!(mix(0x000000, 0xff8040, 0.5), 0x804020);
        assert_eq!(linear(0xffffff), [1.0; 4]);
        assert!((linear(0x808080)[1] - 0.2159).abs() < 1e-3);
    }

    #[test]
    fn pictures_decode_to_what_was_painted() {
        let image = picture("halves", 8, 4, |u, _| if u < 0.5 { 0xff0000 } else { 0x0000ff });
        let decoded = image::load_from_memory(&image.bytes).unwrap().to_rgb8();
        assert_eq!(decoded.get_pixel(3, 2).0, [255, 0, 0]);
        assert_eq!(decoded.get_pixel(4, 2).0, [0, 0, 255]);
    }
}
