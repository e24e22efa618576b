//! Savepoints of stored functions and triggers. They are the program's own: it does not see those around it, and what it
//! has set is gone at its end. A procedure that it calls shares them.

use std::cell::RefCell;

use storage::{Savepoint, Trx};

use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::parser::ast::Statement;
use crate::session::Session;
use crate::status::Counter;

/// The savepoints of a function or trigger that runs.
#[derive(Default)]
pub(super) struct Scope {
    /// Where its rows begin among those that wait for the log. From its first savepoint on they wait until it has ended,
    /// because what has been logged for a statement cannot be taken back in part.
    waiting: Option<usize>,
    points: Vec<Point>,
}

struct Point {
    name: String,
    point: Savepoint,
    /// How many rows waited for the log.
    rows: usize,
}

impl Scope {
    fn find(&self, name: &str) -> Result<usize> {
        let found = self.points.iter().position(|known| known.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::unknown_savepoint(name))
    }
}

impl Session {
    /// Runs a function or trigger, with savepoints of its own.
    pub(super) fn with_savepoints<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let scopes = &self.programs.savepoints;
        scopes.borrow_mut().push(Scope::default());
        let result = run();
        let scope = scopes.borrow_mut().pop();
        if let (Some(place), Some(log)) = (scope.and_then(|scope| scope.waiting), &self.row_log) {
            log.borrow_mut().end_inner(place, result.is_ok())?;
        }
        result
    }

    /// SAVEPOINT, ROLLBACK TO and RELEASE SAVEPOINT inside of a statement.
    pub(super) fn inner_savepoint(&self, trx: &RefCell<Trx>, statement: &Statement) -> Result<()> {
        let mut scopes = self.programs.savepoints.borrow_mut();
        let scope = scopes.last_mut().ok_or_else(|| Error::internal("a program without savepoints of its own"))?;
        let log = self.row_log.as_ref().filter(|_| self.own_log().is_some());
        match statement {
            Statement::Savepoint(name) => {
                self.status.add(Counter::ComSavepoint, 1);
                if scope.waiting.is_none() {
                    let settings = &self.variables.settings;
                    let checks = (settings.foreign_key_checks, settings.unique_checks);
                    scope.waiting = log.map(|log| log.borrow_mut().begin_inner(checks));
                }
                let rows = log.map_or(0, |log| log.borrow().waiting());
                scope.points.retain(|known| !known.name.eq_ignore_ascii_case(name));
                scope.points.push(Point { name: name.clone(), point: trx.borrow_mut().savepoint(), rows });
            }
            Statement::RollbackTo(name) => {
                self.status.add(Counter::ComRollbackToSavepoint, 1);
                let at = scope.find(name)?;
                scope.points.truncate(at + 1);
                let Point { point, rows, .. } = &scope.points[at];
                trx.borrow_mut().rollback_to(*point).or_sql()?;
                if let Some(log) = log {
                    log.borrow_mut().cut_waiting(*rows);
                }
            }
            Statement::ReleaseSavepoint(name) => {
                self.status.add(Counter::ComReleaseSavepoint, 1);
                let at = scope.find(name)?;
                scope.points.truncate(at);
            }
            _ => return Err(Error::internal("no statement about savepoints")),
        }
        Ok(())
    }
}
