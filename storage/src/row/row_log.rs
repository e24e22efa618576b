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
//! Blocks of the log are in memory until they are full, and then in an encrypted file. A log that becomes too long, or
//! that cannot be written, fails; the writers do not, and go on. The builder finds that out when it reads the log.
//!
//! ```text
//! a change    1   1 = it goes, 2 = it comes
//!             1   which index, in the order in which they are built
//!             2   extra bytes
//!             4   data bytes
//!             .   the entry's extra bytes and data
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{FieldData, RecordBuffer, RecordImage};
use rustc_hash::FxHashSet;

use super::change_log::ChangeLog;
use super::entry::{Key, build_entry, damaged};
use super::needed::Needed;
use super::secondary::{self, Unneeded};
use super::{Buffers, Context, Scratch, Table, entries};
use crate::error::{DuplicateRows, Error, Result};
use crate::io::Disk;
use crate::lock::Interrupt;
use crate::scratch::ScratchFile;
use crate::store::Store;
use crate::sync::{Mutex, Rank};

/// Bytes of the log in memory.
const BLOCK_BYTES: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };
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
    disk: Arc<dyn Disk>,
    path: String,
    bytes_max: u64,
    state: Mutex<State>,
}

struct State {
    /// The newest changes.
    block: Vec<u8>,
    /// Older ones.
    file: Option<ScratchFile>,
    /// Places and lengths of blocks in the file that were not read.
    blocks: VecDeque<(u64, usize)>,
    end: u64,
    failed: Option<Error>,
}

/// Keys of unique indexes that had several rows when they were seen.
#[derive(Default)]
pub struct Suspects(Vec<(usize, RecordBuffer)>);

impl RowLog {
    /// An empty log. `path` is the name of the file that may be needed.
    pub fn new(table: Arc<Table>, built: Vec<usize>, disk: Arc<dyn Disk>, path: String, bytes_max: u64) -> RowLog {
        let state = State { block: Vec::new(), file: None, blocks: VecDeque::new(), end: 0, failed: None };
        RowLog { table, built, disk, path, bytes_max, state: Mutex::new(Rank::Leaf, state) }
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
        if self.table.index_tree(ordinal).several.is_some() {
            let note = &mut |comes: bool, entry: &RecordBuffer| {
                encode(&mut changes, if comes { COMES } else { GOES }, number, entry.image());
                Ok(())
            };
            entries::for_each_change(store, &self.table, ordinal, before, after, entry, note)?;
            self.state.lock().append(self, number, &changes);
            return Ok(());
        }
        if let (Some(before), Some(after)) = (before, after) {
            let sources = &self.table.index_tree(ordinal).sources;
            if sources.iter().all(|source| before[usize::from(*source)] == after[usize::from(*source)]) {
                return Ok(());
            }
        }
        if let Some(before) = before {
            build_entry(store, &self.table, ordinal, before, 0, entry)?;
        }
        if let Some(after) = after {
            build_entry(store, &self.table, ordinal, after, 0, other_entry)?;
        }
        if before.is_some() && after.is_some() && entry.image() == other_entry.image() {
            return Ok(());
        }
        if before.is_some() {
            encode(&mut changes, GOES, number, entry.image());
        }
        if after.is_some() {
            encode(&mut changes, COMES, number, other_entry.image());
        }
        self.state.lock().append(self, number, &changes);
        Ok(())
    }

