//! Files of the storage engine that are not pages: the doublewrite file, the key ring, descriptions of tables, backups;
//! and undo logs, with an engine that is to make sense of them.

use std::sync::{Arc, OnceLock};

use format::checksum::{crc32c, crc32c_append};
use format::ids::{IndexId, PageNo, SpaceId, TableId};
use format::page::{header, undo};
use format::record::Length;
use format::transport;
use format::value::ColumnType;
use format::xid::Xid;
use storage::backup::{ArchiveWriter, Backup, Restore, Verify, read_archive};
use storage::dictionary::{Identity, codec};
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::schema::{
    Check, Column, ColumnDefault, ColumnSet, Compression, FieldColumn, ForeignKey, Generated, IndexDefinition,
    IndexPart, PartitionDefinition, Partitioning, ReadMode, ReferentialAction, Row, RowVersions, TableDefinition,
    TableOptions, VersionedField,
};
use storage::tablespace::{doublewrite, encryption};
use storage::{Config, Engine, TrxOptions};

use crate::bytes::Random;

/// A doublewrite file after a crash: some sectors are old, some are another file's.
pub fn doublewrite(random: &mut Random) {
    let config = Config { page_bytes: 4096, ..Config::tiny() };
    let disk = SimDisk::new(random.next());
    let name = doublewrite::file_name(config.page_bytes, 0);
    let file = disk.open(&name, OpenMode::Create, Caching::Cached).expect("a new file in a new disk");
    let mut batch = b"GLASSDBW".to_vec();
    batch.extend(random.exactly(4096 - 8));
    // A header that is nearly right: a number, few pages, a length that fits.
    batch[8..16].copy_from_slice(&(random.below(9) as u64).to_be_bytes());
    batch[16..20].copy_from_slice(&(random.below(80) as u32).to_be_bytes());
    let bytes = random.pick(&[4096_u32, 8192, 0, 4095, u32::MAX]);
    batch[20..24].copy_from_slice(&bytes.to_be_bytes());
    if random.chance(2) {
        random.damage_in_place(&mut batch);
    }
    batch[24..28].fill(0);
    let sum = crc32c(&batch);
    batch[24..28].copy_from_slice(&sum.to_be_bytes());
    batch.extend(random.bytes(8192));
    file.write_at(0, &batch).expect("a disk without faults");
    let _ = doublewrite::read_copies(&disk, &config);
}

/// A backup of a small instance that was killed: with pages, plain bytes, and a log.
fn archive() -> Vec<u8> {
    let config = Config { page_bytes: 4096, ..Config::tiny() };
    let disk = SimDisk::new(1);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(shared.clone(), &config).expect("a new instance in a new disk");
    let engine = Engine::open(shared, config).expect("an instance that was closed");
    let wait = TrxOptions::patient();
    engine.create_database("d", format::collation::CollationId::DEFAULT, &wait).expect("a disk without faults");
    drop(engine);
    let backup = Backup::of_stopped(Arc::new(disk.duplicate()), &[]).expect("a directory without a server");
    let mut writer = ArchiveWriter::new(Vec::new()).expect("memory takes it");
    backup.run(&mut writer).expect("a whole directory");
    writer.finish().expect("memory takes it")
}

