//! Checkpoints: where recovery begins.
//!
//! The checkpoint LSN is the start of the oldest mini-transaction whose pages are not all durable in their tablespaces:
//! the smallest of the flush list's oldest, what the flushers have taken and not synced, and, when there is neither, the
//! end of the log; and before the first annex that an upper layer has not made durable elsewhere
//! ([`crate::redo::hold`]). Moving it forward costs one small durable write and gives the log before it free.
//!
//! Invariant: the decision uses one consistent state. The flush list and the end of the log are read while nothing can
//! be appended, so a mini-transaction is either seen dirty or lies behind the checkpoint.

use format::ids::Lsn;

use crate::buffer::Pool;
use crate::error::Result;
use crate::redo::Redo;

/// How far the checkpoint may go.
pub fn safe_lsn(pool: &Pool, redo: &Redo) -> Lsn {
    let lsn = redo.at_rest(|end| pool.oldest_lsn().unwrap_or(end));
    let held = redo.hold.limit(lsn);
    if held < lsn && redo.age() > redo.capacity() / 4 {
        redo.hold.want();
    }
    held
}

/// Moves the checkpoint as far as it may go, if that is at least `bytes_min` of log. True if it moved.
pub fn step(pool: &Pool, redo: &Redo, bytes_min: u64) -> Result<bool> {
    let lsn = safe_lsn(pool, redo);
    if lsn.0 < redo.checkpoint_lsn().0 + bytes_min.max(1) {
        return Ok(false);
    }
    redo.flush_until(lsn)?;
    redo.stamps.advance(lsn, |page| pool.resident_lsn(page));
    redo.write_checkpoint(lsn, false)?;
    Ok(true)
}
