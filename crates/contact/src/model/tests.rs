//! The contact model, call by call, against closed forms: scenes that end well do not show a wrong factor.

use std::sync::Arc;

use dynamics::{ContactModel, Span, StageConstraint, StageStart, StepBound};
use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern};

use super::BarrierContact;
use crate::testing::folded_sheet;
use crate::{Attachment, AuditedSurface, CollisionSurface, Error, PairKind, Shape, Sides, audit, plane};
use geometry::Random;

const SECONDS: f64 = 0.01;
/// d̂ of leaves with sides of 0.1 m.
const DHAT: f64 = 3e-3;
const MASSES: [f64; 3] = [0.5, 2.0, 3.0];
const FREE: [bool; 3] = [false; 3];

/// Three points at a height.
fn leaf(y: f64) -> Vec<Vec3> {
    vec![Vec3::new(0.0, y, 0.0), Vec3::new(0.0, y, 0.1), Vec3::new(0.1, y, 0.0)]
}

fn above(obstacle: CollisionSurface) -> BarrierContact {
    let cloth = CollisionSurface::free("leaf", leaf(0.0), vec![[0, 1, 2]]);
    BarrierContact::new(vec![cloth], Attachment::identity(3), vec![obstacle]).expect("sound")
}

/// A leaf and the ground, which is rougher: μ = √(0.4·0.9) = 0.6.
fn on_the_ground() -> BarrierContact {
    let ground = plane("ground", Vec3::ZERO, Vec3::Y, 20.0).expect("sound");
    above(CollisionSurface { friction: 0.9, ..ground })
}

/// A leaf and a box of 0.8 m about the origin.
fn on_a_box() -> BarrierContact {
    above(Shape::Box { half_size: Vec3::splat(0.4) }.surface("box", 0.8).expect("sound"))
}

fn shifted(x: &[Vec3], by: Vec3) -> Vec<Vec3> {
    x.iter().map(|p| *p + by).collect()
}

/// Obstacles go somewhere at a constant speed, from time 0 on.
fn span(from: &[Vec3], by: Vec3, duration: f64) -> Span {
    let velocities = vec![by / duration; from.len()];
    let positions = [from.to_vec(), shifted(from, by)];
    Span { start: 0.0, duration, positions, velocities: [velocities.clone(), velocities] }
}

fn begin(model: &mut BarrierContact, start: &[Vec3], guess: &[Vec3], known: &[bool], time: f64) {
    let masses = vec![MASSES[0]; start.len() - 3];
    let masses: Vec<f64> = MASSES.into_iter().chain(masses).collect();
    let stage =
        StageStart { start, carried: Vec3::ZERO, guess, masses: &masses, known, seconds: SECONDS, time };
    model.begin_stage(&stage).expect("sound");
}

/// Force and matrix of contact alone at x, when the body resists by `diagonal[i]` in all directions.
fn assembled(model: &mut BarrierContact, x: &[Vec3], diagonal: &[f64]) -> (Vec<Vec3>, Vec<Mat3>) {
    model.update(x).expect("sound");
    let all: Vec<u32> = (0..x.len() as u32).collect();
    let mut matrix = Matrix::new(Arc::new(Pattern::from_stencils(x.len(), [&all[..]])));
    for (i, value) in diagonal.iter().enumerate() {
        matrix.add(i as u32, i as u32, Mat3::IDENTITY * *value);
    }
    let mut force = vec![Vec3::ZERO; x.len()];
    model.assemble(x, x, &mut force, &mut matrix);
    let blocks = diagonal.iter().enumerate().map(|(i, value)| matrix.diagonal(i) - Mat3::IDENTITY * *value);
    (force, blocks.collect())
}

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-12), "{what}: {a} is not {b}");
}

