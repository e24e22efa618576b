//! Which stored tables the rows of a virtual table are wanted of.
//!
//! Rows about one table of ten thousand must not cost the statistics of them all. So whoever asks for rows says in
//! [`Facts`] which databases and which tables they may be of, and the rows of the others are never made.
//! Rows may be of more tables than the asker's condition lets through, never of fewer: the condition itself is evaluated
//! on every row that is made. (Kept by `a_condition_on_the_names_gives_what_it_gives_when_it_is_hidden` in
//! `sql/tests/names_pushed.rs`.)

use storage::Table;

use super::{Facts, VirtualTable};

/// A condition on the names of databases and tables.
pub trait Wanted {
    /// Whether rows about tables of this database can be wanted.
    fn database(&self, database: &str) -> bool;
    /// Whether rows about this table can be wanted; asked only about databases that are.
    fn table(&self, database: &str, table: &str) -> bool;
}

/// Tables whose names are these, byte by byte.
pub struct Named<'a> {
    pub database: &'a str,
    pub table: Option<&'a str>,
}

impl Wanted for Named<'_> {
    fn database(&self, database: &str) -> bool {
        self.database == database
    }

    fn table(&self, _: &str, table: &str) -> bool {
        self.table.is_none_or(|name| name == table)
    }
}

/// The columns of a table in information_schema that hold the name of a row's database and of its table, if its rows are
/// made of all stored tables.
pub fn name_columns(database: &str, table: &VirtualTable) -> Option<(Vec<usize>, Vec<usize>)> {
    if !database.eq_ignore_ascii_case("information_schema") || !MADE_OF_TABLES.contains(&table.name) {
        return None;
    }
    let places = |names: &[&str]| -> Vec<usize> {
        let columns = table.columns.iter().enumerate();
        columns.filter(|(_, column)| names.contains(&column.name)).map(|(place, _)| place).collect()
    };
    Some((places(&["TABLE_SCHEMA", "CONSTRAINT_SCHEMA", "INDEX_SCHEMA"]), places(&["TABLE_NAME"])))
}

/// The tables that [`name_columns`] knows: each row is about the stored table that these columns name.
const MADE_OF_TABLES: [&str; 7] = [
    "COLUMNS",
    "KEY_COLUMN_USAGE",
    "REFERENTIAL_CONSTRAINTS",
    "STATISTICS",
    "TABLES",
    "TABLE_CONSTRAINTS",
    "TABLE_CONSTRAINTS_EXTENSIONS",
];

/// Every stored table that rows are wanted of and that the session may know of, by database and name.
pub fn stored_tables(facts: &Facts<'_>) -> Vec<std::sync::Arc<Table>> {
    if let Some(only) = facts.only {
        return vec![only.clone()];
    }
    let engine = &facts.instance.engine;
    let databases = engine.databases();
    let databases =
        databases.iter().filter(|database| facts.wanted.is_none_or(|wanted| wanted.database(&database.name)));
    let mut tables: Vec<_> = databases.flat_map(|database| engine.tables(&database.name)).collect();
    tables.retain(|table| facts.wanted.is_none_or(|wanted| wanted.table(&table.database, &table.name)));
    tables.retain(|table| facts.rights.sees_table(&table.database, &table.name));
    tables
}

/// The same of the virtual tables, with their databases.
pub fn virtual_tables<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'static str, &'static VirtualTable)> + 'f {
    let databases = super::DATABASES.iter();
    let databases = databases.filter(|name| facts.wanted.is_none_or(|wanted| wanted.database(name)));
    let tables = databases.flat_map(|name| super::tables(name).iter().map(move |table| (*name, table)));
    tables.filter(|(database, table)| {
        facts.wanted.is_none_or(|wanted| wanted.table(database, table.name))
            && facts.rights.sees_table(database, table.name)
    })
}
