//! What is learnt holds on motion that was not learnt from; small cloths, authored here.

use std::f64::consts::{PI, TAU};

use geometry::{Mat3, Vec3, vertex_areas};
use live::{Detail, LiveCloth, Mesh, Operator, Parts};
use upsample::{
    Base, Error, Harmonics, Learning, Moments, Pairs, Penalty, Regression, band_energy, barycentric, compare,
    learn, rms_distance, smooth_subdivision, travelling_waves, weights,
};

/// A square of side 1 with n × n cells.
fn square(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: u32, j: u32| j * (n + 1) + i;
    let step = 1.0 / f64::from(n);
    let points =
        (0..=n).flat_map(|j| (0..=n).map(move |i| step * Vec3::new(f64::from(i), f64::from(j), 0.0)));
    let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
    let triangles = cells
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();
    (points.collect(), triangles)
}

/// How a motion bends and draws the cloth at a time.
fn dials(t: f64, motion: usize) -> (f64, f64, f64) {
    match motion {
        0 => ((2.1 * t).sin(), (1.3 * t).cos(), (0.7 * t).sin()),
        1 => ((3.7 * t + 1.0).sin(), (0.4 * t).cos() * (2.9 * t).sin(), (1.9 * t).cos()),
        _ => ((5.0 * t).sin().powi(3), (2.2 * t).cos(), (3.1 * t + 0.5).sin() * (0.3 * t).cos()),
    }
}

/// Coarse cloth that swings, bends and is drawn together along x, seen from anywhere.
fn coarse_shape(p: Vec3, t: f64, motion: usize) -> Vec3 {
    let (a, b, c) = dials(t, motion);
    let bent = Vec3::new(
        (0.85 + 0.12 * a) * p.x,
        p.y,
        0.15 * b * (PI * p.x).sin() * p.y + 0.1 * c * (PI * p.y).cos() * p.x,
    );
    Mat3::from_rotation_y(0.5 * t) * bent + Vec3::new(t, 0.0, 0.3 * t)
}

/// Fine cloth over it: pleats as deep as the cloth is bent, more so where it is drawn together, and some noise of its own that nothing
/// coarse explains. A linear operator cannot make folds of a flat shape: what is flat stays so under it.
fn fine_shape(p: Vec3, t: f64, motion: usize, state: &mut u64) -> Vec3 {
    let h = 1e-4;
    let at = |p: Vec3| coarse_shape(p, t, motion);
    let (dx, dy) = ((at(p + h * Vec3::X) - at(p)) / h, (at(p + h * Vec3::Y) - at(p)) / h);
    let normal = dx.cross(dy).normalize();
    let (a, b, c) = dials(t, motion);
    let pleats = 0.03 * b * (1.0 - 0.3 * a) * (4.0 * TAU * p.x).sin() * p.y;
    let creases = 0.02 * c * (3.0 * TAU * (p.x + p.y)).cos() * p.x;
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let noise = 0.008 * ((*state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5);
    at(p) + (pleats + creases + noise) * normal
}

struct Cloth {
    coarse: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    fine: Vec<Vec3>,
    fine_triangles: Vec<[u32; 3]>,
    subdivision: geometry::Prolongation,
    harmonics: Harmonics,
}

fn cloth() -> Cloth {
    let (coarse, triangles) = square(6);
    let (fine, fine_triangles) = square(28);
    let subdivision = smooth_subdivision(&coarse, &triangles, &fine).unwrap();
    let harmonics = Harmonics::new(&fine, &fine_triangles, 250).unwrap();
    Cloth { coarse, triangles, fine, fine_triangles, subdivision, harmonics }
}

fn pairs(cloth: &Cloth, motion: usize, frames: usize) -> Pairs {
    let mut pairs = Pairs::default();
    let mut state = 77 + motion as u64;
    for frame in 0..frames {
        let t = frame as f64 / 15.0;
        // the coarse cloth trembles by a millimetre, of which the fine one knows nothing
        let mut tremble = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            0.002 * ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
        };
        let shake = |p: &Vec3| coarse_shape(*p, t, motion) + Vec3::new(tremble(), tremble(), tremble());
        let coarse: Vec<Vec3> = cloth.coarse.iter().map(shake).collect();
        let fine = cloth.fine.iter().map(|p| fine_shape(*p, t, motion, &mut state)).collect();
        pairs.push(&coarse, fine);
    }
    pairs
}

