//! Doubly linked lists whose nodes lie in pages of one tablespace: extents, inode pages, the pages of an undo segment, the
//! history of a rollback segment (`format::page::space` draws the bytes).
//!
//! A list has a base (length, first, last) and nodes (previous, next), each an address: page and offset. The page of the
//! base is latched before those of nodes, so that two threads that change a list do not deadlock.
//!
//! The bytes that a change will write are latched and checked first ([`List::prepare_push`], [`List::prepare_remove`]);
//! the change itself ([`Splice::write`]) cannot fail. An address comes from a page, which may be damaged whatever its
//! checksum says: it must point to a valid place for a node, and the neighbours must point back.

use format::ids::{PageId, SpaceId};
use format::page::header::{BODY, TRAILER_BYTES};
use format::page::space::{ADDRESS_BYTES, Address, BASE_BYTES, Base, NODE_BYTES, Node};

use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle, Phase};

/// Where a list's base lies: on a latched page, at an offset that the caller has checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    pub page: PageHandle,
    pub offset: usize,
}

/// A latched place in a page.
type Spot = (PageHandle, usize);

/// The bytes that a change of a list writes: all latched, all within their pages.
#[must_use]
pub struct Splice {
    base: (Spot, Base),
    /// The node that is inserted. The links of a node that is removed stay as they are.
    node: Option<(Spot, Node)>,
    /// The neighbours' links that change: where, and to what.
    links: [Option<(Spot, Address)>; 2],
}

/// Whether a node can lie at this offset.
fn is_place(page_bytes: usize, offset: usize) -> bool {
    (BODY..=page_bytes - TRAILER_BYTES - NODE_BYTES).contains(&offset)
}

/// Latches the page of a node; it may be latched already.
fn latch(mtr: &mut Mtr<'_>, space: SpaceId, address: Address) -> Result<Spot> {
    let page = mtr.latch_exclusive(PageId::new(space, address.page))?;
    let offset = usize::from(address.offset);
    if !is_place(mtr.page(page).len(), offset) {
        return Err(mtr.corrupt(page, format_args!("a node of a list at {offset}")));
    }
    Ok((page, offset))
}

impl List {
    pub fn base<P: Phase>(self, mtr: &Mtr<'_, P>) -> Base {
        Base::read(mtr.page(self.page), self.offset)
    }

    pub fn length<P: Phase>(self, mtr: &Mtr<'_, P>) -> u32 {
        self.base(mtr).length
    }

    /// The first node, if there is one.
    pub fn first<P: Phase>(self, mtr: &Mtr<'_, P>) -> Option<Address> {
        let base = self.base(mtr);
        (base.length > 0 && !base.first.is_null()).then_some(base.first)
    }

    /// Makes an empty list.
    pub fn init<P: Phase>(self, mtr: &mut Mtr<'_, P>) {
        let bytes: [u8; BASE_BYTES] = Base::EMPTY.to_bytes();
        mtr.write(self.page, self.offset, &bytes);
    }

    fn space(self, mtr: &Mtr<'_>) -> SpaceId {
        mtr.page_id(self.page).space
    }

    fn corrupt(self, mtr: &Mtr<'_>, what: &str) -> Error {
        mtr.corrupt(self.page, format_args!("the list at {}: {what}", self.offset))
    }

    /// Puts a node behind all others.
    pub fn push_last(self, mtr: &mut Mtr<'_>, node: Address) -> Result<()> {
        let splice = self.prepare_push(mtr, node, End::Last)?;
        splice.write(mtr);
        Ok(())
    }

    /// Takes a node out.
    pub fn remove(self, mtr: &mut Mtr<'_>, node: Address) -> Result<()> {
        let splice = self.prepare_remove(mtr, node)?;
        splice.write(mtr);
        Ok(())
    }

    /// Latches what inserting a node at one end changes.
    pub fn prepare_push(self, mtr: &mut Mtr<'_>, node: Address, end: End) -> Result<Splice> {
        let base = self.base(mtr);
        let space = self.space(mtr);
        let spot = latch(mtr, space, node)?;
        let neighbour = if end == End::First { base.first } else { base.last };
        if neighbour.is_null() != (base.length == 0) || base.first.is_null() != base.last.is_null() || neighbour == node
        {
            return Err(self.corrupt(mtr, "its length and its ends disagree"));
        }
        let Some(length) = base.length.checked_add(1) else { return Err(self.corrupt(mtr, "its length")) };
        let mut link = None;
        if !neighbour.is_null() {
            let (page, offset) = latch(mtr, space, neighbour)?;
            let Node { prev, next } = Node::read(mtr.page(page), offset);
            let beyond = if end == End::First { prev } else { next };
            if !beyond.is_null() {
                return Err(mtr.corrupt(page, "a node at the end of a list that has another beyond it"));
            }
            let at = if end == End::First { offset } else { offset + ADDRESS_BYTES };
            link = Some(((page, at), node));
        }
        let (base, links) = match end {
            End::First => {
                let last = if base.last.is_null() { node } else { base.last };
                (Base { length, first: node, last }, Node { prev: Address::NULL, next: neighbour })
            }
            End::Last => {
                let first = if base.first.is_null() { node } else { base.first };
                (Base { length, first, last: node }, Node { prev: neighbour, next: Address::NULL })
            }
        };
        Ok(Splice { base: ((self.page, self.offset), base), node: Some((spot, links)), links: [link, None] })
    }

    /// Latches what removing a node changes.
    pub fn prepare_remove(self, mtr: &mut Mtr<'_>, node: Address) -> Result<Splice> {
        let base = self.base(mtr);
        let space = self.space(mtr);
        let (page, offset) = latch(mtr, space, node)?;
        let Node { prev, next } = Node::read(mtr.page(page), offset);
        let Some(length) = base.length.checked_sub(1) else {
            return Err(self.corrupt(mtr, "it is shorter than its nodes"));
        };
        if (prev.is_null() && base.first != node) || (next.is_null() && base.last != node) {
            return Err(mtr.corrupt(page, "a node without neighbours that is not at the end of its list"));
        }
        let mut links = [None, None];
        for (link, neighbour, to, is_next) in [(0, prev, next, true), (1, next, prev, false)] {
            if neighbour.is_null() {
                continue;
            }
            let (page, offset) = latch(mtr, space, neighbour)?;
            let found = Node::read(mtr.page(page), offset);
            let back = if is_next { found.next } else { found.prev };
            if back != node || neighbour == node {
                return Err(mtr.corrupt(page, "a node of a list whose neighbour does not lead back"));
            }
            links[link] = Some(((page, if is_next { offset + ADDRESS_BYTES } else { offset }), to));
        }
        let first = if prev.is_null() { next } else { base.first };
        let last = if next.is_null() { prev } else { base.last };
        if first.is_null() != (length == 0) || last.is_null() != (length == 0) {
            return Err(self.corrupt(mtr, "its length and its ends disagree"));
        }
        let base = Base { length, first, last };
        Ok(Splice { base: ((self.page, self.offset), base), node: None, links })
    }
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    First,
    Last,
}

impl Splice {
    /// Makes the change.
    pub fn write<P: Phase>(self, mtr: &mut Mtr<'_, P>) {
        if let Some(((page, offset), links)) = self.node {
            mtr.write(page, offset, &links.to_bytes());
        }
        for ((page, offset), address) in self.links.into_iter().flatten() {
            mtr.write(page, offset, &address.to_bytes());
        }
        let ((page, offset), base) = self.base;
        mtr.write(page, offset, &base.to_bytes());
    }
}
