//! What a replica's threads and the statements about them share.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use format::binlog::mariadb::{MariadbGtid, MariadbPosition};
use format::binlog::{Gtid, GtidSet, Uuid};
use parking_lot::{Condvar, Mutex, MutexGuard};
use sql::instance::Instance;
use sql::parser::ast::Until;
use sql::processlist::Process;
use sql::replication::{LastError, Receiving};
use storage::Kill;

use crate::filters::Filters;
use crate::link::Link;
use crate::progress::Progress;
use crate::relay::{Place, RelayLog};
use crate::schedule::Schedule;
use crate::source::Source;

/// Of the threads that run statements of a source.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };

/// Sleepers look at least this often whether they are to stop.
const GLANCE: Duration = Duration::from_millis(200);

/// See the module header.
pub struct Shared {
    pub instance: Arc<Instance>,
    pub relay: Arc<RelayLog>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub struct State {
    pub source: Option<Source>,
    pub receiver: Receiver,
    pub applier: Applier,
    /// What has been applied and is durable.
    pub progress: Progress,
    /// Of this source, and those that another source gets.
    pub filters: Filters,
    pub global_filters: Filters,
}

impl State {
    /// The relay log is about to be emptied.
    pub fn forget_received(&mut self) {
        let receiver = &mut self.receiver;
        (receiver.read, receiver.last, receiver.retrieved) = Default::default();
        (receiver.mariadb, receiver.mariadb_last) = Default::default();
        self.applier.place = None;
    }

    /// How far MariaDB's transactions have been received; the last one may have come in part.
    pub fn received_mariadb(&self) -> MariadbPosition {
        let mut position = self.progress.mariadb.clone();
        position.advance_to(&self.receiver.mariadb);
        if let Some(last) = self.receiver.mariadb_last {
            position.advance(last);
        }
        position
    }
}

/// The receiver, as others see it.
#[derive(Default)]
pub struct Receiver {
    pub running: bool,
    pub stop: bool,
    pub receiving: Receiving,
    pub doing: &'static str,
    pub error: LastError,
    /// How far the source's log has been read; `None` = not at all since the relay log is empty.
    pub read: Option<(String, u64)>,
    pub retrieved: GtidSet,
    /// The transaction that is being received, or that was received last.
    pub last: Option<Gtid>,
    /// MariaDB's transactions that were received before the last one, and the last one, which may have come in part.
    pub mariadb: MariadbPosition,
    pub mariadb_last: Option<MariadbGtid>,
    /// Heartbeats that came, and when the last did.
    pub heartbeats: u64,
    pub heartbeat_at_micros: u64,
    pub source_id: u32,
    pub source_uuid: Option<Uuid>,
    /// The source waits for answers.
    pub is_semi_sync: bool,
    /// User and password of START REPLICA.
    pub account: (Option<String>, Option<String>),
    /// By which its read ends.
    pub stream: Option<Link>,
}

/// The applier, as others see it.
#[derive(Default)]
pub struct Applier {
    pub running: bool,
    pub stop: bool,
    pub doing: &'static str,
    pub error: LastError,
    /// Where the relay log's next transaction is; `None` = at its beginning.
    pub place: Option<Place>,
    /// When the source ran what waits for SOURCE_DELAY, in seconds since 1970.
    pub timestamp: Option<u32>,
    /// When the transaction that waits for SOURCE_DELAY may begin.
    pub delayed_until: Option<u64>,
    /// Transactions applied.
    pub transactions: u64,
    /// Transactions begun again.
    pub retries: u64,
    /// As long as it runs. It is locked before this state, never after it.
    pub schedule: Option<Arc<Schedule>>,
    pub coordinator: Option<Arc<Process>>,
    /// An error that no worker met.
    pub coordinator_error: LastError,
    /// What the last start said.
    pub until: Option<Until>,
    /// They stay to be seen until the next start.
    pub workers: Vec<Working>,
}

/// One of the applier's workers, as others see it.
#[derive(Default)]
pub struct Working {
    pub process: Option<Arc<Process>>,
    pub error: LastError,
    pub applying: Option<Gtid>,
    pub last: Option<Gtid>,
}

impl Working {
    pub fn of(process: &Arc<Process>) -> Working {
        Working { process: Some(process.clone()), ..Working::default() }
    }
}

/// Microseconds since 1970.
pub fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// An error that happens now.
pub fn failed(code: u16, message: impl Into<String>) -> LastError {
    LastError { code, message: message.into(), at_micros: now_micros() }
}

impl Shared {
    pub fn new(instance: Arc<Instance>, relay: Arc<RelayLog>, source: Option<Source>, progress: Progress) -> Shared {
        let state = State { source, progress, ..State::default() };
        Shared { instance, relay, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Wakes all who wait for a change of the state.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits for a change, for a glance at most.
    pub fn wait(&self, state: &mut MutexGuard<'_, State>) {
        self.changed.wait_for(state, GLANCE);
    }

    /// Sleeps until a moment unless `is_over` before.
    pub fn sleep_until(&self, micros: u64, is_over: &dyn Fn(&State) -> bool) {
        let mut state = self.lock();
        while !is_over(&state) {
            let left = micros.saturating_sub(now_micros());
            if left == 0 {
                return;
            }
            self.changed.wait_for(&mut state, GLANCE.min(Duration::from_micros(left)));
        }
    }

    /// Asks the receiver to stop, and waits until it has.
    pub fn stop_receiver(&self) {
        let mut state = self.lock();
        while state.receiver.running {
            state.receiver.stop = true;
            if let Some(stream) = &state.receiver.stream {
                stream.close();
            }
            self.changed.notify_all();
            self.relay.wake();
            self.wait(&mut state);
        }
    }

    /// Asks the applier to stop, and waits until it has: it gives up the transactions that it is in.
    pub fn stop_applier(&self) {
        let mut state = self.lock();
        while state.applier.running {
            state.applier.stop = true;
            let schedule = state.applier.schedule.clone();
            drop(state);
            if let Some(schedule) = schedule {
                schedule.close();
            }
            self.interrupt_applier();
            self.changed.notify_all();
            self.relay.wake();
            state = self.lock();
            if state.applier.running {
                self.wait(&mut state);
            }
        }
    }

    /// Ends what the applier's threads wait for.
    pub fn interrupt_applier(&self) {
        let state = self.lock();
        let workers = state.applier.workers.iter().filter_map(|worker| worker.process.as_ref());
        for process in workers.chain(&state.applier.coordinator) {
            process.interrupt.set(Kill::Query);
        }
    }
}
