//! A change of a table's partitions has happened or has not, whichever change of the disk a crash falls on: the rows of each
//! partition, the files, and what the check of the whole instance says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::schema::{Column, ColumnSet, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition};
use storage::{
    Config, Engine, Error, Interrupt, PartitionDefinition, Partitioning, Relatives, Result, Scheduler, Table, Trx,
    TrxOptions,
};

fn open(disk: &SimDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), Config::tiny())
}

fn partitioning(names: &[&str]) -> Option<Box<Partitioning>> {
    let part = |name: &&str| PartitionDefinition { name: (*name).into(), ..PartitionDefinition::default() };
    Some(Box::new(Partitioning { rule: "by tens".into(), parts: names.iter().map(part).collect() }))
}

fn definition(name: &str, names: &[&str]) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 8, unsigned: true }, false),
            Column::new("body", ColumnType::VarBinary { bytes: 500 }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("b", false, &[1])],
        partitioning: if names.is_empty() { None } else { partitioning(names) },
        ..TableDefinition::default()
    }
}

fn insert(engine: &Arc<Engine>, table: &Table, ids: std::ops::Range<u64>) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::patient());
    for id in ids {
        trx.insert(table, &[Some(&id.to_be_bytes()), Some(&[id as u8; 200])])?;
    }
    trx.commit()
}

/// The ids of each file, by the name that lists of tables show.
fn state(engine: &Arc<Engine>) -> BTreeMap<String, Vec<u64>> {
    let mut state = BTreeMap::new();
    for table in engine.tables("d") {
        for file in table.files() {
            let mut trx = engine.begin(TrxOptions::patient());
            trx.open_table("d", &table.name).unwrap();
            let columns = ColumnSet::first(1);
            let mut cursor = trx.cursor(file, 0, ReadMode::Consistent, columns, ScanRange::ALL).unwrap();
            let (mut row, mut ids) = (Row::new(), Vec::new());
            while cursor.next(&mut trx, &mut row).unwrap() {
                ids.push(u64::from_be_bytes(row.get(0).unwrap().try_into().unwrap()));
            }
            state.insert(file.file_name(), ids);
        }
    }
    state
}

fn files(disk: &SimDisk) -> Vec<String> {
    let mut names: Vec<String> = disk.list("d").unwrap().into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

/// `t` in partitions of ten ids each, and `u` without any.
fn instance(seed: u64) -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(seed);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = open(&disk).unwrap();
    let wait = TrxOptions::patient();
    engine.create_database("d", CollationId::DEFAULT, &wait).unwrap();
    let table = engine.create_table(definition("t", &["p0", "p1", "p2"]), &wait).unwrap();
    for (partition, at) in table.partitions().iter().zip(0..) {
        insert(&engine, partition, at * 10..at * 10 + 10).unwrap();
    }
    let other = engine.create_table(definition("u", &[]), &wait).unwrap();
    insert(&engine, &other, 100..105).unwrap();
    (disk, engine)
}

fn by_tens(values: &[Option<&[u8]>], places: usize) -> usize {
    let id = values[0].and_then(|id| id.try_into().ok()).map_or(0, u64::from_be_bytes);
    (id as usize / 10).min(places - 1)
}

fn repartition(engine: &Arc<Engine>, names: &[&str], kept: &[Option<usize>], moved: &[usize]) -> Result<()> {
    let wait = TrxOptions::patient();
    let locked = engine.lock_definitions(&[("d", "t")], Relatives::Alone, &wait)?;
    let mut alteration = locked.alter("d", "t")?;
    alteration.definition.partitioning = partitioning(names);
    alteration.repartition(kept, moved, &mut |values| Ok(by_tens(values, kept.len()))).map(drop)
}

