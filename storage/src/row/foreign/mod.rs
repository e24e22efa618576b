//! Foreign keys at run time: no child without its parent, and cascades from parents to children.
//!
//! ```text
//!  row operation            what it reads, as it is now                       what it locks there
//!  insert, update a child   the parent's index: is the key there?             the parent's row, shared; else the gap
//!  delete, update a parent  the child's index: which rows have the old key?
//!      RESTRICT, NO ACTION  any: error                                        the child's row, shared; else the gap
//!      CASCADE, SET NULL    each: deleted or changed, by this module          the child's rows, exclusively; the gaps
//! ```
//!
//! A foreign key works through a [`Link`]: two tables that exist, an index of each, and the columns. The layer that
//! knows names attaches the links of a statement's tables to the [`Context`](super::Context); without them a row
//! operation checks nothing, which is how `foreign_key_checks = 0` works. This module looks up no name.
//!
//! A child is checked when the entry of the foreign key's index is due, before that entry is made: a duplicate row is
//! reported as a duplicate before it is reported as an orphan, and the insert of a child waits for its parent before a
//! delete of the parent can find the child. A parent looks for children after its own row is changed, so a cycle of
//! rows ends where it began.
//!
//! ```text
//! DELETE parent 1
//!   delete-mark parent 1
//!   for each link: child index, prefix (1) ---> child row ---> delete-mark child row
//!                                                                for each link: ... at most DEPTH_MAX levels
//! ```
//!
//! Invariants:
//!
//! * Every read here is of the newest version, locked, at any isolation level; and gaps are locked at any, as in
//!   InnoDB.
//! * A cascade is part of the row operation that caused it: if it fails, the caller undoes all of it.
//! * A cascade never updates a table that is being updated further up in it: that is refused, as InnoDB does.
//! * Affected rows are those of the statement; rows changed by a cascade do not count.
//!
//! Sources: the InnoDB manual, "FOREIGN KEY Constraints"; Gray & Reuter on key-range locks.

mod cascade;
mod check;

use std::sync::Arc;

use format::ids::TableId;
use rustc_hash::FxHashMap;

use super::Table;
use crate::lock::{MetadataLock, TableUse};
use crate::schema::{Column, ForeignKey};

pub use cascade::{Followers, delete, update};
pub(super) use check::{Turn, check_parents};
pub use check::{has_parent, orphan};

/// How deep a cascade may go.
pub const DEPTH_MAX: usize = 15;

/// A foreign key between tables that exist.
#[derive(Debug)]
pub struct Link {
    pub child: Arc<Table>,
    /// Its number in the child's description.
    pub number: usize,
    /// The child's index used to find the rows that refer to a parent, and its leading columns.
    pub child_index: usize,
    pub child_columns: Box<[usize]>,
    /// None = there is no usable parent table: nothing can be referred to.
    pub parent: Option<ParentSide>,
}

/// The parent of a [`Link`].
#[derive(Debug)]
pub struct ParentSide {
    pub table: Arc<Table>,
    /// The index used to look up a key, and its leading columns.
    pub index: usize,
    pub columns: Box<[usize]>,
}

impl Link {
    pub fn key(&self) -> &ForeignKey {
        &self.child.foreign_keys[self.number]
    }

    /// Whether the parent is the child's own table.
    pub fn is_own(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.table.table_id() == self.child.table_id())
    }

    /// `db`.`child`, CONSTRAINT ... as messages write it.
    fn text(&self) -> Box<str> {
        format!("{}, {}", *self.child, self.key().text(&self.child.database)).into()
    }
}

/// The links of one table, by the names of their foreign keys.
#[derive(Debug, Default)]
pub struct Relations {
    /// The links to the tables that its rows refer to.
    pub parents: Vec<Link>,
    /// The links from the tables that refer to its rows.
    pub children: Vec<Link>,
    /// The locks of all their names, and how those tables are used; including a parent that does not exist: it may be
    /// created.
    pub names: Vec<(Arc<MetadataLock>, TableUse)>,
}

impl Relations {
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty() && self.children.is_empty()
    }
}

/// The columns of a row that are to have other values, with these: in their order.
pub type NewValues = Vec<(usize, Option<Vec<u8>>)>;

/// Computes the generated columns of a row that a cascade changes. The expressions are texts of an upper layer.
pub trait Generator: Send + Sync {
    /// Which columns of a table are computed, directly or not, from these. None: that cannot be told.
    fn depending(&self, columns: &[Column], changed: &[usize]) -> Option<Vec<usize>>;

    /// The values of these columns, in a row that has these values else. None: one cannot be computed.
    fn compute(
        &self,
        columns: &[Column],
        wanted: &[usize],
        row: &dyn Fn(usize) -> Option<Vec<u8>>,
    ) -> Option<NewValues>;
}

/// The relations of all tables that a statement may reach.
#[derive(Debug, Default)]
pub struct KeyGraph {
    relations: FxHashMap<TableId, Arc<Relations>>,
}

impl KeyGraph {
    pub fn of(&self, table: TableId) -> Option<&Relations> {
        self.relations.get(&table).map(Arc::as_ref)
    }

    pub fn add(&mut self, table: TableId, relations: Arc<Relations>) {
        self.relations.insert(table, relations);
    }

    pub fn contains(&self, table: TableId) -> bool {
        self.relations.contains_key(&table)
    }
}
