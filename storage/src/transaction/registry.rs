//! The registry of active transactions, and the counters that outlive a restart.
//!
//! ```text
//! transaction system page (space 0, page 5)         dictionary header page (space 0, page 7)
//!     38  8  next transaction id, rounded up            38  8  next DB_ROW_ID, rounded up
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use format::ids::{Lsn, PageId, PageNo, SpaceId, TrxId};
use format::page::undo::{TRX_SYS_NEXT_ID, TRX_SYS_PAGE};

use super::ReadView;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::store::Store;
use crate::sync::{Mutex, Rank, RwLock};

/// The page of the transaction id.
pub const SYSTEM_PAGE: PageId = PageId::new(SpaceId(0), PageNo(TRX_SYS_PAGE));
const ROW_ID_PAGE: PageId = PageId::new(SpaceId(0), PageNo(7));
const ROW_ID_OFFSET: usize = 38;

/// The first id of a new instance. Smaller ones mean "before all".
const FIRST_ID: u64 = 256;
/// The first DB_ROW_ID of a new instance, as in InnoDB.
const FIRST_ROW_ID: u64 = 0x200;
/// The persistent copy is ahead by up to this many; a start skips as many.
const MARGIN: u64 = if cfg!(test) { 4 } else { 256 };

/// A counter that is read is less than this, so that there is room for ids behind it.
const ID_MAX: u64 = TrxId::MAX.0 - 4 * MARGIN;

/// Closed views are removed from the list whenever it has grown by this many.
const CLEANUP_VIEWS: usize = 64;

/// Places of [`ActiveIds`]: mostly more than the number of concurrent transactions.
const PLACES: usize = if cfg!(test) { 4 } else { 4096 };

/// A set of active ids that readers check without waiting for each other: a reader looks up the writer of every row
/// that it did not write itself.
///
/// An id has one place, by its remainder. Of two active ids with the same place the later one goes into an extra list;
/// ids share a place only thousands of transactions apart, so that list is empty except while an old transaction
/// occupies the place of a later one.
struct ActiveIds {
    places: Box<[AtomicU64]>,
    beside: RwLock<Vec<u64>>,
    beside_count: AtomicUsize,
}

impl ActiveIds {
    fn new() -> ActiveIds {
        ActiveIds {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            beside: RwLock::new(Rank::Leaf, Vec::new()),
            beside_count: AtomicUsize::new(0),
        }
    }

    fn place(&self, id: u64) -> &AtomicU64 {
        &self.places[id as usize % PLACES]
    }

    /// Adds an id. Only one thread at a time changes the set.
    fn insert(&self, id: TrxId) {
        let place = self.place(id.0);
        if place.load(Ordering::Relaxed) == 0 {
            place.store(id.0, Ordering::Release);
        } else {
            self.beside.write().push(id.0);
            self.beside_count.fetch_add(1, Ordering::Release);
        }
    }

    /// Removes an id. Only one thread at a time changes the set.
    fn remove(&self, id: TrxId) {
        let place = self.place(id.0);
        if place.load(Ordering::Relaxed) == id.0 {
            place.store(0, Ordering::Release);
        } else {
            self.beside_count.fetch_sub(1, Ordering::Release);
            self.beside.write().retain(|other| *other != id.0);
        }
    }

    #[inline]
    fn contains(&self, id: TrxId) -> bool {
        self.place(id.0).load(Ordering::Acquire) == id.0
            || self.beside_count.load(Ordering::Acquire) > 0 && self.beside.read().contains(&id.0)
    }
}

/// See the module header.
pub struct Registry {
    state: Mutex<State>,
    /// Counts begins and ends of active transactions: a view taken at this count is still valid.
    version: AtomicU64,
    /// The smallest active id, or the next one if none is active.
    oldest: AtomicU64,
    /// The active ids, to be read without the mutex.
    active_ids: ActiveIds,
    /// The newest view, for the next reader.
    current: RwLock<Current>,
    /// All views that may still be in use. A view that only this list holds is closed.
    views: Mutex<Vec<Arc<ReadView>>>,
    /// The LSN of the newest commit.
    newest_commit: AtomicU64,
    row_id: AtomicU64,
    row_id_limit: AtomicU64,
    /// Held while a persistent copy is advanced.
    persisting: Mutex<()>,
}

struct State {
    next: u64,
    /// The persistent copy: smaller ids may be given.
    limit: u64,
    /// Ascending.
    active: Vec<TrxId>,
    /// Commit numbers of transactions that are about to end, ascending.
    committing: VecDeque<TrxId>,
}

impl State {
    /// Removes a finished commit number.
    fn uncommit(&mut self, number: TrxId) {
        if let Ok(at) = self.committing.binary_search(&number) {
            self.committing.remove(at);
        }
    }
}

#[derive(Default)]
struct Current {
    version: u64,
    view: Option<Arc<ReadView>>,
}

