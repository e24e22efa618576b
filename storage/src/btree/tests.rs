//! A tree and a `BTreeMap` execute the same operations and must agree; after every round the tree is checked. The pages
//! are small and the keys long, so that pages split and merge and the height changes all the time.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use format::ids::{IndexId, PageNo, SpaceId};
use format::page::index::{self, INFIMUM, SUPREMUM, SearchMode};
use format::record::{FieldData, FieldLayout, Layout, RecordBuffer};
use format::redo::Patches;

use super::*;
use crate::config::Config;
use crate::io::sim::{Random, SimDisk};
use crate::recovery::apply;
use crate::tablespace::Transform;

const SPACE: SpaceId = SpaceId(7);
const INDEX: IndexId = IndexId(70);

struct Fixture {
    store: Arc<Store>,
    tree: Tree,
    disk: Arc<SimDisk>,
    config: Config,
}

fn clustered() -> Layout {
    Layout::clustered(
        vec![
            FieldLayout::variable(400, false),
            FieldLayout::fixed(6),
            FieldLayout::fixed(7),
            FieldLayout::variable(2000, false).nullable(true),
        ],
        1,
    )
}

fn secondary() -> Layout {
    Layout::secondary(vec![FieldLayout::variable(400, false), FieldLayout::fixed(8)])
}

impl Fixture {
    fn new(layout: Layout, frames: u64) -> Fixture {
        let disk = Arc::new(SimDisk::new(1));
        let config = Config {
            page_bytes: 4096,
            pool_bytes: frames * 4096,
            log_bytes: 16 << 20,
            log_buffer_bytes: 1 << 20,
            ..Config::tiny()
        };
        Store::create(&*disk, &config).unwrap();
        let (store, _) = apply::open(disk.clone(), config.clone()).unwrap();
        store.create_space(SPACE, "tree.ibd", Transform::NONE).unwrap();
        let mut mtr = Mtr::begin(&store);
        segment::init_space(&mut mtr, SPACE, segment::space_flags(4096)).unwrap();
        mtr.commit();
        let mut mtr = Mtr::begin(&store);
        let root = create(&mut mtr, SPACE, INDEX).unwrap();
        mtr.commit();
        assert_eq!(root, PageNo(3), "where an import looks for it");
        let tree = Tree::open(&store, SPACE, root, INDEX, layout).unwrap();
        Fixture { store, tree, disk, config }
    }

    fn build(&self, key: &[u8], value: Option<&[u8]>) -> RecordBuffer {
        let mut record = RecordBuffer::new();
        match self.tree.leaf.trx_id_field() {
            Some(_) => record.build(
                &self.tree.leaf,
                0,
                [FieldData::Bytes(key), FieldData::Bytes(&[1; 6]), FieldData::Bytes(&[2; 7]), value.into()],
            ),
            None => record.build(&self.tree.leaf, 0, [FieldData::Bytes(key), FieldData::Bytes(&[7; 8])]),
        }
        record
    }

