//! ASF/AMC, Acclaim's skeleton and motion: a skeleton in one file, any number of takes of it in others beside it.
//!
//! The skeleton gives each bone a direction and a length in the world, and axes C in which its angles are measured. A joint of ours stands
//! where its bone begins, its axes those of the world at rest, and turns by C M C⁻¹: M the angles of a frame, the first axis first. Acclaim's
//! unit is an inch over `length`, CMU's 0.45 being 56 mm; a skeleton that says nothing of it is taken as metres, as
//! [`super::ReadOptions::unit_in_metres`] overrides. AMC says no frame rate; CMU's is 120.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::{ReadOptions, UniqueNames, malformed, name_of};
use crate::{BvhChannel, BvhLayout, Clip, Error, Files, Frame, Frames, Joint, Result, Skeleton, Transform};

/// Frames per second where nobody says.
const FRAME_RATE_HZ: f64 = 120.0;
const INCH: f64 = 0.0254;

/// One number of a bone in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Channel {
    Turn(usize),
    Shift(usize),
    Length,
}

/// A bone as the file has it.
#[derive(Clone, Debug, Default)]
struct Bone {
    name: String,
    /// To its end, in units of the file.
    way: DVec3,
    /// C.
    axes: DQuat,
    channels: Vec<Channel>,
    parent: Option<usize>,
}

/// What an ASF file says.
struct Figure {
    /// The root first.
    bones: Vec<Bone>,
    position: DVec3,
    degrees: bool,
    /// Metres of one unit.
    unit: f64,
}

/// A line with its number, its words and what may be wrong with it.
struct Line<'a> {
    path: &'a Path,
    number: usize,
    words: Vec<&'a str>,
}

impl Line<'_> {
    fn bad(&self, problem: impl Into<String>) -> Error {
        malformed(self.path, format!("line {}", self.number), problem)
    }

    fn value(&self, index: usize, what: &str) -> Result<f64> {
        let word =
            self.words.get(index).ok_or_else(|| self.bad(format!("{what} is missing: it was cut short")))?;
        let number = word.parse::<f64>().ok().filter(|x| x.is_finite() && x.abs() < 1e9);
        number.ok_or_else(|| self.bad(format!("{what} should be a finite number, but it is `{word}`")))
    }

    fn vector(&self, first: usize, what: &str) -> Result<DVec3> {
        Ok(DVec3::new(self.value(first, what)?, self.value(first + 1, what)?, self.value(first + 2, what)?))
    }

    /// Rotations about axes, the first one first.
    fn turn(&self, angles: DVec3, order: &str, degrees: bool) -> Result<DQuat> {
        let mut turn = DQuat::IDENTITY;
        for (angle, axis) in angles.to_array().into_iter().zip(order.chars()) {
            let axis = axis_of(axis).ok_or_else(|| self.bad(format!("`{order}` is no order of axes")))?;
            turn = about(axis, if degrees { angle.to_radians() } else { angle }) * turn;
        }
        Ok(turn)
    }
}

fn axis_of(letter: char) -> Option<usize> {
    "xyz".find(letter.to_ascii_lowercase())
}

fn about(axis: usize, angle: f64) -> DQuat {
    match axis {
        0 => DQuat::from_rotation_x(angle),
        1 => DQuat::from_rotation_y(angle),
        _ => DQuat::from_rotation_z(angle),
    }
}

/// Lines with words, without comments.
fn lines<'a>(path: &'a Path, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        (!words.is_empty()).then_some(Line { path, number: index + 1, words })
    })
}

/// Reads a take (`.amc`), its skeleton beside it.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let beside = skeleton_of(path, &options.files)?;
    let skeleton = options.files.read(&beside)?;
    let figure = read_figure(&beside, &String::from_utf8_lossy(&skeleton))?;
    let (values, degrees) = read_frames(path, &text, &figure)?;
    clip(path, &figure, values, degrees, options)
}

