//! Building indexes beside the rows while others use the table: see [`row::RowLog`].
//!
//! ```text
//!   alone                        open to others                     alone
//!   logs begin, view is taken -> rows are read, sorted, loaded  ->  rest of the logs -> the caller publishes
//!                                the logs are applied, in rounds
//! ```
//!
//! A table in partitions has a log for each of them: they are built one after the other, from one view.

use std::sync::Arc;

use format::ids::IndexId;

use super::alter::Others;
use super::build::reader;
use super::locked::LockedTables;
use super::{Inner, TrxOptions};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::row::{self, RowLog, Suspects};
use crate::scratch::SCRATCH_FILE_PREFIX;
use crate::transaction::Transaction;

/// Rounds in which the logs are read while others append to them, at most.
const ROUNDS_MAX: usize = 20;
/// A round that read no more than this is the last one.
const LAST_ROUND_BYTES: u64 = 64 << 10;

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

impl LockedTables<'_> {
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
        // The table may have been found damaged.
        match inner.dictionary.table(&old.database, &old.name) {
            Some(now) if Arc::ptr_eq(&now, old) => Ok(()),
            _ => Err(Error::NotFound(old.full_name().into())),
        }
    }
}
