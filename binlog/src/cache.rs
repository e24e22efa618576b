//! The events of a transaction until it commits.
//!
//! ```text
//!              packed: compressed, or as they are                       tail: events as they came
//!   |---------------------------|---------------------------|----------------------------------------|
//!            in the file                  in memory           at most binlog_cache_size, then packed
//!
//!   mark: where a statement or a savepoint begins. The tail is packed up to each mark that still counts, and the
//!   compressor flushed there, so that the stream can be cut.
//! ```
//!
//! Events are packed while the statement runs, by another thread if there is one (`beside.rs`), so that COMMIT has to
//! pack only what is left. A transaction that fits into the tail is packed by its session, at COMMIT. Memory is twice
//! `memory_bytes`, what the compressor needs, and some hundred KiB on their way to the other thread.
//!
//! Elsewhere events have no checksum and no end position; [`Finished`] gives them both on their way into the log.

use std::sync::Arc;

use format::binlog::{HEADER_BYTES, Header, event};
use storage::{Error, Result};

use crate::beside::{Handed, Lane};
use crate::finished::Finished;
use crate::packer::{Packer, packed_bytes_max};
use crate::spill::{CHUNK_BYTES, Files};

/// Payloads may be at most so long, as MySQL's replicas accept them. A transaction that needs more goes on as plain events.
pub const PAYLOAD_BYTES_MAX: u64 = (1 << 30) - (64 << 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// binlog_cache_size.
    pub memory_bytes: usize,
    /// The level of Zstandard; `None` = events stay as they are.
    pub compression: Option<i32>,
    pub payload_bytes_max: u64,
}

/// A place to which the cache can be cut.
struct Mark {
    bytes: u64,
    events: u64,
}

/// See the module header.
pub struct Cache {
    files: Arc<dyn Files>,
    settings: CacheSettings,
    /// Events, and their bytes.
    events: u64,
    bytes: u64,
    tail: Vec<u8>,
    /// Where the event begins in the tail that is still growing.
    open: Option<usize>,
    /// More bytes than this in the tail are packed.
    tail_bytes_max: usize,
    packer: Where,
    /// In the order of their places: where the current statement begins, and savepoints.
    marks: Vec<Mark>,
}

/// Where the packed part is.
enum Where {
    /// `lane`: where it was before in this transaction.
    Here { packer: Box<Packer>, lane: Option<Arc<Lane>> },
    /// Another thread may be at work, and the lane has what is not packed yet.
    Beside(Arc<Lane>),
    /// A worker has panicked and the instance is poisoned: nothing is committed any more.
    Lost,
}

impl Cache {
    pub fn new(files: Arc<dyn Files>, settings: CacheSettings) -> Cache {
        let packer = Box::new(Packer::new(files.clone(), settings.memory_bytes, settings.compression));
        Cache {
            files,
            settings,
            events: 0,
            bytes: 0,
            tail: Vec::new(),
            open: None,
            tail_bytes_max: settings.memory_bytes,
            packer: Where::Here { packer, lane: None },
            marks: Vec::new(),
        }
    }

