//! What a scan asks of single columns before it gives a row.
//!
//! A condition such as `shipped < '1994-01-01'` is one on the order of stored values. A scan that knows of it looks at the
//! column where it stands in the record, and copies nothing of a row that does not pass:
//!
//! ```text
//! tests    column 10 in [8f93e1, 8f95c0]     column 4 not in [80000018]      a row passes all of them
//! record   ......|..|...|....                -> the columns' bytes           or is passed over
//! ```
//!
//! Values compare as in an index on the column. Those of a fixed length of up to eight bytes that compare as bytes do so as
//! numbers.
//!
//! Invariants:
//!
//! * NULL passes no test, `not in` included.
//! * A scan that has taken a filter gives no row that does not pass it, whatever version of the row its reader sees.

use std::cmp::Ordering;
use std::ops::Bound;

use format::record::{Compare, FieldLayout, Length, compare_value};

/// From one stored value to another one.
pub type Interval = (Bound<Box<[u8]>>, Bound<Box<[u8]>>);

/// The tests that a row has to pass.
#[derive(Debug)]
pub struct RowFilter {
    tests: Vec<ColumnTest>,
}

impl RowFilter {
    /// Numbers are asked first: texts take longer to compare.
    pub fn new(mut tests: Vec<ColumnTest>) -> RowFilter {
        tests.sort_by_key(|test| matches!(test.accepted, Accepted::Values(..)));
        RowFilter { tests }
    }

    pub fn tests(&self) -> &[ColumnTest] {
        &self.tests
    }
}

/// A condition on the stored value of one column.
#[derive(Debug)]
pub struct ColumnTest {
    pub column: usize,
    accepted: Accepted,
    /// Values pass that are not among the accepted ones.
    negated: bool,
}

#[derive(Debug)]
enum Accepted {
    /// Both ends belong to a range.
    Numbers(Vec<(u64, u64)>),
    Values(FieldLayout, Vec<Interval>),
}

impl ColumnTest {
    /// `layout` is that of the column's values.
    pub fn new(column: usize, layout: FieldLayout, intervals: Vec<Interval>, negated: bool) -> ColumnTest {
        let is_short = matches!(layout.length, Length::Fixed(bytes) if bytes <= 8) && layout.compare == Compare::Bytes;
        let accepted = match is_short {
            true => Accepted::Numbers(intervals.iter().filter_map(numbers_of).collect()),
            false => Accepted::Values(layout, intervals),
        };
        ColumnTest { column, accepted, negated }
    }

    /// Whether a stored value passes; None = NULL.
    #[inline]
    pub fn passes(&self, stored: Option<&[u8]>) -> bool {
        let Some(stored) = stored else { return false };
        let found = match &self.accepted {
            Accepted::Numbers(ranges) => {
                let value = number(stored);
                ranges.iter().any(|(from, to)| *from <= value && value <= *to)
            }
            Accepted::Values(layout, intervals) => intervals.iter().any(|interval| is_within(layout, stored, interval)),
        };
        found != self.negated
    }
}

#[inline]
fn number(stored: &[u8]) -> u64 {
    stored.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The range of numbers; None: it is empty.
fn numbers_of((lower, upper): &Interval) -> Option<(u64, u64)> {
    let from = match lower {
        Bound::Unbounded => 0,
        Bound::Included(value) => number(value),
        Bound::Excluded(value) => number(value).checked_add(1)?,
    };
    let to = match upper {
        Bound::Unbounded => u64::MAX,
        Bound::Included(value) => number(value),
        Bound::Excluded(value) => number(value).checked_sub(1)?,
    };
    Some((from, to))
}

fn is_within(layout: &FieldLayout, stored: &[u8], (lower, upper): &Interval) -> bool {
    let order = |bound: &[u8]| compare_value(layout, Some(stored), Some(bound));
    // A point is compared once.
    if let (Bound::Included(from), Bound::Included(to)) = (lower, upper)
        && from == to
    {
        return order(from) == Ordering::Equal;
    }
    let is_above = match lower {
        Bound::Unbounded => true,
        Bound::Included(from) => order(from) != Ordering::Less,
        Bound::Excluded(from) => order(from) == Ordering::Greater,
    };
    is_above
        && match upper {
            Bound::Unbounded => true,
            Bound::Included(to) => order(to) != Ordering::Greater,
            Bound::Excluded(to) => order(to) == Ordering::Less,
        }
}

#[cfg(test)]
mod tests {
    use format::collation::CollationId;
    use format::value::ColumnType;

    use super::*;

    fn value(bytes: &[u8]) -> Bound<Box<[u8]>> {
        Bound::Included(bytes.into())
    }

    fn behind(bytes: &[u8]) -> Bound<Box<[u8]>> {
        Bound::Excluded(bytes.into())
    }

    #[test]
    fn numbers_have_the_order_of_their_bytes() {
        let layout = ColumnType::Int { bytes: 2, unsigned: true }.layout(true);
        let between = ColumnTest::new(3, layout, vec![(behind(&[0, 4]), value(&[1, 0]))], false);
        let passing = [[0, 4], [0, 5], [1, 0], [1, 1]].map(|stored| between.passes(Some(&stored)));
        assert_eq!(passing, [false, true, true, false]);
        let other = ColumnTest::new(3, layout, vec![(value(&[0, 5]), value(&[0, 5]))], true);
        assert_eq!([[0, 5], [0, 6]].map(|stored| other.passes(Some(&stored))), [false, true]);
        assert!(!between.passes(None) && !other.passes(None));
    }

    #[test]
    fn nothing_lies_behind_the_largest_number_and_before_the_least() {
        let layout = ColumnType::Int { bytes: 8, unsigned: true }.layout(false);
        let ends = [(behind(&[0xFF; 8]), Bound::Unbounded), (Bound::Unbounded, behind(&[0; 8]))];
        let test = ColumnTest::new(0, layout, ends.to_vec(), false);
        assert!(!test.passes(Some(&[0xFF; 8])) && !test.passes(Some(&[0; 8])));
        let all = ColumnTest::new(0, layout, vec![(Bound::Unbounded, Bound::Unbounded)], false);
        assert!(all.passes(Some(&[0xFF; 8])) && all.passes(Some(&[0; 8])));
    }

    #[test]
    fn texts_compare_by_their_collation() {
        let ty = ColumnType::VarChar { chars: 10, collation: CollationId::DEFAULT };
        let test = ColumnTest::new(1, ty.layout(true), vec![(value(b"abc"), value(b"abc"))], false);
        assert!(test.passes(Some(b"ABC")) && !test.passes(Some(b"abd")) && !test.passes(None));
        let from = ColumnTest::new(1, ty.layout(true), vec![(behind(b"abc"), Bound::Unbounded)], true);
        assert!(from.passes(Some(b"ABC")) && !from.passes(Some(b"b")));
    }
}
