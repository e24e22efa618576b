//! Backups, end to end on simulated disks: taken while rows change, of closed and of crashed directories, restored to
//! other block sizes, and damaged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize};
use storage::backup::{ArchiveWriter, Backup, Item, Restore, Sink, Totals, Verify, read_archive};
use storage::io::sim::{Random, SimDisk};
use storage::io::{Caching, Disk, OpenMode};
use storage::{
    Column, ColumnSet, Compression, Config, Engine, Error, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition,
    TableOptions, TrxOptions,
};

/// A log so small that a backup under load outlives many laps of it.
fn config() -> Config {
    Config { pool_bytes: 64 * 16384, log_bytes: 512 << 10, ..Config::tiny() }
}

fn wait() -> TrxOptions {
    TrxOptions { metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() }
}

fn definition(name: &str, compression: Compression) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("body", ColumnType::Blob { size: LobSize::Long }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        options: TableOptions { compression, ..TableOptions::default() },
        ..TableDefinition::default()
    }
}

type Rows = BTreeMap<u32, (u32, Vec<u8>)>;

fn create(disk: &SimDisk) -> Arc<Engine> {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(shared.clone(), &config()).unwrap();
    let engine = Engine::open(shared, config()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &wait()).unwrap();
    for (name, compression) in [("plain", Compression::NONE), ("zstd", Compression::ZSTD)] {
        engine.create_table(definition(name, compression), &wait()).unwrap();
    }
    engine
}

/// Inserts, updates and deletes some rows of both tables in one transaction; sometimes rolls back.
fn work(engine: &Arc<Engine>, random: &mut Random, model: &mut [Rows; 2]) {
    let mut trx = engine.begin(wait());
    let mut after = model.clone();
    let fields = ColumnSet::first(3);
    for (name, rows) in ["plain", "zstd"].into_iter().zip(&mut after) {
        let table = trx.open_table("d", name).unwrap();
        for _ in 0..1 + random.below(6) {
            let id = random.below(400) as u32;
            let k = random.below(50) as u32;
            let bytes_max = if random.chance(20) { 40_000 } else { 900 };
            let body = vec![random.next() as u8; random.below(bytes_max) as usize];
            let key = id.to_be_bytes();
            let mut row = Row::new();
            if !trx.get(&table, 0, &[Some(&key)], ReadMode::EXCLUSIVE, &fields, &mut row).unwrap() {
                trx.insert(&table, &[Some(&key), Some(&k.to_be_bytes()), Some(&body)]).unwrap();
                rows.insert(id, (k, body));
            } else if random.chance(3) {
                trx.delete(&table, &row).unwrap();
                rows.remove(&id);
            } else {
                trx.update(&table, &row, &[(1, Some(&k.to_be_bytes())), (2, Some(&body))]).unwrap();
                rows.insert(id, (k, body));
            }
        }
    }
    if random.chance(6) {
        trx.rollback().unwrap();
    } else {
        trx.commit().unwrap();
        *model = after;
    }
    if random.chance(3) {
        engine.step().unwrap();
    }
}

fn contents(engine: &Arc<Engine>) -> [Rows; 2] {
    ["plain", "zstd"].map(|name| {
        let mut trx = engine.begin(wait());
        let table = trx.open_table("d", name).unwrap();
        let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, ColumnSet::first(3), ScanRange::ALL).unwrap();
        let (mut row, mut rows) = (Row::new(), Rows::new());
        let number = |row: &Row, at: usize| u32::from_be_bytes(row.get(at).unwrap().try_into().unwrap());
        while cursor.next(&mut trx, &mut row).unwrap() {
            rows.insert(number(&row, 0), (number(&row, 1), row.get(2).unwrap().to_vec()));
        }
        rows
    })
}

/// Opens the restored instance, and compares.
fn assert_holds(disk: &SimDisk, model: &[Rows; 2]) {
    let engine = Engine::open(Arc::new(disk.clone()), config()).unwrap();
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
    assert!(contents(&engine) == *model, "the restored rows are those of the backup's end");
    engine.close().unwrap();
}

/// Tells when the state of the backup is decided.
struct Watch<'a> {
    inner: &'a mut dyn Sink,
    decided: bool,
}

impl Sink for Watch<'_> {
    fn take(&mut self, item: Item<'_>) -> storage::Result<()> {
        self.decided |= matches!(item, Item::Log(_));
        self.inner.take(item)
    }
}

