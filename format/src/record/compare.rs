//! The order of records.
//!
//! All functions answer how the *record* stands to the key: `Less` means that the record comes before it.

use std::cmp::Ordering;

use crate::collation::{self, Collation, CollationId};
use crate::error::Result;

use super::layout::{Compare, FieldLayout, Layout, Length};
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

/// The beginning of a key as bytes: two records whose prefixes differ stand as these do. Of equal prefixes
/// [`compare_records`] decides.
pub type OrderPrefix = [u64; 2];

/// The bytes of an [`OrderPrefix`].
const PREFIX_BYTES: usize = size_of::<OrderPrefix>();

/// Where the sort key of a text's beginning has so many bytes, the rest of the text shows in none of the first
/// `PREFIX_BYTES`: behind these stands at least one weight, and what ends a key, or a run of spaces that has an end.
const KEY_OF_BEGINNING_BYTES: usize = PREFIX_BYTES + 10;

/// Characters of the beginnings that are tried. The first is enough where a character weighs two bytes, the second where
/// it weighs one.
const BEGINNINGS: [usize; 2] = [13, 32];

/// The prefix of a record that is not marked as the smallest of its level (`prefixes_stand_as_records_do`). `key` is
/// memory that may be used again.
pub fn order_prefix(layout: &Layout, page: &[u8], origin: usize, key: &mut Vec<u8>) -> Result<OrderPrefix> {
    key.clear();
    for (field, value) in layout.fields().iter().zip(layout.parse_keys(page, origin)?.take(layout.key_fields())) {
        if !append_key(field, value?.of(page), key) || key.len() >= PREFIX_BYTES {
            break;
        }
    }
    key.resize(PREFIX_BYTES, 0);
    let word = |at: usize| key[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    Ok([word(0), word(PREFIX_BYTES / 2)])
}

/// Appends the beginning of bytes that compare with memcmp as the values of a field do. Returns whether the next field may
/// follow.
fn append_key(field: &FieldLayout, value: Option<&[u8]>, key: &mut Vec<u8>) -> bool {
    let start = key.len();
    if field.nullable {
        key.push(value.is_some().into());
    }
    let first = |value: &'_ [u8]| value.len().min(PREFIX_BYTES);
    let goes_on = match (value, field.compare) {
        (None, _) => true,
        (Some(value), Compare::Bytes) => {
            match field.length {
                Length::Fixed(_) => key.extend_from_slice(&value[..first(value)]),
                Length::Variable { .. } => {
                    collation::collation(CollationId::BINARY).sort_key(&value[..first(value)], key);
                }
            }
            true
        }
        (Some(value), compare @ (Compare::Collation(_) | Compare::Char(_))) => match compare.text(value) {
            Some((collation, text)) if collation.orders_beginnings() => {
                append_text(collation, text, key);
                true
            }
            _ => false,
        },
        (Some(_), Compare::Float | Compare::Double) => false,
    };
    if field.descending {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    goes_on
}

/// Appends the sort key of a text, or as much of it as a prefix can hold.
fn append_text(collation: &Collation, text: &[u8], key: &mut Vec<u8>) {
    let start = key.len();
    for count in BEGINNINGS {
        let end = collation.charset.offset_of_char(text, count);
        collation.sort_key(&text[..end], key);
        if end == text.len() || key.len() - start >= KEY_OF_BEGINNING_BYTES {
            return;
        }
        key.truncate(start);
    }
    collation.sort_key(text, key);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::collation::{Charset, collations, convert};
    use crate::record::{FieldData, RecordBuffer};

    /// Texts that are alike at their beginnings, with runs of spaces, marks that weigh nothing, and bytes that are no text.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let run = prop_oneof![
            (0..40_usize).prop_map(|count| " ".repeat(count)),
            (0..40_usize).prop_map(|count| "\u{300}".repeat(count)),
            (0..20_usize).prop_map(|count| "a".repeat(count)),
            (0..20_usize).prop_map(|count| "Ä".repeat(count)),
            "[aAbBÄäß中ソ表😀\\x00\t !]{0,4}".prop_map(|text| text),
        ];
        let text = proptest::collection::vec(run, 0..4).prop_map(|runs| runs.concat().into_bytes());
        let bytes = proptest::collection::vec(prop_oneof![Just(b' '), Just(b'a'), any::<u8>()], 0..20);
        prop_oneof![9 => text, 1 => bytes]
    }

    /// A field, and two values of it.
    fn field() -> impl Strategy<Value = (FieldLayout, [Option<Vec<u8>>; 2])> {
        let compare = prop_oneof![
            1 => Just(Compare::Bytes),
            1 => Just(Compare::Double),
            5 => (0..collations().len(), any::<bool>()).prop_map(|(at, char)| {
                let collation = &collations()[at];
                match char && !collation.pad_space {
                    true => Compare::Char(collation.id),
                    false => Compare::Collation(collation.id),
                }
            }),
        ];
        let value = || (texts(), any::<[u8; 8]>(), 0..4_u8);
        (compare, any::<[bool; 3]>(), value(), value(), any::<bool>()).prop_map(
            |(compare, [fixed, nullable, descending], left, right, same)| {
                let fixed = compare == Compare::Double || compare == Compare::Bytes && fixed;
                let field = if fixed { FieldLayout::fixed(8) } else { FieldLayout::variable(2000, false) };
                let value = |(text, bytes, null): (Vec<u8>, [u8; 8], u8)| match (nullable && null == 0, fixed) {
                    (true, _) => None,
                    (false, true) => Some(bytes.to_vec()),
                    (false, false) => match compare.text(&[]) {
                        Some((collation, _)) => {
                            let mut converted = Vec::new();
                            convert(&text, Charset::Utf8mb4, collation.charset, &mut converted);
                            Some(if null == 1 { text } else { converted })
                        }
                        None => Some(text),
                    },
                };
                let left = value(left);
                let right = if same { left.clone() } else { value(right) };
                (field.nullable(nullable).compared(compare).descending(descending), [left, right])
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn prefixes_stand_as_records_do(fields in proptest::collection::vec(field(), 1..4)) {
            let layout = Layout::secondary(fields.iter().map(|(layout, _)| *layout).collect());
            let [left, right] = [0, 1].map(|side: usize| {
                let mut record = RecordBuffer::new();
                record.build(&layout, 0, fields.iter().map(|(_, values)| FieldData::from(values[side].as_deref())));
                record
            });
            let prefix = |record: &RecordBuffer| order_prefix(&layout, record.bytes(), record.origin(), &mut Vec::new());
            let order = compare_records(&layout, left.bytes(), left.origin(), right.bytes(), right.origin()).unwrap();
            let prefixes = prefix(&left).unwrap().cmp(&prefix(&right).unwrap());
            prop_assert!(prefixes == Ordering::Equal || prefixes == order, "{prefixes:?} where the records are {order:?}");
        }
    }
}
