//! Lines of fewer points, none of those left out farther away than a distance (Douglas and Peucker).
//!
//! Of a line the ends stay; a ring begins at the point that is farthest from where it began, and outer ones turn
//! counter-clockwise, holes clockwise. Of points that are equally far the first stays. A closed line that has lost all
//! but its ends is gone.
//!
//! Source: D. Douglas and T. Peucker, "Algorithms for the reduction of the number of points required to represent a
//! digitized line or its caricature" (1973).

use format::value::Shape;
use geo::orient::Direction;
use geo::{Coord, GeometryCollection, Line, LineString, MultiLineString, MultiPolygon, Orient, Polygon};

use super::segments::distance;
use super::{Failure, Result, Stop};

/// None: nothing is left.
pub fn simplified(shape: &Shape<f64>, distance: f64, stop: Stop<'_>) -> Result<Option<Shape<f64>>> {
    let simplify = Simplify { distance, stop };
    Ok(Some(match shape {
        Shape::LineString(line) => match simplify.line(line)? {
            Some(line) => Shape::LineString(line),
            None => return Ok(None),
        },
        Shape::MultiLineString(lines) => {
            let lines =
                lines.0.iter().filter_map(|line| simplify.line(line).transpose()).collect::<Result<Vec<_>>>()?;
            if lines.is_empty() {
                return Ok(None);
            }
            Shape::MultiLineString(MultiLineString(lines))
        }
        Shape::Polygon(area) => match simplify.polygon(area)? {
            Some(area) => Shape::Polygon(area),
            None => return Ok(None),
        },
        Shape::MultiPolygon(areas) => {
            let areas =
                areas.0.iter().filter_map(|area| simplify.polygon(area).transpose()).collect::<Result<Vec<_>>>()?;
            if areas.is_empty() {
                return Ok(None);
            }
            Shape::MultiPolygon(MultiPolygon(areas))
        }
        Shape::GeometryCollection(parts) => {
            let parts = parts.0.iter().filter_map(|part| simplified(part, distance, stop).transpose());
            let parts = parts.collect::<Result<Vec<_>>>()?;
            if parts.is_empty() {
                return Ok(None);
            }
            Shape::GeometryCollection(GeometryCollection(parts))
        }
        other => other.clone(),
    }))
}

struct Simplify<'s> {
    distance: f64,
    stop: Stop<'s>,
}

impl Simplify<'_> {
    fn line(&self, line: &LineString<f64>) -> Result<Option<LineString<f64>>> {
        let points = self.points(&line.0)?;
        Ok((points.len() > 2 || points[0] != points[1]).then_some(LineString(points)))
    }

    fn points(&self, points: &[Coord<f64>]) -> Result<Vec<Coord<f64>>> {
        let mut stays = vec![false; points.len()];
        stays[0] = true;
        stays[points.len() - 1] = true;
        let mut spans = vec![(0, points.len() - 1)];
        while let Some((from, to)) = spans.pop() {
            if (self.stop)() {
                return Err(Failure::Interrupted);
            }
            let span = Line::new(points[from], points[to]);
            let mut farthest = (self.distance, None);
            for (at, point) in points.iter().enumerate().take(to).skip(from + 1) {
                let away = distance(*point, &span);
                if away > farthest.0 {
                    farthest = (away, Some(at));
                }
            }
            if let (_, Some(at)) = farthest {
                stays[at] = true;
                spans.extend([(from, at), (at, to)]);
            }
        }
        Ok(points.iter().zip(stays).filter(|(_, stays)| *stays).map(|(point, _)| *point).collect())
    }

    /// None: less than a triangle is left.
    fn ring(&self, ring: &LineString<f64>) -> Result<Option<LineString<f64>>> {
        let open = &ring.0[..ring.0.len() - 1];
        let from = open[0];
        let mut farthest = (0.0, 0);
        for (at, point) in open.iter().enumerate() {
            let away = (point.x - from.x).hypot(point.y - from.y);
            if away > farthest.0 {
                farthest = (away, at);
            }
        }
        let turned: Vec<Coord<f64>> =
            open[farthest.1..].iter().chain(&open[..farthest.1]).chain([&open[farthest.1]]).copied().collect();
        let points = self.points(&turned)?;
        Ok((points.len() >= 4).then_some(LineString(points)))
    }

    fn polygon(&self, area: &Polygon<f64>) -> Result<Option<Polygon<f64>>> {
        let area = area.orient(Direction::Default);
        let Some(outer) = self.ring(area.exterior())? else { return Ok(None) };
        let holes = area.interiors().iter().filter_map(|hole| self.ring(hole).transpose()).collect::<Result<_>>()?;
        Ok(Some(Polygon::new(outer, holes)))
    }
}
