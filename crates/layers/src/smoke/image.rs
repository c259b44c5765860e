//! Images: what steers smoke. A drawing from a file, a sequence of them, or something drawn here, as a field on the grid.
//!
//! Grey levels are taken as they are written, 0 black and 1 white, and mapped to values by `black` and `white`. What is transparent is
//! black. Whatever the image's size, it covers the whole box.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{FilePath, Files, Numbered};
use fluid::{Domain, Field, make_periodic, resample, smooth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draw::{self, Bar, Disc, Noise, PathKey, Stroke, Text};
use super::explain;
use super::silhouette::{Silhouette, Silhouettes};
use crate::shared::idle::Idle;
use shot::{Diagnostic, LayerError};

/// An image: exactly one of `file`, `text`, `disc`, `bar`, `stroke`, `noise` and `silhouette`, and what is done with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Image {
    /// A picture (.png, .exr, .jpg, .webp), relative to the shot file, of any size. A pattern such as `mask.####.png` names a numbered
    /// sequence, one file per frame.
    pub file: Option<FilePath>,
    /// A line of letters.
    pub text: Option<Text>,
    /// A disc; in a volume, a ball.
    pub disc: Option<Disc>,
    /// A rectangle; in a volume, a box.
    pub bar: Option<Bar>,
    /// A line drawn by hand, point by point.
    pub stroke: Option<Stroke>,
    /// A cloudy pattern.
    pub noise: Option<Noise>,
    /// The silhouette of the scene's meshes, frame by frame.
    pub silhouette: Option<Silhouette>,
    /// The value of black. It may be larger than that of white.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-1000.0, 1000.0]))]
    pub black: f64,
    /// The value of white.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-1000.0, 1000.0]))]
    pub white: f64,
    /// Which part of a picture's colour counts.
    pub channel: Channel,
    /// Blurs by so many metres (the standard deviation).
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub smooth: f64,
    /// Over which fraction of the box the ends are bent towards each other along periodic sides, so that a picture has no seam there.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub seam: f64,
    /// How much of a cloudy pattern is taken away from it, 0 to 1: an uneven edge gives smoke something to grow from.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub grain: f64,
    /// How large the clouds of `grain` are, in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub grain_size: f64,
    /// Another seed, other clouds.
    #[schemars(extend("minimum" = 0, "maximum" = 9_223_372_036_854_775_807_u64))]
    pub grain_seed: u64,
    /// How a disc, bar or stroke moves: where its zero lies and how it is turned, at times.
    pub path: Vec<PathKey>,
    /// The number of the sequence's file for the film's first frame. Default: the first there is.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000_000))]
    pub first: Option<u64>,
    /// What comes after the last file of a sequence.
    pub repeat: Repeat,
}

/// Which part of a colour is the grey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// How bright it is; what is transparent is black.
    #[default]
    Brightness,
    /// Red.
    Red,
    /// Green.
    Green,
    /// Blue.
    Blue,
    /// How opaque it is.
    Alpha,
}

/// What comes after the last file of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Repeat {
    /// The last file stays.
    #[default]
    Hold,
    /// It begins again.
    Loop,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            file: None,
            text: None,
            disc: None,
            bar: None,
            stroke: None,
            noise: None,
            silhouette: None,
            black: 0.0,
            white: 1.0,
            channel: Channel::default(),
            smooth: 0.0,
            seam: 0.0,
            grain: 0.0,
            grain_size: 0.05,
            grain_seed: 1,
            path: Vec::new(),
            first: None,
            repeat: Repeat::default(),
        }
    }
}

impl Image {
    /// What the shot file says wrong about it; `path` is where it stands in the layer.
    pub(super) fn check(&self, path: &str, files: &Files, meshes: &[clip::Mesh]) -> Vec<Diagnostic> {
        let diagnostic = |key: &str, message: String| Diagnostic::new(format!("{path}{key}"), message);
        let given = [
            self.file.is_some(),
            self.text.is_some(),
            self.disc.is_some(),
            self.bar.is_some(),
            self.stroke.is_some(),
            self.noise.is_some(),
            self.silhouette.is_some(),
        ];
        let mut diagnostics = Vec::new();
        if given.iter().filter(|given| **given).count() != 1 {
            let message =
                "an image is one of `file`, `text`, `disc`, `bar`, `stroke`, `noise` and `silhouette`";
            diagnostics.push(diagnostic("", message.into()));
        }
        if !self.path.is_empty() && self.disc.is_none() && self.bar.is_none() && self.stroke.is_none() {
            diagnostics.push(diagnostic(".path", "only a disc, a bar or a stroke can follow a path".into()));
        }
        if self.path.windows(2).any(|pair| pair[1].time <= pair[0].time) {
            diagnostics.push(diagnostic(".path", "the keys of the path are not in the order of time".into()));
        }
        if let Some(file) = &self.file
            && let Err(problem) = self.pictures(&files.path(file), files)
        {
            diagnostics.push(diagnostic(".file", problem));
        }
        if let Some(silhouette) = &self.silhouette {
            diagnostics.extend(silhouette.check(&format!("{path}.silhouette"), meshes));
        }
        diagnostics
    }

