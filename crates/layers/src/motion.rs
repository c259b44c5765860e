//! `motion`: human motion that obeys physics. Repair of takes whose feet skate and whose joints tremble, and synthesis from key
//! poses, under gravity, masses, ground and forces of one's choice. The mathematics is in the crate `motion`.

mod figure;
mod held;
mod loads;
mod paths;
mod physics;
mod retarget;
mod settings;
mod simulation;
mod told;

use std::sync::Arc;

use geometry::Vec3;
use motion::{
    Build, External, Formulation, Ground, Guide, Paper, Prior, Push, Relief, Repair, Spring, Subspaces,
    Terrain,
};
use shot::{Diagnostic, Layer, LayerError, Settings, Simulation, Target};

use self::figure::Figure;
pub use self::physics::{FootForce, HeldJoint, Physics, PhysicsSummary, RestingPoint};
pub use self::retarget::retargeted;
pub use self::settings::{
    Band, Belt, Dragging, Footing, Footsteps, MeshFooting, Motion, MotionMethod, Physique, Pushing, Slope,
    Tracing, Worn,
};
use self::simulation::MotionSimulation;
use crate::shared::idle::Idle;

impl Settings for Motion {
    const KIND: &'static str = "motion";
    const SUMMARY: &'static str = "makes a figure's motion obey physics, feet still and weight borne";
    const VERSION: u32 = 6;
}

