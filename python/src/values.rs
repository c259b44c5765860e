//! Values in and out: JSON as Python has it, Python's values as a shot file writes them.

use followthrough::shot::FrameRange;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value;

use crate::error::{Said, said};

/// JSON as dicts, lists, numbers and strings.
pub(crate) fn python_of(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Null => py.None(),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any().unbind(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into_pyobject(py)?.into_any().unbind(),
            None => number.as_f64().into_pyobject(py)?.into_any().unbind(),
        },
        Value::String(text) => PyString::new(py, text).into_any().unbind(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(python_of(py, item)?)?;
            }
            list.into_any().unbind()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, python_of(py, value)?)?;
            }
            dict.into_any().unbind()
        }
    })
}

/// A value as a shot file writes it. Numbers of NumPy count as numbers.
pub(crate) fn toml_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        // `{:?}` keeps the point: 3.0 is no whole number
        return Ok(if number.is_nan() { "nan".into() } else { format!("{number:?}") });
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(quoted(&text.to_string_lossy()));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok(format!("{} = {}", quoted(&key.str()?.to_string_lossy()), toml_of(&value)?))
        };
        let entries = dict.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
        return Ok(format!("{{ {} }}", entries.join(", ")));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| toml_of(&item?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(format!("[{}]", items.join(", ")));
    }
    if let Ok(path) = value.call_method0("__fspath__") {
        return toml_of(&path);
    }
    // arrays and numbers of NumPy
    if let Ok(plain) = value.call_method0("tolist")
        && !plain.is(value)
    {
        return toml_of(&plain);
    }
    let kind = value.get_type().name()?.to_string();
    Err(said(
        Said::new(format!("a shot file has no values of type {kind}"))
            .help("give a number, a text, a bool, a list or a dict"),
    ))
}

/// A text in TOML's quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            c if c.is_control() => quoted += &format!("\\u{:04X}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A range of frames: `"0-48"`, or the first and the last.
pub(crate) fn frame_range(value: &Bound<'_, PyAny>) -> PyResult<FrameRange> {
    if let Ok(text) = value.extract::<String>() {
        let range = text.parse::<FrameRange>();
        return range.map_err(|problem| said(Said::new(format!("frames {text:?}: {problem}"))));
    }
    let Ok((first, last)) = value.extract::<(usize, usize)>() else {
        return Err(PyTypeError::new_err("frames are given as \"0-48\" or (0, 48): the first and the last"));
    };
    format!("{first}-{last}")
        .parse::<FrameRange>()
        .map_err(|problem| said(Said::new(format!("frames: {problem}"))))
}
