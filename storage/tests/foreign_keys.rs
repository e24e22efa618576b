//! Foreign keys between transactions: which transaction waits for which, that no child is left without its parent under
//! any concurrency, and that a crash leaves both or neither. And two transactions that want the same value of a unique
//! key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::{Random, SimDisk};
use storage::{
    Column, ColumnSet, Config, Engine, Error, ForeignKey, ForeignKeySide, IndexDefinition, Interrupt, Isolation,
    ReadMode, ReferentialAction, Row, ScanRange, Table, TableDefinition, TableUse, Trx, TrxOptions,
};

const INT: ColumnType = ColumnType::Int { bytes: 4, unsigned: true };

/// p (id, u): both unique.
fn parent() -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: "p".into(),
        columns: ["id", "u"].map(|name| Column::new(name, INT, true)).into(),
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("u", true, &[1])],
        ..TableDefinition::default()
    }
}

/// c (id, pid), pid refers to p (id).
fn child(action: ReferentialAction) -> TableDefinition {
    let key = ForeignKey {
        name: "c_ibfk_1".into(),
        columns: vec!["pid".into()],
        parent_database: "d".into(),
        parent: "p".into(),
        parent_columns: vec!["id".into()],
        on_delete: action,
        on_update: action,
    };
    TableDefinition {
        database: "d".into(),
        name: "c".into(),
        columns: ["id", "pid"].map(|name| Column::new(name, INT, true)).into(),
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("pid", false, &[1])],
        foreign_keys: vec![key],
        ..TableDefinition::default()
    }
}

fn config() -> Config {
    Config { pool_bytes: 256 * 16384, log_bytes: 4 << 20, ..Config::tiny() }
}

struct World {
    engine: Arc<Engine>,
    p: Arc<Table>,
    c: Arc<Table>,
}

impl World {
    /// Parents 1 to 5; child 10 of parent 1.
    fn new(disk: Arc<SimDisk>, config: Config, action: ReferentialAction) -> World {
        Engine::create(disk.clone(), &config).unwrap();
        let engine = Engine::open(disk, config).unwrap();
        let wait = TrxOptions::default();
        engine.create_database("d", CollationId::DEFAULT, &wait).unwrap();
        engine.create_table(parent(), &wait).unwrap();
        engine.create_table(child(action), &wait).unwrap();
        let world = World::of(engine);
        let mut trx = world.begin(Isolation::RepeatableRead);
        for id in 1..=5 {
            world.insert_parent(&mut trx, id).unwrap();
        }
        world.insert_child(&mut trx, 10, Some(1)).unwrap();
        trx.commit().unwrap();
        world
    }

    fn small(action: ReferentialAction) -> World {
        World::new(Arc::new(SimDisk::new(3)), config(), action)
    }

    fn of(engine: Arc<Engine>) -> World {
        let (p, c) = (engine.table("d", "p").unwrap(), engine.table("d", "c").unwrap());
        World { engine, p, c }
    }

    /// No statement waits: a lock that is not free is a timeout at once.
    fn begin(&self, isolation: Isolation) -> Trx {
        self.engine.begin(TrxOptions { isolation, lock_wait_timeout: Duration::ZERO, ..TrxOptions::default() })
    }

    fn patient(&self) -> Trx {
        self.open(self.engine.begin(TrxOptions { lock_wait_timeout: Duration::from_secs(20), ..TrxOptions::default() }))
    }

    fn open(&self, mut trx: Trx) -> Trx {
        assert!(trx.lock_table(&self.p, TableUse::Write).unwrap() && trx.lock_table(&self.c, TableUse::Write).unwrap());
        trx
    }

    fn insert_parent(&self, trx: &mut Trx, id: u32) -> Result<(), Error> {
        let values = [id, 100 + id].map(u32::to_be_bytes);
        trx.insert(&self.p, &values.each_ref().map(|value| Some(&value[..])))
    }

    fn insert_child(&self, trx: &mut Trx, id: u32, pid: Option<u32>) -> Result<(), Error> {
        let (id, pid) = (id.to_be_bytes(), pid.map(u32::to_be_bytes));
        trx.insert(&self.c, &[Some(&id), pid.as_ref().map(|pid| &pid[..])])
    }

    fn find(&self, trx: &mut Trx, table: &Table, id: u32, row: &mut Row) -> Result<bool, Error> {
        trx.get(table, 0, &[Some(&id.to_be_bytes())], ReadMode::EXCLUSIVE, &ColumnSet::first(2), row)
    }

