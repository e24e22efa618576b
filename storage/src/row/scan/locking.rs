//! Scans that lock what they find: one row at a time, as it is now.
//!
//! With gaps (REPEATABLE READ and above) no record may be inserted between two steps. So the scan locks a record while
//! its leaf is latched, and the previous leaf, too, if the scan came from there. If it has to wait for a lock, it looks
//! again from the previous record, because records inserted meanwhile belong to its range.
//!
//! ```text
//!   upward    next-key each record met; gap of the first one beyond the range, or of the supremum
//!   downward  gap of the first record beyond the upper end, then next-key each record met
//!   a point   record only, if it is there; else the gap where it would be
//! ```
//!
//! Through a secondary index the row is locked in the clustered index and read there. A reader that shares what it locks
//! and needs no more than the entry reads and locks that alone, if every transaction that wrote on its leaf has ended.

use format::page::header;
use format::page::index::{self, INFIMUM, SUPREMUM, SearchMode};
use format::record::{compare, is_deleted};

use super::super::entry::{Key, damaged};
use super::super::fill::{fill, fill_from_entry, read_visible};
use super::super::lock::{
    RowLock, gap_before, lock_gap, lock_gap_behind, lock_id, lock_row, scan_kind, wait, wait_or_skip,
};
use super::super::version::record_has_entry;
use super::super::{Context, Table};
use super::{Progress, Scan};
use crate::error::{Error, Result};
use crate::lock::{LockId, LockKind, LockMode, LockRequest, TryLock};
use crate::schema::{IfLocked, Row};
use crate::store::SharedGuard;
use crate::transaction::Transaction;

/// The result of locking the row of an entry.
enum Locked {
    /// It is locked and read.
    Row,
    /// It does not have the entry, or no longer.
    Gone,
    /// Another transaction holds it, and the statement does not wait.
    Skipped,
}

impl Scan {
    /// Finds, locks and reads the next row.
    pub(super) fn next_locked(
        &mut self,
        ctx: &Context<'_>,
        trx: &mut Transaction,
        table: &Table,
        (mode, if_locked): (LockMode, IfLocked),
        row: &mut Row,
    ) -> Result<bool> {
        trx.assign_id(ctx.store, ctx.registry, ctx.locks)?;
        trx.locks.intend(table.id, mode);
        self.lock = None;
        self.unlocked = false;
        let gaps = scan_kind(trx) == LockKind::NextKey;
        if gaps && self.reverse && self.progress == Progress::Start {
            self.lock_gap_above(ctx, trx, table, mode)?;
        }
        let tree = table.tree(self.index);
        let mut at = self.position(ctx, table)?;
        // The previous leaf, latched until a record of the next one is locked.
        let mut before: Option<SharedGuard<'_>> = None;
        while let Some((page, origin)) = at {
            if trx.interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            if origin == SUPREMUM || origin == INFIMUM {
                if !gaps || self.reverse {
                    at = self.next_leaf(ctx, table, page)?;
                    continue;
                }
                let Some(next) = tree.leaf_behind(ctx.store, &page)? else {
                    if !self.point || self.progress == Progress::Start {
                        let end = LockRequest::gap(LockId::supremum(tree.id), mode);
                        lock_gap(ctx, trx, end.on(header::page_no(&page)))?;
                    }
                    break;
                };
                let first = index::first(&next).map_err(damaged)?;
                before = Some(page);
                at = Some((next, first));
                continue;
            }
            if self.is_beyond(table, &page, origin)? {
                // So that no record is inserted before it. Nothing can be inserted behind a unique key that was found.
                if gaps && !self.reverse && !(self.point && self.progress != Progress::Start) {
                    lock_gap(ctx, trx, gap_before(tree, &page, usize::from(origin), mode)?)?;
                }
                break;
            }
            let found = match self.index {
                0 => {
                    let kind = if gaps { self.kind_at(table, &page, origin)? } else { LockKind::Record };
                    self.lock_record(ctx, trx, table, (page, origin, &mut before), (mode, kind, if_locked), row)?
                }
                _ => {
                    if gaps && !self.point {
                        let id = lock_id(tree, &page, usize::from(origin))?;
                        let kind = |kind| LockRequest::new(id, LockMode::Shared, kind).on(header::page_no(&page));
                        if mode == LockMode::Shared
                            && self.entry_answers(ctx, trx, &page, origin)
                            && ctx.locks.try_lock(&mut trx.locks, kind(LockKind::NextKey))? != TryLock::Conflict
                        {
                            fill_from_entry(table, self.index, &page, usize::from(origin), &self.columns, row)?;
                            self.note(table, &page, origin, Progress::Behind)?;
                            return Ok(true);
                        }
                        // Shared, so that readers of gaps do not block each other.
                        let request = kind(LockKind::Entry);
                        if ctx.locks.try_lock(&mut trx.locks, request)? == TryLock::Conflict {
                            drop(page);
                            drop(before.take());
                            wait(ctx, trx, request)?;
                            at = self.position(ctx, table)?;
                            continue;
                        }
                    }
                    let from_start = self.progress == Progress::Start;
                    self.note(table, &page, origin, Progress::Behind)?;
                    drop(page);
                    drop(before.take());
                    match self.lock_entry(ctx, trx, table, (mode, if_locked), row)? {
                        Locked::Row => Found::Row,
                        Locked::Gone if gaps && self.point => {
                            // The row does not exist after all, so its place has to be locked.
                            self.point = false;
                            if from_start {
                                self.progress = Progress::Start;
                                self.place = None;
                            }
                            Found::Again
                        }
                        Locked::Gone | Locked::Skipped => Found::Again,
                    }
                }
            };
            match found {
                Found::Row => return Ok(true),
                Found::Next(page, next) => at = Some((page, next)),
                Found::Again => {
                    drop(before.take());
                    at = self.position(ctx, table)?;
                    continue;
                }
            }
            before = None;
        }
        self.progress = Progress::End;
        Ok(false)
    }

