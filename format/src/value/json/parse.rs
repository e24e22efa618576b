//! JSON texts (RFC 8259) as values.
//!
//! Numbers without fraction and exponent are integers if they fit 64 bits; others are doubles. A text that a column holds
//! may also have decimals, which come from SQL values of a source: they are told from doubles by digits that a double
//! would not be printed with, as in `1.50`.
//!
//! Errors have the words and places of MySQL's.

use super::tree::{DEPTH_MAX, Json, JsonError, NAME_BYTES_MAX, VALUES_BETWEEN};
use crate::value::Decimal;

impl Json {
    /// Reads a text that a client gave.
    pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
        parse(text, false, &|| false)
    }

    /// The same of a text that may be long: now and then it is asked whether to give up. Then it ends with some error.
    pub fn parse_unless(text: &[u8], gives_up: &dyn Fn() -> bool) -> Result<Json, JsonError> {
        parse(text, false, gives_up)
    }

    /// Reads a text that a column holds.
    pub fn parse_stored(text: &[u8]) -> Result<Json, JsonError> {
        parse(text, true, &|| false)
    }
}

fn parse(text: &[u8], is_stored: bool, gives_up: &dyn Fn() -> bool) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| JsonError::Invalid { reason: "Invalid encoding in string.", at: error.valid_up_to() })?;
    let mut parser = Parser { text, at: 0, is_stored, values: 0, gives_up };
    parser.skip_spaces();
    if parser.at == text.len() {
        return Err(parser.error("The document is empty."));
    }
    let value = parser.value(DEPTH_MAX)?;
    parser.skip_spaces();
    match parser.at < text.len() {
        true => Err(parser.error("The document root must not be followed by other values.")),
        false => Ok(value),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    is_stored: bool,
    /// How many values were begun.
    values: u32,
    gives_up: &'t dyn Fn() -> bool,
}

impl Parser<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError::Invalid { reason, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// `levels`: how many more containers may be nested.
    fn value(&mut self, levels: usize) -> Result<Json, JsonError> {
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(VALUES_BETWEEN) && (self.gives_up)() {
            return Err(self.error("Interrupted."));
        }
        let inside = || levels.checked_sub(1).ok_or(JsonError::TooDeep);
        match self.peek() {
            Some(b'{') => self.object(inside()?),
            Some(b'[') => self.array(inside()?),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'n') => self.literal("null", Json::Null),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("Invalid value.")),
        }
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        match word.bytes().all(|letter| self.take(letter)) {
            true => Ok(value),
            false => Err(self.error("Invalid value.")),
        }
    }

    fn object(&mut self, levels: usize) -> Result<Json, JsonError> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_spaces();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let name = self.string()?;
            if name.len() > NAME_BYTES_MAX {
                return Err(JsonError::LongName);
            }
            self.skip_spaces();
            if !self.take(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_spaces();
            members.push((name, self.value(levels)?));
            self.skip_spaces();
            if self.take(b'}') {
                return Ok(Json::object(members));
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or '}' after an object member."));
            }
            self.skip_spaces();
        }
    }

    fn array(&mut self, levels: usize) -> Result<Json, JsonError> {
        let mut elements = Vec::new();
        self.at += 1;
        self.skip_spaces();
        if self.take(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(levels)?);
            self.skip_spaces();
            if self.take(b']') {
                return Ok(Json::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or ']' after an array element."));
            }
            self.skip_spaces();
        }
    }

    /// The string whose quotation mark is next.
    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)).count();
            // These bytes are ASCII, so they are where characters end.
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("Invalid encoding in string.")),
                None => return Err(self.error("Missing a closing quotation mark in string.")),
            }
        }
    }

    /// The character that an escape stands for. An error is at the backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        if letter == Some(b'u') {
            return self.unicode();
        }
        let character = match letter {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.error("Invalid escape character in string.")),
        };
        self.at += 2;
        Ok(character)
    }

    /// `\u` and four digits, or two of these for a character beyond the first 65,536.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let hex = |at: usize| {
            let digits = self.text.as_bytes().get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
            digits
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .ok_or_else(|| self.error("Incorrect hex digit after \\u escape in string."))
        };
        let first = hex(self.at + 2)?;
        let (code, bytes) = match first {
            0xD800..0xDC00 if self.text.as_bytes()[self.at + 6..].starts_with(b"\\u") => match hex(self.at + 8)? {
                second @ 0xDC00..0xE000 => (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12),
                _ => (first, 6),
            },
            _ => (first, 6),
        };
        let character = char::from_u32(code).ok_or_else(|| self.error("The surrogate pair in string is invalid."))?;
        self.at += bytes;
        Ok(character)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.error("Invalid value."));
        }
        let mut is_integer = true;
        if self.take(b'.') {
            is_integer = false;
            if self.digits() == 0 {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = &self.text[start..self.at];
        if is_integer {
            if let Ok(number) = text.parse() {
                return Ok(Json::Int(number));
            }
            if let Ok(number) = text.parse() {
                return Ok(Json::UInt(number));
            }
        }
        let number: f64 = text.parse().expect("a JSON number is one of Rust's");
        if self.is_stored
            && let Some(decimal) = decimal_of(text, number)
        {
            return Ok(Json::Decimal(decimal));
        }
        match number.is_finite() {
            true => Ok(Json::Double(number)),
            false => Err(JsonError::Invalid { reason: "Number too big to be stored in double.", at: start }),
        }
    }
}

