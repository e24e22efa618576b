//! Metadata locks: a table's description does not change while a transaction uses it, and its rows do not change while
//! a session has the table locked by LOCK TABLES.
//!
//! There is one lock per table *name*, so that a name can be locked before its table exists.
//!
//! ```text
//! holder                              mode         compatible with
//! transaction that reads              Read         Read, Write, read only
//! transaction that changes rows       Write        Read, Write
//! LOCK TABLES t READ                  read only    Read, read only
//! DDL that builds beside others       upgradable   Read, Write (or Read alone); not: read only, another DDL statement
//! DDL that reads a description        Read         Read, Write, read only: the source of CREATE TABLE ... LIKE
//! LOCK TABLES t WRITE, DDL            alone        nothing
//!
//! state word:   bit 63      alone: held or wanted, so new requests wait
//!               bit 62      read only wanted: new writers wait
//!               bit 61      upgradable: held by one DDL statement, and no other one wants the lock alone meanwhile
//!               59..40      holders that have it read only
//!               39..20      transactions that write
//!               19..0       transactions that read
//! ```
//!
//! Whoever ends to have a name alone hands it to one that waits to have it alone, and not to transactions that wait: what
//! waits behind LOCK TABLES to exchange two tables by RENAME sees no change of a row between
//! (`a_name_is_handed_to_whoever_waits_to_have_it_alone`).
//!
//! Transactions keep a lock to their end. Taking it is one compare-and-swap while no DDL wants it. A transaction that
//! holds the lock does not request it again, and a reader may become a writer even while another session waits for it
//! to end; so a waiting DDL cannot block the transactions that it waits for on this name. With two names it could: a
//! transaction that requests a name which a DDL holds, while that DDL waits for a name that the transaction holds, gets
//! [`Error::Deadlock`]. So does a DDL statement under LOCK TABLES that needs another name, such as the parent's of a foreign key,
//! whose holder waits for one of those that LOCK TABLES has; other DDL statements take their names in one order.
//!
//! A DDL statement that has its names alone may [open](MetadataGrant::open) them for the time of a long work, to
//! transactions but to no other DDL statement, and [closes](MetadataGrant::close) them again for its end. Those that want
//! a name alone in between wait without keeping transactions out. So do those that want it read only: LOCK TABLES ... READ
//! also lets its own session's cascades change the table, and FLUSH TABLES ... FOR EXPORT promises that its file rests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::names::{NameLockMode, NameLocks, address};
use super::{Interrupt, Stage};
use crate::error::{Error, Result};
use crate::gate::Health;
use crate::sync::{Condvar, Mutex, Rank, assert_may_wait};

const READER: u64 = 1;
const WRITER: u64 = 1 << 20;
const READ_ONLY: u64 = 1 << 40;
const COUNT: u64 = (1 << 20) - 1;
const UPGRADABLE: u64 = 1 << 61;
const WANTED_READ_ONLY: u64 = 1 << 62;
const ALONE: u64 = 1 << 63;
/// Waiters check the time, the interrupt, the health and a possible deadlock at this interval.
const GLANCE: Duration = Duration::from_millis(20);
/// Locks that a transaction remembers without allocating.
const INLINE: usize = 4;

/// What a transaction does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUse {
    Read,
    Write,
}

impl TableUse {
    fn holder(self) -> u64 {
        match self {
            TableUse::Read => READER,
            TableUse::Write => WRITER,
        }
    }

    fn mode(self) -> NameLockMode {
        match self {
            TableUse::Read => NameLockMode::SharedRead,
            TableUse::Write => NameLockMode::SharedWrite,
        }
    }
}

/// The lock of one table name.
#[derive(Debug)]
pub struct MetadataLock {
    state: AtomicU64,
    queue: Mutex<Queue>,
    changed: Condvar,
    health: Arc<Health>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The locks that the sessions which hold or want this lock alone or read only wait for now.
    awaited: Vec<Arc<MetadataLock>>,
    /// How many wait to have this lock alone while another session has it so.
    successors: usize,
    /// The lock has been left to one of these, which has not noticed yet.
    is_handed: bool,
}

#[cfg(test)]
impl Default for MetadataLock {
    fn default() -> MetadataLock {
        MetadataLock::new(Arc::default())
    }
}

