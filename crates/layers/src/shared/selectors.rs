//! Selectors of the shot file as weights of points.

use std::path::PathBuf;

use clip::Selector;
use shot::Target;

/// The weights that a selector gives to the points of the layer's mesh.
pub(crate) fn weights(selector: &Selector, input: &Target) -> Result<Vec<f32>, clip::Error> {
    selector.weights(&input.clip, input.mesh, &input.folder)
}

/// The files that a selector reads its weights from.
pub(crate) fn add_files(selector: &Selector, files: &mut Vec<PathBuf>) {
    match selector {
        Selector::File(path) => files.push(path.clone()),
        Selector::Any(selectors) => selectors.iter().for_each(|selector| add_files(selector, files)),
        Selector::Not(selector) => add_files(selector, files),
        _ => {}
    }
}
