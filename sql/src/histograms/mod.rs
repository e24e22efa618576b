//! Histograms: which values a column has, and how often.
//!
//! ```text
//! singleton       value       share of the rows that have it or a smaller one
//! equi-height     lower  upper   the same share, and how many different values there are between
//! ```
//!
//! Values are kept as the column stores them, and compare as in an index: so the ranges that conditions are for an index
//! are ranges of a histogram as well (`planner::selectivity`). [`build`] makes them as MySQL does, [`document`] reads and
//! writes its JSON. NULL has a share of its own; the shares of the values and that of NULL are 1 together.
//!
//! Of texts the first 42 characters count.

mod build;
mod document;

use std::cmp::Ordering;
use std::ops::Bound;

use format::collation::{Charset, CollationId, collation};
use format::record::Compare;
use format::value::{ColumnType, DateTime, Value};
use storage::ScanRange;

pub use build::{Counter, has_histogram_type};

/// The most buckets that can be asked for, and how many there are if nothing is said.
pub const BUCKETS_MAX: u64 = 1024;
pub const BUCKETS_DEFAULT: u64 = 100;

/// The characters of a text that count.
const CHARS_MAX: usize = 42;
/// No condition is taken to be truer than this to nothing: rows change, and a histogram does not.
const SHARE_MIN: f64 = 0.001;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Singleton,
    EquiHeight,
}

#[derive(Clone, Debug, PartialEq)]
struct Bucket {
    /// The smallest and the largest value, as stored; the same one in a singleton histogram.
    lower: Vec<u8>,
    upper: Vec<u8>,
    /// Of all rows: those with values up to the largest one.
    cumulative: f64,
    distinct: f64,
}

/// The histogram of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    kind: Kind,
    buckets: Vec<Bucket>,
    nulls: f64,
    /// The share of the rows that were looked at.
    sampling_rate: f64,
    /// How many buckets were asked for.
    asked: u64,
    /// When it was made, in UTC.
    updated: DateTime,
}

impl Histogram {
    /// Whether it was made of no rows: then it says nothing of those that have come since.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.nulls == 0.0
    }

    /// The share of NULL.
    pub fn nulls(&self) -> f64 {
        self.nulls
    }

    /// The share of the rows of a column of this type that lie in a range of stored values.
    pub fn share(&self, ty: &ColumnType, range: &ScanRange<'_>) -> f64 {
        let below = |bound: &Bound<&[Option<&[u8]>]>, is_lower: bool| match bound {
            Bound::Unbounded if is_lower => 0.0,
            Bound::Unbounded => 1.0,
            Bound::Included(key) => self.below(ty, key.first().copied().flatten(), !is_lower),
            Bound::Excluded(key) => self.below(ty, key.first().copied().flatten(), is_lower),
        };
        (below(&range.upper, false) - below(&range.lower, true)).max(0.0)
    }

    /// The share of the rows whose values begin with this text.
    pub fn share_of_beginning(&self, ty: &ColumnType, beginning: &[u8]) -> f64 {
        let Some(id) = text_collation(ty) else { return 0.0 };
        let beginning = significant(ty, beginning);
        let charset = collation(id).charset;
        let chars = beginning_chars(charset, beginning, usize::MAX).1;
        let order = |value: &[u8]| {
            let (bytes, _) = beginning_chars(charset, value, chars);
            collation(id).compare(&value[..bytes], beginning)
        };
        let (mut share, mut before) = (0.0, 0.0);
        for bucket in &self.buckets {
            let own = bucket.cumulative - before;
            before = bucket.cumulative;
            share += match (order(&bucket.lower), order(&bucket.upper)) {
                (Ordering::Equal, Ordering::Equal) => own,
                // A part of the bucket, of which nothing more is known.
                (Ordering::Equal, _) | (_, Ordering::Equal) => own / 2.0,
                (Ordering::Less, Ordering::Greater) => own / bucket.distinct.max(1.0),
                _ => 0.0,
            };
        }
        share
    }

    /// About how many different values there are.
    pub fn distinct(&self) -> f64 {
        self.buckets.iter().map(|bucket| bucket.distinct).sum()
    }

    /// The share of the rows before a value, or, if it is `included`, up to it. NULL comes first.
    fn below(&self, ty: &ColumnType, value: Option<&[u8]>, included: bool) -> f64 {
        let Some(value) = value else { return if included { self.nulls } else { 0.0 } };
        let value = significant(ty, value);
        let at = self.buckets.partition_point(|bucket| compare_stored(ty, &bucket.upper, value) == Ordering::Less);
        let before = at.checked_sub(1).map_or(0.0, |at| self.buckets[at].cumulative);
        let Some(bucket) = self.buckets.get(at) else { return self.nulls + before };
        let within = match compare_stored(ty, value, &bucket.lower) {
            Ordering::Less => 0.0,
            _ => {
                let share = bucket.cumulative - before;
                let one = share / bucket.distinct.max(1.0);
                let place = position(ty, &bucket.lower, &bucket.upper, value);
                (share - one) * place + if included { one } else { 0.0 }
            }
        };
        self.nulls + before + within
    }
}

