//! Whether areas are valid: what OGC asks of polygons and of many of them.
//!
//! * A ring passes no place twice, has an area, and no spikes.
//! * Rings touch others in single points only, and do not cross.
//! * Holes lie inside their outer ring, and not inside each other.
//! * An area of several lies outside of the others, or inside a hole of theirs.
//!
//! All segments are compared in one sweep. What it finds to touch is looked at more closely; of other rings one corner
//! tells on which side they lie.
//!
//! A query asks often about one geometry that it compares with many: each thread remembers the last areas that were
//! valid.
//!
//! Not looked at: whether holes that touch each other cut an area in two.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};

use geo::coordinate_position::{CoordPos, coord_pos_relative_to_ring};
use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{BoundingRect, CoordsIter, Line, LineString, Polygon};

use super::cut::cut;
use super::segments::{of_lines, pairs};
use super::{Failure, Result, Stop};

/// A ring of an area.
struct Ring<'s> {
    area: usize,
    is_hole: bool,
    line: &'s LineString<f64>,
}

/// Which side of a ring another one lies on; None: on both.
type Side = Option<CoordPos>;

/// Areas of so many points are worth remembering, and not too large for it.
const REMEMBERED_POINTS: RangeInclusive<usize> = 16..=16384;

thread_local! {
    /// The last areas that were valid.
    static LAST_VALID: RefCell<Vec<Polygon<f64>>> = const { RefCell::new(Vec::new()) };
}

pub fn areas_are_valid(areas: &[Polygon<f64>], stop: Stop<'_>) -> Result<bool> {
    if LAST_VALID.with_borrow(|last| last == areas) && !areas.is_empty() {
        return Ok(true);
    }
    let are_valid = areas_are_valid_by_sweep(areas, stop)?;
    let points = areas.iter().map(|area| area.coords_count()).sum();
    if are_valid && REMEMBERED_POINTS.contains(&points) {
        LAST_VALID.set(areas.to_vec());
    }
    Ok(are_valid)
}

fn areas_are_valid_by_sweep(areas: &[Polygon<f64>], stop: Stop<'_>) -> Result<bool> {
    let mut rings: Vec<Ring<'_>> = Vec::new();
    for (area, polygon) in areas.iter().enumerate() {
        rings.push(Ring { area, is_hole: false, line: polygon.exterior() });
        rings.extend(polygon.interiors().iter().map(|line| Ring { area, is_hole: true, line }));
    }
    if rings.iter().any(|ring| twice_area(ring.line) == 0.0) {
        return Ok(false);
    }
    match touching(&rings, stop)? {
        Some(touching) => sides_are_right(&rings, areas.len(), &touching, stop),
        None => Ok(false),
    }
}

fn twice_area(ring: &LineString<f64>) -> f64 {
    let from = ring.0[0];
    let sides = ring.0.windows(2).map(|pair| (pair[0] - from, pair[1] - from));
    sides.map(|(one, other)| one.x * other.y - one.y * other.x).sum()
}

/// The pairs of rings, by number, that touch in points. None: a ring crosses or covers itself or another.
fn touching(rings: &[Ring<'_>], stop: Stop<'_>) -> Result<Option<HashSet<(usize, usize)>>> {
    // A segment's ring, its place there, and how many the ring has.
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    let mut segments: Vec<Line<f64>> = Vec::new();
    for (number, ring) in rings.iter().enumerate() {
        let own = of_lines([ring.line]);
        places.extend((0..own.len()).map(|at| (number, at, own.len())));
        segments.extend(own);
    }
    let mut touching = HashSet::new();
    let mut crosses = false;
    pairs(&segments, &segments, stop, |one, other| {
        if one >= other {
            return ControlFlow::Continue(());
        }
        let ((ring, at, count), (other_ring, other_at, _)) = (places[one], places[other]);
        crosses = match line_intersection(segments[one], segments[other]) {
            None => false,
            Some(LineIntersection::Collinear { .. }) => true,
            // Neighbours meet where they join.
            Some(LineIntersection::SinglePoint { .. }) if ring == other_ring => {
                other_at - at != 1 && !(at == 0 && other_at + 1 == count)
            }
            Some(LineIntersection::SinglePoint { is_proper, .. }) => {
                touching.insert((ring, other_ring));
                is_proper
            }
        };
        if crosses { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok((!crosses).then_some(touching))
}

fn sides_are_right(
    rings: &[Ring<'_>],
    area_count: usize,
    touching: &HashSet<(usize, usize)>,
    stop: Stop<'_>,
) -> Result<bool> {
    let boxes: Vec<Line<f64>> = rings
        .iter()
        .map(|ring| {
            ring.line
                .bounding_rect()
                .map_or(Line::new(ring.line.0[0], ring.line.0[0]), |rect| Line::new(rect.min(), rect.max()))
        })
        .collect();
    // Rings apart lie outside of each other.
    let mut near: Vec<(usize, usize)> = Vec::new();
    pairs(&boxes, &boxes, stop, |one, other| {
        let is_asked =
            one < other && !(rings[one].area != rings[other].area && rings[one].is_hole && rings[other].is_hole);
        if is_asked {
            near.push((one, other));
        }
        ControlFlow::Continue(())
    })?;
    let mut holes_inside = 0;
    // Of two areas, the one that lies inside the outer ring of the other; and inside a hole of it.
    let (mut inside_area, mut inside_hole) = (HashSet::new(), HashSet::new());
    for (one, other) in near {
        if stop() {
            return Err(Failure::Interrupted);
        }
        let touches = touching.contains(&(one, other));
        let (left, right) = (&rings[one], &rings[other]);
        let sides = (side(left.line, right.line, touches, stop)?, side(right.line, left.line, touches, stop)?);
        let (Some(left_side), Some(right_side)) = sides else { return Ok(false) };
        let (left_inside, right_inside) = (left_side == CoordPos::Inside, right_side == CoordPos::Inside);
        match (left.area == right.area, left.is_hole, right.is_hole) {
            (true, true, true) if left_inside || right_inside => return Ok(false),
            // The outer ring stands before the holes.
            (true, false, true) => holes_inside += usize::from(right_inside),
            (false, false, false) if left_inside => _ = inside_area.insert((left.area, right.area)),
            (false, false, false) if right_inside => _ = inside_area.insert((right.area, left.area)),
            (false, false, true) if left_inside => _ = inside_hole.insert((left.area, right.area)),
            (false, true, false) if right_inside => _ = inside_hole.insert((right.area, left.area)),
            _ => {}
        }
    }
    Ok(holes_inside == rings.len() - area_count && inside_area.is_subset(&inside_hole))
}

/// On which side of a ring another one lies, which does not cross it inside of their segments.
fn side(ring: &LineString<f64>, of: &LineString<f64>, touches: bool, stop: Stop<'_>) -> Result<Side> {
    if !touches {
        return Ok(Some(coord_pos_relative_to_ring(ring.0[0], of)));
    }
    let others = of_lines([of]);
    let on_side = |wanted: CoordPos| {
        cut(std::slice::from_ref(ring), &others, stop, |at, _| coord_pos_relative_to_ring(at, of) == wanted)
    };
    Ok(match (on_side(CoordPos::Inside)?.is_empty(), on_side(CoordPos::Outside)?.is_empty()) {
        (true, _) => Some(CoordPos::Outside),
        (false, true) => Some(CoordPos::Inside),
        (false, false) => None,
    })
}
