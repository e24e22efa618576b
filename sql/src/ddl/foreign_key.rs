//! Foreign keys: names, columns and the indexes that they need, as MySQL makes them.
//!
//! A foreign key without a name is called `t_ibfk_n`, n counting on from the largest that the table has. Behind a column,
//! REFERENCES makes one as well: MySQL reads and forgets it there, MariaDB and later versions of MySQL do not, and neither
//! do we. Whether tables and rows agree with it is the engine's to say.

use storage::schema::foreign_key::{is_served, ordinals};
use storage::schema::{ForeignKey, IndexDefinition, ReferentialAction, TableDefinition, same_name};
use storage::{ForeignKeyRefusal, Table};

use super::copy::Source;
use super::{Context, check_name, index};
use crate::error::{Error, Result};
use crate::parser::ast::{ForeignKeySpec, IndexPartSpec, IndexSpec};

/// Outside of the strict modes NULLs become zeros where a column becomes NOT NULL, and perhaps no parent has these.
pub fn check_not_null(
    context: &Context<'_>,
    table: &Table,
    definition: &TableDefinition,
    sources: &[Source],
) -> Result<()> {
    if context.settings.sql_mode.is_strict() || !context.settings.foreign_key_checks {
        return Ok(());
    }
    for key in &definition.foreign_keys {
        let becomes_not_null = |name: &str| {
            let old = table.columns.iter().position(|column| same_name(&column.name, name))?;
            let new = sources.iter().position(|source| source.old() == Some(old))?;
            (table.columns[old].nullable && !definition.columns[new].nullable).then_some(())
        };
        if let Some(column) = key.columns.iter().find(|name| becomes_not_null(name).is_some()) {
            let (column, constraint) = (column.clone(), key.name.clone());
            return Err(Error::foreign_key_refused(&ForeignKeyRefusal::ChangeColumn { column, constraint, of: None }));
        }
    }
    Ok(())
}

