//! Curves over time: what an animator's graph editor does, in a few lines.

/// A value at a time, and the slope of the curve there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Key {
    time: f64,
    value: f64,
    slope: f64,
}

impl Key {
    /// The curve is flat here: a pose that is held, eased into and out of.
    pub(crate) const fn ease(time: f64, value: f64) -> Self {
        Self { time, value, slope: 0.0 }
    }

    /// The curve passes with this slope.
    pub(crate) const fn slope(time: f64, value: f64, slope: f64) -> Self {
        Self { time, value, slope }
    }
}

/// The times of all frames from zero to `seconds`; one at least, and none beyond a million.
pub(crate) fn times(seconds: f64, frame_rate_hz: f64) -> impl Iterator<Item = f64> {
    let last = (seconds * frame_rate_hz).round().clamp(0.0, 1e6) as usize;
    (0..=last).map(move |index| if index == 0 { 0.0 } else { index as f64 / frame_rate_hz })
}

/// A cubic curve through keys, constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track {
    keys: Vec<(f64, f64, f64)>,
}

impl Track {
    /// Keys in order of time.
    pub(crate) fn new(keys: &[Key]) -> Self {
        Self { keys: keys.iter().map(|key| (key.time, key.value, key.slope)).collect() }
    }

    /// The same keys again every `period`; the first key's time plus the period closes the loop.
    pub(crate) fn cyclic(keys: &[Key], period: f64) -> Cycle {
        let mut unrolled = Vec::with_capacity(3 * keys.len());
        for turn in [-1.0, 0.0, 1.0] {
            unrolled.extend(keys.iter().map(|key| Key { time: key.time + turn * period, ..*key }));
        }
        Cycle { track: Self::new(&unrolled), period }
    }

    /// The value at a time.
    pub(crate) fn at(&self, time: f64) -> f64 {
        let after = self.keys.partition_point(|key| key.0 <= time);
        if after == 0 || after == self.keys.len() {
            return self.keys.get(after.saturating_sub(1)).map_or(0.0, |key| key.1);
        }
        let ((t0, v0, m0), (t1, v1, m1)) = (self.keys[after - 1], self.keys[after]);
        let h = t1 - t0;
        let s = (time - t0) / h;
        let (s2, s3) = (s * s, s * s * s);
        (2.0 * s3 - 3.0 * s2 + 1.0) * v0
            + (s3 - 2.0 * s2 + s) * h * m0
            + (3.0 * s2 - 2.0 * s3) * v1
            + (s3 - s2) * h * m1
    }
}

/// A curve that repeats.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cycle {
    track: Track,
    period: f64,
}

impl Cycle {
    /// The value at a time, any number of periods away.
    pub(crate) fn at(&self, time: f64) -> f64 {
        self.track.at(time.rem_euclid(self.period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_through_keys_and_holds_at_the_ends() {
        let track = Track::new(&[Key::ease(1.0, 2.0), Key::slope(2.0, 3.0, 1.5), Key::ease(4.0, 7.0)]);
        assert_eq!([0.0, 1.0, 2.0, 4.0, 9.0].map(|t| track.at(t)), [2.0, 2.0, 3.0, 7.0, 7.0]);
        let samples: Vec<f64> = (0..=300).map(|i| track.at(1.0 + f64::from(i) * 0.01)).collect();
        assert!(samples.windows(2).all(|pair| pair[1] >= pair[0]), "monotone keys, monotone curve");
        assert_eq!(Track::new(&[]).at(1.0), 0.0);
    }

    #[test]
    fn cycles_close_with_their_slope() {
        let cycle =
            Track::cyclic(&[Key::slope(0.1, 0.0, 2.0), Key::ease(0.4, 1.0), Key::slope(0.7, 0.4, -1.5)], 1.0);
        assert!((cycle.at(0.4) - 1.0).abs() < 1e-12 && (cycle.at(-2.6) - 1.0).abs() < 1e-9);
        let slope = |t: f64| (cycle.at(t + 1e-5) - cycle.at(t - 1e-5)) / 2e-5;
        assert!((cycle.at(1.0 - 1e-9) - cycle.at(0.0)).abs() < 1e-6);
        assert!((slope(0.99999) - slope(0.00002)).abs() < 1e-2);
    }
}
