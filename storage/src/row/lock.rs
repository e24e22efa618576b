//! Locking a row: by its clustered key, with regard to who wrote it.

use format::ids::TrxId;

use super::entry::{Key, damaged, hash_key};
use super::{Context, Table};
use crate::btree::Tree;
use crate::error::Result;
use crate::lock::{LockId, LockKind, LockMode, TryLock};
use crate::transaction::Transaction;

/// What became of the wish to lock a row, under the latch of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowLock {
    /// It is locked. `new` = it was not before, so it may be given up again.
    Held { id: LockId, new: bool },
    /// Its writer is this transaction itself.
    Own,
    /// Let go of all latches, [`wait`], and look again.
    Wait(LockId),
}

/// The lock of the row whose clustered record is at `origin`.
#[inline]
pub(super) fn lock_id(rows: &Tree, page: &[u8], origin: usize) -> Result<LockId> {
    let key = Key::of_record(page, &rows.leaf, origin, rows.key_fields())?;
    Ok(LockId { index: rows.id, key_hash: hash_key(&rows.leaf, &key) })
}

/// Locks the row whose clustered record is at `origin`, if that goes at once.
#[inline]
pub(super) fn lock_row(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    page: &[u8],
    origin: usize,
    mode: LockMode,
) -> Result<RowLock> {
    debug_assert!(trx.id != TrxId(0), "who locks has an id");
    let rows = table.rows();
    let writer = rows.leaf.trx_id(page, origin).map_err(damaged)?;
    if writer == trx.id {
        return Ok(RowLock::Own);
    }
    let id = lock_id(rows, page, origin)?;
    if ctx.registry.is_active(writer) {
        // If it ended this moment, the record is just one of a committed writer.
        ctx.locks.make_explicit(writer, id);
    }
    // gap lock: a scan in REPEATABLE READ will ask for LockKind::NextKey here.
    Ok(match ctx.locks.try_lock(&mut trx.locks, id, mode, LockKind::Record) {
        TryLock::Granted { new } => RowLock::Held { id, new },
        TryLock::Conflict => RowLock::Wait(id),
    })
}

/// Waits for a lock and has it then. The caller holds no latch.
pub(super) fn wait(ctx: &Context<'_>, trx: &mut Transaction, id: LockId, mode: LockMode) -> Result<()> {
    let limit = trx.lock_wait_timeout;
    ctx.locks.wait(&mut trx.locks, id, mode, LockKind::Record, &trx.interrupt, limit)
}
