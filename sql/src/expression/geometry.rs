//! Geometries among SQL's values: bytes as a column stores them, checked where they come in.
//!
//! # Spatial reference systems
//!
//! A geometry has the number of one, and what its coordinates mean follows from that, see `reference_systems`. In a plane
//! they are x and y. In a geographic system they are stored as longitude and latitude in degrees, and written and read as
//! latitude and longitude, as in MySQL.
//!
//! What is computed is computed in a plane, or on the ellipsoid of the geographic system ([`globe`](crate::globe)). What
//! only a plane has is refused there, [`planar`].

use std::borrow::Cow;

use format::value::{Geometry, GeometryType, Shape};
use geo::{CoordsIter, MapCoordsInPlace};

use super::reference_systems;
use crate::error::{Error, Result};

pub use reference_systems::{
    Projection, WGS_84, all as all_systems, check as check_system, ellipsoid, is_geographic, is_known, linear_unit,
    name_and_text, projection,
};

/// Reads a value that is an argument of a function.
#[inline(never)]
pub fn decode(bytes: &[u8], function: &str) -> Result<Geometry> {
    Geometry::decode(bytes).map_err(|_| Error::invalid_geometry(function))
}

/// A value as a column of this type stores it.
#[inline(never)]
pub fn for_column<'a>(
    bytes: Cow<'a, [u8]>,
    kind: GeometryType,
    srid: Option<u32>,
    column: &str,
) -> Result<Cow<'a, [u8]>> {
    let geometry = Geometry::decode(&bytes).map_err(|_| Error::no_geometry_for_column())?;
    if !kind.takes(GeometryType::of(&geometry.shape)) {
        return Err(Error::no_geometry_for_column());
    }
    if let Some(own) = srid.filter(|own| *own != geometry.srid) {
        return Err(Error::wrong_srid_for_column(column, geometry.srid, own));
    }
    // Big-endian parts are stored little-endian.
    let normal = geometry.encode();
    Ok(if *normal == *bytes { bytes } else { Cow::Owned(normal) })
}

/// Refuses what is only done in a plane: as MySQL does if it is so there too.
pub fn planar(geometry: &Geometry, function: &str) -> Result<()> {
    match is_geographic(geometry.srid)? {
        true if matches!(function, "st_centroid" | "st_convexhull" | "st_envelope") => {
            let kind = GeometryType::of(&geometry.shape).short_name().to_uppercase();
            Err(Error::not_on_globe(&format!("{function}({kind})")))
        }
        true => Err(Error::unsupported(format!("{} of geographic coordinates", function.to_uppercase()))),
        false => Ok(()),
    }
}

/// The order of the coordinates in a text or WKB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisOrder {
    /// As the reference system has it.
    OfSystem,
    LongitudeFirst,
    LatitudeFirst,
}

impl AxisOrder {
    /// From the options of a function: `axis-order=lat-long`. None: they are not options.
    pub fn of_options(options: &[u8]) -> Option<AxisOrder> {
        let options = std::str::from_utf8(options).ok()?;
        if options.trim().is_empty() {
            return Some(AxisOrder::OfSystem);
        }
        let (name, value) = options.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("axis-order") {
            return None;
        }
        Some(match value.trim().to_ascii_lowercase().as_str() {
            "srid-defined" => AxisOrder::OfSystem,
            "long-lat" => AxisOrder::LongitudeFirst,
            "lat-long" => AxisOrder::LatitudeFirst,
            _ => return None,
        })
    }

    /// Whether the two numbers of a position stand the other way around than they are stored.
    fn swaps(self, srid: u32) -> Result<bool> {
        Ok(is_geographic(srid)? && self != AxisOrder::LongitudeFirst)
    }
}

pub fn swap_axes(shape: &mut Shape<f64>) {
    shape.map_coords_in_place(|at| geo::Coord { x: at.y, y: at.x });
}

/// A shape that came from a text or WKB in the order of its system, as it is stored.
pub fn take_in(mut shape: Shape<f64>, srid: u32, order: AxisOrder, function: &str) -> Result<Geometry> {
    if order.swaps(srid)? {
        swap_axes(&mut shape);
    }
    let geometry = Geometry { srid, shape };
    check_range(&geometry, function)?;
    Ok(geometry)
}

/// The way back of [`take_in`].
pub fn give_out(mut geometry: Geometry, order: AxisOrder) -> Result<Geometry> {
    // What was stored before its system was unknown can still be read.
    if is_known(geometry.srid) && order.swaps(geometry.srid)? {
        swap_axes(&mut geometry.shape);
    }
    Ok(geometry)
}

/// The same of an argument, as it was stored.
pub fn check_argument_range(geometry: &Geometry, function: &str) -> Result<()> {
    if !is_geographic(geometry.srid)? {
        return Ok(());
    }
    for at in geometry.shape.coords_iter() {
        if !(at.x > -180.0 && at.x <= 180.0) {
            return Err(Error::argument_longitude_out_of_range(at.x, (-180.0, 180.0), function));
        }
        if !(-90.0..=90.0).contains(&at.y) {
            return Err(Error::argument_latitude_out_of_range(at.y, (-90.0, 90.0), function));
        }
    }
    Ok(())
}

/// Longitudes and latitudes are those of places on earth.
pub fn check_range(geometry: &Geometry, function: &str) -> Result<()> {
    if !is_geographic(geometry.srid)? {
        return Ok(());
    }
    for at in geometry.shape.coords_iter() {
        if !(at.x > -180.0 && at.x <= 180.0) {
            return Err(Error::longitude_out_of_range(at.x, function));
        }
        if !(-90.0..=90.0).contains(&at.y) {
            return Err(Error::latitude_out_of_range(at.y, function));
        }
    }
    Ok(())
}
