//! Rules: from one logical plan to another that has the same rows and costs less.
//!
//! From the innermost query outward:
//!
//! | rule | what it does | switch |
//! |---|---|---|
//! | [`merge`] | a derived table that only selects and joins becomes part of the query that reads it | `derived_merge` |
//! | [`nest::simplify`] | a LEFT JOIN whose NULLs are rejected is an inner join | |
//! | [`disjunction`] | what all branches of an OR have in common stands before it | |
//! | [`semijoin`] | IN and EXISTS become joins | `semijoin`, `materialization` |
//!
//! And from the outermost inward:
//!
//! | | | |
//! |---|---|---|
//! | [`pushdown`] | conditions on the rows of a derived table or union are evaluated where these are made | `derived_condition_pushdown` |
//!
//! The switches are those of `optimizer_switch`. With all of them off a statement has the same rows (kept by
//! `sql/tests/rules.rs`), which is how the rules are tested.

mod disjunction;
mod merge;
mod pushdown;
mod semijoin;

use std::cell::RefCell;

use super::logical::{Block, Query, Subquery};
use super::{PlanContext, SourceKind, nest};
use crate::types::Switches;

/// One pass over a statement.
struct Rules<'c, 'a> {
    context: &'c PlanContext<'a>,
    switches: Switches,
    /// The derived tables that have been seen: several sources may read one.
    seen: RefCell<Vec<usize>>,
}

/// Rewrites a query.
pub fn apply(context: &PlanContext<'_>, mut query: Query) -> Query {
    Rules::new(context).both_ways(&mut query);
    query
}

/// Rewrites subqueries of expressions that are not part of a query.
pub fn apply_to_subqueries(context: &PlanContext<'_>, mut subqueries: Vec<Subquery>) -> Vec<Subquery> {
    let rules = Rules::new(context);
    subqueries.iter_mut().for_each(|subquery| rules.both_ways(&mut subquery.query));
    subqueries
}

/// Rewrites the query that finds the rows of an UPDATE or DELETE: it stays one of a single table.
pub fn apply_to_rows(context: &PlanContext<'_>, mut block: Block) -> Block {
    block.subqueries = apply_to_subqueries(context, block.subqueries);
    disjunction::factor(&mut block);
    block
}

impl<'c, 'a> Rules<'c, 'a> {
    fn new(context: &'c PlanContext<'a>) -> Rules<'c, 'a> {
        Rules { context, switches: context.eval.session.optimizer_switches(), seen: RefCell::default() }
    }

    fn both_ways(&self, query: &mut Query) {
        self.query(query);
        if self.switches.has(Switches::DERIVED_CONDITION_PUSHDOWN) {
            self.seen.borrow_mut().clear();
            self.push_down(query);
        }
    }

    /// Whether a derived table is met for the first time.
    fn is_new(&self, id: usize) -> bool {
        let mut seen = self.seen.borrow_mut();
        let is_new = !seen.contains(&id);
        if is_new {
            seen.push(id);
        }
        is_new
    }

    fn query(&self, query: &mut Query) {
        match query {
            Query::Block(block) => self.block(block),
            Query::Union(union) => union.parts.iter_mut().for_each(|part| self.query(part)),
        }
    }

    fn block(&self, block: &mut Block) {
        block.subqueries.iter_mut().for_each(|subquery| self.query(&mut subquery.query));
        let mut is_plain = block.subqueries.is_empty();
        for source in &block.sources {
            if let SourceKind::Derived(derived) = &source.kind {
                is_plain = false;
                if self.is_new(derived.id) {
                    self.query(&mut derived.query.borrow_mut());
                }
            }
        }
        if !is_plain && self.switches.has(Switches::DERIVED_MERGE) {
            merge::merge(block);
        }
        disjunction::factor(block);
        if !block.subqueries.is_empty() {
            semijoin::convert(self, block);
        }
        if !is_plain {
            nest::simplify(&block.slots, &mut block.from);
        }
    }

    fn push_down(&self, query: &mut Query) {
        match query {
            Query::Block(block) => {
                pushdown::into_sources(self.context.parameter_count, block);
                block.subqueries.iter_mut().for_each(|subquery| self.push_down(&mut subquery.query));
                for source in &block.sources {
                    if let SourceKind::Derived(derived) = &source.kind
                        && self.is_new(derived.id)
                    {
                        self.push_down(&mut derived.query.borrow_mut());
                    }
                }
            }
            Query::Union(union) => union.parts.iter_mut().for_each(|part| self.push_down(part)),
        }
    }
}
