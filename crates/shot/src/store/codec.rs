//! Frames and checkpoints as bytes.
//!
//! All numbers are little-endian. A file begins with a mark, the layer's key and the frame's number, and ends with the
//! blake3 hash of everything before it: a frame of another layer, another version or another place is not taken for this
//! one, and a damaged one for none.

use clip::{Frame, Transform};
use glam::{Quat, Vec3};

use crate::BakeKey;
use crate::layer::{Figure, Figures};

const FRAME_MARK: &[u8; 8] = b"FTFRAME3";
const CHECKPOINT_MARK: &[u8; 8] = b"FTCHECK1";
const HASH: usize = 32;
/// In place of a count: not stored, the same as in the layer below.
const AS_BELOW: u32 = u32::MAX;

/// What is stored of a frame. `None`: the same as in the layer below.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoredFrame {
    pub(crate) points: Vec<Option<Vec<[f32; 3]>>>,
    pub(crate) pose: Option<Vec<Transform>>,
    /// Fields that the layer made, packed.
    pub(crate) grids: Vec<Vec<u8>>,
    pub(crate) figures: Figures,
    pub(crate) warnings: Vec<String>,
    /// Which of them tell that physics was off.
    pub(crate) fallbacks: Vec<String>,
}

impl StoredFrame {
    /// What differs, to the bit, between a frame and the one below it.
    pub(crate) fn difference(frame: Frame, below: &Frame) -> Self {
        let same = |a: &[[f32; 3]], b: &[[f32; 3]]| {
            bytemuck::cast_slice::<_, u8>(a) == bytemuck::cast_slice::<_, u8>(b)
        };
        let points = frame.points.into_iter().zip(&below.points);
        Self {
            points: points.map(|(points, below)| (!same(&points, below)).then_some(points)).collect(),
            pose: (pose_bits(&frame.pose) != pose_bits(&below.pose)).then_some(frame.pose),
            ..Self::default()
        }
    }

    /// The whole frame, given the one below it.
    pub(crate) fn over(self, mut below: Frame) -> Frame {
        for (points, slot) in self.points.into_iter().zip(&mut below.points) {
            if let Some(points) = points {
                *slot = points;
            }
        }
        if let Some(pose) = self.pose {
            below.pose = pose;
        }
        below
    }

    pub(crate) fn encode(&self, key: &BakeKey, index: usize) -> Vec<u8> {
        let floats: usize = self.points.iter().flatten().map(Vec::len).sum();
        let mut bytes = Vec::with_capacity(12 * floats + 256);
        begin(&mut bytes, FRAME_MARK, key, index);
        put(&mut bytes, self.points.len() as u32);
        for points in &self.points {
            put(&mut bytes, points.as_ref().map_or(AS_BELOW, |points| points.len() as u32));
        }
        put(&mut bytes, self.pose.as_ref().map_or(AS_BELOW, |pose| pose.len() as u32));
        for point in self.points.iter().flatten().flatten() {
            point.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        }
        for x in self.pose.iter().flat_map(|pose| pose_floats(pose)) {
            bytes.extend_from_slice(&x.to_le_bytes());
        }
        put(&mut bytes, self.figures.0.len() as u32);
        for figure in &self.figures.0 {
            put_text(&mut bytes, &figure.name);
            put_text(&mut bytes, &figure.unit);
            bytes.extend_from_slice(&figure.value.to_le_bytes());
        }
        put(&mut bytes, self.warnings.len() as u32);
        self.warnings.iter().for_each(|warning| put_text(&mut bytes, warning));
        put(&mut bytes, self.fallbacks.len() as u32);
        self.fallbacks.iter().for_each(|fallback| put_text(&mut bytes, fallback));
        put(&mut bytes, self.grids.len() as u32);
        for grid in &self.grids {
            put(&mut bytes, grid.len() as u32);
            bytes.extend_from_slice(grid);
        }
        seal(bytes)
    }

    /// `None` when the bytes are not this frame of this layer, whole.
    pub(crate) fn decode(bytes: &[u8], key: &BakeKey, index: usize) -> Option<Self> {
        let mut bytes = open(bytes, FRAME_MARK, key, index)?;
        let meshes = take(&mut bytes)?;
        let counts: Vec<u32> = (0..meshes).map(|_| take(&mut bytes)).collect::<Option<_>>()?;
        let joints = take(&mut bytes)?;
        let mut points = Vec::new();
        for count in counts {
            points.push(if count == AS_BELOW {
                None
            } else {
                Some(take_points(&mut bytes, count as usize)?)
            });
        }
        let pose = match joints {
            AS_BELOW => None,
            count => Some((0..count).map(|_| take_joint(&mut bytes)).collect::<Option<_>>()?),
        };
        let mut figures = Figures::default();
        for _ in 0..take(&mut bytes)? {
            let (name, unit) = (take_text(&mut bytes)?, take_text(&mut bytes)?);
            let value = f64::from_le_bytes(*take_chunk::<8>(&mut bytes)?);
            figures.0.push(Figure { name, unit, value });
        }
        let warnings = (0..take(&mut bytes)?).map(|_| take_text(&mut bytes)).collect::<Option<_>>()?;
        let fallbacks = (0..take(&mut bytes)?).map(|_| take_text(&mut bytes)).collect::<Option<_>>()?;
        let grids = (0..take(&mut bytes)?).map(|_| take_bytes(&mut bytes)).collect::<Option<_>>()?;
        Some(Self { points, pose, grids, figures, warnings, fallbacks })
    }
}

