//! Cloth at its limits: closed forms, and steps that never end beyond them.

use std::sync::{Arc, Mutex};

use dynamics::{
    Body, Effort, Element, Elements, Error, FnGuide, Guide, Limit, Settings, StageConstraint, StageStart,
    State, StaticGuide, Stepper, Substeps,
};
use geometry::Vec3;
use linear::{Matrix, Pattern};
use shell::{ClothBuilder, ClothLimits, Material, Membrane};

const G: f64 = 9.81;

/// Limits whose forces at the end of the last stage are written down.
struct Weighed {
    limits: ClothLimits,
    pattern: Arc<Pattern>,
    forces: Arc<Mutex<Vec<Vec3>>>,
}

struct WeighedConstraint {
    inner: Box<dyn StageConstraint>,
    pattern: Arc<Pattern>,
    forces: Arc<Mutex<Vec<Vec3>>>,
}

impl Limit for Weighed {
    fn shift(&mut self, first: u32) {
        self.limits.shift(first);
    }

    fn constraint(&self) -> Box<dyn StageConstraint> {
        let (pattern, forces) = (self.pattern.clone(), self.forces.clone());
        Box::new(WeighedConstraint { inner: self.limits.constraint(), pattern, forces })
    }
}

impl StageConstraint for WeighedConstraint {
    fn begin_stage(&mut self, stage: &StageStart) -> Result<(), Error> {
        self.inner.begin_stage(stage)
    }

    fn update(&mut self, x: &[Vec3]) -> Result<(), Error> {
        self.inner.update(x)
    }

    fn is_active(&self) -> bool {
        self.inner.is_active()
    }

    fn keeps_pattern(&self) -> bool {
        self.inner.keeps_pattern()
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        self.inner.value(x)
    }

    fn assemble(&mut self, x: &[Vec3], previous: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        self.inner.assemble(x, previous, force, matrix);
    }

    fn is_satisfied(&mut self, x: &[Vec3]) -> Result<bool, Error> {
        self.inner.is_satisfied(x)
    }

    fn excess(&self, x: &[Vec3]) -> f64 {
        self.inner.excess(x)
    }

    fn end_stage(&mut self, x: &[Vec3]) {
        let mut forces = vec![Vec3::ZERO; x.len()];
        let mut matrix = Matrix::new(self.pattern.clone());
        self.inner.update(x).unwrap();
        self.inner.assemble(x, x, &mut forces, &mut matrix);
        *self.forces.lock().unwrap() = forces;
        self.inner.end_stage(x);
    }
}

struct Sheet {
    body: Body,
    /// What limits pulled with at the end of the last stage.
    forces: Arc<Mutex<Vec<Vec3>>>,
    rest: Vec<Vec3>,
    membranes: Vec<([u32; 3], Membrane)>,
}

/// `columns` × `rows` quads over `size` in the plane of x and y, weft along x, held where `held` says.
fn sheet(size: [f64; 2], cells: [u32; 2], material: &Material, held: impl Fn(Vec3) -> bool, g: f64) -> Sheet {
    let [columns, rows] = cells;
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let rest: Vec<Vec3> = (0..=rows)
        .flat_map(|j| {
            (0..=columns).map(move |i| [f64::from(i) / f64::from(columns), f64::from(j) / f64::from(rows)])
        })
        .map(|[x, y]| Vec3::new(size[0] * x, -size[1] * y, 0.0))
        .collect();
    let mut triangles = Vec::new();
    for (i, j) in (0..columns).flat_map(|i| (0..rows).map(move |j| (i, j))) {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
    }
    let cloth = ClothBuilder::new(&rest, &triangles, material).build().unwrap();
    let friction = material.damping_time();
    let pattern = Arc::new(Pattern::from_stencils(rest.len(), triangles.iter().map(|t| t.as_slice())));
    let forces = Arc::new(Mutex::new(Vec::new()));
    let limits = Weighed { limits: cloth.strain_limits(), pattern, forces: forces.clone() };
    let body = Body::builder(cloth.masses.clone())
        .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
        .energy(Elements::new(cloth.hinges.iter().copied()).damped(friction))
        .limit(limits)
        .known(rest.iter().map(|p| held(*p)).collect())
        .gravity(-g * Vec3::Y)
        .build()
        .unwrap();
    Sheet { body, forces, rest, membranes: cloth.membranes }
}