fn singles(points: &[Vec3]) -> Vec<[f32; 3]> {
    points.iter().map(|p| p.as_vec3().to_array()).collect()
}

fn parts(cloth: &Cloth, learnt: &upsample::Learnt) -> Parts {
    let mesh = |points: &[Vec3], triangles: &[[u32; 3]]| Mesh {
        rest: singles(points),
        triangles: triangles.to_vec(),
    };
    Parts {
        subdivision: weights(&cloth.subdivision),
        detail: Some(learnt.factor.clone()),
        known: learnt.known as f32,
        ..Parts::new(mesh(&cloth.coarse, &cloth.triangles), mesh(&cloth.fine, &cloth.fine_triangles))
    }
}

fn shown(operator: &Operator<Vec<u8>>, pairs: &Pairs, detail: Detail) -> Vec<Vec<[f32; 3]>> {
    let mut scratch = operator.scratch();
    let show = |coarse: &Vec<[f32; 3]>| {
        let mut fine = vec![[0.0; 3]; operator.counts().fine];
        operator.apply(coarse, detail, &mut scratch, &mut fine).unwrap();
        fine
    };
    pairs.coarse.iter().map(show).collect()
}

#[test]
fn unseen_motion_is_nearer_than_any_subdivision_and_the_penalty_is_why() {
    let cloth = cloth();
    let training = pairs(&cloth, 0, 60);
    let learnt = learn(&training, &cloth.subdivision, &cloth.harmonics, None, &Learning::default()).unwrap();
    let operator = Operator::read(parts(&cloth, &learnt).write().unwrap()).unwrap();
    let flat = barycentric(&cloth.coarse, &cloth.triangles, &cloth.fine).unwrap();
    let base = Base::Subdivision(&cloth.subdivision);
    // least squares: the same without its penalty
    let moments = Moments::gather(&training, base, &cloth.harmonics, 0..60);
    let least = Regression::new(&moments).unwrap().solve(&moments, &Penalty::None.gammas(&cloth.harmonics));
    assert!(moments.squared_error(&least) <= moments.squared_error(&learnt.detail));
    let band = 30..200;
    for motion in [1, 2] {
        let test = pairs(&cloth, motion, 60);
        let found = shown(&operator, &test, Detail { strength: 1.0, fades: false });
        let measure =
            |found, base| compare(found, base, &test, &cloth.fine_triangles, &cloth.harmonics, band.clone());
        let ours = measure(Some(&found[..]), base);
        let smooth = measure(None, base);
        let linear = measure(None, Base::Subdivision(&flat));
        let best = smooth.rms.min(linear.rms);
        assert!(ours.rms < 0.85 * best, "motion {motion}: {ours:?}, Loop {smooth:?}, barycentric {linear:?}");
        assert!(ours.normal_deg < smooth.normal_deg, "motion {motion}: {ours:?} {smooth:?}");
        assert!((0.6..1.3).contains(&ours.band_energy), "motion {motion}: {ours:?}");
        let area = cloth.harmonics.weights.iter().sum::<f64>();
        let theirs = Moments::gather(&test, base, &cloth.harmonics, 0..60);
        let without = (theirs.squared_error(&least) / (area * 60.0)).sqrt();
        assert!(ours.rms < without, "motion {motion}: ours {}, least squares {without}", ours.rms);
    }
}

#[test]
fn strength_and_rank_come_from_stretches_left_out() {
    let cloth = cloth();
    let training = pairs(&cloth, 0, 100);
    let learning = Learning { detail: Some(0.2), ..Learning::default() };
    let learnt = learn(&training, &cloth.subdivision, &cloth.harmonics, None, &learning).unwrap();
    let report = &learnt.report;
    let strengths: Vec<_> = report.tried.iter().filter(|t| t.rank == 0).collect();
    let ranks: Vec<_> = report.tried.iter().filter(|t| t.rank > 0).collect();
    assert!(strengths.len() == 10 && ranks.len() > 3);
    let best = strengths.iter().map(|t| t.rms).fold(f64::INFINITY, f64::min);
    // the strongest of those that are as good as the best
    let good = strengths.iter().filter(|t| t.rms <= 1.03 * best).map(|t| t.strength).fold(0.0, f64::max);
    assert_eq!(report.chosen.strength, good);
    // what is left out is harder than what was learnt, and easier than without learning
    assert!(report.training_rms < report.chosen.rms && report.chosen.rms < report.smooth_rms, "{report:?}");
    // the same bits on one thread and on two
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let again =
        one.install(|| learn(&training, &cloth.subdivision, &cloth.harmonics, None, &learning).unwrap());
    assert_eq!(parts(&cloth, &again).write().unwrap(), parts(&cloth, &learnt).write().unwrap());
}

