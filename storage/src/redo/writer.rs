//! The running log: append, write, flush.
//!
//! Appending copies a group into the buffer under one short mutex, which is also where LSNs are born and where a page
//! that becomes dirty enters the flush list (the closure of [`Redo::append`]): so the flush list is in LSN order, and
//! whoever holds the mutex sees pages and log agree.
//!
//! Group commit: of all who wait for an LSN, one becomes the leader. It takes the whole buffer, writes and syncs it, and
//! wakes those whose groups were in it. Of those who came too late it wakes one, who leads the next write; the others
//! sleep on until that is done. So nobody is woken in vain, however many there are.
//!
//! ```text
//!   A: append ---- lead: swap, write, sync ---- done
//!   B:    append ------ wait ................. lead: swap, write, sync -- done
//!   C:        append -- wait ........................................... done
//! ```
//!
//! So a group is what commits while the one before it is written: the quicker the disk, the smaller. Nobody is made to wait for
//! a larger one: who is gathered cannot send the next statement meanwhile, and there is little to save. With 64 threads of
//! oltp_update_non_index on two cores, 31 commits share a write, and writes with their syncs are 2 % of the server's processor
//! time, about 30 us each (perf; waiting for them and being woken is 14 %, which gathering does not change). Where others take
//! the processor and the disk is quick, 9 commits share one; then it is 8 %.
//!
//! Who waits does so in one of two rooms, which take turns: that of the write under way, and that of the next one.
//! Rooms are for being woken only; whoever wakes looks again whether the log is far enough, and whether somebody leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::checksum::crc32c;
use format::ids::Lsn;

use super::archive::LogArchive;
use super::buffer::LogBuffer;
use super::file::{Checkpoint, LogFile};
use super::{GROUP_HEADER_BYTES, group_crc};
use crate::error::{Error, Health, Result};
use crate::io::Disk;
use crate::sync::{Condvar, Counter, Mutex, Padded, Rank};

#[derive(Debug, Default)]
pub struct LogCounters {
    /// Groups appended.
    pub write_requests: Counter,
    pub writes: Counter,
    pub fsyncs: Counter,
    pub bytes_written: Counter,
    /// How often a mini-transaction had to wait for room.
    pub waits: Counter,
    pub checkpoints: Counter,
}

/// The running redo log. See the module header.
pub struct Redo {
    append: Padded<Mutex<LogBuffer>>,
    /// End of the last group, for those who need not be exact.
    end: Padded<AtomicU64>,
    written: AtomicU64,
    flushed: Padded<AtomicU64>,
    flush: Mutex<Flush>,
    /// The waiting rooms, by the write's number, even and odd.
    rooms: [Condvar; 2],
    /// How far the write under way will get. Set together with taking the buffer, so that it is exact for whoever has
    /// appended.
    leading_to: AtomicU64,
    file: LogFile,
    checkpoint: Mutex<Freed>,
    checkpoint_lsn: AtomicU64,
    epoch: u32,
    /// Where the epoch begins.
    begin: Lsn,
    buffer_bytes: usize,
    health: Arc<Health>,
    pub counters: LogCounters,
}

/// How far the log has been freed, and who wants what is freed next.
struct Freed {
    checkpoint: Checkpoint,
    /// A backup of the running instance.
    archive: Option<LogArchive>,
}

struct Flush {
    /// Somebody writes.
    led: bool,
    /// The number of the write under way, or of the next one if there is none.
    number: usize,
    /// The buffer that is not appended to; the leader has it while it writes.
    spare: Option<LogBuffer>,
}

impl Redo {
    /// Continues a log at `end`, in the newest epoch of the checkpoint; the log is durable up to there.
    pub fn new(
        file: LogFile,
        checkpoint: Checkpoint,
        end: Lsn,
        buffer_bytes: usize,
        health: Arc<Health>,
    ) -> Result<Redo> {
        let mut active = LogBuffer::new(buffer_bytes);
        active.begin(end, &file)?;
        Ok(Redo {
            append: Padded(Mutex::new(Rank::Log, active)),
            end: Padded(AtomicU64::new(end.0)),
            written: AtomicU64::new(end.0),
            flushed: Padded(AtomicU64::new(end.0)),
            flush: Mutex::new(
                Rank::LogFlush,
                Flush { led: false, number: 0, spare: Some(LogBuffer::new(buffer_bytes)) },
            ),
            rooms: [Condvar::new(), Condvar::new()],
            leading_to: AtomicU64::new(end.0),
            file,
            checkpoint: Mutex::new(Rank::LogFlush, Freed { checkpoint, archive: None }),
            checkpoint_lsn: AtomicU64::new(checkpoint.lsn.0),
            epoch: checkpoint.newest_epoch,
            begin: end,
            buffer_bytes,
            health,
            counters: LogCounters::default(),
        })
    }