/// The decimal that a stored number is, if no double is printed like it.
fn decimal_of(text: &str, number: f64) -> Option<Decimal> {
    let is_printed = |json: Json| {
        let mut printed = Vec::new();
        json.write(&mut printed);
        printed == text.as_bytes()
    };
    if is_printed(Json::Double(number)) {
        return None;
    }
    Decimal::parse(text.as_bytes()).ok().filter(|decimal| is_printed(Json::Decimal(*decimal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let mut out = Vec::new();
        Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_have_one_normal_form() {
        for (text, expected) in [
            ("null", "null"),
            (" -0.5e+10 ", "-5000000000.0"),
            (" [ ] ", "[]"),
            ("{}", "{}"),
            (
                "[1,-1 , 9223372036854775808,-0,1.5,1e3,-0.25,1.50,true,false,null]",
                "[1, -1, 9223372036854775808, 0, 1.5, 1000.0, -0.25, 1.5, true, false, null]",
            ),
            (
                "[18446744073709551616, -9223372036854775809, 1e20]",
                "[1.8446744073709552e19, -9.223372036854776e18, 1e20]",
            ),
            (
                r#"{"bb": 1, "a": {"z": [], "y": "x"}, "c": [2,{"d":null}], "a": 2, "a": 3}"#,
                r#"{"a": 3, "c": [2, {"d": null}], "bb": 1}"#,
            ),
            (r#""\u00e4\ud83d\ude00\n\"\\\/\b\u0001 ä""#, "\"ä😀\\n\\\"\\\\/\\b\\u0001 ä\""),
            ("\t[1,\r\n[2, {\"\": null}], true,false]", r#"[1, [2, {"": null}], true, false]"#),
        ] {
            assert_eq!(normal(text), expected, "{text}");
            assert_eq!(normal(expected), expected, "the normal form is its own");
        }
    }

    #[test]
    fn stored_decimals_keep_their_digits() {
        let text = "[1.50, 1.5, 100.0, 12345678901234567890.12, 1e20, 18446744073709551616]";
        let mut out = Vec::new();
        let stored = Json::parse_stored(text.as_bytes()).unwrap();
        stored.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
        let Json::Array(numbers) = stored else { panic!("an array") };
        let is_decimal: Vec<bool> = numbers.iter().map(|number| matches!(number, Json::Decimal(_))).collect();
        assert_eq!(is_decimal, [true, false, false, true, false, true]);
        let fraction = Json::parse(b"1.50").unwrap();
        assert_eq!(fraction, Json::Double(1.5), "a client's number is a double");
    }

    #[test]
    fn errors_are_at_their_place() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1, 2,", 6),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("{a: 1}", 1),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("\"a", 2),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("\"\\u12", 1),
            ("\"ab\\ud800\"", 3),
            ("\"\\ud800\\u0041\"", 1),
            ("\"\\udc00\"", 1),
            ("\"\\ud800\\uZZZZ\"", 1),
            ("tru", 3),
            ("nope", 1),
            ("abc", 0),
            ("1 2", 2),
            ("\"\n\"", 1),
            ("[1e400]", 1),
        ] {
            match Json::parse(text.as_bytes()) {
                Err(JsonError::Invalid { at: found, .. }) => assert_eq!(found, at, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(Json::parse(b"\"\xFF\"").is_err());
    }

    #[test]
    fn depth_and_names_have_limits() {
        let nested = |levels: usize, inner: &str| ["[".repeat(levels), inner.into(), "]".repeat(levels)].concat();
        assert!(Json::parse(nested(100, "1").as_bytes()).is_ok());
        assert_eq!(Json::parse(nested(101, "").as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(Json::parse("[".repeat(100_000).as_bytes()), Err(JsonError::TooDeep));
        let named = |bytes: usize| format!("{{\"{}\": 1}}", "n".repeat(bytes));
        assert!(Json::parse(named(NAME_BYTES_MAX).as_bytes()).is_ok());
        assert_eq!(Json::parse(named(NAME_BYTES_MAX + 1).as_bytes()), Err(JsonError::LongName));
    }
}