/// Reads a skeleton alone (`.asf`), as one frame at rest.
pub(super) fn read_skeleton(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let figure = read_figure(path, &String::from_utf8_lossy(&bytes))?;
    let rest = figure.bones.iter().map(|bone| vec![0.0; bone.channels.len()]).collect::<Vec<_>>();
    let degrees = figure.degrees;
    clip(path, &figure, vec![rest.concat()], degrees, options)
}

/// The skeleton of a take: of the same name, or of what stands before its last `_` or its last digits.
fn skeleton_of(path: &Path, files: &Files) -> Result<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let short = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut names = vec![stem.as_str()];
    names.extend(stem.rsplit_once('_').map(|(before, _)| before));
    names.extend([short, short.trim_end_matches(['_', '-'])]);
    let found =
        names.iter().filter(|name| !name.is_empty()).map(|name| path.with_file_name(format!("{name}.asf")));
    found.clone().find(|path| files.is_file(path)).ok_or_else(|| {
        let problem = format!("its skeleton is not beside it: `{stem}.asf` is needed");
        malformed(path, "the file", problem)
    })
}

fn read_figure(path: &Path, text: &str) -> Result<Figure> {
    let root = Bone { name: "root".into(), axes: DQuat::IDENTITY, ..Bone::default() };
    let mut figure = Figure { bones: vec![root], position: DVec3::ZERO, degrees: true, unit: 1.0 };
    let mut index: BTreeMap<String, usize> = BTreeMap::from([("root".into(), 0)]);
    let (mut section, mut angles, mut order) = (String::new(), DVec3::ZERO, "XYZ".to_owned());
    let mut hung: Vec<bool> = vec![true];
    let mut last = 1;
    for line in lines(path, text) {
        last = line.number;
        let word = line.words[0].to_ascii_lowercase();
        if let Some(name) = word.strip_prefix(':') {
            section = name.to_owned();
            continue;
        }
        match (section.as_str(), word.as_str()) {
            ("units", "length") => {
                let length = line.value(1, "the unit of length")?;
                if !(length > 1e-6 && length < 1e6) {
                    return Err(line.bad(format!("a unit of length of {length}")));
                }
                figure.unit = INCH / length;
            }
            ("units", "angle") => {
                figure.degrees = line.words.get(1).is_none_or(|word| !word.starts_with("rad"))
            }
            ("root", "order") => figure.bones[0].channels = channels(&line)?,
            ("root", "axis") => order = line.words.get(1).copied().unwrap_or("XYZ").to_owned(),
            ("root", "position") => figure.position = line.vector(1, "the root's position")?,
            ("root", "orientation") => angles = line.vector(1, "the root's orientation")?,
            ("bonedata", "begin") => {
                figure.bones.push(Bone { axes: DQuat::IDENTITY, ..Bone::default() });
                hung.push(false);
            }
            ("bonedata", key) if figure.bones.len() > 1 => {
                read_bone(&line, key, figure.degrees, &mut index, &mut figure.bones)?;
            }
            ("hierarchy", "begin" | "end") => {}
            ("hierarchy", _) => hang(&line, &index, &mut figure.bones, &mut hung)?,
            _ => {}
        }
    }
    let line = Line { path, number: last, words: Vec::new() };
    figure.bones[0].axes = line.turn(angles, &order, figure.degrees)?;
    if figure.bones.len() < 2 {
        return Err(line.bad("there are no bones: it was cut short, or it is no skeleton"));
    }
    if let Some(bone) = figure.bones.iter().zip(&hung).find(|(_, hung)| !**hung).map(|pair| pair.0) {
        return Err(line.bad(format!("bone `{}` has no place in the hierarchy", bone.name)));
    }
    sorted(figure, &line)
}