impl Layer for Motion {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let Some(skeleton) = &input.clip.skeleton else {
            let message = "the input has no skeleton";
            return vec![Diagnostic::new("", message).with_help("give a BVH or a skinned GLB")];
        };
        if input.clip.frame_count() < motion::MIN_FRAMES {
            let frames = input.clip.frame_count();
            let message = motion::Error::TooShort { frames, needed: motion::MIN_FRAMES }.to_string();
            return vec![Diagnostic::new("", message).with_help("give a longer clip")];
        }
        let worn =
            self.body.add.iter().enumerate().map(|(k, worn)| (format!("body.add.{k}.joint"), &worn.joint));
        let pushed =
            self.pushes.iter().enumerate().map(|(k, push)| (format!("pushes.{k}.joint"), &push.joint));
        let held =
            self.springs.iter().enumerate().map(|(k, band)| (format!("springs.{k}.joint"), &band.joint));
        let dragged =
            self.drags.iter().enumerate().map(|(k, drag)| (format!("drags.{k}.joint"), &drag.joint));
        let traced = self.trajectories.iter().enumerate();
        let traced = traced.map(|(k, path)| (format!("trajectories.{k}.joint"), &path.joint));
        let unknown = worn.chain(pushed).chain(held).chain(dragged).chain(traced);
        let unknown = unknown.filter(|(_, joint)| skeleton.joint_index(joint).is_none());
        let names = || skeleton.joints.iter().map(|joint| joint.name.as_str());
        let mut found: Vec<Diagnostic> =
            unknown.map(|(path, joint)| Diagnostic::unknown(&path, "joint", joint, names())).collect();
        if let Some(Footing::Mesh(MeshFooting { mesh })) = &self.ground
            && input.clip.mesh_index(mesh).is_none()
        {
            let names = input.clip.meshes.iter().map(|mesh| mesh.name.as_str());
            found.push(Diagnostic::unknown("ground.mesh", "mesh", mesh, names));
        }
        if let Some(Footing::Belt(_)) = self.ground
            && !(self.keys.is_empty() && self.drags.is_empty())
        {
            let message = "poses are kept on ground that stands still";
            found.push(Diagnostic::new("keys", message).with_help("leave `keys` or the `belt` out"));
        }
        if let Some(Footing::Belt(_) | Footing::Mesh(_)) = self.ground
            && self.footsteps == Footsteps::Free
        {
            let message = "footsteps are found on level ground and on slopes alone";
            found.push(Diagnostic::new("footsteps", message).with_help("leave it out: they are the input's"));
        }
        if self.method != MotionMethod::Constrained && !self.is_made() {
            let message = "the paper's method makes what lies between `keys`, where nothing is followed";
            found.push(Diagnostic::new("method", message).with_help("give `keys` and leave out `follow`"));
        }
        if self.method != MotionMethod::Constrained && self.footsteps == Footsteps::Free {
            let message = "the paper's method knows no other footsteps than the input's";
            found.push(Diagnostic::new("footsteps", message).with_help("leave it or `method` out"));
        }
        if self.method == MotionMethod::PaperSubspace && self.prior.is_none() {
            let message = "the subspaces are those of a prior";
            found.push(Diagnostic::new("method", message).with_help("give a `prior`"));
        }
        if self.variation > 0 && self.method != MotionMethod::Constrained {
            let message = "the paper's method has no variations";
            found.push(Diagnostic::new("variation", message).with_help("leave `method` out"));
        }
        if self.variation > 0 && !self.is_made() {
            let message = "what is followed goes one way; what happens between `keys` may vary";
            found.push(Diagnostic::new("variation", message).with_help("give `keys` and leave out `follow`"));
        }
        if let Some(Footing::Slope(Slope { toward: Some(toward), .. })) = self.ground
            && Vec3::new(toward[0], 0.0, toward[2]).try_normalize().is_none()
        {
            let message = "it points nowhere over the ground";
            let help = "a direction over level ground, such as `[0.0, 0.0, 1.0]`";
            found.push(Diagnostic::new("ground.toward", message).with_help(help));
        }
        if let Some(Footing::Height(height)) = self.ground {
            found.extend(out_of_reach(height, &input.clip));
        }
        if let Err(error) = self.wind.validate() {
            found.push(Diagnostic::new("wind", error.to_string()));
        }
        if let Some(Err(mistake)) = self.prior(input) {
            found.push(mistake);
        }
        if self.seen_from.is_some() && self.keys.is_empty() {
            let message = "no poses were drawn over a picture";
            found.push(Diagnostic::new("seen_from", message).with_help("give `keys`"));
        }
        if self.prior.is_some() && !self.is_made() {
            let message = "a prior says what happens between `keys`, where nothing is followed";
            found.push(Diagnostic::new("prior", message).with_help("give `keys` and leave out `follow`"));
        }
        found.extend(self.mistaken_paths(&input.clip));
        if found.is_empty() {
            let loads = loads::out_of_range(self, &input.clip).into_iter();
            found.extend(loads.filter(|(is_refused, _)| *is_refused).map(|(_, told)| told));
        }
        found
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        let loads = loads::out_of_range(self, &input.clip).into_iter();
        loads.filter(|(is_refused, _)| !is_refused).map(|(_, told)| told).collect()
    }

    fn idle(&self, input: &Target) -> Vec<Diagnostic> {
        let (plain, mut idle) = (Self::default(), Idle::default());
        idle.say_wind(&self.wind, 1.0);
        if self.prior.is_none() {
            idle.say("", &[("prior_weight", self.prior_weight != plain.prior_weight)], "there is no `prior`");
        }
        let end = input.clip.duration();
        for (k, push) in self.pushes.iter().enumerate() {
            let at = format!("pushes[{k}]");
            idle.say("", &[(&at, push.to <= push.from)], "it ends before it begins");
            let is_elsewhere = push.from < push.to && (push.from > end || push.to <= 0.0);
            idle.say("", &[(&at, is_elsewhere)], &format!("it is not within the {end:.3} s of the clip"));
            idle.say("", &[(&at, push.force == [0.0; 3])], "its force is 0");
        }
        for (k, band) in self.springs.iter().enumerate() {
            idle.say("", &[(&format!("springs[{k}]"), band.stiffness == 0.0)], "its stiffness is 0");
        }
        match &self.ground {
            Some(Footing::Slope(Slope { slope: 0.0, toward: Some(_) })) => {
                idle.say("ground.", &[("toward", true)], "`ground.slope` is 0");
            }
            Some(Footing::Belt(Belt { belt: [_, up, _], .. })) => {
                idle.say("ground.", &[("belt[1]", *up != 0.0)], "a belt is level");
            }
            _ => {}
        }
        idle.0
    }

    fn needs_mesh(&self) -> bool {
        false
    }

    fn look_ahead(&self, input: &Target) -> usize {
        input.clip.frame_count()
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let figure = Figure::of(&input.clip)?;
        let mut repair = self.repair(&figure, &input.clip)?;
        if let Some(prior) = self.prior(input) {
            let prior = prior.map_err(|mistake| LayerError::new(mistake.message()))?;
            repair.prior = Some(Guide { weight: self.prior_weight, ..Guide::new(Arc::new(prior)) });
        }
        let staged = repair.stage(&figure.take).map_err(explained)?;
        Ok(Box::new(MotionSimulation::new(input.clone(), figure, repair, staged)))
    }
}

