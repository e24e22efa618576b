//! A file of one table is damaged, or missing, or its key is missing, in any state of the stopped server: the server
//! starts, names the file, refuses that table, and serves the others. Prepared transactions stay prepared.

use std::sync::Arc;

use format::collation::CollationId;
use format::page::undo::{TRX_SYS_NEXT_ID, TRX_SYS_PAGE};
use format::page::{header, space as layout};
use format::value::ColumnType;
use format::xid::Xid;
use storage::io::Disk;
use storage::io::sim::SimDisk;
use storage::{
    Column, ColumnSet, Config, Engine, Error, ForeignKey, IndexDefinition, ReadMode, ReferentialAction, Result, Row,
    Table, TableDefinition, TableOptions, Trx, TrxOptions,
};

const ROWS: u32 = 120;
const PAGE: u64 = 16384;

fn config() -> Config {
    Config { pool_bytes: 512 * 16384, log_bytes: 2 << 20, ..Config::tiny() }
}

fn open(disk: &SimDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), config())
}

fn number() -> ColumnType {
    ColumnType::Int { bytes: 4, unsigned: true }
}

fn definition(name: &str, encrypted: bool, foreign_keys: Vec<ForeignKey>) -> TableDefinition {
    let filler = ColumnType::Binary { bytes: 250 };
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", number(), false),
            Column::new("v", number(), false),
            Column::new("filler", filler, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("v", false, &[1])],
        options: TableOptions { encrypted, ..TableOptions::default() },
        foreign_keys,
        ..TableDefinition::default()
    }
}

fn refers_to(parent: &str) -> ForeignKey {
    ForeignKey {
        name: format!("to_{parent}").into(),
        columns: vec!["v".into()],
        parent_database: "d".into(),
        parent: parent.into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::Cascade,
    }
}

fn insert(trx: &mut Trx, table: &Table, id: u32, v: u32) -> Result<()> {
    trx.insert(table, &[Some(&id.to_be_bytes()), Some(&v.to_be_bytes()), Some(&[b'x'; 250])])
}

fn value(trx: &mut Trx, table: &Table, id: u32, mode: ReadMode, row: &mut Row) -> Result<Option<u32>> {
    let found = trx.get(table, 0, &[Some(&id.to_be_bytes())], mode, &ColumnSet::first(3), row)?;
    Ok(found.then(|| u32::from_be_bytes(row.get(1).unwrap().try_into().unwrap())))
}

fn set(trx: &mut Trx, name: &str, ids: std::ops::Range<u32>, v: u32) -> Result<()> {
    let table = trx.open_table("d", name)?;
    let mut row = Row::new();
    for id in ids {
        value(trx, &table, id, ReadMode::EXCLUSIVE, &mut row)?.expect("the row is there");
        trx.update(&table, &row, &[(1, Some(&v.to_be_bytes()))])?;
    }
    Ok(())
}

fn read(engine: &Arc<Engine>, name: &str, id: u32) -> Result<Option<u32>> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", name)?;
    value(&mut trx, &table, id, ReadMode::Consistent, &mut Row::new())
}

fn xid() -> Xid {
    Xid::new(1, b"branch", b"").unwrap()
}

/// What the server was doing when it was stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed,
    Committed,
    Open,
    Prepared,
    IndexBuilt,
    Dropping,
}

const STATES: [State; 6] =
    [State::Closed, State::Committed, State::Open, State::Prepared, State::IndexBuilt, State::Dropping];

/// What happened to the file of `t`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Flip { page: u64, byte: u64 },
    Erase { page: u64 },
    Gone,
    Empty,
    NoKeyRing,
}

/// `t`, its child `c` and its parent `p`, and `other`, stopped in a state. In the log are changes of all of them.
fn stopped(state: State, encrypted: bool) -> SimDisk {
    let disk = SimDisk::new(7);
    Engine::create(Arc::new(disk.clone()), &config()).unwrap();
    let engine = open(&disk).unwrap();
    let patient = TrxOptions::patient();
    engine.create_database("d", CollationId::DEFAULT, &patient).unwrap();
    for (name, parents) in [("p", vec![]), ("t", vec![refers_to("p")]), ("c", vec![refers_to("t")]), ("other", vec![])]
    {
        let table = engine.create_table(definition(name, encrypted && name == "t", parents), &patient).unwrap();
        let mut trx = engine.begin(TrxOptions::default());
        (0..ROWS).for_each(|id| insert(&mut trx, &table, id, id).unwrap());
        trx.commit().unwrap();
    }
    while engine.step().unwrap() {}
    engine.store().checkpoint().unwrap();
    let change = |v: u32| {
        let mut trx = engine.begin(TrxOptions::default());
        set(&mut trx, "t", 0..ROWS / 2, v).unwrap();
        set(&mut trx, "other", 0..ROWS / 2, v).unwrap();
        trx
    };
    change(1).commit().unwrap();
    match state {
        State::Closed => {
            engine.close().unwrap();
            return disk;
        }
        State::Committed => {}
        State::Open => std::mem::forget(change(2)),
        State::Prepared => {
            let claim = engine.claim_xid(xid()).unwrap();
            let mut trx = claim.begin(TrxOptions::default());
            set(&mut trx, "t", 0..ROWS / 2, 2).unwrap();
            set(&mut trx, "other", 0..ROWS / 2, 2).unwrap();
            trx.prepare(claim, false).unwrap();
        }
        State::IndexBuilt => {
            let index = IndexDefinition::new("filler", false, &[2]);
            let _ = engine.create_index("d", "t", index, &patient).unwrap();
        }
        State::Dropping => {
            // A drop of both names in one statement.
            let crash_at = disk.changes() + 12;
            disk.set_faults(|faults| faults.crash_at = Some(crash_at));
            let _ = engine.drop_tables(&[("d", "c")], &patient);
        }
    }
    let _ = engine.store().flush_log(engine.store().current_lsn());
    drop(engine);
    disk.duplicate()
}

