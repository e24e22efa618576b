//! The faults of a simulated disk, and when they happen.

/// Counts begin at 1 with the disk (`SimDisk::changes` and its likes return the current ones); shares of 256 are
/// probabilities.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The disk dies at this change (a write, sync, punch, name): it fails, and so does everything after it.
    pub crash_at: Option<u64>,
    /// This sync of a file fails once, and a part of what it covered never becomes durable.
    pub failing_sync: Option<u64>,
    /// This read of a file fails ...
    pub failing_read: Option<u64>,
    /// ... and so do the next ones: as many in all.
    pub failing_reads: u64,
    /// This write to a file fails once, and a part of it may have been done.
    pub failing_write: Option<u64>,
    /// Syncs block as long as this is set: for tests of what happens meanwhile.
    pub hold_syncs: bool,
    /// The thread that makes this read, or this write, panics: for tests of how other threads react.
    pub panicking_read: Option<u64>,
    pub panicking_write: Option<u64>,
    /// Punching fails from this punch on, though it worked before.
    pub failing_punch: Option<u64>,
    /// The next write of at least a page's length to this file goes to another place in it, and reports success.
    pub misdirected: Option<String>,
    /// How many reads and writes transfer only a part.
    pub short_of_256: u8,
    /// How many reads and writes are interrupted before they begin.
    pub interrupted_of_256: u8,
    /// How many calls take seconds.
    pub slow_of_256: u8,
    /// How many calls find the wall clock set anew, or the monotonic one standing still.
    pub clock_of_256: u8,
    /// Blocks on the device in total.
    pub capacity_blocks: Option<u64>,

    // The device's properties; a crash does not change them.
    /// Writes are torn at this unit: 512 or 4096.
    pub sector_bytes: usize,
    /// Punching a hole is not supported.
    pub no_punch: bool,
    /// Untorn writes are refused, whatever the facts say.
    pub no_untorn: bool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            crash_at: None,
            failing_sync: None,
            failing_read: None,
            failing_reads: 1,
            failing_write: None,
            hold_syncs: false,
            panicking_read: None,
            panicking_write: None,
            failing_punch: None,
            misdirected: None,
            short_of_256: 0,
            interrupted_of_256: 0,
            slow_of_256: 0,
            clock_of_256: 0,
            capacity_blocks: None,
            sector_bytes: 512,
            no_punch: false,
            no_untorn: false,
        }
    }
}

impl Faults {
    /// Only the device's properties.
    pub fn of_device(&self) -> Faults {
        Faults {
            sector_bytes: self.sector_bytes,
            no_punch: self.no_punch,
            no_untorn: self.no_untorn,
            ..Faults::default()
        }
    }
}
