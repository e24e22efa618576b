//! The engine end to end, through its public interface only.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize};
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Isolation, ReadMode, Relatives, Row, ScanRange, Table,
    TableDefinition, Trx, TrxOptions,
};

fn config() -> Config {
    Config { pool_bytes: 256 * 16384, log_bytes: 4 << 20, ..Config::tiny() }
}

fn create(disk: &SimDisk) -> Arc<Engine> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(disk.clone(), &config()).unwrap();
    let engine = Engine::open(disk, config()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    engine
}

fn open(disk: &SimDisk) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), config()).unwrap()
}

/// id, k, text, blob; indexes on id, on k, and a unique one on text.
fn definition(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, true),
            Column::new("c", ColumnType::VarChar { chars: 100, collation: CollationId::UTF8MB4_GENERAL_CI }, true),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![
            IndexDefinition::new("PRIMARY", true, &[0]),
            IndexDefinition::new("k", false, &[1]),
            IndexDefinition::new("c", true, &[2]),
        ],
        ..TableDefinition::default()
    }
}

fn wait() -> TrxOptions {
    TrxOptions {
        lock_wait_timeout: Duration::from_secs(5),
        metadata_wait_timeout: Duration::from_secs(5),
        ..TrxOptions::default()
    }
}

fn begin(engine: &Arc<Engine>) -> Trx {
    engine.begin(wait())
}

fn all(table: &Table) -> ColumnSet {
    ColumnSet::first(table.columns.len())
}

fn insert(trx: &mut Trx, table: &Table, id: u32, k: u32, c: &str, blob: &[u8]) -> storage::Result<()> {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&k.to_be_bytes()), Some(c.as_bytes()), Some(blob)])
}

fn get(trx: &mut Trx, table: &Table, id: u32, mode: ReadMode) -> storage::Result<Option<Row>> {
    let mut row = Row::new();
    let found = trx.get(table, 0, &[Some(&id.to_be_bytes())], mode, &all(table), &mut row)?;
    Ok(found.then_some(row))
}

type Rows = BTreeMap<u32, (u32, String, Vec<u8>)>;

fn scan(trx: &mut Trx, table: &Arc<Table>, index: usize) -> Rows {
    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, all(table), ScanRange::ALL).unwrap();
    let mut row = Row::new();
    let mut rows = Rows::new();
    while cursor.next(trx, &mut row).unwrap() {
        let c = String::from_utf8(row.get(2).unwrap().into()).unwrap();
        let older = rows.insert(number(&row, 0), (number(&row, 1), c, row.get(3).unwrap().into()));
        assert!(older.is_none(), "a row is seen once");
    }
    rows
}

fn contents(engine: &Arc<Engine>, name: &str) -> Rows {
    let mut trx = begin(engine);
    let table = trx.open_table("d", name).unwrap();
    let rows = scan(&mut trx, &table, 0);
    for index in 1..table.indexes.len() {
        assert_eq!(scan(&mut trx, &table, index), rows, "index {index} tells of the same rows");
    }
    trx.commit().unwrap();
    rows
}

