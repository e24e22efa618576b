//! Lines cut where they meet other lines, and the parts of them that lie where they are wanted.
//!
//! ```text
//! line       0 ------------------------------- 10
//! cutter           2 |          6 ====== 8
//! pieces     0 ----- 2 -------- 6 ------ 8 --- 10      the one from 6 to 8 lies on the cutter
//! ```
//!
//! Pieces of a segment that stay and stand side by side become one again: no corner is left where a line was cut in vain.

use std::ops::ControlFlow;

use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{Coord, Line, LineString};

use super::segments::{of_lines, pairs};
use super::{Result, Stop};

/// What a segment meets.
#[derive(Default, Clone)]
struct Meetings {
    /// Where it is cut: how far along, from 0 to 1, and at which place.
    cuts: Vec<(f64, Coord<f64>)>,
    /// From where to where it lies on a cutter.
    overlaps: Vec<(f64, f64)>,
}

/// How far along a segment a place is.
fn along(line: &Line<f64>, at: Coord<f64>) -> f64 {
    let (dx, dy) = (line.end.x - line.start.x, line.end.y - line.start.y);
    match dx.abs() >= dy.abs() {
        true => (at.x - line.start.x) / dx,
        false => (at.y - line.start.y) / dy,
    }
}

/// The parts of lines for which `keep` holds: it is asked with the middle of a part, and whether that lies on a cutter.
pub fn cut(
    lines: &[LineString<f64>],
    cutters: &[Line<f64>],
    stop: Stop<'_>,
    keep: impl Fn(Coord<f64>, bool) -> bool,
) -> Result<Vec<LineString<f64>>> {
    let segments = of_lines(lines);
    let mut meetings = vec![Meetings::default(); segments.len()];
    pairs(&segments, cutters, stop, |at, cutter| {
        let segment = &segments[at];
        match line_intersection(*segment, cutters[cutter]) {
            None => {}
            Some(LineIntersection::SinglePoint { intersection, .. }) => {
                meetings[at].cuts.push((along(segment, intersection), intersection));
            }
            Some(LineIntersection::Collinear { intersection }) => {
                let ends = [intersection.start, intersection.end].map(|end| (along(segment, end), end));
                meetings[at].cuts.extend(ends);
                meetings[at].overlaps.push((ends[0].0.min(ends[1].0), ends[0].0.max(ends[1].0)));
            }
        }
        ControlFlow::Continue(())
    })?;
    let mut kept: Vec<LineString<f64>> = Vec::new();
    for (segment, mut meetings) in segments.iter().zip(meetings) {
        meetings.cuts.extend([(0.0, segment.start), (1.0, segment.end)]);
        meetings.cuts.retain(|(along, _)| (0.0..=1.0).contains(along));
        meetings.cuts.sort_by(|one, other| one.0.total_cmp(&other.0));
        meetings.cuts.dedup_by(|later, earlier| later.1 == earlier.1 || later.0 == earlier.0);
        // The part that is being put together.
        let mut from: Option<Coord<f64>> = None;
        for pair in meetings.cuts.windows(2) {
            let ((start, start_at), (end, end_at)) = (pair[0], pair[1]);
            let middle = (start + end) / 2.0;
            let is_on = meetings.overlaps.iter().any(|(low, high)| *low <= middle && middle <= *high);
            let at = Coord { x: start_at.x / 2.0 + end_at.x / 2.0, y: start_at.y / 2.0 + end_at.y / 2.0 };
            match (keep(at, is_on), from) {
                (true, None) => from = Some(start_at),
                (false, Some(begin)) => {
                    append(&mut kept, begin, start_at);
                    from = None;
                }
                _ => {}
            }
        }
        if let Some(begin) = from {
            append(&mut kept, begin, segment.end);
        }
    }
    Ok(joined(kept))
}

/// Goes on with the last line, or begins another.
fn append(lines: &mut Vec<LineString<f64>>, from: Coord<f64>, to: Coord<f64>) {
    match lines.last_mut() {
        Some(line) if line.0.last() == Some(&from) => line.0.push(to),
        _ => lines.push(LineString(vec![from, to])),
    }
}

/// A ring that was begun in the middle of a part: the last line ends where the first begins.
fn joined(mut lines: Vec<LineString<f64>>) -> Vec<LineString<f64>> {
    let meets = |lines: &[LineString<f64>]| match lines {
        [first, .., last] => first.0.first() == last.0.last() && !first.is_closed() && !last.is_closed(),
        _ => false,
    };
    if meets(&lines)
        && let Some(mut last) = lines.pop()
    {
        last.0.extend(lines[0].0.iter().skip(1));
        lines[0] = last;
    }
    lines
}

/// The places where segments of two sets meet in a point.
pub fn meetings(left: &[Line<f64>], right: &[Line<f64>], stop: Stop<'_>) -> Result<Vec<Coord<f64>>> {
    let mut found = Vec::new();
    pairs(left, right, stop, |one, other| {
        if let Some(LineIntersection::SinglePoint { intersection, .. }) = line_intersection(left[one], right[other]) {
            found.push(intersection);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
