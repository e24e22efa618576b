//! What the database ought to hold: plain maps, without pages, logs or locks.

use std::collections::BTreeMap;
use std::fmt;

/// One row of a simulated table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    pub k: i32,
    /// Unique where it is not NULL.
    pub name: Option<String>,
    /// From nothing to several overflow pages.
    pub body: Option<Vec<u8>>,
}

/// One table: its rows, and whether it has the index that comes and goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelTable {
    pub rows: BTreeMap<i64, ModelRow>,
    pub has_body_index: bool,
}

/// All tables by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub tables: BTreeMap<String, ModelTable>,
}

/// A change that a transaction wants; `None` deletes.
#[derive(Clone, Debug)]
pub struct Change {
    pub table: String,
    pub id: i64,
    pub row: Option<ModelRow>,
}

impl Model {
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            // A table that was dropped meanwhile takes its changes along.
            let Some(table) = self.tables.get_mut(&change.table) else { continue };
            match &change.row {
                Some(row) => table.rows.insert(change.id, row.clone()),
                None => table.rows.remove(&change.id),
            };
        }
    }

    /// The first thing in which `self` (what ought to be) and `found` differ.
    pub fn difference(&self, found: &Model) -> Option<String> {
        let names = |model: &Model| model.tables.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(found) {
            return Some(format!("tables ought to be {:?}, are {:?}", names(self), names(found)));
        }
        for (name, ought) in &self.tables {
            let is = &found.tables[name];
            if ought.has_body_index != is.has_body_index {
                return Some(format!("{name}: the index ought to exist: {}", ought.has_body_index));
            }
            for (id, row) in &ought.rows {
                match is.rows.get(id) {
                    None => return Some(format!("{name}: row {id} is missing")),
                    Some(found) if found != row => {
                        return Some(format!("{name}: row {id} ought to be {}, is {}", Brief(row), Brief(found)));
                    }
                    Some(_) => {}
                }
            }
            if let Some(id) = is.rows.keys().find(|id| !ought.rows.contains_key(id)) {
                return Some(format!("{name}: row {id} ought not to be there: {}", Brief(&is.rows[id])));
            }
        }
        None
    }
}

struct Brief<'a>(&'a ModelRow);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelRow { k, name, body } = self.0;
        let body = body.as_ref().map(|body| (body.len(), body.first().copied()));
        write!(f, "k={k} name={name:?} body={body:?}")
    }
}
