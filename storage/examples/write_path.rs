//! What a flushed page costs, step by step, and what a missed one: pages like those of a sysbench table, in batches of 64
//! at random places, on a real directory.
//!
//! ```text
//! cargo run --release -p storage --example write_path -- DIRECTORY [none|lz4|zlib|zstd] [doublewrite=off] [batches=200]
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use format::ids::{Lsn, PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use storage::Config;
use storage::config::Doublewrite;
use storage::io::linux::LinuxDisk;
use storage::io::sim::Random;
use storage::io::{AlignedBuffer, Disk};
use storage::store::Transform;
use storage::tablespace::Growth;
use storage::tablespace::doublewrite::DoublewriteFile;
use storage::tablespace::page_io::{BATCH_PAGES_MAX, Batch};
use storage::tablespace::{Algorithm, Tablespaces};

const PAGES: u32 = 16384;

/// A page of rows: an id, a number, 119 and 59 digits with dashes, as `sysbench` makes them.
fn fill(page: &mut [u8], number: u32, random: &mut Random, lsn: u64) {
    header::init(page, PageId::new(SpaceId(1), PageNo(number)), PageType::INDEX);
    let mut at = 120;
    let mut id = number * 70;
    while at + 210 < page.len() * 15 / 16 {
        page[at..at + 4].copy_from_slice(&id.to_be_bytes());
        page[at + 17..at + 21].copy_from_slice(&(random.below(1_000_000) as u32).to_be_bytes());
        for byte in &mut page[at + 21..at + 200] {
            *byte = b'0' + random.below(10) as u8;
        }
        for dash in (at + 32..at + 200).step_by(12) {
            page[dash] = b'-';
        }
        id += 1;
        at += 205;
    }
    header::seal(page, Lsn(lsn));
}

/// Time of this thread on a processor: exact enough for a whole round, not for a step of it.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// What a step has taken so far.
#[derive(Default)]
struct Step(Duration);

impl Step {
    fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = work();
        self.0 += begin.elapsed();
        result
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let directory = arguments.first().expect("a directory").clone();
    let word = |key: &str| arguments.iter().find_map(|word| word.strip_prefix(key)).map(str::to_string);
    let algorithm = arguments.iter().skip(1).find_map(|word| Algorithm::by_name(word)).unwrap_or(Algorithm::ZSTD);
    let batches: usize = word("batches=").map_or(200, |count| count.parse().expect("a number"));
    let mut config = Config { use_atomic_writes: word("atomic=").as_deref() != Some("off"), ..Config::default() };
    if word("doublewrite=").as_deref() == Some("off") {
        config.doublewrite = Doublewrite::Off;
    }
    config.punch = word("punch=").as_deref() != Some("off");

    let disk: Arc<dyn Disk> = Arc::new(LinuxDisk::new(&directory));
    for name in ["write_path.ibd", "#ib_16384_9.dblwr"] {
        let _ = disk.remove(name);
    }
    let spaces = Tablespaces::new(disk.clone(), &config, Lsn(u64::MAX));
    let space =
        spaces.create(SpaceId(1), "write_path.ibd", Transform::usual(algorithm), None, &config).expect("a file");
    space.extend(PAGES, Growth::Reserved).expect("room");
    let info = space.info().expect("facts");
    println!(
        "{} in blocks of {}, {}: {} ({}); punch: {} ({})",
        info.filesystem,
        info.block_bytes,
        algorithm.name(),
        info.torn_protection,
        info.torn_reason,
        info.punch,
        info.punch_reason
    );
    let counters = spaces.counters().clone();
    let mut doublewrite = (config.doublewrite == Doublewrite::On)
        .then(|| DoublewriteFile::open(&*disk, 9, &config, counters.clone()).expect("a doublewrite file"));

    let mut random = Random::new(1);
    let mut plain = AlignedBuffer::new(config.page_bytes);
    // Enough different pages that no cache of the codec helps.
    let samples: Vec<Vec<u8>> = (0..512)
        .map(|number| {
            let mut page = vec![0; config.page_bytes];
            fill(&mut page, number, &mut random, 1);
            page
        })
        .collect();
    let mut batch = Batch::new(config.page_bytes);
    let mut lsn = 1;
    println!("us per page: encode, doublewrite, write and punch, sync, all; on the processor");
    for round in ["first", "again", "again"] {
        let (mut encode, mut copy, mut write, mut sync) =
            (Step::default(), Step::default(), Step::default(), Step::default());
        let (punched, begin) = (counters.punches.get(), cpu());
        for number in 0..batches {
            let mut places: Vec<u32> = match round {
                // Pages of a batch are not neighbours.
                "first" => (0..BATCH_PAGES_MAX).map(|index| 1 + (number + index * batches) as u32).collect(),
                _ => {
                    (0..BATCH_PAGES_MAX).map(|_| 1 + random.below((batches * BATCH_PAGES_MAX) as u64) as u32).collect()
                }
            };
            places.sort_unstable();
            places.dedup();
            batch.clear();
            for page in places {
                let sample = &samples[random.below(samples.len() as u64) as usize];
                plain.copy_from_slice(sample);
                plain[4..8].copy_from_slice(&page.to_be_bytes());
                lsn += 1;
                header::seal(&mut plain, Lsn(lsn));
                encode.run(|| batch.add(space.clone(), &mut plain, Lsn::ZERO));
            }
            if let Some(file) = doublewrite.as_mut().filter(|_| batch.wants_doublewrite()) {
                if !file.has_room(batch.doublewrite_image().len()) {
                    sync.run(|| space.sync().expect("synced"));
                    file.restart();
                }
                copy.run(|| file.append(&mut batch).expect("copied"));
            }
            write.run(|| batch.write().expect("written"));
            if number % 16 == 15 {
                sync.run(|| space.sync().expect("synced"));
            }
        }
        let pages = (batches * BATCH_PAGES_MAX) as f64;
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / pages;
        let steps = [encode.0, copy.0, write.0, sync.0];
        let mut text: Vec<_> = steps.iter().map(|&time| format!("{:.1}", micros(time))).collect();
        text.push(format!("all {:.1}", micros(steps.iter().sum())));
        text.push(format!("processor {:.1}", micros(cpu() - begin)));
        println!("{round:8} {}   punches {}", text.join("   "), counters.punches.get() - punched);
    }
    let info = space.info().expect("facts");
    println!("{} MB long, {} MB on the device", info.file_bytes >> 20, info.allocated_bytes >> 20);

    // Reading: the device alone, then the page.
    let mut stored = AlignedBuffer::new(config.page_bytes);
    let file =
        disk.open("write_path.ibd", storage::io::OpenMode::Read, storage::io::Caching::Direct).expect("the file again");
    let (mut device, mut miss) = (Step::default(), Step::default());
    let reads = 4000;
    for _ in 0..reads {
        let page = 1 + random.below((batches * BATCH_PAGES_MAX) as u64);
        device.run(|| file.read_at(page * config.page_bytes as u64, &mut stored[..8192]).expect("read"));
        let page = 1 + random.below((batches * BATCH_PAGES_MAX) as u64);
        miss.run(|| space.read_page(PageNo(page as u32), &mut plain).expect("a page"));
    }
    let micros = |step: &Step| step.0.as_secs_f64() * 1e6 / f64::from(reads);
    println!("a read of 8K: {:.1} us   a page: {:.1} us", micros(&device), micros(&miss));
    disk.remove("write_path.ibd").expect("removed");
    let _ = disk.remove("#ib_16384_9.dblwr");
}
