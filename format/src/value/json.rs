//! Checking JSON texts.
//!
//! A JSON column holds the text as it was given, in utf8mb4, once it is known to be JSON (RFC 8259). Nesting is limited
//! as in MySQL, so that no text exhausts the stack.

/// The deepest nesting of arrays and objects.
const DEPTH_MAX: usize = 100;

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, in the words of MySQL's error 3140.
    pub reason: &'static str,
    /// The byte offset.
    pub at: usize,
}

/// Whether a text is one JSON value.
pub fn validate_json(text: &[u8]) -> Result<(), JsonError> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(JsonError { reason: "Invalid encoding in string.", at: error.valid_up_to() });
    }
    let mut reader = Reader { text, at: 0 };
    reader.skip_spaces();
    if reader.at == text.len() {
        return Err(reader.error("The document is empty."));
    }
    reader.value(0)?;
    reader.skip_spaces();
    if reader.at < text.len() {
        return Err(reader.error("The document root must not be followed by other values."));
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError { reason, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += found as usize;
        found
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth > DEPTH_MAX {
            return Err(self.error("The JSON document exceeds the maximum depth."));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for literal in [&b"true"[..], b"false", b"null"] {
                    if self.text[self.at..].starts_with(literal) {
                        self.at += literal.len();
                        return Ok(());
                    }
                }
                Err(self.error("Invalid value."))
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        self.skip_spaces();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            self.string()?;
            self.skip_spaces();
            if !self.take(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_spaces();
            self.value(depth + 1)?;
            self.skip_spaces();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or '}' after an object member."));
            }
            self.skip_spaces();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        self.skip_spaces();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.skip_spaces();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or ']' after an array element."));
            }
            self.skip_spaces();
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    match self.text.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                        Some(b'u') => {
                            let digits = self.text.get(self.at + 2..self.at + 6);
                            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                                return Err(self.error("Incorrect hex digit after \\u escape in string."));
                            }
                            self.at += 6;
                        }
                        _ => return Err(self.error("Invalid escape character in string.")),
                    };
                }
                Some(0..=0x1F) => return Err(self.error("Invalid encoding in string.")),
                Some(_) => self.at += 1,
                None => return Err(self.error("Missing a closing quotation mark in string.")),
            }
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.error("Invalid value."));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.error("Miss fraction part in number."));
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_json() {
        for text in [
            "1",
            " -0.5e+10 ",
            "\"a\\u00e4\\n ä\"",
            "[]",
            "{}",
            "[1, [2, {\"a\": null}], true,false]",
            "{\"a\":{\"b\":[1]}, \"c\" : \"d\"}",
        ] {
            assert_eq!(validate_json(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn texts_that_are_not() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("{a: 1}", 1),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("\"a", 2),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("tru", 0),
            ("1 2", 2),
            ("\"\n\"", 1),
        ] {
            assert_eq!(validate_json(text.as_bytes()).unwrap_err().at, at, "{text}");
        }
        assert!(validate_json(b"\"\xFF\"").is_err());
        assert!(validate_json("[".repeat(100_000).as_bytes()).is_err());
        assert!(validate_json(["[".repeat(100), "]".repeat(100)].concat().as_bytes()).is_ok());
    }
}
