//! B+trees: the indexes, on pages in InnoDB's format.
//!
//! A tree has a root, whose page number never changes, levels of node pages and a level of leaves. All pages of a level
//! are linked to their neighbours. The first record of the leftmost page of each level above the leaves is marked as
//! smaller than everything.
//!
//! ```text
//! level 2                  root
//!                   (min->a    m->b)
//! level 1       a                      b
//!          (min->c  e->d)    <->   (m->f  s->g)
//! level 0   c        d               f      g
//!         [a b c]<->[e g]   <->   [m n o]<->[s t]
//! ```
//!
//! # Latching
//!
//! A *reader* descends hand over hand: it latches the child shared before it releases the parent. Along the leaves it
//! moves to the right, again hand over hand; to move left it releases its leaf first, see [`cursor`].
//!
//! A *writer* is optimistic ([`Tree::latch_leaf`]): it descends as a reader, and latches only the leaf exclusively. If
//! the change does not fit the leaf, or empties it, the writer commits what it has (nothing) and starts over with
//! [`Tree::latch_path`]: this takes the tree's *shape latch*, so that no other change of shape is in progress, and
//! exclusively latches the part of the path that may change, from the top downward and to the right.
//!
//! Since no other thread changes a node page while the shape latch is held, the path is first read with shared latches,
//! and a change of shape blocks readers only from the lowest page on that surely has space.
//!
//! Invariants:
//!
//! * The shape latch is taken before any page; pages from the root down, on a level from left to right.
//! * No leaf but the root is empty. A node pointer above level 1 equals the first record of its child.
//! * A change of shape reserves its pages in the file and latches its path before it changes a byte. If it meets a
//!   damaged neighbour or descriptor later, its mini-transaction is undone: that is an ordinary error, too.
//!
//! This module knows no transactions: its callers decide what a record contains and whether it may be changed.
//!
//! Sources: Bayer and Schkolnick, "Concurrency of Operations on B-Trees" (1977), for the two descents.

mod bulk;
mod change;
mod check;
mod cursor;
mod levels;
mod merge;
mod overflow;
mod search;
mod sort;
mod split;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU16, Ordering};

use format::ids::{IndexId, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::page::index;
use format::record::{Layout, Length};
use format::redo::PageOp;

use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageHandle};
use crate::segment::{self, Direction, Segment};
use crate::store::Store;
use crate::sync::{Mutex, MutexGuard, Rank};

pub use bulk::BulkLoad;
pub use change::{Change, Made, Removal};
pub use check::{TreeCheck, TreeFault};
pub use overflow::Overflow;
pub use overflow::{free_step as free_overflow_step, read as read_overflow};
pub use search::{Aim, Place};
pub use sort::{MEMORY_BYTES as SORT_MEMORY_BYTES, Sorter};

/// One index: its location, and the layout of its records.
pub struct Tree {
    pub space: SpaceId,
    pub root: PageNo,
    pub id: IndexId,
    /// Layout of the leaf records.
    pub leaf: Layout,
    /// Layout of the node records.
    pub node: Layout,
    leaf_segment: Segment,
    top_segment: Segment,
    /// The most bytes that a node pointer may take.
    node_bytes_max: usize,
    /// Taken by a thread before it adds or removes pages.
    shape: Mutex<()>,
    /// The root's level as seen last, which tells how many pages a change of shape may need.
    height: AtomicU16,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "index {} at {}:{}", self.id, self.space, self.root)
    }
}

/// Makes an empty tree: its two segments and its root, which is the first page of the first segment.
pub fn create(mtr: &mut Mtr<'_>, space: SpaceId, id: IndexId) -> Result<PageNo> {
    let top = segment::create(mtr, space)?;
    let root = segment::allocate_page(mtr, top, PageNo(0), Direction::None)?;
    let leaf = segment::create(mtr, space)?;
    let page = mtr.page_id(root);
    mtr.apply(root, PageOp::Init { id: page, page_type: PageType::INDEX })?;
    mtr.apply(root, PageOp::IndexInit { level: 0, index: id })?;
    mtr.write(root, index::LEAF_SEGMENT, &leaf.to_bytes());
    mtr.write(root, index::TOP_SEGMENT, &top.to_bytes());
    Ok(page.page)
}

