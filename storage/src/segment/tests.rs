//! Segments against a set of page numbers, on a simulated disk.

use std::collections::BTreeSet;
use std::sync::Arc;

use format::page::header::{self, PageType};
use format::page::space as layout;
use format::redo::PageOp;

use super::*;
use crate::io::sim::{Random, SimDisk};
use crate::recovery::apply;
use crate::store::Transform;
use crate::{Config, Error};
use format::ids::PageId;

const SPACE: SpaceId = SpaceId(1);

fn store(page_bytes: usize) -> Arc<Store> {
    let disk = SimDisk::new(1);
    let config = Config { page_bytes, pool_bytes: (200 * page_bytes) as u64, log_bytes: 4 << 20, ..Config::tiny() };
    Store::create(&disk, &config).unwrap();
    let (store, _) = apply::open(Arc::new(disk), config).unwrap();
    store.create_space(SPACE, "t.ibd", Transform::NONE).unwrap();
    let mut mtr = Mtr::begin(&store);
    init_space(&mut mtr, SPACE, space_flags(page_bytes)).unwrap();
    mtr.commit();
    store
}

fn create_one(store: &Store) -> Segment {
    let mut mtr = Mtr::begin(store);
    let segment = create(&mut mtr, SPACE).unwrap();
    mtr.commit();
    segment
}

fn allocate_one(store: &Store, segment: Segment, hint: PageNo, direction: Direction) -> PageNo {
    let reservation = reserve(store, SPACE, 1).unwrap();
    let mut mtr = Mtr::begin(store);
    let page = allocate_page(&mut mtr, segment, hint, direction).unwrap();
    let id = mtr.page_id(page);
    assert!(header::is_zero(mtr.page(page)));
    mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
    mtr.commit();
    drop(reservation);
    id.page
}

fn free_one(store: &Store, segment: Segment, page: PageNo) {
    let mut mtr = Mtr::begin(store);
    free_page(&mut mtr, segment, page).unwrap();
    mtr.commit();
}

fn drop_all(store: &Store, segment: Segment) -> usize {
    let mut steps = 1;
    loop {
        let mut mtr = Mtr::begin(store);
        let done = drop_step(&mut mtr, segment).unwrap();
        mtr.commit();
        if done {
            return steps;
        }
        steps += 1;
    }
}

#[test]
fn a_fresh_table_has_the_bytes_of_real_files() {
    let store = store(16384);
    let (top, leaf) = (create_one(&store), create_one(&store));
    assert_eq!((top.inode_page, top.inode_offset), (PageNo(2), 50));
    assert_eq!((leaf.inode_page, leaf.inode_offset), (PageNo(2), 242));
    assert_eq!(Segment::read(&leaf.to_bytes(), 0), Some(leaf));
    assert_eq!(Segment::read(&[0; 10], 0), None);
    assert_eq!(allocate_one(&store, top, PageNo::NULL, Direction::None), layout::ROOT_PAGE);

    let page = store.read(PageId::new(SPACE, PageNo(0))).unwrap();
    assert_eq!(header::page_type(&page), PageType::FSP_HDR);
    assert_eq!(layout::free_limit(&page), 64);
    assert_eq!(layout::flags(&page).0, 0x21);
    assert_eq!(page[layout::FRAGMENT_USED..layout::FRAGMENT_USED + 4], [0, 0, 0, 4]);
    // The list of shared extents has one member, extent 0, whose node is at 158.
    let list = Base::read(&page, layout::FREE_FRAGMENT_LIST);
    assert_eq!((list.length, list.first), (1, Address::new(PageNo(0), 158)));
    assert_eq!(layout::next_segment_id(&page), 3);
    assert_eq!(page[layout::DESCRIPTORS + layout::EXTENT_BITMAP], 0xAA);
    assert_eq!(page[layout::DESCRIPTORS + layout::EXTENT_BITMAP + 1], 0xFF);
    let inodes = store.read(PageId::new(SPACE, PageNo(2))).unwrap();
    assert_eq!(inodes[50 + layout::INODE_FRAGMENTS..][..8], [0, 0, 0, 3, 0xFF, 0xFF, 0xFF, 0xFF]);
}

