//! Owners of locks: what each transaction shows to others, and where others may add to its locks.
//!
//! ```text
//! Held (the transaction's thread)            Owner (shared)
//! +---------------------------+     +----------------------------------+
//! | ids of its locks          |     | locks that others made explicit  |
//! | shared ------------------------>| since when, session, changes     |
//! +---------------------------+     | tables it uses: IS or IX         |
//!                                   +----------------------------------+
//! ```
//!
//! A thread passes both parts on from one transaction to its next, unless another thread still uses the old one: so a
//! transaction with few locks allocates nothing.
//!
//! An *intention* on a table says that a transaction has rows of it locked (IS: to read, IX: to change). A session that
//! wants a whole table requests its metadata lock, which knows readers and writers; so intentions exclude no one here.
//! They are kept for the views of locks.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use format::ids::{TableId, TrxId};
use rustc_hash::FxHashMap;

use super::order::CommitPlace;
use super::waiter::Waiter;
use super::waits::Waits;
use super::{LockId, LockMode, LockRequest};
use crate::sync::{Mutex, Rank};

/// Intentions that a transaction shows without allocating.
const INLINE: usize = 4;

/// What the layers above want to find when they list a transaction's locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerIdentity {
    /// The connection; 0 = the engine's own.
    pub session: u64,
    /// The isolation level, as the layer above numbers it.
    pub isolation: u8,
    pub read_only: bool,
}

/// The part of a transaction that others may reach.
#[derive(Debug)]
pub(super) struct Owner {
    pub foreign: Mutex<Foreign>,
    identity: OwnerIdentity,
    began: Instant,
    changes: AtomicU64,
    rolling_back: AtomicBool,
    /// Whether another transaction may have begun to wait for a lock that this one holds. Once set it stays.
    awaited: AtomicBool,
    tables: Mutex<Intended>,
}

/// Locks that other transactions added to this one.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    pub ended: bool,
    pub ids: Vec<LockId>,
}

#[derive(Debug, Default)]
struct Intended {
    few: [Option<(TableId, LockMode)>; INLINE],
    more: Vec<(TableId, LockMode)>,
}

impl Intended {
    fn add(&mut self, table: TableId, mode: LockMode) {
        let places = self.few.iter_mut().flatten().chain(&mut self.more);
        if let Some(known) = places.into_iter().find(|known| known.0 == table) {
            known.1 = known.1.max(mode);
            return;
        }
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((table, mode)),
            None => self.more.push((table, mode)),
        }
    }

    fn list(&self) -> Vec<(TableId, LockMode)> {
        self.few.iter().flatten().chain(&self.more).copied().collect()
    }
}

impl Owner {
    fn new(identity: OwnerIdentity) -> Owner {
        Owner {
            foreign: Mutex::new(Rank::Leaf, Foreign::default()),
            identity,
            began: Instant::now(),
            changes: AtomicU64::new(0),
            rolling_back: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            tables: Mutex::new(Rank::Leaf, Intended::default()),
        }
    }

    /// Another transaction waits for a lock that this one holds.
    pub fn note_awaited(&self) {
        self.awaited.store(true, Ordering::Relaxed);
    }

    /// Whether the transaction may close a cycle when it begins to wait.
    pub fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Relaxed)
    }
}

/// The locks of one transaction; only its own thread uses this.
#[derive(Debug, Default)]
pub struct Held {
    pub(super) owner: TrxId,
    pub(super) shared: Option<Arc<Owner>>,
    pub(super) ids: Vec<LockId>,
    pub(super) waiter: Option<Arc<Waiter>>,
    identity: OwnerIdentity,
    /// The place in the order of commits, if it has one.
    pub(super) place: Option<Arc<dyn CommitPlace>>,
    /// The intention that was shown last: mostly the next one is the same.
    intended: Option<(TableId, LockMode)>,
}

/// A transaction that may hold locks, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerInfo {
    pub trx: TrxId,
    pub identity: OwnerIdentity,
    /// When it got its id.
    pub began: Instant,
    pub changes: u64,
    pub rolling_back: bool,
    /// Tables of which it has or wants rows locked: Shared = IS, Exclusive = IX.
    pub tables: Vec<(TableId, LockMode)>,
    /// What it waits for, and since when.
    pub waiting: Option<(LockRequest, Instant)>,
}

impl Held {
    /// Sets the identity of the locks' owner.
    pub fn identify(&mut self, identity: OwnerIdentity) {
        self.identity = identity;
    }

    /// Gives the transaction, which has no id yet, a place in the order of commits.
    pub fn order(&mut self, place: Option<Arc<dyn CommitPlace>>) {
        self.place = place;
    }

    /// Its place in the order of commits.
    pub fn place(&self) -> Option<Arc<dyn CommitPlace>> {
        self.place.clone()
    }

