//! Statistics of tables: taken for who plans statements, kept over a restart, taken anew when the rows have changed.
//!
//! ```text
//!   never taken, or a tenth of the rows has changed       taken by the statement that asks (a large table: in the background)
//!   ANALYZE TABLE                                         taken and saved
//!   every ten seconds, in the background                  those that have changed by a tenth are taken anew, and what
//!                                                         is not saved yet is saved
//!   a clean shutdown                                      all that has changed since is saved, with the number of rows
//!   the first look after a crash                          those of a table that has got larger or smaller are outdated
//! ```
//!
//! What is saved is read at the next start: a statement is planned then as it was before. The same pages give the same
//! estimates. Saving shares the table's name, so it meets no change of its description, and waits for none.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Engine, Inner, TrxOptions};
use crate::dictionary::{Ddl, Table};
use crate::error::{Error, Result};
use crate::lock::{Interrupt, MetadataHeld, TableUse};
use crate::row;
use crate::schema::{Estimates, Histograms, IndexEstimates, StatisticsOptions};
use crate::sync::{Mutex, Rank};

/// Estimates of small tables are not renewed for a handful of rows.
const SLACK_ROWS: u64 = 100;
/// A table with more leaves than this is not sampled by the statement that finds its estimates outdated.
const PAGES_AT_ONCE_MAX: u64 = 20_000;
/// How often the background looks for outdated and unsaved estimates.
const INTERVAL: Duration = Duration::from_secs(10);

/// Estimates about a table, for the planner and for SHOW.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: u64,
    pub data_bytes: u64,
    pub index_bytes: u64,
    /// For each index and each number of its leading parts (from 1): how many different values there are.
    pub distinct: Vec<Vec<u64>>,
}

/// What the engine keeps for its statistics.
pub(super) struct Keeping {
    /// One at a time writes statistics.
    writer: Mutex<()>,
    /// When the background looked last, on the clock of the disk.
    looked: Mutex<Duration>,
}

impl Keeping {
    pub fn new(now: Duration) -> Keeping {
        Keeping { writer: Mutex::new(Rank::Instance, ()), looked: Mutex::new(Rank::Leaf, now) }
    }
}

impl Engine {
    /// Estimates about a table.
    pub fn table_statistics(&self, table: &Table) -> TableStatistics {
        if table.is_partitioned() {
            return sum(table.partitions().iter().map(|partition| self.table_statistics(partition)));
        }
        self.inner.check_estimates(table);
        match table.state.statistics.estimates() {
            Some(known) if !self.inner.is_to_be_taken(table, &known) => self.shown(table, &known),
            // A table that cannot be read now is estimated as empty; a statement that reads it reports the reason.
            _ => self
                .inner
                .take_statistics(table, &Interrupt::new())
                .map(|taken| self.shown(table, &taken))
                .unwrap_or_default(),
        }
    }

    /// The estimates of a table with a file, if they were taken and are to outlast the server.
    pub fn persistent_estimates(&self, file: &Table) -> Option<Arc<Estimates>> {
        let options = StatisticsOptions::of(&file.options, &self.config());
        let is_kept = options.persistent && !file.is_temporary();
        file.state.statistics.estimates().filter(|_| is_kept)
    }

    /// Takes the estimates anew, and saves them (ANALYZE TABLE). The table's name is shared or locked, if it has one.
    pub fn analyze_table(&self, table: &Table, interrupt: &Interrupt) -> Result<TableStatistics> {
        if table.is_partitioned() {
            let taken = table.partitions().iter().map(|partition| self.analyze_table(partition, interrupt));
            return Ok(sum(taken.collect::<Result<Vec<_>>>()?.into_iter()));
        }
        let taken = self.inner.take_statistics(table, interrupt)?;
        self.inner.save(table)?;
        Ok(self.shown(table, &taken))
    }

