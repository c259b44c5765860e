//! Adaptation: finer functions come where flesh is deformed, and go where it is not (skeleton §4.7).
//!
//! Every cell of every level but the finest judges its own strain, ‖½(FᵀF − I)‖ with F fitted to its corners. Beyond the first
//! threshold of a level the functions of that level in the cell are switched on; they go when it has stayed below the second one for
//! a while. A function is active while any of its cells wants it. Functions that are switched off are known, and fade to zero.
//!
//! Differs: the paper has no time to stay below the second threshold, and lets coefficients of functions that go jump to zero.

use geometry::{Hierarchy, Mat3, Vec3};

/// When finer functions come and go: strains, the first for level 1. The last one of a list holds for all further levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// Functions of a level come where cells are strained more than this.
    pub refine: Vec<f64>,
    /// They go where cells are strained less than this.
    pub coarsen: Vec<f64>,
}

impl Default for Adaptation {
    fn default() -> Self {
        Self { refine: vec![0.06, 0.12, 0.2], coarsen: vec![0.03, 0.06, 0.1] }
    }
}

impl Adaptation {
    /// Both thresholds of a level, the second never above the first; none without any.
    fn of_level(&self, level: u32) -> Option<[f64; 2]> {
        let at = |list: &[f64]| list.get(level as usize - 1).or(list.last()).copied();
        let refine = at(&self.refine)?;
        Some([refine, at(&self.coarsen)?.min(refine)])
    }

    pub(crate) fn is_sound(&self) -> bool {
        let both = [&self.refine, &self.coarsen];
        both.iter().all(|list| !list.is_empty() && list.iter().all(|x| x.is_finite() && *x >= 0.0))
    }
}

/// Seconds that a cell stays below the second threshold before its functions go.
const REST: f64 = 0.2;
/// Seconds in which coefficients that go shrink to 37 %.
const FADE: f64 = 0.04;
/// Strain is judged in every so many-th step.
pub(crate) const JUDGED_EVERY: u64 = 4;

/// A cell that judges its strain: F = Σ c gᵀ over coefficients c.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sensor {
    pub(crate) level: u32,
    pub(crate) gradient: Vec<(u32, Vec3)>,
    /// The functions it switches.
    pub(crate) functions: Vec<u32>,
}

/// A sensor for every patch: F is the least-squares fit to the corners, exact for tets.
pub(crate) fn sensors(hierarchy: &Hierarchy) -> Vec<Sensor> {
    let places = hierarchy.mesh().points();
    let sensor = |patch: &geometry::Patch| {
        let count = patch.corners.len() as f64;
        let middle = patch.corners.iter().map(|&p| places[p as usize]).sum::<Vec3>() / count;
        let offset = |p: u32| places[p as usize] - middle;
        let outer = |a: Vec3| Mat3::from_cols(a * a.x, a * a.y, a * a.z);
        let spread: Mat3 = patch.corners.iter().map(|&p| outer(offset(p))).sum();
        let inverse = spread.inverse();
        let mut gradient: Vec<(u32, Vec3)> = Vec::new();
        for &p in &patch.corners {
            for (f, value) in hierarchy.values().row(p as usize) {
                let part = value * (inverse * offset(p));
                match gradient.iter_mut().find(|entry| entry.0 == f) {
                    Some(entry) => entry.1 += part,
                    None => gradient.push((f, part)),
                }
            }
        }
        gradient.sort_by_key(|entry| entry.0);
        Sensor { level: patch.level, gradient, functions: patch.functions.clone() }
    };
    hierarchy.patches().iter().map(sensor).collect()
}

impl Sensor {
    /// ‖½(FᵀF − I)‖.
    pub(crate) fn strain(&self, coefficients: &[Vec3]) -> f64 {
        let mut f = Mat3::ZERO;
        for &(function, g) in &self.gradient {
            let c = coefficients[function as usize];
            f += Mat3::from_cols(c * g.x, c * g.y, c * g.z);
        }
        let strain = (f.transpose() * f - Mat3::IDENTITY) * 0.5;
        strain.to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt()
    }
}

/// Which functions are active.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    adaptation: Adaptation,
    /// Whether each sensor wants its functions, and for how long it has been below its second threshold, in seconds.
    wants: Vec<(bool, f64)>,
    active: Vec<bool>,
    level_zero: usize,
}

impl Activity {
    pub(crate) fn new(adaptation: Adaptation, sensors: usize, functions: usize, level_zero: usize) -> Self {
        let mut active = vec![false; functions];
        active[..level_zero].fill(true);
        Self { adaptation, wants: vec![(false, 0.0); sensors], active, level_zero }
    }

