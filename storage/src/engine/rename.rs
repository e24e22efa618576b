//! RENAME TABLE: names, files, and the foreign keys that name a table.
//!
//! The names of views are among them. Files are renamed one by one, in the statement's order; descriptions are written
//! once, at the end. Constraints with names generated from a table's name are renamed with it, and tables that refer to
//! it get its new name.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::relations::Followed;
use super::tables::{Names, TableName, not_found};
use super::{Engine, TrxOptions, definitions};
use crate::dictionary::{self, Ddl, DefinitionChanges, Table};
use crate::error::{Error, Result};
use crate::row;
use crate::schema::{self, Definition, DefinitionKind};

impl Engine {
    /// (from, to) pairs, in order, all or none.
    pub fn rename_tables(&self, renames: &[(TableName<'_>, TableName<'_>)], wait: &TrxOptions) -> Result<()> {
        let dictionary = &self.inner.dictionary;
        let names: Vec<(&str, &str)> = renames.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let (children, _names) = self.lock_children(&names, wait)?;
        // What the names mean after the renames so far; None = nothing.
        let mut now: FxHashMap<TableName<'_>, Option<Arc<schema::Table>>> = FxHashMap::default();
        for name in &names {
            let table = dictionary.table(name.0, name.1).map(|table| Arc::clone(table.schema()));
            now.insert(*name, table);
        }
        let view = |name: &TableName<'_>| dictionary.definitions.find((DefinitionKind::View, name.0, name.1));
        let mut views: FxHashMap<TableName<'_>, Option<Arc<Definition>>> =
            names.iter().map(|name| (*name, view(name))).collect();
        // What each name was called before the statement.
        let mut was: FxHashMap<TableName<'_>, TableName<'_>> = names.iter().map(|name| (*name, *name)).collect();
        let mut ddl = self.begin_ddl()?;
        for (from, to) in renames {
            dictionary.database(to.0).ok_or_else(|| Error::NotFound(to.0.into()))?;
            if from.0 != to.0 {
                if views[from].is_some() {
                    return Err(Error::ViewStays);
                }
                if now[from].is_some() {
                    // Its triggers are still those of its first name.
                    self.check_triggers_stay(was[from], to.0)?;
                }
            }
            was.insert(*to, was[from]);
            dictionary.check_usable(to.0, to.1)?;
            let is_free = now[to].is_none() && views[to].is_none();
            let taken = || Error::Exists(format!("{}.{}", to.0, to.1).into());
            if from == to && !is_free {
                return Err(taken());
            }
            if let Some(view) = views.insert(*from, None).flatten() {
                views.insert(*to, Some(view)).flatten().map_or(Ok(()), |_| Err(taken()))?;
                is_free.then_some(()).ok_or_else(taken)?;
                continue;
            }
            let table = now.insert(*from, None).flatten().ok_or_else(|| not_found(from.0, from.1))?;
            if !is_free || now[to].is_some() {
                return Err(taken());
            }
            let renamed = self.redescribe(&table, |definition| {
                schema::Check::rename_with_table(&mut definition.checks, from.1, to.1);
                definition.database = to.0.into();
                definition.name = to.1.into();
            })?;
            ddl.delete_table(&table)?;
            ddl.insert_table(&renamed)?;
            self.move_to_name(&mut ddl, &table, &renamed)?;
            now.insert(*to, Some(Arc::new(renamed)));
        }
        let followed = self.rename_keys(&mut ddl, &mut now, &children, wait)?;
        for ((database, _), table) in now.iter() {
            let is_renamed = |other: &schema::Table| now.contains_key(&(&*other.database, &*other.name));
            if let Some(table) = table {
                self.check_taken(database, &is_renamed, &table.foreign_keys, &table.checks)?;
            }
        }
        let moved = self.move_definitions(&mut ddl, &self.moved(&now))?;
        let renamed_views = renamed_views(&mut ddl, views)?;
        let mut opened = Vec::new();
        for table in now.values().flatten() {
            opened.push(row::Table::open(&self.inner.store, table.clone())?);
        }
        let afterwards = ddl.commit(wait.log.as_deref())?;
        let _purge = dictionary.stop_purge();
        dictionary.replace_tables(now.into_keys(), opened, self.inner.registry.next_id());
        self.show_followed(followed);
        self.show_definitions(moved);
        self.show_definitions(renamed_views);
        afterwards.run();
        Ok(())
    }

