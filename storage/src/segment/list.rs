//! Lists whose nodes lie in pages: extent descriptors and inode pages are linked by them.

use format::page::space::{ADDRESS_BYTES, Address, BASE_BYTES, Base, NODE_BYTES, Node};

use super::space::Space;
use crate::error::Result;
use crate::mtr::PageHandle;

/// Where a list's base lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    pub page: PageHandle,
    pub offset: usize,
}

impl List {
    pub fn base(self, space: &Space<'_, '_>) -> Base {
        Base::read(space.page(self.page), self.offset)
    }

    pub fn length(self, space: &Space<'_, '_>) -> u32 {
        self.base(space).length
    }

    /// The first node, if there is one.
    pub fn first(self, space: &Space<'_, '_>) -> Option<Address> {
        let base = self.base(space);
        (base.length > 0 && !base.first.is_null()).then_some(base.first)
    }

    fn set_base(self, space: &mut Space<'_, '_>, base: Base) {
        let bytes: [u8; BASE_BYTES] = base.to_bytes();
        space.write(self.page, self.offset, &bytes);
    }

    pub fn push_last(self, space: &mut Space<'_, '_>, node: Address) -> Result<()> {
        let base = self.base(space);
        let page = space.latch_page(node.page)?;
        let links: [u8; NODE_BYTES] = Node { prev: base.last, next: Address::NULL }.to_bytes();
        space.write(page, usize::from(node.offset), &links);
        if !base.last.is_null() {
            let last = space.latch_page(base.last.page)?;
            space.write(last, usize::from(base.last.offset) + ADDRESS_BYTES, &node.to_bytes());
        }
        let first = if base.first.is_null() { node } else { base.first };
        self.set_base(space, Base { length: base.length + 1, first, last: node });
        Ok(())
    }

    pub fn remove(self, space: &mut Space<'_, '_>, node: Address) -> Result<()> {
        let base = self.base(space);
        let page = space.latch_page(node.page)?;
        let Node { prev, next } = Node::read(space.page(page), usize::from(node.offset));
        if base.length == 0 {
            return Err(space.corrupt(self.page, "a list shorter than its nodes"));
        }
        if !prev.is_null() {
            let page = space.latch_page(prev.page)?;
            space.write(page, usize::from(prev.offset) + ADDRESS_BYTES, &next.to_bytes());
        }
        if !next.is_null() {
            let page = space.latch_page(next.page)?;
            space.write(page, usize::from(next.offset), &prev.to_bytes());
        }
        let first = if prev.is_null() { next } else { base.first };
        let last = if next.is_null() { prev } else { base.last };
        self.set_base(space, Base { length: base.length - 1, first, last });
        Ok(())
    }
}
