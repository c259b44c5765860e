//! followthrough in Python: the module `followthrough._followthrough`, which the package `followthrough` shows to the world.
//!
//! A thin door: clips, shots and bakes are those of the library; what lives here is what only Python has (arrays, exceptions, the
//! interpreter's lock, Ctrl-C). Nothing panics across: what does is an `Error` that says so.

mod arrays;
mod bake;
mod clip;
mod compare;
mod error;
mod from_arrays;
mod operator;
mod player;
mod points;
mod progress;
mod shot;
mod spool;
mod values;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `followthrough` with these words, the first of which is its own name; gives back its exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    error::guarded(py, || followthrough::command::run(words))
}

/// The JSON Schema (draft 7) of shot files: every layer, its dials, their bounds and what they mean.
///
/// >>> import followthrough as ft
/// >>> ft.schema()["properties"]["input"]["type"]
/// 'object'
#[pyfunction]
fn schema(py: Python<'_>) -> PyResult<Py<PyAny>> {
    values::python_of(py, &error::guarded(py, followthrough::schema)?)
}

/// The names of the animations that come with followthrough, for `Clip.sample`.
///
/// >>> import followthrough as ft
/// >>> "flag" in ft.samples()
/// True
#[pyfunction]
fn samples() -> Vec<&'static str> {
    followthrough::samples::all().iter().map(|sample| sample.name).collect()
}

#[pymodule]
fn _followthrough(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", error::exception(py)?)?;
    module.add_class::<clip::PyClip>()?;
    module.add_class::<points::Points>()?;
    module.add_class::<shot::PyShot>()?;
    module.add_class::<bake::PyBake>()?;
    module.add_class::<progress::Progress>()?;
    module.add_class::<operator::PyOperator>()?;
    module.add_class::<player::PyPlayer>()?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(samples, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
