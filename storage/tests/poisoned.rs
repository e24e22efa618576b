//! Once the instance is poisoned, a wait for a lock ends with that error: the holder may be unable to end. A statement
//! that gets the lock then answers the same.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row, TableDefinition, TableOptions,
    TrxOptions,
};

fn definition(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    }
}

fn patient() -> TrxOptions {
    let long = Duration::from_secs(100);
    TrxOptions { lock_wait_timeout: long, metadata_wait_timeout: long, ..TrxOptions::default() }
}

#[test]
fn every_wait_for_a_lock_ends() {
    let disk = SimDisk::new(1);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = Engine::open(Arc::new(disk), Config::tiny()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &patient()).unwrap();
    let table = engine.create_table(definition("t"), &patient()).unwrap();
    let mut holder = engine.begin(patient());
    assert!(Arc::ptr_eq(&holder.open_table("d", "t").unwrap(), &table));
    holder.insert(&table, &[Some(&[0; 4])]).unwrap();

    type Wait = fn(&Arc<Engine>) -> Result<()>;
    let lock_a_record: Wait = |engine| {
        let mut trx = engine.begin(patient());
        let table = trx.open_table("d", "t")?;
        trx.get(&table, 0, &[Some(&[0; 4])], ReadMode::EXCLUSIVE, &ColumnSet::first(1), &mut Row::new()).map(drop)
    };
    let lock_a_name: Wait = |engine| engine.truncate_table("d", "t", &patient()).map(drop);
    // The truncation has passed the backup lock and keeps backups waiting; those keep out other statements.
    let begin_a_backup: Wait = |engine| engine.hold_ddl(&patient()).map(drop);
    let create_a_table: Wait = |engine| engine.create_table(definition("u"), &patient()).map(drop);
    let (send, ended) = mpsc::channel();
    for wait in [lock_a_record, lock_a_name, begin_a_backup, create_a_table] {
        let (engine, send) = (engine.clone(), send.clone());
        std::thread::spawn(move || send.send(wait(&engine)).unwrap());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(ended.try_recv().is_err(), "a thread does not wait");
    let begin = Instant::now();
    engine.store().poison("a test");
    let mut poisoned = 0;
    for _ in 0..4 {
        // The last two may be granted what the truncation gives up.
        match ended.recv_timeout(Duration::from_secs(20)).expect("a waiter is not woken") {
            Err(Error::Poisoned) => poisoned += 1,
            waited => assert!(waited.is_ok(), "{waited:?}"),
        }
    }
    assert!(poisoned >= 2, "nobody has released the record and the name");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// The commit of a DDL statement cannot be made durable: its rows are changed and the cache is not. The next statement
/// on the table has waited for its name.
#[test]
fn a_statement_behind_a_failed_one_ends() {
    for at in 1..12 {
        let disk = SimDisk::new(at);
        Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
        let engine = Engine::open(Arc::new(disk.clone()), Config::tiny()).unwrap();
        engine.create_database("d", CollationId::DEFAULT, &patient()).unwrap();
        engine.create_table(definition("t"), &patient()).unwrap();
        let mut holder = engine.begin(patient());
        holder.open_table("d", "t").unwrap();
        let (send, ended) = mpsc::channel();
        let threads = ["one", "other"].map(|comment| {
            let (engine, send) = (engine.clone(), send.clone());
            std::thread::spawn(move || {
                let change = &mut |options: &mut TableOptions| options.comment = comment.into();
                let outcome = engine.alter_table_options("d", "t", &patient(), change).map(drop);
                send.send(outcome).unwrap();
            })
        });
        std::thread::sleep(Duration::from_millis(50));
        let failing = disk.syncs() + at;
        disk.set_faults(|faults| faults.failing_sync = Some(failing));
        holder.commit().unwrap();
        for _ in 0..2 {
            let outcome = ended.recv_timeout(Duration::from_secs(20)).expect("a statement panics, or hangs");
            assert!(matches!(outcome, Ok(()) | Err(Error::Poisoned | Error::Io { .. })), "{at}: {outcome:?}");
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
