//! IN and EXISTS as joins, where they are conditions of their own.
//!
//! | condition | becomes |
//! |---|---|
//! | x IN (SELECT y FROM one table), where y is a unique key | an inner join: there is at most one row |
//! | x IN (a query that reads nothing of the outer row) | an inner join with its rows, each once |
//! | EXISTS, IN (a query that reads the outer row) | a semi-join |
//! | NOT EXISTS, and NOT IN where nothing can be NULL | an anti-join |
//!
//! The inner joins may come first: the tables are ordered by cost. A semi-join stops at its first row.
//!
//! What does not select only, and NOT IN where NULL is possible, stays a subquery; the rows of one that reads nothing of the
//! outer row are looked up as a set then (see [`crate::expression::lists`]).

use std::cell::RefCell;
use std::rc::Rc;

use format::collation::collation;
use storage::{ColumnSet, ReadMode};

use super::Rules;
use super::merge::selects_only;
use crate::expression::{Comparison, Expr, Node};
use crate::parser::ast::{BinaryOp, SetOperator};
use crate::planner::hinted::BlockHints;
use crate::planner::logical::{Block, Derived, Nest, Query, Semi, Source, Subquery, TABLES_MAX, is_volatile};
use crate::planner::{SourceColumn, SourceKind};
use crate::types::{Switches, TypeInfo};

/// A condition that asks a subquery.
struct Asked {
    query: usize,
    /// What is compared with the subquery's columns; empty: EXISTS.
    row: Vec<Expr>,
    hows: Vec<Comparison>,
    anti: bool,
}

/// How a condition is joined.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// The tables join those of the query.
    Inner,
    /// The rows of the query, each once, are a table.
    Rows,
    Semi,
}

/// Turns the subqueries of a block's conditions into joins.
pub fn convert(rules: &Rules<'_, '_>, block: &mut Block) {
    // Rows that a subquery filters are unlocked if they do not pass it.
    if block.sources.iter().any(|source| source.read_mode != ReadMode::Consistent) || block.straight {
        return;
    }
    let mut from = std::mem::take(&mut block.from);
    let mut is_changed = false;
    convert_nest(rules, block, &mut from, true, &mut is_changed);
    block.from = from;
    if is_changed {
        drop_unasked(block);
    }
}

fn convert_nest(rules: &Rules<'_, '_>, block: &mut Block, nest: &mut Nest, is_root: bool, is_changed: &mut bool) {
    for left in &mut nest.lefts {
        convert_nest(rules, block, &mut left.nest, false, is_changed);
    }
    if nest.tables.is_empty() && nest.lefts.is_empty() {
        return;
    }
    for condition in std::mem::take(&mut nest.conditions) {
        let asked = asked(&condition);
        let way = asked.as_ref().and_then(|asked| way(rules, block, asked, is_root));
        match (asked, way) {
            (Some(asked), Some(way)) => {
                *is_changed = true;
                join(rules, block, nest, asked, way);
            }
            _ => nest.conditions.push(condition),
        }
    }
}

fn asked(condition: &Expr) -> Option<Asked> {
    match &condition.node {
        Node::Exists { query } => Some(Asked { query: *query, row: vec![], hows: vec![], anti: false }),
        Node::InQuery { row, query, hows, negated } => {
            Some(Asked { query: *query, row: row.clone(), hows: hows.clone(), anti: *negated })
        }
        Node::Not(inner) => asked(inner).map(|asked| Asked { anti: !asked.anti, ..asked }),
        _ => None,
    }
}

fn way(rules: &Rules<'_, '_>, block: &Block, asked: &Asked, is_root: bool) -> Option<Way> {
    let Subquery { query, outer } = &block.subqueries[asked.query];
    if asked.row.iter().any(|expr| is_volatile(expr) || asks(expr)) || outer.iter().any(asks) {
        return None;
    }
    let inner = match query {
        Query::Block(inner) if is_simple(inner, block.sources.len()) => Some(inner),
        _ => None,
    };
    // The first rows in an order that an index has: to look up each one is better than to sort.
    let is_top = is_root && block.limit.is_some() && !block.order.is_empty() && block.group.is_none();
    let hints = match query {
        Query::Block(inner) => inner.hints,
        _ => BlockHints::default(),
    };
    let semijoins =
        hints.semijoin.or(hints.materializes.map(|_| false)).unwrap_or(rules.switches.has(Switches::SEMIJOIN));
    let materializes = hints.materializes.unwrap_or(rules.switches.has(Switches::MATERIALIZATION));
    if outer.is_empty() {
        if asked.row.is_empty() || asked.anti || is_top {
            return None;
        }
        return match inner {
            Some(inner) if semijoins && is_unique(inner, asked) => Some(Way::Inner),
            _ if materializes && is_hashable(query, block, asked) => Some(Way::Rows),
            _ => None,
        };
    }
    let inner = inner.filter(|_| semijoins)?;
    let is_never_null = || {
        let outputs = inner.output.iter().all(|expr| !expr.ty.nullable);
        outputs && asked.row.iter().all(|expr| !expr.ty.nullable)
    };
    (!asked.anti || asked.row.is_empty() || is_never_null()).then_some(Way::Semi)
}

