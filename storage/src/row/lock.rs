//! Locking a row by its clustered key, with regard to its writer; and locking the gaps between records, so that no
//! record is inserted into a range that a transaction has read.
//!
//! ```text
//!   index      3         7         9        supremum
//!              |         |         |           |
//!          gap |     gap |     gap |       gap |        the lock of a gap belongs to the record behind it
//!          <---+    <----+    <----+    <------+
//!
//!   WHERE id BETWEEN 5 AND 8, FOR UPDATE:  next-key 7, gap 9
//! ```
//!
//! In REPEATABLE READ and above a locking scan takes each record with its gap, and the gap before the first record
//! beyond its range. Entries of secondary indexes are locked only for their gaps, always shared: their rows are locked
//! in the clustered index. Only a reader that needs no more than an entry locks that instead of the row, if its leaf
//! tells that no active transaction has written there. An insert requests the gap of the record behind its position (an *insert intention*) while
//! it has the leaf latched. A scan that moves from one leaf to the next keeps the first latched until it has locked
//! what it finds on the second; so no insert can happen between looking and locking.

use format::ids::{PageId, PageNo, TrxId};
use format::page::header;
use format::page::index::{self, SUPREMUM};

use super::entry::{Key, damaged, hash_key};
use super::{Context, Table};
use crate::btree::Tree;
use crate::error::{Error, Result};
use crate::lock::{LockId, LockKind, LockMode, LockRequest, TryLock};
use crate::mtr::{Mtr, PageHandle};
use crate::schema::IfLocked;
use crate::store::SharedGuard;
use crate::transaction::{Isolation, Transaction};

/// The result of a request to lock a row, under the latch of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowLock {
    /// It is locked. `new` = it was not before, so it may be released again.
    Held { id: LockId, new: bool },
    /// This transaction wrote it itself.
    Own,
    /// Release all latches, [`wait`], and look again.
    Wait(LockRequest),
}

/// The lock of the record at `origin`, and of the gap before it.
#[inline]
pub(super) fn lock_id(tree: &Tree, page: &[u8], origin: usize) -> Result<LockId> {
    let key = Key::of_record(page, &tree.leaf, origin, tree.key_fields())?;
    Ok(LockId { index: tree.id, key_hash: hash_key(&tree.leaf, &key) })
}

/// Locks the row whose clustered record is at `origin`, if it can do so at once.
#[inline]
pub(super) fn lock_row(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    page: &[u8],
    origin: usize,
    mode: LockMode,
    kind: LockKind,
) -> Result<RowLock> {
    debug_assert!(trx.id != TrxId(0), "who locks has an id");
    let rows = table.rows();
    let writer = rows.leaf.trx_id(page, origin).map_err(damaged)?;
    if writer == trx.id {
        if kind == LockKind::NextKey {
            lock_gap(ctx, trx, gap_before(rows, page, origin, mode)?)?;
        }
        return Ok(RowLock::Own);
    }
    let id = lock_id(rows, page, origin)?;
    let request = LockRequest::new(id, mode, kind).on(header::page_no(page));
    // If the writer ended this moment, the record is like any of a committed writer. If not, the lock is the writer's,
    // whatever this transaction believes to hold: it may have waited for a row whose insert was rolled back, and have
    // been granted the lock of a key without a row after another transaction had inserted one there.
    let page_no = header::page_no(page);
    if ctx.registry.is_active(writer) && ctx.locks.make_explicit(writer, id, page_no)? && kind.has_record() {
        return Ok(RowLock::Wait(request));
    }
    Ok(match ctx.locks.try_lock(&mut trx.locks, request)? {
        TryLock::Granted { new } => {
            if trx.misses(writer) {
                return Err(Error::RecordChanged);
            }
            RowLock::Held { id, new }
        }
        TryLock::Conflict => RowLock::Wait(request),
    })
}

/// Waits for a lock; on return the transaction holds it. The caller holds no latch.
pub(super) fn wait(ctx: &Context<'_>, trx: &mut Transaction, request: LockRequest) -> Result<()> {
    // Anything may happen between looking and joining the queue.
    trx.interrupt.pass();
    let limit = trx.lock_wait_timeout;
    let weight = trx.weight();
    ctx.locks.wait(&mut trx.locks, request, weight, &trx.interrupt, limit)
}

/// Locks the AUTO_INCREMENT counter of a table, waiting for a statement that holds it.
pub fn lock_auto_increment(ctx: &Context<'_>, trx: &mut Transaction, table: &Table) -> Result<()> {
    trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
    trx.locks.intend(table.id, LockMode::Exclusive);
    let request = LockRequest::record(LockId::auto_increment(table.clustered().id), LockMode::Exclusive);
    match ctx.locks.try_lock(&mut trx.locks, request)? {
        TryLock::Granted { .. } => Ok(()),
        TryLock::Conflict => wait(ctx, trx, request),
    }
}

/// Waits, if the statement waits for locked rows. True = the row is to be skipped.
pub(super) fn wait_or_skip(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    request: LockRequest,
    if_locked: IfLocked,
) -> Result<bool> {
    match if_locked {
        IfLocked::Wait | IfLocked::Committed => wait(ctx, trx, request).map(|()| false),
        IfLocked::Fail => Err(Error::RowIsLocked),
        IfLocked::Skip => Ok(true),
    }
}

