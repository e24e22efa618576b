//! Shapes made from one shape: its bounding rectangle, its hull, something simpler.

use format::value::{Geometry, GeometryType, Shape};
use geo::{BoundingRect, Centroid, ConvexHull, Coord, HasDimensions, InteriorPoint, LineString, Polygon};

use super::arguments::{geometry, geometry_type, point_type, truth_type};
use super::plane::{computed, computed_result, failure, with_shape};
use super::relate::shape_of;
use super::surface::{Surface, named, on_globe};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{self, Pieces, guarded};

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_envelope", (1, 1), geometry_type, envelope),
    Function::new("envelope", (1, 1), geometry_type, envelope),
    Function::new("st_makeenvelope", (2, 2), geometry_type, make_envelope),
    Function::new("st_convexhull", (1, 1), geometry_type, convex_hull),
    Function::new("convexhull", (1, 1), geometry_type, convex_hull),
    Function::new("st_centroid", (1, 1), point_type, centroid),
    Function::new("centroid", (1, 1), point_type, centroid),
    Function::new("st_pointonsurface", (1, 1), point_type, point_on_surface),
    Function::new("st_boundary", (1, 1), geometry_type, boundary),
    Function::new("st_simplify", (2, 2), geometry_type, simplify),
    Function::new("st_issimple", (1, 1), truth_type, is_simple),
    Function::new("issimple", (1, 1), truth_type, is_simple),
    Function::new("st_isring", (1, 1), truth_type, is_ring),
    Function::new("isring", (1, 1), truth_type, is_ring),
    Function::new("st_isvalid", (1, 1), truth_type, is_valid),
    Function::new("st_validate", (1, 1), geometry_type, validate),
];

fn envelope<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    with_shape(call, |geometry| match geometry.shape.bounding_rect() {
        Some(bounds) => computed_result(call, geometry.srid, shape_of(bounds)),
        None => computed_result(call, geometry.srid, Pieces::default().into_shape()),
    })
}

fn make_envelope<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other) = (not_null!(geometry(call, 0)?), not_null!(geometry(call, 1)?));
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
    }
    if geometries::is_geographic(one.srid)? {
        return Err(Error::not_on_globe(&named(call, &[&one, &other])));
    }
    match (&one.shape, &other.shape) {
        (Shape::Point(from), Shape::Point(to)) => {
            computed_result(call, one.srid, shape_of(geo::Rect::new(from.0, to.0)))
        }
        (Shape::Point(_), shape) | (shape, _) => {
            Err(Error::unexpected_geometry(GeometryType::Point, GeometryType::of(shape), call.name))
        }
    }
}

fn convex_hull<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    with_shape(call, |geometry| {
        if geometry.shape.is_empty() {
            return Ok(Datum::Null);
        }
        let hull = guarded(|| geometry.shape.convex_hull()).map_err(|cause| failure(call, cause))?;
        let mut corners = hull.into_inner().0.0;
        corners.dedup();
        let mut different = corners.clone();
        different.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
        different.dedup();
        // Points on one line have no area around them.
        let shape = match different[..] {
            [] => return Ok(Datum::Null),
            [at] => Shape::Point(geo::Point(at)),
            [from, to] => Shape::LineString(LineString(vec![from, to])),
            [from, .., to] if corners.len() < 4 => Shape::LineString(LineString(vec![from, to])),
            [first, ..] => Shape::Polygon(Polygon::new(begun_at(corners, first), Vec::new())),
        };
        computed_result(call, geometry.srid, shape)
    })
}

/// A ring that begins at one of its corners.
fn begun_at(mut ring: Vec<Coord<f64>>, first: Coord<f64>) -> LineString<f64> {
    ring.pop();
    let at = ring.iter().position(|corner| *corner == first).unwrap_or(0);
    ring.rotate_left(at);
    ring.push(first);
    LineString(ring)
}

fn centroid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    with_shape(call, |geometry| match geometry.shape.centroid() {
        Some(point) => computed_result(call, geometry.srid, Shape::Point(point)),
        None => Ok(Datum::Null),
    })
}

fn point_on_surface<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    with_shape(call, |geometry| {
        match guarded(|| geometry.shape.interior_point()).map_err(|cause| failure(call, cause))? {
            Some(point) => computed_result(call, geometry.srid, Shape::Point(point)),
            None => Ok(Datum::Null),
        }
    })
}

fn boundary<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    geometries::is_geographic(geometry.srid)?;
    if matches!(&geometry.shape, Shape::GeometryCollection(parts) if !parts.0.is_empty()) {
        return Err(Error::unsupported("ST_BOUNDARY of collections"));
    }
    computed_result(call, geometry.srid, plane::boundary(&geometry.shape))
}

/// Fewer points, none of which that are left out is farther from the result than a distance.
fn simplify<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    if geometries::is_geographic(geometry.srid)? {
        let kind = GeometryType::of(&geometry.shape).short_name().to_uppercase();
        return Err(Error::not_on_globe(&format!("{}({kind}, ...)", call.name)));
    }
    let distance = not_null!(call.double(1)?);
    if !(distance > 0.0 && distance.is_finite()) {
        return Err(Error::wrong_arguments(call.name));
    }
    match computed(call, |stop| plane::simplified(&geometry.shape, distance, stop))? {
        Some(shape) => computed_result(call, geometry.srid, shape),
        None => Ok(Datum::Null),
    }
}

fn is_simple<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    Ok(simple(call, &geometry)?.into())
}

fn simple(call: &Call<'_>, geometry: &Geometry) -> Result<bool> {
    match Surface::of(call, geometry)? {
        Surface::Plane => computed(call, |stop| plane::is_simple(&geometry.shape, stop)),
        Surface::Globe(globe) => on_globe(call, |stop| globe.is_simple(&geometry.shape, stop)),
    }
}

/// A line that is closed and simple.
fn is_ring<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    let Shape::LineString(line) = &geometry.shape else { return Ok(Datum::Null) };
    Ok((line.is_closed() && simple(call, &geometry)?).into())
}

/// Areas by their rings; a line needs two different points.
fn valid(call: &Call<'_>, geometry: &Geometry) -> Result<bool> {
    let shape = &geometry.shape;
    let has_valid_areas = match Surface::of(call, geometry)? {
        Surface::Plane => computed(call, |stop| plane::has_valid_areas(shape, stop))?,
        Surface::Globe(globe) => on_globe(call, |stop| globe.has_valid_areas(shape, stop))?,
    };
    let differs = |line: &LineString<f64>| line.0.iter().any(|at: &Coord<f64>| *at != line.0[0]);
    Ok(has_valid_areas && Pieces::of(shape).lines.iter().all(differs))
}

fn is_valid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    Ok(valid(call, &geometry)?.into())
}

/// The geometry if it is valid, else NULL.
fn validate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    match valid(call, &geometry)? {
        true => computed_result(call, geometry.srid, geometry.shape),
        false => Ok(Datum::Null),
    }
}
