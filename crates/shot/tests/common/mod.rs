//! Tiny layers that prove the pipeline: one with state that fails on demand, one that looks ahead.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{
    BakeOptions, Diagnostic, FrameResult, Layer, LayerError, Reader, Registry, Settings, Shot, Simulation,
    Target,
};

/// Every point hangs on its input by a damped spring: second-order state that remembers the whole past.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lag {
    /// How many times a second a point swings.
    #[serde(default = "default_frequency")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub(crate) frequency: f64,
    /// Where the points are held.
    #[serde(default)]
    pub(crate) follow: Follow,
    /// The cloth it is like.
    #[serde(default)]
    pub(crate) material: Material,
    /// Breaks at this frame, if given.
    #[serde(default)]
    pub(crate) break_at: Option<usize>,
    /// Gives NaN at this frame, if given.
    #[serde(default)]
    pub(crate) nan_at: Option<usize>,
    /// Reads the last frame when it is prepared, though `look_ahead` does not say so, and passes over its absence.
    #[serde(default)]
    pub(crate) peek: bool,
    /// Seconds that it takes to be prepared.
    #[serde(default)]
    pub(crate) slow: f64,
    /// Seconds that its third frame takes, at which it looks at nothing else.
    #[serde(default)]
    pub(crate) slow_frame: f64,
}

fn default_frequency() -> f64 {
    2.0
}

/// Which points follow the input.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Follow {
    /// The vertex group that stays on the input.
    pub(crate) group: Option<String>,
}

/// What it is made of.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Material {
    /// Thin and smooth.
    Silk,
    /// Everyday cloth.
    #[default]
    Cotton,
    /// Stiff.
    Denim,
}

impl Settings for Lag {
    const KIND: &'static str = "lag";
    const SUMMARY: &'static str = "points swing about their input";
    const VERSION: u32 = 1;
}

impl Layer for Lag {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mesh = input.mesh();
        let unknown = self.follow.group.iter().filter(|name| mesh.group(name).is_none());
        let known = || mesh.groups.iter().map(|group| group.name.as_str());
        unknown.map(|name| Diagnostic::unknown("follow.group", "vertex group", name, known())).collect()
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        std::thread::sleep(std::time::Duration::from_secs_f64(self.slow));
        if self.peek {
            let _ = input.points(input.clip.frame_count() - 1);
        }
        let threads = rayon::current_num_threads();
        let (settings, input) = (self.clone(), input.clone());
        Ok(Box::new(Lagging { settings, input, x: Vec::new(), v: Vec::new(), threads: [threads, 0] }))
    }
}

struct Lagging {
    settings: Lag,
    input: Target,
    x: Vec<f64>,
    v: Vec<f64>,
    /// That it was prepared on, and that it makes frames on.
    threads: [usize; 2],
}

impl Simulation for Lagging {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        if self.settings.break_at == Some(index) {
            return Err(LayerError::new("the spring broke").with_help("lower `frequency`"));
        }
        if index == 2 {
            std::thread::sleep(std::time::Duration::from_secs_f64(self.settings.slow_frame));
        }
        let guide: Vec<f64> = self.input.points(index)?.iter().flatten().map(|x| f64::from(*x)).collect();
        if index == 0 {
            self.v = vec![0.0; guide.len()];
            self.x = guide.clone();
        }
        self.threads[1] = rayon::current_num_threads();
        let dt = 1.0 / self.input.clip.frame_rate_hz;
        let omega = std::f64::consts::TAU * self.settings.frequency;
        for i in 0..guide.len() {
            // gravity makes a still input move
            let gravity = if i % 3 == 1 { -9.81 } else { 0.0 };
            let force = gravity - omega * omega * (self.x[i] - guide[i]) - 0.3 * omega * self.v[i];
            self.v[i] += dt * force;
            self.x[i] += dt * self.v[i];
        }
        let mut points: Vec<[f32; 3]> =
            self.x.chunks_exact(3).map(|x| [x[0] as f32, x[1] as f32, x[2] as f32]).collect();
        if self.settings.nan_at == Some(index) {
            points[7][1] = f32::NAN;
        }
        let mut result = FrameResult::from(self.input.with_points(index, points)?);
        let energy: f64 = self.v.iter().map(|v| 0.5 * v * v).sum();
        result.figures.add("energy/kinetic", "J", energy);
        result.figures.add("substeps", "", 1.0);
        if index == 1 {
            result.warnings.push("it begins to swing near (0.100, 0.200, 0.300)".into());
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.x.iter().chain(&self.v).flat_map(|x| x.to_le_bytes()).collect()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let all: Vec<f64> = checkpoint
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect();
        let (x, v) = all.split_at(all.len() / 2);
        (self.x, self.v) = (x.to_vec(), v.to_vec());
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let threads = format!("{:?}", self.threads);
        vec![("unknowns".into(), self.x.len().to_string()), ("threads".into(), threads)]
    }
}

/// The mean of the frames around each: looks ahead and has no state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mean {
    /// How far it looks, in seconds.
    #[serde(default = "default_window")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub(crate) window: f64,
    /// Whether it asks how many frames there are, instead of whether there is a next one.
    #[serde(default)]
    pub(crate) counts: bool,
}

fn default_window() -> f64 {
    0.05
}

impl Settings for Mean {
    const KIND: &'static str = "smooth";
    const SUMMARY: &'static str = "the mean of neighbouring frames";
    const VERSION: u32 = 1;
}

impl Layer for Mean {
    fn look_ahead(&self, input: &Target) -> usize {
        (3.0 * self.window * input.clip.frame_rate_hz).ceil() as usize
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let (ahead, counts) = (self.look_ahead(input), self.counts);
        Ok(Box::new(Averaging { ahead, counts, input: input.clone() }))
    }
}

struct Averaging {
    input: Target,
    ahead: usize,
    counts: bool,
}

impl Simulation for Averaging {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let last = match self.counts {
            true => (index + self.ahead).min(self.input.clip.frame_count() - 1),
            false => (index..=index + self.ahead).rev().find(|at| self.input.clip.has_frame(*at)).unwrap(),
        };
        let first = index.saturating_sub(self.ahead);
        let mut points = self.input.points(first)?;
        for frame in first + 1..=last {
            let other = self.input.points(frame)?;
            points.as_flattened_mut().iter_mut().zip(other.as_flattened()).for_each(|(a, b)| *a += b);
        }
        let count = (last + 1 - first) as f32;
        points.as_flattened_mut().iter_mut().for_each(|x| *x /= count);
        Ok(self.input.with_points(index, points)?.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }
}

pub(crate) fn registry() -> Registry {
    Registry::empty()
        .with::<Mean>()
        .with::<Lag>()
        .with_sample("flag", samples::flag)
        .with_sample("curtain", samples::curtain)
}

pub(crate) fn parse(text: &str) -> Shot {
    match Reader::new(registry()).parse("test.toml", text, Path::new("")) {
        Ok(shot) => shot,
        Err(error) => panic!("{:?}", miette::Report::new(error)),
    }
}

pub(crate) fn options(out: &Path) -> BakeOptions {
    BakeOptions { out: Some(out.to_owned()), ..BakeOptions::default() }
}

/// Every frame file of every layer below a folder, with its bytes.
pub(crate) fn frame_files(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for layer in std::fs::read_dir(out.join(".bake")).into_iter().flatten().flatten() {
        for entry in std::fs::read_dir(layer.path()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("frame-") {
                let relative = entry.path().strip_prefix(out).expect("below").to_owned();
                files.push((relative, std::fs::read(entry.path()).expect("readable")));
            }
        }
    }
    files.sort();
    files
}
