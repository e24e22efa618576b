//! The store under real threads and on a real directory: many mini-transactions at once, cleaners beside them, a pool
//! much smaller than the data and a log that laps its ring. Counters on pages must add up, live and after a reopen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::PageType;
use format::redo::PageOp;
use storage::config::FlushMethod;
use storage::io::linux::LinuxDisk;
use storage::io::sim::SimDisk;
use storage::recovery::apply;
use storage::segment::{self, Direction, survey};
use storage::store::{Store, Transform};
use storage::tablespace::Algorithm;
use storage::{Config, Mtr};

const SPACE: SpaceId = SpaceId(1);
const OFFSET: usize = 64;
const THREADS: u64 = 4;
const ROUNDS: u64 = 5000;

fn config() -> Config {
    Config {
        pool_bytes: 4 << 20,
        log_bytes: 2 << 20,
        log_buffer_bytes: 256 << 10,
        flush_method: FlushMethod::ODirect,
        lru_scan_depth: 32,
        io_capacity: 1000,
        io_capacity_max: 4000,
        ..Config::default()
    }
}

fn counter(page: &[u8]) -> u64 {
    u64::from_be_bytes(page[OFFSET..OFFSET + 8].try_into().unwrap())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Each mini-transaction adds 1 to two pages, latched in order.
fn add_to_two(store: &Store, pages: &[PageId], random: &mut Random) -> format::ids::Lsn {
    let (mut a, mut b) = (random.below(pages.len() as u64), random.below(pages.len() as u64));
    if a > b {
        std::mem::swap(&mut a, &mut b);
    }
    let mut mtr = Mtr::begin(store);
    for at in [a, b] {
        let page = mtr.latch_exclusive(pages[at as usize]).unwrap();
        let count = counter(mtr.page(page)) + 1;
        mtr.write(page, OFFSET, &count.to_be_bytes());
        // Some pages compress, some do not.
        let noise: Vec<u8> = (0..200).map(|_| random.below(256) as u8).collect();
        let offset = 100 + random.below(15000) as usize;
        mtr.write(page, offset, &noise);
    }
    mtr.commit()
}

#[test]
fn counters_add_up_under_threads_and_after_a_kill() {
    let root = std::env::temp_dir().join(format!("glassine-threads-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir(&root).unwrap();
    let disk = Arc::new(LinuxDisk::new(&root));
    Store::create(&*disk, &config()).unwrap();

    let (store, report) = apply::open(disk.clone(), config()).unwrap();
    assert!(report.was_clean);
    store.start_threads();
    store.create_space(SPACE, "t.ibd", Transform::new(Algorithm::ZSTD, 1)).unwrap();
    let mut mtr = Mtr::begin(&store);
    segment::init_space(&mut mtr, SPACE, segment::space_flags(store.page_bytes())).unwrap();
    let segment = segment::create(&mut mtr, SPACE).unwrap();
    mtr.commit();
    let mut pages = Vec::new();
    for _ in 0..1000 {
        let _reservation = segment::reserve(&store, SPACE, 1).unwrap();
        let mut mtr = Mtr::begin(&store);
        let page = segment::allocate_page(&mut mtr, segment, PageNo::NULL, Direction::Up).unwrap();
        let id = mtr.page_id(page);
        mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
        mtr.commit();
        pages.push(id);
    }

    let durable = AtomicU64::new(0);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, pages, durable, reads) = (&store, &pages, &durable, &reads);
            scope.spawn(move || {
                let mut random = Random(thread + 1);
                for round in 0..ROUNDS {
                    let lsn = add_to_two(store, pages, &mut random);
                    if round % 50 == 0 {
                        store.flush_log(lsn).unwrap();
                    }
                    let page = pages[random.below(pages.len() as u64) as usize];
                    let guard = store.read(page).unwrap();
                    assert_eq!(format::page::header::page_id(&guard), page);
                    let hint = guard.hint();
                    drop(guard);
                    if let Some(guard) = store.try_reacquire(page, hint) {
                        assert_eq!(guard.hint(), hint);
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                }
                store.flush_log(store.current_lsn()).unwrap();
                durable.fetch_add(ROUNDS, Ordering::Relaxed);
            });
        }
    });
    let sum = |store: &Store| pages.iter().map(|&page| counter(&store.read(page).unwrap())).sum::<u64>();
    let wanted = THREADS * ROUNDS * 2;
    assert_eq!(sum(&store), wanted);
    assert!(reads.load(Ordering::Relaxed) > 1000);
    let status = store.status();
    assert!(status.lsn_current > 2 * config().log_bytes, "the ring was lapped");
    assert!(status.pages_compressed > 0 && status.pool_evicted > 0 && status.doublewrite_pages > 0, "{status:?}");
    println!("{status:#?}");

    // As a kill leaves it: no close. The threads end when the last reference to the store is dropped.
    drop(store);
    let store = open_again(&disk);
    assert_eq!(sum(&store), wanted);
    assert_eq!(survey::survey(&store, SPACE).unwrap().errors, Vec::<String>::new());
    store.start_threads();
    store.close().unwrap();
    drop(store);

    let (store, report) = apply::open(disk.clone(), config()).unwrap();
    assert!(report.was_clean);
    store.open_space(SPACE, "t.ibd", Transform::NONE).unwrap();
    assert_eq!(sum(&store), wanted);
    drop(store);
    std::fs::remove_dir_all(root).unwrap();
}

