//! Secondary motion at the sizes of the *enrich* paper's table 1, made with our samples: seconds per frame, and how they grow.
//!
//! Fit and simulation of a frame together, as a bake does them. Tets and substeps are the paper's; surfaces come from the samples, so
//! their vertex counts are near the paper's where a sample allows.

use std::process::ExitCode;
use std::time::Instant;

use clip::Clip;
use contact::{Attachment, BarrierContact};
use dynamics::{ContactModel, Integrator, Settings, Span, Substeps};
use geometry::{Filled, TetMeshing, TetSize, Vec3};
use samples::{Biped, Plant, Quadruped};
use serde_json::{Map, json};
use solid::{EmbeddedSurface, Enrich, EnrichSettings, Law, Material, Solid, WeightKey};

/// A row of the paper's table 1.
struct Row {
    name: &'static str,
    tets: usize,
    substeps: usize,
    simulate: bool,
    /// The paper's seconds per frame, fit and simulation, and ours to reach.
    paper: f64,
    goal: f64,
    /// Groups that move; all that is not in one of them is held.
    free: &'static [&'static str],
    clip: fn() -> Clip,
}

const ROWS: [Row; 6] = [
    Row {
        name: "elephant",
        tets: 14_942,
        substeps: 9,
        simulate: true,
        paper: 8.91,
        goal: 0.25,
        free: &["belly", "ears", "trunk", "tail"],
        clip: || elephant(0.029),
    },
    Row {
        name: "dragon",
        tets: 5387,
        substeps: 6,
        simulate: true,
        paper: 0.79,
        goal: 0.06,
        free: &["belly", "ears", "trunk", "tail", "head", "back"],
        clip: || elephant(0.016),
    },
    Row {
        name: "bird",
        tets: 11_846,
        substeps: 2,
        simulate: true,
        paper: 0.86,
        goal: 0.12,
        free: &["cap", "belly", "cheeks", "head"],
        clip: || biped(0.05),
    },
    Row {
        name: "head",
        tets: 18_391,
        substeps: 0,
        simulate: false,
        paper: 1.35,
        goal: 0.35,
        free: &[],
        clip: || elephant(0.0165),
    },
    Row {
        name: "plant",
        tets: 413,
        substeps: 1,
        simulate: true,
        paper: 0.0298,
        goal: 0.003,
        free: &["stem", "leaves"],
        clip: || Plant::default().clip(),
    },
    Row {
        name: "sumo",
        tets: 7767,
        substeps: 6,
        simulate: true,
        paper: 0.54,
        goal: 0.12,
        free: &["belly", "cheeks"],
        clip: || biped(0.016),
    },
];

fn elephant(cell: f64) -> Clip {
    Quadruped { cell, cycles: 1, ..Quadruped::default() }.clip()
}

fn biped(cell: f64) -> Clip {
    Biped { cell, ..Biped::default() }.clip()
}

/// Frames of each run; the first ones, which find γ, are not counted.
const FRAMES: usize = 12;
const WARM: usize = 3;

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let upto = match options {
        [] => usize::MAX,
        [option, count] if option == "--upto" && count.parse::<usize>().is_ok() => {
            count.parse().unwrap_or(usize::MAX)
        }
        _ => {
            eprintln!("known is --upto N: no run of more than N tets");
            return ExitCode::from(2);
        }
    };
    match benchmark(upto) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn benchmark(upto: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<18} {:>9} {:>7} {:>7} {:>7} {:>8} {:>9} {:>9} {:>8} {:>9}",
        "run", "triangles", "tets", "points", "free", "s/frame", "goal", "paper", "MB", "fit mm"
    );
    let mut seconds = Map::new();
    for row in ROWS.iter().filter(|row| row.tets <= upto) {
        let run = Scene::new(&(row.clip)(), row.tets, row.free)?.run(row, false)?;
        run.print(row.name, row);
        seconds.insert(row.name.into(), json!(run.seconds));
    }
    let mut with_contact = Map::new();
    let elephant = &ROWS[0];
    if elephant.tets <= upto {
        let run = Scene::new(&(elephant.clip)(), elephant.tets, elephant.free)?.run(elephant, true)?;
        run.print("elephant, contact", &Row { goal: 0.5, ..ROWS[0] });
        with_contact.insert("elephant".into(), json!(run.seconds));
    }

    let clip = elephant_clip();
    let start = Instant::now();
    let filled = fill(&clip, 15_000)?;
    let tetmesh = start.elapsed().as_secs_f64();
    println!("\n{} tets in {tetmesh:.2} s (goal 3 s)", filled.mesh.tets().len());

    // the slope of seconds over tets in logarithms, by least squares
    let mut points = Vec::new();
    for tets in [4000, 8000, 16_000, 32_000, 64_000].into_iter().filter(|&tets| tets <= upto) {
        let row = Row { tets, substeps: 2, ..ROWS[0] };
        let run = Scene::new(&clip, tets, row.free)?.run(&row, false)?;
        run.print(&format!("growth {tets}"), &Row { goal: f64::NAN, paper: f64::NAN, ..row });
        points.push(((run.tets as f64).ln(), run.seconds.ln()));
    }
    let count = points.len().max(1) as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / count, sum.1 + p.1 / count));
    let (above, below) = points
        .iter()
        .fold((0.0, 0.0), |(a, b), p| (a + (p.0 - mean.0) * (p.1 - mean.1), b + (p.0 - mean.0).powi(2)));
    let exponent = above / below;
    println!("\nseconds per frame grow like tets^{exponent:.2} (at most 1.5)");
    let result = json!({
        "bench": "enrich",
        "seconds_per_frame": seconds,
        "seconds_per_frame_contact": with_contact,
        "tetmesh_seconds_15k": tetmesh,
        "growth_exponent": exponent,
        "threads": rayon::current_num_threads(),
    });
    println!("{result}");
    Ok(())
}

