//! Views, routines, triggers and events: rows of a system table, and their cache.
//!
//! The rows are changed inside a [`Ddl`](super::Ddl), as those of tables are. After its commit the cache follows in one
//! step, and its version rises: who has made something of definitions, a plan for example, asks for the version before
//! it looks at them and compares it when it uses what it made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::rows::{SystemRows, bytes, is_one, number, text};
use super::system::SystemTable;
use crate::error::{Error, Result};
use crate::row;
use crate::schema::{Definition, DefinitionKind, DefinitionName};
use crate::sync::{Rank, RwLock};
use crate::transaction::Transaction;

type ByName = BTreeMap<Box<str>, Arc<Definition>>;

/// The committed definitions.
pub struct Definitions {
    by_database: RwLock<FxHashMap<Box<str>, BTreeMap<DefinitionKind, ByName>>>,
    version: AtomicU64,
}

/// What one statement does to them.
#[derive(Default)]
pub struct DefinitionChanges {
    pub removed: Vec<Arc<Definition>>,
    pub added: Vec<Arc<Definition>>,
}

impl DefinitionChanges {
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}

impl Definitions {
    pub fn new() -> Definitions {
        Definitions { by_database: RwLock::new(Rank::Leaf, FxHashMap::default()), version: AtomicU64::new(1) }
    }

    /// Rises with each change.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn find(&self, (kind, database, name): DefinitionName<'_>) -> Option<Arc<Definition>> {
        self.by_database.read().get(database)?.get(&kind)?.get(name).cloned()
    }

    /// Those of one kind, by name.
    pub fn list(&self, kind: DefinitionKind, database: &str) -> Vec<Arc<Definition>> {
        let all = self.by_database.read();
        let of_kind = all.get(database).and_then(|kinds| kinds.get(&kind));
        of_kind.map_or_else(Vec::new, |by_name| by_name.values().cloned().collect())
    }

    /// All of a database.
    pub fn of_database(&self, database: &str) -> Vec<Arc<Definition>> {
        let all = self.by_database.read();
        all.get(database).into_iter().flat_map(|kinds| kinds.values()).flat_map(|of| of.values().cloned()).collect()
    }

    /// Those that belong to a table.
    pub fn of_table(&self, database: &str, table: &str) -> Vec<Arc<Definition>> {
        let all = self.by_database.read();
        let of_database = all.get(database).into_iter().flat_map(|kinds| kinds.values()).flat_map(|of| of.values());
        of_database.filter(|definition| &*definition.table == table).cloned().collect()
    }

    /// The rows were changed and are committed.
    pub fn change(&self, changes: DefinitionChanges) {
        if changes.is_empty() {
            return;
        }
        let mut all = self.by_database.write();
        for removed in &changes.removed {
            if let Some(of_kind) = all.get_mut(&removed.database).and_then(|kinds| kinds.get_mut(&removed.kind)) {
                of_kind.remove(&removed.name);
            }
        }
        for added in changes.added {
            let kinds = all.entry(added.database.clone()).or_default();
            kinds.entry(added.kind).or_default().insert(added.name.clone(), added);
        }
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl SystemRows {
    pub fn insert_definition(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        definition: &Definition,
    ) -> Result<()> {
        let values: [&[u8]; 5] = [
            definition.database.as_bytes(),
            &(definition.kind as u32).to_be_bytes(),
            definition.name.as_bytes(),
            definition.table.as_bytes(),
            &definition.bytes,
        ];
        self.insert(context, trx, SystemTable::Definitions, &values)
    }

    pub fn delete_definition(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        (kind, database, name): DefinitionName<'_>,
    ) -> Result<()> {
        let key: [&[u8]; 3] = [database.as_bytes(), &(kind as u32).to_be_bytes(), name.as_bytes()];
        let count = self.delete(context, trx, SystemTable::Definitions, &key)?;
        is_one(context, count, "the definition")
    }

    /// All of them.
    pub fn definitions(&self, context: &row::Context<'_>) -> Result<Vec<Arc<Definition>>> {
        let mut found = Vec::new();
        self.read(context, SystemTable::Definitions, &mut |row| {
            let number = number(row.get(1))?;
            let kind = DefinitionKind::from_number(number)
                .ok_or_else(|| Error::Unsupported(format!("a definition of kind {number}").into()))?;
            found.push(Arc::new(Definition {
                kind,
                database: text(row.get(0))?,
                name: text(row.get(2))?,
                table: text(row.get(3))?,
                bytes: bytes(row.get(4))?.into(),
            }));
            Ok(())
        })?;
        Ok(found)
    }
}
