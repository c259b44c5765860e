//! Clips shown as people want to see them: one or several side by side, from the same camera, as a picture, a
//! contact sheet or a film.

use clip::{Clip, Frame};

use crate::camera::Outline;
use crate::travel::Travel;
use crate::{Camera, Drawing, Error, Film, Ground, Look, Painter, Picture, Result, Scalars, View};

/// One or several clips under one camera and one light.
pub struct Stage<'a> {
    exhibits: Vec<Exhibit<'a>>,
    camera: Camera,
    /// Where the camera goes along.
    travel: Option<Travel>,
    look: Look,
    size: [u32; 2],
}

struct Exhibit<'a> {
    caption: String,
    clip: &'a Clip,
    painter: Painter<'a>,
}

impl<'a> Stage<'a> {
    /// Sets clips side by side, each `size` pixels large, captions below unless all are empty. The camera sees all
    /// frames of all clips, and the ground lies under the lowest of them.
    pub fn new(clips: &[(&str, &'a Clip)], view: View, look: Look, size: [u32; 2]) -> Result<Self> {
        if clips.is_empty() {
            return Err(Error::Nothing { what: "a stage needs at least one clip" });
        }
        let [width, height] = size;
        if size.iter().any(|side| !(1..=Error::LARGEST_SIDE).contains(side)) {
            return Err(Error::Size { width, height });
        }
        let all: Vec<&Clip> = clips.iter().map(|&(_, clip)| clip).collect();
        let outline = Outline::of_clips(&all)?;
        let camera = outline.camera(view, f64::from(width) / f64::from(height));
        let ground = match (look.ground, outline.lowest()) {
            (Ground::Under, Some(lowest)) => Ground::At(lowest),
            (ground, _) => ground,
        };
        let exhibit = |&(caption, clip): &(&str, &'a Clip)| {
            let caption = caption.to_string();
            Exhibit { caption, clip, painter: Painter::new(clip) }
        };
        Ok(Self {
            exhibits: clips.iter().map(exhibit).collect(),
            camera,
            travel: None,
            look: Look { ground, ..look },
            size,
        })
    }

    /// The same stage seen by another camera.
    #[must_use]
    pub fn with_camera(self, camera: Camera) -> Self {
        Self { camera, travel: None, ..self }
    }

    /// The same stage seen by a camera that goes along with what moves in the last clip, smoothly, so that it is large in the picture.
    pub fn going_along(self, view: View) -> Result<Self> {
        let clips: Vec<&Clip> = self.exhibits.iter().map(|exhibit| exhibit.clip).collect();
        let [width, height] = self.size;
        let travel = Travel::along(&clips, view, f64::from(width) / f64::from(height))?;
        Ok(Self { travel, ..self })
    }

    /// The camera; where it goes along, that which stands still.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// The camera of a frame.
    pub fn camera_at(&self, frame: usize) -> Camera {
        self.travel.as_ref().map_or(self.camera, |travel| travel.camera(frame))
    }

    /// Frames of the longest clip; shorter ones wait on their last.
    pub fn frame_count(&self) -> usize {
        self.exhibits.iter().map(|exhibit| exhibit.clip.frame_count()).max().unwrap_or(0)
    }

    /// All clips at a frame.
    pub fn picture(&self, frame: usize) -> Result<Picture> {
        self.picture_with(frame, |_, _| Ok(None))
    }

    /// All clips at a frame, coloured by numbers: `scalars` is asked for each clip (its index and its frame's points).
    pub fn picture_with(
        &self,
        frame: usize,
        scalars: impl Fn(usize, &Frame) -> Result<Option<Scalars>>,
    ) -> Result<Picture> {
        let captions = self.exhibits.iter().any(|exhibit| !exhibit.caption.is_empty());
        let camera = self.camera_at(frame);
        let mut whole: Option<Picture> = None;
        for (index, exhibit) in self.exhibits.iter().enumerate() {
            let last = exhibit.clip.frame_count().saturating_sub(1);
            let shown = exhibit.clip.frame(frame.min(last))?;
            let scalars = scalars(index, &shown)?;
            let picture =
                exhibit.painter.picture(&shown, &camera, &self.look, self.size, scalars.as_ref())?;
            let picture = if captions { picture.captioned(&exhibit.caption) } else { picture };
            whole = Some(whole.map_or_else(|| picture.clone(), |whole| whole.beside(&picture)));
        }
        whole.ok_or(Error::Nothing { what: "a stage needs at least one clip" })
    }

    /// `count` frames spread evenly over the clip, in rows of `columns`, each with its number.
    pub fn contact_sheet(&self, count: usize, columns: usize) -> Result<Picture> {
        let frames = self.frame_count();
        let count = count.min(frames);
        let spread = |i: usize| if count < 2 { 0 } else { i * (frames - 1) / (count - 1) };
        let cell = |i: usize| Ok(self.picture(spread(i))?.labelled(&spread(i).to_string()));
        let cells: Vec<Picture> = (0..count).map(cell).collect::<Result<_>>()?;
        Picture::contact_sheet(&cells, columns)
    }

    /// A film of all frames at the first clip's rate; `progress` hears how many are done and may stop it with `false`.
    /// A stopped film ends with the frame it has reached, or the few drawn beside it.
    pub fn film(&self, progress: impl FnMut(usize) -> bool) -> Result<Film> {
        let mut film = Film::new(self.frame_rate_hz())?;
        self.record(&mut film, progress)?;
        Ok(film)
    }

    /// The same into a film that is already there.
    pub fn record(&self, film: &mut Film, mut progress: impl FnMut(usize) -> bool) -> Result<()> {
        let draw = |frame| self.picture(frame);
        film.record(0..self.frame_count(), self.at_once(), draw, |done| Ok::<bool, Error>(progress(done)))
    }

    /// How many frames of a film are best drawn side by side. Rays keep all cores busy with one frame, and need much memory for it.
    pub fn at_once(&self) -> usize {
        match self.look.drawing {
            Drawing::Beauty => 1,
            Drawing::Raster => rayon::current_num_threads(),
        }
    }

    /// Frames per second of the first clip.
    pub fn frame_rate_hz(&self) -> f64 {
        self.exhibits.first().map_or(0.0, |exhibit| exhibit.clip.frame_rate_hz)
    }
}
