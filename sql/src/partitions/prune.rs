//! Which partitions ranges of values leave.
//!
//! A range is one of the columns of a function in their order: so many values that are given, and an interval for the next
//! column, as a range of an index on these columns would be.
//!
//! | function | a range leaves |
//! |---|---|
//! | HASH, KEY | the one partition, if all columns are given; a short interval of an integer column is counted out |
//! | RANGE, LIST of a column, or of a function that rises with it | the partitions between its two ends |
//! | RANGE and LIST of another expression | the one partition, if all columns are given |
//! | RANGE COLUMNS, LIST COLUMNS | the partitions between its two ends, by any number of columns |
//!
//! YEAR, TO_DAYS, TO_SECONDS and UNIX_TIMESTAMP rise with their column. TO_DAYS and TO_SECONDS are NULL for dates that do not
//! exist, which are therefore where NULL is, whatever the ends of the range are.

use std::cmp::Ordering;
use std::ops::Bound;

use format::value::{ColumnType, Date, DateTime, Value, Zone};
use storage::{Column, ScanRange};

use super::function::{Function, compare, compare_bound};
use super::{Routing, own_context};
use crate::error::Result;
use crate::expression::{EvalContext, Expr, Node, Warnings};

/// Values of the columns of a function, from and to.
pub type ValueRange<'k> = ScanRange<'k>;

/// Who is told ranges.
pub type VisitRange<'v> = dyn FnMut(&ValueRange<'_>) -> Result<()> + 'v;

/// Who tells ranges.
pub type Ranges<'r> = dyn Fn(&mut VisitRange<'_>) -> Result<()> + 'r;

/// How many values of an interval are counted out for HASH and KEY.
const COUNTED_OUT_MAX: i128 = 64;

/// A set of partitions by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSet {
    words: Vec<u64>,
    count: usize,
}

impl PartitionSet {
    pub fn empty(count: usize) -> PartitionSet {
        PartitionSet { words: vec![0; count.div_ceil(64)], count }
    }

    pub fn all(count: usize) -> PartitionSet {
        let mut set = PartitionSet::empty(count);
        (0..count).for_each(|at| set.insert(at));
        set
    }

    pub fn insert(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    pub fn contains(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    pub fn is_all(&self) -> bool {
        self.len() == self.count
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn intersect(&mut self, other: &PartitionSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(mine, theirs)| *mine &= theirs);
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).filter(|at| self.contains(*at))
    }
}

/// How an expression depends on the one column that it reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rises {
    /// It is the column.
    IsColumn,
    /// A greater year never gives a smaller number; days and months do not count.
    ByYear,
    /// A later day or moment never gives a smaller number.
    ByMoment,
    Not,
}

fn rises(expr: &Expr) -> Rises {
    match &expr.node {
        Node::Column(_) => Rises::IsColumn,
        Node::Call { function, args } if args.len() == 1 && matches!(args[0].node, Node::Column(_)) => {
            match function.name {
                "year" => Rises::ByYear,
                "to_days" | "to_seconds" | "unix_timestamp" => Rises::ByMoment,
                _ => Rises::Not,
            }
        }
        _ => Rises::Not,
    }
}

/// The key of a range's end, and whether it belongs to it.
type End<'k> = (&'k [Option<&'k [u8]>], bool);

/// The ends of a range; one that is open has no key.
fn ends<'k>(range: &ValueRange<'k>) -> (End<'k>, End<'k>) {
    let end = |bound: &Bound<&'k [Option<&'k [u8]>]>| match *bound {
        Bound::Unbounded => (&[][..], true),
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
    };
    (end(&range.lower), end(&range.upper))
}

/// How many leading columns a range gives one value.
fn given(columns: &[Column], own: &[usize], range: &ValueRange<'_>) -> usize {
    let ((lower, lower_in), (upper, upper_in)) = ends(range);
    let same = lower.iter().zip(upper).zip(own);
    let count = same.take_while(|((a, b), at)| compare(&columns[**at], **a, **b) == Ordering::Equal).count();
    let is_point = lower.len() == upper.len() && count == lower.len();
    if is_point && !(lower_in && upper_in) { 0 } else { count }
}

impl Routing {
    /// The partitions that the union of some ranges leaves; `None`: all. The ranges of the subpartitions' function are apart.
    pub fn leaves(
        &self,
        eval: &EvalContext<'_>,
        columns: &[Column],
        upper: Option<&Ranges<'_>>,
        lower: Option<&Ranges<'_>>,
    ) -> Result<PartitionSet> {
        // A bound that the function makes NULL, such as the zero date, is no news of the statement.
        let unheard = Warnings::default();
        let eval = &EvalContext { warnings: &unheard, ..own_context(eval) };
        let lowers = self.lower.as_ref().map_or(1, |(_, count)| *count);
        let uppers = self.count / lowers.max(1);
        let places = |function: &Function, count: usize, ranges: Option<&Ranges<'_>>| -> Result<PartitionSet> {
            let Some(ranges) = ranges else { return Ok(PartitionSet::all(count)) };
            let mut set = PartitionSet::empty(count);
            ranges(&mut |range| function.prune(eval, columns, range, &mut set))?;
            Ok(set)
        };
        let above = places(&self.upper, uppers, upper)?;
        let Some((function, count)) = &self.lower else { return Ok(above) };
        let below = places(function, *count, lower)?;
        let mut set = PartitionSet::empty(self.count);
        for at in above.iter() {
            below.iter().for_each(|sub| set.insert(at * count + sub));
        }
        Ok(set)
    }
}

