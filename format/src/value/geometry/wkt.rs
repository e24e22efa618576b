//! Geometries as text: well-known text ("WKT"), `LINESTRING(0 0,1 1)`.
//!
//! Words are read in any case, with spaces anywhere between words, numbers and symbols. The points of a MULTIPOINT may
//! stand in parentheses of their own, or without; they are written with them, as MySQL does. Numbers are written as DOUBLEs are.

use geo_types::{Coord, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};

use super::{DEPTH_MAX, Geometry, GeometryType, Shape};
use crate::error::{Error, Result};
use crate::value::write_double;

const MALFORMED: Error = Error::Malformed { what: "text of a geometry" };

impl Geometry {
    /// Reads a text, wholly.
    pub fn parse_wkt(text: &[u8], srid: u32) -> Result<Geometry> {
        let mut parser = Parser { text };
        let shape = parser.shape(DEPTH_MAX)?;
        parser.spaces();
        if parser.text.is_empty() { Ok(Geometry { srid, shape }) } else { Err(MALFORMED) }
    }

    /// Appends the text.
    pub fn write_wkt(&self, out: &mut Vec<u8>) {
        write_shape(&self.shape, out);
    }
}

/// Reads from the front of `text`.
struct Parser<'a> {
    text: &'a [u8],
}

impl Parser<'_> {
    fn spaces(&mut self) {
        self.text = self.text.trim_ascii_start();
    }

    fn take(&mut self, symbol: u8) -> bool {
        self.spaces();
        match self.text.split_first() {
            Some((first, rest)) if *first == symbol => {
                self.text = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, symbol: u8) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(MALFORMED) }
    }

    fn word(&mut self) -> &str {
        self.spaces();
        let length = self.text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let (word, rest) = self.text.split_at(length);
        self.text = rest;
        std::str::from_utf8(word).unwrap_or_default()
    }

    fn number(&mut self) -> Result<f64> {
        self.spaces();
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.text.iter().take_while(|byte| is_part(byte)).count();
        let (number, rest) = self.text.split_at(length);
        self.text = rest;
        let number: Option<f64> = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        number.filter(|number| number.is_finite()).ok_or(MALFORMED)
    }

    fn coordinate(&mut self) -> Result<Coord<f64>> {
        Ok(Coord { x: self.number()?, y: self.number()? })
    }

    /// `(item, item)`, one at least.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(b'(')?;
        let mut items = vec![item(self)?];
        while self.take(b',') {
            items.push(item(self)?);
        }
        self.expect(b')')?;
        Ok(items)
    }

    fn line(&mut self) -> Result<LineString<f64>> {
        let points = self.list(Self::coordinate)?;
        if points.len() < 2 { Err(MALFORMED) } else { Ok(LineString(points)) }
    }

    fn ring(&mut self) -> Result<LineString<f64>> {
        let points = self.list(Self::coordinate)?;
        if points.len() < 4 || points.first() != points.last() { Err(MALFORMED) } else { Ok(LineString(points)) }
    }

    fn polygon(&mut self) -> Result<Polygon<f64>> {
        let mut rings = self.list(Self::ring)?;
        let holes = rings.split_off(1);
        Ok(Polygon::new(rings.remove(0), holes))
    }

    fn point_of_many(&mut self) -> Result<Point<f64>> {
        if !self.take(b'(') {
            return Ok(Point(self.coordinate()?));
        }
        let point = Point(self.coordinate()?);
        self.expect(b')')?;
        Ok(point)
    }

    fn shape(&mut self, depth: usize) -> Result<Shape<f64>> {
        if depth == 0 {
            return Err(MALFORMED);
        }
        let ty = GeometryType::by_name(self.word()).ok_or(MALFORMED)?;
        Ok(match ty {
            GeometryType::Geometry => return Err(MALFORMED),
            GeometryType::Point => {
                self.expect(b'(')?;
                let point = Point(self.coordinate()?);
                self.expect(b')')?;
                Shape::Point(point)
            }
            GeometryType::LineString => Shape::LineString(self.line()?),
            GeometryType::Polygon => Shape::Polygon(self.polygon()?),
            GeometryType::MultiPoint => Shape::MultiPoint(MultiPoint(self.list(Self::point_of_many)?)),
            GeometryType::MultiLineString => Shape::MultiLineString(MultiLineString(self.list(Self::line)?)),
            GeometryType::MultiPolygon => Shape::MultiPolygon(MultiPolygon(self.list(Self::polygon)?)),
            GeometryType::Collection => Shape::GeometryCollection(GeometryCollection(self.collection(depth)?)),
        })
    }

    /// `EMPTY`, `()`, or the parts.
    fn collection(&mut self, depth: usize) -> Result<Vec<Shape<f64>>> {
        if !self.take(b'(') {
            return if self.word().eq_ignore_ascii_case("empty") { Ok(Vec::new()) } else { Err(MALFORMED) };
        }
        let mut parts = Vec::new();
        if self.take(b')') {
            return Ok(parts);
        }
        loop {
            parts.push(self.shape(depth - 1)?);
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(parts)
    }
}

fn write_list<T>(items: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'(');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b')');
}

fn write_coordinate(at: &Coord<f64>, out: &mut Vec<u8>) {
    write_double(at.x, out);
    out.push(b' ');
    write_double(at.y, out);
}

fn write_points(line: &LineString<f64>, out: &mut Vec<u8>) {
    write_list(&line.0, write_coordinate, out);
}

fn write_rings(polygon: &Polygon<f64>, out: &mut Vec<u8>) {
    let rings: Vec<&LineString<f64>> = std::iter::once(polygon.exterior()).chain(polygon.interiors()).collect();
    write_list(&rings, |ring, out| write_points(ring, out), out);
}

fn write_shape(shape: &Shape<f64>, out: &mut Vec<u8>) {
    out.extend(GeometryType::of(shape).name().bytes().map(|byte| byte.to_ascii_uppercase()));
    match shape {
        Shape::Point(point) => write_list(&[point.0], write_coordinate, out),
        Shape::LineString(line) => write_points(line, out),
        Shape::Line(line) => write_points(&LineString::from(line), out),
        Shape::Polygon(polygon) => write_rings(polygon, out),
        Shape::Rect(rect) => write_rings(&rect.to_polygon(), out),
        Shape::Triangle(triangle) => write_rings(&triangle.to_polygon(), out),
        Shape::MultiPoint(points) => {
            write_list(&points.0, |point, out| write_list(&[point.0], write_coordinate, out), out)
        }
        Shape::MultiLineString(lines) => write_list(&lines.0, write_points, out),
        Shape::MultiPolygon(areas) => write_list(&areas.0, write_rings, out),
        Shape::GeometryCollection(parts) if parts.0.is_empty() => out.extend_from_slice(b" EMPTY"),
        Shape::GeometryCollection(parts) => write_list(&parts.0, write_shape, out),
    }
}
