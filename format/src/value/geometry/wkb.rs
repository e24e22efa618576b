//! Geometries as bytes: [`Reader`], and the functions that write what it reads.

use geo_types::{Coord, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};

use super::{DEPTH_MAX, Geometry, GeometryType, Shape};
use crate::error::{Error, Result};

/// Bytes in front of a WKB.
const SRID_BYTES: usize = 4;
/// Byte order and type.
const HEADER_BYTES: usize = 5;
const POINT_BYTES: usize = 16;
/// The least that a part of a collection takes: its header and a count.
const PART_BYTES_MIN: usize = HEADER_BYTES + 4;

const MALFORMED: Error = Error::Malformed { what: "geometry" };

impl Geometry {
    /// Reads a stored value, wholly.
    pub fn decode(stored: &[u8]) -> Result<Geometry> {
        let srid = Geometry::srid_of(stored).ok_or(MALFORMED)?;
        Ok(Geometry { srid, shape: Geometry::decode_wkb(&stored[SRID_BYTES..])? })
    }

    /// Reads a WKB of either byte order, wholly.
    pub fn decode_wkb(wkb: &[u8]) -> Result<Shape<f64>> {
        let mut reader = Reader { bytes: wkb };
        let shape = reader.shape(None, DEPTH_MAX)?;
        if reader.bytes.is_empty() { Ok(shape) } else { Err(MALFORMED) }
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.srid.to_le_bytes().to_vec();
        Geometry::encode_wkb(&self.shape, &mut out);
        out
    }

    /// Appends the WKB.
    pub fn encode_wkb(shape: &Shape<f64>, out: &mut Vec<u8>) {
        write_shape(shape, out);
    }

    /// The reference system of a stored value that need not be whole.
    pub fn srid_of(stored: &[u8]) -> Option<u32> {
        stored.first_chunk().map(|srid| u32::from_le_bytes(*srid))
    }

    /// The type of a stored value that need not be whole.
    pub fn type_of(stored: &[u8]) -> Option<GeometryType> {
        let header = stored.get(SRID_BYTES..)?;
        Reader { bytes: header }.header().ok().map(|(ty, _)| ty)
    }

    /// The WKB in a stored value.
    pub fn wkb_of(stored: &[u8]) -> &[u8] {
        stored.get(SRID_BYTES..).unwrap_or_default()
    }
}

