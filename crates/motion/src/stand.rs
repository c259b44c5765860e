//! Footsteps whose places are unknown: while a foot stands, three numbers at every frame say where, and they may not change.
//!
//! ```text
//! X_c = P + R_n(p₂/r) (X̂_c − P) + p₀ t₀ + p₁ t₁         P the step's middle, t₀, t₁ along the ground, n across it
//! Σ_i h ( ‖p_i − p_{i−1}‖²/σ_s² + ‖p_i‖²/σ_p² )
//! ```
//!
//! One set for each frame, and not one for each step, keeps the system banded: its time stays linear in the motion's length.

use geometry::{Mat3, Quat, Vec3};

use crate::contacts::Contact;

/// r: a turn of a foot counts as what it moves at this distance, in m.
const LEVER: f64 = 0.3;
/// σ_s over σ_c: how far a place may creep from frame to frame, in units of how far a resting point may be from its place.
pub(crate) const CREEP: f64 = 0.3;

/// A step that stands at a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    pub(crate) step: usize,
    /// P.
    middle: Vec3,
    /// Columns t₀, n, t₁.
    axes: Mat3,
    /// The same step's index at the frame before.
    pub(crate) before: Option<usize>,
}

impl Stand {
    /// A step, of some contacts.
    fn new(step: usize, contacts: &[Contact]) -> Self {
        let own = || contacts.iter().filter(|contact| contact.step == step);
        let count = own().count().max(1) as f64;
        let middle = own().map(|contact| contact.anchor).sum::<Vec3>() / count;
        let normal = own().next().map_or(Vec3::Y, |contact| contact.normal);
        let along = (Vec3::X - normal * normal.x).normalize_or(Vec3::Z.cross(normal));
        Self { step, middle, axes: Mat3::from_cols(along, normal, along.cross(normal)), before: None }
    }

    fn turn(&self, place: Vec3) -> Quat {
        Quat::from_axis_angle(self.axes.col(1), place.z / LEVER)
    }

    /// X_c of a point that was thought to rest at X̂_c, where the step has moved by p.
    pub(crate) fn anchor(&self, anchor: Vec3, place: Vec3) -> Vec3 {
        let shift = self.axes.col(0) * place.x + self.axes.col(2) * place.y;
        self.middle + self.turn(place) * (anchor - self.middle) + shift
    }

    /// ∂X_c/∂p.
    pub(crate) fn slope(&self, anchor: Vec3, place: Vec3) -> Mat3 {
        let turned = self.axes.col(1).cross(self.turn(place) * (anchor - self.middle)) / LEVER;
        Mat3::from_cols(self.axes.col(0), self.axes.col(2), turned)
    }
}

/// The steps that stand at every frame.
pub(crate) fn stands(contacts: &[Contact], frames: usize) -> Vec<Vec<Stand>> {
    let count = contacts.iter().map(|contact| contact.step + 1).max().unwrap_or(0);
    let steps: Vec<Stand> = (0..count).map(|step| Stand::new(step, contacts)).collect();
    let mut all: Vec<Vec<Stand>> = Vec::with_capacity(frames);
    for frame in 0..frames {
        let stands =
            |step: &&Stand| contacts.iter().any(|c| c.step == step.step && c.frames.contains(&frame));
        let before = |step: usize| all.last()?.iter().position(|other| other.step == step);
        let here = steps.iter().filter(stands).map(|step| Stand { before: before(step.step), ..*step });
        let here = here.collect();
        all.push(here);
    }
    all
}

/// Contacts in the places that were found: the mean over each step's frames.
pub(crate) fn moved(contacts: &[Contact], stands: &[Vec<Stand>], places: &[Vec<Vec3>]) -> Vec<Contact> {
    let found = |contact: &Contact| {
        let own = stands.iter().zip(places).flat_map(|(stands, places)| stands.iter().zip(places));
        let own = own.filter(|(stand, _)| stand.step == contact.step);
        let (sum, count) =
            own.clone().fold((Vec3::ZERO, 0.0), |(sum, count), (_, p)| (sum + *p, count + 1.0));
        let anchor = match own.clone().next() {
            Some((stand, _)) => stand.anchor(contact.anchor, sum / count),
            None => contact.anchor,
        };
        Contact { anchor, ..contact.clone() }
    };
    contacts.iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_moves_as_one_and_its_slope_agrees_with_differences() {
        let normal = Vec3::new(0.1, 1.0, -0.2).normalize();
        let contact = |sole: usize, anchor: Vec3| Contact { sole, frames: 2..5, anchor, normal, step: 0 };
        let contacts = [contact(0, Vec3::new(1.0, 0.2, 0.3)), contact(1, Vec3::new(1.1, 0.25, 0.5))];
        let stand = stands(&contacts, 6)[3][0];
        let place = Vec3::new(0.05, -0.03, 0.1);
        let [a, b] = [0, 1].map(|k| stand.anchor(contacts[k].anchor, place));
        assert!((a.distance(b) - contacts[0].anchor.distance(contacts[1].anchor)).abs() < 1e-12);
        // along the ground, not off it
        assert!(((a + b - contacts[0].anchor - contacts[1].anchor).dot(normal)).abs() < 1e-12);
        let slope = stand.slope(contacts[0].anchor, place);
        for k in 0..3 {
            let h = Vec3::from_array(std::array::from_fn(|i| if i == k { 1e-6 } else { 0.0 }));
            let [plus, minus] = [h, -h].map(|h| stand.anchor(contacts[0].anchor, place + h));
            assert!(((plus - minus) / 2e-6 - slope.col(k)).length() < 1e-8);
        }
    }
}