    /// Gives a table other histograms, made from those that it has, in one step with an entry of the upper layer's log. Its
    /// name is shared: so others may do the same meanwhile, and theirs are kept.
    pub fn change_histograms(
        &self,
        table: &Table,
        wait: &TrxOptions,
        change: impl FnOnce(&Histograms) -> Histograms,
    ) -> Result<()> {
        let _writer = self.inner.keeping.writer.lock();
        let histograms = change(&table.state.statistics.histograms());
        let mut ddl = Ddl::begin(self.inner.context(), &self.inner.dictionary)?;
        ddl.replace_histograms(table, &histograms)?;
        let afterwards = ddl.commit(wait.log.as_deref())?;
        table.state.statistics.set_histograms(histograms.into());
        afterwards.run();
        Ok(())
    }

    fn shown(&self, table: &Table, taken: &Estimates) -> TableStatistics {
        let page_bytes = self.inner.store.page_bytes() as u64;
        let of = |index: &crate::schema::Index| taken.of(index.id);
        let bytes = |index: Option<&IndexEstimates>| index.map_or(0, |index| index.pages * page_bytes);
        let distinct = |index: &crate::schema::Index| {
            of(index).map_or_else(Vec::new, |index| index.distinct.iter().map(|distinct| distinct.values).collect())
        };
        TableStatistics {
            // Updated with every row, so a rollback may have made it negative.
            rows: (table.state.rows.load(Ordering::Relaxed) as i64).max(0) as u64,
            data_bytes: bytes(table.indexes.first().and_then(of)),
            index_bytes: table.indexes.iter().skip(1).map(|index| bytes(of(index))).sum(),
            distinct: table.indexes.iter().map(distinct).collect(),
        }
    }
}

impl Inner {
    /// What was saved before a crash may be of another table by now: changes of rows are counted in memory. The pages
    /// of the rows tell; where they cannot be read, the statements that read them report it.
    fn check_estimates(&self, table: &Table) {
        let state = &table.state;
        if !state.statistics.take_unchecked() {
            return;
        }
        let Some(known) = state.statistics.estimates() else { return };
        let Some(rows) = known.indexes.first() else { return };
        let Ok((_, pages)) = row::index_pages(&self.context(), table.tree(0)) else { return };
        if rows.pages.abs_diff(pages) > rows.pages / 10 {
            state.modified_rows.fetch_max(known.rows / 10 + SLACK_ROWS + 1, Ordering::Relaxed);
        }
    }

    /// Whether so many rows have changed that estimates say little.
    fn is_outdated(&self, table: &Table, known: &Estimates) -> bool {
        let modified = table.state.modified_rows.load(Ordering::Relaxed);
        modified > known.rows / 10 + SLACK_ROWS
            && StatisticsOptions::of(&table.options, &self.store.config()).auto_recalc
    }

    /// Whether a statement that asks takes the estimates.
    fn is_to_be_taken(&self, table: &Table, known: &Estimates) -> bool {
        let lacks_index = || table.indexes.iter().any(|index| known.of(index.id).is_none());
        lacks_index() || known.leaf_pages() <= PAGES_AT_ONCE_MAX && self.is_outdated(table, known)
    }

