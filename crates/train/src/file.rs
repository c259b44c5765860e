//! What a training file of the kind `upsample` says.

use clip::{FilePath, Selector};
use geometry::Scheme;
use layers::{LiveWind, MaterialDials, RiggedCapsule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::Input;

use crate::take::TakeSource;

/// Fine cloth over coarse, for games: meshes, what they hang on, what they must not enter, motions to learn from and motions to test on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpsampleTraining {
    /// What is trained.
    pub kind: UpsampleKind,
    /// The mesh that the game simulates: a hundred points or two.
    pub coarse: MeshSource,
    /// The mesh that the game shows, lying on the coarse one. Default: the coarse one, cut finer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine: Option<MeshSource>,
    /// How often every triangle of the coarse mesh is cut in four, where there is no `fine` mesh.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 5))]
    pub subdivide: usize,
    /// Where the points of the cut mesh go.
    #[serde(default)]
    pub scheme: Scheme,
    /// Where cloth stays with the body, on both meshes: 1 is skin, 0 cloth, between them a blend. Default: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// Bodies on bones that the cloth must not enter.
    #[serde(default)]
    pub capsule: Vec<RiggedCapsule>,
    /// What the coarse cloth is made of; it goes into the game.
    #[serde(default)]
    pub cloth: CoarseCloth,
    /// What the fine cloth is made of: silk, cotton, denim and others.
    #[serde(default = "cotton")]
    pub material: String,
    /// Single values of the material, changed.
    #[serde(default)]
    pub fabric: MaterialDials,
    /// How many of the fine cloth's lowest harmonics are those of the coarse one; what is finer is left to physics.
    #[serde(default = "thirty")]
    #[schemars(range(min = 1, max = 500))]
    pub tests: usize,
    /// Steps of a frame of the fine cloth.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub substeps: usize,
    /// Seconds that the first pose of a motion is held, so that the cloth hangs.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 60.0))]
    pub settle: f64,
    /// The finest fold that is learnt, from crest to crest, in m. Default: what does best on parts of the motion that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub detail: Option<f64>,
    /// Where the finest fold that is learnt is another, and along which way.
    #[serde(default)]
    pub paint: Vec<PaintedDetail>,
    /// How strongly folds are held back that the motion does not ask for. Default: what does best on parts that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub strength: Option<f64>,
    /// How steeply finer folds are held back.
    #[serde(default = "four")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 40.0))]
    pub exponent: f64,
    /// How many independent folds the operator keeps. Default: what does best on parts that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub rank: Option<usize>,
    /// Harmonics of the fine mesh that are learnt in.
    #[serde(default = "harmonics")]
    #[schemars(range(min = 1, max = 5000))]
    pub harmonics: usize,
    /// Travelling waves at most that are learnt from the first motion with wind.
    #[serde(default = "two")]
    #[schemars(range(max = 16))]
    pub waves: usize,
    /// Motions to learn from.
    #[schemars(length(min = 1))]
    pub learn: Vec<TrainingMotion>,
    /// Motions to test on; nothing is learnt or chosen by them.
    #[serde(default)]
    pub test: Vec<TrainingMotion>,
}

/// Which kind of training this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpsampleKind {
    /// Fine cloth over coarse, for games.
    Upsample,
}

fn two() -> usize {
    2
}

fn three() -> usize {
    3
}

fn four() -> f64 {
    4.0
}

fn half() -> f64 {
    0.5
}

fn thirty() -> usize {
    30
}

fn harmonics() -> usize {
    400
}

fn cotton() -> String {
    "cotton".into()
}

/// A mesh at rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeshSource {
    /// The file that holds it, relative to the training file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// A sample that comes with followthrough, instead of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// Its name. Default: for the coarse mesh the first; for the fine one that of the coarse mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// How long one unit of the file is, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub unit: Option<f64>,
}

/// The finest fold, somewhere: what several say of one place is multiplied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaintedDetail {
    /// Where. Default: everywhere.
    #[serde(default = "all")]
    pub at: Selector,
    /// How many times as coarse as elsewhere the finest fold is: 2 is twice as wide, 0.5 half.
    #[schemars(extend("minimum" = 0.1, "maximum" = 10.0))]
    pub coarser: f64,
    /// Only from crest to crest along this way, where the meshes are at rest. Default: every way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub along: Option<[f64; 3]>,
}