    fn delete(&self, trx: &mut Trx, table: &Table, id: u32) -> Result<bool, Error> {
        let mut row = Row::new();
        let found = self.find(trx, table, id, &mut row)?;
        if found {
            trx.delete(table, &row)?;
        }
        Ok(found)
    }

    fn renumber_parent(&self, trx: &mut Trx, from: u32, to: u32) -> Result<bool, Error> {
        let mut row = Row::new();
        let found = self.find(trx, &self.p, from, &mut row)?;
        if found {
            trx.update(&self.p, &row, &[(0, Some(&to.to_be_bytes()))])?;
        }
        Ok(found)
    }

    /// The rows of a table as the committed ones are: (first, second column).
    fn rows(&self, table: &Arc<Table>) -> Vec<(u32, Option<u32>)> {
        let mut trx = self.begin(Isolation::RepeatableRead);
        let mut cursor = trx.cursor(table, 0, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
        let (mut row, mut rows) = (Row::new(), Vec::new());
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        while cursor.next(&mut trx, &mut row).unwrap() {
            rows.push((number(row.get(0).unwrap()), row.get(1).map(number)));
        }
        rows
    }

    /// Every child has its parent, and every tree is whole.
    fn check(&self) {
        let parents = self.rows(&self.p);
        for (id, pid) in self.rows(&self.c) {
            let Some(pid) = pid else { continue };
            assert!(parents.iter().any(|(parent, _)| *parent == pid), "child {id} without its parent {pid}");
        }
        for table in [&self.p, &self.c] {
            assert_eq!(self.engine.check_table(table, &Interrupt::default()).unwrap(), Vec::<String>::new());
        }
    }
}

fn is_orphan(result: Result<(), Error>) -> bool {
    matches!(result, Err(Error::ForeignKey(violation)) if violation.side == ForeignKeySide::Child)
}

fn has_children<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::ForeignKey(violation)) if violation.side == ForeignKeySide::Parent)
}

fn waits<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::LockWaitTimeout))
}

