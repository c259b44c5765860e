//! A prior: how people move, learnt from takes.
//!
//! Generalised forces u of takes that obey physics are a function of the state, u = g(q, q̇) (paper eq. 4): states and forces in their
//! principal components, 95 % of the energy, and a sparse Gaussian process between them. The motion that is looked for is then the one
//! with the largest likelihood; at every frame, with z the components of the forces and y those of the state,
//!
//! ```text
//! −2 ln p = Σ_k ( (z_k − μ_k(y))²/σ_k²(y) + ln σ_k²(y)/σ_n² ) + ‖r_s‖²/σ_s² + ‖r_u‖²/σ_u²
//! ```
//!
//! where r_s and r_u are what lies outside of the principal components (paper eq. 11). Differs: σ_s and σ_u are those of the data, not
//! weights; the logarithm is a row of Gauss–Newton's system as its square root.

mod articulation;
mod example;
mod experts;
mod field;
mod file;
mod likelihood;
mod minimise;
mod mixture;
mod pose;
mod process;
mod start;
mod state;
mod subspace;

use geometry::Quat;

pub use self::example::Example;
pub(crate) use self::example::flags;
pub use self::field::FieldArrow;
pub(crate) use self::likelihood::PriorRows;
pub use self::likelihood::{Guide, Likelihood, Manner};
pub(crate) use self::mixture::Mixture;
pub(crate) use self::pose::Poses;
pub(crate) use self::start::Wanted;

use self::articulation::Articulation;
use self::experts::Experts;
use self::process::{Effort, Samples};
use self::state::View;
use self::subspace::Subspace;
use crate::body::Body;
use crate::error::Error;
use crate::rotation::log;
use crate::take::{Build, Take};

/// Share of the energy that principal components keep.
const ENERGY: f64 = 0.95;

/// How people move, learnt from takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    articulation: Articulation,
    /// Mean rotation of every ball.
    means: Vec<Quat>,
    states: Subspace,
    forces: Subspace,
    process: Experts,
    library: Library,
    /// Whether forces are contact forces and torques, apart.
    apart: bool,
}

/// The states that were learnt from, one take after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Library {
    pub(crate) frame_rate_hz: f64,
    /// The first frame of each take.
    pub(crate) starts: Vec<usize>,
    /// Components of states, by rows.
    pub(crate) states: Vec<f64>,
    /// Which points of the soles rest, a bit for each.
    pub(crate) resting: Vec<u32>,
}

/// How a prior is learnt.
#[derive(Clone, Debug)]
pub struct Learning {
    /// How takes get their masses.
    pub build: Build,
    /// Samples that stand for all in the process: more are nearer to the exact one and slower.
    pub inducing: usize,
    /// The most frames of one process; of more, heaps of states each have one of their own.
    pub most: usize,
    /// Whether contact forces and joint torques are learnt apart, instead of all generalised forces together: where plates were measured, or where
    /// a solve's division between two feet is to be trusted.
    pub apart: bool,
}

impl Default for Learning {
    fn default() -> Self {
        Self { build: Build::default(), inducing: 300, most: 20_000, apart: false }
    }
}

/// What a prior is made of, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Frames that were learnt from.
    pub frames: usize,
    /// Takes.
    pub takes: usize,
    /// Joints that turn.
    pub balls: usize,
    /// Principal components of states.
    pub states: usize,
    /// Principal components of forces.
    pub forces: usize,
    /// Processes, each of its own states.
    pub experts: usize,
    /// Inducing samples of all of them.
    pub inducing: usize,
}

impl Prior {
    /// Learns from takes: smooths them (equation 3), then learns. All have the same skeleton and the same frame rate.
    pub fn learn(takes: &[Take], learning: &Learning) -> Result<Self, Error> {
        let build = Self::build(takes, &learning.build)?;
        let examples = takes.iter().map(|take| Example::of(take, &build)).collect::<Result<Vec<_>, _>>()?;
        Self::from_examples(takes, &examples, learning)
    }

    /// The build of examples: joints that turn in one take turn in all.
    pub fn build(takes: &[Take], build: &Build) -> Result<Build, Error> {
        let articulation = Articulation::of(takes, build)?;
        Ok(Build { balls: articulation.balls, ..build.clone() })
    }

