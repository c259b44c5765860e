//! How a picture looks: everything about it except what is shown and from where.

use crate::Srgb;

/// Shading, light, ground, background. The default is clay on warm paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Whether faces are seen as facets or as one smooth surface.
    pub shading: Shading,
    /// Draws the edges of the faces over the surface; quads show as quads.
    pub wireframe: bool,
    /// Draws the skeleton even where there are meshes; without meshes it is always drawn.
    pub bones: bool,
    /// Where the shadow falls.
    pub ground: Ground,
    /// The colours at the top and at the bottom of the picture.
    pub background: [Srgb; 2],
    /// The key light.
    pub light: Light,
    /// Linear light from above, on a surface that sees the whole sky.
    pub sky: [f32; 3],
    /// Linear light from below, thrown back by the ground.
    pub bounce: [f32; 3],
    /// Whether surfaces hide the sky from each other; without it creases stay pale and pictures take a third less time.
    pub occlusion: bool,
    /// Whether materials give the colours; without it every mesh is clay.
    pub materials: bool,
    /// Colours of meshes without a material, in turn.
    pub palette: Vec<Srgb>,
    /// What the colour of a surface is multiplied by where its back is seen, so that folds read well.
    pub back_tint: [f32; 3],
    /// Camera rays per pixel along each axis: 2 is four rays a pixel. Between 1 and 8.
    pub samples: u32,
    /// How pictures are made.
    pub drawing: Drawing,
}

/// How pictures are made: both ways show the same things in the same light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawing {
    /// By rays, with light that is soft to the last pixel: about a second a picture.
    #[default]
    Beauty,
    /// By triangles, a depth buffer and shadow maps: films at sixty frames a second and more.
    Raster,
}

/// Facets or one smooth surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shading {
    /// Each face has one normal.
    Flat,
    /// Normals are blended across edges, except sharp ones.
    #[default]
    Smooth,
}

/// Where the ground lies. It shows only as shadow on the background.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ground {
    /// No ground.
    None,
    /// At this height in metres.
    At(f64),
    /// Under the lowest point of the frame; a [`Stage`](crate::Stage) takes the lowest of all frames.
    #[default]
    Under,
}

/// The key light: a round, distant area light that stays with the camera's heading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// To the left of the camera's heading, in radians.
    pub azimuth: f32,
    /// Above the horizon, in radians.
    pub elevation: f32,
    /// Angular radius in radians: the softness of shadows.
    pub radius: f32,
    /// Linear light on a surface that faces it; zero switches it off.
    pub color: [f32; 3],
}

impl Default for Look {
    fn default() -> Self {
        Self {
            shading: Shading::default(),
            wireframe: false,
            bones: false,
            ground: Ground::default(),
            background: [[250, 247, 242], [236, 229, 219]],
            light: Light::default(),
            sky: [0.40, 0.42, 0.46],
            bounce: [0.25, 0.21, 0.18],
            occlusion: true,
            materials: true,
            palette: vec![
                [214, 133, 98],
                [104, 143, 173],
                [148, 168, 116],
                [222, 178, 96],
                [158, 122, 158],
                [188, 180, 170],
            ],
            back_tint: [0.68, 0.74, 0.86],
            samples: 2,
            drawing: Drawing::default(),
        }
    }
}

impl Default for Light {
    fn default() -> Self {
        Self {
            azimuth: 58f32.to_radians(),
            elevation: 46f32.to_radians(),
            radius: 9f32.to_radians(),
            color: [1.12, 1.04, 0.94],
        }
    }
}
