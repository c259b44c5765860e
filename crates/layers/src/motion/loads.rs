//! What a figure is loaded with, measured by the figure: pushes and springs in its weight, what it wears in its mass, a belt by how its feet go.
//!
//! A newton more or less is nothing to a giant and throws a doll. Beyond some hundred weights, and on a belt that has nothing to do with
//! the feet, there is no motion near the input, and its equations have no solution that can be computed.

use clip::Clip;
use geometry::Vec3;
use motion::{Build, Data, Segment};
use shot::Diagnostic;

use super::figure::Figure;
use super::{Belt, Footing, Motion};

/// A force, in weights of the figure: unusual, and refused.
const FORCE: [f64; 2] = [10.0, 100.0];
/// What it wears, in masses of the figure: with a tank on its chest it still walks.
const WORN: [f64; 2] = [2.0, f64::INFINITY];
/// How far a belt is from how the feet that stand go, in √(g h): the speed of something that fell from half of the figure's height. People
/// walk at 0.35 of it, and sprint at 2.5.
const BELT: [f64; 2] = [0.7, 2.0];
/// m/s².
const G: f64 = 9.81;

/// What is out of its range: whether it is refused, and what is said.
pub(super) fn out_of_range(settings: &Motion, clip: &Clip) -> Vec<(bool, Diagnostic)> {
    let build = Build { mass: settings.body.mass, height: settings.body.height, ..Build::default() };
    let is_belt = matches!(settings.ground, Some(Footing::Belt(_)));
    if settings.pushes.is_empty() && settings.springs.is_empty() && settings.body.add.is_empty() && !is_belt {
        return Vec::new();
    }
    // what else is wrong with the figure is said when it is prepared
    let Ok(figure) = Figure::of(clip) else { return Vec::new() };
    let Ok(body) = figure.take.body(&build) else { return Vec::new() };
    let take = &figure.take;
    let mut found = Vec::new();
    let mut judge = |[usual, most]: [f64; 2], value: f64, path: String, message: String, help: String| {
        if value > usual {
            found.push((value > most, Diagnostic::new(path, message).with_help(help)));
        }
    };
    let (mass, weight) = (body.mass(), G * body.mass());
    for (k, push) in settings.pushes.iter().enumerate() {
        let force = Vec3::from_array(push.force).length();
        let message = format!(
            "a push of {force:.0} N is {:.0} times the figure's weight, {weight:.0} N",
            force / weight
        );
        let help = format!(
            "usual is up to {:.0} N, and possible {:.0}; heavier figures (`body.mass`) take more",
            FORCE[0] * weight,
            FORCE[1] * weight
        );
        judge(FORCE, force / weight, format!("pushes[{k}].force"), message, help);
    }
    let coordinates = take.coordinates(&body);
    let mut data = Data::new(&body);
    for (k, band) in settings.springs.iter().enumerate() {
        let Some(joint) = take.bones.iter().position(|bone| bone.name == band.joint) else { continue };
        let stretch = |q: &Vec<f64>| {
            data.kinematics(&body, q);
            let away = data.point(&body, joint, Vec3::ZERO).distance(Vec3::from_array(band.to) * figure.unit);
            (away - band.rest * figure.unit).abs()
        };
        let force = band.stiffness * coordinates.iter().map(stretch).fold(0.0, f64::max);
        let message = format!(
            "at its longest the spring pulls with {force:.0} N, {:.0} times the figure's weight",
            force / weight
        );
        let help = format!(
            "usual is up to {:.0} N, and possible {:.0}: make it softer, or bring its other end nearer",
            FORCE[0] * weight,
            FORCE[1] * weight
        );
        judge(FORCE, force / weight, format!("springs[{k}].stiffness"), message, help);
    }
    for (k, worn) in settings.body.add.iter().enumerate() {
        let message = format!(
            "{} kg on `{}` are {:.0} times the figure's mass, {mass:.0} kg",
            worn.mass,
            worn.joint,
            worn.mass / mass
        );
        let help = format!("usual is up to {:.0} kg", WORN[0] * mass);
        judge(WORN, worn.mass / mass, format!("body.add[{k}].mass"), message, help);
    }
    if let (Some(Footing::Belt(Belt { belt, .. })), Some(height)) =
        (&settings.ground, motion::height(&take.bones))
    {
        let feet = (0..take.bones.len())
            .filter(|&joint| Segment::from_name(&take.bones[joint].name) == Some(Segment::Foot));
        let feet: Vec<usize> = feet.collect();
        let places = coordinates.iter().map(|q| {
            data.kinematics(&body, q);
            feet.iter().map(|&joint| data.point(&body, joint, Vec3::ZERO)).collect::<Vec<_>>()
        });
        if let Some([x, z]) = standing(&places.collect::<Vec<_>>(), take.frame_rate_hz) {
            let off = (belt[0] * figure.unit - x).hypot(belt[2] * figure.unit - z);
            let message = format!(
                "feet that stand go {off:.1} m/s past a belt of ({}, {}) m/s along x and z",
                belt[0], belt[2]
            );
            let (x, z) = (x / figure.unit, z / figure.unit);
            let help = format!("the input's feet go with `belt = [{x:.2}, 0.0, {z:.2}]`");
            judge(BELT, off / (G * height).sqrt(), "ground.belt".into(), message, help);
        }
    }
    found
}

/// How the lowest foot goes most of the time, in m/s along x and z.
pub(super) fn standing(places: &[Vec<Vec3>], rate: f64) -> Option<[f64; 2]> {
    let speeds = speeds(places, rate);
    let middle = |axis: usize| {
        let mut list: Vec<f64> = speeds.iter().map(|speed| speed[axis]).collect();
        list.sort_by(f64::total_cmp);
        list.get(list.len() / 2).copied()
    };
    Some([middle(0)?, middle(2)?])
}

/// The velocity of the lowest foot from each frame to the next, in m/s.
pub(super) fn speeds(places: &[Vec<Vec3>], rate: f64) -> Vec<Vec3> {
    let count = places.first().map_or(0, Vec::len);
    let pairs = places.windows(2).filter_map(|pair| {
        let height = |&joint: &usize| pair[0][joint].y + pair[1][joint].y;
        let lowest = (0..count).min_by(|a, b| height(a).total_cmp(&height(b)))?;
        Some((pair[1][lowest] - pair[0][lowest]) * rate)
    });
    pairs.collect()
}
