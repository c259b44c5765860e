//! One layer: find out what is missing, and make it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Frame, Frames};

use super::LayerBake;
use crate::layer::{Figures, FrameResult, LayerError, Simulation, Target};
use crate::measure::Measure;
use crate::progress::{Context, Event};
use crate::registry::CountCrossings;
use crate::shot::LayerEntry;
use crate::store::{Store, StoredFrame, StoredFrames, grids};
use crate::{BakeKey, Error};

pub(super) struct Job<'a> {
    pub(super) entry: &'a LayerEntry,
    pub(super) target: Target,
    /// The input on the mesh that the layer gives back.
    pub(super) carried: Clip,
    pub(super) key: BakeKey,
    pub(super) folder: PathBuf,
    /// Frames `0..need` are wanted.
    pub(super) need: usize,
    pub(super) index: usize,
    pub(super) of: usize,
    /// Whether missing frames are made.
    pub(super) simulate: bool,
    pub(super) crossings: Option<CountCrossings>,
}

impl Job<'_> {
    pub(super) fn run(self, context: &Context<'_>) -> Result<(LayerBake, Arc<dyn Frames>), Error> {
        let store = Store::open(self.folder.clone(), self.key)?;
        let mut have: Vec<bool> = (0..self.need).map(|index| store.read_frame(index).is_some()).collect();
        let reused = have.iter().filter(|have| **have).count();
        context.progress.event(Event::Layer {
            layer: &self.entry.name,
            index: self.index,
            of: self.of,
            reused,
            frames: self.need,
        });
        if reused < self.need && !self.simulate {
            let (layer, folder) = (self.entry.name.clone(), store.folder().to_owned());
            return Err(Error::NotBaked { layer, have: reused, need: self.need, folder });
        }
        let mut prepare_seconds = 0.0;
        if reused < self.need {
            let start = Instant::now();
            let mut simulation =
                self.entry.layer.prepare(&self.target).map_err(super::prepare_error(self.entry))?;
            prepare_seconds = start.elapsed().as_secs_f64();
            tracing::debug!(layer = self.entry.name, seconds = prepare_seconds, "prepared");
            let baked = self.fill(simulation.as_mut(), &store, &mut have, context);
            // also when it was stopped: what it has to say about itself is known by now
            store.write_notes(&simulation.notes())?;
            baked?;
        }
        let frames = StoredFrames::new(store.clone(), self.carried.frames().clone(), self.entry.strength);
        let (figures, warnings): (Vec<Figures>, Vec<Vec<String>>) =
            (0..self.need).map(|index| frames.figures(index)).unzip();
        let record = LayerBake {
            name: self.entry.name.clone(),
            kind: self.entry.kind,
            mesh: self.target.mesh,
            key: self.key,
            folder: store.folder().to_owned(),
            baked: self.need - reused,
            reused,
            prepare_seconds,
            figures,
            seconds: store.seconds(self.need),
            warnings: warnings
                .into_iter()
                .enumerate()
                .flat_map(|(frame, warnings)| warnings.into_iter().map(move |warning| (frame, warning)))
                .collect(),
            notes: store.notes(),
        };
        Ok((record, Arc::new(frames)))
    }

    /// Makes every frame that is missing, each from the nearest state before it that is known.
    fn fill(
        &self,
        simulation: &mut dyn Simulation,
        store: &Store,
        have: &mut [bool],
        context: &Context<'_>,
    ) -> Result<(), Error> {
        let mesh = self.carried.meshes.get(self.target.mesh).filter(|_| self.entry.layer.needs_mesh());
        let measure = mesh.map(|mesh| Measure::new(mesh, self.crossings));
        let mut next = 0;
        while let Some(missing) = have.iter().position(|have| !have) {
            if let Some((done, state)) = store.checkpoint_in(next, missing) {
                match simulation.restore(&state) {
                    Ok(()) => next = done + 1,
                    // a state that the layer does not take is no reason to give up as long as it can begin at 0
                    Err(failure) if next == 0 => {
                        tracing::warn!(layer = self.entry.name, frame = done, %failure, "checkpoint refused");
                    }
                    Err(failure) => return Err(self.failed(done, failure)),
                }
            }
            while next <= missing {
                if context.is_cancelled() {
                    let done = have.iter().filter(|have| **have).count();
                    return Err(Error::Cancelled { layer: self.entry.name.clone(), done, of: self.need });
                }
                let start = Instant::now();
                let result = simulation.frame(next).map_err(|failure| self.failed(next, failure))?;
                if !have[next] {
                    self.keep(store, next, result, measure.as_ref())?;
                    store.write_checkpoint(next, &simulation.checkpoint())?;
                    have[next] = true;
                    let seconds = start.elapsed().as_secs_f64();
                    store.note_seconds(next, seconds);
                    let done = have.iter().filter(|have| **have).count();
                    let layer = &self.entry.name;
                    context.progress.event(Event::Frame { layer, frame: next, done, of: self.need, seconds });
                }
                next += 1;
            }
        }
        Ok(())
    }

    /// Checks a frame, measures it and stores it.
    fn keep(
        &self,
        store: &Store,
        index: usize,
        mut result: FrameResult,
        measure: Option<&Measure>,
    ) -> Result<(), Error> {
        let below = self.carried.frame(index)?;
        self.check(index, &result.frame, &below)?;
        let mesh = self.target.mesh;
        if let Some(measure) = measure {
            measure.add_to(&mut result.figures, &mut result.frame, &below, mesh);
        }
        for grid in &mut result.grids {
            if let Some(place) = grid.not_finite() {
                let sentence = format!("`{}` is not a finite number at point {place:?}", grid.name);
                return Err(self.failed(index, LayerError::new(sentence)));
            }
            grid.name = format!("{}/{}", self.entry.name, grid.name);
        }
        let stored = StoredFrame {
            figures: result.figures,
            warnings: result.warnings,
            grids: result.grids.iter().map(grids::pack).collect(),
            ..StoredFrame::difference(result.frame, &below)
        };
        store.write_frame(index, &stored)
    }

    /// A frame must have the shape of its input and finite numbers only.
    fn check(&self, index: usize, frame: &Frame, below: &Frame) -> Result<(), Error> {
        let counts = |frame: &Frame| frame.points.iter().map(Vec::len).collect::<Vec<_>>();
        if counts(frame) != counts(below) || frame.pose.len() != below.pose.len() {
            let sentence = "the layer gave back another number of meshes, points or joints than it got";
            return Err(self.failed(index, LayerError::new(sentence)));
        }
        let not_finite =
            |points: &Vec<[f32; 3]>| points.iter().position(|p| p.iter().any(|x| !x.is_finite()));
        for (mesh, points) in frame.points.iter().enumerate() {
            if let Some(point) = not_finite(points) {
                let mesh = self.carried.meshes.get(mesh).map(|mesh| mesh.name.clone()).unwrap_or_default();
                return Err(Error::NotFinite { layer: self.entry.name.clone(), frame: index, mesh, point });
            }
        }
        let joint = frame.pose.iter().position(|joint| !joint.matrix().is_finite());
        match joint {
            Some(joint) => Err(self.failed(index, LayerError::new(format!("joint {joint} is not finite")))),
            None => Ok(()),
        }
    }

    fn failed(&self, frame: usize, failure: LayerError) -> Error {
        let help = failure.remedy().map(str::to_owned);
        Error::Frame { layer: self.entry.name.clone(), frame, failure, help }
    }
}
