use std::sync::mpsc;

use format::binlog::{Checksum, Event, EventKind, payload::Payload};
use storage::io::sim::{Random, SimDisk};
use storage::io::{Disk, File};

use crate::compressors::Compressors;
use crate::spill::Spilled;
use crate::workers::Workers;

use super::*;

const HEADER: Header =
    Header { timestamp: 5, kind: EventKind::ROWS_QUERY, server_id: 1, bytes: 0, end_position: 0, flags: 0 };

fn settings(compression: Option<i32>) -> CacheSettings {
    CacheSettings { memory_bytes: 300, compression, payload_bytes_max: PAYLOAD_BYTES_MAX }
}

struct TestFiles {
    disk: SimDisk,
    workers: Option<Arc<Workers>>,
    /// A worker does when it has written some megabytes.
    panics: bool,
    checksum: Checksum,
    compressors: Compressors,
}

const ROOM: u64 = 1000;

impl Files for TestFiles {
    fn create(&self) -> Result<(Spilled, u64)> {
        let number = (0..).find(|number| !self.disk.exists(&format!("#cache{number}")).unwrap()).unwrap();
        Ok((Spilled::create(Arc::new(self.disk.clone()), format!("#cache{number}"))?, ROOM))
    }

    fn sync_soon(&self, _: &Arc<Spilled>) {
        let is_worker = std::thread::current().name() == Some("binlog-pack");
        assert!(!(self.panics && is_worker), "as the test wants");
    }

    fn workers(&self) -> Option<&Arc<Workers>> {
        self.workers.as_ref()
    }

    fn checksum(&self) -> Checksum {
        self.checksum
    }

    fn compressors(&self) -> &Compressors {
        &self.compressors
    }
}

fn files(disk: &SimDisk) -> TestFiles {
    TestFiles {
        disk: disk.clone(),
        workers: None,
        panics: false,
        checksum: Checksum::Crc32,
        compressors: Compressors::default(),
    }
}

fn cache(disk: &SimDisk, compression: Option<i32>) -> Cache {
    Cache::new(Arc::new(files(disk)), settings(compression))
}

fn workers(count: usize) -> Arc<Workers> {
    Arc::new(Workers::new(Arc::default(), count))
}

/// A cache whose events are packed by another thread.
fn cache_beside(disk: &SimDisk, workers: &Arc<Workers>, compression: Option<i32>) -> Cache {
    Cache::new(Arc::new(TestFiles { workers: Some(workers.clone()), ..files(disk) }), settings(compression))
}

fn is_clean(disk: &SimDisk) -> bool {
    disk.list("").unwrap().is_empty()
}

fn append(cache: &mut Cache, body: &[u8]) {
    cache.append(HEADER, |out| out.extend_from_slice(body)).unwrap();
}

/// The bodies of the events in the log; checks lengths, positions and checksums.
fn bodies(finished: &Finished, position: u64) -> Vec<Vec<u8>> {
    let mut log = Vec::new();
    finished.append(position, HEADER, Checksum::Crc32, &mut log).unwrap();
    assert_eq!(log.len() as u64, finished.log_bytes(Checksum::Crc32));
    bodies_of(&log, position)
}

fn bodies_of(log: &[u8], position: u64) -> Vec<Vec<u8>> {
    let (mut at, mut bodies) = (0, Vec::new());
    while at < log.len() {
        let event = Event::decode(&log[at..], Checksum::Crc32).unwrap();
        at += event.bytes.len();
        assert_eq!(event.header.end_position, (position + at as u64) as u32);
        if event.header.kind == EventKind::TRANSACTION_PAYLOAD {
            let payload = Payload::decode(event.body).unwrap();
            let mut events = payload.events().unwrap();
            while let Some(event) = events.next_event().unwrap() {
                bodies.push(event.body.to_vec());
            }
            assert_eq!(events.plain_bytes(), payload.plain_bytes);
        } else {
            bodies.push(event.body.to_vec());
        }
    }
    bodies
}

