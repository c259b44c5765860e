//! Small frames: lossy VP8, key frames only, as WebP holds them (RFC 6386).
//!
//! A frame is predicted from its own neighbours in blocks of 16 × 16 (mean, from above, from the left, or both), the
//! rest is transformed, quantised and written with an arithmetic coder whose odds are fitted to the frame. We leave out
//! the 4 × 4 predictions: renders are smooth, and without them this stays a few hundred lines.

mod coder;
mod tables;
mod tokens;
mod transform;

use crate::Srgb;
use coder::{Coder, share};
use tables::{AC_STEPS, DC_STEPS, ZIGZAG};
use tokens::{Odds, write_tokens};
use transform::{forward, forward_means, inverse, inverse_means};

/// Coefficients of a 4 × 4 block.
type Block = [i16; 16];

/// The kinds of block that tokens are told apart by.
const AFTER_MEANS: usize = 0;
const MEANS: usize = 1;
const CHROMA: usize = 2;

/// How a square is guessed from what is already there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guess {
    Mean,
    Above,
    Left,
    /// Above plus left minus corner: continues a slope.
    Slope,
}

/// One 16 × 16 square, ready to be written.
struct Square {
    luma: Guess,
    chroma: Guess,
    /// Means of the luma blocks, then 16 luma blocks, 4 of U, 4 of V; in zigzag order.
    levels: [Block; 25],
    /// Whether all of them are zero.
    is_blank: bool,
}

/// Encodes a picture; `quantiser` from 0 (finest) to 127. Gives the payload of a `VP8 ` chunk.
pub(crate) fn encode(pixels: &[Srgb], width: usize, height: usize, quantiser: u8) -> Vec<u8> {
    let steps = Steps::new(quantiser);
    let across = width.div_ceil(16);
    let down = height.div_ceil(16);
    let mut planes = Planes::new(pixels, width, height, across, down);
    let squares: Vec<Square> =
        (0..across * down).map(|i| planes.code_square(i % across, i / across, &steps)).collect();

    // fit the odds to the frame
    let mut counts = Box::new([[[[[0u32; 2]; 11]; 3]; 8]; 4]);
    write_tokens(&squares, across, &mut |odds, bit| {
        if let Odds::Token(kind, band, before, branch) = odds {
            counts[kind][band][before][branch][usize::from(bit)] += 1;
        }
    });
    let written = squares.iter().filter(|square| !square.is_blank).count();
    let some_blank = share(written, squares.len() - written);

    let mut head = Coder::default();
    head.literal(0, 2); // colour space, clamping
    head.literal(0, 1); // no segments
    head.literal(0, 1); // normal loop filter
    head.literal(u32::from(quantiser / 4).min(63), 6);
    head.literal(0, 3 + 1 + 2); // sharpness, no adjustment, one partition
    head.literal(u32::from(quantiser.min(127)), 7);
    head.literal(0, 5 + 1); // no step differs from the table; odds are not kept, there is no next frame
    let odds = head.token_odds(&counts);
    head.literal(1, 1); // blank squares are marked
    head.literal(u32::from(some_blank), 8);
    for square in &squares {
        head.bit(square.is_blank, some_blank);
        head.bit(true, 145); // one guess for the whole square
        head.bit(matches!(square.luma, Guess::Left | Guess::Slope), 156);
        match square.luma {
            Guess::Mean | Guess::Above => head.bit(square.luma == Guess::Above, 163),
            Guess::Left | Guess::Slope => head.bit(square.luma == Guess::Slope, 128),
        }
        head.bit(square.chroma != Guess::Mean, 142);
        if square.chroma != Guess::Mean {
            head.bit(square.chroma != Guess::Above, 114);
            if square.chroma != Guess::Above {
                head.bit(square.chroma == Guess::Slope, 183);
            }
        }
    }
    let mut body = Coder::default();
    write_tokens(&squares, across, &mut |place, bit| match place {
        Odds::Token(kind, band, before, branch) => body.bit(bit, odds[kind][band][before][branch]),
        Odds::Fixed(probability) => body.bit(bit, probability),
    });

    let (head, body) = (head.finish(), body.finish());
    let mut bytes = Vec::with_capacity(10 + head.len() + body.len());
    let tag = (head.len() as u32) << 5 | 0b1_0000; // a key frame, version 0, shown
    bytes.extend(&tag.to_le_bytes()[..3]);
    bytes.extend([0x9d, 0x01, 0x2a]);
    bytes.extend((width as u16).to_le_bytes());
    bytes.extend((height as u16).to_le_bytes());
    bytes.extend(head);
    bytes.extend(body);
    bytes
}

