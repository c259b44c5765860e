//! Cuts: where an animation does not move from one frame to the next, but goes on elsewhere.
//!
//! Speed alone is no cut: whoever moves along sees nothing happen. A step from frame to frame is a cut where it departs from the
//! steps around it, or where somebody marked it.

use geometry::{Mat3, Vec3};

/// A step that departs from its neighbours by more than this many times the size of what moves is a cut, unless told otherwise.
pub const CUT_SIZES: f64 = 2.0;

/// Steps that are looked at, relative to the one that leads to the frame.
const OFFSETS: std::ops::RangeInclusive<isize> = -2..=3;
const COUNT: usize = 6;

/// How far something goes from frame to frame, in metres, around a frame: the displacements of its middle. Step 0 leads to the frame,
/// step 1 to the one after.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steps {
    ways: [Option<Vec3>; COUNT],
    marked: [bool; COUNT],
}

impl Steps {
    /// Steps between frames whose middles are given, by their offset from the frame: from −3 to 3, where they exist.
    pub fn between(middle: impl Fn(isize) -> Option<Vec3>) -> Self {
        let mut steps = Self::default();
        let mut before = middle(OFFSETS.start() - 1);
        for (way, offset) in steps.ways.iter_mut().zip(OFFSETS) {
            let here = middle(offset);
            *way = before.zip(here).map(|(a, b)| b - a).filter(|way| way.is_finite());
            before = here;
        }
        steps
    }

    /// Says that a step is a cut.
    pub fn mark(&mut self, offset: isize) {
        if let Some(marked) = index(offset).and_then(|k| self.marked.get_mut(k)) {
            *marked = true;
        }
    }

    /// Says how far a step goes, instead of what was known of it.
    pub fn set(&mut self, offset: isize, way: Option<Vec3>) {
        if let Some(own) = index(offset).and_then(|k| self.ways.get_mut(k)) {
            *own = way.filter(|way| way.is_finite());
        }
    }

    /// How far a step goes; nothing where it does not exist.
    pub fn way(&self, offset: isize) -> Option<Vec3> {
        *self.ways.get(index(offset)?)?
    }

    /// Whether a step is a cut: marked, or away from the steps before and after it by more than `limit`, in metres, and to the same
    /// side. (A ball that bounces departs from what it did before to one side, and from what it does afterwards to the other.)
    ///
    /// At the ends of an animation the next two on the other side take their part; a step without any neighbour is none.
    pub fn is_cut(&self, offset: isize, limit: f64) -> bool {
        let Some(k) = index(offset) else { return false };
        let Some(own) = self.ways[k] else { return false };
        if self.marked[k] {
            return true;
        }
        let at = |k: Option<usize>| *self.ways.get(k?)?;
        let (before, after) = (at(k.checked_sub(1)), at(Some(k + 1)));
        let neighbours = [before.or_else(|| at(Some(k + 2))), after.or_else(|| at(k.checked_sub(2)))];
        match neighbours.map(|neighbour| neighbour.map(|way| own - way)) {
            [Some(a), Some(b)] => a.length() > limit && b.length() > limit && a.dot(b) > 0.0,
            [Some(a), None] | [None, Some(a)] => a.length() > limit,
            [None, None] => false,
        }
    }

    /// How far a step goes if it is a motion.
    pub fn motion(&self, offset: isize, limit: f64) -> Option<Vec3> {
        self.way(offset).filter(|_| !self.is_cut(offset, limit))
    }
}

fn index(offset: isize) -> Option<usize> {
    OFFSETS.contains(&offset).then(|| (offset - OFFSETS.start()) as usize)
}

/// The mean of points.
pub fn middle(points: &[Vec3]) -> Vec3 {
    points.iter().sum::<Vec3>() / points.len().max(1) as f64
}

/// How a cut takes along what was moving: it keeps its shape, and its speed relative to the animation.
///
/// x ↦ R (x − a) + b,  v ↦ R (v − v₀) + v₁,  with v₀ and v₁ the animation's own mean velocities before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carry {
    /// R.
    pub rotation: Mat3,
    /// a and b, in metres.
    pub middles: [Vec3; 2],
    /// v₀ and v₁, in m/s.
    pub velocities: [Vec3; 2],
}