/// Adds foreign keys to a definition, with the indexes that it lacks for them. Each index stands where its foreign key does
/// among the plain keys: behind so many as the specification says.
pub fn add(context: &Context<'_>, definition: &mut TableDefinition, specs: &[ForeignKeySpec]) -> Result<()> {
    let mut keys = Vec::with_capacity(specs.len());
    let numbers = definition.foreign_keys.iter().filter_map(|key| key.generated_number(&definition.name));
    let mut last = numbers.max().unwrap_or(0);
    for spec in specs {
        let name = match &spec.name {
            Some(name) => {
                check_name(name, Error::wrong_index_name)?;
                name.clone()
            }
            None => {
                last += 1;
                format!("{}_ibfk_{last}", definition.name)
            }
        };
        let key = foreign_key(context, definition, spec, name)?;
        let parent = context.instance.engine.table(&key.parent_database, &key.parent);
        if parent.is_some_and(|parent| parent.is_partitioned()) {
            return Err(Error::not_with_partitioning("FOREIGN KEY"));
        }
        keys.push(key);
    }
    let mut wanted: Vec<(&ForeignKeySpec, &ForeignKey)> = specs.iter().zip(&keys).collect();
    wanted.sort_by_key(|(spec, _)| spec.behind);
    // An index on more columns serves those on fewer, too; of two on the same the later one is made, as in MySQL.
    let has_better = |at: usize| {
        let (columns, mut others) = (&wanted[at].1.columns, wanted.iter().enumerate());
        others.any(|(other, (_, key))| {
            key.columns.starts_with(columns) && (key.columns.len() > columns.len() || other > at)
        })
    };
    let mut made_before = 0;
    for (_, (spec, key)) in wanted.iter().enumerate().filter(|(at, _)| !has_better(*at)) {
        let columns = ordinals(&definition.columns, &key.columns).map_err(Error::key_column_missing)?;
        let known = &definition.indexes;
        if is_served(known, &columns) {
            continue;
        }
        // The name may be taken by an index that does not serve; then one is made up.
        let name = spec.name.clone().filter(|name| !known.iter().any(|index| same_name(&index.name, name)));
        let part = |column: &str| IndexPartSpec {
            column: column.to_string(),
            prefix: None,
            descending: false,
            expression: None,
            elements: None,
        };
        let parts = key.columns.iter().map(|column| part(column)).collect();
        let own = IndexSpec { name, parts, ..IndexSpec::default() };
        let made = index::index(context, &own, &mut definition.columns, &definition.indexes)?;
        let mut plain = definition.indexes.iter().enumerate().filter(|(_, index)| index::is_plain(index));
        let place = plain.nth(spec.behind + made_before).map_or(definition.indexes.len(), |(at, _)| at);
        definition.indexes.insert(place, IndexDefinition { generated: true, ..made });
        made_before += 1;
    }
    definition.foreign_keys.extend(keys);
    definition.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

fn foreign_key(
    context: &Context<'_>,
    definition: &TableDefinition,
    spec: &ForeignKeySpec,
    name: String,
) -> Result<ForeignKey> {
    let mut columns: Vec<Box<str>> = Vec::with_capacity(spec.columns.len());
    for written in &spec.columns {
        let column = definition.columns.iter().find(|column| same_name(&column.name, written));
        let column = column.ok_or_else(|| Error::key_column_missing(written))?;
        if columns.contains(&column.name) {
            return Err(Error::duplicate_column_name(written));
        }
        columns.push(column.name.clone());
    }
    let parent_database = spec.table.database.as_deref().unwrap_or(&definition.database);
    let parent = &spec.table.name;
    context.writable(parent_database)?;
    let parent_columns = parent_columns(context, definition, spec, (parent_database, &name))?;
    if parent_columns.len() != columns.len() {
        return Err(Error::wrong_foreign_key(spec.name.as_deref().unwrap_or("foreign key without name")));
    }
    Ok(ForeignKey {
        name: name.into(),
        columns,
        parent_database: parent_database.into(),
        parent: parent.as_str().into(),
        parent_columns,
        on_delete: action(spec.on_delete.as_deref())?,
        on_update: action(spec.on_update.as_deref())?,
    })
}

/// The columns named, spelt as the parent spells them; without names, those of the parent's primary key.
fn parent_columns(
    context: &Context<'_>,
    definition: &TableDefinition,
    spec: &ForeignKeySpec,
    (database, key): (&str, &str),
) -> Result<Vec<Box<str>>> {
    let is_own = *database == *definition.database && *spec.table.name == *definition.name;
    let parent = context.instance.engine.table(database, &spec.table.name);
    let (columns, indexes) = match &parent {
        _ if is_own => (definition.columns.as_slice(), definition.indexes.clone()),
        Some(parent) => {
            (parent.columns.as_slice(), parent.indexes.iter().map(|index| index.definition()).collect::<Vec<_>>())
        }
        None => (&[][..], Vec::new()),
    };
    if spec.references.is_empty() {
        let primary = indexes.iter().find(|index| index.primary);
        let parts = primary.iter().flat_map(|index| &index.parts);
        return Ok(parts.map(|part| columns[part.column].name.clone()).collect());
    }
    let spelt = |written: &String| {
        let column = columns.iter().find(|column| same_name(&column.name, written));
        let Some(column) = column else { return Ok(written.as_str().into()) };
        match &column.generated {
            Some(generated) if !generated.stored => Err(Error::foreign_key_of_virtual_column(key, &column.name)),
            _ => Ok(column.name.clone()),
        }
    };
    spec.references.iter().map(spelt).collect()
}

fn action(written: Option<&str>) -> Result<ReferentialAction> {
    Ok(match written {
        None | Some("NO ACTION") => ReferentialAction::NoAction,
        Some("RESTRICT") => ReferentialAction::Restrict,
        Some("CASCADE") => ReferentialAction::Cascade,
        Some("SET NULL") => ReferentialAction::SetNull,
        // SET DEFAULT: InnoDB has none.
        Some(_) => return Err(Error::cannot_add_foreign_key()),
    })
}
