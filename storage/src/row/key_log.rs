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
//! A key is enough: whoever catches up reads the row in the old table as it is by then, and makes the row of the new table
//! like it, whatever it was before. What a row became in between does not matter, nor which row version it had, nor where
//! its long values were. Where rows have another key in the new table, [`Moves`] knows which one.
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

use std::cmp::Ordering;
use std::sync::Arc;

use format::ids::{RollPtr, TrxId};
use format::page::index::SearchMode;
use format::record::{FieldData, RecordBuffer, compare_value, is_deleted};
use rustc_hash::{FxHashMap, FxHashSet};

use super::change_log::ChangeLog;
use super::entry::{Key, damaged, hash_key, version_of_record, version_of_values};
use super::fill::fill;
use super::get::get;
use super::log_blocks::LogBlocks;
use super::remove::{find_version, free_long_values, remove_clustered};
use super::row_log::{self, Suspects, each_change};
use super::{Buffers, Context, Scratch, Table, secondary};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::lock::Interrupt;
use crate::schema::{ColumnSet, ReadMode, Row};
use crate::store::Store;
use crate::transaction::{ReadView, Transaction};

/// The log of a table whose rows are written anew.
pub struct KeyLog {
    /// The name of the clustered index, which is what is said to need a log that is too long.
    index: Box<str>,
    key_fields: usize,
    blocks: LogBlocks,
}

/// Where rows are in a new table whose clustered index is another. Two rows may want one place for a while, since they are
/// caught up with at different times: the second of them waits until the first has left it, or is a duplicate in the end.
pub struct Moves {
    /// Sees the rows that the new table was filled with: a row that is looked at for the first time is where that says.
    snapshot: Transaction,
    /// By the hash of the key in the old table.
    places: FxHashMap<u64, Vec<Moved>>,
    /// What they take, less than `bytes_max`.
    bytes: u64,
    bytes_max: u64,
}

/// The key of a row in the old table, and in the new one; None = it is not there.
type Moved = (Box<[u8]>, Option<Box<[u8]>>);

/// Keys of rows that open transactions had changed when they were looked at: a transaction's id, then the key.
#[derive(Default)]
pub struct Unsettled(Vec<u8>);

/// Is shown a row by its key as it is now; None = there is none. False = it has to be shown again at the next call.
pub type CatchUp<'a> = dyn FnMut(&Key<'_>, Option<&Row>) -> Result<bool> + 'a;

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
    let key = decode_key(bytes)?;
    let rows = table.rows();
    let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
    let origin = usize::from(position.origin);
    let mut keep = |writer: TrxId| unsettled.0.extend_from_slice(&[&writer.to_bytes()[..], bytes].concat());
    let is_done = if position.matched {
        let writer = rows.leaf.trx_id(&page, origin).map_err(damaged)?;
        if !view.sees(writer) {
            keep(writer);
            return Ok(());
        }
        if is_deleted(&page, origin) {
            drop(page);
            show(&key, None)?
        } else {
            let mut row = Row::new();
            fill(ctx, table, &page, origin, &ColumnSet::first(table.columns.len()), &mut row)?;
            drop(page);
            show(&key, Some(&row))?
        }
    } else {
        drop(page);
        show(&key, None)?
    };
    if !is_done {
        // Every view sees this writer.
        keep(TrxId(0));
    }
    Ok(())
}

/// A key as the log has it.
fn encode_key(parts: &[Option<&[u8]>]) -> Box<[u8]> {
    let mut bytes = Vec::new();
    for part in parts.iter().flatten() {
        bytes.extend_from_slice(&(part.len() as u16).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes.into()
}

fn decode_key(bytes: &[u8]) -> Result<Key<'_>> {
    let mut key = Key::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (part, behind) =
            behind.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or_else(damaged_log)?;
        key.push(Some(part));
        rest = behind;
    }
    Ok(key)
}

