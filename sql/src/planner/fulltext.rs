//! MATCH ... AGAINST: which index answers it, and its rows as an access to a table.

use std::sync::Arc;

use storage::Table;

use super::scope::Level;
use super::{Source, SourceKind};
use crate::error::{Error, Result};
use crate::expression::fulltext::Search;
use crate::expression::{Expr, Node};
use crate::parser::ast::BinaryOp;

/// The slot of a column, also of one that is filled up with spaces (PAD_CHAR_TO_FULL_LENGTH).
pub(super) fn slot_of(expr: &Expr) -> Option<usize> {
    match &expr.node {
        Node::Call { args, .. } if args.len() == 1 => args[0].as_column(),
        _ => expr.as_column(),
    }
}

/// The full-text index over the columns of a MATCH, and these in its order.
pub fn index_of(level: &Level<'_>, columns: &[Expr]) -> Result<(Arc<Table>, usize, Vec<Expr>)> {
    let wrong = || Error::wrong_arguments("MATCH");
    let mut of: Option<(u16, Arc<Table>)> = None;
    let mut ordinals = Vec::with_capacity(columns.len());
    for column in columns {
        let (number, at) = *level.slots.get(slot_of(column).ok_or_else(wrong)?).ok_or_else(wrong)?;
        let source = &level.sources[usize::from(number)];
        let (table, ordinal) = match &source.kind {
            SourceKind::Table(table) => (table.clone(), usize::from(at)),
            SourceKind::Derived(derived) => {
                let origin = derived.columns[usize::from(at)].origin.as_ref();
                let stored = origin.and_then(|origin| origin.stored.clone());
                stored.ok_or_else(Error::no_fulltext_index)?
            }
            SourceKind::Virtual(_) | SourceKind::JsonTable(_) => return Err(Error::no_fulltext_index()),
        };
        match &of {
            Some((known, same)) if *known != number || !Arc::ptr_eq(same, &table) => return Err(wrong()),
            Some(_) => {}
            None => of = Some((number, table)),
        }
        ordinals.push(ordinal);
    }
    let (_, table) = of.ok_or_else(wrong)?;
    let fits = |index: &storage::Index| {
        index.fulltext.is_some()
            && !index.invisible
            && index.parts.len() == ordinals.len()
            && index.parts.iter().all(|part| ordinals.contains(&part.column))
    };
    let index = table.indexes.iter().position(fits).ok_or_else(Error::no_fulltext_index)?;
    let place = |part: &storage::IndexPart| ordinals.iter().position(|ordinal| *ordinal == part.column);
    let args = table.indexes[index].parts.iter().filter_map(place).map(|at| columns[at].clone()).collect();
    Ok((table, index, args))
}

/// The rows of a table that a search finds.
#[derive(Debug)]
pub struct FulltextAccess {
    pub search: Arc<Search>,
    pub against: Expr,
    /// The condition is that the relevance is more than this, or as much: then rows that are not found do not count only
    /// if this is not less than 0, or more.
    pub more_than: Option<(Expr, bool)>,
}

/// The search that a condition asks for of a table, and whether its rows are exactly those that meet it.
pub fn search_of(condition: &Expr, source: &Source, table: &Arc<Table>) -> Option<(FulltextAccess, bool)> {
    let (searched, more_than) = match &condition.node {
        Node::Match { .. } => (condition, None),
        Node::Compare { op, left, right, .. } if right.is_constant() => match op {
            BinaryOp::Greater => (&**left, Some((&**right, false))),
            BinaryOp::GreaterEqual => (&**left, Some((&**right, true))),
            _ => return None,
        },
        Node::Compare { op, left, right, .. } if left.is_constant() => match op {
            BinaryOp::Less => (&**right, Some((&**left, false))),
            BinaryOp::LessEqual => (&**right, Some((&**left, true))),
            _ => return None,
        },
        _ => return None,
    };
    let Node::Match { search, args } = &searched.node else { return None };
    let (against, columns) = args.split_last()?;
    let own = source.slot_base..source.slot_base + source.columns.len();
    let is_own = |column: &Expr| slot_of(column).is_some_and(|slot| own.contains(&slot));
    if !Arc::ptr_eq(&search.table, table) || !columns.iter().all(is_own) {
        return None;
    }
    let is_exact = more_than.is_none();
    let more_than = more_than.map(|(than, equal)| (than.clone(), equal));
    Some((FulltextAccess { search: search.clone(), against: against.clone(), more_than }, is_exact))
}
