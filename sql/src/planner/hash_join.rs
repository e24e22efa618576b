//! Equalities between tables: what can be found by hash, and what follows from several of them.
//!
//! If an equality connects a table with those before it, its rows can be kept in memory, and found by a hash of the columns
//! in the equality, instead of being looked for by an index, or read whole, for each row before it:
//!
//! ```text
//! FROM a JOIN b ON b.x = a.x AND b.y > 5       step a: scan
//!                                              step b: rows of b with y > 5, by hash of x; filter b.x = a.x
//! ```
//!
//! With a fitting index the cost decides: [`hash_cost`] of all rows against [`lookup_cost`] of each. Estimates can be wrong
//! in both directions; so the first rows use the index in any case, and a table is kept as well when many more rows come
//! than were expected ([`HashPlan::lookups`]).
//!
//! The equality itself stays a filter, so a hash only has to be the same for equal values. Columns alone are keys: no
//! value is computed that nested loops would not have computed. Tables whose rows are locked are read by nested loops.
//!
//! Equality is transitive where both comparisons follow one rule: `b.x = a.x AND c.x = b.x` has `c.x = a.x` in it, by
//! which c can be found before b is read. Implied equalities serve to find rows; they are not evaluated elsewhere.
//! (Kept by `sql/tests/scripts/hash_joins.test` and by the joins of `sql/tests/equivalents.rs`.)

use format::collation::CollationId;
use storage::ReadMode;

use super::access::{Access, Choice};
use super::logical::Mask;
use super::pruning::Pruning;
use super::{Source, SourceKind};
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

/// How a table's rows are kept and found by hash.
#[derive(Debug)]
pub struct HashPlan {
    pub keys: Vec<HashKey>,
    /// How the rows that are kept are read, and whether an index alone has them. None: as the step's own access says.
    pub build: Option<(Access, bool)>,
    /// Which partitions are read for that.
    pub pruning: Option<Box<Pruning>>,
    /// So many rows of the tables before it find theirs by the step's access, before the table is kept.
    pub lookups: u64,
    /// The table is expected to be kept: more than so many rows are expected before it. Otherwise it is if they come.
    pub is_expected: bool,
}

/// What a join costs besides the rows that it reads: the way down an index, the copy of a row that is kept, the search for
/// a key, and a row that is found so. In rows read in order, as all costs.
const DESCENT: f64 = 4.0;
const KEEP: f64 = 1.0;
const PROBE: f64 = 0.5;
const FOUND: f64 = 0.3;
/// A row that is written to a temporary file and read again.
const SPILL: f64 = 3.0;
/// Bytes that a kept row is taken to have, and each of its columns.
const KEPT_ROW_BYTES: f64 = 40.0;
const KEPT_COLUMN_BYTES: f64 = 12.0;

/// What finding rows by hash costs for `rows` rows of the tables before, of which each finds `found`. `build` is what
/// reading the kept rows costs, `kept` their number.
pub fn hash_cost(source: &Source, build: f64, kept: f64, rows: f64, found: f64, memory_bytes: f64) -> f64 {
    let bytes = kept * (KEPT_ROW_BYTES + KEPT_COLUMN_BYTES * source.needed.len() as f64);
    let spilled = if bytes > memory_bytes { (kept + rows) * SPILL } else { 0.0 };
    build + kept * KEEP + rows * (PROBE + found * FOUND) + spilled
}

/// What finding them by an index costs for each row of the tables before.
pub fn lookup_cost(choice: &Choice) -> f64 {
    DESCENT + choice.cost
}

/// Rows that look by an index first are worth this share of what keeping the table costs: estimates may be wrong.
const TRIED: f64 = 0.1;
/// An index that was expected to be cheaper is left when it has cost so many times as much as keeping the table.
const GIVEN_UP: f64 = 2.0;

/// How many rows look by the index before the table is kept.
pub fn lookups(choice: &Choice, build: f64, is_expected: bool) -> u64 {
    let share = if is_expected { TRIED } else { GIVEN_UP };
    let lookups = (share * build / lookup_cost(choice)).ceil();
    if is_expected { lookups.max(1.0) as u64 } else { lookups.max(1000.0) as u64 }
}

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

/// Whether a condition can be a key.
pub fn is_equality(condition: &Expr) -> bool {
    equality(condition).is_some()
}

/// The share of a table's rows that an equality is taken to let through, where nothing tells.
pub const EQUAL_SHARE: f64 = 0.1;

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

/// Whether the rows of a table can be kept: those that are locked are read one by one, and those of a LATERAL query are
/// others for each row.
pub fn can_keep(source: &Source) -> bool {
    let is_consistent = source.table().is_none() || source.read_mode == ReadMode::Consistent;
    is_consistent && source.lateral.is_empty() && !matches!(source.kind, SourceKind::JsonTable(_))
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
