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

use std::ops::Range;
use std::path::{Path, PathBuf};

use cloths::{BoxedError, Cloth, gather};
use draw::{Panel, draw_points, draw_values, picture};
use faer::Mat;
use live::{Factor, Format, Parts};
use render::Picture;
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

/// A cloth.
type Points = Vec<[f32; 3]>;

/// What is learnt from some pairs, as `followthrough train` learns over Loop's surface.
fn learnt(material: &Material, pairs: &Pairs, learning: &Learning) -> Result<Learnt, BoxedError> {
    let aligned = Aligned { correspondence: material.barycentric(), tests: material.tests() };
    Ok(learn(pairs, material.subdivision(), &material.harmonics, Some(aligned), learning)?)
}

fn motion<'a>(material: &'a Material, title: &str) -> Result<&'a MaterialMotion, BoxedError> {
    let found = material.motions.iter().find(|motion| motion.title == title);
    found.ok_or_else(|| format!("there is no motion `{title}`").into())
}

/// Parts with what is shown over them, as a game shows it.
fn with(material: &Material, factor: Option<Factor>, known: f64) -> Parts {
    let subdivision = weights(material.subdivision());
    Parts { detail: factor, known: known as f32, subdivision, ..material.parts().clone() }
}

/// What a game would show of some frames of a motion.
fn shown(
    material: &Material,
    motion: &MaterialMotion,
    learnt: &Learnt,
    frames: Range<usize>,
) -> Result<Vec<Points>, BoxedError> {
    let parts = with(material, Some(learnt.factor.clone()), learnt.known);
    Ok(material.shown(motion, &parts, frames)?)
}

/// The same with the whole of a detail, which never fades.
fn shown_by(
    material: &Material,
    motion: &MaterialMotion,
    detail: &Mat<f64>,
) -> Result<Vec<Points>, BoxedError> {
    let rows = material.harmonics.synthesise(detail);
    let (points, rank) = (rows.nrows(), rows.ncols());
    let rows = (0..points).flat_map(|i| (0..rank).map(move |j| (i, j))).map(|at| rows[at] as f32).collect();
    let factor = Factor { rank, rows, columns: None, format: Format::Single };
    Ok(material.shown(motion, &with(material, Some(factor), 0.0), 0..motion.pairs.len())?)
}

/// The same without any.
fn smooth(
    material: &Material,
    motion: &MaterialMotion,
    frames: Range<usize>,
) -> Result<Vec<Points>, BoxedError> {
    Ok(material.shown(motion, &with(material, None, 0.0), frames)?)
}

fn millimetres(material: &Material, found: &[Vec<[f32; 3]>], truth: &[Vec<[f32; 3]>]) -> f64 {
    1e3 * rms_distance(found, truth, &material.harmonics.weights)
}

/// The frame where the true cloth is farthest from the smooth surface: where there is most to see.
fn most_folded(
    material: &Material,
    motion: &MaterialMotion,
    frames: Range<usize>,
) -> Result<usize, BoxedError> {
    let smooth = smooth(material, motion, frames.clone())?;
    let far = |k: &usize| {
        let at = k - frames.start;
        millimetres(material, &smooth[at..=at], &motion.pairs.fine[*k..=*k])
    };
    Ok(frames.clone().max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(frames.start))
}