fn assert_clean(engine: &Engine) {
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

/// An INT UNSIGNED of a row.
fn number(row: &Row, column: usize) -> u32 {
    u32::from_be_bytes(row.get(column).unwrap().try_into().unwrap())
}

#[test]
fn rows_survive_a_close_and_an_open() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let mut model = Rows::new();
    let mut trx = begin(&engine);
    for id in 0..500u32 {
        let (k, c, blob) = (id % 7, format!("row {id}"), vec![id as u8; if id % 50 == 0 { 40_000 } else { 20 }]);
        insert(&mut trx, &table, id, k, &c, &blob).unwrap();
        model.insert(id, (k, c, blob));
    }
    trx.commit().unwrap();
    assert_eq!(contents(&engine, "t"), model);

    let mut trx = begin(&engine);
    for id in (0..500u32).step_by(3) {
        let row = get(&mut trx, &table, id, ReadMode::EXCLUSIVE).unwrap().unwrap();
        trx.update(&table, &row, &[(1, Some(&99u32.to_be_bytes())), (2, Some(format!("new {id}").as_bytes()))])
            .unwrap();
        let entry = model.get_mut(&id).unwrap();
        (entry.0, entry.1) = (99, format!("new {id}"));
    }
    for id in (1..500u32).step_by(5) {
        let row = get(&mut trx, &table, id, ReadMode::EXCLUSIVE).unwrap().unwrap();
        trx.delete(&table, &row).unwrap();
        model.remove(&id);
    }
    trx.commit().unwrap();
    assert_eq!(contents(&engine, "t"), model);
    assert_clean(&engine);
    engine.close().unwrap();
    drop(engine);

    let engine = open(&disk);
    assert!(engine.recovery_report().was_clean());
    assert_eq!(contents(&engine, "t"), model);
    assert_clean(&engine);
    while engine.step().unwrap() {}
    assert_eq!(contents(&engine, "t"), model);
    assert_eq!(engine.status().history_list_length, 0);
    assert_clean(&engine);
    engine.close().unwrap();
}

#[test]
fn a_rollback_leaves_nothing() {
    let disk = SimDisk::new(2);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let mut trx = begin(&engine);
    for id in 0..50 {
        insert(&mut trx, &table, id, id, &format!("{id}"), &[7; 20_000]).unwrap();
    }
    trx.commit().unwrap();
    let before = contents(&engine, "t");

    let mut trx = begin(&engine);
    insert(&mut trx, &table, 100, 1, "hundred", b"x").unwrap();
    let savepoint = trx.savepoint();
    insert(&mut trx, &table, 101, 1, "hundred and one", b"x").unwrap();
    let row = get(&mut trx, &table, 7, ReadMode::EXCLUSIVE).unwrap().unwrap();
    trx.update(&table, &row, &[(0, Some(&777u32.to_be_bytes())), (3, Some(&[8; 30_000]))]).unwrap();
    trx.rollback_to(savepoint).unwrap();
    assert!(get(&mut trx, &table, 101, ReadMode::Consistent).unwrap().is_none());
    assert!(get(&mut trx, &table, 777, ReadMode::Consistent).unwrap().is_none());
    assert!(get(&mut trx, &table, 100, ReadMode::Consistent).unwrap().is_some());
    assert_eq!(get(&mut trx, &table, 7, ReadMode::Consistent).unwrap().unwrap().get(3).unwrap().len(), 20_000);

    // A duplicate in the second unique index takes the whole row back.
    let error = insert(&mut trx, &table, 102, 1, "HUNDRED", b"x").unwrap_err();
    assert!(matches!(error, Error::DuplicateKey { index: 2 }), "{error}");
    assert!(get(&mut trx, &table, 102, ReadMode::Consistent).unwrap().is_none());
    trx.rollback().unwrap();
    assert_eq!(contents(&engine, "t"), before);
    while engine.step().unwrap() {}
    assert_clean(&engine);
}

#[test]
fn readers_see_their_snapshot() {
    let disk = SimDisk::new(3);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let mut trx = begin(&engine);
    insert(&mut trx, &table, 1, 10, "one", b"").unwrap();
    trx.commit().unwrap();

    let mut reader = begin(&engine);
    let mut committed = engine.begin(TrxOptions { isolation: Isolation::ReadCommitted, ..wait() });
    let k = |trx: &mut Trx| number(&get(trx, &table, 1, ReadMode::Consistent).unwrap().unwrap(), 1);
    committed.statement_begin();
    assert_eq!((k(&mut reader), k(&mut committed)), (10, 10));
    let mut writer = begin(&engine);
    let row = get(&mut writer, &table, 1, ReadMode::EXCLUSIVE).unwrap().unwrap();
    writer.update(&table, &row, &[(1, Some(&11u32.to_be_bytes()))]).unwrap();
    committed.statement_begin();
    assert_eq!((k(&mut reader), k(&mut committed), k(&mut writer)), (10, 10, 11));
    writer.commit().unwrap();
    assert_eq!(k(&mut reader), 10);
    while engine.step().unwrap() {}
    committed.statement_begin();
    assert_eq!((k(&mut reader), k(&mut committed)), (10, 11));
    reader.commit().unwrap();
    committed.commit().unwrap();
}

