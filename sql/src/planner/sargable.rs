//! What conditions say about the columns of one table, in terms of an index: points and intervals.

use format::value::ColumnType;
use storage::Table;

use super::Source;
use super::range::{Interval, KeyExpr, PartRange};
use crate::expression::spatial_key::{self, Reach};
use crate::expression::{Comparison, Expr, Node};
use crate::parser::ast::BinaryOp;

/// A condition on one column that an index can answer.
pub struct Sargable {
    pub column: usize,
    pub range: PartRange,
    /// Which of the conditions it comes from.
    pub condition: usize,
    /// The range says all that the condition says.
    pub whole: bool,
}

/// What one condition says about columns of the source.
pub fn collect(
    condition: &Expr,
    number: usize,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
    out: &mut Vec<Sargable>,
) {
    if rows(condition, number, source, table, known, out) {
        return;
    }
    let Some((column, range, whole)) = sargable(condition, source, table, known) else { return };
    out.push(Sargable { column, range, condition: number, whole });
}

/// What a comparison of row constructors says about single columns; false: it is none. None of them says all of it.
///
/// ```text
/// (a, b) > (1, 2)                   a >= 1
/// (a, b) IN ((1, 2), (3, 4))        a IN (1, 3), b IN (2, 4)
/// ```
fn rows(
    condition: &Expr,
    number: usize,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
    out: &mut Vec<Sargable>,
) -> bool {
    let mut push = |column: usize, range: PartRange| {
        out.push(Sargable { column, range, condition: number, whole: false });
    };
    match &condition.node {
        Node::CompareRows { op, left, right, hows } => {
            let equality = matches!(op, BinaryOp::Equal | BinaryOp::NullSafeEqual);
            let columns = if equality { left.len() } else { left.len().min(1) };
            for ((left, right), how) in left.iter().zip(right).zip(hows).take(columns) {
                let (column, value, op) = match indexable(left, *how, source, table, equality) {
                    Some(column) if known(right) => (column, right, *op),
                    _ => match indexable(right, *how, source, table, equality) {
                        Some(column) if known(left) => (column, left, turned(*op)),
                        _ => continue,
                    },
                };
                let bound = Some((key(value), true));
                let range = match op {
                    BinaryOp::Equal => PartRange::Points(vec![key(value)]),
                    BinaryOp::NullSafeEqual => {
                        PartRange::Points(vec![KeyExpr { expr: value.clone(), null_safe: true }])
                    }
                    BinaryOp::Less | BinaryOp::LessEqual => {
                        PartRange::Intervals(vec![Interval { lower: None, upper: bound, like: None }])
                    }
                    BinaryOp::Greater | BinaryOp::GreaterEqual => {
                        PartRange::Intervals(vec![Interval { lower: bound, upper: None, like: None }])
                    }
                    _ => continue,
                };
                push(column, range);
            }
            true
        }
        Node::InRows { row, list, negated: false } => {
            for (at, expr) in row.iter().enumerate() {
                let mut points = Vec::with_capacity(list.len());
                let mut column = None;
                for item in list {
                    let (how, value) = &item[at];
                    column = indexable(expr, *how, source, table, true).filter(|_| known(value));
                    if column.is_none() {
                        break;
                    }
                    points.push(key(value));
                }
                if let Some(column) = column {
                    push(column, PartRange::Points(points));
                }
            }
            true
        }
        _ => false,
    }
}