const LEVELS: [Isolation; 4] =
    [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

#[test]
fn a_child_waits_for_whoever_deletes_its_parent() {
    for level in LEVELS {
        let world = World::small(ReferentialAction::NoAction);
        let mut deleting = world.begin(level);
        assert!(world.delete(&mut deleting, &world.p, 2).unwrap());
        let mut inserting = world.begin(level);
        assert!(waits(world.insert_child(&mut inserting, 20, Some(2))));
        // The gap behind the last child is locked, because the deleted parent's children would be there.
        assert!(world.insert_child(&mut inserting, 5, Some(1)).is_ok(), "another parent is nobody's business");
        deleting.rollback().unwrap();
        assert!(world.insert_child(&mut inserting, 20, Some(2)).is_ok());
        inserting.commit().unwrap();

        let mut deleting = world.begin(level);
        assert!(world.delete(&mut deleting, &world.p, 4).unwrap());
        deleting.commit().unwrap();
        assert!(is_orphan(world.insert_child(&mut world.begin(level), 22, Some(4))));
        world.check();
    }
}

#[test]
fn a_parent_waits_for_whoever_inserts_its_child() {
    for level in LEVELS {
        let world = World::small(ReferentialAction::NoAction);
        let mut inserting = world.begin(level);
        world.insert_child(&mut inserting, 20, Some(2)).unwrap();
        let mut deleting = world.begin(level);
        assert!(waits(world.delete(&mut deleting, &world.p, 2)));
        assert!(waits(world.renumber_parent(&mut deleting, 2, 9)));
        inserting.commit().unwrap();
        assert!(has_children(world.delete(&mut deleting, &world.p, 2)));
        assert!(has_children(world.renumber_parent(&mut deleting, 2, 9)));
        assert!(world.delete(&mut deleting, &world.p, 3).unwrap());
        deleting.commit().unwrap();
        world.check();
    }
}

/// The snapshot of REPEATABLE READ does not count: a parent committed since then is one, and a deleted one is none.
#[test]
fn what_counts_is_what_is_there_now() {
    let world = World::small(ReferentialAction::NoAction);
    let mut old = world.begin(Isolation::RepeatableRead);
    old.take_snapshot();
    let mut other = world.begin(Isolation::RepeatableRead);
    world.insert_parent(&mut other, 8).unwrap();
    assert!(world.delete(&mut other, &world.p, 5).unwrap());
    other.commit().unwrap();
    assert!(world.insert_child(&mut old, 20, Some(8)).is_ok());
    assert!(is_orphan(world.insert_child(&mut old, 21, Some(5))));
    old.commit().unwrap();
    world.check();
}

/// No row becomes a child of the old key, not even without foreign key checks; at any level, as in InnoDB.
#[test]
fn where_no_child_was_found_none_comes() {
    for level in LEVELS {
        let world = World::small(ReferentialAction::NoAction);
        let mut deleting = world.begin(level);
        assert!(world.delete(&mut deleting, &world.p, 2).unwrap());
        let options =
            TrxOptions { lock_wait_timeout: Duration::ZERO, foreign_key_checks: false, ..TrxOptions::default() };
        let mut unchecked = world.engine.begin(options);
        assert!(waits(world.insert_child(&mut unchecked, 20, Some(2))));
        deleting.rollback().unwrap();
        assert!(world.insert_child(&mut unchecked, 20, Some(2)).is_ok());
    }
}

#[test]
fn what_follows_is_undone_with_its_statement() {
    let world = World::small(ReferentialAction::Cascade);
    let mut trx = world.begin(Isolation::RepeatableRead);
    for id in 11..200 {
        world.insert_child(&mut trx, id, Some(1 + id % 3)).unwrap();
    }
    trx.commit().unwrap();
    let before = (world.rows(&world.p), world.rows(&world.c));
    let mut trx = world.begin(Isolation::RepeatableRead);
    let savepoint = trx.savepoint();
    assert!(world.delete(&mut trx, &world.p, 1).unwrap());
    assert!(world.renumber_parent(&mut trx, 2, 77).unwrap());
    trx.rollback_to(savepoint).unwrap();
    // Another transaction has locked a child of parent 3: the cascade's changes before that child are undone.
    let mut other = world.begin(Isolation::RepeatableRead);
    let mut row = Row::new();
    assert!(world.find(&mut other, &world.c, 170, &mut row).unwrap());
    let pid = u32::from_be_bytes(row.get(1).unwrap().try_into().unwrap());
    assert!(waits(world.delete(&mut trx, &world.p, pid)));
    other.rollback().unwrap();
    trx.commit().unwrap();
    assert_eq!((world.rows(&world.p), world.rows(&world.c)), before);
    world.check();
}

#[test]
fn a_definition_waits_for_transactions_that_come_to_its_table() {
    let world = World::small(ReferentialAction::Cascade);
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert!(trx.lock_table(&world.p, TableUse::Write).unwrap());
    assert!(world.delete(&mut trx, &world.p, 2).unwrap());
    let short = TrxOptions { metadata_wait_timeout: Duration::from_millis(50), ..TrxOptions::default() };
    assert!(waits(world.engine.drop_tables(&[("d", "c")], &short)), "the child is known to the transaction");
    trx.commit().unwrap();
    assert!(matches!(world.engine.drop_tables(&[("d", "p")], &short), Err(Error::ForeignKeyRefused(_))));
    world.engine.drop_tables(&[("d", "c")], &short).unwrap();
    let mut trx = world.begin(Isolation::RepeatableRead);
    assert!(world.delete(&mut trx, &world.p, 1).unwrap(), "nobody refers to it any more");
}

#[test]
fn two_who_share_a_parent_and_want_it_gone_are_a_deadlock() {
    let config = Config { background_threads: true, ..config() };
    let world = Arc::new(World::new(Arc::new(SimDisk::new(4)), config, ReferentialAction::NoAction));
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let (world, barrier) = (world.clone(), barrier.clone());
            std::thread::spawn(move || {
                let mut trx = world.patient();
                world.insert_child(&mut trx, 30 + number, Some(2)).unwrap();
                barrier.wait();
                let outcome = world.renumber_parent(&mut trx, 2, 40 + number);
                trx.rollback().unwrap();
                outcome
            })
        })
        .collect();
    let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let deadlocks = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Deadlock))).count();
    // The surviving transaction finds its own child.
    assert_eq!((deadlocks, outcomes.iter().filter(|outcome| outcome.is_err()).count()), (1, 2), "{outcomes:?}");
    world.check();
}

