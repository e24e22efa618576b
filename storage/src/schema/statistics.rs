//! What is known about the rows of a table: estimates of how many there are and how many differ, and histograms.
//!
//! Estimates are of what has a file: a table, or each partition. Histograms are an upper layer's: storage keeps their bytes,
//! of the table as a whole, and gives them to its successors for the columns that stay what they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use format::ids::IndexId;

use super::{Derived, Table, TableOptions, TableState, same_name};
use crate::config::Config;
use crate::sync::{Mutex, Rank};

/// Estimates of a table with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// Rows when the estimates were taken.
    pub rows: u64,
    /// When they were, as microseconds of the Unix epoch.
    pub taken_us: u64,
    pub indexes: Vec<IndexEstimates>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEstimates {
    pub index: IndexId,
    pub leaf_pages: u64,
    /// All pages of the index, those reserved for growth and those of long values included.
    pub pages: u64,
    /// How many different values the first 1, 2, 3 ... fields have.
    pub distinct: Vec<Distinct>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distinct {
    pub values: u64,
    /// Leaves that this was estimated from.
    pub sampled_pages: u64,
}

impl Estimates {
    pub fn of(&self, index: IndexId) -> Option<&IndexEstimates> {
        self.indexes.iter().find(|of| of.index == index)
    }

    /// Pages that have to be known to take these anew.
    pub fn leaf_pages(&self) -> u64 {
        self.indexes.iter().map(|index| index.leaf_pages).sum()
    }
}

/// What an upper layer knows about the values of a column.
#[derive(Debug)]
pub struct Histogram {
    pub column: Box<str>,
    pub bytes: Box<[u8]>,
    /// What the upper layer reads in the bytes.
    pub derived: Derived,
}

impl Histogram {
    pub fn new(column: &str, bytes: &[u8]) -> Arc<Histogram> {
        Arc::new(Histogram { column: column.into(), bytes: bytes.into(), derived: Derived::default() })
    }
}

/// The histograms of a table, one for a column.
pub type Histograms = Vec<Arc<Histogram>>;

/// Changes of the statistics of any table.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Rises when the statistics of any table are others: who kept a plan need not ask each table before.
#[inline]
pub fn statistics_changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// The part of a table's state that statements are planned by.
#[derive(Debug)]
pub struct Statistics {
    estimates: Mutex<Option<Arc<Estimates>>>,
    histograms: Mutex<Arc<Histograms>>,
    /// The estimates are newer than those in the dictionary.
    is_unsaved: AtomicBool,
    /// They are those of before a crash.
    is_unchecked: AtomicBool,
    version: AtomicU64,
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics {
            estimates: Mutex::new(Rank::Leaf, None),
            histograms: Mutex::new(Rank::Leaf, Arc::default()),
            is_unsaved: AtomicBool::new(false),
            is_unchecked: AtomicBool::new(false),
            version: AtomicU64::new(0),
        }
    }
}

impl Statistics {
    /// Rises when the estimates or the histograms are others: a plan that was made before may not be the best any more.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub fn estimates(&self) -> Option<Arc<Estimates>> {
        self.estimates.lock().clone()
    }

    /// New estimates.
    pub fn set_estimates(&self, estimates: Arc<Estimates>) {
        *self.estimates.lock() = Some(estimates);
        self.is_unchecked.store(false, Ordering::Relaxed);
        self.is_unsaved.store(true, Ordering::Relaxed);
        self.rise();
    }

    fn rise(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
        CHANGES.fetch_add(1, Ordering::Release);
    }

    /// Those of the dictionary; after a crash, rows may have changed since that no number tells of.
    pub fn restore(&self, estimates: Estimates, after_crash: bool) {
        *self.estimates.lock() = Some(Arc::new(estimates));
        self.is_unchecked.store(after_crash, Ordering::Relaxed);
    }

    /// Whether the estimates are to be compared with the table. Tells it once.
    pub fn take_unchecked(&self) -> bool {
        self.is_unchecked.load(Ordering::Relaxed) && self.is_unchecked.swap(false, Ordering::Relaxed)
    }

    pub fn is_unsaved(&self) -> bool {
        self.is_unsaved.load(Ordering::Relaxed)
    }

    pub fn set_saved(&self, is_saved: bool) {
        self.is_unsaved.store(!is_saved, Ordering::Relaxed);
    }

    pub fn histograms(&self) -> Arc<Histograms> {
        self.histograms.lock().clone()
    }

    /// The histogram of a column.
    pub fn histogram(&self, column: &str) -> Option<Arc<Histogram>> {
        self.histograms.lock().iter().find(|histogram| same_name(&histogram.column, column)).cloned()
    }

    pub fn set_histograms(&self, histograms: Arc<Histograms>) {
        *self.histograms.lock() = histograms;
        self.rise();
    }
}

/// What a table's options and the server's say of its estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// They outlast the server.
    pub persistent: bool,
    /// They are taken anew when a tenth of the rows has changed.
    pub auto_recalc: bool,
    pub sample_pages: u64,
}

impl StatisticsOptions {
    pub fn of(options: &TableOptions, config: &Config) -> StatisticsOptions {
        let number = |name: &str| {
            let written = options.create_options.iter().find(|(option, _)| option.eq_ignore_ascii_case(name));
            written.and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let switch = |name: &str, of_server: bool| number(name).map_or(of_server, |number| number != 0);
        let persistent = switch("STATS_PERSISTENT", config.stats_persistent);
        let of_server =
            if persistent { config.stats_persistent_sample_pages } else { config.stats_transient_sample_pages };
        StatisticsOptions {
            persistent,
            auto_recalc: switch("STATS_AUTO_RECALC", config.stats_auto_recalc),
            sample_pages: number("STATS_SAMPLE_PAGES").unwrap_or(of_server),
        }
    }
}

impl TableState {
    /// Takes over what is known of the rows of a file.
    pub fn take_counts(&self, from: &TableState) {
        self.rows.store(from.rows.load(Ordering::Relaxed), Ordering::Relaxed);
        self.modified_rows.store(from.modified_rows.load(Ordering::Relaxed), Ordering::Relaxed);
        if let Some(estimates) = from.statistics.estimates() {
            self.statistics.set_estimates(estimates);
        }
    }
}

impl Table {
    /// The histograms that remain true of a table that gets the place of this one: of the columns that stay what they are.
    /// `origins`: for each column of the new table the ordinal that it had; None = the names tell.
    pub fn histograms_for(&self, new: &Table, origins: Option<&[Option<usize>]>) -> Arc<Histograms> {
        let kept = self.state.statistics.histograms();
        let follow = |histogram: &Arc<Histogram>| {
            let was = self.column(&histogram.column)?;
            let is = match origins {
                Some(origins) => origins.iter().position(|origin| *origin == Some(was))?,
                None => new.column(&histogram.column)?,
            };
            let (was, is) = (&self.columns[was], new.columns.get(is)?);
            if is.ty != was.ty || is.generated != was.generated {
                return None;
            }
            match is.name == histogram.column {
                true => Some(histogram.clone()),
                false => Some(Histogram::new(&is.name, &histogram.bytes)),
            }
        };
        Arc::new(kept.iter().filter_map(follow).collect())
    }
}
