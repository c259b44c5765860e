//! TetGen's pair of files: `.node` has points, `.ele` has tets. Numbers begin with zero or one, as the first point says.

use std::path::Path;

use super::Raw;
use super::words::Lines;
use crate::{Files, Result};

pub(super) fn read(path: &Path, files: &Files) -> Result<Raw> {
    let (node, ele) = (path.with_extension("node"), path.with_extension("ele"));
    let mut raw = Raw::default();
    let bytes = files.read(&node)?;
    let mut lines = Lines::new(&node, &bytes, Some(b'#'));
    let head = lines.need("the number of points")?;
    let count: usize = head.number(0, "a number of points")?;
    if head.words.get(1).is_some_and(|dimension| *dimension != "3") {
        return Err(head.error("points need three dimensions"));
    }
    raw.points = lines.room(count);
    let mut base = 0_u64;
    for index in 0..count {
        let line = lines.need("a point")?;
        let number: u64 = line.number(0, "a point's number")?;
        if index == 0 {
            base = number;
        }
        if base > 1 || number != base + index as u64 {
            return Err(line.error(format!("number {number} is out of order")));
        }
        raw.points.push(line.point(1)?);
    }
    let bytes = files.read(&ele)?;
    let mut lines = Lines::new(&ele, &bytes, Some(b'#'));
    let head = lines.need("the number of tets")?;
    let count: usize = head.number(0, "a number of tets")?;
    let nodes: usize = match head.words.len() {
        1 => 4,
        _ => head.number(1, "a number of nodes per tet")?,
    };
    if nodes != 4 && nodes != 10 {
        return Err(head.error(format!("tets have 4 or 10 nodes, not {nodes}")));
    }
    let attributes: usize = if head.words.len() > 2 { head.number(2, "a number of attributes")? } else { 0 };
    raw.tets = lines.room(count);
    let mut regions = Vec::new();
    for _ in 0..count {
        let line = lines.need("a tet")?;
        let mut tet = [0; 4];
        for (i, corner) in tet.iter_mut().enumerate() {
            let number: u64 = line.number(i + 1, "a point's number")?;
            let index = number.checked_sub(base).and_then(|index| u32::try_from(index).ok());
            *corner = index.ok_or_else(|| line.error(format!("there is no point {number}")))?;
        }
        raw.tets.push(tet);
        if attributes > 0 {
            let region: f64 = line.number(1 + nodes, "a region")?;
            regions.push(region as i64);
        }
    }
    raw.group_by(&regions, |_| None);
    Ok(raw)
}