/// Whether the tables and conditions of a subquery can stand in the query around it.
fn is_simple(inner: &Block, outer_sources: usize) -> bool {
    selects_only(inner)
        && !inner.straight
        && outer_sources + inner.sources.len() <= TABLES_MAX
        && inner.sources.iter().all(|source| source.read_mode == ReadMode::Consistent)
        && inner.output.iter().all(|expr| !is_volatile(expr) && !asks(expr))
        && !(inner.from.tables.is_empty() && inner.from.lefts.is_empty())
}

fn asks(expr: &Expr) -> bool {
    let mut asks = false;
    expr.walk(&mut |expr| asks |= expr.subquery().is_some());
    asks
}

/// Whether values that compare as equal are equal for DISTINCT, and for a hash.
fn is_exact(how: Comparison, left: &Expr, right: &Expr) -> bool {
    match how {
        Comparison::Integer => left.ty.is_integer() && right.ty.is_integer(),
        Comparison::String(id) => {
            let is_of = |ty: &TypeInfo| ty.is_string() && ty.collation == id;
            is_of(&left.ty) && is_of(&right.ty) && collation(id).charset == right.ty.charset()
        }
        Comparison::DateTime => left.ty.has_date() && left.ty.kind == right.ty.kind,
        _ => false,
    }
}

/// Whether a subquery of one table compares a unique key: at most one row is equal.
fn is_unique(inner: &Block, asked: &Asked) -> bool {
    let [source] = &inner.sources[..] else { return false };
    let Some(table) = source.table() else { return false };
    let compares = |column: usize| {
        inner.output.iter().zip(&asked.row).zip(&asked.hows).any(|((output, value), how)| {
            matches!(output.node, Node::Column(slot) if slot == source.slot_base + column)
                && is_exact(*how, value, output)
        })
    };
    table.indexes.iter().any(|index| {
        index.unique
            && !index.is_hidden()
            && index.parts.iter().all(|part| part.prefix_chars.is_none() && compares(part.column))
    })
}

/// Whether the rows of a subquery can be found by a hash of what they are compared with.
fn is_hashable(query: &Query, block: &Block, asked: &Asked) -> bool {
    let is_typed = asked.row.iter().zip(query.columns()).zip(&asked.hows).all(|((value, column), how)| {
        let output = Expr { ty: column.ty, ..Expr::null() };
        matches!(value.node, Node::Column(_)) && is_exact(*how, value, &output)
    });
    let has_members = |query: &Query| match query {
        Query::Block(inner) => {
            inner.output.iter().any(|expr| matches!(expr.node, Node::EnumName { .. } | Node::SetNames { .. }))
        }
        Query::Union(_) | Query::Recursive(_) | Query::Working(_) => false,
    };
    let is_read = match query {
        // Which rows a limit leaves depends on their duplicates.
        Query::Block(inner) => inner.limit.is_none() && !inner.calc_found_rows,
        Query::Union(union) => {
            union.limit.is_none() && union.links.iter().all(|link| link.operator == SetOperator::Union)
        }
        Query::Recursive(_) | Query::Working(_) => false,
    };
    is_typed && is_read && !has_members(query) && block.sources.len() < TABLES_MAX
}