    /// Settings of it that were turned and have no effect; `path` is where it stands in the layer, `wraps` whether the box has periodic
    /// sides along which it varies.
    pub(super) fn say_idle(&self, path: &str, wraps: bool, idle: &mut Idle) {
        let (plain, path) = (Self::default(), format!("{path}."));
        if self.grain == 0.0 {
            let grain = [
                ("grain_size", self.grain_size != plain.grain_size),
                ("grain_seed", self.grain_seed != plain.grain_seed),
            ];
            idle.say(&path, &grain, "`grain` is 0");
        }
        if !wraps {
            idle.say(
                &path,
                &[("seam", self.seam != plain.seam)],
                "along no periodic side of the box does it vary",
            );
        } else if self.noise.is_some() {
            idle.say(&path, &[("seam", self.seam != plain.seam)], "clouds have no seam");
        }
        let is_sequence = self.file.as_ref().is_some_and(|file| Numbered::parse(file).is_some());
        if !is_sequence {
            let sequence = [("first", self.first.is_some()), ("repeat", self.repeat != plain.repeat)];
            idle.say(&path, &sequence, "only numbered sequences of files have one");
        }
        if self.file.is_none() {
            idle.say(&path, &[("channel", self.channel != plain.channel)], "only pictures have colours");
        }
    }

    /// The files of a picture or of a sequence, in order.
    fn pictures(&self, path: &Path, files: &Files) -> Result<Vec<PathBuf>, String> {
        if let Some(pattern) = Numbered::parse(path) {
            let numbers = pattern.gapless_among(files).map_err(|error| error.to_string())?;
            let from = self.first.unwrap_or(numbers[0]);
            if !numbers.contains(&from) {
                let missing = pattern.file(from);
                return Err(format!("{} is not there; `first` asks for it", missing.display()));
            }
            return Ok(numbers.into_iter().filter(|n| *n >= from).map(|n| pattern.file(n)).collect());
        }
        if files.is_file(path) {
            return Ok(vec![path.to_owned()]);
        }
        Err(format!("there is no file {}", path.display()))
    }
}

/// What images are drawn onto.
pub(super) struct Canvas {
    pub(super) domain: Domain,
    pub(super) files: Files,
    pub(super) frame_rate_hz: f64,
    pub(super) silhouettes: Option<Arc<Silhouettes>>,
}

/// An image ready to be asked for: on the grid, at any time.
pub(super) struct Painting {
    image: Image,
    pictures: Vec<PathBuf>,
    /// What does not change is made once.
    still: Option<Field>,
}

impl Painting {
    pub(super) fn new(image: &Image, canvas: &Canvas) -> Result<Self, LayerError> {
        let pictures = match &image.file {
            Some(file) => image.pictures(&canvas.files.path(file), &canvas.files).map_err(LayerError::new)?,
            None => Vec::new(),
        };
        let mut painting = Self { image: image.clone(), pictures, still: None };
        if !painting.moves() {
            painting.still = Some(painting.draw(canvas, 0.0)?);
        }
        Ok(painting)
    }

    /// Whether it changes over time.
    pub(super) fn moves(&self) -> bool {
        self.pictures.len() > 1 || self.image.path.len() > 1 || self.image.silhouette.is_some()
    }

    /// Whether its own motion is known at every instant, and not only from frame to frame.
    pub(super) fn follows_a_path(&self) -> bool {
        !self.image.path.is_empty()
    }

    /// Grey levels on the grid at a time, 0 black and 1 white.
    pub(super) fn grey(&self, canvas: &Canvas, seconds: f64) -> Result<Field, LayerError> {
        match &self.still {
            Some(still) => Ok(still.clone()),
            None => self.draw(canvas, seconds),
        }
    }

