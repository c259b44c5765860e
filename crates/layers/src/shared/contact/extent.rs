//! Obstacles beside what is simulated: how far away, how large, how fast and how deep around it they may be.
//!
//! A number alone tells little: ten metres are a hall for a flag and a pebble for an airship, a thousand a second are slow for what
//! flies along. So shapes, and what files hold, are measured here in sizes of the scene and in frames, all of it in this one place. What is unusual
//! is told; what cannot be simulated, or only at the price of a night, is refused with what, where and remedy.

use clip::Clip;
use geometry::{Bounds, Vec3};
use glam::DQuat;

use shot::{Diagnostic, Target};

use super::obstacle::PLANE;
use super::{Contact, Faces, Form, Obstacle};

/// How many times the scene's size an obstacle may be away from it, or large: unusual, and refused. Beyond the second, positions in single
/// precision are off by a thousandth of the scene.
const AWAY: Range = Range { usual: 100.0, most: 1e4 };
/// A frame is divided into so many steps by an obstacle that comes near: each goes a quarter of its size, or an edge of the surface.
const STEPS: Range = Range { usual: 8.0, most: 32.0 };
/// Degrees that an obstacle turns within a frame. In between its points go on curves from one frame's place to the next: beyond a quarter
/// turn these lead through its middle.
const TURN: Range = Range { usual: 45.0, most: 90.0 };
/// How deep in an obstacle that leads it out a surface may begin, in sizes of the surface. A flag held by its hoist, whose every point is to go further than
/// it can: at 0.25 three frames take 1 s, at 0.5 one takes 20.
const DEPTH: Range = Range { usual: 0.1, most: 0.4 };
/// Frames that are looked at, evenly over the clip.
const LOOKS: usize = 8;

/// What is usual, and where it ends.
#[derive(Clone, Copy)]
struct Range {
    usual: f64,
    most: f64,
}

impl Range {
    fn judge(self, value: f64) -> Option<Verdict> {
        match value {
            value if value > self.most => Some(Verdict::Refused),
            value if value > self.usual => Some(Verdict::Unusual),
            _ => None,
        }
    }
}

/// What is to be made of something out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unusual,
    Refused,
}

/// What obstacles are measured by: what is simulated, and the clip around it.
pub(super) struct Extent {
    name: String,
    /// The mesh's points in its first frame.
    points: Vec<Vec3>,
    /// The mesh's size, and the middle one of its edges, in metres.
    size: f64,
    edge: f64,
    /// Around all meshes, in all frames looked at, in metres across.
    scene: f64,
    /// How fast the mesh goes as a whole between the frames looked at, in m/s.
    velocities: Vec<Vec3>,
    rate: f64,
    seconds: f64,
}

impl Extent {
    /// Nothing where the clip cannot be read, which others tell.
    pub(super) fn of(input: &Target) -> Option<Self> {
        let clip = &input.clip;
        let last = clip.frame_count().checked_sub(1)?;
        let mut looks: Vec<usize> = (0..LOOKS).map(|k| k * last / (LOOKS - 1)).collect();
        looks.dedup();
        let mut scene = Bounds::EMPTY;
        let mut middles = Vec::new();
        let mut points = Vec::new();
        for &index in &looks {
            let frame = clip.checked_frame(index).ok()?;
            let places = |mesh: usize| frame.points[mesh].iter().map(|p| Vec3::from(p.map(f64::from)));
            scene = (0..clip.meshes.len()).fold(scene, |all, mesh| all.union(Bounds::of(places(mesh))));
            middles.push(dynamics::middle(&places(input.mesh).collect::<Vec<_>>()));
            if index == 0 {
                points = places(input.mesh).collect();
            }
        }
        let rate = clip.frame_rate_hz;
        let between = looks.windows(2).zip(middles.windows(2));
        let velocities = between.map(|(at, x)| (x[1] - x[0]) * rate / (at[1] - at[0]) as f64);
        Some(Self {
            name: input.mesh().name.clone(),
            size: Bounds::of(points.iter().copied()).diagonal(),
            edge: middle_edge(clip, input.mesh, &points),
            points,
            scene: scene.diagonal(),
            velocities: velocities.collect(),
            rate,
            seconds: last as f64 / rate,
        })
        .filter(|extent| extent.size > 0.0)
    }

