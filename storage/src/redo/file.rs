//! The log on disk: a header, two checkpoint slots, and the ring.
//!
//! ```text
//! offset  bytes
//!      0   4096  header: magic "GLASSLOG", version 4, page bytes 4, capacity 8, CRC-32C of these 24 bytes 4
//!   4096   4096  checkpoint slot 0
//!   8192   4096  checkpoint slot 1
//!  16384         ring of `capacity` bytes: LSN l is at l modulo capacity
//!
//! checkpoint
//!      0     24  number 8, LSN 8, epoch 4, newest epoch * 2 + clean 4
//!     24      4  CRC-32C of these 24 bytes
//!     28      4  page stamps, n
//!     32   16 n  stamp: space 4, page 4, LSN 8 (see `stamps`)
//!             4  CRC-32C of all before; absent if n = 0, as in logs of earlier versions
//! ```
//!
//! Checkpoints alternate between the two slots, so that one is whole at any time; the larger number counts.

use std::sync::Arc;

use format::checksum::crc32c;
use format::ids::{Lsn, PageId, PageNo, SpaceId};

use super::stamps::{PageStamp, STAMPS_MAX};
use crate::config::{Config, FlushMethod};
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, File, OpenMode};

/// Name of the log in the data directory.
pub const FILE_NAME: &str = "glassine.redo";
/// Name under which a log of a new size is built, before it is renamed.
const NEW_FILE_NAME: &str = "glassine.redo.new";

/// The unit in which the log is written, for direct I/O.
pub const BLOCK_BYTES: usize = 4096;

const MAGIC: [u8; 8] = *b"GLASSLOG";
const VERSION: u32 = 1;
const SLOTS: u64 = BLOCK_BYTES as u64;
const RING: u64 = 4 * BLOCK_BYTES as u64;
/// LSN of an instance's first group.
const FIRST_LSN: Lsn = Lsn(8192);
/// The smallest ring that leaves room for a few large groups.
pub const CAPACITY_MIN: u64 = 256 << 10;

/// Where a checkpoint's stamps begin, and the bytes of one.
const FIRST_STAMP: usize = 32;
const STAMP_BYTES: usize = 16;

const _: () = assert!(FIRST_STAMP + STAMPS_MAX * STAMP_BYTES + 4 <= BLOCK_BYTES);

/// Where recovery begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub number: u64,
    /// All changes before this LSN are in the tablespaces.
    pub lsn: Lsn,
    /// Groups of older epochs are ignored.
    pub epoch: u32,
    /// The epoch of the server run that wrote this checkpoint. It may have written no group.
    pub newest_epoch: u32,
    /// The instance was closed: there is nothing behind `lsn`.
    pub clean: bool,
    /// LSNs that some pages have in the tablespaces.
    pub stamps: Arc<[PageStamp]>,
}

impl Checkpoint {
    fn encode(&self, block: &mut [u8]) {
        assert!(self.stamps.len() <= STAMPS_MAX, "more stamps than a checkpoint has room for");
        block[..8].copy_from_slice(&self.number.to_be_bytes());
        block[8..16].copy_from_slice(&self.lsn.0.to_be_bytes());
        block[16..20].copy_from_slice(&self.epoch.to_be_bytes());
        block[20..24].copy_from_slice(&(self.newest_epoch * 2 + u32::from(self.clean)).to_be_bytes());
        let crc = crc32c(&block[..24]);
        block[24..28].copy_from_slice(&crc.to_be_bytes());
        if self.stamps.is_empty() {
            return;
        }
        block[28..32].copy_from_slice(&(self.stamps.len() as u32).to_be_bytes());
        let mut at = FIRST_STAMP;
        for stamp in &*self.stamps {
            block[at..at + 4].copy_from_slice(&stamp.page.space.0.to_be_bytes());
            block[at + 4..at + 8].copy_from_slice(&stamp.page.page.0.to_be_bytes());
            block[at + 8..at + 16].copy_from_slice(&stamp.lsn.0.to_be_bytes());
            at += STAMP_BYTES;
        }
        let crc = crc32c(&block[..at]);
        block[at..at + 4].copy_from_slice(&crc.to_be_bytes());
    }

