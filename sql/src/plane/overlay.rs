//! Union, intersection and differences of shapes of any kinds.
//!
//! Areas are combined with areas on a grid. A line is cut where it meets the other shape's lines and rings, and its
//! parts stay or go; a point stays or goes as a whole. What remains of points and lines is what higher pieces of the
//! result do not cover.

use std::ops::ControlFlow;

use format::value::Shape;
use geo::{
    BooleanOps, Coord, CoordinatePosition, Line, LineString, MultiPolygon, OpType, coordinate_position::CoordPos,
};

use super::cut::{cut, meetings};
use super::segments::{distance, of_lines, pairs};
use super::snap::snapped;
use super::{Failure, Pieces, Result, Stop, bounds, guarded, has_valid_areas};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Union,
    Intersection,
    Difference,
    SymmetricDifference,
}

/// How far, in proportion to the largest coordinate, a computed place may be from where it is.
const ROUNDING: f64 = 1e-12;

pub fn overlay(one: &Shape<f64>, other: &Shape<f64>, operation: Operation, stop: Stop<'_>) -> Result<Shape<f64>> {
    let (one, other) = (normal(one, stop)?, normal(other, stop)?);
    let plane = Plane { stop, near: one.magnitude().max(other.magnitude()) * ROUNDING };
    let result = match operation {
        Operation::Union => plane.union(&one, &other)?,
        Operation::Intersection => plane.intersection(&one, &other)?,
        Operation::Difference => plane.difference(&one, &other)?,
        Operation::SymmetricDifference => {
            let (left, right) = (plane.difference(&one, &other)?, plane.difference(&other, &one)?);
            Pieces {
                areas: plane.areas(&one, &other, OpType::Xor)?,
                lines: left.lines.into_iter().chain(right.lines).collect(),
                points: left.points.into_iter().chain(right.points).collect(),
            }
        }
    };
    Ok(result.into_shape())
}

/// The pieces of a shape, none of which covers another one of a collection.
pub fn normal(shape: &Shape<f64>, stop: Stop<'_>) -> Result<Pieces> {
    let parts = match shape {
        Shape::GeometryCollection(parts) => parts.0.clone(),
        shape if has_valid_areas(shape, stop)? => {
            let mut pieces = Pieces::of(shape);
            dedup(&mut pieces.points, 0.0);
            return Ok(pieces);
        }
        // Areas that overlap are valid each.
        Shape::MultiPolygon(areas) if areas.0.len() > 1 => areas.0.iter().cloned().map(Shape::Polygon).collect(),
        _ => return Err(Failure::Invalid),
    };
    let plane = Plane { stop, near: Pieces::of(shape).magnitude() * ROUNDING };
    let mut all = Pieces::default();
    for part in &parts {
        if stop() {
            return Err(Failure::Interrupted);
        }
        let part = normal(part, stop)?;
        all = if all.is_empty() { part } else { plane.union(&all, &part)? };
    }
    Ok(all)
}

struct Plane<'s> {
    stop: Stop<'s>,
    near: f64,
}

