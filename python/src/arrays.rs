//! Arrays in and out. Points are float32; float64 is rounded to it; every order and stride is taken as NumPy means it.

use numpy::ndarray::{ArrayView, ArrayViewD, Axis, IxDyn};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{Said, said};

/// A point.
pub(crate) type Point = [f32; 3];

/// Numbers with a point in them.
pub(crate) enum Floats<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
}

impl<'py> Floats<'py> {
    /// What was given, if it is an array of floats or a list that makes one. `what` begins the sentence where it is not.
    pub(crate) fn of(what: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = array_of(what, value)?;
        if let Ok(single) = array.cast::<PyArrayDyn<f32>>() {
            return Ok(Self::Single(readable(what, single)?));
        }
        if let Ok(double) = array.cast::<PyArrayDyn<f64>>() {
            return Ok(Self::Double(readable(what, double)?));
        }
        let said = Said::new(format!("{what}: an array of {} instead of float32", type_name(&array)));
        Err(said.help("convert it with .astype(\"float32\")").into())
    }

    /// How long it is along each axis.
    pub(crate) fn shape(&self) -> Vec<usize> {
        match self {
            Self::Single(array) => array.shape().to_vec(),
            Self::Double(array) => array.shape().to_vec(),
        }
    }

    /// The part at `index` of the first axis, row by row; the whole without one.
    pub(crate) fn part(&self, index: Option<usize>) -> Vec<f32> {
        match self {
            Self::Single(array) => numbers(part(array.as_array(), index), |x| x),
            Self::Double(array) => numbers(part(array.as_array(), index), |x| x as f32),
        }
    }

    /// The part at `index` as points; the last axis must have been seen to be 3.
    pub(crate) fn points(&self, index: Option<usize>) -> Vec<Point> {
        if let Self::Single(array) = self
            && let Some(slice) = part(array.as_array(), index).to_slice()
        {
            // one copy, as fast as memory goes
            return slice.as_chunks::<3>().0.to_vec();
        }
        self.part(index).as_chunks::<3>().0.to_vec()
    }
}

fn part<T>(array: ArrayViewD<'_, T>, index: Option<usize>) -> ArrayViewD<'_, T> {
    match index {
        Some(index) => array.index_axis_move(Axis(0), index),
        None => array,
    }
}

/// The numbers in C order; a copy of the bytes where they lie so already.
fn numbers<T: Copy>(array: ArrayView<'_, T, IxDyn>, as_single: impl Fn(T) -> f32) -> Vec<f32> {
    match array.as_slice() {
        Some(slice) => slice.iter().map(|&x| as_single(x)).collect(),
        None => array.iter().map(|&x| as_single(x)).collect(),
    }
}

/// Whole numbers, as one array of `dimensions` axes; the shape goes with them.
pub(crate) fn integers(
    what: &str,
    value: &Bound<'_, PyAny>,
    dimensions: usize,
) -> PyResult<(Vec<i64>, Vec<usize>)> {
    let array = array_of(what, value)?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "i" && kind != "u" {
        let said = Said::new(format!("{what}: an array of {} instead of whole numbers", type_name(&array)));
        return Err(said.help("convert it with .astype(\"int32\")").into());
    }
    if array.ndim() != dimensions {
        let shape = shape_text(array.shape());
        return Err(said(Said::new(format!(
            "{what}: the array has the shape {shape}, but {dimensions} axes are needed"
        ))));
    }
    let wide = array.call_method1("astype", ("int64",))?;
    let wide = wide.cast::<PyArrayDyn<i64>>()?.try_readonly().map_err(|_| in_use(what))?;
    Ok((wide.as_array().iter().copied().collect(), wide.shape().to_vec()))
}

/// Fails where a coordinate is not finite.
pub(crate) fn check_finite(points: &[Point], mesh: &str, frame: usize) -> PyResult<()> {
    match followthrough::clip::first_not_finite(points) {
        Some(point) => Err(said(followthrough::clip::Error::NotFinite { mesh: mesh.into(), frame, point })),
        None => Ok(()),
    }
}

/// (points, 3).
pub(crate) fn points_array(py: Python<'_>, points: Vec<Point>) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let count = points.len();
    PyArray1::from_vec(py, points.into_flattened()).reshape([count, 3])
}

/// An array of this shape.
pub(crate) fn shaped<'py, T: Element>(
    py: Python<'py>,
    numbers: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    PyArray1::from_vec(py, numbers).reshape(shape)
}

/// `(10, 3)`.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({}{})", sides.join(", "), if shape.len() == 1 { "," } else { "" })
}

/// What was given as an array.
fn array_of<'py>(what: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let numpy = value.py().import("numpy")?;
    let made = numpy.call_method1("asarray", PyTuple::new(value.py(), [value])?);
    match made.as_ref().map(|made| made.cast::<PyUntypedArray>()) {
        Ok(Ok(array)) => Ok(array.clone()),
        _ => {
            let kind = value.get_type().name()?.to_string();
            Err(said(Said::new(format!("{what}: {kind} is no array, and cannot be made into one"))))
        }
    }
}

fn readable<'py, T: Element>(
    what: &str,
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    array.try_readonly().map_err(|_| in_use(what))
}

fn in_use(what: &str) -> PyErr {
    said(
        Said::new(format!("{what}: the array is being written to"))
            .help("wait until that has ended, or give a copy"),
    )
}

fn type_name(array: &Bound<'_, PyUntypedArray>) -> String {
    let name = array.getattr("dtype").and_then(|kind| kind.str()).map(|name| name.to_string());
    name.unwrap_or_else(|_| "another type".into())
}
