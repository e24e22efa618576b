//! DROP VIEW, and what statements about tables say of views.

use storage::{DefinitionKind, DefinitionName};

use super::{Context, Outcome};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::information_schema::DescribeViews;
use crate::parser::ast::TableName;
use crate::planner::view::ViewDescriber;
use crate::views::View;

pub fn is_view(context: &Context<'_>, database: &str, name: &str) -> bool {
    context.wait.temporary_table(database, name).is_none()
        && context.instance.engine.definition(DefinitionKind::View, database, name).is_some()
}

/// An error if a name that is to be a table's is a view's.
pub fn check_none(context: &Context<'_>, database: &str, name: &str) -> Result<()> {
    match is_view(context, database, name) {
        true => Err(Error::wrong_object(database, name, "BASE TABLE")),
        false => Ok(()),
    }
}

/// All or none, as in MySQL 8.0.
pub fn drop_views(context: &Context<'_>, views: &[TableName], if_exists: bool) -> Result<Outcome> {
    let engine = &context.instance.engine;
    let mut names: Vec<DefinitionName<'_>> = Vec::new();
    for view in views {
        let (database, name) = context.resolve(view)?;
        if names.contains(&(DefinitionKind::View, database, name)) {
            return Err(Error::not_unique_table(name));
        }
        names.push((DefinitionKind::View, database, name));
    }
    let locked = engine.lock_names_of(&names, &[], &context.wait).map_err(storage_error)?;
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for name in names {
        if engine.table(name.1, name.2).is_some() {
            return Err(Error::wrong_object(name.1, name.2, "VIEW"));
        }
        match locked.find(name.0, name.1, name.2) {
            Some(_) => present.push(name),
            None => absent.push(format!("{}.{}", name.1, name.2)),
        }
    }
    if !absent.is_empty() {
        context.missing(&absent.join(","), if_exists)?;
    }
    if !present.is_empty() {
        locked.drop_all(&present).map_err(storage_error)?;
    }
    Outcome::nothing()
}

/// Whether a view is valid: CHECK TABLE.
pub fn check(context: &Context<'_>, database: &str, name: &str) -> Result<()> {
    let view = context.instance.engine.definition(DefinitionKind::View, database, name);
    let view = view.ok_or_else(|| Error::no_such_table(database, name))?;
    ViewDescriber { instance: context.instance, eval: context.eval }.columns(&view)?;
    let View { definer, as_invoker, .. } = View::decode(&view.bytes)?;
    match as_invoker || context.instance.accounts.get(&definer.0, &definer.1).is_some() {
        true => Ok(()),
        false => Err(Error::no_such_definer(&definer.0, &definer.1)),
    }
}
