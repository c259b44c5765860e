//! `inextensible`: cloth whose warp and weft do not stretch, however long the steps and however fine the mesh.
//!
//! The cloth is that of the layer `cloth` with one thing more: after every step a projection puts its threads back to their
//! lengths, or threads harden inside the step until they keep them. The membranes stay, so that a step ends near what the
//! projection asks and no force has to be undone. Quads stay quads from file to solver; their sides are the threads.

use std::path::PathBuf;

use clip::{Mesh, Selector};
use dynamics::{Body, BodyBuilder, Filter};
use geometry::{Vec2, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{
    Bending, Face, FastProjection, Hardening, Impulse, Material, ThreadDirections, Threads, Weave, Wind,
    overstretched,
};

use super::cloth::{Fabric, add_files, weights};
use super::{Cloth, Contact, Failure, FrameResult, Layer, Remark, Settings, Simulation, Target};

/// Turns a mesh into fabric whose threads do not stretch: it drapes, folds and swings, and never looks like rubber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Inextensible {
    /// A fabric, for its weight, its bending, its shearing and how air takes it. Single values can be changed with the dials
    /// below.
    pub material: String,
    /// How much longer or shorter than at rest a thread may be, as a fraction: 0.01 is one percent.
    #[schemars(range(min = 0.0001, max = 0.5))]
    pub max_strain: f64,
    /// What has the last word where threads and contact disagree.
    pub hold: Holding,
    /// Which edges are warp: those between two points of this group, and all that run on from them through the quads. Default:
    /// edges along u of the texture coordinates, or along the vertical where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warp: Option<Selector>,
    /// Mass per area, in kg/m². Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_density: Option<f64>,
    /// Resistance to shearing, in N/m: how hard it is to pull the cloth on the bias. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shear: Option<f64>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1000.0))]
    pub follow_stiffness: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub follow_damping: f64,
    /// What the cloth may not pass through: itself, other meshes, simple shapes. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// In m/s².
    pub gravity: [f64; 3],
    /// Wind. Default: still air.
    pub wind: Wind,
    /// Seconds of simulation before the first frame, with the animation held at it: the cloth settles.
    #[schemars(range(min = 0.0, max = 600.0))]
    pub pre_roll: f64,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub substeps: Option<usize>,
}

/// What has the last word where threads and contact disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holding {
    /// Contact: threads are projected to their lengths after each step, as far as nothing is in the way. Fast.
    #[default]
    Projection,
    /// Neither: threads harden inside the step until they keep their lengths and nothing crosses. Slower where cloth is pressed.
    Together,
}

impl Default for Inextensible {
    fn default() -> Self {
        let cloth = Cloth::default();
        Self {
            material: cloth.material,
            max_strain: 0.01,
            hold: Holding::default(),
            warp: None,
            area_density: None,
            shear: None,
            bend_warp: None,
            bend_weft: None,
            damping: None,
            air_drag: None,
            bending: cloth.bending,
            follow: None,
            follow_stiffness: cloth.follow_stiffness,
            follow_damping: cloth.follow_damping,
            contact: None,
            gravity: cloth.gravity,
            wind: cloth.wind,
            pre_roll: cloth.pre_roll,
            substeps: None,
        }
    }
}

impl Settings for Inextensible {
    const KIND: &'static str = "inextensible";
    const SUMMARY: &'static str = "turns a mesh into fabric whose warp and weft do not stretch";
    const VERSION: u32 = 4;
}

impl Layer for Inextensible {
    fn check(&self, input: &Target) -> Vec<Remark> {
        let mut remarks = self.cloth().check(input);
        if !(1e-4..=0.5).contains(&self.max_strain) {
            let message = format!("max_strain is {}", self.max_strain);
            let help = Some("allowed: 0.0001 to 0.5".into());
            remarks.push(Remark { path: "max_strain".into(), message, help });
        }
        if let Some(Err(error)) = self.warp.as_ref().map(|warp| weights(warp, input)) {
            remarks.push(Remark { path: "warp".into(), message: error.to_string(), help: None });
        } else if let Err(failure) = self.weave(input, &input.mesh().rest()) {
            let help = failure.remedy().map(str::to_owned);
            remarks.push(Remark { path: "kind".into(), message: failure.to_string(), help });
        }
        remarks
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        self.cloth().suits(mesh)
    }