/// One line of a bone's description.
fn read_bone(
    line: &Line,
    key: &str,
    degrees: bool,
    index: &mut BTreeMap<String, usize>,
    bones: &mut [Bone],
) -> Result<()> {
    let at = bones.len() - 1;
    let bone = &mut bones[at];
    match key {
        "name" => {
            bone.name = line.words.get(1).copied().unwrap_or("bone").to_owned();
            if index.insert(bone.name.clone(), at).is_some() {
                return Err(line.bad(format!("there are two bones `{}`", bone.name)));
            }
        }
        "direction" => {
            let length = if bone.way == DVec3::ZERO { 1.0 } else { bone.way.length() };
            bone.way = line.vector(1, "a direction")?.normalize_or_zero() * length;
        }
        "length" => {
            let length = line.value(1, "a length")?;
            let direction = if bone.way == DVec3::ZERO { DVec3::X } else { bone.way.normalize_or_zero() };
            bone.way = direction * length;
        }
        "axis" => {
            let order = line.words.get(4).copied().unwrap_or("XYZ");
            bone.axes = line.turn(line.vector(1, "an axis")?, order, degrees)?;
        }
        "dof" => bone.channels = channels(line)?,
        // limits, masses and the like do not move anything
        _ => {}
    }
    Ok(())
}

fn channels(line: &Line) -> Result<Vec<Channel>> {
    let channel = |word: &&str| {
        let lower = word.to_ascii_lowercase();
        let mut letters = lower.chars();
        match (letters.next(), letters.next().and_then(axis_of)) {
            (Some('r'), Some(axis)) => Ok(Channel::Turn(axis)),
            (Some('t'), Some(axis)) => Ok(Channel::Shift(axis)),
            (Some('l'), None) => Ok(Channel::Length),
            _ => Err(line.bad(format!("there is no degree of freedom `{word}`"))),
        }
    };
    line.words[1..].iter().map(channel).collect()
}

/// A line of the hierarchy: a parent and its children.
fn hang(line: &Line, index: &BTreeMap<String, usize>, bones: &mut [Bone], hung: &mut [bool]) -> Result<()> {
    let find =
        |name: &str| index.get(name).copied().ok_or_else(|| line.bad(format!("there is no bone `{name}`")));
    let parent = find(line.words[0])?;
    for name in &line.words[1..] {
        let child = find(name)?;
        if hung[child] {
            return Err(line.bad(format!("bone `{name}` hangs on two others")));
        }
        (bones[child].parent, hung[child]) = (Some(parent), true);
    }
    Ok(())
}

/// The same with parents first.
fn sorted(figure: Figure, line: &Line) -> Result<Figure> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); figure.bones.len()];
    for (index, bone) in figure.bones.iter().enumerate().skip(1) {
        children[bone.parent.unwrap_or(0)].push(index);
    }
    let (mut order, mut open) = (Vec::new(), vec![0]);
    while let Some(bone) = open.pop() {
        order.push(bone);
        open.extend(children[bone].iter().rev());
    }
    if order.len() != figure.bones.len() {
        return Err(line.bad("the hierarchy goes in a circle"));
    }
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let bones = order
        .iter()
        .map(|&old| {
            let bone = figure.bones[old].clone();
            Bone { parent: bone.parent.map(|parent| place[parent]), ..bone }
        })
        .collect();
    Ok(Figure { bones, ..figure })
}

/// Values of all channels at every frame, and whether angles are in degrees. What a frame does not say stays as it was.
fn read_frames(path: &Path, text: &str, figure: &Figure) -> Result<(Vec<Vec<f64>>, bool)> {
    let index: BTreeMap<&str, usize> =
        figure.bones.iter().enumerate().map(|(k, bone)| (bone.name.as_str(), k)).collect();
    let mut firsts = vec![0];
    for bone in &figure.bones {
        firsts.push(firsts[firsts.len() - 1] + bone.channels.len());
    }
    let mut current = vec![0.0; firsts[firsts.len() - 1]];
    let (mut frames, mut begun, mut degrees) = (Vec::new(), false, figure.degrees);
    for line in lines(path, text) {
        let word = line.words[0];
        if word.starts_with(':') {
            match word.to_ascii_lowercase().as_str() {
                ":degrees" => degrees = true,
                ":radians" => degrees = false,
                _ => {}
            }
        } else if line.words.len() == 1 && word.parse::<u64>().is_ok() {
            if begun {
                frames.push(current.clone());
            }
            begun = true;
        } else if begun {
            let bone =
                *index.get(word).ok_or_else(|| line.bad(format!("the skeleton has no bone `{word}`")))?;
            let values = &mut current[firsts[bone]..firsts[bone + 1]];
            if line.words.len() > values.len() + 1 {
                return Err(line.bad(format!("`{word}` has {} degrees of freedom", values.len())));
            }
            for (k, value) in values.iter_mut().enumerate() {
                *value = line.value(k + 1, &format!("value {} of `{word}`", k + 1))?;
            }
        } else {
            return Err(line.bad(format!("`{word}` stands before the first frame's number")));
        }
    }
    if !begun {
        return Err(malformed(path, "the file", "it has no frames: it was cut short"));
    }
    frames.push(current);
    Ok((frames, degrees))
}

