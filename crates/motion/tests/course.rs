//! A hurdle in the way, and a run that becomes a walk and ends in a jump: what must be true of each, and what is not without physics.

#![allow(clippy::print_stderr)] // what was measured is said aloud

mod common;

use std::sync::{Arc, LazyLock};

use common::{apart, take_of};
use geometry::Vec3;
use motion::{
    Body, Build, Data, Guide, Learning, Moment, Prior, Relief, Repair, Repaired, Spline, Take, Terrain,
};
use samples::Course;

fn build() -> Build {
    Build { mass: Some(72.0), ..Build::default() }
}

/// Runs it and checks what must hold of any motion.
fn made(repair: &Repair, take: &Take) -> Repaired {
    let begun = std::time::Instant::now();
    let result = repair.run(take).unwrap();
    let report = &result.report;
    eprintln!(
        "{} frames, {} iterations, {:.1} s: residual {:.1e}, slip {:.2} mm, penetration {:.2} mm, joints {:.0} mm",
        take.frame_count(),
        result.solution.iterations,
        begun.elapsed().as_secs_f64(),
        report.root_residual,
        1e3 * report.slip,
        1e3 * report.penetration,
        1e3 * report.follow_mean,
    );
    assert!(result.solution.converged, "{} iterations, {report:?}", result.solution.iterations);
    assert!(report.root_residual < 1e-6 && report.cone_violations == 0, "{report:?}");
    assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
    for key in &result.keys {
        assert!(key.off < 1e-3 && key.turned < 0.1_f64.to_radians(), "{key:?}");
    }
    result
}

/// How deep the deepest point of the soles is below a ground, in m, four times a frame.
fn depth(result: &Repaired, terrain: &Terrain) -> f64 {
    let (body, spline) = (&result.body, &result.solution.spline);
    let (mut data, mut moment) = (Data::new(body), Moment::new(body));
    let mut deepest: f64 = 0.0;
    for quarter in 0..=4 * (spline.frame_count() - 1) {
        spline.at(body, 0.25 * quarter as f64 * spline.step, &mut moment);
        data.kinematics(body, &moment.q);
        for sole in &result.soles {
            deepest = deepest.max(-terrain.height(data.point(body, sole.joint, sole.point)));
        }
    }
    deepest
}

#[test]
fn a_hurdle_is_stepped_over_and_without_it_walked_through() {
    let clip = samples::hurdle();
    let take = take_of(&clip, 0, 1);
    let ground = &clip.meshes[1];
    let points: Vec<Vec3> = ground.rest_points.iter().map(|p| Vec3::from_array(p.map(f64::from))).collect();
    let triangles: Vec<[u32; 3]> =
        ground.faces.triangles().map(|t| t.map(|vertex| ground.vertex_points[vertex as usize])).collect();
    let hurdle = Terrain::Relief(Relief::new(&points, &triangles).unwrap());
    let level = made(&Repair { follow: 0.1, build: build(), ..Repair::default() }, &take);
    let over =
        made(&Repair { onto: Some(hurdle.clone()), follow: 0.1, build: build(), ..Repair::default() }, &take);
    let (through, deep) = (depth(&level, &hurdle), depth(&over, &hurdle));
    eprintln!(
        "deepest point below the hurdle's surface: {:.1} mm, without it {:.1} mm",
        1e3 * deep,
        1e3 * through
    );
    // at frames it is a millimetre at most, as checked above; between them, where nothing is asked, 4.9 mm
    assert!(deep < 0.01 && through > 0.1, "{deep} {through}");
    // the hips do not climb what the feet step over
    let height = |take: &Take| take.roots.iter().map(|root| root.y).fold(0.0, f64::max);
    let rise = height(&over.take) - height(&level.take);
    assert!(rise < 0.12, "{rise}");
}

/// Frames without contact, in runs of four and more.
fn flights(result: &Repaired) -> Vec<std::ops::Range<usize>> {
    let (mut flights, mut start) = (Vec::new(), 0);
    let count = result.solution.forces.len();
    for frame in 0..=count {
        if frame == count || !result.solution.forces[frame].is_empty() {
            if frame >= start + 4 {
                flights.push(start..frame);
            }
            start = frame + 1;
        }
    }
    flights
}

