//! MOT, OpenSim's tables over time: what force plates measured under each foot, or whatever else has a number at every moment.
//!
//! A plate is three columns that end in `_vx`, `_vy`, `_vz` (force, N), three in `_px`, `_py`, `_pz` (where it acts, m), and three
//! whose names have `torque` for `force` and end in `_x`, `_y`, `_z` (free moment, N·m).

use std::fmt::Write as _;
use std::path::Path;

use geometry::Vec3;

use super::{AtomicFile, malformed};
use crate::{Files, Result};

/// Numbers in a file.
const MOST: usize = 100_000_000;

/// A table over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns, without the one of time.
    pub columns: Vec<String>,
    /// In s.
    pub times: Vec<f64>,
    /// A number for each column, at each time.
    pub rows: Vec<Vec<f64>>,
}

/// What the ground gives a foot over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plate {
    /// What comes before `_vx` in the names of its columns.
    pub name: String,
    /// In N.
    pub forces: Vec<Vec3>,
    /// Where the force acts, in m; anywhere while there is none.
    pub places: Vec<Vec3>,
    /// Moment about the vertical through that place, in N·m.
    pub moments: Vec<Vec3>,
}

impl Table {
    /// Reads a MOT file.
    pub fn read(path: impl AsRef<Path>, files: &Files) -> Result<Self> {
        let path = path.as_ref();
        let bytes = files.read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let end = |line: &str| line.trim().eq_ignore_ascii_case("endheader");
        if !lines.by_ref().any(|(_, line)| end(line)) {
            return Err(malformed(path, "the file", "there is no line `endheader`: it is no MOT file"));
        }
        let Some((_, names)) = lines.next() else {
            return Err(malformed(
                path,
                "the file",
                "it ends before its columns are named: it was cut short",
            ));
        };
        let mut columns: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        if columns.is_empty() || !columns.remove(0).eq_ignore_ascii_case("time") {
            return Err(malformed(path, "the columns", "the first one must be `time`"));
        }
        let mut table = Self { columns, ..Self::default() };
        for (index, line) in lines {
            let bad = |problem: String| malformed(path, format!("line {}", index + 1), problem);
            let number = |word: &str| {
                let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
                value.ok_or_else(|| bad(format!("`{word}` is not a finite number")))
            };
            let mut row = line.split_whitespace().map(number).collect::<Result<Vec<f64>>>()?;
            if row.len() != table.columns.len() + 1 {
                let expected = table.columns.len() + 1;
                return Err(bad(format!("{} numbers, but {expected} columns: it was cut short", row.len())));
            }
            let time = row.remove(0);
            if table.times.last().is_some_and(|&last| time <= last) {
                return Err(bad(format!("time goes back to {time} s")));
            }
            if (table.rows.len() + 1) * (table.columns.len() + 1) > MOST {
                return Err(bad("it is too long".into()));
            }
            table.times.push(time);
            table.rows.push(row);
        }
        if table.times.is_empty() {
            return Err(malformed(path, "the file", "it has no rows: it was cut short"));
        }
        Ok(table)
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.columns.iter().position(|column| column == name)?;
        Some(self.rows.iter().map(|row| row[at]).collect())
    }

    /// The plates that it has, in the order of their columns.
    pub fn plates(&self) -> Vec<Plate> {
        let names = self.columns.iter().filter_map(|column| column.strip_suffix("_vx"));
        let plate = |name: &str| {
            let vectors = |ends: [String; 3]| -> Vec<Vec3> {
                let [x, y, z] =
                    ends.map(|end| self.column(&end).unwrap_or_else(|| vec![0.0; self.times.len()]));
                (0..self.times.len()).map(|k| Vec3::new(x[k], y[k], z[k])).collect()
            };
            let torque = name.replace("force", "torque");
            Plate {
                name: name.to_owned(),
                forces: vectors(["vx", "vy", "vz"].map(|end| format!("{name}_{end}"))),
                places: vectors(["px", "py", "pz"].map(|end| format!("{name}_{end}"))),
                moments: vectors(["x", "y", "z"].map(|end| format!("{torque}_{end}"))),
            }
        };
        names.map(plate).collect()
    }

