//! Descriptions as rows of the system tables: written, deleted, and read back at a start.

use std::collections::BTreeMap;
use std::sync::Arc;

use format::collation::CollationId;
use format::ids::{IndexId, PageNo, SpaceId, TableId};

use super::codec;
use super::ddl_log::Action;
use super::describe::{Identity, describe};
use super::system::SystemTable;
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::row;
use crate::schema::{ColumnSet, Database, Histogram, ReadMode, Row, ScanRange, Table, TableDefinition};
use crate::transaction::{Isolation, Transaction};

/// The system tables, opened.
pub struct SystemRows {
    tables: Vec<Arc<row::Table>>,
}

/// The contents of the system tables.
#[derive(Default)]
pub struct Contents {
    pub databases: Vec<Database>,
    pub tables: Vec<Table>,
    /// Tables whose rows are invalid, with the reason.
    pub damaged: Vec<(TableId, Error)>,
}

pub(super) fn number(value: Option<&[u8]>) -> Result<u64> {
    let bytes = value.ok_or_else(|| Error::corrupt("a row of the dictionary"))?;
    if bytes.len() > 8 {
        return Err(Error::corrupt("a row of the dictionary"));
    }
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

pub(super) fn text(value: Option<&[u8]>) -> Result<Box<str>> {
    let text = value.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.map(Box::from).ok_or_else(|| Error::corrupt("a name in the dictionary"))
}

pub(super) fn bytes(value: Option<&[u8]>) -> Result<&[u8]> {
    value.ok_or_else(|| Error::corrupt("a row of the dictionary"))
}

/// The numbers of rows in the DDL log that are no actions but notes of an upper layer: from the largest down, by slot, and 0
/// for the first slot. Actions count from 1.
fn note_id(slot: u32) -> u64 {
    if slot == 0 { 0 } else { u64::MAX - u64::from(slot) }
}

fn is_note(id: u64) -> bool {
    id == 0 || id >= u64::MAX - u64::from(u32::MAX)
}

/// What was deleted had one row. If a commit could not be made durable, the rows show it and the cache does not: the
/// instance is poisoned then, and a statement that waited for the name must not take the difference for damage.
pub(super) fn is_one(context: &row::Context<'_>, count: usize, what: &str) -> Result<()> {
    if count == 1 {
        return Ok(());
    }
    context.store.health().check()?;
    Err(Error::corrupt(format!("the dictionary has {count} rows of {what}")))
}

/// The number of a database's collation has this bit where the database is read only.
const READ_ONLY: u32 = 1 << 31;

impl SystemRows {
    pub fn new(tables: Vec<Arc<row::Table>>) -> SystemRows {
        SystemRows { tables }
    }

    pub fn table(&self, table: SystemTable) -> &Arc<row::Table> {
        &self.tables[table as usize]
    }

    pub fn by_id(&self, id: TableId) -> Option<Arc<row::Table>> {
        self.tables.get((id.0 as usize).wrapping_sub(1)).cloned()
    }

    pub fn all(&self) -> &[Arc<row::Table>] {
        &self.tables
    }

    pub(super) fn insert(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        table: SystemTable,
        values: &[&[u8]],
    ) -> Result<()> {
        let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(*value)).collect();
        row::insert(context, trx, self.table(table), &values)
    }

    /// Deletes every row whose key begins with `prefix`; returns their number.
    pub(super) fn delete(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        table: SystemTable,
        prefix: &[&[u8]],
    ) -> Result<usize> {
        let table = self.table(table);
        let prefix: Vec<Option<&[u8]>> = prefix.iter().map(|value| Some(*value)).collect();
        let columns = ColumnSet::first(table.columns.len());
        let range = ScanRange::prefix(&prefix);
        let mut scan = row::Scan::new(table, 0, ReadMode::EXCLUSIVE, &columns, &range);
        let mut row = Row::new();
        let mut count = 0;
        while scan.next(context, trx, table, &mut row)? {
            row::delete(context, trx, table, &row)?;
            count += 1;
        }
        Ok(count)
    }

    /// Reads every row of a system table. No open transaction has changed it.
    pub(super) fn read(
        &self,
        context: &row::Context<'_>,
        table: SystemTable,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let table = self.table(table);
        let interrupt = Arc::new(Interrupt::new());
        let mut trx = Transaction::new(Isolation::RepeatableRead, interrupt, std::time::Duration::ZERO);
        let columns = ColumnSet::first(table.columns.len());
        let mut scan = row::Scan::new(table, 0, ReadMode::Consistent, &columns, &ScanRange::ALL);
        let mut row = Row::new();
        while scan.next(context, &mut trx, table, &mut row)? {
            visit(&row)?;
        }
        Ok(())
    }

    pub fn insert_database(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        database: &Database,
    ) -> Result<()> {
        let read_only = if database.read_only { READ_ONLY } else { 0 };
        let collation = u32::from(database.collation.0) | read_only;
        let values: [&[u8]; 3] = [database.name.as_bytes(), &database.id.to_be_bytes(), &collation.to_be_bytes()];
        self.insert(context, trx, SystemTable::Databases, &values)
    }

    pub fn delete_database(&self, context: &row::Context<'_>, trx: &mut Transaction, name: &str) -> Result<()> {
        let count = self.delete(context, trx, SystemTable::Databases, &[name.as_bytes()])?;
        is_one(context, count, "the database")
    }

    pub fn insert_table(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        table: &Table,
        histograms: &[Arc<Histogram>],
    ) -> Result<()> {
        let id = table.id.0.to_be_bytes();
        let facts = codec::TableFacts {
            options: table.options.clone(),
            foreign_keys: table.foreign_keys.clone(),
            checks: table.checks.clone(),
            partitioning: table.partitioning.clone(),
            row_versions: table.row_versions.clone(),
            partitions: Identity::of(table).partitions,
        };
        let values: [&[u8]; 6] = [
            &id,
            table.database.as_bytes(),
            table.name.as_bytes(),
            &table.space.0.to_be_bytes(),
            &table.created_us.to_be_bytes(),
            &codec::write_options(&facts),
        ];
        self.insert(context, trx, SystemTable::Tables, &values)?;
        for (position, column) in table.columns.iter().enumerate() {
            let values: [&[u8]; 3] = [&id, &(position as u32).to_be_bytes(), &codec::write_column(column)];
            self.insert(context, trx, SystemTable::Columns, &values)?;
        }
        for (position, index) in table.indexes.iter().enumerate() {
            let values: [&[u8]; 5] = [
                &id,
                &(position as u32).to_be_bytes(),
                &index.id.0.to_be_bytes(),
                &index.root.0.to_be_bytes(),
                &codec::write_index(&index.definition()),
            ];
            self.insert(context, trx, SystemTable::Indexes, &values)?;
        }
        self.insert_histograms(context, trx, table, histograms)?;
        table.files().try_for_each(|file| self.insert_estimates(context, trx, file))
    }

    pub fn delete_table(&self, context: &row::Context<'_>, trx: &mut Transaction, table: &Table) -> Result<()> {
        self.delete_histograms(context, trx, table)?;
        table.files().try_for_each(|file| self.delete_estimates(context, trx, file))?;
        let id = table.id.0.to_be_bytes();
        self.delete(context, trx, SystemTable::Columns, &[&id])?;
        self.delete(context, trx, SystemTable::Indexes, &[&id])?;
        let count = self.delete(context, trx, SystemTable::Tables, &[&id])?;
        is_one(context, count, "the table")
    }

    pub fn insert_action(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        id: u64,
        action: &Action,
    ) -> Result<()> {
        self.insert(context, trx, SystemTable::DdlLog, &[&id.to_be_bytes(), &action.encode()])
    }

    pub fn delete_action(&self, context: &row::Context<'_>, trx: &mut Transaction, id: u64) -> Result<()> {
        let count = self.delete(context, trx, SystemTable::DdlLog, &[&id.to_be_bytes()])?;
        is_one(context, count, "the entry of the DDL log")
    }

    /// What remains in the DDL log, oldest first.
    pub fn actions(&self, context: &row::Context<'_>) -> Result<Vec<(u64, Action)>> {
        let mut actions = Vec::new();
        self.read(context, SystemTable::DdlLog, &mut |row| {
            let id = number(row.get(0))?;
            if !is_note(id) {
                actions.push((id, Action::decode(bytes(row.get(1))?)?));
            }
            Ok(())
        })?;
        Ok(actions)
    }

    /// Replaces the note of an upper layer, see [`crate::CommitLog::note`].
    pub fn replace_note(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        slot: u32,
        note: &[u8],
    ) -> Result<()> {
        let id = note_id(slot).to_be_bytes();
        self.delete(context, trx, SystemTable::DdlLog, &[&id])?;
        self.insert(context, trx, SystemTable::DdlLog, &[&id, note])
    }

    /// The note that the last DDL statement with one for this slot left.
    pub fn note(&self, context: &row::Context<'_>, slot: u32) -> Result<Option<Vec<u8>>> {
        let mut note = None;
        self.read(context, SystemTable::DdlLog, &mut |row| {
            if number(row.get(0))? == note_id(slot) {
                note = Some(bytes(row.get(1))?.to_vec());
            }
            Ok(())
        })?;
        Ok(note)
    }

    /// Everything that is described.
    pub fn load(&self, context: &row::Context<'_>, after_crash: bool) -> Result<Contents> {
        let mut contents = Contents::default();
        self.read(context, SystemTable::Databases, &mut |row| {
            let known = number(row.get(2))?;
            contents.databases.push(Database {
                id: number(row.get(1))?,
                name: text(row.get(0))?,
                collation: CollationId(known as u16),
                read_only: known & u64::from(READ_ONLY) != 0,
            });
            Ok(())
        })?;
        let mut tables: BTreeMap<u64, (TableDefinition, Identity)> = BTreeMap::new();
        self.read(context, SystemTable::Tables, &mut |row| {
            let id = number(row.get(0))?;
            let facts = codec::read_options(bytes(row.get(5))?)?;
            let definition = TableDefinition {
                database: text(row.get(1))?,
                name: text(row.get(2))?,
                foreign_keys: facts.foreign_keys,
                checks: facts.checks,
                options: facts.options,
                partitioning: facts.partitioning,
                ..TableDefinition::default()
            };
            let identity = Identity {
                id: TableId(id),
                space: permanent(number(row.get(3))?)?,
                created_us: number(row.get(4))?,
                indexes: Vec::new(),
                row_versions: facts.row_versions,
                partitions: facts.partitions,
            };
            tables.insert(id, (definition, identity));
            Ok(())
        })?;
        let orphan = || Error::corrupt("a dictionary row without its table");
        self.read(context, SystemTable::Columns, &mut |row| {
            let (definition, _) = tables.get_mut(&number(row.get(0))?).ok_or_else(orphan)?;
            definition.columns.push(codec::read_column(bytes(row.get(2))?)?);
            Ok(())
        })?;
        self.read(context, SystemTable::Indexes, &mut |row| {
            let (definition, identity) = tables.get_mut(&number(row.get(0))?).ok_or_else(orphan)?;
            let (id, root) = (number(row.get(2))?, number(row.get(3))? as u32);
            identity.indexes.push((IndexId(id), PageNo(root)));
            let index = codec::read_index(bytes(row.get(4))?)?;
            if !index.parts.is_empty() {
                definition.indexes.push(index);
            }
            Ok(())
        })?;
        let statistics = self.statistics(context);
        let mut statistics =
            statistics.inspect_err(|error| tracing::warn!("no statistics: {error}")).unwrap_or_default();
        for (id, (definition, identity)) in tables {
            if super::describe::index_count(&definition) != identity.indexes.len() {
                contents.damaged.push((TableId(id), Error::corrupt("the indexes of a table")));
                continue;
            }
            match describe(&definition, &identity) {
                Ok(table) => {
                    statistics.restore(&table, after_crash);
                    contents.tables.push(table);
                }
                Err(error) => contents.damaged.push((TableId(id), error)),
            }
        }
        Ok(contents)
    }
}
/// A number from the dictionary, whose tables are all in tablespaces that stay.
fn permanent(number: u64) -> Result<SpaceId> {
    let space = u32::try_from(number).ok().map(SpaceId).filter(|space| !space.is_temporary());
    space.ok_or_else(|| Error::corrupt("a table of the dictionary in a tablespace that does not stay"))
}
