//! The coarse cloth: what it does is cloth's, and the same at every frame rate.

mod common;

use common::{bits, cape, placed, walk};
use live::{
    Capsule, Format, Frame, Kernel, LiveCloth, Operator, Parts, Plane, Point, Settings, Simulator, Wind,
};

fn simulator(parts: &Parts) -> Simulator {
    Simulator::new(&Operator::read(parts.write().unwrap()).unwrap()).unwrap()
}

fn distance(a: Point, b: Point) -> f32 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f32>().sqrt()
}

fn farthest(a: &[Point], b: &[Point]) -> f32 {
    a.iter().zip(b).map(|(a, b)| distance(*a, *b)).fold(0.0, f32::max)
}

#[test]
fn free_cloth_falls_as_everything_does() {
    let mut parts = cape(6, 6, Format::Half);
    parts.coarse_skin.iter_mut().for_each(|skin| skin.attachment = 0.0);
    parts.capsules.clear();
    parts.settings = Settings { damping: 0.0, drag: 0.0, skin_drag: 0.0, ..Settings::default() };
    let mut cloth = simulator(&parts);
    let start = parts.coarse.rest.clone();
    for _ in 0..=30 {
        cloth.advance(&Frame { skin: &[live::IDENTITY], ..Frame::new(1.0 / 60.0) }).unwrap();
    }
    // symplectic Euler: g t²/2 to first order in the step of 1/600 s
    let fallen = start[0][1] - cloth.points()[0][1];
    assert!((fallen - 0.5 * 9.81 * 0.25).abs() < 9.81 * 0.5 / 600.0, "{fallen}");
    let shape = |p: &[Point]| distance(p[0], p[48]);
    assert!(
        (shape(cloth.points()) - shape(&start)).abs() < 1e-3,
        "{}",
        shape(cloth.points()) - shape(&start)
    );
}

#[test]
fn hanging_cloth_stretches_little_and_comes_to_rest() {
    let mut parts = cape(10, 10, Format::Half);
    parts.capsules.clear();
    parts.settings.damping = 2.0;
    let mut cloth = simulator(&parts);
    let mut largest: f32 = 0.0;
    for index in 0..600 {
        // pulled up by half a metre, quickly, and left alone
        let lift = (index as f32 / 60.0).min(0.25) * 2.0;
        cloth.advance(&Frame { skin: &[placed(0.0, [0.0, lift, 0.0])], ..Frame::new(1.0 / 60.0) }).unwrap();
        largest = largest.max(cloth.stretch());
    }
    assert!(largest < 0.05, "stretched by {largest}");
    let fastest = cloth.velocities().iter().map(|v| distance(*v, [0.0; 3])).fold(0.0, f32::max);
    assert!(fastest < 0.02, "{fastest} m/s after ten seconds");
}

#[test]
fn thirty_sixty_and_a_hundred_and_forty_four_frames_show_one_motion() {
    let parts = cape(10, 10, Format::Half);
    // joints go straight between frames, so every rate is shown the same path: corners lie on all three grids
    let corners: Vec<live::Transform> = (0..=12).map(|k| walk(k as f32 / 6.0)).collect();
    let path = |time: f32| {
        let k = ((time * 6.0) as usize).min(11);
        let t = time * 6.0 - k as f32;
        [0, 1, 2].map(|i| [0, 1, 2, 3].map(|j| corners[k][i][j] * (1.0 - t) + corners[k + 1][i][j] * t))
    };
    let run = |rate: usize| {
        let mut cloth = simulator(&parts);
        let mut shots = Vec::new();
        for index in 0..=2 * rate {
            let time = index as f32 / rate as f32;
            let wind = Wind { velocity: [0.0, 0.0, 1.0], gusts: 0.0 };
            cloth.advance(&Frame { skin: &[path(time)], wind, ..Frame::new(1.0 / rate as f32) }).unwrap();
            if (index * 6) % rate == 0 {
                shots.push(cloth.points().to_vec());
            }
        }
        shots
    };
    let (thirty, sixty, many) = (run(30), run(60), run(144));
    let gap =
        |a: &[Vec<Point>], b: &[Vec<Point>]| a.iter().zip(b).map(|(a, b)| farthest(a, b)).fold(0.0, f32::max);
    let moved = farthest(&sixty[0], &sixty[11]);
    assert!(moved > 0.5);
    // 600 steps a second are whole at 30 and 60; at 144 the last part of a step is a straight line
    let half_a_second = 4;
    assert!(gap(&thirty[..half_a_second], &sixty) < 1e-3 && gap(&sixty[..half_a_second], &many) < 1e-3);
    // later, round-off of the frames' lengths has grown as it does in cloth that buckles
    assert!(gap(&thirty, &sixty) < 0.04, "{}", gap(&thirty, &sixty));
    assert!(gap(&sixty, &many) < 0.04, "{}", gap(&sixty, &many));
}