fn damage(disk: &SimDisk, damage: Damage) -> bool {
    match damage {
        Damage::Flip { page, byte } => return disk.flip("d/t.ibd", page * PAGE + byte, 1),
        Damage::Erase { page } => disk.erase("d/t.ibd", page * PAGE, PAGE),
        Damage::Gone => disk.lose_file("d/t.ibd"),
        Damage::Empty => {
            let file = disk.open("d/t.ibd", storage::io::OpenMode::ReadWrite, storage::io::Caching::Cached).unwrap();
            file.set_len(0).unwrap();
            file.sync().unwrap();
        }
        Damage::NoKeyRing => disk.lose_file("keyring"),
    }
    true
}

fn damages(encrypted: bool) -> Vec<Damage> {
    let mut all = vec![Damage::Gone, Damage::Empty];
    // Page 0: its tablespace id, its encryption flag, its extents, its key, its end.
    for byte in [0, 5, 17, 24, 30, 35, 37, 40, 54, 57, 100, 150, 200, 10_391, 10_400, 10_440, 10_480, 16_383] {
        all.push(Damage::Flip { page: 0, byte });
    }
    for page in 0..10 {
        all.push(Damage::Flip { page, byte: 60 });
        all.push(Damage::Erase { page });
    }
    if encrypted {
        all.push(Damage::NoKeyRing);
    }
    all
}