/// The key that a frame's file says it is stored under.
pub(crate) fn key_in(bytes: &[u8]) -> Option<BakeKey> {
    let key = bytes.strip_prefix(FRAME_MARK)?.first_chunk::<32>()?;
    Some(BakeKey::from_bytes(*key))
}

/// A simulation's state as a file.
pub(crate) fn seal_checkpoint(key: &BakeKey, index: usize, state: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(state.len() + 128);
    begin(&mut bytes, CHECKPOINT_MARK, key, index);
    bytes.extend_from_slice(state);
    seal(bytes)
}

/// The state in a file, if it is whole and the one asked for.
pub(crate) fn open_checkpoint(bytes: &[u8], key: &BakeKey, index: usize) -> Option<Vec<u8>> {
    open(bytes, CHECKPOINT_MARK, key, index).map(<[u8]>::to_vec)
}

fn begin(bytes: &mut Vec<u8>, mark: &[u8; 8], key: &BakeKey, index: usize) {
    bytes.extend_from_slice(mark);
    bytes.extend_from_slice(key.bytes());
    put(bytes, index as u32);
}

fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The content between the head and the hash, if both are right.
fn open<'a>(bytes: &'a [u8], mark: &[u8; 8], key: &BakeKey, index: usize) -> Option<&'a [u8]> {
    let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
    let mut head = Vec::new();
    begin(&mut head, mark, key, index);
    (blake3::hash(content).as_bytes() == hash).then_some(())?;
    content.strip_prefix(head.as_slice())
}

fn put(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
}

fn take_chunk<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (chunk, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(chunk)
}

fn take(bytes: &mut &[u8]) -> Option<u32> {
    take_chunk::<4>(bytes).map(|chunk| u32::from_le_bytes(*chunk))
}

fn take_bytes(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let count = take(bytes)? as usize;
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken.to_vec())
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(bytes)?).ok()
}

fn take_points(bytes: &mut &[u8], count: usize) -> Option<Vec<[f32; 3]>> {
    let (chunk, rest) = bytes.split_at_checked(count.checked_mul(12)?)?;
    *bytes = rest;
    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    Some(chunk.chunks_exact(12).map(|b| [float(&b[0..]), float(&b[4..]), float(&b[8..])]).collect())
}

fn take_joint(bytes: &mut &[u8]) -> Option<Transform> {
    let mut x = [0.0_f32; 10];
    for x in &mut x {
        *x = f32::from_le_bytes(*take_chunk::<4>(bytes)?);
    }
    Some(Transform {
        translation: Vec3::new(x[0], x[1], x[2]),
        rotation: Quat::from_xyzw(x[3], x[4], x[5], x[6]),
        scale: Vec3::new(x[7], x[8], x[9]),
    })
}

fn pose_floats(pose: &[Transform]) -> impl Iterator<Item = f32> + '_ {
    pose.iter().flat_map(|joint| {
        let (t, r, s) = (joint.translation, joint.rotation, joint.scale);
        [t.x, t.y, t.z, r.x, r.y, r.z, r.w, s.x, s.y, s.z]
    })
}

fn pose_bits(pose: &[Transform]) -> Vec<u32> {
    pose_floats(pose).map(f32::to_bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (StoredFrame, BakeKey) {
        let mut figures = Figures::default();
        figures.add("energy/total", "J", 0.1 + 0.2);
        let joint = Transform { translation: Vec3::new(1.0, -0.0, 3.0), ..Transform::IDENTITY };
        let frame = StoredFrame {
            points: vec![Some(vec![[1.0, f32::MIN_POSITIVE, -0.0]; 5]), None],
            pose: Some(vec![joint]),
            grids: vec![vec![1, 2, 3], Vec::new()],
            figures,
            warnings: vec!["it sags".into()],
            fallbacks: vec!["it fell".into()],
        };
        (frame, BakeKey::of(&[b"k"]))
    }

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let (frame, key) = example();
        assert_eq!(StoredFrame::decode(&frame.encode(&key, 7), &key, 7), Some(frame));
    }

    #[test]
    fn any_cut_and_any_flipped_bit_is_noticed() {
        let (frame, key) = example();
        let bytes = frame.encode(&key, 7);
        for length in 0..bytes.len() {
            assert_eq!(StoredFrame::decode(&bytes[..length], &key, 7), None, "cut at {length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(StoredFrame::decode(&damaged, &key, 7), None, "byte {at}");
        }
        assert_eq!(StoredFrame::decode(&bytes, &key, 8), None, "another frame");
        assert_eq!(StoredFrame::decode(&bytes, &BakeKey::of(&[b"other"]), 7), None, "another layer");
        assert_eq!(open_checkpoint(&bytes, &key, 7), None, "not a checkpoint");
    }

    #[test]
    fn only_what_differs_is_stored() {
        let below =
            Frame { points: vec![vec![[0.0; 3]; 2], vec![[1.0; 3]]], pose: vec![Transform::IDENTITY] };
        let mut frame = below.clone();
        // a negative zero is another bit pattern, though it compares equal
        frame.points[0][1][2] = -0.0;
        let stored = StoredFrame::difference(frame.clone(), &below);
        assert!(stored.points[0].is_some() && stored.points[1].is_none() && stored.pose.is_none());
        let back = stored.over(below);
        assert!(back.points[0][1][2].is_sign_negative());
        assert_eq!(back, frame);
    }
}
