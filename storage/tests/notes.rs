//! The note that a DDL statement leaves is there if and only if the statement has happened, after a crash at any change
//! of the disk: a replica relies on it.

use std::sync::Arc;

use format::collation::CollationId;
use format::ids::Lsn;
use storage::io::sim::SimDisk;
use storage::{Annexed, CommitLog, Config, Engine, Result, TrxOptions};

/// The note's slot and content.
struct Noting(u32, &'static str);

impl CommitLog for Noting {
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        append(None)
    }

    fn note(&self) -> Option<(u32, Vec<u8>)> {
        Some((self.0, self.1.as_bytes().to_vec()))
    }
}

fn noting(slot: u32, note: &'static str) -> TrxOptions {
    TrxOptions { log: Some(Arc::new(Noting(slot, note))), ..TrxOptions::patient() }
}

fn open(disk: &SimDisk) -> Result<Arc<Engine>> {
    Engine::open(Arc::new(disk.clone()), Config::tiny())
}

/// Two statements with notes, the second as far as the disk goes.
fn work(disk: &SimDisk) -> Result<Arc<Engine>> {
    let engine = open(disk)?;
    engine.create_database("a", CollationId::DEFAULT, &noting(7, "a is there"))?;
    engine.create_database("b", CollationId::DEFAULT, &noting(7, "b is there"))?;
    Ok(engine)
}

#[test]
fn a_note_is_there_if_and_only_if_its_statement_has_happened() {
    let mut seen = [0; 3];
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
        let crash_at = disk.changes() + 1 + seed;
        disk.set_faults(|faults| faults.crash_at = Some(crash_at));
        let engine = work(&disk);
        let disk = disk.crash();
        drop(engine);
        let engine = open(&disk).unwrap();
        let there = (engine.database("a").is_some(), engine.database("b").is_some());
        let note = engine.note(7).unwrap();
        let wanted = match there {
            (false, false) => None,
            (true, false) => Some("a is there"),
            (_, true) => Some("b is there"),
        };
        assert_eq!(note.as_deref(), wanted.map(str::as_bytes), "seed {seed}");
        seen[usize::from(there.0) + usize::from(there.1)] += 1;
        // It stays, also beside statements without a note.
        engine.create_database("c", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
        engine.close().unwrap();
        drop(engine);
        assert_eq!(open(&disk).unwrap().note(7).unwrap(), note, "seed {seed}");
    }
    assert!(seen.iter().all(|count| *count > 0), "each state was met: {seen:?}");
}

#[test]
fn each_slot_has_a_note_of_its_own() {
    let disk = SimDisk::new(1);
    Engine::create(Arc::new(disk.clone()), &Config::tiny()).unwrap();
    let engine = open(&disk).unwrap();
    let slots = [(0, "first"), (1, "second"), (u32::MAX, "last"), (1, "third")];
    for (at, (slot, note)) in slots.into_iter().enumerate() {
        engine.create_database(&format!("d{at}"), CollationId::DEFAULT, &noting(slot, note)).unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk).unwrap();
    let note = |slot| engine.note(slot).unwrap().map(|note| String::from_utf8(note).unwrap());
    assert_eq!(
        [note(0), note(1), note(2), note(u32::MAX)].map(Option::unwrap_or_default),
        ["first", "third", "", "last"]
    );
}