#[test]
fn nothing_enters_capsules_balls_or_the_floor() {
    let mut parts = cape(12, 40, Format::Half);
    parts.fine_skin.clear();
    let mut cloth = LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    let floor = Plane { normal: [0.0, 1.0, 0.0], offset: -0.8 };
    let mut touched = 0;
    for index in 0..150 {
        let time = index as f32 / 60.0;
        let ball = Capsule { ends: [[0.45, -0.6, 2.0 - 2.0 * time]; 2], radii: [0.12; 2] };
        let (skin, obstacles, planes) = ([walk(0.3 * time)], [ball], [floor]);
        let frame = Frame { skin: &skin, obstacles: &obstacles, planes: &planes, ..Frame::new(1.0 / 60.0) };
        cloth.advance(&frame).unwrap();
        for p in cloth.points() {
            // held and half held points may be inside: skinning has put them there
            for capsule in cloth.simulator().capsules() {
                let [a, b] = capsule.ends;
                let nearest = (0..=64)
                    .map(|i| {
                        let s = i as f32 / 64.0;
                        let centre = [0, 1, 2].map(|k| a[k] + s * (b[k] - a[k]));
                        distance(*p, centre) - (capsule.radii[0] + s * (capsule.radii[1] - capsule.radii[0]))
                    })
                    .fold(f32::INFINITY, f32::min);
                assert!(nearest > -1e-3, "frame {index}: {nearest}");
                touched += usize::from(nearest < 0.012);
            }
            assert!(p[1] > -0.8 - 1e-4);
        }
    }
    assert!(touched > 100, "nothing was touched: {touched}");
}

/// Whether a segment goes through one of the triangles.
fn goes_through([a, b]: [Point; 2], points: &[Point], triangles: &[[u32; 3]]) -> bool {
    let sub = |p: Point, q: Point| [0, 1, 2].map(|i| p[i] - q[i]);
    let volume = |p: Point, q: Point, r: Point, s: Point| {
        let (u, v, w) = (sub(q, p), sub(r, p), sub(s, p));
        let [x, y, z] = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        x * w[0] + y * w[1] + z * w[2]
    };
    triangles.iter().any(|t| {
        let [p, q, r] = t.map(|v| points[v as usize]);
        let sides = [volume(a, b, p, q), volume(a, b, q, r), volume(a, b, r, p)];
        let through = sides.iter().all(|v| *v > 0.0) || sides.iter().all(|v| *v < 0.0);
        through && volume(a, p, q, r) * volume(b, p, q, r) < 0.0
    })
}

