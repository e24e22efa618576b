//! Places in a JSON value, and changes there.
//!
//! ```text
//!   $                      the value itself
//!   .name  ."a name"       a member
//!   .*                     all members
//!   [3]  [last]  [last-1]  an element, counted from either end
//!   [1 to 3]  [*]          several elements, all elements
//!   **                     the value and all below it; a step must follow
//! ```
//!
//! Where an element of something else than an array is asked for, it is the array of one that counts, as in MySQL: in
//! `{"a": 1}` the place `$.a[0]` is `1`. So a step that leads to several places may lead to one twice; it counts once.
//!
//! A search takes no more steps than the value has parts, times the steps of the path.

use std::collections::HashSet;

use super::decode::{Container, part_value};
use super::tree::{Json, NAME_BYTES_MAX};
use crate::error::Result;

/// More steps lead nowhere: no value is nested deeper.
const STEPS_MAX: usize = super::tree::DEPTH_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(Index),
    Range(Index, Index),
    AnyMember,
    AnyElement,
    AnyDepth,
}

/// The number of an element: from 0 on, or backwards from the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    FromStart(usize),
    FromEnd(usize),
}

/// A place in a value, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<Step>);

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is no path; reading ended at this byte.
    Malformed { at: usize },
    /// The value has no such place, or has it already.
    NoPlace,
}

const MALFORMED: PathError = PathError::Malformed { at: 0 };