    fn key<'a>(&self, key: &'a [u8]) -> Vec<Option<&'a [u8]>> {
        match self.tree.leaf.trx_id_field() {
            Some(_) => vec![Some(key)],
            None => vec![Some(key), Some(&[7; 8])],
        }
    }

    fn put(&self, key: &[u8], value: Option<&[u8]>) {
        let record = self.build(key, value);
        let parts = self.key(key);
        let mut pessimistic = false;
        loop {
            let mut mtr = Mtr::begin(&self.store);
            let place = match pessimistic {
                false => self.tree.latch_leaf(&mut mtr, &parts).unwrap(),
                true => self.tree.latch_path(&mut mtr, &parts, Aim::Grow).unwrap(),
            };
            let change = match place.matched {
                true => self.tree.replace(mtr, place, record.image()).unwrap(),
                false => self.tree.insert(mtr, place, record.image()).unwrap(),
            };
            match change {
                Change::Done(changes, made) => {
                    let page = changes.page(made.page);
                    let there = self.tree.leaf.field(page, usize::from(made.origin), 0).unwrap().of(page);
                    assert_eq!(there, Some(key));
                    changes.commit();
                    return;
                }
                Change::Full => {
                    assert!(!pessimistic);
                    pessimistic = true;
                }
            }
        }
    }

    fn delete(&self, key: &[u8]) -> bool {
        let parts = self.key(key);
        let mut pessimistic = false;
        loop {
            let mut mtr = Mtr::begin(&self.store);
            let place = match pessimistic {
                false => self.tree.latch_leaf(&mut mtr, &parts).unwrap(),
                true => self.tree.latch_path(&mut mtr, &parts, Aim::Empty).unwrap(),
            };
            if !place.matched {
                return false;
            }
            match self.tree.remove(mtr, place).unwrap() {
                Removal::Done { changes, underfull } => {
                    changes.commit();
                    if underfull {
                        self.tree.merge(&self.store, &parts).unwrap();
                    }
                    return true;
                }
                Removal::Last => pessimistic = true,
            }
        }
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (page, position) = self.tree.find(&self.store, &self.key(key), SearchMode::LessOrEqual).unwrap();
        position.matched.then(|| self.value(&page, position.origin))
    }

    fn value(&self, page: &[u8], origin: u16) -> Vec<u8> {
        let field = self.tree.leaf.fields().len() - 1;
        self.tree.leaf.field(page, usize::from(origin), field).unwrap().of(page).unwrap_or_default().to_vec()
    }

    fn key_at(&self, page: &[u8], origin: u16) -> Vec<u8> {
        self.tree.leaf.field(page, usize::from(origin), 0).unwrap().of(page).unwrap().to_vec()
    }

    fn forward(&self) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let mut page = Some(self.tree.edge(&self.store, false).unwrap());
        while let Some(leaf) = page {
            let mut origin = index::first(&leaf).unwrap();
            while origin != SUPREMUM {
                keys.push(self.key_at(&leaf, origin));
                origin = index::next(&leaf, origin).unwrap();
            }
            page = self.tree.next_leaf(&self.store, leaf).unwrap();
        }
        keys
    }

    fn backward(&self) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let page = self.tree.edge(&self.store, true).unwrap();
        let origin = index::last(&page).unwrap();
        let mut at = (origin != INFIMUM).then_some((page, origin));
        while let Some((page, origin)) = at {
            let key = self.key_at(&page, origin);
            drop(page);
            at = self.tree.find_before(&self.store, &self.key(&key)).unwrap();
            keys.push(key);
        }
        keys
    }

    fn check(&self, model: &BTreeMap<Vec<u8>, Vec<u8>>) -> TreeCheck {
        let check = self.tree.check(&self.store, &mut |_, _| Ok(())).unwrap();
        assert!(check.faults.is_empty(), "{:#?}", check.faults);
        assert_eq!(check.records, model.len() as u64);
        let keys: Vec<Vec<u8>> = model.keys().cloned().collect();
        assert!(self.forward() == keys);
        check
    }
}

/// A key of the `number`th place, with a tail whose length depends on it.
fn key(number: u64, tail_max: u64) -> Vec<u8> {
    let mut key = format!("{number:08}").into_bytes();
    key.resize(8 + (number.wrapping_mul(2_654_435_761) % (tail_max + 1)) as usize, b'k');
    key
}

fn run(layout: Layout, seed: u64, rounds: usize) -> u16 {
    let fixture = Fixture::new(layout, 2000);
    let has_values = fixture.tree.leaf.trx_id_field().is_some();
    let mut random = Random::new(seed);
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let tail_max = [0, 30, 390][random.below(3) as usize];
    let value_max = [1, 100, 1500][random.below(3) as usize];
    let numbers = 3000;
    let mut levels = 0;
    for _ in 0..rounds {
        let way = random.below(6);
        let count = random.below(900);
        let start = random.below(numbers);
        for step in 0..count {
            let number = match way {
                0 | 3 => (start + step) % numbers,
                1 | 4 => (start + numbers - step) % numbers,
                _ => random.below(numbers),
            };
            let key = key(number, tail_max);
            if way < 3 {
                let value = match has_values {
                    true => vec![b'v'; random.below(value_max) as usize],
                    false => vec![7; 8],
                };
                fixture.put(&key, Some(&value));
                model.insert(key, value);
            } else {
                assert_eq!(fixture.delete(&key), model.remove(&key).is_some());
            }
        }
        levels = levels.max(fixture.check(&model).levels);
        let mut backward: Vec<Vec<u8>> = model.keys().cloned().collect();
        backward.reverse();
        assert!(fixture.backward() == backward);
        for _ in 0..50 {
            let key = key(random.below(numbers), tail_max);
            assert_eq!(fixture.get(&key), model.get(&key).cloned());
            let (page, position) = fixture.tree.find(&fixture.store, &[Some(&key)], SearchMode::Greater).unwrap();
            let next = match position.origin {
                SUPREMUM => fixture.tree.next_leaf(&fixture.store, page).unwrap().map(|page| {
                    let first = index::first(&page).unwrap();
                    fixture.key_at(&page, first)
                }),
                origin => Some(fixture.key_at(&page, origin)),
            };
            let expected = model.range((Bound::Excluded(key), Bound::Unbounded)).next();
            assert_eq!(next.as_ref(), expected.map(|(key, _)| key));
        }
    }
    // Then all of it is deleted.
    for key in model.keys() {
        assert!(fixture.delete(key));
    }
    let check = fixture.check(&BTreeMap::new());
    assert_eq!(check.levels, 1, "an empty tree is a root");
    levels
}

