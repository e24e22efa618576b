//! Shapes of the globe as shapes of a plane that lie to each other in the same way.
//!
//! The plane is the map of longitudes and latitudes, cut along a meridian that neither shape comes to. A geodesic is a curve
//! there, unless it runs along a meridian or the equator, and becomes a line of so many points that it is nowhere farther
//! from the curve than [`DEVIATION`], or [`DEVIATION_OF_LENGTH`] of what it reaches over. The points of an edge do not depend on which way it runs, so that edges which are
//! the same stay so.
//!
//! At a pole all longitudes meet, which no such map shows: shapes that reach one, or all around the globe, are refused.

use format::value::Shape;
use geo::{Coord, GeometryCollection, Line, LineString, MultiLineString, MultiPolygon, Point, Polygon};

use super::{Failure, Globe, Result, from_west};
use crate::plane::{self, POINTS_MAX, Pieces, Stop};

/// In degrees: about a centimetre.
const DEVIATION: f64 = 1e-7;
/// As a part of the degrees between the ends of an edge: the directions of MySQL's geodesics are no more exact.
const DEVIATION_OF_LENGTH: f64 = 1e-6;
/// An edge is divided in two at most so often.
const DIVISIONS_MAX: u32 = 18;

/// A map.
pub struct Chart<'g> {
    globe: &'g Globe,
    /// Longitudes below this one are at the eastern end.
    cut: f64,
    stop: Stop<'g>,
}