impl JsonPath {
    pub fn parse(text: &[u8]) -> std::result::Result<JsonPath, PathError> {
        let text = std::str::from_utf8(text).map_err(|error| PathError::Malformed { at: error.valid_up_to() })?;
        let at = |rest: &str| PathError::Malformed { at: text.len() - rest.len() };
        let start = text.trim_start();
        // MySQL has read the character by then.
        let mut rest = start.strip_prefix('$').ok_or(PathError::Malformed { at: text.len() - start.len() + 1 })?;
        let mut steps = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return match steps.last() {
                    Some(Step::AnyDepth) => Err(at(rest)),
                    _ => Ok(JsonPath(steps)),
                };
            }
            if steps.len() == STEPS_MAX {
                return Err(at(rest));
            }
            let (step, behind) = match rest.as_bytes()[0] {
                b'.' => member(rest[1..].trim_start()).map_err(|_| at(&rest[1..]))?,
                b'*' if rest.starts_with("**") && steps.last() != Some(&Step::AnyDepth) => (Step::AnyDepth, &rest[2..]),
                b'[' => element(rest).map_err(|error| match error {
                    PathError::Malformed { at: inside } => at(&rest[inside..]),
                    error => error,
                })?,
                _ => return Err(at(rest)),
            };
            steps.push(step);
            rest = behind;
        }
    }

    /// Whether it leads to one place at most.
    pub fn is_single(&self) -> bool {
        self.0.iter().all(|step| matches!(step, Step::Member(_) | Step::Element(_)))
    }

    /// Whether it is `$`.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the last step is an element of an array.
    pub fn is_element(&self) -> bool {
        matches!(self.0.last(), Some(Step::Element(_)))
    }

    /// The values at all places that it leads to.
    pub fn find<'j>(&self, root: &'j Json) -> Vec<&'j Json> {
        let mut places = vec![root];
        for step in &self.0 {
            let mut next = Vec::new();
            places.iter().for_each(|place| take(step, place, &mut next));
            if !self.is_single() {
                let mut seen = HashSet::with_capacity(next.len());
                next.retain(|place| seen.insert(std::ptr::from_ref(*place)));
            }
            places = next;
        }
        places
    }

    /// The value at the one place that a path leads to, out of a binary document: no other part is decoded.
    pub fn find_in(&self, document: &[u8]) -> Result<Option<Json>> {
        let Some((&ty, body)) = document.split_first() else {
            return Ok(self.is_root().then_some(Json::Null));
        };
        let (mut ty, mut body) = (ty, body);
        for step in &self.0 {
            let container = if ty < 4 { Some(Container::read(ty, body)?) } else { None };
            let at = match (&container, step) {
                (Some(container), Step::Member(name)) if container.is_object => container.find(name.as_bytes())?,
                (_, Step::Member(_)) => None,
                (Some(container), Step::Element(index)) if !container.is_object => index.of(container.count),
                // What is no array is the array of itself.
                (_, Step::Element(index)) if index.of(1).is_some() => continue,
                _ => None,
            };
            let (Some(container), Some(at)) = (container, at) else { return Ok(None) };
            (ty, body) = container.part(at)?;
        }
        part_value(ty, body).map(Some)
    }

    pub fn is_found(&self, root: &Json) -> bool {
        !self.find(root).is_empty()
    }

    // The changes are for paths to one place.

    /// Puts another value into a place that there is.
    pub fn replace(&self, root: &mut Json, value: Json) -> std::result::Result<(), PathError> {
        *seek(root, &self.0)? = value;
        Ok(())
    }

    /// Adds a member that there is not, or an element in front of the one with its number, or behind the last.
    pub fn insert(&self, root: &mut Json, value: Json) -> std::result::Result<(), PathError> {
        let (last, parents) = self.0.split_last().ok_or(PathError::NoPlace)?;
        match (seek(root, parents)?, last) {
            (Json::Object(members), Step::Member(name)) => add_member(members, name, value),
            (Json::Array(elements), Step::Element(Index::FromStart(at))) => {
                elements.insert((*at).min(elements.len()), value);
                Ok(())
            }
            (Json::Array(elements), Step::Element(Index::FromEnd(back))) => {
                // MySQL counts from the last element; what is before the first is put there.
                let at = elements.len().saturating_sub(back + 1);
                elements.insert(at, value);
                Ok(())
            }
            _ => Err(PathError::NoPlace),
        }
    }

    pub fn remove(&self, root: &mut Json) -> std::result::Result<(), PathError> {
        let (last, parents) = self.0.split_last().ok_or(PathError::NoPlace)?;
        match (seek(root, parents)?, last) {
            (Json::Object(members), Step::Member(name)) => {
                let at = members.iter().position(|(other, _)| other == name).ok_or(PathError::NoPlace)?;
                members.remove(at);
            }
            (Json::Array(elements), Step::Element(index)) => {
                let at = index.of(elements.len()).ok_or(PathError::NoPlace)?;
                elements.remove(at);
            }
            _ => return Err(PathError::NoPlace),
        }
        Ok(())
    }

    /// Puts a value into the place if it is there (`replaces`), or makes the place if what is around it is there
    /// (`adds`): a member of an object, an element behind the last or in front of the first. What is no array becomes
    /// one for that. Else nothing happens.
    pub fn set(&self, root: &mut Json, value: Json, replaces: bool, adds: bool) {
        if let Ok(place) = seek(root, &self.0) {
            if replaces {
                *place = value;
            }
            return;
        }
        let Some((last, parents)) = self.0.split_last().filter(|_| adds) else { return };
        match (seek(root, parents), last) {
            (Ok(Json::Object(members)), Step::Member(name)) => {
                let _ = add_member(members, name, value);
            }
            (Ok(Json::Array(elements)), Step::Element(Index::FromStart(_))) => elements.push(value),
            (Ok(Json::Array(elements)), Step::Element(Index::FromEnd(_))) => elements.insert(0, value),
            (Ok(single), Step::Element(index)) => {
                let old = std::mem::replace(single, Json::Null);
                *single = Json::Array(match index {
                    Index::FromStart(_) => vec![old, value],
                    Index::FromEnd(_) => vec![value, old],
                });
            }
            _ => {}
        }
    }

    /// Adds an element behind the last one of the array at the place; another value becomes an array for that.
    pub fn append(&self, root: &mut Json, value: Json) {
        match seek(root, &self.0) {
            Ok(Json::Array(elements)) => elements.push(value),
            Ok(single) => {
                let old = std::mem::replace(single, Json::Null);
                *single = Json::Array(vec![old, value]);
            }
            Err(_) => {}
        }
    }
}

fn add_member(members: &mut Vec<(String, Json)>, name: &String, value: Json) -> std::result::Result<(), PathError> {
    let place = members.binary_search_by(|(other, _)| (other.len(), other).cmp(&(name.len(), name)));
    let Err(at) = place else { return Err(PathError::NoPlace) };
    members.insert(at, (name.clone(), value));
    Ok(())
}

impl Index {
    /// Which of so many elements.
    fn of(self, count: usize) -> Option<usize> {
        match self {
            Index::FromStart(at) => Some(at).filter(|at| *at < count),
            Index::FromEnd(back) => count.checked_sub(back.checked_add(1)?),
        }
    }
}

/// The elements of a range, of so many.
fn range(from: Index, to: Index, count: usize) -> std::ops::Range<usize> {
    let start = match from {
        Index::FromStart(at) => at.min(count),
        Index::FromEnd(back) => count.saturating_sub(back.saturating_add(1)),
    };
    let end = match to {
        Index::FromStart(at) => at.saturating_add(1).min(count),
        Index::FromEnd(back) => count.saturating_sub(back),
    };
    start..end.max(start)
}

