//! Pictures from what was baked, as often as one likes: passes laid over each other, nothing simulated again.
//!
//! A [`FilmRenderer`] holds a baked clip and the film's look. Each pass shows a field through a threshold ramp and colours, an image carried by
//! the flow, or the scene's meshes; later ones lie over earlier ones.

use clip::{Clip, Grid};
use fluid::{Axis, Domain, Field, Picture, Texture};
use render::{Camera, Drawing, Ground, Look, Painter, Stage};

use shot::{Bake, Shot, Viewpoint, suggest};

use crate::look::FilmLook;
use crate::pass::Pass;
use crate::{Error, colors};

/// A baked clip and how it is shown.
pub struct FilmRenderer<'a> {
    clip: &'a Clip,
    passes: Vec<Pass>,
    /// Of every pass, the image that the flow carries.
    artworks: Vec<Option<Picture>>,
    background: Option<[f32; 4]>,
    size: [usize; 2],
    scene: Option<Scene<'a>>,
    /// Shots without passes are shown as meshes.
    stage: Option<Stage<'a>>,
    /// The first frame's number in the whole film: animated dials count from there.
    first: usize,
}

/// The scene's meshes as they are seen through the box of smoke.
struct Scene<'a> {
    clip: &'a Clip,
    painter: Painter<'a>,
    camera: Camera,
    /// How many times as wide as high what the camera sees is.
    aspect: f64,
    drawing: Drawing,
}

impl<'a> FilmRenderer<'a> {
    /// Ready to make pictures of a bake.
    pub fn new(shot: &Shot, bake: &'a Bake) -> Result<Self, Error> {
        let look = FilmLook::of(shot);
        let mut passes = look.pass.clone();
        let grids = match bake.clip.frame_count() {
            0 => Vec::new(),
            count => bake.clip.grids(count - 1)?,
        };
        if passes.is_empty() && !grids.is_empty() {
            passes.push(usual(&grids));
        }
        let background = match &look.background {
            Some(name) if name == "none" => None,
            Some(color) => colors::parse(color),
            None => Some(colors::NIGHT),
        };
        let scene = match passes.iter().any(|pass| pass.clip) {
            false => None,
            true => {
                let (camera, aspect) = camera(shot, bake, &look)?;
                Some(Scene {
                    clip: &bake.scene,
                    painter: Painter::new(&bake.scene),
                    camera,
                    aspect,
                    drawing: look.drawing(),
                })
            }
        };
        let stage = match passes.is_empty() {
            true => Some(crate::output::stage(&look, bake)?),
            false => None,
        };
        let size = [look.width, look.height].map(|side| side as usize);
        // twice as fine as the film: the flow squeezes it, and edges must stay smooth
        let artwork = |pass: &Pass| {
            pass.image
                .as_ref()
                .map(|image| image.picture(&bake.sources, size.map(|side| 2 * side)))
                .transpose()
        };
        Ok(Self {
            clip: &bake.clip,
            artworks: passes.iter().map(artwork).collect::<Result<_, _>>()?,
            passes,
            background,
            size,
            scene,
            stage,
            first: bake.frames.first,
        })
    }

    /// How many frames there are.
    pub fn frame_count(&self) -> usize {
        self.stage.as_ref().map_or_else(|| self.clip.frame_count(), Stage::frame_count)
    }

    /// Frames per second.
    pub fn frame_rate_hz(&self) -> f64 {
        self.clip.frame_rate_hz
    }

    /// How many frames are best drawn side by side.
    pub(crate) fn at_once(&self) -> usize {
        self.stage.as_ref().map_or(1, Stage::at_once)
    }

    /// Whether pictures have parts that one sees through.
    pub fn is_clear(&self) -> bool {
        self.stage.is_none() && self.background.is_none()
    }

    /// A frame in linear light, with alpha where there is no background.
    pub fn picture(&self, frame: usize) -> Result<Picture, Error> {
        if let Some(stage) = &self.stage {
            return picture_from(&stage.picture(frame)?);
        }
        let seconds = (self.first + frame) as f64 / self.clip.frame_rate_hz;
        let grids = self.clip.grids(frame)?;
        let [width, height] = self.size;
        let below = self.background.unwrap_or([0.0; 4]);
        let mut whole = fluid(Picture::new(width, height, vec![below; width * height]))?;
        for (index, (pass, artwork)) in self.passes.iter().zip(&self.artworks).enumerate() {
            let developed = self.develop(pass, artwork.as_ref(), frame, seconds, &grids);
            let mut shown = developed.map_err(|error| match error {
                PassError::Other(error) => error,
                PassError::Sentence(problem) => Error::Pass { pass: index, frame, problem },
            })?;
            let opacity = pass.opacity.at(seconds).clamp(0.0, 1.0) as f32;
            if opacity < 1.0 {
                shown.pixels.iter_mut().flatten().for_each(|value| *value *= opacity);
            }
            for (below, over) in whole.pixels.iter_mut().zip(&shown.pixels) {
                *below = [0, 1, 2, 3].map(|k| over[k] + (1.0 - over[3]) * below[k]);
            }
        }
        Ok(whole)
    }

