//! CAST(... AS POINT) and its kin: the same places as a geometry of another kind.
//!
//! | to | from |
//! |---|---|
//! | POINT | one point, in a MULTIPOINT or collection |
//! | LINESTRING | a POLYGON without holes, a MULTIPOINT of two points or more, one line in a MULTILINESTRING or collection |
//! | POLYGON | lines that are rings, the outer one counter-clockwise, holes clockwise; one polygon in a MULTIPOLYGON or collection |
//! | MULTIPOINT | a point, a line, points in a collection |
//! | MULTILINESTRING | a line, the rings of polygons (of several ones only if none has a hole), lines in a collection |
//! | MULTIPOLYGON | a polygon, rings that run counter-clockwise, polygons in a collection |
//! | GEOMETRYCOLLECTION | everything |
//!
//! All else is 4032, a ring that runs the other way 4033. Polygons come out with their rings in these directions. Which way
//! a ring of a geographic system runs is seen on the map of longitudes and latitudes.

use format::value::{Geometry, GeometryType, Shape};
use geo::orient::Direction;
use geo::winding_order::{Winding, WindingOrder};
use geo::{GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Orient, Point, Polygon};

use super::arguments::{geometry, result};
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::types::TypeInfo;

macro_rules! casts {
    ($($to:ident $kind:ident $name:literal;)*) => {
        $(static $to: Function = Function::new(
            $name,
            (1, 1),
            |_: &mut Typing<'_>| Ok(TypeInfo::geometry(GeometryType::$kind)),
            |call| cast(call, GeometryType::$kind),
        );)*

        /// The function that a cast to a kind of geometry is; it has no name that a statement could call it by.
        pub fn cast_to(kind: GeometryType) -> Option<&'static Function> {
            match kind {
                $(GeometryType::$kind => Some(&$to),)*
                GeometryType::Geometry => None,
            }
        }
    };
}

casts! {
    TO_POINT Point "cast_as_point";
    TO_LINE LineString "cast_as_linestring";
    TO_POLYGON Polygon "cast_as_polygon";
    TO_POINTS MultiPoint "cast_as_multipoint";
    TO_LINES MultiLineString "cast_as_multilinestring";
    TO_POLYGONS MultiPolygon "cast_as_multipolygon";
    TO_COLLECTION Collection "cast_as_geometrycollection";
}

fn cast<'a>(call: &Call<'a>, to: GeometryType) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(geometry(call, 0)?);
    geometries::check_argument_range(&Geometry { srid, shape: shape.clone() }, call.name)?;
    result(call, &Geometry { srid, shape: converted(directed(shape), to)? })
}

/// Polygons with their outer rings counter-clockwise and their holes clockwise.
fn directed(shape: Shape<f64>) -> Shape<f64> {
    match shape {
        Shape::Polygon(area) => Shape::Polygon(area.orient(Direction::Default)),
        Shape::MultiPolygon(areas) => Shape::MultiPolygon(areas.orient(Direction::Default)),
        Shape::GeometryCollection(parts) => {
            Shape::GeometryCollection(GeometryCollection(parts.0.into_iter().map(directed).collect()))
        }
        other => other,
    }
}