#[test]
fn ranges_go_both_ways() {
    let disk = SimDisk::new(4);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let mut trx = begin(&engine);
    for id in 0..1000u32 {
        insert(&mut trx, &table, id, id / 10, &format!("{id}"), b"x").unwrap();
    }
    let ids = |trx: &mut Trx, index, range: ScanRange<'_>| {
        let mut cursor = trx.cursor(&table, index, ReadMode::Consistent, all(&table), range).unwrap();
        let (mut row, mut ids) = (Row::new(), Vec::new());
        while cursor.next(trx, &mut row).unwrap() {
            ids.push(number(&row, 0));
        }
        ids
    };
    let (low, high) = (5u32.to_be_bytes(), 7u32.to_be_bytes());
    let (low, high) = ([Some(&low[..])], [Some(&high[..])]);
    let range = ScanRange { lower: Bound::Excluded(&low), upper: Bound::Included(&high), reverse: false };
    assert_eq!(ids(&mut trx, 0, range), [6, 7]);
    assert_eq!(ids(&mut trx, 1, range), (60..80).collect::<Vec<_>>());
    let back = ScanRange { reverse: true, ..range };
    assert_eq!(ids(&mut trx, 1, back), (60..80).rev().collect::<Vec<_>>());
    let all_back = ScanRange { reverse: true, ..ScanRange::ALL };
    assert_eq!(ids(&mut trx, 0, all_back), (0..1000).rev().collect::<Vec<_>>());
    trx.commit().unwrap();
}

#[test]
fn statements_about_tables() {
    let disk = SimDisk::new(5);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    assert!(matches!(engine.create_table(definition("t"), &wait()), Err(Error::Exists(_))));
    let mut trx = begin(&engine);
    for id in 0..2000u32 {
        insert(&mut trx, &table, id, id % 13, &format!("{id}"), &[1; 30]).unwrap();
    }
    trx.commit().unwrap();
    let rows = contents(&engine, "t");

    // An index more, an index less.
    let table = engine.create_index("d", "t", IndexDefinition::new("k_c", false, &[1, 2]), &wait()).unwrap();
    assert_eq!((table.indexes.len(), contents(&engine, "t") == rows), (4, true));
    assert_clean(&engine);
    let error = engine.create_index("d", "t", IndexDefinition::new("u", true, &[1]), &wait()).unwrap_err();
    assert!(matches!(&error, Error::DuplicateRows(rows) if &*rows.index == "u" && rows.key.len() == 1), "{error}");
    engine.drop_index("d", "t", "k_c", &wait()).unwrap();
    assert_clean(&engine);

    // Renames in a circle.
    engine.create_table(definition("u"), &wait()).unwrap();
    let circle = [(("d", "t"), ("d", "x")), (("d", "u"), ("d", "t")), (("d", "x"), ("d", "u"))];
    engine.rename_tables(&circle, &wait()).unwrap();
    assert_eq!((contents(&engine, "u") == rows, contents(&engine, "t").len()), (true, 0));

    // A rebuild under another key, from another column.
    let mut other = definition("u");
    other.indexes = vec![IndexDefinition::new("PRIMARY", true, &[2]), IndexDefinition::new("k", false, &[1])];
    other.columns[2].nullable = false;
    let (table, count) = engine.rebuild_table("d", "u", |own| *own = other, &wait()).unwrap();
    assert_eq!((count, &*table.indexes[0].name, contents(&engine, "u") == rows), (2000, "PRIMARY", true));
    assert_clean(&engine);

    engine.truncate_table("d", "u", &wait()).unwrap();
    assert_eq!(contents(&engine, "u").len(), 0);
    engine.drop_tables(&[("d", "t")], &wait()).unwrap();
    assert!(engine.table("d", "t").is_none());
    assert_clean(&engine);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    assert_eq!(engine.tables("d").len(), 1);
    assert_eq!(engine.drop_database("d", &wait()).unwrap(), 1);
    assert!(engine.databases().is_empty());
    assert!(!disk.exists("d").unwrap());
    assert_clean(&engine);
}