    /// The transaction that owns these locks; 0 before it has an id.
    #[inline]
    pub fn owner(&self) -> TrxId {
        self.owner
    }

    /// How many locks it took itself.
    #[inline]
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The transaction, which has an id, is going to lock rows of a table.
    #[inline]
    pub fn intend(&mut self, table: TableId, mode: LockMode) {
        if self.intended.is_none_or(|(last, shown)| last != table || shown < mode) {
            self.show_intention(table, mode);
        }
    }

    #[cold]
    fn show_intention(&mut self, table: TableId, mode: LockMode) {
        if let Some(shared) = &self.shared {
            shared.tables.lock().add(table, mode);
            self.intended = Some((table, mode));
        }
    }

    /// Shows how many changes it has made so far.
    #[inline]
    pub fn show_changes(&self, changes: u64) {
        if let Some(shared) = &self.shared {
            shared.changes.store(changes, Ordering::Relaxed);
        }
    }

    /// Shows that it is being undone.
    pub fn show_rollback(&self) {
        if let Some(shared) = &self.shared {
            shared.rolling_back.store(true, Ordering::Relaxed);
        }
    }
}

thread_local! {
    /// What the last transaction of this thread left for the next one: mostly a connection's thread runs one after the
    /// other.
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

struct Spare {
    shared: Arc<Owner>,
    ids: Vec<LockId>,
}

/// Lists of locks longer than this are not kept.
const IDS_KEPT: usize = 256;

impl Held {
    /// A transaction begins.
    fn equip(&mut self) -> Arc<Owner> {
        let owner = Owner::new(self.identity);
        let Some(mut spare) = SPARE.take() else { return Arc::new(owner) };
        self.ids = spare.ids;
        match Arc::get_mut(&mut spare.shared) {
            Some(place) => {
                *place = owner;
                spare.shared
            }
            None => Arc::new(owner),
        }
    }

    /// It has ended, and its locks are released.
    pub(super) fn retire(&mut self, shared: Arc<Owner>) {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        ids.shrink_to(IDS_KEPT);
        // The thread may be ending.
        let _ = SPARE.try_with(|spare| spare.set(Some(Spare { shared, ids })));
    }
}

/// All transactions that may hold locks: to find the owner of an implicit lock, and for views.
pub(super) struct Owners(Mutex<FxHashMap<TrxId, Arc<Owner>>>);

impl Owners {
    pub fn new() -> Owners {
        Owners(Mutex::new(Rank::Transaction, FxHashMap::default()))
    }

    /// A transaction has been given an id: from now on it may hold locks.
    pub fn begin(&self, held: &mut Held, owner: TrxId) {
        assert!(held.ids.is_empty() && held.shared.is_none(), "locks of an earlier transaction are released");
        let shared = held.equip();
        self.0.lock().insert(owner, shared.clone());
        held.owner = owner;
        held.shared = Some(shared);
        held.intended = None;
    }

    /// The transaction ends, and no other adds to its locks any more. Returns the locks that others have added so far.
    pub fn end(&self, owner: TrxId, shared: &Owner) -> Vec<LockId> {
        self.0.lock().remove(&owner);
        let mut foreign = shared.foreign.lock();
        foreign.ended = true;
        std::mem::take(&mut foreign.ids)
    }

    pub fn get(&self, owner: TrxId) -> Option<Arc<Owner>> {
        self.0.lock().get(&owner).cloned()
    }

    /// Tells the holders of a lock that another transaction waits for it.
    pub fn note_awaited(&self, holders: impl Iterator<Item = TrxId>) {
        let owners = self.0.lock();
        holders.filter_map(|holder| owners.get(&holder)).for_each(|owner| owner.note_awaited());
    }

    /// All of them, oldest first.
    pub fn list(&self, waits: &Mutex<Waits>) -> Vec<OwnerInfo> {
        let mut owners: Vec<_> = self.0.lock().iter().map(|(trx, owner)| (*trx, owner.clone())).collect();
        owners.sort_unstable_by_key(|(trx, _)| *trx);
        let waits = waits.lock();
        let info = |(trx, owner): (TrxId, Arc<Owner>)| OwnerInfo {
            trx,
            identity: owner.identity,
            began: owner.began,
            changes: owner.changes.load(Ordering::Relaxed),
            rolling_back: owner.rolling_back.load(Ordering::Relaxed),
            tables: owner.tables.lock().list(),
            waiting: waits.get(trx).map(|wait| (wait.wanted, wait.since)),
        };
        owners.into_iter().map(info).collect()
    }

    /// What a transaction shows to others, for a report: its identity, age and changes.
    pub fn identity(&self, trx: TrxId) -> Option<(OwnerIdentity, Duration, u64)> {
        let owner = self.get(trx)?;
        Some((owner.identity, owner.began.elapsed(), owner.changes.load(Ordering::Relaxed)))
    }
}
