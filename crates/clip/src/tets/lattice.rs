//! Lattices in files: tets, prisms or hexahedra as the cells of a [`Lattice`].
//!
//! Formats of finite elements have cells of one kind; in TOML, which is ours, they mix, and can be written by hand:
//!
//! ```toml
//! points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
//! prisms = [[0, 1, 2, 3, 4, 5]]
//! ```
//!
//! with `tets`, `prisms` and `hexes` as [`Cell`] lists their corners, numbers from zero.

use std::fmt::Write;
use std::path::Path;

use geometry::{Cell, Lattice, Vec3};
use serde::Deserialize;

use super::{ending, read_raw};
use crate::format::{AtomicFile, malformed};
use crate::{Error, ReadOptions, Result, Written};

/// Endings of the formats that a lattice is read from.
pub const LATTICE_ENDINGS: [&str; 6] = ["toml", "veg", "msh", "node", "ele", "mesh"];

/// A lattice as it is written in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    points: Vec<[f64; 3]>,
    #[serde(default)]
    tets: Vec<[u32; 4]>,
    #[serde(default)]
    prisms: Vec<[u32; 6]>,
    #[serde(default)]
    hexes: Vec<[u32; 8]>,
}

/// Reads a lattice: in TOML of all kinds of cells, of tets from any format that [`read_tets`](super::read_tets) reads, of hexahedra from
/// `.veg` with `CUBIC` elements. Coordinates are metres.
pub fn read_lattice(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Lattice> {
    let path = path.as_ref();
    if ending(path) == "toml" {
        return read_toml(path, options);
    }
    let raw = read_raw(path, options)?;
    if raw.hexes.is_empty() {
        // turns tets that are listed inside out
        return raw.finished(path, 1.0).map(|tets| Lattice::from_tets(&tets.mesh));
    }
    let points = raw.points.into_iter().map(Vec3::from).collect();
    let cells = raw.hexes.into_iter().map(Cell::Hex).collect();
    Lattice::new(points, cells).map_err(|error| malformed(path, "cells", error.to_string()))
}

fn read_toml(path: &Path, options: &ReadOptions) -> Result<Lattice> {
    let text = String::from_utf8_lossy(&options.files.read(path)?).into_owned();
    let listed: Listed =
        toml::from_str(&text).map_err(|error| malformed(path, "cells", error.message().to_owned()))?;
    let Listed { points, tets, prisms, hexes } = listed;
    let cells = tets.into_iter().map(Cell::Tet).chain(prisms.into_iter().map(Cell::Prism));
    let cells = cells.chain(hexes.into_iter().map(Cell::Hex)).collect();
    let points = points.into_iter().map(Vec3::from).collect();
    Lattice::new(points, cells).map_err(|error| malformed(path, "cells", error.to_string()))
}

/// A lattice in TOML, cells by their kind.
fn in_toml(lattice: &Lattice) -> String {
    // writing to a string cannot fail
    let mut text = "points = [\n".to_owned();
    for p in lattice.points() {
        let _ = writeln!(text, "    [{:?}, {:?}, {:?}],", p.x, p.y, p.z);
    }
    text += "]\n";
    for (kind, corners) in [("tets", 4), ("prisms", 6), ("hexes", 8)] {
        let mut own = lattice.cells().iter().filter(|cell| cell.corners().len() == corners).peekable();
        if own.peek().is_some() {
            let _ = writeln!(text, "{kind} = [");
            own.for_each(|cell| _ = writeln!(text, "    {:?},", cell.corners()));
            text += "]\n";
        }
    }
    text
}

/// Writes a lattice as TOML, or, where its cells are of one kind, tets or hexahedra, as `.veg`.
pub fn write_lattice(path: impl AsRef<Path>, lattice: &Lattice) -> Result<Written> {
    let path = path.as_ref();
    let refused = |problem: &str| Err(Error::Unsupported { path: path.into(), problem: problem.into() });
    match ending(path).as_str() {
        "toml" => return written(path, &in_toml(lattice)),
        "veg" => {}
        _ => return refused("lattices are written as .veg or .toml"),
    }
    let tets = lattice.cells().iter().filter(|cell| matches!(cell, Cell::Tet(_))).count();
    let hexes = lattice.cells().iter().filter(|cell| matches!(cell, Cell::Hex(_))).count();
    let (kind, corners) = match lattice.cells().len() {
        count if count == tets => ("TET", 4),
        count if count == hexes => ("CUBIC", 8),
        _ => {
            return refused(
                "the format has cells of one kind, tets or hexahedra; write .toml, which has all",
            );
        }
    };
    let mut text = format!(
        "# Vega mesh file, written by followthrough.\n\n*VERTICES\n{} 3 0 0\n",
        lattice.points().len()
    );
    // writing to a string cannot fail
    for (i, p) in lattice.points().iter().enumerate() {
        let _ = writeln!(text, "{} {} {} {}", i + 1, p.x, p.y, p.z);
    }
    let _ = write!(text, "\n*ELEMENTS\n{kind}\n{} {corners} 0\n", lattice.cells().len());
    for (i, cell) in lattice.cells().iter().enumerate() {
        let words: Vec<String> = cell.corners().iter().map(|v| (v + 1).to_string()).collect();
        let _ = writeln!(text, "{} {}", i + 1, words.join(" "));
    }
    text += "\n*MATERIAL flesh\nENU, 1000, 20000, 0.4\n\n*REGION\nallElements, flesh\n";
    written(path, &text)
}

fn written(path: &Path, text: &str) -> Result<Written> {
    let mut file = AtomicFile::create(path)?;
    file.append(text.as_bytes())?;
    Ok(Written { files: vec![path.to_path_buf()], frames: 1, bytes: file.finish()?, ..Written::default() })
}
