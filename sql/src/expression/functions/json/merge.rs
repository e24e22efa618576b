//! Several documents as one: JSON_MERGE_PATCH (RFC 7396), and JSON_MERGE_PRESERVE, which loses nothing.

use std::cmp::Ordering;

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
    let members = if let Json::Object(members) = target { members } else { Vec::new() };
    merged(members, patch, &mut |old, value| match value {
        Json::Null => None,
        value => Some(patched(old.unwrap_or(Json::Null), value)),
    })
}

/// The members of two objects, each name once. `both` tells what becomes of the value of the second one, beside that which the
/// first one has under this name.
fn merged(
    members: Vec<(String, Json)>,
    others: Vec<(String, Json)>,
    both: &mut dyn FnMut(Option<Json>, Json) -> Option<Json>,
) -> Json {
    let mut all = Vec::with_capacity(members.len().max(others.len()));
    let mut members = members.into_iter().peekable();
    for (name, value) in others {
        // Both are in one order, that of names.
        while let Some(before) =
            members.next_if(|(own, _)| (own.len(), own).cmp(&(name.len(), &name)) == Ordering::Less)
        {
            all.push(before);
        }
        let old = members.next_if(|(own, _)| *own == name).map(|(_, old)| old);
        if let Some(value) = both(old, value) {
            all.push((name, value));
        }
    }
    all.extend(members);
    Json::object(all)
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
        (Json::Object(members), Json::Object(others)) => merged(members, others, &mut |old, value| {
            Some(match old {
                Some(old) => preserved(old, value),
                None => value,
            })
        }),
        (one, other) => {
            let elements = |value| if let Json::Array(elements) = value { elements } else { vec![value] };
            let mut all = elements(one);
            all.extend(elements(other));
            Json::Array(all)
        }
    }
}
