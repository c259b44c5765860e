//! `followthrough.Player`: flesh in real time, as a game runs it.

use std::path::PathBuf;

use followthrough::character::Player;
use followthrough::clip::Files;
use glam::{DVec3, Mat4};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::{Floats, points_array, shape_text};
use crate::error::{Said, guarded, said};

/// The flesh of a character around its bones, from a .flesh file (`followthrough pack`, `Shot.pack`), stepped in real time.
#[pyclass(name = "Player", module = "followthrough")]
pub(crate) struct PyPlayer {
    player: Player,
}

#[pymethods]
impl PyPlayer {
    /// From the bytes of a .flesh file, as `Shot.pack` gives them.
    #[new]
    fn new(py: Python<'_>, pack: &[u8]) -> PyResult<Self> {
        let pack = pack.to_vec();
        Ok(Self { player: guarded(py, || Player::read(&pack))?.map_err(said)? })
    }

    /// Reads a .flesh file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let pack = guarded(py, || Files::default().read(&path))?.map_err(said)?;
        let player = guarded(py, || Player::read(&pack))?;
        let player =
            player.map_err(|error| said(Said::new(error.to_string()).at(path.display().to_string())))?;
        Ok(Self { player })
    }

    /// The joints, in the order in which `step` wants them.
    #[getter]
    fn joints(&self) -> Vec<String> {
        self.player.kit().joint_names().to_vec()
    }

    /// The meshes of the skin with their numbers of points, in the order of `surface`.
    #[getter]
    fn meshes(&self) -> Vec<(String, usize)> {
        self.player.kit().meshes().to_vec()
    }

    /// Steps to the next frame, so many seconds later, with the joints there: `world_from_joint`, (joints, 4, 4), rows first.
    fn step(&mut self, py: Python<'_>, joints: &Bound<'_, PyAny>, seconds: f64) -> PyResult<()> {
        let pose = self.pose(joints)?;
        let player = &mut self.player;
        guarded(py, || player.step(&pose, seconds))?.map_err(said)
    }

    /// Puts the character there, its flesh at rest.
    fn teleport(&mut self, py: Python<'_>, joints: &Bound<'_, PyAny>) -> PyResult<()> {
        let pose = self.pose(joints)?;
        let player = &mut self.player;
        guarded(py, || player.teleport(&pose))?.map_err(said)
    }

    /// Pushes a point of the skin with a force in newtons during the next step.
    fn push(&mut self, point: usize, force: [f64; 3]) -> PyResult<()> {
        self.player.push(point, DVec3::from(force)).map_err(said)
    }

    /// Holds a point of the skin at a place in metres; lets it go with None.
    #[pyo3(signature = (point, place=None))]
    fn pin(&mut self, point: usize, place: Option<[f64; 3]>) -> PyResult<()> {
        self.player.pin(point, place.map(DVec3::from)).map_err(said)
    }

    /// The points of the skin now, (points, 3) in metres.
    fn surface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let mut points = vec![[0.0; 3]; self.player.kit().point_count()];
        self.player.surface(&mut points);
        points_array(py, points)
    }

    fn __repr__(&self) -> String {
        let kit = self.player.kit();
        format!("<followthrough.Player: {} joints, {} points>", kit.joint_count(), kit.point_count())
    }
}

impl PyPlayer {
    fn pose(&self, joints: &Bound<'_, PyAny>) -> PyResult<Vec<Mat4>> {
        let count = self.player.kit().joint_count();
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
}
