//! Equalities between tables: what can be found by hash, and what follows from several of them.
//!
//! A table without a fitting index would be read whole for each row of the tables before it. If an equality connects it
//! with them, its rows are kept in memory instead, and found by a hash of the columns in the equality:
//!
//! ```text
//! FROM a JOIN b ON b.x = a.x AND b.y > 5       step a: scan
//!                                              step b: rows of b with y > 5, by hash of x; filter b.x = a.x
//! ```
//!
//! The equality itself stays a filter, so a hash only has to be the same for equal values. Columns alone are keys: no
//! value is computed that nested loops would not have computed. Tables whose rows are locked are read by nested loops.
//!
//! Equality is transitive where both comparisons follow one rule: `b.x = a.x AND c.x = b.x` has `c.x = a.x` in it, by
//! which c can be found before b is read. Implied equalities serve to find rows; they are not evaluated elsewhere.
//! (Kept by `sql/tests/scripts/hash_joins.test` and by the joins of `sql/tests/equivalents.rs`.)

use format::collation::CollationId;
use storage::ReadMode;

use super::Source;
use super::access::{Access, Choice};
use super::logical::Mask;
use crate::expression::{Comparison, Expr, Node, comparison_of};
use crate::parser::ast::BinaryOp;
use crate::types::{Kind, TypeInfo};

/// As what the two columns of an equality are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Integer,
    Decimal,
    Double,
    Text(CollationId),
    Moment,
    Time,
    Json,
}

/// One equality that finds rows: a column of tables before, and the column of this table.
#[derive(Debug, Clone)]
pub struct HashKey {
    pub probe: Expr,
    pub build: Expr,
    pub kind: KeyKind,
}

/// The share of a table's rows that an equality is taken to let through.
const EQUAL_SHARE: f64 = 0.1;

/// More columns than this that are all equal to each other are not paired.
const CLASS_MAX: usize = 8;

/// As what an equality of two columns can be hashed; None: only the comparison itself tells whether they are equal.
fn kind_of(how: Comparison, left: &TypeInfo, right: &TypeInfo) -> Option<KeyKind> {
    let both = |is: fn(&TypeInfo) -> bool| is(left) && is(right);
    let is_exact = |ty: &TypeInfo| ty.is_integer() || ty.kind == Kind::Decimal;
    match how {
        Comparison::Integer if both(TypeInfo::is_integer) => Some(KeyKind::Integer),
        Comparison::Decimal if both(is_exact) => Some(KeyKind::Decimal),
        Comparison::Double if both(TypeInfo::is_numeric) => Some(KeyKind::Double),
        Comparison::String(id) if both(TypeInfo::is_string) => Some(KeyKind::Text(id)),
        Comparison::DateTime if both(TypeInfo::has_date) => Some(KeyKind::Moment),
        Comparison::Time if both(|ty| ty.kind == Kind::Time) => Some(KeyKind::Time),
        Comparison::Json if both(|ty| ty.kind == Kind::Json) => Some(KeyKind::Json),
        _ => None,
    }
}

/// The two columns of an equality that can be hashed.
fn equality(condition: &Expr) -> Option<(&Expr, &Expr, KeyKind)> {
    let Node::Compare { op: BinaryOp::Equal, how, left, right } = &condition.node else { return None };
    left.as_column()?;
    right.as_column()?;
    Some((left, right, kind_of(*how, &left.ty, &right.ty)?))
}

/// The keys by which the rows of a table can be found among those kept, given the tables before it.
pub fn keys<'e>(
    conditions: impl Iterator<Item = &'e Expr>,
    table: Mask,
    reads: &dyn Fn(&Expr) -> Mask,
) -> Vec<HashKey> {
    let mut keys = Vec::new();
    for condition in conditions {
        let Some((left, right, kind)) = equality(condition) else { continue };
        let (probe, build) = match (reads(left) == table, reads(right) == table) {
            (false, true) => (left, right),
            (true, false) => (right, left),
            _ => continue,
        };
        keys.push(HashKey { probe: probe.clone(), build: build.clone(), kind });
    }
    keys
}

/// Whether keeping the rows of a table replaces what was chosen for it.
pub fn replaces(source: &Source, choice: &Choice) -> bool {
    if !source.lateral.is_empty() {
        return false;
    }
    match choice.access {
        Access::Rows => true,
        Access::Scan { reverse, .. } => !reverse && source.read_mode == ReadMode::Consistent,
        Access::Point { .. } | Access::Range { .. } | Access::Fulltext(_) | Access::Elements(_) => false,
    }
}

/// What it costs then: the table is read once for all the rows before it.
pub fn cost(choice: &mut Choice, rows_before: f64) {
    choice.rows = (choice.rows * EQUAL_SHARE).max(1.0);
    choice.cost = choice.cost / rows_before.max(1.0) + choice.rows;
}

/// Equalities that follow from those written, without them.
pub fn implied(conditions: &[Expr]) -> Vec<Expr> {
    // Columns that are all equal to each other by one rule.
    let mut classes: Vec<(Comparison, Vec<&Expr>)> = Vec::new();
    let mut written = Vec::new();
    for condition in conditions {
        let Some((left, right, _)) = equality(condition) else { continue };
        let Node::Compare { how, .. } = condition.node else { continue };
        let (Node::Column(one), Node::Column(other)) = (&left.node, &right.node) else { continue };
        written.push((*one.min(other), *one.max(other)));
        let of = |column: &Expr| {
            let has = |(rule, members): &(Comparison, Vec<&Expr>)| {
                *rule == how && members.iter().any(|member| member.as_column() == column.as_column())
            };
            classes.iter().position(has)
        };
        match (of(left), of(right)) {
            (None, None) => classes.push((how, vec![left, right])),
            (Some(class), None) => classes[class].1.push(right),
            (None, Some(class)) => classes[class].1.push(left),
            (Some(one), Some(other)) if one != other => {
                let members = classes[one.max(other)].1.clone();
                classes[one.min(other)].1.extend(members);
                classes.remove(one.max(other));
            }
            _ => {}
        }
    }
    let mut implied = Vec::new();
    for (how, members) in classes.into_iter().filter(|(_, members)| (3..=CLASS_MAX).contains(&members.len())) {
        for (at, left) in members.iter().enumerate() {
            for right in &members[at + 1..] {
                let slots = (left.as_column(), right.as_column());
                let (Some(one), Some(other)) = slots else { continue };
                // Another rule for this pair would be another condition.
                let is_same_rule = comparison_of(&left.ty, &right.ty, "=").is_ok_and(|own| own == how);
                if written.contains(&(one.min(other), one.max(other))) || !is_same_rule {
                    continue;
                }
                let (left, right) = (Box::new((*left).clone()), Box::new((*right).clone()));
                let ty = TypeInfo::boolean().nullable(left.ty.nullable || right.ty.nullable);
                implied.push(Expr { node: Node::Compare { op: BinaryOp::Equal, how, left, right }, ty });
            }
        }
    }
    implied
}
