//! DISCARD and IMPORT TABLESPACE: the rows of a file that was exported come back, whatever the definition's indexes; a file that
//! is damaged or of another table is refused and stays; and a statement that a crash interrupts has happened or has not.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::schema::{
    Column, ColumnSet, ColumnSource, IfLocked, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition,
};
use storage::{Config, Engine, Error, Relatives, Result, Table, Trx, TrxOptions};

fn open(disk: &SimDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), Config::tiny())
}

fn definition(name: &str) -> TableDefinition {
    let mut id = Column::new("id", ColumnType::Int { bytes: 8, unsigned: true }, false);
    id.auto_increment = true;
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![id, Column::new("body", ColumnType::VarBinary { bytes: 60_000 }, true)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), by_body("b")],
        ..TableDefinition::default()
    }
}

/// An index on the beginning of the bodies.
fn by_body(name: &str) -> IndexDefinition {
    let mut index = IndexDefinition::new(name, false, &[1, 0]);
    index.parts[0].prefix_chars = Some(20);
    index
}

type Rows = Vec<(u64, Option<Vec<u8>>)>;

/// Short values, long ones, and none.
fn body(id: u64) -> Option<Vec<u8>> {
    match id % 50 {
        0 | 10 => None,
        1 | 2 => Some(vec![id as u8; 9000 + id as usize]),
        _ => Some(format!("body {id}").into_bytes()),
    }
}

/// An instance with an exported file of 300 rows, of which every seventh was deleted, and its description, both copied.
fn instance(seed: u64) -> (SimDisk, Arc<Engine>, Rows) {
    let disk = SimDisk::new(seed);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = open(&disk).unwrap();
    let wait = TrxOptions::patient();
    engine.create_database("d", CollationId::DEFAULT, &wait).unwrap();
    let table = engine.create_table(definition("s"), &wait).unwrap();
    let mut trx = engine.begin(TrxOptions::patient());
    for id in 1..=300_u64 {
        trx.insert(&table, &[Some(&id.to_be_bytes()), body(id).as_deref()]).unwrap();
        engine.step().unwrap();
    }
    engine.raise_auto_increment(&table, 1000).unwrap();
    trx.commit().unwrap();
    let mut trx = engine.begin(TrxOptions::patient());
    for id in (7..=300_u64).step_by(7) {
        let row = get(&mut trx, &table, id);
        trx.delete(&table, &row).unwrap();
    }
    trx.commit().unwrap();
    let exported = engine.export(&[table], "host").unwrap();
    for ending in ["ibd", "cfg"] {
        copy(&disk, &format!("d/s.{ending}"), &format!("d/{ending}.copy"));
    }
    drop(exported);
    assert!(!disk.exists("d/s.cfg").unwrap(), "the description goes with the lock");
    let rows = rows(&engine, "s").unwrap();
    assert_eq!(rows.len(), 300 - 42);
    (disk, engine, rows)
}

/// A row, locked.
fn get(trx: &mut Trx, table: &Table, id: u64) -> Row {
    let (mut row, key) = (Row::new(), id.to_be_bytes());
    let columns = ColumnSet::first(table.columns.len());
    assert!(trx.get(table, 0, &[Some(&key)], ReadMode::Exclusive(IfLocked::Wait), &columns, &mut row).unwrap());
    row
}

fn copy(disk: &SimDisk, from: &str, to: &str) {
    let source = disk.open(from, OpenMode::Read, Caching::Cached).unwrap();
    let mut bytes = vec![0; source.len().unwrap() as usize];
    source.read_at(0, &mut bytes).unwrap();
    let file = disk.open(to, OpenMode::Create, Caching::Cached).unwrap();
    file.write_at(0, &bytes).unwrap();
    file.sync().unwrap();
    disk.sync_directory("d").unwrap();
}

/// What a table has; None = its rows were discarded.
fn rows(engine: &Arc<Engine>, name: &str) -> Option<Rows> {
    let table = engine.table("d", name)?;
    if table.discarded {
        return None;
    }
    let mut trx = engine.begin(TrxOptions::patient());
    trx.open_table("d", name).unwrap();
    let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
    let (mut row, mut rows) = (Row::new(), Vec::new());
    while cursor.next(&mut trx, &mut row).unwrap() {
        rows.push((u64::from_be_bytes(row.get(0).unwrap().try_into().unwrap()), row.get(1).map(<[u8]>::to_vec)));
    }
    Some(rows)
}

