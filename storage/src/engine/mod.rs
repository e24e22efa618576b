//! The public face of the engine: [`Engine`] (an instance), [`Trx`] (a transaction), [`Cursor`] (a scan).
//!
//! ```text
//!   Engine --- begin ---> Trx --- cursor ---> Cursor
//!     | DDL, facts         | rows               | next
//!     v                    v                    v
//!   dictionary         row operations on trees, with undo and locks
//!                      mini-transactions on pages, with redo        (store)
//! ```
//!
//! Life of an instance: [`Engine::create`] makes its files, [`Engine::open`] recovers after a crash and starts the
//! threads, [`Engine::close`] writes everything and marks the log clean. Dropping an engine without `close` is like a
//! crash, without the harm: the next open recovers.
//!
//! Background work here is purge, the redo and the rollbacks that recovery left, the removal of dropped files and the
//! release of freed pages; page cleaners, checkpoints and the log's flusher belong to the store. Each is a loop around
//! a step; with `config.background_threads` off, [`Engine::step`] runs the steps, for a simulator.
//!
//! This module decides nothing about pages, rows or locks; it calls the other modules in the right order.

mod alter;
mod annexes;
mod auto_increment;
mod background;
mod backup;
mod beside;
mod build;
mod changed_tables;
mod check;
mod cursor;
mod databases;
mod definitions;
mod export;
mod foreign;
mod import;
mod keys;
mod locked;
mod locks;
mod partitions;
mod prepared;
mod purge;
mod relations;
mod rename;
mod rollbacks;
mod statistics;
mod status;
mod tables;
mod temporary;
mod trx;
mod undo_truncation;
mod unfinished;
mod xa;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use format::ids::SpaceId;

use crate::config::{AutoIncrementMode, Config};
use crate::dictionary::{self, Dictionary};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::lock::LockTable;
use crate::recovery::Complete;
use crate::recovery::{self, RecoveryReport};
use crate::row;
use crate::store::{Store, Transform};
use crate::sync::{Mutex, Rank};
use crate::transaction::Registry;
use crate::undo::UndoSpace;

pub use alter::Alteration;
pub use beside::Others;
pub use build::{RowMap, RowRoute};
pub use check::{CheckReport, SpaceCheck};
pub use cursor::Cursor;
pub use definitions::LockedDefinitions;
pub use export::Exported;
pub use foreign::ForeignKeyReport;
pub use locked::{LockedTables, Relatives};
pub use locks::{LockDump, LockedKey, LockedName, RecordLock, TableLock};
pub use rollbacks::RollbackStatus;
pub use statistics::TableStatistics;
pub use status::{EngineStatus, TablespaceInfo};
pub use temporary::TemporaryTables;
pub use trx::{Savepoint, Trx, TrxOptions};
pub use unfinished::{UnfinishedRows, UnfinishedTable};
pub use xa::XidClaim;

use background::Background;
use purge::Purging;
use rollbacks::Rollbacks;
use statistics::Keeping;
use status::Counters;
use temporary::Temporary;
use undo_truncation::UndoTruncation;
use xa::Branches;

/// For how long a shutdown goes on releasing freed pages.
const RELEASE_AT_CLOSE: Duration = Duration::from_secs(2);

/// A storage engine on one data directory.
pub struct Engine {
    inner: Arc<Inner>,
    background: Mutex<Option<Background>>,
    closed: AtomicBool,
    auto_increment_mode: AutoIncrementMode,
}

/// What the background threads share with the engine.
struct Inner {
    store: Arc<Store>,
    undo: UndoSpace,
    locks: LockTable,
    /// Is told of a deadlock before its victim is rolled back.
    deadlock_witness: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Computes generated columns of rows that cascades change.
    generator: OnceLock<Box<dyn row::foreign::Generator>>,
    registry: Registry,
    dictionary: Dictionary,
    purge_view: row::PurgeView,
    purging: Purging,
    temporary: Temporary,
    rollbacks: Rollbacks,
    branches: Branches,
    last_violation: foreign::LastViolation,
    undo_truncation: UndoTruncation,
    keeping: Keeping,
    counters: Counters,
    report: RecoveryReport,
    /// What was found damaged since the start.
    damaged: Mutex<Vec<String>>,
}

impl Inner {
    /// What the row operations need.
    #[inline]
    fn context(&self) -> row::Context<'_> {
        row::Context {
            store: &self.store,
            undo: &self.undo,
            locks: &self.locks,
            registry: &self.registry,
            purge: &self.purge_view,
            foreign: None,
            generator: self.generator.get().map(|own| &**own),
        }
    }
}

impl Engine {
    /// Makes a new instance in an empty data directory.
    pub fn create(disk: Arc<dyn Disk>, config: &Config) -> Result<()> {
        recovery::create(disk, config)
    }

    /// Opens the instance, recovering it if it was not closed. If its redo log has annexes, it keeps them for an upper
    /// layer: there is room for as much as the log still takes.
    pub fn open(disk: Arc<dyn Disk>, config: Config) -> Result<Arc<Engine>> {
        Self::open_with(disk, config, None)
    }

    /// As [`Engine::open`], under an upper layer, which makes durable what the annexes of the redo log have.
    pub fn open_completing(disk: Arc<dyn Disk>, config: Config, complete: Complete<'_>) -> Result<Arc<Engine>> {
        Self::open_with(disk, config, Some(complete))
    }

