//! The figures of *upsample* 2011, drawn from trainings of this workspace's own cloths.
//!
//!     cargo run --release -p followthrough-train --example figures -- FOLDER [--full] [NAME…]
//!
//! Names: compare (1, 11), drift (2), shapes (3, 5), functions (6), waves (7, 8), penalties (9), retrained (10), storm (extreme wind). Without one
//! all are drawn. Cloths have about 500 points, so that all of it is a matter of minutes; `--full` takes those of the demos. Trainings stay in the
//! folder: a second run only draws.

#![allow(clippy::print_stdout)] // an example talks

mod cloths;
mod draw;

use std::path::{Path, PathBuf};

use cloths::{BoxedError, Cloth, gather};
use draw::{Panel, draw_points, draw_values};
use faer::Mat;
use live::{Detail, Operator, Parts};
use train::{Material, MaterialMotion};
use upsample::{
    Aligned, Base, Harmonics, Learning, Learnt, Moments, Pairs, Penalty, Regression, learn, rms_distance,
    travelling_waves, weights,
};

const NAMES: [&str; 8] =
    ["compare", "drift", "shapes", "functions", "waves", "penalties", "retrained", "storm"];

fn main() -> Result<(), BoxedError> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--full");
    arguments.retain(|argument| argument != "--full");
    let Some((folder, names)) = arguments.split_first() else {
        return Err(
            format!("usage: figures FOLDER [--full] [NAME…], NAME one of: {}", NAMES.join(", ")).into()
        );
    };
    if let Some(name) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(format!("there is no figure `{name}`; there are {}", NAMES.join(", ")).into());
    }
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    for name in NAMES.into_iter().filter(|name| chosen(name)) {
        let path = folder.join(format!("upsample-{name}.png"));
        println!("{name}");
        match name {
            "compare" => compare(&gather(Cloth::Cape, full, &folder)?, "boxing", &path)?,
            "drift" => drift(&gather(Cloth::Cape, full, &folder)?, &path)?,
            "shapes" => shapes(&gather(Cloth::Cape, full, &folder)?, &path)?,
            "functions" => functions(&gather(Cloth::Cape, full, &folder)?, &path)?,
            "penalties" => penalties(&gather(Cloth::Cape, full, &folder)?, &path)?,
            "retrained" => retrained(&gather(Cloth::Cape, full, &folder)?, &path)?,
            "waves" => waves(&gather(Cloth::Flag, full, &folder)?, &path)?,
            _ => compare(&gather(Cloth::Flag, full, &folder)?, "storm", &path)?,
        }
        println!("  wrote {}", path.display());
    }
    Ok(())
}

/// What is learnt from some pairs, as `followthrough train` learns over Loop's surface.
fn learnt(material: &Material, pairs: &Pairs, learning: &Learning) -> Result<Learnt, BoxedError> {
    let aligned = Aligned { correspondence: material.barycentric(), tests: material.tests() };
    Ok(learn(pairs, material.subdivision(), &material.harmonics, Some(aligned), learning)?)
}

fn motion<'a>(material: &'a Material, title: &str) -> Result<&'a MaterialMotion, BoxedError> {
    let found = material.motions.iter().find(|motion| motion.title == title);
    found.ok_or_else(|| format!("there is no motion `{title}`").into())
}

/// What a game would show of some coarse frames.
fn shown(
    material: &Material,
    learnt: &Learnt,
    coarse: &[Vec<[f32; 3]>],
) -> Result<Vec<Vec<[f32; 3]>>, BoxedError> {
    let parts = Parts {
        detail: Some(learnt.factor.clone()),
        known: learnt.known as f32,
        subdivision: weights(material.subdivision()),
        ..material.parts().clone()
    };
    let operator = Operator::read(parts.write()?)?;
    let mut scratch = operator.scratch();
    let mut frames = Vec::new();
    for points in coarse {
        let mut fine = vec![[0.0; 3]; operator.counts().fine];
        operator.apply(points, Detail::default(), &mut scratch, &mut fine)?;
        frames.push(fine);
    }
    Ok(frames)
}

