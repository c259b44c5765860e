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

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{TetMesh, Vec3};

    #[test]
    fn known_are_points_without_mass_surrounded_ones_and_those_of_what_always_follows() {
        let mesh = TetMesh::box_grid([3, 1, 1], Vec3::new(3.0, 1.0, 1.0)).unwrap();
        let embedding = Embedding::new(&mesh, &[Vec3::new(0.1, 0.1, 0.1), Vec3::new(2.9, 0.9, 0.9)]).unwrap();
        let count = mesh.points().len();
        let key = |weights: Vec<f64>| WeightKey { time: 0.0, weights };
        let mut masses = vec![1.0; count];
        masses[0] = 0.0;
        let mut inside = vec![0.5; count];
        inside[1] = 0.9995;
        // the second vertex follows at one key only
        let keys = [key(vec![1.0, 1.0]), key(vec![1.0, 0.9])];
        let known = known_points(&embedding, &keys, &[key(inside)], &masses);
        for (p, known) in known.into_iter().enumerate() {
            let expected = p < 2 || embedding.corners()[0].contains(&(p as u32));
            assert_eq!(known, expected, "{p}");
        }
        assert!(known_points(&embedding, &[], &[], &vec![1.0; count]).iter().all(|known| !known));
    }
}
