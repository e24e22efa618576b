//! The end of the log: what is committed and not yet in the file, or in it and not yet durable.
//!
//! ```text
//!   file    ......................|...............|
//!                              synced          written         pending, in memory
//!   redo    .......|..............................|..........|.............|
//!                hold                                     flushed         end
//!           checkpoint stays before it
//! ```
//!
//! Invariant: the file never has a transaction whose commit record is not durable. So whatever a crash loses, the log is
//! not ahead of the engine, and what it lacks is in annexes behind the hold. It also means that a replica never gets a
//! transaction that its source forgets.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use format::ids::Lsn;
use storage::io::File;
use storage::sync::{Mutex, Rank};
use storage::{Engine, Result};

use crate::end::End;
use crate::files::io;

/// Bytes that one write takes.
const WRITE_BYTES: usize = 4 << 20;

pub struct Tail {
    engine: Arc<Engine>,
    state: Mutex<State>,
    /// Held by the thread that writes.
    writer: Mutex<()>,
    stuck: AtomicBool,
    /// What readers are told.
    end: Arc<End>,
}

struct State {
    file: Arc<dyn File>,
    pending: VecDeque<Piece>,
    pending_bytes: usize,
    /// The end of the last whole transaction in the file.
    written: u64,
    written_lsn: Lsn,
    /// A commit record is being appended.
    appending: bool,
    /// Some pieces are on their way into the file.
    writing: bool,
}

struct Piece {
    /// Up to which the redo log must be flushed.
    lsn: Lsn,
    offset: u64,
    bytes: Logged,
    /// Where its transaction ends in the file.
    end: u64,
}

/// An annex, of which all but the beginning stands in the file.
pub struct Logged {
    annex: Vec<u8>,
    from: usize,
}

impl Logged {
    pub fn new(annex: Vec<u8>, from: usize) -> Logged {
        Logged { annex, from }
    }
}

impl Deref for Logged {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.annex[self.from..]
    }
}

impl Tail {
    pub fn new(engine: Arc<Engine>, file: Arc<dyn File>, written: u64, end: Arc<End>) -> Tail {
        let state = State {
            file,
            pending: VecDeque::new(),
            pending_bytes: 0,
            written,
            written_lsn: Lsn::ZERO,
            appending: false,
            writing: false,
        };
        Tail {
            engine,
            state: Mutex::new(Rank::Leaf, state),
            writer: Mutex::new(Rank::CommitLog, ()),
            stuck: AtomicBool::new(false),
            end,
        }
    }

    /// An annex is about to be logged: from here on the checkpoint stays before it.
    pub fn begin_append(&self) {
        // From here on nobody releases the hold, and one thread at a time appends.
        self.state.lock().appending = true;
        let hold = self.engine.annex_hold();
        if !hold.is_held() {
            hold.set(self.engine.store().current_lsn());
        }
    }

    /// The annex is in the redo log: these bytes belong into the file.
    pub fn appended(&self, lsn: Lsn, offset: u64, bytes: Logged, end: u64) {
        let mut state = self.state.lock();
        state.appending = false;
        state.pending_bytes += bytes.len();
        state.pending.push_back(Piece { lsn, offset, bytes, end });
    }

    /// There is no annex.
    pub fn abandoned(&self) {
        self.state.lock().appending = false;
    }

    pub fn pending_bytes(&self) -> usize {
        self.state.lock().pending_bytes
    }

    /// The end of the last transaction in the file.
    pub fn written(&self) -> u64 {
        self.state.lock().written
    }

    pub fn file(&self) -> Arc<dyn File> {
        self.state.lock().file.clone()
    }

    /// Whether the last write failed, so that committed transactions wait for room on the device.
    pub fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Acquire)
    }

    /// Writes what is durable in the redo log. Commits go on meanwhile.
    pub fn write(&self) -> Result<()> {
        let _writer = self.writer.lock();
        let flushed = self.engine.store().flushed_lsn();
        loop {
            let mut pieces = Vec::new();
            let mut bytes = 0;
            let file = {
                let mut state = self.state.lock();
                while let Some(piece) = state.pending.front() {
                    let follows = pieces.last().is_none_or(|last: &Piece| {
                        last.offset + last.bytes.len() as u64 == piece.offset
                            && bytes + piece.bytes.len() <= WRITE_BYTES
                    });
                    if piece.lsn > flushed || !follows {
                        break;
                    }
                    bytes += piece.bytes.len();
                    pieces.push(state.pending.pop_front().expect("it was looked at"));
                }
                state.writing = !pieces.is_empty();
                state.file.clone()
            };
            let Some(last) = pieces.last() else { return Ok(()) };
            let (end, lsn) = (last.end, last.lsn);
            let written = match &pieces[..] {
                [one] => file.write_at(one.offset, &one.bytes),
                several => {
                    let mut together = Vec::with_capacity(bytes);
                    several.iter().for_each(|piece| together.extend_from_slice(&piece.bytes));
                    file.write_at(several[0].offset, &together)
                }
            };
            let mut state = self.state.lock();
            state.writing = false;
            self.stuck.store(written.is_err(), Ordering::Release);
            if let Err(cause) = written {
                for piece in pieces.into_iter().rev() {
                    state.pending.push_front(piece);
                }
                return Err(io("write the binary log")(cause));
            }
            state.pending_bytes -= bytes;
            (state.written, state.written_lsn) = (end, lsn);
            drop(state);
            self.end.grow(end);
        }
    }

    /// Makes durable all that is committed. The caller lets nothing be appended meanwhile.
    pub fn settle(&self) -> Result<()> {
        self.make_durable()?;
        self.sync()
    }

    /// Writes all that is committed, so that the file has what clients have seen: a transaction is visible before it is
    /// durable.
    pub fn write_visible(&self) -> Result<()> {
        self.make_durable()?;
        self.write()
    }

    fn make_durable(&self) -> Result<()> {
        let newest = self.state.lock().pending.back().map(|piece| piece.lsn);
        newest.map_or(Ok(()), |lsn| self.engine.store().flush_log(lsn))
    }

    /// Writes what may be written, makes it durable, and lets the checkpoint pass it.
    pub fn sync(&self) -> Result<()> {
        self.write()?;
        let (file, lsn) = {
            let state = self.state.lock();
            if !self.engine.annex_hold().is_held() {
                return Ok(());
            }
            (state.file.clone(), state.written_lsn)
        };
        file.sync().map_err(io("sync the binary log"))?;
        let state = self.state.lock();
        let hold = self.engine.annex_hold();
        if state.pending.is_empty() && !state.appending && !state.writing && state.written_lsn == lsn {
            hold.release();
        } else if lsn > Lsn::ZERO && hold.is_held() {
            // The next annex is behind the group of the last one.
            hold.set(lsn);
        }
        Ok(())
    }

    /// Goes on in another file. Everything in the old one is durable.
    pub fn go_on_in(&self, file: Arc<dyn File>, written: u64) {
        let mut state = self.state.lock();
        assert!(state.pending.is_empty(), "a file is left when it is complete");
        (state.file, state.written) = (file, written);
    }

    /// The end of the file has moved without a transaction. Readers see what was written when the next file has begun,
    /// because until then it may be taken back.
    pub fn moved(&self, written: u64) {
        self.state.lock().written = written;
    }
}
