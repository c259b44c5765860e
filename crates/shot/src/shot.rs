//! The shot file: an input, a stack of layers, outputs.

use std::path::PathBuf;
use std::sync::Arc;

use clip::{Clip, FilePath, Files, Names, SkinDelivery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::layer::Layer;
use crate::{FrameRange, Registry};

/// A shot as its file says it, checked as far as that goes without opening the input.
#[derive(Clone)]
pub struct Shot {
    /// What people call it: the file's name without its ending.
    pub name: String,
    /// Where the animation comes from.
    pub input: Input,
    /// From the lowest to the highest.
    pub layers: Vec<LayerEntry>,
    /// What comes out.
    pub output: Output,
    /// What the file may say, but hardly ever means: numbers far from what is usual.
    pub warnings: Vec<Diagnostic>,
    /// Relative paths start here: the shot file's folder.
    pub folder: PathBuf,
    /// Which files may be read: what files name must lie in their own folders, unless the shot is trusted with more.
    pub files: Files,
    pub(crate) document: Document,
    pub(crate) registry: Registry,
    /// The animation itself, where it does not come from what the file names.
    pub(crate) given: Option<Clip>,
}

/// One layer of a shot.
#[derive(Clone)]
pub struct LayerEntry {
    /// What the artist calls it; unique in the shot.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Counts up when equal settings begin to give other frames.
    pub version: u32,
    /// The meshes it works on; `None`: the first suitable one.
    pub mesh: Option<MeshNames>,
    /// The group it is simulated with.
    pub together: Option<String>,
    /// Whether it takes part.
    pub enabled: bool,
    /// How much of its result is used, in [0, 1].
    pub strength: f64,
    /// The layer itself.
    pub layer: Arc<dyn Layer>,
    /// Its settings with every default filled in.
    pub settings: serde_json::Value,
    /// Every file that its settings name, relative to the shot's folder.
    pub files: Vec<PathBuf>,
}

impl LayerEntry {
    /// Whether the layer changes anything at all.
    pub fn is_active(&self) -> bool {
        self.enabled && self.strength > 0.0
    }
}

/// Which meshes a layer works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MeshNames {
    /// The one of this name; `"*"`: all that have what the layer asks for.
    One(String),
    /// All of these.
    Several(Vec<String>),
}

/// Which animations of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ClipNames {
    /// Those whose names fit; `"all"`: every one.
    One(String),
    /// Those whose names fit one of these, in this order.
    Several(Vec<String>),
}

/// A motion for the input's skeleton.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MotionInput {
    /// The file whose skeleton moves, relative to the shot file.
    pub file: Option<FilePath>,
    /// The name of a sample, instead of a file.
    pub sample: Option<String>,
    /// The animation to take from a file that holds several. Default: the first.
    pub clip: Option<String>,
    /// How long one unit of the file is, in metres. Default: 1; a figure that is no person's size then is taken to be one of 1.75 m.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1e9, "x-usual" = [1e-4, 1000.0]))]
    pub unit: Option<f64>,
}

/// A body for a skeleton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputBody {
    /// Capsules and round boxes.
    Capsules,
}