/// Frees the pages of a tree, a bounded number at a time; true when none is left. The tree is no longer in use.
///
/// The root is freed last, because it names the segments: a crash in between leaves a tree that can be dropped again.
pub fn drop_step(mtr: &mut Mtr<'_>, space: SpaceId, root: PageNo) -> Result<bool> {
    let handle = mtr.latch_exclusive(PageId::new(space, root))?;
    let leaf = Segment::read(mtr.page(handle), index::LEAF_SEGMENT);
    let top = Segment::read(mtr.page(handle), index::TOP_SEGMENT);
    if let Some(leaf) = leaf {
        if segment::drop_step(mtr, leaf)? {
            mtr.write(handle, index::LEAF_SEGMENT, &[0; Segment::HEADER_BYTES]);
        }
        return Ok(false);
    }
    match top {
        Some(top) => segment::drop_step(mtr, top),
        None => Ok(true),
    }
}

impl Tree {
    /// Opens an existing tree. The caller holds no latch on the root.
    pub fn open(store: &Store, space: SpaceId, root: PageNo, id: IndexId, leaf: Layout) -> Result<Tree> {
        let at = PageId::new(space, root);
        let page = store.read(at)?;
        if index::index_id(&page) != id || header::page_type(&page) != PageType::INDEX {
            return Err(Error::corrupt_page(at, format_args!("not the root of index {id}")));
        }
        let (Some(leaf_segment), Some(top_segment)) =
            (Segment::read(&page, index::LEAF_SEGMENT), Segment::read(&page, index::TOP_SEGMENT))
        else {
            return Err(Error::corrupt_page(at, "a root without segments"));
        };
        let height = index::level(&page);
        drop(page);
        let node = leaf.node_pointer();
        let node_bytes_max = record_bytes_max(&node).min(index::insert_bytes_max(store.page_bytes()));
        Ok(Tree {
            space,
            root,
            id,
            leaf,
            node,
            leaf_segment,
            top_segment,
            node_bytes_max,
            shape: Mutex::new(Rank::Index, ()),
            height: AtomicU16::new(height),
        })
    }

    #[inline]
    pub fn page_id(&self, page: PageNo) -> PageId {
        PageId::new(self.space, page)
    }

    /// How many leading fields decide the order.
    #[inline]
    pub fn key_fields(&self) -> usize {
        self.leaf.key_fields()
    }

    #[inline]
    fn layout(&self, level: u16) -> &Layout {
        if level == 0 { &self.leaf } else { &self.node }
    }

    /// The segment that a level's pages come from. The root belongs to the top segment whatever its level.
    #[inline]
    fn segment(&self, level: u16) -> Segment {
        if level == 0 { self.leaf_segment } else { self.top_segment }
    }

    /// The segment that long values' pages come from.
    #[inline]
    pub fn overflow_segment(&self) -> Segment {
        self.leaf_segment
    }

    pub fn leaf_segment(&self) -> Segment {
        self.leaf_segment
    }

    pub fn top_segment(&self) -> Segment {
        self.top_segment
    }

    /// The root's level as seen last.
    #[inline]
    pub fn height(&self) -> u16 {
        self.height.load(Ordering::Relaxed)
    }

    fn lock_shape(&self) -> MutexGuard<'_, ()> {
        self.shape.lock()
    }

    /// Allocates and initialises an index page of this tree. The pages have been reserved.
    fn new_page(&self, mtr: &mut Mtr<'_>, level: u16, hint: PageNo, direction: Direction) -> Result<PageHandle> {
        let handle = segment::allocate_page(mtr, self.segment(level), hint, direction)?;
        let id = mtr.page_id(handle);
        mtr.apply(handle, PageOp::Init { id, page_type: PageType::INDEX })?;
        mtr.apply(handle, PageOp::IndexInit { level, index: self.id })?;
        Ok(handle)
    }
}

/// The most bytes that a record of this layout can take on a page.
fn record_bytes_max(layout: &Layout) -> usize {
    let data: usize = layout
        .fields()
        .iter()
        .map(|field| match field.length {
            Length::Fixed(bytes) => usize::from(bytes),
            Length::Variable { max, .. } => max as usize + 2,
        })
        .sum();
    format::record::HEADER_BYTES + layout.current_bitmap_bytes() + data
}

/// Adds the page of a damaged record or list to an error.
#[inline]
fn on<T>(page: PageId, result: format::Result<T>) -> Result<T> {
    result.map_err(|cause| Error::corrupt_page(page, cause))
}

#[inline]
fn previous(page: &[u8]) -> PageNo {
    header::prev(page)
}

#[inline]
fn following(page: &[u8]) -> PageNo {
    header::next(page)
}
