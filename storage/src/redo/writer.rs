//! The running log: append, write, flush.
//!
//! Appending copies a group into the buffer under one short mutex. Under the same mutex LSNs are assigned and a page
//! that becomes dirty enters the flush list (the closure of [`Redo::append`]): so the flush list is in LSN order, and a
//! thread that holds the mutex sees pages and log agree.
//!
//! Group commit: writing proceeds in cycles. One of the threads that wait for an LSN becomes the leader of a cycle: it takes
//! the whole buffer, writes and syncs it, and wakes the threads whose groups were in it. Threads that appended after the
//! leader took the buffer wait for the next cycle; when this one ends, one of them is woken to lead the next, and the
//! others sleep until that is done. So each thread is woken once, however many there are.
//!
//! ```text
//!   cycle                  1                              2
//!   A: append ---- lead: take, write, sync ---- done
//!   B:    append ------ wait ................. lead: take, write, sync -- done
//!   C:        append -- wait ........................................... done
//! ```
//!
//! So a group commit contains the commits that arrive during the previous cycle. No thread is delayed for a larger
//! group: a client whose commit waits cannot send its next statement, and there is little to save (docs/benchmarks.md).
//!
//! At most two cycles have waiters, the current one and the next. Each has a condition variable: that of cycle n is
//! `cycle_ends[n % 2]`. A wake-up promises nothing; a thread that wakes checks whether the log is far enough, whether
//! the instance is poisoned, and whether a cycle has a leader.
//!
//! Poisoning wakes all waiters of both cycles (`gate::Waiters`), whether a leader is active or not; a leader that
//! panics poisons. So no thread waits here for a log that will never be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::checksum::crc32c;
use format::ids::Lsn;

use super::archive::LogArchive;
use super::buffer::LogBuffer;
use super::file::{Checkpoint, LogFile};
use super::gather::Gathering;
use super::hold::Hold;
use super::room::Room;
use super::stamps::Stamps;
use super::{GROUP_HEADER_BYTES, group_crc};
use crate::error::{Error, Result};
use crate::gate::{Health, Waiters};
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
    /// End of the last group, for readers that need not be exact.
    end: Padded<AtomicU64>,
    written: AtomicU64,
    flushed: Padded<AtomicU64>,
    cycle: Mutex<Cycle>,
    /// Signalled when a cycle ends: that of cycle n is at n % 2.
    cycle_ends: [Condvar; 2],
    /// The LSN that the current cycle will reach. Set together with taking the buffer, so that it is exact for every
    /// thread that has appended.
    cycle_until: AtomicU64,
    file: LogFile,
    checkpoint: Mutex<Freed>,
    checkpoint_lsn: AtomicU64,
    epoch: u32,
    /// Where the epoch begins.
    begin: Lsn,
    buffer_bytes: usize,
    room: Room,
    health: Arc<Health>,
    /// Annexes that are not durable in a file of their own.
    pub hold: Hold,
    /// Commits that wait for each other.
    pub gathering: Gathering,
    /// Pages whose LSNs the checkpoints contain.
    pub stamps: Stamps,
    pub counters: LogCounters,
}

/// How far the log has been freed, and the archive that copies what is freed next.
struct Freed {
    checkpoint: Checkpoint,
    /// A backup of the running instance.
    archive: Option<LogArchive>,
}

/// The current write cycle, or the next one if there is none.
struct Cycle {
    number: usize,
    has_leader: bool,
    /// The buffer that is not appended to; the leader has it while it writes.
    spare: Option<LogBuffer>,
}

/// The leader of a cycle. Its drop ends the cycle, also when the leader panics.
struct Leader<'r> {
    redo: &'r Redo,
    spare: Option<LogBuffer>,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // It is unknown which part of the buffer has been written. This wakes all waiters.
            self.redo.health.poison(&"a panic while the redo log was written");
        }
        let mut cycle = self.redo.cycle.lock();
        cycle.spare = self.spare.take();
        cycle.has_leader = false;
        let (ended, next) = (cycle.number % 2, (cycle.number + 1) % 2);
        cycle.number += 1;
        drop(cycle);
        self.redo.cycle_ends[ended].notify_all();
        self.redo.cycle_ends[next].notify_one();
    }
}