/// The motion of a clip's figure, in metres, as this layer sees it: to learn from.
pub fn take(clip: &clip::Clip) -> Result<motion::Take, LayerError> {
    Figure::of(clip).map(|figure| figure.take)
}

/// A problem of the take with what to do about it.
fn explained(error: motion::Error) -> LayerError {
    let help = match &error {
        motion::Error::NoFeet { .. } => "joints named foot, ankle or toe are feet",
        motion::Error::TooShort { .. } => "give a longer clip",
        motion::Error::Linear(_) => {
            "poses, ground and forces may be too far apart: look at the input, `ground`, `gravity`, `pushes` and `springs`"
        }
        _ => return LayerError::new(error),
    };
    LayerError::new(error).with_help(help)
}

/// Ground at a height, in metres, that no foot of the clip can stand on, however the figure is moved to it.
fn out_of_reach(height: f64, clip: &clip::Clip) -> Option<Diagnostic> {
    // what else is wrong with the figure is said when it is prepared
    let figure = Figure::of(clip).ok()?;
    let body = figure.take.body(&Build::default()).ok()?;
    let level = motion::ground_height(&figure.take, &body, &figure.take.coordinates(&body)).ok()?;
    let (distance, size) = (height * figure.unit - level, motion::height(&figure.take.bones)?);
    let side = if distance > 0.0 { "above" } else { "below" };
    (distance.abs() > size).then(|| {
        let message = format!(
            "the ground is {:.1} m {side} where the feet go, and the figure {size:.1} m tall",
            distance.abs()
        );
        let help = format!(
            "its feet are at {:.2} m: leave `ground` out, or give something like it",
            level / figure.unit
        );
        Diagnostic::new("ground", message).with_help(help)
    })
}

impl Motion {
    /// Whether the motion between keys is made anew, and not followed.
    fn is_made(&self) -> bool {
        self.follow.is_none() && !(self.keys.is_empty() && self.drags.is_empty())
    }

    /// The prior, read.
    fn prior(&self, input: &Target) -> Option<Result<Prior, Diagnostic>> {
        let file = self.prior.as_ref()?;
        let say = |sentence: String| {
            Diagnostic::new("prior", sentence)
                .with_help("`followthrough train` writes priors, from a file of `kind = \"motion\"`")
        };
        let bytes = input.files.read(input.files.path(file)).map_err(|error| say(error.to_string()));
        let name = file.display();
        Some(
            bytes
                .and_then(|bytes| Prior::from_bytes(&bytes).map_err(|error| say(format!("{name}: {error}")))),
        )
    }

    /// The same settings for one figure.
    fn repair(&self, figure: &Figure, clip: &clip::Clip) -> Result<Repair, LayerError> {
        let take = &figure.take;
        let joint = |name: &str| {
            let found = take.bones.iter().position(|bone| bone.name == name);
            found.ok_or_else(|| LayerError::new(format!("joint `{name}` is not part of the figure")))
        };
        let mut build = Build { mass: self.body.mass, height: self.body.height, ..Build::default() };
        for worn in &self.body.add {
            let index = joint(&worn.joint)?;
            build.add.push((index, worn.mass, middle(figure, index)));
        }
        let mut external = External::default();
        for push in &self.pushes {
            let force = |frame: usize| {
                let time = (frame + figure.first) as f64 / take.frame_rate_hz;
                if (push.from..push.to).contains(&time) { Vec3::from_array(push.force) } else { Vec3::ZERO }
            };
            let forces = (0..take.frame_count()).map(force).collect();
            external.pushes.push(Push { joint: joint(&push.joint)?, forces });
        }
        if self.wind.speed > 0.0 {
            let field = self.wind.field().map_err(LayerError::new)?;
            let solids = motion::figure(&take.bones, &retarget::rig(figure, clip).turns);
            external.pushes.extend(motion::drag(take, &solids, |place, frame| {
                field.velocity((frame + figure.first) as f64 / take.frame_rate_hz, place / figure.unit)
            }));
        }
        for band in &self.springs {
            external.springs.push(Spring {
                joint: joint(&band.joint)?,
                to: Vec3::from_array(band.to) * figure.unit,
                stiffness: band.stiffness,
                rest: band.rest * figure.unit,
            });
        }
        let key = |seconds: f64| {
            let frame = (seconds * take.frame_rate_hz).round().max(0.0) as usize;
            frame.saturating_sub(figure.first).min(take.frame_count().saturating_sub(1))
        };
        let nothing = if self.is_made() { f64::INFINITY } else { Repair::default().follow };
        let (drags, trajectories) = (self.dragged(figure, &joint, &key)?, self.traced(figure, &joint, &key)?);
        let (ground, onto) = self.ground(figure, clip)?;
        Ok(Repair {
            follow: self.follow.map_or(nothing, |follow| follow * figure.unit),
            keys: self.keys.iter().map(|&seconds| key(seconds)).collect(),
            sight: paths::sight(self.seen_from, figure.unit),
            drags,
            trajectories,
            formulation: match self.method {
                MotionMethod::Constrained => Formulation::Constrained,
                MotionMethod::Paper => Formulation::Paper(Paper::default()),
                MotionMethod::PaperSubspace => {
                    Formulation::Paper(Paper { subspaces: Subspaces::Hard, ..Paper::default() })
                }
            },
            footsteps: match self.footsteps {
                Footsteps::Given => motion::Footsteps::Given,
                Footsteps::Free => motion::Footsteps::Free,
            },
            variation: self.variation,
            friction: self.friction,
            gravity: Vec3::from_array(self.gravity),
            ground,
            onto,
            build,
            external,
            ..Repair::default()
        })
    }

