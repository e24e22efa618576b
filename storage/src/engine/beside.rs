//! Building indexes beside the rows while others use the table (see [`row::RowLog`]), and writing the rows anew into another
//! file (see [`row::KeyLog`]).
//!
//! ```text
//!   alone                        open to others                     alone
//!   logs begin, view is taken -> rows are read, sorted, loaded  ->  rest of the logs -> the caller publishes
//!                                the logs are applied, in rounds
//! ```
//!
//! A table in partitions has a log for each of them: their indexes are built one after the other, from one view, and so are
//! their files, if every row stays in its partition.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::IndexId;

use super::build::{Rows, reader};
use super::locked::LockedTables;
use super::{Inner, RowMap, TrxOptions};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::row::{self, Key, KeyLog, Moves, RowLog, Suspects, Unsettled};
use crate::schema::Row;
use crate::scratch::SCRATCH_FILE_PREFIX;
use crate::transaction::Transaction;

/// Rounds in which the logs are read while others append to them, at most.
const ROUNDS_MAX: usize = 20;
/// A round that read no more than this is the last one.
const LAST_ROUND_BYTES: u64 = 64 << 10;
/// The same of keys: each is a row to be read and replaced, and others wait for the rest of them.
const LAST_ROUND_KEY_BYTES: u64 = 4 << 10;

/// What other sessions may do with the table while a statement reads it to build something. At the beginning and at the
/// end the statement has the name alone in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Write,
    Read,
    Wait,
}

/// The indexes that are built in one file. Its log ends when this is dropped.
struct Build<'t> {
    old: &'t row::Table,
    new: &'t row::Table,
    built: &'t [usize],
    log: Arc<RowLog>,
    suspects: Suspects,
}

impl Drop for Build<'_> {
    fn drop(&mut self) {
        self.old.row_log_place().end();
    }
}

impl<'t> Build<'t> {
    fn begin(inner: &Inner, old: &'t row::Table, new: &'t Arc<row::Table>, built: &'t [usize]) -> Build<'t> {
        let IndexId(id) = new.indexes[built[0]].id;
        let (disk, path) = (inner.store.scratch_disk().clone(), format!("{SCRATCH_FILE_PREFIX}log-{id}"));
        let bytes_max = inner.store.config().online_log_bytes_max;
        let log = Arc::new(RowLog::new(new.clone(), built.to_vec(), disk, path, bytes_max));
        old.row_log_place().begin(log.clone());
        Build { old, new, built, log, suspects: Suspects::default() }
    }

    /// Fills the trees with the rows that the reader's view sees.
    fn fill(&self, inner: &Inner, trx: &Transaction, wait: &TrxOptions) -> Result<()> {
        let look = || {
            if wait.interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            self.log.check()
        };
        inner.fill_indexes(self.old, self.new, self.built, trx, &look, &wait.interrupt)
    }

    /// Brings the trees up to date; returns the bytes that were read for it.
    fn apply(&mut self, inner: &Inner, wait: &TrxOptions) -> Result<u64> {
        self.log.apply(&inner.context(), &wait.interrupt, &mut self.suspects)
    }

    /// Nobody appends any more: whether the trees can be what they are to be.
    fn finish(&mut self, inner: &Inner, wait: &TrxOptions) -> Result<()> {
        self.apply(inner, wait)?;
        match self.log.duplicate(&self.suspects)? {
            Some(error) => Err(error),
            None => self.log.check(),
        }
    }
}

/// A file of a table that is written anew into another one. Its log ends when this is dropped.
pub(super) struct Rebuild<'t> {
    old: &'t row::Table,
    new: &'t row::Table,
    log: Arc<KeyLog>,
    unsettled: Unsettled,
    suspects: Suspects,
    /// Where rows went, if their keys in the new table are others.
    moves: Option<Moves>,
    /// Rows that came since the snapshot, less those that went.
    rows: i64,
}

impl Drop for Rebuild<'_> {
    fn drop(&mut self) {
        self.old.row_log_place().end();
    }
}

