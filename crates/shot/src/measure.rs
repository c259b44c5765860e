//! What is measured of every layer's frames, whatever the layer: distance from its input, and stretch.

use clip::Mesh;

use crate::layer::Figures;

/// The edges of a mesh with their rest lengths.
pub(crate) struct Measure {
    edges: Vec<([u32; 2], f64)>,
}

impl Measure {
    pub(crate) fn new(mesh: &Mesh) -> Self {
        let count = mesh.point_count() as u32;
        let mut edges: Vec<[u32; 2]> = mesh
            .point_triangles()
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .filter(|[_, b]| *b < count)
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let rest = &mesh.rest_points;
        let edges = edges.into_iter().map(|[a, b]| ([a, b], distance(rest[a as usize], rest[b as usize])));
        Self { edges: edges.filter(|(_, length)| *length > 0.0).collect() }
    }

    /// Adds distance and stretch, except where the layer has said them itself.
    pub(crate) fn add_to(&self, figures: &mut Figures, points: &[[f32; 3]], below: &[[f32; 3]]) {
        let has = |figures: &Figures, plot: &str| {
            figures.0.iter().any(|figure| figure.name.split('/').next() == Some(plot))
        };
        if !has(figures, "distance") && !points.is_empty() {
            let distances = points.iter().zip(below).map(|(a, b)| distance(*a, *b));
            let (max, sum) = distances.fold((0.0_f64, 0.0), |(max, sum), d| (max.max(d), sum + d));
            figures.add("distance/max", "m", max);
            figures.add("distance/mean", "m", sum / points.len() as f64);
        }
        if !has(figures, "strain") && !self.edges.is_empty() {
            let stretch = self
                .edges
                .iter()
                .map(|&([a, b], rest)| distance(points[a as usize], points[b as usize]) / rest - 1.0);
            let (max, sum) =
                stretch.fold((f64::NEG_INFINITY, 0.0), |(max, sum), s| (s.max(max), sum + s.abs()));
            figures.add("strain/max stretch", "%", 100.0 * max.max(0.0));
            figures.add("strain/mean", "%", 100.0 * sum / self.edges.len() as f64);
        }
    }

    /// How much the edges at each point are stretched or pressed, the worst of them, in percent; NaN at points without edges.
    pub(crate) fn worst_at_points(&self, points: &[[f32; 3]]) -> Vec<f32> {
        let mut worst = vec![f32::NAN; points.len()];
        for &([a, b], rest) in &self.edges {
            let strain = 100.0 * (distance(points[a as usize], points[b as usize]) / rest - 1.0).abs();
            for end in [a, b] {
                // `max` takes the number where the other is NaN
                worst[end as usize] = worst[end as usize].max(strain as f32);
            }
        }
        worst
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|i| (f64::from(a[i]) - f64::from(b[i])).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_and_stretch_of_a_pulled_triangle() {
        let mesh = Mesh::new("t", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
        let pulled = [[0.0; 3], [1.5, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mut figures = Figures::default();
        Measure::new(&mesh).add_to(&mut figures, &pulled, &mesh.rest_points);
        assert_eq!(figures.get("distance/max"), Some(0.5));
        let worst = Measure::new(&mesh).worst_at_points(&pulled);
        assert!((worst[0] - 50.0).abs() < 1e-3 && worst[2] > 20.0 && worst[2] < 50.0, "{worst:?}");
        assert!((figures.get("distance/mean").unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert!((figures.get("strain/max stretch").unwrap() - 50.0).abs() < 1e-9);

        let mut said = Figures::default();
        said.add("strain/largest", "%", 1.0);
        Measure::new(&mesh).add_to(&mut said, &pulled, &mesh.rest_points);
        assert_eq!(said.get("strain/max stretch"), None, "the layer's own word counts");
    }
}
