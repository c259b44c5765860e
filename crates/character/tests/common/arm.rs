//! A scanned arm with its joints and weights: `arm.obj`, `arm.tgf` and `arm-weights.dmat` (libigl's tutorial data).

use std::error::Error;
use std::path::Path;

use character::{Joint, Skin};
use geometry::Vec3;
use glam::{DAffine3, DMat3, Mat4};

/// The joint that bends.
pub(crate) const ELBOW: usize = 2;

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The skin, and the places of the joints with the tip of the last.
pub(crate) fn read(folder: &Path) -> Result<(Skin, Vec<Vec3>), Box<dyn Error>> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for line in read("arm.obj")?.lines() {
        let values = numbers(line);
        match (line.split_whitespace().next(), &values[..]) {
            (Some("v"), &[x, y, z, ..]) => points.push(Vec3::new(x, y, z)),
            (Some("f"), &[a, b, c, ..]) => triangles.push([a, b, c].map(|v| v as u32 - 1)),
            _ => {}
        }
    }
    let tgf = read("arm.tgf")?;
    let vertices = tgf.lines().take_while(|line| !line.starts_with('#')).map(numbers);
    let places = vertices.filter(|row| row.len() > 3).map(|row| Vec3::new(row[1], row[2], row[3])).collect();
    let weights = numbers(&read("arm-weights.dmat")?);
    let (bones, weights) = (weights[0] as usize, &weights[2..]);
    let row =
        |p: usize| (0..bones).map(|bone| (bone as u32, weights[bone * points.len() + p].max(0.0))).collect();
    let influences = (0..points.len()).map(row).collect();
    Ok((Skin { points, triangles, influences }, places))
}

/// The joints, of which the last place is only the tip.
pub(crate) fn joints(places: &[Vec3]) -> Vec<Joint> {
    let joint = |(k, place): (usize, &Vec3)| Joint {
        parent: k.checked_sub(1),
        rest_from_joint: DAffine3::from_translation(*place),
    };
    places[..places.len() - 1].iter().enumerate().map(joint).collect()
}

/// The arm with its elbow bent and what is below it twisted, in radians.
pub(crate) fn bent(joints: &[Joint], places: &[Vec3], bend: f64, twist: f64) -> Vec<Mat4> {
    let (above, elbow, below) = (places[ELBOW - 1], places[ELBOW], places[ELBOW + 1]);
    let axis = (below - elbow).cross(above - elbow).normalize();
    let along = (below - elbow).normalize();
    let turn = DMat3::from_axis_angle(axis, bend) * DMat3::from_axis_angle(along, twist);
    let moved =
        DAffine3::from_translation(elbow) * DAffine3::from_mat3(turn) * DAffine3::from_translation(-elbow);
    let place = |(k, joint): (usize, &Joint)| {
        let moved = if k < ELBOW { DAffine3::IDENTITY } else { moved };
        Mat4::from((moved * joint.rest_from_joint).as_affine3())
    };
    joints.iter().enumerate().map(place).collect()
}
