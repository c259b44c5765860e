//! The chain and the drape.

use dynamics::{Body, BodyBuilder, Elements, Filter, GuideSample, State};
use geometry::{Vec2, Vec3};
use shell::{ClothBuilder, Face, Material, ThreadDirections, Threads, Weave};

use crate::inextensible::methods::{WITNESSED, path};

/// Steps a frame of what a witness is compared with.
pub(crate) const REFERENCE_STEPS: usize = 100;
/// How well its way must be known, in metres.
const KNOWN_TO: f64 = 5e-4;

/// What moves, without what keeps its threads at their lengths.
pub(crate) struct Scene {
    pub(crate) rest: Vec<Vec3>,
    pub(crate) threads: Threads,
    pub(crate) ball: Option<Ball>,
    /// A method that takes this many times as long as fast projection is not waited for.
    pub(crate) patience: f64,
    /// The weight of everything, in newtons, for a first guess at stiffness.
    pub(crate) weight: f64,
    /// A point whose way is known.
    pub(crate) witness: Option<Witness>,
    make: Box<dyn Fn() -> BodyBuilder>,
}

/// A point and where it is at the end of every frame.
pub(crate) struct Witness {
    pub(crate) point: usize,
    pub(crate) path: Vec<Vec3>,
}

impl Scene {
    /// A metre of chain of 100 g, horizontal, held at one end, let go. It resists stretching and nothing else. The
    /// other end is the witness.
    pub(crate) fn chain(points: u32) -> Self {
        let pieces = points - 1;
        let rest: Vec<Vec3> = (0..points).map(|i| f64::from(i) / f64::from(pieces) * Vec3::X).collect();
        let threads = Threads::new(&rest, (0..pieces).map(|i| [i, i + 1]).collect()).expect("a proper chain");
        let mass = 0.1;
        let make = move || {
            let known = (0..points).map(|i| i == 0).collect();
            Body::builder(vec![mass / f64::from(points); points as usize])
                .known(known)
                .gravity(-9.81 * Vec3::Y)
        };
        let (weight, make) = (9.81 * mass, Box::new(make));
        let mut chain = Self { rest, threads, ball: None, patience: 200.0, weight, witness: None, make };
        let point = pieces as usize;
        chain.witness = Some(Witness { point, path: path(&chain, point, REFERENCE_STEPS) });
        chain
    }

    /// A square of cotton, 80 cm wide, falls on a ball of 25 cm. Shear springs, hinges, no air.
    pub(crate) fn drape(cells: u32) -> Self {
        let n = cells;
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let place = |i: u32, j: u32| 0.8 * Vec2::new(f64::from(i), f64::from(j)) / f64::from(n);
        let flat = (0..=n).flat_map(|j| (0..=n).map(move |i| (i, j)));
        let rest: Vec<Vec3> =
            flat.map(|(i, j)| place(i, j)).map(|p| Vec3::new(p.x - 0.4, 0.26, p.y - 0.4)).collect();
        let mut faces = Vec::new();
        let mut triangles = Vec::new();
        for j in 0..n {
            for i in 0..n {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let [a, b, c, d] = corners.map(|(i, j)| at(i, j));
                let uvs = corners.map(|(i, j)| place(i, j)).to_vec();
                faces.push(Face { points: vec![a, b, c, d], uvs });
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).expect("a grid has threads");
        let threads = Threads::new(&rest, weave.edges().collect()).expect("a proper grid");
        let material = Material { air_drag: 0.0, shear: 2.0, ..Material::default() };
        let cloth = ClothBuilder::new(&rest, &triangles, &material).build().expect("a proper cloth");
        let springs = weave.shear_springs(&rest, material.shear);
        let weight = 9.81 * cloth.report.mass;
        let make = move || {
            let friction = material.damping_time();
            Body::builder(cloth.masses.clone())
                .energy(Elements::new(springs.iter().copied()).damped(friction))
                .energy(Elements::new(cloth.hinges.iter().copied()).damped(friction))
                .gravity(-9.81 * Vec3::Y)
        };
        Self {
            rest,
            threads,
            ball: Some(Ball { radius: 0.25 }),
            // large ones are not waited for as long
            patience: if cells > 20 { 4.0 } else { 20.0 },
            weight,
            witness: None,
            make: Box::new(make),
        }
    }

    /// Frames for which the witness's way is known to half a millimetre: with half as many steps it is the same.
    pub(crate) fn witnessed_frames(&self) -> usize {
        let Some(witness) = &self.witness else { return WITNESSED };
        let coarser = path(self, witness.point, REFERENCE_STEPS / 2);
        // errors of second order shrink to a quarter: what differs is three times what is missing
        let is_known = |(a, b): &(&Vec3, &Vec3)| a.distance(**b) < 3.0 * KNOWN_TO;
        witness.path.iter().zip(&coarser).take_while(is_known).count()
    }

    pub(crate) fn body(&self) -> BodyBuilder {
        (self.make)()
    }
}

/// A ball about the origin, as the paper's collision pass: after everything else, points inside go to its surface and
/// stop there.
#[derive(Clone, Copy)]
pub(crate) struct Ball {
    radius: f64,
}

impl Filter for Ball {
    fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, after: &mut State, _: f64) -> bool {
        for (x, v) in after.positions.iter_mut().zip(&mut after.velocities) {
            let distance = x.length();
            if distance < self.radius && distance > 0.0 {
                let out = *x / distance;
                *x = self.radius * out;
                // it may leave, and slides with friction
                let inward = v.dot(out).min(0.0);
                *v = (*v - inward * out) * 0.8;
            }
        }
        true
    }
}