/// Where the animation comes from: a file, or a sample that comes with followthrough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// The animation file (.glb, .gltf, .obj, .pc2, .mdd, .bvh, .usd, .usdc, .usda, .usdz, .abc), relative to the shot
    /// file. A pattern such as `flag.####.obj` names a numbered sequence.
    pub file: Option<FilePath>,
    /// The name of a sample that comes with followthrough, instead of a file: `flag`, `curtain` and others.
    pub sample: Option<String>,
    /// How many seconds the scene lasts. What ends earlier stays in its last frame, so that a still file lives as long as the shot. Without a
    /// file or a sample it is a scene with nothing in it: for layers that need no animation, such as smoke. Default: until all files have ended.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 3600.0, "x-usual" = [0.04, 600.0]))]
    pub duration: Option<f64>,
    /// The animation to take from a file that holds several. Default: the first.
    pub clip: Option<String>,
    /// Several animations of the file instead of one: `"all"`, a name with `*` for anything, or a list of names. Each is baked by itself, from its own
    /// start, into a folder with its name; in a .glb they come out together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clips: Option<ClipNames>,
    /// Frames per second. What has times of its own (glTF, USD, Alembic, BVH, MDD) is sampled at this rate and lasts as long as it did; the
    /// frames of an OBJ sequence, PC2 or Acclaim take, which have none, follow each other at this speed; a sample keeps its length. Default: what the
    /// file says, or 24.
    #[schemars(extend("minimum" = 0.01, "maximum" = 100_000.0, "x-usual" = [1.0, 1000.0]))]
    pub frame_rate: Option<f64>,
    /// The part of the animation to use, first and last frame counted from 0: `"0-100"`. Everything before and after does not exist for
    /// the layers. Default: all of it.
    #[schemars(with = "Option<String>")]
    pub frames: Option<FrameRange>,
    /// How many times as fast the file or the sample is played: at 0.5 it lasts twice as long, at the same frames per second. What lies between frames is
    /// found as for another rate: points and joints go straight, rotations the shortest way. `frames` and `cuts` count the frames that come of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1000.0, "x-usual" = [0.1, 10.0]))]
    pub speed: Option<f64>,
    /// How many times the animation is played, one after the other: a walk goes on from where it has come to, if its last frame is its first one
    /// again. With `loop`: how many periods are simulated at most. Default: once; with `loop` 16 times.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-usual" = [1, 100]))]
    pub repeat: Option<usize>,
    /// Whether the result is to be a loop: the animation is repeated until what is simulated repeats itself too, to a hundredth of its size, and
    /// what is left is closed. One period comes out, whose last frame is its first.
    pub r#loop: bool,
    /// Frames at which the animation begins anew, counted from 0 within `frames`: what lies between one of them and the frame before is a
    /// cut, not a motion, and what is simulated is carried along. Jumps of more than twice the size of a mesh are found without this.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1, max = 1_000_000)))]
    pub cuts: Vec<usize>,
    /// How long one unit of the file is, in metres: 0.01 for a file in centimetres. Default: 1.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1e9, "x-usual" = [1e-4, 1000.0]))]
    pub unit: Option<f64>,
    /// The OBJ whose points a .pc2 or .mdd file moves. Default: the one beside it with the same name.
    pub mesh: Option<FilePath>,
    /// The .pc2 or .mdd file that moves an .obj file.
    pub cache: Option<FilePath>,
    /// Another motion for the skeleton: that of a file or a sample, joint by joint as their names say, its feet on the floor. Of the input's own
    /// animation nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub motion: Option<MotionInput>,
    /// What a skeleton is given to be seen, and for others to bump into: `"capsules"`, a figure of capsules and round boxes in human
    /// proportions, a mesh called `body`. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<InputBody>,
    /// More files in the same scene, each placed where it belongs: garments, props, another character.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<AddedInput>,
}

/// One more file, or a sample, in the scene. It is sampled at the scene's frame rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddedInput {
    /// The file, of any format that is read, relative to the shot file.
    pub file: Option<FilePath>,
    /// The name of a sample, instead of a file.
    pub sample: Option<String>,
    /// What its mesh is called in the scene; where it has several, and for its joints, the first part of their names: `ball/skin`.
    /// Default: as in the file, with a number where that name is taken.
    pub name: Option<String>,
    /// The animation to take from a file that holds several. Default: the first.
    pub clip: Option<String>,
    /// How long one unit of the file is, in metres. Default: 1.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1e9, "x-usual" = [1e-4, 1000.0]))]
    pub unit: Option<f64>,
    /// The OBJ whose points a .pc2 or .mdd file moves. Default: the one beside it with the same name.
    pub mesh: Option<FilePath>,
    /// The .pc2 or .mdd file that moves an .obj file.
    pub cache: Option<FilePath>,
    /// Where its origin comes to lie, in metres.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-1000.0, 1000.0]))]
    pub offset: [f64; 3],
    /// How it is turned: by so many degrees about x, then about y, then about z.
    #[schemars(extend("minimum" = -36_000.0, "maximum" = 36_000.0, "x-usual" = [-360.0, 360.0]))]
    pub rotation: [f64; 3],
    /// How many times as large it becomes.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1e9, "x-usual" = [1e-4, 1e4]))]
    pub scale: f64,
    /// The joint of the scene that carries it along: a hat on a head. Several, in a list or with `*`, carry each point together, most by the nearest: a
    /// cape on both shoulders. Default: it stays where it is put.
    pub parent: Option<Names>,
    /// The joint from whose place `offset` counts, in the pose in which it is placed. Default: the scene's origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The frame of the scene in which it is placed, beside what it hangs on: a captured take's rest pose is often none that a person could take. Counted
    /// from the file's first, whatever `frames` leaves of it. Default: it is placed as the scene is at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub frame: Option<usize>,
    /// Whether its meshes are bound to the scene's skeleton, as both are at rest: every point hangs on the joints that are near through the inside
    /// of its mesh. What hangs on each joint is a group of its name, and goes out as skin weights.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bind: bool,
    /// The frame of the scene, counted as `frame` is, at which it begins; until then it stands in its first frame.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000, "x-usual" = [0, 100_000]))]
    pub start: usize,
}