/// The search in the eigenbasis of P Pᵀ is the plain one: every try again, learnt and judged with whole matrices.
#[test]
fn what_was_tried_is_what_learning_and_judging_anew_would_give() {
    let cloth = cloth();
    let training = pairs(&cloth, 0, 60);
    let flat = barycentric(&cloth.coarse, &cloth.triangles, &cloth.fine).unwrap();
    let base = Base::Subdivision(&cloth.subdivision);
    let gather = |frames| Moments::gather(&training, base, &cloth.harmonics, frames);
    let stretches: Vec<Moments> = (0..5).map(|f| gather(12 * f..12 * f + 12)).collect();
    let all = gather(0..60);
    let scale = cloth.harmonics.weights.iter().sum::<f64>() * 60.0;
    for tests in [0, 9] {
        let aligned = (tests > 0).then_some(upsample::Aligned { correspondence: &flat, tests });
        let learnt =
            learn(&training, &cloth.subdivision, &cloth.harmonics, aligned, &Learning::default()).unwrap();
        // the first rows are those of the correspondence, whatever was tried
        let fixed = learnt.detail.as_ref().subrows(0, tests);
        let tried = &learnt.report.tried;
        assert!(tried.len() > 34);
        for tried in tried.iter().step_by(4) {
            let mut squared = 0.0;
            for stretch in &stretches {
                let mut rest = all.clone();
                rest.add(stretch, -1.0);
                let regression = Regression::new(&rest).unwrap();
                let a = tried.strength * regression.mean_value().sqrt();
                let penalty =
                    Penalty::profile_for_detail(a, tried.detail, 4.0, cloth.harmonics.area, cloth.fine.len());
                let mut detail = regression.solve(&rest, &penalty.gammas(&cloth.harmonics));
                detail.as_mut().subrows_mut(0, tests).copy_from(fixed);
                if tried.rank > 0 {
                    let whole = upsample::compress(&detail, &rest, &regression, 96).unwrap();
                    detail = whole.truncated(tried.rank).product();
                }
                squared += stretch.squared_error(&detail);
            }
            let plain = (squared / scale).sqrt();
            assert!((tried.rms / plain - 1.0).abs() < 1e-9, "{tried:?} {plain}");
        }
    }
}

#[test]
fn an_operator_of_eight_bits_is_as_good_as_one_of_thirty_two() {
    let cloth = cloth();
    let training = pairs(&cloth, 0, 80);
    let rms = |format| {
        let learning = Learning { format, ..Learning::default() };
        let learnt = learn(&training, &cloth.subdivision, &cloth.harmonics, None, &learning).unwrap();
        let operator = Operator::read(parts(&cloth, &learnt).write().unwrap()).unwrap();
        let found = shown(&operator, &training, Detail::default());
        (rms_distance(&found, &training.fine, &cloth.harmonics.weights), learnt.report.training_rms)
    };
    let ((eight, expected), (single, _)) = (rms(live::Format::Eight), rms(live::Format::Single));
    // 0.05 mm on a cloth of 1 m
    assert!((eight - single).abs() < 5e-5 && (single - expected).abs() < 5e-5, "{eight} {single} {expected}");
}

#[test]
fn a_live_cloth_runs_what_was_learnt() {
    let cloth = cloth();
    let learnt =
        learn(&pairs(&cloth, 0, 60), &cloth.subdivision, &cloth.harmonics, None, &Learning::default())
            .unwrap();
    let mut parts = parts(&cloth, &learnt);
    (0..7).for_each(|i| parts.coarse_skin[42 + i].attachment = 1.0);
    let mut live = LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    for _ in 0..60 {
        live.advance(&live::Frame { skin: &[live::IDENTITY], ..live::Frame::new(1.0 / 60.0) }).unwrap();
    }
    assert!(live.points().as_flattened().iter().all(|x| x.is_finite() && x.abs() < 3.0));
}

