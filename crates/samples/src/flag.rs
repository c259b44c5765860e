//! A flag on a pole, 1.5 × 1 m, waiting for wind.

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;
use std::f64::consts::TAU;
use std::sync::Arc;

use crate::paint::{self, Rgb};
use crate::shapes::{self, Shape};

/// Cloth of quads along warp and weft, held by its left edge (group `hoist`); meshes `flag` and `pole`.
///
/// The flag's rest shape is flat. Its frames stand still in a shallow wave of the same lengths, as a first breath of
/// wind leaves it: a perfectly flat sheet would give a solver no reason to choose a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag {
    /// Quads along the 1.5 m.
    pub columns: usize,
    /// Quads along the 1 m.
    pub rows: usize,
    /// How many frames.
    pub frames: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Flag {
    fn default() -> Self {
        Self { columns: 60, rows: 40, frames: 121, frame_rate_hz: 24.0 }
    }
}

/// The flag as it comes.
pub fn flag() -> Clip {
    Flag::default().clip()
}

pub(crate) const LENGTH: f64 = 1.5;
pub(crate) const HEIGHT: f64 = 1.0;
pub(crate) const TOP: f64 = 2.55;
const POLE_RADIUS: f64 = 0.022;
/// The hoist stands off the pole's axis, so that cloth and pole do not touch at the start.
pub(crate) const HOIST: f64 = 0.035;

impl Flag {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let corner = Vec3::new(HOIST, TOP, 0.0);
        let cloth =
            shapes::grid(self.columns, self.rows, corner, LENGTH * Vec3::X, -HEIGHT * Vec3::Y).flipped();
        let mut flag = cloth.mesh("flag", Some(0));
        let fly = |p: &Vec3| ((p.x - HOIST) / LENGTH) as f32;
        flag.set_group("hoist", cloth.points.iter().map(|p| if fly(p) == 0.0 { 1.0 } else { 0.0 }).collect());
        flag.set_group("fly", cloth.points.iter().map(|p| fly(p).clamp(0.0, 1.0)).collect());
        let posed = self.posed(&cloth);

        let pole = pole();
        let still = pole.rest_points.clone();
        let frame = Frame { points: vec![posed, still], pose: Vec::new() };
        let frames = MemoryFrames::new(vec![frame; self.frames.max(1)]);
        let mut clip = Clip::new("flag", self.frame_rate_hz, vec![flag, pole], None, Arc::new(frames));
        paint(&mut clip);
        clip
    }

    /// The cloth bent along the fly by the angle θ(s), by integration of (cos θ, sin θ): lengths stay.
    fn posed(&self, cloth: &Shape) -> Vec<[f32; 3]> {
        let columns = self.columns.max(1);
        let angle = |s: f64| 0.30 * s.min(1.0) * (1.15 * TAU * s).cos() + 0.06 * s;
        let mut at = vec![(HOIST, 0.0)];
        for i in 0..columns {
            let middle = (i as f64 + 0.5) / columns as f64;
            let (x, z) = at[i];
            let step = LENGTH / columns as f64;
            at.push((x + step * angle(middle).cos(), z + step * angle(middle).sin()));
        }
        let place = |(i, p): (usize, &Vec3)| {
            let (x, z) = at[i % (columns + 1)];
            Vec3::new(x, p.y, z).as_vec3().to_array()
        };
        cloth.points.iter().enumerate().map(place).collect()
    }
}

/// The colours of flag and pole.
pub(crate) fn paint(clip: &mut Clip) {
    clip.images = vec![paint::picture("flag", 480, 320, colour)];
    clip.materials = vec![
        paint::textured("flag", 0),
        paint::plain("pole", 0xe8e2d4),
        paint::plain("finial", 0xd9a441),
        paint::plain("foot", 0x6b6f76),
    ];
}

pub(crate) fn pole() -> clip::Mesh {
    let shaft = shapes::cylinder(POLE_RADIUS, TOP + 0.06, 20, 12);
    let finial = shapes::sphere(0.048, 24, 16).moved(Vec3::Y * (TOP + 0.095));
    let foot = shapes::revolve(
        &[[0.0, 0.0], [0.26, 0.0], [0.26, 0.025], [0.22, 0.05], [0.08, 0.075], [0.045, 0.14], [0.0, 0.14]],
        40,
    );
    shapes::assemble("pole", &[(&shaft, Some(1)), (&finial, Some(2)), (&foot, Some(3))])
}

/// Three bands that rise and fall like dunes, and a ball that bounces across them, squashed where it lands.
fn colour(u: f64, v: f64) -> Rgb {
    const NIGHT: Rgb = 0x24507a;
    const SAND: Rgb = 0xfaf0dc;
    const CORAL: Rgb = 0xe8603c;
    const GOLD: Rgb = 0xf4b83a;
    let (x, y) = (u * LENGTH, v * HEIGHT);
    let wave = 0.045 * (TAU * (u * 1.5 + 0.1)).sin();
    let ground = if y < 0.40 + wave {
        NIGHT
    } else if y < 0.70 + 0.8 * wave {
        SAND
    } else {
        CORAL
    };
    // centre, half width, half height of the ball at each moment
    const BALLS: [[f64; 4]; 6] = [
        [0.20, 0.24, 0.085, 0.085],
        [0.33, 0.36, 0.070, 0.088],
        [0.44, 0.56, 0.095, 0.058],
        [0.58, 0.33, 0.062, 0.078],
        [0.78, 0.215, 0.068, 0.068],
        [1.00, 0.30, 0.056, 0.066],
    ];
    let on_ball = |[cx, cy, rx, ry]: [f64; 4]| ((x - cx) / rx).hypot((y - cy) / ry) < 1.0;
    if BALLS.into_iter().any(on_ball) { GOLD } else { ground }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_loops, assert_sound, assert_strain_below};

    #[test]
    fn is_sound_and_keeps_its_lengths() {
        let clip = flag();
        assert_sound(&clip);
        assert_loops(&clip);
        assert_strain_below(&clip.meshes[0], &clip.frame(0).unwrap().points[0], 1e-4);
        let pole = &clip.meshes[1];
        assert_closed(pole.point_count(), &pole.point_triangles());
    }

    #[test]
    fn only_the_edge_on_the_pole_is_the_hoist() {
        let clip = Flag { columns: 6, rows: 4, ..Flag::default() }.clip();
        let mesh = &clip.meshes[0];
        let hoist = mesh.group("hoist").unwrap();
        assert_eq!(hoist.weights.iter().sum::<f32>(), 5.0);
        assert!(mesh.rest_points.iter().zip(&hoist.weights).all(|(p, &w)| (w == 1.0) == (p[0] < 0.1)));
    }

    #[test]
    fn any_settings_give_a_clip() {
        let clip = Flag { columns: 0, rows: 0, frames: 0, frame_rate_hz: 24.0 }.clip();
        assert_eq!(clip.frame_count(), 1);
        assert_eq!(clip.meshes[0].point_count(), 4);
    }
}