impl Registry {
    /// Writes the first values into the pages of a new instance. Both pages are latched by `mtr` or can be.
    pub fn create(mtr: &mut Mtr<'_>) -> Result<()> {
        let page = mtr.latch_exclusive(SYSTEM_PAGE)?;
        mtr.write(page, TRX_SYS_NEXT_ID, &FIRST_ID.to_be_bytes());
        let page = mtr.latch_exclusive(ROW_ID_PAGE)?;
        mtr.write(page, ROW_ID_OFFSET, &FIRST_ROW_ID.to_be_bytes());
        Ok(())
    }

    /// Reads the counters, skipping what may have been given before the last stop.
    pub fn open(store: &Store) -> Result<Registry> {
        // What is on a damaged page must not make ids that no row has room for, or that start again at 0.
        let read = |page, offset| -> Result<u64> {
            let counter = format::bytes::get_u64(&store.read(page)?, offset);
            match counter < ID_MAX {
                true => Ok(counter),
                false => Err(Error::corrupt_page(page, "a counter of transactions or rows that is beyond its end")),
            }
        };
        let next = read(SYSTEM_PAGE, TRX_SYS_NEXT_ID)? + 2 * MARGIN;
        let row_id = read(ROW_ID_PAGE, ROW_ID_OFFSET)? + MARGIN;
        Ok(Registry {
            // At the first use the limits are found reached, and are advanced.
            state: Mutex::new(
                Rank::Transaction,
                State { next, limit: next, active: Vec::new(), committing: VecDeque::new() },
            ),
            version: AtomicU64::new(1),
            oldest: AtomicU64::new(next),
            active_ids: ActiveIds::new(),
            current: RwLock::new(Rank::Transaction, Current::default()),
            views: Mutex::new(Rank::Leaf, Vec::new()),
            newest_commit: AtomicU64::new(0),
            row_id: AtomicU64::new(row_id),
            row_id_limit: AtomicU64::new(row_id),
            persisting: Mutex::new(Rank::Table, ()),
        })
    }

    /// The first change of each run, after the two counters were read. It moves the LSN of a page that has a stamp, so that
    /// tablespaces of any earlier run are known (`redo::stamps`), whatever else this run changes.
    pub fn begin_run(&self, store: &Store) -> Result<()> {
        let _one = self.persisting.lock();
        let limit = self.state.lock().next + MARGIN;
        let lsn = persist(store, SYSTEM_PAGE, TRX_SYS_NEXT_ID, limit)?;
        store.redo().stamps.saw(SYSTEM_PAGE, lsn);
        self.state.lock().limit = limit;
        Ok(())
    }

    /// A transaction has committed in memory, and others are about to see it.
    pub fn note_commit(&self, lsn: Lsn) {
        self.newest_commit.fetch_max(lsn.0, Ordering::Release);
    }

    /// A flush of the log up to here makes durable all that any transaction can have seen.
    pub fn newest_commit(&self) -> Lsn {
        Lsn(self.newest_commit.load(Ordering::Acquire))
    }

    /// Adds a transaction that was active before a crash, under its old id. Called before any other begins.
    pub fn resume(&self, id: TrxId) {
        let mut state = self.state.lock();
        state.next = state.next.max(id.0 + 1);
        let at = state.active.partition_point(|other| *other < id);
        state.active.insert(at, id);
        self.active_ids.insert(id);
        self.changed(&state);
    }

    /// Makes sure that no id up to `id` is given again: a row or log has it.
    pub fn skip(&self, id: TrxId) {
        let mut state = self.state.lock();
        state.next = state.next.max(id.0 + 1);
        self.changed(&state);
    }

    fn changed(&self, state: &State) {
        self.oldest.store(state.active.first().map_or(state.next, |id| id.0), Ordering::Release);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Gives an id; the transaction is active.
    pub fn begin(&self, store: &Store) -> Result<TrxId> {
        loop {
            {
                let mut state = self.state.lock();
                if state.next < state.limit {
                    let id = TrxId(state.next);
                    state.next += 1;
                    state.active.push(id);
                    self.active_ids.insert(id);
                    self.changed(&state);
                    return Ok(id);
                }
            }
            let _one = self.persisting.lock();
            let limit = {
                let state = self.state.lock();
                if state.next < state.limit { continue } else { state.next + MARGIN }
            };
            if limit > TrxId::MAX.0 {
                return Err(Error::corrupt("transaction ids have reached their end"));
            }
            persist(store, SYSTEM_PAGE, TRX_SYS_NEXT_ID, limit)?;
            self.state.lock().limit = limit;
        }
    }

    /// Takes a commit number: the transaction's place in the history. Before its undo state is written.
    pub fn begin_commit(&self) -> TrxId {
        let mut state = self.state.lock();
        let number = TrxId(state.next);
        // May exceed the limit by one per active transaction: a start skips more than that.
        state.next += 1;
        state.committing.push_back(number);
        number
    }

    /// The commit failed; the transaction is active as before.
    pub fn cancel_commit(&self, number: TrxId) {
        self.state.lock().uncommit(number);
    }

    /// The transaction is no longer active: views taken from now on see it.
    pub fn end(&self, id: TrxId, number: Option<TrxId>) {
        let mut state = self.state.lock();
        let at = state.active.binary_search(&id).expect("who ends was active");
        state.active.remove(at);
        if let Some(number) = number {
            state.uncommit(number);
        }
        self.changed(&state);
        // Last: a thread that finds the transaction ended also sees it as ended in a view that it takes then.
        self.active_ids.remove(id);
    }

    /// Whether this transaction has not ended.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        !self.all_ended(id) && self.active_ids.contains(id)
    }

