//! What a warm point UPDATE costs: one latch per page, and no memory beyond its undo record, which lies on a page.
//!
//! ```text
//!   read the row, locking it      root .. leaf       each page latched once, hand over hand
//!   change it                     leaf, undo page    the leaf where it was found, without a search
//!   commit                        rollback segment's header, undo page
//! ```
//!
//! A binary of its own, since its allocator counts. It counts per thread, so that the background does not disturb.

#[cfg(debug_assertions)]
use std::collections::BTreeMap;
use std::sync::Arc;

use allocation_counter::measure;
use format::collation::CollationId;
#[cfg(debug_assertions)]
use format::ids::PageId;
use format::value::ColumnType;
#[cfg(debug_assertions)]
use storage::buffer::witness::latched_by;
use storage::config::FlushLogAtCommit;
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, IfLocked, IndexDefinition, ReadMode, Row, Table, TableDefinition, Trx,
    TrxOptions,
};

/// Enough for a tree of two levels.
const ROWS: u32 = 5000;

struct World {
    engine: Arc<Engine>,
    table: Arc<Table>,
    options: TrxOptions,
}

impl World {
    fn new() -> World {
        // The simulated disk allocates; the log is written when its buffer is full.
        let flush_log_at_commit = FlushLogAtCommit::EverySecond;
        let config = Config { pool_bytes: 64 << 20, log_bytes: 64 << 20, flush_log_at_commit, ..Config::tiny() };
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        Engine::create(disk.clone(), &config).unwrap();
        let engine = Engine::open(disk, config).unwrap();
        engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
        let definition = TableDefinition {
            database: "d".into(),
            name: "t".into(),
            columns: vec![
                Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
                Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, false),
                Column::new("c", ColumnType::VarChar { chars: 120, collation: CollationId::DEFAULT }, false),
            ],
            indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
            ..TableDefinition::default()
        };
        let table = engine.create_table(definition, &TrxOptions::default()).unwrap();
        let world = World { engine, table, options: TrxOptions::default() };
        let mut trx = world.begin();
        for id in 0..ROWS {
            trx.insert(&world.table, &[Some(&id.to_be_bytes()), Some(&id.to_be_bytes()), Some(&[b'a'; 100])]).unwrap();
        }
        trx.commit().unwrap();
        world
    }

    fn begin(&self) -> Trx {
        let mut trx = self.engine.begin(self.options.clone());
        assert!(trx.lock_table(&self.table, storage::TableUse::Write).unwrap());
        trx
    }

    fn read(&self, trx: &mut Trx, id: u32, row: &mut Row) {
        let mode = ReadMode::Exclusive(IfLocked::Wait);
        let columns: ColumnSet = [0, 1, 2].into_iter().collect();
        assert!(trx.get(&self.table, 0, &[Some(&id.to_be_bytes())], mode, &columns, row).unwrap());
    }

    /// `UPDATE t SET c = ... WHERE id = ...` under autocommit.
    fn update(&self, id: u32, letter: u8, row: &mut Row) {
        let mut trx = self.begin();
        self.read(&mut trx, id, row);
        trx.update(&self.table, row, &[(2, Some(&[letter; 100]))]).unwrap();
        trx.commit().unwrap();
    }
}

#[cfg(debug_assertions)]
fn count(pages: &[PageId]) -> BTreeMap<PageId, usize> {
    let mut counts = BTreeMap::new();
    for page in pages {
        *counts.entry(*page).or_default() += 1;
    }
    counts
}

#[test]
#[cfg(debug_assertions)]
fn a_point_update_latches_each_page_once() {
    let world = World::new();
    let mut row = Row::new();
    for warm in 0..100 {
        world.update(warm, b'b', &mut row);
    }
    let mut trx = world.begin();
    let (_, read) = latched_by(|| world.read(&mut trx, 2500, &mut row));
    let (_, changed) = latched_by(|| trx.update(&world.table, &row, &[(2, Some(&[b'x'; 100]))]).unwrap());
    let (_, committed) = latched_by(|| trx.commit().unwrap());
    println!("read {read:?}, changed {changed:?}, committed {committed:?}");
    for part in [&read, &changed, &committed] {
        assert!(count(part).values().all(|count| *count == 1), "{part:?}");
    }
    assert!(read.len() >= 2, "a tree of at least two levels: {read:?}");
    assert_eq!(changed.len(), 2, "the leaf and the undo page: {changed:?}");
    assert_eq!(changed[0], *read.last().unwrap(), "the leaf is not searched for again");
    assert_eq!(committed.len(), 2, "the header of the rollback segment and the undo page: {committed:?}");
    assert_eq!(committed[1], changed[1]);
}