fn clip(
    path: &Path,
    figure: &Figure,
    values: Vec<Vec<f64>>,
    degrees: bool,
    options: &ReadOptions,
) -> Result<Clip> {
    let unit = options.unit_in_metres.unwrap_or(figure.unit);
    let mut names = UniqueNames::default();
    let (mut skeleton, mut layout) = (Skeleton::default(), BvhLayout::default());
    for (index, bone) in figure.bones.iter().enumerate() {
        // a joint stands where its parent's bone ends
        let start = bone.parent.map_or(figure.position, |parent| figure.bones[parent].way) * unit;
        if !start.as_vec3().is_finite() {
            return Err(malformed(path, "the skeleton", format!("bone `{}` is too long", bone.name)));
        }
        let rest = Transform { translation: start.as_vec3(), ..Transform::IDENTITY };
        skeleton.joints.push(Joint { name: names.take(&bone.name), parent: bone.parent, rest });
        let shifts = (0..3).map(BvhChannel::Position).filter(|_| index == 0);
        layout.channels.push(shifts.chain([2, 1, 0].map(BvhChannel::Rotation)).collect());
        if !figure.bones.iter().any(|other| other.parent == Some(index)) {
            layout.end_sites.push((index, (bone.way * unit).as_vec3()));
        }
    }
    let frames =
        AcclaimFrames { bones: figure.bones.clone(), rest: skeleton.rest_pose(), values, unit, degrees };
    let rate = options.frame_rate_hz.unwrap_or(FRAME_RATE_HZ);
    let mut clip = Clip::new(name_of(path), rate, Vec::new(), Some(skeleton), Arc::new(frames));
    clip.bvh = Some(layout);
    Ok(clip)
}

struct AcclaimFrames {
    bones: Vec<Bone>,
    rest: Vec<Transform>,
    values: Vec<Vec<f64>>,
    unit: f64,
    degrees: bool,
}