    /// What is out of its range, of obstacle `number`: places are named within `path`.
    pub(super) fn judge(
        &self,
        path: &str,
        obstacle: &Obstacle,
        input: &Target,
    ) -> Vec<(Verdict, Diagnostic)> {
        let mut found = Vec::new();
        let mut say =
            |verdict: Option<Verdict>, key: &str, message: String, help: String| {
                found.extend(verdict.map(|verdict| {
                    (verdict, Diagnostic::new(format!("{path}.{key}"), message).with_help(help))
                }));
            };
        let (name, scene) = (&self.name, self.scene);
        if let (Some(file), None) = (&obstacle.file, obstacle.shape) {
            let Ok(clip) = input.open(file) else { return found };
            let points = clip.meshes.iter().flat_map(clip::Mesh::rest);
            let bounds = Bounds::of(points);
            let away =
                self.points.iter().map(|p| bounds.distance_squared(*p)).fold(f64::INFINITY, f64::min).sqrt();
            let (away, large) = (away - self.reach(Vec3::ZERO), bounds.diagonal());
            if let Some(verdict) = AWAY.judge(large / scene) {
                let message =
                    format!("{} is {} m large, and the scene {}", file.display(), rough(large), rough(scene));
                say(Some(verdict), "file", message, "write it in the unit of the input".into());
            } else {
                let message = format!(
                    "{} is {} m away from `{name}`, and the scene {} m large",
                    file.display(),
                    rough(away),
                    rough(scene)
                );
                say(AWAY.judge(away / scene), "file", message, "move it nearer, or leave it out".into());
            }
            return found;
        }
        let Some(form) = obstacle.shape else { return found };
        let velocity = Vec3::from(obstacle.velocity);
        let solid = Solid { form, obstacle, centre: Vec3::from(obstacle.centre) };
        let distances = self.points.iter().map(|p| solid.distance(*p));
        let (nearest, deepest) =
            distances.fold((f64::INFINITY, 0.0_f64), |(near, deep), d| (near.min(d), deep.max(-d)));
        let measures = solid.measures();
        for (key, measure) in &measures {
            let message = format!(
                "the obstacle's {key} is {} m, and the scene {} m large",
                rough(*measure),
                rough(scene)
            );
            let help = format!(
                "usual is up to {} m, and possible {}; without end is a plane",
                rough(AWAY.usual * scene),
                rough(AWAY.most * scene)
            );
            say(AWAY.judge(measure / scene), key, message, help);
        }
        let away = nearest - self.reach(velocity);
        let message = format!(
            "the obstacle is {} m away from `{name}`, and the scene {} m large",
            rough(nearest),
            rough(scene)
        );
        let help = format!("move it to within {} m, or leave it out", rough(AWAY.usual * scene));
        say(AWAY.judge(away / scene), "centre", message, help);

        if solid.leads_out() {
            let message = format!(
                "`{name}` begins {} m inside the obstacle, which leads out what is in it, and is {} m large itself",
                rough(deepest),
                rough(self.size)
            );
            let help = match form {
                Form::Plane => format!(
                    "it lies behind the plane: turn `axis` around, or move `centre` by {} m",
                    rough(deepest)
                ),
                _ => "move one out of the other, or say `sides = \"both\"` for a hall around it".into(),
            };
            say(
                DEPTH.judge(deepest / self.size),
                if form == Form::Plane { "centre" } else { "sides" },
                message,
                help,
            );
        }
        if form == Form::Plane {
            let aside = self.points.iter().map(|p| solid.aside(*p)).fold(0.0, f64::max);
            let message = format!(
                "`{name}` lies {} m beside the plane's `centre`; a plane ends {PLANE} m from there",
                rough(aside)
            );
            let help = "name the point of the plane that is nearest to the scene".to_owned();
            say((aside > PLANE).then_some(Verdict::Refused), "centre", message, help);
        }
        // what flies along is slow
        let slowest = self.velocities.iter().map(|own| velocity.distance(*own)).fold(f64::INFINITY, f64::min);
        let speed = if slowest.is_finite() { slowest } else { velocity.length() };
        let step = (0.25 * solid.diagonal().min(self.size)).max(self.edge);
        let limit = |range: f64| rough(range * step * self.rate);
        let message = format!(
            "the obstacle passes `{name}` at {} m/s, {} m within a frame",
            rough(speed),
            rough(speed / self.rate)
        );
        let help = format!(
            "usual is up to {} m/s at {} frames a second, and possible {}; a higher `frame_rate` under `[input]` allows more",
            limit(STEPS.usual),
            rough(self.rate),
            limit(STEPS.most)
        );
        say(STEPS.judge(speed / self.rate / step), "velocity", message, help);

        let turn = Vec3::from(obstacle.spin).length() / self.rate;
        let message = format!("the obstacle turns by {}° within a frame", rough(turn));
        let help = format!(
            "usual is up to {}°/s at {} frames a second, and possible {}; a higher `frame_rate` under `[input]` allows more",
            rough(TURN.usual * self.rate),
            rough(self.rate),
            rough(TURN.most * self.rate)
        );
        say(TURN.judge(turn), "spin", message, help);
        found
    }