    fn look_ahead(&self, input: &Target) -> usize {
        self.cloth().look_ahead(input)
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = self.cloth().files();
        self.warp.iter().for_each(|selector| add_files(selector, &mut files));
        files
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, Failure> {
        Ok(Box::new(Fabric::new(&self.cloth(), input, Some(self))?))
    }
}

impl Inextensible {
    /// The same dials in the cloth layer's words.
    fn cloth(&self) -> Cloth {
        Cloth {
            material: self.material.clone(),
            area_density: self.area_density,
            shear: self.shear,
            bend_warp: self.bend_warp,
            bend_weft: self.bend_weft,
            damping: self.damping,
            air_drag: self.air_drag,
            bending: self.bending,
            follow: self.follow.clone(),
            follow_stiffness: self.follow_stiffness,
            follow_damping: self.follow_damping,
            contact: self.contact.clone(),
            gravity: self.gravity,
            wind: self.wind.clone(),
            pre_roll: self.pre_roll,
            substeps: self.substeps,
            ..Cloth::default()
        }
    }

    fn weave(&self, input: &Target, rest: &[Vec3]) -> Result<Weave, Failure> {
        let mesh = input.mesh();
        let marked: Option<Vec<bool>> = match &self.warp {
            Some(warp) => Some(weights(warp, input)?.iter().map(|w| *w > 0.5).collect()),
            None => None,
        };
        let lay =
            marked.as_ref().map_or(ThreadDirections::Uv(Vec3::Y), |marked| ThreadDirections::Named(marked));
        Weave::new(rest, &faces(mesh), lay).map_err(|error| {
            let help = match error {
                shell::Error::NoThreads { .. } if self.warp.is_some() => {
                    "`warp` must hold both ends of at least one side of a quad"
                }
                shell::Error::NoThreads { .. } => {
                    "threads are the sides of quads: use a grid whose texture coordinates run along its sides, name a row of it with `warp`, or use the layer `cloth`"
                }
                _ => return Failure::new(error),
            };
            Failure::new(error).with_help(help)
        })
    }
}

/// Polygons over points, with their texture coordinates.
fn faces(mesh: &Mesh) -> Vec<Face> {
    let face = |corners: &[u32]| Face {
        points: corners.iter().map(|&vertex| mesh.vertex_points[vertex as usize]).collect(),
        uvs: corners
            .iter()
            .filter_map(|&vertex| mesh.uvs.get(vertex as usize))
            .map(|&[u, v]| Vec2::new(f64::from(u), f64::from(v)))
            .collect(),
    };
    mesh.faces.iter().map(face).collect()
}

/// What keeps the threads of a cloth at their lengths.
pub(super) struct Hold {
    weave: Weave,
    warp: Threads,
    weft: Threads,
    way: Way,
    max_strain: f64,
}

enum Way {
    /// None before there is a body.
    Projection(Option<Box<FastProjection>>),
    Together(Hardening),
}

impl Hold {
    pub(super) fn new(
        settings: &Inextensible,
        input: &Target,
        rest: &[Vec3],
        material: &Material,
    ) -> Result<Self, Failure> {
        let weave = settings.weave(input, rest)?;
        let threads = |edges: &[[u32; 2]]| Threads::new(rest, edges.to_vec()).map_err(Failure::new);
        let (warp, weft) = (threads(&weave.warp)?, threads(&weave.weft)?);
        let way = match settings.hold {
            Holding::Projection => Way::Projection(None),
            Holding::Together => {
                // a hundredth of the cloth's own stiffness on the width of a thread
                let all = warp.and(&weft);
                let width = all.lengths().iter().sum::<f64>() / all.len().max(1) as f64;
                let least = 0.01 * material.stretch_warp.max(material.stretch_weft) * width;
                Way::Together(Hardening::new(&all, settings.max_strain, least))
            }
        };
        Ok(Self { weave, warp, weft, way, max_strain: settings.max_strain })
    }

    /// What is solved for inside the step.
    pub(super) fn add_to(&self, body: BodyBuilder) -> BodyBuilder {
        match &self.way {
            Way::Projection(_) => body,
            Way::Together(hardening) => body.energy(hardening.energy()),
        }
    }

