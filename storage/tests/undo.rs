//! Undo that is larger than a page, undo tablespaces that grow and shrink, and the planner's estimates of ranges.

use std::ops::Bound;
use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, IndexDefinition, ReadMode, Row, ScanRange, Table, TableDefinition, Trx,
    TrxOptions,
};

fn engine(disk: &SimDisk) -> (Arc<Engine>, Arc<Table>) {
    let config = Config { page_bytes: 4096, pool_bytes: 2000 * 4096, log_bytes: 8 << 20, ..Config::tiny() };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk, config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("v", ColumnType::VarBinary { bytes: 300 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        ..TableDefinition::default()
    };
    let table = engine.create_table(definition, &TrxOptions::default()).unwrap();
    (engine, table)
}

fn insert(trx: &mut Trx, table: &Table, id: u32, k: u32) {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&k.to_be_bytes()), Some(&[b'v'; 100])]).unwrap();
}

fn update(trx: &mut Trx, table: &Table, id: u32, k: u32) {
    let mut row = Row::new();
    let all = ColumnSet::first(3);
    assert!(trx.get(table, 0, &[Some(&id.to_be_bytes())], ReadMode::EXCLUSIVE, &all, &mut row).unwrap());
    trx.update(table, &row, &[(1, Some(&k.to_be_bytes())), (2, Some(&[b'w'; 200]))]).unwrap();
}

