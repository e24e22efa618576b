//! Keeps the log that a backup needs when the ring has no room for it any more.
//!
//! A backup copies the tablespaces while they change, and needs the log from the checkpoint at which it began to its own
//! end. The ring does not wait for it: the thread that moves the checkpoint first copies the log that becomes free into
//! a file of the archive. So writers never stall for a backup, and a short one needs no file at all.
//!
//! ```text
//!        begin         spooled      checkpoint                    end
//!   LSN ---|--------------|-----|-------|-----------------------------|
//!          |  in the file |             in the ring                   |
//!                         whole blocks only: up to the checkpoint's
//! ```
//!
//! Invariants:
//!
//! * Nothing from `begin` on is freed before it is in the file.
//! * A file that cannot be written (a full disk) ends the backup, not the server: the checkpoint moves on, and the next
//!   read returns the error.
//!
//! The file is useless after a crash; the next start removes it.

use std::sync::Arc;

use format::ids::Lsn;

use super::file::{BLOCK_BYTES, LogFile};
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, File, OpenMode};

/// Name of the archive's file in the data directory.
pub const ARCHIVE_FILE_NAME: &str = "#backup.redo";

/// Bytes copied at once.
const CHUNK_BYTES: usize = if cfg!(test) { 2 * BLOCK_BYTES } else { 1 << 20 };

/// See the module header.
pub struct LogArchive {
    disk: Arc<dyn Disk>,
    /// LSN of the file's first byte, a multiple of the block.
    base: Lsn,
    /// Log before this LSN, a multiple of the block, is in the file.
    spooled: Lsn,
    file: Option<Arc<dyn File>>,
    failure: Option<Error>,
}

impl LogArchive {
    /// An archive of the log from `begin` on, which is all in the ring.
    pub fn new(disk: Arc<dyn Disk>, begin: Lsn) -> LogArchive {
        let base = block_of(begin);
        LogArchive { disk, base, spooled: base, file: None, failure: None }
    }

    /// Copies the log before `checkpoint`, which is about to become free.
    pub fn take_along(&mut self, log: &LogFile, checkpoint: Lsn) {
        let until = block_of(checkpoint);
        if self.failure.is_some() || until <= self.spooled {
            return;
        }
        if let Err(error) = self.spool(log, until) {
            tracing::warn!("the log is not kept for the backup, which ends here: {error}");
            self.failure = Some(error);
        }
    }

    fn spool(&mut self, log: &LogFile, until: Lsn) -> Result<()> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(self.create()?).clone(),
        };
        let mut chunk = AlignedBuffer::new(CHUNK_BYTES.min(until.since(self.spooled) as usize));
        while self.spooled < until {
            let bytes = (until.since(self.spooled) as usize).min(chunk.len());
            log.read(self.spooled, &mut chunk[..bytes])?;
            file.write_at(self.spooled.since(self.base), &chunk[..bytes])
                .map_err(Error::io("keep the log for a backup"))?;
            self.spooled += bytes as u64;
        }
        Ok(())
    }

    fn create(&self) -> Result<Arc<dyn File>> {
        let doing = "create a file for the log of a backup";
        if self.disk.exists(ARCHIVE_FILE_NAME).map_err(Error::io(doing))? {
            self.disk.remove(ARCHIVE_FILE_NAME).map_err(Error::io(doing))?;
        }
        self.disk.open(ARCHIVE_FILE_NAME, OpenMode::Create, Caching::Cached).map_err(Error::io(doing))
    }

    /// Reads whole blocks from the file or the ring. Returns the bytes that were read, which may be fewer than
    /// requested.
    pub fn read(&self, log: &LogFile, lsn: Lsn, blocks: &mut [u8]) -> Result<usize> {
        assert!(lsn == block_of(lsn) && lsn >= self.base, "the archive is read in blocks, from its begin on");
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if lsn >= self.spooled {
            log.read(lsn, blocks)?;
            return Ok(blocks.len());
        }
        let bytes = blocks.len().min(self.spooled.since(lsn) as usize);
        let file = self.file.as_ref().expect("what is spooled is in the file");
        file.read_at(lsn.since(self.base), &mut blocks[..bytes]).map_err(Error::io("read the log of a backup"))?;
        Ok(bytes)
    }
}