/// All of the intervals' bounds on one column made one list. ANDed lists cannot be multiplied out here: the most
/// telling one is taken, and single intervals are cut with each other.
pub fn merge<'s>(sargables: &[&'s Sargable]) -> (Vec<Interval>, Vec<&'s Sargable>) {
    let mut best: Option<(Vec<Interval>, Vec<&'s Sargable>)> = None;
    for sargable in sargables {
        let list = sargable.range.clone().into_intervals();
        match &mut best {
            None => best = Some((list, vec![sargable])),
            Some((kept, used)) if kept.len() == 1 && list.len() == 1 => {
                let (old, new) = (&mut kept[0], &list[0]);
                if old.like.is_some() || new.like.is_some() {
                    continue;
                }
                // A second bound on the same side is left to the condition itself.
                let fits = (new.lower.is_none() || old.lower.is_none()) && (new.upper.is_none() || old.upper.is_none());
                if fits {
                    old.lower = old.lower.take().or_else(|| new.lower.clone());
                    old.upper = old.upper.take().or_else(|| new.upper.clone());
                    used.push(sargable);
                }
            }
            Some((kept, used)) => {
                let open = |list: &[Interval]| list.iter().filter(|i| i.lower.is_none() || i.upper.is_none()).count();
                if open(&list) < open(kept) {
                    *kept = list;
                    *used = vec![sargable];
                }
            }
        }
    }
    best.unwrap_or_default()
}

/// The column of this source that an expression is, if an index on it orders values as the comparison does.
fn indexable(expr: &Expr, how: Comparison, source: &Source, table: &Table, equality: bool) -> Option<usize> {
    let slot = expr.as_column()?;
    let column = slot.checked_sub(source.slot_base)?;
    let ty = &table.columns.get(column)?.ty;
    let fits = match ty {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => how == Comparison::String(*collation),
        ColumnType::Binary { .. }
        | ColumnType::VarBinary { .. }
        | ColumnType::Blob { .. }
        | ColumnType::Geometry { .. } => how == Comparison::String(format::collation::CollationId::BINARY),
        // Members compare as strings, but are stored in the order of their definition.
        ColumnType::Enum { collation, .. } => equality && how == Comparison::String(*collation),
        ColumnType::Set { .. } | ColumnType::Json | ColumnType::Bit { .. } => false,
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => how == Comparison::DateTime,
        ColumnType::Time { .. } => how == Comparison::Time,
        _ => matches!(
            how,
            Comparison::Integer | Comparison::Decimal | Comparison::Double | Comparison::DoubleFixed { .. }
        ),
    };
    fits.then_some(column)
}

/// Whether a condition is about one column, in terms of an index.
pub fn is_of_one_column(condition: &Expr, source: &Source, table: &Table, known: &dyn Fn(&Expr) -> bool) -> bool {
    sargable(condition, source, table, known).is_some()
}

/// The column that a condition is about, and the range that says all of it.
pub fn whole(
    condition: &Expr,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
) -> Option<(usize, PartRange)> {
    sargable(condition, source, table, known).filter(|(.., whole)| *whole).map(|(column, range, _)| (column, range))
}

fn key(expr: &Expr) -> KeyExpr {
    KeyExpr { expr: expr.clone(), null_safe: false }
}

fn sargable(
    condition: &Expr,
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
) -> Option<(usize, PartRange, bool)> {
    let interval = |lower, upper| PartRange::Intervals(vec![Interval { lower, upper, like: None }]);
    match &condition.node {
        Node::Compare { op, how, left, right } => {
            let equality = matches!(op, BinaryOp::Equal | BinaryOp::NullSafeEqual);
            let (column, value, op) = match indexable(left, *how, source, table, equality) {
                Some(column) if known(right) => (column, right, *op),
                _ => (indexable(right, *how, source, table, equality).filter(|_| known(left))?, left, turned(*op)),
            };
            let range = match op {
                BinaryOp::Equal => PartRange::Points(vec![key(value)]),
                BinaryOp::NullSafeEqual => {
                    PartRange::Points(vec![KeyExpr { expr: (**value).clone(), null_safe: true }])
                }
                BinaryOp::Less => interval(None, Some((key(value), false))),
                BinaryOp::LessEqual => interval(None, Some((key(value), true))),
                BinaryOp::Greater => interval(Some((key(value), false)), None),
                BinaryOp::GreaterEqual => interval(Some((key(value), true)), None),
                _ => return None,
            };
            Some((column, range, true))
        }
        Node::Between { expr, low, high, hows, negated: false } => {
            let column = indexable(expr, hows[0], source, table, false)?;
            if hows[0] != hows[1] && indexable(expr, hows[1], source, table, false).is_none() {
                return None;
            }
            if !known(low) || !known(high) {
                return None;
            }
            Some((column, interval(Some((key(low), true)), Some((key(high), true))), true))
        }
        Node::In { expr, list, negated: false } => {
            let mut column = None;
            let mut points = Vec::with_capacity(list.len());
            for (how, item) in list {
                let this = indexable(expr, *how, source, table, true)?;
                if !known(item) {
                    return None;
                }
                column = Some(this);
                points.push(key(item));
            }
            Some((column?, PartRange::Points(points), true))
        }
        Node::IsNull { expr, negated: false } => {
            let slot = expr.as_column()?;
            let column = slot.checked_sub(source.slot_base).filter(|column| *column < table.columns.len())?;
            // The inner side of an outer join has NULLs that no index knows; such a condition stands behind the join.
            let null = KeyExpr { expr: Expr::null(), null_safe: true };
            Some((column, PartRange::Points(vec![null]), true))
        }
        Node::Like { expr, pattern, escape, collation, negated: false } => {
            let column = indexable(expr, Comparison::String(*collation), source, table, false)?;
            if !known(pattern) || escape.as_ref().is_some_and(|escape| !known(escape)) {
                return None;
            }
            let like = Some(((**pattern).clone(), escape.as_ref().map(|escape| (**escape).clone())));
            Some((column, PartRange::Intervals(vec![Interval { lower: None, upper: None, like }]), false))
        }
        Node::Call { function, args } => spatial(function.name, args, source, table, known),
        Node::Or(left, right) => {
            let (column, one, one_whole) = sargable(left, source, table, known)?;
            let (other, two, two_whole) = sargable(right, source, table, known)?;
            if column != other {
                return None;
            }
            let whole = one_whole && two_whole;
            if let (PartRange::Points(a), PartRange::Points(b)) = (&one, &two) {
                return Some((column, PartRange::Points(a.iter().chain(b).cloned().collect()), whole));
            }
            let mut all = one.into_intervals();
            all.extend(two.into_intervals());
            Some((column, PartRange::Intervals(all), whole))
        }
        // Inside OR: (a >= 1 AND a < 5) OR ...
        Node::And(left, right) => {
            let mut found = Vec::new();
            collect(left, 0, source, table, known, &mut found);
            collect(right, 0, source, table, known, &mut found);
            let first = found.first()?.column;
            let mine: Vec<&Sargable> = found.iter().filter(|s| s.column == first).collect();
            let (merged, used) = merge(&mine);
            let whole = found.len() == 2 && used.len() == 2 && used.iter().all(|s| s.whole);
            Some((first, PartRange::Intervals(merged), whole))
        }
        _ => None,
    }
}

/// A relation to a geometry, of a column that has a spatial index.
fn spatial(
    function: &str,
    args: &[Expr],
    source: &Source,
    table: &Table,
    known: &dyn Fn(&Expr) -> bool,
) -> Option<(usize, PartRange, bool)> {
    Reach::of(function, true)?;
    let [left, right] = args else { return None };
    [(left, right, true), (right, left, false)].into_iter().find_map(|(expr, value, is_first)| {
        let column = table.columns.get(expr.as_column()?.checked_sub(source.slot_base)?)?;
        let ColumnType::Geometry { srid: Some(srid), .. } = column.ty else { return None };
        // Of a system that is not supported nothing is computed.
        if !spatial_key::is_searched(srid) {
            return None;
        }
        let expression = spatial_key::expression(&column.name, Some(srid));
        let is_key = |column: &storage::Column| {
            column.generated.as_ref().is_some_and(|generated| generated.hidden && *generated.expression == *expression)
        };
        let key_column = table.columns.iter().position(is_key).filter(|_| known(value))?;
        let (lower, upper) = Reach::of(function, is_first)?.bounds(value, srid);
        let bound = |expr: Expr| (key(&expr), true);
        let interval = Interval { lower: lower.map(bound), upper: Some(bound(upper)), like: None };
        Some((key_column, PartRange::Intervals(vec![interval]), false))
    })
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}