impl Sheet {
    /// The largest stretch along warp and weft, and the largest cosine between them.
    fn strain(&self, x: &[Vec3]) -> [f64; 3] {
        let mut most = [f64::NEG_INFINITY; 3];
        for (corners, membrane) in &self.membranes {
            if corners.iter().all(|&p| self.body.known()[p as usize]) {
                continue;
            }
            let [fu, fv] = membrane.threads(&corners.map(|p| x[p as usize]));
            for (most, now) in most.iter_mut().zip([fu.length() - 1.0, fv.length() - 1.0, fu.dot(fv).abs()]) {
                *most = most.max(now);
            }
        }
        most
    }

    /// What membranes and limits pull with at the points that `at` says, in newtons.
    fn pull(&self, x: &[Vec3], at: impl Fn(Vec3) -> bool) -> [Vec3; 2] {
        let mut of_membranes = vec![Vec3::ZERO; x.len()];
        for (corners, membrane) in &self.membranes {
            let gradient = membrane.gradient(&corners.map(|p| x[p as usize]));
            corners.iter().zip(gradient).for_each(|(&p, g)| of_membranes[p as usize] -= g);
        }
        let of_limits = self.forces.lock().unwrap().clone();
        [of_membranes, of_limits]
            .map(|forces| (0..x.len()).filter(|&i| at(self.rest[i])).map(|i| forces[i]).sum())
    }

    /// Bakes frames of 1/24 s; gives the largest strains of any frame, and the effort.
    fn bake(
        &self,
        state: &mut State,
        guide: &dyn Guide,
        frames: usize,
        substeps: Substeps,
    ) -> ([f64; 3], Effort) {
        let settings = Settings { substeps, tolerance: 1e-3, ..Settings::default() };
        let mut stepper = Stepper::new(&self.body, &self.rest, settings).unwrap();
        let (mut most, mut effort) = ([0.0_f64; 3], Effort::default());
        for _ in 0..frames {
            effort.add(stepper.advance(&self.body, state, guide, 1.0 / 24.0, &mut []).unwrap());
            for (most, now) in most.iter_mut().zip(self.strain(&state.positions)) {
                *most = most.max(now);
            }
        }
        (most, effort)
    }
}

fn cotton() -> Material {
    Material { air_drag: 0.0, ..Material::preset("cotton").unwrap() }
}

fn unlimited(material: Material) -> Material {
    Material { limit_warp: None, limit_weft: None, limit_shear: None, ..material }
}

/// A hundred times softer than cotton, and five times heavier: without a limit it hangs at 20 % and more.
fn jelly() -> Material {
    Material { stretch_warp: 40.0, stretch_weft: 40.0, area_density: 0.75, ..cotton() }
}

#[test]
fn what_hangs_below_its_limit_moves_as_without_it() {
    let top = |p: Vec3| p.y == 0.0;
    let [with, without] = [cotton(), unlimited(cotton())].map(|material| {
        let sheet = sheet([0.4, 0.4], [8, 8], &material, top, G);
        let mut state = State::at_rest(sheet.rest.clone());
        sheet.bake(&mut state, &StaticGuide::new(sheet.rest.clone()), 6, Substeps::Automatic);
        state
    });
    assert_eq!(with, without);
}

/// Twenty times its weight and threads that hardly shear: shorter and shorter steps would keep the limits, at thousands of iterations a frame.
#[test]
fn what_is_flung_about_is_given_up_in_time() {
    let material = Material { limit_shear: Some(1e-3), ..cotton() };
    let sheet = sheet([1.0, 1.0], [20, 20], &material, |p| p.y == 0.0, -20.0 * G);
    let flat: Vec<Vec3> = sheet.rest.iter().map(|p| Vec3::new(p.x, 0.02 * (9.0 * p.x).sin(), -p.y)).collect();
    let mut state = State::at_rest(flat.clone());
    let mut most = 0;
    for _ in 0..4 {
        let (_, effort) = sheet.bake(&mut state, &StaticGuide::new(flat.clone()), 1, Substeps::Automatic);
        most = most.max(effort.iterations);
        assert!(effort.iterations < 1500, "{effort:?}");
    }
    assert!(most > 400, "it was to be hard: {most} iterations");
}

