//! Geometry of the globe: shapes of longitudes and latitudes on an ellipsoid.
//!
//! An edge is the geodesic between its ends: the shortest way. What lies inside of a ring is the smaller of the two parts into which
//! it divides the surface, whichever way it runs.
//!
//! | module | idea |
//! |---|---|
//! | `measure` | lengths, areas, distances, places along lines |
//! | `position` | where a place lies to a line or an area, by the directions of geodesics |
//! | `chart` | two shapes as shapes of a plane that lie to each other in the same way |
//! | `relation` | ST_Contains and its kin |
//! | `extent` | from where to where a shape reaches in longitude and latitude |
//!
//! Where geodesics run is computed by `geographiclib-rs`, by Karney's method, to some nanometres. How long they are is told
//! by Andoyer's formula, as in MySQL, for the same digits: it is of the first order in the flattening, and wrong by up to
//! a hundred-thousandth.
//!
//! Invariants:
//!
//! * Coordinates are longitudes (x) and latitudes (y) in degrees from Greenwich, within (-180, 180] and [-90, 90].
//! * What is not known for certain is refused: an edge between opposite longitudes, which may go either way; shapes around a
//!   pole in what needs a chart.
//! * Whatever is long in proportion to the shapes asks `stop` as it goes on.

mod chart;
mod extent;
mod measure;
mod position;
mod relation;

pub use extent::longitudes;
use geo::{Coord, LineString};
use geographiclib_rs::{DirectGeodesic, Geodesic, InverseGeodesic};

use crate::plane;

/// Places nearer to each other than this many metres are one: a multiple of what geodesics are computed to.
const NEAR: f64 = 1e-6;

/// The square of the cosine of half the angle between places: below this they are nearly opposite.
const NEARLY_OPPOSITE: f64 = 1e-3;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Plane(plane::Failure),
    /// A polygon is not smaller than half of the surface.
    HalfTheGlobe,
    /// An edge whose ends are on opposite meridians.
    OppositeEnds,
    /// Shapes that reach all around the globe, or to a pole.
    AroundTheGlobe,
}

impl From<plane::Failure> for Failure {
    fn from(failure: plane::Failure) -> Failure {
        Failure::Plane(failure)
    }
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An ellipsoid.
pub struct Globe {
    geodesic: Geodesic,
    flattening: f64,
}

/// How one place is seen from another.
#[derive(Debug, Clone, Copy)]
struct Course {
    /// In metres.
    distance: f64,
    /// In degrees from north, clockwise: the direction at the start in which the way begins ...
    begins: f64,
    /// ... and the one in which it arrives.
    arrives: f64,
}

impl Globe {
    /// An inverse flattening of 0 is that of a sphere.
    pub fn new(semi_major: f64, inverse_flattening: f64) -> Globe {
        let flattening = if inverse_flattening == 0.0 { 0.0 } else { 1.0 / inverse_flattening };
        Globe { geodesic: Geodesic::new(semi_major, flattening), flattening }
    }

    fn semi_major(&self) -> f64 {
        self.geodesic.equatorial_radius()
    }

    /// Of the three axes of the ellipsoid.
    pub fn mean_radius(&self) -> f64 {
        (2.0 * self.semi_major() + self.semi_minor()) / 3.0
    }

    fn semi_minor(&self) -> f64 {
        self.semi_major() * (1.0 - self.flattening)
    }

    fn exact_distance(&self, from: Coord<f64>, to: Coord<f64>) -> f64 {
        self.geodesic.inverse(from.y, from.x, to.y, to.x)
    }