impl Plane<'_> {
    fn union(&self, one: &Pieces, other: &Pieces) -> Result<Pieces> {
        let areas = self.areas(one, other, OpType::Union)?;
        let mut lines = self.outside(&one.lines, other)?;
        lines.extend(self.off(&self.outside(&other.lines, one)?, &of_lines(&one.lines))?);
        let mut points = one.points.clone();
        points.extend(&other.points);
        let covering = Pieces { areas, lines, points: Vec::new() };
        let points = self.uncovered(points, &covering)?;
        Ok(Pieces { points, ..covering })
    }

    fn intersection(&self, one: &Pieces, other: &Pieces) -> Result<Pieces> {
        let areas = self.areas(one, other, OpType::Intersection)?;
        let (one_lines, other_lines) = (of_lines(&one.lines), of_lines(&other.lines));
        let (one_rings, other_rings) = (of_lines(one.rings()), of_lines(other.rings()));
        let mut lines = self.inside(&one.lines, other, &other_rings)?;
        lines.extend(self.inside(&other.lines, one, &one_rings)?);
        lines.extend(cut(&one.lines, &other_lines, self.stop, |_, is_on| is_on)?);
        // Areas that share a part of an edge, and lie on its two sides.
        let rings: Vec<LineString<f64>> = one.rings().cloned().collect();
        let edges = cut(&rings, &other_rings, self.stop, |_, is_on| is_on)?;
        lines.extend(self.uncovered_lines(edges, &areas)?);
        let mut points = Vec::new();
        for (left, right) in [
            (&one_lines, &other_lines),
            (&one_lines, &other_rings),
            (&one_rings, &other_lines),
            (&one_rings, &other_rings),
        ] {
            points.extend(meetings(left, right, self.stop)?);
        }
        let common = |points: &[Coord<f64>], of: &Pieces| -> Result<Vec<Coord<f64>>> {
            let away = self.uncovered(points.to_vec(), of)?;
            Ok(points.iter().filter(|at| !away.contains(at)).copied().collect())
        };
        points.extend(common(&one.points, other)?);
        points.extend(common(&other.points, one)?);
        let covering = Pieces { areas, lines, points: Vec::new() };
        let points = self.uncovered(points, &covering)?;
        Ok(Pieces { points, ..covering })
    }

    fn difference(&self, one: &Pieces, other: &Pieces) -> Result<Pieces> {
        Ok(Pieces {
            areas: self.areas(one, other, OpType::Difference)?,
            lines: self.off(&self.outside(&one.lines, other)?, &of_lines(&other.lines))?,
            points: self.uncovered(one.points.clone(), other)?,
        })
    }

    fn areas(&self, one: &Pieces, other: &Pieces, operation: OpType) -> Result<Vec<geo::Polygon<f64>>> {
        match (one.areas.is_empty(), other.areas.is_empty(), operation) {
            (true, true, _) | (true, false, OpType::Intersection | OpType::Difference) => return Ok(Vec::new()),
            (false, true, OpType::Intersection) => return Ok(Vec::new()),
            (false, true, _) => return Ok(one.areas.clone()),
            (true, false, _) => return Ok(other.areas.clone()),
            (false, false, _) => {}
        }
        bounds::check(one, other, self.stop)?;
        let result = guarded(|| one.area().boolean_op(&other.area(), operation))?;
        Ok(snapped(result, [one, other], self.stop)?.0)
    }

    /// The parts of lines outside of areas.
    fn outside(&self, lines: &[LineString<f64>], of: &Pieces) -> Result<Vec<LineString<f64>>> {
        if lines.is_empty() || of.areas.is_empty() {
            return Ok(lines.to_vec());
        }
        let area = of.area();
        let is_outside = |at, is_on: bool| !is_on && area.coordinate_position(&at) == CoordPos::Outside;
        cut(lines, &of_lines(of.rings()), self.stop, is_outside)
    }

    /// The parts of lines inside of areas and on their rings.
    fn inside(&self, lines: &[LineString<f64>], of: &Pieces, rings: &[Line<f64>]) -> Result<Vec<LineString<f64>>> {
        if lines.is_empty() || of.areas.is_empty() {
            return Ok(Vec::new());
        }
        let area = of.area();
        cut(lines, rings, self.stop, |at, is_on| is_on || area.coordinate_position(&at) != CoordPos::Outside)
    }

    /// The parts of lines that do not lie on others.
    fn off(&self, lines: &[LineString<f64>], others: &[Line<f64>]) -> Result<Vec<LineString<f64>>> {
        match lines.is_empty() || others.is_empty() {
            true => Ok(lines.to_vec()),
            false => cut(lines, others, self.stop, |_, is_on| !is_on),
        }
    }

    /// Of lines on the rings of both shapes, the parts that are not part of the area that these have in common.
    fn uncovered_lines(
        &self,
        lines: Vec<LineString<f64>>,
        areas: &[geo::Polygon<f64>],
    ) -> Result<Vec<LineString<f64>>> {
        let area = MultiPolygon(areas.to_vec());
        let rings = of_lines(Pieces { areas: areas.to_vec(), ..Pieces::default() }.rings());
        let near = self.near;
        cut(&lines, &rings, self.stop, |at, is_on| {
            !is_on
                && area.coordinate_position(&at) == CoordPos::Outside
                && !rings.iter().any(|ring| distance(at, ring) <= near)
        })
    }

    /// The points that do not lie in or on lines and areas, nor on points, each once.
    fn uncovered(&self, mut points: Vec<Coord<f64>>, by: &Pieces) -> Result<Vec<Coord<f64>>> {
        dedup(&mut points, self.near);
        let area = by.area();
        let mut covered = Vec::with_capacity(points.len());
        for at in &points {
            if (self.stop)() {
                return Err(Failure::Interrupted);
            }
            covered.push(area.coordinate_position(at) != CoordPos::Outside);
        }
        // A point is covered by another as by a segment from there to there.
        let mut segments: Vec<Line<f64>> = by.points.iter().map(|at| Line::new(*at, *at)).collect();
        segments.extend(of_lines(&by.lines));
        segments.extend(of_lines(by.rings()));
        let near = self.near;
        let places: Vec<Line<f64>> = points
            .iter()
            .map(|at| Line::new(Coord { x: at.x - near, y: at.y - near }, Coord { x: at.x + near, y: at.y + near }))
            .collect();
        pairs(&places, &segments, self.stop, |place, segment| {
            covered[place] |= distance(points[place], &segments[segment]) <= near;
            ControlFlow::Continue(())
        })?;
        let mut covered = covered.into_iter();
        points.retain(|_| covered.next() == Some(false));
        Ok(points)
    }
}

/// Leaves one of points at one place.
fn dedup(points: &mut Vec<Coord<f64>>, near: f64) {
    let mut kept: Vec<Coord<f64>> = Vec::with_capacity(points.len());
    points.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
    for at in points.drain(..) {
        let is_known = kept
            .iter()
            .rev()
            .take_while(|known| at.x - known.x <= near)
            .any(|known| (known.x - at.x).hypot(known.y - at.y) <= near);
        if !is_known {
            kept.push(at);
        }
    }
    *points = kept;
}