/// b, −b′ and b″ of the barrier at u.
fn barrier(u: f64) -> [f64; 3] {
    let (log, rest) = (u.ln(), 1.0 - u);
    let curvature = -2.0 * log + 4.0 * rest / u + (rest / u).powi(2);
    [-rest * rest * log, rest * rest / u - 2.0 * rest * log, curvature]
}

/// κ is what the body resists, times how many times faster than 4d̂ per stage the two close; E = κd̂²b, f = −κd̂b′, H = κb″.
#[test]
fn a_barrier_is_as_stiff_as_what_it_holds() {
    let diagonal = [50.0, 80.0, 110.0];
    let start = leaf(0.4 * DHAT);
    for (fall, faster) in [(0.0, 1.0), (-0.5, 1.0), (3.9 * DHAT, 1.0), (8.0 * DHAT, 2.0), (1e6, 1e4)] {
        let mut model = on_the_ground();
        close(model.dhat(), DHAT, "d̂");
        begin(&mut model, &start, &shifted(&start, -fall * Vec3::Y), &[false, false, true], SECONDS);
        let (force, blocks) = assembled(&mut model, &start, &diagonal);
        assert_eq!(model.report().contacts, 3);
        let [value, slope, curvature] = barrier(0.4);
        let mut energy = 0.0;
        for i in 0..2 {
            let kappa = faster * diagonal[i];
            close(force[i].y, kappa * DHAT * slope, "force");
            close(blocks[i].y_axis.y, kappa * curvature, "stiffness");
            assert!(force[i].x.abs() + force[i].z.abs() < 1e-9 * force[i].y);
            energy += kappa * DHAT * DHAT * value;
        }
        assert_eq!(force[2], Vec3::ZERO, "what is known resists nothing");
        close(model.value(&start), energy, "energy");
        // κ stays for the stage, whatever the system becomes
        let again = assembled(&mut model, &start, &[1e3; 3]).0;
        assert_eq!(again, force);
        assert_eq!(model.value(&leaf(1.01 * DHAT)), 0.0, "beyond its reach");
    }
}

/// μN of the stage before; sticks with 10κ to where it was, slides at the cap, and drags its anchor along.
#[test]
fn friction_lags_by_a_stage() {
    let diagonal = [50.0, 80.0, 110.0];
    let start = leaf(0.4 * DHAT);
    let known = [false, false, true];
    let limit = |i: usize| 0.6 * diagonal[i] * DHAT * barrier(0.4)[1];
    let stick = |i: usize| 10.0 * diagonal[i];
    let mut model = on_the_ground();
    begin(&mut model, &start, &start, &known, SECONDS);
    assembled(&mut model, &start, &diagonal);
    model.end_stage(&start);
    let contacts = &model.state.friction_contacts;
    assert_eq!(contacts.len(), 2, "what is known has none");
    for (i, contact) in contacts.iter().enumerate() {
        assert_eq!((contact.pair.kind, contact.pair.points[0]), (PairKind::VertexTriangle, i as u32));
        close(contact.friction.limit, limit(i), "limit");
        close(contact.friction.stiffness, stick(i), "stiffness");
        assert!(
            contact
                .friction
                .slip(&contact.pair.gather(&[start.clone(), model.obstacle_positions().to_vec()].concat()))
                .length()
                < 1e-15
        );
    }
    let slack = limit(0) / stick(0);
    for (way, expected) in [(0.5 * slack, 0.5), (3.0 * slack, 1.0)] {
        model.commit();
        begin(&mut model, &start, &start, &known, SECONDS);
        let there = shifted(&start, way * Vec3::X);
        let (force, _) = assembled(&mut model, &there, &diagonal);
        for i in 0..2 {
            close(force[i].x, -expected * limit(i), "against the slip");
        }
        model.end_stage(&there);
        let points = [there.clone(), model.obstacle_positions().to_vec()].concat();
        for (i, contact) in model.state.friction_contacts.iter().enumerate() {
            let slip = contact.friction.slip(&contact.pair.gather(&points));
            close(slip.x, expected * limit(i) / stick(i), "what is left of the slip");
        }
        model.rewind();
    }
}

