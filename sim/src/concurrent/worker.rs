//! A worker: transactions, one after the other, statement by statement.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use storage::schema::{IfLocked, ReadMode, Row};
use storage::{Engine, Error, Interrupt, Isolation, Savepoint, Scheduler, Table, Trx, TrxOptions, XidClaim};

use super::turns::Turn;
use super::world::{Seen, World, part_of, with};
use crate::model::{Brief, Change, ModelRow, ModelTable};
use crate::run::End;
use crate::work::Scene;
use crate::workload::{self, BODY, DATABASE, K, NAME, Part};

pub struct Worker<'w, 'r> {
    slot: usize,
    world: &'w Mutex<World<'r>>,
    engine: Arc<Engine>,
    turn: Arc<Turn>,
    current: Option<Open>,
}

/// An open transaction.
struct Open {
    trx: Trx,
    /// The XID, if it is a branch of a distributed transaction.
    claim: Option<XidClaim>,
    snapshot_isolation: bool,
    changes: Vec<Change>,
    savepoints: Vec<(Savepoint, usize)>,
    /// What was committed when its read view was taken (REPEATABLE READ).
    seen: Option<Seen>,
    /// What its locking reads returned, to be checked again when it commits.
    reads: Vec<LockedRead>,
}

struct LockedRead {
    table: String,
    part: Part,
    /// The transaction's own changes at that time.
    changes: Vec<Change>,
    rows: BTreeMap<i64, Arc<ModelRow>>,
}

/// The result of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Refused: the statement must be rolled back.
    Undo,
    /// The transaction is gone.
    Over,
}

/// Why a statement was stopped.
enum Stop {
    Engine(Error),
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Engine(error)
    }
}

