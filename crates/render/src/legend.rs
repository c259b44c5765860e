//! The bar that says which colour is which number.

use glam::Vec2;

use crate::lettering::{Align, draw_text, text_width};
use crate::picture::INK;
use crate::scalars::short_number;
use crate::{Picture, Scalars};

/// Draws the colour bar with its numbers, name and unit at the right edge.
pub(crate) fn draw_legend(picture: &mut Picture, scalars: &Scalars) {
    let (width, height) = (picture.width as f32, picture.height as f32);
    let letters = (width.min(height) / 34.0).clamp(6.0, 30.0);
    let [low, high] = scalars.range;
    let numbers = [high, low].map(short_number);
    let column = numbers.iter().map(|text| text_width(text, letters)).fold(0.0, f32::max);
    let title = match (scalars.name.as_str(), scalars.unit.as_str()) {
        (name, "") => name.to_string(),
        ("", unit) => unit.to_string(),
        (name, unit) => format!("{name} ({unit})"),
    };
    let (margin, bar_width, bar_height) = (1.8 * letters, 1.1 * letters, 0.36 * height);
    let right = width - margin;
    let left = right - column - 0.8 * letters - bar_width;
    let top = margin + 2.2 * letters;
    for y in top as u32..((top + bar_height) as u32).min(picture.height) {
        let t = 1.0 - (y as f32 + 0.5 - top) / bar_height;
        for x in left.max(0.0) as u32..((left + bar_width).max(0.0) as u32).min(picture.width) {
            picture.blend(x, y, scalars.map.color(t), 1.0);
        }
    }
    draw_text(picture, Vec2::new(right, margin + letters), Align::Right, letters, INK, &title);
    for (row, text) in numbers.iter().enumerate() {
        let y = top + bar_height * row as f32 + letters * (1.0 - row as f32);
        draw_text(picture, Vec2::new(right - column, y), Align::Left, letters, INK, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_and_numbers_are_there() {
        let scalars = Scalars::new("strain", "%", vec![vec![0.0, 12.5]]);
        let mut picture = Picture::filled(320, 240, [255; 3]);
        draw_legend(&mut picture, &scalars);
        for t in [0.05, 0.5, 0.95] {
            let color = scalars.map.color(t);
            let near = |p: &[u8; 3]| p.iter().zip(color).all(|(a, b)| a.abs_diff(b) < 8);
            assert!(picture.pixels.iter().any(near), "the colour at {t} is on the bar");
        }
        let blank = Scalars { name: String::new(), unit: String::new(), ..scalars.clone() };
        let mut other = Picture::filled(320, 240, [255; 3]);
        draw_legend(&mut other, &blank);
        let dark = |p: &Picture| p.pixels.iter().filter(|p| p.iter().all(|&c| c < 120)).count();
        assert!(dark(&picture) > dark(&other), "the name leaves ink");
        let renamed = scalars.with_range(0.0, 13.5);
        let mut third = Picture::filled(320, 240, [255; 3]);
        draw_legend(&mut third, &renamed);
        assert_ne!(third.pixels, picture.pixels, "the numbers are written");
    }

    #[test]
    fn a_tiny_picture_does_not_panic() {
        for size in [1, 2, 7] {
            draw_legend(&mut Picture::filled(size, size, [0; 3]), &Scalars::new("x", "", vec![]));
        }
    }
}
