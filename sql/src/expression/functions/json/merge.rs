//! Several documents as one: JSON_MERGE_PATCH (RFC 7396), and JSON_MERGE_PRESERVE, which loses nothing.

use format::value::Json;

use super::arguments::{document, json_type, result};
use super::{Call, Function, MANY, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_merge_patch", (2, MANY), json_type, json_merge_patch),
    Function::new("json_merge_preserve", (2, MANY), json_type, json_merge_preserve),
    Function::new("json_merge", (2, MANY), json_type, |call| {
        let text = "'JSON_MERGE' is deprecated and will be removed in a future release. \
                    Please use JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";
        call.context.warn(Error::new(1287, b"HY000", text));
        json_merge_preserve(call)
    }),
];

/// A NULL makes all before it count for nothing, unless something that is no object follows.
fn json_merge_patch<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut merged = document(call, 0)?;
    for index in 1..call.args.len() {
        merged = match (merged, document(call, index)?) {
            (_, None) => None,
            (Some(target), Some(patch)) => Some(patched(target, patch)),
            (None, Some(patch @ Json::Object(_))) => {
                // Of NULL with an object in it only NULL can be made.
                drop(patch);
                None
            }
            (None, Some(patch)) => Some(patch),
        };
    }
    result(call, &not_null!(merged))
}

fn patched(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let mut members = if let Json::Object(members) = target { members } else { Vec::new() };
    for (name, value) in patch {
        let old = members.iter().position(|(other, _)| *other == name).map(|at| members.remove(at).1);
        if value != Json::Null {
            members.push((name, patched(old.unwrap_or(Json::Null), value)));
        }
    }
    Json::object(members)
}

fn json_merge_preserve<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut merged = document(call, 0)?;
    for index in 1..call.args.len() {
        merged = match (merged, document(call, index)?) {
            (Some(one), Some(other)) => Some(preserved(one, other)),
            _ => None,
        };
    }
    result(call, &not_null!(merged))
}

fn preserved(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Object(mut members), Json::Object(others)) => {
            for (name, value) in others {
                let old = members.iter().position(|(other, _)| *other == name).map(|at| members.remove(at).1);
                let value = match old {
                    Some(old) => preserved(old, value),
                    None => value,
                };
                members.push((name, value));
            }
            Json::object(members)
        }
        (one, other) => {
            let elements = |value| if let Json::Array(elements) = value { elements } else { vec![value] };
            let mut all = elements(one);
            all.extend(elements(other));
            Json::Array(all)
        }
    }
}