/// Crossed leaves: each edge through a triangle is pulled by 20·speed/(mobility·stage), with the drag that ends at the speed.
#[test]
fn crossed_surfaces_are_drawn_apart_at_the_right_scale() {
    let blade = [Vec3::new(0.02, -0.03, 0.02), Vec3::new(0.04, -0.03, 0.03), Vec3::new(0.03, 0.04, 0.025)];
    let rest = [leaf(0.0), blade.to_vec()].concat();
    let cloth = CollisionSurface::free("leaves", rest.clone(), vec![[0, 1, 2], [3, 4, 5]]);
    let mut model = BarrierContact::new(vec![cloth], Attachment::identity(6), Vec::new()).expect("sound");
    let known = [false, true, false, false, false, false];
    begin(&mut model, &rest, &rest, &known, SECONDS);
    assert_eq!((model.report().crossings, model.report().inside), (1, 0));
    let mut x = rest.clone();
    x[5] += Vec3::new(0.0, -1e-3, 5e-4);
    for x in [rest.clone(), x] {
        let (force, blocks) = assembled(&mut model, &x, &[70.0; 6]);
        let (mut expected, mut stiffness) = (vec![Vec3::ZERO; 6], [0.0; 6]);
        let contour_forces = model.intersections.contour_forces(&model.mesh, &x, 1.0, 1.0);
        assert_eq!(contour_forces.len(), 2, "two edges of the blade");
        for (points, contour) in contour_forces {
            let places = points.map(|p| p as usize);
            let masses = [MASSES[0], f64::INFINITY, MASSES[2], MASSES[0], MASSES[0], MASSES[0]];
            let mobility: f64 = (0..5).map(|k| contour.weights[k].powi(2) / masses[places[k]]).sum();
            let strength = 20.0 * 0.5 / (mobility * SECONDS);
            let v: Vec3 =
                (0..5).map(|k| contour.weights[k] * (x[places[k]] - rest[places[k]]) / SECONDS).sum();
            for k in 0..5 {
                expected[places[k]] += contour.weights[k] * strength * (contour.direction - v / 0.5);
                stiffness[places[k]] += contour.weights[k].powi(2) * strength / (0.5 * SECONDS);
            }
        }
        for i in 0..6 {
            assert!(
                force[i].distance(expected[i]) < 1e-9 * (1.0 + expected[i].length()),
                "{i}: {}",
                force[i]
            );
            close(blocks[i].x_axis.x, stiffness[i], "drag");
        }
        assert!(force.iter().map(|f| f.length()).sum::<f64>() > 1.0);
    }
}

/// Inside a solid: m/Δt² towards the nearest place outside, and d̂ beyond it, so that half of the way is gone in a stage.
#[test]
fn what_is_inside_is_led_out() {
    let solid = Shape::Box { half_size: Vec3::splat(0.4) }.surface("box", 0.8).expect("sound");
    let mut model = above(CollisionSurface { sides: Sides::Front, ..solid });
    let x = leaf(0.35);
    begin(&mut model, &x, &x, &[false, true, false], SECONDS);
    assert_eq!((model.report().crossings, model.report().inside), (0, 3));
    let (force, blocks) = assembled(&mut model, &x, &[70.0; 3]);
    for i in [0, 2] {
        let stiffness = MASSES[i] / (SECONDS * SECONDS);
        let way = (0.05 + model.dhat) * Vec3::Y;
        assert!(force[i].distance(stiffness * way) < 1e-9 * stiffness, "{}", force[i]);
        close(blocks[i].x_axis.x, stiffness, "stiffness");
    }
    assert_eq!(force[1], Vec3::ZERO, "known");
}

