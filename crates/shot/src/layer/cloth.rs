//! `cloth`: a mesh becomes a piece of fabric that hangs, swings and flutters, held where the artist says.
//!
//! The physics is the shell crate's, the time stepping the engine's; this file reads the dials, turns frames into a guide and
//! states into frames.

use std::path::PathBuf;
use std::sync::Arc;

use clip::{Mesh, Selector};
use contact::Attachment;
use dynamics::{
    Body, ContactModel, Effort, Elements, Follow, FollowDamping, Forces, Guide, GuideSample, Integrator,
    MaxDistance, Span, State, StaticGuide, Stepper, Substeps, follow_stiffness,
};
use geometry::{Vec2, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{Bending, ClothBuilder, Material, Membrane, Strain, Uvs, Wind};

use super::inextensible::{Hold, Inextensible};
use super::{Collider, Contact, Failure, FrameResult, Layer, Remark, Settings, Simulation, Target};

/// Turns a mesh into fabric: it falls, folds and flutters, and follows the animation where `follow` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cloth {
    /// A fabric: cellophane, tin_foil, silk, paper, cotton, denim, vinyl, leather or rubber. Single values can be changed with the dials below.
    pub material: String,
    /// Mass per area, in kg/m². Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_density: Option<f64>,
    /// Resistance to stretching along the warp (u), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_warp: Option<f64>,
    /// Resistance to stretching along the weft (v), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_weft: Option<f64>,
    /// Resistance to shearing, in N/m: how hard it is to pull the cloth on the bias. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shear: Option<f64>,
    /// How much of the resistance to stretching is left when the cloth is pushed together, from 0 to 1: woven cloth buckles
    /// in waves too small to see, solid sheets do not. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<f64>,
    /// How much the cloth narrows when it is pulled: 0 not at all, 0.5 as rubber does. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poisson: Option<f64>,
    /// Resistance to bending of the warp threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_warp: Option<f64>,
    /// Resistance to bending of the weft threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_weft: Option<f64>,
    /// Internal friction: the damping ratio of ripples of 5 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// How hard air pushes: 0 vacuum, 1 real air. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub air_drag: Option<f64>,
    /// Which elements resist bending: `hinges` (cheap) or `plates` (the same stiffness on every mesh).
    pub bending: Bending,
    /// Where the cloth follows the animation, and how much: weight 1 exactly (to the bit), 0 not at all, in between softly.
    /// Called pin group in Blender, pin to animation in Houdini, input attract in Maya.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1000.0))]
    pub follow_stiffness: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub follow_damping: f64,
    /// No point strays further from the animation than this, in metres. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub max_distance: Option<f64>,
    /// In m/s².
    pub gravity: [f64; 3],
    /// Wind. Default: still air.
    pub wind: Wind,
    /// What the cloth may not pass through: itself, other meshes, simple shapes. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Seconds of simulation before the first frame, with the animation held at it: the cloth settles.
    #[schemars(range(min = 0.0, max = 600.0))]
    pub pre_roll: f64,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub substeps: Option<usize>,
    /// Permitted error of a step as a fraction of the cloth's size; smaller is more exact and slower.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 0.1))]
    pub tolerance: f64,
    /// How steps are taken.
    pub integrator: Method,
}

/// How steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Second order and strongly stable: motion does not depend on frame rate and substeps.
    #[default]
    TrBdf2,
    /// First order: damps motion the more the longer the steps. As other tools do.
    BackwardEuler,
    /// One linear solve per step: cheapest, for previews.
    LinearlyImplicit,
}

impl Default for Cloth {
    fn default() -> Self {
        Self {
            material: "cotton".into(),
            area_density: None,
            stretch_warp: None,
            stretch_weft: None,
            shear: None,
            compression: None,
            poisson: None,
            bend_warp: None,
            bend_weft: None,
            damping: None,
            air_drag: None,
            bending: Bending::default(),
            follow: None,
            follow_stiffness: 4.0,
            follow_damping: 1.0,
            max_distance: None,
            gravity: [0.0, -9.81, 0.0],
            wind: Wind::default(),
            contact: None,
            pre_roll: 0.0,
            substeps: None,
            tolerance: 1e-3,
            integrator: Method::default(),
        }
    }
}

