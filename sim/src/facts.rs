//! A second DDL thread beside the one in `threads`: each owns facts about the same table, which the other does not
//! change. A statement that derives a description from an outdated one reverts the other's change, and is detected at
//! once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use storage::io::sim::{Random, SimDisk};
use storage::schema::IndexDefinition;
use storage::{Engine, Isolation, Relatives};

use crate::report::Report;
use crate::threads::{Failing, ROWS, Stop, options};
use crate::workload::{DATABASE, K, NAME};

/// The index of this thread alone.
const OWN_INDEX: &str = "by_k_and_name";

/// Changes a comment and an index, until the workers are done.
pub fn keep_facts(
    engine: &Arc<Engine>,
    disk: &SimDisk,
    failing: Failing,
    mut random: Random,
    stopped: &AtomicBool,
) -> Result<Report, String> {
    let mut report = Report::default();
    let wait = options(Isolation::RepeatableRead);
    let facts = || {
        let table = engine.table(DATABASE, ROWS)?;
        Some((table.options.comment.clone(), table.index(OWN_INDEX).is_some()))
    };
    // A table that was found damaged has no name any more; the workers report whether it may be.
    let Some(mut known) = facts() else { return Ok(report) };
    while !stopped.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(random.below(20)));
        let mut wanted = known.clone();
        let outcome = match random.below(3) {
            0 => {
                wanted.0 = format!("comment {}", random.below(1 << 20)).into();
                let comment = wanted.0.clone();
                engine.alter_table_options(DATABASE, ROWS, &wait, &mut |own| own.comment = comment.clone()).map(|_| ())
            }
            1 if !known.1 => {
                wanted.1 = true;
                let index = IndexDefinition::new(OWN_INDEX, false, &[K, NAME]);
                engine.create_index(DATABASE, ROWS, index, &wait).map(|_| ())
            }
            1 => {
                wanted.1 = false;
                engine.drop_index(DATABASE, ROWS, OWN_INDEX, &wait).map(|_| ())
            }
            _ => {
                // Both at once, by a copy or in place.
                wanted = (format!("both {}", random.below(1 << 20)).into(), !known.1);
                let copies = random.chance(2);
                let locked = engine.lock_definitions(&[(DATABASE, ROWS)], Relatives::Along, &wait);
                let altered = locked.as_ref().map_err(Clone::clone).and_then(|locked| {
                    let mut alteration = locked.alter(DATABASE, ROWS)?;
                    alteration.definition.options.comment = wanted.0.clone();
                    let indexes = &mut alteration.definition.indexes;
                    match wanted.1 {
                        true => indexes.push(IndexDefinition::new(OWN_INDEX, false, &[K, NAME])),
                        false => indexes.retain(|index| &*index.name != OWN_INDEX),
                    }
                    if copies { alteration.copy(None, None).map(|_| ()) } else { alteration.in_place().map(|_| ()) }
                });
                altered.map(|_| ())
            }
        };
        match outcome.map_err(|error| failing.judge(error, disk, "DDL of facts")) {
            Ok(()) => {
                report.count("ddl of facts");
                known = wanted;
            }
            Err(Stop::Again) => report.count("ddl given up"),
            Err(Stop::Gone) => break,
            Err(Stop::Wrong(what)) => return Err(what),
        }
        match facts() {
            Some(now) if now == known => {}
            Some(now) => return Err(format!("a change of the table is lost: it has {now:?} for {known:?}")),
            None => break,
        }
    }
    Ok(report)
}