impl<'g> Chart<'g> {
    /// One that has both shapes.
    pub fn of(globe: &'g Globe, shapes: &[&Pieces], stop: Stop<'g>) -> Result<Chart<'g>> {
        // From where to where edges reach, and points are.
        let mut covered: Vec<(f64, f64)> = Vec::new();
        let mut cover = |west: f64, longitudes: f64| {
            let east = west + longitudes;
            covered.push((west, east.min(180.0)));
            if east > 180.0 {
                covered.push((-180.0, east - 360.0));
            }
        };
        for pieces in shapes {
            for at in &pieces.points {
                cover(at.x, 0.0);
            }
            for ring in pieces.rings() {
                if globe.encloses_north_pole(ring)? {
                    return Err(Failure::AroundTheGlobe);
                }
            }
            for line in pieces.lines.iter().chain(pieces.rings()) {
                if line.0.iter().any(|at| at.y.abs() == 90.0) {
                    return Err(Failure::AroundTheGlobe);
                }
                for edge in line.lines() {
                    let (west, _, longitudes) = from_west(edge)?;
                    cover(west.x, longitudes);
                }
            }
            if pieces.points.iter().any(|at| at.y.abs() == 90.0) {
                return Err(Failure::AroundTheGlobe);
            }
        }
        Ok(Chart { globe, cut: cut(covered).ok_or(Failure::AroundTheGlobe)?, stop })
    }

    /// A shape on the map.
    pub fn draw(&self, shape: &Shape<f64>) -> Result<Shape<f64>> {
        self.draw_part(shape, &mut 0)
    }

    fn draw_part(&self, shape: &Shape<f64>, count: &mut usize) -> Result<Shape<f64>> {
        Ok(match shape {
            Shape::Point(at) => Shape::Point(Point(self.place(at.0))),
            Shape::MultiPoint(points) => Shape::MultiPoint(points.0.iter().map(|at| Point(self.place(at.0))).collect()),
            Shape::LineString(line) => Shape::LineString(self.line(line, count)?),
            Shape::MultiLineString(lines) => {
                let lines = lines.0.iter().map(|line| self.line(line, count)).collect::<Result<_>>()?;
                Shape::MultiLineString(MultiLineString(lines))
            }
            Shape::Polygon(area) => Shape::Polygon(self.area(area, count)?),
            Shape::MultiPolygon(areas) => {
                let areas = areas.0.iter().map(|area| self.area(area, count)).collect::<Result<_>>()?;
                Shape::MultiPolygon(MultiPolygon(areas))
            }
            Shape::GeometryCollection(parts) => {
                let parts = parts.0.iter().map(|part| self.draw_part(part, count)).collect::<Result<_>>()?;
                Shape::GeometryCollection(GeometryCollection(parts))
            }
            // Geometries are not made of these.
            Shape::Line(_) | Shape::Rect(_) | Shape::Triangle(_) => return Err(plane::Failure::Invalid.into()),
        })
    }

    fn area(&self, area: &Polygon<f64>, count: &mut usize) -> Result<Polygon<f64>> {
        let holes = area.interiors().iter().map(|hole| self.line(hole, count)).collect::<Result<_>>()?;
        Ok(Polygon::new(self.line(area.exterior(), count)?, holes))
    }

    fn place(&self, at: Coord<f64>) -> Coord<f64> {
        Coord { x: if at.x < self.cut { at.x + 360.0 } else { at.x }, y: at.y }
    }

    fn line(&self, line: &LineString<f64>, count: &mut usize) -> Result<LineString<f64>> {
        let mut drawn: Vec<Coord<f64>> = line.0.first().map(|at| self.place(*at)).into_iter().collect();
        for edge in line.lines() {
            if (self.stop)() {
                return Err(plane::Failure::Interrupted.into());
            }
            let Line { start, end } = edge;
            let is_turned = (start.x, start.y) > (end.x, end.y);
            let (from, to) = if is_turned { (end, start) } else { (start, end) };
            let mut between = Vec::new();
            if from.x != to.x && (from.y != 0.0 || to.y != 0.0) {
                self.divide(from, to, &mut between, count)?;
            }
            if is_turned {
                between.reverse();
            }
            drawn.extend(between);
            drawn.push(self.place(end));
        }
        Ok(LineString(drawn))
    }

    /// The places between the ends of an edge that the line needs.
    fn divide(&self, from: Coord<f64>, to: Coord<f64>, places: &mut Vec<Coord<f64>>, count: &mut usize) -> Result<()> {
        let way = self.globe.course(from, to);
        let at = |part: f64| self.place(self.globe.destination(from, way.begins, way.distance * part));
        let (start, end) = (self.place(from), self.place(to));
        let bend_max = DEVIATION.max(DEVIATION_OF_LENGTH * (start.x - end.x).abs().max((start.y - end.y).abs()));
        // Parts of the way by the numbers of their ends: how far the curve leaves a straight line in between, at three places,
        // since one that crosses the equator is on it in the middle.
        let mut parts = vec![(0.0, 1.0, start, end, 0)];
        while let Some((low, high, start, end, divisions)) = parts.pop() {
            let middle = (low + high) / 2.0;
            let bend = [(3.0 * low + high) / 4.0, middle, (low + 3.0 * high) / 4.0]
                .into_iter()
                .map(|part| plane::distance_to_segment(at(part), &Line::new(start, end)))
                .fold(0.0, f64::max);
            if bend <= bend_max {
                places.push(end);
                continue;
            }
            *count += 1;
            if *count > POINTS_MAX || divisions >= DIVISIONS_MAX {
                return Err(plane::Failure::TooLarge.into());
            }
            if count.is_multiple_of(1 << 10) && (self.stop)() {
                return Err(plane::Failure::Interrupted.into());
            }
            let between = at(middle);
            parts.push((middle, high, between, end, divisions + 1));
            parts.push((low, middle, start, between, divisions + 1));
        }
        // The end itself is no place between.
        places.pop();
        Ok(())
    }
}

/// A longitude that is in none of the stretches; the one where the map ends anyway if it can be.
fn cut(mut covered: Vec<(f64, f64)>) -> Option<f64> {
    covered.sort_by(|one, other| one.0.total_cmp(&other.0));
    let crosses = |(west, _): &(f64, f64)| *west == -180.0;
    if !covered.iter().any(crosses) {
        return Some(-180.0);
    }
    let mut reached = -180.0_f64;
    let mut widest: Option<(f64, f64)> = None;
    for (west, east) in covered.into_iter().chain([(180.0, 180.0)]) {
        let gap = west - reached;
        if gap > 0.0 && widest.is_none_or(|(_, width)| gap > width) {
            widest = Some((reached, gap));
        }
        reached = reached.max(east);
    }
    widest.map(|(east, gap)| east + gap / 2.0)
}
