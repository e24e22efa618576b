//! Concurrent DDL statements: what each has acknowledged stays done.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::sim::SimDisk;
use storage::{Column, Config, Engine, Error, IndexDefinition, Relatives, TableDefinition, Trx, TrxOptions};

const INT: ColumnType = ColumnType::Int { bytes: 4, unsigned: true };

fn engine() -> Arc<Engine> {
    let disk = Arc::new(SimDisk::new(1));
    Engine::create(disk.clone(), &Config::tiny()).unwrap();
    let engine = Engine::open(disk, Config::tiny()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: ["id", "a", "b"].map(|name| Column::new(name, INT, false)).into(),
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    };
    let table = engine.create_table(definition, &TrxOptions::patient()).unwrap();
    let mut trx: Trx = engine.begin(TrxOptions::default());
    for id in 0..200u32 {
        let [id, a, b] = [id, id * 2, id * 3].map(u32::to_be_bytes);
        trx.insert(&table, &[Some(&id), Some(&a), Some(&b)]).unwrap();
    }
    trx.commit().unwrap();
    engine
}

#[test]
fn two_changes_of_one_table_are_both_kept() {
    let engine = engine();
    std::thread::scope(|scope| {
        for number in 0..3usize {
            let engine = &engine;
            scope.spawn(move || {
                let wait = TrxOptions::patient();
                let name = format!("k{number}");
                for round in 0..12 {
                    let change = |own: &mut TableDefinition| match round % 2 {
                        0 => own.indexes.push(IndexDefinition::new(&name, false, &[1 + number % 2])),
                        _ => own.indexes.retain(|index| *index.name != *name),
                    };
                    match number {
                        0 => drop(engine.rebuild_table("d", "t", change, &wait).unwrap()),
                        _ => {
                            let locked = engine.lock_definitions(&[("d", "t")], Relatives::Along, &wait).unwrap();
                            let mut alteration = locked.alter("d", "t").unwrap();
                            change(&mut alteration.definition);
                            alteration.in_place().unwrap();
                        }
                    }
                    let has = engine.table("d", "t").unwrap().index(&name).is_some();
                    assert_eq!(has, round % 2 == 0, "round {round} of {name}");
                }
            });
        }
    });
    assert!(engine.check().unwrap().is_clean());
}

#[test]
fn a_description_cannot_be_replaced_without_the_lock_of_what_it_concerns() {
    let engine = engine();
    let wait = TrxOptions::patient();
    let locked = engine.lock_definitions(&[("d", "t")], Relatives::Alone, &wait).unwrap();
    assert!(matches!(locked.table("d", "u"), Err(Error::Unsupported(_))));
    let mut alteration = locked.alter("d", "t").unwrap();
    alteration.definition.name = "u".into();
    assert!(matches!(alteration.in_place(), Err(Error::Unsupported(_))));
    drop(locked);
    let locked = engine.lock_definitions(&[("d", "t"), ("d", "u")], Relatives::Along, &wait).unwrap();
    let mut alteration = locked.alter("d", "t").unwrap();
    alteration.definition.name = "u".into();
    alteration.definition.indexes.push(IndexDefinition::new("k", false, &[1]));
    alteration.in_place().unwrap();
    assert_eq!(engine.table("d", "u").unwrap().indexes.len(), 2);
    assert!(engine.table("d", "t").is_none());
}

/// The error for two rows with one key names the key.
#[test]
fn an_index_that_cannot_be_unique_tells_the_key() {
    let engine = engine();
    let wait = TrxOptions::patient();
    let table = engine.table("d", "t").unwrap();
    let mut trx = engine.begin(TrxOptions::default());
    let [id, a, b] = [1000u32, 20, 30].map(u32::to_be_bytes);
    trx.insert(&table, &[Some(&id), Some(&a), Some(&b)]).unwrap();
    trx.commit().unwrap();
    let made = engine.create_index("d", "t", IndexDefinition::new("u", true, &[1, 2]), &wait);
    let Err(Error::DuplicateRows(rows)) = made else { panic!("{made:?}") };
    assert_eq!((&*rows.index, rows.key), ("u", vec![Some(a.to_vec()), Some(b.to_vec())]));
    assert!(engine.check().unwrap().is_clean());
}
