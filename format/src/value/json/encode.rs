//! JSON values as MySQL's binary JSON, which `decode.rs` draws and reads.
//!
//! Containers are built from the inside out: the bytes of a value do not depend on where it stands.

use super::decode::{LITERAL_FALSE, LITERAL_NULL, LITERAL_TRUE, code};
use super::tree::Json;
use crate::value::{DateTime, Decimal, Time};

/// The type of a value, and its bytes.
type Encoded = (u8, Vec<u8>);

const SMALL_MAX: usize = 0xFFFF;

impl Json {
    /// Appends the binary form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (ty, bytes) = encoded(self);
        out.push(ty);
        out.extend_from_slice(&bytes);
    }

    pub fn to_binary(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

fn encoded(value: &Json) -> Encoded {
    match value {
        Json::Null => (4, vec![LITERAL_NULL]),
        Json::Bool(true) => (4, vec![LITERAL_TRUE]),
        Json::Bool(false) => (4, vec![LITERAL_FALSE]),
        Json::Int(number) => match (i16::try_from(*number), i32::try_from(*number)) {
            (Ok(small), _) => (5, small.to_le_bytes().to_vec()),
            (_, Ok(middle)) => (7, middle.to_le_bytes().to_vec()),
            _ => (9, number.to_le_bytes().to_vec()),
        },
        Json::UInt(number) => match (u16::try_from(*number), u32::try_from(*number)) {
            (Ok(small), _) => (6, small.to_le_bytes().to_vec()),
            (_, Ok(middle)) => (8, middle.to_le_bytes().to_vec()),
            _ => (10, number.to_le_bytes().to_vec()),
        },
        Json::Double(number) => (11, number.to_le_bytes().to_vec()),
        Json::Decimal(number) => (15, opaque_decimal(number)),
        Json::Date(date) => (15, opaque(code::DATE, &packed_datetime(&date.at_midnight()).to_le_bytes())),
        Json::Time(time) => (15, opaque(code::TIME, &packed_time(time).to_le_bytes())),
        Json::DateTime(moment) => (15, opaque(code::DATETIME, &packed_datetime(moment).to_le_bytes())),
        Json::Opaque { code, bytes } => (15, opaque(*code, bytes)),
        Json::String(text) => {
            let mut bytes = Vec::with_capacity(text.len() + 5);
            put_length(text.len(), &mut bytes);
            bytes.extend_from_slice(text.as_bytes());
            (12, bytes)
        }
        Json::Array(elements) => {
            let values: Vec<Encoded> = elements.iter().map(encoded).collect();
            container(None, &values)
        }
        Json::Object(members) => {
            let names: Vec<&[u8]> = members.iter().map(|(name, _)| name.as_bytes()).collect();
            let values: Vec<Encoded> = members.iter().map(|(_, value)| encoded(value)).collect();
            container(Some(&names), &values)
        }
    }
}

/// A length of seven bits a byte, the low ones first.
fn put_length(mut length: usize, out: &mut Vec<u8>) {
    while length > 0x7F {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn opaque(code: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 6);
    out.push(code);
    put_length(bytes.len(), &mut out);
    out.extend_from_slice(bytes);
    out
}

fn opaque_decimal(number: &Decimal) -> Vec<u8> {
    let (precision, scale) = (number.precision().max(1), number.scale());
    let mut digits = vec![precision, scale];
    number.encode(precision, scale, &mut digits);
    opaque(code::DECIMAL, &digits)
}

/// MySQL's packed form, see `decode.rs`.
fn packed_datetime(moment: &DateTime) -> i64 {
    let months = i64::from(moment.date.year) * 13 + i64::from(moment.date.month);
    let ymd = months << 5 | i64::from(moment.date.day);
    let hms = i64::from(moment.hour) << 12 | i64::from(moment.minute) << 6 | i64::from(moment.second);
    (ymd << 17 | hms) << 24 | i64::from(moment.micros)
}

fn packed_time(time: &Time) -> i64 {
    let hms = i64::from(time.hours) << 12 | i64::from(time.minutes) << 6 | i64::from(time.seconds);
    let packed = hms << 24 | i64::from(time.micros);
    if time.negative { -packed } else { packed }
}

/// An object, or an array without names.
fn container(names: Option<&[&[u8]]>, values: &[Encoded]) -> Encoded {
    let small = if names.is_some() { 0 } else { 2 };
    match assemble(names, values, 2) {
        Some(bytes) => (small, bytes),
        None => (small + 1, assemble(names, values, 4).expect("a document of less than 4 GiB")),
    }
}

/// `None` = places do not fit words of this size.
fn assemble(names: Option<&[&[u8]]>, values: &[Encoded], word: usize) -> Option<Vec<u8>> {
    let is_inline = |ty: u8| matches!(ty, 4..=6) || word == 4 && matches!(ty, 7 | 8);
    let name_entry = if names.is_some() { word + 2 } else { 0 };
    let mut place = 2 * word + values.len() * (name_entry + 1 + word);
    let mut out = Vec::new();
    let put = |number: usize, out: &mut Vec<u8>| out.extend_from_slice(&number.to_le_bytes()[..word]);
    let name_bytes: usize = names.iter().flat_map(|names| names.iter().map(|name| name.len())).sum();
    let value_bytes: usize = values.iter().filter(|(ty, _)| !is_inline(*ty)).map(|(_, bytes)| bytes.len()).sum();
    let whole = place + name_bytes + value_bytes;
    if word == 2 && (whole > SMALL_MAX || values.len() > SMALL_MAX) || whole > u32::MAX as usize {
        return None;
    }
    put(values.len(), &mut out);
    put(whole, &mut out);
    for name in names.into_iter().flatten() {
        put(place, &mut out);
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        place += name.len();
    }
    for (ty, bytes) in values {
        out.push(*ty);
        if is_inline(*ty) {
            let start = out.len();
            out.extend_from_slice(bytes);
            // A negative number fills its word with its sign.
            let fill = if *ty == 5 && bytes[1] & 0x80 != 0 { 0xFF } else { 0 };
            out.resize(start + word, fill);
        } else {
            put(place, &mut out);
            place += bytes.len();
        }
    }
    names.into_iter().flatten().for_each(|name| out.extend_from_slice(name));
    values.iter().filter(|(ty, _)| !is_inline(*ty)).for_each(|(_, bytes)| out.extend_from_slice(bytes));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Date;

    fn there_and_back(text: &str) -> String {
        let value = Json::parse_stored(text.as_bytes()).unwrap();
        let back = Json::decode(&value.to_binary()).unwrap();
        assert_eq!(back, value);
        let mut out = Vec::new();
        back.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_of_all_types_come_back() {
        for text in [
            "null",
            "[]",
            "{}",
            "[1, -1, 32767, 32768, -32769, 2147483648, 9223372036854775808, 1.5, 1000.0, -0.25, true, false, null]",
            "[1.50, -12345678901234567890.120, 0.00, 1e20]",
            r#"{"a": 3, "c": [2, {"d": null}], "bb": "ä😀\n"}"#,
        ] {
            assert_eq!(there_and_back(text), text);
        }
    }

    #[test]
    fn large_containers_have_large_places() {
        let long = "x".repeat(70_000);
        let text = format!("{{\"a\": 100000, \"b\": -5, \"long\": \"{long}\", \"n\": [1, 2]}}");
        let expected = format!("{{\"a\": 100000, \"b\": -5, \"n\": [1, 2], \"long\": \"{long}\"}}");
        assert_eq!(there_and_back(&text), expected);
        let many = format!("[{}]", vec!["7"; 40_000].join(", "));
        assert_eq!(there_and_back(&many), many);
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(there_and_back(&deep), deep);
    }

    #[test]
    fn the_bytes_are_those_that_mysql_writes() {
        let document = Json::parse(br#"{"k": 1, "j": [1, "a"]}"#).unwrap().to_binary();
        // By hand, from the picture: two names at 18 and 19, an array of 12 bytes at 20, 1 in its entry.
        let expected: &[u8] = &[
            0, 2, 0, 32, 0, 18, 0, 1, 0, 19, 0, 1, 0, 2, 20, 0, 5, 1, 0, b'j', b'k', 2, 0, 12, 0, 5, 1, 0, 12, 10, 0,
            1, b'a',
        ];
        assert_eq!(document, expected);
    }

    #[test]
    fn what_no_text_says_comes_back_too() {
        let date = Date::new(2015, 1, 15);
        let values = vec![
            Json::UInt(0),
            Json::UInt(65_536),
            Json::UInt(u64::MAX),
            Json::Date(date),
            Json::DateTime(DateTime::new(date, 23, 24, 25, 120_000)),
            Json::Time(Time { negative: true, hours: 838, minutes: 59, seconds: 59, micros: 1 }),
            Json::Opaque { code: 253, bytes: vec![0, 255] },
        ];
        let array = Json::Array(values);
        assert_eq!(Json::decode(&array.to_binary()).unwrap(), array);
        let mut out = Vec::new();
        array.write(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "[0, 65536, 18446744073709551615, \"2015-01-15\", \"2015-01-15 23:24:25.120000\", \
             \"-838:59:59.000001\", \"base64:type253:AP8=\"]"
        );
    }
}