/// As many threads as the smallest pool has frames latch a page each, and then want a second page: in a pool that lets
/// all of them begin, no frame would be left for any of them.
#[test]
fn threads_that_latch_every_frame_take_turns() {
    const THREADS: usize = 40;
    let config = Config { background_threads: true, pool_bytes: 0, ..Config::tiny() };
    let disk = Arc::new(SimDisk::new(1));
    Store::create(&*disk, &config).unwrap();
    let (store, _) = apply::open(disk, config).unwrap();
    store.start_threads();
    store.create_space(SPACE, "t.ibd", Transform::NONE).unwrap();
    let mut mtr = Mtr::begin(&store);
    segment::init_space(&mut mtr, SPACE, segment::space_flags(store.page_bytes())).unwrap();
    let segment = segment::create(&mut mtr, SPACE).unwrap();
    mtr.commit();
    let allocate = |_| {
        let _reservation = segment::reserve(&store, SPACE, 1).unwrap();
        let mut mtr = Mtr::begin(&store);
        let page = segment::allocate_page(&mut mtr, segment, PageNo::NULL, Direction::Up).unwrap();
        let id = mtr.page_id(page);
        mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
        mtr.commit();
        id
    };
    let pages: Vec<PageId> = (0..2 * THREADS).map(allocate).collect();
    let (send, ended) = mpsc::channel();
    for thread in 0..THREADS {
        let (store, send, first, second) = (store.clone(), send.clone(), pages[thread], pages[THREADS + thread]);
        std::thread::spawn(move || {
            for round in 0..3 {
                let outcome = if (thread + round) % 2 == 0 {
                    let mut mtr = Mtr::begin(&store);
                    let one = mtr.latch_exclusive(first).unwrap();
                    std::thread::sleep(Duration::from_millis(10));
                    mtr.latch_exclusive(second).map(|other| {
                        mtr.write(one, OFFSET, &[1]);
                        mtr.write(other, OFFSET, &[1]);
                        mtr.commit();
                    })
                } else {
                    let _one = store.read(first).unwrap();
                    std::thread::sleep(Duration::from_millis(10));
                    store.read(second).map(drop)
                };
                send.send(outcome).unwrap();
            }
        });
    }
    for _ in 0..3 * THREADS {
        ended.recv_timeout(Duration::from_secs(50)).expect("threads wait for each other").unwrap();
    }
    store.close().unwrap();
}

/// The old store's threads hold it for a moment longer, and with it the directory.
fn open_again(disk: &Arc<LinuxDisk>) -> Arc<Store> {
    for _ in 0..200 {
        match apply::open(disk.clone(), config()) {
            Ok((store, report)) => {
                assert!(!report.was_clean);
                return store;
            }
            Err(storage::Error::Exists(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the directory stays locked");
}
