//! What is at a path, and where something is: JSON_EXTRACT, JSON_CONTAINS, JSON_SEARCH and their kin.

use std::cmp::Ordering;

use format::collation::{CollationId, collation};
use format::value::{Json, write_json_member};
use rustc_hash::FxHashSet;

use super::arguments::{document, json_type, path, result, says_all, single_path, truth_type, value};
use super::{Call, Function, MANY, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, json, pattern};

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_extract", (2, MANY), json_type, json_extract),
    Function::new("json_contains", (2, 3), truth_type, json_contains),
    Function::new("json_contains_path", (3, MANY), truth_type, json_contains_path),
    Function::new("json_overlaps", (2, 2), truth_type, json_overlaps),
    Function::new("json_keys", (1, 2), json_type, json_keys),
    Function::new("json_search", (3, MANY), json_type, json_search),
    Function::new("member of", (2, 2), truth_type, member_of),
];

/// The value at a path; if there may be several, an array of them.
fn json_extract<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    // The most common: one place in a document, of which nothing else is read.
    if call.args.len() == 2
        && let Datum::Json(document) = call.arg(0)?
    {
        let path = not_null!(path(call, 1)?);
        if path.is_single() {
            let found = path.find_in(&document).map_err(|_| Error::invalid_json_binary())?;
            return found.map_or(Ok(Datum::Null), |value| result(call, &value));
        }
    }
    let root = not_null!(document(call, 0)?);
    let mut found = Vec::new();
    let mut is_single = call.args.len() == 2;
    for index in 1..call.args.len() {
        let path = not_null!(path(call, index)?);
        is_single &= path.is_single();
        found.extend(path.find(&root));
    }
    match (is_single, found.as_slice()) {
        (_, []) => Ok(Datum::Null),
        (true, [value, ..]) => result(call, value),
        (false, _) => result(call, &Json::Array(found.into_iter().cloned().collect())),
    }
}

fn json_contains<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let target = not_null!(document(call, 0)?);
    let candidate = not_null!(document(call, 1)?);
    if !call.has(2) {
        return Ok(contains(&target, &candidate, &mut look_at(call))?.into());
    }
    let path = not_null!(single_path(call, 2)?);
    match path.find(&target).first() {
        Some(place) => Ok(contains(place, &candidate, &mut look_at(call))?.into()),
        None => Ok(Datum::Null),
    }
}

/// Called for each pair of values that are compared, of which two long arrays have very many: now and then it looks whether
/// the statement was killed.
fn look_at<'c>(call: &'c Call<'_>) -> impl FnMut() -> Result<()> + 'c {
    let mut looked_at = 0_u32;
    move || {
        looked_at = looked_at.wrapping_add(1);
        match looked_at.is_multiple_of(1024) && call.context.session.is_interrupted() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }
}

