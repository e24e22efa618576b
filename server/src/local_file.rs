//! A client's file on its way to LOAD DATA LOCAL.
//!
//! ```text
//!  server                           client
//!    0xFB, the file's name  -->
//!                           <--      a piece of the file   (any number of packets)
//!                           <--      an empty packet: the end
//!    OK, or why not         -->
//! ```
//!
//! Packets are numbered on from the request. The client does not listen before it has sent everything, so a statement
//! that fails half way reads the rest and drops it before it answers; by then its transaction has been rolled back and
//! holds no locks.
//!
//! A client that stays silent for `net_read_timeout` is told so (1159) and cut off. A KILL QUERY is seen while the
//! server waits for a packet.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use format::packet::frame::Packets;
use sql::Error;
use storage::Interrupt;

use crate::incoming::{Ended, Incoming, Source};
use crate::stream::Stream;

/// How often a waiting reader looks whether the statement was killed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub struct LocalFile {
    incoming: Incoming,
    state: State,
    packet_bytes_max: usize,
    patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Pieces are to come.
    Open,
    Ended,
    /// The conversation cannot go on.
    Lost,
}

impl LocalFile {
    pub fn new(packet_bytes_max: usize, patience: Duration) -> Self {
        Self { incoming: Incoming::new(), state: State::Open, packet_bytes_max, patience }
    }

    pub fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// What the client sent behind its file.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.incoming.take_rest()
    }

    /// Appends the next piece to `out`; false: it has ended.
    pub fn read(
        &mut self,
        stream: &mut Stream,
        packets: &mut Packets,
        interrupt: &Interrupt,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        match self.piece(stream, packets, Some(interrupt)) {
            Ok(piece) => {
                out.extend_from_slice(piece);
                Ok(!piece.is_empty())
            }
            // The client may go on sending: that is read when the statement is answered.
            Err(Ended::Silent) if interrupt.is_set() => Err(Error::new(1317, b"70100", INTERRUPTED)),
            Err(ended) => {
                self.state = State::Lost;
                if matches!(ended, Ended::TooLarge | Ended::Interrupted) {
                    // The client counts the packet that could not be read.
                    packets.restart(packets.sequence().wrapping_add(1));
                }
                Err(match ended {
                    // A KILL of the connection has closed the socket.
                    _ if interrupt.is_set() => Error::new(1317, b"70100", INTERRUPTED),
                    Ended::Silent | Ended::Interrupted => {
                        Error::new(1159, b"08S01", "Got timeout reading communication packets")
                    }
                    Ended::TooLarge => Error::packet_too_large(),
                    Ended::OutOfOrder => Error::new(1156, b"08S01", "Got packets out of order"),
                    Ended::Closed | Ended::Broken(_) => {
                        Error::new(1158, b"08S01", "Got an error reading communication packets")
                    }
                })
            }
        }
    }

    /// Reads and drops what is left.
    pub fn pass_over(&mut self, stream: &mut Stream, packets: &mut Packets) {
        while self.state == State::Open {
            if self.piece(stream, packets, None).is_err() {
                self.state = State::Lost;
            }
        }
    }

    fn piece(
        &mut self,
        stream: &mut Stream,
        packets: &mut Packets,
        interrupt: Option<&Interrupt>,
    ) -> Result<&[u8], Ended> {
        if self.state == State::Ended {
            return Ok(&[]);
        }
        stream.set_read_timeouts(LOOK_EVERY, Duration::ZERO);
        let mut waiting = Waiting { stream, interrupt, until: Instant::now() + self.patience, patience: self.patience };
        let packet = self.incoming.read(&mut waiting, packets.sequence(), self.packet_bytes_max)?;
        packets.restart(packet.sequence.wrapping_add(1));
        let piece = self.incoming.payload(&packet);
        if piece.is_empty() {
            self.state = State::Ended;
        }
        Ok(piece)
    }
}

const INTERRUPTED: &str = "Query execution was interrupted";

/// The stream, whose short timeouts are not the client's.
struct Waiting<'a> {
    stream: &'a mut Stream,
    /// None while the rest is dropped, and once a packet has begun: it is read to its end.
    interrupt: Option<&'a Interrupt>,
    until: Instant,
    patience: Duration,
}

impl Source for Waiting<'_> {
    fn await_rest(&mut self) {
        self.interrupt = None;
        self.until = Instant::now() + self.patience;
    }
}

impl Read for Waiting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                        && Instant::now() < self.until
                        && !self.interrupt.is_some_and(Interrupt::is_set) => {}
                other => return other,
            }
        }
    }
}
