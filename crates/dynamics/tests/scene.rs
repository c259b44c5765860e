//! Actors in one scene: each as if it were alone, as long as nothing is between them; checkpoints; cancelling.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dynamics::{
    Actor, ActorReport, Block, Body, BodyBuilder, DeliveredSurface, Element, Elements, Error, Guide,
    InternalHandle, InternalVariables, Motion, Part, Scene, Settings, Span, State, StaticGuide, Substeps,
    Window,
};
use geometry::{Mat3, Vec3};
use linear::ConstraintRows;

const RATE: f64 = 24.0;

/// E = ½ k ‖x₁ − x₀ − l‖²; l yields, k in N/m, l in m.
#[derive(Clone)]
struct Bungee {
    stiffness: f64,
    rest: Vec3,
}

impl Element<2> for Bungee {
    fn value(&self, x: &[Vec3; 2]) -> f64 {
        0.5 * self.stiffness * (x[1] - x[0] - self.rest).length_squared()
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let pull = self.stiffness * (x[1] - x[0] - self.rest);
        [-pull, pull]
    }

    fn hessian(&self, _: &[Vec3; 2]) -> Block<2> {
        let k = Mat3::IDENTITY * self.stiffness;
        Block([[k, -k], [-k, k]])
    }
}

impl InternalVariables<2> for Bungee {
    const COUNT: usize = 1;

    fn internal(&self, to: &mut [f64]) {
        to[0] = self.rest.y;
    }

    fn with_internal(&self, internal: &[f64]) -> Self {
        Self { rest: self.rest.with_y(internal[0]), ..self.clone() }
    }
}

/// A mass on a bungee that hangs from a point of the animation; a second average row keeps the x of its three points' mean.
struct Jumper {
    part: Part,
    handle: InternalHandle<Elements<Bungee, 2>>,
    span: Arc<Span>,
    first: Vec<Vec3>,
}

/// The averages of a guide are its own: mean of the two lower points.
struct Led(Arc<Span>);

impl Guide for Led {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.0.sample(time, positions, velocities);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        let (mut x, mut v) = ([Vec3::ZERO; 3], [Vec3::ZERO; 3]);
        self.0.sample(time, &mut x, &mut v);
        values[0] = 0.5 * (x[1] + x[2]);
    }
}

impl Jumper {
    fn on_bungees(stiffness: f64) -> (Box<dyn Actor>, BodyBuilder) {
        let bungee = |a: u32, b: u32| ([a, b], Bungee { stiffness, rest: -0.5 * Vec3::Y });
        let energy = Elements::new([bungee(0, 1), bungee(1, 2)]).evolving();
        let (body, handle) = Body::builder(vec![1.0, 2.0, 0.5]).evolving_energy(energy);
        let body = body
            .known(vec![true, false, false])
            .averages(ConstraintRows::new(3, [vec![(1, 0.5), (2, 0.5)]]))
            .gravity(-9.81 * Vec3::Y);
        let actor = Self { part: body.part(), handle, span: Arc::default(), first: Vec::new() };
        (Box::new(actor), body)
    }
}

impl Actor for Jumper {
    fn bind(&mut self, _: &Body, part: &Part) -> Result<(), Error> {
        self.part = part.clone();
        Ok(())
    }

    fn first_velocity(&self, window: &Window) -> Vec3 {
        window.first_velocity(f64::INFINITY)
    }

    fn begin(&mut self, _: &Body, window: &Window, _: Option<Vec3>, state: &mut State) -> Result<(), Error> {
        self.first = window.here().to_vec();
        state.positions[self.part.points.clone()].copy_from_slice(&self.first);
        Ok(())
    }

    fn still_guide(&self) -> Box<dyn Guide> {
        Box::new(StaticGuide::new(self.first.clone()))
    }

    fn begin_frame(&mut self, _: &Body, window: &Window, _: &mut State) -> Result<Motion, Error> {
        let frames = window.way(f64::INFINITY, |_, _| Mat3::IDENTITY).frames;
        self.span = Arc::new(Span::through(window.start(), window.frame_rate_hz, frames));
        Ok(Motion::Simulated)
    }

    fn guide(&self) -> Box<dyn Guide> {
        Box::new(Led(self.span.clone()))
    }

    fn is_changing(&self) -> bool {
        true
    }

    /// The upper bungee flows by a millimetre an interval.
    fn end_interval(&mut self, _: &Body, state: &mut State) {
        self.handle.of_mut(state, &self.part)[0] -= 1e-3;
    }

    fn deliver(&self, state: &State, _: &Window) -> DeliveredSurface {
        let positions = state.positions[self.part.points.clone()].to_vec();
        DeliveredSurface { positions, exact: vec![true, false, false] }
    }

    fn report(&mut self, _: &State, _: &Window) -> ActorReport {
        ActorReport::default()
    }
}

fn pose(index: f64, shift: f64) -> Arc<[Vec3]> {
    let sway = Vec3::new(shift + 0.1 * (0.4 * index).sin(), 0.0, 0.0);
    [0.0, -0.5, -1.0].map(|y| sway + y * Vec3::Y).into_iter().collect()
}

