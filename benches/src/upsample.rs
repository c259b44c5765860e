//! Cloth for games: Table 1 of *upsample* 2011 beside ours, one core.
//!
//! Sheets of the paper's sizes, held along their upper edge by a joint that walks. The coarse half is simulated as a game would; folds that
//! the fine half has are authored (pleats as deep as keeps the cloth's length), so that speed and size can be measured without
//! simulating thousands of fine frames. How good learnt folds are on unseen motions is read from trainings: `--trained FOLDER` looks through what
//! `followthrough train` left there (`demo game-cape` and its like make it), reports and operators. `--peers` measures the dense product in
//! OpenBLAS, too. `--quick` learns from fewer frames and leaves out the largest case, 100 → 19,460 points, for which *Feng et al. 2010* take
//! 3.7 ms of a GPU and the paper 0.13.

use std::process::ExitCode;
use std::time::Instant;

use geometry::{Prolongation, Vec3};
use live::{
    Applied, Capsule, Detail, Factor, Format, Frame, LiveCloth, Mesh, Operator, Parts, RigCapsule, Skin,
    Transform,
};
use serde_json::{Map, Value, json};
use upsample::{Harmonics, Learning, Pairs, learn, smooth_subdivision, weights};

use crate::trained::Trained;

/// Coarse and fine points along both sides, and frames to learn from.
struct Size {
    name: &'static str,
    coarse: (u32, u32),
    fine: (u32, u32),
    frames: usize,
    /// The paper's: upsampling and coarse step in ms, harmonics and learning in s.
    paper: [f64; 4],
}

const SIZES: [Size; 5] = [
    Size { name: "skirt", coarse: (14, 14), fine: (84, 84), frames: 1073, paper: [0.8, 0.5, 111.0, 6.8] },
    Size { name: "flag", coarse: (10, 15), fine: (72, 88), frames: 1386, paper: [0.6, 0.4, 84.0, 5.1] },
    Size { name: "curtain", coarse: (11, 11), fine: (71, 71), frames: 1490, paper: [0.4, 0.3, 41.0, 3.4] },
    Size { name: "cape", coarse: (7, 14), fine: (101, 101), frames: 905, paper: [0.7, 0.2, 343.0, 7.7] },
    Size {
        name: LARGE,
        coarse: (10, 10),
        fine: (139, 140),
        frames: 900,
        paper: [0.13, 0.2, f64::NAN, f64::NAN],
    },
];
/// The case that the paper compares with others' (its figure is a GPU's).
const LARGE: &str = "large";
/// Harmonics that are learnt in; on unseen motion more give the same.
const HARMONICS: usize = 400;
/// More than any cache holds.
pub(crate) const CACHES: usize = 128 << 20;

/// What was asked for.
#[derive(Default)]
struct Options {
    quick: bool,
    peers: bool,
    trained: Option<String>,
}

impl Options {
    fn read(options: &[String]) -> Result<Self, String> {
        let mut read = Self::default();
        let mut rest = options.iter();
        while let Some(option) = rest.next() {
            match option.as_str() {
                "--quick" => read.quick = true,
                "--peers" => read.peers = true,
                "--trained" => read.trained = Some(rest.next().ok_or("--trained needs a folder")?.clone()),
                "--cuda" => println!("skipped: there is no CUDA kernel; a crowd is one product on the CPU"),
                other => {
                    return Err(format!(
                        "unknown option {other}; there are --quick, --peers, --cuda and --trained FOLDER"
                    ));
                }
            }
        }
        Ok(read)
    }
}

