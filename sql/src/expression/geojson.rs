//! Geometries as GeoJSON (RFC 7946), and back.
//!
//! A geometry is an object with `type` and `coordinates`, or `geometries` of a GeometryCollection. Of a Feature its
//! `geometry` is read, of a FeatureCollection those of all its features. Positions have longitude first, in any system.

use format::value::{Geometry, GeometryType, Json, Shape};
use geo::{
    BoundingRect, Coord, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
};

use crate::error::{Error, Result};

const NAMES: [(&str, GeometryType); 7] = [
    ("Point", GeometryType::Point),
    ("LineString", GeometryType::LineString),
    ("Polygon", GeometryType::Polygon),
    ("MultiPoint", GeometryType::MultiPoint),
    ("MultiLineString", GeometryType::MultiLineString),
    ("MultiPolygon", GeometryType::MultiPolygon),
    ("GeometryCollection", GeometryType::Collection),
];

/// What the object has beside the geometry.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The digits behind the point of a coordinate; None: all.
    pub decimals: Option<u32>,
    /// A bounding box.
    pub bbox: bool,
    /// The name of the reference system: of what form, if at all.
    pub crs: Option<CrsForm>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrsForm {
    /// `EPSG:4326`
    Short,
    /// `urn:ogc:def:crs:EPSG::4326`
    Urn,
}

/// The object that a geometry is.
pub fn write(geometry: &Geometry, options: Options) -> Json {
    let mut members = members(&geometry.shape, options);
    if let Some(form) = options.crs.filter(|_| geometry.srid != 0) {
        let prefix = if form == CrsForm::Short { "EPSG:" } else { "urn:ogc:def:crs:EPSG::" };
        let name = Json::String(format!("{prefix}{}", geometry.srid));
        let properties = Json::object(vec![("name".into(), name)]);
        let members_of_crs = vec![("type".into(), Json::String("name".into())), ("properties".into(), properties)];
        members.push(("crs".into(), Json::object(members_of_crs)));
    }
    Json::object(members)
}

fn number(value: f64, decimals: Option<u32>) -> Json {
    let rounded = decimals.and_then(|decimals| {
        let unit = 10_f64.powi(i32::try_from(decimals).ok()?);
        Some((value * unit).round() / unit)
    });
    Json::Double(rounded.filter(|rounded| rounded.is_finite()).unwrap_or(value))
}

fn members(shape: &Shape<f64>, options: Options) -> Vec<(String, Json)> {
    let number = |value| number(value, options.decimals);
    let position = |at: &Coord<f64>| Json::Array(vec![number(at.x), number(at.y)]);
    let line = |line: &LineString<f64>| Json::Array(line.0.iter().map(position).collect());
    let polygon =
        |area: &Polygon<f64>| Json::Array(std::iter::once(area.exterior()).chain(area.interiors()).map(line).collect());
    let parts = match shape {
        Shape::Point(point) => position(&point.0),
        Shape::LineString(one) => line(one),
        Shape::Line(one) => line(&LineString::from(one)),
        Shape::Polygon(area) => polygon(area),
        Shape::Rect(rect) => polygon(&rect.to_polygon()),
        Shape::Triangle(triangle) => polygon(&triangle.to_polygon()),
        Shape::MultiPoint(points) => Json::Array(points.0.iter().map(|point| position(&point.0)).collect()),
        Shape::MultiLineString(lines) => Json::Array(lines.0.iter().map(line).collect()),
        Shape::MultiPolygon(areas) => Json::Array(areas.0.iter().map(polygon).collect()),
        Shape::GeometryCollection(parts) => {
            Json::Array(parts.0.iter().map(|part| Json::object(members(part, options))).collect())
        }
    };
    let ty = GeometryType::of(shape);
    let name = NAMES.iter().find(|(_, known)| *known == ty).map_or("", |(name, _)| name);
    let parts_name = if ty == GeometryType::Collection { "geometries" } else { "coordinates" };
    let mut members = vec![("type".into(), Json::String(name.into())), (parts_name.into(), parts)];
    if let Some(bounds) = shape.bounding_rect().filter(|_| options.bbox) {
        let corners = [bounds.min().x, bounds.min().y, bounds.max().x, bounds.max().y];
        members.push(("bbox".into(), Json::Array(corners.into_iter().map(number).collect())));
    }
    members
}

/// The geometry of an object. None: a Feature without one. `cuts`: positions of more than two numbers lose the rest.
pub fn read(json: &Json, cuts: bool) -> Result<Option<Shape<f64>>> {
    Reader { cuts }.geometry(json)
}

