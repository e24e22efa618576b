//! Concurrent transactions, in an order drawn from a seed, against a model: a map of what is committed, and for each
//! transaction the snapshot it reads and the rows it changed. Purge and page cleaning run in between, savepoints are
//! rolled back, and now and then the power fails: what was acknowledged is there, what was open is gone, and the check
//! finds nothing.
//!
//! No statement waits: a lock that is not free is a timeout at once, which the model allows whenever another
//! transaction has changed or locked something.

#[path = "transactions/beside.rs"]
mod beside;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use format::collation::CollationId;
use format::fulltext::Tokenizer;
use format::value::{ColumnType, LobSize, array};
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Isolation, PartOrder, ReadMode, Row, Savepoint,
    ScanRange, Table, TableDefinition, Trx, TrxOptions,
};

const ID: usize = 0;
const COLUMNS: usize = 7;

/// The values of a row by column: id, a, u, v, b, w (words) and r (an array of numbers). Of the last two an index has
/// several entries of a row.
type Values = Vec<Option<Vec<u8>>>;
/// The key as it is ordered.
type Rows = BTreeMap<Vec<u8>, Values>;
/// What a transaction did: `None` = deleted.
type Overlay = BTreeMap<Vec<u8>, Option<Values>>;

struct Open {
    trx: Trx,
    table: Arc<Table>,
    snapshot: Option<Rows>,
    isolation: Isolation,
    own: Overlay,
    savepoints: Vec<(Savepoint, Overlay)>,
    locked: bool,
}

struct World {
    random: Random,
    disk: SimDisk,
    config: Config,
    engine: Option<Arc<Engine>>,
    committed: Rows,
    open: Vec<Open>,
    /// The key is text in which case does not count.
    text_key: bool,
    /// The trees of the key and of two indexes descend.
    descends: bool,
}

/// An index in which the long column has a prefix only.
fn index(name: &str, unique: bool, columns: &[usize]) -> IndexDefinition {
    let mut index = IndexDefinition::new(name, unique, columns);
    for part in index.parts.iter_mut().filter(|part| part.column == 4) {
        part.prefix_chars = Some(20);
    }
    index
}

/// An index of the elements of an array, and another column.
fn array_index() -> IndexDefinition {
    let mut index = IndexDefinition::new("r", false, &[6, 1]);
    index.parts[0].elements = Some(ColumnType::Int { bytes: 4, unsigned: true });
    index
}

fn definition(text_key: bool, descends: bool) -> TableDefinition {
    let id = match text_key {
        true => ColumnType::VarChar { chars: 300, collation: CollationId::UTF8MB4_GENERAL_CI },
        false => ColumnType::Int { bytes: 4, unsigned: true },
    };
    let first_descends = |mut index: IndexDefinition| {
        index.parts[0].order = PartOrder::of(descends);
        index
    };
    TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", id, false),
            Column::new("a", ColumnType::Int { bytes: 4, unsigned: true }, true),
            Column::new("u", ColumnType::VarBinary { bytes: 40 }, true),
            Column::new("v", ColumnType::VarChar { chars: 1500, collation: CollationId::UTF8MB4_GENERAL_CI }, true),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, true),
            Column::new(
                "w",
                ColumnType::Text { size: LobSize::Long, collation: CollationId::UTF8MB4_GENERAL_CI },
                true,
            ),
            Column::new("r", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![
            first_descends(index("PRIMARY", true, &[0])),
            first_descends(index("a", false, &[1])),
            index("u", true, &[2]),
            first_descends(index("b", false, &[4, 1])),
            IndexDefinition { fulltext: Some(Tokenizer::default()), ..index("w", false, &[3, 5]) },
            array_index(),
        ],
        ..TableDefinition::default()
    }
}

impl World {
    fn new(seed: u64, page_bytes: usize) -> World {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(seed);
        let config = Config { page_bytes, pool_bytes: 300 * page_bytes as u64, log_bytes: 4 << 20, ..Config::tiny() };
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        Engine::create(shared.clone(), &config).unwrap();
        let engine = Engine::open(shared, config.clone()).unwrap();
        engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
        let text_key = random.chance(3);
        let descends = random.chance(3);
        engine.create_table(definition(text_key, descends), &TrxOptions::default()).unwrap();
        let (engine, committed, open) = (Some(engine), Rows::new(), Vec::new());
        World { random, disk, config, engine, committed, open, text_key, descends }
    }

    fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("open")
    }

    fn key_of(&self, id: &[u8]) -> Vec<u8> {
        if self.text_key { id.to_ascii_lowercase() } else { id.to_vec() }
    }

    fn some_id(&mut self) -> Vec<u8> {
        let number = self.random.below(120) as u32;
        if !self.text_key {
            return number.to_be_bytes().to_vec();
        }
        // Long keys, and the case of some letters does not matter.
        let letter = if self.random.chance(2) { 'x' } else { 'X' };
        let mut id = format!("{letter}{number:04}");
        id.extend(std::iter::repeat_n('y', number as usize * 2));
        id.into_bytes()
    }

    fn some_value(&mut self, column: usize) -> Option<Vec<u8>> {
        if self.random.chance(8) {
            return None;
        }
        let page = self.config.page_bytes as u64;
        match column {
            1 => Some((self.random.below(20) as u32).to_be_bytes().to_vec()),
            2 => Some(format!("unique {}", self.random.below(200)).into_bytes()),
            3 => Some(vec![b'v'; self.random.below(1500) as usize]),
            5 => {
                // Mostly a few words; now and then so many that they take pages of their own.
                let words = if self.random.chance(6) { page / 3 } else { 8 };
                let words = (0..self.random.below(words)).map(|_| format!("word{}", self.random.below(9)));
                Some(words.collect::<Vec<_>>().join(" ").into_bytes())
            }
            6 => {
                let elements = if self.random.chance(6) { page / 2 } else { 5 };
                let mut stored = Vec::new();
                for _ in 0..self.random.below(elements) {
                    array::push(&mut stored, &(self.random.below(12) as u32).to_be_bytes());
                }
                Some(stored)
            }
            _ => {
                let bytes = match self.random.below(6) {
                    0 => page * 6,
                    1 => page,
                    2 => page / 3,
                    _ => 30,
                };
                Some(vec![self.random.below(256) as u8; self.random.below(bytes) as usize])
            }
        }
    }

    fn begin(&mut self) {
        let isolation = match self.random.below(4) {
            0 => Isolation::ReadCommitted,
            _ => Isolation::RepeatableRead,
        };
        let (lock_wait_timeout, metadata_wait_timeout) = (Duration::ZERO, Duration::ZERO);
        let options = TrxOptions { isolation, lock_wait_timeout, metadata_wait_timeout, ..TrxOptions::default() };
        let mut trx = self.engine().begin(options);
        let table = match trx.open_table("d", "t") {
            // A statement has the table alone.
            Err(Error::LockWaitTimeout) => return,
            opened => opened.unwrap(),
        };
        self.open.push(Open {
            trx,
            table,
            snapshot: None,
            isolation,
            own: Overlay::new(),
            savepoints: Vec::new(),
            locked: false,
        });
    }

    /// The newest rows as a transaction sees them when it locks: committed, and its own.
    fn newest(&self, at: usize) -> Rows {
        overlaid(&self.committed, &self.open[at].own)
    }

    fn others_hold_locks(&self, at: usize) -> bool {
        self.open.iter().enumerate().any(|(other, open)| other != at && open.locked)
    }

    fn step(&mut self) {
        if self.open.is_empty() || (self.open.len() < 4 && self.random.chance(12)) {
            self.begin();
        }
        if self.open.is_empty() {
            return;
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        self.step_of(at);
    }

    /// One step of an open transaction.
    fn step_of(&mut self, at: usize) {
        let seed = self.random.next();
        self.open[at].trx.statement_begin();
        if self.open[at].isolation == Isolation::ReadCommitted {
            self.open[at].snapshot = None;
        }
        match seed % 32 {
            0..8 => self.insert(at),
            8..15 => self.update(at),
            15..19 => self.delete(at),
            19..22 => self.scan(at),
            22..24 => self.get(at),
            24 => {
                let savepoint = self.open[at].trx.savepoint();
                let own = self.open[at].own.clone();
                self.open[at].savepoints.push((savepoint, own));
            }
            25 => {
                let count = self.open[at].savepoints.len();
                if count > 0 {
                    let keep = self.random.below(count as u64) as usize;
                    let open = &mut self.open[at];
                    let (savepoint, own) = open.savepoints[keep].clone();
                    open.savepoints.truncate(keep + 1);
                    open.trx.rollback_to(savepoint).unwrap();
                    open.own = own;
                }
            }
            26 | 27 => self.commit(at),
            28 => self.rollback(at),
            _ => {
                self.engine().step().unwrap();
            }
        }
    }

    fn commit(&mut self, at: usize) {
        let open = self.open.swap_remove(at);
        open.trx.commit().unwrap();
        self.committed = overlaid(&self.committed, &open.own);
    }

    fn rollback(&mut self, at: usize) {
        self.open.swap_remove(at).trx.rollback().unwrap();
    }

    fn insert(&mut self, at: usize) {
        let id = self.some_id();
        let mut values: Values = vec![Some(id.clone())];
        for column in 1..COLUMNS {
            let value = self.some_value(column);
            values.push(value);
        }
        let newest = self.newest(at);
        let key = self.key_of(&id);
        let taken = newest.contains_key(&key) || is_taken(&newest, None, &values[2]);
        let open = &mut self.open[at];
        let result = open.trx.insert(&open.table, &slices(&values));
        self.settle(at, result, taken, |own| {
            own.insert(key, Some(values));
        });
    }

    fn update(&mut self, at: usize) {
        let id = self.some_id();
        let key = self.key_of(&id);
        let newest = self.newest(at);
        let Some(row) = self.read_locked(at, &id, newest.get(&key)) else { return };
        let mut values = newest[&key].clone();
        let mut changes = Vec::new();
        for (column, place) in values.iter_mut().enumerate() {
            if self.random.chance(if column == ID { 5 } else { 2 }) {
                let value = if column == ID { Some(self.some_id()) } else { self.some_value(column) };
                place.clone_from(&value);
                changes.push((column, value));
            }
        }
        let new_key = self.key_of(values[ID].as_ref().unwrap());
        let taken = (new_key != key && newest.contains_key(&new_key)) || is_taken(&newest, Some(&key), &values[2]);
        let changes: Vec<_> = changes.iter().map(|(column, value)| (*column, value.as_deref())).collect();
        // An update that changes nothing writes nothing: the row does not become one of the transaction's own.
        let same = values == newest[&key];
        let open = &mut self.open[at];
        let result = open.trx.update(&open.table, &row, &changes);
        self.settle(at, result, taken, |own| {
            if !same {
                own.insert(key, None);
                own.insert(new_key, Some(values));
            }
        });
    }

    fn delete(&mut self, at: usize) {
        let id = self.some_id();
        let key = self.key_of(&id);
        let newest = self.newest(at);
        let Some(row) = self.read_locked(at, &id, newest.get(&key)) else { return };
        let open = &mut self.open[at];
        let result = open.trx.delete(&open.table, &row);
        self.settle(at, result, false, |own| {
            own.insert(key, None);
        });
    }

    /// The result of a change, and what it means for the model.
    fn settle(&mut self, at: usize, result: storage::Result<()>, taken: bool, apply: impl FnOnce(&mut Overlay)) {
        let allowed = self.others_hold_locks(at);
        let open = &mut self.open[at];
        open.locked = true;
        match result {
            Ok(()) => {
                assert!(!taken, "a duplicate came in");
                apply(&mut open.own);
            }
            Err(Error::DuplicateKey { .. }) => assert!(taken, "a duplicate of nothing"),
            Err(Error::LockWaitTimeout) => assert!(allowed, "nobody else holds a lock"),
            // The transaction is gone, with all it did.
            Err(Error::Deadlock) => {
                assert!(allowed);
                self.open.swap_remove(at);
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Locks and reads a row, through one index or another.
    fn read_locked(&mut self, at: usize, id: &[u8], expected: Option<&Values>) -> Option<Row> {
        let allowed = self.others_hold_locks(at);
        let through_unique = self.random.chance(3);
        let open = &mut self.open[at];
        open.locked = true;
        let mut row = Row::new();
        let all = ColumnSet::first(COLUMNS);
        let unique = expected.and_then(|values| values[2].as_deref());
        let found = match unique {
            Some(unique) if through_unique => {
                open.trx.get(&open.table, 2, &[Some(unique)], ReadMode::EXCLUSIVE, &all, &mut row)
            }
            _ => open.trx.get(&open.table, 0, &[Some(id)], ReadMode::EXCLUSIVE, &all, &mut row),
        };
        match found {
            Ok(true) => {
                assert_eq!(Some(&values_of(&row)), expected);
                Some(row)
            }
            Ok(false) => {
                assert!(expected.is_none(), "a row that is not found");
                None
            }
            Err(Error::LockWaitTimeout) => {
                assert!(allowed);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn visible(&mut self, at: usize) -> Rows {
        let open = &mut self.open[at];
        let snapshot = open.snapshot.get_or_insert_with(|| self.committed.clone());
        overlaid(snapshot, &open.own)
    }

    fn get(&mut self, at: usize) {
        let id = self.some_id();
        let expected = self.visible(at).remove(&self.key_of(&id));
        let open = &mut self.open[at];
        let mut row = Row::new();
        let all = ColumnSet::first(COLUMNS);
        let found = open.trx.get(&open.table, 0, &[Some(&id)], ReadMode::Consistent, &all, &mut row).unwrap();
        assert_eq!(found.then(|| values_of(&row)), expected);
    }

    fn scan(&mut self, at: usize) {
        let visible = self.visible(at);
        let of = self.random.below(4) as usize;
        let column = [0, 1, 2, 4][of];
        let reverse = self.random.chance(2);
        let covering = self.random.chance(3) && column != 4;
        let columns = match covering {
            true => [ID, column].into_iter().collect(),
            false => ColumnSet::first(COLUMNS),
        };
        let bound = (column == 1 && self.random.chance(2)).then(|| (self.random.below(20) as u32).to_be_bytes());
        let part = [bound.as_ref().map(|bound| &bound[..])];
        let lower = match bound {
            Some(_) if self.random.chance(2) => Bound::Included(&part[..]),
            Some(_) => Bound::Excluded(&part[..]),
            None => Bound::Unbounded,
        };
        let range = ScanRange { lower, upper: Bound::Unbounded, reverse };
        let open = &mut self.open[at];
        let mut cursor = open.trx.cursor(&open.table, of, ReadMode::Consistent, columns, range).unwrap();
        let mut row = Row::new();
        let mut found = Vec::new();
        while cursor.next(&mut open.trx, &mut row).unwrap() {
            found.push(match covering {
                true => vec![row.get(ID).map(<[u8]>::to_vec), row.get(column).map(<[u8]>::to_vec)],
                false => values_of(&row),
            });
        }
        let descends = self.descends;
        let in_range = |values: &&Values| {
            let order = values[1].as_deref().cmp(&part[0]);
            let order = if descends { order.reverse() } else { order };
            match lower {
                Bound::Unbounded => true,
                Bound::Included(_) => order.is_ge(),
                Bound::Excluded(_) => order.is_gt(),
            }
        };
        let mut expected: Vec<Values> = visible.values().filter(in_range).cloned().collect();
        // Order by the index: its column, then the key.
        let place = |values: &Values| {
            let cut = |value: &Option<Vec<u8>>| {
                value.as_ref().map(|value| match column {
                    4 => value[..value.len().min(20)].to_vec(),
                    _ => value.clone(),
                })
            };
            let id = values[ID].as_ref().unwrap();
            let id = if self.text_key { id.to_ascii_lowercase() } else { id.clone() };
            match column {
                ID => (None, None, id),
                4 => (cut(&values[4]), values[1].clone(), id),
                _ => (cut(&values[column]), None, id),
            }
        };
        let first_descends = descends && column != 2;
        expected.sort_by(|left, right| {
            let (left, right) = (place(left), place(right));
            let of = |order: std::cmp::Ordering, descends: bool| if descends { order.reverse() } else { order };
            of(left.0.cmp(&right.0), first_descends).then(left.1.cmp(&right.1)).then(of(left.2.cmp(&right.2), descends))
        });
        if reverse {
            expected.reverse();
        }
        if covering {
            expected = expected.iter().map(|values| vec![values[ID].clone(), values[column].clone()]).collect();
        }
        let short = |rows: &[Values]| -> Vec<String> {
            let text = |value: &Option<Vec<u8>>| match value {
                Some(value) => format!("{} bytes {:?}", value.len(), &value[..value.len().min(8)]),
                None => "NULL".into(),
            };
            rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(", ")).collect()
        };
        if found.len() != expected.len() {
            let (found, expected) = (short(&found), short(&expected));
            let missing: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
            let more: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
            panic!(
                "rows through index {of}, reverse {reverse}, covering {covering}, lower {lower:?}\nmissing {missing:#?}\nmore {more:#?}"
            );
        }
        assert!(found == expected, "rows through index {of}, reverse {reverse}, covering {covering}");
    }

    /// The power fails, or the server stops cleanly.
    fn restart(&mut self) {
        let engine = self.engine.take().unwrap();
        if self.random.chance(3) {
            self.open.clear();
            if self.random.chance(2) {
                while engine.step().unwrap() {}
            }
            engine.close().unwrap();
            drop(engine);
        } else {
            let after = self.disk.crash();
            self.engine = Some(engine);
            return self.crashed(after);
        }
        self.start();
    }

    /// The machine has gone down; this is the disk that the next one finds.
    fn crashed(&mut self, disk: SimDisk) {
        for open in self.open.drain(..) {
            // It is not rolled back: its thread ended with the machine.
            std::mem::forget(open.trx);
        }
        drop(self.engine.take());
        self.disk = disk;
        self.start();
    }

    fn start(&mut self) {
        let engine = Engine::open(Arc::new(self.disk.clone()), self.config.clone()).unwrap();
        self.engine = Some(engine);
        self.check();
    }

    fn check(&mut self) {
        let engine = self.engine().clone();
        let report = engine.check().unwrap();
        assert!(report.is_clean(), "{:#?}", report.errors);
        self.begin();
        let at = self.open.len() - 1;
        for _ in 0..4 {
            self.scan(at);
        }
        self.open.swap_remove(at);
    }
}

fn slices(values: &Values) -> Vec<Option<&[u8]>> {
    values.iter().map(Option::as_deref).collect()
}

fn values_of(row: &Row) -> Values {
    (0..COLUMNS).map(|column| row.get(column).map(<[u8]>::to_vec)).collect()
}

fn overlaid(rows: &Rows, own: &Overlay) -> Rows {
    let mut all = rows.clone();
    for (key, values) in own {
        match values {
            Some(values) => all.insert(key.clone(), values.clone()),
            None => all.remove(key),
        };
    }
    all
}

/// Whether another row than that of `key` has this value of the unique column.
fn is_taken(rows: &Rows, key: Option<&Vec<u8>>, unique: &Option<Vec<u8>>) -> bool {
    is_taken_in(rows, key, 2, unique)
}

fn is_taken_in(rows: &Rows, key: Option<&Vec<u8>>, column: usize, value: &Option<Vec<u8>>) -> bool {
    value.is_some() && rows.iter().any(|(other, values)| Some(other) != key && values[column] == *value)
}

/// A few seeds, or as many as `GLASSINE_TEST_SEEDS` says.
fn seeds(from: u64) -> std::ops::Range<u64> {
    let count = std::env::var("GLASSINE_TEST_SEEDS").ok().and_then(|count| count.parse().ok());
    let first = std::env::var("GLASSINE_TEST_FIRST_SEED").ok().and_then(|first| first.parse().ok());
    let from = first.unwrap_or(from);
    from..from + count.unwrap_or(8)
}

fn run(seed: u64, page_bytes: usize) {
    println!("seed {seed}");
    let mut world = World::new(seed, page_bytes);
    for _ in 0..4 {
        for _ in 0..100 + world.random.below(300) {
            world.step();
        }
        world.restart();
    }
    while world.engine().step().unwrap() {}
    world.check();
    assert_eq!(world.engine().status().history_list_length, 0);
}

#[test]
fn transactions_agree_with_the_model_on_small_pages() {
    for seed in seeds(0) {
        run(seed, 4096);
    }
}

#[test]
fn transactions_agree_with_the_model() {
    for seed in seeds(1000) {
        run(seed, 16384);
    }
}

/// Threads wait for each other's locks, insert over what others deleted, and roll back, while purge and the cleaner
/// run: in the end the trees contain the same rows, and everything can be purged.
#[test]
fn threads_purge_and_rollback_leave_whole_trees() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(5));
    let config = Config { page_bytes: 4096, pool_bytes: 2000 * 4096, log_bytes: 8 << 20, ..Config::tiny() };
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk, config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let table = engine.create_table(definition(false, false), &TrxOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    let all = ColumnSet::first(COLUMNS);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (engine, table, all) = (&engine, &table, &all);
                scope.spawn(move || {
                    let mut random = Random::new(worker);
                    let mut outcomes = [0; 4];
                    for _ in 0..400 {
                        let options =
                            TrxOptions { lock_wait_timeout: Duration::from_millis(300), ..TrxOptions::default() };
                        let mut trx = engine.begin(options);
                        let mut failed = false;
                        for _ in 0..1 + random.below(5) {
                            let id = (random.below(40) as u32).to_be_bytes();
                            let a = (random.below(10) as u32).to_be_bytes();
                            let u = random.below(60).to_string();
                            let long = if random.chance(10) { 9000 } else { 40 };
                            let b = vec![worker as u8; random.below(long) as usize];
                            let most = if random.chance(10) { 1500 } else { 5 };
                            let count = 1 + random.below(most);
                            let words = (0..count).map(|_| format!("word{}", random.below(9))).collect::<Vec<_>>();
                            let w = words.join(" ").into_bytes();
                            let mut r = Vec::new();
                            for _ in 0..random.below(4) {
                                array::push(&mut r, &(random.below(12) as u32).to_be_bytes());
                            }
                            let mut row = Row::new();
                            let done = match trx.get(table, 0, &[Some(&id)], ReadMode::EXCLUSIVE, all, &mut row) {
                                Err(error) => Err(error),
                                Ok(false) => {
                                    let values: [&[u8]; COLUMNS] = [&id, &a, u.as_bytes(), b"v", &b, &w, &r];
                                    trx.insert(table, &values.map(Some))
                                }
                                Ok(true) if random.chance(2) => trx.delete(table, &row),
                                Ok(true) => {
                                    let values: [(usize, &[u8]); 5] =
                                        [(1, &a), (2, u.as_bytes()), (4, &b), (5, &w), (6, &r)];
                                    trx.update(table, &row, &values.map(|(column, value)| (column, Some(value))))
                                }
                            };
                            match done {
                                Ok(()) => {}
                                Err(Error::DuplicateKey { .. }) => outcomes[1] += 1,
                                Err(Error::Deadlock | Error::LockWaitTimeout) => {
                                    outcomes[2] += 1;
                                    failed = true;
                                    break;
                                }
                                Err(error) => panic!("{error}"),
                            }
                        }
                        if failed || random.chance(4) {
                            outcomes[3] += 1;
                            trx.rollback().unwrap();
                        } else {
                            outcomes[0] += 1;
                            trx.commit().unwrap();
                        }
                    }
                    outcomes
                })
            })
            .collect();
        let (engine, table, stop) = (&engine, &table, &stop);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                engine.step().unwrap();
            }
        });
        scope.spawn(move || {
            // One snapshot: every index contains the same rows.
            while !stop.load(Ordering::Relaxed) {
                let mut trx = engine.begin(TrxOptions::default());
                let mut counts = Vec::new();
                for index in 0..4 {
                    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, all, ScanRange::ALL).unwrap();
                    let (mut row, mut rows) = (Row::new(), Vec::new());
                    while cursor.next(&mut trx, &mut row).unwrap() {
                        rows.push(values_of(&row));
                    }
                    rows.sort();
                    counts.push(rows);
                }
                for (index, rows) in counts.iter().enumerate() {
                    assert!(*rows == counts[0], "index {index} has {} of {} rows", rows.len(), counts[0].len());
                }
                trx.commit().unwrap();
            }
        });
        let outcomes: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for outcome in outcomes {
            println!("committed, duplicates, lock failures, rolled back: {:?}", outcome.unwrap());
        }
    });
    while engine.step().unwrap() {}
    assert_eq!(engine.status().history_list_length, 0);
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
}

