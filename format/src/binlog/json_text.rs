//! JSON texts as MySQL's binary JSON, which [`super::json`] draws and reads.
//!
//! Containers are built from the inside out: the bytes of a value do not depend on where it stands. Members are sorted
//! by the length of their names, then by their bytes; of two with one name the last counts, as in MySQL. Numbers without
//! fraction and exponent are integers if they fit 64 bits, all others are doubles.

use crate::error::{Error, Result};
use crate::value::validate_json;

/// The type of a value, and its bytes.
type Encoded = (u8, Vec<u8>);

const SMALL_MAX: usize = 0xFFFF;

/// Appends the binary form of a text.
pub fn from_text(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    validate_json(text).map_err(|_| Error::Malformed { what: "a JSON text" })?;
    let mut parser = Parser { text, at: 0 };
    let (ty, bytes) = parser.value()?;
    out.push(ty);
    out.extend_from_slice(&bytes);
    Ok(())
}

/// Reads a text that is known to be JSON.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    /// The next byte that is no space.
    fn peek(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self) -> Result<Encoded> {
        Ok(match self.peek() {
            b'{' => {
                let mut members: Vec<(Vec<u8>, Encoded)> = Vec::new();
                self.at += 1;
                while self.peek() != b'}' {
                    let name = self.string();
                    if name.len() > SMALL_MAX {
                        return Err(Error::Unsupported {
                            what: "a JSON name of so many bytes:",
                            value: name.len() as u32,
                        });
                    }
                    self.peek();
                    self.at += 1; // The colon.
                    members.push((name, self.value()?));
                    self.at += usize::from(self.peek() == b',');
                }
                self.at += 1;
                members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
                let mut last: Vec<(Vec<u8>, Encoded)> = Vec::with_capacity(members.len());
                for member in members {
                    match last.last_mut().filter(|before| before.0 == member.0) {
                        Some(before) => *before = member,
                        None => last.push(member),
                    }
                }
                let (names, values): (Vec<_>, Vec<_>) = last.into_iter().unzip();
                container(Some(&names), &values)
            }
            b'[' => {
                let mut values = Vec::new();
                self.at += 1;
                while self.peek() != b']' {
                    values.push(self.value()?);
                    self.at += usize::from(self.peek() == b',');
                }
                self.at += 1;
                container(None, &values)
            }
            b'"' => {
                let text = self.string();
                let mut bytes = Vec::with_capacity(text.len() + 5);
                let mut length = text.len();
                while length > 0x7F {
                    bytes.push(length as u8 | 0x80);
                    length >>= 7;
                }
                bytes.push(length as u8);
                bytes.extend_from_slice(&text);
                (12, bytes)
            }
            b'n' => self.literal(4, 0),
            b't' => self.literal(4, 1),
            b'f' => self.literal(5, 2),
            _ => self.number(),
        })
    }

    fn literal(&mut self, letters: usize, number: u8) -> Encoded {
        self.at += letters;
        (4, vec![number])
    }

    fn number(&mut self) -> Encoded {
        let start = self.at;
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        while self.text.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).expect("digits and signs");
        if let Ok(number) = text.parse::<i64>() {
            return match (i16::try_from(number), i32::try_from(number)) {
                (Ok(small), _) => (5, small.to_le_bytes().to_vec()),
                (_, Ok(middle)) => (7, middle.to_le_bytes().to_vec()),
                _ => (9, number.to_le_bytes().to_vec()),
            };
        }
        match text.parse::<u64>() {
            Ok(number) => (10, number.to_le_bytes().to_vec()),
            Err(_) => {
                let number: f64 = text.parse().expect("a JSON number is one of Rust's");
                (11, number.clamp(f64::MIN, f64::MAX).to_le_bytes().to_vec())
            }
        }
    }

    /// The string at the next quotation mark, unescaped.
    fn string(&mut self) -> Vec<u8> {
        self.peek();
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let byte = self.text[self.at];
            self.at += 1;
            match byte {
                b'"' => return out,
                b'\\' => {
                    let escape = self.text[self.at];
                    self.at += 1;
                    match escape {
                        b'b' => out.push(8),
                        b'f' => out.push(12),
                        b'n' => out.push(b'\n'),
                        b'r' => out.push(b'\r'),
                        b't' => out.push(b'\t'),
                        b'u' => {
                            let character = self.character();
                            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        other => out.push(other),
                    }
                }
                byte => out.push(byte),
            }
        }
    }

    /// The character of an escape: four digits, or two times four. Half of a pair is no character.
    fn character(&mut self) -> char {
        let first = self.hex();
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex();
            if (0xDC00..0xE000).contains(&second) {
                let both = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = before;
        }
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> u32 {
        let digits = std::str::from_utf8(&self.text[self.at..self.at + 4]).expect("digits");
        self.at += 4;
        u32::from_str_radix(digits, 16).expect("digits")
    }
}