pub(crate) fn run(options: &[String]) -> ExitCode {
    let Options { quick, peers, trained: folder } = match Options::read(options) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let frames = if quick { 600 } else { 10_000 };
    let trained = match folder.map(|folder| Trained::read(folder.as_ref())).transpose() {
        Ok(trained) => trained.unwrap_or_default(),
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let mut columns: Vec<(&str, Map<String, Value>)> = [
        "upsample_ms",
        "upsample_cold_ms",
        "dense_ms",
        "dense_cold_ms",
        "coarse_ms",
        "operator_mb",
        "harmonics_s",
        "learn_s",
    ]
    .map(|name| (name, Map::new()))
    .into();
    println!("kernel: {}", live::Kernel::detect().name());
    println!(
        "          points         rank  MB   upsampling ms (cold)  paper  dense ms (cold)  coarse ms  paper  harmonics s  paper  learning s  paper"
    );
    let (mut slowest, mut crowd): (f64, f64) = (0.0, 0.0);
    for size in SIZES.iter().filter(|size| !(quick && size.name == LARGE)) {
        let row = match measure(size, if quick { size.frames / 8 } else { size.frames }, frames) {
            Ok(row) => row,
            Err(problem) => {
                eprintln!("{}: {problem}", size.name);
                return ExitCode::FAILURE;
            }
        };
        row.print(size);
        for ((_, map), value) in columns.iter_mut().zip(row.values) {
            map.insert(size.name.into(), json!(value));
        }
        // the paper's four cloths are what is aimed at
        if size.name != LARGE {
            slowest = slowest.max(row.frame_p999);
            crowd = crowd.max(row.crowd_us);
        }
    }
    println!("slowest of a thousand whole frames: {slowest:.3} ms; a cape of a thousand: {crowd:.1} µs");
    let mut answer = Map::new();
    answer.insert("bench".into(), json!("upsample"));
    columns.into_iter().for_each(|(name, map)| drop(answer.insert(name.into(), Value::Object(map))));
    answer.insert("frame_ms_p999".into(), json!(slowest));
    answer.insert("crowd_us".into(), json!(crowd));
    if peers {
        match openblas() {
            Ok(times) => drop(answer.insert("openblas_ms".into(), times)),
            Err(reason) => println!("skipped: OpenBLAS: {reason}"),
        }
    }
    // empty without `--trained FOLDER`
    trained.tell(&mut answer);
    println!("{}", Value::Object(answer));
    ExitCode::SUCCESS
}

/// Milliseconds of the dense product in OpenBLAS, one core, by size.
fn openblas() -> Result<Value, String> {
    let sizes = SIZES.iter().flat_map(|size| {
        let points = |(columns, rows): (u32, u32)| (columns * rows).to_string();
        [size.name.to_owned(), points(size.coarse), points(size.fine)]
    });
    let found = crate::peers::measured("numpy", "numpy", "upsample.py", sizes)?;
    found.into_iter().next().ok_or_else(|| "it said nothing".into())
}

struct Row {
    points: (usize, usize),
    rank: usize,
    values: [f64; 8],
    frame_p999: f64,
    crowd_us: f64,
}

impl Row {
    fn print(&self, size: &Size) {
        let v = self.values;
        println!(
            "{:8} {:4} → {:5}  {:4}  {:.2}  {:.3} ({:.3})          {:.1}    {:.3} ({:.3})    {:.3}      {:.1}    {:6.2}       {:4.0}   {:6.2}      {:.1}",
            size.name,
            self.points.0,
            self.points.1,
            self.rank,
            v[5],
            v[0],
            v[1],
            size.paper[0],
            v[2],
            v[3],
            v[4],
            size.paper[1],
            v[6],
            size.paper[2],
            v[7],
            size.paper[3]
        );
    }
}

fn measure(size: &Size, learnt_frames: usize, frames: usize) -> Result<Row, Box<dyn std::error::Error>> {
    let (coarse, fine) = (sheet(size.coarse), sheet(size.fine));
    let subdivision = smooth_subdivision(&doubles(&coarse.rest), &coarse.triangles, &doubles(&fine.rest))?;
    let start = Instant::now();
    let harmonics = Harmonics::new(&doubles(&fine.rest), &fine.triangles, HARMONICS)?;
    let harmonics_s = start.elapsed().as_secs_f64();
    let held = |i: usize| if i < size.coarse.0 as usize { 1.0 } else { 0.0 };
    let mut parts = Parts {
        subdivision: weights(&subdivision),
        coarse_skin: (0..coarse.rest.len()).map(|i| Skin::rigid(0, held(i))).collect(),
        fine_skin: (0..size.fine.0).map(|i| (i, Skin::rigid(0, 1.0))).collect(),
        capsules: vec![
            body([-0.1, 0.0], [0.16, 0.13]),
            body([-0.6, -0.1], [0.1, 0.08]),
            body([-0.6, 0.1], [0.1, 0.08]),
        ],
        ..Parts::new(coarse, fine)
    };
    let pairs = pairs(&parts, &subdivision, learnt_frames)?;
    let start = Instant::now();
    let learnt = learn(&pairs, &subdivision, &harmonics, None, &Learning::default())?;
    let learn_s = start.elapsed().as_secs_f64();
    parts.detail = Some(learnt.factor.clone());
    parts.known = learnt.known as f32;
    let bytes = parts.write()?;
    let operator = Operator::read(&bytes[..])?;
    let (warm, cold) = upsampling(&operator, &pairs)?;
    let crowd_us = crowd(&operator, &pairs)?;
    let dense = dense(&parts, &subdivision, &harmonics, &learnt)?;
    let (dense_warm, dense_cold) = upsampling(&Operator::read(&dense[..])?, &pairs)?;
    let (coarse_ms, frame_p999) = live_frames(&bytes, frames)?;
    let megabytes = bytes.len() as f64 / 1e6;
    Ok(Row {
        points: (operator.counts().coarse, operator.counts().fine),
        rank: operator.counts().rank,
        values: [warm, cold, dense_warm, dense_cold, coarse_ms, megabytes, harmonics_s, learn_s],
        frame_p999,
        crowd_us,
    })
}

/// A sheet of 1 m in the plane z = 0, hanging from y = 0.
fn sheet((columns, rows): (u32, u32)) -> Mesh {
    let at = |i: u32, j: u32| j * columns + i;
    let place = |i: u32, j: u32| {
        let (u, v) = (i as f32 / (columns - 1) as f32, j as f32 / (rows - 1) as f32);
        [u - 0.5, -v, -0.25]
    };
    let rest = (0..rows).flat_map(|j| (0..columns).map(move |i| place(i, j))).collect();
    let cells = (0..rows - 1).flat_map(|j| (0..columns - 1).map(move |i| (i, j)));
    let triangles = cells.flat_map(|(i, j)| {
        [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]]
    });
    Mesh { rest, triangles: triangles.collect() }
}