#[test]
fn an_elbow_thinner_than_the_mesh_is_wide_does_not_come_through() {
    let mut parts = cape(6, 24, Format::Half);
    parts.capsules.clear();
    let mut cloth = LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    let coarse = parts.coarse.triangles.clone();
    let mut pushed: f32 = 0.0;
    for index in 0..150 {
        // out by 40 cm in a fifth of a second between four points, away, and once more
        let time = index as f32 / 60.0;
        let tip = -0.15 + 0.4 * (15.0 * time).sin().max(-0.3);
        let elbow = Capsule { ends: [[0.09, -0.5, tip - 0.3], [0.09, -0.56, tip]], radii: [0.046, 0.037] };
        let obstacles = [elbow];
        let frame = Frame { skin: &[live::IDENTITY], obstacles: &obstacles, ..Frame::new(1.0 / 60.0) };
        cloth.advance(&frame).unwrap();
        assert!(!goes_through(elbow.ends, cloth.simulator().points(), &coarse), "frame {index}, coarse");
        assert!(!goes_through(elbow.ends, cloth.points(), cloth.triangles()), "frame {index}, fine");
        pushed = cloth.points().iter().map(|p| p[2]).fold(pushed, f32::max);
        assert!(cloth.simulator().stretch() < 0.06, "frame {index}: {}", cloth.simulator().stretch());
    }
    assert!(pushed > 0.28, "{pushed}");
}

#[test]
fn a_ball_wider_than_a_triangle_does_not_come_through_its_middle() {
    let mut parts = cape(6, 24, Format::Half);
    parts.capsules.clear();
    let mut cloth = simulator(&parts);
    let triangles = parts.coarse.triangles.clone();
    let (mut nearest, mut pushed): (f32, f32) = (f32::INFINITY, 0.0);
    for index in 0..150 {
        let time = index as f32 / 60.0;
        let centre = [0.05 * (3.0 * time).sin(), -0.5, -0.6 + 0.7 * time.min(1.0)];
        let ball = Capsule { ends: [centre; 2], radii: [0.3; 2] };
        let obstacles = [ball];
        let frame = Frame { skin: &[live::IDENTITY], obstacles: &obstacles, ..Frame::new(1.0 / 60.0) };
        cloth.advance(&frame).unwrap();
        for corners in triangles.iter().map(|t| t.map(|v| cloth.points()[v as usize])) {
            for (u, v) in (0..=8).flat_map(|u| (0..=8 - u).map(move |v| (u as f32 / 8.0, v as f32 / 8.0))) {
                let [a, b, c] = corners;
                let p = [0, 1, 2].map(|i| (1.0 - u - v) * a[i] + u * b[i] + v * c[i]);
                nearest = nearest.min(distance(p, centre) - 0.3);
                pushed = pushed.max(p[2]);
            }
        }
    }
    assert!(pushed > 0.3 && nearest < 0.02, "{pushed} {nearest}");
    // its chords were 14 mm deep while they might dip a part of the radius
    assert!(nearest > -2e-3, "{nearest}");
}

#[test]
fn a_teleported_cloth_keeps_its_shape_and_motion() {
    let mut parts = cape(8, 8, Format::Half);
    parts.settings.drag = 0.0;
    let mut stays = simulator(&parts);
    let mut goes = stays.clone();
    let jump = placed(0.0, [50.0, 3.0, -20.0]);
    let there = |t: live::Transform| {
        [0, 1, 2].map(|i| {
            let mut row = t[i];
            row[3] += jump[i][3];
            row
        })
    };
    for index in 0..80 {
        let skin = walk(index as f32 / 60.0);
        stays.advance(&Frame { skin: &[skin], ..Frame::new(1.0 / 60.0) }).unwrap();
        // seen by its speed alone
        let skin = if index < 40 { skin } else { there(skin) };
        goes.advance(&Frame { skin: &[skin], ..Frame::new(1.0 / 60.0) }).unwrap();
    }
    let back: Vec<Point> = goes.points().iter().map(|p| [0, 1, 2].map(|i| p[i] - jump[i][3])).collect();
    // digits of the joint at 50 m, and what cloth makes of them
    assert!(farthest(stays.points(), &back) < 0.02, "{}", farthest(stays.points(), &back));
    assert!(goes.stretch() < 0.05);
}

