//! The periodic answer: an animation that is repeated until what is simulated on it repeats itself too, then closed.
//!
//! Period after period is baked, each from the state in which the one before ended, until a period ends where it began, to a hundredth of the
//! scene's size. What is left is closed by mixing the last period y with the one before it, z: y′ⱼ = (1 − w) yⱼ + w zⱼ, w = t²(3 − 2t), t = j/P. As z ends where
//! y begins, in place and in velocity, y′ is closed in both; and as both are answers to the same motion, what is mixed is nearly the same.
//!
//! Loose cloth never repeats itself, and the mean of two of its answers is neither. Then y and z are those two neighbouring periods, and t runs over those frames, half
//! as many as a period has, in which the two come nearest to each other: y′ is y before them and z after them.

use std::ops::Range;
use std::sync::Arc;

use clip::{Clip, Frame, Frames, Grid};

use super::{Bake, Purpose};
use crate::progress::Context;
use crate::repeat::{Period, farthest_point, size};
use crate::shot::Shot;
use crate::store::blend;
use crate::{BakeOptions, Error, FrameRange, input};

/// A loop is settled when its ends are this close, as a part of the scene's size.
const SETTLED: f64 = 0.01;

/// How a loop was found.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopReport {
    /// How far the end of each period was from its beginning, in metres, from the second on: the largest of all points.
    pub gaps_m: Vec<f64>,
    /// The scene's size, in metres.
    pub size_m: f64,
    /// Frames of a period.
    pub frames: usize,
    /// How far apart what is mixed was at most, in metres.
    pub mixed_m: f64,
}

impl LoopReport {
    /// What was left to be closed.
    pub fn gap_m(&self) -> f64 {
        self.gaps_m.last().copied().unwrap_or(0.0)
    }

    /// Whether it repeated itself before it was closed.
    pub fn is_settled(&self) -> bool {
        self.gap_m() <= SETTLED * self.size_m
    }

    /// Whether it comes no closer: three periods in a row have not made the gap a tenth smaller.
    fn is_stuck(&self) -> bool {
        let least = |gaps: &[f64]| gaps.iter().copied().fold(f64::INFINITY, f64::min);
        match self.gaps_m.len().checked_sub(3) {
            Some(before @ 1..) => least(&self.gaps_m[before..]) > 0.9 * least(&self.gaps_m[..before]),
            _ => false,
        }
    }

    /// The same for machines.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "frames": self.frames,
            "gaps_m": self.gaps_m,
            "size_m": self.size_m,
            "is_settled": self.is_settled(),
            "mixed_m": self.mixed_m,
        })
    }

    fn sentence(&self, closed: &Closed) -> String {
        let cm = |gap: &f64| format!("{:.2}", 100.0 * gap);
        let gaps: Vec<String> = self.gaps_m.iter().map(cm).collect();
        let begin = format!(
            "{} periods of {} frames; from one to the next it came apart by {} cm",
            self.gaps_m.len() + 1,
            self.frames,
            gaps.join(", ")
        );
        match self.is_settled() {
            true => format!(
                "{begin}; the last gap, {:.2} % of its size, is closed by mixing",
                100.0 * self.gap_m() / self.size_m.max(f64::MIN_POSITIVE)
            ),
            false => {
                let period = closed.start / self.frames;
                let (first, last) = (closed.mixed.start, closed.mixed.end);
                format!(
                    "{begin}; periods {} and {period} are nearest in frames {first} to {last}, {} cm apart at most, and mixed there",
                    period + 1,
                    cm(&self.mixed_m)
                )
            }
        }
    }
}

