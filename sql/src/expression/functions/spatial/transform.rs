//! ST_Transform: a geometry in another reference system.
//!
//! Places go through the ellipsoid of WGS 84, to which systems say how theirs lies. The corners alone are transformed: an
//! edge is straight in its own system.

use format::value::{Geometry, Shape};
use geo::{Coord, MapCoords};
use proj4rs::Proj;

use super::arguments::{geometry, geometry_type, srid};
use super::plane::{computed_result, failure};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::geometry::{self as geometries, Projection};
use crate::plane::guarded;

pub const FUNCTIONS: &[Function] = &[Function::new("st_transform", (2, 2), geometry_type, transform)];

/// A system as the library knows it, and whether its coordinates are degrees.
struct System {
    projection: Proj,
    is_geographic: bool,
}

impl System {
    fn of(srid: u32, is_source: bool) -> Result<System> {
        let is_geographic = geometries::is_geographic(srid)?;
        if srid == 0 {
            return Err(Error::not_transformed(is_source, srid));
        }
        let refused = || Error::unsupported(format!("transformations of the spatial reference system {srid}"));
        match geometries::projection(srid) {
            Projection::Apart => Err(Error::not_related_to_wgs_84(is_source, srid)),
            Projection::Unsupported => Err(refused()),
            Projection::Known(text) => {
                // The transverse projection that is exact also far from its meridian; it is one of ellipsoids.
                let exact = text.replace("+proj=tmerc ", "+proj=etmerc ");
                let read = |text: &str| guarded(|| Proj::from_proj_string(text).ok()).ok().flatten();
                let projection = read(&exact).or_else(|| read(text)).ok_or_else(refused)?;
                Ok(System { projection, is_geographic })
            }
        }
    }
}

fn transform<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    let target = not_null!(srid(call, 1)?);
    geometries::check_system(target)?;
    geometries::check_argument_range(&geometry, call.name)?;
    if geometry.srid == target {
        return computed_result(call, target, geometry.shape);
    }
    let (from, to) = (System::of(geometry.srid, true)?, System::of(target, false)?);
    let moved = |at: Coord<f64>| -> Result<Coord<f64>, ()> {
        let mut place = if from.is_geographic { (at.x.to_radians(), at.y.to_radians()) } else { (at.x, at.y) };
        proj4rs::transform::transform(&from.projection, &to.projection, &mut place).map_err(|_| ())?;
        let mut place = Coord { x: place.0, y: place.1 };
        if to.is_geographic {
            place = Coord { x: place.x.to_degrees(), y: place.y.to_degrees() };
            // The library may pass the end of the map by a rounding.
            if place.x <= -180.0 {
                place.x += 360.0;
            } else if place.x > 180.0 {
                place.x -= 360.0;
            }
        }
        if place.x.is_finite() && place.y.is_finite() { Ok(place) } else { Err(()) }
    };
    let shape: std::result::Result<Shape<f64>, ()> =
        guarded(|| geometry.shape.try_map_coords(moved)).map_err(|cause| failure(call, cause))?;
    // A place that the projection cannot show.
    let shape = shape.map_err(|()| Error::invalid_geometry(call.name))?;
    let transformed = Geometry { srid: target, shape };
    geometries::check_argument_range(&transformed, call.name)?;
    computed_result(call, target, transformed.shape)
}
