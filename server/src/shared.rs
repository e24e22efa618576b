//! What all connections of a server share, beside the instance: how many there are,
//! who has shown their password, and whether it is time to leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use sql::Instance;
use sql::accounts::Plugin;
use sql::status::Counter;

use crate::auth::{PasswordCache, ServerKey};

/// What all connections share.
pub struct Shared {
    pub instance: Arc<Instance>,
    pub passwords: PasswordCache,
    pub key: ServerKey,
    /// The verifier of no password: what strangers are compared with.
    pub nobody: String,
    live: AtomicUsize,
    stopping: AtomicBool,
    shutdown_requested: Mutex<bool>,
    shutdown_signal: Condvar,
}

impl Shared {
    pub fn new(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            passwords: PasswordCache::default(),
            key: ServerKey::default(),
            nobody: Plugin::CachingSha2Password.verifier(&rand::random::<[u8; 32]>(), b"nobody.nobody.nobody"),
            live: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            shutdown_requested: Mutex::new(false),
            shutdown_signal: Condvar::new(),
        }
    }

    /// Connections that have a thread.
    pub fn live_count(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// No more clients are let in.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// A client, or the operator, wants the server to stop.
    pub fn request_shutdown(&self) {
        *self.shutdown_requested.lock() = true;
        self.shutdown_signal.notify_all();
    }

    /// Waits until somebody asks for the end.
    pub fn wait_for_shutdown_request(&self) {
        let mut requested = self.shutdown_requested.lock();
        while !*requested {
            self.shutdown_signal.wait(&mut requested);
        }
    }

    pub fn shutdown_is_requested(&self) -> bool {
        *self.shutdown_requested.lock()
    }

    /// The answer to COM_STATISTICS.
    pub fn statistics(&self) -> String {
        let status = &self.instance.status;
        let uptime = status.uptime_seconds();
        let questions = status.total(Counter::Questions);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 1  Open tables: 0  Queries per second avg: {:.3}",
            self.instance.processes.len(),
            status.total(Counter::SlowQueries),
            questions as f64 / uptime.max(1) as f64,
        )
    }
}

/// Counts a connection as long as it lives, panics included.
pub struct Live(Arc<Shared>);

impl Live {
    /// One more connection, unless there are `connections_max`.
    pub fn begin(shared: &Arc<Shared>, connections_max: usize) -> Option<Self> {
        let before = shared.live.fetch_add(1, Ordering::SeqCst);
        let live = Self(shared.clone());
        (before < connections_max).then_some(live)
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}
