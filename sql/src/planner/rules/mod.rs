//! Rules.

use super::PlanContext;
use super::logical::{Block, Query, Subquery};

pub fn apply(_context: &PlanContext<'_>, query: Query) -> Query {
    query
}

pub fn apply_to_subqueries(_context: &PlanContext<'_>, subqueries: Vec<Subquery>) -> Vec<Subquery> {
    subqueries
}

pub fn apply_to_rows(_context: &PlanContext<'_>, block: Block) -> Block {
    block
}