#[test]
fn a_growing_segment_gets_single_pages_and_then_extents() {
    let store = store(16384);
    let segment = create_one(&store);
    let mut last = PageNo::NULL;
    let pages: Vec<u32> = (0..300)
        .map(|_| {
            last = allocate_one(&store, segment, PageNo(last.0.wrapping_add(1)), Direction::Up);
            last.0
        })
        .collect();
    // 32 single pages behind the fixed ones, then whole extents, in order.
    assert_eq!(pages[..32], (3..35).collect::<Vec<_>>());
    assert_eq!(pages[32..], (64..64 + 268).collect::<Vec<_>>());
    let survey = survey::survey(&store, SPACE).unwrap();
    assert_eq!(survey.errors, Vec::<String>::new());
    assert_eq!(survey.segments[0].pages.len(), 300);
    let mut mtr = Mtr::begin(&store);
    assert_eq!(super::pages(&mut mtr, segment).unwrap(), SegmentPages { used: 300, reserved: 32 + 5 * 64 });
    drop(mtr);
    assert!(drop_all(&store, segment) < 12);
    let survey = survey::survey(&store, SPACE).unwrap();
    assert_eq!((survey.errors.len(), survey.segments.len()), (0, 0));
    assert_eq!(survey.fixed, [0, 1, 2].map(PageNo));
    assert_eq!(survey.free, u64::from(survey.size) - 3);
}

#[test]
fn many_segments_need_more_inode_pages_and_give_them_back() {
    let store = store(4096);
    let segments: Vec<_> = (0..20).map(|_| create_one(&store)).collect();
    assert!(segments.iter().any(|segment| segment.inode_page != PageNo(2)));
    for &segment in &segments {
        allocate_one(&store, segment, PageNo::NULL, Direction::None);
    }
    assert_eq!(survey::survey(&store, SPACE).unwrap().errors, Vec::<String>::new());
    for &segment in &segments {
        drop_all(&store, segment);
    }
    let survey = survey::survey(&store, SPACE).unwrap();
    assert_eq!((survey.errors, survey.fixed), (Vec::new(), [0, 1, 2].map(PageNo).to_vec()));
}

