//! Fields and time become frames.

use std::sync::Arc;

use clip::Grid;
use fluid::{Domain, Drive, Field, Fluid, Initial, MovingMask, Obstacle, Quantity, State, Stepper, profile};

use super::Image;
use super::Smoke;
use super::explain;
use super::image::{Canvas, Painting};
use super::silhouette::Silhouettes;
use shot::{Dial, FrameResult, LayerError, Simulation, Target};

/// How often in a frame what moves is moved on.
const MOVES_PER_FRAME: usize = 4;
/// Bodies are softened by so many grid points, so that the flow around them is smooth.
const SOFTNESS: f64 = 0.8;

/// Smoke on its way.
pub(super) struct SmokeSimulation {
    input: Target,
    canvas: Canvas,
    fluid: Fluid,
    state: State,
    stepper: Stepper,
    sources: Vec<Painted>,
    obstacles: Vec<Painting>,
    scalar_names: Vec<String>,
    speed: f64,
    pre_roll: f64,
}

/// A source with its image ready.
struct Painted {
    quantity: Quantity,
    painting: Painting,
    rate: Option<f64>,
    strength: Dial,
}

impl SmokeSimulation {
    pub(super) fn new(settings: &Smoke, input: &Target) -> Result<Self, LayerError> {
        let domain = settings.domain()?;
        let silhouettes = if settings.images().iter().any(|(_, image)| image.silhouette.is_some()) {
            let size = [settings.size[0], settings.size[1]];
            let rows = domain.axes[1].points;
            Some(Arc::new(Silhouettes::new(&input.clip, &settings.window, size, rows)?))
        } else {
            None
        };
        let frame_rate_hz = input.clip.frame_rate_hz;
        let canvas = Canvas { domain, files: input.files.clone(), frame_rate_hz, silhouettes };
        let rows = |image: &Option<Image>, base: f64| -> Result<Option<Vec<f32>>, LayerError> {
            let Some(image) = image else { return Ok(None) };
            let mut rows =
                profile(&Painting::new(image, &canvas)?.values(&canvas, 0.0)?, &domain).map_err(explain)?;
            rows.iter_mut().for_each(|value| *value += base as f32);
            Ok(Some(rows))
        };
        let scalars = settings.scalar.iter().map(|scalar| total(&scalar.image, &canvas));
        let none = |field: Field| (!field.values.iter().all(|v| *v == 0.0)).then_some(field);
        let initial = Initial {
            profile: rows(&settings.profile, settings.air)?,
            wind: rows(&settings.wind, 0.0)?,
            temperature: none(total(&settings.temperature, &canvas)?),
            velocity: [
                none(total(&settings.velocity_x, &canvas)?),
                none(total(&settings.velocity_y, &canvas)?),
                none(total(&settings.velocity_z, &canvas)?),
            ],
            scalars: scalars.collect::<Result<_, _>>()?,
            ..Initial::default()
        };
        let (fluid, state) = settings.fluid(domain, &initial).map_err(explain)?;
        let source = |source: &super::SmokeSource| -> Result<Painted, LayerError> {
            let unknown = || LayerError::new(format!("there is no field `{}`", source.to));
            Ok(Painted {
                quantity: settings.quantity(&source.to).ok_or_else(unknown)?,
                painting: Painting::new(&source.image, &canvas)?,
                rate: source.rate,
                strength: source.strength.clone(),
            })
        };
        let sources = settings.source.iter().map(source).collect::<Result<_, _>>()?;
        let obstacles =
            settings.obstacle.iter().map(|image| Painting::new(image, &canvas)).collect::<Result<_, _>>()?;
        Ok(Self {
            input: input.clone(),
            stepper: Stepper::new(&fluid),
            fluid,
            state,
            sources,
            obstacles,
            scalar_names: settings.scalar.iter().map(|scalar| scalar.name.clone()).collect(),
            speed: settings.speed,
            pre_roll: settings.pre_roll,
            canvas,
        })
    }

    /// Moves on from one time of the film to another.
    fn advance(&mut self, from: f64, to: f64, seconds: f64) -> Result<fluid::Report, LayerError> {
        let moving = |painting: &Painting| painting.moves();
        let lively = self.obstacles.iter().any(moving) || self.sources.iter().any(|s| moving(&s.painting));
        let parts = if lively { MOVES_PER_FRAME } else { 1 };
        let tracks = self.tracks(from, to)?;
        let mut whole = fluid::Report { shortest_step: f64::INFINITY, ..fluid::Report::default() };
        for part in 0..parts {
            let fraction = (part as f64 + 0.5) / parts as f64;
            let now = from + fraction * (to - from);
            let drive = Drive { sources: self.drive(now)?, obstacle: self.obstacle(now, fraction, &tracks)? };
            let report = self
                .stepper
                .advance(&self.fluid, &mut self.state, &drive, seconds / parts as f64)
                .map_err(explain)?;
            whole.steps += report.steps;
            whole.texture_restarts += report.texture_restarts;
            whole.shortest_step = whole.shortest_step.min(report.shortest_step);
            whole.peak_speed = report.peak_speed;
        }
        Ok(whole)
    }

