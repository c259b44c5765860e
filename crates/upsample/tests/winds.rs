//! A small flag in winds that it was not trained on.

#![allow(clippy::print_stdout)] // the figures that the book quotes

use std::f64::consts::TAU;

use geometry::Vec3;
use live::{Detail, Frame, LiveCloth, Mesh, Operator, Parts, Settings, Skin, Wind};
use upsample::{
    Aligned, Harmonics, Learning, Motion, Pairs, Tracking, Wave, barycentric, learn, smooth_subdivision,
    track, travelling_waves, weights,
};

const TESTS: usize = 20;
const RATE: f64 = 30.0;

/// A flag of 1.2 × 0.8 m whose hoist is at x = 0.
fn sheet(columns: u32, rows: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let place = |i: u32, j: u32| {
        Vec3::new(1.2 * f64::from(i) / f64::from(columns), -0.8 * f64::from(j) / f64::from(rows), 0.0)
    };
    let points = (0..=rows).flat_map(|j| (0..=columns).map(move |i| place(i, j))).collect();
    let cells = (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j)));
    let cut =
        |(i, j)| [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]];
    (points, cells.flat_map(cut).collect())
}

struct Flag {
    parts: Parts,
    harmonics: Harmonics,
    subdivision: geometry::Prolongation,
    flat: geometry::Prolongation,
}

fn flag() -> Flag {
    let ((coarse, coarse_triangles), (fine, triangles)) = (sheet(9, 6), sheet(24, 16));
    let subdivision = smooth_subdivision(&coarse, &coarse_triangles, &fine).unwrap();
    let flat = barycentric(&coarse, &coarse_triangles, &fine).unwrap();
    let singles = |points: &[Vec3]| points.iter().map(|p| p.as_vec3().to_array()).collect();
    let mesh = |points: &[Vec3], triangles: &[[u32; 3]]| Mesh {
        rest: singles(points),
        triangles: triangles.to_vec(),
    };
    let held = |i: usize| if i.is_multiple_of(10) { 1.0 } else { 0.0 };
    let parts = Parts {
        subdivision: weights(&subdivision),
        coarse_skin: (0..70).map(|i| Skin::rigid(0, held(i))).collect(),
        fine_skin: (0..17).map(|j| (25 * j, Skin::rigid(0, 1.0))).collect(),
        joints: vec!["Pole".into()],
        settings: Settings {
            density: 0.2,
            bend: 5e-3,
            compression: 0.2,
            damping: 1.0,
            ..Settings::default()
        },
        ..Parts::new(mesh(&coarse, &coarse_triangles), mesh(&fine, &triangles))
    };
    let harmonics = Harmonics::new(&fine, &triangles, 150).unwrap();
    Flag { parts, harmonics, subdivision, flat }
}

fn wind(speed: f64) -> Wind {
    Wind { velocity: [0.96 * speed as f32, 0.0, 0.28 * speed as f32], gusts: 0.0 }
}

fn pairs(flag: &Flag, speed: f64, frames: usize) -> Pairs {
    let motion = Motion {
        frame_rate_hz: RATE,
        frames,
        settle: 3.0,
        skin: &|_| vec![live::IDENTITY],
        wind: wind(speed),
        obstacles: &|_| Vec::new(),
        planes: &[],
    };
    let material = shell::Material {
        compression: 1.0,
        bend_warp: 1e-3,
        bend_weft: 1e-3,
        damping: 0.1,
        area_density: 0.2,
        ..shell::Material::default()
    };
    let tracking = Tracking { tests: TESTS, substeps: 3, material };
    track(&flag.parts, &flag.harmonics, &motion, &tracking).unwrap()
}

fn shown(operator: &Operator<Vec<u8>>, pairs: &Pairs) -> Vec<Vec<[f32; 3]>> {
    let mut scratch = operator.scratch();
    let show = |coarse: &Vec<[f32; 3]>| {
        let mut fine = vec![[0.0; 3]; operator.counts().fine];
        operator.apply(coarse, Detail::default(), &mut scratch, &mut fine).unwrap();
        fine
    };
    pairs.coarse.iter().map(show).collect()
}

/// Root mean square height of a wave, m.
fn height(wave: &Wave) -> f64 {
    let squares: f64 = wave.amplitudes.iter().map(|e| e[0] * e[0] + e[1] * e[1]).sum();
    (squares / wave.amplitudes.len() as f64).sqrt()
}

