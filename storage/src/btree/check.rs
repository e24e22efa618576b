//! Checking a whole tree: every page, every level, every link.
//!
//! A fault is a sentence with a page; the check goes on as far as it can. It latches one page at a time, and so needs a
//! tree at rest; under load it could report changes in progress.

use std::cmp::Ordering;

use format::ids::{PageId, PageNo};
use format::page::header::{self, PageType};
use format::page::index::{self, INFIMUM, SUPREMUM};
use format::record::{self, RecordBuffer};

use super::{Tree, following, previous};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::segment::{self, SegmentPages};
use crate::store::Store;

/// Something wrong with a tree.
#[derive(Clone, Debug)]
pub struct TreeFault {
    pub page: Option<PageId>,
    pub what: String,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct TreeCheck {
    pub levels: u16,
    pub leaf_pages: u64,
    pub node_pages: u64,
    pub records: u64,
    pub deleted_records: u64,
    /// Bytes of records on the leaves.
    pub leaf_bytes: u64,
    /// Pages of the leaf segment that are in use; beside the leaves these are long values.
    pub leaf_segment: SegmentPages,
    pub top_segment: SegmentPages,
    pub faults: Vec<TreeFault>,
}

impl TreeCheck {
    fn fault(&mut self, page: PageId, what: impl Into<String>) {
        // A damaged tree could have as many faults as records; the first ones are enough.
        if self.faults.len() < 100 {
            self.faults.push(TreeFault { page: Some(page), what: what.into() });
        }
    }
}

impl Tree {
    /// Checks the tree. `visit` gets each leaf record: the page and the origin. An error is one of reading, or of
    /// `visit`; faults of the tree are in the result.
    pub fn check(&self, store: &Store, visit: &mut dyn FnMut(&[u8], usize) -> Result<()>) -> Result<TreeCheck> {
        let mut found = TreeCheck::default();
        {
            let mut mtr = Mtr::begin(store);
            found.leaf_segment = segment::pages(&mut mtr, self.leaf_segment)?;
            found.top_segment = segment::pages(&mut mtr, self.top_segment)?;
        }
        let top = index::level(&store.read(self.page_id(self.root))?);
        found.levels = top + 1;
        let mut leftmost = self.root;
        // The pages of a level in the order of the pointers above them.
        let mut children: Vec<PageNo> = vec![self.root];
        for level in (0..=top).rev() {
            let (next_leftmost, below) = self.check_level(store, level, leftmost, &children, &mut found, visit)?;
            leftmost = next_leftmost;
            children = below;
        }
        if found.top_segment.used != found.node_pages + u64::from(top == 0) {
            let (used, nodes) = (found.top_segment.used, found.node_pages);
            found.fault(self.page_id(self.root), format!("{used} pages in the top segment, {nodes} in the tree"));
        }
        // The root belongs to the top segment even when it is a leaf.
        let leaves = if top == 0 { 0 } else { found.leaf_pages };
        let used = found.leaf_segment.used;
        let has_overflow = self.leaf.trx_id_field().is_some();
        if used < leaves || (used > leaves && !has_overflow) {
            found.fault(self.page_id(self.root), format!("{used} pages in the leaf segment, {leaves} in the tree"));
        }
        Ok(found)
    }

