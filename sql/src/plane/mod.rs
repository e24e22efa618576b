//! Geometry of the plane: how shapes lie to each other, and what they have in common.
//!
//! Most of it is the crate `geo`. What that has not is here: set operations on points and lines, and on areas with the
//! coordinates that they came with.
//!
//! | module | idea |
//! |---|---|
//! | `segments` | which segments of two sets meet, found in the order of x |
//! | `pieces` | a shape as its points, lines and areas |
//! | `cut` | the parts of lines that lie inside, outside or on something |
//! | `snap` | coordinates as they were, after a computation on a grid |
//! | `overlay` | union, intersection, difference |
//! | `relation` | the matrix of two shapes' interiors, boundaries and exteriors |
//! | `simple` | whether lines cross themselves; boundaries |
//! | `simplify` | lines of fewer points |
//! | `valid` | whether areas are valid |
//! | `bounds` | how large shapes may be |
//!
//! # Areas on a grid
//!
//! Set operations of areas are done by `i_overlay` on a grid of integers that spans both shapes, with steps of about
//! 2^-30 of their extent: that is what makes them robust. Its results are put back: a corner that one of the shapes has
//! is that corner, and one where two edges cross is computed anew from these.
//!
//! Invariants:
//!
//! * Whatever is long in proportion to the shapes asks `stop` as it goes on.
//! * What `geo` does on its own is bounded before: by the number of points, and of places where segments may meet.
//! * Areas whose rings cross themselves or each other are refused ([`Failure::Invalid`]), for no operation on them has a
//!   defined result. Parts of a MULTIPOLYGON that overlap are taken together, as those of a collection are.
//! * `geo` asserts what it expects of shapes. Should one get through that it did not expect, that is
//!   [`Failure::Invalid`] and no panic, see [`guarded`].

mod bounds;
mod cut;
mod overlay;
mod pieces;
mod relation;
mod segments;
mod simple;
mod simplify;
mod snap;
mod valid;

use std::panic::{AssertUnwindSafe, catch_unwind};

use format::value::Shape;

use valid::areas_are_valid;

pub use bounds::{MEETINGS_MAX, POINTS_MAX, check_product, check_self};
pub use overlay::{Operation, normal, overlay};
pub use pieces::Pieces;
pub use relation::{Places, Relation, holds, matrix};
pub use segments::distance as distance_to_segment;
pub use simple::{boundary, is_simple};
pub use simplify::simplified;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Interrupted,
    /// A shape is not valid.
    Invalid,
    /// Collections of points, lines and areas together.
    Mixed,
    /// More points, or more places where segments may meet, than are computed with.
    TooLarge,
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Whether the statement has been killed.
pub type Stop<'s> = &'s dyn Fn() -> bool;

/// The result of a function of `geo`; a panic in it is an invalid shape.
pub fn guarded<T>(compute: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(compute)).map_err(|_| Failure::Invalid)
}

/// Whether the areas of a shape are valid: rings that do not cross, holes inside, parts that do not overlap.
pub fn has_valid_areas(shape: &Shape<f64>, stop: Stop<'_>) -> Result<bool> {
    match shape {
        Shape::Polygon(area) => areas_are_valid(std::slice::from_ref(area), stop),
        Shape::MultiPolygon(areas) => areas_are_valid(&areas.0, stop),
        Shape::GeometryCollection(parts) => {
            for part in &parts.0 {
                if !has_valid_areas(part, stop)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}
