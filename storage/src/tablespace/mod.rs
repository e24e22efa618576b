//! Tablespaces: pages in files.
//!
//! A [`Tablespace`] is one open file of pages, with the facts that decide how its pages are stored: page size, the
//! filesystem's block, the [`Transform`] that the dictionary attached to it, and how torn pages are prevented.
//! [`Tablespaces`] is the registry of them by id; of their files no more are open than [`open_files`] allows.
//!
//! ```text
//!   frame --copy--> plain page --seal--> SealedPage --transform--> stored bytes --> doublewrite --> layout --> file
//!                                 page_io                          page_io         doublewrite     layout
//! ```
//!
//! Nothing here uses frames, latches or the log; a caller that writes has flushed the log up to the pages' LSN before.
//!
//! Invariants:
//!
//! * A page on disk is sealed, and its header names this tablespace and its own number. Reading verifies that.
//! * A table's file is encrypted or plain for its whole life; those of the system and of undo logs may change. An
//!   encrypted file has its key before its first page is written encrypted.
//! * Page 0 is stored plain, so that any tool can identify the file.

pub mod torn;

pub mod statistics;

pub mod encryption;

pub mod open_files;

pub mod layout;

mod transform;

mod future;

mod space;

mod registry;

pub mod page_io;

pub mod doublewrite;

mod foreign;

pub use foreign::ForeignFile;
pub use registry::{Tablespaces, data_caching};
pub use space::{Growth, SpaceInfo, Tablespace};
pub use statistics::{CompressionStats, IoCounters, SpaceCounters};
pub use torn::TornProtection;
pub use transform::{Algorithm, Transform};
