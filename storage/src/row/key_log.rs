//! What happens to a table's rows while they are written anew into another file: the keys of the rows that change.
//!
//! ```text
//!   name alone        name open to others                              name alone
//!   ----------|--------------------------------------------------------|-----------------
//!   log begins   snapshot -> sorted -> loaded   changed rows are read   rest of the log, swap
//!   no open      writers append keys            again and replaced
//!   transaction
//! ```
//!
//! Rows keep their clustered key. So a key is enough: whoever catches up reads the row in the old table as it is by then, and
//! makes the row of the new table like it, whatever it was before. What a row became in between does not matter, nor
//! which row version it had, nor where its long values were.
//!
//! Only what is committed is taken over. A view is opened after the keys were taken from the log:
//!
//! * It sees the newest version of a row: that is the one. Later changes come with another key behind.
//! * It does not see it: a transaction is open that changes the row, or was a moment ago. The key is kept, with the
//!   transaction, until a view sees that one, which its end makes so, however it ends.
//!
//! A transaction appends the key before it ends. So a change whose key was taken is seen, or its row is kept; and when the
//! name is alone again no transaction is open, so that nothing is kept.
//!
//! The view keeps long values of what it sees from purge, and a rollback frees only those of versions that it does not see.
//!
//! Rows that were caught up with at different times may have one key of a unique index for a while, as in
//! [`RowLog`](super::RowLog): that is looked at again in the end.
//!
//! ```text
//! a key       .   for each field of the clustered key: 2 bytes its length, then the bytes
//! ```

use std::sync::Arc;

use format::ids::{RollPtr, TrxId};
use format::page::index::SearchMode;
use format::record::{FieldData, RecordBuffer, is_deleted};
use rustc_hash::FxHashSet;

use super::change_log::ChangeLog;
use super::entry::{Key, damaged, version_of_record};
use super::fill::fill;
use super::log_blocks::LogBlocks;
use super::remove::{find_version, free_long_values, remove_clustered};
use super::row_log::{self, Suspects, each_change};
use super::{Buffers, Context, Scratch, Table, secondary};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::lock::Interrupt;
use crate::schema::{ColumnSet, Row};
use crate::store::Store;
use crate::transaction::ReadView;

/// The log of a table whose rows are written anew.
pub struct KeyLog {
    /// The name of the clustered index, which is what is said to need a log that is too long.
    index: Box<str>,
    key_fields: usize,
    blocks: LogBlocks,
}

/// Keys of rows that open transactions had changed when they were looked at: a transaction's id, then the key.
#[derive(Default)]
pub struct Unsettled(Vec<u8>);

/// Is shown a row by its key as it is now; None = there is none.
pub type CatchUp<'a> = dyn FnMut(&Key<'_>, Option<&Row>) -> Result<()> + 'a;

impl KeyLog {
    /// An empty log of this table. `path` is the name of the file that may be needed.
    pub fn new(table: &Table, disk: Arc<dyn Disk>, path: String, bytes_max: u64) -> KeyLog {
        let (index, key_fields) = (table.indexes[0].name.clone(), table.key_fields());
        KeyLog { index, key_fields, blocks: LogBlocks::new(disk, path, bytes_max) }
    }

    /// An error if the log is not whole.
    pub fn check(&self) -> Result<()> {
        self.blocks.check()
    }

    /// Shows the rows of the table that were changed since the last call, as far as the changes are committed. Returns the
    /// bytes that were read.
    pub fn apply(
        &self,
        ctx: &Context<'_>,
        table: &Table,
        interrupt: &Interrupt,
        unsettled: &mut Unsettled,
        show: &mut CatchUp<'_>,
    ) -> Result<u64> {
        let (mut bytes, mut block) = (0, Vec::new());
        // Others append meanwhile: that is for another call, or this one might not end.
        let unread = self.blocks.unread();
        let kept = std::mem::take(&mut unsettled.0);
        let view = ctx.registry.view();
        let mut known = FxHashSet::default();
        let mut rest = &kept[..];
        while let Some((writer, behind)) = rest.split_at_checked(TrxId::BYTES).filter(|(writer, _)| !writer.is_empty())
        {
            let (key, behind) = self.split_key(behind)?;
            rest = behind;
            match view.sees(TrxId::read(writer)) {
                true if !known.insert(key) => {}
                true => show_row(ctx, table, &view, key, unsettled, show)?,
                false => unsettled.0.extend_from_slice(&[writer, key].concat()),
            }
            look(interrupt)?;
        }
        drop(view);
        while bytes < unread && self.blocks.take(&mut block)? {
            bytes += block.len() as u64;
            let view = ctx.registry.view();
            let mut known = FxHashSet::default();
            let mut rest = &block[..];
            while !rest.is_empty() {
                let (key, behind) = self.split_key(rest)?;
                rest = behind;
                if known.insert(key) {
                    show_row(ctx, table, &view, key, unsettled, show)?;
                }
                look(interrupt)?;
            }
            if unsettled.0.len() as u64 > self.blocks.bytes_max() {
                return Err(Error::RowLogFull { index: self.index.clone() });
            }
        }
        Ok(bytes)
    }

