//! Geometries as texts and as well-known binaries.

use format::value::Geometry;

use super::arguments::{axis_order, geometry_of_any_system, long_text_type};
use super::{Call, Function, Typing, not_null};
use crate::error::Result;
use crate::expression::{Datum, geometry::give_out};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_astext", (1, 2), long_text_type, as_text),
    Function::new("st_aswkt", (1, 2), long_text_type, as_text),
    Function::new("astext", (1, 2), long_text_type, as_text),
    Function::new("aswkt", (1, 2), long_text_type, as_text),
    Function::new("st_asbinary", (1, 2), bytes_type, as_binary),
    Function::new("st_aswkb", (1, 2), bytes_type, as_binary),
    Function::new("asbinary", (1, 2), bytes_type, as_binary),
    Function::new("aswkb", (1, 2), bytes_type, as_binary),
];

fn bytes_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::binary_string(u32::MAX))
}

fn as_text<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry_of_any_system(call, 0)?);
    let order = not_null!(axis_order(call, 1)?);
    let mut out = Vec::new();
    give_out(geometry, order)?.write_wkt(&mut out);
    Ok(sized(call, out))
}

fn as_binary<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry_of_any_system(call, 0)?);
    let order = not_null!(axis_order(call, 1)?);
    let mut out = Vec::new();
    Geometry::encode_wkb(&give_out(geometry, order)?.shape, &mut out);
    Ok(sized(call, out))
}

fn sized<'a>(call: &Call<'_>, bytes: Vec<u8>) -> Datum<'a> {
    if call.fits(call.name, bytes.len() as u64) { Datum::bytes(bytes) } else { Datum::Null }
}
