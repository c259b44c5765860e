//! Cloth for games that hangs on one thing: a flag on a pole that moves, a curtain that things go through.

use clip::{Clip, Mesh};
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::TAU;

use crate::motion::{self, Key, Track};
use crate::rig::{Pose, Rig};
use crate::shapes::Shape;
use crate::{flag, paint, shapes};

/// A flag of 1.5 × 1 m on a pole with a joint `Pole`; meshes `flag` (group `held`: its hoist) and `pole`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Banner {
    /// Quads along the 1.5 m and along the 1 m.
    pub cells: [usize; 2],
    /// Whether the pole is raised and waved; otherwise it stands.
    pub raised: bool,
    /// How long.
    pub seconds: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Banner {
    fn default() -> Self {
        Self { cells: [54, 36], raised: false, seconds: 4.0, frame_rate_hz: 30.0 }
    }
}

impl Banner {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let (rig, pole) = banner_rig();
        let mut meshes = vec![self.flag(&rig, pole), flag::pole()];
        meshes[1].skin = Some(rig.rigid_skin(std::iter::repeat_n(pole, meshes[1].point_count())));
        // lowered ahead, swung up, waved to both sides
        let tilt = Track::new(&[Key::ease(0.3, 1.0), Key::ease(1.3, 0.0)]);
        let wave = Track::new(&[
            Key::ease(1.3, 0.0),
            Key::ease(1.8, 0.35),
            Key::ease(2.6, -0.35),
            Key::ease(3.3, 0.2),
            Key::ease(3.9, 0.0),
        ]);
        let poses: Vec<Pose> = motion::times(self.seconds, self.frame_rate_hz)
            .map(|time| {
                let mut pose = Pose::new(&rig);
                if self.raised {
                    pose.turn(pole, tilt.at(time), 0.0, wave.at(time));
                }
                pose
            })
            .collect();
        let mut clip = rig.clip("banner", self.frame_rate_hz, meshes, &poses);
        flag::paint(&mut clip);
        clip
    }

    /// The flag alone, on the same skeleton, at rest: what is simulated.
    pub fn alone(cells: [usize; 2]) -> Clip {
        let (rig, pole) = banner_rig();
        let mesh = Self { cells, ..Self::default() }.flag(&rig, pole);
        let mut clip = rig.clip("banner", 30.0, vec![mesh], &[Pose::new(&rig)]);
        flag::paint(&mut clip);
        clip
    }

    fn flag(&self, rig: &Rig, pole: usize) -> Mesh {
        let corner = Vec3::new(flag::HOIST, flag::TOP, 0.0);
        let [columns, rows] = self.cells.map(|cells| cells.max(1));
        let across = flag::LENGTH * Vec3::X;
        let cloth = shapes::grid(columns, rows, corner, across, -flag::HEIGHT * Vec3::Y).flipped();
        let mut mesh = cloth.mesh("flag", Some(0));
        let held = |i: usize| if i.is_multiple_of(columns + 1) { 1.0 } else { 0.0 };
        mesh.set_group("held", (0..mesh.point_count()).map(held).collect());
        mesh.skin = Some(rig.rigid_skin(std::iter::repeat_n(pole, mesh.point_count())));
        mesh
    }
}

fn banner_rig() -> (Rig, usize) {
    let mut rig = Rig::default();
    let pole = rig.joint("Pole", None, Vec3::ZERO);
    (rig, pole)
}

/// What goes through a curtain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// A ball of 0.16 m radius that wanders to and fro.
    Small,
    /// One of 0.3 m.
    Big,
    /// Three of 0.12 m, one shot after the other.
    Shot,
}

impl Visitor {
    /// Radius of the balls, m.
    pub fn radius(self) -> f64 {
        match self {
            Self::Small => 0.16,
            Self::Big => 0.30,
            Self::Shot => 0.12,
        }
    }

    /// How many there are to be seen.
    fn count(self) -> usize {
        match self {
            Self::Small | Self::Big => 1,
            Self::Shot => 3,
        }
    }

    /// Where each of the three joints is; those that carry no ball wait below the floor.
    fn places(self, time: f64) -> [Vec3; 3] {
        let below = |k: f64| Vec3::new(k, -3.0, 0.0);
        let idle = [below(-1.0), below(0.0), below(1.0)];
        match self {
            Self::Small | Self::Big => {
                let reach = self.radius() + 0.55;
                let z = -reach * (TAU * 0.35 * time).cos();
                let x = 0.45 * (TAU * 0.11 * time).sin();
                let y = 0.95 + 0.25 * (TAU * 0.16 * time).sin();
                [Vec3::new(x, y, z), idle[1], idle[2]]
            }
            Self::Shot => [(-0.4, 1.2, 0.4), (0.3, 0.8, 1.2), (0.0, 1.4, 2.0)].map(|(x, y, start)| {
                let since: f64 = time - start;
                let z = (-1.3 + 4.0 * since.max(0.0)).min(2.5);
                let fall = 0.5 * 9.81 * since.clamp(0.0, 0.6).powi(2);
                Vec3::new(x, y - fall.min(0.5), z)
            }),
        }
    }
}

