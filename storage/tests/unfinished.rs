//! A table that is created together with its rows is there with all of them, or not at all: after a crash at any change of
//! the disk, and when the creation is given up. A table that it replaces is there until then.

use std::sync::Arc;

use format::collation::CollationId;
use format::ids::Lsn;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::schema::{Column, ColumnSet, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition};
use storage::{Annexed, CommitLog, Config, Engine, Error, Relatives, Result, Table, TrxOptions, UnfinishedTable};

const ROWS: u64 = 40;

struct Noting;

impl CommitLog for Noting {
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        append(None)
    }

    fn note(&self) -> Option<(u32, Vec<u8>)> {
        Some((3, b"filled".to_vec()))
    }
}

fn open(disk: &SimDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), Config::tiny())
}

fn definition(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 8, unsigned: true }, false),
            Column::new("body", ColumnType::VarBinary { bytes: 500 }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    }
}

/// Begins to create a table.
fn begin(engine: &Arc<Engine>, name: &str) -> Result<UnfinishedTable> {
    let wait = TrxOptions::patient();
    engine.lock_definitions(&[("d", name)], Relatives::Along, &wait)?.begin_table(engine, definition(name), false)
}

/// Inserts its rows, one by one or all at once.
fn fill(engine: &Arc<Engine>, unfinished: &UnfinishedTable, in_bulk: bool) -> Result<()> {
    let table = unfinished.table();
    if !in_bulk {
        return insert(engine, table, ROWS);
    }
    let mut trx = engine.begin(TrxOptions::patient());
    trx.set_unfinished_table(table);
    let mut rows = trx.fill_unfinished(table).expect("it is the table of the transaction");
    for id in (0..ROWS).rev() {
        rows.push(&[Some(&id.to_be_bytes()), Some(&[7; 300])])?;
    }
    rows.finish(&mut trx)?;
    trx.commit()
}

fn insert(engine: &Arc<Engine>, table: &Arc<Table>, rows: u64) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::patient());
    for id in 0..rows {
        trx.insert(table, &[Some(&id.to_be_bytes()), Some(&[7; 300])])?;
    }
    trx.commit()
}

fn count(engine: &Arc<Engine>, name: &str) -> Option<u64> {
    engine.table("d", name)?;
    let mut trx = engine.begin(TrxOptions::patient());
    let table = trx.open_table("d", name).unwrap();
    let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, ColumnSet::first(1), ScanRange::ALL).unwrap();
    let (mut row, mut rows) = (Row::new(), 0);
    while cursor.next(&mut trx, &mut row).unwrap() {
        rows += 1;
    }
    Some(rows)
}

fn files(disk: &SimDisk) -> Vec<String> {
    use storage::io::Disk;
    let mut names: Vec<String> = disk.list("d").unwrap().into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

fn instance(seed: u64) -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(seed);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = open(&disk).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    (disk, engine)
}

#[test]
fn after_a_crash_the_table_has_all_rows_or_is_not_there() {
    let mut seen = [[0; 2]; 2];
    for (seed, in_bulk) in (0..120).flat_map(|seed| [(seed, false), (seed, true)]) {
        let (disk, engine) = instance(seed);
        let crash_at = disk.changes() + 1 + seed;
        disk.set_faults(|faults| faults.crash_at = Some(crash_at));
        let done = begin(&engine, "t").and_then(|unfinished| {
            fill(&engine, &unfinished, in_bulk)?;
            unfinished.finish(Some(&Noting)).map(drop)
        });
        let disk = disk.crash();
        drop(engine);
        let engine = open(&disk).unwrap();
        let found = count(&engine, "t");
        assert!(matches!(found, None | Some(ROWS)), "seed {seed}: {found:?} rows");
        assert!(done.is_err() || found.is_some(), "seed {seed}: what was acknowledged is lost");
        let wanted = found.map(|_| b"filled".to_vec());
        assert_eq!(engine.note(3).unwrap(), wanted, "seed {seed}: the note is that of the table");
        seen[usize::from(in_bulk)][usize::from(found.is_some())] += 1;
        // Nothing is left of a table that is not there, and its name is free.
        if found.is_none() {
            let unfinished = begin(&engine, "t").unwrap();
            fill(&engine, &unfinished, in_bulk).unwrap();
            unfinished.finish(None).unwrap();
            assert_eq!(count(&engine, "t"), Some(ROWS));
        }
        while engine.step().unwrap() {}
        engine.close().unwrap();
        assert_eq!(files(&disk), ["t.ibd"], "seed {seed}");
    }
    assert!(seen.iter().flatten().all(|count| *count > 0), "both ends were met: {seen:?}");
}

