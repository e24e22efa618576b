//! Rows: how an insert, update, delete or read works on a table's trees, their undo and their locks.
//!
//! A row is a record of the clustered index, which also names its writer (DB_TRX_ID) and its previous version
//! (DB_ROLL_PTR), and an entry in every secondary index, which does neither.
//!
//! ```text
//!                       insert            update                    delete
//! lock the row          implicit          found locked              found locked
//! undo record           insert            old values of the         old values needed to find
//!                                         changed columns           the entries
//! clustered record      new               changed in place, or      delete-marked
//!                                         removed and put again
//! secondary entries     new               old one delete-marked,    delete-marked
//!                                         new one inserted
//! ```
//!
//! Nothing that a reader of an older version may need is removed: it is delete-marked, and [`Purger`] removes it once
//! no view can see it. If the key of a row changes, the row is delete-marked and inserted under its new key. Inserting
//! a row over a delete-marked one with the same key is an update of that.
//!
//! # Locks
//!
//! A row is locked by its clustered key. Its writer holds it locked through the id in the record, without an entry in
//! the lock table, until another transaction wants it. Secondary entries are not locked except for their gaps: a reader
//! that comes through one locks the row and checks whether the row still has the entry. An insert locks a value of a
//! unique secondary index by its hash. Locking reads in REPEATABLE READ and above lock the gaps between records, see
//! `lock`.
//!
//! An index may have several entries of a row, or none: see `several`.
//!
//! Foreign keys read rows of other tables, and change them, see [`foreign`].
//!
//! # What a point UPDATE costs
//!
//! ```text
//!   the row is read and locked    root .. leaf, shared, hand over hand
//!   the row is changed            its leaf, where it was found, if the page has not changed since (no search); undo page
//!   commit                        header of the rollback segment; undo page
//! ```
//!
//! Each of the three latches a page once; the first change of a transaction begins its undo log in the same
//! mini-transaction. In the steady state nothing is allocated: the thread owns the lists of values, the buffers, and
//! what a transaction shows to others. `storage/tests/cost.rs` counts both.
//!
//! A thread that must wait releases all latches, waits, and starts again.
//!
//! Invariants:
//!
//! * A change of a row changes the clustered record before the secondary entries; undo changes it after them. So a
//!   thread that finds an entry under a latch can tell from the clustered record whether it is needed.
//! * Pages are latched secondary before clustered, clustered before undo.
//! * A change is undone only if the record's roll pointer is that of the undo record: undoing twice does no harm.
//!
//! Sources: the InnoDB manual on multi-versioning; Mohan et al., "ARIES" (1992).

mod change_log;
mod check;
mod delete;
mod entries;
mod entry;
mod fill;
pub mod foreign;
mod get;
mod insert;
mod key_log;
mod lock;
mod locked;
mod log_blocks;
mod needed;
mod postings;
mod purge;
mod range_estimate;
mod remove;
mod rollback;
mod row_log;
mod scan;
mod secondary;
mod several;
mod snapshot;
mod statistics;
mod table;
mod update;
mod values;
mod version;
mod write;

use std::cell::RefCell;
use std::sync::Arc;

use format::ids::TableId;
use format::record::{FieldData, Offsets, RecordBuffer};
use format::redo::Patches;

use crate::lock::LockTable;
use crate::store::Store;
use crate::transaction::Registry;
use crate::undo::{UndoBuilder, UndoSpace};

pub use check::{TableCheck, check};
pub use delete::delete;
pub use entry::{Key, build_entry, empty_reference, move_out, unique_key_hash, version_of_record, version_of_values};
pub use get::get;
pub use insert::insert;
pub use key_log::{CatchUp, KeyLog, Moves, Unsettled, is_built, key_of_values, replace_built, replace_built_at};
pub use lock::lock_auto_increment;
pub use locked::{StoredKey, locked_key};
pub use postings::{Posting, Wanted, identity_of_key, postings};
pub use purge::{PurgeStep, PurgeView, Purger};
pub use range_estimate::estimate;
pub use rollback::{rollback, rollback_step};
pub use row_log::{RowLog, Suspects, duplicate_rows};
pub use scan::{LEAVES_LOOKED_AT, Scan};
pub use several::Several;
pub use snapshot::SnapshotScan;
pub use statistics::{Sampling, index_pages, statistics};
pub use table::{IndexTree, Table, layout};
pub use update::update;
pub use values::for_each_entry;

/// What row operations work with.
#[derive(Clone, Copy)]
pub struct Context<'e> {
    pub store: &'e Store,
    pub undo: &'e UndoSpace,
    pub locks: &'e LockTable,
    pub registry: &'e Registry,
    pub purge: &'e PurgeView,
    /// The foreign keys to check; None = there are none, or checks are off.
    pub foreign: Option<&'e foreign::KeyGraph>,
    /// Computes what depends on columns that a cascade changes; None = nobody has said how.
    pub generator: Option<&'e dyn foreign::Generator>,
}

/// Finds a table by its id, since undo records carry nothing else. `None` = dropped.
pub type Lookup<'l> = &'l dyn Fn(TableId) -> Option<Arc<Table>>;

/// Buffers that an operation on a row needs, kept from one operation to the next.
#[derive(Default)]
struct Buffers {
    record: RecordBuffer,
    old: RecordBuffer,
    entry: RecordBuffer,
    other_entry: RecordBuffer,
    undo: UndoBuilder,
    undo_record: Vec<u8>,
    offsets: Offsets,
    patches: Patches,
    before: Version<'static>,
    after: Version<'static>,
}

/// The values of a row, see `entry`.
type Version<'a> = Vec<FieldData<'a>>;

/// The same list without its values, for values of another lifetime, so that its memory can be reused.
fn emptied<From, To>(mut list: Vec<From>) -> Vec<To> {
    list.clear();
    // Collecting what was a list of items of this size keeps its memory.
    list.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

thread_local! {
    // Boxed, since a set is moved in and out at every operation.
    #[allow(clippy::vec_box)]
    static BUFFERS: RefCell<Vec<Box<Buffers>>> = const { RefCell::new(Vec::new()) };
}

/// Buffers borrowed from the thread; dropping this returns them.
struct Scratch(Option<Box<Buffers>>);

impl Scratch {
    fn take() -> Scratch {
        Scratch(Some(BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default()))
    }
}

impl std::ops::Deref for Scratch {
    type Target = Buffers;
    #[inline]
    fn deref(&self) -> &Buffers {
        self.0.as_ref().expect("until dropped")
    }
}

impl std::ops::DerefMut for Scratch {
    #[inline]
    fn deref_mut(&mut self) -> &mut Buffers {
        self.0.as_mut().expect("until dropped")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(buffers) = self.0.take() {
            // The thread may be ending.
            let _ = BUFFERS.try_with(|all| all.borrow_mut().push(buffers));
        }
    }
}
