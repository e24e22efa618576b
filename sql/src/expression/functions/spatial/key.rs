//! What SPATIAL indexes are made of and searched with; see [`crate::expression::spatial_key`].

use geo::BoundingRect;

use super::arguments::{double_type, geometry_of_any_system};
use super::{Call, Function, not_null};
use crate::error::Result;
use crate::expression::Datum;
use format::value::Geometry;

pub const FUNCTIONS: &[Function] = &[Function::new("st_spatial_key", (1, 1), double_type, key)];

/// Of a geometry that is searched with and the reference system of the column: the least key of what lies inside of it ...
pub static LOWEST: Function = Function::new("st_spatial_lowest", (2, 2), double_type, |call| bound(call, true));
/// ... and the largest. Of what is none, or of another system, all keys: the condition says what is wrong with it.
pub static HIGHEST: Function = Function::new("st_spatial_highest", (2, 2), double_type, |call| bound(call, false));

fn key<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(extent(&not_null!(geometry_of_any_system(call, 0)?)).map_or(Datum::Null, |(lowest, _)| Datum::Double(lowest)))
}

/// The lowest and the highest x. No negative zero, which an index tells from zero.
fn extent(geometry: &Geometry) -> Option<(f64, f64)> {
    geometry.shape.bounding_rect().map(|rect| (rect.min().x + 0.0, rect.max().x + 0.0))
}

fn bound<'a>(call: &Call<'a>, is_lowest: bool) -> Result<Datum<'a>> {
    let everything = Ok(Datum::Double(if is_lowest { f64::MIN } else { f64::MAX }));
    let stored = match call.arg(0)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Bytes(stored) => stored,
        _ => return everything,
    };
    match Geometry::decode(&stored) {
        Ok(geometry) if Some(i64::from(geometry.srid)) == call.int(1)? => Ok(match extent(&geometry) {
            Some((lowest, highest)) => Datum::Double(if is_lowest { lowest } else { highest }),
            None => Datum::Null,
        }),
        _ => everything,
    }
}
