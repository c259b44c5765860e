//! Letters made of strokes, for captions and legends at any size.
//!
//! A glyph is a width and paths on a grid: pairs of base-36 digits x, y; the baseline is y = 4, small letters reach 12
//! (`c`), capitals 16 (`g`), tails 0. A path that begins with `~` is rounded (corners cut twice, after Chaikin); where
//! its ends meet it is a loop.

use glam::Vec2;

use crate::{Picture, Srgb};

/// Where a text is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// Heights on the grid.
const BASELINE: f32 = 4.0;
const CAPITAL: f32 = 12.0;
/// Space between letters, and the width of a blank.
const GAP: f32 = 3.6;
const BLANK: f32 = 4.0;

#[rustfmt::skip]
const GLYPHS: &[(char, u8, &str)] = &[
    ('0', 7, "~0g04747g0g"), ('1', 4, "0d4g44"), ('2', 7, "~0e0g7g7b04 0474"), ('3', 7, "~0f0g7g7a3a ~3a7a740406"),
    ('4', 8, "6g0888 6g64"), ('5', 7, "7g0g0a ~0a3c7c740406"), ('6', 7, "~6g0f04747b0b08"), ('7', 7, "0g7g24"),
    ('8', 7, "~0g0a7a7g0g ~0a04747a0a"), ('9', 7, "~14757g0g09797c"),
    ('A', 8, "044g84 1878"), ('B', 8, "0g04 ~0g4g8g8a4a0a ~0a4a8a844404"), ('C', 8, "~8e8g0g048486"),
    ('D', 8, "0g04 ~0g4g8g844404"), ('E', 7, "7g0g0474 0a6a"), ('F', 7, "7g0g04 0a6a"), ('G', 8, "~8e8g0g04848a 5a8a"),
    ('H', 8, "0g04 8g84 0a8a"), ('I', 0, "0g04"), ('J', 6, "~6g640407"), ('K', 8, "0g04 8g08 3b84"), ('L', 7, "0g0474"),
    ('M', 10, "040g58aga4"), ('N', 8, "040g848g"), ('O', 9, "~0g04949g0g"), ('P', 8, "0g04 ~0g4g8g894909"),
    ('Q', 9, "~0g04949g0g 5893"), ('R', 8, "0g04 ~0g4g8g894909 4984"), ('S', 8, "~8e8g0g0a8a840406"), ('T', 8, "0g8g 4g44"),
    ('U', 8, "~0g04848g"), ('V', 8, "0g448g"), ('W', 12, "0g346e94cg"), ('X', 8, "0g84 8g04"), ('Y', 8, "0g4a8g 4a44"),
    ('Z', 8, "0g8g0484"),
    ('a', 7, "7c74 ~797c0c047477"), ('b', 7, "0g04 ~090c7c740407"), ('c', 7, "~7a7c0c047476"), ('d', 7, "7g74 ~797c0c047477"),
    ('e', 7, "0878 ~787c0c047476"), ('f', 5, "~5g2g2c24 0c5c"), ('g', 7, "~797c0c047477 ~7c700002"), ('h', 7, "0g04 ~080c7c74"),
    ('i', 0, "0c04 0g0g"), ('j', 3, "~3c3000 3g3g"), ('k', 6, "0g04 6c07 2964"), ('l', 2, "~0g0424"),
    ('m', 11, "0c04 ~080c5c54 ~585cbcb4"), ('n', 7, "0c04 ~080c7c74"), ('o', 7, "~0c04747c0c"), ('p', 7, "0c00 ~090c7c740407"),
    ('q', 7, "7c70 ~797c0c047477"), ('r', 5, "0c04 ~080c5c"), ('s', 6, "~6b6c0c0868640405"), ('t', 5, "~2f2454 0c5c"),
    ('u', 7, "~0c047478 7c74"), ('v', 6, "0c346c"), ('w', 10, "0c245b84ac"), ('x', 6, "0c64 6c04"), ('y', 6, "0c34 6c10"),
    ('z', 6, "0c6c0464"),
    ('.', 0, "0404"), (',', 1, "1402"), (':', 0, "0404 0a0a"), (';', 1, "1402 1a1a"), ('-', 5, "0959"), ('+', 8, "0989 4d45"),
    ('=', 8, "0b8b 0787"), ('_', 8, "0484"), ('/', 6, "036h"), ('%', 10, "04ag ~0g0d3d3g0g ~7774a4a777"), ('(', 3, "~3h0f0533"),
    (')', 3, "~0h3f3503"), ('[', 3, "3h0h0333"), (']', 3, "0h3h3303"), ('!', 0, "0g08 0404"), ('?', 6, "~0e0g6g6b3b38 3434"),
    ('\'', 0, "0g0d"), ('"', 3, "0g0d 3g3d"), ('#', 8, "3g24 7g64 0c8c 0888"), ('*', 6, "3f37 0d69 6d09"), ('<', 7, "7d0975"),
    ('>', 7, "0d7905"), ('|', 0, "0h02"), ('&', 9, "~941d1g6g6d07047498"), ('~', 8, "~092c688b"),
    ('µ', 7, "0c00 ~0c047478 7c74"), ('°', 4, "~0g0c4c4g0g"), ('²', 4, "~0f0g4g4e0a 0a4a"), ('³', 4, "~0f0g4g4d2d ~2d4d4a0a0b"),
    ('·', 0, "0a0a"), ('×', 6, "0c66 6c06"), ('±', 8, "0b8b 4f47 0484"), ('−', 8, "0989"), ('–', 8, "0989"), ('—', 12, "09c9"),
    ('→', 10, "09a9 7ca976"), ('…', 8, "0404 4444 8484"),
];

