//! `tracks`: a fine thin shell that follows a coarse animation on average, and wrinkles, swings and creases by itself.
//!
//! The method is the shell crate's; this folder reads the dials, makes meshes and test functions, and turns frames into a
//! guide and states into frames. tracks 2007.

mod functions;
mod member;
mod silhouette;
mod sliding;

use clip::{Clip, FilePath, Mesh, Selector};
use geometry::{Prolongation, Scheme, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::tracks::check_correspondence;
use shell::{Bending, Pattern, Relief, Stretching, Wind};

use shot::{Diagnostic, GroupMember, Layer, LayerError, Reshape, Settings, Simulation, Target};

use crate::shared::driver::{Driver, LOOK_AHEAD};
use crate::shared::idle::Idle;
use crate::shared::stepping::Method;
use crate::shared::{Contact, MaterialDials};
pub use functions::{TestFunctionKind, TestRegion, Tests};

/// Follows the animation on average, and leaves the rest to the physics of a thin shell: wrinkles, folds, creases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tracks {
    /// What it is made of: vinyl, silk, paper, cellophane, tin_foil, leather, cotton, denim or rubber.
    #[schemars(extend("examples" = shell::Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// Single values of the material, changed.
    pub fabric: MaterialDials,
    /// Which elements resist bending: `hinges` (cheap, and creases stay) or `plates`.
    pub bending: Bending,
    /// Which elements resist stretching: `triangles`, or `cells` of two (folds run in any direction, not only along edges).
    pub stretching: Stretching,
    /// How often every triangle of the animation's mesh is cut in four to make the tracked mesh.
    #[schemars(extend("minimum" = 0, "maximum" = 7, "x-usual" = [0, 4]))]
    pub subdivide: usize,
    /// Where the points of the finer mesh go.
    pub scheme: Scheme,
    /// A file with the tracked mesh in its rest shape, lying on the rest shape of the animation's mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<FilePath>,
    /// Another mesh of the scene as the tracked mesh, in place of a file: its rest shape lies on that of the animation's mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked_mesh: Option<String>,
    /// Which averages follow the animation.
    pub tests: Tests,
    /// Another set of test functions that takes over from `tests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Then>,
    /// Further sets of test functions, each with its share over time; what is left to 1 is the share of `tests`.
    pub fade: Vec<Faded>,
    /// Where and when averages may yield. Default: nowhere, they are exact.
    pub loosen: Vec<Loosen>,
    /// How fast a region of strength ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1000.0, "x-usual" = [0.1, 50.0]))]
    pub follow_stiffness: f64,
    /// How hard a region may be pulled, in terms of its own weight. What would take more is not followed: the material bends
    /// and swings to where it is drawn, but is not stretched. Default: as hard as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1000.0, "x-usual" = [0.1, 100.0]))]
    pub max_pull: Option<f64>,
    /// Where points follow the animation exactly, to the bit on a mesh that is not cut finer: weight 1 of a selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// Patterns pressed into the rest shape, with their strength over time.
    pub relief: Vec<Pressed>,
    /// In m/s².
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// Wind. Default: still air.
    pub wind: Wind,
    /// What it may not pass through: itself, other meshes, simple shapes. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Seconds of simulation before the first frame, with the animation held at it.
    #[schemars(extend("minimum" = 0.0, "maximum" = 600.0, "x-usual" = [0.0, 10.0]))]
    pub pre_roll: f64,
    /// An animation that departs from its motion by more than this in one frame, as a fraction of its size, has jumped: the tracked mesh
    /// is carried along.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1e6, "x-usual" = [0.01, 10.0]))]
    pub jump: f64,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-usual" = [1, 100]))]
    pub substeps: Option<usize>,
    /// Permitted error of a step as a fraction of the mesh's size; smaller is more exact and slower.
    #[schemars(extend("minimum" = 1e-7, "maximum" = 0.1, "x-usual" = [1e-5, 0.03]))]
    pub tolerance: f64,
    /// How steps are taken.
    pub integrator: Method,
}

