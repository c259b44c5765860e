//! `compare`: how far two animations are apart, how much each is stretched, and what crosses in it.

mod intersections;

use std::path::PathBuf;

use clap::Args;
use clip::{Clip, FrameStrain};
use serde_json::{Value, json};

use self::intersections::Intersections;
use crate::comparison::Comparison;
use crate::console::Console;
use crate::error::{self, CliError};
use crate::source::Reading;
use crate::{interrupt, source};

/// Compare two animations: distances frame by frame, strain, topology
#[derive(Args)]
pub(crate) struct Arguments {
    /// The first animation, or sample:NAME
    a: PathBuf,
    /// The second animation, or sample:NAME; may be left out with --intersections
    #[arg(required_unless_present = "intersections")]
    b: Option<PathBuf>,
    /// Count the pairs of triangles that cross, in every frame, exactly
    #[arg(long)]
    intersections: bool,
    /// Fail with exit code 4 when topologies or frame counts differ or any point is farther away than this, in metres
    #[arg(long, value_name = "METRES", value_parser = source::not_negative)]
    within: Option<f64>,
    /// The second file's animation, where it is called otherwise than the first's [default: as --clip says]
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    clip_b: Option<String>,
    #[command(flatten)]
    reading: Reading,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let a = self.reading.open(&self.a)?;
        let Some(second) = &self.b else { return self.cross(&[(&self.a, &a)], console, None) };
        let b = match &self.clip_b {
            Some(name) => self.reading.of_clip(name).open(second)?,
            None => self.reading.open(second)?,
        };
        let found = measure(&a, &b, console)?;
        let pair = [(&self.a, &a), (second, &b)];
        if self.intersections {
            let before = if self.json {
                self.json(second, &a, &b, &found)
            } else {
                Value::String(self.text(second, &a, &b, &found))
            };
            self.cross(&pair, console, Some(before))?;
        } else if self.json {
            console.answer_json(&self.json(second, &a, &b, &found))?;
        } else {
            console.answer(self.text(second, &a, &b, &found))?;
        }
        match self.within.and_then(|within| too_far(within, &a, &b, &found)) {
            // the object that was asked for is out; a second one would break whoever reads it
            Some(words) if self.json => {
                console.remark(&words);
                std::process::exit(error::DIFFERENT.into());
            }
            Some(message) => Err(CliError::Said { code: error::DIFFERENT, message, help: None }),
            None => Ok(()),
        }
    }

    /// Counts crossings and answers, after what a comparison has to say.
    fn cross(
        &self,
        clips: &[(&PathBuf, &Clip)],
        console: &Console,
        before: Option<Value>,
    ) -> Result<(), CliError> {
        let counted: Vec<Intersections> =
            clips.iter().map(|(_, clip)| Intersections::count(clip, console)).collect::<Result<_, _>>()?;
        if self.json {
            let mut answer = before.unwrap_or_else(|| json!({ "ok": true }));
            let mut crossings = serde_json::Map::new();
            for (key, (found, (path, clip))) in ["a", "b"].into_iter().zip(counted.iter().zip(clips)) {
                if clips.len() == 1 {
                    answer[key] = json!({ "file": path, "frames": clip.frame_count() });
                }
                crossings.insert(key.into(), found.json(clip));
            }
            answer["intersections"] = crossings.into();
            return console.answer_json(&answer);
        }
        let mut lines: Vec<String> = before.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        for (found, (path, clip)) in counted.iter().zip(clips) {
            lines.push(found.text(clip, &path.display().to_string()));
        }
        console.answer(lines.join("\n"))
    }

    fn json(&self, second: &PathBuf, a: &Clip, b: &Clip, found: &Comparison) -> Value {
        let mut answer = found.json(a, b);
        for (key, file) in [("a", &self.a), ("b", second)] {
            answer[key]["file"] = json!(file);
        }
        answer
    }

    fn text(&self, second: &PathBuf, a: &Clip, b: &Clip, found: &Comparison) -> String {
        let mut lines = Vec::new();
        match found.differences.as_slice() {
            [] => lines.push("topology: the same".to_owned()),
            some => lines.extend(some.iter().map(|difference| format!("topology: {difference}"))),
        }
        if a.frame_count() != b.frame_count() {
            lines.push(format!(
                "frames: {} and {}; the rest is not compared",
                a.frame_count(),
                b.frame_count()
            ));
        }
        if a.frame_rate_hz != b.frame_rate_hz {
            lines.push(format!("frame rates: {} and {} per second", a.frame_rate_hz, b.frame_rate_hz));
        }
        match &found.distances {
            None => lines.push("distance: the meshes have neither points nor vertices in common".to_owned()),
            Some(_) => {
                let mut line = format!(
                    "distance: at most {}, root mean square {}",
                    length(found.largest()),
                    length(found.rms())
                );
                if let Some((frame, mesh, point)) = found.worst().filter(|_| found.largest() > 0.0) {
                    let mesh = a.meshes.get(mesh).map_or("", |mesh| mesh.name.as_str());
                    line += &format!("; most at frame {frame}, point {point} of {mesh}");
                }
                lines.push(line);
            }
        }
        for (path, frames) in [(&self.a, &found.strains[0]), (second, &found.strains[1])] {
            let most = |of: fn(&FrameStrain) -> f64| 100.0 * frames.iter().map(of).fold(0.0, f64::max);
            lines.push(format!(
                "strain of {}: stretched at most {:.2} %, shortened at most {:.2} %",
                path.display(),
                most(|frame| frame.max_stretch),
                most(|frame| frame.max_compression)
            ));
        }
        lines.join("\n")
    }
}

fn measure(a: &Clip, b: &Clip, console: &Console) -> Result<Comparison, CliError> {
    let listener = console.progress();
    let found = Comparison::watched(a, b, |clip, title| {
        listener.clear();
        source::watched(clip, title, &listener)
    });
    listener.clear();
    if interrupt::pressed() {
        return Err(CliError::stopped("stopped"));
    }
    Ok(found?)
}

/// Why the clips are not within so many metres of each other.
fn too_far(within: f64, a: &Clip, b: &Clip, found: &Comparison) -> Option<String> {
    if let Some(difference) = found.differences.first() {
        return Some(format!("the topologies differ: {difference}"));
    }
    if a.frame_count() != b.frame_count() {
        return Some(format!("one has {} frames, the other {}", a.frame_count(), b.frame_count()));
    }
    let largest = found.largest();
    // not `>`: what is not a number is not within anything
    let near = largest <= within;
    (!near).then(|| format!("they are {} apart, more than {}", length(largest), length(within)))
}

/// Metres as people read them.
fn length(metres: f64) -> String {
    match metres {
        0.0 => "0".to_owned(),
        m if m < 1e-6 => format!("{:.2} nm", 1e9 * m),
        m if m < 1e-3 => format!("{:.2} µm", 1e6 * m),
        m if m < 0.1 => format!("{:.2} mm", 1e3 * m),
        m => format!("{m:.3} m"),
    }
}