impl MetadataLock {
    /// A lock that no session holds. Once the instance is poisoned, every wait ends.
    pub fn new(health: Arc<Health>) -> MetadataLock {
        MetadataLock {
            state: AtomicU64::new(0),
            queue: Mutex::new(Rank::Metadata, Queue::default()),
            changed: Condvar::new(),
            health,
        }
    }

    #[inline]
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> bool {
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, change).is_ok()
    }

    #[inline]
    fn try_share(&self, wanted: TableUse) -> bool {
        let closed = match wanted {
            TableUse::Read => ALONE,
            TableUse::Write => ALONE | WANTED_READ_ONLY | (COUNT * READ_ONLY),
        };
        self.change(|state| (state & closed == 0).then_some(state + wanted.holder()))
    }

    /// A reader becomes a writer. Sessions that wait for it to end keep waiting.
    fn try_upgrade(&self) -> bool {
        self.change(|state| (state & (COUNT * READ_ONLY) == 0).then_some(state - READER + WRITER))
    }

    /// Keeps writers out. False: there are writers, or a session holds or wants the lock alone, and from now on new writers
    /// wait; or a DDL statement works beside transactions.
    fn try_read_only(&self) -> bool {
        let granted = self.change(|state| {
            (state & (ALONE | UPGRADABLE | (COUNT * WRITER)) == 0).then_some((state & !WANTED_READ_ONLY) + READ_ONLY)
        });
        if !granted {
            // Writers are not kept waiting for the end of a DDL statement that works beside them.
            self.change(|state| (state & UPGRADABLE == 0).then_some(state | WANTED_READ_ONLY));
        }
        granted
    }

    #[inline]
    fn release(&self, holder: u64) {
        let before = self.state.fetch_sub(holder, Ordering::Release);
        debug_assert!(before & (COUNT * holder) > 0, "a lock is held before it is released");
        if before & (ALONE | WANTED_READ_ONLY | UPGRADABLE) != 0 || holder == READ_ONLY {
            let _queue = self.queue.lock();
            self.changed.notify_all();
        }
    }

    /// Waits until `enter` succeeds, which is called without the queue first.
    fn wait(
        &self,
        interrupt: &Interrupt,
        begin: Instant,
        limit: Duration,
        mode: NameLockMode,
        deadlock: impl Fn(&Queue) -> bool,
        mut enter: impl FnMut(Option<&mut Queue>) -> bool,
    ) -> Result<()> {
        assert_may_wait("waiting for a metadata lock");
        if enter(None) {
            return Ok(());
        }
        let _listed = interrupt.names().wait(address(self), mode);
        if let Some(scheduler) = interrupt.scheduler() {
            let mut ended = None;
            let mut ready = || {
                let mut queue = self.queue.lock();
                match () {
                    () if interrupt.is_set() => ended = Some(Error::Interrupted),
                    () if self.health.check().is_err() => ended = Some(Error::Poisoned),
                    () if deadlock(&queue) => ended = Some(Error::Deadlock),
                    () => return enter(Some(&mut queue)),
                }
                true
            };
            let went = scheduler.wait(&mut ready);
            return if went { ended.map_or(Ok(()), Err) } else { Err(Error::LockWaitTimeout) };
        }
        let mut queue = self.queue.lock();
        let mut stage = None;
        while !enter(Some(&mut queue)) {
            stage.get_or_insert_with(|| interrupt.enter(Stage::Metadata));
            self.health.check()?;
            if interrupt.ends_wait() {
                return Err(Error::Interrupted);
            }
            if begin.elapsed() >= limit {
                return Err(Error::LockWaitTimeout);
            }
            if deadlock(&queue) {
                return Err(Error::Deadlock);
            }
            self.changed.wait_for(&mut queue, GLANCE);
        }
        Ok(())
    }
}

/// The names that one transaction shares.
#[derive(Debug, Default)]
pub struct MetadataHeld {
    few: [Option<(Arc<MetadataLock>, TableUse)>; INLINE],
    more: Vec<(Arc<MetadataLock>, TableUse)>,
    /// Names that the session holds beside the transaction: a waiter for one of these waits for the transaction, too.
    beside: Option<Arc<MetadataGrant>>,
    /// Where the session lists its locks.
    listed: Option<Arc<NameLocks>>,
}

impl MetadataHeld {
    /// For a transaction whose session holds names of its own.
    pub fn beside(grant: Option<Arc<MetadataGrant>>) -> MetadataHeld {
        let mut held = MetadataHeld::default();
        held.beside = grant;
        held
    }

