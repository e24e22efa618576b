//! Geohashes: a rectangle of longitudes and latitudes as a text of 32 digits, each of which halves it five times, first
//! in longitude, then in latitude, and so on.

use format::value::{Geometry, Shape};
use geo::Point;

use super::arguments::{double_type, geometry, point_type, result, srid};
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::datum::quoted;
use crate::expression::{Datum, geometry as geometries};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_geohash", (2, 3), text_type, geohash),
    Function::new("st_latfromgeohash", (1, 1), double_type, |call| coordinate(call, |at| at.y())),
    Function::new("st_longfromgeohash", (1, 1), double_type, |call| coordinate(call, |at| at.x())),
    Function::new("st_pointfromgeohash", (2, 2), point_type, point_from),
];

const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
const LENGTH_MAX: i64 = 100;

fn text_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(LENGTH_MAX as u32))
}

/// A rectangle that is halved.
struct Cell {
    longitude: (f64, f64),
    latitude: (f64, f64),
    is_longitude: bool,
}

impl Cell {
    fn whole() -> Cell {
        Cell { longitude: (-180.0, 180.0), latitude: (-90.0, 90.0), is_longitude: true }
    }

    /// The axis whose turn it is.
    fn axis(&mut self) -> &mut (f64, f64) {
        let axis = if self.is_longitude { &mut self.longitude } else { &mut self.latitude };
        self.is_longitude = !self.is_longitude;
        axis
    }
}

fn geohash<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (at, length) = if call.has(2) {
        let at = Point::new(not_null!(call.double(0)?), not_null!(call.double(1)?));
        (at, not_null!(call.int(2)?))
    } else {
        let geometry = not_null!(geometry(call, 0)?);
        let Shape::Point(at) = geometry.shape else { return Err(Error::invalid_geometry(call.name)) };
        (at, not_null!(call.int(1)?))
    };
    if !(-180.0..=180.0).contains(&at.x()) {
        return Err(Error::out_of_range("longitude", call.name));
    }
    if !(-90.0..=90.0).contains(&at.y()) {
        return Err(Error::out_of_range("latitude", call.name));
    }
    if !(1..=LENGTH_MAX).contains(&length) {
        return Err(Error::out_of_range("max geohash length", call.name));
    }
    let mut cell = Cell::whole();
    let mut out = Vec::new();
    while out.len() < length as usize {
        let mut digit = 0;
        for _ in 0..5 {
            let value = if cell.is_longitude { at.x() } else { at.y() };
            let (low, high) = cell.axis();
            let middle = (*low + *high) / 2.0;
            let is_upper = value >= middle;
            *(if is_upper { low } else { high }) = middle;
            digit = digit << 1 | usize::from(is_upper);
        }
        out.push(DIGITS[digit]);
        // The rectangle is the point: all further digits would say nothing.
        if (cell.longitude.0 + cell.longitude.1) / 2.0 == at.x() && (cell.latitude.0 + cell.latitude.1) / 2.0 == at.y()
        {
            break;
        }
    }
    Ok(Datum::bytes(out))
}

/// The middle of a geohash, with as many decimals as its rectangle can tell apart.
fn middle(call: &Call<'_>) -> Result<Option<Point<f64>>> {
    let Some(text) = call.text(0)? else { return Ok(None) };
    let wrong = || {
        Error::new(
            1411,
            b"HY000",
            format!("Incorrect geohash value: '{}' for function {}", quoted(&text), call.name.to_uppercase()),
        )
    };
    if text.is_empty() || text.len() > LENGTH_MAX as usize {
        return Err(wrong());
    }
    let mut cell = Cell::whole();
    for byte in text.iter() {
        let digit = DIGITS.iter().position(|digit| *digit == byte.to_ascii_lowercase()).ok_or_else(wrong)?;
        for bit in (0..5).rev() {
            let (low, high) = cell.axis();
            let middle = (*low + *high) / 2.0;
            *(if digit >> bit & 1 == 1 { low } else { high }) = middle;
        }
    }
    let rounded = |(low, high): (f64, f64)| {
        let middle = (low + high) / 2.0;
        // The fewest decimals that stay inside.
        (0..=17)
            .map(|decimals| {
                let unit = 10_f64.powi(decimals);
                (middle * unit).round() / unit
            })
            .find(|rounded| low <= *rounded && *rounded <= high)
            .unwrap_or(middle)
            // No negative zero.
            + 0.0
    };
    Ok(Some(Point::new(rounded(cell.longitude), rounded(cell.latitude))))
}

fn coordinate<'a>(call: &Call<'a>, of: fn(Point<f64>) -> f64) -> Result<Datum<'a>> {
    Ok(Datum::Double(of(not_null!(middle(call)?))))
}

fn point_from<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (at, srid) = (not_null!(middle(call)?), not_null!(srid(call, 1)?));
    let geometry = Geometry { srid, shape: Shape::Point(at) };
    geometries::check_range(&geometry, call.name)?;
    result(call, &geometry)
}
