//! One layer: find out what is missing, and make it, frame by frame.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clip::{Clip, Files, Frame};

use super::aside::Aside;
use super::reads::Reads;
use super::trace::{InputChain, Trace};
use super::{LayerBake, prepare_error};
use crate::group::Group;
use crate::layer::{Figures, FrameResult, LayerError, Simulation, Target};
use crate::measure::Measure;
use crate::progress::{Context, Event};
use crate::store::{Store, StoredFrame, StoredFrames, Told, grids};
use crate::{BakeKey, Diagnostic, Error, Registry};

/// What a job begins with.
pub(super) struct Order<'a> {
    pub(super) group: &'a Group<'a>,
    /// The input.
    pub(super) clip: Clip,
    /// Where relative paths start.
    pub(super) files: Files,
    /// The input on the meshes that the layers give back.
    pub(super) carried: Clip,
    pub(super) key: BakeKey,
    /// Frames `0..need` are wanted.
    pub(super) need: usize,
    /// How many frames after its own each frame reads.
    pub(super) look_ahead: usize,
    pub(super) registry: &'a Registry,
    /// The key of everything but the input.
    pub(super) recipe: BakeKey,
    /// The input of the lowest layer.
    pub(super) input: Arc<InputChain>,
    /// What the frames below were made from; `None` for the lowest layer.
    pub(super) below: Option<Arc<Trace>>,
}

/// A layer at work.
pub(super) struct Job<'a> {
    order: Order<'a>,
    store: Store,
    /// Which of the frames are stored.
    have: Vec<bool>,
    reused: usize,
    /// What it has read.
    reads: Arc<Reads>,
    /// What its frames were made from.
    trace: Arc<Trace>,
    /// How much of the input the state was made from that the simulation took up; `None` where that is not known.
    restored_reach: Option<usize>,
    /// So many frames of the layer below must be there before it goes on, beside those that its next frame reads.
    waits_for: usize,
    /// There from the first frame that it makes to the last.
    running: Option<Running>,
    prepare_seconds: f64,
}

/// How long a frame that is to stop may take to end by itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// A simulation between two frames.
struct Running {
    /// `None` once it was left in the middle of a frame.
    simulation: Option<Box<dyn Simulation>>,
    /// The frame that it would make next.
    next: usize,
    measures: Vec<(usize, Measure)>,
}

/// What came of the attempt to make a frame.
pub(super) enum Advance {
    /// It is stored.
    Made,
    /// The layer read frames that the one below does not have yet: it needs so many. What it said about that.
    Waits { frames: usize, failure: Error },
}

