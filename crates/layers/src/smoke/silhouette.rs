//! Silhouettes: animated meshes as masks, so that a character wades through smoke.
//!
//! The box of the fluid stands in the scene as a window that is looked at squarely from one side, through a long lens: a metre of the
//! character is a metre of smoke, whatever the grid.

use clip::{Clip, Mesh};
use fluid::Field;
use geometry::{Bounds, Vec3};
use render::{Camera, Painter, View, ViewSide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::explain;
use shot::{Diagnostic, LayerError};

/// Whose silhouette is taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Silhouette {
    /// The mesh. Default: all of them.
    pub mesh: Option<String>,
}

impl Silhouette {
    pub(super) fn check(&self, path: &str, meshes: &[Mesh]) -> Vec<Diagnostic> {
        if meshes.is_empty() {
            let help = "give the shot a `file` or a `sample` as input";
            let message = "the scene has no mesh whose silhouette could be taken";
            return vec![Diagnostic::new(path, message).with_help(help)];
        }
        let unknown = self.mesh.iter().filter(|name| !meshes.iter().any(|mesh| mesh.name == **name));
        let known = || meshes.iter().map(|mesh| mesh.name.as_str());
        unknown.map(|name| Diagnostic::unknown(format!("{path}.mesh"), "mesh", name, known())).collect()
    }
}

/// Where the box stands in the scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// The side from which the scene is looked at; the box is a window in front of it.
    pub view: ViewSide,
    /// The point of the scene in the middle of the box. Default: the middle of everything that happens, with the floor of the box under the
    /// lowest point.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub centre: Option<[f64; 3]>,
}

impl Default for Window {
    fn default() -> Self {
        Self { view: ViewSide::Front, centre: None }
    }
}

/// Vertical angle of view in radians: so long a lens that sizes hardly depend on depth.
const LENS: f64 = 0.08;
/// Frames of a long clip that are looked at to find its middle.
const LOOKED_AT: usize = 48;

impl Window {
    /// The camera whose picture is exactly the box of this size in metres.
    pub(super) fn camera(&self, clip: &Clip, size: [f64; 2]) -> Result<Camera, clip::Error> {
        let direction = View::from(self.view).direction();
        let up = if direction.y.abs() > 0.99 { Vec3::NEG_Z } else { Vec3::Y };
        let target = match self.centre {
            Some(centre) => Vec3::from(centre),
            None => {
                let count = clip.frame_count();
                let mut bounds = Bounds::EMPTY;
                for i in 0..count.min(LOOKED_AT) {
                    let frame = clip.frame(i * (count - 1) / (count.min(LOOKED_AT) - 1).max(1))?;
                    let points = frame.points.iter().flatten().map(|p| Vec3::from(p.map(f64::from)));
                    bounds = points.filter(|p| p.is_finite()).fold(bounds, Bounds::including);
                }
                if bounds.is_empty() {
                    Vec3::ZERO
                } else if up == Vec3::Y {
                    bounds.centre().with_y(bounds.min.y + 0.5 * size[1])
                } else {
                    bounds.centre()
                }
            }
        };
        let distance = 0.5 * size[1] / (0.5 * LENS).tan();
        Ok(Camera { position: target + distance * direction, target, up, field_of_view: LENS })
    }
}

/// A clip, ready to be seen as masks.
pub(super) struct Silhouettes {
    clip: Clip,
    camera: Camera,
    size: [u32; 2],
}

impl Silhouettes {
    /// Masks of so many rows for a box of this size.
    pub(super) fn new(
        clip: &Clip,
        window: &Window,
        size: [f64; 2],
        rows: usize,
    ) -> Result<Self, clip::Error> {
        let camera = window.camera(clip, size)?;
        let across = (rows as f64 * size[0] / size[1]).round().clamp(8.0, 8192.0);
        Ok(Self { clip: clip.clone(), camera, size: [across as u32, rows as u32] })
    }

    /// The mask of a frame; the last one stays.
    pub(super) fn mask(&self, frame: usize, silhouette: &Silhouette) -> Result<Field, LayerError> {
        let frame = self.clip.frame(frame.min(self.clip.frame_count().saturating_sub(1)))?;
        let mesh = silhouette.mesh.as_ref().and_then(|name| self.clip.mesh_index(name));
        let mask =
            Painter::new(&self.clip).mask(&frame, &self.camera, self.size, mesh).map_err(LayerError::new)?;
        Field::from_image(self.size[0] as usize, self.size[1] as usize, &mask).map_err(explain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metre_of_mesh_is_a_metre_of_box() {
        // a square metre that stands on the floor a metre to the right of the middle
        let corners = vec![[0.5, 0.0, 0.3], [1.5, 0.0, 0.3], [1.5, 1.0, 0.3], [0.5, 1.0, 0.3]];
        let clip = Clip::still(Mesh::new("square", corners, &[[0, 1, 2], [0, 2, 3]]), 24.0, 3);
        let window = Window { view: ViewSide::Front, centre: Some([0.0, 1.0, 0.0]) };
        let masks = Silhouettes::new(&clip, &window, [4.0, 2.0], 100).unwrap();
        let mask = masks.mask(1, &Silhouette::default()).unwrap();
        assert_eq!(mask.points, [200, 100, 1]);
        let area: f32 = mask.values.iter().sum::<f32>() * 0.02 * 0.02;
        assert!((area - 1.0).abs() < 0.03, "{area}");
        assert!(mask.at(150, 25, 0) > 0.9 && mask.at(120, 25, 0) < 0.1 && mask.at(150, 60, 0) < 0.1);
        // found by itself, the middle of the window is over the mesh
        let masks = Silhouettes::new(&clip, &Window::default(), [4.0, 2.0], 100).unwrap();
        let mask = masks.mask(0, &Silhouette::default()).unwrap();
        assert!(mask.at(100, 2, 0) > 0.9 && mask.at(100, 60, 0) < 0.1);
    }

    #[test]
    fn unknown_meshes_and_empty_scenes_are_remarked() {
        let silhouette = Silhouette { mesh: Some("bdoy".into()) };
        assert!(silhouette.check("x", &[])[0].message().contains("no mesh"));
        let diagnostics = silhouette.check("x", &[Mesh::new("body", vec![], &[])]);
        assert_eq!(diagnostics[0].remedy(), Some("did you mean `body`?"));
    }
}
