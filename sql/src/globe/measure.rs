//! Lengths, areas, distances, and places along lines.

use format::value::Shape;
use geo::{Coord, CoordsIter, Line, LineString, Polygon};
use geographiclib_rs::InverseGeodesic;

use super::{Failure, Globe, NEAR, Result, eastward, turns};
use crate::plane::{self, Pieces, Stop, check_product};

/// So many cheap comparisons go by between two questions whether to stop.
const STEPS_PER_QUESTION: usize = 1 << 12;
/// Steps towards the nearest place of an edge; five are the rule.
const STEPS_MAX: usize = 60;

/// A ring, as the equator sees it.
struct Ring {
    /// How often it runs around the axis, eastward.
    turns: i32,
    /// The surface between it and the equator, in square metres.
    above_equator: f64,
}

impl Globe {
    pub fn length(&self, line: &LineString<f64>) -> f64 {
        line.lines().map(|edge| self.distance(edge.start, edge.end)).sum()
    }

    fn ring(&self, ring: &LineString<f64>) -> Ring {
        let mut above_equator = 0.0;
        for Line { start, end } in ring.lines() {
            let (_, _, _, _, _, _, area, _): (f64, f64, f64, f64, f64, f64, f64, f64) =
                self.geodesic.inverse(start.y, start.x, end.y, end.x);
            above_equator += area;
        }
        Ring { turns: turns(ring), above_equator }
    }

    fn surface(&self) -> f64 {
        self.geodesic.area()
    }

    /// What a ring encloses: the smaller part of the surface. A ring that does not run around the axis has both poles on one
    /// side; the other one must be the smaller.
    fn enclosed(&self, ring: &Ring) -> Result<f64> {
        let half = self.surface() / 2.0;
        let area = ring.above_equator.abs();
        match ring.turns {
            0 if area < half => Ok(area),
            1 | -1 => Ok(half - area),
            _ => Err(Failure::HalfTheGlobe),
        }
    }

    /// Whether the north pole is enclosed.
    pub(super) fn encloses_north_pole(&self, ring: &LineString<f64>) -> Result<bool> {
        // Most rings reach over less than half of the longitudes, and enclose neither a pole nor half of the surface.
        let (mut at, mut low, mut high) = (0.0_f64, 0.0_f64, 0.0_f64);
        for Line { start, end } in ring.lines() {
            at += eastward(start.x, end.x);
            (low, high) = (low.min(at), high.max(at));
        }
        if at.abs() < 180.0 && high - low < 179.0 {
            return Ok(false);
        }
        let ring = self.ring(ring);
        self.enclosed(&ring)?;
        Ok(ring.turns != 0 && ring.above_equator * f64::from(ring.turns) > 0.0)
    }

    /// Of the outer ring without the holes.
    pub fn area(&self, area: &Polygon<f64>) -> Result<f64> {
        let mut rest = self.enclosed(&self.ring(area.exterior()))?;
        for hole in area.interiors() {
            rest -= self.enclosed(&self.ring(hole))?;
        }
        Ok(rest)
    }

    /// The place at a distance from the start of a line. None: the line is shorter.
    pub fn along(&self, line: &LineString<f64>, distance: f64) -> Option<Coord<f64>> {
        let mut before = 0.0;
        for Line { start, end } in line.lines() {
            if distance <= before {
                return Some(start);
            }
            let length = self.distance(start, end);
            if distance < before + length {
                let course = self.course(start, end);
                let part = (distance - before) / length;
                return Some(self.destination(start, course.begins, course.distance * part));
            }
            before += length;
        }
        // The sum of lengths is rounded.
        (distance <= before * (1.0 + f64::EPSILON * 8.0)).then(|| line.0.last().copied()).flatten()
    }

    /// How far a place is from an edge, by the formula of distances.
    fn told_distance_to_edge(&self, at: Coord<f64>, edge: Line<f64>) -> f64 {
        self.distance(at, self.nearest_on_edge(at, edge).0)
    }

    /// The place of an edge that is nearest to a place, and how far it is.
    pub(super) fn nearest_on_edge(&self, at: Coord<f64>, edge: Line<f64>) -> (Coord<f64>, f64) {
        let (way, there) = (self.course(edge.start, edge.end), self.course(edge.start, at));
        if way.distance == 0.0 {
            return (edge.start, there.distance);
        }
        let back = self.course(edge.end, at);
        let is_start = there.distance <= back.distance;
        let nearest_end = if is_start { (edge.start, there.distance) } else { (edge.end, back.distance) };
        let towards = |direction: f64, of: f64| (direction - of).to_radians().cos();
        // Whoever sets out from an end comes no nearer: then the ends are nearest.
        if towards(there.begins, way.begins) <= 0.0 || towards(back.begins, way.arrives) >= 0.0 {
            return nearest_end;
        }
        // On a sphere the first step would arrive.
        let radius = self.semi_major();
        let step =
            |distance: f64, ahead: f64| radius * ((distance / radius).sin() * ahead).atan2((distance / radius).cos());
        let (mut low, mut high) = (0.0, way.distance);
        let mut along = step(there.distance, towards(there.begins, way.begins)).clamp(low, high);
        let mut nearest = nearest_end;
        for _ in 0..STEPS_MAX {
            let (place, direction) = self.follow(edge.start, way.begins, along);
            let seen = self.course(place, at);
            if seen.distance < nearest.1 {
                nearest = (place, seen.distance);
            }
            if seen.distance < NEAR / 64.0 {
                break;
            }
            let ahead = towards(seen.begins, direction);
            if ahead > 0.0 {
                low = along
            } else {
                high = along
            }
            let step = step(seen.distance, ahead);
            if step.abs() < NEAR / 64.0 {
                break;
            }
            along += step;
            if !(low..=high).contains(&along) {
                along = (low + high) / 2.0;
            }
        }
        nearest
    }