impl Drop for LogArchive {
    fn drop(&mut self) {
        // If removing fails, the next start removes it.
        if self.file.take().is_some() {
            let _ = self.disk.remove(ARCHIVE_FILE_NAME);
        }
    }
}

fn block_of(lsn: Lsn) -> Lsn {
    Lsn(lsn.0 - lsn.0 % BLOCK_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::gate::Health;
    use crate::io::sim::{Random, SimDisk};
    use crate::redo::Redo;

    fn open(disk: &SimDisk) -> Redo {
        let config = Config { log_bytes: 256 << 10, ..Config::tiny() };
        LogFile::create(disk, &config).unwrap();
        let (file, checkpoint) = LogFile::open(disk, &config).unwrap();
        Redo::new(file, checkpoint.clone(), checkpoint.lsn, 16 << 10, Arc::new(Health::default())).unwrap()
    }

    /// All log from the beginning of the archive to the end of the log.
    fn archived(redo: &Redo, begin: Lsn) -> Vec<u8> {
        let mut log = Vec::new();
        let mut chunk = AlignedBuffer::new(3 * BLOCK_BYTES);
        while block_of(begin) + (log.len() as u64) < redo.end() {
            let bytes = redo.read_archived(block_of(begin) + log.len() as u64, &mut chunk).unwrap();
            log.extend_from_slice(&chunk[..bytes]);
        }
        log.truncate(redo.end().since(block_of(begin)) as usize);
        log.split_off(begin.since(block_of(begin)) as usize)
    }

    #[test]
    fn the_log_is_all_there_however_often_the_ring_was_lapped() {
        let disk = SimDisk::new(1);
        let redo = open(&disk);
        let mut random = Random::new(3);
        let append = |random: &mut Random| {
            let record: Vec<u8> = (0..1 + random.below(6000)).map(|at| (at * 7) as u8).collect();
            let (_, end) = redo.append(&record, |_, _| ());
            redo.flush_until(end).unwrap();
            record
        };
        append(&mut random);
        let begin = redo.begin_archive(Arc::new(disk.clone())).unwrap();
        let mut records = Vec::new();
        // Log behind the checkpoint from before the archive began is part of it.
        let before = redo.end().since(begin.lsn) as usize;
        for _ in 0..400 {
            records.push(append(&mut random));
            if random.chance(9) || redo.is_crowded() {
                redo.write_checkpoint(redo.end(), false).unwrap();
            }
        }
        assert!(redo.end().since(begin.lsn) > 3 * redo.capacity(), "the ring was lapped");
        let log = archived(&redo, begin.lsn);
        let mut at = before;
        for record in records {
            at += super::super::GROUP_HEADER_BYTES;
            assert!(log[at..at + record.len()] == record[..], "at {at}");
            at += record.len();
        }
        assert_eq!(at, log.len());
        assert!(disk.exists(ARCHIVE_FILE_NAME).unwrap());
        assert!(matches!(redo.begin_archive(Arc::new(disk.clone())), Err(Error::Exists(_))));
        redo.end_archive();
        assert!(!disk.exists(ARCHIVE_FILE_NAME).unwrap());
    }

    #[test]
    fn a_full_disk_ends_the_archive_and_not_the_log() {
        let disk = SimDisk::new(1);
        let redo = open(&disk);
        redo.begin_archive(Arc::new(disk.clone())).unwrap();
        let used = disk.used_blocks();
        disk.set_faults(|faults| faults.capacity_blocks = Some(used));
        for _ in 0..100 {
            let (_, end) = redo.append(&[7; 5000], |_, _| ());
            redo.flush_until(end).unwrap();
            redo.write_checkpoint(end, false).unwrap();
        }
        let mut block = AlignedBuffer::new(BLOCK_BYTES);
        let lsn = block_of(redo.end());
        assert!(matches!(redo.read_archived(lsn, &mut block), Err(Error::DiskFull { .. })));
    }
}
