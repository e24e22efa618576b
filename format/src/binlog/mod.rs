//! The binary log as bytes: files of events that describe what transactions changed, for replicas and for recovery to
//! a point in time.
//!
//! A file is a magic number and events, back to back:
//!
//! ```text
//! fe 62 69 6e                      "\xFEbin"
//! Format_description               layout of all that follows, and whether events carry a checksum
//! Previous_gtids                   the transactions of all earlier files        (MariaDB: Gtid_list)
//!   Gtid                           one transaction: its name, times, length and place in the commit order
//!   Query "BEGIN"
//!   ( Table_map+  rows+ )*         what tables are called, then their rows, before and after
//!   Xid                            COMMIT
//!   Gtid
//!   Transaction_payload            the same, events of a transaction compressed as one
//!   Gtid
//!   Query "CREATE TABLE ..."       a statement that changes definitions
//! Rotate | Stop                    where it goes on; nothing after a crash
//! ```
//!
//! [`event`] frames events, [`description`] is the first of each file; [`gtid`], [`query`], [`table_map`], [`rows`],
//! [`payload`] and [`control`] are the families of events, and [`mariadb`] those that only MariaDB writes.
//! Rows carry JSON in MySQL's binary form; [`json_diff`] knows changes of it.
//!
//! Invariants:
//!
//! * Decoding checks every length. Damaged bytes lead to [`crate::Error`], never to a panic, and never to an allocation
//!   larger than a constant times the bytes at hand (the fuzz targets `binlog` and `binlog-rows`, and the
//!   tests of each file).
//! * `decode(encode(event)) == event` for every event that is written here.
//!
//! Not here: files, indexes of files, and the order of commits; these belong to the crate that keeps the log.
//!
//! Sources: "Binary Log" and "Replication protocol" in MySQL's source documentation; MariaDB's knowledge base on its
//! replication protocol; files written by both servers.

pub mod event;

pub mod description;

pub mod gtid;

pub mod query;

pub mod control;

pub mod table_map;

pub mod json_diff;

pub mod rows;

pub mod stored;

pub mod payload;

pub mod mariadb;

pub use control::{Control, IntVar, UserVar};
pub use description::FormatDescription;
pub use event::{Checksum, Crc, Event, EventKind, HEADER_BYTES, Header, MAGIC, flags};
pub use gtid::{Gtid, GtidEvent, GtidSet, Uuid};
pub use query::{Query, StatusVars};
pub use rows::{RowImage, Rows, RowsKind};
pub use table_map::{Column, ColumnCode, TableMap};
