//! Timing of what is done over and over.

use std::time::Instant;

/// Milliseconds that something takes: the median of nine.
pub(crate) fn median_ms(act: &mut dyn FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            act();
            1e3 * start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
