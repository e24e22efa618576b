//! The packed part of a cache: events that went through the compressor, or that have their places in the file already.
//!
//! ```text
//!   plain bytes     |------------------|----------------|-------------|        `fed` of them
//!                                    place            place
//!   packed stream   |------------|----------|------|                           the file first, then `packed`
//! ```
//!
//! A place is where the stream can be cut: the compressor was flushed there. Without compression every event begins one,
//! and all is in the file.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use format::binlog::Crc;
use format::binlog::payload::{self, Compressor};
use storage::Result;

use crate::finished::Finished;
use crate::spill::{CHUNK_BYTES, Files, Spill, create, damaged, read_event, spill};

/// A place in the compressed stream.
struct Place {
    /// The same place in the plain bytes.
    plain: u64,
    at: u64,
    /// Whether a frame is open there.
    in_frame: bool,
    crc: Crc,
}

/// See the module header.
pub(crate) struct Packer {
    files: Arc<dyn Files>,
    /// More packed bytes than this go to the file.
    memory_bytes: usize,
    /// The level of Zstandard; `None` = events stay as they are.
    level: Option<i32>,
    fed: u64,
    /// Compressed bytes that follow those in the file.
    packed: Vec<u8>,
    /// Of all compressed bytes.
    crc: Crc,
    spill: Option<Spill>,
    compressor: Option<Compressor>,
    places: Vec<Place>,
}

