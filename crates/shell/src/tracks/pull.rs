//! How hard averages may pull: beyond that the material wins, and the guide is not reached.

use linear::ConstraintRows;

use crate::Material;

/// Gravity on Earth, in m/s²: pulls are told in terms of weight.
const EARTH: f64 = 9.81;

/// The greatest pull of every row, in newtons, for [`BodyBuilder::greatest_pulls`](dynamics::BodyBuilder::greatest_pulls); empty where
/// nothing limits it.
///
/// Two things do: `weights`, a multiple of the weight of the row's own region; and the limits of the `material`, by which no row pulls harder
/// than what takes a piece of fabric as large as its region to its limit, T √A with T = k ε the tension at the limit and A = m/ρ. So
/// a guide that is longer than the cloth is not reached, and the cloth is not stretched to reach it.
pub fn greatest_pulls(
    rows: &ConstraintRows,
    masses: &[f64],
    weights: Option<f64>,
    material: &Material,
) -> Vec<f64> {
    let stretch = [
        material.limit_warp.map(|limit| limit * material.stretch_warp),
        material.limit_weft.map(|limit| limit * material.stretch_weft),
    ];
    let tension = stretch.into_iter().flatten().reduce(f64::min);
    if weights.is_none() && tension.is_none() {
        return Vec::new();
    }
    let pull = |r: usize| {
        let mass = moved_mass(rows, r, masses);
        let by_weight = weights.map_or(f64::INFINITY, |weights| weights * EARTH * mass);
        let by_limit = tension.map_or(f64::INFINITY, |t| t * (mass / material.area_density).sqrt());
        by_weight.min(by_limit)
    };
    (0..rows.len()).map(pull).collect()
}

/// What a row pulls with at most while contact keeps it from its place, as a multiple of the weight of its region: far more than what follows an
/// animation needs, and little against what a fabric bears.
const IN_CONFLICT: f64 = 50.0;

/// The pull of every row that contact keeps from its place, in newtons, for [`BodyBuilder::conflict_pulls`](dynamics::BodyBuilder::conflict_pulls).
///
/// A guide that passes through itself, or through what is in the way, cannot be followed there; without a bound its rows would tear what is between them.
pub fn conflict_pulls(rows: &ConstraintRows, masses: &[f64]) -> Vec<f64> {
    (0..rows.len()).map(|r| IN_CONFLICT * EARTH * moved_mass(rows, r, masses)).collect()
}

/// The mass that a force along a row meets, in kg.
fn moved_mass(rows: &ConstraintRows, r: usize, masses: &[f64]) -> f64 {
    rows.row(r).map(|(p, w)| w * w / masses[p as usize]).sum::<f64>().recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_is_the_lesser_of_so_many_weights_and_of_what_takes_the_fabric_to_its_limit() {
        let rows = ConstraintRows::new(2, [vec![(0, 0.5), (1, 0.5)]]);
        let fabric =
            Material { area_density: 0.2, stretch_warp: 1000.0, stretch_weft: 500.0, ..Material::default() };
        let none = Material { limit_warp: None, limit_weft: None, limit_shear: None, ..fabric.clone() };
        let limited = Material { limit_warp: Some(0.02), limit_weft: Some(0.02), ..none.clone() };
        let of = |weights, material: &Material| greatest_pulls(&rows, &[0.004, 0.004], weights, material);
        assert!(of(None, &none).is_empty());
        // both points together: 8 g on 0.04 m²
        assert!((of(Some(3.0), &none)[0] - 3.0 * 9.81 * 0.008).abs() < 1e-12);
        assert!((of(None, &limited)[0] - 10.0 * 0.2).abs() < 1e-12);
        assert!((of(Some(3.0), &limited)[0] - 3.0 * 9.81 * 0.008).abs() < 1e-12);
        assert!((of(Some(1e3), &limited)[0] - 2.0).abs() < 1e-12);
    }
}
