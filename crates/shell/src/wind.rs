//! Wind that comes in gusts: smooth in space and time, the same for the same seed.

use geometry::Vec3;

use crate::Error;
use crate::tracks::linear_between;
use geometry::Random;

/// The dials of a wind. [`Wind::field`] turns them into something that can be sampled.
///
/// Gusts are a sum of travelling waves whose lengths halve from `gust_length` down and whose strength falls as in
/// turbulent air. The pattern drifts with the mean wind, so a flag sees a gust come along it, and slowly turns over.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Wind {
    /// Where the wind blows to; its length does not matter.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub direction: [f64; 3],
    /// Mean speed, in m/s: 3 a breeze that stirs leaves, 8 extends a flag, 15 is hard to walk against.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 200.0, "x-usual" = [0.0, 60.0])))]
    pub speed: f64,
    /// How much the speed comes and goes, as a fraction of it (standard deviation): 0 steady, 0.2 open field, 0.4 between
    /// houses.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 10.0, "x-usual" = [0.0, 1.0])))]
    pub gust: f64,
    /// Size of the largest gusts, in metres.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 1e-2, "maximum" = 1e5, "x-usual" = [0.1, 100.0])))]
    pub gust_length: f64,
    /// How much gusts also change direction: 0 not at all, 1 as strong to the sides as along the wind.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 10.0, "x-usual" = [0.0, 2.0])))]
    pub variation: f64,
    /// Another seed, another sequence of gusts.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0, "maximum" = 9_223_372_036_854_775_807_u64)))]
    pub seed: u64,
    /// How much of it there is over time, as `[seconds, share]`; linear between. Default: all of it, always.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0], "x-keys" = true)))]
    pub keys: Vec<[f64; 2]>,
}

impl Default for Wind {
    /// No wind; when a speed is set, gusts as over an open field.
    fn default() -> Self {
        Self {
            direction: [1.0, 0.0, 0.0],
            speed: 0.0,
            gust: 0.2,
            gust_length: 4.0,
            variation: 0.5,
            seed: 1,
            keys: Vec::new(),
        }
    }
}

/// Waves in the sum. Six octaves: from gusts of 4 m down to ripples of 12 cm.
const WAVES: usize = 6;