fn all() -> Selector {
    Selector::All
}

/// A motion of the skeleton that the cloth hangs on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrainingMotion {
    /// Where it is.
    #[serde(flatten)]
    pub take: TakeSource,
    /// Frames per second at which the file is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1000.0))]
    pub frame_rate: Option<f64>,
    /// Air that moves. Default: still.
    pub wind: LiveWind,
    /// Bodies of this motion only; at most 32.
    #[schemars(length(max = 32))]
    pub obstacles: Vec<RiggedCapsule>,
}

impl MeshSource {
    /// As a shot's input.
    pub(crate) fn input(&self) -> Input {
        Input { file: self.file.clone(), sample: self.sample.clone(), unit: self.unit, ..Input::default() }
    }
}

impl TrainingMotion {
    /// As a shot's input.
    pub(crate) fn input(&self) -> Input {
        Input { frames: self.take.frames, frame_rate: self.frame_rate, ..self.take.input() }
    }
}

/// What the coarse cloth is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CoarseCloth {
    /// Mass per area, in kg/m².
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub density: f64,
    /// Resistance to stretching, in N/m.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub stretch: f64,
    /// Resistance to shearing, in N/m.
    #[schemars(extend("minimum" = 0.0))]
    pub shear: f64,
    /// Resistance to bending, in J.
    #[schemars(extend("minimum" = 0.0))]
    pub bend: f64,
    /// Resistance to being pushed together, as a part of that to stretching. Little lets the coarse cloth shrink where the fine one folds.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub compression: f64,
    /// The part of its velocity that cloth loses in still air, per second.
    #[schemars(extend("minimum" = 0.0))]
    pub damping: f64,
    /// Drag of the air across the cloth: 1 is a plate's.
    #[schemars(extend("minimum" = 0.0))]
    pub drag: f64,
    /// Drag of the air along the cloth.
    #[schemars(extend("minimum" = 0.0))]
    pub skin_drag: f64,
    /// Friction against bodies.
    #[schemars(extend("minimum" = 0.0))]
    pub friction: f64,
    /// How far points stay away from bodies, in m.
    #[schemars(extend("minimum" = 0.0))]
    pub thickness: f64,
    /// Steps per second, whatever the frame rate.
    #[schemars(extend("minimum" = 30.0, "maximum" = 10_000.0))]
    pub rate: f64,
    /// In m/s².
    pub gravity: [f64; 3],
}

impl Default for CoarseCloth {
    /// As [`live::Settings`], a little stiffer against folding: what is too fine for it is the fine cloth's.
    fn default() -> Self {
        let live::Settings { density, stretch, shear, drag, skin_drag, friction, thickness, .. } =
            live::Settings::default();
        let [density, stretch, shear, drag, skin_drag, friction, thickness] =
            [density, stretch, shear, drag, skin_drag, friction, thickness].map(plain);
        Self {
            density,
            stretch,
            shear,
            bend: 5e-3,
            compression: 0.2,
            damping: 1.0,
            drag,
            skin_drag,
            friction,
            thickness,
            rate: 600.0,
            gravity: [0.0, -9.81, 0.0],
        }
    }
}

/// A single-precision number as people write it: 0.05 and not 0.05000000074505806.
fn plain(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

impl CoarseCloth {
    /// As the run time takes it.
    pub(crate) fn settings(&self) -> live::Settings {
        live::Settings {
            rate_hz: self.rate as f32,
            gravity: self.gravity.map(|x| x as f32),
            density: self.density as f32,
            stretch: self.stretch as f32,
            shear: self.shear as f32,
            bend: self.bend as f32,
            compression: self.compression as f32,
            damping: self.damping as f32,
            drag: self.drag as f32,
            skin_drag: self.skin_drag as f32,
            friction: self.friction as f32,
            thickness: self.thickness as f32,
            ..live::Settings::default()
        }
    }
}
