//! What is measured of every layer's frames, whatever the layer: distance from its input, strain, and where the mesh crosses
//! itself.

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh, StrainMeter};

use crate::layer::Figures;
use crate::registry::CountCrossings;

/// Measures the frames of one mesh.
pub(crate) struct Measure {
    strain: StrainMeter,
    triangles: Vec<[u32; 3]>,
    crossings: Option<CountCrossings>,
}

impl Measure {
    pub(crate) fn new(mesh: &Mesh, crossings: Option<CountCrossings>) -> Self {
        // the meter wants a clip; the rate plays no part in strain
        let alone = Clip::new("", 1.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::default()));
        Self { strain: StrainMeter::new(&alone), triangles: mesh.point_triangles(), crossings }
    }

    /// Adds distance, strain and crossings, except where the layer has said them itself. `mesh` is the one measured.
    pub(crate) fn add_to(&self, figures: &mut Figures, frame: &mut Frame, below: &Frame, mesh: usize) {
        let has = |figures: &Figures, plot: &str| {
            figures.0.iter().any(|figure| figure.name.split('/').next() == Some(plot))
        };
        let (points, below) = (&frame.points[mesh], &below.points[mesh]);
        if !has(figures, "distance") && !points.is_empty() {
            let distances = points.iter().zip(below).map(|(a, b)| distance(*a, *b));
            let (max, sum) = distances.fold((0.0_f64, 0.0), |(max, sum), d| (max.max(d), sum + d));
            figures.add("distance/max", "m", max);
            figures.add("distance/mean", "m", sum / points.len() as f64);
        }
        if let Some(count) = self.crossings.filter(|_| !has(figures, "intersections"))
            && let Some(crossings) = count(points, &self.triangles)
        {
            figures.add("intersections/itself", "", crossings as f64);
        }
        if !has(figures, "strain") {
            let alone = Frame { points: vec![std::mem::take(&mut frame.points[mesh])], pose: Vec::new() };
            let strain = self.strain.measure(0, &alone);
            frame.points[mesh] = alone.points.into_iter().next().unwrap_or_default();
            figures.add("strain/max stretch", "%", 100.0 * strain.max_stretch);
            figures.add("strain/max compression", "%", 100.0 * strain.max_compression.abs());
        }
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|i| (f64::from(a[i]) - f64::from(b[i])).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_and_strain_of_a_pulled_triangle() {
        let mesh = Mesh::new("t", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
        let below = Frame { points: vec![mesh.rest_points.clone()], pose: Vec::new() };
        let mut pulled = below.clone();
        pulled.points[0][1][0] = 1.5;
        let (expected, mut figures) = (pulled.clone(), Figures::default());
        Measure::new(&mesh, Some(|_, _| Some(7))).add_to(&mut figures, &mut pulled, &below, 0);
        assert_eq!(pulled, expected, "measuring changes nothing");
        assert_eq!(figures.get("distance/max"), Some(0.5));
        assert!((figures.get("distance/mean").unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert!((figures.get("strain/max stretch").unwrap() - 50.0).abs() < 1e-4);
        assert_eq!(figures.get("intersections/itself"), Some(7.0));

        let mut said = Figures::default();
        said.add("strain/largest", "%", 1.0);
        Measure::new(&mesh, None).add_to(&mut said, &mut pulled, &below, 0);
        assert_eq!(said.get("strain/max stretch"), None, "the layer's own word counts");
        assert_eq!(said.get("intersections/itself"), None, "nobody counts");
    }
}
