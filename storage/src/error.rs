//! Errors of the storage engine: one enum for the crate. Its variants are the decisions that a caller can take, not the
//! places that failed.
//!
//! Only three things become an error: what another transaction or the user did, what a device did, and bytes that are
//! not those we wrote. Our own mistakes are asserts.
//!
//! Two places decide what an I/O failure means: here, [`Error::from_io`] separates a full disk, which is harmless
//! because nothing was lost, from a broken one; and `gate` poisons the engine on any other failure on the way to disk.

use std::fmt;
use std::io;
use std::sync::Arc;

use format::ids::PageId;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The key of two rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateRows {
    pub index: Box<str>,
    /// The stored bytes of each part of the index; None = NULL.
    pub key: Vec<Option<Vec<u8>>>,
}

/// See the module header.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Chosen as the deadlock victim. The transaction has been rolled back.
    Deadlock,
    /// A lock was not granted in time. Only the statement has been rolled back.
    LockWaitTimeout,
    /// All record locks together take as much memory as they may.
    LockTableFull,
    /// NOWAIT, and another transaction has the row locked.
    RowIsLocked,
    /// In snapshot isolation: another transaction has changed the row since this one took its read view. The
    /// transaction has been rolled back.
    RecordChanged,
    /// The statement was told to stop (KILL, a time limit, a closing server).
    Interrupted,
    /// A unique index holds this key already. `index` is the ordinal in `Table::indexes`.
    DuplicateKey { index: usize },
    /// Two rows that are there already have one key in a unique index that a DDL statement builds.
    DuplicateRows(Box<DuplicateRows>),
    /// The log of changes made while this index was built became longer than it may.
    RowLogFull { index: Box<str> },
    /// A row would have no parent, or has children.
    ForeignKey(Box<ForeignKeyViolation>),
    /// A cascade to a child row would give it a key that its own table has already.
    ForeignDuplicate { table: Box<str>, index: Box<str> },
    /// A cascade goes through too many tables.
    CascadeTooDeep { depth_max: usize },
    /// A table definition that is at odds with a foreign key.
    ForeignKeyRefused(Box<ForeignKeyRefusal>),
    /// A database, table, index or tablespace of this name or number does not exist.
    NotFound(Box<str>),
    /// A database, table, index or tablespace of this name or number exists already.
    Exists(Box<str>),
    /// A view would come into another database.
    ViewStays,
    /// A table with triggers would.
    TriggersStay,
    /// A DDL statement has changed the table since the transaction took its read view; begin anew.
    TableChanged,
    /// The row does not fit a page, even with its long columns moved out.
    RowTooLarge { bytes: usize, bytes_max: usize },
    /// Something was to be changed that may only be read.
    ReadOnly,
    /// Something was to be changed in this database, which may only be read.
    ReadOnlyDatabase(Box<str>),
    /// A value or option that this engine does not support.
    Unsupported(Box<str>),
    /// The rows of the table, or of the partition, were discarded: the name of the table.
    Discarded(Box<str>),
    /// A file to import is not one of this table: what differs.
    SchemaMismatch(Box<str>),
    /// A file to import cannot be read: which page, and why. Nothing of this instance is damaged.
    Foreign(Box<str>),
    /// The device has no room. Nothing was lost; it may work again later.
    DiskFull { doing: &'static str },
    /// The device has no room even to undo, or a read failed meanwhile. For the client the transaction is over; it is
    /// rolled back as soon as the device allows, and keeps its locks until then.
    RollingBack,
    /// The bytes on disk are not those that we wrote. `page` names the page, when one is concerned.
    Corrupt { page: Option<PageId>, what: Box<str> },
    /// The key of an encrypted tablespace is not available: which one, of what, and why. The bytes themselves are
    /// intact.
    KeyUnavailable(Box<str>),
    /// The device failed while reading or preparing. Nothing that was written is in doubt.
    Io { doing: &'static str, cause: Arc<io::Error> },
    /// An earlier write or sync failed, so what is on disk is unknown until recovery. Nothing is written any more.
    Poisoned,
}

/// The cause of an I/O error: the call was not made, because an earlier one has failed.
#[derive(Clone, Copy, Debug)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused, because an earlier write failed")
    }
}

impl std::error::Error for Refused {}

/// A row at odds with a foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyViolation {
    pub side: ForeignKeySide,
    /// `db`.`child`, CONSTRAINT ... as messages have it.
    pub constraint: Box<str>,
    /// For the operator: what was tried, with which key.
    pub report: Box<str>,
}

/// Which row is at odds with a foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeySide {
    /// A child's, which would have no parent.
    Child,
    /// A parent's, which has children.
    Parent,
}

/// Why a description cannot be, or cannot go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignKeyRefusal {
    DuplicateName {
        constraint: Box<str>,
    },
    /// Not of a foreign key, but of a CHECK constraint: their names are unique within a database, too.
    DuplicateCheckName {
        constraint: Box<str>,
    },
    /// The parent is divided into partitions.
    Partitioned,
    NoParentTable {
        parent: Box<str>,
    },
    NoParentColumn {
        column: Box<str>,
        constraint: Box<str>,
        parent: Box<str>,
    },
    NoParentIndex {
        constraint: Box<str>,
        parent: Box<str>,
    },
    NotComparable {
        column: Box<str>,
        parent_column: Box<str>,
        constraint: Box<str>,
    },
    NoChildIndex {
        constraint: Box<str>,
    },
    /// ON ... SET NULL of a column that is NOT NULL.
    NotNull {
        column: Box<str>,
        constraint: Box<str>,
    },
    /// `of` is the child's name, when the column is the parent's.
    DropColumn {
        column: Box<str>,
        constraint: Box<str>,
        of: Option<Box<str>>,
    },
    ChangeColumn {
        column: Box<str>,
        constraint: Box<str>,
        of: Option<Box<str>>,
    },
    DropIndex {
        index: Box<str>,
    },
    DropTable {
        table: Box<str>,
        constraint: Box<str>,
        child: Box<str>,
    },
    /// `db`.`child`, CONSTRAINT `name`
    Truncate {
        constraint: Box<str>,
    },
}

