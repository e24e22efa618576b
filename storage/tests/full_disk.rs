//! A full disk under an engine with its threads: changes of rows are refused, reads go on, and changes work again as
//! soon as there is space.

use std::sync::Arc;
use std::time::{Duration, Instant};

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row, Table, TableDefinition,
    TrxOptions,
};

/// Rows of a quarter of a page or so: many more pages than the pool has frames.
const ROWS: u32 = 1500;
const FILLER_BYTES: usize = 3000;

fn create_table(engine: &Arc<Engine>, name: &str) -> Arc<Table> {
    let definition = TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("filler", ColumnType::VarBinary { bytes: FILLER_BYTES as u32 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::patient()).unwrap()
}

fn insert(engine: &Arc<Engine>, table: &Table, ids: std::ops::Range<u32>) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::default());
    for id in ids {
        trx.insert(table, &[Some(&id.to_be_bytes()), Some(&[id as u8; FILLER_BYTES])])?;
    }
    trx.commit()
}

fn read(engine: &Arc<Engine>, table: &Table, id: u32) -> Result<bool> {
    let mut trx = engine.begin(TrxOptions::default());
    let mut row = Row::new();
    let found = trx.get(table, 0, &[Some(&id.to_be_bytes())], ReadMode::Consistent, &ColumnSet::first(2), &mut row)?;
    if found {
        assert_eq!(row.get(1).unwrap(), [id as u8; FILLER_BYTES]);
    }
    Ok(found)
}

/// An engine with threads and a small pool, and its database. The simulated clock goes on while all threads wait.
fn open_small(disk: &SimDisk) -> Arc<Engine> {
    let config = Config {
        pool_bytes: 200 * 16384,
        log_bytes: 64 << 20,
        background_threads: true,
        lru_scan_depth: 16,
        page_cleaners: 2,
        reserve_blocks: false,
        ..Config::tiny()
    };
    Engine::create(Arc::new(disk.clone()), &config).unwrap();
    let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let (clock, running) = (disk.clone(), Arc::downgrade(&engine));
    std::thread::spawn(move || {
        while running.strong_count() > 0 {
            std::thread::sleep(Duration::from_millis(5));
            clock.pass(Duration::from_millis(5));
        }
    });
    engine
}