fn rows(engine: &Arc<Engine>, table: &Arc<Table>) -> Vec<(u32, u32)> {
    let mut trx = engine.begin(TrxOptions::default());
    let mut cursor = trx.cursor(table, 0, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
    let (mut row, mut rows) = (Row::new(), Vec::new());
    let number = |row: &Row, column| u32::from_be_bytes(row.get(column).unwrap().try_into().unwrap());
    while cursor.next(&mut trx, &mut row).unwrap() {
        rows.push((number(&row, 0), number(&row, 1)));
    }
    rows
}

fn assert_clean(engine: &Engine) {
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

#[test]
fn a_transaction_of_many_pages_of_undo_is_undone() {
    let disk = SimDisk::new(1);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..1000 {
        insert(&mut trx, &table, id, id);
    }
    trx.commit().unwrap();
    let before = rows(&engine, &table);

    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..1000 {
        update(&mut trx, &table, id, id + 7);
    }
    let savepoint = trx.savepoint();
    for id in 1000..3000 {
        insert(&mut trx, &table, id, id);
    }
    for id in 0..1000 {
        update(&mut trx, &table, id, id + 9);
    }
    trx.rollback_to(savepoint).unwrap();
    // Undo continues where it was truncated.
    for id in 1000..1500 {
        insert(&mut trx, &table, id, id);
    }
    trx.rollback().unwrap();
    assert_eq!(rows(&engine, &table), before);
    while engine.step().unwrap() {}
    assert_clean(&engine);
}

#[test]
fn a_crash_in_a_large_transaction_is_undone_by_the_next_open() {
    let disk = SimDisk::new(2);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..500 {
        insert(&mut trx, &table, id, id);
    }
    trx.commit().unwrap();
    let before = rows(&engine, &table);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..500 {
        update(&mut trx, &table, id, 3 * id);
        insert(&mut trx, &table, 1000 + id, id);
    }
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    let config = engine.config();
    let crashed = disk.crash();
    std::mem::forget(trx);
    drop(engine);
    let engine = Engine::open(Arc::new(crashed), config).unwrap();
    let table = engine.table("d", "t").unwrap();
    assert_eq!(rows(&engine, &table), before);
    while engine.step().unwrap() {}
    assert_clean(&engine);
}

#[test]
fn undo_pages_are_used_again() {
    let disk = SimDisk::new(3);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..200 {
        insert(&mut trx, &table, id, id);
    }
    trx.commit().unwrap();
    let undo_bytes = || {
        let undo = engine.tablespaces().unwrap().into_iter().find(|space| space.name.contains("undo"));
        undo.expect("there is an undo tablespace").file_bytes
    };
    let mut bytes = 0;
    for round in 0..60 {
        // Large and small ones, by turns.
        let mut trx = engine.begin(TrxOptions::default());
        for id in 0..200 {
            update(&mut trx, &table, id, id + round);
        }
        trx.commit().unwrap();
        for id in 0..20 {
            let mut trx = engine.begin(TrxOptions::default());
            update(&mut trx, &table, id, round);
            trx.commit().unwrap();
        }
        while engine.step().unwrap() {}
        if round == 20 {
            bytes = undo_bytes();
        }
    }
    assert_eq!(undo_bytes(), bytes, "the history is short, so nothing more is needed");
    assert_eq!(engine.status().history_list_length, 0);
    assert_clean(&engine);
}

#[test]
fn a_reader_keeps_the_history() {
    let disk = SimDisk::new(4);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..300 {
        insert(&mut trx, &table, id, id);
    }
    trx.commit().unwrap();
    let before = rows(&engine, &table);
    let mut reader = engine.begin(TrxOptions::default());
    reader.take_snapshot();
    for round in 1..6 {
        let mut trx = engine.begin(TrxOptions::default());
        for id in (0..300).step_by(round as usize) {
            update(&mut trx, &table, id, 1000 * round + id);
        }
        trx.commit().unwrap();
        let mut trx = engine.begin(TrxOptions::default());
        let mut row = Row::new();
        let key = (round * 7).to_be_bytes();
        let all = ColumnSet::first(3);
        assert!(trx.get(&table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &all, &mut row).unwrap());
        trx.delete(&table, &row).unwrap();
        trx.commit().unwrap();
        while engine.step().unwrap() {}
    }
    for index in 0..2 {
        let mut cursor =
            reader.cursor(&table, index, ReadMode::Consistent, ColumnSet::first(3), ScanRange::ALL).unwrap();
        let (mut row, mut found) = (Row::new(), Vec::new());
        let number = |row: &Row, column| u32::from_be_bytes(row.get(column).unwrap().try_into().unwrap());
        while cursor.next(&mut reader, &mut row).unwrap() {
            assert_eq!(row.get(2).unwrap(), [b'v'; 100]);
            found.push((number(&row, 0), number(&row, 1)));
        }
        assert_eq!(found, before, "through index {index}");
    }
    reader.commit().unwrap();
    while engine.step().unwrap() {}
    assert_eq!(engine.status().history_list_length, 0);
    assert_clean(&engine);
}

#[test]
fn estimates_are_about_right() {
    let disk = SimDisk::new(5);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    for id in 0..10_000 {
        insert(&mut trx, &table, id, id % 100);
    }
    trx.commit().unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    for (index, low, high, rows) in
        [(0, 0, 9999, 10_000), (0, 100, 110, 11), (0, 1000, 4999, 4000), (1, 50, 50, 100), (1, 10, 39, 3000)]
    {
        let (low, high): ([u8; 4], [u8; 4]) = (u32::to_be_bytes(low), u32::to_be_bytes(high));
        let (low, high) = ([Some(&low[..])], [Some(&high[..])]);
        let range = ScanRange { lower: Bound::Included(&low), upper: Bound::Included(&high), reverse: false };
        let estimate = trx.estimate(&table, index, &range).unwrap();
        assert!(estimate >= rows * 6 / 10 && estimate <= rows * 16 / 10, "{estimate} for {rows} through index {index}");
    }
    let all = trx.estimate(&table, 0, &ScanRange::ALL).unwrap();
    assert!((6_000..16_000).contains(&all), "{all}");
    let key = 20_000_u32.to_be_bytes();
    let key = [Some(&key[..])];
    assert_eq!(trx.estimate(&table, 0, &ScanRange::prefix(&key)).unwrap(), 0);
    let statistics = engine.table_statistics(&table);
    assert!((6_000..16_000).contains(&statistics.rows), "{}", statistics.rows);
}

/// How many bytes the file of the undo tablespace has.
fn undo_bytes(engine: &Engine) -> u64 {
    let spaces = engine.tablespaces().unwrap();
    spaces.iter().find(|space| space.name == "innodb_undo_001").expect("there is one").file_bytes
}

/// Undo of several hundred pages.
fn much_undo(engine: &Arc<Engine>, table: &Arc<Table>, first: u32) {
    let mut trx = engine.begin(TrxOptions::default());
    for id in first..first + 12_000 {
        insert(&mut trx, table, id, id);
    }
    for id in first..first + 12_000 {
        update(&mut trx, table, id, id + 1);
    }
    trx.commit().unwrap();
}

const SHORT: u64 = 300 * 4096;

#[test]
fn long_undo_is_truncated_when_it_is_not_needed() {
    let disk = SimDisk::new(5);
    let (engine, table) = engine(&disk);
    engine.set_config(|config| config.undo_log_bytes_max = SHORT);
    let mut reader = engine.begin(TrxOptions::default());
    reader.take_snapshot();
    much_undo(&engine, &table, 0);
    let long = undo_bytes(&engine);
    assert!(long > SHORT, "{long} bytes");
    while engine.step().unwrap() {}
    assert_eq!(engine.status().undo_truncations, 0, "somebody may want to read it");
    reader.commit().unwrap();
    disk.pass(std::time::Duration::from_secs(11));
    while engine.step().unwrap() {}
    assert_eq!(engine.status().undo_truncations, 1);
    let short = undo_bytes(&engine);
    assert!(short <= SHORT, "{short} of {long} bytes");
    assert_clean(&engine);
    // It grows again, and is truncated again.
    let before = rows(&engine, &table);
    much_undo(&engine, &table, 100_000);
    assert!(undo_bytes(&engine) > SHORT);
    assert_eq!(rows(&engine, &table).len(), before.len() + 12_000);
    disk.pass(std::time::Duration::from_secs(11));
    while engine.step().unwrap() {}
    assert_eq!(engine.status().undo_truncations, 2);
    assert_clean(&engine);
    // Open transactions keep their undo.
    let mut open = engine.begin(TrxOptions::default());
    update(&mut open, &table, 1, 70);
    much_undo(&engine, &table, 200_000);
    disk.pass(std::time::Duration::from_secs(11));
    while engine.step().unwrap() {}
    open.rollback().unwrap();
    assert!(rows(&engine, &table).contains(&(1, 2)));
    assert_clean(&engine);
}

#[test]
fn a_crash_in_the_truncation_of_undo_leaves_it_long_or_short() {
    let disk = SimDisk::new(6);
    let (engine, table) = engine(&disk);
    engine.set_config(|config| config.undo_log_truncate = false);
    much_undo(&engine, &table, 0);
    while engine.step().unwrap() {}
    let before = rows(&engine, &table);
    let config = Config { undo_log_truncate: true, undo_log_bytes_max: SHORT, ..engine.config() };
    engine.close().unwrap();
    drop(engine);
    let (mut long, mut short) = (0, 0);
    for crash_after in 0.. {
        let disk = disk.duplicate();
        let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
        let at = disk.changes() + 1 + crash_after;
        disk.set_faults(|faults| faults.crash_at = Some(at));
        while matches!(engine.step(), Ok(true)) {}
        let survived = !disk.is_crashed();
        assert!(!survived || engine.status().undo_truncations == 1);
        let disk = disk.crash();
        drop(engine);
        let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
        let table = engine.table("d", "t").unwrap();
        match undo_bytes(&engine) > SHORT {
            true => long += 1,
            false => short += 1,
        }
        assert_eq!(rows(&engine, &table), before);
        much_undo(&engine, &table, 300_000);
        while engine.step().unwrap() {}
        assert_eq!(rows(&engine, &table).len(), before.len() + 12_000);
        assert_clean(&engine);
        if survived {
            break;
        }
    }
    assert!(long > 0 && short > 0, "both are met: {long}, {short}");
}

/// A view keeps the logs of thousands of transactions, of which memory knows a few. They are purged when it goes, also
/// those that an earlier life wrote; and a start reads none of them.
#[test]
fn a_long_history_is_read_piece_by_piece() {
    const ROWS: u32 = 50;
    const COMMITS: u32 = 12_000;
    let disk = SimDisk::new(5);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    (0..ROWS).for_each(|id| insert(&mut trx, &table, id, 0));
    trx.commit().unwrap();
    while engine.step().unwrap() {}
    let change = |engine: &Arc<Engine>, table: &Table, from: u32| {
        for number in from..from + COMMITS {
            let mut trx = engine.begin(TrxOptions::default());
            update(&mut trx, table, number % ROWS, number);
            trx.commit().unwrap();
            if number % 100 == 0 {
                engine.step().unwrap();
            }
        }
    };
    let mut reader = engine.begin(TrxOptions::default());
    let mut row = Row::new();
    let seen =
        reader.get(&table, 0, &[Some(&0u32.to_be_bytes())], ReadMode::Consistent, &ColumnSet::first(2), &mut row);
    assert!(seen.unwrap());
    change(&engine, &table, 1);
    assert!(engine.status().history_list_length >= u64::from(COMMITS));
    reader.commit().unwrap();
    // Purged in part only, then the server stops.
    for _ in 0..30 {
        engine.step().unwrap();
    }
    let left = engine.status().history_list_length;
    assert!(left > 0 && left < u64::from(COMMITS), "{left}");
    engine.store().checkpoint().unwrap();
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    drop((table, engine));
    let disk = disk.duplicate();
    let before = disk.reads();
    let config = Config { page_bytes: 4096, pool_bytes: 2000 * 4096, log_bytes: 8 << 20, ..Config::tiny() };
    let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
    let reads = disk.reads() - before;
    assert!(reads < 600, "{reads} reads to start");
    assert_eq!(engine.status().history_list_length, left);
    let table = engine.table("d", "t").unwrap();
    change(&engine, &table, COMMITS + 1);
    while engine.step().unwrap() {}
    assert_eq!(engine.status().history_list_length, 0);
    assert_clean(&engine);
    let rows = rows(&engine, &table);
    assert_eq!(rows.len(), ROWS as usize);
    assert!(rows.iter().all(|(_, k)| *k > 2 * COMMITS - ROWS));
}

/// A read that fails while purge reads a log or frees its pages costs nothing: purge comes back to the log.
#[test]
fn a_log_that_cannot_be_removed_is_removed_later() {
    let disk = SimDisk::new(6);
    let (engine, table) = engine(&disk);
    let mut trx = engine.begin(TrxOptions::default());
    (0..200).for_each(|id| insert(&mut trx, &table, id, 0));
    trx.commit().unwrap();
    while engine.step().unwrap() {}
    let mut trx = engine.begin(TrxOptions::default());
    (0..200).for_each(|id| update(&mut trx, &table, id, id + 1));
    trx.commit().unwrap();
    engine.store().checkpoint().unwrap();
    drop((table, engine));
    let mut failed = 0;
    for failing in 1.. {
        let disk = disk.duplicate();
        let config = Config { page_bytes: 4096, pool_bytes: 2000 * 4096, log_bytes: 8 << 20, ..Config::tiny() };
        let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
        assert_eq!(engine.status().history_list_length, 1);
        let last = disk.reads() + failing;
        disk.set_faults(|faults| faults.failing_read = Some(last));
        loop {
            match engine.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => failed += 1,
            }
        }
        assert!(!engine.store().is_poisoned());
        assert_eq!(engine.status().history_list_length, 0, "read {failing} failed");
        if disk.reads() < last {
            break;
        }
        assert_clean(&engine);
    }
    assert!(failed > 20, "{failed} steps failed");
}
