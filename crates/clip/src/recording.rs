//! Recordings of a gait laboratory: numbers over time. TRC has the places of markers, MOT and STO have joint angles or the forces of plates.
//!
//! Text, tabs between the numbers. A MOT or STO begins with lines of `name=value` until `endheader`, then a line of names of columns, the first of
//! them `time`. A TRC has three lines about the file, one of names of markers, one of axes (`X1 Y1 Z1 …`); a marker that was not seen leaves its three
//! fields empty.

use std::path::Path;

use crate::format::malformed;
use crate::{Error, Files, Result};

/// Columns of numbers over time, in metres and as the file has them: angles in degrees where [`in_degrees`](Self::in_degrees) says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Names of the columns, without time: `knee_angle_r`, `ground_force_vy`; of markers `R.Heel.x`.
    pub names: Vec<String>,
    /// In seconds; they rise.
    pub times: Vec<f64>,
    /// By time, a number for each name; NaN for a marker that was not seen.
    pub rows: Vec<Vec<f64>>,
    /// Whether angles are in degrees.
    pub in_degrees: bool,
}

impl Recording {
    /// Reads a `.trc`, `.mot` or `.sto` file.
    pub fn read(path: impl AsRef<Path>, files: &Files) -> Result<Self> {
        let path = path.as_ref();
        let bytes = files.read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(['\r', '\t', ' '])).collect();
        let recording = match lines.first().is_some_and(|line| line.starts_with("PathFileType")) {
            true => markers(path, &lines)?,
            false => table(path, &lines)?,
        };
        if recording.rows.is_empty() {
            return Err(malformed(path, "end", "it has no rows of numbers"));
        }
        Ok(recording)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let column = self.names.iter().position(|known| known == name)?;
        Some(self.rows.iter().map(|row| row[column]).collect())
    }

    /// A column at any time within the recording, straight between its rows.
    pub fn at(&self, column: usize, time: f64) -> f64 {
        let after = self.times.partition_point(|&t| t <= time).clamp(1, self.times.len().max(2) - 1);
        let (Some(a), Some(b)) = (self.rows.get(after - 1), self.rows.get(after)) else {
            return self.rows.first().map_or(f64::NAN, |row| row[column]);
        };
        let (t0, t1) = (self.times[after - 1], self.times[after]);
        let share = ((time - t0) / (t1 - t0)).clamp(0.0, 1.0);
        a[column] + share * (b[column] - a[column])
    }

    fn push(&mut self, path: &Path, line: usize, time: f64, row: Vec<f64>) -> Result<()> {
        let place = || format!("line {}", line + 1);
        if !time.is_finite() || self.times.last().is_some_and(|&last| time <= last) {
            return Err(malformed(
                path,
                place(),
                format!("the time {time} does not come after the one before"),
            ));
        }
        if row.len() != self.names.len() {
            let (found, expected) = (row.len(), self.names.len());
            return Err(malformed(path, place(), format!("{found} numbers for {expected} columns")));
        }
        self.times.push(time);
        self.rows.push(row);
        Ok(())
    }
}

fn number(path: &Path, line: usize, word: &str) -> Result<f64> {
    match word.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(malformed(path, format!("line {}", line + 1), format!("`{word}` is not a finite number"))),
    }
}

fn table(path: &Path, lines: &[&str]) -> Result<Recording> {
    let Some(end) = lines.iter().position(|line| line.trim().eq_ignore_ascii_case("endheader")) else {
        return Err(malformed(path, "header", "there is no line `endheader`"));
    };
    let value = |key: &str| {
        lines[..end].iter().find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == key))
    };
    let in_degrees = value("inDegrees").is_some_and(|(_, value)| value.trim().eq_ignore_ascii_case("yes"));
    let names: Vec<String> =
        lines.get(end + 1).map_or_else(Vec::new, |line| line.split_whitespace().map(str::to_owned).collect());
    if names.first().is_none_or(|name| !name.eq_ignore_ascii_case("time")) || names.len() < 2 {
        return Err(malformed(path, format!("line {}", end + 2), "the first column is not `time`"));
    }
    let mut recording = Recording { names: names[1..].to_vec(), in_degrees, ..Recording::default() };
    for (index, line) in lines.iter().enumerate().skip(end + 2).filter(|(_, line)| !line.trim().is_empty()) {
        let numbers: Vec<f64> =
            line.split_whitespace().map(|word| number(path, index, word)).collect::<Result<_>>()?;
        let (time, row) = (numbers[0], numbers[1..].to_vec());
        recording.push(path, index, time, row)?;
    }
    Ok(recording)
}

