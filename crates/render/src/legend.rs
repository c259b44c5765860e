//! The bar that says which colour is which number.

use glam::Vec2;

use crate::lettering::{Align, draw_text, text_width};
use crate::picture::INK;
use crate::scalars::short_number;
use crate::{Picture, Scalars};

/// Draws name, unit and colour bar with its two numbers in one line along the lower edge, in the margin that framing
/// cameras leave there.
pub(crate) fn draw_legend(picture: &mut Picture, scalars: &Scalars) {
    let (width, height) = (picture.width as f32, picture.height as f32);
    let title = match (scalars.name.as_str(), scalars.unit.as_str()) {
        (name, "") => name.to_string(),
        ("", unit) => unit.to_string(),
        (name, unit) => format!("{name} ({unit})"),
    };
    let [low, high] = scalars.range.map(short_number);
    let bar_width = 0.22 * width;
    let mut letters = (height / 42.0).clamp(6.0, 32.0);
    let line = |letters: f32| {
        [&title, &low, &high].into_iter().map(|text| text_width(text, letters)).sum::<f32>() + 4.5 * letters
    };
    // in a narrow picture the letters shrink until the line fits
    letters *= ((width - bar_width) / line(letters)).min(1.0);

    let baseline = height - 1.1 * letters;
    let mut right = width - letters;
    draw_text(picture, Vec2::new(right, baseline), Align::Right, letters, INK, &high);
    right -= text_width(&high, letters) + 0.8 * letters;
    let left = right - bar_width;
    for y in (baseline - letters).max(0.0) as u32..(baseline.ceil() as u32).min(picture.height) {
        for x in left.max(0.0) as u32..(right.max(0.0) as u32).min(picture.width) {
            picture.blend(x, y, scalars.map.color((x as f32 + 0.5 - left) / bar_width), 1.0);
        }
    }
    right = left - 0.8 * letters;
    draw_text(picture, Vec2::new(right, baseline), Align::Right, letters, INK, &low);
    right -= text_width(&low, letters) + 1.4 * letters;
    draw_text(picture, Vec2::new(right, baseline), Align::Right, letters, INK, &title);
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