#[test]
fn a_falling_sheet_keeps_its_limits_at_one_step_a_frame() {
    // held at one side it swings down and whips
    for cells in [10, 24] {
        for substeps in [Substeps::Fixed(1), Substeps::Automatic] {
            for material in [cotton(), unlimited(cotton()), jelly()] {
                let sheet = sheet([1.0, 0.5], [cells, cells / 2], &material, |p| p.x == 0.0, G);
                let flat: Vec<Vec3> =
                    sheet.rest.iter().map(|p| Vec3::new(p.x, 0.01 * (9.0 * p.y).sin(), -p.y)).collect();
                let mut state = State::at_rest(flat.clone());
                let (most, effort) = sheet.bake(&mut state, &StaticGuide::new(flat), 36, substeps);
                if material.limit_warp.is_none() {
                    continue;
                }
                assert!(
                    most[0] <= 0.03 + 1e-6 && most[1] <= 0.03 + 1e-6 && most[2] <= 0.5 + 1e-6,
                    "{most:?}"
                );
                assert_eq!(effort.beyond_limits, 0);
            }
        }
    }
}

#[test]
fn a_strip_at_its_limit_hangs_in_the_catenary_of_its_length() {
    // a strip of cotton, a thousand times as heavy, from two pins 0.6 of its length apart
    let material = Material { area_density: 150.0, ..cotton() };
    let (length, span, limit) = (1.0, 0.6, 0.03);
    let sheet = sheet([length, 0.05], [80, 2], &material, |p| p.x == 0.0 || p.x == length, G);
    let start: Vec<Vec3> = sheet
        .rest
        .iter()
        .map(|p| {
            let s = p.x / length;
            Vec3::new(span * s, -1.2 * s * (1.0 - s) * 1.2, p.y)
        })
        .collect();
    let mut state = State::at_rest(start.clone());
    let settings = Settings::default();
    let mut stepper = Stepper::new(&sheet.body, &sheet.rest, settings).unwrap();
    stepper.settle(&sheet.body, &mut state, &StaticGuide::new(start)).unwrap();
    let most = sheet.strain(&state.positions);
    assert!(most[1] <= limit + 1e-9, "{most:?}");
    // its own length, which the limit bounds: from the line through its middle
    let middle: Vec<Vec3> = (81..162).map(|i| state.positions[i]).collect();
    let l: f64 = middle.windows(2).map(|w| w[0].distance(w[1])).sum();
    assert!((1.0 + 0.85 * limit..=1.0 + limit).contains(&l), "{l}");
    // 2a sinh(d/2a) = l; sag = a (cosh(d/2a) − 1); tension at the pins = ρ g w (a + sag)
    let mut a = 0.2;
    for _ in 0..100 {
        let f = 2.0 * a * (span / (2.0 * a)).sinh() - l;
        let df = 2.0 * (span / (2.0 * a)).sinh() - span / a * (span / (2.0 * a)).cosh();
        a -= f / df;
    }
    let sag = a * ((span / (2.0 * a)).cosh() - 1.0);
    let lowest = middle.iter().map(|p| p.y).fold(0.0, f64::min);
    let top = middle[0].y;
    assert!(((top - lowest) / sag - 1.0).abs() < 0.01);
    // a rope at its limit: what both sides pull at the pins is (−ρ g w a, −½ W), of which its own stiffness bears little
    let weight = material.area_density * G * length * 0.05;
    let mut pull = sheet.pull(&state.positions, |p| p.x == 0.0);
    let own = pull[0].length() / (pull[0] + pull[1]).length();
    assert!(own < 0.5, "the fabric itself bears {own} of it");
    pull[0] += pull[1];
    let pinned: f64 =
        (0..sheet.rest.len()).filter(|&i| sheet.rest[i].x == 0.0).map(|i| G * sheet.body.masses()[i]).sum();
    let (across, down) = (pull[0].x, -pull[0].y + pinned);
    assert!((across / (weight / l * a) - 1.0).abs() < 0.01, "{across} N across, {}", weight / l * a);
    assert!((down / (0.5 * weight) - 1.0).abs() < 0.01, "{down} N down, {}", 0.5 * weight);
}

