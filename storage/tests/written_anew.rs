//! Threads that change a table, each its own rows, while another thread writes the table anew again and again: in the end
//! the table has what each of them has committed, by each index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize};
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Isolation, ReadMode, Row, ScanRange, TableDefinition,
    TrxOptions,
};

const WRITERS: u32 = 3;
const COLUMNS: usize = 4;
/// Of each writer.
const IDS: u64 = 400;

type Values = Vec<Option<Vec<u8>>>;
type Rows = BTreeMap<u32, Values>;

fn definition() -> TableDefinition {
    let mut prefix = IndexDefinition::new("b", false, &[3, 1]);
    prefix.parts[0].prefix_chars = Some(10);
    TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, true),
            Column::new("u", ColumnType::Int { bytes: 4, unsigned: true }, true),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![
            IndexDefinition::new("PRIMARY", true, &[0]),
            IndexDefinition::new("k", false, &[1]),
            IndexDefinition::new("u", true, &[2]),
            prefix,
        ],
        ..TableDefinition::default()
    }
}

fn options() -> TrxOptions {
    TrxOptions {
        isolation: Isolation::ReadCommitted,
        lock_wait_timeout: Duration::from_secs(10),
        metadata_wait_timeout: Duration::from_secs(20),
        ..TrxOptions::default()
    }
}

fn values_of(row: &Row) -> Values {
    (0..COLUMNS).map(|column| row.get(column).map(<[u8]>::to_vec)).collect()
}

fn some_values(writer: u32, random: &mut Random) -> Values {
    let own = |number: u64| (number as u32 * WRITERS + writer).to_be_bytes().to_vec();
    let bytes = if random.chance(10) { 30_000 } else { 40 };
    vec![
        Some(own(random.below(IDS))),
        Some((random.below(30) as u32).to_be_bytes().to_vec()),
        if random.chance(5) { None } else { Some(own(random.below(IDS))) },
        Some(vec![random.below(256) as u8; random.below(bytes) as usize]),
    ]
}

fn id_of(values: &Values) -> u32 {
    u32::from_be_bytes(values[0].as_deref().unwrap().try_into().unwrap())
}

/// A transaction of some changes of a writer's own rows.
fn work(engine: &Arc<Engine>, writer: u32, random: &mut Random, committed: &mut Rows) -> Result<(), Error> {
    let mut trx = engine.begin(options());
    let table = trx.open_table("d", "t")?;
    let mut rows = committed.clone();
    let (columns, mut row) = (ColumnSet::first(COLUMNS), Row::new());
    for _ in 0..1 + random.below(10) {
        let values = some_values(writer, random);
        let id = id_of(&values);
        let savepoint = trx.statement_begin();
        let before = rows.clone();
        let outcome = match trx.get(&table, 0, &[values[0].as_deref()], ReadMode::EXCLUSIVE, &columns, &mut row)? {
            true if random.chance(3) => {
                rows.remove(&id);
                trx.delete(&table, &row)
            }
            true => {
                let from = if random.chance(5) { 0 } else { 1 };
                let new = if from == 0 { some_values(writer, random) } else { values };
                let changes: Vec<_> = (from..COLUMNS).map(|column| (column, new[column].as_deref())).collect();
                rows.remove(&id);
                let outcome = trx.update(&table, &row, &changes);
                rows.insert(id_of(&new), new);
                outcome
            }
            false => {
                let slices: Vec<_> = values.iter().map(|value| value.as_deref()).collect();
                let outcome = trx.insert(&table, &slices);
                rows.insert(id, values);
                outcome
            }
        };
        match outcome {
            Err(Error::DuplicateKey { .. }) => rows.clone_from(&before),
            outcome => outcome?,
        }
        if random.chance(10) {
            trx.rollback_to(savepoint)?;
            rows = before;
        }
    }
    match random.chance(5) {
        true => trx.rollback()?,
        false => {
            trx.commit()?;
            *committed = rows;
        }
    }
    Ok(())
}

#[test]
fn what_writers_commit_is_in_the_new_file() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let config = Config { background_threads: true, pool_bytes: 400 * 16384, log_bytes: 8 << 20, ..Config::tiny() };
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk, config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    engine.create_table(definition(), &options()).unwrap();
    let stop = AtomicBool::new(false);
    let changes = AtomicU64::new(0);
    let mut beside = 0;
    let committed: Rows = std::thread::scope(|scope| {
        let (engine, stop, changes) = (&engine, &stop, &changes);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let (mut random, mut committed) = (Random::new(u64::from(writer)), Rows::new());
                    while !stop.load(Ordering::Relaxed) {
                        match work(engine, writer, &mut random, &mut committed) {
                            Ok(()) | Err(Error::Deadlock | Error::LockWaitTimeout) => {}
                            Err(error) => panic!("{error}"),
                        }
                        changes.fetch_add(1, Ordering::Relaxed);
                    }
                    committed
                })
            })
            .collect();
        for _ in 0..25 {
            std::thread::sleep(Duration::from_millis(20));
            let before = changes.load(Ordering::Relaxed);
            engine.rebuild_table("d", "t", |_| (), &options()).unwrap();
            beside += changes.load(Ordering::Relaxed) - before;
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(beside > 0, "writers wait");
    assert!(committed.len() > 100);
    let mut trx = engine.begin(options());
    let table = trx.open_table("d", "t").unwrap();
    for ordinal in 0..table.indexes.len() {
        let columns = ColumnSet::first(COLUMNS);
        let mut cursor = trx.cursor(&table, ordinal, ReadMode::Consistent, columns, ScanRange::ALL).unwrap();
        let (mut row, mut found) = (Row::new(), Rows::new());
        while cursor.next(&mut trx, &mut row).unwrap() {
            let values = values_of(&row);
            assert!(found.insert(id_of(&values), values).is_none(), "a row that index {ordinal} has twice");
        }
        assert!(found == committed, "what index {ordinal} has");
    }
    trx.commit().unwrap();
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
    engine.close().unwrap();
}