impl Shot {
    /// Bakes, or reads, periods until they repeat; gives back the last one, closed.
    pub(super) fn through_periods(
        &self,
        options: &BakeOptions,
        context: &Context<'_>,
        purpose: Purpose,
    ) -> Result<Bake, Error> {
        // all periods lie in the input; a part of them is asked for
        let alone = self.open_period(&self.files)?;
        let period = Period::of(&alone)?;
        let most = self.periods();
        let size_m = f64::from(size(&alone.frame(0)?));
        let mut report = LoopReport { gaps_m: Vec::new(), size_m, frames: period.frames, mixed_m: 0.0 };
        let mut options = options.clone();
        let wanted = options.frames.take();
        let mut periods = 2;
        let mut bake = loop {
            let last = periods * period.frames;
            options.frames = Some(FrameRange { first: 0, last });
            let bake = self.through_layers(&options, context, purpose)?;
            // only what was there before the first period is forgotten
            options.fresh = false;
            report.gaps_m.push(gap(&bake.clip, &period, periods)?);
            if report.is_settled() || report.is_stuck() || periods >= most {
                break bake;
            }
            periods += 1;
        };
        let frames = FrameRange { first: 0, last: period.frames.min(bake.clip.frame_count() - 1) };
        let last = (periods - 1) * period.frames;
        let frames_of = bake.clip.frames().clone();
        let closed = match report.is_settled() {
            true => {
                Closed { frames: frames_of, period: period.clone(), start: last, mixed: 0..period.frames }
            }
            false => Closed::where_nearest(frames_of, &period, periods)?,
        };
        report.mixed_m = closed.apart()?;
        self.audit(&mut bake, &closed, frames)?;
        let closed = Arc::new(closed);
        bake.clip = bake.clip.with_frames(closed.clone());
        bake.clip.cuts.clone_from(&alone.cuts);
        bake.input = input::cropped(&bake.whole_input, frames)?;
        bake.frames = frames;
        if let Some(wanted) = wanted {
            bake.clip = input::cropped(&bake.clip, wanted)?;
            bake.input = input::cropped(&bake.input, wanted)?;
            bake.frames = wanted;
        }
        bake.scene = super::surrounded(&bake.clip, &bake.scenery, bake.frames.first)?;
        if let Some(layer) = bake.layers.last_mut() {
            layer.notes.push((String::from("loop"), report.sentence(&closed)));
            if !report.is_settled() {
                let text = format!(
                    "after {periods} periods the loop's end is still {:.1} cm from its beginning, {:.1} % of its size, and is closed by mixing \
                     what is {:.1} cm apart; give it more periods with `repeat`, or more damping",
                    100.0 * report.gap_m(),
                    100.0 * report.gap_m() / size_m,
                    100.0 * report.mixed_m
                );
                layer.warnings.push((0, text));
            }
        }
        bake.looped = Some(report);
        Ok(bake)
    }

    /// Mixing two answers may make a surface cross itself, or what it hangs on, where neither does: that is told.
    fn audit(&self, bake: &mut Bake, closed: &Closed, frames: FrameRange) -> Result<(), Error> {
        let Some(count) = self.registry.crossings() else { return Ok(()) };
        // all meshes as one surface: a cape may go through the back that it lies on
        let mut triangles = Vec::new();
        let mut first = 0;
        for mesh in &bake.clip.meshes {
            triangles.extend(mesh.point_triangles().iter().map(|corners| corners.map(|p| p + first)));
            first += mesh.point_count() as u32;
        }
        let crossings = |frame: &Frame| count(&frame.points.concat(), &triangles).unwrap_or(0);
        let mut worst: Option<(usize, usize)> = None;
        for index in frames.to_range().filter(|index| !matches!(closed.weight(*index), 0.0 | 1.0)) {
            let at = closed.start + index;
            let before = crossings(&closed.frames.read(at - closed.period.frames)?);
            let own = crossings(&closed.frames.read(at)?);
            let animated = crossings(&bake.whole_input.frame(at)?).min(own).min(before);
            // where both cross anyway, a few more say nothing; what crosses in the animation is not of the layers' making
            let usual = own.max(before);
            let more = crossings(&closed.read(index)?).saturating_sub(usual + (usual - animated) / 10);
            if more > worst.map_or(0, |(_, most)| most) {
                worst = Some((index, more));
            }
        }
        if let (Some((frame, more)), Some(layer)) = (worst, bake.layers.last_mut()) {
            let text = format!(
                "closing the loop makes {more} more pairs of triangles cross; give it more periods with `repeat`"
            );
            layer.warnings.push((frame, text));
        }
        Ok(())
    }
}