#[test]
fn targets_are_where_the_animation_is() {
    let mut model = on_the_ground();
    let rest = model.obstacle_positions().to_vec();
    model.sample_targets(7.0);
    assert_eq!(model.targets, rest, "nothing to follow");
    model.follow(span(&rest, 0.02 * Vec3::Y, 0.1), &[]).expect("sound");
    for (time, rise) in [(0.0, 0.0), (0.05, 0.01), (0.1, 0.02)] {
        model.sample_targets(time);
        let lift = |i: usize| model.targets[i] - rest[i];
        (0..3).for_each(|i| assert!(lift(i).distance(rise * Vec3::Y) < 1e-12, "{time}: {}", lift(i)));
    }
    begin(&mut model, &leaf(0.5), &leaf(0.5), &FREE, 0.05);
    assert!(model.obstacle_displacements().iter().all(|d| d.distance(0.01 * Vec3::Y) < 1e-12));
    model.freeze();
    assert_eq!(model.obstacle_displacements(), [Vec3::ZERO; 3]);
    model.advance_obstacles(0.1);
    assert_eq!(model.obstacle_positions(), shifted(&rest, 0.02 * Vec3::Y));
    model.rewind();
    assert_eq!(model.obstacle_positions(), rest, "nothing was committed");
    model.advance_obstacles(0.1);
    model.commit();
    model.rewind();
    assert_eq!(model.obstacle_positions(), shifted(&rest, 0.02 * Vec3::Y));
    let bytes = model.to_bytes();
    let mut other = on_the_ground();
    assert!(other.restore(&bytes) && !other.restore(&bytes[8..]));
    assert_eq!(other.obstacle_positions(), model.obstacle_positions());
    assert_eq!(other.to_bytes(), bytes);
}

/// An obstacle that was cut is at once where its span begins; what is held back further than four sizes is lost.
#[test]
fn a_cut_takes_an_obstacle_there_and_a_motion_does_not() {
    let size = 0.8 * 3.0_f64.sqrt();
    for cut in [false, true] {
        let mut model = on_a_box();
        let rest = model.obstacle_positions().to_vec();
        model.state.may_intersect = false;
        let there = shifted(&rest, 3.0 * size * Vec3::X);
        model.follow(span(&there, 0.1 * Vec3::X, 0.1), &[cut]).expect("sound");
        assert_eq!(model.obstacle_positions(), if cut { there } else { rest });
        assert_eq!((model.report().teleported, model.state.may_intersect), (cut, cut));
    }
    for (behind, is_lost) in [(3.99, false), (4.01, true)] {
        let mut model = on_a_box();
        let rest = model.obstacle_positions().to_vec();
        model.place_obstacles(&shifted(&rest, behind * size * Vec3::X)).expect("sound");
        model.follow(span(&rest, Vec3::ZERO, 0.1), &[]).expect("sound");
        assert_eq!(model.report().teleported, is_lost);
    }
    let mut model = on_a_box();
    let rest = model.obstacle_positions().to_vec();
    let mut broken = span(&rest, Vec3::ZERO, 0.1);
    broken.positions[1][2].z = f64::NAN;
    let error = model.follow(broken, &[]).expect_err("not finite");
    assert_eq!(error, Error::NotFinite { surface: "box".into(), point: 2 });
    for end in 0..2 {
        let mut short = span(&rest, Vec3::ZERO, 0.1);
        short.positions[end].pop();
        assert!(matches!(model.follow(short, &[]), Err(Error::Sizes { .. })));
    }
    assert!(matches!(model.place_obstacles(&rest[1..]), Err(Error::Sizes { .. })));
}

