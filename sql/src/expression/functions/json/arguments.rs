//! What JSON functions take: documents, paths, values, and the words `one` and `all`.

use format::value::{Json, JsonPath, PathError};

use super::{Call, LONG_BYTES, Typing};
use crate::error::{Error, Result};
use crate::expression::{Datum, json};
use crate::types::TypeInfo;

pub fn json_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::json())
}

/// Without NULL among the arguments there is none.
pub fn truth_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::boolean())
}

pub fn text_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo { kind: crate::types::Kind::Text, ..TypeInfo::json() })
}

/// A document; NULL is None.
pub fn document(call: &Call<'_>, index: usize) -> Result<Option<Json>> {
    let value = call.arg(index)?;
    let is_long = matches!(&value, Datum::Bytes(bytes) | Datum::Json(bytes) if bytes.len() >= LONG_BYTES);
    let gives_up = || call.context.session.is_interrupted();
    let document = json::document_unless(value, call.arg_type(index), (index + 1, call.name), &gives_up);
    // One that was given up is no damaged one.
    if is_long || document.is_err() {
        call.look()?;
    }
    document
}

/// A path, to any number of places.
pub fn path(call: &Call<'_>, index: usize) -> Result<Option<JsonPath>> {
    let Some(text) = call.text(index)? else { return Ok(None) };
    let text = json::unicode(&text, call.charset_of(index));
    parsed_path(text.as_bytes()).map(Some)
}

pub fn parsed_path(text: &[u8]) -> Result<JsonPath> {
    JsonPath::parse(text).map_err(|error| match error {
        PathError::Malformed { at } => Error::invalid_json_path(at),
        PathError::NoPlace => Error::invalid_json_path(0),
    })
}

/// A path to one place; 3149 for any other.
pub fn single_path(call: &Call<'_>, index: usize) -> Result<Option<JsonPath>> {
    match path(call, index)? {
        Some(path) if !path.is_single() => Err(Error::json_path_wildcard()),
        path => Ok(path),
    }
}

/// What goes into a document; NULL is `null`.
pub fn value(call: &Call<'_>, index: usize) -> Result<Json> {
    let value = call.arg(index)?;
    let is_long = matches!(&value, Datum::Bytes(bytes) | Datum::Json(bytes) if bytes.len() >= LONG_BYTES);
    let value = json::of_value(value, &call.args[index])?;
    if is_long {
        call.look()?;
    }
    Ok(value)
}

/// Whether the word says `all`, and not `one`.
pub fn says_all(call: &Call<'_>, index: usize) -> Result<Option<bool>> {
    let Some(word) = call.text(index)? else { return Ok(None) };
    match () {
        () if word.eq_ignore_ascii_case(b"all") => Ok(Some(true)),
        () if word.eq_ignore_ascii_case(b"one") => Ok(Some(false)),
        () => Err(Error::json_one_or_all(call.name)),
    }
}

/// The name of a member.
pub fn member_name(call: &Call<'_>, index: usize) -> Result<String> {
    let Some(name) = call.text(index)? else { return Err(Error::json_null_name()) };
    if call.arg_type(index).is_string() && call.arg_type(index).is_binary() {
        return Err(Error::json_charset("binary"));
    }
    let name = json::unicode(&name, call.charset_of(index));
    match name.len() > usize::from(u16::MAX) {
        true => Err(Error::json_long_name()),
        false => Ok(name),
    }
}

/// A document as a result: NULL with a warning if it is longer than a packet.
pub fn result<'a>(call: &Call<'_>, value: &Json) -> Result<Datum<'a>> {
    if !value.is_scalar() {
        call.look()?;
    }
    match json::encode(value)? {
        Datum::Json(document) if !call.fits(call.name, document.len() as u64) => Ok(Datum::Null),
        document => Ok(document),
    }
}