    /// Locks the clustered record at `origin`, and reads it if it is alive. `before` is the leaf that the scan came
    /// from, if it is still latched.
    fn lock_record<'s>(
        &mut self,
        ctx: &Context<'s>,
        trx: &mut Transaction,
        table: &Table,
        (page, origin, before): (SharedGuard<'s>, u16, &mut Option<SharedGuard<'s>>),
        (mode, kind, if_locked): (LockMode, LockKind, IfLocked),
        row: &mut Row,
    ) -> Result<Found<'s>> {
        let place = usize::from(origin);
        let gaps = scan_kind(trx) == LockKind::NextKey;
        let writer = table.rows().leaf.trx_id(&page, place).map_err(damaged)?;
        let settled = writer == trx.id || !ctx.registry.is_active(writer);
        let following = |page: SharedGuard<'s>, reverse: bool| -> Result<Found<'s>> {
            let next = if reverse { index::prev(&page, origin) } else { index::next(&page, origin) };
            Ok(Found::Next(page, next.map_err(damaged)?))
        };
        if settled && is_deleted(&page, place) && !gaps {
            return following(page, self.reverse);
        }
        match lock_row(ctx, trx, table, &page, place, mode, kind)? {
            RowLock::Wait(request) => {
                if if_locked == IfLocked::Skip {
                    self.note(table, &page, origin, Progress::Behind)?;
                    return following(page, self.reverse);
                }
                if if_locked == IfLocked::Committed && !gaps && !self.point && !std::mem::take(&mut self.insists) {
                    self.note(table, &page, origin, Progress::Behind)?;
                    self.unlocked = self.read_committed(ctx, trx, table, &page, place, row)?;
                    return if self.unlocked { Ok(Found::Row) } else { following(page, self.reverse) };
                }
                if !gaps {
                    self.note(table, &page, origin, Progress::At)?;
                }
                drop(page);
                drop(before.take());
                wait_or_skip(ctx, trx, request, if_locked)?;
                Ok(Found::Again)
            }
            held => {
                self.insists = false;
                self.note(table, &page, origin, Progress::Behind)?;
                if is_deleted(&page, place) {
                    // With gaps the lock stays: a transaction that would insert the key again must take it.
                    if let RowLock::Held { id, new: true } = held
                        && !gaps
                    {
                        ctx.locks.unlock(&mut trx.locks, id);
                    }
                    return following(page, self.reverse);
                }
                fill(ctx, table, &page, place, &self.columns, row)?;
                row.place = Some(page.place_of(origin));
                if let RowLock::Held { id, new: true } = held {
                    self.lock = Some(id);
                }
                Ok(Found::Row)
            }
        }
    }

    /// Whether the entry at `origin` is all that the reader needs, and no active transaction can have changed its row in
    /// what the entry has of it.
    fn entry_answers(&self, ctx: &Context<'_>, trx: &Transaction, page: &[u8], origin: u16) -> bool {
        if !self.covering || is_deleted(page, usize::from(origin)) {
            return false;
        }
        let newest = index::max_trx_id(page);
        ctx.registry.all_ended(newest) && !trx.misses(newest)
    }

    /// Reads the newest committed version of a row that another transaction is changing. False = there is none.
    fn read_committed(
        &self,
        ctx: &Context<'_>,
        trx: &mut Transaction,
        table: &Table,
        page: &SharedGuard<'_>,
        place: usize,
        row: &mut Row,
    ) -> Result<bool> {
        // The statement's own view may be older.
        let own = trx.view.replace(ctx.registry.view());
        let found = read_visible(ctx, trx, table, page, place, false, &self.columns, row);
        trx.view = own;
        found
    }

    /// No record of the range can precede a record that is the lower end itself.
    fn kind_at(&self, table: &Table, page: &[u8], origin: u16) -> Result<LockKind> {
        if self.point {
            return Ok(LockKind::Record);
        }
        let is_whole_key = !self.lower.unbounded && self.lower.parts.len() == table.key_fields();
        if !self.reverse && is_whole_key {
            let order = compare(page, &table.rows().leaf, usize::from(origin), &self.lower.key()).map_err(damaged)?;
            if order.is_eq() {
                return Ok(LockKind::Record);
            }
        }
        Ok(LockKind::NextKey)
    }

    /// Locks the gap behind the range, where a downward scan begins.
    fn lock_gap_above(&self, ctx: &Context<'_>, trx: &mut Transaction, table: &Table, lock: LockMode) -> Result<()> {
        let tree = table.tree(self.index);
        if self.upper.unbounded {
            let page = tree.edge(ctx.store, true)?;
            // Held until the end of the index is locked.
            lock_gap(ctx, trx, LockRequest::gap(LockId::supremum(tree.id), lock).on(header::page_no(&page)))?;
            drop(page);
            return Ok(());
        }
        let mode = if self.upper.included { SearchMode::Greater } else { SearchMode::GreaterOrEqual };
        let (page, position) = tree.find(ctx.store, &self.upper.key(), mode)?;
        match position.origin {
            SUPREMUM => {
                let last = index::last(&page).map_err(damaged)?;
                lock_gap_behind(ctx, trx, tree, &page, last, lock)
            }
            origin => {
                lock_gap(ctx, trx, gap_before(tree, &page, usize::from(origin), lock)?)?;
                Ok(())
            }
        }
    }

    /// Locks the row of the entry in `last` and reads it, if it is alive and has the entry.
    fn lock_entry(
        &mut self,
        ctx: &Context<'_>,
        trx: &mut Transaction,
        table: &Table,
        (mode, if_locked): (LockMode, IfLocked),
        row: &mut Row,
    ) -> Result<Locked> {
        let rows = table.rows();
        loop {
            let key = Key::of_entry(table, self.index, self.last.bytes(), self.last.origin())?;
            let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
            if !position.matched {
                return Ok(Locked::Gone);
            }
            let origin = usize::from(position.origin);
            let has_it = |page: &[u8]| -> Result<bool> {
                Ok(!is_deleted(page, origin) && record_has_entry(ctx, table, self.index, &self.last, page, origin)?)
            };
            let writer = rows.leaf.trx_id(&page, origin).map_err(damaged)?;
            let settled = writer == trx.id || !ctx.registry.is_active(writer);
            if settled && !has_it(&page)? {
                return Ok(Locked::Gone);
            }
            match lock_row(ctx, trx, table, &page, origin, mode, LockKind::Record)? {
                RowLock::Wait(request) => {
                    drop(page);
                    if wait_or_skip(ctx, trx, request, if_locked)? {
                        return Ok(Locked::Skipped);
                    }
                }
                held => {
                    let alive = has_it(&page)?;
                    if alive {
                        fill(ctx, table, &page, origin, &self.columns, row)?;
                        row.place = Some(page.place_of(position.origin));
                    }
                    drop(page);
                    if let RowLock::Held { id, new: true } = held {
                        match alive {
                            true => self.lock = Some(id),
                            false => ctx.locks.unlock(&mut trx.locks, id),
                        }
                    }
                    return Ok(if alive { Locked::Row } else { Locked::Gone });
                }
            }
        }
    }
}

/// Where a step of a locking scan ended.
enum Found<'s> {
    /// At a row.
    Row,
    /// At a record that is not a row; continue with the one behind it.
    Next(SharedGuard<'s>, u16),
    /// It had to release the leaf; search for the place again.
    Again,
}
