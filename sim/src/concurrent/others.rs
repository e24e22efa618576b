//! Operations other than on rows while transactions are open: DDL, and the ends of prepared branches.
//!
//! A prepared branch belongs to no worker: it keeps its locks, also beyond the end of the life, until any worker draws
//! its end, or the stage ends it when no worker can continue. DDL does not wait for the names of tables here
//! (`storage/tests/stress.rs` tests that wait with threads): it is refused, or runs while no transaction uses the
//! table. But a worker that builds an index (`worker::build_index`) yields while it works, and waits for the others at the
//! beginning and at the end.

use std::sync::{Arc, Mutex, PoisonError};

use storage::Engine;

use super::world::World;
use crate::run::{End, Run};
use crate::work::Scene;
use crate::workload::{self, BODY_INDEX, DATABASE};

impl World<'_> {
    /// Ends one of the branches that are prepared. False: there was none.
    pub fn end_branch(&mut self, engine: &Arc<Engine>) -> Result<bool, End> {
        if engine.prepared().is_empty() {
            return Ok(false);
        }
        // Its transaction does not yield: none of the workers' schedulers is its own any more.
        if let Some(changes) = self.run.end_prepared(engine, &Scene::default(), true)? {
            let after = self.run.model().clone();
            self.committed(&changes, after);
        }
        Ok(true)
    }

    /// One DDL statement on a table.
    pub fn ddl(&mut self, engine: &Arc<Engine>, name: &str) -> Result<(), End> {
        if self.building.contains_key(name) {
            return Ok(());
        }
        if self.run.alter(engine, name)? {
            let after = self.run.model().clone();
            self.replaced(name, after);
        }
        Ok(())
    }
}

/// No worker can continue: ends the prepared branches. False: there was none, or none could be ended.
pub fn end_branches(world: &Mutex<World<'_>>, engine: &Arc<Engine>) -> bool {
    let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
    let before = engine.prepared().len();
    for _ in 0..before {
        if let Err(end) = world.end_branch(engine) {
            world.set_end(end);
            return true;
        }
    }
    engine.prepared().len() < before
}

impl Run {
    /// True if it was done.
    fn alter(&mut self, engine: &Arc<Engine>, name: &str) -> Result<bool, End> {
        let mut after = self.model().clone();
        let Some(table) = after.table_mut(name) else { return Ok(false) };
        let codec = self.codec();
        let wait = self.options();
        self.doing = "ddl";
        self.aim_crash(10, 60);
        let (what, result) = match self.random.below(8) {
            6 | 7 => {
                let body = self.default_body();
                let result = workload::replace_bodies(engine, name, body.as_deref(), &wait);
                if matches!(result, Ok(false)) {
                    return Ok(false);
                }
                table.replace_bodies(body.as_deref());
                ("drop and add bodies of", result.map(|_| ()))
            }
            0 => {
                table.rows.clear();
                ("truncate", engine.truncate_table(DATABASE, name, &wait))
            }
            1 => {
                let altered =
                    engine.alter_table_options(DATABASE, name, &wait, &mut |options| options.compression = codec);
                ("alter", altered.map(|_| ()))
            }
            2 | 3 => {
                let mut definition = workload::definition(name, codec);
                table.has_body_index = self.random.chance(2);
                if table.has_body_index {
                    definition.indexes.push(workload::body_index());
                }
                ("rebuild", engine.rebuild_table(DATABASE, name, |own| *own = definition, &wait).map(|_| ()))
            }
            _ => {
                table.has_body_index = !table.has_body_index;
                match table.has_body_index {
                    true => (
                        "create index on",
                        engine.create_index(DATABASE, name, workload::body_index(), &wait).map(|_| ()),
                    ),
                    false => ("drop index of", engine.drop_index(DATABASE, name, BODY_INDEX, &wait).map(|_| ())),
                }
            }
        };
        let done = result.is_ok();
        self.finish(&format!("{what} {name}"), result, after, &mut Scene::default(), &[]).map(|()| done)
    }
}