/// A share as the planner takes it.
pub fn careful(share: f64) -> f64 {
    share.clamp(SHARE_MIN, 1.0)
}

/// The part of a stored value that counts.
fn significant<'v>(ty: &ColumnType, value: &'v [u8]) -> &'v [u8] {
    let Some(id) = text_collation(ty) else { return value };
    match value.len() <= CHARS_MAX {
        true => value,
        false => &value[..beginning_chars(collation(id).charset, value, CHARS_MAX).0],
    }
}

/// The bytes of the first characters of a text, and how many these are, at most so many.
fn beginning_chars(charset: Charset, text: &[u8], chars_max: usize) -> (usize, usize) {
    let (mut end, mut count) = (0, 0);
    while count < chars_max {
        match charset.decode_char(&text[end..]) {
            Some((_, bytes)) if bytes > 0 => end += bytes,
            _ => break,
        }
        count += 1;
    }
    (end, count)
}

fn text_collation(ty: &ColumnType) -> Option<CollationId> {
    match ty {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => Some(*collation),
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => Some(CollationId::BINARY),
        _ => None,
    }
}

/// The order that an index has of two stored values of a column.
pub fn compare_stored(ty: &ColumnType, a: &[u8], b: &[u8]) -> Ordering {
    let layout = ty.layout(false);
    match layout.compare {
        Compare::Bytes => a.cmp(b),
        Compare::Collation(_) | Compare::Char(_) => format::record::compare_value(&layout, Some(a), Some(b)),
        Compare::Float | Compare::Double => match (ty.decode(a), ty.decode(b)) {
            (Value::Double(a), Value::Double(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        },
    }
}

/// Where a value lies between two others, from 0 to 1.
fn position(ty: &ColumnType, lower: &[u8], upper: &[u8], value: &[u8]) -> f64 {
    if compare_stored(ty, value, upper) == Ordering::Equal {
        return 1.0;
    }
    let (lower, upper, value) = match (ty.decode(lower), ty.decode(upper), ty.decode(value)) {
        (Value::Double(lower), Value::Double(upper), Value::Double(value)) => (lower, upper, value),
        _ => {
            let same = lower.iter().zip(upper).take_while(|(lower, upper)| lower == upper).count();
            // Texts of either case are near each other.
            let fold = text_collation(ty).is_some_and(|id| id != CollationId::BINARY);
            let number = |bytes: &[u8]| {
                let byte = |at: usize| bytes.get(same + at).map_or(0, |byte| *byte);
                let byte = |at: usize| if fold { byte(at).to_ascii_lowercase() } else { byte(at) };
                (0..6).fold(0.0, |number, at| number * 256.0 + f64::from(byte(at)))
            };
            (number(lower), number(upper), number(value))
        }
    };
    let place = (value - lower) / (upper - lower);
    if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.5 }
}
