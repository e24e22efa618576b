//! A page of a table is damaged while the log still has changes of it: the table is left out, the others work, and none
//! of its data is lost while an operator may repair it.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row, Table, TableDefinition, Trx,
    TrxOptions,
};

/// A page that has rows of `d.t`, far from its root.
const PAGE: u64 = 6;
const ROWS: u32 = 400;

fn config() -> Config {
    Config { pool_bytes: 512 * 16384, log_bytes: 1 << 20, ..Config::tiny() }
}

fn open(disk: &SimDisk) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), config()).unwrap()
}

fn number() -> ColumnType {
    ColumnType::Int { bytes: 4, unsigned: true }
}

fn create_table(engine: &Arc<Engine>, name: &str) -> Arc<Table> {
    let filler = ColumnType::Binary { bytes: 250 };
    let definition = TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", number(), false),
            Column::new("v", number(), false),
            Column::new("filler", filler, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap()
}

fn insert(trx: &mut Trx, table: &Table, id: u32) -> Result<()> {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&0u32.to_be_bytes()), Some(&[b'x'; 250])])
}

fn value(trx: &mut Trx, table: &Table, id: u32, mode: ReadMode, row: &mut Row) -> Result<u32> {
    assert!(trx.get(table, 0, &[Some(&id.to_be_bytes())], mode, &ColumnSet::first(3), row)?);
    Ok(u32::from_be_bytes(row.get(1).unwrap().try_into().unwrap()))
}

fn set_all(engine: &Arc<Engine>, name: &str, v: u32) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", name)?;
    let mut row = Row::new();
    for id in 0..ROWS {
        value(&mut trx, &table, id, ReadMode::EXCLUSIVE, &mut row)?;
        trx.update(&table, &row, &[(1, Some(&v.to_be_bytes()))])?;
    }
    trx.commit()
}

fn all_are(engine: &Arc<Engine>, name: &str, v: u32) {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", name).unwrap();
    let mut row = Row::new();
    for id in 0..ROWS {
        assert_eq!(value(&mut trx, &table, id, ReadMode::Consistent, &mut row).unwrap(), v, "{name}: row {id}");
    }
}

fn rest(engine: &Engine) {
    while engine.step().unwrap() {}
}

fn page(disk: &SimDisk, path: &str, page_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; page_bytes];
    let file = disk.open(path, OpenMode::Read, Caching::Cached).unwrap();
    file.read_at(PAGE * page_bytes as u64, &mut bytes).unwrap();
    bytes
}

fn put_page(disk: &SimDisk, path: &str, bytes: &[u8]) {
    let file = disk.open(path, OpenMode::ReadWrite, Caching::Cached).unwrap();
    file.write_at(PAGE * bytes.len() as u64, bytes).unwrap();
    file.sync().unwrap();
}

/// A new instance with two tables, whose rows have the value 0; all of it is on the device.
fn filled(disk: &SimDisk) -> Arc<Engine> {
    Engine::create(Arc::new(disk.clone()), &config()).unwrap();
    let engine = open(disk);
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    for name in ["t", "other"] {
        let table = create_table(&engine, name);
        let mut trx = engine.begin(TrxOptions::default());
        (0..ROWS).for_each(|id| insert(&mut trx, &table, id).unwrap());
        trx.commit().unwrap();
    }
    rest(&engine);
    engine.store().checkpoint().unwrap();
    engine
}

/// Two tables of rows whose values are 0 on the device and 1 in the log. Returns the page's image on the device.
fn crashed() -> (SimDisk, Vec<u8>) {
    let disk = SimDisk::new(7);
    let engine = filled(&disk);
    let bytes = page(&disk, "d/t.ibd", config().page_bytes);
    set_all(&engine, "t", 1).unwrap();
    set_all(&engine, "other", 1).unwrap();
    drop(engine);
    (disk.duplicate(), bytes)
}

/// The same after a start that has found the damage.
fn refused(disk: &SimDisk) -> Arc<Engine> {
    let engine = open(disk);
    rest(&engine);
    assert!(!engine.store().is_poisoned());
    let damaged = engine.damaged();
    assert!(damaged.len() == 1 && damaged[0].contains("d.t") && damaged[0].contains(":6 is damaged"), "{damaged:?}");
    let mut trx = engine.begin(TrxOptions::default());
    assert!(matches!(trx.open_table("d", "t"), Err(Error::Corrupt { page: Some(_), .. })));
    engine
}

