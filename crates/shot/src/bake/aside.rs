//! Work that can be left: preparations and frames are made on a thread of their own, so that nobody who asks to stop has to wait for them.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Error;
use crate::layer::LayerError;
use crate::progress::Context;

/// How often it is looked whether somebody wants to stop.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Where such work is done: with as many threads as whoever waits for it has.
pub(super) struct Aside {
    pool: Option<Arc<ThreadPool>>,
}

impl Aside {
    pub(super) fn new() -> Result<Self, Error> {
        if rayon::current_thread_index().is_none() {
            return Ok(Self { pool: None });
        }
        // who waits is a thread of a pool, which cannot work meanwhile: the work gets a pool like it
        let threads = rayon::current_num_threads();
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Threads { threads, problem: error.to_string() })?;
        Ok(Self { pool: Some(Arc::new(pool)) })
    }

    /// What something that writes nothing gives. `None` when the context says so and it has not ended so much later: then it is left to
    /// itself, with all that it owns.
    pub(super) fn run<T: Send + 'static>(
        &self,
        context: &Context<'_>,
        patience: Duration,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, LayerError> {
        /// As main threads have; others get less.
        const STACK: usize = 8 << 20;
        let (sender, receiver) = mpsc::channel();
        let pool = self.pool.clone();
        let work = move || {
            let made = match pool {
                Some(pool) => pool.install(act),
                None => act(),
            };
            // whoever waited may be gone
            drop(sender.send(made));
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
        let thread = thread.map_err(|error| LayerError::new(format!("no thread can be started: {error}")))?;
        let mut asked: Option<Instant> = None;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(made) => return Ok(Some(made)),
                Err(RecvTimeoutError::Timeout) if context.is_cancelled() => {
                    if asked.get_or_insert_with(Instant::now).elapsed() >= patience {
                        return Ok(None);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // it ended without an answer: it panicked, and so does this
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => return Ok(None),
                },
            }
        }
    }
}