/// A few seeds, or as many as `GLASSINE_TEST_SEEDS` says.
fn seeds(from: u64) -> std::ops::Range<u64> {
    let count = std::env::var("GLASSINE_TEST_SEEDS").ok().and_then(|count| count.parse().ok());
    from..from + count.unwrap_or(6)
}

#[test]
fn a_tree_is_a_map_with_rows() {
    let highest = seeds(0).map(|seed| run(clustered(), seed, 14)).max();
    assert!(highest >= Some(2), "trees of several levels were met");
}

#[test]
fn a_tree_is_a_map_with_entries() {
    let highest = seeds(100).map(|seed| run(secondary(), seed, 14)).max();
    assert!(highest >= Some(2), "trees of several levels were met");
}

#[test]
fn ascending_inserts_leave_full_pages() {
    let fixture = Fixture::new(clustered(), 2000);
    for number in 0..5000 {
        fixture.put(&key(number, 0), Some(&[1; 100]));
    }
    let check = fixture.tree.check(&fixture.store, &mut |_, _| Ok(())).unwrap();
    assert!(check.faults.is_empty(), "{:#?}", check.faults);
    let full = check.leaf_bytes as f64 / (check.leaf_pages * 4096) as f64;
    assert!(full > 0.88, "only {full} of the leaves is used");
    // Deleting a range from the middle gives its pages back.
    for number in 1000..4000 {
        assert!(fixture.delete(&key(number, 0)));
    }
    let after = fixture.tree.check(&fixture.store, &mut |_, _| Ok(())).unwrap();
    assert!(after.faults.is_empty(), "{:#?}", after.faults);
    assert!(after.leaf_pages < check.leaf_pages * 45 / 100, "{} of {}", after.leaf_pages, check.leaf_pages);
}

#[test]
fn a_dropped_tree_gives_its_pages_back() {
    let fixture = Fixture::new(clustered(), 2000);
    for round in 0..3 {
        let mut mtr = Mtr::begin(&fixture.store);
        let root = create(&mut mtr, SPACE, IndexId(71 + round)).unwrap();
        mtr.commit();
        let tree = Tree::open(&fixture.store, SPACE, root, IndexId(71 + round), clustered()).unwrap();
        let other =
            Fixture { tree, store: fixture.store.clone(), disk: fixture.disk.clone(), config: fixture.config.clone() };
        for number in 0..2000 {
            other.put(&key(number, 30), Some(&[1; 100]));
        }
        loop {
            let mut mtr = Mtr::begin(&fixture.store);
            let done = drop_step(&mut mtr, SPACE, root).unwrap();
            mtr.commit();
            if done {
                break;
            }
        }
    }
    let pages = fixture.store.space_pages(SPACE).unwrap();
    assert!(pages.0 < 400, "{pages} pages: the second round used the pages of the first");
}

