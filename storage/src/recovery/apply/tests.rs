//! Random work on pages, a crash at any I/O, recovery (crashing too, now and then), and a comparison with a model.
//!
//! Every mini-transaction writes its number into a counter page. After recovery that number tells how many of them
//! survived: at least those whose log had been flushed. Each page has to be exactly as that many of them left it.

use std::collections::{BTreeMap, BTreeSet};

use format::ids::PageNo;
use format::page::header::PageType;
use format::redo::PageOp;

use super::*;
use crate::config::FlushLogAtCommit;
use crate::io::sim::{Random, SimDisk};
use crate::mtr::Mtr;
use crate::segment::{self, Direction, Segment, survey};
use crate::tablespace::Algorithm;

const COUNTER_SPACE: SpaceId = SpaceId(0);
const COUNTER_PAGE: PageId = PageId::new(COUNTER_SPACE, PageNo(3));
const COUNTER_OFFSET: usize = 100;

#[derive(Clone, Debug)]
enum Change {
    Create { space: SpaceId, segment: Segment },
    Allocate { page: PageId, byte: u8 },
    Free { page: PageId },
    Write { page: PageId, offset: usize, bytes: Vec<u8> },
}

/// What mini-transactions did, in order; and the state they add up to.
#[derive(Default)]
struct Model {
    /// By number, from 1 on.
    mtrs: Vec<Vec<Change>>,
    /// Dropped at all, and known to be dropped.
    drops: BTreeMap<SpaceId, bool>,
}

type Pages = BTreeMap<PageId, Vec<u8>>;

