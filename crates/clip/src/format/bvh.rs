//! BVH, skeleton motion: the layout of a file, and reading it.
//!
//! A joint's transform is its offset, or its position channels where it has them, then its rotation channels in the
//! order in which they are listed. BVH says neither its unit nor an up axis other than Y; see
//! [`super::ReadOptions::unit_in_metres`].

use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, Quat, Vec3};

use super::{ReadOptions, UniqueNames, malformed, name_of};
use crate::{Clip, Error, Frame, Frames, Joint, Result, Skeleton, Transform};

pub(super) use super::bvh_write::write;

/// How a BVH file lays out its joints; kept so that a clip goes out with the channels that it came in with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BvhLayout {
    /// The channels of each joint, in order.
    pub channels: Vec<Vec<BvhChannel>>,
    /// Where limbs end: the joint, and the end's place relative to it in metres.
    pub end_sites: Vec<(usize, Vec3)>,
}

/// One number per frame of a joint; axes are 0, 1, 2 for X, Y, Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BvhChannel {
    /// Along an axis of the parent.
    Position(usize),
    /// About an axis.
    Rotation(usize),
}

impl BvhChannel {
    fn parse(word: &str) -> Option<Self> {
        let axis = match word.chars().next()?.to_ascii_uppercase() {
            'X' => 0,
            'Y' => 1,
            'Z' => 2,
            _ => return None,
        };
        match word.get(1..)?.to_ascii_lowercase().as_str() {
            "position" => Some(Self::Position(axis)),
            "rotation" => Some(Self::Rotation(axis)),
            _ => None,
        }
    }

    /// Its name in the file.
    pub(super) fn name(self) -> String {
        let (axis, what) = match self {
            Self::Position(axis) => (axis, "position"),
            Self::Rotation(axis) => (axis, "rotation"),
        };
        format!("{}{what}", ["X", "Y", "Z"][axis])
    }
}

/// Reads a clip without meshes.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = Words::new(path, &text);
    let scale = options.unit_in_metres.unwrap_or(1.0);
    let (skeleton, layout) = read_hierarchy(&mut words, scale)?;
    let motion = read_motion(&mut words, layout.channels.iter().map(Vec::len).sum())?;
    let frame_rate_hz = motion.frame_rate_hz;
    let frames = BvhFrames {
        values: motion.values,
        count: motion.count,
        rest: skeleton.rest_pose(),
        layout: layout.clone(),
        scale,
    };
    let mut clip = Clip::new(name_of(path), frame_rate_hz, Vec::new(), Some(skeleton), Arc::new(frames));
    clip.bvh = Some(layout);
    // the file has its own times: at another rate it lasts as long
    Ok(clip.resampled(options.frame_rate_hz.unwrap_or(frame_rate_hz)))
}

/// The words of the file, with the lines that they stand on.
struct Words<'a> {
    path: &'a Path,
    words: Box<dyn Iterator<Item = (usize, &'a str)> + 'a>,
    line: usize,
}

impl<'a> Words<'a> {
    fn new(path: &'a Path, text: &'a str) -> Self {
        let lines = text.lines().enumerate();
        let words = lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line + 1, word)));
        Self { path, words: Box::new(words), line: 1 }
    }

    fn next(&mut self) -> Option<&'a str> {
        let (line, word) = self.words.next()?;
        self.line = line;
        Some(word)
    }

    fn bad(&self, problem: impl Into<String>) -> Error {
        malformed(self.path, format!("line {}", self.line), problem)
    }

    fn need(&mut self, what: &str) -> Result<&'a str> {
        self.next().ok_or_else(|| self.bad(format!("the file ends where {what} should be: it was cut short")))
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        let found = self.need(&format!("`{word}`"))?;
        match found.eq_ignore_ascii_case(word) {
            true => Ok(()),
            false => Err(self.bad(format!("`{word}` was expected, but `{found}` is there"))),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64> {
        let word = self.need(what)?;
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.bad(format!("{what} should be a finite number, but it is `{word}`")))
    }

    /// The words up to `{`: a name may have spaces.
    fn name(&mut self) -> Result<String> {
        let mut name = Vec::new();
        loop {
            match self.need("`{`")? {
                "{" => return Ok(name.join(" ")),
                word => name.push(word),
            }
        }
    }

    fn offset(&mut self, scale: f64) -> Result<Vec3> {
        let mut offset = [0.0_f32; 3];
        for value in &mut offset {
            *value = (self.number("an offset")? * scale) as f32;
        }
        let offset = Vec3::from(offset);
        if offset.is_finite() { Ok(offset) } else { Err(self.bad("an offset is too large")) }
    }
}

