//! What locking reads prevent: which transaction waits for which, and that no row appears in a range that was read.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IfLocked, IndexDefinition, Isolation, ReadMode, Row, ScanRange, Table,
    TableDefinition, Trx, TrxOptions,
};

/// id, k, u; the primary key on id, an index on k, a unique one on u.
fn table() -> TableDefinition {
    let int = ColumnType::Int { bytes: 4, unsigned: true };
    TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: ["id", "k", "u"].map(|name| Column::new(name, int.clone(), false)).into(),
        indexes: vec![
            IndexDefinition::new("PRIMARY", true, &[0]),
            IndexDefinition::new("k", false, &[1]),
            IndexDefinition::new("u", true, &[2]),
        ],
        ..TableDefinition::default()
    }
}

fn engine(config: Config) -> Arc<Engine> {
    let disk: Arc<dyn storage::io::Disk> = Arc::new(SimDisk::new(7));
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk, config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::default()).unwrap();
    engine.create_table(table(), &TrxOptions::default()).unwrap();
    engine
}

struct World {
    engine: Arc<Engine>,
    table: Arc<Table>,
}

/// Whether a session got the lock at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Waits,
}
use Outcome::{Done, Waits};

impl World {
    /// Rows (id, k, u) for ids 10, 20, 30, 40: k is the id, u twice the id.
    fn new() -> World {
        let config = Config { pool_bytes: 256 * 16384, log_bytes: 4 << 20, ..Config::tiny() };
        let engine = engine(config);
        let table = engine.table("d", "t").unwrap();
        let world = World { engine, table };
        let mut trx = world.begin(Isolation::RepeatableRead);
        for id in [10, 20, 30, 40] {
            assert_eq!(world.insert(&mut trx, id, id, 2 * id), Done);
        }
        trx.commit().unwrap();
        world
    }

    /// No statement waits: a lock that is not free is a timeout at once.
    fn begin(&self, isolation: Isolation) -> Trx {
        let options = TrxOptions { isolation, lock_wait_timeout: Duration::ZERO, ..TrxOptions::default() };
        self.engine.begin(options)
    }

    fn insert(&self, trx: &mut Trx, id: u32, k: u32, u: u32) -> Outcome {
        let values = [id, k, u].map(u32::to_be_bytes);
        let values = values.each_ref().map(|value| Some(&value[..]));
        outcome(trx.insert(&self.table, &values))
    }

    fn get(&self, trx: &mut Trx, id: u32, mode: ReadMode) -> Result<bool, Error> {
        let mut row = Row::new();
        trx.get(&self.table, 0, &[Some(&id.to_be_bytes())], mode, &ColumnSet::first(3), &mut row)
    }

    /// Reads a range of an index, to change its rows, and returns their ids.
    fn lock(&self, trx: &mut Trx, index: usize, lower: u32, upper: u32, reverse: bool) -> Vec<u32> {
        self.scan(trx, index, lower, upper, reverse, ReadMode::EXCLUSIVE).unwrap()
    }

    fn scan(
        &self,
        trx: &mut Trx,
        index: usize,
        lower: u32,
        upper: u32,
        reverse: bool,
        mode: ReadMode,
    ) -> Result<Vec<u32>, Error> {
        self.scan_columns(trx, index, (lower, upper, reverse), mode, ColumnSet::first(3))
    }

    fn scan_columns(
        &self,
        trx: &mut Trx,
        index: usize,
        (lower, upper, reverse): (u32, u32, bool),
        mode: ReadMode,
        columns: ColumnSet,
    ) -> Result<Vec<u32>, Error> {
        let (lower, upper) = (lower.to_be_bytes(), upper.to_be_bytes());
        let (lower, upper) = ([Some(&lower[..])], [Some(&upper[..])]);
        let range = ScanRange { lower: Bound::Included(&lower), upper: Bound::Included(&upper), reverse };
        let mut cursor = trx.cursor(&self.table, index, mode, columns, range)?;
        let mut row = Row::new();
        let mut ids = Vec::new();
        while cursor.next(trx, &mut row)? {
            ids.push(number(&row, 0));
        }
        Ok(ids)
    }