    fn drive(&self, now: f64) -> Result<Vec<fluid::Source>, LayerError> {
        let mut sources = Vec::new();
        for source in &self.sources {
            let strength = source.strength.at(now);
            if strength == 0.0 {
                continue;
            }
            let grey = source.painting.grey(&self.canvas, now)?;
            let scaled = |mut field: Field, by: f64| {
                field.values.iter_mut().for_each(|value| *value *= by as f32);
                field
            };
            sources.push(match source.rate {
                None => {
                    let rate = scaled(source.painting.levels(grey), strength);
                    fluid::Source { quantity: source.quantity, rate, toward: None }
                }
                Some(rate) => {
                    let toward = Some(source.painting.levels(grey.clone()));
                    let mut rate = scaled(grey, rate * strength);
                    rate.values.iter_mut().for_each(|value| *value = value.max(0.0));
                    fluid::Source { quantity: source.quantity, rate, toward }
                }
            });
        }
        Ok(sources)
    }

    /// Motion between two frames of the bodies that are only known frame by frame.
    fn tracks(&self, from: f64, to: f64) -> Result<Vec<Option<MovingMask>>, LayerError> {
        let track = |painting: &Painting| -> Result<Option<MovingMask>, LayerError> {
            if !painting.moves() || painting.follows_a_path() || to <= from {
                return Ok(None);
            }
            let masks = [painting.grey(&self.canvas, from)?, painting.grey(&self.canvas, to)?];
            // the fluid lives at its own speed: what takes a frame of film takes so much of its time
            let seconds = (to - from) * self.speed;
            Ok(Some(
                MovingMask::new(&masks[0], &masks[1], &self.canvas.domain, seconds, SOFTNESS)
                    .map_err(explain)?,
            ))
        };
        self.obstacles.iter().map(track).collect()
    }

    /// All bodies as one.
    fn obstacle(
        &self,
        now: f64,
        fraction: f64,
        tracks: &[Option<MovingMask>],
    ) -> Result<Option<Obstacle>, LayerError> {
        let domain = &self.canvas.domain;
        let mut whole: Option<Obstacle> = None;
        for (painting, track) in self.obstacles.iter().zip(tracks) {
            let body = match track {
                Some(track) => track.at(fraction),
                None => {
                    let mask = fluid::smooth(&painting.grey(&self.canvas, now)?, domain, SOFTNESS);
                    let still = !painting.moves();
                    let velocity = match still {
                        true => [None, None, None],
                        false => {
                            let scale = (1.0 / self.speed) as f32;
                            let [mut u, mut v] = painting.velocity(&self.canvas, now);
                            u.values.iter_mut().chain(&mut v.values).for_each(|value| *value *= scale);
                            [Some(u), Some(v), None]
                        }
                    };
                    Obstacle { mask, velocity }
                }
            };
            // motion is found from the drawing itself; how solid it is comes after
            let mut body = Obstacle { mask: painting.levels(body.mask), ..body };
            // a body that turns would be fast far away from itself, and sound is set by what is fastest
            for field in body.velocity.iter_mut().flatten() {
                let values = field.values.iter_mut().zip(&body.mask.values);
                values.filter(|(_, mask)| **mask <= 0.0).for_each(|(value, _)| *value = 0.0);
            }
            whole = Some(match whole {
                None => body,
                Some(before) => union(before, body),
            });
        }
        Ok(whole)
    }

