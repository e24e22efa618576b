//! Sorting in memory, in parts that KILL can come between.

use std::cmp::Ordering;

use super::pile::free;
use crate::error::{Error, Result};

/// Rows that are sorted without looking for KILL.
pub const PART: usize = 1 << 13;

/// Sorts rows; equal ones stay in their order. A million rows take a second, and longer if texts are compared: so short parts
/// are sorted, and then merged, and KILL is heard meanwhile (`a_long_sort_hears_kill`); then no rows are left.
pub fn sort_by<T: Send + 'static>(
    rows: &mut Vec<T>,
    is_interrupted: impl Fn() -> bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    if rows.len() <= PART {
        rows.sort_by(&compare);
        return Ok(());
    }
    let mut parts: Vec<Vec<T>> = Vec::with_capacity(rows.len().div_ceil(PART));
    let mut left = std::mem::take(rows).into_iter();
    while left.len() > 0 {
        let mut part: Vec<T> = left.by_ref().take(PART).collect();
        part.sort_by(&compare);
        parts.push(part);
        if is_interrupted() {
            free((parts, left));
            return Err(Error::interrupted());
        }
    }
    drop(left);
    while parts.len() > 1 {
        let mut merged = Vec::with_capacity(parts.len().div_ceil(2));
        let mut left = parts.into_iter();
        while let Some(part) = left.next() {
            let Some(next) = left.next() else {
                merged.push(part);
                break;
            };
            match merge(part, next, &is_interrupted, &compare) {
                Ok(part) => merged.push(part),
                Err(error) => {
                    free((merged, left));
                    return Err(error);
                }
            }
        }
        parts = merged;
    }
    *rows = parts.pop().unwrap_or_default();
    Ok(())
}

/// Merges two sorted parts.
fn merge<T: Send + 'static>(
    mut first: Vec<T>,
    second: Vec<T>,
    is_interrupted: &impl Fn() -> bool,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<Vec<T>> {
    if let (Some(last), Some(next)) = (first.last(), second.first())
        && compare(last, next) != Ordering::Greater
    {
        first.extend(second);
        return Ok(first);
    }
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    while let (Some(one), Some(other)) = (first.as_slice().first(), second.as_slice().first()) {
        let next = if compare(other, one) == Ordering::Less { second.next() } else { first.next() };
        merged.extend(next);
        if merged.len() % PART == 0 && is_interrupted() {
            free((merged, first, second));
            return Err(Error::interrupted());
        }
    }
    merged.extend(first);
    merged.extend(second);
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Numbers with few values, and where each was.
    fn rows() -> Vec<(u32, usize)> {
        (0..10 * PART).map(|at| ((at as u32).wrapping_mul(2_654_435_761) >> 20, at)).collect()
    }

    #[test]
    fn a_long_sort_keeps_the_order_of_equal_rows() {
        let (mut ours, mut all) = (rows(), rows());
        sort_by(&mut ours, || false, |a, b| b.0.cmp(&a.0)).unwrap();
        all.sort_by_key(|row| (std::cmp::Reverse(row.0), row.1));
        assert_eq!(ours, all);
    }

    #[test]
    fn a_long_sort_hears_kill() {
        let (asked, compared) = (Cell::new(0), Cell::new(0));
        let is_interrupted = || asked.replace(asked.get() + 1) >= 3;
        let mut rows = rows();
        let outcome = sort_by(&mut rows, is_interrupted, |a, b| {
            compared.set(compared.get() + 1);
            a.0.cmp(&b.0)
        });
        assert_eq!(outcome.unwrap_err().code, Error::interrupted().code);
        assert!(compared.get() < 4 * PART * 16, "{} comparisons", compared.get());
    }
}