#[test]
fn harmonics_are_those_of_a_square_and_the_first_is_constant() {
    let (points, triangles) = square(28);
    let harmonics = Harmonics::new(&points, &triangles, 30).unwrap();
    // free edges: λ = π²(a² + b²), to second order in the cell's size
    let mut exact: Vec<f64> =
        (0..12).flat_map(|a| (0..12).map(move |b| PI * PI * f64::from(a * a + b * b))).collect();
    exact.sort_by(f64::total_cmp);
    for (found, exact) in harmonics.values.iter().zip(&exact) {
        assert!((found - exact).abs() <= 1e-8 + exact * exact / (4.0 * 28.0 * 28.0), "{found} {exact}");
    }
    let first = harmonics.functions[(0, 0)];
    assert!((0..points.len()).all(|i| (harmonics.functions[(i, 0)] - first).abs() < 1e-9));
    // conductance twice as large across: those tones twice as high
    let stiff = Mat3::from_diagonal(Vec3::new(2.0, 1.0, 1.0));
    let turned = Harmonics::with_conductance(&points, &triangles, 3, |_| stiff).unwrap();
    assert!(
        (turned.values[1] / (PI * PI) - 1.0).abs() < 0.01
            && (turned.values[2] / (2.0 * PI * PI) - 1.0).abs() < 0.01
    );
}

