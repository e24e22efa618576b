//! A failure in the middle of a change of shape, or of a commit, is the error of one statement: nothing of it is left,
//! and the engine goes on, also after a restart.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::{Random, SimDisk};
use storage::io::{Caching, Disk, OpenMode};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row, Table, TableDefinition, Trx,
    TrxOptions,
};

fn open(disk: &SimDisk, config: &Config) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), config.clone()).unwrap()
}

fn number() -> ColumnType {
    ColumnType::Int { bytes: 4, unsigned: true }
}

/// An instance with a table `d.t`, whose rows are about 270 bytes long.
fn instance(config: &Config) -> (SimDisk, Arc<Engine>, Arc<Table>) {
    let disk = SimDisk::new(9);
    Engine::create(Arc::new(disk.clone()), config).unwrap();
    let engine = open(&disk, config);
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", number(), false),
            Column::new("v", number(), false),
            Column::new("filler", ColumnType::Binary { bytes: 250 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    let table = engine.create_table(definition, &TrxOptions::patient()).unwrap();
    (disk, engine, table)
}

fn insert(trx: &mut Trx, table: &Table, id: u32) -> Result<()> {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&0u32.to_be_bytes()), Some(&[b'x'; 250])])
}

fn update(trx: &mut Trx, table: &Table, id: u32, v: u32) -> Result<()> {
    let mut row = Row::new();
    let key = [Some(&id.to_be_bytes()[..])];
    assert!(trx.get(table, 0, &key, ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)?);
    trx.update(table, &row, &[(1, Some(&v.to_be_bytes()))])
}

fn value(trx: &mut Trx, table: &Table, id: u32) -> Result<Option<u32>> {
    let mut row = Row::new();
    let key = [Some(&id.to_be_bytes()[..])];
    let found = trx.get(table, 0, &key, ReadMode::Consistent, &ColumnSet::first(3), &mut row)?;
    Ok(found.then(|| u32::from_be_bytes(row.get(1).unwrap().try_into().unwrap())))
}

#[test]
fn a_split_beside_a_damaged_page_is_an_error_of_one_statement() {
    const DAMAGED: u64 = 8;
    let config = Config { page_bytes: 4096, pool_bytes: 256 * 4096, ..Config::tiny() };
    let (disk, engine, table) = instance(&config);
    let mut trx = engine.begin(TrxOptions::default());
    (0..400).for_each(|id| insert(&mut trx, &table, 2 * id).unwrap());
    trx.commit().unwrap();
    engine.close().unwrap();
    drop((table, engine));

    let file = disk.open("d/t.ibd", OpenMode::ReadWrite, Caching::Cached).unwrap();
    let mut byte = [0];
    file.read_at(DAMAGED * 4096 + 200, &mut byte).unwrap();
    file.write_at(DAMAGED * 4096 + 200, &[byte[0] ^ 1]).unwrap();
    for life in 0..2 {
        let engine = open(&disk, &config);
        let mut trx = engine.begin(TrxOptions::default());
        let table = trx.open_table("d", "t").unwrap();
        let (mut refused, mut done) = (0, Vec::new());
        // Between all rows, so that each leaf splits, and the one left of the damaged page, too.
        for id in (0..400).map(|id| 2 * id + 1) {
            match insert(&mut trx, &table, id) {
                Ok(()) => done.push(id),
                Err(Error::DuplicateKey { .. }) if life == 1 => done.push(id),
                Err(Error::Corrupt { page: Some(page), .. }) => {
                    assert_eq!(u64::from(page.page.0), DAMAGED);
                    refused += 1;
                }
                Err(error) => panic!("row {id}: {error}"),
            }
            assert!(!engine.store().is_poisoned(), "row {id}");
        }
        // The rows of the damaged page itself, and those that would split the leaf before it: but not all of that leaf.
        assert!((8..40).contains(&refused), "{refused}");
        trx.commit().unwrap();
        let mut trx = engine.begin(TrxOptions::default());
        for id in done {
            assert_eq!(value(&mut trx, &table, id).unwrap(), Some(0));
        }
        trx.commit().unwrap();
        engine.close().unwrap();
    }
}

