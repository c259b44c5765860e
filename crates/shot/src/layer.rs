//! What a layer is: a value from the shot file that turns an input into a simulation.
//!
//! To add a layer, write a settings type (serde, schemars and [`Settings`]), implement [`Layer`] for it and a [`Simulation`], and add it
//! to a [`Registry`](crate::Registry). Those that come with followthrough are in the crate `layers`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clip::{Clip, FilePath, Files, Frame, Grid, Mesh, ReadOptions};
use geometry::Vec3;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Diagnostic, Reshape};

/// A layer's settings, complete: every dial is in it, its seed included, so that equal values on equal inputs give
/// equal bytes.
pub trait Layer: Send + Sync {
    /// What the shot file says wrong about this input: groups, joints and the like that do not exist.
    fn check(&self, _input: &Target) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Settings that were turned and have no effect beside the others: where they stand, and why. No mistakes, but told.
    fn idle(&self, _input: &Target) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Settings that are possible and unusual beside this input: where they stand, and why. No mistakes, but told.
    fn unusual(&self, _input: &Target) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Whether the layer could work on this mesh. Where the shot file names no mesh, the first suitable one is taken.
    fn suits(&self, _mesh: &Mesh) -> bool {
        true
    }

    /// Whether the layer works on a mesh. One that does not, smoke for instance, also goes into an empty scene.
    fn needs_mesh(&self) -> bool {
        true
    }

    /// Whether a skeleton without a mesh will do, too.
    fn takes_skeletons(&self) -> bool {
        false
    }

    /// Whether it reads what the layer below was given, too ([`clip::Frames::below`]), so that there must be one.
    fn needs_layer_below(&self) -> bool {
        false
    }

    /// How many frames after frame `i` of the input are read to make frame `i`. A layer that reads more waits until they are there.
    ///
    /// What is read is watched: frames are kept when an input ends otherwise than before and they read nothing of it. Ask
    /// [`Clip::has_frame`] for that, rather than how many frames there are.
    fn look_ahead(&self, _input: &Target) -> usize {
        0
    }

    /// Another mesh in the place of its own, where the layer gives one back: finer, or one that stands on it.
    fn reshape(&self, _input: &Target) -> Result<Option<Reshape>, LayerError> {
        Ok(None)
    }

    /// What to paint on the mesh that the layer gives back to show which parts of it are treated as one: a number in [0, 1] for
    /// each point, alike within a part. Most layers have no such parts.
    fn parts(&self, _input: &Target) -> Result<Option<Vec<f32>>, LayerError> {
        Ok(None)
    }

    /// What it is made of, for the report: nothing else depends on it. Most layers have nothing to show.
    fn sketches(&self, _input: &Target) -> Result<Vec<Sketch>, LayerError> {
        Ok(Vec::new())
    }

    /// What a game needs to run this layer by itself, as bytes; most layers have nothing of the kind.
    fn pack(&self, _input: &Target) -> Result<Option<Vec<u8>>, LayerError> {
        Ok(None)
    }

    /// What a report shows its result beside, frame by frame: its mesh with nothing that moves by itself. `figures` are those of the
    /// frame. Most layers are seen beside their input alone.
    fn counterpart(
        &self,
        _input: &Target,
        _index: usize,
        _figures: &Figures,
    ) -> Result<Option<Counterpart>, LayerError> {
        Ok(None)
    }

    /// What stands in its scene and in no clip: obstacles from files, simple shapes. Frame by frame beside the input; to be drawn, nothing else.
    fn scenery(&self, _input: &Target) -> Result<Vec<Clip>, LayerError> {
        Ok(Vec::new())
    }

    /// Names of the fields that the layer makes; most make none.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// From where the layer's fields cover the picture, where there is such a place.
    fn viewpoint(&self, _clip: &Clip) -> Result<Option<Viewpoint>, clip::Error> {
        Ok(None)
    }

    /// All precomputation: after this, frames can be asked for.
    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError>;

    /// Whether it can be simulated together with others, and on several meshes at once.
    fn joins_groups(&self) -> bool {
        false
    }

    /// What it brings to a simulation of several meshes: the same precomputation, in the form that [`Registry::with_groups`] takes.
    ///
    /// [`Registry::with_groups`]: crate::Registry::with_groups
    fn member(&self, _input: &Target) -> Result<GroupMember, LayerError> {
        Err(LayerError::new("this layer cannot be simulated together with others"))
    }
}

/// What one mesh brings to a simulation of several. Only who makes such simulations knows what is in it.
pub struct GroupMember {
    thing: Box<dyn Any + Send>,
    layer: usize,
}

impl GroupMember {
    /// Something.
    pub fn new<T: Any + Send>(member: T) -> Self {
        Self { thing: Box::new(member), layer: 0 }
    }

    /// The same, of the layer with that number among those that are simulated together.
    pub(crate) fn of_layer(self, layer: usize) -> Self {
        Self { layer, ..self }
    }

    /// Which of the layers that are simulated together it is of: one layer brings a member for each of its meshes.
    pub fn layer(&self) -> usize {
        self.layer
    }

    /// The thing, if it is one of these.
    pub fn take<T: Any + Send>(self) -> Option<T> {
        self.thing.downcast().ok().map(|member| *member)
    }
}