/// Adds the places that one step leads to.
fn take<'j>(step: &Step, place: &'j Json, out: &mut Vec<&'j Json>) {
    match (step, place) {
        (Step::Member(name), _) => out.extend(place.member(name)),
        (Step::AnyMember, Json::Object(members)) => out.extend(members.iter().map(|(_, value)| value)),
        (Step::AnyElement, Json::Array(elements)) => out.extend(elements),
        (Step::AnyMember | Step::AnyElement, _) => {}
        (Step::Element(index), Json::Array(elements)) => {
            out.extend(index.of(elements.len()).map(|at| &elements[at]));
        }
        (Step::Element(index), single) => out.extend(index.of(1).map(|_| single)),
        (Step::Range(from, to), Json::Array(elements)) => out.extend(&elements[range(*from, *to, elements.len())]),
        (Step::Range(from, to), single) => out.extend((!range(*from, *to, 1).is_empty()).then_some(single)),
        (Step::AnyDepth, _) => everything(place, out),
    }
}

fn everything<'j>(place: &'j Json, out: &mut Vec<&'j Json>) {
    out.push(place);
    match place {
        Json::Array(elements) => elements.iter().for_each(|element| everything(element, out)),
        Json::Object(members) => members.iter().for_each(|(_, value)| everything(value, out)),
        _ => {}
    }
}

fn seek<'j>(root: &'j mut Json, steps: &[Step]) -> std::result::Result<&'j mut Json, PathError> {
    let mut place = root;
    for step in steps {
        place = match (place, step) {
            (Json::Object(members), Step::Member(name)) => {
                let found = members.iter_mut().find(|(other, _)| other == name);
                &mut found.ok_or(PathError::NoPlace)?.1
            }
            (Json::Array(elements), Step::Element(index)) => {
                let at = index.of(elements.len()).ok_or(PathError::NoPlace)?;
                &mut elements[at]
            }
            (place, Step::Element(index)) => {
                index.of(1).ok_or(PathError::NoPlace)?;
                place
            }
            _ => return Err(PathError::NoPlace),
        };
    }
    Ok(place)
}

/// The name behind a dot.
fn member(rest: &str) -> std::result::Result<(Step, &str), PathError> {
    if let Some(rest) = rest.strip_prefix('*') {
        return Ok((Step::AnyMember, rest));
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = quoted.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let end = end.ok_or(MALFORMED)? + 2;
        return match Json::parse(&rest.as_bytes()[..end]) {
            Ok(Json::String(name)) => named(name, &rest[end..]),
            _ => Err(MALFORMED),
        };
    }
    let end = rest.find(|character: char| " \t\r\n.[*\"".contains(character)).unwrap_or(rest.len());
    match is_identifier(&rest[..end]) {
        false => Err(MALFORMED),
        true => named(rest[..end].to_owned(), &rest[end..]),
    }
}

/// Whether a name needs no quotation marks: an identifier of ECMAScript.
fn is_identifier(name: &str) -> bool {
    let starts = |character: char| character.is_alphabetic() || matches!(character, '_' | '$');
    name.starts_with(starts)
        && name.chars().all(|character| starts(character) || character.is_alphanumeric() || !character.is_ascii())
}

/// Appends `.name` as a path has it.
pub fn write_member(name: &str, out: &mut Vec<u8>) {
    out.push(b'.');
    match is_identifier(name) {
        true => out.extend_from_slice(name.as_bytes()),
        false => super::write::write_string(name, out),
    }
}

fn named(name: String, rest: &str) -> std::result::Result<(Step, &str), PathError> {
    match name.len() <= NAME_BYTES_MAX {
        true => Ok((Step::Member(name), rest)),
        false => Err(MALFORMED),
    }
}

