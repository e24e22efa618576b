//! What a document is like: JSON_TYPE, JSON_VALID, JSON_LENGTH, JSON_DEPTH, JSON_PRETTY, JSON_STORAGE_SIZE.

use format::value::{Json, JsonError};

use super::arguments::{document, path, text_type, truth_type};
use super::{Call, Function, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::{Datum, json};

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_type", (1, 1), typings::text, json_type),
    Function::new("json_valid", (1, 1), truth_type, json_valid),
    Function::new("json_length", (1, 2), typings::bigint_or_null, json_length),
    Function::new("json_depth", (1, 1), typings::bigint, json_depth),
    Function::new("json_pretty", (1, 1), text_type, json_pretty),
    Function::new("json_storage_size", (1, 1), typings::bigint, json_storage_size),
    Function::new("json_storage_free", (1, 1), typings::bigint, json_storage_free),
];

fn json_type<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::text(not_null!(document(call, 0)?).type_name()))
}

/// Whether a text is a document. What is no text is none.
fn json_valid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let ty = call.arg_type(0);
    Ok(match call.arg(0)? {
        Datum::Null => Datum::Null,
        Datum::Json(_) => true.into(),
        Datum::Bytes(text) if ty.is_string() && !ty.is_binary() => {
            match Json::parse(json::unicode(&text, ty.charset()).as_bytes()) {
                Err(JsonError::TooDeep) => return Err(Error::json_too_deep()),
                read => read.is_ok().into(),
            }
        }
        _ => false.into(),
    })
}

fn json_length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let root = not_null!(document(call, 0)?);
    let place = match call.has(1) {
        true => {
            let path = not_null!(path(call, 1)?);
            let places = path.find(&root);
            // What a path to several places finds is an array.
            if !path.is_single() && !places.is_empty() {
                return Ok(Datum::Int(places.len() as i64));
            }
            places.first().copied()
        }
        false => Some(&root),
    };
    Ok(match place {
        None => Datum::Null,
        Some(Json::Array(elements)) => Datum::Int(elements.len() as i64),
        Some(Json::Object(members)) => Datum::Int(members.len() as i64),
        Some(_) => Datum::Int(1),
    })
}

fn json_depth<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Int(not_null!(document(call, 0)?).depth() as i64))
}

fn json_pretty<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut out = Vec::new();
    not_null!(document(call, 0)?).write_pretty(&mut out);
    match call.fits("json_pretty", out.len() as u64) {
        true => Ok(Datum::bytes(out)),
        false => Ok(Datum::Null),
    }
}

/// The bytes of the binary form.
fn json_storage_size<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Int(not_null!(document(call, 0)?).to_binary().len() as i64))
}

/// A value is always stored whole: an update leaves no room unused.
fn json_storage_free<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    not_null!(document(call, 0)?);
    Ok(Datum::Int(0))
}