/// S p + Φ D̂ p.
fn shown_by(material: &Material, detail: &Mat<f64>, coarse: &[Vec<[f32; 3]>]) -> Vec<Vec<[f32; 3]>> {
    let rows = material.harmonics.synthesise(detail);
    let frame = |points: &Vec<[f32; 3]>| {
        let wide: Vec<geometry::Vec3> =
            points.iter().map(|p| geometry::Vec3::from(p.map(f64::from))).collect();
        let mut fine = material.subdivision().vectors(&wide);
        for (j, p) in wide.iter().enumerate() {
            fine.iter_mut().enumerate().for_each(|(i, to)| *to += rows[(i, j)] * *p);
        }
        fine.iter().map(|p| p.as_vec3().to_array()).collect()
    };
    coarse.iter().map(frame).collect()
}

fn millimetres(material: &Material, found: &[Vec<[f32; 3]>], truth: &[Vec<[f32; 3]>]) -> f64 {
    1e3 * rms_distance(found, truth, &material.harmonics.weights)
}

/// The frame where the true cloth is farthest from the smooth surface: where there is most to see.
fn most_folded(material: &Material, pairs: &Pairs) -> usize {
    let smooth = smooth(material, &pairs.coarse);
    let far = |k: &usize| millimetres(material, &smooth[*k..=*k], &pairs.fine[*k..=*k]);
    (0..pairs.len()).max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
}

fn smooth(material: &Material, coarse: &[Vec<[f32; 3]>]) -> Vec<Vec<[f32; 3]>> {
    let none = Mat::zeros(material.harmonics.count(), material.parts().coarse.rest.len());
    shown_by(material, &none, coarse)
}

/// Figures 1 and 11: coarse, subdivided, ours, fine, on a motion that was not learnt.
fn compare(material: &Material, title: &str, path: &Path) -> Result<(), BoxedError> {
    let training = &material.motions[0].pairs;
    let test = motion(material, title)?;
    let pairs = &test.pairs;
    let ours = shown(material, &learnt(material, training, &Learning::default())?, &pairs.coarse)?;
    let smooth = smooth(material, &pairs.coarse);
    let k = most_folded(material, pairs);
    println!(
        "  {title}, RMS over {} frames: Loop {:.2} mm, ours {:.2} mm",
        pairs.len(),
        millimetres(material, &smooth, &pairs.fine),
        millimetres(material, &ours, &pairs.fine)
    );
    let parts = material.parts();
    let panel = |caption, points| Panel { caption, points, triangles: &parts.fine.triangles };
    let coarse = Panel { caption: "coarse", points: &pairs.coarse[k], triangles: &parts.coarse.triangles };
    let panels =
        [coarse, panel("subdivided", &smooth[k]), panel("ours", &ours[k]), panel("fine", &pairs.fine[k])];
    draw_points(test, k, &panels, path)
}

/// Figure 2: a fine cloth that only collides and hangs as the coarse one does drifts away from it; a tracked one does not.
fn drift(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let walk = &material.motions[0];
    let frames = walk.pairs.len().min(60);
    let alone = material.track(walk, frames, &material.harmonics, 0)?;
    // the smooth part of both: how far their lowest harmonics are apart
    let held = material.tests();
    let apart = |fine: &[Vec<[f32; 3]>], k: usize| {
        let seen = material.barycentric().vectors(&wide(&walk.pairs.coarse[k]));
        let gap = Mat::from_fn(seen.len(), 3, |i, axis| f64::from(fine[k][i][axis]) - seen[i][axis]);
        let low = material.harmonics.analyse(&gap);
        let squared: f64 = (0..held).map(|n| (0..3).map(|axis| low[(n, axis)].powi(2)).sum::<f64>()).sum();
        1e3 * (squared / material.harmonics.area).sqrt()
    };
    for k in [0, frames / 4, frames / 2, 3 * frames / 4, frames - 1] {
        println!(
            "  frame {k:3}: by collisions alone {:.2} mm apart, tracked {:.2} mm",
            apart(&alone.fine, k),
            apart(&walk.pairs.fine, k)
        );
    }
    let k = (0..frames).max_by(|a, b| apart(&alone.fine, *a).total_cmp(&apart(&alone.fine, *b))).unwrap_or(0);
    let parts = material.parts();
    let panel = |caption, points| Panel { caption, points, triangles: &parts.fine.triangles };
    let coarse =
        Panel { caption: "coarse", points: &walk.pairs.coarse[k], triangles: &parts.coarse.triangles };
    let panels = [coarse, panel("collisions alone", &alone.fine[k]), panel("tracked", &walk.pairs.fine[k])];
    draw_points(walk, k, &panels, path)
}