fn window(index: usize, shift: f64) -> Window {
    let at = |offset: isize| {
        let frame = index as isize + offset;
        (frame >= 0).then(|| pose(frame as f64, shift))
    };
    Window::new(index, RATE, [at(-2), at(-1), at(0), at(1)])
}

fn scene(cast: Vec<(Box<dyn Actor>, BodyBuilder)>) -> Scene {
    let rest: Vec<Vec3> = cast.iter().flat_map(|_| pose(0.0, 0.0).to_vec()).collect();
    let settings = Settings { substeps: Substeps::Fixed(4), tolerance: 1e-7, ..Settings::default() };
    Scene::new(cast, &rest, settings).unwrap()
}

fn run(scene: &mut Scene, shifts: &[f64], frames: std::ops::Range<usize>) {
    for index in frames {
        let windows: Vec<Window> = shifts.iter().map(|shift| window(index, *shift)).collect();
        match index {
            0 => scene.begin(&windows, true).unwrap(),
            _ => drop(scene.frame(&windows, None).unwrap()),
        }
    }
}

#[test]
fn actors_side_by_side_move_as_each_would_alone() {
    let mut both = scene(vec![Jumper::on_bungees(80.0), Jumper::on_bungees(300.0)]);
    run(&mut both, &[0.0, 5.0], 0..9);
    for (number, (stiffness, shift)) in [(80.0, 0.0), (300.0, 5.0)].into_iter().enumerate() {
        let mut alone = scene(vec![Jumper::on_bungees(stiffness)]);
        run(&mut alone, &[shift], 0..9);
        let part = both.part(number).clone();
        let apart = both.state.positions[part.points.clone()].iter().zip(&alone.state.positions);
        let farthest = apart.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(farthest < 1e-6, "actor {number} is {farthest} m from where it is alone");
        assert_eq!(both.state.internal[part.internal], alone.state.internal, "what it remembers");
        assert!((alone.state.internal[0] + 0.5 + 8.0 * 4.0 * 1e-3).abs() < 1e-12, "it has flowed");
        // the known point is where its guide is, the average too
        let at = window(8, shift).here().to_vec();
        assert_eq!(both.state.positions[part.points.start], at[0]);
        let mean =
            0.5 * (both.state.positions[part.points.start + 1] + both.state.positions[part.points.start + 2]);
        assert!(mean.distance(0.5 * (at[1] + at[2])) < 1e-9);
    }
}

#[test]
fn a_scene_goes_on_from_its_bytes() {
    let shifts = [0.0, 2.0];
    let cast = || vec![Jumper::on_bungees(80.0), Jumper::on_bungees(300.0)];
    let mut whole = scene(cast());
    run(&mut whole, &shifts, 0..4);
    let bytes = whole.to_bytes();
    run(&mut whole, &shifts, 4..7);
    let mut resumed = scene(cast());
    assert!(resumed.restore(&bytes));
    run(&mut resumed, &shifts, 4..7);
    assert_eq!(resumed.to_bytes(), whole.to_bytes());
    assert!(
        !resumed.restore(&bytes[..bytes.len() - 8]) && !scene(vec![Jumper::on_bungees(1.0)]).restore(&bytes)
    );
}

#[test]
fn a_flag_ends_it_within_the_frame() {
    let mut scene = scene(vec![Jumper::on_bungees(80.0)]);
    scene.begin(&[window(0, 0.0)], true).unwrap();
    scene.cancel_by(Arc::new(AtomicBool::new(true)));
    assert!(matches!(scene.frame(&[window(1, 0.0)], None), Err(Error::Cancelled)));
}

#[test]
fn before_the_first_frame_all_move_along_as_fast_as_they_begin_on_average() {
    let mut both = scene(vec![Jumper::on_bungees(80.0), Jumper::on_bungees(300.0)]);
    assert!(!both.is_empty() && both.len() == 2);
    let still = Window::new(0, RATE, [None, None, Some(pose(0.0, 5.0)), Some(pose(0.0, 5.0))]);
    both.begin(&[window(0, 0.0), still], true).unwrap();
    let expected = 0.5 * RATE * 0.1 * 0.4_f64.sin() * Vec3::X;
    assert!(both.drift().distance(expected) < 1e-12, "{}", both.drift());
    assert!(Scene::<dyn Actor>::new(Vec::new(), &[], Settings::default()).unwrap().is_empty());
}

#[test]
fn what_changes_is_looked_at_96_times_a_second_and_a_stranger_s_bytes_are_refused() {
    let cast = vec![Jumper::on_bungees(80.0)];
    let mut scene = Scene::new(cast, &pose(0.0, 0.0), Settings::default()).unwrap();
    run(&mut scene, &[0.0], 0..3);
    // two frames of four intervals each, a millimetre in each
    assert!((scene.state.internal[0] + 0.5 + 8e-3).abs() < 1e-12, "{}", scene.state.internal[0]);
    // an actor that remembers nothing
    assert!(scene.actor_mut(0).restore(&[]) && !scene.actor_mut(0).restore(&[1]));
}