impl Function {
    /// Adds the places that rows of a range may have.
    fn prune(
        &self,
        eval: &EvalContext<'_>,
        columns: &[Column],
        range: &ValueRange<'_>,
        out: &mut PartitionSet,
    ) -> Result<()> {
        let own = self.columns();
        let ((lower, lower_in), (upper, upper_in)) = ends(range);
        if !own.is_empty() && given(columns, &own, range) == own.len() {
            let value = |column: usize| own.iter().position(|at| *at == column).and_then(|place| lower[place]);
            // No partition has the value: so no row has it.
            match self.place(eval, columns, &value) {
                Ok(at) => out.insert(at),
                Err(error) if error.is_of_no_partition() => {}
                Err(error) => return Err(error),
            }
            return Ok(());
        }
        let everything = |out: &mut PartitionSet| (0..out.count).for_each(|at| out.insert(at));
        match self {
            Function::Hash { .. } | Function::Key { .. } => {
                if !self.count_out(eval, columns, range, out)? {
                    everything(out);
                }
            }
            Function::Range { expr, bounds } => {
                let Some((low, high, with_null)) = number_ends(eval, columns, expr, range)? else {
                    everything(out);
                    return Ok(());
                };
                if with_null {
                    out.insert(0);
                }
                let first = Function::range_place(bounds, low);
                let last = high.map_or(Some(bounds.len() - 1), |high| Function::range_place(bounds, Some(high)));
                if let Some(first) = first {
                    (first..=last.unwrap_or(bounds.len() - 1)).for_each(|at| out.insert(at));
                }
            }
            Function::List { expr, values, null } => {
                let Some((low, high, with_null)) = number_ends(eval, columns, expr, range)? else {
                    everything(out);
                    return Ok(());
                };
                if with_null && let Some(at) = null {
                    out.insert(*at);
                }
                for (number, at) in values {
                    if low.is_none_or(|low| *number >= low) && high.is_none_or(|high| *number <= high) {
                        out.insert(*at);
                    }
                }
            }
            Function::RangeColumns { bounds, .. } => {
                // A partition begins where the one before it ends.
                let is_behind = |bound: &[super::function::Bound], key: &[Option<&[u8]>], or_equal: bool| {
                    for (place, value) in key.iter().enumerate() {
                        match compare_bound(&columns[own[place]], &bound[place], *value) {
                            Ordering::Equal => {}
                            other => return other == Ordering::Greater,
                        }
                    }
                    or_equal
                };
                let whole = |key: &[Option<&[u8]>]| key.len() == own.len();
                // The first partition with rows at or behind the lower end: its bound lies behind the end. A bound that
                // begins as the end does lies behind some of the rows, unless the end has all columns.
                let first = match lower.is_empty() {
                    true => 0,
                    false => bounds
                        .iter()
                        .position(|bound| is_behind(bound, lower, lower_in && !whole(lower)))
                        .unwrap_or(bounds.len()),
                };
                // The last one: its bound lies behind all rows up to the upper end.
                let last = match upper.is_empty() {
                    true => bounds.len(),
                    false => bounds.iter().position(|bound| is_behind(bound, upper, !upper_in)).unwrap_or(bounds.len()),
                };
                (first..bounds.len().min(last + 1)).for_each(|at| out.insert(at));
            }
            Function::ListColumns { values, .. } => {
                for (row, at) in values {
                    let against = |key: &[Option<&[u8]>]| {
                        let pairs = key.iter().enumerate();
                        pairs
                            .map(|(place, end)| compare(&columns[own[place]], row[place].as_deref(), *end))
                            .fold(Ordering::Equal, Ordering::then)
                    };
                    let above = match against(lower) {
                        Ordering::Equal => lower_in,
                        other => other == Ordering::Greater,
                    };
                    let below = match against(upper) {
                        Ordering::Equal => upper_in,
                        other => other == Ordering::Less,
                    };
                    if above && below {
                        out.insert(*at);
                    }
                }
            }
        }
        Ok(())
    }

