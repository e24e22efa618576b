//! What the transactions of one life share: the present committed state, and earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Change, Model, ModelRow, ModelTable};
use crate::run::{End, Run};
use crate::workload::Part;

/// Only the running thread uses it.
pub struct World<'r> {
    pub run: &'r mut Run,
    /// The database after each commit of this life, the first as it was found.
    past: Vec<Model>,
    /// The commit that changed a row last.
    changed: BTreeMap<(String, i64), usize>,
    /// Tables that DDL has changed in this life: transactions with an older read view may not read them.
    replaced: BTreeSet<String>,
    /// Tables on which an index is being built, or that are written anew, and by which worker.
    pub building: BTreeMap<String, usize>,
    /// The number of remaining operations.
    operations: u64,
    end: Option<End>,
}

/// The moment when a read view was taken.
#[derive(Clone, Debug)]
pub struct Seen {
    pub model: Model,
    pub commit: usize,
}

impl<'r> World<'r> {
    pub fn new(run: &'r mut Run, operations: u64) -> World<'r> {
        let past = vec![run.model().clone()];
        let (changed, replaced, building) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        World { run, past, changed, replaced, building, operations, end: None }
    }

    /// Takes one operation off those that are left. False = the life is over.
    pub fn next_operation(&mut self) -> bool {
        self.run.report.count("operations");
        let more = self.end.is_none() && self.operations > 0;
        self.operations = self.operations.saturating_sub(1);
        more
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The first reason is kept: others follow from it.
    pub fn set_end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    pub fn into_end(self) -> Option<End> {
        self.end
    }

    /// The number of the last commit.
    pub fn commit(&self) -> usize {
        self.past.len() - 1
    }

    pub fn now(&self) -> Seen {
        Seen { model: self.run.model().clone(), commit: self.commit() }
    }

    /// What is committed now, with a transaction's own changes.
    pub fn newest(&self, changes: &[Change]) -> Model {
        with(self.run.model(), changes)
    }

    /// A transaction was committed, and others see it from now on.
    pub fn committed(&mut self, changes: &[Change], after: Model) {
        self.past.push(after);
        let commit = self.commit();
        for change in changes {
            self.changed.insert((change.table.clone(), change.id), commit);
        }
    }

    /// DDL has changed a table, which no transaction has in use.
    pub fn replaced(&mut self, table: &str, after: Model) {
        self.past.push(after);
        self.replaced.insert(table.into());
    }

    pub fn was_replaced(&self, table: &str) -> bool {
        self.replaced.contains(table)
    }

    /// Whether another transaction has changed a row of the table (or this one) since.
    pub fn changed_since(&self, table: &str, id: Option<i64>, commit: usize) -> bool {
        let later = |id: i64| self.changed.get(&(table.to_string(), id)).is_some_and(|at| *at > commit);
        match id {
            Some(id) => later(id),
            None => self.changed.iter().any(|((name, _), at)| name == table && *at > commit),
        }
    }

    /// Rows of a part that were the same in every state since a commit: a read in that time cannot have missed them.
    pub fn steady(&self, table: &str, part: Part, since: usize, changes: &[Change]) -> ModelTable {
        let mut steady = part_of(&self.newest(changes), table, part);
        for model in &self.past[since..] {
            let then = part_of(&with(model, changes), table, part);
            steady.rows.retain(|id, row| then.rows.get(id) == Some(row));
        }
        steady
    }
}

/// A state with changes on top.
pub fn with(model: &Model, changes: &[Change]) -> Model {
    let mut model = model.clone();
    model.apply(changes);
    model
}

/// The rows of a table that are in a part of an index.
pub fn part_of(model: &Model, table: &str, part: Part) -> ModelTable {
    let Some(table) = model.tables.get(table) else { return ModelTable::default() };
    let rows = table.rows.iter().filter(|(id, row)| part.contains(**id, row));
    let rows: BTreeMap<i64, Arc<ModelRow>> = rows.map(|(id, row)| (*id, row.clone())).collect();
    ModelTable { rows, has_body_index: table.has_body_index }
}
