//! `render`: pictures and short films of any clip.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use clip::{Clip, Frame, MemoryFrames, Placement, StrainMeter};
use film::FilmRenderer;
use render::{ColorMap, Drawing, Film, Look, Picture, Scalars, Shading, Stage, View};
use serde_json::json;
use shot::{BakeOptions, Context, FrameRange, Parts, Reader};

use crate::console::{Console, size};
use crate::error::CliError;
use crate::interrupt;
use crate::source::{self, Reading};

/// Make a picture, a contact sheet or a short film of an animation; no GPU is needed
///
/// OUT.png is one picture (or, with --sheet, many frames on one), OUT.webp is a film, anything else is a folder for
/// numbered pictures. A shot file shows what was baked of it, as its [output.film] says, without baking anything again;
/// before any bake --input shows the scene that goes in, and --rest how garments were put on in it.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The animation, sample:NAME, or a shot file that was baked
    #[arg(value_name = "CLIP")]
    input: PathBuf,
    /// The picture (.png), the film (.webp) or the folder to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The frame to show, from 0 [default: the middle one]
    #[arg(long, value_name = "N", conflicts_with_all = ["frames", "sheet"])]
    frame: Option<usize>,
    /// Only these frames, first and last counted from 0, as in 0-48
    #[arg(long, value_name = "A-B")]
    frames: Option<FrameRange>,
    /// A contact sheet of so many frames
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "12")]
    sheet: Option<usize>,
    /// Frames in a row of the contact sheet
    #[arg(long, value_name = "N", default_value_t = 4)]
    columns: usize,
    /// From where: three-quarter, front, back, side, top, or two angles in degrees: azimuth,elevation
    #[arg(long, value_name = "VIEW", default_value = "three-quarter", value_parser = view, allow_hyphen_values = true)]
    view: View,
    /// Pixels of each picture
    #[arg(long, value_name = "WxH", default_value = "640x480", value_parser = dimensions)]
    size: [u32; 2],
    /// Show another animation to the right, from the same camera
    #[arg(long, value_name = "CLIP")]
    beside: Option<PathBuf>,
    /// Lay another animation over it, in one picture, in plain colours
    #[arg(long, value_name = "CLIP", conflicts_with_all = ["beside", "select"])]
    over: Option<PathBuf>,
    /// Colour the surface by a number
    #[arg(long, value_name = "WHAT")]
    color: Option<Color>,
    /// Of a shot file: colour the mesh that a layer gets by one of its selectors, blue for 0 to red for 1, as in `layer.cloth.follow`; before any bake
    #[arg(long, value_name = "PATH", conflicts_with = "color")]
    select: Option<String>,
    /// Of a shot file: the scene that goes into its layers, every file in its place; before any bake
    #[arg(long = "input", conflicts_with = "select")]
    scene: bool,
    /// The scene as garments are put on in it, before its first frame: at rest, or in the `frame` in which one was added; of a shot file before any bake
    #[arg(long, conflicts_with_all = ["frame", "frames", "sheet", "select", "color"])]
    rest: bool,
    /// The group whose weights are shown by --color weight
    #[arg(long, value_name = "GROUP", required_if_eq("color", "weight"))]
    group: Option<String>,
    /// The animation that --color distance measures from [default: the one beside]
    #[arg(long, value_name = "CLIP")]
    against: Option<PathBuf>,
    /// The numbers at the ends of the colour scale, in the legend's unit [default: what occurs]
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    range: Option<[f32; 2]>,
    /// Draw the edges of the faces
    #[arg(long)]
    wireframe: bool,
    /// Show facets instead of a smooth surface
    #[arg(long)]
    flat: bool,
    /// Draw the skeleton
    #[arg(long)]
    bones: bool,
    /// Draw the ground's force on each foot of a figure (0.8 m for a body weight), and its centres of mass and pressure
    #[arg(long)]
    forces: bool,
    /// Clay instead of the file's materials
    #[arg(long)]
    clay: bool,
    /// Draw films, sheets and folders by rays, as single pictures always are: softer light, some five times slower
    #[arg(long)]
    beauty: bool,
    /// Keep every pixel of a film exactly, in about five times the space
    #[arg(long)]
    exact: bool,
    /// Of a shot file: set a value over the file's, as in `output.film.width=960`; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    reading: Reading,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What colours can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// How much edges are longer (or shorter) than at rest, in per cent
    Strain,
    /// The weights of a vertex group
    Weight,
    /// How far points are from another animation, in millimetres
    Distance,
    /// Of a shot file: which parts of the mesh follow the animation as one (the test functions of `tracks`), before any bake
    Tests,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let is_shot = source::is_shot(&self.input);
        let is_scene = self.scene || self.rest;
        if is_shot && self.color != Some(Color::Tests) && self.select.is_none() && !is_scene {
            return self.tell(&self.of_shot(console)?, console);
        }
        let Parts { clip, values: tests } = match is_shot {
            true if is_scene => {
                Parts { clip: self.reader().read(&self.input)?.open_input()?, values: Vec::new() }
            }
            true => self.parts_of_shot()?,
            false if self.select.is_some() => {
                return Err(CliError::usage("selectors are those of a shot").with_help("name a shot file"));
            }
            false => Parts { clip: self.reading.open(&self.input)?, values: Vec::new() },
        };
        let clip = if self.rest { resting(&clip) } else { clip };
        // arrows come of accelerations, which need all frames
        let bare = clip.meshes.is_empty();
        let clip = if self.forces { layers::Physics::of(&clip)?.with_forces(&clip) } else { clip };
        let clip = source::cropped(clip, self.frames)?;
        let open = |path: &PathBuf| source::cropped(self.reading.trust().open(path)?, self.frames);
        let clip = match &self.over {
            Some(_) if self.color == Some(Color::Distance) => {
                let help = "leave --over out, or name the other with --against and show it with --beside";
                return Err(CliError::usage("distances are not shown on what lies over").with_help(help));
            }
            Some(path) => laid_over(&clip, &open(path)?),
            None => clip,
        };
        let beside = self.beside.as_ref().map(open).transpose()?;
        let against = self.against.as_ref().map(open).transpose()?;
        let last = clip.frame_count().saturating_sub(1);
        if let Some(frame) = self.frame.filter(|&frame| frame > last) {
            let words = format!("frame {frame} was asked for, but the clip has frames 0-{last}");
            return Err(CliError::usage(words));
        }
        let clips: Vec<(&str, &Clip)> = match &beside {
            Some(other) => vec![(caption(&self.input), &clip), (caption_of(&self.beside), other)],
            None => vec![("", &clip)],
        };
        let look = Look {
            wireframe: self.wireframe,
            bones: self.bones || bare,
            materials: !self.clay,
            shading: if self.flat { Shading::Flat } else { Shading::Smooth },
            drawing: if self.by_rays() { Drawing::Beauty } else { Drawing::Raster },
            ..Look::default()
        };
        let shown = Shown {
            stage: Stage::new(&clips, self.view, look, self.size)?,
            colors: Colors::new(self, &clip, against.as_ref().or(beside.as_ref()), tests)?,
        };
        interrupt::flag();
        let files = self.write(&shown, last, console)?;
        self.tell(&files, console)
    }

    fn tell(&self, files: &[PathBuf], console: &Console) -> Result<(), CliError> {
        let bytes: u64 = files.iter().filter_map(|path| path.metadata().ok()).map(|file| file.len()).sum();
        if self.json {
            return console.answer_json(&json!({ "ok": true, "files": files, "bytes": bytes }));
        }
        match (console.is_quiet(), files) {
            (true, _) | (_, []) => Ok(()),
            (_, [file]) => console.answer(format!("wrote {} ({})", file.display(), size(bytes))),
            (_, [first, .., end]) => console.answer(format!(
                "wrote {} pictures, {} to {} ({})",
                files.len(),
                first.display(),
                end.display(),
                size(bytes)
            )),
        }
    }

    /// Whether rays draw: a single picture is worth the second that they take.
    fn by_rays(&self) -> bool {
        let is_numbered = self.output.to_string_lossy().contains(['#', '%']);
        let is_png = self.output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
        self.beauty || (is_png && !is_numbered && self.sheet.is_none())
    }

    /// Reads shots with the values given with `--set`.
    fn reader(&self) -> Reader {
        let beauty = self.by_rays().then_some("output.film.beauty=true");
        self.reading.trust().reader(beauty.into_iter().chain(self.set.iter().map(String::as_str)))
    }

    /// The animation on the mesh that a shot would simulate, and what tells its test functions apart, or a selector's weights.
    fn parts_of_shot(&self) -> Result<Parts, CliError> {
        if let Some(path) = &self.select {
            return Ok(self.reader().read(&self.input)?.select(path)?);
        }
        self.reader().read(&self.input)?.parts()?.ok_or_else(|| {
            CliError::usage("the shot has no layer with test functions").with_help("`tracks` has them")
        })
    }

    /// Pictures of what was baked of a shot.
    fn of_shot(&self, console: &Console) -> Result<Vec<PathBuf>, CliError> {
        let shot = self.reader().read(&self.input)?;
        let out = self.reading.baked().map(Path::to_owned);
        let options = BakeOptions { out, frames: self.frames, ..BakeOptions::default() };
        let mut bake = shot.baked_so_far(&options)?;
        if let Some(path) = &self.over {
            let other = source::cropped(self.reading.trust().open(path)?, self.frames)?;
            bake.scene = laid_over(&bake.scene, &other);
        }
        if let Some(words) = source::unbaked(&bake) {
            console.remark(&format!("warning: {}: {words}", self.input.display()));
        }
        let renderer = FilmRenderer::new(&shot, &bake)?;
        let last = renderer.frame_count().saturating_sub(1);
        let out = &self.output;
        let ending = out.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if self.frame.is_some_and(|frame| frame > last) {
            return Err(CliError::usage(format!("the bake has frames 0-{last}")));
        }
        let numbered = out.to_string_lossy().contains(['#', '%']);
        match (ending.as_deref(), self.sheet) {
            (Some("png"), Some(count)) => save(out, &renderer.sheet(count, self.columns)?.png()?)?,
            (Some("png"), None) if !numbered => {
                save(out, &renderer.srgb(self.frame.unwrap_or(last / 2))?.png()?)?;
            }
            (Some("webp" | "png" | "exr"), None) | (None, None) => {
                let path = if ending.is_none() { out.join("####.png") } else { out.clone() };
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).map_err(|error| CliError::output(folder, &error))?;
                }
                let listener = console.progress();
                let context = Context { progress: &*listener, cancel: interrupt::flag() };
                let written = renderer.write(&path, shot.output.start_frame, &context);
                listener.finish();
                return Ok(written?);
            }
            _ => {
                return Err(CliError::usage(
                    "a shot is shown as .png, .webp, name.####.png, name.####.exr or a folder",
                ));
            }
        }
        Ok(vec![out.clone()])
    }

    fn write(&self, shown: &Shown<'_>, last: usize, console: &Console) -> Result<Vec<PathBuf>, CliError> {
        let out = &self.output;
        let ending = out.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let middle = self.frame.unwrap_or(last / 2);
        let frames = match self.frame {
            Some(frame) => frame..frame + 1,
            None => 0..shown.stage.frame_count(),
        };
        let listener = console.progress();
        let title = format!("render {}", caption(out));
        let step = |done: usize| {
            listener.part(&title, done, frames.len());
            match interrupt::pressed() {
                true => Err(CliError::stopped(format!("stopped; {} was not finished", out.display()))),
                false => Ok(()),
            }
        };
        let result = match (ending.as_deref(), self.sheet) {
            (Some("png"), Some(count)) => {
                let picture = shown.sheet(count, self.columns)?;
                save(out, &picture.png()?).map(|()| vec![out.clone()])
            }
            (Some("png"), None) => save(out, &shown.picture(middle)?.png()?).map(|()| vec![out.clone()]),
            (_, Some(_)) => Err(CliError::usage("a contact sheet is one picture; name it .png")),
            (Some("webp"), None) => {
                let rate = shown.stage.frame_rate_hz();
                let mut film = if self.exact { Film::exact(rate)? } else { Film::new(rate)? };
                let draw = |frame| shown.picture(frame);
                film.record(frames.clone(), shown.stage.at_once(), draw, |done| step(done).map(|()| true))?;
                save(out, &film.finish()?).map(|()| vec![out.clone()])
            }
            (None, None) => {
                std::fs::create_dir_all(out).map_err(|error| CliError::output(out, &error))?;
                let mut files = Vec::new();
                for (done, frame) in frames.clone().enumerate() {
                    files.push(shown.picture(frame)?.save_numbered(out, frame)?);
                    step(done + 1)?;
                }
                Ok(files)
            }
            (Some(ending), None) => Err(CliError::usage(format!("pictures are not written as .{ending}"))
                .with_help("write .png for a picture, .webp for a film, or a folder's name")),
        };
        listener.clear();
        result
    }
}

