//! Adaptation: finer functions come where flesh is deformed, and go where it is not (skeleton §4.7).
//!
//! Every cell of every level but the finest judges its own strain, ‖½(FᵀF − I)‖ with F fitted to its corners. Beyond the first
//! threshold of a level the functions of that level in the cell are switched on; they go when it has stayed below the second one for
//! a while. A function is active while any of its cells wants it. Functions that are switched off are known, and fade to zero.
//!
//! Strain at the corners of a cell does not see a fingertip between them: a cell that something touches, and those next to it, want their
//! functions, too, and go by the second threshold and the same while once they are left alone. Cells of joints, in which the weights of several bones blend, want
//! theirs always.
//!
//! Differs: the paper has no time to stay below the second threshold, lets coefficients of functions that go jump to zero, and knows
//! neither touch nor joints.

use geometry::{Hierarchy, Mat3, Prolongation, Vec3};

use crate::flesh::Flesh;
use crate::regions::shares_at;

/// When finer functions come and go: strains, the first for level 1. The last one of a list holds for all further levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// Functions of a level come where cells are strained more than this.
    pub refine: Vec<f64>,
    /// They go where cells are strained less than this.
    pub coarsen: Vec<f64>,
    /// Whether they come where the skin is touched: in contact, or pushed.
    pub contact: bool,
    /// Whether they are always there in joints, where the weights of several bones blend.
    pub joints: bool,
}

impl Default for Adaptation {
    fn default() -> Self {
        Self { refine: vec![0.06, 0.12, 0.2], coarsen: vec![0.03, 0.06, 0.1], contact: true, joints: true }
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
/// A cell is one of a joint where so much of it belongs to other bones than the one that most of it belongs to.
const BLENDED_PART: f64 = 0.15;
/// Functions below this at a point do not move it.
const LEAST_VALUE: f64 = 1e-6;

/// A cell that judges its strain: F = Σ c gᵀ over coefficients c.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sensor {
    pub(crate) level: u32,
    pub(crate) gradient: Vec<(u32, Vec3)>,
    /// The functions it switches.
    pub(crate) functions: Vec<u32>,
    /// Whether it wants them always.
    pub(crate) always: bool,
}

/// A sensor for every cell of this flesh; those of joints want their functions always, where adaptation says so.
pub(crate) fn sensors(flesh: &Flesh, adaptation: &Adaptation) -> Vec<Sensor> {
    let mut sensors = of_patches(&flesh.hierarchy);
    if adaptation.joints {
        let lattice_shares = flesh.region_weights();
        for (sensor, patch) in sensors.iter_mut().zip(flesh.hierarchy.patches()) {
            let mut parts: Vec<(u32, f64)> = Vec::new();
            let corners = patch.corners.iter().map(|&p| shares_at(&flesh.hierarchy, lattice_shares, p));
            for (joint, weight) in corners.flatten() {
                match parts.iter_mut().find(|part| part.0 == joint) {
                    Some(part) => part.1 += weight,
                    None => parts.push((joint, weight)),
                }
            }
            let most = parts.iter().map(|part| part.1).fold(0.0, f64::max);
            sensor.always = most < (1.0 - BLENDED_PART) * patch.corners.len() as f64;
        }
    }
    sensors
}

/// A sensor for every patch: F is the least-squares fit to the corners, exact for tets.
fn of_patches(hierarchy: &Hierarchy) -> Vec<Sensor> {
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
        Sensor { level: patch.level, gradient, functions: patch.functions.clone(), always: false }
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
    /// The sensors of every function.
    sensors_of: Vec<Vec<u32>>,
}

impl Activity {
    pub(crate) fn new(
        adaptation: Adaptation,
        sensors: &[Sensor],
        functions: usize,
        level_zero: usize,
    ) -> Self {
        let mut sensors_of = vec![Vec::new(); functions];
        for (number, sensor) in sensors.iter().enumerate() {
            sensor.functions.iter().for_each(|&f| sensors_of[f as usize].push(number as u32));
        }
        let wants = sensors.iter().map(|sensor| (sensor.always, 0.0)).collect();
        let mut activity = Self { adaptation, wants, active: vec![true; functions], level_zero, sensors_of };
        activity.spread(sensors);
        activity
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
            *wants = sensor.always || strain > refine || (*wants && *below < REST);
        }
        self.spread(sensors);
    }

    /// Something touches a point of the `surface`: the cells that hold it, and those around them, want their functions when they are judged
    /// next. A dent is wider than what makes it.
    pub(crate) fn touch(&mut self, sensors: &[Sensor], surface: &Prolongation, point: usize) {
        if !self.adaptation.contact {
            return;
        }
        let level_of = |f: u32| self.sensors_of[f as usize].first().map(|&s| sensors[s as usize].level);
        let there = || {
            let row = surface.row(point).filter(|(_, value)| value.abs() > LEAST_VALUE);
            row.filter_map(|(f, _)| Some((f, level_of(f)?)))
        };
        for (f, level) in there() {
            for &number in &self.sensors_of[f as usize] {
                // it has all of its level that are not zero there, or the point is in another cell
                let own = &sensors[number as usize].functions;
                if there().all(|(g, other)| other != level || own.binary_search(&g).is_ok()) {
                    let around = own.iter().flat_map(|&g| &self.sensors_of[g as usize]);
                    around.for_each(|&near| self.wants[near as usize] = (true, 0.0));
                }
            }
        }
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
    use glam::Vec3Swizzles;

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
            let all = of_patches(&hierarchy);
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
        let sensors = of_patches(&hierarchy);
        let adaptation = Adaptation { refine: vec![0.2], coarsen: vec![0.1], ..Adaptation::default() };
        let mut activity = Activity::new(adaptation, &sensors, hierarchy.functions().len(), 8);
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

    #[test]
    fn what_is_touched_has_the_functions_of_its_cell_until_a_while_after() {
        let lattice = Lattice::box_grid([4, 1, 1], Vec3::new(4.0, 1.0, 1.0)).unwrap();
        let hierarchy = Hierarchy::new(&lattice, 2, &[]).unwrap();
        let (sensors, first) = (of_patches(&hierarchy), lattice.points().len());
        let place = Vec3::new(0.3, 0.9, 0.6);
        let at = hierarchy.at(&[place]).unwrap();
        for contact in [true, false] {
            let adaptation = Adaptation { contact, ..Adaptation::default() };
            let mut activity = Activity::new(adaptation, &sensors, hierarchy.functions().len(), first);
            // touched and let go ten times a second: on all the while, and no others
            for k in 0..40 {
                if k % 2 == 0 {
                    activity.touch(&sensors, &at, 0);
                }
                activity.judge(&sensors, hierarchy.rest(), 0.05);
                for (f, active) in activity.active().iter().enumerate().skip(first) {
                    let function = hierarchy.functions()[f];
                    let p = hierarchy.mesh().points()[function.point as usize];
                    // of the cell that it is in and the one beside it; of the eighth that it is in and those that share an edge with it
                    let inside = match function.level {
                        1 => p.x < 2.0 + 1e-9,
                        _ => p.x < 1.0 + 1e-9 && (p.x < 0.5 + 1e-9 || p.yz().max_element() > 0.5 - 1e-9),
                    };
                    assert_eq!(*active, contact && inside, "{function:?} {p}");
                }
            }
            (0..4).for_each(|_| activity.judge(&sensors, hierarchy.rest(), 0.05));
            assert!(activity.active()[first..].iter().all(|active| !active));
        }
    }
}
