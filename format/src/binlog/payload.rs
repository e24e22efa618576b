//! Transaction_payload: the events of one transaction, compressed as one.
//!
//! ```text
//! fields     type, length of the value, value, all length-encoded
//!              2  algorithm: 0 Zstandard, 255 none
//!              3  bytes before compression (left out if there is none)
//!              1  bytes of the payload
//!              0  end of the fields; has neither length nor value
//! payload    Zstandard frames, one or more: events back to back
//! ```
//!
//! The events inside have no checksum, and 0 for their end. What may be inside: everything between a transaction's Gtid
//! event and its end, which is a Xid; never a Gtid, and nothing that belongs to the file rather than to the
//! transaction.

use std::io::{BufRead, Read};

use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::{self, CCtx, CParameter, Strategy};

use crate::error::{Error, Result};
use crate::packet::{Reader, writer};

use super::event::{Checksum, Event, HEADER_BYTES, Header};

const END: u64 = 0;
const PAYLOAD_BYTES: u64 = 1;
const ALGORITHM: u64 = 2;
const PLAIN_BYTES: u64 = 3;

const ZSTD: u64 = 0;
const NONE: u64 = 255;

/// Memory that a reader lends the window of a stream: 2^27 bytes, what Zstandard's own tools grant.
const WINDOW_LOG_MAX: u32 = 27;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Zstd,
    None,
}

impl Algorithm {
    /// As performance_schema has it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zstd => "ZSTD",
            Algorithm::None => "NONE",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    pub algorithm: Algorithm,
    /// As the event says; nothing relies on it.
    pub plain_bytes: u64,
    pub bytes: &'a [u8],
}

/// What stands before a payload's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadFields {
    pub algorithm: Algorithm,
    /// As the event says; nothing relies on it.
    pub plain_bytes: Option<u64>,
    pub payload_bytes: u64,
}

impl PayloadFields {
    /// At most so many bytes are fields, unless a later version of MySQL adds long ones.
    pub const BYTES_MAX: usize = 256;

    /// Reads the fields; the payload's bytes follow.
    pub fn decode(reader: &mut Reader<'_>) -> Result<PayloadFields> {
        const WHAT: &str = "the fields of a Transaction_payload event";
        let (mut algorithm, mut plain_bytes, mut payload_bytes) = (None, None, None);
        loop {
            let ty = reader.lenenc(WHAT)?;
            if ty == END {
                break;
            }
            let mut value = Reader::new(reader.lenenc_bytes(WHAT)?);
            match ty {
                PAYLOAD_BYTES => payload_bytes = Some(value.lenenc(WHAT)?),
                ALGORITHM => {
                    algorithm = Some(match value.lenenc(WHAT)? {
                        ZSTD => Algorithm::Zstd,
                        NONE => Algorithm::None,
                        other => {
                            return Err(Error::Unsupported { what: "compression of a payload:", value: other as u32 });
                        }
                    });
                }
                PLAIN_BYTES => plain_bytes = Some(value.lenenc(WHAT)?),
                _ => (),
            }
        }
        let (Some(algorithm), Some(payload_bytes)) = (algorithm, payload_bytes) else {
            return Err(Error::Malformed { what: "a payload without algorithm or length" });
        };
        Ok(PayloadFields { algorithm, plain_bytes, payload_bytes })
    }
}

