//! `tetmesh`: any surface filled with tets.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use clip::{Tets, WriteOptions, cut_away};
use geometry::{TetMesh, TetMeshing, TetQuality, TetSize, Vec3};
use render::{Look, Shading, Stage, View};
use serde_json::{Value, json};

use super::MadeFiles;
use crate::console::Console;
use crate::error::CliError;
use crate::source::{self, Reading};

/// Fill a surface with tets, and tell how good they are
///
/// Any surface will do: open, intersecting, turned inside out, full of holes. Every point of it ends up inside the tets. A
/// file that has tets already (.veg, .msh, .node, .ele, .mesh) is judged as it is.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The surface (.glb, .gltf, .obj, .stl, .ply, .off and others), sample:NAME, or a file of tets
    file: PathBuf,
    /// The file to write (.veg) [default: none, only the report]
    #[arg(long, short, value_name = "VEG")]
    output: Option<PathBuf>,
    /// About so many tets
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    tets: u32,
    /// Edges about so long near the surface, in metres, instead of a number of tets
    #[arg(long, value_name = "METRES", conflicts_with = "tets", value_parser = crate::source::positive)]
    edge: Option<f64>,
    /// How far the tets reach out of the surface, as a fraction of the edge length
    #[arg(long, value_name = "FRACTION", default_value_t = 0.2, value_parser = crate::source::positive)]
    offset: f64,
    /// Tets of one size, instead of larger ones inside
    #[arg(long)]
    uniform: bool,
    /// The frame whose shape is filled, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    frame: usize,
    /// A picture (.png) of the tets, cut open
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What filling a surface says beyond the tets themselves.
struct Filling {
    triangles: usize,
    points: usize,
    edge: f64,
    grown: usize,
    outside: usize,
    seconds: f64,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let (tets, filling) = if source::has_tets(&self.file) {
            (clip::read_tets(&self.file, &self.reading.options())?, None)
        } else {
            let (mesh, filling) = self.fill()?;
            (Tets { mesh, groups: Vec::new() }, Some(filling))
        };
        let quality = TetQuality::of(&tets.mesh);
        let write = |path: &Path| clip::write_tets(path, &tets, &WriteOptions::default());
        let files = MadeFiles::write(&self.output, &self.picture, write)?;
        if let Some(path) = &self.picture {
            draw(path, &tets.mesh)?;
        }
        let report = Report { file: &self.file, quality, filling };
        if self.json {
            return console.answer_json(&files.in_json(report.json()));
        }
        console.answer(files.in_text(report.text()))
    }

    fn fill(&self) -> Result<(TetMesh, Filling), CliError> {
        let clip = self.reading.open(&self.file)?;
        let (points, triangles) = clip.surface(self.frame)?;
        let begun = Instant::now();
        let size = self.edge.map_or(TetSize::Count(self.tets as usize), TetSize::Edge);
        let meshing = TetMeshing { size, offset: self.offset, graded: !self.uniform };
        let filled = meshing.fill(&points, &triangles).map_err(|error| {
            let said = CliError::input(format!("{}: {error}", self.file.display()));
            match error {
                geometry::Error::TooFine { .. } => {
                    said.with_help("ask for longer edges, or for a number with --tets")
                }
                geometry::Error::Empty { .. } => said.with_help("the file has no faces to fill"),
                _ => said,
            }
        })?;
        let filling = Filling {
            triangles: triangles.len(),
            points: points.len(),
            edge: filled.edge,
            grown: filled.grown,
            outside: filled.outside,
            seconds: begun.elapsed().as_secs_f64(),
        };
        Ok((filled.mesh, filling))
    }
}

/// The tets behind the middle, from the front.
fn draw(path: &Path, mesh: &TetMesh) -> Result<(), CliError> {
    let bounds = geometry::Bounds::of(mesh.points().iter().copied());
    let size = bounds.size();
    // across the longer of the two horizontal sides one sees the most
    let (normal, azimuth) = if size.x >= size.z { (Vec3::Z, 25.0_f64) } else { (Vec3::X, 65.0) };
    let clip = cut_away(mesh, bounds.centre(), normal);
    let look = Look { wireframe: true, shading: Shading::Flat, ..Look::default() };
    let view = View::Orbit { azimuth: azimuth.to_radians(), elevation: 15.0_f64.to_radians() };
    let picture = Stage::new(&[("", &clip)], view, look, [800, 600])?.picture(0)?;
    super::render::save(path, &picture.png()?)
}

struct Report<'a> {
    file: &'a Path,
    quality: TetQuality,
    filling: Option<Filling>,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let q = &self.quality;
        let filling = self.filling.as_ref().map(|f| {
            json!({
                "surface_triangles": f.triangles,
                "surface_points": f.points,
                "edge_m": f.edge,
                "grown_points": f.grown,
                "points_outside": f.outside,
                "encloses": f.outside == 0,
                "seconds": f.seconds,
            })
        });
        json!({
            "ok": true,
            "file": self.file,
            "tets": q.tets,
            "points": q.points,
            "parts": q.components,
            "volume_m3": q.volume,
            "smallest_volume_m3": q.smallest_volume,
            "largest_volume_m3": q.largest_volume,
            "inverted": q.inverted,
            "overfull_faces": q.overfull_faces,
            "shortest_edge_m": q.shortest_edge,
            "longest_edge_m": q.longest_edge,
            "smallest_dihedral_deg": q.smallest_dihedral.to_degrees(),
            "largest_dihedral_deg": q.largest_dihedral.to_degrees(),
            "dihedral_histogram_10deg": q.dihedral_histogram,
            "filling": filling,
        })
    }

    fn text(&self) -> String {
        let q = &self.quality;
        let mut lines = Vec::new();
        if let Some(f) = &self.filling {
            lines.push(format!(
                "{}: {} triangles, {} points, filled in {:.2} s with edges of {:.4} m",
                self.file.display(),
                f.triangles,
                f.points,
                f.seconds,
                f.edge
            ));
            lines.push(match f.outside {
                0 => format!("enclosed: every point; the offset had to grow at {}", f.grown),
                n => format!("not enclosed: {n} points"),
            });
        } else {
            lines.push(self.file.display().to_string());
        }
        lines.push(format!(
            "tets: {} on {} points, {} {}, edges {:.4} to {:.4} m",
            q.tets,
            q.points,
            q.components,
            if q.components == 1 { "part" } else { "parts" },
            q.shortest_edge,
            q.longest_edge
        ));
        lines.push(format!(
            "volume: {:.4e} m³ ({:.2e} to {:.2e} each), {} inside out, {} faces of more than two tets",
            q.volume, q.smallest_volume, q.largest_volume, q.inverted, q.overfull_faces
        ));
        lines.push(format!(
            "angles between faces: {:.1}° to {:.1}°",
            q.smallest_dihedral.to_degrees(),
            q.largest_dihedral.to_degrees()
        ));
        let most = q.dihedral_histogram.iter().copied().max().unwrap_or(0).max(1);
        let all = q.dihedral_histogram.iter().sum::<usize>().max(1);
        for (i, &count) in q.dihedral_histogram.iter().enumerate() {
            let bar = "#".repeat((40 * count).div_ceil(most));
            let share = 100.0 * count as f64 / all as f64;
            lines.push(
                format!("  {:3}°–{:3}° {share:5.1} % {bar}", 10 * i, 10 * (i + 1)).trim_end().to_owned(),
            );
        }
        lines.join("\n") + "\n"
    }
}
