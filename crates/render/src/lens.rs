//! A camera in the scene's own units.

use glam::{Vec2, Vec3};

use crate::Camera;
use crate::scene::Scene;

/// A camera in the scene's units.
pub(crate) struct Lens {
    pub(crate) eye: Vec3,
    pub(crate) right: Vec3,
    pub(crate) up: Vec3,
    pub(crate) forward: Vec3,
    /// Tangents of half the angles of view.
    pub(crate) half: Vec2,
    /// Side of one camera ray's square at distance one.
    pub(crate) spread: f32,
    /// Camera rays across and down.
    rays: [f32; 2],
}

impl Lens {
    pub(crate) fn new(camera: &Camera, scene: &Scene, size: [usize; 2], samples: usize) -> Self {
        let forward = (camera.target - camera.position).as_vec3().try_normalize().unwrap_or(Vec3::NEG_Z);
        let right = forward
            .cross(camera.up.as_vec3())
            .try_normalize()
            .filter(|right| right.is_finite())
            .unwrap_or_else(|| forward.any_orthonormal_vector());
        let up = right.cross(forward);
        let field_of_view = if camera.field_of_view.is_nan() {
            Camera::FIELD_OF_VIEW
        } else {
            camera.field_of_view.clamp(1e-3, 3.1)
        };
        let half_height = (0.5 * field_of_view).tan() as f32;
        let half = Vec2::new(half_height * size[0] as f32 / size[1] as f32, half_height);
        let eye = scene.place(camera.position);
        let eye = if eye.is_finite() { eye } else { Vec3::new(0.0, 0.0, 4.0) };
        let spread = 2.0 * half_height / (size[1] * samples) as f32;
        Self { eye, right, up, forward, half, spread, rays: size.map(|side| (side * samples) as f32) }
    }

    pub(crate) fn direction(&self, on_film: Vec2) -> Vec3 {
        (self.forward + on_film.x * self.right + on_film.y * self.up).normalize()
    }

    /// Where a point lands on the film; `None` when it lies beside or behind the eye.
    pub(crate) fn project(&self, point: Vec3) -> Option<Vec2> {
        let ray = point - self.eye;
        let depth = ray.dot(self.forward);
        (depth > 1e-4).then(|| Vec2::new(ray.dot(self.right), ray.dot(self.up)) / depth)
    }

    /// A place in the picture, counted in camera rays from its top left corner, on the film one unit in front of the eye.
    pub(crate) fn on_film(&self, x: f32, y: f32) -> Vec2 {
        let [width, height] = self.rays;
        let (across, down) = (2.0 * x / width - 1.0, 2.0 * y / height - 1.0);
        Vec2::new(across * self.half.x, -down * self.half.y)
    }
}