/// Reads the joints, up to and including the word `MOTION`.
fn read_hierarchy(words: &mut Words, scale: f64) -> Result<(Skeleton, BvhLayout)> {
    words.expect("HIERARCHY")?;
    let mut skeleton = Skeleton::default();
    let mut layout = BvhLayout::default();
    let mut names = UniqueNames::default();
    // open braces: the joint, or `None` for an end site
    let mut open: Vec<Option<usize>> = Vec::new();
    loop {
        let word = words.need("`MOTION`")?;
        let inside = open.last().copied().flatten();
        match (word.to_ascii_uppercase().as_str(), inside) {
            ("MOTION", _) if open.is_empty() && !skeleton.joints.is_empty() => return Ok((skeleton, layout)),
            ("ROOT", None) | ("JOINT", Some(_)) if open.is_empty() || inside.is_some() => {
                let name = words.name()?;
                let index = skeleton.joints.len();
                skeleton.joints.push(Joint {
                    name: names.take(if name.is_empty() { "joint" } else { &name }),
                    parent: inside,
                    rest: Transform::IDENTITY,
                });
                layout.channels.push(Vec::new());
                open.push(Some(index));
            }
            ("END", Some(_)) => {
                words.name()?;
                open.push(None);
            }
            ("OFFSET", Some(joint)) => skeleton.joints[joint].rest.translation = words.offset(scale)?,
            ("OFFSET", None) if !open.is_empty() => {
                let offset = words.offset(scale)?;
                // an end site is only ever opened inside a joint
                if let Some(&Some(joint)) = open.get(open.len().wrapping_sub(2)) {
                    layout.end_sites.push((joint, offset));
                }
            }
            ("CHANNELS", Some(joint)) => {
                let count = words.number("the number of channels")?;
                if !(0.0..=6.0).contains(&count) {
                    return Err(words.bad(format!("{count} channels; a joint has at most 6")));
                }
                for _ in 0..count as usize {
                    let word = words.need("a channel")?;
                    let channel = BvhChannel::parse(word)
                        .ok_or_else(|| words.bad(format!("there is no channel `{word}`")))?;
                    layout.channels[joint].push(channel);
                }
            }
            ("}", _) if !open.is_empty() => {
                open.pop();
            }
            _ => return Err(words.bad(format!("`{word}` does not belong here"))),
        }
    }
}

struct MotionValues {
    count: usize,
    frame_rate_hz: f64,
    values: Vec<f64>,
}

/// Reads what stands behind the word `MOTION`.
fn read_motion(words: &mut Words, channel_count: usize) -> Result<MotionValues> {
    words.expect("Frames:")?;
    let count = words.number("the number of frames")?;
    if !(1.0..=1e9).contains(&count) || count.fract() != 0.0 {
        return Err(words.bad(format!("{count} frames")));
    }
    words.expect("Frame")?;
    words.expect("Time:")?;
    let seconds = words.number("the frame time")?;
    if seconds <= 0.0 {
        return Err(words.bad(format!("a frame time of {seconds} s")));
    }
    let count = count as usize;
    // nothing is allocated for frames that the header only promises
    let mut values = Vec::new();
    for frame in 0..count {
        for channel in 0..channel_count {
            values.push(words.number(&format!("channel {channel} of frame {frame}"))?);
        }
        if channel_count == 0 {
            break;
        }
    }
    // 0.0083333 is meant to be 1/120
    let rate = 1.0 / seconds;
    let whole = rate.round();
    let frame_rate_hz = if whole > 0.0 && (rate / whole - 1.0).abs() < 1e-4 { whole } else { rate };
    Ok(MotionValues { count, frame_rate_hz, values })
}

struct BvhFrames {
    values: Vec<f64>,
    count: usize,
    rest: Vec<Transform>,
    layout: BvhLayout,
    scale: f64,
}

impl Frames for BvhFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let width = self.values.len() / self.count;
        let mut values = self.values[index * width..(index + 1) * width].iter();
        let mut pose = self.rest.clone();
        for (transform, channels) in pose.iter_mut().zip(&self.layout.channels) {
            let mut rotation = DQuat::IDENTITY;
            for (&channel, &value) in channels.iter().zip(&mut values) {
                match channel {
                    BvhChannel::Position(axis) => transform.translation[axis] = (value * self.scale) as f32,
                    BvhChannel::Rotation(axis) => rotation *= about(axis, value.to_radians()),
                }
            }
            let q = rotation.normalize();
            transform.rotation = Quat::from_xyzw(q.x as f32, q.y as f32, q.z as f32, q.w as f32).normalize();
        }
        Ok(Frame { points: Vec::new(), pose })
    }
}

