//! `followthrough.Clip`: an animation.

use std::path::PathBuf;
use std::sync::Arc;

use followthrough::clip::{self, Clip, Files, Frame, Frames, Grid, ReadOptions, WriteOptions};
use followthrough::layers::Physics;
use followthrough::{samples, shot};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{points_array, shaped};
use crate::error::{Said, guarded, said};
use crate::from_arrays::{self, Extras};
use crate::points::Points;

/// An animation: meshes whose faces stay what they are, perhaps a skeleton, and frames at a fixed rate. Metres, Y up.
///
/// Frames come from a file, an array or a bake, one at a time.
#[pyclass(name = "Clip", module = "followthrough", frozen)]
pub(crate) struct PyClip {
    pub(crate) clip: Arc<Clip>,
}

impl From<Clip> for PyClip {
    fn from(clip: Clip) -> Self {
        Self { clip: Arc::new(clip) }
    }
}

impl PyClip {
    /// The mesh that is meant: by name, by number, or the only one.
    fn mesh(&self, mesh: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let count = self.clip.meshes.len();
        let Some(mesh) = mesh.filter(|mesh| !mesh.is_none()) else {
            return match count {
                1 => Ok(0),
                _ => Err(said(
                    Said::new(format!("the clip has {count} meshes"))
                        .help("name one: clip.points(\"skirt\")"),
                )),
            };
        };
        if let Ok(index) = mesh.extract::<usize>() {
            let what = format!("there is no mesh {index}; there are {count}, counted from 0");
            return Some(index).filter(|&index| index < count).ok_or_else(|| said(Said::new(what)));
        }
        let name: String = mesh.extract()?;
        let known = self.clip.meshes.iter().map(|mesh| mesh.name.clone());
        let unknown = || said(clip::Error::no_such_name("mesh", &name, "the clip", known));
        self.clip.mesh_index(&name).ok_or_else(unknown)
    }
}

#[pymethods]
impl PyClip {
    /// A clip from arrays.
    ///
    /// `points` names meshes; each is an array of (frames, points, 3) in metres, of (points, 3) for a mesh that stands still, or a
    /// generator of arrays of (points, 3), which is pulled frame by frame into a file and never held whole. Points are float32; float64
    /// is rounded. `faces` has the same names: an array of (faces, corners), a list of lists, or a pair of arrays, the number of corners
    /// of each face and all corners after each other. `rest` are undeformed points (default: the first frame), `groups` weights by
    /// name for each mesh, `uvs` texture coordinates of each point.
    ///
    /// >>> import numpy as np, followthrough as ft
    /// >>> points = np.zeros((10, 4, 3), dtype="float32")
    /// >>> points[:, :, 0], points[:, :, 1] = [0, 1, 1, 0], [0, 0, 1, 1]
    /// >>> clip = ft.Clip.from_arrays({"flag": points}, {"flag": [[0, 1, 2, 3]]}, groups={"flag": {"hoist": [1.0, 0.0, 0.0, 1.0]}})
    /// >>> clip
    /// <followthrough.Clip 'clip': 10 frames at 24 fps, flag (4 points)>
    /// >>> clip.points("flag")[9][2]
    /// array([1., 1., 0.], dtype=float32)
    #[staticmethod]
    #[pyo3(signature = (points, faces, frame_rate=24.0, *, name="clip", rest=None, groups=None, uvs=None))]
    fn from_arrays(
        points: &Bound<'_, PyDict>,
        faces: &Bound<'_, PyDict>,
        frame_rate: f64,
        name: &str,
        rest: Option<&Bound<'_, PyDict>>,
        groups: Option<&Bound<'_, PyDict>>,
        uvs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let extras = Extras { rest, groups, uvs };
        Ok(from_arrays::clip(points, faces, frame_rate, name, &extras)?.into())
    }

