//! What functions need to compute in the plane: shapes of one reference system that is no geographic one, and errors.

use format::value::{Geometry, Shape};
use geo::{CoordsIter, HasDimensions};

use super::arguments::{geometry, result};
use super::{Call, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry as geometries};
use crate::plane::{Failure, MEETINGS_MAX, POINTS_MAX};

/// A geometry of the plane; NULL is None.
pub fn planar(call: &Call<'_>, index: usize) -> Result<Option<Geometry>> {
    let Some(geometry) = geometry(call, index)? else { return Ok(None) };
    geometries::planar(&geometry, call.name)?;
    Ok(Some(geometry))
}

/// The first two arguments, of one reference system. None: NULL, or without points.
pub fn pair(call: &Call<'_>) -> Result<Option<(Geometry, Geometry)>> {
    let (Some(one), Some(other)) = (geometry(call, 0)?, geometry(call, 1)?) else { return Ok(None) };
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
    }
    geometries::planar(&one, call.name)?;
    Ok(Some((one, other)))
}

/// The same, where what has no points has no result.
pub fn pair_with_points(call: &Call<'_>) -> Result<Option<(Geometry, Geometry)>> {
    Ok(pair(call)?.filter(|(one, other)| !one.shape.is_empty() && !other.shape.is_empty()))
}

pub fn failure(call: &Call<'_>, failure: Failure) -> Error {
    match failure {
        Failure::Interrupted => Error::interrupted(),
        Failure::Invalid => Error::invalid_geometry(call.name),
        Failure::TooLarge => Error::unsupported(format!(
            "{} of more than {POINTS_MAX} points, or of more than {MEETINGS_MAX} places where segments may meet",
            call.name.to_uppercase()
        )),
        Failure::Mixed => {
            Error::unsupported(format!("{} of collections of several dimensions", call.name.to_uppercase()))
        }
    }
}

/// Computes, and asks whether the statement has been killed.
pub fn computed<T>(call: &Call<'_>, compute: impl FnOnce(&dyn Fn() -> bool) -> Result<T, Failure>) -> Result<T> {
    compute(&|| call.context.session.is_interrupted()).map_err(|cause| failure(call, cause))
}

/// A computed shape; 1690 if a coordinate has become too large.
pub fn computed_result<'a>(call: &Call<'_>, srid: u32, shape: Shape<f64>) -> Result<Datum<'a>> {
    if shape.coords_iter().any(|at| !at.x.is_finite() || !at.y.is_finite()) {
        return Err(Error::out_of_range("Result", call.name));
    }
    result(call, &Geometry { srid, shape })
}

/// A function of the shape of a planar geometry.
pub fn with_shape<'a>(call: &Call<'a>, compute: impl FnOnce(Geometry) -> Result<Datum<'a>>) -> Result<Datum<'a>> {
    compute(not_null!(planar(call, 0)?))
}
