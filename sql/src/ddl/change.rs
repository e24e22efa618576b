//! What an ALTER TABLE makes of a table: columns come, go, move and change, and their index parts follow.

use storage::Table;
use storage::schema::{Column, ColumnDefault, Generated, IndexDefinition, IndexPart, TableDefinition, same_name};

use super::computed::{self, ComputedSpec};
use super::copy::Source;
use super::{Context, column, create, index};
use crate::error::{Error, Result};
use crate::expression::spatial_key;
use crate::parser::ast::{
    AlterAction, AlterTable, CheckSpec, ColumnPosition, ColumnSpec, ForeignKeySpec, IndexSpec, PartitionBy,
};

/// The definition on its way from old to new.
pub struct Change {
    pub definition: TableDefinition,
    /// Where each column comes from.
    pub sources: Vec<Source>,
    /// The rows are written anew, whatever changes: FORCE, ENGINE.
    pub force: bool,
    /// PARTITION BY, or REMOVE PARTITIONING (None), of this statement.
    pub partition_by: Option<Option<Box<PartitionBy>>>,
    pub renamed_indexes: Vec<(Box<str>, Box<str>)>,
    pub auto_increment: Option<u64>,
    /// Made when all columns and indexes are known.
    pub added_keys: Vec<ForeignKeySpec>,
    /// Indexes that columns ask for in their own definitions, made when all columns have their names.
    pub column_keys: Vec<IndexSpec>,
    /// Whether the statement adds an index: then one that was made for a foreign key may go.
    pub adds_index: bool,
    /// A temporary table has its own names.
    pub temporary: bool,
    pub rename: Option<(Box<str>, Box<str>)>,
    /// Expressions of new and changed columns.
    pub computed: Vec<ComputedSpec>,
    pub added_checks: Vec<CheckSpec>,
    /// Rows that exist have to satisfy a constraint that they need not have satisfied.
    pub holds_rows: bool,
}

impl Change {
    pub fn column(&self, name: &str) -> Result<usize> {
        let table = &self.definition.name;
        let is_meant = |column: &Column| same_name(&column.name, name) && !column.is_hidden();
        let found = self.definition.columns.iter().position(is_meant);
        found.ok_or_else(|| Error::unknown_column(name, table))
    }

    /// The present place of a column that the table had under this name.
    pub fn old_column(&self, table: &Table, name: &str) -> Result<usize> {
        let old = table.columns.iter().position(|column| same_name(&column.name, name) && !column.is_hidden());
        let found = old.and_then(|old| self.sources.iter().position(|source| *source == Source::Old(old)));
        found.ok_or_else(|| Error::unknown_column(name, &self.definition.name))
    }