/// Near the paper's 16,636 triangles.
fn elephant_clip() -> Clip {
    elephant(0.029)
}

fn fill(clip: &Clip, tets: usize) -> Result<Filled, geometry::Error> {
    let mesh = &clip.meshes[0];
    TetMeshing { size: TetSize::Count(tets), ..TetMeshing::default() }
        .fill(&mesh.rest(), &mesh.point_triangles())
}

struct Scene {
    clip: Clip,
    filled: Filled,
    weights: Vec<f64>,
}

struct Run {
    triangles: usize,
    tets: usize,
    points: usize,
    free: usize,
    seconds: f64,
    megabytes: f64,
    fit: f64,
}

impl Scene {
    fn new(clip: &Clip, tets: usize, free: &[&str]) -> Result<Self, Box<dyn std::error::Error>> {
        let mesh = &clip.meshes[0];
        let mut weights = vec![1.0; mesh.point_count()];
        for group in free.iter().filter_map(|name| mesh.group(name)) {
            weights.iter_mut().zip(&group.weights).for_each(|(w, g)| *w = f64::min(*w, 1.0 - f64::from(*g)));
        }
        Ok(Self { clip: clip.clone(), filled: fill(clip, tets)?, weights })
    }

    fn frame(&self, index: usize) -> Result<Vec<Vec3>, clip::Error> {
        let index = index % self.clip.frame_count();
        let points = self.clip.frame(index)?.points.swap_remove(0);
        Ok(points.iter().map(|p| Vec3::from(p.map(f64::from))).collect())
    }

    fn run(&self, row: &Row, contact: bool) -> Result<Run, Box<dyn std::error::Error>> {
        let mesh = &self.clip.meshes[0];
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let areas = geometry::vertex_areas(&rest, &triangles);
        let Filled { mesh: tets, embedding, .. } = &self.filled;
        let solid = Solid::new(tets, Law::Stvk, &Material { young: 3e4, ..Material::default() })?;
        let size = geometry::Bounds::of(rest.iter().copied()).diagonal();
        let settings = EnrichSettings {
            frame_rate_hz: self.clip.frame_rate_hz,
            fit_tolerance: 1e-3 * size,
            simulate: row.simulate,
            stepping: Settings {
                integrator: Integrator::LinearlyImplicit { delta: 0.0 },
                substeps: Substeps::Fixed(row.substeps.max(1)),
                ..Settings::default()
            },
            ..EnrichSettings::default()
        };
        let keys = vec![WeightKey { time: 0.0, weights: self.weights.clone() }];
        let surface = EmbeddedSurface { mesh: tets, embedding, areas: &areas };
        let mut enrich = Enrich::new(&surface, solid, keys, None, None, settings)?;
        let mut collision = None;
        if contact {
            let held = |corners: &[u32; 4]| corners.iter().all(|&p| enrich.body().known()[p as usize]);
            let known = embedding.corners().iter().map(held).collect();
            let parts = embedding.corners().iter().zip(embedding.weights());
            let attachment = Attachment::embedded(parts.map(|(c, w)| c.iter().copied().zip(*w)));
            let own = contact::CollisionSurface {
                known,
                thickness: 1e-3,
                ..contact::CollisionSurface::free("body", rest.clone(), triangles.clone())
            };
            collision = Some(BarrierContact::new(vec![own], attachment, Vec::new())?);
        }
        let mut fit = enrich.begin(&self.frame(0)?, Some(&self.frame(1)?))?.fitted.error;
        let mut seconds = 0.0;
        for index in 1..FRAMES {
            let (here, next) = (self.frame(index)?, self.frame(index + 1)?);
            let start = Instant::now();
            let contact_model = match &mut collision {
                Some(collision) => {
                    let duration = 1.0 / self.clip.frame_rate_hz;
                    let start = (index - 1) as f64 * duration;
                    collision.follow(Span { start, duration, ..Span::default() }, &[])?;
                    Some(collision as &mut dyn ContactModel)
                }
                None => None,
            };
            let enriched = enrich.frame_with_contact(index, &here, Some(&next), contact_model)?;
            if index >= WARM {
                seconds += start.elapsed().as_secs_f64() / (FRAMES - WARM) as f64;
            }
            fit = fit.max(enriched.fitted.error);
            if enriched.reset {
                println!("{}: frame {index} was reset", row.name);
            }
        }
        let bytes: usize = enrich.solver_info().iter().map(|info| info.factor_bytes).sum();
        Ok(Run {
            triangles: triangles.len(),
            tets: tets.tets().len(),
            points: tets.points().len(),
            free: enrich.body().known().iter().filter(|known| !**known).count(),
            seconds,
            megabytes: bytes as f64 / 1e6,
            fit,
        })
    }
}

impl Run {
    fn print(&self, name: &str, row: &Row) {
        println!(
            "{name:<18} {:>9} {:>7} {:>7} {:>7} {:>8.4} {:>9.3} {:>9.2} {:>8.1} {:>9.2}",
            self.triangles,
            self.tets,
            self.points,
            self.free,
            self.seconds,
            row.goal,
            row.paper,
            self.megabytes,
            1e3 * self.fit
        );
    }
}
