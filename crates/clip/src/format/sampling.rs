//! Where a moment lies among samples.

/// The samples on both sides of a time, and how far from the first to the second. Before the first and behind the last
/// sample the value stays. `time_of` must rise. `None` without samples.
pub(super) fn bracket(
    count: usize,
    time_of: impl Fn(usize) -> f64,
    time: f64,
) -> Option<(usize, usize, f64)> {
    let last = count.checked_sub(1)?;
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if time_of(middle) < time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let after = low;
    if after > last {
        return Some((last, last, 0.0));
    }
    if after == 0 || time_of(after) == time {
        return Some((after, after, 0.0));
    }
    let (a, b) = (time_of(after - 1), time_of(after));
    let part = (time - a) / (b - a);
    // a frame that lies on a sample but for rounding meets it
    const NEAR: f64 = 1e-6;
    match (part < NEAR, part > 1.0 - NEAR) {
        (true, _) => Some((after - 1, after - 1, 0.0)),
        (_, true) => Some((after, after, 0.0)),
        _ => Some((after - 1, after, part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_met_and_held_at_the_ends() {
        let times = [1.0, 2.0, 4.0];
        let at = |time| bracket(times.len(), |i| times[i], time);
        assert_eq!(at(0.0), Some((0, 0, 0.0)));
        assert_eq!(at(2.0), Some((1, 1, 0.0)));
        assert_eq!(at(2.0 + 1e-9), Some((1, 1, 0.0)));
        assert_eq!(at(2.0 - 1e-9), Some((1, 1, 0.0)));
        assert_eq!(at(3.0), Some((1, 2, 0.5)));
        assert_eq!(at(9.0), Some((2, 2, 0.0)));
        assert_eq!(bracket(0, |_| 0.0, 1.0), None);
    }
}