impl Moves {
    /// `snapshot` is what the new table was filled with.
    pub fn new(snapshot: Transaction, bytes_max: u64) -> Moves {
        Moves { snapshot, places: FxHashMap::default(), bytes: 0, bytes_max }
    }

    /// The row of this key in the old table as it was when the new one was filled; None = there was none.
    pub fn first_version(&mut self, ctx: &Context<'_>, old: &Table, key: &Key<'_>) -> Result<Option<Row>> {
        let (columns, mut row) = (ColumnSet::first(old.columns.len()), Row::new());
        let found = get(ctx, &mut self.snapshot, old, 0, key, ReadMode::Consistent, &columns, &mut row)?;
        Ok(found.then_some(row))
    }

    /// Where the row of this key in the old table is in the new one, if that was said before: Some(None) = nowhere.
    pub fn place(&self, old: &Table, key: &Key<'_>) -> Result<Option<Option<Box<[u8]>>>> {
        for (own, place) in self.places.get(&hash_of(old, key)).into_iter().flatten() {
            if is_same(old, &decode_key(own)?, key) {
                return Ok(Some(place.clone()));
            }
        }
        Ok(None)
    }

    /// Says where the row of this key is from now on.
    pub fn set_place(&mut self, old: &Table, key: &Key<'_>, place: Option<Box<[u8]>>) -> Result<()> {
        let known = self.places.entry(hash_of(old, key)).or_default();
        self.bytes += place.as_ref().map_or(0, |place| place.len()) as u64;
        let mut at = None;
        for (number, (own, _)) in known.iter().enumerate() {
            if is_same(old, &decode_key(own)?, key) {
                at = Some(number);
            }
        }
        match at {
            Some(at) => known[at].1 = place,
            None => {
                let own = encode_key(key);
                self.bytes += (own.len() + size_of::<Moved>()) as u64;
                known.push((own, place));
            }
        }
        match self.bytes > self.bytes_max {
            true => Err(Error::RowLogFull { index: old.indexes[0].name.clone() }),
            false => Ok(()),
        }
    }
}

/// Of keys that compare equal the hash is one.
fn hash_of(table: &Table, key: &Key<'_>) -> u64 {
    hash_key(&table.rows().leaf, key)
}

fn is_same(table: &Table, one: &Key<'_>, other: &Key<'_>) -> bool {
    let fields = table.rows().leaf.fields();
    fields
        .iter()
        .zip(one.iter().zip(other.iter()))
        .all(|(field, (one, other))| compare_value(field, *one, *other) == Ordering::Equal)
}

/// The key of a row of these values in a table.
pub fn key_of_values(table: &Table, values: &[Option<&[u8]>]) -> Box<[u8]> {
    let mut version = Vec::new();
    version_of_values(table, values, &[0; 6], &mut version);
    let part = |part: &FieldData<'_>| match part {
        FieldData::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    let parts: Vec<Option<Vec<u8>>> = version[..table.key_fields()].iter().map(part).collect();
    encode_key(&parts.iter().map(|part| part.as_deref()).collect::<Vec<_>>())
}

/// Whether a table that only its builder knows has a row of this key.
pub fn is_built(ctx: &Context<'_>, table: &Table, key: &[u8]) -> Result<bool> {
    let (_page, position) = table.rows().find(ctx.store, &decode_key(key)?, SearchMode::LessOrEqual)?;
    Ok(position.matched)
}

/// [`replace_built`] of a key as [`key_of_values`] has it.
pub fn replace_built_at(
    ctx: &Context<'_>,
    table: &Table,
    key: &[u8],
    record: Option<&RecordBuffer>,
    suspects: &mut Suspects,
) -> Result<i64> {
    replace_built(ctx, table, &decode_key(key)?, record, suspects)
}

fn look(interrupt: &Interrupt) -> Result<()> {
    interrupt.pass();
    if interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) }
}

fn damaged_log() -> Error {
    Error::corrupt("a log of keys that is damaged")
}