/// UPDATE of many rows: a scan goes on from the row that it returned, although that row was changed where it lies.
#[test]
#[cfg(debug_assertions)]
fn a_scan_that_changes_its_rows_searches_once() {
    let world = World::new();
    let mut trx = world.begin();
    let mut row = Row::new();
    let columns: ColumnSet = [0, 1, 2].into_iter().collect();
    let mode = ReadMode::Exclusive(IfLocked::Wait);
    let mut cursor = trx.cursor(&world.table, 0, mode, columns, storage::ScanRange::ALL).unwrap();
    let (rows, latched) = latched_by(|| {
        let mut rows = 0;
        while rows < 1000 && cursor.next(&mut trx, &mut row).unwrap() {
            trx.update(&world.table, &row, &[(2, Some(&[b'x'; 100]))]).unwrap();
            rows += 1;
        }
        rows
    });
    assert_eq!(rows, 1000);
    let counts = count(&latched);
    let (_, read) = latched_by(|| world.read(&mut trx, 0, &mut row));
    // It is searched for again where the undo log takes another page.
    assert!(counts[&read[0]] < rows / 50, "the root is latched {} times", counts[&read[0]]);
}

/// The place that a read remembers must not be used once the record has moved.
#[test]
fn a_row_that_moved_meanwhile_is_found() {
    let world = World::new();
    let (mut row, mut other) = (Row::new(), Row::new());
    let mut trx = world.begin();
    world.read(&mut trx, 2500, &mut row);
    // Other rows are inserted before it on its leaf, until that splits.
    for id in (2400..2600).filter(|id| *id != 2500) {
        let mut writer = world.begin();
        world.read(&mut writer, id, &mut other);
        writer.update(&world.table, &other, &[(2, Some(&[b'y'; 120]))]).unwrap();
        writer.commit().unwrap();
    }
    trx.update(&world.table, &row, &[(2, Some(&[b'z'; 7]))]).unwrap();
    trx.commit().unwrap();
    let mut trx = world.begin();
    world.read(&mut trx, 2500, &mut row);
    assert_eq!(row.get(2), Some(&[b'z'; 7][..]));
    assert_eq!(row.get(0), Some(&2500_u32.to_be_bytes()[..]));
    for id in (2400..2600).filter(|id| *id != 2500) {
        world.read(&mut trx, id, &mut row);
        assert_eq!(row.get(2), Some(&[b'y'; 120][..]), "row {id}");
    }
}

#[test]
fn a_point_update_allocates_nothing() {
    let world = World::new();
    let mut row = Row::new();
    for id in 0..2000 {
        world.update(id, b'b', &mut row);
    }
    // Shared lists (history, locks, the log's buffer) may grow now and then; what each update would allocate shows in
    // all.
    let mut free = 0;
    let mut last = String::new();
    for id in 2000..2100 {
        let mut trx = None;
        let begun = measure(|| trx = Some(world.begin()));
        let mut trx = trx.unwrap();
        let read = measure(|| world.read(&mut trx, id, &mut row));
        let changed = measure(|| trx.update(&world.table, &row, &[(2, Some(&[b'c'; 100]))]).unwrap());
        let committed = measure(|| trx.commit().unwrap());
        let parts = [begun, read, changed, committed];
        match parts.iter().map(|part| part.count_total).sum::<u64>() {
            0 => free += 1,
            _ => last = format!("begin, read, change, commit: {:?}", parts.map(|p| (p.count_total, p.bytes_total))),
        }
    }
    assert!(free >= 90, "{free} of 100 point updates allocated nothing, the last that did: {last}");
}

/// Purge reads each undo record into the same buffers. The count includes the page cleaner's work in the same steps.
#[test]
fn purge_keeps_its_buffers_from_one_record_to_the_next() {
    let world = World::new();
    let mut row = Row::new();
    let mut delete = |from: u32| {
        let mut trx = world.begin();
        for id in from..from + 1000 {
            world.read(&mut trx, id, &mut row);
            trx.delete(&world.table, &row).unwrap();
        }
        trx.commit().unwrap();
        let purge = || {
            while world.engine.status().history_list_length > 0 {
                world.engine.step().unwrap();
            }
        };
        measure(purge).count_total
    };
    delete(0);
    let allocations = delete(1000);
    assert!(allocations < 3000, "{allocations} allocations for a thousand deleted rows with an index");
}