    /// Appends a group. `entered` is called with the group's first LSN and the LSN behind it, before anybody can see the
    /// new end of the log.
    #[inline]
    pub fn append(&self, records: &[u8], entered: impl FnOnce(Lsn, Lsn)) -> (Lsn, Lsn) {
        assert!(!records.is_empty(), "an empty group would look like the end of the log");
        let bytes = records.len() as u32;
        let records_crc = crc32c(records);
        let mut buffer = self.append.lock();
        let start = buffer.end();
        let mut header = [0; GROUP_HEADER_BYTES];
        header[..4].copy_from_slice(&bytes.to_be_bytes());
        header[4..8].copy_from_slice(&self.epoch.to_be_bytes());
        header[8..].copy_from_slice(&group_crc(records_crc, start, bytes, self.epoch).to_be_bytes());
        buffer.reserve(GROUP_HEADER_BYTES + records.len());
        buffer.append(&header);
        buffer.append(records);
        let end = buffer.end();
        entered(start, end);
        self.end.store(end.0, Ordering::Release);
        drop(buffer);
        self.counters.write_requests.add(1);
        if end.0 - self.checkpoint_lsn.load(Ordering::Relaxed) > self.file.capacity() {
            // Reservations make this impossible but for a group larger than the reserve. Writing it would overwrite what
            // recovery needs.
            self.health.poison(&"the redo log is too small for what was changed at once");
        }
        (start, end)
    }

    /// Calls `look` with the end of the log while nothing can be appended.
    pub fn at_rest<T>(&self, look: impl FnOnce(Lsn) -> T) -> T {
        let buffer = self.append.lock();
        look(buffer.end())
    }