/// Chunks that say something else than they did, under checksums that are right: read, verified and restored.
pub fn backup(random: &mut Random) {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    const MAGIC_BYTES: usize = 16;
    const HEAD_BYTES: usize = 20;
    let whole = ARCHIVE.get_or_init(archive);
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut at = MAGIC_BYTES;
    while at < whole.len() {
        let bytes = u32::from_be_bytes(whole[at + 4..at + 8].try_into().expect("4 bytes")) as usize;
        chunks.push(whole[at..at + HEAD_BYTES + bytes].to_vec());
        at += HEAD_BYTES + bytes;
    }
    let damaged = random.below(chunks.len());
    let is_whole = random.chance(16);
    if !is_whole {
        let mut content = chunks[damaged].split_off(HEAD_BYTES);
        match random.below(4) {
            0 => random.damage(&mut content),
            1 => random.damage_in_place(&mut content),
            // A number at the beginning that is larger, or smaller, than anything.
            2 if !content.is_empty() => {
                let at = random.below(content.len().min(32));
                let extreme = random.pick(&[0xFF, 0x7F, 0x80, 0]);
                content[at..].iter_mut().take(8).for_each(|byte| *byte = extreme);
            }
            _ => content.truncate(random.below(content.len() + 1)),
        }
        chunks[damaged].extend(content);
        match random.below(8) {
            0 => drop(chunks.remove(damaged)),
            1 => {
                let other = random.below(chunks.len());
                chunks.swap(damaged, other);
            }
            2 => {
                let kind =
                    random.pick(&[*b"HEAD", *b"DIRY", *b"FILE", *b"PAGE", *b"BYTE", *b"LOGS", *b"REDO", *b"DONE"]);
                chunks[damaged][..4].copy_from_slice(&kind);
            }
            _ => {}
        }
    }
    let mut bytes = whole[..MAGIC_BYTES].to_vec();
    let mut chain = 0;
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let content = chunk.len() - HEAD_BYTES;
        if chunk.starts_with(b"DONE") && content >= 4 {
            chunk[HEAD_BYTES..HEAD_BYTES + 4].copy_from_slice(&u32::to_be_bytes(chain));
        }
        chunk[4..8].copy_from_slice(&(content as u32).to_be_bytes());
        chunk[8..16].copy_from_slice(&(number as u64).to_be_bytes());
        let crc = crc32c_append(crc32c(&chunk[..16]), &chunk[HEAD_BYTES..]).to_be_bytes();
        chunk[16..20].copy_from_slice(&crc);
        chain = crc32c_append(chain, &crc);
        bytes.extend_from_slice(chunk);
    }
    let verified = read_archive(&mut &bytes[..], &mut Verify::new());
    let disk = SimDisk::new(random.next());
    disk.set_faults(|faults| faults.capacity_blocks = Some(4096));
    let mut restore = Restore::begin(Arc::new(disk)).expect("an empty disk");
    let restored = read_archive(&mut &bytes[..], &mut restore).and_then(|_| restore.finish());
    if is_whole {
        assert!(verified.is_ok() && restored.is_ok(), "a good archive: {verified:?}, {restored:?}");
    }
}

const UNDO: &str = "undo_001";

/// An instance that was killed, all of it on the device: with history, an open transaction and two that are prepared.
fn unfinished() -> (SimDisk, Config) {
    let config = Config {
        page_bytes: 4096,
        pool_bytes: 200 * 4096,
        system_compression: storage::tablespace::Algorithm::NONE,
        ..Config::tiny()
    };
    let disk = SimDisk::new(1);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(shared.clone(), &config).expect("a new instance in a new disk");
    let engine = Engine::open(shared, config.clone()).expect("an instance that was closed");
    let wait = TrxOptions::patient();
    engine.create_database("d", format::collation::CollationId::DEFAULT, &wait).expect("a disk without faults");
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("filler", ColumnType::Binary { bytes: 200 }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &wait).expect("a disk without faults");
    let fill = |trx: &mut storage::Trx, ids: std::ops::Range<u32>, byte: u8| {
        let table = trx.open_table("d", "t").expect("a table that was made");
        for id in ids {
            let (id, mut row) = (id.to_be_bytes(), Row::new());
            let key = [Some(&id[..])];
            let all = ColumnSet::first(2);
            if trx.get(&table, 0, &key, ReadMode::EXCLUSIVE, &all, &mut row).expect("a disk without faults") {
                trx.update(&table, &row, &[(1, Some(&[byte; 200]))]).expect("a disk without faults");
            } else {
                trx.insert(&table, &[Some(&id), Some(&[byte; 200])]).expect("a disk without faults");
            }
        }
    };
    for byte in 0..2 {
        let mut trx = engine.begin(TrxOptions::default());
        fill(&mut trx, 0..60, byte);
        trx.commit().expect("a disk without faults");
    }
    for (number, ids) in [(1, 0..20), (2, 100..110)] {
        let xid = Xid::new(number, b"a global part", b"a branch").expect("parts that fit");
        let xid = if number == 1 { xid } else { Xid::new(number, b"another", b"").expect("parts that fit") };
        let claim = engine.claim_xid(xid).expect("a new name");
        let mut trx = claim.begin(TrxOptions::default());
        fill(&mut trx, ids, 7);
        trx.prepare(claim, false).expect("a disk without faults");
    }
    let mut open = engine.begin(TrxOptions::default());
    fill(&mut open, 20..50, 9);
    engine.store().checkpoint().expect("a disk without faults");
    let killed = disk.duplicate();
    drop(open);
    (killed, config)
}