    /// How far an obstacle and what is simulated may come towards each other while the clip lasts: by the one's motion, and the
    /// other's fall.
    fn reach(&self, velocity: Vec3) -> f64 {
        (velocity.length() + 0.5 * 9.81 * self.seconds) * self.seconds
    }
}

/// The middle edge of a mesh, its points where they are given.
fn middle_edge(clip: &Clip, mesh: usize, points: &[Vec3]) -> f64 {
    let triangles = clip.meshes[mesh].point_triangles();
    let edges = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut lengths: Vec<f64> = edges.map(|[a, b]| points[a as usize].distance(points[b as usize])).collect();
    let middle = lengths.len() / 2;
    if lengths.is_empty() { 0.0 } else { *lengths.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// A shape in its first place, as distances see it.
struct Solid<'a> {
    form: Form,
    obstacle: &'a Obstacle,
    centre: Vec3,
}

impl Solid<'_> {
    fn axis(&self) -> Vec3 {
        Vec3::from(self.obstacle.axis).normalize_or(Vec3::Y)
    }

    /// From its surface, negative within it.
    fn distance(&self, p: Vec3) -> f64 {
        let from = p - self.centre;
        let Obstacle { radius, half_length, half_size, .. } = *self.obstacle;
        match self.form {
            Form::Sphere => from.length() - radius,
            Form::Capsule => {
                let along = from.dot(self.axis()).clamp(-half_length, half_length);
                (from - along * self.axis()).length() - radius
            }
            Form::Box => {
                let turn = DQuat::from_rotation_arc(Vec3::Y, self.axis());
                let beyond = (turn.inverse() * from).abs() - Vec3::from(half_size);
                beyond.max(Vec3::ZERO).length() + beyond.max_element().min(0.0)
            }
            Form::Plane => from.dot(self.axis()),
        }
    }

    /// How far beside its centre, along a plane.
    fn aside(&self, p: Vec3) -> f64 {
        (p - self.centre).reject_from_normalized(self.axis()).length()
    }

    fn diagonal(&self) -> f64 {
        let Obstacle { radius, half_length, half_size, .. } = *self.obstacle;
        match self.form {
            Form::Sphere => 2.0 * 3_f64.sqrt() * radius,
            Form::Capsule => 2.0 * Vec3::new(radius, radius + half_length, radius).length(),
            Form::Box => 2.0 * Vec3::from(half_size).length(),
            Form::Plane => f64::INFINITY,
        }
    }

    /// The settings that say how large it is.
    fn measures(&self) -> Vec<(&'static str, f64)> {
        let Obstacle { radius, half_length, half_size, .. } = *self.obstacle;
        match self.form {
            Form::Sphere => vec![("radius", radius)],
            Form::Capsule => vec![("radius", radius), ("half_length", half_length)],
            Form::Box => vec![("half_size", Vec3::from(half_size).max_element())],
            Form::Plane => Vec::new(),
        }
    }

    /// Whether what begins in it is led out wherever it is.
    fn leads_out(&self) -> bool {
        self.form == Form::Plane || self.obstacle.sides == Faces::Front
    }
}

/// A number to two or three digits.
fn rough(number: f64) -> String {
    match number.abs() {
        size if size >= 1e6 => format!("{number:.1e}"),
        size if size >= 100.0 || size == 0.0 => format!("{number:.0}"),
        size if size >= 1.0 => format!("{number:.1}"),
        size if size >= 0.01 => format!("{number:.3}"),
        _ => format!("{number:.1e}"),
    }
}

impl Contact {
    /// Obstacles out of range for what is simulated, at `path`: to be refused, or told.
    pub(super) fn out_of_range(&self, path: &str, input: &Target) -> Vec<(Verdict, Diagnostic)> {
        let obstacles = || self.obstacles.iter().flatten().enumerate();
        let is_measured =
            |(_, obstacle): (usize, &Obstacle)| obstacle.shape.is_some() || obstacle.file.is_some();
        if !obstacles().any(is_measured) {
            return Vec::new();
        }
        let Some(extent) = Extent::of(input) else { return Vec::new() };
        let judge = |(k, obstacle)| extent.judge(&format!("{path}.obstacles[{k}]"), obstacle, input);
        obstacles().flat_map(judge).collect()
    }

    /// What is unusual about its obstacles; no mistakes.
    pub(crate) fn unusual(&self, path: &str, input: &Target) -> Vec<Diagnostic> {
        let found = self.out_of_range(path, input);
        found.into_iter().filter(|(verdict, _)| *verdict == Verdict::Unusual).map(|(_, told)| told).collect()
    }
}
