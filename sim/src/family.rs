//! Tables that refer to each other: cascades from a change of one row to others, and a crash in the middle of them.
//!
//! ```text
//!   parent <-- a, cascade --- child <-- a, cascade --- grandchild
//!      ^ ^ <-- b, set null ---'
//!      '--- a, restrict --- guest
//! ```
//!
//! They have a database of their own, and one transaction at a time, which stays open while other work goes on; so a
//! crash finds the changes of cascades in the log, to be undone or kept with their cause. The model knows the rules,
//! not their implementation.

use std::collections::BTreeMap;
use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, Value};
use storage::schema::{
    Column, ColumnSet, ForeignKey, IndexDefinition, ReadMode, ReferentialAction, Row, ScanRange, TableDefinition,
};
use storage::{Engine, Error, Table, TableUse, Trx, TrxOptions};

use crate::run::{End, Run};

pub const DATABASE: &str = "family";

const TABLES: [&str; 4] = ["parent", "child", "grandchild", "guest"];
const PARENT: usize = 0;
const CHILD: usize = 1;
const GRANDCHILD: usize = 2;
const GUEST: usize = 3;

const IDS: u64 = 12;
const NUMBER: ColumnType = ColumnType::Int { bytes: 8, unsigned: false };

/// The columns `a` and `b` of a row.
type References = [Option<i64>; 2];

/// The rows of all four tables, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family([BTreeMap<i64, References>; 4]);

/// The open transaction on these tables.
pub struct Visit {
    trx: Trx,
    family: Family,
    changes: usize,
}

impl Family {
    /// Deletes a row, with its cascade. False: it must be refused.
    fn delete(&mut self, table: usize, id: i64) -> bool {
        self.0[table].remove(&id);
        let followers = |family: &Family, of: usize| -> Vec<i64> {
            family.0[of].iter().filter(|(_, [a, _])| *a == Some(id)).map(|(id, _)| *id).collect()
        };
        match table {
            PARENT => {
                let children = followers(self, CHILD);
                let free = followers(self, GUEST).is_empty();
                let mut all = free;
                for child in children {
                    all &= self.delete(CHILD, child);
                }
                self.forget(id);
                all
            }
            CHILD => followers(self, GRANDCHILD).into_iter().all(|grandchild| self.delete(GRANDCHILD, grandchild)),
            _ => true,
        }
    }

    /// Sets `b` of all children of the parent to NULL.
    fn forget(&mut self, parent: i64) {
        for [_, b] in self.0[CHILD].values_mut() {
            *b = b.filter(|b| *b != parent);
        }
    }

    /// Gives a row another id, which is free. False: it must be refused.
    fn renumber(&mut self, table: usize, from: i64, to: i64) -> bool {
        if table == PARENT && self.0[GUEST].values().any(|[a, _]| *a == Some(from)) {
            return false;
        }
        if let Some(row) = self.0[table].remove(&from) {
            self.0[table].insert(to, row);
        }
        if let Some(followers) = [Some(CHILD), Some(GRANDCHILD), None, None][table] {
            for [a, _] in self.0[followers].values_mut().filter(|[a, _]| *a == Some(from)) {
                *a = Some(to);
            }
        }
        if table == PARENT {
            self.forget(from);
        }
        true
    }

    /// Whether the parents of a row of the table exist.
    fn has_parents(&self, table: usize, [a, b]: References) -> bool {
        let of = if table == GRANDCHILD { CHILD } else { PARENT };
        table == PARENT || [a, b].into_iter().flatten().all(|id| self.0[of].contains_key(&id))
    }

    pub fn difference(&self, found: &Family) -> Option<String> {
        let at = (0..TABLES.len()).find(|&table| self.0[table] != found.0[table])?;
        Some(format!("{} ought to have {:?}, has {:?}", TABLES[at], self.0[at], found.0[at]))
    }
}

fn definition(table: usize) -> TableDefinition {
    let key = |column: &str, parent: usize, action: ReferentialAction| ForeignKey {
        name: format!("{}_{column}", TABLES[table]).into(),
        columns: vec![column.into()],
        parent_database: DATABASE.into(),
        parent: TABLES[parent].into(),
        parent_columns: vec!["id".into()],
        on_delete: action,
        on_update: action,
    };
    TableDefinition {
        database: DATABASE.into(),
        name: TABLES[table].into(),
        columns: ["id", "a", "b"].map(|name| Column::new(name, NUMBER, name != "id")).into(),
        indexes: vec![
            IndexDefinition::new("PRIMARY", true, &[0]),
            IndexDefinition::new("a", false, &[1]),
            IndexDefinition::new("b", false, &[2]),
        ],
        foreign_keys: match table {
            CHILD => {
                vec![key("a", PARENT, ReferentialAction::Cascade), key("b", PARENT, ReferentialAction::SetNull)]
            }
            GRANDCHILD => vec![key("a", CHILD, ReferentialAction::Cascade)],
            GUEST => vec![key("a", PARENT, ReferentialAction::Restrict)],
            _ => Vec::new(),
        },
        ..TableDefinition::default()
    }
}

