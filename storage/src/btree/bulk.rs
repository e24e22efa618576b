//! Filling an empty tree with records in key order: page by page from the left, while the levels above grow along.
//!
//! ```text
//!   level 1   [min->a  m->b      ]            records collected, not yet on a page
//!   level 0   a <-> b <->   [s t u ..]        a, b written; the rest collected
//! ```
//!
//! A page is written when the next record would fill it beyond 15/16, as InnoDB does, which leaves space for later
//! updates. The root is written last. Until then other threads see an empty tree, and the caller makes sure that a
//! crash in between frees the pages (`dictionary::ddl_log`).

use format::ids::PageNo;
use format::page::header;
use format::page::index::{self, INFIMUM};
use format::record::{self, Layout, MIN_RECORD, RecordBuffer, RecordImage};
use format::redo::{PageOp, RecordList};

use super::{Tree, on};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::segment::{self, Direction};
use crate::store::Store;

/// A load in progress.
pub struct BulkLoad<'t> {
    tree: &'t Tree,
    store: &'t Store,
    /// From the leaves up.
    levels: Vec<Level>,
    records: u64,
}

/// The page of a level that is being collected.
#[derive(Default)]
struct Level {
    list: RecordList,
    /// The first record of the list, from which the pointer to its page is made.
    first: RecordBuffer,
    /// The page written last, the left neighbour of the next.
    last: Option<PageNo>,
}

/// How many bytes of records a page gets.
fn fill_bytes(page_bytes: usize) -> usize {
    index::empty_capacity(page_bytes) * 15 / 16
}

impl<'t> BulkLoad<'t> {
    pub fn begin(tree: &'t Tree, store: &'t Store) -> BulkLoad<'t> {
        BulkLoad { tree, store, levels: vec![Level::default()], records: 0 }
    }

    /// Appends a record; it is larger than all before.
    pub fn push(&mut self, record: RecordImage<'_>) -> Result<()> {
        self.records += 1;
        self.push_at(0, record)
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn layout(&self, level: usize) -> &'t Layout {
        self.tree.layout(level as u16)
    }

    fn push_at(&mut self, level: usize, record: RecordImage<'_>) -> Result<()> {
        let page_bytes = self.store.page_bytes();
        let list = &self.levels[level].list;
        let bytes = list.record_bytes() + record.size();
        let full = bytes > fill_bytes(page_bytes) || !index::fits_empty(page_bytes, bytes, list.count() + 1);
        if full && !list.is_empty() {
            self.write_page(level)?;
        }
        let layout = self.layout(level);
        let collected = &mut self.levels[level];
        if collected.list.is_empty() {
            collected.first.set(layout, record);
            if level > 0 && collected.last.is_none() {
                let origin = collected.first.origin();
                record::set_info(collected.first.bytes_mut(), origin, MIN_RECORD);
                let first = collected.first.image();
                collected.list.push(first);
                return Ok(());
            }
        }
        collected.list.push(record);
        Ok(())
    }

    /// Writes what a level has collected to a new page, and the pointer to it into the level above.
    fn write_page(&mut self, level: usize) -> Result<()> {
        let tree = self.tree;
        self.store.check_headroom()?;
        // Without a latch, for it may have to extend the file.
        let room = segment::reserve(self.store, tree.space, 2)?;
        let mut mtr = Mtr::begin(self.store);
        let collected = &mut self.levels[level];
        let before = collected.last;
        // Before page 0 is latched for the new one.
        let left = before.map(|before| mtr.latch_exclusive(tree.page_id(before))).transpose()?;
        let page = tree.new_page(&mut mtr, level as u16, before.unwrap_or(tree.root), Direction::Up)?;
        let number = mtr.page_id(page).page;
        mtr.apply(page, PageOp::InsertRecords { after: INFIMUM, records: collected.list.bytes() })?;
        if let (Some(before), Some(left)) = (before, left) {
            mtr.write(page, header::PREV, &before.0.to_be_bytes());
            mtr.write(left, header::NEXT, &number.0.to_be_bytes());
        }
        mtr.commit();
        drop(room);
        collected.last = Some(number);
        collected.list.clear();
        let first = std::mem::take(&mut collected.first);

        let mut pointer = RecordBuffer::new();
        let id = tree.page_id(number);
        on(id, pointer.build_node_pointer(&tree.node, self.layout(level), first.bytes(), first.origin(), number))?;
        if self.levels.len() == level + 1 {
            self.levels.push(Level::default());
        }
        self.push_at(level + 1, pointer.image())
    }

    /// Writes what is left, and the root.
    pub fn finish(mut self) -> Result<u64> {
        let mut level = 0;
        // All levels but the highest get their last page; the highest fits the root.
        while level + 1 < self.levels.len() {
            if !self.levels[level].list.is_empty() {
                self.write_page(level)?;
            }
            level += 1;
        }
        let top = &self.levels[level];
        assert!(top.last.is_none(), "a level that has a page has another level above");
        if top.list.is_empty() {
            return Ok(self.records);
        }
        let mut mtr = Mtr::begin(self.store);
        let root = mtr.latch_exclusive(self.tree.page_id(self.tree.root))?;
        if index::record_count(mtr.page(root)) != 0 {
            return Err(Error::corrupt_page(self.tree.page_id(self.tree.root), "a bulk load into a tree with records"));
        }
        mtr.apply(root, PageOp::IndexClear { level: level as u16 })?;
        mtr.apply(root, PageOp::InsertRecords { after: INFIMUM, records: top.list.bytes() })?;
        mtr.commit();
        self.tree.height.store(level as u16, std::sync::atomic::Ordering::Relaxed);
        Ok(self.records)
    }
}
