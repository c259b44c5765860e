//! Which points: selectors for shot files.
//!
//! A selector gives every point of a mesh a weight between zero and one. Places are those of the clip's first frame:
//! what the artist sees when the shot is opened. In names, `*` stands for anything.

mod adjust;
mod file;
mod joints;
mod regions;
mod written;

use geometry::{Topology, Vec3};
use serde::{Deserialize, Serialize};

use crate::{Clip, Error, FilePath, Files, Group, Mesh, Result};

pub use adjust::{Adjusted, Adjustment};
pub use joints::JointRegion;
pub use regions::{BoxRegion, HeightRegion, SphereRegion};

/// Chooses points of a mesh, in a shot file `{ group = "hoist" }`, `{ height = { from = 1.0, to = 1.2 } }`, `"all"`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(rename_all = "snake_case", transform = written::with_adjustments)
)]
pub enum Selector {
    /// Every point.
    All,
    /// The weights of a group: painted colours (`color.r`), an OBJ group, a joint's influence. Of a list, or with `*` for anything, the largest
    /// of all groups whose names fit.
    Group(Names),
    /// How much a joint moves each point: by the mesh's skin, or wholly where the mesh hangs on it. Of a list, or with `*` for anything, how much
    /// all joints together whose names fit. With `within`, what is so near to where the joint is.
    Joint(Names),
    /// What lies in a box.
    Box(BoxRegion),
    /// What lies in a sphere.
    Sphere(SphereRegion),
    /// What lies above a height, softly.
    Height(HeightRegion),
    /// One connected piece of the mesh, counted from zero in the order of their first points.
    Component(
        #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0, "maximum" = 1_000_000_000)))] usize,
    ),
    /// A weight for each point from a file beside the shot: JSON or CSV.
    File(FilePath),
    /// What any of these choose: the largest weight.
    Any(Vec<Selector>),
    /// What this does not choose: one minus its weight.
    Not(Box<Selector>),
    /// The weights of these added up, at most one.
    Sum(Vec<Selector>),
    /// The weights of the first less those of the others, at least zero.
    Difference(Vec<Selector>),
    /// Another selector's weights spread or sharpened: what a joint moves by half or more can follow it exactly.
    Levels(LevelsRegion),
    /// What is near to where joints are: `{ joint = "chest", within = 0.2 }`.
    #[cfg_attr(feature = "schemars", schemars(skip))]
    NearJoint(JointRegion),
    /// Any of these with its weights changed: `{ joint = "foot", at_least = 0.5 }`.
    #[cfg_attr(feature = "schemars", schemars(skip))]
    Adjusted(Adjusted),
}

/// One name or several; in each, `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Names {
    /// This one.
    One(String),
    /// Each of these.
    Several(Vec<String>),
}

impl Names {
    /// The names, as they were written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        names.iter().map(String::as_str)
    }
}

impl From<&str> for Names {
    fn from(name: &str) -> Self {
        Self::One(name.into())
    }
}

/// Weights of a selector, stretched so that `from` becomes zero and `to` one, then blurred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LevelsRegion {
    /// Whose weights.
    pub of: Box<Selector>,
    /// What weighs no more than this is not chosen.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1.0)))]
    pub from: f64,
    /// What weighs at least this is chosen wholly.
    #[serde(default = "whole")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1.0)))]
    pub to: f64,
    /// How many times each point's weight is averaged with its neighbours'.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0, "maximum" = 1000, "x-usual" = [0, 50])))]
    pub blur: usize,
}

fn whole() -> f64 {
    1.0
}

