//! The generated columns of rows that cascades of foreign keys change: what storage asks for, and cannot compute itself.
//!
//! A cascade belongs to no statement's plan: expressions are bound here for each table that is changed, and kept for the
//! next row. They see no session, since what a generated column may call depends on none; moments are in UTC.

use std::sync::Arc;
use std::time::Duration;

use format::value::Value;
use parking_lot::Mutex;
use storage::{Column, Engine, Generator, NewValues};

use super::row_rules::RowTarget;
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::expression::{AssignMode, EvalContext, Memory, SessionState, Warnings};
use crate::parser::ast::VariableScope;
use crate::planner::row_rules::RowRules;
use crate::types::TypeInfo;

/// How many tables' expressions are kept.
const KEPT_MAX: usize = 64;

/// Who evaluates.
#[derive(Default)]
struct Nobody {
    memory: Memory,
}

impl SessionState for Nobody {
    fn user_variable(&self, _name: &str) -> Option<(Value, TypeInfo)> {
        None
    }
    fn set_user_variable(&self, _name: &str, _value: Value, _ty: TypeInfo) {}
    fn system_variable(&self, _scope: Option<VariableScope>, _name: &str) -> Result<Value> {
        Err(Error::internal("a variable in a generated column"))
    }
    fn database(&self) -> Option<String> {
        None
    }
    fn user(&self) -> String {
        String::new()
    }
    fn current_user(&self) -> String {
        String::new()
    }
    fn version(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn sleep(&self, _duration: Duration) -> bool {
        true
    }
    fn is_interrupted(&self) -> bool {
        false
    }
    fn memory(&self) -> &Memory {
        &self.memory
    }
}

/// The columns of a table, and its rules.
type Known = (Box<[Column]>, Arc<RowRules>);

/// The rules of the tables that were changed last.
#[derive(Default)]
struct Following {
    known: Mutex<Vec<Known>>,
}

fn with_context<T>(run: impl FnOnce(&EvalContext<'_>) -> T) -> T {
    let (nobody, warnings) = (Nobody::default(), Warnings::default());
    run(&EvalContext::new(&nobody, &warnings))
}

impl Following {
    /// The rules of a table; None: they cannot be bound. Whoever has them evaluates beside others.
    fn rules(&self, columns: &[Column]) -> Option<Arc<RowRules>> {
        let mut known = self.known.lock();
        if let Some((_, rules)) = known.iter().find(|(own, _)| **own == *columns) {
            return Some(rules.clone());
        }
        let rules = Arc::new(with_context(|context| RowRules::new(context, columns, &[])).ok()?);
        if known.len() >= KEPT_MAX {
            known.remove(0);
        }
        known.push((columns.into(), rules.clone()));
        Some(rules)
    }
}

impl Generator for Following {
    fn depending(&self, columns: &[Column], changed: &[usize]) -> Option<Vec<usize>> {
        let rules = self.rules(columns)?;
        let mut found: Vec<usize> = Vec::new();
        // Each stands behind those that it reads.
        for one in rules.computed.iter().filter(|one| one.generated) {
            let mut depends = false;
            one.expr.for_each_column(&mut |slot| depends |= changed.contains(&slot) || found.contains(&slot));
            if depends {
                found.push(one.column);
            }
        }
        Some(found)
    }

    fn compute(
        &self,
        columns: &[Column],
        wanted: &[usize],
        row: &dyn Fn(usize) -> Option<Vec<u8>>,
    ) -> Option<NewValues> {
        let rules = self.rules(columns)?;
        let mut values: Vec<Option<Vec<u8>>> = (0..columns.len()).map(row).collect();
        with_context(|context| {
            let target = RowTarget { columns, mode: AssignMode::Lenient, row: 1, context };
            let mut new = NewValues::new();
            for one in rules.computed.iter().filter(|one| wanted.contains(&one.column)) {
                let mut stored = Stored::default();
                target.compute(one, &values, &mut stored).ok()?;
                values[one.column] = stored.get(0).map(<[u8]>::to_vec);
                new.push((one.column, values[one.column].clone()));
            }
            Some(new)
        })
    }
}

/// Tells an engine how rows follow their parents.
pub fn teach(engine: &Engine) {
    engine.generate_by(|| Box::new(Following::default()));
}
