//! The engine under a scheduler: several open transactions that want the same rows, in an order that the seed
//! determines exactly.
//!
//! Each worker is a thread with one transaction after the other, but only one thread runs at a time (see `turns`). A
//! thread yields between operations, where it waits for a lock, and inside of an operation between two
//! mini-transactions: after the clustered record and before each index, between two records that are undone. Purge,
//! page cleaners and the checkpoint take steps in between. Lives, crashes, recovery and what must hold after them are
//! those of `run`.
//!
//! Invariants, checked while it runs:
//!
//! * A consistent read in REPEATABLE READ sees what was committed at the transaction's first one, with its own changes;
//!   in READ COMMITTED, what was committed when the statement began.
//! * A locking read sees what is committed, with its own changes. In REPEATABLE READ and SERIALIZABLE every such read,
//!   of rows and of ranges, is still true when the transaction commits: no phantoms. So SERIALIZABLE transactions
//!   behave as if they had run one after the other, in the order of their commits.
//! * With snapshot isolation no row is locked that was changed since the snapshot, and none is refused without that.
//! * A unique key is refused if, and only if, another row has it.
//! * Some worker can always continue: deadlocks are found, and a worker that may continue is woken.
//!
//! Branches of distributed transactions are prepared, and ended by other workers, also in later lives; DDL runs in
//! between (`others`).
//!
//! Not here: foreign keys (`family`), and latches, which no thread holds when another one runs (`threads` has these).

mod others;
mod turns;
mod worker;
mod world;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use storage::Engine;

use crate::Talk;
use crate::model::{Change, ModelTable};
use crate::report::Report;
use crate::run::{self, End, Run};
use crate::threads::message;
use crate::workload::{self, DATABASE};
use turns::{Round, Stage};
use worker::Worker;
use world::World;

const TABLES: usize = 2;

/// Runs one seed.
pub fn seed(seed: u64, talk: Talk) -> Result<Report, String> {
    run::play(seed, talk, work)
}

/// One life's work.
fn work(run: &mut Run, engine: &Arc<Engine>) -> Result<(), End> {
    prepare(run, engine)?;
    let workers = 2 + run.random.below(5) as usize;
    let operations = 20 + run.random.below(400);
    // Few ids make for conflicts, many for pages that split and merge.
    run.ids = [4, 12, 60][run.random.below(3) as usize];
    let patience = [0, 200, 20][run.random.below(3) as usize];
    let world = Mutex::new(World::new(run, operations));
    let failed = thread::scope(|scope| {
        let (mut stage, turns) = Stage::new(workers);
        let threads: Vec<_> = turns
            .into_iter()
            .enumerate()
            .map(|(slot, turn)| {
                let world = &world;
                scope.spawn(move || Worker::new(slot, world, engine.clone(), turn).live())
            })
            .collect();
        let directed = direct(&mut stage, &world, engine, patience);
        if directed.as_ref().is_err_and(|what| what.contains("hangs")) {
            // A thread that hangs cannot be joined; a debugger can examine it.
            println!("{directed:?}: process {}", std::process::id());
            thread::sleep(std::time::Duration::from_secs(600));
            std::process::abort();
        }
        drop(stage);
        let panicked = threads.into_iter().filter_map(|thread| thread.join().err()).next();
        match panicked {
            Some(cause) => Some(format!("a worker panicked: {}", message(&*cause))),
            None => directed.err(),
        }
    });
    let end = world.into_inner().unwrap_or_else(PoisonError::into_inner).into_end();
    match (failed, end) {
        (Some(what), _) => Err(End::Failure(what)),
        (None, Some(end)) => Err(end),
        (None, None) => Ok(()),
    }
}

/// Twice as many as there may be transactions to be rolled back.
const ROUNDS_OF_HELP: u32 = 12;

