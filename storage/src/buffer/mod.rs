//! The buffer pool: pages in memory, off the heap.
//!
//! A *frame* is a piece of memory that holds a page, with a header (latch, page id, modify clock, oldest LSN). The pool
//! looks up the frame of a page, reads the page into a free frame if it has none, and evicts pages that were not used
//! for long.
//!
//! ```text
//!            take                 read                 commit of an mtr
//!   +------+ ---> (latched, anonymous) ---> +-------+ -----------------> +-------+
//!   | free |                                | clean |                    | dirty |
//!   +------+ <----------------------------- +-------+ <-- write done --- +-------+
//!                       evict                   ^                          |   ^
//!                                               |       copy taken         v   | commit of an mtr
//!                                               +------ write done ----- writing
//! ```
//!
//! [`frame`] owns memory and latches, [`turns`] limits the threads that hold latches in a small pool, [`page_table`] tells
//! which frame holds a page, [`pool`] brings all together: a page is latched, read on a miss ([`load`]), with the redo that
//! recovery left ([`pending`], [`bring_up`]), becomes dirty and durable ([`dirty`]), and is refused if it is known to be
//! damaged ([`damage`]). [`lru`] is the eviction order, [`flush_list`] has the dirty pages, [`flush`] writes them, [`pace`]
//! sets the rate, [`cleaner_signals`] wakes cleaners and waiters, [`read_ahead`] reads what will be requested soon into
//! [`compressed_cache`], [`guard`] is what a reader holds; [`witness`] records for tests which pages a thread latched.
//!
//! Invariants:
//!
//! * A page is in at most one frame. A frame changes its page only under the frame's exclusive latch; so a thread that
//!   holds the latch compares the page id once, and is sure. There are no pins.
//! * A frame that is dirty or being written is not evicted.
//! * The flush list holds exactly the dirty frames, in the order in which they became dirty, which is that of their
//!   oldest LSN.
//! * At most one thread writes a page at a time (`writing`).

pub mod witness;

pub mod turns;

mod latch_order;

pub mod frame;

pub mod lru;

pub mod guard;

pub mod cleaner_signals;

pub mod compressed_cache;

pub mod read_ahead;

pub mod flush_list;

pub mod pending;

pub mod page_table;

pub mod damage;

mod load;

mod bring_up;

mod dirty;

pub mod pool;

pub mod reader;

pub mod flush;

pub mod pace;

pub use guard::{FrameHint, SharedGuard};
pub use pending::PendingRedo;
pub use pool::Pool;
