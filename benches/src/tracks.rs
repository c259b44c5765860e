//! What tracking costs over the identical simulation without it, at the paper's four sizes, contact off and on; frames per
//! second with contact; how well averages hold; how long clustering takes.
//!
//! Each frame is simulated twice from the same state, with averages and without, in the same steps: what differs is tracking
//! alone. In contact a step is as many Newton iterations as contact asks for, and a shell that is held meets other contacts
//! than one that is not; there the cost of an iteration is compared. Of each frame the shortest time of several runs
//! counts, which do the same to the last bit: so a busy machine disturbs them little.

use std::process::ExitCode;
use std::time::Instant;

use contact::{Attachment, BarrierContact, CollisionSurface as Skin};
use dynamics::{ContactModel, Integrator, Settings, Substeps};
use geometry::{Prolongation, Scheme, Vec3};
use serde_json::{Map, json};
use shell::tracks::{
    Averages, Clusters, ConstraintStrength, RestSurface, TestFunctions, Tracked, TrackedSetup, cluster,
};
use shell::{ClothBuilder, Material};

/// A guide, what tracks it, and by which functions.
struct Case {
    name: &'static str,
    frames: Vec<Vec<Vec3>>,
    rate: f64,
    rest: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    way: Prolongation,
    averages: Averages,
}

/// Runs of which each frame's shortest time counts.
const RUNS: usize = 3;

/// What a case took.
struct Run {
    /// Of an iteration, and of a whole frame.
    overhead: f64,
    frame_overhead: f64,
    fps: f64,
    residual: f64,
    /// Newton iterations per frame, with averages and without.
    iterations: [f64; 2],
}

/// Seconds and Newton iterations of a frame, or of several.
#[derive(Clone, Copy, Default)]
struct Spent {
    seconds: f64,
    iterations: f64,
}

impl Spent {
    fn per_iteration(&self) -> f64 {
        self.seconds / self.iterations
    }
}

impl std::iter::Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            seconds: a.seconds + b.seconds,
            iterations: a.iterations + b.iterations,
        })
    }
}

/// A frame with averages and, where it could be done, without.
#[derive(Clone, Copy)]
struct Frame {
    held: Spent,
    free: Option<Spent>,
}

impl Frame {
    /// The shorter times of two runs of the same frame.
    fn shorter(self, other: Self) -> Self {
        let less = |a: Spent, b: Spent| if b.seconds < a.seconds { b } else { a };
        Self { held: less(self.held, other.held), free: self.free.zip(other.free).map(|(a, b)| less(a, b)) }
    }
}

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let (mut frames, mut steps, mut only) = (24, 4, None);
    for option in options.chunks(2) {
        match option {
            [flag, count] if flag == "--frames" => frames = count.parse().unwrap_or(frames),
            [flag, count] if flag == "--steps" => steps = count.parse().unwrap_or(steps),
            [flag, name] if flag == "--only" => only = Some(name.as_str()),
            _ => {
                eprintln!("unknown option {}; known are --frames N, --steps N and --only SIZES", option[0]);
                return ExitCode::from(2);
            }
        }
    }
    const NAMES: [&str; 4] = ["35-1625", "8-1538", "88-1297", "3038-3038"];
    if let Some(unknown) = only.filter(|only| !NAMES.contains(only)) {
        eprintln!("there are no sizes {unknown}; there are {}", NAMES.join(", "));
        return ExitCode::from(2);
    }
    let start = Instant::now();
    let puppet = puppet();
    let clustering = start.elapsed().as_secs_f64();
    let cases = [branch(), boxed(), bag(), puppet.0];
    println!("clustering 3,038 points into 200 regions over 32 frames: {:.3} s", puppet.1);
    println!("(all of the puppet, its mesh and 280 more regions: {clustering:.2} s)\n");
    println!(
        "{:<12} {:>9} {:>12} {:>12} {:>14} {:>10} {:>12} {:>24}",
        "guide-mesh",
        "averages",
        "overhead",
        "residual",
        "with contact",
        "a frame",
        "fps",
        "Newton iterations/frame"
    );
    let (mut off, mut on, mut per_frame) = (Map::new(), Map::new(), Map::new());
    let (mut fps, mut worst) = (Map::new(), 0.0_f64);
    for case in cases.iter().filter(|case| only.is_none_or(|only| case.name == only)) {
        let [free, touching] =
            [false, true].map(|contact| single_threaded(|| case.measure(frames, steps, contact)));
        println!(
            "{:<12} {:>9} {:>11.1}% {:>12.1e} {:>13.1}% {:>9.1}% {:>12.1} {:>12.1} and {:>7.1}",
            case.name,
            case.averages.len(),
            100.0 * free.overhead,
            free.residual,
            100.0 * touching.overhead,
            100.0 * touching.frame_overhead,
            touching.fps,
            touching.iterations[0],
            touching.iterations[1]
        );
        off.insert(case.name.into(), json!(free.overhead));
        on.insert(case.name.into(), json!(touching.overhead));
        per_frame.insert(case.name.into(), json!(touching.frame_overhead));
        fps.insert(case.name.into(), json!(touching.fps));
        worst = worst.max(free.residual);
    }
    println!(
        "{}",
        json!({
            "bench": "tracks", "overhead": off, "overhead_contact": on, "overhead_contact_frame": per_frame, "fps_contact": fps, "residual": worst,
            "clustering_s": puppet.1, "steps": steps, "threads": 1,
        })
    );
    ExitCode::SUCCESS
}

