//! A picture, and pictures put together: captions, pairs, contact sheets.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use glam::Vec2;

use crate::lettering::{Align, draw_text, text_width};
use crate::{Error, Result, Srgb};

/// Colours of everything around pictures.
pub(crate) const PAPER: Srgb = [250, 247, 242];
pub(crate) const INK: Srgb = [72, 64, 58];

/// Pixels, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// `width` × `height` colours.
    pub pixels: Vec<Srgb>,
}

impl Picture {
    /// A picture of one colour.
    pub fn filled(width: u32, height: u32, color: Srgb) -> Self {
        Self { width, height, pixels: vec![color; width as usize * height as usize] }
    }

    /// The colour at a place; `None` outside.
    pub fn pixel(&self, x: u32, y: u32) -> Option<Srgb> {
        let inside = x < self.width && y < self.height;
        inside.then(|| self.pixels.get(y as usize * self.width as usize + x as usize).copied()).flatten()
    }

    /// The picture as the bytes of a PNG file.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut bytes = Cursor::new(Vec::new());
        let encoder = image::codecs::png::PngEncoder::new_with_quality(
            &mut bytes,
            image::codecs::png::CompressionType::Best,
            image::codecs::png::FilterType::Adaptive,
        );
        let (width, height) = (self.width, self.height);
        if width == 0 || height == 0 {
            return Err(Error::Size { width, height });
        }
        image::ImageEncoder::write_image(
            encoder,
            self.pixels.as_flattened(),
            width,
            height,
            image::ExtendedColorType::Rgb8,
        )
        .map_err(|error| Error::Encoding { problem: error.to_string() })?;
        Ok(bytes.into_inner())
    }

    /// Writes a PNG file.
    pub fn save_png(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.png()?).map_err(|source| Error::Io { path: path.into(), source })
    }

    /// Writes `0000.png`, `0001.png`, … one per call with the next `index`; returns where.
    pub fn save_numbered(&self, folder: impl AsRef<Path>, index: usize) -> Result<PathBuf> {
        let path = folder.as_ref().join(format!("{index:04}.png"));
        self.save_png(&path)?;
        Ok(path)
    }

    /// This picture and another to its right, their tops level.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        let gap = (self.width.max(other.width) / 80).max(2);
        let mut both = Self::filled(self.width + gap + other.width, self.height.max(other.height), PAPER);
        both.paste(self, 0, 0);
        both.paste(other, self.width + gap, 0);
        both
    }

    /// The picture with a line of text below it.
    #[must_use]
    pub fn captioned(&self, caption: &str) -> Self {
        let mut letters = (self.width.min(self.height) as f32 / 30.0).clamp(7.0, 36.0);
        let widest = 0.94 * self.width as f32;
        letters *= (widest / text_width(caption, letters).max(1e-3)).min(1.0);
        let strip = (self.width.min(self.height) as f32 / 12.0).clamp(18.0, 90.0) as u32;
        let mut captioned = Self::filled(self.width, self.height + strip, PAPER);
        captioned.paste(self, 0, 0);
        let middle = Vec2::new(0.5 * self.width as f32, self.height as f32 + 0.5 * (strip as f32 + letters));
        draw_text(&mut captioned, middle, Align::Centre, letters, INK, caption);
        captioned
    }

    /// The picture with a small text in its top left corner: a frame number.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        let letters = (self.width.min(self.height) as f32 / 26.0).clamp(6.5, 30.0);
        let mut labelled = self.clone();
        draw_text(&mut labelled, Vec2::new(1.4 * letters, 2.4 * letters), Align::Left, letters, INK, label);
        labelled
    }

    /// Pictures in rows of `columns`, each in a cell as large as the largest.
    pub fn contact_sheet(pictures: &[Self], columns: usize) -> Result<Self> {
        let (Some(width), Some(height)) =
            (pictures.iter().map(|p| p.width).max(), pictures.iter().map(|p| p.height).max())
        else {
            return Err(Error::Nothing { what: "a contact sheet needs at least one picture" });
        };
        let columns = columns.clamp(1, pictures.len());
        let rows = pictures.len().div_ceil(columns);
        let gap = (width / 60).max(2);
        let side = |count: usize, cell: u32| {
            let pixels = count as u64 * u64::from(cell + gap) + u64::from(gap);
            u32::try_from(pixels).ok().filter(|&pixels| pixels <= Error::LARGEST_SIDE)
        };
        let (Some(across), Some(down)) = (side(columns, width), side(rows, height)) else {
            let saturated = |count: usize, cell: u32| (count as u32).saturating_mul(cell.saturating_add(gap));
            return Err(Error::Size { width: saturated(columns, width), height: saturated(rows, height) });
        };
        let mut sheet = Self::filled(across, down, PAPER);
        for (index, picture) in pictures.iter().enumerate() {
            let cell = [index % columns, index / columns].map(|i| i as u32);
            sheet.paste(picture, gap + cell[0] * (width + gap), gap + cell[1] * (height + gap));
        }
        Ok(sheet)
    }

    /// Copies another picture into this one; what falls outside is cut off.
    fn paste(&mut self, other: &Self, left: u32, top: u32) {
        let across = other.width.min(self.width.saturating_sub(left)) as usize;
        for y in 0..other.height.min(self.height.saturating_sub(top)) {
            let from = y as usize * other.width as usize;
            let to = (top + y) as usize * self.width as usize + left as usize;
            self.pixels[to..to + across].copy_from_slice(&other.pixels[from..from + across]);
        }
    }

    /// Lays a colour over a pixel inside the picture.
    pub(crate) fn blend(&mut self, x: u32, y: u32, color: Srgb, coverage: f32) {
        let pixel = &mut self.pixels[y as usize * self.width as usize + x as usize];
        for (under, over) in pixel.iter_mut().zip(color) {
            let blended = f32::from(*under) + coverage * (f32::from(over) - f32::from(*under));
            *under = (blended + 0.5) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_reads_back() {
        let mut picture = Picture::filled(5, 3, [10, 20, 30]);
        picture.blend(4, 2, [200, 0, 0], 1.0);
        let read = image::load_from_memory(&picture.png().expect("encodes")).expect("decodes").into_rgb8();
        assert_eq!(read.dimensions(), (5, 3));
        assert_eq!(read.as_raw().as_slice(), picture.pixels.as_flattened());
        assert!(matches!(Picture::filled(0, 3, [0; 3]).png(), Err(Error::Size { width: 0, height: 3 })));
    }

    #[test]
    fn pictures_stand_where_they_should() {
        let (red, blue) = (Picture::filled(20, 10, [255, 0, 0]), Picture::filled(30, 16, [0, 0, 255]));
        let both = red.beside(&blue);
        assert_eq!((both.width, both.height), (52, 16));
        assert_eq!(both.pixel(0, 0), Some([255, 0, 0]));
        assert_eq!(both.pixel(51, 15), Some([0, 0, 255]));
        assert_eq!(both.pixel(0, 15), Some(PAPER), "the shorter one is padded");
        let sheet = Picture::contact_sheet(&[red.clone(), blue, red], 2).expect("a sheet");
        assert_eq!((sheet.width, sheet.height), (2 * 32 + 2, 2 * 18 + 2));
        assert_eq!(sheet.pixel(2, 2 + 18), Some([255, 0, 0]), "the third is below the first");
        assert!(matches!(Picture::contact_sheet(&[], 3), Err(Error::Nothing { .. })));
    }

    #[test]
    fn captions_leave_ink_below_the_picture() {
        let captioned = Picture::filled(200, 100, [255; 3]).captioned("before – 24 fps");
        assert!(captioned.height > 100);
        assert!(
            captioned.pixels[..200 * 100].iter().all(|p| *p == [255; 3]),
            "the picture itself is untouched"
        );
        assert!(captioned.pixels[200 * 100..].iter().any(|p| p[0] < 120));
        assert!(Picture::filled(60, 60, [255; 3]).labelled("12").pixels.iter().any(|p| p[0] < 120));
    }
}
