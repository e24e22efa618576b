//! The properties of a seed's device, and its faults in one life.

use storage::config::{Doublewrite, FlushLogAtCommit, FlushMethod};
use storage::io::Punching;
use storage::io::sim::{Random, SimDisk};
use storage::{Config, Error};

use crate::run::Run;

/// A disk of some kind, the same for all of the seed's lives.
pub fn draw_disk(random: &mut Random) -> SimDisk {
    let block_bytes = [512, 1024, 4096][random.below(3) as usize];
    let disk = SimDisk::with_blocks(random.next(), block_bytes);
    let copy_on_write = random.chance(6);
    let atomic_write = (!copy_on_write && random.chance(4)).then(|| {
        let max = [4096, 16384, 65536][random.below(3) as usize];
        (block_bytes, max)
    });
    let punching = match random.below(16) {
        0 => Punching::FreesNothing,
        1 => Punching::Unsupported,
        _ => Punching::Frees,
    };
    disk.set_facts(|facts| {
        facts.copy_on_write = copy_on_write;
        facts.atomic_write = atomic_write;
        facts.punching = punching;
    });
    let sector_bytes = if random.chance(2) { 512 } else { 4096 };
    disk.set_faults(|faults| faults.sector_bytes = sector_bytes);
    disk
}

pub fn draw_config(random: &mut Random, disk: &SimDisk) -> Config {
    let page_bytes = match random.below(10) {
        0 => 32768,
        other => [4096, 8192, 16384][other as usize % 3],
    };
    let mut config = Config {
        page_bytes,
        flush_log_at_commit: match random.below(6) {
            0 => FlushLogAtCommit::EverySecond,
            1 => FlushLogAtCommit::Write,
            _ => FlushLogAtCommit::Sync,
        },
        undo_log_bytes_max: if random.chance(2) { 40 * page_bytes as u64 } else { 1 << 30 },
        ..Config::tiny()
    };
    // Where nothing is torn, no doublewrite is needed.
    if is_copy_on_write(disk) && random.chance(2) {
        config.doublewrite = Doublewrite::Off;
    } else if random.chance(12) {
        config.doublewrite = Doublewrite::DetectOnly;
    }
    config.use_atomic_writes = !random.chance(4);
    redraw_config(random, &mut config);
    config
}

/// Options that may differ at the next start.
pub fn redraw_config(random: &mut Random, config: &mut Config) {
    config.pool_bytes = ((24 + random.below(80)) * 16384).max(32 * config.page_bytes as u64);
    config.log_bytes = (1 << 20) << random.below(3);
    config.page_cleaners = 1 + random.below(3) as usize;
    config.flush_method = if random.chance(2) { FlushMethod::Fsync } else { FlushMethod::ODirect };
}

fn is_copy_on_write(disk: &SimDisk) -> bool {
    use storage::io::{Caching, Disk, OpenMode};
    let name = "facts";
    let Ok(file) = disk.open(name, OpenMode::Create, Caching::Cached) else { return false };
    let facts = file.facts();
    let _ = disk.remove(name);
    facts.is_ok_and(|facts| facts.copy_on_write)
}

/// Calls that fail once in this life, by their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing {
    sync: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
}

impl Run {
    /// Draws the faults of a life.
    pub fn draw_faults(&mut self) {
        let crash_at = self.disk.changes() + 1 + self.below_scale(&[100, 500, 2000, 10_000]);
        let once = |run: &mut Run, of: u64, so_far: u64, within: u64| {
            run.random.chance(of).then(|| so_far + 1 + run.random.below(within))
        };
        let (syncs, reads, writes, punches) =
            (self.disk.syncs(), self.disk.reads(), self.disk.writes(), self.disk.punches());
        self.failing = Failing {
            sync: once(self, 10, syncs, 60),
            read: once(self, 8, reads, 200),
            write: once(self, 16, writes, 500),
        };
        let failing_punch = once(self, 10, punches, 50);
        self.is_limited = self.random.chance(6);
        let capacity = self.is_limited.then(|| self.disk.used_blocks() + self.below_scale(&[50, 200, 1000]));
        let mut share = |of: u64, share: u8| if self.random.chance(of) { share } else { 0 };
        let (short, interrupted, slow, clock) = (share(3, 20), share(4, 10), share(8, 4), share(8, 4));
        let no_punch = self.random.chance(10);
        let failing = self.failing;
        self.disk.set_faults(|faults| {
            faults.crash_at = Some(crash_at);
            faults.failing_sync = failing.sync;
            faults.failing_read = failing.read;
            faults.failing_write = failing.write;
            faults.failing_punch = failing_punch;
            faults.capacity_blocks = capacity;
            faults.short_of_256 = short;
            faults.interrupted_of_256 = interrupted;
            faults.slow_of_256 = slow;
            faults.clock_of_256 = clock;
            faults.no_punch = no_punch;
        });
    }

    /// A machine without faults, until the next draw.
    pub fn forget_faults(&mut self) {
        self.is_limited = false;
        self.failing = Failing::default();
    }

    /// After a failed sync the system drops the data that it should have written, and only the device knows which.
    pub fn has_sync_failed(&self) -> bool {
        self.failing.sync.is_some_and(|at| self.disk.syncs() >= at)
    }

    pub fn has_read_failed(&self) -> bool {
        self.failing.read.is_some_and(|at| self.disk.reads() >= at)
    }

    /// Whether a fault of the disk explains that the engine gives up.
    pub fn has_cause(&self) -> bool {
        let write_failed = self.failing.write.is_some_and(|at| self.disk.writes() >= at);
        self.disk.is_crashed() || self.has_sync_failed() || write_failed
    }

    /// Whether an error comes from a read (of a page, or of the key ring) that the device failed once: only that
    /// statement may report it.
    pub fn is_failed_read(&self, error: &Error) -> bool {
        matches!(error, Error::Io { .. }) && self.has_read_failed() && !self.has_cause()
    }

    /// Frees space on the device, or takes some.
    pub fn change_room(&mut self) {
        if self.is_limited {
            let more = self.random.chance(2).then(|| self.disk.used_blocks() + self.random.below(300));
            self.disk.set_faults(|faults| faults.capacity_blocks = more);
        }
    }

    /// Frees as much space as is needed.
    pub fn make_room(&mut self) {
        self.disk.set_faults(|faults| faults.capacity_blocks = None);
    }

    /// In one of `of` cases, makes the disk fail within the next few operations: in the call that follows.
    pub fn aim_crash(&mut self, of: u64, within: u64) {
        if self.random.chance(of) {
            let at = self.disk.changes() + 1 + self.random.below(within);
            self.disk.set_faults(|faults| faults.crash_at = Some(at));
        }
    }

    /// A number of a random order of magnitude, so that crashes come early and late alike.
    pub fn below_scale(&mut self, scales: &[u64]) -> u64 {
        let scale = scales[self.random.below(scales.len() as u64) as usize];
        self.random.below(scale)
    }
}
