//! ALTER TABLE: a new definition from the old one, by the cheapest way that is
//! atomic as a whole.
//!
//! ```text
//! only options, defaults, comments, names of columns ...   description changed, no row touched
//! one index more or less                                   built or dropped beside the rows
//! everything else, or several of these at once             table copied into a new file, which takes its place
//! ```
//!
//! A copied row takes each column from where the new definition says: the stored
//! bytes as they are, a conversion as in an INSERT in the session's mode, or the
//! default of a new column.

use std::ops::Bound;
use std::sync::Arc;

use format::value::ColumnType;
use storage::schema::{
    Column, ColumnDefault, ColumnSet, IndexDefinition, ReadMode, Row, ScanRange, TableDefinition, same_name,
};
use storage::{Table, TrxOptions};

use super::copy::{Copier, Source};
use super::{Context, Outcome, bare, check_name, check_not_reserved, column, create, foreign_key, index, options};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::parser::ast::{
    AlterAction, AlterTable, ColumnPosition, ColumnSpec, ForeignKeySpec, IndexKind, IndexSpec, TableName,
};

/// The definition on its way from old to new.
struct Change {
    definition: TableDefinition,
    sources: Vec<Source>,
    /// A stored byte of some row changes, or there is no cheaper way.
    copy: bool,
    /// Some type changed: rows count as affected, as MySQL counts them.
    converts: bool,
    added_indexes: Vec<IndexDefinition>,
    dropped_indexes: Vec<String>,
    renamed_indexes: Vec<(String, String)>,
    /// Made when all columns and indexes are known.
    added_keys: Vec<ForeignKeySpec>,
    auto_increment: Option<u64>,
    rename: Option<(String, String)>,
}

/// ALTER TABLE.
pub fn alter_table(context: &Context<'_>, alter: &AlterTable) -> Result<Outcome> {
    let (database, name) = context.resolve(&alter.table)?;
    let table = match context.existing(database, name) {
        Ok(table) => table,
        Err(error) if alter.if_exists => {
            context.note(error.code, error.message);
            return Outcome::nothing();
        }
        Err(error) => return Err(error),
    };
    let mut change = Change {
        definition: table.definition(),
        sources: (0..table.columns.len()).map(Source::Old).collect(),
        copy: false,
        converts: false,
        added_indexes: Vec::new(),
        dropped_indexes: Vec::new(),
        renamed_indexes: Vec::new(),
        added_keys: Vec::new(),
        auto_increment: None,
        rename: None,
    };
    if alter.algorithm.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("copy")) {
        change.copy = true;
    }
    for action in &alter.actions {
        change.apply(context, (database, table.is_temporary()), action)?;
    }
    if table.is_temporary() && !change.added_keys.is_empty() {
        return Err(Error::cannot_add_foreign_key());
    }
    change.add_foreign_keys(context)?;
    if change.definition.columns.is_empty() {
        return Err(Error::cant_remove_all_columns());
    }
    if !change.definition.columns.iter().any(|column| !column.invisible) {
        return Err(Error::new(4028, b"HY000", "A table must have at least one visible column."));
    }
    column::check_row(&change.definition.columns)?;
    index::check_auto_increment(&change.definition.columns, &change.definition.indexes)?;
    let options = change.definition.options != table.options || change.copy;
    let outcome = change.perform(context, &table)?;
    let given = alter.actions.iter().filter_map(|action| match action {
        AlterAction::Options(given) => Some(given.as_slice()),
        _ => None,
    });
    let given = given.collect::<Vec<_>>().concat();
    if options && let Ok(table) = context.existing(database, name) {
        options::warn_of_what_cannot_be(context, &given, &table);
    }
    Ok(outcome)
}

/// CREATE INDEX.
pub fn create_index(context: &Context<'_>, table: &TableName, spec: &IndexSpec) -> Result<Outcome> {
    let action = AlterAction::AddIndex(spec.clone());
    alter_table(
        context,
        &AlterTable { table: table.clone(), if_exists: false, actions: vec![action], algorithm: None, lock: None },
    )
}

