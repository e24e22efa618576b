//! Packets from the client: one read for a whole command.
//!
//! ```text
//! buffer  | consumed | header | payload | rest ... |  free  |
//!                    ^start                        ^end     ^buffer.len()
//! ```
//!
//! A client sends a command and waits, so that one `read` usually brings header and
//! payload together and leaves nothing over: then the buffer begins anew at 0. The
//! payload is lent out in place.
//!
//! Invariants:
//!
//! * The buffer grows with the bytes that arrive, not with those that a header
//!   announces: four bytes from an unknown client cannot make the server allocate 16 MB.
//! * A payload that continues over several packets is joined in place.

use std::io::{self, Read};
use std::ops::Range;

use format::packet::frame::{HEADER_BYTES, Header};

/// The buffer's size at first, and again after an uncommonly large packet.
const BUFFER_BYTES: usize = 16 << 10;
/// What may stay allocated between commands.
const BUFFER_BYTES_KEPT: usize = 1 << 20;
/// The least that the buffer grows by.
const GROWTH_BYTES: usize = 64 << 10;

/// What packets are read from.
pub trait Source: Read {
    /// A packet has begun and its rest has not come: from now on less patience is due. Until the next packet.
    fn await_rest(&mut self) {}
}

/// Why there is no packet.
#[derive(Debug)]
pub enum Ended {
    /// The client has left, between two packets.
    Closed,
    /// Nothing came in time, and nothing had begun.
    Silent,
    /// The payload is larger than allowed. What follows cannot be read any more.
    TooLarge,
    /// The sequence numbers are out of order.
    OutOfOrder,
    /// The rest of a packet did not come in time.
    Interrupted,
    /// The connection broke, also in the middle of a packet.
    Broken(io::Error),
}

/// Reads packets from a stream that is passed in.
#[derive(Debug)]
pub struct Incoming {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// A payload in the buffer.
#[derive(Debug, Clone)]
pub struct Packet {
    range: Range<usize>,
    /// The number of its (last) packet; the answer's first is one more.
    pub sequence: u8,
    /// Bytes on the wire, headers included.
    pub wire_bytes: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Self::new()
    }
}

