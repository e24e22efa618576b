//! A change must not read its own table in a subquery: MySQL's 1093, and 1443 where a view stands between.
//!
//! Tables that are joined are not meant, nor is INSERT ... SELECT, whose rows are all found before the first is inserted.
//! A derived table is made as a whole, and so is a view that cannot be merged: these may read the table. INSERT ... VALUES may
//! also read it by another name: each row's subqueries are read to their end before that row goes in.

use storage::{Definition, Table};

use super::SourceKind;
use super::logical::{Derived, Query, Source, Subquery};
use super::rules;
use crate::error::{Error, Result};

/// What a change calls the table that it changes.
pub(super) struct Target<'a> {
    pub table: &'a Table,
    pub alias: &'a str,
    pub view: Option<&'a Definition>,
    /// Only reads by this name are refused; `None`: reads by any name.
    pub read_as: Option<&'a str>,
}

/// How a subquery comes to a table.
enum Way<'q> {
    Itself,
    /// Through this source, which is a view.
    View(&'q Source, &'q Derived),
}

/// 1093 or 1443 if one of the subqueries reads the table. `statement`: UPDATE, DELETE, INSERT.
pub(super) fn check(subqueries: &[Subquery], target: &Target<'_>, statement: &str) -> Result<()> {
    let refused = subqueries.iter().find_map(|subquery| {
        find(&subquery.query, target, &mut |way| {
            let (through, is_same) = match &way {
                Way::Itself => (target.alias, target.view.is_none()),
                Way::View(source, derived) => {
                    let is_target = |view: &Definition| {
                        derived.view.as_ref().is_some_and(|own| own.name == view.name && own.database == view.database)
                    };
                    (&*source.alias, target.view.is_some_and(is_target))
                }
            };
            match is_same {
                true => Error::target_is_read(target.alias),
                false => Error::view_prevents(through, statement, target.alias),
            }
        })
    });
    refused.map_or(Ok(()), Err)
}

/// Describes the first way by which a query reads a table.
fn find(query: &Query, target: &Target<'_>, describe: &mut dyn FnMut(Way<'_>) -> Error) -> Option<Error> {
    match query {
        Query::Block(block) => {
            let of_source = |source: &Source, describe: &mut dyn FnMut(Way<'_>) -> Error| match &source.kind {
                SourceKind::Table(own) if own.id == target.table.id => {
                    target.read_as.is_none_or(|name| *source.alias == *name).then(|| describe(Way::Itself))
                }
                SourceKind::Derived(derived) if is_merged(derived) => {
                    // The outermost view is the one that the statement names.
                    find(&derived.query.borrow(), target, &mut |_| describe(Way::View(source, derived)))
                }
                _ => None,
            };
            let found = block.sources.iter().find_map(|source| of_source(source, describe));
            found.or_else(|| block.subqueries.iter().find_map(|inner| find(&inner.query, target, describe)))
        }
        Query::Union(union) => union.parts.iter().find_map(|part| find(part, target, describe)),
        Query::Recursive(_) | Query::Working(_) => None,
    }
}

/// Whether a source is a view whose tables take its place.
fn is_merged(derived: &Derived) -> bool {
    let merges = |query: &Query| matches!(query, Query::Block(block) if rules::selects_only(block));
    derived.view.is_some() && !derived.stays_apart() && merges(&derived.query.borrow())
}
