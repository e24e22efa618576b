//! A redo log that is full of what belongs to the log of an upper layer: the instance opens when that layer takes it.

use std::sync::Arc;

use format::collation::CollationId;
use format::ids::Lsn;
use format::value::{ColumnType, LobSize};
use storage::io::sim::SimDisk;
use storage::{
    Annexed, Column, ColumnSet, CommitLog, Config, Engine, Error, IndexDefinition, ReadMode, Result, Row,
    TableDefinition, TrxOptions,
};

/// Each transaction has this as its annex.
struct Log<'a>(&'a [u8]);

impl CommitLog for Log<'_> {
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        append(Some((1, self.0)))
    }
}

fn definition() -> TableDefinition {
    TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("b", ColumnType::Blob { size: LobSize::Long }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
        ..TableDefinition::default()
    }
}

fn insert(engine: &Arc<Engine>, id: u32, annex: Option<&[u8]>) -> Result<()> {
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t")?;
    trx.insert(&table, &[Some(&id.to_be_bytes()), Some(&[7; 100])])?;
    match annex {
        Some(annex) => trx.commit_with(Some(&Log(annex))),
        None => trx.commit(),
    }
}

#[test]
fn a_redo_log_full_of_annexes_is_emptied_before_anything_else_needs_room() {
    let disk = SimDisk::new(5);
    let config = Config { background_threads: false, ..Config::tiny() };
    Engine::create(Arc::new(disk.clone()), &config).unwrap();
    let engine = Engine::open(Arc::new(disk.clone()), config.clone()).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::default()).unwrap();
    engine.create_table(definition(), &TrxOptions::default()).unwrap();
    engine.annex_hold().set(engine.store().current_lsn());
    let annex = vec![3; 5000];
    let mut count = 0;
    let full = loop {
        match insert(&engine, count, Some(&annex)) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&full, Error::Io { doing: "make room in the redo log", .. }), "{full:?}");
    assert!(count > 50, "{count}");
    let disk = disk.crash();
    // Who does not take the annexes learns why the instance does not open.
    let refused = Engine::open(Arc::new(disk.clone()), config.clone()).err();
    assert!(matches!(&refused, Some(Error::Io { doing: "make room in the redo log", .. })), "{refused:?}");
    let disk = disk.crash();
    let mut seen = 0;
    let engine = Engine::open_completing(Arc::new(disk), config, &mut |annexes| {
        annexes.read(&mut |kind, bytes| {
            assert_eq!((kind, bytes), (1, &annex[..]));
            seen += 1;
            Ok(())
        })
    });
    let engine = engine.unwrap();
    // The one that was refused may have committed before it found no room.
    assert!(seen == count || seen == count + 1, "{seen} of {count}");
    let mut trx = engine.begin(TrxOptions::default());
    let table = trx.open_table("d", "t").unwrap();
    let mut row = Row::new();
    for id in 0..count {
        let found =
            trx.get(&table, 0, &[Some(&id.to_be_bytes())], ReadMode::Consistent, &ColumnSet::first(2), &mut row);
        assert!(found.unwrap(), "row {id}");
    }
    trx.commit().unwrap();
    insert(&engine, 1_000_000, None).unwrap();
    let report = engine.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.errors);
    engine.close().unwrap();
}