/// A quarter of the obstacle's size in a step, and that many substeps where it is near.
#[test]
fn obstacles_go_no_further_in_a_step_than_can_be_seen() {
    let furthest = 0.25 * 0.8 * 3.0_f64.sqrt();
    let mut model = on_a_box();
    let rest = model.obstacle_positions().to_vec();
    model.place_obstacles(&shifted(&rest, -Vec3::X)).expect("sound");
    model.follow(span(&rest, Vec3::ZERO, 0.1), &[]).expect("sound");
    begin(&mut model, &leaf(2.0), &leaf(2.0), &FREE, 0.1);
    for d in model.obstacle_displacements() {
        assert!(d.distance(furthest * Vec3::X) < 1e-12, "{d}");
    }
    for (y, seconds, way, expected) in
        [(0.402, 0.1, 1.0, 1.0), (0.402, 0.05, 1.0, 0.5), (0.402, 0.1, 0.25, 0.25), (2.0, 0.1, 1.0, 0.0)]
    {
        let mut model = on_a_box();
        model.follow(span(&rest, way * Vec3::X, 0.1), &[]).expect("sound");
        begin(&mut model, &leaf(y), &leaf(y), &FREE, 0.0);
        close(model.required_substeps(seconds), expected / furthest, "substeps");
    }
    assert_eq!(on_a_box().required_substeps(1.0), 0.0, "nothing to follow");
    // what is held back by more than its way and half its size gets no further by shorter steps
    for (behind, expected) in
        [(0.1 + 0.99 * 2.0 * furthest, 0.1 / furthest), (0.1 + 1.01 * 2.0 * furthest, 0.0)]
    {
        let mut model = on_a_box();
        model.follow(span(&rest, 0.1 * Vec3::X, 0.1), &[]).expect("sound");
        begin(&mut model, &leaf(0.402), &leaf(0.402), &FREE, 0.0);
        model.targets = shifted(&rest, behind * Vec3::Z);
        close(model.required_substeps(0.1), expected, "held");
    }
}

#[test]
fn a_free_way_is_told_from_one_that_is_not() {
    let free = |from: f64, to: f64, rise: f64| {
        let mut model = on_the_ground();
        let rest = model.obstacle_positions().to_vec();
        model.follow(span(&rest, rise * Vec3::Y, 0.1), &[]).expect("sound");
        model.is_step_collision_free(&leaf(from), &leaf(to), 0.1).expect("sound")
    };
    assert!(free(0.1, 0.05, 0.0) && free(0.1, 1.02 * DHAT, 0.0));
    assert!(!free(0.1, 0.98 * DHAT, 0.0) && !free(0.1, -0.1, 0.0), "within its reach, or through");
    assert!(!free(0.98 * DHAT, 0.1, 0.0), "active from the start");
    assert!(!free(0.05, 0.05, 0.1) && free(0.05, 0.15, 0.1), "the ground comes");
    assert!(!free(-0.1, 0.1, 0.0), "behind");
    let mut model = on_the_ground();
    assert!(matches!(
        model.is_step_collision_free(&leaf(0.1)[1..], &leaf(0.1), 0.1),
        Err(dynamics::Error::Contact(_))
    ));
    // where the list is right at the start, that decides; elsewhere the whole way
    let likely = |model: &mut BarrierContact, from: f64, to: f64| {
        model.is_likely_collision_free(&leaf(from), &leaf(to), 0.1).expect("sound")
    };
    assert!(!likely(&mut model, 0.1, -0.1), "no list yet");
    begin(&mut model, &leaf(0.1), &leaf(0.1), &FREE, 0.1);
    assert!(likely(&mut model, 0.1, -0.1));
    begin(&mut model, &leaf(0.5 * DHAT), &leaf(0.1), &FREE, 0.1);
    assert!(!likely(&mut model, 0.5 * DHAT, 0.1), "active");
}

