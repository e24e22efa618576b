//! The order of records.
//!
//! All functions answer how the *record* stands to the key: `Less` means that the record comes before it.

use std::cmp::Ordering;

use crate::collation;
use crate::error::Result;

use super::layout::{Compare, FieldLayout, Layout};
use super::{Tuple, is_min_record};

/// Compares two stored values of a field; `None` is NULL, which comes first.
#[inline]
pub fn compare_value(field: &FieldLayout, left: Option<&[u8]>, right: Option<&[u8]>) -> Ordering {
    let order = match (left, right) {
        (Some(left), Some(right)) => match field.compare {
            Compare::Bytes => left.cmp(right),
            Compare::Collation(id) => collation::collation(id).compare(left, right),
            Compare::Char(id) => {
                let collation = collation::collation(id);
                let of = |stored| collation.charset.without_spaces(stored);
                collation.compare(of(left), of(right))
            }
            Compare::Float => number(left.first_chunk::<4>().map(|bytes| f32::from_le_bytes(*bytes)))
                .total_or_equal(number(right.first_chunk::<4>().map(|bytes| f32::from_le_bytes(*bytes)))),
            Compare::Double => number(left.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes)))
                .total_or_equal(number(right.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes)))),
        },
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
    };
    if field.descending { order.reverse() } else { order }
}

fn number<T: Into<f64>>(value: Option<T>) -> f64 {
    value.map_or(0.0, Into::into)
}

trait TotalOrEqual {
    fn total_or_equal(self, other: Self) -> Ordering;
}

impl TotalOrEqual for f64 {
    /// The order of numbers, in which -0 equals 0; NaN, which MySQL does not store, falls back on its bits.
    fn total_or_equal(self, other: f64) -> Ordering {
        self.partial_cmp(&other).unwrap_or_else(|| self.total_cmp(&other))
    }
}

/// Compares the record at `origin` with a search tuple, field by field as far as the tuple goes.
#[inline]
pub fn compare(page: &[u8], layout: &Layout, origin: usize, tuple: &Tuple<'_>) -> Result<Ordering> {
    Ok(compare_fields(page, layout, origin, tuple)?.0)
}

/// As [`compare`], and how many leading fields are equal.
///
/// A record that is marked as the smallest of its level is `Less`, with no field equal.
pub fn compare_fields(page: &[u8], layout: &Layout, origin: usize, tuple: &Tuple<'_>) -> Result<(Ordering, usize)> {
    if is_min_record(page, origin) {
        return Ok((Ordering::Less, 0));
    }
    let mut fields = layout.parse_keys(page, origin)?;
    for (index, &key) in tuple.iter().enumerate() {
        let Some(field) = fields.next() else { break };
        let order = compare_value(&layout.fields()[index], field?.of(page), key);
        if order != Ordering::Equal {
            return Ok((order, index));
        }
    }
    Ok((Ordering::Equal, tuple.len()))
}

/// Compares two records of one layout by the fields that decide the order.
pub fn compare_records(
    layout: &Layout,
    left_page: &[u8],
    left: usize,
    right_page: &[u8],
    right: usize,
) -> Result<Ordering> {
    match (is_min_record(left_page, left), is_min_record(right_page, right)) {
        (true, true) => return Ok(Ordering::Equal),
        (true, false) => return Ok(Ordering::Less),
        (false, true) => return Ok(Ordering::Greater),
        (false, false) => {}
    }
    let mut right_fields = layout.parse_keys(right_page, right)?;
    for (index, field) in layout.parse_keys(left_page, left)?.take(layout.key_fields()).enumerate() {
        let Some(other) = right_fields.next() else { break };
        let order = compare_value(&layout.fields()[index], field?.of(left_page), other?.of(right_page));
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}