    /// By Andoyer's formula: the angle `d` between the places as if the latitudes were those of a sphere, and for the
    /// flattening `f`, with K and L the squares of the difference and of the sum of their sines,
    ///
    /// ```text
    /// d - f/4 * (K * (d + 3 sin d) / (1 - cos d) + L * (d - 3 sin d) / (1 + cos d))
    /// ```
    ///
    /// It fails between places that are nearly opposite: there the distance is exact.
    pub fn distance(&self, from: Coord<f64>, to: Coord<f64>) -> f64 {
        let (low, high) = (from.y.to_radians(), to.y.to_radians());
        let half_x = ((to.x - from.x).to_radians() / 2.0).sin();
        let (half_y, mean_y) = ((high - low) / 2.0, (high + low) / 2.0);
        // The square of the sine of half the angle, which keeps its digits when the angle is small.
        let square = half_y.sin().powi(2) + low.cos() * high.cos() * half_x * half_x;
        let rest = 1.0 - square;
        if square == 0.0 {
            return 0.0;
        }
        if rest < NEARLY_OPPOSITE {
            return self.exact_distance(from, to);
        }
        let (angle, sine) = (2.0 * square.sqrt().asin(), 2.0 * (square * rest).sqrt());
        let difference = (2.0 * mean_y.cos() * half_y.sin()).powi(2);
        let sum = (2.0 * mean_y.sin() * half_y.cos()).powi(2);
        let flat = difference * (angle + 3.0 * sine) / (2.0 * square) + sum * (angle - 3.0 * sine) / (2.0 * rest);
        self.semi_major() * (angle - self.flattening / 4.0 * flat)
    }

    fn course(&self, from: Coord<f64>, to: Coord<f64>) -> Course {
        let (distance, begins, arrives, _): (f64, f64, f64, f64) = self.geodesic.inverse(from.y, from.x, to.y, to.x);
        Course { distance, begins, arrives }
    }

    /// Where a way leads to, and its direction there.
    fn follow(&self, from: Coord<f64>, direction: f64, distance: f64) -> (Coord<f64>, f64) {
        let (y, x, arrives): (f64, f64, f64) = self.geodesic.direct(from.y, from.x, direction, distance);
        (Coord { x: if x <= -180.0 { x + 360.0 } else { x }, y: y.clamp(-90.0, 90.0) }, arrives)
    }

    /// The place at a distance in a direction, clockwise from north.
    pub fn destination(&self, from: Coord<f64>, direction: f64, distance: f64) -> Coord<f64> {
        self.follow(from, direction, distance).0
    }
}

/// How far east of a longitude another one is, in (-180, 180].
fn eastward(from: f64, to: f64) -> f64 {
    let apart = to - from;
    match apart {
        _ if apart > 180.0 => apart - 360.0,
        _ if apart <= -180.0 => apart + 360.0,
        _ => apart,
    }
}

/// How often a ring runs around the axis, eastward.
fn turns(ring: &LineString<f64>) -> i32 {
    let east: f64 = ring.lines().map(|edge| eastward(edge.start.x, edge.end.x)).sum();
    (east / 360.0).round() as i32
}

/// An edge's ends with the western one first, and how many degrees of longitude are between them.
fn from_west(edge: geo::Line<f64>) -> Result<(Coord<f64>, Coord<f64>, f64)> {
    let east = eastward(edge.start.x, edge.end.x);
    match east {
        180.0 => Err(Failure::OppositeEnds),
        _ if east >= 0.0 => Ok((edge.start, edge.end, east)),
        _ => Ok((edge.end, edge.start, -east)),
    }
}

/// Between which latitudes an edge stays, at least: it bends towards the pole by no more than half of its longitudes allow.
fn latitudes(west: Coord<f64>, east: Coord<f64>, longitudes: f64) -> (f64, f64) {
    // A fifth of a degree is more than an ellipsoid like the earth differs from a sphere by.
    let poleward = |latitude: f64| {
        let half = (longitudes / 2.0).to_radians().cos();
        let bent = (latitude.to_radians().tan() / half).atan().to_degrees();
        if half > 1e-3 { (bent + 0.2).min(90.0) } else { 90.0 }
    };
    let (low, high) = (west.y.min(east.y), west.y.max(east.y));
    match longitudes {
        0.0 => (low, high),
        _ => (if low < 0.0 { -poleward(-low) } else { low }, if high > 0.0 { poleward(high) } else { high }),
    }
}
