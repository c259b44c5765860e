//! The arithmetic coder, and the odds that suit a frame.

use super::tables::{KEEP, Probability, TOKENS, TokenProbabilities};

/// The arithmetic coder (§7.3), eight bits at a time.
pub(super) struct Coder {
    bytes: Vec<u8>,
    range: u32,
    /// The lower end of the interval: what is not written yet.
    bottom: u64,
    /// Bits of `bottom` above the lowest eight.
    waiting: u32,
}

impl Default for Coder {
    fn default() -> Self {
        Self { bytes: Vec::new(), range: 255, bottom: 0, waiting: 0 }
    }
}

impl Coder {
    /// Writes a bit that is zero with the given probability.
    #[inline]
    pub(super) fn bit(&mut self, bit: bool, probability: Probability) {
        let split = 1 + (((self.range - 1) * u32::from(probability)) >> 8);
        if bit {
            self.bottom += u64::from(split);
            self.range -= split;
        } else {
            self.range = split;
        }
        // the range is brought back to 128 and above
        let shift = self.range.leading_zeros() - 24;
        self.range <<= shift;
        self.bottom <<= shift;
        self.waiting += shift;
        if self.waiting >= 40 {
            self.write();
        }
    }

    /// Writes the bytes that are complete; a carry is added to what is already written.
    fn write(&mut self) {
        while self.waiting >= 8 {
            // eight bits of the interval's own, the bits that wait, and the carry above them
            let place = self.waiting;
            let byte = self.bottom >> place;
            self.bottom &= (1 << place) - 1;
            self.waiting -= 8;
            if byte > 0xff {
                self.carry();
            }
            self.bytes.push(byte as u8);
        }
    }

    /// Adds one to what is already written.
    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            let (sum, carried) = byte.overflowing_add(1);
            *byte = sum;
            if !carried {
                break;
            }
        }
    }

    /// Writes a number, its highest bit first, all odds even.
    pub(super) fn literal(&mut self, value: u32, bits: u32) {
        (0..bits).rev().for_each(|place| self.bit(value >> place & 1 == 1, 128));
    }

    /// Writes which token odds differ from the usual ones (where that pays) and gives the odds to use.
    pub(super) fn token_odds(&mut self, counts: &[[[[[u32; 2]; 11]; 3]; 8]; 4]) -> TokenProbabilities {
        let mut odds = TOKENS;
        for kind in 0..4 {
            for band in 0..8 {
                for before in 0..3 {
                    for branch in 0..11 {
                        let counts = counts[kind][band][before][branch];
                        let usual = odds[kind][band][before][branch];
                        let keep = KEEP[kind][band][before][branch];
                        let fitted = share(counts[0] as usize, counts[1] as usize);
                        let price = 8.0 + cost(keep, [0, 1]) - cost(keep, [1, 0]);
                        let pays = cost(usual, counts) - cost(fitted, counts) > price;
                        self.bit(pays, keep);
                        if pays {
                            self.literal(u32::from(fitted), 8);
                            odds[kind][band][before][branch] = fitted;
                        }
                    }
                }
            }
        }
        odds
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        // sixteen zeros push out all that matters
        self.bottom <<= 16;
        self.waiting += 16;
        self.write();
        self.bytes
    }
}

/// How often of 256 the first happens, kept off the ends.
pub(super) fn share(first: usize, second: usize) -> Probability {
    let total = (first + second).max(1);
    ((first * 256 + total / 2) / total).clamp(1, 255) as Probability
}

/// Bits that a choice costs.
fn cost(probability: Probability, counts: [u32; 2]) -> f64 {
    let zero = f64::from(probability) / 256.0;
    -(f64::from(counts[0]) * zero.log2() + f64::from(counts[1]) * (1.0 - zero).log2())
}
