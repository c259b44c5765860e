//! The bake watches itself: what is faster than anything that could have made it so has come apart.
//!
//! A simulated surface gets its speed from the animation it hangs on, from obstacles that push it, from wind, and from gravity. What is
//! three times as fast as the fastest of them, and crosses its own length within a frame, is no motion that anybody asked for: frames
//! after it are worthless, and the longer they are baked, the more of them.

use dynamics::{State, Window};
use geometry::Vec3;
use shot::LayerError;

/// How many times faster than what drives it something may be.
const FACTOR: f64 = 3.0;

/// Watches a simulation.
pub(crate) struct Watch {
    /// The strongest gravity, in m/s².
    gravity: f64,
    /// The fastest wind, in m/s.
    wind: f64,
    /// The size of what is simulated, in metres.
    size: f64,
    /// Seconds that it has been falling before the first frame.
    pre_roll: f64,
    /// The fastest that animation and obstacles have been, in m/s.
    fastest: f64,
}

impl Watch {
    pub(crate) fn new(gravity: f64, wind: f64, size: f64, pre_roll: f64) -> Self {
        Self { gravity, wind, size, pre_roll, fastest: 0.0 }
    }

    /// Takes note of how fast the animation is, and what else moves by itself, from the frame before to this one.
    pub(crate) fn follow(&mut self, windows: &[Window], obstacles: f64) {
        self.fastest = windows.iter().map(fastest_guide).fold(self.fastest.max(obstacles), f64::max);
    }

    /// Refuses a state that has come apart. `owner` names the mesh that a point of the body belongs to.
    pub(crate) fn judge(
        &self,
        window: &Window,
        state: &State,
        owner: impl Fn(usize) -> String,
    ) -> Result<(), LayerError> {
        let Window { index, frame_rate_hz, .. } = window;
        let fall = self.gravity * (self.pre_roll + *index as f64 / frame_rate_hz);
        let driven = self.fastest.max(self.wind).max(fall);
        let limit = FACTOR * driven + self.size * frame_rate_hz;
        let speeds = state.velocities.iter().map(|v| v.length()).enumerate();
        let (point, speed) = speeds.fold((0, 0.0), |most, next| if next.1 > most.1 { next } else { most });
        // what is no number is caught where frames are stored
        if speed.is_nan() || speed <= limit {
            return Ok(());
        }
        let [x, y, z] = state.positions[point].to_array();
        let sentence = format!(
            "`{}` came apart: near ({x:.3}, {y:.3}, {z:.3}) it moves at {speed:.3e} m/s, but nothing that drives it is faster than {driven:.3e} m/s",
            owner(point)
        );
        Err(LayerError::new(sentence).with_help(
            "raise `substeps` or lower `tolerance`, look for a jump or for crossed folds in the input there, or lower the stiffness",
        ))
    }

    /// What the next frame's judgement depends on.
    pub(crate) fn to_bytes(&self) -> [u8; 8] {
        self.fastest.to_le_bytes()
    }

    /// Takes up what [`Watch::to_bytes`] gave.
    pub(crate) fn restore(&mut self, bytes: [u8; 8]) {
        self.fastest = f64::from_le_bytes(bytes);
    }
}

/// The fastest point of the animation between any two frames of a window, in m/s.
fn fastest_guide(window: &Window) -> f64 {
    let between = |pair: &[Option<std::sync::Arc<[Vec3]>>]| match pair {
        [Some(a), Some(b)] => {
            a.iter().zip(b.iter()).map(|(a, b)| a.distance_squared(*b)).fold(0.0, f64::max).sqrt()
        }
        _ => 0.0,
    };
    window.frames.windows(2).map(between).fold(0.0, f64::max) * window.frame_rate_hz
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(index: usize, speed: f64) -> Window {
        let at = |frame: f64| Some(vec![Vec3::ZERO, frame * speed / 24.0 * Vec3::X].into());
        Window::new(index, 24.0, [at(0.0), at(1.0), at(2.0), None])
    }

    fn state(speed: f64) -> State {
        let mut state = State::at_rest(vec![Vec3::ZERO, Vec3::Y]);
        state.velocities[1] = speed * Vec3::Z;
        state
    }

    /// Three times the fastest of guide, obstacle, wind and g t, and a length of its own per frame.
    #[test]
    fn the_limit_is_three_times_what_drives_it() {
        let own = 0.5 * 24.0;
        let judged = |gravity, wind, obstacle, guide, speed| {
            let mut watch = Watch::new(gravity, wind, 0.5, 0.25);
            watch.follow(&[window(6, guide)], obstacle);
            watch.judge(&window(6, 0.0), &state(speed), |p| format!("mesh {p}"))
        };
        for (gravity, wind, obstacle, guide, driven) in [
            (0.0, 0.0, 0.0, 4.0, 4.0),
            (0.0, 7.0, 0.0, 4.0, 7.0),
            (0.0, 7.0, 11.0, 4.0, 11.0),
            (40.0, 7.0, 11.0, 4.0, 20.0), // half a second
        ] {
            assert!(judged(gravity, wind, obstacle, guide, 3.0 * driven + own - 1e-6).is_ok());
            let error = judged(gravity, wind, obstacle, guide, 3.0 * driven + own + 1e-6).unwrap_err();
            let sentence = error.to_string();
            assert!(
                sentence.contains("`mesh 1`") && sentence.contains("(0.000, 1.000, 0.000)"),
                "{sentence}"
            );
            assert!(error.remedy().is_some_and(|help| help.contains("substeps")));
        }
    }

    #[test]
    fn what_was_fast_once_may_still_fly_also_after_a_restart() {
        let mut watch = Watch::new(0.0, 0.0, 0.1, 0.0);
        watch.follow(&[window(3, 30.0)], 0.0);
        watch.follow(&[window(9, 0.0)], 0.0);
        let fast = state(80.0);
        assert!(watch.judge(&window(9, 0.0), &fast, |_| String::new()).is_ok());
        let mut again = Watch::new(0.0, 0.0, 0.1, 0.0);
        assert!(again.judge(&window(9, 0.0), &fast, |_| String::new()).is_err());
        again.restore(watch.to_bytes());
        assert!(again.judge(&window(9, 0.0), &fast, |_| String::new()).is_ok());
    }
}