/// DROP INDEX.
pub fn drop_index(context: &Context<'_>, table: &TableName, name: &str) -> Result<Outcome> {
    let action = match name.eq_ignore_ascii_case("PRIMARY") {
        true => AlterAction::DropPrimaryKey,
        false => AlterAction::DropIndex { name: name.to_string(), if_exists: false },
    };
    alter_table(
        context,
        &AlterTable { table: table.clone(), if_exists: false, actions: vec![action], algorithm: None, lock: None },
    )
}

impl Change {
    fn column(&self, name: &str) -> Result<usize> {
        let table = &self.definition.name;
        let found = self.definition.columns.iter().position(|column| same_name(&column.name, name));
        found.ok_or_else(|| Error::unknown_column(name, table))
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.definition.indexes.iter().position(|index| same_name(&index.name, name))
    }

    fn apply(
        &mut self,
        context: &Context<'_>,
        (database, temporary): (&str, bool),
        action: &AlterAction,
    ) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, position, if_not_exists } => {
                if self.column(&column.name).is_ok() {
                    let error = Error::duplicate_column_name(&column.name);
                    if !if_not_exists {
                        return Err(error);
                    }
                    context.note(error.code, error.message);
                    return Ok(());
                }
                self.add_column(context, column, position)?;
            }
            AlterAction::DropColumn { name, if_exists } => match self.column(name) {
                Ok(ordinal) => self.drop_column(ordinal),
                Err(_) => missing(context, name, *if_exists)?,
            },
            AlterAction::ChangeColumn { old, column, position, if_exists } => match self.column(old) {
                Ok(ordinal) => self.change_column(context, ordinal, column, position)?,
                Err(error) if *if_exists => context.note(error.code, error.message),
                Err(error) => return Err(error),
            },
            AlterAction::RenameColumn { old, new } => {
                let ordinal = self.column(old)?;
                check_name(new, Error::wrong_column_name)?;
                check_not_reserved(new, Error::wrong_column_name)?;
                if self.column(new).is_ok_and(|other| other != ordinal) {
                    return Err(Error::duplicate_column_name(new));
                }
                self.rename_column(ordinal, new);
            }
            AlterAction::SetDefault { column, default } => {
                let ordinal = self.column(column)?;
                let own = &self.definition.columns[ordinal];
                let default = match default {
                    Some(_) => column::default(context, &own.name, default.as_ref(), &own.ty, own.nullable)?,
                    None => ColumnDefault::None,
                };
                self.definition.columns[ordinal].default = default;
            }
            AlterAction::SetColumnVisible { column, visible } => {
                let ordinal = self.column(column)?;
                self.definition.columns[ordinal].invisible = !visible;
            }
            AlterAction::AddIndex(spec) => self.add_index(context, spec)?,
            AlterAction::DropIndex { name, if_exists } => match self.index(name) {
                Some(at) => self.drop_index(at),
                None => missing(context, name, *if_exists)?,
            },
            AlterAction::DropPrimaryKey => {
                let at = self.definition.indexes.iter().position(|index| index.primary);
                self.drop_index(at.ok_or_else(|| Error::cant_drop_key("PRIMARY"))?);
            }
            AlterAction::RenameIndex { old, new } => {
                let at = self.index(old).ok_or_else(|| Error::key_does_not_exist(old, &self.definition.name))?;
                check_name(new, Error::wrong_index_name)?;
                check_not_reserved(new, Error::wrong_index_name)?;
                if self.index(new).is_some_and(|other| other != at) {
                    return Err(Error::duplicate_key_name(new));
                }
                self.definition.indexes[at].name = new.as_str().into();
                self.renamed_indexes.push((old.clone(), new.clone()));
            }
            AlterAction::SetIndexVisible { name, visible } => {
                let at = self.index(name).ok_or_else(|| Error::key_does_not_exist(name, &self.definition.name))?;
                self.definition.indexes[at].invisible = !visible;
                self.copy = true;
            }
            AlterAction::AddForeignKey(spec) => self.added_keys.push(spec.clone()),
            AlterAction::AddCheck { .. } => return Err(Error::unsupported("CHECK constraints")),
            AlterAction::DropForeignKey { name, if_exists } => match self.foreign_key(name) {
                Some(at) => drop(self.definition.foreign_keys.remove(at)),
                None => missing(context, name, *if_exists)?,
            },
            AlterAction::DropConstraint { name, if_exists } => match (self.foreign_key(name), self.index(name)) {
                (Some(at), _) => drop(self.definition.foreign_keys.remove(at)),
                (None, Some(at)) if self.definition.indexes[at].unique => self.drop_index(at),
                _ => missing(context, name, *if_exists)?,
            },
            AlterAction::Rename(to) => self.rename_to(context, (database, temporary), to)?,
            AlterAction::Options(given) => {
                let given = options::apply(context, given, &mut self.definition.options)?;
                self.copy |= given.engine;
                self.auto_increment = given.auto_increment.or(self.auto_increment);
            }
            AlterAction::ConvertCharset { charset, collation } => {
                let default = self.definition.options.collation;
                let id = options::collation(charset.as_deref(), collation.as_deref(), default)?;
                self.definition.options.collation = id;
                for own in &mut self.definition.columns {
                    own.ty = with_collation(&own.ty, id);
                }
                self.copy = true;
                self.converts = true;
            }
            AlterAction::Force => self.copy = true,
            // Rows lie in the order of the clustered index, whatever is asked.
            AlterAction::OrderBy(_) => {
                context.warn(1105, "ORDER BY ignored as there is a user-defined clustered index in the table")
            }
            AlterAction::DisableKeys | AlterAction::EnableKeys => {
                context.note(
                    1031,
                    format!("Table storage engine for '{}' doesn't have this option", self.definition.name),
                );
            }
            AlterAction::DiscardTablespace | AlterAction::ImportTablespace => {
                return Err(Error::unsupported("DISCARD and IMPORT TABLESPACE"));
            }
            AlterAction::Unsupported(what) => return Err(Error::unsupported(what)),
        }
        Ok(())
    }

    fn rename_to(&mut self, context: &Context<'_>, (database, temporary): (&str, bool), to: &TableName) -> Result<()> {
        let to_database = to.database.as_deref().unwrap_or(database);
        context.writable(to_database)?;
        options::check_table_name(&to.name)?;
        if context.instance.engine.database(to_database).is_none() {
            return Err(Error::unknown_database(to_database));
        }
        let taken = match temporary {
            true => context.wait.temporary_table(to_database, &to.name).is_some(),
            false => context.instance.engine.table(to_database, &to.name).is_some(),
        };
        if taken {
            return Err(Error::table_exists(&to.name));
        }
        self.rename = Some((to_database.to_string(), to.name.clone()));
        Ok(())
    }

    fn foreign_key(&self, name: &str) -> Option<usize> {
        self.definition.foreign_keys.iter().position(|key| same_name(&key.name, name))
    }

    /// Foreign keys follow, here and in other tables.
    fn rename_column(&mut self, ordinal: usize, name: &str) {
        let column = &mut self.definition.columns[ordinal];
        if *column.name != *name {
            let old = std::mem::replace(&mut column.name, name.into());
            self.definition.renamed_columns.push((old, name.into()));
        }
    }

    /// The foreign keys, and the indexes that they need.
    fn add_foreign_keys(&mut self, context: &Context<'_>) -> Result<()> {
        let specs = std::mem::take(&mut self.added_keys);
        for index in foreign_key::add(context, &mut self.definition, &specs)? {
            self.definition.indexes.push(index.clone());
            self.added_indexes.push(index);
        }
        Ok(())
    }

    fn add_column(&mut self, context: &Context<'_>, spec: &ColumnSpec, position: &ColumnPosition) -> Result<()> {
        let made = column::column(context, spec, self.definition.options.collation)?;
        let at = self.place(position)?.unwrap_or(self.definition.columns.len());
        self.insert_column(at, made, Source::New);
        for key in create::keys_of_column(spec) {
            self.add_index(context, &key)?;
        }
        self.added_keys.extend(spec.references.as_deref().cloned());
        self.copy = true;
        Ok(())
    }

    /// The ordinal for FIRST and AFTER, None for the last place (or the present one).
    fn place(&self, position: &ColumnPosition) -> Result<Option<usize>> {
        Ok(match position {
            ColumnPosition::Last => None,
            ColumnPosition::First => Some(0),
            ColumnPosition::After(name) => Some(self.column(name)? + 1),
        })
    }

    fn insert_column(&mut self, at: usize, column: Column, source: Source) {
        self.definition.columns.insert(at, column);
        self.sources.insert(at, source);
        for part in self.definition.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column += usize::from(part.column >= at);
        }
    }

    fn remove_column(&mut self, at: usize) -> (Column, Source) {
        for part in self.definition.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column -= usize::from(part.column > at);
        }
        (self.definition.columns.remove(at), self.sources.remove(at))
    }

    /// The column leaves its indexes, too; an index without columns goes.
    fn drop_column(&mut self, ordinal: usize) {
        for index in &mut self.definition.indexes {
            index.parts.retain(|part| part.column != ordinal);
        }
        self.definition.indexes.retain(|index| !index.parts.is_empty());
        self.remove_column(ordinal);
        self.copy = true;
    }

    fn change_column(
        &mut self,
        context: &Context<'_>,
        ordinal: usize,
        spec: &ColumnSpec,
        position: &ColumnPosition,
    ) -> Result<()> {
        if self.column(&spec.name).is_ok_and(|other| other != ordinal) {
            return Err(Error::duplicate_column_name(&spec.name));
        }
        let mut made = column::column(context, spec, self.definition.options.collation)?;
        let in_primary =
            |index: &IndexDefinition| index.primary && index.parts.iter().any(|part| part.column == ordinal);
        if self.definition.indexes.iter().any(in_primary) {
            made.nullable = false;
            if made.default == ColumnDefault::Null {
                made.default = ColumnDefault::None;
            }
        }
        let old = &self.definition.columns[ordinal];
        if old.ty != made.ty {
            self.copy = true;
            self.converts = true;
        }
        self.copy |= old.nullable != made.nullable || old.auto_increment != made.auto_increment;
        let name = made.name.to_string();
        self.rename_column(ordinal, &name);
        self.definition.columns[ordinal] = made;
        self.added_keys.extend(spec.references.as_deref().cloned());
        for key in create::keys_of_column(spec) {
            self.add_index(context, &key)?;
        }
        if let Some(at) = self.place(position)? {
            let at = if at > ordinal { at - 1 } else { at };
            if at != ordinal {
                // Its index parts move with it: taken out and put back in by name.
                let name = self.definition.columns[ordinal].name.clone();
                let members: Vec<(usize, usize)> = (self.definition.indexes.iter().enumerate())
                    .flat_map(|(number, index)| {
                        index.parts.iter().enumerate().map(move |(place, part)| (number, place, part.column))
                    })
                    .filter(|(_, _, column)| *column == ordinal)
                    .map(|(number, place, _)| (number, place))
                    .collect();
                let (column, source) = self.remove_column(ordinal);
                self.insert_column(at, column, source);
                let now = self.column(&name)?;
                for (number, place) in members {
                    self.definition.indexes[number].parts[place].column = now;
                }
                self.copy = true;
            }
        }
        Ok(())
    }

    fn add_index(&mut self, context: &Context<'_>, spec: &IndexSpec) -> Result<()> {
        if let Some(name) = &spec.name
            && spec.if_not_exists
            && self.index(name).is_some()
        {
            context.note(1061, Error::duplicate_key_name(name).message);
            return Ok(());
        }
        let made = index::index(context, spec, &mut self.definition.columns, &self.definition.indexes)?;
        // What orders the rows themselves is no addition.
        let not_null = made.parts.iter().all(|part| !self.definition.columns[part.column].nullable);
        let has_key = self.definition.indexes.iter().any(|index| index.primary);
        self.copy |= spec.kind == IndexKind::Primary || (made.unique && not_null && !has_key);
        self.definition.indexes.push(made.clone());
        self.added_indexes.push(made);
        Ok(())
    }

    fn drop_index(&mut self, at: usize) {
        let index = self.definition.indexes.remove(at);
        let not_null = index.parts.iter().all(|part| !self.definition.columns[part.column].nullable);
        self.copy |= index.primary || (index.unique && not_null);
        self.dropped_indexes.push(index.name.to_string());
    }

    /// Calls the engine.
    fn perform(mut self, context: &Context<'_>, table: &Arc<Table>) -> Result<Outcome> {
        let engine = &context.instance.engine;
        let (database, name) = (table.database.clone(), table.name.clone());
        self.definition.indexes = index::in_order(self.definition.indexes);
        let structural = self.added_indexes.len() + self.dropped_indexes.len() + self.renamed_indexes.len();
        let described = self.definition.columns != table.columns;
        let optioned = self.definition.options != table.options;
        // A file is encrypted or not for its whole life, so this needs another one.
        if self.definition.options.encrypted != table.options.encrypted {
            let encrypt_tables = context.instance.variables.text("innodb_encrypt_tables");
            options::check_encryption(&self.definition.options, &encrypt_tables)?;
            self.copy = true;
        }
        // A counter that begins in the middle of a table's life begins behind what is there.
        if table.auto_increment.is_none() && self.definition.columns.iter().any(|column| column.auto_increment) {
            self.auto_increment = self.auto_increment.or(Some(1));
        }
        if table.is_temporary() {
            return self.perform_temporary(context, table);
        }
        // One call of the engine is atomic, two are not; then a copy does it all.
        let related = self.definition.foreign_keys != table.foreign_keys;
        let calls = structural + usize::from(described) + usize::from(optioned) + usize::from(related);
        let mut copied = 0;
        if self.copy || calls > 1 {
            copied = self.copy_rows(context, table)?;
        } else if let Some(added) = self.added_indexes.pop() {
            let index_name = added.name.clone();
            engine.create_index(&database, &name, added, &context.wait).map_err(|error| match error {
                storage::Error::DuplicateKey { .. } => duplicate(&name, &index_name),
                other => storage_error(other),
            })?;
        } else if let Some(dropped) = self.dropped_indexes.pop() {
            engine.drop_index(&database, &name, &dropped, &context.wait).map_err(storage_error)?;
        } else if let Some((from, to)) = self.renamed_indexes.pop() {
            engine.rename_index(&database, &name, &from, &to, &context.wait).map_err(storage_error)?;
        } else if related {
            let keys = &self.definition.foreign_keys;
            engine.alter_foreign_keys(&database, &name, keys, &context.wait).map_err(storage_error)?;
        } else if described {
            let columns = self.definition.columns.clone();
            let change = &mut |now: &mut Vec<Column>| now.clone_from(&columns);
            engine.alter_columns(&database, &name, &context.wait, change).map_err(storage_error)?;
        } else if optioned {
            let wanted = self.definition.options.clone();
            let change = &mut |now: &mut storage::schema::TableOptions| now.clone_from(&wanted);
            engine.alter_table_options(&database, &name, &context.wait, change).map_err(storage_error)?;
        }
        if let Some(next) = self.auto_increment {
            set_auto_increment(context, &database, &name, next)?;
        }
        if let Some((to_database, to)) = &self.rename {
            let pair = ((&*database, &*name), (to_database.as_str(), to.as_str()));
            engine.rename_tables(&[pair], &context.wait).map_err(|error| match error {
                storage::Error::Exists(name) => Error::table_exists(bare(&name)),
                other => storage_error(other),
            })?;
        }
        Outcome::records(copied, if self.converts { copied } else { 0 })
    }

    /// A temporary table is copied whatever changes: nobody else can look at it meanwhile.
    fn perform_temporary(mut self, context: &Context<'_>, table: &Arc<Table>) -> Result<Outcome> {
        if let Some((database, name)) = self.rename.take() {
            self.definition.database = database.into();
            self.definition.name = name.into();
        }
        let copied = self.copy_rows(context, table)?;
        if let Some(next) = self.auto_increment {
            set_auto_increment(context, &self.definition.database, &self.definition.name, next)?;
        }
        Outcome::records(copied, if self.converts { copied } else { 0 })
    }

    fn copy_rows(&mut self, context: &Context<'_>, table: &Arc<Table>) -> Result<u64> {
        let mut copier = Copier::new(context, table, &self.definition, &self.sources)?;
        let same = copier.is_identity();
        let engine = &context.instance.engine;
        let definition = self.definition.clone();
        let mut map = |row: &Row| copier.row(row);
        let map: Option<&mut storage::RowMap<'_>> = if same { None } else { Some(&mut map) };
        let result = match &context.wait.temporary {
            Some(own) if table.is_temporary() => {
                own.rebuild(&table.database, &table.name, definition, map, &context.wait.interrupt)
            }
            _ => engine.rebuild_table(&table.database, &table.name, definition, map, &context.wait),
        };
        if let Some(error) = copier.failure.take() {
            return Err(error);
        }
        match result {
            Ok((_, rows)) => Ok(rows),
            Err(storage::Error::DuplicateKey { index }) => {
                let key = self.definition.indexes.get(index).map_or("PRIMARY", |index| &index.name);
                Err(duplicate(&table.name, key))
            }
            Err(error) => Err(storage_error(error)),
        }
    }
}

