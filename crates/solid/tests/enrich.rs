//! The claims of the paper, on a bar that is bent, swung and mistreated.

use geometry::{Embedding, Mat3, TetMesh, Vec3};
use solid::{
    AverageRows, EmbeddedSurface, Enrich, EnrichSettings, Law, Material, Pose, Solid, WeightKey,
    complementary_rows, surface_rows,
};

struct Bar {
    mesh: TetMesh,
    embedding: Embedding,
    areas: Vec<f64>,
    surface: Vec<Vec3>,
}

/// A bar of 0.6×0.1×0.1 m; its surface is finer than its tets.
fn bar() -> Bar {
    let size = Vec3::new(0.6, 0.1, 0.1);
    let mesh = TetMesh::box_grid([9, 2, 2], size).unwrap();
    let fine = TetMesh::box_grid([14, 3, 3], size).unwrap();
    let faces = fine.boundary_faces();
    let areas = geometry::vertex_areas(fine.points(), &faces);
    let on_surface: Vec<usize> = (0..areas.len()).filter(|&v| areas[v] > 0.0).collect();
    let surface: Vec<Vec3> = on_surface.iter().map(|&v| fine.points()[v]).collect();
    let areas = on_surface.iter().map(|&v| areas[v]).collect();
    let embedding = Embedding::new(&mesh, &surface).unwrap();
    Bar { mesh, embedding, areas, surface }
}

impl Bar {
    /// The weight of every vertex as a function of its rest place.
    fn enrich(
        &self,
        weight: impl Fn(Vec3) -> f64,
        averages: Option<AverageRows>,
        settings: EnrichSettings,
    ) -> Enrich {
        let solid = Solid::new(&self.mesh, Law::Stvk, &Material::preset("jelly").unwrap()).unwrap();
        let weights = self.surface.iter().map(|p| weight(*p)).collect();
        let keys = vec![WeightKey { time: 0.0, weights }];
        let surface = EmbeddedSurface { mesh: &self.mesh, embedding: &self.embedding, areas: &self.areas };
        Enrich::new(&surface, solid, keys, None, averages, settings).unwrap()
    }

    /// Swings about its end and bends, with ripples that the tets cannot represent.
    fn frame(&self, index: usize) -> Vec<Vec3> {
        let time = index as f64 / 24.0;
        let angle = 0.8 * (5.0 * time).sin();
        let of = |p: &Vec3| {
            let ripple = 0.002 * (60.0 * p.x + 9.0 * time).sin();
            let bent = *p + Vec3::new(0.0, 0.3 * p.x * p.x * (7.0 * time).sin() + ripple, 0.0);
            Mat3::from_rotation_z(angle) * bent + Vec3::new(0.3 * time, 1.0, 0.0)
        };
        self.surface.iter().map(of).collect()
    }

    /// Runs `count` frames and gives the last.
    fn run(&self, enrich: &mut Enrich, count: usize, frame: impl Fn(usize) -> Vec<Vec3>) -> Vec<Vec3> {
        let mut last = enrich.begin(&frame(0), Some(&frame(1))).unwrap();
        for index in 1..count {
            let next = (index + 1 < count).then(|| frame(index + 1));
            last = enrich.frame(index, &frame(index), next.as_deref()).unwrap();
            assert!(last.positions.iter().all(|p| p.is_finite()), "frame {index}");
        }
        last.positions
    }
}

fn held_end(p: Vec3) -> f64 {
    if p.x < 0.11 { 1.0 } else { 0.0 }
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum::<f64>() / a.len() as f64).sqrt()
}

#[test]
fn what_follows_is_identical_and_the_rest_moves() {
    let bar = bar();
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    let out = bar.run(&mut enrich, 12, |i| bar.frame(i));
    let input = bar.frame(11);
    let mut free = 0.0_f64;
    for v in 0..out.len() {
        if held_end(bar.surface[v]) >= 1.0 {
            assert_eq!(out[v], input[v], "to the bit");
        } else {
            free = free.max(out[v].distance(input[v]));
        }
    }
    assert!(free > 0.03, "the free end lags: {free}");
}

