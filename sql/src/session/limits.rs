//! What keeps a statement from writing, from reading or changing a whole table by mistake, and from running on.
//!
//! | variable | what it does |
//! |---|---|
//! | `read_only`, `super_read_only` | refuse what writes, of all but those with CONNECTION_ADMIN, or of all |
//! | `sql_select_limit` | a LIMIT for queries of the client that have none |
//! | `sql_safe_updates` | refuses UPDATE and DELETE without a key or LIMIT |
//! | `max_execution_time` | ends a SELECT, in milliseconds |
//! | `max_statement_time` | ends any statement, in seconds (MariaDB) |
//!
//! A time limit is a deadline in the session's `Interrupt`, which scans, sorts, sleeps and lock waits check anyway, so
//! no thread has to watch the clock.

use std::time::Duration;

use super::Session;
use crate::error::{Error, Result};
use crate::parser::ast::{Expr, Limit, Literal, Query};
use crate::planner::{Access, SelectPlan, Step};
use crate::status::Counter;

impl Session {
    /// Refuses what writes while `read_only` or `super_read_only` is on.
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.applying.is_some() {
            return Ok(()); // What a source has committed is applied all the same.
        }
        match self.instance.variables.refuses_writes(self.rights.is_super_or("CONNECTION_ADMIN")) {
            Some(option) => Err(Error::option_prevents(option)),
            None => Ok(()),
        }
    }

    /// Runs a statement within `max_statement_time`, and within milliseconds of its own unless they are 0.
    pub(super) fn limited_in_time<T>(
        &mut self,
        execution_ms: u64,
        run: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        // The limit is that of the statement which runs the program.
        if self.programs.is_running() {
            return run(self);
        }
        let limit = match (execution_ms, self.variables.settings.max_statement_ms) {
            (0, 0) => return run(self),
            (0, limit) | (limit, 0) => limit,
            (one, other) => one.min(other),
        };
        let interrupt = self.process.interrupt.clone();
        interrupt.limit(Some(Duration::from_millis(limit)));
        let result = run(self);
        let over = interrupt.is_over_time();
        interrupt.limit(None);
        match result {
            Err(error) if error.code == 1317 && over && interrupt.kind().is_none() => {
                self.status.add(Counter::MaxExecutionTimeExceeded, 1);
                let by_execution = limit == execution_ms;
                Err(if by_execution { Error::execution_time_exceeded() } else { Error::statement_time_exceeded() })
            }
            result => result,
        }
    }

    /// `sql_select_limit`, for a query of the client's without a LIMIT of its own.
    pub(super) fn with_select_limit(&self, query: &Query) -> Option<Query> {
        let limit = self.variables.settings.sql_select_limit;
        if limit == u64::MAX || query.limit.is_some() || !query.into.is_client() || self.programs.is_running() {
            return None;
        }
        let count = Expr::Literal(Literal::Integer(limit));
        Some(Query { limit: Some(Limit { offset: None, count }), ..query.clone() })
    }

    /// `sql_safe_updates`: rows to change are found by a key, or are limited in number.
    pub(super) fn check_safe_update(&self, select: &SelectPlan) -> Result<()> {
        let reads_all = |step: &Step| match step {
            Step::Table(step) => matches!(step.access, Access::Scan { .. } | Access::Rows),
            Step::Left { .. } | Step::Semi { .. } => false,
        };
        if self.variables.settings.sql_safe_updates && select.limit.is_none() && select.steps.iter().any(reads_all) {
            return Err(Error::unsafe_update());
        }
        Ok(())
    }
}
