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
use std::sync::Arc;

use format::ids::Lsn;
use storage::io::File;
use storage::sync::{Mutex, Rank};
use storage::{Engine, Result};

use crate::files::io;

/// Bytes that one write takes.
const WRITE_BYTES: usize = 4 << 20;

pub struct Tail {
    engine: Arc<Engine>,
    state: Mutex<State>,
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
}

struct Piece {
    /// Up to which the redo log must be flushed.
    lsn: Lsn,
    offset: u64,
    bytes: Box<[u8]>,
    /// Where its transaction ends in the file.
    end: u64,
}

impl Tail {
    pub fn new(engine: Arc<Engine>, file: Arc<dyn File>, written: u64) -> Tail {
        let state = State {
            file,
            pending: VecDeque::new(),
            pending_bytes: 0,
            written,
            written_lsn: Lsn::ZERO,
            appending: false,
        };
        Tail { engine, state: Mutex::new(Rank::CommitLog, state) }
    }

    /// An annex is about to be logged: from here on the checkpoint stays before it.
    pub fn begin_append(&self) {
        let mut state = self.state.lock();
        state.appending = true;
        let hold = self.engine.annex_hold();
        if !hold.is_held() {
            hold.set(self.engine.store().current_lsn());
        }
    }

    /// The annex is in the redo log: these bytes belong into the file.
    pub fn appended(&self, lsn: Lsn, offset: u64, bytes: Box<[u8]>, end: u64) {
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

    /// Writes what is durable in the redo log.
    pub fn write(&self) -> Result<()> {
        self.write_locked(&mut self.state.lock())
    }

    fn write_locked(&self, state: &mut State) -> Result<()> {
        let flushed = self.engine.store().flushed_lsn();
        while state.pending.front().is_some_and(|piece| piece.lsn <= flushed) {
            let first = &state.pending[0];
            let (offset, mut end_offset) = (first.offset, first.offset);
            let mut count = 0;
            for piece in &state.pending {
                let fits = end_offset - offset + piece.bytes.len() as u64 <= WRITE_BYTES as u64;
                if piece.lsn > flushed || piece.offset != end_offset || count > 0 && !fits {
                    break;
                }
                end_offset += piece.bytes.len() as u64;
                count += 1;
            }
            let written = match count {
                1 => state.file.write_at(offset, &state.pending[0].bytes),
                _ => {
                    let together: Vec<u8> =
                        state.pending.iter().take(count).flat_map(|piece| piece.bytes.iter().copied()).collect();
                    state.file.write_at(offset, &together)
                }
            };
            written.map_err(io("write the binary log"))?;
            for piece in state.pending.drain(..count) {
                state.pending_bytes -= piece.bytes.len();
                (state.written, state.written_lsn) = (piece.end, piece.lsn);
            }
        }
        Ok(())
    }

    /// Makes durable all that is committed. The caller lets nothing be appended meanwhile.
    pub fn settle(&self) -> Result<()> {
        let newest = self.state.lock().pending.back().map(|piece| piece.lsn);
        if let Some(lsn) = newest {
            self.engine.store().flush_log(lsn)?;
        }
        self.sync()
    }

    /// Writes what may be written, makes it durable, and lets the checkpoint pass it.
    pub fn sync(&self) -> Result<()> {
        let (file, lsn) = {
            let mut state = self.state.lock();
            self.write_locked(&mut state)?;
            if !self.engine.annex_hold().is_held() {
                return Ok(());
            }
            (state.file.clone(), state.written_lsn)
        };
        file.sync().map_err(io("sync the binary log"))?;
        let state = self.state.lock();
        let hold = self.engine.annex_hold();
        if state.pending.is_empty() && !state.appending && state.written_lsn == lsn {
            hold.release();
        } else if lsn > Lsn::ZERO {
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

    /// The end of the file has moved without a transaction.
    pub fn moved(&self, written: u64) {
        self.state.lock().written = written;
    }
}
