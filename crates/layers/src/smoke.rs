//! `smoke`: air that is heated, stained, pushed and stirred, directed with images.
//!
//! The physics is the fluid crate's; this file reads the dials. Images become fields in `smoke/image.rs`, fields and time become frames in
//! `smoke/simulation.rs`. A frame's result is a set of grids; pictures are made of them later, as often as one likes.

mod draw;
mod image;
mod silhouette;
mod simulation;

use fluid::{Domain, Fluid, Initial, Quantity, SoundSpeed};
use render::Camera;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::draw::{Bar, Disc, Noise, PathKey, Stroke, Text};
pub use self::image::{Channel, Image, Repeat};
pub use self::silhouette::{Silhouette, Window};

use self::simulation::SmokeSimulation;
use crate::shared::idle::Idle;
use shot::{Diagnostic, Dial, Layer, LayerError, Settings, Simulation, Target, Viewpoint};

/// Smoke, ink, fog, blood: air in a box that is heated, stained, pushed and stirred as images say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Smoke {
    /// Points of the grid along x and y, or along x, y and z for a volume; at least 8 each.
    #[schemars(length(min = 2, max = 3), inner(range(min = 8, max = 8192)))]
    pub grid: Vec<usize>,
    /// The box in metres along the same axes: y is up. The larger it is, the slower smoke moves in it.
    #[schemars(length(min = 2, max = 3), extend("minimum" = 1e-3, "maximum" = 1e5, "x-usual" = [0.05, 1000.0]))]
    pub size: Vec<f64>,
    /// What happens at the ends of each axis. Default: periodic along x (and z), walls below and above.
    #[schemars(length(min = 2, max = 3))]
    pub sides: Option<Vec<Ends>>,
    /// Downward acceleration in m/s²; 0 is space, a negative number turns the box upside down.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: f64,
    /// Temperature of the air in kelvin. All other temperatures are differences from it.
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e5, "x-usual" = [150.0, 3000.0]))]
    pub air: f64,
    /// Seconds of smoke in a second of film: 0.5 is slow motion.
    #[schemars(extend("minimum" = 1e-4, "maximum" = 1000.0, "x-usual" = [0.05, 20.0]))]
    pub speed: f64,
    /// Seconds of smoke before the first frame, with everything held as it is there.
    #[schemars(extend("minimum" = 0.0, "maximum" = 600.0, "x-usual" = [0.0, 10.0]))]
    pub pre_roll: f64,
    /// The air's temperature over height, as differences in kelvin: the mean of each row of an image. Warm above cold is calm.
    pub profile: Option<Image>,
    /// Wind over height in m/s, to the right: the mean of each row of an image.
    pub wind: Option<Image>,
    /// What is warmer at the beginning, in kelvin; several images are added.
    pub temperature: Vec<Image>,
    /// What moves to the right at the beginning, in m/s.
    pub velocity_x: Vec<Image>,
    /// What moves up at the beginning, in m/s.
    pub velocity_y: Vec<Image>,
    /// What moves towards the viewer at the beginning, in m/s; only in a volume.
    pub velocity_z: Vec<Image>,
    /// What the air carries: ink, dust, fog. Each becomes a field of its own.
    pub scalar: Vec<Scalar>,
    /// What acts while it moves: heat, stains, pushes.
    pub source: Vec<SmokeSource>,
    /// Solid bodies: 1 is solid, a small `white` such as 0.05 lets air seep through. Where an image moves, it pushes the air.
    pub obstacle: Vec<Image>,
    /// Where the box stands in the scene, for silhouettes.
    pub window: Window,
    /// Sideways diffusion of momentum in m²/s: thick smoke. 0 is as thin as the grid allows.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e3, "x-usual" = [0.0, 1.0]))]
    pub viscosity: f64,
    /// How fast warmth spreads, in m²/s.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e3, "x-usual" = [0.0, 1.0]))]
    pub heat_diffusivity: f64,
    /// How fast what the air carries spreads, in m²/s.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e3, "x-usual" = [0.0, 1.0]))]
    pub scalar_diffusivity: f64,
    /// The speed of sound in m/s. Default: a few times the speed of the flow. Higher is stiffer and slower to compute.
    #[schemars(extend("minimum" = 1e-2, "maximum" = 1e4, "x-usual" = [0.5, 400.0]))]
    pub sound_speed: Option<f64>,
    /// How strongly ripples of the size of the grid are filtered away; 1 is what a fifth-order upwind scheme does.
    #[schemars(range(min = 0.0, max = 4.0))]
    pub filter: f64,
    /// Whether every point remembers where its air came from, so that pictures can be warped by the flow.
    pub textures: bool,
    /// How far that memory may be stretched before it starts anew, blended in softly; 1 is twice the length. Default: for ever.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1e6))]
    pub texture_stretch: Option<f64>,
    /// Over how many seconds a new memory is blended in.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-usual" = [0.0, 60.0]))]
    pub texture_blend: f64,
    /// Most steps that a frame may take before the bake stops with a word.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000, "x-usual" = [100, 100_000]))]
    pub max_steps: usize,
}

