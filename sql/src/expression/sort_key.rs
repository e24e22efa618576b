//! What rows are sorted by: bytes that compare as they are, or values where there are no such bytes.

use std::borrow::Borrow;
use std::cmp::Ordering;

use format::collation::{CollationId, collation};

use super::record::{Source, write_datum};
use super::{Datum, EvalContext, Expr, Fields, Node, order};
use crate::error::{Error, Result};
use crate::types::Kind;

/// What the allocator takes beside a row.
const ALLOCATION_BYTES: usize = 16;

/// The form of the keys of a sort.
#[derive(Clone, Copy, Debug, Default)]
pub enum KeyForm {
    #[default]
    Bytes,
    Values,
}

impl KeyForm {
    /// The form of keys by some expressions.
    pub fn of<E: Borrow<Expr>>(by: &[(E, bool)]) -> KeyForm {
        match by.iter().all(|(expr, _)| has_order_key(expr.borrow())) {
            true => KeyForm::Bytes,
            false => KeyForm::Values,
        }
    }

    /// Appends the part of a key that an expression's value makes.
    #[inline]
    pub fn write(self, value: &Datum<'_>, expr: &Expr, descending: bool, last: bool, out: &mut Vec<u8>) {
        match self {
            KeyForm::Bytes => order_key(value, expr.ty.collation, descending, last, out),
            KeyForm::Values => write_datum(value, out),
        }
    }

    /// Makes the key of a row in `out`.
    pub fn write_key<E: Borrow<Expr>>(
        self,
        by: &[(E, bool)],
        context: &EvalContext<'_>,
        row: &dyn Fields,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        for (number, (expr, descending)) in by.iter().enumerate() {
            let expr = expr.borrow();
            let value = expr.eval(context, row)?.fit(&expr.ty);
            self.write(&value, expr, *descending, number + 1 == by.len(), out);
        }
        Ok(())
    }

    /// The order of two keys, or of the same parts of them.
    #[inline]
    pub fn compare<E: Borrow<Expr>>(self, a: &[u8], b: &[u8], by: &[(E, bool)]) -> Ordering {
        match self {
            KeyForm::Bytes => a.cmp(b),
            KeyForm::Values => compare_values(a, b, by),
        }
    }

    /// The beginning of a key as a number: if two differ, so do the keys, in the same order.
    #[inline]
    fn head(self, key: &[u8]) -> u128 {
        match (self, key.first_chunk()) {
            (KeyForm::Values, _) => 0,
            (KeyForm::Bytes, Some(head)) => u128::from_be_bytes(*head),
            (KeyForm::Bytes, None) => {
                let mut head = [0; size_of::<u128>()];
                head[..key.len()].copy_from_slice(key);
                u128::from_be_bytes(head)
            }
        }
    }
}

/// A key, and behind it what is sorted by it, in one piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Keyed {
    /// See [`KeyForm::head`].
    head: u128,
    form: KeyForm,
    key_bytes: u32,
    bytes: Box<[u8]>,
}

impl Keyed {
    /// `bytes` begin with a key.
    pub fn new(form: KeyForm, key_bytes: usize, bytes: &[u8]) -> Result<Keyed> {
        let head = form.head(&bytes[..key_bytes]);
        match u32::try_from(key_bytes) {
            Ok(key_bytes) => Ok(Keyed { head, form, key_bytes, bytes: bytes.into() }),
            Err(_) => Err(Error::memory_exceeded("a sort key", u32::MAX.into())),
        }
    }

    pub fn key(&self) -> &[u8] {
        &self.bytes[..self.key_bytes as usize]
    }

