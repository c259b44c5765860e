//! STL, binary and ASCII, read: a soup of triangles. Corners at equal places become one point.

use std::collections::HashMap;
use std::path::Path;

use super::{ReadOptions, malformed, still};
use crate::{Clip, Faces, Result};

/// Bytes before the triangles of a binary file, and of a triangle.
const HEAD: usize = 84;
const TRIANGLE: usize = 50;

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    // many binary files begin with "solid" too; their length tells
    let count = bytes.get(80..HEAD).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize);
    let binary = count.is_some_and(|count| count.checked_mul(TRIANGLE) == Some(bytes.len() - HEAD));
    let corners = if binary {
        binary_corners(&bytes)
    } else if bytes.trim_ascii_start().starts_with(b"solid") {
        ascii_corners(path, &bytes)?
    } else {
        return Err(malformed(path, "header", "neither ASCII nor binary with as many triangles as it says"));
    };
    let mut points: Vec<[f32; 3]> = Vec::new();
    // looked up, never iterated over
    let mut numbers: HashMap<[u32; 3], u32> = HashMap::new();
    let mut triangles = Vec::with_capacity(corners.len() / 3);
    for triangle in corners.as_chunks::<3>().0 {
        let mut t = [0; 3];
        for (number, corner) in t.iter_mut().zip(triangle) {
            let point = *corner;
            // −0 is 0
            let key = point.map(|x| (x + 0.0).to_bits());
            *number = *numbers.entry(key).or_insert_with(|| {
                points.push(point);
                points.len() as u32 - 1
            });
        }
        triangles.push(t);
    }
    still(path, points, Faces::from_triangles(&triangles), options)
}

fn binary_corners(bytes: &[u8]) -> Vec<[f32; 3]> {
    let mut corners = Vec::with_capacity(3 * (bytes.len() / TRIANGLE));
    for triangle in bytes[HEAD..].as_chunks::<TRIANGLE>().0 {
        // twelve bytes of normal, then the corners
        let numbers = triangle[12..48].as_chunks::<4>().0;
        corners.extend(numbers.as_chunks::<3>().0.iter().map(|corner| corner.map(f32::from_le_bytes)));
    }
    corners
}

fn ascii_corners(path: &Path, bytes: &[u8]) -> Result<Vec<[f32; 3]>> {
    let mut corners = Vec::new();
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let error = |problem: &str| malformed(path, format!("line {}", number + 1), problem);
        match words.next() {
            Some(b"vertex") => {
                let mut corner = [0.0_f32; 3];
                for x in &mut corner {
                    let word = words.next().ok_or_else(|| error("a corner needs three coordinates"))?;
                    let value = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f32>().ok());
                    *x = value.filter(|x| x.is_finite()).ok_or_else(|| error("not a finite number"))?;
                }
                corners.push(corner);
            }
            Some(b"endfacet") if corners.len() % 3 != 0 => return Err(error("a facet needs three corners")),
            _ => {}
        }
    }
    if corners.len() % 3 != 0 {
        return Err(malformed(path, "end of file", "the last facet is cut short"));
    }
    Ok(corners)
}
