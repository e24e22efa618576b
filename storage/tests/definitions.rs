//! Views, routines, triggers and events in the dictionary: what is acknowledged stays, what belongs to a table follows it.

use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::{
    Column, Config, Definition, DefinitionKind, Engine, Error, IndexDefinition, Relatives, TableDefinition, TrxOptions,
};

fn wait() -> TrxOptions {
    TrxOptions::patient()
}

fn open(disk: &SimDisk) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), Config::tiny()).unwrap()
}

fn table(name: &str) -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: name.into(),
        columns: vec![Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false)],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    }
}

fn new(disk: &SimDisk) -> Arc<Engine> {
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = open(disk);
    engine.create_database("d", CollationId::DEFAULT, &wait()).unwrap();
    engine
}

fn definition(kind: DefinitionKind, name: &str, of: &str, bytes: &[u8]) -> Definition {
    Definition { kind, database: "d".into(), name: name.into(), table: of.into(), bytes: bytes.into() }
}

fn define(engine: &Engine, new: Definition, replaces: bool) -> Result<(), Error> {
    let wait = wait();
    let table = (!new.table.is_empty()).then_some(("d", &*new.table));
    let locked = engine.lock_names_of(&[new.full_name()], table.as_slice(), &wait)?;
    locked.define(new.clone(), replaces)
}

fn drop_one(engine: &Engine, kind: DefinitionKind, name: &str) -> Result<(), Error> {
    let wait = wait();
    let locked = engine.lock_names_of(&[(kind, "d", name)], &[], &wait)?;
    locked.drop_all(&[(kind, "d", name)])
}

/// Every definition and table, as texts.
fn facts(engine: &Engine) -> Vec<String> {
    let mut facts: Vec<String> = engine.tables("d").iter().map(|table| format!("table {}", table.name)).collect();
    for kind in DefinitionKind::ALL {
        let all = engine.definitions(kind, "d");
        facts.extend(all.iter().map(|d| {
            let sum = d.bytes.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            format!("{kind:?} {} of {:?}: {} bytes, {sum}", d.name, d.table, d.bytes.len())
        }));
    }
    facts
}

#[test]
fn they_are_kept_replaced_renamed_and_removed() {
    use DefinitionKind::*;
    let disk = SimDisk::new(1);
    let engine = new(&disk);
    engine.create_table(table("t"), &wait()).unwrap();
    let long = vec![7; 300_000];
    let first = engine.definitions_version();
    define(&engine, definition(View, "v", "", &long), false).unwrap();
    assert!(engine.definitions_version() > first);
    // Procedures and functions have names of their own, views share those of tables.
    define(&engine, definition(Procedure, "v", "", b"p"), false).unwrap();
    define(&engine, definition(Function, "t", "", b"f"), false).unwrap();
    assert!(matches!(define(&engine, definition(View, "v", "", b""), false), Err(Error::Exists(_))));
    assert!(matches!(define(&engine, definition(View, "t", "", b""), true), Err(Error::Exists(_))));
    assert!(matches!(engine.create_table(table("v"), &wait()), Err(Error::Exists(_))));
    define(&engine, definition(View, "v", "", b"short"), true).unwrap();
    let renames = [(("d", "v"), ("d", "x")), (("d", "t"), ("d", "v")), (("d", "x"), ("d", "t"))];
    engine.rename_tables(&renames, &wait()).unwrap();
    drop(engine);
    let engine = open(&disk);
    assert_eq!(&*engine.definition(View, "d", "t").unwrap().bytes, b"short");
    assert!(engine.table("d", "v").is_some() && engine.table("d", "t").is_none());
    assert!(matches!(engine.rename_tables(&[(("d", "t"), ("d", "v"))], &wait()), Err(Error::Exists(_))));
    assert!(matches!(engine.rename_tables(&[(("d", "v"), ("d", "t"))], &wait()), Err(Error::Exists(_))));
    drop_one(&engine, Procedure, "v").unwrap();
    assert!(matches!(drop_one(&engine, Procedure, "v"), Err(Error::NotFound(_))));
    assert_eq!(engine.drop_database("d", &wait()).unwrap(), 2);
    engine.create_database("d", CollationId::DEFAULT, &wait()).unwrap();
    assert!(facts(&engine).is_empty());
    drop(engine);
    let engine = open(&disk);
    assert!(facts(&engine).is_empty());
    assert!(engine.check().unwrap().is_clean());
}

