//! What functions compute on: the plane, or the globe of a geographic reference system.

use format::value::{Geometry, GeometryType};

use super::Call;
use super::arguments::geometry;
use super::plane::failure;
use crate::error::{Error, Result};
use crate::expression::{geometry as geometries, length_units};
use crate::globe::{self, Failure, Globe};

pub enum Surface {
    Plane,
    Globe(Box<Globe>),
}

impl Surface {
    /// Of the reference system of an argument, whose coordinates are checked.
    pub fn of(call: &Call<'_>, geometry: &Geometry) -> Result<Surface> {
        if !geometries::is_geographic(geometry.srid)? {
            return Ok(Surface::Plane);
        }
        geometries::check_argument_range(geometry, call.name)?;
        Ok(Surface::Globe(Box::new(globe_of(geometry.srid)?)))
    }
}

/// The ellipsoid of a geographic system.
pub fn globe_of(srid: u32) -> Result<Globe> {
    match geometries::ellipsoid(srid) {
        Some(ellipsoid) => Ok(Globe::new(ellipsoid.semi_major, ellipsoid.inverse_flattening)),
        None => Err(Error::unsupported(format!("the ellipsoid of the spatial reference system {srid}"))),
    }
}

/// The first two arguments, of one reference system, and their surface. None: NULL.
pub fn pair_on_surface(call: &Call<'_>) -> Result<Option<(Geometry, Geometry, Surface)>> {
    let (Some(one), Some(other)) = (geometry(call, 0)?, geometry(call, 1)?) else { return Ok(None) };
    if one.srid != other.srid {
        return Err(Error::different_srids(call.name, one.srid, other.srid));
    }
    let surface = Surface::of(call, &one)?;
    if matches!(surface, Surface::Globe(_)) {
        geometries::check_argument_range(&other, call.name)?;
    }
    Ok(Some((one, other, surface)))
}

/// The name of a function with the kinds of its arguments, as errors have it: `st_distance(POINT, LINESTRING)`.
pub fn named(call: &Call<'_>, arguments: &[&Geometry]) -> String {
    let kinds = arguments.iter().map(|geometry| GeometryType::of(&geometry.shape).short_name().to_uppercase());
    format!("{}({})", call.name, kinds.collect::<Vec<_>>().join(", "))
}

/// Computes on the globe, and asks whether the statement has been killed.
pub fn on_globe<T>(call: &Call<'_>, compute: impl FnOnce(&dyn Fn() -> bool) -> globe::Result<T>) -> Result<T> {
    compute(&|| call.context.session.is_interrupted()).map_err(|cause| match cause {
        Failure::Plane(cause) => failure(call, cause),
        Failure::HalfTheGlobe => Error::polygon_too_large(call.name),
        Failure::OppositeEnds => Error::unsupported("edges between opposite longitudes"),
        Failure::AroundTheGlobe => {
            Error::unsupported(format!("{} of shapes around the globe or at a pole", call.name.to_uppercase()))
        }
    })
}

/// How many of the unit that the argument at `index` names are one of a measure: of metres on the globe, and of the
/// unit of the system in a plane. NULL is None.
pub fn per_unit(call: &Call<'_>, index: usize, srid: u32, surface: &Surface) -> Result<Option<f64>> {
    if !call.has(index) {
        return Ok(Some(1.0));
    }
    let Some(name) = call.text(index)? else { return Ok(None) };
    let name = String::from_utf8_lossy(&name);
    if srid == 0 {
        return Err(Error::no_length_unit(call.name, srid, &name));
    }
    let unit = length_units::by_name(&name).ok_or_else(|| Error::unknown_unit(&name))?;
    let own = match surface {
        Surface::Globe(_) => 1.0,
        Surface::Plane => geometries::linear_unit(srid)
            .ok_or_else(|| Error::unsupported(format!("the unit of the spatial reference system {srid}")))?,
    };
    Ok(Some(own / unit))
}
