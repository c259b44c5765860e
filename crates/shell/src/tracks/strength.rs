//! How hard each average is held to the guide's, over time.

use linear::ConstraintRows;

/// Strength of every constraint over time: 1 is hard, 0 is free, in between it yields like a spring.
///
/// A constraint of strength s on a region of mass m has the compliance (1−s)/(s m ω²), ω = 2πf: at ½ the region swings about
/// the guide with frequency f. In terms of frequency the dial keeps its meaning when mesh or regions change.
#[derive(Clone, Debug, Default)]
pub struct ConstraintStrength {
    keys: Vec<Vec<[f64; 2]>>,
    /// m ω² of each row, in N/m.
    stiffness: Vec<f64>,
}

impl ConstraintStrength {
    /// Everything hard, always.
    pub fn hard() -> Self {
        Self::default()
    }

    /// Strengths as keys `[seconds, strength]`, ascending in time and linear between them, one list per row (an empty list
    /// is hard). `rows` and the points' `masses` tell what each row moves: at strength ½ it swings with `frequency_hz`.
    pub fn new(keys: Vec<Vec<[f64; 2]>>, rows: &ConstraintRows, masses: &[f64], frequency_hz: f64) -> Self {
        let omega = std::f64::consts::TAU * frequency_hz;
        // a force along the row's own direction w meets the mass 1/(wᵀM⁻¹w)
        let effective_mass =
            |r: usize| 1.0 / rows.row(r).map(|(p, w)| w * w / masses[p as usize]).sum::<f64>();
        Self { keys, stiffness: (0..rows.len()).map(|r| omega * omega * effective_mass(r)).collect() }
    }

    /// The strength of a row at a time.
    pub fn strength(&self, row: usize, time: f64) -> f64 {
        match self.keys.get(row) {
            Some(keys) if !keys.is_empty() => linear_between(keys, time).clamp(0.0, 1.0),
            _ => 1.0,
        }
    }

    /// Whether a row is hard at a time.
    pub fn is_hard(&self, row: usize, time: f64) -> bool {
        self.strength(row, time) >= 1.0
    }

    /// Sets the compliance of every row as it is at `time`.
    pub fn set(&self, time: f64, compliance: &mut [f64]) {
        if self.keys.is_empty() {
            return;
        }
        for (row, compliance) in compliance.iter_mut().enumerate() {
            // a strength of zero is a spring that no one feels
            let strength = self.strength(row, time).max(1e-9);
            *compliance =
                if strength >= 1.0 { 0.0 } else { (1.0 - strength) / (strength * self.stiffness[row]) };
        }
    }
}

/// The value of keys `[time, value]` at a time: linear between them, constant before and after; 0 without keys.
pub fn linear_between(keys: &[[f64; 2]], time: f64) -> f64 {
    let after = keys.partition_point(|key| key[0] <= time);
    if after == 0 || after == keys.len() {
        return keys.get(after.saturating_sub(1)).map_or(0.0, |key| key[1]);
    }
    let ([t0, v0], [t1, v1]) = (keys[after - 1], keys[after]);
    v0 + (v1 - v0) * (time - t0) / (t1 - t0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_are_linear_between_keys_and_hard_without() {
        let rows = ConstraintRows::new(2, [vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)]]);
        let strength =
            ConstraintStrength::new(vec![vec![[1.0, 1.0], [2.0, 0.5]], vec![]], &rows, &[2.0, 2.0], 1.0);
        let at = |time: f64| {
            let mut compliance = [0.0; 2];
            strength.set(time, &mut compliance);
            compliance
        };
        assert_eq!(at(0.0), [0.0, 0.0]);
        assert_eq!(strength.strength(0, 1.5), 0.75);
        // at ½ the compliance is that of a spring of m ω² on both points' 4 kg
        let omega = std::f64::consts::TAU;
        assert!((at(3.0)[0] - 1.0 / (4.0 * omega * omega)).abs() < 1e-12);
        assert!(strength.is_hard(1, 9.0) && !strength.is_hard(0, 1.5));
    }
}
