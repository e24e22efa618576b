//! DDL of the workload. Each call is all or nothing.

use std::sync::Arc;

use storage::schema::Compression;
use storage::{Engine, Error};

use crate::model::{Model, ModelTable};
use crate::run::{End, Run};
use crate::work::Scene;
use crate::workload::{self, BODY_INDEX, DATABASE};

const TABLES_MAX: usize = 5;

impl Run {
    fn new_name(&mut self, letter: char) -> String {
        self.next_table += 1;
        format!("{letter}{}", self.next_table)
    }

    /// One DDL statement on tables that no open or prepared transaction has changed.
    pub fn ddl(&mut self, engine: &Arc<Engine>, scene: &mut Scene) -> Result<(), End> {
        let before = self.model().clone();
        let mut after = before.clone();
        let open = scene.open.values().flat_map(|open| &open.changes);
        let prepared = before.prepared.values().flat_map(|changes| changes.iter());
        let touched: Vec<&str> = open.chain(prepared).map(|change| change.table.as_str()).collect();
        let mut free: Vec<String> =
            before.tables.keys().filter(|name| !touched.contains(&name.as_str())).cloned().collect();
        if before.tables.len() < 2 || free.is_empty() {
            return self.create_table(engine, scene, after);
        }
        if self.random.chance(5) {
            return self.define(engine, scene, after, &free);
        }
        let name = free.swap_remove(self.random.below(free.len() as u64) as usize);
        let other = free.pop();
        let codec = self.codec();
        let wait = self.options();
        self.doing = "ddl";
        self.aim_crash(10, 60);
        let mut concerned = vec![name.clone()];
        let (what, result) = match self.random.below(13) {
            10..=12 => {
                let body = self.default_body();
                let table = after.table_mut(&name).expect("a table of the model");
                let result = workload::replace_bodies(engine, &name, body.as_deref(), &wait);
                if matches!(result, Ok(false)) {
                    return Ok(());
                }
                table.replace_bodies(body.as_deref());
                (format!("drop and add bodies of {name}: {:?}", body.map(|body| body.len())), result.map(|_| ()))
            }
            0 | 1 => return self.create_table(engine, scene, after),
            2 => {
                after.tables.remove(&name);
                match other {
                    Some(other) if self.random.chance(3) => {
                        after.tables.remove(&other);
                        concerned.push(other.clone());
                        after.move_triggers(&|of| (of != name && of != other).then(|| of.to_string()));
                        let result = engine.drop_tables(&[(DATABASE, &name), (DATABASE, &other)], &wait);
                        (format!("drop {name}, {other}"), result)
                    }
                    _ => {
                        after.move_triggers(&|of| (of != name).then(|| of.to_string()));
                        (format!("drop {name}"), engine.drop_tables(&[(DATABASE, &name)], &wait))
                    }
                }
            }
            3 => {
                if let Some(table) = after.table_mut(&name) {
                    table.rows.clear();
                }
                (format!("truncate {name}"), engine.truncate_table(DATABASE, &name, &wait))
            }
            4 => match other {
                // Two tables swap their names.
                Some(other) if self.random.chance(2) => {
                    let aside = self.new_name('x');
                    let (one, two) = (after.tables[&name].clone(), after.tables[&other].clone());
                    after.tables.insert(name.clone(), two);
                    after.tables.insert(other.clone(), one);
                    let exchanged = |of: &str| match of {
                        of if of == name => other.clone(),
                        of if of == other => name.clone(),
                        of => of.to_string(),
                    };
                    after.move_triggers(&|of| Some(exchanged(of)));
                    let (a, b, x) = ((DATABASE, &*name), (DATABASE, &*other), (DATABASE, &*aside));
                    concerned.push(other.clone());
                    (format!("exchange {name} and {other}"), engine.rename_tables(&[(a, x), (b, a), (x, b)], &wait))
                }
                _ => {
                    let new = self.new_name('r');
                    let table = after.tables.remove(&name).unwrap_or_default();
                    after.tables.insert(new.clone(), table);
                    after.move_triggers(&|of| Some(if of == name { new.clone() } else { of.to_string() }));
                    concerned.push(new.clone());
                    let result = engine.rename_tables(&[((DATABASE, &name), (DATABASE, &new))], &wait);
                    (format!("rename {name} to {new}"), result)
                }
            },
            5 if self.random.chance(3) => ("rotate the master key".to_string(), engine.rotate_master_key()),
            5 if self.random.chance(3) => {
                if self.random.chance(2) {
                    // The pages are then rewritten without records in the log. An error here comes again below.
                    let _ = engine.store().checkpoint();
                }
                let encrypted = self.random.chance(2);
                match self.random.chance(2) {
                    true => (format!("undo encrypted: {encrypted}"), engine.set_undo_encrypted(encrypted)),
                    false => (format!("system encrypted: {encrypted}"), engine.set_system_encrypted(encrypted)),
                }
            }
            5 => {
                let result = engine
                    .alter_table_options(DATABASE, &name, &wait, &mut |options| options.compression = codec)
                    .map(|_| ());
                (format!("alter {name} {codec:?}"), result)
            }
            6 | 7 => {
                let mut definition = workload::definition(&name, codec);
                let with_index = self.random.chance(2);
                if with_index {
                    definition.indexes.push(workload::body_index());
                }
                let result = engine.rebuild_table(DATABASE, &name, |own| *own = definition, &wait).map(|_| ());
                if let Some(table) = after.table_mut(&name) {
                    table.has_body_index = with_index;
                }
                (format!("rebuild {name} {codec:?}"), result)
            }
            _ => {
                let table = after.table_mut(&name).expect("a table of the model");
                table.has_body_index = !table.has_body_index;
                if table.has_body_index {
                    let result = engine.create_index(DATABASE, &name, workload::body_index(), &wait).map(|_| ());
                    (format!("create index on {name}"), result)
                } else {
                    let result = engine.drop_index(DATABASE, &name, BODY_INDEX, &wait).map(|_| ());
                    (format!("drop index of {name}"), result)
                }
            }
        };
        self.finish(&what, result, after, scene, &concerned)
    }

