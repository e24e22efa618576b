//! How two shapes lie to each other.
//!
//! Points are compared with points, lines and areas place by place, see [`position`](super::position). All else is related on
//! a map, see [`chart`](super::chart), by the relations of the plane.

use format::value::Shape;
use geo::Coord;
use geo::coordinate_position::CoordPos;

use super::chart::Chart;
use super::{Globe, Result};
use crate::plane::{self, Pieces, Places, Relation, Stop};

/// In degrees: what a rectangle may be wrong by.
const APART: f64 = 1e-7;

impl Globe {
    /// Whether two shapes lie so. None: the relation is not defined for such shapes.
    pub fn holds(
        &self,
        one: &Shape<f64>,
        other: &Shape<f64>,
        relation: Relation,
        stop: Stop<'_>,
    ) -> Result<Option<bool>> {
        let (left, right) = (Pieces::of(one), Pieces::of(other));
        if !relation.is_defined(&left, &right) {
            return Ok(None);
        }
        let places = match self.places(&left, &right, stop)? {
            Some(places) => Some((places, true)),
            None => self.places(&right, &left, stop)?.map(|places| (places, false)),
        };
        if let Some((places, is_first)) = places {
            return Ok(Some(relation.is_of(&places, is_first)));
        }
        if left.dimension() == 0 && right.dimension() == 0 {
            return Ok(plane::holds(&settled(&left), &settled(&right), relation, stop)?);
        }
        if !left.is_empty() && !right.is_empty() && self.are_apart(one, other)? {
            return Ok(Some(relation == Relation::Disjoint));
        }
        let chart = Chart::of(self, &[&left, &right], stop)?;
        Ok(plane::holds(&chart.draw(one)?, &chart.draw(other)?, relation, stop)?)
    }

    /// Whether the rectangles around two shapes have no place in common: the common case, which needs no map.
    fn are_apart(&self, one: &Shape<f64>, other: &Shape<f64>) -> Result<bool> {
        let (left, right) = self.extent(one)?.in_plane(&self.extent(other)?);
        let (one, other) = (left.min() - right.max(), right.min() - left.max());
        Ok([one.x, one.y, other.x, other.y].into_iter().any(|gap| gap > APART))
    }

    /// Where points lie that are compared with lines alone, or with areas alone.
    fn places(&self, points: &Pieces, shape: &Pieces, stop: Stop<'_>) -> Result<Option<Places>> {
        if points.dimension() != 0 || shape.dimension() == 0 || shape.is_mixed() {
            return Ok(None);
        }
        let mut places = Places { inside: false, boundary: false, outside: false };
        for at in &points.points {
            let position = match shape.areas.is_empty() {
                true => self.position_on_lines(*at, &shape.lines, stop)?,
                false => self.position_in_areas(*at, &shape.areas, stop)?,
            };
            match position {
                CoordPos::Inside => places.inside = true,
                CoordPos::OnBoundary => places.boundary = true,
                CoordPos::Outside => places.outside = true,
            }
        }
        Ok(Some(places))
    }

    /// Whether they have a place in common.
    pub(super) fn meet(&self, left: &Pieces, right: &Pieces, stop: Stop<'_>) -> Result<bool> {
        for (points, others) in [(left, right), (right, left)] {
            for at in &points.points {
                if self.is_at(*at, others, stop)? {
                    return Ok(true);
                }
            }
        }
        let (left, right) = (without_points(left), without_points(right));
        if left.is_empty() || right.is_empty() {
            return Ok(false);
        }
        let chart = Chart::of(self, &[&left, &right], stop)?;
        let (left, right) = (chart.draw(&left.into_shape())?, chart.draw(&right.into_shape())?);
        let meets = plane::holds(&left, &right, Relation::Intersects, stop)?;
        Ok(meets == Some(true))
    }

    /// Whether the areas of a shape are valid.
    pub fn has_valid_areas(&self, shape: &Shape<f64>, stop: Stop<'_>) -> Result<bool> {
        if Pieces::of(shape).areas.is_empty() {
            return Ok(true);
        }
        Ok(plane::has_valid_areas(&self.drawn(shape, stop)?, stop)?)
    }

    pub fn is_simple(&self, shape: &Shape<f64>, stop: Stop<'_>) -> Result<bool> {
        let drawn = self.drawn(shape, stop)?;
        Ok(plane::is_simple(&drawn, stop)?)
    }

    fn drawn(&self, shape: &Shape<f64>, stop: Stop<'_>) -> Result<Shape<f64>> {
        let pieces = Pieces::of(shape);
        if pieces.dimension() == 0 {
            return Ok(settled(&pieces));
        }
        Chart::of(self, &[&pieces], stop)?.draw(shape)
    }
}

fn settled(points: &Pieces) -> Shape<f64> {
    let points: Vec<Coord<f64>> = points.points.iter().map(|at| Globe::settled(*at)).collect();
    Pieces { points, ..Pieces::default() }.into_shape()
}

fn without_points(pieces: &Pieces) -> Pieces {
    Pieces { points: Vec::new(), ..pieces.clone() }
}

#[cfg(test)]
mod tests {
    use geo::{LineString, Point, Polygon};
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    const GO_ON: Stop<'static> = &|| false;

