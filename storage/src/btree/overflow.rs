//! Long values: chains of BLOB pages beside the tree, see `format::page::blob` for their picture.
//!
//! A chain belongs to the reference in a record, or in an undo record once the column has changed. It is written and
//! freed in steps, each a mini-transaction that also brings the reference up to date. So after a crash every page of a
//! chain is either reached from a reference or free:
//!
//! ```text
//! write   ref -> null      ref -> p1 p2          ref -> p1 p2 p3 p4
//! free    ref -> p1..p4    ref -> p3 p4          ref -> null
//! ```
//!
//! This module moves pages; the row layer knows where the reference is, and whether the chain may be freed at all.

use format::ids::{PageId, PageNo, SpaceId};
use format::page::blob::{self, Reference};
use format::page::header::{self, PageType};
use format::redo::PageOp;

use super::on;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::segment::{self, Direction, Segment};
use crate::store::Store;

/// The most pages that are written or freed in one mini-transaction.
const STEP_PAGES: usize = if cfg!(test) { 2 } else { 16 };

/// A chain that is being written: its reference so far, and its last page.
#[derive(Clone, Copy, Debug)]
pub struct Overflow {
    pub reference: Reference,
    tail: PageNo,
}

impl Overflow {
    /// A chain without pages. Its reference is what a record carries until the first step.
    pub fn empty(space: SpaceId) -> Overflow {
        Overflow { reference: Reference::new(space, PageNo::NULL, 0), tail: PageNo::NULL }
    }

    /// How many pages the next step writes.
    pub fn step_pages(&self, store: &Store, value: &[u8]) -> usize {
        let left = value.len() - self.reference.bytes as usize;
        left.div_ceil(blob::capacity(store.page_bytes())).min(STEP_PAGES).min(Mtr::pages_max(store))
    }

    /// Writes the next part of a value, `self.step_pages` pages, of which the mini-transaction knows. The caller stores
    /// `self.reference` in it.
    pub fn write_step(&mut self, mtr: &mut Mtr<'_>, segment: Segment, value: &[u8]) -> Result<()> {
        let mut rest = &value[self.reference.bytes as usize..];
        for _ in 0..self.step_pages(mtr.store(), value) {
            let part = &rest[..rest.len().min(blob::capacity(mtr.store().page_bytes()))];
            let page = segment::allocate_page(mtr, segment, self.tail, Direction::Up)?;
            let id = mtr.page_id(page);
            mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB })?;
            mtr.write(page, blob::PART_BYTES, &blob::part_header(part.len(), PageNo::NULL));
            mtr.write(page, blob::DATA, part);
            if self.tail.is_null() {
                self.reference.page = id.page;
            } else {
                let tail = mtr.latch_exclusive(PageId::new(self.reference.space, self.tail))?;
                mtr.write(tail, blob::NEXT, &id.page.0.to_be_bytes());
            }
            self.tail = id.page;
            self.reference.bytes += part.len() as u64;
            rest = &rest[part.len()..];
        }
        Ok(())
    }
}

/// Appends at most `bytes_max` bytes of the value behind a reference to `out`.
pub fn read(store: &Store, reference: &Reference, bytes_max: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut left = usize::try_from(reference.bytes).unwrap_or(usize::MAX).min(bytes_max);
    let mut next = reference.page;
    // A length from a damaged reference must not decide how much memory is taken.
    out.reserve(left.min(1 << 20));
    while left > 0 {
        if next.is_null() {
            return Err(Error::corrupt(format!("a long value in {} that ends too early", reference.space)));
        }
        let id = PageId::new(reference.space, next);
        let page = store.read(id)?;
        if header::page_type(&page) != PageType::BLOB {
            return Err(Error::corrupt_page(id, "not a page of a long value"));
        }
        let (part, behind) = on(id, blob::part(&page))?;
        if part.is_empty() {
            return Err(Error::corrupt_page(id, "an empty part of a long value"));
        }
        let part = &part[..part.len().min(left)];
        out.extend_from_slice(part);
        left -= part.len();
        next = behind;
    }
    Ok(())
}

/// Frees the first pages of a chain, and returns the reference to the rest: in the end one without pages. The caller
/// stores it in the same mini-transaction.
pub fn free_step(mtr: &mut Mtr<'_>, segment: Segment, reference: &Reference) -> Result<Reference> {
    let mut rest = *reference;
    for _ in 0..STEP_PAGES {
        if rest.page.is_null() {
            break;
        }
        let id = PageId::new(rest.space, rest.page);
        let page = mtr.latch_exclusive(id)?;
        if header::page_type(mtr.page(page)) != PageType::BLOB {
            return Err(Error::corrupt_page(id, "not a page of a long value"));
        }
        let (part, next) = on(id, blob::part(mtr.page(page)))?;
        let bytes = part.len() as u64;
        // So that a stale reference cannot take it for a part of a chain.
        mtr.write(page, header::TYPE, &PageType::ALLOCATED.0.to_be_bytes());
        segment::free_page(mtr, segment, id.page)?;
        rest.bytes = rest.bytes.saturating_sub(bytes);
        rest.page = next;
    }
    if rest.page.is_null() {
        rest.bytes = 0;
    }
    Ok(rest)
}
