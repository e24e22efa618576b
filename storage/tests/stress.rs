//! Writers, readers, purge, page cleaners and DDL on one small pool at the same time: no thread hangs, latches are
//! taken in order (debug builds check), and in the end every tree, index and page is accounted for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use format::collation::CollationId;
use format::value::{ColumnType, LobSize};
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Isolation, ReadMode, Row, ScanRange, TableDefinition,
    TrxOptions,
};

fn definition() -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("c", ColumnType::VarChar { chars: 200, collation: CollationId::UTF8MB4_GENERAL_CI }, true),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        ..TableDefinition::default()
    }
}

fn options() -> TrxOptions {
    TrxOptions {
        lock_wait_timeout: Duration::from_secs(10),
        metadata_wait_timeout: Duration::from_secs(20),
        ..TrxOptions::default()
    }
}

const IDS: u64 = 3000;

/// One transaction of a few random changes; true = committed.
fn work(engine: &Arc<Engine>, random: &mut Random) -> Result<bool, Error> {
    let isolation = if random.chance(2) { Isolation::RepeatableRead } else { Isolation::ReadCommitted };
    let mut trx = engine.begin(TrxOptions { isolation, ..options() });
    let table = trx.open_table("d", "t")?;
    let columns = ColumnSet::first(4);
    let mut row = Row::new();
    for _ in 0..1 + random.below(8) {
        let id = (random.below(IDS) as u32).to_be_bytes();
        let k = (random.below(50) as u32).to_be_bytes();
        let text = "x".repeat(random.below(150) as usize);
        let long = random.chance(20);
        let blob = vec![7; if long { 30_000 } else { random.below(200) as usize }];
        let savepoint = trx.statement_begin();
        let outcome = if trx.get(&table, 0, &[Some(&id)], ReadMode::EXCLUSIVE, &columns, &mut row)? {
            match random.below(4) {
                0 => trx.delete(&table, &row),
                1 => trx.update(&table, &row, &[(1, Some(&k))]),
                2 => trx.update(&table, &row, &[(3, Some(&blob)), (2, Some(text.as_bytes()))]),
                _ => trx.update(&table, &row, &[(2, None)]),
            }
        } else {
            trx.insert(&table, &[Some(&id), Some(&k), Some(text.as_bytes()), Some(&blob)])
        };
        match outcome {
            Err(Error::DuplicateKey { .. }) => trx.rollback_to(savepoint)?,
            other => other?,
        }
        if random.chance(10) {
            trx.rollback_to(savepoint)?;
        }
    }
    if random.chance(6) {
        trx.rollback()?;
        return Ok(false);
    }
    trx.commit()?;
    Ok(true)
}

/// Both indexes contain the same rows in one snapshot.
fn read(engine: &Arc<Engine>) -> Result<(), Error> {
    let mut trx = engine.begin(options());
    let table = trx.open_table("d", "t")?;
    let mut counts = Vec::new();
    for (ordinal, reverse) in [(0, false), (1, false), (1, true)] {
        let range = ScanRange { reverse, ..ScanRange::ALL };
        let mut cursor = trx.cursor(&table, ordinal, ReadMode::Consistent, ColumnSet::first(2), range)?;
        let (mut row, mut count, mut sum) = (Row::new(), 0u64, 0u64);
        while cursor.next(&mut trx, &mut row)? {
            count += 1;
            sum += u64::from(u32::from_be_bytes(row.get(0).unwrap().try_into().unwrap()));
        }
        counts.push((count, sum));
    }
    assert_eq!(counts[0], counts[1], "the secondary index agrees with the rows");
    assert_eq!(counts[0], counts[2], "backward is forward, reversed");
    trx.commit()
}

fn alter(engine: &Arc<Engine>, round: u64) -> Result<(), Error> {
    match round % 4 {
        0 => engine.create_index("d", "t", IndexDefinition::new("k_c", false, &[1, 2]), &options()).map(drop),
        1 => engine.rebuild_table("d", "t", |_| (), &options()).map(drop),
        2 => engine.drop_index("d", "t", "k_c", &options()).map(drop),
        _ => {
            engine.rename_tables(&[(("d", "t"), ("d", "u")), (("d", "u"), ("d", "t"))], &options())?;
            let table = engine.table("d", "t").unwrap();
            engine.table_statistics(&table);
            let findings = engine.analyze_table(&table, &storage::Interrupt::new())?;
            assert!(findings.rows < 4 * IDS);
            Ok(())
        }
    }
}