impl<'a> Payload<'a> {
    pub fn decode(body: &'a [u8]) -> Result<Payload<'a>> {
        let mut reader = Reader::new(body);
        let fields = PayloadFields::decode(&mut reader)?;
        let bytes = reader.rest();
        if fields.payload_bytes != bytes.len() as u64 {
            return Err(Error::Malformed { what: "a payload of another length than it says" });
        }
        let plain_bytes = fields.plain_bytes.unwrap_or(fields.payload_bytes);
        Ok(Payload { algorithm: fields.algorithm, plain_bytes, bytes })
    }

    /// Appends the fields; the payload's bytes follow.
    pub fn encode_fields(algorithm: Algorithm, plain_bytes: u64, payload_bytes: u64, out: &mut Vec<u8>) {
        let mut put = |ty: u64, number: u64| {
            let mut value = Vec::with_capacity(9);
            writer::lenenc(&mut value, number);
            writer::lenenc(out, ty);
            writer::lenenc_bytes(out, &value);
        };
        match algorithm {
            Algorithm::Zstd => {
                put(ALGORITHM, ZSTD);
                put(PLAIN_BYTES, plain_bytes);
            }
            Algorithm::None => put(ALGORITHM, NONE),
        }
        put(PAYLOAD_BYTES, payload_bytes);
        writer::lenenc(out, END);
    }

    /// The events inside, one at a time: memory is bounded by the longest of them.
    pub fn events(&self) -> Result<PayloadEvents<'a>> {
        PayloadEvents::new(self.algorithm, self.bytes)
    }
}

fn decoder<'a, R: BufRead + 'a>(source: R) -> Result<zstd::stream::read::Decoder<'static, R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(source)
        .map_err(|_| Error::Malformed { what: "a payload that is no Zstandard stream" })?;
    decoder.window_log_max(WINDOW_LOG_MAX).expect("a window that the library knows");
    Ok(decoder)
}

/// Compresses events as they come, into one stream of Zstandard frames.
///
/// A stream longer than its window goes round in the library's buffer, and matches across the joint are found at half the
/// speed. So at the levels that are meant to be fast a frame ends when it fills its window. Rows resemble their neighbours:
/// a small window finds nearly all that a large one does, and stays in the processor's caches.
pub struct Compressor {
    encoder: Encoder<'static>,
    /// Bytes before compression of the frame that is open; 0 = none is.
    frame_bytes: usize,
    frame_bytes_max: usize,
}

/// The window of a frame by level, as a power of two; `None` = the library's, and frames of any length.
fn window_log(level: i32) -> Option<u32> {
    match level {
        ..=4 => Some(19),
        5..=7 => Some(21),
        _ => None,
    }
}

/// A block without bytes that is the last of its frame: it ends a frame behind a flush.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

impl Compressor {
    pub fn new(level: i32) -> Compressor {
        let mut encoder = Encoder::new(level).expect("memory for a compressor");
        let window = window_log(level);
        if let Some(log) = window {
            encoder.set_parameter(CParameter::WindowLog(log)).expect("a window that the library knows");
        }
        let frame_bytes_max = window.map_or(usize::MAX, |log| 1 << log);
        Compressor { encoder, frame_bytes: 0, frame_bytes_max }
    }

    /// Forgets what was begun.
    pub fn reset(&mut self) {
        self.encoder.reinit().expect("a compressor can begin anew");
        self.frame_bytes = 0;
    }

    /// Compresses more; appends what is ready.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        // Nothing begins no frame.
        while !bytes.is_empty() {
            let fits = bytes.len().min(self.frame_bytes_max - self.frame_bytes);
            let (part, rest) = bytes.split_at(fits);
            let mut input = InBuffer::around(part);
            while input.pos() < part.len() {
                grow(out, |buffer| self.encoder.run(&mut input, buffer));
            }
            self.frame_bytes += part.len();
            if self.frame_bytes == self.frame_bytes_max {
                self.end_frame(out);
            }
            bytes = rest;
        }
    }

    fn end_frame(&mut self, out: &mut Vec<u8>) {
        while grow(out, |buffer| self.encoder.finish(buffer, false)) > 0 {}
        self.reset();
    }

    /// Appends everything that was compressed so far: a stream may be cut here, see [`Compressor::cut`].
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        while self.is_in_frame() && grow(out, |buffer| self.encoder.flush(buffer)) > 0 {}
    }

    /// Goes back to a flush: `out` has been cut there. The frame that was open then is ended, if there is one.
    pub fn cut(&mut self, was_in_frame: bool, out: &mut Vec<u8>) {
        self.reset();
        if was_in_frame {
            out.extend_from_slice(&LAST_BLOCK);
        }
    }

    /// Whether a frame is open.
    pub fn is_in_frame(&self) -> bool {
        self.frame_bytes > 0
    }

    /// Compresses the last bytes and ends the frame.
    pub fn finish(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.write(bytes, out);
        // A payload without a frame is no stream; a frame may be empty.
        if self.is_in_frame() || out.is_empty() {
            self.end_frame(out);
        }
    }
}