impl Model {
    fn state(&self, count: usize, page_bytes: usize) -> (Pages, BTreeSet<SpaceId>) {
        let mut pages = Pages::new();
        let mut spaces = BTreeSet::new();
        for change in self.mtrs[..count].iter().flatten() {
            match change {
                Change::Create { space, .. } => {
                    spaces.insert(*space);
                }
                Change::Allocate { page, byte } => {
                    let mut content = vec![0; page_bytes];
                    content[50..60].fill(*byte);
                    pages.insert(*page, content);
                }
                Change::Free { page } => {
                    pages.remove(page);
                }
                Change::Write { page, offset, bytes } => {
                    pages.get_mut(page).unwrap()[*offset..*offset + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
        (pages, spaces)
    }
}

struct World {
    random: Random,
    disk: SimDisk,
    config: Config,
    model: Model,
    /// Mini-transactions whose log has been flushed.
    durable: usize,
    segments: BTreeMap<SpaceId, Segment>,
    pages: Vec<(PageId, Segment)>,
    next_space: u32,
}

fn transforms(random: &mut Random) -> Transform {
    let algorithm = [Algorithm::NONE, Algorithm::ZLIB, Algorithm::LZ4, Algorithm::ZSTD][random.below(4) as usize];
    Transform::new(algorithm, 1)
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let block_bytes = [512, 1024, 4096][random.below(3) as usize];
        let disk = SimDisk::with_blocks(seed, block_bytes);
        let sector_bytes = if random.chance(2) { 512 } else { 4096 };
        disk.set_faults(|faults| faults.sector_bytes = sector_bytes);
        let page_bytes = if random.chance(2) { 4096 } else { 16384 };
        let config = Config {
            page_bytes,
            pool_bytes: (24 + random.below(40)) * page_bytes as u64,
            log_bytes: 256 << 10,
            log_buffer_bytes: 16 << 10,
            page_cleaners: 1 + random.below(2) as usize,
            flush_log_at_commit: FlushLogAtCommit::Sync,
            ..Config::tiny()
        };
        let mut world = World {
            random,
            disk,
            config,
            model: Model::default(),
            durable: 0,
            segments: BTreeMap::new(),
            pages: Vec::new(),
            next_space: 1,
        };
        world.create();
        world
    }

    fn open(&self) -> Result<(Arc<Store>, PageRecovery)> {
        open(Arc::new(self.disk.clone()), self.config.clone())
    }

    // After a clean start the files have to be opened by name, as the dictionary does elsewhere.
    fn open_all(&self, store: &Store) {
        for entry in self.disk.list("").unwrap().iter().filter(|entry| is_tablespace_name(&entry.name)) {
            let space = store.probe_space(&entry.name).unwrap().expect("after a clean stop all files are whole");
            store.open_space(space, &entry.name, Transform::NONE).unwrap();
        }
    }

    fn create(&mut self) {
        Store::create(&self.disk, &self.config).unwrap();
        let (store, report) = self.open().unwrap();
        assert!(report.was_clean);
        store.create_space(COUNTER_SPACE, "ibdata1", Transform::NONE).unwrap();
        let mut mtr = Mtr::begin(&store);
        segment::init_space(&mut mtr, COUNTER_SPACE, segment::space_flags(self.config.page_bytes)).unwrap();
        let segment = segment::create(&mut mtr, COUNTER_SPACE).unwrap();
        let page = segment::allocate_page(&mut mtr, segment, PageNo::NULL, Direction::None).unwrap();
        assert_eq!(mtr.page_id(page), COUNTER_PAGE);
        mtr.apply(page, PageOp::Init { id: COUNTER_PAGE, page_type: PageType::SYS }).unwrap();
        let lsn = mtr.commit();
        store.flush_log(lsn).unwrap();
        if self.random.chance(2) {
            store.close().unwrap();
        }
    }

    /// Counts a mini-transaction, and commits it.
    fn commit(&mut self, mut mtr: Mtr<'_>, changes: Vec<Change>) -> Result<Lsn> {
        let counter = mtr.latch_exclusive(COUNTER_PAGE)?;
        self.model.mtrs.push(changes);
        mtr.write(counter, COUNTER_OFFSET, &(self.model.mtrs.len() as u64).to_be_bytes());
        Ok(mtr.commit())
    }

    fn flush(&mut self, store: &Store, lsn: Lsn) -> Result<()> {
        store.commit_log(lsn)?;
        self.durable = self.model.mtrs.len();
        Ok(())
    }

    /// One random operation.
    fn step(&mut self, store: &Store) -> Result<()> {
        match self.random.below(40) {
            0 | 1 if self.segments.len() < 5 => self.create_space(store),
            2 if !self.segments.is_empty() => self.drop_space(store),
            3 => self.rename_space(store),
            4..10 => self.allocate(store),
            10..12 => self.free(store),
            12..30 => self.write(store),
            30..33 => store.flush_step(1 + self.random.below(6) as usize).map(|_| ()),
            33 => step(store).map(|_| ()),
            34 => store.checkpoint(),
            35 => self.flush(store, store.current_lsn()),
            36 => {
                for space in store.spaces().iter().filter(|space| space.id() != COUNTER_SPACE) {
                    space.set_transform(transforms(&mut self.random));
                }
                Ok(())
            }
            _ => self.read(store),
        }
    }

    fn create_space(&mut self, store: &Store) -> Result<()> {
        let space = SpaceId(self.next_space);
        self.next_space += 1;
        store.create_space(space, &format!("t{space}.ibd"), transforms(&mut self.random))?;
        let mut mtr = Mtr::begin(store);
        segment::init_space(&mut mtr, space, segment::space_flags(self.config.page_bytes))?;
        let segment = segment::create(&mut mtr, space)?;
        let lsn = self.commit(mtr, vec![Change::Create { space, segment }])?;
        self.segments.insert(space, segment);
        if self.random.chance(2) { self.flush(store, lsn) } else { Ok(()) }
    }

    fn drop_space(&mut self, store: &Store) -> Result<()> {
        let nth = self.random.below(self.segments.len() as u64) as usize;
        let space = *self.segments.keys().nth(nth).unwrap();
        self.segments.remove(&space);
        self.pages.retain(|(page, _)| page.space != space);
        self.model.drops.insert(space, false);
        store.drop_space(space)?;
        self.model.drops.insert(space, true);
        Ok(())
    }

    fn rename_space(&mut self, store: &Store) -> Result<()> {
        let Some(&space) = self.segments.keys().next() else { return Ok(()) };
        let path = format!("r{}.ibd", self.random.below(4));
        match store.rename_space(space, &path) {
            Err(Error::Exists(_)) => Ok(()),
            other => other,
        }
    }

    fn allocate(&mut self, store: &Store) -> Result<()> {
        let Some(&segment) = self.segments.values().last() else { return Ok(()) };
        let count = 1 + self.random.below(8) as u32;
        let reservation = segment::reserve(store, segment.space, count)?;
        let mut mtr = Mtr::begin(store);
        let mut changes = Vec::new();
        for _ in 0..count {
            let hint = PageNo(self.random.below(300) as u32);
            let direction = [Direction::Up, Direction::Down, Direction::None][self.random.below(3) as usize];
            let page = segment::allocate_page(&mut mtr, segment, hint, direction)?;
            let id = mtr.page_id(page);
            let byte = self.random.next() as u8;
            mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
            mtr.write(page, 50, &[byte; 10]);
            changes.push(Change::Allocate { page: id, byte });
            self.pages.push((id, segment));
        }
        drop(reservation);
        let lsn = self.commit(mtr, changes)?;
        if self.random.chance(4) { self.flush(store, lsn) } else { Ok(()) }
    }

    fn free(&mut self, store: &Store) -> Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.pages.len() as u64) as usize;
        let (page, segment) = self.pages.swap_remove(at);
        let mut mtr = Mtr::begin(store);
        segment::free_page(&mut mtr, segment, page.page)?;
        self.commit(mtr, vec![Change::Free { page }])?;
        Ok(())
    }

    fn write(&mut self, store: &Store) -> Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        let mut mtr = Mtr::begin(store);
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let (page, _) = self.pages[self.random.below(self.pages.len() as u64) as usize];
            let handle = mtr.latch_exclusive(page)?;
            let offset = 60 + self.random.below(self.config.page_bytes as u64 - 1200) as usize;
            let mut bytes = vec![self.random.next() as u8; 1 + self.random.below(1000) as usize];
            if self.random.chance(2) {
                // Bytes that no codec makes smaller.
                bytes.iter_mut().for_each(|byte| *byte = self.random.next() as u8);
            }
            mtr.write(handle, offset, &bytes);
            changes.push(Change::Write { page, offset, bytes });
        }
        let lsn = self.commit(mtr, changes)?;
        if self.random.chance(6) { self.flush(store, lsn) } else { Ok(()) }
    }

    fn read(&mut self, store: &Store) -> Result<()> {
        if !self.pages.is_empty() {
            let (page, _) = self.pages[self.random.below(self.pages.len() as u64) as usize];
            assert_eq!(header::page_id(&store.read(page)?), page);
        }
        Ok(())
    }

    /// Compares all pages with the model, which continues from what survived.
    fn check(&mut self, store: &Store, report: &PageRecovery) {
        let counter = {
            let page = store.read(COUNTER_PAGE).unwrap();
            u64::from_be_bytes(page[COUNTER_OFFSET..COUNTER_OFFSET + 8].try_into().unwrap()) as usize
        };
        assert!(counter >= self.durable, "{counter} mini-transactions survived, {} were durable", self.durable);
        assert!(counter <= self.model.mtrs.len());
        self.model.mtrs.truncate(counter);
        self.durable = counter;
        let (pages, spaces) = self.model.state(counter, self.config.page_bytes);
        for (space, &known) in &self.model.drops {
            if known {
                assert!(store.space(*space).is_none(), "tablespace {space} was dropped\n{report:?}");
            }
        }
        let gone = |space: SpaceId| self.model.drops.contains_key(&space) && store.space(space).is_none();
        for (id, content) in &pages {
            if gone(id.space) {
                continue;
            }
            let page = store.read(*id).unwrap();
            let end = self.config.page_bytes - header::TRAILER_BYTES;
            assert!(page[header::BODY..end] == content[header::BODY..end], "page {id} differs after {counter}");
        }
        for &space in spaces.iter().filter(|&&space| !gone(space)) {
            let survey = survey::survey(store, space).unwrap();
            assert_eq!(survey.errors, Vec::<String>::new());
            let owned: BTreeSet<_> = survey.segments[0].pages.iter().map(|&page| PageId::new(space, page)).collect();
            let wanted: BTreeSet<_> = pages.keys().copied().filter(|page| page.space == space).collect();
            assert_eq!(owned, wanted, "pages of tablespace {space}");
        }
        // Tablespaces without a surviving mini-transaction, and those half dropped, are removed.
        for space in store.spaces().iter().map(|space| space.id()).filter(|&space| space != COUNTER_SPACE) {
            if !spaces.contains(&space) || self.model.drops.contains_key(&space) {
                store.drop_space(space).unwrap();
                self.model.drops.insert(space, true);
            }
        }
        self.segments.clear();
        for change in self.model.mtrs.iter().flatten() {
            if let Change::Create { space, segment } = change
                && store.space(*space).is_some()
            {
                self.segments.insert(*space, *segment);
            }
        }
        let segments = &self.segments;
        self.pages = pages.keys().filter_map(|page| Some((*page, *segments.get(&page.space)?))).collect();
    }

    /// Runs until the disk dies, `steps` at most.
    fn live(&mut self, store: &Store, steps: usize) {
        for _ in 0..steps {
            match self.step(store) {
                Ok(()) => {}
                Err(error) => {
                    assert!(self.disk.is_crashed(), "an error without a crash: {error}");
                    return;
                }
            }
        }
    }

    /// Opens after a crash, with further crashes in between sometimes.
    fn recover(&mut self) -> (Arc<Store>, PageRecovery) {
        loop {
            if self.random.chance(3) {
                let at = 1 + self.random.below(60);
                self.disk.set_faults(|faults| faults.crash_at = Some(at));
            }
            match self.open() {
                Ok((store, report)) => {
                    // It has not fired yet, and must not fire while the model compares.
                    self.disk.set_faults(|faults| faults.crash_at = None);
                    if report.was_clean {
                        self.open_all(&store);
                    }
                    return (store, report);
                }
                Err(error) => {
                    assert!(self.disk.is_crashed(), "recovery failed: {error}");
                    self.disk = self.disk.crash();
                }
            }
        }
    }
}

