//! Selectors of the shot file as weights of points.

use clip::Selector;
use shot::Target;

/// The weights that a selector gives to the points of the layer's mesh.
pub(crate) fn weights(selector: &Selector, input: &Target) -> Result<Vec<f32>, clip::Error> {
    selector.weights(&input.clip, input.mesh, &input.files)
}
