//! What Alembic knows equal samples by: 128 bits of their bytes.

/// MurmurHash3 (x64, 128 bits; Appleby 2011), seed 0: two lanes of 64 bits, mixed at the end.
pub(super) fn digest(bytes: &[u8]) -> [u8; 16] {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let half = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |k, &byte| (k << 8) | u64::from(byte));
    let (mut a, mut b) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (low, high) = block.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(half.first_chunk().copied().unwrap_or_default());
        a ^= first(word(low));
        a = a.rotate_left(27).wrapping_add(b).wrapping_mul(5).wrapping_add(0x52dc_e729);
        b ^= second(word(high));
        b = b.rotate_left(31).wrapping_add(a).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    b ^= second(half(tail.get(8..).unwrap_or_default()));
    a ^= first(half(&tail[..tail.len().min(8)]));
    a ^= bytes.len() as u64;
    b ^= bytes.len() as u64;
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    (a, b) = (finish(a), finish(b));
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    let mut out = [0; 16];
    out[..8].copy_from_slice(&a.to_le_bytes());
    out[8..].copy_from_slice(&b.to_le_bytes());
    out
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values() {
        assert_eq!(digest(b""), [0; 16]);
        let hex = |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // "The quick brown fox jumps over the lazy dog": e34bbc7bbc071b6c 7a433ca9c49a9347, each word's bytes from the low end
        let fox = hex(digest(b"The quick brown fox jumps over the lazy dog"));
        assert_eq!(fox, "6c1b07bc7bbc4be347939ac4a93c437a");
        assert_ne!(digest(&[0; 12]), digest(&[0; 24]));
    }
}
