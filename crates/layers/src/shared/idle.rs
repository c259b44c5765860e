//! Settings that were turned and have no effect, because another one keeps them from having any.

use clip::Selector;
use shell::Wind;
use shot::{Diagnostic, Target};

use super::contact::{Contact, Form, Obstacle};

/// Collects them.
#[derive(Default)]
pub(crate) struct Idle(pub(crate) Vec<Diagnostic>);

impl Idle {
    /// The settings of `keys` that were turned have no effect, and why.
    pub(crate) fn say(&mut self, prefix: &str, keys: &[(&str, bool)], why: &str) {
        let turned = keys.iter().filter(|(_, is_turned)| *is_turned);
        self.0.extend(turned.map(|(key, _)| Diagnostic::new(format!("{prefix}{key}"), why)));
    }

    /// How softly points follow, where none does.
    pub(crate) fn say_follow<'a>(
        &mut self,
        follow: impl IntoIterator<Item = &'a Selector>,
        keys: &[(&str, bool)],
        input: &Target,
    ) {
        let weights = follow
            .into_iter()
            .flat_map(|selector| selector.weights(&input.clip, input.mesh, &input.files).unwrap_or_default());
        if !weights.into_iter().any(|weight| weight > 0.0 && weight < 1.0) {
            self.say("", keys, "no point follows softly, with a weight between 0 and 1");
        }
    }

    /// Dials of a wind that does not blow, or does not come in gusts.
    pub(crate) fn say_wind(&mut self, wind: &Wind, air_drag: f64) {
        let calm = Wind::default();
        let gusts = [
            ("gust_length", wind.gust_length != calm.gust_length),
            ("variation", wind.variation != calm.variation),
            ("seed", wind.seed != calm.seed),
        ];
        if wind.speed == 0.0 {
            let others = [
                ("direction", wind.direction != calm.direction),
                ("gust", wind.gust != calm.gust),
                ("keys", wind.keys != calm.keys),
            ];
            self.say("wind.", &[&gusts[..], &others].concat(), "`wind.speed` is 0");
        } else if air_drag == 0.0 {
            self.say("", &[("wind", true)], "`air_drag` is 0: air does not push");
        } else if wind.gust == 0.0 {
            self.say("wind.", &gusts, "`wind.gust` is 0");
        }
    }

    /// Measures of obstacles that they do not have.
    pub(crate) fn say_contact(&mut self, contact: Option<&Contact>) {
        for (k, obstacle) in contact.iter().flat_map(|contact| contact.obstacles.iter().flatten().enumerate())
        {
            let plain = Obstacle::default();
            let radius = ("radius", obstacle.radius != plain.radius);
            let half_length = ("half_length", obstacle.half_length != plain.half_length);
            let half_size = ("half_size", obstacle.half_size != plain.half_size);
            let axis = ("axis", obstacle.axis != plain.axis);
            let centre = ("centre", obstacle.centre != plain.centre);
            let velocity = ("velocity", obstacle.velocity != plain.velocity);
            let spin = ("spin", obstacle.spin != plain.spin);
            let (keys, why) = match obstacle.shape {
                None => (
                    vec![centre, radius, half_length, half_size, axis, velocity, spin],
                    "it belongs to shapes; a mesh is as it is and moves as it does",
                ),
                Some(Form::Sphere) => (vec![half_length, half_size], "a sphere has none"),
                Some(Form::Capsule) => (vec![half_size], "a capsule has none"),
                Some(Form::Box) => (vec![radius, half_length], "a box has none"),
                Some(Form::Plane) => (vec![radius, half_length, half_size], "a plane has no end"),
            };
            self.say(&format!("contact.obstacles[{k}]."), &keys, why);
        }
    }
}