/// Figures 1 and 11: coarse, subdivided, ours, fine, on a motion that was not learnt.
fn compare(material: &Material, title: &str, path: &Path) -> Result<(), BoxedError> {
    let training = &material.motions[0].pairs;
    let test = motion(material, title)?;
    let pairs = &test.pairs;
    let learnt = learnt(material, training, &Learning::default())?;
    let ours = shown(material, test, &learnt, 0..pairs.len())?;
    let smooth = smooth(material, test, 0..pairs.len())?;
    let k = most_folded(material, test, 0..pairs.len())?;
    println!(
        "  {title}, RMS over {} frames: Loop {:.2} mm, ours {:.2} mm",
        pairs.len(),
        millimetres(material, &smooth, &pairs.fine),
        millimetres(material, &ours, &pairs.fine)
    );
    let parts = material.parts();
    let panel = |caption, points| Panel { caption, points, triangles: &parts.fine.triangles, values: None };
    let coarse = Panel { triangles: &parts.coarse.triangles, ..panel("coarse", &pairs.coarse[k]) };
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
    let panel = |caption, points| Panel { caption, points, triangles: &parts.fine.triangles, values: None };
    let coarse = Panel { triangles: &parts.coarse.triangles, ..panel("coarse", &walk.pairs.coarse[k]) };
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
    let all =
        [("clusters", &clusters.fine), ("harmonics", &walk.pairs.fine), ("single points", &deltas.fine)];
    for (name, fine) in all {
        let strains = fine[..frames].iter().flat_map(|points| edge_strains(parts, points));
        let most = hundredth(strains.map(|(_, strain)| strain).collect());
        println!("  {name}: the hundredth of the edges that stretches most does so by {most:.1} %");
    }
    // where single points tug most
    let tug = |k: &usize| {
        let strains = edge_strains(parts, &deltas.fine[*k]);
        hundredth(strains.map(|(_, strain)| strain).collect())
    };
    let k = (0..frames).max_by(|a, b| tug(a).total_cmp(&tug(b))).unwrap_or(0);
    let triangles = &parts.fine.triangles;
    let panels = all.map(|(caption, fine)| {
        let values = Some(point_strains(parts, &fine[k]));
        Panel { caption, points: &fine[k], triangles, values }
    });
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

/// Edges of the fine mesh and by how much each is longer than at rest, in per cent.
fn edge_strains(parts: &Parts, points: &Points) -> impl Iterator<Item = ([u32; 2], f64)> {
    let length = |points: &Points, [a, b]: [u32; 2]| {
        let (p, q) = (points[a as usize], points[b as usize]);
        f64::from((0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f32>().sqrt())
    };
    let edges = parts.fine.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    edges.map(move |edge| (edge, 100.0 * (length(points, edge) / length(&parts.fine.rest, edge) - 1.0)))
}

/// What a hundredth of some numbers exceeds.
fn hundredth(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() * 99 / 100]
}

/// Of each point, the strain of the edge at it that stretches most.
fn point_strains(parts: &Parts, points: &Points) -> Vec<f32> {
    let mut most = vec![0.0_f32; points.len()];
    for (edge, strain) in edge_strains(parts, points) {
        edge.iter().for_each(|v| most[*v as usize] = most[*v as usize].max(strain as f32));
    }
    most
}

/// Figures 7 and 8: a flag without and with its waves, beside the fine one, and the height of the strongest wave.
fn waves(material: &Material, path: &Path) -> Result<(), BoxedError> {
    let standing = &material.motions[0];
    let pairs = &standing.pairs;
    let learnt = learnt(material, pairs, &Learning::default())?;
    let still = shown(material, standing, &learnt, 0..pairs.len())?;
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
    let panel = |caption, points| Panel { caption, points, triangles, values: None };
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
    let (walk, test) = (&material.motions[0], motion(material, "boxing")?);
    let training = &walk.pairs;
    let mut drawn = Vec::new();
    for exponent in [2.0, 4.0, 20.0] {
        let detail = learnt(material, training, &Learning { exponent, ..Learning::default() })?.detail;
        drawn.push((format!("c = {exponent}"), detail));
    }
    let base = Base::Subdivision(material.subdivision());
    let moments = Moments::gather(training, base, &material.harmonics, 0..training.len());
    let none = Regression::new(&moments)?.solve(&moments, &Penalty::None.gammas(&material.harmonics));
    drawn.push(("none".into(), none));
    let triangles = &material.parts().fine.triangles;
    let mut rows = Vec::new();
    for motion in [walk, test] {
        let k = most_folded(material, motion, 0..motion.pairs.len())?;
        let mut shown = Vec::new();
        for (name, detail) in &drawn {
            let mut frames = shown_by(material, motion, detail)?;
            let rms = millimetres(material, &frames, &motion.pairs.fine);
            println!("  {name}: {rms:.2} mm on {}", motion.title);
            shown.push((format!("{name}: {}", motion.title), frames.swap_remove(k)));
        }
        shown.push((format!("fine: {}", motion.title), motion.pairs.fine[k].clone()));
        let panels: Vec<Panel<'_>> = shown
            .iter()
            .map(|(caption, points)| Panel { caption, points, triangles, values: None })
            .collect();
        rows.push(picture(motion, k, &panels)?);
    }
    Picture::contact_sheet(&rows, 1)?.save_png(path)?;
    Ok(())
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
    let rest = half..boxing.len();
    let fine = &boxing.fine[half..];
    let learning = Learning::default();
    let [once, again] = [walk, &both].map(|pairs| {
        learnt(material, pairs, &learning).and_then(|learnt| shown(material, test, &learnt, rest.clone()))
    });
    let (once, again) = (once?, again?);
    println!(
        "  frames {half} – {}: walk {:.2} mm, walk and boxing {:.2} mm",
        boxing.len() - 1,
        millimetres(material, &once, fine),
        millimetres(material, &again, fine)
    );
    let k = most_folded(material, test, rest)?;
    let triangles = &material.parts().fine.triangles;
    let panel = |caption, points| Panel { caption, points, triangles, values: None };
    let panels = [
        panel("learnt a walk", &once[k - half]),
        panel("and some boxing", &again[k - half]),
        panel("fine", &boxing.fine[k]),
    ];
    draw_points(test, k, &panels, path)
}
