//! A whole instance with changed bytes under correct checksums: its pages, its redo log, the
//! redo of damaged pages in quarantine. It is opened, read, changed and closed. All of that may fail; none of
//! it may panic or run for ever.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use format::checksum::{crc32c, crc32c_append};
use format::collation::CollationId;
use format::page::header::{self, PageType};
use format::page::{index, space, undo};
use format::value::{ColumnType, LobSize};
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::{
    Alteration, Column, ColumnSet, Config, Engine, Error, IndexDefinition, ReadMode, Relatives, Result, Row, ScanRange,
    Table, TableDefinition, Trx, TrxOptions,
};

use crate::bytes::Random;

const LOG: &str = "glassine.redo";
const ASIDE: &str = "glassine.aside";
/// Where the ring of the log begins, and the two slots with its checkpoints.
const RING: u64 = 16384;
const SLOTS: [u64; 2] = [4096, 8192];
/// A disk has an end: a damaged length must not fill the memory.
const DISK_BLOCKS: u64 = 1 << 16;
/// Length, epoch and checksum of a group.
const GROUP_HEADER_BYTES: usize = 12;

fn config() -> Config {
    Config {
        page_bytes: 4096,
        pool_bytes: 300 * 4096,
        system_compression: storage::tablespace::Algorithm::NONE,
        ..Config::tiny()
    }
}

/// Open transactions may hold row locks: the test does not wait for them.
fn options() -> TrxOptions {
    TrxOptions { lock_wait_timeout: Duration::ZERO, metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() }
}

fn definition(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("v", ColumnType::Int { bytes: 4, unsigned: true }, true),
            Column::new("long", ColumnType::Blob { size: LobSize::Medium }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("by_v", false, &[1])],
        ..TableDefinition::default()
    }
}

fn put(trx: &mut Trx, table: &Arc<Table>, id: u32, v: u32, long: usize) -> Result<()> {
    let (id, v) = (id.to_be_bytes(), v.to_be_bytes());
    let (key, long, mut row) = ([Some(&id[..])], vec![v[3]; long], Row::new());
    match trx.get(table, 0, &key, ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)? {
        true => trx.update(table, &row, &[(1, Some(&v)), (2, Some(&long))]),
        false => trx.insert(table, &[Some(&id), Some(&v), Some(&long)]),
    }
}

/// An instance that was killed with history, an open transaction and changes that are in the log only; and the same
/// after it was closed.
fn instances() -> &'static [SimDisk; 2] {
    static INSTANCES: OnceLock<[SimDisk; 2]> = OnceLock::new();
    INSTANCES.get_or_init(|| {
        let fine = "a disk without faults";
        let disk = SimDisk::new(1);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        Engine::create(shared.clone(), &config()).expect(fine);
        let engine = Engine::open(shared, config()).expect(fine);
        let wait = TrxOptions::patient();
        engine.create_database("d", CollationId::DEFAULT, &wait).expect(fine);
        for name in ["t", "u"] {
            let table = engine.create_table(definition(name), &wait).expect(fine);
            let mut trx = engine.begin(TrxOptions::default());
            for id in 0..150 {
                let long = if id % 20 == 0 { 9000 } else { 100 };
                put(&mut trx, &table, 2 * id, id % 7, long).expect(fine);
            }
            trx.commit().expect(fine);
        }
        engine.store().checkpoint().expect(fine);
        let mut trx = engine.begin(TrxOptions::default());
        let table = trx.open_table("d", "t").expect(fine);
        (0..60).for_each(|id| put(&mut trx, &table, id, 9, if id == 40 { 9000 } else { 150 }).expect(fine));
        trx.commit().expect(fine);
        let mut open = engine.begin(TrxOptions::default());
        (50..90).for_each(|id| put(&mut open, &table, id, 11, 30).expect(fine));
        engine.store().flush_log(engine.store().current_lsn()).expect(fine);
        let killed = disk.duplicate();
        drop(open);
        drop(table);
        engine.close().expect(fine);
        [killed, disk]
    })
}

fn is_extreme(random: &mut Random) -> u8 {
    random.pick(&[0, 1, 2, 0x7F, 0x80, 0xFF])
}