/// A second set of test functions, blended in over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// Which averages follow the animation afterwards.
    pub tests: Tests,
    /// When the first set begins to let go, in seconds.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub from: f64,
    /// When the second set holds alone, in seconds.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5))]
    pub to: f64,
}

/// A set of test functions that comes and goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Faded {
    /// Which averages follow the animation meanwhile.
    pub tests: Tests,
    /// Its share over time, as `[seconds, share]`: 1 alone, 0 not at all; linear between.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0, "x-keys" = true))]
    pub keys: Vec<[f64; 2]>,
}

/// A region that may yield.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loosen {
    /// Where, on the animation's mesh.
    #[serde(default = "everywhere")]
    pub region: Selector,
    /// Strength over time, as `[seconds, strength]`: 1 exact, 0 free; linear between.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0, "x-keys" = true))]
    pub keys: Vec<[f64; 2]>,
}

fn everywhere() -> Selector {
    Selector::All
}

/// A pattern in the rest shape, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pressed {
    /// The pattern.
    pub shape: Relief,
    /// How much of it, over time, as `[seconds, amount]`; linear between. Default: all of it, always.
    #[serde(default = "always")]
    #[schemars(extend("minimum" = -10.0, "maximum" = 10.0, "x-usual" = [0.0, 1.0], "x-keys" = true))]
    pub keys: Vec<[f64; 2]>,
}

fn always() -> Vec<[f64; 2]> {
    vec![[0.0, 1.0]]
}

impl Default for Tracks {
    fn default() -> Self {
        Self {
            material: "vinyl".into(),
            fabric: MaterialDials::default(),
            bending: Bending::default(),
            stretching: Stretching::default(),
            subdivide: 0,
            scheme: Scheme::default(),
            tracked: None,
            tracked_mesh: None,
            tests: Tests::default(),
            then: None,
            fade: Vec::new(),
            loosen: Vec::new(),
            follow_stiffness: 2.0,
            max_pull: None,
            follow: None,
            relief: Vec::new(),
            gravity: [0.0, -9.81, 0.0],
            wind: Wind::default(),
            contact: None,
            pre_roll: 0.0,
            jump: 2.0,
            substeps: None,
            tolerance: 1e-3,
            integrator: Method::default(),
        }
    }
}

impl Settings for Tracks {
    const KIND: &'static str = "tracks";
    const SUMMARY: &'static str =
        "a thin shell follows the animation on average, with wrinkles and folds of its own";
    const VERSION: u32 = 10;
}