impl Selector {
    /// Whether a name fits a pattern in which `*` stands for anything.
    pub fn fits(pattern: &str, name: &str) -> bool {
        let mut pieces = pattern.split('*');
        let Some(mut rest) = pieces.next().and_then(|head| name.strip_prefix(head)) else { return false };
        let Some(tail) = pieces.next_back() else { return rest.is_empty() };
        // the first place for each piece leaves most to the others
        for piece in pieces {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(tail)
    }

    /// Whether a mesh has every group that this names: where a shot names no mesh, one that has them is meant.
    pub fn has_its_groups(&self, mesh: &Mesh) -> bool {
        let all = |selectors: &[Self]| selectors.iter().all(|selector| selector.has_its_groups(mesh));
        match self {
            Self::Group(names) => names.iter().all(|name| groups_called(mesh, name).next().is_some()),
            Self::Any(selectors) | Self::Sum(selectors) | Self::Difference(selectors) => all(selectors),
            Self::Not(of) => of.has_its_groups(mesh),
            Self::Levels(levels) => levels.of.has_its_groups(mesh),
            Self::Adjusted(adjusted) => adjusted.of.has_its_groups(mesh),
            Self::All
            | Self::Joint(_)
            | Self::NearJoint(_)
            | Self::Box(_)
            | Self::Sphere(_)
            | Self::Height(_)
            | Self::Component(_)
            | Self::File(_) => true,
        }
    }

    /// A weight for each point of a mesh. Side files are those of `files`: a folder will do.
    pub fn weights(&self, clip: &Clip, mesh: usize, files: impl Into<Files>) -> Result<Vec<f32>> {
        self.weights_among(clip, mesh, &files.into())
    }

    fn weights_among(&self, clip: &Clip, mesh: usize, files: &Files) -> Result<Vec<f32>> {
        let Some(shape) = clip.meshes.get(mesh) else {
            let names = clip.meshes.iter().map(|mesh| mesh.name.clone());
            return Err(Error::no_such_name(
                "mesh",
                &mesh.to_string(),
                format!("clip `{}`", clip.name),
                names,
            ));
        };
        let by_place = |weight: &dyn Fn(Vec3) -> f64| -> Result<Vec<f32>> {
            let frame = clip.checked_frame(0)?;
            Ok(frame.points[mesh].iter().map(|p| weight(Vec3::from(p.map(f64::from))) as f32).collect())
        };
        let weights_of = |selector: &Self| selector.weights_among(clip, mesh, files);
        match self {
            Self::All => Ok(vec![1.0; shape.point_count()]),
            Self::Group(names) => group_weights(shape, names),
            Self::Joint(names) => joints::weights(clip, mesh, names),
            Self::NearJoint(region) => region.weights(clip, mesh),
            Self::Adjusted(adjusted) => Ok(adjusted.adjusted(shape, weights_of(&adjusted.of)?)),
            Self::Box(region) => by_place(&|p| region.weight(p)),
            Self::Sphere(region) => by_place(&|p| region.weight(p)),
            Self::Height(region) => by_place(&|p| region.weight(p)),
            Self::Component(number) => component_weights(shape, *number),
            Self::File(path) => file::weights(files, &files.path(path), shape.point_count()),
            Self::Any(selectors) => {
                let none = vec![0.0; shape.point_count()];
                joined(none, selectors, weights_of, f32::max)
            }
            Self::Not(selector) => Ok(weights_of(selector)?.into_iter().map(|weight| 1.0 - weight).collect()),
            Self::Sum(selectors) => {
                let none = vec![0.0; shape.point_count()];
                joined(none, selectors, weights_of, |weight, other| (weight + other).min(1.0))
            }
            Self::Difference(selectors) => {
                let Some((first, others)) = selectors.split_first() else {
                    return Ok(vec![0.0; shape.point_count()]);
                };
                joined(weights_of(first)?, others, weights_of, |weight, other| (weight - other).max(0.0))
            }
            Self::Levels(levels) => {
                let weights = weights_of(&levels.of)?;
                Ok(blurred(
                    shape,
                    weights.into_iter().map(|weight| levels.level(weight)).collect(),
                    levels.blur,
                ))
            }
        }
    }
}

/// Weights joined with those of other selectors, point by point.
fn joined(
    mut weights: Vec<f32>,
    others: &[Selector],
    weights_of: impl Fn(&Selector) -> Result<Vec<f32>>,
    join: impl Fn(f32, f32) -> f32,
) -> Result<Vec<f32>> {
    for selector in others {
        let others = weights_of(selector)?;
        weights.iter_mut().zip(others).for_each(|(weight, other)| *weight = join(*weight, other));
    }
    Ok(weights)
}

impl LevelsRegion {
    fn level(&self, weight: f32) -> f32 {
        let weight = f64::from(weight);
        match self.to > self.from {
            true => ((weight - self.from) / (self.to - self.from)).clamp(0.0, 1.0) as f32,
            false => f32::from(u8::from(weight >= self.to && weight > 0.0)),
        }
    }
}

/// Weights averaged with those of their neighbours, so many times.
fn blurred(mesh: &Mesh, mut weights: Vec<f32>, times: usize) -> Vec<f32> {
    if times == 0 {
        return weights;
    }
    let around = Topology::new(mesh.point_count(), &mesh.point_triangles()).neighbours();
    for _ in 0..times {
        let mean = |(own, near): (&f32, &Vec<u32>)| {
            let sum: f64 = near.iter().map(|&point| f64::from(weights[point as usize])).sum();
            ((f64::from(*own) + sum) / (1 + near.len()) as f64) as f32
        };
        weights = weights.iter().zip(&around).map(mean).collect();
    }
    weights
}

fn group_weights(mesh: &Mesh, names: &Names) -> Result<Vec<f32>> {
    let mut weights = vec![0.0_f32; mesh.point_count()];
    for name in names.iter() {
        let mut fitting = groups_called(mesh, name).peekable();
        if fitting.peek().is_none() {
            let known = mesh.groups.iter().map(|group| group.name.clone());
            return Err(Error::no_such_name("group", name, format!("mesh `{}`", mesh.name), known));
        }
        for group in fitting {
            weights.iter_mut().zip(&group.weights).for_each(|(weight, other)| *weight = weight.max(*other));
        }
    }
    Ok(weights)
}

/// The groups that a name means: the one that is really called so, or all that fit it.
fn groups_called<'a>(mesh: &'a Mesh, name: &'a str) -> impl Iterator<Item = &'a Group> {
    let exact = mesh.group(name);
    let fitting =
        mesh.groups.iter().filter(move |group| exact.is_none() && Selector::fits(name, &group.name));
    exact.into_iter().chain(fitting)
}

fn component_weights(mesh: &Mesh, number: usize) -> Result<Vec<f32>> {
    let components = Topology::new(mesh.point_count(), &mesh.point_triangles()).components();
    let count = components.iter().max().map_or(0, |&last| last as usize + 1);
    if number >= count {
        let known = (0..count).map(|number| number.to_string());
        return Err(Error::no_such_name(
            "component",
            &number.to_string(),
            format!("mesh `{}`", mesh.name),
            known,
        ));
    }
    Ok(components.iter().map(|&component| f32::from(u8::from(component as usize == number))).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Joint, Skeleton, Skin, Transform};

    fn clip() -> Clip {
        // two triangles apart, at heights 0 and 1
        let points = vec![
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0],
            [1.0, 1.0, 0.0],
            [0.0, 1.0, 1.0],
        ];
        let mut mesh = Mesh::new("flag", points, &[[0, 1, 2], [3, 4, 5]]);
        mesh.set_group("hoist", vec![1.0, 0.5, 0.0, 0.0, 0.0, 0.0]);
        mesh.set_group("fly.end", vec![0.0, 0.0, 0.0, 0.0, 0.25, 1.0]);
        mesh.set_group("fly.middle", vec![0.0, 0.0, 0.0, 0.5, 0.5, 0.0]);
        Clip::still(mesh, 24.0, 1)
    }

