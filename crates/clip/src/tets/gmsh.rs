//! Gmsh's `.msh`, ASCII, versions 2.x and 4.1: sections between `$Name` and `$EndName`. Points and elements carry
//! numbers in any order; physical groups carry names.

use std::collections::HashMap;
use std::path::Path;

use super::words::Lines;
use super::{Raw, malformed};
use crate::{Files, Result};

/// Gmsh's numbers of the tets with 4, 10, 20 and 35 nodes, whose corners come first.
const TETS: [u32; 4] = [4, 11, 29, 30];

#[derive(Default)]
struct Found {
    raw: Raw,
    /// Index of the point with a number; looked up, never iterated over.
    points: HashMap<u64, u32>,
    /// The physical group of every tet; zero for none.
    physical: Vec<i64>,
    /// Names of physical groups of volumes.
    names: HashMap<i64, String>,
    /// The physical group of a volume.
    volumes: HashMap<i64, i64>,
}

pub(super) fn read(path: &Path, files: &Files) -> Result<Raw> {
    let bytes = files.read(path)?;
    let mut lines = Lines::new(path, &bytes, None);
    let mut found = Found::default();
    let mut version = None;
    while let Some(line) = lines.next() {
        let Some(section) = line.words[0].strip_prefix('$').map(str::to_owned) else {
            return Err(line.error("a section such as $Nodes was expected"));
        };
        match (section.as_str(), version) {
            ("MeshFormat", _) => version = Some(format(&mut lines)?),
            ("PhysicalNames", _) => names(&mut lines, &mut found)?,
            ("Entities", Some(4)) => entities(&mut lines, &mut found)?,
            ("Nodes", Some(2)) => nodes_2(&mut lines, &mut found)?,
            ("Nodes", Some(_)) => nodes_4(&mut lines, &mut found)?,
            ("Elements", Some(2)) => elements_2(&mut lines, &mut found)?,
            ("Elements", Some(_)) => elements_4(&mut lines, &mut found)?,
            ("Nodes" | "Elements", None) => return Err(line.error("$MeshFormat must come first")),
            _ => {}
        }
        // to the section's end, over whatever of it was not wanted
        let end = format!("$End{section}");
        while lines.need(&end)?.words[0] != end {}
    }
    if version.is_none() {
        return Err(malformed(path, "end of file", "there is no section $MeshFormat"));
    }
    let Found { mut raw, physical, names, .. } = found;
    raw.group_by(&physical, |number| names.get(&number).cloned());
    Ok(raw)
}

fn format(lines: &mut Lines) -> Result<u32> {
    let line = lines.need("the version")?;
    let version: f64 = line.number(0, "a version")?;
    if line.number::<i64>(1, "0 or 1")? != 0 {
        return Err(line.error("the file is binary; export it as ASCII"));
    }
    match version {
        v if (2.0..3.0).contains(&v) => Ok(2),
        v if (4.1..5.0).contains(&v) => Ok(4),
        v => Err(line.error(format!("version {v} is not read; export it as 2.2 or 4.1"))),
    }
}

fn names(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let count: usize = lines.need("a count")?.number(0, "a count")?;
    for _ in 0..count {
        let line = lines.need("a name")?;
        if line.number::<i64>(0, "a dimension")? == 3 {
            let name = line.words.get(2..).unwrap_or_default().join(" ");
            found.names.insert(line.number(1, "a number")?, name.trim_matches('"').to_owned());
        }
    }
    Ok(())
}

fn entities(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let line = lines.need("counts of entities")?;
    let mut counts = [0_usize; 4];
    for (i, count) in counts.iter_mut().enumerate() {
        *count = line.number(i, "a count")?;
    }
    for dimension in 0..4 {
        for _ in 0..counts[dimension] {
            let line = lines.need("an entity")?;
            // number, box, then how many physical groups and which
            if dimension == 3 && line.number::<usize>(7, "a count")? > 0 {
                found.volumes.insert(line.number(0, "a number")?, line.number(8, "a physical group")?);
            }
        }
    }
    Ok(())
}

impl Found {
    fn push_point(&mut self, number: u64, point: [f64; 3]) {
        self.points.insert(number, self.raw.points.len() as u32);
        self.raw.points.push(point);
    }

    /// A tet from a line whose corners begin at `index`.
    fn push_tet(&mut self, line: &super::words::Line, index: usize, physical: i64) -> Result<()> {
        let mut tet = [0; 4];
        for (i, corner) in tet.iter_mut().enumerate() {
            let number: u64 = line.number(index + i, "a point's number")?;
            *corner =
                *self.points.get(&number).ok_or_else(|| line.error(format!("there is no point {number}")))?;
        }
        self.raw.tets.push(tet);
        self.physical.push(physical);
        Ok(())
    }
}

fn nodes_2(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let count: usize = lines.need("a count")?.number(0, "a count")?;
    for _ in 0..count {
        let line = lines.need("a point")?;
        found.push_point(line.number(0, "a point's number")?, line.point(1)?);
    }
    Ok(())
}

fn elements_2(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let count: usize = lines.need("a count")?.number(0, "a count")?;
    for _ in 0..count {
        let line = lines.need("an element")?;
        if TETS.contains(&line.number(1, "an element's kind")?) {
            // no line has more tags than words
            let tags = line.number::<usize>(2, "a number of tags")?.min(line.words.len());
            let physical = if tags > 0 { line.number(3, "a physical group")? } else { 0 };
            found.push_tet(&line, 3 + tags, physical)?;
        }
    }
    Ok(())
}

fn nodes_4(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let blocks: usize = lines.need("a count")?.number(0, "a count")?;
    for _ in 0..blocks {
        let line = lines.need("a block of points")?;
        let count: usize = line.number(3, "a count")?;
        let mut numbers = lines.room(count);
        for _ in 0..count {
            numbers.push(lines.need("a point's number")?.number::<u64>(0, "a point's number")?);
        }
        for number in numbers {
            let point = lines.need("a point")?.point(0)?;
            found.push_point(number, point);
        }
    }
    Ok(())
}

fn elements_4(lines: &mut Lines, found: &mut Found) -> Result<()> {
    let blocks: usize = lines.need("a count")?.number(0, "a count")?;
    for _ in 0..blocks {
        let line = lines.need("a block of elements")?;
        let volume: i64 = line.number(1, "an entity")?;
        let is_tet = TETS.contains(&line.number(2, "an element's kind")?);
        let count: usize = line.number(3, "a count")?;
        let physical = found.volumes.get(&volume).copied().unwrap_or(0);
        for _ in 0..count {
            let line = lines.need("an element")?;
            if is_tet {
                found.push_tet(&line, 1, physical)?;
            }
        }
    }
    Ok(())
}