/// The operator learnt in a wind of 5 m/s, and its strongest wave.
fn learnt(flag: &Flag) -> (Parts, Operator<Vec<u8>>) {
    let training = pairs(flag, LEARNT, 180);
    let aligned = Aligned { correspondence: &flag.flat, tests: TESTS };
    let learning = Learning::default();
    let learnt = learn(&training, &flag.subdivision, &flag.harmonics, Some(aligned), &learning).unwrap();
    let mut parts =
        Parts { detail: Some(learnt.factor.clone()), known: learnt.known as f32, ..flag.parts.clone() };
    let still = Operator::read(parts.write().unwrap()).unwrap();
    let waves = waves_in(flag, &still, &training);
    println!("learnt at {LEARNT} m/s: {:.3} Hz, {:.1} mm", hertz(&waves[0]), 1e3 * height(&waves[0]));
    parts.modes = vec![waves[0].mode(RATE, LEARNT)];
    let operator = Operator::read(parts.write().unwrap()).unwrap();
    (parts, operator)
}

/// What the fine simulation does beyond what is shown without waves.
fn waves_in(flag: &Flag, operator: &Operator<Vec<u8>>, pairs: &Pairs) -> Vec<Wave> {
    let shown = shown(operator, pairs);
    travelling_waves(&shown, pairs, &flag.parts.fine.triangles, 0.02, 1).unwrap()
}

fn hertz(wave: &Wave) -> f64 {
    wave.theta * RATE / TAU
}

/// m/s
const LEARNT: f64 = 5.0;

#[test]
fn waves_keep_the_frequency_of_the_fine_simulation_in_winds_that_were_not_learnt() {
    let flag = flag();
    let (parts, operator) = learnt(&flag);
    for speed in [3.5, 6.0, 7.0] {
        // a second in this wind, by the run time's own clock
        let mut turned = 0.0;
        let mut phase = [0.0_f32];
        for _ in 0..60 {
            let before = phase[0];
            operator.advance_waves(&mut phase, speed as f32, 1.0 / 60.0).unwrap();
            turned += f64::from((phase[0] - before).rem_euclid(TAU as f32));
        }
        let ours = turned / TAU;
        let fine = waves_in(&flag, &operator, &pairs(&flag, speed, 180));
        let theirs = hertz(&fine[0]);
        println!(
            "{speed} m/s: ours {ours:.3} Hz, fine simulation {theirs:.3} Hz ({:.1} mm, {:.0} % of what is left)",
            1e3 * height(&fine[0]),
            100.0 * fine[0].explains
        );
        assert!((ours / theirs - 1.0).abs() < 0.15, "{speed} m/s: {ours} Hz, fine simulation {theirs} Hz");
    }
    nothing_jumps_and_still_air_has_no_waves(&parts);
}

/// On a flag that stands still, so that what moves is waves.
fn nothing_jumps_and_still_air_has_no_waves(parts: &Parts) {
    let make = |parts: &Parts| LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    let mut cloth = make(parts);
    let highest = parts.modes[0].amplitudes.iter().map(|e| e[0].hypot(e[1])).fold(0.0, f32::max);
    let coarse = parts.coarse.rest.clone();
    let frame = |speed: f64, hertz: f32| Frame {
        skin: &[live::IDENTITY],
        wind: wind(speed),
        ..Frame::new(1.0 / hertz)
    };
    let apart = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        let gap = |(a, b): (&[f32; 3], &[f32; 3])| {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
        };
        a.iter().zip(b).map(gap).fold(0.0, f32::max)
    };
    cloth.show(&coarse, &frame(0.0, 60.0), &[]).unwrap();
    let mut last = cloth.points().to_vec();
    let (mut farthest, mut most) = (0.0_f32, 0.0_f32);
    let still = last.clone();
    for index in 0..360 {
        // gusts that come at once and are gone at once
        let speed = [0.0, 10.0, 2.0, 7.0, 0.0][index / 60 % 5];
        cloth.show(&coarse, &frame(speed, 60.0), &[]).unwrap();
        farthest = farthest.max(apart(&last, cloth.points()));
        most = most.max(apart(&still, cloth.points()));
        last = cloth.points().to_vec();
    }
    assert!(most > highest, "waves are {most} m high at most, learnt {highest}");
    assert!(farthest < 0.4 * highest, "{farthest} m from one frame to the next, waves of {highest} m");
    // three seconds of still air
    for _ in 0..180 {
        cloth.show(&coarse, &frame(0.0, 60.0), &[]).unwrap();
    }
    let mut bare = make(&Parts { modes: Vec::new(), ..parts.clone() });
    bare.show(&coarse, &frame(0.0, 60.0), &[]).unwrap();
    assert!(cloth.points() == bare.points() && cloth.normals() == bare.normals());
    // 30 and 120 frames a second show one wave
    let ends = [30, 120].map(|hertz| {
        let mut cloth = make(parts);
        for index in 0..2 * hertz {
            let speed = if index < hertz / 2 { 3.0 } else { 8.0 };
            cloth.show(&coarse, &frame(speed, hertz as f32), &[]).unwrap();
        }
        cloth.points().to_vec()
    });
    assert!(apart(&ends[0], &ends[1]) < 1e-3 * highest, "{}", apart(&ends[0], &ends[1]));
}