impl Default for AddedInput {
    fn default() -> Self {
        Self {
            file: None,
            sample: None,
            name: None,
            clip: None,
            unit: None,
            mesh: None,
            cache: None,
            offset: [0.0; 3],
            rotation: [0.0; 3],
            scale: 1.0,
            parent: None,
            at: None,
            frame: None,
            bind: false,
            start: 0,
        }
    }
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// The folder for the files, the report and the bake, relative to the shot file. Default: a folder beside the shot file with its name.
    pub folder: Option<PathBuf>,
    /// The files to write: .glb, .obj (a numbered sequence), .pc2, .mdd, .bvh, .usd, .usdc, .usda, .usdz or .abc for
    /// animations, .webp for a short film, .png for a contact sheet, `name.####.png` or `name.####.exr` for a picture of
    /// every frame. Default: a .glb with the shot's name, of an empty scene a .webp.
    pub files: Option<Vec<PathBuf>>,
    /// The number that the first frame has in the files.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000_000, "x-usual" = [0, 1_000_000]))]
    pub start_frame: Option<u32>,
    /// How a mesh that moved goes back into the rig that it came with, in a .glb.
    pub skin: SkinDelivery,
    /// How long one unit of the written files is, in metres: 0.01 for centimetres. For formats that leave it open or say theirs (.obj, .pc2, .mdd, .bvh,
    /// .usd, .abc); a .glb stays in the unit of its file. Default: what `unit` under `[input]` says, or 1.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1e9, "x-usual" = [1e-4, 1000.0]))]
    pub unit: Option<f64>,
    /// Whether to write report.html and report.json.
    pub report: bool,
    /// How films and pictures look, with every default filled in; what it means is known to the registry's
    /// [`FilmSettings`](crate::FilmSettings).
    #[schemars(skip)]
    pub film: serde_json::Value,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            folder: None,
            files: None,
            start_frame: None,
            skin: SkinDelivery::Points,
            unit: None,
            report: true,
            film: serde_json::json!({}),
        }
    }
}

impl Shot {
    /// The text of the shot, values given with `--set` included.
    pub fn text(&self) -> &str {
        &self.document.source.text
    }

    /// The folder that a bake without `--out` writes to.
    pub fn default_out(&self) -> PathBuf {
        self.folder.join(self.output.folder.clone().unwrap_or_else(|| PathBuf::from(&self.name)))
    }

    /// The same shot on this animation instead of the file or the sample that it names; what else it says about its input
    /// (`frames`, `cuts`, `duration`, `add`) holds. Its key is made of what the clip holds, so that a bake on equal frames goes on.
    #[must_use]
    pub fn with_input(mut self, clip: Clip) -> Self {
        let Input { duration, frames, cuts, add, .. } = self.input;
        self.input = Input { duration, frames, cuts, add, ..Input::default() };
        self.given = Some(clip);
        self
    }

    /// What is wrong at a dotted path of the file.
    pub(crate) fn diagnostic(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.document.source, self.document.nearest(path).span.clone(), message)
    }
}
