//! JSON_ARRAY, JSON_OBJECT, JSON_QUOTE, JSON_UNQUOTE.

use std::borrow::Cow;

use format::value::{Json, write_json_string};

use super::arguments::{json_type, member_name, result, text_type, value};
use super::{Call, Function, MANY, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, json};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_array", (0, MANY), made_type, json_array),
    Function::new("json_object", (0, MANY), pairs_type, json_object),
    Function::new("json_quote", (1, 1), text_type, json_quote),
    Function::new("json_unquote", (1, 1), text_type, json_unquote),
];

fn made_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(json_type(typing)?.not_null())
}

fn pairs_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    match typing.args.len() % 2 {
        0 => made_type(typing),
        _ => Err(Error::wrong_argument_count(typing.name)),
    }
}

fn json_array<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let elements = (0..call.args.len()).map(|index| value(call, index)).collect::<Result<Vec<_>>>()?;
    result(call, &Json::Array(elements))
}

fn json_object<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut members = Vec::with_capacity(call.args.len() / 2);
    for index in (0..call.args.len()).step_by(2) {
        members.push((member_name(call, index)?, value(call, index + 1)?));
    }
    result(call, &Json::object(members))
}

fn json_quote<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = match call.arg(0)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Bytes(text) if call.arg_type(0).is_string() => json::unicode(&text, call.charset_of(0)),
        _ => return Err(Error::incorrect_argument_type(1, call.name)),
    };
    let mut out = Vec::with_capacity(text.len() + 2);
    write_json_string(&text, &mut out);
    Ok(Datum::bytes(out))
}

/// A string without its quotation marks and escapes. Texts that have none are as they are.
fn json_unquote<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.arg(0)?;
    if let Datum::Json(document) = &value {
        let mut out = Vec::new();
        json::decode(document)?.write_bare(&mut out);
        return Ok(Datum::bytes(out));
    }
    let ty = call.arg_type(0);
    match &value {
        Datum::Null => return Ok(Datum::Null),
        Datum::Bytes(_) if ty.is_string() && ty.is_binary() => return Err(Error::json_charset("binary")),
        Datum::Bytes(_) => {}
        _ => return Err(Error::incorrect_argument_type(1, call.name)),
    }
    let text = not_null!(value.into_text_or_null(ty));
    let text = match json::unicode(&text, call.charset_of(0)) {
        converted if converted.as_bytes() == &*text => text,
        converted => Cow::Owned(converted.into_bytes()),
    };
    if text.len() < 2 || !text.starts_with(b"\"") || !text.ends_with(b"\"") {
        return Ok(Datum::Bytes(text));
    }
    match Json::parse(&text) {
        Ok(Json::String(string)) => Ok(Datum::text(string)),
        Ok(_) => Ok(Datum::Bytes(text)),
        Err(error) => Err(Error::invalid_json_argument(error, 1, call.name)),
    }
}