fn converted(shape: Shape<f64>, to: GeometryType) -> Result<Shape<f64>> {
    let from = GeometryType::of(&shape);
    if from == to {
        return Ok(shape);
    }
    let refused = || Error::invalid_cast_to_geometry(&name(from), &name(to));
    match to {
        GeometryType::Point => match shape {
            Shape::MultiPoint(points) if points.0.len() == 1 => Ok(Shape::Point(points.0[0])),
            shape => only_part(shape).map(Shape::Point).ok_or_else(refused),
        },
        GeometryType::LineString => match shape {
            Shape::Polygon(area) if area.interiors().is_empty() => Ok(Shape::LineString(area.into_inner().0)),
            Shape::MultiPoint(points) if points.0.len() > 1 => Ok(Shape::LineString(LineString::from(points.0))),
            Shape::MultiLineString(mut lines) if lines.0.len() == 1 => Ok(Shape::LineString(lines.0.remove(0))),
            shape => only_part(shape).map(Shape::LineString).ok_or_else(refused),
        },
        GeometryType::Polygon => match shape {
            Shape::LineString(line) => polygon(vec![line]),
            Shape::MultiLineString(lines) => polygon(lines.0),
            Shape::MultiPolygon(mut areas) if areas.0.len() == 1 => Ok(Shape::Polygon(areas.0.remove(0))),
            shape => only_part(shape).map(Shape::Polygon).ok_or_else(refused),
        },
        GeometryType::MultiPoint => match shape {
            Shape::Point(point) => Ok(Shape::MultiPoint(MultiPoint(vec![point]))),
            Shape::LineString(line) => Ok(Shape::MultiPoint(MultiPoint(line.into_points()))),
            shape => parts::<Point>(shape).map(|points| Shape::MultiPoint(MultiPoint(points))).ok_or_else(refused),
        },
        GeometryType::MultiLineString => match shape {
            Shape::LineString(line) => Ok(Shape::MultiLineString(MultiLineString(vec![line]))),
            Shape::Polygon(area) => {
                let (outer, holes) = area.into_inner();
                Ok(Shape::MultiLineString(MultiLineString(std::iter::once(outer).chain(holes).collect())))
            }
            Shape::MultiPolygon(areas) if areas.0.iter().all(|area| area.interiors().is_empty()) => {
                let rings = areas.0.into_iter().map(|area| area.into_inner().0);
                Ok(Shape::MultiLineString(MultiLineString(rings.collect())))
            }
            shape => parts(shape).map(|lines| Shape::MultiLineString(MultiLineString(lines))).ok_or_else(refused),
        },
        GeometryType::MultiPolygon => match shape {
            Shape::Polygon(area) => Ok(Shape::MultiPolygon(MultiPolygon(vec![area]))),
            Shape::MultiLineString(lines) => {
                if !lines.0.iter().all(is_ring) {
                    return Err(refused());
                }
                if lines.0.iter().any(runs_clockwise) {
                    return Err(Error::ring_in_wrong_direction(&name(from), &name(to)));
                }
                let areas = lines.0.into_iter().map(|ring| Polygon::new(ring, Vec::new()));
                Ok(Shape::MultiPolygon(MultiPolygon(areas.collect())))
            }
            shape => parts(shape).map(|areas| Shape::MultiPolygon(MultiPolygon(areas))).ok_or_else(refused),
        },
        _ => Ok(Shape::GeometryCollection(GeometryCollection(match shape {
            Shape::MultiPoint(points) => points.0.into_iter().map(Shape::Point).collect(),
            Shape::MultiLineString(lines) => lines.0.into_iter().map(Shape::LineString).collect(),
            Shape::MultiPolygon(areas) => areas.0.into_iter().map(Shape::Polygon).collect(),
            shape => vec![shape],
        }))),
    }
}

/// The one part of a collection, if it is of this kind.
fn only_part<T: TryFrom<Shape<f64>>>(shape: Shape<f64>) -> Option<T> {
    let mut parts: Vec<T> = parts(shape)?;
    if parts.len() == 1 { parts.pop() } else { None }
}

/// All parts of a collection that has some, if they are of this kind.
fn parts<T: TryFrom<Shape<f64>>>(shape: Shape<f64>) -> Option<Vec<T>> {
    match shape {
        Shape::GeometryCollection(parts) if !parts.0.is_empty() => {
            parts.0.into_iter().map(|part| T::try_from(part).ok()).collect()
        }
        _ => None,
    }
}

/// Rings as a polygon; of several lines too it is the single one that MySQL finds fault with.
fn polygon(mut rings: Vec<LineString<f64>>) -> Result<Shape<f64>> {
    let (from, to) = (name(GeometryType::LineString), name(GeometryType::Polygon));
    if !rings.iter().all(is_ring) {
        return Err(Error::invalid_cast_to_geometry(&from, &to));
    }
    let is_wrong = |(at, ring): (usize, &LineString<f64>)| runs_clockwise(ring) == (at == 0);
    if rings.iter().enumerate().any(is_wrong) {
        return Err(Error::ring_in_wrong_direction(&from, &to));
    }
    let holes = rings.split_off(1);
    Ok(Shape::Polygon(Polygon::new(rings.remove(0), holes)))
}

fn is_ring(line: &LineString<f64>) -> bool {
    line.0.len() >= 4 && line.is_closed()
}

fn runs_clockwise(ring: &LineString<f64>) -> bool {
    ring.winding_order() == Some(WindingOrder::Clockwise)
}

fn name(kind: GeometryType) -> String {
    kind.short_name().to_uppercase()
}
