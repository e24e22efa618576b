//! What foreign keys mean for DDL statements: which descriptions are allowed, which tables may be dropped, and whose
//! names and descriptions change along.
//!
//! ```text
//!   CREATE, ALTER     checks the new description with its parents' and its children's, and rows of new foreign keys
//!   DROP, TRUNCATE    no other table may refer to it
//!   RENAME            the children's descriptions follow
//! ```
//!
//! Without `foreign_key_checks` a parent may be missing or be dropped, and rows are not checked; but incompatible
//! descriptions are refused all the same, because their values could never be compared.

use std::sync::Arc;

use super::Engine;
use super::tables::TableName;
use crate::dictionary::{self, Ddl, Table};
use crate::error::{Error, ForeignKeyRefusal as Refusal, Result};
use crate::lock::{Interrupt, TableUse};
use crate::row;
use crate::row::foreign::Link;
use crate::row::foreign::{has_parent, orphan};
use crate::schema::foreign_key::{comparable, is_served, ordinals};
use crate::schema::{
    self, Column, ColumnSet, ForeignKey, IndexDefinition, ReadMode, ReferentialAction, Row, ScanRange, TableDefinition,
    same_name,
};
use crate::transaction::{Isolation, Transaction};

/// The old key that this one still is; a column whose name changed has the new one.
fn old_key<'t>(old: &'t schema::Table, key: &ForeignKey) -> Option<&'t ForeignKey> {
    let same = |before: &&ForeignKey| {
        let columns = before.columns.iter().zip(&key.columns);
        same_name(&before.name, &key.name)
            && before.refers_to(&key.parent_database, &key.parent)
            && before.columns.len() == key.columns.len()
            && columns.clone().all(|(was, is)| same_name(was, is) || old.column(is).is_none())
    };
    old.foreign_keys.iter().find(same)
}

/// The keys that a table did not have, by their positions.
pub(super) fn new_keys(definition: &TableDefinition, old: Option<&schema::Table>) -> Vec<usize> {
    let keys = &definition.foreign_keys;
    (0..keys.len()).filter(|at| old.is_none_or(|old| old_key(old, &keys[*at]).is_none())).collect()
}

/// Whether values of a column compare as before: the column only becomes longer.
fn is_only_longer(old: &Column, new: &Column) -> bool {
    use format::value::ColumnType::VarChar;
    match (&old.ty, &new.ty) {
        (VarChar { chars: was, collation: old }, VarChar { chars, collation }) => old == collation && chars >= was,
        (old, new) => old == new,
    }
}

/// Renames columns of a definition's own foreign keys.
fn rename_own(definition: &mut TableDefinition) {
    let TableDefinition { database, name, foreign_keys, renamed_columns, .. } = definition;
    for key in foreign_keys {
        rename_columns(&mut key.columns, renamed_columns);
        if key.refers_to(database, name) {
            rename_columns(&mut key.parent_columns, renamed_columns);
        }
    }
}

fn rename_columns(columns: &mut [Box<str>], renames: &[(Box<str>, Box<str>)]) {
    for column in columns {
        if let Some((_, new)) = renames.iter().find(|(old, _)| same_name(old, column)) {
            *column = new.clone();
        }
    }
}

fn index_name(table: &schema::Table, columns: &[Box<str>]) -> Box<str> {
    let columns = ordinals(&table.columns, columns).unwrap_or_default();
    let serves = |index: &&schema::Index| {
        !index.has_several_entries() && schema::foreign_key::begins_with(&index.parts, &columns)
    };
    table.indexes.iter().find(serves).map(|index| index.name.clone()).unwrap_or_default()
}

impl Engine {
    /// Whether some table has a foreign key that refers to one of this name.
    pub fn is_referenced(&self, database: &str, name: &str) -> bool {
        !self.inner.dictionary.children_of(database, name).is_empty()
    }

    /// The same of other tables than itself.
    pub fn is_referenced_by_others(&self, database: &str, name: &str) -> bool {
        let children = self.inner.dictionary.children_of(database, name);
        children.iter().any(|child| (&*child.0, &*child.1) != (database, name))
    }

