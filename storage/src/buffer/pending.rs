//! Redo that recovery has read from the log and not applied to its pages yet.
//!
//! After a crash an instance serves as soon as its log has been read: the log's records are kept here, by page, and a
//! page that is read from the disk gets its records before any other thread sees it. In the background a cursor visits
//! the remaining pages in the order of their ids and makes them dirty, until nothing is left.
//!
//! ```text
//!   page   13:4     13:5       13:9 ...           in the order of ids; the cursor goes through them
//!            |        |          |
//!   record   0 -> 3   1          2 -> 4 -> 5      chains in the order of the log, offsets into its bytes
//!
//!   load(13:9):  disk --> [LSN 100] + records 2, 4, 5 --> [LSN 180]   the frame stays clean: it may leave, and come again
//!   cursor:      load, mark dirty as of the checkpoint, done
//! ```
//!
//! Invariants:
//!
//! * While a page is not done, the checkpoint does not move: the log has what the disk lacks. A page that cannot be
//!   read is done when its redo is durable elsewhere (`store::aside`).
//! * A page that is changed, or that the cursor reaches, becomes dirty as of the checkpoint, and is done. So an early
//!   write of a change made since the start cannot let the checkpoint pass the recovered changes below it; and the
//!   disk's version of a page that is not done was written before the crash.
//! * Applying is repeatable: a record is applied only to a page whose LSN is older.
//!
//! Source: instant restart (Graefe, Guy, Sauer: Instant Recovery with Write-Ahead Logging, 2016).
//!
//! Not here: which records the log has (`recovery::scan`), and when the cursor moves (`recovery::apply`).

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use format::ids::{Lsn, PageId};
use format::page::header;
use format::redo::{PageOp, Record};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::sync::{Mutex, Rank, RwLock};

const NONE: u32 = u32::MAX;

/// A page record of the log.
struct Item {
    /// Where it begins in the bytes.
    offset: u32,
    group: u32,
    /// The next record of the same page.
    next: u32,
}

struct Page {
    id: PageId,
    first: u32,
    last: u32,
    done: AtomicBool,
}

/// All redo of one page, extracted: of a page that cannot be read (see `store::aside`), or that may be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    pub page: PageId,
    pub why: Box<str>,
    /// First LSN, LSN behind, and records that name their page.
    pub groups: Vec<(Lsn, Lsn, Vec<u8>)>,
}

/// Redo of many pages. See the module header.
pub struct PendingRedo {
    bytes: Vec<u8>,
    /// First LSN and LSN behind it.
    groups: Vec<(Lsn, Lsn)>,
    items: Vec<Item>,
    pages: Vec<Page>,
    index: FxHashMap<u64, u32>,
    /// Pages by number, in the order of ids.
    todo: Mutex<VecDeque<Range<u32>>>,
    order: Vec<u32>,
    left: AtomicUsize,
    /// The log continues behind these groups.
    more: bool,
    /// Pages that the log changes without making them anew, and that are zero: with their redo from earlier parts of
    /// the log.
    empty: Mutex<FxHashMap<u64, Aside>>,
    /// Those pages no longer hold the checkpoint.
    let_go: AtomicBool,
}

impl Default for PendingRedo {
    fn default() -> PendingRedo {
        PendingRedo {
            bytes: Vec::new(),
            groups: Vec::new(),
            items: Vec::new(),
            pages: Vec::new(),
            index: FxHashMap::default(),
            todo: Mutex::new(Rank::Leaf, VecDeque::new()),
            order: Vec::new(),
            left: AtomicUsize::new(0),
            more: false,
            empty: Mutex::new(Rank::Leaf, FxHashMap::default()),
            let_go: AtomicBool::new(false),
        }
    }
}

/// The pending redo of a pool, with the checkpoint that it begins at; and a flag whether there is any, for threads that
/// miss a page.
pub struct Unapplied {
    redo: RwLock<Option<(Arc<PendingRedo>, Lsn)>>,
    any: AtomicBool,
}