/// Compresses transactions that are known as a whole, each into one frame.
pub struct WholeCompressor {
    level: i32,
    /// For at most [`TINY_BYTES`], and for more.
    tiny: CCtx<'static>,
    usual: CCtx<'static>,
}

/// Up to so many bytes, the strategy of level 1 finds in a small table what levels 2 and 3 find in two large ones
/// (`tiny_transactions_are_as_small_at_each_level`), and the processor's caches keep that table from one transaction to the
/// next.
const TINY_BYTES: usize = 4 << 10;
const TINY_LEVEL_MAX: i32 = 3;
const TINY_HASH_LOG: u32 = 10;

impl WholeCompressor {
    pub fn new(level: i32) -> WholeCompressor {
        let context = |parameters: &[CParameter]| {
            let mut context = CCtx::create();
            for parameter in parameters {
                context.set_parameter(*parameter).expect("parameters that the library knows");
            }
            context
        };
        let at_level = CParameter::CompressionLevel(level);
        let tiny: &[CParameter] = match level {
            ..=TINY_LEVEL_MAX => {
                &[at_level, CParameter::Strategy(Strategy::ZSTD_fast), CParameter::HashLog(TINY_HASH_LOG)]
            }
            _ => &[at_level],
        };
        WholeCompressor { level, tiny: context(tiny), usual: context(&[at_level]) }
    }

    pub fn level(&self) -> i32 {
        self.level
    }

    /// Appends a frame.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let context = if bytes.len() <= TINY_BYTES { &mut self.tiny } else { &mut self.usual };
        let start = out.len();
        out.resize(start + zstd_safe::compress_bound(bytes.len()), 0);
        let written = context.compress2(&mut out[start..], bytes).expect("a compressor in memory does not fail");
        out.truncate(start + written);
    }
}

/// Lets a step of the compressor write behind the bytes of a vector.
fn grow(out: &mut Vec<u8>, step: impl FnOnce(&mut OutBuffer<'_, [u8]>) -> std::io::Result<usize>) -> usize {
    const STEP_BYTES: usize = 16 << 10;
    let start = out.len();
    out.resize(start + STEP_BYTES, 0);
    let mut buffer = OutBuffer::around(&mut out[start..]);
    let rest = step(&mut buffer).expect("a compressor in memory does not fail");
    let written = buffer.pos();
    out.truncate(start + written);
    rest
}

/// The plain bytes of a compressed stream.
pub fn decompress<'a>(source: impl BufRead + 'a) -> Result<impl Read + 'a> {
    decoder(source)
}

/// See [`Payload::events`].
pub struct PayloadEvents<'a> {
    source: Box<dyn Read + 'a>,
    event: Vec<u8>,
    plain_bytes: u64,
}

impl<'a> PayloadEvents<'a> {
    /// Reads the events from a payload's bytes, as they come.
    pub fn new(algorithm: Algorithm, bytes: impl BufRead + 'a) -> Result<PayloadEvents<'a>> {
        let source: Box<dyn Read + 'a> = match algorithm {
            Algorithm::None => Box::new(bytes),
            Algorithm::Zstd => Box::new(decoder(bytes)?),
        };
        Ok(PayloadEvents { source, event: Vec::new(), plain_bytes: 0 })
    }