impl Settings for Cloth {
    const KIND: &'static str = "cloth";
    const SUMMARY: &'static str = "turns a mesh into fabric that hangs, swings and flutters";
    const VERSION: u32 = 5;
}

impl Layer for Cloth {
    fn check(&self, input: &Target) -> Vec<Remark> {
        let mut remarks = Vec::new();
        match self.fabric() {
            Ok(material) => {
                if let Err(shell::Error::Material { field, value, allowed }) = material.validate() {
                    let message = format!("{field} is {value}");
                    remarks.push(Remark {
                        path: field.into(),
                        message,
                        help: Some(format!("allowed: {allowed}")),
                    });
                }
            }
            Err(_) => {
                let known = Material::PRESETS.iter().map(|preset| preset.name);
                remarks.push(Remark::unknown("material", "material", &self.material, known));
            }
        }
        if let Err(error) = self.wind.validate() {
            remarks.push(Remark { path: "wind".into(), message: error.to_string(), help: None });
        }
        if let Some(Err(error)) = self.follow.as_ref().map(|follow| weights(follow, input)) {
            remarks.push(Remark { path: "follow".into(), message: error.to_string(), help: None });
        }
        remarks.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        remarks
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        let has_group = match &self.follow {
            Some(Selector::Group(name)) => mesh.group(name).is_some(),
            _ => true,
        };
        has_group && !mesh.faces.is_empty()
    }

    fn look_ahead(&self, _: &Target) -> usize {
        // velocities of the guide are central differences
        1
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        self.follow.iter().for_each(|follow| add_files(follow, &mut files));
        files.extend(self.contact.iter().flat_map(Contact::files));
        files
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, Failure> {
        Ok(Box::new(Fabric::new(self, input, None)?))
    }
}

impl Cloth {
    /// The preset with the dials that the shot file turned.
    fn fabric(&self) -> Result<Material, shell::Error> {
        let preset = Material::preset(&self.material)?;
        Ok(Material {
            area_density: self.area_density.unwrap_or(preset.area_density),
            stretch_warp: self.stretch_warp.unwrap_or(preset.stretch_warp),
            stretch_weft: self.stretch_weft.unwrap_or(preset.stretch_weft),
            shear: self.shear.unwrap_or(preset.shear),
            compression: self.compression.unwrap_or(preset.compression),
            poisson: self.poisson.unwrap_or(preset.poisson),
            bend_warp: self.bend_warp.unwrap_or(preset.bend_warp),
            bend_weft: self.bend_weft.unwrap_or(preset.bend_weft),
            damping: self.damping.unwrap_or(preset.damping),
            air_drag: self.air_drag.unwrap_or(preset.air_drag),
            ..preset
        })
    }

