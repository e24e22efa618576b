//! A shape as its points, its lines and its areas.

use format::value::Shape;
use geo::{
    BoundingRect, Coord, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
};

/// What a shape is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pieces {
    pub points: Vec<Coord<f64>>,
    pub lines: Vec<LineString<f64>>,
    pub areas: Vec<Polygon<f64>>,
}

impl Pieces {
    pub fn of(shape: &Shape<f64>) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.add(shape);
        pieces
    }

    fn add(&mut self, shape: &Shape<f64>) {
        match shape {
            Shape::Point(point) => self.points.push(point.0),
            Shape::LineString(line) => self.lines.push(line.clone()),
            Shape::Line(line) => self.lines.push(line.into()),
            Shape::Polygon(area) => self.areas.push(area.clone()),
            Shape::Rect(rect) => self.areas.push(rect.to_polygon()),
            Shape::Triangle(triangle) => self.areas.push(triangle.to_polygon()),
            Shape::MultiPoint(points) => self.points.extend(points.0.iter().map(|point| point.0)),
            Shape::MultiLineString(lines) => self.lines.extend(lines.0.iter().cloned()),
            Shape::MultiPolygon(areas) => self.areas.extend(areas.0.iter().cloned()),
            Shape::GeometryCollection(parts) => parts.0.iter().for_each(|part| self.add(part)),
        }
    }

    /// The simplest shape: one piece is itself, several of a kind are a MultiPoint and so on, others a collection with
    /// areas first.
    pub fn into_shape(mut self) -> Shape<f64> {
        match (self.points.len(), self.lines.len(), self.areas.len()) {
            (1, 0, 0) => Shape::Point(Point(self.points.remove(0))),
            (0, 1, 0) => Shape::LineString(self.lines.remove(0)),
            (0, 0, 1) => Shape::Polygon(self.areas.remove(0)),
            (2.., 0, 0) => Shape::MultiPoint(MultiPoint(self.points.into_iter().map(Point).collect())),
            (0, 2.., 0) => Shape::MultiLineString(MultiLineString(self.lines)),
            (0, 0, 2..) => Shape::MultiPolygon(MultiPolygon(self.areas)),
            _ => {
                let areas = self.areas.into_iter().map(Shape::Polygon);
                let lines = self.lines.into_iter().map(Shape::LineString);
                let points = self.points.into_iter().map(|at| Shape::Point(Point(at)));
                Shape::GeometryCollection(GeometryCollection(areas.chain(lines).chain(points).collect()))
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.lines.is_empty() && self.areas.is_empty()
    }

    pub fn point_count(&self) -> usize {
        let lines = self.lines.iter().chain(self.rings());
        self.points.len() + lines.map(|line| line.0.len()).sum::<usize>()
    }

    /// Whether its pieces are of several dimensions.
    pub fn is_mixed(&self) -> bool {
        [self.points.is_empty(), self.lines.is_empty(), self.areas.is_empty()].iter().filter(|none| !**none).count() > 1
    }

    /// The highest of its pieces': 0 of points, 1 of lines, 2 of areas.
    pub fn dimension(&self) -> u8 {
        match (self.areas.is_empty(), self.lines.is_empty()) {
            (false, _) => 2,
            (true, false) => 1,
            (true, true) => 0,
        }
    }

    /// Its points, its lines and its areas as shapes of their own, without those that it has not.
    pub fn kinds(&self) -> Vec<Pieces> {
        let kinds = [
            Pieces { points: self.points.clone(), ..Pieces::default() },
            Pieces { lines: self.lines.clone(), ..Pieces::default() },
            Pieces { areas: self.areas.clone(), ..Pieces::default() },
        ];
        kinds.into_iter().filter(|kind| !kind.is_empty()).collect()
    }

    /// All rings of the areas.
    pub fn rings(&self) -> impl Iterator<Item = &LineString<f64>> {
        self.areas.iter().flat_map(|area| std::iter::once(area.exterior()).chain(area.interiors()))
    }

    pub fn area(&self) -> MultiPolygon<f64> {
        MultiPolygon(self.areas.clone())
    }

    /// The largest of the coordinates' magnitudes.
    pub fn magnitude(&self) -> f64 {
        let of = |shape: &dyn Fn() -> Option<geo::Rect<f64>>| {
            shape().map_or(0.0, |rect| {
                let (min, max) = (rect.min(), rect.max());
                min.x.abs().max(min.y.abs()).max(max.x.abs()).max(max.y.abs())
            })
        };
        let points = self.points.iter().map(|at| at.x.abs().max(at.y.abs())).fold(0.0, f64::max);
        let lines = self.lines.iter().map(|line| of(&|| line.bounding_rect())).fold(0.0, f64::max);
        let areas = self.areas.iter().map(|area| of(&|| area.bounding_rect())).fold(0.0, f64::max);
        points.max(lines).max(areas)
    }
}