    /// Learns from takes that are smoothed already.
    pub fn from_examples(takes: &[Take], examples: &[Example], learning: &Learning) -> Result<Self, Error> {
        let articulation = Articulation::of(takes, &learning.build)?;
        let frame_rate_hz = takes[0].frame_rate_hz;
        if let Some(other) = takes.iter().find(|take| (take.frame_rate_hz - frame_rate_hz).abs() > 1e-6) {
            let expected = "all takes of a prior have the same";
            return Err(Error::Value { what: "a take's frame rate", value: other.frame_rate_hz, expected });
        }
        let joints = articulation.joints();
        let means = means(examples, &joints);
        let (mut states, mut forces, mut resting, mut starts) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for example in examples {
            starts.push(states.len());
            let view = View::new(&example.body, &joints, &means, example.body.mass()).apart(learning.apart);
            let spoken = example.forces_of(learning.apart);
            for frame in 0..example.moments.len() {
                states.push(view.state(&example.moments[frame], &example.terrain));
                forces.push(view.force(&example.moments[frame].q, &spoken[frame]));
                resting.push(example.resting[frame]);
            }
        }
        if states.len() < 20 {
            return Err(Error::TooShort { frames: states.len(), needed: 20 });
        }
        let first = &examples[0];
        let view = View::new(&first.body, &joints, &means, first.body.mass()).apart(learning.apart);
        let state_space = Subspace::fit(&states, state_scale(&states, view.pose_size()), ENERGY)?;
        let force_space = Subspace::fit(&forces, first.force_scale(&view), ENERGY)?;
        let inputs: Vec<Vec<f64>> = states.iter().map(|s| state_space.coordinates(s)).collect();
        let outputs: Vec<Vec<f64>> =
            forces.iter().map(|g| whitened(&force_space, &force_space.coordinates(g))).collect();
        let effort = Effort { inducing: learning.inducing.max(1), ..Effort::default() };
        let samples = Samples { inputs: &inputs, outputs: &outputs };
        let process = Experts::learn(samples, &effort, learning.most)?;
        let library = Library { frame_rate_hz, starts, states: inputs.concat(), resting };
        let apart = learning.apart;
        Ok(Self { articulation, means, states: state_space, forces: force_space, process, library, apart })
    }

    /// What it is made of.
    pub fn size(&self) -> Size {
        Size {
            frames: self.library.resting.len(),
            takes: self.library.starts.len(),
            balls: self.means.len(),
            states: self.states.dimension(),
            forces: self.forces.dimension(),
            experts: self.process.experts.len(),
            inducing: self.process.center_count(),
        }
    }

    /// Whether a take is of the skeleton that it was learnt from.
    pub fn check(&self, take: &Take) -> Result<(), Error> {
        self.articulation.check(take)
    }

    /// A build whose joints turn as the prior's do.
    pub fn built(&self, build: &Build) -> Build {
        Build { balls: self.articulation.balls.clone(), ..build.clone() }
    }

    /// How wrong its forces are on an example: root mean square of the error over that of the forces about their mean, both in
    /// principal components; 0 is perfect, 1 knows nothing.
    pub fn error(&self, example: &Example) -> f64 {
        let view = self.view(&example.body, example.body.mass());
        let (mut wrong, mut all) = (0.0, 0.0);
        for (moment, u) in example.moments.iter().zip(example.forces_of(self.apart)) {
            let y = self.states.coordinates(&view.state(moment, &example.terrain));
            let z = self.forces.coordinates(&view.force(&moment.q, u));
            let mean = self.process.predict(&y, false).mean;
            for k in 0..z.len() {
                wrong += (z[k] - mean[k] * self.forces.spread[k]).powi(2);
                all += z[k] * z[k];
            }
        }
        (wrong / all.max(1e-300)).sqrt()
    }

    pub(crate) fn view(&self, body: &Body, mass: f64) -> View {
        View::new(body, &self.articulation.joints(), &self.means, mass).apart(self.apart)
    }
}

/// Components over their deviations.
fn whitened(space: &Subspace, coordinates: &[f64]) -> Vec<f64> {
    coordinates.iter().zip(&space.spread).map(|(z, spread)| z / spread).collect()
}

/// Poses count in radians and metres; velocities so that all of them together vary as much as poses do.
fn state_scale(states: &[Vec<f64>], poses: usize) -> Vec<f64> {
    let size = states[0].len();
    let count = states.len() as f64;
    let variance = |k: usize| {
        let mean = states.iter().map(|s| s[k]).sum::<f64>() / count;
        states.iter().map(|s| (s[k] - mean).powi(2)).sum::<f64>() / count
    };
    let (pose, rate): (f64, f64) = ((0..poses).map(variance).sum(), (poses..size).map(variance).sum());
    let seconds = (pose.max(1e-9) / rate.max(1e-9)).sqrt();
    (0..size).map(|k| if k < poses { 1.0 } else { seconds }).collect()
}

/// Mean rotations of joints over all frames.
fn means(examples: &[Example], joints: &[usize]) -> Vec<Quat> {
    let mean = |&joint: &usize| {
        let turns = || {
            examples.iter().flat_map(move |example| {
                let link = &example.body.links[example.body.placements[joint].link];
                let c = link.first_coordinate;
                example.moments.iter().map(move |moment| Quat::from_slice(&moment.q[c..]))
            })
        };
        let count = turns().count().max(1) as f64;
        let mut mean = turns().next().unwrap_or(Quat::IDENTITY);
        for _ in 0..8 {
            let off = turns().map(|turn| log(mean.conjugate() * turn)).sum::<geometry::Vec3>() / count;
            mean = (mean * Quat::from_scaled_axis(off)).normalize();
        }
        mean
    };
    joints.iter().map(mean).collect()
}

#[cfg(test)]
#[path = "prior/tests.rs"]
mod tests;
