//! Whether lines cross or touch themselves, and boundaries.

use std::ops::ControlFlow;

use format::value::Shape;
use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{Coord, LineString};

use super::relation::{Relation, holds};
use super::segments::{of_lines, pairs};
use super::{Pieces, Result, Stop};

/// Points are simple if no two are the same; lines if they meet in ends only, and each passes no place twice but that
/// where it closes; areas if no ring has a point twice in a row; and collections if their parts are, and have at most
/// places of their boundaries in common.
pub fn is_simple(shape: &Shape<f64>, stop: Stop<'_>) -> Result<bool> {
    let pieces = match shape {
        Shape::GeometryCollection(parts) => {
            for (at, part) in parts.0.iter().enumerate() {
                if !is_simple(part, stop)? {
                    return Ok(false);
                }
                for other in &parts.0[..at] {
                    let is_apart = holds(part, other, Relation::Disjoint, stop)? != Some(false);
                    if !is_apart && holds(part, other, Relation::Touches, stop)? != Some(true) {
                        return Ok(false);
                    }
                }
            }
            return Ok(true);
        }
        shape => Pieces::of(shape),
    };
    let has_twice = |line: &LineString<f64>| line.0.windows(2).any(|pair| pair[0] == pair[1]);
    if pieces.lines.iter().chain(pieces.rings()).any(has_twice) {
        return Ok(false);
    }
    let mut points: Vec<(u64, u64)> = pieces.points.iter().map(|at| bits(*at)).collect();
    points.sort_unstable();
    if points.windows(2).any(|pair| pair[0] == pair[1]) {
        return Ok(false);
    }
    lines_are_simple(&pieces.lines, stop)
}

/// A coordinate as something that has an order; both zeros are one.
fn bits(at: Coord<f64>) -> (u64, u64) {
    ((at.x + 0.0).to_bits(), (at.y + 0.0).to_bits())
}

/// A segment's line, its place there, and how many the line has.
type Place = (usize, usize, usize);

fn lines_are_simple(lines: &[LineString<f64>], stop: Stop<'_>) -> Result<bool> {
    let each: Vec<Vec<geo::Line<f64>>> = lines.iter().map(|line| of_lines([line])).collect();
    let places: Vec<Place> = each
        .iter()
        .enumerate()
        .flat_map(|(line, segments)| (0..segments.len()).map(move |at| (line, at, segments.len())))
        .collect();
    let segments: Vec<geo::Line<f64>> = each.concat();
    let mut simple = true;
    pairs(&segments, &segments, stop, |one, other| {
        if one >= other {
            return ControlFlow::Continue(());
        }
        let allowed = match line_intersection(segments[one], segments[other]) {
            None => true,
            Some(LineIntersection::Collinear { .. }) => false,
            Some(LineIntersection::SinglePoint { intersection, .. }) => {
                may_meet(places[one], places[other], intersection, lines)
            }
        };
        simple &= allowed;
        if allowed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(simple)
}

/// Whether two segments may meet at a place: neighbours of a line, its two ends if it is closed, or ends of two lines.
fn may_meet(one: Place, other: Place, at: Coord<f64>, lines: &[LineString<f64>]) -> bool {
    let is_end = |place: Place| {
        let line = &lines[place.0].0;
        line.first() == Some(&at) || line.last() == Some(&at)
    };
    if one.0 != other.0 {
        return is_end(one) && is_end(other) && !lines[one.0].is_closed() && !lines[other.0].is_closed();
    }
    let (first, last) = (one.1.min(other.1), one.1.max(other.1));
    last - first == 1 || first == 0 && last + 1 == one.2 && lines[one.0].is_closed() && is_end(one)
}

/// The ends of lines that are the end of an odd number of them, and the rings of areas; of a point nothing.
pub fn boundary(shape: &Shape<f64>) -> Shape<f64> {
    let pieces = Pieces::of(shape);
    let mut ends: Vec<Coord<f64>> =
        pieces.lines.iter().flat_map(|line| [line.0.first(), line.0.last()]).flatten().copied().collect();
    ends.sort_by_key(|at| bits(*at));
    let odd = ends.chunk_by(|one, other| one == other).filter(|same| same.len() % 2 == 1);
    let mut points: Vec<Coord<f64>> = odd.map(|same| same[0]).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
    Pieces { points, lines: pieces.rings().cloned().collect(), areas: Vec::new() }.into_shape()
}
