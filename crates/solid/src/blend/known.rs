//! Which points of the tets go with the fit and are never simulated.

use geometry::Embedding;

use crate::{Error, WeightKey};

/// A point inside whose weight is above this moves by less than anyone sees.
const SURROUNDED: f64 = 0.999;

/// Points of tets that carry a vertex of weight 1 at all times, points inside that are surrounded by such, and points that weigh
/// nothing.
pub(crate) fn known_points(
    embedding: &Embedding,
    keys: &[WeightKey],
    points: &[WeightKey],
    masses: &[f64],
) -> Vec<bool> {
    let mut known: Vec<bool> = masses.iter().map(|mass| *mass <= 0.0).collect();
    let always = |keys: &[WeightKey], index: usize, least: f64| {
        !keys.is_empty() && keys.iter().all(|key| key.weights[index] >= least)
    };
    for (p, known) in known.iter_mut().enumerate() {
        *known |= always(points, p, SURROUNDED);
    }
    for (v, corners) in embedding.corners().iter().enumerate() {
        if always(keys, v, 1.0) {
            corners.iter().for_each(|&p| known[p as usize] = true);
        }
    }
    known
}

/// Weights must be there for every point or vertex, and in [0, 1].
pub(crate) fn check_keys(keys: &[WeightKey], count: usize) -> Result<(), Error> {
    for key in keys {
        if key.weights.len() != count {
            return Err(Error::Sizes { what: "follow weights", expected: count, got: key.weights.len() });
        }
        if let Some(vertex) = key.weights.iter().position(|weight| !(0.0..=1.0).contains(weight)) {
            return Err(Error::Weight { what: "follow", vertex, weight: key.weights[vertex] });
        }
    }
    Ok(())
}
