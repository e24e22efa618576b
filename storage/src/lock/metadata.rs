//! Metadata locks: a table's description stays as it is while a transaction uses it.
//!
//! There is one lock per table *name*, so that a name can be locked before its table exists. Transactions share it to
//! their end; a DDL statement takes it alone and, once it waits, lets no newcomers pass.
//!
//! ```text
//! state word:   bit 31  alone: held exclusively, or wanted so: newcomers wait
//!               30..0   holders that share it
//! ```
//!
//! Sharing a lock that no DDL wants is one compare-and-swap. A transaction that holds the lock already does not ask
//! again, which is why a waiting DDL cannot block those for whom it waits ... on this name. Over two names it could: a
//! transaction that wants to share a name which a DDL holds, while that DDL waits for a name that the transaction
//! holds, gets [`Error::Deadlock`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{Interrupt, Stage};
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, Rank, assert_no_latches};

const ALONE: u32 = 1 << 31;
/// Waiters look at the time, the interrupt and a possible deadlock this often.
const GLANCE: Duration = Duration::from_millis(20);
/// Locks that a transaction remembers without allocating.
const INLINE: usize = 4;

/// The lock of one table name.
#[derive(Debug)]
pub struct MetadataLock {
    state: AtomicU32,
    /// The name that the exclusive holder of this lock is waiting for, as an address.
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// What the DDL that has or wants this lock alone waits for now.
    awaited: Option<Arc<MetadataLock>>,
}

impl Default for MetadataLock {
    fn default() -> MetadataLock {
        MetadataLock {
            state: AtomicU32::new(0),
            queue: Mutex::new(Rank::Metadata, Queue::default()),
            changed: Condvar::new(),
        }
    }
}

impl MetadataLock {
    #[inline]
    fn try_share(&self) -> bool {
        self.state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| (state & ALONE == 0).then_some(state + 1))
            .is_ok()
    }

    #[inline]
    fn unshare(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        debug_assert!(before & !ALONE > 0, "a shared lock is held before it is released");
        if before & ALONE != 0 {
            let _queue = self.queue.lock();
            self.changed.notify_all();
        }
    }
}

/// The names that one transaction shares.
#[derive(Debug, Default)]
pub struct MetadataHeld {
    few: [Option<Arc<MetadataLock>>; INLINE],
    more: Vec<Arc<MetadataLock>>,
}

impl MetadataHeld {
    fn holds(&self, lock: &MetadataLock) -> bool {
        self.few.iter().flatten().chain(&self.more).any(|held| std::ptr::eq(&**held, lock))
    }

    pub fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    /// Shares a lock, waiting while somebody has or wants it alone.
    #[inline]
    pub fn share(&mut self, lock: &Arc<MetadataLock>, interrupt: &Interrupt, limit: Duration) -> Result<()> {
        if self.holds(lock) {
            return Ok(());
        }
        if !lock.try_share() {
            self.wait(lock, interrupt, limit)?;
        }
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(lock.clone()),
            None => self.more.push(lock.clone()),
        }
        Ok(())
    }

    #[cold]
    fn wait(&self, lock: &MetadataLock, interrupt: &Interrupt, limit: Duration) -> Result<()> {
        assert_no_latches("waiting for a metadata lock");
        let _stage = interrupt.enter(Stage::Metadata);
        let begin = Instant::now();
        let mut queue = lock.queue.lock();
        while !lock.try_share() {
            if interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            if begin.elapsed() >= limit {
                return Err(Error::LockWaitTimeout);
            }
            if queue.awaited.as_ref().is_some_and(|awaited| self.holds(awaited)) {
                return Err(Error::Deadlock);
            }
            lock.changed.wait_for(&mut queue, GLANCE);
        }
        Ok(())
    }

    /// Releases everything, at the end of the transaction.
    #[inline]
    pub fn release_all(&mut self) {
        for place in &mut self.few {
            match place.take() {
                Some(lock) => lock.unshare(),
                None => return,
            }
        }
        for lock in self.more.drain(..) {
            lock.unshare();
        }
    }
}