    /// Locks names, and those of the tables that refer to them, which get the new names.
    fn lock_children(&self, names: &[TableName<'_>], wait: &TrxOptions) -> Result<(Vec<dictionary::Name>, Names)> {
        let find = || -> Vec<dictionary::Name> {
            names.iter().flat_map(|name| self.inner.dictionary.children_of(name.0, name.1)).collect()
        };
        loop {
            let children = find();
            let all = names.iter().copied().chain(children.iter().map(|(database, name)| (&**database, &**name)));
            let locked = self.lock_names(&all.collect::<Vec<_>>(), wait)?;
            if find() == children {
                return Ok((children, locked));
            }
        }
    }

    /// The old and the new name of each table.
    fn moved<'n>(
        &self,
        now: &FxHashMap<TableName<'n>, Option<Arc<schema::Table>>>,
    ) -> Vec<(TableName<'n>, TableName<'n>)> {
        let mut moved = Vec::new();
        for from in now.keys() {
            let Some(old) = self.inner.dictionary.table(from.0, from.1) else { continue };
            let new = now.iter().find(|(_, table)| table.as_ref().is_some_and(|table| table.id == old.id));
            let (to, _) = new.expect("a table that is renamed has a name");
            moved.push((*from, *to));
        }
        moved
    }

    /// Tables have been renamed in the dictionary: updates the foreign keys of the tables themselves and of those that
    /// refer to them.
    fn rename_keys(
        &self,
        ddl: &mut Ddl<'_>,
        now: &mut FxHashMap<TableName<'_>, Option<Arc<schema::Table>>>,
        children: &[dictionary::Name],
        wait: &TrxOptions,
    ) -> Result<Vec<Followed>> {
        let dictionary = &self.inner.dictionary;
        let before: Vec<Arc<Table>> = now.keys().filter_map(|name| dictionary.table(name.0, name.1)).collect();
        let moved = self.moved(now);
        let mut renamed = Vec::new();
        for (name, table) in now.iter() {
            let Some(table) = table else { continue };
            let old = before.iter().find(|old| old.id == table.id).expect("it was there before");
            if let Some(keys) = Engine::renamed_keys(old, *name, &moved) {
                let changed = self.redescribe(table, |own| own.foreign_keys = keys)?;
                ddl.delete_table(table)?;
                ddl.insert_table(&changed)?;
                renamed.push((*name, Some(Arc::new(changed))));
            }
        }
        now.extend(renamed);
        let mut followed = Vec::new();
        for (database, name) in children {
            let Some(child) = dictionary.table(database, name) else { continue };
            if before.iter().any(|old| old.id == child.id) {
                continue;
            }
            if let Some(keys) = Engine::renamed_keys(&child, (database, name), &moved) {
                let changed = self.redescribe(&child, |own| own.foreign_keys = keys)?;
                ddl.delete_table(&child)?;
                ddl.insert_table(&changed)?;
                followed.push((row::Table::open(&self.inner.store, Arc::new(changed))?, child));
            }
        }
        // The table may become the parent of tables that refer to a missing one of its name.
        for ((database, name), table) in now.iter() {
            let Some(table) = table else { continue };
            if dictionary.table(database, name).is_none() {
                self.check_children(&table.definition(), None, wait.foreign_key_checks)?;
            }
        }
        Ok(followed)
    }
}

/// Changes the rows of views: `now` has what each name means after the renames.
fn renamed_views(
    ddl: &mut Ddl<'_>,
    now: FxHashMap<TableName<'_>, Option<Arc<Definition>>>,
) -> Result<DefinitionChanges> {
    let mut changes = DefinitionChanges::default();
    for ((database, name), view) in now {
        let Some(old) = view.filter(|old| (&*old.database, &*old.name) != (database, name)) else { continue };
        changes.added.push(Arc::new(Definition { database: database.into(), name: name.into(), ..(*old).clone() }));
        changes.removed.push(old);
    }
    definitions::write(ddl, &changes)?;
    Ok(changes)
}
