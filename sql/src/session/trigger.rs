//! CREATE TRIGGER, DROP TRIGGER.
//!
//! A trigger belongs to its table: it is dropped and renamed with it, and who changes it locks the table as for DDL, so
//! that no transaction that has used the table meets another set of triggers.

use storage::{Definition, DefinitionKind, TableUse};

use super::Session;
use super::program::check_types;
use crate::accounts::Privileges;
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::describe::quoted;
use crate::error::{Error, Result};
use crate::parser::ast::{CreateTrigger, TableName};
use crate::planner::triggers::in_order;
use crate::programs::{Trigger, rank_between};
use crate::sequences;

impl Session {
    /// The database of a trigger, which is that of its table.
    pub(super) fn trigger_database(&self, create: &CreateTrigger) -> Result<String> {
        let current = self.state.database.as_deref();
        let of_table = database_of(&create.table, create.name.database.as_deref().or(current))?;
        match &create.name.database {
            Some(own) if own != of_table => Err(Error::trigger_in_wrong_schema()),
            None if create.table.database.is_some() && current.is_some_and(|current| current != of_table) => {
                Err(Error::trigger_in_wrong_schema())
            }
            _ => Ok(of_table.to_owned()),
        }
    }

    pub(super) fn create_trigger(&mut self, create: &CreateTrigger) -> Result<()> {
        let database = self.trigger_database(create)?;
        let place = TableName { database: Some(database.clone()), name: create.table.name.clone() };
        let (database, collation) = self.program_database(&place)?;
        let (name, table_name) = (&create.name.name, &create.table.name);
        if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
            return Err(Error::wrong_table_name(name));
        }
        self.check_creator()?;
        let is_own = self.temporary.get().is_some_and(|own| own.table(&database, table_name).is_some());
        let engine = self.instance.engine.clone();
        let is_sequence = || engine.table(&database, table_name).is_some_and(|table| sequences::is_sequence(&table));
        if is_own || is_sequence() || engine.definition(DefinitionKind::View, &database, table_name).is_some() {
            return Err(Error::trigger_on_view(table_name));
        }
        let definer = self.program_definer(create.definer.as_ref());
        self.check_definer(&definer)?;
        let mut trigger = Trigger {
            before: create.before,
            event: create.event,
            rank: Vec::new(),
            body: self.program_text(&create.body_text),
            origin: self.program_origin(definer, collation),
        };
        let verb = if create.or_replace { "CREATE OR REPLACE" } else { "CREATE" };
        let wait = self.program_wait(&self.trigger_text(create, &trigger, verb, &database))?;
        let names = [(DefinitionKind::Trigger, &*database, &**name)];
        let locked = engine.lock_names_of(&names, &[(&database, table_name)], &wait).or_sql()?;
        let table = engine.table(&database, table_name);
        let table = table.ok_or_else(|| Error::no_such_table(&database, table_name))?;
        check_types(&create.program, Some(&table), collation)?;
        if let Some(found) = locked.find(DefinitionKind::Trigger, &database, name) {
            if create.if_not_exists && !create.or_replace {
                let error = Error::trigger_exists();
                self.warnings.note(error.code, error.message);
                return Ok(());
            }
            if !create.or_replace || &*found.table != table_name.as_str() {
                return Err(Error::trigger_exists());
            }
        }
        let others = in_order(&engine, &database, table_name)?;
        let mut others: Vec<_> = others
            .into_iter()
            .filter(|(definition, other)| {
                (other.before, other.event) == (create.before, create.event) && *definition.name != **name
            })
            .collect();
        others.sort_by(|(_, a), (_, b)| a.rank.cmp(&b.rank));
        let rank = |at: usize| others.get(at).map(|(_, other)| &other.rank[..]);
        trigger.rank = match &create.order {
            None => rank_between(others.len().checked_sub(1).and_then(rank), None),
            Some((follows, other)) => {
                let at = others.iter().position(|(definition, _)| *definition.name == **other);
                let at = at.ok_or_else(|| Error::no_such_trigger_for_order(other))? + usize::from(*follows);
                rank_between(at.checked_sub(1).and_then(rank), rank(at))
            }
        };
        let definition = Definition {
            kind: DefinitionKind::Trigger,
            database: database.as_str().into(),
            name: name.as_str().into(),
            table: table_name.as_str().into(),
            bytes: trigger.encode(),
        };
        locked.define(definition, create.or_replace).map_err(|error| match error {
            storage::Error::Exists(_) => Error::trigger_exists(),
            other => storage_error(other),
        })
    }

    /// The statement as the log has it.
    fn trigger_text(&self, create: &CreateTrigger, trigger: &Trigger, verb: &str, database: &str) -> String {
        let full = |name: &str| self.logged_name(database, name);
        let (time, event) = (trigger.time(), trigger.event.name());
        let order = create.order.as_ref().map_or(String::new(), |(follows, other)| {
            format!("{} {} ", if *follows { "FOLLOWS" } else { "PRECEDES" }, quoted(other))
        });
        let not = if create.if_not_exists { "IF NOT EXISTS " } else { "" };
        let (definer, name, table) =
            (trigger.origin.definer_words(), full(&create.name.name), full(&create.table.name));
        format!("{verb} {definer}TRIGGER {not}{name} {time} {event} ON {table} FOR EACH ROW {order}{}", trigger.body)
    }

    pub(super) fn drop_trigger(&mut self, name: &TableName, if_exists: bool) -> Result<()> {
        let database = database_of(name, self.state.database.as_deref())?.to_owned();
        let exists = if if_exists { "IF EXISTS " } else { "" };
        let text = format!("DROP TRIGGER {exists}{}", self.logged_name(&database, &name.name));
        let wait = self.program_wait(&text)?;
        let engine = self.instance.engine.clone();
        let key = (DefinitionKind::Trigger, &*database, &*name.name);
        loop {
            let Some(found) = engine.definition(key.0, key.1, key.2) else {
                let error = Error::no_such_trigger();
                if !if_exists {
                    return Err(error);
                }
                self.warnings.note(error.code, error.message);
                return Ok(());
            };
            self.rights.need_table(Privileges::TRIGGER, &database, &found.table)?;
            if let Some(tables) = &self.locked {
                tables.check_definition(&database, &found.table, TableUse::Write)?;
            }
            let locked = engine.lock_names_of(&[key], &[(&database, &found.table)], &wait).or_sql()?;
            // It may have moved to another table before the lock.
            match locked.find(key.0, key.1, key.2) {
                Some(now) if now.table == found.table => return locked.drop_all(&[key]).or_sql(),
                _ => {}
            }
        }
    }
}
