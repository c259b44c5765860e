//! Lattices in files: tets or hexahedra as the cells of a [`Lattice`].

use std::fmt::Write;
use std::path::Path;

use geometry::{Cell, Lattice, Vec3};

use super::{ending, read_raw};
use crate::format::{AtomicFile, malformed};
use crate::{Error, ReadOptions, Result, Written};

/// Reads a lattice of tets or hexahedra, from any format that [`read_tets`](super::read_tets) reads, and from `.veg` with `CUBIC`
/// elements. Coordinates are metres.
pub fn read_lattice(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Lattice> {
    let path = path.as_ref();
    let raw = read_raw(path, options)?;
    if raw.hexes.is_empty() {
        // turns tets that are listed inside out
        return raw.finished(path, 1.0).map(|tets| Lattice::from_tets(&tets.mesh));
    }
    let points = raw.points.into_iter().map(Vec3::from).collect();
    let cells = raw.hexes.into_iter().map(Cell::Hex).collect();
    Lattice::new(points, cells).map_err(|error| malformed(path, "cells", error.to_string()))
}

/// Writes a lattice of one kind of cells, tets or hexahedra, as `.veg`.
pub fn write_lattice(path: impl AsRef<Path>, lattice: &Lattice) -> Result<Written> {
    let path = path.as_ref();
    let refused = |problem: &str| Err(Error::Unsupported { path: path.into(), problem: problem.into() });
    if ending(path) != "veg" {
        return refused("lattices are written as .veg");
    }
    let tets = lattice.cells().iter().filter(|cell| matches!(cell, Cell::Tet(_))).count();
    let hexes = lattice.cells().iter().filter(|cell| matches!(cell, Cell::Hex(_))).count();
    let (kind, corners) = match lattice.cells().len() {
        count if count == tets => ("TET", 4),
        count if count == hexes => ("CUBIC", 8),
        _ => return refused("the format has cells of one kind, tets or hexahedra; cut the others into tets"),
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
    let mut file = AtomicFile::create(path)?;
    file.append(text.as_bytes())?;
    Ok(Written { files: vec![path.to_path_buf()], frames: 1, bytes: file.finish()?, ..Written::default() })
}
