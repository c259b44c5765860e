//! `followthrough.Player`: flesh and sculpted shapes in real time, as a game runs them.

use std::path::PathBuf;

use followthrough::character::{self, MorphKit, MorphPlayer, Player};
use followthrough::clip::Files;
use followthrough::layers::Morph;
use followthrough::shot::{LayerEntry, LayerError, Shot};
use glam::{DVec3, Mat4};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Floats, points_array, shape_text};
use crate::error::{Said, guarded, said};

/// A character that moves in real time: the flesh of a `skeleton` layer or the sculpts of a `morph` layer, from a .flesh file
/// (`followthrough pack`, `Shot.pack`) or from a shot (`Shot.player`).
#[pyclass(name = "Player", module = "followthrough")]
pub(crate) struct PyPlayer {
    mover: Mover,
    joints: Vec<String>,
    meshes: Vec<(String, usize)>,
    /// Names of the morph targets whose weights are numbers of the pose, and of the layer's targets.
    channels: Vec<String>,
    targets: Vec<String>,
}

enum Mover {
    Flesh(Box<Player>),
    Morph(Box<MorphPlayer>),
}

impl Mover {
    fn step(&mut self, pose: &[Mat4], channels: &[f64], seconds: f64) -> Result<(), character::Error> {
        match self {
            Self::Flesh(player) => player.step(pose, seconds),
            Self::Morph(player) => player.step(pose, channels, seconds),
        }
    }

    fn teleport(&mut self, pose: &[Mat4], channels: &[f64]) -> Result<(), character::Error> {
        match self {
            Self::Flesh(player) => player.teleport(pose),
            Self::Morph(player) => player.teleport(pose, channels),
        }
    }

    fn joint_count(&self) -> usize {
        match self {
            Self::Flesh(player) => player.kit().joint_count(),
            Self::Morph(player) => player.kit().joint_count(),
        }
    }

    fn point_count(&self) -> usize {
        match self {
            Self::Flesh(player) => player.kit().point_count(),
            Self::Morph(player) => player.kit().point_count(),
        }
    }
}

impl From<Player> for PyPlayer {
    fn from(player: Player) -> Self {
        let kit = player.kit();
        Self {
            joints: kit.joint_names().to_vec(),
            meshes: kit.meshes().to_vec(),
            channels: Vec::new(),
            targets: Vec::new(),
            mover: Mover::Flesh(Box::new(player)),
        }
    }
}

impl From<MorphPlayer> for PyPlayer {
    fn from(player: MorphPlayer) -> Self {
        let (names, report) = (player.kit().names(), player.kit().report());
        Self {
            joints: names.joints.clone(),
            meshes: vec![(names.mesh.clone(), player.kit().point_count())],
            channels: names.channels.clone(),
            targets: report.sculpt_errors.iter().map(|(name, _)| name.clone()).collect(),
            mover: Mover::Morph(Box::new(player)),
        }
    }
}

impl PyPlayer {
    /// Of the first layer of a shot that can be played.
    pub(crate) fn of(shot: &Shot) -> Result<Option<Self>, followthrough::shot::Error> {
        shot.first_of_layers(|entry, target| match morph_of(entry) {
            Some(morph) => morph.player(target).map(|player| Some(player.into())),
            None => match entry.layer.pack(target)? {
                Some(pack) => Player::read(&pack).map(|player| Some(player.into())).map_err(LayerError::new),
                None => Ok(None),
            },
        })
    }

    /// Of packed flesh or packed sculpts.
    fn unpacked(pack: &[u8]) -> Result<Self, character::Error> {
        match MorphKit::is_begun_by(pack) {
            true => MorphPlayer::read(pack).map(Into::into),
            false => Player::read(pack).map(Into::into),
        }
    }

    fn pose(&self, joints: &Bound<'_, PyAny>) -> PyResult<Vec<Mat4>> {
        let count = self.mover.joint_count();
        let given = Floats::of("joints", joints)?;
        if given.shape() != [count, 4, 4] {
            let what = format!("joints: the array has the shape {}", shape_text(&given.shape()));
            return Err(said(
                Said::new(what)
                    .help(format!("it should be ({count}, 4, 4): one matrix for each of `player.joints`")),
            ));
        }
        Ok(given
            .part(None)
            .as_chunks::<16>()
            .0
            .iter()
            .map(|rows| Mat4::from_cols_array(rows).transpose())
            .collect())
    }