/// Detail preservation: ripples that tets cannot represent are still there when the tets do what the fit does.
#[test]
fn detail_survives_where_tets_are_too_coarse() {
    let bar = bar();
    let errors = [true, false].map(|detail| {
        let settings = EnrichSettings { simulate: false, detail, ..EnrichSettings::default() };
        let mut enrich = bar.enrich(|_| 0.0, None, settings);
        distance(&bar.run(&mut enrich, 4, |i| bar.frame(i)), &bar.frame(3))
    });
    assert!(errors[0] < 1e-9 && errors[1] > 3e-4, "{errors:?}");
}

#[test]
fn weights_lead_monotonically_from_physics_to_the_input() {
    let bar = bar();
    let away: Vec<f64> = [0.0, 0.25, 0.5, 0.75, 0.95, 1.0]
        .map(|weight| {
            let mut enrich = bar.enrich(|p| held_end(p).max(weight), None, EnrichSettings::default());
            let mut sum = 0.0;
            let mut last = enrich.begin(&bar.frame(0), Some(&bar.frame(1))).unwrap();
            for index in 1..10 {
                last = enrich.frame(index, &bar.frame(index), Some(&bar.frame(index + 1))).unwrap();
                sum += distance(&last.positions, &bar.frame(index));
            }
            if weight == 1.0 {
                assert_eq!(last.positions, bar.frame(9), "weight 1 everywhere returns the input");
            }
            sum
        })
        .to_vec();
    assert!(away.windows(2).all(|pair| pair[1] < pair[0]), "{away:?}");
    assert_eq!(away[5], 0.0);
}

/// Rigid motion of the guide: the fit is not strained at all, and steady flight leaves the flesh alone.
#[test]
fn rigid_motion_produces_no_strain() {
    let bar = bar();
    let rest = bar.surface.clone();
    let turned = |i: usize| -> Vec<Vec3> {
        let rotation = Mat3::from_axis_angle(Vec3::new(1.0, 2.0, 0.5).normalize(), 0.4 * i as f64);
        rest.iter().map(|p| rotation * *p + Vec3::new(0.1 * i as f64, 0.0, 2.0)).collect()
    };
    let settings = EnrichSettings { simulate: false, ..EnrichSettings::default() };
    let mut enrich = bar.enrich(held_end, None, settings);
    bar.run(&mut enrich, 5, turned);
    assert!(enrich.flesh().solid().strain(&enrich.state().positions).0 < 1e-4);

    let flying =
        |i: usize| -> Vec<Vec3> { rest.iter().map(|p| *p + Vec3::new(0.2, 0.1, 0.0) * i as f64).collect() };
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    let out = bar.run(&mut enrich, 8, flying);
    assert!(enrich.flesh().solid().strain(&enrich.state().positions).0 < 1e-4);
    assert!(distance(&out, &flying(7)) < 1e-5);
}

/// Parts inverted, collapsed to a plane, exploding, teleporting, frozen: the flesh stays near and its energy bounded.
#[test]
fn no_guide_makes_it_blow_up() {
    let bar = bar();
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    };
    let frames: Vec<Vec<Vec3>> = (0..9)
        .map(|index| {
            let shift =
                if index == 5 { Vec3::new(40.0, 0.0, 0.0) } else { Vec3::new(random(), random(), random()) };
            let noise = if index % 4 == 1 { 0.2 } else { 0.005 };
            let of = |p: &Vec3| {
                let q = match index % 8 {
                    2 => Vec3::new(-p.x, p.y, p.z),
                    3 => Vec3::new(p.x, 0.0, p.z),
                    6 => *p * 5.0,
                    7 => Vec3::ZERO,
                    _ => *p,
                };
                q + 0.2 * shift
            };
            bar.surface.iter().map(|p| of(p) + noise * Vec3::new(random(), random(), random())).collect()
        })
        .collect();
    let settings = EnrichSettings { fit_tolerance: 5e-3, ..EnrichSettings::default() };
    let mut enrich = bar.enrich(held_end, None, settings);
    enrich.begin(&frames[0], Some(&frames[1])).unwrap();
    for index in 1..frames.len() {
        let next = frames.get(index + 1).map(Vec::as_slice);
        let out = enrich.frame(index, &frames[index], next).unwrap();
        let [kinetic, elastic] = enrich.energies();
        // jelly of 3 kPa and 6 litres, thrown across 8 m in a frame: 100 kJ is generous and finite
        assert!(
            kinetic.is_finite() && elastic.is_finite() && kinetic + elastic < 1e6,
            "{index}: {kinetic} {elastic}"
        );
        assert!(out.positions.iter().all(|p| p.is_finite() && p.length() < 100.0), "frame {index}");
    }
}

