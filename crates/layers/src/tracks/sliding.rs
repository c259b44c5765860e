//! Test functions that slide along a painted field: what is held travels over the surface, as a hand does along a sleeve.
//!
//! The field is cut into bands: hats over its values that add up to one wherever it is painted. A band holds while its middle is within the
//! window, whose own middle moves by keys, and comes and goes over one band's width at either end of it. tracks 2007 takes its functions
//! for fixed; that they move is ours.

use geometry::Prolongation;
use shell::tracks::{TestFunctions, linear_between};

/// Bands, and the share of each over time, as `[seconds, share]`.
pub(super) struct Sliding {
    pub(super) functions: TestFunctions,
    pub(super) shares: Vec<Vec<[f64; 2]>>,
}

impl Sliding {
    /// So many bands of a field on the guide's points. `slide` has the middle of the window over time, `window` how much of the field it is
    /// long. Bands that no point lies in are left out.
    pub(super) fn new(
        field: &[f64],
        count: usize,
        window: f64,
        slide: &[[f64; 2]],
        correspondence: &Prolongation,
    ) -> Self {
        let mut sliding = Self { functions: TestFunctions::new(), shares: Vec::new() };
        let count = count.max(1);
        for band in 0..count {
            let hat: Vec<f64> = field.iter().map(|value| hat(*value, band, count)).collect();
            if hat.iter().all(|value| *value == 0.0) {
                continue;
            }
            sliding.functions.push(format!("band {band}"), &hat, &correspondence.numbers(&hat));
            sliding.shares.push(shares(middle(band, count), 1.0 / count as f64, 0.5 * window, slide));
        }
        sliding
    }
}

/// The value of the field in the middle of a band.
fn middle(band: usize, count: usize) -> f64 {
    (band as f64 + 0.5) / count as f64
}

/// A band's function at a value of the field: 1 in its middle, 0 in those of its neighbours and where nothing is painted.
fn hat(value: f64, band: usize, count: usize) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    // beyond the outermost middles there is no neighbour to share with
    let value = value.clamp(middle(0, count), middle(count - 1, count));
    (1.0 - (value - middle(band, count)).abs() * count as f64).max(0.0)
}

/// One while the window's middle is within `half` of the band's, and linear to nothing over `fade` beyond. Keys stand wherever that has a bend.
fn shares(at: f64, fade: f64, half: f64, slide: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let bends = [0.0, half, half + fade].into_iter().flat_map(|far| [at - far, at + far]);
    let bends: Vec<f64> = bends.collect();
    let mut times: Vec<f64> = slide.iter().map(|key| key[0]).collect();
    for pair in slide.windows(2) {
        let ([t0, p0], [t1, p1]) = (pair[0], pair[1]);
        let crossed = bends.iter().filter(|bend| (**bend - p0) * (**bend - p1) < 0.0);
        times.extend(crossed.map(|bend| t0 + (t1 - t0) * (bend - p0) / (p1 - p0)));
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    let share = |time: f64| ((half + fade - (linear_between(slide, time) - at).abs()) / fade).clamp(0.0, 1.0);
    times.into_iter().map(|time| [time, share(time)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_add_up_to_one_where_the_field_is_painted() {
        for value in [1e-3, 0.1, 0.25, 0.5, 0.77, 1.0] {
            let sum: f64 = (0..4).map(|band| hat(value, band, 4)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{value}: {sum}");
        }
        assert!((0..4).all(|band| hat(0.0, band, 4) == 0.0));
        assert_eq!(hat(0.3, 0, 1), 1.0);
    }

    #[test]
    fn a_band_holds_while_the_window_is_over_it() {
        // from 0 to 1 in two seconds; the band at 0.5 fades over 0.1, held within 0.2 of it
        let keys = shares(0.5, 0.1, 0.2, &[[0.0, 0.0], [2.0, 1.0]]);
        let at = |time: f64| linear_between(&keys, time);
        for (time, share) in
            [(0.0, 0.0), (0.4, 0.0), (0.5, 0.5), (0.6, 1.0), (1.4, 1.0), (1.5, 0.5), (1.7, 0.0)]
        {
            assert!((at(time) - share).abs() < 1e-9, "{time}: {} {keys:?}", at(time));
        }
        // a window that comes back
        let back = shares(0.5, 0.1, 0.0, &[[0.0, 0.5], [1.0, 1.0], [2.0, 0.5]]);
        assert!((linear_between(&back, 2.0) - 1.0).abs() < 1e-12 && linear_between(&back, 1.0) == 0.0);
        assert!((linear_between(&back, 0.1) - 0.5).abs() < 1e-9, "{back:?}");
    }
}
