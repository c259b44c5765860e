//! TRC, places of markers as motion capture measures them: text, a column for each coordinate.
//!
//! Every marker is a joint that hangs on nothing. Where the cameras lost it (no number, or exactly the origin) its scale is 0 and its place
//! lies on the straight line between where it was seen before and after; so it is out of sight in whatever shows the clip, and whoever
//! follows markers knows which places were measured.

use std::path::Path;
use std::sync::Arc;

use glam::Vec3;

use super::{ReadOptions, UniqueNames, malformed, name_of};
use crate::{Clip, Error, Frame, Frames, Joint, Result, Skeleton, Transform};

/// Markers that a file may have.
const MOST: usize = 10_000;

/// What the head of a file says.
struct Head {
    frame_rate_hz: f64,
    /// Metres of one unit.
    unit: f64,
    names: Vec<String>,
}

/// Where markers are at a frame, if anybody saw them.
type Places = Vec<Option<Vec3>>;

/// Reads markers as a skeleton without bones.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end_matches('\r')));
    let head = read_head(path, &mut lines, options)?;
    let mut frames = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        // the line of X1 Y1 Z1 has no number in front
        match line.split_whitespace().next().map(str::parse::<f64>) {
            Some(Ok(_)) => frames.push(read_frame(path, number, line, &head)?),
            _ if frames.is_empty() => {}
            _ => {
                let problem = "a frame begins with its number and its time";
                return Err(malformed(path, format!("line {number}"), problem));
            }
        }
    }
    if frames.is_empty() {
        return Err(malformed(path, "the file", "it has no frames: it was cut short"));
    }
    clip(path, head, frames, options)
}

fn read_head<'a>(
    path: &Path,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    options: &ReadOptions,
) -> Result<Head> {
    let mut next = |what: &str| {
        let short = || malformed(path, "the file", format!("it ends before {what}: it was cut short"));
        lines.next().ok_or_else(short)
    };
    next("its first line")?;
    let (_, keys) = next("the names of its settings")?;
    let (number, values) = next("its settings")?;
    let setting = |name: &str| {
        let at = keys.split_whitespace().position(|key| key.eq_ignore_ascii_case(name));
        at.and_then(|at| values.split_whitespace().nth(at))
    };
    let bad = |problem: String| malformed(path, format!("line {number}"), problem);
    let rate = setting("DataRate").ok_or_else(|| bad("there is no `DataRate`".into()))?;
    let frame_rate_hz = rate.parse::<f64>().ok().filter(|rate| (1e-3..1e6).contains(rate));
    let frame_rate_hz = frame_rate_hz.ok_or_else(|| bad(format!("a `DataRate` of `{rate}`")))?;
    let unit = match (options.unit_in_metres, setting("Units").map(str::to_ascii_lowercase).as_deref()) {
        (Some(unit), _) => unit,
        (None, Some("mm") | None) => 1e-3,
        (None, Some("cm")) => 1e-2,
        (None, Some("m" | "meters" | "metres")) => 1.0,
        (None, Some(other)) => {
            return Err(bad(format!(
                "`{other}` is no unit of length we know (mm, cm, m); name it as the unit"
            )));
        }
    };
    let (number, line) = next("the names of its markers")?;
    let names: Vec<String> =
        line.split(['\t', ' ']).filter(|word| !word.is_empty()).skip(2).map(str::to_owned).collect();
    if names.is_empty() || names.len() > MOST {
        return Err(malformed(path, format!("line {number}"), format!("{} markers", names.len())));
    }
    Ok(Head { frame_rate_hz, unit, names })
}

/// A frame's number, its time, and three numbers for each marker; columns are kept apart by tabs, so that some may be empty.
fn read_frame(path: &Path, number: usize, line: &str, head: &Head) -> Result<Places> {
    let words: Vec<&str> = match line.contains('\t') {
        true => line.split('\t').map(str::trim).collect(),
        false => line.split_whitespace().collect(),
    };
    let bad = |problem: String| malformed(path, format!("line {number}"), problem);
    let coordinate = |column: usize| match words.get(column).copied().unwrap_or_default() {
        "" => Ok(None),
        word if word.eq_ignore_ascii_case("nan") => Ok(None),
        word => {
            let value = word.parse::<f64>().ok().map(|value| value * head.unit);
            let value = value.filter(|value| value.abs() < 1e6);
            let problem = || bad(format!("a coordinate should be a number of metres, but it is `{word}`"));
            value.map(Some).ok_or_else(problem)
        }
    };
    let mut places = Vec::with_capacity(head.names.len());
    for marker in 0..head.names.len() {
        let mut place = [None; 3];
        for (axis, value) in place.iter_mut().enumerate() {
            *value = coordinate(2 + 3 * marker + axis)?;
        }
        places.push(match place {
            [Some(x), Some(y), Some(z)] if [x, y, z] != [0.0; 3] => {
                Some(Vec3::new(x as f32, y as f32, z as f32))
            }
            _ => None,
        });
    }
    Ok(places)
}