impl Default for Unapplied {
    fn default() -> Unapplied {
        Unapplied { redo: RwLock::new(Rank::Leaf, None), any: AtomicBool::new(false) }
    }
}

impl Unapplied {
    #[inline]
    pub fn is_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub fn get(&self) -> Option<(Arc<PendingRedo>, Lsn)> {
        if !self.is_any() {
            return None;
        }
        self.redo.read().clone()
    }

    pub fn set(&self, redo: Arc<PendingRedo>, checkpoint: Lsn) {
        *self.redo.write() = Some((redo, checkpoint));
        self.any.store(true, Ordering::Release);
    }

    /// Drops the redo. False if another thread was faster.
    pub fn end(&self) -> bool {
        self.any.store(false, Ordering::Release);
        self.redo.write().take().is_some()
    }
}

impl PendingRedo {
    /// Adds a group's bytes. Its page records follow, each by [`PendingRedo::add`] with its place in the group.
    pub fn begin_group(&mut self, start: Lsn, end: Lsn, records: &[u8]) {
        self.groups.push((start, end));
        self.bytes.extend_from_slice(records);
    }

    /// Bytes of groups.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds what was put aside before this start, ahead of anything from the log.
    pub fn add_aside(&mut self, aside: &Aside) {
        for (start, end, records) in &aside.groups {
            self.begin_group(*start, *end, records);
            let (mut rest, mut previous) = (&records[..], None);
            while !rest.is_empty() {
                let behind = rest.len();
                // Its checksum is right. What is no record of this page, or one of another version, is not applied, and the
                // page stays as it is.
                match Record::decode(&mut rest, &mut previous) {
                    Ok(Record::Page { page, .. }) if page == aside.page => self.add(page, behind),
                    _ => break,
                }
            }
        }
    }

    /// Adds a record of the newest group. `behind` is how many bytes of the group follow its first byte, itself
    /// included.
    pub fn add(&mut self, page: PageId, behind: usize) {
        let number = self.items.len() as u32;
        let offset = (self.bytes.len() - behind) as u32;
        self.items.push(Item { offset, group: self.groups.len() as u32 - 1, next: NONE });
        let same = number.checked_sub(1).and_then(|_| self.pages.last()).filter(|last| last.id == page);
        if same.is_some_and(|last| last.last == number - 1) {
            // The usual case: a mini-transaction changes a page several times in a row.
            let last = self.pages.len() - 1;
            return self.link(last, number);
        }
        let next_page = self.pages.len() as u32;
        let known = *self.index.entry(page.fold()).or_insert(next_page);
        if known == next_page {
            self.pages.push(Page { id: page, first: number, last: number, done: AtomicBool::new(false) });
        } else {
            self.link(known as usize, number);
        }
    }

    fn link(&mut self, page: usize, item: u32) {
        let last = std::mem::replace(&mut self.pages[page].last, item);
        self.items[last as usize].next = item;
    }

    /// Ends the adding of groups: the cursor is set before the first page. `more`: the log continues.
    pub fn finish(&mut self, more: bool) {
        self.more = more;
        let mut order: Vec<u32> = (0..self.pages.len() as u32).collect();
        order.sort_unstable_by_key(|&page| self.pages[page as usize].id);
        self.order = order;
        self.left.store(self.pages.len(), Ordering::Release);
        self.todo.lock().push_back(0..self.pages.len() as u32);
    }

    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub fn record_count(&self) -> usize {
        self.items.len()
    }

    pub fn pages(&self) -> impl Iterator<Item = PageId> {
        self.order.iter().map(|&page| self.pages[page as usize].id)
    }

