//! Folds that stay: plastic bending, and rest shapes that change over time.

use dynamics::{Body, Elements};
use geometry::{Vec3, triangle_area};

use crate::{Cloth, Hinge, Material};

/// Yield and hardening of folds.
///
/// The curvature of a fold beyond its rest shape is Δκ = 3‖ē‖/(2Ā) (θ − θ̄), ē the edge and Ā both triangles at rest: on
/// equilateral triangles that of a cylinder along the edge. Where |Δκ| exceeds the yield curvature, the excess becomes
/// permanent, so that the elastic part is exactly the yield curvature, and the fold's stiffness changes by
/// exp(η · excess).
///
/// tracks §4.4. Differs: their Δκ is a third of ours, which would not be a curvature; their printed update of θ̄ leaves the
/// excess as the elastic part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plasticity {
    /// In 1/m.
    pub yield_curvature: f64,
    /// η, in m.
    pub hardening: f64,
}

impl Plasticity {
    /// The material's, if its folds stay at all.
    pub fn of(material: &Material) -> Option<Self> {
        let yield_curvature = material.yield_curvature?;
        Some(Self { yield_curvature, hardening: material.hardening })
    }
}

/// A fold's stiffness changes by this factor at most, either way.
const MOST_HARDENING: f64 = 20.0;

/// The hinges of a body that keep creases, and the rest shape they bend from.
#[derive(Clone, Debug)]
pub struct Creases {
    plasticity: Option<Plasticity>,
    /// Index of the hinges among the body's energies.
    energy: usize,
    folds: Vec<Fold>,
}

/// One hinge: what it was made as, and what became of it.
#[derive(Clone, Copy, Debug)]
struct Fold {
    made: Hinge,
    /// 3‖ē‖/(2Ā), in 1/m.
    curvature_per_angle: f64,
    /// The angle of the rest shape as it is now.
    rest_angle: f64,
    /// What creasing has added to it.
    crease: f64,
    /// What creasing has made of the stiffness.
    hardness: f64,
}

impl Creases {
    /// For the hinges of `cloth`, which are the body's energy number `energy` as [`Elements`] in their own order.
    pub fn new(cloth: &Cloth, rest: &[Vec3], plasticity: Option<Plasticity>, energy: usize) -> Self {
        // the same order in which the body keeps them
        let hinges = Elements::new(cloth.hinges.iter().copied());
        let fold = |(stencil, made): (&[u32; 4], &Hinge)| {
            let [e0, e1, a, b] = stencil.map(|v| rest[v as usize]);
            let area = triangle_area(e0, e1, a) + triangle_area(e0, e1, b);
            Fold {
                made: *made,
                curvature_per_angle: 1.5 * e0.distance(e1) / area,
                rest_angle: made.rest_angle,
                crease: 0.0,
                hardness: 1.0,
            }
        };
        let folds = hinges.iter().map(fold).collect();
        Self { plasticity, energy, folds }
    }

    /// Lets every fold of `x` that is bent beyond its yield curvature stay so. True if any did.
    pub fn yield_to(&mut self, body: &mut Body, x: &[Vec3]) -> bool {
        let (Some(plasticity), Some(hinges)) =
            (self.plasticity, body.energy_mut::<Elements<Hinge, 4>>(self.energy))
        else {
            return false;
        };
        let mut any = false;
        let mut folds = self.folds.iter_mut();
        hinges.for_each_mut(|stencil, hinge| {
            let Some(fold) = folds.next() else { return };
            let points = stencil.map(|v| x[v as usize]);
            let angle = hinge.angle(&points);
            // of two angles a turn apart the nearer one is meant
            let away = angle - hinge.rest_angle;
            let away = away - std::f64::consts::TAU * (away / std::f64::consts::TAU).round();
            let curvature = fold.curvature_per_angle * away;
            let excess = curvature.abs() - plasticity.yield_curvature;
            if excess > 0.0 {
                fold.crease += curvature.signum() * excess / fold.curvature_per_angle;
                let harder = fold.hardness * (plasticity.hardening * excess).exp();
                fold.hardness = harder.clamp(1.0 / MOST_HARDENING, MOST_HARDENING);
                *hinge = fold.now();
                any = true;
            }
        });
        any
    }

    /// Takes another rest shape: the angles of `cloth`, made from the same triangles. Creases stay on top of it.
    pub fn reshape(&mut self, body: &mut Body, cloth: &Cloth) {
        let angles = Elements::new(cloth.hinges.iter().copied());
        for (fold, (_, hinge)) in self.folds.iter_mut().zip(angles.iter()) {
            fold.rest_angle = hinge.rest_angle;
        }
        self.impose(body);
    }

    /// How far folds have creased, the largest, in 1/m.
    pub fn deepest(&self) -> f64 {
        self.folds.iter().map(|fold| (fold.crease * fold.curvature_per_angle).abs()).fold(0.0, f64::max)
    }

    /// The state, for a checkpoint: crease and hardness of every fold.
    pub fn state(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.folds.iter().map(|fold| [fold.crease, fold.hardness])
    }