    /// What stands behind the key.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.key_bytes as usize..]
    }

    /// What it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        (self.bytes.len() + size_of::<Keyed>() + ALLOCATION_BYTES) as u64
    }

    #[inline]
    pub fn compare<E: Borrow<Expr>>(&self, other: &Keyed, by: &[(E, bool)]) -> Ordering {
        self.head.cmp(&other.head).then_with(|| self.form.compare(self.key(), other.key(), by))
    }

    /// Appends it as a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.form as u8);
        out.extend_from_slice(&self.key_bytes.to_le_bytes());
        out.extend_from_slice(&self.bytes);
    }

    pub fn read(record: &[u8]) -> Result<Keyed> {
        let mut source = Source(record);
        let form = if source.u8()? == KeyForm::Bytes as u8 { KeyForm::Bytes } else { KeyForm::Values };
        let key_bytes = source.u32()? as usize;
        match key_bytes <= source.0.len() {
            true => Keyed::new(form, key_bytes, source.0),
            false => Err(Error::internal("a row of a sort's file is damaged")),
        }
    }
}

fn compare_values<E: Borrow<Expr>>(a: &[u8], b: &[u8], by: &[(E, bool)]) -> Ordering {
    let (mut a, mut b) = (Source(a), Source(b));
    for (expr, descending) in by {
        let (Ok(a), Ok(b)) = (a.datum(), b.datum()) else { return Ordering::Equal };
        let compared = order(&a, &b, expr.borrow().ty.collation);
        if compared != Ordering::Equal {
            return if *descending { compared.reverse() } else { compared };
        }
    }
    Ordering::Equal
}

/// Appends bytes that compare as [`order`] does values of one type: sorts, and the partitions of windows. Keys of several
/// values can be appended to each other, except behind a `last` one.
///
/// ```text
/// NULL 0, else the kind and
///   integer     1 if it is not negative, 8 bytes, most significant first
///   double      8 bytes, those of a negative one inverted, else the sign turned
///   decimal     see Decimal::write_order_key
///   date, time  numbers
///   text        the collation's sort key
/// inverted if descending; the last text goes to the end, others are escaped (00 -> 00 FF) and ended by 00 00
/// ```
///
/// Not for documents, see [`has_order_key`].
fn order_key(value: &Datum<'_>, id: CollationId, descending: bool, last: bool, out: &mut Vec<u8>) {
    let begin = out.len();
    match value {
        Datum::Null => out.push(0),
        Datum::Int(v) => {
            out.extend_from_slice(&[1, u8::from(*v >= 0)]);
            out.extend_from_slice(&v.to_be_bytes());
        }
        Datum::UInt(v) => {
            out.extend_from_slice(&[1, 1]);
            out.extend_from_slice(&v.to_be_bytes());
        }
        Datum::Double(v) => {
            // 0.0 and -0.0 are equal.
            let bits = (if *v == 0.0 { 0.0 } else { *v }).to_bits();
            out.push(2);
            out.extend_from_slice(&(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }).to_be_bytes());
        }
        Datum::Decimal(v) => {
            out.push(3);
            v.write_order_key(out);
        }
        // A DATE and a DATETIME at midnight are equal.
        Datum::Date(v) => moment_key(v.to_number() * 1_000_000, 0, out),
        Datum::DateTime(v) => moment_key(v.to_number(), v.micros, out),
        Datum::Time(v) => {
            out.push(5);
            out.extend_from_slice(&(v.to_micros() ^ i64::MIN).to_be_bytes());
        }
        Datum::Bytes(text) => {
            out.push(6);
            let start = out.len();
            collation(id).sort_key(text, out);
            if descending || !last {
                escape(start, out);
            }
        }
        Datum::Json(document) => {
            out.push(7);
            out.extend_from_slice(document);
        }
    }
    if descending {
        out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn moment_key(number: i64, micros: u32, out: &mut Vec<u8>) {
    out.push(4);
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&micros.to_be_bytes());
}

/// Makes bytes up to the end such that none of them begin with those of others.
fn escape(start: usize, out: &mut Vec<u8>) {
    let zeros = out[start..].iter().filter(|byte| **byte == 0).count();
    let mut from = out.len();
    out.resize(from + zeros + 2, 0);
    let mut to = from + zeros;
    while to > from {
        (from, to) = (from - 1, to - 1);
        if out[from] == 0 {
            out[to] = 0xFF;
            to -= 1;
        }
        out[to] = out[from];
    }
}