    /// The tables that changes of a table's rows reach by foreign keys: parents are read, children are read or changed by
    /// cascades, and then so on from there.
    pub fn reached_by_keys(&self, database: &str, name: &str) -> Vec<(Box<str>, Box<str>, TableUse)> {
        let dictionary = &self.inner.dictionary;
        let mut reached: Vec<(Box<str>, Box<str>, TableUse)> = Vec::new();
        let mut changed: Vec<dictionary::Name> = vec![(database.into(), name.into())];
        let mut at = 0;
        while let Some(parent) = changed.get(at).cloned() {
            at += 1;
            let Some(table) = dictionary.table(&parent.0, &parent.1) else { continue };
            let keys = table.foreign_keys.iter();
            reached.extend(keys.map(|key| (key.parent_database.clone(), key.parent.clone(), TableUse::Read)));
            for child in dictionary.children_of(&parent.0, &parent.1) {
                let follows = |key: &ForeignKey| key.refers_to(&parent.0, &parent.1) && key.changes_children();
                let described = dictionary.table(&child.0, &child.1);
                let used = match described.is_some_and(|child| child.foreign_keys.iter().any(follows)) {
                    true => TableUse::Write,
                    false => TableUse::Read,
                };
                reached.push((child.0.clone(), child.1.clone(), used));
                if used == TableUse::Write && !changed.contains(&child) {
                    changed.push(child);
                }
            }
        }
        reached
    }

    /// Names of tables that must not change while a table gets this description, beside its own: parents that it has
    /// not referred to so far, and children whose descriptions name its columns.
    pub(super) fn relatives(&self, definition: &TableDefinition, old: Option<&schema::Table>) -> Vec<dictionary::Name> {
        let keys = new_keys(definition, old).into_iter().map(|at| &definition.foreign_keys[at]);
        let mut names: Vec<dictionary::Name> =
            keys.map(|key| (key.parent_database.clone(), key.parent.clone())).collect();
        if !definition.renamed_columns.is_empty() {
            names.extend(self.inner.dictionary.children_of(&definition.database, &definition.name));
        }
        names
    }

