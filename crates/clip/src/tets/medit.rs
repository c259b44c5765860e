//! MEDIT's `.mesh`, ASCII: a keyword, a count, and so many lines with a reference number at the end. Numbers begin with one.

use std::path::Path;

use super::words::Lines;
use super::{Raw, malformed};
use crate::{Files, Result};

pub(super) fn read(path: &Path, files: &Files) -> Result<Raw> {
    let bytes = files.read(path)?;
    let mut lines = Lines::new(path, &bytes, Some(b'#'));
    let mut raw = Raw::default();
    let mut references = Vec::new();
    while let Some(line) = lines.next() {
        let keyword = line.words[0];
        match keyword {
            "End" => break,
            "MeshVersionFormatted" | "Dimension" => {
                // the number stands on this line or on the next
                let value: u32 = match line.words.len() {
                    1 => lines.need("a number")?.number(0, "a number")?,
                    _ => line.number(1, "a number")?,
                };
                if keyword == "Dimension" && value != 3 {
                    return Err(line.error("points need three dimensions"));
                }
                continue;
            }
            _ if keyword.starts_with(|c: char| c.is_ascii_alphabetic()) => {}
            _ => return Err(line.error(format!("`{keyword}` is not a keyword"))),
        }
        let count: usize = match line.words.len() {
            1 => lines.need("a count")?.number(0, "a count")?,
            _ => line.number(1, "a count")?,
        };
        match keyword {
            "Vertices" => {
                raw.points = lines.room(count);
                for _ in 0..count {
                    raw.points.push(lines.need("a point")?.point(0)?);
                }
            }
            "Tetrahedra" => {
                raw.tets = lines.room(count);
                for _ in 0..count {
                    let line = lines.need("a tet")?;
                    let mut tet = [0; 4];
                    for (i, corner) in tet.iter_mut().enumerate() {
                        let number: u32 = line.number(i, "a point's number")?;
                        *corner =
                            number.checked_sub(1).ok_or_else(|| line.error("points are counted from 1"))?;
                    }
                    raw.tets.push(tet);
                    references.push(if line.words.len() > 4 { line.number(4, "a reference")? } else { 0 });
                }
            }
            // triangles, edges, normals and whatever else there may be
            _ => {
                for _ in 0..count {
                    lines.need("a line")?;
                }
            }
        }
    }
    if raw.points.is_empty() {
        return Err(malformed(path, "end of file", "there is no section `Vertices`"));
    }
    raw.group_by(&references, |_| None);
    Ok(raw)
}
