//! What happens to a table's rows while indexes are built beside them: InnoDB's row log.
//!
//! ```text
//!   name alone        name open to others                         name alone
//!   ----------|---------------------------------------------------|-----------------
//!   log begins   snapshot -> sorted -> loaded     log -> the trees   rest of the log, publish
//!   no open                writers append to the log
//!   transaction
//! ```
//!
//! The log begins while no transaction uses the table, so the snapshot that is read from there on has the rows exactly as
//! they are then. Every later change of a row, and every undoing of a change, appends which *entries* of the new indexes
//! went and came. An entry has the row's key, so it is there or not, and what the log says of it last is how it is:
//!
//! * The changes of one row follow each other: a row that a transaction has changed is locked to its end, its rollback
//!   included. So the log has the changes of an entry in their order.
//! * Going and coming are absolute (`it is not there`, `it is there, with these bytes`), so a change that failed half-way,
//!   of which only the undoing is in the log, does no harm.
//! * When the name is alone again no transaction is open: what the log then says is committed.
//!
//! So the trees have exactly the entries of the rows that there are, none is delete-marked, and a read view that is older
//! does not use them ([`TableState`](crate::schema::TableState)).
//!
//! Two rows with one key in a unique index may come and go while the log is read: a transaction that is rolled back later
//! may have written one of them. So such keys are only noted, and looked at again when the log has been read.
//!
//! A log that becomes too long fails, and the writers do not, see `log_blocks`. For rows that are written anew there is
//! [`KeyLog`](super::KeyLog).
//!
//! ```text
//! a change    1   1 = it goes, 2 = it comes
//!             1   which index, in the order in which they are built
//!             2   extra bytes
//!             4   data bytes
//!             .   the entry's extra bytes and data
//! ```

use std::sync::Arc;

use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{FieldData, RecordBuffer, RecordImage};
use format::value::array;
use rustc_hash::FxHashSet;

use super::change_log::ChangeLog;
use super::entry::{Key, build_entry, damaged};
use super::log_blocks::LogBlocks;
use super::needed::Needed;
use super::secondary::{self, Unneeded};
use super::{Buffers, Context, Scratch, Table, entries};
use crate::error::{DuplicateRows, Error, Result};
use crate::io::Disk;
use crate::lock::Interrupt;
use crate::store::Store;

const HEADER_BYTES: usize = 8;
const GOES: u8 = 1;
const COMES: u8 = 2;
/// Keys of unique indexes with several rows, at one time. With more the newest is reported at once.
const SUSPECTS_MAX: usize = 10_000;

/// The log of the indexes that one statement builds.
pub struct RowLog {
    /// The table as it will be.
    table: Arc<Table>,
    /// Ordinals of the indexes that are built.
    built: Vec<usize>,
    blocks: LogBlocks,
}

/// Keys of unique indexes that had several rows when they were seen.
#[derive(Default)]
pub struct Suspects(Vec<(usize, RecordBuffer)>);

impl RowLog {
    /// An empty log. `path` is the name of the file that may be needed.
    pub fn new(table: Arc<Table>, built: Vec<usize>, disk: Arc<dyn Disk>, path: String, bytes_max: u64) -> RowLog {
        RowLog { table, built, blocks: LogBlocks::new(disk, path, bytes_max) }
    }

