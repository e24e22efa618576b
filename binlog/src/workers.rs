//! Threads that do a session's work beside it.
//!
//! All sessions share them. They start when there is work, and end when the log is closed. A job that is given to them is
//! done, also while they are being closed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use storage::gate::Health;
use storage::sync::{Condvar, Mutex, Rank};

type Job = Box<dyn FnOnce() + Send>;

/// See the module header.
pub struct Workers {
    /// A job that panics ends all writing.
    health: Arc<Health>,
    threads_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that sleep.
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Workers {
    pub fn new(health: Arc<Health>, threads_max: usize) -> Workers {
        Workers { health, threads_max, state: Mutex::new(Rank::Leaf, State::default()), changed: Condvar::new() }
    }

    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Lets one of the threads do the job. False = they are closed.
    pub fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        state.jobs.push_back(Box::new(job));
        if state.idle < state.jobs.len() && state.threads.len() < self.threads_max {
            let workers = self.clone();
            let thread = self.health.spawn("binlog-pack", move || workers.work());
            state.threads.push(thread);
        } else {
            self.changed.notify_one();
        }
        true
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                self.changed.wait(&mut state);
                state.idle -= 1;
            }
        }
    }

    /// Takes no more jobs. The threads end when they have done those that they have.
    pub fn stop(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// The same, and waits for the threads.
    pub fn close(&self) {
        self.stop();
        let threads = std::mem::take(&mut self.state.lock().threads);
        for thread in threads {
            // A thread that panicked has poisoned the instance.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_job_that_was_taken_is_done_before_the_threads_end() {
        let workers = Arc::new(Workers::new(Arc::default(), 2));
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let done = done.clone();
            assert!(workers.run(move || {
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        assert!(workers.state.lock().threads.len() <= 2);
        workers.close();
        assert_eq!(done.load(Ordering::Relaxed), 100);
        assert!(!workers.run(|| unreachable!("they are closed")));
    }
}
