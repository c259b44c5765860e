//! A clip into a USD file: which of the three kinds, and the frames one after another.

use std::path::{Path, PathBuf};

use super::author::{PictureNames, author};
use super::crate_write::CrateWriter;
use super::layer::{Layer, Track};
use super::zip::Archive;
use super::{over, text_write};
use crate::format::atomic::{AtomicFile, write_whole};
use crate::format::moments::{Moment, Moments, bounds};
use crate::format::mtl::{check_materials, image_name};
use crate::format::{WriteOptions, Written};
use crate::{Clip, Error, Image, Result};

/// Writes the whole clip.
pub(in crate::format) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    check_materials(path, clip)?;
    if clip.frame_count() == 0 {
        let problem = "the clip has no frames".into();
        return Err(Error::Unsupported { path: path.to_path_buf(), problem });
    }
    if over::is_wanted(path) {
        return write_overrides(path, clip, options);
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let archived = ending == "usdz";
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let used = |image: usize| clip.materials.iter().any(|material| material.base_color_image == Some(image));
    let picture_name = |(index, image): (usize, &Image)| {
        let name = if archived { picture_in_archive(index, image) } else { image_name(&stem, index, image) };
        used(index).then_some(name)
    };
    let pictures: PictureNames = clip.images.iter().enumerate().map(picture_name).collect();
    let Some(first) = Moments::new(clip, options).next()? else {
        return Err(Error::NoSuchFrame { index: 0, count: 0 });
    };
    let layer = author(clip, &first.frame, options, &pictures);
    drop(first);

    let mut written = Written {
        files: vec![path.to_path_buf()],
        frames: clip.frame_count(),
        bytes: 0,
        ..Written::default()
    };
    if archived {
        let mut archive = Archive::create(path)?
            .add("clip.usdc", |file| crate_write_layer(file, Moments::new(clip, options), &layer))?;
        for (image, name) in clip.images.iter().zip(&pictures) {
            let Some(name) = name else { continue };
            archive = archive.add(name, |mut file| {
                file.append(&image.bytes)?;
                Ok(file)
            })?;
        }
        written.bytes = archive.finish()?;
        return Ok(written);
    }
    let file = AtomicFile::create(path)?;
    let file = match ending.as_str() {
        "usda" => text_write_layer(file, &layer, || Ok(Moments::new(clip, options)))?,
        _ => crate_write_layer(file, Moments::new(clip, options), &layer)?,
    };
    written.bytes = file.finish()?;
    for (image, name) in clip.images.iter().zip(&pictures) {
        let Some(name) = name else { continue };
        let beside: PathBuf = path.with_file_name(name);
        written.bytes += write_whole(&beside, &image.bytes)?;
        written.files.push(beside);
    }
    Ok(written)
}

/// Only what moved, to be put above the layer that the clip came from.
fn write_overrides(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let (layer, moments) = over::author(path, clip, options)?;
    let text = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("usda"));
    let file = AtomicFile::create(path)?;
    let file = if text {
        text_write_layer(file, &layer, || Ok(moments.clone()))?
    } else {
        crate_write_layer(file, moments, &layer)?
    };
    Ok(Written {
        files: vec![path.to_path_buf()],
        frames: clip.frame_count(),
        bytes: file.finish()?,
        ..Written::default()
    })
}

fn picture_in_archive(index: usize, image: &Image) -> String {
    format!("textures/{}", image_name("clip", index, image))
}

/// All frames in one pass.
fn crate_write_layer(file: AtomicFile, mut moments: Moments, layer: &Layer) -> Result<AtomicFile> {
    let mut writer = CrateWriter::new(file)?;
    while let Some(moment) = moments.next()? {
        for &track in &layer.tracks {
            with_sample(track, &moment, |values| writer.sample(track, values))?;
        }
    }
    writer.finish(layer)
}

/// The frames once for every track but those of the box around points, which are kept.
fn text_write_layer<'a>(
    file: AtomicFile,
    layer: &Layer,
    moments: impl Fn() -> Result<Moments<'a>>,
) -> Result<AtomicFile> {
    let mut extents: Vec<[[f32; 3]; 2]> = Vec::new();
    text_write::write(file, layer, &mut |track, each| {
        if let Track::Extent(_) = track {
            return extents.iter().try_for_each(|extent| each(extent.as_flattened()));
        }
        extents.clear();
        let mut moments = moments()?;
        while let Some(moment) = moments.next()? {
            if let Track::Points(mesh) = track {
                extents.push(bounds(&moment.frame.points[mesh]));
            }
            with_sample(track, &moment, &mut *each)?;
        }
        Ok(())
    })
}

/// Calls with the sample that a track has at a moment.
fn with_sample<T>(track: Track, moment: &Moment, act: impl FnOnce(&[f32]) -> Result<T>) -> Result<T> {
    let pose = &moment.frame.pose;
    match track {
        Track::Points(mesh) => act(moment.frame.points[mesh].as_flattened()),
        Track::Velocities(mesh) => act(moment.velocities[mesh].as_flattened()),
        Track::Weights(mesh) => act(&moment.weights[mesh]),
        Track::Extent(mesh) => act(bounds(&moment.frame.points[mesh]).as_flattened()),
        Track::Translations => act(&pose.iter().flat_map(|t| t.translation.to_array()).collect::<Vec<_>>()),
        Track::Rotations => act(&pose.iter().flat_map(|t| t.rotation.to_array()).collect::<Vec<_>>()),
        Track::Scales => act(&pose.iter().flat_map(|t| t.scale.to_array()).collect::<Vec<_>>()),
    }
}
