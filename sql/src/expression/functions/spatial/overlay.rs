//! ST_Union, ST_Intersection, ST_Difference, ST_SymDifference.

use super::arguments::geometry_type;
use super::plane::{computed, computed_result, pair};
use super::{Call, Function, not_null};
use crate::error::Result;
use crate::expression::Datum;
use crate::plane::{self, Operation};

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_union", (2, 2), geometry_type, |call| overlay(call, Operation::Union)),
    Function::new("st_intersection", (2, 2), geometry_type, |call| overlay(call, Operation::Intersection)),
    Function::new("st_difference", (2, 2), geometry_type, |call| overlay(call, Operation::Difference)),
    Function::new("st_symdifference", (2, 2), geometry_type, |call| overlay(call, Operation::SymmetricDifference)),
];

fn overlay<'a>(call: &Call<'a>, operation: Operation) -> Result<Datum<'a>> {
    let (one, other) = not_null!(pair(call)?);
    let shape = computed(call, |stop| plane::overlay(&one.shape, &other.shape, operation, stop))?;
    computed_result(call, one.srid, shape)
}
