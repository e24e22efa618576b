//! The triggers of a table, as a plan that changes its rows keeps them.
//!
//! A plan is made anew when they have changed: whoever changes them locks the table as for DDL, so that they stay as they
//! are while a transaction uses it.

use std::sync::Arc;

use storage::{Definition, DefinitionKind, Engine, Table};

use super::PlanContext;
use crate::error::Result;
use crate::parser::ast::TriggerEvent;
use crate::programs::Trigger;

/// The triggers of one time and event, in their order.
pub type Fired = Vec<Arc<Definition>>;

/// All triggers of a table.
#[derive(Default)]
pub struct Triggers {
    /// By event: those that fire before, and after.
    by_event: [(Fired, Fired); 3],
}

impl Triggers {
    /// None: the table has none of these events.
    pub fn of(context: &PlanContext<'_>, table: &Table, events: &[TriggerEvent]) -> Result<Option<Box<Triggers>>> {
        if table.is_temporary() {
            return Ok(None);
        }
        let mut triggers = Triggers::default();
        let mut has_some = false;
        for (definition, trigger) in in_order(&context.instance.engine, &table.database, &table.name)? {
            if events.contains(&trigger.event) {
                let (before, after) = &mut triggers.by_event[trigger.event as usize];
                if trigger.before { before } else { after }.push(definition);
                has_some = true;
            }
        }
        if has_some {
            context.runs_programs.set(true);
        }
        Ok(has_some.then(|| Box::new(triggers)))
    }

    pub fn before(&self, event: TriggerEvent) -> &[Arc<Definition>] {
        &self.by_event[event as usize].0
    }

    pub fn after(&self, event: TriggerEvent) -> &[Arc<Definition>] {
        &self.by_event[event as usize].1
    }

    pub fn has(&self, event: TriggerEvent) -> bool {
        !self.before(event).is_empty() || !self.after(event).is_empty()
    }
}

/// The triggers of a table, by time and event in the order in which they fire.
pub fn in_order(engine: &Engine, database: &str, table: &str) -> Result<Vec<(Arc<Definition>, Trigger)>> {
    let all = engine.definitions_of_table(database, table);
    let triggers = all.into_iter().filter(|definition| definition.kind == DefinitionKind::Trigger);
    let mut triggers = triggers
        .map(|definition| Trigger::decode(&definition.bytes).map(|trigger| (definition, trigger)))
        .collect::<Result<Vec<_>>>()?;
    triggers.sort_by(|(_, a), (_, b)| (a.event as u8, !a.before, &a.rank).cmp(&(b.event as u8, !b.before, &b.rank)));
    Ok(triggers)
}
