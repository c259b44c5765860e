//! The first picture: drawn as soon as the first frame is through all layers, while the next ones are baked.
//!
//! It lies beside the outputs as `NAME.first.png`, seen as the film will be but by a camera that knows this frame alone, and goes when
//! the outputs are written; a bake that was stopped leaves it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use shot::{BakeOptions, Context, Event, FrameRange, Progress, Shot, write_whole};

use crate::Error;
use crate::output::Medium;
use crate::renderer::FilmRenderer;

/// Bakes with `act`, and draws the first picture meanwhile, where films or a report are wanted.
pub(crate) fn with_first_picture<T>(
    shot: &Shot,
    options: &BakeOptions,
    context: &Context<'_>,
    act: impl FnOnce(&Context<'_>) -> T,
) -> T {
    let is_seen =
        |file: &PathBuf| matches!(Medium::of(file), Some(Medium::Film | Medium::Picture | Medium::Frames));
    let wanted = shot.output.report || shot.output.files.iter().flatten().any(is_seen);
    if !wanted || !shot.layers.iter().any(|entry| entry.is_active()) {
        return act(context);
    }
    let frame = options.frames.map_or(0, |frames| frames.first);
    let path = path(shot, options);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        scope.spawn(|| draw(receiver, shot, options, frame, &path, context));
        let listener = Listener {
            progress: context.progress,
            frame,
            top: Mutex::default(),
            ready: Mutex::new(Some(sender)),
        };
        // the listener goes, and with it the sender: whoever waits for the first frame waits no longer
        act(&Context { progress: &listener, cancel: context.cancel })
    })
}

/// Where it lies.
pub(crate) fn path(shot: &Shot, options: &BakeOptions) -> PathBuf {
    let out = options.out.clone().unwrap_or_else(|| shot.default_out());
    out.join(format!("{}.first.png", shot.name))
}

/// Waits for the first frame and draws it. A picture that cannot be made is none: whatever is wrong is said by the outputs.
fn draw(
    ready: Receiver<()>,
    shot: &Shot,
    options: &BakeOptions,
    frame: usize,
    path: &Path,
    context: &Context<'_>,
) {
    if ready.recv().is_err() {
        return;
    }
    let picture = || -> Result<(), Error> {
        let frames = Some(FrameRange { first: frame, last: frame });
        let bake = shot.baked_so_far(&BakeOptions { frames, threads: Some(1), ..options.clone() })?;
        let picture = FilmRenderer::new(shot, &bake)?.srgb(0)?;
        Ok(write_whole(path, &picture.png()?)?)
    };
    if picture().is_ok() {
        context.progress.event(Event::FirstPicture { path });
    }
}

/// Passes on what happens, and tells when the first frame is through the highest layer.
struct Listener<'a> {
    progress: &'a dyn Progress,
    frame: usize,
    /// The highest layer's name.
    top: Mutex<String>,
    ready: Mutex<Option<Sender<()>>>,
}

impl Progress for Listener<'_> {
    fn event(&self, event: Event<'_>) {
        self.progress.event(event);
        match event {
            // they come from the lowest to the highest
            Event::Layer { layer, .. } => {
                if let Ok(mut top) = self.top.lock() {
                    layer.clone_into(&mut top);
                }
            }
            Event::Frame { layer, frame, .. } if frame == self.frame => {
                let is_top = self.top.lock().is_ok_and(|top| *top == layer);
                let sender = self.ready.lock().ok().filter(|_| is_top).and_then(|mut ready| ready.take());
                // a drawer that is gone needs no telling
                sender.map(|sender| sender.send(()));
            }
            _ => {}
        }
    }
}
