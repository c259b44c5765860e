//! A cantilever of 20,000 tets falls under its own weight: assembly, solve, and the same tip as VegaFEM's.
//!
//! 4×1×1 m along x, 40×10×10 cells of five tets, E = 1e5 Pa, ν = 0.45, 1000 kg/m³, the face x = 0 held, stiffness damping 0.01 s,
//! StVK with stretches safe below 0.1, backward Euler with one Newton step, 50 steps of 10 ms.
//!
//! VegaFEM 4 on two quiet cores takes 78 to 87 ms a step (assembly 31, solve 52) and ends at −1.661 m; at 16×4×4 cells at −0.155 m; with its
//! corotational law at −1.306 m. Ours ends at −1.30 to −1.31 m at both resolutions, with all three laws, with one Newton step or
//! many, and MuJoCo's StVK (`--peers`) at −1.25 to −1.28 m: it is VegaFEM's StVK that stands alone, by itself and between its two resolutions.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use dynamics::{
    Body, Elements, Energy, GuideSample, Integrator, Settings, StageHistory, State, StaticGuide, Stepper,
    Substeps,
};
use geometry::{TetMesh, Vec3};
use linear::{Matrix, Pattern};
use serde_json::{Value, json};
use solid::{Law, Material, Solid, Tet};

use crate::peers;
use crate::timing::median_ms;

/// Steps of 10 ms.
const STEPS: usize = 50;
/// Steps from frame to frame; the solver may keep a factor within a frame.
const SUBSTEPS: usize = 5;

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let with_peers = match options {
        [] => false,
        [option] if option == "--peers" => true,
        _ => {
            eprintln!("known is --peers");
            return ExitCode::from(2);
        }
    };
    println!(
        "{:<28} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "cantilever", "tets", "ms/step", "assembly", "solve", "tip m"
    );
    let mut result = json!({ "bench": "s2-solid", "threads": rayon::current_num_threads() });
    for (cells, law) in [
        ([16, 4, 4], Law::Stvk),
        ([40, 10, 10], Law::Corotational),
        ([40, 10, 10], Law::NeoHookean),
        ([40, 10, 10], Law::Stvk),
    ] {
        let run = match simulate(cells, law) {
            Ok(run) => run,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        let name = format!("{}×{}×{} {law:?}", cells[0], cells[1], cells[2]);
        println!(
            "{name:<28} {:>7} {:>9.1} {:>9.1} {:>9.1} {:>9.3}",
            run.tets,
            run.per_step,
            run.assembly,
            run.per_step - run.assembly,
            run.tip
        );
        result["ms_per_step"] = json!(run.per_step);
        result["assembly_ms"] = json!(run.assembly);
        result["solve_ms"] = json!(run.per_step - run.assembly);
        result["tip"] = json!(run.tip);
    }
    if with_peers {
        result["peers"] = peers();
    }
    println!("{result}");
    ExitCode::SUCCESS
}

/// The same beam in MuJoCo, whose tip wanders with the step: at equal error it is the short ones that compare.
fn peers() -> Value {
    let steps = ["10", "5", "2", "1"].map(String::from);
    let runs = match peers::measured("mujoco", "mujoco", "mujoco_solid.py", steps) {
        Ok(runs) => runs,
        Err(reason) => {
            println!("MuJoCo is skipped: {reason}");
            return json!({ "skipped": reason });
        }
    };
    println!("\n{:<40} {:>7} {:>14} {:>9}", "peer", "tets", "ms for 10 ms", "tip m");
    for run in &runs {
        let number = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "{:<40} {:>7} {:>14.1} {:>9.3}",
            run["name"].as_str().unwrap_or_default(),
            number("tets"),
            number("ms_per_10_ms"),
            number("tip")
        );
    }
    runs.into()
}

struct Run {
    tets: usize,
    per_step: f64,
    assembly: f64,
    /// The lowest displacement at the end, in metres.
    tip: f64,
}

fn simulate(cells: [usize; 3], law: Law) -> Result<Run, solid::Error> {
    let mesh = TetMesh::box_grid(cells, Vec3::new(4.0, 1.0, 1.0))?;
    // damping 0.01 s: the ratio that gives it
    let damping = 0.01 * std::f64::consts::PI * Material::DAMPING_REFERENCE_HZ;
    let material = Material { young: 1e5, poisson: 0.45, density: 1000.0, damping };
    let solid = Solid::new(&mesh, law, &material)?;
    let known: Vec<bool> = mesh.points().iter().map(|p| p.x == 0.0).collect();
    let tets = solid.tets.iter().map(|(corners, tet)| (*corners, tet.with_least_stretch(0.1)));
    let energy = Elements::new(tets).damped(1.0);
    let body = Body::builder(solid.masses.clone())
        .energy(energy.clone())
        .known(known)
        .gravity(Vec3::new(0.0, -9.81, 0.0))
        .build()?;
    let settings = Settings {
        integrator: Integrator::LinearlyImplicit { delta: 0.0 },
        substeps: Substeps::Fixed(SUBSTEPS),
        ..Settings::default()
    };
    let rest = mesh.points().to_vec();
    let mut stepper = Stepper::new(&body, &rest, settings)?;
    let mut state = State::at_rest(rest.clone());
    let guide = StaticGuide::new(rest.clone());
    let start = Instant::now();
    for _ in 0..STEPS / SUBSTEPS {
        stepper.advance(&body, &mut state, &guide, 0.01 * SUBSTEPS as f64, &mut [])?;
    }
    let per_step = 1e3 * start.elapsed().as_secs_f64() / STEPS as f64;
    let tip = rest.iter().zip(&state.positions).map(|(rest, x)| x.y - rest.y).fold(0.0, f64::min);
    Ok(Run { tets: mesh.tets().len(), per_step, assembly: assembly(energy, &state.positions), tip })
}

/// Milliseconds for all that a step does to the elements, friction, forces and matrix: the median of a few.
fn assembly(mut energy: Elements<Tet, 4>, x: &[Vec3]) -> f64 {
    let mut stencils: Vec<[u32; 4]> = Vec::new();
    energy.stencils(&mut |stencil| stencils.push(std::array::from_fn(|i| stencil[i])));
    let pattern = Arc::new(Pattern::from_stencils(x.len(), stencils.iter().map(|stencil| &stencil[..])));
    energy.bind(&pattern);
    let mut matrix = Matrix::new(pattern);
    let mut gradient = vec![Vec3::ZERO; x.len()];
    let sample = GuideSample { time: 0.0, guide_positions: x, guide_velocities: x };
    median_ms(&mut || {
        let damped = energy.with_viscosity(&StageHistory {
            implicit_dt: 0.01,
            positions: [(1.0, x), (0.0, x)],
            internal: &[],
        });
        let damped = damped.as_deref().unwrap_or(&energy);
        damped.add_gradient(&sample, x, &mut gradient);
        matrix.set_zero();
        damped.add_hessian(&sample, x, x, &mut matrix);
    })
}