impl Case {
    fn new(
        name: &'static str,
        clip: &clip::Clip,
        rest: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        way: Prolongation,
        functions: &TestFunctions,
    ) -> Self {
        let guide = &clip.meshes[0];
        let (guide_rest, guide_triangles) = (guide.rest(), guide.point_triangles());
        let coarse = RestSurface { rest: &guide_rest, triangles: &guide_triangles };
        let fine = RestSurface { rest: &rest, triangles: &triangles };
        let averages = Averages::new(functions, coarse, fine, &way, &vec![true; rest.len()])
            .expect("the samples' functions are independent");
        Self { name, frames: points(clip), rate: clip.frame_rate_hz, rest, triangles, way, averages }
    }

    /// The shell, with its averages or without, in so many steps a frame.
    fn shell(&self, averages: Option<Averages>, steps: usize) -> Tracked {
        let material = Material::preset("vinyl").expect("it is in the list");
        let cloth =
            ClothBuilder::new(&self.rest, &self.triangles, &material).build().expect("samples are sound");
        let setup = TrackedSetup {
            rest: &self.rest,
            guide_rest: None,
            cloth,
            friction: material.damping_time(),
            averages,
            strength: ConstraintStrength::hard(),
            greatest_pulls: Vec::new(),
            correspondence: self.way.clone(),
            known: vec![false; self.rest.len()],
            gravity: -9.81 * Vec3::Y,
            plasticity: None,
            reshaping: None,
            jump: f64::INFINITY,
        };
        let stepping = Settings {
            integrator: Integrator::LinearlyImplicit { delta: 0.0 },
            substeps: Substeps::Fixed(steps),
            ..Settings::default()
        };
        Tracked::new(setup, self.rate, stepping).expect("samples are sound")
    }

    fn collision(&self) -> BarrierContact {
        let skin = Skin {
            thickness: 2e-3,
            self_contact: true,
            ..Skin::free("shell", self.rest.clone(), self.triangles.clone())
        };
        BarrierContact::new(vec![skin], Attachment::identity(self.rest.len()), Vec::new())
            .expect("samples are sound")
    }

    /// Simulates frames several times, and takes the shortest time of each.
    fn measure(&self, frames: usize, steps: usize, contact: bool) -> Run {
        let (mut shortest, residual) = self.simulate(frames, steps, contact);
        for _ in 1..RUNS {
            let again = self.simulate(frames, steps, contact).0;
            shortest = shortest.into_iter().zip(again).map(|(a, b)| a.shorter(b)).collect();
        }
        let counted = shortest.iter().filter_map(|frame| Some((frame.held, frame.free?)));
        let (with, without): (Vec<Spent>, Vec<Spent>) = counted.unzip();
        let count = with.len() as f64;
        let [with, without] = [with, without].map(|spent| spent.into_iter().sum::<Spent>());
        let all: Spent = shortest.iter().map(|frame| frame.held).sum();
        Run {
            overhead: with.per_iteration() / without.per_iteration() - 1.0,
            frame_overhead: with.seconds / without.seconds - 1.0,
            fps: shortest.len() as f64 / all.seconds,
            residual,
            iterations: [with, without].map(|spent| spent.iterations / count),
        }
    }

