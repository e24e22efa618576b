//! From where to where shapes reach: the rectangle of longitudes and latitudes around them.

use format::value::Shape;
use geo::{Coord, Rect};

use super::{Globe, Result, from_west};
use crate::plane::Pieces;

/// A rectangle between two meridians and two parallels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    pub west: f64,
    /// Beyond 180 if it reaches over the end of the map.
    pub east: f64,
    pub south: f64,
    pub north: f64,
}

impl Globe {
    /// Of a shape that has points. Of several stretches of longitude it has the widest gap outside.
    pub fn extent(&self, shape: &Shape<f64>) -> Result<Extent> {
        let pieces = Pieces::of(shape);
        let latitudes = |pieces: &Pieces| {
            let corners = pieces.lines.iter().chain(pieces.rings()).flat_map(|line| line.0.iter());
            let all = corners.chain(&pieces.points).map(|at| at.y);
            all.fold((90.0_f64, -90.0_f64), |(low, high), y| (low.min(y), high.max(y)))
        };
        let (mut south, mut north) = latitudes(&pieces);
        for line in pieces.lines.iter().chain(pieces.rings()) {
            for edge in line.lines() {
                let (west, east, _) = from_west(edge)?;
                if let Some(farthest) = self.farthest_latitude(west, east) {
                    (south, north) = (south.min(farthest), north.max(farthest));
                }
            }
        }
        for area in &pieces.areas {
            let reaches_north = self.encloses_north_pole(area.exterior())?;
            let is_around = super::turns(area.exterior()) != 0;
            if reaches_north {
                north = 90.0;
            } else if is_around {
                south = -90.0;
            }
            if is_around {
                break;
            }
        }
        let (west, east) = longitudes(shape).unwrap_or(ALL);
        Ok(Extent { west, east, south, north })
    }

    /// The latitude at which a geodesic is nearest to a pole, if that is between its ends: where it runs due east. The
    /// product of the cosine of the (reduced) latitude and the sine of the direction is the same everywhere on it.
    fn farthest_latitude(&self, west: Coord<f64>, east: Coord<f64>) -> Option<f64> {
        let way = self.course(west, east);
        let (begins, arrives) = (way.begins.to_radians().cos(), way.arrives.to_radians().cos());
        if way.distance == 0.0 || begins * arrives >= 0.0 {
            return None;
        }
        let shrunk = 1.0 - self.flattening;
        let reduced = (shrunk * west.y.to_radians().tan()).atan();
        let farthest = (reduced.cos() * way.begins.to_radians().sin().abs()).clamp(0.0, 1.0).acos();
        let latitude = (farthest.tan() / shrunk).atan().to_degrees();
        Some(if begins > 0.0 { latitude } else { -latitude })
    }
}

/// From the west to the east of a map, all around.
const ALL: (f64, f64) = (-180.0, 180.0);

/// From which longitude to which a shape reaches on any ellipsoid, the latter beyond 180 if it reaches over the end of the map;
/// [`ALL`] also where it is not known. None: it has no points.
pub fn longitudes(shape: &Shape<f64>) -> Option<(f64, f64)> {
    let pieces = Pieces::of(shape);
    let mut stretches: Vec<(f64, f64)> = pieces.points.iter().map(|at| (at.x, at.x)).collect();
    for line in pieces.lines.iter().chain(pieces.rings()) {
        for edge in line.lines() {
            let Ok((west, east, _)) = from_west(edge) else { return Some(ALL) };
            stretches.push((west.x, if west.x <= east.x { east.x } else { east.x + 360.0 }));
        }
    }
    if pieces.rings().any(|ring| super::turns(ring) != 0) {
        return Some(ALL);
    }
    around(stretches)
}

/// The shortest stretch that has all the stretches in it.
fn around(mut stretches: Vec<(f64, f64)>) -> Option<(f64, f64)> {
    stretches.sort_by(|one, other| one.0.total_cmp(&other.0));
    let farthest = stretches.iter().map(|(_, east)| *east).reduce(f64::max)?;
    // Between what has been reached and where the next one begins is a gap; the first one lies across the end of the map.
    let mut reached = farthest - 360.0;
    let mut widest = 0.0;
    let mut all = ALL;
    for (west, east) in stretches {
        if west - reached > widest {
            widest = west - reached;
            // The first gap leaves everything in its place.
            all = (west, if reached == farthest - 360.0 { farthest } else { farthest.max(reached + 360.0) });
        }
        reached = reached.max(east);
    }
    Some(all)
}

impl Extent {
    fn is_all_around(&self) -> bool {
        self.east - self.west >= 360.0
    }

    /// Two of them as rectangles of one plane.
    pub fn in_plane(&self, other: &Extent) -> (Rect<f64>, Rect<f64>) {
        let rect = |extent: &Extent, west: f64, east: f64| {
            Rect::new(Coord { x: west, y: extent.south }, Coord { x: east, y: extent.north })
        };
        let own = |extent: &Extent| rect(extent, extent.west, extent.east);
        // What reaches all around has the other one in its middle, whose ends are none of its own.
        let around = |extent: &Extent, other: &Extent| {
            let middle = (other.west + other.east) / 2.0;
            rect(extent, middle - 180.0, middle + 180.0)
        };
        match (self.is_all_around(), other.is_all_around()) {
            (true, true) => (own(self), own(other)),
            (true, false) => (around(self, other), own(other)),
            (false, true) => (own(self), around(other, self)),
            (false, false) => {
                // The other one may have to be looked for one turn to the west or to the east, where they have most in common: if
                // they meet at both ends, neither is inside of the other.
                let common = |turn: f64| self.east.min(other.east + turn) - self.west.max(other.west + turn);
                let turn = [-360.0, 360.0].into_iter().fold(
                    0.0,
                    |best, turn| {
                        if common(turn) > common(best) { turn } else { best }
                    },
                );
                (own(self), rect(other, other.west + turn, other.east + turn))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_joined_over_the_end_of_the_map() {
        assert_eq!(around(vec![(-10.0, 5.0), (20.0, 20.0)]), Some((-10.0, 20.0)));
        assert_eq!(around(vec![(170.0, 170.0), (-170.0, -170.0)]), Some((170.0, 190.0)));
        assert_eq!(around(vec![(170.0, 195.0), (0.0, 10.0)]), Some((0.0, 195.0)));
        assert_eq!(around(vec![(170.0, 190.0), (-160.0, -150.0), (100.0, 110.0)]), Some((100.0, 210.0)));
        assert_eq!(around(vec![(-180.0, 0.0), (0.0, 180.0)]), Some(ALL));
        assert_eq!(around(Vec::new()), None);
    }

    #[test]
    fn rectangles_meet_over_the_end_of_the_map() {
        let extent = |west: f64, east: f64| Extent { west, east, south: 0.0, north: 1.0 };
        let meet = |one: Extent, other: Extent| {
            let (one, other) = one.in_plane(&other);
            one.min().x <= other.max().x && other.min().x <= one.max().x
        };
        assert!(meet(extent(170.0, 190.0), extent(-175.0, -175.0)));
        assert!(meet(extent(-175.0, -175.0), extent(170.0, 190.0)));
        assert!(!meet(extent(-175.0, -170.0), extent(170.0, 180.0)));
        assert!(meet(extent(-100.0, 100.0), extent(90.0, 270.0)));
        let (all, part) = extent(-180.0, 180.0).in_plane(&extent(170.0, 190.0));
        assert!(all.min().x < part.min().x && part.max().x < all.max().x);
    }
}
