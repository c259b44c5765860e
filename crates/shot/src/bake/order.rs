//! The order of a bake: every frame goes through the whole stack of layers as early as it can.
//!
//! The highest layer that can make its next frame makes it. It can when the layer below has all frames that it will read: those up
//! to its own, and as many after it as its look-ahead says. So a stack of three layers has its first final frame after about three frames' work,
//! and no layer is further ahead of the one above than that one asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use super::aside::{Aside, LOOK};
use super::layer::{Advance, Job};
use crate::Error;
use crate::progress::Context;

/// Makes every frame that is missing, of all layers, from the lowest to the highest.
pub(super) fn run(jobs: &mut [Job<'_>], context: &Context<'_>) -> Result<(), Error> {
    let aside = Aside::new()?;
    let result = cancellable(context, |stop| advance_all(jobs, context, &aside, stop));
    for job in jobs {
        // also when it was stopped: what simulations have to say about themselves is known by now
        let rested = job.rest();
        if result.is_ok() {
            rested?;
        }
    }
    result
}

fn advance_all(
    jobs: &mut [Job<'_>],
    context: &Context<'_>,
    aside: &Aside,
    stop: &Arc<AtomicBool>,
) -> Result<(), Error> {
    while let Some(index) = next(jobs) {
        match jobs[index].advance(context, aside, stop) {
            Ok(Advance::Made) => {}
            // it read further ahead than it had said
            Ok(Advance::Waits { frames, failure }) => match index.checked_sub(1) {
                Some(below) if !jobs[below].has(frames) => extend(&mut jobs[..index], frames),
                _ => return Err(failure),
            },
            // a frame that was stopped in its middle ends with any error
            Err(Error::Frame { .. } | Error::Cancelled { .. }) if context.is_cancelled() => {
                return Err(cancelled(jobs, index));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The highest layer that can make its next frame; `None` when all have all.
fn next(jobs: &[Job<'_>]) -> Option<usize> {
    let can = |&index: &usize| {
        let reads = jobs[index].reads_next();
        reads.is_some_and(|frames| index == 0 || jobs[index - 1].has(frames))
    };
    (0..jobs.len()).rev().find(can)
}

/// Wants so many frames of the highest of these layers, and of those below it what they take.
fn extend(jobs: &mut [Job<'_>], mut frames: usize) {
    for job in jobs.iter_mut().rev() {
        job.extend(frames);
        frames = job.reads_for(frames);
    }
}

/// What artists want to know of a bake that they stopped: how far the highest layer came.
fn cancelled(jobs: &[Job<'_>], at_work: usize) -> Error {
    let unfinished = jobs.iter().rev().find(|job| job.done() < job.need());
    let job = unfinished.unwrap_or(&jobs[at_work]);
    Error::Cancelled { layer: job.name().to_owned(), done: job.done(), of: job.need() }
}

/// Does something with a flag that is set, also in the middle of a frame, when the context says so.
fn cancellable<T>(context: &Context<'_>, act: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let (stop, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                stop.store(context.is_cancelled(), Ordering::Relaxed);
                std::thread::park_timeout(LOOK);
            }
        });
        // also when it panics: whoever waits for the watch would wait for ever
        let _ended = Ended { done: &done, watch: watch.thread() };
        act(&stop)
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
