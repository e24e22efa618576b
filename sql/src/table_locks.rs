//! What a session has locked by LOCK TABLES, or by FLUSH TABLES ... WITH READ LOCK or FOR EXPORT.
//!
//! A session with locked tables may use these only, each by the name under which it was locked: a table that a
//! statement uses twice was locked twice, under two aliases. Metadata locks keep other sessions away, see
//! `storage::lock`.
//!
//! ```text
//!                     LOCK TABLES t READ, u AS x WRITE
//! SELECT from t       works                    SELECT from x       works
//! INSERT into t       1099                     INSERT into x       works
//! SELECT from u       1100: it is x            SELECT from v       1100
//! ```

use std::sync::Arc;

use storage::{Exported, MetadataGrant, TableUse};

use crate::error::{Error, Result};

/// One table of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTable {
    pub database: String,
    pub name: String,
    /// As statements have to call it.
    pub alias: String,
    pub allowed: TableUse,
}

/// See the module header.
#[derive(Clone)]
pub struct LockedTables {
    pub tables: Vec<LockedTable>,
    /// What views among them are made of, by the names that the views have for it.
    pub inside: Vec<LockedTable>,
    /// What their triggers and foreign keys use, which is locked along and cannot be named: database, name.
    pub implied: Vec<(String, String)>,
    pub grant: Arc<MetadataGrant>,
    /// FLUSH TABLES ... FOR EXPORT: their files may be copied while they are locked.
    pub exported: Option<Arc<Exported>>,
}

impl LockedTables {
    /// Whether a statement may use a table, called `alias` there.
    pub fn check(&self, database: &str, name: &str, alias: &str, wanted: TableUse) -> Result<()> {
        let is_it = |table: &&LockedTable| table.database == database && table.name == name && table.alias == alias;
        self.allow(alias, wanted, self.tables.iter().chain(&self.inside).filter(is_it))
    }

    /// Whether a definition may be changed.
    pub fn check_definition(&self, database: &str, name: &str, wanted: TableUse) -> Result<()> {
        let is_it = |table: &&LockedTable| table.database == database && table.name == name;
        self.allow(name, wanted, self.tables.iter().filter(is_it))
    }

    fn allow<'t>(&self, called: &str, wanted: TableUse, found: impl Iterator<Item = &'t LockedTable>) -> Result<()> {
        match found.map(|table| table.allowed).max() {
            None => Err(Error::table_not_locked(called)),
            Some(allowed) if allowed < wanted => Err(Error::table_locked_for_read(called)),
            Some(_) => Ok(()),
        }
    }
}