    /// A frame as pictures on a screen are.
    pub fn srgb(&self, frame: usize) -> Result<render::Picture, Error> {
        if let Some(stage) = &self.stage {
            return Ok(stage.picture(frame)?);
        }
        let bytes = self.picture(frame)?.to_srgb();
        // what is seen through is shown on paper
        let over = |p: &[u8]| {
            let alpha = f32::from(p[3]) / 255.0;
            [0, 1, 2].map(|k| (alpha * f32::from(p[k]) + (1.0 - alpha) * f32::from(PAPER[k]) + 0.5) as u8)
        };
        let pixels = bytes.chunks_exact(4).map(over).collect();
        Ok(render::Picture { width: self.size[0] as u32, height: self.size[1] as u32, pixels })
    }

    fn develop(
        &self,
        pass: &Pass,
        artwork: Option<&Picture>,
        frame: usize,
        seconds: f64,
        grids: &[Grid],
    ) -> Result<Picture, PassError> {
        let [width, height] = self.size;
        if pass.clip {
            return Ok(self.meshes(frame)?);
        }
        if let Some(artwork) = artwork {
            let carried = self.carried(pass, artwork, grids)?.resized(width, height);
            return self.smeared(pass, carried, seconds, grids);
        }
        let name = pass.field.as_deref().unwrap_or_default();
        let grid = Grid::find(grids, name).ok_or_else(|| PassError::no_field(name, grids))?;
        let (field, domain) = (field(grid), domain(grid));
        let ramp = fluid::Ramp { clear: pass.clear.at(seconds) as f32, solid: pass.solid.at(seconds) as f32 };
        let colors = pass.color_map();
        if domain.dimensions() == 3 {
            let look = pass.volume.look(ramp, colors, seconds);
            return Ok(fluid(fluid::volume_picture(&field, &domain, [width, height], &look))?);
        }
        if let Some(ring) = &pass.ring {
            let ring = ring.at(seconds);
            return Ok(fluid(fluid::ring_of(&field, &domain, [width, height], ring, ramp, &colors))?);
        }
        let flat = fluid(fluid::picture_of(&field, &domain, [width, height], ramp, &colors))?;
        self.smeared(pass, flat, seconds, grids)
    }

    /// The picture drawn out along the flow, if the pass asks for it.
    fn smeared(
        &self,
        pass: &Pass,
        picture: Picture,
        seconds: f64,
        grids: &[Grid],
    ) -> Result<Picture, PassError> {
        let Some(smear) = &pass.smear else { return Ok(picture) };
        let find = |name: &str| Grid::find(grids, name).ok_or_else(|| PassError::no_field(name, grids));
        let (u, v) = (find("velocity_x")?, find("velocity_y")?);
        let (before, after) = (smear.before.at(seconds).max(0.0), smear.after.at(seconds).max(0.0));
        Ok(fluid(fluid::smear(&picture, &domain(u), [&field(u), &field(v)], before, after))?)
    }

    /// An image carried by the flow from when it was painted until now.
    fn carried(&self, pass: &Pass, picture: &Picture, grids: &[Grid]) -> Result<Picture, PassError> {
        if !pass.warp {
            return Ok(picture.clone());
        }
        let now = textures(grids);
        let Some(first) = now.first() else {
            let sentence =
                "there are no texture coordinates to warp by; set `textures = true` in the smoke layer";
            return Err(PassError::Sentence(sentence.into()));
        };
        let domain = first.1;
        let Some(painted) = pass.painted else {
            let sets: Vec<Texture> = now.into_iter().map(|set| set.0).collect();
            return Ok(fluid(fluid::blend_warps(picture, &domain, &sets))?);
        };
        let frames = self.clip.frame_count();
        let at = ((painted * self.clip.frame_rate_hz).round().max(0.0) as usize).saturating_sub(self.first);
        let then = textures(&self.clip.grids(at.min(frames.saturating_sub(1))).map_err(Error::Clip)?);
        // the same set at both times: one that was not started anew in between
        let same = now.iter().find_map(|(set, _)| {
            let reference = then.iter().find(|(other, _)| other.since == set.since)?;
            Some((&reference.0, set))
        });
        match same {
            Some((reference, current)) => Ok(fluid(fluid::warp(picture, &domain, Some(reference), current))?),
            None => Err(PassError::Sentence(format!(
                "the texture coordinates were started anew since {painted} s, so the image cannot be followed from there; \
                 remove `texture_stretch` or `painted`"
            ))),
        }
    }

