//! How large shapes may be for what is computed by `geo` in one go, which does not ask whether to stop.
//!
//! Its time and memory grow with the points, and with the places where segments meet, of which there may be as many as
//! the segments of one shape times those of the other. Both are counted before.

use std::ops::ControlFlow;

use geo::Line;

use super::segments::{of_lines, pairs};
use super::{Failure, Pieces, Result, Stop};

/// Points of both shapes together.
pub const POINTS_MAX: usize = 1 << 19;
/// Pairs of segments whose bounding boxes meet.
pub const MEETINGS_MAX: usize = 1 << 21;
/// A shape of so few points has surroundings of any width.
const FEW_POINTS: usize = 1 << 12;
/// Comparisons of each point with each of the other shape.
const COMPARISONS_MAX: usize = 1 << 30;

fn segments(pieces: &Pieces) -> Vec<Line<f64>> {
    let mut segments = of_lines(&pieces.lines);
    segments.extend(of_lines(pieces.rings()));
    segments
}

/// Two shapes that are related or combined.
pub fn check(one: &Pieces, other: &Pieces, stop: Stop<'_>) -> Result<()> {
    match one.point_count().saturating_add(other.point_count()) > POINTS_MAX {
        true => Err(Failure::TooLarge),
        false => check_meetings(&segments(one), &segments(other), stop),
    }
}

/// A shape whose surroundings within a distance are computed.
pub fn check_self(pieces: &Pieces, distance: f64, stop: Stop<'_>) -> Result<()> {
    match pieces.point_count() {
        0..=FEW_POINTS => return Ok(()),
        count if count > POINTS_MAX => return Err(Failure::TooLarge),
        _ => {}
    }
    let points = pieces.points.iter().map(|at| Line::new(*at, *at));
    let boxes: Vec<Line<f64>> = segments(pieces)
        .into_iter()
        .chain(points)
        .map(|line| {
            let (low, high) = (
                geo::Coord { x: line.start.x.min(line.end.x), y: line.start.y.min(line.end.y) },
                geo::Coord { x: line.start.x.max(line.end.x), y: line.start.y.max(line.end.y) },
            );
            Line::new(low - geo::Coord::from((distance, distance)), high + geo::Coord::from((distance, distance)))
        })
        .collect();
    check_meetings(&boxes, &boxes, stop)
}

fn check_meetings(left: &[Line<f64>], right: &[Line<f64>], stop: Stop<'_>) -> Result<()> {
    let mut count = 0;
    pairs(left, right, stop, |_, _| {
        count += 1;
        if count > MEETINGS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if count > MEETINGS_MAX { Err(Failure::TooLarge) } else { Ok(()) }
}

/// Two shapes of which each point is compared with each of the other.
pub fn check_product(points: usize, others: usize) -> Result<()> {
    if points.saturating_mul(others) > COMPARISONS_MAX { Err(Failure::TooLarge) } else { Ok(()) }
}
