//! The engine's own threads: loops around steps.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Inner;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, Rank, spawn};

/// How long purge rests when there is nothing to do.
const IDLE: Duration = Duration::from_millis(50);

/// ... and between two steps of removing dropped files.
const BREATH: Duration = Duration::from_millis(10);

/// Running threads. Dropped, they end.
pub struct Background {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Rests, or less if it is time to end. True = end.
    fn rest(&self, limit: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped && !limit.is_zero() {
            self.changed.wait_for(&mut stopped, limit);
        }
        *stopped
    }
}

impl Background {
    pub fn start(inner: Arc<Inner>) -> Background {
        let stop = Arc::new(Stop { stopped: Mutex::new(Rank::Instance, false), changed: Condvar::new() });
        let purge = {
            let (inner, stop) = (inner.clone(), stop.clone());
            spawn("purge", move || {
                let mut rest = Duration::ZERO;
                while !stop.rest(rest) {
                    let step = inner.go_on_rolling_back().and_then(|()| inner.purge_step());
                    rest = match step {
                        Ok(true) => Duration::ZERO,
                        Ok(false) => IDLE,
                        // A full disk is told to those who want to write.
                        Err(Error::DiskFull { .. }) => Duration::from_secs(1),
                        Err(error) => {
                            tracing::error!("purge: {error}");
                            Duration::from_secs(1)
                        }
                    };
                }
            })
        };
        let dropping = {
            let stop = stop.clone();
            spawn("drop", move || {
                let mut rest = IDLE;
                while !stop.rest(rest) {
                    // A breath between two steps, so that others who want the filesystem's journal get it.
                    rest = match inner.store.is_poisoned() || !inner.store.trash_step().unwrap_or(true) {
                        true => IDLE,
                        false => BREATH,
                    };
                }
            })
        };
        Background { stop, threads: vec![purge, dropping] }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.stopped.lock() = true;
        self.stop.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Inner {
    /// Purges a bounded part of the history. True if there was something to do.
    pub fn purge_step(&self) -> Result<bool> {
        if self.store.is_poisoned() {
            return Ok(false);
        }
        let mut purger = self.purger.lock();
        // No table or index is dropped in the meantime.
        let _gate = self.dictionary.hold_tables();
        let step = purger.step(&self.context(), &|id| self.dictionary.by_id(id))?;
        Ok(!step.is_idle())
    }
}