impl Layer for Tracks {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = self.fabric.check(&self.material);
        if let Err(error) = self.wind.validate() {
            diagnostics.push(Diagnostic::new("wind", error.to_string()));
        }
        let mut ask = |path: String, selector: &Selector| {
            if let Err(error) = selector.weights(&input.clip, input.mesh, &input.files) {
                diagnostics.push(Diagnostic::new(path, error.to_string()));
            }
        };
        self.follow.iter().for_each(|follow| ask("follow".into(), follow));
        for (i, loosen) in self.loosen.iter().enumerate() {
            ask(format!("loosen[{i}].region"), &loosen.region);
        }
        self.tests.selectors().for_each(|(path, selector)| ask(format!("tests.{path}"), selector));
        for (place, tests) in self.later_tests() {
            tests.selectors().for_each(|(path, selector)| ask(format!("{place}.tests.{path}"), selector));
        }
        diagnostics.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        let lists = [
            ("loosen", self.loosen.iter().map(|l| &l.keys).collect::<Vec<_>>()),
            ("fade", self.fade.iter().map(|f| &f.keys).collect()),
            ("relief", self.relief.iter().map(|p| &p.keys).collect()),
        ];
        for (name, lists) in lists {
            for (i, keys) in lists.into_iter().enumerate().filter(|(_, keys)| !in_order(keys)) {
                let message = format!("keys must be finite and their times ascend: {keys:?}");
                diagnostics.push(Diagnostic::new(format!("{name}[{i}].keys"), message));
            }
        }
        if let Some(then) =
            self.then.as_ref().filter(|then| then.from.partial_cmp(&then.to).is_none_or(|o| o.is_ge()))
        {
            let message = format!("the blend ends at {} s, before it begins at {} s", then.to, then.from);
            diagnostics.push(Diagnostic::new("then.to", message));
        }
        let ways = [self.subdivide > 0, self.tracked.is_some(), self.tracked_mesh.is_some()].map(usize::from);
        if ways.iter().sum::<usize>() > 1 {
            let message = "the tracked mesh is either cut from the animation's, read from a file, or another of the scene";
            let help = "keep one of `subdivide`, `tracked` and `tracked_mesh`";
            let path = if self.tracked.is_some() { "tracked" } else { "tracked_mesh" };
            diagnostics.push(Diagnostic::new(path, message).with_help(help));
        }
        if self.fabric.limit.is_some() && !self.relief.is_empty() {
            let message = "a limit is about one rest shape, but patterns change it";
            let help = "leave out `relief`, or `limit`: `max_pull` works with both";
            diagnostics.push(Diagnostic::new("fabric.limit", message).with_help(help));
        }
        if self.stretching == Stretching::Cells && !self.relief.is_empty() {
            let message = "cells are made for one rest shape, but patterns change it";
            let help = "leave out `relief`, or `stretching`";
            diagnostics.push(Diagnostic::new("stretching", message).with_help(help));
        }
        if diagnostics.is_empty()
            && let Err(failure) = self.pieces(input)
        {
            let message = failure.to_string();
            let path = match (&self.tracked, &self.tracked_mesh) {
                (Some(_), _) => "tracked",
                (None, Some(_)) => "tracked_mesh",
                (None, None) => "tests",
            };
            diagnostics.push(Diagnostic::new(path, message).maybe_help(failure.remedy().map(str::to_owned)));
        }
        diagnostics
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        self.contact.iter().flat_map(|contact| contact.unusual("contact", input)).collect()
    }

    fn idle(&self, _: &Target) -> Vec<Diagnostic> {
        let (plain, mut idle) = (Self::default(), Idle::default());
        if self.subdivide == 0 {
            idle.say("", &[("scheme", self.scheme != plain.scheme)], "`subdivide` is 0: no point is new");
        }
        if self.loosen.is_empty() && self.later_tests().next().is_none() {
            let turned = self.follow_stiffness != plain.follow_stiffness;
            idle.say(
                "",
                &[("follow_stiffness", turned)],
                "all averages are held exactly: nothing is loosened",
            );
        }
        self.tests.idle("tests.", self.is_same_mesh(), &mut idle);
        for (place, tests) in self.later_tests() {
            tests.idle(&format!("{place}.tests."), self.is_same_mesh(), &mut idle);
        }
        for (k, Pressed { shape, .. }) in self.relief.iter().enumerate() {
            let plain = Relief::default();
            let (at, direction) = (format!("relief[{k}].shape."), shape.direction != plain.direction);
            match shape.pattern {
                Pattern::Crinkles => idle.say(&at, &[("direction", direction)], "crinkles have none"),
                _ => idle.say(&at, &[("seed", shape.seed != plain.seed)], "only crinkles have one"),
            }
        }
        let air_drag = self.fabric.of(&self.material).map_or(1.0, |fabric| fabric.air_drag);
        idle.say_wind(&self.wind, air_drag);
        idle.say_contact(self.contact.as_ref());
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        !mesh.faces.is_empty()
    }

    fn look_ahead(&self, input: &Target) -> usize {
        // clusters look at frames from everywhere, velocities of the guide at the next one
        let mut sets = std::iter::once(&self.tests).chain(self.later_tests().map(|(_, tests)| tests));
        let everywhere = sets.any(|tests| tests.looks_everywhere(self.is_same_mesh()));
        if everywhere { input.clip.frame_count() } else { LOOK_AHEAD }
    }

    fn reshape(&self, input: &Target) -> Result<Option<Reshape>, LayerError> {
        if self.is_same_mesh() {
            return Ok(None);
        }
        let (mesh, prolongation) = self.tracked_mesh(input)?;
        Ok(Some(Reshape { mesh, prolongation }))
    }

    fn parts(&self, input: &Target) -> Result<Option<Vec<f32>>, LayerError> {
        Ok(Some(self.pieces(input)?.painted()))
    }

    fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        self.contact.as_ref().map_or(Ok(Vec::new()), |contact| contact.scenery(input))
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(Driver::new(vec![self.actor(input)?])?))
    }

    fn joins_groups(&self) -> bool {
        true
    }

    fn member(&self, input: &Target) -> Result<GroupMember, LayerError> {
        Ok(GroupMember::new(self.actor(input)?))
    }
}

