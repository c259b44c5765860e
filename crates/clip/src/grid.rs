//! Numbers on a regular grid that go with a frame: what smoke is made of.

/// A named field over a box, at one moment. Clips hold grids beside meshes: see [`Clip::grids`](crate::Clip::grids).
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// What it is a field of: `smoke/temperature`, the layer first.
    pub name: String,
    /// Points along x, y (up) and z; a plane has one along z.
    pub points: [usize; 3],
    /// Lengths of the box in metres.
    pub size: [f64; 3],
    /// Whether what leaves at one end of an axis enters at the other.
    pub wraps: [bool; 3],
    /// How much it counts where several of a kind are blended; 1 otherwise.
    pub weight: f64,
    /// When it was last started anew, in seconds from the first frame; 0 otherwise.
    pub since: f64,
    /// One number per point: x runs fastest, then y, then z.
    pub values: Vec<f32>,
}

impl Grid {
    /// The grid that a name stands for: the whole name, or the part after the layer. The highest layer's comes first.
    pub fn find<'a>(grids: &'a [Self], name: &str) -> Option<&'a Self> {
        let fits = |grid: &&Self| grid.name == name || grid.field() == name;
        grids.iter().rev().find(fits)
    }

    /// The name without the layer's.
    pub fn field(&self) -> &str {
        self.name.rsplit_once('/').map_or(self.name.as_str(), |(_, field)| field)
    }

    /// The first point whose number is not finite.
    pub fn not_finite(&self) -> Option<[usize; 3]> {
        let at = self.values.iter().position(|value| !value.is_finite())?;
        let [nx, ny, _] = self.points.map(|n| n.max(1));
        Some([at % nx, at / nx % ny, at / (nx * ny)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(name: &str) -> Grid {
        let values = vec![0.0; 12];
        let (points, size) = ([4, 3, 1], [1.0; 3]);
        Grid { name: name.into(), points, size, wraps: [false; 3], weight: 1.0, since: 0.0, values }
    }

    #[test]
    fn grids_are_found_by_field_or_by_layer_and_field() {
        let grids = [grid("fog/ink"), grid("smoke/ink"), grid("fog/temperature")];
        assert_eq!(Grid::find(&grids, "ink").map(|g| g.name.as_str()), Some("smoke/ink"));
        assert_eq!(Grid::find(&grids, "fog/ink").map(|g| g.name.as_str()), Some("fog/ink"));
        assert!(Grid::find(&grids, "blood").is_none());
    }

    #[test]
    fn a_broken_number_is_found_by_its_place() {
        let mut broken = grid("ink");
        assert_eq!(broken.not_finite(), None);
        broken.values[6] = f32::NAN;
        assert_eq!(broken.not_finite(), Some([2, 1, 0]));
    }
}
