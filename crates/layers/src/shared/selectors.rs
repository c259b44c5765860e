//! Selectors of the shot file as weights of points.

use clip::{JointRegion, Names, Selector};
use shot::Target;

/// The weights that a selector gives to the points of the layer's mesh.
pub(crate) fn weights(selector: &Selector, input: &Target) -> Result<Vec<f32>, clip::Error> {
    selector.weights(&input.clip, input.mesh, &input.files)
}

/// What weighs this and more follows exactly where somebody asks for it.
const LEVEL: f32 = 0.5;

/// Where points follow a joint as its skin says, and the skin moves them by less than the whole: how many are exact, and how all would be.
pub(crate) fn soft(follow: Option<&Selector>, input: &Target) -> Option<String> {
    let selector = follow.filter(|selector| selector.is_by_skin())?;
    let weights = weights(selector, input).ok()?;
    let count = |is: fn(f32) -> bool| weights.iter().filter(|weight| is(**weight)).count();
    let (exact, soft, most) = (count(|w| w >= 1.0), count(|w| w > 0.0 && w < 1.0), count(|w| w >= LEVEL));
    (soft > 0).then(|| {
        format!(
            "`follow` takes its joint's weights as the skin has them: {exact} points follow exactly, {soft} softly, with weights below 1; \
             `at_least = {LEVEL}` beside `joint` makes {most} exact"
        )
    })
}

/// Joints that are to hold a mesh by what is near to them, and have nothing of it within reach: how far away the nearest point of it is.
pub(crate) fn out_of_reach(follow: Option<&Selector>, input: &Target) -> Vec<String> {
    let Some(Selector::NearJoint(region)) = follow else { return Vec::new() };
    let holds = |name: &str, within: f64, falloff: f64| {
        let joint = Names::One(name.to_owned());
        let near = Selector::NearJoint(JointRegion { joint, within, falloff, ..region.clone() });
        weights(&near, input).map_or(true, |weights| weights.iter().any(|weight| *weight > 0.0))
    };
    let told = region.joint.iter().filter(|name| !holds(name, region.within, region.falloff)).map(|name| {
        let (mut less, mut more) = (region.within, 2.0 * region.within.max(1e-3));
        while !holds(name, more, 0.0) && more < 1e6 {
            (less, more) = (more, 2.0 * more);
        }
        for _ in 0..20 {
            let middle = 0.5 * (less + more);
            if holds(name, middle, 0.0) { more = middle } else { less = middle }
        }
        let mesh = &input.mesh().name;
        format!(
            "`{name}` holds nothing: no point of `{mesh}` is within {} m of it in the first frame, the nearest is {more:.2} m away; move the mesh, or \
             raise `within`",
            region.within
        )
    });
    told.collect()
}

/// Why points that were chosen by where joints are would not move with them: nothing carries the mesh.
pub(crate) fn hangs_on_nothing(follow: Option<&Selector>, input: &Target) -> Option<String> {
    let mesh = input.clip.meshes.get(input.mesh)?;
    let is_free =
        mesh.skin.is_none() && mesh.parent.is_none() && follow.is_some_and(Selector::is_near_joints);
    if !is_free || !input.clip.has_frame(1) {
        return None;
    }
    let moves = input.points(0).ok()? != input.points(1).ok()?;
    (!moves).then(|| {
        format!(
            "mesh `{}` hangs on no joint and stands still, so what follows its animation does not move with the skeleton",
            mesh.name
        )
    })
}
