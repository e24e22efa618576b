//! Functions of geometries.
//!
//! A geometry is an argument of a spatial type, or bytes that are read as one; what is none is 3037. A function that is
//! not defined for the kind of geometry that it gets is NULL, as in MariaDB. Coordinates are of a plane, but for texts and
//! parts of texts in a geographic system: see [`crate::expression::geometry`].
//!
//! | module | functions |
//! |---|---|
//! | `arguments` | geometries, reference systems and options among the arguments; results |
//! | `read` | ST_GeomFromText, ST_GeomFromWKB and their kin |
//! | `make` | Point, LineString ... |
//! | `cast` | CAST to a kind of geometry |
//! | `write` | ST_AsText, ST_AsBinary |
//! | `json` | ST_AsGeoJSON, ST_GeomFromGeoJSON |
//! | `facts` | what a geometry is: its type, dimension, reference system |
//! | `parts` | the points, rings and parts that it has |
//! | `geohash` | ST_GeoHash and back |
//! | `plane` | arguments and results of what computes in the plane |
//! | `transform` | ST_Transform |
//! | `surface` | the plane, or the globe; units |
//! | `measure` | lengths, areas, distances |
//! | `along` | places along a line |
//! | `around` | ST_Buffer and its strategies |
//! | `key` | what spatial indexes are made of |
//! | `relate` | ST_Contains and its kin, by shapes and by bounding rectangles |
//! | `overlay` | ST_Union and its kin |
//! | `shapes` | hulls, buffers, boundaries; whether a shape is simple or valid |

mod along;
mod arguments;
mod around;
mod cast;
mod facts;
mod geohash;
mod json;
mod key;
mod make;
mod measure;
mod overlay;
mod parts;
mod plane;
mod read;
mod relate;
mod shapes;
mod surface;
mod transform;
mod write;

use super::{Call, Function, MANY, Typing, not_null, typings};

pub use cast::cast_to;
pub use key::{HIGHEST, LOWEST};

/// The lists of this folder.
pub const FUNCTIONS: [&[Function]; 15] = [
    along::FUNCTIONS,
    around::FUNCTIONS,
    facts::FUNCTIONS,
    geohash::FUNCTIONS,
    json::FUNCTIONS,
    key::FUNCTIONS,
    make::FUNCTIONS,
    measure::FUNCTIONS,
    overlay::FUNCTIONS,
    parts::FUNCTIONS,
    read::FUNCTIONS,
    relate::FUNCTIONS,
    shapes::FUNCTIONS,
    transform::FUNCTIONS,
    write::FUNCTIONS,
];