/// What happens at the ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// What leaves at one end enters at the other.
    Periodic,
    /// Solid, smooth walls.
    Wall,
}

/// Something that the air carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// What it is called: the field's name.
    pub name: String,
    /// How much of it there is at the beginning; several images are added.
    #[serde(default)]
    pub image: Vec<Image>,
}

/// Something that acts while the air moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmokeSource {
    /// What it changes: `temperature`, `velocity_x`, `velocity_y`, `velocity_z` or the name of a scalar.
    pub to: String,
    /// Without `rate`: the change per second. With it: the value that is aimed at, where the image is not black.
    pub image: Image,
    /// How eagerly the value is drawn to the image's, per second: 10 is nearly at once. Default: the image is added instead.
    #[serde(default)]
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6, "x-usual" = [1e-3, 1000.0]))]
    pub rate: Option<f64>,
    /// How strong it is over time; a number or keys `[seconds, value]`.
    #[serde(default = "one")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-1000.0, 1000.0]))]
    pub strength: Dial,
}

fn one() -> Dial {
    Dial::Fixed(1.0)
}

impl Default for Smoke {
    fn default() -> Self {
        Self {
            grid: vec![320, 240],
            size: vec![4.0, 3.0],
            sides: None,
            gravity: 9.81,
            air: 300.0,
            speed: 1.0,
            pre_roll: 0.0,
            profile: None,
            wind: None,
            temperature: Vec::new(),
            velocity_x: Vec::new(),
            velocity_y: Vec::new(),
            velocity_z: Vec::new(),
            scalar: Vec::new(),
            source: Vec::new(),
            obstacle: Vec::new(),
            window: Window::default(),
            viscosity: 0.0,
            heat_diffusivity: 0.0,
            scalar_diffusivity: 0.0,
            sound_speed: None,
            filter: 1.0,
            textures: false,
            texture_stretch: None,
            texture_blend: 0.5,
            max_steps: 20_000,
        }
    }
}

impl Settings for Smoke {
    const KIND: &'static str = "smoke";
    const SUMMARY: &'static str = "fills a box with smoke, ink or fog that images direct";
    const VERSION: u32 = 1;
}

/// Fields that every fluid has.
const FIELDS: [&str; 4] = ["temperature", "velocity_x", "velocity_y", "velocity_z"];