/// Whether all of a value is part of another one.
fn contains(target: &Json, candidate: &Json, look: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
    look()?;
    match (target, candidate) {
        (Json::Object(_), Json::Object(members)) => {
            for (name, value) in members {
                let Some(other) = target.member(name) else { return Ok(false) };
                if !contains(other, value, look)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Array(parts), Json::Array(elements)) => {
            for element in elements {
                if !is_in(parts, element, look)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Array(parts), _) => is_in(parts, candidate, look),
        _ => Ok(target.compare(candidate) == Ordering::Equal),
    }
}

fn is_in(parts: &[Json], candidate: &Json, look: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
    for part in parts {
        if contains(part, candidate, look)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn json_contains_path<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let wants_all = not_null!(says_all(call, 1)?);
    for index in 2..call.args.len() {
        if not_null!(path(call, index)?).is_found(&root) != wants_all {
            return Ok((!wants_all).into());
        }
    }
    Ok(wants_all.into())
}

fn json_overlaps<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let one = not_null!(document(call, 0)?);
    let other = not_null!(document(call, 1)?);
    Ok(overlaps(&one, &other, &mut look_at(call))?.into())
}

/// Whether two values have something in common: an element, or a member with its value.
fn overlaps(one: &Json, other: &Json, look: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
    let is_equal = |one: &Json, other: &Json| one.compare(other) == Ordering::Equal;
    match (one, other) {
        (Json::Array(one), Json::Array(other)) => has_common(one, other, look),
        (Json::Array(elements), single) | (single, Json::Array(elements)) => {
            Ok(elements.iter().any(|element| is_equal(element, single)))
        }
        (Json::Object(members), Json::Object(_)) => {
            for (name, value) in members {
                look()?;
                if other.member(name).is_some_and(|other| is_equal(value, other)) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(is_equal(one, other)),
    }
}

fn has_common(one: &[Json], other: &[Json], look: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
    let key = |value: &Json| {
        let mut key = Vec::new();
        value.write_key(&mut key);
        key
    };
    let mut keys = std::collections::HashSet::new();
    for value in one {
        look()?;
        keys.insert(key(value));
    }
    for value in other {
        look()?;
        if keys.contains(&key(value)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `value MEMBER OF (array)`; what is no array is the array of itself.
fn member_of<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let searched = value(call, 0)?;
    if call.arg(0)?.is_null() {
        return Ok(Datum::Null);
    }
    let found = match not_null!(document(call, 1)?) {
        Json::Array(elements) => elements.iter().any(|element| element.compare(&searched) == Ordering::Equal),
        single => single.compare(&searched) == Ordering::Equal,
    };
    Ok(found.into())
}

fn json_keys<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let place = match call.has(1) {
        true => not_null!(single_path(call, 1)?).find(&root).first().copied(),
        false => Some(&root),
    };
    match place {
        Some(Json::Object(members)) => {
            let names = members.iter().map(|(name, _)| Json::String(name.clone()));
            result(call, &Json::Array(names.collect()))
        }
        _ => Ok(Datum::Null),
    }
}

/// The paths to the strings that are LIKE a pattern.
fn json_search<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let wants_all = not_null!(says_all(call, 1)?);
    let like = not_null!(call.text(2)?);
    let like = json::unicode(&like, call.charset_of(2));
    let escape = match call.has(3) {
        true => match call.arg(3)? {
            Datum::Null => Some(u32::from(b'\\')),
            escape => pattern::escape_of(&escape, call.charset_of(3))?.or(Some(u32::from(b'\\'))),
        },
        false => Some(u32::from(b'\\')),
    };
    let (mut found, mut known) = (Vec::new(), FxHashSet::default());
    let (mut look, mut stopped) = (look_at(call), Ok(()));
    let mut search = |root: &Json, prefix: &mut Vec<u8>, wanted: &[&Json]| {
        let wanted: FxHashSet<*const Json> = wanted.iter().map(|wanted| std::ptr::from_ref(*wanted)).collect();
        walk(root, prefix, &mut |place, path| {
            stopped = look();
            if stopped.is_err() {
                return (false, false);
            }
            let is_wanted = wanted.is_empty() || wanted.contains(&std::ptr::from_ref(place.0));
            if let (true, Json::String(text)) = (is_wanted || place.1, place.0)
                && collation(CollationId::UTF8MB4_BIN).like(text.as_bytes(), like.as_bytes(), escape)
            {
                let path = String::from_utf8_lossy(path).into_owned();
                if known.insert(path.clone()) {
                    found.push(path);
                }
            }
            (is_wanted || place.1, wants_all || found.is_empty())
        });
    };
    match call.has(4) {
        false => search(&root, &mut b"$".to_vec(), &[]),
        true => {
            let mut paths = Vec::new();
            for index in 4..call.args.len() {
                paths.push(not_null!(path(call, index)?));
            }
            for path in paths {
                let places = path.find(&root);
                if !places.is_empty() {
                    call.look()?;
                    search(&root, &mut b"$".to_vec(), &places);
                }
            }
        }
    }
    stopped?;
    match (wants_all, found.len()) {
        (_, 0) => Ok(Datum::Null),
        (false, _) | (true, 1) => result(call, &Json::String(found.swap_remove(0))),
        (true, _) => result(call, &Json::Array(found.into_iter().map(Json::String).collect())),
    }
}

/// Gets a value with what it said of the one around it, and its path; says that of this one, and whether to go on.
type Visit<'v> = &'v mut dyn FnMut((&Json, bool), &[u8]) -> (bool, bool);

/// Visits a value and all below it with their paths.
fn walk(root: &Json, path: &mut Vec<u8>, visit: Visit<'_>) {
    fn inner(place: &Json, around: bool, path: &mut Vec<u8>, visit: Visit<'_>) -> bool {
        let (is_inside, goes_on) = visit((place, around), path);
        if !goes_on {
            return false;
        }
        let length = path.len();
        let mut below = |part: &Json, write: &dyn Fn(&mut Vec<u8>), path: &mut Vec<u8>| {
            write(path);
            let goes_on = inner(part, is_inside, path, visit);
            path.truncate(length);
            goes_on
        };
        match place {
            Json::Array(elements) => elements.iter().enumerate().all(|(at, element)| {
                below(element, &|path| path.extend_from_slice(format!("[{at}]").as_bytes()), path)
            }),
            Json::Object(members) => {
                members.iter().all(|(name, value)| below(value, &|path| write_json_member(name, path), path))
            }
            _ => true,
        }
    }
    inner(root, false, path, visit);
}