#[test]
fn random_allocation_adds_up() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let store = store(if seed % 2 == 0 { 4096 } else { 16384 });
        let mut live: Vec<(Segment, Vec<PageNo>)> = Vec::new();
        for round in 0..1500 {
            match random.below(100) {
                0..3 if live.len() < 6 => live.push((create_one(&store), Vec::new())),
                3 if !live.is_empty() => {
                    let (segment, _) = live.swap_remove(random.below(live.len() as u64) as usize);
                    drop_all(&store, segment);
                }
                4..70 if !live.is_empty() => {
                    let at = random.below(live.len() as u64) as usize;
                    let (segment, pages) = &mut live[at];
                    let hint = match pages.last() {
                        Some(last) if random.chance(2) => PageNo(last.0 + 1),
                        _ => PageNo(random.below(2000) as u32),
                    };
                    let direction = [Direction::Up, Direction::Down, Direction::None][random.below(3) as usize];
                    pages.push(allocate_one(&store, *segment, hint, direction));
                }
                _ if !live.is_empty() => {
                    let at = random.below(live.len() as u64) as usize;
                    let (segment, pages) = &mut live[at];
                    if !pages.is_empty() {
                        let page = pages.swap_remove(random.below(pages.len() as u64) as usize);
                        free_one(&store, *segment, page);
                    }
                }
                _ => {}
            }
            if round % 100 == 0 {
                let survey = survey::survey(&store, SPACE).unwrap();
                assert_eq!(survey.errors, Vec::<String>::new(), "seed {seed}");
                let found: BTreeSet<_> = survey.segments.iter().flat_map(|segment| &segment.pages).collect();
                let wanted: BTreeSet<_> = live.iter().flat_map(|(_, pages)| pages).collect();
                assert_eq!(found, wanted, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_file_of_many_extents_has_more_descriptor_pages() {
    let store = store(4096);
    let segment = create_one(&store);
    // With 4K pages there is a descriptor page every 4096 pages.
    let reservation = reserve(&store, SPACE, 9000).unwrap();
    let mut last = PageNo(0);
    for _ in 0..9000 {
        let mut mtr = Mtr::begin(&store);
        let page = allocate_page(&mut mtr, segment, PageNo(last.0 + 1), Direction::Up).unwrap();
        let id = mtr.page_id(page);
        mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
        mtr.commit();
        last = id.page;
    }
    drop(reservation);
    let survey = survey::survey(&store, SPACE).unwrap();
    assert_eq!(survey.errors, Vec::<String>::new());
    assert_eq!(survey.fixed, [0, 1, 2, 4096, 4097, 8192, 8193].map(PageNo));
    assert_eq!(survey.segments[0].pages.len(), 9000);
}

#[test]
fn freeing_a_page_twice_is_an_error_and_changes_nothing() {
    let store = store(16384);
    let segment = create_one(&store);
    let page = allocate_one(&store, segment, PageNo::NULL, Direction::None);
    free_one(&store, segment, page);
    let mut mtr = Mtr::begin(&store);
    assert!(free_page(&mut mtr, segment, page).is_err());
    assert!(!mtr.has_changes());
    drop(mtr);
    assert_eq!(survey::survey(&store, SPACE).unwrap().errors, Vec::<String>::new());
}

#[test]
fn page_0_that_counts_too_much_is_damaged() {
    for (field, value) in [
        (layout::SIZE, 1 << 31),
        (layout::SIZE, u32::MAX),
        (layout::SIZE, 1 << 20),
        (layout::FREE_LIMIT, 1 << 30),
        (layout::FREE_LIMIT, u32::MAX),
        (layout::FREE_LIST, 1 << 24),
        (layout::FREE_LIST, 2),
    ] {
        let store = store(4096);
        let segment = create_one(&store);
        let pages = store.space(SPACE).unwrap().pages();
        let mut mtr = Mtr::begin(&store);
        let header = mtr.latch_exclusive(PageId::new(SPACE, layout::HEADER_PAGE)).unwrap();
        mtr.write(header, field, &value.to_be_bytes());
        mtr.commit();
        // It takes no longer than the file is.
        let told = survey::survey(&store, SPACE).is_err_and(|error| matches!(error, Error::Corrupt { .. }));
        assert!(told || !survey::survey(&store, SPACE).unwrap().errors.is_empty(), "{field} {value}");
        assert!(matches!(reserve(&store, SPACE, 100), Err(Error::Corrupt { .. })), "{field} {value}");
        let mut mtr = Mtr::begin(&store);
        let allocated = allocate_page(&mut mtr, segment, PageNo::NULL, Direction::None);
        assert!(matches!(allocated, Err(Error::Corrupt { .. })), "{field} {value}");
        assert!(!mtr.has_changes());
        drop(mtr);
        assert_eq!(store.space(SPACE).unwrap().pages(), pages);
    }
}

#[test]
fn a_survey_takes_no_longer_than_the_file_is() {
    let store = store(4096);
    create_one(&store);
    let mut mtr = Mtr::begin(&store);
    let header = mtr.latch_exclusive(PageId::new(SPACE, layout::HEADER_PAGE)).unwrap();
    for field in [layout::SIZE, layout::FREE_LIMIT] {
        mtr.write(header, field, &(1_u32 << 31).to_be_bytes());
    }
    mtr.commit();
    let errors = survey::survey(&store, SPACE).unwrap().errors;
    assert!(errors[0].contains("the file is shorter"), "{errors:?}");
    assert!(errors.len() < 100, "{errors:?}");
}
