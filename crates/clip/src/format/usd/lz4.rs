//! The compression of crate files: LZ4 blocks, and lists of integers as differences under them.
//!
//! What we write is LZ4 blocks of literals alone: only the small structural sections are compressed, and every reader
//! takes them. What we read is anything, and no length in the file is trusted: output grows as input is consumed.

/// The fewest numbers of a list that crate files compress.
pub(super) const LEAST_COMPRESSED: usize = 16;

/// Wraps bytes as one LZ4 block of literals, with the byte in front that says "one block".
pub(super) fn store(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 255 + 8);
    out.push(0);
    if bytes.len() < 15 {
        out.push((bytes.len() as u8) << 4);
    } else {
        out.push(0xf0);
        let mut rest = bytes.len() - 15;
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
    out.extend_from_slice(bytes);
    out
}

/// Unwraps what [`store`] or USD wrapped, to exactly `length` bytes; the problem in words otherwise.
pub(super) fn load(bytes: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let (&chunks, mut rest) = bytes.split_first().ok_or("an empty compressed block")?;
    let mut out = Vec::new();
    if chunks == 0 {
        block(rest, length, &mut out)?;
    }
    for _ in 0..chunks {
        let (size, behind) = rest.split_first_chunk::<4>().ok_or("a compressed block was cut short")?;
        let size = usize::try_from(i32::from_le_bytes(*size)).unwrap_or(usize::MAX);
        let (chunk, behind) = behind.split_at_checked(size).ok_or("a compressed block was cut short")?;
        block(chunk, length, &mut out)?;
        rest = behind;
    }
    if out.len() == length {
        Ok(out)
    } else {
        Err(format!("a compressed block holds {} bytes, not {length}", out.len()))
    }
}

/// One LZ4 block: runs of literals, each followed by a copy of what came before.
fn block(mut bytes: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), String> {
    const CUT: &str = "a compressed block was cut short";
    let start = out.len();
    let extended = |bytes: &mut &[u8], first: usize| {
        let mut length = first;
        let mut goes_on = first == 15;
        while goes_on {
            let (&more, rest) = bytes.split_first().ok_or(CUT)?;
            *bytes = rest;
            length += usize::from(more);
            goes_on = more == 255;
        }
        Ok::<usize, String>(length)
    };
    while let Some((&token, rest)) = bytes.split_first() {
        bytes = rest;
        let count = extended(&mut bytes, usize::from(token >> 4))?;
        let (literals, rest) = bytes.split_at_checked(count).ok_or(CUT)?;
        bytes = rest;
        if out.len() + literals.len() > most {
            return Err(format!("a compressed block holds more than {most} bytes"));
        }
        out.extend_from_slice(literals);
        let Some((&offset, rest)) = bytes.split_first_chunk::<2>() else { break };
        bytes = rest;
        let count = 4 + extended(&mut bytes, usize::from(token & 15))?;
        let offset = usize::from(u16::from_le_bytes(offset));
        if offset == 0 || offset > out.len() - start {
            return Err("a compressed block copies from before its beginning".into());
        }
        if out.len() + count > most {
            return Err(format!("a compressed block holds more than {most} bytes"));
        }
        for _ in 0..count {
            out.push(out[out.len() - offset]);
        }
    }
    Ok(())
}

/// A list of 32-bit integers: the commonest difference, two bits a number that say how long its difference is, then
/// the differences that are not the commonest.
pub(super) fn store_integers(values: &[u32]) -> Vec<u8> {
    let mut before = 0_u32;
    let mut differences = Vec::with_capacity(values.len());
    for &value in values {
        differences.push(value.wrapping_sub(before) as i32);
        before = value;
    }
    let common = commonest(&differences);
    let mut codes = vec![0_u8; values.len().div_ceil(4)];
    let mut wide = Vec::new();
    for (index, &difference) in differences.iter().enumerate() {
        let code = if difference == common {
            0
        } else if let Ok(byte) = i8::try_from(difference) {
            wide.extend_from_slice(&byte.to_le_bytes());
            1
        } else if let Ok(short) = i16::try_from(difference) {
            wide.extend_from_slice(&short.to_le_bytes());
            2
        } else {
            wide.extend_from_slice(&difference.to_le_bytes());
            3
        };
        codes[index / 4] |= code << (2 * (index % 4));
    }
    store(&[&common.to_le_bytes()[..], &codes, &wide].concat())
}

