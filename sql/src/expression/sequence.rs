//! Calls about MariaDB's sequences, as expressions see them.

use std::sync::Arc;

use storage::Table;

use crate::parser::ast::SequenceFunction;

/// NEXTVAL, LASTVAL or SETVAL of one sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub function: SequenceFunction,
    pub database: Box<str>,
    pub name: Box<str>,
    /// The table that the plan has opened; None: it is looked up for each value, as where a definition of a table is made.
    pub table: Option<Arc<Table>>,
}

/// Two are equal if they ask the same; what they answer is another matter.
impl PartialEq for Sequence {
    fn eq(&self, other: &Sequence) -> bool {
        (self.function, &self.database, &self.name) == (other.function, &other.database, &other.name)
    }
}