fn encode(number: i64) -> Vec<u8> {
    let mut out = Vec::new();
    NUMBER.encode(&Value::Int(number), &mut out).expect("a BIGINT");
    out
}

fn decode(row: &Row, column: usize) -> Option<i64> {
    row.get(column).map(|stored| match NUMBER.decode(stored) {
        Value::Int(number) => number,
        other => panic!("column {column} holds {other:?}"),
    })
}

/// All rows that a transaction sees, the same over every index.
fn read(trx: &mut Trx) -> Result<Family, Error> {
    let mut family = Family::default();
    for (number, name) in TABLES.iter().enumerate() {
        let table = trx.open_table(DATABASE, name)?;
        for index in 0..table.indexes.len() {
            let mut rows = BTreeMap::new();
            let mut cursor = trx.cursor(&table, index, ReadMode::Consistent, ColumnSet::first(3), ScanRange::ALL)?;
            let mut row = Row::new();
            while cursor.next(trx, &mut row)? {
                let id = decode(&row, 0).ok_or_else(|| Error::corrupt("a row without an id"))?;
                rows.insert(id, [decode(&row, 1), decode(&row, 2)]);
            }
            if index > 0 && rows != family.0[number] {
                return Err(Error::corrupt(format!(
                    "{name}: index {index} shows {rows:?}, not {:?}",
                    family.0[number]
                )));
            }
            family.0[number] = rows;
        }
    }
    Ok(family)
}

/// What a new transaction sees; `None` while not all tables are there.
pub fn everything(engine: &Arc<Engine>) -> Result<Option<Arc<Family>>, Error> {
    if TABLES.iter().any(|name| engine.table(DATABASE, name).is_none()) {
        return Ok(None);
    }
    Ok(Some(Arc::new(read(&mut engine.begin(TrxOptions::default()))?)))
}

impl Run {
    /// One step of the transaction on the family, or of creating it.
    pub fn visit(&mut self, engine: &Arc<Engine>, visit: &mut Option<Visit>) -> Result<(), End> {
        let Some(family) = self.model().family.clone() else { return self.found_family(engine) };
        let mut open = visit.take().unwrap_or_else(|| {
            let trx = engine.begin(self.options());
            Visit { trx, family: (*family).clone(), changes: 0 }
        });
        match self.random.below(14) {
            0 | 1 => return self.end_visit(open),
            2 => {
                self.say(|| format!("family: rollback of {} changes", open.changes));
                self.doing = "rollback";
                self.aim_crash(6, 20);
                let undone = open.trx.rollback();
                self.report.count("family: rollbacks");
                return self.insist(undone, "rollback");
            }
            _ => {}
        }
        self.change_family(&mut open)?;
        *visit = Some(open);
        Ok(())
    }

    fn found_family(&mut self, engine: &Arc<Engine>) -> Result<(), End> {
        self.doing = "ddl";
        self.aim_crash(10, 60);
        let wait = self.options();
        if engine.database(DATABASE).is_none() {
            let created = engine.create_database(DATABASE, CollationId::DEFAULT, &wait);
            if self.judge(created, "create database")?.is_none() {
                return Ok(());
            }
        }
        for table in (0..TABLES.len()).filter(|table| engine.table(DATABASE, TABLES[*table]).is_none()) {
            let mut after = self.model().clone();
            after.family = (table == TABLES.len() - 1).then(Arc::default);
            let created = engine.create_table(definition(table), &wait);
            match self.judge(created, "create table") {
                Ok(Some(_)) => self.set_model(after),
                Ok(None) => return Ok(()),
                Err(End::Crash) => {
                    self.allowed.push(after);
                    return Err(End::Crash);
                }
                Err(end) => return Err(end),
            }
        }
        self.report.count("family: founded");
        Ok(())
    }

    pub fn end_visit(&mut self, open: Visit) -> Result<(), End> {
        self.say(|| format!("family: commit of {} changes", open.changes));
        self.doing = "commit";
        self.aim_crash(6, 10);
        let mut after = self.model().clone();
        after.family = Some(Arc::new(open.family));
        let committed = open.trx.commit();
        match self.insist(committed, "commit") {
            Ok(()) => {
                self.report.count("family: commits");
                self.set_model(after);
                Ok(())
            }
            Err(end) => {
                self.allowed.push(after);
                Err(end)
            }
        }
    }

