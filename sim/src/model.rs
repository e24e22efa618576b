//! The expected contents of the database: plain maps, without pages, logs or locks.
//!
//! Rows and tables are shared between versions of the model, so that keeping one for each commit is cheap.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::family::Family;

/// One row of a simulated table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    pub k: i32,
    /// Unique where it is not NULL.
    pub name: Option<String>,
    /// From nothing to several overflow pages.
    pub body: Option<Vec<u8>>,
}

/// One table: its rows, and whether it has the index that DDL adds and drops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelTable {
    pub rows: BTreeMap<i64, Arc<ModelRow>>,
    pub has_body_index: bool,
}

/// A view, a procedure or a trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDefinition {
    /// The table of a trigger; else nothing.
    pub table: String,
    pub bytes: Vec<u8>,
}

/// All tables by name, and the transactions that are prepared: by their XID, with what they would change; and the
/// family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub tables: BTreeMap<String, Arc<ModelTable>>,
    /// By name; the first letter is the kind.
    pub definitions: BTreeMap<String, Arc<ModelDefinition>>,
    pub prepared: BTreeMap<String, Arc<Vec<Change>>>,
    /// Tables that refer to each other, once they have been made.
    pub family: Option<Arc<Family>>,
}

/// A change that a transaction wants; `None` deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub table: String,
    pub id: i64,
    pub row: Option<Arc<ModelRow>>,
}

/// The form in which names are compared: utf8mb4_general_ci knows no case, and pads with spaces.
pub fn folded(name: &str) -> String {
    name.trim_end_matches(' ').to_lowercase()
}

impl Model {
    pub fn table_mut(&mut self, name: &str) -> Option<&mut ModelTable> {
        self.tables.get_mut(name).map(Arc::make_mut)
    }

    /// Tables get other names, or none, and triggers follow them.
    pub fn move_triggers(&mut self, to: &dyn Fn(&str) -> Option<String>) {
        self.definitions.retain(|_, definition| {
            if definition.table.is_empty() {
                return true;
            }
            let Some(table) = to(&definition.table) else { return false };
            Arc::make_mut(definition).table = table;
            true
        });
    }

    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            // Changes of a table that was dropped meanwhile are dropped, too.
            let Some(table) = self.table_mut(&change.table) else { continue };
            match &change.row {
                Some(row) => table.rows.insert(change.id, row.clone()),
                None => table.rows.remove(&change.id),
            };
        }
    }

    /// The changes of a transaction that change something. A row that was only locked is free to others after a crash.
    pub fn effective(&self, mut changes: Vec<Change>) -> Vec<Change> {
        let mut now = self.clone();
        changes.retain(|change| {
            let before = now.tables.get(&change.table).and_then(|table| table.rows.get(&change.id)).cloned();
            now.apply(std::slice::from_ref(change));
            before != change.row
        });
        changes
    }

    /// The id of another row than `id` that has this name.
    pub fn owner_of_name(&self, table: &str, name: &str, id: i64) -> Option<i64> {
        let name = folded(name);
        let has_it = |row: &ModelRow| row.name.as_deref().is_some_and(|other| folded(other) == name);
        self.tables.get(table)?.rows.iter().find(|(other, row)| **other != id && has_it(row)).map(|(other, _)| *other)
    }

    /// The first difference between `self` (the expected state) and `found`. The changes of a prepared transaction are
    /// compared when it is committed.
    pub fn difference(&self, found: &Model) -> Option<String> {
        if !self.prepared.keys().eq(found.prepared.keys()) {
            let xids = |model: &Model| model.prepared.keys().cloned().collect::<Vec<_>>();
            return Some(format!("{:?} ought to be prepared, {:?} are", xids(self), xids(found)));
        }
        match (&self.family, &found.family) {
            (Some(ought), Some(found)) => {
                if let Some(difference) = ought.difference(found) {
                    return Some(difference);
                }
            }
            (None, None) => {}
            (ought, _) => return Some(format!("the family ought to be there: {}", ought.is_some())),
        }
        let names = |model: &Model| model.tables.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(found) {
            return Some(format!("tables ought to be {:?}, are {:?}", names(self), names(found)));
        }
        if self.definitions != found.definitions {
            let facts = |model: &Model| -> Vec<String> {
                let all = model.definitions.iter();
                all.map(|(name, own)| format!("{name} of {:?}, {} bytes", own.table, own.bytes.len())).collect()
            };
            return Some(format!("definitions ought to be {:?}, are {:?}", facts(self), facts(found)));
        }
        self.tables.iter().find_map(|(name, ought)| {
            let difference = ought.difference(&found.tables[name])?;
            Some(format!("{name}: {difference}"))
        })
    }
}

impl ModelTable {
    /// The column of bodies is dropped and added again with a default.
    pub fn replace_bodies(&mut self, body: Option<&[u8]>) {
        for row in self.rows.values_mut() {
            Arc::make_mut(row).body = body.map(<[u8]>::to_vec);
        }
    }

    pub fn difference(&self, found: &ModelTable) -> Option<String> {
        if self.has_body_index != found.has_body_index {
            return Some(format!("the index ought to exist: {}", self.has_body_index));
        }
        for (id, row) in &self.rows {
            match found.rows.get(id) {
                None => return Some(format!("row {id} is missing, {}", Brief(row))),
                Some(found) if found != row => {
                    return Some(format!("row {id} ought to be {}, is {}", Brief(row), Brief(found)));
                }
                Some(_) => {}
            }
        }
        let id = found.rows.keys().find(|id| !self.rows.contains_key(id))?;
        Some(format!("row {id} ought not to be there: {}", Brief(&found.rows[id])))
    }
}

/// A row without the bytes of its body.
pub struct Brief<'a>(pub &'a ModelRow);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelRow { k, name, body } = self.0;
        let body = body.as_ref().map(|body| (body.len(), body.first().copied()));
        write!(f, "k={k} name={name:?} body={body:?}")
    }
}
