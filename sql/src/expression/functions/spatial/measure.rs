//! Lengths, areas, distances: in the unit of the system in a plane, in metres on the globe, or in a unit that is named.

use format::value::{Geometry, Shape};
use geo::{Area, Coord, CoordsIter, Distance, Euclidean, HasDimensions, Length, LineString, Polygon};

use super::arguments::{double_type, geometry};
use super::plane::failure;
use super::surface::{Surface, globe_of, named, on_globe, pair_on_surface, per_unit};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{Pieces, check_product, guarded};

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

fn length<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    let surface = Surface::of(call, &geometry)?;
    let scale = not_null!(per_unit(call, 1, geometry.srid, &surface)?);
    measure(call, "Length", not_null!(length_of(&geometry.shape, &surface)) * scale)
}

/// A measure; 1690 if it is too large for a number.
fn measure<'a>(call: &Call<'_>, what: &str, value: f64) -> Result<Datum<'a>> {
    match value.is_finite() {
        true => Ok(Datum::Double(value)),
        false => Err(Error::out_of_range(what, call.name)),
    }
}

/// Of lines alone.
fn length_of(shape: &Shape<f64>, surface: &Surface) -> Option<f64> {
    let of = |line: &LineString<f64>| match surface {
        Surface::Plane => Euclidean.length(line),
        Surface::Globe(globe) => globe.length(line),
    };
    match shape {
        Shape::LineString(line) => Some(of(line)),
        Shape::MultiLineString(lines) => Some(lines.0.iter().map(of).sum()),
        _ => None,
    }
}

fn area<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    let areas = Pieces::of(&geometry.shape).areas;
    let sum = match Surface::of(call, &geometry)? {
        Surface::Plane => areas.iter().map(area_of).fold(0.0, |sum, area| sum + area),
        Surface::Globe(globe) => {
            let add = |sum: f64, area: &Polygon<f64>| Ok(sum + globe.area(area)?);
            on_globe(call, |_| areas.iter().try_fold(0.0, add))?
        }
    };
    measure(call, "Result", sum)
}

/// Of the outer ring without the holes, whichever way they turn.
fn area_of(area: &Polygon<f64>) -> f64 {
    let of = |ring: &LineString<f64>| Polygon::new(ring.clone(), Vec::new()).unsigned_area();
    of(area.exterior()) - area.interiors().iter().map(of).sum::<f64>()
}

fn distance<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other, surface) = not_null!(pair_on_surface(call)?);
    let scale = not_null!(per_unit(call, 2, one.srid, &surface)?);
    if one.shape.is_empty() || other.shape.is_empty() {
        return Ok(Datum::Null);
    }
    let distance = match surface {
        Surface::Plane => {
            check_product(one.shape.coords_count(), other.shape.coords_count())
                .map_err(|cause| failure(call, cause))?;
            guarded(|| Euclidean.distance(&one.shape, &other.shape)).map_err(|cause| failure(call, cause))?
        }
        Surface::Globe(globe) => on_globe(call, |stop| globe.distance_of_shapes(&one.shape, &other.shape, stop))?,
    };
    measure(call, "Distance", distance * scale)
}

/// The shortest way between points on the surface of a sphere. Coordinates are longitudes and latitudes, in a geographic
/// reference system or in none.
fn distance_on_sphere<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other) = (not_null!(geometry(call, 0)?), not_null!(geometry(call, 1)?));
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
    }
    if one.srid != 0 && !geometries::is_geographic(one.srid)? {
        return Err(Error::not_in_projection(&named(call, &[&one, &other])));
    }
    let radius = match (call.has(2), one.srid) {
        (true, _) => not_null!(call.double(2)?),
        (false, 0) => EARTH_RADIUS,
        (false, srid) => globe_of(srid)?.mean_radius(),
    };
    if radius <= 0.0 {
        return Err(Error::invalid_radius(call.name));
    }
    for geometry in [&one, &other] {
        if !matches!(geometry.shape, Shape::Point(_) | Shape::MultiPoint(_)) {
            let what = named(call, &[&one, &other]);
            return Err(if one.srid == 0 { Error::not_in_plane(&what) } else { Error::not_on_globe(&what) });
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
    measure(call, "Result", shortest * radius)
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

/// Two places and how far they are apart.
fn apart(surface: &Surface) -> impl Fn(Coord<f64>, Coord<f64>) -> f64 + '_ {
    move |from, to| match surface {
        Surface::Plane => (from.x - to.x).hypot(from.y - to.y),
        Surface::Globe(globe) => globe.distance(from, to),
    }
}

/// MySQL's: 22S00 for kinds of geometries that it has no such measure of.
fn check_kinds(call: &Call<'_>, one: &Geometry, other: &Geometry, surface: &Surface, are_such: bool) -> Result<()> {
    let what = || named(call, &[one, other]);
    match (are_such, surface) {
        (true, _) => Ok(()),
        (false, Surface::Plane) => Err(Error::not_in_plane(&what())),
        (false, Surface::Globe(_)) => Err(Error::not_on_globe(&what())),
    }
}

/// The largest distance from a point that the first geometry is given by to the nearest of the other. As MySQL's, it does
/// not look from the other one back.
fn hausdorff<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other, surface) = not_null!(pair_on_surface(call)?);
    let is_line = |shape: &Shape<f64>| matches!(shape, Shape::LineString(_) | Shape::MultiLineString(_));
    let is_point = |shape: &Shape<f64>| matches!(shape, Shape::Point(_) | Shape::MultiPoint(_));
    let are_points = matches!((&one.shape, &other.shape), (Shape::Point(_), Shape::Point(_)));
    let are_such =
        is_line(&one.shape) && is_line(&other.shape) || is_point(&one.shape) && is_point(&other.shape) && !are_points;
    check_kinds(call, &one, &other, &surface, are_such)?;
    let scale = not_null!(per_unit(call, 2, one.srid, &surface)?);
    let (from, to) = (positions(&one.shape), positions(&other.shape));
    let apart = apart(&surface);
    let mut farthest = 0.0_f64;
    for at in from {
        go_on(call)?;
        let nearest = to.iter().map(|to| apart(at, *to)).fold(f64::INFINITY, f64::min);
        farthest = farthest.max(nearest);
    }
    measure(call, "Hausdorff_distance", farthest * scale)
}

/// The shortest leash that lets two walkers go along two lines, from point to point, neither of them back.
fn frechet<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other, surface) = not_null!(pair_on_surface(call)?);
    let (Shape::LineString(line), Shape::LineString(other_line)) = (&one.shape, &other.shape) else {
        check_kinds(call, &one, &other, &surface, false)?;
        return Ok(Datum::Null);
    };
    let scale = not_null!(per_unit(call, 2, one.srid, &surface)?);
    measure(call, "FrechetDistance", leash(call, line, other_line, apart(&surface))? * scale)
}

/// By rows: of each pair of points the leash that is needed to get there.
fn leash(
    call: &Call<'_>,
    one: &LineString<f64>,
    other: &LineString<f64>,
    apart: impl Fn(Coord<f64>, Coord<f64>) -> f64,
) -> Result<f64> {
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
            let shortest = ways.into_iter().flatten().reduce(f64::min);
            row.push(shortest.map_or(apart(*from, *to), |shortest| shortest.max(apart(*from, *to))));
        }
        before = row;
    }
    debug_assert!(!one.0.is_empty());
    Ok(before.last().copied().unwrap_or(0.0))
}
