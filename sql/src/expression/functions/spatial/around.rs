//! ST_Buffer: what is no farther away than a distance; and its strategies.
//!
//! A strategy is a number and a parameter, in twelve bytes, as ST_Buffer_Strategy makes them:
//!
//! ```text
//! 0        4                    12
//! | which  | parameter (double) |      little-endian
//!
//! 1 end_round     points of a full circle around the end of a line
//! 2 end_flat
//! 3 join_round    points of a full circle around a corner
//! 4 join_miter    how far a sharp corner may reach, in distances
//! 5 point_circle  points of a full circle around a point
//! 6 point_square
//! ```

use std::f64::consts::TAU;

use format::value::Shape;
use geo::buffer::{BufferStyle, LineCap, LineJoin};
use geo::{Buffer, Coord, GeometryCollection, HasDimensions, LineString, MultiLineString, MultiPolygon, Polygon};

use super::arguments::{geometry, geometry_type};
use super::plane::{computed, computed_result, failure};
use super::surface::{Surface, named};
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::plane::{self, Pieces, guarded};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_buffer", (2, 5), geometry_type, buffer),
    Function::new("buffer", (2, 2), geometry_type, buffer),
    Function::new("st_buffer_strategy", (1, 2), strategy_type, strategy),
];

/// Points of a full circle where no strategy says how many.
const CIRCLE_POINTS: f64 = 32.0;
/// As many as a strategy may ask for.
const CIRCLE_POINTS_MAX: f64 = 65_536.0;
const STRATEGY_BYTES: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Strategy {
    EndRound(f64),
    EndFlat,
    JoinRound(f64),
    JoinMiter(f64),
    PointCircle(f64),
    PointSquare,
}

impl Strategy {
    fn of(number: u32, parameter: f64) -> Option<Strategy> {
        Some(match number {
            1 => Strategy::EndRound(parameter),
            2 => Strategy::EndFlat,
            3 => Strategy::JoinRound(parameter),
            4 => Strategy::JoinMiter(parameter),
            5 => Strategy::PointCircle(parameter),
            6 => Strategy::PointSquare,
            _ => return None,
        })
    }
}

fn strategy_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::binary_string(STRATEGY_BYTES as u32))
}

/// 1210: no such strategy, a parameter too many or too few, or one that is not positive.
fn strategy<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let wrong = || Error::wrong_arguments(call.name);
    let name = not_null!(call.text(0)?).to_ascii_lowercase();
    let (number, has_parameter): (u32, bool) = match &*name {
        b"end_round" => (1, true),
        b"end_flat" => (2, false),
        b"join_round" => (3, true),
        b"join_miter" => (4, true),
        b"point_circle" => (5, true),
        b"point_square" => (6, false),
        _ => return Err(wrong()),
    };
    if call.has(1) != has_parameter {
        return Err(wrong());
    }
    let parameter = if has_parameter { not_null!(call.double(1)?) } else { 0.0 };
    if has_parameter && !(parameter > 0.0 && parameter.is_finite()) {
        return Err(wrong());
    }
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend_from_slice(&parameter.to_le_bytes());
    Ok(Datum::bytes(bytes))
}

/// What surroundings look like.
struct Style {
    end: Strategy,
    join: Strategy,
    point: Strategy,
}