/// Inserts until the full disk has refused it `refusals` times. Returns how many rows are in the table then.
fn insert_until_refused(engine: &Arc<Engine>, table: &Table, refusals: u32) -> u32 {
    let mut refused = 0;
    let mut acknowledged = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while refused < refusals {
        assert!(Instant::now() < deadline, "nothing fills up: {refused} refused after {acknowledged} rows");
        match insert(engine, table, acknowledged..acknowledged + 5) {
            Ok(()) => acknowledged += 5,
            Err(Error::DiskFull { .. } | Error::RollingBack) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

/// There is space again: inserts work within ten seconds.
fn insert_again(engine: &Arc<Engine>, table: &Table, ids: std::ops::Range<u32>) {
    let mut tries = 0;
    while let Err(error) = insert(engine, table, ids.clone()) {
        assert!(matches!(error, Error::DiskFull { .. } | Error::LockWaitTimeout), "{error}");
        tries += 1;
        assert!(tries < 200, "there is room, and it is not used");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Rows that become longer again when they are undone split pages of a file that has no free ones.
#[test]
fn undoing_needs_no_blocks() {
    const FEW: u32 = 100;
    let disk = SimDisk::new(4);
    let config = Config { pool_bytes: 400 * 16384, log_bytes: 16 << 20, reserve_blocks: true, ..Config::tiny() };
    Engine::create(Arc::new(disk.clone()), &config).unwrap();
    let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let table = create_table(&engine, "t");
    let even: Vec<u32> = (0..FEW).map(|id| 2 * id).collect();
    even.iter().for_each(|&id| insert(&engine, &table, id..id + 1).unwrap());
    let mut trx = engine.begin(TrxOptions::default());
    let mut row = Row::new();
    for id in &even {
        let key = id.to_be_bytes();
        assert!(trx.get(&table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(2), &mut row).unwrap());
        trx.update(&table, &row, &[(1, Some(b""))]).unwrap();
    }
    // The room is taken by others.
    even.iter().for_each(|&id| insert(&engine, &table, id + 1..id + 2).unwrap());
    let space = engine.store().space(table.space).unwrap();
    let before = space.pages();
    disk.set_faults(|faults| faults.capacity_blocks = Some(0));
    trx.rollback().unwrap();
    assert_eq!(engine.status().rollbacks.transactions, 0);
    assert!(space.pages() > before, "the file did not need to grow");
    (0..2 * FEW).for_each(|id| assert!(read(&engine, &table, id).unwrap()));
    disk.set_faults(|faults| faults.capacity_blocks = None);
    assert_eq!(engine.check().unwrap().errors, Vec::<String>::new());
    engine.close().unwrap();
}

#[test]
fn the_cleaners_try_again_whatever_the_load_is() {
    let disk = SimDisk::new(2);
    let engine = open_small(&disk);
    let table = create_table(&engine, "t");
    engine.store().checkpoint().unwrap();
    let used = disk.used_blocks();
    disk.set_faults(|faults| faults.capacity_blocks = Some(used));
    // Half of the pool: statements are not refused yet.
    insert(&engine, &table, 0..400).unwrap();
    assert!(matches!(engine.store().checkpoint(), Err(Error::DiskFull { .. })));
    assert!(engine.store().pool().is_disk_full());
    disk.set_faults(|faults| faults.capacity_blocks = None);
    // The instance is not idle any more, and nothing else makes the cleaners write.
    let deadline = Instant::now() + Duration::from_secs(10);
    for id in 400.. {
        if !engine.store().pool().is_disk_full() {
            break;
        }
        assert!(Instant::now() < deadline, "the disk has space, and no cleaner finds out");
        insert(&engine, &table, id..id + 1).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    engine.close().unwrap();
}

#[test]
fn reading_goes_on_when_every_page_that_may_be_dirty_is() {
    let disk = SimDisk::new(1);
    let engine = open_small(&disk);
    let (old, new) = (create_table(&engine, "old"), create_table(&engine, "new"));
    insert(&engine, &old, 0..ROWS).unwrap();
    engine.store().checkpoint().unwrap();
    let used = disk.used_blocks();
    disk.set_faults(|faults| faults.capacity_blocks = Some(used + 50));

    // Writers go on until they are refused, and then try again for a while.
    let acknowledged = insert_until_refused(&engine, &new, 30);
    assert!(!engine.store().is_poisoned());
    for id in (0..ROWS).rev() {
        assert!(read(&engine, &old, id).unwrap_or_else(|error| panic!("row {id}: {error}")));
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (engine, old) = (&engine, &old);
            scope.spawn(move || {
                for id in (thread..ROWS).step_by(3) {
                    assert!(read(engine, old, id).unwrap_or_else(|error| panic!("row {id}: {error}")));
                }
            });
        }
    });

    disk.set_faults(|faults| faults.capacity_blocks = None);
    insert_again(&engine, &new, acknowledged..acknowledged + 5);
    for id in 0..acknowledged + 5 {
        assert!(read(&engine, &new, id).unwrap(), "row {id} was acknowledged");
    }
    engine.close().unwrap();
}

/// A page for which there is no room does not keep the other pages of its batch dirty.
#[test]
fn pages_that_need_no_room_are_written_on_a_full_disk() {
    let disk = SimDisk::new(5);
    let config = Config { pool_bytes: 400 * 16384, log_bytes: 16 << 20, reserve_blocks: false, ..Config::tiny() };
    Engine::create(Arc::new(disk.clone()), &config).unwrap();
    let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let (new, old) = (create_table(&engine, "new"), create_table(&engine, "old"));
    insert(&engine, &old, 0..100).unwrap();
    engine.store().checkpoint().unwrap();
    disk.set_faults(|faults| faults.capacity_blocks = Some(0));
    // Pages of `new` are older, and need room; those of `old` are changed in place.
    insert(&engine, &new, 0..10).unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    let mut row = Row::new();
    for id in 0..100u32 {
        let key = id.to_be_bytes();
        assert!(trx.get(&old, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(2), &mut row).unwrap());
        trx.update(&old, &row, &[(1, Some(&[7; FILLER_BYTES]))]).unwrap();
    }
    trx.commit().unwrap();
    let old_pages = engine.store().space(old.space).unwrap().pages() as usize;
    let dirty = engine.store().pool().dirty_count();
    assert!(dirty > old_pages / 2, "{dirty} pages are dirty");
    for _ in 0..20 {
        match engine.store().flush_step(8) {
            Ok(_) | Err(Error::DiskFull { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(engine.store().pool().is_disk_full());
    assert!(!engine.store().pool().is_space_dirty(old.space), "pages that need no room are held back");
    assert!(engine.store().pool().is_space_dirty(new.space));
    let lsn = engine.store().redo().checkpoint_lsn();
    engine.store().flush_log(engine.store().current_lsn()).unwrap();
    drop(engine);
    // Nothing that could not be written is behind the checkpoint.
    let disk = disk.crash();
    let engine = Engine::open(Arc::new(disk), Config { pool_bytes: 400 * 16384, ..Config::tiny() }).unwrap();
    assert!(engine.recovery_report().pages.checkpoint_lsn >= lsn);
    let (new, old) = (engine.table("d", "new").unwrap(), engine.table("d", "old").unwrap());
    (0..10).for_each(|id| assert!(read(&engine, &new, id).unwrap()));
    assert!(read(&engine, &old, 7).unwrap());
    assert_eq!(engine.check().unwrap().errors, Vec::<String>::new());
}