    /// An error if the log is not whole.
    pub fn check(&self) -> Result<()> {
        self.state.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Takes the oldest changes out of the log. False = there are none.
    fn take(&self, out: &mut Vec<u8>) -> Result<bool> {
        let mut state = self.state.lock();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let state = &mut *state;
        out.clear();
        if let (Some(file), Some((place, bytes))) = (&mut state.file, state.blocks.pop_front()) {
            out.resize(bytes, 0);
            file.read(place, out)?;
            if state.blocks.is_empty() {
                file.restart()?;
                state.end = 0;
            }
            return Ok(true);
        }
        std::mem::swap(out, &mut state.block);
        Ok(!out.is_empty())
    }

    /// Brings the trees up to what the log says by now. Returns the bytes that were read.
    pub fn apply(&self, ctx: &Context<'_>, interrupt: &Interrupt, suspects: &mut Suspects) -> Result<u64> {
        let (mut bytes, mut block) = (0, Vec::new());
        let mut entry = RecordBuffer::new();
        // Others append meanwhile: that is for another call, or this one might not end.
        let unread = self.state.lock().unread();
        while bytes < unread && self.take(&mut block)? {
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
        self.recheck(ctx, suspects)?;
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
            GOES => {
                let nobody = format::ids::TrxId(0);
                let (surely, mut needed) = (Unneeded::Surely, Needed::default());
                secondary::remove(ctx, &self.table, ordinal, nobody, entry, surely, &mut needed)?;
            }
            _ => {
                secondary::put_built(ctx, tree, entry)?;
                if self.table.indexes[ordinal].unique && self.rows_of_key(ctx, ordinal, entry)? > 1 {
                    let mut copy = RecordBuffer::new();
                    copy.set(&tree.leaf, entry.image());
                    suspects.0.push((ordinal, copy));
                    if suspects.0.len() > SUSPECTS_MAX {
                        self.recheck(ctx, suspects)?;
                        if suspects.0.len() > SUSPECTS_MAX {
                            return Err(self.duplicate(suspects)?.unwrap_or_else(damaged_log));
                        }
                    }
                }
            }
        }
        Ok(&bytes[HEADER_BYTES + extra + data..])
    }

    /// How many entries (2 = several) of a unique index have the key of this one; 1 if a part of it is NULL.
    fn rows_of_key(&self, ctx: &Context<'_>, ordinal: usize, entry: &RecordBuffer) -> Result<usize> {
        let tree = self.table.tree(ordinal);
        let parts = self.table.indexes[ordinal].parts.len();
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

    /// Forgets the keys that have one row by now.
    fn recheck(&self, ctx: &Context<'_>, suspects: &mut Suspects) -> Result<()> {
        let all = std::mem::take(&mut suspects.0);
        let mut known = FxHashSet::default();
        for (ordinal, entry) in all {
            let image = entry.image();
            let is_new = known.insert((ordinal, [image.extra, image.data].concat()));
            if is_new && self.rows_of_key(ctx, ordinal, &entry)? > 1 {
                suspects.0.push((ordinal, entry));
            }
        }
        Ok(())
    }

    /// The error for the first key that has several rows.
    pub fn duplicate(&self, suspects: &Suspects) -> Result<Option<Error>> {
        let Some((ordinal, entry)) = suspects.0.first() else { return Ok(None) };
        duplicate_rows(&self.table, *ordinal, entry).map(Some)
    }
}

impl ChangeLog for RowLog {
    fn note(&self, store: &Store, before: Option<&[FieldData<'_>]>, after: Option<&[FieldData<'_>]>) {
        for number in 0..self.built.len() {
            if let Err(error) = self.note_entry(store, number, before, after) {
                // The row is the writer's concern, the index that of its builder.
                self.state.lock().fail(error);
            }
        }
    }
}

/// The error for two rows with the key of a record of an index.
pub fn duplicate_rows(table: &Table, ordinal: usize, record: &RecordBuffer) -> Result<Error> {
    let of = &table.indexes[ordinal];
    let fields = table.tree(ordinal).leaf.parse(record.bytes(), record.origin()).map_err(damaged)?;
    let key = fields.take(of.parts.len()).map(|field| Ok(field?.of(record.bytes()).map(<[u8]>::to_vec)));
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

impl State {
    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
        self.block = Vec::new();
        self.blocks.clear();
        self.file = None;
    }

    /// Bytes that were not read yet.
    fn unread(&self) -> u64 {
        self.blocks.iter().map(|(_, bytes)| *bytes as u64).sum::<u64>() + self.block.len() as u64
    }

    /// Appends changes of the entries of an index.
    fn append(&mut self, log: &RowLog, number: usize, changes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.block.extend_from_slice(changes);
        if self.end + self.block.len() as u64 > log.bytes_max {
            let index = log.table.indexes[log.built[number]].name.clone();
            return self.fail(Error::RowLogFull { index });
        }
        if self.block.len() >= BLOCK_BYTES
            && let Err(error) = self.write(log)
        {
            self.fail(error);
        }
    }

    fn write(&mut self, log: &RowLog) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::create(&log.disk, log.path.clone())?),
        };
        file.write(self.end, &mut self.block)?;
        self.blocks.push_back((self.end, self.block.len()));
        self.end += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}
