//! The sheet itself: the same fabric at every resolution.

use dynamics::{Body, Effort, Elements, Settings, State, StaticGuide, Stepper, Substeps};
use geometry::Vec3;
use shell::{ClothBuilder, Material};

use super::stopwatch::Stopwatch;

/// Side length, in metres.
pub(crate) const SIZE: f64 = 2.0;

/// 0.25 kg/m², hard to stretch, easy to shear, as hard to bend as felt, with friction: stiff enough that the corner that carries
/// half of the swinging sheet stretches by less than a percent, and smooth enough that the flick of the free edge has one
/// answer. (A softer sheet crumples there, and where its corners go is chaos: 9 % of its size apart at D = 0.01 N·m.)
fn material(limits: bool) -> Material {
    let limit = limits.then_some(0.03);
    Material {
        area_density: 0.25,
        stretch_warp: 4e5,
        stretch_weft: 4e5,
        shear: 300.0,
        compression: 0.02,
        poisson: 0.0,
        bend_warp: 0.1,
        bend_weft: 0.1,
        damping: 1.0,
        air_drag: 0.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: limit,
        limit_weft: limit,
        limit_shear: limits.then_some(0.5),
    }
}

/// A sheet in motion.
pub(crate) struct Sheet {
    cells: usize,
    body: Body,
    stepper: Stepper,
    state: State,
    guide: StaticGuide,
    masses: Vec<f64>,
    assembly: Stopwatch,
}

impl Sheet {
    /// Horizontal and at rest, pinned at two corners. `None` substeps: as many as the error estimate asks for.
    pub(crate) fn new(cells: usize, substeps: Option<usize>) -> Self {
        Self::with_limits(cells, substeps, false)
    }

    /// With the limits of cotton, or without.
    pub(crate) fn with_limits(cells: usize, substeps: Option<usize>, limits: bool) -> Self {
        let side = cells + 1;
        let h = SIZE / cells as f64;
        let points: Vec<Vec3> =
            (0..side * side).map(|k| Vec3::new(h * (k % side) as f64, 0.0, h * (k / side) as f64)).collect();
        let mut triangles = Vec::new();
        for (i, j) in (0..cells).flat_map(|j| (0..cells).map(move |i| (i, j))) {
            let at = |i: usize, j: usize| (j * side + i) as u32;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            // diagonals alternate, so that no direction is favoured
            triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
        let material = material(limits);
        let cloth =
            ClothBuilder::new(&points, &triangles, &material).warp(Vec3::X).build().expect("a sound sheet");
        let mut known = vec![false; points.len()];
        (known[0], known[cells]) = (true, true);
        let (friction, limits) = (material.damping_time(), cloth.strain_limits());
        let assembly = Stopwatch::default();
        let body = Body::builder(cloth.masses.clone())
            .energy(assembly.timed(Elements::new(cloth.membranes).damped(friction)))
            .energy(assembly.timed(Elements::new(cloth.hinges).damped(friction)))
            .known(known)
            .limit(limits)
            .gravity(Vec3::new(0.0, -9.81, 0.0))
            .build()
            .expect("a sound body");
        let substeps = substeps.map_or(Substeps::Automatic, Substeps::Fixed);
        let settings = Settings { substeps, ..Settings::default() };
        let stepper = Stepper::new(&body, &points, settings).expect("a system that can be factorised");
        let guide = StaticGuide::new(points.clone());
        let (state, masses) = (State::at_rest(points), cloth.masses);
        Self { cells, body, stepper, state, guide, masses, assembly }
    }

    pub(crate) fn advance(&mut self, seconds: f64) -> Effort {
        let Self { body, stepper, state, guide, .. } = self;
        stepper.advance(body, state, guide, seconds, &mut []).expect("the sheet falls")
    }

    /// Seconds that energies, forces and matrices have taken so far.
    pub(crate) fn assembly(&self) -> f64 {
        self.assembly.seconds()
    }

    /// Centre of mass, and the two corners that are free.
    pub(crate) fn landmarks(&self) -> [Vec3; 3] {
        let x = &self.state.positions;
        let centre: Vec3 = self.masses.iter().zip(x).map(|(m, x)| *m * *x).sum();
        let last = x.len() - 1;
        [centre / self.masses.iter().sum::<f64>(), x[last - self.cells], x[last]]
    }

    /// Of the edges along warp and weft.
    pub(crate) fn max_stretch(&self) -> f64 {
        let side = self.cells + 1;
        let rest = SIZE / self.cells as f64;
        let x = &self.state.positions;
        let stretch = |a: usize, b: usize| x[a].distance(x[b]) / rest - 1.0;
        (0..x.len())
            .flat_map(|k| {
                let right = (k % side < self.cells).then(|| stretch(k, k + 1));
                let down = (k + side < x.len()).then(|| stretch(k, k + side));
                [right, down]
            })
            .flatten()
            .fold(0.0, f64::max)
    }
}
