//! Recovery: opens an instance after any kind of stop.
//!
//! ```text
//! 1 scan, apply   torn pages restored from the doublewrite files, redo read from the checkpoint on: every page that the
//!                 pool returns is as it was when the log ends, changes of unfinished transactions included
//!   annexes       an upper layer completes its own files from what the log has of them
//! 2 resolve       dictionary transactions rolled back -> descriptions loaded -> all other unfinished transactions active
//!                 again, their tables held -> the DDL log executed
//! ```
//!
//! Then the instance serves, and the background applies the redo of the remaining pages. `engine::rollbacks` rolls back
//! open transactions there too; prepared transactions wait for XA COMMIT or XA ROLLBACK in `engine::xa`. Both keep the
//! rows that they have written locked, by their ids in the rows. Locks of rows that they had only read, and of gaps,
//! are lost, as in InnoDB.
//!
//! What recovery may find, and what it does:
//!
//! | found                                          | done                                                     |
//! |------------------------------------------------|----------------------------------------------------------|
//! | log marked clean                               | nothing but loading                                      |
//! | page torn                                      | restored from its doublewrite copy, then redo            |
//! | undo log of an active DDL statement            | rolled back                                              |
//! | undo log of an active transaction              | rolled back in the background, its rows locked by its id |
//! |   ... that is long                             | the same; the background also finds out its tables       |
//! |   ... that changed a table that is not to be read | kept until the table is back: another start tries again |
//! | undo log of a prepared transaction             | kept, its rows locked by its id                          |
//! | undo log to be freed                           | freed                                                    |
//! | entry of the DDL log                           | executed, newest first, and deleted                      |
//! | file of no table, without an entry             | left alone; it is not ours                               |
//! | table whose file is missing or damaged         | left out, and reported                                   |
//! | page of a table that cannot be read            | the same, when it is met; its redo is kept aside         |
//! | page of the system or the undo tablespace      | the instance does not open                               |
//! | log and tablespaces of different times         | the same (`mismatch`)                                    |
//!
//! Every step may be repeated: a crash during recovery is like any other crash.

pub mod scan;

pub mod mismatch;

pub mod apply;

mod annexes;

mod resolve;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::dictionary::{self, Dictionary};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::lock::{LockTable, MetadataHeld};
use crate::mtr::Mtr;
use crate::row;
use crate::segment;
use crate::store::{Store, Transform};
use crate::transaction::{Registry, Transaction};
use crate::undo::{Survey, UndoSpace};
use format::ids::{SpaceId, TableId};
use rustc_hash::FxHashMap;

pub use crate::store::aside::UNDO_SPACE;
pub use annexes::{Annexes, Complete};
pub use apply::PageRecovery;

/// The tablespace of undo logs, with MySQL 8's name.
pub const UNDO_PATH: &str = "undo_001";

/// The marker of a directory into which a backup is being restored, until it is complete.
pub const INCOMPLETE_FILE_NAME: &str = "#restore.incomplete";

/// An error if a restore into the directory is incomplete: half of an instance must not be opened as one.
pub fn refuse_incomplete(disk: &dyn Disk) -> Result<()> {
    if disk.exists(INCOMPLETE_FILE_NAME).map_err(Error::io("look into the data directory"))? {
        return Err(Error::corrupt("a restore into this directory did not end; empty it and restore again"));
    }
    Ok(())
}

/// What recovery found and did.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    pub pages: PageRecovery,
    /// Transactions that were open, and are rolled back in the background.
    pub transactions_to_roll_back: u64,
    /// DDL statements that were open, and were rolled back.
    pub ddl_rolled_back: u64,
    /// Entries of the DDL log that were executed.
    pub ddl_actions: u64,
    /// Prepared transactions.
    pub transactions_prepared: u64,
    /// What could not be recovered, with the reason.
    pub damaged: Vec<String>,
    pub duration: Duration,
}

impl RecoveryReport {
    pub fn was_clean(&self) -> bool {
        self.pages.was_clean
    }
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.was_clean() {
            write!(f, "the instance was closed cleanly at LSN {}", self.pages.end_lsn)?;
        } else {
            writeln!(
                f,
                "recovered from LSN {} to {} in {} ms",
                self.pages.checkpoint_lsn,
                self.pages.end_lsn,
                self.duration.as_millis()
            )?;
            writeln!(
                f,
                "  pages: {} torn pages restored; {} pages get their {} redo records as they are read",
                self.pages.torn_pages_restored, self.pages.pages, self.pages.records
            )?;
            write!(
                f,
                "  transactions: {} to be rolled back, {} prepared; {} DDL statements rolled back, {} file actions completed",
                self.transactions_to_roll_back, self.transactions_prepared, self.ddl_rolled_back, self.ddl_actions
            )?;
        }
        for damaged in &self.damaged {
            write!(f, "\n  damaged: {damaged}")?;
        }
        Ok(())
    }
}

