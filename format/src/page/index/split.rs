//! Where to split a full page.

use super::navigate::{first, next, prev};
use super::{INFIMUM, SUPREMUM, data_bytes, last_insert, record_count};
use crate::error::Result;
use crate::record::Layout;

/// Which of two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// How a page is to be split for a record that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The first record that goes to the right page; the supremum if none does, so that the new record is alone there.
    pub first_right: u16,
    /// Where the new record goes: to the left page behind its records up to `first_right`, or to the right.
    pub side: Side,
    /// The split follows a run of inserts at one end, upward or downward: the new page should lie in that direction.
    pub direction: Option<Side>,
}

/// Chooses a split point for a record of `bytes` that belongs behind the one at `after`.
pub fn split_point(page: &[u8], layout: &Layout, after: u16, bytes: usize) -> Result<Split> {
    todo!()
}