/// A cut takes the flesh along: it is as near to the animation after it as before.
#[test]
fn a_cut_does_not_tear_the_flesh() {
    let bar = bar();
    let cut = |i: usize| -> Vec<Vec3> {
        let away = if i >= 5 { Vec3::new(30.0, 4.0, 0.0) } else { Vec3::ZERO };
        bar.frame(i).iter().map(|p| *p + away).collect()
    };
    let [whole, parted] = [false, true].map(|parted| {
        let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
        let out = bar.run(&mut enrich, 8, |i| if parted { cut(i) } else { bar.frame(i) });
        distance(&out, &if parted { cut(7) } else { bar.frame(7) })
    });
    assert!(parted < 2.0 * whole, "{parted} {whole}");
}

#[test]
fn a_checkpoint_goes_on_to_the_bit() {
    let bar = bar();
    let mut whole = bar.enrich(held_end, None, EnrichSettings::default());
    whole.begin(&bar.frame(0), Some(&bar.frame(1))).unwrap();
    whole.frame(1, &bar.frame(1), Some(&bar.frame(2))).unwrap();
    let bytes = whole.to_bytes();
    let expected = whole.frame(2, &bar.frame(2), Some(&bar.frame(3))).unwrap();
    let mut resumed = bar.enrich(held_end, None, EnrichSettings::default());
    assert!(resumed.restore(&bytes));
    let got = resumed.frame(2, &bar.frame(2), Some(&bar.frame(3))).unwrap();
    assert_eq!(got.positions, expected.positions);
}

/// Tracks on a solid: the averages of the surface are the animation's, to round-off, at every frame.
#[test]
fn averages_of_the_surface_hold() {
    let bar = bar();
    let patches: Vec<Vec<f64>> = (0..3)
        .map(|k| {
            let inside = |p: &Vec3| p.x >= 0.2 * f64::from(k) && p.x < 0.2 * f64::from(k + 1) + 1e-9;
            let weights: Vec<f64> = (0..bar.areas.len())
                .map(|v| if inside(&bar.surface[v]) { bar.areas[v] } else { 0.0 })
                .collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|w| w / total).collect()
        })
        .collect();
    let settings = EnrichSettings { detail: false, ..EnrichSettings::default() };
    let mut enrich = bar.enrich(|_| 0.0, Some(surface_rows(&bar.embedding, &patches)), settings);
    let out = bar.run(&mut enrich, 8, |i| bar.frame(i));
    let input = bar.frame(7);
    for patch in &patches {
        let mean = |x: &[Vec3]| -> Vec3 { patch.iter().zip(x).map(|(w, x)| *w * *x).sum() };
        assert!(mean(&out).distance(mean(&input)) < 1e-9, "{}", mean(&out).distance(mean(&input)));
    }
    assert!(distance(&out, &input) > 1e-3, "and yet it moves");
}

/// Complementary dynamics: what a single bone could do, move and turn and scale the bar as a whole, physics does not do.
#[test]
fn physics_does_not_undo_the_rig() {
    let bar = bar();
    let solid = Solid::new(&bar.mesh, Law::Stvk, &Material::preset("jelly").unwrap()).unwrap();
    let ones = vec![1.0; bar.mesh.points().len()];
    let rows = complementary_rows(bar.mesh.points(), &solid.masses, std::slice::from_ref(&ones), &[], &ones);
    let check = rows.rows.clone();
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let mut enrich = bar.enrich(|_| 0.0, Some(rows), EnrichSettings { gravity, ..EnrichSettings::default() });
    let out = bar.run(&mut enrich, 8, |i| bar.frame(i));
    let (state, Pose { fits, .. }) = (enrich.state(), enrich.flesh().pose());
    let moved: Vec<Vec3> = state.positions.iter().zip(&fits[1]).map(|(x, fit)| *x - *fit).collect();
    for value in check.multiply(&moved) {
        assert!(value.length() < 1e-8, "{value}");
    }
    assert!(distance(&out, &bar.frame(7)) > 1e-3, "and yet it moves");
}