impl Layer for Smoke {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics: Vec<Diagnostic> = match self.domain() {
            Err(error) => vec![Diagnostic::new("grid", error.to_string())],
            Ok(domain) => self.too_viscous(&domain, input.clip.frame_rate_hz).into_iter().collect(),
        };
        let mut say = |path: &str, message: String| {
            diagnostics.push(Diagnostic::new(path, message));
        };
        if self.dimensions() < 3 && !self.velocity_z.is_empty() {
            say("velocity_z", "there is no third axis in a plane".into());
        }
        for (i, scalar) in self.scalar.iter().enumerate() {
            let name = scalar.name.as_str();
            let taken = self.scalar[..i].iter().any(|other| other.name == name);
            if taken || FIELDS.contains(&name) || name.starts_with("texture") || name == "obstacle" {
                say(&format!("scalar[{i}].name"), format!("the name `{name}` is taken"));
            } else if name.is_empty() || name.contains('/') {
                say(&format!("scalar[{i}].name"), "a name needs letters, and no `/`".into());
            }
        }
        for (i, source) in self.source.iter().enumerate() {
            if self.quantity(&source.to).is_none() {
                let known = FIELDS[..1 + self.dimensions()].iter().copied();
                let known = known.chain(self.scalar.iter().map(|scalar| scalar.name.as_str()));
                diagnostics.push(Diagnostic::unknown(format!("source[{i}].to"), "field", &source.to, known));
            }
            if let Some(problem) = source.strength.problem() {
                let (path, message) = (format!("source[{i}].strength"), problem);
                diagnostics.push(Diagnostic::new(path, message));
            }
        }
        for (path, image) in self.images() {
            diagnostics.extend(image.check(&path, &input.files, &input.clip.meshes));
        }
        diagnostics
    }

    fn idle(&self, _: &Target) -> Vec<Diagnostic> {
        let (plain, mut idle) = (Self::default(), Idle::default());
        let blends = ("texture_blend", self.texture_blend != plain.texture_blend);
        if !self.textures {
            idle.say(
                "",
                &[("texture_stretch", self.texture_stretch.is_some()), blends],
                "`textures` is false",
            );
        } else if self.texture_stretch.is_none() {
            idle.say("", &[blends], "without `texture_stretch` textures are never made anew");
        }
        if self.scalar.is_empty() {
            let turned = self.scalar_diffusivity != plain.scalar_diffusivity;
            idle.say("", &[("scalar_diffusivity", turned)], "there is no `scalar`");
        }
        let sides = |domain: Domain| {
            domain.axes[..self.dimensions()].iter().any(|axis| axis.side == fluid::Side::Periodic)
        };
        let wraps = self.domain().is_ok_and(sides);
        for (path, image) in self.images() {
            // of these only the values at each height count, and above and below are walls unless said otherwise
            let by_height = ["profile", "wind"].contains(&path.as_str());
            image.say_idle(&path, wraps && !by_height, &mut idle);
        }
        idle.0
    }

    fn needs_mesh(&self) -> bool {
        false
    }

    fn fields(&self) -> Vec<String> {
        let mut names: Vec<String> = self.scalar.iter().map(|scalar| scalar.name.clone()).collect();
        names.extend(FIELDS[..1 + self.dimensions()].iter().map(|name| (*name).to_owned()));
        if !self.obstacle.is_empty() {
            names.push("obstacle".into());
        }
        if self.textures {
            let sets = if self.texture_stretch.is_some() { 2 } else { 1 };
            let axes = ["x", "y", "z"];
            names.extend((0..sets).flat_map(|set| {
                axes[..self.dimensions()].iter().map(move |axis| format!("texture{set}_{axis}"))
            }));
        }
        names
    }

    fn viewpoint(&self, clip: &clip::Clip) -> Result<Option<Viewpoint>, clip::Error> {
        if clip.meshes.is_empty() || self.dimensions() == 3 {
            return Ok(None);
        }
        let size = [self.size[0], self.size[1]];
        let Camera { position, target, up, field_of_view } = self.window.camera(clip, size)?;
        Ok(Some(Viewpoint { position, target, up, field_of_view, aspect: size[0] / size[1] }))
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(SmokeSimulation::new(self, input)?))
    }
}

impl Smoke {
    fn dimensions(&self) -> usize {
        self.grid.len().clamp(2, 3)
    }

    fn domain(&self) -> Result<Domain, LayerError> {
        let n = self.dimensions();
        let ends = |d: usize| if d == 1 { fluid::Side::Wall } else { fluid::Side::Periodic };
        let mut sides = [0, 1, 2].map(ends);
        for (side, given) in sides.iter_mut().zip(self.sides.iter().flatten()) {
            *side = match given {
                Ends::Periodic => fluid::Side::Periodic,
                Ends::Wall => fluid::Side::Wall,
            };
        }
        let counts = [Some(self.size.len()), self.sides.as_ref().map(Vec::len)];
        if self.grid.len() < 2 || counts.iter().flatten().any(|count| *count != n) {
            return Err(LayerError::new(format!(
                "`grid` has {} axes, `size` {}{}: they must agree, two for a plane and three for a volume",
                self.grid.len(),
                self.size.len(),
                self.sides.as_ref().map_or(String::new(), |sides| format!(" and `sides` {}", sides.len())),
            )));
        }
        Ok(match n {
            2 => Domain::plane(
                [self.grid[0], self.grid[1]],
                [self.size[0], self.size[1]],
                [sides[0], sides[1]],
            )
            .map_err(explain)?,
            _ => Domain::volume(
                [self.grid[0], self.grid[1], self.grid[2]],
                [self.size[0], self.size[1], self.size[2]],
                sides,
            )
            .map_err(explain)?,
        })
    }

