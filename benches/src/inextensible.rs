//! The two figures of *inextensible* (2007): what it costs to keep threads at their lengths, against the strain that is
//! permitted and against resolution; for a chain held at one end and for a cloth that drapes over a ball; six methods.
//!
//! Every method may take as short steps as it needs, and springs may be as stiff: what counts is the time in which no thread
//! was ever beyond the tolerance and the chain's end went where that of an inextensible one goes. All stand on the same engine
//! and the same linear solver.

mod exact;
mod figures;
mod methods;
mod relaxation;
mod scenes;
mod shake;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

use film::{Curve, Curves};
use serde_json::{Map, Value, json};

use methods::{EQUAL, Method, PAPER};
use scenes::Scene;

const TOLERANCES: [f64; 5] = [0.1, 0.03, 0.01, 0.001, 0.0001];
const CHAINS: [u32; 5] = [10, 20, 40, 80, 160];
const DRAPES: [u32; 5] = [8, 12, 17, 50, 100];
/// What the figures against strain are drawn for.
const CHAIN: u32 = 80;
const DRAPE: u32 = 12;
/// What takes longer than this at equal accuracy, in milliseconds per simulated second, is not waited for.
const EQUAL_PATIENCE: f64 = 1500.0;

/// Milliseconds by method and by what varies; none where a method did not get there.
type Costs = Vec<(Method, Vec<(f64, Option<f64>)>)>;

/// What is asked for.
enum Asked {
    All,
    /// Methods at equal accuracy alone.
    Equal,
    /// Figures that measure no time.
    Figures,
}

/// Runs the benchmark. `--plots FOLDER` says where the plots go; `target/inextensible` unless told.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let (mut folder, mut asked) = ("target/inextensible".to_owned(), Asked::All);
    for pair in options.chunks(2) {
        match pair {
            [option, to] if option == "--plots" => folder.clone_from(to),
            [option, what] if option == "--only" && what == "equal" => asked = Asked::Equal,
            [option, what] if option == "--only" && what == "figures" => asked = Asked::Figures,
            _ => {
                eprintln!(
                    "unknown options {options:?}; known are --plots FOLDER and --only equal or figures"
                );
                return ExitCode::from(2);
            }
        }
    }
    let drawn = match asked {
        Asked::All => measure_all(),
        Asked::Equal => measure_equal(),
        Asked::Figures => Measured::default(),
    };
    let mut files =
        vec![("questions.svg", figures::four_questions()), ("sequence.svg", figures::sequence().svg())];
    files.extend(drawn.plots);
    for (file, svg) in files {
        let path = format!("{folder}/{file}");
        if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, svg)) {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
        println!("wrote {path}");
    }
    if let Some(result) = drawn.result {
        println!("{result}");
    }
    ExitCode::SUCCESS
}