fn body([top, x]: [f32; 2], radii: [f32; 2]) -> RigCapsule {
    RigCapsule { joints: [0, 0], capsule: Capsule { ends: [[x, top, 0.0], [x, top - 0.5, 0.0]], radii } }
}

fn doubles(points: &[[f32; 3]]) -> Vec<Vec3> {
    points.iter().map(|p| Vec3::from_array(p.map(f64::from))).collect()
}

/// Shoulders that walk and look about.
fn shoulders(time: f32) -> Transform {
    let (s, c) = (0.5 * (2.3 * time).sin() + 0.2 * (5.1 * time).sin()).sin_cos();
    [
        [c, 0.0, s, 0.05 * (5.6 * time).sin()],
        [0.0, 1.0, 0.0, 0.03 * (11.2 * time).cos()],
        [-s, 0.0, c, 1.3 * time],
    ]
}

/// The coarse half simulated, the fine half pleated where the coarse one is drawn together.
fn pairs(parts: &Parts, subdivision: &Prolongation, frames: usize) -> Result<Pairs, live::Error> {
    let mut cloth = LiveCloth::new(Operator::read(parts.write()?)?)?;
    let rest = doubles(&parts.fine.rest);
    let mut pairs = Pairs::default();
    for index in 0..frames {
        cloth.advance(&Frame { skin: &[shoulders(index as f32 / 30.0)], ..Frame::new(1.0 / 30.0) })?;
        let coarse = doubles(cloth.simulator().points());
        let smooth = subdivision.vectors(&coarse);
        let normals = geometry::vertex_normals(&smooth, &parts.fine.triangles);
        let swing = (coarse[coarse.len() - 1] - coarse[0]).z;
        let fold = |i: usize| 0.02 * swing * (40.0 * rest[i].x + 9.0 * rest[i].y).sin() * rest[i].y;
        pairs.push(&coarse, (0..rest.len()).map(|i| smooth[i] + fold(i) * normals[i]).collect());
    }
    Ok(pairs)
}