/// A scene as garments are put on in it, for one frame.
fn resting(clip: &Clip) -> Clip {
    clip.with_frames(Arc::new(MemoryFrames::new(vec![clip.dressed_frame()])))
}

/// A clip with another one in the same place, at its times, without materials of its own: it is told apart by its colour.
fn laid_over(clip: &Clip, other: &Clip) -> Clip {
    let mut other = other.resampled(clip.frame_rate_hz);
    for mesh in &mut other.meshes {
        mesh.parts.iter_mut().for_each(|part| part.material = None);
        mesh.groups.clear();
    }
    clip.with_added(&other, &Placement::default())
}

/// A stage, and numbers on its first clip.
struct Shown<'a> {
    stage: Stage<'a>,
    colors: Option<Colors<'a>>,
}

impl Shown<'_> {
    fn picture(&self, frame: usize) -> Result<Picture, CliError> {
        let scalars = |index: usize, shown: &Frame| match (&self.colors, index) {
            (Some(colors), 0) => colors.at(frame, shown).map(Some),
            _ => Ok(None),
        };
        Ok(self.stage.picture_with(frame, scalars)?)
    }

    fn sheet(&self, count: usize, columns: usize) -> Result<Picture, CliError> {
        if self.colors.is_none() {
            return Ok(self.stage.contact_sheet(count, columns)?);
        }
        let frames = self.stage.frame_count();
        let count = count.min(frames);
        let spread = |i: usize| if count < 2 { 0 } else { i * (frames - 1) / (count - 1) };
        let cell = |i: usize| Ok(self.picture(spread(i))?.labelled(&spread(i).to_string()));
        let cells = (0..count).map(cell).collect::<Result<Vec<_>, CliError>>()?;
        Ok(Picture::contact_sheet(&cells, columns)?)
    }
}