/// Changes a page so that what is in it makes less sense than before: where lists, links and lengths are, more often
/// than elsewhere.
fn damage_page(random: &mut Random, page: &mut [u8]) {
    let bytes = page.len();
    let body = header::BODY..bytes - 8;
    let (place, count) = match (header::page_type(page), random.below(3)) {
        (PageType::INDEX, 0) => (index::HEAP_TOP - 4, 90),
        (PageType::INDEX, 1) => (bytes - 60, 50),
        (PageType::FSP_HDR, 0 | 1) => (header::BODY, 112 + 4 * 40),
        (PageType::INODE, 0 | 1) => (header::BODY, 12 + 2 * space::inode_bytes(bytes)),
        (PageType::UNDO_LOG, 0 | 1) => (header::BODY, undo::FIRST_LOG - header::BODY + undo::LOG_HEADER_BYTES),
        (_, 0) => (header::PREV, 8),
        _ => (body.start, body.len()),
    };
    let part = &mut page[place..(place + count).min(bytes - 8)];
    match random.below(3) {
        0 => random.damage_in_place(part),
        1 => {
            let at = random.below(part.len());
            let byte = is_extreme(random);
            part[at..].iter_mut().take(1 + random.below(4)).for_each(|old| *old = byte);
        }
        // A number that is nearly right.
        _ => {
            let at = random.below(part.len());
            part[at] = part[at].wrapping_add(random.pick(&[1, 2, 4, 0x10, 0xFF]));
        }
    }
}

/// Pages of any kind, in any file.
pub fn pages(random: &mut Random) {
    let disk = instances()[random.below(2)].duplicate();
    let page_bytes = config().page_bytes;
    let is_whole = random.chance(16);
    for _ in 0..if is_whole { 0 } else { 1 + random.below(3) } {
        let path = random.pick(&["d/t.ibd", "d/t.ibd", "d/u.ibd", "undo_001", "ibdata1"]);
        let file = disk.open(path, OpenMode::ReadWrite, Caching::Cached).expect("it is there");
        let count = disk.file_bytes(path) as usize / page_bytes;
        // The first pages have what the others depend on.
        let number = if random.chance(3) { random.below(8.min(count)) } else { random.below(count) };
        let mut page = vec![0; page_bytes];
        file.read_at((number * page_bytes) as u64, &mut page).expect("a disk without faults");
        if header::is_zero(&page) {
            continue;
        }
        damage_page(random, &mut page);
        let lsn = header::lsn(&page);
        header::seal(&mut page, lsn);
        file.write_at((number * page_bytes) as u64, &page).expect("a disk without faults");
    }
    live(random, &disk, is_whole);
}

/// A file of another instance, with changed pages, is imported. That may be refused; the instance is what it was, or has rows
/// more.
pub fn import(random: &mut Random) {
    let source = instances()[1].duplicate();
    let disk = instances()[1].duplicate();
    let page_bytes = config().page_bytes;
    let path = random.pick(&["d/t.ibd", "d/u.ibd"]);
    let mut bytes = vec![0; source.file_bytes(path) as usize];
    let file = source.open(path, OpenMode::Read, Caching::Cached).expect("it is there");
    file.read_at(0, &mut bytes).expect("a disk without faults");
    let count = bytes.len() / page_bytes;
    let is_whole = random.chance(16);
    for _ in 0..if is_whole { 0 } else { 1 + random.below(3) } {
        let number = if random.chance(3) { random.below(8.min(count)) } else { random.below(count) };
        let page = &mut bytes[number * page_bytes..][..page_bytes];
        if !header::is_zero(page) {
            damage_page(random, page);
            let lsn = header::lsn(page);
            header::seal(page, lsn);
        }
    }
    if !is_whole && random.chance(8) {
        bytes.truncate(random.below(bytes.len()));
    }
    disk.set_faults(|faults| faults.capacity_blocks = Some(DISK_BLOCKS));
    let engine = Engine::open(Arc::new(disk.clone()), config()).expect("a good instance");
    let wait = options();
    let mut receiver = definition("r");
    if random.chance(4) {
        receiver.columns[1].nullable = !is_whole;
    }
    engine.create_table(receiver, &wait).expect("a good instance");
    let alter = |change: &mut dyn FnMut(Alteration<'_>) -> Result<()>| {
        let locked = engine.lock_definitions(&[("d", "r")], Relatives::Along, &wait)?;
        change(locked.alter("d", "r")?)
    };
    alter(&mut |alteration| alteration.discard(&[0])).expect("a good instance");
    let file = disk.open("d/r.ibd", OpenMode::Create, Caching::Cached).expect("a new file");
    file.write_at(0, &bytes).expect("a disk without faults");
    let imported = alter(&mut |alteration| alteration.import(&[0], None, None).map(drop));
    assert!(imported.is_ok() || !is_whole, "a good file: {imported:?}");
    if imported.is_ok() {
        let _ = walk(random, &engine, "r");
    }
    rest(&engine);
    let report = engine.check();
    assert!(
        report.as_ref().is_ok_and(|report| report.is_clean()),
        "{imported:?}: {:?}",
        report.map(|report| report.errors)
    );
    engine.close().expect("a good instance");
}

