//! ALTER TABLE: a new definition from the old one. How it comes about is chosen in `way`.
//!
//! The statement has the table's name, those that it mentions, and those of tables that foreign keys connect it with, for
//! itself before it looks at anything: what it decides holds until it is done.

use format::collation::{CollationId, collation};
use format::value::{ColumnType, LobSize};
use storage::schema::{ColumnDefault, same_name};
use storage::{Relatives, Table};

use super::change::Change;
use super::computed::{self, ComputedSpec};
use super::copy::Source;
use super::way::{self, Asked};
use super::{
    Context, Outcome, check, check_name, check_not_reserved, column, create, foreign_key, fulltext, index, options,
    partition, sequence, spatial, tablespace,
};
use crate::catalog::{check_not_discarded, database_of, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::{AlterAction, AlterTable, ForeignKeySpec, IndexKind, PartitionAction, TableName};

/// ALTER TABLE.
pub fn alter_table(context: &Context<'_>, alter: &AlterTable) -> Result<Outcome> {
    let (database, name) = context.resolve(&alter.table)?;
    let asked = Asked::of(alter.algorithm.as_deref(), alter.lock.as_deref())?;
    match &alter.actions[..] {
        [AlterAction::Tablespace(transfer)] => return tablespace::perform(context, &alter.table, *transfer, None),
        [AlterAction::Partitions(PartitionAction::Tablespace(transfer, partitions))] => {
            return tablespace::perform(context, &alter.table, *transfer, Some(partitions));
        }
        _ => {}
    }
    if let [AlterAction::Partitions(action)] = &alter.actions[..]
        && !matches!(action, PartitionAction::By(_) | PartitionAction::Remove)
    {
        return partition::perform(context, alter, action);
    }
    let missing = |error: Error| match alter.if_exists {
        true => {
            context.note(error.code, error.message);
            Outcome::nothing()
        }
        false => Err(error),
    };
    let seen = match context.existing(database, name) {
        Ok(table) => table,
        Err(error) => return missing(error),
    };
    sequence::check_alteration(&seen, &alter.actions)?;
    check_not_discarded(&seen)?;
    let (outcome, rewritten) = if seen.is_temporary() {
        let change = Change::of(context, &seen, alter)?;
        way::perform_temporary(change, context, &seen, &asked)?
    } else {
        let names = names(context, alter, (database, name))?;
        let engine = &context.instance.engine;
        let locked = engine.lock_definitions(&names, relatives(alter), &context.wait).map_err(storage_error)?;
        let alteration = match locked.alter(database, name) {
            Ok(alteration) => alteration,
            Err(storage::Error::NotFound(_)) => return missing(Error::no_such_table(database, name)),
            Err(error) => return Err(storage_error(error)),
        };
        let change = Change::of(context, alteration.table(), alter)?;
        way::perform(change, context, alteration, &asked)?
    };
    let given = alter.actions.iter().filter_map(|action| match action {
        AlterAction::Options(given) => Some(given.as_slice()),
        _ => None,
    });
    let given = given.collect::<Vec<_>>().concat();
    if (rewritten || !given.is_empty())
        && let Ok(table) = context.existing(database, name)
    {
        options::warn_of_what_cannot_be(context, &given, &table);
    }
    Ok(outcome)
}

/// CREATE INDEX and DROP INDEX are ALTER TABLE of one action.
pub fn alter_index(
    context: &Context<'_>,
    table: &TableName,
    action: AlterAction,
    (algorithm, lock): (&Option<String>, &Option<String>),
) -> Result<Outcome> {
    let (algorithm, lock) = (algorithm.clone(), lock.clone());
    alter_table(context, &AlterTable { table: table.clone(), if_exists: false, actions: vec![action], algorithm, lock })
}

/// What DROP INDEX asks for.
pub fn drop_index(name: &str, if_exists: bool) -> AlterAction {
    match name.eq_ignore_ascii_case("PRIMARY") && !if_exists {
        true => AlterAction::DropPrimaryKey,
        false => AlterAction::DropIndex { name: name.into(), if_exists },
    }
}

/// The names that a statement writes or reads: the table's, the one that it gets, and those of tables that it comes to
/// refer to.
fn names<'n>(
    context: &'n Context<'_>,
    alter: &'n AlterTable,
    table: (&'n str, &'n str),
) -> Result<Vec<(&'n str, &'n str)>> {
    let mut names = vec![table];
    let keys = |spec: &'n ForeignKeySpec| (spec.table.database.as_deref().unwrap_or(table.0), spec.table.name.as_str());
    for action in &alter.actions {
        match action {
            AlterAction::Rename(to) => {
                let database = database_of(to, context.database)?;
                context.writable(database)?;
                names.push((database, &to.name));
            }
            AlterAction::AddForeignKey(spec) => names.push(keys(spec)),
            AlterAction::AddColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
                names.extend(column.references.as_deref().map(keys));
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Whether tables that foreign keys connect with this one have to hold still.
fn relatives(alter: &AlterTable) -> Relatives {
    let concerns_this_alone = |action: &AlterAction| match action {
        AlterAction::AddIndex(spec) => spec.kind != IndexKind::Primary,
        AlterAction::AddCheck(_) | AlterAction::DropCheck { .. } | AlterAction::SetEnforced { .. } => true,
        AlterAction::Options(_)
        | AlterAction::SetDefault { .. }
        | AlterAction::SetColumnVisible { .. }
        | AlterAction::SetIndexVisible { .. }
        | AlterAction::RenameIndex { .. }
        | AlterAction::Force
        | AlterAction::OrderBy(_)
        | AlterAction::DisableKeys
        | AlterAction::EnableKeys => true,
        _ => false,
    };
    match alter.actions.iter().all(concerns_this_alone) {
        true => Relatives::Alone,
        false => Relatives::Along,
    }
}

/// In which order actions are applied, whatever order they are written in. Names of columns that exist are those that
/// the table had before the statement: so two columns can exchange their names, and the name of a column that is dropped
/// is free. FIRST and AFTER speak of the columns as they become.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// New columns have the character set that the table gets.
    Options,
    DropsKeys,
    /// Names of indexes that stay: those before the statement, too, so that two can exchange theirs.
    RenamesKeys,
    /// Of those that stay, by their new names.
    ShowsKeys,
    DropsColumns,
    /// Columns that stay.
    Changes,
    /// New columns, among them the places of changed ones.
    Additions,
    Rest,
}

impl Phase {
    fn of(action: &AlterAction) -> Phase {
        match action {
            AlterAction::Options(_) => Phase::Options,
            AlterAction::DropIndex { .. }
            | AlterAction::DropPrimaryKey
            | AlterAction::DropForeignKey { .. }
            | AlterAction::DropCheck { .. }
            | AlterAction::DropConstraint { .. } => Phase::DropsKeys,
            AlterAction::SetIndexVisible { .. } => Phase::ShowsKeys,
            AlterAction::RenameIndex { .. } => Phase::RenamesKeys,
            AlterAction::DropColumn { .. } => Phase::DropsColumns,
            AlterAction::ChangeColumn { .. }
            | AlterAction::RenameColumn { .. }
            | AlterAction::SetDefault { .. }
            | AlterAction::SetColumnVisible { .. } => Phase::Changes,
            AlterAction::AddColumn { .. } => Phase::Additions,
            _ => Phase::Rest,
        }
    }
}

impl Change {
    /// The definition that a statement makes of a table's.
    fn of(context: &Context<'_>, table: &Table, alter: &AlterTable) -> Result<Change> {
        let mut change = Change {
            definition: table.definition(),
            sources: (0..table.columns.len()).map(Source::Old).collect(),
            force: false,
            partition_by: None,
            renamed_indexes: Vec::new(),
            auto_increment: None,
            added_keys: Vec::new(),
            column_keys: Vec::new(),
            adds_index: false,
            temporary: table.is_temporary(),
            rename: None,
            computed: Vec::new(),
            added_checks: Vec::new(),
            holds_rows: false,
        };
        let of = |phase: Phase| alter.actions.iter().filter(move |action| Phase::of(action) == phase);
        change.check_changed_once(alter)?;
        for action in of(Phase::Options).chain(of(Phase::DropsKeys)) {
            change.apply(context, table, action)?;
        }
        change.rename_indexes(alter)?;
        for action in of(Phase::ShowsKeys) {
            change.apply(context, table, action)?;
        }
        let indexes = change.definition.indexes.clone();
        for action in of(Phase::DropsColumns).chain(of(Phase::Changes)) {
            change.apply(context, table, action)?;
        }
        for action in &alter.actions {
            match action {
                AlterAction::AddColumn { .. } => change.apply(context, table, action)?,
                AlterAction::ChangeColumn { old, position, .. } => change.move_column(table, old, position)?,
                _ => {}
            }
        }
        change.check_names()?;
        change.keep_replaced(alter, table, indexes);
        change.check_index_names()?;
        let divides_anew = |action: &AlterAction| {
            matches!(action, AlterAction::Partitions(PartitionAction::By(_) | PartitionAction::Remove))
        };
        change.settle(context, table, !alter.actions.iter().any(divides_anew))?;
        for key in std::mem::take(&mut change.column_keys) {
            change.add_index(context, &key)?;
        }
        for action in of(Phase::Rest) {
            change.apply(context, table, action)?;
        }
        if table.is_temporary() && !change.added_keys.is_empty() {
            return Err(Error::cannot_add_foreign_key());
        }
        let checks = std::mem::take(&mut change.added_checks);
        change.holds_rows |= check::add(context, &mut change.definition, &checks, change.temporary)?;
        let specs = std::mem::take(&mut change.added_keys);
        foreign_key::add(context, &mut change.definition, &specs)?;
        if change.adds_index {
            index::drop_superseded(&mut change.definition.indexes);
        }
        change.drop_unused_hidden_columns();
        check::check_foreign_keys(&change.definition)?;
        foreign_key::check_not_null(context, table, &change.definition, &change.sources)?;
        let definition = &mut change.definition;
        if definition.columns.is_empty() {
            return Err(Error::cant_remove_all_columns());
        }
        if !definition.columns.iter().any(|column| !column.invisible) {
            return Err(Error::no_visible_column());
        }
        create::check_counts(definition)?;
        // A table that never had one may be changed otherwise.
        let had_primary_key = table.indexes.iter().any(|index| index.primary);
        if context.settings.sql_require_primary_key && had_primary_key && !create::has_primary_key(definition) {
            return Err(Error::primary_key_required());
        }
        column::check_row(&definition.columns)?;
        index::settle_again(context, table, &change.sources, &definition.columns, &mut definition.indexes)?;
        index::check_auto_increment(&definition.columns, &definition.indexes)?;
        index::check_visible(&definition.columns, &definition.indexes)?;
        fulltext::check_columns(&definition.columns, &definition.indexes)?;
        fulltext::check_temporary(table.is_temporary(), &definition.indexes)?;
        spatial::check_columns(&definition.columns, &definition.indexes)?;
        definition.indexes = index::in_order(std::mem::take(&mut definition.indexes), &definition.columns);
        // A file is encrypted or not for its whole life, so this needs another one.
        if definition.options.encrypted != table.options.encrypted {
            let encrypt_tables = context.instance.variables.text("innodb_encrypt_tables");
            options::check_encryption(&definition.options, &encrypt_tables)?;
        }
        match change.partition_by.take() {
            Some(Some(by)) => {
                partition::check_engines(context, Some("InnoDB"), &by.definitions)?;
                partition::settle(context, definition, &by)?;
                change.force = true;
            }
            Some(None) => {
                definition.partitioning = None;
                change.force = true;
            }
            None => partition::settle_again(context, definition)?,
        }
        if let Some((database, name)) = change.rename.take() {
            (change.definition.database, change.definition.name) = (database, name);
        }
        Ok(change)
    }

    /// The columns are known now: their expressions, and whether those that stay find what they name.
    fn settle(&mut self, context: &Context<'_>, table: &Table, keeps_partitions: bool) -> Result<()> {
        self.drop_unused_hidden_columns();
        let sources = self.sources.clone();
        let places: Vec<(Box<str>, Box<str>)> = self
            .definition
            .columns
            .iter()
            .zip(&sources)
            .filter_map(|(column, source)| match source {
                Source::Old(old) => Some((table.columns[*old].name.clone(), column.name.clone())),
                Source::New => None,
            })
            .collect();
        spatial::rename(&mut self.definition.columns, &places);
        let stays = |name: &str| places.iter().any(|(old, new)| same_name(old, name) && same_name(new, name));
        computed::check_dependants(table, &mut self.definition, &stays, &self.computed)?;
        // Rows stay in their partitions, so the columns that decide on these stay, too.
        if let (true, Some(partitioning)) = (keeps_partitions, &self.definition.partitioning) {
            let names = partition::column_names(&partitioning.rule)?;
            if let Some(gone) = names.iter().find(|name| !stays(name)) {
                return Err(Error::column_of_partitions(gone));
            }
        }
        let specs = std::mem::take(&mut self.computed);
        let name = self.definition.name.clone();
        computed::settle(context, &name, &specs, &mut self.definition.columns)?;
        self.computed = specs;
        Ok(())
    }

    /// A column is changed or renamed once: for the second action it is no longer there. Who changes it says its default,
    /// too.
    fn check_changed_once(&self, alter: &AlterTable) -> Result<()> {
        let unknown = |name: &str| Err(Error::unknown_column(name, &self.definition.name));
        let mut changed: Vec<&str> = Vec::new();
        for action in &alter.actions {
            let (AlterAction::ChangeColumn { old, .. } | AlterAction::RenameColumn { old, .. }) = action else {
                continue;
            };
            if changed.iter().any(|other| same_name(other, old)) {
                return unknown(old);
            }
            changed.push(old);
        }
        let is_changed = |name: &str| {
            let is_it =
                |action: &AlterAction| matches!(action, AlterAction::ChangeColumn { old, .. } if same_name(old, name));
            alter.actions.iter().any(is_it)
        };
        for action in &alter.actions {
            if let AlterAction::SetDefault { column, .. } | AlterAction::SetColumnVisible { column, .. } = action
                && is_changed(column)
            {
                return unknown(column);
            }
        }
        Ok(())
    }

    /// All at once, after indexes were dropped and before others are added.
    fn rename_indexes(&mut self, alter: &AlterTable) -> Result<()> {
        let mut renamed: Vec<(usize, &str)> = Vec::new();
        for action in &alter.actions {
            let AlterAction::RenameIndex { old, new } = action else { continue };
            for name in [old, new] {
                check_name(name, Error::wrong_index_name)?;
                check_not_reserved(name, Error::wrong_index_name)?;
                if name.eq_ignore_ascii_case("PRIMARY") {
                    return Err(Error::wrong_index_name(name));
                }
            }
            let at = self.index(old).filter(|at| renamed.iter().all(|(other, _)| other != at));
            renamed.push((at.ok_or_else(|| Error::key_does_not_exist(old, &self.definition.name))?, new));
            self.renamed_indexes.push((old.as_str().into(), new.as_str().into()));
        }
        for (at, new) in renamed {
            self.definition.indexes[at].name = new.into();
        }
        Ok(())
    }

    fn apply(&mut self, context: &Context<'_>, table: &Table, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, position, if_not_exists } => {
                if *if_not_exists && self.column(&column.name).is_ok() {
                    let error = Error::duplicate_column_name(&column.name);
                    context.note(error.code, error.message);
                    return Ok(());
                }
                self.add_column(context, column, position)?;
            }
            AlterAction::DropColumn { name, if_exists } => match self.old_column(table, name) {
                Ok(ordinal) => self.drop_column(ordinal),
                Err(_) => missing(context, name, *if_exists)?,
            },
            AlterAction::ChangeColumn { old, column, if_exists, .. } => match self.old_column(table, old) {
                Ok(ordinal) => self.change_column(context, ordinal, column)?,
                Err(error) if *if_exists => context.note(error.code, error.message),
                Err(error) => return Err(error),
            },
            AlterAction::RenameColumn { old, new } => {
                let ordinal = self.old_column(table, old)?;
                check_name(new, Error::wrong_column_name)?;
                check_not_reserved(new, Error::wrong_column_name)?;
                self.rename_column(ordinal, new);
            }
            AlterAction::SetDefault { column, default } => {
                let ordinal = self.old_column(table, column)?;
                let own = &self.definition.columns[ordinal];
                if own.generated.is_some() {
                    return Err(Error::not_with_generated("DEFAULT"));
                }
                self.computed.extend(ComputedSpec::of_default(&own.name, default.as_ref()));
                let default = match default {
                    Some(_) => column::default(context, &own.name, default.as_ref(), &own.ty, own.nullable)?,
                    None => ColumnDefault::None,
                };
                self.definition.columns[ordinal].default = default;
            }
            AlterAction::SetColumnVisible { column, visible } => {
                let ordinal = self.old_column(table, column)?;
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
            AlterAction::SetIndexVisible { name, visible } => {
                let at = self.index(name).ok_or_else(|| Error::key_does_not_exist(name, &self.definition.name))?;
                if !visible && self.definition.indexes[at].primary {
                    return Err(index::invisible_primary_key());
                }
                self.definition.indexes[at].invisible = !visible;
            }
            AlterAction::AddForeignKey(spec) => self.add_foreign_key(spec),
            AlterAction::AddCheck(spec) => self.added_checks.push(spec.clone()),
            AlterAction::DropCheck { name, if_exists } => match self.check(name) {
                Some(at) => drop(self.definition.checks.remove(at)),
                None => absent(context, Error::check_not_found(name), *if_exists)?,
            },
            AlterAction::SetEnforced { name, enforced, is_check } => self.set_enforced(name, *enforced, *is_check)?,
            AlterAction::DropForeignKey { name, if_exists } => match self.foreign_key(name) {
                Some(at) => drop(self.definition.foreign_keys.remove(at)),
                None => missing(context, name, *if_exists)?,
            },
            AlterAction::DropConstraint { name, if_exists } => {
                let index = self.index(name).filter(|at| self.definition.indexes[*at].unique);
                match (self.foreign_key(name), index, self.check(name)) {
                    (Some(at), None, None) => drop(self.definition.foreign_keys.remove(at)),
                    (None, Some(at), None) => self.drop_index(at),
                    (None, None, Some(at)) => drop(self.definition.checks.remove(at)),
                    (None, None, None) => absent(context, Error::constraint_not_found(name), *if_exists)?,
                    _ => return Err(Error::several_constraints(name)),
                }
            }
            AlterAction::Rename(to) => self.rename_to(context, to)?,
            AlterAction::Options(given) => {
                let given = options::apply(context, given, &mut self.definition.options)?;
                given.check_altered(context)?;
                self.force |= given.engine;
                self.auto_increment = given.auto_increment.or(self.auto_increment);
            }
            AlterAction::ConvertCharset { charset, collation } => {
                let (default, utf8mb4) = (self.definition.options.collation, context.eval.utf8mb4);
                let (charset, collation) = (charset.as_deref(), collation.as_deref());
                context.warn_of_old_unicode(charset, collation);
                let id = crate::column_types::collation_of(charset, collation, default, utf8mb4)?;
                self.definition.options.collation = id;
                for (own, source) in self.definition.columns.iter_mut().zip(&self.sources) {
                    let ty = with_collation(&own.ty, id);
                    // A column that the statement changes has the size that it says.
                    let stays = source.old().is_some_and(|old| table.columns[old].ty == own.ty);
                    let ty = if stays { holding_as_much(ty, &own.ty) } else { ty };
                    if let ColumnType::VarChar { chars, .. } = ty
                        && chars > 0xFFFF / width(id)
                    {
                        return Err(Error::column_length_too_big(&own.name, u64::from(0xFFFF / width(id))));
                    }
                    column::convert_default(context, own, &ty)?;
                    own.ty = ty;
                    own.explicit_collation = false;
                }
            }
            AlterAction::Force => self.force = true,
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
            // It stands alone.
            AlterAction::Tablespace(_) => {
                return Err(Error::unsupported("DISCARD and IMPORT TABLESPACE beside other changes"));
            }
            AlterAction::Partitions(PartitionAction::By(by)) => {
                if self.temporary {
                    return Err(Error::not_with_partitioning("TEMPORARY"));
                }
                self.partition_by = Some(Some(by.clone()));
            }
            AlterAction::Partitions(PartitionAction::Remove) => {
                if !table.is_partitioned() {
                    return Err(Error::partition_management_on_plain());
                }
                self.partition_by = Some(None);
            }
            // All of them at once have had their turn.
            AlterAction::RenameIndex { .. } => {}
            // They stand alone.
            AlterAction::Partitions(_) => {
                return Err(Error::unsupported("changes of partitions beside other changes"));
            }
            AlterAction::Unsupported(what) => return Err(Error::unsupported(what)),
        }
        Ok(())
    }

    fn rename_to(&mut self, context: &Context<'_>, to: &TableName) -> Result<()> {
        // As in MySQL a name without a database is one of the current database, whichever the table is in.
        let database = database_of(to, context.database)?.to_string();
        options::check_table_name(&to.name)?;
        if context.instance.engine.database(&database).is_none() {
            return Err(Error::unknown_database(&database));
        }
        // Of several names the last one counts.
        self.rename = None;
        if (database.as_str(), to.name.as_str()) == (&*self.definition.database, &*self.definition.name) {
            return Ok(());
        }
        let taken = match self.temporary {
            true => context.wait.temporary_table(&database, &to.name).is_some(),
            false => context.instance.engine.table(&database, &to.name).is_some(),
        };
        if taken {
            return Err(Error::table_exists(&to.name));
        }
        self.rename = Some((database.into(), to.name.as_str().into()));
        Ok(())
    }
}

/// A column, key or constraint to drop is not there.
fn missing(context: &Context<'_>, name: &str, if_exists: bool) -> Result<()> {
    absent(context, Error::cant_drop_key(name), if_exists)
}

fn absent(context: &Context<'_>, error: Error, if_exists: bool) -> Result<()> {
    if !if_exists {
        return Err(error);
    }
    context.note(error.code, error.message);
    Ok(())
}

/// The most bytes that a character takes.
fn width(id: CollationId) -> u32 {
    u32::from(collation(id).charset.bytes_max())
}

fn with_collation(ty: &ColumnType, id: CollationId) -> ColumnType {
    match ty {
        // Texts in no character set are bytes.
        ColumnType::Char { chars, .. } if id == CollationId::BINARY => ColumnType::Binary { bytes: *chars },
        ColumnType::VarChar { chars, .. } if id == CollationId::BINARY => ColumnType::VarBinary { bytes: *chars },
        ColumnType::Text { size, .. } if id == CollationId::BINARY => ColumnType::Blob { size: *size },
        ColumnType::Char { chars, .. } => ColumnType::Char { chars: *chars, collation: id },
        ColumnType::VarChar { chars, .. } => ColumnType::VarChar { chars: *chars, collation: id },
        ColumnType::Text { size, .. } => ColumnType::Text { size: *size, collation: id },
        ColumnType::Enum { members, .. } => ColumnType::Enum { members: members.clone(), collation: id },
        ColumnType::Set { members, .. } => ColumnType::Set { members: members.clone(), collation: id },
        other => other.clone(),
    }
}

/// A TEXT that has room for as many characters in its new character set as it had in its old one.
fn holding_as_much(ty: ColumnType, old: &ColumnType) -> ColumnType {
    let (ColumnType::Text { collation: to, .. }, ColumnType::Text { size, collation: from }) = (&ty, old) else {
        return ty;
    };
    let bytes = u64::from(size.bytes_max() / width(*from)) * u64::from(width(*to));
    let sizes = [LobSize::Tiny, LobSize::Regular, LobSize::Medium, LobSize::Long];
    let holds = |one: &LobSize| one >= size && u64::from(one.bytes_max()) >= bytes;
    ColumnType::Text { size: sizes.into_iter().find(holds).unwrap_or(LobSize::Long), collation: *to }
}