/// Undo pages that say something else than they did, under checksums that are right: what recovery, rollback, purge and
/// the ends of prepared branches make of headers, names of branches, lists and records.
pub fn undo_logs(random: &mut Random) {
    static INSTANCE: OnceLock<(SimDisk, Config)> = OnceLock::new();
    let (whole, config) = INSTANCE.get_or_init(unfinished);
    let disk = whole.duplicate();
    let pages = disk.file_bytes(UNDO) as usize / config.page_bytes;
    let file = disk.open(UNDO, OpenMode::ReadWrite, Caching::Cached).expect("it is there");
    let is_whole = random.chance(16);
    for _ in 0..if is_whole { 0 } else { 1 + random.below(3) } {
        let at = (1 + random.below(pages - 1)) * config.page_bytes;
        let mut page = vec![0; config.page_bytes];
        file.read_at(at as u64, &mut page).expect("a disk without faults");
        if header::is_zero(&page) {
            continue;
        }
        let (place, count) = match random.below(4) {
            0 => (undo::FIRST_LOG, undo::LOG_HEADER_XID_BYTES),
            1 => (undo::FIRST_LOG + undo::LOG_XID_FORMAT, Xid::BYTES),
            2 => (header::BODY, undo::FIRST_LOG - header::BODY),
            _ => (header::BODY, page.len() - header::BODY - 8),
        };
        let mut part = page[place..place + count].to_vec();
        random.damage_in_place(&mut part);
        page[place..place + count].copy_from_slice(&part);
        let lsn = header::lsn(&page);
        header::seal(&mut page, lsn);
        file.write_at(at as u64, &page).expect("a disk without faults");
    }
    let opened = Engine::open(Arc::new(disk.clone()), config.clone());
    if is_whole {
        assert_eq!(opened.as_ref().map(|engine| engine.prepared().len()).ok(), Some(2), "a good instance");
    }
    let Ok(engine) = opened else { return };
    for xid in engine.prepared() {
        let _ =
            if random.chance(2) { engine.commit_prepared(&xid, false) } else { engine.rollback_prepared(&xid, false) };
    }
    for _ in 0..40 {
        if !engine.step().is_ok_and(|more| more) {
            break;
        }
    }
}

/// Names of branches: as a header has them, and as they are written in SQL.
pub fn xid(random: &mut Random) {
    let (gtrid, bqual) = (random.bytes(64), random.bytes(64));
    let xid = Xid::new(random.next() as u32 & Xid::FORMAT_MAX, &gtrid, &bqual).expect("parts that fit");
    let mut bytes = xid.encode().to_vec();
    let again = Xid::decode(&bytes).expect("what was encoded");
    assert!(again == xid && again.format() == xid.format(), "{} became {}", xid.to_sql(), again.to_sql());
    random.damage(&mut bytes);
    if let Ok(damaged) = Xid::decode(&bytes) {
        assert!(damaged.gtrid().len() <= Xid::PART_BYTES_MAX && damaged.bqual().len() <= Xid::PART_BYTES_MAX);
    }
}

pub fn key_ring(random: &mut Random) {
    let mut text = b"# a comment\n".to_vec();
    for number in 0..random.below(3) {
        let line = format!("INNODBKey-00000000-0000-4000-8000-000000000001-{number} {}", "5a".repeat(32));
        let sum = crc32c(line.as_bytes());
        text.extend(format!("{line} {sum:08x}\n").bytes());
    }
    assert!(encryption::count_keys(&text).is_ok(), "a good ring can be read");
    random.damage(&mut text);
    let _ = encryption::count_keys(&text);
    let _ = encryption::count_keys(&random.text(200));
}

fn identity(number: u64) -> Identity {
    Identity {
        id: TableId(number),
        space: SpaceId(number as u32),
        created_us: number,
        indexes: vec![(IndexId(number), PageNo(4))],
        row_versions: Some(Box::new(row_versions())),
        partitions: Vec::new(),
    }
}

