//! Temporary tables: what they cost the log and the disk, which sessions see them, and what a crash leaves of them.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::io::trace::TraceDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Interrupt, Kill, ReadMode, Row, ScanRange, Table,
    TableDefinition, TemporaryTables, TornProtection, Trx, TrxOptions,
};

fn config() -> Config {
    Config { pool_bytes: 48 * 16384, log_bytes: 4 << 20, ..Config::tiny() }
}

fn open(disk: Arc<dyn Disk>) -> Arc<Engine> {
    Engine::open(disk, config()).unwrap()
}

fn create(disk: &Arc<dyn Disk>) -> Arc<Engine> {
    Engine::create(disk.clone(), &config()).unwrap();
    let engine = open(disk.clone());
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    engine.create_table(definition("t"), &TrxOptions::default()).unwrap();
    engine
}

fn definition(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("v", ColumnType::VarBinary { bytes: 500 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        ..TableDefinition::default()
    }
}

fn session(engine: &Arc<Engine>) -> (Arc<TemporaryTables>, TrxOptions) {
    let tables = engine.temporary_tables();
    let options = TrxOptions { temporary: Some(tables.clone()), ..TrxOptions::default() };
    (tables, options)
}

fn insert(trx: &mut Trx, table: &Table, ids: std::ops::Range<u32>) {
    for id in ids {
        let k = (id % 7).to_be_bytes();
        trx.insert(table, &[Some(&id.to_be_bytes()), Some(&k), Some(&[id as u8; 300])]).unwrap();
    }
}

fn rows(trx: &mut Trx, table: &Arc<Table>, index: usize) -> Vec<u32> {
    let range = ScanRange::ALL;
    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, ColumnSet::first(3), range).unwrap();
    let (mut row, mut ids) = (Row::new(), Vec::new());
    while cursor.next(trx, &mut row).unwrap() {
        ids.push(u32::from_be_bytes(row.get(0).unwrap().try_into().unwrap()));
    }
    ids
}

/// Changes every row: its key `k`, which the secondary index has, too.
fn update_all(trx: &mut Trx, table: &Arc<Table>) {
    let range = ScanRange::ALL;
    let mut cursor = trx.cursor(table, 0, ReadMode::EXCLUSIVE, ColumnSet::first(3), range).unwrap();
    let mut row = Row::new();
    while cursor.next(trx, &mut row).unwrap() {
        let k = u32::from_be_bytes(row.get(1).unwrap().try_into().unwrap()) + 100;
        trx.update(table, &row, &[(1, Some(&k.to_be_bytes()))]).unwrap();
    }
}

#[test]
fn changes_are_not_logged_not_written_twice_and_not_synced() {
    let sim = SimDisk::new(1);
    let disk: Arc<dyn Disk> = Arc::new(sim.clone());
    create(&disk).close().unwrap();
    let trace = TraceDisk::new(disk.clone());
    let engine = open(Arc::new(trace.clone()));
    let (tables, options) = session(&engine);
    let table = tables.create(definition("own")).unwrap();
    // An id for the transaction is logged once in a while, and purge has still to do with what made the directory.
    let mut warm = engine.begin(options.clone());
    insert(&mut warm, &table, 5000..5001);
    warm.commit().unwrap();
    while engine.step().unwrap() {}
    let before = engine.store().current_lsn();
    trace.take();
    let mut trx = engine.begin(options.clone());
    insert(&mut trx, &table, 0..2000);
    update_all(&mut trx, &table);
    assert_eq!(rows(&mut trx, &table, 1).len(), 2001);
    trx.commit().unwrap();
    while engine.step().unwrap() {}
    assert_eq!(engine.store().current_lsn(), before, "something was logged");
    let calls = trace.take();
    // The table is larger than the pool: most of it has been written, and read again.
    let of_table = |call: &&String| call.contains(".ibt");
    assert!(calls.iter().filter(of_table).any(|call| call.contains("write")), "nothing was written");
    for call in &calls {
        let temporary = call.contains(".ibt") || call.contains("ibtmp1");
        assert!(!temporary || !call.contains("sync"), "{call}");
        assert!(!call.contains("dblwr"), "{call}");
    }
    let space = engine.store().space(table.space).unwrap();
    assert_eq!(space.torn_protection(), TornProtection::Off);
    let mut trx = engine.begin(options);
    assert_eq!(rows(&mut trx, &table, 0).len(), 2001);
    trx.commit().unwrap();
    assert!(engine.check().unwrap().is_clean());
}

