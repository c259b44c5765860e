//! The shot file: an input, a stack of layers, outputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, FilePath, Files, Names, SkinDelivery};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::conform::Conformity;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document::{Document, Node};
use crate::layer::Layer;
use crate::schema::{COMMON_KEYS, Common};
use crate::{Error, FrameRange, Registry, conform, overrides, schema_of};

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
    /// The frame of the scene in which it is placed, beside what it hangs on: a captured take's rest pose is often none that a person could take. Default:
    /// it is placed as the scene is at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub frame: Option<usize>,
    /// Whether its meshes are bound to the scene's skeleton, as both are at rest: every point hangs on the joints that are near through the inside
    /// of its mesh. What hangs on each joint is a group of its name, and goes out as skin weights.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bind: bool,
    /// The frame of the scene at which it begins; until then it stands in its first frame.
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

/// Reads shots that name what a registry knows, with values set from outside.
#[derive(Clone)]
pub struct Reader {
    registry: Registry,
    overrides: Vec<String>,
    allow_outside: bool,
    input_comes_later: bool,
}

impl Reader {
    /// Knows the layers of this registry.
    pub fn new(registry: Registry) -> Self {
        Self { registry, overrides: Vec::new(), allow_outside: false, input_comes_later: false }
    }

    /// Sets a value over what the file says: `layer.flag.material=silk`, `layer[0].wind.speed=5`.
    #[must_use]
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.overrides.push(setting.into());
        self
    }

    /// Lets the files of the shot name others (buffers, pictures) outside their own folders.
    #[must_use]
    pub fn allow_outside(mut self, allowed: bool) -> Self {
        self.allow_outside = allowed;
        self
    }

    /// The JSON Schema of the shots that it reads.
    pub fn schema(&self) -> serde_json::Value {
        schema_of(&self.registry)
    }

    /// Takes shots that name no input: it comes with [`Shot::with_input`].
    #[must_use]
    pub fn input_comes_later(mut self, later: bool) -> Self {
        self.input_comes_later = later;
        self
    }

    /// Reads a shot file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Shot, Error> {
        let path = path.as_ref();
        let text = read_text(path).map_err(Error::io(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        self.parse(&path.to_string_lossy(), &text, folder)
    }

    /// Reads a shot from a text that is called `name`; relative paths start at `folder`. All mistakes in it come at once.
    pub fn parse(&self, name: &str, text: &str, folder: &Path) -> Result<Shot, Error> {
        let mut title = name.to_owned();
        let mut text = text.to_owned();
        if !self.overrides.is_empty() {
            // syntax errors of the file itself first, in its own words
            Document::parse(name, &text).map_err(Diagnostics)?;
            text = overrides::apply(&text, &self.overrides)?;
            title = format!("{name} with --set");
        }
        let document = Document::parse(&title, &text).map_err(Diagnostics)?;
        let mut schema = self.schema();
        if let (true, Some(required)) = (self.input_comes_later, schema["required"].as_array_mut()) {
            required.retain(|key| key != "input");
        }
        let Conformity { mistakes: mut diagnostics, warnings } = conform::conform(&document, &schema);
        // what only the whole file can tell is looked for only where each value by itself is right
        let input = read_table::<Input>(&document, "input", &mut diagnostics);
        let mut output = read_table::<Output>(&document, "output", &mut diagnostics);
        if let (Some(output), Some(film)) = (&mut output, self.registry.film()) {
            match (film.read)(output.film.take()) {
                Ok(complete) => output.film = complete,
                Err(error) if diagnostics.is_empty() => {
                    diagnostics.push(serde_diagnostic(&document, "output.film", &error));
                }
                // the schema check has said it already, better
                Err(_) => {}
            }
        }
        let layers = match diagnostics.is_empty() {
            true => self.layers(&document, &mut diagnostics),
            false => Vec::new(),
        };
        match (input, output) {
            (Some(input), Some(output)) if diagnostics.is_empty() => {
                check_source(&document, &input, self.input_comes_later, &mut diagnostics);
                if !diagnostics.is_empty() {
                    return Err(Diagnostics(diagnostics).into());
                }
                let name =
                    Path::new(name).file_stem().map_or("shot".into(), |s| s.to_string_lossy().into_owned());
                let (folder, registry) = (folder.to_owned(), self.registry.clone());
                let files = Files::in_folder(&folder).allow_outside(self.allow_outside);
                let given = None;
                Ok(Shot { name, input, layers, output, warnings, folder, files, document, registry, given })
            }
            _ => Err(Diagnostics(diagnostics).into()),
        }
    }

    fn layers(&self, document: &Document, diagnostics: &mut Vec<Diagnostic>) -> Vec<LayerEntry> {
        let mut layers: Vec<LayerEntry> = Vec::new();
        for (index, node) in document.nearest("layer").items().iter().enumerate() {
            let path = format!("layer[{index}]");
            let (common, settings) = split(node);
            let common: Common = match serde_json::from_value(common) {
                Ok(common) => common,
                Err(error) => {
                    diagnostics.push(Diagnostic::at(&document.source, node.span.clone(), error.to_string()));
                    continue;
                }
            };
            let Some(kind) = self.registry.kind(&common.kind) else { continue };
            let read = match (kind.read)(settings) {
                Ok(read) => read,
                Err(error) => {
                    diagnostics.push(serde_diagnostic(document, &path, &error));
                    continue;
                }
            };
            let taken = |name: &str| layers.iter().any(|layer| layer.name == name);
            let name = match common.name {
                Some(name) if taken(&name) => {
                    let diagnostic = Diagnostic::at(
                        &document.source,
                        document.nearest(&format!("{path}.name")).span.clone(),
                        format!("two layers are called `{name}`"),
                    );
                    diagnostics.push(
                        diagnostic.labelled("the second one").with_help("give each layer its own name"),
                    );
                    continue;
                }
                Some(name) => name,
                None if !taken(kind.name) => kind.name.to_owned(),
                // an unnamed second layer of its kind: the lowest number that is free
                None => {
                    (2..).map(|n| format!("{}-{n}", kind.name)).find(|name| !taken(name)).unwrap_or_default()
                }
            };
            layers.push(LayerEntry {
                name,
                kind: kind.name,
                version: kind.version,
                mesh: common.mesh,
                together: common.together,
                enabled: common.enabled,
                strength: common.strength,
                layer: read.layer,
                settings: read.settings,
                files: read.files,
            });
        }
        layers
    }
}

