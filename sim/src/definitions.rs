//! Views, procedures and triggers of the workload: they are changed as tables are, all or nothing, and a trigger goes where its
//! table goes.

use std::sync::Arc;

use storage::{Definition, DefinitionKind, Engine, Error};

use crate::model::{Model, ModelDefinition};
use crate::run::{End, Run};
use crate::work::Scene;
use crate::workload::DATABASE;

const DEFINITIONS_MAX: usize = 8;

/// The kind tells itself by the first letter of a name.
fn kind_of(name: &str) -> DefinitionKind {
    match name.as_bytes().first() {
        Some(b'v') => DefinitionKind::View,
        Some(b'g') => DefinitionKind::Trigger,
        _ => DefinitionKind::Procedure,
    }
}

/// All definitions of the engine.
pub fn everything(engine: &Engine, model: &mut Model) {
    for definition in DefinitionKind::ALL.into_iter().flat_map(|kind| engine.definitions(kind, DATABASE)) {
        let found = ModelDefinition { table: definition.table.to_string(), bytes: definition.bytes.to_vec() };
        model.definitions.insert(definition.name.to_string(), Arc::new(found));
    }
}

impl Run {
    /// A text of a few bytes, or of a few pages.
    fn text(&mut self) -> Vec<u8> {
        let bytes = if self.random.chance(3) { 40_000 } else { 200 };
        let (length, first) = (self.random.below(bytes), self.random.next());
        (0..length).map(|at| (first.wrapping_add(at * at) >> 3) as u8).collect()
    }

    /// One statement that defines, replaces, renames or removes. `free`: tables that no open transaction has changed.
    pub fn define(
        &mut self,
        engine: &Arc<Engine>,
        scene: &mut Scene,
        mut after: Model,
        free: &[String],
    ) -> Result<(), End> {
        let wait = self.options();
        self.doing = "definition";
        let names: Vec<String> = after.definitions.keys().cloned().collect();
        let one = (!names.is_empty()).then(|| names[self.random.below(names.len() as u64) as usize].clone());
        let (what, result) = match (self.random.below(4), one) {
            (0, Some(name)) => {
                let old = after.definitions.remove(&name).unwrap_or_default();
                if !old.table.is_empty() && !free.contains(&old.table) {
                    return Ok(());
                }
                self.aim_crash(10, 60);
                (format!("drop {name}"), change(engine, &name, &old.table, None, &wait))
            }
            (1, Some(name)) if kind_of(&name) == DefinitionKind::View => {
                let new = self.fresh('v');
                let old = after.definitions.remove(&name).unwrap_or_default();
                after.definitions.insert(new.clone(), old);
                self.aim_crash(10, 60);
                let renamed = engine.rename_tables(&[((DATABASE, &name), (DATABASE, &new))], &wait);
                (format!("rename {name} to {new}"), renamed)
            }
            (chosen, one) => {
                let name = match one {
                    Some(name) if chosen == 2 || names.len() >= DEFINITIONS_MAX => name,
                    _ => {
                        let letter = ['v', 'g', 'p'][self.random.below(3) as usize];
                        self.fresh(letter)
                    }
                };
                let table = match (after.definitions.get(&name), free.first()) {
                    (Some(old), _) => old.table.clone(),
                    (None, Some(table)) if kind_of(&name) == DefinitionKind::Trigger => table.clone(),
                    _ => String::new(),
                };
                if !table.is_empty() && !free.contains(&table) {
                    return Ok(());
                }
                let bytes = self.text();
                self.aim_crash(10, 60);
                let made = change(engine, &name, &table, Some(bytes.clone()), &wait);
                after.definitions.insert(name.clone(), Arc::new(ModelDefinition { table, bytes }));
                (format!("define {name}"), made)
            }
        };
        self.finish(&what, result, after, scene, &[])
    }

    fn fresh(&mut self, letter: char) -> String {
        self.next_table += 1;
        format!("{letter}{}", self.next_table)
    }
}

/// Defines, replaces, or removes.
fn change(
    engine: &Engine,
    name: &str,
    table: &str,
    bytes: Option<Vec<u8>>,
    wait: &storage::TrxOptions,
) -> Result<(), Error> {
    let of = (!table.is_empty()).then_some((DATABASE, table));
    let full = (kind_of(name), DATABASE, name);
    let locked = engine.lock_names_of(&[full], of.as_slice(), wait)?;
    match bytes {
        None => locked.drop_all(&[full]),
        Some(bytes) => locked.define(
            Definition {
                kind: kind_of(name),
                database: DATABASE.into(),
                name: name.into(),
                table: table.into(),
                bytes: bytes.into(),
            },
            true,
        ),
    }
}