/// A transaction that was open, active again.
pub struct Unfinished {
    pub trx: Transaction,
    /// The tables that it has changed.
    pub metadata: MetadataHeld,
    pub prepared: bool,
    /// Changes that are not undone.
    pub records: u64,
    /// Set if recovery has read only a part of its undo: it holds all tables until it is known which ones it has
    /// changed.
    pub survey: Option<Unsurveyed>,
    /// One of its tables cannot be read: it must not be rolled back as if that table were gone.
    pub unreadable: Option<String>,
}

/// A transaction of which recovery does not know all tables.
pub struct Unsurveyed {
    pub survey: Survey,
    /// Every table, each with a metadata lock that can be released alone.
    pub tables: Vec<(TableId, MetadataHeld)>,
}

/// The parts of an open instance.
pub struct Opened {
    pub store: Arc<Store>,
    pub undo: UndoSpace,
    pub locks: LockTable,
    pub registry: Registry,
    pub purge_view: row::PurgeView,
    pub dictionary: Dictionary,
    pub unfinished: Vec<Unfinished>,
    /// Tables that cannot be read.
    pub unreadable: FxHashMap<TableId, String>,
    pub report: RecoveryReport,
}

/// Makes a new instance in an empty data directory.
pub fn create(disk: Arc<dyn Disk>, config: &Config) -> Result<()> {
    create_with(disk, config, dictionary::create_system_tables)
}

fn create_with(disk: Arc<dyn Disk>, config: &Config, create_system_tables: fn(&Store) -> Result<()>) -> Result<()> {
    Store::create(&*disk, config)?;
    let config = Config { background_threads: false, ..config.clone() };
    let (store, _) = apply::open(disk, config)?;
    let transform = Transform::usual(store.config().system_compression);
    store.create_space(SpaceId(0), dictionary::SYSTEM_PATH, transform)?;
    create_system_tables(&store)?;
    store.create_space(UNDO_SPACE, UNDO_PATH, transform)?;
    let mut mtr = Mtr::begin(&store);
    segment::init_space(&mut mtr, UNDO_SPACE, segment::space_flags(store.page_bytes()))?;
    mtr.commit();
    UndoSpace::create(&store, UNDO_SPACE)?;
    store.close()
}

/// Opens an instance and brings it to the last commit in the log. Without an upper layer the annexes stay in the log.
pub fn open(disk: Arc<dyn Disk>, config: Config, upper: Option<Complete<'_>>) -> Result<Opened> {
    let begin = disk.clock().now();
    let (store, pages) = apply::open(disk.clone(), config)?;
    if let Some(complete) = upper {
        annexes::complete(&store, &pages, complete)?;
    }
    let mut opened = resolve::resolve(store, pages)?;
    opened.report.duration = disk.clock().now().saturating_sub(begin);
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, TrxOptions};
    use crate::io::sim::SimDisk;
    use crate::schema::{Definition, DefinitionKind};

    /// An instance of the first version of the dictionary opens, and gets the table of definitions once.
    #[test]
    fn an_older_dictionary_gets_what_it_lacks() {
        let disk = Arc::new(SimDisk::new(1));
        create_with(disk.clone(), &Config::tiny(), dictionary::create_first_system_tables).unwrap();
        let wait = TrxOptions::patient();
        let view = Definition {
            kind: DefinitionKind::View,
            database: "d".into(),
            name: "v".into(),
            table: "".into(),
            bytes: b"select 1".as_slice().into(),
        };
        let engine = Engine::open(disk.clone(), Config::tiny()).unwrap();
        engine.create_database("d", format::collation::CollationId::DEFAULT, &wait).unwrap();
        engine.lock_names_of(&[view.full_name()], &[], &wait).unwrap().define(view.clone(), false).unwrap();
        drop(engine);
        let engine = Engine::open(disk, Config::tiny()).unwrap();
        assert_eq!(engine.definition(DefinitionKind::View, "d", "v").as_deref(), Some(&view));
        let check = engine.check().unwrap();
        assert!(check.is_clean(), "{check:?}");
    }
}
