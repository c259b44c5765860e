//! Air that drags at a figure: on each of its capsules and boxes, as hard as it is broad.

use geometry::{Quat, Vec3};

use crate::external::Push;
use crate::figure::Solid;
use crate::take::Take;

/// Of air at 15 °C, in kg/m³.
const AIR: f64 = 1.225;
/// C_d. A person who stands has C_d A ≈ 0.84 m² across the wind (Hoerner, *Fluid-dynamic drag*, 1965, 3-14), and this figure 0.7 m².
const COEFFICIENT: f64 = 1.15;

/// The wind's forces on a take's figure, a push on each joint that carries anything.
///
/// f = ½ ϱ C_d A |v| v, v the wind's velocity against the part, A the part's area across it. `wind` is told a place in m and a frame. Differs: velocities are
/// those of the take, not of the motion that is solved for; a part's force is on its joint's centre.
pub fn drag(take: &Take, solids: &[Solid], wind: impl Fn(Vec3, usize) -> Vec3) -> Vec<Push> {
    let frames = take.frame_count();
    let mut pushes: Vec<Push> = Vec::new();
    let worlds: Vec<(Vec<Quat>, Vec<Vec3>)> = (0..frames).map(|frame| worlds(take, frame)).collect();
    for solid in solids {
        let center = |frame: usize| {
            let (turns, places) = &worlds[frame];
            places[solid.joint] + turns[solid.joint] * solid.center
        };
        let force = |frame: usize| {
            let (before, after) = (frame.saturating_sub(1), (frame + 1).min(frames - 1));
            let seconds = (after - before).max(1) as f64 / take.frame_rate_hz;
            let velocity = (center(after) - center(before)) / seconds;
            let air = wind(center(frame), frame) - velocity;
            let turn = worlds[frame].0[solid.joint] * solid.rotation;
            let area = across(solid, turn.inverse() * air.normalize_or_zero());
            air * (0.5 * AIR * COEFFICIENT * area * air.length())
        };
        let forces: Vec<Vec3> = (0..frames).map(force).collect();
        match pushes.iter_mut().find(|push| push.joint == solid.joint) {
            Some(push) => push.forces.iter_mut().zip(forces).for_each(|(sum, force)| *sum += force),
            None => pushes.push(Push { joint: solid.joint, forces }),
        }
    }
    pushes
}

/// A solid's area seen along a direction in its own frame: that of the ellipsoid in it for round parts, π Σ, of a box 4 Σ, of what is between by how
/// round it is.
fn across(solid: &Solid, way: Vec3) -> f64 {
    let half = solid.half;
    let sides = Vec3::new(half.y * half.z, half.x * half.z, half.x * half.y);
    let flat = 4.0 * sides.dot(way.abs());
    let round = std::f64::consts::PI * (sides * way).length();
    // a long capsule is a cylinder: its ends are round, its side is not
    let roundness = solid.round / half.max_element();
    let narrow = 0.5 * (1.0 + solid.taper);
    narrow * (flat + (round - flat) * roundness)
}

/// World-from-joint rotations and places at a frame.
fn worlds(take: &Take, frame: usize) -> (Vec<Quat>, Vec<Vec3>) {
    let (mut turns, mut places): (Vec<Quat>, Vec<Vec3>) = (Vec::new(), Vec::new());
    for (bone, &turn) in take.bones.iter().zip(&take.rotations[frame]) {
        match bone.parent {
            None => {
                turns.push(turn);
                places.push(take.roots[frame]);
            }
            Some(parent) => {
                places.push(places[parent] + turns[parent] * bone.offset);
                turns.push(turns[parent] * turn);
            }
        }
    }
    (turns, places)
}