impl Waiters for Redo {
    fn wake_all(&self) {
        // A waiter that checked the health before it was poisoned is asleep, or holds the mutex.
        drop(self.cycle.lock());
        self.cycle_ends.iter().for_each(Condvar::notify_all);
    }
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
        let capacity = file.capacity();
        Ok(Redo {
            append: Padded(Mutex::new(Rank::Log, active)),
            end: Padded(AtomicU64::new(end.0)),
            written: AtomicU64::new(end.0),
            flushed: Padded(AtomicU64::new(end.0)),
            cycle: Mutex::new(
                Rank::LogFlush,
                Cycle { number: 0, has_leader: false, spare: Some(LogBuffer::new(buffer_bytes)) },
            ),
            cycle_ends: [Condvar::new(), Condvar::new()],
            cycle_until: AtomicU64::new(end.0),
            file,
            checkpoint_lsn: AtomicU64::new(checkpoint.lsn.0),
            epoch: checkpoint.newest_epoch,
            room: Room::new(capacity),
            stamps: Stamps::new(&checkpoint.stamps),
            checkpoint: Mutex::new(Rank::Checkpoint, Freed { checkpoint, archive: None }),
            begin: end,
            buffer_bytes,
            health,
            hold: Hold::default(),
            gathering: Gathering::default(),
            counters: LogCounters::default(),
        })
    }

    /// Appends a group. `entered` is called with the group's first LSN and the LSN behind it, before any other thread
    /// can see the new end of the log.
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
        // Reservations exclude this, except for a group larger than the reserve. Writing it would overwrite what
        // recovery needs, so writing ends before any leader can take the buffer.
        let overflows = end.0 - self.checkpoint_lsn.load(Ordering::Relaxed) > self.file.capacity()
            && self.health.stop_writing(&"the redo log is too small for what was changed at once");
        drop(buffer);
        self.counters.write_requests.add(1);
        if overflows {
            self.health.wake_waiters();
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

    /// Whether the checkpoint stands where an upper layer holds it.
    pub fn is_held_back(&self) -> bool {
        self.hold.limit(Lsn(u64::MAX)) <= self.checkpoint_lsn()
    }

    /// Room for mini-transactions.
    #[inline]
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Whether mini-transactions may begin only with a promise of room.
    #[inline]
    pub fn is_tight(&self) -> bool {
        self.age() > self.file.capacity() / 4 * 3
    }

    /// Whether mini-transactions must not begin: an eighth of the ring is kept for those already begun.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.age() > self.file.capacity() / 8 * 7
    }

    /// Whether transactions must not even end.
    pub fn is_full(&self) -> bool {
        self.age() > self.file.capacity() / 16 * 15
    }

    /// Whether statements should change no more rows while dirty pages cannot be written: their changes may have to be
    /// undone, and the undo is logged, too.
    #[inline]
    pub fn is_filling(&self) -> bool {
        self.age() > self.file.capacity() / 8 * 5
    }

    /// Whether so much log waits in memory that it should be written before more is appended.
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
        let mut cycle = self.cycle.lock();
        let mut waited_at: Option<&Condvar> = None;
        loop {
            if mark.load(Ordering::Acquire) >= lsn.0 {
                // This thread may have been woken to lead, and has no need to: then it wakes another one to lead.
                if let Some(waiters) = waited_at
                    && !cycle.has_leader
                {
                    waiters.notify_one();
                }
                return Ok(());
            }
            // Poisoning has woken all other waiters as well.
            self.health.check()?;
            if !cycle.has_leader {
                break;
            }
            let is_late = self.cycle_until.load(Ordering::Acquire) < lsn.0;
            let ends = &self.cycle_ends[(cycle.number + usize::from(is_late)) % 2];
            waited_at = Some(ends);
            ends.wait(&mut cycle);
        }
        cycle.has_leader = true;
        // Until the buffer is taken, everything appended will be part of it.
        self.cycle_until.store(u64::MAX, Ordering::Release);
        let mut leader = Leader { redo: self, spare: cycle.spare.take() };
        drop(cycle);
        let result = self.write_out(leader.spare.as_mut().expect("the leader has the spare buffer"), durably);
        if let Err(error) = &result {
            // A full device is no ordinary error here: the log is preallocated, and the unwritten part is in doubt.
            self.health.poison(error);
        }
        result
    }

    /// Writes the buffer. Only the leader calls this.
    fn write_out(&self, spare: &mut LogBuffer, durably: bool) -> Result<()> {
        let end = {
            let mut active = self.append.lock();
            let end = active.end();
            if end.0 > self.written.load(Ordering::Relaxed) {
                spare.follow(&active);
                std::mem::swap(&mut *active, spare);
            }
            self.cycle_until.store(end.0, Ordering::Release);
            end
        };
        // The buffer may end with a group that must not be written.
        self.health.check()?;
        // From here on `spare` is the previously active buffer.
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
        self.health.check()?;
        let known = &freed.checkpoint;
        if lsn < known.lsn || lsn == known.lsn && clean == known.clean {
            return Ok(());
        }
        // As long as recovery would read groups of an earlier epoch, they count.
        let epoch = if lsn < self.begin { known.epoch } else { self.epoch };
        let (number, stamps) = (known.number + 1, self.stamps.durable());
        let next = Checkpoint { number, lsn, epoch, newest_epoch: self.epoch, clean, stamps };
        if let Some(archive) = &mut freed.archive {
            archive.take_along(&self.file, lsn);
        }
        self.file.write_checkpoint(&next)?;
        freed.checkpoint = next;
        self.checkpoint_lsn.store(lsn.0, Ordering::Release);
        self.counters.checkpoints.add(1);
        Ok(())
    }

    /// Durably records the epoch of this run in a checkpoint, so that the next run uses a larger one.
    pub fn begin_epoch(&self) -> Result<()> {
        let mut freed = self.checkpoint.lock();
        let next = Checkpoint { number: freed.checkpoint.number + 1, clean: false, ..freed.checkpoint.clone() };
        self.file.write_checkpoint(&next)?;
        freed.checkpoint = next;
        Ok(())
    }

    /// The newest checkpoint.
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.lock().checkpoint.clone()
    }

    /// From here on no log is freed before an archive has copied it; returns the checkpoint at which the archive
    /// begins. One at a time.
    pub fn begin_archive(&self, disk: Arc<dyn Disk>) -> Result<Checkpoint> {
        let mut freed = self.checkpoint.lock();
        if freed.archive.is_some() {
            return Err(Error::Exists("another backup of this server, which is still running".into()));
        }
        freed.archive = Some(LogArchive::new(disk, freed.checkpoint.lsn));
        Ok(freed.checkpoint.clone())
    }

    /// Reads whole blocks of the log from a block boundary on, freed or not, as long as the archive runs. Returns the
    /// bytes read; the log up to their end has been flushed.
    pub fn read_archived(&self, lsn: Lsn, blocks: &mut [u8]) -> Result<usize> {
        let freed = self.checkpoint.lock();
        let archive = freed.archive.as_ref().expect("an archive is read between its begin and its end");
        archive.read(&self.file, lsn, blocks)
    }

    /// Ends the archive; its file is removed.
    pub fn end_archive(&self) {
        let archive = self.checkpoint.lock().archive.take();
        drop(archive);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Weak, mpsc};
    use std::time::Duration;

    use super::*;
    use crate::config::{Config, FlushMethod};
    use crate::gate::Gate;
    use crate::io::sim::SimDisk;

    fn open(disk: &SimDisk, health: &Arc<Health>) -> Arc<Redo> {
        let config = Config { log_bytes: 256 << 10, flush_method: FlushMethod::Fsync, ..Config::tiny() };
        LogFile::create(disk, &config).unwrap();
        let gate = Gate::new(Arc::new(disk.clone()), health.clone());
        let (file, checkpoint) = LogFile::open(&gate, &config).unwrap();
        let redo = Arc::new(Redo::new(file, checkpoint.clone(), checkpoint.lsn, 64 << 10, health.clone()).unwrap());
        let waiters: Weak<Redo> = Arc::downgrade(&redo);
        health.register(waiters);
        redo
    }

    /// Appends a group on a thread of its own and waits for it to be durable; returns the result.
    fn commit(redo: &Arc<Redo>, ended: &mpsc::Sender<Result<()>>) {
        let (redo, ended) = (redo.clone(), ended.clone());
        std::thread::spawn(move || {
            let (_, end) = redo.append(&[7; 100], |_, _| ());
            ended.send(redo.flush_until(end)).unwrap();
        });
        std::thread::sleep(Duration::from_millis(30));
    }

    #[test]
    fn a_failure_elsewhere_wakes_everybody_who_waits_for_the_log() {
        let disk = SimDisk::new(1);
        let health = Arc::new(Health::default());
        let redo = open(&disk, &health);
        let (send, ended) = mpsc::channel();
        disk.set_faults(|faults| faults.hold_syncs = true);
        // One thread leads, and its sync takes long; three come too late for its cycle.
        for _ in 0..4 {
            commit(&redo, &send);
        }
        health.poison(&"the write of a page cleaner failed");
        for _ in 0..3 {
            let waited = ended.recv_timeout(Duration::from_secs(10)).expect("a waiter is not woken");
            assert!(matches!(waited, Err(Error::Poisoned)), "{waited:?}");
        }
        disk.set_faults(|faults| faults.hold_syncs = false);
        let led = ended.recv_timeout(Duration::from_secs(10)).expect("the leader does not come back");
        assert!(led.is_err(), "a write that ends after the first failure is reported as a success");
    }

    #[test]
    fn a_group_that_overflows_the_ring_is_never_written() {
        let disk = SimDisk::new(1);
        let health = Arc::new(Health::default());
        let redo = open(&disk, &health);
        let (_, first) = redo.append(&[1; 1000], |_, _| ());
        redo.flush_until(first).unwrap();
        let writes = disk.writes();
        let (_, end) = redo.append(&vec![2; 300 << 10], |_, _| ());
        assert!(matches!(redo.flush_until(end), Err(Error::Poisoned)));
        assert!(matches!(redo.write_checkpoint(first, false), Err(Error::Poisoned)));
        assert_eq!(disk.writes(), writes);
    }

    #[test]
    fn commits_of_many_threads_all_end_when_a_sync_fails() {
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            let health = Arc::new(Health::default());
            let redo = open(&disk, &health);
            let failing = disk.syncs() + 1 + seed * 3;
            disk.set_faults(|faults| faults.failing_sync = Some(failing));
            let (send, ended) = mpsc::channel();
            for _ in 0..8 {
                let (redo, send) = (redo.clone(), send.clone());
                std::thread::spawn(move || {
                    let mut durable = Lsn::ZERO;
                    loop {
                        let (_, end) = redo.append(&[7; 100], |_, _| ());
                        match redo.flush_until(end) {
                            Ok(()) => durable = end,
                            Err(_) => return send.send(durable).unwrap(),
                        }
                    }
                });
            }
            for _ in 0..8 {
                let durable = ended.recv_timeout(Duration::from_secs(20)).expect("a commit hangs");
                assert!(durable <= redo.flushed(), "seed {seed}: acknowledged and not durable");
            }
        }
    }
}