impl Tracks {
    fn is_same_mesh(&self) -> bool {
        self.subdivide == 0 && self.tracked.is_none() && self.tracked_mesh.is_none()
    }

    /// Sets that come later, with their places in the settings.
    fn later_tests(&self) -> impl Iterator<Item = (String, &Tests)> {
        let then = self.then.iter().map(|then| ("then".to_owned(), &then.tests));
        then.chain(self.fade.iter().enumerate().map(|(i, faded)| (format!("fade[{i}]"), &faded.tests)))
    }

    /// The tracked mesh, and how it stands on the animation's.
    fn tracked_mesh(&self, input: &Target) -> Result<(Mesh, Prolongation), LayerError> {
        let guide = input.mesh();
        let Some(mesh) = self.other_mesh(input)? else {
            return Ok(guide.subdivided(self.scheme, self.subdivide));
        };
        let (rest, triangles) = (guide.rest(), guide.point_triangles());
        let stand = |points: &[Vec3]| {
            Prolongation::by_closest_point(&rest, &triangles, points).ok_or_else(|| {
                LayerError::new("the animation's mesh has no triangles, so nothing can stand on it")
            })
        };
        let (way, distances) = stand(&mesh.rest())?;
        // a tenth of the size: thickness and smoothing pass, another character or another unit does not
        let Err(error) = check_correspondence(&distances, &rest, 0.1) else { return Ok((mesh, way)) };
        if !self.is_paired() {
            return Err(LayerError::new(error).with_help(
                "both rest shapes must lie in the same place, in metres; or name pairs of regions, `guide` and `tracked`, with `tests.kind = \"painted\"`",
            ));
        }
        // pairs of regions say where it belongs
        let moved = self.brought_together(input, mesh)?;
        let (way, _) = stand(&moved.rest())?;
        Ok((moved, way))
    }

    /// The mesh that is to track, where it is not cut from the animation's.
    fn other_mesh(&self, input: &Target) -> Result<Option<Mesh>, LayerError> {
        if let Some(name) = &self.tracked_mesh {
            let found = input.clip.meshes.iter().find(|mesh| mesh.name == *name);
            let Some(mesh) = found.filter(|mesh| !mesh.faces.is_empty()) else {
                let known = input.clip.meshes.iter().map(|mesh| mesh.name.as_str());
                let help = shot::suggest(name, known);
                return Err(LayerError::new(format!("there is no mesh `{name}` with faces")).with_help(help));
            };
            return Ok(Some(Mesh { name: input.mesh().name.clone(), skin: None, ..mesh.clone() }));
        }
        let Some(file) = &self.tracked else { return Ok(None) };
        let clip = input.open(file)?;
        let Some(mesh) = clip.meshes.into_iter().find(|mesh| !mesh.faces.is_empty()) else {
            return Err(LayerError::new(format!("{} holds no mesh with faces", file.display())));
        };
        // materials of another file mean nothing here
        let parts = mesh.parts.iter().map(|part| clip::Part { material: None, ..part.clone() }).collect();
        Ok(Some(Mesh { parts, skin: None, ..mesh }))
    }
}

fn in_order(keys: &[[f64; 2]]) -> bool {
    let finite = keys.iter().flatten().all(|number| number.is_finite());
    !keys.is_empty() && finite && keys.windows(2).all(|pair| pair[0][0] < pair[1][0])
}
