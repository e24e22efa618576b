//! Building indexes beside the rows while others use the table: see [`RowLog`].
//!
//! ```text
//!   alone                        open to others                    alone
//!   log begins, view is taken -> rows are read, sorted, loaded -> rest of the log -> the caller publishes
//!                                the log is applied, in rounds
//! ```

use std::sync::Arc;

use format::ids::IndexId;

use super::alter::Others;
use super::build::reader;
use super::locked::LockedTables;
use super::{Engine, TrxOptions};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::row;
use crate::scratch::SCRATCH_FILE_PREFIX;

/// Rounds in which the log is read while others append to it, at most.
const ROUNDS_MAX: usize = 20;
/// A round that read no more than this is the last one.
const LAST_ROUND_BYTES: usize = 64 << 10;

/// A log that ends when this is dropped.
struct Logging<'t>(&'t row::Table);

impl Drop for Logging<'_> {
    fn drop(&mut self) {
        self.0.row_log_place().end();
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
        let Some(first) = built.first() else { return Ok(()) };
        let (engine, wait): (&Engine, &TrxOptions) = (self.engine, self.wait);
        let inner = &engine.inner;
        let IndexId(id) = changed.indexes[*first].id;
        let (disk, path) = (inner.store.scratch_disk().clone(), format!("{SCRATCH_FILE_PREFIX}log-{id}"));
        let bytes_max = inner.store.config().online_log_bytes_max;
        let log = Arc::new(row::RowLog::new(changed.clone(), built.to_vec(), disk, path, bytes_max));
        let mut trx = reader(&wait.interrupt);
        trx.open_view(&inner.registry);
        old.row_log_place().begin(log.clone());
        let _logging = Logging(old);
        let context = inner.context();
        let mut suspects = row::Suspects::default();
        let is_open = others != Others::Wait;
        if is_open {
            self.open(others == Others::Read);
        }
        inner.fill_indexes(old, changed, built, &trx, &wait.interrupt)?;
        drop(trx);
        for _ in 0..ROUNDS_MAX {
            if log.apply(&context, &wait.interrupt, &mut suspects)? <= LAST_ROUND_BYTES {
                break;
            }
        }
        if is_open {
            self.close()?;
        }
        log.apply(&context, &wait.interrupt, &mut suspects)?;
        if let Some(error) = log.duplicate(&suspects)? {
            return Err(error);
        }
        // The table may have been found damaged.
        match inner.dictionary.table(&old.database, &old.name) {
            Some(now) if Arc::ptr_eq(&now, old) => log.check(),
            _ => Err(Error::NotFound(old.full_name().into())),
        }
    }
}