    /// Prepares a definition: renamed columns of foreign keys, and the keys' order.
    pub(super) fn settle_names(&self, definition: &mut TableDefinition) {
        rename_own(definition);
        definition.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Whether a table may have this description. All names concerned are locked.
    pub(super) fn check_relations(
        &self,
        definition: &TableDefinition,
        old: Option<&schema::Table>,
        checks: bool,
    ) -> Result<()> {
        self.check_names(definition, old)?;
        for key in &definition.foreign_keys {
            self.check_key(definition, key, old, checks)?;
        }
        self.check_children(definition, old, checks)
    }

    /// Names of constraints are unique within a database: whether those of a table that gets a name there are free. `passes`
    /// tells which tables do not count.
    pub(super) fn check_taken(
        &self,
        database: &str,
        passes: &dyn Fn(&schema::Table) -> bool,
        keys: &[ForeignKey],
        checks: &[schema::Check],
    ) -> Result<()> {
        if keys.is_empty() && checks.is_empty() {
            return Ok(());
        }
        for other in self.inner.dictionary.tables(database).iter().filter(|table| !passes(table)) {
            let is_taken = |key: &&ForeignKey| other.foreign_keys.iter().any(|other| same_name(&other.name, &key.name));
            if let Some(key) = keys.iter().find(is_taken) {
                return Err(Refusal::DuplicateName { constraint: key.name.clone() }.into());
            }
            let is_taken =
                |check: &&schema::Check| other.checks.iter().any(|other| same_name(&other.name, &check.name));
            if let Some(check) = checks.iter().find(is_taken) {
                return Err(Refusal::DuplicateCheckName { constraint: check.name.clone() }.into());
            }
        }
        Ok(())
    }

    /// Whether a table can be the parent of all tables that refer to its name.
    pub(super) fn check_children(
        &self,
        definition: &TableDefinition,
        old: Option<&schema::Table>,
        checks: bool,
    ) -> Result<()> {
        let (database, name) = (&definition.database, &definition.name);
        for (child_database, child_name) in self.inner.dictionary.children_of(database, name) {
            let Some(child) = self.inner.dictionary.table(&child_database, &child_name) else { continue };
            if (&child_database, &child_name) == (database, name) {
                continue;
            }
            for key in child.foreign_keys.iter().filter(|key| key.refers_to(database, name)) {
                if definition.partitioning.is_some() {
                    return Err(Refusal::Partitioned.into());
                }
                check_as_parent(definition, &child, key, old, checks)?;
            }
        }
        Ok(())
    }

    /// Names of foreign keys are unique in a database.
    fn check_names(&self, definition: &TableDefinition, old: Option<&schema::Table>) -> Result<()> {
        let keys = &definition.foreign_keys;
        let twice = |key: &&ForeignKey| keys.iter().filter(|other| same_name(&other.name, &key.name)).count() > 1;
        if let Some(key) = keys.iter().find(twice) {
            return Err(Refusal::DuplicateName { constraint: key.name.clone() }.into());
        }
        let new = new_keys(definition, old);
        if new.is_empty() {
            return Ok(());
        }
        let others = self.inner.dictionary.tables(&definition.database);
        let others = others.iter().filter(|table| table.name != definition.name);
        let taken: Vec<&str> = others.flat_map(|table| &table.foreign_keys).map(|key| &*key.name).collect();
        for key in new.into_iter().map(|at| &keys[at]) {
            if taken.iter().any(|name| same_name(name, &key.name)) {
                return Err(Refusal::DuplicateName { constraint: key.name.clone() }.into());
            }
        }
        Ok(())
    }

    fn check_key(
        &self,
        definition: &TableDefinition,
        key: &ForeignKey,
        old: Option<&schema::Table>,
        checks: bool,
    ) -> Result<()> {
        let before = old.and_then(|old| Some((old, old_key(old, key)?)));
        let constraint = || key.name.clone();
        let columns = ordinals(&definition.columns, &key.columns).map_err(|column| Refusal::DropColumn {
            column: column.into(),
            constraint: constraint(),
            of: None,
        })?;
        let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
        for (place, column) in columns.iter().enumerate() {
            let column = &definition.columns[*column];
            if sets_null && !column.nullable {
                return Err(Refusal::NotNull { column: column.name.clone(), constraint: constraint() }.into());
            }
            let was = before.and_then(|(old, before)| Some(&old.columns[old.column(&before.columns[place])?]));
            if let Some(was) = was
                && checks
                && !is_only_longer(was, column)
            {
                let column = was.name.clone();
                return Err(Refusal::ChangeColumn { column, constraint: constraint(), of: None }.into());
            }
        }
        if !is_served(&definition.indexes, &columns) {
            return Err(match before {
                Some((old, before)) => Refusal::DropIndex { index: index_name(old, &before.columns) },
                None => Refusal::NoChildIndex { constraint: constraint() },
            }
            .into());
        }
        if key.refers_to(&definition.database, &definition.name) {
            return check_parent(definition, key, &columns, &key.parent, &definition.columns, &definition.indexes);
        }
        let Some(parent) = self.inner.dictionary.table(&key.parent_database, &key.parent) else {
            let missing = before.is_none() && checks;
            return if missing { Err(Refusal::NoParentTable { parent: key.parent.clone() }.into()) } else { Ok(()) };
        };
        let indexes: Vec<IndexDefinition> = parent.indexes.iter().map(schema::Index::definition).collect();
        check_parent(definition, key, &columns, &key.parent, &parent.columns, &indexes)
    }

    /// Whether every row of a table has its parents by these foreign keys. All names are locked.
    pub(super) fn check_rows(
        &self,
        child: &Arc<row::Table>,
        keys: &[Box<str>],
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        for (number, key) in child.foreign_keys.iter().enumerate() {
            if !keys.contains(&key.name) {
                continue;
            }
            let parent = match key.refers_to(&child.database, &child.name) {
                true => Some(child.clone()),
                false => {
                    let table = self.inner.dictionary.table(&key.parent_database, &key.parent);
                    table.map(|table| table.trees().clone())
                }
            };
            if let Some(link) = dictionary::link(child, number, parent) {
                self.check_rows_of(&link, interrupt)?;
            }
        }
        Ok(())
    }

    fn check_rows_of(&self, link: &Link, interrupt: &Arc<Interrupt>) -> Result<()> {
        let context = self.inner.context();
        let child = &link.child;
        let columns: ColumnSet = link.child_columns.iter().copied().collect();
        let mut trx = Transaction::new(Isolation::RepeatableRead, interrupt.clone(), std::time::Duration::ZERO);
        let mut scan = row::Scan::new(child, link.child_index, ReadMode::Consistent, &columns, &ScanRange::ALL);
        let (mut row, mut last) = (Row::new(), Row::new());
        while scan.next(&context, &mut trx, child, &mut row)? {
            let key: Vec<Option<&[u8]>> = link.child_columns.iter().map(|column| row.get(*column)).collect();
            let is_known =
                last.column_count() > 0 && link.child_columns.iter().zip(&key).all(|(c, k)| last.get(*c) == *k);
            if !is_known && key.iter().all(Option::is_some) {
                let found = match &link.parent {
                    Some(parent) => has_parent(&context, &mut trx, parent, &key, ReadMode::Consistent)?,
                    None => false,
                };
                if !found {
                    return Err(orphan(link, &key));
                }
            }
            std::mem::swap(&mut row, &mut last);
        }
        Ok(())
    }

    // Tables that go

    /// Fails if a table other than these refers to one of them.
    pub(super) fn check_drop(&self, tables: &[Arc<Table>], checks: bool) -> Result<()> {
        if !checks {
            return Ok(());
        }
        for table in tables {
            if let Some((child, key)) = self.referring(table, tables) {
                let (table, constraint, child) = (table.name.clone(), key.name, child.name.clone());
                return Err(Refusal::DropTable { table, constraint, child }.into());
            }
        }
        Ok(())
    }

    pub(super) fn check_truncate(&self, table: &Arc<Table>, checks: bool) -> Result<()> {
        match self.referring(table, std::slice::from_ref(table)) {
            Some((child, key)) if checks => {
                let constraint = format!("`{}`.`{}`, CONSTRAINT `{}`", child.database, child.name, key.name).into();
                Err(Refusal::Truncate { constraint }.into())
            }
            _ => Ok(()),
        }
    }

    /// A foreign key to a table, from a table other than these.
    fn referring(&self, table: &Table, but: &[Arc<Table>]) -> Option<(Arc<Table>, ForeignKey)> {
        let dictionary = &self.inner.dictionary;
        dictionary.children_of(&table.database, &table.name).into_iter().find_map(|(database, name)| {
            let child = dictionary.table(&database, &name)?;
            if but.iter().any(|other| other.id == child.id) {
                return None;
            }
            let key = child.foreign_keys.iter().find(|key| key.refers_to(&table.database, &table.name)).cloned()?;
            Some((child, key))
        })
    }

    // Descriptions that follow

    /// The descriptions of a table's children get its new name and the new names of its columns. The caller publishes
    /// them after the commit.
    pub(super) fn follow_parent(
        &self,
        ddl: &mut Ddl<'_>,
        (database, name): TableName<'_>,
        definition: &TableDefinition,
    ) -> Result<Vec<Followed>> {
        let mut followed = Vec::new();
        for (child_database, child_name) in self.inner.dictionary.children_of(database, name) {
            if (&*child_database, &*child_name) == (database, name) {
                continue;
            }
            let Some(child) = self.inner.dictionary.table(&child_database, &child_name) else { continue };
            let changed = self.redescribe(&child, |own| {
                for key in own.foreign_keys.iter_mut().filter(|key| key.refers_to(database, name)) {
                    rename_columns(&mut key.parent_columns, &definition.renamed_columns);
                    (key.parent_database, key.parent) = (definition.database.clone(), definition.name.clone());
                }
            })?;
            ddl.delete_table(&child)?;
            ddl.insert_table(&changed)?;
            followed.push((row::Table::open(&self.inner.store, Arc::new(changed))?, child));
        }
        Ok(followed)
    }

    /// Publishes the children's new descriptions.
    pub(super) fn show_followed(&self, followed: Vec<Followed>) {
        for (changed, child) in followed {
            self.inner.dictionary.put_table(changed, child.since());
        }
    }

    /// The foreign keys of a table whose own name, and whose parents' names, may have changed; None = they are
    /// unchanged. `renames` are (from, to).
    pub(super) fn renamed_keys(
        table: &schema::Table,
        to: TableName<'_>,
        renames: &[(TableName<'_>, TableName<'_>)],
    ) -> Option<Vec<ForeignKey>> {
        let mut keys = table.foreign_keys.clone();
        Engine::rename_keys_of(&mut keys, &table.name, to.1, renames);
        (keys != table.foreign_keys).then_some(keys)
    }

    /// Foreign keys of a table whose name is `to` from now on, and whose parents may have been renamed. Sorts them, and
    /// returns the old position of each.
    pub(super) fn rename_keys_of(
        keys: &mut Vec<ForeignKey>,
        from: &str,
        to: &str,
        renames: &[(TableName<'_>, TableName<'_>)],
    ) -> Vec<usize> {
        let mut numbered: Vec<(usize, ForeignKey)> = std::mem::take(keys).into_iter().enumerate().collect();
        for (_, key) in &mut numbered {
            if let Some(number) = key.generated_number(from) {
                key.name = format!("{to}_ibfk_{number}").into();
            }
            let moved = renames.iter().find(|(from, _)| key.refers_to(from.0, from.1));
            if let Some((_, parent)) = moved {
                (key.parent_database, key.parent) = (parent.0.into(), parent.1.into());
            }
        }
        numbered.sort_by(|a, b| a.1.name.cmp(&b.1.name));
        let order = numbered.iter().map(|(was, _)| *was).collect();
        keys.extend(numbered.into_iter().map(|(_, key)| key));
        order
    }
}

/// A child's description that changed along, and its table.
pub(super) type Followed = (row::Table, Arc<Table>);

/// Whether a key's parent has the columns and the index that the key needs.
fn check_parent(
    child: &TableDefinition,
    key: &ForeignKey,
    columns: &[usize],
    parent: &str,
    parent_columns: &[Column],
    parent_indexes: &[IndexDefinition],
) -> Result<()> {
    let constraint = || key.name.clone();
    let found = ordinals(parent_columns, &key.parent_columns).map_err(|column| Refusal::NoParentColumn {
        column: column.into(),
        constraint: constraint(),
        parent: parent.into(),
    })?;
    for (own, other) in columns.iter().zip(&found) {
        let (own, other) = (&child.columns[*own], &parent_columns[*other]);
        if !comparable(&own.ty, &other.ty) {
            let (column, parent_column) = (own.name.clone(), other.name.clone());
            return Err(Refusal::NotComparable { column, parent_column, constraint: constraint() }.into());
        }
    }
    match is_served(parent_indexes, &found) {
        true => Ok(()),
        false => Err(Refusal::NoParentIndex { constraint: constraint(), parent: parent.into() }.into()),
    }
}

/// Whether a table still has the columns and the index that a child's key needs.
fn check_as_parent(
    definition: &TableDefinition,
    child: &schema::Table,
    key: &ForeignKey,
    old: Option<&schema::Table>,
    checks: bool,
) -> Result<()> {
    let of = || Some(Box::from(child.name.as_ref()));
    let mut names = key.parent_columns.clone();
    rename_columns(&mut names, &definition.renamed_columns);
    let constraint = || key.name.clone();
    let columns = ordinals(&definition.columns, &names).map_err(|column| match old {
        Some(_) => Refusal::DropColumn { column: column.into(), constraint: constraint(), of: of() },
        None => {
            let parent = definition.name.clone();
            Refusal::NoParentColumn { column: column.into(), constraint: constraint(), parent }
        }
    })?;
    for (place, column) in columns.iter().enumerate() {
        let column = &definition.columns[*column];
        let Some(own) = child.column(&key.columns[place]).map(|own| &child.columns[own]) else { continue };
        let fits = comparable(&own.ty, &column.ty);
        let was = old.and_then(|old| Some(&old.columns[old.column(&key.parent_columns[place])?]));
        match was {
            Some(was) if !fits || checks && !is_only_longer(was, column) => {
                let column = was.name.clone();
                return Err(Refusal::ChangeColumn { column, constraint: constraint(), of: of() }.into());
            }
            None if !fits => {
                let (column, parent_column) = (own.name.clone(), column.name.clone());
                return Err(Refusal::NotComparable { column, parent_column, constraint: constraint() }.into());
            }
            _ => {}
        }
    }
    if is_served(&definition.indexes, &columns) {
        return Ok(());
    }
    Err(Error::from(match old {
        Some(old) => Refusal::DropIndex { index: index_name(old, &key.parent_columns) },
        None => Refusal::NoParentIndex { constraint: constraint(), parent: definition.name.clone() },
    }))
}