    /// Takes up a state. False, and nothing changed, when it is not one of these hinges.
    pub fn restore(&mut self, body: &mut Body, state: &[[f64; 2]]) -> bool {
        if state.len() != self.folds.len() {
            return false;
        }
        for (fold, [crease, hardness]) in self.folds.iter_mut().zip(state) {
            (fold.crease, fold.hardness) = (*crease, *hardness);
        }
        self.impose(body);
        true
    }

    fn impose(&self, body: &mut Body) {
        let Some(hinges) = body.energy_mut::<Elements<Hinge, 4>>(self.energy) else { return };
        let mut folds = self.folds.iter();
        hinges.for_each_mut(|_, hinge| {
            if let Some(fold) = folds.next() {
                *hinge = fold.now();
            }
        });
    }
}

impl Fold {
    fn now(&self) -> Hinge {
        self.made.reset(self.rest_angle + self.crease, self.hardness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClothBuilder;
    use dynamics::{GuideSample, check_derivatives};

    fn body(yield_curvature: f64, hardening: f64) -> (Body, Creases, [Vec3; 4]) {
        let rest = [
            Vec3::ZERO,
            Vec3::X,
            Vec3::new(0.5, 0.75_f64.sqrt(), 0.0),
            Vec3::new(0.5, -0.75_f64.sqrt(), 0.0),
        ]
        .map(|p| 0.1 * p);
        let triangles = [[0, 1, 2], [1, 0, 3]];
        let cloth = ClothBuilder::new(&rest, &triangles, &Material::default()).build().unwrap();
        let plasticity = Some(Plasticity { yield_curvature, hardening });
        let creases = Creases::new(&cloth, &rest, plasticity, 0);
        let body = Body::builder(cloth.masses.clone()).energy(Elements::new(cloth.hinges)).build().unwrap();
        (body, creases, rest)
    }

    /// The equilateral hinge folded up by an angle.
    fn folded(rest: &[Vec3; 4], angle: f64) -> [Vec3; 4] {
        let (s, c) = (0.5 * angle).sin_cos();
        rest.map(|p| Vec3::new(p.x, p.y * c, p.y.abs() * s))
    }

    fn energy(body: &Body, x: &[Vec3]) -> f64 {
        body.elastic_energy(&GuideSample { time: 0.0, guide_positions: x, guide_velocities: x }, x)
    }

    #[test]
    fn after_yielding_the_elastic_part_is_the_yield_curvature() {
        let (mut body, mut creases, rest) = body(2.0, 0.0);
        // edge 0.1 m: κ = √3 θ/0.1
        let per_angle = 3.0_f64.sqrt() / 0.1;
        let x = folded(&rest, 0.2);
        assert!(
            !creases.clone().yield_to(&mut body, &folded(&rest, 1.9 / per_angle)),
            "below yield nothing stays"
        );
        let before = energy(&body, &x);
        assert!(creases.yield_to(&mut body, &x));
        assert!((creases.deepest() - (0.2 * per_angle - 2.0)).abs() < 1e-9);
        // energy is quadratic in the elastic angle
        let expected = before * (2.0 / (0.2 * per_angle)).powi(2);
        assert!((energy(&body, &x) - expected).abs() < 1e-9 * before);
        assert!(!creases.yield_to(&mut body, &x), "once is enough");
        // and the fold now rests at its crease, in the other direction too
        let back = folded(&rest, -0.3);
        assert!(creases.yield_to(&mut body, &back));
        assert!((creases.deepest() - (0.3 * per_angle - 2.0)).abs() < 1e-9);
    }

    #[test]
    fn hardening_depends_on_the_sum_of_excess_not_on_the_number_of_steps() {
        let stiffness = |angles: &[f64]| {
            let (mut body, mut creases, rest) = body(2.0, 0.1);
            angles.iter().for_each(|angle| {
                creases.yield_to(&mut body, &folded(&rest, *angle));
            });
            creases.state().next().unwrap()
        };
        let (once, twice) = (stiffness(&[0.3]), stiffness(&[0.2, 0.25, 0.3]));
        assert!((once[0] - twice[0]).abs() < 1e-12 && (once[1] - twice[1]).abs() < 1e-12);
        assert!(once[1] > 1.1);
    }

    #[test]
    fn a_checkpoint_brings_creases_back() {
        let (mut body_a, mut creases, rest) = body(2.0, 0.1);
        creases.yield_to(&mut body_a, &folded(&rest, 0.4));
        let (mut body_b, mut other, _) = body(2.0, 0.1);
        let state: Vec<[f64; 2]> = creases.state().collect();
        assert!(other.restore(&mut body_b, &state));
        let x = folded(&rest, 0.1);
        assert_eq!(energy(&body_a, &x), energy(&body_b, &x));
        assert!(!other.restore(&mut body_b, &[]));
        // what creasing makes of a hinge is still an element
        check_derivatives(&creases.folds[0].now(), &folded(&rest, 0.7));
    }
}