#[test]
fn what_is_appended_and_not_cut_comes_out_again() {
    let disk = SimDisk::new(1);
    let workers = workers(1);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let compression = [None, Some(1), Some(3)][random.below(3) as usize];
        let mut cache = match random.below(2) {
            0 => cache(&disk, compression),
            _ => cache_beside(&disk, &workers, compression),
        };
        // Twice: the second transaction must not see anything of the first.
        for _ in 0..2 {
            let mut expected: Vec<Vec<u8>> = Vec::new();
            let mut marks = vec![(cache.mark(), 0)];
            for _ in 0..random.below(60) {
                match random.below(10) {
                    0 | 1 => {
                        marks.push((cache.mark(), expected.len()));
                        marks.dedup();
                    }
                    2 => {
                        let at = random.below(marks.len() as u64) as usize;
                        marks.truncate(at + 1);
                        cache.cut(marks[at].0);
                        expected.truncate(marks[at].1);
                    }
                    3 if marks.len() > 1 => {
                        marks.remove(random.below(marks.len() as u64 - 1) as usize);
                        let kept: Vec<u64> = marks.iter().map(|mark| mark.0).collect();
                        cache.keep_marks(|place| kept.contains(&place));
                    }
                    _ => {
                        let body: Vec<u8> = (0..random.below(200)).map(|_| random.below(4) as u8).collect();
                        append(&mut cache, &body);
                        expected.push(body);
                    }
                }
            }
            assert_eq!(cache.is_empty(), expected.is_empty());
            let mut finished = cache.finish().unwrap();
            assert_eq!(bodies(&finished, random.below(1 << 33) & 0xFFFF_F000), expected, "seed {seed}");
            // It may also begin a file.
            finished.settle(&files(&disk)).unwrap();
            assert_eq!(bodies(&finished, 4), expected, "seed {seed}");
            let head = vec![7; random.below(600) as usize];
            let begun = finished.begin_file(&head, 100, HEADER).unwrap();
            let log = whole(&**finished.settled().map(|spilled| &spilled.file).unwrap());
            assert!(log.starts_with(&head));
            let filler = Event::decode(&log[head.len()..], Checksum::Crc32).unwrap();
            assert_eq!(u64::from(filler.header.end_position), begun.gtid_at);
            assert!(log[begun.gtid_at as usize..][..100].iter().all(|byte| *byte == 0));
            assert_eq!((begun.body_at, begun.end), (begun.gtid_at + 100, log.len() as u64));
            assert_eq!(log.len() as u64, begun.body_at + finished.log_bytes(Checksum::Crc32));
            assert_eq!(bodies_of(&log[begun.body_at as usize..], begun.body_at), expected, "seed {seed}");
            drop(finished);
            assert!(is_clean(&disk));
            cache.reset(settings(compression));
        }
    }
}

fn whole(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn what_a_full_disk_refuses_is_still_there() {
    let workers = workers(1);
    for (compression, beside) in [(None, false), (Some(3), false), (None, true), (Some(3), true)] {
        let disk = SimDisk::new(1);
        let mut cache = match beside {
            false => cache(&disk, compression),
            true => cache_beside(&disk, &workers, compression),
        };
        let mut random = Random::new(3);
        let mut body = || (0..100).map(|_| random.below(256) as u8).collect::<Vec<u8>>();
        let mut expected: Vec<Vec<u8>> = (0..4).map(|_| body()).collect();
        expected.iter().for_each(|body| append(&mut cache, body));
        let mark = cache.mark();
        disk.set_faults(|faults| faults.capacity_blocks = Some(0));
        // Another thread meets the full disk a little later.
        let mut refused = false;
        while !refused {
            refused = cache.append(HEADER, |out| out.extend_from_slice(&body())).is_err();
        }
        disk.set_faults(|faults| faults.capacity_blocks = None);
        cache.cut(mark);
        expected.push(body());
        append(&mut cache, &expected[4]);
        assert_eq!(bodies(&cache.finish().unwrap(), 4), expected);
    }
}

#[test]
fn a_file_whose_sync_has_failed_begins_no_log() {
    let disk = SimDisk::new(1);
    let mut cache = cache(&disk, None);
    (0..50).for_each(|_| append(&mut cache, &[7; 100]));
    let mut finished = cache.finish().unwrap();
    let spilled = finished.spill.as_ref().unwrap().place.clone();
    let next = disk.syncs() + 1;
    disk.set_faults(|faults| faults.failing_sync = Some(next));
    // Another thread is told, and the disk forgets it.
    assert!(spilled.sync().is_err());
    disk.set_faults(|faults| faults.failing_sync = None);
    assert!(spilled.file.sync().is_ok());
    assert!(finished.settle(&files(&disk)).is_err());
}

#[test]
fn names_of_transactions_that_need_more_than_the_room_are_refused() {
    let disk = SimDisk::new(1);
    let mut cache = cache(&disk, None);
    append(&mut cache, b"one");
    let mut finished = cache.finish().unwrap();
    finished.settle(&files(&disk)).unwrap();
    assert!(matches!(finished.begin_file(&[7; 950], 100, HEADER), Err(Error::Unsupported(_))));
    assert!(finished.begin_file(&[7; 877], 100, HEADER).is_ok());
}

#[test]
fn a_payload_that_would_be_too_long_goes_on_as_plain_events() {
    let disk = SimDisk::new(1);
    let workers = workers(1);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut cache = match seed % 2 {
            0 => cache(&disk, Some(3)),
            _ => cache_beside(&disk, &workers, Some(3)),
        };
        cache.reset(CacheSettings { payload_bytes_max: (64 << 10) + random.below(4000), ..settings(Some(3)) });
        let mut expected: Vec<Vec<u8>> = Vec::new();
        let mut marks = vec![(cache.mark(), 0)];
        for number in 0..80 {
            let body: Vec<u8> = (0..100).map(|_| random.below(256) as u8).collect();
            append(&mut cache, &body);
            expected.push(body);
            if number % 10 == 5 {
                marks.push((cache.mark(), expected.len()));
            }
            if number == 70 {
                // Before and behind the place where it became plain.
                let (mark, count) = marks[random.below(marks.len() as u64) as usize];
                cache.cut(mark);
                expected.truncate(count);
            }
        }
        let finished = cache.finish().unwrap();
        assert_eq!(bodies(&finished, 4), expected, "seed {seed}");
        drop(finished);
        assert!(is_clean(&disk));
    }
}