    /// Empties the cache. The next transaction has these settings.
    pub fn reset(&mut self, settings: CacheSettings) {
        if let Where::Beside(lane) = &self.packer {
            lane.abandon();
        }
        let (memory_bytes, level) = (settings.memory_bytes, settings.compression);
        let packer = match self.take_back() {
            Some(mut packer) => {
                packer.reset(memory_bytes, level);
                packer
            }
            None => Box::new(Packer::new(self.files.clone(), memory_bytes, level)),
        };
        self.packer = Where::Here { packer, lane: None };
        (self.events, self.bytes, self.open) = (0, 0, None);
        self.tail.clear();
        self.tail.shrink_to(memory_bytes);
        self.tail_bytes_max = memory_bytes;
        self.marks.clear();
        self.settings = settings;
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes of the events so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an event whose body `write` appends.
    pub fn append(&mut self, header: Header, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.open(header);
        write(&mut self.tail);
        self.close(|_| ())
    }

    /// Begins an event. Until it is closed its body is at the end of [`Cache::buffer`], and nothing else happens to the
    /// cache but [`Cache::drop_open`].
    pub fn open(&mut self, header: Header) {
        assert!(self.open.is_none(), "one event grows at a time");
        self.open = Some(event::begin(&mut self.tail, header));
    }

    /// Where the body of the open event is appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Ends the open event; `finish` may change its body.
    pub fn close(&mut self, finish: impl FnOnce(&mut [u8])) -> Result<()> {
        let start = self.open.take().expect("an event is open");
        finish(&mut self.tail[start + HEADER_BYTES..]);
        event::end(&mut self.tail, start);
        self.events += 1;
        self.bytes += (self.tail.len() - start) as u64;
        if self.tail.len() > self.tail_bytes_max { self.pack() } else { Ok(()) }
    }

    /// Forgets the open event, if there is one.
    pub fn drop_open(&mut self) {
        if let Some(start) = self.open.take() {
            self.tail.truncate(start);
        }
    }

    /// Sets a mark at the end, to be cut off from. The same place is marked once.
    pub fn mark(&mut self) -> u64 {
        if self.marks.last().is_none_or(|mark| mark.bytes < self.bytes) {
            self.marks.push(Mark { bytes: self.bytes, events: self.events });
        }
        self.bytes
    }

    /// Forgets a mark.
    pub fn forget_mark(&mut self, place: u64) {
        self.marks.retain(|mark| mark.bytes != place);
    }

    /// Forgets all marks but these.
    pub fn keep_marks(&mut self, kept: impl Fn(u64) -> bool) {
        self.marks.retain(|mark| kept(mark.bytes));
    }

    /// Removes everything behind a mark.
    pub fn cut(&mut self, place: u64) {
        self.drop_open();
        if place >= self.bytes {
            return;
        }
        if place == 0 {
            // Needs no mark: nothing is left.
            self.reset(self.settings);
            self.mark();
            return;
        }
        let at = self.marks.iter().position(|mark| mark.bytes == place).expect("a cut is at a mark");
        self.marks.truncate(at + 1);
        let events = self.marks[at].events;
        (self.bytes, self.events) = (place, events);
        let Ok(packer) = self.packer() else { return };
        let fed = packer.fed();
        if place >= fed {
            self.tail.truncate((place - fed) as usize);
            return;
        }
        packer.cut(place, events);
        self.tail.clear();
    }

    /// Takes the packer from wherever it is; what it has not packed is in the tail. `None` = it is lost.
    fn take_back(&mut self) -> Option<Box<Packer>> {
        match std::mem::replace(&mut self.packer, Where::Lost) {
            Where::Here { packer, .. } => Some(packer),
            Where::Beside(lane) => lane.take_back(&mut self.tail),
            Where::Lost => None,
        }
    }

    /// The packer, at work nowhere else; what it has not packed is in the tail.
    fn packer(&mut self) -> Result<&mut Packer> {
        if let Where::Beside(lane) = &self.packer {
            let lane = lane.clone();
            if let Some(packer) = lane.take_back(&mut self.tail) {
                self.packer = Where::Here { packer, lane: Some(lane) };
            } else {
                self.packer = Where::Lost;
            }
        }
        match &mut self.packer {
            Where::Here { packer, .. } => Ok(packer),
            _ => Err(Error::Poisoned),
        }
    }

    /// Moves the tail on: through the compressor, or as it is into the file. After an error everything is still there.
    fn pack(&mut self) -> Result<()> {
        match self.hand_over()? {
            Handed::Over => Ok(()),
            Handed::NotOver => self.pack_here(),
        }
    }

    /// Lets another thread pack the tail.
    fn hand_over(&mut self) -> Result<Handed> {
        let Some(workers) = self.files.workers() else { return Ok(Handed::NotOver) };
        let lane = match std::mem::replace(&mut self.packer, Where::Lost) {
            Where::Here { packer, lane: Some(lane) } => {
                lane.put(packer);
                lane
            }
            Where::Here { packer, lane: None } => Lane::new(workers.clone(), packer),
            Where::Beside(lane) => lane,
            Where::Lost => return Err(Error::Poisoned),
        };
        self.packer = Where::Beside(lane.clone());
        // Chunks need not be as large as the memory that a short transaction may take.
        self.tail_bytes_max = self.settings.memory_bytes.min(CHUNK_BYTES);
        let kept = self.marks.iter().map(|mark| mark.bytes).collect();
        lane.hand_over(&mut self.tail, kept, self.settings.payload_bytes_max)
    }

    fn pack_here(&mut self) -> Result<()> {
        self.stay_below_limit()?;
        let kept: Vec<u64> = self.marks.iter().map(|mark| mark.bytes).collect();
        let mut tail = std::mem::take(&mut self.tail);
        let (before, packed) = match self.packer() {
            Ok(packer) => (packer.fed(), packer.pack(&tail, &kept)),
            Err(error) => (0, Err(error)),
        };
        if self.packer().is_ok_and(|packer| packer.fed() > before) {
            tail.clear();
        }
        self.tail = tail;
        packed
    }

    /// Goes on with plain events if the payload could pass its limit with the tail.
    fn stay_below_limit(&mut self) -> Result<()> {
        let limit = self.settings.payload_bytes_max;
        // With the packer comes what belongs to the tail.
        self.packer()?;
        let tail_bytes = self.tail.len();
        let packer = self.packer()?;
        if !packer.is_plain() && packed_bytes_max(packer.packed_bytes(), tail_bytes) > limit {
            packer.go_on_plain()?;
        }
        Ok(())
    }

    /// The whole transaction. The cache is to be reset afterwards.
    pub fn finish(&mut self) -> Result<Finished> {
        assert!(self.open.is_none(), "every event is closed");
        self.stay_below_limit()?;
        let (mut tail, events) = (std::mem::take(&mut self.tail), self.events);
        let finished = self.packer()?.finish(&mut tail, events);
        self.tail = tail;
        Ok(finished)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if let Where::Beside(lane) = &self.packer {
            lane.abandon();
        }
    }
}

#[cfg(test)]
mod tests;
