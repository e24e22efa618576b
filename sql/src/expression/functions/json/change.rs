//! Documents with changes: JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE, JSON_ARRAY_APPEND, JSON_ARRAY_INSERT.

use format::value::{Json, JsonPath};

use super::arguments::{document, json_type, result, single_path, value};
use super::{Call, Function, MANY, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_set", (3, MANY), pairs_type, |call| {
        changed(call, |path, root, value| {
            path.set(root, value, true, true);
            Ok(())
        })
    }),
    Function::new("json_insert", (3, MANY), pairs_type, |call| {
        changed(call, |path, root, value| {
            path.set(root, value, false, true);
            Ok(())
        })
    }),
    Function::new("json_replace", (3, MANY), pairs_type, |call| {
        changed(call, |path, root, value| {
            path.set(root, value, true, false);
            Ok(())
        })
    }),
    Function::new("json_array_append", (3, MANY), pairs_type, |call| {
        changed(call, |path, root, value| {
            path.append(root, value);
            Ok(())
        })
    }),
    Function::new("json_array_insert", (3, MANY), pairs_type, |call| changed(call, insert_element)),
    Function::new("json_remove", (2, MANY), json_type, json_remove),
];

fn pairs_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    match typing.args.len() % 2 {
        1 => json_type(typing),
        _ => Err(Error::wrong_argument_count(typing.name)),
    }
}

/// The document with the changes at its paths, one after the other.
fn changed<'a>(call: &Call<'a>, change: fn(&JsonPath, &mut Json, Json) -> Result<()>) -> Result<Datum<'a>> {
    let mut root = not_null!(document(call, 0)?);
    for index in (1..call.args.len()).step_by(2) {
        let path = not_null!(single_path(call, index)?);
        change(&path, &mut root, value(call, index + 1)?)?;
        // Else a path could lead deeper with each change.
        if root.is_too_deep() {
            return Err(Error::json_too_deep());
        }
    }
    result(call, &root)
}

fn insert_element(path: &JsonPath, root: &mut Json, value: Json) -> Result<()> {
    if !path.is_element() {
        return Err(Error::json_path_no_element());
    }
    // Where there is no array, nothing is inserted.
    let _ = path.insert(root, value);
    Ok(())
}

fn json_remove<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut root = not_null!(document(call, 0)?);
    let mut paths = Vec::with_capacity(call.args.len() - 1);
    for index in 1..call.args.len() {
        let path = not_null!(single_path(call, index)?);
        if path.is_root() {
            return Err(Error::json_vacuous_path());
        }
        paths.push(path);
    }
    for path in paths {
        let _ = path.remove(&mut root);
    }
    result(call, &root)
}
