//! Lengths, areas, distances.

use format::value::{Geometry, GeometryType, Shape};
use geo::{Area, Coord, CoordsIter, Distance, Euclidean, HasDimensions, HausdorffDistance, Length, LineString};

use super::arguments::{double_type, geometry};
use super::plane::{double, pair_with_points, planar};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{Failure, guarded};

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_length", (1, 2), double_type, length),
    Function::new("glength", (1, 1), double_type, length),
    Function::new("st_area", (1, 1), double_type, area),
    Function::new("area", (1, 1), double_type, area),
    Function::new("st_distance", (2, 3), double_type, distance),
    Function::new("st_distance_sphere", (2, 3), double_type, distance_on_sphere),
    Function::new("st_hausdorffdistance", (2, 3), double_type, hausdorff),
    Function::new("st_frechetdistance", (2, 3), double_type, frechet),
];

/// The radius of the sphere, in metres, that MySQL and MariaDB take the earth for.
const EARTH_RADIUS: f64 = 6_370_986.0;

/// A unit is of reference systems that have one.
fn no_unit(call: &Call<'_>, index: usize) -> Result<()> {
    match call.has(index) {
        true => Err(Error::unsupported(format!("units in {}", call.name.to_uppercase()))),
        false => Ok(()),
    }
}

fn length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    no_unit(call, 1)?;
    let geometry = not_null!(planar(call, 0)?);
    double(call, not_null!(length_of(&geometry.shape)))
}

/// Areas have no length; of a collection the others' are summed.
fn length_of(shape: &Shape<f64>) -> Option<f64> {
    match shape {
        Shape::LineString(line) => Some(Euclidean.length(line)),
        Shape::MultiLineString(lines) => Some(Euclidean.length(lines)),
        Shape::Point(_) | Shape::MultiPoint(_) => Some(0.0),
        Shape::GeometryCollection(parts) => parts.0.iter().map(length_of).sum(),
        _ => None,
    }
}

fn area<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(planar(call, 0)?);
    double(call, geometry.shape.unsigned_area())
}

fn distance<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    no_unit(call, 2)?;
    let (one, other) = not_null!(pair_with_points(call)?);
    double(call, guarded(|| Euclidean.distance(&one.shape, &other.shape)).map_err(|cause| failed(call, cause))?)
}

fn failed(call: &Call<'_>, cause: Failure) -> Error {
    super::plane::failure(call, cause)
}

/// The shortest way between points on the surface of a sphere. Coordinates are longitudes and latitudes, in a geographic
/// reference system or in none.
fn distance_on_sphere<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other) = (not_null!(geometry(call, 0)?), not_null!(geometry(call, 1)?));
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
    }
    if one.srid != 0 && !geometries::is_geographic(one.srid)? {
        return Err(Error::unsupported(format!("ST_DISTANCE_SPHERE in the spatial reference system {}", one.srid)));
    }
    let radius = if call.has(2) { not_null!(call.double(2)?) } else { EARTH_RADIUS };
    if radius <= 0.0 {
        return Err(Error::wrong_arguments(call.name));
    }
    for geometry in [&one, &other] {
        if !matches!(geometry.shape, Shape::Point(_) | Shape::MultiPoint(_)) {
            let given = GeometryType::of(&geometry.shape);
            return Err(Error::unexpected_geometry(GeometryType::Point, given, call.name));
        }
        // As in the geographic system, also where none is said.
        geometries::check_range(&Geometry { srid: geometries::WGS_84, shape: geometry.shape.clone() }, call.name)?;
    }
    let pairs = one.shape.coords_iter().flat_map(|from| other.shape.coords_iter().map(move |to| (from, to)));
    let shortest = pairs.map(|(from, to)| angle(from, to)).fold(f64::INFINITY, f64::min);
    double(call, shortest * radius)
}

/// The angle between two places as seen from the centre.
fn angle(from: Coord<f64>, to: Coord<f64>) -> f64 {
    let (from_y, to_y) = (from.y.to_radians(), to.y.to_radians());
    let half_y = ((to_y - from_y) / 2.0).sin();
    let half_x = ((to.x - from.x).to_radians() / 2.0).sin();
    let haversine = half_y * half_y + half_x * half_x * from_y.cos() * to_y.cos();
    2.0 * haversine.clamp(0.0, 1.0).sqrt().asin()
}

/// The largest distance from a point of one to the nearest of the other; of the points that the geometries are given by.
fn hausdorff<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    no_unit(call, 2)?;
    let (one, other) = not_null!(pair_with_points(call)?);
    let far = guarded(|| one.shape.hausdorff_distance(&other.shape)).map_err(|cause| failed(call, cause))?;
    double(call, far)
}

/// The shortest leash that lets two walkers go along two lines, from point to point, neither of them back.
fn frechet<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    no_unit(call, 2)?;
    let (one, other) = not_null!(pair_with_points(call)?);
    let line = |geometry: Geometry| match geometry.shape {
        Shape::LineString(line) => Ok(line),
        other => Err(Error::unexpected_geometry(GeometryType::LineString, GeometryType::of(&other), call.name)),
    };
    let (one, other) = (line(one)?, line(other)?);
    double(call, leash(call, &one, &other)?)
}

/// By rows: of each pair of points the leash that is needed to get there.
fn leash(call: &Call<'_>, one: &LineString<f64>, other: &LineString<f64>) -> Result<f64> {
    let apart = |from: &Coord<f64>, to: &Coord<f64>| (from.x - to.x).hypot(from.y - to.y);
    let mut before: Vec<f64> = Vec::new();
    for (at, from) in one.0.iter().enumerate() {
        if call.context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        let mut row: Vec<f64> = Vec::with_capacity(other.0.len());
        for (place, to) in other.0.iter().enumerate() {
            let ways = [
                (at > 0).then(|| before[place]),
                (place > 0).then(|| row[place - 1]),
                (at > 0 && place > 0).then(|| before[place - 1]),
            ];
            let shortest = ways.into_iter().flatten().fold(f64::INFINITY, f64::min);
            row.push(if shortest.is_finite() { shortest.max(apart(from, to)) } else { apart(from, to) });
        }
        before = row;
    }
    debug_assert!(!one.is_empty());
    Ok(before.last().copied().unwrap_or(0.0))
}