#[test]
fn mistakes_are_told() {
    let bar = bar();
    let solid = Solid::new(&bar.mesh, Law::Stvk, &Material::default()).unwrap();
    let new = |areas: &[f64], weights: Vec<f64>| {
        let surface = EmbeddedSurface { mesh: &bar.mesh, embedding: &bar.embedding, areas };
        let keys = vec![WeightKey { time: 0.0, weights }];
        Enrich::new(&surface, solid.clone(), keys, None, None, EnrichSettings::default())
            .err()
            .map(|e| e.to_string())
    };
    let count = bar.surface.len();
    assert!(new(&bar.areas, vec![1.5; count]).is_some_and(|e| e.contains("weight of vertex 0 is 1.5")));
    assert!(new(&bar.areas, vec![f64::NAN; count]).is_some());
    assert!(new(&bar.areas, vec![0.0; 3]).is_some_and(|e| e.contains("expected")));
    assert!(new(&vec![0.0; count], vec![0.0; count]).is_some_and(|e| e.contains("no vertex is animated")));
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    let mut broken = bar.frame(0);
    broken[4].y = f64::NAN;
    assert!(enrich.begin(&broken, None).is_err_and(|e| e.to_string().contains("vertex 4")));
}

/// Whoever moves along sees the same, at the start, after a pre-roll, with averages, and behind a cut.
#[test]
fn a_constant_velocity_changes_nothing() {
    let bar = bar();
    let patch = |k: usize| -> Vec<f64> {
        let inside = |v: usize| bar.surface[v].x >= 0.15 && (bar.surface[v].x < 0.4) == (k == 0);
        let weights: Vec<f64> =
            (0..bar.areas.len()).map(|v| if inside(v) { bar.areas[v] } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| 0.7 * w / total).collect()
    };
    let rows = surface_rows(&bar.embedding, &[patch(0), patch(1)]).compliant(1e-2);
    for pre_roll in [0.0, 0.1] {
        let run = |velocity: Vec3| {
            let frame = |i: usize| -> Vec<Vec3> {
                let cut = if i >= 3 { Vec3::new(30.0, 4.0, 0.0) } else { Vec3::ZERO };
                bar.frame(i).iter().map(|p| *p + cut + i as f64 / 24.0 * velocity).collect()
            };
            let settings = EnrichSettings { pre_roll, ..EnrichSettings::default() };
            let mut enrich = bar.enrich(held_end, Some(rows.clone()), settings);
            bar.run(&mut enrich, 6, frame).iter().map(|p| *p - 5.0 / 24.0 * velocity).collect::<Vec<_>>()
        };
        let (still, moving) = (run(Vec3::ZERO), run(Vec3::new(17.0, -3.0, 5.0)));
        assert!(distance(&still, &moving) < 1e-4, "{pre_roll}: {}", distance(&still, &moving));
        let settings = EnrichSettings { pre_roll, ..EnrichSettings::default() };
        let uncut = bar.run(&mut bar.enrich(held_end, Some(rows.clone()), settings), 6, |i| bar.frame(i));
        assert!(distance(&still, &uncut) > 1.0);
    }
}

/// A pre-roll lets gravity act for as long as it says: a free bar falls by g t²/2 before the first frame.
#[test]
fn a_pre_roll_takes_its_seconds() {
    let bar = bar();
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let settings = EnrichSettings { gravity, pre_roll: 0.5, ..EnrichSettings::default() };
    let mut enrich = bar.enrich(|_| 0.0, None, settings);
    let first = enrich.begin(&bar.surface, Some(&bar.surface)).unwrap();
    let mean = |x: &[Vec3]| x.iter().sum::<Vec3>() / x.len() as f64;
    let fall = mean(&first.positions).y - mean(&bar.surface).y;
    assert!((fall + 0.5 * 9.81 * 0.25).abs() < 1e-3, "{fall}");
}