/// Whether all values of an expression compare as their [`order_key`]s do. Documents have none, and variables, parameters
/// and programs may give another kind of value for each row.
fn has_order_key(expr: &Expr) -> bool {
    let mut has = expr.ty.kind != Kind::Json;
    expr.walk(&mut |expr| {
        has &= !matches!(
            expr.node,
            Node::UserVariable(_)
                | Node::AssignVariable(..)
                | Node::SystemVariable { .. }
                | Node::Parameter(_)
                | Node::Stored { .. }
                | Node::ScalarQuery { .. }
        );
    });
    has
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use format::collation::Collation;
    use format::value::{Date, DateTime, Decimal, Time};
    use proptest::prelude::*;

    use super::*;

    /// Values of one type, NULL among them; few different ones, so that some are equal.
    fn values() -> impl Strategy<Value = Vec<Datum<'static>>> {
        let date = || (0..3_u16, 0..3_u8, 0..3_u8).prop_map(|(year, month, day)| Date { year, month, day });
        let moment = (date(), 0..2_u8, 0..2_u8, 0..3_u32).prop_map(|(date, hour, second, micros)| {
            Datum::DateTime(DateTime { date, hour, minute: 0, second, micros, is_second: false })
        });
        let time = (-3_000_000_i64..3_000_000).prop_map(|micros| Datum::Time(Time::from_micros(micros).0));
        let integer = prop_oneof![
            any::<i64>().prop_map(Datum::Int),
            (-3..3_i64).prop_map(Datum::Int),
            any::<u64>().prop_map(Datum::UInt),
            (0..3_u64).prop_map(Datum::UInt),
        ];
        let double = prop_oneof![
            any::<f64>().prop_filter("a number", |number| number.is_finite()),
            prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, 5e-324]),
        ];
        let decimal = "-?(0|[1-9][0-9]{0,2}|1000000000|999999999[0-9]{0,30})(\\.(0{0,12}|[05]{1,3}|0{8}[0-9]{1,12}))?"
            .prop_map(|text| Datum::Decimal(Decimal::parse(text.trim_end_matches('.').as_bytes()).unwrap()));
        let text =
            prop_oneof!["[aAäb \u{0}]{0,4}", any::<String>()].prop_map(|text| Datum::Bytes(text.into_bytes().into()));
        let bytes = prop::collection::vec(prop::sample::select(vec![0_u8, 1, 254, 255]), 0..4)
            .prop_map(|bytes| Datum::Bytes(Cow::Owned(bytes)));
        let list = |one: BoxedStrategy<Datum<'static>>| {
            prop::collection::vec(prop_oneof![1 => Just(Datum::Null), 9 => one], 2..12).boxed()
        };
        prop_oneof![
            list(integer.boxed()),
            list(double.prop_map(Datum::Double).boxed()),
            list(decimal.boxed()),
            list(prop_oneof![moment, date().prop_map(Datum::Date)].boxed()),
            list(time.boxed()),
            list(text.boxed()),
            list(bytes.boxed()),
        ]
    }

    fn key(values: [&Datum<'_>; 2], id: CollationId, descending: [bool; 2]) -> Vec<u8> {
        let mut key = Vec::new();
        order_key(values[0], id, descending[0], false, &mut key);
        order_key(values[1], id, descending[1], true, &mut key);
        key
    }

    proptest! {
        #[test]
        fn keys_compare_as_their_values_do(
            (first, second) in (values(), values()),
            name in prop::sample::select(vec!["binary", "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "utf8mb4_unicode_ci"]),
            descending in any::<[bool; 2]>(),
        ) {
            let id = Collation::by_name(name).unwrap().id;
            let rows: Vec<_> = first.iter().zip(second.iter().cycle()).collect();
            let directed = |ordering: Ordering, descending: bool| if descending { ordering.reverse() } else { ordering };
            for a in &rows {
                for b in &rows {
                    let expected = directed(order(a.0, b.0, id), descending[0])
                        .then_with(|| directed(order(a.1, b.1, id), descending[1]));
                    let (a_key, b_key) = (key([a.0, a.1], id, descending), key([b.0, b.1], id, descending));
                    prop_assert_eq!(a_key.cmp(&b_key), expected, "{:?} {:?} in {}", a, b, name);
                }
            }
        }
    }
}
