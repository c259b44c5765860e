//! The benchmark sheet S1: a square cloth let go with two corners held.

use clip::Clip;
use geometry::Vec3;

use crate::paint;
use crate::shapes;

/// A horizontal sheet of 2 × 2 m, 2.5 m above the ground; group `pins` holds two neighbouring corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Quads along each side, each of them two triangles with alternating diagonals.
    pub cells: usize,
    /// How many frames.
    pub frames: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Sheet {
    fn default() -> Self {
        Self { cells: 50, frames: 51, frame_rate_hz: 24.0 }
    }
}

/// The sheet as the benchmark measures it at N = 50: fifty frames after the first.
pub fn sheet() -> Clip {
    Sheet::default().clip()
}

impl Sheet {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let n = self.cells.max(1);
        let corner = Vec3::new(-1.0, 2.5, 1.0);
        let shape = shapes::triangle_grid(n, n, corner, 2.0 * Vec3::X, -2.0 * Vec3::Z);
        let mut mesh = shape.mesh("sheet", Some(0));
        let last = shape.points.len() - 1;
        let group = |corners: &[usize]| {
            let mut weights = vec![0.0; shape.points.len()];
            corners.iter().for_each(|&i| weights[i] = 1.0);
            weights
        };
        mesh.set_group("pins", group(&[last - n, last]));
        mesh.set_group("free_corners", group(&[0, n]));
        let mut clip = Clip::still(mesh, self.frame_rate_hz, self.frames.max(1));
        clip.images = vec![paint::picture("gingham", 256, 256, |u, v| {
            let band = |x: f64| f64::from(u8::from((x * 10.0).fract() < 0.5));
            paint::mix(0xfbf6ea, 0xc8423b, 0.5 * (band(u) + band(v)))
        })];
        clip.materials = vec![paint::textured("gingham", 0)];
        clip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn is_sound_and_has_the_benchmark_size() {
        let clip = sheet();
        assert_sound(&clip);
        let mesh = &clip.meshes[0];
        assert_eq!((mesh.point_count(), mesh.faces.len()), (2601, 5000));
        let pins: Vec<[f32; 3]> =
            (0..2601).filter(|&i| mesh.groups[0].weights[i] == 1.0).map(|i| mesh.rest_points[i]).collect();
        assert_eq!(pins, [[-1.0, 2.5, -1.0], [1.0, 2.5, -1.0]]);
    }
}
