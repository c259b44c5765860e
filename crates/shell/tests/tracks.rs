//! What tracking promises: averages hold to round-off, motion is physical, and nothing tugs.

use dynamics::{Integrator, Settings, Substeps};
use geometry::{Mat3, Prolongation, Scheme, Topology, Vec3, subdivide_times};
use shell::tracks::{
    Averages, ConstraintStrength, RestSurface, TestFunctions, Tracked, TrackedSetup, greatest_pulls,
};
use shell::{ClothBuilder, Hinge, Material, Strain};

const RATE: f64 = 24.0;

/// A guide's rest shape and the finer mesh that tracks it.
struct Pair {
    rest: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    fine_rest: Vec<Vec3>,
    fine_triangles: Vec<[u32; 3]>,
    way: Prolongation,
    /// Of its fabric, as a share of the critical one.
    damping: f64,
}

impl Pair {
    fn new(rest: Vec<Vec3>, triangles: Vec<[u32; 3]>, levels: usize) -> Self {
        let fine = subdivide_times(rest.len(), &triangles, Scheme::Linear, levels);
        let fine_rest = fine.prolongation.vectors(&rest);
        Self {
            rest,
            triangles,
            fine_rest,
            fine_triangles: fine.triangles,
            way: fine.prolongation,
            damping: 0.05,
        }
    }

    /// A box of eight points.
    fn cube(levels: usize) -> Self {
        let corner = |i: u32| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) * 0.5;
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        Self::new((0..8).map(corner).collect(), triangles, levels)
    }

    /// A flat sheet of 4 × 4 squares, 1 m wide.
    fn sheet(levels: usize) -> Self {
        let at = |i: u32, j: u32| 5 * j + i;
        let points =
            (0..5).flat_map(|j| (0..5).map(move |i| Vec3::new(f64::from(i), f64::from(j), 0.0) * 0.25));
        let cells = (0..4).flat_map(|j| (0..4).map(move |i| (i, j)));
        let triangles = cells.flat_map(|(i, j)| {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
        });
        Self::new(points.collect(), triangles.collect(), levels)
    }

    fn averages(&self) -> Averages {
        let guide = RestSurface { rest: &self.rest, triangles: &self.triangles };
        let tracked = RestSurface { rest: &self.fine_rest, triangles: &self.fine_triangles };
        let hats = TestFunctions::hats(&self.way);
        Averages::new(&hats, guide, tracked, &self.way, &vec![true; self.fine_rest.len()]).unwrap()
    }

    fn tracked(
        &self,
        averages: Option<Averages>,
        known: Vec<bool>,
        gravity: Vec3,
        stepping: Settings,
    ) -> Tracked {
        self.tracked_up_to(None, averages, known, gravity, stepping)
    }

    /// With a limit to the pull of every average, in weights of its region; infinite: what the fabric's own limits allow.
    fn tracked_up_to(
        &self,
        pull: Option<f64>,
        averages: Option<Averages>,
        known: Vec<bool>,
        gravity: Vec3,
        stepping: Settings,
    ) -> Tracked {
        let material = Material { damping: self.damping, air_drag: 0.0, ..Material::preset("silk").unwrap() };
        let cloth = ClothBuilder::new(&self.fine_rest, &self.fine_triangles, &material).build().unwrap();
        let unlimited =
            Material { limit_warp: None, limit_weft: None, limit_shear: None, ..material.clone() };
        let fabric = if pull == Some(f64::INFINITY) { &material } else { &unlimited };
        let pulls = pull.zip(averages.as_ref());
        let pulls = pulls.map(|(pull, a)| greatest_pulls(&a.tracked, &cloth.masses, Some(pull), fabric));
        let setup = TrackedSetup {
            rest: &self.fine_rest,
            guide_rest: None,
            cloth,
            friction: material.damping_time(),
            averages,
            strength: ConstraintStrength::hard(),
            greatest_pulls: pulls.unwrap_or_default(),
            correspondence: self.way.clone(),
            known,
            gravity,
            plasticity: None,
            reshaping: None,
            jump: f64::INFINITY,
        };
        Tracked::new(setup, RATE, stepping).unwrap()
    }

    fn free(&self) -> Vec<bool> {
        vec![false; self.fine_rest.len()]
    }
}

