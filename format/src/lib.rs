//! Every byte MySQL can see, and their order: pages, records, values, redo and packets as pure functions on slices.
//!
//! No I/O, no threads, no unsafe. The modules are listed bottom to top; each imports only those above its own line.

#![forbid(unsafe_code)]

pub mod error;

pub mod bytes;

pub mod ids;

pub mod xid;

pub mod collation;

pub mod fulltext;

pub mod checksum;

pub mod keystream;

pub mod record;

pub mod value;

pub mod transport;

pub mod page;

pub mod transform;

pub mod redo;

pub mod packet;

pub mod binlog;

pub use error::{Error, Result};
