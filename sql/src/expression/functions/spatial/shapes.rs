//! Shapes made from one shape: its bounding rectangle, its hull, what lies around it, something simpler.

use format::value::{Geometry, GeometryType, Shape};
use geo::buffer::{BufferStyle, LineCap, LineJoin};
use geo::{BoundingRect, Buffer, Centroid, ConvexHull, Coord, HasDimensions, InteriorPoint, LineString, Polygon};

use super::arguments::{geometry, geometry_type, point_type, truth_type};
use super::plane::{computed, computed_result, failure, planar, with_shape};
use super::relate::shape_of;
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{self, Failure, Pieces, guarded};

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
    Function::new("st_buffer", (2, 5), geometry_type, buffer),
    Function::new("buffer", (2, 2), geometry_type, buffer),
    Function::new("st_simplify", (2, 2), geometry_type, simplify),
    Function::new("st_issimple", (1, 1), truth_type, is_simple),
    Function::new("issimple", (1, 1), truth_type, is_simple),
    Function::new("st_isring", (1, 1), truth_type, is_ring),
    Function::new("isring", (1, 1), truth_type, is_ring),
    Function::new("st_isvalid", (1, 1), truth_type, is_valid),
    Function::new("st_validate", (1, 1), geometry_type, validate),
];

/// Points of a full circle around a point.
const CIRCLE_POINTS: usize = 32;

fn envelope<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    with_shape(call, |geometry| match geometry.shape.bounding_rect() {
        Some(bounds) => computed_result(call, geometry.srid, shape_of(bounds)),
        None => computed_result(call, geometry.srid, Pieces::default().into_shape()),
    })
}

fn make_envelope<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other) = (not_null!(planar(call, 0)?), not_null!(planar(call, 1)?));
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
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

/// What is no farther away than a distance; of areas also, with a negative one, what is farther away from the outside.
fn buffer<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if call.has(2) {
        return Err(Error::unsupported("strategies of ST_BUFFER"));
    }
    let geometry = not_null!(planar(call, 0)?);
    let distance = not_null!(call.double(1)?);
    if distance == 0.0 || geometry.shape.is_empty() {
        return computed_result(call, geometry.srid, geometry.shape);
    }
    let pieces = computed(call, |stop| plane::normal(&geometry.shape, stop))?;
    if distance < 0.0 && (!pieces.points.is_empty() || !pieces.lines.is_empty()) {
        return Err(Error::wrong_arguments(call.name));
    }
    let style = || {
        let angle = std::f64::consts::TAU / CIRCLE_POINTS as f64;
        BufferStyle::new(distance).line_cap(LineCap::Round(angle)).line_join(LineJoin::Round(angle))
    };
    // What a coordinate could not hold is not computed with.
    if !(pieces.magnitude() + distance.abs()).is_finite() {
        return Err(Error::out_of_range("Result", call.name));
    }
    if let (Shape::Point(at), true) = (&geometry.shape, distance > 0.0) {
        return computed_result(call, geometry.srid, circle(at.0, distance));
    }
    computed(call, |stop| plane::check_self(&pieces, distance.abs(), stop))?;
    let shape = pieces.into_shape();
    let around = guarded(|| shape.buffer_with_style(style())).map_err(|cause| failure(call, cause))?;
    let areas = around.0.into_iter().filter(|area| area.exterior().0.len() >= 4).collect();
    computed_result(call, geometry.srid, Pieces { areas, ..Pieces::default() }.into_shape())
}

fn circle(centre: Coord<f64>, radius: f64) -> Shape<f64> {
    let corner = |at: usize| {
        let angle = std::f64::consts::TAU * (at % CIRCLE_POINTS) as f64 / CIRCLE_POINTS as f64;
        Coord { x: centre.x + radius * angle.cos(), y: centre.y + radius * angle.sin() }
    };
    Shape::Polygon(Polygon::new(LineString((0..=CIRCLE_POINTS).map(corner).collect()), Vec::new()))
}

/// Fewer points, none of which that are left out is farther from the result than a distance.
fn simplify<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(planar(call, 0)?);
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
    let geometry = not_null!(planar(call, 0)?);
    Ok(computed(call, |stop| plane::is_simple(&geometry.shape, stop))?.into())
}

/// A line that is closed and simple.
fn is_ring<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(planar(call, 0)?);
    let Shape::LineString(line) = &geometry.shape else { return Ok(Datum::Null) };
    Ok((line.is_closed() && computed(call, |stop| plane::is_simple(&geometry.shape, stop))?).into())
}

/// Areas by their rings; a line needs two different points.
fn shape_is_valid(shape: &Shape<f64>, stop: &dyn Fn() -> bool) -> Result<bool, Failure> {
    let differs = |line: &LineString<f64>| line.0.iter().any(|at: &Coord<f64>| *at != line.0[0]);
    Ok(plane::has_valid_areas(shape, stop)? && Pieces::of(shape).lines.iter().all(differs))
}

fn is_valid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(planar(call, 0)?);
    Ok(computed(call, |stop| shape_is_valid(&geometry.shape, stop))?.into())
}

/// The geometry if it is valid, else NULL.
fn validate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let Geometry { srid, shape } = not_null!(planar(call, 0)?);
    match computed(call, |stop| shape_is_valid(&shape, stop))? {
        true => computed_result(call, srid, shape),
        false => Ok(Datum::Null),
    }
}
