//! A mini-transaction that was given up leaves nothing behind.

use std::sync::Arc;

use format::ids::PageNo;
use format::page::header::{BODY, PageType};

use super::*;
use crate::config::Config;
use crate::io::sim::SimDisk;
use crate::recovery::apply;
use crate::segment::{self, Direction, Segment};
use crate::tablespace::Transform;

const SPACE: SpaceId = SpaceId(7);
const PAGES: u32 = 40;

fn store(disk: &SimDisk, frames: u64) -> (Arc<Store>, Segment) {
    let config = Config { page_bytes: 4096, pool_bytes: frames * 4096, log_bytes: 4 << 20, ..Config::tiny() };
    Store::create(disk, &config).unwrap();
    let (store, _) = apply::open(Arc::new(disk.clone()), config).unwrap();
    store.create_space(SPACE, "t.ibd", Transform::NONE).unwrap();
    let mut mtr = Mtr::begin(&store);
    segment::init_space(&mut mtr, SPACE, segment::space_flags(4096)).unwrap();
    let segment = segment::create(&mut mtr, SPACE).unwrap();
    mtr.commit();
    for _ in 0..PAGES {
        let mut mtr = Mtr::begin(&store);
        let page = segment::allocate_page(&mut mtr, segment, PageNo::NULL, Direction::Up).unwrap();
        let id = mtr.page_id(page);
        mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
        mtr.write(page, BODY, &id.page.0.to_be_bytes());
        mtr.commit();
    }
    (store, segment)
}

fn page(number: u32) -> PageId {
    PageId::new(SPACE, PageNo(number))
}

/// All pages of the tablespace, as they are read.
fn content(store: &Store) -> Vec<Vec<u8>> {
    let count = store.space(SPACE).unwrap().pages();
    (0..count).filter_map(|number| Some(store.read(page(number)).ok()?.to_vec())).collect()
}

#[test]
fn an_mtr_that_is_dropped_leaves_no_trace() {
    let disk = SimDisk::new(1);
    let (store, segment) = store(&disk, 200);
    let mut mtr = Mtr::begin(&store);
    segment::free_page(&mut mtr, segment, PageNo(20)).unwrap();
    mtr.commit();
    let (before, end) = (content(&store), store.current_lsn());

    let mut mtr = Mtr::begin(&store);
    let ten = mtr.latch_exclusive(page(10)).unwrap();
    mtr.write(ten, BODY, b"changed");
    mtr.write(ten, BODY + 100, b"twice");
    // Descriptors and inode change; the pages that come are resident (the one freed above) or were never made.
    for hint in [20, 21, 22] {
        let fresh = segment::allocate_page(&mut mtr, segment, PageNo(hint), Direction::Up).unwrap();
        let id = mtr.page_id(fresh);
        mtr.apply(fresh, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
    }
    segment::free_page(&mut mtr, segment, PageNo(11)).unwrap();
    // An operation that does not fit fails without a trace of its own.
    assert!(mtr.apply(ten, PageOp::UndoAppend { record: &[1; 5000] }).is_err());
    drop(mtr);

    assert_eq!(store.current_lsn(), end, "nothing was logged");
    assert!(content(&store) == before && !store.is_poisoned());
    // And the next one finds what it needs.
    let mut mtr = Mtr::begin(&store);
    let fresh = segment::allocate_page(&mut mtr, segment, PageNo(20), Direction::Up).unwrap();
    assert_eq!(mtr.page_id(fresh), page(20));
    let id = mtr.page_id(fresh);
    mtr.apply(fresh, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
    mtr.commit();
    assert!(store.current_lsn() > end);
}

#[test]
fn a_latch_that_fails_behind_a_change_takes_it_back() {
    let disk = SimDisk::new(2);
    let (store, _) = store(&disk, 200);
    let mut mtr = Mtr::begin(&store);
    let ten = mtr.latch_exclusive(page(10)).unwrap();
    mtr.write(ten, BODY + 8, b"half of it");
    // Behind the end of the file.
    assert!(mtr.latch_exclusive(page(9000)).is_err());
    drop(mtr);
    assert!(!store.is_poisoned());
    assert_eq!(store.read(page(10)).unwrap()[BODY + 8..][..10], [0; 10]);
}

#[test]
#[should_panic(expected = "does not take an operation that was checked before")]
fn changes_have_no_way_to_fail() {
    let disk = SimDisk::new(3);
    let (store, _) = store(&disk, 200);
    let mut mtr = Mtr::begin(&store);
    let ten = mtr.latch_exclusive(page(10)).unwrap();
    mtr.certain().apply(ten, PageOp::UndoAppend { record: &[1; 5000] });
}

#[test]
fn changes_that_are_not_committed_end_the_store() {
    let disk = SimDisk::new(4);
    let (store, _) = store(&disk, 200);
    let mut mtr = Mtr::begin(&store);
    let ten = mtr.latch_exclusive(page(10)).unwrap();
    // The last operation that may fail, and does: nothing has changed.
    assert!(mtr.change(ten, PageOp::UndoAppend { record: &[1; 5000] }).is_err());
    assert!(!store.is_poisoned());
    mtr = Mtr::begin(&store);
    let ten = mtr.latch_exclusive(page(10)).unwrap();
    drop(mtr.change(ten, PageOp::Write { offset: BODY as u16, bytes: b"x" }).unwrap());
    assert!(store.is_poisoned());
}
