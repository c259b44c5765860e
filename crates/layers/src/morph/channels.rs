//! Numbers of a pose beside its joints: weights of other morph targets, speeds, whether something is touched.

use clip::Mesh;
use glam::Vec3;
use shot::{Diagnostic, LayerError, Target};

/// How long it takes until a touch counts for two thirds, in seconds: shapes ease into it.
const EASE: f64 = 0.1;
/// Before the name of a joint.
const SPEED: &str = "speed of ";
const TOUCH: &str = "touch of ";

/// Where a channel comes from.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// A morph target's weight, by its number.
    Shape(usize),
    /// How fast a joint moves, in m/s.
    Speed(usize),
    /// Whether skin that is mostly a joint's is pressed: 0 or 1, eased.
    Touch(usize),
}

impl Source {
    fn named(name: &str, input: &Target) -> Option<Self> {
        let mesh = input.mesh();
        if let Some(shape) = mesh.morph_targets.iter().position(|target| target.name == name) {
            return Some(Self::Shape(shape));
        }
        let joints = &input.clip.skeleton.as_ref()?.joints;
        let joint = |name: &str| joints.iter().position(|joint| joint.name == name);
        let speed = name.strip_prefix(SPEED).map(|name| joint(name).map(Self::Speed));
        let touch = name.strip_prefix(TOUCH).map(|name| joint(name).map(Self::Touch));
        speed.or(touch).flatten()
    }
}

/// What is wrong with channels of these names.
pub(super) fn check(names: &[String], with_contact: bool, input: &Target) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (k, name) in names.iter().enumerate() {
        let path = format!("channels[{k}]");
        match Source::named(name, input) {
            None => {
                let shapes = input.mesh().morph_targets.iter().map(|target| target.name.clone());
                let skeleton = input.clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
                let moving =
                    skeleton.flat_map(|joint| [SPEED, TOUCH].map(|kind| format!("{kind}{}", joint.name)));
                let known: Vec<String> = shapes.chain(moving).collect();
                let known = known.iter().map(String::as_str);
                found.push(Diagnostic::unknown(path, "channel", name, known));
            }
            Some(Source::Touch(_)) if !with_contact => {
                let message = format!("`{name}` is always 0: the layer has no `contact`");
                found.push(Diagnostic::new(path, message).with_help("say `[layer.contact]`"));
            }
            Some(_) => {}
        }
    }
    found
}

/// The channels of a layer in motion.
pub(super) struct Channels {
    sources: Vec<Source>,
    /// Values at the frame before and at this one.
    ends: [Vec<f64>; 2],
    /// How much each is touched, eased.
    touched: Vec<f64>,
    /// The joint that most of every skin point belongs to.
    joints: Vec<usize>,
    /// The part of what is new that counts after a step.
    part: f64,
}

impl Channels {
    /// For steps of `step` seconds.
    pub(super) fn new(names: &[String], input: &Target, step: f64) -> Result<Self, LayerError> {
        let source = |name: &String| {
            Source::named(name, input).ok_or_else(|| LayerError::new(format!("there is no channel `{name}`")))
        };
        let sources = names.iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let none = vec![0.0; sources.len()];
        Ok(Self {
            ends: [none.clone(), none.clone()],
            touched: none,
            joints: strongest(input.mesh()),
            part: 1.0 - (-step / EASE).exp(),
            sources,
        })
    }

    /// At a frame that is the first or behind a cut.
    pub(super) fn begin(&mut self, index: usize, input: &Target) -> Result<Vec<f64>, LayerError> {
        self.touched.fill(0.0);
        let values = self.values(index, input)?;
        self.ends = [values.clone(), values.clone()];
        Ok(values)
    }

    /// On the way from the frame before to this one.
    pub(super) fn go_to(&mut self, index: usize, input: &Target) -> Result<(), LayerError> {
        self.ends = [self.values(index - 1, input)?, self.values(index, input)?];
        Ok(())
    }

    /// At the instant `s` of the way.
    pub(super) fn at(&self, s: f64) -> Vec<f64> {
        let value = |(k, source): (usize, &Source)| match source {
            Source::Touch(_) => self.touched[k],
            _ => self.ends[0][k] + s * (self.ends[1][k] - self.ends[0][k]),
        };
        self.sources.iter().enumerate().map(value).collect()
    }

    /// These points of the skin were pressed in a step.
    pub(super) fn touched(&mut self, points: impl Iterator<Item = usize> + Clone) {
        for (source, touched) in self.sources.iter().zip(&mut self.touched) {
            if let Source::Touch(joint) = source {
                let is_pressed = points.clone().any(|point| self.joints[point] == *joint);
                *touched += self.part * (f64::from(u8::from(is_pressed)) - *touched);
            }
        }
    }

    fn values(&self, index: usize, input: &Target) -> Result<Vec<f64>, LayerError> {
        if self.sources.is_empty() {
            return Ok(Vec::new());
        }
        let clip = &input.clip;
        let weights = clip.morph_weights(index)?;
        let places = |index: usize| -> Result<Vec<Vec3>, LayerError> {
            let Some(skeleton) = &clip.skeleton else { return Ok(Vec::new()) };
            let world = skeleton.world_from_joints(&clip.frame(index)?.pose);
            Ok(world.iter().map(|joint| joint.w_axis.truncate()).collect())
        };
        // the first frame moves as it begins
        let last = clip.frame_count() - 1;
        let later = index.max(1).min(last);
        let ends = [places(later.saturating_sub(1))?, places(later)?];
        let value = |source: &Source| match source {
            Source::Shape(shape) => f64::from(weights[input.mesh][*shape]),
            Source::Speed(joint) => f64::from(ends[0][*joint].distance(ends[1][*joint])) * clip.frame_rate_hz,
            Source::Touch(_) => 0.0,
        };
        Ok(self.sources.iter().map(value).collect())
    }

    /// What is remembered.
    pub(super) fn checkpoint(&self) -> Vec<u8> {
        self.touched.iter().flat_map(|touched| touched.to_le_bytes()).collect()
    }

    /// The reverse of [`Channels::checkpoint`]; false where it is not one of these.
    pub(super) fn restore(&mut self, checkpoint: &[u8]) -> bool {
        let (words, rest) = checkpoint.as_chunks::<8>();
        let fits = rest.is_empty() && words.len() == self.touched.len();
        if fits {
            self.touched.iter_mut().zip(words).for_each(|(to, word)| *to = f64::from_le_bytes(*word));
        }
        fits
    }
}

/// The joint that most of every point of a mesh belongs to.
fn strongest(mesh: &Mesh) -> Vec<usize> {
    let Some(skin) = &mesh.skin else { return vec![usize::MAX; mesh.point_count()] };
    let of = |row: &Vec<(u32, f32)>| {
        let best = row.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        best.and_then(|(bind, _)| skin.binds.get(*bind as usize)).map_or(usize::MAX, |bind| bind.0)
    };
    skin.influences.iter().map(of).collect()
}