/// A column, key or constraint to drop is not there.
fn missing(context: &Context<'_>, name: &str, if_exists: bool) -> Result<()> {
    let error = Error::cant_drop_key(name);
    if !if_exists {
        return Err(error);
    }
    context.note(error.code, error.message);
    Ok(())
}

/// The engine names the index, not the row: it met the two in the order of the index.
fn duplicate(table: &str, index: &str) -> Error {
    Error::duplicate_entry("", &format!("{table}.{index}"))
}

fn with_collation(ty: &ColumnType, id: format::collation::CollationId) -> ColumnType {
    match ty {
        ColumnType::Char { chars, .. } => ColumnType::Char { chars: *chars, collation: id },
        ColumnType::VarChar { chars, .. } => ColumnType::VarChar { chars: *chars, collation: id },
        ColumnType::Text { size, .. } => ColumnType::Text { size: *size, collation: id },
        ColumnType::Enum { members, .. } => ColumnType::Enum { members: members.clone(), collation: id },
        ColumnType::Set { members, .. } => ColumnType::Set { members: members.clone(), collation: id },
        other => other.clone(),
    }
}

/// ALTER TABLE ... AUTO_INCREMENT = n. The counter never falls below what is in the table.
fn set_auto_increment(context: &Context<'_>, database: &str, name: &str, next: u64) -> Result<()> {
    let engine = &context.instance.engine;
    let table = context.existing(database, name)?;
    let Some(ordinal) = table.auto_increment else { return Ok(()) };
    let largest = largest(context, &table, ordinal)?;
    engine.set_auto_increment(&table, next.max(largest.saturating_add(1))).map_err(storage_error)
}

/// The largest value of a column that leads an index.
fn largest(context: &Context<'_>, table: &Arc<Table>, ordinal: usize) -> Result<u64> {
    let leading = table.indexes.iter().position(|index| index.parts.first().is_some_and(|part| part.column == ordinal));
    let index = leading.unwrap_or(0);
    let mut trx = context.instance.engine.begin(TrxOptions { ..context.wait.clone() });
    let columns: ColumnSet = [ordinal].into_iter().collect();
    let descending = table.indexes[index].parts.first().is_some_and(|part| part.descending);
    let range = ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: !descending };
    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, columns, range).map_err(storage_error)?;
    let mut row = Row::new();
    if !cursor.next(&mut trx, &mut row).map_err(storage_error)? {
        return Ok(0);
    }
    Ok(match row.get(ordinal).map(|stored| table.columns[ordinal].ty.decode(stored)) {
        Some(format::value::Value::Int(number)) => u64::try_from(number).unwrap_or(0),
        Some(format::value::Value::UInt(number)) => number,
        _ => 0,
    })
}