    fn delete(&self, trx: &mut Trx, id: u32) -> Outcome {
        let mut row = Row::new();
        let key = id.to_be_bytes();
        match trx.get(&self.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row) {
            Ok(true) => outcome(trx.delete(&self.table, &row)),
            Ok(false) => Done,
            Err(error) => outcome(Err(error)),
        }
    }

    /// Whether another session may insert a row now. The insert is rolled back.
    fn may_insert(&self, id: u32, k: u32, u: u32) -> Outcome {
        let mut trx = self.begin(Isolation::RepeatableRead);
        let outcome = self.insert(&mut trx, id, k, u);
        trx.rollback().unwrap();
        outcome
    }
}

fn outcome(result: Result<(), Error>) -> Outcome {
    match result {
        Ok(()) => Done,
        Err(Error::LockWaitTimeout) => Waits,
        Err(error) => panic!("{error}"),
    }
}

/// An INT UNSIGNED of a row.
fn number(row: &Row, column: usize) -> u32 {
    u32::from_be_bytes(row.get(column).unwrap().try_into().unwrap())
}

#[test]
fn a_range_is_locked_with_its_gaps() {
    let world = World::new();
    for reverse in [false, true] {
        let mut trx = world.begin(Isolation::RepeatableRead);
        let found = world.lock(&mut trx, 0, 15, 30, reverse);
        assert_eq!(found, if reverse { [30, 20] } else { [20, 30] });
        assert_eq!(world.may_insert(5, 500, 500), Done);
        assert_eq!(world.may_insert(15, 500, 500), Waits, "in the gap before the first row");
        assert_eq!(world.may_insert(25, 500, 500), Waits, "between rows of the range");
        assert_eq!(world.may_insert(35, 500, 500), Waits, "in the gap behind the range");
        assert_eq!(world.may_insert(45, 500, 500), Done);
        trx.commit().unwrap();
        assert_eq!(world.may_insert(25, 500, 500), Done);
    }
}

#[test]
fn the_end_of_an_index_is_a_gap_as_well() {
    let world = World::new();
    for reverse in [false, true] {
        let mut trx = world.begin(Isolation::RepeatableRead);
        assert_eq!(world.lock(&mut trx, 0, 40, 99, reverse), [40]);
        assert_eq!(world.may_insert(41, 500, 500), Waits);
        assert_eq!(world.may_insert(1000, 500, 500), Waits, "it is one gap up to the end");
        // Upward, the lower end is a row itself: no record of the range can be inserted before it.
        assert_eq!(world.may_insert(35, 500, 500), if reverse { Waits } else { Done });
        trx.rollback().unwrap();
    }
}

#[test]
fn read_committed_locks_no_gaps() {
    let world = World::new();
    let mut trx = world.begin(Isolation::ReadCommitted);
    assert_eq!(world.lock(&mut trx, 0, 15, 30, false), [20, 30]);
    assert_eq!(world.may_insert(25, 500, 500), Done);
    assert_eq!(world.delete(&mut world.begin(Isolation::ReadCommitted), 20), Waits);
}

#[test]
fn a_unique_key_that_is_there_locks_its_row_alone() {
    let world = World::new();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert!(world.get(&mut trx, 20, ReadMode::EXCLUSIVE).unwrap());
    assert_eq!(world.lock(&mut trx, 2, 60, 60, false), [30], "by the unique index");
    assert_eq!(world.may_insert(15, 500, 500), Done);
    assert_eq!(world.may_insert(25, 500, 61), Done);
    assert_eq!(world.may_insert(26, 500, 59), Done);
    assert_eq!(world.delete(&mut world.begin(Isolation::RepeatableRead), 30), Waits);
}

