//! Coordinates as they were, after a computation on a grid has moved them by less than a step of it.
//!
//! A corner that is near a corner of the inputs is that corner. Another one lies where two edges of the inputs cross, and
//! is computed from these.

use std::ops::ControlFlow;

use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{Coord, Line, MultiPolygon, Polygon};

use super::segments::{distance, of_lines, pairs};
use super::{Pieces, Result, Stop};

/// Steps of the grid in the extent of the inputs; half as many as there are.
const STEPS: f64 = (1_u64 << 28) as f64;

/// Puts the corners of a result back.
pub fn snapped(result: MultiPolygon<f64>, inputs: [&Pieces; 2], stop: Stop<'_>) -> Result<MultiPolygon<f64>> {
    let edges = of_lines(inputs.iter().flat_map(|pieces| pieces.rings()));
    let mut corners: Vec<Coord<f64>> = edges.iter().map(|edge| edge.start).collect();
    let extent = |of: fn(&Coord<f64>) -> f64| {
        let (low, high) =
            corners.iter().map(of).fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    };
    let near = extent(|at| at.x).max(extent(|at| at.y)) / STEPS;
    corners.sort_by(|one, other| one.x.total_cmp(&other.x));
    let corner_near = |at: Coord<f64>| {
        let from = corners.partition_point(|corner| corner.x < at.x - near);
        let window = corners[from..].iter().take_while(|corner| corner.x <= at.x + near);
        let distance = |corner: &Coord<f64>| (corner.x - at.x).hypot(corner.y - at.y);
        window
            .filter(|corner| distance(corner) <= near)
            .min_by(|one, other| distance(one).total_cmp(&distance(other)))
            .copied()
    };
    // What is no corner, as segments that stand for a place and its surroundings.
    let mut places: Vec<Coord<f64>> = Vec::new();
    let found = Pieces { areas: result.0.clone(), ..Pieces::default() };
    for at in found.rings().flat_map(|ring| &ring.0) {
        if corner_near(*at).is_none() {
            places.push(*at);
        }
    }
    places.sort_by(|one, other| (one.x, one.y).partial_cmp(&(other.x, other.y)).unwrap_or(std::cmp::Ordering::Equal));
    places.dedup();
    let boxes: Vec<Line<f64>> = places
        .iter()
        .map(|at| Line::new(Coord { x: at.x - near, y: at.y - near }, Coord { x: at.x + near, y: at.y + near }))
        .collect();
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    pairs(&boxes, &edges, stop, |place, edge| {
        if distance(places[place], &edges[edge]) <= near {
            beside[place].push(edge);
        }
        ControlFlow::Continue(())
    })?;
    let crossing_near = |at: Coord<f64>| {
        let place = places.binary_search_by(|place| {
            (place.x, place.y).partial_cmp(&(at.x, at.y)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let beside = &beside[place.ok()?];
        let pairs =
            beside.iter().enumerate().flat_map(|(at, one)| beside[at + 1..].iter().map(move |other| (one, other)));
        pairs
            .filter_map(|(one, other)| match line_intersection(edges[*one], edges[*other])? {
                LineIntersection::SinglePoint { intersection, .. } => Some(intersection),
                LineIntersection::Collinear { .. } => None,
            })
            .find(|crossing| (crossing.x - at.x).hypot(crossing.y - at.y) <= 4.0 * near)
    };
    let moved = |at: Coord<f64>| corner_near(at).or_else(|| crossing_near(at)).unwrap_or(at);
    let ring = |ring: &geo::LineString<f64>| {
        let mut corners: Vec<Coord<f64>> = ring.0.iter().map(|at| moved(*at)).collect();
        corners.dedup();
        geo::LineString(corners)
    };
    let mut areas = Vec::with_capacity(result.0.len());
    for area in &result.0 {
        let outer = ring(area.exterior());
        // What was smaller than a step is nothing.
        if outer.0.len() < 4 {
            continue;
        }
        let holes = area.interiors().iter().map(ring).filter(|hole| hole.0.len() >= 4).collect();
        areas.push(Polygon::new(outer, holes));
    }
    Ok(MultiPolygon(areas))
}
