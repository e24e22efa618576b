//! The buffer pool: pages in memory, off the heap.
//!
//! A *frame* is a piece of memory that holds a page, with a header (latch, page id, modify clock, oldest LSN). The pool
//! finds the frame of a page, reads the page if it has none, and takes frames back from pages that were not used for
//! long.
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
//! [`frame`] owns memory and latches, [`pool`] the page table and its misses, [`lru`] the order of leaving,
//! [`flush_list`] the dirty pages, [`flush`] their way to disk, [`pace`] its speed, [`signals`] who calls whom,
//! [`read_ahead`] what will be wanted soon and [`compressed_cache`] where it waits, [`guard`] what a reader holds; [`witness`] tells
//! tests who latched what.
//!
//! Invariants:
//!
//! * A page is in at most one frame. Its frame changes owner only under the frame's exclusive latch; so whoever has the
//!   latch compares the page id once, and is sure. There are no pins.
//! * A frame that is dirty or being written is not evicted.
//! * The flush list holds exactly the dirty frames, in the order in which they became dirty, which is that of their
//!   oldest LSN.
//! * One page has one writer at a time (`writing`).

pub mod witness;

pub mod frame;

pub mod lru;

pub mod guard;

pub mod cleaner_signals;

pub mod compressed_cache;

pub mod read_ahead;

pub mod flush_list;

pub mod pending;

pub mod pool;

pub mod flush;

pub mod pace;

pub use guard::{FrameHint, SharedGuard};
pub use pending::PendingRedo;
pub use pool::Pool;
