//! Purge: removing what no view can see any more, by reading the history from its oldest log on.
//!
//! ```text
//! undo record       work for purge
//! delete            entries of the row, then the row itself, if its record still shows that deletion
//! update            entries of the old values; long values that were replaced
//! update of a       long values that were replaced (the entries were the deletion's)
//!   deleted row
//! ```
//!
//! Of the last the entries of a full-text or multi-valued index, too, where a long value was replaced: see `several`.
//!
//! An entry is removed only if it is delete-marked and no version of its row that a view may see still has it.
//!
//! Purge works under a *view*: the oldest that is open. A transaction that has ended for this view has ended for every
//! view, so no earlier version is needed. Other code that asks what may still be needed ([`super::version::has_entry`])
//! uses the same view, and holds it in place while it does: purge frees undo only under a view that all of them use.
//!
//! The view advances every few logs, and not only when there is nothing left to do under it: to find out whether a
//! version still has an entry, purge reads all versions that the view does not see, and a row that many threads change
//! soon has hundreds. With one view per round purge falls behind on such rows, and its rounds become longer still.
//!
//! Purging a record twice does no harm, so after a crash purge just reads a log again. Purge skips a record of a table
//! whose page is damaged: the history is shared, and the deleted rows of other tables must not stay because of that
//! table (`damaged_start::purge_passes_a_damaged_page`).

use std::sync::Arc;

use format::ids::{PageId, RollPtr};
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{FieldData, RecordBuffer};
use rustc_hash::FxHashSet;

use super::entry::{Key, build_entry};
use super::needed::Needed;
use super::remove::remove_row;
use super::secondary::Unneeded;
use super::several::{NO_SOURCE, Several};
use super::values::Reads;
use super::{Buffers, Context, Lookup, Scratch, Table, Version, emptied, entries, secondary};
use crate::btree;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::store::aside::is_vital;
use crate::sync::{Mutex, Rank, ReadGuard, RwLock};
use crate::transaction::{ReadView, Registry};
use crate::undo::{HistoryLog, LogReader, OldField, UndoKind, UndoRecord};

/// The view that purge works under.
pub struct PurgeView {
    /// Shared by code that relies on the view; exclusive for purge while it advances the view.
    gate: RwLock<()>,
    view: Mutex<Arc<ReadView>>,
}

impl PurgeView {
    pub fn new(registry: &Registry) -> PurgeView {
        // A copy of the view, not the view itself: that would keep it open.
        let view = Arc::new((*registry.oldest_view()).clone());
        PurgeView { gate: RwLock::new(Rank::Table, ()), view: Mutex::new(Rank::Leaf, view) }
    }

    /// The view as it is. It stays so while [`PurgeView::hold`] is held.
    pub fn view(&self) -> Arc<ReadView> {
        self.view.lock().clone()
    }

