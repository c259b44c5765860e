//! What can be wrong with a fluid. Variants carry facts: where, when, and the dial to turn.

/// Anything that keeps a fluid from being made or stepped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A dial is out of its range.
    #[error("fluid: `{dial}` is {value}; allowed: {allowed}")]
    Dial {
        /// The dial.
        dial: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A field does not have the size of the grid.
    #[error("`{what}` has {found:?} points, the grid has {expected:?}; resample it first")]
    Size {
        /// Which field.
        what: &'static str,
        /// Its size.
        found: [usize; 3],
        /// The size of the grid.
        expected: [usize; 3],
    },
    /// A list does not have the length that the grid or the settings ask for.
    #[error("`{what}` has {found} entries, {expected} are needed")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// A field holds a NaN or an infinity.
    #[error("`{what}` is not a finite number at point {place:?}")]
    NotFinite {
        /// Which field.
        what: &'static str,
        /// The first such point.
        place: [usize; 3],
    },
    /// The air column is so high, or gravity so strong, that it ends below the top of the domain.
    #[error(
        "at {height:.3} m nothing is left of the air column; lower `gravity` or the domain's height, or raise the temperature"
    )]
    NoAtmosphere {
        /// Where the base pressure reaches zero, in metres.
        height: f64,
    },
    /// A potential temperature at or below absolute zero.
    #[error("the temperature at point {place:?} and time {time:.4} s is {kelvin:.1} K; {remedy}")]
    BelowZero {
        /// When, in seconds.
        time: f64,
        /// The grid point.
        place: [usize; 3],
        /// What it has become, in kelvin.
        kelvin: f64,
        /// The dial to turn.
        remedy: &'static str,
    },
    /// The flow outran the artificial sound, beyond which the equations mean nothing.
    #[error(
        "at {time:.4} s the flow at point {place:?} reached {speed:.3} m/s, the sound speed is {sound_speed:.3} m/s; \
         raise `sound_speed` or leave it automatic, or lower the temperature differences and forces"
    )]
    Supersonic {
        /// When, in seconds.
        time: f64,
        /// The grid point.
        place: [usize; 3],
        /// The speed there, in m/s; NaN where the numbers themselves broke.
        speed: f64,
        /// The sound speed, in m/s.
        sound_speed: f64,
    },
    /// The stable time step is so small that the asked time would take longer than allowed.
    #[error(
        "at {time:.4} s the next {seconds:.4} s need {} steps, more than `max_steps` ({max_steps}); the flow moves at \
         {} m/s: lower the temperature differences, forces or `gravity`, or coarsen the grid",
        counted(*needed), counted(*speed)
    )]
    TooManySteps {
        /// When, in seconds.
        time: f64,
        /// The time asked for, in seconds.
        seconds: f64,
        /// How many steps that is.
        needed: f64,
        /// The dial.
        max_steps: usize,
        /// The fastest flow, in m/s.
        speed: f64,
    },
    /// The flow became much faster than anything that drives it.
    #[error(
        "at {time:.4} s the flow has come apart: at point {place:?} it moves at {speed:.3e} m/s, but nothing that drives it makes it \
         faster than {driven:.3e} m/s"
    )]
    Runaway {
        /// When, in seconds.
        time: f64,
        /// The grid point.
        place: [usize; 3],
        /// The speed there, in m/s.
        speed: f64,
        /// The speed to be expected, in m/s.
        driven: f64,
    },
    /// A checkpoint that is not one, or not of this fluid.
    #[error("checkpoint: {0}")]
    Checkpoint(&'static str),
}

/// A number for a sentence, also where it has grown out of all bounds.
fn counted(number: f64) -> String {
    match number {
        n if n.is_nan() => "unknown".into(),
        n if n.is_infinite() => "endlessly many".into(),
        n if (1e-3..1e4).contains(&n) || n == 0.0 => format!("{n:.3}"),
        n => format!("{n:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_bounds_are_told_in_words() {
        let said = |needed, speed| {
            let error = Error::TooManySteps { time: 0.0, seconds: 1.0, needed, max_steps: 9, speed };
            error.to_string()
        };
        let sentence = said(f64::INFINITY, f64::NAN);
        assert!(sentence.contains("endlessly many steps") && sentence.contains("unknown m/s"), "{sentence}");
        let sentence = said(4e7, 12.5);
        assert!(sentence.contains("4.000e7 steps") && sentence.contains("12.500 m/s"), "{sentence}");
    }
}
