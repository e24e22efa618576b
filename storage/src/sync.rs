//! Locks and threads: every wait for another thread in this crate uses the types of this module.
//!
//! The order in which locks and latches may be taken is written down once, as [`Rank`], and is the order of the modules
//! from the top. A thread that takes one holds only smaller ranks; debug builds check that at each acquisition, so a
//! deadlock between latches shows as a failed assertion in a test and not as a hang in production.
//!
//! ```text
//! Session .. Dictionary   long-lived, held over whole statements
//!   Index                 shape of one tree: shared to descend, exclusive to split
//!     Page                a page latch; root to leaf, left to right, so many at a time
//!       Lock, Transaction, Undo       tables of the upper layers, read under a page latch
//!         Cleaner, Sync   one page cleaner's batch; a round of syncs
//!           Space         the registry of tablespaces, the length of a file
//!            File         whether it is open
//!             Pool        a shard of the page table
//!               Lru       free list and LRU
//!                 Checkpoint, LogFlush, Log, FlushList    commit of a mini-transaction
//!                   FileSync    a sync of one file
//!                     ChangeLog   a log of changes of rows, which may be written to its file
//!                       Leaf      anything that takes nothing further
//! ```
//!
//! Invariants:
//!
//! * A thread that waits for a (transaction) lock holds no latch: [`assert_may_wait`].
//! * A latch is never held across a write or sync of a data file.
//!
//! A simulator runs one thread at a time, and switches threads only where no latch is held (`lock::Scheduler`), so it
//! needs no scheduler here: the `step()`s of the background work are its other threads.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// See the module header. Taken in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// A promise of room in the log, see `redo::room`.
    LogRoom,
    /// State of an instance as a whole.
    Instance,
    /// Metadata locks.
    Metadata,
    Dictionary,
    /// State of one table, such as its next AUTO_INCREMENT value.
    Table,
    /// The order of commits in a log of an upper layer.
    CommitOrder,
    /// The latch of a tree's shape.
    Index,
    /// A page latch. Many at a time, in the order of the tree.
    Page,
    /// A rollback segment or an undo log.
    Undo,
    /// Which transaction waits for which lock.
    LockWait,
    /// The table of locks.
    Lock,
    /// The registry of transactions.
    Transaction,
    Cleaner,
    /// A round of syncs.
    Sync,
    Space,
    /// Whether a file is open, and its name.
    File,
    Pool,
    Lru,
    /// The end of an upper layer's log.
    CommitLog,
    /// How far the log has been freed.
    Checkpoint,
    LogFlush,
    Log,
    FlushList,
    /// A sync of one file.
    FileSync,
    /// A log of changes of rows, which may be written to its file.
    ChangeLog,
    /// Takes nothing further.
    Leaf,
}

impl Rank {
    /// Whether several of the same rank may be held, in an order that their owner defines.
    #[cfg(debug_assertions)]
    fn stacks(self) -> bool {
        matches!(self, Rank::Page | Rank::Table | Rank::Index)
    }
}

#[cfg(debug_assertions)]
mod held {
    use super::Rank;
    use std::cell::RefCell;

    thread_local! {
        static HELD: RefCell<Vec<Rank>> = const { RefCell::new(Vec::new()) };
    }

    /// Records that this thread holds a rank; popped when dropped.
    #[derive(Debug)]
    pub struct Held(Rank);

    impl Held {
        pub fn enter(rank: Rank, checked: bool) -> Held {
            HELD.with_borrow_mut(|held| {
                if checked {
                    for &other in held.iter() {
                        assert!(
                            other < rank || other == rank && rank.stacks(),
                            "latch order: {rank:?} wanted while {held:?} are held"
                        );
                    }
                }
                held.push(rank);
            });
            Held(rank)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // The thread-local may be destroyed when a thread ends with guards in other thread-locals.
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                if let Some(at) = held.iter().rposition(|&rank| rank == self.0) {
                    held.swap_remove(at);
                }
            });
        }
    }

    pub fn any(rank: Rank) -> bool {
        HELD.with_borrow(|held| held.contains(&rank))
    }
}

