//! Encrypted tables on a disk that loses power: nothing is lost, nothing can be read without the key, and a rotation of
//! the master key may be interrupted anywhere.

use std::sync::Arc;

use format::collation::CollationId;
use format::page::header::{self, PageType};
use format::value::{ColumnType, LobSize};
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::{
    Column, ColumnSet, Compression, Config, Engine, Error, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition,
    TableOptions, TrxOptions,
};

const SECRET: &str = "nobody may read this";
const ROWS: u32 = 400;

fn config() -> Config {
    Config { pool_bytes: 64 * 16384, log_bytes: 4 << 20, ..Config::tiny() }
}

fn open(disk: &SimDisk) -> storage::Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), config())
}

fn definition(name: &str, compression: Compression) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("c", ColumnType::VarChar { chars: 200, collation: CollationId::UTF8MB4_GENERAL_CI }, false),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        options: TableOptions { compression, encrypted: true, ..TableOptions::default() },
        ..TableDefinition::default()
    }
}

/// An instance with two encrypted tables, one of them compressed too, with rows and a long value each.
fn create(disk: &SimDisk) -> Arc<Engine> {
    Engine::create(Arc::new(disk.clone()), &config()).unwrap();
    let engine = open(disk).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    for (name, compression) in [("plain", Compression::NONE), ("zstd", Compression::ZSTD)] {
        engine.create_table(definition(name, compression), &TrxOptions::default()).unwrap();
        fill(&engine, name, 0..ROWS);
    }
    engine
}

fn fill(engine: &Arc<Engine>, name: &str, ids: std::ops::Range<u32>) {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", name).unwrap();
    for id in ids {
        let blob = if id % 100 == 0 { SECRET.repeat(1000) } else { String::new() };
        let text = format!("{SECRET} {id}");
        trx.insert(&table, &[Some(&id.to_be_bytes()), Some(text.as_bytes()), Some(blob.as_bytes())]).unwrap();
    }
    trx.commit().unwrap();
}

fn count(engine: &Arc<Engine>, name: &str) -> storage::Result<u32> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", name)?;
    let columns = ColumnSet::first(3);
    let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, columns, ScanRange::ALL)?;
    let (mut row, mut rows) = (Row::new(), 0);
    while cursor.next(&mut trx, &mut row)? {
        assert_eq!(row.get(1).unwrap(), format!("{SECRET} {rows}").as_bytes());
        rows += 1;
    }
    drop(cursor);
    trx.commit()?;
    Ok(rows)
}

fn contents(disk: &SimDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read, Caching::Cached).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn nothing_but_page_0_can_be_read_without_the_key() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    engine.close().unwrap();
    drop(engine);
    for (name, types) in [("plain", [PageType::ENCRYPTED; 2]), ("zstd", [PageType::COMPRESSED_AND_ENCRYPTED; 2])] {
        let bytes = contents(&disk, &format!("d/{name}.ibd"));
        assert!(!contains(&bytes, "nobody") && !contains(&bytes, "may read"), "{name}");
        let mut seen = 0;
        for (number, page) in bytes.chunks(16384).enumerate().filter(|(_, page)| !header::is_zero(page)) {
            let page_type = header::page_type(page);
            if number == 0 {
                assert_eq!(page_type, PageType::FSP_HDR);
                continue;
            }
            // A page that no codec shortens is encrypted as it is.
            assert!(types.contains(&page_type) || page_type == PageType::ENCRYPTED, "{name} {number} {page_type:?}");
            seen += usize::from(types.contains(&page_type));
        }
        assert!(seen > 3, "{name} {seen}");
    }
    // The doublewrite file has pages in their stored form.
    for entry in disk.list("").unwrap().iter().filter(|entry| entry.name.ends_with(".dblwr")) {
        assert!(!contains(&contents(&disk, &entry.name), "may read"));
    }
    let engine = open(&disk).unwrap();
    assert_eq!((count(&engine, "plain").unwrap(), count(&engine, "zstd").unwrap()), (ROWS, ROWS));
    assert!(engine.check().unwrap().is_clean());
}

#[test]
fn encrypted_tables_survive_power_loss_at_any_point() {
    let mut recovered = 0;
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let engine = create(&disk);
        let crash_at = disk.changes() + 1 + seed * 3;
        disk.set_faults(|faults| faults.crash_at = Some(crash_at));
        let mut promised = ROWS;
        while promised < 4 * ROWS {
            let work = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                fill(&engine, "zstd", promised..promised + 10);
                let _ = engine.step();
            }));
            if work.is_err() {
                break;
            }
            promised += 10;
        }
        drop(engine);
        let disk = disk.crash();
        let engine = open(&disk).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        recovered += usize::from(!engine.recovery_report().was_clean());
        let found = count(&engine, "zstd").unwrap();
        // The last commit may have reached the log without being acknowledged.
        assert!(found == promised || found == promised + 10, "seed {seed}: {found} of {promised}");
        assert_eq!(count(&engine, "plain").unwrap(), ROWS);
        assert!(engine.check().unwrap().is_clean(), "seed {seed}");
    }
    assert!(recovered > 20, "{recovered} of the crashes left something to recover");
}

