//! What a table's definition says of each of its rows: values that are computed from the row, and conditions that it has
//! to satisfy.
//!
//! The dictionary has the expressions as texts. They are bound here once for each plan that changes rows, always in the
//! same way: sql_mode and the connection's character set are those of whoever changes rows, and must not change what a
//! table is. A slot is a column's ordinal.
//!
//! Computed values stand in an order in which each comes behind those that it reads. A generated column is computed for
//! each new version of a row, a default only where a new row has no value.

use storage::{Check, Column, ColumnDefault, Table};

use super::PlanContext;
use crate::error::Result;
pub use crate::expression::stored_value::bind_to_columns as bind;
use crate::expression::{EvalContext, Expr};

/// The rules of one table, bound.
#[derive(Debug, Default)]
pub struct RowRules {
    pub computed: Vec<Computed>,
    /// Those that are enforced, in the order in which they are evaluated.
    pub checks: Vec<BoundCheck>,
}

#[derive(Debug)]
pub struct Computed {
    pub column: usize,
    pub expr: Expr,
    /// A generated column, and not a default.
    pub generated: bool,
}

#[derive(Debug)]
pub struct BoundCheck {
    pub name: Box<str>,
    pub condition: Expr,
}

impl RowRules {
    pub fn of(eval: &EvalContext<'_>, table: &Table) -> Result<RowRules> {
        RowRules::new(eval, &table.columns, &table.checks)
    }

    pub fn new(eval: &EvalContext<'_>, columns: &[Column], checks: &[Check]) -> Result<RowRules> {
        let mut bound = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            if let Some(text) = computed_text(column) {
                bound.push(Computed {
                    column: at,
                    expr: bind(eval, columns, text)?,
                    generated: column.generated.is_some(),
                });
            }
        }
        let enforced = checks.iter().filter(|check| check.enforced);
        let checks = enforced.map(|check| {
            Ok(BoundCheck { name: check.name.clone(), condition: bind(eval, columns, &check.condition)? })
        });
        Ok(RowRules { computed: in_order(bound), checks: checks.collect::<Result<_>>()? })
    }

    /// Opens the sequences of those defaults that the statement may compute.
    pub fn open_sequences(&mut self, context: &PlanContext<'_>, is_used: impl Fn(usize) -> bool) -> Result<()> {
        let mut used = self.computed.iter_mut().filter(|computed| !computed.generated && is_used(computed.column));
        used.try_for_each(|computed| context.open_sequences(&mut computed.expr))
    }

    pub fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.checks.is_empty()
    }

    /// Whether rows that exist have to be read whole when they change.
    pub fn concerns_changes(&self) -> bool {
        !self.checks.is_empty() || self.computed.iter().any(|computed| computed.generated)
    }

    /// The expression of a column's default.
    pub fn default_of(&self, column: usize) -> Option<&Computed> {
        self.computed.iter().find(|computed| computed.column == column && !computed.generated)
    }
}

/// The text of the expression that computes a column.
fn computed_text(column: &Column) -> Option<&str> {
    match (&column.generated, &column.default) {
        (Some(generated), _) => Some(&generated.expression),
        (None, ColumnDefault::Expression(text)) => Some(text),
        _ => None,
    }
}

/// Each behind those that it reads. Definitions that go in a circle are refused, so there is always one that can be next.
fn in_order(mut left: Vec<Computed>) -> Vec<Computed> {
    let mut done: Vec<Computed> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |one: &Computed| {
            let mut waits = false;
            one.expr.for_each_column(&mut |slot| {
                waits |= slot != one.column && left.iter().any(|other| other.column == slot);
            });
            waits
        };
        let next = left.iter().position(|one| !waits(one)).unwrap_or(0);
        done.push(left.remove(next));
    }
    done
}
