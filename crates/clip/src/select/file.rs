//! Weights from a file beside the shot: JSON or CSV.

use std::path::Path;

use serde::Deserialize;

use crate::{Error, Files, Result};

/// A weight for each of so many points. JSON: a list with a number for each point, or a list of `[point, weight]`. CSV: a line
/// with a weight for each point, or lines `point,weight`; a first line without numbers is a heading. Points that are
/// not named weigh nothing.
pub(super) fn weights(files: &Files, path: &Path, point_count: usize) -> Result<Vec<f32>> {
    let bytes = files.read(path)?;
    let bad = |place: String, problem: String| Error::Malformed { path: path.to_path_buf(), place, problem };
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let rows: Vec<Vec<f64>> = if is_json {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Row {
            One(f64),
            Pair([f64; 2]),
        }
        let rows: Vec<Row> = serde_json::from_slice(&bytes).map_err(|error| {
            let problem = "a list of weights or of [point, weight] was expected".into();
            bad(format!("line {}", error.line()), problem)
        })?;
        let row = |row| match row {
            Row::One(weight) => vec![weight],
            Row::Pair(pair) => pair.to_vec(),
        };
        rows.into_iter().map(row).collect()
    } else {
        let text = String::from_utf8_lossy(&bytes);
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let fields: Option<Vec<f64>> =
                line.split([',', ';', '\t']).map(|field| field.trim().parse().ok()).collect();
            match fields {
                Some(fields) if fields.len() <= 2 => rows.push(fields),
                None if number == 0 => {}
                _ => {
                    return Err(bad(
                        format!("line {}", number + 1),
                        "`weight` or `point,weight` was expected".into(),
                    ));
                }
            }
        }
        rows
    };
    let pairs = rows.iter().any(|row| row.len() == 2);
    if !pairs && rows.len() != point_count {
        let problem = format!("{} weights, but the mesh has {point_count} points", rows.len());
        return Err(bad("the whole file".into(), problem));
    }
    let mut weights = vec![0.0; point_count];
    for (number, row) in rows.iter().enumerate() {
        let (point, weight) = match row.as_slice() {
            [weight] => (number as f64, *weight),
            [point, weight] => (*point, *weight),
            _ => continue,
        };
        if point.fract() != 0.0 || !(0.0..point_count as f64).contains(&point) || !weight.is_finite() {
            let problem = format!(
                "point {point} with weight {weight}, but the mesh has points 0 to {}",
                point_count.max(1) - 1
            );
            return Err(bad(format!("row {}", number + 1), problem));
        }
        weights[point as usize] = weight as f32;
    }
    Ok(weights)
}
