//! What a shot file says about a `motion` layer.

use clip::FilePath;
use motion::Repair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::Wind;

/// Makes a figure's motion obey physics: feet stand still, weight is borne, forces are what a ground can give; otherwise as near to
/// the input as that allows. With `keys`, only those poses are kept, and the motion between them is made anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Motion {
    /// How far joints may be from the input, in metres: smaller keeps nearer, larger is smoother and costs less force. Default: 0.02;
    /// with `keys`, the input counts at the keys alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-5, "maximum" = 1.0, "x-usual" = [0.001, 0.3]))]
    pub follow: Option<f64>,
    /// Seconds of the input whose poses are kept, once their feet are on the ground; first and last frame are kept too. Of the rest only the
    /// footsteps are: the motion between is the one that needs the least torque, or that is most like the `prior`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5))]
    pub keys: Vec<f64>,
    /// Where the camera stood that poses at `keys` were drawn over, in metres: of them only what is across its sight is kept. Default: all is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub seen_from: Option<[f64; 3]>,
    /// Joints that are dragged somewhere; the rest of the body follows as people's does, if a `prior` says how, and the pose is a key.
    pub drags: Vec<Dragging>,
    /// Paths that joints go along.
    pub trajectories: Vec<Tracing>,
    /// How people move, between `keys`: a prior, as `followthrough train` writes it. Default: with the least torque.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<FilePath>,
    /// How much the prior counts; less lets torques and the first guess between the keys count more.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1000.0, "x-usual" = [0.1, 10.0]))]
    pub prior_weight: f64,
    /// How the motion is solved for: physics as a constraint, or as in the paper, for comparison.
    #[serde(skip_serializing_if = "MotionMethod::is_constrained")]
    pub method: MotionMethod,
    /// When and where feet come down: as in the input, or solved for. On level ground and slopes.
    #[serde(skip_serializing_if = "Footsteps::is_given")]
    pub footsteps: Footsteps,
    /// Which of the motions that fit the `keys`: 0 is the likeliest, and every other number another draw of a Markov chain from all of them.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("maximum" = 1000000, "x-usual" = [0, 20]))]
    pub variation: u32,
    /// Coefficient of friction between feet and ground.
    #[schemars(extend("minimum" = 0.01, "maximum" = 10.0, "x-usual" = [0.1, 2.0]))]
    pub friction: f64,
    /// In m/s².
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// What is stood on: the height of level ground in metres, a slope, a treadmill, or a mesh. Default: level, where the feet keep returning to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground: Option<Footing>,
    /// Mass, height and what is worn.
    pub body: Physique,
    /// Forces from outside.
    pub pushes: Vec<Pushing>,
    /// Elastic bands that hold the figure back.
    pub springs: Vec<Band>,
    /// Wind, against limbs and trunk as broad as a person's. Default: air that is no hindrance.
    pub wind: Wind,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// When and where feet come down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Footsteps {
    /// As in the input.
    #[default]
    Given,
    /// Solved for. With a `prior` the input's footsteps count at the keys alone; otherwise their order is the input's.
    Free,
}

impl Footsteps {
    fn is_given(&self) -> bool {
        *self == Self::Given
    }
}

/// How a motion is solved for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MotionMethod {
    /// Physics holds at every frame, and torques are what it takes.
    #[default]
    Constrained,
    /// The paper's: physics is one aim among others, torques and contact forces are unknowns. For comparison.
    Paper,
    /// The paper's rejected variant: the same, inside the principal components of the `prior`.
    PaperSubspace,
}

impl MotionMethod {
    fn is_constrained(&self) -> bool {
        *self == Self::Constrained
    }
}

/// A joint that is dragged somewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dragging {
    /// The joint.
    pub joint: String,
    /// When, in seconds of the clip.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5))]
    pub at: f64,
    /// Where to, in metres.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub to: [f64; 3],
}

/// A path that a joint goes along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracing {
    /// The joint.
    pub joint: String,
    /// Seconds of the clip.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5))]
    pub from: f64,
    /// Seconds of the clip.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5))]
    pub to: f64,
    /// Places at even times between them, in metres; from each to the next it goes straight. Default: those of the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub places: Vec<[f64; 3]>,
    /// How near it keeps to them, in metres.
    #[serde(default = "a_centimetre")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.001, 0.1]))]
    pub within: f64,
    /// Where the camera stood that the places were drawn over, in metres: only what is across its sight counts. Default: they are in space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub seen_from: Option<[f64; 3]>,
}

fn a_centimetre() -> f64 {
    0.01
}

/// What is stood on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Footing {
    /// Level ground at this height, in metres.
    Height(#[schemars(extend("minimum" = -1e6, "maximum" = 1e6))] f64),
    /// A plane that rises.
    Slope(Slope),
    /// A mesh of the input, at its first frame.
    Mesh(MeshFooting),
    /// A treadmill.
    Belt(Belt),
}

/// A plane that rises from where the figure begins. The input goes on level ground and is carried onto it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// In degrees.
    #[schemars(extend("minimum" = -60.0, "maximum" = 60.0, "x-usual" = [-35.0, 35.0]))]
    pub slope: f64,
    /// The direction in which it rises. Default: that in which the figure goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub toward: Option<[f64; 3]>,
}

/// A mesh as ground. The input goes on level ground and is carried onto it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshFooting {
    /// Its name.
    pub mesh: String,
}

/// Level ground that moves along: a treadmill. Feet that stand go with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Belt {
    /// How fast it moves, in m/s; level.
    #[schemars(extend("minimum" = -20.0, "maximum" = 20.0, "x-usual" = [-6.0, 6.0]))]
    pub belt: [f64; 3],
    /// Its height, in metres. Default: where the feet keep returning to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub height: Option<f64>,
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

/// An elastic band from a joint to a place: pulls where it is longer than at rest, hangs slack otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The joint.
    pub joint: String,
    /// Where its other end is held, in metres.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub to: [f64; 3],
    /// In N/m.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6, "x-usual" = [1.0, 5000.0]))]
    pub stiffness: f64,
    /// Its length at rest, in metres.
    #[serde(default)]
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4))]
    pub rest: f64,
}

impl Default for Motion {
    fn default() -> Self {
        let Repair { friction, gravity, .. } = Repair::default();
        Self {
            follow: None,
            keys: Vec::new(),
            seen_from: None,
            drags: Vec::new(),
            trajectories: Vec::new(),
            method: MotionMethod::default(),
            prior: None,
            prior_weight: 1.0,
            footsteps: Footsteps::default(),
            variation: 0,
            friction,
            gravity: gravity.to_array(),
            ground: None,
            body: Physique::default(),
            pushes: Vec::new(),
            springs: Vec::new(),
            wind: Wind::default(),
        }
    }
}