    pub fn codec(&mut self) -> Compression {
        let codecs = [Compression::NONE, Compression::LZ4, Compression::ZLIB, Compression::ZSTD];
        codecs[self.random.below(codecs.len() as u64) as usize]
    }

    /// What rows get in a column that is added at once.
    pub fn default_body(&mut self) -> Option<Vec<u8>> {
        let bytes = [0, 1, 30, 300, 1500][self.random.below(5) as usize];
        self.random.chance(2).then(|| vec![b'a' + bytes.min(25) as u8; bytes as usize])
    }

    fn create_table(&mut self, engine: &Arc<Engine>, scene: &mut Scene, mut after: Model) -> Result<(), End> {
        if after.tables.len() >= TABLES_MAX {
            return Ok(());
        }
        let name = self.new_name('t');
        let codec = self.codec();
        after.tables.insert(name.clone(), Arc::new(ModelTable::default()));
        self.doing = "ddl";
        self.aim_crash(10, 60);
        let result = engine.create_table(workload::definition(&name, codec), &self.options()).map(|_| ());
        self.finish(&format!("create {name} {codec:?}"), result, after, scene, &[name])
    }

    /// Handles the result of a DDL statement.
    pub fn finish(
        &mut self,
        what: &str,
        result: Result<(), Error>,
        after: Model,
        scene: &mut Scene,
        concerned: &[String],
    ) -> Result<(), End> {
        self.say(|| format!("{what}: {}", result.as_ref().map_or_else(|error| error.to_string(), |()| "done".into())));
        match result {
            Ok(()) => {
                self.report.count("ddl");
                self.set_model(after);
                for name in concerned {
                    for open in scene.open.values_mut() {
                        open.replaced.insert(name.clone());
                    }
                    for old in &mut scene.snapshots {
                        old.replaced.insert(name.clone());
                    }
                }
                Ok(())
            }
            Err(error) => match self.judge(Err::<(), _>(error), "ddl") {
                Ok(_) => Ok(()),
                Err(End::Crash) => {
                    self.allowed.push(after);
                    Err(End::Crash)
                }
                Err(End::Failure(failure)) => Err(End::Failure(format!("{what}: {failure}"))),
                Err(end) => Err(end),
            },
        }
    }
}