/// Down on the ground: to the margin; the ground comes: taken along; known: the ground waits, and the report says by how much.
#[test]
fn steps_are_limited_and_obstacles_wait() {
    let mut model = on_the_ground();
    begin(&mut model, &leaf(0.05), &leaf(-0.05), &FREE, SECONDS);
    let mut delta = vec![-0.1 * Vec3::Y; 3];
    let bound = model.limit_step(&leaf(0.05), &mut delta).expect("sound");
    assert_eq!(bound, StepBound { shortened: 3, ..StepBound::default() });
    for d in &delta {
        let left = 0.05 + d.y;
        assert!((0.4 * DHAT..0.44 * DHAT).contains(&left), "{left}");
    }
    let mut short = vec![-0.01 * Vec3::Y; 3];
    let bound = model.limit_step(&leaf(0.05), &mut short).expect("sound");
    assert_eq!((bound.shortened, short), (0, vec![-0.01 * Vec3::Y; 3]));

    let rest = model.obstacle_positions().to_vec();
    for (known, waits) in [([false; 3], false), ([true; 3], true)] {
        let mut model = on_the_ground();
        model.follow(span(&rest, 0.1 * Vec3::Y, 0.1), &[]).expect("sound");
        begin(&mut model, &leaf(0.05), &leaf(0.05), &known, 0.1);
        let mut delta = vec![Vec3::ZERO; 3];
        let bound = model.limit_step(&leaf(0.05), &mut delta).expect("sound");
        let ground = model.obstacle_positions()[0].y;
        for d in &delta {
            assert!(0.05 + d.y > ground, "{d} {ground}");
        }
        model.end_stage(&shifted(&leaf(0.05), delta[0]));
        let report = model.report();
        if waits {
            assert!(ground < 0.05 && ground > 0.05 - 0.5 * DHAT, "{ground}");
            close(bound.lag, 0.1 - ground, "lag");
            close(report.lag, 0.1 - ground, "reported lag");
            assert_eq!((report.lagging, report.place), (Some((1, 0)), model.obstacle_positions()[0]));
            assert_eq!(delta, [Vec3::ZERO; 3]);
        } else {
            assert_eq!(model.obstacle_positions(), shifted(&rest, 0.1 * Vec3::Y));
            assert_eq!((bound.shortened, bound.lag), (3, 0.0));
            assert_eq!((report.lag, report.lagging), (0.0, None));
        }
    }
    // a kilometre away files of single precision hold no less than 0.4 mm
    let far = |y: f64| shifted(&leaf(y), 1e3 * Vec3::X);
    let ground = plane("ground", Vec3::ZERO, Vec3::Y, 1e3).expect("sound");
    let mut model =
        above(CollisionSurface { rest_positions: shifted(&ground.rest_positions, 1e3 * Vec3::X), ..ground });
    begin(&mut model, &far(1.5e-3), &far(0.0), &FREE, SECONDS);
    let largest = model.obstacle_positions().iter().fold(0.0_f64, |most, p| most.max(p.abs().max_element()));
    let mut delta = vec![-Vec3::Y; 3];
    model.limit_step(&far(1.5e-3), &mut delta).expect("sound");
    let left = 1.5e-3 + delta[0].y;
    assert!(left >= 4e-7 * largest && left < 1.03 * 4e-7 * largest, "{left} {largest}");
}

#[test]
fn lists_have_room_for_what_moves_and_stencils_for_what_is_near() {
    let model = on_the_ground();
    let slack = |way: f64| model.candidate_slack(&leaf(0.5), &shifted(&leaf(0.5), way * Vec3::Z));
    close(slack(0.0), 0.5 * DHAT, "at rest");
    close(slack(0.02), 0.01, "half of the way");
    close(slack(1.0), 0.15 * 0.1, "at most");
    for (y, active, soon) in [(0.9, true, true), (1.1, false, true), (1.4, false, true), (2.1, false, false)]
    {
        let mut model = on_the_ground();
        begin(&mut model, &leaf(y * DHAT), &leaf(y * DHAT), &FREE, SECONDS);
        model.update(&leaf(y * DHAT)).expect("sound");
        let (mut now, mut then) = (Vec::new(), Vec::new());
        model.stencils(&mut |points| now.push(points.to_vec()));
        model.candidate_stencils(&mut |points| then.push(points.to_vec()));
        let expected = |is: bool| if is { vec![vec![0], vec![1], vec![2]] } else { Vec::new() };
        assert_eq!(now, expected(active), "{y}");
        then.dedup();
        then.sort();
        then.dedup();
        assert_eq!(then, expected(soon), "{y}");
    }
}

