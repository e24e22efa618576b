use format::binlog::{Event, payload::Payload};
use storage::io::sim::{Random, SimDisk};

use super::*;

const HEADER: Header =
    Header { timestamp: 5, kind: EventKind::ROWS_QUERY, server_id: 1, bytes: 0, end_position: 0, flags: 0 };

fn settings(compression: Option<i32>) -> CacheSettings {
    CacheSettings { memory_bytes: 300, compression, payload_bytes_max: PAYLOAD_BYTES_MAX }
}

fn cache(disk: &SimDisk, compression: Option<i32>) -> Cache {
    Cache::new(Arc::new(disk.clone()), "#cache".into(), settings(compression))
}

fn append(cache: &mut Cache, body: &[u8]) {
    cache.append(HEADER, |out| out.extend_from_slice(body)).unwrap();
}

/// The bodies of the events in the log; checks lengths, positions and checksums.
fn bodies(finished: &Finished, position: u64) -> Vec<Vec<u8>> {
    let mut log = Vec::new();
    finished
        .write(position, HEADER, &mut |bytes| {
            log.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
    assert_eq!(log.len() as u64, finished.log_bytes());
    let (mut at, mut bodies) = (0, Vec::new());
    while at < log.len() {
        let event = Event::decode(&log[at..], Checksum::Crc32).unwrap();
        at += event.bytes.len();
        assert_eq!(u64::from(event.header.end_position), position + at as u64);
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
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let compression = [None, Some(1), Some(3)][random.below(3) as usize];
        let mut cache = cache(&disk, compression);
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
            let finished = cache.finish();
            assert_eq!(bodies(&finished, random.below(1 << 33) & 0xFFFF_F000), expected, "seed {seed}");
            drop(finished);
            assert!(!disk.exists("#cache").unwrap());
            cache.reset(settings(compression));
        }
    }
}

#[test]
fn a_payload_that_would_be_too_long_is_written_as_plain_events() {
    let disk = SimDisk::new(1);
    let mut cache = cache(&disk, Some(3));
    cache.reset(CacheSettings { payload_bytes_max: 2000, ..settings(Some(3)) });
    let mut random = Random::new(1);
    let expected: Vec<Vec<u8>> = (0..50).map(|_| (0..100).map(|_| random.below(256) as u8).collect()).collect();
    expected.iter().for_each(|body| append(&mut cache, body));
    let finished = cache.finish();
    assert!(!finished.is_payload());
    assert_eq!(bodies(&finished, 4), expected);
}
