//! Key ranges as bytes: what the expressions of an [`Access`](super::Access) become
//! when a plan runs.
//!
//! A value is converted to the stored bytes of the column that it is compared with.
//! A column cannot hold every value: 2.5 lies between two integers, 300 above all
//! TINYINTs. Then the bound moves to where the comparison still means the same:
//!
//! | the value is | `=` | `>`, `>=` | `<`, `<=` |
//! |---|---|---|---|
//! | exact | the point | from it | up to it |
//! | between two stored values | nothing | from behind the lower one | up to the lower one |
//! | below all | nothing | every row but NULLs | nothing |
//! | above all | nothing | nothing | every row but NULLs |
//! | not comparable in index order | everything, and the condition decides | likewise | likewise |
//!
//! The bytes of all ranges lie in one buffer, which is reused from execution to
//! execution.

mod convert;

pub use convert::{Conversion, convert};

use std::cmp::Ordering;
use std::ops::Bound;

use format::collation::collation;
use format::value::{ColumnType, Zone};
use storage::schema::INDEX_PARTS_MAX;
use storage::{Column, IndexPart, ScanRange, Table};

use super::range::{Interval, KeyExpr, PartRange};
use crate::error::Result;
use crate::expression::{Datum, EvalContext, Fields};
use crate::histograms::compare_stored;

/// One value of a key: where its bytes lie; None is NULL.
type Part = Option<(u32, u32)>;

/// A bound: how many of the parts from `first` on.
#[derive(Clone, Copy, Debug)]
enum Edge {
    Unbounded,
    Included { first: u32, count: u32 },
    Excluded { first: u32, count: u32 },
}

/// The ranges of one access, in the index's order, without overlaps. Where a part descends, larger values come first.
#[derive(Default, Debug)]
pub struct KeyRanges {
    bytes: Vec<u8>,
    parts: Vec<Part>,
    ranges: Vec<(Edge, Edge)>,
    /// Points of the leading parts, one list after the other, and where each list ends.
    points: Vec<Part>,
    lists: Vec<u32>,
    tails: Vec<(TailEdge, TailEdge)>,
    /// Every value was converted without widening a range: the conditions that the access answers hold for all rows.
    pub exact: bool,
    /// Where the scan of a LIKE's rows may stop.
    stop: Option<Stop>,
    /// The ranges are counted and not read: those of a LIKE end where nearly all of its rows do.
    counts: bool,
}

/// A scan in the direction in which values rise may stop when this column no longer begins with these bytes.
#[derive(Clone, Copy, Debug)]
struct Stop {
    column: usize,
    bytes: (u32, u32),
    /// Whether values rise in a backward scan.
    backward: bool,
}

/// Of the characters that weigh most so many stand behind any text that is met.
const GREATEST_CHARS: usize = 8;

/// A bound of the last part.
#[derive(Clone, Copy, Debug)]
enum TailEdge {
    Open,
    /// Behind NULL.
    NotNull,
    Included(Part),
    Excluded(Part),
}

