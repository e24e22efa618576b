//! The compressed protocol: packets travel in frames of their own, which are compressed where it pays.
//!
//! ```text
//! offset  bytes
//!      0      3  bytes of the body
//!      3      1  sequence number, counted beside that of the packets
//!      4      3  bytes of the body when it is decompressed; 0: it is not compressed
//!      7      n  body: any piece of the stream of packets
//! ```
//!
//! A frame is decompressed when all of it has come. It begins after login, so a stranger cannot make the server
//! decompress anything.

use std::io::{self, Read, Write};

use libdeflater::{CompressionLvl, Compressor, Decompressor};

const HEADER_BYTES: usize = 7;
/// The most bytes of a body, and of what it decompresses to.
const BODY_BYTES_MAX: usize = 0xFF_FFFF;
/// Smaller bodies are sent as they are, as by MySQL.
const BODY_BYTES_MIN: usize = 50;
/// The level of zlib, which no client chooses.
pub const ZLIB_LEVEL: i32 = 6;
/// What may stay allocated between frames.
const BUFFER_BYTES_KEPT: usize = 1 << 20;
const READ_BYTES: usize = 16 << 10;

/// How bodies are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Zlib,
    Zstd,
}

impl Algorithm {
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

enum Codec {
    Zlib { compressor: Box<Compressor>, decompressor: Box<Decompressor> },
    Zstd { compressor: zstd::bulk::Compressor<'static>, decompressor: zstd::bulk::Decompressor<'static> },
}

impl Codec {
    fn new(algorithm: Algorithm, level: i32) -> Self {
        match algorithm {
            Algorithm::Zlib => Self::Zlib {
                compressor: Box::new(Compressor::new(CompressionLvl::new(level).expect("a level of the library"))),
                decompressor: Box::new(Decompressor::new()),
            },
            Algorithm::Zstd => Self::Zstd {
                compressor: zstd::bulk::Compressor::new(level).expect("a context"),
                decompressor: zstd::bulk::Decompressor::new().expect("a context"),
            },
        }
    }

    /// Appends the compressed body; `None` if it would not be smaller.
    fn compress(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        out.resize(start + body.len(), 0);
        let room = &mut out[start..];
        let bytes = match self {
            Self::Zlib { compressor, .. } => compressor.zlib_compress(body, room).ok(),
            Self::Zstd { compressor, .. } => compressor.compress_to_buffer(body, room).ok(),
        };
        out.truncate(start + bytes.unwrap_or(0));
        bytes.filter(|&bytes| bytes < body.len()).map(drop)
    }

    fn decompress(&mut self, body: &[u8], out: &mut [u8]) -> bool {
        let bytes = match self {
            Self::Zlib { decompressor, .. } => decompressor.zlib_decompress(body, out).ok(),
            Self::Zstd { decompressor, .. } => decompressor.decompress_to_buffer(body, out).ok(),
        };
        bytes == Some(out.len())
    }
}

/// Both directions of a compressed connection.
pub struct Compression {
    pub algorithm: Algorithm,
    pub level: i32,
    codec: Codec,
    /// The number of the next frame that is sent.
    sequence: u8,
    /// What has been received of the next frames: `received[at..]`.
    received: Vec<u8>,
    at: usize,
    /// A body that is being read: `plain[plain_at..]`.
    plain: Vec<u8>,
    plain_at: usize,
    sent: Vec<u8>,
}

impl Compression {
    pub fn new(algorithm: Algorithm, level: i32) -> Self {
        Self {
            algorithm,
            level,
            codec: Codec::new(algorithm, level),
            sequence: 0,
            received: Vec::new(),
            at: 0,
            plain: Vec::new(),
            plain_at: 0,
            sent: Vec::new(),
        }
    }

    /// What is sent next does not answer a frame.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// The reading half, for a thread that reads from now on.
    pub fn reader(&mut self) -> Compression {
        Compression {
            received: std::mem::take(&mut self.received),
            at: std::mem::take(&mut self.at),
            plain: std::mem::take(&mut self.plain),
            plain_at: std::mem::take(&mut self.plain_at),
            ..Compression::new(self.algorithm, self.level)
        }
    }