/// Quantiser steps (constant term, others) for each kind of block.
struct Steps {
    luma: [i16; 2],
    means: [i16; 2],
    chroma: [i16; 2],
}

impl Steps {
    fn new(quantiser: u8) -> Self {
        let index = usize::from(quantiser.min(127));
        let (dc, ac) = (DC_STEPS[index], AC_STEPS[index]);
        // §14.1: means are twice as fine as they look, since their transform is twice as large
        let means_ac = (i32::from(ac) * 155 / 100).max(8) as i16;
        Self { luma: [dc, ac], means: [2 * dc, means_ac], chroma: [dc.min(132), ac] }
    }
}

/// Luma and chroma, as given and as the decoder will see them, padded to whole squares.
struct Planes {
    given: [Plane; 3],
    seen: [Plane; 3],
}

struct Plane {
    width: usize,
    values: Vec<u8>,
}

impl Planes {
    /// ITU-R BT.601, narrow range; chroma is the mean of 2 × 2 pixels.
    fn new(pixels: &[Srgb], width: usize, height: usize, across: usize, down: usize) -> Self {
        let level = |value: f32| (value + 0.5) as u8;
        let luma = |[r, g, b]: Srgb| {
            let [r, g, b] = [r, g, b].map(f32::from);
            level(16.0 + 0.256_788 * r + 0.504_129 * g + 0.097_906 * b)
        };
        let empty =
            |side: usize| Plane { width: side * across, values: vec![0; side * side * across * down] };
        let mut given = [empty(16), empty(8), empty(8)];
        // the last row and column are repeated up to whole squares
        let row = |y: usize| &pixels[y.min(height - 1) * width..][..width];
        for (y, values) in given[0].values.chunks_exact_mut(16 * across).enumerate() {
            let row = row(y);
            values.iter_mut().zip(row).for_each(|(value, pixel)| *value = luma(*pixel));
            let last = luma(row[width - 1]);
            values[width..].fill(last);
        }
        let [_, blue, red] = &mut given;
        let rows = blue.values.chunks_exact_mut(8 * across).zip(red.values.chunks_exact_mut(8 * across));
        for (y, (blue, red)) in rows.enumerate() {
            let (upper, lower) = (row(2 * y), row(2 * y + 1));
            for (x, (blue, red)) in blue.iter_mut().zip(red).enumerate() {
                let [left, right] = [(2 * x).min(width - 1), (2 * x + 1).min(width - 1)];
                let four = [upper[left], upper[right], lower[left], lower[right]];
                let sum = |c: usize| four.iter().map(|pixel| u16::from(pixel[c])).sum::<u16>();
                let [r, g, b] = [sum(0), sum(1), sum(2)].map(|sum| 0.25 * f32::from(sum));
                *blue = level(128.0 - 0.148_223 * r - 0.290_993 * g + 0.439_216 * b);
                *red = level(128.0 + 0.439_216 * r - 0.367_788 * g - 0.071_427 * b);
            }
        }
        Self { given, seen: [empty(16), empty(8), empty(8)] }
    }