fn row_versions() -> RowVersions {
    let field = |column, default| VersionedField { column, added: 1, default };
    let dropped =
        FieldColumn::Dropped { version: 2, length: Length::Variable { max: 300, blob: false }, nullable: true };
    let fields = vec![field(FieldColumn::Column(2), Some([1, 2].into())), field(dropped, None)];
    RowVersions { current: 2, fields }
}

/// The description that lies beside an exported file.
pub fn exported(random: &mut Random) {
    let column = |name: &str| transport::Column {
        name: name.into(),
        ty: transport::Type::of(&ColumnType::Int { bytes: 4, unsigned: true }, true),
        orders: true,
        prefix_bytes: 0,
        instant: false,
    };
    let own = random.chance(2).then(|| codec::write_rows_of_versions(Some(&row_versions())));
    let mut bytes = transport::Description {
        host: "h".into(),
        table: "d/t".into(),
        auto_increment: 7,
        page_bytes: 16384,
        flags: 0x21,
        columns: ["a", "b", "DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"].map(column).into(),
        indexes: Vec::new(),
        own,
    }
    .write();
    let read = transport::Description::read(&bytes).expect("a whole description");
    assert!(read.own.is_none_or(|own| codec::read_rows_of_versions(&own).is_ok_and(|versions| versions.is_some())));
    // Also as other servers write it.
    bytes[3] = random.pick(&[bytes[3], 1, 2, 3, 4, 5, 6, 7, 8]);
    random.damage(&mut bytes);
    if let Ok(read) = transport::Description::read(&bytes) {
        let _ = read.own.map(|own| codec::read_rows_of_versions(&own));
        for (one, other) in read.columns.iter().zip(read.columns.iter().skip(1)) {
            let _ = one.ty.differs_from(&other.ty);
        }
    }
}

/// Options, columns, indexes and partitions as the system tables keep them.
pub fn description(random: &mut Random) {
    let options = TableOptions {
        compression: Compression::ZSTD,
        create_options: vec![("COMPRESSION".into(), "zstd".into())],
        ..TableOptions::default()
    };
    let key = ForeignKey {
        name: "c_ibfk_1".into(),
        columns: vec!["c".into()],
        parent_database: "d".into(),
        parent: "p".into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::SetNull,
    };
    let check = Check { name: "c_chk_1".into(), condition: "(`c` > 0)".into(), enforced: true };
    let part = |name: &str| PartitionDefinition {
        name: name.into(),
        subpartition: Some("s".into()),
        compression: Some((Compression::ZSTD, Some(3))),
        discarded: false,
    };
    let mut options = codec::write_options(&codec::TableFacts {
        options,
        foreign_keys: vec![key],
        checks: vec![check],
        partitioning: Some(Box::new(Partitioning { rule: "HASH (`c`)".into(), parts: vec![part("p0"), part("p1")] })),
        row_versions: Some(Box::new(row_versions())),
        partitions: vec![identity(7), identity(8)],
    });
    let mut column = codec::write_column(&Column {
        name: "c".into(),
        ty: ColumnType::Int { bytes: 4, unsigned: true },
        nullable: true,
        default: ColumnDefault::Literal(vec![1, 2, 3, 4]),
        on_update_now: false,
        auto_increment: false,
        comment: "words".into(),
        invisible: false,
        explicit_collation: false,
        boolean: true,
        zerofill: Some(5),
        generated: Some(Generated { expression: "(`a` + 1)".into(), stored: false, hidden: false }),
    });
    let mut index = codec::write_index(&IndexDefinition {
        name: "i".into(),
        parts: vec![IndexPart { prefix_chars: Some(10), ..IndexPart::new(3) }],
        ..IndexDefinition::default()
    });
    assert!(codec::read_options(&options).is_ok() && codec::read_column(&column).is_ok());
    assert!(codec::read_index(&index).is_ok());
    for bytes in [&mut options, &mut column, &mut index] {
        random.damage(bytes);
        let _ = codec::read_options(bytes);
        let _ = codec::read_column(bytes);
        let _ = codec::read_index(bytes);
    }
}
