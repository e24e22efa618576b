//! Places in a JSON value, and changes there.
//!
//! ```text
//!   $                    the value itself
//!   .name  ."a name"     a member
//!   [3]  [last]  [last-1]  an element, counted from either end
//! ```
//!
//! Where an element of something else than an array is asked for, it is the array of one that counts, as in MySQL: in
//! `{"a": 1}` the place `$.a[0]` is `1`. Wildcards name several places, and are refused.

use super::tree::{Json, NAME_BYTES_MAX};

/// More steps lead nowhere: no value is nested deeper.
const STEPS_MAX: usize = super::tree::DEPTH_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
    FromEnd(usize),
}

/// A place in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<Step>);

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is no path to one place.
    Malformed,
    /// The value has no such place, or has it already.
    NoPlace,
}

impl JsonPath {
    pub fn parse(text: &[u8]) -> Result<JsonPath, PathError> {
        let text = std::str::from_utf8(text).map_err(|_| PathError::Malformed)?;
        let mut rest = text.trim().strip_prefix('$').ok_or(PathError::Malformed)?;
        let mut steps = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Ok(JsonPath(steps));
            }
            if steps.len() == STEPS_MAX {
                return Err(PathError::Malformed);
            }
            let (step, behind) = match rest.strip_prefix('.') {
                Some(rest) => member(rest.trim_start())?,
                None => element(rest)?,
            };
            steps.push(step);
            rest = behind;
        }
    }

    /// Whether the last step is an element of an array.
    pub fn is_element(&self) -> bool {
        matches!(self.0.last(), Some(Step::Element(_) | Step::FromEnd(_)))
    }

    /// Puts another value into a place that there is.
    pub fn replace(&self, root: &mut Json, value: Json) -> Result<(), PathError> {
        *seek(root, &self.0)? = value;
        Ok(())
    }

    /// Adds a member that there is not, or an element in front of the one with its number, or behind the last.
    pub fn insert(&self, root: &mut Json, value: Json) -> Result<(), PathError> {
        let (last, parents) = self.0.split_last().ok_or(PathError::NoPlace)?;
        match (seek(root, parents)?, last) {
            (Json::Object(members), Step::Member(name)) => {
                let place = members.binary_search_by(|(other, _)| (other.len(), other).cmp(&(name.len(), name)));
                let Err(at) = place else { return Err(PathError::NoPlace) };
                members.insert(at, (name.clone(), value));
            }
            (Json::Array(elements), Step::Element(at)) => elements.insert((*at).min(elements.len()), value),
            (Json::Array(elements), Step::FromEnd(back)) => {
                // MySQL counts from the last element; what is before the first is put there.
                let at = elements.len().saturating_sub(back + 1);
                elements.insert(at, value);
            }
            _ => return Err(PathError::NoPlace),
        }
        Ok(())
    }

    pub fn remove(&self, root: &mut Json) -> Result<(), PathError> {
        let (last, parents) = self.0.split_last().ok_or(PathError::NoPlace)?;
        match (seek(root, parents)?, last) {
            (Json::Object(members), Step::Member(name)) => {
                let at = members.iter().position(|(other, _)| other == name).ok_or(PathError::NoPlace)?;
                members.remove(at);
            }
            (Json::Array(elements), step) => {
                let at = index(step, elements.len()).ok_or(PathError::NoPlace)?;
                elements.remove(at);
            }
            _ => return Err(PathError::NoPlace),
        }
        Ok(())
    }
}

/// Which of so many elements a step leads to.
fn index(step: &Step, count: usize) -> Option<usize> {
    match step {
        Step::Member(_) => None,
        Step::Element(at) => Some(*at).filter(|at| *at < count),
        Step::FromEnd(back) => count.checked_sub(back.checked_add(1)?),
    }
}

fn seek<'j>(root: &'j mut Json, steps: &[Step]) -> Result<&'j mut Json, PathError> {
    let mut place = root;
    for step in steps {
        place = match (place, step) {
            (Json::Object(members), Step::Member(name)) => {
                let found = members.iter_mut().find(|(other, _)| other == name);
                &mut found.ok_or(PathError::NoPlace)?.1
            }
            (Json::Array(elements), step) => {
                let at = index(step, elements.len()).ok_or(PathError::NoPlace)?;
                &mut elements[at]
            }
            (place, step) => {
                index(step, 1).ok_or(PathError::NoPlace)?;
                place
            }
        };
    }
    Ok(place)
}

/// The name behind a dot.
fn member(rest: &str) -> Result<(Step, &str), PathError> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = quoted.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let end = end.ok_or(PathError::Malformed)? + 2;
        return match Json::parse(&rest.as_bytes()[..end]) {
            Ok(Json::String(name)) => named(name, &rest[end..]),
            _ => Err(PathError::Malformed),
        };
    }
    let end = rest.find(|character: char| " \t\r\n.[*\"".contains(character)).unwrap_or(rest.len());
    match end {
        0 => Err(PathError::Malformed),
        end => named(rest[..end].to_owned(), &rest[end..]),
    }
}

