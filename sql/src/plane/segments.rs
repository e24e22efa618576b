//! Segments, and which of two sets of them meet.

use std::ops::ControlFlow;

use geo::{Coord, Line, LineString};

use super::{Failure, Result, Stop};

/// So many comparisons go by between two questions whether to stop.
const STEPS_PER_QUESTION: usize = 1 << 14;

/// The segments of lines, those without length left out.
pub fn of_lines<'l>(lines: impl IntoIterator<Item = &'l LineString<f64>>) -> Vec<Line<f64>> {
    lines.into_iter().flat_map(LineString::lines).filter(|line| line.start != line.end).collect()
}

/// Calls `visit` with the numbers of all pairs of segments whose bounding boxes meet: one of `left`, one of `right`.
pub fn pairs(
    left: &[Line<f64>],
    right: &[Line<f64>],
    stop: Stop<'_>,
    mut visit: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<()> {
    // Both in the order of their left ends. Each segment is compared with those of the other set that begin before it
    // ends, from the place that the other set has come to.
    let order = |lines: &[Line<f64>]| {
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|one, other| {
            low(lines[*one].start.x, lines[*one].end.x).total_cmp(&low(lines[*other].start.x, lines[*other].end.x))
        });
        order
    };
    let (left_order, right_order) = (order(left), order(right));
    let (mut left_at, mut right_at) = (0, 0);
    let mut steps = 0;
    while left_at < left_order.len() && right_at < right_order.len() {
        let (one, other) = (left_order[left_at], right_order[right_at]);
        let is_left_first = min_x(&left[one]) <= min_x(&right[other]);
        let (first, others, from) = match is_left_first {
            true => (&left[one], (&right_order, right), right_at),
            false => (&right[other], (&left_order, left), left_at),
        };
        let end = max_x(first);
        for &next in &others.0[from..] {
            steps += 1;
            if steps % STEPS_PER_QUESTION == 0 && stop() {
                return Err(Failure::Interrupted);
            }
            let candidate = &others.1[next];
            if min_x(candidate) > end {
                break;
            }
            if min_y(candidate) > max_y(first) || max_y(candidate) < min_y(first) {
                continue;
            }
            let flow = if is_left_first { visit(one, next) } else { visit(next, other) };
            if flow.is_break() {
                return Ok(());
            }
        }
        match is_left_first {
            true => left_at += 1,
            false => right_at += 1,
        }
    }
    Ok(())
}

fn low(one: f64, other: f64) -> f64 {
    one.min(other)
}

fn min_x(line: &Line<f64>) -> f64 {
    low(line.start.x, line.end.x)
}

fn max_x(line: &Line<f64>) -> f64 {
    line.start.x.max(line.end.x)
}

fn min_y(line: &Line<f64>) -> f64 {
    low(line.start.y, line.end.y)
}

fn max_y(line: &Line<f64>) -> f64 {
    line.start.y.max(line.end.y)
}

/// How far a point is from a segment.
pub fn distance(at: Coord<f64>, line: &Line<f64>) -> f64 {
    let (dx, dy) = (line.end.x - line.start.x, line.end.y - line.start.y);
    let squared = dx * dx + dy * dy;
    let along = if squared > 0.0 {
        (((at.x - line.start.x) * dx + (at.y - line.start.y) * dy) / squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (at.x - line.start.x - along * dx).hypot(at.y - line.start.y - along * dy)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn every_pair_that_meets_is_visited_once() {
        let mut random = StdRng::seed_from_u64(7);
        for _ in 0..200 {
            let mut lines = |count: usize| -> Vec<Line<f64>> {
                let mut coordinate =
                    || Coord { x: random.random_range(0..12).into(), y: random.random_range(0..12).into() };
                (0..count).map(|_| Line::new(coordinate(), coordinate())).collect()
            };
            let (left, right) = (lines(9), lines(7));
            let mut found = Vec::new();
            pairs(&left, &right, &|| false, |one, other| {
                found.push((one, other));
                ControlFlow::Continue(())
            })
            .unwrap();
            found.sort_unstable();
            let mut expected = Vec::new();
            for (one, a) in left.iter().enumerate() {
                for (other, b) in right.iter().enumerate() {
                    let apart = |a_min: f64, a_max: f64, b_min: f64, b_max: f64| a_max < b_min || b_max < a_min;
                    if !apart(min_x(a), max_x(a), min_x(b), max_x(b)) && !apart(min_y(a), max_y(a), min_y(b), max_y(b))
                    {
                        expected.push((one, other));
                    }
                }
            }
            assert_eq!(found, expected);
        }
    }
}