/// A shot file is a page that people write: what is longer than this, in bytes, is something else.
const LONGEST_FILE: u64 = 16 << 20;

/// The text of a plain file of moderate length: a device has no end, and a pipe may never begin.
fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let about = std::fs::metadata(path)?;
    if !about.is_file() && !about.is_dir() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no plain file"));
    }
    if about.len() > LONGEST_FILE {
        let megabytes = LONGEST_FILE >> 20;
        return Err(Error::new(
            ErrorKind::InvalidData,
            format!("it is longer than {megabytes} MB: no shot file is"),
        ));
    }
    let mut text = String::new();
    // a file that grows meanwhile is read as far as it was long
    std::fs::File::open(path)?.take(about.len()).read_to_string(&mut text)?;
    Ok(text)
}

/// A top-level table by serde; an absent one is its default.
fn read_table<T: DeserializeOwned>(
    document: &Document,
    key: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<T> {
    let json = document.root.child(key).map_or_else(|| serde_json::json!({}), Node::to_json);
    match serde_path_to_error::deserialize(json) {
        Ok(value) => Some(value),
        Err(error) => {
            // the schema check has said it already, better
            if diagnostics.is_empty() {
                diagnostics.push(serde_diagnostic(document, key, &error));
            }
            None
        }
    }
}

fn serde_diagnostic(
    document: &Document,
    table: &str,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> Diagnostic {
    let path = error.path().to_string();
    let path = if path == "." { table.to_owned() } else { format!("{table}.{path}") };
    let message = format!("`{path}`: {}", error.inner());
    Diagnostic::at(&document.source, document.nearest(&path).span.clone(), message)
}

/// Where something that [`check_source`] has to say belongs, and what it is: path, message, help.
type Say<'a> = dyn FnMut(&str, &str, &str) + 'a;

/// Exactly one source must be named, and what is said about it must concern it.
fn check_source(document: &Document, input: &Input, later: bool, diagnostics: &mut Vec<Diagnostic>) {
    let mut say = |path: &str, message: &str, help: &str| {
        let span = document.nearest(path).span.clone();
        diagnostics.push(Diagnostic::at(&document.source, span, message).with_help(help));
    };
    check_added(input, &mut say);
    check_motion(input, &mut say);
    let about_files = [
        ("clip", input.clip.is_some()),
        ("clips", input.clips.is_some()),
        ("unit", input.unit.is_some()),
        ("mesh", input.mesh.is_some()),
        ("cache", input.cache.is_some()),
    ];
    match (&input.file, &input.sample) {
        (None, None) if input.duration.is_some() => {
            refuse(&mut say, "input", &about_files, "the input is an empty scene");
        }
        (None, None) if later => {}
        (None, None) => {
            say(
                "input",
                "the input needs a `file`, a `sample` or a `duration`",
                "write `file = \"….glb\"`, `sample = \"flag\"`, or `duration = 5.0` for an empty scene",
            );
        }
        (Some(_), Some(_)) => {
            say("input.sample", "the input has both a `file` and a `sample`", "keep one of the two");
        }
        (None, Some(_)) => refuse(&mut say, "input", &about_files, "the input is a sample"),
        (Some(_), None) => {}
    }
}

/// What is added to the scene has one source, too.
fn check_added(input: &Input, say: &mut Say) {
    for (index, added) in input.add.iter().enumerate() {
        let table = format!("input.add[{index}]");
        if added.bind && added.parent.is_some() {
            say(
                &format!("{table}.bind"),
                "what is bound to the skeleton has no `parent`",
                "keep one of the two",
            );
        }
        let about_files = [
            ("clip", added.clip.is_some()),
            ("unit", added.unit.is_some()),
            ("mesh", added.mesh.is_some()),
            ("cache", added.cache.is_some()),
        ];
        match (&added.file, &added.sample) {
            (None, None) => {
                say(
                    &format!("{table}.file"),
                    "what is added needs a `file` or a `sample`",
                    "name one of them",
                );
            }
            (Some(_), Some(_)) => {
                let message = "what is added has both a `file` and a `sample`";
                say(&format!("{table}.sample"), message, "keep one of the two");
            }
            (None, Some(_)) => refuse(say, &table, &about_files, "this is a sample"),
            (Some(_), None) => {}
        }
    }
}

/// And so does the motion that is put onto a character.
fn check_motion(input: &Input, say: &mut Say) {
    let Some(motion) = &input.motion else { return };
    let about_files = [("clip", motion.clip.is_some()), ("unit", motion.unit.is_some())];
    match (&motion.file, &motion.sample) {
        (None, None) => say("input.motion", "a motion needs a `file` or a `sample`", "name one of them"),
        (Some(_), Some(_)) => {
            say("input.motion.sample", "a motion has both a `file` and a `sample`", "keep one of the two");
        }
        (None, Some(_)) => refuse(say, "input.motion", &about_files, "this is a sample"),
        (Some(_), None) => {}
    }
}

/// Keys that concern files, where there is none.
fn refuse(say: &mut Say, table: &str, about_files: &[(&str, bool)], instead: &str) {
    for (key, _) in about_files.iter().filter(|(_, given)| *given) {
        say(&format!("{table}.{key}"), &format!("`{key}` is about files, but {instead}"), "remove it");
    }
}

/// A layer's table in two: what all layers share, and the settings of its kind.
fn split(node: &Node) -> (serde_json::Value, serde_json::Value) {
    let mut common = serde_json::Map::new();
    let mut settings = serde_json::Map::new();
    for entry in node.entries() {
        let part = if COMMON_KEYS.contains(&entry.key.as_str()) { &mut common } else { &mut settings };
        part.insert(entry.key.clone(), entry.node.to_json());
    }
    (common.into(), settings.into())
}