type Change = fn(&Arc<Engine>) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("create", |engine| engine.create_table(definition("v", &["a", "b"]), &TrxOptions::patient()).map(drop)),
    ("drop", |engine| engine.drop_tables(&[("d", "t"), ("d", "u")], &TrxOptions::patient())),
    ("rename", |engine| {
        let renames = [(("d", "t"), ("d", "x")), (("d", "u"), ("d", "t"))];
        engine.rename_tables(&renames, &TrxOptions::patient())
    }),
    ("truncate", |engine| engine.truncate_table("d", "t", &TrxOptions::patient())),
    ("add", |engine| repartition(engine, &["p0", "p1", "p2", "p3"], &[Some(0), Some(1), Some(2), None], &[])),
    ("drop partition", |engine| repartition(engine, &["p0", "p2"], &[Some(0), Some(2)], &[])),
    ("truncate partition", |engine| repartition(engine, &["p0", "p1", "p2"], &[Some(0), None, Some(2)], &[])),
    ("reorganize", |engine| repartition(engine, &["p0", "p1"], &[Some(0), None], &[1, 2])),
    ("divide anew", |engine| repartition(engine, &["p2", "p0"], &[None, None], &[0, 1, 2])),
    ("exchange", |engine| {
        let wait = TrxOptions::patient();
        let locked = engine.lock_definitions(&[("d", "t"), ("d", "u")], Relatives::Along, &wait)?;
        let (table, other) = (locked.table("d", "t")?, locked.table("d", "u")?);
        locked.exchange_partition(&table, 1, &other)
    }),
    ("remove partitioning", |engine| {
        let wait = TrxOptions::patient();
        let locked = engine.lock_definitions(&[("d", "t")], Relatives::Alone, &wait)?;
        let mut alteration = locked.alter("d", "t")?;
        alteration.definition.partitioning = None;
        alteration.copy(None, None).map(drop)
    }),
    ("partition", |engine| {
        let wait = TrxOptions::patient();
        let locked = engine.lock_definitions(&[("d", "u")], Relatives::Alone, &wait)?;
        let mut alteration = locked.alter("d", "u")?;
        alteration.definition.partitioning = partitioning(&["x", "y"]);
        alteration.copy(None, Some(&mut |values| Ok(by_tens(values, 2)))).map(drop)
    }),
    ("index", |engine| {
        let index = IndexDefinition::new("c", true, &[1, 0]);
        engine.create_index("d", "t", index, &TrxOptions::patient()).map(drop)
    }),
];

#[test]
fn a_change_of_partitions_happens_as_a_whole_or_not_at_all() {
    for (name, change) in CHANGES {
        let (_, engine) = instance(1);
        let before = state(&engine);
        change(&engine).unwrap();
        let after = state(&engine);
        engine.close().unwrap();
        let mut seen = [0; 2];
        let mut crash_in = 1;
        loop {
            let (disk, engine) = instance(crash_in);
            let crash_at = disk.changes() + crash_in;
            disk.set_faults(|faults| faults.crash_at = Some(crash_at));
            let done = change(&engine).is_ok();
            let reached = disk.changes() >= crash_at;
            let disk = disk.crash();
            drop(engine);
            let engine = open(&disk).unwrap();
            let found = state(&engine);
            assert!(found == before || found == after, "{name}, crash at change {crash_in}: {found:?}");
            assert!(!done || found == after, "{name}, crash at change {crash_in}: what was acknowledged is lost");
            seen[usize::from(found == after)] += 1;
            while engine.step().unwrap() {}
            let report = engine.check().unwrap();
            assert!(report.errors.is_empty(), "{name}, crash at change {crash_in}: {:?}", report.errors);
            engine.close().unwrap();
            let wanted: Vec<String> = found.keys().map(|name| format!("{name}.ibd")).collect();
            assert_eq!(files(&disk), wanted, "{name}, crash at change {crash_in}");
            if done && !reached {
                break;
            }
            crash_in += 1 + crash_in / 6;
        }
        assert!(seen.iter().all(|count| *count > 0) || before == after, "{name}: both ends were met: {seen:?}");
    }
}