impl KeyRanges {
    /// Ranges to estimate rows by.
    pub fn to_count() -> KeyRanges {
        KeyRanges { counts: true, ..KeyRanges::default() }
    }

    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.ranges.clear();
        self.points.clear();
        self.lists.clear();
        self.tails.clear();
        self.exact = true;
        self.stop = None;
    }

    /// The full key of a point lookup; false if no row can have it. `exact` is false if the key is no use.
    pub fn build_point(
        &mut self,
        table: &Table,
        index: usize,
        key: &[KeyExpr],
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<bool> {
        self.build_key(table, table.indexes[index].parts.iter(), key, context, row)
    }

    /// The same for some parts of an index.
    pub fn build_key<'p>(
        &mut self,
        table: &Table,
        parts: impl Iterator<Item = &'p IndexPart>,
        key: &[KeyExpr],
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<bool> {
        self.clear();
        for (key, part) in key.iter().zip(parts) {
            let value = key.expr.eval(context, row)?;
            let (conversion, part) = self.convert(&value, &table.columns[part.column].ty, context.zone);
            match conversion {
                Conversion::Exact => self.parts.push(part),
                Conversion::Unusable => {
                    self.exact = false;
                    return Ok(true);
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Calls `read` with the key of [`KeyRanges::build_point`].
    #[inline]
    pub fn with_point<T>(&self, read: impl FnOnce(&[Option<&[u8]>]) -> T) -> T {
        let mut key: [Option<&[u8]>; INDEX_PARTS_MAX] = [None; INDEX_PARTS_MAX];
        for (slot, part) in key.iter_mut().zip(&self.parts) {
            *slot = part.map(|(from, to)| &self.bytes[from as usize..to as usize]);
        }
        read(&key[..self.parts.len()])
    }

    /// Calls `read` with the range number `at`.
    #[inline]
    pub fn with_range<T>(&self, at: usize, reverse: bool, read: impl FnOnce(&ScanRange<'_>) -> T) -> T {
        let (lower, upper) = self.ranges[at];
        let mut lower_key: [Option<&[u8]>; INDEX_PARTS_MAX] = [None; INDEX_PARTS_MAX];
        let mut upper_key: [Option<&[u8]>; INDEX_PARTS_MAX] = [None; INDEX_PARTS_MAX];
        let lower = self.edge(lower, &mut lower_key);
        let upper = self.edge(upper, &mut upper_key);
        read(&ScanRange { lower, upper, reverse })
    }

    fn edge<'k>(
        &'k self,
        edge: Edge,
        key: &'k mut [Option<&'k [u8]>; INDEX_PARTS_MAX],
    ) -> Bound<&'k [Option<&'k [u8]>]> {
        let (first, count) = match edge {
            Edge::Unbounded => return Bound::Unbounded,
            Edge::Included { first, count } | Edge::Excluded { first, count } => (first as usize, count as usize),
        };
        for (slot, part) in key.iter_mut().zip(&self.parts[first..first + count]) {
            *slot = part.map(|(from, to)| &self.bytes[from as usize..to as usize]);
        }
        match edge {
            Edge::Included { .. } => Bound::Included(&key[..count]),
            _ => Bound::Excluded(&key[..count]),
        }
    }

    /// The column and the bytes at which a LIKE scan in this direction may stop.
    pub fn stop_prefix(&self, reverse: bool) -> Option<(usize, &[u8])> {
        let stop = self.stop.filter(|stop| stop.backward == reverse)?;
        let (from, to) = stop.bytes;
        Some((stop.column, &self.bytes[from as usize..to as usize]))
    }

    /// Makes the ranges of an access.
    pub fn build(
        &mut self,
        table: &Table,
        index: usize,
        parts: &[PartRange],
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<()> {
        self.build_over(&table.columns, &table.indexes[index].parts, parts, context, row)
    }

    /// The same over columns of which there need not be an index.
    pub fn build_over(
        &mut self,
        columns: &[Column],
        index_parts: &[IndexPart],
        parts: &[PartRange],
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<()> {
        self.clear();
        let mut has_tail = false;
        for (range, part) in parts.iter().zip(index_parts) {
            let column = &columns[part.column];
            match range {
                PartRange::Points(points) => {
                    let first = self.points.len();
                    let mut usable = true;
                    for key in points {
                        let value = key.expr.eval(context, row)?;
                        let (conversion, bytes) = self.convert(&value, &column.ty, context.zone);
                        match conversion {
                            Conversion::Exact => self.points.push(bytes),
                            Conversion::Null if key.null_safe => self.points.push(None),
                            Conversion::Unusable => usable = false,
                            _ => {}
                        }
                    }
                    if !usable {
                        self.points.truncate(first);
                        self.exact = false;
                        break;
                    }
                    if self.points.len() - first > 1 {
                        let (bytes, ty) = (&self.bytes, &column.ty);
                        let descends = part.order.descends();
                        self.points[first..].sort_unstable_by(|a, b| {
                            let order = compare_parts(bytes, ty, a, b);
                            if descends { order.reverse() } else { order }
                        });
                        let mut kept = first + 1;
                        for at in first + 1..self.points.len() {
                            let same = compare_parts(&self.bytes, &column.ty, &self.points[kept - 1], &self.points[at])
                                == Ordering::Equal;
                            if !same {
                                self.points[kept] = self.points[at];
                                kept += 1;
                            }
                        }
                        self.points.truncate(kept);
                    }
                    self.lists.push(self.points.len() as u32);
                    if self.points.len() == first {
                        return Ok(()); // No value can match: no range.
                    }
                }
                PartRange::Intervals(intervals) => {
                    let usable = self.tail(intervals, part, column, context, row)?;
                    if !usable {
                        self.exact = false;
                        self.tails.clear();
                        break;
                    }
                    if self.tails.is_empty() {
                        return Ok(());
                    }
                    if part.prefix_chars.is_some() {
                        self.exact = false;
                    }
                    if part.order.descends() {
                        self.tails.reverse();
                        self.tails.iter_mut().for_each(|(lower, upper)| std::mem::swap(lower, upper));
                    }
                    has_tail = true;
                    break;
                }
            }
        }
        // A LIKE's scan can only stop for good where the parts before it are single values.
        if self.stop.is_some() && (self.points.len() > self.lists.len() || self.tails.len() > 1) {
            self.stop = None;
        }
        self.combine(has_tail);
        Ok(())
    }

    /// Multiplies the points of the leading parts out, and puts the last part's intervals behind each.
    fn combine(&mut self, has_tail: bool) {
        let depth = self.lists.len();
        let mut at = [0usize; INDEX_PARTS_MAX];
        let start = |lists: &[u32], level: usize| if level == 0 { 0 } else { lists[level - 1] as usize };
        for (level, at) in at.iter_mut().enumerate().take(depth) {
            *at = start(&self.lists, level);
        }
        loop {
            let prefix = |parts: &mut Vec<Part>, points: &[Part]| {
                let first = parts.len() as u32;
                parts.extend(at[..depth].iter().map(|at| points[*at]));
                first
            };
            if has_tail {
                for tail in 0..self.tails.len() {
                    let (lower, upper) = self.tails[tail];
                    let edge = |tail: TailEdge, parts: &mut Vec<Part>, points: &[Part]| {
                        let first = prefix(parts, points);
                        let count = depth as u32;
                        match tail {
                            TailEdge::Open if depth == 0 => Edge::Unbounded,
                            TailEdge::Open => Edge::Included { first, count },
                            TailEdge::NotNull => {
                                parts.push(None);
                                Edge::Excluded { first, count: count + 1 }
                            }
                            TailEdge::Included(part) => {
                                parts.push(part);
                                Edge::Included { first, count: count + 1 }
                            }
                            TailEdge::Excluded(part) => {
                                parts.push(part);
                                Edge::Excluded { first, count: count + 1 }
                            }
                        }
                    };
                    let lower = edge(lower, &mut self.parts, &self.points);
                    let upper = edge(upper, &mut self.parts, &self.points);
                    self.ranges.push((lower, upper));
                }
            } else if depth == 0 {
                self.ranges.push((Edge::Unbounded, Edge::Unbounded));
            } else {
                let first = prefix(&mut self.parts, &self.points);
                let edge = Edge::Included { first, count: depth as u32 };
                self.ranges.push((edge, edge));
            }
            // The next combination: the last part turns fastest.
            let mut level = depth;
            loop {
                if level == 0 {
                    return;
                }
                level -= 1;
                at[level] += 1;
                if at[level] < self.lists[level] as usize {
                    break;
                }
                at[level] = start(&self.lists, level);
            }
        }
    }

    /// The intervals of the last part, by their values upward. False: not usable.
    fn tail(
        &mut self,
        intervals: &[Interval],
        part: &IndexPart,
        column: &Column,
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<bool> {
        let prefix_chars = part.prefix_chars;
        let not_null = if column.nullable { TailEdge::NotNull } else { TailEdge::Open };
        for interval in intervals {
            if let Some((pattern, escape)) = &interval.like {
                let pattern = pattern.eval(context, row)?;
                let escape = match escape {
                    Some(escape) => Some(escape.eval(context, row)?),
                    None => None,
                };
                let Some((from, to, lower)) = self.like(&pattern, escape.as_ref(), &column.ty, prefix_chars) else {
                    return Ok(false);
                };
                if self.counts {
                    let Some(upper) = self.behind_like((from, to), &column.ty) else { return Ok(false) };
                    self.tails.push((TailEdge::Included(lower), TailEdge::Included(Some(upper))));
                    continue;
                }
                self.exact = false;
                if intervals.len() == 1 {
                    self.stop = Some(Stop { column: part.column, bytes: (from, to), backward: part.order.descends() });
                }
                self.tails.push((TailEdge::Included(lower), TailEdge::Open));
                continue;
            }
            if prefix_chars.is_some() && column.ty.collation().is_some_and(|id| !collation(id).orders_beginnings()) {
                // Texts do not have the order of their beginnings.
                return Ok(false);
            }
            let mut lower = not_null;
            let mut upper = TailEdge::Open;
            let mut empty = false;
            if let Some((key, included)) = &interval.lower {
                let value = key.expr.eval(context, row)?;
                let (conversion, part) = self.convert_prefix(&value, &column.ty, prefix_chars, context.zone);
                match conversion {
                    Conversion::Exact if *included || prefix_chars.is_some() => lower = TailEdge::Included(part),
                    Conversion::Exact => lower = TailEdge::Excluded(part),
                    Conversion::Floor if prefix_chars.is_some() => lower = TailEdge::Included(part),
                    Conversion::Floor => lower = TailEdge::Excluded(part),
                    Conversion::BelowAll => {}
                    Conversion::Null if key.null_safe => lower = TailEdge::Included(None),
                    Conversion::AboveAll | Conversion::Null => empty = true,
                    Conversion::Unusable => return Ok(false),
                }
            }
            if let Some((key, included)) = &interval.upper {
                let value = key.expr.eval(context, row)?;
                let (conversion, part) = self.convert_prefix(&value, &column.ty, prefix_chars, context.zone);
                match conversion {
                    Conversion::Exact if *included || prefix_chars.is_some() => upper = TailEdge::Included(part),
                    Conversion::Exact => upper = TailEdge::Excluded(part),
                    Conversion::Floor => upper = TailEdge::Included(part),
                    Conversion::AboveAll => {}
                    Conversion::Null if key.null_safe => upper = TailEdge::Included(None),
                    Conversion::BelowAll | Conversion::Null => empty = true,
                    Conversion::Unusable => return Ok(false),
                }
            }
            if !empty && !self.is_reversed(&column.ty, lower, upper) {
                self.tails.push((lower, upper));
            }
        }
        if self.tails.len() > 1 {
            self.join_tails(&column.ty);
        }
        Ok(true)
    }

    /// Whether an interval's lower bound lies above its upper one.
    fn is_reversed(&self, ty: &ColumnType, lower: TailEdge, upper: TailEdge) -> bool {
        let (a, a_in) = match lower {
            TailEdge::Included(part) => (part, true),
            TailEdge::Excluded(part) => (part, false),
            TailEdge::NotNull => (None, false),
            TailEdge::Open => return false,
        };
        let (b, b_in) = match upper {
            TailEdge::Included(part) => (part, true),
            TailEdge::Excluded(part) => (part, false),
            _ => return false,
        };
        match compare_parts(&self.bytes, ty, &a, &b) {
            Ordering::Less => false,
            Ordering::Equal => !(a_in && b_in),
            Ordering::Greater => true,
        }
    }

    /// Sorts the intervals and joins those that overlap, so that no row is read twice.
    fn join_tails(&mut self, ty: &ColumnType) {
        let bytes = &self.bytes;
        // Where an interval begins or ends: NULL and its neighbourhood come first.
        let low = |edge: &TailEdge| -> (Option<Part>, u8) {
            match edge {
                TailEdge::Open => (None, 0),
                TailEdge::NotNull => (Some(None), 1),
                TailEdge::Included(part) => (Some(*part), 0),
                TailEdge::Excluded(part) => (Some(*part), 1),
            }
        };
        let compare = |a: &(Option<Part>, u8), b: &(Option<Part>, u8)| match (&a.0, &b.0) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some(x), Some(y)) => compare_parts(bytes, ty, x, y).then(a.1.cmp(&b.1)),
        };
        self.tails.sort_by(|a, b| compare(&low(&a.0), &low(&b.0)));
        let mut joined: Vec<(TailEdge, TailEdge)> = Vec::with_capacity(self.tails.len());
        for &(lower, upper) in &self.tails {
            let Some(last) = joined.last_mut() else {
                joined.push((lower, upper));
                continue;
            };
            // The end of the last one against the beginning of this one.
            let apart = match (last.1, lower) {
                (TailEdge::Open, _) | (_, TailEdge::Open) => false,
                (TailEdge::Included(end) | TailEdge::Excluded(end), begin) => {
                    let (begin, begin_in) = match begin {
                        TailEdge::Included(part) => (part, true),
                        TailEdge::Excluded(part) => (part, false),
                        _ => (None, false),
                    };
                    match compare_parts(bytes, ty, &end, &begin) {
                        Ordering::Less => true,
                        // [..x) (x..]: x itself belongs to neither.
                        Ordering::Equal => matches!(last.1, TailEdge::Excluded(_)) && !begin_in,
                        Ordering::Greater => false,
                    }
                }
                (TailEdge::NotNull, _) => false,
            };
            if apart {
                joined.push((lower, upper));
                continue;
            }
            let larger = match (last.1, upper) {
                (TailEdge::Open, _) | (_, TailEdge::Open) => TailEdge::Open,
                (TailEdge::Included(a) | TailEdge::Excluded(a), TailEdge::Included(b) | TailEdge::Excluded(b)) => {
                    match compare_parts(bytes, ty, &a, &b) {
                        Ordering::Less => upper,
                        Ordering::Greater => last.1,
                        Ordering::Equal if matches!(upper, TailEdge::Included(_)) => upper,
                        Ordering::Equal => last.1,
                    }
                }
                _ => TailEdge::Open,
            };
            last.1 = larger;
        }
        self.tails = joined;
    }

    /// The fixed beginning of a LIKE pattern: its bytes, and the smallest key that begins with them.
    fn like(
        &mut self,
        pattern: &Datum<'_>,
        escape: Option<&Datum<'_>>,
        ty: &ColumnType,
        prefix_chars: Option<u32>,
    ) -> Option<(u32, u32, Part)> {
        let Datum::Bytes(pattern) = pattern else { return None };
        let (id, chars) = match ty {
            ColumnType::Char { collation, chars } | ColumnType::VarChar { collation, chars } => (*collation, *chars),
            ColumnType::Text { collation, .. } => (*collation, 255),
            _ => return None,
        };
        let charset = collation(id).charset;
        let escape = match escape {
            None => Some(b'\\' as u32),
            Some(Datum::Bytes(escape)) => charset.decode_char(escape).map(|(escape, _)| escape),
            Some(_) => return None,
        };
        let from = self.bytes.len();
        let mut rest: &[u8] = pattern;
        let mut count = 0;
        while let Some((c, length)) = charset.decode_char(rest) {
            let mut taken = length;
            if Some(c) == escape && rest.len() > length {
                let (_, next) = charset.decode_char(&rest[length..])?;
                self.bytes.extend_from_slice(&rest[length..length + next]);
                taken += next;
            } else if c == b'%' as u32 || c == b'_' as u32 {
                break;
            } else {
                self.bytes.extend_from_slice(&rest[..length]);
            }
            rest = &rest[taken..];
            count += 1;
            if prefix_chars.is_some_and(|prefix| count == prefix) {
                break;
            }
        }
        // A beginning of the prefix finds more rows; the condition itself is checked on each.
        let plain = collation(id).plain_prefix(&self.bytes[from..]);
        if from + plain < self.bytes.len() {
            self.bytes.truncate(from + plain);
            count = charset.char_count(&self.bytes[from..]) as u32;
        }
        let to = self.bytes.len();
        if from == to {
            return None;
        }
        // Trailing spaces do not count in comparisons, so characters below the space sort before the bare prefix.
        let key = self.bytes.len();
        self.bytes.extend_from_within(from..to);
        let padding = prefix_chars.unwrap_or(chars).saturating_sub(count).min(255);
        if let Some(least) = collation(id).least() {
            for _ in 0..padding {
                charset.encode_char(least.into(), &mut self.bytes);
            }
        }
        Some((from as u32, to as u32, Some((key as u32, self.bytes.len() as u32))))
    }

    /// A key behind nearly all texts that begin so.
    fn behind_like(&mut self, (from, to): (u32, u32), ty: &ColumnType) -> Option<(u32, u32)> {
        let collation = collation(ty.collation()?);
        let greatest = collation.greatest()?;
        let start = self.bytes.len();
        self.bytes.extend_from_within(from as usize..to as usize);
        for _ in 0..GREATEST_CHARS {
            collation.charset.encode_char(greatest, &mut self.bytes);
        }
        Some((start as u32, self.bytes.len() as u32))
    }

    /// Converts for a part that holds only the beginning of its column.
    fn convert_prefix(
        &mut self,
        value: &Datum<'_>,
        ty: &ColumnType,
        prefix_chars: Option<u32>,
        zone: Zone,
    ) -> (Conversion, Part) {
        let (conversion, part) = self.convert(value, ty, zone);
        let (Some(prefix), Some((from, to))) = (prefix_chars, part) else { return (conversion, part) };
        let bytes = &self.bytes[from as usize..to as usize];
        let kept = match ty.collation() {
            Some(id) => collation(id).charset.offset_of_char(bytes, prefix as usize),
            None => bytes.len().min(prefix as usize),
        };
        (conversion, Some((from, from + kept as u32)))
    }

    /// Appends the stored bytes of a value.
    fn convert(&mut self, value: &Datum<'_>, ty: &ColumnType, zone: Zone) -> (Conversion, Part) {
        let from = self.bytes.len();
        let conversion = convert(value, ty, zone, &mut self.bytes);
        match conversion {
            Conversion::Exact | Conversion::Floor => (conversion, Some((from as u32, self.bytes.len() as u32))),
            _ => {
                self.bytes.truncate(from);
                (conversion, None)
            }
        }
    }
}

/// The order of two key parts: NULL first.
fn compare_parts(bytes: &[u8], ty: &ColumnType, a: &Part, b: &Part) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(a), Some(b)) => {
            compare_stored(ty, &bytes[a.0 as usize..a.1 as usize], &bytes[b.0 as usize..b.1 as usize])
        }
    }
}
