//! Where a picture is taken from.

use clip::{Clip, Frame};
use geometry::{Bounds, Vec3};

use crate::Result;

/// A pinhole camera. Lengths in metres, Y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands.
    pub position: Vec3,
    /// What it looks at: the middle of the picture.
    pub target: Vec3,
    /// Roughly upwards; need not be perpendicular to the view.
    pub up: Vec3,
    /// Vertical angle of view in radians.
    pub field_of_view: f64,
}

/// From which side a thing is seen. Things face +Z, as in glTF.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum View {
    /// From the front, a little to the side and from above.
    #[default]
    ThreeQuarter,
    /// From +Z.
    Front,
    /// From −Z.
    Back,
    /// From +X.
    Side,
    /// From +Y, the front at the bottom of the picture.
    Top,
    /// From any side.
    Orbit {
        /// From +Z towards +X, in radians.
        azimuth: f64,
        /// Above the horizon, in radians.
        elevation: f64,
    },
}

/// A view by its name alone, as files say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum ViewSide {
    /// From the front, a little to the side and from above.
    #[default]
    ThreeQuarter,
    /// From +Z.
    Front,
    /// From -Z.
    Back,
    /// From +X.
    Side,
    /// From above.
    Top,
}

impl From<ViewSide> for View {
    fn from(side: ViewSide) -> Self {
        match side {
            ViewSide::ThreeQuarter => Self::ThreeQuarter,
            ViewSide::Front => Self::Front,
            ViewSide::Back => Self::Back,
            ViewSide::Side => Self::Side,
            ViewSide::Top => Self::Top,
        }
    }
}

impl View {
    /// Unit vector from the thing to the camera.
    pub fn direction(self) -> Vec3 {
        let (azimuth, elevation) = match self {
            Self::ThreeQuarter => (32f64.to_radians(), 16f64.to_radians()),
            Self::Front => return Vec3::Z,
            Self::Back => return Vec3::NEG_Z,
            Self::Side => return Vec3::X,
            Self::Top => return Vec3::Y,
            Self::Orbit { azimuth, elevation } => (azimuth, elevation),
        };
        Vec3::new(azimuth.sin() * elevation.cos(), elevation.sin(), azimuth.cos() * elevation.cos())
    }
}

impl Camera {
    /// Vertical angle of view of cameras that frame things: a portrait lens, flattering and without strong perspective.
    pub const FIELD_OF_VIEW: f64 = 0.5;

    /// How many frames of a long clip are looked at to frame all of it.
    pub(crate) const FRAMES_LOOKED_AT: usize = 48;

    /// A camera that sees the whole box, in a picture `aspect` times as wide as high.
    pub fn framing(bounds: Bounds, view: View, aspect: f64) -> Self {
        if bounds.is_empty() {
            return Self::around(&[Vec3::splat(-0.5), Vec3::splat(0.5)], view, aspect);
        }
        let corner = |i: usize| {
            let pick = |axis: usize| if i >> axis & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
            Vec3::new(pick(0), pick(1), pick(2))
        };
        let corners: Vec<Vec3> = (0..8).map(corner).collect();
        Self::around(&corners, view, aspect)
    }

    /// A camera that sees everything in a frame.
    pub fn framing_frame(clip: &Clip, frame: &Frame, view: View, aspect: f64) -> Self {
        let mut outline = Outline::default();
        outline.add(clip, frame);
        outline.camera(view, aspect)
    }

    /// A camera that sees everything in every frame of the clip, or of several clips side by side.
    pub fn framing_clips(clips: &[&Clip], view: View, aspect: f64) -> Result<Self> {
        Ok(Outline::of_clips(clips)?.camera(view, aspect))
    }

    /// The camera nearest to the points that sees all of them with a margin. Points that are not finite are ignored.
    fn around(points: &[Vec3], view: View, aspect: f64) -> Self {
        const MARGIN: f64 = 1.12;
        let direction = view.direction();
        let up = if direction.y.abs() > 0.99 { Vec3::NEG_Z } else { Vec3::Y };
        let right = up.cross(direction).normalize();
        let upward = direction.cross(right);

        let bounds = Bounds::of(points.iter().copied().filter(|p| p.is_finite()));
        let size = bounds.diagonal().max(1e-9);
        let mut target = if bounds.is_empty() { Vec3::ZERO } else { bounds.centre() };
        let half_height = (0.5 * Self::FIELD_OF_VIEW).tan() / MARGIN;
        let half_width = half_height * if aspect.is_finite() && aspect > 0.0 { aspect } else { 1.0 };

        // Distance so that all points fit, then centre what is seen; perspective couples the two, a few rounds settle it.
        let mut distance = size;
        for _ in 0..6 {
            distance = 0.05 * size;
            for &point in points.iter().filter(|p| p.is_finite()) {
                let from_target = point - target;
                let needed = (from_target.dot(right).abs() / half_width)
                    .max(from_target.dot(upward).abs() / half_height)
                    + from_target.dot(direction);
                distance = distance.max(needed);
            }
            let eye = target + direction * distance;
            let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
            for &point in points.iter().filter(|p| p.is_finite()) {
                let depth = (eye - point).dot(direction).max(1e-9);
                for (axis, side) in [right, upward].into_iter().enumerate() {
                    let on_picture = (point - eye).dot(side) / depth;
                    low[axis] = low[axis].min(on_picture);
                    high[axis] = high[axis].max(on_picture);
                }
            }
            if low[0] <= high[0] {
                target += 0.5 * distance * ((low[0] + high[0]) * right + (low[1] + high[1]) * upward);
            }
        }
        Self { position: target + direction * distance, target, up, field_of_view: Self::FIELD_OF_VIEW }
    }
}

