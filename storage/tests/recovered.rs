//! Transactions that survive a crash: prepared ones, which wait, and open ones, which are undone while the engine
//! works.

use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use format::xid::Xid;
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Row, ScanRange, Table, TableDefinition, Trx,
    TrxOptions,
};

fn config() -> Config {
    Config { pool_bytes: 256 * 16384, log_bytes: 4 << 20, ..Config::tiny() }
}

fn number_column() -> ColumnType {
    ColumnType::Int { bytes: 4, unsigned: true }
}

/// An instance with a table of id and v, v unique, and the rows 0 to 9.
fn create(disk: &SimDisk) -> (Arc<Engine>, Arc<Table>) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(disk.clone(), &config()).unwrap();
    let engine = Engine::open(disk, config()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![Column::new("id", number_column(), false), Column::new("v", number_column(), true)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("v", true, &[1])],
        ..TableDefinition::default()
    };
    let table = engine.create_table(definition, &TrxOptions::patient()).unwrap();
    let mut trx = engine.begin(at_once());
    for id in 0..10 {
        insert(&mut trx, &table, id, 100 + id).unwrap();
    }
    trx.commit().unwrap();
    (engine, table)
}

fn open(disk: &SimDisk) -> (Arc<Engine>, Arc<Table>) {
    let engine = Engine::open(Arc::new(disk.clone()), config()).unwrap();
    let table = engine.table("d", "t").unwrap();
    (engine, table)
}

/// A statement that would have to wait gets an error.
fn at_once() -> TrxOptions {
    TrxOptions { lock_wait_timeout: Duration::ZERO, metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() }
}

fn patiently() -> TrxOptions {
    let long = Duration::from_secs(60);
    TrxOptions { lock_wait_timeout: long, metadata_wait_timeout: long, ..TrxOptions::default() }
}

fn xid(name: &str) -> Xid {
    Xid::new(7, name.as_bytes(), b"branch").unwrap()
}

fn insert(trx: &mut Trx, table: &Table, id: u32, v: u32) -> storage::Result<()> {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&v.to_be_bytes())])
}

fn find(trx: &mut Trx, table: &Table, id: u32, mode: ReadMode) -> storage::Result<Option<Row>> {
    let mut row = Row::new();
    let found = trx.get(table, 0, &[Some(&id.to_be_bytes())], mode, &ColumnSet::first(2), &mut row)?;
    Ok(found.then_some(row))
}

fn update(trx: &mut Trx, table: &Table, id: u32, v: u32) -> storage::Result<()> {
    let row = find(trx, table, id, ReadMode::EXCLUSIVE)?.expect("the row is there");
    trx.update(table, &row, &[(1, Some(&v.to_be_bytes()))])
}

fn delete(trx: &mut Trx, table: &Table, id: u32) -> storage::Result<()> {
    let row = find(trx, table, id, ReadMode::EXCLUSIVE)?.expect("the row is there");
    trx.delete(table, &row)
}

fn number(row: &Row, column: usize) -> u32 {
    u32::from_be_bytes(row.get(column).unwrap().try_into().unwrap())
}