#[test]
fn a_kilometre_away_cloth_moves_as_it_does_here() {
    let mut parts = cape(8, 8, Format::Half);
    parts.capsules.clear();
    let run = |at: Point| {
        let mut cloth = simulator(&parts);
        for index in 0..60 {
            // a swing of half a metre that single precision can tell at either place
            let swing = (16.0 * (index as f32 / 10.0).sin()).round() / 32.0;
            let skin = [placed(0.0, [at[0] + swing, at[1], at[2]])];
            cloth.advance(&Frame { skin: &skin, ..Frame::new(1.0 / 60.0) }).unwrap();
        }
        let here: Vec<Point> = cloth.points().iter().map(|p| [0, 1, 2].map(|i| p[i] - at[i])).collect();
        here
    };
    let gap = farthest(&run([0.0; 3]), &run([1024.0, 0.0, -512.0]));
    // 6e-5 m are the digits there
    assert!(gap < 2e-3, "{gap}");
}

#[test]
fn wind_fills_a_sail_and_waves_follow_it() {
    let parts = cape(8, 16, Format::Half);
    let mut cloth = LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    let depth = |cloth: &LiveCloth<Vec<u8>>| cloth.simulator().points()[76][2];
    let run = |cloth: &mut LiveCloth<Vec<u8>>, speed: f32, frames: usize| {
        let wind = Wind { velocity: [0.0, 0.0, speed], gusts: 0.2 };
        for _ in 0..frames {
            cloth.advance(&Frame { skin: &[live::IDENTITY], wind, ..Frame::new(1.0 / 60.0) }).unwrap();
        }
    };
    run(&mut cloth, 0.0, 60);
    assert!(depth(&cloth).abs() < 0.1);
    run(&mut cloth, 6.0, 120);
    assert!(depth(&cloth) > 0.3, "{}", depth(&cloth));
}

#[test]
fn the_same_bits_by_every_kernel_and_every_time() {
    let bytes = cape(8, 20, Format::Eight).write().unwrap();
    let run = |kernel: Kernel| {
        let mut cloth = LiveCloth::new(Operator::read(&bytes[..]).unwrap().with_kernel(kernel)).unwrap();
        let wind = Wind { velocity: [2.0, 0.0, 1.0], gusts: 0.5 };
        for index in 0..60 {
            let skin = [walk(index as f32 / 60.0)];
            cloth.advance(&Frame { skin: &skin, wind, ..Frame::new(1.0 / 60.0) }).unwrap();
        }
        (bits(cloth.points()), bits(cloth.normals()))
    };
    let first = run(Kernel::PORTABLE);
    assert!(Kernel::available().all(|kernel| run(kernel) == first));
}

#[test]
fn bad_frames_change_nothing() {
    let parts = cape(6, 12, Format::Eight);
    let mut cloth = LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    let good = [walk(0.1)];
    cloth.advance(&Frame { skin: &good, ..Frame::new(1.0 / 60.0) }).unwrap();
    let before = bits(cloth.points());
    let mut bad = [walk(0.2)];
    bad[0][1][2] = f32::INFINITY;
    let balls = [Capsule { ends: [[0.0; 3]; 2], radii: [0.1; 2] }; 40];
    let say =
        |cloth: &mut LiveCloth<Vec<u8>>, frame: Frame<'_>| cloth.advance(&frame).unwrap_err().to_string();
    assert_eq!(say(&mut cloth, Frame { skin: &good, ..Frame::new(0.0) }), "seconds cannot be 0");
    assert_eq!(say(&mut cloth, Frame::new(0.1)), "1 joint transforms are needed, 0 were given");
    let frame = Frame { skin: &bad, ..Frame::new(0.1) };
    assert_eq!(say(&mut cloth, frame), "joint transform cannot be inf");
    let frame = Frame { skin: &good, obstacles: &balls, ..Frame::new(0.1) };
    assert_eq!(say(&mut cloth, frame), "40 obstacles are too many: at most 32");
    assert_eq!(bits(cloth.points()), before);
    // a hitch of an hour is a quarter of a second
    cloth.advance(&Frame { skin: &good, ..Frame::new(3600.0) }).unwrap();
    assert!(cloth.points().as_flattened().iter().all(|x| x.is_finite()));
    let mut parts = parts;
    parts.settings.rate_hz = 0.0;
    assert_eq!(Operator::read(parts.write().unwrap()).unwrap_err().to_string(), "rate_hz cannot be 0");
}
