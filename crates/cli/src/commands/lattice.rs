//! `lattice`: coarse cells around a character, bones along their edges.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use clip::Clip;
use film::sketch_pictures;
use geometry::{Lattice, LatticeMaking, TetQuality};
use layers::{Anatomy, Skeleton, sketch_of_lattice};
use render::Picture;
use serde_json::{Value, json};
use shot::Target;

use super::MadeFiles;
use crate::console::Console;
use crate::error::CliError;
use crate::source::{self, Reading};

/// Make the lattice that carries the flesh of a character: coarse cells with the bones along their edges
///
/// Bones and regions come from the skin, as in the skeleton layer; a surface without a skin gets cells without bones. A file that has cells
/// already (.toml, .veg, .msh, .node, .ele, .mesh) is judged as it is.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The character (.glb, .gltf, .usd and others), sample:NAME, or a file of cells
    file: PathBuf,
    /// The file to write (.veg, .toml) [default: none, only the report]
    #[arg(long, short, value_name = "VEG")]
    output: Option<PathBuf>,
    /// About so many cells
    #[arg(long, value_name = "N", default_value_t = 800, value_parser = clap::value_parser!(u32).range(8..=200_000))]
    cells: u32,
    /// A picture (.png): regions on the skin, and the cells cut open with the bones in them
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Of a picture, in pixels.
const SIZE: [u32; 2] = [640, 520];

/// A lattice, and what it is for.
enum Made {
    /// Of a file of cells, or around a surface without a skin.
    Bare(Lattice),
    Flesh(Box<Anatomy>),
}

impl Made {
    fn lattice(&self) -> &Lattice {
        match self {
            Self::Bare(lattice) => lattice,
            Self::Flesh(anatomy) => anatomy.flesh.lattice(),
        }
    }

    /// Regions on the skin, and beside them the cells cut open.
    fn picture(&self) -> Result<Picture, CliError> {
        let sketches = match self {
            Self::Bare(lattice) => sketch_of_lattice(lattice).map(|sketch| vec![sketch]),
            Self::Flesh(anatomy) => anatomy.sketches(),
        };
        let sketches = sketches.map_err(|error| CliError::input(error.to_string()))?;
        let pictures = sketch_pictures(&sketches, SIZE)?;
        let captioned = pictures.iter().zip(&sketches).map(|(picture, sketch)| match &sketches[..] {
            [_] => picture.clone(),
            _ => picture.captioned(&sketch.label),
        });
        captioned
            .reduce(|all, next| all.beside(&next))
            .ok_or_else(|| CliError::input("there is nothing to draw"))
    }
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let begun = Instant::now();
        let made = self.make()?;
        let seconds = begun.elapsed().as_secs_f64();
        let write = |path: &Path| clip::write_lattice(path, made.lattice());
        let files = MadeFiles::write(&self.output, &self.picture, write)?;
        if let Some(path) = &self.picture {
            super::render::save(path, &made.picture()?.png()?)?;
        }
        let report = Report::new(&self.file, &made, seconds)?;
        if self.json {
            return console.answer_json(&files.in_json(report.json()));
        }
        console.answer(files.in_text(report.text()))
    }

    fn make(&self) -> Result<Made, CliError> {
        if source::has_cells(&self.file) {
            return Ok(Made::Bare(clip::read_lattice(&self.file, &self.reading.options())?));
        }
        let clip = self.reading.open(&self.file)?;
        let failed =
            |error: &dyn std::fmt::Display| CliError::input(format!("{}: {error}", self.file.display()));
        let Some(mesh) = clip.meshes.iter().position(|mesh| mesh.skin.is_some()) else {
            return Ok(Made::Bare(self.around(&clip)?));
        };
        let settings = Skeleton { cells: self.cells as usize, ..Skeleton::default() };
        let target = Target { clip, mesh, files: self.reading.trust().files() };
        Anatomy::new(&settings, &target).map(|anatomy| Made::Flesh(Box::new(anatomy))).map_err(|error| {
            let said = failed(&error);
            match error.remedy() {
                Some(help) => said.with_help(help),
                None => said,
            }
        })
    }

    /// Cells around a surface that no joint moves.
    fn around(&self, clip: &Clip) -> Result<Lattice, CliError> {
        let (points, triangles) = clip.surface(0)?;
        let made = LatticeMaking { cells: self.cells as usize }.around(&points, &triangles, &[]);
        made.map(|made| made.lattice).map_err(|error| {
            let said = CliError::input(format!("{}: {error}", self.file.display()));
            match error {
                geometry::Error::Empty { .. } => said.with_help("the file has no faces to put cells around"),
                _ => said,
            }
        })
    }
}