fn wide(points: &[[f32; 3]]) -> Vec<geometry::Vec3> {
    points.iter().map(|p| geometry::Vec3::from(p.map(f64::from))).collect()
}

/// Figures 3 and 5: how one coarse point moves the fine cloth under penalties of several kinds, and harmonics.
fn shapes(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let harmonics = &material.harmonics;
    let pairs = &material.motions[0].pairs;
    let moments =
        Moments::gather(pairs, Base::Subdivision(material.subdivision()), harmonics, 0..pairs.len());
    let regression = Regression::new(&moments)?;
    let size = regression.mean_value().sqrt();
    // a point in the middle of the cloth
    let coarse = &material.parts().coarse.rest;
    let middle = [0, 1, 2].map(|i| coarse.iter().map(|p| p[i]).sum::<f32>() / coarse.len() as f32);
    let far = |p: &[f32; 3]| (0..3).map(|i| (p[i] - middle[i]).powi(2)).sum::<f32>();
    let point = (0..coarse.len()).min_by(|a, b| far(&coarse[*a]).total_cmp(&far(&coarse[*b]))).unwrap_or(0);
    let column = |detail: &Mat<f64>| -> Vec<f32> {
        let rows = harmonics.synthesise(detail);
        let weight = |i: usize| {
            let smooth = material.subdivision().row(i).find(|(j, _)| *j as usize == point);
            (rows[(i, point)] + smooth.map_or(0.0, |(_, w)| w)) as f32
        };
        (0..rows.nrows()).map(weight).collect()
    };
    let chosen = learnt(material, pairs, &Learning::default())?;
    let by = |penalty: Penalty| column(&regression.solve(&moments, &penalty.gammas(harmonics)));
    let last = harmonics.values.last().copied().unwrap_or(1.0);
    let function =
        |n: usize| (0..coarse_to_fine(material)).map(|i| harmonics.functions[(i, n)] as f32).collect();
    let mut panels: Vec<(String, Vec<f32>)> = vec![
        ("least squares".into(), by(Penalty::None)),
        ("alpha I".into(), by(Penalty::Identity { alpha: 0.3 * size })),
        ("alpha L".into(), by(Penalty::Laplacian { alpha: 3.0 * size / last })),
        ("ours".into(), column(&chosen.detail)),
    ];
    let count = harmonics.count();
    panels.extend([3, 12, count / 4, count - 1].map(|n| (format!("harmonic {}", n + 1), function(n))));
    draw_values(&material.parts().fine, &panels, 4, path)
}

fn coarse_to_fine(material: &Material) -> usize {
    material.parts().fine.rest.len()
}