    fn stepping(&self) -> dynamics::Settings {
        stepping(self.integrator, self.substeps, self.tolerance)
    }
}

/// The engine's settings.
pub(super) fn stepping(method: Method, substeps: Option<usize>, tolerance: f64) -> dynamics::Settings {
    dynamics::Settings {
        integrator: match method {
            Method::TrBdf2 => Integrator::TrBdf2,
            Method::BackwardEuler => Integrator::BackwardEuler,
            Method::LinearlyImplicit => Integrator::LinearlyImplicit { delta: 0.0 },
        },
        substeps: substeps.map_or(Substeps::Automatic, Substeps::Fixed),
        tolerance,
        ..dynamics::Settings::default()
    }
}

pub(super) fn weights(selector: &Selector, input: &Target) -> Result<Vec<f32>, clip::Error> {
    selector.weights(&input.clip, input.mesh, &input.folder)
}

/// The files that a selector reads its weights from.
pub(super) fn add_files(selector: &Selector, files: &mut Vec<PathBuf>) {
    match selector {
        Selector::File(path) => files.push(path.clone()),
        Selector::Any(selectors) => selectors.iter().for_each(|selector| add_files(selector, files)),
        Selector::Not(selector) => add_files(selector, files),
        _ => {}
    }
}

/// A cloth in motion.
pub(super) struct Fabric {
    input: Target,
    body: Body,
    stepper: Stepper,
    /// What keeps threads at their lengths.
    hold: Option<Hold>,
    leash: Option<MaxDistance>,
    collider: Option<Collider>,
    state: State,
    membranes: Vec<([u32; 3], Membrane)>,
    pre_roll: f64,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

impl Fabric {
    /// Makes a cloth that stretches as its membranes let it or, with a second word, one whose threads do not.
    pub(super) fn new(
        settings: &Cloth,
        input: &Target,
        inextensible: Option<&Inextensible>,
    ) -> Result<Self, Failure> {
        let mesh = input.mesh();
        let rest = mesh.rest();
        let triangles = mesh.point_triangles();
        let uvs = corner_uvs(mesh);
        let material = settings.fabric().map_err(Failure::new)?;
        let wind = settings.wind.field().map_err(Failure::new)?;
        let cloth = ClothBuilder::new(&rest, &triangles, &material)
            .uvs(uvs.as_ref().map_or(Uvs::None, |uvs| Uvs::PerCorner(uvs)))
            .wind(Arc::new(wind))
            .bending(settings.bending)
            .build()
            .map_err(Failure::new)?;

        let count = mesh.point_count();
        let follow = match &settings.follow {
            Some(selector) => weights(selector, input)?,
            None => vec![0.0; count],
        };
        // Nothing moves a point without mass, so it goes with the animation.
        let known: Vec<bool> = (0..count).map(|p| follow[p] >= 1.0 || cloth.masses[p] <= 0.0).collect();
        let soft = || (0..count).filter(|&p| !known[p] && follow[p] > 0.0);
        let stiffness =
            |p: usize| follow_stiffness(cloth.masses[p], f64::from(follow[p]), settings.follow_stiffness);
        let springs: Vec<(u32, f64)> = soft().map(|p| (p as u32, stiffness(p))).collect();
        let critical = |p: usize| 2.0 * (stiffness(p) * cloth.masses[p]).sqrt();
        let dampers: Vec<(u32, f64)> =
            soft().map(|p| (p as u32, settings.follow_damping * critical(p))).collect();

        let friction = material.damping_time();
        let mut body = Body::builder(cloth.masses.clone())
            .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
            .energy(Elements::new(cloth.hinges).damped(friction))
            .energy(Elements::new(cloth.plates).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(known)
            .gravity(Vec3::from(settings.gravity));
        if !springs.is_empty() {
            body = body.energy(Follow::new(springs)).force(FollowDamping::new(dampers));
        }
        let hold = inextensible.map(|threads| Hold::new(threads, input, &rest, &material)).transpose()?;
        if let Some(hold) = &hold {
            body = hold.add_to(body);
        }
        let body = body.build().map_err(Failure::new)?;
        let hold = hold.map(|hold| hold.bound_to(&body)).transpose()?;
        let collider = settings.contact.as_ref().map(|contact| {
            let surface = contact.surface(&mesh.name, rest.clone(), triangles.clone(), body.known().to_vec());
            contact.collider(input, surface, Attachment::identity(count))
        });
        let collider = collider.transpose()?;
        let start = to_vectors(&input.points(0)?);
        let stepper = Stepper::new(&body, &rest, settings.stepping()).map_err(Failure::new)?;

        let report = &cloth.report;
        let mut notes = vec![
            ("mass".into(), format!("{:.3} kg on {:.3} m²", report.mass, report.area)),
            (
                "followed exactly".into(),
                format!("{} of {count} points", body.known().iter().filter(|k| **k).count()),
            ),
        ];
        let mut warnings = Vec::new();
        if let Some(hold) = &hold {
            hold.describe(&mut notes, &mut warnings);
        }
        if !report.degenerate_triangles.is_empty() {
            warnings
                .push(format!("{} triangles without area were left out", report.degenerate_triangles.len()));
        }
        if !report.massless.is_empty() {
            warnings.push(format!(
                "{} points without cloth around them follow the animation",
                report.massless.len()
            ));
        }
        if report.triangles_without_axes > 0 {
            warnings.push(format!(
                "{} triangles have no area in uv; their threads run along the vertical",
                report.triangles_without_axes
            ));
        }
        Ok(Self {
            input: input.clone(),
            collider,
            leash: settings.max_distance.map(|distance| MaxDistance::new(vec![distance; count])),
            state: State::at_rest(start),
            body,
            stepper,
            hold,
            membranes: cloth.membranes,
            pre_roll: settings.pre_roll,
            notes,
            warnings,
        })
    }

    /// The guide from frame `index − 1` to frame `index`, with velocities by central differences.
    fn span(&self, index: usize) -> Result<Span, Failure> {
        let rate = self.input.clip.frame_rate_hz;
        let last = self.input.clip.frame_count() - 1;
        let at = |frame: usize| Ok::<_, Failure>(to_vectors(&self.input.points(frame)?));
        let (from, to) = (index - 1, index);
        let (here, next) = (at(from)?, at(to)?);
        let before = if from > 0 { at(from - 1)? } else { here.clone() };
        let after = if to < last { at(to + 1)? } else { next.clone() };
        let velocity = |a: &[Vec3], b: &[Vec3], frames: f64| -> Vec<Vec3> {
            a.iter().zip(b).map(|(a, b)| (*b - *a) * (rate / frames)).collect()
        };
        // before the first frame the animation stands still, as it does in the pre-roll
        let velocities = [velocity(&before, &next, 2.0), velocity(&here, &after, 2.0)];
        Ok(Span { start: from as f64 / rate, duration: 1.0 / rate, positions: [here, next], velocities })
    }

    fn advance(&mut self, guide: &dyn Guide, seconds: f64) -> Result<Effort, Failure> {
        let end = self.state.time + seconds;
        let mut filters = filters(&mut self.hold, &mut self.leash);
        let contact_model =
            self.collider.as_mut().map(|collider| &mut collider.collision as &mut dyn ContactModel);
        self.stepper
            .advance_with_contact(&self.body, &mut self.state, guide, contact_model, seconds, &mut filters)
            .map_err(|error| {
                let mut held = vec![Vec3::ZERO; self.body.point_count()];
                guide.sample(end, &mut held, &mut vec![Vec3::ZERO; self.body.point_count()]);
                let told = self.hold.as_ref().and_then(|hold| hold.explain(&error, self.body.known(), &held));
                told.unwrap_or_else(|| explain(error))
            })
    }

    fn settle(&mut self) -> Result<(), Failure> {
        let guide = StaticGuide::new(self.state.positions.clone());
        let frame = 1.0 / self.input.clip.frame_rate_hz;
        let frames = (self.pre_roll / frame).ceil();
        self.state.time = -frames * frame;
        for _ in 0..frames as usize {
            if let Some(collider) = &mut self.collider {
                collider.hold(0, self.state.time, frame)?;
            }
            self.advance(&guide, frame)?;
        }
        self.state.time = 0.0;
        Ok(())
    }
}

/// What corrects a step, in order.
fn filters<'a>(
    hold: &'a mut Option<Hold>,
    leash: &'a mut Option<MaxDistance>,
) -> Vec<&'a mut dyn dynamics::Filter> {
    let hold = hold.as_mut().and_then(Hold::filter);
    let leash = leash.as_mut().map(|leash| leash as &mut dyn dynamics::Filter);
    hold.into_iter().chain(leash).collect()
}

impl Simulation for Fabric {
    fn frame(&mut self, index: usize) -> Result<FrameResult, Failure> {
        let mut result = FrameResult::default();
        if index == 0 {
            result.warnings = self.warnings.clone();
            self.settle()?;
        } else {
            let span = self.span(index)?;
            // what rounding left in the sum of steps must not grow over a long shot
            self.state.time = span.start;
            if let Some(collider) = &mut self.collider {
                collider.go_to(index)?;
            }
            let effort = self.advance(&span, span.duration)?;
            result.figures.add("effort/substeps", "", effort.steps as f64);
            result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
            result.figures.add("effort/factorisations", "", effort.factorizations as f64);
        }

        let (x, v) = (&self.state.positions, &self.state.velocities);
        let input = self.input.points(index)?;
        let guide = to_vectors(&input);
        let moment = GuideSample { time: self.state.time, guide_positions: &guide, guide_velocities: v };
        result.figures.add("energy/kinetic", "J", self.body.kinetic_energy(v));
        result.figures.add("energy/elastic", "J", self.body.elastic_energy(&moment, x));
        match &mut self.hold {
            Some(hold) => hold.report(x, &mut result),
            None => {
                let strain = Strain::measure(&self.membranes, x);
                result.figures.add("strain/max stretch", "%", 100.0 * strain.max_stretch);
                result.figures.add("strain/mean", "%", 100.0 * strain.mean);
            }
        }

        // points that follow exactly are the input's own numbers, never a rounded copy
        let place = |p: usize| if self.body.known()[p] { input[p] } else { x[p].as_vec3().to_array() };
        let points: Vec<[f32; 3]> = (0..x.len()).map(place).collect();
        if let Some(collider) = &self.collider {
            collider.report(index, &points, &mut result)?;
        }
        result.frame = self.input.with_points(index, points)?;
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let state = self.state.to_bytes();
        let held = self.hold.as_ref().map(Hold::to_bytes).unwrap_or_default();
        let Some(collider) = &self.collider else { return [state, held].concat() };
        let length = (state.len() as u64).to_le_bytes();
        [&length[..], &state, &collider.collision.to_bytes(), &held].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Failure> {
        let other = || Failure::new("the checkpoint is not one of this cloth");
        let mut checkpoint = checkpoint;
        if let Some(hold) = &mut self.hold {
            checkpoint = hold.restore(checkpoint).ok_or_else(other)?;
        }
        let state = match &mut self.collider {
            None => checkpoint,
            Some(collider) => {
                let (length, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
                let length = u64::from_le_bytes(*length) as usize;
                let (state, contact) = rest.split_at_checked(length).ok_or_else(other)?;
                if !collider.collision.restore(contact) {
                    return Err(other());
                }
                state
            }
        };
        let state = State::from_bytes(state).filter(|s| s.positions.len() == self.body.point_count());
        self.state = state.ok_or_else(other)?;
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let solver = self.stepper.solver_info();
        let mut notes = self.notes.clone();
        notes.push(("linear solver".into(), solver.method));
        notes.push(("unknowns".into(), solver.unknowns.to_string()));
        notes.push(("factor".into(), format!("{:.1} MB", solver.factor_bytes as f64 / 1e6)));
        notes
    }
}

/// Names the dial to turn.
pub(super) fn explain(error: dynamics::Error) -> Failure {
    let help = match &error {
        dynamics::Error::Diverged { .. } => {
            "the animation may jump, or the cloth be pulled apart: look at the input there, raise `substeps`, or lower the stretch stiffness"
        }
        dynamics::Error::NotFinite { .. } => "raise `substeps`, or look for a jump in the input",
        _ => return Failure::new(error),
    };
    Failure::new(error).with_help(help)
}

pub(super) fn to_vectors(points: &[[f32; 3]]) -> Vec<Vec3> {
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

/// Texture coordinates per corner of every point triangle, in the order of [`Mesh::point_triangles`].
pub(super) fn corner_uvs(mesh: &Mesh) -> Option<Vec<[Vec2; 3]>> {
    if mesh.uvs.is_empty() {
        return None;
    }
    let on_points = |t: [u32; 3]| t.map(|vertex| mesh.vertex_points[vertex as usize]);
    let has_area = |t: &[u32; 3]| {
        let [a, b, c] = on_points(*t);
        a != b && b != c && c != a
    };
    let uv = |vertex: u32| {
        let [u, v] = mesh.uvs[vertex as usize];
        Vec2::new(f64::from(u), f64::from(v))
    };
    Some(mesh.faces.triangles().filter(has_area).map(|t| t.map(uv)).collect())
}
