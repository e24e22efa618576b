//! The work of a life: transactions on rows, several at once, and readers with old snapshots.
//!
//! Each transaction owns the ids with its slot's remainder modulo [`SLOTS`], so that none waits for another: the
//! simulator has one thread. They interact all the same, in pages, in undo, in purge, and in the unique names that all
//! draw from one set.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use storage::schema::{ReadMode, Row};
use storage::{Engine, Error, Isolation, Savepoint, Table, Trx, TrxOptions, XidClaim};

use crate::backup::Taking;
use crate::family::Visit;
use crate::model::{Brief, Change, Model, ModelRow, ModelTable, folded};
use crate::run::{End, Run};
use crate::workload::{self, BODY, DATABASE, K, NAME, Part};

/// Transactions that may be open at once.
pub const SLOTS: i64 = 3;

/// An open transaction.
pub struct Open {
    pub trx: Trx,
    /// The XID, if it is a branch of a distributed transaction.
    pub claim: Option<XidClaim>,
    pub changes: Vec<Change>,
    /// Points to go back to, with the number of changes before each.
    savepoints: Vec<(Savepoint, usize)>,
    /// What the others had committed when it first read.
    seen: Option<Model>,
    /// Tables that DDL has replaced since; what the transaction sees of them is not defined.
    pub replaced: BTreeSet<String>,
}

/// A reader with an old snapshot.
pub struct Snapshot {
    trx: Trx,
    model: Model,
    pub replaced: BTreeSet<String>,
}

/// How a statement of the workload may end.
enum Statement {
    /// The row's new state.
    Changed(Option<Arc<ModelRow>>),
    Unchanged,
    /// An expected error; the statement must be rolled back.
    Refused,
}

enum StatementError {
    Engine(Error),
    Wrong(String),
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        StatementError::Engine(error)
    }
}

/// All open work of a life.
#[derive(Default)]
pub struct Scene {
    pub open: BTreeMap<i64, Open>,
    pub snapshots: Vec<Snapshot>,
    pub backup: Option<Taking>,
    pub visit: Option<Visit>,
}

impl Run {
    pub fn work(&mut self, engine: &Arc<Engine>) -> Result<(), End> {
        let mut scene = Scene::default();
        let operations = 20 + self.random.below(300);
        // Many visits of the family, or none.
        let visits = [0, 0, 10, 40][self.random.below(4) as usize];
        for _ in 0..operations {
            self.report.count("operations");
            if let Some(taking) = scene.backup.take() {
                scene.backup = self.step_backup(taking)?;
            } else if self.random.chance(150) {
                scene.backup = self.begin_backup(engine)?;
            }
            if self.random.below(100) < visits {
                self.visit(engine, &mut scene.visit)?;
                continue;
            }
            match self.random.below(100) {
                0..=4 => self.ddl(engine, &mut scene)?,
                5..=8 => self.background(engine, 1)?,
                9 => self.background(engine, 100)?,
                10..=12 => match scene.snapshots.pop() {
                    Some(old) if self.random.chance(2) => self.look_back(old)?,
                    old => {
                        scene.snapshots.extend(old);
                        let new = self.take_snapshot(engine);
                        scene.snapshots.push(new);
                    }
                },
                13 => self.flush(engine)?,
                14 => self.change_room(),
                15 | 16 => drop(self.end_prepared(engine, &scene, true)?),
                _ => self.transaction(engine, &mut scene)?,
            }
        }
        if let Some(visit) = scene.visit.filter(|_| self.random.chance(2)) {
            self.end_visit(visit)?;
        }
        for (_, current) in scene.open {
            if self.random.chance(2) {
                self.commit(current)?;
            }
        }
        for old in scene.snapshots {
            self.look_back(old)?;
        }
        Ok(())
    }

    fn background(&mut self, engine: &Arc<Engine>, steps: u64) -> Result<(), End> {
        self.doing = "background work";
        self.aim_crash(60, 20);
        // A rollback that rests after a failure is retried.
        if self.random.chance(4) {
            self.disk.pass(Duration::from_secs(10));
        }
        let truncations = engine.status().undo_truncations;
        for _ in 0..steps {
            let result = engine.step();
            if self.judge(result, "background work")? != Some(true) {
                break;
            }
        }
        self.report.add("undo truncations", engine.status().undo_truncations - truncations);
        Ok(())
    }

    fn flush(&mut self, engine: &Arc<Engine>) -> Result<(), End> {
        self.doing = "log flush";
        let result = engine.store().flush_log(engine.store().current_lsn());
        if self.judge(result, "log flush")?.is_some() {
            self.forget_past();
        }
        Ok(())
    }