#[test]
fn after_a_crash_there_is_the_table_that_was_replaced_or_the_new_one() {
    const OLD_ROWS: u64 = 3;
    for is_filled in [true, false] {
        let mut seen = [0; 2];
        for seed in 0..100 {
            let (disk, engine) = instance(seed);
            let wait = TrxOptions::patient();
            let old = engine.create_table(definition("t"), &wait).unwrap();
            insert(&engine, &old, OLD_ROWS).unwrap();
            let crash_at = disk.changes() + 1 + seed;
            disk.set_faults(|faults| faults.crash_at = Some(crash_at));
            let replace = || {
                let locked = engine.lock_definitions(&[("d", "t")], Relatives::Along, &wait)?;
                if !is_filled {
                    return locked.create_or_replace(definition("t")).map(drop);
                }
                let unfinished = locked.begin_table(&engine, definition("t"), true)?;
                fill(&engine, &unfinished, seed % 2 == 0)?;
                unfinished.finish(None).map(drop)
            };
            let done = replace();
            let disk = disk.crash();
            drop((old, engine));
            let engine = open(&disk).unwrap();
            let (found, new) = (count(&engine, "t"), if is_filled { ROWS } else { 0 });
            assert!(found == Some(OLD_ROWS) || found == Some(new), "seed {seed}: {found:?} rows");
            assert!(done.is_err() || found == Some(new), "seed {seed}: what was acknowledged is lost");
            seen[usize::from(found == Some(new))] += 1;
            while engine.step().unwrap() {}
            engine.close().unwrap();
            assert_eq!(files(&disk), ["t.ibd"], "seed {seed}");
        }
        assert!(seen.iter().all(|count| *count > 0), "both ends were met: {seen:?}");
    }
}

#[test]
fn a_creation_that_is_given_up_leaves_nothing() {
    let (disk, engine) = instance(1);
    for rows_first in [true, false] {
        let unfinished = begin(&engine, "t").unwrap();
        let mut trx = engine.begin(TrxOptions::patient());
        for id in 0..ROWS {
            trx.insert(unfinished.table(), &[Some(&id.to_be_bytes()), None]).unwrap();
        }
        match rows_first {
            true => {
                trx.rollback().unwrap();
                drop(unfinished);
            }
            false => {
                drop(unfinished);
                trx.rollback().unwrap();
            }
        }
        assert_eq!(count(&engine, "t"), None);
        while engine.step().unwrap() {}
        assert!(files(&disk).is_empty(), "{:?}", files(&disk));
    }
    engine.close().unwrap();
}

#[test]
fn a_key_that_is_there_twice_is_found_when_all_rows_are_there() {
    let (disk, engine) = instance(1);
    let unfinished = begin(&engine, "t").unwrap();
    let other = engine.create_table(definition("other"), &TrxOptions::patient()).unwrap();
    let mut trx = engine.begin(TrxOptions::patient());
    assert!(trx.fill_unfinished(unfinished.table()).is_none(), "nobody has said that it is to be filled");
    trx.set_unfinished_table(unfinished.table());
    assert!(trx.fill_unfinished(&other).is_none(), "it is there already");
    let mut rows = trx.fill_unfinished(unfinished.table()).unwrap();
    for id in (0..ROWS).chain([7]) {
        rows.push(&[Some(&id.to_be_bytes()), None]).unwrap();
    }
    let Err(Error::DuplicateRows(twice)) = rows.finish(&mut trx) else { panic!("7 is there twice") };
    assert_eq!((&*twice.index, &twice.key[..]), ("PRIMARY", &[Some(7_u64.to_be_bytes().to_vec())][..]));
    drop((trx, unfinished, other));
    while engine.step().unwrap() {}
    assert_eq!(files(&disk), ["other.ibd"]);
    engine.close().unwrap();
}

#[test]
fn the_name_is_locked_until_the_table_is_whole() {
    let (_disk, engine) = instance(1);
    let unfinished = begin(&engine, "t").unwrap();
    assert!(engine.table("d", "t").is_none());
    let impatient = TrxOptions { metadata_wait_timeout: std::time::Duration::ZERO, ..TrxOptions::default() };
    let refused = engine.create_table(definition("t"), &impatient).unwrap_err();
    assert!(matches!(refused, Error::LockWaitTimeout), "{refused}");
    // A view that is older than the table may not read it.
    let mut old = engine.begin(TrxOptions::patient());
    old.take_snapshot();
    fill(&engine, &unfinished, true).unwrap();
    unfinished.finish(None).unwrap();
    assert!(matches!(old.open_table("d", "t"), Err(Error::TableChanged)));
    drop(old);
    assert_eq!(count(&engine, "t"), Some(ROWS));
    assert!(matches!(engine.create_table(definition("t"), &impatient), Err(Error::Exists(_))));
    engine.close().unwrap();
}
