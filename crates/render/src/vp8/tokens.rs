//! Tokens: a square's levels as bits, each with the odds that it is written by.

use super::tables::{BANDS, CATEGORIES, Probability};
use super::{AFTER_MEANS, Block, CHROMA, MEANS, Square};

/// The odds of a bit: those of a token branch, or fixed.
#[derive(Clone, Copy)]
pub(super) enum Odds {
    /// Kind of block, band, what came before, branch.
    Token(usize, usize, usize, usize),
    Fixed(Probability),
}

/// Every bit of every block, in order (§13). Blank squares write nothing.
pub(super) fn write_tokens(squares: &[Square], across: usize, write: &mut impl FnMut(Odds, bool)) {
    // which blocks above and to the left had something: 4 of luma, 2 of U, 2 of V, 1 of means
    let mut above = vec![[false; 9]; across];
    let mut left = [false; 9];
    for (index, square) in squares.iter().enumerate() {
        let above = &mut above[index % across];
        if index % across == 0 {
            left = [false; 9];
        }
        if square.is_blank {
            *above = [false; 9];
            left = [false; 9];
            continue;
        }
        let mut block = |levels: &Block, kind: usize, over: usize, beside: usize| {
            let before = usize::from(above[over]) + usize::from(left[beside]);
            let something = write_block(levels, kind, before, write);
            above[over] = something;
            left[beside] = something;
        };
        block(&square.levels[0], MEANS, 8, 8);
        for i in 0..16 {
            block(&square.levels[1 + i], AFTER_MEANS, i % 4, i / 4);
        }
        for i in 0..8 {
            let first = 4 + 2 * (i / 4);
            block(&square.levels[17 + i], CHROMA, first + i % 2, first + i % 4 / 2);
        }
    }
}

/// The tokens of one block; whether it had any.
fn write_block(levels: &Block, kind: usize, mut before: usize, write: &mut impl FnMut(Odds, bool)) -> bool {
    let first = usize::from(kind == AFTER_MEANS);
    let end = levels.iter().rposition(|&level| level != 0).map_or(first, |last| last + 1).max(first);
    let mut may_end = true;
    for i in first..16 {
        let mut bit = |branch: usize, bit: bool| write(Odds::Token(kind, BANDS[i], before, branch), bit);
        if may_end {
            bit(0, i < end);
            if i >= end {
                break;
            }
        }
        let size = levels[i].abs();
        bit(1, size > 0);
        may_end = size > 0;
        if size == 0 {
            before = 0;
            continue;
        }
        bit(2, size > 1);
        if size > 1 {
            bit(3, size > 4);
            if size <= 4 {
                bit(4, size > 2);
                if size > 2 {
                    bit(5, size > 3);
                }
            } else {
                let category = CATEGORIES.iter().rposition(|&(least, _)| size >= least).unwrap_or(0);
                bit(6, category >= 2);
                match category {
                    0 | 1 => bit(7, category == 1),
                    _ => {
                        bit(8, category >= 4);
                        bit(if category < 4 { 9 } else { 10 }, category % 2 == 1);
                    }
                }
                let (least, odds) = CATEGORIES[category];
                for (place, &probability) in odds.iter().enumerate() {
                    write(Odds::Fixed(probability), (size - least) >> (odds.len() - 1 - place) & 1 == 1);
                }
            }
        }
        write(Odds::Fixed(128), levels[i] < 0);
        before = if size > 1 { 2 } else { 1 };
    }
    end > first
}
