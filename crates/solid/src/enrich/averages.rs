//! Averages that tie a solid to an animation without nailing it: tracking, and the motions of a rig forbidden to physics.

use geometry::{Embedding, Vec3};
use linear::ConstraintRows;

use crate::enrich::AverageRows;

/// *tracks* on a solid: averages of the embedded surface equal those of the animation. Each row holds a test function's weight at every
/// vertex, areas included.
///
/// C_tets = C_surface · C: what the paper's figure 15 compares with.
pub fn surface_rows(embedding: &Embedding, test_functions: &[Vec<f64>]) -> AverageRows {
    let row = |weights: &Vec<f64>| -> Vec<(u32, f64)> {
        (0..embedding.len()).filter(|&v| weights[v] != 0.0).map(|v| (v as u32, weights[v])).collect()
    };
    let onto_tets = |weights: &Vec<f64>| -> Vec<(u32, f64)> {
        let mut row = Vec::new();
        for (v, (corners, shares)) in embedding.corners().iter().zip(embedding.weights()).enumerate() {
            if weights[v] != 0.0 {
                row.extend(corners.iter().zip(shares).map(|(&p, &share)| (p, weights[v] * share)));
            }
        }
        row
    };
    AverageRows {
        rows: ConstraintRows::new(embedding.point_count(), test_functions.iter().map(onto_tets)),
        surface_rows: Some(ConstraintRows::new(embedding.len(), test_functions.iter().map(row))),
        names: (0..test_functions.len()).map(|k| format!("patch {k}")).collect(),
    }
}

/// Complementary dynamics: physics may do what the rig cannot, and nothing else. Zhang et al. 2020.
///
/// The displacement u from the animation obeys Jᵀ D M u = 0, with J the rig's Jacobian: for skinning, per bone b, the functions
/// w_b, w_b x, w_b y, w_b z, alike on all axes. D in [0, 1] lets momentum leak where it is small. Rows are called after the bones'
/// `names`, where there are any.
pub fn complementary_rows(
    rest: &[Vec3],
    masses: &[f64],
    bones: &[Vec<f64>],
    names: &[String],
    leak: &[f64],
) -> AverageRows {
    let mut rows: Vec<Vec<(u32, f64)>> = Vec::new();
    let mut row_names = Vec::new();
    for (k, weights) in bones.iter().enumerate() {
        let total: f64 = weights.iter().zip(masses).map(|(w, m)| w * m).sum();
        if total <= 0.0 {
            continue;
        }
        // about the bone's own middle, and of unit size: rows of one scale keep the saddle-point matrix sound
        let middle: Vec3 = (0..rest.len()).map(|p| weights[p] * masses[p] * rest[p]).sum::<Vec3>() / total;
        let spread = (0..rest.len())
            .map(|p| weights[p] * masses[p] * (rest[p] - middle).length_squared())
            .sum::<f64>();
        let radius = (spread / total).sqrt().max(f64::MIN_POSITIVE);
        for axis in 0..4 {
            let value = |p: usize| if axis == 0 { 1.0 } else { (rest[p] - middle)[axis - 1] / radius };
            let entries = (0..rest.len()).filter(|&p| weights[p] > 1e-6);
            let bone = names.get(k).cloned().unwrap_or_else(|| format!("bone {k}"));
            row_names.push(format!("{bone} {}", ["as a whole", "along x", "along y", "along z"][axis]));
            rows.push(
                entries.map(|p| (p as u32, leak[p] * masses[p] * weights[p] * value(p) / total)).collect(),
            );
        }
    }
    AverageRows { rows: ConstraintRows::new(rest.len(), rows), surface_rows: None, names: row_names }
}

/// A row of which the others leave less than this, as a fraction of its length, says nothing of its own: factors in single precision
/// cannot tell it from none.
const INDEPENDENT: f64 = 1e-3;

impl AverageRows {
    /// Lets the rows give way: 0 is hard, and the displacement of an average under a force grows with `compliance`, in m/N.
    #[must_use]
    pub fn compliant(mut self, compliance: f64) -> Self {
        self.rows.compliance_mut().fill(compliance);
        self
    }

