//! What the filesystem charges: punching, short writes, untorn writes, doublewrite.
//!
//! The same pages in the same random order, O_DIRECT, one thread, without a database:
//! a basis for judging published claims on hole punching and untorn writes (`docs/benchmarks.md`)
//! in any directory. Times are of the calls and of one fdatasync at the end.
//!
//! Not here: a server. `bench load --arms punch,torn` measures the same with one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};

use crate::mounts::{Filesystem, Mount};
use crate::process::Scratch;

const PAGE: usize = 16 << 10;
const O_DIRECT: i32 = 0o40_000;
/// Pages between two syncs of the doublewrite file, and of the data file.
const BATCH: usize = 64;

#[derive(clap::Args, Debug, Clone)]
pub struct Arguments {
    /// The directory to measure.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Filesystems to make in image files and measure instead, comma-separated (as root).
    #[arg(long)]
    on: Option<String>,
    #[arg(long, default_value_t = 10_000)]
    pages: u64,
    /// Bytes that a page has after compression.
    #[arg(long, default_value_t = 8192)]
    stored: usize,
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    if let Some(names) = &arguments.on {
        let scratch = Scratch::new("disk")?;
        for name in names.split(',') {
            let filesystem = Filesystem::find(name)
                .ok_or_else(|| io::Error::other(format!("no filesystem is called '{name}' here")))?;
            let bytes = (arguments.pages * PAGE as u64 * 3).max(1 << 30);
            let mount = Mount::create(filesystem, &scratch.0.join(name), bytes, false)?;
            measure(name, &mount.directory, arguments)?;
        }
        return Ok(());
    }
    match &arguments.dir {
        Some(dir) => measure(&dir.display().to_string(), dir, arguments),
        None => measure("scratch directory", &Scratch::new("disk")?.0, arguments),
    }
}

/// Memory for O_DIRECT: `bytes` at a multiple of 4096.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Aligned {
        let memory: Vec<u8> = (0..bytes + 4096).map(|at| (at * 31 % 251) as u8).collect();
        let start = memory.as_ptr().align_offset(4096);
        Aligned { memory, start, bytes }
    }

    fn get(&self, bytes: usize) -> &[u8] {
        &self.memory[self.start..self.start + bytes.min(self.bytes)]
    }
}

struct Bed {
    path: PathBuf,
    file: File,
    order: Vec<u64>,
    buffer: Aligned,
}

impl Bed {
    fn new(path: PathBuf, pages: u64) -> io::Result<Bed> {
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).read(true).write(true);
        // tmpfs and some others know no O_DIRECT: then it goes without.
        let file = options.custom_flags(O_DIRECT).open(&path).or_else(|_| options.custom_flags(0).open(&path))?;
        file.set_len(pages * PAGE as u64)?;
        let mut order: Vec<u64> = (0..pages).collect();
        order.shuffle(&mut StdRng::seed_from_u64(1));
        Ok(Bed { path, file, order, buffer: Aligned::new(PAGE) })
    }

    /// Runs one mode over all pages; the time per page, or why it cannot be done here.
    fn each(&self, work: impl Fn(&File, u64, &Aligned) -> io::Result<()>) -> io::Result<Duration> {
        let start = Instant::now();
        for &page in &self.order {
            work(&self.file, page * PAGE as u64, &self.buffer)?;
        }
        self.file.sync_data()?;
        Ok(start.elapsed() / self.order.len() as u32)
    }

    fn allocated(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.blocks() * 512)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn punch(file: &File, offset: u64, stored: usize) -> io::Result<()> {
    let tail = (PAGE - stored) as u64;
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset + stored as u64, tail)?)
}

fn untorn(file: &File, offset: u64, data: &[u8]) -> io::Result<()> {
    // RWF_ATOMIC of linux/fs.h.
    let written = pwritev2(file, &[IoSlice::new(data)], offset, ReadWriteFlags::from_bits_retain(0x40))?;
    if written == data.len() { Ok(()) } else { Err(io::Error::other("a short untorn write")) }
}

fn measure(name: &str, dir: &Path, arguments: &Arguments) -> io::Result<()> {
    let (pages, stored) = (arguments.pages, arguments.stored.clamp(512, PAGE));
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["mode", "us/page", "allocated MB"]);
    let mut row = |mode: String, time: io::Result<Duration>, bed: &Bed| {
        let time = match time {
            Ok(time) => format!("{:.1}", time.as_secs_f64() * 1e6),
            Err(error) => error.to_string(),
        };
        table.add_row([mode, time, format!("{:.1}", bed.allocated() as f64 / 1e6)]);
    };
    let bed = Bed::new(dir.join("pages"), pages)?;
    row(
        format!("write {stored} bytes into a hole"),
        bed.each(|file, at, buffer| file.write_all_at(buffer.get(stored), at)),
        &bed,
    );
    row(
        format!("overwrite {stored} bytes"),
        bed.each(|file, at, buffer| file.write_all_at(buffer.get(stored), at)),
        &bed,
    );
    row("punch what is a hole already".into(), bed.each(|file, at, _| punch(file, at, stored)), &bed);
    row("write whole pages".into(), bed.each(|file, at, buffer| file.write_all_at(buffer.get(PAGE), at)), &bed);
    row("overwrite whole pages".into(), bed.each(|file, at, buffer| file.write_all_at(buffer.get(PAGE), at)), &bed);
    row(format!("punch all but {stored} bytes"), bed.each(|file, at, _| punch(file, at, stored)), &bed);
    row(
        format!("write whole pages and punch all but {stored} bytes, each time"),
        bed.each(|file, at, buffer| {
            file.write_all_at(buffer.get(PAGE), at)?;
            punch(file, at, stored)
        }),
        &bed,
    );
    drop(bed);
    for size in [4096, 8192, PAGE] {
        let bed = Bed::new(dir.join("pages"), pages)?;
        bed.each(|file, at, buffer| file.write_all_at(buffer.get(PAGE), at))?;
        let time = bed.each(|file, at, buffer| untorn(file, at, buffer.get(size)));
        row(format!("overwrite {size} bytes, untorn (RWF_ATOMIC)"), time, &bed);
    }
    let bed = Bed::new(dir.join("pages"), pages)?;
    let copies = Bed::new(dir.join("doublewrite"), BATCH as u64)?;
    bed.each(|file, at, buffer| file.write_all_at(buffer.get(stored), at))?;
    let start = Instant::now();
    for batch in bed.order.chunks(BATCH) {
        for (slot, _) in batch.iter().enumerate() {
            copies.file.write_all_at(bed.buffer.get(stored), (slot * stored) as u64)?;
        }
        copies.file.sync_data()?;
        for page in batch {
            bed.file.write_all_at(bed.buffer.get(stored), page * PAGE as u64)?;
        }
        bed.file.sync_data()?;
    }
    let time = start.elapsed() / bed.order.len() as u32;
    row(format!("doublewrite of {stored} bytes in batches of {BATCH}"), Ok(time), &bed);
    println!("{name}: {pages} pages in random order, O_DIRECT, one thread\n{table}");
    Ok(())
}
