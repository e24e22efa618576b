//! The redo log: changes of pages, durable before the pages are.
//!
//! A mini-transaction's records are appended as one *group*; a group is in the log whole or not at all. An LSN is a
//! position in the endless sequence of groups, in bytes; the file is a ring that holds the newest part of it.
//!
//! ```text
//!             checkpoint      flushed   written   end
//!   -----------|---------------|---------|---------|-------> LSN
//!    free again  needed after     OS        in
//!                a crash        has it    memory
//!
//! group, at its LSN:
//! offset  bytes
//!      0      4  bytes of records, n; never 0
//!      4      4  epoch: how often the instance has been opened
//!      8      4  CRC-32C of records, LSN, n, epoch
//!     12      n  records, see `format::redo`
//! ```
//!
//! The log ends where no valid group follows: the checksum covers the LSN, so the remains of an earlier lap of the ring
//! do not match. Neither do groups that an earlier server run wrote behind a gap torn by a crash: the epoch never falls
//! along the log, and each run's is larger. A run begins its groups behind the last whole group of the previous one, so
//! the log of several runs that crashed one after the other is read as one.
//!
//! [`buffer`] collects groups in memory, [`mod@file`] is the ring, [`writer`] writes the buffer to the ring, with one
//! write and one sync for all waiters (group commit), and [`reader`] reads the groups after a crash. While a backup
//! runs, [`archive`] keeps what a checkpoint frees; [`hold`] lets an upper layer hold the checkpoint back, and
//! [`stamps`] tell data files that are older than the log.
//!
//! Invariants:
//!
//! * checkpoint <= flushed <= written <= end <= checkpoint + capacity.
//! * Appending never waits for the disk: the appending thread holds page latches. Room is promised beforehand
//!   ([`room`]).
//! * The file is preallocated and written with zeros once, so that a sync writes no metadata.
//!
//! Sources: ARIES (Mohan et al., 1992) for page LSNs and idempotent redo; InnoDB for the mini-transaction as the unit.

pub mod buffer;

pub mod hold;

pub mod gather;

pub mod room;

pub mod file;

pub mod archive;

pub mod reader;

pub mod writer;

pub mod stamps;

pub use archive::ARCHIVE_FILE_NAME;
pub use file::{Checkpoint, LogFile};
pub use hold::Hold;
pub use reader::{Group, Reader};
pub use room::{Promise, Room};
pub use stamps::{PageStamp, Stamps};
pub use writer::Redo;

/// Bytes in front of a group's records.
pub const GROUP_HEADER_BYTES: usize = 12;

/// The checksum of a group: over its records first, since the LSN is known last.
fn group_crc(records_crc: u32, lsn: format::ids::Lsn, bytes: u32, epoch: u32) -> u32 {
    let mut tail = [0; 16];
    tail[..8].copy_from_slice(&lsn.0.to_be_bytes());
    tail[8..12].copy_from_slice(&bytes.to_be_bytes());
    tail[12..].copy_from_slice(&epoch.to_be_bytes());
    format::checksum::crc32c_append(records_crc, &tail)
}
