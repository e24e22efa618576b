//! What a SELECT is a part of: it decides which privileges its FROM and its select list take, and when they are asked for.

use crate::error::Error;

/// See the module header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// All that it selects is read.
    #[default]
    Read,
    /// The query of a view or a derived table: what it selects is read when the query around it reads it.
    Derived,
    /// The query of a view through which rows are changed: the same, and its tables need not be readable.
    Changed,
    /// The tables of an UPDATE that joins them: which of them change is known later.
    Joined,
    /// The query of CREATE VIEW: columns that it selects are used through the view, in one way or another.
    Defined,
}

impl Role {
    /// That of a part of a set operation in its place. All that such a query selects is read.
    pub fn of_part(self) -> Role {
        if self == Role::Defined { self } else { Role::Read }
    }

    /// Whether refusals of single columns wait for who reads them.
    pub fn holds_refusals(self) -> bool {
        matches!(self, Role::Derived | Role::Changed)
    }
}

/// What it takes to name a column.
#[derive(Debug, Default)]
pub enum Naming {
    /// SELECT on it.
    #[default]
    Reads,
    /// Nothing yet: these are the refusals that wait.
    Holds(Vec<Error>),
    /// SELECT, INSERT, UPDATE or DELETE on it.
    Uses,
}

impl Naming {
    /// The first refusal that waits, and none any more.
    pub fn take_refusal(&mut self) -> Option<Error> {
        let Naming::Holds(held) = self else { return None };
        std::mem::take(held).into_iter().next()
    }
}