    /// The meshes, cut out along their silhouette.
    fn meshes(&self, frame: usize) -> Result<Picture, Error> {
        let [width, height] = self.size;
        let nothing = fluid(Picture::new(width, height, vec![[0.0; 4]; width * height]))?;
        let Some(scene) = &self.scene else { return Ok(nothing) };
        let points = scene.clip.frame(frame)?;
        // in the proportions of the box, then stretched over the picture as the fields are
        let across = (height as f64 * scene.aspect).round().clamp(1.0, 8192.0);
        let size = [across as u32, height as u32];
        // edges are blended with what lies behind: the background itself, or nothing bright
        let behind = self.background.map_or([24, 24, 28], colors::srgb);
        let drawing = scene.drawing;
        let look = Look { ground: Ground::None, background: [behind; 2], drawing, ..Look::default() };
        let seen = picture_from(&scene.painter.picture(&points, &scene.camera, &look, size, None)?)?;
        let mask = scene.painter.mask(&points, &scene.camera, size, None)?;
        let pixels = seen.pixels.iter().zip(&mask).map(|(p, m)| p.map(|value| value * m)).collect();
        let cut_out = fluid(Picture::new(size[0] as usize, size[1] as usize, pixels))?;
        Ok(if size[0] as usize == width { cut_out } else { nothing.over(&cut_out) })
    }
}

/// Behind clear pictures on contact sheets and in reports.
const PAPER: [u8; 3] = [250, 247, 242];

/// What can go wrong with one pass.
pub(crate) enum PassError {
    Other(Error),
    Sentence(String),
}

impl From<Error> for PassError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl PassError {
    fn no_field(name: &str, grids: &[Grid]) -> Self {
        let known = suggest(name, grids.iter().map(Grid::field));
        Self::Sentence(format!("there is no field `{name}`; {known}"))
    }
}

/// Texture sets with the grid they live on.
fn textures(grids: &[Grid]) -> Vec<(Texture, Domain)> {
    (0..2)
        .filter_map(|set| {
            let x = Grid::find(grids, &format!("texture{set}_x"))?;
            let y = Grid::find(grids, &format!("texture{set}_y"))?;
            let displacement = vec![field(x), field(y)];
            Some((Texture { displacement, since: x.since, weight: x.weight }, domain(x)))
        })
        .collect()
}

fn field(grid: &Grid) -> Field {
    Field { points: grid.points, values: grid.values.clone() }
}

fn domain(grid: &Grid) -> Domain {
    let side = |d: usize| if grid.wraps[d] { fluid::Side::Periodic } else { fluid::Side::Wall };
    Domain { axes: [0, 1, 2].map(|d| Axis { points: grid.points[d], length: grid.size[d], side: side(d) }) }
}

pub(crate) fn fluid<T>(result: Result<T, fluid::Error>) -> Result<T, Error> {
    result.map_err(Error::Fluid)
}

/// From bytes on a screen to linear light.
fn picture_from(picture: &render::Picture) -> Result<Picture, Error> {
    let pixels = picture.pixels.iter().map(|p| {
        let [r, g, b] = p.map(|v| colors::linear(f32::from(v) / 255.0));
        [r, g, b, 1.0]
    });
    fluid(Picture::new(picture.width as usize, picture.height as usize, pixels.collect()))
}

/// What is shown when the film says nothing: the first thing that the air carries, or its warmth.
fn usual(grids: &[Grid]) -> Pass {
    let dynamics = |grid: &&Grid| {
        let field = grid.field();
        !(field.starts_with("velocity") || field.starts_with("texture") || field == "obstacle")
    };
    let carried = grids.iter().rev().filter(dynamics).find(|grid| grid.field() != "temperature");
    let shown = carried.or_else(|| grids.iter().rev().find(dynamics));
    let top = shown.map_or(1.0, |grid| grid.values.iter().fold(0.0_f32, |m, v| m.max(*v)));
    let top = if top > 0.0 { f64::from(top) } else { 1.0 };
    Pass {
        field: shown.map(|grid| grid.name.clone()),
        clear: (0.02 * top).into(),
        solid: (0.8 * top).into(),
        ..Pass::default()
    }
}

/// The camera of the highest layer that has one; otherwise one that sees everything.
fn camera(shot: &Shot, bake: &Bake, look: &FilmLook) -> Result<(Camera, f64), Error> {
    for entry in shot.layers.iter().rev().filter(|entry| entry.is_active()) {
        if let Some(seen) = entry.layer.viewpoint(&bake.whole_input)? {
            let Viewpoint { position, target, up, field_of_view, aspect } = seen;
            return Ok((Camera { position, target, up, field_of_view }, aspect));
        }
    }
    let aspect = f64::from(look.width) / f64::from(look.height);
    Ok((Camera::framing_clips(&[&bake.clip], look.view.into(), aspect)?, aspect))
}