fn clip(path: &Path, head: Head, frames: Vec<Places>, options: &ReadOptions) -> Result<Clip> {
    let mut names = UniqueNames::default();
    let (mut skeleton, mut never) = (Skeleton::default(), Vec::new());
    for (marker, name) in head.names.iter().enumerate() {
        let seen = frames.iter().find_map(|places| places[marker]);
        if seen.is_none() {
            never.push(name.as_str());
        }
        let rest = Transform { translation: seen.unwrap_or(Vec3::ZERO), ..Transform::IDENTITY };
        skeleton.joints.push(Joint { name: names.take(name), parent: None, rest });
    }
    let poses = (0..frames.len()).map(|frame| pose(&frames, frame)).collect();
    let mut clip =
        Clip::new(name_of(path), head.frame_rate_hz, Vec::new(), Some(skeleton), Arc::new(Markers { poses }));
    if !never.is_empty() {
        clip.warnings.push(format!("markers that no frame has seen: {}", never.join(", ")));
    }
    // the file has its own times: at another rate it lasts as long
    Ok(clip.resampled(options.frame_rate_hz.unwrap_or(head.frame_rate_hz)))
}

/// Markers at a frame, those out of sight between where they were seen.
fn pose(frames: &[Places], frame: usize) -> Vec<Transform> {
    let of = |marker: usize| {
        if let Some(translation) = frames[frame][marker] {
            return Transform { translation, ..Transform::IDENTITY };
        }
        let before = (0..frame).rev().find_map(|k| Some((k, frames[k][marker]?)));
        let after = (frame + 1..frames.len()).find_map(|k| Some((k, frames[k][marker]?)));
        let translation = match (before, after) {
            (Some((a, from)), Some((b, to))) => from.lerp(to, (frame - a) as f32 / (b - a) as f32),
            (Some((_, place)), None) | (None, Some((_, place))) => place,
            (None, None) => Vec3::ZERO,
        };
        Transform { translation, scale: Vec3::ZERO, ..Transform::IDENTITY }
    };
    (0..frames[frame].len()).map(of).collect()
}

struct Markers {
    poses: Vec<Vec<Transform>>,
}

impl Frames for Markers {
    fn count(&self) -> usize {
        self.poses.len()
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let pose = self.poses.get(index).ok_or(Error::NoSuchFrame { index, count: self.poses.len() })?;
        Ok(Frame { points: Vec::new(), pose: pose.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "PathFileType\t4\t(X/Y/Z)\ttwo.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n60.00\t60.00\t3\t2\tmm\n\
        Frame#\tTime\tR.Heel\t\t\tL.Heel\t\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n1\t0.0\t100\t0\t10\t0\t50\t-10\n\
        2\t0.0167\t\t\t\t0\t60\t-10\n3\t0.0333\t300\t20\t10\tnan\tnan\tnan\n";

    fn read_text(text: &str) -> Result<Clip> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.trc");
        std::fs::write(&path, text).unwrap();
        read(&path, &ReadOptions::default())
    }

    #[test]
    fn a_marker_out_of_sight_is_between_where_it_was_seen() {
        let clip = read_text(TWO).unwrap();
        assert_eq!((clip.frame_rate_hz, clip.frame_count()), (60.0, 3));
        assert_eq!(clip.skeleton.as_ref().unwrap().joint_index("L.Heel"), Some(1));
        let [first, second, third] = [0, 1, 2].map(|frame| clip.frame(frame).unwrap().pose);
        assert_eq!((first[0].translation, first[0].scale), (Vec3::new(0.1, 0.0, 0.01), Vec3::ONE));
        assert!(second[0].translation.distance(Vec3::new(0.2, 0.01, 0.01)) < 1e-6);
        assert_eq!((second[0].scale, second[1].scale), (Vec3::ZERO, Vec3::ONE));
        assert_eq!((third[1].translation, third[1].scale), (second[1].translation, Vec3::ZERO));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let refused = |text: &str| read_text(text).err().map(|error| error.to_string()).unwrap_or_default();
        let said = refused(&TWO.replace("0\t50\t-10", "0\tfifty\t-10"));
        assert!(said.contains("line 7") && said.contains("`fifty`"), "{said}");
        assert!(refused(&TWO.replace("mm", "miles")).contains("`miles`"));
        assert!(refused(&TWO.replace("60.00\t60.00", "0\t60.00")).contains("a `DataRate` of `0`"));
        assert!(refused(&TWO[..TWO.find("1\t0.0").unwrap()]).contains("no frames"));
        assert!(refused("PathFileType\t4\n").contains("cut short"));
        let none = read_text(&TWO.replace("0\t50\t-10", "\t\t").replace("0\t60\t-10", "\t\t")).unwrap();
        assert!(none.warnings[0].contains("L.Heel"), "{:?}", none.warnings);
    }
}