/// The file's damage affects only its table.
fn others_serve(engine: &Arc<Engine>, state: State, what: &str) {
    let open = matches!(state, State::Open);
    engine.finish_rollbacks().unwrap_or_else(|error| panic!("{what}: {error}"));
    while engine.step().unwrap_or_else(|error| panic!("{what}: {error}")) {}
    assert!(!engine.store().is_poisoned(), "{what}");
    assert_eq!(read(engine, "other", 0).unwrap(), Some(1), "{what}");
    let stuck = open && engine.status().rollbacks.stuck > 0;
    let mut trx = engine.begin(TrxOptions { lock_wait_timeout: std::time::Duration::ZERO, ..TrxOptions::default() });
    let changed = set(&mut trx, "other", 0..1, 5);
    if stuck {
        // Its changes of this table may have been undone before its rollback reached the damaged one.
        assert!(matches!(changed, Ok(()) | Err(Error::LockWaitTimeout)), "{what}: {changed:?}");
    } else if state == State::Prepared {
        assert!(matches!(changed, Err(Error::LockWaitTimeout)), "{what}: the locks of what has not ended: {changed:?}");
    } else {
        changed.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    trx.rollback().unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    set(&mut trx, "other", ROWS / 2..ROWS, 6).unwrap_or_else(|error| panic!("{what}: {error}"));
    trx.commit().unwrap();
}

fn is_refused(engine: &Arc<Engine>) -> bool {
    (0..ROWS).any(|id| read(engine, "t", id).is_err())
}

#[test]
fn one_table_costs_no_start() {
    let mut refused = 0;
    let mut failures = Vec::new();
    for encrypted in [false, true] {
        for state in STATES {
            let whole = stopped(state, encrypted);
            for one in damages(encrypted) {
                let what = format!("{state:?}, {one:?}, encrypted {encrypted}");
                let disk = whole.duplicate();
                if !damage(&disk, one) {
                    continue;
                }
                let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let engine = match open(&disk) {
                        Ok(engine) => engine,
                        Err(error) => panic!("{what}: does not open: {error}"),
                    };
                    others_serve(&engine, state, &what);
                    let is_refused = is_refused(&engine);
                    if is_refused {
                        // A page that is read only later is an error of that statement.
                        let damaged = engine.damaged();
                        let opens = engine.begin(TrxOptions::default()).open_table("d", "t").is_ok();
                        assert!(opens || damaged.iter().any(|damaged| damaged.contains("d.t")), "{what}: {damaged:?}");
                    } else {
                        assert!(
                            !matches!(one, Damage::Gone | Damage::Empty | Damage::NoKeyRing),
                            "{what}: not refused"
                        );
                    }
                    if state == State::Prepared {
                        assert_eq!(engine.prepared(), [xid()], "{what}");
                        drop(engine);
                        prepared_ends(&disk, is_refused, &what);
                    }
                    is_refused
                }));
                match judged {
                    Ok(is_refused) => refused += usize::from(is_refused),
                    Err(panic) => failures.push(match panic.downcast::<String>() {
                        Ok(text) => *text,
                        Err(_) => what,
                    }),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(refused > 100, "{refused} were refused");
}

/// Writes bytes into a page of a file, under a right checksum.
fn write(disk: &SimDisk, path: &str, number: u64, at: usize, bytes: &[u8]) {
    let file = disk.open(path, storage::io::OpenMode::ReadWrite, storage::io::Caching::Cached).unwrap();
    let mut page = vec![0; PAGE as usize];
    file.read_at(number * PAGE, &mut page).unwrap();
    page[at..][..bytes.len()].copy_from_slice(bytes);
    let lsn = header::lsn(&page);
    header::seal(&mut page, lsn);
    file.write_at(number * PAGE, &page).unwrap();
}

/// Otherwise ids would begin again at 0, or what waits for the next one would wait for ever.
#[test]
fn a_counter_that_is_beyond_its_end_is_damage() {
    for next in [1 << 48, (1 << 48) - 10, u64::MAX - 600, u64::MAX] {
        let disk = stopped(State::Closed, false);
        write(&disk, "ibdata1", u64::from(TRX_SYS_PAGE), TRX_SYS_NEXT_ID, &u64::to_be_bytes(next));
        let error = open(&disk).err().expect("no id of a transaction is so large");
        assert!(matches!(error, Error::Corrupt { page: Some(_), .. }), "{error}");
    }
}

#[test]
fn a_size_that_nobody_logged_is_damage() {
    for pages in [1 << 12, 1 << 26, u32::MAX] {
        let disk = stopped(State::Committed, false);
        write(&disk, "d/t.ibd", 0, layout::SIZE, &pages.to_be_bytes());
        let bytes = disk.file_bytes("d/t.ibd");
        let engine = open(&disk).unwrap();
        others_serve(&engine, State::Committed, "a size");
        assert!(is_refused(&engine));
        assert_eq!(disk.file_bytes("d/t.ibd"), bytes);
        assert!(engine.damaged().iter().any(|damaged| damaged.contains("d.t")), "{:?}", engine.damaged());
    }
}

/// A branch of a table that cannot be read is committed, or it waits with its locks until the table is back.
fn prepared_ends(disk: &SimDisk, is_refused: bool, what: &str) {
    let disk = disk.duplicate();
    let engine = open(&disk).unwrap();
    assert_eq!(engine.prepared(), [xid()], "{what}: after another start");
    let rolled_back = engine.rollback_prepared(&xid(), false);
    if let Err(error) = rolled_back {
        assert!(is_refused, "{what}: {error}");
    }
    drop(engine);
    let disk = disk.duplicate();
    let engine = open(&disk).unwrap();
    if engine.prepared().is_empty() {
        return;
    }
    assert!(engine.commit_prepared(&xid(), false).unwrap(), "{what}");
    assert_eq!(read(&engine, "other", 0).unwrap(), Some(2), "{what}");
    drop(engine);
    let engine = open(&disk.duplicate()).unwrap();
    assert_eq!(read(&engine, "other", 0).unwrap(), Some(2), "{what}");
}

/// Deleted rows of other tables are removed although an older deletion cannot be.
#[test]
fn purge_passes_a_damaged_page() {
    let disk = SimDisk::new(7);
    Engine::create(Arc::new(disk.clone()), &config()).unwrap();
    let engine = open(&disk).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    for name in ["t", "other"] {
        let table = engine.create_table(definition(name, false, vec![]), &TrxOptions::patient()).unwrap();
        let mut trx = engine.begin(TrxOptions::default());
        (0..ROWS).for_each(|id| insert(&mut trx, &table, id, id).unwrap());
        trx.commit().unwrap();
    }
    let reader = engine.begin(TrxOptions::default());
    for name in ["t", "other"] {
        let mut trx = engine.begin(TrxOptions::default());
        set(&mut trx, name, 0..ROWS, 7).unwrap();
        trx.commit().unwrap();
    }
    drop(reader);
    engine.close().unwrap();
    drop(engine);
    for page in 4..10 {
        damage(&disk, Damage::Flip { page, byte: 60 });
    }
    let engine = open(&disk).unwrap();
    assert!(engine.status().history_list_length > 0);
    while engine.step().unwrap() {}
    assert_eq!(engine.status().history_list_length, 0);
    assert!(is_refused(&engine));
    assert_eq!(read(&engine, "other", 0).unwrap(), Some(7));
}