/// The outermost points of any number of frames: what a camera must see and where the ground lies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    points: Vec<Vec3>,
}

impl Outline {
    /// Of all frames, or of evenly spread ones when there are many.
    pub(crate) fn of_clips(clips: &[&Clip]) -> Result<Self> {
        let mut outline = Self::default();
        for clip in clips {
            let count = clip.frame_count();
            let looked_at = count.min(Camera::FRAMES_LOOKED_AT);
            for i in 0..looked_at {
                let index = if looked_at < 2 { 0 } else { i * (count - 1) / (looked_at - 1) };
                outline.add(clip, &clip.frame(index)?);
            }
        }
        Ok(outline)
    }

    /// Adds a frame's outermost points along directions spread over the sphere.
    pub(crate) fn add(&mut self, clip: &Clip, frame: &Frame) {
        let mut points: Vec<Vec3> =
            frame.points.iter().flatten().map(|p| Vec3::from(p.map(f64::from))).collect();
        if points.is_empty()
            && let Some(skeleton) = &clip.skeleton
        {
            let world_from_joints = skeleton.world_from_joints(&frame.pose);
            points = world_from_joints.iter().map(|m| m.w_axis.truncate().as_dvec3()).collect();
        }
        self.add_points(points);
    }

    /// The same of any points; those that are not finite are left out.
    pub(crate) fn add_points(&mut self, mut points: Vec<Vec3>) {
        points.retain(|p| p.is_finite());
        const DIRECTIONS: usize = 64;
        if points.len() <= DIRECTIONS {
            self.points.extend(points);
            return;
        }
        for i in 0..DIRECTIONS {
            // a spiral from pole to pole; the first and last are ±Y, so the lowest point is always kept
            let y = 1.0 - 2.0 * i as f64 / (DIRECTIONS - 1) as f64;
            let around = 2.399_963 * i as f64;
            let ring = (1.0 - y * y).max(0.0).sqrt();
            let direction = Vec3::new(ring * around.cos(), y, ring * around.sin());
            let farthest =
                points.iter().copied().max_by(|a, b| a.dot(direction).total_cmp(&b.dot(direction)));
            self.points.extend(farthest);
        }
    }

    /// The height of the lowest point.
    pub(crate) fn lowest(&self) -> Option<f64> {
        self.points.iter().map(|p| p.y).min_by(f64::total_cmp)
    }

    /// A camera that sees all of it.
    pub(crate) fn camera(&self, view: View, aspect: f64) -> Camera {
        if self.points.is_empty() {
            return Camera::framing(Bounds::EMPTY, view, aspect);
        }
        Camera::around(&self.points, view, aspect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a point lands, in units of half the picture's height and width.
    fn on_picture(camera: &Camera, point: Vec3, aspect: f64) -> [f64; 2] {
        let forward = (camera.target - camera.position).normalize();
        let right = forward.cross(camera.up).normalize();
        let upward = right.cross(forward);
        let ray = point - camera.position;
        let scale = 1.0 / (ray.dot(forward) * (0.5 * camera.field_of_view).tan());
        [ray.dot(right) * scale / aspect, ray.dot(upward) * scale]
    }

    #[test]
    fn everything_is_seen_and_the_picture_is_filled() {
        let bounds = Bounds { min: Vec3::new(-1.0, 0.0, -0.2), max: Vec3::new(3.0, 1.0, 0.4) };
        let views = [View::ThreeQuarter, View::Front, View::Back, View::Side, View::Top];
        for view in views.into_iter().chain([View::Orbit { azimuth: -2.0, elevation: -0.4 }]) {
            for aspect in [0.5, 1.0, 1.8] {
                let camera = Camera::framing(bounds, view, aspect);
                let mut farthest: f64 = 0.0;
                for i in 0..8 {
                    let pick =
                        |axis: usize| if i >> axis & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
                    let seen = on_picture(&camera, Vec3::new(pick(0), pick(1), pick(2)), aspect);
                    farthest = farthest.max(seen[0].abs()).max(seen[1].abs());
                }
                assert!((0.8..=1.0).contains(&farthest), "{view:?} at {aspect}: {farthest}");
            }
        }
    }

    #[test]
    fn nothing_to_see_still_gives_a_camera() {
        for points in [vec![], vec![Vec3::NAN], vec![Vec3::ONE]] {
            let camera = Camera::around(&points, View::ThreeQuarter, 1.5);
            assert!(camera.position.is_finite() && camera.position != camera.target);
        }
        let camera = Camera::framing(Bounds::EMPTY, View::Top, f64::NAN);
        assert!(camera.position.is_finite() && camera.position.y > 0.0);
    }
}
