//! `followthrough.Operator`: fine cloth over coarse, as `followthrough train` learns it.

use std::path::PathBuf;

use followthrough::clip::Files;
use followthrough::live::{Detail, Operator};
use numpy::{PyArray2, PyArrayDyn};
use pyo3::prelude::*;

use crate::arrays::{Floats, points_array, shape_text, shaped};
use crate::error::{Said, guarded, said};

/// An operator that was learnt, from a .ftop file: fine points of cloth from coarse ones.
#[pyclass(name = "Operator", module = "followthrough", frozen)]
pub(crate) struct PyOperator {
    operator: Operator<Vec<u8>>,
}

#[pymethods]
impl PyOperator {
    /// Reads a .ftop file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let bytes = guarded(py, || Files::default().read(&path))?.map_err(said)?;
        let operator = guarded(py, || Operator::read(bytes))?;
        let operator =
            operator.map_err(|error| said(Said::new(error.to_string()).at(path.display().to_string())))?;
        Ok(Self { operator })
    }

    /// Points of the coarse cloth at rest, (points, 3).
    #[getter]
    fn coarse_rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        points_array(py, self.operator.coarse_rest().collect())
    }

    /// Points of the fine cloth at rest, (points, 3).
    #[getter]
    fn fine_rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        points_array(py, self.operator.fine_rest().collect())
    }

    /// Triangles of the coarse cloth, (triangles, 3).
    #[getter]
    fn coarse_triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<u32>>> {
        triangles(py, self.operator.coarse_triangles().collect())
    }

    /// Triangles of the fine cloth, (triangles, 3).
    #[getter]
    fn fine_triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<u32>>> {
        triangles(py, self.operator.fine_triangles().collect())
    }

    /// The joints that it hangs on.
    #[getter]
    fn joints(&self) -> Vec<String> {
        self.operator.joints().map(str::to_owned).collect()
    }

    /// Fine points from coarse ones: (fine, 3) from (coarse, 3), or (frames, fine, 3) from (frames, coarse, 3). `detail` is how much of
    /// what was learnt is shown (0 is smooth, 1 as learnt); where a shape is far from all that were learnt it fades, if `fades`.
    #[pyo3(signature = (coarse, *, detail=1.0, fades=true))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        coarse: &Bound<'py, PyAny>,
        detail: f32,
        fades: bool,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let counts = self.operator.counts();
        let given = Floats::of("coarse points", coarse)?;
        let frames: Vec<_> = match given.shape().as_slice() {
            [count, 3] if *count == counts.coarse => vec![given.points(None)],
            [frames, count, 3] if *count == counts.coarse => {
                (0..*frames).map(|frame| given.points(Some(frame))).collect()
            }
            shape => {
                let (shape, count) = (shape_text(shape), counts.coarse);
                let what = format!("coarse points: the array has the shape {shape}");
                return Err(said(
                    Said::new(what).help(format!("it should be ({count}, 3) or (frames, {count}, 3)")),
                ));
            }
        };
        let detail = Detail { strength: detail, fades };
        let work = || {
            let mut scratch = self.operator.scratch();
            let mut all = vec![[0.0_f32; 3]; frames.len() * counts.fine];
            for (coarse, fine) in frames.iter().zip(all.chunks_exact_mut(counts.fine.max(1))) {
                self.operator.apply(coarse, detail, &mut scratch, fine)?;
            }
            Ok::<_, followthrough::live::Error>(all)
        };
        let fine = guarded(py, work)?.map_err(said)?.into_flattened();
        match given.shape().as_slice() {
            [frames, _, _] => shaped(py, fine, &[*frames, counts.fine, 3]),
            _ => shaped(py, fine, &[counts.fine, 3]),
        }
    }

    fn __repr__(&self) -> String {
        let counts = self.operator.counts();
        format!("<followthrough.Operator: {} points to {}, rank {}>", counts.coarse, counts.fine, counts.rank)
    }
}

fn triangles(py: Python<'_>, triangles: Vec<[u32; 3]>) -> PyResult<Bound<'_, PyArrayDyn<u32>>> {
    let count = triangles.len();
    shaped(py, triangles.into_flattened(), &[count, 3])
}
