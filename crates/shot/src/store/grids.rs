//! Fields as few bytes: 16 bits between the least and the greatest number, neighbours predicted, deflated.
//!
//! Pictures are made from these; the simulation itself goes on from its checkpoint, which is exact. So what is kept is good to
//! 1/65535 of the field's range, and a smooth field takes a quarter to a tenth of its size in memory.

use std::io::{Read, Write};

use clip::Grid;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

const STEPS: f64 = 65535.0;

/// The bytes of a field.
pub(crate) fn pack(grid: &Grid) -> Vec<u8> {
    let (low, high) =
        grid.values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
    let mut bytes = Vec::new();
    bytes.extend((grid.name.len() as u32).to_le_bytes());
    bytes.extend(grid.name.as_bytes());
    grid.points.iter().for_each(|&n| bytes.extend((n as u32).to_le_bytes()));
    grid.size.iter().for_each(|length| bytes.extend(length.to_le_bytes()));
    bytes.extend(grid.wraps.map(u8::from));
    bytes.extend(grid.weight.to_le_bytes());
    bytes.extend(grid.since.to_le_bytes());
    bytes.extend(low.to_le_bytes());
    bytes.extend(high.to_le_bytes());
    if low == high {
        return bytes;
    }
    let scale = STEPS / (f64::from(high) - f64::from(low));
    let levels: Vec<u16> =
        grid.values.iter().map(|&v| ((f64::from(v) - f64::from(low)) * scale).round() as u16).collect();
    let [nx, ny, _] = grid.points;
    // what is left after prediction is near zero; low and high bytes apart compress better
    let rest: Vec<u16> = (0..levels.len())
        .map(|i| zigzag(levels[i].wrapping_sub(predicted(&levels, i, nx, ny)).cast_signed()))
        .collect();
    let planes: Vec<u8> = rest.iter().map(|r| *r as u8).chain(rest.iter().map(|r| (r >> 8) as u8)).collect();
    let mut encoder = DeflateEncoder::new(bytes, Compression::fast());
    // writing to memory cannot fail; if it ever did, the frame would not be read back and be baked again
    let _ = encoder.write_all(&planes);
    encoder.finish().unwrap_or_default()
}

/// The field in these bytes, if they are one.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Grid> {
    let mut bytes = bytes;
    let count = u32::from_le_bytes(take(&mut bytes)?) as usize;
    let (name, rest) = bytes.split_at_checked(count)?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    bytes = rest;
    let mut points = [0; 3];
    for n in &mut points {
        *n = u32::from_le_bytes(take(&mut bytes)?) as usize;
    }
    let mut size = [0.0; 3];
    for length in &mut size {
        *length = f64::from_le_bytes(take(&mut bytes)?);
    }
    let wraps = take::<3>(&mut bytes)?.map(|byte| byte != 0);
    let (weight, since) = (f64::from_le_bytes(take(&mut bytes)?), f64::from_le_bytes(take(&mut bytes)?));
    let (low, high) = (f32::from_le_bytes(take(&mut bytes)?), f32::from_le_bytes(take(&mut bytes)?));
    let count = points.iter().try_fold(1_usize, |product, &n| product.checked_mul(n))?;
    let values = if low == high {
        vec![low; count]
    } else {
        let mut planes = Vec::new();
        // no more than is expected is ever unpacked
        DeflateDecoder::new(bytes).take(2 * count as u64 + 1).read_to_end(&mut planes).ok()?;
        if planes.len() != 2 * count {
            return None;
        }
        let mut levels = vec![0_u16; count];
        for i in 0..count {
            let rest = u16::from(planes[i]) | (u16::from(planes[count + i]) << 8);
            levels[i] =
                unzigzag(rest).cast_unsigned().wrapping_add(predicted(&levels, i, points[0], points[1]));
        }
        let scale = (f64::from(high) - f64::from(low)) / STEPS;
        levels.iter().map(|&level| (f64::from(low) + scale * f64::from(level)) as f32).collect()
    };
    Some(Grid { name, points, size, wraps, weight, since, values })
}

/// The plane through the three neighbours that came before, in the slice.
fn predicted(levels: &[u16], i: usize, nx: usize, ny: usize) -> u16 {
    let (x, y) = (i % nx, i / nx % ny);
    let before = |back: usize| levels[i - back];
    match (x > 0, y > 0) {
        (true, true) => before(1).wrapping_add(before(nx)).wrapping_sub(before(nx + 1)),
        (true, false) => before(1),
        (false, true) => before(nx),
        (false, false) => 0,
    }
}

fn zigzag(value: i16) -> u16 {
    ((value << 1) ^ (value >> 15)).cast_unsigned()
}

fn unzigzag(value: u16) -> i16 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(points: [usize; 3], value: impl Fn(usize) -> f32) -> Grid {
        let values = (0..points.iter().product()).map(value).collect();
        let (name, size) = (String::from("smoke/ink"), [2.0, 1.0, 0.5]);
        Grid { name, points, size, wraps: [true, false, false], weight: 0.25, since: 1.5, values }
    }

    #[test]
    fn a_field_comes_back_to_a_65535th_of_its_range() {
        for points in [[33, 20, 1], [7, 9, 5], [1, 1, 1]] {
            let before = grid(points, |i| -3.0 + 40.0 * (i as f32 * 0.37).sin());
            let after = unpack(&pack(&before)).unwrap();
            for (a, b) in before.values.iter().zip(&after.values) {
                assert!((a - b).abs() <= 80.0 / 65535.0 * 0.51, "{a} {b}");
            }
            assert_eq!(Grid { values: before.values.clone(), ..after }, before);
        }
    }

    #[test]
    fn constants_take_no_space_and_are_exact_and_smooth_fields_little() {
        let bytes = pack(&grid([200, 100, 1], |_| 0.1));
        assert!(bytes.len() < 100);
        assert_eq!(unpack(&bytes).unwrap().values, vec![0.1; 20_000]);
        let smooth =
            grid([200, 100, 1], |i| ((i % 200) as f32 * 0.05).sin() * ((i / 200) as f32 * 0.07).cos());
        let share = pack(&smooth).len() as f64 / (4.0 * 20_000.0);
        assert!(share < 0.25, "{share}");
    }

    #[test]
    fn damage_gives_nothing_or_a_grid_of_the_right_size_but_no_panic() {
        let bytes = pack(&grid([16, 8, 1], |i| (i * i % 37) as f32));
        for length in 0..bytes.len() {
            assert!(unpack(&bytes[..length]).is_none(), "cut at {length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            // sizes beyond memory must not be asked for
            if !(4 + 9..4 + 9 + 12).contains(&at) {
                let _ = unpack(&damaged);
            }
        }
    }
}