    /// Triangles and quadrangles anywhere, some of them across the end of the map, with sides of up to 40 degrees.
    fn area(random: &mut StdRng) -> Polygon<f64> {
        let centre = Coord { x: random.random_range(-180.0..180.0_f64), y: random.random_range(-60.0..60.0_f64) };
        let corners = random.random_range(3..6);
        let mut ring: Vec<Coord<f64>> = (0..corners)
            .map(|corner| {
                let angle = std::f64::consts::TAU * f64::from(corner) / f64::from(corners);
                let reach = random.random_range(1.0..20.0);
                let x = centre.x + reach * angle.cos();
                let x = if x > 180.0 {
                    x - 360.0
                } else if x <= -180.0 {
                    x + 360.0
                } else {
                    x
                };
                Coord { x, y: centre.y + reach * angle.sin() }
            })
            .collect();
        ring.push(ring[0]);
        Polygon::new(LineString(ring), Vec::new())
    }

    fn place_near(area: &Polygon<f64>, random: &mut StdRng) -> Coord<f64> {
        let corner = area.exterior().0[0];
        let x = corner.x + random.random_range(-20.0..20.0);
        let x = if x > 180.0 {
            x - 360.0
        } else if x <= -180.0 {
            x + 360.0
        } else {
            x
        };
        Coord { x, y: (corner.y + random.random_range(-20.0..20.0)).clamp(-85.0, 85.0) }
    }

    #[test]
    fn places_and_maps_tell_the_same() {
        let globe = Globe::new(6_378_137.0, 298.257223563);
        let mut random = StdRng::seed_from_u64(11);
        let mut inside = 0;
        for _ in 0..600 {
            let area = area(&mut random);
            let at = Shape::Point(Point(place_near(&area, &mut random)));
            let area = Shape::Polygon(area);
            let by_place = globe.holds(&area, &at, Relation::Contains, GO_ON);
            let chart = Chart::of(&globe, &[&Pieces::of(&area), &Pieces::of(&at)], GO_ON).unwrap();
            let by_map =
                plane::holds(&chart.draw(&area).unwrap(), &chart.draw(&at).unwrap(), Relation::Contains, GO_ON);
            assert_eq!(by_place, by_map.map_err(Into::into), "{area:?} {at:?}");
            inside += usize::from(by_place == Ok(Some(true)));
        }
        assert!(inside > 20, "{inside}");
    }

    #[test]
    fn distances_are_those_of_many_places() {
        let globe = Globe::new(6_378_137.0, 298.257223563);
        let mut random = StdRng::seed_from_u64(12);
        for _ in 0..100 {
            let edge = |random: &mut StdRng| {
                let mut place = || Coord { x: random.random_range(-60.0..60.0), y: random.random_range(-80.0..80.0) };
                LineString(vec![place(), place()])
            };
            let (one, other) = (edge(&mut random), edge(&mut random));
            let computed = globe
                .distance_of_shapes(&Shape::LineString(one.clone()), &Shape::LineString(other.clone()), GO_ON)
                .unwrap();
            let places = |line: &LineString<f64>| -> Vec<Coord<f64>> {
                let length = globe.length(line);
                (0..=60).filter_map(|part| globe.along(line, length * f64::from(part) / 60.0)).collect()
            };
            let others = places(&other);
            let mut sampled = f64::INFINITY;
            for at in places(&one) {
                sampled = others.iter().map(|to| globe.distance(at, *to)).fold(sampled, f64::min);
            }
            let step = (globe.length(&one) + globe.length(&other)) / 60.0;
            assert!(
                computed <= sampled * 1.00002 && sampled <= computed * 1.00002 + step,
                "{computed} {sampled} {one:?} {other:?}"
            );
        }
    }

    #[test]
    fn no_coordinates_are_too_much() {
        let xs = [180.0, -179.99999999999997, 0.0, -0.0, 90.0, -90.0, 1e-300, 179.0, 1e-9, 45.0];
        let ys = [90.0, -90.0, 89.99999999999999, 0.0, -0.0, 1e-300, 60.0, -60.0];
        let relations = [Relation::Equals, Relation::Touches, Relation::Crosses, Relation::Within, Relation::Overlaps];
        let mut random = StdRng::seed_from_u64(13);
        for _ in 0..1500 {
            let flattening = [0.0, 298.257223563, 300.8017][random.random_range(0..3)];
            let globe = Globe::new(6_378_137.0, flattening);
            let shape = |random: &mut StdRng| {
                let mut place =
                    || Coord { x: xs[random.random_range(0..xs.len())], y: ys[random.random_range(0..ys.len())] };
                let (a, b, c, d) = (place(), place(), place(), place());
                match random.random_range(0..4) {
                    0 => Shape::Point(Point(a)),
                    1 => Shape::LineString(LineString(vec![a, b, c])),
                    2 => Shape::Polygon(Polygon::new(LineString(vec![a, b, c, a]), Vec::new())),
                    _ => Shape::Polygon(Polygon::new(LineString(vec![a, b, c, d, a]), Vec::new())),
                }
            };
            let (one, other) = (shape(&mut random), shape(&mut random));
            for relation in relations {
                let _ = globe.holds(&one, &other, relation, GO_ON);
            }
            if let Ok(distance) = globe.distance_of_shapes(&one, &other, GO_ON) {
                assert!((0.0..=20_100_000.0).contains(&distance), "{distance} {one:?} {other:?}");
            }
            let (_, _) = (globe.has_valid_areas(&one, GO_ON), globe.is_simple(&one, GO_ON));
            if let Shape::Polygon(area) = &one {
                assert!(globe.area(area).unwrap_or(0.0).is_finite());
            }
            let _ = globe.extent(&one).and_then(|extent| Ok(extent.in_plane(&globe.extent(&other)?)));
        }
    }
}