/// An object, or an array without names.
fn container(names: Option<&[Vec<u8>]>, values: &[Encoded]) -> Encoded {
    let small = if names.is_some() { 0 } else { 2 };
    match assemble(names, values, 2) {
        Some(bytes) => (small, bytes),
        None => (small + 1, assemble(names, values, 4).expect("a document of less than 4 GiB")),
    }
}

/// `None` = places do not fit words of this size.
fn assemble(names: Option<&[Vec<u8>]>, values: &[Encoded], word: usize) -> Option<Vec<u8>> {
    let is_inline = |ty: u8| matches!(ty, 4..=6) || word == 4 && matches!(ty, 7 | 8);
    let name_entry = if names.is_some() { word + 2 } else { 0 };
    let mut place = 2 * word + values.len() * (name_entry + 1 + word);
    let mut out = Vec::new();
    let put = |number: usize, out: &mut Vec<u8>| out.extend_from_slice(&number.to_le_bytes()[..word]);
    let name_bytes: usize = names.iter().flat_map(|names| names.iter().map(Vec::len)).sum();
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
    use super::super::json::write_text;
    use super::*;

    fn there_and_back(text: &str) -> String {
        let mut document = Vec::new();
        from_text(text.as_bytes(), &mut document).unwrap();
        let mut back = Vec::new();
        write_text(&document, &mut back).unwrap();
        String::from_utf8(back).unwrap()
    }

    #[test]
    fn texts_come_back_in_their_normal_form() {
        for (text, expected) in [
            ("null", "null"),
            (" [ ] ", "[]"),
            ("{}", "{}"),
            (
                "[1, -1, 32767, 32768, -32769, 2147483648, 9223372036854775808, 1.5, 1e3, -0.25, true, false, null]",
                "[1, -1, 32767, 32768, -32769, 2147483648, 9223372036854775808, 1.5, 1000.0, -0.25, true, false, null]",
            ),
            (
                r#"{"bb": 1, "a": {"z": [], "y": "x"}, "c": [2, {"d": null}], "a": 3}"#,
                r#"{"a": 3, "c": [2, {"d": null}], "bb": 1}"#,
            ),
            (r#""\u00e4\ud83d\ude00\n\"\\\/\ud800""#, "\"ä😀\\n\\\"\\\\/\u{FFFD}\""),
        ] {
            assert_eq!(there_and_back(text), expected);
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
        let mut document = Vec::new();
        from_text(br#"{"k": 1, "j": [1, "a"]}"#, &mut document).unwrap();
        // By hand, from the picture: two names at 18 and 19, an array of 12 bytes at 20, 1 in its entry.
        let expected: &[u8] = &[
            0, 2, 0, 32, 0, 18, 0, 1, 0, 19, 0, 1, 0, 2, 20, 0, 5, 1, 0, b'j', b'k', 2, 0, 12, 0, 5, 1, 0, 12, 10, 0,
            1, b'a',
        ];
        assert_eq!(document, expected);
    }
}
