//! Stored functions as expressions see them.

use std::sync::Arc;

use format::value::ColumnType;
use storage::Definition;

use super::Sequence;
use crate::error::{Error, Result};
use crate::parser::ast::SequenceCall;

/// A stored function that an expression calls.
#[derive(Debug)]
pub struct StoredFunction {
    pub definition: Arc<Definition>,
    pub parameters: usize,
    pub returns: ColumnType,
}

/// Two are equal if they are one version of one function.
impl PartialEq for StoredFunction {
    fn eq(&self, other: &StoredFunction) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition)
    }
}

/// Knows the stored functions and sequences that a statement may call.
pub trait StoredFunctions {
    /// `database` as it was written; None: the current one. None: there is no such function.
    fn stored_function(&self, database: Option<&str>, name: &str) -> Result<Option<Arc<StoredFunction>>>;

    /// 1305, with the database in which the function was looked for.
    fn unknown_function(&self, name: &str) -> Error;

    /// A sequence that may be used so.
    fn sequence(&self, call: &SequenceCall) -> Result<Arc<Sequence>>;
}
