//! How two geometries lie to each other: by their shapes, and by their bounding rectangles.
//!
//! By shapes it is OGC's relation of interiors and boundaries: a point on the boundary of an area touches it, and is not
//! within it. (MariaDB calls that within.) What has no points stands in no relation: NULL; it is equal to what has none
//! either.

use format::value::Shape;
use geo::coordinate_position::CoordPos;
use geo::dimensions::Dimensions;
use geo::relate::IntersectionMatrix;
use geo::{BoundingRect, HasDimensions, LineString, Point, Rect};

use super::arguments::truth_type;
use super::plane::{computed, pair_with_points};
use super::surface::{Surface, on_globe, pair_on_surface};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::plane::{self, Relation};

/// Names and relations.
macro_rules! relations {
    ($($name:literal $is:ident;)*) => {
        &[
            $(Function::new($name, (2, 2), truth_type, |call| by_shape(call, Relation::$is)),)*
            Function::new("st_relate", (3, 3), truth_type, relate),
            Function::new("mbrequals", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(one == other))),
            Function::new("mbrequal", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(one == other))),
            Function::new("mbrintersects", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(meet(one, other)))),
            Function::new("mbrdisjoint", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(!meet(one, other)))),
            Function::new("mbrcovers", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(covers(one, other)))),
            Function::new("mbrcoveredby", (2, 2), truth_type, |call| by_box(call, |one, other| Ok(covers(other, one)))),
            Function::new("mbrcontains", (2, 2), truth_type, |call| by_box_shape(call, IntersectionMatrix::is_contains)),
            Function::new("mbrwithin", (2, 2), truth_type, |call| by_box_shape(call, IntersectionMatrix::is_within)),
            Function::new("mbrtouches", (2, 2), truth_type, |call| by_box_shape(call, IntersectionMatrix::is_touches)),
            Function::new("mbroverlaps", (2, 2), truth_type, |call| by_box_shape(call, box_overlaps)),
        ]
    };
}

pub const FUNCTIONS: &[Function] = relations! {
    "st_equals" Equals;
    "st_disjoint" Disjoint;
    "st_intersects" Intersects;
    "st_touches" Touches;
    "st_crosses" Crosses;
    "st_within" Within;
    "st_contains" Contains;
    "st_overlaps" Overlaps;
};

fn by_shape<'a>(call: &Call<'a>, relation: Relation) -> Result<Datum<'a>> {
    let (one, other, surface) = not_null!(pair_on_surface(call)?);
    let holds = match surface {
        Surface::Plane => computed(call, |stop| plane::holds(&one.shape, &other.shape, relation, stop))?,
        Surface::Globe(globe) => on_globe(call, |stop| globe.holds(&one.shape, &other.shape, relation, stop))?,
    };
    Ok(holds.map_or(Datum::Null, Datum::from))
}

/// MariaDB's: whether the matrix has the form that is given.
fn relate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (one, other) = not_null!(pair_with_points(call)?);
    let pattern = not_null!(call.text(2)?);
    let pattern = String::from_utf8_lossy(&pattern).to_ascii_uppercase();
    let matrix = computed(call, |stop| plane::matrix(&one.shape, &other.shape, stop))?;
    matrix.matches(&pattern).map(Datum::from).map_err(|_| Error::wrong_arguments(call.name))
}

/// The bounding rectangles of both arguments; on the globe between meridians and parallels. NULL is None.
fn boxes(call: &Call<'_>) -> Result<Option<(Rect<f64>, Rect<f64>)>> {
    let Some((one, other, surface)) = pair_on_surface(call)? else { return Ok(None) };
    if one.shape.is_empty() || other.shape.is_empty() {
        return Ok(None);
    }
    match surface {
        Surface::Plane => Ok(one.shape.bounding_rect().zip(other.shape.bounding_rect())),
        Surface::Globe(globe) => {
            let in_plane = |_: &dyn Fn() -> bool| Ok(globe.extent(&one.shape)?.in_plane(&globe.extent(&other.shape)?));
            on_globe(call, in_plane).map(Some)
        }
    }
}

fn by_box<'a>(call: &Call<'a>, holds: fn(&Rect<f64>, &Rect<f64>) -> Result<bool>) -> Result<Datum<'a>> {
    let (one, other) = not_null!(boxes(call)?);
    Ok(holds(&one, &other)?.into())
}

fn meet(one: &Rect<f64>, other: &Rect<f64>) -> bool {
    one.min().x <= other.max().x
        && other.min().x <= one.max().x
        && one.min().y <= other.max().y
        && other.min().y <= one.max().y
}

fn covers(one: &Rect<f64>, other: &Rect<f64>) -> bool {
    one.min().x <= other.min().x
        && one.min().y <= other.min().y
        && one.max().x >= other.max().x
        && one.max().y >= other.max().y
}

/// The relation of bounding rectangles as shapes, which they are of two dimensions, of one or of none.
fn by_box_shape<'a>(call: &Call<'a>, holds: fn(&IntersectionMatrix) -> bool) -> Result<Datum<'a>> {
    let (one, other) = not_null!(boxes(call)?);
    // The common answer, without a matrix.
    if !meet(&one, &other) {
        return Ok(false.into());
    }
    let matrix = computed(call, |stop| plane::matrix(&shape_of(one), &shape_of(other), stop))?;
    Ok(holds(&matrix).into())
}

/// A place is inside of both, and each has one that the other has not; of whatever dimensions.
fn box_overlaps(matrix: &IntersectionMatrix) -> bool {
    matrix.get(CoordPos::Inside, CoordPos::Inside) != Dimensions::Empty && !matrix.is_covers() && !matrix.is_coveredby()
}

/// A rectangle as a polygon, a line or a point.
pub fn shape_of(bounds: Rect<f64>) -> Shape<f64> {
    let (min, max) = (bounds.min(), bounds.max());
    match (min.x == max.x, min.y == max.y) {
        (true, true) => Shape::Point(Point(min)),
        (false, false) => {
            let corners = [(min.x, min.y), (max.x, min.y), (max.x, max.y), (min.x, max.y), (min.x, min.y)];
            Shape::Polygon(geo::Polygon::new(LineString::from(corners.to_vec()), Vec::new()))
        }
        _ => Shape::LineString(LineString(vec![min, max])),
    }
}