#[test]
fn a_key_that_is_not_there_stays_away() {
    let world = World::new();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert!(!world.get(&mut trx, 25, ReadMode::EXCLUSIVE).unwrap());
    assert_eq!(world.lock(&mut trx, 2, 70, 70, false), []);
    assert_eq!(world.may_insert(25, 500, 500), Waits);
    assert_eq!(world.may_insert(15, 500, 70), Waits, "the unique index's gap");
    assert_eq!(world.may_insert(15, 500, 500), Done);
    // Two may look for the same gap; then neither can fill it.
    let mut other = world.begin(Isolation::RepeatableRead);
    assert!(!world.get(&mut other, 25, ReadMode::EXCLUSIVE).unwrap());
    assert_eq!(world.insert(&mut trx, 25, 500, 500), Waits);
    other.rollback().unwrap();
    assert_eq!(world.insert(&mut trx, 25, 500, 500), Done);
}

#[test]
fn whoever_inserts_into_his_own_gap_keeps_both_halves() {
    let world = World::new();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.lock(&mut trx, 0, 21, 29, false), []);
    assert_eq!(world.insert(&mut trx, 25, 500, 500), Done);
    assert_eq!(world.may_insert(23, 501, 501), Waits);
    assert_eq!(world.may_insert(27, 501, 501), Waits);
}

#[test]
fn a_removed_record_leaves_its_locks_to_the_gap() {
    let world = World::new();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.delete(&mut trx, 20), Done);
    trx.commit().unwrap();
    // What is left of row 20 is locked, and then purged.
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.lock(&mut trx, 0, 15, 25, false), []);
    while world.engine.step().unwrap() {}
    assert_eq!(world.may_insert(20, 500, 500), Waits);
    assert_eq!(world.may_insert(12, 500, 500), Waits);
    assert_eq!(world.may_insert(28, 500, 500), Waits);
    assert_eq!(world.may_insert(35, 500, 500), Done);
}

#[test]
fn an_insert_that_is_rolled_back_leaves_its_locks_to_the_gap() {
    let world = World::new();
    let mut writer = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.insert(&mut writer, 25, 500, 500), Done);
    let mut reader = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.lock(&mut reader, 0, 21, 24, false), [], "up to the new row");
    writer.rollback().unwrap();
    assert_eq!(world.may_insert(22, 501, 501), Waits);
}

#[test]
fn a_secondary_range_is_locked_with_its_gaps() {
    let world = World::new();
    for reverse in [false, true] {
        let mut trx = world.begin(Isolation::RepeatableRead);
        assert_eq!(world.lock(&mut trx, 1, 20, 20, reverse), [20]);
        assert_eq!(world.may_insert(21, 20, 500), Waits, "the same value again");
        assert_eq!(world.may_insert(15, 20, 500), Waits);
        assert_eq!(world.may_insert(15, 15, 500), Waits);
        assert_eq!(world.may_insert(15, 35, 500), Done);
        trx.rollback().unwrap();
    }
}

#[test]
fn an_entry_that_was_given_up_is_not_revived_inside_a_locked_range() {
    let world = World::new();
    // Row 20 leaves k=20; the entry stays, delete-marked.
    let change = |trx: &mut Trx, k: u32| {
        let mut row = Row::new();
        let key = 20_u32.to_be_bytes();
        assert!(trx.get(&world.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)?);
        trx.update(&world.table, &row, &[(1, Some(&k.to_be_bytes()))])
    };
    let mut trx = world.begin(Isolation::RepeatableRead);
    change(&mut trx, 99).unwrap();
    trx.commit().unwrap();
    let mut reader = world.begin(Isolation::RepeatableRead);
    assert_eq!(world.lock(&mut reader, 1, 15, 25, false), []);
    let mut writer = world.begin(Isolation::RepeatableRead);
    assert!(matches!(change(&mut writer, 20), Err(Error::LockWaitTimeout)));
    reader.rollback().unwrap();
    change(&mut writer, 20).unwrap();
}

