//! The full check of an index page.

use crate::error::Result;
use crate::record::Layout;

/// Checks the structure of an index page; with a layout also the records, their order, sizes and places.
pub fn validate(page: &[u8], layout: Option<&Layout>) -> Result<()> {
    todo!()
}