fn markers(path: &Path, lines: &[&str]) -> Result<Recording> {
    let [_, keys, values, names, ..] = lines else {
        return Err(malformed(path, "header", "a TRC begins with five lines about what is in it"));
    };
    let column = keys.split('\t').position(|key| key.trim() == "Units");
    let unit = column.and_then(|column| values.split('\t').nth(column)).map_or("mm", str::trim);
    let metres = match unit {
        "mm" => 1e-3,
        "cm" => 1e-2,
        "m" => 1.0,
        other => {
            let problem = format!("its unit is `{other}`; mm, cm and m are known");
            return Err(Error::Unsupported { path: path.into(), problem });
        }
    };
    let labels = names.split('\t').skip(2).map(str::trim).filter(|name| !name.is_empty());
    let names = labels.flat_map(|name| ["x", "y", "z"].map(|axis| format!("{name}.{axis}"))).collect();
    let mut recording = Recording { names, ..Recording::default() };
    for (index, line) in lines.iter().enumerate().skip(5).filter(|(_, line)| !line.trim().is_empty()) {
        let mut words = line.split('\t').skip(1);
        let time = number(path, index, words.next().unwrap_or_default())?;
        let place = |word: &str| match word.trim().is_empty() {
            true => Ok(f64::NAN),
            false => number(path, index, word).map(|number| metres * number),
        };
        let mut row: Vec<f64> = words.map(place).collect::<Result<_>>()?;
        // empty fields at the end of a line were trimmed away
        if row.len() < recording.names.len() {
            row.resize(recording.names.len(), f64::NAN);
        }
        recording.push(path, index, time, row)?;
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Recording> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Recording::read(&path, &Files::default())
    }

    const FORCES: &str =
        "plates\nversion=1\nnRows=2\ninDegrees=yes\nendheader\ntime\tfx\tfy\n0.0\t1\t700\n0.01\t3\t710\n";
    const MARKERS: &str = "PathFileType\t4\t(X/Y/Z)\twalk.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n\
        60\t60\t2\t2\tmm\nFrame#\tTime\tR.Heel\t\t\tL.Heel\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n\
        1\t0.0\t1000\t20\t-30\t4\t5\t6\n2\t0.016667\t1001\t20\t-30\n";

    #[test]
    fn forces_and_markers_are_read() {
        let forces = read("plates.mot", FORCES).unwrap();
        assert!(forces.in_degrees);
        assert_eq!(forces.column("fy").unwrap(), [700.0, 710.0]);
        assert!((forces.at(0, 0.005) - 2.0).abs() < 1e-12 && forces.at(0, 9.0) == 3.0);
        assert!(forces.column("fz").is_none());
        let markers = read("walk.trc", MARKERS).unwrap();
        let heel = markers.column("R.Heel.x").unwrap();
        assert!((heel[0] - 1.0).abs() < 1e-12 && (heel[1] - 1.001).abs() < 1e-12, "{heel:?}");
        let unseen = markers.column("L.Heel.y").unwrap();
        assert!((unseen[0] - 0.005).abs() < 1e-12 && unseen[1].is_nan());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (name, text, words) in [
            ("a.mot", FORCES.replace("700", "seven"), "line 7: `seven` is not a finite number"),
            ("b.mot", FORCES.replace("0.01\t3", "0.0\t3"), "line 8: the time 0 does not come after"),
            ("c.mot", FORCES.replace("\t710", ""), "line 8: 1 numbers for 2 columns"),
            ("d.mot", FORCES.replace("endheader", "end"), "no line `endheader`"),
            ("e.mot", FORCES[..FORCES.find("0.0").unwrap()].into(), "no rows"),
            ("f.trc", MARKERS.replace("\tmm", "\tfeet"), "its unit is `feet`"),
            ("g.trc", MARKERS.replace("1000", "nan"), "line 7: `nan` is not a finite number"),
            ("h.trc", MARKERS[..30].into(), "begins with five lines"),
        ] {
            let error = read(name, &text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