    fn note_entry(
        &self,
        store: &Store,
        number: usize,
        before: Option<&[FieldData<'_>]>,
        after: Option<&[FieldData<'_>]>,
    ) -> Result<()> {
        let ordinal = self.built[number];
        let mut scratch = Scratch::take();
        let Buffers { entry, other_entry, .. } = &mut *scratch;
        let mut changes = Vec::new();
        let note = &mut |comes: bool, entry: &RecordBuffer| {
            encode(&mut changes, if comes { COMES } else { GOES }, number, entry.image());
            Ok(())
        };
        each_change(store, &self.table, ordinal, before, after, [entry, other_entry], note)?;
        self.blocks.append(&changes, &self.table.indexes[ordinal].name);
        Ok(())
    }

    /// An error if the log is not whole.
    pub fn check(&self) -> Result<()> {
        self.blocks.check()
    }

    /// Brings the trees up to what the log says by now. Returns the bytes that were read.
    pub fn apply(&self, ctx: &Context<'_>, interrupt: &Interrupt, suspects: &mut Suspects) -> Result<u64> {
        let (mut bytes, mut block) = (0, Vec::new());
        let mut entry = RecordBuffer::new();
        // Others append meanwhile: that is for another call, or this one might not end.
        let unread = self.blocks.unread();
        while bytes < unread && self.blocks.take(&mut block)? {
            bytes += block.len() as u64;
            let mut rest = &block[..];
            while !rest.is_empty() {
                if interrupt.is_set() {
                    return Err(Error::Interrupted);
                }
                rest = self.apply_one(ctx, rest, &mut entry, suspects)?;
                interrupt.pass();
            }
        }
        suspects.recheck(ctx, &self.table)?;
        Ok(bytes)
    }

    /// Applies the first change in `bytes`, and returns the others.
    fn apply_one<'b>(
        &self,
        ctx: &Context<'_>,
        bytes: &'b [u8],
        entry: &mut RecordBuffer,
        suspects: &mut Suspects,
    ) -> Result<&'b [u8]> {
        let damaged_log = || Error::corrupt("a row log that is damaged");
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or_else(damaged_log)?;
        let ordinal = *self.built.get(usize::from(header[1])).ok_or_else(damaged_log)?;
        let extra = usize::from(u16::from_le_bytes([header[2], header[3]]));
        let data = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let body = bytes.get(HEADER_BYTES..HEADER_BYTES + extra + data).ok_or_else(damaged_log)?;
        let tree = self.table.tree(ordinal);
        entry.set(&tree.leaf, RecordImage { info: 0, extra: &body[..extra], data: &body[extra..] });
        ctx.store.check_headroom()?;
        match header[0] {
            GOES => remove_built(ctx, &self.table, ordinal, entry)?,
            _ => put_built(ctx, &self.table, ordinal, entry, suspects)?,
        }
        Ok(&bytes[HEADER_BYTES + extra + data..])
    }

    /// The error for the first key that has several rows.
    pub fn duplicate(&self, suspects: &Suspects) -> Result<Option<Error>> {
        suspects.duplicate(&self.table)
    }
}

impl Suspects {
    /// Forgets the keys that have one row by now.
    pub fn recheck(&mut self, ctx: &Context<'_>, table: &Table) -> Result<()> {
        let all = std::mem::take(&mut self.0);
        let mut known = FxHashSet::default();
        for (ordinal, entry) in all {
            let image = entry.image();
            let is_new = known.insert((ordinal, [image.extra, image.data].concat()));
            if is_new && rows_of_key(ctx, table, ordinal, &entry)? > 1 {
                self.0.push((ordinal, entry));
            }
        }
        Ok(())
    }

    /// The error for the first key that has several rows.
    pub fn duplicate(&self, table: &Table) -> Result<Option<Error>> {
        let Some((ordinal, entry)) = self.0.first() else { return Ok(None) };
        duplicate_rows(table, *ordinal, entry).map(Some)
    }
}