    /// The checkpoint in a slot, if it is whole.
    fn decode(block: &[u8]) -> Option<Checkpoint> {
        let count = u32_at(block, 28) as usize;
        if count > STAMPS_MAX || crc32c(&block[..24]) != u32_at(block, 24) {
            return None;
        }
        let end = FIRST_STAMP + count * STAMP_BYTES;
        if count > 0 && crc32c(&block[..end]) != u32_at(block, end) {
            return None;
        }
        let stamp = |bytes: &[u8]| PageStamp {
            page: PageId::new(SpaceId(u32_at(bytes, 0)), PageNo(u32_at(bytes, 4))),
            lsn: Lsn(u64_at(bytes, 8)),
        };
        let checkpoint = Checkpoint {
            number: u64_at(block, 0),
            lsn: Lsn(u64_at(block, 8)),
            epoch: u32_at(block, 16),
            newest_epoch: u32_at(block, 20) / 2,
            clean: u32_at(block, 20) % 2 == 1,
            stamps: block[FIRST_STAMP..end].chunks_exact(STAMP_BYTES).map(stamp).collect(),
        };
        (checkpoint.number > 0).then_some(checkpoint)
    }
}

/// The ring file.
pub struct LogFile {
    file: Arc<dyn File>,
    /// The same file, opened once more: for the checkpoints, whose syncs must not wait for those of the log, nor
    /// consume an error that the kernel reports once per open file.
    slots: Arc<dyn File>,
    capacity: u64,
}

