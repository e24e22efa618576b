//! Reads the log's groups after a crash.

use format::checksum::crc32c;
use format::ids::Lsn;

use super::file::{BLOCK_BYTES, LogFile};
use super::{GROUP_HEADER_BYTES, group_crc};
use crate::error::Result;
use crate::io::AlignedBuffer;

/// Bytes read at once.
const CHUNK_BYTES: usize = if cfg!(test) { 2 * BLOCK_BYTES } else { 1 << 20 };

/// The records of one mini-transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct Group<'a> {
    pub start: Lsn,
    pub end: Lsn,
    pub records: &'a [u8],
}

/// Reads groups from a checkpoint on, to the end of the log.
pub struct Reader<'f> {
    file: &'f LogFile,
    from: Lsn,
    /// LSN of the next group.
    next: Lsn,
    epoch: u32,
    /// Log from `base` on, whole blocks, of which `filled` bytes have been read.
    base: Lsn,
    buffer: AlignedBuffer,
    filled: usize,
}

impl<'f> Reader<'f> {
    /// `epoch` is that of the checkpoint: older groups are ignored.
    pub fn new(file: &'f LogFile, from: Lsn, epoch: u32) -> Reader<'f> {
        let base = Lsn(from.0 - from.0 % BLOCK_BYTES as u64);
        Reader { file, from, next: from, epoch, base, buffer: AlignedBuffer::new(CHUNK_BYTES), filled: 0 }
    }

    /// Where the next group would begin; after the last one, the end of the log.
    pub fn position(&self) -> Lsn {
        self.next
    }

    /// The epoch of the newest group so far.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The next whole group, or `None` at the end of the log.
    pub fn next_group(&mut self) -> Result<Option<Group<'_>>> {
        if !self.fill(GROUP_HEADER_BYTES)? {
            return Ok(None);
        }
        let header = self.bytes(0, GROUP_HEADER_BYTES);
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let (bytes, epoch, crc) = (word(0), word(4), word(8));
        let whole = GROUP_HEADER_BYTES + bytes as usize;
        if bytes == 0 || epoch < self.epoch || !self.fill(whole)? {
            return Ok(None);
        }
        let start = self.next;
        if group_crc(crc32c(self.bytes(GROUP_HEADER_BYTES, whole)), start, bytes, epoch) != crc {
            return Ok(None);
        }
        self.epoch = epoch;
        self.next = start + whole as u64;
        let offset = start.since(self.base) as usize;
        let records = &self.buffer[offset + GROUP_HEADER_BYTES..offset + whole];
        Ok(Some(Group { start, end: self.next, records }))
    }

    /// Bytes `from..to` behind the position.
    fn bytes(&self, from: usize, to: usize) -> &[u8] {
        let offset = self.next.since(self.base) as usize;
        &self.buffer[offset + from..offset + to]
    }

    /// Reads until `count` bytes behind the position are in memory. False if the log has fewer.
    fn fill(&mut self, count: usize) -> Result<bool> {
        let end = self.next + count as u64;
        if end.since(self.from) > self.file.capacity() {
            return Ok(false);
        }
        if end <= self.base + self.filled as u64 {
            return Ok(true);
        }
        // Drop the blocks before the position, and append the following ones.
        let dropped = (self.next.since(self.base) as usize / BLOCK_BYTES * BLOCK_BYTES).min(self.filled);
        self.buffer.copy_within(dropped..self.filled, 0);
        self.base += dropped as u64;
        self.filled -= dropped;
        let wanted = (end.since(self.base) as usize).next_multiple_of(BLOCK_BYTES).max(CHUNK_BYTES);
        if wanted > self.buffer.len() {
            let mut larger = AlignedBuffer::new(wanted);
            larger[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            self.buffer = larger;
        }
        let filled = self.filled;
        self.file.read(self.base + filled as u64, &mut self.buffer[filled..])?;
        self.filled = self.buffer.len();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::gate::Health;
    use crate::io::sim::{Random, SimDisk};
    use crate::redo::Redo;
    use std::sync::Arc;

    fn config() -> Config {
        Config { log_bytes: 256 << 10, ..Config::tiny() }
    }

    fn open(disk: &SimDisk) -> Redo {
        let (file, checkpoint) = LogFile::open(disk, &config()).unwrap();
        Redo::new(file, checkpoint.clone(), checkpoint.lsn, 16 << 10, Arc::new(Health::default())).unwrap()
    }

    fn record(random: &mut Random) -> Vec<u8> {
        let bytes = 1 + random.below(6000) as usize;
        let first = random.next() as u8;
        (0..bytes).map(|at| first.wrapping_add(at as u8)).collect()
    }

    #[test]
    fn what_was_flushed_is_read_back_and_wraps_around() {
        let disk = SimDisk::new(1);
        LogFile::create(&disk, &config()).unwrap();
        let redo = open(&disk);
        let mut random = Random::new(1);
        let mut written: Vec<(Lsn, Vec<u8>)> = Vec::new();
        for round in 0..400 {
            let bytes = record(&mut random);
            let (start, end) = redo.append(&bytes, |_, _| ());
            written.push((start, bytes));
            if random.chance(4) {
                redo.flush_until(end).unwrap();
            }
            if random.chance(16) {
                redo.flush_until(end).unwrap();
                redo.write_checkpoint(end, false).unwrap();
                written.clear();
            }
            if redo.is_crowded() {
                redo.flush_until(end).unwrap();
                redo.write_checkpoint(end, false).unwrap();
                written.clear();
            }
            if round % 20 == 0 {
                redo.flush_until(end).unwrap();
                let (file, checkpoint) = LogFile::open(&disk, &config()).unwrap();
                let mut reader = Reader::new(&file, checkpoint.lsn, checkpoint.epoch);
                for (start, bytes) in &written {
                    let group = reader.next_group().unwrap().expect("a group that was flushed");
                    assert_eq!((group.start, group.records), (*start, &bytes[..]));
                }
                assert_eq!(reader.next_group().unwrap(), None);
                assert_eq!(reader.position(), end);
            }
        }
        assert!(redo.end().0 > 3 * redo.capacity(), "the ring was lapped");
    }

    #[test]
    fn after_a_crash_a_prefix_of_the_log_is_there() {
        for seed in 0..300 {
            let disk = SimDisk::new(seed);
            LogFile::create(&disk, &config()).unwrap();
            let mut random = Random::new(seed);
            let redo = open(&disk);
            let start_changes = disk.changes();
            disk.set_faults(|faults| faults.crash_at = Some(start_changes + 1 + random.below(40)));
            let mut written = Vec::new();
            let mut durable = 0;
            for _ in 0..60 {
                let bytes = record(&mut random);
                let (_, end) = redo.append(&bytes, |_, _| ());
                written.push(bytes);
                let outcome = match random.below(3) {
                    0 => redo.flush_until(end).map(|()| durable = written.len()),
                    1 => redo.write_until(end),
                    _ => Ok(()),
                };
                if outcome.is_err() || redo.is_crowded() {
                    break;
                }
            }
            let disk = disk.crash();
            let (file, checkpoint) = LogFile::open(&disk, &config()).unwrap();
            let mut reader = Reader::new(&file, checkpoint.lsn, checkpoint.epoch);
            let mut found = 0;
            while let Some(group) = reader.next_group().unwrap() {
                assert_eq!(group.records, written[found], "seed {seed}");
                found += 1;
            }
            assert!(found >= durable, "seed {seed}: {found} groups of {durable} durable ones");
        }
    }
}
