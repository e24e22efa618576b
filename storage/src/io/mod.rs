//! Disks, files and clocks: everything that the engine uses of the machine below it.
//!
//! [`Disk`] is a directory of files, [`File`] is bytes at offsets, [`Clock`] is time. They are passed as arguments, so
//! that the whole engine runs unchanged on a Linux directory ([`linux`]) and on a simulated disk with faults ([`sim`]).
//!
//! A write promises only what hardware promises: until [`File::sync`] returns, each 512-byte sector of it may or may
//! not be on the device, in any order with other writes, and after a crash some are. A created, renamed or removed name
//! is certain only after [`Disk::sync_directory`].
//!
//! Invariants:
//!
//! * Reading behind the end of a file gives no bytes; reading a hole gives zeros.
//! * With [`Caching::Direct`], offsets, lengths and memory are multiples of the block size; [`AlignedBuffer`], frames
//!   of the pool and the log's buffers exist for that.
//! * `unsafe` in here is only what system calls need; see each block.

mod aligned;

mod native;

mod probe;

pub mod linux;

pub mod sim;

pub mod trace;

pub mod counted;

use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use aligned::{ALIGNMENT, AlignedBuffer};

/// Direct I/O has no smaller unit.
const SECTOR_BYTES: usize = 512;

/// A directory of files, by names relative to it (`db/table.ibd`).
pub trait Disk: Send + Sync {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>>;
    fn exists(&self, path: &str) -> io::Result<bool>;
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Replaces the target if it exists.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn create_directory(&self, path: &str) -> io::Result<()>;
    /// Must be empty.
    fn remove_directory(&self, path: &str) -> io::Result<()>;
    /// Names in a directory ("" is the root), sorted.
    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>>;
    /// Makes creations, removals and renames in a directory durable.
    fn sync_directory(&self, path: &str) -> io::Result<()>;
    /// Makes a file readable by its owner only.
    fn restrict(&self, path: &str) -> io::Result<()>;
    /// Fills the bytes with unpredictable values. A simulated disk derives them from its seed.
    fn random(&self, bytes: &mut [u8]) -> io::Result<()>;
    /// Claims the directory for this process until the result is dropped. `WouldBlock` if another process has it.
    fn lock(&self) -> io::Result<Box<dyn Send + Sync>>;
    fn clock(&self) -> &dyn Clock;
}

/// The directory part of a path: "" for the root.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_directory: bool,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    Read,
    ReadWrite,
    /// Must not exist yet.
    Create,
}

/// Whether reads and writes go through the operating system's page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    Cached,
    /// Offsets, lengths and memory are multiples of the block size. A filesystem that does not support it caches.
    Direct,
}

/// The capabilities of a file and its filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// The filesystem's kind: `ext4`, `xfs`, `btrfs` ...; `unknown` for any that is not listed.
    pub filesystem: &'static str,
    /// The unit in which the filesystem allocates and frees: for ext4 with bigalloc its clusters, not its blocks.
    pub block_bytes: usize,
    /// Never overwrites in place, so that a write is not torn.
    pub copy_on_write: bool,
    /// The smallest and the largest length of [`File::write_untorn`]; `None` if this file does not support it.
    pub atomic_write: Option<(usize, usize)>,
    /// Whether punching a hole gives blocks back.
    pub punching: Punching,
}

/// Whether a punched range is really freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punching {
    Frees,
    /// The call is refused.
    Unsupported,
    /// The call succeeds, and the blocks stay.
    FreesNothing,
}

/// One of several writes that are handed over together.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    pub offset: u64,
    pub bytes: &'a [u8],
    /// As [`File::write_untorn`].
    pub untorn: bool,
}

/// A file: bytes at offsets. All methods may be called from several threads at once.
#[allow(clippy::len_without_is_empty)] // A file's length is a fallible question.
pub trait File: Send + Sync {
    /// Reads up to `buffer.len()` bytes; 0 at the end of the file.
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Makes everything written durable, and the file's length.
    fn sync(&self) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Reserves blocks, extending the file if need be. Unwritten parts read as zero.
    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()>;
    /// Frees the blocks of a range; it reads as zero.
    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()>;
    fn facts(&self) -> io::Result<FileFacts>;
    /// Bytes on the device.
    fn allocated_bytes(&self) -> io::Result<u64>;
    /// The end of the last range within `[offset, offset + bytes)` that has blocks, written or only reserved, or `offset`
    /// if all of it is a hole.
    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64>;

    /// Sets the file's new name, for messages.
    fn set_name(&self, _: &str) {}

    /// Fills `buffer`, with zeros behind the end of the file. Returns the bytes that came from the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_some(offset + done as u64, &mut buffer[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Direct I/O stops within a sector only where the file ends (a write that the system had cached was cut off
                // there by a crash), and from there some filesystems do not even report the end.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && !done.is_multiple_of(SECTOR_BYTES) => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        buffer[done..].fill(0);
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_some(offset + done as u64, &bytes[done..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes so that after a crash either all of the bytes are there or none. Their length is a power of two within
    /// [`FileFacts::atomic_write`], and the offset a multiple of it; anything else is refused with `InvalidInput`. A
    /// file that cannot do it at all answers `Unsupported`.
    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// A hint: untorn writes in whole blocks follow, with possible holes behind them.
    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()>;

    /// Performs writes that do not overlap, in any order, perhaps concurrently. After an error any of them may have
    /// happened.
    fn write_all(&self, writes: &[Write<'_>]) -> io::Result<()> {
        writes.iter().try_for_each(|write| self.write_one(write))
    }

    fn write_one(&self, write: &Write<'_>) -> io::Result<()> {
        match write.untorn {
            true => self.write_untorn(write.offset, write.bytes),
            false => self.write_at(write.offset, write.bytes),
        }
    }

    /// Writes and makes durable; an implementation may do both in one call.
    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)?;
        self.sync()
    }
}

/// Time as an argument.
pub trait Clock: Send + Sync {
    /// Since some moment before the start.
    fn now(&self) -> Duration;
    /// Since 1970, UTC.
    fn wall(&self) -> Duration;
}
