//! What a shot may say wrong about flesh.

use clip::Selector;
use geometry::SurfaceQuery;
use shot::{Diagnostic, Target};
use solid::Material;

use super::anatomy::Rig;
use super::dials::RAY;
use super::{Skeleton, Solution, anatomy};

/// Levels for which adaptation may have thresholds of their own.
const MOST_THRESHOLDS: usize = 3;

/// Materials, joints and selectors that are not there, and rays that miss.
pub(super) fn names(settings: &Skeleton, input: &Target) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let known = || Material::PRESETS.iter().map(|preset| preset.name);
    let named =
        settings.parts.iter().enumerate().map(|(k, part)| (format!("parts[{k}].material"), &part.material));
    for (path, name) in std::iter::once(("material".to_owned(), &settings.material)).chain(named) {
        if Material::preset(name).is_err() {
            found.push(Diagnostic::unknown(path, "material", name, known()));
        }
    }
    for (k, part) in settings.parts.iter().enumerate() {
        if part.joints.is_empty() == part.at.is_none() {
            let message = "a part is what `joints` move, or what is `at` a selector: one of the two";
            found.push(Diagnostic::new(format!("parts[{k}]"), message));
        }
        found.extend(patterns(&format!("parts[{k}].joints"), &part.joints, input));
        found.extend(part.at.as_ref().and_then(|at| selector(&format!("parts[{k}].at"), at, input)));
    }
    for (k, region) in settings.regions.iter().enumerate() {
        found.extend(joint(&format!("regions[{k}].joint"), &region.joint, input));
        found.extend(selector(&format!("regions[{k}].at"), &region.at, input));
    }
    found.extend(patterns("free", &settings.free, input));
    for (k, limit) in settings.limits.iter().enumerate() {
        let path = format!("limits[{k}].joints");
        found.extend(patterns(&path, &limit.joints, input));
        let is_free = |name: &str| settings.free.iter().any(|pattern| Selector::fits(pattern, name));
        let limited = |name: &&str| limit.joints.iter().any(|pattern| Selector::fits(pattern, name));
        if let Some(name) = joint_names(input).filter(limited).find(|name| !is_free(name)) {
            let message = format!("joint `{name}` does not swing: it goes where it is animated");
            found.push(Diagnostic::new(path, message).with_help("name it in `free`, too"));
        }
    }
    for (k, ray) in settings.rays.iter().enumerate() {
        found.extend(joint(&format!("rays[{k}].joint"), &ray.joint, input));
    }
    if !settings.rays.is_empty()
        && let Ok(Rig { skin, .. }) = Rig::new(input)
        && let Ok(surface) = SurfaceQuery::new(skin.points, skin.triangles)
    {
        for (k, ray) in settings.rays.iter().enumerate().filter(|(_, ray)| ray.midway(&surface).is_none()) {
            let message = format!("the ray of joint `{}` passes by the mesh", ray.joint);
            found.push(Diagnostic::new(format!("rays[{k}]"), message).with_help(RAY));
        }
    }
    if let Some(Err(error)) = settings.lattice.as_ref().map(|file| anatomy::open_lattice(file, input)) {
        found.push(Diagnostic::new("lattice", error.to_string()));
    }
    found
}

fn joint_names(input: &Target) -> impl Iterator<Item = &str> {
    let joints = input.clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
    joints.map(|joint| joint.name.as_str())
}

fn joint(path: &str, name: &str, input: &Target) -> Option<Diagnostic> {
    let missing = joint_names(input).all(|known| known != name);
    missing.then(|| Diagnostic::unknown(path, "joint", name, joint_names(input)))
}

fn patterns(path: &str, patterns: &[String], input: &Target) -> Vec<Diagnostic> {
    let is_missing =
        |(_, pattern): &(usize, &String)| !joint_names(input).any(|name| Selector::fits(pattern, name));
    let missing = patterns.iter().enumerate().filter(is_missing);
    missing
        .map(|(i, pattern)| Diagnostic::unknown(format!("{path}[{i}]"), "joint", pattern, joint_names(input)))
        .collect()
}

fn selector(path: &str, selector: &Selector, input: &Target) -> Option<Diagnostic> {
    let error = selector.weights(&input.clip, input.mesh, &input.files).err()?;
    Some(Diagnostic::new(path, error.to_string()))
}

/// Settings that do not go together.
pub(super) fn misfits(settings: &Skeleton) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut say = |path: &str, message: &str, help: &str| {
        found.push(Diagnostic::new(path, message).with_help(help));
    };
    if settings.method == Solution::Corotated && settings.levels > 0 {
        let message = "flesh in frames of every cell's own has no finer levels";
        say("levels", message, "raise `cells` instead, or take another `method`");
    }
    if settings.method == Solution::Nonlinear && !settings.pins.is_empty() {
        let message = "points of nonlinear flesh cannot be pinned";
        say("pins", message, "set `method` to `corotated`, which bends as far");
    }
    if settings.method != Solution::Nonlinear && settings.contact.is_some() {
        let message = "only nonlinear flesh keeps out of itself and of other things";
        say("contact", message, "set `method` to `nonlinear`");
    }
    for (name, list) in
        settings.adaptation.iter().flat_map(|a| [("refine", &a.refine), ("coarsen", &a.coarsen)])
    {
        if list.is_empty() || list.len() > MOST_THRESHOLDS {
            let message = format!("one strain for each level: 1 to {MOST_THRESHOLDS} numbers");
            say(&format!("adaptation.{name}"), &message, "for instance `[0.06, 0.12]`");
        }
    }
    found
}
