//! Generated columns, defaults that are expressions, and the hidden columns of functional indexes.
//!
//! A column may be defined before those that its expression names. So expressions are settled when all columns are known:
//! until then a [`ComputedSpec`] has them as they were written.

use format::value::{ColumnType, LobSize};
use storage::Table;
use storage::schema::{Column, ColumnDefault, Generated, TableDefinition, same_name};

use super::Context;
use super::spatial;
use super::stored_expression::{self, Subject};
use crate::error::{Error, Result};
use crate::expression::{Node, spatial_key};
use crate::parser::ast::{ColumnSpec, DefaultSpec, Expr, IndexKind, IndexSpec};
use crate::types::{Kind, TypeInfo};

/// An expression of a column, as it was written.
#[derive(Clone)]
pub struct ComputedSpec {
    column: Box<str>,
    expr: Expr,
    is_generated: bool,
}

impl ComputedSpec {
    pub fn of(spec: &ColumnSpec) -> Option<ComputedSpec> {
        let column = spec.name.as_str().into();
        match (&spec.generated, &spec.default) {
            (Some(generated), _) => Some(ComputedSpec { column, expr: generated.expr.clone(), is_generated: true }),
            (None, default) => ComputedSpec::of_default(&column, default.as_ref()),
        }
    }

    pub fn of_default(column: &str, default: Option<&DefaultSpec>) -> Option<ComputedSpec> {
        match default {
            Some(DefaultSpec::Expr(expr)) => {
                Some(ComputedSpec { column: column.into(), expr: expr.clone(), is_generated: false })
            }
            _ => None,
        }
    }

    pub fn is_of(&self, column: &str) -> bool {
        same_name(&self.column, column)
    }
}

/// What a generated column cannot be besides.
pub fn check_generated(spec: &ColumnSpec) -> Result<()> {
    let Some(generated) = &spec.generated else { return Ok(()) };
    if spec.default.is_some() {
        return Err(Error::not_with_generated("DEFAULT"));
    }
    if spec.auto_increment || spec.ty.name == "SERIAL" {
        return Err(Error::not_with_generated("AUTO_INCREMENT"));
    }
    if spec.on_update_now.is_some() {
        return Err(Error::not_with_generated("ON UPDATE"));
    }
    if spec.primary_key && !generated.stored {
        return Err(virtual_primary_key());
    }
    Ok(())
}

pub fn virtual_primary_key() -> Error {
    Error::not_for_generated("Defining a virtual generated column as primary key")
}

/// Settles the expressions of columns.
pub fn settle(context: &Context<'_>, table: &str, specs: &[ComputedSpec], columns: &mut [Column]) -> Result<()> {
    for spec in specs {
        let Some(at) = columns.iter().position(|column| spec.is_of(&column.name)) else { continue };
        let name = columns[at].name.clone();
        let subject = if spec.is_generated { Subject::Generated(&name) } else { Subject::Default(&name) };
        let stored = stored_expression::store(context, &spec.expr, subject, table, columns)?;
        let is_later = |read: &usize| *read >= at;
        let is_expression = |read: &usize| matches!(columns[*read].default, ColumnDefault::Expression(_));
        let is_generated = |read: &usize| columns[*read].generated.is_some();
        if spec.is_generated {
            if stored.reads.iter().any(|read| is_later(read) && is_generated(read)) {
                let text = "Generated column can refer only to generated columns defined prior to it.";
                return Err(Error::new(3107, b"HY000", text));
            }
            if let Some(generated) = &mut columns[at].generated {
                generated.expression = stored.text;
            }
        } else {
            if stored.reads.iter().any(|read| is_later(read) && (is_generated(read) || is_expression(read))) {
                let text = format!(
                    "Default value expression of column '{name}' cannot refer to a column defined after it if that \
                     column is a generated column or has an expression as default value."
                );
                return Err(Error::new(3767, b"HY000", text));
            }
            columns[at].default = ColumnDefault::Expression(stored.text);
        }
    }
    Ok(())
}

