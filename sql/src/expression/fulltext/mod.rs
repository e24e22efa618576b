//! MATCH ... AGAINST: what a search means, and how well a row matches.
//!
//! ```text
//! '+apple -"hot pie" tart*'  --syntax-->  nodes  --program-->  sources   apple   hot   pie   tart*
//!                                                              steps     union tart*, keep apple, drop "hot pie"
//!
//! how often a row has each source  --steps-->  matches?  --weights-->  relevance
//! ```
//!
//! A search is compiled once for each text that it looks for. Its *sources* are what is counted in a row: words, and
//! words that begin alike. Its *steps* are sets of rows made from them, in InnoDB's order: what is only wanted, then what
//! must be there, then what must not. Since no step looks at other rows, they are carried out row by row; so the counts
//! may come from the index, or from the row's own text, and the answer is the same (`sql/tests/relations/several.rs`).
//!
//! The relevance is InnoDB's: for each word that the row has, how often it has it, times the square of log10(rows / rows
//! that have the word), summed up in single precision; `>` adds 1, `<` and `~` take 1 away, within -1 and 1. Rows are
//! counted as the table's statistics count them. A word that is looked for twice counts its rows twice.
//!
//! Where InnoDB's answer depends on where its index happens to be, in memory or on disk, this is its answer from disk: a
//! source that stands for several words has the frequency of the first one in the row.
//!
//! Not here: where the counts come from (`executor::fulltext`), and which index there is (`planner::fulltext`).

mod program;
mod syntax;

use std::fmt;
use std::sync::Arc;

use storage::Table;

use crate::parser::ast::MatchMode;

pub use program::{Counts, Document, Query, Relevance, Source};
pub use syntax::SyntaxError;

/// A search in an expression: of which index, and how the text is read.
#[derive(Clone)]
pub struct Search {
    pub table: Arc<Table>,
    pub index: usize,
    pub mode: MatchMode,
}

impl PartialEq for Search {
    fn eq(&self, other: &Search) -> bool {
        Arc::ptr_eq(&self.table, &other.table) && (self.index, self.mode) == (other.index, other.mode)
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.table.indexes[self.index].name, self.table.name)
    }
}
