//! What a geometry is: its type, its dimension, its reference system, its coordinates if it is a point.

use format::value::{GeometryType, Shape};
use geo::{CoordsIter, HasDimensions};

use super::arguments::{double_type, geometry, geometry_of_any_system, geometry_type, result, srid, truth_type};
use super::{Call, Function, Typing, not_null, typings};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_geometrytype", (1, 1), typings::text, type_name),
    Function::new("geometrytype", (1, 1), typings::text, type_name),
    Function::new("st_dimension", (1, 1), typings::int, dimension),
    Function::new("dimension", (1, 1), typings::int, dimension),
    Function::new("st_isempty", (1, 1), truth_type, is_empty),
    Function::new("isempty", (1, 1), truth_type, is_empty),
    Function::new("st_isclosed", (1, 1), truth_type, is_closed),
    Function::new("isclosed", (1, 1), truth_type, is_closed),
    Function::new("st_srid", (1, 2), srid_type, srid_of),
    Function::new("srid", (1, 1), srid_type, srid_of),
    Function::new("st_x", (1, 2), coordinate_type, |call| coordinate(call, Axis::First)),
    Function::new("x", (1, 1), coordinate_type, |call| coordinate(call, Axis::First)),
    Function::new("st_y", (1, 2), coordinate_type, |call| coordinate(call, Axis::Second)),
    Function::new("y", (1, 1), coordinate_type, |call| coordinate(call, Axis::Second)),
    Function::new("st_longitude", (1, 2), coordinate_type, |call| coordinate(call, Axis::Longitude)),
    Function::new("st_latitude", (1, 2), coordinate_type, |call| coordinate(call, Axis::Latitude)),
    Function::new("st_swapxy", (1, 1), geometry_type, swap),
];

fn type_name<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    Ok(Datum::text(GeometryType::of(&geometry.shape).short_name().to_uppercase()))
}

/// 0 of points, 1 of lines, 2 of areas: by the type, and of a collection the highest of its parts.
fn dimension<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    Ok(match dimension_of(&geometry.shape) {
        Some(dimension) => Datum::Int(dimension),
        None => Datum::Null,
    })
}

fn dimension_of(shape: &Shape<f64>) -> Option<i64> {
    match shape {
        Shape::GeometryCollection(parts) => parts.0.iter().filter_map(dimension_of).max(),
        shape => Some(match GeometryType::of(shape) {
            GeometryType::Point | GeometryType::MultiPoint => 0,
            GeometryType::LineString | GeometryType::MultiLineString => 1,
            _ => 2,
        }),
    }
}

/// Only a collection can be without points.
fn is_empty<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(not_null!(geometry(call, 0)?).shape.is_empty().into())
}

fn is_closed<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(match not_null!(geometry(call, 0)?).shape {
        Shape::LineString(line) => line.is_closed().into(),
        Shape::MultiLineString(lines) => lines.is_closed().into(),
        _ => Datum::Null,
    })
}

/// A geometry if another system is given for it, whose coordinates are not changed.
fn srid_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    if typing.args.len() == 1 {
        return Ok(TypeInfo::bigint(10).nullable(typing.any_nullable()));
    }
    let kind = match typing.args[0].ty.kind {
        crate::types::Kind::Geometry(kind) => kind,
        _ => GeometryType::Geometry,
    };
    Ok(TypeInfo::geometry(kind))
}

fn srid_of<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut geometry = not_null!(geometry_of_any_system(call, 0)?);
    if !call.has(1) {
        return Ok(Datum::Int(geometry.srid.into()));
    }
    geometry.srid = not_null!(srid(call, 1)?);
    geometries::check_range(&geometry, call.name)?;
    result(call, &geometry)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    First,
    Second,
    Longitude,
    Latitude,
}

fn coordinate_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    match typing.args.len() {
        1 => double_type(typing),
        _ => Ok(TypeInfo::geometry(GeometryType::Point)),
    }
}

/// A coordinate of a point, or the point with another one.
fn coordinate<'a>(call: &Call<'a>, axis: Axis) -> Result<Datum<'a>> {
    let mut geometry = not_null!(geometry(call, 0)?);
    let is_geographic = geometries::is_geographic(geometry.srid)?;
    let given = GeometryType::of(&geometry.shape);
    if given != GeometryType::Point {
        return Err(Error::unexpected_geometry(GeometryType::Point, given, call.name));
    }
    if matches!(axis, Axis::Longitude | Axis::Latitude) && !is_geographic {
        return Err(Error::not_geographic(call.name, geometry.srid));
    }
    let Shape::Point(point) = &mut geometry.shape else { return Ok(Datum::Null) };
    let is_stored_first = axis == Axis::Longitude || (axis == Axis::First) != is_geographic && axis != Axis::Latitude;
    let coordinate = if is_stored_first { &mut point.0.x } else { &mut point.0.y };
    if !call.has(1) {
        return Ok(Datum::Double(*coordinate));
    }
    *coordinate = not_null!(call.double(1)?);
    geometries::check_range(&geometry, call.name)?;
    result(call, &geometry)
}

fn swap<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let mut geometry = not_null!(geometry(call, 0)?);
    geometries::swap_axes(&mut geometry.shape);
    debug_assert!(geometry.shape.coords_iter().all(|at| at.x.is_finite() && at.y.is_finite()));
    result(call, &geometry)
}