    /// No two columns have one name.
    pub fn check_names(&self) -> Result<()> {
        let columns = &self.definition.columns;
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| same_name(&other.name, &column.name)) {
                return Err(Error::duplicate_column_name(&column.name));
            }
        }
        Ok(())
    }

    /// No two indexes have one name, now that those are gone which lost all their columns.
    pub fn check_index_names(&self) -> Result<()> {
        let indexes = &self.definition.indexes;
        for (at, index) in indexes.iter().enumerate() {
            if indexes[..at].iter().any(|other| same_name(&other.name, &index.name)) {
                return Err(Error::duplicate_key_name(&index.name));
            }
        }
        Ok(())
    }

    pub fn index(&self, name: &str) -> Option<usize> {
        self.definition.indexes.iter().position(|index| same_name(&index.name, name))
    }

    pub fn foreign_key(&self, name: &str) -> Option<usize> {
        self.definition.foreign_keys.iter().position(|key| same_name(&key.name, name))
    }

    /// Foreign keys follow, here and in other tables.
    pub fn rename_column(&mut self, ordinal: usize, name: &str) {
        let column = &mut self.definition.columns[ordinal];
        if *column.name != *name {
            let old = std::mem::replace(&mut column.name, name.into());
            self.definition.renamed_columns.push((old, name.into()));
        }
    }

    pub fn add_column(&mut self, context: &Context<'_>, spec: &ColumnSpec, position: &ColumnPosition) -> Result<()> {
        let made = column::column(context, spec, self.definition.options.collation)?;
        // Hidden columns are the last ones.
        let shown = self.definition.columns.iter().take_while(|column| !column.is_hidden()).count();
        let at = self.place(position)?.unwrap_or(shown);
        self.insert_column(at, made, Source::New);
        self.column_keys.extend(create::keys_of_column(spec));
        spec.references.iter().for_each(|key| self.add_foreign_key(key));
        self.computed.extend(ComputedSpec::of(spec));
        self.added_checks.extend(spec.checks.iter().cloned());
        Ok(())
    }

    /// A foreign key; the index that may be made for it stands behind the plain ones that there are now.
    pub fn add_foreign_key(&mut self, spec: &ForeignKeySpec) {
        let behind = self.definition.indexes.iter().filter(|index| index::is_plain(index)).count();
        self.added_keys.push(ForeignKeySpec { behind, ..spec.clone() });
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
    pub fn drop_column(&mut self, ordinal: usize) {
        let columns = &self.definition.columns;
        let is_spatial = |index: &IndexDefinition| {
            index.parts.iter().any(|part| spatial_key::column_of(columns, part.column) == Some(ordinal))
        };
        self.definition.indexes.retain(|index| !is_spatial(index));
        for index in &mut self.definition.indexes {
            index.parts.retain(|part| part.column != ordinal);
        }
        self.definition.indexes.retain(|index| !index.parts.is_empty());
        self.remove_column(ordinal);
    }

    /// A column that is added under the name of one that is dropped takes its place in the indexes, as in MySQL.
    /// `indexes` are those that the table has kept, with the columns as they were.
    pub fn keep_replaced(&mut self, alter: &AlterTable, table: &Table, indexes: Vec<IndexDefinition>) {
        let added = |name: &str| {
            let is_it = |action: &AlterAction| matches!(action, AlterAction::AddColumn { column, .. } if same_name(&column.name, name));
            alter.actions.iter().any(is_it)
        };
        let present = |old: usize| self.sources.iter().position(|source| *source == Source::Old(old));
        let replacing = |old: usize| match present(old).is_none() && added(&table.columns[old].name) {
            true => self.column(&table.columns[old].name).ok(),
            false => None,
        };
        let is_concerned = |index: &IndexDefinition| index.parts.iter().any(|part| replacing(part.column).is_some());
        let moved: Vec<IndexDefinition> = indexes
            .into_iter()
            .filter(is_concerned)
            .map(|mut index| {
                index.parts = std::mem::take(&mut index.parts)
                    .into_iter()
                    .filter_map(|part| {
                        let column = present(part.column).or_else(|| replacing(part.column))?;
                        Some(IndexPart { column, ..part })
                    })
                    .collect();
                index
            })
            .collect();
        for index in moved {
            for part in index.parts.iter().filter(|_| index.primary) {
                index::make_not_null(&mut self.definition.columns[part.column]);
            }
            match self.index(&index.name) {
                Some(at) => self.definition.indexes[at] = index,
                None => self.definition.indexes.push(index),
            }
        }
    }

    pub fn change_column(&mut self, context: &Context<'_>, ordinal: usize, spec: &ColumnSpec) -> Result<()> {
        let mut made = column::column(context, spec, self.definition.options.collation)?;
        let in_primary =
            |index: &IndexDefinition| index.primary && index.parts.iter().any(|part| part.column == ordinal);
        if self.definition.indexes.iter().any(in_primary) {
            made.nullable = false;
            if made.default == ColumnDefault::Null {
                made.default = ColumnDefault::None;
            }
        }
        let before = &self.definition.columns[ordinal].generated;
        let is_stored = |generated: &Option<Generated>| generated.as_ref().is_none_or(|generated| generated.stored);
        if is_stored(before) != is_stored(&made.generated) {
            return Err(Error::not_for_generated("Changing the STORED status"));
        }
        let name = made.name.to_string();
        self.rename_column(ordinal, &name);
        self.definition.columns[ordinal] = made;
        spec.references.iter().for_each(|key| self.add_foreign_key(key));
        self.column_keys.extend(create::keys_of_column(spec));
        self.computed.extend(ComputedSpec::of(spec));
        self.added_checks.extend(spec.checks.iter().cloned());
        Ok(())
    }

    /// Brings a changed column to where FIRST or AFTER says.
    pub fn move_column(&mut self, table: &Table, old: &str, position: &ColumnPosition) -> Result<()> {
        let Ok(ordinal) = self.old_column(table, old) else { return Ok(()) };
        // It leaves its place before the other column is looked for.
        if let ColumnPosition::After(name) = position
            && same_name(name, &self.definition.columns[ordinal].name)
        {
            return Err(Error::unknown_column(name, &self.definition.name));
        }
        if let Some(at) = self.place(position)? {
            let at = if at > ordinal { at - 1 } else { at };
            if at != ordinal {
                // Its index parts move with it.
                let parts = |index: (usize, &IndexDefinition)| {
                    let own = index.1.parts.iter().enumerate().filter(|(_, part)| part.column == ordinal);
                    own.map(|(place, _)| (index.0, place)).collect::<Vec<_>>()
                };
                let members: Vec<(usize, usize)> = self.definition.indexes.iter().enumerate().flat_map(parts).collect();
                let (column, source) = self.remove_column(ordinal);
                self.insert_column(at, column, source);
                for (number, place) in members {
                    self.definition.indexes[number].parts[place].column = at;
                }
            }
        }
        Ok(())
    }

    pub fn add_index(&mut self, context: &Context<'_>, spec: &IndexSpec) -> Result<()> {
        if let Some(name) = &spec.name
            && spec.if_not_exists
            && self.index(name).is_some()
        {
            context.note(1061, Error::duplicate_key_name(name).message);
            return Ok(());
        }
        // An index that was made for a foreign key leaves its name to one that somebody asks for and that does its work.
        let columns = self.definition.columns.len();
        let taken = |name: &str| self.definition.indexes.iter().any(|index| same_name(&index.name, name));
        let mut all = self.definition.columns.clone();
        let spec = &computed::with_hidden_columns(context, spec, &self.definition.name, &mut all, &taken)?;
        self.sources.extend(all[columns..].iter().map(|_| Source::New));
        self.definition.columns = all;
        let indexes = &mut self.definition.indexes;
        let named = |index: &IndexDefinition| spec.name.as_ref().is_some_and(|name| same_name(name, &index.name));
        let generated = indexes.iter().position(|index| index.generated && named(index));
        let generated = generated.map(|at| indexes.remove(at));
        let made = index::index(context, spec, &mut self.definition.columns, indexes)?;
        if let Some(generated) = generated.filter(|generated| !index::serves(&made, generated)) {
            return Err(Error::duplicate_key_name(&generated.name));
        }
        let table = (&*self.definition.database, &*self.definition.name);
        index::warn_of_duplicate(context, table, &made, &self.definition.indexes);
        self.definition.indexes.push(made);
        self.adds_index = true;
        Ok(())
    }

    pub fn drop_index(&mut self, at: usize) {
        self.definition.indexes.remove(at);
    }

    /// The columns of functional indexes that are gone go, too.
    pub fn drop_unused_hidden_columns(&mut self) {
        for at in (0..self.definition.columns.len()).rev() {
            let mut parts = self.definition.indexes.iter().flat_map(|index| &index.parts);
            if self.definition.columns[at].is_hidden() && !parts.any(|part| part.column == at) {
                self.remove_column(at);
            }
        }
    }

    pub fn check(&self, name: &str) -> Option<usize> {
        self.definition.checks.iter().position(|check| same_name(&check.name, name))
    }

    /// ALTER CHECK or CONSTRAINT name [NOT] ENFORCED.
    pub fn set_enforced(&mut self, name: &str, enforced: bool, is_check: bool) -> Result<()> {
        let Some(at) = self.check(name) else {
            return Err(match is_check {
                true => Error::check_not_found(name),
                false if self.foreign_key(name).is_some() || self.index(name).is_some() => {
                    Error::enforcement_of_key(name)
                }
                false => Error::constraint_not_found(name),
            });
        };
        let check = &mut self.definition.checks[at];
        self.holds_rows |= enforced && !check.enforced;
        check.enforced = enforced;
        Ok(())
    }
}