fn about(axis: usize, angle: f64) -> DQuat {
    match axis {
        0 => DQuat::from_rotation_x(angle),
        1 => DQuat::from_rotation_y(angle),
        _ => DQuat::from_rotation_z(angle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARM: &str = "HIERARCHY\nROOT upper arm\n{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n\
        JOINT hand\n {\n  OFFSET 10 0 0\n  CHANNELS 1 Zrotation\n  End Site\n  {\n   OFFSET 5 0 0\n  }\n }\n}\n\
        MOTION\nFrames: 2\nFrame Time: .0083333\n0 0 0 0 0 0 0\n1 2 3 90 0 0 90\n";

    fn read_text(text: &str) -> Result<Clip> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bvh");
        std::fs::write(&path, text).unwrap();
        read(&path, &ReadOptions { unit_in_metres: Some(0.01), ..ReadOptions::default() })
    }

    #[test]
    fn joints_turn_in_the_order_of_their_channels() {
        let clip = read_text(ARM).unwrap();
        assert_eq!(clip.frame_rate_hz, 120.0);
        let skeleton = clip.skeleton.as_ref().unwrap();
        assert_eq!(skeleton.joints[0].name, "upper arm");
        let worlds = skeleton.world_from_joints(&clip.frame(1).unwrap().pose);
        let hand = worlds[1].transform_point3(Vec3::ZERO);
        assert!(hand.distance(Vec3::new(0.01, 0.12, 0.03)) < 1e-6, "{hand}");
        let tip = worlds[1].transform_point3(clip.bvh.as_ref().unwrap().end_sites[0].1);
        assert!(tip.distance(Vec3::new(-0.04, 0.12, 0.03)) < 1e-6, "{tip}");
    }

    #[test]
    fn a_chain_of_twenty_thousand_joints_is_read_and_written_in_linear_time() {
        // all of one name, each inside the one before: names and indents were both quadratic, 66 s and a gigabyte
        let chain = |count: usize| {
            let joint = |i| {
                let kind = if i == 0 { "ROOT" } else { "JOINT" };
                format!("{kind} bone\n{{\nOFFSET 0 1 0\nCHANNELS 1 Zrotation\n")
            };
            let joints: String = (0..count).map(joint).collect();
            let end = "End Site\n{\nOFFSET 0 1 0\n}\n";
            let motion = format!("MOTION\nFrames: 1\nFrame Time: 0.04\n{}\n", "0 ".repeat(count));
            format!("HIERARCHY\n{joints}{end}{}{motion}", "}\n".repeat(count))
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.bvh");
        let written = [10_000, 20_000].map(|count| {
            let clip = read_text(&chain(count)).unwrap();
            let joints = &clip.skeleton.as_ref().unwrap().joints;
            assert_eq!(
                (joints.len(), joints[count - 1].name.clone()),
                (count, format!("bone.{}", count - 1))
            );
            crate::write(&path, &clip, &crate::WriteOptions::default()).unwrap();
            std::fs::metadata(&path).unwrap().len()
        });
        assert!(written[1] < 9 * written[0] / 4, "{written:?}");
        let start = std::time::Instant::now();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(back.skeleton.unwrap().joints.len(), 20_000);
        // 20 ms; a thousand times less than it was, and slow machines have their time
        assert!(start.elapsed().as_secs_f64() < 5.0, "{:?}", start.elapsed());
    }

    #[test]
    fn mistakes_name_their_line() {
        let problem = |text: &str| read_text(text).err().unwrap().to_string();
        assert!(problem(&ARM.replace("CHANNELS 1 Zrotation", "CHANNELS 1 Wrotation")).contains("line 9"));
        assert!(problem(&ARM.replace("90 0 0 90", "90 0 0")).contains("channel 6 of frame 1"));
        assert!(problem(&ARM.replace("Frames: 2", "Frames: 0")).contains("0 frames"));
        assert!(problem(&ARM.replace("Frames: 2", "Frames: 999999999")).contains("cut short"));
        assert!(problem(&ARM.replace("10 0 0", "10 nan 0")).contains("finite"));
        assert!(problem("HIERARCHY\nMOTION").contains("does not belong here"));
    }
}
