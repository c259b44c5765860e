//! p_f = S p_c + D p_c holds, in every format, by every kernel, wherever the cloth is.

mod common;

use common::{bits, cape, noise, placed, sheet};
use live::{Applied, Detail, Factor, Format, Kernel, Operator, Parts, Point};

const AS_LEARNT: Detail = Detail { strength: 1.0, fades: false };

fn shape(count: usize) -> Vec<Point> {
    let rest = sheet((count as f32).sqrt() as u32 - 1, 1.0).rest;
    let noise = noise(3 * count, 5);
    rest.iter().zip(noise.chunks(3)).map(|(p, d)| [0, 1, 2].map(|i| p[i] + 0.05 * d[i])).collect()
}

fn applied(operator: &Operator<Vec<u8>>, coarse: &[Point], detail: Detail) -> Vec<Point> {
    let mut fine = vec![[0.0; 3]; operator.counts().fine];
    operator.apply(coarse, detail, &mut operator.scratch(), &mut fine).unwrap();
    fine
}

/// The same in double precision, straight from the matrices.
fn expected(parts: &Parts, coarse: &[Point], strength: f64) -> Vec<[f64; 3]> {
    let (m, n) = (parts.coarse.rest.len(), parts.fine.rest.len());
    let detail = parts.detail.as_ref().unwrap();
    let at = |j: usize, axis: usize| f64::from(coarse[j][axis]);
    (0..n)
        .map(|i| {
            [0, 1, 2].map(|axis| {
                let smooth: f64 =
                    parts.subdivision[i].iter().map(|(j, w)| f64::from(*w) * at(*j as usize, axis)).sum();
                let latent = |k: usize| -> f64 {
                    match &detail.columns {
                        Some(b) => (0..m).map(|j| f64::from(b[k * m + j]) * at(j, axis)).sum(),
                        None => at(k, axis),
                    }
                };
                let folds: f64 =
                    (0..detail.rank).map(|k| f64::from(detail.rows[i * detail.rank + k]) * latent(k)).sum();
                smooth + strength * folds
            })
        })
        .collect()
}