impl Carry {
    /// Across step 0, which is a cut: velocities are those of the steps around it. Where there is but one of them, it is not changed.
    pub fn across(steps: &Steps, limit: f64, frame_rate_hz: f64, rotation: Mat3, middles: [Vec3; 2]) -> Self {
        let [before, after] = [-1, 1].map(|offset| steps.motion(offset, limit));
        let either = before.or(after).unwrap_or_default();
        let velocities = [before, after].map(|way| frame_rate_hz * way.unwrap_or(either));
        Self { rotation, middles, velocities }
    }

    /// Where a point comes to be.
    pub fn place(&self, x: Vec3) -> Vec3 {
        self.rotation * (x - self.middles[0]) + self.middles[1]
    }

    /// Takes points along that move.
    pub fn apply(&self, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        let [before, after] = self.velocities;
        positions.iter_mut().for_each(|x| *x = self.place(*x));
        velocities.iter_mut().for_each(|v| *v = self.rotation * (*v - before) + after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the steps of a path are cuts, at any constant speed.
    fn cuts(path: &[f64], marked: Option<usize>) -> Vec<usize> {
        let along = |speed: f64| -> Vec<usize> {
            let place = |k: isize| {
                let k = usize::try_from(k).ok()?;
                Some(Vec3::new(*path.get(k)? + speed * k as f64, 0.3 * speed * k as f64, 0.0))
            };
            let is_cut = |frame: usize| {
                let mut steps = Steps::between(|offset| place(frame as isize + offset));
                if let Some(marked) = marked {
                    steps.mark(marked as isize - frame as isize);
                }
                steps.is_cut(0, 2.0)
            };
            (1..path.len()).filter(|&frame| is_cut(frame)).collect()
        };
        let still = along(0.0);
        for speed in [0.5, -7.0, 300.0] {
            assert_eq!(along(speed), still, "at {speed} a frame");
        }
        still
    }

    #[test]
    fn a_jump_is_a_cut_at_any_speed_and_a_motion_is_not() {
        assert_eq!(cuts(&[0.0, 0.1, 0.2, 9.0, 9.1, 9.2], None), [3], "amidst");
        assert_eq!(cuts(&[9.0, 0.0, 0.1, 0.2], None), [1], "after a first frame in the rest pose");
        assert_eq!(cuts(&[0.0, 0.1, 0.2, 9.0], None), [3], "at the end");
        assert_eq!(cuts(&[0.0, 0.0, 9.0, 0.0, 0.0], None), [2, 3], "there and back");
        assert_eq!(cuts(&[0.0, 0.0, 1.9, 1.9], None), Vec::<usize>::new(), "too short");
        assert_eq!(cuts(&[0.0, 0.0, 2.1, 2.1], None), [2], "far enough");
        assert_eq!(cuts(&[0.0, 0.0, 0.0, 5.0, 10.0, 15.0], None), Vec::<usize>::new(), "a sudden start");
        assert_eq!(cuts(&[15.0, 10.0, 5.0, 5.5, 10.0, 15.0], None), Vec::<usize>::new(), "a bounce");
        assert_eq!(cuts(&[0.0, 0.0, 0.0, 0.0], Some(2)), [2], "one that was marked");
        assert_eq!(cuts(&[0.0, 50.0], None), Vec::<usize>::new(), "nobody can tell");
        assert_eq!(cuts(&[0.0, 0.0, 9.0], None), [1, 2], "either of two");
        assert_eq!(cuts(&[0.0, 0.0, 1.9], None), Vec::<usize>::new(), "neither of two");
    }

    #[test]
    fn a_cut_keeps_shape_and_relative_speed() {
        let path = [Vec3::ZERO, Vec3::X, Vec3::new(50.0, 0.0, 0.0), Vec3::new(50.0, 1.0, 0.0)];
        let steps = Steps::between(|offset| path.get(usize::try_from(offset + 2).ok()?).copied());
        assert!(steps.is_cut(0, 2.0));
        let turn = Mat3::from_rotation_z(std::f64::consts::FRAC_PI_2);
        let carry = Carry::across(&steps, 2.0, 10.0, turn, [path[1], path[2]]);
        assert_eq!(carry.velocities, [10.0 * Vec3::X, 10.0 * Vec3::Y]);
        let (mut x, mut v) = ([Vec3::new(1.5, 0.0, 0.0)], [Vec3::new(11.0, 0.0, 0.0)]);
        carry.apply(&mut x, &mut v);
        assert!(x[0].distance(Vec3::new(50.0, 0.5, 0.0)) < 1e-12 && v[0].distance(11.0 * Vec3::Y) < 1e-12);
    }
}