/// A wind ready to be sampled anywhere at any time.
#[derive(Clone, Debug, PartialEq)]
pub struct WindField {
    mean: Vec3,
    waves: Vec<Wave>,
    keys: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Wave {
    /// Velocity at the crest, in m/s.
    amplitude: Vec3,
    /// Wave vector, in rad/m.
    k: Vec3,
    /// Angular frequency, in rad/s.
    omega: f64,
    phase: f64,
}

impl Wind {
    /// Tells the first dial that is out of its range.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |field: &'static str, value: f64, ok: bool, allowed: &'static str| {
            if ok && value.is_finite() { Ok(()) } else { Err(Error::Wind { field, value, allowed }) }
        };
        let length = Vec3::from(self.direction).length();
        check("direction", length, length > 0.0 || self.speed == 0.0, "a vector that is not zero")?;
        check("speed", self.speed, (0.0..=200.0).contains(&self.speed), "0 to 200 m/s")?;
        check("gust", self.gust, (0.0..=10.0).contains(&self.gust), "0 to 10")?;
        check("gust_length", self.gust_length, (1e-3..=1e6).contains(&self.gust_length), "0.001 to 1e6 m")?;
        check("variation", self.variation, (0.0..=10.0).contains(&self.variation), "0 to 10")?;
        for (i, &[time, share]) in self.keys.iter().enumerate() {
            let later = i == 0 || time > self.keys[i - 1][0];
            check("keys", time, later, "times that ascend")?;
            check("keys", share, (0.0..=100.0).contains(&share), "shares of 0 to 100")?;
        }
        Ok(())
    }

    /// About the fastest that air gets, in m/s: mean, and gusts of three deviations.
    pub fn fastest(&self) -> f64 {
        let share =
            self.keys.iter().map(|key| key[1]).fold(if self.keys.is_empty() { 1.0 } else { 0.0 }, f64::max);
        share * self.speed * (1.0 + 3.0 * self.gust * (1.0 + self.variation))
    }

    /// The wind as a function of time and place.
    pub fn field(&self) -> Result<WindField, Error> {
        self.validate()?;
        let along = Vec3::from(self.direction).normalize_or_zero();
        let mean = self.speed * along;
        if self.speed == 0.0 || self.gust == 0.0 {
            return Ok(WindField { mean, waves: Vec::new(), keys: self.keys.clone() });
        }
        let (side, up) = along.any_orthonormal_pair();
        let mut random = Random::new(self.seed);
        // Kolmogorov: speed differences over a length l go as l^⅓, so an octave down is weaker by 2^-⅓. Crests are
        // scaled so that the sum has the deviation asked for: a sine of amplitude a has variance a²/2.
        let weights: [f64; WAVES] = std::array::from_fn(|i| (-(i as f64) / 3.0).exp2());
        let crest = self.gust * self.speed * (2.0 / weights.iter().map(|w| w * w).sum::<f64>()).sqrt();
        let waves = (0..WAVES)
            .map(|i| {
                let a = crest * weights[i];
                // Lengths spread around the octave, so that the sum does not repeat.
                let k = std::f64::consts::TAU * (i as f64 + random.signed(0.3)).exp2() / self.gust_length;
                // Crests lie across the wind, give or take half a right angle, and so arrive one after the other.
                let (yaw, pitch) = (random.signed(0.8), random.signed(0.8));
                let heading = (along + yaw * side + pitch * up).normalize_or(along);
                let turn = std::f64::consts::TAU * random.unit();
                let sideways = self.variation * (turn.cos() * side + turn.sin() * up);
                // Drifting with the mean wind, turning over at the speed of the gust itself.
                let omega = k * (self.speed * heading.dot(along) + random.signed(1.0) * a);
                Wave {
                    amplitude: a * (along + sideways),
                    k: k * heading,
                    omega,
                    phase: std::f64::consts::TAU * random.unit(),
                }
            })
            .collect();
        Ok(WindField { mean, waves, keys: self.keys.clone() })
    }
}

impl WindField {
    /// Air at rest.
    pub const STILL: Self = Self { mean: Vec3::ZERO, waves: Vec::new(), keys: Vec::new() };

