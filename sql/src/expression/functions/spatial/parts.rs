//! The points of a line, the rings of a polygon, the parts of a collection. They are counted from 1.

use format::value::{Geometry, Shape};
use geo::Point;

use super::arguments::{count_type, geometry, geometry_type, line_type, part_result, point_type};
use super::{Call, Function, not_null};
use crate::error::Result;
use crate::expression::Datum;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_numpoints", (1, 1), count_type, point_count),
    Function::new("numpoints", (1, 1), count_type, point_count),
    Function::new("st_pointn", (2, 2), point_type, point_n),
    Function::new("pointn", (2, 2), point_type, point_n),
    Function::new("st_startpoint", (1, 1), point_type, start_point),
    Function::new("startpoint", (1, 1), point_type, start_point),
    Function::new("st_endpoint", (1, 1), point_type, end_point),
    Function::new("endpoint", (1, 1), point_type, end_point),
    Function::new("st_exteriorring", (1, 1), line_type, exterior_ring),
    Function::new("exteriorring", (1, 1), line_type, exterior_ring),
    Function::new("st_interiorringn", (2, 2), line_type, interior_ring),
    Function::new("interiorringn", (2, 2), line_type, interior_ring),
    Function::new("st_numinteriorring", (1, 1), count_type, interior_ring_count),
    Function::new("st_numinteriorrings", (1, 1), count_type, interior_ring_count),
    Function::new("numinteriorrings", (1, 1), count_type, interior_ring_count),
    Function::new("st_numgeometries", (1, 1), count_type, part_count),
    Function::new("numgeometries", (1, 1), count_type, part_count),
    Function::new("st_geometryn", (2, 2), geometry_type, part_n),
    Function::new("geometryn", (2, 2), geometry_type, part_n),
];

fn count<'a>(count: Option<usize>) -> Result<Datum<'a>> {
    Ok(count.map_or(Datum::Null, |count| Datum::Int(count as i64)))
}

/// The place that an argument counts, from 0.
fn place(call: &Call<'_>, index: usize) -> Result<Option<usize>> {
    Ok(call.int(index)?.and_then(|number| usize::try_from(number).ok()?.checked_sub(1)))
}

fn point_count<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    match not_null!(geometry(call, 0)?).shape {
        Shape::LineString(line) => count(Some(line.0.len())),
        _ => Ok(Datum::Null),
    }
}

/// A point of a line, chosen from its number of points.
fn point_at<'a>(call: &Call<'a>, at: impl Fn(usize) -> Option<usize>) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(geometry(call, 0)?);
    let Shape::LineString(line) = shape else { return Ok(Datum::Null) };
    let point = at(line.0.len()).and_then(|at| line.0.get(at)).map(|at| Shape::Point(Point(*at)));
    part_result(call, srid, point)
}

fn point_n<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let place = place(call, 1)?;
    point_at(call, |_| place)
}

fn start_point<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    point_at(call, |_| Some(0))
}

fn end_point<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    point_at(call, |count| count.checked_sub(1))
}

fn exterior_ring<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(geometry(call, 0)?);
    let Shape::Polygon(polygon) = shape else { return Ok(Datum::Null) };
    part_result(call, srid, Some(Shape::LineString(polygon.into_inner().0)))
}

fn interior_ring<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(geometry(call, 0)?);
    let place = not_null!(place(call, 1)?);
    let Shape::Polygon(polygon) = shape else { return Ok(Datum::Null) };
    let ring = polygon.into_inner().1.into_iter().nth(place);
    part_result(call, srid, ring.map(Shape::LineString))
}

fn interior_ring_count<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    match not_null!(geometry(call, 0)?).shape {
        Shape::Polygon(polygon) => count(Some(polygon.interiors().len())),
        _ => Ok(Datum::Null),
    }
}

/// What has no parts has none to count.
fn part_count<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    count(match not_null!(geometry(call, 0)?).shape {
        Shape::MultiPoint(points) => Some(points.0.len()),
        Shape::MultiLineString(lines) => Some(lines.0.len()),
        Shape::MultiPolygon(areas) => Some(areas.0.len()),
        Shape::GeometryCollection(parts) => Some(parts.0.len()),
        _ => None,
    })
}

fn part_n<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(geometry(call, 0)?);
    let place = not_null!(place(call, 1)?);
    let part = match shape {
        Shape::MultiPoint(points) => points.0.get(place).map(|point| Shape::Point(*point)),
        Shape::MultiLineString(lines) => lines.0.into_iter().nth(place).map(Shape::LineString),
        Shape::MultiPolygon(areas) => areas.0.into_iter().nth(place).map(Shape::Polygon),
        Shape::GeometryCollection(parts) => parts.0.into_iter().nth(place),
        _ => None,
    };
    part_result(call, srid, part)
}
