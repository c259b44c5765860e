//! `followthrough.compare`: how far two animations are apart.

use followthrough::Comparison;
use pyo3::prelude::*;

use crate::clip::PyClip;
use crate::error::{guarded, said};
use crate::values::python_of;

/// How far two clips are apart, frame by frame, and how much each is stretched: what `followthrough compare --json` tells.
///
/// >>> import followthrough as ft
/// >>> flag = ft.Clip.sample("flag")
/// >>> ft.compare(flag, flag)["distance"]["max"]
/// 0.0
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, a: &Bound<'_, PyClip>, b: &Bound<'_, PyClip>) -> PyResult<Py<PyAny>> {
    let (a, b) = (&a.get().clip, &b.get().clip);
    let found = guarded(py, || Comparison::of(a, b).map(|found| found.json(a, b)))?.map_err(said)?;
    python_of(py, &found)
}