impl<'t> Rebuild<'t> {
    /// Begins the log. The names are the statement's alone, and no transaction uses the table.
    pub(super) fn begin(inner: &Inner, old: &'t row::Table, new: &'t row::Table) -> Rebuild<'t> {
        let IndexId(id) = new.indexes[0].id;
        let (disk, path) = (inner.store.scratch_disk().clone(), format!("{SCRATCH_FILE_PREFIX}log-{id}"));
        let bytes_max = inner.store.config().online_log_bytes_max;
        let log = Arc::new(KeyLog::new(old, disk, path, bytes_max));
        old.row_log_place().begin(log.clone());
        let (unsettled, suspects) = (Unsettled::default(), Suspects::default());
        Rebuild { old, new, log, unsettled, suspects, moves: None, rows: 0 }
    }

    /// Rows have other keys in the new table, which this transaction's view has filled.
    pub(super) fn follow_moves(&mut self, inner: &Inner, snapshot: Transaction) {
        self.moves = Some(Moves::new(snapshot, inner.store.config().online_log_bytes_max));
    }

    /// An error if the log is not whole.
    pub(super) fn check(&self) -> Result<()> {
        self.log.check()
    }

    /// Brings the new table up to what is committed by now; returns the bytes that were read for it. `is_last`: two rows
    /// that want one place are duplicates.
    fn apply(
        &mut self,
        inner: &Inner,
        map: &mut Option<&mut RowMap<'_>>,
        wait: &TrxOptions,
        is_last: bool,
    ) -> Result<u64> {
        let (context, old, new) = (inner.context(), self.old, self.new);
        let mut rows = Rows::new(new);
        let (suspects, moves, count) = (&mut self.suspects, &mut self.moves, &mut self.rows);
        let bytes = self.log.apply(&context, old, &wait.interrupt, &mut self.unsettled, &mut |key, row| {
            let mapped = mapped(map, row)?;
            let values = values_of(new, row, &mapped, map.is_none());
            let Some(moves) = moves else {
                if let (Some(values), Some(row)) = (&values, row) {
                    rows.set_values(inner, values, row.row_id)?;
                }
                *count += row::replace_built(&context, new, key, values.map(|_| &rows.record), suspects)?;
                return Ok(true);
            };
            let was = match moves.place(old, key)? {
                Some(place) => place,
                None => first_place(moves, inner, (old, new), key, map)?,
            };
            let becomes = values.as_ref().map(|values| row::key_of_values(new, values));
            if was != becomes {
                if let Some(was) = &was {
                    *count += row::replace_built_at(&context, new, was, None, suspects)?;
                }
                moves.set_place(old, key, None)?;
            }
            let (Some(values), Some(row), Some(becomes)) = (values, row, becomes) else { return Ok(true) };
            if was.as_ref() != Some(&becomes) && row::is_built(&context, new, &becomes)? {
                if is_last {
                    rows.set_values(inner, &values, row.row_id)?;
                    return Err(row::duplicate_rows(new, 0, &rows.record)?);
                }
                return Ok(false);
            }
            rows.set_values(inner, &values, row.row_id)?;
            *count += row::replace_built_at(&context, new, &becomes, Some(&rows.record), suspects)?;
            moves.set_place(old, key, Some(becomes))?;
            Ok(true)
        })?;
        self.suspects.recheck(&context, new)?;
        Ok(bytes)
    }

    /// Catches up with the writers until little is left for all files of a table.
    pub(super) fn catch_up(
        files: &mut [Rebuild<'_>],
        inner: &Inner,
        map: &mut Option<&mut RowMap<'_>>,
        wait: &TrxOptions,
    ) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            let mut bytes = 0;
            for file in &mut *files {
                bytes += file.apply(inner, map, wait, false)?;
            }
            if bytes <= LAST_ROUND_KEY_BYTES {
                break;
            }
        }
        Ok(())
    }

    /// Nobody appends any more: brings the new table up to date, and tells whether it can be what it is to be.
    pub(super) fn finish(&mut self, inner: &Inner, map: &mut Option<&mut RowMap<'_>>, wait: &TrxOptions) -> Result<()> {
        self.apply(inner, map, wait, false)?;
        // Whoever wants a place that another has had until now finds it free.
        if self.moves.is_some() && !self.unsettled.is_empty() {
            self.apply(inner, map, wait, true)?;
        }
        if let Some(error) = self.suspects.duplicate(self.new)? {
            return Err(error);
        }
        self.log.check()?;
        if !self.unsettled.is_empty() {
            return Err(Error::corrupt("a row that is changed while its table is a statement's alone"));
        }
        let rows = self.new.state.rows.load(Ordering::Relaxed);
        self.new.state.rows.store(rows.saturating_add_signed(self.rows), Ordering::Relaxed);
        Ok(())
    }
}