/// Reads from the front of `bytes`.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(MALFORMED)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// A type, and whether its numbers are big-endian.
    fn header(&mut self) -> Result<(GeometryType, bool)> {
        let big = match self.take::<1>()? {
            [0] => true,
            [1] => false,
            _ => return Err(MALFORMED),
        };
        match GeometryType::from_number(self.number(big)?) {
            None | Some(GeometryType::Geometry) => Err(MALFORMED),
            Some(ty) => Ok((ty, big)),
        }
    }

    fn number(&mut self, big: bool) -> Result<u32> {
        let bytes = self.take()?;
        Ok(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// How many elements follow, of which each takes so many bytes at least.
    fn count(&mut self, big: bool, bytes_min: usize) -> Result<usize> {
        let count = self.number(big)? as usize;
        if count > self.bytes.len() / bytes_min { Err(MALFORMED) } else { Ok(count) }
    }

    fn coordinate(&mut self, big: bool) -> Result<Coord<f64>> {
        let mut number = || -> Result<f64> {
            let bytes = self.take()?;
            let number = if big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
            if number.is_finite() { Ok(number) } else { Err(MALFORMED) }
        };
        Ok(Coord { x: number()?, y: number()? })
    }

    fn line(&mut self, big: bool, points_min: usize) -> Result<LineString<f64>> {
        let count = self.count(big, POINT_BYTES)?;
        if count < points_min {
            return Err(MALFORMED);
        }
        Ok(LineString((0..count).map(|_| self.coordinate(big)).collect::<Result<_>>()?))
    }

    fn ring(&mut self, big: bool) -> Result<LineString<f64>> {
        let ring = self.line(big, 4)?;
        if ring.0.first() == ring.0.last() { Ok(ring) } else { Err(MALFORMED) }
    }

    fn polygon(&mut self, big: bool) -> Result<Polygon<f64>> {
        let count = self.count(big, 4)?;
        if count == 0 {
            return Err(MALFORMED);
        }
        let outer = self.ring(big)?;
        let holes = (1..count).map(|_| self.ring(big)).collect::<Result<_>>()?;
        Ok(Polygon::new(outer, holes))
    }

    /// The parts of a collection; of `kind` alone, if one is given.
    fn parts(&mut self, big: bool, kind: Option<GeometryType>, depth: usize) -> Result<Vec<Shape<f64>>> {
        let count = self.count(big, PART_BYTES_MIN)?;
        if count == 0 && kind.is_some() {
            return Err(MALFORMED);
        }
        (0..count).map(|_| self.shape(kind, depth - 1)).collect()
    }

    fn shape(&mut self, expected: Option<GeometryType>, depth: usize) -> Result<Shape<f64>> {
        let (ty, big) = self.header()?;
        if depth == 0 || expected.is_some_and(|expected| expected != ty) {
            return Err(MALFORMED);
        }
        Ok(match ty {
            GeometryType::Geometry => return Err(MALFORMED),
            GeometryType::Point => Shape::Point(Point(self.coordinate(big)?)),
            GeometryType::LineString => Shape::LineString(self.line(big, 2)?),
            GeometryType::Polygon => Shape::Polygon(self.polygon(big)?),
            GeometryType::MultiPoint => {
                let parts = self.parts(big, Some(GeometryType::Point), depth)?;
                Shape::MultiPoint(MultiPoint(parts.into_iter().filter_map(|part| part.try_into().ok()).collect()))
            }
            GeometryType::MultiLineString => {
                let parts = self.parts(big, Some(GeometryType::LineString), depth)?;
                Shape::MultiLineString(MultiLineString(
                    parts.into_iter().filter_map(|part| part.try_into().ok()).collect(),
                ))
            }
            GeometryType::MultiPolygon => {
                let parts = self.parts(big, Some(GeometryType::Polygon), depth)?;
                Shape::MultiPolygon(MultiPolygon(parts.into_iter().filter_map(|part| part.try_into().ok()).collect()))
            }
            GeometryType::Collection => Shape::GeometryCollection(GeometryCollection(self.parts(big, None, depth)?)),
        })
    }
}

fn write_header(ty: GeometryType, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&(ty as u32).to_le_bytes());
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn write_coordinate(at: Coord<f64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&at.x.to_le_bytes());
    out.extend_from_slice(&at.y.to_le_bytes());
}

fn write_point(point: &Point<f64>, out: &mut Vec<u8>) {
    write_header(GeometryType::Point, out);
    write_coordinate(point.0, out);
}

fn write_points(line: &LineString<f64>, out: &mut Vec<u8>) {
    write_count(line.0.len(), out);
    line.0.iter().for_each(|at| write_coordinate(*at, out));
}

fn write_line(line: &LineString<f64>, out: &mut Vec<u8>) {
    write_header(GeometryType::LineString, out);
    write_points(line, out);
}

fn write_polygon(polygon: &Polygon<f64>, out: &mut Vec<u8>) {
    write_header(GeometryType::Polygon, out);
    write_count(1 + polygon.interiors().len(), out);
    write_points(polygon.exterior(), out);
    polygon.interiors().iter().for_each(|hole| write_points(hole, out));
}

fn write_parts<T>(ty: GeometryType, parts: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    write_header(ty, out);
    write_count(parts.len(), out);
    parts.iter().for_each(|part| write(part, out));
}

fn write_shape(shape: &Shape<f64>, out: &mut Vec<u8>) {
    match shape {
        Shape::Point(point) => write_point(point, out),
        Shape::LineString(line) => write_line(line, out),
        Shape::Line(line) => write_line(&LineString::from(line), out),
        Shape::Polygon(polygon) => write_polygon(polygon, out),
        Shape::Rect(rect) => write_polygon(&rect.to_polygon(), out),
        Shape::Triangle(triangle) => write_polygon(&triangle.to_polygon(), out),
        Shape::MultiPoint(points) => write_parts(GeometryType::MultiPoint, &points.0, write_point, out),
        Shape::MultiLineString(lines) => write_parts(GeometryType::MultiLineString, &lines.0, write_line, out),
        Shape::MultiPolygon(areas) => write_parts(GeometryType::MultiPolygon, &areas.0, write_polygon, out),
        Shape::GeometryCollection(parts) => write_parts(GeometryType::Collection, &parts.0, write_shape, out),
    }
}
