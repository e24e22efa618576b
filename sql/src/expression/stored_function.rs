//! Stored functions and triggers as expressions and changes of rows see them: who runs them is told by the session.

use std::sync::Arc;

use format::value::{ColumnType, Value};
use storage::{Definition, Table};

use super::{EvalContext, Fields};
use crate::error::Result;
use crate::types::TypeInfo;

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

/// Knows the stored functions that a statement may call.
pub trait StoredFunctions {
    /// `database` as it was written; None: the current one. None: there is no such function.
    fn stored_function(&self, database: Option<&str>, name: &str) -> Result<Option<Arc<StoredFunction>>>;
}

/// The rows of a trigger, with a table's columns as slots.
#[derive(Clone, Copy)]
pub struct TriggerRows<'a> {
    pub table: &'a Arc<Table>,
    pub old: Option<&'a dyn Fields>,
    pub new: Option<&'a dyn Fields>,
    /// Rows count from 1, for messages.
    pub number: u64,
}

/// The stored values of columns that a trigger has assigned.
pub type Assigned = Vec<(usize, Option<Box<[u8]>>)>;

/// Runs programs inside of a statement.
pub trait Programs {
    fn call(&self, function: &StoredFunction, args: Vec<(Value, TypeInfo)>, context: &EvalContext<'_>)
    -> Result<Value>;

    /// Fires a trigger.
    fn fire(&self, trigger: &Arc<Definition>, rows: TriggerRows<'_>, context: &EvalContext<'_>) -> Result<Assigned>;
}