/// Groups of the log, whose records may be any bytes.
pub fn log(random: &mut Random) {
    let disk = instances()[0].duplicate();
    let file = disk.open(LOG, OpenMode::ReadWrite, Caching::Cached).expect("it is there");
    let mut ring = vec![0; disk.file_bytes(LOG) as usize - RING as usize];
    file.read_at(RING, &mut ring).expect("a disk without faults");
    let groups = groups(&disk, &ring);
    let is_whole = random.chance(16);
    for _ in 0..if is_whole { 0 } else { 1 + random.below(3) } {
        let (lsn, bytes) = random.pick(&groups);
        // A group keeps its length, for the next one stands behind it.
        let at = lsn as usize % ring.len();
        let Some(group) = ring.get_mut(at..at + GROUP_HEADER_BYTES + bytes) else { continue };
        let records = &mut group[GROUP_HEADER_BYTES..];
        match random.below(3) {
            0 => random.damage_in_place(records),
            1 => {
                let at = random.below(records.len());
                records[at] = is_extreme(random);
            }
            _ => {
                let at = random.below(records.len());
                records[at] = records[at].wrapping_add(1);
            }
        }
        let mut tail = lsn.to_be_bytes().to_vec();
        tail.extend_from_slice(&group[..8]);
        let crc = crc32c_append(crc32c(&group[GROUP_HEADER_BYTES..]), &tail);
        group[8..GROUP_HEADER_BYTES].copy_from_slice(&crc.to_be_bytes());
    }
    file.write_at(RING, &ring).expect("a disk without faults");
    live(random, &disk, is_whole);
}

/// The groups behind the newest checkpoint: LSN and bytes of the records.
fn groups(disk: &SimDisk, ring: &[u8]) -> Vec<(u64, usize)> {
    let file = disk.open(LOG, OpenMode::Read, Caching::Cached).expect("it is there");
    let mut newest = (0, 0);
    for slot in SLOTS {
        let mut bytes = [0; 16];
        file.read_at(slot, &mut bytes).expect("a disk without faults");
        let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        newest = newest.max((word(0), word(8)));
    }
    let (mut lsn, mut found) = (newest.1, Vec::new());
    loop {
        let at = lsn as usize % ring.len();
        let Some(header) = ring.get(at..at + GROUP_HEADER_BYTES) else { return found };
        let bytes = u32::from_be_bytes(header[..4].try_into().expect("4 bytes")) as usize;
        if bytes == 0 || at + GROUP_HEADER_BYTES + bytes > ring.len() {
            return found;
        }
        found.push((lsn, bytes));
        lsn += (GROUP_HEADER_BYTES + bytes) as u64;
    }
}

/// A file of redo that was put aside: of pages that are there or not, with records that are of the log or not.
pub fn aside(random: &mut Random) {
    let disk = instances()[random.below(2)].duplicate();
    let file = disk.open(LOG, OpenMode::Read, Caching::Cached).expect("it is there");
    let mut ring = vec![0; disk.file_bytes(LOG) as usize - RING as usize];
    file.read_at(RING, &mut ring).expect("a disk without faults");
    let of_log = groups(&instances()[0], &ring);
    let (entries, mut body) = (random.below(4) as u32, Vec::new());
    let put_bytes = |body: &mut Vec<u8>, bytes: &[u8]| {
        body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        body.extend_from_slice(bytes);
    };
    for _ in 0..entries {
        let page = if random.chance(8) { random.next() as u32 } else { random.below(40) as u32 };
        body.extend_from_slice(&random.pick(&[1_u32, 1, 2, 0, 3, 0xFFFF_FFEF, 0xFFFF_FFFF]).to_be_bytes());
        body.extend_from_slice(&page.to_be_bytes());
        put_bytes(&mut body, b"the checksum");
        let groups = random.below(4) as u32;
        body.extend_from_slice(&groups.to_be_bytes());
        for _ in 0..groups {
            let (lsn, bytes) = random.pick(&of_log);
            let at = lsn as usize % ring.len() + GROUP_HEADER_BYTES;
            let mut records = ring.get(at..at + bytes).unwrap_or_default().to_vec();
            if random.chance(2) {
                random.damage(&mut records);
            }
            body.extend_from_slice(&lsn.to_be_bytes());
            body.extend_from_slice(&(lsn + bytes as u64).to_be_bytes());
            put_bytes(&mut body, &records);
        }
    }
    if random.chance(3) {
        random.damage(&mut body);
    }
    let entries = if random.chance(8) { random.next() as u32 } else { entries };
    let mut bytes = b"gas1".to_vec();
    bytes.extend_from_slice(&entries.to_be_bytes());
    bytes.extend_from_slice(&crc32c(&body).to_be_bytes());
    bytes.extend_from_slice(&body);
    let file = disk.open(ASIDE, OpenMode::Create, Caching::Cached).expect("a new file");
    file.write_at(0, &bytes).expect("a disk without faults");
    live(random, &disk, false);
}

