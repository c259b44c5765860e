//! What every fuzz target does: put the bytes where a reader finds them, and use what it reads.

use std::path::Path;

use clip::{Files, ReadOptions, Selector, Table, describe, diagnose, read, read_tets};

/// The OBJ under a point cache: four points, two triangles.
const SQUARE: &[u8] = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";

/// The skeleton beside a take.
const ASF: &[u8] = b":units\nlength 0.45\n:root\norder TX TY TZ RX RY RZ\n:bonedata\nbegin\nname a\ndirection 1 0 0\nlength 4\n\
    axis 0 0 90 XYZ\ndof rx rz\nend\n:hierarchy\nbegin\nroot a\nend\n";

/// Reads bytes as a file of this name and does what a user might do with it. Refusing is fine; panicking, hanging and
/// asking for absurd amounts of memory are not.
pub fn read_as(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let _ = describe(path, &ReadOptions::default());
        let Ok(clip) = read(path, &ReadOptions::default()) else { return };
        for frame in [0, 1, clip.frame_count() / 2, clip.frame_count().saturating_sub(1)] {
            let _ = clip.frame(frame);
        }
        if clip.frame_count() < 20 {
            let _ = diagnose(&clip);
        }
    });
}

/// Reads bytes as a file of tets; a TetGen pair finds its other half beside it.
pub fn read_tets_as(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let (node, ele) = (path.with_extension("node"), path.with_extension("ele"));
        if !node.exists() {
            let _ = std::fs::write(node, "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n");
        }
        if !ele.exists() {
            let _ = std::fs::write(ele, "1 4 0\n0 0 1 2 3\n");
        }
        let _ = read_tets(path, &ReadOptions::default());
    });
}

/// Reads bytes as a side file of weights.
pub fn read_weights(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let Some(folder) = path.parent() else { return };
        let Ok(clip) = read(folder.join("a.obj"), &ReadOptions::default()) else { return };
        let _ = Selector::File(name.into()).weights(&clip, 0, folder);
    });
}

/// Reads bytes as an operator file and lets its cloth live for three frames.
pub fn read_operator(bytes: &[u8]) {
    let Ok(operator) = live::Operator::read(bytes) else { return };
    let skin = vec![live::IDENTITY; operator.counts().joints];
    let Ok(mut cloth) = live::LiveCloth::new(operator) else { return };
    for _ in 0..3 {
        let wind = live::Wind { velocity: [3.0, 0.0, 0.0], gusts: 0.5 };
        let _ = cloth.advance(&live::Frame { skin: &skin, wind, ..live::Frame::new(1.0 / 60.0) });
    }
}

/// Reads bytes as packed flesh and steps it in its rest pose.
pub fn read_flesh(bytes: &[u8]) {
    let Ok(mut player) = character::Player::read(bytes) else { return };
    let pose = vec![glam::Mat4::IDENTITY; player.kit().joint_count()];
    for _ in 0..3 {
        let _ = player.step(&pose, 1.0 / 60.0);
    }
}

/// Reads bytes as a prior of how people move.
pub fn read_prior(bytes: &[u8]) {
    let _ = motion::Prior::from_bytes(bytes);
}

/// Reads bytes as what force plates measured.
pub fn read_table(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let Ok(table) = Table::read(path, &Files::default()) else { return };
        let _ = table.plates();
    });
}

/// The same bytes with their checksum behind them.
pub fn summed(bytes: &[u8], sum: fn(&[u8]) -> u64) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(8)];
    [body, &sum(body).to_le_bytes()].concat()
}

/// The checksum of priors, byte by byte.
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The checksum of packed flesh, eight bytes at a time.
pub fn flesh_sum(bytes: &[u8]) -> u64 {
    let sum = bytes.chunks(8).fold(0xcbf2_9ce4_8422_2325_u64, |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
    });
    sum ^ bytes.len() as u64
}

/// The same bytes with the beginning of an operator file, its length and its checksum (FNV-1a) made right: without these, a fuzzer
/// never gets beyond them.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = bytes.to_vec();
    sealed.resize(bytes.len().max(96), 0);
    sealed[..4].copy_from_slice(b"FTOP");
    sealed[4..8].copy_from_slice(&live::VERSION.to_le_bytes());
    let length = (sealed.len() as u32).to_le_bytes();
    sealed[16..20].copy_from_slice(&length);
    let sum = fnv_1a(&sealed[16..]);
    sealed[8..16].copy_from_slice(&sum.to_le_bytes());
    sealed
}

fn in_folder(name: &str, bytes: &[u8], act: impl FnOnce(&Path)) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join(name);
    let beside = [("a.obj", SQUARE), ("a.asf", ASF)];
    let laid = beside.iter().all(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).is_ok());
    if laid && std::fs::write(&path, bytes).is_ok() {
        act(&path);
    }
}
