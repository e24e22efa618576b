//! ST_COLLECT: the geometries of a group as one.
//!
//! Points alone are a MULTIPOINT, lines alone a MULTILINESTRING, polygons alone a MULTIPOLYGON; anything else is a
//! GEOMETRYCOLLECTION. Rings are turned as in MySQL: outer ones counter-clockwise, holes clockwise.

use format::value::{Geometry, GeometryType, Shape};
use geo::orient::Direction;
use geo::{GeometryCollection, MultiLineString, MultiPoint, MultiPolygon, Orient};

use super::{EvalContext, geometry};
use crate::error::{Error, Result};

const NAME: &str = "st_collect";

/// The geometries so far.
#[derive(Debug, Clone, Default)]
pub struct Collection {
    parts: Vec<Shape<f64>>,
    srid: u32,
    bytes: u64,
}

impl Collection {
    /// Adds a stored geometry. Returns the memory that it takes.
    pub fn add(&mut self, stored: &[u8], context: &EvalContext<'_>) -> Result<u64> {
        let Geometry { srid, shape } = geometry::decode(stored, NAME)?;
        geometry::is_geographic(srid)?;
        if self.parts.is_empty() {
            self.srid = srid;
        }
        if self.srid != srid {
            return Err(Error::different_srids_in_group(NAME, self.srid, srid));
        }
        self.bytes += stored.len() as u64;
        if self.bytes > context.max_allowed_packet_bytes {
            return Err(Error::result_too_large(NAME, context.max_allowed_packet_bytes));
        }
        self.parts.push(turned(shape));
        // A coordinate takes as much as in bytes; a part has its vectors beside.
        Ok(2 * stored.len() as u64 + size_of::<Shape<f64>>() as u64)
    }

    /// The stored form of what they are together. None: there are none.
    pub fn finish(self) -> Result<Option<Vec<u8>>> {
        let Some(first) = self.parts.first() else { return Ok(None) };
        let kind = GeometryType::of(first);
        let is_alike = self.parts.iter().all(|part| GeometryType::of(part) == kind);
        let shape = match kind {
            GeometryType::Point if is_alike => Shape::MultiPoint(MultiPoint(all(self.parts))),
            GeometryType::LineString if is_alike => Shape::MultiLineString(MultiLineString(all(self.parts))),
            GeometryType::Polygon if is_alike => Shape::MultiPolygon(MultiPolygon(all(self.parts))),
            _ => Shape::GeometryCollection(GeometryCollection(self.parts)),
        };
        let stored = Geometry { srid: self.srid, shape }.encode();
        // Collections of collections nest: no deeper than can be read.
        geometry::decode(&stored, NAME)?;
        Ok(Some(stored))
    }
}

fn all<T: TryFrom<Shape<f64>>>(parts: Vec<Shape<f64>>) -> Vec<T> {
    parts.into_iter().filter_map(|part| T::try_from(part).ok()).collect()
}

fn turned(shape: Shape<f64>) -> Shape<f64> {
    match shape {
        Shape::Polygon(area) => Shape::Polygon(area.orient(Direction::Default)),
        Shape::MultiPolygon(areas) => Shape::MultiPolygon(areas.orient(Direction::Default)),
        Shape::GeometryCollection(parts) => {
            Shape::GeometryCollection(GeometryCollection(parts.0.into_iter().map(turned).collect()))
        }
        shape => shape,
    }
}
