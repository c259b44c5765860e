//! Whole bars against what is known in closed form: sag, frequency, angular momentum.

use dynamics::{Body, Settings, State, StaticGuide, Stepper, Substeps};
use geometry::{TetMesh, Vec3};
use solid::{Law, Material, Solid};

const LENGTH: f64 = 1.0;
const HEIGHT: f64 = 0.2;
/// Without Poisson's ratio the ends need not bulge, and beam theory holds to the ends.
const STUFF: Material = Material { young: 1e7, poisson: 0.0, density: 1000.0, damping: 0.0 };
const GRAVITY: f64 = 9.81;

struct Bar {
    mesh: TetMesh,
    body: Body,
}

fn bar(cells: usize, law: Law, gravity: f64) -> Bar {
    let mesh = TetMesh::box_grid([5 * cells, cells, cells], Vec3::new(LENGTH, HEIGHT, HEIGHT)).unwrap();
    let solid = Solid::new(&mesh, law, &STUFF).unwrap();
    let known: Vec<bool> = mesh.points().iter().map(|p| p.x == 0.0).collect();
    let elements = solid.elements(&known);
    let body = Body::builder(solid.masses).energy(elements).known(known);
    Bar { body: body.gravity(Vec3::new(0.0, -gravity, 0.0)).build().unwrap(), mesh }
}

impl Bar {
    /// Mean height of the free end against rest.
    fn tip(&self, x: &[Vec3]) -> f64 {
        let ends = (0..x.len()).filter(|&p| (self.mesh.points()[p].x - LENGTH).abs() < 1e-9);
        let sags: Vec<f64> = ends.map(|p| x[p].y - self.mesh.points()[p].y).collect();
        sags.iter().sum::<f64>() / sags.len() as f64
    }

    fn sagged(&self) -> State {
        let rest = self.mesh.points();
        let mut state = State::at_rest(rest.to_vec());
        let mut stepper = Stepper::new(&self.body, rest, Settings::default()).unwrap();
        stepper.settle(&self.body, &mut state, &StaticGuide::new(rest.to_vec())).unwrap();
        state
    }
}

/// δ = qL⁴/(8EI) + qL²/(2κGA) with κ = 5/6, G = E/2 at ν = 0. Tets of constant strain are too stiff by a part that falls with
/// the square of their size.
#[test]
fn sag_converges_to_the_beam() {
    let area = HEIGHT * HEIGHT;
    let inertia = area * area / 12.0;
    let load = STUFF.density * GRAVITY * area;
    let bending = load * LENGTH.powi(4) / (8.0 * STUFF.young * inertia);
    let shear = load * LENGTH.powi(2) / (2.0 * (5.0 / 6.0) * 0.5 * STUFF.young * area);
    let theory = bending + shear;
    let sag = |cells: usize, law: Law| {
        let bar = bar(cells, law, GRAVITY);
        -bar.tip(&bar.sagged().positions)
    };
    for law in [Law::Stvk, Law::Corotational, Law::NeoHookean] {
        let missing = [2, 4].map(|cells| 1.0 - sag(cells, law) / theory);
        assert!(missing[1] > 0.0 && missing[1] < 0.5 * missing[0], "{law:?}: {missing:?}");
    }
    // what second order leaves when both are extrapolated to tets of no size
    let limit = (4.0 * sag(6, Law::Stvk) - sag(3, Law::Stvk)) / 3.0;
    assert!((limit / theory - 1.0).abs() < 0.03, "{limit} of {theory}");
}

/// f = 1.8751²/(2π) √(EI/(ρA))/L², less what shear and rotation take: for this bar the sag says how much stiffness there is, so the
/// frequency is held to the mass and stiffness at hand: f ∝ 1/√sag.
#[test]
fn frequency_is_that_of_the_sag() {
    let area = HEIGHT * HEIGHT;
    let euler_sag = STUFF.density * GRAVITY * LENGTH.powi(4) / (8.0 * STUFF.young * area / 12.0);
    let euler = 1.875_104_f64.powi(2) / std::f64::consts::TAU
        * (STUFF.young * area / 12.0 / STUFF.density).sqrt()
        / LENGTH.powi(2);
    let heavy = bar(3, Law::Stvk, GRAVITY);
    let start = heavy.sagged();
    let sag = -heavy.tip(&start.positions);
    let light = bar(3, Law::Stvk, 0.0);
    let mut state = State::at_rest(start.positions);
    let settings = Settings { substeps: Substeps::Fixed(1), ..Settings::default() };
    let mut stepper = Stepper::new(&light.body, light.mesh.points(), settings).unwrap();
    let guide = StaticGuide::new(light.mesh.points().to_vec());
    // a fortieth of a period each
    let step = 1.0 / (40.0 * euler);
    let (mut before, mut crossings) = (light.tip(&state.positions), Vec::new());
    while crossings.len() < 3 {
        stepper.advance(&light.body, &mut state, &guide, step, &mut []).unwrap();
        let tip = light.tip(&state.positions);
        if tip * before < 0.0 {
            crossings.push(state.time - step * tip / (tip - before));
        }
        before = tip;
        assert!(state.time < 10.0 / euler, "it swings");
    }
    let frequency = 1.0 / (crossings[2] - crossings[0]);
    let expected = euler * (euler_sag / sag).sqrt();
    // shear makes the sag of the load and the swing differ by a few per cent
    assert!((frequency / expected - 1.0).abs() < 0.05, "{frequency} Hz, {expected} expected, {euler} Euler");
}

/// Nothing turns a free body: what is lost is the integrator's error, of second order in the step.
#[test]
fn a_spinning_body_keeps_its_angular_momentum() {
    let mesh = TetMesh::box_grid([4, 2, 2], Vec3::new(0.4, 0.2, 0.2)).unwrap();
    let solid =
        Solid::new(&mesh, Law::Stvk, &Material { young: 1e5, damping: 0.02, ..Material::default() }).unwrap();
    let known = vec![false; mesh.points().len()];
    let masses = solid.masses.clone();
    let body = Body::builder(solid.masses.clone()).energy(solid.elements(&known)).build().unwrap();
    let total: f64 = masses.iter().sum();
    let middle = masses.iter().zip(mesh.points()).map(|(m, x)| *m * *x).sum::<Vec3>() / total;
    let spin = Vec3::new(0.5, 5.0, 2.0);
    let momentum = |state: &State| -> Vec3 {
        (0..masses.len()).map(|p| masses[p] * (state.positions[p] - middle).cross(state.velocities[p])).sum()
    };
    let lost = |substeps: usize| {
        let mut state = State::at_rest(mesh.points().to_vec());
        state.velocities = mesh.points().iter().map(|x| spin.cross(*x - middle)).collect();
        let start = momentum(&state);
        let settings =
            Settings { substeps: Substeps::Fixed(substeps), tolerance: 1e-7, ..Settings::default() };
        let mut stepper = Stepper::new(&body, mesh.points(), settings).unwrap();
        let guide = StaticGuide::new(mesh.points().to_vec());
        for _ in 0..12 {
            stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut []).unwrap();
        }
        (momentum(&state) - start).length() / start.length()
    };
    let [coarse, fine] = [lost(2), lost(4)];
    assert!(coarse < 0.05 && fine < coarse / 3.0, "{coarse} {fine}");
}
