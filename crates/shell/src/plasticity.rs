//! Folds that stay: plastic bending, and rest shapes that change over time.

use dynamics::{Elements, InternalHandle, InternalVariables, Part, State};
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

/// The hinges of a body that keep creases. How they are creased is in the state: internal variables of [`Hinge`].
#[derive(Clone)]
pub struct Creases {
    plasticity: Option<Plasticity>,
    handle: InternalHandle<Elements<Hinge, 4>>,
    folds: Vec<Fold>,
}

/// One hinge.
#[derive(Clone, Copy, Debug)]
struct Fold {
    stencil: [u32; 4],
    made: Hinge,
    /// 3‖ē‖/(2Ā), in 1/m.
    curvature_per_angle: f64,
}

/// What a hinge remembers, as [`InternalVariables`](dynamics::InternalVariables) of [`Hinge`] says.
fn variables(internal: &mut [f64]) -> impl Iterator<Item = &mut [f64; 3]> {
    internal.as_chunks_mut::<3>().0.iter_mut()
}

impl Creases {
    /// For `hinges`, evolving, whose internal variables are at the handle; `rest` has the undeformed points.
    pub fn new(
        hinges: &Elements<Hinge, 4>,
        rest: &[Vec3],
        plasticity: Option<Plasticity>,
        handle: InternalHandle<Elements<Hinge, 4>>,
    ) -> Self {
        let fold = |(stencil, made): (&[u32; 4], &Hinge)| {
            let [e0, e1, a, b] = stencil.map(|v| rest[v as usize]);
            let area = triangle_area(e0, e1, a) + triangle_area(e0, e1, b);
            Fold { stencil: *stencil, made: *made, curvature_per_angle: 1.5 * e0.distance(e1) / area }
        };
        Self { plasticity, handle, folds: hinges.iter().map(fold).collect() }
    }

    /// Lets every fold of the state that is bent beyond its yield curvature stay so. True if any did.
    pub fn yield_to(&self, state: &mut State, part: &Part) -> bool {
        let Some(plasticity) = self.plasticity else { return false };
        let x = state.positions[part.points.clone()].to_vec();
        let mut any = false;
        for (fold, internal) in self.folds.iter().zip(variables(self.handle.of_mut(state, part))) {
            let hinge = fold.made.with_internal(internal);
            let angle = hinge.angle(&fold.stencil.map(|v| x[v as usize]));
            let curvature = fold.curvature_per_angle * hinge.away(angle);
            let excess = curvature.abs() - plasticity.yield_curvature;
            if excess > 0.0 {
                let [_, crease, hardness] = internal;
                *crease += curvature.signum() * excess / fold.curvature_per_angle;
                let harder = *hardness * (plasticity.hardening * excess).exp();
                *hardness = harder.clamp(1.0 / MOST_HARDENING, MOST_HARDENING);
                any = true;
            }
        }
        any
    }

    /// Takes another rest shape: the angles of `cloth`, made from the same triangles. Creases stay on top of it.
    pub fn reshape(&self, state: &mut State, part: &Part, cloth: &Cloth) {
        let hinges = Elements::new(cloth.hinges.iter().copied());
        for ([rest_angle, ..], (_, hinge)) in variables(self.handle.of_mut(state, part)).zip(hinges.iter()) {
            *rest_angle = hinge.rest_angle;
        }
    }

    /// How far folds have creased, the largest, in 1/m.
    pub fn deepest(&self, state: &State, part: &Part) -> f64 {
        let internal = self.handle.of(state, part).as_chunks::<3>().0;
        let depth = |(fold, [_, crease, _]): (&Fold, &[f64; 3])| (crease * fold.curvature_per_angle).abs();
        self.folds.iter().zip(internal).map(depth).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClothBuilder;
    use dynamics::{Body, check_derivatives};

    fn body(yield_curvature: f64, hardening: f64) -> (Body, Creases, State) {
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
        let hinges = Elements::new(cloth.hinges).evolving();
        let (body, handle) = Body::builder(cloth.masses.clone()).evolving_energy(hinges.clone());
        let creases = Creases::new(&hinges, &rest, plasticity, handle);
        let body = body.build().unwrap();
        let internal = body.initial_internal();
        (body, creases, State { internal, ..State::at_rest(rest.to_vec()) })
    }

    /// The equilateral hinge folded up by an angle.
    fn folded(rest: &State, angle: f64) -> State {
        let (s, c) = (0.5 * angle).sin_cos();
        let turn = |p: &Vec3| {
            let y = (p.y * p.y + p.z * p.z).sqrt().copysign(p.y);
            Vec3::new(p.x, y * c, y.abs() * s)
        };
        State { positions: rest.positions.iter().map(turn).collect(), ..rest.clone() }
    }

    fn energy(body: &Body, state: &State) -> f64 {
        body.energies(state, &state.positions)[1]
    }

    #[test]
    fn after_yielding_the_elastic_part_is_the_yield_curvature() {
        let (body, creases, rest) = body(2.0, 0.0);
        let part = body.whole();
        // edge 0.1 m: κ = √3 θ/0.1
        let per_angle = 3.0_f64.sqrt() / 0.1;
        let mut bent = folded(&rest, 1.9 / per_angle);
        assert!(!creases.yield_to(&mut bent, &part), "below yield nothing stays");
        let mut bent = folded(&rest, 0.2);
        let before = energy(&body, &bent);
        assert!(creases.yield_to(&mut bent, &part));
        assert!((creases.deepest(&bent, &part) - (0.2 * per_angle - 2.0)).abs() < 1e-9);
        // energy is quadratic in the elastic angle
        let expected = before * (2.0 / (0.2 * per_angle)).powi(2);
        assert!((energy(&body, &bent) - expected).abs() < 1e-9 * before);
        assert!(!creases.yield_to(&mut bent, &part), "once is enough");
        // and the fold now rests at its crease, in the other direction too
        let mut back = folded(&bent, -0.3);
        assert!(creases.yield_to(&mut back, &part));
        assert!((creases.deepest(&back, &part) - (0.3 * per_angle - 2.0)).abs() < 1e-9);
    }

    #[test]
    fn hardening_depends_on_the_sum_of_excess_not_on_the_number_of_steps() {
        let creased = |angles: &[f64]| {
            let (body, creases, mut state) = body(2.0, 0.1);
            for angle in angles {
                state = folded(&state, *angle);
                creases.yield_to(&mut state, &body.whole());
            }
            [state.internal[1], state.internal[2]]
        };
        let (once, twice) = (creased(&[0.3]), creased(&[0.2, 0.25, 0.3]));
        assert!((once[0] - twice[0]).abs() < 1e-12 && (once[1] - twice[1]).abs() < 1e-12);
        assert!(once[1] > 1.1);
    }

    #[test]
    fn creases_are_part_of_the_state_and_of_its_bytes() {
        let (body, creases, rest) = body(2.0, 0.1);
        let mut state = folded(&rest, 0.4);
        creases.yield_to(&mut state, &body.whole());
        let again = State::from_bytes(&state.to_bytes()).unwrap();
        assert_eq!(energy(&body, &again), energy(&body, &state));
        assert_ne!(energy(&body, &State { internal: rest.internal.clone(), ..again }), energy(&body, &state));
        // what creasing makes of a hinge is still an element
        let points: [Vec3; 4] = folded(&rest, 0.7).positions.try_into().unwrap();
        check_derivatives(&creases.folds[0].made.with_internal(&state.internal), &points);
    }
}