    fn open_with(disk: Arc<dyn Disk>, config: Config, upper: Option<Complete<'_>>) -> Result<Arc<Engine>> {
        let threads = config.background_threads;
        let auto_increment_mode = config.auto_increment_mode;
        let purging = Purging::new(&config);
        let opened = recovery::open(disk, config, upper)?;
        temporary::remove_leftovers(&**opened.store.disk())?;
        let keeping = Keeping::new(opened.store.disk().clock().now());
        let inner = Arc::new(Inner {
            store: opened.store,
            undo: opened.undo,
            locks: opened.locks,
            deadlock_witness: OnceLock::new(),
            generator: OnceLock::new(),
            registry: opened.registry,
            dictionary: opened.dictionary,
            purge_view: opened.purge_view,
            purging,
            temporary: Temporary::new(),
            rollbacks: Rollbacks::new(opened.unreadable),
            branches: Branches::new(),
            last_violation: foreign::LastViolation::new(),
            undo_truncation: UndoTruncation::new(),
            keeping,
            counters: Counters::default(),
            report: opened.report,
            damaged: Mutex::new(Rank::Leaf, Vec::new()),
        });
        inner.take_in(opened.unfinished);
        inner.finish_rotation();
        let encrypt_undo = inner.store.config().encrypt_undo;
        inner.set_encrypted(recovery::UNDO_SPACE, encrypt_undo)?;
        inner.locks.set_deadlock_detect(inner.store.config().deadlock_detect);
        let background = threads.then(|| {
            inner.store.start_threads();
            Background::start(inner.clone())
        });
        Ok(Arc::new(Engine {
            inner,
            background: Mutex::new(Rank::Instance, background),
            closed: AtomicBool::new(false),
            auto_increment_mode,
        }))
    }

    /// What recovery did at the start.
    pub fn recovery_report(&self) -> &RecoveryReport {
        &self.inner.report
    }

    /// What could not be recovered or read, at the start and since, with the reason: the tables that are left out.
    pub fn damaged(&self) -> Vec<String> {
        let mut damaged = self.inner.report.damaged.clone();
        damaged.extend(self.inner.damaged.lock().iter().cloned());
        damaged
    }

    /// A clean shutdown: everything is written, and the next open has nothing to recover. No transaction should be
    /// open; the next open rolls back one that is.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let background = self.background.lock().take();
        drop(background);
        if self.inner.store.is_poisoned() {
            return Err(Error::Poisoned);
        }
        self.inner.close_temporary()?;
        self.inner.save_statistics();
        // The list of freed pages is known now, and would be lost.
        while recovery::apply::step(&self.inner.store)? {}
        self.inner.store.checkpoint()?;
        let clock = self.inner.store.disk().clock();
        let begin = clock.now();
        while self.inner.release_step()? && clock.now().saturating_sub(begin) < RELEASE_AT_CLOSE {}
        self.inner.store.close()
    }

    /// The options in effect.
    pub fn config(&self) -> Config {
        self.inner.store.config()
    }

    /// Changes options that may change at run time.
    pub fn set_config(&self, change: impl FnOnce(&mut Config)) {
        self.inner.store.set_config(change);
        let config = self.config();
        self.inner.locks.set_deadlock_detect(config.deadlock_detect);
        self.inner.purging.configure(&config);
        self.refresh_transforms();
    }

    /// Gives every table the transform that its options mean under the present configuration.
    fn refresh_transforms(&self) {
        let config = self.config();
        for space in [SpaceId(0), recovery::UNDO_SPACE].into_iter().filter_map(|id| self.inner.store.space(id)) {
            let encrypted = space.transform().encrypted;
            space.set_transform(Transform { encrypted, ..Transform::usual(config.system_compression) });
        }
        for table in self.inner.dictionary.all_files() {
            if let Some(space) = self.inner.store.space(table.space) {
                let transform = dictionary::transform(&table.options, &config);
                if space.transform() != transform {
                    space.set_transform(transform);
                }
            }
        }
    }

    /// One bounded batch of background work, for a configuration without background threads. True if there was any.
    pub fn step(&self) -> Result<bool> {
        let releasing_locks = self.inner.locks.release_step();
        let rolling_back = self.inner.rollback_step()?;
        let recovering = recovery::apply::step(&self.inner.store);
        self.inner.refuse_damaged();
        let recovering = recovering?;
        let purged = self.inner.purge_step(0)?;
        let written = self.inner.store.flush_step(64)?;
        self.inner.store.read_ahead_step();
        let dropping = self.inner.store.trash_step()?;
        if written == 0 && !self.inner.store.freed().is_empty() {
            self.inner.store.checkpoint_step()?;
        }
        let releasing = self.inner.release_step()? | self.inner.truncate_undo_step()?;
        let sampling = self.inner.statistics_step();
        Ok(sampling || releasing_locks || rolling_back || recovering || purged || written > 0 || dropping || releasing)
    }

    /// For layers above that show or flush the log themselves, and for tests.
    pub fn store(&self) -> &Arc<Store> {
        &self.inner.store
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let background = self.background.lock().take();
        drop(background);
    }
}