impl Drop for MetadataHeld {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// Names that a DDL statement has alone, until it is dropped.
#[derive(Debug, Default)]
pub struct MetadataGrant {
    locks: Vec<Arc<MetadataLock>>,
}

impl MetadataGrant {
    /// Takes all of `locks` alone, in the order given, which is the same for every caller (by name). Each name once.
    pub fn take(locks: Vec<Arc<MetadataLock>>, interrupt: &Interrupt, limit: Duration) -> Result<MetadataGrant> {
        assert_no_latches("waiting for a metadata lock");
        let begin = Instant::now();
        let mut grant = MetadataGrant::default();
        for lock in locks {
            grant.add(lock, interrupt, limit.saturating_sub(begin.elapsed()))?;
        }
        Ok(grant)
    }

    fn add(&mut self, lock: Arc<MetadataLock>, interrupt: &Interrupt, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        for held in &self.locks {
            held.queue.lock().awaited = Some(lock.clone());
        }
        let outcome = lock.take_alone(interrupt, begin, limit);
        for held in &self.locks {
            held.queue.lock().awaited = None;
        }
        outcome?;
        self.locks.push(lock);
        Ok(())
    }
}

impl MetadataLock {
    fn take_alone(&self, interrupt: &Interrupt, begin: Instant, limit: Duration) -> Result<()> {
        let mut queue = self.queue.lock();
        let mut mine = false;
        loop {
            // First no newcomers, then wait for those who are in.
            if !mine {
                mine = self.state.fetch_or(ALONE, Ordering::Acquire) & ALONE == 0;
            }
            if mine && self.state.load(Ordering::Acquire) == ALONE {
                return Ok(());
            }
            let give_up = if interrupt.is_set() {
                Some(Error::Interrupted)
            } else if begin.elapsed() >= limit {
                Some(Error::LockWaitTimeout)
            } else {
                None
            };
            if let Some(reason) = give_up {
                if mine {
                    self.state.fetch_and(!ALONE, Ordering::Release);
                    self.changed.notify_all();
                }
                return Err(reason);
            }
            let _stage = interrupt.enter(Stage::Metadata);
            self.changed.wait_for(&mut queue, GLANCE);
        }
    }

    fn release_alone(&self) {
        let _queue = self.queue.lock();
        self.state.fetch_and(!ALONE, Ordering::Release);
        self.changed.notify_all();
    }
}

impl Drop for MetadataGrant {
    fn drop(&mut self) {
        for lock in self.locks.drain(..) {
            lock.release_alone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn is_free(lock: &MetadataLock) -> bool {
        lock.state.load(Ordering::Acquire) == 0
    }

    #[test]
    fn a_change_waits_for_those_inside_and_keeps_newcomers_out() {
        let lock = Arc::new(MetadataLock::default());
        let interrupt = Interrupt::new();
        let mut reader = MetadataHeld::default();
        reader.share(&lock, &interrupt, LONG).unwrap();
        let changing = {
            let lock = lock.clone();
            std::thread::spawn(move || drop(MetadataGrant::take(vec![lock], &Interrupt::new(), LONG).unwrap()))
        };
        while lock.state.load(Ordering::Relaxed) & ALONE == 0 {
            std::thread::yield_now();
        }
        let mut newcomer = MetadataHeld::default();
        let outcome = newcomer.share(&lock, &interrupt, Duration::from_millis(1));
        assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
        reader.share(&lock, &interrupt, LONG).unwrap(); // It is in already.
        reader.release_all();
        changing.join().unwrap();
        newcomer.share(&lock, &interrupt, LONG).unwrap();
        drop(newcomer);
        assert!(is_free(&lock));
    }

    #[test]
    fn a_circle_over_two_names_is_a_deadlock() {
        let (a, b) = (Arc::new(MetadataLock::default()), Arc::new(MetadataLock::default()));
        let mut reader = MetadataHeld::default();
        reader.share(&b, &Interrupt::new(), LONG).unwrap();
        let changing = {
            let locks = vec![a.clone(), b.clone()];
            std::thread::spawn(move || drop(MetadataGrant::take(locks, &Interrupt::new(), LONG).unwrap()))
        };
        while b.state.load(Ordering::Relaxed) & ALONE == 0 {
            std::thread::yield_now();
        }
        assert!(matches!(reader.share(&a, &Interrupt::new(), LONG), Err(Error::Deadlock)));
        reader.release_all();
        changing.join().unwrap();
        assert!(is_free(&a) && is_free(&b));
    }
}
