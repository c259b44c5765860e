//! One layer: find out what is missing, and make it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use clip::{Clip, Files, Frame, Frames};

use super::LayerBake;
use crate::group::Group;
use crate::layer::{Figures, FrameResult, LayerError, Simulation, Target};
use crate::measure::Measure;
use crate::progress::{Context, Event};
use crate::store::{Store, StoredFrame, StoredFrames, grids};
use crate::{BakeKey, Error, Registry};

pub(super) struct Job<'a> {
    pub(super) group: &'a Group<'a>,
    /// The input.
    pub(super) clip: Clip,
    /// Where relative paths start.
    pub(super) files: Files,
    /// The input on the meshes that the layers give back.
    pub(super) carried: Clip,
    pub(super) key: BakeKey,
    pub(super) folder: PathBuf,
    /// Frames `0..need` are wanted.
    pub(super) need: usize,
    pub(super) index: usize,
    pub(super) of: usize,
    /// Whether missing frames are made.
    pub(super) simulate: bool,
    pub(super) registry: &'a Registry,
}

impl Job<'_> {
    pub(super) fn run(self, context: &Context<'_>) -> Result<(LayerBake, Arc<dyn Frames>), Error> {
        let store = Store::open(self.folder.clone(), self.key)?;
        let mut have: Vec<bool> = (0..self.need).map(|index| store.read_frame(index).is_some()).collect();
        let reused = have.iter().filter(|have| **have).count();
        context.progress.event(Event::Layer {
            layer: self.group.name(),
            index: self.index,
            of: self.of,
            reused,
            frames: self.need,
        });
        if reused < self.need && !self.simulate {
            let (layer, folder) = (self.group.name().to_owned(), store.folder().to_owned());
            return Err(Error::NotBaked { layer, have: reused, need: self.need, folder });
        }
        let mut prepare_seconds = 0.0;
        if reused < self.need {
            let start = Instant::now();
            let target = |mesh| Target { clip: self.clip.clone(), mesh, files: self.files.clone() };
            let prepared = self.group.prepare(target, self.registry.groups());
            let mut simulation = prepared.map_err(super::prepare_error(self.group.name()))?;
            prepare_seconds = start.elapsed().as_secs_f64();
            tracing::debug!(layer = self.group.name(), seconds = prepare_seconds, "prepared");
            let baked = cancellable(simulation.as_mut(), context, |simulation| {
                self.fill(simulation, &store, &mut have, context)
            });
            // also when it was stopped: what it has to say about itself is known by now
            store.write_notes(&simulation.notes())?;
            baked?;
        }
        let frames = StoredFrames::new(store.clone(), self.carried.frames().clone(), self.group.strength());
        let (figures, warnings): (Vec<Figures>, Vec<Vec<String>>) =
            (0..self.need).map(|index| frames.figures(index)).unzip();
        let record = LayerBake {
            name: self.group.name().to_owned(),
            kind: self.group.kind(),
            mesh: self.group.members[0].mesh,
            meshes: self.group.members.iter().map(|member| member.mesh).collect(),
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
        let measures = self.measures();
        let mut next = 0;
        while let Some(missing) = have.iter().position(|have| !have) {
            if let Some((done, state)) = store.checkpoint_in(next, missing) {
                match simulation.restore(&state) {
                    Ok(()) => next = done + 1,
                    // a state that the layer does not take is no reason to give up as long as it can begin at 0
                    Err(failure) if next == 0 => {
                        tracing::warn!(layer = self.group.name(), frame = done, %failure, "checkpoint refused");
                    }
                    Err(failure) => return Err(self.failed(done, failure)),
                }
            }
            while next <= missing {
                if context.is_cancelled() {
                    return Err(self.cancelled(have));
                }
                let start = Instant::now();
                let result = match simulation.frame(next) {
                    Ok(result) => result,
                    Err(_) if context.is_cancelled() => return Err(self.cancelled(have)),
                    Err(failure) => return Err(self.failed(next, failure)),
                };
                if !have[next] {
                    self.keep(store, next, result, &measures)?;
                    store.write_checkpoint(next, &simulation.checkpoint())?;
                    have[next] = true;
                    let seconds = start.elapsed().as_secs_f64();
                    store.note_seconds(next, seconds);
                    let done = have.iter().filter(|have| **have).count();
                    let layer = self.group.name();
                    context.progress.event(Event::Frame { layer, frame: next, done, of: self.need, seconds });
                }
                next += 1;
            }
        }
        Ok(())
    }

    fn cancelled(&self, have: &[bool]) -> Error {
        let done = have.iter().filter(|have| **have).count();
        Error::Cancelled { layer: self.group.name().to_owned(), done, of: self.need }
    }

    /// What measures each mesh.
    fn measures(&self) -> Vec<(usize, Measure)> {
        let meshes = self.group.members.iter().filter(|_| self.group.needs_mesh()).map(|member| member.mesh);
        let measure = |mesh: usize| {
            let found = self.carried.meshes.get(mesh)?;
            Some((mesh, Measure::new(found, self.registry.crossings())))
        };
        meshes.filter_map(measure).collect()
    }

    /// Figures of several meshes, each with the mesh's name; only of plots that the simulation has not made itself.
    fn measure_each(&self, result: &mut FrameResult, below: &Frame, measures: &[(usize, Measure)]) {
        let plot = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let said: Vec<String> = result.figures.0.iter().map(|figure| plot(&figure.name)).collect();
        for (mesh, measure) in measures {
            let mut own = Figures::default();
            measure.add_to(&mut own, &mut result.frame, below, *mesh);
            let name = &self.carried.meshes[*mesh].name;
            for figure in own.0.into_iter().filter(|figure| !said.contains(&plot(&figure.name))) {
                result.figures.add(format!("{}, {name}", figure.name), figure.unit, figure.value);
            }
        }
    }

    /// Checks a frame, measures it and stores it.
    fn keep(
        &self,
        store: &Store,
        index: usize,
        mut result: FrameResult,
        measures: &[(usize, Measure)],
    ) -> Result<(), Error> {
        let below = self.carried.frame(index)?;
        self.check(index, &result.frame, &below)?;
        if let [(mesh, measure)] = measures {
            measure.add_to(&mut result.figures, &mut result.frame, &below, *mesh);
        } else {
            self.measure_each(&mut result, &below, measures);
        }
        for grid in &mut result.grids {
            if let Some(place) = grid.not_finite() {
                let sentence = format!("`{}` is not a finite number at point {place:?}", grid.name);
                return Err(self.failed(index, LayerError::new(sentence)));
            }
            grid.name = format!("{}/{}", self.group.name(), grid.name);
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
                return Err(Error::NotFinite {
                    layer: self.group.name().to_owned(),
                    frame: index,
                    mesh,
                    point,
                });
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
        Error::Frame { layer: self.group.name().to_owned(), frame, failure, help }
    }
}

/// How often it is looked whether somebody wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Does something with a simulation that stops, also in the middle of a frame, when the context says so.
fn cancellable<T>(
    simulation: &mut dyn Simulation,
    context: &Context<'_>,
    act: impl FnOnce(&mut dyn Simulation) -> T,
) -> T {
    let (flag, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    simulation.cancel_by(flag.clone());
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                flag.store(context.is_cancelled(), Ordering::Relaxed);
                std::thread::park_timeout(LOOK);
            }
        });
        // also when it panics: whoever waits for the watch would wait for ever
        let _ended = Ended { done: &done, watch: watch.thread() };
        act(simulation)
    })
}

/// Ends a watch when it goes.
struct Ended<'a> {
    done: &'a AtomicBool,
    watch: &'a Thread,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.watch.unpark();
    }
}
