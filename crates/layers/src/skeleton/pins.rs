//! Pins: points of the skin that are held in a place, dragged to one, or taken along by a joint or another mesh.

use character::Player;
use clip::Clip;
use dynamics::middle;
use geometry::Vec3;
use glam::{DAffine3, DMat4};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, LayerError, Target};

/// A point of the skin that is held: at a place, by a joint, or by another mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "FleshPin")]
pub struct Pin {
    /// The point of the mesh, from zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 100_000_000))]
    pub point: Option<usize>,
    /// Instead: the point that is nearest to this place while the mesh is at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = -1e6, max = 1e6)))]
    pub near: Option<[f64; 3]>,
    /// The place, in metres, that it is dragged to and held at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = -1e6, max = 1e6)))]
    pub to: Option<[f64; 3]>,
    /// Instead: a joint, an empty for instance, that takes it along from where both are when it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint: Option<String>,
    /// Instead: another mesh, whose middle takes it along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// The first and the last frame that it is held in. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 0, max = 10_000_000)))]
    pub frames: Option<[u32; 2]>,
    /// Seconds in which it comes to the place, from where it was animated.
    #[schemars(extend("minimum" = 0.0, "maximum" = 60.0, "x-usual" = [0.0, 10.0]))]
    pub seconds: f64,
}

impl Default for Pin {
    fn default() -> Self {
        Self { point: None, near: None, to: None, joint: None, mesh: None, frames: None, seconds: 0.5 }
    }
}

impl Pin {
    /// The first frame in which it is held, and the last.
    fn span(&self) -> [usize; 2] {
        self.frames.map_or([0, usize::MAX], |frames| frames.map(|frame| frame as usize))
    }

    /// Which point of the mesh.
    fn point(&self, input: &Target) -> usize {
        let Some(near) = self.near.map(Vec3::from) else { return self.point.unwrap_or(0) };
        let rest = input.mesh().rest();
        let apart = |p: &usize| rest[*p].distance_squared(near);
        (0..rest.len()).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(0)
    }

    fn check(&self, path: &str, input: &Target) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mesh = input.mesh();
        if self.point.is_some() == self.near.is_some() {
            found.push(Diagnostic::new(
                path,
                "a pin holds a `point`, or the one `near` a place: one of the two",
            ));
        }
        let holders = [self.to.is_some(), self.joint.is_some(), self.mesh.is_some()];
        if holders.iter().filter(|said| **said).count() != 1 {
            let message = "a pin holds its point `to` a place, or by a `joint` or a `mesh`: one of the three";
            found.push(Diagnostic::new(path, message));
        }
        if let Some(point) = self.point.filter(|point| *point >= mesh.point_count()) {
            let message = format!("`{}` has {} points: there is none {point}", mesh.name, mesh.point_count());
            found.push(Diagnostic::new(format!("{path}.point"), message));
        }
        let joints = || input.clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        if let Some(name) = self.joint.as_ref().filter(|name| !joints().any(|joint| joint.name == **name)) {
            let known = joints().map(|joint| joint.name.as_str());
            found.push(Diagnostic::unknown(format!("{path}.joint"), "joint", name, known));
        }
        if let Some(name) = self.mesh.as_ref() {
            let index = input.clip.mesh_index(name);
            if index.is_none() {
                let known = input.clip.meshes.iter().map(|mesh| mesh.name.as_str());
                found.push(Diagnostic::unknown(format!("{path}.mesh"), "mesh", name, known));
            } else if index == Some(input.mesh) {
                found.push(Diagnostic::new(
                    format!("{path}.mesh"),
                    "a point cannot be taken along by its own mesh",
                ));
            }
        }
        if let Some([first, last]) = self.frames.filter(|[first, last]| last < first) {
            let message = format!("it ends at frame {last}, before it begins at frame {first}");
            found.push(Diagnostic::new(format!("{path}.frames"), message));
        }
        found
    }
}

/// What is wrong with pins.
pub(super) fn check(pins: &[Pin], input: &Target) -> Vec<Diagnostic> {
    let each = pins.iter().enumerate().flat_map(|(k, pin)| pin.check(&format!("pins[{k}]"), input));
    let mut found: Vec<Diagnostic> = each.collect();
    if pins.len() > Player::MOST_PINS {
        let message = format!("{} points are pinned; {} can be", pins.len(), Player::MOST_PINS);
        found.push(Diagnostic::new("pins", message));
    }
    found
}