/// What the statement makes of a row; None = there is none, or it stays as it is.
fn mapped(map: &mut Option<&mut RowMap<'_>>, row: Option<&Row>) -> Result<Option<Vec<Option<Vec<u8>>>>> {
    match (map, row) {
        (Some(map), Some(row)) => map(row),
        _ => Ok(None),
    }
}

/// The values of a row in the new table. `stays`: rows stay as they are.
fn values_of<'v>(
    new: &row::Table,
    row: Option<&'v Row>,
    mapped: &'v Option<Vec<Option<Vec<u8>>>>,
    stays: bool,
) -> Option<Vec<Option<&'v [u8]>>> {
    match (row, mapped) {
        (Some(_), Some(mapped)) => Some(mapped.iter().map(|value| value.as_deref()).collect()),
        (Some(row), None) if stays => Some((0..new.columns.len()).map(|at| row.get(at)).collect()),
        _ => None,
    }
}

/// Where a row is in the new table that nobody has looked at since that was filled.
fn first_place(
    moves: &mut Moves,
    inner: &Inner,
    (old, new): (&row::Table, &row::Table),
    key: &Key<'_>,
    map: &mut Option<&mut RowMap<'_>>,
) -> Result<Option<Box<[u8]>>> {
    let first = moves.first_version(&inner.context_of(old), old, key)?;
    let mapped = mapped(map, first.as_ref())?;
    Ok(values_of(new, first.as_ref(), &mapped, map.is_none()).map(|values| row::key_of_values(new, &values)))
}

impl LockedTables<'_> {
    /// An error if the dictionary no longer has the table: it may have been found damaged while others used it.
    pub(super) fn check_current(&self, old: &Arc<Table>) -> Result<()> {
        match self.engine.inner.dictionary.table(&old.database, &old.name) {
            Some(now) if Arc::ptr_eq(&now, old) => Ok(()),
            _ => Err(Error::NotFound(old.full_name().into())),
        }
    }

    /// Fills the new indexes of a table; what others may do meanwhile is `others`. On return the names are this
    /// statement's alone, and no transaction uses the table.
    pub(super) fn build_indexes(
        &self,
        old: &Arc<Table>,
        changed: &Arc<row::Table>,
        built: &[usize],
        others: Others,
    ) -> Result<()> {
        if built.is_empty() {
            return Ok(());
        }
        let (inner, wait): (&Inner, &TrxOptions) = (&self.engine.inner, self.wait);
        let mut trx = reader(&wait.interrupt);
        trx.open_view(&inner.registry);
        let files = old.files().iter().zip(changed.files());
        let mut builds: Vec<Build<'_>> = files.map(|(old, new)| Build::begin(inner, old, new, built)).collect();
        let is_open = others != Others::Wait;
        if is_open {
            self.open(others == Others::Read);
        }
        for build in &builds {
            build.fill(inner, &trx, wait)?;
        }
        drop(trx);
        for _ in 0..ROUNDS_MAX {
            let mut bytes = 0;
            for build in &mut builds {
                bytes += build.apply(inner, wait)?;
            }
            if bytes <= LAST_ROUND_BYTES {
                break;
            }
        }
        if is_open {
            self.close()?;
        }
        for build in &mut builds {
            build.finish(inner, wait)?;
        }
        self.check_current(old)
    }
}
