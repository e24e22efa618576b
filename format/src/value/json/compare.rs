//! The order of JSON values, as the manual has it: first by the kind, then within it.
//!
//! ```text
//! null < numbers < strings < objects < arrays < booleans < dates < times < datetimes < opaque < bits < blobs
//! ```
//!
//! Numbers compare by their exact values, whatever their types, so the order is one: no three of them contradict each
//! other. Objects have an order for sorting: by the number of members, then member by member.

use std::cmp::Ordering;

use super::tree::Json;
use crate::value::Decimal;

impl Json {
    pub fn compare(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Date(a), Json::Date(b)) => a.cmp(b),
            (Json::Time(a), Json::Time(b)) => a.cmp(b),
            (Json::DateTime(a), Json::DateTime(b)) => a.cmp(b),
            (Json::Array(a), Json::Array(b)) => {
                let first = a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
                first.unwrap_or(a.len().cmp(&b.len()))
            }
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let orders = a.iter().zip(b).map(|((a_name, a), (b_name, b))| {
                    let by_name = (a_name.len(), a_name).cmp(&(b_name.len(), b_name));
                    by_name.then_with(|| a.compare(b))
                });
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Json::Opaque { code: a_code, bytes: a }, Json::Opaque { code: b_code, bytes: b }) => {
                self.rank().cmp(&other.rank()).then_with(|| a.cmp(b)).then_with(|| a_code.cmp(b_code))
            }
            _ => match self.rank().cmp(&other.rank()) {
                Ordering::Equal => compare_numbers(self, other),
                order => order,
            },
        }
    }

    /// The place of its kind.
    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 1,
            Json::String(_) => 2,
            Json::Object(_) => 3,
            Json::Array(_) => 4,
            Json::Bool(_) => 5,
            Json::Date(_) => 6,
            Json::Time(_) => 7,
            Json::DateTime(_) => 8,
            Json::Opaque { .. } => match self.type_name() {
                "OPAQUE" => 9,
                "BIT" => 10,
                _ => 11,
            },
        }
    }

    /// The name that JSON_TYPE shows.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
            Json::Date(_) => "DATE",
            Json::Time(_) => "TIME",
            Json::DateTime(_) => "DATETIME",
            Json::Opaque { code: 16, .. } => "BIT",
            // VARBINARY, BINARY and the BLOBs.
            Json::Opaque { code: 15 | 249..=254, .. } => "BLOB",
            Json::Opaque { .. } => "OPAQUE",
        }
    }

    /// Appends bytes that are equal for equal values, and different for different ones.
    pub fn write_key(&self, out: &mut Vec<u8>) {
        out.push(self.rank());
        let counted = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match self {
            Json::Null => {}
            Json::Bool(truth) => out.push(u8::from(*truth)),
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => match exact(self) {
                (decimal, 0.0) => {
                    let mut digits = Vec::new();
                    decimal.write(&mut digits);
                    if decimal.scale() > 0 {
                        let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |at| at + 1);
                        digits.truncate(kept);
                        if digits.last() == Some(&b'.') {
                            digits.pop();
                        }
                    }
                    counted(if decimal.is_zero() { b"0" } else { &digits }, out);
                }
                (_, number) => {
                    out.extend_from_slice(&[0xFF; 4]);
                    out.extend_from_slice(&number.to_le_bytes());
                }
            },
            Json::Array(elements) => {
                out.extend_from_slice(&(elements.len() as u32).to_le_bytes());
                elements.iter().for_each(|element| element.write_key(out));
            }
            Json::Object(members) => {
                out.extend_from_slice(&(members.len() as u32).to_le_bytes());
                for (name, value) in members {
                    counted(name.as_bytes(), out);
                    value.write_key(out);
                }
            }
            Json::Opaque { code, bytes } => {
                out.push(*code);
                counted(bytes, out);
            }
            Json::String(_) | Json::Date(_) | Json::Time(_) | Json::DateTime(_) => {
                let mut text = Vec::new();
                self.write_bare(&mut text);
                counted(&text, out);
            }
        }
    }
}