    /// What the input stands on, where that is said, and what it is carried onto.
    fn ground(
        &self,
        figure: &Figure,
        clip: &clip::Clip,
    ) -> Result<(Option<Ground>, Option<Terrain>), LayerError> {
        let take = &figure.take;
        Ok(match &self.ground {
            None => (None, None),
            Some(Footing::Height(height)) => (Some(Ground::level(height * figure.unit)), None),
            Some(Footing::Slope(Slope { slope, toward })) => {
                let (first, last) = (take.roots[0], take.roots[take.roots.len() - 1]);
                let toward = toward.map_or(last - first, Vec3::from_array);
                let toward = Vec3::new(toward.x, 0.0, toward.z).try_normalize().unwrap_or(Vec3::Z);
                let normal = Vec3::Y * slope.to_radians().cos() - toward * slope.to_radians().sin();
                // it rises from where the figure begins
                let body = take.body(&Build::default()).map_err(explained)?;
                let level =
                    motion::ground_height(take, &body, &take.coordinates(&body)).map_err(explained)?;
                let point = Vec3::new(first.x, level, first.z);
                let plane = Ground { point, normal, velocity: Vec3::ZERO };
                (Some(Ground::level(level)), Some(Terrain::Plane(plane)))
            }
            Some(Footing::Belt(Belt { belt, height })) => {
                let level = match height {
                    Some(height) => height * figure.unit,
                    None => {
                        let body = take.body(&Build::default()).map_err(explained)?;
                        motion::ground_height(take, &body, &take.coordinates(&body)).map_err(explained)?
                    }
                };
                let velocity = Vec3::new(belt[0], 0.0, belt[2]) * figure.unit;
                (Some(Ground { velocity, ..Ground::level(level) }), None)
            }
            Some(Footing::Mesh(MeshFooting { mesh })) => {
                let index = clip.mesh_index(mesh);
                let index = index.ok_or_else(|| LayerError::new(format!("there is no mesh `{mesh}`")))?;
                let points: Vec<Vec3> = clip.checked_frame(0)?.points[index]
                    .iter()
                    .map(|p| Vec3::new(p[0].into(), p[1].into(), p[2].into()) * figure.unit)
                    .collect();
                let mesh = &clip.meshes[index];
                let corner = |vertex: u32| mesh.vertex_points[vertex as usize];
                let triangles: Vec<[u32; 3]> = mesh.faces.triangles().map(|t| t.map(corner)).collect();
                (None, Some(Terrain::Relief(Relief::new(&points, &triangles).map_err(explained)?)))
            }
        })
    }
}

/// Where something worn on a joint sits: halfway to what hangs on it.
fn middle(figure: &Figure, joint: usize) -> Vec3 {
    let bones = &figure.take.bones;
    let child = bones.iter().find(|bone| bone.parent == Some(joint)).map(|bone| bone.offset);
    child.or(bones[joint].tip).unwrap_or(Vec3::ZERO) * 0.5
}