    /// Ready for the body's masses and known points.
    pub(super) fn bound_to(mut self, body: &Body) -> Result<Self, Failure> {
        if let Way::Projection(projection) = &mut self.way {
            let threads = self.warp.and(&self.weft);
            let made = FastProjection::new(body, &threads, self.max_strain, Impulse::SecondOrder);
            *projection = Some(Box::new(made.map_err(Failure::new)?));
        }
        Ok(self)
    }

    pub(super) fn filter(&mut self) -> Option<&mut dyn Filter> {
        match &mut self.way {
            Way::Projection(projection) => {
                projection.as_deref_mut().map(|projection| projection as &mut dyn Filter)
            }
            Way::Together(hardening) => Some(hardening),
        }
    }

    /// What one frame leaves to the next.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match &self.way {
            Way::Projection(_) => Vec::new(),
            Way::Together(hardening) => {
                hardening.stiffness().into_iter().flat_map(f64::to_le_bytes).collect()
            }
        }
    }

    /// Takes up what [`Hold::to_bytes`] gave from the end of a checkpoint, and gives back the rest of it.
    pub(super) fn restore<'a>(&mut self, checkpoint: &'a [u8]) -> Option<&'a [u8]> {
        let Way::Together(hardening) = &mut self.way else { return Some(checkpoint) };
        let length = 8 * (self.warp.len() + self.weft.len());
        let (rest, bytes) = checkpoint.split_at_checked(checkpoint.len().checked_sub(length)?)?;
        let (words, _) = bytes.as_chunks::<8>();
        hardening.restore(words.iter().map(|word| f64::from_le_bytes(*word)).collect()).then_some(rest)
    }

    pub(super) fn describe(&self, notes: &mut Vec<(String, String)>, warnings: &mut Vec<String>) {
        let Weave { quads, paired, others, bias, .. } = &self.weave;
        let made =
            if *paired > 0 { format!(", {paired} of them made of two triangles") } else { String::new() };
        notes.push(("quads".into(), format!("{}{made}", quads.len())));
        notes.push((
            "threads".into(),
            format!("{} pieces of warp, {} of weft", self.warp.len(), self.weft.len()),
        ));
        if *others > 0 {
            warnings
                .push(format!("{others} faces are no quads; only their sides along the grain are threads"));
        }
        if !bias.is_empty() {
            warnings.push(format!("{} edges run along neither warp nor weft and may stretch", bias.len()));
        }
    }

    pub(super) fn report(&mut self, x: &[Vec3], result: &mut FrameResult) {
        // the strain of the frame itself, contact included; the other is what the projection left before it
        for (name, threads) in [("strain/warp", &self.warp), ("strain/weft", &self.weft)] {
            result.figures.add(name, "%", 100.0 * threads.strain(x).largest());
        }
        match &mut self.way {
            Way::Projection(projection) => {
                let report = projection.as_deref_mut().map(FastProjection::take_report).unwrap_or_default();
                result.figures.add("strain/before contact", "%", 100.0 * report.strain);
                result.figures.add("effort/projections", "", report.solves as f64);
            }
            Way::Together(hardening) => {
                result.figures.add("effort/hardenings", "", hardening.take_refused() as f64);
            }
        }
    }

    /// Why threads cannot keep their lengths, if that is what went wrong.
    pub(super) fn explain(&self, error: &dynamics::Error, known: &[bool], guide: &[Vec3]) -> Option<Failure> {
        let dynamics::Error::Refused { time, .. } = error else { return None };
        let threads = self.warp.and(&self.weft);
        let failure = match overstretched(&threads, known, guide) {
            Some(found) => Failure::new(format!(
                "at {time:.3} s points {} and {} are held {:.3} m apart, but the threads between them are {:.3} m long",
                found.points[0], found.points[1], found.distance, found.thread_length
            ))
            .with_help("let go of one of them, bring them closer in the animation, or raise `max_strain`"),
            None => Failure::new(format!("at {time:.3} s the threads could not be brought to their lengths"))
                .with_help("raise `substeps` or `max_strain`, or look for a jump in the animation"),
        };
        Some(failure)
    }
}