/// What stands in brackets. An error's place is counted from the first of them.
fn element(text: &str) -> std::result::Result<(Step, &str), PathError> {
    let within = |at: usize| move |_| PathError::Malformed { at };
    let Some((inside, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Err(PathError::Malformed { at: text.len() });
    };
    let end = inside.len() + 1;
    let inside = inside.trim();
    if inside == "*" {
        return Ok((Step::AnyElement, rest));
    }
    // `to` stands between spaces, or it would be part of what is beside it.
    let is_space = |byte: u8| byte.is_ascii_whitespace();
    let to =
        inside.as_bytes().windows(4).position(|part| is_space(part[0]) && &part[1..3] == b"to" && is_space(part[3]));
    let Some(to) = to else { return Ok((Step::Element(index(inside).map_err(within(1))?), rest)) };
    let ends = (index(inside[..to].trim()), index(inside[to + 3..].trim()));
    let (from, to) = (ends.0.map_err(within(1))?, ends.1.map_err(within(1))?);
    let is_backwards = match (from, to) {
        (Index::FromStart(from), Index::FromStart(to)) => from > to,
        (Index::FromEnd(from), Index::FromEnd(to)) => from < to,
        _ => false,
    };
    if is_backwards { Err(PathError::Malformed { at: end }) } else { Ok((Step::Range(from, to), rest)) }
}

fn index(text: &str) -> std::result::Result<Index, PathError> {
    let number = |digits: &str| -> std::result::Result<usize, PathError> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u32 = is_number.then(|| digits.parse().ok()).flatten().ok_or(MALFORMED)?;
        Ok(number as usize)
    };
    match text.strip_prefix("last") {
        None => Ok(Index::FromStart(number(text)?)),
        Some("") => Ok(Index::FromEnd(0)),
        Some(back) => {
            let back = back.trim_start().strip_prefix('-').ok_or(MALFORMED)?;
            Ok(Index::FromEnd(number(back.trim_start())?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&JsonPath, &mut Json) -> std::result::Result<(), PathError>;
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
            "$**",
            "$***.a",
            "$.1a",
            "$[3 to 2]",
            "$[last to last-1]",
            "$[1 to]",
            "$.\"a",
            "$a",
            "$[99999999999]",
            &long,
        ] {
            assert!(matches!(JsonPath::parse(text.as_bytes()), Err(PathError::Malformed { .. })), "{text}");
        }
        assert!(JsonPath::parse(b"$.\xFF").is_err());
    }

    #[test]
    fn several_places_are_found_in_order_each_once() {
        let text = br#"{"a": [1, [2], {"k": 3}], "b c": {"k": null}, "k": 4}"#;
        let root = Json::parse(text).unwrap();
        for (path, expected) in [
            ("$", vec![r#"{"a": [1, [2], {"k": 3}], "k": 4, "b c": {"k": null}}"#]),
            ("$.*", vec![r#"[1, [2], {"k": 3}]"#, "4", r#"{"k": null}"#]),
            ("$.a[*]", vec!["1", "[2]", r#"{"k": 3}"#]),
            ("$.a[0 to 1]", vec!["1", "[2]"]),
            ("$.a[last-1 to 7]", vec!["[2]", r#"{"k": 3}"#]),
            ("$.a[3 to 7]", vec![]),
            ("$.k[0 to 7]", vec!["4"]),
            ("$.k[last][0]", vec!["4"]),
            ("$.k[1 to 7]", vec![]),
            ("$.k[*]", vec![]),
            ("$**.k", vec!["4", "3", "null"]),
            ("$.a**[0]", vec!["1", "2", r#"{"k": 3}"#, "3"]),
            ("$ ** . k ", vec!["4", "3", "null"]),
            ("$.a[1][0]", vec!["2"]),
            ("$.a[0].k", vec![]),
        ] {
            let path_read = JsonPath::parse(path.as_bytes()).unwrap();
            let found: Vec<String> =
                path_read.find(&root).iter().map(|value| String::from_utf8(value.to_text()).unwrap()).collect();
            let mut sorted = (found.clone(), expected.iter().map(|text| text.to_string()).collect::<Vec<_>>());
            sorted.0.sort();
            sorted.1.sort();
            assert_eq!(sorted.0, sorted.1, "{path}");
            assert_eq!(path_read.is_found(&root), !expected.is_empty(), "{path}");
            if path_read.is_single() {
                let alone = path_read.find_in(&root.to_binary()).unwrap();
                assert_eq!(alone.as_ref(), path_read.find(&root).first().copied(), "{path}");
            }
        }
    }

    #[test]
    fn set_puts_a_value_where_there_is_room_for_it() {
        for (text, path, expected) in [
            ("{}", "$.a", r#"{"a": 7}"#),
            ("[1]", "$[0]", "[7]"),
            ("[1]", "$[5]", "[1, 7]"),
            ("[1]", "$[last-5]", "[7, 1]"),
            ("1", "$[0]", "7"),
            ("1", "$[1]", "[1, 7]"),
            ("1", "$[last-1]", "[7, 1]"),
            ("1", "$.a", "1"),
            ("{\"a\": 1}", "$.a[2]", r#"{"a": [1, 7]}"#),
            ("{\"a\": 1}", "$.b.c", r#"{"a": 1}"#),
            ("1", "$", "7"),
        ] {
            let mut root = Json::parse(text.as_bytes()).unwrap();
            JsonPath::parse(path.as_bytes()).unwrap().set(&mut root, Json::Int(7), true, true);
            assert_eq!(String::from_utf8(root.to_text()).unwrap(), expected, "{text} {path}");
        }
    }
}