    /// The bytes of the first key, and those behind it.
    fn split_key<'b>(&self, bytes: &'b [u8]) -> Result<(&'b [u8], &'b [u8])> {
        let mut end = 0;
        for _ in 0..self.key_fields {
            let length = bytes.get(end..end + 2).ok_or_else(damaged_log)?;
            end += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
        }
        bytes.split_at_checked(end).ok_or_else(damaged_log)
    }
}

impl Unsettled {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ChangeLog for KeyLog {
    fn note(&self, _store: &Store, before: Option<&[FieldData<'_>]>, after: Option<&[FieldData<'_>]>) {
        // A row that moves is noted twice.
        let Some(version) = before.or(after) else { return };
        let mut key = Vec::new();
        for part in &version[..self.key_fields] {
            let FieldData::Bytes(bytes) = part else { return self.blocks.fail(damaged_log()) };
            key.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            key.extend_from_slice(bytes);
        }
        self.blocks.append(&key, &self.index);
    }
}

/// Makes the row with a key what it is to be, in a table that only its builder knows; None = there is to be none. Returns
/// how many rows came (1) or went (-1).
pub fn replace_built(
    ctx: &Context<'_>,
    table: &Table,
    key: &Key<'_>,
    record: Option<&RecordBuffer>,
    suspects: &mut Suspects,
) -> Result<i64> {
    let layout = &table.rows().leaf;
    let mut scratch = Scratch::take();
    let Buffers { old, entry, other_entry, offsets, .. } = &mut *scratch;
    let is_there = find_version(ctx, table, key, RollPtr::NO_HISTORY, old)?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    if is_there {
        layout.parse_into(old.bytes(), old.origin(), offsets).map_err(damaged)?;
        version_of_record(layout, old.bytes(), offsets, &mut before);
    }
    if let Some(record) = record {
        layout.parse_into(record.bytes(), record.origin(), offsets).map_err(damaged)?;
        version_of_record(layout, record.bytes(), offsets, &mut after);
    }
    let before = is_there.then_some(&before[..]);
    let after = record.is_some().then_some(&after[..]);
    if before.is_none() && after.is_none() {
        return Ok(0);
    }
    for index in table.secondary() {
        let change = &mut |comes: bool, entry: &RecordBuffer| match comes {
            true => row_log::put_built(ctx, table, index, entry, suspects),
            false => row_log::remove_built(ctx, table, index, entry),
        };
        each_change(ctx.store, table, index, before, after, [entry, other_entry], change)?;
    }
    if is_there {
        free_long_values(ctx, table, key, RollPtr::NO_HISTORY, |_, _| true)?;
    }
    match record {
        Some(record) => secondary::put_built(ctx, table.rows(), record)?,
        None => remove_clustered(ctx, table, key, RollPtr::NO_HISTORY)?,
    }
    Ok(i64::from(record.is_some()) - i64::from(is_there))
}

/// Shows a row by its key, or keeps the key if its newest version is not committed.
fn show_row(
    ctx: &Context<'_>,
    table: &Table,
    view: &ReadView,
    bytes: &[u8],
    unsettled: &mut Unsettled,
    show: &mut CatchUp<'_>,
) -> Result<()> {
    ctx.store.check_headroom()?;
    let mut key = Key::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (part, behind) =
            behind.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or_else(damaged_log)?;
        key.push(Some(part));
        rest = behind;
    }
    let rows = table.rows();
    let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
    let origin = usize::from(position.origin);
    if !position.matched {
        drop(page);
        return show(&key, None);
    }
    let writer = rows.leaf.trx_id(&page, origin).map_err(damaged)?;
    if !view.sees(writer) {
        unsettled.0.extend_from_slice(&[&writer.to_bytes()[..], bytes].concat());
        return Ok(());
    }
    if is_deleted(&page, origin) {
        drop(page);
        return show(&key, None);
    }
    let mut row = Row::new();
    fill(ctx, table, &page, origin, &ColumnSet::first(table.columns.len()), &mut row)?;
    drop(page);
    show(&key, Some(&row))
}

fn look(interrupt: &Interrupt) -> Result<()> {
    interrupt.pass();
    if interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) }
}

fn damaged_log() -> Error {
    Error::corrupt("a log of keys that is damaged")
}