/// Figure 6: what the fine cloth is tracked by: harmonics, averages over clusters, or single points, which tug at it.
fn functions(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let walk = &material.motions[0];
    let (frames, count) = (walk.pairs.len().min(40), material.tests());
    let seeds = spread(&material.parts().fine.rest, count);
    let rest = &material.parts().fine.rest;
    let nearest = |p: &[f32; 3]| {
        let far = |q: usize| (0..3).map(|i| (p[i] - rest[q][i]).powi(2)).sum::<f32>();
        (0..count).min_by(|a, b| far(seeds[*a]).total_cmp(&far(seeds[*b]))).unwrap_or(0)
    };
    let of: Vec<usize> = rest.iter().map(nearest).collect();
    let other = |one: &dyn Fn(usize, usize) -> bool| Harmonics {
        functions: Mat::from_fn(rest.len(), count, |i, k| f64::from(u8::from(one(i, k)))),
        values: vec![0.0; count],
        ..material.harmonics.clone()
    };
    let clusters = material.track(walk, frames, &other(&|i, k| of[i] == k), count)?;
    let deltas = material.track(walk, frames, &other(&|i, k| seeds[k] == i), count)?;
    let parts = material.parts();
    for (name, fine) in
        [("harmonics", &walk.pairs.fine), ("clusters", &clusters.fine), ("points", &deltas.fine)]
    {
        println!(
            "  {name}: the hundredth of the edges that stretch most do so by {:.1} %",
            stretch(parts, &fine[..frames])
        );
    }
    let k = frames - 1;
    let panel = |caption, points| Panel { caption, points, triangles: &parts.fine.triangles };
    let panels = [
        panel("clusters", &clusters.fine[k]),
        panel("harmonics", &walk.pairs.fine[k]),
        panel("single points", &deltas.fine[k]),
    ];
    draw_points(walk, k, &panels, path)
}

/// Points as far from each other as can be, one after the other.
fn spread(rest: &[[f32; 3]], count: usize) -> Vec<usize> {
    let (mut chosen, mut distances) = (Vec::new(), vec![f32::INFINITY; rest.len()]);
    for _ in 0..count {
        let next = (0..rest.len()).max_by(|a, b| distances[*a].total_cmp(&distances[*b])).unwrap_or(0);
        chosen.push(next);
        for (distance, p) in distances.iter_mut().zip(rest) {
            *distance = distance.min((0..3).map(|i| (p[i] - rest[next][i]).powi(2)).sum());
        }
    }
    chosen
}