    /// A statement on one of the tables, with its rollback if it is refused.
    fn change_family(&mut self, open: &mut Visit) -> Result<(), End> {
        self.doing = "statement";
        let savepoint = open.trx.statement_begin();
        let number = self.random.below(TABLES.len() as u64) as usize;
        let name = TABLES[number];
        let opened = open.trx.open_table_to(TableUse::Write, DATABASE, name);
        let Some(table) = self.judge_read(opened, "open table")? else { return Ok(()) };
        if self.random.chance(12) {
            let seen = read(&mut open.trx);
            let Some(seen) = self.judge_read(seen, "scan")? else { return Ok(()) };
            return open.family.difference(&seen).map_or(Ok(()), |what| Err(End::Failure(format!("family: {what}"))));
        }
        self.aim_crash(40, 20);
        let id = self.random.below(IDS) as i64;
        let references: References = [(); 2].map(|()| self.random.chance(2).then(|| self.random.below(IDS) as i64));
        let references = match number {
            PARENT => [None; 2],
            CHILD => references,
            _ => [references[0], None],
        };
        let to = self.random.below(IDS) as i64;
        let mut after = open.family.clone();
        let known = after.0[number].contains_key(&id);
        let (what, result, is_right) = match self.random.below(4) {
            0 if known => {
                let is_right = after.delete(number, id);
                (format!("delete {id}"), delete(&mut open.trx, &table, id), is_right)
            }
            1 if known => {
                let is_right = to == id || !after.0[number].contains_key(&to) && after.renumber(number, id, to);
                (format!("renumber {id} to {to}"), update(&mut open.trx, &table, id, &[(0, Some(to))]), is_right)
            }
            2 if known => {
                after.0[number].insert(id, references);
                let changes = [(1, references[0]), (2, references[1])];
                // Only a changed reference needs its parent; an unchanged one has it.
                let is_right = after.has_parents(number, references);
                (format!("let {id} refer to {references:?}"), update(&mut open.trx, &table, id, &changes), is_right)
            }
            _ => {
                after.0[number].insert(id, references);
                let is_right = !known && after.has_parents(number, references);
                (format!("insert {id} {references:?}"), insert(&mut open.trx, &table, id, references), is_right)
            }
        };
        self.say(|| {
            let became = result.as_ref().map_or_else(|error| error.to_string(), |()| "done".into());
            format!("family: {name}: {what}: {became}")
        });
        let refused = matches!(result, Err(Error::ForeignKey(_) | Error::DuplicateKey { index: 0 }));
        match (result, is_right) {
            (Ok(()), true) => {
                open.family = after;
                open.changes += 1;
                self.report.count("family: changes");
                return Ok(());
            }
            (Ok(()), false) => return Err(End::Failure(format!("family: {name}: {what}: it was not refused"))),
            (Err(error), true) if refused => return Err(End::Failure(format!("family: {name}: {what}: {error}"))),
            (Err(_), false) if refused => self.report.count("family: refused"),
            (Err(error), _) => drop(self.judge(Err::<(), _>(error), "statement")?),
        }
        self.doing = "rollback of a statement";
        let undone = open.trx.rollback_to(savepoint);
        self.insist(undone, "rollback of a statement")
    }
}

fn insert(trx: &mut Trx, table: &Table, id: i64, references: References) -> Result<(), Error> {
    let stored = [Some(id), references[0], references[1]].map(|number| number.map(encode));
    trx.insert(table, &stored.each_ref().map(Option::as_deref))
}

/// Locks an existing row.
fn lock(trx: &mut Trx, table: &Table, id: i64) -> Result<Row, Error> {
    let mut row = Row::new();
    let found = trx.get(table, 0, &[Some(&encode(id))], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)?;
    if found { Ok(row) } else { Err(Error::corrupt(format!("{}: row {id} is gone", table.name))) }
}

fn delete(trx: &mut Trx, table: &Table, id: i64) -> Result<(), Error> {
    let row = lock(trx, table, id)?;
    trx.delete(table, &row)
}

fn update(trx: &mut Trx, table: &Table, id: i64, changes: &[(usize, Option<i64>)]) -> Result<(), Error> {
    let row = lock(trx, table, id)?;
    let stored: Vec<_> = changes.iter().map(|(column, number)| (*column, number.map(encode))).collect();
    let stored: Vec<_> = stored.iter().map(|(column, bytes)| (*column, bytes.as_deref())).collect();
    trx.update(table, &row, &stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_parent() {
        let mut family = Family::default();
        family.0[PARENT] = [(1, [None; 2]), (2, [None; 2])].into();
        family.0[CHILD] = [(5, [Some(1), Some(2)]), (6, [None, Some(1)])].into();
        family.0[GRANDCHILD] = [(7, [Some(5), None])].into();
        let mut renumbered = family.clone();
        assert!(renumbered.renumber(PARENT, 1, 3));
        assert_eq!(renumbered.0[CHILD], [(5, [Some(3), Some(2)]), (6, [None, None])].into());
        let mut deleted = family.clone();
        assert!(deleted.delete(PARENT, 1));
        assert_eq!(deleted.0[CHILD], [(6, [None, None])].into());
        assert!(deleted.0[GRANDCHILD].is_empty());
        family.0[GUEST] = [(1, [Some(2), None])].into();
        assert!(!family.clone().delete(PARENT, 2) && !family.renumber(PARENT, 2, 9));
        assert!(!family.has_parents(GRANDCHILD, [Some(6), Some(9)]) && family.has_parents(CHILD, [None, Some(1)]));
    }
}
