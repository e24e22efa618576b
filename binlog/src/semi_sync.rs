//! Semi-synchronous replication: a commit is answered when replicas have it too.
//!
//! ```text
//!            replicas cannot follow for `timeout`
//!       on ----------------------------------------> off
//!          <----------------------------------------
//!            enough replicas have all of the log
//! ```
//!
//! A commit is durable here and visible to others before it waits, so this is what MySQL calls AFTER_COMMIT; if the wait is
//! given up, the commit stays. A replica answers for the last of the events that it was sent at once, and an answer holds
//! for all before it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use storage::sync::{Condvar, Mutex, Rank};

use crate::end::Reach;

/// How often a waiting commit looks whether it was killed.
const WATCH_PERIOD: Duration = Duration::from_millis(100);

/// A point of the log, in its order.
type Mark = (u64, u32, u64);

fn mark(reach: Reach) -> Mark {
    (reach.resets, reach.file, reach.bytes)
}

/// What the status variables show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemiSyncStatus {
    pub is_on: bool,
    pub replicas: usize,
    /// Transactions that were acknowledged, and those that were not.
    pub acknowledged: u64,
    pub unacknowledged: u64,
    /// How often it was switched off.
    pub switched_off: u64,
    pub waiting: u64,
    /// Transactions that waited, and how long all together.
    pub waits: u64,
    pub wait_micros: u64,
}

#[derive(Default)]
struct State {
    is_off: bool,
    /// The replicas that answer, by their connections, with what they have.
    replicas: Vec<(u32, Mark)>,
    status: SemiSyncStatus,
}

impl State {
    /// What so many replicas have.
    fn reached(&self, replicas: u32) -> Option<Mark> {
        let mut marks: Vec<Mark> = self.replicas.iter().map(|(_, mark)| *mark).collect();
        marks.sort_unstable_by(|a, b| b.cmp(a));
        marks.get((replicas.max(1) - 1) as usize).copied()
    }
}

