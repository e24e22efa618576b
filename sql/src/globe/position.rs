//! Where a place lies to lines and areas.
//!
//! A place is on an edge if it is nearer to it than [`NEAR`]. It is inside of a ring if the meridian from it to the north
//! pole crosses the ring an odd number of times and the pole is outside, or an even number and the pole is inside:
//!
//! ```text
//!            N            The meridian crosses the edges that begin west of it, or on it, and end east of it: one that
//!            |            ends on it is the next edge's. Whether an edge passes north of the place is told by directions:
//!      A-----x----B       seen from the end that is farther away, the place is to the right or to the left of the other end.
//!            |
//!            P
//! ```

use geo::coordinate_position::CoordPos;
use geo::{Coord, Line, LineString, Polygon};

use super::{Globe, NEAR, Result, eastward, from_west, latitudes};
use crate::plane::{self, Pieces, Stop};

/// In degrees: farther apart than [`NEAR`], but next to a pole.
const NEAR_DEGREES: f64 = 1e-8;
/// Up to here a degree of longitude is long enough for that.
const POLAR: f64 = 89.9;

impl Globe {
    pub(super) fn is_on_edge(&self, at: Coord<f64>, edge: Line<f64>) -> Result<bool> {
        let (west, east, longitudes) = from_west(edge)?;
        let (low, high) = latitudes(west, east, longitudes);
        if at.y < low - NEAR_DEGREES || at.y > high + NEAR_DEGREES {
            return Ok(false);
        }
        if at.y.abs() < POLAR {
            let ahead = eastward(west.x, at.x);
            if ahead < -NEAR_DEGREES || ahead > longitudes + NEAR_DEGREES {
                return Ok(false);
            }
        }
        Ok(at == edge.start || at == edge.end || self.nearest_on_edge(at, edge).1 < NEAR)
    }

    fn is_on_line(&self, at: Coord<f64>, line: &LineString<f64>) -> Result<bool> {
        for edge in line.lines() {
            if self.is_on_edge(at, edge)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an edge that the meridian of a place crosses passes north of it. The place is not on the edge.
    fn passes_north(&self, at: Coord<f64>, west: Coord<f64>, east: Coord<f64>, longitudes: f64) -> bool {
        let (low, high) = latitudes(west, east, longitudes);
        if at.y < low {
            return true;
        }
        if at.y > high {
            return false;
        }
        // Directions eastward are in (0, 180), clockwise from north; westward in (-180, 0).
        if eastward(west.x, at.x) * 2.0 > longitudes {
            self.course(west, at).begins > self.course(west, east).begins
        } else {
            let (to_place, to_west) = (self.course(east, at).begins, self.course(east, west).begins);
            to_place < to_west
        }
    }

    fn is_in_ring(&self, at: Coord<f64>, ring: &LineString<f64>) -> Result<CoordPos> {
        if self.is_on_line(at, ring)? {
            return Ok(CoordPos::OnBoundary);
        }
        let mut is_inside = self.encloses_north_pole(ring)?;
        for edge in ring.lines() {
            let (west, east, longitudes) = from_west(edge)?;
            // Compared as they are written, so that a meridian through a corner crosses one of its edges.
            let is_crossed = match west.x <= east.x {
                true => west.x <= at.x && at.x < east.x,
                false => west.x <= at.x || at.x < east.x,
            };
            is_inside ^= is_crossed && self.passes_north(at, west, east, longitudes);
        }
        Ok(if is_inside { CoordPos::Inside } else { CoordPos::Outside })
    }

    fn position_in_area(&self, at: Coord<f64>, area: &Polygon<f64>) -> Result<CoordPos> {
        match self.is_in_ring(at, area.exterior())? {
            CoordPos::Inside => {}
            other => return Ok(other),
        }
        for hole in area.interiors() {
            match self.is_in_ring(at, hole)? {
                CoordPos::Outside => {}
                CoordPos::OnBoundary => return Ok(CoordPos::OnBoundary),
                CoordPos::Inside => return Ok(CoordPos::Outside),
            }
        }
        Ok(CoordPos::Inside)
    }

    /// Of several areas together, which do not overlap.
    pub(super) fn position_in_areas(&self, at: Coord<f64>, areas: &[Polygon<f64>], stop: Stop<'_>) -> Result<CoordPos> {
        let mut position = CoordPos::Outside;
        for area in areas {
            if stop() {
                return Err(plane::Failure::Interrupted.into());
            }
            match self.position_in_area(at, area)? {
                CoordPos::Inside => return Ok(CoordPos::Inside),
                CoordPos::OnBoundary => position = CoordPos::OnBoundary,
                CoordPos::Outside => {}
            }
        }
        Ok(position)
    }

    /// Of several lines together, whose boundary is the ends that an odd number of them have.
    pub(super) fn position_on_lines(
        &self,
        at: Coord<f64>,
        lines: &[LineString<f64>],
        stop: Stop<'_>,
    ) -> Result<CoordPos> {
        let is_here =
            |end: Option<&Coord<f64>>| end.is_some_and(|end| *end == at || self.exact_distance(*end, at) < NEAR);
        let (mut ends, mut is_on) = (0, false);
        for line in lines {
            if stop() {
                return Err(plane::Failure::Interrupted.into());
            }
            ends += usize::from(is_here(line.0.first())) + usize::from(is_here(line.0.last()));
            is_on = is_on || self.is_on_line(at, line)?;
        }
        Ok(match (ends % 2, is_on || ends > 0) {
            (1, _) => CoordPos::OnBoundary,
            (_, true) => CoordPos::Inside,
            (_, false) => CoordPos::Outside,
        })
    }

    /// The same place at one longitude: at a pole all are one.
    pub(super) fn settled(at: Coord<f64>) -> Coord<f64> {
        if at.y.abs() == 90.0 { Coord { x: 0.0, y: at.y } } else { at }
    }

    /// Where a place lies to points, lines or areas, or to a collection of them.
    pub(super) fn is_at(&self, at: Coord<f64>, of: &Pieces, stop: Stop<'_>) -> Result<bool> {
        let at_point = |point: &Coord<f64>| Globe::settled(*point) == Globe::settled(at);
        Ok(of.points.iter().any(at_point)
            || self.position_on_lines(at, &of.lines, stop)? != CoordPos::Outside
            || self.position_in_areas(at, &of.areas, stop)? != CoordPos::Outside)
    }
}