/// An archive of an engine that works between the steps of the backup, with the rows that it must contain.
fn backup_under_load(engine: &Arc<Engine>, random: &mut Random, model: &mut [Rows; 2]) -> (Vec<u8>, Totals, [Rows; 2]) {
    let mut archive = ArchiveWriter::new(Vec::new()).unwrap();
    let mut backup = engine.backup(&["accounts"], &wait()).unwrap();
    let mut state = None;
    loop {
        let mut watch = Watch { inner: &mut archive, decided: false };
        let done = backup.step(&mut watch).unwrap();
        if watch.decided {
            state = Some(model.clone());
        }
        if let Some(totals) = done {
            return (archive.finish().unwrap(), totals, state.expect("a backup has a log"));
        }
        for _ in 0..random.below(30) {
            work(engine, random, model);
        }
    }
}

fn restore(archive: &[u8], disk: &SimDisk) -> storage::Result<Totals> {
    let mut restore = Restore::begin(Arc::new(disk.clone()))?;
    read_archive(&mut &archive[..], &mut restore)?;
    Ok(restore.finish()?.totals)
}

#[test]
fn a_backup_under_load_is_the_state_at_its_end() {
    for seed in 0..6 {
        let disk = SimDisk::with_blocks(seed, [512, 4096][seed as usize % 2]);
        let mut random = Random::new(seed);
        let engine = create(&disk);
        let accounts = disk.open("accounts", OpenMode::Create, Caching::Cached).unwrap();
        accounts.write_at(0, b"root").unwrap();
        let mut model = [Rows::new(), Rows::new()];
        for _ in 0..60 {
            work(&engine, &mut random, &mut model);
        }
        let begin = engine.store().current_lsn();
        let (archive, totals, state) = backup_under_load(&engine, &mut random, &mut model);
        assert!(totals.log_bytes > 0 && totals.end_lsn > begin, "it was taken under load");
        assert!(!disk.exists("#backup.redo").unwrap());
        let mut verify = Verify::new();
        assert_eq!(read_archive(&mut &archive[..], &mut verify).unwrap(), totals);
        assert_eq!(verify.pages(), totals.pages);

        for block_bytes in [512, 1024, 4096] {
            let target = SimDisk::with_blocks(seed + 100, block_bytes);
            assert_eq!(restore(&archive, &target).unwrap(), totals);
            let copied = target.open("accounts", OpenMode::Read, Caching::Cached).unwrap();
            let mut text = [0; 4];
            assert_eq!((copied.read_at(0, &mut text).unwrap(), &text), (4, b"root"));
            // All of it is durable when it reports that it is done.
            assert_holds(&target.crash(), &state);
        }
        // The engine has not noticed.
        assert!(contents(&engine) == model);
        engine.close().unwrap();
    }
}

#[test]
fn the_log_that_a_backup_waits_for_outlives_the_ring() {
    let disk = SimDisk::new(1);
    let mut random = Random::new(1);
    let engine = create(&disk);
    let mut model = [Rows::new(), Rows::new()];
    let mut backup = engine.backup(&[], &wait()).unwrap();
    let mut archive = ArchiveWriter::new(Vec::new()).unwrap();
    backup.step(&mut archive).unwrap();
    let begin = engine.store().current_lsn();
    while engine.store().current_lsn().since(begin) < 3 * engine.store().redo().capacity() {
        work(&engine, &mut random, &mut model);
    }
    let used = disk.exists("#backup.redo").unwrap();
    assert!(used, "the ring was lapped, so its log went to the archive's file");
    let totals = backup.run(&mut archive).unwrap();
    assert!(totals.log_bytes > 3 * engine.store().redo().capacity());
    let target = SimDisk::new(2);
    restore(&archive.finish().unwrap(), &target).unwrap();
    assert_holds(&target, &model);
}

#[test]
fn ddl_waits_for_a_backup_and_a_second_backup_is_refused() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    let backup = engine.backup(&[], &wait()).unwrap();
    let refused = engine.create_table(definition("t", Compression::NONE), &wait());
    assert!(matches!(refused, Err(Error::LockWaitTimeout)));
    assert!(matches!(engine.drop_database("d", &wait()), Err(Error::LockWaitTimeout)));
    assert!(matches!(engine.backup(&[], &wait()), Err(Error::Exists(_))));
    let own = TrxOptions { holds_backup_lock: true, ..wait() };
    engine.create_table(definition("own", Compression::NONE), &own).unwrap();
    drop(backup);
    engine.create_table(definition("t", Compression::NONE), &wait()).unwrap();
    drop(engine.backup(&[], &wait()).unwrap());
}

