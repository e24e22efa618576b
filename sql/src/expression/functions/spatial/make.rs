//! Geometries from numbers and from other geometries: Point, LineString, Polygon, MultiPoint ...

use format::value::{Geometry, GeometryType, Shape};
use geo::{GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};

use super::arguments::{part, point_type, result};
use super::{Call, Function, MANY, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::TypeInfo;

macro_rules! makers {
    ($($name:literal $args_min:literal $kind:ident;)*) => {
        &[
            Function::new("point", (2, 2), point_type, point),
            $(Function::new(
                $name,
                ($args_min, MANY),
                |typing| made_type(typing, GeometryType::$kind),
                |call| made(call, GeometryType::$kind),
            ),)*
        ]
    };
}

pub const FUNCTIONS: &[Function] = makers! {
    "linestring" 1 LineString;
    "polygon" 1 Polygon;
    "multipoint" 1 MultiPoint;
    "multilinestring" 1 MultiLineString;
    "multipolygon" 1 MultiPolygon;
    "geometrycollection" 0 Collection;
    "geomcollection" 0 Collection;
};

/// A NULL that is written is none of the parts, while a part that is unknown makes the geometry so.
fn made_type(typing: &mut Typing<'_>, kind: GeometryType) -> Result<TypeInfo> {
    match typing.args.iter().any(|arg| arg.is_null_literal()) {
        true => Err(Error::no_geometry_argument("NULL")),
        false => Ok(TypeInfo::geometry(kind)),
    }
}

fn point<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (x, y) = (not_null!(call.double(0)?), not_null!(call.double(1)?));
    result(call, &Geometry { srid: 0, shape: Shape::Point(Point::new(x, y)) })
}

/// A geometry of parts, which are of one reference system.
fn made<'a>(call: &Call<'a>, kind: GeometryType) -> Result<Datum<'a>> {
    let mut parts = Vec::with_capacity(call.args.len());
    let mut srid = None;
    for index in 0..call.args.len() {
        let part = not_null!(part(call, index)?);
        let first = *srid.get_or_insert(part.srid);
        if first != part.srid {
            return Err(Error::different_srids(call.name, first, part.srid));
        }
        parts.push(part.shape);
    }
    let shape = match kind {
        GeometryType::LineString => {
            let points: Vec<Point> = all(call, parts, GeometryType::Point)?;
            if points.len() < 2 {
                return Err(Error::invalid_geometry(call.name));
            }
            Shape::LineString(LineString::from(points))
        }
        GeometryType::Polygon => {
            let mut rings: Vec<LineString> = all(call, parts, GeometryType::LineString)?;
            if rings.iter().any(|ring| ring.0.len() < 4 || !ring.is_closed()) {
                return Err(Error::invalid_geometry(call.name));
            }
            let holes = rings.split_off(1);
            Shape::Polygon(Polygon::new(rings.remove(0), holes))
        }
        GeometryType::MultiPoint => Shape::MultiPoint(MultiPoint(all(call, parts, GeometryType::Point)?)),
        GeometryType::MultiLineString => {
            Shape::MultiLineString(MultiLineString(all(call, parts, GeometryType::LineString)?))
        }
        GeometryType::MultiPolygon => Shape::MultiPolygon(MultiPolygon(all(call, parts, GeometryType::Polygon)?)),
        _ => Shape::GeometryCollection(GeometryCollection(parts)),
    };
    // Collections in collections nest: no deeper than can be read.
    let made = Geometry { srid: srid.unwrap_or(0), shape };
    let stored = made.encode();
    if kind == GeometryType::Collection && Geometry::decode(&stored).is_err() {
        return Err(Error::invalid_geometry(call.name));
    }
    Ok(if call.fits(call.name, stored.len() as u64) { Datum::bytes(stored) } else { Datum::Null })
}

fn all<T: TryFrom<Shape<f64>>>(call: &Call<'_>, parts: Vec<Shape<f64>>, kind: GeometryType) -> Result<Vec<T>> {
    let part = |part: Shape<f64>| {
        let given = GeometryType::of(&part);
        T::try_from(part).map_err(|_| Error::unexpected_geometry(kind, given, call.name))
    };
    parts.into_iter().map(part).collect()
}