    /// The numbers of the pose beside the joints, in the order of `channels`; those that were not given are 0.
    fn numbers(&self, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<f64>> {
        let mut numbers = vec![0.0; self.channels.len()];
        for (name, value) in given.into_iter().flatten() {
            let name = name.str()?.to_string();
            let Some(channel) = self.channels.iter().position(|channel| *channel == name) else {
                let help = followthrough::shot::suggest(&name, self.channels.iter().map(String::as_str));
                let what = format!("the player has no channel `{name}`");
                return Err(said(Said::new(what).at("channels").help(help)));
            };
            numbers[channel] = value.extract()?;
        }
        Ok(numbers)
    }
}

fn morph_of(entry: &LayerEntry) -> Option<Morph> {
    (entry.kind == "morph").then(|| serde_json::from_value(entry.settings.clone()).ok())?
}

#[pymethods]
impl PyPlayer {
    /// From the bytes of a .flesh file, as `Shot.pack` gives them.
    #[new]
    fn new(py: Python<'_>, pack: &[u8]) -> PyResult<Self> {
        let pack = pack.to_vec();
        guarded(py, || Self::unpacked(&pack))?.map_err(said)
    }

    /// Reads a .flesh file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let pack = guarded(py, || Files::default().read(&path))?.map_err(said)?;
        let player = guarded(py, || Self::unpacked(&pack))?;
        player.map_err(|error| said(Said::new(error.to_string()).at(path.display().to_string())))
    }

    /// The joints, in the order in which `step` wants them.
    #[getter]
    fn joints(&self) -> Vec<String> {
        self.joints.clone()
    }

    /// The meshes of the skin with their numbers of points, in the order of `surface`.
    #[getter]
    fn meshes(&self) -> Vec<(String, usize)> {
        self.meshes.clone()
    }

    /// Names of the morph targets whose weights belong to a pose, beside the joints; only `morph` has some.
    #[getter]
    fn channels(&self) -> Vec<String> {
        self.channels.clone()
    }

    /// How much of each target of a `morph` layer there is now, by name; they sum to one.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        if let Mover::Morph(player) = &self.mover {
            for (target, weight) in self.targets.iter().zip(player.weights()) {
                weights.set_item(target, weight)?;
            }
        }
        Ok(weights)
    }

    /// Steps to the next frame, so many seconds later, with the joints there: `world_from_joint`, (joints, 4, 4), rows first; and, by name,
    /// the numbers of the `channels`, 0 where they are not given.
    #[pyo3(signature = (joints, seconds, channels=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        joints: &Bound<'_, PyAny>,
        seconds: f64,
        channels: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (pose, channels) = (self.pose(joints)?, self.numbers(channels)?);
        let mover = &mut self.mover;
        guarded(py, || mover.step(&pose, &channels, seconds))?.map_err(said)
    }

    /// Puts the character there, its flesh at rest.
    #[pyo3(signature = (joints, channels=None))]
    fn teleport(
        &mut self,
        py: Python<'_>,
        joints: &Bound<'_, PyAny>,
        channels: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (pose, channels) = (self.pose(joints)?, self.numbers(channels)?);
        let mover = &mut self.mover;
        guarded(py, || mover.teleport(&pose, &channels))?.map_err(said)
    }

    /// Pushes a point of the skin with a force in newtons during the next step.
    fn push(&mut self, point: usize, force: [f64; 3]) -> PyResult<()> {
        let force = DVec3::from(force);
        match &mut self.mover {
            Mover::Flesh(player) => player.push(point, force),
            Mover::Morph(player) => player.push(point, force),
        }
        .map_err(said)
    }

    /// Holds a point of the skin at a place in metres; lets it go with None. For the flesh of a `skeleton` layer.
    #[pyo3(signature = (point, place=None))]
    fn pin(&mut self, point: usize, place: Option<[f64; 3]>) -> PyResult<()> {
        match &mut self.mover {
            Mover::Flesh(player) => player.pin(point, place.map(DVec3::from)).map_err(said),
            Mover::Morph(_) => Err(said(
                Said::new("the modes of a `morph` layer cannot be pinned")
                    .help("push the point, or take the layer `skeleton`"),
            )),
        }
    }

    /// The points of the skin now, (points, 3) in metres.
    fn surface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let mut points = vec![[0.0; 3]; self.mover.point_count()];
        match &self.mover {
            Mover::Flesh(player) => player.surface(&mut points),
            Mover::Morph(player) => player.surface(&mut points),
        }
        points_array(py, points)
    }

    fn __repr__(&self) -> String {
        let Self { mover, .. } = self;
        format!("<followthrough.Player: {} joints, {} points>", mover.joint_count(), mover.point_count())
    }
}
