//! Files under random damage: read or refused, never a panic; and nothing altered goes unnoticed.

mod common;

use common::cape;
use live::{Error, Format, Frame, LiveCloth, Operator};

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn what_was_written_is_read() {
    let parts = cape(4, 9, Format::Half);
    let bytes = parts.write().unwrap();
    let operator = Operator::read(&bytes[..]).unwrap();
    assert_eq!(operator.coarse_rest().collect::<Vec<_>>(), parts.coarse.rest);
    assert_eq!(operator.fine_rest().collect::<Vec<_>>(), parts.fine.rest);
    assert_eq!(operator.coarse_triangles().collect::<Vec<_>>(), parts.coarse.triangles);
    assert_eq!(operator.fine_triangles().collect::<Vec<_>>(), parts.fine.triangles);
    assert_eq!(operator.coarse_skin().collect::<Vec<_>>(), parts.coarse_skin);
    assert_eq!(operator.fine_skin().collect::<Vec<_>>(), parts.fine_skin);
    assert_eq!(operator.capsules().collect::<Vec<_>>(), parts.capsules);
    assert_eq!(operator.joints().collect::<Vec<_>>(), ["shoulders"]);
    assert_eq!(operator.settings(), parts.settings);
    assert_eq!(operator.known(), parts.known);
}

#[test]
fn every_altered_byte_and_every_cut_is_noticed() {
    let bytes = cape(2, 3, Format::Eight).write().unwrap();
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 0x10;
        assert!(Operator::read(altered).is_err(), "byte {at}");
        assert!(Operator::read(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert_eq!(Operator::read(b"glTF".to_vec()).unwrap_err(), Error::NotAnOperator);
    let mut next = bytes.clone();
    next[4] = 2;
    assert_eq!(Operator::read(next).unwrap_err(), Error::Version { found: 2, expected: 1 });
}

#[test]
fn damage_with_a_right_checksum_never_panics() {
    let bytes = cape(3, 5, Format::Half).write().unwrap();
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random() % 3 {
            // half of the damage in the header, where it hurts most
            let range = if round % 2 == 0 { 96 } else { damaged.len() };
            let at = (random() as usize) % range;
            damaged[at] = match random() % 4 {
                0 => 0xff,
                1 => 0,
                2 => damaged[at].wrapping_add(1),
                _ => random() as u8,
            };
        }
        damaged[..4].copy_from_slice(b"FTOP");
        damaged[4..8].copy_from_slice(&1_u32.to_le_bytes());
        let length = damaged.len() as u32;
        damaged[16..20].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&damaged[16..]);
        damaged[8..16].copy_from_slice(&sum.to_le_bytes());
        match Operator::read(damaged) {
            Err(_) => refused += 1,
            Ok(operator) => {
                read += 1;
                if read % 16 == 0 {
                    let Ok(mut cloth) = LiveCloth::new(operator) else { continue };
                    let joints = vec![live::IDENTITY; cloth.operator().counts().joints];
                    for _ in 0..2 {
                        let _ = cloth.advance(&Frame { skin: &joints, ..Frame::new(1.0 / 60.0) });
                    }
                }
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}
