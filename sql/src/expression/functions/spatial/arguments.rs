//! What functions of geometries take and give.

use format::value::{Geometry, GeometryType, Shape};

use super::{Call, Typing};
use crate::error::{Error, Result};
use crate::expression::geometry::{self, AxisOrder};
use crate::expression::{Datum, datum};
use crate::types::TypeInfo;

pub fn geometry_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::geometry(GeometryType::Geometry))
}

pub fn point_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::geometry(GeometryType::Point))
}

pub fn line_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::geometry(GeometryType::LineString))
}

/// A number that is NULL where the function is not defined.
pub fn count_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::int(10))
}

pub fn truth_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::boolean())
}

pub fn double_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::double())
}

/// A text as long as a geometry may be.
pub fn long_text_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(u32::MAX))
}

/// A geometry of a reference system that there is; NULL is None.
pub fn geometry(call: &Call<'_>, index: usize) -> Result<Option<Geometry>> {
    let read = geometry_of_any_system(call, index)?;
    read.iter().try_for_each(|geometry| geometry::check_system(geometry.srid))?;
    Ok(read)
}

/// A geometry; NULL is None.
pub fn geometry_of_any_system(call: &Call<'_>, index: usize) -> Result<Option<Geometry>> {
    match call.arg(index)? {
        Datum::Null => Ok(None),
        Datum::Bytes(bytes) => geometry::decode(&bytes, call.name).map(Some),
        _ => Err(Error::invalid_geometry(call.name)),
    }
}

/// A geometry that others are made of: 1367 if it is none.
pub fn part(call: &Call<'_>, index: usize) -> Result<Option<Geometry>> {
    let ty = call.arg_type(index);
    match call.arg(index)? {
        Datum::Null => Ok(None),
        Datum::Bytes(bytes) if ty.is_string() && ty.is_binary() => geometry::decode(&bytes, call.name).map(Some),
        other => Err(Error::no_geometry_argument(&datum::quoted(&other.into_text(ty)))),
    }
}

/// The number of a reference system; 0 if the argument is not given.
pub fn srid(call: &Call<'_>, index: usize) -> Result<Option<u32>> {
    if !call.has(index) {
        return Ok(Some(0));
    }
    let Some(number) = call.int(index)? else { return Ok(None) };
    match u32::try_from(number) {
        Ok(srid) => Ok(Some(srid)),
        Err(_) => Err(Error::out_of_range("SRID", call.name)),
    }
}

/// The options of a function that reads or writes coordinates.
pub fn axis_order(call: &Call<'_>, index: usize) -> Result<Option<AxisOrder>> {
    if !call.has(index) {
        return Ok(Some(AxisOrder::OfSystem));
    }
    let Some(options) = call.text(index)? else { return Ok(None) };
    AxisOrder::of_options(&options).map(Some).ok_or_else(|| Error::wrong_arguments(call.name))
}

/// A geometry as a result: NULL with a warning if it is longer than a packet.
pub fn result<'a>(call: &Call<'_>, geometry: &Geometry) -> Result<Datum<'a>> {
    let bytes = geometry.encode();
    match call.fits(call.name, bytes.len() as u64) {
        true => Ok(Datum::bytes(bytes)),
        false => Ok(Datum::Null),
    }
}

/// The same of a part of a geometry, or none.
pub fn part_result<'a>(call: &Call<'_>, srid: u32, shape: Option<Shape<f64>>) -> Result<Datum<'a>> {
    match shape {
        Some(shape) => result(call, &Geometry { srid, shape }),
        None => Ok(Datum::Null),
    }
}