/// See the module header.
pub struct SemiSync {
    enabled: AtomicBool,
    timeout_millis: AtomicU64,
    replicas_wanted: AtomicU32,
    /// Wait even if fewer replicas are connected than must answer.
    waits_alone: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for SemiSync {
    fn default() -> SemiSync {
        SemiSync {
            enabled: AtomicBool::new(false),
            timeout_millis: AtomicU64::new(10_000),
            replicas_wanted: AtomicU32::new(1),
            waits_alone: AtomicBool::new(true),
            state: Mutex::new(Rank::Leaf, State::default()),
            changed: Condvar::new(),
        }
    }
}

impl SemiSync {
    /// `rpl_semi_sync_source_enabled` and its relatives.
    pub fn configure(&self, enabled: bool, timeout: Duration, replicas_wanted: u32, waits_alone: bool) {
        self.timeout_millis.store(timeout.as_millis() as u64, Ordering::Relaxed);
        self.replicas_wanted.store(replicas_wanted, Ordering::Relaxed);
        self.waits_alone.store(waits_alone, Ordering::Relaxed);
        let was_enabled = self.enabled.swap(enabled, Ordering::Relaxed);
        let mut state = self.state.lock();
        if enabled && !was_enabled {
            state.is_off = false;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    pub fn status(&self) -> SemiSyncStatus {
        let state = self.state.lock();
        SemiSyncStatus { is_on: self.is_enabled() && !state.is_off, replicas: state.replicas.len(), ..state.status }
    }

    /// A replica that answers is connected.
    pub fn attach(&self, connection: u32) {
        self.state.lock().replicas.push((connection, (0, 0, 0)));
    }

    pub fn detach(&self, connection: u32) {
        self.state.lock().replicas.retain(|(other, _)| *other != connection);
        self.changed.notify_all();
    }

    /// The replica of this connection has everything up to here. `end`: where the log ends.
    pub fn acknowledge(&self, connection: u32, has: Reach, end: Reach) {
        let mut state = self.state.lock();
        if let Some((_, known)) = state.replicas.iter_mut().find(|(other, _)| *other == connection) {
            *known = mark(has).max(*known);
        }
        if state.is_off
            && state.reached(self.replicas_wanted.load(Ordering::Relaxed)).is_some_and(|has| has >= mark(end))
        {
            state.is_off = false;
            tracing::info!("semi-synchronous replication is on again");
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until enough replicas have a commit that ends here or before. False: nobody said so, and the caller goes on
    /// without.
    pub fn wait(&self, commit: Reach, is_killed: &dyn Fn() -> bool) -> bool {
        let began = Instant::now();
        let mut state = self.state.lock();
        let wanted = || self.replicas_wanted.load(Ordering::Relaxed);
        let has_too_few =
            |state: &State| state.replicas.len() < wanted() as usize && !self.waits_alone.load(Ordering::Relaxed);
        if has_too_few(&state) {
            self.switch_off(&mut state, "too few replicas are connected");
        }
        if state.is_off || !self.is_enabled() {
            state.status.unacknowledged += 1;
            return false;
        }
        state.status.waiting += 1;
        let is_acknowledged = loop {
            if state.reached(wanted()).is_some_and(|has| has >= mark(commit)) {
                break true;
            }
            let timeout = Duration::from_millis(self.timeout_millis.load(Ordering::Relaxed));
            let waited = began.elapsed();
            if waited >= timeout {
                self.switch_off(&mut state, "no replica answers in time");
            }
            if state.is_off || !self.is_enabled() || has_too_few(&state) || is_killed() {
                break false;
            }
            self.changed.wait_for(&mut state, (timeout - waited).min(WATCH_PERIOD));
        };
        let status = &mut state.status;
        status.waiting -= 1;
        status.waits += 1;
        status.wait_micros += began.elapsed().as_micros() as u64;
        match is_acknowledged {
            true => status.acknowledged += 1,
            false => status.unacknowledged += 1,
        }
        is_acknowledged
    }

    /// All who wait go on.
    fn switch_off(&self, state: &mut State, why: &str) {
        if !state.is_off {
            state.is_off = true;
            state.status.switched_off += 1;
            tracing::warn!("semi-synchronous replication is off: {why}");
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn reach(file: u32, bytes: u64) -> Reach {
        Reach { file, bytes, resets: 0, closed: false }
    }

    fn semi_sync(timeout_millis: u64, wanted: u32) -> Arc<SemiSync> {
        let semi_sync = Arc::new(SemiSync::default());
        semi_sync.configure(true, Duration::from_millis(timeout_millis), wanted, true);
        semi_sync
    }

    #[test]
    fn a_commit_waits_for_as_many_replicas_as_are_wanted() {
        let semi_sync = semi_sync(60_000, 2);
        (1..=3).for_each(|connection| semi_sync.attach(connection));
        let waiter = {
            let semi_sync = semi_sync.clone();
            std::thread::spawn(move || semi_sync.wait(reach(2, 100), &|| false))
        };
        let end = reach(2, 200);
        semi_sync.acknowledge(1, reach(2, 150), end);
        semi_sync.acknowledge(2, reach(1, 900), end);
        std::thread::sleep(Duration::from_millis(30));
        assert!(!waiter.is_finished());
        semi_sync.acknowledge(3, reach(2, 100), end);
        assert!(waiter.join().unwrap());
        assert!(semi_sync.wait(reach(2, 100), &|| false));
        assert_eq!(semi_sync.status().acknowledged, 2);
    }

    #[test]
    fn silence_switches_it_off_and_a_replica_that_has_everything_on_again() {
        let semi_sync = semi_sync(30, 1);
        semi_sync.attach(1);
        let end = reach(1, 100);
        assert!(!semi_sync.wait(end, &|| false));
        assert!(!semi_sync.status().is_on);
        let began = Instant::now();
        assert!(!semi_sync.wait(end, &|| false));
        assert!(began.elapsed() < Duration::from_millis(20), "nobody waits while it is off");
        semi_sync.acknowledge(1, reach(1, 99), end);
        assert!(!semi_sync.status().is_on);
        semi_sync.acknowledge(1, end, end);
        assert!(semi_sync.status().is_on && semi_sync.wait(end, &|| false));
        assert_eq!((semi_sync.status().switched_off, semi_sync.status().unacknowledged), (1, 2));
    }

    #[test]
    fn a_wait_ends_by_kill_and_without_replicas_if_it_is_said_so() {
        let semi_sync = semi_sync(60_000, 1);
        assert!(!semi_sync.wait(reach(1, 1), &|| true));
        semi_sync.configure(true, Duration::from_secs(60), 1, false);
        assert!(!semi_sync.wait(reach(1, 1), &|| false));
        assert!(!semi_sync.status().is_on);
    }
}