    /// Guesses, transforms and quantises one square, and leaves in `seen` what a decoder makes of it.
    fn code_square(&mut self, column: usize, row: usize, steps: &Steps) -> Square {
        let mut levels = [[0; 16]; 25];
        let given = self.given[0].square::<16>(column, row);
        let (luma, guess) = Self::best_guess([(&given, &self.seen[0])], column, row);

        // the blocks' constant terms are transformed once more, among themselves
        let mut spectra: [[f32; 16]; 16] = std::array::from_fn(|i| forward(&rest(&given, &guess[0], i)));
        let mut means = [0.0; 16];
        for (mean, spectrum) in means.iter_mut().zip(&mut spectra) {
            *mean = std::mem::take(&mut spectrum[0]);
        }
        let (level, seen_means) = quantise(&forward_means(&means), steps.means);
        levels[0] = level;
        let seen_means = inverse_means(&seen_means);
        for (i, spectrum) in spectra.iter().enumerate() {
            let (level, mut seen) = quantise(spectrum, steps.luma);
            levels[1 + i] = level;
            seen[0] = seen_means[i];
            self.seen[0].put(&guess[0], &inverse(&seen), column, row, i);
        }

        let given = [1, 2].map(|plane| self.given[plane].square::<8>(column, row));
        let planes = [(&given[0], &self.seen[1]), (&given[1], &self.seen[2])];
        let (chroma, guess) = Self::best_guess(planes, column, row);
        for plane in [0, 1] {
            for i in 0..4 {
                let (level, seen) = quantise(&forward(&rest(&given[plane], &guess[plane], i)), steps.chroma);
                levels[17 + 4 * plane + i] = level;
                self.seen[1 + plane].put(&guess[plane], &inverse(&seen), column, row, i);
            }
        }
        let is_blank = levels.as_flattened().iter().all(|&level| level == 0);
        Square { luma, chroma, levels, is_blank }
    }

    /// The guess with the smallest squared error over some planes, and what it gives. Guesses that would need what lies outside
    /// the picture are not considered.
    fn best_guess<const S: usize, const N: usize>(
        planes: [(&[[u8; S]; S], &Plane); N],
        column: usize,
        row: usize,
    ) -> (Guess, [[[u8; S]; S]; N]) {
        let guessed = |guess: Guess| planes.map(|(_, seen)| seen.guess::<S>(guess, column, row));
        let error = |guessed: &[[[u8; S]; S]; N]| -> u32 {
            let of = |given: &[[u8; S]; S], guessed: &[[u8; S]; S]| {
                let pairs = given.as_flattened().iter().zip(guessed.as_flattened());
                pairs.map(|(a, b)| (i32::from(*a) - i32::from(*b)).pow(2) as u32).sum::<u32>()
            };
            planes.iter().zip(guessed).map(|((given, _), guessed)| of(given, guessed)).sum()
        };
        let mut best = (Guess::Mean, guessed(Guess::Mean));
        let mut least = error(&best.1);
        let possible =
            [(Guess::Above, row > 0), (Guess::Left, column > 0), (Guess::Slope, row > 0 && column > 0)];
        for (guess, _) in possible.into_iter().filter(|(_, possible)| *possible) {
            let guessed = guessed(guess);
            let error = error(&guessed);
            if error < least {
                (best, least) = ((guess, guessed), error);
            }
        }
        best
    }
}

/// What the guess misses in the i-th 4 × 4 block of a square.
fn rest<const S: usize>(given: &[[u8; S]; S], guess: &[[u8; S]; S], i: usize) -> [f32; 16] {
    let blocks = S / 4;
    let (left, top) = (i % blocks * 4, i / blocks * 4);
    let mut rest = [0.0; 16];
    for y in 0..4 {
        for x in 0..4 {
            let (given, guess) = (given[top + y][left + x], guess[top + y][left + x]);
            rest[4 * y + x] = f32::from(i16::from(given) - i16::from(guess));
        }
    }
    rest
}