#[test]
fn a_rotation_that_is_interrupted_anywhere_loses_no_table() {
    let mut finished = 0;
    for step in 0..40 {
        let disk = SimDisk::new(step);
        let engine = create(&disk);
        let crash_at = disk.changes() + 1 + step;
        disk.set_faults(|faults| faults.crash_at = Some(crash_at));
        let rotated = engine.rotate_master_key();
        finished += usize::from(rotated.is_ok());
        drop(engine);
        let disk = disk.crash();
        let engine = open(&disk).unwrap_or_else(|error| panic!("step {step}: {error}"));
        for name in ["plain", "zstd"] {
            assert_eq!(count(&engine, name).unwrap(), ROWS, "step {step}");
        }
        // The open wrapped the remaining keys with the newest master key.
        let keys: Vec<u32> =
            engine.store().spaces().iter().filter_map(|space| Some(space.key()?.info().master_key)).collect();
        assert!(keys == [1, 1] || keys == [2, 2], "step {step}: {keys:?}");
        assert!(rotated.is_err() || keys == [2, 2], "step {step}: a rotation that was promised holds");
        engine.close().unwrap();
        drop(engine);
        let engine = open(&disk).unwrap();
        assert_eq!(count(&engine, "zstd").unwrap(), ROWS);
    }
    assert!(finished > 0 && finished < 40, "{finished} rotations were not interrupted");
}

#[test]
fn without_the_key_a_server_starts_and_its_tables_say_why() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    engine.close().unwrap();
    drop(engine);
    disk.rename("keyring", "elsewhere").unwrap();
    let engine = open(&disk).unwrap();
    let Err(Error::KeyUnavailable(what)) = count(&engine, "zstd") else { panic!("the key is gone") };
    assert!(what.contains("d/zstd.ibd needs master key INNODBKey-") && what.contains("keyring"), "{what}");
    // Nor can the name be given to another table, or the database be dropped with its rows.
    let again = engine.create_table(definition("zstd", Compression::NONE), &TrxOptions::default());
    assert!(matches!(again, Err(Error::KeyUnavailable(_))));
    assert!(matches!(engine.drop_database("d", &TrxOptions::default()), Err(Error::KeyUnavailable(_))));
    engine.close().unwrap();
    drop(engine);
    disk.rename("elsewhere", "keyring").unwrap();
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, "zstd").unwrap(), ROWS);
}

/// The redo of a table whose key is missing is kept until an operator restores the key; everything else works.
#[test]
fn recovery_without_a_key_leaves_its_tables_out_until_it_comes() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    let mut definition = definition("open", Compression::NONE);
    definition.options.encrypted = false;
    engine.create_table(definition, &TrxOptions::default()).unwrap();
    fill(&engine, "zstd", ROWS..ROWS + 10);
    fill(&engine, "open", 0..10);
    drop(engine);
    let disk = disk.crash();
    disk.rename("keyring", "elsewhere").unwrap();
    for life in 0..3 {
        let engine = open(&disk).unwrap();
        assert!(engine.damaged().iter().any(|damaged| damaged.contains("d.zstd")), "{:?}", engine.damaged());
        assert!(matches!(count(&engine, "zstd"), Err(Error::KeyUnavailable(_))));
        assert_eq!(count(&engine, "open").unwrap(), 10 * (life + 1));
        fill(&engine, "open", 10 * (life + 1)..10 * (life + 2));
        while engine.step().unwrap() {}
        engine.store().checkpoint().unwrap();
        if life == 1 {
            engine.close().unwrap();
        }
    }
    disk.rename("elsewhere", "keyring").unwrap();
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, "zstd").unwrap(), ROWS + 10);
    while engine.step().unwrap() {}
    assert!(engine.check().unwrap().is_clean());
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk).unwrap();
    assert!(engine.store().set_aside().is_empty());
    assert_eq!(count(&engine, "zstd").unwrap(), ROWS + 10);
}

#[test]
fn a_rebuild_makes_a_table_plain_and_encrypted_again() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    let key = |engine: &Arc<Engine>| {
        let space = engine.table("d", "zstd").unwrap().space;
        engine.store().space(space).unwrap().key().map(|key| key.info())
    };
    let first = key(&engine).unwrap();
    for encrypted in [false, true] {
        let mut definition = definition("zstd", Compression::ZSTD);
        definition.options.encrypted = encrypted;
        engine.rebuild_table("d", "zstd", |own| *own = definition, &TrxOptions::default()).unwrap();
        assert_eq!(key(&engine).is_some(), encrypted);
        engine.store().checkpoint().unwrap();
        assert_eq!(contains(&contents(&disk, "d/zstd.ibd"), "lCC"), encrypted);
        assert_eq!(count(&engine, "zstd").unwrap(), ROWS);
    }
    assert_ne!(key(&engine).unwrap(), first, "a new file has a new key");
}