/// The number that occurs most often; the smallest of several.
fn commonest(values: &[i32]) -> i32 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let longest = sorted.chunk_by(|a, b| a == b).rev().max_by_key(|run| run.len());
    longest.map_or(0, |run| run[0])
}

/// Reads what [`store_integers`] wrote: `count` numbers of 32 bits (`WIDE` false) or 64.
pub(super) fn load_integers<const WIDE: bool>(bytes: &[u8], count: usize) -> Result<Vec<i64>, String> {
    const CUT: &str = "a list of integers was cut short";
    let unit = if WIDE { 8 } else { 4 };
    let codes_length = count.div_ceil(4);
    // a block of LZ4 grows at most 255 times; anything beyond is damage
    let most = bytes.len().saturating_mul(255);
    if codes_length > most {
        return Err(format!("{count} integers cannot be in {} bytes", bytes.len()));
    }
    let encoded = load_up_to(bytes, unit + codes_length + count.saturating_mul(unit))?;
    let (common, rest) = encoded.split_at_checked(unit).ok_or(CUT)?;
    let (codes, mut wide) = rest.split_at_checked(codes_length).ok_or(CUT)?;
    let common = signed(common);
    let mut values = Vec::with_capacity(count);
    let mut value = 0_i64;
    for index in 0..count {
        let code = (codes[index / 4] >> (2 * (index % 4))) & 3;
        let length = match (code, WIDE) {
            (0, _) => 0,
            (code, false) => 1 << (code - 1),
            (code, true) => 2 << (code - 1),
        };
        let (difference, behind) = wide.split_at_checked(length).ok_or(CUT)?;
        wide = behind;
        value = value.wrapping_add(if code == 0 { common } else { signed(difference) });
        if !WIDE {
            value = i64::from(value as i32);
        }
        values.push(value);
    }
    Ok(values)
}

/// Unwraps a block of unknown length, at most `most` bytes.
fn load_up_to(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    match bytes.split_first() {
        Some((0, rest)) => {
            let mut out = Vec::new();
            block(rest, most, &mut out)?;
            Ok(out)
        }
        _ => Err("a list of integers in several blocks".into()),
    }
}

/// Little-endian with a sign, of any length up to eight bytes.
fn signed(bytes: &[u8]) -> i64 {
    let mut wide = [if bytes.last().is_some_and(|&b| b >= 0x80) { 0xff } else { 0 }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_integers_come_back() {
        for length in [0, 1, 14, 15, 16, 269, 270, 271, 5000] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            assert_eq!(load(&store(&bytes), length).unwrap(), bytes, "{length}");
            let numbers: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(i).wrapping_mul(977)).collect();
            let back = load_integers::<false>(&store_integers(&numbers), length).unwrap();
            assert_eq!(back.iter().map(|&x| x as u32).collect::<Vec<_>>(), numbers);
        }
    }

    #[test]
    fn copies_may_overlap_themselves() {
        // "ab", then eight bytes from two back, then the literal "c"
        let bytes = [0, 0x24, b'a', b'b', 2, 0, 0x10, b'c'];
        assert_eq!(load(&bytes, 11).unwrap(), b"ababababab".iter().chain(b"c").copied().collect::<Vec<_>>());
        assert!(load(&bytes, 10).is_err() && load(&bytes, 12).is_err());
        assert!(load(&[0, 0x14, b'a', 2, 0], 9).unwrap_err().contains("before its beginning"));
    }

    #[test]
    fn what_usd_wrote_is_read() {
        // three paths' indices as usd-core stores them: 1, 2, 3, 4
        assert_eq!(load_integers::<false>(&[0, 0x60, 1, 0, 0, 0, 0, 0], 4).unwrap(), [1, 2, 3, 4]);
        assert!(load_integers::<false>(&[0, 0x10, 0], usize::MAX / 8).unwrap_err().contains("cannot be in"));
    }
}