#[test]
fn auto_increment_never_goes_back() {
    let disk = SimDisk::new(6);
    let engine = create(&disk);
    let mut asked = definition("t");
    asked.columns[0].auto_increment = true;
    asked.auto_increment_start = 10;
    let table = engine.create_table(asked, &wait()).unwrap();
    assert_eq!(engine.auto_increment(&table).unwrap(), 10);
    assert_eq!(engine.reserve_auto_increment(&table, 3, 1, 1).unwrap(), 10);
    engine.raise_auto_increment(&table, 99).unwrap();
    assert_eq!(engine.reserve_auto_increment(&table, 1, 5, 10).unwrap(), 105);
    // The root grows above it.
    let mut trx = begin(&engine);
    for id in 0..1000 {
        insert(&mut trx, &table, id, 1, &format!("{id}"), &[1; 100]).unwrap();
    }
    trx.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    let table = engine.table("d", "t").unwrap();
    assert_eq!(engine.auto_increment(&table).unwrap(), 106);
}

#[test]
fn a_crash_keeps_what_was_committed() {
    let disk = SimDisk::new(7);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let mut trx = begin(&engine);
    for id in 0..300u32 {
        insert(&mut trx, &table, id, id, &format!("{id}"), &[2; 200]).unwrap();
    }
    trx.commit().unwrap();
    let committed = contents(&engine, "t");
    let mut lost = begin(&engine);
    for id in 300..400u32 {
        insert(&mut lost, &table, id, id, &format!("{id}"), &[2; 200]).unwrap();
    }
    let row = get(&mut lost, &table, 5, ReadMode::EXCLUSIVE).unwrap().unwrap();
    lost.delete(&table, &row).unwrap();
    // The log of the unfinished transaction is durable, too.
    let mut other = begin(&engine);
    let row = get(&mut other, &table, 6, ReadMode::EXCLUSIVE).unwrap().unwrap();
    other.update(&table, &row, &[(1, Some(&77u32.to_be_bytes()))]).unwrap();
    other.commit().unwrap();
    let after = disk.crash();
    std::mem::forget(lost);
    drop(engine);

    let engine = open(&after);
    assert!(!engine.recovery_report().was_clean());
    assert_eq!(engine.recovery_report().transactions_to_roll_back, 1);
    let mut expected = committed;
    expected.get_mut(&6).unwrap().0 = 77;
    assert_eq!(contents(&engine, "t"), expected);
    while engine.step().unwrap() {}
    assert_clean(&engine);
}