impl<'a> Job<'a> {
    /// Looks what is stored.
    pub(super) fn new(order: Order<'a>, store: Store) -> Self {
        let have: Vec<bool> = (0..order.need).map(|index| store.read_frame(index).is_some()).collect();
        let reused = have.iter().filter(|have| **have).count();
        let trace = Arc::new(Trace::open(store.folders(), order.recipe));
        Self {
            order,
            store,
            have,
            reused,
            reads: Arc::default(),
            trace,
            restored_reach: Some(0),
            waits_for: 0,
            running: None,
            prepare_seconds: 0.0,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.order.group.name()
    }

    pub(super) fn key(&self) -> BakeKey {
        self.order.key
    }

    /// What its frames were made from.
    pub(super) fn trace(&self) -> Arc<Trace> {
        self.trace.clone()
    }

    /// How many frames are wanted.
    pub(super) fn need(&self) -> usize {
        self.have.len()
    }

    /// How many of them there are.
    pub(super) fn done(&self) -> usize {
        self.have.iter().filter(|have| **have).count()
    }

    /// How many there were before this bake.
    pub(super) fn reused(&self) -> usize {
        self.reused
    }

    /// Whether the first so many frames are all there.
    pub(super) fn has(&self, frames: usize) -> bool {
        self.have.get(..frames).is_some_and(|have| have.iter().all(|have| *have))
    }

    /// Frames that are there from the first on.
    pub(super) fn complete(&self) -> usize {
        self.missing().unwrap_or(self.have.len())
    }

    fn missing(&self) -> Option<usize> {
        self.have.iter().position(|have| !have)
    }

    /// How many frames of the layer below its first so many frames take.
    pub(super) fn reads_for(&self, frames: usize) -> usize {
        frames.saturating_add(self.order.look_ahead).min(self.order.clip.frame_count()).max(self.waits_for)
    }

    /// How many of them its next frame takes; `None` when it has all frames.
    pub(super) fn reads_next(&self) -> Option<usize> {
        self.missing().map(|index| self.reads_for(index + 1))
    }

    /// Wants more frames than before.
    pub(super) fn extend(&mut self, frames: usize) {
        for index in self.have.len()..frames {
            let have = self.store.read_frame(index).is_some();
            self.reused += usize::from(have);
            self.have.push(have);
        }
    }

    /// The frames, of which some may not be there yet.
    pub(super) fn frames(&self) -> StoredFrames {
        let below = self.order.carried.frames().clone();
        StoredFrames::new(self.store.clone(), below, self.order.group.strength())
    }

    /// Takes frames and states of other bakes of the layer that were made from the same: of an input with another ending, its beginning.
    pub(super) fn take_over(&mut self, bakes: &[PathBuf]) -> Result<(), Error> {
        for other in bakes.iter().filter(|folder| *folder != self.store.folder()) {
            let Some(first) = self.missing() else { return Ok(()) };
            let Some(store) = Store::found(other.clone()) else { continue };
            let (trace, seconds) =
                (Trace::open(store.folders(), self.order.recipe), store.seconds(self.need()));
            for index in first..self.need() {
                if !trace.is_of(index, self.order.recipe, &self.order.input)? {
                    break;
                }
                let (Some(frame), Some(reach)) = (store.read_frame(index), trace.reach(index)) else { break };
                if !self.have[index] {
                    self.store.write_frame(index, &frame)?;
                    self.trace.note(index, reach, &self.order.input)?;
                    seconds[index].iter().for_each(|seconds| self.store.note_seconds(index, *seconds));
                    self.have[index] = true;
                    self.reused += 1;
                }
                if let Some(state) = store.checkpoint(index) {
                    self.store.write_checkpoint(index, &state)?;
                }
            }
            if self.store.notes().is_empty() && self.missing() != Some(first) {
                self.store.write_notes(&store.notes())?;
            }
        }
        Ok(())
    }

    /// How many frames of the input everything was made from that was read up to a frame, where that is known.
    fn reach(&self, index: usize) -> Option<usize> {
        let (read, count) = (self.reads.reach()?.max(index + 1), self.order.input.frame_count());
        let reach = match &self.order.below {
            Some(below) if read <= count => below.reach(read - 1)?,
            _ => read,
        };
        Some(reach.max(self.restored_reach?).min(count + 1))
    }

    /// Makes the first frame that is missing, from the nearest state before it that is known.
    pub(super) fn advance(
        &mut self,
        context: &Context<'_>,
        aside: &Aside,
        stop: &Arc<AtomicBool>,
    ) -> Result<Advance, Error> {
        let Some(missing) = self.missing() else { return Ok(Advance::Made) };
        let made = self.make(missing, context, aside, stop);
        let missed = self.reads.take_missed();
        match made {
            // its state came of an error: it is begun again when the frames are there
            Err(failure) if missed > 0 => {
                self.running = None;
                self.waits_for = self.waits_for.max(missed);
                return Ok(Advance::Waits { frames: missed, failure });
            }
            other => other?,
        }
        if self.missing().is_none() {
            self.rest()?;
        }
        Ok(Advance::Made)
    }

    fn make(
        &mut self,
        missing: usize,
        context: &Context<'_>,
        aside: &Aside,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), Error> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.prepare(context, aside, stop)?,
        };
        let made = self.go_to(&mut running, missing, context, aside);
        self.running = Some(running);
        made
    }

    fn prepare(
        &mut self,
        context: &Context<'_>,
        aside: &Aside,
        stop: &Arc<AtomicBool>,
    ) -> Result<Running, Error> {
        if context.is_cancelled() {
            return Err(self.cancelled());
        }
        self.store.sweep_checkpoints();
        context.progress.event(Event::Preparing { layer: self.name() });
        let start = Instant::now();
        let clip = self.reads.watch(&self.order.clip);
        let target = |mesh| Target { clip: clip.clone(), mesh, files: self.order.files.clone() };
        let preparation = self.order.group.preparation(target, self.order.registry.groups());
        let prepared = aside.run(context, Duration::ZERO, preparation).map_err(prepare_error(self.name()))?;
        let prepared = prepared.ok_or_else(|| self.cancelled())?;
        let mut simulation = prepared.map_err(prepare_error(self.name()))?;
        self.check_reads(0)?;
        simulation.cancel_by(stop.clone());
        let seconds = start.elapsed().as_secs_f64();
        self.prepare_seconds += seconds;
        tracing::debug!(layer = self.name(), seconds, "prepared");
        context.progress.event(Event::Prepared { layer: self.name(), seconds });
        self.restored_reach = Some(0);
        Ok(Running { simulation: Some(simulation), next: 0, measures: self.measures() })
    }

    /// Brings the simulation to a frame and stores those on the way that are missing.
    fn go_to(
        &mut self,
        running: &mut Running,
        index: usize,
        context: &Context<'_>,
        aside: &Aside,
    ) -> Result<(), Error> {
        if let Some(simulation) = &mut running.simulation
            && let Some((done, state)) = self.store.checkpoint_in(running.next, index)
        {
            match simulation.restore(&state) {
                Ok(()) => {
                    running.next = done + 1;
                    let earlier = self.restored_reach;
                    self.restored_reach = self.trace.reach(done).and_then(|reach| Some(reach.max(earlier?)));
                }
                // a state that the layer does not take is no reason to give up as long as it can begin at 0
                Err(failure) if running.next == 0 => {
                    tracing::warn!(layer = self.name(), frame = done, %failure, "checkpoint refused");
                }
                Err(failure) => return Err(self.failed(done, failure)),
            }
        }
        while running.next <= index {
            if context.is_cancelled() {
                return Err(self.cancelled());
            }
            self.step(running, context, aside)?;
        }
        Ok(())
    }

    /// Makes the next frame, and stores it where it is missing.
    fn step(&mut self, running: &mut Running, context: &Context<'_>, aside: &Aside) -> Result<(), Error> {
        let (index, start) = (running.next, Instant::now());
        let result = self.frame(running, context, aside)?;
        self.check_reads(index)?;
        running.next += 1;
        if self.have[index] {
            return Ok(());
        }
        if index == 0 {
            let layer = self.name();
            let told = result.fallbacks.iter().chain(&result.warnings);
            told.for_each(|text| context.progress.event(Event::Warning { layer, text }));
        }
        self.keep(index, result, &running.measures)?;
        if let Some(simulation) = &running.simulation {
            self.store.write_checkpoint(index, &simulation.checkpoint())?;
        }
        if let Some(reach) = self.reach(index) {
            self.trace.note(index, reach, &self.order.input)?;
        }
        self.have[index] = true;
        let seconds = start.elapsed().as_secs_f64();
        self.store.note_seconds(index, seconds);
        let (layer, done, of) = (self.name(), self.done(), self.need());
        context.progress.event(Event::Frame { layer, frame: index, done, of, seconds });
        Ok(())
    }

    /// The next frame. Who asks to stop gets it within [`PATIENCE`], or nothing: layers that do not look at their flag are left in its middle.
    fn frame(
        &self,
        running: &mut Running,
        context: &Context<'_>,
        aside: &Aside,
    ) -> Result<FrameResult, Error> {
        let index = running.next;
        let mut simulation = running.simulation.take().ok_or_else(|| self.cancelled())?;
        let act = move || {
            let result = simulation.frame(index);
            (simulation, result)
        };
        let made = aside.run(context, PATIENCE, act).map_err(|failure| self.failed(index, failure))?;
        let (simulation, result) = made.ok_or_else(|| self.cancelled())?;
        running.simulation = Some(simulation);
        result.map_err(|failure| self.failed(index, failure))
    }

    /// A layer may pass over an error; what comes of that is not its result.
    fn check_reads(&self, index: usize) -> Result<(), Error> {
        match self.reads.has_missed() {
            true => Err(self.failed(index, LayerError::new("it read frames that are not there"))),
            false => Ok(()),
        }
    }

    /// Ends the simulation and keeps what it has to say about itself.
    pub(super) fn rest(&mut self) -> Result<(), Error> {
        match self.running.take().and_then(|running| running.simulation) {
            Some(simulation) => self.store.write_notes(&simulation.notes()),
            None => Ok(()),
        }
    }

    /// What was made and what was there.
    pub(super) fn record(&self) -> LayerBake {
        let frames = self.frames();
        let told: Vec<Told> = (0..self.complete()).map(|index| frames.told(index)).collect();
        let each = |of: fn(&Told) -> &Vec<String>| -> Vec<(usize, String)> {
            let said = told.iter().enumerate();
            said.flat_map(|(frame, told)| of(told).iter().map(move |text| (frame, text.clone()))).collect()
        };
        let group = self.order.group;
        let mut warnings = self.settings();
        warnings.extend(each(|told| &told.warnings));
        let mut layer = LayerBake {
            name: group.name().to_owned(),
            kind: group.kind(),
            mesh: group.members[0].mesh,
            meshes: group.members.iter().map(|member| member.mesh).collect(),
            key: self.order.key,
            folder: self.store.folder().to_owned(),
            baked: self.done() - self.reused,
            reused: self.reused,
            prepare_seconds: self.prepare_seconds,
            seconds: self.store.seconds(self.complete()),
            warnings,
            fallbacks: each(|told| &told.fallbacks),
            figures: told.iter().map(|told| told.figures.clone()).collect(),
            notes: self.store.notes(),
        };
        let after = self.order.carried.with_frames(Arc::new(frames));
        layer.judge(&self.order.carried, &after, self.order.registry.crossings());
        layer
    }

    /// Settings without effect, and unusual ones, as warnings about the first frame.
    fn settings(&self) -> Vec<(usize, String)> {
        let mut told = Vec::new();
        for member in &self.order.group.members {
            let (clip, files) = (self.order.clip.clone(), self.order.files.clone());
            let (layer, target) = (&member.entry.layer, Target { clip, mesh: member.mesh, files });
            let idle = |found: &Diagnostic| format!("`{}` has no effect: {}", found.path(), found.message());
            let unusual = |found: &Diagnostic| format!("`{}` is unusual: {}", found.path(), found.message());
            told.extend(layer.idle(&target).iter().map(|found| (0, idle(found))));
            told.extend(layer.unusual(&target).iter().map(|found| (0, unusual(found))));
        }
        told
    }

    /// Frames are missing and will not be made.
    pub(super) fn not_baked(&self) -> Error {
        let (layer, folder) = (self.name().to_owned(), self.store.folder().to_owned());
        Error::NotBaked { layer, have: self.done(), need: self.need(), folder }
    }

    fn cancelled(&self) -> Error {
        Error::Cancelled { layer: self.name().to_owned(), done: self.done(), of: self.need() }
    }

    /// What measures each mesh.
    fn measures(&self) -> Vec<(usize, Measure)> {
        let meshes = self
            .order
            .group
            .members
            .iter()
            .filter(|_| self.order.group.needs_mesh())
            .map(|member| member.mesh);
        let measure = |mesh: usize| {
            let found = self.order.carried.meshes.get(mesh)?;
            Some((mesh, Measure::new(found, self.order.registry.crossings())))
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
            let name = &self.order.carried.meshes[*mesh].name;
            for figure in own.0.into_iter().filter(|figure| !said.contains(&plot(&figure.name))) {
                result.figures.add(format!("{}, {name}", figure.name), figure.unit, figure.value);
            }
        }
    }

    /// Checks a frame, measures it and stores it.
    fn keep(
        &self,
        index: usize,
        mut result: FrameResult,
        measures: &[(usize, Measure)],
    ) -> Result<(), Error> {
        let below = self.order.carried.frame(index)?;
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
            grid.name = format!("{}/{}", self.name(), grid.name);
        }
        let stored = StoredFrame {
            figures: result.figures,
            warnings: result.fallbacks.iter().cloned().chain(result.warnings).collect(),
            fallbacks: result.fallbacks,
            grids: result.grids.iter().map(grids::pack).collect(),
            ..StoredFrame::difference(result.frame, &below)
        };
        self.store.write_frame(index, &stored)
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
                let mesh =
                    self.order.carried.meshes.get(mesh).map(|mesh| mesh.name.clone()).unwrap_or_default();
                return Err(Error::NotFinite { layer: self.name().to_owned(), frame: index, mesh, point });
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
        Error::Frame { layer: self.name().to_owned(), frame, failure, help }
    }
}
