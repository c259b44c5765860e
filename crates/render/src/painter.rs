//! Pictures of a clip.

use clip::{Clip, Frame};

use crate::legend::draw_legend;
use crate::scene::{Model, Scene};
use crate::texture::Texture;
use crate::trace::Tracer;
use crate::{Camera, Error, Look, Picture, Result, Scalars};

/// A picture of one frame. Width and height in pixels. For many frames of one clip, keep a [`Painter`].
pub fn picture(
    clip: &Clip,
    frame: &Frame,
    camera: &Camera,
    look: &Look,
    size: [u32; 2],
    scalars: Option<&Scalars>,
) -> Result<Picture> {
    Painter::new(clip).picture(frame, camera, look, size, scalars)
}

/// A clip prepared for pictures: faces fanned, textures decoded.
pub struct Painter<'a> {
    clip: &'a Clip,
    model: Model,
    textures: Vec<Option<Texture>>,
}

impl<'a> Painter<'a> {
    /// Prepares everything that does not change from frame to frame.
    pub fn new(clip: &'a Clip) -> Self {
        let (model, textures) = Model::new(clip);
        Self { clip, model, textures }
    }

    /// Indices of the clip's images that could not be decoded; their materials show their plain colour.
    pub fn unread_images(&self) -> &[usize] {
        &self.model.unread_images
    }

    /// A picture of one frame. Triangles with coordinates that are not finite are left out.
    pub fn picture(
        &self,
        frame: &Frame,
        camera: &Camera,
        look: &Look,
        size: [u32; 2],
        scalars: Option<&Scalars>,
    ) -> Result<Picture> {
        let [width, height] = size;
        if size.iter().any(|side| !(1..=Error::LARGEST_SIDE).contains(side)) {
            return Err(Error::Size { width, height });
        }
        let scene = Scene::new(&self.model, self.clip, frame, look, scalars);
        let map = scalars.map(|scalars| scalars.map).unwrap_or_default();
        let tracer = Tracer::new(&scene, &self.model.surfaces, &self.textures, look, map, camera, size);
        let mut picture = Picture { width, height, pixels: tracer.trace() };
        if let Some(scalars) = scalars {
            draw_legend(&mut picture, scalars);
        }
        Ok(picture)
    }
}