    fn fluid(&self, domain: Domain, initial: &Initial) -> Result<(Fluid, fluid::State), fluid::Error> {
        let settings = fluid::Settings {
            gravity: self.gravity,
            temperature: self.air,
            sound_speed: self.sound_speed.map_or(SoundSpeed::Automatic, SoundSpeed::Fixed),
            viscosity: self.viscosity,
            heat_diffusivity: self.heat_diffusivity,
            scalar_diffusivity: self.scalar_diffusivity,
            upwind: self.filter,
            scalars: self.scalar.len(),
            texture_sets: match (self.textures, self.texture_stretch) {
                (false, _) => 0,
                (true, None) => 1,
                (true, Some(_)) => 2,
            },
            texture_stretch: self.texture_stretch.unwrap_or(f64::INFINITY),
            texture_blend: self.texture_blend,
            max_steps: self.max_steps,
            ..fluid::Settings::default()
        };
        Fluid::new(domain, settings, initial)
    }

    /// Whether diffusion over cells as small as these asks for more steps than there may be.
    fn too_viscous(&self, domain: &Domain, frame_rate_hz: f64) -> Option<Diagnostic> {
        let scalars = if self.scalar.is_empty() { 0.0 } else { self.scalar_diffusivity };
        let dials = [
            ("viscosity", self.viscosity),
            ("heat_diffusivity", self.heat_diffusivity),
            ("scalar_diffusivity", scalars),
        ];
        let (dial, greatest) = dials.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let seconds = self.pre_roll.max(self.speed / frame_rate_hz);
        let steps = seconds / (fluid::Settings::default().courant * domain.diffusion_limit(greatest));
        (steps > self.max_steps as f64).then(|| {
            let message = format!("on cells this small it needs {steps:.0} steps for {seconds:.3} s, more than `max_steps` ({})", self.max_steps);
            Diagnostic::new(dial, message).with_help("lower it, enlarge `size`, coarsen `grid`, or raise `max_steps`")
        })
    }

    fn quantity(&self, name: &str) -> Option<Quantity> {
        match name {
            "temperature" => Some(Quantity::Temperature),
            "velocity_x" => Some(Quantity::Velocity(0)),
            "velocity_y" => Some(Quantity::Velocity(1)),
            "velocity_z" => (self.dimensions() == 3).then_some(Quantity::Velocity(2)),
            name => self.scalar.iter().position(|scalar| scalar.name == name).map(Quantity::Scalar),
        }
    }

    /// Every image with its place in the layer.
    fn images(&self) -> Vec<(String, &Image)> {
        let mut images = Vec::new();
        let single = [("profile", &self.profile), ("wind", &self.wind)];
        images.extend(single.iter().filter_map(|(key, image)| Some(((*key).to_owned(), image.as_ref()?))));
        let lists = [
            ("temperature", &self.temperature),
            ("velocity_x", &self.velocity_x),
            ("velocity_y", &self.velocity_y),
            ("velocity_z", &self.velocity_z),
            ("obstacle", &self.obstacle),
        ];
        for (key, list) in lists {
            images.extend(list.iter().enumerate().map(|(i, image)| (format!("{key}[{i}]"), image)));
        }
        for (s, scalar) in self.scalar.iter().enumerate() {
            let place = |i: usize| format!("scalar[{s}].image[{i}]");
            images.extend(scalar.image.iter().enumerate().map(|(i, image)| (place(i), image)));
        }
        let sources = self.source.iter().enumerate();
        images.extend(sources.map(|(i, source)| (format!("source[{i}].image"), &source.image)));
        images
    }
}

/// Names the dial to turn.
fn explain(error: fluid::Error) -> LayerError {
    use fluid::Error::{BelowZero, NoAtmosphere, Runaway, Supersonic, TooManySteps};
    let help = match &error {
        BelowZero { .. } => Some("move `black` and `white` of what cools, or raise `air`"),
        NoAtmosphere { .. } => Some("lower `gravity` or the box's height, or raise `air`"),
        Supersonic { .. } => Some("remove `sound_speed`, or lower `white` of what heats or pushes"),
        Runaway { .. } => Some("raise `filter` or `viscosity`, or lower `white` of what heats or pushes"),
        TooManySteps { .. } => {
            Some("lower `white` of what heats or pushes, lower `speed`, or raise `max_steps`")
        }
        _ => None,
    };
    let failure = LayerError::new(error);
    match help {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}
