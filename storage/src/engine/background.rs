//! The engine's own threads: loops around steps.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Inner;
use crate::error::{Error, Result};
use crate::recovery;
use crate::segment;
use crate::sync::{Condvar, Mutex, Rank};

/// How long purge sleeps when there is nothing to do.
const IDLE: Duration = Duration::from_millis(50);

/// For how long one release step goes on beginning extents.
const RELEASE_TIME: Duration = Duration::from_millis(10);

/// How long the releaser sleeps between two steps.
const PAUSE: Duration = Duration::from_millis(10);

/// How often the thread that keeps statistics looks whether it is time.
const LOOK: Duration = Duration::from_secs(1);

/// Threads that apply pending redo after a crash: they wait for the disk most of the time.
const RECOVERERS: usize = 3;

/// The running threads. Dropping this ends them.
pub struct Background {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Sleeps, but returns early at shutdown. True = end.
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
        let health = inner.store.health().clone();
        let stop = Arc::new(Stop { stopped: Mutex::new(Rank::Instance, false), changed: Condvar::new() });
        let purge = (0..inner.purging.threads()).map(|number| {
            let (inner, stop) = (inner.clone(), stop.clone());
            let name = if number == 0 { "purge".to_owned() } else { format!("purge-{number}") };
            health.spawn(&name, move || {
                let mut rest = Duration::ZERO;
                while !stop.rest(rest) {
                    rest = match inner.purge_step(number) {
                        Ok(true) => Duration::ZERO,
                        Ok(false) => IDLE,
                        // Statements that want to write report the full disk.
                        Err(Error::DiskFull { .. }) => Duration::from_secs(1),
                        Err(error) => {
                            tracing::error!("purge: {error}");
                            Duration::from_secs(1)
                        }
                    };
                }
            })
        });
        let mut threads: Vec<_> = purge.collect();
        let rollback = {
            let (inner, stop) = (inner.clone(), stop.clone());
            health.spawn("rollback", move || {
                let mut rest = Duration::ZERO;
                while !stop.rest(rest) {
                    let released = inner.locks.release_step();
                    rest = match inner.rollback_step() {
                        Ok(more) if more | released => Duration::ZERO,
                        Ok(_) => IDLE,
                        Err(error) => {
                            tracing::error!("rollback: {error}");
                            Duration::from_secs(1)
                        }
                    };
                }
            })
        };
        let releaser = {
            let (inner, stop) = (inner.clone(), stop.clone());
            health.spawn("releaser", move || {
                let mut rest = IDLE;
                while !stop.rest(rest) {
                    // A pause between two steps, so that others get the filesystem's journal.
                    let more =
                        !inner.store.is_poisoned() && (inner.drop_step() | inner.release_step().unwrap_or(false));
                    let truncated = inner.truncate_undo_step();
                    let truncated = truncated.inspect_err(|error| tracing::warn!("truncate undo: {error}"));
                    rest = if more | truncated.unwrap_or(false) { PAUSE } else { IDLE };
                }
            })
        };
        let statistics = {
            let (inner, stop) = (inner.clone(), stop.clone());
            health.spawn("statistics", move || {
                while !stop.rest(LOOK) {
                    inner.statistics_step();
                }
            })
        };
        threads.extend([rollback, releaser, statistics]);
        if inner.store.pool().has_pending() {
            threads.extend((0..RECOVERERS).map(|number| {
                let (inner, stop) = (inner.clone(), stop.clone());
                health.spawn(&format!("recovery-{number}"), move || inner.recover(&stop))
            }));
        }
        Background { stop, threads }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.stopped.lock() = true;
        self.stop.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

impl Inner {
    /// Applies pending redo to the pages that no statement reads, until none is left.
    fn recover(&self, stop: &Stop) {
        let mut rest = Duration::ZERO;
        while !stop.rest(rest) && self.store.pool().has_pending() {
            let step = recovery::apply::step(&self.store);
            self.refuse_damaged();
            rest = match step {
                Ok(true) => Duration::ZERO,
                // Other threads are applying the last ones.
                Ok(false) => PAUSE,
                Err(error) if error.is_of_the_moment() => {
                    tracing::warn!("recovery waits: {error}");
                    Duration::from_secs(1)
                }
                Err(error) => {
                    tracing::error!("recovery: {error}");
                    return;
                }
            };
        }
    }

    /// Refuses access to the tables whose pages had to be left out.
    pub fn refuse_damaged(&self) {
        for (page, what) in self.store.take_damaged() {
            let files = self.dictionary.all_files();
            let table = files.iter().find(|file| file.space == page.space);
            let name =
                table.map_or_else(|| format!("tablespace {}", page.space), |table| table.full_name().to_string());
            let why = Error::corrupt_page(page, what);
            tracing::error!("table {name} is left out: {why}");
            self.damaged.lock().push(format!("{name}: {why}"));
            if let Some(table) = table {
                self.dictionary.refuse(&table.database, &table.name, why);
            }
        }
    }

    /// Removes a bounded part of dropped files. True if there is more to do; failures have been reported.
    fn drop_step(&self) -> bool {
        self.store.trash_step().unwrap_or(true)
    }

    /// Releases a bounded number of freed pages. True if there is more to do.
    pub fn release_step(&self) -> Result<bool> {
        if self.store.freed().is_empty() || self.store.is_poisoned() {
            return Ok(false);
        }
        // No file is removed meanwhile.
        let _gate = self.dictionary.hold_tables();
        let step = segment::release_step(&self.store, RELEASE_TIME);
        step.inspect_err(|error| tracing::warn!("give back freed pages: {error}"))
    }
}