    /// A table of plates, all as long as `times`.
    pub fn of_plates(times: Vec<f64>, plates: &[Plate]) -> Self {
        let mut columns = Vec::new();
        for Plate { name, .. } in plates {
            columns.extend(["vx", "vy", "vz", "px", "py", "pz"].map(|end| format!("{name}_{end}")));
        }
        for Plate { name, .. } in plates {
            let torque = name.replace("force", "torque");
            columns.extend(["x", "y", "z"].map(|end| format!("{torque}_{end}")));
        }
        let row = |k: usize| {
            let at = |list: &[Vec3]| list.get(k).copied().unwrap_or(Vec3::ZERO).to_array();
            let forces = plates.iter().flat_map(|plate| [at(&plate.forces), at(&plate.places)]);
            forces.chain(plates.iter().map(|plate| at(&plate.moments))).flatten().collect()
        };
        let rows = (0..times.len()).map(row).collect();
        Self { columns, times, rows }
    }

    /// Writes a MOT file.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (rows, columns) = (self.times.len(), self.columns.len() + 1);
        // writing to a string cannot fail
        let mut text =
            format!("{name}\nversion=1\nnRows={rows}\nnColumns={columns}\ninDegrees=yes\nendheader\ntime");
        self.columns.iter().for_each(|column| _ = write!(text, "\t{column}"));
        for (time, row) in self.times.iter().zip(&self.rows) {
            _ = write!(text, "\n{time:.6}");
            row.iter().for_each(|value| _ = write!(text, "\t{value:.6}"));
        }
        text.push('\n');
        let mut file = AtomicFile::create(path)?;
        file.append(text.as_bytes())?;
        file.finish().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plates.mot");
        std::fs::write(&path, text).unwrap();
        Table::read(&path, &Files::default()).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn plates_come_back_as_they_were_written() {
        let curve = |k: usize| Vec3::new(0.1 * k as f64, 700.0 - k as f64, -3.5);
        let plate = |name: &str| Plate {
            name: name.into(),
            forces: (0..5).map(curve).collect(),
            places: (0..5).map(|k| Vec3::new(0.01 * k as f64, 0.0, 0.2)).collect(),
            moments: (0..5).map(|k| Vec3::Y * k as f64).collect(),
        };
        let plates = [plate("ground_force_r"), plate("ground_force_l")];
        let table = Table::of_plates((0..5).map(|k| 0.01 * k as f64).collect(), &plates);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plates.mot");
        table.write(&path).unwrap();
        let back = Table::read(&path, &Files::default()).unwrap();
        assert_eq!(back.columns, table.columns);
        assert!(back.columns.contains(&"ground_torque_l_y".to_owned()));
        for (ours, theirs) in plates.iter().zip(back.plates()) {
            assert_eq!(ours.name, theirs.name);
            for (a, b) in [
                (&ours.forces, &theirs.forces),
                (&ours.places, &theirs.places),
                (&ours.moments, &theirs.moments),
            ] {
                assert!(a.iter().zip(b).all(|(a, b)| a.distance(*b) < 1e-6), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "a\nversion=1\nendheader\ntime\tx_vx\tx_vy\n";
        assert!(refused("solid cube\n").contains("no line `endheader`"));
        assert!(refused(head).contains("no rows"));
        assert!(refused(&format!("{head}0\t1\t2\n0.1\t1\n")).contains("line 6"));
        assert!(refused(&format!("{head}0\t1\t2\n0.1\t1\tinf\n")).contains("`inf`"));
        assert!(refused(&format!("{head}0\t1\t2\n0\t1\t1\n")).contains("goes back"));
        assert!(refused("a\nendheader\nx\ty\n").contains("must be `time`"));
    }
}