impl From<ForeignKeyRefusal> for Error {
    fn from(refusal: ForeignKeyRefusal) -> Error {
        Error::ForeignKeyRefused(Box::new(refusal))
    }
}

impl Error {
    /// Classifies a failed I/O call. A write or sync that failed has poisoned the engine by then.
    pub fn from_io(doing: &'static str, cause: io::Error) -> Error {
        match cause.kind() {
            // Nothing was written in place; the caller takes its change back.
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { doing },
            _ if cause.get_ref().is_some_and(|cause| cause.is::<Refused>()) => Error::Poisoned,
            _ => Error::Io { doing, cause: Arc::new(cause) },
        }
    }

    /// For `map_err`: names what was being done, in the present tense.
    pub fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |cause| Error::from_io(doing, cause)
    }

    /// Whether the failed operation may be tried again later: nothing that was written is in doubt. (A poisoned engine
    /// answers `Poisoned`.)
    pub fn is_of_the_moment(&self) -> bool {
        match self {
            // The operator may free disk space.
            Error::DiskFull { .. } | Error::RollingBack => true,
            // The next read may succeed; a failed write or sync poisons.
            Error::Io { .. } => true,
            _ => false,
        }
    }

    pub fn corrupt_page(page: PageId, cause: impl fmt::Display) -> Error {
        Error::Corrupt { page: Some(page), what: cause.to_string().into() }
    }

    pub fn corrupt(what: impl Into<Box<str>>) -> Error {
        Error::Corrupt { page: None, what: what.into() }
    }

    /// Whether the whole transaction has been rolled back, not only its statement.
    pub fn rolls_back_transaction(&self) -> bool {
        // A deadlock and a full lock table are resolved only by releasing locks, and locks are held to the end of the
        // transaction. An outdated snapshot stays outdated, and what cannot be undone now is undone as a whole. Every
        // other error undoes the statement and leaves the decision to the client.
        matches!(self, Error::Deadlock | Error::LockTableFull | Error::RecordChanged | Error::RollingBack)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Deadlock => write!(f, "deadlock found; the transaction was rolled back"),
            Error::LockWaitTimeout => write!(f, "lock wait timeout"),
            Error::LockTableFull => write!(f, "the record locks take all the memory that they may"),
            Error::RowIsLocked => write!(f, "the row is locked"),
            Error::RecordChanged => write!(f, "record has changed since last read; the transaction was rolled back"),
            Error::Interrupted => write!(f, "interrupted"),
            Error::DuplicateKey { index } => write!(f, "duplicate key in index {index}"),
            Error::RowLogFull { index } => write!(f, "the changes made while index {index} was built are too many"),
            Error::DuplicateRows(rows) => write!(f, "two rows have one key in index {}", rows.index),
            Error::ForeignKey(violation) => write!(f, "a foreign key constraint fails ({})", violation.constraint),
            Error::ForeignDuplicate { table, index } => {
                write!(f, "a cascade leads to a duplicate key in {table}.{index}")
            }
            Error::CascadeTooDeep { depth_max } => write!(f, "foreign keys cascade deeper than {depth_max} tables"),
            Error::ForeignKeyRefused(refusal) => write!(f, "at odds with a foreign key: {refusal:?}"),
            Error::NotFound(name) => write!(f, "{name} does not exist"),
            Error::Exists(name) => write!(f, "{name} exists already"),
            Error::ViewStays => write!(f, "a view stays in its database"),
            Error::TriggersStay => write!(f, "a table with triggers stays in its database"),
            Error::TableChanged => write!(f, "table definition has changed, please retry transaction"),
            Error::RowTooLarge { bytes, bytes_max } => write!(f, "row of {bytes} bytes; at most {bytes_max} fit"),
            Error::ReadOnly => write!(f, "read only"),
            Error::ReadOnlyDatabase(name) => write!(f, "the database {name} is read only"),
            Error::Unsupported(what) => write!(f, "not supported: {what}"),
            Error::Discarded(table) => write!(f, "the rows of {table} were discarded"),
            Error::SchemaMismatch(what) => write!(f, "the file does not fit the table: {what}"),
            Error::Foreign(what) => write!(f, "{what}"),
            Error::DiskFull { doing } => write!(f, "no space left on device: {doing}"),
            Error::RollingBack => {
                write!(f, "the device does not allow to undo now; the transaction is rolled back when it does")
            }
            Error::Corrupt { page: Some(page), what } => write!(f, "page {page} is damaged: {what}"),
            Error::Corrupt { page: None, what } => write!(f, "damaged: {what}"),
            Error::KeyUnavailable(what) => write!(f, "{what}"),
            Error::Io { doing, cause } => write!(f, "{doing}: {cause}"),
            Error::Poisoned => write!(f, "an earlier write failed; restart to recover"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_ordinary_error() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(matches!(Error::from_io("extend", full), Error::DiskFull { doing: "extend" }));
        let broken = io::Error::other("broken");
        assert!(matches!(Error::from_io("read page", broken), Error::Io { .. }));
    }
}
