//! The global read lock: FLUSH TABLES WITH READ LOCK.
//!
//! While a session holds it, no other session begins a statement that changes anything, and none commits. The lock is
//! taken in two steps, because a statement that waits for a row may be waiting for a commit:
//!
//! ```text
//!   closed to statements --- those under way have ended ---> closed to commits --- those under way have ended ---> held
//! ```
//!
//! A session that enters notes that in its own [`Process`], which no other session writes, and then checks whether the
//! lock is closed; a session that closes the lock notes that first and then checks the other sessions. So entering
//! touches no cache line that other sessions change.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use storage::{NameLockMode, Stage};

use crate::error::{Error, Result};
pub use crate::processlist::Passage;
use crate::processlist::{Process, ProcessList};

/// What stands for the lock in a session's list of metadata locks, in the place of an address.
pub const GLOBAL: usize = 0;

/// Waiters check the time and their interrupts this often.
const GLANCE: Duration = Duration::from_millis(20);

/// See the module header.
#[derive(Default)]
pub struct ReadLock {
    /// The number of sessions that have closed it, or are about to.
    statements: AtomicU32,
    commits: AtomicU32,
    /// Guards no data: waiters sleep on it.
    sleep: Mutex<()>,
    changed: Condvar,
}

impl ReadLock {
    fn closed(&self, passage: Passage) -> &AtomicU32 {
        match passage {
            Passage::Statement => &self.statements,
            Passage::Commit => &self.commits,
        }
    }

    /// Enters, after waiting while it is closed. False: the session is inside already. True: it must call
    /// [`ReadLock::leave`].
    #[inline]
    pub fn enter(&self, passage: Passage, process: &Process, limit: Duration) -> Result<bool> {
        let inside = process.passing(passage);
        if inside.load(Ordering::Relaxed) {
            return Ok(false);
        }
        inside.store(true, Ordering::SeqCst);
        if self.closed(passage).load(Ordering::SeqCst) != 0 {
            self.enter_later(passage, process, inside, limit)?;
        }
        Ok(true)
    }

    #[cold]
    fn enter_later(&self, passage: Passage, process: &Process, inside: &AtomicBool, limit: Duration) -> Result<()> {
        let stage = if passage == Passage::Commit { Stage::Commit } else { Stage::GlobalReadLock };
        let _stage = process.interrupt.enter(stage);
        let _listed = process.interrupt.names().wait(GLOBAL, NameLockMode::IntentionExclusive);
        let begin = Instant::now();
        loop {
            inside.store(false, Ordering::SeqCst);
            self.changed.notify_all();
            while self.closed(passage).load(Ordering::SeqCst) != 0 {
                give_up(process, begin, limit)?;
                self.changed.wait_for(&mut self.sleep.lock(), GLANCE);
            }
            inside.store(true, Ordering::SeqCst);
            if self.closed(passage).load(Ordering::SeqCst) == 0 {
                return Ok(());
            }
        }
    }

    /// The statement or commit that entered has ended.
    #[inline]
    pub fn leave(&self, passage: Passage, process: &Process) {
        process.passing(passage).store(false, Ordering::SeqCst);
        if self.closed(passage).load(Ordering::SeqCst) != 0 {
            self.changed.notify_all();
        }
    }

    /// Takes the lock: waits for changes and commits under way.
    pub fn take(&self, process: &Process, all: &ProcessList, limit: Duration) -> Result<()> {
        let _stage = process.interrupt.enter(Stage::GlobalReadLock);
        let _listed = process.interrupt.names().wait(GLOBAL, NameLockMode::Shared);
        let begin = Instant::now();
        let mut taken = Vec::new();
        for passage in [Passage::Statement, Passage::Commit] {
            self.closed(passage).fetch_add(1, Ordering::SeqCst);
            taken.push(passage);
            while all.is_passing(passage, process.id) {
                if let Err(error) = give_up(process, begin, limit) {
                    taken.iter().for_each(|passage| self.open(*passage));
                    return Err(error);
                }
                self.changed.wait_for(&mut self.sleep.lock(), GLANCE);
            }
        }
        Ok(())
    }

    /// Releases the lock.
    pub fn release(&self) {
        self.open(Passage::Statement);
        self.open(Passage::Commit);
    }

    fn open(&self, passage: Passage) {
        self.closed(passage).fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

fn give_up(process: &Process, begin: Instant, limit: Duration) -> Result<()> {
    if process.interrupt.ends_wait() {
        return Err(Error::interrupted());
    }
    if begin.elapsed() >= limit {
        return Err(Error::lock_wait_timeout());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn who_holds_it_lets_no_statement_begin_and_no_commit() {
        let (lock, all) = (ReadLock::default(), ProcessList::new());
        let (holder, writer) = (all.register("a"), all.register("b"));
        assert!(lock.enter(Passage::Statement, &writer, SHORT).unwrap());
        // Within a statement, a nested one passes unchecked.
        assert!(!lock.enter(Passage::Statement, &writer, SHORT).unwrap());
        assert_eq!(lock.take(&holder, &all, SHORT).unwrap_err().code, 1205);
        lock.leave(Passage::Statement, &writer);
        lock.take(&holder, &all, SHORT).unwrap();
        assert_eq!(lock.enter(Passage::Statement, &writer, SHORT).unwrap_err().code, 1205);
        assert_eq!(lock.enter(Passage::Commit, &writer, SHORT).unwrap_err().code, 1205);
        // Two sessions may hold it, and a wait that was given up closes nothing.
        lock.take(&writer, &all, SHORT).unwrap();
        lock.release();
        lock.release();
        assert!(lock.enter(Passage::Statement, &writer, SHORT).unwrap());
        assert!(lock.enter(Passage::Commit, &writer, SHORT).unwrap());
    }

    #[test]
    fn a_waiting_statement_goes_on_when_it_is_released() {
        let (lock, all) = (ReadLock::default(), ProcessList::new());
        let (holder, writer) = (all.register("a"), all.register("b"));
        lock.take(&holder, &all, LONG).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| lock.enter(Passage::Statement, &writer, LONG));
            while writer.interrupt.stage() != Stage::GlobalReadLock {
                std::thread::yield_now();
            }
            lock.release();
            assert!(waiting.join().unwrap().unwrap());
        });
    }
}