impl Incoming {
    pub fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], start: 0, end: 0 }
    }

    /// The payload of a packet that was just read.
    #[inline]
    pub fn payload(&self, packet: &Packet) -> &[u8] {
        &self.buffer[packet.range.clone()]
    }

    /// Reads the next packet, joined if it is continued, whose number must be `sequence`; it must be shorter than
    /// `bytes_max`. What was read before is no longer there.
    pub fn read(&mut self, stream: &mut impl Source, sequence: u8, bytes_max: usize) -> Result<Packet, Ended> {
        self.begin();
        self.fill(stream, HEADER_BYTES, false)?;
        let mut header = self.header_at(self.start);
        let mut wire_bytes = HEADER_BYTES + header.bytes;
        let payload = self.start + HEADER_BYTES;
        if header.sequence != sequence {
            return Err(Ended::OutOfOrder);
        }
        let mut payload_bytes = header.bytes;
        if payload_bytes >= bytes_max {
            return Err(Ended::TooLarge);
        }
        self.fill(stream, HEADER_BYTES + payload_bytes, true)?;
        while header.continues() {
            // The next header stands behind the payload; its piece is moved over it.
            let behind = HEADER_BYTES + payload_bytes;
            self.fill(stream, behind + HEADER_BYTES, true)?;
            let next = self.header_at(self.start + behind);
            if next.sequence != header.sequence.wrapping_add(1) {
                return Err(Ended::OutOfOrder);
            }
            if payload_bytes + next.bytes >= bytes_max {
                return Err(Ended::TooLarge);
            }
            self.fill(stream, behind + HEADER_BYTES + next.bytes, true)?;
            let piece = self.start + behind + HEADER_BYTES;
            self.buffer.copy_within(piece..self.end, self.start + behind);
            self.end -= HEADER_BYTES;
            payload_bytes += next.bytes;
            wire_bytes += HEADER_BYTES + next.bytes;
            header = next;
        }
        let range = payload..payload + payload_bytes;
        self.start = range.end;
        Ok(Packet { range, sequence: header.sequence, wire_bytes })
    }

    /// What has come of the next packet, before it is read.
    pub fn peek(&mut self, stream: &mut impl Source, bytes: usize) -> Result<&[u8], Ended> {
        self.begin();
        self.fill(stream, bytes, false)?;
        Ok(&self.buffer[self.start..self.end])
    }

    /// Drops bytes that are no packet.
    pub fn skip(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// What was read beyond the packets, which belongs to another protocol.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer[self.start..self.end].to_vec();
        self.start = 0;
        self.end = 0;
        rest
    }

    /// Whether bytes have come beyond the packets that were read.
    pub fn has_rest(&self) -> bool {
        self.start < self.end
    }

    /// Bytes that another reader has taken from the stream, and that come next.
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.begin();
        self.buffer.truncate(self.end);
        self.buffer.extend_from_slice(bytes);
        self.end = self.buffer.len();
    }

    /// Forgets what was consumed.
    #[inline]
    fn begin(&mut self) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > BUFFER_BYTES_KEPT {
                self.buffer.truncate(BUFFER_BYTES);
                self.buffer.shrink_to_fit();
            }
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    fn header_at(&self, at: usize) -> Header {
        Header::decode(&self.buffer[at..self.end]).expect("the header has been read")
    }

    /// Reads until `bytes` are there from `start` on. `begun`: a packet has begun, so the end of the stream is a
    /// fault.
    #[inline]
    fn fill(&mut self, stream: &mut impl Source, bytes: usize, begun: bool) -> Result<(), Ended> {
        while self.end - self.start < bytes {
            if self.end == self.buffer.len() {
                let missing = bytes - (self.end - self.start);
                let growth = missing.min(GROWTH_BYTES.max(self.buffer.len()));
                self.buffer.resize(self.buffer.len() + growth, 0);
            }
            if self.end > self.start {
                stream.await_rest();
            }
            match stream.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == self.start && !begun => return Err(Ended::Closed),
                Ok(0) => return Err(Ended::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                        && self.end == self.start
                        && !begun =>
                {
                    return Err(Ended::Silent);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(Ended::Interrupted);
                }
                Err(error) => return Err(Ended::Broken(error)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use format::packet::frame::{PAYLOAD_BYTES_MAX, Packets};

    use super::*;

    /// A stream that brings its bytes in pieces of a given size.
    struct Pieces<'a> {
        bytes: &'a [u8],
        piece: usize,
        reads: usize,
    }

    impl Source for Pieces<'_> {}

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.piece.min(buffer.len()).min(self.bytes.len());
            buffer[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes = &self.bytes[count..];
            self.reads += 1;
            Ok(count)
        }
    }

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for payload in payloads {
            let mut packets = Packets::new();
            packets.push(|out| out.extend_from_slice(payload));
            all.extend_from_slice(packets.bytes());
        }
        all
    }

    #[test]
    fn a_command_takes_one_read() {
        let bytes = packets(&[b"\x03SELECT 1"]);
        let mut stream = Pieces { bytes: &bytes, piece: usize::MAX, reads: 0 };
        let mut incoming = Incoming::new();
        let packet = incoming.read(&mut stream, 0, 1000).unwrap();
        assert_eq!(incoming.payload(&packet), b"\x03SELECT 1");
        assert_eq!(stream.reads, 1);
        assert!(matches!(incoming.read(&mut stream, 0, 1000), Err(Ended::Closed)));
    }

    #[test]
    fn packets_arrive_in_any_pieces() {
        let bytes = packets(&[b"one", b"", b"three"]);
        for piece in 1..bytes.len() {
            let mut stream = Pieces { bytes: &bytes, piece, reads: 0 };
            let mut incoming = Incoming::new();
            for payload in [&b"one"[..], b"", b"three"] {
                let packet = incoming.read(&mut stream, 0, 1000).unwrap();
                assert_eq!(incoming.payload(&packet), payload);
            }
        }
    }

    #[test]
    fn a_continued_payload_is_joined() {
        let payload: Vec<u8> = (0..2 * PAYLOAD_BYTES_MAX + 5).map(|i| (i / 7) as u8).collect();
        let bytes = packets(&[&payload, b"next"]);
        let mut stream = Pieces { bytes: &bytes, piece: 100_000, reads: 0 };
        let mut incoming = Incoming::new();
        let packet = incoming.read(&mut stream, 0, 1 << 30).unwrap();
        assert!(incoming.payload(&packet) == payload);
        assert_eq!(packet.sequence, 2);
        let packet = incoming.read(&mut stream, 0, 1 << 30).unwrap();
        assert_eq!(incoming.payload(&packet), b"next");
    }

    #[test]
    fn a_promise_of_many_bytes_allocates_few() {
        let mut stream = Pieces { bytes: &[0xFF, 0xFF, 0xFF, 0, 1], piece: 10, reads: 0 };
        let mut incoming = Incoming::new();
        assert!(matches!(incoming.read(&mut stream, 0, 1 << 30), Err(Ended::Broken(_))));
        assert!(incoming.buffer.len() <= BUFFER_BYTES + GROWTH_BYTES);
    }

    #[test]
    fn what_is_too_large_or_out_of_order_is_refused() {
        let bytes = packets(&[b"0123456789"]);
        let read = |sequence, bytes_max| {
            Incoming::new().read(&mut Pieces { bytes: &bytes, piece: 100, reads: 0 }, sequence, bytes_max)
        };
        assert!(matches!(read(0, 10), Err(Ended::TooLarge)));
        assert!(matches!(read(1, 11), Err(Ended::OutOfOrder)));
        assert!(read(0, 11).is_ok());
    }
}