/// Of all edges in all frames, the strain that a hundredth exceeds, in per cent.
fn stretch(parts: &Parts, frames: &[Vec<[f32; 3]>]) -> f64 {
    let length = |points: &[[f32; 3]], [a, b]: [u32; 2]| {
        let (p, q) = (points[a as usize], points[b as usize]);
        f64::from((0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f32>().sqrt())
    };
    let edges = parts.fine.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let edges: Vec<[u32; 2]> = edges.collect();
    let strain = |points: &Vec<[f32; 3]>| -> Vec<f64> {
        edges.iter().map(|edge| length(points, *edge) / length(&parts.fine.rest, *edge) - 1.0).collect()
    };
    let mut strains: Vec<f64> = frames.iter().flat_map(strain).collect();
    strains.sort_by(f64::total_cmp);
    100.0 * strains[strains.len() * 99 / 100]
}

/// Figures 7 and 8: a flag without and with its waves, beside the fine one, and the height of the strongest wave.
fn waves(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let standing = &material.motions[0];
    let pairs = &standing.pairs;
    let still = shown(material, &learnt(material, pairs, &Learning::default())?, &pairs.coarse)?;
    let triangles = &material.parts().fine.triangles;
    let found = travelling_waves(&still, pairs, triangles, 0.05, 2)?;
    let mut waving = still.clone();
    for (j, frame) in waving.iter_mut().enumerate() {
        let normals = geometry::vertex_normals(&wide(frame), triangles);
        for wave in &found {
            let (sine, cosine) = ((j + 1) as f64 * wave.theta).sin_cos();
            for ((p, n), [e1, e2]) in frame.iter_mut().zip(&normals).zip(&wave.amplitudes) {
                (0..3).for_each(|i| p[i] += ((e1 * sine + e2 * cosine) * n[i]) as f32);
            }
        }
    }
    println!(
        "  {} waves; RMS without {:.2} mm, with {:.2} mm",
        found.len(),
        millimetres(material, &still, &pairs.fine),
        millimetres(material, &waving, &pairs.fine)
    );
    let k = pairs.len() - 1;
    let panel = |caption, points| Panel { caption, points, triangles };
    let panels =
        [panel("without waves", &still[k]), panel("with waves", &waving[k]), panel("fine", &pairs.fine[k])];
    draw_points(standing, k, &panels, path)?;
    let heights = found.iter().enumerate().map(|(k, wave)| {
        let mm = wave.amplitudes.iter().map(|[a, b]| 1e3 * a.hypot(*b) as f32).collect();
        (format!("wave {}, mm", k + 1), mm)
    });
    let heights: Vec<(String, Vec<f32>)> = heights.collect();
    match heights.is_empty() {
        true => Ok(()),
        false => draw_values(&material.parts().fine, &heights, 2, &path.with_extension("heights.png")),
    }
}

/// Figure 9: how steep the penalty is matters little, whether there is one much: the motion that was learnt, and one that was not.
fn penalties(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let test = motion(material, "boxing")?;
    let training = &material.motions[0].pairs;
    let k = most_folded(material, &test.pairs);
    let mut drawn = Vec::new();
    for exponent in [2.0, 4.0, 20.0] {
        let detail = learnt(material, training, &Learning { exponent, ..Learning::default() })?.detail;
        drawn.push((format!("c = {exponent}"), detail));
    }
    let base = Base::Subdivision(material.subdivision());
    let moments = Moments::gather(training, base, &material.harmonics, 0..training.len());
    let none = Regression::new(&moments)?.solve(&moments, &Penalty::None.gammas(&material.harmonics));
    drawn.push(("none".into(), none));
    let mut shown = Vec::new();
    for (name, detail) in &drawn {
        let [seen, unseen] = [training, &test.pairs].map(|pairs| shown_by(material, detail, &pairs.coarse));
        println!(
            "  {name}: {:.2} mm on the motion that was learnt, {:.2} mm on {}",
            millimetres(material, &seen, &training.fine),
            millimetres(material, &unseen, &test.pairs.fine),
            test.title
        );
        shown.push(unseen);
    }
    let triangles = &material.parts().fine.triangles;
    let panels: Vec<Panel<'_>> = drawn
        .iter()
        .zip(&shown)
        .map(|((name, _), frames)| Panel { caption: name, points: &frames[k], triangles })
        .chain([Panel { caption: "fine", points: &test.pairs.fine[k], triangles }])
        .collect();
    draw_points(test, k, &panels, path)
}

/// Figure 10: a walk's operator on boxing, and one that has seen some boxing, on a part that neither has seen.
fn retrained(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let test = motion(material, "boxing")?;
    let (walk, boxing) = (&material.motions[0].pairs, &test.pairs);
    let half = boxing.len() / 2;
    let both = Pairs {
        coarse: [&walk.coarse[..], &boxing.coarse[..half]].concat(),
        fine: [&walk.fine[..], &boxing.fine[..half]].concat(),
    };
    let rest = Pairs { coarse: boxing.coarse[half..].to_vec(), fine: boxing.fine[half..].to_vec() };
    let learning = Learning::default();
    let [once, again] = [walk, &both].map(|pairs| {
        learnt(material, pairs, &learning).and_then(|learnt| shown(material, &learnt, &rest.coarse))
    });
    let (once, again) = (once?, again?);
    println!(
        "  frames {half} – {}: walk {:.2} mm, walk and boxing {:.2} mm",
        boxing.len() - 1,
        millimetres(material, &once, &rest.fine),
        millimetres(material, &again, &rest.fine)
    );
    let k = most_folded(material, &rest);
    let triangles = &material.parts().fine.triangles;
    let panel = |caption, points| Panel { caption, points, triangles };
    let panels =
        [panel("learnt a walk", &once[k]), panel("and some boxing", &again[k]), panel("fine", &rest.fine[k])];
    draw_points(test, half + k, &panels, path)
}
