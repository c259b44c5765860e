//! `[output.film]`: how films and pictures look.

use std::path::Path;

use render::{Drawing, ViewSide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, FilmSettings, Shot};

use crate::colors;
use crate::output::Medium;
use crate::pass::Pass;

/// How films (.webp) and pictures (.png) look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FilmLook {
    /// Pixels across, of each clip that is shown.
    #[schemars(range(min = 16, max = 4096))]
    pub width: u32,
    /// Pixels down.
    #[schemars(range(min = 16, max = 4096))]
    pub height: u32,
    /// The side from which the scene is seen. Things face the front, +Z.
    pub view: ViewSide,
    /// Whether the camera goes along with what moves, smoothly, so that it is large in the picture.
    pub go_along: bool,
    /// Whether the input is shown to the left of the result.
    pub beside_input: bool,
    /// Whether the mesh's edges are drawn.
    pub wireframe: bool,
    /// Whether rays draw the pictures, with light that is soft to the last pixel, rather than the rasteriser: some five times slower.
    pub beauty: bool,
    /// The colour behind the passes, `"#rrggbb"`; `"none"` for pictures that one sees through. Default: a dark night.
    pub background: Option<String>,
    /// What is shown of smoke, from the back to the front. Default: what the air carries, or its warmth.
    pub pass: Vec<Pass>,
}

impl Default for FilmLook {
    fn default() -> Self {
        Self {
            width: 640,
            height: 480,
            view: ViewSide::ThreeQuarter,
            go_along: false,
            beside_input: false,
            wireframe: false,
            beauty: false,
            background: None,
            pass: Vec::new(),
        }
    }
}

impl FilmLook {
    /// How its pictures of meshes are made: the one place where that is decided for films, contact sheets and reports.
    pub(crate) fn drawing(&self) -> Drawing {
        if self.beauty { Drawing::Beauty } else { Drawing::Raster }
    }

    /// What a shot says about its films.
    pub fn of(shot: &Shot) -> Self {
        // the reader has read it before; a shot read without films has the usual ones
        Self::deserialize(&shot.output.film).unwrap_or_default()
    }
}

impl FilmSettings for FilmLook {
    const ENDINGS: &'static [&'static str] = &["webp", "png", "####.png", "####.exr"];

    fn writes(file: &Path) -> bool {
        matches!(Medium::of(file), Some(Medium::Film | Medium::Picture | Medium::Frames))
    }

    fn check(&self, fields: &[String], folder: &Path) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        if let Some(color) = self.background.as_ref().filter(|color| *color != "none")
            && colors::parse(color).is_none()
        {
            let help = "write \"#rrggbb\", or \"none\" for pictures that one sees through";
            let message = format!("`{color}` is not a colour");
            diagnostics.push(Diagnostic::new("background", message).with_help(help));
        }
        if self.go_along && !self.pass.is_empty() {
            let message =
                "`go_along` has no effect beside passes, which are seen by the camera of their layer";
            diagnostics.push(Diagnostic::new("go_along", message).with_help("leave it out"));
        }
        for (i, pass) in self.pass.iter().enumerate() {
            diagnostics.extend(pass.check(&format!("pass[{i}]"), fields, folder));
        }
        diagnostics
    }
}