    /// The next event, which stays until the one after it is asked for.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>> {
        self.event.clear();
        self.read(HEADER_BYTES)?;
        if self.event.is_empty() {
            return Ok(None);
        }
        let header = Header::decode(&self.event)?;
        self.read(header.bytes as usize - HEADER_BYTES)?;
        self.plain_bytes += u64::from(header.bytes);
        Event::decode(&self.event, Checksum::None).map(Some)
    }

    /// Bytes of the events that have been read.
    pub fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Reads on, up to so many bytes. The buffer grows with what arrives, not with what a header promises.
    fn read(&mut self, bytes: usize) -> Result<()> {
        let limit = bytes as u64;
        match (&mut self.source).take(limit).read_to_end(&mut self.event) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Malformed { what: "a payload that cannot be decompressed" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{EventKind, append};
    use super::*;

    fn events(count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for number in 0..count {
            let header =
                Header { timestamp: 9, kind: EventKind::XID, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
            append(&mut out, header, Checksum::None, |out| out.extend_from_slice(&number.to_le_bytes()));
        }
        out
    }

    fn count(payload: &Payload<'_>) -> Result<u64> {
        let mut events = payload.events()?;
        let mut count = 0;
        while let Some(event) = events.next_event()? {
            assert_eq!(event.body, u64::to_le_bytes(count));
            count += 1;
        }
        assert_eq!(events.plain_bytes(), payload.plain_bytes);
        Ok(count)
    }

    #[test]
    fn events_come_out_one_by_one_of_one_frame_or_several() {
        let plain = events(1000);
        let whole = zstd::bulk::compress(&plain, 3).unwrap();
        let (head, tail) = plain.split_at(4321);
        let parts = [zstd::bulk::compress(head, 3).unwrap(), zstd::bulk::compress(tail, 3).unwrap()].concat();
        for (algorithm, bytes) in [(Algorithm::Zstd, whole), (Algorithm::Zstd, parts), (Algorithm::None, plain.clone())]
        {
            let mut body = Vec::new();
            Payload::encode_fields(algorithm, plain.len() as u64, bytes.len() as u64, &mut body);
            body.extend_from_slice(&bytes);
            let payload = Payload::decode(&body).unwrap();
            assert_eq!(payload, Payload { algorithm, plain_bytes: plain.len() as u64, bytes: &bytes });
            assert_eq!(count(&payload), Ok(1000));
            for length in 0..body.len() {
                assert!(Payload::decode(&body[..length]).is_err(), "{length} bytes");
            }
        }
    }

    #[test]
    fn tiny_transactions_are_as_small_at_each_level() {
        // Rows as sysbench has them: random digits, before and after a change, and what describes their table.
        let mut state = 1_u64;
        let mut digit = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            b'0' + (state >> 33) as u8 % 10
        };
        let (mut ours, mut theirs) = (0, 0);
        for updates in [1, 1, 2, 3, 4, 8] {
            let mut transaction = Vec::new();
            for number in 0..updates {
                transaction.extend_from_slice(b"a table of these columns and types: sbtest.sbtest1 3 3 254 254");
                let row: Vec<u8> = (0..190).map(|at| if at % 12 == 11 { b'-' } else { digit() }).collect();
                transaction.extend_from_slice(&row);
                transaction.extend_from_slice(&u32::to_le_bytes(number));
                transaction.extend_from_slice(&row);
            }
            let mut out = Vec::new();
            WholeCompressor::new(3).compress(&transaction, &mut out);
            ours += out.len();
            theirs += zstd::bulk::compress(&transaction, 3).unwrap().len();
        }
        assert!(ours * 100 <= theirs * 103, "{ours} bytes, {theirs} at level 3 of the library");
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let plain = events(50);
        let bytes = zstd::bulk::compress(&plain, 3).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let payload = Payload { algorithm: Algorithm::Zstd, plain_bytes: 0, bytes: &damaged };
            let mut events = payload.events().unwrap();
            while let Ok(Some(_)) = events.next_event() {}
        }
    }

    /// MySQL's own bytes for the fields of a small transaction.
    #[test]
    fn fields_are_those_that_mysql_writes() {
        let mut out = Vec::new();
        Payload::encode_fields(Algorithm::Zstd, 179, 124, &mut out);
        assert_eq!(out, [2, 1, 0, 3, 1, 0xB3, 1, 1, 0x7C, 0]);
    }
}