    /// Pages that are not done.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Acquire)
    }

    /// Whether the log is needed from its checkpoint on.
    pub fn holds_checkpoint(&self) -> bool {
        // In this order: a page enters the empty ones before it is done.
        self.more || self.left() > 0 || !self.let_go.load(Ordering::Acquire) && !self.empty.lock().is_empty()
    }

    /// No thread can find out which of the empty pages are lost, and the log is full: they no longer hold the
    /// checkpoint. False if they did not.
    pub fn let_go(&self) -> bool {
        self.left() == 0 && !self.empty.lock().is_empty() && !self.let_go.swap(true, Ordering::AcqRel)
    }

    /// All redo of a page.
    pub fn take_out(&self, id: PageId, why: &str) -> Aside {
        let mut aside = Aside { page: id, why: why.into(), groups: Vec::new() };
        let mut item = self.index.get(&id.fold()).map_or(NONE, |&page| self.pages[page as usize].first);
        let mut last = None;
        while item != NONE {
            let Item { group, next, .. } = self.items[item as usize];
            let (start, end) = self.groups[group as usize];
            // What was put aside may be in the log, too.
            let is_known = last != Some(group) && aside.groups.last().is_some_and(|(_, newest, _)| *newest >= end);
            if !is_known {
                if last != Some(group) {
                    aside.groups.push((start, end, Vec::new()));
                }
                last = Some(group);
                let (_, _, records) = aside.groups.last_mut().expect("just pushed");
                Record::Page { page: id, op: self.op(id, item) }.encode(&mut None, records);
            }
            item = next;
        }
        aside
    }

    /// Takes the next pages from the cursor.
    pub fn claim(&self, count: usize) -> Vec<PageId> {
        let mut todo = self.todo.lock();
        let Some(range) = todo.front_mut() else { return Vec::new() };
        let end = range.end.min(range.start + count as u32);
        let claimed = range.start..end;
        range.start = end;
        if range.start == range.end {
            todo.pop_front();
        }
        claimed.map(|at| self.pages[self.order[at as usize] as usize].id).collect()
    }

    /// Returns claimed pages that could not be done.
    pub fn unclaim(&self, pages: &[PageId]) {
        let mut todo = self.todo.lock();
        for page in pages {
            let place = self.order.partition_point(|&other| self.pages[other as usize].id < *page) as u32;
            todo.push_front(place..place + 1);
        }
    }

    fn page(&self, page: PageId) -> Option<&Page> {
        let known = &self.pages[*self.index.get(&page.fold())? as usize];
        (!known.done.load(Ordering::Acquire)).then_some(known)
    }

    /// Whether the page has records to be applied.
    pub fn wants(&self, page: PageId) -> bool {
        self.page(page).is_some()
    }

    /// Whether the page's content on disk does not matter.
    pub fn makes_anew(&self, page: PageId) -> bool {
        self.page(page).is_some_and(|page| makes_anew(&self.op(page.id, page.first)))
    }

    /// The page needs no more redo from here.
    pub fn set_done(&self, page: PageId) {
        if let Some(page) = self.page(page)
            && !page.done.swap(true, Ordering::AcqRel)
        {
            self.left.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn op(&self, page: PageId, item: u32) -> PageOp<'_> {
        // A record without ids is one of the same page as the one before: of this page.
        let mut previous = Some(page);
        match Record::decode(&mut &self.bytes[self.items[item as usize].offset as usize..], &mut previous) {
            Ok(Record::Page { op, .. }) => op,
            _ => unreachable!("it was a page record when it was added"),
        }
    }

    /// Applies the records that the page lacks; the caller has it exclusively. True if anything changed.
    pub fn apply(&self, id: PageId, bytes: &mut [u8]) -> Result<bool> {
        let Some(page) = self.page(id) else { return Ok(false) };
        let mut item = page.first;
        if header::is_zero(bytes) {
            // It was freed later, and punched; or it is lost. In the first case the log makes it anew, or it is free at
            // the end of the log.
            while item != NONE && !makes_anew(&self.op(id, item)) {
                item = self.items[item as usize].next;
            }
            if item == NONE {
                self.note_empty(self.take_out(id, "the redo log changes it, but it was never written"));
                return Ok(false);
            }
        }
        let lsn = header::lsn(bytes);
        let mut changed = false;
        while item != NONE {
            let Item { group, next, .. } = self.items[item as usize];
            let (start, end) = self.groups[group as usize];
            if end > lsn {
                self.op(id, item)
                    .apply(bytes)
                    .map_err(|cause| Error::corrupt_page(id, format!("redo of LSN {start}: {cause}")))?;
                header::set_lsn(bytes, end);
                changed = true;
            }
            item = next;
        }
        if changed && !header::is_zero(bytes) && header::page_id(bytes) != id {
            return Err(Error::corrupt_page(id, format!("its redo makes it page {}", header::page_id(bytes))));
        }
        Ok(changed)
    }

    fn note_empty(&self, own: Aside) {
        let mut empty = self.empty.lock();
        let known = empty.entry(own.page.fold()).or_insert_with(|| Aside { groups: Vec::new(), ..own.clone() });
        let newest = known.groups.last().map_or(Lsn::ZERO, |(_, end, _)| *end);
        known.groups.extend(own.groups.into_iter().filter(|(_, end, _)| *end > newest));
    }

    /// Pages that were zero after an earlier part of the log.
    pub fn add_empty(&self, pages: Vec<Aside>) {
        self.empty.lock().extend(pages.into_iter().map(|aside| (aside.page.fold(), aside)));
    }

    /// Pages that were found zero and that the log does not make anew, in order. If they are not free, they are lost.
    pub fn empty(&self) -> Vec<Aside> {
        let mut empty: Vec<_> = self.empty.lock().values().cloned().collect();
        empty.sort_by_key(|aside| aside.page);
        empty
    }
}

