//! One pass of a film: what is shown and how.

use std::io::Cursor;
use std::path::Path;

use clip::{FilePath, Files};
use fluid::{ColorMap, Picture, Ramp, Ring, VolumeLook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shot::{Diagnostic, Dial, suggest};

use crate::Error;
use crate::colors::{self, Colors};
use crate::renderer::fluid;

/// A layer of the picture: exactly one of `field`, `image` and `clip`. Later passes lie over earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pass {
    /// The field that is shown: `temperature`, a scalar's name, `obstacle`, `velocity_y`; with several smoke layers `name/field`.
    pub field: Option<String>,
    /// An image that the flow carries along; needs `textures = true` in the smoke layer.
    pub image: Option<Artwork>,
    /// Whether the scene's meshes are shown, as they stand behind the smoke layer's window.
    pub clip: bool,
    /// The field's value at which nothing is seen; a number or keys `[seconds, value]`. It may be larger than `solid`.
    #[schemars(extend("minimum" = -1e9, "maximum" = 1e9))]
    pub clear: Dial,
    /// The field's value at which the ramp ends; a number or keys `[seconds, value]`.
    #[schemars(extend("minimum" = -1e9, "maximum" = 1e9))]
    pub solid: Dial,
    /// What the ramp looks like: a palette or a list of colours.
    pub colors: Option<Colors>,
    /// One colour instead, from clear to solid: `"#rrggbb"`.
    pub color: Option<String>,
    /// How much of the pass is seen, 0 to 1; a number or keys `[seconds, value]`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub opacity: Dial,
    /// Bends the box into a ring, its periodic ends joined.
    pub ring: Option<RingLook>,
    /// Draws the picture out along the flow.
    pub smear: Option<SmearLook>,
    /// Whether an image is carried by the flow at all.
    pub warp: bool,
    /// The time in seconds at which the image was painted: it is undistorted then. Default: when the texture coordinates started.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub painted: Option<f64>,
    /// From where a volume is seen.
    pub volume: VolumeView,
}

impl Default for Pass {
    fn default() -> Self {
        Self {
            field: None,
            image: None,
            clip: false,
            clear: 0.0.into(),
            solid: 1.0.into(),
            colors: None,
            color: None,
            opacity: 1.0.into(),
            ring: None,
            smear: None,
            warp: true,
            painted: None,
            volume: VolumeView::default(),
        }
    }
}

/// An image for the flow to carry: a file or a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Artwork {
    /// A picture (.png, .exr, .jpg, .webp), relative to the shot file.
    File(FilePath),
    /// A checkerboard of so many squares across.
    Checks(#[schemars(extend("minimum" = 1, "maximum" = 4096, "x-usual" = [1, 256]))] u32),
    /// Level stripes, so many over the height.
    Stripes(#[schemars(extend("minimum" = 1, "maximum" = 4096, "x-usual" = [1, 256]))] u32),
    /// Letters on paper.
    Words(String),
    /// An evening by the sea: sun, hills, water.
    Sunset(bool),
}

/// Where the ring lies. Radii are fractions of the picture's height.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RingLook {
    /// Its middle, 0 to 1 from left to right and from the bottom up.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-1.0, 2.0]))]
    pub centre: [f64; 2],
    /// Radius of the box's bottom.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub bottom: Dial,
    /// Radius of its top; smaller than the bottom's turns the ring inside out.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub top: Dial,
    /// Where the box's left end lies, in turns anticlockwise from the right.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub turn: Dial,
    /// Height over width of the ring: below 1 it is seen at a slant, as a bowl on a table.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    pub squash: f64,
}

impl Default for RingLook {
    fn default() -> Self {
        let ring = Ring::default();
        Self {
            centre: ring.center,
            bottom: ring.bottom.into(),
            top: ring.top.into(),
            turn: ring.turn.into(),
            squash: 1.0,
        }
    }
}

impl RingLook {
    pub(crate) fn at(&self, seconds: f64) -> Ring {
        Ring {
            center: self.centre,
            bottom: self.bottom.at(seconds),
            top: self.top.at(seconds),
            turn: self.turn.at(seconds),
            squash: self.squash,
        }
    }
}

/// How far the picture is drawn out along the flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmearLook {
    /// Seconds of the way behind.
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 5.0]))]
    pub before: Dial,
    /// Seconds of the way ahead.
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 5.0]))]
    pub after: Dial,
}

impl Default for SmearLook {
    fn default() -> Self {
        Self { before: 0.1.into(), after: 0.0.into() }
    }
}

/// From where a volume is seen, and its light.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VolumeView {
    /// Degrees around the box, from its front to its right.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub turn: Dial,
    /// Degrees from above.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub tilt: Dial,
    /// How much a metre of solid smoke takes from the light: 1 leaves a third of it.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub thickness: Dial,
    /// Where the light comes from.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub light: [f64; 3],
}