    /// Values on the grid at a time.
    pub(super) fn values(&self, canvas: &Canvas, seconds: f64) -> Result<Field, LayerError> {
        Ok(self.levels(self.grey(canvas, seconds)?))
    }

    /// Grey levels to values.
    pub(super) fn levels(&self, grey: Field) -> Field {
        grey.levels(self.image.black as f32, self.image.white as f32)
    }

    /// How the painted thing moves at a time, in m/s along x and y, as a rigid body; only of images with a path.
    pub(super) fn velocity(&self, canvas: &Canvas, seconds: f64) -> [Field; 2] {
        let motion = draw::motion(&self.image.path, seconds);
        [0, 1].map(|axis| canvas.domain.field(|p| motion.velocity([p[0], p[1]])[axis]))
    }

    fn draw(&self, canvas: &Canvas, seconds: f64) -> Result<Field, LayerError> {
        let image = &self.image;
        let domain = &canvas.domain;
        let motion = draw::motion(&image.path, seconds);
        let mut grey = if !self.pictures.is_empty() {
            self.picture(canvas, seconds)?
        } else if let Some(text) = &image.text {
            resample(&text.draw(domain)?, domain).map_err(explain)?
        } else if let Some(disc) = &image.disc {
            draw::shape(domain, &motion, |p| disc.distance(p))
        } else if let Some(bar) = &image.bar {
            draw::shape(domain, &motion, |p| bar.distance(p))
        } else if let Some(stroke) = &image.stroke {
            let line = stroke.line();
            draw::shape(domain, &motion, |p| stroke.distance(&line, [p[0], p[1]]))
        } else if let Some(noise) = &image.noise {
            noise.field(domain)
        } else {
            let masks = canvas.silhouettes.as_ref().zip(image.silhouette.as_ref());
            let Some((masks, silhouette)) = masks else {
                return Err(LayerError::new("there is no mesh whose silhouette could be taken"));
            };
            let frame = (seconds * canvas.frame_rate_hz).round().max(0.0) as usize;
            resample(&masks.mask(frame, silhouette)?, domain).map_err(explain)?
        };
        if image.smooth > 0.0 {
            grey = smooth(&grey, domain, image.smooth / domain.axes[0].spacing());
        }
        if image.grain > 0.0 {
            let clouds = Noise { size: image.grain_size, seed: image.grain_seed, octaves: 3 }.field(domain);
            let grain = image.grain as f32;
            grey.values.iter_mut().zip(&clouds.values).for_each(|(grey, cloud)| *grey *= 1.0 - grain * cloud);
        }
        Ok(grey)
    }

    /// The picture of a frame on the grid.
    fn picture(&self, canvas: &Canvas, seconds: f64) -> Result<Field, LayerError> {
        let frame = (seconds * canvas.frame_rate_hz).round().max(0.0) as usize;
        let count = self.pictures.len();
        let at = match self.image.repeat {
            Repeat::Hold => frame.min(count - 1),
            Repeat::Loop => frame % count,
        };
        let mut field = read(&canvas.files, &self.pictures[at], self.image.channel)?;
        if self.image.seam > 0.0 {
            field = make_periodic(&field, &canvas.domain, self.image.seam);
        }
        resample(&field, &canvas.domain).map_err(explain)
    }
}

/// A picture's grey levels, whatever its kind: 8 or 16 bits, palette, floating point.
fn read(files: &Files, path: &Path, channel: Channel) -> Result<Field, LayerError> {
    let failed = |problem: String| LayerError::new(format!("{}: {problem}", path.display()));
    let bytes = files.read(path)?;
    let reader = image::ImageReader::new(Cursor::new(bytes));
    let reader = reader.with_guessed_format().map_err(|error| failed(error.to_string()))?;
    let decoded = reader.decode().map_err(|error| failed(error.to_string()))?.into_rgba32f();
    let (width, height) = decoded.dimensions();
    let grey = |p: &[f32]| match channel {
        Channel::Brightness => (0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2]) * p[3],
        Channel::Red => p[0],
        Channel::Green => p[1],
        Channel::Blue => p[2],
        Channel::Alpha => p[3],
    };
    let pixels: Vec<f32> = decoded.as_raw().chunks_exact(4).map(grey).collect();
    if let Some(at) = pixels.iter().position(|value| !value.is_finite()) {
        let (x, y) = (at as u32 % width, at as u32 / width);
        return Err(failed(format!("the pixel at {x}, {y} is not a finite number")));
    }
    Field::from_image(width as usize, height as usize, &pixels).map_err(explain)
}