    pub fn read(&mut self, stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        while self.plain_at == self.plain.len() {
            if !self.receive(stream, HEADER_BYTES)? {
                return Ok(0);
            }
            let header = &self.received[self.at..];
            let (bytes, plain_bytes) = (three(header), three(&header[4..]));
            let sequence = header[3];
            if !self.receive(stream, HEADER_BYTES + bytes)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let body = &self.received[self.at + HEADER_BYTES..self.at + HEADER_BYTES + bytes];
            self.plain.clear();
            self.plain.shrink_to(BUFFER_BYTES_KEPT);
            self.plain_at = 0;
            if plain_bytes == 0 {
                self.plain.extend_from_slice(body);
            } else {
                self.plain.resize(plain_bytes, 0);
                if !self.codec.decompress(body, &mut self.plain) {
                    self.plain.clear();
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that cannot be decompressed"));
                }
            }
            self.sequence = sequence.wrapping_add(1);
            self.at += HEADER_BYTES + bytes;
        }
        let bytes = buffer.len().min(self.plain.len() - self.plain_at);
        buffer[..bytes].copy_from_slice(&self.plain[self.plain_at..self.plain_at + bytes]);
        self.plain_at += bytes;
        Ok(bytes)
    }

    /// Reads until so many bytes are there; false: the stream ended before the first of them.
    fn receive(&mut self, stream: &mut impl Read, bytes: usize) -> io::Result<bool> {
        if self.at == self.received.len() {
            self.received.clear();
            self.received.shrink_to(BUFFER_BYTES_KEPT);
            self.at = 0;
        }
        while self.received.len() - self.at < bytes {
            let missing = bytes - (self.received.len() - self.at);
            let end = self.received.len();
            // The buffer grows with what arrives, not with what a header promises.
            self.received.resize(end + missing.clamp(READ_BYTES, 16 * READ_BYTES), 0);
            let read = stream.read(&mut self.received[end..]);
            self.received.truncate(end + read.as_ref().map_or(0, |count| *count));
            match read {
                Ok(0) if end == self.at => return Ok(false),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Sends all of the bytes.
    pub fn write(&mut self, stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        self.sent.clear();
        for body in bytes.chunks(BODY_BYTES_MAX) {
            let header = self.sent.len();
            self.sent.resize(header + HEADER_BYTES, 0);
            let compressed = body.len() >= BODY_BYTES_MIN && self.codec.compress(body, &mut self.sent).is_some();
            if !compressed {
                self.sent.truncate(header + HEADER_BYTES);
                self.sent.extend_from_slice(body);
            }
            let sent_bytes = self.sent.len() - header - HEADER_BYTES;
            let plain_bytes = if compressed { body.len() } else { 0 };
            self.sent[header..header + 3].copy_from_slice(&(sent_bytes as u32).to_le_bytes()[..3]);
            self.sent[header + 3] = self.sequence;
            self.sent[header + 4..header + 7].copy_from_slice(&(plain_bytes as u32).to_le_bytes()[..3]);
            self.sequence = self.sequence.wrapping_add(1);
        }
        let written = stream.write_all(&self.sent);
        self.sent.clear();
        self.sent.shrink_to(BUFFER_BYTES_KEPT);
        written
    }
}

fn three(bytes: &[u8]) -> usize {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| if i % 3 == 0 { (i.wrapping_mul(2_654_435_761) >> 7) as u8 } else { b'a' }).collect()
    }

    #[test]
    fn what_was_written_is_read_in_any_pieces() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            for bytes in [1, 49, 50, 10_000, BODY_BYTES_MAX + 70_000] {
                let data = mixed(bytes);
                let mut sent = Vec::new();
                Compression::new(algorithm, 3).write(&mut sent, &data).unwrap();
                assert!(bytes < 1000 || sent.len() < data.len(), "{bytes} became {}", sent.len());
                let mut reader = Compression::new(algorithm, 3);
                let (mut source, mut read) = (&sent[..], Vec::new());
                let mut piece = [0; 7777];
                loop {
                    match reader.read(&mut source, &mut piece).unwrap() {
                        0 => break,
                        count => read.extend_from_slice(&piece[..count]),
                    }
                }
                assert!(read == data);
                assert_eq!(reader.sequence, bytes.div_ceil(BODY_BYTES_MAX) as u8);
            }
        }
    }

    #[test]
    fn damaged_frames_are_errors() {
        let data = mixed(1000);
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
            let mut sent = Vec::new();
            Compression::new(algorithm, 3).write(&mut sent, &data).unwrap();
            for cut in 1..sent.len() {
                let mut buffer = [0; 2000];
                assert!(Compression::new(algorithm, 3).read(&mut &sent[..cut], &mut buffer).is_err());
            }
            let mut wrong = sent.clone();
            wrong[4] ^= 1; // The length that it decompresses to.
            assert!(Compression::new(algorithm, 3).read(&mut &wrong[..], &mut [0; 2000]).is_err());
        }
    }

    #[test]
    fn a_promise_of_many_bytes_allocates_few() {
        let mut reader = Compression::new(Algorithm::Zlib, 3);
        let promise = [0xFF, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0xFF, 1, 2, 3];
        assert!(reader.read(&mut &promise[..], &mut [0; 10]).is_err());
        assert!(reader.received.capacity() <= 64 * READ_BYTES && reader.plain.capacity() == 0);
    }
}