    /// A short interval of one integer column, value by value. False: it is none.
    fn count_out(
        &self,
        eval: &EvalContext<'_>,
        columns: &[Column],
        range: &ValueRange<'_>,
        out: &mut PartitionSet,
    ) -> Result<bool> {
        let own = self.columns();
        let [at] = own[..] else { return Ok(false) };
        let ty = &columns[at].ty;
        let ((lower, lower_in), (upper, upper_in)) = ends(range);
        let (ColumnType::Int { .. }, [Some(low)], [Some(high)]) = (ty, lower, upper) else { return Ok(false) };
        let number = |stored: &[u8]| match ty.decode(stored) {
            Value::Int(number) => i128::from(number),
            Value::UInt(number) => i128::from(number),
            _ => 0,
        };
        let (low, high) = (number(low) + i128::from(!lower_in), number(high) - i128::from(!upper_in));
        if high - low >= COUNTED_OUT_MAX.min(out.count as i128 * 2) {
            return Ok(false);
        }
        for one in low..=high {
            let value = match ty {
                ColumnType::Int { unsigned: true, .. } => Value::UInt(u64::try_from(one).unwrap_or(0)),
                _ => Value::Int(one as i64),
            };
            let mut stored = Vec::new();
            if ty.encode(&value, &mut stored).is_err() {
                continue;
            }
            out.insert(self.place(eval, columns, &|_| Some(&stored[..]))?);
        }
        Ok(true)
    }
}

/// The numbers that an expression has at the ends of a range (None: no end), and whether NULL can be among them. None:
/// nothing is known, because the expression does not rise with its column.
type NumberEnds = Option<(Option<i128>, Option<i128>, bool)>;

fn number_ends(eval: &EvalContext<'_>, columns: &[Column], expr: &Expr, range: &ValueRange<'_>) -> Result<NumberEnds> {
    let rising = rises(expr);
    if rising == Rises::Not {
        return Ok(None);
    }
    let ((lower, lower_in), (upper, upper_in)) = ends(range);
    let number = |stored: &[u8]| Function::number(eval, columns, expr, &|_| Some(stored));
    let mut column = 0;
    expr.for_each_column(&mut |slot| column = slot);
    let ty = &columns[column].ty;
    let low = match lower {
        [Some(stored)] => number(stored)?.map(|low| low + i128::from(rising == Rises::IsColumn && !lower_in)),
        _ => None,
    };
    let high = match upper {
        [Some(stored)] => {
            let earlier = match rising {
                _ if upper_in => None,
                Rises::IsColumn => before(stored),
                Rises::ByMoment => moment_before(ty, stored),
                _ => None,
            };
            let high = number(earlier.as_deref().unwrap_or(stored))?;
            match last_of_month_before(ty, stored).filter(|_| rising == Rises::ByMoment) {
                Some(other) => number(&other)?.max(high).filter(|_| high.is_some()),
                None => high,
            }
        }
        _ => None,
    };
    let null_is_in = match lower {
        [] => true,
        [None] => lower_in,
        _ => false,
    };
    Ok(Some((low, high, null_is_in || rising != Rises::IsColumn)))
}

/// The stored integer before another one; None: there is none.
fn before(stored: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = stored.to_vec();
    for byte in bytes.iter_mut().rev() {
        match byte.checked_sub(1) {
            Some(less) => {
                *byte = less;
                return Some(bytes);
            }
            None => *byte = 0xFF,
        }
    }
    None
}

/// The moment before a date or time, as far as its type tells moments apart.
fn moment_before(ty: &ColumnType, stored: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let value = match (ty, ty.decode(stored)) {
        (ColumnType::Date, Value::Date(date)) => {
            let moment = DateTime { date, ..DateTime::ZERO }.to_unix_micros(Zone::UTC);
            Value::Date(DateTime::from_unix_micros(moment - 86_400_000_000, Zone::UTC)?.date)
        }
        (ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp }, Value::DateTime(moment)) => {
            let step = 10_i64.pow(6 - u32::from(*fsp).min(6));
            Value::DateTime(DateTime::from_unix_micros(moment.to_unix_micros(Zone::UTC) - step, Zone::UTC)?)
        }
        _ => return None,
    };
    ty.encode(&value, &mut out).ok()?;
    // Only where it really is the one before: not at the beginning of the calendar.
    (out.as_slice() < stored).then_some(out)
}

/// Days at the end of a month that do not exist (sql_mode ALLOW_INVALID_DATES) come before the next month, and have numbers
/// of days that come behind its beginning: the 31st of the month before.
fn last_of_month_before(ty: &ColumnType, stored: &[u8]) -> Option<Vec<u8>> {
    let (date, is_date) = match ty.decode(stored) {
        Value::Date(date) => (date, true),
        Value::DateTime(moment) => (moment.date, false),
        _ => return None,
    };
    if date.day > 3 {
        return None;
    }
    let (year, month) = if date.month <= 1 { return None } else { (date.year, date.month - 1) };
    let date = Date { year, month, day: 31 };
    let mut out = Vec::new();
    let value = match is_date {
        true => Value::Date(date),
        false => Value::DateTime(DateTime { date, hour: 23, minute: 59, second: 59, ..DateTime::ZERO }),
    };
    ty.encode(&value, &mut out).ok()?;
    Some(out)
}