    /// The grids of the state.
    fn grids(&self, obstacle: Option<&Obstacle>) -> Vec<Grid> {
        let (fluid, state) = (&self.fluid, &self.state);
        let domain = fluid.domain();
        let grid = |name: String, field: Field| grid(name, field, domain);
        let mut grids = vec![grid("temperature".into(), state.temperature(fluid))];
        for (axis, name) in ["velocity_x", "velocity_y", "velocity_z"].iter().enumerate() {
            if axis < domain.dimensions() {
                grids.push(grid((*name).into(), state.velocity(fluid, axis)));
            }
        }
        for (i, name) in self.scalar_names.iter().enumerate() {
            grids.push(grid(name.clone(), state.scalar(fluid, i)));
        }
        if let Some(obstacle) = obstacle {
            grids.push(grid("obstacle".into(), obstacle.mask.clone()));
        }
        for (set, texture) in state.textures(fluid).into_iter().enumerate() {
            for (axis, field) in ["x", "y", "z"].iter().zip(texture.displacement) {
                let mut part = grid(format!("texture{set}_{axis}"), field);
                (part.weight, part.since) = (texture.weight, texture.since);
                grids.push(part);
            }
        }
        grids
    }
}

impl Simulation for SmokeSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let frame = 1.0 / self.canvas.frame_rate_hz;
        let now = index as f64 * frame;
        let report = match index {
            0 => self.advance(0.0, 0.0, self.pre_roll)?,
            _ => self.advance(now - frame, now, self.speed * frame)?,
        };
        let obstacle = match self.obstacles.is_empty() {
            true => None,
            false => self.obstacle(now, 1.0, &vec![None; self.obstacles.len()])?,
        };
        let mut result = FrameResult::from(self.input.clip.frame(index)?);
        if obstacle.as_ref().is_some_and(|body| body.mask.range().0 > 0.5) {
            let sentence =
                "the obstacle fills the whole box, so nothing can move: is it drawn white on black?";
            result.fallbacks.push(sentence.into());
        }
        result.grids = self.grids(obstacle.as_ref());
        let (cold, warm) = self.state.temperature(&self.fluid).range();
        let figures = &mut result.figures;
        figures.add("speed/fastest flow", "m/s", self.state.peak_speed());
        figures.add("speed/sound", "m/s", self.state.sound_speed);
        figures.add("temperature/coldest", "K", f64::from(cold));
        figures.add("temperature/warmest", "K", f64::from(warm));
        for (i, name) in self.scalar_names.iter().enumerate() {
            let field = self.state.scalar(&self.fluid, i);
            let total = fluid::integrate(self.fluid.domain(), |point, _| f64::from(field.values[point]));
            figures.add(format!("amount/{name}"), "", total);
        }
        figures.add("steps", "", report.steps as f64);
        if report.texture_restarts > 0 {
            figures.add("texture restarts", "", report.texture_restarts as f64);
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.state.to_bytes(&self.fluid)
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        self.state = State::from_bytes(&self.fluid, checkpoint).map_err(explain)?;
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let points = self.fluid.domain().points();
        let cells: usize = points.iter().product();
        let shown: Vec<String> =
            points[..self.fluid.domain().dimensions()].iter().map(usize::to_string).collect();
        vec![
            ("grid".into(), format!("{} = {cells} points", shown.join(" × "))),
            ("bytes per point and step".into(), self.fluid.bytes_per_point().to_string()),
            ("steps".into(), self.state.steps.to_string()),
        ]
    }
}

/// The sum of images at the first frame.
fn total(images: &[Image], canvas: &Canvas) -> Result<Field, LayerError> {
    let mut sum = Field::constant(canvas.domain.points(), 0.0);
    for image in images {
        let field = Painting::new(image, canvas)?.values(canvas, 0.0)?;
        sum.values.iter_mut().zip(&field.values).for_each(|(sum, value)| *sum += value);
    }
    Ok(sum)
}

/// Two bodies as one: at each place the one that is more solid there counts.
fn union(a: Obstacle, b: Obstacle) -> Obstacle {
    let still = |field: &Option<Field>, i: usize| field.as_ref().map_or(0.0, |field| field.values[i]);
    let points = a.mask.points;
    let index = |[x, y, z]: [usize; 3]| x + points[0] * (y + points[1] * z);
    let velocity = [0, 1, 2].map(|axis| match (&a.velocity[axis], &b.velocity[axis]) {
        (None, None) => None,
        (u, v) => Some(Field::from_fn(points, |place| {
            let i = index(place);
            if a.mask.values[i] >= b.mask.values[i] { still(u, i) } else { still(v, i) }
        })),
    });
    let mask = Field::from_fn(points, |place| a.mask.values[index(place)].max(b.mask.values[index(place)]));
    Obstacle { mask, velocity }
}

fn grid(name: String, field: Field, domain: &Domain) -> Grid {
    Grid {
        name,
        points: field.points,
        size: domain.axes.map(|axis| axis.length),
        wraps: domain.axes.map(|axis| axis.side == fluid::Side::Periodic),
        weight: 1.0,
        since: 0.0,
        values: field.values,
    }
}