#[test]
fn a_closed_directory_is_backed_up_without_a_log() {
    let disk = SimDisk::new(7);
    let mut random = Random::new(7);
    let engine = create(&disk);
    let mut model = [Rows::new(), Rows::new()];
    for _ in 0..40 {
        work(&engine, &mut random, &mut model);
    }
    let refused = Backup::of_stopped(Arc::new(disk.clone()), &[]);
    assert!(matches!(refused.err(), Some(Error::Exists(_))), "a server is using it");
    engine.close().unwrap();
    drop(engine);
    let mut archive = ArchiveWriter::new(Vec::new()).unwrap();
    let totals = Backup::of_stopped(Arc::new(disk.clone()), &[]).unwrap().run(&mut archive).unwrap();
    assert_eq!(totals.log_bytes, 0);
    let target = SimDisk::new(8);
    restore(&archive.finish().unwrap(), &target).unwrap();
    assert!(Engine::open(Arc::new(target.duplicate()), config()).unwrap().recovery_report().was_clean());
    assert_holds(&target, &model);
}

#[test]
fn a_crashed_directory_is_backed_up_with_the_log_that_recovery_needs() {
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let mut random = Random::new(seed);
        let engine = create(&disk);
        let mut model = [Rows::new(), Rows::new()];
        for _ in 0..20 + random.below(60) {
            work(&engine, &mut random, &mut model);
        }
        drop(engine);
        // With torn pages, some of them.
        let disk = disk.crash();
        let mut archive = ArchiveWriter::new(Vec::new()).unwrap();
        let backup = Backup::of_stopped(Arc::new(disk.duplicate()), &[]).unwrap();
        backup.run(&mut archive).unwrap();
        let target = SimDisk::with_blocks(seed, 1024);
        restore(&archive.finish().unwrap(), &target).unwrap();
        assert_holds(&target, &model);
    }
}

#[test]
fn damage_is_found_wherever_it_is() {
    let disk = SimDisk::new(3);
    let mut random = Random::new(3);
    let engine = create(&disk);
    let mut model = [Rows::new(), Rows::new()];
    for _ in 0..10 {
        work(&engine, &mut random, &mut model);
    }
    let (archive, _, _) = backup_under_load(&engine, &mut random, &mut model);
    for round in 0..300 {
        let mut damaged = archive.clone();
        let at = random.below(archive.len() as u64) as usize;
        match round % 3 {
            0 => damaged[at] ^= 1 << random.below(8),
            1 => damaged.truncate(at),
            _ => damaged.push(0),
        }
        let found = read_archive(&mut &damaged[..], &mut Verify::new());
        assert!(matches!(found, Err(Error::Corrupt { .. })), "round {round}, byte {at}: {found:?}");
        if round < 30 {
            let target = SimDisk::new(4);
            restore(&damaged, &target).unwrap_err();
            let refused = Engine::open(Arc::new(target), config());
            assert!(refused.is_err(), "half a directory does not open");
        }
    }
    assert!(matches!(restore(&archive, &disk), Err(Error::Exists(_))), "a directory with files is not restored into");
}

#[test]
fn a_damaged_page_ends_the_backup_with_its_name_and_place() {
    let disk = SimDisk::new(3);
    let mut random = Random::new(3);
    let engine = create(&disk);
    let mut model = [Rows::new(), Rows::new()];
    for _ in 0..50 {
        work(&engine, &mut random, &mut model);
    }
    engine.close().unwrap();
    drop(engine);
    assert!(disk.flip("d/zstd.ibd", 3 * 16384 + 50, 1));
    let backup = Backup::of_stopped(Arc::new(disk), &[]).unwrap();
    let error = backup.run(&mut Verify::new()).unwrap_err().to_string();
    assert!(error.contains("d/zstd.ibd") && error.contains(&(3 * 16384).to_string()), "{error}");
}

#[test]
fn smaller_blocks_take_less() {
    let disk = SimDisk::with_blocks(5, 4096);
    let mut random = Random::new(5);
    let engine = create(&disk);
    let mut model = [Rows::new(), Rows::new()];
    for _ in 0..200 {
        work(&engine, &mut random, &mut model);
    }
    let (archive, totals, _) = backup_under_load(&engine, &mut random, &mut model);
    // Without the log, which is as long as it is.
    let taken = |block_bytes: usize| {
        let target = SimDisk::with_blocks(6, block_bytes);
        let mut restore = Restore::begin(Arc::new(target)).unwrap();
        read_archive(&mut &archive[..], &mut restore).unwrap();
        restore.finish().unwrap().allocated_bytes
    };
    let (small, large) = (taken(512), taken(4096));
    assert!(small < large && large <= totals.allocated_bytes, "{small} {large} {}", totals.allocated_bytes);
    let overhead = archive.len() as u64 - totals.stored_bytes - totals.log_bytes;
    assert!(overhead < 8 * totals.pages + 4096 * totals.files, "the archive is what is stored: {overhead} more");
}