/// Two lives of an instance.
fn live(random: &mut Random, disk: &SimDisk, is_whole: bool) {
    disk.set_faults(|faults| faults.capacity_blocks = Some(DISK_BLOCKS));
    for _ in 0..2 {
        let opened = Engine::open(Arc::new(disk.clone()), config());
        let Ok(engine) = opened else {
            assert!(!is_whole, "a good instance does not open");
            return;
        };
        for name in ["t", "u"] {
            let walked = walk(random, &engine, name);
            assert!(walked.is_ok() || !is_whole, "a good instance: {walked:?}");
        }
        rest(&engine);
        let report = engine.check();
        assert!(!is_whole || report.is_ok_and(|report| report.is_clean()), "a good instance");
        let closed = engine.close();
        assert!(closed.is_ok() || !is_whole, "a good instance: {closed:?}");
    }
}

/// What the background does, as much of it as a case has time for.
fn rest(engine: &Engine) {
    for _ in 0..60 {
        if !engine.step().is_ok_and(|more| more) {
            break;
        }
    }
}

/// Reads and changes a table in all ways. The first error that is not of one row ends it.
fn walk(random: &mut Random, engine: &Arc<Engine>, name: &str) -> Result<()> {
    let mut first_error = Ok(());
    let mut note = |result: Result<()>| {
        let ordinary = matches!(result, Err(Error::LockWaitTimeout | Error::Exists(_)));
        if result.is_err() && !ordinary && first_error.is_ok() {
            first_error = result;
        }
    };
    let mut trx = engine.begin(options());
    let table = trx.open_table("d", name)?;
    // A damaged dictionary may have fewer columns and indexes than there were. What is written here needs three columns.
    if table.columns.len() < 3 {
        return Ok(());
    }
    for index in 0..table.indexes.len() {
        for reverse in [false, true] {
            note(scan(&mut trx, &table, index, reverse));
        }
    }
    for _ in 0..40 {
        let (id, v) = (random.below(400) as u32, random.below(12) as u32);
        match random.below(3) {
            0 => note(delete(&mut trx, &table, id)),
            _ => {
                let long = random.pick(&[0, 50, 300, 700, 5000]);
                note(put(&mut trx, &table, id, v, long));
            }
        }
    }
    note(if random.chance(3) { trx.rollback() } else { trx.commit() });
    drop(table);
    rest(engine);
    let wait = options();
    match random.below(5) {
        0 => note(engine.create_index("d", name, IndexDefinition::new("more", false, &[1, 0]), &wait).map(drop)),
        1 => note(engine.rebuild_table("d", name, |own| *own = definition(name), &wait).map(drop)),
        2 => note(engine.truncate_table("d", name, &wait)),
        3 => {
            note(engine.drop_tables(&[("d", name)], &wait));
            note(engine.create_table(definition(name), &wait).map(drop));
        }
        _ => {}
    }
    first_error
}

fn scan(trx: &mut Trx, table: &Arc<Table>, index: usize, reverse: bool) -> Result<()> {
    let range = ScanRange { reverse, ..ScanRange::ALL };
    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, ColumnSet::first(3), range)?;
    let mut row = Row::new();
    // More rows than there are would be a circle: that is for CHECK TABLE to say, and for a scan to survive.
    for _ in 0..5000 {
        if !cursor.next(trx, &mut row)? {
            break;
        }
    }
    Ok(())
}

fn delete(trx: &mut Trx, table: &Arc<Table>, id: u32) -> Result<()> {
    let (id, mut row) = (id.to_be_bytes(), Row::new());
    if trx.get(table, 0, &[Some(&id[..])], ReadMode::EXCLUSIVE, &ColumnSet::first(3), &mut row)? {
        trx.delete(table, &row)?;
    }
    Ok(())
}