/// Pages of one kind in the system and undo tablespaces, by whether they are encrypted.
fn encrypted_pages(disk: &SimDisk, path: &str) -> (usize, usize) {
    let bytes = contents(disk, path);
    let pages = bytes.chunks(16384).skip(1).filter(|page| !header::is_zero(page));
    let encrypted =
        |page: &&[u8]| [PageType::ENCRYPTED, PageType::COMPRESSED_AND_ENCRYPTED].contains(&header::page_type(page));
    let (yes, no): (Vec<_>, Vec<_>) = pages.partition(encrypted);
    (yes.len(), no.len())
}

#[test]
fn undo_and_system_are_encrypted_while_they_are_in_use_and_plain_again() {
    let disk = SimDisk::new(1);
    let engine = create(&disk);
    engine.store().checkpoint().unwrap();
    for path in ["undo_001", "ibdata1"] {
        assert_eq!(encrypted_pages(&disk, path).0, 0, "{path}");
    }
    engine.set_undo_encrypted(true).unwrap();
    engine.set_system_encrypted(true).unwrap();
    for path in ["undo_001", "ibdata1"] {
        let (encrypted, plain) = encrypted_pages(&disk, path);
        assert!(encrypted > 3 && plain == 0, "{path}: {encrypted} encrypted, {plain} plain");
    }
    assert!(!contains(&contents(&disk, "ibdata1"), "zstd"), "names of tables are to be read");
    fill(&engine, "zstd", ROWS..2 * ROWS);
    engine.rotate_master_key().unwrap();
    engine.close().unwrap();
    drop(engine);
    // The variable says what the undo tablespace is, page 0 what the system's is.
    let config = Config { encrypt_undo: true, ..config() };
    let engine = Engine::open(Arc::new(disk.clone()), config).unwrap();
    assert_eq!(count(&engine, "zstd").unwrap(), 2 * ROWS);
    fill(&engine, "plain", ROWS..2 * ROWS);
    assert_eq!((encrypted_pages(&disk, "undo_001").1, encrypted_pages(&disk, "ibdata1").1), (0, 0));
    assert!(engine.check().unwrap().is_clean());
    engine.set_undo_encrypted(false).unwrap();
    engine.set_system_encrypted(false).unwrap();
    assert_eq!((encrypted_pages(&disk, "undo_001").0, encrypted_pages(&disk, "ibdata1").0), (0, 0));
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk).unwrap();
    assert_eq!(count(&engine, "plain").unwrap(), 2 * ROWS);
    assert_eq!((encrypted_pages(&disk, "undo_001").0, encrypted_pages(&disk, "ibdata1").0), (0, 0));
}

#[test]
fn a_crash_while_undo_and_system_change_over_loses_nothing() {
    let mut finished = 0;
    for step in 0..120 {
        let disk = SimDisk::new(step);
        let engine = create(&disk);
        engine.create_table(definition("spare", Compression::NONE), &TrxOptions::default()).unwrap();
        if step % 4 != 0 {
            // The log does not change the pages that are written anew: only their copies mend them.
            engine.store().checkpoint().unwrap();
        }
        let mut open_trx = engine.begin(TrxOptions::default());
        let table = open_trx.open_table("d", "plain").unwrap();
        let id = (9 * ROWS).to_be_bytes();
        open_trx.insert(&table, &[Some(&id), Some(b"never committed"), Some(b"")]).unwrap();
        let crash_at = disk.changes() + 1 + step;
        disk.set_faults(|faults| faults.crash_at = Some(crash_at));
        let outcome = engine.set_undo_encrypted(true).and_then(|()| engine.set_system_encrypted(true));
        finished += usize::from(outcome.is_ok());
        std::mem::forget(open_trx);
        drop(engine);
        // Killed, and then without power: what had reached the system's cache only is lost in the second life.
        let disk = if step % 3 == 0 { interrupted_recovery(&disk.duplicate()) } else { disk.crash() };
        let config = Config { encrypt_undo: step % 2 == 0, ..config() };
        let engine = Engine::open(Arc::new(disk.clone()), config).unwrap_or_else(|error| panic!("{step}: {error}"));
        engine.finish_rollbacks().unwrap();
        for name in ["plain", "zstd"] {
            assert_eq!(count(&engine, name).unwrap(), ROWS, "step {step}");
        }
        assert!(engine.check().unwrap().is_clean(), "step {step}");
    }
    assert!(finished > 0 && finished < 120, "{finished} were not interrupted");
}

/// A recovery after which the pages that it did not touch are lost where they had not been synced.
fn interrupted_recovery(disk: &SimDisk) -> SimDisk {
    let engine = open(disk).unwrap();
    fill(&engine, "spare", 0..ROWS);
    engine.step().unwrap();
    drop(engine);
    disk.crash()
}