fn named(name: String, rest: &str) -> Result<(Step, &str), PathError> {
    match name.len() <= NAME_BYTES_MAX {
        true => Ok((Step::Member(name), rest)),
        false => Err(PathError::Malformed),
    }
}

/// The number in brackets.
fn element(rest: &str) -> Result<(Step, &str), PathError> {
    let (inside, rest) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or(PathError::Malformed)?;
    let inside = inside.trim();
    let number = |digits: &str| -> Result<usize, PathError> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u32 = is_number.then(|| digits.parse().ok()).flatten().ok_or(PathError::Malformed)?;
        Ok(number as usize)
    };
    let step = match inside.strip_prefix("last") {
        None => Step::Element(number(inside)?),
        Some("") => Step::FromEnd(0),
        Some(back) => {
            let back = back.trim_start().strip_prefix('-').ok_or(PathError::Malformed)?;
            Step::FromEnd(number(back.trim_start())?)
        }
    };
    Ok((step, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&JsonPath, &mut Json) -> Result<(), PathError>;
    const REPLACE: Change = |path, root| path.replace(root, Json::Int(7));
    const INSERT: Change = |path, root| path.insert(root, Json::Int(7));
    const REMOVE: Change = |path, root| path.remove(root);

    #[test]
    fn changes_at_places() {
        let text = br#"{"a": [1, [2], {"k": 3}], "b c": {"x": null}, "long": 4}"#;
        for (change, path, expected) in [
            (REPLACE, "$", Some("7")),
            (REPLACE, "$.a[0]", Some(r#"{"a": [7, [2], {"k": 3}], "b c": {"x": null}, "long": 4}"#)),
            (REPLACE, "$ . a [ last ] . k", Some(r#"{"a": [1, [2], {"k": 7}], "b c": {"x": null}, "long": 4}"#)),
            (REPLACE, "$.a[last-1][0][0]", Some(r#"{"a": [1, [7], {"k": 3}], "b c": {"x": null}, "long": 4}"#)),
            (REPLACE, r#"$."b\u0020c".x"#, Some(r#"{"a": [1, [2], {"k": 3}], "b c": {"x": 7}, "long": 4}"#)),
            (REPLACE, "$.long[0]", Some(r#"{"a": [1, [2], {"k": 3}], "b c": {"x": null}, "long": 7}"#)),
            (REPLACE, "$.long[1]", None),
            (REPLACE, "$.none", None),
            (REPLACE, "$.a[3]", None),
            (INSERT, "$.bb", Some(r#"{"a": [1, [2], {"k": 3}], "bb": 7, "b c": {"x": null}, "long": 4}"#)),
            (INSERT, "$.a", None),
            (INSERT, "$", None),
            (INSERT, "$.long.x", None),
            (INSERT, "$.long[0]", None),
            (INSERT, "$.a[1]", Some(r#"{"a": [1, 7, [2], {"k": 3}], "b c": {"x": null}, "long": 4}"#)),
            (INSERT, "$.a[99]", Some(r#"{"a": [1, [2], {"k": 3}, 7], "b c": {"x": null}, "long": 4}"#)),
            (REMOVE, "$.a[1]", Some(r#"{"a": [1, {"k": 3}], "b c": {"x": null}, "long": 4}"#)),
            (REMOVE, r#"$."b c""#, Some(r#"{"a": [1, [2], {"k": 3}], "long": 4}"#)),
            (REMOVE, "$.a[3]", None),
            (REMOVE, "$", None),
        ] {
            let mut root = Json::parse(text).unwrap();
            let changed = change(&JsonPath::parse(path.as_bytes()).unwrap(), &mut root);
            match expected {
                Some(expected) => {
                    assert_eq!(changed, Ok(()), "{path}");
                    let mut out = Vec::new();
                    root.write(&mut out);
                    assert_eq!(String::from_utf8(out).unwrap(), expected, "{path}");
                }
                None => {
                    assert_eq!(changed, Err(PathError::NoPlace), "{path}");
                    assert_eq!(root, Json::parse(text).unwrap(), "{path}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_path_to_one_place() {
        let long = format!("${}", "[0]".repeat(STEPS_MAX + 1));
        for text in [
            "",
            "a",
            "$.",
            "$[",
            "$[]",
            "$[x]",
            "$[-1]",
            "$[+1]",
            "$[last+1]",
            "$[last-]",
            "$.*",
            "$[*]",
            "$**.a",
            "$.\"a",
            "$a",
            "$[99999999999]",
            &long,
        ] {
            assert_eq!(JsonPath::parse(text.as_bytes()), Err(PathError::Malformed), "{text}");
        }
        assert!(JsonPath::parse(b"$.\xFF").is_err());
    }
}