    #[inline]
    pub fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::Acquire))
    }

    #[inline]
    pub fn flushed(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::Acquire))
    }

    pub fn checkpoint_lsn(&self) -> Lsn {
        Lsn(self.checkpoint_lsn.load(Ordering::Acquire))
    }

    pub fn capacity(&self) -> u64 {
        self.file.capacity()
    }

    pub fn file(&self) -> &LogFile {
        &self.file
    }

    /// Bytes of the ring that recovery would need.
    #[inline]
    pub fn age(&self) -> u64 {
        self.end.load(Ordering::Relaxed).saturating_sub(self.checkpoint_lsn.load(Ordering::Relaxed))
    }

    /// Whether mini-transactions must not begin: an eighth of the ring is kept for those under way.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.age() > self.file.capacity() / 8 * 7
    }

    /// Whether statements should not change more, if that cannot be written: what they did may have to be undone, and that
    /// is logged, too.
    #[inline]
    pub fn is_filling(&self) -> bool {
        self.age() > self.file.capacity() / 8 * 5
    }

    /// Whether so much waits in memory that it should be written before more comes.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.end.load(Ordering::Relaxed).saturating_sub(self.written.load(Ordering::Relaxed)) > self.buffer_bytes as u64
    }

    /// Makes the log durable up to `lsn`.
    #[inline]
    pub fn flush_until(&self, lsn: Lsn) -> Result<()> {
        if self.flushed() >= lsn {
            return Ok(());
        }
        self.advance(lsn, true)
    }

    /// Hands the log up to `lsn` to the operating system.
    pub fn write_until(&self, lsn: Lsn) -> Result<()> {
        if self.written.load(Ordering::Acquire) >= lsn.0 {
            return Ok(());
        }
        self.advance(lsn, false)
    }

    fn advance(&self, lsn: Lsn, durably: bool) -> Result<()> {
        assert!(lsn <= self.end(), "nobody can wait for what was not appended");
        let mark = if durably { &self.flushed.0 } else { &self.written };
        let mut flush = self.flush.lock();
        let mut room: Option<&Condvar> = None;
        loop {
            if mark.load(Ordering::Acquire) >= lsn.0 {
                // One of a room may have been woken to lead, and does not: then another one must.
                if let Some(room) = room
                    && !flush.led
                {
                    room.notify_one();
                }
                return Ok(());
            }
            self.health.check()?;
            if !flush.led {
                break;
            }
            let late = self.leading_to.load(Ordering::Acquire) < lsn.0;
            let chosen = &self.rooms[(flush.number + usize::from(late)) % 2];
            room = Some(chosen);
            chosen.wait(&mut flush);
        }
        flush.led = true;
        // Until the buffer is taken, whatever has been appended will be in it.
        self.leading_to.store(u64::MAX, Ordering::Release);
        let mut spare = flush.spare.take().expect("the leader has the spare buffer");
        drop(flush);
        let result = self.health.judge(self.write_out(&mut spare, durably));
        // A full log device is no ordinary error: the log is preallocated, and what was not written is in doubt.
        if let Err(error) = &result {
            self.health.poison(error);
        }
        let mut flush = self.flush.lock();
        flush.spare = Some(spare);
        flush.led = false;
        let (done, next) = (flush.number % 2, (flush.number + 1) % 2);
        flush.number += 1;
        drop(flush);
        self.rooms[done].notify_all();
        match result {
            Ok(()) => self.rooms[next].notify_one(),
            // Nobody will lead again: all have to hear of it.
            Err(_) => self.rooms[next].notify_all(),
        }
        result
    }

    /// Writes what is in the buffer. Only the leader is here.
    fn write_out(&self, spare: &mut LogBuffer, durably: bool) -> Result<()> {
        let end = {
            let mut active = self.append.lock();
            let end = active.end();
            if end.0 > self.written.load(Ordering::Relaxed) {
                spare.follow(&active);
                std::mem::swap(&mut *active, spare);
            }
            self.leading_to.store(end.0, Ordering::Release);
            end
        };
        // From here on `spare` is what was active.
        if end.0 > self.written.load(Ordering::Relaxed) {
            let base = spare.base();
            let blocks = spare.blocks();
            self.counters.writes.add(1);
            self.counters.bytes_written.add(blocks.len() as u64);
            self.file.write(base, blocks, durably)?;
            self.written.store(end.0, Ordering::Release);
        } else if durably {
            self.file.sync()?;
        }
        if durably {
            self.counters.fsyncs.add(1);
            self.flushed.fetch_max(end.0, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Records that everything before `lsn` is in the tablespaces, and frees the log up to there.
    pub fn write_checkpoint(&self, lsn: Lsn, clean: bool) -> Result<()> {
        assert!(lsn <= self.flushed(), "the log is durable up to its checkpoint");
        let mut freed = self.checkpoint.lock();
        let known = freed.checkpoint;
        if lsn < known.lsn || lsn == known.lsn && clean == known.clean {
            return Ok(());
        }
        if let Some(archive) = &mut freed.archive {
            archive.take_along(&self.file, lsn);
        }
        // As long as recovery would read groups of an earlier life, they count.
        let epoch = if lsn < self.begin { known.epoch } else { self.epoch };
        let next = Checkpoint { number: known.number + 1, lsn, epoch, newest_epoch: self.epoch, clean };
        self.health.judge(self.file.write_checkpoint(next))?;
        freed.checkpoint = next;
        self.checkpoint_lsn.store(lsn.0, Ordering::Release);
        self.counters.checkpoints.add(1);
        Ok(())
    }

    /// Begins this life of the log, durably: the next one will know that it was there.
    pub fn begin_epoch(&self) -> Result<()> {
        let mut freed = self.checkpoint.lock();
        let next = Checkpoint { number: freed.checkpoint.number + 1, clean: false, ..freed.checkpoint };
        self.health.judge(self.file.write_checkpoint(next))?;
        freed.checkpoint = next;
        Ok(())
    }

    /// The newest checkpoint.
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.lock().checkpoint
    }

    /// From here on no log is freed that an archive does not have; returns the checkpoint from which it has everything.
    /// One at a time.
    pub fn begin_archive(&self, disk: Arc<dyn Disk>) -> Result<Checkpoint> {
        let mut freed = self.checkpoint.lock();
        if freed.archive.is_some() {
            return Err(Error::Exists("another backup of this server, which is still running".into()));
        }
        freed.archive = Some(LogArchive::new(disk, freed.checkpoint.lsn));
        Ok(freed.checkpoint)
    }

    /// Reads whole blocks of the log from a block boundary on, freed or not, as long as the archive runs. The bytes that
    /// were read; the log up to their end has been flushed.
    pub fn read_archived(&self, lsn: Lsn, blocks: &mut [u8]) -> Result<usize> {
        let freed = self.checkpoint.lock();
        let archive = freed.archive.as_ref().expect("an archive is read between its begin and its end");
        archive.read(&self.file, lsn, blocks)
    }

    /// Lets the archive go; its file is removed.
    pub fn end_archive(&self) {
        let archive = self.checkpoint.lock().archive.take();
        drop(archive);
    }
}
