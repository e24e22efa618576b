//! Rows: what an insert, an update, a delete, a read means for the trees of a table, their undo and their locks.
//!
//! A row is a record of the clustered index, which also says who wrote it (DB_TRX_ID) and where the version before is
//! (DB_ROLL_PTR), and an entry in every secondary index, which does not.
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
//! nobody can see it. If the key of a row changes, the row is delete-marked and inserted under its new key. A row inserted
//! where a delete-marked one of the same key still lies becomes an update of that.
//!
//! # Locks
//!
//! A row is locked by its clustered key. Whoever wrote it holds it locked by its id in the record, without an entry in the
//! lock table, until somebody else wants it. Secondary entries are not locked but for their gaps: who comes through one locks
//! the row and looks whether the row still has the entry. A value of a unique secondary index is locked by its hash by
//! whoever inserts it. Gaps between records are locked by locking reads in REPEATABLE READ and above, see `lock`.
//!
//! Foreign keys look at rows of other tables, and change them, see [`foreign`].
//!
//! # What a point UPDATE costs
//!
//! ```text
//!   the row is read and locked    root .. leaf, shared, hand over hand
//!   the row is changed            its leaf, where it was found, if the page has not changed since (no search); undo page
//!   commit                        header of the rollback segment; undo page
//! ```
//!
//! Each of the three latches a page once; the first change of a transaction begins its undo log in the same mini-transaction.
//! Nothing is allocated in the steady state: lists of values and buffers belong to the thread, and so does what a transaction
//! shows of itself to the others. `storage/tests/cost.rs` counts both.
//!
//! Whoever must wait lets go of all latches, waits, and looks again from the start.
//!
//! Invariants:
//!
//! * The clustered record changes before the secondary entries when rows change, after them when changes are undone.
//!   So who finds an entry under a latch can tell from the clustered record whether it is needed.
//! * Pages are latched secondary before clustered, clustered before undo.
//! * A change is undone only if the record's roll pointer is that of the undo record: undoing twice does no harm.
//!
//! Sources: the InnoDB manual on multi-versioning; Mohan et al., "ARIES" (1992).

mod check;
mod delete;
mod entry;
mod fill;
pub mod foreign;
mod get;
mod insert;
mod lock;
mod locked;
mod purge;
mod remove;
mod rollback;
mod scan;
mod secondary;
mod statistics;
mod table;
mod update;
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
pub use entry::{build_entry, empty_reference, move_out, version_of_record, version_of_values};
pub use get::get;
pub use insert::insert;
pub use lock::lock_auto_increment;
pub use locked::{StoredKey, locked_key};
pub use purge::{PurgeStep, PurgeView, Purger};
pub use rollback::{rollback, rollback_step};
pub use scan::Scan;
pub use statistics::{IndexStatistics, TableStatistics, estimate, statistics};
pub use table::{IndexTree, Table, layout};
pub use update::update;

/// What row operations work with.
#[derive(Clone, Copy)]
pub struct Context<'e> {
    pub store: &'e Store,
    pub undo: &'e UndoSpace,
    pub locks: &'e LockTable,
    pub registry: &'e Registry,
    pub purge: &'e PurgeView,
    /// The foreign keys that count; None = there are none, or nobody asks for them.
    pub foreign: Option<&'e foreign::KeyGraph>,
}

/// Finds a table by its id, for undo records carry nothing else. `None` = dropped.
pub type Lookup<'l> = &'l dyn Fn(TableId) -> Option<Arc<Table>>;

/// Buffers that an operation on a row needs, kept from one to the next.
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

/// The same list without its values, for values of another lifetime: so that its memory can be kept.
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

/// Buffers borrowed from the thread; they go back when dropped.
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
