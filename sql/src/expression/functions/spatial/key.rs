//! What SPATIAL indexes are made of and searched with; see [`crate::expression::spatial_key`].

use format::value::Geometry;
use geo::BoundingRect;

use super::arguments::{double_type, geometry_of_any_system};
use super::{Call, Function, not_null};
use crate::error::Result;
use crate::expression::Datum;
use crate::expression::geometry::is_geographic;
use crate::globe;

pub const FUNCTIONS: &[Function] = &[Function::new("st_spatial_key", (1, 2), double_type, key)];

/// Of a geometry that is searched with and the reference system of the column: the least key of what lies inside of it ...
pub static LOWEST: Function = Function::new("st_spatial_lowest", (2, 2), double_type, |call| bound(call, true));
/// ... and the largest. Of what is none, or of another system, all keys: the condition says what is wrong with it.
pub static HIGHEST: Function = Function::new("st_spatial_highest", (2, 2), double_type, |call| bound(call, false));

/// What a place may be to the east or west of where it is computed, in degrees.
const MARGIN: f64 = 1e-6;
/// Nearer to a pole than this latitude a degree of longitude is too short for that.
const POLAR: f64 = 89.0;

/// With a second argument the key of a geographic system.
fn key<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry_of_any_system(call, 0)?);
    let extent = if call.has(1) { extent_on_globe(&geometry) } else { extent(&geometry) };
    Ok(extent.map_or(Datum::Null, |(lowest, _)| Datum::Double(lowest)))
}

/// The lowest and the highest x. No negative zero, which an index tells from zero.
fn extent(geometry: &Geometry) -> Option<(f64, f64)> {
    geometry.shape.bounding_rect().map(|rect| (rect.min().x + 0.0, rect.max().x + 0.0))
}

/// The lowest and the highest longitude, of what crosses the end of the map all.
fn extent_on_globe(geometry: &Geometry) -> Option<(f64, f64)> {
    let (west, east) = globe::longitudes(&geometry.shape)?;
    Some(if east > 180.0 { (-180.0, 180.0) } else { (west + 0.0, east + 0.0) })
}

/// What a geometry is searched by on the globe. None: by all keys.
fn searched(geometry: &Geometry) -> Option<(f64, f64)> {
    let (low, high) = extent_on_globe(geometry).filter(|extent| *extent != (-180.0, 180.0))?;
    let latitudes = geometry.shape.bounding_rect()?;
    let is_polar = latitudes.max().y > POLAR || latitudes.min().y < -POLAR;
    (!is_polar && low > -180.0 + MARGIN && high < 180.0 - MARGIN).then_some((low - MARGIN, high + MARGIN))
}

fn bound<'a>(call: &Call<'a>, is_lowest: bool) -> Result<Datum<'a>> {
    let everything = Ok(Datum::Double(if is_lowest { f64::MIN } else { f64::MAX }));
    let stored = match call.arg(0)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Bytes(stored) => stored,
        _ => return everything,
    };
    let geometry = match Geometry::decode(&stored) {
        Ok(geometry) if Some(i64::from(geometry.srid)) == call.int(1)? => geometry,
        _ => return everything,
    };
    let Some(bounds) = extent(&geometry) else { return Ok(Datum::Null) };
    let bounds = match is_geographic(geometry.srid)? {
        false => Some(bounds),
        true => searched(&geometry),
    };
    match bounds {
        Some((lowest, highest)) => Ok(Datum::Double(if is_lowest { lowest } else { highest })),
        None => everything,
    }
}
