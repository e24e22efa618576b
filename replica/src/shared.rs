//! What the threads of a replica's channel and the statements about them share, and what the channels do.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
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

/// The name of a channel, in lower case: the name of its rows, of its relay log and of its order of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelName(String);

impl ChannelName {
    const CHARS_MAX: usize = 64;
    /// A part of a file's name.
    const FILE_BYTES_MAX: usize = 120;

    /// `None` = no channel has such a name.
    pub fn new(name: &str) -> Option<ChannelName> {
        let fits = name.chars().count() <= Self::CHARS_MAX && !name.contains('\0') && name.trim() == name;
        fits.then(|| ChannelName(name.to_lowercase()))
    }

    pub fn name(&self) -> &str {
        &self.0
    }

    /// Where its notes are in the dictionary, and its order of commits: a hash of the name. Two channels never have the
    /// same; the channel without a name has 0.
    pub fn slot(&self) -> u32 {
        // FNV-1a.
        const START: u32 = 0x811C_9DC5;
        const FACTOR: u32 = 0x0100_0193;
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(FACTOR);
        if self.0.is_empty() { 0 } else { self.0.bytes().fold(START, step).max(1) }
    }

    /// The files of its relay log, if those of the channel without a name have this one.
    pub fn relay_base(&self, base: &str) -> String {
        if self.0.is_empty() {
            return base.to_owned();
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let encode = |letter: char| if plain(letter) { letter.to_string() } else { format!("@{:04x}", letter as u32) };
        let encoded: String = self.0.chars().map(encode).collect();
        match encoded.len() <= Self::FILE_BYTES_MAX {
            true => format!("{base}-{encoded}"),
            false => format!("{base}-@@{:08x}", self.slot()),
        }
    }
}

/// What the channels of one server share: a transaction with a name is applied once, whichever of them it comes by.
#[derive(Default)]
pub struct Peers {
    channels: Mutex<Vec<Weak<Shared>>>,
    /// The transactions that are on their way, and the slots of their channels.
    claims: Mutex<HashMap<Gtid, u32>>,
}

impl Peers {
    /// All transactions with MySQL's names that the channels have applied. The caller has locked none.
    pub fn applied(&self) -> GtidSet {
        let channels: Vec<_> = self.channels.lock().iter().filter_map(Weak::upgrade).collect();
        let mut applied = GtidSet::default();
        for channel in channels {
            applied.extend(&channel.lock().progress.applied);
        }
        applied
    }

    pub fn has_applied(&self, gtid: Gtid) -> bool {
        let channels: Vec<_> = self.channels.lock().iter().filter_map(Weak::upgrade).collect();
        channels.iter().any(|channel| channel.lock().progress.applied.contains(gtid))
    }

    /// A channel is about to apply a transaction. False: another one is.
    pub fn claim(&self, gtid: Gtid, slot: u32) -> bool {
        *self.claims.lock().entry(gtid).or_insert(slot) == slot
    }

    /// It is applied, and among [`Peers::applied`].
    pub fn release(&self, gtid: Gtid) {
        self.claims.lock().remove(&gtid);
    }

    /// The applier of a channel has ended.
    pub fn release_all(&self, slot: u32) {
        self.claims.lock().retain(|_, owner| *owner != slot);
    }
}

/// See the module header.
pub struct Shared {
    pub instance: Arc<Instance>,
    pub channel: ChannelName,
    pub peers: Arc<Peers>,
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
    pub filters: Filters,
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
    /// `stored`: what is kept of the channel.
    pub fn new(
        instance: &Arc<Instance>,
        channel: ChannelName,
        peers: &Arc<Peers>,
        relay: RelayLog,
        stored: (Option<Source>, Progress),
    ) -> Shared {
        let (source, progress) = stored;
        let state = Mutex::new(State { source, progress, ..State::default() });
        let (instance, peers, relay) = (instance.clone(), peers.clone(), Arc::new(relay));
        Shared { instance, channel, peers, relay, state, changed: Condvar::new() }
    }

    /// The others know it from now on.
    pub fn join_peers(self: &Arc<Self>) {
        self.peers.channels.lock().push(Arc::downgrade(self));
    }

    /// All transactions with MySQL's names that this server has, from its sources and in its log.
    pub fn executed(&self) -> GtidSet {
        let mut executed = self.peers.applied();
        executed.extend(&self.lock().progress.applied);
        if let Some(log) = &self.instance.log {
            executed.extend(&log.executed());
        }
        executed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_files_and_a_slot_of_its_own() {
        let channel = |name: &str| ChannelName::new(name).unwrap();
        assert_eq!((channel("").slot(), channel("").relay_base("relay-bin")), (0, "relay-bin".to_owned()));
        assert_eq!(channel("North"), channel("north"));
        assert_eq!(channel("North").relay_base("r"), "r-north");
        assert_eq!(channel("a/b.1").relay_base("r"), "r-a@002fb@002e1");
        let long = channel(&"ü".repeat(64));
        assert!(long.relay_base("r").len() < 20 && long.relay_base("r") != channel(&"ä".repeat(64)).relay_base("r"));
        assert_ne!(channel("a").slot(), channel("b").slot());
        for name in ["x".repeat(65), " a".to_owned(), "a\0".to_owned()] {
            assert_eq!(ChannelName::new(&name), None);
        }
    }

    #[test]
    fn a_transaction_is_claimed_by_one_channel() {
        let peers = Peers::default();
        let gtid = Gtid { source: Uuid([7; 16]), number: 1 };
        assert!(peers.claim(gtid, 1) && peers.claim(gtid, 1) && !peers.claim(gtid, 2));
        peers.release_all(2);
        assert!(!peers.claim(gtid, 2));
        peers.release_all(1);
        assert!(peers.claim(gtid, 2) && !peers.claim(gtid, 1));
        peers.release(gtid);
        assert!(peers.claim(gtid, 1));
    }
}