    /// Keeps the view from advancing, and what it does not see from being freed.
    pub(super) fn hold(&self) -> ReadGuard<'_, ()> {
        self.gate.read()
    }

    fn advance(&self, registry: &Registry) -> Arc<ReadView> {
        // Exclusive from the read of the open views on: of two threads that advance it, the later must not install the
        // older view.
        let _gate = self.gate.write();
        let oldest = registry.oldest_view();
        let view = Arc::new((*oldest).clone());
        drop(oldest);
        *self.view.lock() = view.clone();
        view
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeStep {
    pub records: usize,
    pub logs: usize,
}

impl PurgeStep {
    /// Whether there was nothing to do.
    pub fn is_idle(&self) -> bool {
        *self == PurgeStep::default()
    }
}

/// Logs that are purged under one view, before it advances.
const LOGS_PER_VIEW: usize = if cfg!(test) { 3 } else { 32 };

/// Purges, a step at a time. Several may work in parallel.
#[derive(Debug, Default)]
pub struct Purger {
    current: Option<(HistoryLog, LogReader)>,
    record: Vec<u8>,
    lists: Lists,
    /// Logs taken from the history since it advanced the view.
    under_view: usize,
    /// Damaged pages that the error log has named.
    damaged: FxHashSet<PageId>,
}

/// What is read from an undo record, kept from one record to the next: lists without values.
#[derive(Debug, Default)]
struct Lists {
    parts: Vec<Option<&'static [u8]>>,
    changed: Vec<OldField<'static>>,
    others: Vec<OldField<'static>>,
    old: Vec<Option<FieldData<'static>>>,
    version: Version<'static>,
}

impl Purger {
    pub fn new() -> Purger {
        Purger::default()
    }

    /// Reads at most `batch` undo records and does their work.
    pub fn step(&mut self, ctx: &Context<'_>, lookup: Lookup<'_>, batch: usize) -> Result<PurgeStep> {
        let mut done = PurgeStep::default();
        while done.records < batch {
            // Purge, too, leaves the frames and the log that undoing needs on a full disk.
            ctx.store.check_headroom()?;
            let next = match self.current.take() {
                None => self.next_log(ctx)?,
                current => current,
            };
            let Some((log, mut reader)) = next else { break };
            // The record is out of the page, so no latch is held from here on.
            let step = match reader.next(ctx.store, &mut self.record) {
                Ok(Some(roll_ptr)) => match self.purge_record(ctx, lookup, roll_ptr) {
                    Err(error) if self.passes_over(ctx, &error) => Ok(true),
                    purged => purged.map(|()| true),
                },
                Ok(None) => ctx.undo.remove_log(ctx.store, &log).map(|()| false),
                Err(error) => Err(error),
            };
            match step {
                Ok(true) => {
                    done.records += 1;
                    self.current = Some((log, reader));
                }
                Ok(false) => done.logs += 1,
                Err(error) => {
                    // Purge tries again, from the log's beginning.
                    ctx.undo.put_back(log);
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Puts back a log that is half read: before the engine closes, or the history would seem shorter.
    pub fn stop(&mut self, ctx: &Context<'_>) {
        if let Some((log, _)) = self.current.take() {
            ctx.undo.put_back(log);
        }
    }

    fn next_log(&mut self, ctx: &Context<'_>) -> Result<Option<(HistoryLog, LogReader)>> {
        let mut log = None;
        if self.under_view < LOGS_PER_VIEW {
            log = ctx.undo.next_log(ctx.store, ctx.purge.view().no_limit())?;
        }
        if log.is_none() && ctx.undo.status().history_length_now > 0 {
            let view = ctx.purge.advance(ctx.registry);
            self.under_view = 0;
            log = ctx.undo.next_log(ctx.store, view.no_limit())?;
        }
        let Some(log) = log else { return Ok(None) };
        self.under_view += 1;
        let reader = LogReader::new(&log);
        Ok(Some((log, reader)))
    }

    /// Whether an error comes from a page of one table.
    fn passes_over(&mut self, ctx: &Context<'_>, error: &Error) -> bool {
        let Error::Corrupt { page: Some(page), .. } = error else { return false };
        if is_vital(page.space) || ctx.store.is_poisoned() {
            return false;
        }
        if self.damaged.insert(*page) {
            let path = ctx.store.space(page.space).map_or_else(String::new, |space| space.path().to_string());
            tracing::error!("purge leaves out {path}: {error}");
        }
        true
    }

    fn purge_record(&mut self, ctx: &Context<'_>, lookup: Lookup<'_>, roll_ptr: RollPtr) -> Result<()> {
        let undo = UndoRecord::read(&self.record)?;
        let Some(table) = lookup(undo.table) else { return Ok(()) };
        let table = &*table;
        let key_fields = table.key_fields();
        let Lists { mut parts, mut changed, mut others, mut old, mut version } = std::mem::take(&mut self.lists);
        undo.key(key_fields, &mut parts)?;
        undo.fields(key_fields, &mut changed, &mut others)?;
        let mut key = Key::new();
        for part in &parts {
            key.push(*part);
        }
        // The old version, as far as the undo record tells: enough for the entries it concerns.
        old.resize(table.indexes[0].fields.len(), None);
        for (field, part) in old.iter_mut().zip(&parts) {
            *field = Some(FieldData::from(*part));
        }
        for OldField { field, value, .. } in changed.iter().chain(&others) {
            if let Some(place) = old.get_mut(*field) {
                *place = Some(*value);
            }
        }
        let inserts_over = undo.kind == UndoKind::UpdateDeleted;
        let is_long = |changed: &OldField<'_>| {
            matches!(changed.value, FieldData::External(_)) && table.is_computed_from(changed.field)
        };
        if !inserts_over || changed.iter().any(is_long) {
            let _held = ctx.purge.hold();
            let mut scratch = Scratch::take();
            let Buffers { entry, .. } = &mut *scratch;
            version.extend(old.iter().map(|field| field.unwrap_or(FieldData::Null)));
            for index in table.secondary() {
                let concerned = undo.kind == UndoKind::Delete
                    || changed.iter().any(|changed| table.index_has(index, changed.field));
                // An index that is newer than the undo record never had the entry, and may need fields that are not
                // here.
                let of = table.index_tree(index);
                let sources = &of.sources;
                if of.several.is_some() {
                    if concerned {
                        let wanted = |field: usize| {
                            undo.kind == UndoKind::Delete || changed.iter().any(|changed| changed.field == field)
                        };
                        purge_several(ctx, table, index, &old, &version, &wanted, entry)?;
                    }
                    continue;
                }
                if inserts_over {
                    continue;
                }
                if concerned && sources.iter().all(|source| old[usize::from(*source)].is_some()) {
                    build_entry(ctx.store, table, index, &version, 0, entry)?;
                    let nobody = format::ids::TrxId(0);
                    let (when, mut needed) = (Unneeded::IfDeleted, Needed::default());
                    secondary::remove(ctx, table, index, nobody, entry, when, &mut needed)?;
                }
            }
        }
        if undo.kind == UndoKind::Delete {
            remove_row(ctx, table, &key, roll_ptr)?;
        }
        // The long values of a deleted row were freed with its record.
        let replaced = if undo.kind == UndoKind::Delete { &[][..] } else { &changed[..] };
        for OldField { value, offset, .. } in replaced {
            if let FieldData::External(bytes) = value
                && bytes.len() >= REFERENCE_BYTES
            {
                let at = offset + bytes.len() - REFERENCE_BYTES;
                free_old_value(ctx, table, roll_ptr, at, bytes)?;
            }
        }
        self.lists = Lists {
            parts: emptied(parts),
            changed: emptied(changed),
            others: emptied(others),
            old: emptied(old),
            version: emptied(version),
        };
        Ok(())
    }
}

/// Removes the several entries of an old version: of the fields that the undo record has, as far as they are wanted.
fn purge_several(
    ctx: &Context<'_>,
    table: &Table,
    index: usize,
    old: &[Option<FieldData<'_>>],
    version: &[FieldData<'_>],
    wanted: &dyn Fn(usize) -> bool,
    entry: &mut RecordBuffer,
) -> Result<()> {
    let of = table.index_tree(index);
    let is_known = |field: u16| field == NO_SOURCE || old[usize::from(field)].is_some();
    let mut needed = of.sources.to_vec();
    if let Some(Several::Elements { source, .. }) = &of.several {
        needed.push(*source);
    }
    // An index that is newer than the undo record may need fields that are not here.
    if !needed.iter().all(|field| is_known(*field)) {
        return Ok(());
    }
    // A multi-valued index is concerned as a whole, whichever of its parts has changed.
    let words = matches!(of.several, Some(Several::Words { .. }));
    let wanted = |field: usize| old[field].is_some() && (!words || wanted(field));
    let how = (Unneeded::IfDeleted, Reads::WhatIsLeft);
    entries::remove(ctx, format::ids::TrxId(0), table, index, version, &wanted, how, entry)
}

/// Frees the pages of a long value that an update replaced. The undo record keeps the reference to what is left of it.
fn free_old_value(ctx: &Context<'_>, table: &Table, roll_ptr: RollPtr, at: usize, bytes: &[u8]) -> Result<()> {
    let mut reference = Reference::read(bytes).map_err(super::entry::damaged)?;
    while !reference.page.is_null() && reference.is_owner() {
        let mut mtr = Mtr::begin(ctx.store);
        reference = btree::free_overflow_step(&mut mtr, table.rows().overflow_segment(), &reference)?;
        ctx.undo.patch(&mut mtr, roll_ptr, at, &reference.to_bytes())?;
        mtr.commit();
    }
    Ok(())
}