    /// Velocity of the air, in m/s, at `time` in seconds and `point` in the world.
    pub fn velocity(&self, time: f64, point: Vec3) -> Vec3 {
        let share = if self.keys.is_empty() { 1.0 } else { linear_between(&self.keys, time) };
        if share == 0.0 {
            return Vec3::ZERO;
        }
        share
            * self.waves.iter().fold(self.mean, |sum, wave| {
                sum + wave.amplitude * (wave.k.dot(point) - wave.omega * time + wave.phase).sin()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gusty() -> Wind {
        Wind { direction: [2.0, 0.0, 1.0], speed: 8.0, gust: 0.25, ..Wind::default() }
    }

    #[test]
    fn mean_and_deviation_are_the_ones_asked_for() {
        let wind = gusty();
        let field = wind.field().unwrap();
        let along = Vec3::from(wind.direction).normalize();
        let point = Vec3::new(0.3, 1.0, -2.0);
        // an hour, sampled finer than the shortest ripple passes
        let samples: Vec<Vec3> = (0..360_000).map(|i| field.velocity(0.01 * i as f64, point)).collect();
        let mean = samples.iter().sum::<Vec3>() / samples.len() as f64;
        assert!((mean - 8.0 * along).length() < 0.01, "mean {mean}");
        let variance =
            samples.iter().map(|v| (v.dot(along) - 8.0).powi(2)).sum::<f64>() / samples.len() as f64;
        assert!((variance.sqrt() - 2.0).abs() < 0.02, "deviation {}", variance.sqrt());
        let sideways = samples.iter().map(|v| v.reject_from_normalized(along).length_squared()).sum::<f64>();
        // amplitudes go along the wind by 1 and to the side by `variation`
        let ratio = (sideways / samples.len() as f64 / variance).sqrt();
        assert!((ratio - wind.variation).abs() < 0.02, "sideways {ratio}");
    }

    #[test]
    fn gusts_travel_downwind_and_are_smooth() {
        let field = gusty().field().unwrap();
        let along = Vec3::new(2.0, 0.0, 1.0).normalize();
        let (mut drifting, mut standing) = (0.0, 0.0);
        for i in 0..2000 {
            let (t, x) = (0.37 * i as f64, Vec3::new(0.1 * i as f64, 0.0, 0.0));
            let v = field.velocity(t, x);
            drifting += (field.velocity(t + 0.2, x + 8.0 * 0.2 * along) - v).length_squared();
            standing += (field.velocity(t + 0.2, x) - v).length_squared();
            assert!((field.velocity(t + 1e-4, x) - v).length() < 0.1);
        }
        assert!(drifting < 0.5 * standing, "{drifting} {standing}");
    }

    #[test]
    fn keys_raise_it_and_let_it_die() {
        let keyed = Wind { keys: vec![[1.0, 0.0], [2.0, 1.0], [4.0, 0.0]], ..gusty() };
        let (keyed, whole) = (keyed.field().unwrap(), gusty().field().unwrap());
        for (time, share) in [(0.5, 0.0), (1.5, 0.5), (2.0, 1.0), (3.5, 0.25), (9.0, 0.0)] {
            let point = Vec3::new(0.2, 0.7, time);
            assert!((keyed.velocity(time, point) - share * whole.velocity(time, point)).length() < 1e-12);
        }
        let backwards = Wind { keys: vec![[2.0, 1.0], [1.0, 1.0]], ..gusty() };
        assert!(matches!(backwards.field(), Err(Error::Wind { field: "keys", .. })));
    }

    #[test]
    fn a_seed_is_a_wind() {
        let other = Wind { seed: 2, ..gusty() }.field().unwrap();
        assert_eq!(gusty().field().unwrap(), gusty().field().unwrap());
        assert_ne!(gusty().field().unwrap(), other);
    }

    #[test]
    fn dials_out_of_range_are_named() {
        for (wind, name) in [
            (Wind { speed: f64::NAN, ..gusty() }, "speed"),
            (Wind { direction: [0.0; 3], ..gusty() }, "direction"),
            (Wind { gust_length: 0.0, ..gusty() }, "gust_length"),
        ] {
            let error = wind.field().unwrap_err();
            assert!(matches!(error, Error::Wind { field, .. } if field == name), "{error}");
        }
    }

    /// Waves an octave apart, give or take 0.3, that head downwind and drift with the wind, and their sum: u + Σ a sin(k·x − ωt + φ).
    #[test]
    fn gusts_are_waves_of_the_lengths_and_speeds_asked_for() {
        let wind = gusty();
        let field = wind.field().unwrap();
        let along = Vec3::from(wind.direction).normalize();
        for (i, wave) in field.waves.iter().enumerate() {
            let octave = (wave.k.length() * wind.gust_length / std::f64::consts::TAU).log2();
            assert!((octave - i as f64).abs() <= 0.3 + 1e-9, "{i}: {octave}");
            assert!(wave.k.normalize().dot(along) > 0.6, "{i}: {}", wave.k);
            assert!((0.0..std::f64::consts::TAU).contains(&wave.phase), "{i}: {}", wave.phase);
            let own = wave.omega - 8.0 * wave.k.dot(along);
            assert!(own.abs() <= wave.k.length() * wave.amplitude.length() + 1e-9, "{i}: {own}");
        }
        for (time, point) in [(0.0, Vec3::ZERO), (1.7, Vec3::new(0.3, -2.0, 5.0))] {
            let sines =
                field.waves.iter().map(|w| w.amplitude * (w.k.dot(point) - w.omega * time + w.phase).sin());
            let expected = 8.0 * along + sines.sum::<Vec3>();
            assert!((field.velocity(time, point) - expected).length() < 1e-12);
        }
    }
}
