//! Tet meshes in files: what other programs made, and what we make for them.
//!
//! | ending | format | read | written |
//! |---|---|---|---|
//! | `.veg` | VegaFEM | sets, regions, materials; hexahedra as a lattice | yes |
//! | `.msh` | Gmsh 2.2 and 4.1, ASCII | physical groups | no |
//! | `.node`, `.ele` | TetGen, both files | region attribute | no |
//! | `.mesh` | MEDIT, ASCII | references | no |
//!
//! Points keep the file's order, used or not, so that tables made for the file fit. Of tets with nodes on their edges the
//! corners are read; other elements are passed over.

mod cutaway;
mod gmsh;
mod lattice;
mod medit;
mod tetgen;
mod veg;
mod words;

pub use cutaway::cut_away;
pub use lattice::{LATTICE_ENDINGS, read_lattice, write_lattice};

use std::path::Path;

use geometry::{TetMesh, Vec3};

use crate::format::malformed;
use crate::{Error, ReadOptions, Result, WriteOptions, Written};

/// A tet mesh with what its file says about its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Tets {
    /// The tets, in metres.
    pub mesh: TetMesh,
    /// Named parts; they may overlap, or leave tets out.
    pub groups: Vec<TetGroup>,
}

/// A named part of a tet mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct TetGroup {
    /// The file's name for it; `region N` for a number.
    pub name: String,
    /// Its tets, ascending.
    pub tets: Vec<u32>,
    /// What it is made of, where the file says so.
    pub material: Option<TetMaterial>,
}

/// An elastic material as files know it.
#[derive(Clone, Debug, PartialEq)]
pub struct TetMaterial {
    /// The file's name for it.
    pub name: String,
    /// Mass per volume, in kg/m³.
    pub density: f64,
    /// Young's modulus, in Pa.
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
}

/// Endings of the formats with tets.
pub const TET_ENDINGS: [&str; 5] = ["veg", "msh", "node", "ele", "mesh"];

/// Reads tets. The format is found by the ending; of `options` only the unit and the files are used.
pub fn read_tets(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Tets> {
    let path = path.as_ref();
    let scale = options.unit_in_metres.unwrap_or(1.0);
    if !(scale.is_finite() && scale > 0.0) {
        let problem = format!("the unit is {scale}; it must be a finite number above zero");
        return Err(Error::Unsupported { path: path.into(), problem });
    }
    let raw = read_raw(path, options)?;
    if !raw.hexes.is_empty() {
        let problem = "the elements are hexahedra; tets were expected".to_owned();
        return Err(Error::Unsupported { path: path.into(), problem });
    }
    raw.finished(path, scale)
}

fn read_raw(path: &Path, options: &ReadOptions) -> Result<Raw> {
    match ending(path).as_str() {
        "veg" => veg::read(path, &options.files),
        "msh" => gmsh::read(path, &options.files),
        "node" | "ele" => tetgen::read(path, &options.files),
        "mesh" => medit::read(path, &options.files),
        _ => Err(unknown(path)),
    }
}

/// Writes tets as `.veg`. Groups with a material become sets, materials and regions; without any, the whole is one region
/// of soft rubber, since VegaFEM wants every element to have a material.
pub fn write_tets(path: impl AsRef<Path>, tets: &Tets, options: &WriteOptions) -> Result<Written> {
    let path = path.as_ref();
    match ending(path).as_str() {
        "veg" => veg::write(path, tets, options.unit_in_metres.unwrap_or(1.0)),
        other => {
            let problem = format!("tets are written as .veg, not as .{other}");
            Err(Error::Unsupported { path: path.into(), problem })
        }
    }
}

fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

fn unknown(path: &Path) -> Error {
    let known: Vec<String> = TET_ENDINGS.iter().map(|ending| format!(".{ending}")).collect();
    let problem = format!("not a format with tets; those we know are {}", known.join(", "));
    Error::Unsupported { path: path.into(), problem }
}

/// What a reader found, indices not yet checked.
#[derive(Debug, Default)]
struct Raw {
    points: Vec<[f64; 3]>,
    /// Corners, from zero.
    tets: Vec<[u32; 4]>,
    /// Corners of hexahedra, from zero, in VegaFEM's order.
    hexes: Vec<[u32; 8]>,
    groups: Vec<TetGroup>,
}

impl Raw {
    fn finished(self, path: &Path, scale: f64) -> Result<Tets> {
        let points = self.points.into_iter().map(|p| scale * Vec3::from(p)).collect();
        let mesh =
            TetMesh::new(points, self.tets).map_err(|error| malformed(path, "tets", error.to_string()))?;
        let count = mesh.tets().len() as u32;
        let mut groups = self.groups;
        for group in &mut groups {
            group.tets.sort_unstable();
            group.tets.dedup();
            if let Some(&tet) = group.tets.last().filter(|&&tet| tet >= count) {
                let problem = format!("element {} is named, but there are {count}", u64::from(tet) + 1);
                return Err(malformed(path, format!("group `{}`", group.name), problem));
            }
        }
        Ok(Tets { mesh, groups })
    }

    /// Adds a group for every number that tets carry, when there is more than one, or one that is not zero.
    fn group_by(&mut self, numbers: &[i64], name: impl Fn(i64) -> Option<String>) {
        let mut kinds = numbers.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() < 2 && kinds.first().is_none_or(|&kind| kind == 0) {
            return;
        }
        let mut groups: Vec<TetGroup> = kinds
            .iter()
            .map(|&kind| TetGroup {
                name: name(kind).unwrap_or_else(|| format!("region {kind}")),
                tets: Vec::new(),
                material: None,
            })
            .collect();
        for (tet, number) in numbers.iter().enumerate() {
            // every number is among its kinds
            if let Ok(kind) = kinds.binary_search(number) {
                groups[kind].tets.push(tet as u32);
            }
        }
        self.groups = groups;
    }
}