/// Sets k and u of a row, with no lock but its own.
fn change(world: &World, trx: &mut Trx, id: u32, k: u32, u: u32) -> Outcome {
    let mut row = Row::new();
    let key = id.to_be_bytes();
    match trx.get(&world.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row) {
        Ok(found) => assert!(found),
        Err(error) => return outcome(Err(error)),
    }
    let (k, u) = (k.to_be_bytes(), u.to_be_bytes());
    outcome(trx.update(&world.table, &row, &[(1, Some(&k)), (2, Some(&u))]))
}

#[test]
fn an_entry_that_answers_a_shared_read_is_locked_in_place_of_its_row() {
    let world = World::new();
    let mut reader = world.begin(Isolation::RepeatableRead);
    let columns = ColumnSet::first(2);
    let read = |trx: &mut Trx, mode| world.scan_columns(trx, 1, (15, 35, false), mode, columns);
    assert_eq!(read(&mut reader, ReadMode::SHARED).unwrap(), [20, 30]);
    // What the entry does not have may change; what it has may not, nor may the row go.
    let mut writer = world.begin(Isolation::RepeatableRead);
    assert_eq!(change(&world, &mut writer, 20, 20, 41), Done);
    // Others that share it do not wait, even for the row whose other column is being changed.
    let mut other = world.begin(Isolation::RepeatableRead);
    assert_eq!(read(&mut other, ReadMode::SHARED).unwrap(), [20, 30]);
    assert!(matches!(read(&mut other, ReadMode::EXCLUSIVE), Err(Error::LockWaitTimeout)));
    other.rollback().unwrap();
    assert_eq!(change(&world, &mut writer, 30, 31, 60), Waits);
    assert_eq!(world.delete(&mut writer, 30), Waits);
    assert_eq!(world.delete(&mut writer, 40), Done, "outside the range");
    assert_eq!(world.may_insert(25, 25, 500), Waits);
    // A row that was refused is as it was.
    reader.rollback().unwrap();
    assert_eq!(change(&world, &mut writer, 30, 31, 60), Done);
    writer.commit().unwrap();
    let mut reader = world.begin(Isolation::RepeatableRead);
    assert_eq!(read(&mut reader, ReadMode::SHARED).unwrap(), [20, 30]);
    assert_eq!(world.lock(&mut reader, 1, 31, 31, false), [30]);
    reader.rollback().unwrap();
    assert!(world.engine.check().unwrap().is_clean());
}

#[test]
fn an_entry_of_an_active_writer_does_not_answer() {
    let world = World::new();
    let mut writer = world.begin(Isolation::RepeatableRead);
    assert_eq!(change(&world, &mut writer, 20, 22, 40), Done);
    let mut reader = world.begin(Isolation::RepeatableRead);
    let read = |trx: &mut Trx, mode| world.scan_columns(trx, 1, (22, 22, false), mode, ColumnSet::first(2));
    assert!(matches!(read(&mut reader, ReadMode::SHARED), Err(Error::LockWaitTimeout)));
    assert!(matches!(read(&mut reader, ReadMode::Shared(IfLocked::Fail)), Err(Error::RowIsLocked)));
    assert_eq!(read(&mut reader, ReadMode::Shared(IfLocked::Skip)).unwrap(), []);
    writer.rollback().unwrap();
    assert_eq!(read(&mut reader, ReadMode::SHARED).unwrap(), []);
}

#[test]
fn who_locks_rows_by_an_index_lets_their_holder_change_them() {
    let world = World::new();
    let mut holder = world.begin(Isolation::RepeatableRead);
    assert!(world.get(&mut holder, 20, ReadMode::EXCLUSIVE).unwrap());
    // It has the gap of the entry, and not the row. The holder of the row would wait for it, and it for the holder.
    let mut other = world.begin(Isolation::RepeatableRead);
    assert!(matches!(world.scan(&mut other, 1, 15, 25, false, ReadMode::EXCLUSIVE), Err(Error::LockWaitTimeout)));
    assert_eq!(change(&world, &mut holder, 20, 50, 40), Done);
}