/// A number as a decimal, and 0; or a double that no decimal is exactly, beside the nearest one.
fn exact(number: &Json) -> (Decimal, f64) {
    match number {
        Json::Int(number) => (Decimal::from(*number), 0.0),
        Json::UInt(number) => (Decimal::from(*number), 0.0),
        Json::Decimal(number) => (*number, 0.0),
        Json::Double(number) if number.fract() == 0.0 && number.abs() < 1e38 => {
            (Decimal::from_i128(*number as i128, 0), 0.0)
        }
        Json::Double(number) => match Decimal::from_f64(*number) {
            Ok(decimal) if decimal.to_f64() == *number => (decimal, 0.0),
            Ok(decimal) => (decimal, *number),
            Err(_) => (Decimal::max(65, 0), *number),
        },
        _ => (Decimal::ZERO, 0.0),
    }
}

fn compare_numbers(one: &Json, other: &Json) -> Ordering {
    let doubles = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    match (one, other) {
        (Json::Int(a), Json::Int(b)) => a.cmp(b),
        (Json::UInt(a), Json::UInt(b)) => a.cmp(b),
        (Json::Double(a), Json::Double(b)) => doubles(*a, *b),
        _ => match (exact(one), exact(other)) {
            ((a, 0.0), (b, 0.0)) => a.cmp(&b),
            ((a, 0.0), (_, b)) => doubles(a.to_f64(), b),
            ((_, a), (b, 0.0)) => doubles(a, b.to_f64()),
            ((_, a), (_, b)) => doubles(a, b),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Date, DateTime, Time};
    use proptest::prelude::*;

    fn ordered() -> Vec<Json> {
        let json = |text: &str| Json::parse_stored(text.as_bytes()).unwrap();
        let date = Date::new(2024, 2, 29);
        let mut values: Vec<Json> = [
            "null",
            "-1e300",
            "-1.50",
            "-1",
            "0",
            "1e-300",
            "2e-300",
            "0.1",
            "1",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "1e20",
            "1e100",
            "\"\"",
            "\"B\"",
            "\"a\"",
            "\"aa\"",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 1}",
            "{\"a\": 1, \"b\": 0}",
            "[]",
            "[1]",
            "[1, null]",
            "[2]",
            "false",
            "true",
        ]
        .into_iter()
        .map(json)
        .collect();
        values.extend([
            Json::Date(date),
            Json::Time(Time::ZERO),
            Json::DateTime(DateTime::new(date, 0, 0, 0, 0)),
            Json::Opaque { code: 255, bytes: vec![1] },
            Json::Opaque { code: 16, bytes: vec![1] },
            Json::Opaque { code: 253, bytes: vec![1] },
        ]);
        values
    }

    #[test]
    fn kinds_and_values_have_one_order() {
        let values = ordered();
        for (at, one) in values.iter().enumerate() {
            for (other_at, other) in values.iter().enumerate() {
                assert_eq!(one.compare(other), at.cmp(&other_at), "{one:?} {other:?}");
                let keys = [one, other].map(|value| {
                    let mut key = Vec::new();
                    value.write_key(&mut key);
                    key
                });
                assert_eq!(keys[0] == keys[1], at == other_at, "{one:?} {other:?}");
            }
        }
    }

    /// A number in one of its types.
    fn number() -> impl Strategy<Value = Json> {
        prop_oneof![
            any::<i64>().prop_map(Json::Int),
            (-3_i64..3).prop_map(Json::Int),
            any::<u64>().prop_map(Json::UInt),
            (0_u64..3).prop_map(Json::UInt),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Json::Double),
            (-30_i64..30).prop_map(|number| Json::Double(number as f64 / 10.0)),
            any::<i64>().prop_map(|number| Json::Double(number as f64)),
            (any::<i64>(), 0_u8..9).prop_map(|(number, scale)| Json::Decimal(Decimal::from_i128(number.into(), scale))),
            (-30_i64..30).prop_map(|number| Json::Decimal(Decimal::from_i128(number.into(), 1))),
        ]
    }

    proptest! {
        #[test]
        fn numbers_have_one_order_whatever_their_types(a in number(), b in number(), c in number()) {
            prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
            if a.compare(&b).is_le() && b.compare(&c).is_le() {
                prop_assert!(a.compare(&c).is_le(), "{:?} {:?} {:?}", a, b, c);
            }
            let key = |value: &Json| { let mut key = Vec::new(); value.write_key(&mut key); key };
            prop_assert_eq!(key(&a) == key(&b), a.compare(&b).is_eq(), "{:?} {:?}", a, b);
            prop_assert_eq!(Json::decode(&a.to_binary()), Ok(a));
        }
    }
}