#[test]
fn a_partition_that_stays_keeps_its_file_and_its_history() {
    let (_, engine) = instance(3);
    let spaces = |engine: &Arc<Engine>| -> Vec<_> {
        engine.table("d", "t").unwrap().partitions().iter().map(|partition| partition.space).collect()
    };
    let before = spaces(&engine);
    repartition(&engine, &["p0", "p1", "p2", "p3"], &[Some(0), Some(1), Some(2), None], &[]).unwrap();
    assert_eq!(spaces(&engine)[..3], before[..]);
    repartition(&engine, &["p1", "p3"], &[Some(1), Some(3)], &[]).unwrap();
    assert_eq!(spaces(&engine)[0], before[1]);
    let ids = state(&engine);
    assert_eq!((ids["t#p#p1"].len(), ids["t#p#p3"].len(), ids.len()), (10, 0, 3));
    engine.close().unwrap();
}

#[test]
fn the_log_is_synced_once_for_many_files() {
    let (disk, engine) = instance(4);
    let names: Vec<String> = (0..200).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let before = disk.syncs();
    engine.create_table(definition("many", &names), &TrxOptions::patient()).unwrap();
    let files = names.len() as u64;
    let made = disk.syncs() - before;
    // Each file once; the others are of pages that leave the small pool.
    assert!((files..2 * files).contains(&made), "{made} syncs for {files} new files");
    let before = disk.syncs();
    engine.drop_tables(&[("d", "many")], &TrxOptions::patient()).unwrap();
    let gone = disk.syncs() - before;
    assert!(gone < files / 2, "{gone} syncs for {files} files that go");
    assert!(files_of(&disk, "many").is_empty());
    engine.close().unwrap();
}

/// The files of a table's partitions.
fn files_of(disk: &SimDisk, table: &str) -> Vec<String> {
    files(disk).into_iter().filter(|name| name.starts_with(&format!("{table}#"))).collect()
}

/// The body of each id, in all partitions.
type Bodies = BTreeMap<u64, u8>;

/// What a transaction has made of rows; None = it has deleted one.
type Own = BTreeMap<u64, Option<u8>>;

/// Transactions that go on between the steps of a statement that writes the partitions anew. Each changes rows that no other
/// has changed, so that none waits.
struct Writers {
    engine: Arc<Engine>,
    random: Random,
    committed: Bodies,
    open: Vec<(Trx, Arc<Table>, Own)>,
    steps: u64,
}

impl Writers {
    fn step(&mut self) {
        if self.open.len() < 3 && (self.open.is_empty() || self.random.chance(4)) {
            let metadata_wait_timeout = Duration::ZERO;
            let mut trx = self.engine.begin(TrxOptions { metadata_wait_timeout, ..TrxOptions::patient() });
            match trx.open_table("d", "t") {
                Ok(table) => self.open.push((trx, table, BTreeMap::new())),
                // The statement has the table alone.
                Err(Error::LockWaitTimeout) => return,
                Err(error) => panic!("{error}"),
            }
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        if self.random.chance(6) {
            return self.end(at);
        }
        let id = self.random.below(30);
        if self.open.iter().enumerate().any(|(other, open)| other != at && open.2.contains_key(&id)) {
            return;
        }
        let (trx, table, own) = &mut self.open[at];
        let body = self.random.below(256) as u8;
        let is_there = own.get(&id).copied().unwrap_or_else(|| self.committed.get(&id).copied()).is_some();
        let place = by_tens(&[Some(&id.to_be_bytes())], 3);
        let file = table.files()[place].clone();
        let mut row = Row::new();
        let key = id.to_be_bytes();
        let found = trx.get(&file, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &ColumnSet::first(2), &mut row).unwrap();
        assert_eq!(found, is_there, "row {id}");
        let (value, becomes) = match (found, self.random.chance(3)) {
            (true, true) => (trx.delete(&file, &row), None),
            (true, false) => (trx.update(&file, &row, &[(1, Some(&[body; 200]))]), Some(body)),
            (false, _) => (trx.insert(&file, &[Some(&key), Some(&[body; 200])]), Some(body)),
        };
        value.unwrap();
        own.insert(id, becomes);
    }

    fn end(&mut self, at: usize) {
        let (trx, _, own) = self.open.swap_remove(at);
        if self.random.chance(3) {
            return trx.rollback().unwrap();
        }
        trx.commit().unwrap();
        for (id, body) in own {
            match body {
                Some(body) => self.committed.insert(id, body),
                None => self.committed.remove(&id),
            };
        }
    }
}

struct Going(Mutex<Writers>);

impl std::fmt::Debug for Going {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Going")
    }
}