/// Tells the stage when the thread ends, however it ends.
struct Last(Arc<Turn>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<'w, 'r> Worker<'w, 'r> {
    pub fn new(slot: usize, world: &'w Mutex<World<'r>>, engine: Arc<Engine>, turn: Arc<Turn>) -> Worker<'w, 'r> {
        Worker { slot, world, engine, turn, current: None }
    }

    /// Works until the life is over.
    pub fn live(mut self) {
        let _last = Last(self.turn.clone());
        self.turn.begin();
        while self.world().next_operation() {
            if let Err(end) = self.operation() {
                self.world().set_end(end);
                break;
            }
            self.turn.pass();
        }
        if let Some(open) = self.current.take() {
            let commits = self.world().run.random.chance(2);
            let ended = if self.world().has_ended() { Ok(()) } else { self.finish(open, commits) };
            if let Err(end) = ended {
                self.world().set_end(end);
            }
        }
    }

    /// Held only between two calls of the engine, because those may yield.
    fn world(&self) -> MutexGuard<'w, World<'r>> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn below(&self, limit: u64) -> u64 {
        self.world().run.random.below(limit)
    }

    fn chance(&self, of: u64) -> bool {
        self.world().run.random.chance(of)
    }

    fn count(&self, what: impl Into<std::borrow::Cow<'static, str>>) {
        self.world().run.report.count(what);
    }

    fn say(&self, text: impl FnOnce() -> String) {
        self.world().run.say(|| format!("[{}] {}", self.slot, text()));
    }

    fn begin(&self) -> Open {
        let isolation = match self.below(10) {
            0 => Isolation::ReadUncommitted,
            1..=3 => Isolation::ReadCommitted,
            4..=6 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        };
        let snapshot_isolation = self.chance(3) && isolation == Isolation::RepeatableRead;
        self.say(|| format!("begin {isolation:?}{}", if snapshot_isolation { ", snapshot isolation" } else { "" }));
        let scheduler: Arc<dyn Scheduler> = self.turn.clone();
        let interrupt = Arc::new(Interrupt::scheduled(scheduler));
        let options = TrxOptions { isolation, interrupt, snapshot_isolation, ..TrxOptions::default() };
        let claim = if self.chance(6) { self.world().run.claim_xid(&self.engine) } else { None };
        let trx = match &claim {
            Some(claim) => claim.begin(options),
            None => self.engine.begin(options),
        };
        Open {
            trx,
            claim,
            snapshot_isolation,
            changes: Vec::new(),
            savepoints: Vec::new(),
            seen: None,
            reads: Vec::new(),
        }
    }

    fn operation(&mut self) -> Result<(), End> {
        if self.chance(30) {
            return self.world().end_branch(&self.engine).map(|_| ());
        }
        if self.current.is_none() && self.chance(12) {
            let name = format!("c{}", self.below(super::TABLES as u64));
            if self.chance(2) {
                return self.build(&name);
            }
            return self.world().ddl(&self.engine, &name);
        }
        let mut open = self.current.take().unwrap_or_else(|| self.begin());
        let outcome = match self.below(30) {
            0..=3 => return self.finish(open, true),
            4 => return self.finish(open, false),
            5 => {
                open.savepoints.push((open.trx.savepoint(), open.changes.len()));
                Outcome::Done
            }
            6 => self.back_to_savepoint(&mut open)?,
            _ => self.statement(&mut open)?,
        };
        if outcome != Outcome::Over {
            self.current = Some(open);
        }
        Ok(())
    }

    /// An index is built, or the table written anew, while the others work with it.
    fn build(&self, name: &str) -> Result<(), End> {
        let rebuilds = self.chance(2);
        {
            let mut world = self.world();
            let is_possible = match world.run.model().tables.get(name) {
                Some(table) => rebuilds || !table.has_body_index,
                None => false,
            };
            if !is_possible || world.building.contains_key(name) {
                return Ok(());
            }
            world.building.insert(name.into(), self.slot);
        }
        let what = if rebuilds { "rebuild" } else { "index build" };
        self.say(|| format!("{what} of {name}"));
        self.aim(what, 6, 60);
        let scheduler: Arc<dyn Scheduler> = self.turn.clone();
        let wait = TrxOptions { interrupt: Arc::new(Interrupt::scheduled(scheduler)), ..TrxOptions::default() };
        let built = match rebuilds {
            true => self.engine.rebuild_table(DATABASE, name, |_| (), &wait).map(drop),
            false => self.engine.create_index(DATABASE, name, workload::body_index(), &wait).map(drop),
        };
        let mut world = self.world();
        world.building.remove(name);
        let mut after = world.run.model().clone();
        if let Some(table) = after.table_mut(name) {
            table.has_body_index |= !rebuilds;
        }
        let is_built = built.is_ok();
        world.run.finish(&format!("{what} of {name}"), built, after, &mut Scene::default(), &[])?;
        if is_built {
            let what = if rebuilds { "tables written anew beside others" } else { "indexes built beside others" };
            world.run.report.count(what);
            let after = world.run.model().clone();
            world.replaced(name, after);
        }
        Ok(())
    }

    /// COMMIT or ROLLBACK.
    fn finish(&self, open: Open, commits: bool) -> Result<(), End> {
        let Open { trx, claim, changes, reads, .. } = open;
        if !commits {
            self.say(|| format!("rollback of {} changes", changes.len()));
            self.aim("rollback", 8, 20);
            let rolled_back = trx.rollback();
            let mut world = self.world();
            world.run.report.count("rollbacks");
            return world.run.insist(rolled_back, "rollback");
        }
        for read in reads {
            let now = part_of(&self.world().newest(&read.changes), &read.table, read.part);
            let then = ModelTable { rows: read.rows, has_body_index: now.has_body_index };
            if let Some(difference) = now.difference(&then) {
                let what = format!("what was locked by reading {} {:?} has changed", read.table, read.part);
                return Err(End::Failure(format!("[{}] {what} before the commit: {difference}", self.slot)));
            }
            self.count("locked reads true at commit");
        }
        if let Some(claim) = claim.filter(|_| trx.has_changes() && self.chance(2)) {
            return self.prepare(trx, claim, changes);
        }
        self.say(|| format!("commit of {} changes", changes.len()));
        self.world().run.doing = "commit";
        // No other worker runs from the last check to here, unless the commit fails and is rolled back.
        let committed = trx.commit();
        let mut world = self.world();
        let after = world.run.note_commit(committed, &changes)?;
        world.committed(&changes, after);
        Ok(())
    }

    fn prepare(&self, trx: Trx, claim: XidClaim, changes: Vec<Change>) -> Result<(), End> {
        let xid = claim.xid().to_sql();
        self.say(|| format!("prepare {xid}, {} changes", changes.len()));
        self.aim("prepare", 8, 10);
        // A failed prepare is rolled back in there, yielding in between.
        let prepared = trx.prepare(claim, false);
        self.world().run.note_prepare(prepared, xid, changes)
    }

    fn aim(&self, doing: &'static str, of: u64, within: u64) {
        let mut world = self.world();
        world.run.doing = doing;
        world.run.aim_crash(of, within);
    }

    fn back_to_savepoint(&self, open: &mut Open) -> Result<Outcome, End> {
        if open.savepoints.is_empty() {
            return Ok(Outcome::Done);
        }
        let at = self.below(open.savepoints.len() as u64) as usize;
        let (savepoint, changes) = open.savepoints[at];
        open.savepoints.truncate(at + 1);
        self.say(|| format!("back to a savepoint, {} changes undone", open.changes.len() - changes));
        self.aim("rollback to a savepoint", 8, 20);
        self.count("rollbacks to savepoints");
        self.undo(open, savepoint, changes)
    }

    fn undo(&self, open: &mut Open, savepoint: Savepoint, changes: usize) -> Result<Outcome, End> {
        let undone = open.trx.rollback_to(savepoint);
        open.changes.truncate(changes);
        match self.world().run.insist(undone, "rollback of a part") {
            Ok(()) => Ok(Outcome::Done),
            Err(end) => Err(end),
        }
    }

    /// One statement, with its rollback if it fails.
    fn statement(&self, open: &mut Open) -> Result<Outcome, End> {
        self.world().run.doing = "statement";
        let name = format!("c{}", self.below(super::TABLES as u64));
        let (savepoint, changes) = (open.trx.statement_begin(), open.changes.len());
        let opened = open.trx.open_table(DATABASE, &name);
        if matches!(opened, Err(Error::TableChanged)) && self.world().was_replaced(&name) {
            self.count("tables changed under a read view");
            return Ok(Outcome::Done);
        }
        let Some(table) = self.world().run.judge_read(opened, "open table")? else { return Ok(Outcome::Done) };
        let was_seen = open.seen.is_some();
        let done = match self.below(12) {
            0 | 1 => self.consistent_scan(open, &name, &table),
            2 | 3 => self.locking_scan(open, &name, &table),
            4 => self.range_update(open, &name, &table),
            5 => self.blind_insert(open, &name, &table),
            _ => self.change_one(open, &name, &table),
        };
        let error = match done {
            Ok(Outcome::Undo) => return self.undo(open, savepoint, changes),
            Ok(outcome) => return Ok(outcome),
            Err(Stop::Wrong(what)) => return Err(End::Failure(format!("[{}] {what}", self.slot))),
            Err(Stop::Engine(error)) => error,
        };
        self.say(|| format!("{name}: {error}"));
        match error {
            Error::Deadlock => {
                self.count("deadlocks");
                return Ok(Outcome::Over);
            }
            Error::RecordChanged => {
                let since = open.seen.as_ref().map(|seen| seen.commit);
                if !since.is_some_and(|since| self.world().changed_since(&name, None, since)) {
                    let what = "a row was refused that nobody has changed since the snapshot";
                    return Err(End::Failure(format!("[{}] {name}: {what}", self.slot)));
                }
                self.count("rows refused by snapshot isolation");
                return Ok(Outcome::Over);
            }
            Error::RowIsLocked => self.count("rows found locked"),
            error => match self.world().run.judge(Err::<(), _>(error), "statement") {
                Ok(_) => {}
                Err(end) => return Err(end),
            },
        }
        let undone = self.undo(open, savepoint, changes)?;
        if open.seen.is_some() != was_seen {
            // It is unknown whether the engine has taken its view.
            open.seen = None;
            return Ok(Outcome::Over);
        }
        Ok(undone)
    }

    /// What a consistent read must see; called right before it. Reading nothing takes no view.
    fn visible(&self, open: &mut Open, part: Part) -> crate::model::Model {
        let now = self.world().now();
        match open.trx.isolation() {
            Isolation::RepeatableRead => {
                if open.seen.is_none() && (!matches!(part, Part::All) || self.chance(3)) {
                    open.trx.take_snapshot();
                }
                with(&open.seen.get_or_insert(now).model, &open.changes)
            }
            _ => with(&now.model, &open.changes),
        }
    }

    fn draw_part(&self) -> (usize, Part) {
        let mut world = self.world();
        let ids = world.run.ids;
        let run = &mut world.run;
        match run.random.below(4) {
            0 => (run.random.below(2) as usize, Part::All),
            1 | 2 => (0, Part::Ids(run.draw_bound(0, ids), run.draw_bound(0, ids))),
            _ => (1, Part::Ks(run.draw_bound(-26, 52), run.draw_bound(-26, 52))),
        }
    }

    fn scan(
        &self,
        open: &mut Open,
        table: &Arc<Table>,
        (index, part): (usize, Part),
        mode: ReadMode,
    ) -> Result<ModelTable, Stop> {
        let reverse = self.chance(3);
        let pauses = self.chance(2);
        let between = || {
            if pauses {
                self.turn.pass();
            }
        };
        Ok(workload::scan_pausing(&mut open.trx, table, index, part, mode, reverse, &between)?)
    }

    fn consistent_scan(&self, open: &mut Open, name: &str, table: &Arc<Table>) -> Result<Outcome, Stop> {
        let (index, part) = self.draw_part();
        match open.trx.isolation() {
            Isolation::Serializable => return self.locking_scan(open, name, table),
            Isolation::ReadUncommitted => {
                // A read may see any row that another transaction is changing, so only the scan itself is checked.
                let part = if index == 0 { part } else { Part::All };
                self.scan(open, table, (0, part), ReadMode::Consistent)?;
                self.count("dirty scans");
                return Ok(Outcome::Done);
            }
            _ => {}
        }
        self.say(|| format!("{name}: read {part:?} over index {index}"));
        let ought = part_of(&self.visible(open, part), name, part);
        let mut seen = self.scan(open, table, (index, part), ReadMode::Consistent)?;
        seen.has_body_index = ought.has_body_index;
        self.count(format!("scans {:?}", open.trx.isolation()));
        match ought.difference(&seen) {
            None => Ok(Outcome::Done),
            Some(difference) => Err(Stop::Wrong(format!(
                "a consistent scan of {name} over index {index}, {part:?}, in {:?}: {difference}",
                open.trx.isolation()
            ))),
        }
    }

    /// A locking read of a range: all of it, or what no other transaction has locked.
    fn locking_scan(&self, open: &mut Open, name: &str, table: &Arc<Table>) -> Result<Outcome, Stop> {
        let if_locked = match self.below(8) {
            0 => IfLocked::Skip,
            1 => IfLocked::Fail,
            _ => IfLocked::Wait,
        };
        let mode = match open.trx.isolation() {
            Isolation::Serializable if self.chance(2) => ReadMode::Consistent,
            _ if self.chance(2) => ReadMode::Shared(if_locked),
            _ => ReadMode::Exclusive(if_locked),
        };
        self.lock_range(open, name, table, mode).map(|_| Outcome::Done)
    }

    fn lock_range(&self, open: &mut Open, name: &str, table: &Arc<Table>, mode: ReadMode) -> Result<ModelTable, Stop> {
        let (index, part) = self.draw_part();
        let since = self.world().commit();
        self.say(|| format!("{name}: lock {part:?} over index {index}, {mode:?}"));
        let mut seen = self.scan(open, table, (index, part), mode)?;
        let world = self.world();
        let newest = part_of(&world.newest(&open.changes), name, part);
        seen.has_body_index = newest.has_body_index;
        let wrong = |what: &str| {
            Stop::Wrong(format!(
                "a scan {mode:?} of {name} over index {index}, {part:?}, in {:?}: {what}",
                open.trx.isolation()
            ))
        };
        for (id, row) in &seen.rows {
            if newest.rows.get(id) != Some(row) {
                let now = newest.rows.get(id).map(|row| Brief(row).to_string());
                return Err(wrong(&format!("row {id} was locked as {}, is {now:?}", Brief(row))));
            }
            self.was_not_overtaken(&world, open, name, *id).map_err(|what| wrong(&what))?;
        }
        let skips = matches!(mode, ReadMode::Shared(IfLocked::Skip) | ReadMode::Exclusive(IfLocked::Skip));
        let whole = open.trx.isolation() >= Isolation::RepeatableRead;
        if !skips {
            let ought = if whole { newest } else { world.steady(name, part, since, &open.changes) };
            if let Some(id) = ought.rows.keys().find(|id| !seen.rows.contains_key(id)) {
                return Err(wrong(&format!("row {id} was overlooked")));
            }
        }
        drop(world);
        if whole && !skips {
            open.remember(name, part, seen.rows.clone());
        }
        self.count(format!("locking scans {:?}", open.trx.isolation()));
        Ok(seen)
    }

    /// Snapshot isolation locks no row that was changed since the snapshot.
    fn was_not_overtaken(&self, world: &World<'_>, open: &Open, name: &str, id: i64) -> Result<(), String> {
        let own = open.changes.iter().any(|change| change.table == name && change.id == id);
        match &open.seen {
            Some(seen) if open.snapshot_isolation && !own && world.changed_since(name, Some(id), seen.commit) => {
                Err(format!("row {id} was locked in spite of a change since the snapshot"))
            }
            _ => Ok(()),
        }
    }

    /// UPDATE of a range: every row of it gets another `k`.
    fn range_update(&self, open: &mut Open, name: &str, table: &Arc<Table>) -> Result<Outcome, Stop> {
        let rows = self.lock_range(open, name, table, ReadMode::EXCLUSIVE)?.rows;
        let mut buffer = Row::new();
        for (id, row) in rows {
            let found = workload::read(&mut open.trx, table, id, ReadMode::EXCLUSIVE, &mut buffer)?;
            if found.as_ref() != Some(&*row) {
                return Err(Stop::Wrong(format!("{name}: row {id} is another after it was locked")));
            }
            let new = ModelRow { k: self.below(50) as i32 - 25, ..(*row).clone() };
            let stored = workload::encoded(id, &new);
            open.trx.update(table, &buffer, &[(K, stored[K].as_deref())])?;
            if new == *row {
                continue; // No new version of it.
            }
            open.changes.push(Change { table: name.into(), id, row: Some(Arc::new(new)) });
        }
        self.count("updates of ranges");
        Ok(Outcome::Done)
    }

    /// An insert that does not look first.
    fn blind_insert(&self, open: &mut Open, name: &str, table: &Arc<Table>) -> Result<Outcome, Stop> {
        let (id, new) = {
            let mut world = self.world();
            let ids = world.run.ids;
            let id = world.run.random.below(ids) as i64;
            (id, world.run.draw_row(id))
        };
        self.say(|| format!("{name}: insert {id} {}", Brief(&new)));
        let inserted = workload::insert(&mut open.trx, table, id, &new);
        self.judge_insert(inserted, open, name, id, new)
    }

    /// Whether an insert was rightly done, or rightly refused.
    fn judge_insert(
        &self,
        inserted: Result<(), Error>,
        open: &mut Open,
        name: &str,
        id: i64,
        new: Arc<ModelRow>,
    ) -> Result<Outcome, Stop> {
        let there = self.world().newest(&open.changes).tables[name].rows.contains_key(&id);
        match inserted {
            Err(Error::DuplicateKey { index: 0 }) if there => {
                self.count("duplicate keys");
                Ok(Outcome::Undo)
            }
            Err(Error::DuplicateKey { index: 0 }) => {
                Err(Stop::Wrong(format!("{name}: row {id} is a duplicate of nothing")))
            }
            Ok(()) if there => Err(Stop::Wrong(format!("{name}: row {id} was inserted twice"))),
            other => self.judge_name(other, open, name, id, new),
        }
    }

    /// SELECT ... FOR UPDATE of one row, and the change that follows.
    fn change_one(&self, open: &mut Open, name: &str, table: &Arc<Table>) -> Result<Outcome, Stop> {
        let id = {
            let mut world = self.world();
            let ids = world.run.ids;
            world.run.random.below(ids) as i64
        };
        let mode = if self.chance(8) { ReadMode::Exclusive(IfLocked::Fail) } else { ReadMode::EXCLUSIVE };
        let mut row = Row::new();
        let found = workload::read(&mut open.trx, table, id, mode, &mut row)?;
        let before = {
            let world = self.world();
            let newest = world.newest(&open.changes).tables[name].rows.get(&id).cloned();
            if found.as_ref() != newest.as_deref() {
                return Err(Stop::Wrong(format!(
                    "{name}: row {id} was locked as {:?}, ought to be {:?}",
                    found.map(|row| Brief(&row).to_string()),
                    newest.map(|row| Brief(&row).to_string())
                )));
            }
            if newest.is_some() {
                self.was_not_overtaken(&world, open, name, id).map_err(Stop::Wrong)?;
            }
            newest
        };
        let part = Part::Ids(Bound::Included(id), Bound::Included(id));
        if open.trx.isolation() >= Isolation::RepeatableRead {
            open.remember(name, part, before.iter().map(|row| (id, row.clone())).collect());
        }
        if self.chance(2) {
            self.turn.pass();
        }
        let new = self.world().run.draw_row(id);
        let (what, result, after) = match (&before, self.below(8)) {
            (_, 0) => return Ok(Outcome::Done),
            // Without a gap lock another transaction may have inserted it first.
            (None, _) => {
                self.say(|| format!("{name}: insert {id} {}", Brief(&new)));
                let inserted = workload::insert(&mut open.trx, table, id, &new);
                return self.judge_insert(inserted, open, name, id, new);
            }
            (Some(_), 1 | 2) => ("delete", open.trx.delete(table, &row), None),
            // Deleted and inserted again in one statement, as REPLACE does.
            (Some(_), 3) => {
                open.trx.delete(table, &row)?;
                ("replace", workload::insert(&mut open.trx, table, id, &new), Some(new))
            }
            (Some(before), _) => {
                let mut after = (**before).clone();
                let mut columns = Vec::new();
                if self.chance(2) {
                    after.k = new.k;
                    columns.push(K);
                }
                if self.chance(3) {
                    after.name = new.name.clone();
                    columns.push(NAME);
                }
                if self.chance(3) {
                    after.body = new.body.clone();
                    columns.push(BODY);
                }
                let stored = workload::encoded(id, &after);
                let changes: Vec<(usize, Option<&[u8]>)> =
                    columns.into_iter().map(|column: usize| (column, stored[column].as_deref())).collect();
                let updated = open.trx.update(table, &row, &changes);
                if after == **before {
                    // No new version of it: a snapshot read does not see it as the transaction's own.
                    updated?;
                    return Ok(Outcome::Done);
                }
                ("update", updated, Some(Arc::new(after)))
            }
        };
        self.say(|| format!("{name}: {what} {id} {:?}", after.as_ref().map(|row| Brief(row).to_string())));
        match after {
            Some(after) => self.judge_name(result, open, name, id, after),
            None => {
                result?;
                open.changes.push(Change { table: name.into(), id, row: None });
                Ok(Outcome::Done)
            }
        }
    }

    /// Whether a change was rightly done, or rightly refused, given the names of other rows.
    fn judge_name(
        &self,
        result: Result<(), Error>,
        open: &mut Open,
        name: &str,
        id: i64,
        new: Arc<ModelRow>,
    ) -> Result<Outcome, Stop> {
        let owner = {
            let now = self.world().newest(&open.changes);
            new.name.as_ref().and_then(|word| now.owner_of_name(name, word, id))
        };
        match (result, owner) {
            (Ok(()), None) => {
                open.changes.push(Change { table: name.into(), id, row: Some(new) });
                self.count("changes");
                Ok(Outcome::Done)
            }
            (Ok(()), Some(owner)) => {
                let what = format!("row {id} took the name {:?}, which is that of row {owner}", new.name);
                Err(Stop::Wrong(format!("{name}: {what}")))
            }
            (Err(Error::DuplicateKey { index: 2 }), Some(_)) => {
                self.count("duplicate names");
                Ok(Outcome::Undo)
            }
            (Err(Error::DuplicateKey { index }), None) => {
                let what = format!("row {id} with name {:?} is a duplicate in index {index}", new.name);
                Err(Stop::Wrong(format!("{name}: {what}, but nobody has that")))
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

impl Open {
    fn remember(&mut self, table: &str, part: Part, rows: BTreeMap<i64, Arc<ModelRow>>) {
        self.reads.push(LockedRead { table: table.into(), part, changes: self.changes.clone(), rows });
    }
}