/// The whole of U in single precision, for comparison.
fn dense(
    parts: &Parts,
    subdivision: &Prolongation,
    harmonics: &Harmonics,
    learnt: &upsample::Learnt,
) -> Result<Vec<u8>, live::Error> {
    let detail = harmonics.synthesise(&learnt.detail);
    let (rows, columns) = (detail.nrows(), detail.ncols());
    let mut whole: Vec<f32> =
        (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|at| detail[at] as f32).collect();
    for i in 0..rows {
        subdivision.row(i).for_each(|(j, w)| whole[i * columns + j as usize] += w as f32);
    }
    let factor = Factor { rank: columns, rows: whole, columns: None, format: Format::Single };
    let dense =
        Parts { subdivision: vec![Vec::new(); rows], detail: Some(factor), known: 0.0, ..parts.clone() };
    dense.write()
}

/// Median milliseconds with everything in cache, and with nothing in it.
fn upsampling(operator: &Operator<&[u8]>, pairs: &Pairs) -> Result<(f64, f64), live::Error> {
    let mut scratch = operator.scratch();
    let mut fine = vec![[0.0; 3]; operator.counts().fine];
    let mut once = |frame: usize| -> Result<f64, live::Error> {
        let coarse = &pairs.coarse[frame % pairs.len()];
        let start = Instant::now();
        operator.apply(coarse, Detail::default(), &mut scratch, &mut fine)?;
        Ok(1e3 * start.elapsed().as_secs_f64())
    };
    let warm = median((0..1000).map(&mut once).collect::<Result<_, _>>()?);
    let mut other = vec![1_u8; CACHES];
    let mut cold = Vec::new();
    for frame in 0..30 {
        other.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        cold.push(once(frame)?);
    }
    Ok((warm, median(cold)))
}

/// Microseconds of each of a thousand capes, as one product.
fn crowd(operator: &Operator<&[u8]>, pairs: &Pairs) -> Result<f64, live::Error> {
    const CAPES: usize = 1000;
    let mut scratch = operator.scratch();
    let coarse: Vec<[f32; 3]> =
        (0..CAPES).flat_map(|cape| pairs.coarse[cape % pairs.len()].iter().copied()).collect();
    let mut fine = vec![[0.0_f32; 3]; CAPES * operator.counts().fine];
    let mut applied = vec![Applied { distance: 0.0, shown: 0.0 }; CAPES];
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        operator.apply_all(&coarse, Detail::default(), &mut scratch, &mut fine, &mut applied)?;
        times.push(1e6 * start.elapsed().as_secs_f64() / CAPES as f64);
    }
    Ok(median(times))
}

/// Median of the coarse step, and the 99.9th percentile of whole frames with capsules and normals, ms.
fn live_frames(bytes: &[u8], frames: usize) -> Result<(f64, f64), live::Error> {
    let mut cloth = LiveCloth::new(Operator::read(bytes)?)?;
    let mut coarse = live::Simulator::new(cloth.operator())?;
    let (mut steps, mut whole) = (Vec::new(), Vec::new());
    for index in 0..frames {
        let skin = [shoulders(index as f32 / 60.0)];
        let frame = Frame { skin: &skin, ..Frame::new(1.0 / 60.0) };
        let start = Instant::now();
        coarse.advance(&frame)?;
        steps.push(1e3 * start.elapsed().as_secs_f64());
        let start = Instant::now();
        cloth.advance(&frame)?;
        whole.push(1e3 * start.elapsed().as_secs_f64());
    }
    whole.sort_by(f64::total_cmp);
    Ok((median(steps), whole[(0.999 * whole.len() as f64) as usize]))
}

pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