/// How far the end of a period is from its beginning: the largest of all points and joints without parents.
fn gap(clip: &Clip, period: &Period, periods: usize) -> Result<f64, Error> {
    let last = (periods * period.frames).min(clip.frame_count() - 1);
    let (end, begin) = (clip.frame(last)?, period.later(clip.frame(last - period.frames)?, 1.0));
    Ok(f64::from(farthest_point(&end, &begin)))
}

/// A period, mixed with the one before towards its end.
struct Closed {
    frames: Arc<dyn Frames>,
    period: Period,
    /// The frame at which it begins.
    start: usize,
    /// The frames of the period over which the one before comes in.
    mixed: Range<usize>,
}

impl Closed {
    /// Of so many periods that one, and in it those frames, half as many as it has, in which it is nearest to the one before.
    fn where_nearest(frames: Arc<dyn Frames>, period: &Period, periods: usize) -> Result<Self, Error> {
        let length = period.frames.div_ceil(2);
        let last = (periods - 1) * period.frames;
        let mut best = (f32::INFINITY, last, 0..period.frames);
        for start in (1..periods).map(|number| number * period.frames) {
            let whole =
                Self { frames: frames.clone(), period: period.clone(), start, mixed: 0..period.frames };
            let apart: Vec<f32> =
                (0..=period.frames).map(|index| whole.apart_at(index)).collect::<Result<_, _>>()?;
            for (first, apart) in apart.windows(length + 1).enumerate() {
                let most = apart.iter().copied().fold(0.0, f32::max);
                if most < best.0 {
                    best = (most, start, first..first + length);
                }
            }
        }
        let (_, start, mixed) = best;
        Ok(Self { frames, period: period.clone(), start, mixed })
    }

    /// How much of the period before is in a frame.
    fn weight(&self, index: usize) -> f64 {
        let t = index.saturating_sub(self.mixed.start) as f64 / self.mixed.len().max(1) as f64;
        let t = t.min(1.0);
        t * t * (3.0 - 2.0 * t)
    }

    /// How far a frame is from that of the period before, in metres: the largest of all points.
    fn apart_at(&self, index: usize) -> Result<f32, Error> {
        let own = self.frames.read(self.start + index)?;
        let before = self.frames.read(self.start + index - self.period.frames)?;
        Ok(farthest_point(&own, &self.period.later(before, 1.0)))
    }

    /// The same of all frames that are mixed.
    fn apart(&self) -> Result<f64, Error> {
        let within = self.mixed.start..=self.mixed.end;
        within
            .map(|index| self.apart_at(index))
            .try_fold(0.0, |most, apart| Ok(f64::max(most, apart?.into())))
    }

    fn check(&self, index: usize) -> clip::Result<()> {
        match index < self.count() {
            true => Ok(()),
            false => Err(clip::Error::NoSuchFrame { index, count: self.count() }),
        }
    }
}

impl Frames for Closed {
    fn count(&self) -> usize {
        self.period.frames + 1
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        self.check(index)?;
        let back = -((self.start / self.period.frames) as f32);
        let before = self.frames.read(self.start + index - self.period.frames)?;
        let before = self.period.later(before, back + 1.0);
        let weight = self.weight(index);
        if weight == 1.0 {
            return Ok(before);
        }
        let own = self.period.later(self.frames.read(self.start + index)?, back);
        Ok(if weight == 0.0 { own } else { blend(&own, &before, weight) })
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<Grid>> {
        self.check(index)?;
        let before = self.frames.grids(self.start + index - self.period.frames)?;
        let weight = self.weight(index) as f32;
        if weight == 1.0 {
            return Ok(before);
        }
        let mut own = self.frames.grids(self.start + index)?;
        for (grid, before) in own.iter_mut().zip(&before).filter(|(a, b)| a.values.len() == b.values.len()) {
            grid.values.iter_mut().zip(&before.values).for_each(|(a, b)| *a += weight * (b - *a));
        }
        Ok(own)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.check(index)?;
        self.frames.morph_weights(self.start + index - self.period.frames)
    }
}