/// Runs DDL with a crash at each change of the disk in turn: afterwards it has happened or not, and nothing is left
/// over.
#[test]
fn ddl_is_all_or_nothing_wherever_it_crashes() {
    type Step = fn(&Arc<Engine>) -> storage::Result<()>;
    let steps: [(&str, Step); 8] = [
        ("create", |engine| engine.create_table(definition("new"), &wait()).map(drop)),
        ("drop", |engine| engine.drop_tables(&[("d", "t"), ("d", "u")], &wait())),
        ("rename", |engine| engine.rename_tables(&[(("d", "t"), ("d", "x")), (("d", "u"), ("d", "t"))], &wait())),
        ("truncate", |engine| engine.truncate_table("d", "t", &wait())),
        ("rebuild", |engine| engine.rebuild_table("d", "t", |own| *own = definition("t"), &wait()).map(drop)),
        ("create index", |engine| {
            engine.create_index("d", "t", IndexDefinition::new("k_c", false, &[1, 2]), &wait()).map(drop)
        }),
        ("alter", |engine| {
            let wait = wait();
            let locked = engine.lock_definitions(&[("d", "t"), ("d", "v")], Relatives::Along, &wait)?;
            let mut alteration = locked.alter("d", "t")?;
            let indexes = &mut alteration.definition.indexes;
            indexes.pop();
            indexes.extend([IndexDefinition::new("x", false, &[1, 2]), IndexDefinition::new("y", false, &[2])]);
            alteration.definition.name = "v".into();
            alteration.in_place().map(drop)
        }),
        ("drop database", |engine| engine.drop_database("d", &wait()).map(drop)),
    ];
    let base = SimDisk::new(8);
    let engine = create(&base);
    for name in ["t", "u"] {
        let table = engine.create_table(definition(name), &wait()).unwrap();
        let mut trx = begin(&engine);
        for id in 0..40u32 {
            insert(&mut trx, &table, id, id, &format!("{name}{id}"), &[2; 20]).unwrap();
        }
        trx.commit().unwrap();
    }
    engine.close().unwrap();
    drop(engine);

    let facts = |engine: &Arc<Engine>| -> Vec<(String, usize, Rows)> {
        engine
            .tables("d")
            .iter()
            .map(|table| (table.name.to_string(), table.indexes.len(), contents(engine, &table.name)))
            .collect()
    };
    for (name, step) in steps {
        let before = facts(&open(&base.duplicate()));
        let whole = base.duplicate();
        let engine = open(&whole);
        let start = whole.changes();
        step(&engine).unwrap();
        let after = facts(&engine);
        let end = whole.changes();
        drop(engine);
        assert!(end > start, "{name} changes the disk");
        for at in start..=end {
            let disk = base.duplicate();
            let engine = open(&disk);
            disk.set_faults(|faults| faults.crash_at = Some(at));
            let outcome = step(&engine);
            let survivor = disk.crash();
            drop(engine);
            let engine = open(&survivor);
            let found = facts(&engine);
            assert!(found == before || found == after, "{name}, crash at {at}: neither before nor after");
            if outcome.is_ok() {
                assert!(found == after, "{name}, crash at {at}: acknowledged and lost");
            }
            while engine.step().unwrap() {}
            assert_clean(&engine);
            let expected = found.len() + 2;
            assert_eq!(engine.tablespaces().unwrap().len(), expected, "{name}, crash at {at}: a file is left over");
            let files = survivor.list("d").map_or(0, |files| files.len());
            assert_eq!(files, found.len(), "{name}, crash at {at}: a file is left over");
        }
    }
}

#[test]
fn threads_keep_each_other_consistent() {
    let disk = SimDisk::new(9);
    let engine = create(&disk);
    let table = engine.create_table(definition("t"), &wait()).unwrap();
    let accounts = 20u32;
    let mut trx = begin(&engine);
    for id in 0..accounts {
        insert(&mut trx, &table, id, 100, &format!("{id}"), b"").unwrap();
    }
    trx.commit().unwrap();
    let threads: Vec<_> = (0..4u64)
        .map(|number| {
            let (engine, table) = (engine.clone(), table.clone());
            std::thread::spawn(move || {
                let mut random = storage::io::sim::Random::new(number);
                let (mut done, mut deadlocks) = (0, 0);
                while done < 200 {
                    let (from, to) = (random.below(20) as u32, random.below(20) as u32);
                    if from == to {
                        continue;
                    }
                    let mut trx = begin(&engine);
                    let outcome = (|| {
                        for (id, by) in [(from, -1i32), (to, 1)] {
                            let row = get(&mut trx, &table, id, ReadMode::EXCLUSIVE)?.unwrap();
                            let k = (number_of(&row) as i32 + by) as u32;
                            trx.update(&table, &row, &[(1, Some(&k.to_be_bytes()))])?;
                        }
                        Ok(())
                    })();
                    match outcome {
                        Ok(()) => {
                            trx.commit().unwrap();
                            done += 1;
                        }
                        Err(Error::Deadlock) => deadlocks += 1,
                        Err(error) => panic!("{error}"),
                    }
                    if random.chance(8) {
                        let mut reader = begin(&engine);
                        let total: u32 = scan(&mut reader, &table, 0).values().map(|row| row.0).sum();
                        assert_eq!(total, 2000, "a reader sees whole transfers");
                    }
                }
                deadlocks
            })
        })
        .collect();
    let deadlocks: i32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{deadlocks} deadlocks");
    let total: u32 = contents(&engine, "t").values().map(|row| row.0).sum();
    assert_eq!(total, 2000);
    while engine.step().unwrap() {}
    assert_clean(&engine);
}