#[test]
fn a_commit_whose_history_cannot_be_read_is_an_error_of_that_commit() {
    // Few frames, so that the pages of the history are not in memory.
    let config = Config { page_bytes: 4096, pool_bytes: 40 * 4096, ..Config::tiny() };
    let (disk, engine, table) = instance(&config);
    let mut trx = engine.begin(TrxOptions::default());
    (0..600).for_each(|id| insert(&mut trx, &table, id).unwrap());
    trx.commit().unwrap();
    let scan = || {
        let mut trx = engine.begin(TrxOptions::default());
        (0..600).for_each(|id| assert!(value(&mut trx, &table, id).unwrap().is_some()));
        trx.commit().unwrap();
    };
    // An open read view, so that purge leaves the history alone.
    let mut reader = engine.begin(TrxOptions::default());
    assert_eq!(value(&mut reader, &table, 0).unwrap(), Some(0));
    let mut refused = 0;
    let mut v = 0;
    for round in 0..12 {
        // As many transactions as there are rollback segments, so that each has a history.
        for _ in 0..32 {
            v += 1;
            let mut trx = engine.begin(TrxOptions::default());
            // More than one page of undo, so that the next one does not write to the same pages.
            (0..30).for_each(|id| update(&mut trx, &table, id, v).unwrap());
            engine.store().checkpoint().unwrap();
            scan();
            let read = disk.reads() + 1 + round % 6;
            // Twice: a commit tries again once.
            disk.set_faults(|faults| (faults.failing_read, faults.failing_reads) = (Some(read), 2));
            match trx.commit() {
                Ok(()) => {}
                Err(Error::Io { .. }) => refused += 1,
                Err(error) => panic!("commit: {error}"),
            }
            disk.set_faults(|faults| faults.failing_read = None);
            assert!(!engine.store().is_poisoned());
        }
    }
    assert!(refused > 20, "{refused} commits were refused");
    drop((reader, table));
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, &config);
    assert!(engine.check().unwrap().is_clean());
}

/// Rows of changing length under two indexes, so that undoing them needs pages, frames and log space.
fn wide_table(engine: &Arc<Engine>) -> Arc<Table> {
    let definition = TableDefinition {
        database: "d".into(),
        name: "wide".into(),
        columns: vec![
            Column::new("id", number(), false),
            Column::new("v", number(), false),
            Column::new("long", ColumnType::VarBinary { bytes: 900 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("by_v", false, &[1])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap()
}

/// Inserts rows of random lengths until `statements` are done or refused. A full disk is the only possible error.
fn change(random: &mut Random, trx: &mut Trx, table: &Table, statements: u32) -> u32 {
    let mut refused = 0;
    for _ in 0..statements {
        let (id, v) = (random.below(200) as u32, random.next() as u32);
        let (id, v, long) = (id.to_be_bytes(), v.to_be_bytes(), vec![v as u8; random.below(900) as usize]);
        let (key, mut row) = ([Some(&id[..])], Row::new());
        let found = trx.get(table, 0, &key, ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row);
        let done = found.and_then(|found| match found {
            true => trx.update(table, &row, &[(1, Some(&v)), (2, Some(&long))]),
            false => trx.insert(table, &[Some(&id), Some(&v), Some(&long)]),
        });
        match done {
            Ok(()) => {}
            Err(Error::DiskFull { .. }) => refused += 1,
            Err(error) => panic!("a full disk answers: {error}"),
        }
    }
    refused
}

#[test]
fn a_full_disk_refuses_statements_while_what_was_done_can_be_undone_and_committed() {
    let mut refused = 0;
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let config = Config { page_bytes: 4096, pool_bytes: 64 * 4096, log_bytes: 512 << 10, ..Config::tiny() };
        let (disk, engine, _) = instance(&config);
        let table = wide_table(&engine);
        let mut trx = engine.begin(TrxOptions::default());
        assert_eq!(change(&mut random, &mut trx, &table, 300), 0);
        trx.commit().unwrap();
        let full = disk.used_blocks() + random.below(20);
        disk.set_faults(|faults| faults.capacity_blocks = Some(full));
        for _ in 0..3 {
            let mut trx = engine.begin(TrxOptions::default());
            refused += change(&mut random, &mut trx, &table, 250);
            match random.chance(2) {
                true => trx.rollback().unwrap(),
                false => trx.commit().unwrap(),
            }
            assert!(!engine.store().is_poisoned());
            assert_eq!(
                engine.status().rollbacks.transactions,
                0,
                "seed {seed}: a transaction was taken from its client"
            );
        }
        disk.set_faults(|faults| faults.capacity_blocks = None);
        let mut trx = engine.begin(TrxOptions::default());
        assert_eq!(change(&mut random, &mut trx, &table, 30), 0);
        trx.commit().unwrap();
        assert!(engine.check().unwrap().is_clean());
    }
    assert!(refused > 200, "{refused} statements were refused");
}