/// A prepared layer that makes frames one after the other. It owns its state and knows nothing of files, bars or threads.
pub trait Simulation: Send {
    /// Advances to frame `index` and returns it. Called in order, from 0 or from the frame after a restored checkpoint.
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError>;

    /// The exact state after the last frame: what `restore` needs to go on as if nothing had happened, to the bit.
    fn checkpoint(&self) -> Vec<u8>;

    /// Takes up a state that `checkpoint` gave.
    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError>;

    /// Once the flag is set, `frame` may end with any error as soon as it can, in the middle of a frame: nobody looks at it.
    fn cancel_by(&mut self, _flag: Arc<AtomicBool>) {}

    /// What the report should tell, as pairs of name and text: solver, unknowns, memory.
    fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A still model of what a layer is made of (cells, bones), for people to look at.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// What it shows.
    pub label: String,
    /// One frame.
    pub clip: Clip,
    /// Whether the edges of its faces are drawn.
    pub edges: bool,
    /// From where one sees the most of it: about the vertical, in radians.
    pub azimuth: f64,
}

/// From where a scene is seen, in metres and radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Where the camera is.
    pub position: Vec3,
    /// What it looks at.
    pub target: Vec3,
    /// What is up in the picture.
    pub up: Vec3,
    /// Vertical angle of view.
    pub field_of_view: f64,
    /// How many times as wide as high the picture is.
    pub aspect: f64,
}

/// A type of settings that the shot file can name. A setting that names a file is a [`clip::FilePath`]: what is in it becomes part of
/// the layer's key, and no other file can be opened while a bake runs.
pub trait Settings: Layer + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// What stands behind `kind =`.
    const KIND: &'static str;
    /// One line for menus and editors.
    const SUMMARY: &'static str;
    /// Count this up when the same settings begin to give other frames: old bakes are then baked again.
    const VERSION: u32;
}

/// What a layer works on: a clip, and which of its meshes.
#[derive(Clone)]
pub struct Target {
    /// The layer's input: the file, or the baked result of the layer below.
    pub clip: Clip,
    /// Which mesh; always within the clip's meshes, unless the layer needs none.
    pub mesh: usize,
    /// The files that the layer may read; relative paths in its settings start in the shot file's folder.
    pub files: Files,
}

impl Target {
    /// The static part of the mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.clip.meshes[self.mesh]
    }

    /// Opens an animation that a setting names.
    pub fn open(&self, file: &FilePath) -> Result<Clip, clip::Error> {
        clip::read(self.files.path(file), &self.read_options())
    }

    /// Opens tets that a setting names.
    pub fn open_tets(&self, file: &FilePath) -> Result<clip::Tets, clip::Error> {
        clip::read_tets(self.files.path(file), &self.read_options())
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions { files: self.files.clone(), ..ReadOptions::default() }
    }

    /// The mesh's points in frame `index` of the input.
    pub fn points(&self, index: usize) -> Result<Vec<[f32; 3]>, clip::Error> {
        Ok(self.clip.frame(index)?.points.swap_remove(self.mesh))
    }

    /// Frame `index` of the input with the mesh's points replaced and everything else untouched.
    pub fn with_points(&self, index: usize, points: Vec<[f32; 3]>) -> Result<Frame, clip::Error> {
        let mut frame = self.clip.frame(index)?;
        frame.points[self.mesh] = points;
        Ok(frame)
    }
}

/// One frame of a simulation and what is worth knowing about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameResult {
    /// The whole frame, what the layer does not touch included.
    pub frame: Frame,
    /// Fields that the layer makes; they are stored beside the frame under the layer's name.
    pub grids: Vec<Grid>,
    /// Numbers for the report.
    pub figures: Figures,
    /// Sentences for the report.
    pub warnings: Vec<String>,
    /// Why physics was off in this frame, a sentence each: the body was put back on the animation, carried along, given up. Where that
    /// happens too often the bake says so before everything else.
    pub fallbacks: Vec<String>,
}

impl From<Frame> for FrameResult {
    fn from(frame: Frame) -> Self {
        Self { frame, ..Self::default() }
    }
}

/// Points of a layer's mesh that its result is shown beside.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterpart {
    /// What they are, in a word.
    pub name: &'static str,
    /// Where they are.
    pub points: Vec<[f32; 3]>,
}

/// Named numbers of one frame. A name `strain/max` puts the number into the plot `strain` as the line `max`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(pub Vec<Figure>);

/// A named number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// `plot` or `plot/line`.
    pub name: String,
    /// `J`, `m`, `%`; empty for counts.
    pub unit: String,
    /// The number.
    pub value: f64,
}

impl Figures {
    /// Adds a number.
    pub fn add(&mut self, name: impl Into<String>, unit: impl Into<String>, value: f64) {
        self.0.push(Figure { name: name.into(), unit: unit.into(), value });
    }

    /// The number of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// Why a layer could not go on. The driver adds the layer's name and the frame.
#[derive(Debug)]
pub struct LayerError {
    source: Box<dyn std::error::Error + Send + Sync>,
    help: Option<String>,
}

impl LayerError {
    /// From an error or a sentence.
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: source.into(), help: None }
    }

    /// Names the dial to turn.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The dial to turn.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for LayerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source()
    }
}

impl From<clip::Error> for LayerError {
    fn from(error: clip::Error) -> Self {
        Self::new(error)
    }
}