/// Painted functions stand beside those that tracking holds: all are orthonormal, the first stay, the others vary less where the paint says so.
#[test]
fn painted_harmonics_keep_what_is_held_and_are_coarser_where_painted() {
    let (points, triangles) = square(20);
    let middle = |t: usize| triangles[t].map(|v| points[v as usize].x).iter().sum::<f64>() / 3.0;
    let conductance = |t: usize| if middle(t) < 0.5 { 16.0 * Mat3::IDENTITY } else { Mat3::IDENTITY };
    let plain = Harmonics::new(&points, &triangles, 60).unwrap();
    let painted = Harmonics::with_conductance(&points, &triangles, 60, conductance).unwrap();
    // half of the square counts a sixteenth
    assert!((plain.room - 1.0).abs() < 1e-12 && (painted.room - 17.0 / 32.0).abs() < 1e-12);
    let all = plain.painted_beyond(12, &painted, &points, &triangles, conductance).unwrap();
    assert_eq!((all.count(), all.functions.ncols(), all.room), (60, 60, painted.room));
    let gram = all.analyse(&all.functions);
    for i in 0..60 {
        for j in 0..60 {
            assert!((gram[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-8, "{i} {j}: {}", gram[(i, j)]);
        }
        assert!(i >= 12 || (0..points.len()).all(|p| all.functions[(p, i)] == plain.functions[(p, i)]));
        assert!(i < 13 || all.values[i] >= all.values[i - 1]);
    }
    let variation = |harmonics: &Harmonics, left: bool| -> f64 {
        let there = |t: &&[u32; 3]| (t.iter().map(|v| points[*v as usize].x).sum::<f64>() < 1.5) == left;
        let along = |t: &[u32; 3], k: usize| {
            let at = |v: u32| harmonics.functions[(v as usize, k)];
            (at(t[0]) - at(t[1])).powi(2) + (at(t[1]) - at(t[2])).powi(2) + (at(t[2]) - at(t[0])).powi(2)
        };
        triangles.iter().filter(there).map(|t| (12..60).map(|k| along(t, k)).sum::<f64>()).sum()
    };
    let (even, painted) =
        (variation(&plain, true) / variation(&plain, false), variation(&all, true) / variation(&all, false));
    assert!((even - 1.0).abs() < 0.05 && painted < 0.3, "{even} {painted}");
}

#[test]
fn waves_are_found_with_their_frequency_phase_and_height() {
    let (points, triangles) = square(16);
    let frames = 150;
    let (mut pairs, mut still) = (Pairs::default(), Vec::new());
    let mut state = 9;
    for j in 1..=frames {
        let jitter = |state: &mut u64| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            0.002 * ((*state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
        };
        let wave = |p: &Vec3| {
            let strong = 0.02 * p.x * (9.0 * p.x - 0.61 * j as f64).sin();
            strong + 0.008 * (7.0 * p.y + 0.235 * j as f64).cos() + jitter(&mut state)
        };
        let waving: Vec<Vec3> = points.iter().map(wave).zip(&points).map(|(d, p)| *p + d * Vec3::Z).collect();
        pairs.push(&points[..4], waving);
        pairs.coarse.last_mut().unwrap()[0][2] = j as f32;
        still.push(singles(&points));
    }
    let waves = travelling_waves(&still, &pairs, &triangles, 0.05, 4).unwrap();
    assert_eq!(waves.len(), 2, "{:?}", waves.iter().map(|w| (w.theta, w.explains)).collect::<Vec<_>>());
    assert!((waves[0].theta - 0.61).abs() < 1e-3 && (waves[1].theta - 0.235).abs() < 1e-3);
    let height = |w: &upsample::Wave, i: usize| w.amplitudes[i][0].hypot(w.amplitudes[i][1]);
    let areas = vertex_areas(&points, &triangles);
    let worst =
        (0..points.len()).map(|i| (height(&waves[0], i) - 0.02 * points[i].x).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-3 && areas.len() == points.len(), "{worst}");
    let mode = waves[0].mode(30.0, 4.0);
    assert!((f64::from(mode.frequency_hz) - 0.61 * 30.0 / TAU).abs() < 0.01);
}

#[test]
fn band_energy_is_one_for_the_truth_and_less_for_what_is_smooth() {
    let cloth = cloth();
    let test = pairs(&cloth, 1, 10);
    assert!((band_energy(&test.fine, &test.fine, &cloth.harmonics, 30..200) - 1.0).abs() < 1e-12);
    let base = Base::Subdivision(&cloth.subdivision);
    let smooth = compare(None, base, &test, &cloth.fine_triangles, &cloth.harmonics, 30..200);
    assert!(smooth.band_energy < 0.9, "{smooth:?}");
}

#[test]
fn bad_input_gets_a_sentence() {
    let cloth = cloth();
    let good = pairs(&cloth, 0, 8);
    let say = |pairs: &Pairs, learning: Learning| {
        learn(pairs, &cloth.subdivision, &cloth.harmonics, None, &learning).unwrap_err().to_string()
    };
    let plain = Learning::default;
    assert_eq!(say(&Pairs::default(), plain()), "there are no frames to learn from");
    let mut bad = good.clone();
    bad.fine[3][7][1] = f32::NAN;
    assert_eq!(say(&bad, plain()), "frame 3: fine point 7 is not a finite number");
    let mut bad = good.clone();
    bad.coarse[2].pop();
    assert_eq!(say(&bad, plain()), "frame 2 has 48 coarse points where the first has 49");
    let mut bad = good.clone();
    bad.coarse.iter_mut().for_each(|frame| frame.clone_from(&good.coarse[0]));
    assert!(say(&bad, plain()).contains("never moves in the 8 frames"));
    let fine = Learning { detail: Some(0.01), ..plain() };
    assert!(say(&good, fine).contains("finer than the fine mesh"));
    assert_eq!(say(&good, Learning { folds: 0, ..plain() }), "folds cannot be 0");
    // fewer frames than coarse points: works, and the report says how many directions there were
    let learnt = learn(&good, &cloth.subdivision, &cloth.harmonics, None, &plain()).unwrap();
    assert!(learnt.report.directions <= 24 && learnt.report.frames == 8);
    let away: Vec<Vec3> = cloth.fine.iter().map(|p| *p + Vec3::Z).collect();
    let apart = smooth_subdivision(&cloth.coarse, &cloth.triangles, &away).unwrap_err();
    assert!(matches!(apart, Error::Apart { .. }) && apart.to_string().contains("do not lie on each other"));
    assert!(matches!(
        Harmonics::new(&cloth.fine, &cloth.fine_triangles, 900),
        Err(Error::TooManyHarmonics { count: 900, points: 841 })
    ));
}
