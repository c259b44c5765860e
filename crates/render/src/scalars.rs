//! Numbers on the surface, shown as colours: strain, weight, distance.

use crate::ColorMap;

/// A number for every point of every mesh, and how to show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalars {
    /// What is measured; stands above the legend.
    pub name: String,
    /// Its unit, as in `mm` or `%`; may be empty.
    pub unit: String,
    /// For each mesh, a number for each point. Meshes and points without one, and NaN, are grey.
    pub values: Vec<Vec<f32>>,
    /// The numbers at the two ends of the colour map. Keep it fixed over a film.
    pub range: [f32; 2],
    /// Which colours.
    pub map: ColorMap,
}

impl Scalars {
    /// Values with the range that holds all of them.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, values: Vec<Vec<f32>>) -> Self {
        let finite = || values.iter().flatten().copied().filter(|v| v.is_finite());
        let low = finite().fold(f32::INFINITY, f32::min);
        let high = finite().fold(f32::NEG_INFINITY, f32::max);
        let range = if low <= high { [low, high] } else { [0.0, 1.0] };
        Self { name: name.into(), unit: unit.into(), values, range, map: ColorMap::default() }
    }

    /// The same with a range chosen by the caller.
    #[must_use]
    pub fn with_range(self, low: f32, high: f32) -> Self {
        Self { range: [low, high], ..self }
    }

    /// The same with another colour map.
    #[must_use]
    pub fn with_map(self, map: ColorMap) -> Self {
        Self { map, ..self }
    }

    /// Where a value lies in the range: 0 at the low end, 1 at the high end; NaN when there is no value.
    pub(crate) fn place(&self, mesh: usize, point: usize) -> f32 {
        let value = self.values.get(mesh).and_then(|values| values.get(point)).copied().unwrap_or(f32::NAN);
        let [low, high] = self.range;
        if high > low {
            (value - low) / (high - low)
        } else if value.is_nan() {
            f32::NAN
        } else {
            0.5
        }
    }
}

/// A number in at most three significant digits, the way a person would write it on a plot.
pub(crate) fn short_number(value: f32) -> String {
    if !value.is_finite() {
        return "?".into();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e5).contains(&size) {
        let text = format!("{value:.1e}");
        return text.replace(".0e", "e");
    }
    let digits_after = (2 - size.log10().floor() as i32).clamp(0, 5) as usize;
    let text = format!("{value:.digits_after$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_holds_the_finite_values() {
        let scalars = Scalars::new("strain", "%", vec![vec![1.0, f32::NAN], vec![-3.0, f32::INFINITY]]);
        assert_eq!(scalars.range, [-3.0, 1.0]);
        assert_eq!(scalars.place(0, 0), 1.0);
        assert!(scalars.place(0, 1).is_nan() && scalars.place(7, 0).is_nan());
        assert_eq!(Scalars::new("", "", vec![vec![2.0; 3]]).place(0, 0), 0.5, "one value is in the middle");
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.012345, "0.0123"),
            (-1.5, "-1.5"),
            (99.96, "100"),
            (1234.0, "1234"),
            (2e-7, "2e-7"),
        ];
        for (value, text) in cases {
            assert_eq!(short_number(value), text);
        }
        assert_eq!(short_number(f32::NAN), "?");
    }
}
