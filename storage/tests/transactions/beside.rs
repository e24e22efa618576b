//! Indexes that are built, and tables that are written anew, while the world goes on: between the steps of the builder,
//! transactions begin, change rows, and end; the builder is killed, the log of changes is full, or the power fails.

use std::sync::{Arc, Mutex};

use format::fulltext::Tokenizer;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Alteration, ColumnSet, Error, IndexDefinition, Interrupt, Isolation, Kill, ReadMode, Relatives, Row, ScanRange,
    Scheduler, Trx, TrxOptions,
};

use super::{COLUMNS, ID, Rows, World, array_index, definition, index, is_taken_in, seeds, values_of};

/// The indexes that a table of this test has from the beginning.
const OWN_INDEXES: usize = 6;
/// Of a log that is soon full.
const SHORT_LOG_BYTES: u64 = 20_000;

/// What happens between two steps of the builder.
#[derive(Default)]
struct Between {
    /// Steps of the world that are left.
    steps: u64,
    /// At which of them the builder is killed, or the power fails.
    kill_at: u64,
    crash_at: u64,
    crashed: Option<SimDisk>,
    /// Whether no two rows had one value of the column `a` when the builder began to read.
    at_first: Option<bool>,
    /// A transaction that does not use the table, and what its view is to see.
    watcher: Option<(Trx, Rows)>,
}

/// A world that the builder's scheduler lets go on.
struct Going {
    shared: Mutex<(World, Between)>,
    interrupt: Mutex<Option<Arc<Interrupt>>>,
}

impl std::fmt::Debug for Going {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Going")
    }
}

impl Going {
    fn step(&self) {
        let (world, between) = &mut *self.shared.lock().unwrap();
        if between.steps == 0 || between.crashed.is_some() {
            return;
        }
        between.steps -= 1;
        if between.steps == between.crash_at {
            between.crashed = Some(world.disk.crash());
            return;
        }
        if between.steps == between.kill_at
            && let Some(interrupt) = &*self.interrupt.lock().unwrap()
        {
            interrupt.set(Kill::Query);
        }
        if between.watcher.is_none() && world.random.chance(20) {
            let options = TrxOptions { isolation: Isolation::RepeatableRead, ..TrxOptions::default() };
            let mut trx = world.engine().begin(options);
            trx.take_snapshot();
            between.watcher = Some((trx, world.committed.clone()));
        }
        world.step();
    }
}

impl Scheduler for Going {
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        while !ready() {
            let (world, between) = &mut *self.shared.lock().unwrap();
            if between.crashed.is_some() || world.open.is_empty() {
                return false;
            }
            let at = world.random.below(world.open.len() as u64) as usize;
            match world.random.below(5) {
                0 => world.commit(at),
                1 => world.rollback(at),
                _ => world.step_of(at),
            }
        }
        true
    }

    fn pass(&self) {
        let steps = {
            let (world, between) = &mut *self.shared.lock().unwrap();
            between.at_first.get_or_insert_with(|| allows_one(&world.committed));
            if world.random.chance(3) { world.random.below(4) } else { 0 }
        };
        (0..steps).for_each(|_| self.step());
    }
}

/// Whether no two rows have one value of the column `a`.
fn allows_one(rows: &Rows) -> bool {
    rows.iter().all(|(key, row)| !is_taken_in(rows, Some(key), 1, &row[1]))
}

/// Indexes like those that the table has, and one that the rows may not allow.
fn some_indexes(random: &mut Random) -> Vec<IndexDefinition> {
    let words = IndexDefinition { fulltext: Some(Tokenizer::default()), ..index("w2", false, &[5]) };
    let all = [
        index("a2", false, &[1]),
        index("u2", true, &[2, 1]),
        index("b2", false, &[4, 3]),
        words,
        IndexDefinition { name: "r2".into(), ..array_index() },
        index("q", true, &[1]),
    ];
    all.into_iter().filter(|_| random.chance(3)).collect()
}