fn join(rules: &Rules<'_, '_>, block: &mut Block, nest: &mut Nest, asked: Asked, way: Way) {
    let place = &mut block.subqueries[asked.query];
    let query = std::mem::replace(&mut place.query, Query::nothing());
    let outer = std::mem::take(&mut place.outer);
    let (inner, output) = match query {
        Query::Block(inner) if way != Way::Rows => inline(rules.context.parameter_count, block, *inner, &outer),
        query => rows_once(rules, block, query),
    };
    let mut inner = inner;
    for ((value, output), how) in asked.row.into_iter().zip(output).zip(asked.hows) {
        let ty = TypeInfo::boolean().nullable(value.ty.nullable || output.ty.nullable);
        let (left, right) = (Box::new(value), Box::new(output));
        inner.conditions.push(Expr { node: Node::Compare { op: BinaryOp::Equal, how, left, right }, ty });
    }
    match way {
        Way::Semi => nest.semis.push(Semi { nest: inner, anti: asked.anti }),
        Way::Inner | Way::Rows => nest.absorb(inner),
    }
}

/// The rows of a query, each once, as a new source of the block.
fn rows_once(rules: &Rules<'_, '_>, block: &mut Block, mut query: Query) -> (Nest, Vec<Expr>) {
    let number = match &mut query {
        Query::Block(inner) => {
            inner.keeps_digits = false;
            inner.order.clear();
            inner.distinct = true;
            inner.select_number
        }
        Query::Union(union) => {
            union.distinct_until = Some(union.parts.len() - 1);
            0
        }
        Query::Recursive(_) | Query::Working(_) => 0,
    };
    let next = rules.context.next_derived.get() + 1;
    rules.context.next_derived.set(next);
    let columns = query.columns().to_vec();
    let slot_base = block.slots.len();
    let source = block.sources.len();
    let source_columns: Vec<SourceColumn> = columns
        .iter()
        .map(|column| SourceColumn {
            name: column.name.clone(),
            ty: column.column_type.clone(),
            info: column.ty,
            invisible: false,
        })
        .collect();
    let output = columns.iter().enumerate().map(|(at, column)| Expr::slot(slot_base + at, column.ty)).collect();
    block.slots.extend((0..columns.len()).map(|column| (source as u16, column as u16)));
    block.sources.push(Source {
        kind: SourceKind::Derived(Rc::new(Derived {
            id: next,
            columns,
            query: RefCell::new(query),
            view: None,
            refused: Vec::new(),
        })),
        alias: format!("<subquery{number}>").into(),
        database: "".into(),
        columns: source_columns,
        slot_base,
        needed: ColumnSet::EMPTY,
        unreadable: ColumnSet::EMPTY,
        read_mode: ReadMode::Consistent,
        is_changed: false,
        hints: Vec::new(),
        hinted: Default::default(),
        lateral: Vec::new(),
        division: None,
        nullable: false,
    });
    (Nest { tables: vec![source], ..Nest::default() }, output)
}

/// The tables of a subquery as sources of the block, with its conditions, and what it selects.
fn inline(parameter_count: usize, block: &mut Block, mut inner: Block, outer: &[Expr]) -> (Nest, Vec<Expr>) {
    let (sources, slots, asked) = (block.sources.len(), block.slots.len(), block.subqueries.len());
    inner.for_each_expr_mut(&mut |expr| {
        expr.walk_mut(&mut |expr| {
            if let Node::Parameter(at) = expr.node
                && let Some(at) = at.checked_sub(parameter_count)
            {
                *expr = outer[at].clone();
                return true;
            }
            if let Some(query) = expr.subquery_mut() {
                *query += asked;
            }
            if let Some(slot) = expr.as_column_mut() {
                *slot += slots;
            }
            false
        });
    });
    inner.from.renumber(&|source| source + sources);
    for mut source in inner.sources {
        source.slot_base += slots;
        block.sources.push(source);
    }
    block.slots.extend(inner.slots.iter().map(|(source, column)| (source + sources as u16, *column)));
    block.subqueries.extend(inner.subqueries);
    (inner.from, inner.output)
}

/// Removes the subqueries that nothing asks any more.
fn drop_unasked(block: &mut Block) {
    let mut asked = vec![false; block.subqueries.len()];
    block.for_each_expr(&mut |expr| {
        expr.walk(&mut |expr| {
            if let Some(query) = expr.subquery() {
                asked[query] = true;
            }
        });
    });
    let mut number = vec![0; asked.len()];
    let mut next = 0;
    for (at, asked) in asked.iter().enumerate() {
        number[at] = next;
        next += usize::from(*asked);
    }
    let mut at = 0;
    block.subqueries.retain(|_| {
        at += 1;
        asked[at - 1]
    });
    block.for_each_expr_mut(&mut |expr| {
        expr.walk_mut(&mut |expr| {
            if let Some(query) = expr.subquery_mut() {
                *query = number[*query];
            }
            false
        });
    });
}
