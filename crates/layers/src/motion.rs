//! `motion`: human motion that obeys physics. Today: repair of takes whose feet skate and whose joints tremble, under gravity, masses
//! and pushes of one's choice. The mathematics is in the crate `motion`.

mod figure;

use geometry::Vec3;
use motion::{Build, Ground, Push, Repair, Repaired, Segment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, FrameResult, Layer, LayerError, Settings, Simulation, Target};

use self::figure::Figure;

/// Makes a figure's motion obey physics: feet stand still, weight is borne, forces are what a ground can give; otherwise as near to
/// the input as that allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Motion {
    /// How far joints may be from the input, in metres: smaller keeps nearer, larger is smoother and costs less force.
    #[schemars(extend("minimum" = 1e-5, "maximum" = 1.0, "x-usual" = [0.001, 0.3]))]
    pub follow: f64,
    /// Coefficient of friction between feet and ground.
    #[schemars(extend("minimum" = 0.01, "maximum" = 10.0, "x-usual" = [0.1, 2.0]))]
    pub friction: f64,
    /// In m/s².
    #[schemars(extend("minimum" = -1000.0, "maximum" = 1000.0, "x-usual" = [-100.0, 100.0]))]
    pub gravity: [f64; 3],
    /// Height of level ground, in metres. Default: where the feet keep returning to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub ground: Option<f64>,
    /// Mass, height and what is worn.
    pub body: Physique,
    /// Forces from outside.
    pub pushes: Vec<Pushing>,
}

/// A body's masses; by published tables, laid onto the skeleton by its joints' names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Physique {
    /// In kg. Default: that of a slender person of the figure's height.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.01, "maximum" = 1e5, "x-usual" = [3.0, 300.0]))]
    pub mass: Option<f64>,
    /// In metres. Default: by the length of the legs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.01, "maximum" = 100.0, "x-usual" = [0.3, 3.0]))]
    pub height: Option<f64>,
    /// What is worn or carried.
    pub add: Vec<Worn>,
}

/// A mass on a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worn {
    /// The joint.
    pub joint: String,
    /// In kg.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5, "x-usual" = [0.0, 100.0]))]
    pub mass: f64,
}

/// A force on a joint for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pushing {
    /// The joint.
    pub joint: String,
    /// Seconds of the clip.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub from: f64,
    /// Seconds of the clip.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub to: f64,
    /// In N.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-5000.0, 5000.0]))]
    pub force: [f64; 3],
}

impl Default for Motion {
    fn default() -> Self {
        let Repair { follow, friction, gravity, .. } = Repair::default();
        let gravity = gravity.to_array();
        Self { follow, friction, gravity, ground: None, body: Physique::default(), pushes: Vec::new() }
    }
}

impl Settings for Motion {
    const KIND: &'static str = "motion";
    const SUMMARY: &'static str = "makes a figure's motion obey physics, feet still and weight borne";
    const VERSION: u32 = 1;
}

impl Layer for Motion {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let Some(skeleton) = &input.clip.skeleton else {
            let message = "the input has no skeleton";
            return vec![Diagnostic::new("", message).with_help("give a BVH or a skinned GLB")];
        };
        let worn =
            self.body.add.iter().enumerate().map(|(k, worn)| (format!("body.add.{k}.joint"), &worn.joint));
        let pushed =
            self.pushes.iter().enumerate().map(|(k, push)| (format!("pushes.{k}.joint"), &push.joint));
        let unknown = worn.chain(pushed).filter(|(_, joint)| skeleton.joint_index(joint).is_none());
        let names = || skeleton.joints.iter().map(|joint| joint.name.as_str());
        unknown.map(|(path, joint)| Diagnostic::unknown(&path, "joint", joint, names())).collect()
    }

    fn needs_mesh(&self) -> bool {
        false
    }

    fn look_ahead(&self, input: &Target) -> usize {
        input.clip.frame_count()
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let figure = Figure::of(&input.clip)?;
        let repaired = self.repair(&figure)?.run(&figure.take).map_err(explained)?;
        Ok(Box::new(Moving { input: input.clone(), figure, repaired }))
    }
}

/// A problem of the take with what to do about it.
fn explained(error: motion::Error) -> LayerError {
    let help = match &error {
        motion::Error::NoFeet { .. } => "joints named foot, ankle or toe are feet",
        motion::Error::TooShort { .. } => "give a longer clip",
        _ => return LayerError::new(error),
    };
    LayerError::new(error).with_help(help)
}

