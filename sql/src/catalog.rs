//! Names of databases and tables: which database an unqualified name means, and how
//! storage's answers become MySQL's errors.
//!
//! Names of tables and databases are case-sensitive (lower_case_table_names = 0),
//! those of the virtual databases are not.

use std::sync::Arc;

use storage::{Table, TableUse, Trx};

use crate::error::{Error, Result};
use crate::parser::ast::TableName;

/// The database that a table's name stands in.
pub fn database_of<'a>(name: &'a TableName, current: Option<&'a str>) -> Result<&'a str> {
    name.database.as_deref().or(current).ok_or_else(Error::no_database)
}

/// Opens a table for a transaction.
pub fn open(trx: &mut Trx, database: &str, name: &str, wanted: TableUse) -> Result<Arc<Table>> {
    let opened = trx.open_table_to(wanted, database, name).map_err(|error| match error {
        storage::Error::NotFound(_) => Error::no_such_table(database, name),
        other => storage_error(other),
    })?;
    check_present(&opened)?;
    Ok(opened)
}

/// 1814 for a table whose rows were discarded, or those of one of its partitions: its definition stays as it is, but for its
/// name.
pub fn check_not_discarded(table: &Table) -> Result<()> {
    match table.discarded {
        true => Err(Error::tablespace_discarded(&table.name)),
        false => Ok(()),
    }
}

/// The same for a table that is read or changed: of one in partitions those that are there can be.
fn check_present(table: &Table) -> Result<()> {
    match table.is_partitioned() {
        true => Ok(()),
        false => check_not_discarded(table),
    }
}

/// The same, past a temporary table of the name.
pub fn open_stored(trx: &mut Trx, database: &str, name: &str, wanted: TableUse) -> Result<Arc<Table>> {
    loop {
        let table = trx.engine().table(database, name);
        let Some(table) = table else { return open(trx, database, name, wanted) };
        if trx.lock_table(&table, wanted).or_sql()? {
            check_present(&table)?;
            return Ok(table);
        }
    }
}

/// The error that a client gets for an error of storage. The caller that knows the row describes duplicate keys.
pub fn storage_error(error: storage::Error) -> Error {
    use storage::Error as Storage;
    match error {
        Storage::Deadlock => Error::deadlock(),
        Storage::LockWaitTimeout => Error::lock_wait_timeout(),
        Storage::LockTableFull => Error::lock_table_full(),
        Storage::RowIsLocked => Error::lock_nowait(),
        Storage::RecordChanged => Error::record_changed(),
        Storage::Interrupted => Error::interrupted(),
        Storage::DuplicateKey { index } => Error::duplicate_entry("", &format!("#{index}")),
        Storage::ForeignDuplicate { table, index } => Error::foreign_duplicate("", "", &table, &index),
        Storage::RowLogFull { index } => Error::new(
            1799,
            b"HY000",
            format!(
                "Creating index '{index}' required more than 'innodb_online_alter_log_max_size' bytes of modification log. \
                 Please try again."
            ),
        ),
        Storage::DuplicateRows(rows) => Error::duplicate_entry("", &rows.index),
        Storage::ForeignKey(violation) => Error::foreign_key(&violation),
        Storage::CascadeTooDeep { depth_max } => Error::cascade_too_deep(depth_max),
        Storage::ForeignKeyRefused(refusal) => Error::foreign_key_refused(&refusal),
        Storage::NotFound(name) => match name.split_once('.') {
            Some((database, table)) => Error::no_such_table(database, table),
            None => Error::unknown_database(&name),
        },
        Storage::Exists(name) => Error::table_exists(&name),
        Storage::TriggersStay => Error::trigger_in_wrong_schema(),
        Storage::ViewStays => Error::rename_across_databases(),
        Storage::RowTooLarge { bytes_max, .. } => Error::row_too_large(bytes_max),
        Storage::TableChanged => Error::table_definition_changed(),
        Storage::ReadOnly => Error::read_only_transaction(),
        Storage::ReadOnlyDatabase(name) => Error::read_only_database(&name),
        Storage::Unsupported(what) => Error::unsupported(what),
        Storage::Discarded(table) => Error::tablespace_discarded(&table),
        Storage::SchemaMismatch(what) => Error::schema_mismatch(&what),
        Storage::Foreign(what) => Error::new(1815, b"HY000", format!("Internal error: Cannot import: {what}")),
        Storage::KeyUnavailable(what) => Error::cannot_find_key(&what),
        Storage::DiskFull { doing } => Error::disk_full(doing),
        Storage::RollingBack => Error::rolling_back(),
        other => Error::storage(168, &other.to_string()),
    }
}

/// `?` on results of storage.
pub trait OrSqlError<T> {
    fn or_sql(self) -> Result<T>;
}

impl<T> OrSqlError<T> for std::result::Result<T, storage::Error> {
    #[inline]
    fn or_sql(self) -> Result<T> {
        self.map_err(storage_error)
    }
}
