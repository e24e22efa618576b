//! Changes of a JSON value, as partial updates have them instead of the value.
//!
//! ```text
//! change     1  0 replace, 1 insert, 2 remove
//!            .  path: length (length-encoded), text
//!            .  value: length (length-encoded), binary JSON       (not of a removal)
//! ```
//!
//! Each change is made to what the ones before it have left. No changes leave the value as it is.

use std::fmt;

use crate::error::{Error, Result};
use crate::packet::Reader;
use crate::value::{Json, JsonPath};

#[derive(Clone, Debug, PartialEq)]
pub enum JsonChange {
    /// The place is there.
    Replace(Json),
    /// A member that is not there, or another element in front of the one with this number.
    Insert(Json),
    Remove,
}

/// A change and where.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonDiff {
    pub path: JsonPath,
    /// The path as it was written.
    pub path_text: String,
    pub change: JsonChange,
}

/// Why changes were not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffError {
    /// These bytes are no changes.
    Damaged(Error),
    /// The value is not the one that they were made for.
    DoesNotFit,
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiffError::Damaged(error) => write!(f, "{error}"),
            DiffError::DoesNotFit => write!(f, "the changes do not fit the JSON value"),
        }
    }
}

/// Reads all changes of a value.
pub fn decode_diffs(bytes: &[u8]) -> Result<Vec<JsonDiff>> {
    const WHAT: &str = "changes of a JSON value";
    const MALFORMED: Error = Error::Malformed { what: WHAT };
    let mut reader = Reader::new(bytes);
    let mut diffs = Vec::new();
    while !reader.is_empty() {
        let operation = reader.u8(WHAT)?;
        let path = reader.lenenc_bytes(WHAT)?;
        let path_text = String::from_utf8(path.to_vec()).map_err(|_| MALFORMED)?;
        let path = JsonPath::parse(path).ok().filter(JsonPath::is_single).ok_or(MALFORMED)?;
        let value = |reader: &mut Reader<'_>| Json::decode(reader.lenenc_bytes(WHAT)?);
        let change = match operation {
            0 => JsonChange::Replace(value(&mut reader)?),
            1 => JsonChange::Insert(value(&mut reader)?),
            2 => JsonChange::Remove,
            _ => return Err(MALFORMED),
        };
        diffs.push(JsonDiff { path, path_text, change });
    }
    Ok(diffs)
}

/// Makes the changes to a value that a column holds, as text or in the binary form; the new one is in that.
pub fn apply(bytes: &[u8], stored: &[u8]) -> std::result::Result<Vec<u8>, DiffError> {
    let diffs = decode_diffs(bytes).map_err(DiffError::Damaged)?;
    let mut root = Json::of_stored(stored).map_err(|_| DiffError::DoesNotFit)?;
    for JsonDiff { path, change, .. } in diffs {
        let changed = match change {
            JsonChange::Replace(value) => path.replace(&mut root, value),
            JsonChange::Insert(value) => path.insert(&mut root, value),
            JsonChange::Remove => path.remove(&mut root),
        };
        changed.map_err(|_| DiffError::DoesNotFit)?;
    }
    match root.is_too_deep() {
        true => Err(DiffError::DoesNotFit),
        false => Ok(root.to_binary()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::writer;

    fn diff(operation: u8, path: &str, value: Option<&str>) -> Vec<u8> {
        let mut out = vec![operation];
        writer::lenenc_bytes(&mut out, path.as_bytes());
        if let Some(value) = value {
            let document = Json::parse(value.as_bytes()).unwrap().to_binary();
            writer::lenenc_bytes(&mut out, &document);
        }
        out
    }

    fn changed(diffs: &[Vec<u8>], text: &str) -> std::result::Result<String, DiffError> {
        let changed = apply(&diffs.concat(), text.as_bytes())?;
        Ok(String::from_utf8(Json::decode(&changed).unwrap().to_text()).unwrap())
    }

    #[test]
    fn changes_follow_each_other() {
        let long = format!("\"{}\"", "x".repeat(70_000));
        let diffs = [
            diff(1, "$.b", Some(&long)),
            diff(0, "$.a", Some("[1.5, {}]")),
            diff(1, "$.a[1].k", Some("null")),
            diff(2, "$.a[0]", None),
        ];
        let expected = format!("{{\"a\": [{{\"k\": null}}], \"b\": {long}, \"price\": 1.50}}");
        assert_eq!(changed(&diffs, r#"{"a": 1, "price": 1.50}"#).unwrap(), expected);
        assert_eq!(changed(&[], "[1]").unwrap(), "[1]");
        assert_eq!(changed(&diffs[1..2], "{}"), Err(DiffError::DoesNotFit));
        assert_eq!(changed(&[diff(0, "$", Some("1"))], "{}").unwrap(), "1");
        let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
        let deeper = format!("$[0]{}", "[0]".repeat(58));
        let nested = changed(&[diff(1, &deeper, Some(&deep))], &deep);
        assert_eq!(nested, Err(DiffError::DoesNotFit));
    }

    #[test]
    fn damage_is_an_error_or_another_change() {
        let diffs =
            [diff(0, "$.a", Some("[1, 2]")), diff(1, "$.\"b c\"", Some("{}")), diff(2, "$.a[last]", None)].concat();
        for length in 0..diffs.len() {
            let _ = apply(&diffs[..length], b"{\"a\": 1}");
        }
        for bit in 0..8 * diffs.len() {
            let mut damaged = diffs.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = apply(&damaged, b"{\"a\": 1}");
        }
        assert!(matches!(changed(&[diff(3, "$", None)], "1"), Err(DiffError::Damaged(_))));
        assert!(matches!(changed(&[diff(2, "$.*", None)], "1"), Err(DiffError::Damaged(_))));
    }
}
