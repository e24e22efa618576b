//! Backups: a whole instance as a stream of stored pages, taken while it runs or while it is stopped.
//!
//! ```text
//!   source                          items                        sink
//!   a running instance  \                                      / an archive: a file, a pipe
//!   a stopped directory  > directory, file, page ... log, end >  a directory: restored
//!   an archive          /                                      \ nothing: verified
//! ```
//!
//! Any source goes to any sink: a backup is *instance to archive*, a restore *archive to directory*, a clone *instance to
//! directory*. Pages are copied in their stored form, without the holes behind them: a page that compresses to 3000
//! bytes costs 3000 bytes in the archive, and is not compressed a second time. A restore rounds it up to the block of
//! its own filesystem.
//!
//! A running instance goes on changing rows. The redo log makes its backup one consistent state:
//!
//! ```text
//!   LSN  L0 ---------------------------------------------- L1
//!        checkpoint when the backup begins                 end of the log when the last page is read
//!        |  pages are read from the files, each at some LSN in between
//!        |  no log from L0 on is lost: redo::archive
//!        +--> the archive has pages and log; the recovery brings all pages to L1, and rolls back what was open
//! ```
//!
//! DDL statements wait until the backup is over ([`BackupHold`](crate::lock::BackupHold)); statements that change rows
//! do not.
//!
//! What is in a backup: tablespaces, the log from L0 to L1, the directories of databases, and files that the caller names (the
//! accounts). What is not: doublewrite files (a torn page is read again, or taken from them), temporary files, `auto.cnf` (a
//! copy is a server of its own), and the key file of encrypted tablespaces.
//!
//! Invariants:
//!
//! * Every page is decoded and its checksum verified when it is read. A page that is being written meanwhile is read again;
//!   one that stays damaged ends the backup with an error that names it.
//! * Every chunk of an archive has a checksum over its position and content, and the last one counts all before it: an
//!   archive that was cut, spliced or changed is detected before it is trusted.
//! * A directory with an incomplete restore does not open: it has a marker until the last file is durable.
//!
//! Not here: which user may take a backup and where to (`sql`), progress bars and connections (`cli`).

pub mod archive;

pub mod page;

pub mod restore;

pub mod take;

pub mod verify;

use format::ids::{Lsn, PageNo, SpaceId};

use crate::error::Result;

pub use archive::{ArchiveWriter, read_archive};
pub use restore::Restore;
pub use take::Backup;
pub use verify::Verify;

/// The beginning of every archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub page_bytes: u32,
    /// When it was begun, microseconds since 1970.
    pub created_us: u64,
    /// Whether the instance was running.
    pub running: bool,
}

/// A file that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// Relative to the data directory.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its size on the source's device.
    pub allocated_bytes: u64,
    pub kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A tablespace, stored in blocks of this size.
    Pages { space: SpaceId, block_bytes: u32 },
    /// Anything else.
    Plain,
}

/// The part of the redo log that belongs to the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// From this LSN ...
    pub begin: Lsn,
    /// ... to this one: the state of the backup.
    pub end: Lsn,
    pub epoch: u32,
    /// The instance was closed, so there is nothing to recover.
    pub clean: bool,
    /// Of the ring that the log was read from.
    pub capacity: u64,
}

/// The totals of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub files: u64,
    pub pages: u64,
    /// Of all files: their lengths.
    pub logical_bytes: u64,
    /// ... and their size on the source's device.
    pub allocated_bytes: u64,
    /// Stored bytes of pages and files, as copied.
    pub stored_bytes: u64,
    pub log_bytes: u64,
    /// The state of the backup.
    pub end_lsn: Lsn,
    /// Pages that were read again because a cleaner wrote them meanwhile.
    pub pages_read_again: u64,
    /// Encrypted pages: they are copied encrypted, and their key is not.
    pub pages_encrypted: u64,
}

/// The items of a backup, in the order of the stream.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    Head(&'a Head),
    /// The directory of a database.
    Directory(&'a str),
    /// A file begins; the one before ends.
    File(&'a FileHead),
    /// A page of the file, in its stored form without padding. Pages that are missing are holes.
    Page {
        page: PageNo,
        stored: &'a [u8],
    },
    /// Bytes of a file that is no tablespace.
    Bytes {
        offset: u64,
        bytes: &'a [u8],
    },
    /// All files are complete, the log follows.
    Log(&'a LogHead),
    /// Whole blocks of log.
    Redo {
        lsn: Lsn,
        blocks: &'a [u8],
    },
    End(&'a Totals),
}

/// The file of a backup that says what else was true at its end, such as the place in the binary log.
pub const POINT_FILE_NAME: &str = "glassine.point";

/// Knows what belongs to the state at the end of a backup beside pages and log.
pub trait Point: Send + Sync {
    /// The content of [`POINT_FILE_NAME`]. Calls `end` once, while no transaction that it tells of can commit: the state
    /// of the backup is the LSN that `end` returns.
    fn take(&self, end: &mut dyn FnMut() -> Lsn) -> Result<Vec<u8>>;
}

/// Receives the items of a backup.
pub trait Sink {
    fn take(&mut self, item: Item<'_>) -> Result<()>;
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn take(&mut self, item: Item<'_>) -> Result<()> {
        (**self).take(item)
    }
}