/// In a flight: how far the centre of mass is from a parabola of g at most, in m, and how far the angular momentum about it is from its
/// mean at most, as a share of its mean length.
fn flight(body: &Body, spline: &Spline, frames: std::ops::Range<usize>) -> (f64, f64) {
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let (mut data, mut moment) = (Data::new(body), Moment::new(body));
    let mut unused = vec![0.0; body.dof_count()];
    let states: Vec<(Vec3, Vec3)> = frames
        .map(|frame| {
            spline.frame(body, frame, &mut moment);
            data.inverse_dynamics(body, &moment.q, &moment.v, &moment.a, gravity, &mut unused);
            let (center, momentum) = data.momentum();
            (center, momentum.angular)
        })
        .collect();
    let last = states.len() - 1;
    // from the first frame to the last, with what time makes of g: any other part is a straight line
    let seconds = last as f64 * spline.step;
    let (from, to) = (states[0].0, states[last].0);
    let velocity = (to - from) / seconds - gravity * (0.5 * seconds);
    let off = |frame: usize| {
        let t = frame as f64 * spline.step;
        states[frame].0.distance(from + velocity * t + gravity * (0.5 * t * t))
    };
    let mean = states.iter().map(|state| state.1).sum::<Vec3>() / states.len() as f64;
    let spin = states.iter().map(|state| state.1.length()).sum::<f64>() / states.len() as f64;
    let changes = states.iter().map(|state| state.1.distance(mean)).fold(0.0, f64::max);
    ((0..=last).map(off).fold(0.0, f64::max), changes / spin)
}

static COURSE: LazyLock<Take> = LazyLock::new(|| take_of(&Course::default().clip(30.0), 0, 1));

/// Two other courses: one slower, one faster.
static PRIOR: LazyLock<Arc<Prior>> = LazyLock::new(|| {
    let courses = [Course { speed: 2.1, flight: 0.34 }, Course { speed: 2.45, flight: 0.42 }];
    let takes: Vec<Take> = courses.iter().map(|course| take_of(&course.clip(30.0), 0, 1)).collect();
    Arc::new(Prior::learn(&takes, &Learning { inducing: 100, ..Learning::default() }).unwrap())
});

#[test]
fn a_run_a_walk_and_a_jump_come_out_of_one_model_and_fly_as_bodies_do() {
    let take = &*COURSE;
    let keys: Vec<usize> =
        [0.5, 1.1, 1.6, 2.1, 2.9, 3.4, 4.3].map(|t| (t * 30.0_f64).round() as usize).to_vec();
    let free = Repair { follow: f64::INFINITY, keys, build: build(), ..Repair::default() };
    let ours = made(&Repair { prior: Some(Guide::new(PRIOR.clone())), ..free.clone() }, take);
    let torque = made(&free, take);
    let (near, far) = (apart(&ours, take), apart(&torque, take));
    eprintln!("{near:.2} cm from how it was authored, {far:.2} with the least torque");
    assert!(near < 0.7 * far, "{near} {far}");
    let jump = flights(&ours).pop().unwrap();
    assert!(jump.len() >= 8, "{jump:?}");
    // rows hold at frames; between them quick limbs turn a few percent of the momentum, the more the quicker
    for (name, result) in [("with the prior", &ours), ("with the least torque", &torque)] {
        let (off, turned) = flight(&result.body, &result.solution.spline, jump.clone());
        eprintln!(
            "{name}, frames {jump:?} in the air: {:.3} mm off a parabola, momentum within {:.2} %",
            1e3 * off,
            100.0 * turned
        );
        assert!(off < 1e-3 && turned < 0.07, "{name}: {off} {turned}");
    }
    let authored = Spline::through(&ours.body, &take.coordinates(&ours.body), 1.0 / 30.0).unwrap();
    let (off, turned) = flight(&ours.body, &authored, jump.clone());
    assert!(off > 3e-3 && turned > 0.1, "as authored: {off} {turned}");
}