    /// Takes the estimates of a table with a file.
    fn take_statistics(&self, table: &Table, interrupt: &Interrupt) -> Result<Arc<Estimates>> {
        // The table's name may not be locked.
        let _tables = self.dictionary.hold_tables();
        let state = &table.state;
        let config = self.store.config();
        let sampling = row::Sampling {
            pages: StatisticsOptions::of(&table.options, &config).sample_pages,
            method: config.stats_method,
            delete_marked: config.stats_include_delete_marked,
        };
        let now_us = self.store.disk().clock().wall().as_micros() as u64;
        let modified = state.modified_rows.load(Ordering::Relaxed);
        let taken = Arc::new(row::statistics(&self.context(), table, sampling, now_us, interrupt)?);
        // What changes meanwhile counts for the next time.
        let _ = state
            .modified_rows
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| Some(all.saturating_sub(modified)));
        state.rows.store(taken.rows, Ordering::Relaxed);
        state.statistics.set_estimates(taken.clone());
        Ok(taken)
    }

    /// Saves the estimates of a table whose name is shared, if they are to outlast the server.
    fn save(&self, table: &Table) -> Result<()> {
        let is_kept = StatisticsOptions::of(&table.options, &self.store.config()).persistent;
        let statistics = &table.state.statistics;
        // A table without a name has no rows in the dictionary.
        let is_known = self.dictionary.by_id(table.id).is_some() && !table.is_temporary() && !table.is_stale();
        if !is_known || !is_kept || statistics.estimates().is_none() {
            statistics.set_saved(true);
            return Ok(());
        }
        let _writer = self.keeping.writer.lock();
        // What changes from here on is saved next time.
        statistics.set_saved(true);
        let mut ddl = Ddl::begin(self.context(), &self.dictionary)?;
        let saved = ddl.replace_estimates(table).and_then(|()| ddl.commit(None));
        match saved {
            Ok(afterwards) => afterwards.run(),
            Err(error) => {
                statistics.set_saved(false);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The same in the background, which waits for nobody: False = not now.
    fn save_beside(&self, table: &Arc<Table>, file: &Table) -> Result<bool> {
        let mut names = MetadataHeld::default();
        match names.share(table.metadata(), TableUse::Read, &Interrupt::new(), Duration::ZERO) {
            Ok(()) if table.is_stale() => Ok(false),
            Ok(()) => self.save(file).map(|()| true),
            Err(Error::LockWaitTimeout) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes outdated estimates anew, and saves what is not saved. True = it did something.
    pub fn statistics_step(&self) -> bool {
        let now = self.store.disk().clock().now();
        {
            let mut looked = self.keeping.looked.lock();
            if now.saturating_sub(*looked) < INTERVAL || self.store.is_poisoned() {
                return false;
            }
            *looked = now;
        }
        let mut worked = false;
        for (table, file) in self.named_files() {
            self.check_estimates(&file);
            let Some(known) = file.state.statistics.estimates() else { continue };
            let refreshed = match self.is_outdated(&file, &known) {
                true => self.take_statistics(&file, &Interrupt::new()).map(|_| worked = true),
                false => Ok(()),
            };
            let saved = refreshed.and_then(|()| match file.state.statistics.is_unsaved() {
                true => self.save_beside(&table, &file),
                false => Ok(false),
            });
            // A table that is damaged, or a full disk, is reported by the statements that meet it.
            worked |= saved.inspect_err(|error| tracing::warn!("statistics of {file:?}: {error}")).unwrap_or(false);
        }
        worked
    }

    /// Before a shutdown: the next start is to know what is known now.
    pub fn save_statistics(&self) {
        for (table, file) in self.named_files() {
            let statistics = &file.state.statistics;
            let has_changed = file.state.updated_us.load(Ordering::Relaxed) > 0;
            if statistics.estimates().is_some()
                && (has_changed || statistics.is_unsaved())
                && let Err(error) = self.save_beside(&table, &file)
            {
                tracing::warn!("statistics of {file:?} are not saved: {error}");
            }
        }
    }

    fn named_files(&self) -> Vec<(Arc<Table>, Arc<Table>)> {
        let files = |table: &Arc<Table>| {
            let named = |file: &Arc<Table>| (table.clone(), file.clone());
            table.files().iter().map(named).collect::<Vec<_>>()
        };
        self.dictionary.all_tables().iter().flat_map(files).collect()
    }
}

/// The estimates of a table from those of its partitions. How many rows have a value in common is taken from the largest.
fn sum(partitions: impl Iterator<Item = TableStatistics>) -> TableStatistics {
    let (mut sum, mut largest) = (TableStatistics::default(), TableStatistics::default());
    for partition in partitions {
        sum.rows += partition.rows;
        sum.data_bytes += partition.data_bytes;
        sum.index_bytes += partition.index_bytes;
        if partition.rows > largest.rows || largest.distinct.is_empty() {
            largest = partition;
        }
    }
    let times = sum.rows as f64 / largest.rows.max(1) as f64;
    let scaled = |distinct: &u64| (*distinct as f64 * times) as u64;
    sum.distinct = largest.distinct.iter().map(|index| index.iter().map(scaled).collect()).collect();
    sum
}