impl Frames for AcclaimFrames {
    fn count(&self) -> usize {
        self.values.len()
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let count = self.values.len();
        let mut values = self.values.get(index).ok_or(Error::NoSuchFrame { index, count })?.iter();
        let mut pose = self.rest.clone();
        for (transform, bone) in pose.iter_mut().zip(&self.bones) {
            let (mut turn, mut shift) = (DQuat::IDENTITY, DVec3::ZERO);
            for (channel, &value) in bone.channels.iter().zip(&mut values) {
                match *channel {
                    Channel::Turn(axis) => {
                        turn = about(axis, if self.degrees { value.to_radians() } else { value }) * turn;
                    }
                    Channel::Shift(axis) => shift[axis] = value * self.unit,
                    Channel::Length => {}
                }
            }
            transform.rotation = (bone.axes * turn * bone.axes.conjugate()).normalize().as_quat();
            transform.translation += shift.as_vec3();
        }
        Ok(Frame { points: Vec::new(), pose })
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    const ARM: &str = ":version 1.10\n:units\n length 0.45\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n\
        position 0 0 0\n orientation 0 0 0\n:bonedata\n begin\n id 1\n name upper\n direction 1 0 0\n length 4.5\n axis 0 0 90 XYZ\n\
        dof rx rz\n limits (-10 10)\n  (-5 5)\n end\n begin\n name lower\n direction 1 0 0\n length 9\n axis 0 0 0 XYZ\n dof ry\n end\n\
        :hierarchy\n begin\n root upper\n upper lower\n end\n";
    const BEND: &str = "#!OML\n:FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 0 0 0 0 0\nupper 0 0\nlower 0\n2\nroot 18 0 0 0 0 90\nupper 30 0\nlower 90\n3\nupper 0 90\nlower 0\n";

    fn place(clip: &Clip, frame: usize, joint: usize) -> Vec3 {
        let skeleton = clip.skeleton.as_ref().unwrap();
        skeleton.world_from_joints(&clip.frame(frame).unwrap().pose)[joint].w_axis.truncate()
    }

    fn read_texts(asf: &str, amc: &str, names: [&str; 2]) -> Result<Clip> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(names[0]), asf).unwrap();
        let path = folder.path().join(names[1]);
        std::fs::write(&path, amc).unwrap();
        read(&path, &ReadOptions::default())
    }

    #[test]
    fn bones_turn_about_their_own_axes() {
        let clip = read_texts(ARM, BEND, ["16.asf", "16_22.amc"]).unwrap();
        assert_eq!((clip.frame_count(), clip.frame_rate_hz), (3, 120.0));
        let names: Vec<_> =
            clip.skeleton.as_ref().unwrap().joints.iter().map(|joint| joint.name.clone()).collect();
        assert_eq!(names, ["root", "upper", "lower"]);
        // 4.5 units of 1/0.45 inch are 10 inches
        let inch = INCH as f32;
        assert!(place(&clip, 0, 2).distance(Vec3::X * 10.0 * inch) < 1e-6);
        // the root turned by 90° about z at 40 inches; the bone's x is the world's y at rest, so 30° about it turn x towards −z
        let (s, c) = 30_f32.to_radians().sin_cos();
        let bent = Vec3::new(40.0, 10.0 * c, -10.0 * s) * inch;
        assert!(place(&clip, 1, 2).distance(bent) < 1e-5, "{} {bent}", place(&clip, 1, 2));
        // what the third frame does not say stays; the bone's z is the world's z
        let bent = Vec3::new(30.0, 0.0, 0.0) * inch;
        assert!(place(&clip, 2, 2).distance(bent) < 1e-5, "{} {bent}", place(&clip, 2, 2));
        let tip = clip.bvh.as_ref().unwrap().end_sites[0];
        assert!(tip.0 == 2 && tip.1.distance(Vec3::X * 20.0 * inch) < 1e-6);
    }

    #[test]
    fn mistakes_are_said_with_their_line() {
        let problem =
            |asf: &str, amc: &str| read_texts(asf, amc, ["a.asf", "a.amc"]).err().unwrap().to_string();
        assert!(
            problem(ARM, &BEND.replace("upper 30 0", "upper 30")).contains("value 2 of `upper` is missing")
        );
        assert!(problem(ARM, &BEND.replace("upper 30 0", "uper 30 0")).contains("line 10"));
        assert!(problem(ARM, &BEND.replace("lower 90", "lower nan")).contains("finite"));
        assert!(problem(ARM, &BEND.replace("lower 90", "lower 90 3")).contains("1 degrees of freedom"));
        assert!(problem(ARM, ":DEGREES\n").contains("no frames"));
        assert!(problem(&ARM.replace("dof ry", "dof qy"), BEND).contains("no degree of freedom `qy`"));
        assert!(problem(&ARM.replace(" upper lower\n", ""), BEND).contains("no place in the hierarchy"));
        assert!(
            problem(&ARM.replace("root upper\n upper lower", "upper lower\n lower upper"), BEND)
                .contains("circle")
        );
        assert!(problem(&ARM.replace("length 0.45", "length 0"), BEND).contains("unit of length"));
        assert!(problem(":version 1", BEND).contains("no bones"));
        let alone = read_texts(ARM, BEND, ["other.asf", "a.amc"]).err().unwrap().to_string();
        assert!(alone.contains("`a.asf` is needed"), "{alone}");
    }
}