#[test]
fn what_purge_leaves_is_what_is_there() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(2));
    let engine = create(&disk);
    let (tables, options) = session(&engine);
    let table = tables.create(definition("own")).unwrap();
    for round in 0..20_u32 {
        let mut trx = engine.begin(options.clone());
        insert(&mut trx, &table, round * 20..round * 20 + 20);
        let here = trx.savepoint();
        update_all(&mut trx, &table);
        if round % 3 == 0 {
            trx.rollback_to(here).unwrap();
        }
        let range = ScanRange::ALL;
        let mut cursor = trx.cursor(&table, 0, ReadMode::EXCLUSIVE, ColumnSet::first(3), range).unwrap();
        let mut row = Row::new();
        for _ in 0..10 {
            assert!(cursor.next(&mut trx, &mut row).unwrap());
            trx.delete(&table, &row).unwrap();
        }
        drop(cursor);
        if round % 4 == 3 { trx.rollback().unwrap() } else { trx.commit().unwrap() }
    }
    while engine.step().unwrap() {}
    let mut trx = engine.begin(options);
    let found = rows(&mut trx, &table, 0);
    assert_eq!(found.len(), 15 * 10);
    let mut by_k = rows(&mut trx, &table, 1);
    by_k.sort_unstable();
    assert_eq!(by_k, found);
    trx.commit().unwrap();
    let killed = Interrupt::default();
    killed.set(Kill::Query);
    assert!(matches!(engine.check_table(&table, &killed), Err(Error::Interrupted)));
    assert_eq!(engine.check_table(&table, &Interrupt::default()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_table_is_its_sessions_own_and_goes_with_it() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(3));
    let engine = create(&disk);
    let (tables, options) = session(&engine);
    tables.create(definition("t")).unwrap();
    let mut own = engine.begin(options.clone());
    let table = own.open_table("d", "t").unwrap();
    assert!(table.is_temporary());
    insert(&mut own, &table, 0..10);
    let mut other = engine.begin(TrxOptions::default());
    let base = other.open_table("d", "t").unwrap();
    assert!(!base.is_temporary() && rows(&mut other, &base, 0).is_empty());
    other.commit().unwrap();
    // Another session's DDL statement does not wait for it, and a backup does not contain it.
    engine.truncate_table("d", "t", &TrxOptions::default()).unwrap();
    own.commit().unwrap();
    assert_eq!(engine.all_temporary_tables().len(), 1);
    let files = || disk.list("#innodb_temp").unwrap().len();
    assert_eq!(files(), 1);
    drop((options, tables));
    assert_eq!((engine.all_temporary_tables().len(), files()), (0, 0));
    let (tables, _) = session(&engine);
    tables.create(definition("u")).unwrap();
    engine.close().unwrap();
    assert_eq!(files(), 0);
    assert!(!disk.exists("ibtmp1").unwrap());
}

#[test]
fn a_crash_keeps_the_rest_of_the_transaction_and_removes_the_files() {
    for step in 0..30 {
        let sim = SimDisk::new(step);
        let disk: Arc<dyn Disk> = Arc::new(sim.clone());
        let engine = create(&disk);
        let (tables, options) = session(&engine);
        let crash_at = sim.changes() + 1 + step * 7;
        sim.set_faults(|faults| faults.crash_at = Some(crash_at));
        let mut promised = 0;
        let work = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let own = tables.create(definition("own")).unwrap();
            loop {
                let mut trx = engine.begin(options.clone());
                let base = trx.open_table("d", "t").unwrap();
                insert(&mut trx, &own, promised * 50..promised * 50 + 50);
                insert(&mut trx, &base, promised..promised + 1);
                trx.commit().unwrap();
                promised += 1;
                engine.step().unwrap();
            }
        }));
        assert!(work.is_err(), "only the crash ends this");
        drop((tables, options, engine));
        let disk: Arc<dyn Disk> = Arc::new(sim.crash());
        let engine = open(disk.clone());
        engine.finish_rollbacks().unwrap();
        assert!(!disk.exists("ibtmp1").unwrap());
        assert!(!disk.exists("#innodb_temp").unwrap() || disk.list("#innodb_temp").unwrap().is_empty());
        let mut trx = engine.begin(TrxOptions::default());
        let base = trx.open_table("d", "t").unwrap();
        let found = rows(&mut trx, &base, 0).len() as u32;
        assert!(found == promised || found == promised + 1, "step {step}: {found} of {promised}");
        trx.commit().unwrap();
        assert!(engine.check().unwrap().is_clean(), "step {step}");
    }
}