    fn holds(&self, lock: &MetadataLock) -> Option<TableUse> {
        let mut all = self.few.iter().flatten().chain(&self.more);
        all.find(|(held, _)| std::ptr::eq(&**held, lock)).map(|(_, held)| *held)
    }

    pub fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    /// Shares a lock, waiting while another session holds or wants it alone.
    #[inline]
    pub fn share(
        &mut self,
        lock: &Arc<MetadataLock>,
        wanted: TableUse,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<()> {
        match self.holds(lock) {
            Some(held) if held >= wanted => return Ok(()),
            Some(_) => return self.upgrade(lock, interrupt, limit),
            None => {}
        }
        if !lock.try_share(wanted) {
            let enter = |_: Option<&mut Queue>| lock.try_share(wanted);
            lock.wait(interrupt, Instant::now(), limit, wanted.mode(), |queue| self.is_awaited(queue), enter)?;
        }
        let listed = self.listed.get_or_insert_with(|| interrupt.names().clone());
        listed.add(address(&**lock), wanted.mode());
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((lock.clone(), wanted)),
            None => self.more.push((lock.clone(), wanted)),
        }
        Ok(())
    }

    /// The transaction is going to change a table that it has only read so far.
    #[cold]
    fn upgrade(&mut self, lock: &Arc<MetadataLock>, interrupt: &Interrupt, limit: Duration) -> Result<()> {
        if !lock.try_upgrade() {
            let enter = |_: Option<&mut Queue>| lock.try_upgrade();
            let mode = TableUse::Write.mode();
            lock.wait(interrupt, Instant::now(), limit, mode, |queue| self.is_awaited(queue), enter)?;
        }
        if let Some(listed) = &self.listed {
            listed.change(address(&**lock), TableUse::Read.mode(), TableUse::Write.mode());
        }
        let all = self.few.iter_mut().flatten().chain(&mut self.more);
        for (held, how) in all {
            if Arc::ptr_eq(held, lock) {
                *how = TableUse::Write;
            }
        }
        Ok(())
    }

    /// Takes over all locks of another holder.
    pub fn take_over(&mut self, mut other: MetadataHeld) {
        let few = std::mem::take(&mut other.few);
        let all = few.into_iter().flatten().chain(std::mem::take(&mut other.more));
        for held in all {
            other.unlist(&held.0, held.1);
            if let Some(listed) = &self.listed {
                listed.add(address(&*held.0), held.1.mode());
            }
            match self.few.iter_mut().find(|place| place.is_none()) {
                Some(place) => *place = Some(held),
                None => self.more.push(held),
            }
        }
    }

    fn unlist(&self, lock: &MetadataLock, used: TableUse) {
        if let Some(listed) = &self.listed {
            listed.remove(address(lock), used.mode());
        }
    }

    /// Whether a session that blocks the request waits for this transaction.
    fn is_awaited(&self, queue: &Queue) -> bool {
        let granted = |lock: &MetadataLock| self.beside.as_ref().is_some_and(|grant| grant.allows(lock).is_some());
        queue.awaited.iter().any(|awaited| self.holds(awaited).is_some() || granted(awaited))
    }

    /// Releases everything, at the end of the transaction.
    #[inline]
    pub fn release_all(&mut self) {
        for at in 0..INLINE {
            match self.few[at].take() {
                Some((lock, held)) => {
                    self.unlist(&lock, held);
                    lock.release(held.holder());
                }
                None => return,
            }
        }
        for (lock, held) in std::mem::take(&mut self.more) {
            self.unlist(&lock, held);
            lock.release(held.holder());
        }
    }
}

impl Drop for MetadataHeld {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// Names that a DDL statement or LOCK TABLES holds, until this is dropped.
#[derive(Debug, Default)]
pub struct MetadataGrant {
    alone: Vec<Arc<MetadataLock>>,
    /// Alone before, and open to others now.
    opened: Vec<Arc<MetadataLock>>,
    /// Whether the opened ones are open to readers only.
    keeps_writers_out: bool,
    read_only: Vec<Arc<MetadataLock>>,
    /// Shared with transactions: only their descriptions are to stay.
    shared: Vec<Arc<MetadataLock>>,
    /// What LOCK TABLES holds for the same session: a waiter for one of these waits for the statement, too.
    beside: Option<Arc<MetadataGrant>>,
    listed: Option<(Arc<NameLocks>, GrantOf)>,
}

/// What takes names alone, and others to read. LOCK TABLES reads rows, which nobody is to change meanwhile; a definition reads
/// the description of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantOf {
    Definition,
    LockTables,
}