/// Numbers for the points of a clip, on one scale for all its frames.
struct Colors<'a> {
    clip: &'a Clip,
    measure: Measure<'a>,
    range: [f32; 2],
}

enum Measure<'a> {
    Strain(StrainMeter),
    Weight(&'a str),
    Distance(&'a Clip),
    Tests(Vec<Vec<f32>>),
    Selector(&'a str, Vec<Vec<f32>>),
}

impl<'a> Colors<'a> {
    fn new(
        arguments: &'a Arguments,
        clip: &'a Clip,
        other: Option<&'a Clip>,
        tests: Vec<Vec<f32>>,
    ) -> Result<Option<Self>, CliError> {
        if let Some(path) = &arguments.select {
            let range = arguments.range.unwrap_or([0.0, 1.0]);
            return Ok(Some(Self { clip, measure: Measure::Selector(path, tests), range }));
        }
        let Some(color) = arguments.color else { return Ok(None) };
        let measure = match (color, &arguments.group, other) {
            (Color::Strain, ..) => Measure::Strain(StrainMeter::new(clip)),
            (Color::Weight, Some(group), _) if clip.meshes.iter().any(|mesh| mesh.group(group).is_some()) => {
                Measure::Weight(group)
            }
            (Color::Weight, group, _) => {
                let group = group.as_deref().unwrap_or_default();
                let known = clip.meshes.iter().flat_map(|mesh| &mesh.groups).map(|group| group.name.as_str());
                let words = format!("there is no vertex group `{group}`");
                return Err(CliError::usage(words).with_help(shot::suggest(group, known)));
            }
            (Color::Tests, ..) if tests.is_empty() => {
                return Err(CliError::usage("test functions are those of a shot")
                    .with_help("name a shot file with a `tracks` layer"));
            }
            (Color::Tests, ..) => Measure::Tests(tests),
            (Color::Distance, _, Some(other)) => Measure::Distance(other),
            (Color::Distance, _, None) => {
                return Err(CliError::usage("distance from what?")
                    .with_help("name the other animation with --against or --beside"));
            }
        };
        let mut colors = Self { clip, measure, range: arguments.range.unwrap_or([0.0, 1.0]) };
        if arguments.range.is_none() {
            colors.range = colors.occurring()?;
        }
        Ok(Some(colors))
    }

    /// The numbers of a frame.
    fn at(&self, index: usize, frame: &Frame) -> render::Result<Scalars> {
        let scaled = |values: Vec<Vec<f32>>, by: f32| -> Vec<Vec<f32>> {
            values.into_iter().map(|mesh| mesh.into_iter().map(|value| by * value).collect()).collect()
        };
        let [low, high] = self.range;
        Ok(match &self.measure {
            Measure::Strain(meter) => Scalars::new("strain", "%", scaled(meter.at_points(frame), 100.0))
                .with_map(ColorMap::Diverging),
            Measure::Weight(group) => {
                let of_mesh =
                    |mesh: &clip::Mesh| mesh.group(group).map(|g| g.weights.clone()).unwrap_or_default();
                Scalars::new(*group, "", self.clip.meshes.iter().map(of_mesh).collect())
            }
            Measure::Distance(other) => {
                let last = other.frame_count().saturating_sub(1);
                let there = other.frame(index.min(last))?;
                let distances = clip::point_distances(self.clip, frame, other, &there, index)?;
                Scalars::new("distance", "mm", scaled(distances, 1000.0))
            }
            Measure::Tests(values) => {
                Scalars::new("test functions", "", values.clone()).with_map(ColorMap::Wheel)
            }
            Measure::Selector(path, values) => {
                Scalars::new(*path, "", values.clone()).with_map(ColorMap::Diverging)
            }
        }
        .with_range(low, high))
    }

    /// The range of what occurs, so that colours mean the same in every frame.
    fn occurring(&self) -> Result<[f32; 2], CliError> {
        let mut most = 0.0_f32;
        let count = match self.measure {
            Measure::Weight(_) | Measure::Tests(_) | Measure::Selector(..) => 1,
            _ => self.clip.frame_count(),
        };
        for index in 0..count {
            let frame = self.clip.checked_frame(index)?;
            let values = self.at(index, &frame)?.values;
            most =
                values.iter().flatten().filter(|value| value.is_finite()).fold(most, |m, v| m.max(v.abs()));
        }
        Ok(match self.measure {
            Measure::Strain(_) => [-most, most],
            Measure::Weight(_) => [0.0, most.max(1.0)],
            Measure::Tests(_) | Measure::Selector(..) => [0.0, 1.0],
            Measure::Distance(_) => [0.0, most],
        })
    }
}

/// Writes a file whole or not at all.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    clip::write_whole(path, bytes).map(drop).map_err(|error| CliError::while_writing(&error))
}

fn caption(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("clip")
}

fn caption_of(path: &Option<PathBuf>) -> &str {
    path.as_deref().map_or("", caption)
}

fn view(text: &str) -> Result<View, String> {
    Ok(match text {
        "three-quarter" => View::ThreeQuarter,
        "front" => View::Front,
        "back" => View::Back,
        "side" => View::Side,
        "top" => View::Top,
        other => {
            let angles = other.split_once(',').and_then(|(azimuth, elevation)| {
                Some((azimuth.trim().parse::<f64>().ok()?, elevation.trim().parse::<f64>().ok()?))
            });
            let (azimuth, elevation) = angles
                .filter(|(azimuth, elevation)| azimuth.is_finite() && elevation.is_finite())
                .ok_or("write three-quarter, front, back, side, top, or two angles as in 30,15")?;
            View::Orbit { azimuth: azimuth.to_radians(), elevation: elevation.to_radians() }
        }
    })
}

fn dimensions(text: &str) -> Result<[u32; 2], String> {
    let side = |text: &str| text.trim().parse::<u32>().ok().filter(|side| (1..=8192).contains(side));
    text.split_once(['x', '×'])
        .and_then(|(width, height)| Some([side(width)?, side(height)?]))
        .ok_or_else(|| "write width and height in pixels as in 640x480, each at most 8192".to_owned())
}

fn range(text: &str) -> Result<[f32; 2], String> {
    let number = |text: &str| text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    text.split_once(',')
        .and_then(|(low, high)| Some([number(low)?, number(high)?]))
        .filter(|[low, high]| low < high)
        .ok_or_else(|| "write two numbers, the smaller first, as in 0,5".to_owned())
}
