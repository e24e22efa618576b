//! Foreign keys at work: no child without its parent, and children that follow theirs.
//!
//! ```text
//!  row operation            what it looks at, as it is now                    what it locks there
//!  insert, update a child   the parent's index: is the key there?             the parent's row, shared; else the gap
//!  delete, update a parent  the child's index: who has the old key?
//!      RESTRICT, NO ACTION  any: error                                        the child's row, shared; else the gap
//!      CASCADE, SET NULL    each: deleted or changed, by this very module     the child's rows, exclusively; and the gaps
//! ```
//!
//! A foreign key works through a [`Link`]: two tables that exist, an index of each, and the columns. The layer that knows
//! names attaches the links of a statement's tables to the [`Context`](super::Context); without them a row operation asks
//! for nothing, and `foreign_key_checks = 0` is just that. Links are facts: this module looks up no name.
//!
//! A child is checked at the turn of the index that its foreign key has, before the entry is made: a row that is there
//! already is a duplicate before it is an orphan, and who inserts a child waits for its parent before anybody who deletes
//! the parent can find the child. Parents look for children once their own row is changed, so a circle of rows ends where
//! it began.
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
//! * Every read here is of the newest version, locked, at any isolation level; and gaps are locked at any, as in InnoDB.
//! * What follows is part of the row operation that it follows: whoever calls undoes all of it if this fails.
//! * A cascade never updates a table that is being updated further up in it: that is refused, as InnoDB does.
//! * Rows that follow count for nobody: affected rows are those of the statement.
//!
//! Sources: the InnoDB manual, "FOREIGN KEY Constraints"; Gray & Reuter on key-range locks.

mod cascade;
mod check;

use std::sync::Arc;

use format::ids::TableId;
use rustc_hash::FxHashMap;

use super::Table;
use crate::lock::{MetadataLock, TableUse};
use crate::schema::ForeignKey;

pub use cascade::{Followers, delete, update};
pub(super) use check::{Turn, check_parents};
pub use check::{has_parent, orphan};

/// How deep rows may follow each other.
pub const DEPTH_MAX: usize = 15;

/// A foreign key between tables that exist.
#[derive(Debug)]
pub struct Link {
    pub child: Arc<Table>,
    /// Its number in the child's description.
    pub number: usize,
    /// The child's index that shows who refers to a parent, and its leading columns.
    pub child_index: usize,
    pub child_columns: Box<[usize]>,
    /// None = there is no such table, or none that can be used: nothing can be referred to.
    pub parent: Option<ParentSide>,
}

/// The parent of a [`Link`].
#[derive(Debug)]
pub struct ParentSide {
    pub table: Arc<Table>,
    /// The index that shows whether there is a key, and its leading columns.
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

    /// `db`.`child`, CONSTRAINT ... as messages have it.
    fn text(&self) -> Box<str> {
        format!("{}, {}", *self.child, self.key().text(&self.child.database)).into()
    }
}

/// The links of one table, by the names of their foreign keys.
#[derive(Debug, Default)]
pub struct Relations {
    /// What its rows refer to.
    pub parents: Vec<Link>,
    /// What refers to its rows.
    pub children: Vec<Link>,
    /// The locks of all their names, and what is done to those tables; also of a parent that does not exist: it may come
    /// to be.
    pub names: Vec<(Arc<MetadataLock>, TableUse)>,
}

impl Relations {
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty() && self.children.is_empty()
    }
}

/// The relations of all tables that a statement may come to.
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