impl Plane {
    /// One square of the plane.
    fn square<const S: usize>(&self, column: usize, row: usize) -> [[u8; S]; S] {
        let mut square = [[0; S]; S];
        for (y, line) in square.iter_mut().enumerate() {
            line.copy_from_slice(&self.values[(row * S + y) * self.width + column * S..][..S]);
        }
        square
    }

    /// A guessed square (§12.2, 12.3).
    fn guess<const S: usize>(&self, guess: Guess, column: usize, row: usize) -> [[u8; S]; S] {
        let (left, top) = (column * S, row * S);
        let mut above = [0; S];
        if row > 0 {
            above.copy_from_slice(&self.values[(top - 1) * self.width + left..][..S]);
        }
        let beside: [u8; S] = match column {
            0 => [0; S],
            _ => std::array::from_fn(|y| self.values[(top + y) * self.width + left - 1]),
        };
        match guess {
            Guess::Mean => {
                let sum = |values: &[u8; S]| values.iter().map(|&v| i32::from(v)).sum::<i32>();
                // what lies outside the picture is zero, and not counted
                let count = S as i32 * (i32::from(row > 0) + i32::from(column > 0));
                let mean = (sum(&above) + sum(&beside) + count / 2).checked_div(count).unwrap_or(128);
                [[mean as u8; S]; S]
            }
            Guess::Above => [above; S],
            Guess::Left => beside.map(|value| [value; S]),
            Guess::Slope => {
                let corner = i16::from(self.values[(top - 1) * self.width + left - 1]);
                beside.map(|beside| {
                    let rise = i16::from(beside) - corner;
                    above.map(|above| (i16::from(above) + rise).clamp(0, 255) as u8)
                })
            }
        }
    }

    /// Writes guess plus rest for one 4 × 4 block of a square.
    fn put<const S: usize>(
        &mut self,
        guess: &[[u8; S]; S],
        rest: &[i32; 16],
        column: usize,
        row: usize,
        block: usize,
    ) {
        let blocks = S / 4;
        let (left, top) = (block % blocks * 4, block / blocks * 4);
        for y in 0..4 {
            let at = (row * S + top + y) * self.width + column * S + left;
            for (x, value) in self.values[at..at + 4].iter_mut().enumerate() {
                *value = (i32::from(guess[top + y][left + x]) + rest[4 * y + x]).clamp(0, 255) as u8;
            }
        }
    }
}

/// What is added to a coefficient, in steps, before it is cut off.
const ROUNDING: f32 = 0.38;