/// A transaction that locks more rows than the lock table can hold is refused and rolled back as a whole, as in MySQL
/// (1206); its locks are released, and others go on.
#[test]
fn a_full_lock_table_refuses_the_statement_and_rolls_its_transaction_back() {
    let config = Config { lock_bytes: 512 << 10, log_bytes: 32 << 20, pool_bytes: 32 << 20, ..Config::tiny() };
    let (engine, table) = numbered(config, 0..10_000);
    let columns: ColumnSet = [0, 1].into_iter().collect();
    let mode = ReadMode::Exclusive(storage::IfLocked::Wait);
    let update = |trx: &mut Trx, id: u32, row: &mut Row| -> storage::Result<()> {
        assert!(trx.get(&table, 0, &[Some(&id.to_be_bytes())], mode, &columns, row)?);
        trx.update(&table, row, &[(1, Some(&[0, 0, 0, 1]))]).map(|_| ())
    };
    let mut row = Row::new();
    let mut trx = engine.begin(TrxOptions::default());
    let refused = (0..10_000).find_map(|id| update(&mut trx, id, &mut row).err()).unwrap();
    assert!(matches!(refused, Error::LockTableFull), "{refused:?}");
    assert_eq!(engine.status().locks_held, 0, "its locks are released");
    let mut other = engine.begin(TrxOptions::default());
    for id in (0..10_000_u32).step_by(50) {
        assert!(other.get(&table, 0, &[Some(&id.to_be_bytes())], mode, &columns, &mut row).unwrap());
        assert_eq!(row.get(1), Some(&[0; 4][..]), "row {id} is as it was");
    }
    other.rollback().unwrap();
}

