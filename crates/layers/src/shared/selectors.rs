//! Selectors of the shot file as weights of points.

use clip::Selector;
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
