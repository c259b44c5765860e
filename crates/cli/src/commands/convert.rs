//! `convert`: a clip in one format, written in another.

use std::path::PathBuf;

use clap::Args;
use clip::WriteOptions;
use serde_json::json;
use shot::FrameRange;

use crate::console::{Console, size};
use crate::error::CliError;
use crate::source::{self, Reading};

/// Write an animation in another format
///
/// The endings tell the formats: .glb, .gltf, .obj, .pc2, .mdd, .bvh, .usd, .usdc, .usda, .usdz and .abc are read; all but
/// .gltf are written, .obj as a numbered sequence when there are several frames. From glTF to .glb nothing is lost: what did not
/// change stays as it is in the file. Elsewhere deformation comes out baked.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The animation to read, sample:NAME, or a shot file: what is baked of it so far
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Only these frames, first and last counted from 0, as in 0-48
    #[arg(long, value_name = "A-B")]
    frames: Option<FrameRange>,
    #[command(flatten)]
    reading: Reading,
    /// How long one unit of the written file is: m, cm, mm, in, ft or a number of metres [default: m]
    #[arg(long, value_name = "UNIT", value_parser = source::unit, help_heading = "Writing")]
    out_unit: Option<f64>,
    /// The number of the first frame in the written file
    #[arg(long, value_name = "N", help_heading = "Writing")]
    start_frame: Option<u32>,
    /// Leave the normals of every frame out of a .glb: half the size, but viewers shade flat
    #[arg(long, help_heading = "Writing")]
    no_normals: bool,
    /// Give .usd and .abc files the velocity of every point at every frame, for motion blur
    #[arg(long, help_heading = "Writing")]
    velocities: bool,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let clip = source::cropped(self.reading.open(&self.input)?, self.frames)?;
        let options = WriteOptions {
            start_frame: self.start_frame,
            unit_in_metres: self.out_unit,
            normals: !self.no_normals,
            velocities: self.velocities,
            ..WriteOptions::default()
        };
        for warning in &clip.warnings {
            console.remark(&format!("warning: {}: {warning}", self.input.display()));
        }
        let listener = console.progress();
        let name = self.output.file_name().unwrap_or(self.output.as_os_str()).to_string_lossy();
        let watched = source::watched(&clip, &format!("write {name}"), &listener);
        let written = clip::write(&self.output, &watched, &options);
        listener.clear();
        let written = written.map_err(|error| CliError::while_writing(&error))?;
        for warning in &written.warnings {
            console.remark(&format!("warning: {}: {warning}", self.output.display()));
        }
        if self.json {
            return console.answer_json(&json!({
                "ok": true,
                "files": written.files,
                "frames": written.frames,
                "frame_rate_hz": clip.frame_rate_hz,
                "bytes": written.bytes,
                "warnings": clip.warnings.iter().chain(&written.warnings).collect::<Vec<_>>(),
            }));
        }
        if console.is_quiet() {
            return Ok(());
        }
        let first = written.files.first().map(|path| path.display().to_string()).unwrap_or_default();
        let more = match written.files.len() {
            0 | 1 => String::new(),
            2 => format!(" (with {})", written.files[1].display()),
            count => format!(" and {} more files", count - 1),
        };
        console.answer(format!("wrote {first}{more}: {} frames, {}", written.frames, size(written.bytes)))
    }
}