/// Plots by the names of their files, and what is told to machines.
#[derive(Default)]
struct Measured {
    plots: Vec<(&'static str, String)>,
    result: Option<Value>,
}

/// Methods at equal accuracy.
fn measure_equal() -> Measured {
    let (equal, seconds) = equal_accuracy();
    let result = json!({
        "bench": "inextensible",
        "equal_accuracy": by_method(&equal),
        "equal_accuracy_seconds": seconds,
        "threads": rayon::current_num_threads(),
    });
    Measured { plots: vec![plot(EQUAL_PLOT, &equal)], result: Some(result) }
}

/// A file, its title, and what is along its abscissa.
type Labels = (&'static str, &'static str, &'static str);
const EQUAL_PLOT: Labels =
    ("chain-equal.svg", "A chain of 80 points, all to the same accuracy", "permitted strain");

fn plot((file, title, x_label): Labels, costs: &Costs) -> (&'static str, String) {
    let curve = |(method, costs): &(Method, Vec<(f64, Option<f64>)>)| Curve {
        name: method.name().into(),
        points: costs.iter().filter_map(|&(x, ms)| Some((x, ms?))).collect(),
    };
    let curves = Curves {
        title: title.into(),
        x_label: x_label.into(),
        y_label: "milliseconds per simulated second".into(),
        curves: costs.iter().map(curve).collect(),
    };
    (file, curves.svg())
}

fn by_x(costs: &[(f64, Option<f64>)]) -> Value {
    costs.iter().map(|(x, ms)| (x.to_string(), json!(ms))).collect::<Map<_, _>>().into()
}

fn by_method(costs: &Costs) -> Value {
    costs.iter().map(|(m, costs)| (m.name().to_owned(), by_x(costs))).collect::<Map<_, _>>().into()
}

/// Everything.
fn measure_all() -> Measured {
    let chain_strain = measure("chain of 80 points", "strain", &TOLERANCES, |t| (Scene::chain(CHAIN), t));
    let sizes = |counts: &[u32]| counts.iter().map(|&n| f64::from(n)).collect::<Vec<f64>>();
    let chain_size = measure("chain at 1 %", "points", &sizes(&CHAINS), |n| (Scene::chain(n as u32), 0.01));
    let drape_strain =
        measure("drape of 13 × 13 points", "strain", &TOLERANCES, |t| (Scene::drape(DRAPE), t));
    let drape_size = measure("drape at 1 %", "cells", &sizes(&DRAPES), |n| (Scene::drape(n as u32), 0.01));

    let (equal, seconds) = equal_accuracy();

    let plots = vec![
        plot(EQUAL_PLOT, &equal),
        plot(("chain-strain.svg", "A chain of 80 points", "permitted strain"), &chain_strain),
        plot(("chain-size.svg", "A chain at 1 % strain", "points"), &chain_size),
        plot(
            ("drape-strain.svg", "A cloth of 13 × 13 points over a ball", "permitted strain"),
            &drape_strain,
        ),
        plot(("drape-size.svg", "A cloth over a ball at 1 % strain", "cells along a side"), &drape_size),
    ];
    let at = |costs: &Costs, method: Method, x: f64| {
        let (_, costs) = costs.iter().find(|(m, _)| *m == method)?;
        costs.iter().find(|(at, _)| *at == x)?.1
    };
    let fast = at(&chain_strain, Method::FastProjection, 0.01);
    let speedup = at(&chain_strain, Method::Springs, 0.01).zip(fast).map(|(springs, fast)| springs / fast);
    println!(
        "on the chain at 1 % fast projection is {:.1} times as fast as stiff springs",
        speedup.unwrap_or(f64::NAN)
    );
    let result = json!({
        "bench": "inextensible",
        "chain_speedup_80_1pct": speedup,
        "chain_ms": by_x(&chain_strain[0].1),
        "chain_ms_by_method": by_method(&chain_strain),
        "chain_ms_by_points": by_method(&chain_size),
        "drape_ms": by_method(&drape_strain),
        "drape_ms_by_cells": by_method(&drape_size),
        "equal_accuracy": by_method(&equal),
        "equal_accuracy_seconds": seconds,
        "threads": rayon::current_num_threads(),
    });
    Measured { plots, result: Some(result) }
}

/// Times every method on every scene. Fast projection goes first: what takes very much longer is not waited for.
fn measure(title: &str, what: &str, values: &[f64], scene: impl Fn(f64) -> (Scene, f64)) -> Costs {
    println!("\n{title}: milliseconds per simulated second");
    print!("{what:<22}");
    values.iter().for_each(|value| print!(" {value:>9}"));
    println!();
    let mut costs: Costs = Vec::new();
    let mut patience: Vec<f64> = vec![f64::INFINITY; values.len()];
    for method in Method::ALL {
        print!("{:<22}", method.name());
        let mut row = Vec::new();
        for (k, &value) in values.iter().enumerate() {
            let (scene, tolerance) = scene(value);
            let ms = method.cost(&scene, tolerance, patience[k], PAPER);
            if method == Method::FastProjection {
                patience[k] = scene.patience * ms.unwrap_or(10.0);
            }
            match ms {
                Some(ms) => print!(" {ms:>9.2}"),
                None => print!(" {:>9}", "–"),
            }
            row.push((value, ms));
        }
        println!();
        costs.push((method, row));
    }
    costs
}

/// Milliseconds per simulated second at equal accuracy, and over how many seconds: those for which the way of the chain's end is known to a
/// tenth of what it may be off. What a method does at some strain it may do at every larger one.
fn equal_accuracy() -> (Costs, f64) {
    let chain = Scene::chain(CHAIN);
    let frames = chain.witnessed_frames();
    let accuracy = EQUAL.over(frames);
    let seconds = accuracy.seconds();
    println!(
        "\nchain of 80 points, end within 5 mm over {seconds} s, both signs: milliseconds per simulated second"
    );
    let mut costs: Costs = Vec::new();
    for method in Method::EQUAL {
        print!("{:<32}", method.name());
        let mut row: Vec<(f64, Option<f64>)> = Vec::new();
        let mut best: Option<f64> = None;
        for &tolerance in TOLERANCES.iter().rev() {
            let patience = best.unwrap_or(EQUAL_PATIENCE);
            best = method.cost(&chain, tolerance, patience, accuracy).or(best);
            row.insert(0, (tolerance, best));
        }
        row.iter().for_each(|(_, ms)| print!(" {:>9}", ms.map_or("–".into(), |ms| format!("{ms:.2}"))));
        println!();
        costs.push((method, row));
    }
    (costs, seconds)
}
