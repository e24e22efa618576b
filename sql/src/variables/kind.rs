//! What type a variable has. How a value that is given to it becomes one of that type: `accept`.

use format::value::Value;

/// The type of a variable, with its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// ON or OFF; reads as 1 or 0.
    Bool,
    /// A whole number; kept as `Int` if `min` is below zero, else as `UInt`. Values between are rounded down to a
    /// multiple of `step`.
    Integer { min: i64, max: u64, step: u64 },
    /// A number with a fraction.
    Real { min: f64, max: f64 },
    /// One of these names, or its index.
    Enumeration(&'static [&'static str]),
    /// Some of these names, separated by commas, or a bit mask.
    Set(&'static [&'static str]),
    /// `name=on|off|default`, separated by commas: what is not named stays as it is.
    Switches,
    /// Any text, or NULL.
    Text,
}

impl Kind {
    /// The value as SHOW VARIABLES prints it.
    pub fn show(&self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Null) => String::new(),
            (Kind::Bool, Value::Int(0)) => "OFF".to_owned(),
            (Kind::Bool, _) => "ON".to_owned(),
            (_, Value::Int(number)) => number.to_string(),
            (_, Value::UInt(number)) => number.to_string(),
            (_, Value::Double(number)) => format!("{number:.6}"),
            (_, Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned(),
            (_, other) => unreachable!("no variable holds {other:?}"),
        }
    }
}

/// A number with one of the suffixes K, M, G, T, P, E (powers of 1024).
pub fn parse_size(text: &str) -> Option<Value> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        b'P' => (&text[..text.len() - 1], 50),
        b'E' => (&text[..text.len() - 1], 60),
        _ => (text, 0),
    };
    if let Ok(number) = digits.parse::<u64>() {
        return number.checked_mul(1 << shift).map(Value::UInt);
    }
    digits.parse::<i64>().ok()?.checked_mul(1 << shift).map(Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse_size("16K"), Some(Value::UInt(16 << 10)));
        assert_eq!(parse_size("50g"), Some(Value::UInt(50 << 30)));
        assert_eq!(parse_size("-1"), Some(Value::Int(-1)));
        assert_eq!(parse_size("20000000T"), None);
        assert_eq!(parse_size("K"), None);
        assert_eq!(parse_size("1Q"), None);
        assert_eq!(parse_size(""), None);
    }
}