impl Default for VolumeView {
    fn default() -> Self {
        let look = VolumeLook::default();
        Self {
            turn: look.turn.to_degrees().into(),
            tilt: look.tilt.to_degrees().into(),
            thickness: look.thickness.into(),
            light: look.light,
        }
    }
}

impl VolumeView {
    pub(crate) fn look(&self, ramp: Ramp, colors: ColorMap, seconds: f64) -> VolumeLook {
        VolumeLook {
            ramp,
            colors,
            turn: self.turn.at(seconds).to_radians(),
            tilt: self.tilt.at(seconds).to_radians(),
            thickness: self.thickness.at(seconds).max(0.0),
            light: self.light,
            ..VolumeLook::default()
        }
    }
}

impl Pass {
    pub(crate) fn color_map(&self) -> ColorMap {
        let ink = self.color.as_deref().and_then(colors::parse);
        match (&self.colors, ink) {
            (Some(colors), _) => colors.map(),
            (None, Some([r, g, b, alpha])) => {
                ColorMap { stops: vec![(0.0, [r, g, b, 0.0]), (1.0, [r, g, b, alpha])] }
            }
            (None, None) => ColorMap::magic(),
        }
    }

    /// Settings that what the pass shows does not have.
    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let plain = Self::default();
        let of_fields = [
            ("clear", self.clear != plain.clear),
            ("solid", self.solid != plain.solid),
            ("colors", self.colors.is_some()),
            ("color", self.color.is_some()),
            ("ring", self.ring.is_some()),
            ("volume", self.volume != plain.volume),
        ];
        let of_images = [("warp", self.warp != plain.warp), ("painted", self.painted.is_some())];
        let smear = [("smear", self.smear.is_some())];
        let (keys, why) = match (&self.field, &self.image, self.clip) {
            (Some(_), None, false) => (of_images.to_vec(), "only an image has it"),
            (None, Some(_), false) => (of_fields.to_vec(), "an image has its own colours and stays flat"),
            (None, None, true) => {
                ([&of_fields[..], &of_images, &smear].concat(), "the scene is shown as it is")
            }
            _ => (Vec::new(), ""),
        };
        let mut idle: Vec<_> = keys.into_iter().filter(|key| key.1).map(|key| (key.0, why)).collect();
        if self.image.is_some() && !self.warp && self.painted.is_some() {
            idle.push(("painted", "the image is not carried: `warp` is false"));
        }
        if self.color.is_some() && self.colors.is_some() && self.field.is_some() {
            idle.push(("colors", "`color` is used instead"));
        }
        idle
    }

    /// What is wrong with it, where it stands at `path`. `fields` are those that the layers make.
    pub(crate) fn check(&self, path: &str, fields: &[String], folder: &Path) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let mut say = |key: &str, message: String, help: Option<String>| {
            diagnostics.push(Diagnostic::new(format!("{path}{key}"), message).maybe_help(help));
        };
        let given = [self.field.is_some(), self.image.is_some(), self.clip];
        if given.iter().filter(|given| **given).count() != 1 {
            say("", "a pass shows one of `field`, `image` and `clip`".into(), None);
        }
        if let Some(name) = &self.field {
            let short = name.rsplit_once('/').map_or(name.as_str(), |(_, field)| field);
            if !fields.iter().any(|field| field == short) {
                let help = suggest(short, fields.iter().map(String::as_str));
                say(".field", format!("no layer makes a field `{name}`"), Some(help));
            }
        }
        if self.image.is_some() && self.warp && !fields.iter().any(|field| field == "texture0_x") {
            let help = "set `textures = true` in the smoke layer, or `warp = false` here";
            say(".image", "there is nothing to warp the image by".into(), Some(help.into()));
        }
        if let Some(Artwork::File(file)) = &self.image
            && !folder.join(file).is_file()
        {
            say(".image", format!("there is no file {}", folder.join(file).display()), None);
        }
        for (key, why) in self.idle() {
            say(&format!(".{key}"), format!("`{key}` has no effect: {why}"), Some("leave it out".into()));
        }
        if self.ring.is_some() && self.smear.is_some() {
            say(".smear", "a ring cannot be smeared: use one of the two".into(), None);
        }
        if let Some(color) = self.color.as_ref().filter(|color| colors::parse(color).is_none()) {
            say(".color", format!("`{color}` is not a colour"), Some("write \"#rrggbb\"".into()));
        }
        if let Some(problem) = self.colors.as_ref().and_then(Colors::problem) {
            say(".colors", problem, None);
        }
        for (key, dial) in [(".clear", &self.clear), (".solid", &self.solid), (".opacity", &self.opacity)] {
            if let Some(problem) = dial.problem() {
                say(key, problem.into(), None);
            }
        }
        diagnostics
    }
}