    /// Lets the rows give way as a dial says: at strength 1 they are hard, at 0 nobody feels them, and at ½ what a row holds swings about
    /// the animation with a frequency in Hz. The compliance is (1 − s)/(s m ω²), with m the mass that a force along the row meets.
    #[must_use]
    pub fn with_strength(mut self, strength: f64, masses: &[f64], frequency_hz: f64) -> Self {
        if strength >= 1.0 {
            return self.compliant(0.0);
        }
        let omega = std::f64::consts::TAU * frequency_hz;
        let strength = strength.max(1e-9);
        for r in 0..self.rows.len() {
            let inverse_mass: f64 = self.rows.row(r).map(|(p, w)| w * w / masses[p as usize]).sum();
            self.rows.compliance_mut()[r] = (1.0 - strength) / strength * inverse_mass / (omega * omega);
        }
        self
    }

    /// These, and then those of another set: all of them followed as the fit goes.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (a, b) = (&self.rows, &other.rows);
        let all =
            [a, b].into_iter().flat_map(|rows| (0..rows.len()).map(|r| rows.row(r).collect::<Vec<_>>()));
        let mut rows = ConstraintRows::new(a.count(), all.collect::<Vec<_>>());
        let compliance = a.compliance().iter().chain(b.compliance());
        rows.compliance_mut().iter_mut().zip(compliance).for_each(|(to, from)| *to = *from);
        let names = self.names.iter().chain(&other.names).cloned().collect();
        Self { rows, surface_rows: None, names }
    }

    /// Without rows that mostly say something about points whose place is given: those cannot hold, and need not. Nor with rows that
    /// others imply: four rows a bone are more than a few tets can tell apart, and make the system singular. What was left out is
    /// named.
    pub(crate) fn without_held(self, known: &[bool]) -> (Self, Vec<String>) {
        let mut keep: Vec<bool> = (0..self.rows.len())
            .map(|r| {
                let (mut free, mut all) = (0.0, 0.0);
                for (p, w) in self.rows.row(r) {
                    all += w * w;
                    free += if known[p as usize] { 0.0 } else { w * w };
                }
                free > 0.05 * all && all > 0.0
            })
            .collect();
        let kept: Vec<usize> = (0..keep.len()).filter(|&r| keep[r]).collect();
        let rows = kept.iter().map(|&r| self.rows.row(r).collect::<Vec<_>>());
        let independent = ConstraintRows::new(self.rows.count(), rows).independent(known, INDEPENDENT);
        kept.iter().zip(independent).for_each(|(&r, independent)| keep[r] = independent);
        let kept = |rows: &ConstraintRows| {
            let chosen = (0..rows.len()).filter(|&r| keep[r]);
            let mut left =
                ConstraintRows::new(rows.count(), chosen.clone().map(|r| rows.row(r).collect::<Vec<_>>()));
            for (to, from) in left.compliance_mut().iter_mut().zip(chosen) {
                *to = rows.compliance()[from];
            }
            left
        };
        let name = |r: usize| self.names.get(r).cloned().unwrap_or_else(|| format!("row {r}"));
        let chosen = |keep_them: bool| -> Vec<String> {
            (0..keep.len()).filter(|&r| keep[r] == keep_them).map(name).collect()
        };
        let (names, dropped) = (chosen(true), chosen(false));
        let surface_rows = self.surface_rows.as_ref().map(kept);
        (Self { rows: kept(&self.rows), surface_rows, names }, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Per bone w m/Σwm, and that times the place about the bone's middle over its radius of inertia.
    #[test]
    fn rows_of_a_bone_are_its_mean_and_its_moments() {
        let rest = [Vec3::ZERO, 2.0 * Vec3::X, 4.0 * Vec3::X, 9.0 * Vec3::Y];
        let (masses, leak) = ([2.0, 2.0, 2.0, 5.0], [1.0, 0.5, 1.0, 1.0]);
        let bones = [vec![0.0; 4], vec![0.5, 1.0, 0.5, 0.0]];
        let AverageRows { rows, names, .. } = complementary_rows(&rest, &masses, &bones, &[], &leak);
        assert_eq!(rows.len(), 4, "the first bone moves nothing");
        assert_eq!(names[0], "bone 1 as a whole");
        assert_eq!(rows.row(0).collect::<Vec<_>>(), [(0, 0.25), (1, 0.25), (2, 0.25)]);
        // the middle is at x = 2, the radius √((4 + 4)/4)
        let radius = 2.0_f64.sqrt();
        let along_x: Vec<(u32, f64)> = rows.row(1).collect();
        for ((p, weight), expected) in along_x.into_iter().zip([-0.5 / radius, 0.0, 0.5 / radius]) {
            assert!((weight - expected).abs() < 1e-15, "{p}: {weight}");
        }
        assert!((2..4).all(|r| rows.row(r).all(|(_, weight)| weight == 0.0)));
    }
}