    pub(crate) fn active(&self) -> &[bool] {
        &self.active
    }

    /// Looks at the strain everywhere, `seconds` after the last time.
    pub(crate) fn judge(&mut self, sensors: &[Sensor], coefficients: &[Vec3], seconds: f64) {
        for (sensor, (wants, below)) in sensors.iter().zip(&mut self.wants) {
            let Some([refine, coarsen]) = self.adaptation.of_level(sensor.level) else { continue };
            let strain = sensor.strain(coefficients);
            *below = if strain < coarsen { *below + seconds } else { 0.0 };
            *wants = strain > refine || (*wants && *below < REST);
        }
        self.spread(sensors);
    }

    /// A function is active while any of its sensors wants it.
    fn spread(&mut self, sensors: &[Sensor]) {
        self.active[self.level_zero..].fill(false);
        for (sensor, _) in sensors.iter().zip(&self.wants).filter(|(_, (wants, _))| *wants) {
            sensor.functions.iter().for_each(|&f| self.active[f as usize] = true);
        }
    }

    /// Where a coefficient that is switched off goes within a step: towards zero.
    pub(crate) fn faded(coefficient: Vec3, step: f64, size: f64) -> Vec3 {
        let faded = (-step / FADE).exp() * coefficient;
        if faded.length_squared() < (1e-7 * size).powi(2) { Vec3::ZERO } else { faded }
    }

    /// For a checkpoint.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        self.wants.iter().flat_map(|&(wants, below)| [f64::from(u8::from(wants)), below])
    }

    /// The reverse of [`Activity::numbers`].
    pub(crate) fn set_numbers(&mut self, sensors: &[Sensor], mut next: impl FnMut() -> f64) {
        self.wants.iter_mut().for_each(|wants| *wants = (next() != 0.0, next()));
        self.spread(sensors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{Lattice, TetMesh};

    #[test]
    fn a_sensor_reads_the_strain_of_linear_maps_exactly() {
        let boxes = Lattice::box_grid([2, 1, 1], Vec3::new(1.0, 0.6, 0.5)).unwrap();
        let tets = Lattice::from_tets(&TetMesh::box_grid([1, 1, 1], Vec3::ONE).unwrap());
        for lattice in [boxes, tets] {
            let hierarchy = Hierarchy::new(&lattice, 2, &[]).unwrap();
            let turn = Mat3::from_rotation_y(0.8);
            let stretch = Mat3::from_diagonal(Vec3::new(1.2, 1.0, 0.9));
            // ½(s² − 1) along both axes
            let exact = (0.22_f64.powi(2) + 0.095_f64.powi(2)).sqrt();
            let count = lattice.points().len();
            let map = |(k, p): (usize, &Vec3)| if k < count { turn * stretch * *p } else { *p };
            let coefficients: Vec<Vec3> = hierarchy.rest().iter().enumerate().map(map).collect();
            let all = sensors(&hierarchy);
            assert!(all.iter().any(|sensor| sensor.level == 2));
            for sensor in all {
                assert!((sensor.strain(&coefficients) - exact).abs() < 1e-12);
                assert!(sensor.strain(hierarchy.rest()) < 1e-12);
            }
        }
    }

    #[test]
    fn between_the_thresholds_nothing_changes() {
        let hierarchy = Hierarchy::new(&Lattice::box_grid([1; 3], Vec3::ONE).unwrap(), 1, &[]).unwrap();
        let sensors = sensors(&hierarchy);
        let adaptation = Adaptation { refine: vec![0.2], coarsen: vec![0.1] };
        let mut activity = Activity::new(adaptation, sensors.len(), hierarchy.functions().len(), 8);
        let mut at = |stretch: f64, seconds: f64| {
            let scale = Vec3::new(stretch, 1.0, 1.0);
            let c: Vec<Vec3> = hierarchy.rest().iter().map(|p| *p * scale).collect();
            activity.judge(&sensors, &c, seconds);
            activity.active()[8..].iter().all(|active| *active)
        };
        // strains 0.105, 0.27, 0.15, 0.05
        assert!(!at(1.1, 0.1));
        assert!(at(1.24, 0.1));
        assert!(at(1.14, 9.0));
        assert!(at(1.05, 0.1));
        assert!(at(1.14, 0.1));
        assert!(at(1.05, 0.1));
        assert!(!at(1.05, 0.15));
    }
}