    /// Whether this transaction and all before it have ended.
    #[inline]
    pub fn all_ended(&self, id: TrxId) -> bool {
        id.0 < self.oldest.load(Ordering::Acquire)
    }

    /// A view of this moment.
    #[inline]
    pub fn view(&self) -> Arc<ReadView> {
        {
            let current = self.current.read();
            if let Some(view) = &current.view
                && current.version == self.version.load(Ordering::Acquire)
            {
                return view.clone();
            }
        }
        self.new_view()
    }

    #[cold]
    fn new_view(&self) -> Arc<ReadView> {
        // The registry's state, the list and the newest view change together, or purge could miss a view.
        let (view, version) = {
            let state = self.state.lock();
            let next = TrxId(state.next);
            let no_limit = state.committing.front().copied().unwrap_or(next);
            let view = Arc::new(ReadView::new(&state.active, next, no_limit));
            let mut views = self.views.lock();
            views.push(view.clone());
            // Purge cleans up, too, but only while there is something to purge.
            if views.len().is_multiple_of(CLEANUP_VIEWS) {
                views.retain(|view| Arc::strong_count(view) > 1);
            }
            (view, self.version.load(Ordering::Acquire))
        };
        let mut current = self.current.write();
        if current.version < version || current.view.is_none() {
            *current = Current { version, view: Some(view.clone()) };
        }
        view
    }

    /// The oldest open view, or a new one: what it sees as ended, every reader sees so, now and later.
    pub fn oldest_view(&self) -> Arc<ReadView> {
        // First a new view: every view opened from here on sees at least as much.
        let fresh = {
            let state = self.state.lock();
            let next = TrxId(state.next);
            let no_limit = state.committing.front().copied().unwrap_or(next);
            Arc::new(ReadView::new(&state.active, next, no_limit))
        };
        self.current.write().view = None;
        let mut views = self.views.lock();
        views.retain(|view| Arc::strong_count(view) > 1);
        // They are in the order in which they were taken.
        views.first().cloned().unwrap_or(fresh)
    }

    /// Views in use.
    pub fn open_views(&self) -> usize {
        let newest = self.current.read().view.clone();
        let is_open = |view: &&Arc<ReadView>| {
            // The list holds each, and so do `current` and `newest` the newest.
            let ours = if newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, view)) { 3 } else { 1 };
            Arc::strong_count(view) > ours
        };
        self.views.lock().iter().filter(is_open).count()
    }

    /// The id that will be given next.
    pub fn next_id(&self) -> TrxId {
        TrxId(self.state.lock().next)
    }

    pub fn active_count(&self) -> usize {
        self.state.lock().active.len()
    }

    pub fn active(&self) -> Vec<TrxId> {
        self.state.lock().active.clone()
    }

    /// A new DB_ROW_ID. The caller holds no latch.
    pub fn next_row_id(&self, store: &Store) -> Result<u64> {
        let id = self.row_id.fetch_add(1, Ordering::Relaxed);
        while id >= self.row_id_limit.load(Ordering::Acquire) {
            let _one = self.persisting.lock();
            if id >= self.row_id_limit.load(Ordering::Acquire) {
                let limit = id + MARGIN;
                persist(store, ROW_ID_PAGE, ROW_ID_OFFSET, limit)?;
                self.row_id_limit.store(limit, Ordering::Release);
            }
        }
        Ok(id)
    }
}

/// Advances a persistent copy. The log need not be flushed: every record with the new numbers comes later in the log.
/// Returns the page's new LSN.
fn persist(store: &Store, page: PageId, offset: usize, value: u64) -> Result<Lsn> {
    let mut mtr = Mtr::begin(store);
    let page = mtr.latch_exclusive(page)?;
    mtr.write(page, offset, &value.to_be_bytes());
    Ok(mtr.commit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_active_from_its_beginning_to_its_end_whatever_place_it_shares() {
        let ids = ActiveIds::new();
        let mut model = std::collections::BTreeSet::new();
        let mut state = 7_u64;
        for next in 1..5000 {
            ids.insert(TrxId(next));
            model.insert(next);
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Some transactions stay long, most end soon.
            while model.len() > (state >> 60) as usize {
                let ends = *model.iter().nth((state >> 33) as usize % model.len()).unwrap();
                model.remove(&ends);
                ids.remove(TrxId(ends));
            }
            for id in next.saturating_sub(40).max(1)..=next + 10 {
                assert_eq!(ids.contains(TrxId(id)), model.contains(&id), "{id}");
            }
        }
        model.iter().for_each(|id| ids.remove(TrxId(*id)));
        assert_eq!((ids.beside.read().len(), ids.beside_count.load(Ordering::Relaxed)), (0, 0));
    }
}