/// One linear solve per step, so that nothing depends on when an iteration stops.
fn linear(substeps: usize) -> Settings {
    Settings {
        integrator: Integrator::LinearlyImplicit { delta: 0.0 },
        substeps: Substeps::Fixed(substeps),
        ..Settings::default()
    }
}

/// Advances to `frame` along a guide given as a function of the frame.
fn advance(tracked: &mut Tracked, guide: &dyn Fn(f64) -> Vec<Vec3>, frame: usize) {
    let at = |offset: f64| guide((frame as f64 + offset).max(0.0));
    tracked.frame(frame, [&at(-2.0), &at(-1.0), &at(0.0), &at(1.0)], None).unwrap();
}

/// The top of the box twists and sways.
fn twisting(rest: &[Vec3], frame: f64) -> Vec<Vec3> {
    let t = frame / RATE;
    let turn = Mat3::from_rotation_y((6.0 * t).sin()) * Mat3::from_rotation_x(0.3 * (4.0 * t).sin());
    let move_top = |p: &Vec3| match p.y > 0.25 {
        true => turn * (*p - Vec3::splat(0.25)) + Vec3::splat(0.25) + 0.2 * t * Vec3::X,
        false => *p,
    };
    rest.iter().map(move_top).collect()
}

#[test]
fn averages_hold_to_round_off_at_every_frame() {
    let pair = Pair::cube(3);
    for stepping in [linear(2), Settings { tolerance: 1e-3, ..Settings::default() }] {
        let mut tracked = pair.tracked(Some(pair.averages()), pair.free(), -9.81 * Vec3::Y, stepping);
        let guide = |frame: f64| twisting(&pair.rest, frame);
        tracked.begin(&guide(0.0)).unwrap();
        for frame in 1..=12 {
            advance(&mut tracked, &guide, frame);
            let residual = tracked.residual(&guide(frame as f64));
            assert!(residual < 1e-12, "frame {frame}: {residual}");
        }
        let away = pair.way.vectors(&guide(12.0));
        let moved =
            away.iter().zip(&tracked.scene.state.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(moved > 0.01, "and the rest is free: {moved}");
    }
}

#[test]
fn a_moved_scene_gives_the_moved_result() {
    let pair = Pair::cube(2);
    let turn = Mat3::from_rotation_z(0.7) * Mat3::from_rotation_x(-1.1);
    let shift = Vec3::new(3.0, -2.0, 5.0);
    let moved = |points: Vec<Vec3>| -> Vec<Vec3> { points.iter().map(|p| turn * *p + shift).collect() };
    let run = |gravity: Vec3, guide: &dyn Fn(f64) -> Vec<Vec3>| {
        let mut tracked = pair.tracked(Some(pair.averages()), pair.free(), gravity, linear(2));
        tracked.begin(&guide(0.0)).unwrap();
        (1..=10).for_each(|frame| advance(&mut tracked, guide, frame));
        tracked.scene.state.positions
    };
    let here = run(-9.81 * Vec3::Y, &|frame| twisting(&pair.rest, frame));
    let there = run(turn * (-9.81 * Vec3::Y), &|frame| moved(twisting(&pair.rest, frame)));
    let worst = moved(here).iter().zip(&there).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    // what solves leave (1e-10) grows in ten frames of buckling
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn what_follows_goes_on_when_its_guide_stops_dead() {
    // without friction inside: with it, what is left after two frames is less than what Newton's method may leave
    let pair = Pair { damping: 0.0, ..Pair::cube(3) };
    // the top twists until frame 8, then stands still: no pose of the guide after that tells that it ever moved
    let guide = |frame: f64| -> Vec<Vec3> {
        let turn = Mat3::from_rotation_y(4.0 * frame.min(8.0) / RATE);
        let middle = Vec3::new(0.25, 0.0, 0.25);
        pair.rest.iter().map(|p| if p.y > 0.25 { turn * (*p - middle) + middle } else { *p }).collect()
    };
    let speed = |frame: f64| -> f64 {
        let pairs = guide(frame + 0.5).into_iter().zip(guide(frame - 0.5));
        pairs.map(|(a, b)| a.distance(b) * RATE).fold(0.0, f64::max)
    };
    let before = speed(7.0);
    assert!(before > 0.5 && speed(9.0) == 0.0);
    let stepping = Settings { tolerance: 1e-4, ..Settings::default() };
    let mut tracked = pair.tracked(Some(pair.averages()), pair.free(), Vec3::ZERO, stepping);
    tracked.begin(&guide(0.0)).unwrap();
    let mut poses = Vec::new();
    let mut fastest = Vec::new();
    for frame in 1..=14 {
        advance(&mut tracked, &guide, frame);
        poses.push(tracked.scene.state.positions.clone());
        fastest.push(tracked.scene.state.velocities.iter().map(|v| v.length()).fold(0.0, f64::max));
        if frame > 9 {
            let means = tracked.shell().averages().unwrap().tracked.multiply(&tracked.scene.state.velocities);
            let mean = means.iter().map(|v| v.length()).fold(0.0, f64::max);
            assert!(mean < 1e-9, "its averages have stopped with the guide: {mean}");
        }
    }
    // a frame and two after the stop some points still move with a good part of the old speed
    assert!(fastest[8] > before && fastest[9] > 0.5 * before, "{before} {fastest:?}");
    // a method that looks at one frame alone gives equal results for equal frames
    let still_moving = poses[8].iter().zip(&poses[9]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(still_moving > 0.0005, "{still_moving}");
}

/// Bending at the guide's inner points, and elsewhere: the mean over points of the fold angles around them.
fn bending(pair: &Pair, x: &[Vec3]) -> [f64; 2] {
    let mut bent = vec![0.0; x.len()];
    for hinge in Topology::new(x.len(), &pair.fine_triangles).hinges() {
        let points = |from: &[Vec3]| hinge.vertices.map(|v| from[v as usize]);
        let Some(element) = Hinge::new(&points(&pair.fine_rest), 1.0) else { continue };
        let angle = element.angle(&points(x)).abs();
        hinge.vertices[..2].iter().for_each(|&v| bent[v as usize] += angle);
    }
    let inner = |p: &Vec3| p.x > 0.1 && p.x < 0.9 && p.y > 0.1 && p.y < 0.9;
    [true, false].map(|anchors| {
        let of = |v: &usize| (*v < pair.rest.len()) == anchors && inner(&pair.fine_rest[*v]);
        let values: Vec<f64> = (0..x.len()).filter(of).map(|v| bent[v]).collect();
        values.iter().sum::<f64>() / values.len() as f64
    })
}

#[test]
fn pointwise_constraints_tug_and_averages_do_not() {
    let pair = Pair::sheet(3);
    // bending at anchors of a guide whose every point moves by `way`, and the worst ratio of that to elsewhere
    let run = |pointwise: bool, way: &dyn Fn(Vec3) -> f64| -> (f64, f64) {
        let guide = |frame: f64| -> Vec<Vec3> {
            pair.rest.iter().map(|p| *p + way(*p) * (1.3 * frame).sin() * Vec3::Z).collect()
        };
        let anchors = (0..pair.fine_rest.len()).map(|v| v < pair.rest.len()).collect();
        let mut tracked = match pointwise {
            true => pair.tracked(None, anchors, Vec3::ZERO, linear(4)),
            false => pair.tracked(Some(pair.averages()), pair.free(), Vec3::ZERO, linear(4)),
        };
        tracked.begin(&guide(0.0)).unwrap();
        let mut worst = (0.0_f64, 0.0_f64);
        for frame in 1..=8 {
            advance(&mut tracked, &guide, frame);
            let [at_anchors, elsewhere] = bending(&pair, &tracked.scene.state.positions);
            worst = (worst.0.max(at_anchors), worst.1.max(at_anchors / elsewhere));
        }
        worst
    };
    // figure 3: a sharp acceleration of the whole. Averages push every point alike: nothing bends.
    let shaken = |_: Vec3| 0.12;
    let (tugged, averaged) = (run(true, &shaken), run(false, &shaken));
    assert!(tugged.0 > 0.5 && tugged.1 > 3.0, "anchors stick out: {tugged:?}");
    assert!(averaged.0 < 1e-6, "{averaged:?}");
    // figure 4: a bump that rapidly grows and shrinks
    let bump = |p: Vec3| 0.12 * (std::f64::consts::PI * p.x).sin() * (std::f64::consts::PI * p.y).sin();
    let (tugged, averaged) = (run(true, &bump), run(false, &bump));
    assert!(tugged.0 > 2.5 * averaged.0 && tugged.1 > 1.5 * averaged.1, "{tugged:?} against {averaged:?}");
}

#[test]
fn a_limited_pull_bends_the_material_and_does_not_stretch_it() {
    let pair = Pair::sheet(2);
    // the guide is drawn out to one and a half times its length, and comes back
    let guide = |frame: f64| -> Vec<Vec3> {
        let longer = 1.0 + 0.5 * (std::f64::consts::PI * frame / 16.0).sin().max(0.0);
        pair.rest.iter().map(|p| Vec3::new(longer * p.x, p.y, p.z)).collect()
    };
    let run = |pull: Option<f64>| {
        let stepping = linear(4);
        let mut tracked = pair.tracked_up_to(pull, Some(pair.averages()), pair.free(), Vec3::ZERO, stepping);
        tracked.begin(&guide(0.0)).unwrap();
        let (mut stretch, mut gap, mut slipping) = (0.0_f64, 0.0_f64, 0);
        for frame in 1..=16 {
            advance(&mut tracked, &guide, frame);
            let strain = Strain::measure(tracked.shell().membranes(), &tracked.scene.state.positions);
            stretch = stretch.max(strain.max_stretch);
            let here = guide(frame as f64);
            gap = gap.max(
                tracked.shell().gaps(&tracked.scene.state, &here).iter().map(|g| g.1).fold(0.0, f64::max),
            );
            let slips = |row: &usize| tracked.shell().slips(&tracked.scene.state, *row);
            slipping = slipping.max((0..25).filter(slips).count());
            assert!(tracked.residual(&here) < 1e-9, "what does not slip is exact");
        }
        (stretch, gap, slipping)
    };
    let (stretched, reached, _) = run(None);
    assert!(stretched > 0.4 && reached < 1e-9, "{stretched} {reached}");
    let (kept, missed, slipping) = run(Some(10.0));
    assert!(kept < 0.25 * stretched && missed > 0.05 && slipping > 0, "{kept} {missed} {slipping}");
    // by the limits of silk alone: three percent, and averages are as near as that allows
    let (kept, missed, slipping) = run(Some(f64::INFINITY));
    assert!(kept < 0.06 && (0.1..0.35).contains(&missed) && slipping > 0, "{kept} {missed} {slipping}");
}

#[test]
fn guides_that_fold_over_or_shrink_to_a_point_are_followed_in_as_many_steps_as_it_takes() {
    let pair = Pair::cube(2);
    let folded = |frame: f64| -> Vec<Vec3> {
        let turn = Mat3::from_rotation_z(std::f64::consts::PI * (frame / 6.0).min(1.0));
        pair.rest.iter().map(|p| if p.x > 0.25 { turn * *p } else { *p }).collect()
    };
    let shrunk = |frame: f64| -> Vec<Vec3> {
        let size = (1.0 - frame / 6.0).max(0.0);
        pair.rest.iter().map(|p| size * (*p - Vec3::splat(0.25))).collect()
    };
    for guide in [&folded as &dyn Fn(f64) -> Vec<Vec3>, &shrunk] {
        let stepping = Settings { tolerance: 1e-3, ..Settings::default() };
        let mut tracked = pair.tracked(Some(pair.averages()), pair.free(), Vec3::ZERO, stepping);
        tracked.begin(&guide(0.0)).unwrap();
        for frame in 1..=8 {
            advance(&mut tracked, guide, frame);
            let residual = tracked.residual(&guide(frame as f64));
            assert!(residual < 1e-9, "frame {frame}: {residual}");
            assert!(tracked.scene.state.positions.iter().all(|p| p.is_finite() && p.length() < 5.0));
        }
    }
}
