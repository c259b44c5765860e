//! The points of one mesh over time: a sequence of arrays, each read when it is asked for.

use std::sync::Arc;

use followthrough::clip::Clip;
use numpy::{PyArray2, PyArrayDyn};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::arrays::{Point, points_array, shaped};
use crate::error::{Said, guarded, said};

/// The points of a mesh at every frame, as `Clip.points` gives them: `points[48]` is a float32 array of (points, 3) in metres, read from
/// the file or the bake when it is asked for; `points[10:20]` is one of (10, points, 3), and `numpy.asarray(points)` all of them.
#[pyclass(name = "Points", module = "followthrough", frozen, sequence)]
pub(crate) struct Points {
    pub(crate) clip: Arc<Clip>,
    pub(crate) mesh: usize,
}

impl Points {
    fn frame(&self, py: Python<'_>, index: usize) -> PyResult<Vec<Point>> {
        let frame = guarded(py, || self.clip.frame(index))?.map_err(said)?;
        let points = frame.points.into_iter().nth(self.mesh);
        points.ok_or_else(|| said(Said::new(format!("frame {index} has no such mesh"))))
    }

    fn stacked<'py>(
        &self,
        py: Python<'py>,
        frames: impl ExactSizeIterator<Item = usize>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let shape = [frames.len(), self.clip.meshes[self.mesh].point_count(), 3];
        let mut all = Vec::with_capacity(shape.iter().product());
        for frame in frames {
            all.extend_from_slice(self.frame(py, frame)?.as_flattened());
        }
        shaped(py, all, &shape)
    }
}

#[pymethods]
impl Points {
    /// (frames, points, 3).
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        (self.clip.frame_count(), self.clip.meshes[self.mesh].point_count(), 3)
    }

    fn __len__(&self) -> usize {
        self.clip.frame_count()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.clip.frame_count();
        if let Ok(slice) = index.cast::<PySlice>() {
            let part = slice.indices(count as isize)?;
            let frames = (0..part.slicelength).map(|k| (part.start + k as isize * part.step) as usize);
            return Ok(self.stacked(py, frames)?.into_any());
        }
        let index: isize = index
            .extract()
            .map_err(|_| PyTypeError::new_err("a frame is a whole number or a slice of them"))?;
        let from_end = if index < 0 { index + count as isize } else { index };
        if from_end < 0 || from_end >= count as isize {
            return Err(PyIndexError::new_err(format!("frame {index} was asked for, but there are {count}")));
        }
        let points: Bound<'py, PyArray2<f32>> = points_array(py, self.frame(py, from_end as usize)?)?;
        Ok(points.into_any())
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "points are read from a file: without a copy there is no array",
            ));
        }
        let all = self.stacked(py, 0..self.clip.frame_count())?.into_any();
        match dtype {
            Some(dtype) => all.call_method1("astype", (dtype,)),
            None => Ok(all),
        }
    }

    fn __repr__(&self) -> String {
        let (frames, points, _) = self.shape();
        format!(
            "<followthrough.Points of {:?}: {frames} frames, {points} points>",
            self.clip.meshes[self.mesh].name
        )
    }
}
