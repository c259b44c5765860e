//! Numbers in 16 bits: sign, five bits of exponent, ten of fraction (IEEE binary16).

/// What a half stands for. Exact for all finite halves; numbers below 2⁻¹⁴ are never written (see [`half_from_single`]),
/// so that processors that flush such small numbers to zero give the same bits.
#[inline(always)]
pub fn single_from_half(half: u16) -> f32 {
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13);
    // the exponents' origins are 127 − 15 = 112 apart
    let value = magnitude * f32::from_bits((127 + 112) << 23);
    f32::from_bits(value.to_bits() | u32::from(half & 0x8000) << 16)
}

/// The nearest half, ties to even. What is too large becomes the largest, 65,504; what is below 2⁻¹⁴ becomes zero.
pub fn half_from_single(single: f32) -> u16 {
    let bits = single.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude < (127 - 14) << 23 {
        return sign;
    }
    let rounded = magnitude + 0x0fff + (magnitude >> 13 & 1);
    let shifted = (rounded >> 13) - (112 << 10);
    sign | shifted.min(0x7bff) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_come_back_and_singles_go_to_the_nearest() {
        for half in (0..0x7c00_u16).filter(|half| *half == 0 || *half >= 0x0400) {
            assert_eq!(half_from_single(single_from_half(half)), half);
            assert_eq!(half_from_single(-single_from_half(half)), half | 0x8000);
        }
        assert_eq!(single_from_half(0x3c00), 1.0);
        assert_eq!(single_from_half(0xc000), -2.0);
        assert_eq!(half_from_single(1e9), 0x7bff);
        assert_eq!(half_from_single(1e-9), 0);
        // half way between 1 and the next, 1 + 2⁻¹⁰: to even
        assert_eq!(half_from_single(1.0 + 0.5 / 1024.0), 0x3c00);
        assert_eq!(half_from_single(1.0 + 1.5 / 1024.0), 0x3c02);
    }
}
