//! How two shapes lie to each other: which dimensions their interiors, boundaries and exteriors have in common (DE-9IM).

use format::value::Shape;
use geo::Relate;
use geo::relate::IntersectionMatrix;

use super::overlay::normal;
use super::{Failure, Result, Stop, guarded};

/// The matrix of two shapes. A collection has to be of points, of lines or of areas.
pub fn matrix(one: &Shape<f64>, other: &Shape<f64>, stop: Stop<'_>) -> Result<IntersectionMatrix> {
    let (one, other) = (of_one_kind(one, stop)?, of_one_kind(other, stop)?);
    guarded(|| one.relate(&other))
}

fn of_one_kind(shape: &Shape<f64>, stop: Stop<'_>) -> Result<Shape<f64>> {
    // Also looks whether the areas are valid.
    let pieces = normal(shape, stop)?;
    match (shape, pieces.into_shape()) {
        (Shape::GeometryCollection(_), Shape::GeometryCollection(_)) => Err(Failure::Mixed),
        (Shape::GeometryCollection(_), merged) => Ok(merged),
        (shape, _) => Ok(shape.clone()),
    }
}