impl World {
    /// Changes the table while the world goes on. None: the power has failed.
    fn beside<T>(
        self,
        statement: impl FnOnce(Alteration<'_>) -> storage::Result<T>,
    ) -> (World, Option<(Between, storage::Result<T>)>) {
        let mut world = self;
        let between = Between {
            steps: 20 + world.random.below(300),
            kill_at: if world.random.chance(8) { world.random.below(100) } else { u64::MAX },
            crash_at: if world.random.chance(8) { world.random.below(100) } else { u64::MAX },
            ..Between::default()
        };
        let engine = world.engine().clone();
        let going = Arc::new(Going { shared: Mutex::new((world, between)), interrupt: Mutex::new(None) });
        let scheduler: Arc<dyn Scheduler> = going.clone();
        let interrupt = Arc::new(Interrupt::scheduled(scheduler));
        *going.interrupt.lock().unwrap() = Some(interrupt.clone());
        let wait = TrxOptions { interrupt, ..TrxOptions::default() };
        let locked = engine.lock_definitions(&[("d", "t")], Relatives::Alone, &wait);
        let done = locked.and_then(|locked| statement(locked.alter("d", "t")?));
        drop(wait);
        drop(going.interrupt.lock().unwrap().take());
        let (mut world, mut between) =
            Arc::into_inner(going).expect("the statement has ended").shared.into_inner().unwrap();
        if let Some(disk) = between.crashed.take() {
            if let Some((trx, _)) = between.watcher {
                std::mem::forget(trx);
            }
            drop(engine);
            world.crashed(disk);
            return (world, None);
        }
        (world, Some((between, done)))
    }

    /// Drops what an earlier build has made, and builds some indexes while the world goes on: beside the rows, or with the
    /// rows in another file.
    fn build(mut self, rebuilds: bool) -> World {
        let maps = self.random.chance(2);
        let indexes = some_indexes(&mut self.random);
        let is_unique = indexes.iter().any(|index| &*index.name == "q");
        let (mut world, ended) = self.beside(|mut alteration| {
            alteration.definition.indexes.truncate(OWN_INDEXES);
            alteration.definition.indexes.extend(indexes.iter().cloned());
            if !rebuilds {
                return alteration.in_place();
            }
            assert!(alteration.copies_beside(), "others may write");
            let mut map = |row: &Row| Ok(Some(values_of(row)));
            let (table, _) = alteration.copy(if maps { Some(&mut map) } else { None }, None)?;
            Ok(table)
        });
        let Some((between, built)) = ended else { return world };
        let (at_first, at_last) = (between.at_first.unwrap_or(true), allows_one(&world.committed));
        match built {
            Ok(table) => {
                assert!(!is_unique || at_last, "two rows have one key in a unique index");
                let rows = table.state.rows.load(std::sync::atomic::Ordering::Relaxed);
                assert!(!rebuilds || rows == world.committed.len() as u64, "{rows} rows are counted");
            }
            Err(Error::DuplicateRows(rows)) => {
                assert!(is_unique && &*rows.index == "q", "{rows:?}");
                assert!(!at_first || !at_last, "a duplicate of nothing");
            }
            Err(Error::Interrupted) => assert!(between.kill_at < u64::MAX),
            Err(Error::RowLogFull { .. }) => assert!(world.config.online_log_bytes_max == SHORT_LOG_BYTES),
            Err(error) => panic!("{error}"),
        }
        if let Some((trx, seen)) = between.watcher {
            world.watch(trx, &seen, rebuilds);
        }
        world.check();
        // Which indexes there are does not matter from here on, but that no key is refused because of this one.
        if world.engine().table("d", "t").unwrap().index("q").is_some() {
            world.open.drain(..).for_each(|open| open.trx.rollback().unwrap());
            world.engine().drop_index("d", "t", "q", &TrxOptions::default()).unwrap();
        }
        world
    }

    /// Gives the table another clustered index while the world goes on, and its own again.
    fn build_other_key(mut self) -> World {
        // (a, id) and (u) tell the rows apart, (a) may not. NULL becomes a value that no other row has.
        let key = [&[1, ID][..], &[2], &[1]][self.random.below(3) as usize];
        let (text_key, number) = (self.text_key, |id: &[u8]| -> u32 {
            match id.first_chunk() {
                Some(bytes) if id.len() == 4 => u32::from_be_bytes(*bytes),
                _ => std::str::from_utf8(&id[1..5]).unwrap().parse().unwrap(),
            }
        });
        let filled = move |row: &Row| {
            let mut values = values_of(row);
            let own = 1000 + number(values[ID].as_ref().unwrap());
            for column in key.iter().filter(|column| **column != ID) {
                values[*column].get_or_insert_with(|| match column {
                    1 => own.to_be_bytes().to_vec(),
                    _ => own.to_string().into_bytes(),
                });
            }
            values
        };
        let (mut world, ended) = self.beside(|mut alteration| {
            let definition = &mut alteration.definition;
            definition.indexes.truncate(OWN_INDEXES);
            definition.indexes[0] = index("PRIMARY", true, key);
            key.iter().for_each(|column| definition.columns[*column].nullable = false);
            assert!(alteration.copies_beside(), "others may write");
            let (table, _) = alteration.copy(Some(&mut |row: &Row| Ok(Some(filled(row)))), None)?;
            Ok(table)
        });
        let Some((between, built)) = ended else { return world };
        let (at_first, at_last) = (between.at_first.unwrap_or(true), allows_one(&world.committed));
        if let Some((trx, _)) = between.watcher {
            trx.rollback().unwrap();
        }
        match built {
            Ok(table) => {
                assert!(key != [1] || at_last, "two rows have one key");
                let rows = table.state.rows.load(std::sync::atomic::Ordering::Relaxed);
                assert!(rows == world.committed.len() as u64, "{rows} rows are counted");
            }
            Err(Error::DuplicateRows(rows)) => {
                assert!(key == [1] && &*rows.index == "PRIMARY", "{rows:?}");
                assert!(!at_first || !at_last, "a duplicate of nothing");
            }
            Err(Error::Interrupted) => assert!(between.kill_at < u64::MAX),
            Err(Error::RowLogFull { .. }) => assert!(world.config.online_log_bytes_max == SHORT_LOG_BYTES),
            Err(error) => panic!("{error}"),
        }
        let engine = world.engine().clone();
        if engine.table("d", "t").unwrap().columns[key[0]].nullable {
            world.check();
            return world;
        }
        let report = engine.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.errors);
        world.open.drain(..).for_each(|open| open.trx.rollback().unwrap());
        let committed = world.committed.clone();
        let of = |id: &[u8]| if text_key { id.to_ascii_lowercase() } else { id.to_vec() };
        let mut back = |row: &Row| {
            let mut values = values_of(row);
            let id = values[ID].clone().unwrap();
            let expected = committed.get(&of(&id)).expect("a row that is there");
            for column in key.iter().filter(|column| expected[**column].is_none()) {
                values[*column] = None;
            }
            Ok(Some(values))
        };
        let (wait, names) = (TrxOptions::default(), [("d", "t")]);
        let locked = engine.lock_definitions(&names, Relatives::Along, &wait).unwrap();
        let mut alteration = locked.alter("d", "t").unwrap();
        alteration.definition = definition(world.text_key, world.descends);
        alteration.copy(Some(&mut back), None).unwrap();
        drop(locked);
        world.check();
        world
    }