fn number_of(row: &Row) -> u32 {
    number(row, 1)
}

#[test]
fn ddl_waits_for_transactions_and_shuts_older_snapshots_out() {
    let disk = SimDisk::new(10);
    let engine = create(&disk);
    engine.create_table(definition("t"), &wait()).unwrap();
    engine.create_table(definition("u"), &wait()).unwrap();
    let mut trx = begin(&engine);
    let table = trx.open_table("d", "t").unwrap();
    insert(&mut trx, &table, 1, 1, "one", b"").unwrap();
    let hurried = TrxOptions { metadata_wait_timeout: Duration::from_millis(20), ..wait() };
    assert!(matches!(engine.drop_tables(&[("d", "t")], &hurried), Err(Error::LockWaitTimeout)));
    // A name that is not used is not waited for.
    engine.rename_tables(&[(("d", "u"), ("d", "v"))], &hurried).unwrap();
    let changing = {
        let engine = engine.clone();
        std::thread::spawn(move || {
            engine.create_index("d", "t", IndexDefinition::new("k_c", false, &[1, 2]), &wait()).map(drop)
        })
    };
    std::thread::sleep(Duration::from_millis(50));
    insert(&mut trx, &table, 2, 2, "two", b"").unwrap();
    trx.commit().unwrap();
    changing.join().unwrap().unwrap();
    assert_eq!(contents(&engine, "t").len(), 2);

    // The plan of an earlier statement is recognised as stale.
    let mut trx = begin(&engine);
    assert!(!trx.lock_table(&table, storage::TableUse::Read).unwrap());
    assert_eq!(trx.open_table("d", "t").unwrap().indexes.len(), 4);
    trx.commit().unwrap();
    // A snapshot from before a rebuild cannot read the rebuilt table.
    let mut old = begin(&engine);
    old.take_snapshot();
    engine.rebuild_table("d", "t", |_| (), &wait()).unwrap();
    assert!(matches!(old.open_table("d", "t"), Err(Error::TableChanged)));
    old.rollback().unwrap();
    assert_clean(&engine);
}

#[test]
fn every_page_size_works() {
    for page_bytes in [4096, 8192, 16384, 32768, 65536] {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(page_bytes as u64));
        let config = Config { page_bytes, pool_bytes: 128 * page_bytes as u64, log_bytes: 8 << 20, ..Config::tiny() };
        Engine::create(disk.clone(), &config).unwrap();
        // The instance knows its page size; an option that differs is overruled or refused, never believed.
        let engine = Engine::open(disk.clone(), config.clone()).unwrap();
        engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
        let table = engine.create_table(definition("t"), &wait()).unwrap();
        let mut trx = begin(&engine);
        for id in 0..600u32 {
            let blob = vec![id as u8; if id % 100 == 0 { 150_000 } else { id as usize }];
            insert(&mut trx, &table, id.reverse_bits() >> 8, id, &format!("{id}"), &blob).unwrap();
        }
        trx.commit().unwrap();
        let rows = contents(&engine, "t");
        assert_eq!(rows.len(), 600);
        engine.rebuild_table("d", "t", |own| *own = definition("t"), &wait()).unwrap();
        while engine.step().unwrap() {}
        assert_clean(&engine);
        engine.close().unwrap();
        drop(engine);
        let engine = Engine::open(disk, config).unwrap();
        assert_eq!(contents(&engine, "t"), rows);
        assert_clean(&engine);
    }
}

/// Names of files in the data directory that belong to dropped tables.
fn dropped_files(disk: &SimDisk) -> Vec<String> {
    let names = disk.list("").unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.starts_with("#dropped-")).collect()
}

