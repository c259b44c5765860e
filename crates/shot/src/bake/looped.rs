//! The periodic answer: an animation that is repeated until what is simulated on it repeats itself too, then closed.
//!
//! Period after period is baked, each from the state in which the one before ended, until a period ends where it began, to a hundredth of the
//! scene's size. What is left is closed by mixing the last period y with the one before it, z: y′ⱼ = (1 − w) yⱼ + w zⱼ, w = t²(3 − 2t), t = j/P. As z ends where
//! y begins, in place and in velocity, y′ is closed in both; and as both are answers to the same motion, what is mixed is nearly the same.

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
        })
    }

    fn sentence(&self) -> String {
        let cm = |gap: &f64| format!("{:.2}", 100.0 * gap);
        let gaps: Vec<String> = self.gaps_m.iter().map(cm).collect();
        format!(
            "{} periods of {} frames; from one to the next it came apart by {} cm; the last gap, {:.2} % of its size, is closed by mixing",
            self.gaps_m.len() + 1,
            self.frames,
            gaps.join(", "),
            100.0 * self.gap_m() / self.size_m.max(f64::MIN_POSITIVE)
        )
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
        let mut report = LoopReport { gaps_m: Vec::new(), size_m, frames: period.frames };
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
        let closed = Closed {
            frames: bake.clip.frames().clone(),
            period: period.clone(),
            start: (periods - 1) * period.frames,
        };
        self.audit(&mut bake, &closed, frames)?;
        bake.clip = bake.clip.with_frames(Arc::new(closed));
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
            layer.notes.push((String::from("loop"), report.sentence()));
            if !report.is_settled() {
                let text = format!(
                    "after {periods} periods the loop's end is still {:.1} cm from its beginning, {:.1} % of its size, and is closed by mixing; \
                     give it more periods with `repeat`, or more damping",
                    100.0 * report.gap_m(),
                    100.0 * report.gap_m() / size_m
                );
                layer.warnings.push((0, text));
            }
        }
        bake.looped = Some(report);
        Ok(bake)
    }

    /// Mixing two answers may make a surface cross itself where neither does: that is told.
    fn audit(&self, bake: &mut Bake, closed: &Closed, frames: FrameRange) -> Result<(), Error> {
        let Some(count) = self.registry.crossings() else { return Ok(()) };
        let clip = &bake.clip;
        let mut worst: Option<(usize, usize)> = None;
        for index in frames.to_range() {
            let at = closed.start + index;
            let (mixed, own) = (closed.read(index)?, closed.frames.read(at)?);
            let before = closed.frames.read(at - closed.period.frames)?;
            let crossings = |frame: &Frame| -> usize {
                let meshes = clip.meshes.iter().zip(&frame.points);
                meshes.filter_map(|(mesh, points)| count(points, &mesh.point_triangles())).sum()
            };
            // where both cross anyway, a few more say nothing
            let usual = crossings(&own).max(crossings(&before));
            let more = crossings(&mixed).saturating_sub(usual + usual / 10);
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

/// The last period, mixed with the one before towards its end.
struct Closed {
    frames: Arc<dyn Frames>,
    period: Period,
    /// The frame at which it begins.
    start: usize,
}

impl Closed {
    /// How much of the period before is in a frame.
    fn weight(&self, index: usize) -> f64 {
        let t = index as f64 / self.period.frames as f64;
        t * t * (3.0 - 2.0 * t)
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
