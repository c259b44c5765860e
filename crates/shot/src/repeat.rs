//! An animation again and again: a walk that goes on, a run on the spot, for as many periods as are asked for.

use std::sync::Arc;

use clip::{Clip, Frame, Frames, Grid};
use glam::Vec3;

use crate::Error;

/// Frames that are alike to this part of the scene's size are one frame.
const ALIKE: f32 = 2e-3;

/// How an animation goes on after its last frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Period {
    /// Frames until it begins anew.
    pub(crate) frames: usize,
    /// How far each mesh has come by then, in metres: a walk gets on, a run on the spot does not.
    meshes: Vec<Vec3>,
    /// The same of joints without parents.
    joints: Vec<Vec3>,
    /// How far it jumps from its end to its beginning, in metres: nothing where the last frame is the first one again, or a step away from it.
    jump: f32,
    /// Whether the last frame is the first one again.
    is_closed: bool,
}

impl Period {
    /// Looks whether the last frame is the first one again, perhaps elsewhere. Where it is, it begins the next period; where it is not, the
    /// first frame comes after the last.
    pub(crate) fn of(clip: &Clip) -> Result<Self, Error> {
        let count = clip.frame_count();
        let still = |count: usize, frame: &Frame, jump: f32| Self {
            frames: count.max(1),
            meshes: vec![Vec3::ZERO; frame.points.len()],
            joints: vec![Vec3::ZERO; frame.pose.len()],
            jump,
            is_closed: false,
        };
        let first = clip.frame(0)?;
        if count < 2 {
            return Ok(still(count, &first, 0.0));
        }
        let last = clip.frame(count - 1)?;
        let size = size(&first);
        let travels: Vec<Vec3> = first.points.iter().zip(&last.points).map(|(a, b)| travel(a, b)).collect();
        let apart = |travel: &Vec3, (a, b): (&Vec<[f32; 3]>, &Vec<[f32; 3]>)| {
            a.iter()
                .zip(b)
                .map(|(a, b)| (Vec3::from(*b) - Vec3::from(*a) - *travel).length())
                .fold(0.0, f32::max)
        };
        let frames = first.points.iter().zip(&last.points);
        let farthest =
            travels.iter().zip(frames).map(|(travel, pair)| apart(travel, pair)).fold(0.0, f32::max);
        let turned =
            first.pose.iter().zip(&last.pose).any(|(a, b)| a.rotation.dot(b.rotation).abs() < 1.0 - 1e-4);
        if farthest > ALIKE * size || (first.points.is_empty() && turned) {
            // a step like those at either end is none to speak of
            let step =
                |a: usize, b: usize| Ok::<f32, Error>(farthest_point(&clip.frame(a)?, &clip.frame(b)?));
            let usual = step(0, 1)?.max(step(count - 2, count - 1)?);
            let jump = farthest_point(&last, &first);
            return Ok(still(count, &first, if jump > 2.0 * usual { jump } else { 0.0 }));
        }
        // what hardly moves stands still
        let or_still = |travel: Vec3| if travel.length() < ALIKE * size { Vec3::ZERO } else { travel };
        let parents = clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints).map(|joint| joint.parent);
        let moved = first.pose.iter().zip(&last.pose).map(|(a, b)| b.translation - a.translation);
        let joints =
            parents.zip(moved).map(|(parent, by)| if parent.is_none() { or_still(by) } else { Vec3::ZERO });
        Ok(Self {
            frames: count - 1,
            meshes: travels.into_iter().map(or_still).collect(),
            joints: joints.collect(),
            jump: 0.0,
            is_closed: true,
        })
    }

    /// A frame so many periods later.
    pub(crate) fn later(&self, mut frame: Frame, periods: f32) -> Frame {
        for (points, by) in frame.points.iter_mut().zip(&self.meshes).filter(|(_, by)| **by != Vec3::ZERO) {
            points.iter_mut().for_each(|p| *p = (Vec3::from(*p) + periods * *by).into());
        }
        frame.pose.iter_mut().zip(&self.joints).for_each(|(joint, by)| joint.translation += periods * *by);
        frame
    }
}

/// The diagonal of everything in a frame; of joints alone, of where they are.
pub(crate) fn size(frame: &Frame) -> f32 {
    let points = frame.points.iter().flatten().map(|p| Vec3::from(*p));
    let joints = frame.pose.iter().map(|joint| joint.translation).filter(|_| frame.points.is_empty());
    let ends =
        points.chain(joints).fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)));
    let diagonal = (ends.1 - ends.0).length();
    if diagonal.is_finite() { diagonal } else { 0.0 }
}

/// How far the farthest point or joint is from where it is in another frame.
pub(crate) fn farthest_point(a: &Frame, b: &Frame) -> f32 {
    let points = a.points.iter().flatten().zip(b.points.iter().flatten());
    let points = points.map(|(a, b)| (Vec3::from(*a) - Vec3::from(*b)).length());
    let joints = a.pose.iter().zip(&b.pose).map(|(a, b)| (a.translation - b.translation).length());
    points.chain(joints).fold(0.0, f32::max)
}

/// How far points have come together.
fn travel(a: &[[f32; 3]], b: &[[f32; 3]]) -> Vec3 {
    let sum: glam::DVec3 = a.iter().zip(b).map(|(a, b)| (Vec3::from(*b) - Vec3::from(*a)).as_dvec3()).sum();
    (sum / a.len().max(1) as f64).as_vec3()
}

/// A clip so many times, one after the other. The frame that begins the next period is there where the clip has it, and in a loop.
pub(crate) fn repeated(clip: &Clip, times: usize, is_loop: bool) -> Result<Clip, Error> {
    let period = Period::of(clip)?;
    let count = period.frames * times + usize::from(is_loop || period.is_closed);
    let cuts = (0..times).flat_map(|time| clip.cuts.iter().map(move |cut| (time, *cut)));
    let cuts: Vec<usize> =
        cuts.map(|(time, cut)| time * period.frames + cut).filter(|cut| *cut < count).collect();
    let mut all =
        clip.with_frames(Arc::new(Repeated { frames: clip.frames().clone(), period: period.clone(), count }));
    all.cuts = cuts;
    if period.jump > 0.0 {
        all.warnings.push(format!(
            "the animation is repeated, but its end is {:.1} cm from its beginning: it jumps there",
            100.0 * period.jump
        ));
    }
    Ok(all)
}

struct Repeated {
    frames: Arc<dyn Frames>,
    period: Period,
    count: usize,
}

impl Repeated {
    fn place(&self, index: usize) -> clip::Result<(usize, usize)> {
        match index < self.count {
            true => Ok((index / self.period.frames, index % self.period.frames)),
            false => Err(clip::Error::NoSuchFrame { index, count: self.count }),
        }
    }
}

impl Frames for Repeated {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let (periods, frame) = self.place(index)?;
        Ok(self.period.later(self.frames.read(frame)?, periods as f32))
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<Grid>> {
        self.frames.grids(self.place(index)?.1)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(self.place(index)?.1)
    }
}
