//! Transforms of 4 × 4 blocks: from values to a spectrum, and back exactly as decoders go.

/// The transform whose inverse decoders compute: X = ½ Mᵀ P M, the columns of M being 1 and √2 cos, √2 sin of π/8.
pub(super) fn forward(block: &[f32; 16]) -> [f32; 16] {
    const C: f32 = 1.306_563;
    const S: f32 = 0.541_196_1;
    let line = |[a, b, c, d]: [f32; 4]| {
        [a + b + c + d, C * (a - d) + S * (b - c), a - b - c + d, S * (a - d) - C * (b - c)]
    };
    both_ways(block, line)
}

/// The transform of the means: Y = ½ H P H.
pub(super) fn forward_means(block: &[f32; 16]) -> [f32; 16] {
    let line = |[a, b, c, d]: [f32; 4]| [a + b + c + d, a + b - c - d, a - b - c + d, a - b + c - d];
    both_ways(block, line)
}

/// A transform of lines, of rows and then of columns, halved.
fn both_ways(block: &[f32; 16], line: impl Fn([f32; 4]) -> [f32; 4]) -> [f32; 16] {
    let mut rows = [0.0; 16];
    for y in 0..4 {
        let row = line(std::array::from_fn(|x| block[4 * y + x]));
        rows[4 * y..4 * y + 4].copy_from_slice(&row);
    }
    let mut both = [0.0; 16];
    for x in 0..4 {
        let column = line(std::array::from_fn(|y| rows[4 * y + x]));
        (0..4).for_each(|y| both[4 * y + x] = 0.5 * column[y]);
    }
    both
}

/// Exactly what decoders compute (§14.4): columns first, in integers.
pub(super) fn inverse(spectrum: &[i32; 16]) -> [i32; 16] {
    if spectrum[1..].iter().all(|&value| value == 0) {
        return [(spectrum[0] + 4) >> 3; 16];
    }
    let line = |[i0, i1, i2, i3]: [i32; 4]| {
        let times_c = |v: i32| v + ((v * 20_091) >> 16);
        let times_s = |v: i32| (v * 35_468) >> 16;
        let (a, b) = (i0 + i2, i0 - i2);
        let (c, d) = (times_s(i1) - times_c(i3), times_c(i1) + times_s(i3));
        [a + d, b + c, b - c, a - d]
    };
    columns_then_rows(spectrum, line, 4)
}

/// The same for the means (§14.3).
pub(super) fn inverse_means(spectrum: &[i32; 16]) -> [i32; 16] {
    let line = |[i0, i1, i2, i3]: [i32; 4]| {
        let (a, b, c, d) = (i0 + i3, i1 + i2, i1 - i2, i0 - i3);
        [a + b, c + d, a - b, d - c]
    };
    columns_then_rows(spectrum, line, 3)
}

fn columns_then_rows(spectrum: &[i32; 16], line: impl Fn([i32; 4]) -> [i32; 4], rounding: i32) -> [i32; 16] {
    let mut columns = [0; 16];
    for x in 0..4 {
        let column = line(std::array::from_fn(|y| spectrum[4 * y + x]));
        (0..4).for_each(|y| columns[4 * y + x] = column[y]);
    }
    let mut both = [0; 16];
    for y in 0..4 {
        let row = line(std::array::from_fn(|x| columns[4 * y + x]));
        (0..4).for_each(|x| both[4 * y + x] = (row[x] + rounding) >> 3);
    }
    both
}
