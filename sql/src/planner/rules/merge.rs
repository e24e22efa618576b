//! Derived tables that only select and join become part of the query that reads them.
//!
//! ```text
//! SELECT d.s FROM a JOIN (SELECT b.x + 1 AS s, b.y FROM b JOIN c ON p WHERE q) d ON d.y = a.y
//! SELECT b.x + 1 FROM a JOIN (b JOIN c) ON b.y = a.y AND p AND q
//! ```
//!
//! An order of the derived table is the query's, if it reads nothing else and has none; otherwise it means nothing.

use crate::expression::{Expr, Node};
use crate::planner::SourceKind;
use crate::planner::logical::{Block, Nest, Query, Source, TABLES_MAX, is_volatile};

/// Merges what can be merged and is wanted so; `may_merge` looks into a query.
pub fn merge(block: &mut Block, may_merge: &dyn Fn(&Block) -> bool, is_wanted: &dyn Fn(&Source) -> bool) {
    let mut at = 0;
    while at < block.sources.len() {
        // What is merged was rewritten before: its own sources stay.
        at +=
            if is_wanted(&block.sources[at]) && is_mergeable(block, at, may_merge) { merge_one(block, at) } else { 1 };
    }
}

fn is_mergeable(block: &mut Block, at: usize, may_merge: &dyn Fn(&Block) -> bool) -> bool {
    let sources = block.sources.len();
    let is_nullable = block.sources[at].nullable;
    if matches!(&block.sources[at].kind, SourceKind::Derived(derived) if derived.stays_apart()) {
        return false;
    }
    let Some(Query::Block(inner)) = block.sources[at].own_query() else { return false };
    selects_only(inner)
        && may_merge(inner)
        && sources - 1 + inner.sources.len() <= TABLES_MAX
        && inner.output.iter().all(|expr| expr.as_column().is_some() || !is_nullable && is_movable(expr))
}

/// Whether a query is nothing but tables, conditions and a select list.
pub fn selects_only(inner: &Block) -> bool {
    let mut is_stable = true;
    inner.from.for_each_condition(&mut |condition| is_stable &= !is_volatile(condition));
    is_stable
        && !inner.sources.is_empty()
        && !inner.distinct
        && !inner.calc_found_rows
        && inner.group.is_none()
        && inner.having.is_none()
        && inner.windows.is_empty()
        && inner.limit.is_none()
}

/// Whether an expression may be evaluated elsewhere, and as often as it is read.
fn is_movable(expr: &Expr) -> bool {
    let mut has_subquery = false;
    expr.walk(&mut |expr| has_subquery |= expr.subquery().is_some());
    !has_subquery && !is_volatile(expr)
}

/// Merges one; the number of its tables.
fn merge_one(block: &mut Block, at: usize) -> usize {
    let Some(Query::Block(inner)) = block.sources[at].own_query() else { unreachable!("it is mergeable") };
    let mut inner = std::mem::replace(&mut **inner, Block::nothing());
    block.straight |= inner.straight;
    let count = inner.sources.len();
    let merged = block.sources.remove(at);
    let old_base = merged.slot_base;
    let width = merged.columns.len();
    let is_nullable = merged.nullable;

    // The sources in their new places, and where the slots of each begin.
    let rest = block.sources.split_off(at);
    let outer_bases: Vec<usize> = block.sources.iter().chain(&rest).map(|source| source.slot_base).collect();
    let inner_bases: Vec<usize> = inner.sources.iter().map(|source| source.slot_base).collect();
    block.sources.extend(std::mem::take(&mut inner.sources));
    block.sources.extend(rest);
    for source in &mut block.sources[at..at + count] {
        source.nullable |= is_nullable;
    }
    let old_slots = std::mem::take(&mut block.slots);
    number_slots(&mut block.sources, &mut block.slots);
    let new_base: Vec<usize> = block.sources.iter().map(|source| source.slot_base).collect();
    let number = |source: usize| if source > at { source + count - 1 } else { source };

    let asked_before = block.subqueries.len();
    let inner_slots = std::mem::take(&mut inner.slots);
    inner.for_each_expr_mut(&mut |expr| {
        expr.walk_mut(&mut |expr| {
            if let Some(query) = expr.subquery_mut() {
                *query += asked_before;
            }
            if let Some(slot) = expr.as_column_mut() {
                let source = inner_slots[*slot].0 as usize;
                *slot = *slot - inner_bases[source] + new_base[at + source];
            }
            false
        });
    });
    let output = &inner.output;
    block.for_each_expr_mut(&mut |expr| {
        expr.walk_mut(&mut |expr| {
            let Some(slot) = expr.as_column_mut() else { return false };
            if !(old_base..old_base + width).contains(slot) {
                let source = old_slots[*slot].0 as usize;
                let before = outer_bases[if source > at { source - 1 } else { source }];
                *slot = *slot - before + new_base[number(source)];
                return true;
            }
            let selected = &output[*slot - old_base];
            match selected.as_column() {
                Some(inner) => *slot = inner,
                None => expr.node = Node::Fitted(Box::new(selected.clone())),
            }
            true
        });
    });

    inner.from.renumber(&|source| at + source);
    block.from.renumber(&number);
    put(&mut block.from, at, inner.from);
    block.subqueries.extend(inner.subqueries);
    let gives_order = block.sources.len() == count && block.group.is_none() && !block.distinct;
    if gives_order && block.order.is_empty() && block.having.is_none() {
        block.order = inner.order;
    }
    count
}

/// Numbers the slots of sources, one source after the other.
pub fn number_slots(sources: &mut [Source], slots: &mut Vec<(u16, u16)>) {
    slots.clear();
    for (number, source) in sources.iter_mut().enumerate() {
        source.slot_base = slots.len();
        slots.extend((0..source.columns.len()).map(|column| (number as u16, column as u16)));
    }
}

/// Puts a nest where a table stands.
fn put(nest: &mut Nest, table: usize, inner: Nest) {
    let mask = inner.mask();
    require(nest, table, mask);
    if let Some(nest) = nest_of(nest, table) {
        nest.tables.retain(|other| *other != table);
        nest.absorb(inner);
    }
}

/// Whatever needs the table needs all that stands for it.
fn require(nest: &mut Nest, table: usize, mask: u64) {
    for left in &mut nest.lefts {
        if left.requires >> table & 1 == 1 {
            left.requires = left.requires & !(1 << table) | mask;
        }
        require(&mut left.nest, table, mask);
    }
    nest.semis.iter_mut().for_each(|semi| require(&mut semi.nest, table, mask));
}

fn nest_of(nest: &mut Nest, table: usize) -> Option<&mut Nest> {
    if nest.tables.contains(&table) {
        return Some(nest);
    }
    let lefts = nest.lefts.iter_mut().map(|left| &mut left.nest);
    let below = lefts.chain(nest.semis.iter_mut().map(|semi| &mut semi.nest));
    below.into_iter().find_map(|nest| nest_of(nest, table))
}
