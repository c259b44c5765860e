//! Before, after and strain: a row of three pictures for a few frames. Where a layer has a counterpart without physics, another beside it.

use clip::{Clip, Frame, StrainMeter};
use render::{Camera, Ground, Look, Painter, Picture, Scalars, Stage};

use shot::{Bake, Shot, Sketch};

use crate::Error;
use crate::look::FilmLook;
use crate::renderer::FilmRenderer;
use crate::sketches::sketch_pictures;

/// The pictures of one frame.
pub(super) struct Row {
    /// The frame, counted as in the shot.
    pub(super) frame: usize,
    /// What is shown, and the picture as PNG.
    pub(super) pictures: Vec<(&'static str, Vec<u8>)>,
    /// What is told of this frame: the pictures are close to the place.
    pub(super) told: Option<String>,
}

/// Pictures of what a layer is made of, with what they show, as PNG.
pub(super) struct Made {
    pub(super) layer: String,
    pub(super) pictures: Vec<(String, Vec<u8>)>,
}

/// What the layers of a shot are made of, where they show it.
pub(super) fn made(shot: &Shot, bake: &Bake) -> Result<Vec<Made>, Error> {
    let of = |(layer, sketches): (String, Vec<Sketch>)| {
        let pictures = sketch_pictures(&sketches, SIZE)?;
        let named = sketches.into_iter().zip(pictures);
        let pictures = named.map(|(sketch, picture)| Ok((sketch.label, picture.png()?)));
        Ok(Made { layer, pictures: pictures.collect::<Result<_, Error>>()? })
    };
    shot.sketches(bake).into_iter().map(of).collect()
}

/// How many frames are shown.
const ROWS: usize = 4;
/// Of how many warnings the place is shown.
const PLACES: usize = 4;
/// How near the camera comes to it, as a share of its way to the whole scene.
const NEAR: f64 = 0.3;
/// Large enough to see wrinkles, small enough to be mailed.
const SIZE: [u32; 2] = [480, 400];
/// Frames that are looked at to find the ground.
const LOOKED_AT: usize = 48;

/// Frames spread over the clip, each as input, result and result coloured by strain. `None` when `go_on` said no.
pub(super) fn rows(
    shot: &Shot,
    bake: &Bake,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Option<Vec<Row>>, Error> {
    if bake.clip.frame_count() > 0 && !bake.clip.grids(0)?.is_empty() {
        return developed(shot, bake, go_on);
    }
    let film = FilmLook::of(shot);
    let view = film.view.into();
    let aspect = f64::from(SIZE[0]) / f64::from(SIZE[1]);
    let clips = [&bake.input, &bake.clip];
    let camera = Camera::framing_clips(&clips, view, aspect)?;
    let ground = lowest(&clips)?.map_or(Ground::None, Ground::At);
    let look = Look { ground, drawing: film.drawing(), ..Look::default() };
    // a layer may give back another mesh than it got
    let painters = clips.map(Painter::new);
    // a film whose camera goes along is of somebody who would be small otherwise
    let travelling = match film.go_along {
        true => Some(Stage::new(&[("", &bake.clip)], view, look.clone(), SIZE)?.going_along(view)?),
        false => None,
    };
    let camera_at = |frame: usize| travelling.as_ref().map_or(camera, |stage| stage.camera_at(frame));
    let paint_from =
        |camera: &Camera, side: usize, frame: &Frame, scalars: Option<&Scalars>| -> Result<Picture, Error> {
            Ok(painters[side].picture(frame, camera, &look, SIZE, scalars)?)
        };

    let frames = spread(bake.clip.frame_count(), ROWS);
    let shown: Vec<(Frame, Frame)> = frames
        .iter()
        .map(|&frame| Ok((bake.input.frame(frame)?, bake.clip.frame(frame)?)))
        .collect::<Result<_, Error>>()?;
    let strains = strains(bake, &shown);
    let (places, apart) = (places(bake), counterparts(shot, bake, &frames, &shown)?);
    let (mut rows, of) = (Vec::new(), frames.len() + places.len());
    for (at, (&frame, (before, after))) in frames.iter().zip(&shown).enumerate() {
        let camera = camera_at(frame);
        let paint =
            |side: usize, shown: &Frame, scalars: Option<&Scalars>| paint_from(&camera, side, shown, scalars);
        let mut pictures = vec![("input", paint(0, before, None)?.png()?)];
        if !bake.layers.is_empty() {
            pictures.push(("result", paint(1, after, None)?.png()?));
            pictures.extend(match strains.get(at) {
                Some(strain) => Some(("strain", paint(1, after, Some(strain))?.png()?)),
                None => None,
            });
        }
        rows.push(Row { frame: bake.frames.first + frame, pictures, told: None });
        if let Some((still, label, apart)) = apart.get(at) {
            let pictures = vec![
                (*label, paint(0, still, None)?.png()?),
                ("simulated", paint(1, after, None)?.png()?),
                ("difference", paint(1, after, Some(apart))?.png()?),
            ];
            rows.push(Row { frame: bake.frames.first + frame, pictures, told: None });
        }
        if !go_on(at + 1, of) {
            return Ok(None);
        }
    }
    for (at, (frame, place, text)) in places.into_iter().enumerate() {
        let near = closer(&camera_at(frame), place);
        let (before, after) = (bake.input.frame(frame)?, bake.clip.frame(frame)?);
        let pictures = vec![
            ("input", paint_from(&near, 0, &before, None)?.png()?),
            ("result", paint_from(&near, 1, &after, None)?.png()?),
        ];
        rows.push(Row { frame: bake.frames.first + frame, pictures, told: Some(text) });
        if !go_on(frames.len() + at + 1, of) {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

/// Frames of which a warning names the place, counted in the bake's clip, with that place and the warning.
fn places(bake: &Bake) -> Vec<(usize, [f64; 3], String)> {
    // a loop's frames are those of its last period, and what is told is of all of them
    let told = if bake.looped.is_none() { bake.warnings() } else { Vec::new() };
    let shown = told.iter().filter_map(|warning| {
        let frame = warning.frames.first()?.checked_sub(bake.frames.first)?;
        let is_there = frame < bake.clip.frame_count();
        is_there.then_some((frame, warning.place()?, warning.text.clone()))
    });
    shown.take(PLACES).collect()
}

/// The same camera, close to a place.
fn closer(camera: &Camera, place: [f64; 3]) -> Camera {
    let mut near = Camera { target: place.into(), ..*camera };
    near.position = near.target + NEAR * (camera.position - camera.target);
    near
}

/// Of every frame the layer's counterpart, what it is called, and how far the result is from it; none where there is none.
fn counterparts(
    shot: &Shot,
    bake: &Bake,
    frames: &[usize],
    shown: &[(Frame, Frame)],
) -> Result<Vec<(Frame, &'static str, Scalars)>, Error> {
    let mut found = Vec::new();
    for (&index, (before, after)) in frames.iter().zip(shown) {
        let Some((mesh, counterpart)) = shot.counterpart(bake, index)? else { return Ok(Vec::new()) };
        let Some(points) = after.points.get(mesh) else { return Ok(Vec::new()) };
        if points.len() != counterpart.points.len() || before.points.len() != after.points.len() {
            return Ok(Vec::new());
        }
        let far = |(a, b): (&[f32; 3], &[f32; 3])| {
            let square: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            1000.0 * square.sqrt()
        };
        let mut values = vec![Vec::new(); after.points.len()];
        values[mesh] = points.iter().zip(&counterpart.points).map(far).collect::<Vec<f32>>();
        let mut still = before.clone();
        still.points[mesh] = counterpart.points;
        found.push((still, counterpart.name, values));
    }
    let all = found.iter().flat_map(|(_, _, values)| values.iter().flatten()).copied();
    // what is less than a tenth of a millimetre is not to look like a difference
    let top = all.filter(|far| far.is_finite()).fold(0.1, f32::max);
    let scaled =
        |(still, name, values)| (still, name, Scalars::new("difference", "mm", values).with_range(0.0, top));
    Ok(found.into_iter().map(scaled).collect())
}

/// Frames of the film, where there are fields to be shown.
fn developed(
    shot: &Shot,
    bake: &Bake,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Option<Vec<Row>>, Error> {
    let renderer = FilmRenderer::new(shot, bake)?;
    let frames = spread(bake.clip.frame_count(), ROWS);
    let mut rows = Vec::new();
    for (at, &frame) in frames.iter().enumerate() {
        let pictures = vec![("film", renderer.srgb(frame)?.png()?)];
        rows.push(Row { frame: bake.frames.first + frame, pictures, told: None });
        if !go_on(at + 1, frames.len()) {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

/// The strain of the meshes that layers worked on, with one range of colours for all frames.
fn strains(bake: &Bake, shown: &[(Frame, Frame)]) -> Vec<Scalars> {
    let meter = StrainMeter::new(&bake.clip);
    let worked_on = |mesh: usize| bake.layers.iter().any(|layer| layer.meshes.contains(&mesh));
    let in_percent = |(mesh, strains): (usize, Vec<f32>)| -> Vec<f32> {
        // a mesh without numbers is grey
        strains.iter().filter(|_| worked_on(mesh)).map(|strain| 100.0 * strain.abs()).collect()
    };
    let values: Vec<Vec<Vec<f32>>> = shown
        .iter()
        .map(|(_, after)| meter.at_points(after).into_iter().enumerate().map(in_percent).collect())
        .collect();
    let mut all: Vec<f32> =
        values.iter().flatten().flatten().copied().filter(|value| value.is_finite()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    // one torn edge must not make the rest look calm: the range ends where 99.5 % of the points lie
    all.sort_by(f32::total_cmp);
    // and rounding must not look like strain
    let top = all[(all.len() - 1) * 995 / 1000].max(0.1);
    values.into_iter().map(|values| Scalars::new("strain", "%", values).with_range(0.0, top)).collect()
}

/// The lowest point of all clips, in metres.
fn lowest(clips: &[&Clip]) -> Result<Option<f64>, Error> {
    let mut lowest = f32::INFINITY;
    for clip in clips {
        for index in spread(clip.frame_count(), LOOKED_AT) {
            let frame = clip.frame(index)?;
            lowest = frame.points.iter().flatten().map(|point| point[1]).fold(lowest, f32::min);
        }
    }
    Ok(lowest.is_finite().then_some(f64::from(lowest)))
}

/// At most `most` of `count` frames, the first and the last among them.
fn spread(count: usize, most: usize) -> Vec<usize> {
    let most = most.min(count);
    (0..most).map(|i| if most < 2 { 0 } else { i * (count - 1) / (most - 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_spread_from_end_to_end() {
        assert_eq!(spread(0, 4), Vec::<usize>::new());
        assert_eq!(spread(1, 4), [0]);
        assert_eq!(spread(3, 4), [0, 1, 2]);
        assert_eq!(spread(101, 4), [0, 33, 66, 100]);
    }
}