/// Hung up by one end. With T(s) = ρ g (L − s) per width, and T = k λ (λ² − 1)/2 of a thread with Green's strain and Hooke's law, λ grows upwards until it
/// comes to the limit, and stays there: the length is ∫ min(λ, 1 + e₁) ds, and the pins bear the weight.
#[test]
fn a_hanging_strip_is_as_long_as_its_limit_lets_it_be() {
    let material = Material { poisson: 0.0, ..jelly() };
    let (length, width, limit) = (1.0, 0.05, 0.03);
    let sheet = sheet([width, length], [2, 40], &material, |p| p.y == 0.0, G);
    let mut state = State::at_rest(sheet.rest.clone());
    let mut stepper = Stepper::new(&sheet.body, &sheet.rest, Settings::default()).unwrap();
    stepper.settle(&sheet.body, &mut state, &StaticGuide::new(sheet.rest.clone())).unwrap();
    let stretch = |s: f64| {
        let pull = material.area_density * G * (length - s) / material.stretch_warp;
        let mut l = 1.0 + pull;
        for _ in 0..20 {
            l -= (0.5 * l * (l * l - 1.0) - pull) / (1.5 * l * l - 0.5);
        }
        l - 1.0
    };
    let sum = |most: f64| -> f64 {
        (0..1000).map(|k| stretch((f64::from(k) + 0.5) / 1000.0).min(most) / 1000.0).sum()
    };
    let lowest = -state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    let free = sum(f64::INFINITY);
    // it is felt over the last tenth of the way
    let (least, most) = (sum(0.9 * limit), sum(limit));
    assert!(free > 2.0 * most, "without a limit it would be {free} longer");
    assert!((0.99 * least..1.01 * most).contains(&(lowest - length)), "{lowest}, not {least} to {most} more");
    let weight = material.area_density * G * length * width;
    let pull: Vec3 = sheet.pull(&state.positions, |p| p.y == 0.0).into_iter().sum();
    let pinned: f64 =
        (0..sheet.rest.len()).filter(|&i| sheet.rest[i].y == 0.0).map(|i| G * sheet.body.masses()[i]).sum();
    assert!(((pinned - pull.y) / weight - 1.0).abs() < 0.01, "{} N of {weight} N", pinned - pull.y);
}

#[test]
fn a_sheet_pulled_both_ways_stops_at_its_limit() {
    // its four sides follow softly a frame that grows: here by points held at the corners that move apart by 2 %, then by 10 %
    let material = cotton();
    let corner = |p: Vec3| (p.x == 0.0 || p.x == 0.5) && (p.y == 0.0 || p.y == -0.5);
    let sheet = sheet([0.5, 0.5], [8, 8], &material, corner, 0.0);
    let rest = sheet.rest.clone();
    let guide = FnGuide(move |time: f64, i: usize| (1.0 + 0.02 * time.clamp(0.0, 1.0)) * rest[i]);
    let mut state = State::at_rest(sheet.rest.clone());
    let (most, _) = sheet.bake(&mut state, &guide, 30, Substeps::Automatic);
    assert!(most[0] <= 0.03 + 1e-6 && most[1] <= 0.03 + 1e-6, "{most:?}");
}

#[test]
fn a_start_beyond_the_limit_is_led_back() {
    let sheet = sheet([0.5, 0.5], [8, 8], &cotton(), |p| p.y == 0.0, G);
    let pulled: Vec<Vec3> = sheet.rest.iter().map(|p| Vec3::new(p.x, 1.4 * p.y, p.z)).collect();
    let mut state = State::at_rest(pulled.clone());
    sheet.bake(&mut state, &StaticGuide::new(pulled), 24, Substeps::Automatic);
    let now = sheet.strain(&state.positions);
    assert!(now[0] <= 0.03 && now[1] <= 0.03, "{now:?}");
}

#[test]
fn pins_too_far_apart_stretch_the_cloth_and_nothing_hangs() {
    let sheet = sheet([0.5, 0.2], [10, 4], &cotton(), |p| p.x == 0.0 || p.x == 0.5, G);
    let rest = sheet.rest.clone();
    let guide = FnGuide(move |time: f64, i: usize| rest[i] * Vec3::new(1.0 + 0.5 * time, 1.0, 1.0));
    let mut state = State::at_rest(sheet.rest.clone());
    let (most, effort) = sheet.bake(&mut state, &guide, 24, Substeps::Automatic);
    assert!(most[1] > 0.4 && most[1] < 0.7, "{most:?}");
    assert!(effort.beyond_limits > 0, "and it is told");
}
