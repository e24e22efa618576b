//! The binary log: which rows transactions changed, in files that replicas and tools read.
//!
//! ```text
//!   sql            events of a statement, row by row
//!    |
//!    v
//!   Cache          a transaction's events, compressed while they come; beyond binlog_cache_size in a file
//!    |  COMMIT
//!    v
//!   BinaryLog      places them: GTID, position, checksum  -----> annex of the commit record in the redo log
//!    |                                                           one sync makes both durable
//!    v  later
//!   binlog.000007  written behind, synced before a checkpoint passes the annex
//! ```
//!
//! [`Dump`] is the way out again: what a replica is sent. [`BackupPoint`] is where a backup stands in the log.
//!
//! The files are MySQL 8.0's (`format::binlog` draws them). How a commit and a crash work is in docs/binlog.md.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod files;

pub mod reader;

mod recovery;

pub mod stats;

mod workers;

mod compressors;

mod spill;

mod finished;

mod packer;

mod beside;

pub mod cache;

pub mod end;

pub mod readers;

mod owned;

pub mod dependencies;

mod databases;

pub mod semi_sync;

pub mod tail;

pub mod log;

pub mod dump;

pub mod point;

pub use cache::{Cache, CacheSettings};
pub use databases::Databases;
pub use dependencies::WriteSet;
pub use dump::Dump;
pub use files::{FileName, Listed};
pub use finished::Finished;
pub use log::{BinaryLog, Name, Options, Origin, Pending, Position, Purged, PurgedRefusal, SessionOrder};
pub use owned::Chosen;
pub use point::BackupPoint;
pub use reader::EventReader;
pub use recovery::open_engine;
pub use stats::Stats;