    /// Checks one level against the pointers above it. Returns its leftmost child and the children of all its pages.
    fn check_level(
        &self,
        store: &Store,
        level: u16,
        leftmost: PageNo,
        expected: &[PageNo],
        found: &mut TreeCheck,
        visit: &mut dyn FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<(PageNo, Vec<PageNo>)> {
        let layout = self.layout(level);
        let mut children = Vec::new();
        let mut last = RecordBuffer::new();
        let mut has_last = false;
        let mut page_no = leftmost;
        let mut before = PageNo::NULL;
        let mut position = 0;
        while !page_no.is_null() {
            let id = self.page_id(page_no);
            let page = match store.read(id) {
                Ok(page) => page,
                Err(Error::Corrupt { what, .. }) => {
                    found.fault(id, what);
                    break;
                }
                Err(error) => return Err(error),
            };
            if expected.get(position) != Some(&page_no) {
                found.fault(id, format!("number {position} of level {level}, but the level above points elsewhere"));
                if position >= expected.len() {
                    break;
                }
            }
            position += 1;
            if header::page_type(&page) != PageType::INDEX
                || index::level(&page) != level
                || index::index_id(&page) != self.id
            {
                found.fault(id, format!("not a page of level {level} of index {}", self.id));
                break;
            }
            if previous(&page) != before {
                found.fault(id, format!("previous page is {}, came from {before}", previous(&page)));
            }
            if let Err(cause) = index::validate(&page, Some(layout)) {
                found.fault(id, cause.to_string());
                before = page_no;
                page_no = following(&page);
                has_last = false;
                continue;
            }
            if level == 0 {
                found.leaf_pages += 1;
                found.leaf_bytes += index::data_bytes(&page) as u64;
            } else {
                found.node_pages += 1;
            }
            if index::record_count(&page) == 0 && page_no != self.root {
                found.fault(id, "a page without records");
            }
            let mut is_first = true;
            let mut origin = index::next(&page, INFIMUM).unwrap_or(SUPREMUM);
            while origin != SUPREMUM {
                let at = usize::from(origin);
                if is_first {
                    let should = level > 0 && before.is_null();
                    if record::is_min_record(&page, at) != should {
                        found.fault(id, "the mark of the smallest record");
                    }
                    if has_last {
                        let order = record::compare_records(layout, last.bytes(), last.origin(), &page, at);
                        if !matches!(order, Ok(Ordering::Less)) {
                            found.fault(id, "the first record is not behind the last of the page before");
                        }
                    }
                }
                is_first = false;
                if level == 0 {
                    found.records += 1;
                    found.deleted_records += u64::from(record::is_deleted(&page, at));
                    visit(&page, at)?;
                } else if let Ok(child) = self.node.child(&page, at) {
                    children.push(child);
                    self.check_pointer(store, &page, at, child, level, found)?;
                }
                let next = index::next(&page, origin).unwrap_or(SUPREMUM);
                if next == SUPREMUM {
                    has_last = last.copy(&page, layout, at).is_ok();
                }
                origin = next;
            }
            before = page_no;
            page_no = following(&page);
        }
        if position < expected.len() {
            let missing = expected.len() - position;
            found.fault(self.page_id(before), format!("level {level} ends here, {missing} pages too early"));
        }
        Ok((children.first().copied().unwrap_or(PageNo::NULL), children))
    }

    /// A pointer is not greater than the first record of its child; between node pages it equals it.
    fn check_pointer(
        &self,
        store: &Store,
        page: &[u8],
        origin: usize,
        child: PageNo,
        level: u16,
        found: &mut TreeCheck,
    ) -> Result<()> {
        if record::is_min_record(page, origin) {
            return Ok(());
        }
        let id = self.page_id(child);
        let below = match store.read(id) {
            Ok(page) => page,
            // Reported when its level is checked.
            Err(Error::Corrupt { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Ok(first) = index::first(&below) else { return Ok(()) };
        if first == SUPREMUM {
            return Ok(());
        }
        let order = if level == 1 {
            let mut pointer = RecordBuffer::new();
            match pointer.build_node_pointer(&self.node, &self.leaf, &below, usize::from(first), child) {
                Ok(()) => record::compare_records(&self.node, page, origin, pointer.bytes(), pointer.origin()),
                Err(_) => return Ok(()),
            }
        } else {
            record::compare_records(&self.node, page, origin, &below, usize::from(first))
        };
        match order {
            Ok(Ordering::Equal) => {}
            Ok(Ordering::Less) if level == 1 => {}
            _ => found.fault(id, "the pointer from above does not agree with the first record"),
        }
        Ok(())
    }
}