/// The strategies behind the first two arguments, one of each kind at most, which must be of use. NULL is None.
fn style(call: &Call<'_>, shape: &Shape<f64>) -> Result<Option<Style>> {
    let wrong = || Error::wrong_arguments(call.name);
    let mut given: [Option<Strategy>; 3] = [None; 3];
    for index in 2..call.args.len() {
        let bytes = match call.arg(index)? {
            Datum::Null => return Ok(None),
            Datum::Bytes(bytes) => bytes,
            _ => return Err(wrong()),
        };
        let (Some(number), Some(parameter), STRATEGY_BYTES) =
            (bytes.first_chunk::<4>(), bytes.last_chunk::<8>(), bytes.len())
        else {
            return Err(wrong());
        };
        let strategy = Strategy::of(u32::from_le_bytes(*number), f64::from_le_bytes(*parameter)).ok_or_else(wrong)?;
        let kind = match strategy {
            Strategy::EndRound(_) | Strategy::EndFlat => 0,
            Strategy::JoinRound(_) | Strategy::JoinMiter(_) => 1,
            Strategy::PointCircle(_) | Strategy::PointSquare => 2,
        };
        let may_have = match shape {
            Shape::Point(_) | Shape::MultiPoint(_) => kind == 2,
            Shape::LineString(_) | Shape::MultiLineString(_) => kind != 2,
            Shape::Polygon(_) | Shape::MultiPolygon(_) => kind == 1,
            _ => true,
        };
        if !may_have || given[kind].replace(strategy).is_some() {
            return Err(wrong());
        }
    }
    let [end, join, point] = given;
    Ok(Some(Style {
        end: end.unwrap_or(Strategy::EndRound(CIRCLE_POINTS)),
        join: join.unwrap_or(Strategy::JoinRound(CIRCLE_POINTS)),
        point: point.unwrap_or(Strategy::PointCircle(CIRCLE_POINTS)),
    }))
}

fn circle_points(asked: f64) -> f64 {
    asked.floor().clamp(3.0, CIRCLE_POINTS_MAX)
}

/// Of areas also, with a negative distance, what is farther away from the outside.
fn buffer<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    let distance = not_null!(call.double(1)?);
    if let Surface::Globe(globe) = Surface::of(call, &geometry)? {
        let Shape::Point(at) = geometry.shape else { return Err(Error::not_on_globe(&named(call, &[&geometry]))) };
        let style = not_null!(style(call, &geometry.shape)?);
        let Strategy::PointCircle(points) = style.point else { return Err(Error::wrong_arguments(call.name)) };
        return match distance {
            0.0 => computed_result(call, geometry.srid, geometry.shape),
            _ if !(distance > 0.0 && distance.is_finite()) => Err(Error::wrong_arguments(call.name)),
            _ => {
                let count = circle_points(points);
                let ring = closed(
                    (0..count as usize).map(|corner| globe.destination(at.0, -360.0 * corner as f64 / count, distance)),
                );
                computed_result(call, geometry.srid, Shape::Polygon(Polygon::new(ring, Vec::new())))
            }
        };
    }
    let style = not_null!(style(call, &geometry.shape)?);
    if distance == 0.0 || geometry.shape.is_empty() {
        return computed_result(call, geometry.srid, geometry.shape);
    }
    let pieces = computed(call, |stop| plane::normal(&geometry.shape, stop))?;
    if distance < 0.0 && (!pieces.points.is_empty() || !pieces.lines.is_empty()) {
        return Err(Error::wrong_arguments(call.name));
    }
    // What a coordinate could not hold is not computed with.
    if !(pieces.magnitude() + distance.abs()).is_finite() {
        return Err(Error::out_of_range("Result", call.name));
    }
    computed(call, |stop| plane::check_self(&pieces, distance.abs(), stop))?;
    let areas = guarded(|| surroundings(&pieces, distance, &style))
        .map_err(|cause| failure(call, cause))?
        .ok_or_else(|| Error::unsupported("corners sharper than the miter limit of ST_BUFFER"))?;
    // Those of points, of lines and of areas are one.
    let areas = match areas.len() {
        0 | 1 => areas.into_iter().flatten().collect(),
        _ => {
            let parts = areas.into_iter().flatten().map(Shape::Polygon).collect();
            computed(call, |stop| plane::normal(&Shape::GeometryCollection(GeometryCollection(parts)), stop))?.areas
        }
    };
    computed_result(call, geometry.srid, Pieces { areas, ..Pieces::default() }.into_shape())
}

