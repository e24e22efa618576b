//! A thread panics in the middle of work that others wait for: no thread waits for ever, and none takes half of the
//! work for whole.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row, TableDefinition, TrxOptions,
};

const ROWS: u32 = 600;
const FILLER_BYTES: usize = 250;
const PATIENCE: Duration = Duration::from_secs(30);

fn create(disk: &SimDisk, config: &Config) {
    Engine::create(Arc::new(disk.clone()), config).unwrap();
    let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("filler", ColumnType::Binary { bytes: FILLER_BYTES as u32 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap();
    for id in 0..ROWS {
        insert(&engine, id).unwrap();
    }
    engine.close().unwrap();
}

fn insert(engine: &Arc<Engine>, id: u32) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t")?;
    trx.insert(&table, &[Some(&id.to_be_bytes()), Some(&[id as u8; FILLER_BYTES])])?;
    trx.commit()
}

fn read(engine: &Arc<Engine>, id: u32) -> Result<bool> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t")?;
    let mut row = Row::new();
    let found = trx.get(&table, 0, &[Some(&id.to_be_bytes())], ReadMode::Consistent, &ColumnSet::first(2), &mut row)?;
    if found {
        assert_eq!(row.get(1).unwrap(), [id as u8; FILLER_BYTES]);
    }
    Ok(found)
}

#[test]
fn a_page_whose_reader_panics_is_read_again() {
    let config = Config { pool_bytes: 200 * 16384, ..Config::tiny() };
    let disk = SimDisk::new(1);
    create(&disk, &config);
    for at in 1..6 {
        let disk = disk.duplicate();
        let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
        let failing = disk.reads() + at;
        disk.set_faults(|faults| faults.panicking_read = Some(failing));
        let (send, ended) = mpsc::channel();
        for _ in 0..4 {
            let (engine, send) = (engine.clone(), send.clone());
            std::thread::spawn(move || send.send(catch_unwind(AssertUnwindSafe(|| read(&engine, ROWS / 2)))).unwrap());
        }
        for _ in 0..4 {
            match ended.recv_timeout(PATIENCE).expect("a reader hangs") {
                Ok(found) => assert!(found.unwrap()),
                Err(_) => assert!(disk.reads() >= failing, "it panicked for another reason"),
            }
        }
        disk.set_faults(|faults| faults.panicking_read = None);
        assert!((0..ROWS).all(|id| read(&engine, id).unwrap()));
    }
}

#[test]
fn a_writer_that_panics_ends_every_wait() {
    let config = Config { pool_bytes: 100 * 16384, background_threads: true, page_cleaners: 2, ..Config::tiny() };
    let disk = SimDisk::new(1);
    create(&disk, &config);
    for at in [1, 2, 5, 20, 60, 150, 400] {
        let disk = disk.duplicate();
        let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
        let failing = disk.writes() + at;
        disk.set_faults(|faults| faults.panicking_write = Some(failing));
        let (send, ended) = mpsc::channel();
        for writer in 0..4 {
            let (engine, send) = (engine.clone(), send.clone());
            std::thread::spawn(move || {
                let mut acknowledged = Vec::new();
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    for number in 0..100_000 {
                        let id = ROWS + writer + 4 * number;
                        insert(&engine, id)?;
                        acknowledged.push(id);
                    }
                    Ok::<(), Error>(())
                }));
                send.send((outcome.ok(), acknowledged)).unwrap();
            });
        }
        let mut promised = Vec::new();
        for _ in 0..4 {
            let (outcome, acknowledged) = ended.recv_timeout(PATIENCE).expect("a writer hangs");
            promised.extend(acknowledged);
            if let Some(outcome) = outcome {
                assert!(outcome.is_err(), "a writer was not told");
            }
        }
        assert!(engine.store().is_poisoned());
        drop(engine);
        let next = Config { background_threads: false, ..config.clone() };
        let engine = Engine::open(Arc::new(disk.crash()), next).unwrap();
        for id in promised {
            assert!(read(&engine, id).unwrap(), "row {id} was acknowledged");
        }
    }
}