#[test]
fn everything_at_once() {
    let seconds = std::env::var("STRESS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let config = Config { background_threads: true, pool_bytes: 100 * 16384, log_bytes: 4 << 20, ..Config::tiny() };
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk.clone(), config.clone()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    engine.create_table(definition(), &options()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let spawn = |name: &str, mut body: Box<dyn FnMut(u64) -> Result<(), Error> + Send>| {
        let stop = stop.clone();
        let run = move || {
            let (mut rounds, mut failed) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                match body(rounds) {
                    Ok(()) => {}
                    Err(Error::Deadlock | Error::LockWaitTimeout | Error::TableChanged) => failed += 1,
                    Err(error) => panic!("{error}"),
                }
                rounds += 1;
            }
            (rounds, failed)
        };
        (name.to_string(), std::thread::Builder::new().name(name.into()).spawn(run).unwrap())
    };
    let mut threads = Vec::new();
    for number in 0..3 {
        let engine = engine.clone();
        let mut random = Random::new(number);
        threads.push(spawn("writer", Box::new(move |_| work(&engine, &mut random).map(drop))));
    }
    for _ in 0..2 {
        let engine = engine.clone();
        threads.push(spawn("reader", Box::new(move |_| read(&engine))));
    }
    {
        let engine = engine.clone();
        let pause = Duration::from_millis(100);
        threads.push(spawn(
            "ddl",
            Box::new(move |round| {
                std::thread::sleep(pause);
                alter(&engine, round)
            }),
        ));
    }
    std::thread::sleep(Duration::from_secs(seconds));
    stop.store(true, Ordering::Relaxed);
    for (name, thread) in threads {
        let (rounds, failed) = thread.join().unwrap();
        println!("{name}: {rounds} rounds, {failed} gave way");
    }
    let limit = Instant::now() + Duration::from_secs(60);
    while engine.status().history_list_length > 0 {
        assert!(Instant::now() < limit, "purge comes to an end");
        std::thread::sleep(Duration::from_millis(10));
    }
    read(&engine).unwrap();
    assert_eq!(engine.status().locks_held, 0, "no lock outlives its transaction");
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(disk, Config { background_threads: false, ..config }).unwrap();
    assert!(engine.recovery_report().was_clean());
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

/// In the smallest pool, of 24 frames, every one of many threads makes progress, and no statement fails because of the
/// pool's size (`store_threads::threads_that_latch_every_frame_take_turns`).
#[test]
fn many_threads_share_the_smallest_pool() {
    const THREADS: u64 = 64;
    const ROUNDS: u64 = 20;
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(2));
    let config = Config { background_threads: true, pool_bytes: 0, log_bytes: 4 << 20, ..Config::tiny() };
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk.clone(), config.clone()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    engine.create_table(definition(), &options()).unwrap();
    let (send, ended) = mpsc::channel();
    for number in 0..THREADS {
        let (engine, send) = (engine.clone(), send.clone());
        std::thread::spawn(move || {
            let mut random = Random::new(number);
            for round in 0..ROUNDS {
                let outcome = match number % 8 {
                    0 if round % 4 == 0 => read(&engine),
                    _ => work(&engine, &mut random).map(drop),
                };
                if !matches!(outcome, Ok(()) | Err(Error::Deadlock | Error::LockWaitTimeout)) {
                    return send.send(outcome).unwrap();
                }
            }
            send.send(Ok(())).unwrap();
        });
    }
    for _ in 0..THREADS {
        ended.recv_timeout(Duration::from_secs(120)).expect("a thread hangs").unwrap();
    }
    read(&engine).unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(disk, Config { background_threads: false, ..config }).unwrap();
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

/// However many threads write long values at once, and however long one of them is, the changes fit the smallest redo
/// log (`redo::room`).
#[test]
fn long_values_of_many_threads_fit_a_small_log() {
    const THREADS: u32 = 32;
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(3));
    for (background_threads, page_bytes) in [(true, 16384), (false, 16384), (true, 65536)] {
        let disk: Arc<dyn Disk> = if page_bytes == 16384 { disk.clone() } else { Arc::new(SimDisk::new(4)) };
        // Without cleaners a thread that finds no free frame cannot wait for another: they all need what they latch.
        let frames = if background_threads { 64 } else { 16 * THREADS as u64 };
        let pool_bytes = frames * page_bytes as u64;
        let config = Config { background_threads, page_bytes, pool_bytes, ..Config::tiny() };
        if background_threads {
            Engine::create(disk.clone(), &config).unwrap();
        }
        let engine = Engine::open(disk.clone(), config.clone()).unwrap();
        if background_threads {
            engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
            engine.create_table(definition(), &options()).unwrap();
        }
        let first = if background_threads { 0 } else { THREADS };
        std::thread::scope(|scope| {
            for id in first..first + THREADS {
                let engine = &engine;
                scope.spawn(move || {
                    let bytes = if id == 0 { 10 << 20 } else { 600_000 };
                    let mut trx = engine.begin(options());
                    let table = trx.open_table("d", "t").unwrap();
                    let blob = vec![id as u8; bytes];
                    let id = id.to_be_bytes();
                    trx.insert(&table, &[Some(&id), Some(&id), None, Some(&blob)]).unwrap();
                    trx.commit().unwrap();
                });
            }
        });
        engine.rebuild_table("d", "t", |_| (), &options()).unwrap();
        let report = engine.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.errors);
        engine.close().unwrap();
    }
}