/// Levels in zigzag order, and the coefficients a decoder makes of them. High frequencies are rounded down a little:
/// they cost more bits than they are worth.
fn quantise(spectrum: &[f32; 16], steps: [i16; 2]) -> (Block, [i32; 16]) {
    let (mut levels, mut seen) = ([0; 16], [0; 16]);
    // most blocks have nothing but a constant term; what is as small as this is rounded down to nothing, whatever its last bit
    let nothing = 0.999 * (1.0 - ROUNDING) * f32::from(steps[1]);
    let is_even = spectrum[1..].iter().all(|value| value.abs() < nothing);
    let count = if is_even { 1 } else { 16 };
    for (place, &i) in ZIGZAG[..count].iter().enumerate() {
        let step = if i == 0 { steps[0] } else { steps[1] };
        let rounding = if i == 0 { 0.5 } else { ROUNDING };
        // the number is not negative, so cutting it off rounds it down
        let size = (spectrum[i].abs() / f32::from(step) + rounding).min(2047.0) as i16;
        let level = if spectrum[i] < 0.0 { -size } else { size };
        levels[place] = level;
        seen[i] = i32::from(level) * i32::from(step);
    }
    (levels, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Wraps a frame as a still WebP file and reads it back with another decoder.
    fn decode(frame: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut file = b"RIFF....WEBPVP8 ".to_vec();
        file.extend((frame.len() as u32).to_le_bytes());
        file.extend(frame);
        file.resize(file.len().next_multiple_of(2), 0);
        let length = file.len() as u32 - 8;
        file[4..8].copy_from_slice(&length.to_le_bytes());
        let mut decoder = image_webp::WebPDecoder::new(Cursor::new(file)).expect("a WebP file");
        let (width, height) = decoder.dimensions();
        let mut pixels = vec![0; decoder.output_buffer_size().expect("a size")];
        decoder.read_image(&mut pixels).expect("a frame");
        (width, height, pixels)
    }

    /// A disc with a soft rim on a gradient, all in nearly one hue, as renders are.
    fn disc(width: usize, height: usize) -> Vec<Srgb> {
        let pixel = |i: usize| {
            let (x, y) = ((i % width) as f32 / width as f32 - 0.4, (i / width) as f32 / height as f32 - 0.5);
            let inside = ((0.3 - x.hypot(y)) * 60.0).clamp(0.0, 1.0);
            let paper = [248.0 - 14.0 * y, 243.0 - 16.0 * y, 236.0 - 20.0 * y];
            let clay = [200.0 + 90.0 * x, 140.0 - 100.0 * y, 110.0];
            [0, 1, 2].map(|c| (paper[c] + inside * (clay[c] - paper[c])) as u8)
        };
        (0..width * height).map(pixel).collect()
    }

    /// Mean error of brightness; colour has half the resolution and is off at every edge.
    fn mean_error(pixels: &[Srgb], decoded: &[u8]) -> f64 {
        let brightness = |p: &[u8]| 0.30 * f64::from(p[0]) + 0.59 * f64::from(p[1]) + 0.11 * f64::from(p[2]);
        let pairs = pixels.iter().zip(decoded.chunks_exact(3));
        pairs.map(|(a, b)| (brightness(a) - brightness(b)).abs()).sum::<f64>() / pixels.len() as f64
    }

    #[test]
    fn another_decoder_sees_the_picture() {
        for (width, height) in [(160, 112), (61, 37), (16, 16), (1, 1), (3, 40)] {
            let pixels = disc(width, height);
            let (w, h, decoded) = decode(&encode(&pixels, width, height, 10));
            assert_eq!((w as usize, h as usize), (width, height));
            let error = mean_error(&pixels, &decoded);
            assert!(error < 2.0, "{width} × {height}: {error:.2} levels off");
        }
    }

    #[test]
    fn coarser_steps_give_smaller_files_and_larger_errors() {
        let pixels = disc(160, 112);
        let coded = |quantiser: u8| encode(&pixels, 160, 112, quantiser);
        let (fine, coarse) = (coded(4), coded(70));
        assert!(coarse.len() * 2 < fine.len(), "{} and {} bytes", fine.len(), coarse.len());
        assert!(mean_error(&pixels, &decode(&fine).2) < mean_error(&pixels, &decode(&coarse).2));
    }

    /// Noise makes large coefficients, every category of token and every guess.
    #[test]
    fn noise_survives() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 1 { 255 } else { 0 }
        };
        let pixels: Vec<Srgb> = (0..64 * 48).map(|_| [next(); 3]).collect();
        let error = mean_error(&pixels, &decode(&encode(&pixels, 64, 48, 0)).2);
        assert!(error < 3.0, "{error:.2} levels off");
    }

    #[test]
    fn transforms_undo_each_other() {
        let block: [f32; 16] = std::array::from_fn(|i| ((i * 37) % 23) as f32 * 9.0 - 90.0);
        let rounded = |spectrum: [f32; 16]| spectrum.map(|v| v.round() as i32);
        for (given, seen) in block.iter().zip(inverse(&rounded(forward(&block)))) {
            assert!((given - seen as f32).abs() <= 1.0);
        }
        for (given, seen) in block.iter().zip(inverse_means(&rounded(forward_means(&block)))) {
            assert!((given - seen as f32).abs() <= 1.0);
        }
    }
}
