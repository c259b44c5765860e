//! OFF, ASCII, read: points and polygons. Colours behind them are passed over.

use std::path::Path;

use super::{ReadOptions, malformed, still};
use crate::{Clip, Faces, Result};

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let mut lines = bytes
        .split(|&b| b == b'\n')
        .enumerate()
        .map(|(number, line)| {
            (number + 1, line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii())
        })
        .filter(|(_, line)| !line.is_empty());
    let mut need = |what: &str| {
        lines.next().ok_or_else(|| {
            malformed(path, "end of file", format!("{what} was expected; the file is cut short"))
        })
    };
    let (number, mut head) = need("OFF")?;
    head = head
        .strip_prefix(b"OFF")
        .ok_or_else(|| malformed(path, format!("line {number}"), "OFF was expected"))?;
    let (mut number, mut counts) = (number, head.trim_ascii());
    if counts.is_empty() {
        (number, counts) = need("counts")?;
    }
    let [point_count, face_count] = [0, 1].map(|i| {
        let word = words(counts).nth(i).and_then(|word| word.parse::<usize>().ok());
        word.ok_or_else(|| {
            malformed(path, format!("line {number}"), "counts of points and faces were expected")
        })
    });
    let (point_count, face_count) = (point_count?, face_count?);
    let mut points = Vec::with_capacity(point_count.min(bytes.len() / 6));
    for _ in 0..point_count {
        let (number, line) = need("a point")?;
        let mut numbers = words(line).map(|word| word.parse::<f64>().ok().filter(|x| x.is_finite()));
        let mut point = [0.0; 3];
        for x in &mut point {
            let next = numbers.next().flatten();
            *x = next.ok_or_else(|| {
                malformed(path, format!("line {number}"), "three finite numbers were expected")
            })? as f32;
        }
        points.push(point);
    }
    let mut faces = Faces::default();
    let mut corners = Vec::new();
    for _ in 0..face_count {
        let (number, line) = need("a face")?;
        let error = |problem: String| malformed(path, format!("line {number}"), problem);
        let mut numbers = words(line).map(|word| word.parse::<u32>().ok());
        let sides =
            numbers.next().flatten().ok_or_else(|| error("a number of corners was expected".into()))?;
        corners.clear();
        for _ in 0..sides {
            let corner = numbers.next().flatten();
            let corner = corner.ok_or_else(|| error(format!("{sides} corners were expected")))?;
            if corner as usize >= point_count {
                return Err(error(format!("point {corner} is named, but there are {point_count}, from 0")));
            }
            corners.push(corner);
        }
        faces.push(&corners);
    }
    still(path, points, faces, options)
}

fn words(line: &[u8]) -> impl Iterator<Item = &str> {
    let split = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    split.map(|word| std::str::from_utf8(word).unwrap_or("\u{fffd}"))
}