/// Threads that make parents and children, renumber and delete them, each in transactions of its own.
#[test]
fn no_child_is_ever_without_its_parent() {
    for action in [ReferentialAction::NoAction, ReferentialAction::Cascade, ReferentialAction::SetNull] {
        let config = Config { background_threads: true, ..config() };
        let world = Arc::new(World::new(Arc::new(SimDisk::new(5)), config, action));
        let (next, done) = (Arc::new(AtomicU64::new(1000)), Arc::new(AtomicU64::new(0)));
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (world, next, done) = (world.clone(), next.clone(), done.clone());
                std::thread::spawn(move || {
                    let mut random = Random::new(number);
                    for _ in 0..150 {
                        let mut trx = world.patient();
                        let mut failed = false;
                        for _ in 0..4 {
                            let (one, other) = (random.below(12) as u32, random.below(12) as u32);
                            let id = next.fetch_add(1, Ordering::Relaxed) as u32;
                            let outcome = match random.below(5) {
                                0 => world.insert_parent(&mut trx, one),
                                1 | 2 => world.insert_child(&mut trx, id, Some(one)),
                                3 => world.delete(&mut trx, &world.p, one).map(|_| ()),
                                _ => world.renumber_parent(&mut trx, one, other).map(|_| ()),
                            };
                            match outcome {
                                Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                                Err(Error::ForeignKey(_) | Error::DuplicateKey { .. }) => {}
                                Err(Error::Deadlock | Error::LockWaitTimeout) => {
                                    failed = true;
                                    break;
                                }
                                Err(error) => panic!("{error}"),
                            }
                        }
                        match failed || random.below(4) == 0 {
                            true => trx.rollback().unwrap(),
                            false => trx.commit().unwrap(),
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(done.load(Ordering::Relaxed) > 300, "most of it was done: {done:?}");
        world.check();
        world.engine.close().unwrap();
    }
}

/// The foreign key is in the dictionary after a crash, and a cascade that had not committed is undone on both sides.
#[test]
fn a_crash_leaves_parents_and_children_together() {
    for open_cascade in [false, true] {
        let disk = Arc::new(SimDisk::new(9));
        let world = World::new(disk.clone(), config(), ReferentialAction::Cascade);
        let mut trx = world.begin(Isolation::RepeatableRead);
        for id in 50..90 {
            world.insert_child(&mut trx, id, Some(1 + id % 2)).unwrap();
        }
        trx.commit().unwrap();
        let before = (world.rows(&world.p), world.rows(&world.c));
        let mut trx = world.begin(Isolation::RepeatableRead);
        assert!(world.delete(&mut trx, &world.p, 1).unwrap());
        let after = match open_cascade {
            true => {
                world.engine.store().flush_log(world.engine.store().current_lsn()).unwrap();
                before
            }
            false => {
                trx.commit().unwrap();
                trx = world.begin(Isolation::RepeatableRead);
                (world.rows(&world.p), world.rows(&world.c))
            }
        };
        let crashed = Arc::new(disk.crash());
        std::mem::forget(trx);
        let world = World::of(Engine::open(crashed, config()).unwrap());
        while world.engine.step().unwrap() {}
        assert_eq!((world.rows(&world.p), world.rows(&world.c)), after);
        assert_eq!(world.c.foreign_keys, child(ReferentialAction::Cascade).foreign_keys);
        let mut trx = world.begin(Isolation::RepeatableRead);
        assert!(is_orphan(world.insert_child(&mut trx, 200, Some(99))));
        assert!(world.delete(&mut trx, &world.p, 2).unwrap());
        trx.commit().unwrap();
        assert!(world.rows(&world.c).iter().all(|(_, pid)| *pid != Some(2)));
        world.check();
    }
}

/// Two transactions insert one value: the second waits, and gets it if the first rolls back. By the primary key (0) and
/// a unique one.
#[test]
fn who_wants_a_value_that_another_inserts_waits_for_the_outcome() {
    for by in [0, 1] {
        for commits in [true, false] {
            let config = Config { background_threads: true, ..config() };
            let world = Arc::new(World::new(Arc::new(SimDisk::new(6)), config, ReferentialAction::NoAction));
            let insert = |trx: &mut Trx, world: &World, id: u32, u: u32| {
                let values = [id, u].map(u32::to_be_bytes);
                trx.insert(&world.p, &values.each_ref().map(|value| Some(&value[..])))
            };
            let mut first = world.patient();
            insert(&mut first, &world, 50, 500).unwrap();
            let (id, u) = if by == 0 { (50, 501) } else { (51, 500) };
            assert!(waits(insert(&mut world.begin(Isolation::RepeatableRead), &world, id, u)));
            let second = std::thread::spawn({
                let world = world.clone();
                move || {
                    let mut trx = world.patient();
                    let outcome = insert(&mut trx, &world, id, u);
                    trx.commit().unwrap();
                    outcome
                }
            });
            while world.engine.status().row_lock_waits_now == 0 {
                std::thread::yield_now();
            }
            match commits {
                true => first.commit().unwrap(),
                false => first.rollback().unwrap(),
            }
            match (second.join().unwrap(), commits) {
                (Err(Error::DuplicateKey { index }), true) => assert_eq!(index, by),
                (Ok(()), false) => assert!(world.rows(&world.p).contains(&(id, Some(u)))),
                (other, _) => panic!("{other:?}"),
            }
            world.check();
        }
    }
}