/// Newton's step of a body that has come apart: every point is thrown through the whole scene, each somewhere else. All pairs meet on the
/// way, 40 million of them; that many are never looked at, and nothing is crossed.
#[test]
fn a_step_through_everything_is_shortened_and_not_looked_at_pair_by_pair() {
    let (points, triangles) = folded_sheet(40, 4, 0.02);
    let count = points.len();
    let cloth = CollisionSurface::free("cloth", points.clone(), triangles.clone());
    let mut model = BarrierContact::new(vec![cloth], Attachment::identity(count), Vec::new()).expect("sound");
    let (masses, known) = (vec![1e-3; count], vec![false; count]);
    let stage = StageStart {
        carried: Vec3::ZERO,
        start: &points,
        guess: &points,
        masses: &masses,
        known: &known,
        seconds: SECONDS,
        time: SECONDS,
    };
    model.begin_stage(&stage).expect("sound");
    let mut random = Random::new(5);
    let wanted: Vec<Vec3> = (0..count).map(|_| 30.0 * random.vec3()).collect();
    let mut delta = wanted.clone();
    let begun = std::time::Instant::now();
    let bound = model.limit_step(&points, &mut delta).expect("finite");
    assert!(bound.shortened > 0);
    assert!(model.candidates.list.len() <= 200 * count + 50_000, "{}", model.candidates.list.len());
    // 0.1 s on a quiet machine; pair by pair it is minutes
    assert!(begun.elapsed().as_secs_f64() < 20.0, "{:?}", begun.elapsed());
    let there: Vec<[f32; 3]> =
        points.iter().zip(&delta).map(|(x, d)| (*x + *d).as_vec3().to_array()).collect();
    let surface = AuditedSurface { name: "cloth", points: &there, triangles: &triangles, is_obstacle: false };
    assert_eq!(audit(&[surface]).expect("sound").len(), 0);
    // and it is no standstill
    assert!(delta.iter().any(|d| d.length() > 1e-4), "nothing moved");
}

/// What hangs on the same points of the body is parted no faster than twice what those points move by: with J how the two follow the body's
/// points, a pull of 20·speed/(ΣJ²/m·stage), at a speed of 0.5 m/s or ΣJ²/m over the largest J/m of m/s.
#[test]
fn crossed_surfaces_on_common_points_are_drawn_apart_as_these_can_follow() {
    let blade = [Vec3::new(0.02, -0.03, 0.02), Vec3::new(0.04, -0.03, 0.03), Vec3::new(0.03, 0.04, 0.025)];
    let rest = [leaf(0.0), blade.to_vec()].concat();
    for (shares, is_slower) in [([0.8, 0.9], true), ([0.1, 0.3], false)] {
        let share = |k: usize| shares[usize::from(k >= 3)];
        let cloth = CollisionSurface::free("leaves", rest.clone(), vec![[0, 1, 2], [3, 4, 5]]);
        let parts = (0..6).map(|k| [(k as u32, 1.0 - share(k)), (6, share(k))]);
        let mut model =
            BarrierContact::new(vec![cloth], Attachment::embedded(parts), Vec::new()).expect("sound");
        let body: Vec<Vec3> = (0..6).map(|k| rest[k] / (1.0 - share(k))).chain([Vec3::ZERO]).collect();
        let known = [false, true, false, false, false, false, false];
        begin(&mut model, &body, &body, &known, SECONDS);
        let (force, _) = assembled(&mut model, &body, &[70.0; 7]);
        let mut expected = [Vec3::ZERO; 7];
        for (points, contour) in model.intersections.contour_forces(&model.mesh, &rest, 1.0, 1.0) {
            let mut j = [0.0; 7];
            for (&p, w) in points.iter().zip(contour.weights) {
                j[p as usize] += w * (1.0 - share(p as usize));
                j[6] += w * share(p as usize);
            }
            let mass = |d: usize| if d < 3 { MASSES[d] } else { MASSES[0] };
            let free = || (0..7).filter(|d| !known[*d]);
            let mobility: f64 = free().map(|d| j[d] * j[d] / mass(d)).sum();
            let fastest = free().map(|d| j[d].abs() / mass(d)).fold(0.0, f64::max);
            let reach = (2.0 * mobility / fastest).min(1.0);
            assert_eq!(reach < 1.0, is_slower, "{reach}");
            let strength = 20.0 * 0.5 * reach / (mobility * SECONDS);
            (0..7).for_each(|d| expected[d] += j[d] * strength * contour.direction);
        }
        for d in (0..7).filter(|d| !known[*d]) {
            assert!(force[d].distance(expected[d]) < 1e-9 * expected[d].length(), "{d}: {}", force[d]);
        }
    }
}