/// Each value of k begins with four rows. Threads count the rows of a value by entries alone, and take one away where there
/// are two. None takes the last one, whoever else counts.
#[test]
fn who_has_counted_entries_finds_them_until_it_ends() {
    let config = Config { pool_bytes: 512 * 16384, log_bytes: 8 << 20, background_threads: true, ..Config::tiny() };
    let engine = engine(config);
    let table = engine.table("d", "t").unwrap();
    let world = World { engine, table };
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 0..24 {
        assert_eq!(world.insert(&mut trx, id, id / 4, id), Done);
    }
    trx.commit().unwrap();
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (world, taken) = (&world, &taken);
            scope.spawn(move || {
                let mut random = Random::new(300 + thread);
                for _ in 0..500 {
                    let options = TrxOptions { lock_wait_timeout: Duration::from_secs(20), ..TrxOptions::default() };
                    let mut trx = world.engine.begin(options);
                    match count_and_take(world, &mut trx, &mut random) {
                        Ok(took) => {
                            trx.commit().unwrap();
                            taken.fetch_add(u64::from(took), Ordering::Relaxed);
                        }
                        Err(Error::Deadlock) => trx.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(taken.into_inner() > 50, "some are taken");
    let report = world.engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

fn count_and_take(world: &World, trx: &mut Trx, random: &mut Random) -> Result<bool, Error> {
    let k = random.below(6) as u32;
    let reverse = random.chance(2);
    let ids = world.scan_columns(trx, 1, (k, k, reverse), ReadMode::SHARED, ColumnSet::first(2))?;
    assert!(!ids.is_empty(), "the last row of {k} is gone");
    let takes = ids.len() > 1 && random.chance(2);
    // One that was counted goes, or any comes.
    let id = if takes { ids[random.below(ids.len() as u64) as usize] } else { random.below(24) as u32 };
    let (mut row, key) = (Row::new(), id.to_be_bytes());
    if !trx.get(&world.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)? {
        let values = [id, k, id].map(u32::to_be_bytes);
        trx.insert(&world.table, &values.each_ref().map(|value| Some(&value[..])))?;
    } else if takes && random.chance(2) {
        trx.delete(&world.table, &row)?;
    } else if takes {
        trx.update(&world.table, &row, &[(1, Some(&(1000 + id).to_be_bytes()))])?;
    } else if number(&row, 1) >= 1000 {
        trx.update(&world.table, &row, &[(1, Some(&k.to_be_bytes()))])?;
    }
    Ok(takes)
}

#[test]
fn nowait_and_skip_locked() {
    let world = World::new();
    let mut holder = world.begin(Isolation::RepeatableRead);
    assert!(world.get(&mut holder, 20, ReadMode::EXCLUSIVE).unwrap());
    let mut trx = world.begin(Isolation::ReadCommitted);
    let skip = ReadMode::Exclusive(IfLocked::Skip);
    for index in [0, 1] {
        assert_eq!(world.scan(&mut trx, index, 0, 99, false, skip).unwrap(), [10, 30, 40]);
    }
    let fail = ReadMode::Shared(IfLocked::Fail);
    assert!(matches!(world.scan(&mut trx, 0, 20, 20, false, fail), Err(Error::RowIsLocked)));
    assert!(matches!(world.get(&mut trx, 20, fail), Err(Error::RowIsLocked)));
    assert!(!world.get(&mut trx, 20, skip).unwrap());
}

#[test]
fn a_snapshot_that_was_overtaken_may_not_lock() {
    let world = World::new();
    for on in [false, true] {
        let options = TrxOptions { snapshot_isolation: on, ..TrxOptions::default() };
        let mut trx = world.engine.begin(options);
        trx.take_snapshot();
        let mut other = world.begin(Isolation::RepeatableRead);
        let mut row = Row::new();
        let key = 20_u32.to_be_bytes();
        let columns = ColumnSet::first(3);
        assert!(other.get(&world.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &columns, &mut row).unwrap());
        let k = if on { 77_u32 } else { 66 };
        other.update(&world.table, &row, &[(1, Some(&k.to_be_bytes()))]).unwrap();
        other.commit().unwrap();
        assert!(world.get(&mut trx, 10, ReadMode::EXCLUSIVE).unwrap());
        let overtaken = world.get(&mut trx, 20, ReadMode::EXCLUSIVE);
        match on {
            true => assert!(matches!(overtaken, Err(Error::RecordChanged))),
            false => assert!(overtaken.unwrap()),
        }
    }
}

/// Many threads count ranges twice in one transaction, and insert and delete in between. The two counts never differ by
/// anything but the thread's own changes.
#[test]
fn a_range_that_was_locked_stays_as_it_was() {
    let config = Config { pool_bytes: 512 * 16384, log_bytes: 8 << 20, background_threads: true, ..Config::tiny() };
    let engine = engine(config);
    let table = engine.table("d", "t").unwrap();
    let world = World { engine, table };
    let next_unique = AtomicU64::new(1_000_000);
    let counted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (world, next_unique, counted) = (&world, &next_unique, &counted);
            scope.spawn(move || {
                let mut random = Random::new(100 + thread);
                for _ in 0..400 {
                    let options = TrxOptions { lock_wait_timeout: Duration::from_secs(20), ..TrxOptions::default() };
                    let mut trx = world.engine.begin(options);
                    match look_twice(world, &mut trx, &mut random, next_unique) {
                        Ok(()) => {
                            counted.fetch_add(1, Ordering::Relaxed);
                            trx.commit().unwrap();
                        }
                        Err(Error::Deadlock) => trx.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(counted.into_inner() > 400, "some get through");
    let report = world.engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

fn look_twice(world: &World, trx: &mut Trx, random: &mut Random, next_unique: &AtomicU64) -> Result<(), Error> {
    let index = random.below(2) as usize;
    let lower = random.below(2000) as u32;
    let upper = lower + random.below(200) as u32;
    let (first_reverse, second_reverse) = (random.chance(2), random.chance(2));
    let mode = if random.chance(2) { ReadMode::SHARED } else { ReadMode::EXCLUSIVE };
    // With the first two columns alone an entry of the index on k may answer.
    let columns = ColumnSet::first(2 + random.below(2) as usize);
    let mut seen = world.scan_columns(trx, index, (lower, upper, first_reverse), mode, columns)?;
    seen.sort_unstable();
    for _ in 0..random.below(6) {
        let id = random.below(2000) as u32;
        let mut row = Row::new();
        let key = id.to_be_bytes();
        let columns = ColumnSet::first(3);
        let is_in = |k: u32| {
            let value = if index == 0 { id } else { k };
            (lower..=upper).contains(&value)
        };
        if trx.get(&world.table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &columns, &mut row)? {
            let unique = next_unique.fetch_add(1, Ordering::Relaxed) as u32;
            let (was_in, k) = (is_in(number(&row, 1)), random.below(2000) as u32);
            let is_in = match random.below(3) {
                0 => {
                    trx.update(&world.table, &row, &[(1, Some(&k.to_be_bytes()))])?;
                    is_in(k)
                }
                1 => {
                    trx.update(&world.table, &row, &[(2, Some(&unique.to_be_bytes()))])?;
                    was_in
                }
                _ => {
                    trx.delete(&world.table, &row)?;
                    false
                }
            };
            if was_in && !is_in {
                seen.retain(|other| *other != id);
            }
            if is_in && !was_in {
                seen.push(id);
            }
        } else {
            let k = random.below(2000) as u32;
            let unique = next_unique.fetch_add(1, Ordering::Relaxed) as u32;
            let values = [id, k, unique].map(u32::to_be_bytes);
            trx.insert(&world.table, &values.each_ref().map(|value| Some(&value[..])))?;
            if is_in(k) {
                seen.push(id);
            }
        }
    }
    seen.sort_unstable();
    let mut again = world.scan_columns(trx, index, (lower, upper, second_reverse), mode, columns)?;
    again.sort_unstable();
    assert_eq!(again, seen, "index {index}, {lower}..={upper}");
    Ok(())
}