#[cfg(not(debug_assertions))]
mod held {
    use super::Rank;

    #[derive(Debug)]
    pub struct Held;

    impl Held {
        #[inline(always)]
        pub fn enter(_: Rank, _: bool) -> Held {
            Held
        }
    }

    #[inline(always)]
    pub fn any(_: Rank) -> bool {
        false
    }
}

pub use held::Held;

/// Asserts (in debug builds) that this thread holds no page latch: it is about to start a long wait.
#[inline]
pub fn assert_no_latches(what: &str) {
    debug_assert!(!held::any(Rank::Page), "{what} while a page latch is held");
}

/// Asserts (in debug builds) that this thread has no page latch and no promise of room in the log: it is about to wait
/// for other transactions or mini-transactions.
#[inline]
pub fn assert_may_wait(what: &str) {
    assert_no_latches(what);
    debug_assert!(!held::any(Rank::LogRoom), "{what} within a mini-transaction");
}

/// A mutex with a rank.
#[derive(Debug)]
pub struct Mutex<T> {
    rank: Rank,
    inner: parking_lot::Mutex<T>,
}

impl<T> Mutex<T> {
    pub const fn new(rank: Rank, value: T) -> Mutex<T> {
        Mutex { rank, inner: parking_lot::Mutex::new(value) }
    }

    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = Held::enter(self.rank, true);
        MutexGuard { inner: self.inner.lock(), _held: held }
    }

    /// Never waits, so it needs no order.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let inner = self.inner.try_lock()?;
        Some(MutexGuard { inner, _held: Held::enter(self.rank, false) })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    inner: parking_lot::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A readers-writer lock with a rank.
#[derive(Debug)]
pub struct RwLock<T> {
    rank: Rank,
    inner: parking_lot::RwLock<T>,
}

impl<T> RwLock<T> {
    pub const fn new(rank: Rank, value: T) -> RwLock<T> {
        RwLock { rank, inner: parking_lot::RwLock::new(value) }
    }

    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let held = Held::enter(self.rank, true);
        ReadGuard { inner: self.inner.read(), _held: held }
    }

    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let held = Held::enter(self.rank, true);
        WriteGuard { inner: self.inner.write(), _held: held }
    }

    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        let inner = self.inner.try_write()?;
        Some(WriteGuard { inner, _held: Held::enter(self.rank, false) })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

#[derive(Debug)]
pub struct ReadGuard<'a, T> {
    inner: parking_lot::RwLockReadGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

#[derive(Debug)]
pub struct WriteGuard<'a, T> {
    inner: parking_lot::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A condition variable, used with a [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
}

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar { inner: parking_lot::Condvar::new() }
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.inner.wait(&mut guard.inner);
    }

    /// True on timeout.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> bool {
        self.inner.wait_for(&mut guard.inner, limit).timed_out()
    }

    #[inline]
    pub fn notify_one(&self) {
        self.inner.notify_one();
    }

    #[inline]
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }
}

/// Starts a named thread.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    // Without the thread the instance cannot work: the process reports it and ends.
    std::thread::Builder::new().name(name.into()).spawn(body).expect("start a thread")
}

/// Runs the same closure on each item, each on a thread of its own, and waits for all. A single item needs no thread.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
    })
}

/// Keeps a value on cache lines of its own, to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Counts events. Counts are not ordered between threads, so they cost next to nothing.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "latch order")]
    fn taking_locks_against_the_order_is_noticed() {
        let low = Mutex::new(Rank::Dictionary, ());
        let high = Mutex::new(Rank::Log, ());
        let _high = high.lock();
        let _low = low.lock();
    }

    #[test]
    fn a_rank_is_free_again_after_release() {
        let low = Mutex::new(Rank::Dictionary, 1);
        let high = RwLock::new(Rank::Log, 2);
        {
            let guard = low.lock();
            assert_eq!(*guard + *high.read(), 3);
        }
        drop(high.write());
        assert_eq!(*low.lock(), 1);
    }
}
