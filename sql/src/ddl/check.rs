//! CHECK constraints: names and conditions, and what else of a table agrees with them.
//!
//! A constraint without a name is called `t_chk_n`, n counting on from the largest that the table has; names are unique
//! in a database. A condition is stored in normal form, and rows are held to it by those who change them
//! ([`row_rules`](crate::executor::row_rules)).

use storage::schema::{Check, Column, ForeignKey, ReferentialAction, TableDefinition, same_name};

use super::Context;
use super::stored_expression::{self, Subject};
use crate::error::{Error, Result};
use crate::parser::ast::CheckSpec;

/// Adds constraints to a definition, whose columns are complete. True: rows that exist have to be looked at.
pub fn add(
    context: &Context<'_>,
    definition: &mut TableDefinition,
    specs: &[CheckSpec],
    is_temporary: bool,
) -> Result<bool> {
    let table = definition.name.clone();
    let mut last = definition.checks.iter().filter_map(|check| check.generated_number(&table)).max().unwrap_or(0);
    let mut holds_rows = false;
    for spec in specs {
        let name = match &spec.name {
            Some(name) => {
                // It is the name of no file and no index: any text will do.
                if name.chars().count() > 64 {
                    return Err(Error::identifier_too_long(name));
                }
                name.clone()
            }
            None => {
                last += 1;
                format!("{table}_chk_{last}")
            }
        };
        if is_taken(context, definition, &name, is_temporary) {
            let error = Error::duplicate_check_name(&name);
            if spec.if_not_exists {
                context.note(error.code, error.message);
                continue;
            }
            return Err(error);
        }
        definition.checks.push(made(context, &table, &definition.columns, spec, &name)?);
        holds_rows |= spec.enforced;
    }
    Check::sort(&mut definition.checks);
    Ok(holds_rows)
}

/// Whether a constraint of this table or of another one of its database has the name.
fn is_taken(context: &Context<'_>, definition: &TableDefinition, name: &str, is_temporary: bool) -> bool {
    let has = |checks: &[Check]| checks.iter().any(|check| same_name(&check.name, name));
    let other = |table: &storage::Table| *table.name != *definition.name && has(&table.checks);
    has(&definition.checks)
        || !is_temporary && context.instance.engine.tables(&definition.database).iter().any(|table| other(table))
}

fn made(context: &Context<'_>, table: &str, columns: &[Column], spec: &CheckSpec, name: &str) -> Result<Check> {
    if !stored_expression::is_condition(&spec.condition) {
        return Err(Error::check_not_boolean(name));
    }
    let stored = stored_expression::store(context, &spec.condition, Subject::Check(name), table, columns)?;
    if let Some(own) = &spec.column
        && stored.reads.iter().any(|read| !same_name(&columns[*read].name, own))
    {
        return Err(Error::check_of_other_column(name));
    }
    Ok(Check { name: name.into(), condition: stored.text, enforced: spec.enforced })
}

/// The constraints of a table that is like another one: those that its rows have to satisfy, under names of its own.
pub fn renamed(checks: &[Check], table: &str) -> Vec<Check> {
    let own = |(at, check): (usize, &Check)| Check { name: format!("{table}_chk_{}", at + 1).into(), ..check.clone() };
    let mut checks: Vec<Check> = checks.iter().enumerate().map(own).collect();
    Check::sort(&mut checks);
    checks
}

/// What no foreign key may change behind the back of who evaluates expressions: columns of CHECK constraints and those
/// that generated columns are computed from.
pub fn check_foreign_keys(definition: &TableDefinition) -> Result<()> {
    for key in &definition.foreign_keys {
        let column = |name: &str| definition.columns.iter().find(|column| same_name(&column.name, name));
        for name in &key.columns {
            let Some(generated) = column(name).and_then(|column| column.generated.as_ref()) else { continue };
            if !generated.stored {
                return Err(Error::foreign_key_of_virtual_column(&key.name, name));
            }
            let refused = match (key.on_update, key.on_delete) {
                (ReferentialAction::Cascade, _) => "ON UPDATE CASCADE",
                (ReferentialAction::SetNull, _) => "ON UPDATE SET NULL",
                (_, ReferentialAction::SetNull) => "ON DELETE SET NULL",
                _ => continue,
            };
            let text = format!("Cannot define foreign key with {refused} clause on a generated column.");
            return Err(Error::new(3104, b"HY000", text));
        }
        if !changes_columns(key) {
            continue;
        }
        let changes = |name: &String| key.columns.iter().any(|column| same_name(column, name));
        for check in &definition.checks {
            if let Some(column) = stored_expression::names(&check.condition)?.iter().find(|name| changes(name)) {
                return Err(Error::check_of_referential_action(column, &check.name, &key.name));
            }
        }
        for generated in definition.columns.iter().filter_map(|column| column.generated.as_ref()) {
            // The values of VIRTUAL ones follow (`executor::follow`).
            if generated.stored && stored_expression::names(&generated.expression)?.iter().any(changes) {
                return Err(Error::cannot_add_foreign_key());
            }
        }
    }
    Ok(())
}

/// Whether a change of the parent changes columns of rows that stay.
fn changes_columns(key: &ForeignKey) -> bool {
    key.on_update.changes_children() || key.on_delete == ReferentialAction::SetNull
}