/// No column goes, or gets another name, that an expression names which stays. `renamed` and what is not among the new
/// columns: the changes. `settled`: expressions that the statement itself defines.
pub fn check_dependants(
    table: &Table,
    definition: &mut TableDefinition,
    stays: &dyn Fn(&str) -> bool,
    settled: &[ComputedSpec],
) -> Result<()> {
    let mut kept = Vec::new();
    for check in std::mem::take(&mut definition.checks) {
        let names = stored_expression::names(&check.condition)?;
        match names.iter().find(|name| !stays(name)) {
            None => kept.push(check),
            // The constraint of a single column goes with it.
            Some(gone) => {
                let is_renamed = definition.renamed_columns.iter().any(|(old, _)| same_name(old, gone));
                if is_renamed || names.iter().any(|name| !same_name(name, gone)) {
                    return Err(Error::column_of_check(&check.name, gone));
                }
            }
        }
    }
    definition.checks = kept;
    for column in definition.columns.iter().filter(|column| !settled.iter().any(|spec| spec.is_of(&column.name))) {
        let (text, hidden) = match (&column.generated, &column.default) {
            (Some(generated), _) => (&generated.expression, generated.hidden),
            (None, ColumnDefault::Expression(text)) => (text, false),
            _ => continue,
        };
        // Spatial indexes follow the names of their columns, and go with them.
        if hidden && spatial_key::is_expression(text) {
            continue;
        }
        let names = stored_expression::names(text)?;
        let Some(gone) = names.iter().find(|name| !stays(name)) else { continue };
        return Err(match (column.generated.is_some(), hidden) {
            (true, true) => Error::column_of_functional_index(gone),
            (true, false) => Error::column_of_generated(gone),
            (false, _) => Error::column_of_default(gone, &table.name),
        });
    }
    Ok(())
}

/// The index with hidden columns in the place of its functional parts, which are added to the columns.
pub fn with_hidden_columns(
    context: &Context<'_>,
    spec: &IndexSpec,
    table: &str,
    columns: &mut Vec<Column>,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<IndexSpec> {
    // The columns of other functional indexes have no name.
    let is_hidden = |name: &str| columns.iter().any(|column| column.is_hidden() && same_name(&column.name, name));
    if let Some(part) = spec.parts.iter().find(|part| part.expression.is_none() && is_hidden(&part.column)) {
        return Err(Error::key_column_missing(&part.column));
    }
    let mut spec = match spec.kind {
        _ if spatial::is_meant(spec, columns) => spatial::functional(context, spec, columns, is_taken)?,
        IndexKind::Spatial => spatial::functional(context, spec, columns, is_taken)?,
        _ => spec.clone(),
    };
    if spec.parts.iter().all(|part| part.expression.is_none()) {
        return Ok(spec);
    }
    if spec.kind == IndexKind::Primary {
        return Err(Error::new(3756, b"HY000", "The primary key cannot be a functional index"));
    }
    let free = || {
        let numbered = (2..100).map(|number| format!("functional_index_{number}"));
        std::iter::once("functional_index".to_owned()).chain(numbered).find(|name| !is_taken(name))
    };
    let name = match &spec.name {
        Some(name) => name.clone(),
        None => free().ok_or_else(|| Error::duplicate_key_name("functional_index"))?,
    };
    spec.name = Some(name.clone());
    let mut has_array = false;
    for (at, part) in spec.parts.iter_mut().enumerate() {
        let Some(expr) = part.expression.take() else { continue };
        if matches!(expr, Expr::Column(_)) {
            let text = "Functional index on a column is not supported. Consider using a regular index instead.";
            return Err(Error::new(3762, b"HY000", text));
        }
        let is_array = matches!(expr, Expr::CastArray { .. });
        let stored = stored_expression::store(context, &expr, Subject::Index(&name), table, columns)?;
        let ty = stored.bound.ty;
        let mut holds = TypeInfo::column_type(&ty);
        if let Node::CastArray { elements, .. } = &stored.bound.node {
            if std::mem::replace(&mut has_array, true) {
                return Err(Error::unsupported("more than one multi-valued key part per index"));
            }
            if part.descending {
                return Err(Error::unsupported("a multi-valued key part in descending order"));
            }
            holds = ColumnType::Blob { size: LobSize::Long };
            part.elements = Some(elements.clone());
        }
        let too_long = || {
            let text = "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider \
                        using CAST.";
            Error::new(3757, b"HY000", text)
        };
        match ty.kind {
            _ if is_array => {}
            Kind::Text => return Err(too_long()),
            Kind::Json | Kind::Geometry(_) => {
                let text = "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
                return Err(Error::new(3753, b"HY000", text));
            }
            _ => {}
        }
        let hidden = (0..).map(|number| format!("!hidden!{name}!{at}!{number}"));
        let known = |name: &str| columns.iter().any(|column| same_name(&column.name, name));
        let hidden = hidden.into_iter().find(|name| !known(name)).unwrap_or_default();
        let mut column = Column::new(&hidden, holds, true);
        column.invisible = true;
        column.generated = Some(Generated { expression: stored.text, stored: false, hidden: true });
        columns.push(column);
        part.column = hidden;
    }
    Ok(spec)
}