impl GrantOf {
    fn mode(self, wanted: TableUse) -> NameLockMode {
        match (wanted, self) {
            (TableUse::Read, GrantOf::LockTables) => NameLockMode::SharedReadOnly,
            (TableUse::Read, GrantOf::Definition) => NameLockMode::SharedRead,
            (TableUse::Write, GrantOf::LockTables) => NameLockMode::SharedNoReadWrite,
            (TableUse::Write, GrantOf::Definition) => NameLockMode::Exclusive,
        }
    }
}

impl MetadataGrant {
    /// Takes all of `locks` alone, in the order given, which must be the same for every caller (by name). Each name
    /// once.
    pub fn take(locks: Vec<Arc<MetadataLock>>, interrupt: &Interrupt, limit: Duration) -> Result<MetadataGrant> {
        let locks = locks.into_iter().map(|lock| (lock, TableUse::Write)).collect();
        MetadataGrant::take_for(GrantOf::Definition, locks, interrupt, limit)
    }

    /// The same, but locks that are only to be read keep out only writers (LOCK TABLES), or only definitions.
    pub fn take_for(
        of: GrantOf,
        locks: Vec<(Arc<MetadataLock>, TableUse)>,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<MetadataGrant> {
        MetadataGrant::take_beside(None, of, locks, interrupt, limit)
    }

    /// The same for a session that has names by LOCK TABLES.
    pub fn take_beside(
        beside: Option<Arc<MetadataGrant>>,
        of: GrantOf,
        locks: Vec<(Arc<MetadataLock>, TableUse)>,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<MetadataGrant> {
        let mut grant = MetadataGrant::default();
        grant.beside = beside;
        grant.listed = Some((interrupt.names().clone(), of));
        grant.extend(of, locks, interrupt, limit)?;
        Ok(grant)
    }

    /// Takes more names, beside those that it has. After an error it has a part of them.
    pub fn extend(
        &mut self,
        of: GrantOf,
        locks: Vec<(Arc<MetadataLock>, TableUse)>,
        interrupt: &Interrupt,
        limit: Duration,
    ) -> Result<()> {
        let begin = Instant::now();
        for (lock, wanted) in locks {
            self.each(|held| held.queue.lock().awaited.push(lock.clone()));
            let deadlock = |queue: &Queue| queue.awaited.iter().any(|awaited| self.holds(awaited));
            let outcome = match (wanted, of) {
                (TableUse::Read, GrantOf::LockTables) => lock.take_read_only(interrupt, begin, limit, deadlock),
                (TableUse::Read, GrantOf::Definition) => lock.take_shared(interrupt, begin, limit, deadlock),
                (TableUse::Write, _) => lock.take_alone(of, interrupt, begin, limit, deadlock),
            };
            self.each(|held| held.forget_awaited(&lock));
            outcome?;
            interrupt.names().add(address(&*lock), of.mode(wanted));
            match (wanted, of) {
                (TableUse::Read, GrantOf::LockTables) => self.read_only.push(lock),
                (TableUse::Read, GrantOf::Definition) => self.shared.push(lock),
                (TableUse::Write, _) => self.alone.push(lock),
            }
        }
        Ok(())
    }

    fn each(&self, tell: impl Fn(&MetadataLock)) {
        let beside = self.beside.iter().flat_map(|beside| beside.names());
        self.names().chain(beside).for_each(|lock| tell(lock));
    }

    fn names(&self) -> impl Iterator<Item = &Arc<MetadataLock>> {
        self.alone.iter().chain(&self.opened).chain(&self.read_only).chain(&self.shared)
    }

    /// Whether the session has a name in any way.
    fn holds(&self, lock: &Arc<MetadataLock>) -> bool {
        let mut beside = self.beside.iter().flat_map(|beside| beside.names());
        self.names().any(|held| Arc::ptr_eq(held, lock)) || beside.any(|held| Arc::ptr_eq(held, lock))
    }

    /// How opened names are listed.
    fn opened_mode(&self) -> NameLockMode {
        match self.keeps_writers_out {
            true => NameLockMode::SharedNoWrite,
            false => NameLockMode::SharedUpgradable,
        }
    }

    fn relist(&self, from: NameLockMode, to: NameLockMode, locks: &[Arc<MetadataLock>]) {
        if let Some((listed, _)) = &self.listed {
            locks.iter().for_each(|lock| listed.change(address(&**lock), from, to));
        }
    }

    /// Lets transactions use the names that this statement has alone, to read and, unless `readers_only`, to write. No
    /// other statement gets them alone meanwhile.
    pub fn open(&mut self, readers_only: bool) {
        debug_assert!(self.opened.is_empty(), "names are opened once");
        self.keeps_writers_out = readers_only;
        self.opened = std::mem::take(&mut self.alone);
        self.relist(NameLockMode::Exclusive, self.opened_mode(), &self.opened);
        self.opened.iter().for_each(|lock| lock.open(readers_only));
    }

    /// Takes the opened names alone again: waits for the transactions that use them. After an error they may be partly
    /// open, and the statement has to end.
    pub fn close(&mut self, interrupt: &Interrupt, limit: Duration) -> Result<()> {
        let begin = Instant::now();
        let mode = self.opened_mode();
        while let Some(lock) = self.opened.first().cloned() {
            self.each(|held| held.queue.lock().awaited.push(lock.clone()));
            let outcome = lock.close(self.keeps_writers_out, interrupt, begin, limit);
            self.each(|held| held.forget_awaited(&lock));
            outcome?;
            self.opened.remove(0);
            self.relist(mode, NameLockMode::Exclusive, std::slice::from_ref(&lock));
            self.alone.push(lock);
        }
        Ok(())
    }

    /// Releases one of the names.
    pub fn release(&mut self, lock: &MetadataLock) {
        let is_it = |held: &Arc<MetadataLock>| std::ptr::eq(&**held, lock);
        let mut released = MetadataGrant::default();
        released.listed = self.listed.clone();
        released.alone = self.alone.extract_if(.., |held| is_it(held)).collect();
        released.read_only = self.read_only.extract_if(.., |held| is_it(held)).collect();
        released.shared = self.shared.extract_if(.., |held| is_it(held)).collect();
    }

    /// What may be done with a name under this grant; None: it is not among its names.
    #[inline]
    pub fn allows(&self, lock: &MetadataLock) -> Option<TableUse> {
        let has = |locks: &[Arc<MetadataLock>]| locks.iter().any(|held| std::ptr::eq(&**held, lock));
        match () {
            () if has(&self.alone) => Some(TableUse::Write),
            () if has(&self.read_only) || has(&self.shared) => Some(TableUse::Read),
            () => None,
        }
    }
}

impl MetadataLock {
    fn take_alone(
        &self,
        of: GrantOf,
        interrupt: &Interrupt,
        begin: Instant,
        limit: Duration,
        deadlock: impl Fn(&Queue) -> bool,
    ) -> Result<()> {
        let (mut mine, mut succeeds) = (false, false);
        let outcome = self.wait(interrupt, begin, limit, of.mode(TableUse::Write), deadlock, |queue| {
            // First keep new transactions out, then wait for those that hold the lock.
            // While a DDL statement has it upgradable, transactions are not kept waiting for its end.
            if !mine {
                mine = self.change(|state| (state & (ALONE | UPGRADABLE) == 0).then_some(state | ALONE));
            }
            if let Some(queue) = queue {
                if !mine && queue.is_handed {
                    queue.is_handed = false;
                    mine = true;
                }
                match (mine, succeeds) {
                    (true, true) => queue.successors -= 1,
                    (false, false) => queue.successors += 1,
                    _ => {}
                }
                succeeds = !mine;
            }
            mine && self.state.load(Ordering::Acquire) & !WANTED_READ_ONLY == ALONE
        });
        if succeeds {
            self.queue.lock().successors -= 1;
        }
        if outcome.is_err() && (mine || succeeds) {
            self.leave_alone(mine);
        }
        outcome
    }

    fn take_read_only(
        &self,
        interrupt: &Interrupt,
        begin: Instant,
        limit: Duration,
        deadlock: impl Fn(&Queue) -> bool,
    ) -> Result<()> {
        let outcome =
            self.wait(interrupt, begin, limit, NameLockMode::SharedReadOnly, deadlock, |_| self.try_read_only());
        if outcome.is_err() {
            // Other waiters for the same lock set the bit again at their next check.
            let _queue = self.queue.lock();
            self.state.fetch_and(!WANTED_READ_ONLY, Ordering::Relaxed);
            self.changed.notify_all();
        }
        outcome
    }

    fn take_shared(
        &self,
        interrupt: &Interrupt,
        begin: Instant,
        limit: Duration,
        deadlock: impl Fn(&Queue) -> bool,
    ) -> Result<()> {
        let enter = |_: Option<&mut Queue>| self.try_share(TableUse::Read);
        self.wait(interrupt, begin, limit, NameLockMode::SharedRead, deadlock, enter)
    }

    /// From alone to upgradable.
    fn open(&self, readers_only: bool) {
        let _queue = self.queue.lock();
        let more = if readers_only { UPGRADABLE + READ_ONLY } else { UPGRADABLE };
        self.change(|state| Some((state & !ALONE) + more));
        self.changed.notify_all();
    }

    /// From upgradable to alone.
    fn close(&self, readers_only: bool, interrupt: &Interrupt, begin: Instant, limit: Duration) -> Result<()> {
        // Nobody else sets the bit while this one has it upgradable. New transactions wait from here on.
        self.state.fetch_or(ALONE, Ordering::Acquire);
        let own = if readers_only { ALONE + UPGRADABLE + READ_ONLY } else { ALONE + UPGRADABLE };
        let outcome = self.wait(
            interrupt,
            begin,
            limit,
            NameLockMode::Exclusive,
            |_| false,
            |_| self.change(|state| (state & !WANTED_READ_ONLY == own).then_some(ALONE | (state & WANTED_READ_ONLY))),
        );
        if outcome.is_err() {
            self.release_alone();
        }
        outcome
    }

    fn release_opened(&self, readers_only: bool) {
        let _queue = self.queue.lock();
        let held = if readers_only { UPGRADABLE + READ_ONLY } else { UPGRADABLE };
        self.state.fetch_sub(held, Ordering::Release);
        self.changed.notify_all();
    }

    fn forget_awaited(&self, lock: &Arc<MetadataLock>) {
        let awaited = &mut self.queue.lock().awaited;
        if let Some(at) = awaited.iter().position(|other| Arc::ptr_eq(other, lock)) {
            awaited.swap_remove(at);
        }
    }

    fn release_alone(&self) {
        self.leave_alone(true);
    }

    /// Leaves the lock to one that waits to have it alone, or to all. `had_it`: it was held; otherwise only what was
    /// handed to a session that does not wait any more is left.
    fn leave_alone(&self, had_it: bool) {
        let mut queue = self.queue.lock();
        if had_it || queue.is_handed {
            let is_upgradable = self.state.load(Ordering::Relaxed) & UPGRADABLE != 0;
            queue.is_handed = queue.successors > 0 && !is_upgradable;
            if !queue.is_handed {
                self.state.fetch_and(!ALONE, Ordering::Release);
            }
        }
        self.changed.notify_all();
    }
}

impl Drop for MetadataGrant {
    fn drop(&mut self) {
        let unlist = |lock: &MetadataLock, wanted| {
            if let Some((listed, of)) = &self.listed {
                listed.remove(address(lock), of.mode(wanted));
            }
        };
        for lock in self.alone.drain(..) {
            unlist(&lock, TableUse::Write);
            lock.release_alone();
        }
        let mode = self.opened_mode();
        for lock in self.opened.drain(..) {
            if let Some((listed, _)) = &self.listed {
                listed.remove(address(&*lock), mode);
            }
            lock.release_opened(self.keeps_writers_out);
        }
        for lock in self.read_only.drain(..) {
            unlist(&lock, TableUse::Read);
            lock.release(READ_ONLY);
        }
        for lock in self.shared.drain(..) {
            unlist(&lock, TableUse::Read);
            lock.release(READER);
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
        reader.share(&lock, TableUse::Read, &interrupt, LONG).unwrap();
        let changing = {
            let lock = lock.clone();
            std::thread::spawn(move || drop(MetadataGrant::take(vec![lock], &Interrupt::new(), LONG).unwrap()))
        };
        while lock.state.load(Ordering::Relaxed) & ALONE == 0 {
            std::thread::yield_now();
        }
        let mut newcomer = MetadataHeld::default();
        let outcome = newcomer.share(&lock, TableUse::Read, &interrupt, Duration::from_millis(1));
        assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
        reader.share(&lock, TableUse::Read, &interrupt, LONG).unwrap(); // It holds the lock already.
        reader.release_all();
        changing.join().unwrap();
        newcomer.share(&lock, TableUse::Read, &interrupt, LONG).unwrap();
        drop(newcomer);
        assert!(is_free(&lock));
    }

    #[test]
    fn a_circle_over_two_names_is_a_deadlock() {
        let (a, b) = (Arc::new(MetadataLock::default()), Arc::new(MetadataLock::default()));
        let mut reader = MetadataHeld::default();
        reader.share(&b, TableUse::Read, &Interrupt::new(), LONG).unwrap();
        let changing = {
            let locks = vec![a.clone(), b.clone()];
            std::thread::spawn(move || drop(MetadataGrant::take(locks, &Interrupt::new(), LONG).unwrap()))
        };
        while b.state.load(Ordering::Relaxed) & ALONE == 0 {
            std::thread::yield_now();
        }
        assert!(matches!(reader.share(&a, TableUse::Read, &Interrupt::new(), LONG), Err(Error::Deadlock)));
        reader.release_all();
        changing.join().unwrap();
        assert!(is_free(&a) && is_free(&b));
    }

    #[test]
    fn readers_go_along_with_those_who_lock_for_reading_and_writers_do_not() {
        let lock = Arc::new(MetadataLock::default());
        let (interrupt, short) = (Interrupt::new(), Duration::from_millis(1));
        let read_only = |limit| {
            MetadataGrant::take_for(GrantOf::LockTables, vec![(lock.clone(), TableUse::Read)], &interrupt, limit)
        };
        let (first, second) = (read_only(LONG).unwrap(), read_only(LONG).unwrap());
        assert_eq!((first.allows(&lock), first.allows(&MetadataLock::default())), (Some(TableUse::Read), None));
        let mut reader = MetadataHeld::default();
        reader.share(&lock, TableUse::Read, &interrupt, LONG).unwrap();
        // Neither a new writer nor a reader that begins to write.
        let mut writer = MetadataHeld::default();
        let outcome = writer.share(&lock, TableUse::Write, &interrupt, short);
        assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
        assert!(matches!(reader.share(&lock, TableUse::Write, &interrupt, short), Err(Error::LockWaitTimeout)));
        drop((first, second));
        reader.share(&lock, TableUse::Write, &interrupt, LONG).unwrap();
        assert!(matches!(read_only(short), Err(Error::LockWaitTimeout)));
        // An abandoned wait keeps no one out.
        writer.share(&lock, TableUse::Write, &interrupt, LONG).unwrap();
        drop((reader, writer));
        assert!(is_free(&lock));
    }

    #[test]
    fn who_reads_a_description_goes_along_with_writers_and_keeps_out_other_definitions() {
        let lock = Arc::new(MetadataLock::default());
        let (interrupt, short) = (Interrupt::new(), Duration::from_millis(1));
        let mut writer = MetadataHeld::default();
        writer.share(&lock, TableUse::Write, &interrupt, LONG).unwrap();
        let wanted = vec![(lock.clone(), TableUse::Read)];
        let reads = MetadataGrant::take_for(GrantOf::Definition, wanted, &interrupt, short).unwrap();
        assert_eq!(reads.allows(&lock), Some(TableUse::Read));
        drop(writer);
        assert!(matches!(MetadataGrant::take(vec![lock.clone()], &interrupt, short), Err(Error::LockWaitTimeout)));
        MetadataHeld::default().share(&lock, TableUse::Write, &interrupt, short).unwrap();
        drop(reads);
        assert!(is_free(&lock));
    }

    #[test]
    fn an_opened_name_is_open_to_transactions_and_to_no_other_statement() {
        let lock = Arc::new(MetadataLock::default());
        let (interrupt, short) = (Interrupt::new(), Duration::from_millis(30));
        for readers_only in [false, true] {
            let mut grant = MetadataGrant::take(vec![lock.clone()], &interrupt, LONG).unwrap();
            grant.open(readers_only);
            // One that wants it alone waits, and keeps nobody out meanwhile.
            let second = {
                let lock = lock.clone();
                std::thread::spawn(move || {
                    let outcome = MetadataGrant::take(vec![lock], &Interrupt::new(), Duration::from_millis(60));
                    assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
                })
            };
            let mut user = MetadataHeld::default();
            user.share(&lock, TableUse::Read, &interrupt, short).unwrap();
            let outcome = user.share(&lock, TableUse::Write, &interrupt, short);
            assert_eq!(outcome.is_err(), readers_only);
            second.join().unwrap();
            // The end waits for the transaction, and lets new ones in again if it gives up.
            assert!(matches!(grant.close(&interrupt, short), Err(Error::LockWaitTimeout)));
            let mut other = MetadataHeld::default();
            other.share(&lock, TableUse::Read, &interrupt, short).unwrap();
            drop((user, other));
            grant.close(&interrupt, short).unwrap();
            assert!(MetadataHeld::default().share(&lock, TableUse::Read, &interrupt, short).is_err());
            drop(grant);
            assert!(is_free(&lock));
            let mut grant = MetadataGrant::take(vec![lock.clone()], &interrupt, LONG).unwrap();
            grant.open(readers_only);
            drop(grant);
            assert!(is_free(&lock));
        }
    }

    #[test]
    fn whoever_wants_an_opened_name_read_only_waits_and_keeps_no_writer_out() {
        let lock = Arc::new(MetadataLock::default());
        let (interrupt, short) = (Interrupt::new(), Duration::from_millis(30));
        let mut grant = MetadataGrant::take(vec![lock.clone()], &interrupt, LONG).unwrap();
        grant.open(false);
        let other = {
            let lock = lock.clone();
            std::thread::spawn(move || {
                let wanted = vec![(lock, TableUse::Read)];
                MetadataGrant::take_for(GrantOf::LockTables, wanted, &Interrupt::new(), LONG).unwrap();
            })
        };
        std::thread::sleep(short);
        let mut user = MetadataHeld::default();
        user.share(&lock, TableUse::Write, &interrupt, short).unwrap();
        drop(user);
        grant.close(&interrupt, LONG).unwrap();
        drop(grant);
        other.join().unwrap();
        assert!(is_free(&lock));
    }

    #[test]
    fn a_name_is_handed_to_whoever_waits_to_have_it_alone() {
        let lock = Arc::new(MetadataLock::default());
        for round in 0..200 {
            let holder = MetadataGrant::take(vec![lock.clone()], &Interrupt::new(), LONG).unwrap();
            let renamed = Arc::new(AtomicU64::new(0));
            std::thread::scope(|threads| {
                for _ in 0..3 {
                    threads.spawn(|| {
                        let mut writer = MetadataHeld::default();
                        writer.share(&lock, TableUse::Write, &Interrupt::new(), LONG).unwrap();
                        assert_eq!(renamed.load(Ordering::Relaxed), 1, "a writer came before the one who waits alone");
                    });
                }
                threads.spawn(|| {
                    let _grant = MetadataGrant::take(vec![lock.clone()], &Interrupt::new(), LONG).unwrap();
                    renamed.store(1, Ordering::Relaxed);
                });
                while lock.queue.lock().successors != 1 {
                    std::thread::yield_now();
                }
                // Another one that gives up leaves its turn to it.
                threads.spawn(|| {
                    let limit = Duration::from_micros(50 * round);
                    let outcome = MetadataGrant::take(vec![lock.clone()], &Interrupt::new(), limit);
                    assert!(matches!(outcome, Ok(_) | Err(Error::LockWaitTimeout)));
                });
                std::thread::sleep(Duration::from_micros(300));
                drop(holder);
            });
            assert!(is_free(&lock));
            assert_eq!(lock.queue.lock().successors, 0);
        }
    }

    #[test]
    fn a_reader_may_write_though_somebody_waits_for_its_end() {
        let lock = Arc::new(MetadataLock::default());
        let mut reader = MetadataHeld::default();
        reader.share(&lock, TableUse::Read, &Interrupt::new(), LONG).unwrap();
        let changing = {
            let lock = lock.clone();
            std::thread::spawn(move || drop(MetadataGrant::take(vec![lock], &Interrupt::new(), LONG).unwrap()))
        };
        while lock.state.load(Ordering::Relaxed) & ALONE == 0 {
            std::thread::yield_now();
        }
        reader.share(&lock, TableUse::Write, &Interrupt::new(), LONG).unwrap();
        drop(reader);
        changing.join().unwrap();
        assert!(is_free(&lock));
    }
}