#[test]
fn what_belongs_to_a_table_goes_with_it() {
    use DefinitionKind::Trigger;
    let disk = SimDisk::new(1);
    let engine = new(&disk);
    for name in ["t", "u"] {
        engine.create_table(table(name), &wait()).unwrap();
        define(&engine, definition(Trigger, &format!("of_{name}"), name, b"x"), false).unwrap();
    }
    let owner = |engine: &Engine, name: &str| engine.definition(Trigger, "d", name).map(|d| d.table.to_string());
    let renames = [(("d", "t"), ("d", "x")), (("d", "u"), ("d", "t")), (("d", "x"), ("d", "u"))];
    engine.rename_tables(&renames, &wait()).unwrap();
    assert_eq!((owner(&engine, "of_t").unwrap(), owner(&engine, "of_u").unwrap()), ("u".into(), "t".into()));
    engine.truncate_table("d", "t", &wait()).unwrap();
    engine.rebuild_table("d", "t", |own| own.name = "w".into(), &wait()).unwrap_err();
    let patient = wait();
    let locked = engine.lock_definitions(&[("d", "t"), ("d", "w")], Relatives::Along, &patient).unwrap();
    let mut alteration = locked.alter("d", "t").unwrap();
    alteration.definition.name = "w".into();
    alteration.in_place().unwrap();
    drop(locked);
    drop(engine);
    let engine = open(&disk);
    assert_eq!(owner(&engine, "of_u").as_deref(), Some("w"));
    let locked = engine.lock_definitions(&[("d", "w")], Relatives::Along, &patient).unwrap();
    locked.create_or_replace(table("w")).unwrap();
    drop(locked);
    assert_eq!(owner(&engine, "of_u"), None);
    engine.drop_tables(&[("d", "u")], &wait()).unwrap();
    assert_eq!(facts(&engine), ["table w"]);
    // Neither without the table's lock nor without its own.
    let locked = engine.lock_names_of(&[(Trigger, "d", "a")], &[], &patient).unwrap();
    assert!(matches!(locked.define(definition(Trigger, "a", "w", b""), false), Err(Error::Unsupported(_))));
    assert!(matches!(locked.define(definition(Trigger, "b", "", b""), false), Err(Error::Unsupported(_))));
}

#[test]
fn a_transaction_keeps_the_definition_that_it_uses() {
    use DefinitionKind::Procedure;
    let engine = new(&SimDisk::new(1));
    define(&engine, definition(Procedure, "p", "", b"1"), false).unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    assert_eq!(&*trx.open_definition(Procedure, "d", "p").unwrap().unwrap().bytes, b"1");
    assert!(trx.open_definition(Procedure, "d", "q").unwrap().is_none());
    let hasty = TrxOptions { metadata_wait_timeout: Duration::from_millis(20), ..wait() };
    assert!(engine.lock_names_of(&[(Procedure, "d", "p")], &[], &hasty).is_err());
    assert!(engine.drop_database("d", &hasty).is_err());
    trx.commit().unwrap();
    drop_one(&engine, Procedure, "p").unwrap();
}

/// A crash at any write leaves the statement done or not done.
#[test]
fn a_crash_anywhere_keeps_them_whole() {
    use DefinitionKind::*;
    type Step = (&'static str, fn(&Arc<Engine>) -> Result<(), Error>);
    let steps: [Step; 6] = [
        ("define", |engine| define(engine, definition(Event, "e", "", &[3; 40_000]), false)),
        ("replace", |engine| define(engine, definition(View, "v", "", &[4; 40_000]), true)),
        ("drop", |engine| drop_one(engine, View, "v")),
        ("rename", |engine| {
            let renames = [(("d", "v"), ("d", "x")), (("d", "t"), ("d", "v")), (("d", "x"), ("d", "t"))];
            engine.rename_tables(&renames, &wait())
        }),
        ("drop table", |engine| engine.drop_tables(&[("d", "t")], &wait())),
        ("drop database", |engine| engine.drop_database("d", &wait()).map(drop)),
    ];
    let base = SimDisk::new(8);
    let engine = new(&base);
    engine.create_table(table("t"), &wait()).unwrap();
    define(&engine, definition(View, "v", "", &[1; 20_000]), false).unwrap();
    define(&engine, definition(Trigger, "g", "t", &[2; 100]), false).unwrap();
    engine.close().unwrap();
    drop(engine);
    for (name, step) in steps {
        let before = facts(&open(&base.duplicate()));
        let whole = base.duplicate();
        let engine = open(&whole);
        let start = whole.changes();
        step(&engine).unwrap();
        let after = facts(&engine);
        let end = whole.changes();
        drop(engine);
        assert!(end > start && before != after, "{name} changes the disk");
        for at in start..=end {
            let disk = base.duplicate();
            let engine = open(&disk);
            disk.set_faults(|faults| faults.crash_at = Some(at));
            let outcome = step(&engine);
            let survivor = disk.crash();
            drop(engine);
            let engine = open(&survivor);
            let found = facts(&engine);
            assert!(found == before || found == after, "{name}, crash at {at}: neither before nor after");
            assert!(outcome.is_err() || found == after, "{name}, crash at {at}: acknowledged and lost");
            while engine.step().unwrap() {}
            let check = engine.check().unwrap();
            assert!(check.is_clean(), "{name}, crash at {at}: {check:?}");
        }
    }
}