#[test]
fn a_large_table_is_dropped_in_slices_also_across_a_crash() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    for name in ["large", "small", "emptied"] {
        let table = engine.create_table(definition(name), &wait()).unwrap();
        let rows = if name == "small" { 1 } else { 400 };
        let mut trx = begin(&engine);
        for id in 0..rows {
            // Nothing that a codec could make smaller.
            let mut random = storage::io::sim::Random::new(u64::from(id));
            let blob: Vec<u8> = (0..4000).map(|_| random.next() as u8).collect();
            insert(&mut trx, &table, id, id, &format!("{id}"), &blob).unwrap();
        }
        trx.commit().unwrap();
    }
    engine.store().checkpoint().unwrap();
    let allocated = || disk.used_blocks();
    let before = allocated();
    engine.drop_tables(&[("d", "large"), ("d", "small")], &wait()).unwrap();
    engine.truncate_table("d", "emptied", &wait()).unwrap();
    // The small one is gone at once; of the others, the names.
    assert_eq!(dropped_files(&disk).len(), 2);
    assert!(allocated() > before / 2);
    let status = engine.status().store;
    assert_eq!((status.dropped_files_now, status.dropped_files_removed), (2, 1));
    assert!(status.dropped_bytes_now > 2 << 20, "{status:?}");

    // Each step takes a bounded bite.
    let mut last = status.dropped_bytes_now;
    let bytes_now = || engine.status().store.dropped_bytes_now;
    for _ in 0..1000 {
        engine.store().trash_step().unwrap();
        if bytes_now() < status.dropped_bytes_now {
            break;
        }
    }
    assert!(bytes_now() > 0 && bytes_now() < last, "{} of {last}", bytes_now());
    last = bytes_now();
    drop(engine);

    // What is left is found by the next life, and removed there.
    let disk = disk.crash();
    let engine = open(&disk);
    assert!(engine.status().store.dropped_bytes_now >= last / 2);
    assert!(contents(&engine, "emptied").is_empty());
    while engine.step().unwrap() {}
    assert_eq!(dropped_files(&disk), Vec::<String>::new());
    assert_eq!(engine.status().store.dropped_files_now, 0);
    assert_eq!(engine.check().unwrap().errors, Vec::<String>::new());
    engine.drop_database("d", &wait()).unwrap();
    while engine.step().unwrap() {}
    assert!(!disk.exists("d").unwrap());
}

#[test]
fn deleted_rows_give_their_blocks_back() {
    for crashes in [false, true] {
        let disk = SimDisk::new(1);
        let engine = create(&disk);
        let table = engine.create_table(definition("t"), &wait()).unwrap();
        let mut trx = begin(&engine);
        for id in 0..3000 {
            insert(&mut trx, &table, id, id, &format!("{id}"), &[id as u8; 3000]).unwrap();
        }
        trx.commit().unwrap();
        engine.store().checkpoint().unwrap();
        let allocated = |engine: &Engine| {
            engine.tablespaces().unwrap().iter().find(|space| space.name == "d/t").unwrap().allocated_bytes
        };
        let before = allocated(&engine);
        let mut trx = begin(&engine);
        for id in 10..2990 {
            let row = get(&mut trx, &table, id, ReadMode::EXCLUSIVE).unwrap().unwrap();
            trx.delete(&table, &row).unwrap();
        }
        trx.commit().unwrap();
        // After a crash in between the list of freed pages is lost; the pages are found again.
        let mut engine = engine;
        let mut steps = 0;
        while engine.step().unwrap() {
            steps += 1;
            if crashes && steps == 8 {
                drop(engine);
                engine = open(&disk.crash());
            }
        }
        let after = allocated(&engine);
        assert!(after * 4 < before, "{after} of {before} bytes are left");
        assert!(engine.status().store.freed_bytes_released > 0);
        assert_eq!(engine.check().unwrap().errors, Vec::<String>::new());
        // What was given back can be used again.
        let table = engine.table("d", "t").unwrap();
        let mut trx = begin(&engine);
        for id in 10..500 {
            insert(&mut trx, &table, id, id, &format!("{id}"), &[id as u8; 3000]).unwrap();
        }
        trx.commit().unwrap();
        while engine.step().unwrap() {}
        assert_eq!(contents(&engine, "t").len(), 510);
        engine.close().unwrap();
    }
}
