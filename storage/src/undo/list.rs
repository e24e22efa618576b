//! Lists of places in one tablespace: the pages of an undo segment, the history of a rollback segment.
//!
//! A list has a base (length, first, last) and nodes (previous, next), each an address: page and offset. The page of the
//! base is latched before those of nodes, so that two who change a list do not meet the other way round.

use format::bytes::get_u32;
use format::ids::{PageId, SpaceId};
use format::page::header::{BODY, TRAILER_BYTES};
pub use format::page::space::Address;

use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle};

const FIRST: usize = 4;
const LAST: usize = 10;
const PREV: usize = 0;
const NEXT: usize = 6;
const NODE_BYTES: usize = 12;

pub fn length(page: &[u8], base: usize) -> u32 {
    get_u32(page, base)
}

pub fn last(page: &[u8], base: usize) -> Address {
    Address::read(page, base + LAST)
}

pub fn prev(page: &[u8], node: usize) -> Address {
    Address::read(page, node + PREV)
}

pub fn next(page: &[u8], node: usize) -> Address {
    Address::read(page, node + NEXT)
}

/// Makes an empty list.
pub fn init(mtr: &mut Mtr<'_>, page: PageHandle, base: usize) {
    mtr.write(page, base, &0_u32.to_be_bytes());
    mtr.write(page, base + FIRST, &Address::NULL.to_bytes());
    mtr.write(page, base + LAST, &Address::NULL.to_bytes());
}

fn set_length(mtr: &mut Mtr<'_>, page: PageHandle, base: usize, length: u32) {
    mtr.write(page, base, &length.to_be_bytes());
}

/// Latches the page of another node, which may be one that is latched already.
fn latch(mtr: &mut Mtr<'_>, space: SpaceId, address: Address) -> Result<PageHandle> {
    let id = PageId::new(space, address.page);
    let page = mtr.latch_exclusive(id)?;
    if !(BODY..=mtr.page(page).len() - TRAILER_BYTES - NODE_BYTES).contains(&usize::from(address.offset)) {
        return Err(Error::corrupt_page(id, format_args!("a node of a list at {}", address.offset)));
    }
    Ok(page)
}

/// Puts a node before all others.
pub fn push_first(
    mtr: &mut Mtr<'_>,
    base_page: PageHandle,
    base: usize,
    node_page: PageHandle,
    node: usize,
) -> Result<()> {
    push(mtr, (base_page, base), (node_page, node), FIRST)
}

/// Puts a node behind all others.
pub fn push_last(
    mtr: &mut Mtr<'_>,
    base_page: PageHandle,
    base: usize,
    node_page: PageHandle,
    node: usize,
) -> Result<()> {
    push(mtr, (base_page, base), (node_page, node), LAST)
}

/// Puts a node at one end, [`FIRST`] or [`LAST`]: nothing is beyond it, and the node that was there is on its inner side.
fn push(mtr: &mut Mtr<'_>, base: (PageHandle, usize), node: (PageHandle, usize), end: usize) -> Result<()> {
    let ((base_page, base), (node_page, node)) = (base, node);
    let (other_end, beyond, inner) = if end == FIRST { (LAST, PREV, NEXT) } else { (FIRST, NEXT, PREV) };
    let old = Address::read(mtr.page(base_page), base + end);
    let here = Address { page: mtr.page_id(node_page).page, offset: node as u16 };
    if old.is_null() {
        mtr.write(base_page, base + other_end, &here.to_bytes());
    } else {
        let space = mtr.page_id(base_page).space;
        let old_page = latch(mtr, space, old)?;
        mtr.write(old_page, usize::from(old.offset) + beyond, &here.to_bytes());
    }
    mtr.write(node_page, node + beyond, &Address::NULL.to_bytes());
    mtr.write(node_page, node + inner, &old.to_bytes());
    mtr.write(base_page, base + end, &here.to_bytes());
    let length = length(mtr.page(base_page), base) + 1;
    set_length(mtr, base_page, base, length);
    Ok(())
}

/// Takes a node out.
pub fn remove(mtr: &mut Mtr<'_>, base_page: PageHandle, base: usize, node_page: PageHandle, node: usize) -> Result<()> {
    let space = mtr.page_id(base_page).space;
    let before = prev(mtr.page(node_page), node);
    let behind = next(mtr.page(node_page), node);
    if before.is_null() {
        mtr.write(base_page, base + FIRST, &behind.to_bytes());
    } else {
        let page = latch(mtr, space, before)?;
        mtr.write(page, usize::from(before.offset) + NEXT, &behind.to_bytes());
    }
    if behind.is_null() {
        mtr.write(base_page, base + LAST, &before.to_bytes());
    } else {
        let page = latch(mtr, space, behind)?;
        mtr.write(page, usize::from(behind.offset) + PREV, &before.to_bytes());
    }
    let length = length(mtr.page(base_page), base).saturating_sub(1);
    set_length(mtr, base_page, base, length);
    Ok(())
}