    /// The shortest way between two shapes that have points.
    pub fn distance_of_shapes(&self, one: &Shape<f64>, other: &Shape<f64>, stop: Stop<'_>) -> Result<f64> {
        check_product(one.coords_count(), other.coords_count())?;
        let (left, right) = (Pieces::of(one), Pieces::of(other));
        if self.meet(&left, &right, stop)? {
            return Ok(0.0);
        }
        let (left, right) = (self.stretches(&left), self.stretches(&right));
        // The best of those that look nearest is a bound, by which most others need not be computed.
        let mut shortest = f64::INFINITY;
        let mut nearest = None;
        let mut steps = 0;
        for (at, one) in left.iter().enumerate() {
            for (place, other) in right.iter().enumerate() {
                asked(&mut steps, stop)?;
                let least = one.least_distance(other);
                if least < shortest {
                    (shortest, nearest) = (least, Some((at, place)));
                }
            }
        }
        let Some((at, place)) = nearest else { return Ok(f64::INFINITY) };
        shortest = self.distance_of_edges(left[at].edge, right[place].edge);
        for one in &left {
            for other in &right {
                asked(&mut steps, stop)?;
                if one.least_distance(other) < shortest {
                    if stop() {
                        return Err(plane::Failure::Interrupted.into());
                    }
                    shortest = shortest.min(self.distance_of_edges(one.edge, other.edge));
                }
            }
        }
        Ok(shortest)
    }

    /// Of edges that do not cross: an end of one is nearest to the other.
    fn distance_of_edges(&self, one: Line<f64>, other: Line<f64>) -> f64 {
        if one.start == one.end && other.start == other.end {
            return self.distance(one.start, other.start);
        }
        [(one.start, other), (one.end, other), (other.start, one), (other.end, one)]
            .into_iter()
            .map(|(at, edge)| self.told_distance_to_edge(at, edge))
            .fold(f64::INFINITY, f64::min)
    }

    /// All points, edges and edges of rings; a point is an edge without length.
    fn stretches(&self, pieces: &Pieces) -> Vec<Stretch> {
        let points = pieces.points.iter().map(|at| Line::new(*at, *at));
        let lines = pieces.lines.iter().chain(pieces.rings()).flat_map(|line| line.lines().collect::<Vec<_>>());
        points.chain(lines).map(|edge| self.stretch(edge)).collect()
    }

    fn stretch(&self, edge: Line<f64>) -> Stretch {
        if edge.start == edge.end {
            return Stretch { edge, middle: self.in_space(edge.start), half: 0.0 };
        }
        let way = self.course(edge.start, edge.end);
        let middle = self.destination(edge.start, way.begins, way.distance / 2.0);
        Stretch { edge, middle: self.in_space(middle), half: way.distance / 2.0 }
    }

    /// Metres from the centre, towards longitude 0, longitude 90 and the north pole.
    fn in_space(&self, at: Coord<f64>) -> [f64; 3] {
        let ((sin_x, cos_x), (sin_y, cos_y)) = (at.x.to_radians().sin_cos(), at.y.to_radians().sin_cos());
        let (major, minor) = (self.semi_major(), self.semi_minor());
        let radius = major * major / (major * cos_y).hypot(minor * sin_y);
        [radius * cos_y * cos_x, radius * cos_y * sin_x, radius * (minor / major).powi(2) * sin_y]
    }
}

/// An edge, with what tells cheaply that it is far away.
struct Stretch {
    edge: Line<f64>,
    middle: [f64; 3],
    /// Half of its length.
    half: f64,
}

impl Stretch {
    /// A straight line through the earth is no longer than a way on its surface.
    fn least_distance(&self, other: &Stretch) -> f64 {
        let squares = (0..3).map(|axis| (self.middle[axis] - other.middle[axis]).powi(2));
        squares.sum::<f64>().sqrt() - self.half - other.half
    }
}

fn asked(steps: &mut usize, stop: Stop<'_>) -> Result<()> {
    *steps += 1;
    match (*steps).is_multiple_of(STEPS_PER_QUESTION) && stop() {
        true => Err(plane::Failure::Interrupted.into()),
        false => Ok(()),
    }
}