fn makes_anew(op: &PageOp<'_>) -> bool {
    matches!(op, PageOp::Init { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use format::ids::{PageNo, SpaceId};
    use format::page::header::PageType;

    fn id(page: u32) -> PageId {
        PageId::new(SpaceId(7), PageNo(page))
    }

    fn pending(groups: &[&[(u32, PageOp<'_>)]]) -> PendingRedo {
        let mut pending = PendingRedo::default();
        for (number, group) in groups.iter().enumerate() {
            let (mut bytes, mut previous, mut offsets) = (Vec::new(), None, Vec::new());
            for (page, op) in *group {
                offsets.push((id(*page), bytes.len()));
                Record::Page { page: id(*page), op: *op }.encode(&mut previous, &mut bytes);
            }
            let start = Lsn(100 * (number as u64 + 1));
            pending.begin_group(start, start + 100, &bytes);
            for (page, offset) in offsets {
                pending.add(page, bytes.len() - offset);
            }
        }
        pending.finish(false);
        pending
    }

    fn write(byte: &[u8]) -> PageOp<'_> {
        PageOp::Write { offset: 200, bytes: byte }
    }

    #[test]
    fn a_page_gets_its_records_in_order_and_only_those_it_lacks() {
        let pending = pending(&[&[(5, write(&[1])), (4, write(&[9])), (5, write(&[2]))], &[(5, write(&[3]))]]);
        assert_eq!((pending.page_count(), pending.record_count(), pending.left()), (2, 4, 2));
        let mut page = vec![0; 4096];
        header::init(&mut page, id(5), PageType::INDEX);
        assert!(pending.apply(id(5), &mut page).unwrap());
        assert_eq!((page[200], header::lsn(&page)), (3, Lsn(300)));
        // Again from the disk, where it was not written.
        header::set_lsn(&mut page, Lsn(200));
        page[200] = 2;
        assert!(pending.apply(id(5), &mut page).unwrap());
        assert_eq!(page[200], 3);
        assert_eq!(pending.left(), 2);
        header::set_lsn(&mut page, Lsn(300));
        assert!(!pending.apply(id(5), &mut page).unwrap());
        pending.set_done(id(5));
        assert_eq!((pending.left(), pending.wants(id(5)), pending.wants(id(4))), (1, false, true));
    }

    #[test]
    fn a_zero_page_is_made_by_the_log_or_reported() {
        let init = PageOp::Init { id: id(1), page_type: PageType::INDEX };
        let pending = pending(&[&[(1, write(&[1])), (2, write(&[1]))], &[(1, init), (1, write(&[4]))]]);
        assert!(!pending.makes_anew(id(1)));
        let (mut one, mut two) = (vec![0; 4096], vec![0; 4096]);
        assert!(pending.apply(id(1), &mut one).unwrap());
        assert_eq!(one[200], 4);
        assert!(!pending.apply(id(2), &mut two).unwrap());
        assert!(!pending.apply(id(2), &mut two).unwrap());
        let empty = pending.empty();
        assert_eq!(empty.iter().map(|aside| aside.page).collect::<Vec<_>>(), [id(2)]);
        assert_eq!(empty[0].groups.len(), 1);
    }

    #[test]
    fn what_is_put_aside_and_is_no_record_of_its_page_is_not_applied() {
        let own = Record::Page { page: id(4), op: PageOp::Write { offset: 100, bytes: &[1] } };
        let foreign = Record::Page { page: id(5), op: PageOp::Write { offset: 100, bytes: &[2] } };
        for (records, kept) in [([own, foreign], 1), ([Record::Annex { kind: 1, bytes: &[3] }, own], 0)] {
            let (mut bytes, mut previous) = (Vec::new(), None);
            records.iter().for_each(|record| record.encode(&mut previous, &mut bytes));
            let mut pending = PendingRedo::default();
            pending.add_aside(&Aside { page: id(4), why: "".into(), groups: vec![(Lsn(10), Lsn(20), bytes)] });
            pending.finish(false);
            assert_eq!((pending.record_count(), pending.page_count()), (kept, kept));
            assert!(!pending.wants(id(5)) && !pending.makes_anew(id(4)));
        }
    }

    #[test]
    fn redo_that_is_put_aside_comes_before_that_of_the_log_and_counts_once() {
        let first = pending(&[&[(5, write(&[1])), (4, write(&[9])), (5, write(&[2]))], &[(5, write(&[3]))]]);
        let aside = first.take_out(id(5), "damaged");
        assert_eq!(aside.groups.iter().map(|(start, ..)| start.0).collect::<Vec<_>>(), [100, 200]);
        // The next start finds the second group in the log, and nothing of the first.
        let (mut second, mut bytes) = (PendingRedo::default(), Vec::new());
        second.add_aside(&aside);
        Record::Page { page: id(5), op: write(&[3]) }.encode(&mut None, &mut bytes);
        second.begin_group(Lsn(200), Lsn(300), &bytes);
        second.add(id(5), bytes.len());
        second.finish(false);
        assert_eq!(second.take_out(id(5), "damaged"), aside);
        let mut page = vec![0; 4096];
        header::init(&mut page, id(5), PageType::INDEX);
        assert!(second.apply(id(5), &mut page).unwrap());
        assert_eq!((page[200], header::lsn(&page)), (3, Lsn(300)));
    }

    #[test]
    fn an_empty_page_keeps_the_checkpoint_back_until_it_is_let_go() {
        let pending = pending(&[&[(2, write(&[1]))]]);
        assert!(!pending.apply(id(2), &mut vec![0; 4096]).unwrap());
        pending.set_done(id(2));
        assert!(pending.holds_checkpoint());
        assert!(pending.let_go() && !pending.let_go());
        assert!(!pending.holds_checkpoint());
    }

    #[test]
    fn the_cursor_goes_by_place_and_takes_back_what_failed() {
        let pending = pending(&[&[(9, write(&[1])), (3, write(&[1])), (6, write(&[1]))]]);
        assert_eq!(pending.claim(2), [id(3), id(6)]);
        pending.unclaim(&[id(6)]);
        assert_eq!(pending.claim(2), [id(6)]);
        assert_eq!(pending.claim(2), [id(9)]);
        assert_eq!(pending.claim(2), []);
        for page in [3, 6, 9, 9] {
            pending.set_done(id(page));
        }
        assert_eq!(pending.left(), 0);
    }
}