struct Report<'a> {
    file: &'a Path,
    made: &'a Made,
    quality: TetQuality,
    seconds: f64,
}

impl<'a> Report<'a> {
    fn new(file: &'a Path, made: &'a Made, seconds: f64) -> Result<Self, CliError> {
        let (mesh, _) =
            made.lattice().tets().map_err(|error| CliError::input(format!("{}: {error}", file.display())))?;
        Ok(Self { file, made, quality: TetQuality::of(&mesh), seconds })
    }

    /// Names of the joints whose bones are no edges of the lattice.
    fn soft(anatomy: &Anatomy) -> Vec<&str> {
        let (bones, _) = anatomy.flesh.bones();
        let soft = anatomy.flesh.report().soft_bones.iter();
        soft.map(|&bone| anatomy.names[bones[bone].joint].as_str()).collect()
    }

    fn json(&self) -> Value {
        let (lattice, q) = (self.made.lattice(), &self.quality);
        let flesh = match self.made {
            Made::Bare(_) => Value::Null,
            Made::Flesh(anatomy) => {
                let report = anatomy.flesh.report();
                json!({
                    "skin_points": anatomy.skin.points.len(),
                    "meshes": anatomy.meshes.len(),
                    "joints": anatomy.names.len(),
                    "bones": report.bones,
                    "bones_held_softly": Self::soft(anatomy),
                    "points_on_bones": report.known,
                    "regions": report.regions,
                    "volume_m3": report.volume,
                    "mass_kg": report.mass,
                })
            }
        };
        json!({
            "ok": true,
            "file": self.file,
            "cells": lattice.cells().len(),
            "points": lattice.points().len(),
            "parts": q.components,
            "volume_m3": q.volume,
            "inverted": q.inverted,
            "smallest_dihedral_deg": q.smallest_dihedral.to_degrees(),
            "largest_dihedral_deg": q.largest_dihedral.to_degrees(),
            "flesh": flesh,
            "seconds": self.seconds,
        })
    }

    fn text(&self) -> String {
        let (lattice, q) = (self.made.lattice(), &self.quality);
        let mut lines = vec![format!(
            "{}: {} cells on {} points, {} {}, in {:.2} s",
            self.file.display(),
            lattice.cells().len(),
            lattice.points().len(),
            q.components,
            if q.components == 1 { "part" } else { "parts" },
            self.seconds
        )];
        if let Made::Flesh(anatomy) = self.made {
            let report = anatomy.flesh.report();
            lines.push(format!(
                "bones: {} on {} points of the lattice, {} regions",
                report.bones, report.known, report.regions
            ));
            let soft = Self::soft(anatomy);
            if !soft.is_empty() {
                lines.push(format!(
                    "warning: no edges of the lattice, but held softly: the bones of {}; raise --cells",
                    soft.join(", ")
                ));
            }
            lines.push(format!("flesh: {:.2} kg in {:.4} m³ inside of the skin", report.mass, report.volume));
        }
        lines.push(format!(
            "angles between faces: {:.1}° to {:.1}°, {} cells inside out",
            q.smallest_dihedral.to_degrees(),
            q.largest_dihedral.to_degrees(),
            q.inverted
        ));
        lines.join("\n")
    }
}