fn caching(config: &Config) -> Caching {
    match config.flush_method {
        FlushMethod::Fsync => Caching::Cached,
        // The page cache has large folios by now: rewriting a 4K block through it writes many times as much.
        FlushMethod::ODirect | FlushMethod::AllODirect => Caching::Direct,
    }
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(block[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(block[at..at + 8].try_into().expect("8 bytes"))
}

/// Reads and verifies the header block; returns the instance's page size.
fn read_header(file: &dyn File, block: &mut AlignedBuffer) -> Result<usize> {
    file.read_at(0, block).map_err(Error::io("read the redo log"))?;
    if block[..8] != MAGIC || crc32c(&block[..24]) != u32_at(block, 24) {
        return Err(Error::corrupt("the header of the redo log"));
    }
    if u32_at(block, 8) != VERSION {
        return Err(Error::Unsupported(format!("redo log version {}", u32_at(block, 8)).into()));
    }
    Ok(u32_at(block, 12) as usize)
}

impl LogFile {
    /// Creates the log of a new instance.
    pub fn create(disk: &dyn Disk, config: &Config) -> Result<()> {
        if disk.exists(FILE_NAME).map_err(Error::io("look for the redo log"))? {
            return Err(Error::Exists(FILE_NAME.into()));
        }
        let checkpoint =
            Checkpoint { number: 1, lsn: FIRST_LSN, epoch: 1, newest_epoch: 1, clean: true, stamps: [].into() };
        LogFile::build(disk, config, checkpoint)
    }

    /// Replaces the log by an empty one of the configured size. The tablespaces have all changes.
    pub fn resize(disk: &dyn Disk, config: &Config, checkpoint: Checkpoint) -> Result<()> {
        LogFile::build(disk, config, checkpoint)
    }

    /// Writes a whole new log under another name, and renames it when it is durable.
    fn build(disk: &dyn Disk, config: &Config, checkpoint: Checkpoint) -> Result<()> {
        LogFile::prepare(disk, config.page_bytes, capacity(config), caching(config), checkpoint)?;
        LogFile::publish(disk)
    }

    /// Writes a log that is all zero behind its checkpoint, under another name: it is not the log yet.
    pub fn prepare(
        disk: &dyn Disk,
        page_bytes: usize,
        capacity: u64,
        caching: Caching,
        checkpoint: Checkpoint,
    ) -> Result<LogFile> {
        let doing = "create the redo log";
        if disk.exists(NEW_FILE_NAME).map_err(Error::io(doing))? {
            disk.remove(NEW_FILE_NAME).map_err(Error::io(doing))?;
        }
        let file = disk.open(NEW_FILE_NAME, OpenMode::Create, caching).map_err(Error::io(doing))?;
        file.allocate(0, RING + capacity).map_err(Error::io(doing))?;
        // Written, not only allocated: a first write to an allocated block would put metadata into the commit's sync.
        let zeros = AlignedBuffer::new(1 << 20);
        let mut offset = 0;
        while offset < RING + capacity {
            let bytes = (RING + capacity - offset).min(zeros.len() as u64);
            file.write_at(offset, &zeros[..bytes as usize]).map_err(Error::io(doing))?;
            offset += bytes;
        }
        let mut header = AlignedBuffer::new(BLOCK_BYTES);
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_be_bytes());
        header[12..16].copy_from_slice(&(page_bytes as u32).to_be_bytes());
        header[16..24].copy_from_slice(&capacity.to_be_bytes());
        let crc = crc32c(&header[..24]);
        header[24..28].copy_from_slice(&crc.to_be_bytes());
        file.write_at(0, &header).map_err(Error::io(doing))?;
        let log = LogFile { slots: file.clone(), file, capacity };
        log.write_checkpoint(&checkpoint)?;
        Ok(log)
    }

    /// Renames a log that was prepared, and is durable, to its final name.
    pub fn publish(disk: &dyn Disk) -> Result<()> {
        let doing = "create the redo log";
        disk.rename(NEW_FILE_NAME, FILE_NAME).map_err(Error::io(doing))?;
        disk.sync_directory("").map_err(Error::io(doing))
    }

    /// The page size of the instance, for tools that are not given it.
    pub fn page_bytes(disk: &dyn Disk) -> Result<usize> {
        let file = disk.open(FILE_NAME, OpenMode::Read, Caching::Cached).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(FILE_NAME.into()),
            _ => Error::from_io("open the redo log", cause),
        })?;
        read_header(&*file, &mut AlignedBuffer::new(BLOCK_BYTES))
    }

    /// Opens the log and returns the newest checkpoint.
    pub fn open(disk: &dyn Disk, config: &Config) -> Result<(LogFile, Checkpoint)> {
        let file = disk.open(FILE_NAME, OpenMode::ReadWrite, caching(config)).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound(FILE_NAME.into()),
            _ => Error::from_io("open the redo log", cause),
        })?;
        let mut block = AlignedBuffer::new(BLOCK_BYTES);
        let page_bytes = read_header(&*file, &mut block)?;
        if page_bytes != config.page_bytes {
            return Err(Error::Unsupported(format!("this directory was made with pages of {page_bytes} bytes").into()));
        }
        let capacity = u64_at(&block, 16);
        let mut newest: Option<Checkpoint> = None;
        for slot in 0..2 {
            file.read_at(SLOTS + slot * BLOCK_BYTES as u64, &mut block).map_err(Error::io("read the redo log"))?;
            let found = Checkpoint::decode(&block);
            newest = newest.into_iter().chain(found).max_by_key(|checkpoint| checkpoint.number);
        }
        let checkpoint = newest.ok_or_else(|| Error::corrupt("both checkpoints of the redo log"))?;
        if capacity < CAPACITY_MIN || !capacity.is_multiple_of(BLOCK_BYTES as u64) {
            return Err(Error::corrupt("the size of the redo log"));
        }
        let slots =
            disk.open(FILE_NAME, OpenMode::ReadWrite, caching(config)).map_err(Error::io("open the redo log"))?;
        Ok((LogFile { file, slots, capacity }, checkpoint))
    }

    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether the configured size differs.
    pub fn wants_resize(&self, config: &Config) -> bool {
        self.capacity != capacity(config)
    }

    /// Writes a checkpoint, durably.
    pub fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        let mut block = AlignedBuffer::new(BLOCK_BYTES);
        checkpoint.encode(&mut block);
        let offset = SLOTS + checkpoint.number % 2 * BLOCK_BYTES as u64;
        self.slots.write_durably(offset, &block).map_err(Error::io("write a checkpoint"))
    }

    /// Writes whole blocks at an LSN that is a multiple of the block, around the ring's end if need be.
    pub fn write(&self, lsn: Lsn, blocks: &[u8], durably: bool) -> Result<()> {
        assert!(
            lsn.0.is_multiple_of(BLOCK_BYTES as u64) && blocks.len().is_multiple_of(BLOCK_BYTES),
            "the log is written in blocks"
        );
        assert!(blocks.len() as u64 <= self.capacity, "the log is not larger than its ring");
        let at = lsn.0 % self.capacity;
        let before_wrap = ((self.capacity - at).min(blocks.len() as u64)) as usize;
        let (first, second) = blocks.split_at(before_wrap);
        let result = if !second.is_empty() {
            self.file.write_at(RING + at, first).and_then(|()| self.file.write_at(RING, second))
        } else if durably {
            return self.file.write_durably(RING + at, first).map_err(Error::io("write the redo log"));
        } else {
            self.file.write_at(RING + at, first)
        };
        result.map_err(Error::io("write the redo log"))?;
        if durably { self.sync() } else { Ok(()) }
    }

    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(Error::io("sync the redo log"))
    }

    /// Reads whole blocks at an LSN that is a multiple of the block.
    pub fn read(&self, lsn: Lsn, blocks: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < blocks.len() {
            let at = (lsn.0 + done as u64) % self.capacity;
            let count = (self.capacity - at).min((blocks.len() - done) as u64) as usize;
            self.file.read_at(RING + at, &mut blocks[done..done + count]).map_err(Error::io("read the redo log"))?;
            done += count;
        }
        Ok(())
    }
}

fn capacity(config: &Config) -> u64 {
    config.log_bytes.max(CAPACITY_MIN).next_multiple_of(BLOCK_BYTES as u64)
}