    fn weights(toml: &str) -> Result<Vec<f32>> {
        let selector: Selector = serde_json::from_str(toml).unwrap();
        selector.weights(&clip(), 0, Path::new(""))
    }

    #[test]
    fn each_selector_chooses_its_points() {
        assert_eq!(weights(r#""all""#).unwrap(), [1.0; 6]);
        assert_eq!(weights(r#"{"group":"hoist"}"#).unwrap()[..2], [1.0, 0.5]);
        assert_eq!(
            weights(r#"{"box":{"min":[-1,-1,-1],"max":[0.5,0.5,0.5]}}"#).unwrap(),
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(
            weights(r#"{"sphere":{"centre":[0,0,0],"radius":0.5,"falloff":1}}"#).unwrap()[..4],
            [1.0, 0.5, 0.5, 0.5]
        );
        assert_eq!(weights(r#"{"height":{"from":0.5,"to":1}}"#).unwrap(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(weights(r#"{"height":{"from":2,"to":0}}"#).unwrap(), [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]);
        assert_eq!(weights(r#"{"component":1}"#).unwrap(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        let sum = r#"{"sum":[{"group":"fly.end"},{"group":"fly.middle"},{"component":1}]}"#;
        assert_eq!(weights(sum).unwrap(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        let difference = r#"{"difference":[{"component":1},{"group":"fly.middle"},{"group":"fly.end"}]}"#;
        assert_eq!(weights(difference).unwrap(), [0.0, 0.0, 0.0, 0.5, 0.25, 0.0]);
        let levels =
            |more: &str| weights(&format!(r#"{{"levels":{{"of":{{"group":"hoist"}}{more}}}}}"#)).unwrap();
        assert_eq!(levels("")[..3], [1.0, 0.5, 0.0]);
        assert_eq!(levels(r#","to":0.5"#)[..3], [1.0, 1.0, 0.0]);
        assert_eq!(levels(r#","from":0.5"#)[..3], [1.0, 0.0, 0.0]);
        assert_eq!(levels(r#","from":0.6,"to":0.4"#)[..3], [1.0, 1.0, 0.0]);
        // each is the mean of its triangle
        assert_eq!(levels(r#","blur":1"#), [0.5, 0.5, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(
            weights(r#"{"not":{"any":[{"component":1},{"group":"hoist"}]}}"#).unwrap(),
            [0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
        );
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, fits) in [
            ("ear", "ear", true),
            ("ear", "ear_1", false),
            ("ear_*", "ear_1", true),
            ("*ear*", "left_ear_2", true),
            ("*", "", true),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c", false),
            ("ab*ba", "aba", false),
            ("*é*", "café", true),
        ] {
            assert_eq!(Selector::fits(pattern, name), fits, "{pattern} {name}");
        }
        // stars by the hundred cost no more than a look at the name each
        assert!(!Selector::fits(&"*a".repeat(400), &"a".repeat(399)));
    }

    #[test]
    fn patterns_choose_all_groups_and_joints_that_fit() {
        assert_eq!(weights(r#"{"group":"fly.*"}"#).unwrap(), [0.0, 0.0, 0.0, 0.5, 0.5, 1.0]);
        assert_eq!(weights(r#"{"group":"*"}"#).unwrap(), [1.0, 0.5, 0.0, 0.5, 0.5, 1.0]);
        assert!(weights(r#"{"group":"fly_*"}"#).unwrap_err().to_string().contains("no group `fly_*`"));

        let joint = |name: &str| Joint { name: name.into(), parent: None, rest: Transform::IDENTITY };
        let mut clip = clip();
        clip.skeleton = Some(Skeleton { joints: ["root", "ear_l", "ear_r"].map(joint).to_vec() });
        let influences = (0..6).map(|_| vec![(0, 0.5), (1, 0.25), (2, 0.25)]).collect();
        let binds = (0..3).map(|joint| (joint, glam::Mat4::IDENTITY)).collect();
        clip.meshes[0].skin = Some(Skin { binds, influences });
        let of = |name: &str| Selector::Joint(name.into()).weights(&clip, 0, Path::new(""));
        assert_eq!(of("ear_l").unwrap(), [0.25; 6]);
        assert_eq!(of("ear_*").unwrap(), [0.5; 6]);
        assert_eq!(of("*").unwrap(), [1.0; 6]);
        let words = of("tail*").unwrap_err().to_string();
        assert!(
            ["root", "ear_l", "ear_r"].iter().all(|name| words.contains(&format!("`{name}`"))),
            "{words}"
        );
    }

    /// Adjustments stand beside a selector's own key, and are the same when they have been written and read again.
    #[test]
    fn any_map_is_adjusted() {
        let adjusted = |text: &str| {
            let selector: Selector = serde_json::from_str(text).unwrap();
            let written = serde_json::to_string(&selector).unwrap();
            assert_eq!(serde_json::from_str::<Selector>(&written).unwrap(), selector, "{written}");
            selector.weights(&clip(), 0, Path::new("")).unwrap()
        };
        assert_eq!(adjusted(r#"{"group":"hoist","at_least":0.5}"#)[..3], [1.0, 1.0, 0.0]);
        assert_eq!(adjusted(r#"{"group":"hoist","at_least":0.6}"#)[..3], [1.0, 0.0, 0.0]);
        assert_eq!(
            adjusted(r#"{"group":"hoist","at_least":0.0}"#)[..3],
            [1.0, 1.0, 0.0],
            "nothing stays nothing"
        );
        assert_eq!(adjusted(r#"{"group":"hoist","gain":1.5}"#)[..3], [1.0, 0.75, 0.0]);
        assert_eq!(adjusted(r#"{"group":"hoist","invert":true}"#)[..3], [0.0, 0.5, 1.0]);
        assert_eq!(adjusted(r#"{"group":"hoist","blur":1}"#)[..3], [0.5; 3]);
        // in this order: 1, ¾, 0 → 1, 1, 0 → ⅔ each → ⅓
        let all = adjusted(r#"{"group":"hoist","gain":1.5,"at_least":0.7,"blur":1,"invert":true}"#);
        assert!((all[0] - 1.0 / 3.0).abs() < 1e-6, "{all:?}");
        assert_eq!(
            adjusted(r#"{"height":{"from":0.5,"to":1},"invert":true}"#),
            [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(
            adjusted(r#"{"any":[{"component":1},{"group":"hoist","at_least":0.5}]}"#)[..3],
            [1.0, 1.0, 0.0]
        );
        assert_eq!(adjusted(r#"{"group":["hoist","fly.*"]}"#), [1.0, 0.5, 0.0, 0.5, 0.5, 1.0]);
        for wrong in
            [r#"{"group":"hoist","at_most":0.5}"#, r#"{"at_least":0.5}"#, r#"{"group":"hoist","within":1}"#]
        {
            assert!(serde_json::from_str::<Selector>(wrong).is_err(), "{wrong}");
        }
    }

    /// A scene with two joints at heights 0 and 1, the second turned so that its own x axis points up.
    fn jointed() -> Clip {
        let up = glam::Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
        let joint = |name: &str, y: f32| Joint {
            name: name.into(),
            parent: None,
            rest: Transform {
                translation: glam::Vec3::new(0.0, y, 0.0),
                rotation: up,
                ..Transform::IDENTITY
            },
        };
        let skeleton = Skeleton { joints: vec![joint("hip", 0.0), joint("chest", 1.0)] };
        let frame = crate::Frame { points: clip().frame(0).unwrap().points, pose: skeleton.rest_pose() };
        let frames = std::sync::Arc::new(crate::MemoryFrames::new(vec![frame]));
        Clip::new("scene", 24.0, clip().meshes, Some(skeleton), frames)
    }

    #[test]
    fn what_is_near_a_joint_needs_no_skin() {
        let scene = jointed();
        let of =
            |text: &str| serde_json::from_str::<Selector>(text).unwrap().weights(&scene, 0, Path::new(""));
        assert_eq!(of(r#"{"joint":"chest","within":0.1}"#).unwrap(), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(of(r#"{"joint":["hip","chest"],"within":0.1}"#).unwrap(), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        // one along the joint's own x is one up
        assert_eq!(of(r#"{"joint":"hip","within":0.1,"offset":[1,0,0]}"#).unwrap()[3], 1.0);
        assert_eq!(of(r#"{"joint":"chest","within":0.5,"falloff":1}"#).unwrap()[4], 0.5);
        assert_eq!(of(r#"{"joint":"*","within":0.1,"invert":true}"#).unwrap()[..2], [0.0, 1.0]);
        assert!(of(r#"{"joint":"cheast","within":1}"#).unwrap_err().to_string().contains("`chest`"));
    }

    /// A mesh without a skin says what would work in its place.
    #[test]
    fn a_joint_that_moves_no_point_leads_on() {
        let mut scene = jointed();
        let of = |scene: &Clip, name: &str| Selector::Joint(name.into()).weights(scene, 0, Path::new(""));
        let words = of(&scene, "chest").unwrap_err().to_string();
        for way in [
            "no joint `chest` in the skin of mesh `flag`; it has none",
            "`{ joint = \"chest\", within = 0.2 }`",
            "`{ height = { from = 0.80, to = 1.00 } }`",
            "`box`",
        ] {
            assert!(words.contains(way), "{words}");
        }
        // a hat hangs on its head as a whole
        scene.meshes[0].parent = Some(1);
        assert_eq!(of(&scene, "ch*").unwrap(), [1.0; 6]);
        let words = of(&scene, "hip").unwrap_err().to_string();
        assert!(words.contains("`{ joint = \"chest\" }` is all of it"), "{words}");
    }

    #[test]
    fn joints_of_a_skeleton_are_chosen_by_name() {
        let skeleton = jointed().skeleton.unwrap();
        let of = |text: &str| serde_json::from_str::<Selector>(text).unwrap().joint_weights(&skeleton);
        assert_eq!(of(r#""all""#).unwrap(), [1.0, 1.0]);
        assert_eq!(of(r#"{"joint":"h*"}"#).unwrap(), [1.0, 0.0]);
        assert_eq!(of(r#"{"not":{"joint":"hip"}}"#).unwrap(), [0.0, 1.0]);
        assert_eq!(of(r#"{"joint":"hip","gain":0.25}"#).unwrap(), [0.25, 0.0]);
        assert_eq!(of(r#"{"difference":["all",{"joint":"chest"}]}"#).unwrap(), [1.0, 0.0]);
        assert!(of(r#"{"joint":"knee"}"#).unwrap_err().to_string().contains("in the scene; there are"));
        assert!(of(r#"{"height":{"from":0,"to":1}}"#).unwrap_err().to_string().contains("chosen by `joint`"));
    }

    #[test]
    fn a_name_that_does_not_exist_lists_those_that_do() {
        let words = weights(r#"{"group":"hosit"}"#).unwrap_err().to_string();
        assert_eq!(
            words,
            "there is no group `hosit` in mesh `flag`; there are `hoist`, `fly.middle`, `fly.end`"
        );
        assert!(weights(r#"{"joint":"Head"}"#).unwrap_err().to_string().contains("it has none"));
        assert!(weights(r#"{"component":2}"#).unwrap_err().to_string().contains("`0`, `1`"));
    }

    #[test]
    fn side_files_are_lists_or_pairs() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            Selector::File(name.into()).weights(&clip(), 0, folder.path())
        };
        let expected = [0.0, 0.25, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(read("a.json", "[0, 0.25, 0, 0, 0, 1]").unwrap(), expected);
        assert_eq!(read("b.json", "[[5, 1], [1, 0.25]]").unwrap(), expected);
        assert_eq!(read("c.csv", "weight\n0\n0.25\n0\n0\n0\n1\n").unwrap(), expected);
        assert_eq!(read("d.csv", "point,weight\n5,1\n1,0.25\n").unwrap(), expected);
        assert!(
            read("e.csv", "1\n2\n").unwrap_err().to_string().contains("2 weights, but the mesh has 6 points")
        );
        assert!(read("f.json", "[[6, 1]]").unwrap_err().to_string().contains("point 6"));
        assert!(read("g.csv", "0\nx\n").unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn levels_without_a_width_are_a_threshold() {
        let level = |from: f64, to: f64, weight: f32| {
            LevelsRegion { of: Box::new(Selector::All), from, to, blur: 0 }.level(weight)
        };
        for (weight, expected) in [(0.0, 0.0), (0.25, 0.0), (0.5, 0.5), (0.75, 1.0), (1.0, 1.0)] {
            assert_eq!(level(0.25, 0.75, weight), expected, "{weight}");
        }
        assert_eq!((level(0.5, 0.5, 0.4), level(0.5, 0.5, 0.5), level(0.5, 0.5, 0.6)), (0.0, 1.0, 1.0));
        assert_eq!((level(0.0, 0.0, 0.0), level(0.0, 0.0, 0.1)), (0.0, 1.0), "nothing stays nothing");
    }
}