impl Motion {
    /// The same settings for one figure.
    fn repair(&self, figure: &Figure) -> Result<Repair, LayerError> {
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
        let mut pushes = Vec::with_capacity(self.pushes.len());
        for push in &self.pushes {
            let force = |frame: usize| {
                let time = (frame + figure.first) as f64 / take.frame_rate_hz;
                if (push.from..push.to).contains(&time) { Vec3::from_array(push.force) } else { Vec3::ZERO }
            };
            pushes.push(Push {
                joint: joint(&push.joint)?,
                forces: (0..take.frame_count()).map(force).collect(),
            });
        }
        Ok(Repair {
            follow: self.follow,
            friction: self.friction,
            gravity: Vec3::from_array(self.gravity),
            ground: self.ground.map(|height| Ground::level(height * figure.unit)),
            build,
            pushes,
            ..Repair::default()
        })
    }
}

/// Where something worn on a joint sits: halfway to what hangs on it.
fn middle(figure: &Figure, joint: usize) -> Vec3 {
    let bones = &figure.take.bones;
    let child = bones.iter().find(|bone| bone.parent == Some(joint)).map(|bone| bone.offset);
    child.or(bones[joint].tip).unwrap_or(Vec3::ZERO) * 0.5
}

/// The whole motion is known from the start: there is no state.
struct Moving {
    input: Target,
    figure: Figure,
    repaired: Repaired,
}

impl Simulation for Moving {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let frame = self.figure.frame(&self.input.clip, &self.repaired.take, index)?;
        let mut result = FrameResult::from(frame);
        let Some(at) = index.checked_sub(self.figure.first) else {
            result.warnings.push("a pose of calibration: left as it is".into());
            return Ok(result);
        };
        let weight = self.repaired.body.mass() * 9.81;
        let sides = ["left", "right"];
        let feet = self.repaired.soles.iter().map(|sole| sole.foot).max().map_or(0, |most| most + 1);
        for foot in 0..feet {
            let own = self.repaired.solution.forces[at]
                .iter()
                .filter(|force| self.repaired.soles[force.0].foot == foot);
            let up: f64 = own.map(|force| force.1.dot(self.repaired.ground.normal)).sum();
            let name = if feet == 2 { sides[foot].to_string() } else { format!("foot {}", foot + 1) };
            result.figures.add(format!("ground force/{name}"), "body weights", up / weight);
        }
        result.figures.add(
            "distance from the input/farthest joint",
            "m",
            self.repaired.report.follow[at] / self.figure.unit,
        );
        if !self.repaired.solution.converged {
            let report = &self.repaired.report;
            result.fallbacks.push(format!(
                "no motion near the input obeys physics: after {} iterations {:.2e} body weights are missing, the farthest joint is {:.0} cm away at frame {}",
                self.repaired.solution.iterations,
                report.root_residual,
                100.0 * report.follow_max,
                report.worst_frame + self.figure.first,
            ));
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _checkpoint: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let (repaired, report) = (&self.repaired, &self.repaired.report);
        let bones = &self.figure.take.bones;
        let nameless = bones.iter().filter(|bone| Segment::from_name(&bone.name).is_none()).count();
        let mut notes = vec![
            (
                "body".into(),
                format!("{:.1} kg, {} degrees of freedom", repaired.body.mass(), repaired.body.dof_count()),
            ),
            ("ground".into(), format!("{:.3} m", repaired.ground.point.y / self.figure.unit)),
            ("contacts".into(), format!("{}", repaired.contacts.len())),
            ("iterations".into(), format!("{}", repaired.solution.iterations)),
            ("root residual".into(), format!("{:.1e} body weights", report.root_residual)),
            (
                "slip, penetration".into(),
                format!("{:.2} mm, {:.2} mm", 1e3 * report.slip, 1e3 * report.penetration),
            ),
            ("friction used".into(), format!("{:.2}", report.friction)),
            (
                "joints from the input".into(),
                format!(
                    "{:.1} mm in the mean, {:.1} mm at most",
                    1e3 * report.follow_mean,
                    1e3 * report.follow_max
                ),
            ),
        ];
        if self.figure.unit != 1.0 {
            notes.push((
                "unit".into(),
                format!("taken to be {:.4} m, for a figure of 1.75 m", self.figure.unit),
            ));
        }
        if nameless > 0 {
            notes.push((
                "joints without a known name".into(),
                format!("{nameless}, weighed with their parents"),
            ));
        }
        notes
    }
}
