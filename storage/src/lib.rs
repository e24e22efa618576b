//! The storage engine: pages and transactions, InnoDB's files, on a `Disk`.
//!
//! The modules are listed bottom to top and import only those above their own line.

pub mod error;

pub mod config;

pub mod sync;

pub mod schema;

pub mod io;

pub mod gate;

mod scratch;

pub mod tablespace;

pub mod redo;

pub mod buffer;

pub mod checkpoint;

pub mod trash;

pub mod freed;

pub mod store;

pub mod mtr;

mod list;

pub mod segment;

pub mod lock;

pub mod btree;

pub mod undo;

pub mod transaction;

pub mod row;

pub mod dictionary;

pub mod recovery;

pub mod backup;

pub mod engine;

pub use config::Config;
pub use dictionary::{Table, named_path, names_a_file, names_a_partition};
pub use engine::{
    Alteration, CheckReport, Cursor, Engine, EngineStatus, Exported, ForeignKeyReport, LockDump, LockedDefinitions,
    LockedKey, LockedName, LockedTables, Others, RecordLock, Relatives, RollbackStatus, RowMap, RowRoute, Savepoint,
    SpaceCheck, TableLock, TableStatistics, TablespaceInfo, TemporaryTables, Trx, TrxOptions, UnfinishedRows,
    UnfinishedTable, XidClaim,
};
pub use error::{DuplicateRows, Error, ForeignKeyRefusal, ForeignKeySide, ForeignKeyViolation, Result};
pub use lock::{
    BackupHold, CommitPlace, DeadlockMember, DeadlockReport, Interrupt, Kill, LockInfo, LockKind, LockMode,
    LockRequest, MetadataGrant, NameLock, NameLockMode, NameLocks, OwnerIdentity, OwnerInfo, Scheduler, Stage,
    TableUse,
};
pub use mtr::{Changes, Mtr, PageHandle};
pub use recovery::{Annexes, RecoveryReport};
pub use row::foreign::{Generator, NewValues};
pub use row::{Posting, Wanted, identity_of_key};
pub use schema::{
    AtomicWrites, Check, Column, ColumnDefault, ColumnSet, ColumnSource, ColumnTest, Compression, Database, Definition,
    DefinitionKind, DefinitionName, ForeignKey, Generated, IfLocked, Index, IndexDefinition, IndexPart, NotInstant,
    PartOrder, PartitionDefinition, Partitioning, ReadMode, ReferentialAction, Row, RowFilter, RowFormat, ScanRange,
    TableDefinition, TableOptions, same_name,
};
pub use store::{PageCleanerStatus, SharedGuard, Store, StoreStatus};
pub use tablespace::{CompressionStats, TornProtection};
pub use transaction::{Annexed, CommitLog, Isolation};
pub use trash::Dropped;
