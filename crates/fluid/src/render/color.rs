//! Colour maps: a number from 0 to 1 becomes a colour with alpha.

/// Colours at places between 0 and 1, straight lines between them. Linear light, not multiplied by alpha.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorMap {
    /// Places in rising order, and their colours.
    pub stops: Vec<(f32, [f32; 4])>,
}

impl ColorMap {
    /// One colour, from clear to solid.
    pub fn ink(color: [f32; 3]) -> Self {
        let [r, g, b] = color;
        Self { stops: vec![(0.0, [r, g, b, 0.0]), (1.0, [r, g, b, 1.0])] }
    }

    /// From black to white, opaque.
    pub fn grey() -> Self {
        Self { stops: vec![(0.0, [0.0, 0.0, 0.0, 1.0]), (1.0, [1.0, 1.0, 1.0, 1.0])] }
    }

    /// Clear, then a violet veil, then rose, then a warm white: smoke that glows from within.
    pub fn magic() -> Self {
        let stops = vec![
            (0.0, [0.02, 0.01, 0.10, 0.0]),
            (0.3, [0.10, 0.03, 0.38, 0.55]),
            (0.6, [0.62, 0.10, 0.42, 0.85]),
            (0.85, [1.0, 0.45, 0.25, 0.95]),
            (1.0, [1.0, 0.92, 0.70, 1.0]),
        ];
        Self { stops }
    }

    /// Clear to a dark red that is almost black where it is thick.
    pub fn blood() -> Self {
        let stops = vec![
            (0.0, [0.60, 0.02, 0.02, 0.0]),
            (0.4, [0.50, 0.01, 0.015, 0.7]),
            (1.0, [0.08, 0.0, 0.004, 1.0]),
        ];
        Self { stops }
    }

    /// The colour of a number, multiplied by its alpha; clamped to the ends.
    pub fn color(&self, value: f32) -> [f32; 4] {
        let after = self.stops.partition_point(|stop| stop.0 < value);
        let straight = match (after.checked_sub(1).and_then(|i| self.stops.get(i)), self.stops.get(after)) {
            (Some((a, low)), Some((b, high))) => {
                let t = if b > a { (value - a) / (b - a) } else { 1.0 };
                [0, 1, 2, 3].map(|k| low[k] + t * (high[k] - low[k]))
            }
            (Some((_, only)), None) | (None, Some((_, only))) => *only,
            (None, None) => [0.0; 4],
        };
        [straight[0] * straight[3], straight[1] * straight[3], straight[2] * straight[3], straight[3]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_interpolated_clamped_and_premultiplied() {
        let map = ColorMap::ink([1.0, 0.5, 0.0]);
        assert_eq!(map.color(0.5), [0.5, 0.25, 0.0, 0.5]);
        assert_eq!(map.color(-3.0), [0.0; 4]);
        assert_eq!(map.color(7.0), [1.0, 0.5, 0.0, 1.0]);
        assert_eq!(ColorMap { stops: vec![] }.color(0.5), [0.0; 4], "no colours, nothing to see");
    }
}