/// Where everything is that a pin depends on, in one frame.
struct Scene<'a> {
    clip: &'a Clip,
    mesh: usize,
    frame: clip::Frame,
}

impl Scene<'_> {
    fn points(&self, mesh: usize) -> Vec<Vec3> {
        self.frame.points[mesh].iter().map(|p| Vec3::from(p.map(f64::from))).collect()
    }

    /// What takes a point along.
    fn holder(&self, pin: &Pin) -> DAffine3 {
        let joint = || {
            let skeleton = self.clip.skeleton.as_ref()?;
            let index = skeleton.joints.iter().position(|joint| Some(&joint.name) == pin.joint.as_ref())?;
            let world = *skeleton.world_from_joints(&self.frame.pose).get(index)?;
            Some(DAffine3::from_mat4(DMat4::from_cols_array(&world.to_cols_array().map(f64::from))))
        };
        let mesh = || {
            let index = self.clip.mesh_index(pin.mesh.as_ref()?)?;
            Some(DAffine3::from_translation(middle(&self.points(index))))
        };
        joint().or_else(mesh).unwrap_or(DAffine3::IDENTITY)
    }

    fn animated(&self, point: usize) -> Vec3 {
        Vec3::from(self.frame.points[self.mesh][point].map(f64::from))
    }
}

/// The pins of a shot, frame by frame.
pub(super) struct Pins {
    pins: Vec<(Pin, usize)>,
    /// The target's first point in the skin.
    start: usize,
    rate: f64,
}

impl Pins {
    pub(super) fn new(pins: &[Pin], input: &Target, start: usize) -> Self {
        let pins = pins.iter().map(|pin| (pin.clone(), pin.point(input)));
        Self { pins: pins.collect(), start, rate: input.clip.frame_rate_hz }
    }

    /// Where a pin is in a frame, if it is there: in the first one it takes hold.
    fn place(
        &self,
        pin: &Pin,
        point: usize,
        input: &Target,
        index: usize,
    ) -> Result<Option<Vec3>, LayerError> {
        let [first, last] = pin.span();
        if !(first..=last).contains(&index) {
            return Ok(None);
        }
        let scene = |index: usize| -> Result<Scene, LayerError> {
            Ok(Scene { clip: &input.clip, mesh: input.mesh, frame: input.clip.frame(index)? })
        };
        let here = scene(index)?;
        if let Some(to) = pin.to {
            let gone = (index - first) as f64 / self.rate;
            let share = if pin.seconds > 0.0 { (gone / pin.seconds).min(1.0) } else { 1.0 };
            return Ok(Some(here.animated(point).lerp(Vec3::from(to), share)));
        }
        let begun = scene(first)?;
        let own = begun.holder(pin).inverse().transform_point3(begun.animated(point));
        Ok(Some(here.holder(pin).transform_point3(own)))
    }

    /// Holds points on the way from the frame before to this one. All are let go and taken again, so that a resumed bake does the same.
    pub(super) fn hold(&self, player: &mut Player, input: &Target, index: usize) -> Result<(), LayerError> {
        player.unpin();
        for (pin, point) in &self.pins {
            let Some(now) = self.place(pin, *point, input, index)? else { continue };
            let before = match index.checked_sub(1) {
                Some(before) => self.place(pin, *point, input, before)?,
                None => None,
            };
            for place in [before.unwrap_or(now), now] {
                player.pin(self.start + *point, Some(place)).map_err(LayerError::new)?;
            }
        }
        Ok(())
    }

    /// How far the points are from where they are held, at most, in metres; none where nothing is held.
    pub(super) fn miss(
        &self,
        points: &[Vec3],
        input: &Target,
        index: usize,
    ) -> Result<Option<f64>, LayerError> {
        let mut worst = None;
        for (pin, point) in &self.pins {
            if let Some(place) = self.place(pin, *point, input, index)? {
                worst = Some(points[self.start + *point].distance(place).max(worst.unwrap_or(0.0)));
            }
        }
        Ok(worst)
    }
}
