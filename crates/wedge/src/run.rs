//! Baking one try, or what all have in common: all that an engine has to ask for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use shot::{BakeOptions, Context, Event, Progress, Reader};

use crate::{Error, Plan, State};

/// Where the layers are baked that all tries share.
const COMMON: &str = "common";

impl Plan {
    /// Bakes the layers that no value touches, once for all tries. Gives back how many there are.
    pub fn bake_common(
        &self,
        reader: &Reader,
        out: &Path,
        threads: Option<usize>,
        context: &Context<'_>,
    ) -> Result<usize, Error> {
        if self.common == 0 {
            return Ok(0);
        }
        let options = self.options(out.join(COMMON), threads, None);
        Ok(self.shot(reader, out, 0)?.bake_lowest(self.common, &options, context)?)
    }

    /// Bakes a try, or goes on with it, and writes its files. That it cannot be baked is a state, not an error: the others go on.
    pub fn bake_try(
        &self,
        reader: &Reader,
        out: &Path,
        index: usize,
        threads: Option<usize>,
        context: &Context<'_>,
    ) -> Result<State, Error> {
        let folder = self.try_folder(out, index);
        let before = State::read(&folder);
        if before.is_done() {
            return Ok(before);
        }
        let (shot, begun) = (self.shot(reader, out, index)?, Instant::now());
        let options = self.options(folder.clone(), threads, Some(out.join(COMMON)));
        let told = Telling::new(&folder, context);
        let baked = film::bake(&shot, &options, &Context { progress: &told, cancel: context.cancel });
        let state = match baked {
            Ok(bake) => State::of(&bake, begun.elapsed().as_secs_f64()),
            // another process is at it: what it will say is what counts
            Err(film::Error::Shot(error @ shot::Error::Locked { .. })) => return Err(error.into()),
            Err(_) if context.is_cancelled() => {
                let (done, of) = told.count();
                State::Stopped { done, of }.write(&folder)?;
                let name = self.tries[index].name.clone();
                return Err(Error::Stopped { name, done, of });
            }
            Err(error) => State::Failed { error: error.to_string(), help: error.remedy() },
        };
        state.write(&folder)?;
        Ok(state)
    }

    fn options(&self, out: PathBuf, threads: Option<usize>, shared: Option<PathBuf>) -> BakeOptions {
        BakeOptions { out: Some(out), frames: self.frames, threads, shared, ..BakeOptions::default() }
    }
}

/// Tells a listener what happens, and the try's folder how far it is, once a second.
struct Telling<'a> {
    folder: &'a Path,
    listener: &'a dyn Progress,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    /// Of every layer: frames that are there, and that it needs.
    layers: BTreeMap<String, (usize, usize)>,
    written: Option<Instant>,
}

impl<'a> Telling<'a> {
    fn new(folder: &'a Path, context: &Context<'a>) -> Self {
        Self { folder, listener: context.progress, counted: Mutex::default() }
    }

    fn count(&self) -> (usize, usize) {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.layers.values().fold((0, 0), |sum, layer| (sum.0 + layer.0, sum.1 + layer.1))
    }
}

impl Progress for Telling<'_> {
    fn event(&self, event: Event<'_>) {
        self.listener.event(event);
        let (layer, done, of) = match event {
            Event::Layer { layer, reused, frames, .. } => (layer, reused, frames),
            Event::Frame { layer, done, of, .. } => (layer, done, of),
            _ => return,
        };
        let is_due = {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            counted.layers.insert(layer.to_owned(), (done, of));
            let is_due = counted.written.is_none_or(|last| last.elapsed() > Duration::from_secs(1));
            if is_due {
                counted.written = Some(Instant::now());
            }
            is_due
        };
        if is_due {
            let (done, of) = self.count();
            // not worth an error: it decides nothing
            let _ = State::Running { done, of }.write(self.folder);
        }
    }
}
