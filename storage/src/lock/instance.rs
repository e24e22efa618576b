//! The instance's backup lock: while a backup holds it, no DDL statement changes files or descriptions (LOCK INSTANCE
//! FOR BACKUP). Rows may change all the time.
//!
//! ```text
//!                 held by backups   held by DDL statements
//! a backup             -                   waits
//! a DDL statement    waits                   -
//! ```
//!
//! Both kinds have any number of holders. A waiting backup keeps out new statements. A statement takes the lock before
//! its first name and keeps it to its end, so it never waits here for a session that waits for its names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Interrupt;
use super::names::{NameLockMode, NameLocks, address};
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::sync::{Condvar, Mutex, Rank, assert_may_wait};

/// Waiters check the time, the interrupt and the health at this interval.
const GLANCE: Duration = Duration::from_millis(20);

/// See the module header.
#[derive(Debug)]
pub struct InstanceLock {
    state: Mutex<State>,
    changed: Condvar,
    health: Arc<Health>,
}

#[derive(Debug, Default)]
struct State {
    statements: u32,
    backups: u32,
    backups_waiting: u32,
}

#[cfg(test)]
impl Default for InstanceLock {
    fn default() -> InstanceLock {
        InstanceLock::new(Arc::default())
    }
}

/// A backup's hold: no DDL until it is dropped.
#[derive(Debug)]
pub struct BackupHold {
    lock: Arc<InstanceLock>,
    listed: Arc<NameLocks>,
}

/// A DDL statement's hold: no backup begins until it is dropped.
#[derive(Debug)]
pub struct DdlPass {
    lock: Arc<InstanceLock>,
    listed: Arc<NameLocks>,
}

impl InstanceLock {
    /// A lock that no session holds. Once the instance is poisoned, every wait ends.
    pub fn new(health: Arc<Health>) -> InstanceLock {
        InstanceLock { state: Mutex::new(Rank::Metadata, State::default()), changed: Condvar::new(), health }
    }

    /// Waits for the running DDL statements, and lets no others begin.
    pub fn hold(self: &Arc<Self>, interrupt: &Interrupt, limit: Duration) -> Result<BackupHold> {
        self.state.lock().backups_waiting += 1;
        let waited = self.wait(
            interrupt,
            NameLockMode::Shared,
            limit,
            |state| state.statements == 0,
            |state| state.backups += 1,
        );
        self.state.lock().backups_waiting -= 1;
        // Wakes those that waited behind the abandoned wait.
        self.changed.notify_all();
        waited?;
        interrupt.names().add(address(&**self), NameLockMode::Shared);
        Ok(BackupHold { lock: self.clone(), listed: interrupt.names().clone() })
    }

    /// Waits while a backup holds the lock.
    pub fn pass(self: &Arc<Self>, interrupt: &Interrupt, limit: Duration) -> Result<DdlPass> {
        let free = |state: &State| state.backups + state.backups_waiting == 0;
        self.wait(interrupt, NameLockMode::IntentionExclusive, limit, free, |state| state.statements += 1)?;
        interrupt.names().add(address(&**self), NameLockMode::IntentionExclusive);
        Ok(DdlPass { lock: self.clone(), listed: interrupt.names().clone() })
    }

    fn wait(
        &self,
        interrupt: &Interrupt,
        mode: NameLockMode,
        limit: Duration,
        free: impl Fn(&State) -> bool,
        enter: impl FnOnce(&mut State),
    ) -> Result<()> {
        assert_may_wait("waiting for the backup lock");
        let begin = Instant::now();
        let mut state = self.state.lock();
        let mut listed = None;
        while !free(&state) {
            listed.get_or_insert_with(|| interrupt.names().wait(address(self), mode));
            self.health.check()?;
            if interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            if begin.elapsed() >= limit {
                return Err(Error::LockWaitTimeout);
            }
            self.changed.wait_for(&mut state, GLANCE);
        }
        enter(&mut state);
        Ok(())
    }
}

impl Drop for BackupHold {
    fn drop(&mut self) {
        self.listed.remove(address(&*self.lock), NameLockMode::Shared);
        self.lock.state.lock().backups -= 1;
        self.lock.changed.notify_all();
    }
}

impl Drop for DdlPass {
    fn drop(&mut self) {
        self.listed.remove(address(&*self.lock), NameLockMode::IntentionExclusive);
        self.lock.state.lock().statements -= 1;
        self.lock.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Kill;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn backups_and_statements_keep_each_other_out_and_not_their_own_kind() {
        let lock = Arc::new(InstanceLock::default());
        let interrupt = Interrupt::new();
        let statements = [lock.pass(&interrupt, SHORT).unwrap(), lock.pass(&interrupt, SHORT).unwrap()];
        assert!(matches!(lock.hold(&interrupt, SHORT), Err(Error::LockWaitTimeout)));
        // An abandoned wait keeps no one out.
        drop(lock.pass(&interrupt, SHORT).unwrap());
        drop(statements);
        let backups = [lock.hold(&interrupt, SHORT).unwrap(), lock.hold(&interrupt, SHORT).unwrap()];
        assert!(matches!(lock.pass(&interrupt, SHORT), Err(Error::LockWaitTimeout)));
        drop(backups);
        drop(lock.pass(&interrupt, SHORT).unwrap());
    }

    #[test]
    fn a_backup_that_waits_lets_no_statements_pass_and_a_waiting_statement_can_be_stopped() {
        let lock = Arc::new(InstanceLock::default());
        let statement = lock.pass(&Interrupt::new(), SHORT).unwrap();
        let backup = {
            let lock = lock.clone();
            std::thread::spawn(move || lock.hold(&Interrupt::new(), LONG).map(drop))
        };
        while lock.state.lock().backups_waiting == 0 {
            std::thread::yield_now();
        }
        let killed = Interrupt::new();
        killed.set(Kill::Query);
        assert!(matches!(lock.pass(&killed, LONG), Err(Error::Interrupted)));
        drop(statement);
        backup.join().unwrap().unwrap();
    }
}
