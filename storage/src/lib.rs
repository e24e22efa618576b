//! The storage engine: pages and transactions, InnoDB's files, on a `Disk`.
//!
//! The modules are listed bottom to top and import only those above their own line.

pub mod error;

pub mod config;

pub mod sync;

pub mod schema;

pub mod io;

pub mod tablespace;

pub mod redo;

pub mod buffer;

pub mod checkpoint;

pub mod store;

pub mod mtr;

pub mod segment;

pub mod lock;

pub mod btree;

pub mod undo;

pub mod transaction;

pub mod recovery;

pub use config::Config;
pub use error::{Error, Result};
pub use mtr::{Mtr, PageHandle};
pub use store::{SharedGuard, Store};