#[test]
fn a_session_whose_worker_is_busy_elsewhere_packs_by_itself() {
    let (disk, workers) = (SimDisk::new(1), workers(1));
    let (go_on, wait) = mpsc::channel::<()>();
    assert!(workers.run(move || wait.recv().unwrap()));
    for compression in [None, Some(1)] {
        let mut cache = cache_beside(&disk, &workers, compression);
        let expected: Vec<Vec<u8>> = (0..3000_u32).map(|number| number.to_be_bytes().repeat(100)).collect();
        expected.iter().for_each(|body| append(&mut cache, body));
        assert_eq!(bodies(&cache.finish().unwrap(), 4), expected);
    }
    go_on.send(()).unwrap();
    workers.close();
}

#[test]
fn closed_workers_are_not_waited_for() {
    let (disk, workers) = (SimDisk::new(1), workers(1));
    let mut cache = cache_beside(&disk, &workers, Some(1));
    let expected: Vec<Vec<u8>> = (0..3000_u32).map(|number| number.to_be_bytes().repeat(100)).collect();
    for (number, body) in expected.iter().enumerate() {
        if number == 1000 {
            workers.close();
        }
        append(&mut cache, body);
    }
    assert_eq!(bodies(&cache.finish().unwrap(), 4), expected);
}

#[test]
fn a_transaction_that_goes_away_leaves_no_file() {
    let (disk, workers) = (SimDisk::new(1), workers(1));
    for round in 0..100 {
        let mut cache = cache_beside(&disk, &workers, [None, Some(3)][round % 2]);
        (0..500_u32).for_each(|number| append(&mut cache, &number.to_be_bytes().repeat(round)));
        match round % 3 {
            0 => drop(cache),
            1 => {
                cache.reset(settings(None));
                append(&mut cache, b"another");
                assert_eq!(bodies(&cache.finish().unwrap(), 4), [b"another"]);
            }
            _ => cache.cut(0),
        }
    }
    workers.close();
    assert!(is_clean(&disk));
}

#[test]
fn a_worker_that_panics_ends_the_transaction() {
    let (disk, workers) = (SimDisk::new(1), workers(1));
    let files = TestFiles { workers: Some(workers.clone()), panics: true, ..files(&disk) };
    let mut cache = Cache::new(Arc::new(files), settings(None));
    append(&mut cache, b"one");
    let mark = cache.mark();
    while cache.append(HEADER, |out| out.extend_from_slice(&[7; 1000])).is_ok() {}
    assert!(workers.health().is_poisoned());
    cache.cut(mark);
    assert!(matches!(cache.finish(), Err(Error::Poisoned)));
    cache.reset(settings(Some(1)));
    append(&mut cache, b"two");
    assert_eq!(bodies(&cache.finish().unwrap(), 4), [b"two"]);
}

#[test]
fn an_event_that_grows_in_place_is_there_when_it_is_closed() {
    let (disk, workers) = (SimDisk::new(1), workers(1));
    for mut cache in [cache(&disk, None), cache_beside(&disk, &workers, Some(3))] {
        let mut expected = Vec::new();
        for number in 0..200_u8 {
            let mark = cache.mark();
            cache.open(HEADER);
            cache.buffer().extend_from_slice(b"flags, ");
            (0..number).for_each(|row| cache.buffer().push(row));
            match number % 3 {
                0 => cache.drop_open(),
                1 => cache.cut(mark),
                _ => {
                    cache.close(|body| body[..5].copy_from_slice(b"FLAGS")).unwrap();
                    expected.push([&b"FLAGS, "[..], &(0..number).collect::<Vec<u8>>()].concat());
                }
            }
        }
        assert_eq!(bodies(&cache.finish().unwrap(), 4), expected);
    }
}