    /// Simulates frames; every one also without averages, from the same state. With how far the averages are off at most.
    fn simulate(&self, frames: usize, steps: usize, contact: bool) -> (Vec<Frame>, f64) {
        let (mut tracked, mut plain) =
            (self.shell(Some(self.averages.clone()), steps), self.shell(None, steps));
        let (mut collision, mut other) = (self.collision(), self.collision());
        tracked.begin(&self.frames[0]).expect("the first pose can be reached");
        plain.begin(&self.frames[0]).expect("nothing is asked of it");
        let last = self.frames.len() - 1;
        let (mut done, mut residual) = (Vec::new(), 0.0_f64);
        for index in 1..=frames.min(last) {
            let at = |i: usize| self.frames[i.min(last)].as_slice();
            let before = at(index.saturating_sub(2));
            let poses = [before, at(index - 1), at(index), at(index + 1)];
            plain.scene.state = tracked.scene.state.clone();
            if contact {
                other.restore(&collision.to_bytes());
            }
            let advance = |shell: &mut Tracked, collision: &mut BarrierContact| {
                let contact_model = contact.then_some(collision as &mut dyn ContactModel);
                let begun = Instant::now();
                let effort = shell.frame(index, poses, contact_model).ok()?;
                Some(Spent { seconds: begun.elapsed().as_secs_f64(), iterations: effort.iterations as f64 })
            };
            // without averages the shell may crumple in one frame beyond what fixed steps can take: that frame is not counted
            let free = advance(&mut plain, &mut other);
            let Some(held) = advance(&mut tracked, &mut collision) else { break };
            done.push(Frame { held, free });
            residual = residual.max(tracked.residual(at(index)));
        }
        (done, residual)
    }
}

fn points(clip: &clip::Clip) -> Vec<Vec<Vec3>> {
    let frame = |index| clip.frame(index).expect("samples have their frames").points.swap_remove(0);
    let points = |points: Vec<[f32; 3]>| points.iter().map(|p| Vec3::from(p.map(f64::from))).collect();
    (0..clip.frame_count()).map(|index| points(frame(index))).collect()
}

/// 35 points lead 25 × 65 others by four painted halves.
fn branch() -> Case {
    let clip = samples::branch();
    let guide = &clip.meshes[0];
    let [width, depth] = [0.84, 0.56];
    let corner = Vec3::new(-0.5 * width, 0.0, 0.5 * depth);
    let shape = samples::shapes::triangle_grid(64, 24, corner, width * Vec3::X, -depth * Vec3::Z);
    let triangles = shape.triangles();
    let (way, _) = Prolongation::by_closest_point(&guide.rest(), &guide.point_triangles(), &shape.points)
        .expect("the guide has triangles");
    let mut functions = TestFunctions::new();
    for group in &guide.groups {
        let weights: Vec<f64> = group.weights.iter().map(|w| f64::from(*w)).collect();
        functions.push(&group.name, &weights, &way.numbers(&weights));
    }
    Case::new("35-1625", &clip, shape.points, triangles, way, &functions)
}

fn finer(name: &'static str, clip: &clip::Clip, levels: usize) -> Case {
    let (mesh, way) = clip.meshes[0].subdivided(Scheme::Linear, levels);
    let functions = TestFunctions::hats(&way);
    Case::new(name, clip, mesh.rest(), mesh.point_triangles(), way, &functions)
}

fn boxed() -> Case {
    finer("8-1538", &samples::box_guide(), 4)
}

fn bag() -> Case {
    finer("88-1297", &samples::bag(), 2)
}

/// 280 clusters; and the seconds that 200 of them took.
fn puppet() -> (Case, f64) {
    let clip = samples::puppet();
    let mesh = &clip.meshes[0];
    let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
    let all = points(&clip);
    let frames: Vec<Vec<Vec3>> = (0..32).map(|i| all[i * (all.len() - 1) / 31].clone()).collect();
    let what = Clusters {
        triangles: &triangles,
        frames: &frames,
        count: 200,
        compactness: 0.5,
        density: None,
        seed: 1,
        iterations: 32,
    };
    let begun = Instant::now();
    cluster(&what).expect("the puppet is in one piece");
    let seconds = begun.elapsed().as_secs_f64();
    let regions = cluster(&Clusters { count: 280, ..what }).expect("the puppet is in one piece");
    let way = Prolongation::identity(rest.len());
    let functions = TestFunctions::regions(&rest, &triangles, &regions, &way);
    (Case::new("3038-3038", &clip, rest, triangles, way, &functions), seconds)
}

/// Runs on a pool of one thread.
fn single_threaded<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