/// The surroundings of each point, of all lines, and of all areas. None: a corner is too sharp.
fn surroundings(pieces: &Pieces, distance: f64, style: &Style) -> Option<Vec<Vec<Polygon<f64>>>> {
    let around_point = |centre: &Coord<f64>| {
        let ring = match style.point {
            Strategy::PointSquare => closed(
                [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                    .into_iter()
                    .map(|(x, y)| Coord { x: centre.x + distance * x, y: centre.y + distance * y }),
            ),
            Strategy::PointCircle(points) => circle(*centre, distance, circle_points(points)),
            _ => circle(*centre, distance, CIRCLE_POINTS),
        };
        vec![Polygon::new(ring, Vec::new())]
    };
    let mut all: Vec<Vec<Polygon<f64>>> = pieces.points.iter().map(around_point).collect();
    let join = match style.join {
        Strategy::JoinMiter(limit) => {
            let sharpest = sharpest_angle(limit);
            if pieces.lines.iter().chain(pieces.rings()).any(|line| has_sharper_corner(line, sharpest)) {
                return None;
            }
            Join::Miter(sharpest)
        }
        Strategy::JoinRound(points) => Join::Round(TAU / circle_points(points)),
        _ => Join::Round(TAU / CIRCLE_POINTS),
    };
    let cap = match style.end {
        Strategy::EndRound(points) => Some(TAU / circle_points(points)),
        _ => None,
    };
    let buffer_style = || {
        let style = BufferStyle::new(distance).line_cap(cap.map_or(LineCap::Butt, LineCap::Round));
        style.line_join(match join {
            Join::Miter(angle) => LineJoin::Miter(angle),
            Join::Round(angle) => LineJoin::Round(angle),
        })
    };
    let with_area = |areas: MultiPolygon<f64>| -> Vec<Polygon<f64>> {
        areas.0.into_iter().filter(|area| area.exterior().0.len() >= 4).collect()
    };
    if !pieces.lines.is_empty() {
        let lines = MultiLineString(pieces.lines.clone());
        all.push(with_area(lines.buffer_with_style(buffer_style())));
    }
    if !pieces.areas.is_empty() {
        all.push(with_area(pieces.area().buffer_with_style(buffer_style())));
    }
    Some(all)
}

#[derive(Clone, Copy)]
enum Join {
    Miter(f64),
    Round(f64),
}

/// The angle between two segments whose corner reaches just as far as a miter may.
fn sharpest_angle(limit: f64) -> f64 {
    // What the library draws no sharper corners than.
    let least = 0.01 * std::f64::consts::PI;
    if limit <= 1.0 { std::f64::consts::PI } else { (2.0 * (1.0 / limit).asin()).max(least) }
}

/// Whether two segments in a row, also where the line closes, have a smaller angle between them.
fn has_sharper_corner(line: &LineString<f64>, angle: f64) -> bool {
    let mut corners: Vec<Coord<f64>> = line.0.clone();
    corners.dedup();
    if line.is_closed() && corners.len() > 2 {
        corners.push(corners[1]);
    }
    corners.windows(3).any(|corner| {
        let (one, other) = (corner[0] - corner[1], corner[2] - corner[1]);
        let (cross, dot) = (one.x * other.y - one.y * other.x, one.x * other.x + one.y * other.y);
        // Nothing to join where the line goes straight on.
        let between = cross.abs().atan2(dot);
        between < angle && between < std::f64::consts::PI - 1e-9
    })
}

fn circle(centre: Coord<f64>, radius: f64, points: f64) -> LineString<f64> {
    closed((0..points as usize).map(|corner| {
        let angle = TAU * corner as f64 / points;
        Coord { x: centre.x + radius * angle.cos(), y: centre.y + radius * angle.sin() }
    }))
}

fn closed(corners: impl Iterator<Item = Coord<f64>>) -> LineString<f64> {
    let mut ring: Vec<Coord<f64>> = corners.collect();
    ring.extend(ring.first().copied());
    LineString(ring)
}