/// Averages that follow from the others are left out and named; a few of them all.
#[test]
fn what_is_left_out_is_named() {
    let bar = bar();
    let solid = Solid::new(&bar.mesh, Law::Stvk, &Material::preset("jelly").unwrap()).unwrap();
    let ones = vec![1.0; bar.mesh.points().len()];
    for (bones, count, has_more) in [(2, "4, ", false), (5, "16, ", true)] {
        let bones = vec![ones.clone(); bones];
        let rows = complementary_rows(bar.mesh.points(), &solid.masses, &bones, &[], &ones);
        let enrich = bar.enrich(|_| 0.0, Some(rows), EnrichSettings::default());
        let notes = dynamics::Actor::notes(enrich.flesh());
        let (_, note) = notes.iter().find(|(name, _)| name == "averages left out").expect("a note");
        assert!(note.starts_with(count) && note.contains("bone 1 along x"), "{note}");
        assert_eq!(note.ends_with('…'), has_more, "{note}");
    }
}

/// In the first frame the tets lie in it, and move as the animation goes on: a bar that goes along steadily is as it was from the
/// beginning.
#[test]
fn the_first_frame_is_fitted_with_the_way_it_goes() {
    let bar = bar();
    let way = Vec3::new(0.02, 0.01, -0.03);
    let place =
        |i: usize| -> Vec<Vec3> { bar.surface.iter().map(|p| *p + Vec3::Y + i as f64 * way).collect() };
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    enrich.begin(&place(0), Some(&place(1))).unwrap();
    for (x, p) in enrich.state().positions.iter().zip(bar.mesh.points()) {
        assert!(x.distance(*p + Vec3::Y) < 1e-7, "{x}");
    }
    for v in &enrich.state().velocities {
        assert!(v.distance(24.0 * way) < 1e-5, "{v}");
    }
    let Pose { fits, .. } = enrich.flesh().pose();
    for [before, here, next] in fits[0].iter().zip(&fits[1]).zip(&fits[2]).map(|((a, b), c)| [*a, *b, *c]) {
        assert!((here - before).distance(way) < 1e-7 && (next - here).distance(way) < 1e-7);
    }
    // a bent frame takes iterations
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    enrich.begin(&bar.frame(2), Some(&bar.frame(4))).unwrap();
    let bent = *enrich.flesh().fitted();
    assert!(bent.iterations > 0 && bent.error > 0.0 && bent.error < 2e-3, "{bent:?}");
}

/// A steady motion that is cut to another place, and goes on there in another direction: flesh that was at rest in it still is.
#[test]
fn a_cut_of_a_steady_motion_leaves_no_trace() {
    let bar = bar();
    let (way, turn) = (Vec3::new(0.04, 0.01, 0.0), Mat3::from_rotation_z(1.2));
    let frame = |i: usize| -> Vec<Vec3> {
        let along = |p: &Vec3| *p + i as f64 * way;
        let cut = |p: Vec3| if i >= 4 { turn * p + Vec3::new(20.0, 3.0, -7.0) } else { p };
        bar.surface.iter().map(along).map(cut).collect()
    };
    let mut enrich = bar.enrich(held_end, None, EnrichSettings::default());
    let mut out = enrich.begin(&frame(0), Some(&frame(1))).unwrap();
    for i in 1..8 {
        out = enrich.frame(i, &frame(i), Some(&frame(i + 1))).unwrap();
        assert!(distance(&out.positions, &frame(i)) < 1e-5, "{i}: {}", distance(&out.positions, &frame(i)));
    }
    assert!(!out.reset);
    let expected = 24.0 * (turn * way);
    for v in &enrich.state().velocities {
        assert!(v.distance(expected) < 1e-3, "{v} {expected}");
    }
}
