//! Columns that come and go while the rows stay: what a crash, a rollback and purge make of rows of several versions.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize};
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, ColumnSource, Config, Engine, IndexDefinition, ReadMode, Result, Row, Table, TableDefinition,
    TrxOptions,
};

const PAGE_BYTES: usize = 4096;

fn config() -> Config {
    Config { page_bytes: PAGE_BYTES, pool_bytes: 256 * PAGE_BYTES as u64, ..Config::tiny() }
}

fn open(disk: &SimDisk) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), config()).unwrap()
}

fn number() -> ColumnType {
    ColumnType::Int { bytes: 4, unsigned: true }
}

fn text(bytes: u32) -> ColumnType {
    ColumnType::VarBinary { bytes }
}

/// An instance with a table `d.t`: id, text, long.
fn instance(seed: u64) -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(seed);
    Engine::create(Arc::new(disk.clone()), &config()).unwrap();
    let engine = open(&disk);
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", number(), false),
            Column::new("text", text(2000), true),
            Column::new("long", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap();
    (disk, engine)
}

fn table(engine: &Engine) -> Arc<Table> {
    engine.table("d", "t").unwrap()
}

fn insert(engine: &Arc<Engine>, id: u32, values: &[Option<&[u8]>]) {
    let id = id.to_be_bytes();
    let row: Vec<Option<&[u8]>> = std::iter::once(Some(&id[..])).chain(values.iter().copied()).collect();
    let mut trx = engine.begin(TrxOptions::default());
    trx.insert(&table(engine), &row).unwrap();
    trx.commit().unwrap();
}

/// Changes a column of a row, and keeps that or not.
fn update(engine: &Arc<Engine>, id: u32, column: usize, value: Option<&[u8]>, keep: bool) {
    let mut trx = engine.begin(TrxOptions::default());
    let (table, mut row) = (table(engine), Row::new());
    let all = ColumnSet::first(table.columns.len());
    assert!(trx.get(&table, 0, &[Some(&id.to_be_bytes())], ReadMode::EXCLUSIVE, &all, &mut row).unwrap());
    trx.update(&table, &row, &[(column, value)]).unwrap();
    if keep {
        trx.commit().unwrap();
    } else {
        trx.rollback().unwrap();
    }
}

fn values(engine: &Arc<Engine>, id: u32) -> Vec<Option<Vec<u8>>> {
    let mut trx = engine.begin(TrxOptions::default());
    let (table, mut row) = (table(engine), Row::new());
    let all = ColumnSet::first(table.columns.len());
    assert!(trx.get(&table, 0, &[Some(&id.to_be_bytes())], ReadMode::Consistent, &all, &mut row).unwrap());
    trx.commit().unwrap();
    (1..table.columns.len()).map(|column| row.get(column).map(<[u8]>::to_vec)).collect()
}

/// Drops the last column, and adds one with a default.
fn exchange_last(engine: &Engine, column: Column, default: Option<&[u8]>) -> Result<Arc<Table>> {
    let change = |own: &mut TableDefinition| {
        let last = own.columns.len() - 1;
        own.columns[last] = column;
        (0..last).map(ColumnSource::Old).chain([ColumnSource::New(default.map(Box::from))]).collect()
    };
    engine.alter_columns("d", "t", change, &TrxOptions::patient())
}

fn settle(engine: &Engine) {
    while engine.step().unwrap() {}
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.errors);
}

/// Pages of long values and leaves, as the segment counts them.
fn pages_used(engine: &Engine) -> u64 {
    let space = table(engine).space.0;
    engine.check().unwrap().spaces.iter().find(|found| found.space == space).unwrap().pages_used
}