#[test]
fn a_damaged_page_costs_its_table_and_comes_back_when_it_is_mended() {
    for mend_after_close in [false, true] {
        let (disk, good) = crashed();
        let mut bad = good.clone();
        bad[100] ^= 1;
        put_page(&disk, "d/t.ibd", &bad);
        let engine = refused(&disk);
        // More than the log is long: the page does not stop it.
        let (end, mut v) = (engine.store().current_lsn().0 + 3 * config().log_bytes, 1);
        while engine.store().current_lsn().0 < end {
            v += 1;
            set_all(&engine, "other", v).unwrap();
        }
        all_are(&engine, "other", v);
        if mend_after_close {
            engine.close().unwrap();
        }
        drop(engine);
        // It stays so until it is repaired.
        let disk = disk.duplicate();
        let engine = refused(&disk);
        drop(engine);
        let disk = disk.duplicate();
        put_page(&disk, "d/t.ibd", &good);
        let engine = open(&disk);
        assert!(engine.damaged().is_empty(), "{:?}", engine.damaged());
        all_are(&engine, "t", 1);
        set_all(&engine, "t", 5).unwrap();
        rest(&engine);
        assert!(engine.check().unwrap().errors.is_empty());
        engine.close().unwrap();
        let engine = open(&disk.crash());
        all_are(&engine, "t", 5);
        assert!(engine.store().set_aside().is_empty());
    }
}

#[test]
fn a_page_that_was_lost_is_damaged_too() {
    let (disk, good) = crashed();
    put_page(&disk, "d/t.ibd", &vec![0; good.len()]);
    let engine = refused(&disk);
    set_all(&engine, "other", 2).unwrap();
    drop(engine);
    let disk = disk.duplicate();
    put_page(&disk, "d/t.ibd", &good);
    let engine = open(&disk);
    all_are(&engine, "t", 1);
    all_are(&engine, "other", 2);
}

#[test]
fn what_was_open_waits_for_the_table() {
    let (disk, good) = crashed();
    // One more run, which ends with uncommitted changes.
    let engine = open(&disk);
    rest(&engine);
    engine.store().checkpoint().unwrap();
    let good_now = page(&disk, "d/t.ibd", good.len());
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t").unwrap();
    let mut row = Row::new();
    for id in 0..ROWS {
        value(&mut trx, &table, id, ReadMode::EXCLUSIVE, &mut row).unwrap();
        trx.update(&table, &row, &[(1, Some(&9u32.to_be_bytes()))]).unwrap();
    }
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    std::mem::forget(trx);
    let disk = disk.duplicate();
    let mut bad = good_now.clone();
    bad[100] ^= 1;
    put_page(&disk, "d/t.ibd", &bad);
    let engine = refused(&disk);
    assert_eq!(engine.status().rollbacks.stuck, 1);
    set_all(&engine, "other", 2).unwrap();
    drop(engine);
    let disk = disk.duplicate();
    put_page(&disk, "d/t.ibd", &good_now);
    let engine = open(&disk);
    rest(&engine);
    all_are(&engine, "t", 1);
}

#[test]
fn without_the_undo_logs_it_does_not_open() {
    let (disk, good) = crashed();
    let file = disk.open("undo_001", OpenMode::ReadWrite, Caching::Cached).unwrap();
    let pages = file.len().unwrap() / good.len() as u64;
    let mut refused = 0;
    for number in 1..pages {
        let disk = disk.duplicate();
        if !disk.flip("undo_001", number * good.len() as u64 + 60, 1) {
            continue;
        }
        match Engine::open(Arc::new(disk.clone()), config()) {
            Err(Error::Corrupt { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
            // The log recreates it, or it is not needed: then it is not found later, either.
            Ok(engine) => {
                rest(&engine);
                all_are(&engine, "t", 1);
            }
        }
    }
    assert!(refused > 0);
}

/// A page is never written before its log is durable, so a newer one proves that the log has lost its end.
#[test]
fn a_page_newer_than_the_log_is_refused() {
    let disk = SimDisk::new(9);
    let engine = filled(&disk);
    let earlier = disk.duplicate();
    set_all(&engine, "t", 1).unwrap();
    let lost = engine.store().current_lsn();
    engine.store().flush_space(engine.table("d", "t").unwrap().space).unwrap();
    drop(engine);
    let disk = disk.duplicate();
    assert!(disk.copy_file(&earlier, "glassine.redo"));
    for surveyed in [false, true] {
        let disk = disk.duplicate();
        let engine = open(&disk);
        assert!(engine.recovery_report().pages.end_lsn < lost);
        let space = engine.store().space(engine.table("d", "t").unwrap().space).unwrap();
        if surveyed {
            assert!(!space.survey(usize::MAX - 1).unwrap());
        }
        is_refused(&engine);
        // New groups of the log have LSNs that are as new.
        let mut v = 0;
        while engine.store().current_lsn() <= lost {
            v += 1;
            set_all(&engine, "other", v).unwrap();
        }
        is_refused(&engine);
        all_are(&engine, "other", v);
        rest(&engine);
        drop(engine);
        all_are(&open(&disk.duplicate()), "other", v);
    }
}

fn is_refused(engine: &Arc<Engine>) {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t").unwrap();
    let found = value(&mut trx, &table, 7, ReadMode::Consistent, &mut Row::new());
    let error = found.expect_err("a page from the future").to_string();
    assert!(error.contains("is in the future"), "{error}");
}
