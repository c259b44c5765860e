//! Harmonics that are kept: those of ten thousand points take seconds, and learning again should take none of them.

use std::path::{Path, PathBuf};

use faer::Mat;
use geometry::{Mat3, Vec3};
use live::mesh_hash;
use upsample::{Basis, Harmonics};

use crate::Error;

const MAGIC: &[u8; 8] = b"FTHARM02";

/// The lowest harmonics of a mesh, from the folder if they are there. A conductance of each triangle makes others of them.
pub(crate) fn harmonics(
    work: &Path,
    mesh: &live::Mesh,
    count: usize,
    conductances: Option<&[Mat3]>,
) -> Result<Harmonics, Error> {
    let path = path(work, mesh, count, conductances);
    if let Some(kept) = std::fs::read(&path).ok().and_then(|bytes| decode(&bytes, mesh.rest.len(), count)) {
        return Ok(kept);
    }
    let rest: Vec<Vec3> = mesh.rest.iter().map(|p| Vec3::from(p.map(f64::from))).collect();
    let conductance = |triangle: usize| conductances.map_or(Mat3::IDENTITY, |all| all[triangle]);
    let made = Harmonics::with_conductance(&rest, &mesh.triangles, count, conductance)?;
    shot::write_whole(&path, &encode(&made))?;
    Ok(made)
}

fn path(work: &Path, mesh: &live::Mesh, count: usize, conductances: Option<&[Mat3]>) -> PathBuf {
    let paint = conductances.map_or(String::new(), |all| {
        let numbers = all.iter().flat_map(Mat3::to_cols_array);
        format!("-{:016x}", sum(&numbers.flat_map(f64::to_le_bytes).collect::<Vec<u8>>()))
    });
    work.join(format!("harmonics-{count}-{:016x}{paint}.bin", mesh_hash(&mesh.rest, &mesh.triangles)))
}

fn encode(harmonics: &Harmonics) -> Vec<u8> {
    let functions = &harmonics.functions;
    let columns = (0..functions.ncols()).flat_map(|k| (0..functions.nrows()).map(move |i| functions[(i, k)]));
    let numbers = harmonics.values.iter().copied().chain(harmonics.weights.iter().copied());
    let numbers: Vec<f64> = numbers.chain([harmonics.area, harmonics.room]).chain(columns).collect();
    let body: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    [&MAGIC[..], &sum(&body).to_le_bytes(), &body].concat()
}

fn decode(bytes: &[u8], points: usize, count: usize) -> Option<Harmonics> {
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (checksum, body) = rest.split_first_chunk::<8>()?;
    if magic != MAGIC || u64::from_le_bytes(*checksum) != sum(body) {
        return None;
    }
    let (numbers, []) = body.as_chunks::<8>() else { return None };
    if numbers.len() != count + points + 2 + points * count {
        return None;
    }
    let number = |i: usize| f64::from_le_bytes(numbers[i]);
    let start = count + points + 2;
    Some(Harmonics {
        values: (0..count).map(number).collect(),
        weights: (count..count + points).map(number).collect(),
        area: number(count + points),
        room: number(count + points + 1),
        functions: Mat::from_fn(points, count, |i, k| number(start + k * points + i)),
        basis: Basis::Area,
    })
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
