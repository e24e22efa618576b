//! Packing beside the session: a long transaction's events are compressed, and written to its file, by another thread while
//! the statement goes on.
//!
//! ```text
//!   session                          lane                               worker
//!   events --> tail  --- chunk --->  queue: at most some hundred KiB  ---> Packer
//!                                                                            |
//!              COMMIT, a cut  <---  what has not been packed, the packer  <--+
//! ```
//!
//! The packer is in one place: in the cache, in the lane, or with the thread that works. Whoever needs it takes it back
//! with the chunks that have not been packed; what is left is little, and is packed by the session. So everything but the
//! packing itself is done by the session, as if there were no other thread.
//!
//! A session waits only for a thread that is at work on its own chunks: if the lane is full and all threads are busy with
//! others, it does the work itself.
//!
//! An error of the worker stops the lane, and the session hears of it with its next chunk: nothing is lost, see
//! [`Packer::pack`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use storage::sync::{Condvar, Mutex, Rank};
use storage::{Error, Result};

use crate::packer::{Packer, packed_bytes_max};
use crate::workers::Workers;

/// A session that has handed over so many bytes waits, or packs them itself. COMMIT may find as many to be packed.
const LANE_BYTES: usize = 256 << 10;

/// How often a session that waits looks whether the instance is poisoned.
const LOOK: Duration = Duration::from_millis(100);

/// See the module header.
pub(crate) struct Lane {
    workers: Arc<Workers>,
    state: Mutex<State>,
    /// A chunk was packed, or the worker has stopped.
    changed: Condvar,
}

struct State {
    /// `None` = a thread works with it, or the cache has it.
    packer: Option<Box<Packer>>,
    queue: VecDeque<Chunk>,
    /// Of the queue and of the chunk that is being packed.
    bytes: usize,
    /// Of the packer, before the chunk that is being packed.
    packed_bytes: u64,
    is_plain: bool,
    /// A thread has been asked to work, or is at work.
    is_asked: bool,
    is_working: bool,
    /// The session wants the packer.
    is_recalled: bool,
    session_waits: bool,
    error: Option<Error>,
    spare: Vec<Vec<u8>>,
}

/// Whole events, and the places to which the transaction may be cut.
struct Chunk {
    events: Vec<u8>,
    kept: Vec<u64>,
}

/// What became of a chunk.
pub(crate) enum Handed {
    /// Taken. The tail is empty.
    Over,
    /// The session has to do it: take the packer back.
    NotOver,
}

impl Lane {
    pub fn new(workers: Arc<Workers>, packer: Box<Packer>) -> Arc<Lane> {
        let lane = Lane {
            workers,
            state: Mutex::new(
                Rank::Leaf,
                State {
                    packer: None,
                    queue: VecDeque::new(),
                    bytes: 0,
                    packed_bytes: 0,
                    is_plain: false,
                    is_asked: false,
                    is_working: false,
                    is_recalled: false,
                    session_waits: false,
                    error: None,
                    spare: Vec::new(),
                },
            ),
            changed: Condvar::new(),
        };
        lane.put(packer);
        Arc::new(lane)
    }

    /// Gives the lane its packer again.
    pub fn put(&self, packer: Box<Packer>) {
        let mut state = self.state.lock();
        (state.packed_bytes, state.is_plain) = (packer.packed_bytes(), packer.is_plain());
        state.packer = Some(packer);
    }

    /// Hands over the events of the tail. `bytes_max`: of the payload. After an error they are still in the tail.
    pub fn hand_over(self: &Arc<Self>, tail: &mut Vec<u8>, kept: Vec<u64>, bytes_max: u64) -> Result<Handed> {
        let mut state = self.state.lock();
        loop {
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            let could_be = packed_bytes_max(state.packed_bytes, state.bytes + tail.len());
            if !state.is_plain && could_be > bytes_max {
                return Ok(Handed::NotOver);
            }
            if state.bytes < LANE_BYTES {
                break;
            }
            if !state.is_working {
                return Ok(Handed::NotOver);
            }
            self.workers.health().check()?;
            state.session_waits = true;
            self.changed.wait_for(&mut state, LOOK);
        }
        state.session_waits = false;
        let empty = state.spare.pop().unwrap_or_default();
        let events = std::mem::replace(tail, empty);
        state.bytes += events.len();
        state.queue.push_back(Chunk { events, kept });
        if !state.is_asked {
            state.is_asked = true;
            drop(state);
            let lane = self.clone();
            if !self.workers.run(move || lane.work()) {
                // The log is closed: the session packs it when it takes the packer back.
                self.state.lock().is_asked = false;
            }
        }
        Ok(Handed::Over)
    }

    /// Packs what is in the queue.
    fn work(&self) {
        let mut state = self.state.lock();
        // It may have been taken back meanwhile.
        if let Some(mut packer) = state.packer.take() {
            state.is_working = true;
            while state.error.is_none()
                && !state.is_recalled
                && let Some(mut chunk) = state.queue.pop_front()
            {
                drop(state);
                let before = packer.fed();
                let packed = packer.pack(&chunk.events, &chunk.kept);
                state = self.state.lock();
                state.packed_bytes = packer.packed_bytes();
                if packer.fed() > before {
                    state.bytes -= chunk.events.len();
                    chunk.events.clear();
                    state.spare.push(chunk.events);
                } else {
                    state.queue.push_front(chunk);
                }
                state.error = packed.err();
                if state.session_waits && state.bytes <= LANE_BYTES / 2 {
                    self.changed.notify_all();
                }
            }
            state.is_working = false;
            state.packer = Some(packer);
        }
        state.is_asked = false;
        drop(state);
        self.changed.notify_all();
    }

    /// Takes the packer back, and what it has not packed: that stands before what is in the tail. `None` = the instance
    /// is poisoned, and the packer lost with the thread that had it.
    pub fn take_back(&self, tail: &mut Vec<u8>) -> Option<Box<Packer>> {
        let mut state = self.state.lock();
        state.is_recalled = true;
        let packer = loop {
            if let Some(packer) = state.packer.take() {
                break packer;
            }
            if self.workers.health().is_poisoned() {
                return None;
            }
            self.changed.wait_for(&mut state, LOOK);
        };
        (state.is_recalled, state.bytes) = (false, 0);
        // What it was to do is still to be done, and is tried again.
        state.error = None;
        if !state.queue.is_empty() {
            let mut events: Vec<u8> = Vec::new();
            for mut chunk in state.queue.drain(..) {
                events.append(&mut chunk.events);
            }
            events.append(tail);
            *tail = events;
        }
        Some(packer)
    }

    /// Forgets what is in the queue.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        state.bytes -= state.queue.drain(..).map(|chunk| chunk.events.len()).sum::<usize>();
    }
}