    /// One step of one transaction.
    fn transaction(&mut self, engine: &Arc<Engine>, scene: &mut Scene) -> Result<(), End> {
        let slot = self.random.below(SLOTS as u64) as i64;
        let isolation = if self.random.chance(3) { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
        let mut current = match scene.open.remove(&slot) {
            Some(current) => current,
            None => {
                let options = TrxOptions { isolation, ..self.options() };
                let claim = if self.random.chance(4) { self.claim_xid(engine) } else { None };
                let trx = match &claim {
                    Some(claim) => claim.begin(options),
                    None => engine.begin(options),
                };
                let (changes, savepoints, replaced) = (Vec::new(), Vec::new(), BTreeSet::new());
                Open { trx, claim, changes, savepoints, seen: None, replaced }
            }
        };
        match self.random.below(30) {
            0..=2 if current.claim.is_some() && !current.changes.is_empty() && self.random.chance(2) => {
                return self.prepare(current);
            }
            0..=2 => return self.commit(current),
            3 => return self.rollback(current),
            _ => {}
        }
        match self.step_of(&mut current, slot) {
            Ok(()) => drop(scene.open.insert(slot, current)),
            Err(end) => return Err(end),
        }
        Ok(())
    }

    fn step_of(&mut self, current: &mut Open, slot: i64) -> Result<(), End> {
        match self.random.below(26) {
            0 => current.savepoints.push((current.trx.savepoint(), current.changes.len())),
            1 => self.back_to_savepoint(current)?,
            2 | 3 => self.scan_own(current)?,
            4 => self.many_rows(current, slot)?,
            _ => {
                if let Some((name, table)) = self.open_some_table(current)? {
                    let id = self.random.below(self.ids) as i64 * SLOTS + slot;
                    self.change_row(current, &name, &table, id, None)?;
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, current: Open) -> Result<(), End> {
        self.say(|| format!("commit of {} changes", current.changes.len()));
        self.commit_changes(current.trx, &current.changes).map(|_| ())
    }

    /// Commits a transaction that has made these changes. Returns the state after it.
    pub fn commit_changes(&mut self, trx: Trx, changes: &[Change]) -> Result<Model, End> {
        self.doing = "commit";
        let committed = trx.commit();
        self.note_commit(committed, changes)
    }

    /// A COMMIT has ended.
    pub fn note_commit(&mut self, committed: Result<(), Error>, changes: &[Change]) -> Result<Model, End> {
        let mut after = self.model().clone();
        after.apply(changes);
        match self.insist(committed, "commit") {
            Ok(()) => {
                self.report.count("commits");
                self.set_model(after.clone());
                Ok(after)
            }
            Err(end) => {
                // After a crash either state may be found: the commit was not acknowledged.
                self.allowed.push(after);
                Err(end)
            }
        }
    }

    pub fn rollback(&mut self, current: Open) -> Result<(), End> {
        self.say(|| format!("rollback of {} changes", current.changes.len()));
        self.doing = "rollback";
        self.aim_crash(8, 20);
        let result = current.trx.rollback();
        self.insist(result, "rollback")?;
        self.report.count("rollbacks");
        Ok(())
    }

    fn back_to_savepoint(&mut self, current: &mut Open) -> Result<(), End> {
        if current.savepoints.is_empty() {
            return Ok(());
        }
        let at = self.random.below(current.savepoints.len() as u64) as usize;
        let (savepoint, changes) = current.savepoints[at];
        current.savepoints.truncate(at + 1);
        self.say(|| format!("back to a savepoint, {} changes undone", current.changes.len() - changes));
        self.doing = "rollback to a savepoint";
        self.aim_crash(8, 20);
        let result = current.trx.rollback_to(savepoint);
        self.insist(result, "rollback to a savepoint")?;
        current.changes.truncate(changes);
        self.report.count("rollbacks to savepoints");
        Ok(())
    }

    pub fn take_snapshot(&mut self, engine: &Arc<Engine>) -> Snapshot {
        let mut trx = engine.begin(self.options());
        trx.take_snapshot();
        Snapshot { trx, model: self.model().clone(), replaced: BTreeSet::new() }
    }

    /// An old snapshot must still show the state of its time.
    fn look_back(&mut self, mut old: Snapshot) -> Result<(), End> {
        self.doing = "reading of a snapshot";
        for (name, ought) in &old.model.tables {
            if old.replaced.contains(name) {
                continue;
            }
            let Some(table) = self.judge_read(old.trx.open_table(DATABASE, name), "open for a snapshot")? else {
                continue;
            };
            let index = self.random.below(table.indexes.len() as u64) as usize;
            let seen = workload::scan(&mut old.trx, &table, index, self.random.chance(2));
            let Some(mut seen) = self.judge_read(seen, "scan of a snapshot")? else { continue };
            seen.has_body_index = ought.has_body_index;
            if let Some(difference) = ought.difference(&seen) {
                return Err(End::Failure(format!("a snapshot of {name} over index {index}: {difference}")));
            }
        }
        self.report.count("snapshots");
        self.judge_read(old.trx.commit(), "end of a snapshot").map(|_| ())
    }

    /// What a transaction sees of the others, with its own changes.
    fn visible(&mut self, current: &mut Open) -> Model {
        let mut visible = match current.trx.isolation() {
            Isolation::ReadCommitted => self.model().clone(),
            _ => current.seen.get_or_insert_with(|| self.model().clone()).clone(),
        };
        visible.apply(&current.changes);
        visible
    }

    /// What locking reads see: all that is committed, with its own changes.
    fn newest(&self, current: &Open) -> Model {
        let mut newest = self.model().clone();
        newest.apply(&current.changes);
        newest
    }

    /// A scan in a transaction with changes shows its snapshot with them; a locking one the newest state.
    fn scan_own(&mut self, current: &mut Open) -> Result<(), End> {
        let Some((name, table)) = self.open_some_table(current)? else { return Ok(()) };
        self.doing = "scan";
        current.trx.statement_begin();
        let mode = match self.random.below(12) {
            0 => ReadMode::SHARED,
            1 => ReadMode::EXCLUSIVE,
            _ => ReadMode::Consistent,
        };
        let visible = if mode == ReadMode::Consistent { self.visible(current) } else { self.newest(current) };
        let Some(visible) = visible.tables.get(&name) else { return Ok(()) };
        if mode == ReadMode::Consistent && self.random.chance(3) {
            return self.find_names(current, &name, &table, visible);
        }
        let (index, part) = match self.random.below(3) {
            0 => (self.random.below(table.indexes.len() as u64) as usize, Part::All),
            1 => {
                let ids = self.ids * 3;
                (0, Part::Ids(self.draw_bound(0, ids), self.draw_bound(0, ids)))
            }
            _ => (1, Part::Ks(self.draw_bound(-26, 52), self.draw_bound(-26, 52))),
        };
        let reverse = self.random.chance(2);
        let seen = workload::scan_part(&mut current.trx, &table, index, part, mode, reverse);
        let Some(mut seen) = self.judge_read(seen, "scan")? else { return Ok(()) };
        let mut ought = (**visible).clone();
        ought.rows.retain(|id, row| part.contains(*id, row));
        seen.has_body_index = ought.has_body_index;
        self.report.count(format!("scans {mode:?}"));
        match ought.difference(&seen) {
            Some(difference) => Err(End::Failure(format!(
                "a scan {mode:?} of {name} over index {index}, {part:?}, reverse {reverse}: {difference}"
            ))),
            None => Ok(()),
        }
    }

    pub fn draw_bound(&mut self, from: i64, count: u64) -> Bound<i64> {
        let number = from + self.random.below(count) as i64;
        match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(number),
            _ => Bound::Excluded(number),
        }
    }

    /// Looks up names that exist, and some that may exist.
    fn find_names(
        &mut self,
        current: &mut Open,
        name: &str,
        table: &Arc<Table>,
        visible: &ModelTable,
    ) -> Result<(), End> {
        let mut wanted: Vec<String> = (0..10).map(|at| format!("s{at}")).collect();
        wanted.extend(visible.rows.values().filter_map(|row| row.name.clone()).step_by(7));
        let mut row = Row::new();
        for wanted in wanted {
            let folded = folded(&wanted);
            let has_it = |row: &ModelRow| row.name.as_deref().is_some_and(|name| crate::model::folded(name) == folded);
            let ought = visible.rows.iter().find(|(_, row)| has_it(row)).map(|(id, row)| (*id, (**row).clone()));
            let found = workload::find_name(&mut current.trx, table, &wanted, &mut row);
            let Some(found) = self.judge_read(found, "look-up of a name")? else { return Ok(()) };
            if found != ought {
                return Err(End::Failure(format!(
                    "{name}: name {wanted} is found in {:?}, and ought to be in {:?}",
                    found.map(|(id, _)| id),
                    ought.map(|(id, _)| id)
                )));
            }
            self.report.count("names looked up");
        }
        Ok(())
    }

    /// A table that the transaction may use, with its name.
    fn open_some_table(&mut self, current: &mut Open) -> Result<Option<(String, Arc<Table>)>, End> {
        let names: Vec<String> =
            self.model().tables.keys().filter(|name| !current.replaced.contains(*name)).cloned().collect();
        if names.is_empty() {
            return Ok(None);
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        let table = self.judge_read(current.trx.open_table(DATABASE, &name), "open table")?;
        Ok(table.map(|table| (name, table)))
    }

    pub fn draw_row(&mut self, id: i64) -> Arc<ModelRow> {
        let name = match self.random.below(8) {
            0 | 1 => None,
            // From a set that all transactions share.
            2 => Some(["s", "S", "s "][self.random.below(3) as usize].to_string()).map(|first| {
                let end = if first.ends_with(' ') { " " } else { "" };
                format!("{}{}{end}", first.trim_end(), self.random.below(30))
            }),
            // Unique by the id inside, of varying length.
            _ => {
                let (letter, max) = if self.wide_names { ("\u{10348}", 50) } else { ("n", 30) };
                Some(format!("{}-{id}", letter.repeat(self.random.below(max) as usize)))
            }
        };
        let body = match self.random.below(20) {
            0 | 1 => None,
            2 => Some(self.bytes(40_000)),
            3 | 4 => Some(self.bytes(9_000)),
            5 | 6 => Some(self.bytes(2_500)),
            _ => Some(self.bytes(200)),
        };
        Arc::new(ModelRow { k: self.random.below(50) as i32 - 25, name, body })
    }

    /// Bytes that compress, or do not.
    fn bytes(&mut self, max: u64) -> Vec<u8> {
        let length = self.random.below(max) as usize;
        let first = self.random.next() as u8;
        let mut bytes: Vec<u8> = (0..length).map(|at| first.wrapping_add((at / 40) as u8)).collect();
        if self.random.chance(3) {
            for word in bytes.chunks_mut(8) {
                word.copy_from_slice(&self.random.next().to_le_bytes()[..word.len()]);
            }
        }
        bytes
    }

    /// A run of neighbouring rows, all changed in the same way: trees grow, split and merge.
    fn many_rows(&mut self, current: &mut Open, slot: i64) -> Result<(), End> {
        let Some((name, table)) = self.open_some_table(current)? else { return Ok(()) };
        let count = 1 + self.random.below(self.ids / 2);
        let start = self.random.below(self.ids - count);
        let wish = match self.random.below(3) {
            0 => Wish::Delete,
            _ => Wish::Present,
        };
        self.say(|| format!("{count} rows of {name}: {wish:?}"));
        let backwards = self.random.chance(3);
        for at in 0..count {
            let at = if backwards { start + count - 1 - at } else { start + at };
            self.change_row(current, &name, &table, at as i64 * SLOTS + slot, Some(wish))?;
        }
        Ok(())
    }

    fn change_row(
        &mut self,
        current: &mut Open,
        name: &str,
        table: &Arc<Table>,
        id: i64,
        wish: Option<Wish>,
    ) -> Result<(), End> {
        let known = current.changes.iter().rev().find(|change| change.table == name && change.id == id);
        let before = match known {
            Some(change) => change.row.clone(),
            None => self.model().tables.get(name).and_then(|table| table.rows.get(&id).cloned()),
        };
        self.doing = "statement";
        let savepoint = current.trx.statement_begin();
        let result = self.one_statement(current, table, name, id, &before, wish);
        let outcome = match result {
            Ok(outcome) => Some(outcome),
            Err(StatementError::Engine(error)) => self.judge(Err(error), "statement")?,
            Err(StatementError::Wrong(what)) => return Err(End::Failure(what)),
        };
        match outcome {
            Some(Statement::Changed(row)) => {
                self.say(|| format!("{name}: row {id} becomes {:?}", row.as_ref().map(|row| Brief(row).to_string())));
                current.changes.push(Change { table: name.into(), id, row });
            }
            Some(Statement::Unchanged) => {}
            Some(Statement::Refused) | None => {
                self.doing = "rollback of a statement";
                let undone = current.trx.rollback_to(savepoint);
                self.insist(undone, "rollback of a statement")?;
            }
        }
        Ok(())
    }

    /// One statement on one row.
    fn one_statement(
        &mut self,
        current: &mut Open,
        table: &Arc<Table>,
        name: &str,
        id: i64,
        before: &Option<Arc<ModelRow>>,
        wish: Option<Wish>,
    ) -> Result<Statement, StatementError> {
        let mut row = Row::new();
        let seen = workload::read(&mut current.trx, table, id, ReadMode::Consistent, &mut row)?;
        if current.seen.is_none() {
            current.seen = Some(self.model().clone());
        }
        if seen.as_ref() != before.as_deref() {
            return Err(StatementError::Wrong(format!(
                "{name}: row {id} reads as {:?}, ought to be {:?}",
                seen.map(|row| Brief(&row).to_string()),
                before.as_ref().map(|row| Brief(row).to_string())
            )));
        }
        let Some(before) = before else {
            if wish == Some(Wish::Delete) {
                return Ok(Statement::Unchanged);
            }
            let new = self.draw_row(id);
            let result = workload::insert(&mut current.trx, table, id, &new);
            return self.judge_name(result, current, name, id, new);
        };
        let choice = match wish {
            Some(Wish::Delete) => 2,
            Some(Wish::Present) => return Ok(Statement::Unchanged),
            None => self.random.below(8),
        };
        match choice {
            0 => Ok(Statement::Unchanged),
            // An insert of an existing row must fail, and leave nothing.
            1 => match workload::insert(&mut current.trx, table, id, before) {
                Err(Error::DuplicateKey { index: 0 }) => {
                    self.report.count("duplicate keys");
                    Ok(Statement::Refused)
                }
                Err(error) => Err(error.into()),
                Ok(()) => Err(StatementError::Wrong(format!("{name}: row {id} was inserted twice"))),
            },
            2 => {
                self.lock(current, table, id, &mut row)?;
                current.trx.delete(table, &row)?;
                Ok(Statement::Changed(None))
            }
            // Deleted and inserted again in one statement, as REPLACE does.
            3 => {
                self.lock(current, table, id, &mut row)?;
                current.trx.delete(table, &row)?;
                let new = self.draw_row(id);
                let result = workload::insert(&mut current.trx, table, id, &new);
                self.judge_name(result, current, name, id, new)
            }
            _ => {
                self.lock(current, table, id, &mut row)?;
                let mut new = (**before).clone();
                let drawn = self.draw_row(id);
                let mut columns = Vec::new();
                if self.random.chance(2) {
                    new.k = drawn.k;
                    columns.push(K);
                }
                if self.random.chance(3) {
                    new.name = drawn.name.clone();
                    columns.push(NAME);
                }
                if self.random.chance(2) {
                    new.body = drawn.body.clone();
                    columns.push(BODY);
                }
                let stored = workload::encoded(id, &new);
                let changes: Vec<(usize, Option<&[u8]>)> =
                    columns.into_iter().map(|column: usize| (column, stored[column].as_deref())).collect();
                let result = current.trx.update(table, &row, &changes);
                self.judge_name(result, current, name, id, Arc::new(new))
            }
        }
    }

    fn lock(&mut self, current: &mut Open, table: &Table, id: i64, row: &mut Row) -> Result<(), StatementError> {
        match workload::read(&mut current.trx, table, id, ReadMode::EXCLUSIVE, row)? {
            Some(_) => Ok(()),
            None => Err(StatementError::Wrong(format!("{}: row {id} is gone when it is to be locked", table.name))),
        }
    }

    /// Whether a change was rightly done, or rightly refused, given the names of other rows.
    fn judge_name(
        &mut self,
        result: Result<(), Error>,
        current: &Open,
        table: &str,
        id: i64,
        new: Arc<ModelRow>,
    ) -> Result<Statement, StatementError> {
        let now = self.newest(current);
        let owner = new.name.as_ref().and_then(|name| now.owner_of_name(table, name, id));
        match (result, owner) {
            (Ok(()), None) => Ok(Statement::Changed(Some(new))),
            (Ok(()), Some(owner)) => Err(StatementError::Wrong(format!(
                "{table}: row {id} took the name {:?}, which is that of row {owner}",
                new.name
            ))),
            (Err(Error::DuplicateKey { index: 2 }), Some(_)) => {
                self.report.count("duplicate names");
                Ok(Statement::Refused)
            }
            (Err(Error::DuplicateKey { index }), _) => Err(StatementError::Wrong(format!(
                "{table}: row {id} with name {:?} is a duplicate in index {index}, but nobody has that",
                new.name
            ))),
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// The intended new state of a row, rather than a random one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Present,
    Delete,
}
