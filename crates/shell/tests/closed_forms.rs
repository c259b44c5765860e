//! Whole pieces of cloth against the formulas of thin plates.
//!
//! A strip, clamped at one end. The clamp is a first row of cells that is held, so the cell behind it bends over its full length
//! where the plate bends over half: an error of first order in the cell size, which two resolutions extrapolate away.

use std::f64::consts::TAU;

use dynamics::{Body, Elements, Settings, State, StaticGuide, Stepper, Substeps};
use geometry::Vec3;
use shell::{Bending, ClothBuilder, Material, Stretching};

const LENGTH: f64 = 0.1;
/// D, in N·m.
const BENDING: f64 = 1e-2;
/// kg/m².
const DENSITY: f64 = 0.1;
const G: f64 = 9.81;

/// A strip along x with `cells` free cells, four across, and its points at rest.
fn strip(cells: usize, gravity: f64) -> (Body, Vec<Vec3>) {
    let (across, h) = (4, LENGTH / cells as f64);
    let at = |i: usize, j: usize| (i * (across + 1) + j) as u32;
    let points: Vec<Vec3> = (0..=cells + 1)
        .flat_map(|i| (0..=across).map(move |j| Vec3::new(h * (i as f64 - 1.0), 0.0, h * j as f64)))
        .collect();
    let mut triangles = Vec::new();
    for (i, j) in (0..=cells).flat_map(|i| (0..across).map(move |j| (i, j))) {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
    }
    let material = Material {
        area_density: DENSITY,
        stretch_warp: 1e4,
        stretch_weft: 1e4,
        shear: 1e4,
        compression: 1.0,
        poisson: 0.0,
        bend_warp: BENDING,
        bend_weft: BENDING,
        damping: 0.0,
        air_drag: 0.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: None,
        limit_weft: None,
        limit_shear: None,
    };
    let builder = ClothBuilder::new(&points, &triangles, &material).warp(Vec3::X).bending(Bending::Plates);
    let cloth = builder.build().unwrap();
    let known = (0..points.len()).map(|p| p < 2 * (across + 1)).collect();
    let body = Body::builder(cloth.masses)
        .energy(Elements::new(cloth.membranes))
        .energy(Elements::new(cloth.hinges))
        .energy(Elements::new(cloth.plates))
        .known(known)
        .gravity(Vec3::new(0.0, -gravity, 0.0))
        .build()
        .unwrap();
    (body, points)
}

/// The strip hanging still under its weight.
fn sagged(cells: usize) -> (Vec<Vec3>, State) {
    let (body, points) = strip(cells, G);
    let mut state = State::at_rest(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).unwrap();
    stepper.settle(&body, &mut state, &StaticGuide::new(points.clone())).unwrap();
    (points, state)
}

/// 2f(2n) − f(n), after checking that the two differ by what a first-order error would.
fn extrapolated(f: impl Fn(usize) -> f64, cells: usize, exact: f64) -> f64 {
    let (coarse, fine) = (f(cells), f(2 * cells));
    let ratio = (fine - exact).abs() / (coarse - exact).abs();
    assert!((0.3..0.7).contains(&ratio), "errors of {coarse} and {fine} against {exact}: ratio {ratio}");
    2.0 * fine - coarse
}

#[test]
fn a_cantilever_sags_as_a_plate_does() {
    // w = ρ g L⁴/(8 D) for small deflections: 1.2 % of the length here
    let exact = DENSITY * G * LENGTH.powi(4) / (8.0 * BENDING);
    let tip = |cells: usize| -sagged(cells).1.positions.last().unwrap().y;
    let sag = extrapolated(tip, 10, exact);
    assert!((sag / exact - 1.0).abs() < 0.02, "{sag} m, not {exact} m");
}

#[test]
fn a_clamped_strip_rings_with_the_plates_frequency() {
    // f = 3.516/(2π) · √(D/(ρ L⁴)) = 17.7 Hz: let go of the sagged strip without gravity, its tip passes zero after a quarter period
    let exact = TAU / 3.516_015 * (DENSITY * LENGTH.powi(4) / BENDING).sqrt();
    let period = |cells: usize| {
        let (points, mut state) = sagged(cells);
        state.time = 0.0;
        let (body, _) = strip(cells, 0.0);
        let settings = Settings { substeps: Substeps::Fixed(1), tolerance: 1e-7, ..Settings::default() };
        let mut stepper = Stepper::new(&body, &points, settings).unwrap();
        let guide = StaticGuide::new(points);
        let (dt, tip) = (exact / 400.0, state.positions.len() - 1);
        loop {
            let before = state.positions[tip].y;
            stepper.advance(&body, &mut state, &guide, dt, &mut []).unwrap();
            let after = state.positions[tip].y;
            if after >= 0.0 {
                return 4.0 * (state.time - dt * after / (after - before));
            }
            assert!(state.time < exact, "the strip does not swing back");
        }
    };
    // the sag holds a little of the second mode, which shifts the first passage by about a percent
    let measured = extrapolated(period, 8, exact);
    assert!((measured / exact - 1.0).abs() < 0.03, "period {measured} s, not {exact} s");
}