/// Names the seed, if the test fails.
struct Says(u64);

impl Drop for Says {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

fn run(seed: u64, lives: usize, short: u8) {
    let _says = Says(seed);
    let mut world = World::new(seed);
    for _ in 0..lives {
        world.disk = world.disk.crash();
        let (store, report) = world.recover();
        world.check(&store, &report);
        let at = world.disk.changes() + 1 + world.random.below(600);
        world.disk.set_faults(|faults| {
            faults.crash_at = Some(at);
            faults.short_of_256 = short;
        });
        world.live(&store, 500);
        if !world.disk.is_crashed() && world.random.chance(2) {
            world.disk.set_faults(|faults| faults.crash_at = None);
            store.close().unwrap();
            world.durable = world.model.mtrs.len();
            drop(store);
            let (store, report) = world.open().unwrap();
            assert!(report.was_clean);
            for &space in world.segments.keys() {
                assert!(store.space(space).is_none());
            }
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("GLASSINE_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let first = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    first..first + count
}

#[test]
fn what_was_durable_survives_crashes_at_any_point() {
    for seed in seeds() {
        run(seed, 4, 0);
    }
}

#[test]
fn short_reads_and_writes_are_continued() {
    for seed in seeds().take(10) {
        run(seed + 1_000_000, 2, 100);
    }
}

#[test]
fn a_failed_sync_poisons_and_loses_nothing_durable() {
    for seed in seeds().take(30) {
        let mut world = World::new(seed + 2_000_000);
        world.disk = world.disk.crash();
        let (store, report) = world.recover();
        world.check(&store, &report);
        let failing = world.disk.syncs() + 1 + world.random.below(30);
        world.disk.set_faults(|faults| faults.failing_sync = Some(failing));
        let mut failed = false;
        for _ in 0..400 {
            match world.step(&store) {
                Ok(()) => assert!(!store.is_poisoned()),
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
        if failed {
            assert!(store.is_poisoned());
            assert!(matches!(store.flush_log(Lsn(store.current_lsn().0)), Err(Error::Poisoned) | Ok(())));
            // No later call claims that all is durable now, and no checkpoint passes what is not.
            let checkpoint = store.redo().checkpoint_lsn();
            assert!(store.pool().sync_written().is_err(), "seed {seed}: a sync after a failed one succeeds");
            assert!(store.checkpoint().is_err(), "seed {seed}: a checkpoint after a failed sync succeeds");
            assert!(!matches!(store.checkpoint_step(), Ok(true)), "seed {seed}: the checkpoint moved");
            assert_eq!(store.redo().checkpoint_lsn(), checkpoint, "seed {seed}");
        }
        drop(store);
        world.disk = world.disk.crash();
        let (store, report) = world.recover();
        world.check(&store, &report);
    }
}

#[test]
fn a_full_disk_is_survived_without_a_restart() {
    for seed in seeds().take(20) {
        let mut world = World::new(seed + 3_000_000);
        world.disk = world.disk.crash();
        let (store, report) = world.recover();
        world.check(&store, &report);
        world.live(&store, 100);
        let room = world.disk.used_blocks() + world.random.below(60);
        world.disk.set_faults(|faults| faults.capacity_blocks = Some(room));
        let mut full = 0;
        for step in 0..300 {
            // Operations that need room may fail half way in a caller as careless as this one, so it only writes; the
            // careful path is `reserve`.
            let result = match step % 8 {
                0 => match world.segments.values().last() {
                    Some(segment) => segment::reserve(&store, segment.space, 100).map(|_| ()),
                    None => world.create_space(&store).or_else(|error| match error {
                        Error::DiskFull { .. } => Ok(()),
                        other => Err(other),
                    }),
                },
                1 => store.flush_step(8).map(|_| ()),
                _ => world.write(&store),
            };
            match result {
                Ok(()) => {}
                Err(Error::DiskFull { .. }) => full += 1,
                Err(error) => panic!("seed {seed}: {error}"),
            }
            assert!(!store.is_poisoned());
            if full > 5 {
                world.disk.set_faults(|faults| faults.capacity_blocks = None);
            }
        }
        world.disk.set_faults(|faults| faults.capacity_blocks = None);
        store.checkpoint().unwrap();
        world.flush(&store, store.current_lsn()).unwrap();
        drop(store);
        world.disk = world.disk.crash();
        let (store, report) = world.recover();
        world.check(&store, &report);
    }
}

#[test]
fn a_log_of_another_size_is_taken_at_a_clean_start() {
    let mut world = World::new(7);
    let (store, _) = world.recover();
    store.checkpoint().unwrap();
    world.config.log_bytes = 1 << 20;
    store.set_config(|config| config.log_bytes = 1 << 20);
    store.close().unwrap();
    drop(store);
    let (store, report) = world.open().unwrap();
    assert!(report.was_clean);
    assert_eq!(store.redo().capacity(), 1 << 20);
    store.close().unwrap();
    drop(store);
    world.config.log_bytes = 512 << 10;
    let (store, _) = world.open().unwrap();
    assert_eq!(store.redo().capacity(), 512 << 10);
}
