//! Places along a line: ST_LineInterpolatePoint, ST_LineInterpolatePoints, ST_PointAtDistance.

use format::value::{GeometryType, Shape};
use geo::{Coord, Distance, Euclidean, Length, LineString, MultiPoint, Point};

use super::arguments::{geometry, geometry_type, point_type};
use super::plane::computed_result;
use super::surface::Surface;
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_lineinterpolatepoint", (2, 2), point_type, point_at_fraction),
    Function::new("st_lineinterpolatepoints", (2, 2), geometry_type, points_at_fractions),
    Function::new("st_pointatdistance", (2, 2), point_type, point_at_distance),
];

/// The bytes of a point in a MULTIPOINT.
const POINT_BYTES: f64 = 21.0;

struct Path {
    srid: u32,
    line: LineString<f64>,
    surface: Surface,
}

/// The arguments: a line and a number. NULL is None.
fn path(call: &Call<'_>) -> Result<Option<(Path, f64)>> {
    let Some(geometry) = geometry(call, 0)? else { return Ok(None) };
    let Some(number) = call.double(1)? else { return Ok(None) };
    let surface = Surface::of(call, &geometry)?;
    match geometry.shape {
        Shape::LineString(line) => Ok(Some((Path { srid: geometry.srid, line, surface }, number))),
        other => Err(Error::unexpected_geometry(GeometryType::LineString, GeometryType::of(&other), call.name)),
    }
}

impl Path {
    fn length(&self) -> Result<f64> {
        let length = match &self.surface {
            Surface::Plane => Euclidean.length(&self.line),
            Surface::Globe(globe) => globe.length(&self.line),
        };
        if length.is_finite() { Ok(length) } else { Err(Error::out_of_range("Length", "st_length")) }
    }

    /// The place at a distance from the start that is no longer than the line, but for rounding.
    fn at(&self, distance: f64) -> Coord<f64> {
        let ends = (self.line.0[0], self.line.0[self.line.0.len() - 1]);
        match &self.surface {
            Surface::Globe(globe) => globe.along(&self.line, distance).unwrap_or(ends.1),
            Surface::Plane => {
                let mut rest = distance;
                for edge in self.line.lines() {
                    let length = Euclidean.distance(edge.start, edge.end);
                    if rest < length {
                        let part = rest / length;
                        let between = |from: f64, to: f64| from + (to - from) * part;
                        return Coord { x: between(edge.start.x, edge.end.x), y: between(edge.start.y, edge.end.y) };
                    }
                    rest -= length;
                }
                ends.1
            }
        }
    }
}

fn fraction(call: &Call<'_>, number: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(Error::out_of_range("Distance", call.name)) }
}

fn point_at_fraction<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (path, number) = not_null!(path(call)?);
    let distance = fraction(call, number)? * path.length()?;
    computed_result(call, path.srid, Shape::Point(Point(path.at(distance))))
}

/// At the fraction, at twice the fraction and so on.
fn points_at_fractions<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (path, number) = not_null!(path(call)?);
    let (fraction, length) = (fraction(call, number)?, path.length()?);
    if fraction == 0.0 {
        return computed_result(call, path.srid, Shape::MultiPoint(MultiPoint(vec![Point(path.at(0.0))])));
    }
    let count = (1.0 / fraction).floor();
    if !call.fits(call.name, (count * POINT_BYTES) as u64) {
        return Ok(Datum::Null);
    }
    let mut points = Vec::new();
    for number in 1..=count as u64 {
        if call.context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        points.push(Point(path.at(number as f64 * fraction * length)));
    }
    computed_result(call, path.srid, Shape::MultiPoint(MultiPoint(points)))
}

fn point_at_distance<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (path, distance) = not_null!(path(call)?);
    if !(0.0..=path.length()?).contains(&distance) {
        return Err(Error::out_of_range("Distance", call.name));
    }
    computed_result(call, path.srid, Shape::Point(Point(path.at(distance))))
}