/// What stands for a letter we have not drawn.
const UNKNOWN: (u8, &str) = (7, "040g7g7404");

fn glyph(letter: char) -> (f32, &'static str) {
    if letter == ' ' {
        return (BLANK, "");
    }
    let found =
        GLYPHS.iter().find(|glyph| glyph.0 == letter).map_or(UNKNOWN, |&(_, width, paths)| (width, paths));
    (f32::from(found.0), found.1)
}

/// Width of a line of text whose capitals are `height` pixels high.
pub(crate) fn text_width(text: &str, height: f32) -> f32 {
    let letters = text.chars().map(|letter| glyph(letter).0 + GAP).sum::<f32>() - GAP;
    letters.max(0.0) * height / CAPITAL
}

/// A line of text as a drawing: coverage of each pixel, 0 to 1, row by row from the top. `height` is that of capitals and `stroke` the
/// width of the pen, in pixels; `centre` is the middle of the capitals, in pixels from the top left corner.
pub fn letters(text: &str, size: [u32; 2], centre: [f32; 2], height: f32, stroke: f32) -> Vec<f32> {
    let mut picture = Picture::filled(size[0], size[1], [0; 3]);
    let baseline = Vec2::new(centre[0], centre[1] + 0.5 * height);
    draw_strokes(&mut picture, baseline, Align::Centre, height, 0.5 * stroke, [255; 3], text);
    picture.pixels.iter().map(|pixel| f32::from(pixel[0]) / 255.0).collect()
}

/// Draws a line of text; `at` is where its baseline begins, ends or has its middle.
pub(crate) fn draw_text(picture: &mut Picture, at: Vec2, align: Align, height: f32, color: Srgb, text: &str) {
    draw_strokes(picture, at, align, height, (0.068 * height).max(0.55), color, text);
}

fn draw_strokes(
    picture: &mut Picture,
    at: Vec2,
    align: Align,
    height: f32,
    half_stroke: f32,
    color: Srgb,
    text: &str,
) {
    let unit = height / CAPITAL;
    let mut x = at.x
        - text_width(text, height)
            * match align {
                Align::Left => 0.0,
                Align::Centre => 0.5,
                Align::Right => 1.0,
            };
    for letter in text.chars() {
        let (width, paths) = glyph(letter);
        let to_picture = |p: Vec2| Vec2::new(x + p.x * unit, at.y - (p.y - BASELINE) * unit);
        let strokes: Vec<[Vec2; 2]> = paths
            .split_whitespace()
            .flat_map(|path| path_points(path).windows(2).map(|w| [w[0], w[1]]).collect::<Vec<_>>())
            .map(|ends| ends.map(to_picture))
            .collect();
        ink(picture, &strokes, half_stroke, color);
        x += (width + GAP) * unit;
    }
}