impl Scheduler for Going {
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        while !ready() {
            self.0.lock().unwrap().end(0);
        }
        true
    }

    fn pass(&self) {
        let writers = &mut *self.0.lock().unwrap();
        let steps = writers.random.below(4).min(writers.steps);
        writers.steps -= steps;
        (0..steps).for_each(|_| writers.step());
    }
}

/// The bodies that the files of a table have, by an index.
fn bodies(engine: &Arc<Engine>, index: usize) -> Bodies {
    let mut trx = engine.begin(TrxOptions::patient());
    let table = trx.open_table("d", "t").unwrap();
    let mut bodies = Bodies::new();
    for (place, file) in table.files().iter().enumerate() {
        let mut cursor = trx.cursor(file, index, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
        let mut row = Row::new();
        while cursor.next(&mut trx, &mut row).unwrap() {
            assert_eq!(by_tens(&[row.get(0)], 3), place, "a row in another partition");
            let id = u64::from_be_bytes(row.get(0).unwrap().try_into().unwrap());
            assert!(bodies.insert(id, row.get(1).unwrap()[0]).is_none(), "row {id} is there twice");
        }
    }
    bodies
}

/// Partitions are written anew beside transactions, with the same key and with another one.
#[test]
fn partitions_are_written_anew_beside_changes() {
    for seed in 0..40 {
        let (_, engine) = instance(seed);
        let committed = bodies(&engine, 0);
        let random = Random::new(seed);
        let mut writers = Writers { engine: engine.clone(), random, committed, open: Vec::new(), steps: 0 };
        (0..20).for_each(|_| writers.step());
        writers.steps = 200;
        let going = Arc::new(Going(Mutex::new(writers)));
        let scheduler: Arc<dyn Scheduler> = going.clone();
        let interrupt = Arc::new(Interrupt::scheduled(scheduler));
        let wait = TrxOptions { interrupt, ..TrxOptions::patient() };
        let locked = engine.lock_definitions(&[("d", "t")], Relatives::Alone, &wait).unwrap();
        let mut alteration = locked.alter("d", "t").unwrap();
        alteration.keeps_partitions = true;
        if seed % 2 == 1 {
            alteration.definition.indexes[0] = IndexDefinition::new("PRIMARY", true, &[1, 0]);
            alteration.definition.columns[1].nullable = false;
        }
        assert!(alteration.copies_beside(), "others may write");
        let (table, _) = alteration.copy(None, Some(&mut |values| Ok(by_tens(values, 3)))).unwrap();
        drop(locked);
        drop(wait);
        let mut writers = Arc::into_inner(going).expect("the statement has ended").0.into_inner().unwrap();
        assert!(writers.steps < 100, "{} steps are left", writers.steps);
        while !writers.open.is_empty() {
            writers.end(0);
        }
        let counted = |file: &Arc<Table>| file.state.rows.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(table.files().iter().map(counted).sum::<u64>(), writers.committed.len() as u64);
        for index in [0, 1] {
            assert_eq!(bodies(&engine, index), writers.committed, "seed {seed}, index {index}");
        }
        drop(table);
        let report = engine.check().unwrap();
        assert!(report.is_clean(), "seed {seed}: {:#?}", report.errors);
        drop(writers);
        engine.close().unwrap();
    }
}
