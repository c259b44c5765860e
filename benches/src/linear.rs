//! The linear solver on the matrices of implicit time steps: boxes of tets and sheets of cloth.
//!
//! Each is factorised on one thread and on all; the minimum of several runs counts. With `--peers`, MKL PARDISO
//! factorises the same matrices.

mod problems;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use geometry::Vec3;
use linear::{ConstraintRows, Error, Matrix, Settings, Solver};
use serde_json::{Value, json};

use crate::peers;
use problems::Problem;

/// What is measured of one problem, in milliseconds unless named otherwise.
struct Figures {
    name: &'static str,
    symbolic: f64,
    factor_one: f64,
    factor_all: f64,
    solve_one: f64,
    solve_all: f64,
    megabytes: f64,
    gigaflops: f64,
    stale_iterations: usize,
    stale: f64,
}

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    if let Some(unknown) = options.iter().find(|o| !["--peers", "--large"].contains(&o.as_str())) {
        eprintln!("unknown option {unknown}; known are --peers and --large");
        return ExitCode::from(2);
    }
    let with = |option: &str| options.iter().any(|o| o == option);
    let mut problems = vec![
        Problem::tets("1k", 9),
        Problem::tets("4k", 15),
        Problem::tets("16k", 24),
        Problem::cloth("cloth 2.6k", 50),
        Problem::cloth("cloth 10k", 100),
        Problem::cloth("cloth 40k", 200),
    ];
    if with("--large") {
        problems.push(Problem::tets("50k", 36));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "factor, solve and kept-factor solve: minimum of several runs, milliseconds, on 1 / {threads} threads"
    );
    println!(
        "{:<11} {:>8} {:>9} {:>19} {:>15} {:>7} {:>7}  kept factor, stiffness ±10 %, to 1e-6",
        "problem", "unknowns", "symbolic", "factor", "solve", "MB", "Gflop"
    );
    let mut figures = Vec::new();
    for problem in &problems {
        let measured = match measure(problem, threads) {
            Ok(measured) => measured,
            Err(error) => {
                eprintln!("{}: {error}", problem.name);
                return ExitCode::FAILURE;
            }
        };
        println!(
            "{:<11} {:>8} {:>9.1} {:>9.2} /{:>8.2} {:>7.2} /{:>6.2} {:>7.1} {:>7.2}  {} iterations, {:.2} ms",
            measured.name,
            3 * problem.matrix.pattern().count(),
            measured.symbolic,
            measured.factor_one,
            measured.factor_all,
            measured.solve_one,
            measured.solve_all,
            measured.megabytes,
            measured.gigaflops,
            measured.stale_iterations,
            measured.stale
        );
        figures.push(measured);
    }
    let by_name = |value: fn(&Figures) -> f64| -> Value {
        figures
            .iter()
            .map(|f| (f.name.to_string(), json!(rounded(value(f)))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let mut summary = json!({
        "bench": "linear",
        "threads": threads,
        "factor_ms": by_name(|f| f.factor_all),
        "factor_ms_1_thread": by_name(|f| f.factor_one),
        "solve_ms": by_name(|f| f.solve_all),
        "symbolic_ms": by_name(|f| f.symbolic),
        "factor_mb": by_name(|f| f.megabytes),
    });
    if with("--peers") {
        match pardiso(&problems, &figures, threads) {
            Ok((one, all)) => {
                summary["pardiso_ms"] = all;
                summary["pardiso_ms_1_thread"] = one;
            }
            Err(reason) => println!("PARDISO is left out: {reason}"),
        }
    }
    println!("{summary}");
    ExitCode::SUCCESS
}

fn measure(problem: &Problem, threads: usize) -> Result<Figures, Error> {
    let pattern = problem.matrix.pattern();
    let count = pattern.count();
    let rows = ConstraintRows::none(count);
    let (symbolic, solver) = timed(|| Solver::new(pattern, &vec![false; count], &rows, Settings::default()));
    let mut solver = solver?;
    let info = solver.info();
    let repeats = ((3e9 / info.factor_flops) as usize).clamp(3, 30);
    let right: Vec<Vec3> = (0..count).map(|i| Vec3::new(1.0, -9.81, (i % 5) as f64)).collect();
    let mut x = vec![Vec3::ZERO; count];

    let mut best = |threads: usize, solver: &mut Solver| -> Result<(f64, f64), Error> {
        let mut least = (f64::INFINITY, f64::INFINITY);
        in_pool(threads, || {
            for _ in 0..repeats {
                let (time, result) = timed(|| solver.factorize(&problem.matrix, &rows));
                result?;
                least.0 = least.0.min(time);
                x.fill(Vec3::ZERO);
                let (time, result) =
                    timed(|| solver.solve(&problem.matrix, &right, &rows, &[], &mut x, &mut [], 1e-10));
                result?;
                least.1 = least.1.min(time);
            }
            Ok(least)
        })
    };
    let (factor_one, solve_one) = best(1, &mut solver)?;
    let (factor_all, solve_all) = best(threads, &mut solver)?;

    // a factor of the one matrix, the other one solved with it
    let (mut stale, mut stale_iterations) = (f64::INFINITY, 0);
    in_pool(threads, || {
        for _ in 0..3 {
            solver.factorize(&problem.matrix, &rows)?;
            x.fill(Vec3::ZERO);
            let (time, solution) =
                timed(|| solver.solve(&problem.changed, &right, &rows, &[], &mut x, &mut [], 1e-6));
            stale = stale.min(time);
            stale_iterations = solution?.iterations;
        }
        Ok(())
    })?;
    Ok(Figures {
        name: problem.name,
        symbolic,
        factor_one,
        factor_all,
        solve_one,
        solve_all,
        megabytes: info.factor_bytes as f64 / 1e6,
        gigaflops: info.factor_flops / 1e9,
        stale_iterations,
        stale,
    })
}

/// PARDISO's least factor times by problem, on one thread and on all; a table of both beside ours.
fn pardiso(problems: &[Problem], figures: &[Figures], threads: usize) -> Result<(Value, Value), String> {
    let python = peers::python_with("pypardiso", "pypardiso")?;
    let folder = peers::folder();
    let mut files = Vec::new();
    for (k, problem) in problems.iter().enumerate() {
        let path = folder.join(format!("matrix-{k}.bin"));
        write_matrix(&problem.matrix, &path).map_err(|error| format!("{}: {error}", path.display()))?;
        files.push(path);
    }
    let run = |threads: usize| -> Result<Vec<Value>, String> {
        let mut command = Command::new(&python);
        command.arg(peers::script("pardiso.py")).args([threads.to_string(), "5".into()]).args(&files);
        let output = peers::run(&mut command)?;
        let figures: Value = serde_json::from_str(output.trim()).map_err(|error| error.to_string())?;
        let name = |path: &PathBuf| path.to_string_lossy().into_owned();
        Ok(files.iter().map(|path| figures[name(path)].clone()).collect())
    };
    let (one, all) = (run(1)?, run(threads)?);
    files.iter().for_each(|path| drop(std::fs::remove_file(path)));

    println!();
    println!(
        "MKL PARDISO on the same matrices, on 1 / {threads} threads; ours / theirs below 1: ours is faster"
    );
    println!("{:<11} {:>19} {:>17} {:>19}", "problem", "factor", "solve", "ours / theirs");
    let (mut by_one, mut by_all) = (serde_json::Map::new(), serde_json::Map::new());
    for (k, figures) in figures.iter().enumerate() {
        let value = |run: &[Value], key: &str| run[k][key].as_f64().unwrap_or(f64::NAN);
        let factor = (value(&one, "factor_ms"), value(&all, "factor_ms"));
        println!(
            "{:<11} {:>9.2} /{:>8.2} {:>8.2} /{:>7.2} {:>9.2} /{:>8.2}",
            figures.name,
            factor.0,
            factor.1,
            value(&one, "solve_ms"),
            value(&all, "solve_ms"),
            figures.factor_one / factor.0,
            figures.factor_all / factor.1
        );
        by_one.insert(figures.name.into(), json!(rounded(factor.0)));
        by_all.insert(figures.name.into(), json!(rounded(factor.1)));
    }
    Ok((by_one.into(), by_all.into()))
}

/// The upper triangle by rows, counted from 1, as benches/peers/pardiso.py reads it.
fn write_matrix(matrix: &Matrix, path: &Path) -> std::io::Result<()> {
    let pattern = matrix.pattern();
    let count = pattern.count() as u32;
    let (mut starts, mut columns, mut values) = (vec![1i32], Vec::new(), Vec::new());
    for i in 0..count {
        // row i of the upper triangle is column i of the lower one
        let blocks: Vec<(u32, usize)> = (i..count).filter_map(|j| Some((j, pattern.slot(i, j)?))).collect();
        for r in 0..3 {
            for &(j, slot) in &blocks {
                for c in (if j == i { r } else { 0 })..3 {
                    columns.push((3 * j) as i32 + c as i32 + 1);
                    values.push(matrix.values()[slot].col(r)[c]);
                }
            }
            starts.push(columns.len() as i32 + 1);
        }
    }
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    file.write_all(&(3 * u64::from(count)).to_le_bytes())?;
    file.write_all(&(columns.len() as u64).to_le_bytes())?;
    for value in starts.iter().chain(&columns) {
        file.write_all(&value.to_le_bytes())?;
    }
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()
}

/// Runs in a pool of so many threads, or in the present one if none can be made.
fn in_pool<T: Send>(threads: usize, act: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(act),
        Err(_) => act(),
    }
}

/// Milliseconds, and the result.
fn timed<T>(act: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = act();
    (1e3 * start.elapsed().as_secs_f64(), result)
}

fn rounded(value: f64) -> f64 {
    (1000.0 * value).round() / 1000.0
}
