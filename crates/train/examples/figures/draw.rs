//! Pictures side by side: cloths on the body that wears them, or numbers on a cloth at rest.

use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use render::{ColorMap, Drawing, Look, Picture, Scalars, Stage, View};
use train::MaterialMotion;

use crate::cloths::BoxedError;

/// A cloth with what it is called.
pub(crate) struct Panel<'a> {
    pub(crate) caption: &'a str,
    pub(crate) points: &'a [[f32; 3]],
    pub(crate) triangles: &'a [[u32; 3]],
    /// Strain at each point in per cent, shown as colours.
    pub(crate) values: Option<Vec<f32>>,
}

/// Strains from nothing to this, in per cent, have colours of their own.
const STRAINS: [f32; 2] = [0.0, 6.0];

const SIZE: [u32; 2] = [360, 420];

fn look() -> Look {
    Look { drawing: Drawing::Raster, ..Look::default() }
}

/// Cloths of a frame of a motion, from behind, where cloth hangs, as a file.
pub(crate) fn draw_points(
    motion: &MaterialMotion,
    index: usize,
    panels: &[Panel<'_>],
    path: &Path,
) -> Result<(), BoxedError> {
    picture(motion, index, panels)?.save_png(path)?;
    Ok(())
}

/// The same as a picture.
pub(crate) fn picture(
    motion: &MaterialMotion,
    index: usize,
    panels: &[Panel<'_>],
) -> Result<Picture, BoxedError> {
    let (clip, at) = (motion.animation(), motion.mesh());
    let frame = clip.frame(index)?;
    let worn = |panel: &Panel<'_>| -> Clip {
        let mut clip = clip.clone();
        let material = clip.meshes[at].parts.first().and_then(|part| part.material);
        let mut mesh = Mesh::new(clip.meshes[at].name.clone(), panel.points.to_vec(), panel.triangles);
        mesh.parts.iter_mut().for_each(|part| part.material = material);
        clip.meshes[at] = mesh;
        let mut points = frame.points.clone();
        points[at] = panel.points.to_vec();
        clip.with_frames(Arc::new(MemoryFrames::new(vec![Frame { points, ..frame.clone() }])))
    };
    let clips: Vec<Clip> = panels.iter().map(worn).collect();
    let captioned: Vec<(&str, &Clip)> = panels.iter().map(|panel| panel.caption).zip(&clips).collect();
    // a flag flies from its pole, a cape hangs behind
    let view = if clip.meshes[at].name == "flag" { View::Front } else { View::Back };
    let stage = Stage::new(&captioned, view, look(), SIZE)?;
    let strains = |panel: usize, _: &Frame| {
        let values = panels[panel].values.clone();
        Ok(values.map(|values| {
            let mut all = vec![Vec::new(); at];
            all.push(values);
            Scalars::new("stretched by", "%", all).with_range(STRAINS[0], STRAINS[1])
        }))
    };
    Ok(stage.picture_with(0, strains)?)
}

/// Numbers on a mesh at rest, each in a range of its own about zero.
pub(crate) fn draw_values(
    mesh: &live::Mesh,
    panels: &[(String, Vec<f32>)],
    columns: usize,
    path: &Path,
) -> Result<(), BoxedError> {
    let cloth = Clip::still(Mesh::new("cloth", mesh.rest.clone(), &mesh.triangles), 30.0, 1);
    let picture = |(caption, values): &(String, Vec<f32>)| -> Result<Picture, BoxedError> {
        let stage = Stage::new(&[(caption.as_str(), &cloth)], View::Back, look(), [240, 280])?;
        let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scalars = Scalars::new(caption.as_str(), "", vec![values.clone()])
            .with_map(ColorMap::Diverging)
            .with_range(-most, most);
        Ok(stage.picture_with(0, |_, _| Ok(Some(scalars.clone())))?)
    };
    let pictures: Vec<Picture> = panels.iter().map(picture).collect::<Result<_, _>>()?;
    Picture::contact_sheet(&pictures, columns)?.save_png(path)?;
    Ok(())
}