/// Lets the workers run, and the background between them, until all are done.
fn direct(stage: &mut Stage, world: &Mutex<World<'_>>, engine: &Arc<Engine>, patience: u64) -> Result<(), String> {
    let lock = || world.lock().map_err(|_| "a worker panicked".to_string());
    let mut helped = 0;
    let mut moved = 0;
    loop {
        let (background, impatient) = {
            let mut world = lock()?;
            let random = &mut world.run.random;
            (random.chance(25), patience > 0 && random.chance(patience))
        };
        if background {
            step(world, engine)?;
            stage.stir();
        }
        let waiting = stage.waiting();
        if impatient && !waiting.is_empty() {
            let slot = waiting[lock()?.run.random.below(waiting.len() as u64) as usize];
            stage.time_out(slot)?;
        }
        let draw = lock()?.run.random.next();
        match stage.round(draw)? {
            Round::AllDone => return Ok(()),
            Round::Went if stage.moved() != moved => {
                moved = stage.moved();
                helped = 0;
            }
            Round::Went => {}
            Round::Stuck if lock()?.has_ended() => {
                for slot in stage.waiting() {
                    stage.time_out(slot)?;
                }
            }
            // Background rollbacks may hold locks on rows, and each may be put off by a full disk or a failed read.
            Round::Stuck if helped < ROUNDS_OF_HELP => {
                helped += 1;
                if helped == 2 {
                    lock()?.run.make_room();
                }
                while step(world, engine)? {}
                stage.stir();
            }
            // So may a prepared branch that waits to be ended.
            Round::Stuck if others::end_branches(world, engine) => {
                helped = 0;
                stage.stir();
            }
            // Rows and names are not searched for cycles together: the end of a build waits for transactions that wait for a row
            // of one that waits for the name.
            Round::Stuck if builder(&*lock()?, &stage.waiting()).is_some() => {
                let slot = builder(&*lock()?, &stage.waiting());
                stage.time_out(slot.expect("looked at before"))?;
            }
            Round::Stuck => {
                let waiting = stage.waiting();
                let held = engine.lock_dump();
                let tables =
                    held.tables.iter().map(|lock| format!("{:?} {} {:?}", lock.trx, lock.table.name, lock.mode));
                let waits = held.records.iter().filter(|record| record.lock.waiting);
                let records = waits.map(|record| format!("{:?}", record.lock));
                let held = held
                    .transactions
                    .iter()
                    .map(|trx| format!("{trx:?}"))
                    .chain(tables)
                    .chain(records)
                    .collect::<Vec<_>>()
                    .join("\n");
                let what = format!("nobody can go on: {waiting:?} wait, and are not wakened; locks:\n{held}");
                return Err(fail(world, what));
            }
        }
    }
}

/// A worker that builds an index or writes a table anew, and waits for the others.
fn builder(world: &World<'_>, waiting: &[usize]) -> Option<usize> {
    world.building.values().copied().find(|slot| waiting.contains(slot))
}

/// Notes a failure of the stage, so that the workers end.
fn fail(world: &Mutex<World<'_>>, what: String) -> String {
    world.lock().unwrap_or_else(PoisonError::into_inner).set_end(End::Failure(what.clone()));
    what
}

/// A step of the background work. True if there was something to do.
fn step(world: &Mutex<World<'_>>, engine: &Arc<Engine>) -> Result<bool, String> {
    let stepped = engine.step();
    let mut world = world.lock().map_err(|_| "a worker panicked".to_string())?;
    world.run.doing = "background work";
    match world.run.judge(stepped, "background work") {
        Ok(more) => Ok(more == Some(true)),
        Err(end) => {
            world.set_end(end);
            Ok(false)
        }
    }
}

/// Tables to work on, with some rows: the first life makes them.
fn prepare(run: &mut Run, engine: &Arc<Engine>) -> Result<(), End> {
    run.doing = "preparation";
    while run.model().tables.len() < TABLES {
        let name = format!("c{}", run.model().tables.len());
        let codec = run.codec();
        let mut after = run.model().clone();
        after.tables.insert(name.clone(), Arc::new(ModelTable::default()));
        let created = engine.create_table(workload::definition(&name, codec), &run.options());
        match run.judge(created, "create table") {
            Ok(Some(_)) => run.set_model(after),
            Ok(None) => return Err(End::GivenUp),
            Err(end) => {
                run.allowed.push(after);
                return Err(end);
            }
        }
        // DDL waits for the log whatever commits do.
        run.forget_past();
        let mut trx = engine.begin(run.options());
        let table = trx.open_table(DATABASE, &name);
        let Some(table) = run.judge_read(table, "open table")? else { return Err(End::GivenUp) };
        let mut changes = Vec::new();
        for id in 0..run.random.below(40) as i64 {
            let row = run.draw_row(id);
            let inserted = workload::insert(&mut trx, &table, id, &row);
            if let Err(storage::Error::DuplicateKey { index: 2 }) = inserted {
                continue;
            }
            if run.judge(inserted, "insert")?.is_none() {
                return Err(End::GivenUp);
            }
            changes.push(Change { table: name.clone(), id, row: Some(row) });
        }
        run.commit_changes(trx, &changes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_is_the_same_run() {
        for number in [3, 17, 40] {
            let once = seed(number, Talk::Nothing).expect("a seed that passes").to_string();
            let again = seed(number, Talk::Nothing).expect("a seed that passes").to_string();
            assert_eq!(once, again, "seed {number}");
        }
    }

    #[test]
    fn transactions_meet_in_every_way() {
        let mut sum = Report::default();
        for number in 100..130 {
            sum.merge(&seed(number, Talk::Nothing).unwrap_or_else(|what| panic!("seed {number}: {what}")));
        }
        let sum = sum.to_string();
        for what in [
            "deadlocks",
            "lock waits",
            "locked reads true at commit",
            "rollbacks to savepoints",
            "duplicate keys",
            "prepared",
            "ddl",
            "indexes built beside others",
            "tables written anew beside others",
        ] {
            assert!(sum.contains(what), "no {what} in {sum}");
        }
    }
}