#[test]
fn readers_and_writers_side_by_side() {
    let fixture = Arc::new(Fixture::new(clustered(), 4000));
    let stop = Arc::new(AtomicBool::new(false));
    let reads = Arc::new(AtomicU64::new(0));
    // Keys that stay, so that readers know what they must find. Between them writers insert and delete.
    for number in (0..3000).step_by(10) {
        fixture.put(&key(number, 60), Some(b"stays"));
    }
    let stays: Vec<Vec<u8>> = (0..3000).step_by(10).map(|number| key(number, 60)).collect();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let fixture = fixture.clone();
                scope.spawn(move || {
                    let mut random = Random::new(writer);
                    for _ in 0..60 {
                        let start = random.below(3000);
                        let insert = random.chance(2);
                        for step in 0..150 {
                            // Each writer has its own third of the keys.
                            let number = (start + step) % 3000 / 3 * 3 + writer;
                            if number.is_multiple_of(10) {
                                continue;
                            }
                            match insert {
                                true => fixture.put(&key(number, 60), Some(&vec![b'w'; random.below(300) as usize])),
                                false => drop(fixture.delete(&key(number, 60))),
                            }
                        }
                    }
                })
            })
            .collect();
        for reader in 0..2 {
            let (fixture, stop, reads, stays) = (fixture.clone(), stop.clone(), reads.clone(), &stays);
            scope.spawn(move || {
                let mut random = Random::new(100 + reader);
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..50 {
                        let key = &stays[random.below(stays.len() as u64) as usize];
                        assert_eq!(fixture.get(key).as_deref(), Some(&b"stays"[..]));
                    }
                    let keys = match reader {
                        0 => fixture.forward(),
                        _ => {
                            let mut keys = fixture.backward();
                            keys.reverse();
                            keys
                        }
                    };
                    assert!(keys.is_sorted());
                    let found = keys.iter().filter(|key| stays.binary_search(key).is_ok()).count();
                    assert_eq!(found, stays.len(), "a scan misses nothing that stays");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 0);
    let check = fixture.tree.check(&fixture.store, &mut |_, _| Ok(())).unwrap();
    assert!(check.faults.is_empty(), "{:#?}", check.faults);
}

#[test]
fn a_crash_leaves_a_whole_tree() {
    for seed in 0..12 {
        let fixture = Fixture::new(clustered(), 60);
        let mut random = Random::new(seed);
        // All mini-transactions up to some point are durable, later ones perhaps.
        let mut durable: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for number in 0..400 {
            let key = key(random.below(2000), 200);
            let value = vec![b'd'; random.below(200) as usize];
            fixture.put(&key, Some(&value));
            durable.insert(key, value);
            if number % 50 == 0 {
                fixture.store.flush_step(20).unwrap();
            }
        }
        fixture.store.flush_log(fixture.store.current_lsn()).unwrap();
        for number in 0..random.below(400) {
            // These keys are none of the above.
            let key = key(5000 + random.below(500), 200);
            match random.chance(3) {
                false => fixture.put(&key, Some(b"later")),
                true => drop(fixture.delete(&key)),
            }
            if number % 50 == 0 {
                fixture.store.flush_step(20).unwrap();
            }
        }
        let root = fixture.tree.root;
        let crashed = Arc::new(fixture.disk.crash());
        let config = fixture.config.clone();
        drop(fixture);
        let (store, _) = apply::open(crashed.clone(), config.clone()).unwrap();
        if store.space(SPACE).is_none() {
            store.open_space(SPACE, "tree.ibd", Transform::NONE).unwrap();
        }
        let tree = Tree::open(&store, SPACE, root, INDEX, clustered()).unwrap();
        let fixture = Fixture { store, tree, disk: crashed, config };
        let check = fixture.tree.check(&fixture.store, &mut |_, _| Ok(())).unwrap();
        assert!(check.faults.is_empty(), "seed {seed}: {:#?}", check.faults);
        for (key, value) in &durable {
            assert_eq!(fixture.get(key).as_ref(), Some(value), "seed {seed}");
        }
    }
}

#[test]
fn patches_are_where_the_bytes_differ() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let old: Vec<u8> = (0..random.below(80)).map(|_| random.below(256) as u8).collect();
        let rarity = 1 + random.below(20);
        let new: Vec<u8> = old.iter().map(|byte| byte ^ u8::from(random.below(rarity) == 0)).collect();
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for at in (0..old.len()).filter(|at| old[*at] != new[*at]) {
            match ranges.last_mut() {
                Some((_, end)) if at < *end + 4 => *end = at + 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        let (mut expected, mut patches) = (Patches::new(), Patches::new());
        ranges.iter().for_each(|(start, end)| expected.push(*start as u16, &new[*start..*end]));
        change::differences(&old, &new, &mut patches);
        assert_eq!(patches.bytes(), expected.bytes(), "seed {seed}");
    }
}