/// Points of a path, rounded where it asks for it.
fn path_points(path: &str) -> Vec<Vec2> {
    let rounded = path.starts_with('~');
    let digits: Vec<f32> = path.chars().filter_map(|c| c.to_digit(36)).map(|digit| digit as f32).collect();
    let mut points: Vec<Vec2> = digits.chunks_exact(2).map(|pair| Vec2::new(pair[0], pair[1])).collect();
    if !rounded || points.len() < 3 {
        return points;
    }
    let closed = points.first() == points.last();
    for _ in 0..3 {
        let mut cut: Vec<Vec2> =
            points.windows(2).flat_map(|w| [w[0].lerp(w[1], 0.25), w[0].lerp(w[1], 0.75)]).collect();
        if closed {
            cut.push(cut[0]);
        } else {
            // the ends stay where they are
            let last = cut.len() - 1;
            cut[0] = points[0];
            cut[last] = points[points.len() - 1];
        }
        points = cut;
    }
    points
}

/// Lays colour over everything within `half_stroke` of the strokes, with soft edges.
fn ink(picture: &mut Picture, strokes: &[[Vec2; 2]], half_stroke: f32, color: Srgb) {
    let reach = Vec2::splat(half_stroke + 1.0);
    let low = strokes.iter().flatten().fold(Vec2::INFINITY, |low, &p| low.min(p)) - reach;
    let high = strokes.iter().flatten().fold(Vec2::NEG_INFINITY, |high, &p| high.max(p)) + reach;
    let side = |value: f32, size: u32| value.clamp(0.0, size as f32) as u32;
    for y in side(low.y, picture.height)..side(high.y.ceil(), picture.height) {
        for x in side(low.x, picture.width)..side(high.x.ceil(), picture.width) {
            let here = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let distance = |&[a, b]: &[Vec2; 2]| {
                let along = b - a;
                let t = ((here - a).dot(along) / along.length_squared().max(1e-9)).clamp(0.0, 1.0);
                here.distance(a + t * along)
            };
            let nearest = strokes.iter().map(distance).fold(f32::INFINITY, f32::min);
            picture.blend(x, y, color, (half_stroke + 0.5 - nearest).clamp(0.0, 1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_stays_inside_its_cell() {
        for &(letter, width, paths) in GLYPHS {
            for path in paths.split_whitespace() {
                assert_eq!(path.trim_start_matches('~').len() % 2, 0, "`{letter}` has a half point");
                let points = path_points(path);
                assert!(points.len() >= 2, "`{letter}` has a path of one point");
                for p in points {
                    assert!(p.x <= f32::from(width) && p.y <= 17.0, "`{letter}` leaves its cell at {p}");
                }
            }
        }
    }

    #[test]
    fn letters_differ_and_leave_ink() {
        let mut drawn: Vec<Vec<Srgb>> = Vec::new();
        for letter in ('0'..='9').chain('A'..='Z').chain('a'..='z') {
            let mut picture = Picture::filled(24, 28, [255; 3]);
            draw_text(&mut picture, Vec2::new(4.0, 20.0), Align::Left, 14.0, [0; 3], &letter.to_string());
            assert!(picture.pixels.iter().any(|p| p[0] < 80), "`{letter}` is blank");
            assert!(!drawn.contains(&picture.pixels), "`{letter}` looks like another letter");
            drawn.push(picture.pixels);
        }
    }

    #[test]
    fn text_beyond_the_edge_is_cut() {
        let mut picture = Picture::filled(10, 10, [255; 3]);
        draw_text(&mut picture, Vec2::new(-50.0, 5.0), Align::Left, 20.0, [0; 3], "a long text — 日本");
        draw_text(&mut picture, Vec2::new(5.0, 500.0), Align::Centre, 20.0, [0; 3], "far below");
        assert_eq!(picture.pixels.len(), 100);
    }
}
