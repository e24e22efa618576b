//! Truncation of an undo tablespace that has grown too long.
//!
//! Freed undo pages give their blocks back at once (`segment::release`), but the file stays as long as the longest
//! transaction made it. When it is longer than `innodb_max_undo_log_size`, and purge has read all history, the rollback
//! segments free their cached undo segments, and the free end of the file is truncated (`segment::shrink`). Open
//! transactions keep their undo where it is: the pages behind it are truncated now, the rest another time. Meanwhile
//! transactions can begin as usual.
//!
//! None of this is remembered across a crash: each step leaves an ordinary tablespace.
//!
//! The alternative: InnoDB moves all rollback segments of a tablespace to others, and recreates the file under another
//! number; that takes two tablespaces, a log of its own, and a time without transactions in the one.

use std::time::Duration;

use format::ids::Lsn;

use super::Inner;
use crate::error::Result;
use crate::lock::Interrupt;
use crate::recovery::UNDO_SPACE;
use crate::segment;
use crate::sync::{Counter, Mutex, Rank};

/// After an attempt that truncated nothing, the next one waits this long.
const REST: Duration = Duration::from_secs(10);

/// See the module header.
pub(super) struct UndoTruncation {
    state: Mutex<State>,
    /// How often the file was truncated.
    pub count: Counter,
}

#[derive(Clone, Copy)]
enum State {
    /// No attempt is made before this time.
    Rests(Duration),
    /// The descriptors from this page on are removed; the truncation waits for the checkpoint.
    Waits(u32, Lsn),
}

impl UndoTruncation {
    pub fn new() -> UndoTruncation {
        UndoTruncation { state: Mutex::new(Rank::Instance, State::Rests(Duration::ZERO)), count: Counter::default() }
    }
}

impl Inner {
    /// One step towards a shorter undo tablespace, if it is too long. True if something was done.
    pub fn truncate_undo_step(&self) -> Result<bool> {
        let store = &self.store;
        let Some(space) = store.space(UNDO_SPACE) else { return Ok(false) };
        let config = store.config();
        let bytes = u64::from(space.pages()) * store.page_bytes() as u64;
        if !config.undo_log_truncate || bytes <= config.undo_log_bytes_max {
            return Ok(false);
        }
        // Pages may still have pending redo; and a backup needs all that was there when it began.
        if store.is_poisoned() || store.pool().has_pending() {
            return Ok(false);
        }
        let Ok(_pass) = self.dictionary.instance_lock().pass(&Interrupt::new(), Duration::ZERO) else {
            return Ok(false);
        };
        let mut state = self.undo_truncation.state.lock();
        let now = store.disk().clock().now();
        match *state {
            State::Rests(until) if now < until || self.undo.status().history_length_now > 0 => Ok(false),
            State::Rests(_) => {
                *state = State::Rests(now + REST);
                self.undo.free_cached(store)?;
                let Some((limit, lsn)) = segment::describe_less(store, UNDO_SPACE)? else { return Ok(false) };
                if limit < space.pages() {
                    *state = State::Waits(limit, lsn);
                }
                Ok(limit < space.pages())
            }
            State::Waits(_, lsn) if store.redo().checkpoint_lsn() < lsn => Ok(false),
            State::Waits(limit, _) => {
                *state = State::Rests(now + REST);
                let cut = segment::shorten(store, UNDO_SPACE, limit)?;
                if cut == 0 {
                    return Ok(false);
                }
                self.undo_truncation.count.add(1);
                tracing::info!("{} is truncated from {} to {limit} pages", space.path(), limit + cut);
                Ok(true)
            }
        }
    }
}