#[test]
fn a_crash_leaves_the_table_with_the_old_columns_or_the_new_ones() {
    let (mut old, mut new) = (0, 0);
    for (seed, at) in (1..5).flat_map(|seed| (1..40).map(move |at| (seed, at))) {
        let (disk, engine) = instance(seed);
        insert(&engine, 1, &[Some(b"one"), Some(&[7; 9000])]);
        let before = disk.changes();
        disk.set_faults(|faults| faults.crash_at = Some(before + at));
        let altered = exchange_last(&engine, Column::new("new", text(9), true), Some(b"default")).is_ok();
        // Its pages reach their places.
        let _ = engine.store().checkpoint();
        if !disk.is_crashed() {
            assert!(altered && at > 10, "{at} changes of the disk");
            continue;
        }
        let disk = disk.crash();
        drop(engine);
        let engine = open(&disk);
        let found = values(&engine, 1);
        match &*table(&engine).columns[2].name {
            "long" => {
                assert!(!altered, "crash {at}: an ALTER that was answered is lost");
                assert_eq!(found[1].as_deref(), Some(&[7; 9000][..]), "crash {at}");
                old += 1;
            }
            _ => {
                assert_eq!(found[1].as_deref(), Some(&b"default"[..]), "crash {at}");
                new += 1;
            }
        }
        update(&engine, 1, 1, Some(b"changed"), true);
        settle(&engine);
        engine.close().unwrap();
    }
    assert!(old > 0 && new > 0, "{old} {new}");
}

#[test]
fn dropped_long_values_are_freed_with_the_record_that_had_them() {
    let (disk, engine) = instance(3);
    for id in 1..=4 {
        insert(&engine, id, &[Some(b"t"), Some(&[id as u8; 30000])]);
    }
    settle(&engine);
    let full = pages_used(&engine);
    exchange_last(&engine, Column::new("new", text(9), true), Some(b"default")).unwrap();
    settle(&engine);
    assert_eq!(pages_used(&engine), full, "no row is touched");

    // A change that is taken back leaves the record as it was, so that a later one frees the value once.
    update(&engine, 1, 1, Some(b"taken back"), false);
    update(&engine, 1, 2, Some(b"kept"), true);
    settle(&engine);
    let one = full - pages_used(&engine);
    assert!(one >= 7, "{one} pages of a value of 30000 bytes");
    let mut trx = engine.begin(TrxOptions::default());
    let (of, mut row) = (table(&engine), Row::new());
    let id = 2u32.to_be_bytes();
    assert!(trx.get(&of, 0, &[Some(&id)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row).unwrap());
    trx.delete(&of, &row).unwrap();
    trx.commit().unwrap();
    // Over a deleted row, before purge has seen it.
    insert(&engine, 2, &[None, None]);
    settle(&engine);
    assert_eq!(full - pages_used(&engine), 2 * one);

    // Also when the power goes before the change is taken back.
    let mut trx = engine.begin(TrxOptions::default());
    let id = 3u32.to_be_bytes();
    assert!(trx.get(&of, 0, &[Some(&id)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row).unwrap());
    trx.update(&of, &row, &[(1, Some(b"lost"))]).unwrap();
    engine.store().checkpoint().unwrap();
    let disk = disk.crash();
    drop(trx);
    drop((of, engine));
    let engine = open(&disk);
    engine.finish_rollbacks().unwrap();
    settle(&engine);
    assert_eq!(full - pages_used(&engine), 2 * one);
    assert_eq!(values(&engine, 1), [Some(b"t".to_vec()), Some(b"kept".to_vec())]);
    assert_eq!(values(&engine, 2), [None, None]);
    assert_eq!(values(&engine, 3), [Some(b"t".to_vec()), Some(b"default".to_vec())]);
    for id in 1..=4 {
        update(&engine, id, 1, Some(b"all"), true);
    }
    settle(&engine);
    assert_eq!(full - pages_used(&engine), 4 * one);
    engine.close().unwrap();
}

/// Restored with the defaults of younger columns written out, the record would not fit its page.
#[test]
fn a_record_comes_back_in_its_own_version() {
    let (_, engine) = instance(3);
    let wide = vec![b'w'; 1900];
    insert(&engine, 1, &[Some(&wide), None]);
    for (name, byte) in [("a", b'a'), ("b", b'b')] {
        let add = |own: &mut TableDefinition| {
            own.columns.push(Column::new(name, text(200), false));
            let old = (0..own.columns.len() - 1).map(ColumnSource::Old);
            old.chain([ColumnSource::New(Some(vec![byte; 200].into()))]).collect()
        };
        engine.alter_columns("d", "t", add, &TrxOptions::patient()).unwrap();
    }
    let expected = values(&engine, 1);
    update(&engine, 1, 1, Some(b"short"), false);
    assert_eq!(values(&engine, 1), expected);
    update(&engine, 1, 1, Some(b"short"), true);
    update(&engine, 1, 1, Some(&wide), true);
    assert_eq!(values(&engine, 1), expected);
    settle(&engine);
    engine.close().unwrap();
}
