//! Pictures of a clip.

use clip::{Clip, Frame};

use crate::legend::draw_legend;
use crate::raster::Rasteriser;
use crate::scene::{Model, Scene};
use crate::shading::Shader;
use crate::texture::Texture;
use crate::trace::Tracer;
use crate::{Camera, ColorMap, Drawing, Error, Ground, Look, Picture, Result, Scalars, Shading};

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
        let shader = Shader::new(&scene, &self.model.slots, &self.textures, look, map, camera, size);
        let pixels = match look.drawing {
            Drawing::Beauty => Tracer::new(shader).trace(),
            Drawing::Raster => Rasteriser::new(shader).draw(),
        };
        let mut picture = Picture { width, height, pixels };
        if let Some(scalars) = scalars {
            draw_legend(&mut picture, scalars);
        }
        Ok(picture)
    }

    /// The silhouette of one mesh, or of everything: how much of each pixel it covers, 0 to 1, row by row from the top.
    pub fn mask(
        &self,
        frame: &Frame,
        camera: &Camera,
        size: [u32; 2],
        mesh: Option<usize>,
    ) -> Result<Vec<f32>> {
        let [width, height] = size;
        if size.iter().any(|side| !(1..=Error::LARGEST_SIDE).contains(side)) {
            return Err(Error::Size { width, height });
        }
        let look = Look { shading: Shading::Flat, ground: Ground::None, ..Look::default() };
        let scene = Scene::new(&self.model, self.clip, frame, &look, None);
        let map = ColorMap::default();
        let shader = Shader::new(&scene, &self.model.slots, &self.textures, &look, map, camera, size);
        Ok(Tracer::new(shader).coverage(mesh))
    }
}

#[cfg(test)]
mod tests {
    use clip::Mesh;
    use geometry::Vec3;

    use super::*;

    #[test]
    fn a_mask_covers_what_the_mesh_does_and_other_meshes_do_not_hide_it() {
        let square = |name: &str, half: f32, z: f32| {
            let points = vec![[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]];
            Mesh::new(name, points, &[[0, 1, 2], [0, 2, 3]])
        };
        let meshes = vec![square("near", 0.1, 0.0), square("far", 1.0, -1.0)];
        let frame =
            Frame { points: meshes.iter().map(|m| m.rest_points.clone()).collect(), pose: Vec::new() };
        let clip = Clip::new("two", 24.0, meshes, None, std::sync::Arc::new(clip::MemoryFrames::default()));
        // the far square, ten metres away, fills half the height of the view
        let field_of_view = 2.0 * (2.0_f64 / 10.0).atan();
        let camera = Camera { position: 9.0 * Vec3::Z, target: Vec3::ZERO, up: Vec3::Y, field_of_view };
        let painter = Painter::new(&clip);
        let share = |mesh: Option<usize>| {
            let mask = painter.mask(&frame, &camera, [64, 64], mesh).expect("a mask");
            f64::from(mask.iter().sum::<f32>()) / (64.0 * 64.0)
        };
        assert!((share(Some(1)) - 0.25).abs() < 0.01, "{}", share(Some(1)));
        assert!((share(None) - 0.25).abs() < 0.01);
        assert!((share(Some(0)) - (0.2_f64 * 10.0 / 9.0 / 4.0).powi(2)).abs() < 0.002, "{}", share(Some(0)));
        assert!(painter.mask(&frame, &camera, [0, 4], None).is_err());
    }
}