    /// Reads a file: .glb, .gltf, .obj, .pc2, .mdd, .bvh, .usd, .usdc, .usda, .usdz, .abc, .fbx, and a sequence as `flag.####.obj`.
    ///
    /// `clip` names an animation of a file that holds several, `frame_rate` is that at which it is sampled, `unit` the metres of
    /// one unit of the file. What a file names must lie in its own folder unless `allow_outside`.
    #[staticmethod]
    #[pyo3(signature = (path, *, clip=None, frame_rate=None, unit=None, mesh=None, cache=None, allow_outside=false))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        clip: Option<String>,
        frame_rate: Option<f64>,
        unit: Option<f64>,
        mesh: Option<PathBuf>,
        cache: Option<PathBuf>,
        allow_outside: bool,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            clip,
            frame_rate_hz: frame_rate,
            unit_in_metres: unit,
            mesh,
            cache,
            files: Files::default().allow_outside(allow_outside),
            ..ReadOptions::default()
        };
        Ok(guarded(py, || clip::read(&path, &options))?.map_err(said)?.into())
    }

    /// An animation that comes with followthrough.
    ///
    /// >>> import followthrough as ft
    /// >>> ft.Clip.sample("flag").meshes
    /// ['flag', 'pole']
    #[staticmethod]
    fn sample(py: Python<'_>, name: &str) -> PyResult<Self> {
        let Some(sample) = samples::by_name(name) else {
            let known = samples::all().iter().map(|sample| sample.name);
            let help = shot::suggest(name, known);
            return Err(said(Said::new(format!("there is no sample `{name}`")).help(help)));
        };
        Ok(guarded(py, sample.make)?.into())
    }

    /// A clip whose file is in a folder that is removed when nobody needs the frames any more.
    #[staticmethod]
    fn _read_temporary(
        py: Python<'_>,
        folder: PathBuf,
        file: &str,
        frame_rate: Option<f64>,
    ) -> PyResult<Self> {
        let folder = Arc::new(Temporary(folder));
        let options = ReadOptions { frame_rate_hz: frame_rate, ..ReadOptions::default() };
        let path = folder.0.join(file);
        let clip = guarded(py, || clip::read(&path, &options))?.map_err(said)?;
        let frames = Arc::new(Kept { frames: clip.frames().clone(), _folder: folder });
        Ok(clip.with_frames(frames).into())
    }

    /// What the file or the artist calls it.
    #[getter]
    fn name(&self) -> &str {
        &self.clip.name
    }

    /// Frames per second.
    #[getter]
    fn frame_rate(&self) -> f64 {
        self.clip.frame_rate_hz
    }

    /// How many frames there are.
    #[getter]
    fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }

    /// The names of the meshes.
    #[getter]
    fn meshes(&self) -> Vec<String> {
        self.clip.meshes.iter().map(|mesh| mesh.name.clone()).collect()
    }

    /// The names of the joints, parents before children; empty without a skeleton.
    #[getter]
    fn joints(&self) -> Vec<String> {
        let joints = self.clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        joints.map(|joint| joint.name.clone()).collect()
    }

    /// What the reader had to leave out, a sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.clip.warnings.clone()
    }

    /// The points of a mesh at every frame; of the only mesh without a name.
    ///
    /// >>> import followthrough as ft
    /// >>> flag = ft.Clip.sample("flag").points("flag")
    /// >>> flag[0].shape == flag.shape[1:]
    /// True
    #[pyo3(signature = (mesh=None))]
    fn points(&self, mesh: Option<&Bound<'_, PyAny>>) -> PyResult<Points> {
        Ok(Points { clip: self.clip.clone(), mesh: self.mesh(mesh)? })
    }

    /// The undeformed points of a mesh, (points, 3).
    #[pyo3(signature = (mesh=None))]
    fn rest<'py>(&self, py: Python<'py>, mesh: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        Ok(points_array(py, self.clip.meshes[self.mesh(mesh)?].rest_points.clone())?.into_any())
    }

    /// The faces of a mesh: the number of corners of each, and all corners after each other, as `from_arrays` takes them.
    #[pyo3(signature = (mesh=None))]
    fn faces<'py>(
        &self,
        py: Python<'py>,
        mesh: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
        let mesh = &self.clip.meshes[self.mesh(mesh)?];
        let counts = mesh.faces.iter().map(|face| face.len() as u32).collect();
        let corners =
            mesh.faces.corners().iter().map(|&corner| mesh.vertex_points[corner as usize]).collect();
        Ok((PyArray1::from_vec(py, counts), PyArray1::from_vec(py, corners)))
    }

    /// The groups of a mesh: a weight for every point, by name.
    #[pyo3(signature = (mesh=None))]
    fn groups<'py>(&self, py: Python<'py>, mesh: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
        let groups = PyDict::new(py);
        for group in &self.clip.meshes[self.mesh(mesh)?].groups {
            groups.set_item(&group.name, PyArray1::from_slice(py, &group.weights))?;
        }
        Ok(groups)
    }

    /// `world_from_joint` of every joint at a frame: float32 of (joints, 4, 4), rows first, as `Player.step` takes them.
    fn joint_matrices<'py>(&self, py: Python<'py>, frame: usize) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let Some(skeleton) = &self.clip.skeleton else {
            return Err(said(Said::new("the clip has no skeleton")));
        };
        let pose = guarded(py, || self.clip.frame(frame))?.map_err(said)?.pose;
        let matrices = skeleton.world_from_joints(&pose);
        let numbers = matrices.iter().flat_map(|matrix| matrix.transpose().to_cols_array()).collect();
        shaped(py, numbers, &[matrices.len(), 4, 4])
    }

    /// What the ground gives the feet of the clip's figure, by physics: a dict with the names of its `feet`, `force` in newtons and
    /// `place`, the centre of pressure in metres (NaN where a foot bears nothing), both of (frames, feet, 3), and its `mass` in kg.
    fn ground_forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let physics = guarded(py, || Physics::of(&self.clip))?.map_err(said)?;
        let frames = self.clip.frame_count();
        let found =
            guarded(py, || (0..frames).flat_map(|frame| physics.ground_forces(frame)).collect::<Vec<_>>())?;
        let feet = physics.foot_names();
        let shape = [frames, feet.len(), 3];
        let nowhere = [f64::NAN; 3];
        let places = found.iter().flat_map(|foot| foot.place.map_or(nowhere, |place| place.to_array()));
        let dict = PyDict::new(py);
        dict.set_item("feet", feet)?;
        dict.set_item("mass", physics.mass())?;
        dict.set_item(
            "force",
            shaped(py, found.iter().flat_map(|foot| foot.force.to_array()).collect(), &shape)?,
        )?;
        dict.set_item("place", shaped(py, places.collect(), &shape)?)?;
        Ok(dict)
    }

    /// Writes a file; the ending names the format: .glb, .obj, .pc2, .mdd, .bvh, .usdc, .usd, .usda, .usdz, .abc. Gives back all files
    /// that were written.
    #[pyo3(signature = (path, *, start_frame=None, unit=None, normals=true, velocities=false))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        start_frame: Option<u32>,
        unit: Option<f64>,
        normals: bool,
        velocities: bool,
    ) -> PyResult<Vec<PathBuf>> {
        let options = WriteOptions {
            start_frame,
            unit_in_metres: unit,
            normals,
            velocities,
            ..WriteOptions::default()
        };
        Ok(guarded(py, || clip::write(&path, &self.clip, &options))?.map_err(said)?.files)
    }

    fn __len__(&self) -> usize {
        self.clip.frame_count()
    }

    fn __repr__(&self) -> String {
        let Clip { name, frame_rate_hz, meshes, skeleton, .. } = &*self.clip;
        let mut parts = vec![format!("{} frames at {frame_rate_hz} fps", self.clip.frame_count())];
        parts.extend(
            meshes.iter().take(4).map(|mesh| format!("{} ({} points)", mesh.name, mesh.point_count())),
        );
        if meshes.len() > 4 {
            parts.push(format!("{} more meshes", meshes.len() - 4));
        }
        parts.extend(skeleton.as_ref().map(|skeleton| format!("{} joints", skeleton.joints.len())));
        format!("<followthrough.Clip '{name}': {}>", parts.join(", "))
    }
}

/// A folder that goes when nobody needs it.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // what cannot be removed is left to the system
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Frames and the folder that they are read from.
struct Kept {
    frames: Arc<dyn Frames>,
    _folder: Arc<Temporary>,
}

impl Frames for Kept {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        self.frames.read(index)
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<Grid>> {
        self.frames.grids(index)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(index)
    }
}