    /// A view that is older than an index reads the rows without it, and one that is older than the table's file does not.
    fn watch(&self, mut trx: Trx, seen: &Rows, rebuilds: bool) {
        let table = match trx.open_table("d", "t") {
            Err(Error::TableChanged) if rebuilds => return trx.rollback().unwrap(),
            opened => opened.unwrap(),
        };
        for ordinal in 0..table.indexes.len() {
            if table.indexes[ordinal].has_several_entries() {
                continue;
            }
            let columns = ColumnSet::first(COLUMNS);
            let mut cursor = trx.cursor(&table, ordinal, ReadMode::Consistent, columns, ScanRange::ALL).unwrap();
            let (mut row, mut found) = (Row::new(), Rows::new());
            let read = loop {
                match cursor.next(&mut trx, &mut row) {
                    Ok(true) => {
                        let values = values_of(&row);
                        found.insert(self.key_of(values[ID].as_ref().unwrap()), values);
                    }
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            match read {
                Ok(()) => assert!(found == *seen, "what index {ordinal} shows to an older view"),
                Err(Error::TableChanged) if ordinal >= OWN_INDEXES => {}
                Err(error) => panic!("index {ordinal}: {error}"),
            }
        }
        trx.rollback().unwrap();
    }
}

/// Worlds in which things are built, again and again: indexes, or the table anew.
fn build_worlds(most: u64, build: fn(World) -> World) {
    for seed in seeds(most) {
        println!("seed {seed}");
        let mut world = World::new(seed, if seed % 2 == 0 { 4096 } else { 16384 });
        if seed % 4 == 0 {
            world.config.online_log_bytes_max = SHORT_LOG_BYTES;
            world.restart();
        }
        for _ in 0..6 {
            for _ in 0..world.random.below(150) {
                world.step();
            }
            world = build(world);
        }
        world.restart();
        while world.engine().step().unwrap() {}
        world.check();
    }
}

#[test]
fn indexes_are_built_beside_changes() {
    build_worlds(5000, |world| world.build(false));
}

#[test]
fn tables_get_another_key_beside_changes() {
    build_worlds(5000, World::build_other_key);
}

#[test]
fn tables_are_written_anew_beside_changes() {
    build_worlds(7000, |mut world| {
        let rebuilds = !world.random.chance(4);
        world.build(rebuilds)
    });
}
