//! What optimizer hints say of the parts of a query. See [`super::hints`].

use crate::parser::ast::OrderPlace;

/// What hints say of a source.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hinted {
    /// Its place among the tables of its join.
    pub order: Option<(OrderPlace, u16)>,
    /// Whether its rows are to be found by hash.
    pub hash: Option<bool>,
    /// Whether several of its indexes may be read for one condition.
    pub index_merge: Option<bool>,
    /// A bit for each index that is not to be read by ranges.
    pub no_ranges: u128,
    /// Whether a derived table is to become part of the query.
    pub merge: Option<bool>,
    /// Whether conditions on the rows of a derived table are evaluated inside of it.
    pub pushdown: Option<bool>,
}

/// What hints say of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockHints {
    pub fixed_order: bool,
    /// Of a subquery: whether it may be joined.
    pub semijoin: Option<bool>,
    /// Of a subquery: whether its rows are to be kept.
    pub materializes: Option<bool>,
}

impl Hinted {
    /// Whether a table must stand before another one.
    pub fn precedes(&self, other: &Hinted) -> bool {
        match (self.order, other.order) {
            (Some((one, at)), Some((two, other_at))) if one == two => at < other_at,
            (Some((OrderPlace::First, _)), _) => true,
            (_, Some((OrderPlace::Last, _))) => true,
            _ => false,
        }
    }
}