/// Shows what a change of a row does to its entries in an index, those that go (false) before those that come (true).
/// None = there is no row.
pub(super) fn each_change(
    store: &Store,
    table: &Table,
    ordinal: usize,
    before: Option<&[FieldData<'_>]>,
    after: Option<&[FieldData<'_>]>,
    [entry, other_entry]: [&mut RecordBuffer; 2],
    visit: &mut dyn FnMut(bool, &RecordBuffer) -> Result<()>,
) -> Result<()> {
    if table.index_tree(ordinal).several.is_some() {
        return entries::for_each_change(store, table, ordinal, before, after, entry, visit);
    }
    if let (Some(before), Some(after)) = (before, after) {
        let sources = &table.index_tree(ordinal).sources;
        if sources.iter().all(|source| before[usize::from(*source)] == after[usize::from(*source)]) {
            return Ok(());
        }
    }
    if let Some(before) = before {
        build_entry(store, table, ordinal, before, 0, entry)?;
    }
    if let Some(after) = after {
        build_entry(store, table, ordinal, after, 0, other_entry)?;
    }
    if before.is_some() && after.is_some() && entry.image() == other_entry.image() {
        return Ok(());
    }
    if before.is_some() {
        visit(false, entry)?;
    }
    if after.is_some() {
        visit(true, other_entry)?;
    }
    Ok(())
}

/// Removes an entry from an index that only its builder knows.
pub(super) fn remove_built(ctx: &Context<'_>, table: &Table, ordinal: usize, entry: &RecordBuffer) -> Result<()> {
    let nobody = format::ids::TrxId(0);
    secondary::remove(ctx, table, ordinal, nobody, entry, Unneeded::Surely, &mut Needed::default())
}

/// Puts an entry into an index that only its builder knows. That its key has another row may be for now.
pub(super) fn put_built(
    ctx: &Context<'_>,
    table: &Table,
    ordinal: usize,
    entry: &RecordBuffer,
    suspects: &mut Suspects,
) -> Result<()> {
    let tree = table.tree(ordinal);
    secondary::put_built(ctx, tree, entry)?;
    if table.indexes[ordinal].unique && rows_of_key(ctx, table, ordinal, entry)? > 1 {
        let mut copy = RecordBuffer::new();
        copy.set(&tree.leaf, entry.image());
        suspects.0.push((ordinal, copy));
        if suspects.0.len() > SUSPECTS_MAX {
            suspects.recheck(ctx, table)?;
            if suspects.0.len() > SUSPECTS_MAX {
                return Err(duplicate_rows(table, ordinal, entry)?);
            }
        }
    }
    Ok(())
}

/// How many entries (2 = several) of a unique index have the key of this one; 1 if a part of it is NULL.
fn rows_of_key(ctx: &Context<'_>, table: &Table, ordinal: usize, entry: &RecordBuffer) -> Result<usize> {
    let tree = table.tree(ordinal);
    let parts = table.indexes[ordinal].parts.len();
    let key = Key::of_record(entry.bytes(), &tree.leaf, entry.origin(), parts)?;
    if key.iter().any(Option::is_none) {
        return Ok(1);
    }
    let (mut page, position) = tree.find(ctx.store, &key, SearchMode::GreaterOrEqual)?;
    let mut origin = position.origin;
    let mut rows = 0;
    while rows < 2 {
        if origin == SUPREMUM {
            let Some(next) = tree.next_leaf(ctx.store, page)? else { break };
            page = next;
            origin = index::first(&page).map_err(damaged)?;
            continue;
        }
        if format::record::compare(&page, &tree.leaf, usize::from(origin), &key).map_err(damaged)?.is_ne() {
            break;
        }
        rows += 1;
        origin = index::next(&page, origin).map_err(damaged)?;
    }
    Ok(rows)
}

impl ChangeLog for RowLog {
    fn note(&self, store: &Store, before: Option<&[FieldData<'_>]>, after: Option<&[FieldData<'_>]>) {
        for number in 0..self.built.len() {
            if let Err(error) = self.note_entry(store, number, before, after) {
                // The row is the writer's concern, the index that of its builder.
                self.blocks.fail(error);
            }
        }
    }
}

/// The error for two rows with the key of a record of an index.
pub fn duplicate_rows(table: &Table, ordinal: usize, record: &RecordBuffer) -> Result<Error> {
    let of = &table.indexes[ordinal];
    let fields = table.tree(ordinal).leaf.parse(record.bytes(), record.origin()).map_err(damaged)?;
    let key = fields.zip(&of.parts).map(|(field, part)| {
        let value = field?.of(record.bytes());
        Ok(value.map(|stored| match part.elements {
            None => stored.to_vec(),
            // The entry has one of the array's elements.
            Some(_) => array::one(stored),
        }))
    });
    let key = key.collect::<format::Result<_>>().map_err(damaged)?;
    Ok(Error::DuplicateRows(Box::new(DuplicateRows { index: of.name.clone(), key })))
}

fn encode(out: &mut Vec<u8>, kind: u8, number: usize, entry: RecordImage<'_>) {
    out.extend_from_slice(&[kind, number as u8]);
    out.extend_from_slice(&(entry.extra.len() as u16).to_le_bytes());
    out.extend_from_slice(&(entry.data.len() as u32).to_le_bytes());
    out.extend_from_slice(entry.extra);
    out.extend_from_slice(entry.data);
}