/// The number of the reference system that an object names.
pub fn srid(json: &Json) -> Result<Option<u32>> {
    let Some(crs) = json.member("crs").filter(|crs| !matches!(crs, Json::Null)) else { return Ok(None) };
    let properties = crs.member("properties").ok_or_else(|| Error::geojson_missing_member("properties"))?;
    let Some(Json::String(name)) = properties.member("name") else {
        return Err(Error::geojson_missing_member("name"));
    };
    if name == "urn:ogc:def:crs:OGC:1.3:CRS84" {
        return Ok(Some(super::geometry::WGS_84));
    }
    let number = name.strip_prefix("EPSG:").or_else(|| name.strip_prefix("urn:ogc:def:crs:EPSG::"));
    match number.and_then(|number| number.parse().ok()) {
        Some(srid) => Ok(Some(srid)),
        None => Err(Error::invalid_geojson()),
    }
}

struct Reader {
    cuts: bool,
}

impl Reader {
    fn geometry(&self, json: &Json) -> Result<Option<Shape<f64>>> {
        let Json::Object(_) = json else { return Err(Error::invalid_geojson()) };
        let Json::String(name) = json.member("type").ok_or_else(|| Error::geojson_missing_member("type"))? else {
            return Err(Error::geojson_wrong_member("type", "string"));
        };
        if name == "Feature" {
            return match json.member("geometry").ok_or_else(|| Error::geojson_missing_member("geometry"))? {
                Json::Null => Ok(None),
                geometry => self.geometry(geometry),
            };
        }
        if name == "FeatureCollection" {
            let features = self.elements(json, "features")?;
            return Ok(Some(collection(self.all(features)?)));
        }
        let known = NAMES.iter().find(|(known, _)| name == known);
        let Some((_, ty)) = known else { return Err(Error::invalid_geojson()) };
        if *ty == GeometryType::Collection {
            let parts = self.elements(json, "geometries")?;
            return Ok(Some(collection(self.all(parts)?)));
        }
        let coordinates = json.member("coordinates").ok_or_else(|| Error::geojson_missing_member("coordinates"))?;
        Ok(Some(match ty {
            GeometryType::Point => Shape::Point(Point(self.position(coordinates)?)),
            GeometryType::LineString => Shape::LineString(self.line(coordinates)?),
            GeometryType::Polygon => Shape::Polygon(self.polygon(coordinates)?),
            GeometryType::MultiPoint => {
                let points = self.list(coordinates, 1, |at| self.position(at))?;
                Shape::MultiPoint(MultiPoint(points.into_iter().map(Point).collect()))
            }
            GeometryType::MultiLineString => {
                Shape::MultiLineString(MultiLineString(self.list(coordinates, 1, |line| self.line(line))?))
            }
            _ => Shape::MultiPolygon(MultiPolygon(self.list(coordinates, 1, |area| self.polygon(area))?)),
        }))
    }

    fn elements<'j>(&self, json: &'j Json, member: &str) -> Result<&'j [Json]> {
        match json.member(member).ok_or_else(|| Error::geojson_missing_member(member))? {
            Json::Array(elements) => Ok(elements),
            _ => Err(Error::geojson_wrong_member(member, "array")),
        }
    }

    fn all(&self, parts: &[Json]) -> Result<Vec<Shape<f64>>> {
        parts.iter().filter_map(|part| self.geometry(part).transpose()).collect()
    }

    fn list<T>(&self, json: &Json, min: usize, item: impl Fn(&Json) -> Result<T>) -> Result<Vec<T>> {
        match json {
            Json::Array(items) if items.len() >= min => items.iter().map(item).collect(),
            Json::Array(_) => Err(Error::invalid_geojson()),
            _ => Err(Error::geojson_wrong_member("coordinates", "array")),
        }
    }

    fn position(&self, json: &Json) -> Result<Coord<f64>> {
        let numbers = self.list(json, 2, |number| match number {
            Json::Int(number) => Ok(*number as f64),
            Json::UInt(number) => Ok(*number as f64),
            Json::Double(number) => Ok(*number),
            Json::Decimal(number) => Ok(number.to_f64()),
            _ => Err(Error::invalid_geojson()),
        })?;
        if numbers.len() > 2 && !self.cuts {
            let text = format!("Unsupported number of coordinate dimensions: Found {}, expected 2", numbers.len());
            return Err(Error::new(3073, b"HY000", text));
        }
        Ok(Coord { x: numbers[0], y: numbers[1] })
    }

    fn line(&self, json: &Json) -> Result<LineString<f64>> {
        Ok(LineString(self.list(json, 2, |at| self.position(at))?))
    }

    fn polygon(&self, json: &Json) -> Result<Polygon<f64>> {
        let ring = |json: &Json| {
            let ring = LineString(self.list(json, 4, |at| self.position(at))?);
            if ring.is_closed() { Ok(ring) } else { Err(Error::invalid_geojson()) }
        };
        let mut rings = self.list(json, 1, ring)?;
        let holes = rings.split_off(1);
        Ok(Polygon::new(rings.remove(0), holes))
    }
}

fn collection(parts: Vec<Shape<f64>>) -> Shape<f64> {
    Shape::GeometryCollection(GeometryCollection(parts))
}