impl Packer {
    pub fn new(files: Arc<dyn Files>, memory_bytes: usize, level: Option<i32>) -> Packer {
        Packer {
            files,
            memory_bytes,
            level,
            fed: 0,
            packed: Vec::new(),
            crc: Crc::new(),
            spill: None,
            compressor: None,
            places: Vec::new(),
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self, memory_bytes: usize, level: Option<i32>) {
        (self.memory_bytes, self.level, self.fed) = (memory_bytes, level, 0);
        self.packed.clear();
        self.packed.shrink_to(memory_bytes);
        self.crc = Crc::new();
        self.spill = None;
        self.places.clear();
        // The next transaction may be short, and an idle session has no compressor.
        self.compressor = None;
    }

    pub fn is_plain(&self) -> bool {
        self.level.is_none()
    }

    /// Plain bytes that are packed.
    pub fn fed(&self) -> u64 {
        self.fed
    }

    fn in_file(&self) -> u64 {
        self.spill.as_ref().map_or(0, |spill| spill.bytes)
    }

    pub fn packed_bytes(&self) -> u64 {
        self.in_file() + self.packed.len() as u64
    }

    /// Packs whole events. `kept`: ascending, places in the plain bytes to which it may be cut; others are forgotten. After
    /// an error all of them are packed, or none: [`Packer::fed`] tells.
    pub fn pack(&mut self, events: &[u8], kept: &[u64]) -> Result<()> {
        let Some(level) = self.level else {
            spill(&mut self.spill, &*self.files)?.write_placed(events, &*self.files)?;
            self.fed += events.len() as u64;
            return Ok(());
        };
        self.compress(events, kept, level);
        if self.packed.len() > self.memory_bytes {
            spill(&mut self.spill, &*self.files)?.write(&self.packed, &*self.files)?;
            self.packed.clear();
        }
        Ok(())
    }

    fn compress(&mut self, events: &[u8], kept: &[u64], level: i32) {
        self.places.retain(|place| kept.binary_search(&place.plain).is_ok());
        let end = self.fed + events.len() as u64;
        let compressor = self.compressor.get_or_insert_with(|| Compressor::new(level));
        let in_file = self.spill.as_ref().map_or(0, |spill| spill.bytes);
        let mut summed = self.packed.len();
        let mut rest = events;
        for &plain in kept {
            let is_known = self.places.iter().any(|place| place.plain == plain);
            if is_known || !(self.fed..=end).contains(&plain) {
                continue;
            }
            let (before, behind) = rest.split_at((plain - self.fed) as usize);
            (self.fed, rest) = (plain, behind);
            compressor.write(before, &mut self.packed);
            compressor.flush(&mut self.packed);
            self.crc.update(&self.packed[summed..]);
            summed = self.packed.len();
            let at = in_file + summed as u64;
            self.places.push(Place { plain, at, in_frame: compressor.is_in_frame(), crc: self.crc.clone() });
        }
        compressor.write(rest, &mut self.packed);
        self.crc.update(&self.packed[summed..]);
        self.fed = end;
    }

    /// Goes back to a place that was kept. `events`: before it.
    pub fn cut(&mut self, plain: u64, events: u64) {
        self.fed = plain;
        if self.level.is_none() {
            let spill = self.spill.as_mut().expect("packed plain events are in a file");
            let checksum = spill.checksum.bytes() as u64;
            spill.cut(plain + events * checksum, events);
            return;
        }
        let at = self.places.iter().position(|place| place.plain == plain).expect("a cut is at a place that was kept");
        self.places.truncate(at + 1);
        let Place { at, in_frame, ref crc, .. } = self.places[at];
        let in_file = self.spill.as_ref().map_or(0, |spill| spill.bytes);
        self.crc = crc.clone();
        match &mut self.spill {
            Some(spill) if at < in_file => {
                self.packed.clear();
                spill.cut(at, 0);
            }
            _ => self.packed.truncate((at - in_file) as usize),
        }
        if let Some(compressor) = &mut self.compressor {
            let before = self.packed.len();
            compressor.cut(in_frame, &mut self.packed);
            self.crc.update(&self.packed[before..]);
        }
    }

    /// Everything packed becomes plain events in a new file, and so does the rest of the transaction.
    pub fn go_on_plain(&mut self) -> Result<()> {
        if self.fed > 0 {
            let before = self.packed.len();
            if let Some(compressor) = &mut self.compressor {
                compressor.finish(&[], &mut self.packed);
                self.crc.update(&self.packed[before..]);
            }
            let mut new = create(&*self.files)?;
            let in_file: Box<dyn Read + '_> = match &self.spill {
                Some(spill) => Box::new(spill.reader()),
                None => Box::new(io::empty()),
            };
            let source = BufReader::new(in_file.chain(Cursor::new(&self.packed[..])));
            let mut plain = payload::decompress(source).map_err(damaged)?;
            let (mut left, mut event) = (self.fed, Vec::new());
            while left > 0 {
                read_event(&mut plain, &mut event)?;
                new.write_placed(&event, &*self.files)?;
                left = left.saturating_sub(event.len() as u64);
            }
            drop(plain);
            self.spill = Some(new);
            self.packed.clear();
        }
        self.level = None;
        Ok(())
    }

    /// The whole transaction, with the events that are not packed. The packer is to be reset afterwards.
    pub fn finish(&mut self, tail: &mut Vec<u8>, events: u64) -> Finished {
        let plain_bytes = self.fed + tail.len() as u64;
        let summed = self.packed.len();
        let is_payload = self.level.is_some();
        let memory = match self.level {
            // Nothing is packed yet: the whole is known.
            Some(level) if self.fed == 0 && self.compressor.is_none() => {
                self.files.compressors().compress(level, tail, &mut self.packed);
                std::mem::take(&mut self.packed)
            }
            Some(level) => {
                let compressor = self.compressor.get_or_insert_with(|| Compressor::new(level));
                compressor.finish(tail, &mut self.packed);
                std::mem::take(&mut self.packed)
            }
            None => std::mem::take(tail),
        };
        Finished {
            is_payload,
            events,
            plain_bytes,
            memory,
            spill: self.spill.take(),
            crc: std::mem::take(&mut self.crc),
            summed,
        }
    }
}

/// Bytes that a payload may have at most, if events of `plain` bytes are added to `packed` ones. What does not become
/// shorter becomes a little longer, and a frame ends with a few bytes.
pub(crate) fn packed_bytes_max(packed: u64, plain: usize) -> u64 {
    packed + (plain + plain / 128 + CHUNK_BYTES) as u64
}