impl Artwork {
    /// The picture, drawn at a size or read.
    pub(crate) fn picture(&self, files: &Files, size: [usize; 2]) -> Result<Picture, Error> {
        let [width, height] = size;
        let (w, h) = (width as f64, height as f64);
        let paint = |color: &dyn Fn(f64, f64) -> [f32; 3]| {
            let pixels = (0..width * height).map(|i| {
                let (x, y) = (((i % width) as f64 + 0.5) / w, 1.0 - ((i / width) as f64 + 0.5) / h);
                let [r, g, b] = color(x, y);
                [r, g, b, 1.0]
            });
            fluid(Picture::new(width, height, pixels.collect()))
        };
        let shade = |text: &str| {
            let [r, g, b, _] = colors::parse(text).unwrap_or_default();
            [r, g, b]
        };
        let mix = |a: [f32; 3], b: [f32; 3], t: f64| {
            let t = t.clamp(0.0, 1.0) as f32;
            [0, 1, 2].map(|k| a[k] + t * (b[k] - a[k]))
        };
        // edges as soft as a pixel
        let edge = |distance: f64| 0.5 + distance * h;
        match self {
            Self::File(file) => read(files, &files.path(file)),
            Self::Checks(count) => {
                let n = f64::from((*count).max(1));
                let (dark, light) = (shade("#22304a"), shade("#f3e7cf"));
                paint(&|x, y| {
                    let even = (x * n).floor() + (y * n * h / w).floor();
                    if even.rem_euclid(2.0) == 0.0 { dark } else { light }
                })
            }
            Self::Stripes(count) => {
                let n = f64::from((*count).max(1));
                let (dark, light) = (shade("#5b2333"), shade("#f7f4f3"));
                paint(&|_, y| {
                    let wave = (std::f64::consts::PI * n * y).sin() / (std::f64::consts::PI * n);
                    mix(dark, light, edge(wave))
                })
            }
            Self::Words(words) => {
                let longest = words.chars().count().max(1) as f64;
                let tall = (1.35 * w / longest).min(0.5 * h);
                let centre = [0.5 * w as f32, 0.5 * h as f32];
                let ink = render::letters(
                    words,
                    size.map(|side| side as u32),
                    centre,
                    tall as f32,
                    0.17 * tall as f32,
                );
                let (dark, light) = (shade("#2b2d42"), shade("#f5ead6"));
                paint(&|x, y| {
                    let at = (x * w) as usize + width * ((1.0 - y) * h) as usize;
                    mix(light, dark, f64::from(ink[at.min(ink.len() - 1)]))
                })
            }
            Self::Sunset(_) => {
                let [horizon, zenith, glow, sun] = ["#ffb15c", "#3b2a63", "#ffd98a", "#fff4cf"].map(shade);
                let [far_hills, near_hills] = ["#8a4a6b", "#43264f"].map(shade);
                let [deep, shallow, glitter] = ["#1d2350", "#7a4a78", "#ffcf87"].map(shade);
                paint(&|x, y| {
                    let sky = mix(horizon, zenith, (y - 0.36) / 0.62);
                    let from_sun = ((x - 0.62) * w / h).hypot(y - 0.52);
                    let sky = mix(sky, glow, 0.7 * (-(from_sun / 0.2).powi(2)).exp());
                    let sky = mix(sky, sun, edge(0.11 - from_sun));
                    // hills that meet themselves where the picture is joined
                    let around = std::f64::consts::TAU * x;
                    let far = 0.44 + 0.05 * around.sin() + 0.025 * (3.0 * around + 1.0).sin();
                    let near = 0.37 + 0.045 * (around + 2.0).sin() + 0.02 * (2.0 * around).cos();
                    let land = mix(sky, far_hills, edge(far - y));
                    let land = mix(land, near_hills, edge(near - y));
                    let narrow = (-((x - 0.62) * w / h / 0.13).powi(2)).exp();
                    let glint = narrow * (0.55 + 0.45 * (150.0 * y).sin());
                    let water = mix(mix(deep, shallow, y / 0.3), glitter, 0.8 * glint);
                    mix(land, water, edge(0.3 - y))
                })
            }
        }
    }
}

/// A picture file as linear light.
fn read(files: &Files, path: &Path) -> Result<Picture, Error> {
    let malformed = |problem: String| {
        Error::Clip(clip::Error::Malformed { path: path.into(), place: "the picture".into(), problem })
    };
    let decoded = image::ImageReader::new(Cursor::new(files.read(path)?))
        .with_guessed_format()
        .map_err(shot::Error::io(path))?
        .decode()
        .map_err(|error| malformed(error.to_string()))?;
    // floating-point files hold linear light already
    let is_linear =
        matches!(decoded, image::DynamicImage::ImageRgb32F(_) | image::DynamicImage::ImageRgba32F(_));
    let decoded = decoded.into_rgba32f();
    let (width, height) = decoded.dimensions();
    let pixels = decoded.as_raw().chunks_exact(4).map(|p| {
        let light = |v: f32| if is_linear { v } else { colors::linear(v) };
        [light(p[0]) * p[3], light(p[1]) * p[3], light(p[2]) * p[3], p[3]]
    });
    fluid(Picture::new(width as usize, height as usize, pixels.collect()))
}