/// A table of numbers.
fn numbered(config: Config, ids: impl Iterator<Item = u32>) -> (Arc<Engine>, Arc<Table>) {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(5));
    Engine::create(disk.clone(), &config).unwrap();
    let engine = Engine::open(disk, config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let int = || ColumnType::Int { bytes: 4, unsigned: true };
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![Column::new("id", int(), false), Column::new("a", int(), false)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    let table = engine.create_table(definition, &TrxOptions::default()).unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    for id in ids {
        trx.insert(&table, &[Some(&id.to_be_bytes()), Some(&[0; 4])]).unwrap();
    }
    trx.commit().unwrap();
    (engine, table)
}

/// The rows of a large transaction and the gaps between them are free once it has ended, although its locks are removed
/// later, and by nobody here.
#[test]
fn rows_of_a_large_transaction_are_free_when_it_ends() {
    const ROWS: u32 = 4000;
    let config = Config { locks_released_at_once: 100, log_bytes: 32 << 20, pool_bytes: 32 << 20, ..Config::tiny() };
    let (engine, table) = numbered(config, (0..ROWS).map(|id| 2 * id));
    let columns: ColumnSet = [0, 1].into_iter().collect();
    let mut row = Row::new();
    for commits in [true, false] {
        let before = engine.status().locks_held;
        let mut trx = engine.begin(TrxOptions::default());
        let mode = ReadMode::Exclusive(storage::IfLocked::Wait);
        let mut rows = trx.cursor(&table, 0, mode, columns, ScanRange::ALL).unwrap();
        while rows.next(&mut trx, &mut row).unwrap() {
            trx.update(&table, &row, &[(1, Some(&[0, 0, 0, 9]))]).unwrap();
        }
        let held = engine.status().locks_held - before;
        assert!(held >= u64::from(ROWS), "{held} locks");
        if commits {
            trx.commit().unwrap()
        } else {
            trx.rollback().unwrap()
        }
        let mut other = engine.begin(TrxOptions::default());
        let mode = ReadMode::Exclusive(storage::IfLocked::Fail);
        for id in (0..ROWS).map(|id| 2 * id) {
            assert!(other.get(&table, 0, &[Some(&id.to_be_bytes())], mode, &columns, &mut row).unwrap());
            other.insert(&table, &[Some(&(id + 1).to_be_bytes()), Some(&[0; 4])]).unwrap();
        }
        other.rollback().unwrap();
        while engine.step().unwrap() {}
        assert_eq!(engine.status().locks_held, 0);
    }
}