fn worst(found: &[Point], expected: &[[f64; 3]]) -> f64 {
    let pairs = found.as_flattened().iter().zip(expected.as_flattened());
    pairs.map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

#[test]
fn every_format_gives_the_product() {
    let coarse = shape(81);
    // folds here are up to 5 × 0.004 × ~4 m; eight bits keep 1/254 of the largest in a row, halves 1/2048
    for (format, tolerance) in [(Format::Eight, 4e-4), (Format::Half, 3e-5), (Format::Single, 1e-5)] {
        let parts = cape(8, 20, format);
        let operator = Operator::read(parts.write().unwrap()).unwrap();
        for strength in [0.0, 1.0, 1.5] {
            let found = applied(&operator, &coarse, Detail { strength: strength as f32, fades: false });
            // weights of S are multiples of 2⁻¹⁴
            let error = worst(&found, &expected(&parts, &coarse, strength));
            assert!(error < strength * tolerance + 1.5e-4, "{format:?} {strength}: {error}");
        }
    }
}

#[test]
fn a_dense_operator_is_the_same_kernel() {
    let mut parts = cape(4, 9, Format::Single);
    let (m, n) = (parts.coarse.rest.len(), parts.fine.rest.len());
    let mut rows: Vec<f32> = noise(n * m, 2).iter().map(|u| 0.02 * u).collect();
    for row in rows.chunks_mut(m) {
        let rest = 1.0 - row.iter().sum::<f32>();
        row[0] += rest;
    }
    parts.subdivision = vec![Vec::new(); n];
    parts.detail = Some(Factor { rank: m, rows, columns: None, format: Format::Single });
    let operator = Operator::read(parts.write().unwrap()).unwrap();
    let coarse = shape(m);
    assert!(worst(&applied(&operator, &coarse, AS_LEARNT), &expected(&parts, &coarse, 1.0)) < 2e-6);
}

#[test]
fn all_kernels_give_the_same_bits() {
    let coarse = shape(81);
    let names: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    assert_eq!(names[0], "portable");
    for format in [Format::Eight, Format::Half, Format::Single] {
        let bytes = cape(8, 21, format).write().unwrap();
        let mut hashes = Kernel::available().map(|kernel| {
            let operator = Operator::read(bytes.clone()).unwrap().with_kernel(kernel);
            bits(&applied(&operator, &coarse, Detail::default()))
        });
        let first = hashes.next().unwrap();
        assert!(hashes.all(|hash| hash == first), "{format:?}: {names:?}");
    }
}

/// A crowd is shown as each of it would be, however many are shown at once, in every format and by every kernel.
#[test]
fn a_crowd_is_each_of_its_capes_to_the_bit() {
    let capes = 11;
    let coarse: Vec<Point> = (0..capes)
        .flat_map(|k| {
            shape(81).into_iter().map(move |p| [p[0] + 3.0 * k as f32, p[1], p[2] * (k as f32 - 3.0)])
        })
        .collect();
    for format in [Format::Eight, Format::Half, Format::Single] {
        let mut parts = cape(8, 21, format);
        // some of these are far from what was learnt: their folds fade, each its own way
        parts.known = 1.0;
        let bytes = parts.write().unwrap();
        for kernel in Kernel::available() {
            let operator = Operator::read(bytes.clone()).unwrap().with_kernel(kernel);
            let (mut scratch, each) = (operator.scratch(), 400);
            let mut fine = vec![[0.0; 3]; capes * each];
            let mut all = vec![Applied { distance: 0.0, shown: 0.0 }; capes];
            operator.apply_all(&coarse, Detail::default(), &mut scratch, &mut fine, &mut all).unwrap();
            let mut fades = Vec::new();
            for k in 0..capes {
                let mut alone = vec![[0.0; 3]; each];
                let coarse = &coarse[81 * k..81 * (k + 1)];
                let applied = operator.apply(coarse, Detail::default(), &mut scratch, &mut alone).unwrap();
                assert_eq!(bits(&alone), bits(&fine[each * k..each * (k + 1)]), "{format:?} {k}");
                assert_eq!(applied, all[k]);
                fades.push(applied.shown);
            }
            assert!(fades.windows(2).any(|pair| pair[0] != pair[1]), "{fades:?}");
        }
    }
    let operator = Operator::read(cape(8, 21, Format::Eight).write().unwrap()).unwrap();
    let mut all = [Applied { distance: 0.0, shown: 0.0 }; 2];
    let mut say = |coarse: &[Point], fine: usize| {
        let mut fine = vec![[0.0; 3]; fine];
        let told = operator.apply_all(coarse, AS_LEARNT, &mut operator.scratch(), &mut fine, &mut all);
        told.map_err(|error| error.to_string())
    };
    assert!(say(&coarse[..162], 20).is_ok() && say(&coarse[..162], 0).is_ok());
    assert!(say(&coarse[..161], 20).unwrap_err().contains("coarse points of all"));
    assert!(say(&coarse[..162], 21).unwrap_err().contains("fine points"));
    let mut broken = coarse[..162].to_vec();
    broken[100][1] = f32::NAN;
    assert_eq!(say(&broken, 20).unwrap_err(), "coarse point 100 is not a finite number");
}

/// Eq. 1: U (p A) = (U p) A, and rows that sum to one carry translations over.
#[test]
fn a_turned_moved_or_sheared_cloth_gives_the_turned_moved_sheared_result() {
    let operator = Operator::read(cape(8, 20, Format::Eight).write().unwrap()).unwrap();
    let coarse = shape(81);
    let plain = applied(&operator, &coarse, AS_LEARNT);
    let shear = [[1.0, 0.4, 0.0, 0.0], [0.0, 1.0, -0.3, 0.0], [0.1, 0.0, 1.0, 0.0]];
    for (transform, tolerance) in [
        (placed(1.1, [0.0; 3]), 1e-6),
        (placed(0.0, [3.0, -2.0, 1.0]), 2e-6),
        (placed(-2.0, [100.0, 20.0, 300.0]), 1.5e-4),
        (shear, 1e-6),
    ] {
        let moved = |p: &Point| transform.map(|[a, b, c, d]| a * p[0] + b * p[1] + c * p[2] + d);
        let there: Vec<Point> = coarse.iter().map(moved).collect();
        let found = applied(&operator, &there, AS_LEARNT);
        for (found, plain) in found.iter().zip(&plain) {
            let expected = moved(plain);
            let error = (0..3).map(|i| (found[i] - expected[i]).abs()).fold(0.0, f32::max);
            assert!(error < tolerance, "{error} at {transform:?}");
        }
    }
}

#[test]
fn folds_fade_far_from_what_was_learnt() {
    let mut parts = cape(8, 20, Format::Half);
    let coarse = shape(81);
    let found = |known: f32| {
        parts.known = known;
        let operator = Operator::read(parts.write().unwrap()).unwrap();
        let mut fine = vec![[0.0; 3]; 441];
        operator.apply(&coarse, Detail::default(), &mut operator.scratch(), &mut fine).unwrap()
    };
    let mut found = found;
    let near = found(1e3);
    assert!(near.distance < 1.0 && near.shown == 1.0);
    let size = near.distance * 1e3;
    // half faded at three times the farthest that was learnt
    let far = found(size / 3.0);
    assert!((far.distance - 3.0).abs() < 1e-4 && (far.shown - 0.5).abs() < 1e-3, "{far:?}");
    assert!(found(size / 50.0).shown < 0.002);
}

#[test]
fn a_prefix_of_points_is_the_prefix() {
    let operator = Operator::read(cape(8, 20, Format::Eight).write().unwrap()).unwrap();
    let coarse = shape(81);
    let whole = applied(&operator, &coarse, AS_LEARNT);
    let mut some = vec![[0.0; 3]; 100];
    operator.apply(&coarse, AS_LEARNT, &mut operator.scratch(), &mut some).unwrap();
    assert_eq!(some[..], whole[..100]);
}

#[test]
fn wrong_input_gets_a_sentence() {
    let parts = cape(4, 8, Format::Eight);
    let operator = Operator::read(parts.write().unwrap()).unwrap();
    let mut fine = vec![[0.0; 3]; 81];
    let mut coarse = shape(25);
    let scratch = &mut operator.scratch();
    let say = |result: Result<Applied, live::Error>| result.unwrap_err().to_string();
    coarse[3][1] = f32::NAN;
    assert_eq!(
        say(operator.apply(&coarse, AS_LEARNT, scratch, &mut fine)),
        "coarse point 3 is not a finite number"
    );
    assert_eq!(
        say(operator.apply(&coarse[1..], AS_LEARNT, scratch, &mut fine)),
        "25 coarse points are needed, 24 were given"
    );
    let other = sheet(5, 1.0);
    let sentence = operator.check_mesh(false, &other.rest, &other.triangles).unwrap_err().to_string();
    assert!(sentence.contains("it has 25 points, this one has 36"), "{sentence}");
    assert!(operator.check_mesh(true, &parts.fine.rest, &parts.fine.triangles).is_ok());
    let mut altered = parts.fine.rest.clone();
    altered[7][0] += 1e-3;
    assert!(operator.check_mesh(true, &altered, &parts.fine.triangles).is_err());
}

#[test]
fn tangents_lie_along_the_texture_on_any_bent_cloth() {
    let parts = cape(6, 12, Format::Half);
    let mut cloth = live::LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap();
    for _ in 0..20 {
        let wind = live::Wind { velocity: [2.0, 0.0, 5.0], gusts: 0.0 };
        let frame = live::Frame { skin: &[live::IDENTITY], wind, ..live::Frame::new(1.0 / 30.0) };
        cloth.advance(&frame).unwrap();
    }
    // u to the right; v up, and mirrored: down
    let rest = &parts.fine.rest;
    let sides = [1.0, -1.0].map(|mirror| {
        let texture: Vec<[f32; 2]> = rest.iter().map(|p| [p[0] + 0.5, mirror * p[1]]).collect();
        let mut tangents = vec![[0.0; 4]; rest.len()];
        cloth.tangents(&texture, &mut tangents).unwrap();
        for (i, (t, n)) in tangents.iter().zip(cloth.normals()).enumerate() {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            assert!((dot(&t[..3], &t[..3]) - 1.0).abs() < 1e-5 && dot(&t[..3], n).abs() < 1e-5);
            // as the points to both sides go
            let (column, row) = (i % 13, i / 13);
            let difference = |a: usize, b: usize| -> Vec<f32> {
                (0..3).map(|k| cloth.points()[a][k] - cloth.points()[b][k]).collect()
            };
            if (1..12).contains(&column) && (1..12).contains(&row) {
                let (across, up) = (difference(i + 1, i - 1), difference(i - 13, i + 13));
                let length = dot(&across, &across).sqrt();
                assert!(dot(&t[..3], &across) > 0.8 * length, "{t:?} {across:?}");
                let other = [n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]];
                assert!(t[3] * mirror * dot(&other, &up) > 0.0);
            }
        }
        tangents[84][3]
    });
    assert_eq!(sides[0], -sides[1]);
    let wrong = cloth.tangents(&[[0.0; 2]; 3], &mut []).unwrap_err().to_string();
    assert!(wrong.contains("3") && wrong.contains("169"), "{wrong}");
}