/// The body's points of crossed triangles are coupled; those of an obstacle are no points of the body.
#[test]
fn crossed_triangles_couple_their_own_points_alone() {
    let blade =
        vec![Vec3::new(0.02, -0.03, 0.02), Vec3::new(0.04, -0.03, 0.03), Vec3::new(0.03, 0.04, 0.025)];
    let mut model = above(CollisionSurface::obstacle("blade", blade, vec![[0, 1, 2]]));
    let x = leaf(0.0);
    begin(&mut model, &x, &x, &FREE, SECONDS);
    assert_eq!(model.report().crossings, 1);
    let mut stencils = Vec::new();
    model.stencils(&mut |stencil| stencils.push(stencil.to_vec()));
    assert!(stencils.contains(&vec![0, 1, 2]), "{stencils:?}");
    assert!(stencils.iter().flatten().all(|&p| p < 3));
}

/// Obstacles that move along with everything else are not held back, however fast; beyond that they go a quarter of their size.
#[test]
fn obstacles_go_along_with_everything_and_a_quarter_of_their_size_beyond() {
    let mut model = on_a_box();
    let rest = model.obstacle_positions().to_vec();
    model.follow(span(&rest, 5.0 * Vec3::X, 0.1), &[]).expect("sound");
    for (drift, way) in [(5.0, 5.0), (4.9, 5.0), (2.0, 2.0 + 0.2 * 3.0_f64.sqrt())] {
        model.sample_targets(0.1);
        model.limit_obstacle_steps(drift * Vec3::X);
        for (target, place) in model.targets.iter().zip(&rest) {
            assert!(target.distance(*place + way * Vec3::X) < 1e-12, "{drift}: {target} from {place}");
        }
    }
}

/// Pinned points inside an obstacle have nothing to do with it; a body of another size is refused.
#[test]
fn pinned_points_inside_pass_through() {
    let solid = Shape::Box { half_size: Vec3::splat(0.4) }.surface("box", 0.8).expect("sound");
    let known = vec![true, false, true];
    let cloth = CollisionSurface { known, ..CollisionSurface::free("leaf", leaf(0.0), vec![[0, 1, 2]]) };
    let mut model = BarrierContact::new(vec![cloth], Attachment::identity(3), vec![solid]).expect("sound");
    let obstacles = model.obstacle_positions().to_vec();
    assert!(model.exempt_pinned(&leaf(0.35)[1..], &obstacles).is_err());
    model.exempt_pinned(&leaf(0.5), &obstacles).expect("sound");
    assert!(model.exemptions().is_empty(), "outside");
    model.exempt_pinned(&leaf(0.35), &obstacles).expect("sound");
    assert_eq!(model.exemptions().iter().collect::<Vec<_>>(), [(0, 1), (2, 1)]);
}
