//! (next)
use super::Function;
pub const FUNCTIONS: &[Function] = &[];