fn discard(engine: &Arc<Engine>, name: &str) -> Result<()> {
    let wait = TrxOptions::patient();
    let locked = engine.lock_definitions(&[("d", name)], Relatives::Along, &wait)?;
    locked.alter("d", name)?.discard(&[0])
}

fn import(engine: &Arc<Engine>, name: &str) -> Result<(u64, Vec<Box<str>>)> {
    let wait = TrxOptions::patient();
    let locked = engine.lock_definitions(&[("d", name)], Relatives::Along, &wait)?;
    locked.alter("d", name)?.import(&[0], None, None)
}

/// A table of this definition whose rows were discarded, and under its name a copy of the exported file.
fn receiver(disk: &SimDisk, engine: &Arc<Engine>, definition: TableDefinition, with_description: bool) {
    let name = definition.name.clone();
    engine.create_table(definition, &TrxOptions::patient()).unwrap();
    discard(engine, &name).unwrap();
    copy(disk, "d/ibd.copy", &format!("d/{name}.ibd"));
    if with_description {
        copy(disk, "d/cfg.copy", &format!("d/{name}.cfg"));
    }
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.list("d").unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn rows_come_back_under_any_indexes() {
    let (disk, engine, wanted) = instance(1);
    for (number, described) in [true, false].into_iter().enumerate() {
        let mut one = definition(&format!("t{number}"));
        one.indexes.push(by_body("more"));
        receiver(&disk, &engine, one, described);
        let name = format!("t{number}");
        assert_eq!(rows(&engine, &name), None);
        let (count, bare) = import(&engine, &name).unwrap();
        assert_eq!((count, bare.is_empty()), (wanted.len() as u64, described));
        assert_eq!(rows(&engine, &name).as_ref(), Some(&wanted));
        let table = engine.table("d", &name).unwrap();
        // The description knows more than the rows.
        assert_eq!(engine.auto_increment(&table).unwrap(), if described { 1001 } else { 301 });
        assert!(!names(&disk).contains(&format!("{name}.cfg")));
    }
    while engine.step().unwrap() {}
    let report = engine.check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn rows_of_several_versions_come_back_with_their_description_alone() {
    let (_, engine, _) = instance(2);
    let wait = TrxOptions::patient();
    let add = |definition: &mut TableDefinition| {
        definition.columns.push(Column::new("later", ColumnType::VarBinary { bytes: 10 }, true));
        vec![ColumnSource::Old(0), ColumnSource::Old(1), ColumnSource::New(Some(b"default".as_slice().into()))]
    };
    engine.alter_columns("d", "s", add, &wait).unwrap();
    let table = engine.table("d", "s").unwrap();
    let mut trx = engine.begin(TrxOptions::patient());
    trx.insert(&table, &[Some(&2000_u64.to_be_bytes()), None, Some(b"own")]).unwrap();
    trx.commit().unwrap();
    let exported = engine.export(std::slice::from_ref(&table), "host").unwrap();
    let disk = engine.store().disk().clone();
    let bytes = |path: &str| {
        let file = disk.open(path, OpenMode::Read, Caching::Cached).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    };
    let (file, description) = (bytes("d/s.ibd"), bytes("d/s.cfg"));
    drop(exported);
    let put = |path: &str, bytes: &[u8]| {
        disk.open(path, OpenMode::Create, Caching::Cached).unwrap().write_at(0, bytes).unwrap();
    };
    let mut other = definition("t");
    other.columns = table.columns.clone();
    engine.create_table(other, &wait).unwrap();
    discard(&engine, "t").unwrap();
    put("d/t.ibd", &file);
    assert!(matches!(import(&engine, "t"), Err(Error::SchemaMismatch(_))), "nothing says which columns a row has");
    put("d/t.cfg", &description);
    import(&engine, "t").unwrap();
    assert_eq!(rows(&engine, "t"), rows(&engine, "s"));
    let imported = engine.table("d", "t").unwrap();
    let mut trx = engine.begin(TrxOptions::patient());
    for (id, later) in [(1_u64, &b"default"[..]), (2000, b"own")] {
        assert_eq!(get(&mut trx, &imported, id).get(2), Some(later));
    }
    assert!(imported.schema().row_versions.is_none(), "its own rows are of one version");
}

#[test]
fn a_file_of_another_table_is_refused_and_stays() {
    let (disk, engine, wanted) = instance(3);
    let mut others: Vec<(&str, TableDefinition)> = Vec::new();
    let mut one = definition("nullable");
    one.columns[1].nullable = false;
    others.push(("nullable", one));
    let mut one = definition("wider");
    one.columns[0].ty = ColumnType::Int { bytes: 4, unsigned: true };
    others.push(("wider", one));
    let mut one = definition("more");
    one.columns.push(Column::new("c", ColumnType::Date, true));
    others.push(("more", one));
    let mut one = definition("narrow");
    one.columns[1].ty = ColumnType::VarBinary { bytes: 300 };
    others.push(("narrow", one));
    let mut one = definition("key");
    one.indexes.remove(0);
    one.columns[0].auto_increment = false;
    others.push(("key", one));
    for (name, one) in others {
        for described in [false, true] {
            receiver(&disk, &engine, one.clone(), described);
            let refused = import(&engine, name);
            assert!(matches!(refused, Err(Error::SchemaMismatch(_))), "{name}, described: {described}: {refused:?}");
            assert_eq!(rows(&engine, name), None);
            assert!(names(&disk).contains(&format!("{name}.ibd")), "{name}: the file stays");
            engine.drop_tables(&[("d", name)], &TrxOptions::patient()).unwrap();
            assert!(!names(&disk).contains(&format!("{name}.ibd")), "{name}: the file goes with the table");
        }
    }
    assert_eq!(rows(&engine, "s"), Some(wanted));
}

/// Any damage of any page that is read is found by its checksum: the import is refused, or nothing that was read is damaged.
#[test]
fn a_damaged_file_is_refused_or_gives_the_same_rows() {
    let (disk, engine, wanted) = instance(4);
    engine.create_table(definition("t"), &TrxOptions::patient()).unwrap();
    let source = disk.open("d/ibd.copy", OpenMode::Read, Caching::Cached).unwrap();
    let bytes = source.len().unwrap();
    let (mut refused, mut read) = (0, 0);
    let mut at = 3;
    while at < bytes {
        discard(&engine, "t").unwrap_or_default();
        if disk.exists("d/t.ibd").unwrap() {
            disk.remove("d/t.ibd").unwrap();
        }
        copy(&disk, "d/ibd.copy", "d/t.ibd");
        let file = disk.open("d/t.ibd", OpenMode::ReadWrite, Caching::Cached).unwrap();
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        file.write_at(at, &[byte[0] ^ 0x41]).unwrap();
        match import(&engine, "t") {
            Ok(_) => {
                assert_eq!(rows(&engine, "t").as_ref(), Some(&wanted), "byte {at}");
                read += 1;
            }
            Err(Error::Foreign(_) | Error::SchemaMismatch(_)) => refused += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
        at += 997;
    }
    // A file cut short is the same.
    if !engine.table("d", "t").unwrap().discarded {
        discard(&engine, "t").unwrap();
    }
    for pages in 0..8 {
        if disk.exists("d/t.ibd").unwrap() {
            disk.remove("d/t.ibd").unwrap();
        }
        copy(&disk, "d/ibd.copy", "d/t.ibd");
        disk.open("d/t.ibd", OpenMode::ReadWrite, Caching::Cached).unwrap().set_len(pages * 16384 + 100).unwrap();
        assert!(matches!(import(&engine, "t"), Err(Error::Foreign(_))), "{pages} pages");
    }
    assert!(refused > 10 && read > 0, "{refused} refused, {read} read");
    let report = engine.check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

type Change = fn(&Arc<Engine>) -> Result<()>;

#[test]
fn descriptions_go_when_tables_are_unlocked_or_the_server_is_killed_or_the_table_is_dropped() {
    let (disk, engine, _) = instance(11);
    let has = |disk: &SimDisk| disk.exists("d/s.cfg").unwrap();
    let exported = engine.export(&[engine.table("d", "s").unwrap()], "host").unwrap();
    assert!(has(&disk));
    // Killed while the tables are locked: the next start removes it.
    let disk = disk.crash();
    drop((exported, engine));
    let engine = open(&disk).unwrap();
    assert!(!has(&disk), "the description of a killed server stays");
    // Exported again, as often as one likes.
    for _ in 0..2 {
        drop(engine.export(&[engine.table("d", "s").unwrap()], "host").unwrap());
        assert!(!has(&disk));
    }
    // One that somebody has put there goes with the table, and with the database.
    let wait = TrxOptions::patient();
    copy(&disk, "d/cfg.copy", "d/s.cfg");
    engine.lock_definitions(&[("d", "s")], Relatives::Along, &wait).unwrap().drop_tables(&[("d", "s")]).unwrap();
    assert!(!has(&disk));
    engine.create_table(definition("s"), &wait).unwrap();
    copy(&disk, "d/cfg.copy", "d/s.cfg");
    for name in ["d/cfg.copy", "d/ibd.copy"] {
        disk.remove(name).unwrap();
    }
    assert!(has(&disk));
    engine.drop_database("d", &wait).unwrap();
    assert!(!disk.exists("d").unwrap(), "the directory goes");
}

#[test]
fn a_crash_leaves_all_or_nothing_and_the_file_until_then() {
    let changes: [(&str, Change); 4] = [
        // What waits to be imported goes along, and is taken for a file of this instance at no time.
        ("rename", |engine| engine.rename_tables(&[(("d", "t"), ("d", "u"))], &TrxOptions::patient())),
        ("discard", |engine| discard(engine, "s")),
        ("import", |engine| import(engine, "t").map(drop)),
        ("drop", |engine| engine.drop_tables(&[("d", "t")], &TrxOptions::patient())),
    ];
    let state = |engine: &Arc<Engine>| -> Vec<(String, Option<Rows>)> {
        engine.tables("d").iter().map(|table| (table.name.to_string(), rows(engine, &table.name))).collect()
    };
    let begin = |seed| {
        let (disk, engine, _) = instance(seed);
        receiver(&disk, &engine, definition("t"), true);
        (disk, engine)
    };
    for (name, change) in changes {
        let (_, engine) = begin(1);
        let before = state(&engine);
        change(&engine).unwrap();
        let after = state(&engine);
        engine.close().unwrap();
        let mut seen = [0; 2];
        let mut crash_in = 1;
        loop {
            let (disk, engine) = begin(crash_in);
            let crash_at = disk.changes() + crash_in;
            disk.set_faults(|faults| faults.crash_at = Some(crash_at));
            let done = change(&engine).is_ok();
            let reached = disk.changes() >= crash_at;
            let disk = disk.crash();
            drop(engine);
            let engine = open(&disk).unwrap();
            let found = state(&engine);
            assert!(found == before || found == after, "{name}, crash at change {crash_in}");
            assert!(!done || found == after, "{name}, crash at change {crash_in}: what was acknowledged is lost");
            seen[usize::from(found == after)] += 1;
            while engine.step().unwrap() {}
            let there = names(&disk);
            let has = |name: &str| there.iter().any(|file| file == name);
            if name == "import" && found == before {
                assert!(has("t.ibd") && has("t.cfg"), "crash at change {crash_in}: {there:?}");
                import(&engine, "t").unwrap();
                assert_eq!(state(&engine), after);
            }
            if name == "rename" {
                let (named, other) = if found == before { ("t", "u") } else { ("u", "t") };
                assert!(has(&format!("{named}.ibd")) && has(&format!("{named}.cfg")), "crash at {crash_in}: {there:?}");
                assert!(
                    !has(&format!("{other}.ibd")) && !has(&format!("{other}.cfg")),
                    "crash at {crash_in}: {there:?}"
                );
                import(&engine, named).unwrap();
                assert!(rows(&engine, named).is_some_and(|rows| rows.len() == 258));
            }
            while engine.step().unwrap() {}
            let report = engine.check().unwrap();
            assert!(report.errors.is_empty(), "{name}, crash at change {crash_in}: {:?}", report.errors);
            let beside = names(&disk).iter().filter(|file| file.contains('#')).count();
            let discarded = state(&engine).iter().filter(|(_, rows)| rows.is_none()).count();
            assert_eq!(beside, discarded, "{name}, crash at change {crash_in}: {:?}", names(&disk));
            engine.close().unwrap();
            if done && !reached {
                break;
            }
            crash_in += 1 + crash_in / 6;
        }
        assert!(seen.iter().all(|count| *count > 0), "{name}: both ends were met: {seen:?}");
    }
}
