//! Lengths, areas, distances.

use format::value::{Geometry, GeometryType, Shape};
use geo::{Area, Coord, CoordsIter, Distance, Euclidean, HasDimensions, Length, LineString, Polygon};

use super::arguments::{double_type, geometry};
use super::plane::{double, pair_with_points, planar};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{Failure, Pieces, check_product, guarded};

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

/// The radius of the sphere, in metres, that MySQL and MariaDB take the earth for where no reference system is given.
const EARTH_RADIUS: f64 = 6_370_986.0;
/// The mean radius of the ellipsoid of WGS 84.
const WGS_84_RADIUS: f64 = (2.0 * 6_378_137.0 + 6_356_752.314_245_179) / 3.0;

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

/// Of lines alone.
fn length_of(shape: &Shape<f64>) -> Option<f64> {
    match shape {
        Shape::LineString(line) => Some(Euclidean.length(line)),
        Shape::MultiLineString(lines) => Some(Euclidean.length(lines)),
        _ => None,
    }
}

fn area<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(planar(call, 0)?);
    let areas = Pieces::of(&geometry.shape).areas;
    double(call, areas.iter().map(area_of).fold(0.0, |sum, area| sum + area))
}

/// Of the outer ring without the holes, whichever way they turn.
fn area_of(area: &Polygon<f64>) -> f64 {
    let of = |ring: &LineString<f64>| Polygon::new(ring.clone(), Vec::new()).unsigned_area();
    of(area.exterior()) - area.interiors().iter().map(of).sum::<f64>()
}

fn distance<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    no_unit(call, 2)?;
    let (one, other) = not_null!(pair_with_points(call)?);
    check_points(call, &one, &other)?;
    double(call, guarded(|| Euclidean.distance(&one.shape, &other.shape)).map_err(|cause| failed(call, cause))?)
}

fn check_points(call: &Call<'_>, one: &Geometry, other: &Geometry) -> Result<()> {
    check_product(one.shape.coords_count(), other.shape.coords_count()).map_err(|cause| failed(call, cause))
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
    let radius = match (call.has(2), one.srid) {
        (true, _) => not_null!(call.double(2)?),
        (false, 0) => EARTH_RADIUS,
        (false, geometries::WGS_84) => WGS_84_RADIUS,
        (false, srid) => {
            return Err(Error::unsupported(format!("ST_DISTANCE_SPHERE without a radius in the system {srid}")));
        }
    };
    if radius <= 0.0 {
        return Err(Error::invalid_radius(call.name));
    }
    for geometry in [&one, &other] {
        if !matches!(geometry.shape, Shape::Point(_) | Shape::MultiPoint(_)) {
            let given = GeometryType::of(&geometry.shape);
            return Err(Error::unexpected_geometry(GeometryType::Point, given, call.name));
        }
        // As in the geographic system, also where none is said.
        geometries::check_range(&Geometry { srid: geometries::WGS_84, shape: geometry.shape.clone() }, call.name)?;
    }
    let (from, to) = (positions(&one.shape), positions(&other.shape));
    let mut shortest = f64::INFINITY;
    for at in from {
        go_on(call)?;
        shortest = to.iter().map(|to| angle(at, *to)).fold(shortest, f64::min);
    }
    double(call, shortest * radius)
}

fn positions(shape: &Shape<f64>) -> Vec<Coord<f64>> {
    shape.coords_iter().collect()
}

fn go_on(call: &Call<'_>) -> Result<()> {
    if call.context.session.is_interrupted() { Err(Error::interrupted()) } else { Ok(()) }
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
    let (one, other) = (positions(&one.shape), positions(&other.shape));
    double(call, farthest(call, &one, &other)?.max(farthest(call, &other, &one)?))
}

/// The largest distance from a point of one to the nearest of the other.
fn farthest(call: &Call<'_>, from: &[Coord<f64>], to: &[Coord<f64>]) -> Result<f64> {
    let mut farthest = 0.0_f64;
    for at in from {
        go_on(call)?;
        let nearest = to.iter().map(|to| (at.x - to.x).hypot(at.y - to.y)).fold(f64::INFINITY, f64::min);
        farthest = farthest.max(nearest);
    }
    Ok(farthest)
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
        go_on(call)?;
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