/// A strip cut from a grid of squares of 1 cm, all cut along one diagonal, at an angle; it hangs over an edge by 10 cm, five times its bending
/// length: how low it is, on average with a weight that grows towards its end.
fn overhang(angle: f64, stretching: Stretching) -> f64 {
    let (h, half) = (0.01, 0.04);
    let (sin, cos) = angle.sin_cos();
    let (along, across) = (Vec3::new(cos, 0.0, sin), Vec3::new(-sin, 0.0, cos));
    let reach = 20;
    let place = |k: u32| {
        let [i, j] = [k % (2 * reach + 1), k / (2 * reach + 1)].map(|i| f64::from(i) - f64::from(reach));
        Vec3::new(h * i, 0.0, h * j)
    };
    let is_in = |p: Vec3| {
        (-2.0 * h - 1e-9..=LENGTH + 1e-9).contains(&p.dot(along)) && p.dot(across).abs() <= half + 1e-9
    };
    let at = |i: u32, j: u32| j * (2 * reach + 1) + i;
    let cells = (0..2 * reach).flat_map(|j| (0..2 * reach).map(move |i| (i, j)));
    let triangles = cells.flat_map(|(i, j)| {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        [[a, b, c], [a, c, d]]
    });
    let mut triangles: Vec<[u32; 3]> = triangles.filter(|t| t.iter().all(|&k| is_in(place(k)))).collect();
    let mut used: Vec<u32> = triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let number = |k: u32| used.binary_search(&k).unwrap() as u32;
    triangles.iter_mut().for_each(|t| *t = t.map(number));
    let points: Vec<Vec3> = used.iter().map(|&k| place(k)).collect();
    let cotton = Material::preset("cotton").unwrap();
    // as cotton, but alike in all directions, and nothing to do with limits
    let material = Material {
        stretch_weft: cotton.stretch_warp,
        shear: 0.5 * cotton.stretch_warp,
        poisson: 0.0,
        bend_weft: cotton.bend_warp,
        limit_warp: None,
        limit_weft: None,
        limit_shear: None,
        ..cotton
    };
    let builder = ClothBuilder::new(&points, &triangles, &material).warp(Vec3::X).bending(Bending::Plates);
    let cloth = builder.stretching(stretching).build().unwrap();
    let body = Body::builder(cloth.masses.clone())
        .energy(Elements::new(cloth.own_membranes()))
        .energy(Elements::new(cloth.cells))
        .energy(Elements::new(cloth.plates))
        .known(points.iter().map(|p| p.dot(along) <= 1e-9).collect())
        .gravity(-G * Vec3::Y)
        .build()
        .unwrap();
    let mut stepper = Stepper::new(&body, &points, Settings::default()).unwrap();
    let mut state = State::at_rest(points.clone());
    stepper.settle(&body, &mut state, &StaticGuide::new(points.clone())).unwrap();
    let (mut sum, mut all) = (0.0, 0.0);
    for (rest, x) in points.iter().zip(&state.positions).filter(|(p, _)| p.dot(across).abs() < 0.6 * half) {
        let weight = rest.dot(along).max(0.0);
        (sum, all) = (sum - weight * x.y, all + weight * weight);
    }
    sum / all
}

/// Membrane locking: on triangles that are strained each by itself, cloth bends only along their edges.
#[test]
fn a_strip_hangs_over_an_edge_alike_in_whatever_direction_it_is_cut() {
    let spread = |stretching: Stretching| {
        let hung = [0.0, 45.0, 90.0, 135.0].map(|angle| overhang(f64::to_radians(angle), stretching));
        let [most, least] =
            [hung.iter().copied().fold(0.0, f64::max), hung.iter().copied().fold(1.0, f64::min)];
        most - least
    };
    let (triangles, cells) = (spread(Stretching::Triangles), spread(Stretching::Cells));
    assert!(triangles > 0.2, "{triangles}");
    assert!(cells < 0.1 && cells < 0.4 * triangles, "{cells} {triangles}");
}
