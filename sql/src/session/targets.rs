//! What a statement of a source changes, for the filters of a replica.

use crate::parser;
use crate::parser::ast::{Statement, TableName, TableRef};
use crate::types::SqlMode;

/// The tables that statements about accounts change in MySQL.
const ACCOUNT_TABLES: [&str; 10] = [
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "role_edges",
    "default_roles",
    "global_grants",
    "password_history",
];

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// It belongs to a transaction, and changes nothing by itself.
    Nothing,
    /// A database itself; `None` = the default one.
    Database(Option<String>),
    /// In the order in which the statement names them.
    Tables(Vec<TableName>),
    /// It is not understood.
    Unknown,
}

/// What a statement changes.
pub fn targets(text: &[u8], mode: SqlMode) -> Targets {
    let Ok((Some(parsed), _)) = parser::parse_first(text, mode) else { return Targets::Unknown };
    let tables = match parsed.statement {
        Statement::Begin { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Xa(_) => return Targets::Nothing,
        Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => {
            return Targets::Database(Some(name));
        }
        Statement::AlterDatabase { name, .. } => return Targets::Database(name),
        Statement::Insert(insert) => vec![insert.table],
        Statement::Delete(delete) => vec![delete.table],
        Statement::JoinedUpdate(update) => {
            let mut tables = Vec::new();
            update.tables.into_iter().for_each(|table| add_tables(table, &mut tables));
            tables
        }
        Statement::JoinedDelete(delete) => {
            let mut tables = Vec::new();
            delete.tables.into_iter().for_each(|table| add_tables(table, &mut tables));
            tables
        }
        Statement::Load(load) => vec![load.table],
        Statement::Update(update) => {
            let mut tables = Vec::new();
            add_tables(update.table, &mut tables);
            tables
        }
        Statement::CreateTable(create) => vec![create.table],
        Statement::CreateView(create) => vec![create.name],
        Statement::CreateSequence(create) => vec![create.name],
        Statement::AlterSequence(alter) => vec![alter.name],
        Statement::CreateRoutine(create) => vec![create.name],
        Statement::AlterRoutine(alter) => vec![alter.name],
        Statement::DropRoutine { name, .. } | Statement::DropTrigger { name, .. } => vec![name],
        Statement::CreateTrigger(create) => vec![create.table],
        Statement::AlterTable(alter) => alter.tables().cloned().collect(),
        Statement::DropTables { tables, .. }
        | Statement::DropViews { views: tables, .. }
        | Statement::DropSequences { sequences: tables, .. }
        | Statement::Maintain { tables, .. } => tables,
        Statement::RenameTables(pairs) => pairs.into_iter().flat_map(|(from, to)| [from, to]).collect(),
        Statement::TruncateTable(table) | Statement::CreateIndex { table, .. } | Statement::DropIndex { table, .. } => {
            vec![table]
        }
        Statement::Account(_) => {
            let table = |name: &&str| TableName { database: Some("mysql".to_owned()), name: (*name).to_owned() };
            ACCOUNT_TABLES.iter().map(table).collect()
        }
        _ => return Targets::Unknown,
    };
    Targets::Tables(tables)
}

fn add_tables(table: TableRef, tables: &mut Vec<TableName>) {
    match table {
        TableRef::Table { name, .. } => tables.push(name),
        TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
        TableRef::Join { left, right, .. } => {
            add_tables(*left, tables);
            add_tables(*right, tables);
        }
    }
}