/// A curtain of 1.6 × 1.8 m that hangs from a rod, and balls that go through it; joints `Rod`, `Ball1` to `Ball3`, of which one or all carry a ball, meshes `curtain` (group
/// `held`: its upper edge), `rod` and `balls`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portiere {
    /// Quads across and down.
    pub cells: [usize; 2],
    /// What goes through it.
    pub visitor: Visitor,
    /// How long.
    pub seconds: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Portiere {
    fn default() -> Self {
        Self { cells: [42, 46], visitor: Visitor::Small, seconds: 6.0, frame_rate_hz: 30.0 }
    }
}

const TOP: f64 = 2.0;

impl Portiere {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let (rig, rod, balls) = portiere_rig();
        let ball = shapes::sphere(self.visitor.radius(), 28, 18);
        let seen = &balls[..self.visitor.count()];
        let placed: Vec<Shape> = seen.iter().map(|&joint| ball.clone().moved(rig.places[joint])).collect();
        let pieces: Vec<(&Shape, Option<usize>)> = placed.iter().map(|shape| (shape, Some(2))).collect();
        let mut spheres = shapes::assemble("balls", &pieces);
        let owners = seen.iter().flat_map(|&joint| std::iter::repeat_n(joint, ball.points.len()));
        spheres.skin = Some(rig.rigid_skin(owners));
        let shaft =
            shapes::cylinder(0.016, 1.9, 20, 12).map(|p| Vec3::new(p.y - 0.95, TOP + 0.03 - p.x, p.z));
        let mut pole = shaft.mesh("rod", Some(1));
        pole.skin = Some(rig.rigid_skin(std::iter::repeat_n(rod, pole.point_count())));
        let meshes = vec![self.curtain(&rig, rod), pole, spheres];
        let poses: Vec<Pose> = motion::times(self.seconds, self.frame_rate_hz)
            .map(|time| {
                let mut pose = Pose::new(&rig);
                for (joint, at) in balls.into_iter().zip(self.visitor.places(time)) {
                    pose.place(&rig, joint, at, DQuat::IDENTITY);
                }
                pose
            })
            .collect();
        let mut clip = rig.clip("portiere", self.frame_rate_hz, meshes, &poses);
        clip.materials = materials();
        clip
    }

    /// The curtain alone, on the same skeleton, at rest: what is simulated.
    pub fn alone(cells: [usize; 2]) -> Clip {
        let (rig, rod, _) = portiere_rig();
        let mesh = Self { cells, ..Self::default() }.curtain(&rig, rod);
        let mut clip = rig.clip("portiere", 30.0, vec![mesh], &[Pose::new(&rig)]);
        clip.materials = materials();
        clip
    }

    fn curtain(&self, rig: &Rig, rod: usize) -> Mesh {
        let [columns, rows] = self.cells.map(|cells| cells.max(1));
        let corner = Vec3::new(-0.8, TOP, 0.0);
        let cloth = shapes::grid(columns, rows, corner, 1.6 * Vec3::X, -1.8 * Vec3::Y).flipped();
        let mut mesh = cloth.mesh("curtain", Some(0));
        let held = |i: usize| if i <= columns { 1.0 } else { 0.0 };
        mesh.set_group("held", (0..mesh.point_count()).map(held).collect());
        mesh.skin = Some(rig.rigid_skin(std::iter::repeat_n(rod, mesh.point_count())));
        mesh
    }
}

fn materials() -> Vec<clip::Material> {
    vec![paint::plain("curtain", 0xb98a3d), paint::plain("walnut", 0x5b3a29), paint::plain("ball", 0x3c78b4)]
}

fn portiere_rig() -> (Rig, usize, [usize; 3]) {
    let mut rig = Rig::default();
    let rod = rig.joint("Rod", None, Vec3::Y * TOP);
    let balls =
        [1, 2, 3].map(|k| rig.joint(&format!("Ball{k}"), None, Vec3::new(f64::from(k) - 2.0, 1.0, 1.0)));
    (rig, rod, balls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, assert_strain_below};

    #[test]
    fn hangings_are_sound_and_stiff_as_boards() {
        let small = Banner { cells: [12, 8], raised: true, ..Banner::default() }.clip();
        assert_sound(&small);
        assert_strain_below(&small.meshes[0], &small.frame(40).unwrap().points[0], 1e-4);
        for visitor in [Visitor::Small, Visitor::Big, Visitor::Shot] {
            let clip = Portiere { cells: [8, 8], visitor, ..Portiere::default() }.clip();
            assert_sound(&clip);
            // nothing touches the curtain when it begins
            let balls = &clip.frame(0).unwrap().points[2];
            assert!(balls.iter().filter(|p| p[1] > 0.0).all(|p| p[2].abs() > 0.2), "{visitor:?}");
        }
    }
}
