//! What queries keep beyond the row at hand: memory that all sessions share, and temporary files for what exceeds it.
//!
//! ```text
//! operator -- account, at most its own buffer --> statement -- parts of 64 KiB --> Budget, temptable_max_ram
//!    |
//!    +-- what does not fit: records --> Writer --> blocks of one temporary file --> Reader
//! ```
//!
//! [`Budget`] lends memory to the statements of all sessions; how operators share it is told in `executor::memory`. An
//! operator that gets no more sorts, or divides, what it has and writes it to a [`Spill`], a file without a name in
//! `tmpdir`, which ends with the operator. [`Writer`] and [`Reader`] are streams of records in it; several streams may be
//! written to one file in turn. `expression::record` makes records of values.
//!
//! Invariants:
//!
//! * What was lent is given back when the operator ends, also by an error or KILL.
//! * A temporary file is never found by its name, and nobody who reads the device learns what was in it: it is encrypted
//!   with a key that only this process has.
//! * A block that was damaged, or that lies where another should be, is an error of the statement.

pub mod budget;
pub mod file;
pub mod pile;
pub mod sort;
pub mod stream;

use std::sync::Arc;

pub use budget::Budget;
pub use file::{Directory, Spill, SpillFiles};
pub use pile::Pile;
pub use stream::{Position, Reader, Stream, Writer};

/// The memory and the temporary files of a server's queries.
#[derive(Default)]
pub struct Temporary {
    pub budget: Budget,
    pub files: Arc<SpillFiles>,
}