/// The rows, the same by both indexes.
fn contents(engine: &Arc<Engine>, table: &Arc<Table>) -> Vec<(u32, u32)> {
    let mut trx = engine.begin(at_once());
    let [by_id, by_v] = [0, 1].map(|index| {
        let mut cursor = trx.cursor(table, index, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
        let (mut row, mut rows) = (Row::new(), Vec::new());
        while cursor.next(&mut trx, &mut row).unwrap() {
            rows.push((number(&row, 0), number(&row, 1)));
        }
        rows.sort_unstable();
        rows
    });
    assert_eq!(by_id, by_v);
    by_id
}

fn first_rows() -> Vec<(u32, u32)> {
    (0..10).map(|id| (id, 100 + id)).collect()
}

/// Row 1 gets another value, row 2 is deleted, row 20 is inserted.
fn change(trx: &mut Trx, table: &Table) {
    update(trx, table, 1, 201).unwrap();
    delete(trx, table, 2).unwrap();
    insert(trx, table, 20, 220).unwrap();
}

fn changed_rows() -> Vec<(u32, u32)> {
    let mut rows = first_rows();
    rows[1].1 = 201;
    rows.remove(2);
    rows.push((20, 220));
    rows
}

fn prepare(engine: &Arc<Engine>, table: &Table, name: &str) {
    let claim = engine.claim_xid(xid(name)).unwrap();
    let mut trx = claim.begin(at_once());
    let table = trx.open_table("d", &table.name).unwrap();
    change(&mut trx, &table);
    trx.prepare(claim, false).unwrap();
}

/// No session sees what `change` did, none can change it, and none can use its keys.
fn assert_locked(engine: &Arc<Engine>, table: &Arc<Table>) {
    assert_eq!(contents(engine, table), first_rows());
    let refused = |attempt: &dyn Fn(&mut Trx) -> storage::Result<()>| {
        let mut trx = engine.begin(at_once());
        let outcome = attempt(&mut trx);
        assert!(matches!(outcome, Err(Error::LockWaitTimeout)), "{outcome:?}");
    };
    refused(&|trx| update(trx, table, 1, 5));
    refused(&|trx| delete(trx, table, 2));
    refused(&|trx| insert(trx, table, 2, 5));
    refused(&|trx| insert(trx, table, 20, 5));
    // By the unique index alone: the new value of row 1, the old one, that of the deleted row, that of the new one.
    for v in [201, 101, 102, 220] {
        refused(&|trx| insert(trx, table, 30, v));
    }
    let outcome = engine.truncate_table("d", "t", &at_once());
    assert!(matches!(outcome, Err(Error::LockWaitTimeout)), "{outcome:?}");
    let mut other = engine.begin(at_once());
    update(&mut other, table, 3, 303).unwrap();
    other.rollback().unwrap();
}

fn assert_clean(engine: &Engine) {
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

#[test]
fn a_prepared_transaction_waits_over_crashes_with_its_rows_locked() {
    for commits in [true, false] {
        let disk = SimDisk::new(1);
        let (engine, table) = create(&disk);
        prepare(&engine, &table, "p");
        assert_locked(&engine, &table);
        let mut disk = disk.crash();
        drop(engine);
        for _ in 0..2 {
            let (engine, table) = open(&disk);
            assert_eq!(engine.recovery_report().transactions_prepared, 1);
            while engine.step().unwrap() {}
            assert_eq!(engine.prepared(), [xid("p")]);
            assert_eq!(engine.prepared()[0].format(), 7);
            assert_locked(&engine, &table);
            assert_clean(&engine);
            disk = disk.crash();
        }
        // A clean close keeps it, too.
        let (engine, _) = open(&disk);
        engine.close().unwrap();
        drop(engine);
        let (engine, table) = open(&disk);
        assert!(engine.recovery_report().was_clean());
        assert_locked(&engine, &table);
        let expected = match commits {
            true => {
                assert!(engine.commit_prepared(&xid("p"), false).unwrap());
                changed_rows()
            }
            false => {
                assert!(engine.rollback_prepared(&xid("p"), false).unwrap());
                first_rows()
            }
        };
        assert!(engine.prepared().is_empty());
        assert_eq!(contents(&engine, &table), expected);
        let disk = disk.crash();
        drop(engine);
        let (engine, table) = open(&disk);
        assert!(engine.prepared().is_empty());
        assert_eq!(engine.recovery_report().transactions_prepared, 0);
        while engine.step().unwrap() {}
        assert_eq!(contents(&engine, &table), expected);
        let mut trx = engine.begin(at_once());
        update(&mut trx, &table, 1, 5).unwrap();
        trx.commit().unwrap();
        assert_clean(&engine);
    }
}

/// At every change of the disk in turn: the branch is prepared or gone, committed or still prepared, gone or still
/// prepared.
#[test]
fn a_crash_leaves_a_branch_in_one_of_two_states() {
    #[derive(Clone, Copy, Debug)]
    enum Call {
        Prepare,
        Commit,
        Rollback,
    }
    for call in [Call::Prepare, Call::Commit, Call::Rollback] {
        let mut seen = [0; 2];
        // What of the unsynced writes a crash keeps is drawn from the seed.
        for seed in 0..24 {
            let crash_after = seed % 3;
            let disk = SimDisk::new(seed);
            let (engine, table) = create(&disk);
            let claim = engine.claim_xid(xid("p")).unwrap();
            let mut trx = claim.begin(at_once());
            change(&mut trx, &table);
            let mut before = Some((trx, claim));
            if !matches!(call, Call::Prepare) {
                let (trx, claim) = before.take().unwrap();
                trx.prepare(claim, false).unwrap();
            }
            let at = disk.changes() + 1 + crash_after;
            disk.set_faults(|faults| faults.crash_at = Some(at));
            let _ = match call {
                Call::Prepare => {
                    let (trx, claim) = before.take().unwrap();
                    trx.prepare(claim, false).map(|()| true)
                }
                Call::Commit => engine.commit_prepared(&xid("p"), false),
                Call::Rollback => engine.rollback_prepared(&xid("p"), false),
            };
            let survived = !disk.is_crashed();
            let disk = disk.crash();
            drop(engine);
            let (engine, table) = open(&disk);
            let prepared = engine.prepared() == [xid("p")];
            seen[usize::from(prepared)] += 1;
            if prepared {
                assert!(!survived || matches!(call, Call::Prepare));
                assert_locked(&engine, &table);
                assert!(engine.commit_prepared(&xid("p"), false).unwrap());
                assert_eq!(contents(&engine, &table), changed_rows());
            } else {
                assert!(!survived || !matches!(call, Call::Prepare));
                let expected = if matches!(call, Call::Commit) { changed_rows() } else { first_rows() };
                assert_eq!(contents(&engine, &table), expected, "{call:?}");
            }
            assert_clean(&engine);
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{call:?} shows both: {seen:?}");
    }
}

#[test]
fn a_name_belongs_to_one_branch() {
    let disk = SimDisk::new(1);
    let (engine, table) = create(&disk);
    let claim = engine.claim_xid(xid("p")).unwrap();
    assert!(engine.claim_xid(xid("p")).is_none());
    assert!(engine.claim_xid(Xid::new(8, b"p", b"branch").unwrap()).is_none(), "the format is no part of the name");
    let other = engine.claim_xid(Xid::new(7, b"pbranch", b"").unwrap()).unwrap();
    drop(other);
    // Not prepared yet: no session can end it.
    assert!(!engine.commit_prepared(&xid("p"), true).unwrap());
    let mut trx = claim.begin(at_once());
    change(&mut trx, &table);
    trx.prepare(claim, true).unwrap();
    assert!(engine.claim_xid(xid("p")).is_none());
    assert!(!engine.commit_prepared(&xid("p"), false).unwrap(), "its session has it");
    engine.detach_prepared(&xid("p"));
    assert!(engine.commit_prepared(&xid("p"), false).unwrap());
    assert!(!engine.commit_prepared(&xid("p"), false).unwrap());
    drop(engine.claim_xid(xid("p")).unwrap());
    drop(engine.claim_xid(xid("p")).unwrap());
}

/// There is nothing to find after a crash, but while the server lives it holds what it has locked.
#[test]
fn a_branch_without_changes_can_be_prepared() {
    let disk = SimDisk::new(1);
    let (engine, table) = create(&disk);
    let claim = engine.claim_xid(xid("reader")).unwrap();
    let mut trx = claim.begin(at_once());
    find(&mut trx, &table, 1, ReadMode::EXCLUSIVE).unwrap();
    trx.prepare(claim, false).unwrap();
    assert_eq!(engine.prepared(), [xid("reader")]);
    let mut other = engine.begin(at_once());
    assert!(matches!(update(&mut other, &table, 1, 5), Err(Error::LockWaitTimeout)));
    assert!(engine.rollback_prepared(&xid("reader"), false).unwrap());
    update(&mut other, &table, 1, 5).unwrap();
}

/// Many changes, so that some are undone before the next crash and some are not.
#[test]
fn open_transactions_are_undone_while_others_work() {
    let disk = SimDisk::new(1);
    let (engine, table) = create(&disk);
    let mut lost = engine.begin(at_once());
    for id in 1000..5000 {
        insert(&mut lost, &table, id, id).unwrap();
    }
    change(&mut lost, &table);
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    let mut disk = disk.crash();
    std::mem::forget(lost);
    drop(engine);
    let mut left = u64::MAX;
    for _ in 0..3 {
        let (engine, table) = open(&disk);
        assert_eq!(engine.recovery_report().transactions_to_roll_back, 1);
        let status = engine.status().rollbacks;
        assert_eq!(status.transactions, 1);
        assert!(status.records_left < left, "{} to undo, {left} before", status.records_left);
        left = status.records_left;
        assert_locked_but_for_the_newest(&engine, &table);
        // Another session commits meanwhile.
        let mut trx = engine.begin(at_once());
        update(&mut trx, &table, 9, 109).unwrap();
        trx.commit().unwrap();
        for _ in 0..20 {
            assert!(engine.step().unwrap());
        }
        engine.store().flush_log(engine.store().current_lsn()).unwrap();
        disk = disk.crash();
    }
    // A transaction that wants such a row waits until it is undone, and so does DDL.
    let (engine, _) = open(&disk);
    let waiting = {
        let engine = engine.clone();
        std::thread::spawn(move || {
            let mut trx = engine.begin(patiently());
            let table = trx.open_table("d", "t").unwrap();
            insert(&mut trx, &table, 1000, 7).unwrap();
            trx.commit().unwrap();
            engine.truncate_table("d", "t", &patiently()).unwrap();
        })
    };
    while engine.status().row_lock_waits_now == 0 {
        std::thread::yield_now();
    }
    assert!(engine.table("d", "t").is_some_and(|table| contents(&engine, &table).len() == 10));
    engine.finish_rollbacks().unwrap();
    waiting.join().unwrap();
    let table = engine.table("d", "t").unwrap();
    assert!(contents(&engine, &table).is_empty());
    assert_eq!(engine.status().rollbacks.transactions, 0);
    assert_clean(&engine);
}

/// The changes of `change` are the last ones, and so the first to be undone.
fn assert_locked_but_for_the_newest(engine: &Arc<Engine>, table: &Arc<Table>) {
    assert_eq!(contents(engine, table), first_rows());
    let mut trx = engine.begin(at_once());
    let outcome = insert(&mut trx, table, 1000, 5);
    assert!(matches!(outcome, Err(Error::LockWaitTimeout)), "{outcome:?}");
    let outcome = engine.truncate_table("d", "t", &at_once());
    assert!(matches!(outcome, Err(Error::LockWaitTimeout)), "{outcome:?}");
}

/// Changes of a transaction: more than a start reads, and several steps of the background more.
const LONG: u32 = 8000;

/// An instance with two tables, stopped while a transaction of many changes of `t` was open.
fn stopped_in_a_long_transaction(changes: u32) -> SimDisk {
    let disk = SimDisk::new(9);
    let (engine, table) = create(&disk);
    let definition = TableDefinition {
        database: "d".into(),
        name: "other".into(),
        columns: vec![Column::new("id", number_column(), false)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap();
    let mut trx = engine.begin(at_once());
    for number in 0..changes {
        update(&mut trx, &table, number % 10, 1000 + number).unwrap();
        if number % 500 == 0 {
            engine.step().unwrap();
        }
    }
    engine.store().checkpoint().unwrap();
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    std::mem::forget(trx);
    drop((engine, table));
    disk.duplicate()
}

/// A start reads a bounded part of the undo. While it is not known which tables a transaction has changed, rows of any
/// table can be changed, but no table's definition. Then the other tables are released, and the transaction is undone.
#[test]
fn a_long_transaction_is_read_in_the_background() {
    let disk = stopped_in_a_long_transaction(LONG);
    let reads = |disk: &SimDisk| {
        let before = disk.reads();
        drop(open(disk));
        disk.reads() - before
    };
    let (long, longer) = (reads(&disk.duplicate()), reads(&stopped_in_a_long_transaction(3 * LONG)));
    assert!(longer < long + long / 4, "{long} and {longer} reads");

    let (engine, table) = open(&disk);
    let refused = engine.truncate_table("d", "other", &at_once());
    assert!(matches!(refused, Err(Error::LockWaitTimeout)), "{refused:?}");
    let other = engine.table("d", "other").unwrap();
    let mut trx = engine.begin(at_once());
    trx.insert(&other, &[Some(&1u32.to_be_bytes())]).unwrap();
    trx.commit().unwrap();
    assert!(update(&mut engine.begin(at_once()), &table, 1, 5).is_err(), "its rows are locked");
    let mut steps = 0;
    while engine.truncate_table("d", "other", &at_once()).is_err() {
        assert!(engine.step().unwrap());
        steps += 1;
    }
    assert!(steps >= 3 && engine.status().rollbacks.records_undone == 0, "{steps} steps");
    let refused = engine.truncate_table("d", "t", &at_once());
    assert!(matches!(refused, Err(Error::LockWaitTimeout)), "{refused:?}");
    drop((other, table));
    engine.finish_rollbacks().unwrap();
    let table = engine.table("d", "t").unwrap();
    assert_eq!(contents(&engine, &table), first_rows());
    engine.truncate_table("d", "t", &at_once()).unwrap();
}

/// Nothing of a long transaction is undone if one of its tables cannot be read.
#[test]
fn a_long_transaction_of_a_lost_table_waits() {
    let disk = stopped_in_a_long_transaction(LONG);
    disk.lose_file("d/t.ibd");
    let engine = Engine::open(Arc::new(disk.clone()), config()).unwrap();
    while engine.step().unwrap() {}
    let rollbacks = engine.status().rollbacks;
    assert_eq!((rollbacks.stuck, rollbacks.transactions, rollbacks.records_undone), (1, 0, 0));
}

/// A log that was copied back from an earlier time is refused, whether it was closed or not.
#[test]
fn a_redo_log_of_an_earlier_life_is_refused() {
    for closed in [true, false] {
        let disk = SimDisk::new(3);
        let (engine, _) = create(&disk);
        engine.close().unwrap();
        drop(engine);
        let mut earlier = disk.duplicate();
        if !closed {
            drop(open(&earlier));
            earlier = earlier.duplicate();
        }
        let (engine, table) = open(&disk);
        let mut trx = engine.begin(at_once());
        change(&mut trx, &table);
        trx.commit().unwrap();
        engine.close().unwrap();
        drop((engine, table));
        let whole = disk.duplicate();
        assert!(disk.copy_file(&earlier, "glassine.redo"));
        let refused = Engine::open(Arc::new(disk), config()).map(|_| ());
        let Err(Error::Corrupt { what, .. }) = refused else { panic!("closed {closed}: {refused:?}") };
        assert!(what.contains("the log is older than the tablespaces"), "{what}");
        drop(open(&whole));
    }
}

/// Tablespaces that were copied back from an earlier time are refused under the newer log, whether either was closed or
/// not: the log has no redo of what happened in between. The error has both LSNs.
#[test]
fn tablespaces_of_an_earlier_time_are_refused() {
    for (closed_before, closed) in [(true, true), (true, false), (false, true), (false, false)] {
        let disk = SimDisk::new(3);
        let (mut engine, mut table) = create(&disk);
        if closed_before {
            engine.close().unwrap();
            drop((engine, table));
            (engine, table) = open(&disk);
        } else {
            engine.store().checkpoint().unwrap();
        }
        let earlier = disk.duplicate();
        let mut trx = engine.begin(at_once());
        change(&mut trx, &table);
        trx.commit().unwrap();
        match closed {
            true => engine.close().unwrap(),
            false => engine.store().checkpoint().unwrap(),
        }
        drop((engine, table));
        let stopped = disk.duplicate();
        assert!(earlier.copy_file(&stopped, "glassine.redo"));
        let refused = Engine::open(Arc::new(earlier), config()).map(|_| ());
        let Err(Error::Corrupt { page: Some(_), what }) = refused else { panic!("{refused:?}") };
        assert!(what.contains("the tablespaces are older than the redo log"), "{what}");
        let lsns: Vec<u64> = what.split(|c: char| !c.is_ascii_digit()).filter_map(|lsn| lsn.parse().ok()).collect();
        assert!(lsns[0] < lsns[1], "{what}");
        drop(open(&stopped));
    }
}