/// What a scan locks of the records it meets.
#[inline]
pub(super) fn scan_kind(trx: &Transaction) -> LockKind {
    if trx.isolation >= Isolation::RepeatableRead { LockKind::NextKey } else { LockKind::Record }
}

/// The gap before the record at `origin`.
#[inline]
pub(super) fn gap_before(tree: &Tree, page: &[u8], origin: usize, mode: LockMode) -> Result<LockRequest> {
    Ok(LockRequest::gap(lock_id(tree, page, origin)?, mode).on(header::page_no(page)))
}

/// Locks the gap before a record. That never waits: gap locks are compatible with everything but insert intentions.
#[inline]
pub(super) fn lock_gap(ctx: &Context<'_>, trx: &mut Transaction, gap: LockRequest) -> Result<()> {
    let granted = ctx.locks.try_lock(&mut trx.locks, gap)?;
    debug_assert!(granted != TryLock::Conflict, "a gap lock conflicts with nothing");
    Ok(())
}

/// Locks the gap behind the record at `origin` of a latched leaf (which may be the infimum): no other transaction
/// inserts there.
pub(super) fn lock_gap_behind(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    tree: &Tree,
    page: &SharedGuard<'_>,
    origin: u16,
    mode: LockMode,
) -> Result<()> {
    let next = index::next(page, origin).map_err(damaged)?;
    if next != SUPREMUM {
        return lock_gap(ctx, trx, gap_before(tree, page, usize::from(next), mode)?);
    }
    // The leaf stays latched meanwhile.
    let (id, behind) = match tree.leaf_behind(ctx.store, page)? {
        None => (LockId::supremum(tree.id), header::page_no(page)),
        Some(behind) => first_id(tree, &behind)?,
    };
    lock_gap(ctx, trx, LockRequest::gap(id, mode).on(behind))
}

/// The lock of the first record of a leaf, and where it is.
fn first_id(tree: &Tree, page: &[u8]) -> Result<(LockId, PageNo)> {
    match index::first(page).map_err(damaged)? {
        SUPREMUM => Err(Error::corrupt("an empty leaf with neighbours")),
        first => Ok((lock_id(tree, page, usize::from(first))?, header::page_no(page))),
    }
}

/// The lock of the record behind the one at `origin`, on a leaf that a mini-transaction has latched.
fn id_behind(ctx: &Context<'_>, tree: &Tree, mtr: &Mtr<'_>, leaf: PageHandle, origin: u16) -> Result<(LockId, PageNo)> {
    let page = mtr.page(leaf);
    let next = index::next(page, origin).map_err(damaged)?;
    if next != SUPREMUM {
        return Ok((lock_id(tree, page, usize::from(next))?, header::page_no(page)));
    }
    let behind = header::next(page);
    if behind.is_null() {
        return Ok((LockId::supremum(tree.id), header::page_no(page)));
    }
    let behind = PageId::new(tree.space, behind);
    match mtr.find(behind) {
        Some(handle) => first_id(tree, mtr.page(handle)),
        None => first_id(tree, &ctx.store.read(behind)?),
    }
}

/// Whether a record may be inserted behind the one at `origin`: `Some` is the lock to [`wait`] for, without any latch.
#[inline]
pub(super) fn insert_conflict(
    ctx: &Context<'_>,
    trx: &Transaction,
    tree: &Tree,
    mtr: &Mtr<'_>,
    leaf: PageHandle,
    origin: u16,
) -> Result<Option<LockRequest>> {
    if !ctx.locks.has_gaps(tree.id) {
        return Ok(None);
    }
    let (id, behind) = id_behind(ctx, tree, mtr, leaf, origin)?;
    let request = LockRequest::insert(id).on(behind);
    Ok(ctx.locks.has_conflict(trx.id, request).then_some(request))
}

/// The gap into which a record is about to be inserted, behind the one at `origin`. `None` if no gap of the tree is
/// locked. It may latch the next leaf, so it comes before the undo page is latched.
#[inline]
pub(super) fn gap_behind(
    ctx: &Context<'_>,
    tree: &Tree,
    mtr: &Mtr<'_>,
    leaf: PageHandle,
    origin: u16,
) -> Result<Option<LockId>> {
    if !ctx.locks.has_gaps(tree.id) {
        return Ok(None);
    }
    Ok(Some(id_behind(ctx, tree, mtr, leaf, origin)?.0))
}

/// A record with the lock `new` is about to be inserted on a page, into a gap: a transaction that has that gap locked
/// (it can only be the inserting one) keeps both halves.
#[inline]
pub(super) fn split_gap(ctx: &Context<'_>, gap: Option<LockId>, new: LockId, page: PageNo) {
    if let Some(gap) = gap {
        ctx.locks.inherit_gaps(gap, (new, page));
    }
}

/// The record at `origin` is about to be removed: the locks on it become locks on the gap that it leaves.
#[inline]
pub(super) fn join_gap(ctx: &Context<'_>, tree: &Tree, mtr: &Mtr<'_>, leaf: PageHandle, origin: u16) -> Result<()> {
    let id = lock_id(tree, mtr.page(leaf), usize::from(origin))?;
    if ctx.locks.is_used(id) {
        ctx.locks.inherit_all(id, id_behind(ctx, tree, mtr, leaf, origin)?);
    }
    Ok(())
}
